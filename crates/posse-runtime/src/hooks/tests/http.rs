//! Handlers behind a loopback server.

use posse_testkit::FakeModel;
use posse_testkit::server::{Answer as Reply, Fault};

use super::*;

/// Where the fake server listens to anybody.
const PATH: &str = "/v1/messages";

fn handler(server: &FakeModel) -> Value {
    json!({
        "type": "http", "url": format!("{}{PATH}?token=hidden", server.url()), "timeout": 30,
        "headers": {"X-Key": "Bearer $SECRET", "X-Other": "<${TEST_MARK}>"}, "allowedEnvVars": ["SECRET"],
    })
}

async fn fire(bench: &Bench, policy: HookPolicy, handler: &Value) -> Merged {
    let written = groups(&json!({"PreToolUse": [{"hooks": [handler]}]}));
    Hooks::new(policy, [(source("settings"), written)], []).fire(&before("Bash"), &bench.cx).await
}

#[tokio::test]
async fn the_input_is_posted_and_an_object_is_the_answer() {
    let bench = Bench::new();
    let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}});
    let server = FakeModel::start([Reply::json(200, &deny)]).await;
    let merged = fire(&bench, HookPolicy::default(), &handler(&server)).await;
    assert!(merged.is_blocked() && merged.errors.is_empty(), "{merged:?}");
    let request = &server.requests()[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.body["tool_input"], json!({"command": "ls -l"}));
    assert_eq!(request.header("content-type"), Some("application/json"));
    // Only the variables it may use.
    assert_eq!((request.header("x-key"), request.header("x-other")), (Some("Bearer s3cret"), Some("<>")));
}

#[tokio::test]
async fn everything_else_is_an_error_that_decides_nothing() {
    let bench = Bench::new();
    let deny = json!({"decision": "block"});
    for reply in [
        Reply::json(500, &deny),
        Reply::json(404, &deny),
        Reply::json(302, &deny).header("location", "http://127.0.0.1:9/"),
        Reply::plain(200, "text/plain", "blocked!"),
        Reply::plain(200, "application/json", "[1]"),
        Reply::plain(200, "application/json", format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20))),
        Reply::json(200, &deny).failing(Fault::Reset(20)),
    ] {
        let server = FakeModel::start([reply]).await;
        let merged = fire(&bench, HookPolicy::default(), &handler(&server)).await;
        assert!(!merged.is_blocked() && merged.errors.len() == 1, "{merged:?}");
        assert!(!merged.errors[0].contains("hidden"), "{merged:?}");
    }
    let server = FakeModel::start([Reply::json(200, &deny).failing(Fault::Stall(10))]).await;
    let mut impatient = handler(&server);
    impatient["timeout"] = json!(0.2);
    let merged = fire(&bench, HookPolicy::default(), &impatient).await;
    assert!(!merged.is_blocked() && merged.errors.len() == 1, "{merged:?}");
    // An empty answer is one.
    let server = FakeModel::start([Reply::plain(204, "text/plain", "")]).await;
    assert!(nothing(&fire(&bench, HookPolicy::default(), &handler(&server)).await));
}

#[tokio::test]
async fn the_policy_says_where_to_and_with_which_variables() {
    let bench = Bench::new();
    let server = FakeModel::start([Reply::json(200, &json!({}))]).await;
    let elsewhere =
        HookPolicy { http_urls: Some(vec!["https://*.example.org/*".into()]), ..HookPolicy::default() };
    let merged = fire(&bench, elsewhere, &handler(&server)).await;
    assert_eq!((merged.errors.len(), server.requests().len()), (1, 0));

    let here = HookPolicy {
        http_urls: Some(vec!["http://127.0.0.1:*".into()]),
        http_env: Some(Vec::new()),
        ..HookPolicy::default()
    };
    assert!(nothing(&fire(&bench, here, &handler(&server)).await));
    assert_eq!(server.requests()[0].header("x-key"), Some("Bearer"));
}
