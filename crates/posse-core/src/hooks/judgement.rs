//! What a model or a checking agent said about an occasion: `{ok, reason?, impossible?}`, however it was wrapped.
//!
//! Knows how to find the object in prose and what a "no" means at each event. Refuses to know who was asked.

use serde_json::{Map, Value};

use super::HookEvent;
use super::answer::{Answer, Block, RequestDecision, Verdict};
use super::facts::Objection;

/// Reads a judgement. `goes_on` says that a "no" after the fact is told to the model instead of ending the turn.
pub fn read(event: HookEvent, said: &str, goes_on: bool) -> Answer {
    let Some((ok, judgement)) = find(said) else {
        let shown: String = said.trim().chars().take(200).collect();
        return Answer::default().failed(event, format!("the answer holds no `ok`: {shown}"));
    };
    let text = |name: &str| judgement.get(name).and_then(Value::as_str).map(str::to_owned);
    let reason = text("reason").filter(|reason| !reason.trim().is_empty());
    if ok {
        return Answer::default();
    }
    // What cannot be done is not asked for again and again.
    let impossible = judgement.get("impossible") == Some(&Value::Bool(true));
    let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
    if impossible && matches!(event, HookEvent::Stop | HookEvent::SubagentStop) {
        return Answer { system_message: Some(reason), ..Answer::default() };
    }
    refusal(event, reason, goes_on)
}

fn refusal(event: HookEvent, reason: String, goes_on: bool) -> Answer {
    let answer = Answer::default();
    match event.facts().objection {
        _ if event == HookEvent::PermissionRequest => {
            let deny = RequestDecision::Deny { message: Some(reason), interrupt: false };
            Answer { request: Some(deny), ..answer }
        }
        _ if event == HookEvent::PreToolUse => {
            Answer { permission: Some((Verdict::Deny, Some(reason))), ..answer }
        }
        Objection::TellsModel if !goes_on => Answer { stop: Some(reason), ..answer },
        Objection::Blocks | Objection::AnyFailureBlocks | Objection::TellsModel => {
            Answer { block: Some(Block { reason, by_exit: false }), ..answer }
        }
        Objection::ShownOnly => Answer::error(reason),
        Objection::Ignored => answer,
    }
}

/// The first object with an `ok` in a text: bare, in a code fence, or after some words.
fn find(said: &str) -> Option<(bool, Map<String, Value>)> {
    let starts = said.match_indices('{').map(|(at, _)| at).take(50);
    starts
        .filter_map(|at| first_object(&said[at..]))
        .find_map(|object| Some((truth(object.get("ok")?)?, object)))
}

fn first_object(text: &str) -> Option<Map<String, Value>> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next()?.ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(yes) => Some(*yes),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
