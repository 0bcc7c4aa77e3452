//! What servers say when they refuse, and what it means. One table for every provider: gateways mix their dialects.

use posse_core::failure::{Failure, FailureKind};
use reqwest::StatusCode;
use serde_json::Value;

/// Longest text of a server that is shown to a person.
const MOST_SHOWN: usize = 600;

const BILLING: &[&str] = &[
    "credit balance",
    "billing_error",
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "payment required",
];
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "input is too long",
    "context window",
    "context length",
    "context_length",
    "context limit",
    "context size",
    "maximum context",
    "request_too_large",
    "reduce the length",
];
const NO_MODEL: &[&str] =
    &["model_not_found", "not_found_error", "not found", "not exist", "unknown model", "invalid model"];
const OVERLOADED: &[&str] = &["overloaded", "at capacity", "over capacity"];
const RATE: &[&str] = &["rate_limit", "rate limit", "too many requests", "resource_exhausted"];
const AUTH: &[&str] = &["authentication", "permission", "unauthorized", "invalid_api_key", "invalid api key"];
const INVALID: &[&str] = &["invalid_request", "bad_request", "badrequest", "unprocessable"];

/// An error as a server put it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Its type and codes, for programs.
    pub(super) words: String,
    /// Its message, for people.
    pub(super) message: String,
    /// A status inside the text, as errors within a stream have it.
    pub(super) status: Option<u16>,
}

/// An answer with a status that is no success.
pub(super) fn from_status(status: StatusCode, host: &str, text: &str) -> Failure {
    let said = read(text);
    let kind = classify(Some(status.as_u16()), &said);
    let name = match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    };
    let mut message = match said.message.as_str() {
        "" => format!("{host} answered {name}"),
        said => format!("{name}: {said}"),
    };
    if status.is_redirection() || (status == StatusCode::NOT_FOUND && kind != FailureKind::ModelNotFound) {
        message.push_str(&format!(" (is the base URL right? It leads to {host})"));
    }
    Failure { status: Some(status.as_u16()), ..Failure::new(kind, message) }
}

/// An error in the middle of a stream, by its value: `{"error": …}` or the like.
pub(in crate::model) fn from_event(event: &Value) -> Failure {
    let said = said(event);
    let kind = classify(said.status, &said);
    let message = match (said.words.split(' ').next().unwrap_or_default(), said.message.as_str()) {
        ("", "") => format!("the provider reported an error: {}", shorten(&event.to_string())),
        ("", message) => message.to_owned(),
        (word, "") => word.to_owned(),
        (word, message) => format!("{word}: {message}"),
    };
    Failure { status: said.status, ..Failure::new(kind, message) }
}

/// Reads the text of an error: JSON in any of the usual shapes, plain text, or a web page.
pub(super) fn read(text: &str) -> Said {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            let said = said(&value);
            let message = if said.message.is_empty() { shorten(text) } else { said.message };
            Said { message, ..said }
        }
        Ok(_) | Err(_) => Said { message: snippet(text), ..Said::default() },
    }
}

fn said(value: &Value) -> Said {
    // Some send a list of one error; most put it below `error`; some put it at the top.
    let value = value.get(0).unwrap_or(value);
    let error = match value.get("error") {
        Some(error @ Value::Object(_)) => error,
        Some(Value::String(text)) => return Said { message: shorten(text), ..Said::default() },
        Some(_) | None => value,
    };
    let mut words: Vec<&str> = Vec::new();
    let mut status = None;
    for key in ["type", "code", "status"] {
        match error.get(key) {
            Some(Value::String(word)) => words.push(word),
            Some(Value::Number(number)) => {
                let number = number.as_u64().and_then(|number| u16::try_from(number).ok());
                status = status.or(number.filter(|number| (400..600).contains(number)));
            }
            Some(_) | None => {}
        }
    }
    let detail = match error.get("message").or_else(|| error.get("detail")) {
        Some(Value::String(text)) => text.clone(),
        Some(other @ (Value::Array(_) | Value::Object(_))) => other.to_string(),
        Some(_) | None => String::new(),
    };
    Said { words: words.join(" "), message: shorten(&detail), status }
}

fn classify(status: Option<u16>, said: &Said) -> FailureKind {
    let text = format!("{} {}", said.words, said.message).to_lowercase();
    let has = |table: &[&str]| table.iter().any(|word| text.contains(word));
    let wrong = || match () {
        () if has(BILLING) => FailureKind::Billing,
        () if has(TOO_LONG) => FailureKind::TooLong,
        () if has(NO_MODEL) && text.contains("model") => FailureKind::ModelNotFound,
        () => FailureKind::Invalid,
    };
    match status {
        Some(401 | 403 | 407) if has(BILLING) => FailureKind::Billing,
        Some(401 | 403 | 407) => FailureKind::Auth,
        Some(402) => FailureKind::Billing,
        Some(404) if text.contains("model") => FailureKind::ModelNotFound,
        Some(408 | 409 | 425) => FailureKind::Server,
        Some(413) => FailureKind::TooLong,
        Some(429) if has(BILLING) => FailureKind::Billing,
        Some(429) => FailureKind::RateLimit,
        Some(529) => FailureKind::Overloaded,
        Some(500..) if has(OVERLOADED) => FailureKind::Overloaded,
        // Some proxies in front of local models report it as their own failure; trying again cannot help.
        Some(500..) if has(TOO_LONG) => FailureKind::TooLong,
        Some(500..) => FailureKind::Server,
        Some(_) => wrong(),
        None if has(OVERLOADED) => FailureKind::Overloaded,
        None if has(RATE) => FailureKind::RateLimit,
        None if has(AUTH) => FailureKind::Auth,
        None => match wrong() {
            // Nothing says whose fault it is: most likely the server's, and then it passes.
            FailureKind::Invalid if !has(INVALID) => FailureKind::Server,
            kind => kind,
        },
    }
}

/// The part of a text worth showing. Of a web page that is its title.
pub(in crate::model) fn snippet(text: &str) -> String {
    let text = text.trim();
    if !text.starts_with('<') {
        return shorten(text);
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").zip(lower.find("</title>"));
    match title.and_then(|(start, end)| text.get(start + "<title>".len()..end)) {
        Some(title) => format!("a web page, “{}”", shorten(title)),
        None => "a web page".to_owned(),
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
