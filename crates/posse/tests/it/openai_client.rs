//! The fake Chat Completions endpoint, driven by the official Python client.
//!
//! `cargo xtask test` installs the client and says where in `POSSE_TEST_PYTHON`; run without it, the test says that it
//! was skipped.

use std::io::Write;
use std::process::Command;

use posse_testkit::FakeModel;
use posse_testkit::server::{Answer, ChatReply};

use super::*;

#[test]
#[allow(clippy::disallowed_methods)] // The test command hands the place over in the environment.
fn the_official_client_understands_the_fake() {
    let Ok(packages) = std::env::var("POSSE_TEST_PYTHON") else {
        let _ =
            writeln!(std::io::stderr(), "skipped: POSSE_TEST_PYTHON is not set; `cargo xtask test` sets it");
        return;
    };
    let reply = ChatReply::new()
        .text("Two at once.")
        .tool("c1", "Read", &serde_json::json!({"file_path": "a"}))
        .tool("c2", "Grep", &serde_json::json!({"pattern": "b", "n": 2}))
        .finish("tool_calls")
        .usage(12, 3, 0);
    let server =
        FakeModel::serving([reply.answer(), Answer::chat_error(429, "rate_limit_exceeded", "slow down")]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/openai_client.py");
    let output =
        Command::new("python3").args([script, &server.url()]).env("PYTHONPATH", packages).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = String::from_utf8_lossy(&output.stdout).lines().map(json).collect();
    assert_eq!(
        lines[0],
        serde_json::json!({
            "text": "Two at once.",
            "calls": [
                {"id": "c1", "name": "Read", "arguments": {"file_path": "a"}},
                {"id": "c2", "name": "Grep", "arguments": {"pattern": "b", "n": 2}},
            ],
            "finish": "tool_calls",
            "prompt_tokens": 12,
        })
    );
    assert_eq!(lines[1], serde_json::json!({"status": 429, "code": "rate_limit_exceeded"}));
}
