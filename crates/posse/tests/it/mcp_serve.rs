//! `posse mcp serve`, line by line: a client that writes and reads the protocol by hand, and a fake model over HTTP.

mod agents;
mod others;
mod rules;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};

use posse_testkit::FakeModel;
use posse_testkit::server::{Answer, MessagesReply, Recorded};
use serde_json::json;

use super::*;

/// A client with posse at its other end.
struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    /// Starts posse and says nothing.
    fn silent(env: &TestEnv, flags: &[&str]) -> Self {
        let mut child = env.start(&[&["mcp", "serve"], flags].concat());
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, to, from, last: 0 }
    }

    /// Starts posse and introduces itself, with these capabilities.
    fn with(env: &TestEnv, flags: &[&str], capabilities: Value) -> Self {
        let mut client = Self::silent(env, flags);
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = client.ask("initialize", params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "posse");
        client.tell("notifications/initialized", json!({}));
        client
    }

    fn new(env: &TestEnv, flags: &[&str]) -> Self {
        Self::with(env, flags, json!({}))
    }

    /// One that can put questions before a person.
    fn asking(env: &TestEnv, flags: &[&str]) -> Self {
        Self::with(env, flags, json!({ "elicitation": {} }))
    }

    fn line(&mut self, line: &str) {
        let to = self.to.as_mut().expect("an open input");
        writeln!(to, "{line}").expect("posse reads");
    }

    fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Begins a request; says its id.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message of posse. Whatever is on standard output must be one.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("text");
        assert!(!line.is_empty(), "posse has ended");
        let message = json(&line);
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// The answer to a request; everything before it must be a notification.
    fn answer(&mut self, id: u64) -> (Vec<Value>, Value) {
        let mut before = Vec::new();
        loop {
            let message = self.next();
            if message["id"] == id {
                return (before, message);
            }
            assert!(message.get("id").is_none(), "{message}");
            before.push(message);
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id).1
    }

    fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool: whether it failed, and what it says.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let id = self.begin_call(tool, arguments);
        result(&self.answer(id).1)
    }

    /// What is asked of the person next.
    fn question(&mut self) -> Value {
        let message = self.next();
        assert_eq!(message["method"], "elicitation/create", "{message}");
        message
    }

    fn reply(&mut self, question: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
    }

    fn tools(&mut self) -> Value {
        self.ask("tools/list", json!({}))["result"]["tools"].clone()
    }

    /// Hangs up. Posse must end by itself, and well; says what it wrote for people.
    fn end(mut self) -> String {
        drop(self.to.take());
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).expect("text");
        let mut said = String::new();
        self.child.stderr.take().expect("its messages").read_to_string(&mut said).expect("text");
        let status = self.child.wait().expect("posse ends");
        assert!(status.success(), "{status}: {said}");
        said
    }
}

/// Whether a call failed, and what it says.
fn result(answer: &Value) -> (bool, String) {
    let result = &answer["result"];
    assert!(result.is_object(), "{answer}");
    let texts = result["content"].as_array().expect("content").iter();
    let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
    (result["isError"] == true, texts.join("\n"))
}

/// A world whose model is the fake one, with two agents in it.
fn world(server: &FakeModel) -> TestEnv {
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "sk-ant-secret-key");
    env.write("project/a.txt", "hello\n");
    env.agent(
        "scout.md",
        "---\nname: scout\ndescription: Looks around\ntools: Read, Bash\nmodel: haiku\n---\nBe a scout.\n",
    );
    env.agent("worker.md", "---\nname: worker\ndescription: Does it all\n---\nBe a worker.\n");
    env
}

/// How many answers the model has given in a conversation.
fn steps(request: &Recorded) -> usize {
    let messages = request.body["messages"].as_array().expect("messages");
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

fn text(text: &str) -> Answer {
    MessagesReply::new().text(text).usage(100, 10).answer()
}

fn tool(id: &str, name: &str, input: &Value) -> Answer {
    MessagesReply::new().tool(id, name, input).usage(100, 10).answer()
}

/// A pipe with a name. Reading it ends when everybody who had it open is gone.
struct Lifeline(std::path::PathBuf);

impl Lifeline {
    fn new(path: &Path) -> Self {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        Self(path.to_owned())
    }

    /// A command that holds it for as long as it lives, which is for ever, and so does a child of it.
    fn command(&self) -> String {
        format!("exec 3> {}; sleep 100000 & sleep 100000", self.0.display())
    }

    /// Waits until somebody holds it.
    fn held(&self) -> std::fs::File {
        std::fs::File::open(&self.0).expect("the pipe")
    }
}

/// Waits until nobody holds a lifeline any more.
fn let_go(mut held: std::fs::File) {
    let mut rest = Vec::new();
    held.read_to_end(&mut rest).expect("the pipe");
    assert_eq!(rest, b"");
}

#[test]
fn tools_are_listed_with_what_they_do_and_flags_choose() {
    let env = env();
    env.agent("scout.md", &TestEnv::minimal("scout"));
    env.agent("odd.md", "---\nname: \"my plugin:odd one\"\ndescription: Odd\n---\nBe odd.\n");
    let mut client = Client::new(&env, &[]);
    let tools = client.tools();
    let names = pluck(&tools, "/name");
    assert!(
        names.starts_with(
            "Bash Edit Glob Grep NotebookEdit Read TaskOutput TaskStop WebFetch WebSearch Write agent_"
        ),
        "{names}"
    );
    assert!(names.contains(" agent_scout") && names.contains(" agent_general-purpose"), "{names}");
    let by_name = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name);
        tool.unwrap_or_else(|| panic!("no {name} in {names}")).clone()
    };
    assert_eq!(by_name("Read")["annotations"]["readOnlyHint"], true);
    assert_eq!(by_name("Read")["inputSchema"]["properties"]["file_path"]["type"], "string");
    assert_eq!(by_name("Bash")["annotations"]["readOnlyHint"], false);
    assert_eq!(by_name("Bash")["annotations"]["destructiveHint"], true);
    let scout = by_name("agent_scout");
    assert_eq!(scout["description"], "The scout");
    assert_eq!(scout["inputSchema"]["required"], json!(["prompt"]));
    for name in names.split(' ') {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        assert!(plain && name.len() <= 50, "{name}");
    }
    client.end();

    let listed = |flags: &[&str]| pluck(&Client::new(&env, flags).tools(), "/name");
    assert_eq!(listed(&["--tools", "Read,Grep", "--no-agents"]), "Grep Read");
    assert!(listed(&["--no-agents"]).ends_with(" Write"));
    assert!(listed(&["--agents-only"]).starts_with("agent_"));
    assert_eq!(listed(&["--tools", "", "--no-agents"]), "");
    assert!(listed(&["--disallowedTools", "Bash"]).starts_with("Edit "));
    assert!(!listed(&["--disallowedTools", "Agent"]).contains("agent_"));
    let denied = r#"{"permissions": {"deny": ["Agent(scout)"]}}"#;
    assert!(!listed(&["--settings", denied]).contains("agent_scout"));
    let (_, said) = env.posse(&["mcp", "serve", "--tools", "Read,Fly"]).fails_with(2);
    assert!(said.contains("`Fly` cannot be offered") && said.contains("WebFetch"), "{said}");
}

#[test]
fn what_cannot_be_understood_is_answered_as_an_error_and_ends_nothing() {
    let env = env();
    let mut client = Client::silent(&env, &["--no-agents"]);
    // Before anybody has said who they are.
    client.tell("notifications/early", json!({}));
    client.line("nonsense");
    assert_eq!(client.next()["error"]["code"], -32700);
    client.send(&json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/list" }));
    let refused = client.next();
    assert_eq!(refused["id"], "x");
    assert!(refused["error"].is_object(), "{refused}");
    client.ask("initialize", json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    }));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}1{}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(17 << 20));
    let cases: [(&str, i64, Value); 13] = [
        ("{", -32700, Value::Null),
        (&deep, -32700, Value::Null),
        (&long, -32600, Value::Null),
        ("[]", -32600, Value::Null),
        ("7", -32600, Value::Null),
        ("{}", -32600, Value::Null),
        (r#"{"id":5,"method":"ping"}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":6}"#, -32600, json!(6)),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"a","method":"no/such"}"#, -32601, json!("a")),
        (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call"}"#, -32602, json!(8)),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"Fly"}}"#, -32602, json!(9)),
        (
            r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"Read","arguments":[]}}"#,
            -32602,
            json!(10),
        ),
    ];
    for (line, code, id) in cases {
        client.line(line);
        let answer = client.next();
        let start: String = line.chars().take(80).collect();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{start}: {answer}");
    }
    // Nothing is owed for these.
    client.line("");
    client.line(r#"{"jsonrpc":"2.0","method":"no/such"}"#);
    client.line(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#);
    let (failed, said) = client.call("Read", json!({ "nope": 1 }));
    assert!(failed && said.contains("file_path"), "{said}");
    assert_eq!(client.end(), "");
}

#[test]
fn hanging_up_before_a_word_is_no_failure() {
    let env = env();
    assert_eq!(Client::silent(&env, &[]).end(), "");
}
