use super::*;
use serde_json::json;

/// A session on disk.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("s.jsonl")
    }

    fn write(&self, name: &str, lines: &[Value]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn agent(&self, id: &str, meta: Value, lines: &[Value]) -> PathBuf {
        self.write(&format!("s/subagents/agent-{id}.meta.json"), &[meta]);
        self.write(&format!("s/subagents/agent-{id}.jsonl"), lines)
    }

    fn tree(&self) -> Node {
        let found = Found {
            id: "s".into(),
            path: self.path(),
            modified: std::time::SystemTime::UNIX_EPOCH,
            title: "the task".into(),
            bytes: 0,
        };
        tree(&found).expect("a tree")
    }
}

fn at(second: u32) -> String {
    format!("2026-01-02T03:04:{second:02}.000Z")
}

fn prompt(second: u32) -> Value {
    json!({ "type": "user", "timestamp": at(second), "message": { "role": "user", "content": "go" } })
}

fn reply(second: u32, id: &str, block: Value) -> Value {
    json!({
        "type": "assistant",
        "timestamp": at(second),
        "message": {
            "id": id, "model": "claude-haiku-4-5", "content": [block],
            "usage": { "input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 10 },
        },
    })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "Agent", "input": {} })
}

fn answer(second: u32, call: &str, result: Value) -> Value {
    json!({
        "type": "user",
        "timestamp": at(second),
        "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": call }] },
        "toolUseResult": result,
    })
}

fn text() -> Value {
    json!({ "type": "text", "text": "done" })
}

fn meta(call: &str, depth: u64, status: Option<&str>) -> Value {
    json!({
        "agentType": "Explore", "description": "look", "toolUseId": call, "spawnDepth": depth,
        "requestShape": "foreground", "finished": status.is_some(), "status": status,
    })
}

/// The tree as one line.
fn shape(node: &Node) -> String {
    let below: Vec<String> = node.children.iter().map(shape).collect();
    let below = if below.is_empty() { String::new() } else { format!("({})", below.join(" ")) };
    format!("{}:{}{below}", node.id, node.status.word())
}

#[test]
fn a_reply_of_several_blocks_counts_once_and_waiting_for_a_prompt_is_no_work() {
    let scene = Scene::new();
    scene.write(
        "s.jsonl",
        &[
            prompt(0),
            reply(2, "m1", text()),
            reply(2, "m1", call("c1")),
            answer(5, "c1", Value::Null),
            reply(6, "m2", text()),
            prompt(50),
            reply(51, "m3", text()),
        ],
    );
    let node = scene.tree();
    let work = &node.work;
    assert_eq!((work.turns, work.tool_calls, work.duration_ms), (3, 1, 7_000));
    assert_eq!((work.usage.input, work.usage.output, work.usage.cache_read), (3000, 300, 30));
    assert!((work.cost - 0.004_503).abs() < 1e-9, "{}", work.cost);
    assert_eq!((node.status, node.task.as_str()), (Status::Completed, "the task"));
    assert_eq!(node.models, ["claude-haiku-4-5".into()]);
}

#[test]
fn time_side_by_side_counts_once() {
    let scene = Scene::new();
    scene.write("s.jsonl", &[prompt(0), reply(4, "m", call("c1")), reply(10, "n", text())]);
    scene.agent("a1", meta("c1", 1, Some("completed")), &[prompt(4), reply(12, "m", text())]);
    scene.agent("a2", meta("c1", 1, Some("completed")), &[prompt(20), reply(21, "m", text())]);
    assert_eq!(scene.tree().total().duration_ms, 13_000);
}

#[test]
fn agents_hang_from_whoever_made_the_call() {
    let scene = Scene::new();
    scene.write(
        "s.jsonl",
        &[prompt(0), reply(1, "m", call("c1")), reply(1, "m", call("c2")), reply(1, "m", call("c3"))],
    );
    // Started last, but named first: the order is that of their beginnings.
    scene.agent("a1", meta("c2", 1, Some("killed")), &[prompt(3)]);
    scene.agent("a2", meta("c1", 1, Some("completed")), &[prompt(2), reply(2, "m", call("c4"))]);
    scene.agent("a3", meta("c4", 2, Some("failed")), &[prompt(4)]);
    // Continued by the main agent, so the call is not its parent's; its parent was told that it started it.
    scene.agent(
        "a4",
        meta("c4x", 2, Some("completed")),
        &[prompt(5), reply(6, "m", call("c5")), answer(8, "c5", json!({ "agentId": "a5" }))],
    );
    scene.agent("a5", meta("c3", 3, Some("completed")), &[prompt(7)]);
    assert_eq!(
        shape(&scene.tree()),
        "s:crashed(a2:completed(a3:failed) a1:killed a4:completed(a5:completed))"
    );
    assert_eq!(scene.tree().all().len(), 6);
    assert_eq!(scene.tree().total().tool_calls, 5);
    // The main agent from 0 to 1, a4 from 5 to 8; a2 took no time.
    assert_eq!(scene.tree().total().duration_ms, 4_000);
}

#[test]
fn an_agent_of_a_process_that_is_gone_did_not_finish() {
    let scene = Scene::new();
    scene.write("s.jsonl", &[prompt(0), reply(1, "m", call("c1"))]);
    let file = scene.agent("a1", meta("c1", 1, None), &[prompt(1)]);
    assert_eq!(shape(&scene.tree()), "s:crashed(a1:crashed)");
    let writer = crate::session::EntryWriter::new("s", "/", "", "test", None);
    let open = crate::session::Transcript::open(Some(&file), writer).expect("a transcript");
    assert_eq!(shape(&scene.tree()), "s:crashed(a1:running)");
    drop(open);
    assert_eq!(shape(&scene.tree()), "s:crashed(a1:crashed)");
}

#[test]
fn damaged_files_are_counted_not_fatal() {
    let scene = Scene::new();
    let path = scene.write("s.jsonl", &[prompt(0), reply(1, "m", text())]);
    let torn = format!("{}{{\"type\":\"assi", std::fs::read_to_string(&path).unwrap());
    std::fs::write(&path, torn).unwrap();
    scene.write("s/subagents/agent-a1.meta.json", &[json!("no object")]);
    std::fs::write(scene.0.path().join("s/subagents/agent-a2.meta.json"), "{").unwrap();
    // A circle of calls must not swallow anybody.
    scene.agent("b1", meta("x2", 1, Some("completed")), &[prompt(3), reply(3, "m", call("x1"))]);
    scene.agent("b2", meta("x1", 1, Some("completed")), &[prompt(4), reply(4, "m", call("x2"))]);
    let node = scene.tree();
    assert_eq!(node.unreadable, 1);
    assert_eq!(shape(&node), "s:completed(a1:crashed a2:crashed b1:completed b2:completed)");
}
