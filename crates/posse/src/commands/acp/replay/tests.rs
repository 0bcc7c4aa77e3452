use std::path::Path;

use serde_json::json;

use super::super::words::{Abilities, Progress};
use super::*;

fn told(entries: Vec<Value>) -> Vec<String> {
    let mut teller = Teller::new(Path::new("/p"), Abilities::default());
    let short = |update: &Update| match update {
        Update::User(Piece::Text(text)) => format!("user {text}"),
        Update::Text(text) => format!("text {text:?}"),
        Update::Thought(text) => format!("thought {text}"),
        Update::NewCall(call) => format!("+{} {}", call.id, call.title.as_deref().unwrap_or("-")),
        Update::Call(call) => format!("{} {:?}", call.id, call.progress.unwrap_or(Progress::Pending)),
        other => format!("{other:?}"),
    };
    updates(&entries, &mut teller).iter().map(short).collect()
}

fn user(content: Value) -> Value {
    json!({ "type": "user", "message": { "role": "user", "content": content } })
}

fn assistant(block: Value) -> Value {
    json!({ "type": "assistant", "message": { "role": "assistant", "content": [block] } })
}

#[test]
fn a_conversation_is_told_as_it_was() {
    let uses = |id: &str| {
        assistant(json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "ls" } }))
    };
    let result = |id: &str, is_error: bool| {
        user(json!([{ "type": "tool_result", "tool_use_id": id, "content": "out", "is_error": is_error }]))
    };
    let say = |text: &str| assistant(json!({ "type": "text", "text": text }));
    let mut summary = user(json!("a summary"));
    summary["isCompactSummary"] = json!(true);
    let entries = vec![
        user(json!([
            { "type": "text", "text": "<system-reminder>\nhidden\n</system-reminder>" },
            { "type": "text", "text": "hello" },
        ])),
        assistant(json!({ "type": "thinking", "thinking": "hm", "signature": "s" })),
        say("hi"),
        uses("1"),
        result("1", false),
        uses("2"),
        result("2", true),
        result("9", false),
        summary,
        json!({ "type": "system", "subtype": "compact_boundary" }),
        user(json!("<task-notification>over</task-notification>")),
        say("it is over"),
        user(json!("more")),
        uses("1"),
    ];
    let expected = [
        "user hello",
        "thought hm",
        "text \"hi\"",
        "+1 `ls`",
        "1 Done",
        "+2 `ls`",
        "2 Failed",
        "text \"it is over\"",
        "user more",
        "+1-2 `ls`",
        "1-2 Failed",
    ];
    assert_eq!(told(entries), expected);
    assert_eq!(told(vec![json!(7), json!({ "message": 7 })]), Vec::<String>::new());
}
