//! Requests, byte for byte.

use std::sync::Arc;

use posse_core::definition::{Effort, EffortLevel};
use posse_core::message::{Block, Content, Media, Message, Role, ToolAnswer, ToolCall};
use serde_json::{Value, json};

use super::super::wire::{betas, body};
use crate::model::tests::request;
use crate::model::{Request, SystemPart, Thinking};
use crate::tool::ToolSpec;

fn part(text: &str, cache: bool) -> SystemPart {
    SystemPart { text: text.into(), cache }
}

fn spec(name: &str) -> ToolSpec {
    let input_schema = json!({ "type": "object", "properties": { "b": { "type": "string" }, "a": {} } });
    ToolSpec { name: name.into(), description: format!("Does {name}."), input_schema }
}

fn assistant(blocks: Vec<Block>) -> Message {
    Message { role: Role::Assistant, blocks }
}

fn user(blocks: Vec<Block>) -> Message {
    Message { role: Role::User, blocks }
}

fn tool_use(id: &str) -> Block {
    Block::ToolUse(ToolCall { id: id.into(), name: "Read".into(), input: json!({ "z": 1, "a": 2 }) })
}

fn png() -> Media {
    Media { media_type: "image/png".into(), data: "AAAA".into() }
}

fn full() -> Request {
    let thought = Block::Thinking { text: "hm".into(), signature: "sig".into() };
    let answer = ToolAnswer {
        id: "toolu_1".into(),
        content: vec![Content::Text("seen".into()), Content::Media(png())],
        is_error: true,
        structured: Some(json!("not for the model")),
    };
    Request {
        system: Arc::from([part("You are posse.", true), part("Today is Friday.", false)]),
        server_tools: Arc::from([]),
        tools: Arc::from([spec("Read"), spec("Bash")]),
        messages: vec![
            Message::user("Look"),
            assistant(vec![thought, tool_use("toolu_1")]),
            user(vec![Block::ToolResult(answer), Block::Text("and hurry".into())]),
        ],
        thinking: Thinking::Budget(2000),
        effort: Some(Effort::Level(EffortLevel::High)),
        ..request("claude-fake-1")
    }
}

#[test]
fn a_whole_request() {
    let golden = concat!(
        r#"{"model":"claude-fake-1","max_tokens":6096,"#,
        r#""system":[{"type":"text","text":"You are posse.","cache_control":{"type":"ephemeral"}},"#,
        r#"{"type":"text","text":"Today is Friday."}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"Look","#,
        r#""cache_control":{"type":"ephemeral"}}]},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"Read","input":{"z":1,"a":2}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":["#,
        r#"{"type":"text","text":"seen"},"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}],"is_error":true,"#,
        r#""cache_control":{"type":"ephemeral"}},"#,
        r#"{"type":"text","text":"and hurry","cache_control":{"type":"ephemeral"}}]}],"#,
        r#""tools":[{"name":"Read","description":"Does Read.","input_schema":"#,
        r#"{"type":"object","properties":{"b":{"type":"string"},"a":{}}}},"#,
        r#"{"name":"Bash","description":"Does Bash.","input_schema":"#,
        r#"{"type":"object","properties":{"b":{"type":"string"},"a":{}}}}],"#,
        r#""thinking":{"type":"enabled","budget_tokens":2000},"#,
        r#""output_config":{"effort":"high"},"metadata":{"user_id":"session-1"},"stream":true}"#,
    );
    assert_eq!(body(&full(), None, None).to_string(), golden);
    assert_eq!(body(&full().clone(), None, None).to_string(), golden, "the same request, the same bytes");
}

#[test]
fn a_short_request_says_nothing_it_need_not() {
    let short = Request { session: Box::default(), ..request("claude-fake-1") };
    let golden = concat!(
        r#"{"model":"claude-fake-1","max_tokens":1000,"messages":[{"role":"user","content":["#,
        r#"{"type":"text","text":"Hello","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#,
    );
    assert_eq!(body(&short, None, None).to_string(), golden);
}

#[test]
fn how_much_to_think() {
    for (thinking, want, max_tokens) in [
        (Thinking::Default, Value::Null, 1000),
        (Thinking::Adaptive, json!({ "type": "adaptive" }), 1000),
        (Thinking::Disabled, json!({ "type": "disabled" }), 1000),
        (Thinking::Budget(0), json!({ "type": "disabled" }), 1000),
        (Thinking::Budget(5), json!({ "type": "enabled", "budget_tokens": 1024 }), 5120),
        (Thinking::Budget(1024), json!({ "type": "enabled", "budget_tokens": 1024 }), 5120),
        (Thinking::Budget(u32::MAX), json!({ "type": "enabled", "budget_tokens": u32::MAX }), u32::MAX),
    ] {
        let body = body(&Request { thinking, ..request("m") }, None, None);
        assert_eq!((&body["thinking"], &body["max_tokens"]), (&want, &json!(max_tokens)), "{thinking:?}");
    }
    let roomy = Request { thinking: Thinking::Budget(2000), max_tokens: 2001, ..request("m") };
    assert_eq!(body(&roomy, None, None)["max_tokens"], 2001, "room enough");
    let shown = Request { thinking: Thinking::Adaptive, ..request("m") };
    assert_eq!(
        body(&shown, None, Some("omitted"))["thinking"],
        json!({ "type": "adaptive", "display": "omitted" })
    );
}

#[test]
fn features_and_budgets() {
    let asked = ["a-1".to_owned(), "b-2".to_owned(), "a-1".to_owned(), String::new()];
    assert_eq!(betas(&request("m"), &asked, None), ["a-1", "b-2"]);
    assert!(betas(&request("m"), &[], None).is_empty());

    let long = request("claude-fake-1[1m]");
    assert_eq!(betas(&long, &[], Some(5)), ["context-1m-2025-08-07", "task-budgets-2026-03-13"]);
    let body = body(&long, Some(5), None);
    assert_eq!(body["model"], "claude-fake-1");
    assert_eq!(body["output_config"], json!({ "task_budget": { "type": "tokens", "total": 5 } }));
}

/// Where breakpoints stand, as JSON pointers.
fn breakpoints(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match key.as_str() {
                        "cache_control" => found.push(path.to_owned()),
                        key => walk(value, &format!("{path}/{key}"), found),
                    }
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    walk(value, &format!("{path}/{index}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

#[test]
fn there_are_never_more_than_four_breakpoints() {
    let parts = |flags: &[bool]| flags.iter().map(|cache| part("text", *cache)).collect::<Arc<[_]>>();
    let task = "/messages/2/content/0";
    let last = "/messages/2/content/1";
    let before = "/messages/0/content/0";
    for (flags, want) in [
        (&[][..], vec![before, task, last, "/tools/1"]),
        (&[true][..], vec!["/system/0", before, task, last]),
        (&[true, false, true][..], vec!["/system/0", before, task, last]),
        (&[true, true, true, true][..], vec!["/system/0", before, task, last]),
    ] {
        let request = Request { system: parts(flags), ..full() };
        assert_eq!(breakpoints(&body(&request, None, None)), want, "{flags:?}");
    }
    // A part that cannot be sent hands its breakpoint to the one before.
    let blank = Request { system: Arc::from([part("a", false), part(" ", true)]), ..request("m") };
    assert_eq!(breakpoints(&body(&blank, None, None)), ["/system/0", "/messages/0/content/0"]);
}

#[test]
fn breakpoints_of_strangers_and_on_thoughts_are_not_sent() {
    let cached = json!({ "type": "search_result", "x": 1, "cache_control": { "type": "ephemeral" } });
    let thought = Block::RedactedThinking("d".into());
    let request = Request {
        messages: vec![
            user(vec![Block::Other(cached.clone()), Block::Text("q".into())]),
            assistant(vec![Block::Text("a".into()), thought]),
        ],
        ..request("m")
    };
    let body = body(&request, None, None);
    assert_eq!(breakpoints(&body), ["/messages/0/content/1", "/messages/1/content/2"]);
    assert_eq!(body["messages"][0]["content"][0], json!({ "type": "search_result", "x": 1 }));
}

#[test]
fn what_the_api_would_refuse_is_not_sent() {
    let unsigned = Block::Thinking { text: "of another provider".into(), signature: String::new() };
    let thought = Block::Thinking { text: "hm".into(), signature: "s".into() };
    let answer = |content: &[&str], is_error| {
        let content = content.iter().map(|text| Content::Text((*text).into())).collect();
        Block::ToolResult(ToolAnswer { id: "t".into(), content, is_error, structured: None })
    };
    let blocks = |message: Message| {
        let request = Request { messages: vec![message, Message::user("end")], ..request("m") };
        // Only the shape is of interest here, not where the cache breaks.
        let mut content = body(&request, None, None)["messages"][0]["content"].clone();
        for block in content.as_array_mut().unwrap() {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
        content
    };
    let nothing = json!({ "type": "text", "text": "(no content)" });
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    assert_eq!(blocks(user(vec![])), json!([nothing]));
    assert_eq!(
        blocks(user(vec![Block::Text(" \n".into()), Block::Text("x".into())])).as_array().unwrap().len(),
        1
    );
    assert_eq!(blocks(assistant(vec![unsigned])), json!([nothing]));
    assert_eq!(blocks(assistant(vec![thought])), json!([thinking, nothing]));
    assert_eq!(blocks(user(vec![answer(&["a", "", "b"], false)]))[0]["content"].as_array().unwrap().len(), 2);
    assert_eq!(blocks(user(vec![answer(&[], true)]))[0]["content"], "(no content)");
    assert_eq!(blocks(user(vec![answer(&[], false)]))[0]["content"], json!([]));
}

#[test]
fn without_tools_everything_before_stays_as_it_was() {
    let golden = body(&full(), None, None).to_string();
    let off = body(&Request { tools_off: true, ..full() }, None, None).to_string();
    assert_eq!(off.replace(r#""tool_choice":{"type":"none"},"#, ""), golden);
    assert_ne!(off, golden);
    // The API refuses a choice where there is nothing to choose from.
    let bare = body(&Request { tools_off: true, ..request("m") }, None, None);
    assert_eq!(bare.get("tool_choice"), None);
}

#[test]
fn an_answer_is_never_longer_than_it_may_be() {
    for thinking in [0, 1, 5, 1024, 2000, 9_000, u32::MAX].map(Thinking::Budget) {
        for most in [1, 512, 1024, 1025, 2047, 2048, 2049, 4096, 10_000] {
            let request = Request { thinking, ..full() }.within(most);
            assert_eq!(body(&request, None, None)["max_tokens"], json!(most), "{thinking:?}");
        }
    }
    let roomy = Request { thinking: Thinking::Budget(2000), ..full() }.within(9_000);
    assert_eq!(roomy.thinking, Thinking::Budget(2000), "what fits stays");
    let last = full().as_hand_back(512);
    assert_eq!((last.tools_off, last.thinking, last.max_tokens), (true, Thinking::Disabled, 512));
}

#[test]
fn a_request_reads_no_more_than_its_bytes() {
    let request = full();
    let whole = request.input_at_most(None, 200_000);
    let written = body(&request, None, None).to_string().len() as u64;
    // Of the image only the most an image comes to counts; all the rest is in the bytes.
    assert!(whole >= 6_000 && whole <= written + 6_000 + 1_024, "{whole} of {written}");
    let since = request.input_at_most(Some((2, 50)), 200_000);
    assert!(since >= 50 + 6_000 && since < whole);
    assert_eq!(request.input_at_most(Some((3, 50)), 200_000), 50);
}
