//! The one end-to-end binary: posse as a user runs it, in a world of its own.

mod acp;
mod agents;
mod bytes;
mod config;
#[cfg(target_os = "linux")]
mod confined;
mod delegation;
mod docs;
mod doctor;
mod explain;
mod hooks;
mod http;
mod lint;
mod mcp;
mod mcp_serve;
mod openai_client;
mod permissions;
mod plugins;
#[cfg(target_os = "linux")]
mod reap;
mod run;
mod runs;
#[cfg(target_os = "linux")]
mod sandbox;
mod sdk;
mod shell_judgement;
mod skills;
mod talk;
mod trust;
mod usage;
mod worktrees;

use posse_testkit::TestEnv;
use serde_json::Value;

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_posse"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// A field of every object of a list, joined.
fn pluck(list: &Value, pointer: &str) -> String {
    let items = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    let word = |item: &Value| match item.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        other => other.map(Value::to_string).unwrap_or_default(),
    };
    items.iter().map(word).collect::<Vec<_>>().join(" ")
}
