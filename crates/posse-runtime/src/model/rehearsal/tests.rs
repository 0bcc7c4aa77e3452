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
        agent_kind: None,
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
        (
            "main: [a]\nagnets: {}\n",
            "s.yaml:2:1: a script for several agents has `main` and `agents`, not `agnets`",
        ),
        ("agents: [a]\n", "s.yaml:1:9: `agents` has a list of turns for each kind of agent; this is a list"),
        ("agents: {Explore: x}\n", "s.yaml:1:19: a script is a list of turns; this is text"),
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

/// A request of an agent: its id and kind.
fn of(id: &str, kind: &str, text: &str) -> Request {
    Request { agent: Some(id.into()), agent_kind: Some(kind.into()), ..request(text) }
}

async fn said(model: &Rehearsal, request: &Request) -> String {
    match model.call(request, &mut |_| {}).await {
        Ok(reply) => Message { role: posse_core::message::Role::Assistant, blocks: reply.blocks }.text(),
        Err(error) => format!("{:?}: {}", error.kind, error.message),
    }
}

#[tokio::test]
async fn every_agent_plays_the_turns_of_its_kind_from_the_start() {
    let text = "{main: [m1, m2], agents: {Explore: [e1, e2], reviewer: [r1]}}";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.yaml");
    std::fs::write(&path, text).unwrap();
    let model = Rehearsal::open(&path, world("/here")).unwrap();
    for (request, want) in [
        (request("x"), "m1"),
        (of("a1", "Explore", "x"), "e1"),
        (of("a2", "Explore", "x"), "e1"),
        (of("a3", "reviewer", "x"), "r1"),
        (of("a1", "Explore", "x"), "e2"),
        (request("x"), "m2"),
        (of("a2", "Explore", "x"), "e2"),
        (
            of("a3", "reviewer", "x"),
            "Diverged: the script has 1 turns for the agent reviewer; this is its request 2",
        ),
        (
            of("a4", "Plan", "x"),
            "Diverged: the script has no turns for the agent Plan; it has some for Explore, reviewer",
        ),
        (request("x"), "Diverged: the script has 2 turns; this is request 3"),
    ] {
        assert_eq!(said(&model, &request).await, want, "{:?}", request.agent);
    }
}

#[tokio::test]
async fn calls_of_different_agents_have_different_ids() {
    let text = "{main: [calls: [{Glob: {}}]], agents: {Explore: [calls: [{Glob: {}}]]}}";
    let model = Rehearsal::of_script(Script::parse(text, Path::new("s.yaml")).unwrap(), world("/here"));
    let mut ids = std::collections::BTreeSet::new();
    for request in [request("x"), of("a1", "Explore", "x"), of("a2", "Explore", "x")] {
        let reply = model.call(&request, &mut |_| {}).await.unwrap();
        let Some(Block::ToolUse(call)) = reply.blocks.first() else { panic!("{reply:?}") };
        ids.insert(call.id.clone());
    }
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[tokio::test]
async fn agents_replay_in_any_order_and_under_new_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let text = "
main: [start, \"write to a1\", done]
agents: {Explore: [one, two]}
";
    let script = Script::parse(text, Path::new("s.yaml")).unwrap();
    let inner: Arc<dyn Model> = Arc::new(Rehearsal::of_script(script, world("/there")));
    let recorder = Recorder::new(inner, &path, world("/there")).unwrap();
    let session = "/s/11111111-2222-3333-4444-555555555555/x";
    let told = format!("agentId: a1 {session} duration_ms: 12</usage> <duration_ms>3</duration_ms>");
    for request in [
        request("go"),
        of("a1", "Explore", "left"),
        of("a2", "Explore", "right"),
        of("a1", "Explore", "left more"),
        request(&told),
        of("a2", "Explore", "right more"),
    ] {
        recorder.call(&request, &mut |_| {}).await.unwrap();
    }
    let replay = Rehearsal::open(&path, world("/else")).unwrap();
    let session = "/s/99999999-2222-3333-4444-555555555555/x";
    let told = format!("agentId: b1 {session} duration_ms: 9999</usage> <duration_ms>44</duration_ms>");
    for (request, want) in [
        (request("go"), "start"),
        (of("b2", "Explore", "right"), "one"),
        (of("b1", "Explore", "left"), "one"),
        (of("b2", "Explore", "right more"), "two"),
        (of("b1", "Explore", "left more"), "two"),
        (request(&told), "write to b1"),
        (
            of("b1", "Explore", "again"),
            "Diverged: the recording has 2 requests of the agent Explore; the run makes another",
        ),
        (
            of("b3", "Explore", "left"),
            "Diverged: the recording has 2 agents of the kind Explore; the run starts another",
        ),
        (
            of("b4", "Plan", "x"),
            "Diverged: the recording has 0 agents of the kind Plan; the run starts another",
        ),
    ] {
        assert_eq!(said(&replay, &request).await, want, "{:?}", request.agent);
    }
    let other = Rehearsal::open(&path, world("/else")).unwrap();
    let text = said(&other, &of("b1", "Explore", "up")).await;
    assert!(
        text.starts_with(
            "Diverged: request 1 of the agent Explore differs from the recording:\nin what was said:"
        ),
        "{text}"
    );
}
