//! `posse acp` with the official client library at the other end, as editors use it, and a model that does what prompts
//! say.
//!
//! `cargo xtask test` installs the library and says where: `POSSE_TEST_ACP`. Run without, these tests say that they were
//! skipped. The program in `tests/acp` prints one line per check; `raw` needs nothing but posse.

mod raw;

use std::process::Command;

use posse_testkit::FakeModel;
use posse_testkit::server::{MessagesReply, Recorded};

use super::sdk::{check, installed, obey, world};
use super::*;

/// The obedient model of the SDKs' tests, which also ends as it is told: `stop: REASON`, `stop: never`, or `stop: there`
/// for one that falls silent in the middle of a word.
fn model() -> FakeModel {
    FakeModel::answering(|request: &Recorded| {
        let all = request.body["messages"].to_string();
        let last =
            request.body["messages"].as_array().and_then(|all| all.last()).map(|last| &last["content"]);
        let mut texts =
            last.and_then(Value::as_array).into_iter().flatten().filter_map(|one| one["text"].as_str());
        let last = texts.rfind(|text| !text.starts_with("<system-reminder>")).unwrap_or_default();
        if last.contains("stop: there") {
            let part = serde_json::json!({"type": "text_delta", "text": "part of it"});
            let reply =
                MessagesReply::new().block(serde_json::json!({"type": "text", "text": ""}), vec![part]);
            return reply.answer().stall_behind("content_block_stop");
        }
        if all.contains("stop: never") {
            let id = format!("toolu_{}", all.len());
            return MessagesReply::new().tool(&id, "Glob", &serde_json::json!({"pattern": "*"})).answer();
        }
        for reason in ["max_tokens", "refusal"] {
            if last.contains(&format!("stop: {reason}")) {
                return MessagesReply::new().text("cut").stop(reason).answer();
            }
        }
        obey(request)
    })
}

#[allow(clippy::disallowed_methods)] // Tests start programs of others.
fn client(group: &str, expected: &[&str]) {
    let Some(packages) = installed("POSSE_TEST_ACP") else { return };
    let model = model();
    let mut env = world(&model);
    env.set("POSSE_TEST_ACP", &packages);
    let mut command = Command::new("node");
    command.args([concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/checks.mjs"), group]);
    check(command, &env, expected);
}

macro_rules! groups {
    ($($name:ident => $checks:expr;)*) => {
        $(#[test]
        fn $name() {
            client(stringify!($name), &$checks);
        })*
    };
}

groups! {
    handshake => ["what posse is", "a newer editor", "no key"];
    sessions => ["a new one", "side by side", "listed and loaded", "refused"];
    prompts => ["what is said", "what is attached", "what comes back", "why it ends"];
    tools => ["a command", "files", "notebooks", "a plan", "ids that come twice"];
    permissions => ["once", "always", "edits", "no", "nobody"];
    modes => ["set", "the model", "a plan that is approved"];
    cancel => ["while the model speaks", "while a tool works", "while somebody is asked", "when nothing goes on"];
    questions => ["on a form", "by choosing"];
    agents => ["that are waited for", "that go on", "that are stopped", "that ask"];
    servers => ["a program", "an address", "more folders"];
    notes => ["shown"];
}
