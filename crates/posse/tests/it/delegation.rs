//! Agents that start agents, against a fake model that speaks real HTTP: what each of them is sent, what it hands back,
//! and what is left on disk.

mod background;
mod cache;
mod foreground;
mod forks;
mod limits;
mod resume;
mod returning;
mod servers;
mod spending;
mod time;
mod trees;

use posse_testkit::server::{Answer, Gate, MessagesReply, Recorded};
use posse_testkit::{FakeModel, Output};
use serde_json::json;

use super::*;

const STREAM: [&str; 5] = ["-p", "go", "--output-format", "stream-json", "--verbose"];

/// A world with a few agents in it, whose model is the fake one.
fn world(server: &FakeModel) -> TestEnv {
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "sk-ant-secret-key");
    env.write("project/a.txt", "hello\n");
    env.write("project/CLAUDE.md", "Always use tabs.\n");
    env.agent(
        "scout.md",
        "---\nname: scout\ndescription: Looks around\ntools: Read, Bash\nmodel: haiku\n---\nBe a scout.\n",
    );
    env.agent("worker.md", "---\nname: worker\ndescription: Does it all\n---\nBe a worker.\n");
    env
}

/// The agent that made a request; nobody if it was the main one.
fn agent(request: &Recorded) -> Option<&str> {
    request.header("x-claude-code-agent-id")
}

/// How many answers the model has given in this conversation.
fn steps(request: &Recorded) -> usize {
    list(&request.body["messages"]).iter().filter(|message| message["role"] == "assistant").count()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Everything a message says, answers of tools too.
fn words(message: &Value) -> String {
    let mut texts = Vec::new();
    for block in list(&message["content"]) {
        texts.extend(block["text"].as_str().map(str::to_owned));
        texts.extend(block["content"].as_str().map(str::to_owned));
        texts.extend(
            list(&block["content"]).iter().filter_map(|part| Some(part["text"].as_str()?.to_owned())),
        );
    }
    texts.join("\n")
}

/// What the last message of a request says.
fn last(request: &Recorded) -> String {
    list(&request.body["messages"]).last().map(words).unwrap_or_default()
}

/// What all messages of a request say.
fn all(request: &Recorded) -> String {
    list(&request.body["messages"]).iter().map(words).collect::<Vec<_>>().join("\n")
}

fn system(request: &Recorded) -> String {
    list(&request.body["system"])
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The answer of a tool in a request.
fn result<'a>(request: &'a Recorded, call: &str) -> &'a Value {
    let blocks = list(&request.body["messages"]).iter().flat_map(|message| list(&message["content"]));
    let mut found = blocks.filter(|block| block["tool_use_id"] == call);
    let first = found.next().unwrap_or_else(|| panic!("no answer to {call} in {}", request.body["messages"]));
    assert!(found.next().is_none(), "two answers to {call}");
    first
}

fn text(text: &str) -> Answer {
    MessagesReply::new().text(text).usage(100, 10).answer()
}

/// A call of the Agent tool for an agent of a kind; what is given besides overrides.
fn start(kind: &str, prompt: &str, more: Value) -> Value {
    let mut input =
        json!({ "description": format!("task {prompt}"), "prompt": prompt, "subagent_type": kind });
    if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
        input.extend(more.clone());
    }
    input
}

/// Calls of one tool in one message, named `t1`, `t2` and so on.
fn calls(tool: &str, inputs: &[Value]) -> Answer {
    let reply = MessagesReply::new().text("I hand this on.");
    let numbered = inputs.iter().enumerate();
    numbered.fold(reply, |reply, (at, input)| reply.tool(&format!("t{}", at + 1), tool, input)).answer()
}

fn call(id: &str, tool: &str, input: &Value) -> Answer {
    MessagesReply::new().tool(id, tool, input).answer()
}

/// The requests of the main agent.
fn of_main(server: &FakeModel) -> Vec<Recorded> {
    server.requests().into_iter().filter(|request| agent(request).is_none()).collect()
}

/// The requests of agents.
fn of_agents(server: &FakeModel) -> Vec<Recorded> {
    server.requests().into_iter().filter(|request| agent(request).is_some()).collect()
}

fn stream(output: &Output) -> Vec<Value> {
    output.stdout.lines().map(json).collect()
}

fn id_of(text: &str) -> String {
    let at = text.find("agentId: ").unwrap_or_else(|| panic!("no id in {text}")) + "agentId: ".len();
    text[at..].chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// The files of the agents of the only session, by their names.
fn files(env: &TestEnv) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let projects = env.path("home/.claude/projects");
    for project in std::fs::read_dir(projects).expect("projects").flatten() {
        for session in std::fs::read_dir(project.path()).expect("sessions").flatten() {
            let Ok(folder) = std::fs::read_dir(session.path().join("subagents")) else { continue };
            for file in folder.flatten() {
                let text = std::fs::read_to_string(file.path()).expect("text");
                found.push((file.file_name().to_string_lossy().into_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// The records beside the transcripts.
fn metas(env: &TestEnv) -> Vec<Value> {
    files(env).iter().filter(|(name, _)| name.ends_with(".meta.json")).map(|(_, text)| json(text)).collect()
}
