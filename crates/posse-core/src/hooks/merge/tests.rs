use serde_json::json;

use super::*;
use crate::hooks::answer::{self, Exit};
use crate::hooks::trial::occasion;

/// What comes of several handlers `a`, `b`, … that ended with a code and printed to both pipes.
fn merged(event: HookEvent, handlers: &[(i32, &str, &str)]) -> Merged {
    let answered = handlers.iter().zip('a'..).map(|((code, stdout, stderr), label)| Answered {
        label: label.to_string(),
        answer: answer::read(event, &Exit::Code(*code), stdout, stderr),
    });
    merge(&occasion(event), answered)
}

fn decision(verdict: &str, rest: &str) -> String {
    format!(
        r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{verdict}"{rest}}}}}"#
    )
}

#[test]
fn what_blocks_blocks_and_what_must_not_does_not() {
    for event in HookEvent::ALL.iter().copied() {
        let blocks = matches!(
            event,
            HookEvent::PreToolUse
                | HookEvent::UserPromptSubmit
                | HookEvent::Stop
                | HookEvent::SubagentStop
                | HookEvent::PreCompact
                | HookEvent::TeammateIdle
                | HookEvent::TaskCreated
                | HookEvent::TaskCompleted
                | HookEvent::Elicitation
                | HookEvent::ElicitationResult
                | HookEvent::ConfigChange
                | HookEvent::WorktreeCreate
                | HookEvent::UserPromptExpansion
                | HookEvent::PostToolBatch
                | HookEvent::PreModelSwitch
        );
        for (code, stdout, stderr) in [(2, "", "why"), (1, r#"{"decision":"block","reason":"why"}"#, "")] {
            let merged = merged(event, &[(0, "{}", ""), (code, stdout, stderr)]);
            assert_eq!(merged.is_blocked() && merged.objection().is_some(), blocks, "{event:?} {code}");
        }
        let only_worktree = event == HookEvent::WorktreeCreate;
        assert_eq!(merged(event, &[(1, "", "why")]).is_blocked(), only_worktree, "{event:?}");
        assert_eq!(merged(event, &[]), Merged { prevents: blocks, ..Merged::default() }, "{event:?}");
    }
}

#[test]
fn the_strictest_verdict_wins_and_brings_its_reason() {
    let reason =
        |text: &str| format!(r#","permissionDecisionReason":"{text}","updatedInput":{{"by":"{text}"}}"#);
    let (allow, ask) = (decision("allow", &reason("one")), decision("ask", &reason("two")));
    let (defer, deny) = (decision("defer", &reason("three")), decision("deny", &reason("four")));
    let verdicts = |handlers: &[&str]| {
        let handlers: Vec<(i32, &str, &str)> = handlers.iter().map(|stdout| (0, *stdout, "")).collect();
        let merged = merged(HookEvent::PreToolUse, &handlers);
        let (verdict, reason) = merged.permission.clone().unwrap();
        let input = merged.updated_input.clone().map_or(json!(null), |input| input["by"].clone());
        (verdict, reason.unwrap(), input)
    };
    assert_eq!(verdicts(&[&ask, &allow]), (Verdict::Ask, "two".into(), json!("one")));
    assert_eq!(verdicts(&[&allow, &defer, &ask]), (Verdict::Defer, "three".into(), json!(null)));
    let denied = (Verdict::Deny, "PreToolUse:Bash hook error: four".into(), json!(null));
    assert_eq!(verdicts(&[&deny, &allow, &defer]), denied);
    assert_eq!(verdicts(&[&allow, &ask, &deny]), denied);
    // An exit code is a denial as good as any, and the first reason stays.
    let merged = merged(HookEvent::PreToolUse, &[(0, &allow, ""), (2, "", "stop it"), (0, &deny, "")]);
    let want = "PreToolUse:Bash hook error: [b]: stop it";
    assert_eq!(merged.permission, Some((Verdict::Deny, Some(want.into()))));
    assert_eq!(merged.objections.len(), 2);
}

#[test]
fn objections_are_told_in_the_words_people_know() {
    let json = r#"{"decision":"block","reason":"R"}"#;
    for (event, code, stdout, want) in [
        (HookEvent::PreToolUse, 2, "", "PreToolUse:Bash hook error: [a]: E"),
        (HookEvent::PreToolUse, 0, json, "PreToolUse:Bash hook error: R"),
        (HookEvent::Stop, 2, "", "Stop hook feedback:\n[a]: E"),
        (HookEvent::Stop, 0, json, "Stop hook blocking error from command: \"a\": R"),
        (HookEvent::SubagentStop, 0, json, "SubagentStop hook blocking error from command: \"a\": R"),
        (HookEvent::PostToolUse, 2, "", "PostToolUse:Bash hook feedback:\n[a]: E"),
        (HookEvent::UserPromptSubmit, 0, json, "UserPromptSubmit blocked by hook: R"),
    ] {
        assert_eq!(merged(event, &[(code, stdout, "E")]).objection().as_deref(), Some(want));
    }
}

#[test]
fn texts_add_up_in_order_and_the_last_replacement_stays() {
    let post = |rest: &str| {
        format!(
            r#"{{"systemMessage":"m","hookSpecificOutput":{{"hookEventName":"PostToolUse","additionalContext":"{rest}",
            "updatedToolOutput":"{rest}"}}}}"#
        )
    };
    let merged = merged(HookEvent::PostToolUse, &[(0, &post("x"), ""), (1, "", "oops"), (0, &post("y"), "")]);
    let context = |text: &str| format!("PostToolUse hook additional context: {text}");
    assert_eq!(merged.context, [context("x"), context("y")]);
    assert_eq!(merged.updated_output, Some(json!("y")));
    assert_eq!(merged.system_messages, ["PostToolUse:Bash says: m", "PostToolUse:Bash says: m"]);
    assert_eq!(merged.errors, ["PostToolUse:Bash hook failed: [b]: exit code 1: oops"]);
    assert!(!merged.is_blocked());
}

#[test]
fn a_run_goes_on_for_an_objection_or_a_context_unless_everything_stops() {
    let context = r#"{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"more"}}"#;
    let text = merged(HookEvent::Stop, &[(0, context, "")]).goes_on_with();
    assert_eq!(text.as_deref(), Some("Stop hook additional context: more"));
    assert!(merged(HookEvent::Stop, &[(2, "", "go on")]).goes_on_with().is_some());
    let stopped =
        merged(HookEvent::Stop, &[(2, "", "go on"), (0, r#"{"continue":false,"stopReason":"S"}"#, "")]);
    assert_eq!((stopped.goes_on_with(), stopped.stop.as_deref()), (None, Some("S")));
    assert_eq!(merged(HookEvent::Stop, &[(0, "hello", "")]).goes_on_with(), None);
}

#[test]
fn a_denied_request_stays_denied() {
    let with = |decision: &str| {
        format!(r#"{{"hookSpecificOutput":{{"hookEventName":"PermissionRequest","decision":{decision}}}}}"#)
    };
    let allow = with(r#"{"behavior":"allow"}"#);
    let deny = with(r#"{"behavior":"deny","message":"no"}"#);
    for handlers in [[&allow, &deny], [&deny, &allow]] {
        let handlers = handlers.map(|stdout| (0, stdout.as_str(), ""));
        let request = merged(HookEvent::PermissionRequest, &handlers).request;
        assert!(matches!(request, Some(RequestDecision::Deny { .. })), "{request:?}");
    }
}

#[test]
fn a_blocked_question_is_declined_and_a_policy_cannot_be_blocked() {
    let accept =
        r#"{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"a":1}}}"#;
    let both = merged(HookEvent::Elicitation, &[(2, "", "no"), (0, accept, "")]);
    assert_eq!(both.elicitation, Some((ElicitationAction::Decline, None)));
    let accepted = merged(HookEvent::Elicitation, &[(0, accept, "")]).elicitation;
    assert_eq!(accepted, Some((ElicitationAction::Accept, Some(json!({"a": 1})))));

    let policy = Occasion::ConfigChange { source: ConfigSource::Policy, file_path: None };
    let answer = answer::read(HookEvent::ConfigChange, &Exit::Code(2), "", "no");
    let merged = merge(&policy, [Answered { label: "a".into(), answer }]);
    assert!(!merged.is_blocked() && merged.errors.len() == 1);
}
