//! The protocol itself, line by line, without a client library: editors that do not behave, and those that are gone.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::json;

use super::*;

/// posse with an editor at the other end.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Option<Lines<BufReader<ChildStdout>>>,
    /// Everything read so far.
    seen: Vec<Value>,
    last_id: u64,
}

impl Talk {
    /// An editor that has said hello.
    fn start(env: &TestEnv, args: &[&str]) -> Self {
        let mut talk = Self::mute(env, args);
        let id = talk.request("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
        assert_eq!(talk.reply(id)["result"]["protocolVersion"], 1);
        talk
    }

    fn mute(env: &TestEnv, args: &[&str]) -> Self {
        let mut child = env.start(&[&["acp"], args].concat());
        let stdin = child.stdin.take();
        let lines = child.stdout.take().map(|pipe| BufReader::new(pipe).lines());
        Self { child, stdin, lines, seen: Vec::new(), last_id: 0 }
    }

    fn raw(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open input");
        // A program that has ended is found out by what it says last.
        let _ = writeln!(stdin, "{line}");
    }

    fn send(&mut self, line: &Value) {
        self.raw(&line.to_string());
    }

    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn open(&mut self, env: &TestEnv) -> String {
        let id = self.request("session/new", json!({"cwd": env.cwd(), "mcpServers": []}));
        self.reply(id)["result"]["sessionId"].as_str().expect("an id").to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    fn cancel(&mut self, session: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}));
    }

    /// Reads up to a line.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.as_mut().and_then(Iterator::next);
            let line = line.unwrap_or_else(|| panic!("it ended: {:#?}", self.seen));
            let line = json(&line.expect("text"));
            self.seen.push(line.clone());
            if is_it(&line) {
                return line;
            }
        }
    }

    fn reply(&mut self, id: u64) -> Value {
        self.until(|line| line["id"] == id && line.get("method").is_none())
    }

    fn stop_reason(&mut self, id: u64) -> Value {
        self.reply(id)["result"]["stopReason"].take()
    }

    /// Says nothing more and waits for the end.
    fn finish(mut self) -> (Option<i32>, Vec<Value>, String) {
        self.stdin = None;
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

fn order(orders: Value) -> String {
    format!("do: {orders}")
}

fn bash(command: &str) -> String {
    order(json!([{"tool": "Bash", "input": {"command": command}, "id": "call"}]))
}

#[test]
fn lines_that_make_no_sense_are_answered_and_do_no_harm() {
    let model = model();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    let cases = [
        ("{torn", -32700),
        ("garbage", -32700),
        ("\u{0}", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, -32600),
        ("7", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":77,"method":"made/up"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":78,"method":"session/new","params":{"cwd":7}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":79,"method":"session/prompt","params":[]}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":80,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}"#,
            -32002,
        ),
    ];
    for (line, code) in cases {
        talk.raw(line);
        let answer = talk.until(|line| line.get("error").is_some());
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    }
    // What is no request gets no answer: what is no method, no answer to anything, or nothing at all.
    for line in
        [r#"{"jsonrpc":"2.0","method":"made/up"}"#, r#"{"jsonrpc":"2.0","id":999,"result":{}}"#, "", "   "]
    {
        talk.raw(line);
    }
    let session = talk.open(&env);
    let prompt = talk.prompt(&session, "hello");
    assert_eq!(talk.stop_reason(prompt), "end_turn");
    let (code, lines, stderr) = talk.finish();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(lines.iter().all(|line| line["jsonrpc"] == "2.0"));
}

#[test]
fn nothing_works_before_hello() {
    let model = model();
    let env = world(&model);
    let mut talk = Talk::mute(&env, &[]);
    let id = talk.request("session/new", json!({"cwd": env.cwd(), "mcpServers": []}));
    assert_eq!(talk.reply(id)["error"]["code"], -32600);
    assert_eq!(talk.finish().0, Some(0));
    assert_eq!(Talk::mute(&env, &[]).finish().0, Some(0));
}

#[test]
fn an_editor_that_dies_ends_what_it_started() {
    let model = model();
    let env = world(&model);
    for reads in [true, false] {
        let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
        let session = talk.open(&env);
        talk.prompt(&session, &bash("sleep 600; touch over"));
        talk.until(|line| line["params"]["update"]["status"] == "in_progress");
        talk.stdin = None;
        if !reads {
            talk.lines = None;
        }
        assert_eq!(talk.child.wait().expect("an end").code(), Some(0));
        assert!(!env.path("project/over").exists());
    }
}

#[test]
fn a_question_that_is_never_answered_is_taken_back() {
    let model = model();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    let session = talk.open(&env);
    let prompt = talk.prompt(&session, &bash("touch asked"));
    let asked = talk.until(|line| line["method"] == "session/request_permission");
    talk.cancel(&session);
    let withdrawn = talk.until(|line| line["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    assert_eq!(talk.stop_reason(prompt), "cancelled");
    // An answer that comes too late changes nothing.
    talk.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": {"outcome": "selected", "optionId": "allow"}}}));
    let prompt = talk.prompt(&session, "hello");
    assert_eq!(talk.stop_reason(prompt), "end_turn");
    // One that is still open when the editor leaves.
    talk.prompt(&session, &bash("touch asked"));
    talk.until(|line| line["method"] == "session/request_permission");
    assert_eq!(talk.finish().0, Some(0));
    assert!(!env.path("project/asked").exists());
}

#[test]
fn a_request_that_is_taken_back_ends_its_turn() {
    let model = model();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    let session = talk.open(&env);
    let prompt = talk.prompt(&session, "stop: there");
    talk.until(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    talk.send(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": prompt}}));
    assert_eq!(talk.stop_reason(prompt), "cancelled");
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn a_session_that_is_closed_stops_what_goes_on_in_it_and_nothing_else() {
    let model = model();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    let (one, other) = (talk.open(&env), talk.open(&env));
    assert_ne!(one, other);
    let busy = talk.prompt(&one, &bash("sleep 600; touch over"));
    talk.until(|line| line["params"]["update"]["status"] == "in_progress");
    let close = talk.request("session/close", json!({"sessionId": one}));
    assert_eq!(talk.stop_reason(busy), "cancelled");
    assert_eq!(talk.reply(close)["result"], json!({}));
    let late = talk.prompt(&one, "hello");
    assert_eq!(talk.reply(late)["error"]["code"], -32002);
    let prompt = talk.prompt(&other, "hello");
    assert_eq!(talk.stop_reason(prompt), "end_turn");
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    let said = |session: &str| {
        let of = lines.iter().filter(|line| line["params"]["sessionId"] == session);
        of.filter_map(|line| line.pointer("/params/update/content/text")?.as_str()).collect::<String>()
    };
    assert_eq!((said(&other).as_str(), said(&one).contains("hello")), ("You said: hello", false));
    assert!(!env.path("project/over").exists());
}

#[test]
fn a_signal_ends_everything() {
    let model = model();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    let session = talk.open(&env);
    let prompt = talk.prompt(&session, &bash("sleep 600; touch over"));
    talk.until(|line| line["params"]["update"]["status"] == "in_progress");
    let pid = rustix::process::Pid::from_raw(i32::try_from(talk.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(talk.stop_reason(prompt), "cancelled");
    assert_eq!(talk.child.wait().expect("an end").code(), Some(130));
    assert!(!env.path("project/over").exists());
}

/// Small, and the same for the same seed.
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[test]
fn a_turn_that_is_cancelled_at_any_moment_ends_and_the_session_goes_on() {
    let model = model();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash(echo:*)"]);
    let session = talk.open(&env);
    let prompts = [
        "hello".to_owned(),
        "stop: there".to_owned(),
        bash("echo quick"),
        bash("touch asked"),
        order(json!([{"text": "first"}, {"tool": "Bash", "input": {"command": "echo then"}, "id": "then"}])),
    ];
    for seed in 0..30 {
        let mut draw = dice(seed);
        let text = &prompts[usize::try_from(draw(5)).unwrap()];
        let prompt = talk.prompt(&session, text);
        // After so many lines, or when it asks or falls silent: nothing more would come.
        let mut ended = None;
        for _ in 0..draw(6) {
            let line = talk.until(|_| true);
            let is_answer = line["id"] == prompt && line.get("method").is_none();
            ended = is_answer.then(|| line["result"]["stopReason"].clone());
            let is_last = line["method"] == "session/request_permission"
                || line["params"]["update"]["content"]["text"] == "part of it";
            if is_answer || is_last {
                break;
            }
        }
        talk.cancel(&session);
        let reason = ended.unwrap_or_else(|| talk.stop_reason(prompt));
        assert!(reason == "cancelled" || reason == "end_turn", "seed {seed}: {text}: {reason}");
    }
    let prompt = talk.prompt(&session, "hello");
    assert_eq!(talk.stop_reason(prompt), "end_turn");
    let (code, lines, stderr) = talk.finish();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    // Every call that was shown has come to an end.
    let updates = lines.iter().map(|line| &line["params"]["update"]);
    let mut open: Vec<&Value> = Vec::new();
    for update in updates {
        match (update["sessionUpdate"].as_str(), update["status"].as_str()) {
            (Some("tool_call"), _) => open.push(&update["toolCallId"]),
            (Some("tool_call_update"), Some("completed" | "failed")) => {
                open.retain(|id| **id != update["toolCallId"]);
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!env.path("project/asked").exists());
}

#[test]
fn whatever_an_editor_says_in_whatever_order_every_request_has_one_answer() {
    let model = model();
    let env = world(&model);
    for seed in 0..16 {
        let mut draw = dice(seed + 100);
        let mut talk = Talk::start(&env, &[]);
        let session = talk.open(&env);
        let mut expected = Vec::new();
        for _ in 0..12 {
            let id = match draw(9) {
                0 => talk.prompt(&session, "hello"),
                1 => talk.prompt(&session, &bash("touch asked")),
                2 => talk.request("session/set_mode", json!({"sessionId": session, "modeId": "plan"})),
                3 => talk.request("session/new", json!({"cwd": env.cwd(), "mcpServers": []})),
                4 => talk.request("session/list", json!({})),
                5 => talk.request(
                    "session/load",
                    json!({"sessionId": session, "cwd": env.cwd(), "mcpServers": []}),
                ),
                6 => talk.request(
                    "session/set_config_option",
                    json!({"sessionId": session, "configId": "model", "value": "opus"}),
                ),
                7 => talk.request("made/up", json!(null)),
                _ => {
                    talk.cancel(&session);
                    continue;
                }
            };
            expected.push(id);
        }
        // What is still open is a question nobody answers; the last word ends it.
        talk.cancel(&session);
        for id in &expected {
            let is_it = |line: &Value| line["id"] == *id && line.get("method").is_none();
            if !talk.seen.iter().any(is_it) {
                talk.until(is_it);
            }
        }
        let (code, lines, stderr) = talk.finish();
        assert_eq!(code, Some(0), "seed {seed}: {stderr}");
        assert!(!stderr.contains("panicked"), "seed {seed}: {stderr}");
        for id in expected {
            let answers = lines.iter().filter(|line| line["id"] == id && line.get("method").is_none());
            assert_eq!(answers.count(), 1, "seed {seed}: request {id}");
        }
    }
}
