use posse_core::permission::Mode;
use serde_json::{Value, json};

use super::super::trial::{Answer, Trial};
use super::{EnterPlanMode, ExitPlanMode};
use crate::ask::{Ask, Desk, PermissionAnswer, PermissionAsk, SharedMode};

/// Presents a plan to a person who answers like this; what they saw, and what the tool said.
async fn present(mode: &SharedMode, input: Value, answer: PermissionAnswer) -> (Box<PermissionAsk>, Answer) {
    let (desk, mut asks) = Desk::open();
    let tool = ExitPlanMode::new(mode.clone(), desk);
    let person = async {
        let Some(Ask::Permission(pending)) = asks.next().await else { panic!("it must ask") };
        let seen = pending.ask.clone();
        pending.answer(answer);
        seen
    };
    let trial = Trial::new();
    tokio::join!(person, trial.ask(&tool, input))
}

fn deny(message: &str) -> PermissionAnswer {
    PermissionAnswer::Deny { message: message.into(), interrupt: false }
}

#[tokio::test]
async fn a_plan_is_approved_and_the_mode_goes_back_or_where_the_person_says() {
    let yes = |updates: Vec<Value>| PermissionAnswer::Allow { updated_input: None, updates };
    let edits = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
    let other = json!({ "type": "addDirectories", "directories": ["/x"], "destination": "session" });
    for (before, updates, after) in [
        (Mode::Default, vec![], Mode::Default),
        (Mode::BypassPermissions, vec![], Mode::BypassPermissions),
        (Mode::Default, vec![other.clone(), edits.clone()], Mode::AcceptEdits),
        (Mode::Default, vec![json!({ "type": "setMode", "mode": "nonsense" })], Mode::Default),
    ] {
        let mode = SharedMode::from(before);
        let entered = Trial::new().ask(&EnterPlanMode::new(mode.clone()), json!({})).await;
        assert!(entered.text.contains("Plan mode is on"), "{}", entered.text);
        assert_eq!(mode.current(), Mode::Plan);
        let (seen, answer) = present(&mode, json!({ "plan": "1. Do it" }), yes(updates)).await;
        assert_eq!(seen.input, json!({ "plan": "1. Do it" }));
        assert_eq!(seen.suggestions[0].update, edits);
        assert!(!answer.is_error && answer.text.contains("approved the plan"), "{answer:?}");
        assert_eq!((answer.field("mode"), mode.current()), (&after.name().into(), after));
    }
}

#[tokio::test]
async fn feedback_keeps_planning() {
    let mode = SharedMode::from(Mode::Plan);
    let (_, answer) = present(&mode, json!({ "plan": "x" }), deny("smaller steps")).await;
    assert!(answer.is_error && answer.text.contains("plan: smaller steps\nPlan mode stays on"), "{answer:?}");
    let (_, answer) = present(&mode, json!({ "plan": "x" }), deny(" ")).await;
    assert!(answer.text.contains("no reason was given"), "{answer:?}");
    assert_eq!(mode.current(), Mode::Plan);
}

#[tokio::test]
async fn a_plan_the_person_changed_is_the_one_that_counts() {
    let mode = SharedMode::from(Mode::Plan);
    let changed =
        PermissionAnswer::Allow { updated_input: Some(json!({ "plan": "2. Less" })), updates: Vec::new() };
    let prompts = json!([{ "tool": "Bash", "prompt": "run the tests" }]);
    let (seen, answer) =
        present(&mode, json!({ "plan": "1. More", "allowedPrompts": prompts }), changed).await;
    assert_eq!(seen.input["allowedPrompts"], prompts);
    assert!(answer.text.ends_with("This is what was approved:\n\n2. Less"), "{}", answer.text);
    assert_eq!(answer.field("plan"), "2. Less");
}

#[tokio::test]
async fn without_a_person_without_a_plan_mode_and_interrupted() {
    let trial = Trial::new();
    let mode = SharedMode::from(Mode::Plan);
    let answer = trial.ask(&ExitPlanMode::new(mode.clone(), Desk::default()), json!({ "plan": "x" })).await;
    assert!(answer.is_error && answer.text.starts_with("Nobody can approve"), "{answer:?}");
    assert_eq!(mode.current(), Mode::Plan);
    let answer = trial.ask(&ExitPlanMode::default(), json!({})).await;
    assert!(answer.is_error && answer.text.starts_with("Plan mode is not on"), "{answer:?}");
    let (desk, _silent) = Desk::open();
    trial.cx.stop.cancel();
    let answer = trial.ask(&ExitPlanMode::new(mode.clone(), desk), json!({ "plan": "x" })).await;
    assert_eq!((answer.text.as_str(), mode.current()), ("Interrupted before it was done.", Mode::Plan));
}
