use std::convert::Infallible;

use reqwest::StatusCode;
use serde_json::json;

use super::errors::{from_event, from_status, read};
use super::*;

fn kind_of(status: u16, text: &str) -> FailureKind {
    from_status(StatusCode::from_u16(status).unwrap(), "api.example", text).kind
}

#[test]
fn refusals_as_real_servers_send_them() {
    use FailureKind::*;
    let anthropic = |kind: &str, text: &str| {
        json!({"type": "error", "error": {"type": kind, "message": text}}).to_string()
    };
    let openai = |code: &str, text: &str| {
        json!({"error": {"message": text, "type": "invalid_request_error", "param": null, "code": code}})
            .to_string()
    };
    for (status, text, want) in [
        (401, anthropic("authentication_error", "invalid x-api-key"), Auth),
        (403, anthropic("permission_error", "no access"), Auth),
        (402, anthropic("billing_error", "pay"), Billing),
        (
            400,
            anthropic("invalid_request_error", "Your credit balance is too low to access the API"),
            Billing,
        ),
        (404, anthropic("not_found_error", "model: claude-9"), ModelNotFound),
        (404, anthropic("not_found_error", "Not found"), Invalid),
        (
            400,
            anthropic("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
            TooLong,
        ),
        (400, anthropic("invalid_request_error", "messages.0.content: Field required"), Invalid),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), TooLong),
        (429, anthropic("rate_limit_error", "This request would exceed your rate limit"), RateLimit),
        (500, anthropic("api_error", "Internal server error"), Server),
        (529, anthropic("overloaded_error", "Overloaded"), Overloaded),
        (
            400,
            openai("context_length_exceeded", "This model's maximum context length is 8192 tokens"),
            TooLong,
        ),
        (404, openai("model_not_found", "The model `gpt-9` does not exist"), ModelNotFound),
        (400, openai("model_not_found", "The model `gpt-9` does not exist"), ModelNotFound),
        (429, openai("insufficient_quota", "You exceeded your current quota"), Billing),
        (429, openai("rate_limit_exceeded", "Rate limit reached"), RateLimit),
        (404, r#"{"error":"model 'llama9' not found"}"#.to_owned(), ModelNotFound),
        (
            400,
            r#"{"object":"error","message":"maximum context length is 4096","code":400}"#.to_owned(),
            TooLong,
        ),
        (422, r#"{"detail":[{"loc":["body","tools"],"msg":"bad"}]}"#.to_owned(), Invalid),
        (503, "The server is overloaded".to_owned(), Overloaded),
        (502, "<html><head><title>502 Bad Gateway</title></head></html>".to_owned(), Server),
        (408, String::new(), Server),
        (307, String::new(), Invalid),
        (504, String::new(), Server),
    ] {
        assert_eq!(kind_of(status, &text), want, "{status} {text}");
    }
}

#[test]
fn the_message_is_what_the_server_said() {
    for (text, want) in [
        (r#"{"type":"error","error":{"type":"x","message":"Overloaded"}}"#, "Overloaded"),
        (r#"{"error":"plain"}"#, "plain"),
        (r#"[{"error":{"code":400,"message":"in a list","status":"INVALID_ARGUMENT"}}]"#, "in a list"),
        (r#"{"detail":"Not authenticated"}"#, "Not authenticated"),
        ("upstream timed out\n", "upstream timed out"),
        ("<!DOCTYPE html><TITLE>Log in</TITLE>", "a web page, “Log in”"),
        ("<html></html>", "a web page"),
        (r#"{"weird":1}"#, r#"{"weird":1}"#),
        ("", ""),
    ] {
        assert_eq!(read(text).message, want);
    }
    let long = "é".repeat(5000);
    assert_eq!(read(&long).message.chars().count(), 601);
    let shown = from_status(StatusCode::BAD_GATEWAY, "api.example", "");
    assert_eq!((shown.message.as_str(), shown.status), ("api.example answered 502 Bad Gateway", Some(502)));
    let lost = from_status(StatusCode::NOT_FOUND, "api.example", "404 page not found");
    assert!(lost.message.contains("is the base URL right?"), "{lost:?}");
}

#[test]
fn errors_within_a_stream() {
    use FailureKind::*;
    let typed = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "m"}});
    for (event, want) in [
        (typed("overloaded_error"), Overloaded),
        (typed("rate_limit_error"), RateLimit),
        (typed("api_error"), Server),
        (typed("timeout_error"), Server),
        (typed("authentication_error"), Auth),
        (typed("invalid_request_error"), Invalid),
        (json!({"error": {"message": "busy", "code": 429}}), RateLimit),
        (json!({"error": {"message": "prompt is too long", "type": "invalid_request_error"}}), TooLong),
        (json!({"object": "error", "message": "CUDA out of memory", "code": 500}), Server),
        (json!({"error": "something broke"}), Server),
    ] {
        assert_eq!(from_event(&event).kind, want, "{event}");
    }
    assert_eq!(from_event(&typed("overloaded_error")).message, "overloaded_error: m");
}

#[test]
fn how_long_to_wait() {
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let ask = |name: &'static str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        retry_after(&headers, now)
    };
    assert_eq!(ask("retry-after", "7"), Some(Duration::from_secs(7)));
    assert_eq!(ask("retry-after", "0.5"), Some(Duration::from_millis(500)));
    assert_eq!(ask("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
    assert_eq!(ask("retry-after", "Fri, 02 Jan 2026 03:05:05 GMT"), Some(Duration::from_secs(60)));
    assert_eq!(ask("retry-after", "Fri, 02 Jan 2026 03:00:00 GMT"), Some(Duration::ZERO), "in the past");
    for nonsense in ["soon", "-3", "inf", "NaN", "1e300"] {
        assert_eq!(ask("retry-after", nonsense), None, "{nonsense}");
    }
}

#[test]
fn custom_headers_are_lines() {
    let read = parse_headers("X-One: 1\r\n\nno header\n: empty\nX-Two:a:b \n");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(read, [pair("X-One", "1"), pair("X-Two", "a:b")]);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_stream_and_every_byte_begins_it_anew() {
    let stall = Duration::from_secs(90);
    let begin = tokio::time::Instant::now();
    // A byte each minute for five minutes, then nothing.
    let slow = futures_util::stream::unfold(0, |n| async move {
        match n {
            5 => std::future::pending().await,
            _ => tokio::time::sleep(Duration::from_secs(60)).await,
        }
        Some((Ok::<_, Infallible>(b":"), n + 1))
    });
    let mut events = Events::over(slow, "api.example".into(), stall);
    let failure = events.next().await.unwrap_err();
    assert_eq!(failure, Failure::new(FailureKind::Connection, "api.example has been silent for 90 s"));
    assert_eq!(begin.elapsed(), Duration::from_secs(5 * 60 + 90));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_malformed() {
    let bytes = futures_util::stream::iter([Ok::<_, Infallible>(b"data: \xff\xfe\n\n")]);
    let mut events = Events::over(bytes, "api.example".into(), Duration::from_secs(1));
    assert_eq!(events.next().await.unwrap_err().kind, FailureKind::Malformed);
}
