//! Requests, byte for byte.

use std::sync::Arc;

use posse_core::definition::{Effort, EffortLevel};
use posse_core::message::{Block, Content, Media, Message, Role, ToolAnswer, ToolCall};
use serde_json::{Value, json};

use super::super::wire::{Quirks, body};
use crate::model::tests::request;
use crate::model::{Request, SystemPart};
use crate::tool::ToolSpec;

fn image() -> Media {
    Media { media_type: "image/png".into(), data: "AAAA".into() }
}

fn call(id: &str) -> Block {
    Block::ToolUse(ToolCall { id: id.into(), name: "Read".into(), input: json!({ "z": 1, "a": "ü" }) })
}

fn answer(id: &str, content: Vec<Content>) -> Block {
    Block::ToolResult(ToolAnswer { id: id.into(), content, is_error: false, structured: None })
}

#[test]
fn a_whole_request() {
    let part = |text: &str| SystemPart { text: text.into(), cache: true };
    let spec = ToolSpec {
        name: "Read".into(),
        description: "Reads.".into(),
        input_schema: json!({ "type": "object", "properties": { "z": {}, "a": {} } }),
    };
    let thought = Block::Thinking { text: "hm".into(), signature: "s".into() };
    let request = Request {
        system: Arc::from([part("You are posse."), part("Be brief.")]),
        server_tools: Arc::from([]),
        tools: Arc::from([spec]),
        messages: vec![
            Message::user("Look"),
            Message {
                role: Role::Assistant,
                blocks: vec![thought, Block::Text("Both.".into()), call("c1"), call("c2")],
            },
            Message {
                role: Role::User,
                blocks: vec![
                    answer("c1", vec![Content::Text("one".into())]),
                    answer("c2", vec![Content::Media(image())]),
                    Block::Text("and hurry".into()),
                ],
            },
        ],
        effort: Some(Effort::Level(EffortLevel::Max)),
        ..request("chat-fake-1")
    };
    let golden = concat!(
        r#"{"model":"chat-fake-1","messages":["#,
        r#"{"role":"system","content":"You are posse.\n\nBe brief."},"#,
        r#"{"role":"user","content":"Look"},"#,
        r#"{"role":"assistant","content":"Both.","tool_calls":["#,
        r#"{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"z\":1,\"a\":\"ü\"}"}},"#,
        r#"{"id":"c2","type":"function","function":{"name":"Read","arguments":"{\"z\":1,\"a\":\"ü\"}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"c1","content":"one"},"#,
        r#"{"role":"tool","tool_call_id":"c2","content":"(see the next message)"},"#,
        r#"{"role":"user","content":[{"type":"text","text":"What the tool call c2 returned:"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},"#,
        r#"{"type":"text","text":"and hurry"}]}],"#,
        r#""tools":[{"type":"function","function":{"name":"Read","description":"Reads.","#,
        r#""parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],"#,
        r#""max_tokens":1000,"reasoning_effort":"high","stream":true,"#,
        r#""stream_options":{"include_usage":true}}"#,
    );
    assert_eq!(body(&request, Quirks::default()).to_string(), golden);
}

/// The messages written for one.
fn written(role: Role, blocks: Vec<Block>) -> Value {
    let request = Request { messages: vec![Message { role, blocks }], ..request("m") };
    body(&request, Quirks::default())["messages"].clone()
}

#[test]
fn messages_of_every_kind() {
    let text = |text: &str| Block::Text(text.into());
    assert_eq!(
        written(Role::User, vec![text("a"), text(" "), text("b")]),
        json!([{ "role": "user", "content": "a\n\nb" }])
    );
    assert_eq!(written(Role::User, vec![]), json!([]));
    assert_eq!(written(Role::Assistant, vec![Block::RedactedThinking("x".into())]), json!([]));
    assert_eq!(written(Role::Assistant, vec![call("c")])[0]["content"], Value::Null);
    let pdf = Media { media_type: "application/pdf".into(), data: "AA".into() };
    assert_eq!(
        written(Role::User, vec![Block::Media(pdf)])[0]["content"][0]["file"]["file_data"],
        "data:application/pdf;base64,AA"
    );
    assert_eq!(written(Role::User, vec![answer("c", vec![])])[0]["content"], "(no output)");
    let cited = Block::Other(json!({ "type": "text", "text": "cited", "citations": [1] }));
    assert_eq!(written(Role::Assistant, vec![cited])[0]["content"], "cited");
    // Answers follow their calls at once, whatever stood before them.
    let roles: Vec<Value> =
        written(Role::User, vec![text("first"), answer("c", vec![Content::Text("x".into())])])
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["role"].clone())
            .collect();
    assert_eq!(roles, ["tool", "user"]);
}

#[test]
fn what_refusals_teach() {
    let learn = |text: &str| {
        let quirks = Quirks::default().learn(text)?;
        assert_eq!(quirks.learn(text), None, "nothing is learned twice: {text}");
        let effort = Some(Effort::Level(EffortLevel::Low));
        let body = body(&Request { effort, ..request("m") }, quirks);
        let keys = body
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| !matches!(key.as_str(), "model" | "messages" | "stream"));
        Some(keys.cloned().collect::<Vec<_>>().join(" "))
    };
    for (refusal, want) in [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            Some("max_completion_tokens reasoning_effort stream_options"),
        ),
        ("Unrecognized request argument supplied: stream_options", Some("max_tokens reasoning_effort")),
        ("Unsupported parameter: 'reasoning_effort'", Some("max_tokens stream_options")),
        ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens", None),
        ("prompt is too long", None),
    ] {
        assert_eq!(learn(refusal).as_deref(), want, "{refusal}");
    }
}

#[test]
fn without_tools_they_stay_on_offer() {
    let spec = ToolSpec { name: "Read".into(), description: "Reads.".into(), input_schema: json!({}) };
    let with = Request { tools: Arc::from([spec]), ..request("m") };
    let golden = body(&with, Quirks::default()).to_string();
    let off = body(&Request { tools_off: true, ..with }, Quirks::default()).to_string();
    assert_eq!(off.replace(r#""tool_choice":"none","#, ""), golden);
    assert_ne!(off, golden);
    let bare = body(&Request { tools_off: true, ..request("m") }, Quirks::default());
    assert_eq!(bare.get("tool_choice"), None, "endpoints refuse a choice among nothing");
}
