//! The Bash tool of a confined run: in front, in the background, and where the sandbox itself is missing.

use std::sync::Arc;
use std::time::Duration;

use posse_core::message::Content;
use posse_runtime::tool::builtin::Bash;
use posse_runtime::tool::{AnyTool, ToolCx};
use serde_json::json;

use super::*;

fn confined(place: &Place, posse: &str, support: &Support) -> ToolCx {
    let env =
        Env::new([("PATH", PATH.to_owned()), ("HOME", place.path("outside/home").display().to_string())]);
    let world = World { env, cwd: place.path("outside"), ..World::default() };
    let sandbox = Sandbox::new(Profile::read_only(place.path("scratch")), support, posse).expect("a sandbox");
    let mut cx = ToolCx::new(Arc::new(world), place.path("spool"));
    cx.sandbox = Some(Arc::new(sandbox));
    cx
}

async fn run(cx: &ToolCx, command: &str, background: bool) -> String {
    let input = json!({ "command": command, "run_in_background": background });
    let output = AnyTool::run(&Bash::default(), input, &cx.for_call("call")).await;
    let text = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        Content::Media(_) => String::new(),
    };
    output.content.iter().map(text).collect()
}

#[test]
fn every_command_of_the_bash_tool_is_confined() {
    let Some(support) = support_or_say("the Bash tool") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for support in kinds_for_readers(&support) {
        let mut place = Place::new();
        let cx = confined(&place, POSSE, &support);
        let before = look(&place.path("outside"));
        runtime.block_on(use_the_tool(&place, &cx));
        assert_eq!(changes(&before, &place.look()), [""; 0], "{support:?}");
    }
}

fn refusals(text: &str) -> usize {
    text.matches("Permission denied").count() + text.matches("Read-only file system").count()
}

async fn use_the_tool(place: &Place, cx: &ToolCx) {
    let scratch = place.path("scratch").display().to_string();
    assert_eq!(run(cx, "cat victim.txt; echo $TMPDIR", false).await, format!("before\n{scratch}"));
    let refused = run(cx, "echo x > victim.txt", false).await;
    assert_eq!(refusals(&refused), 1, "{refused}");
    let long = format!(": {}\n: > new", "x".repeat(200_000));
    assert_eq!(refusals(&run(cx, &long, false).await), 1);
    // The folder carries over, also from a shell that can write nearly nowhere.
    run(cx, "cd dir", false).await;
    assert_eq!(run(cx, "pwd", false).await, place.path("outside/dir").display().to_string());
    let started = run(cx, "cd ..; echo x > victim.txt; touch new; setsid sh -c ': > new' 2>&1", true).await;
    assert!(started.contains("running in background"), "{started}");
    let id = cx.tasks.list().first().expect("a task").id.clone();
    let ended = cx.tasks.wait(&id, Duration::from_secs(60), &cx.stop).await.expect("a task");
    let output = std::fs::read_to_string(&ended.output).expect("output");
    assert_eq!(refusals(&output), 3, "{output}");
    cx.tasks.shutdown().await;
}

#[test]
fn without_its_sandbox_a_command_does_not_run() {
    let Some(support) = support_or_say("a broken sandbox") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut place = Place::new();
    let before = look(&place.path("outside"));
    let gone = confined(&place, "/nowhere/posse", &support);
    let said = runtime.block_on(run(&gone, ": > new", false));
    assert!(said.contains("could not be started"), "{said}");
    if support.landlock < 3 {
        return;
    }
    // Confining fails when the folder that was to be writable has become a link.
    let changed = confined(&place, POSSE, &support);
    std::fs::rename(place.path("scratch"), place.path("moved")).expect("a folder");
    std::os::unix::fs::symlink(place.path("outside"), place.path("scratch")).expect("a link");
    let said = runtime.block_on(run(&changed, ": > victim.txt", false));
    assert!(said.contains("the command was not run"), "{said}");
    // The note of where a shell ended goes where the sandbox says, and that is gone as well.
    assert_eq!(changes(&before, &place.look()), [""; 0]);
}
