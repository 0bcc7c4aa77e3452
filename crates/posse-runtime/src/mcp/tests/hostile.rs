//! What a server may do wrong without harm to anybody but its caller.

use tokio_util::sync::CancellationToken;

use super::*;

/// The error a call ends with.
async fn error_of(lease: &Arc<Lease>, tool: &str, options: CallOptions<'_>) -> McpError {
    lease.call(tool, serde_json::Map::new(), options).await.expect_err("an error")
}

#[tokio::test]
async fn a_crash_fails_the_calls_in_flight_with_the_last_words_and_the_next_call_starts_it_again() {
    let rig = Rig::new();
    let servers = rig.servers(vec![configured("a", script("a"))]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    let cx = rig.cx();
    lease.facts().await.unwrap();
    let (hanging, crashing) =
        tokio::join!(call(&lease, "hang", json!({}), &cx), call(&lease, "crash", json!({}), &cx));
    for output in [hanging, crashing] {
        let said = text(&output);
        assert!(output.is_error && said.contains("exit status: 11"), "{said}");
        assert!(said.contains("segmentation fault (really)"), "{said}");
    }
    assert_eq!(servers.status()[0].state, State::Failed);
    assert_eq!(text(&call(&lease, "echo", json!({}), &cx).await), "call 1");
    assert_eq!(servers.status()[0].state, State::Connected);
    assert_eq!(rig.started().len(), 2);
    rig.end(&servers).await;
}

#[tokio::test]
async fn a_server_that_does_not_start_is_left_alone_for_a_while() {
    let rig = Rig::new();
    let servers = rig.servers(vec![configured("a", script("dies"))]);
    let lease = servers.lease("a", MAIN).unwrap();
    let first = lease.facts().await.unwrap_err();
    assert!(first.to_string().contains("no database: connection refused"), "{first}");
    assert_eq!(lease.facts().await, Err(first.clone()), "told again, not tried again");
    assert_eq!(rig.started().len(), 1);
    let status = &servers.status()[0];
    assert_eq!((status.state, status.error.clone()), (State::Failed, Some(first.to_string())));
    // A person can insist.
    servers.reconnect("a").await.unwrap_err();
    assert_eq!(rig.started().len(), 2);
    rig.end(&servers).await;

    let config = McpConfig::new(Reach::Stdio {
        command: "no-such-program-anywhere".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
    });
    let servers = rig.servers(vec![configured("a", config)]);
    let error = servers.lease("a", MAIN).unwrap().facts().await.unwrap_err();
    assert_eq!(error.to_string(), "a could not be started: there is no program `no-such-program-anywhere`");
}

#[tokio::test]
async fn every_way_to_greet_badly_ends() {
    for (mode, want) in [
        ("silent", "did not answer the greeting"),
        ("endless", "a message of more than 1 MiB"),
        ("refuses", "not today"),
    ] {
        let mut rig = Rig::new();
        rig.limits.message = 1024 * 1024;
        if mode == "silent" {
            rig.limits.connect = Duration::from_millis(200);
        }
        let servers = rig.servers(vec![configured("a", script(mode))]);
        let error = servers.lease("a", MAIN).unwrap().facts().await.unwrap_err();
        assert!(error.to_string().contains(want), "{mode}: {error}");
        rig.end(&servers).await;
    }
}

#[tokio::test]
async fn noise_before_and_between_messages_is_passed_over() {
    let rig = Rig::new();
    let servers = rig.servers(vec![configured("a", script("noisy"))]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "call 1");
    rig.end(&servers).await;
}

#[tokio::test]
async fn an_endless_answer_ends_the_server_and_not_the_memory() {
    let mut rig = Rig::new();
    rig.limits.message = 1024 * 1024;
    rig.list(&json!([tool("flood"), tool("echo")]));
    let servers = rig.servers(vec![configured("a", script("a"))]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    let output = call(&lease, "flood", json!({}), &rig.cx()).await;
    assert!(output.is_error && text(&output).contains("a message of more than 1 MiB"), "{}", text(&output));
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "call 1");
    rig.end(&servers).await;
}

#[tokio::test]
async fn a_call_that_is_stopped_or_takes_too_long_is_cancelled_at_the_server() {
    for way in ["stopped", "dropped", "too long"] {
        let rig = Rig::new();
        rig.list(&json!([tool("hang"), tool("cancelled")]));
        let timeout_ms = (way == "too long").then_some(100);
        let servers = rig.servers(vec![configured("a", McpConfig { timeout_ms, ..script("a") })]);
        let lease = Arc::new(servers.lease("a", MAIN).unwrap());
        lease.facts().await.unwrap();
        let stop = CancellationToken::new();
        let options = || CallOptions { stop: stop.clone(), ..CallOptions::default() };
        match way {
            "stopped" => {
                let calling = error_of(&lease, "hang", options());
                let stopping = async { stop.cancel() };
                let (error, ()) = tokio::join!(calling, stopping);
                assert_eq!(error, McpError::Stopped);
            }
            "dropped" => {
                let calling = lease.call("hang", serde_json::Map::new(), options());
                tokio::select! {
                    biased;
                    _ = calling => panic!("it hangs"),
                    () = tokio::task::yield_now() => {}
                }
            }
            _ => {
                let error = error_of(&lease, "hang", options()).await;
                assert_eq!(error.to_string(), "a did not answer a call of hang within 0.1 s");
            }
        }
        // Answered only once the cancellation is there, however long that takes.
        let patient = McpConfig { timeout_ms: None, ..script("a") };
        let patient = Arc::new(servers.lease_of("a", &patient, MAIN));
        assert_eq!(text(&call(&patient, "cancelled", json!({}), &rig.cx()).await), "was cancelled", "{way}");
        assert_eq!(rig.started().len(), 1, "the same server");
        rig.end(&servers).await;
    }
}

#[tokio::test]
async fn what_nobody_can_read_costs_a_part_of_an_answer_or_one_answer() {
    let rig = Rig::new();
    rig.list(&json!([tool("garbage"), tool("rubbish"), tool("fails"), tool("echo")]));
    let servers = rig.servers(vec![configured("a", script("a"))]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    let cx = rig.cx();
    let output = call(&lease, "garbage", json!({}), &cx).await;
    let said = text(&output);
    assert_eq!(said, "before\n[a part of the answer that posse cannot read: hologram]\nafter");
    assert!(!output.is_error, "{output:?}");
    let output = call(&lease, "rubbish", json!({}), &cx).await;
    assert!(output.is_error, "{output:?}");
    let output = call(&lease, "fails", json!({}), &cx).await;
    assert_eq!((output.is_error, text(&output).as_str()), (true, "it broke"));
    let output = call(&lease, "echo", json!("text"), &cx).await;
    assert!(text(&output).starts_with("InputValidationError"), "{}", text(&output));
    assert_eq!(text(&call(&lease, "echo", json!({}), &cx).await), "call 4");
    rig.end(&servers).await;
}

#[tokio::test]
async fn what_a_variable_holds_is_in_no_error() {
    let rig = Rig::new();
    let written = |text: &str| {
        let (root, _) = posse_core::json::parse(text);
        posse_core::mcp::read_config(&root.expect("JSON")).expect("a server")
    };
    let lookup = |name: &str| (name == "TOKEN").then_some("s3cret-value");
    let loud = r#"{"command": "sh", "args": ["-c", "echo using ${TOKEN} at http://me:pw@h/ >&2; exit 3"]}"#;
    let nowhere = r#"{"url": "http://me:pw@127.0.0.1:1/mcp?key=${TOKEN}&other=literal"}"#;
    let missing = r#"{"command": "/no/${TOKEN}"}"#;
    for (text, wanted) in
        [(loud, "using … at http://…@h/"), (nowhere, "could not be reached"), (missing, "`/no/…`")]
    {
        let config = posse_core::mcp::expand(&written(text), &lookup).expect("it is set");
        let servers = rig.servers(vec![configured("a", config)]);
        let said = servers.lease("a", MAIN).unwrap().facts().await.unwrap_err().to_string();
        assert!(said.contains(wanted), "{said}");
        let shown = servers.status()[0].error.clone().unwrap_or_default();
        for secret in ["s3cret-value", "pw@", "literal"] {
            assert!(!said.contains(secret) && !shown.contains(secret), "{said}");
        }
        servers.shutdown().await;
    }
}
