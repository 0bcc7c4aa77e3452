//! The Claude Agent SDKs, as their users run them, with posse at the other end and a model that does what prompts say.
//!
//! `cargo xtask test` installs the SDKs and says where: `POSSE_TEST_PYTHON`, `POSSE_TEST_SDK`. Run without, the tests of
//! that language say that they were skipped. The programs in `tests/sdk` print one line per check.
//! What posse does not do yet stands there, too, and is run with `POSSE_TEST_LATER=1` by whoever starts a program by hand.

mod background;
mod coverage;
mod limits;
mod mcp;
mod raw;
mod requests;
mod robust;

use std::io::Write;
use std::process::Command;

use posse_testkit::FakeModel;
use posse_testkit::server::{Answer, Fault, MessagesReply, Recorded};

use super::*;

/// A model that does what the last message says: `do: [{"text": …}, {"tool": …, "input": …}, {"echo": "/system"}]`.
/// What tools answer it repeats; anything else it says back.
pub(super) fn obedient() -> FakeModel {
    FakeModel::answering(obey)
}

pub(super) fn obey(request: &Recorded) -> Answer {
    let blocks = request.body["messages"].as_array().and_then(|all| all.last()).map(|last| &last["content"]);
    let blocks: Vec<Value> = blocks.and_then(Value::as_array).cloned().unwrap_or_default();
    let said = |text: &&str| !text.starts_with("<system-reminder>");
    let last = blocks.iter().filter_map(|block| block["text"].as_str()).rfind(said);
    if let Some((_, orders)) = last.and_then(|text| text.split_once("do: ")) {
        let orders: Vec<Value> = serde_json::from_str(orders.trim()).unwrap_or_default();
        return carry_out(&orders, request);
    }
    let results: Vec<String> = blocks
        .iter()
        .filter(|block| block["type"] == "tool_result")
        .map(|block| match &block["content"] {
            Value::String(text) => text.clone(),
            other => pluck(other, "/text"),
        })
        .collect();
    let said = match last {
        Some(text) => format!("You said: {text}"),
        None => format!("Result: {}", results.join(" | ")),
    };
    MessagesReply::new().text(&said).answer()
}

fn carry_out(orders: &[Value], request: &Recorded) -> Answer {
    let mut reply = MessagesReply::new();
    let mut stalls = false;
    for (place, order) in orders.iter().enumerate() {
        if let Some(text) = order["text"].as_str() {
            reply = reply.text(text);
        } else if let Some(pointer) = order["echo"].as_str() {
            reply = reply.text(&request.body.pointer(pointer).unwrap_or(&Value::Null).to_string());
        } else if let Some(name) = order["header"].as_str() {
            reply = reply.text(request.header(name).unwrap_or_default());
        } else if let Some(text) = order["thinking"].as_str() {
            reply = reply.thinking(text, "signed");
        } else if let Some(tool) = order["tool"].as_str() {
            let id = order["id"].as_str().map_or_else(|| format!("toolu_{place}"), str::to_owned);
            reply = reply.tool(&id, tool, &order["input"]);
        } else if order["block"].is_object() {
            reply = reply.block(order["block"].clone(), Vec::new());
        } else if let Some(reason) = order["stop"].as_str() {
            reply = reply.stop(reason);
        } else if let Some(status) = order["fail"].as_u64() {
            // Some fail only with one model.
            if order["model"].is_null() || order["model"] == request.body["model"] {
                let status = u16::try_from(status).unwrap_or(500);
                return Answer::error(status, "api_error", "as you wish");
            }
        } else {
            stalls = true;
        }
    }
    let answer = reply.answer();
    if let Some(text) = orders.iter().find_map(|order| order["silent_behind"].as_str()) {
        return answer.stall_behind(text);
    }
    if stalls { answer.failing(Fault::Stall(600)) } else { answer }
}

/// A world for a program that uses an SDK.
pub(super) fn world(model: &FakeModel) -> TestEnv {
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", &model.url()).set("ANTHROPIC_API_KEY", "sk-ant-test");
    env.set("CLAUDE_CODE_MAX_RETRIES", "0").set("POSSE", env!("CARGO_BIN_EXE_posse"));
    let home = env.path("home").display().to_string();
    env.set("CLAUDE_CONFIG_DIR", &format!("{home}/.claude"));
    env
}

#[allow(clippy::disallowed_methods)] // The test command hands the place over in the environment.
pub(super) fn installed(variable: &str) -> Option<String> {
    let place = std::env::var(variable).ok();
    if place.is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: {variable} is not set; `cargo xtask test` sets it");
    }
    place
}

/// Runs a program and compares its checks with those expected. A check that is left out has failed.
pub(super) fn check(mut command: Command, env: &TestEnv, expected: &[&str]) {
    command.env_clear().envs(env.vars()).current_dir(env.cwd());
    if let Some(path) = option_env!("PATH") {
        command.env("PATH", path);
    }
    let output = command.output().expect("the program runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<Value> = stdout.lines().filter(|line| line.starts_with('{')).map(json).collect();
    let failed: Vec<&Value> = lines.iter().filter(|line| line["ok"] != true).collect();
    assert!(failed.is_empty(), "{failed:#?}\n{stderr}");
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let done: Vec<&str> = lines.iter().filter_map(|line| line["check"].as_str()).collect();
    assert_eq!(done, expected, "{stderr}");
}

#[allow(clippy::disallowed_methods)] // Tests start programs of others.
fn python(area: &str, expected: &[&str]) {
    let Some(packages) = installed("POSSE_TEST_PYTHON") else { return };
    let model = obedient();
    let mut env = world(&model);
    env.set("PYTHONPATH", &packages).set("PYTHONDONTWRITEBYTECODE", "1");
    let mut command = Command::new("python3");
    command.arg(format!("{PROGRAMS}/python/{area}.py"));
    check(command, &env, expected);
}

#[allow(clippy::disallowed_methods)] // As above.
fn typescript(area: &str, expected: &[&str]) {
    let Some(packages) = installed("POSSE_TEST_SDK") else { return };
    let model = obedient();
    let mut env = world(&model);
    env.set("POSSE_TEST_SDK", &packages);
    let mut command = Command::new("node");
    command.arg(format!("{PROGRAMS}/ts/{area}.mjs"));
    check(command, &env, expected);
}

/// Where the programs are.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk");

/// One test per program, and a list of everything they check.
macro_rules! areas {
    ($language:ident $all:ident: $($name:ident => $checks:expr;)*) => {
        mod $language {
            $(#[test]
            fn $name() {
                super::$language(stringify!($name), &$checks);
            })*
        }

        const $all: &[(&str, &[&str])] = &[$((stringify!($name), &$checks),)*];
    };
}

areas! { python PYTHON:
    queries => [
        "a plain question", "prompts", "every prompt", "tools", "limits", "the provider",
        "a model that fails", "thoughts", "who asks", "the surroundings", "a line that is too long", "flags",
        "failures", "a prompt that is the same for everybody",
    ];
    settings => [
        "sources", "sources of the user", "settings", "a style of answers", "skills", "commands", "plugins",
        "more folders", "modes", "nobody to ask", "confined", "a style in the greeting",
    ];
    sessions => [
        "resume", "fork", "named", "listed", "cut", "refused", "by title", "named forks", "looked up",
        "changed from outside", "of agents", "not kept", "parallel calls", "after a summary",
    ];
    stores => [
        "stored", "gone from the disk", "a store that takes too long", "the same as on disk",
        "as it happens", "changed there", "brought in", "a store that fails",
    ];
    permissions => [
        "allowed", "changed", "denied", "interrupted", "remembered", "broken", "questions", "what is told",
        "asked by agents", "not asked", "rules to ask", "written down", "more places", "plans",
    ];
    hooks => [
        "before a tool", "after a tool", "put off", "prompt and stop", "failing",
    ];
    events => [
        "around a tool", "what hooks add", "what a tool said is changed", "what hooks say to the user",
        "asked and denied", "stopping early", "prompts and ends", "agents come and go",
        "agents that are not let go", "summaries", "notices", "permission requests", "others by name",
        "several at once", "answers that come later", "events of commands",
    ];
    control => [
        "turns", "mode", "model", "interrupt", "context", "unknown servers", "tasks", "connecting",
        "several prompts", "server info", "every mode", "models by name", "interrupting questions",
        "how full it is", "stopping a task", "leaving early",
    ];
    servers => [
        "tools of the program", "a tool that decides", "servers of others", "servers over http", "only these",
        "servers that fail", "results of all kinds", "several tools at once", "what is forbidden",
        "interrupting a tool", "how servers are configured", "switched off and on",
        "others are not even named",
    ];
    agents => [
        "in the foreground", "in the background", "their transcripts", "what they are", "what they know",
        "what they may do", "servers of their own", "which run in the background",
        "an agent for everything", "many", "from files",
    ];
    shapes => [
        "partial", "structured", "replayed", "rewound", "answers", "ends", "sums", "the first message",
        "thoughts in pieces", "tool results", "structured by tools", "tasks and their news",
        "a new conversation", "blocks of the provider", "denials", "tries", "states",
    ];
    journeys => [
        "a clean run is silent", "errors reach the program", "a hook for a later turn",
        "one result with a hook", "a request from the future", "changed on the way", "a file outside",
        "traced", "breaking off", "reasons are shown on demand", "files in a prompt",
        "put off and taken up",
    ];
}

areas! { typescript TYPESCRIPT:
    queries => [
        "a plain question", "prompts", "tools", "limits", "the provider", "every prompt",
        "a model that fails", "thoughts", "who asks", "the surroundings", "more folders", "flags",
        "another way to start it", "called off", "failures", "a prompt that is the same for everybody",
        "reasons",
    ];
    settings => [
        "sources", "settings", "skills", "plugins", "modes", "nobody to ask", "confined", "not kept",
        "settings of whoever is in charge", "settings of another checkout", "other names for tools",
        "how to plan", "a title from the start", "plugins in the greeting",
    ];
    sessions => [
        "resumed", "named", "cut", "looked up", "changed from outside", "of agents", "stored",
        "stored as it happens", "a store that fails", "brought in",
    ];
    permissions => [
        "allowed", "denied", "questions", "what is told", "remembered", "broken", "taken back",
        "a tool that decides", "plans",
    ];
    hooks => [
        "before a tool", "around a tool", "what they change", "prompts and ends", "sessions begin and end",
        "commands of the project", "agents come and go", "worktrees come and go", "summaries",
        "models are switched", "permissions are asked for", "tasks are kept", "places change",
        "files change", "settings change", "failing", "put off", "for commands, told on demand",
    ];
    control => [
        "supported", "turns", "mode", "model", "interrupt", "asked in vain", "rewound", "what it begins with",
        "greeted again", "more to say", "without an answer", "interrupts and what waits", "how full it is",
        "sent to the background", "stopped one by one", "started ahead", "closed", "thoughts on the way",
        "settings on the way", "files read for the program", "taken for read", "what was spent",
        "a model during a turn", "settings written down", "read again",
    ];
    servers => [
        "tools of the program", "servers of others", "only these", "their state", "tools that fail",
        "what is forbidden", "interrupting a tool", "others while it runs", "switched off and on",
        "pages of servers", "questions of servers", "how far a tool is", "who is asked for a server",
    ];
    agents => [
        "in the foreground", "what they are", "what they say", "in the background", "for everything",
        "from files",
    ];
    shapes => [
        "partial", "structured", "sessions", "every message has its name", "ends", "thoughts in pieces",
        "what does not fit", "as it is written", "shown again", "a new conversation", "summaries", "tasks",
        "tries and denials", "states", "files in a prompt",
    ];
}
