use serde_json::json;

use super::*;

fn deny(message: &str, interrupt: bool) -> PermissionAnswer {
    PermissionAnswer::Deny { message: message.into(), interrupt }
}

#[test]
fn a_host_decides_and_what_nobody_understands_is_a_no() {
    let failed = "Tool permission request failed: Error:";
    let cases = [
        (Ok(json!({ "behavior": "allow" })), PermissionAnswer::yes()),
        (
            Ok(
                json!({ "behavior": "allow", "updatedInput": { "a": 1 }, "updatedPermissions": [{ "b": 2 }] }),
            ),
            PermissionAnswer::Allow {
                updated_input: Some(json!({ "a": 1 })),
                updates: vec![json!({ "b": 2 })],
            },
        ),
        (Ok(json!({ "behavior": "allow", "updatedInput": null })), PermissionAnswer::yes()),
        (Ok(json!({ "behavior": "deny", "message": "no" })), deny("no", false)),
        (Ok(json!({ "behavior": "deny", "message": "no", "interrupt": true })), deny("no", true)),
        (Ok(json!({})), deny(&format!("{failed} the answer has no behavior"), false)),
        (Ok(json!([1])), deny(&format!("{failed} the answer has no behavior"), false)),
        (Err("gone".into()), deny(&format!("{failed} gone"), false)),
    ];
    for (answer, expected) in cases {
        assert_eq!(verdict(answer.clone()), expected, "{answer:?}");
    }
}

#[test]
fn answers_to_questions_come_with_the_input() {
    let allow = |answers: Value| json!({ "behavior": "allow", "updatedInput": { "answers": answers } });
    let given = QuestionAnswer::Answered([("Q?".to_owned(), "A".to_owned())].into());
    assert_eq!(chosen(Ok(allow(json!({ "Q?": "A" })))), given);
    assert_eq!(chosen(Ok(allow(json!({})))), QuestionAnswer::Declined("they chose nothing".into()));
    let no = json!({ "behavior": "deny", "message": "later" });
    assert_eq!(chosen(Ok(no)), QuestionAnswer::Declined("later".into()));
}
