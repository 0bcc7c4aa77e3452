//! The Messages API: what is written, what is read, and every way it can go wrong.

mod cuts;
mod faults;
mod stream;
mod wire;

use posse_testkit::server::MessagesReply;
use serde_json::json;

use super::*;
use crate::model::tests::world;

const KEY: &str = "sk-ant-very-secret-1234";

fn anthropic(url: &str) -> Anthropic {
    Anthropic::new(&world(&[("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", KEY)]), None)
}

/// A reply with everything in it.
fn sample() -> MessagesReply {
    MessagesReply::new()
        .thinking("Let me look at the files first… 🤔 then decide.", "c2lnbmF0dXJl")
        .text("I'll read both files.\n\nÄ tale of “two” files 📁📁.")
        .tool("toolu_1", "Read", &json!({ "file_path": "/tmp/a.txt", "limit": 10 }))
        .tool("toolu_2", "Grep", &json!({ "pattern": "naïve \"quotes\"\n", "-n": true }))
        .usage(1200, 345)
        .cache(800, 50)
}
