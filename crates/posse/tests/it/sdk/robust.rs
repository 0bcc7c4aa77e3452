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

/// A session in which the host can be asked for everything: a server, a hook, permissions.
fn with_everything(env: &TestEnv, args: &[&str]) -> Talk {
    let mut talk = Talk::start(env, &[&["--permission-prompt-tool=stdio"], args].concat());
    let hook = json!([{"matcher": "Bash", "hookCallbackIds": ["h"]}]);
    talk.request(
        "greeting",
        json!({"subtype": "initialize", "hooks": {"PreToolUse": hook}, "sdkMcpServers": ["s"]}),
    );
    for _ in 0..3 {
        let asked = talk.asked("mcp_message");
        talk.answer(&asked["request_id"], json!({"mcp_response": mcp_answer(&asked)}));
    }
    assert_eq!(talk.reply("greeting")["subtype"], "success");
    talk
}

/// What a server of one tool says.
fn mcp_answer(asked: &Value) -> Value {
    let message = &asked["request"]["message"];
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        _ => json!({"content": [{"type": "text", "text": "answered"}]}),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

/// What makes posse ask, and for what.
fn occasions() -> [(&'static str, Value); 3] {
    [
        ("can_use_tool", json!({"tool": "Write", "input": {"file_path": "never.txt", "content": ""}})),
        ("hook_callback", json!({"tool": "Bash", "input": {"command": "touch never"}})),
        ("mcp_message", json!({"tool": "mcp__s__t", "input": {}})),
    ]
}

fn orders(order: &Value) -> String {
    format!("do: {}", json!([order]))
}

#[test]
fn whatever_is_never_answered_can_be_interrupted_and_ends_with_the_input() {
    let model = obedient();
    let env = world(&model);
    for (subtype, order) in occasions() {
        let mut talk = with_everything(&env, &["--allowedTools", "mcp__s__t"]);
        talk.user(&orders(&order));
        let asked = talk.asked(subtype);
        talk.request("i", json!({"subtype": "interrupt"}));
        talk.reply("i");
        let end = talk.result();
        assert_eq!(end["subtype"], "error_during_execution", "{subtype}");
        // A question is taken back; a server is told that nobody waits for it.
        let is_end = |line: &Value| match subtype {
            "mcp_message" => line["request"]["message"]["method"] == "notifications/cancelled",
            _ => line["type"] == "control_cancel_request" && line["request_id"] == asked["request_id"],
        };
        assert!(talk.seen.iter().any(is_end), "{subtype}: {:#?}", talk.seen);
        // Too late, and about nothing.
        talk.answer(&asked["request_id"], json!({"behavior": "allow"}));
        talk.user("still there");
        assert_eq!(talk.result()["result"], "You said: still there", "{subtype}");
        // Whoever goes away answers nothing any more.
        talk.user(&orders(&order));
        talk.asked(subtype);
        let (code, lines, stderr) = talk.finish();
        assert!(matches!(code, Some(0 | 1)), "{subtype}: {code:?} {stderr}");
        assert_eq!(lines.iter().filter(|line| line["type"] == "result").count(), 3, "{subtype}");
        assert!(!env.path("project/never").exists() && !env.path("project/never.txt").exists());
    }
}

#[test]
fn answers_of_every_shape_are_taken_for_what_they_are_worth() {
    let model = obedient();
    let env = world(&model);
    let answers = [
        json!(null),
        json!([]),
        json!("yes"),
        json!(7),
        json!({}),
        json!({"behavior": 7}),
        json!({"behavior": "allow", "updatedInput": "x", "updatedPermissions": [7, {"type": "setMode"}]}),
        json!({"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "perhaps"}}),
        json!({"hookSpecificOutput": 7, "continue": "no", "decision": []}),
        json!({"mcp_response": "x"}),
        json!({"mcp_response": {"jsonrpc": "2.0", "id": "another", "result": {}}}),
        json!({"mcp_response": {"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "no"}}}),
    ];
    for (subtype, order) in occasions() {
        let mut talk = with_everything(&env, &["--allowedTools", "mcp__s__t"]);
        for (place, answer) in answers.iter().enumerate() {
            talk.user(&orders(&order));
            let asked = talk.asked(subtype);
            talk.answer(&asked["request_id"], answer.clone());
            // Some are no answer at all: then whoever waits is let go.
            let id = format!("i{place}");
            talk.request(&id, json!({"subtype": "interrupt"}));
            talk.reply(&id);
            while talk.seen.iter().filter(|line| line["type"] == "result").count() <= place {
                talk.result();
            }
        }
        talk.user("still there");
        assert_eq!(talk.result()["result"], "You said: still there", "{subtype}");
        assert_eq!(talk.finish().0, Some(0), "{subtype}");
    }
}

#[test]
fn what_is_no_message_is_passed_over_and_what_is_none_at_all_ends_the_session() {
    let model = obedient();
    let env = world(&model);
    let passed_over = [
        "",
        "   ",
        r#"{"type":"keep_alive"}"#,
        r#"{"type":"from_the_future","message":{"content":[]}}"#,
        r#"{"type":"assistant"}"#,
        r#"{"type":"control_response"}"#,
        r#"{"type":"control_response","response":7}"#,
        r#"{"type":"control_response","response":{"subtype":"success","request_id":7}}"#,
        r#"{"type":"control_cancel_request"}"#,
        r#"{"type":"control_cancel_request","request_id":["x"]}"#,
    ];
    let mut talk = Talk::start(&env, &[]);
    for line in passed_over {
        talk.raw(line);
    }
    talk.raw(&format!("{}\r", user("hello")));
    let (code, lines, stderr) = talk.finish();
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line["type"] == "result").count(), 1);
    let deep = format!(r#"{{"type":"user","message":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let bad = [
        r#"{"type":"user","message":{"role":"user","content":7}}"#,
        r#"{"type":"user","message":[]}"#,
        r#"{"type":7}"#,
        r#"{"type":"control_request","request":{"subtype":"interrupt"}}"#,
        "null",
        "7",
        "\"user\"",
        r#"{"type":"user"} {"type":"user"}"#,
        &deep,
    ];
    for line in bad {
        let mut talk = Talk::start(&env, &[]);
        talk.raw(line);
        let (code, lines, stderr) = talk.finish();
        let shown: String = line.chars().take(80).collect();
        assert_eq!(code, Some(1), "{shown}: {stderr}");
        assert!(stderr.contains("a line of the input cannot be read"), "{shown}: {stderr}");
        assert!(stderr.len() < 2000, "{shown}: {} bytes of complaint", stderr.len());
        assert!(lines.is_empty(), "{shown}: {lines:#?}");
    }
}

#[test]
fn whatever_is_long_comes_in_whole_and_goes_out_in_lines_that_can_be_read() {
    let model = obedient();
    let mut env = world(&model);
    env.set("BASH_MAX_OUTPUT_LENGTH", "50000000");
    let shown = ["--replay-user-messages", "--include-partial-messages", "--session-mirror"];
    let args = [&shown[..], &["--allowedTools", "mcp__s__t,Bash,Read"]].concat();
    let mut all = Vec::new();
    // What the host says.
    let mut talk = with_everything(&env, &args);
    let mut line = user("");
    let long = "y".repeat(10 * 1024 * 1024);
    line["message"]["content"] = json!([{"type": "text", "text": long}, {"type": "text", "text": "hello"}]);
    talk.send(&line);
    assert_eq!(talk.result()["result"], "You said: hello");
    assert!(model.requests()[0].bytes.len() > 10 * 1024 * 1024);
    all.push(talk.finish());
    // What the model says, what a command prints and what a server answers.
    let mut talk = with_everything(&env, &args);
    let long = "z".repeat(3 * 1024 * 1024 / 2);
    talk.user(&orders(&json!({"block": {"type": "text", "text": long}})));
    talk.result();
    env.write("project/long.txt", &long);
    talk.user(&orders(&json!({"tool": "Bash", "input": {"command": "cat long.txt"}})));
    let asked = talk.asked("hook_callback");
    talk.answer(&asked["request_id"], json!({}));
    talk.result();
    talk.user(&orders(&json!({"tool": "mcp__s__t", "input": {}})));
    let asked = talk.asked("mcp_message");
    let text = json!([{"type": "text", "text": long}]);
    let answer =
        json!({"jsonrpc": "2.0", "id": asked["request"]["message"]["id"], "result": {"content": text}});
    talk.answer(&asked["request_id"], json!({"mcp_response": answer}));
    talk.result();
    all.push(talk.finish());
    for (code, lines, stderr) in all {
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        for line in lines.iter().map(Value::to_string) {
            assert!(line.chars().count() < 1024 * 1024, "{}: {line:.300}", line.len());
        }
    }
}

/// Numbers that look random and are the same every time.
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        let place = usize::try_from(self.below(all.len() as u64)).unwrap_or_default();
        all[place].clone()
    }
}

/// A host that says anything at any time.
struct Fickle {
    talk: Talk,
    draw: Draw,
    /// Requests made, and whether they were taken back.
    made: Vec<(String, bool)>,
    /// Requests of posse's that were looked at.
    looked: usize,
    pings: usize,
}

impl Fickle {
    fn start(env: &TestEnv, seed: u64) -> Self {
        let talk = with_everything(env, &["--allowedTools", "mcp__s__t"]);
        Self { looked: talk.seen.len(), talk, draw: Draw::new(seed), made: Vec::new(), pings: 0 }
    }

    fn request(&mut self) -> Value {
        let subtypes = [
            json!({"subtype": "interrupt"}),
            json!({"subtype": "interrupt", "cancel_queued": true}),
            json!({"subtype": "initialize"}),
            json!({"subtype": "set_permission_mode", "mode": self.draw.one_of(&["default", "plan", "acceptEdits", "x"])}),
            json!({"subtype": "set_model", "model": self.draw.one_of(&[json!("haiku"), json!(null), json!(7)])}),
            json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": self.draw.below(5000)}),
            json!({"subtype": "mcp_status"}),
            json!({"subtype": "mcp_reconnect", "serverName": self.draw.one_of(&["s", "nobody"])}),
            json!({"subtype": "mcp_set_servers", "servers": {}}),
            json!({"subtype": "get_context_usage"}),
            json!({"subtype": "rewind_files", "user_message_id": "x", "dry_run": true}),
            json!({"subtype": "stop_task", "task_id": "x"}),
            json!({"subtype": "background_tasks"}),
            json!({"subtype": "cancel_async_message", "message_uuid": "u3"}),
            json!({"subtype": "apply_flag_settings", "settings": {}}),
            json!({"subtype": "nonsense"}),
            json!({}),
        ];
        self.draw.one_of(&subtypes)
    }

    fn step(&mut self) {
        match self.draw.below(10) {
            0 => self.talk.user("hello"),
            1 | 2 => {
                let (_, order) = self.draw.one_of(&occasions());
                let mut line = user(&orders(&order));
                line["uuid"] = json!(format!("u{}", self.draw.below(6)));
                self.talk.send(&line);
            }
            3..=5 => {
                let id = format!("r{}", self.made.len());
                let request = self.request();
                self.made.push((id.clone(), false));
                self.talk.request(&id, request);
            }
            6 => {
                let known = self.made.len() as u64 + 1;
                let id = format!("r{}", self.draw.below(known));
                self.talk.send(&json!({"type": "control_cancel_request", "request_id": id}));
                self.made.iter_mut().filter(|(made, _)| *made == id).for_each(|(_, back)| *back = true);
            }
            7 => self.talk.send(&json!({"type": "from_the_future", "request_id": "r1"})),
            _ => {
                self.catch_up();
                self.answer_some();
            }
        }
    }

    /// Reads everything up to an answer that always comes at once.
    fn catch_up(&mut self) {
        self.pings += 1;
        let id = format!("ping{}", self.pings);
        self.talk.request(&id, json!({"subtype": "are_you_there"}));
        assert_eq!(self.talk.reply(&id)["subtype"], "error");
    }

    /// Answers some of what was asked since the last time, well or badly, and the rest never.
    fn answer_some(&mut self) {
        let fresh: Vec<Value> = self.talk.seen[self.looked..].to_vec();
        self.looked = self.talk.seen.len();
        for asked in fresh.iter().filter(|line| line["type"] == "control_request") {
            let id = &asked["request_id"];
            let is_server = asked["request"]["subtype"] == "mcp_message";
            match self.draw.below(6) {
                _ if is_server => self.talk.answer(id, json!({"mcp_response": mcp_answer(asked)})),
                0 => {}
                1 => {
                    let envelope = json!({"subtype": "error", "request_id": id, "error": "no idea"});
                    self.talk.send(&json!({"type": "control_response", "response": envelope}));
                }
                2 => self.talk.answer(id, json!({"behavior": "deny", "message": "no", "interrupt": true})),
                3 => self.talk.answer(id, json!(["what"])),
                _ => self.talk.answer(id, json!({"behavior": "allow"})),
            }
        }
    }

    /// Exactly one answer to each request that nobody took back, and at most one to the others.
    fn check(made: &[(String, bool)], lines: &[Value], seed: u64) {
        for (id, taken_back) in made {
            let answers = lines.iter().filter(|line| line["response"]["request_id"] == **id).count();
            assert!(answers == 1 || (*taken_back && answers == 0), "seed {seed}: {id} has {answers} answers");
        }
        let ids = |kind: &str| -> Vec<&Value> {
            lines.iter().filter(|line| line["type"] == kind).map(|line| &line["request_id"]).collect()
        };
        let (asked, back) = (ids("control_request"), ids("control_cancel_request"));
        assert!(
            back.iter().all(|id| asked.contains(id)),
            "seed {seed}: something was taken back that was not asked"
        );
        for line in lines {
            assert!(line["type"].is_string(), "seed {seed}: {line}");
            if line["type"] == "result" && line["subtype"] != "success" {
                assert!(line["errors"].is_array(), "seed {seed}: {line}");
            }
        }
    }
}

#[test]
fn whatever_a_host_says_in_whatever_order_everything_ends() {
    let model = obedient();
    let env = world(&model);
    for seed in 0..16_u64 {
        let mut host = Fickle::start(&env, seed);
        for _ in 0..40 {
            host.step();
        }
        host.catch_up();
        // It is never too late to stop.
        host.talk.request("last", json!({"subtype": "interrupt", "cancel_queued": true}));
        host.talk.reply("last");
        let Fickle { talk, made, .. } = host;
        let (code, lines, stderr) = talk.finish();
        assert!(matches!(code, Some(0 | 1)), "seed {seed}: {code:?} {stderr}");
        assert!(!stderr.contains("panicked"), "seed {seed}: {stderr}");
        Fickle::check(&made, &lines, seed);
    }
}

#[test]
fn a_host_that_dies_at_any_moment_leaves_nobody_behind() {
    let model = obedient();
    let env = world(&model);
    let mut started = 0;
    for seed in 0..12_u64 {
        let mut host = Fickle::start(&env, seed);
        let moment = host.draw.below(20);
        for _ in 0..moment {
            host.step();
        }
        let file = format!("pid-{seed}");
        let command = format!("echo $$ > {file}.part; mv {file}.part {file}; sleep 600");
        if seed % 2 == 0 {
            host.talk.request("stop", json!({"subtype": "interrupt", "cancel_queued": true}));
            host.talk.reply("stop");
            host.talk.request("mode", json!({"subtype": "initialize", "hooks": null}));
            host.talk.reply("mode");
            host.talk.user(&orders(&json!({"tool": "Bash", "input": {"command": command}})));
            let ask = host.talk.asked("can_use_tool");
            host.talk.answer(&ask["request_id"], json!({"behavior": "allow"}));
            while !env.path(&format!("project/{file}")).exists() {
                std::thread::yield_now();
            }
        }
        host.talk.hang_up();
        assert!(host.talk.ended().is_some(), "seed {seed}");
        if let Ok(pid) = std::fs::read_to_string(env.path(&format!("project/{file}"))) {
            started += 1;
            while std::path::Path::new("/proc").join(pid.trim()).exists() {
                std::thread::yield_now();
            }
        }
    }
    assert_eq!(started, 6);
}

#[test]
fn a_host_whose_server_never_greets_can_stop_and_go() {
    let model = obedient();
    let mut env = world(&model);
    env.set("MCP_TIMEOUT", "600000");
    let greeting = json!({"subtype": "initialize", "sdkMcpServers": ["mute"]});
    // It stops what has not begun.
    let mut talk = Talk::start(&env, &[]);
    talk.request("r", greeting.clone());
    talk.asked("mcp_message");
    talk.request("i", json!({"subtype": "interrupt"}));
    assert_eq!(talk.reply("i")["response"]["still_queued"], json!([]));
    drop(talk);
    // It goes away.
    let mut talk = Talk::start(&env, &[]);
    talk.request("r", greeting);
    talk.asked("mcp_message");
    let (code, _, stderr) = talk.finish();
    assert!(matches!(code, Some(0 | 1)), "{code:?} {stderr}");
}
