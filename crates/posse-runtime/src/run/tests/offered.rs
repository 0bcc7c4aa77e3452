//! What the model is told of: tools that wait to be loaded, and the mode it works in.

use super::*;
use crate::tool::builtin;

/// A model that plays a script and keeps what it was asked.
struct Listening {
    script: Rehearsal,
    requests: Mutex<Vec<Request>>,
}

impl Listening {
    fn to(script: &str) -> Arc<Self> {
        let script = Script::parse(script, std::path::Path::new("script.yaml")).unwrap();
        Arc::new(Self { script: Rehearsal::of_script(script, world()), requests: Mutex::default() })
    }

    /// Names of the tools of each request.
    fn offered(&self) -> Vec<String> {
        let names = |request: &Request| {
            request.tools.iter().map(|spec| spec.name.to_string()).collect::<Vec<_>>().join(" ")
        };
        self.requests.lock().unwrap().iter().map(names).collect()
    }

    /// What the last message of each request begins with.
    fn heard(&self) -> Vec<String> {
        let last = |request: &Request| request.messages.last().map(Message::text).unwrap_or_default();
        self.requests.lock().unwrap().iter().map(last).collect()
    }
}

impl Model for Listening {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        self.requests.lock().unwrap().push(request.clone());
        self.script.call(request, on)
    }
}

/// Built-in tools by name, and made-up ones of servers.
fn tools(names: &[&'static str]) -> Vec<Arc<dyn AnyTool>> {
    let tool = |name: &&'static str| -> Arc<dyn AnyTool> {
        let known = builtin::all().into_iter().find(|tool| tool.name() == *name);
        known.unwrap_or_else(|| Arc::new(Slow { name, alone: false }))
    };
    names.iter().map(tool).collect()
}

const MANY: [&str; 4] = ["Read", "ToolSearch", "mcp__mail__send", "mcp__mail__list"];

#[test]
fn when_tools_wait() {
    for (text, want) in [
        (None, Deferral::Above(10)),
        (Some("auto"), Deferral::Above(10)),
        (Some("AUTO:25"), Deferral::Above(25)),
        (Some("auto:900"), Deferral::Above(100)),
        (Some("auto:x"), Deferral::Above(10)),
        (Some("true"), Deferral::Always),
        (Some("1"), Deferral::Always),
        (Some("False"), Deferral::Never),
        (Some("0"), Deferral::Never),
        (Some("perhaps"), Deferral::Above(10)),
    ] {
        assert_eq!(Deferral::parse(text), want, "{text:?}");
    }
    let size = |deferral, window| {
        let pool = ToolPool::with_search(tools(&MANY), deferral, window);
        (pool.specs().len(), pool.names().len())
    };
    // A few small tools fit a large window and not a tiny one. Where nothing waits, nothing is to be searched.
    assert_eq!(size(Deferral::default(), 200_000), (3, 3));
    assert_eq!(size(Deferral::default(), 50), (2, 4));
    assert_eq!(size(Deferral::Never, 100), (3, 3));
    assert_eq!(size(Deferral::Always, 200_000), (2, 4));
    // Without ToolSearch nothing could ever be loaded.
    let unsearchable = ToolPool::with_search(tools(&["Read", "mcp__mail__send"]), Deferral::Always, 100);
    assert_eq!(unsearchable.specs().len(), 2);
    // An ordinary pool is what it was, less the search for nothing.
    let ordinary = ["Bash", "Read", "ToolSearch", "Write"];
    let pool = ToolPool::with_search(tools(&ordinary), Deferral::Always, 1);
    assert_eq!(pool.specs(), ToolPool::new(tools(&["Bash", "Read", "Write"])).specs());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_waits_is_offered_and_runs_once_it_is_loaded() {
    let model = Listening::to(
        "
- calls: [{mcp__mail__send: {}}]
- calls: [{ToolSearch: {query: \"select:mcp__mail__send\"}}]
- calls: [{mcp__mail__send: {}}]
- say: Sent.
",
    );
    let setup = RunSetup {
        model: model.clone(),
        tools: ToolPool::with_search(tools(&MANY), Deferral::Always, 200_000),
        guard: guard(&world(), &["mcp__mail__send"], Mode::Default.into()),
        ..setup("[]")
    };
    let (text, _) = trace(setup).await;
    assert!(
        text.contains("mcp__mail__send answered error: Error: mcp__mail__send is not loaded yet")
            && text.contains("select:mcp__mail__send")
            && text.contains("mcp__mail__send answered: 01 done"),
        "{text}"
    );
    let before = "Read ToolSearch";
    let after = "Read ToolSearch mcp__mail__send";
    assert_eq!(model.offered(), [before, before, after, after]);
    let requests = model.requests.lock().unwrap();
    let search = |request: &Request| request.tools[1].description.clone();
    assert!(search(&requests[0]).ends_with("There are: mcp__mail__send, mcp__mail__list"));
    // What was told before a search is told after it, word for word: the cache depends on it.
    assert_eq!(requests[0].tools[..], requests[3].tools[..2]);
}

#[tokio::test(start_paused = true)]
async fn prompts_say_whether_it_is_time_to_plan() {
    let model = Listening::to("- a\n- b\n- c\n- d\n");
    let mode = crate::ask::SharedMode::from(Mode::Plan);
    let (mut run, _events) = start(RunSetup {
        model: model.clone(),
        opening: Some("rules".into()),
        guard: guard(&world(), &[], mode.clone()),
        ..setup("[]")
    });
    for (prompt, next) in
        [("one", Mode::Plan), ("two", Mode::Default), ("three", Mode::Default), ("four", Mode::Default)]
    {
        run.prompt(Message::user(prompt), CancellationToken::new()).await.unwrap();
        mode.set(next);
    }
    let plan = posse_core::prompt::plan_mode(false, None);
    let over = posse_core::prompt::PLAN_MODE_OVER;
    assert_eq!(
        model.heard(),
        [format!("rules\n{plan}\none"), format!("{plan}\ntwo"), format!("{over}\nthree"), "four".to_owned()]
    );
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_made_approved_and_carried_out_in_one_turn() {
    use crate::ask::{Ask, Desk, PermissionAnswer};
    use crate::tool::builtin::plan_mode::{EnterPlanMode, ExitPlanMode};
    let model = Listening::to(
        "
- calls: [{EnterPlanMode: {}}]
- calls: [{Bash: {}}]
- calls: [{ExitPlanMode: {plan: Run it}}]
- calls: [{Bash: {}}]
- say: Done.
",
    );
    let (desk, mut asks) = Desk::open();
    let mode = crate::ask::SharedMode::default();
    let setup = setup("[]");
    let setup = RunSetup {
        model,
        tools: ToolPool::new(vec![
            Arc::new(Slow { name: "Bash", alone: true }),
            Arc::new(EnterPlanMode::new(mode.clone())),
            Arc::new(ExitPlanMode::new(mode.clone(), desk)),
        ]),
        guard: guard(&setup.world, &["Bash"], mode.clone()),
        ..setup
    };
    let person = async {
        let Some(Ask::Permission(pending)) = asks.next().await else { panic!("it must ask") };
        pending.answer(PermissionAnswer::yes());
    };
    let ((text, _), ()) = tokio::join!(trace(setup), person);
    let order = ["Bash denied", "ExitPlanMode answered: The user approved", "Bash answered: 01 done"];
    let places = order.map(|line| text.find(line).unwrap_or_else(|| panic!("{line} in {text}")));
    assert!(places.is_sorted(), "{text}");
    assert_eq!(mode.current(), Mode::Default);
}
