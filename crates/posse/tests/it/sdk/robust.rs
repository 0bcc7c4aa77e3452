//! Hosts that do not behave: what they say makes no sense, comes at the wrong time, or stops coming.

use serde_json::json;

use super::raw::{Talk, user};
use super::*;

#[test]
fn a_line_that_cannot_be_read_ends_the_session_with_a_reason() {
    let model = obedient();
    let env = world(&model);
    for line in ["{torn", "[]", "{}", "\u{0}", r#"{"type":"user"}"#, r#"{"type":"control_request"}"#] {
        for early in [true, false] {
            let mut talk = Talk::start(&env, &[]);
            if !early {
                talk.user("hello");
                talk.result();
            }
            talk.raw(line);
            let (code, lines, stderr) = talk.finish();
            assert_eq!(code, Some(1), "{line}: {stderr}");
            assert!(stderr.contains("a line of the input cannot be read"), "{line}: {stderr}");
            assert!(lines.iter().all(Value::is_object));
        }
    }
}

#[test]
fn a_host_that_dies_ends_what_it_started() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    let order = json!([{"tool": "Bash", "input": {"command": "touch began; sleep 60; touch over"}}]);
    talk.user(&format!("do: {order}"));
    talk.until(|line| line["type"] == "assistant");
    talk.hang_up();
    // Nothing can be told any more; the program ends by itself.
    assert!(talk.ended().is_some());
    assert!(!env.path("project/over").exists());
}

#[test]
fn servers_and_hooks_that_never_answer_are_waited_for_only_so_long() {
    let model = obedient();
    let mut env = world(&model);
    env.set("MCP_TIMEOUT", "200");
    let server = r#"{"mcpServers":{"mute":{"type":"sdk","name":"mute"}}}"#;
    let mut talk = Talk::start(&env, &["--mcp-config", server, "--allowedTools", "Bash"]);
    let hook = json!([{"matcher": null, "hookCallbackIds": ["h"], "timeout": 0.1}]);
    talk.request("r", json!({"subtype": "initialize", "hooks": {"PreToolUse": hook}}));
    talk.asked("mcp_message");
    assert_eq!(talk.reply("r")["subtype"], "success");
    let order = json!([{"tool": "Bash", "input": {"command": "touch ran"}}]);
    talk.user(&format!("do: {order}"));
    let asked = talk.asked("hook_callback");
    let cancel = talk.until(|line| line["type"] == "control_cancel_request");
    assert_eq!(cancel["request_id"], asked["request_id"]);
    talk.result();
    assert!(!env.path("project/ran").exists(), "a call nobody looked at is not made");
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["mcp_servers"][0]["status"], "failed");
}

#[test]
fn whatever_a_host_says_in_whatever_order_everything_ends() {
    let model = obedient();
    let env = world(&model);
    let order = |order: Value| user(&format!("do: {}", json!([order])));
    let request = |id: u64, request: Value| json!({"type": "control_request", "request_id": id.to_string(), "request": request});
    for seed in 0..24_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut talk = Talk::start(&env, &["--permission-prompt-tool=stdio"]);
        let mut expected = Vec::new();
        for id in 0..12 {
            let line = match draw(9) {
                0 => user("hello"),
                1 => order(json!({"tool": "Bash", "input": {"command": "touch asked"}})),
                2 => order(json!({"tool": "Read", "input": {"file_path": "nowhere"}})),
                3 => request(id, json!({"subtype": "interrupt", "cancel_queued": draw(2) == 0})),
                4 => request(id, json!({"subtype": "initialize"})),
                5 => request(id, json!({"subtype": "set_model", "model": 7})),
                6 => request(id, json!({"subtype": "nonsense"})),
                7 => json!({"type": "control_cancel_request", "request_id": draw(12).to_string()}),
                _ => json!({"type": "control_response", "response": {"request_id": draw(12).to_string()}}),
            };
            if line["type"] == "control_request" {
                expected.push(id.to_string());
            }
            talk.send(&line);
        }
        let (code, lines, stderr) = talk.finish();
        assert!(matches!(code, Some(0 | 1)), "seed {seed}: {code:?} {stderr}");
        assert!(!stderr.contains("panicked"), "seed {seed}: {stderr}");
        let mut calls = 0;
        for line in &lines {
            let is = |kind: &str| line["type"] == kind;
            calls += i32::from(is("control_request")) - i32::from(is("result"));
            assert!(line["type"].is_string(), "seed {seed}: {line}");
        }
        assert!(calls <= 12, "seed {seed}");
        // Nobody took these back, so each has exactly one answer.
        let taken_back = |id: &str| lines.iter().all(|line| line["response"]["request_id"] != *id);
        for id in expected {
            let answers = lines.iter().filter(|line| line["response"]["request_id"] == *id).count();
            assert!(answers == 1 || taken_back(&id), "seed {seed}: request {id} has {answers} answers");
        }
    }
}
