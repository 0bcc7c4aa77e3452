use rmcp::model::NumberOrString;
use serde_json::json;

use super::*;

fn mark(kind: &str, call: &str) -> Mark {
    Mark {
        agent: "a1".into(),
        kind: kind.into(),
        task: String::new(),
        call: call.into(),
        depth: 1,
        in_background: false,
    }
}

fn runs(id: &str, name: &str, input: Value) -> What {
    What::Delta(Delta::ToolRunning(ToolCall { id: id.into(), name: name.into(), input }))
}

#[test]
fn steps_are_counted_per_call_and_told_to_whoever_asked() {
    let watched = Watched::default();
    let token = ProgressToken(NumberOrString::Number(7));
    let watch = watched.watch("c1", token.clone());
    let told = |mark: &Mark, what: &What| {
        watched.step(mark, what).map(|step| (step.progress, step.message.unwrap_or_default()))
    };
    let lead = mark("lead", "c1");
    assert_eq!(
        told(&lead, &runs("t1", "Agent", json!({ "description": "x" }))),
        Some((1.0, "lead: Agent x".into()))
    );
    // An agent further down belongs to the same call.
    let below = mark("scout", "t1");
    assert_eq!(
        told(&below, &runs("t2", "Read", json!({ "file_path": "a" }))),
        Some((2.0, "scout: Read a".into()))
    );
    assert_eq!(told(&mark("other", "c2"), &runs("t3", "Read", json!({}))), None);
    assert_eq!(told(&lead, &What::Delta(Delta::Requesting)), None);
    drop(watch);
    assert_eq!(told(&lead, &runs("t4", "Read", json!({}))), None);
}

#[test]
fn a_call_is_told_on_one_short_line() {
    let call = |input: Value| ToolCall { id: "t".into(), name: "Bash".into(), input };
    assert_eq!(in_short(&call(json!({ "command": "a\n  b" }))), "Bash a b");
    assert_eq!(in_short(&call(json!({ "command": 7 }))), "Bash");
    assert_eq!(in_short(&call(json!([]))), "Bash");
    let long = in_short(&call(json!({ "command": "ä".repeat(500) })));
    assert!(long.ends_with('…') && long.chars().count() == 101, "{long}");
}
