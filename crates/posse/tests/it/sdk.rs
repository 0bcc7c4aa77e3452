//! The Claude Agent SDKs, as their users run them, with posse at the other end and a model that does what prompts say.
//!
//! `cargo xtask test` installs the SDKs and says where: `POSSE_TEST_PYTHON`, `POSSE_TEST_SDK`. Run without, the tests of
//! that language say that they were skipped. The programs in `tests/sdk` print one line per check.

mod background;
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
        } else if let Some(status) = order["fail"].as_u64() {
            let status = u16::try_from(status).unwrap_or(500);
            return Answer::error(status, "api_error", "as you wish");
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
fn python(group: &str, expected: &[&str]) {
    let Some(packages) = installed("POSSE_TEST_PYTHON") else { return };
    let model = obedient();
    let mut env = world(&model);
    env.set("PYTHONPATH", &packages).set("PYTHONDONTWRITEBYTECODE", "1");
    let mut command = Command::new("python3");
    command.args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/checks.py"), group]);
    check(command, &env, expected);
}

#[allow(clippy::disallowed_methods)] // As above.
fn typescript(group: &str, expected: &[&str]) {
    let Some(packages) = installed("POSSE_TEST_SDK") else { return };
    let model = obedient();
    let mut env = world(&model);
    env.set("POSSE_TEST_SDK", &packages);
    let mut command = Command::new("node");
    command.args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/checks.mjs"), group]);
    check(command, &env, expected);
}

macro_rules! groups {
    ($language:ident: $($name:ident => $checks:expr;)*) => {
        mod $language {
            $(#[test]
            fn $name() {
                super::$language(stringify!($name), &$checks);
            })*
        }
    };
}

groups! { python:
    queries => ["a plain question", "prompts", "tools", "limits", "the provider", "failures"];
    sessions => ["resume", "fork", "named", "listed", "cut", "stored", "refused"];
    permissions => ["allowed", "changed", "denied", "interrupted", "remembered", "broken", "questions"];
    hooks => ["before a tool", "after a tool", "put off", "prompt and stop", "failing"];
    control => ["turns", "mode", "model", "interrupt", "context", "unknown servers", "tasks"];
    servers => ["tools of the program", "a tool that decides"];
    agents => ["in the foreground", "in the background", "their transcripts"];
    shapes => ["partial", "structured", "replayed", "rewound"];
}

groups! { typescript:
    queries => ["a plain question", "prompts", "tools", "limits", "the provider"];
    permissions => ["allowed", "denied", "questions"];
    hooks => ["before a tool"];
    control => ["supported", "turns", "mode", "model", "interrupt", "unsupported", "rewound"];
    servers => ["tools of the program"];
    agents => ["in the foreground"];
    shapes => ["partial", "structured", "sessions"];
}
