use posse_core::permission::Mode;
use serde_json::{Value, json};

use super::*;

fn written(one: Update) -> Value {
    serde_json::to_value(update(one)).unwrap()
}

#[test]
fn updates_are_written() {
    let call = Call {
        id: "1".into(),
        tool: Some("Edit".into()),
        title: Some("Edit f".into()),
        kind: Some(Kind::Edit),
        progress: Some(Progress::Running),
        shown: Some(vec![
            Shown::Text("t".into()),
            Shown::Diff { path: "/f".into(), old: Some("a".into()), new: "b".into() },
        ]),
        places: Some(vec![Place { path: "/f".into(), line: Some(3) }]),
        input: Some(json!({ "x": 1 })),
        output: None,
        agent: Some(Agent { parent: "0".into(), id: "a1".into(), kind: "helper".into() }),
    };
    let fields = json!({
        "toolCallId": "1", "name": "Edit", "title": "Edit f", "kind": "edit", "status": "in_progress",
        "content": [
            { "type": "content", "content": { "type": "text", "text": "t" } },
            { "type": "diff", "path": "/f", "oldText": "a", "newText": "b" },
        ],
        "locations": [{ "path": "/f", "line": 3 }],
        "rawInput": { "x": 1 },
        "_meta": { "posse": { "parentToolCallId": "0", "agentId": "a1", "agentType": "helper" } },
    });
    let with = |kind: &str, fields: &Value| {
        let mut value = fields.clone();
        value["sessionUpdate"] = json!(kind);
        value
    };
    let text = json!({ "content": { "type": "text", "text": "t" } });
    let command = CommandFact { name: "c".into(), description: "d".into(), argument_hint: "WHAT".into() };
    let step = Step { text: "s".into(), progress: Progress::Done };
    let cases = [
        (Update::Text("t".into()), with("agent_message_chunk", &text)),
        (Update::Thought("t".into()), with("agent_thought_chunk", &text)),
        (Update::User(Piece::Text("t".into())), with("user_message_chunk", &text)),
        (Update::NewCall(Box::new(call.clone())), with("tool_call", &fields)),
        (Update::Call(Box::new(call)), with("tool_call_update", &fields)),
        (
            Update::Call(Box::new(Call { id: "2".into(), ..Call::default() })),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "2" }),
        ),
        (
            Update::Plan(vec![step]),
            json!({ "sessionUpdate": "plan", "entries": [{ "content": "s", "priority": "medium", "status": "completed" }] }),
        ),
        (
            Update::Commands(vec![command]),
            json!({ "sessionUpdate": "available_commands_update", "availableCommands": [{ "name": "c", "description": "d", "input": { "hint": "WHAT" } }] }),
        ),
        (
            Update::Mode(Mode::Plan),
            json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }),
        ),
        (Update::Title("t".into()), json!({ "sessionUpdate": "session_info_update", "title": "t" })),
        (
            Update::Usage { used: 1, size: 2, cost: 0.5 },
            json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": { "amount": 0.5, "currency": "USD" } }),
        ),
        (
            Update::Compaction(1, Progress::Done),
            json!({ "sessionUpdate": "compaction_update", "compactionId": "compaction-1", "status": "completed" }),
        ),
    ];
    for (update, expected) in cases {
        assert_eq!(written(update), expected);
    }
}

#[test]
fn a_form_is_written() {
    let named = |id: &str| Named { id: id.into(), name: id.into(), description: "d".into() };
    let field = |id: &str, choices: Vec<Named>, several| Field {
        id: id.into(),
        title: "T".into(),
        question: "Q?".into(),
        choices,
        several,
    };
    let fields = vec![
        field("a", vec![named("x")], false),
        field("b", vec![named("y")], true),
        field("c", vec![], false),
    ];
    let form = form("s", Form { title: "Q?".into(), call: "1".into(), fields });
    let value = serde_json::to_value(form).unwrap();
    assert_eq!(
        (&value["sessionId"], &value["toolCallId"], &value["mode"]),
        (&json!("s"), &json!("1"), &json!("form"))
    );
    let fields = &value["requestedSchema"]["properties"];
    assert_eq!(fields["a"]["oneOf"][0]["const"], "x");
    assert_eq!(fields["b"]["items"]["anyOf"][0]["const"], "y");
    assert_eq!((fields["c"]["type"].as_str(), fields["c"].get("oneOf")), (Some("string"), None));
}
