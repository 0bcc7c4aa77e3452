//! Replies, event by event.

use std::sync::Mutex;

use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Block, Reply, StopReason, ToolCall, Usage};
use posse_testkit::server::MessagesReply;
use serde_json::{Value, json};

use super::super::stream::Assembly;
use super::sample;
use crate::model::tests::nothing_is_doubled;

/// Feeds events; the reply must come with the last of them and not before.
fn assemble(events: &[Value], raw: bool) -> (Result<Reply, Failure>, Vec<Delta>) {
    let deltas = Mutex::new(Vec::new());
    let mut assembly = Assembly::new(raw);
    for (position, event) in events.iter().enumerate() {
        let fed = assembly.feed(&event.to_string(), &mut |delta| deltas.lock().unwrap().push(delta));
        match fed {
            Ok(None) => {}
            Ok(Some(reply)) => {
                assert_eq!(position + 1, events.len(), "the reply came early");
                return (Ok(reply), deltas.into_inner().unwrap());
            }
            Err(failure) => return (Err(failure), deltas.into_inner().unwrap()),
        }
    }
    (Err(Failure::new(FailureKind::Connection, "no end")), deltas.into_inner().unwrap())
}

fn reply_of(reply: &MessagesReply) -> Result<Reply, Failure> {
    assemble(&reply.events(), false).0
}

fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse(ToolCall { id: id.into(), name: name.into(), input })
}

#[test]
fn a_reply_with_everything() {
    let (reply, deltas) = assemble(&sample().events(), false);
    let reply = reply.unwrap();
    let want = Reply {
        id: "msg_fake_1".into(),
        model: "claude-fake-1".into(),
        blocks: vec![
            Block::Thinking {
                text: "Let me look at the files first… 🤔 then decide.".into(),
                signature: "c2lnbmF0dXJl".into(),
            },
            Block::Text("I'll read both files.\n\nÄ tale of “two” files 📁📁.".into()),
            call("toolu_1", "Read", json!({ "file_path": "/tmp/a.txt", "limit": 10 })),
            call("toolu_2", "Grep", json!({ "pattern": "naïve \"quotes\"\n", "-n": true })),
        ],
        stop: StopReason::ToolUse,
        usage: Usage { input: 1200, output: 345, cache_read: 800, cache_write: 50, web_searches: 0 },
    };
    assert_eq!(reply, want);
    nothing_is_doubled(&deltas, &reply);
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Raw(_))), "nobody asked for raw events");
}

#[test]
fn raw_events_are_all_events_but_pings() {
    let events = sample().events();
    let (_, deltas) = assemble(&events, true);
    let raw: Vec<&Value> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Raw(event) => Some(event),
            _ => None,
        })
        .collect();
    let want: Vec<&Value> = events.iter().filter(|event| event["type"] != "ping").collect();
    assert_eq!(raw, want);
}

#[test]
fn blocks_nobody_knows_are_kept() {
    let search = json!({ "type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {} });
    let found =
        json!({ "type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{ "url": "x" }] });
    let cited = json!({ "type": "text", "text": "", "citations": [] });
    let plain = json!({ "type": "text", "text": "So", "citations": null });
    let future = json!({ "type": "hologram", "pixels": [1, 2] });
    let reply = MessagesReply::new()
        .block(search, vec![json!({ "type": "input_json_delta", "partial_json": "{\"query\":\"rust\"}" })])
        .block(found.clone(), vec![])
        .block(
            cited,
            vec![
                json!({ "type": "text_delta", "text": "Rust." }),
                json!({ "type": "citations_delta", "citation": { "url": "x" } }),
                json!({ "type": "from_the_future", "x": 1 }),
            ],
        )
        .block(plain, vec![])
        .block(json!({ "type": "redacted_thinking", "data": "zzz" }), vec![])
        .block(future.clone(), vec![]);
    let reply = reply_of(&reply).unwrap();
    let want = vec![
        Block::Other(
            json!({ "type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": { "query": "rust" } }),
        ),
        Block::Other(found),
        Block::Other(json!({ "type": "text", "text": "Rust.", "citations": [{ "url": "x" }] })),
        Block::Text("So".into()),
        Block::RedactedThinking("zzz".into()),
        Block::Other(future),
    ];
    assert_eq!(reply.blocks, want);
    assert_eq!(reply.stop, StopReason::EndTurn);
}

#[test]
fn a_call_without_arguments_has_an_empty_input() {
    let reply = reply_of(&MessagesReply::new().tool_text("t", "Now", "")).unwrap();
    assert_eq!(reply.blocks, [call("t", "Now", json!({}))]);
}

#[test]
fn broken_calls_fail_the_reply_unless_the_model_ran_out_of_tokens() {
    let good = || MessagesReply::new().text("ok").tool("t1", "Read", &json!({ "a": 1 }));
    for broken in [r#"{"path": "/tm"#, "nonsense", "[1]", "\"text\""] {
        let failure = reply_of(&good().tool_text("t2", "Read", broken)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Malformed, "{broken}");
        let reply = reply_of(&good().tool_text("t2", "Read", broken).stop("max_tokens")).unwrap();
        assert_eq!(reply.blocks, [Block::Text("ok".into()), call("t1", "Read", json!({ "a": 1 }))]);
        assert_eq!(reply.stop, StopReason::MaxTokens);
    }
    // It was cut off before the first argument.
    let reply = reply_of(&good().tool_text("t2", "Read", "").stop("max_tokens")).unwrap();
    assert_eq!(reply.blocks.len(), 2);
    let nameless = MessagesReply::new().block(json!({ "type": "tool_use", "id": "t", "input": {} }), vec![]);
    assert_eq!(reply_of(&nameless).unwrap_err().kind, FailureKind::Malformed);
}

#[test]
fn counts_are_merged_and_nulls_change_nothing() {
    let mut events = MessagesReply::new().text("x").usage(10, 7).cache(3, 4).events();
    let last = events.len() - 2;
    events[last]["usage"] = json!({
        "input_tokens": 11, "cache_read_input_tokens": null, "output_tokens": 7,
        "server_tool_use": { "web_search_requests": 2 },
    });
    let usage = assemble(&events, false).0.unwrap().usage;
    assert_eq!(usage, Usage { input: 11, output: 7, cache_read: 3, cache_write: 4, web_searches: 2 });
}

#[test]
fn events_that_break_the_protocol_are_malformed() {
    let start = json!({ "type": "message_start", "message": { "id": "m", "model": "x" } });
    let block =
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    let delta =
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "x" } });
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    for events in [
        vec![block.clone()],
        vec![json!({ "type": "message_stop" })],
        vec![start.clone(), start.clone()],
        vec![start.clone(), delta.clone()],
        vec![start.clone(), block.clone(), stop.clone(), delta.clone()],
        vec![start.clone(), json!({ "type": "content_block_start", "index": 0 })],
    ] {
        assert_eq!(assemble(&events, false).0.unwrap_err().kind, FailureKind::Malformed, "{events:?}");
    }
    let garbage = Assembly::new(false).feed("{\"type\": \"mess", &mut |_| {}).unwrap_err();
    assert_eq!(garbage.kind, FailureKind::Malformed);
    let unknown = [start, json!({ "type": "from_the_future" }), block, delta, stop];
    assert_eq!(assemble(&unknown, false).0.unwrap_err().kind, FailureKind::Connection, "passed over");
}

#[test]
fn an_error_in_the_middle_is_a_failure_of_its_kind() {
    let mut events = sample().events();
    events.truncate(9);
    events.push(json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }));
    let failure = assemble(&events, true).0.unwrap_err();
    assert_eq!(failure, Failure::new(FailureKind::Overloaded, "overloaded_error: Overloaded"));
}
