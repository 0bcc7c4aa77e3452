use std::time::Duration;

use posse_core::budget::Which;
use posse_core::failure::Failure;
use posse_core::message::ToolCall;
use serde_json::json;

use super::*;

#[test]
fn every_end_has_its_word() {
    let answer = || Outcome::Answer { text: "a".to_owned(), structured: None };
    let failed = |kind| Outcome::Failed(Failure::new(kind, "so it is"));
    let call = ToolCall { id: "1".into(), name: "Bash".into(), input: json!({}) };
    let cases = [
        (answer(), Some(StopReason::EndTurn), Ok(Stop::EndTurn), false),
        (answer(), None, Ok(Stop::EndTurn), false),
        (answer(), Some(StopReason::MaxTokens), Ok(Stop::MaxTokens), false),
        (answer(), Some(StopReason::Refusal), Ok(Stop::Refusal), false),
        (Outcome::Cancelled { in_tools: true }, Some(StopReason::MaxTokens), Ok(Stop::Cancelled), false),
        (Outcome::OutOfTurns(3), None, Ok(Stop::MaxRequests), true),
        (Outcome::OutOfBudget(0.5), None, Ok(Stop::MaxRequests), true),
        (Outcome::Exhausted { which: Which::Tokens, limit: 9 }, None, Ok(Stop::MaxRequests), true),
        (Outcome::OutOfTries(2), None, Ok(Stop::EndTurn), true),
        (Outcome::Blocked("no".to_owned()), None, Ok(Stop::Refusal), true),
        (Outcome::Stopped("enough".to_owned()), None, Ok(Stop::EndTurn), true),
        (Outcome::Deferred(call), None, Ok(Stop::EndTurn), true),
        (Outcome::Stalled(Duration::from_secs(9)), None, Err(RefusalKind::Failed), false),
        (failed(FailureKind::Refused), None, Ok(Stop::Refusal), true),
        (failed(FailureKind::OutputLimit), None, Ok(Stop::MaxTokens), true),
        (failed(FailureKind::Auth), None, Err(RefusalKind::Auth), false),
        (failed(FailureKind::Overloaded), None, Err(RefusalKind::Failed), false),
    ];
    for (outcome, stop, expected, is_said) in cases {
        let (text, end) = verdict(&outcome, stop.as_ref());
        assert_eq!(end.map_err(|refusal| refusal.kind), expected, "{outcome:?}");
        assert_eq!(text.is_some(), is_said, "{outcome:?}");
    }
}
