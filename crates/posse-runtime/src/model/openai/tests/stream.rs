//! Replies, chunk by chunk.

use std::collections::HashSet;
use std::sync::Mutex;

use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Block, Reply, StopReason, Usage};
use posse_testkit::server::ChatReply;
use serde_json::{Value, json};

use super::super::stream::Assembly;
use crate::model::tests::nothing_is_doubled;
use crate::world::Ids;

fn assemble(chunks: &[Value], taken: &[&str], raw: bool) -> (Result<Reply, Failure>, Vec<Delta>) {
    let ids = Ids::seeded(1);
    let deltas = Mutex::new(Vec::new());
    let mut on = |delta| deltas.lock().unwrap().push(delta);
    let taken: HashSet<Box<str>> = taken.iter().map(|id| (*id).into()).collect();
    let mut assembly = Assembly::new(raw, "asked-for", taken, &ids);
    let fed = chunks.iter().try_for_each(|chunk| assembly.feed(&chunk.to_string(), &mut on));
    let result = fed.and_then(|()| assembly.finish(&mut on));
    (result, deltas.into_inner().unwrap())
}

/// The calls of a reply, one per line; made ids as `?`.
fn calls(chunks: &[Value], taken: &[&str]) -> String {
    let (reply, deltas) = assemble(chunks, taken, false);
    let reply = reply.unwrap();
    nothing_is_doubled(&deltas, &reply);
    assert_eq!(reply.stop, StopReason::ToolUse);
    let mut seen = HashSet::new();
    let lines = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => {
            assert!(!call.id.is_empty() && seen.insert(call.id.clone()), "ids differ: {:?}", reply.blocks);
            let made = call.id.strip_prefix("call_").is_some_and(|rest| rest.len() == 16);
            Some(format!("{} {} {}", if made { "?" } else { &*call.id }, call.name, call.input))
        }
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn two() -> ChatReply {
    ChatReply::new().text("Looking.").tool("c1", "Read", &json!({ "path": "/tmp/a long name.txt" })).tool(
        "c2",
        "Read",
        &json!({ "path": "b" }),
    )
}

/// Chunks with these tool-call fragments, then an end.
fn fragments(fragments: &[Value]) -> Vec<Value> {
    let chunk = |fragment| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [fragment] } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    fragments.iter().map(chunk).chain([end]).collect()
}

#[test]
fn a_reply_with_everything() {
    let reply = two().thinking("First think about it.").usage(100, 20, 30);
    let (reply, deltas) = assemble(&reply.chunks(), &[], false);
    let reply = reply.unwrap();
    nothing_is_doubled(&deltas, &reply);
    assert_eq!((&*reply.id, &*reply.model), ("chatcmpl-fake-1", "chat-fake-1"));
    assert_eq!(reply.stop, StopReason::ToolUse);
    assert_eq!(reply.usage, Usage { input: 70, output: 20, cache_read: 30, ..Usage::default() });
    let thought = Block::Thinking { text: "First think about it.".into(), signature: String::new() };
    assert_eq!(reply.blocks[..2], [thought, Block::Text("Looking.".into())]);
    assert_eq!(reply.blocks.len(), 4);
}

#[test]
fn calls_however_servers_send_them() {
    let both = "c1 Read {\"path\":\"/tmp/a long name.txt\"}\nc2 Read {\"path\":\"b\"}";
    let made = "? Read {\"path\":\"/tmp/a long name.txt\"}\n? Read {\"path\":\"b\"}";
    for (reply, want) in [
        (two(), both),
        (two().whole_calls(), both),
        (two().without_index(), both),
        (two().whole_calls().without_index(), both),
        (two().without_ids(), made),
        (two().without_ids().whole_calls(), made),
        (two().without_ids().without_index(), made),
        (two().without_ids().without_index().whole_calls(), made),
        (two().finish("stop"), both),
        (two().finish("function_call"), both),
    ] {
        assert_eq!(calls(&reply.chunks(), &[]), want, "{reply:?}");
    }
}

#[test]
fn habits_seen_in_the_wild() {
    let function = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    // Every call at index 0, told apart by ids alone (Ollama).
    let zeros = fragments(&[
        json!({ "index": 0, "id": "a", "function": function("X", json!("{\"n\":1}")) }),
        json!({ "index": 0, "id": "b", "function": function("X", json!("{\"n\":2}")) }),
    ]);
    assert_eq!(calls(&zeros, &[]), "a X {\"n\":1}\nb X {\"n\":2}");
    // Every call at index 0 without ids (Gemini behind a gateway).
    let bare = fragments(&[
        json!({ "index": 0, "function": function("X", json!("{\"n\":1}")) }),
        json!({ "index": 0, "function": function("X", json!("{\"n\":2}")) }),
    ]);
    assert_eq!(calls(&bare, &[]), "? X {\"n\":1}\n? X {\"n\":2}");
    // The name as id, twice.
    let names = fragments(&[
        json!({ "index": 0, "id": "X", "function": function("X", json!("{\"n\":1}")) }),
        json!({ "index": 1, "id": "X", "function": function("X", json!("{\"n\":2}")) }),
    ]);
    assert_eq!(calls(&names, &[]), "X X {\"n\":1}\n? X {\"n\":2}");
    // Id and name repeated with every piece, or a new id for every piece.
    let repeated = fragments(&[
        json!({ "index": 0, "id": "a", "function": function("X", json!("{\"n\"")) }),
        json!({ "index": 0, "id": "a", "function": function("X", json!(":1}")) }),
    ]);
    assert_eq!(calls(&repeated, &[]), "a X {\"n\":1}");
    let renewed = fragments(&[
        json!({ "index": 0, "id": "a", "function": function("X", json!("{\"n\"")) }),
        json!({ "index": 0, "id": "b", "function": { "arguments": ":1}" } }),
    ]);
    assert_eq!(calls(&renewed, &[]), "a X {\"n\":1}");
    // Pieces of two calls by turns.
    let turns = fragments(&[
        json!({ "index": 0, "id": "a", "function": function("X", json!("")) }),
        json!({ "index": 1, "id": "b", "function": function("Y", json!("")) }),
        json!({ "index": 0, "function": { "arguments": "{\"n\":1}" } }),
        json!({ "index": 1, "function": { "arguments": "{\"n\":2}" } }),
    ]);
    assert_eq!(calls(&turns, &[]), "a X {\"n\":1}\nb Y {\"n\":2}");
    // Arguments as an object, none at all, and an id the conversation already has.
    let others = fragments(&[
        json!({ "index": 0, "id": "call_0", "function": function("X", json!({ "n": 1 })) }),
        json!({ "index": 1, "id": "call_1", "function": { "name": "Y" } }),
    ]);
    assert_eq!(calls(&others, &["call_0"]), "? X {\"n\":1}\ncall_1 Y {}");
    // The old way.
    let old = [
        json!({ "choices": [{ "delta": { "function_call": function("X", json!("{}")) }, "finish_reason": "function_call" }] }),
    ];
    assert_eq!(calls(&old, &[]), "? X {}");
}

#[test]
fn why_it_stopped() {
    for (word, want) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("tool_calls", StopReason::EndTurn),
        ("content_filter", StopReason::Refusal),
        ("eos", StopReason::EndTurn),
        ("weather", StopReason::Other("weather".into())),
    ] {
        let (reply, _) = assemble(&ChatReply::new().text("x").finish(word).chunks(), &[], false);
        assert_eq!(reply.unwrap().stop, want, "{word}");
    }
    let refusal =
        [json!({ "choices": [{ "delta": { "refusal": "I will not." }, "finish_reason": "stop" }] })];
    let (reply, _) = assemble(&refusal, &[], false);
    let reply = reply.unwrap();
    assert_eq!((reply.stop, reply.blocks), (StopReason::Refusal, vec![Block::Text("I will not.".into())]));
}

#[test]
fn broken_calls_fail_the_reply_unless_the_model_ran_out_of_tokens() {
    for broken in ["{\"path\": \"/tm", "nonsense", "[1]"] {
        let reply = ChatReply::new().text("ok").tool_text("c", "Read", broken);
        let failure = assemble(&reply.chunks(), &[], false).0.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Malformed, "{broken}");
        let cut = assemble(&reply.finish("length").chunks(), &[], false).0.unwrap();
        assert_eq!((cut.stop, cut.blocks), (StopReason::MaxTokens, vec![Block::Text("ok".into())]));
    }
    let empty = ChatReply::new().text("ok").tool_text("c", "Read", "").finish("length");
    assert_eq!(
        assemble(&empty.chunks(), &[], false).0.unwrap().blocks.len(),
        1,
        "cut off before its arguments"
    );
}

#[test]
fn errors_and_nonsense_in_the_stream() {
    for (chunk, want) in [
        (
            json!({ "error": { "message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded" } }),
            FailureKind::RateLimit,
        ),
        (json!({ "error": "something broke" }), FailureKind::Server),
        (
            json!({ "object": "error", "message": "maximum context length is 4096", "code": 400 }),
            FailureKind::TooLong,
        ),
    ] {
        let mut chunks = ChatReply::new().text("half").chunks();
        chunks.truncate(2);
        chunks.push(chunk);
        assert_eq!(assemble(&chunks, &[], false).0.unwrap_err().kind, want, "{chunks:?}");
    }
    let null =
        json!({ "error": null, "choices": [{ "delta": { "content": "x" }, "finish_reason": "stop" }] });
    assert!(assemble(&[null], &[], false).0.is_ok(), "null is no error");
    let ids = Ids::seeded(1);
    let failure =
        Assembly::new(false, "m", HashSet::new(), &ids).feed("upstream died", &mut |_| {}).unwrap_err();
    assert!(
        failure.kind == FailureKind::Malformed && failure.message.contains("upstream died"),
        "{failure:?}"
    );
    assert_eq!(assemble(&[], &[], false).0.unwrap_err().kind, FailureKind::Malformed, "not a word");
}

#[test]
fn content_in_parts_and_choices_nobody_asked_for() {
    let chunks = [
        json!({ "choices": [{ "index": 1, "delta": { "content": "no" } }, { "delta": { "content": [
            { "type": "text", "text": "a" }, { "type": "text", "text": "b" },
        ] } }] }),
        json!({ "choices": [{ "delta": { "reasoning": "hm" }, "finish_reason": "stop" }] }),
    ];
    let reply = assemble(&chunks, &[], false).0.unwrap();
    let thought = Block::Thinking { text: "hm".into(), signature: String::new() };
    assert_eq!(reply.blocks, [Block::Text("ab".into()), thought]);
    assert_eq!((&*reply.model, reply.id.is_empty()), ("asked-for", false), "who it was is made up");
}

/// Raw events are those of the Messages API, whatever the endpoint speaks.
#[test]
fn raw_events_tell_the_same_story() {
    let reply = two().thinking("First think.");
    let (reply, deltas) = assemble(&reply.chunks(), &[], true);
    let mut reply = reply.unwrap();
    let raw = deltas.iter().filter_map(|delta| match delta {
        Delta::Raw(event) => Some(event),
        _ => None,
    });
    let retold = crate::model::anthropic::assembled(raw).unwrap();
    // What the Messages API has no number for cannot be retold.
    reply.usage.web_searches = 0;
    assert_eq!(retold, reply);
}
