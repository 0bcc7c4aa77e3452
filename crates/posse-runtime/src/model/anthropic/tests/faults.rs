//! The endpoint on a real line: what is sent, and every way it refuses, breaks or falls silent.

use std::time::Duration;

use posse_core::failure::{Failure, FailureKind};
use posse_core::message::Block;
use posse_testkit::server::{Answer, Fault, MessagesReply};
use posse_testkit::{FakeModel, TestEnv};
use serde_json::json;

use super::{KEY, anthropic, sample};
use crate::model::anthropic::{Anthropic, Credential, KeyHelper};
use crate::model::tests::{call, nothing_is_doubled, request, world};

async fn failure_of(answer: Answer) -> Failure {
    let server = FakeModel::start([answer]).await;
    call(&anthropic(&server.url()), &request("m")).await.0.unwrap_err()
}

#[tokio::test]
async fn what_is_sent_and_what_comes_back() {
    let server = FakeModel::start([sample().answer().chunked(11)]).await;
    let mut model = anthropic(&format!("{}/v1/", server.url()));
    model.betas = vec!["b-1".into(), "b-2".into()];
    model.user_agent = "posse/test (sdk)".into();
    model.custom_headers =
        vec![("X-Team".into(), "blue".into()), ("Anthropic-Version".into(), "2099".into())];
    let (reply, deltas) = call(&model, &request("claude-fake-1")).await;
    nothing_is_doubled(&deltas, &reply.unwrap());

    let sent = &server.requests()[0];
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/v1/messages"));
    for (name, want) in [
        ("x-api-key", Some(KEY)),
        ("authorization", None),
        ("anthropic-beta", Some("b-1,b-2")),
        ("anthropic-version", Some("2099")),
        ("user-agent", Some("posse/test (sdk)")),
        ("content-type", Some("application/json")),
        ("x-team", Some("blue")),
    ] {
        assert_eq!(sent.header(name), want, "{name}");
    }
    assert_eq!((&sent.body["model"], &sent.body["stream"]), (&json!("claude-fake-1"), &json!(true)));
}

#[test]
fn what_the_environment_says() {
    let bare = Anthropic::new(&world(&[]), None);
    assert_eq!((bare.base_url.as_str(), bare.stall), ("https://api.anthropic.com", Duration::from_secs(90)));
    assert!(matches!(bare.credential, Credential::None) && bare.custom_headers.is_empty());
    let full = Anthropic::new(
        &world(&[
            ("ANTHROPIC_BASE_URL", "https://gateway.example/anthropic"),
            ("ANTHROPIC_AUTH_TOKEN", "token"),
            ("ANTHROPIC_API_KEY", KEY),
            ("ANTHROPIC_CUSTOM_HEADERS", "X-A: 1\nX-B: 2"),
        ]),
        Some("echo key"),
    );
    assert!(matches!(full.credential, Credential::Bearer(_)), "a token wins");
    assert_eq!(full.custom_headers.len(), 2);
    assert!(matches!(Anthropic::new(&world(&[]), Some("echo key")).credential, Credential::Helper(_)));
    assert!(!format!("{:?}", anthropic("http://x").credential).contains(KEY), "keys cannot be printed");
}

#[tokio::test]
async fn tokens_travel_as_bearer() {
    let server = FakeModel::start([MessagesReply::new().text("hi").answer()]).await;
    let vars = [("ANTHROPIC_BASE_URL", server.url()), ("ANTHROPIC_AUTH_TOKEN", " tok \n".into())];
    let vars: Vec<_> = vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
    call(&Anthropic::new(&world(&vars), None), &request("m")).await.0.unwrap();
    let sent = &server.requests()[0];
    assert_eq!((sent.header("authorization"), sent.header("x-api-key")), (Some("Bearer tok"), None));
}

#[tokio::test]
async fn without_a_key_the_public_endpoint_is_not_asked() {
    let failure = call(&Anthropic::new(&world(&[]), None), &request("m")).await.0.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    assert!(failure.message.contains("ANTHROPIC_API_KEY"), "{failure:?}");
}

#[tokio::test]
async fn a_refused_key_is_fetched_anew_once() {
    let env = TestEnv::new();
    env.write("count", "");
    let command = format!("echo x >> {0}; echo key-number-$(wc -l < {0})", env.path("count").display());
    let refused = || Answer::error(401, "authentication_error", "invalid x-api-key");
    let good = || MessagesReply::new().text("hi").answer();
    let server = FakeModel::start([good(), good(), refused(), good(), refused(), refused()]).await;
    let mut model = anthropic(&server.url());
    model.credential = Credential::Helper(KeyHelper::new(&command, &world(&[("PATH", "/usr/bin:/bin")])));
    for _ in 0..3 {
        call(&model, &request("m")).await.0.unwrap();
    }
    let failure = call(&model, &request("m")).await.0.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth, "two refusals in one call are final");
    let keys: Vec<_> =
        server.requests().iter().map(|sent| sent.header("x-api-key").unwrap().to_owned()).collect();
    let number = |n: u32| format!("key-number-{n}");
    assert_eq!(keys, [1, 1, 1, 2, 2, 3].map(number));
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer key-number-1"));

    for (command, says) in [("echo no >&2; exit 3", "no"), ("true", "printed no key")] {
        model.credential = Credential::Helper(KeyHelper::new(command, &world(&[])));
        let failure = call(&model, &request("m")).await.0.unwrap_err();
        assert!(failure.kind == FailureKind::Auth && failure.message.ends_with(says), "{failure:?}");
    }
}

#[tokio::test]
async fn refusals_keep_status_wait_and_words() {
    let busy = Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "7");
    let want = Failure {
        kind: FailureKind::RateLimit,
        status: Some(429),
        message: "429 Too Many Requests: slow down".into(),
        retry_after: Some(Duration::from_secs(7)),
        unsent: false,
    };
    assert_eq!(failure_of(busy).await, want);
    let overloaded = failure_of(Answer::error(529, "overloaded_error", "Overloaded")).await;
    assert_eq!((overloaded.kind, overloaded.status), (FailureKind::Overloaded, Some(529)));
    assert_eq!(overloaded.message, "529: Overloaded");
    let page = "<html><title>Bad gateway</title></html>";
    let gateway = failure_of(Answer::plain(502, "text/html", page)).await;
    assert_eq!(
        (gateway.kind, gateway.message.as_str()),
        (FailureKind::Server, "502 Bad Gateway: a web page, “Bad gateway”")
    );
    let moved =
        Answer::plain(307, "text/plain", "").header("location", "http://elsewhere.example/v1/messages");
    assert_eq!(failure_of(moved).await.kind, FailureKind::Invalid, "redirects would carry the key elsewhere");
    let login = failure_of(Answer::plain(200, "text/html", "<title>Log in</title>")).await;
    assert!(login.kind == FailureKind::Invalid && login.message.contains("Log in"), "{login:?}");
}

#[tokio::test]
async fn keys_never_show_in_a_failure() {
    let echo = format!("you sent x-api-key: {KEY} and header-secret-99");
    let frame = json!({ "type": "error", "error": { "type": "api_error", "message": echo } });
    for answer in [
        Answer::error(401, "authentication_error", &echo),
        Answer::plain(500, "text/plain", echo.clone()),
        Answer::stream(format!("data: {frame}\n\n")),
        Answer::stream(format!("data: {echo}\n\n")),
        Answer::plain(200, "text/html", echo.clone()),
    ] {
        let server = FakeModel::start([answer]).await;
        let mut model = anthropic(&server.url());
        model.custom_headers = vec![("X-Secret".into(), "header-secret-99".into())];
        let failure = call(&model, &request("m")).await.0.unwrap_err();
        assert!(failure.message.contains("you sent x-api-key: ***"), "{failure:?}");
        assert!(!format!("{failure:?}").contains("header-secret-99"), "{failure:?}");
    }
    let mut model = anthropic("http://127.0.0.1:9");
    model.credential = Credential::ApiKey(crate::model::Secret::new("line\nbreak-in-a-key"));
    let failure = call(&model, &request("m")).await.0.unwrap_err();
    assert!(failure.kind == FailureKind::Invalid && !failure.message.contains("break-in"), "{failure:?}");
    let secret = call(&anthropic("nonsense://user:hunter22@x"), &request("m")).await.0.unwrap_err();
    assert_eq!(secret, Failure::new(FailureKind::Invalid, "ANTHROPIC_BASE_URL is not a web address"));
}

#[tokio::test]
async fn lines_that_cannot_be_had_or_break() {
    let closed = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.local_addr().unwrap()
    };
    let url = format!("http://user:password@{closed}");
    let failure = call(&anthropic(&url), &request("m")).await.0.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connection);
    assert!(failure.message.starts_with(&format!("cannot reach {closed}: ")), "{failure:?}");
    assert!(!failure.message.contains("password"), "{failure:?}");

    let whole = sample().answer();
    let body = whole.bytes().windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let end = whole.bytes().len();
    for fault in [
        Fault::Finish(0),
        Fault::Reset(0),
        Fault::Finish(20),
        Fault::Finish(body),
        Fault::Finish(body + 700),
        Fault::Reset(body + 700),
        Fault::Finish(end - "message_stop\"}\n\n\r\n0\r\n\r\n".len()),
    ] {
        let failure = failure_of(sample().answer().failing(fault)).await;
        assert_eq!(failure.kind, FailureKind::Connection, "{fault:?}: {failure:?}");
        assert!(failure.message.contains("127.0.0.1:"), "{fault:?}: {failure:?}");
    }
}

#[tokio::test]
async fn a_line_that_falls_silent_is_given_up() {
    for answer in [sample().answer().failing(Fault::Stall(0)), sample().answer().stall_behind("text_delta")] {
        let server = FakeModel::start([answer]).await;
        let mut model = anthropic(&server.url());
        model.stall = Duration::from_millis(150);
        let failure = call(&model, &request("m")).await.0.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Connection);
        assert!(failure.message.ends_with("has been silent for 0.15 s"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_line_that_breaks_behind_the_end_does_no_harm() {
    let whole = sample().answer().bytes().len();
    let answer = sample().answer().failing(Fault::Finish(whole - "\r\n0\r\n\r\n".len()));
    let server = FakeModel::start([answer]).await;
    let reply = call(&anthropic(&server.url()), &request("m")).await.0.unwrap();
    assert!(matches!(&reply.blocks[..], [Block::Thinking { .. }, Block::Text(_), _, _]));
}
