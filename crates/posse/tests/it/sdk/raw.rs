//! The protocol itself, line by line, without an SDK.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::json;

use super::*;

/// posse with somebody at the other end.
pub(super) struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Option<Lines<BufReader<ChildStdout>>>,
    /// Everything read so far.
    pub(super) seen: Vec<Value>,
}

const STREAM: [&str; 4] = ["--output-format", "stream-json", "--verbose", "--input-format=stream-json"];

impl Talk {
    pub(super) fn start(env: &TestEnv, args: &[&str]) -> Self {
        let mut child = env.start(&[&STREAM[..], args].concat());
        let stdin = child.stdin.take();
        let lines = child.stdout.take().map(|pipe| BufReader::new(pipe).lines());
        Self { child, stdin, lines, seen: Vec::new() }
    }

    pub(super) fn send(&mut self, line: &Value) {
        self.raw(&line.to_string());
    }

    pub(super) fn raw(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open input");
        // A program that has ended is found out by what it says last.
        let _ = writeln!(stdin, "{line}");
    }

    pub(super) fn user(&mut self, text: &str) {
        self.send(&user(text));
    }

    pub(super) fn request(&mut self, id: &str, request: Value) {
        self.send(&json!({"type": "control_request", "request_id": id, "request": request}));
    }

    pub(super) fn answer(&mut self, id: &Value, response: Value) {
        let envelope = json!({"subtype": "success", "request_id": id, "response": response});
        self.send(&json!({"type": "control_response", "response": envelope}));
    }

    /// Reads up to a line.
    pub(super) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self
                .lines
                .as_mut()
                .and_then(Iterator::next)
                .unwrap_or_else(|| panic!("it ended: {:#?}", self.seen));
            let line = json(&line.expect("text"));
            self.seen.push(line.clone());
            if is_it(&line) {
                return line;
            }
        }
    }

    pub(super) fn result(&mut self) -> Value {
        self.until(|line| line["type"] == "result")
    }

    /// The answer to a request of ours.
    pub(super) fn reply(&mut self, id: &str) -> Value {
        self.until(|line| line["type"] == "control_response" && line["response"]["request_id"] == id)["response"]
            .take()
    }

    /// A request of posse's.
    pub(super) fn asked(&mut self, subtype: &str) -> Value {
        self.until(|line| line["request"]["subtype"] == subtype)
    }

    /// Goes away without a word: nothing is sent and nothing is read any more.
    pub(super) fn hang_up(&mut self) {
        self.stdin = None;
        self.lines = None;
    }

    /// Waits for the end: the exit code.
    pub(super) fn ended(&mut self) -> Option<i32> {
        self.child.wait().expect("an end").code()
    }

    pub(super) fn close(&mut self) {
        self.stdin = None;
    }

    /// Says nothing more and waits for the end: exit code and what was complained of.
    pub(super) fn finish(mut self) -> (Option<i32>, Vec<Value>, String) {
        self.close();
        for line in self.lines.take().into_iter().flatten() {
            self.seen.push(json(&line.expect("text")));
        }
        let mut stderr = String::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            std::io::Read::read_to_string(&mut pipe, &mut stderr).expect("text");
        }
        (self.child.wait().expect("an end").code(), std::mem::take(&mut self.seen), stderr)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // A test that fails leaves nobody behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn user(text: &str) -> Value {
    json!({
        "type": "user",
        "message": {"role": "user", "content": text},
        "parent_tool_use_id": null,
        "session_id": "default",
    })
}

pub(super) fn orders(orders: Value) -> String {
    format!("do: {orders}")
}

pub(super) fn kinds(lines: &[Value]) -> String {
    let word = |line: &Value| {
        let subtype = line["subtype"].as_str().filter(|_| line["type"] == "system");
        subtype.or(line["type"].as_str()).unwrap_or("?").to_owned()
    };
    lines.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn turns_follow_each_other_and_the_end_of_the_input_is_the_end() {
    let model = obedient();
    let mut env = world(&model);
    env.set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
    let mut talk = Talk::start(&env, &[]);
    // Back to back, as one of the SDKs does.
    talk.request("r1", json!({"subtype": "initialize", "unheard_of": {"x": 1}}));
    talk.user("one");
    let reply = talk.reply("r1");
    assert_eq!(reply["subtype"], "success");
    assert_eq!(reply["response"]["hook_on_failure_supported"], true);
    assert_eq!(talk.result()["result"], "You said: one");
    talk.user("two");
    assert_eq!(talk.result()["result"], "You said: two");
    let (code, lines, stderr) = talk.finish();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let turn = "session_state_changed init assistant result session_state_changed";
    assert_eq!(kinds(&lines), format!("control_response {turn} {turn}"));
    let states: Vec<&Value> = lines.iter().filter(|line| !line["state"].is_null()).collect();
    assert_eq!(pluck(&json!(states), "/state"), "running idle running idle");
    assert!(states.iter().all(|line| line["sdk_host_only"].is_null()));
    let told: Vec<&Value> = lines.iter().filter(|line| line["type"] != "control_response").collect();
    assert!(told.iter().all(|line| line["uuid"].is_string() && line["session_id"].is_string()));
}

#[test]
fn without_a_greeting_it_works_as_well_and_without_a_word_nothing_happens() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.raw("");
    talk.raw(r#"{"type":"keep_alive"}"#);
    talk.raw(r#"{"type":"control_response","response":{"subtype":"success","request_id":"nobody's"}}"#);
    talk.raw(r#"{"type":"control_cancel_request","request_id":"nobody's"}"#);
    talk.user("hello");
    let (code, lines, _) = talk.finish();
    assert_eq!((code, kinds(&lines).as_str()), (Some(0), "init assistant result"));
    let (code, lines, stderr) = Talk::start(&env, &[]).finish();
    assert_eq!((code, lines.len(), stderr.as_str()), (Some(0), 0, ""));
}

#[test]
fn what_comes_during_a_turn_waits_and_is_said_together() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--permission-prompt-tool=stdio"]);
    let named = |text: &str, uuid: &str| {
        let mut line = user(text);
        line["uuid"] = json!(uuid);
        line
    };
    talk.user(&orders(json!([{"tool": "Bash", "input": {"command": "touch x"}}])));
    talk.asked("can_use_tool");
    talk.send(&named("first", "u1"));
    talk.send(&named("second", "u2"));
    talk.send(&named("third", "u3"));
    talk.request("c1", json!({"subtype": "cancel_async_message", "message_uuid": "u3"}));
    assert_eq!(talk.reply("c1")["response"], json!({"cancelled": true}));
    talk.request("c2", json!({"subtype": "cancel_async_message", "message_uuid": "u3"}));
    assert_eq!(talk.reply("c2")["response"], json!({"cancelled": false}));
    talk.request("i", json!({"subtype": "interrupt"}));
    assert_eq!(talk.reply("i")["response"], json!({"still_queued": ["u1", "u2"]}));
    let stopped = talk.result();
    assert_eq!(
        (&stopped["terminal_reason"], &stopped["queued_turn_count"]),
        (&json!("aborted_tools"), &json!(2))
    );
    assert!(stopped["errors"].is_array());
    let both = talk.result();
    assert_eq!(both["result"], "You said: first\nsecond");
    assert_eq!(both["user_message_uuids"], json!(["u1", "u2"]));
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    let fates: Vec<&Value> = lines.iter().filter(|line| line["type"] == "command_lifecycle").collect();
    assert_eq!(
        fates
            .iter()
            .map(|line| format!("{}:{}", line["command_uuid"], line["state"]))
            .collect::<Vec<_>>()
            .join(" "),
        r#""u1":"queued" "u2":"queued" "u3":"queued" "u3":"cancelled" "u1":"started" "u2":"started" "u1":"completed" "u2":"completed""#
    );
}

#[test]
fn a_permission_is_asked_for_answered_and_taken_back() {
    let model = obedient();
    let mut env = world(&model);
    env.set("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    let mut talk = Talk::start(&env, &["--permission-prompt-tool", "stdio"]);
    let write = orders(json!([{"tool": "Write", "input": {"file_path": "w.txt", "content": "w"}}]));
    talk.user(&write);
    let ask = talk.asked("can_use_tool");
    assert_eq!(ask["request"]["tool_name"], "Write");
    assert_eq!(ask["request"]["permission_suggestions"][0]["type"], "setMode");
    talk.answer(&ask["request_id"], json!({"behavior": "perhaps"}));
    let end = talk.result();
    assert!(end["result"].as_str().unwrap().contains("neither allow nor deny"), "{end}");
    // An interrupt takes the question back before it is answered itself.
    talk.user(&write);
    let ask = talk.asked("can_use_tool");
    talk.request("i", json!({"subtype": "interrupt"}));
    let cancel = talk.until(|line| line["type"] != "system");
    assert_eq!(
        (&cancel["type"], &cancel["request_id"]),
        (&json!("control_cancel_request"), &ask["request_id"])
    );
    talk.reply("i");
    assert_eq!(talk.result()["terminal_reason"], "aborted_tools");
    // Too late.
    talk.answer(&ask["request_id"], json!({"behavior": "allow"}));
    // Whoever goes away answers nothing any more; the turn goes on.
    talk.user(&write);
    talk.asked("can_use_tool");
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    let end = lines.iter().rfind(|line| line["type"] == "result").unwrap();
    assert!(end["result"].as_str().unwrap().contains("stream closed before response received"), "{end}");
    assert!(!env.path("project/w.txt").exists());
    let states: Vec<&Value> = lines.iter().filter(|line| line["sdk_host_only"] == true).collect();
    let turn = "running requires_action running idle";
    assert_eq!(pluck(&json!(states), "/state"), format!("{turn} {turn} {turn}"));
}

#[test]
fn controls_are_answered_whatever_they_are() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.request("r0", json!({"subtype": "initialize"}));
    talk.reply("r0");
    let cases = [
        (json!({"subtype": "interrupt"}), "success", r#"{"still_queued":[]}"#),
        (json!({"subtype": "set_permission_mode", "mode": "plan"}), "success", r#"{"mode":"plan"}"#),
        (json!({"subtype": "set_permission_mode", "mode": "manual"}), "success", r#"{"mode":"default"}"#),
        (json!({"subtype": "set_permission_mode", "mode": "x"}), "error", "invalid_mode"),
        (
            json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"}),
            "error",
            "bypass_not_launched",
        ),
        (json!({"subtype": "set_model", "model": "claude-x-1"}), "success", r#"{"model":"claude-x-1"}"#),
        (json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 2000}), "success", "null"),
        (json!({"subtype": "mcp_status"}), "success", r#"{"mcpServers":[]}"#),
        (json!({"subtype": "mcp_reconnect", "serverName": "x"}), "error", "Server not found: x"),
        (
            json!({"subtype": "mcp_toggle", "serverName": "x", "enabled": false}),
            "error",
            "Server not found: x",
        ),
        (
            json!({"subtype": "mcp_message", "server_name": "x", "message": {}}),
            "error",
            "Server not found: x",
        ),
        (
            json!({"subtype": "mcp_set_servers", "servers": {}}),
            "success",
            r#"{"added":[],"removed":[],"errors":{}}"#,
        ),
        (json!({"subtype": "rewind_files", "user_message_id": "x"}), "error", "not enabled"),
        (json!({"subtype": "stop_task", "task_id": "x"}), "success", "{}"),
        (json!({"subtype": "background_tasks"}), "success", r#"{"backgrounded":false}"#),
        (json!({"subtype": "apply_flag_settings", "settings": {"odd": 1}}), "success", "null"),
        (json!({"subtype": "list_models"}), "success", "opus"),
        (json!({"subtype": "get_binary_version"}), "success", "2.1."),
        (json!({"subtype": "get_session_cost"}), "success", "text"),
        (json!({"subtype": "get_context_usage"}), "success", "totalTokens"),
        (json!({"subtype": "initialize"}), "success", "models"),
        (json!({"subtype": "from_the_future"}), "error", "unsupported_request"),
        (json!({}), "error", "Unsupported control request subtype"),
    ];
    for (place, (request, subtype, part)) in cases.into_iter().enumerate() {
        let id = format!("c{place}");
        talk.request(&id, request.clone());
        let reply = talk.reply(&id);
        assert_eq!(reply["subtype"], subtype, "{request}: {reply}");
        let said = if subtype == "error" { reply.to_string() } else { reply["response"].to_string() };
        assert!(said.contains(part), "{request}: {reply}");
    }
    talk.user(&orders(json!([{"echo": "/thinking"}])));
    assert_eq!(json(talk.result()["result"].as_str().unwrap())["budget_tokens"], 2000);
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!((&init["model"], &init["permissionMode"]), (&json!("claude-x-1"), &json!("default")));
    let modes: Vec<&Value> = lines.iter().filter(|line| line["subtype"] == "status").collect();
    assert_eq!(pluck(&json!(modes), "/permissionMode"), "plan default");
}

#[test]
fn a_message_that_wants_no_answer_waits_for_one_that_does() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    let mut quiet = user("know this");
    quiet["shouldQuery"] = json!(false);
    talk.send(&quiet);
    let empty = talk.result();
    assert_eq!((&empty["num_turns"], &empty["subtype"]), (&json!(0), &json!("success")));
    talk.user("and answer");
    assert_eq!(talk.result()["result"], "You said: know this\nand answer");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn clearing_begins_another_conversation() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.user("hello");
    let old = talk.result()["session_id"].clone();
    talk.user("/clear");
    let reset = talk.until(|line| line["type"] == "conversation_reset");
    assert_eq!(reset["session_id"], old);
    let end = talk.result();
    assert_eq!((&end["session_id"], &end["num_turns"]), (&reset["new_conversation_id"], &json!(0)));
    assert_ne!(end["session_id"], old);
    talk.user(&orders(json!([{"echo": "/messages"}])));
    let messages = json(talk.result()["result"].as_str().unwrap());
    assert_eq!(messages.as_array().unwrap().len(), 1);
}

#[test]
fn a_start_that_is_refused_says_so_before_the_greeting_is_answered() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--resume=99999999-2222-4333-8444-555555555555"]);
    talk.request("r", json!({"subtype": "initialize"}));
    let result = talk.result();
    assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("error_during_execution"), &json!(0)));
    assert!(result["errors"][0].as_str().unwrap().starts_with("No conversation found with session ID"));
    let (code, _, stderr) = talk.finish();
    assert_eq!(code, Some(1));
    assert!(stderr.contains("No conversation found"), "{stderr}");
}

#[test]
fn whatever_keeps_a_session_from_starting_has_one_exit_code() {
    let model = obedient();
    let env = world(&model);
    for args in [
        &["--no-such-flag"][..],
        &["--permission-mode", "nonsense"],
        &["--settings", "nowhere.json"],
        &["--session-id=no-uuid"],
        &["--resume-drops-turn="],
    ] {
        let mut talk = Talk::start(&env, args);
        talk.user("hello");
        let (code, lines, stderr) = talk.finish();
        assert_eq!((code, lines.len()), (Some(1), 0), "{args:?}: {stderr}");
        assert!(!stderr.is_empty(), "{args:?}");
    }
    // A person is told apart from the program.
    let (_, stderr) =
        env.posse(&["-p", "hi", "--output-format", "stream-json", "--no-such-flag"]).fails_with(2);
    assert!(stderr.contains("--no-such-flag"), "{stderr}");
}

#[test]
fn the_first_message_tells_of_the_style_and_the_features_asked_for() {
    let model = obedient();
    let env = world(&model);
    env.write("project/.claude/settings.local.json", r#"{"outputStyle": "terse"}"#);
    let mut talk = Talk::start(&env, &["--betas", "a,b"]);
    talk.user("hello");
    let init = talk.until(|line| line["subtype"] == "init");
    assert_eq!((&init["output_style"], &init["betas"]), (&json!("terse"), &json!(["a", "b"])));
}

#[test]
fn lines_of_the_transcript_are_handed_over_as_they_are_written() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--session-mirror", "--permission-prompt-tool=stdio"]);
    talk.user(&orders(json!([{"tool": "Bash", "input": {"command": "touch x"}}])));
    talk.asked("can_use_tool");
    // Nobody has answered yet, and the question of the model is there already.
    talk.request("r", json!({"subtype": "interrupt"}));
    let first = talk.seen.iter().find(|line| line["type"] == "transcript_mirror");
    assert!(first.is_some(), "{}", kinds(&talk.seen));
}

#[test]
fn the_exit_code_is_that_of_the_last_result() {
    let model = obedient();
    for (last, code) in [("fine", 0), (r#"do: [{"fail": 400}]"#, 1)] {
        let env = world(&model);
        let mut talk = Talk::start(&env, &[]);
        talk.user(r#"do: [{"fail": 400}]"#);
        talk.result();
        talk.user(last);
        talk.result();
        assert_eq!(talk.finish().0, Some(code), "{last}");
    }
}

#[test]
fn every_flag_of_the_sdks_is_taken_in_both_spellings() {
    let model = obedient();
    let env = world(&model);
    env.write("project/plugin/.claude-plugin/plugin.json", r#"{"name": "p"}"#);
    let flags = [
        ("--system-prompt", "x"),
        ("--append-system-prompt", "x"),
        ("--tools", "default"),
        ("--allowedTools", "Read,Bash(git:*)"),
        ("--disallowedTools", "WebFetch"),
        ("--max-turns", "3"),
        ("--max-budget-usd", "5"),
        ("--task-budget", "10000"),
        ("--model", "claude-sonnet-4-5"),
        ("--fallback-model", "haiku"),
        ("--betas", "a,b"),
        ("--permission-prompts", "none"),
        ("--session-id", ""),
        ("--settings", "{}"),
        ("--managed-settings", "{}"),
        ("--setting-sources", "user,project"),
        ("--add-dir", "."),
        ("--mcp-config", r#"{"mcpServers":{}}"#),
        ("--plugin-dir", "plugin"),
        ("--plugin-dir-no-mcp", "plugin"),
        ("--project-config-root", "."),
        ("--thinking", "adaptive"),
        ("--thinking-display", "omitted"),
        ("--effort", "high"),
        ("--debug-file", "x"),
        ("--workload", "x"),
        ("--channels", "x"),
    ];
    let bare = [
        "--allow-dangerously-skip-permissions",
        "--managed-settings-in-initialize",
        "--await-initialize",
        "--strict-mcp-config",
        "--include-partial-messages",
        "--include-hook-events",
        "--session-mirror",
        "--replay-user-messages",
        "--debug-to-stderr",
    ];
    for (joined, id) in
        [(true, "aaaaaaaa-0000-4000-8000-000000000001"), (false, "aaaaaaaa-0000-4000-8000-000000000002")]
    {
        let mut args: Vec<String> = bare.iter().map(|flag| (*flag).to_owned()).collect();
        for (flag, value) in flags {
            let value = if flag == "--session-id" { id } else { value };
            if joined {
                args.push(format!("{flag}={value}"));
            } else {
                args.extend([flag.to_owned(), value.to_owned()]);
            }
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut talk = Talk::start(&env, &args);
        talk.user("hello");
        let (code, lines, stderr) = talk.finish();
        let is_asked_for = stderr.lines().all(|line| line.starts_with("[DEBUG] "));
        assert!(code == Some(0) && is_asked_for && stderr.contains("request"), "{stderr}\n{lines:#?}");
        let end = lines.iter().find(|line| line["type"] == "result").unwrap();
        assert_eq!(end["session_id"], id);
        let notes: Vec<&Value> = lines.iter().filter(|line| line["subtype"] == "informational").collect();
        assert!(pluck(&json!(notes), "/content").contains("--channels has no effect"), "{notes:?}");
    }
    let version = env.posse(&["-v"]).success();
    assert!(version.starts_with("2.1.325 ("), "{version}");
}

#[test]
fn a_line_never_grows_too_long_to_be_read() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--replay-user-messages"]);
    let mut line = user("");
    let long = "y".repeat(1_200_000);
    line["message"]["content"] = json!([{"type": "text", "text": long}, {"type": "text", "text": "hello"}]);
    talk.send(&line);
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    assert!(lines.iter().all(|line| line.to_string().len() < 1024 * 1024), "{}", kinds(&lines));
    let again = lines.iter().find(|line| line["isReplay"] == true).unwrap();
    assert!(
        again.to_string().contains("bytes left out") && again["message"]["content"][1]["text"] == "hello"
    );
    // What the model reads is whole.
    assert!(model.requests()[0].bytes.len() > 1_200_000);
}

#[test]
fn the_raw_events_of_a_broken_try_come_to_an_end() {
    let answers = [
        MessagesReply::new()
            .text("An answer that breaks off in the middle.")
            .answer()
            .failing(Fault::Finish(900)),
        MessagesReply::new().text("Whole.").answer(),
    ];
    let model = FakeModel::serving(answers);
    let mut env = world(&model);
    env.set("CLAUDE_CODE_MAX_RETRIES", "1");
    let mut talk = Talk::start(&env, &["--include-partial-messages"]);
    talk.user("hello");
    assert_eq!(talk.result()["result"], "Whole.");
    let raw: Vec<&Value> = talk.seen.iter().filter(|line| line["type"] == "stream_event").collect();
    let kinds = pluck(&json!(raw), "/event/type");
    assert_eq!(kinds.matches("message_start").count(), 2, "{kinds}");
    assert_eq!(kinds.matches("message_stop").count(), 2, "{kinds}");
    assert_eq!(kinds.matches("content_block_start").count(), kinds.matches("content_block_stop").count());
}

#[test]
fn a_server_of_the_host_is_greeted_asked_and_heard() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "mcp__sums__add"]);
    talk.request("r", json!({"subtype": "initialize", "sdkMcpServers": ["sums"]}));
    let tool = json!({"name": "add", "description": "Adds", "inputSchema": {"type": "object"}});
    for (method, result) in [
        (
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "sums", "version": "1"},
            }),
        ),
        ("notifications/initialized", json!({})),
        ("tools/list", json!({"tools": [tool]})),
    ] {
        let asked = talk.asked("mcp_message");
        let message = &asked["request"]["message"];
        assert_eq!((&asked["request"]["server_name"], &message["method"]), (&json!("sums"), &json!(method)));
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        talk.answer(&asked["request_id"], json!({"mcp_response": answer}));
    }
    assert_eq!(talk.reply("r")["subtype"], "success");
    talk.user(&orders(json!([{"tool": "mcp__sums__add", "input": {"a": 1}}])));
    let asked = talk.asked("mcp_message");
    let params = &asked["request"]["message"]["params"];
    assert_eq!((&params["name"], &params["arguments"]), (&json!("add"), &json!({"a": 1})));
    // The host refuses; the model hears of it.
    let envelope = json!({"subtype": "error", "request_id": asked["request_id"], "error": "out of order"});
    talk.send(&json!({"type": "control_response", "response": envelope}));
    let end = talk.result();
    assert!(end["result"].as_str().unwrap().contains("out of order"), "{end}");
    // It says unasked that its list has changed, and is asked for it.
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    talk.request("n", json!({"subtype": "mcp_message", "server_name": "sums", "message": changed}));
    let asked = talk.asked("mcp_message");
    assert_eq!(asked["request"]["message"]["method"], "tools/list");
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn a_conversation_is_summarised_by_hand() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.user("a long story");
    talk.result();
    talk.user("/compact");
    let end = talk.result();
    assert_eq!((&end["num_turns"], &end["is_error"]), (&json!(0), &json!(false)), "{end}");
    let (_, lines, _) = talk.finish();
    let from = lines.iter().position(|line| line["status"] == "compacting").unwrap();
    assert_eq!(kinds(&lines[from..]), "status status init compact_boundary user user result");
    assert_eq!(lines[from + 1]["compact_result"], "success");
    assert_eq!(lines[from + 3]["compact_metadata"]["trigger"], "manual");
    assert_eq!((&lines[from + 4]["isSynthetic"], &lines[from + 5]["isReplay"]), (&json!(true), &json!(true)));
    assert!(lines[from + 5]["message"]["content"].as_str().unwrap().starts_with("<local-command-stdout>"));
}

#[test]
fn a_second_greeting_replaces_the_hooks_of_the_first() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    for id in ["one", "two"] {
        let hooks = json!({"UserPromptSubmit": [{"matcher": null, "hookCallbackIds": [id]}]});
        talk.request(id, json!({"subtype": "initialize", "hooks": hooks}));
        assert_eq!(talk.reply(id)["response"]["hooks_applied"], true);
    }
    talk.user("hello");
    let asked = talk.asked("hook_callback");
    assert_eq!(asked["request"]["callback_id"], "two");
    assert_eq!(asked["request"]["input"]["prompt"], "hello");
    talk.answer(&asked["request_id"], json!({}));
    assert_eq!(talk.result()["result"], "You said: hello");
    let asked = talk.seen.iter().filter(|line| line["request"]["subtype"] == "hook_callback").count();
    assert_eq!(asked, 1);
}
