use posse_core::message::Message;
use serde_json::json;

use super::*;
use crate::model::Thinking;

fn request(text: &str) -> Request {
    Request {
        model: "m".into(),
        system: Arc::from([]),
        server_tools: Arc::from([]),
        tools: Arc::from([]),
        tools_off: false,
        messages: vec![Message::user(text)],
        max_tokens: 10,
        thinking: Thinking::Default,
        effort: None,
        session: "s".into(),
        raw_events: false,
        agent: None,
    }
}

fn world(cwd: &str) -> Arc<World> {
    Arc::new(World { cwd: cwd.into(), ..World::default() })
}

#[tokio::test]
async fn a_script_plays_in_order_and_fills_in_the_folder() {
    let text =
        "- think: hm\n  say: Look.\n  calls:\n    - Read: {file_path: \"{{cwd}}/a\", limit: 3}\n- Done.\n";
    let model = Rehearsal::of_script(Script::parse(text, Path::new("s.yaml")).unwrap(), world("/here"));
    let reply = model.call(&request("go"), &mut |_| {}).await.unwrap();
    assert_eq!(reply.blocks.len(), 3);
    let Block::ToolUse(call) = &reply.blocks[2] else { panic!("{reply:?}") };
    assert_eq!((&*call.name, &call.input), ("Read", &json!({ "file_path": "/here/a", "limit": 3 })));
    assert_eq!(reply.stop, StopReason::ToolUse);
    assert_eq!(model.call(&request("go"), &mut |_| {}).await.unwrap().blocks, [Block::Text("Done.".into())]);
    let error = model.call(&request("go"), &mut |_| {}).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (FailureKind::Diverged, "the script has 2 turns; this is request 3")
    );
}

#[test]
fn mistakes_in_a_script_are_named_with_their_place() {
    for (text, want) in [
        ("- say: x\n- sya: y\n", "s.yaml:2:3: a turn has no `sya`; it has `say`, `think` and `calls`"),
        ("say: x\n", "s.yaml:1:1: a script is a list of turns; this is a mapping"),
        ("- calls: Read\n", "s.yaml:1:10: calls are a list of `Tool: {input}`"),
        ("- [\n", "s.yaml:"),
    ] {
        let error = Script::parse(text, Path::new("s.yaml")).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    }
}

#[tokio::test]
async fn a_recording_replays_elsewhere_and_names_the_first_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let script = Script::parse("- say: In {{cwd}}.\n- say: Bye.\n", Path::new("s.yaml")).unwrap();
    let inner: Arc<dyn Model> = Arc::new(Rehearsal::of_script(script, world("/there")));
    let recorder = Recorder::new(inner, &path, world("/there")).unwrap();
    let first = recorder.call(&request("look at /there/a"), &mut |_| {}).await.unwrap();
    let second = recorder.call(&request("thanks"), &mut |_| {}).await.unwrap();
    let replay = Rehearsal::open(&path, world("/there")).unwrap();
    assert_eq!(replay.call(&request("look at /there/a"), &mut |_| {}).await.unwrap(), first);
    assert_eq!(replay.call(&request("thanks"), &mut |_| {}).await.unwrap(), second);
    let elsewhere = Rehearsal::open(&path, world("/else")).unwrap();
    let moved = elsewhere.call(&request("look at /else/a"), &mut |_| {}).await.unwrap();
    assert_eq!(moved.blocks, [Block::Text("In /else.".into())]);
    let error = elsewhere.call(&request("no thanks"), &mut |_| {}).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Diverged);
    let said = &error.message;
    assert!(said.starts_with("request 2 differs from the recording:\nin what was said:\n"), "{said}");
    assert!(
        said.contains("\n-") && said.contains("thanks") && said.contains("+") && said.contains("no thanks"),
        "{said}"
    );
    let error = elsewhere.call(&request("more"), &mut |_| {}).await.unwrap_err();
    assert!(error.message.contains("the recording has 2 requests"), "{}", error.message);
}
