//! A request as Chat Completions reads it. Pure: the same request is always the same bytes.

use posse_core::definition::{Effort, EffortLevel};
use posse_core::message::{Block, Content, Media, Message, Role, ToolAnswer};
use serde_json::{Map, Value, json};

use crate::model::{Request, SystemPart};
use crate::tool::ToolSpec;

/// What a model was found not to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    /// The limit is called `max_completion_tokens`.
    completion_tokens: bool,
    /// It reports no usage in a stream.
    no_stream_options: bool,
    /// It does not know how to try harder.
    no_effort: bool,
}

impl Quirks {
    /// What a refusal teaches, if it teaches anything new.
    pub(super) fn learn(self, refusal: &str) -> Option<Self> {
        let text = refusal.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let unknown = says(&[
            "unsupported",
            "not supported",
            "unrecognized",
            "unknown",
            "unexpected",
            "extra inputs",
            "not permitted",
            "not allowed",
        ]);
        let learned = if text.contains("max_completion_tokens") && text.contains("max_tokens") {
            // The usual refusal names both: the one it does not take and the one to use instead. Once is enough.
            Self { completion_tokens: true, ..self }
        } else if unknown && text.contains("stream_options") {
            Self { no_stream_options: true, ..self }
        } else if unknown && says(&["reasoning_effort", "reasoning effort"]) {
            Self { no_effort: true, ..self }
        } else if unknown && text.contains("max_tokens") {
            Self { completion_tokens: true, ..self }
        } else {
            self
        };
        (learned != self).then_some(learned)
    }
}

/// The body of a request.
pub(super) fn body(request: &Request, quirks: Quirks) -> Value {
    let Request {
        model,
        system,
        tools,
        tools_off,
        server_tools: _,
        messages,
        max_tokens,
        // There is no common way to ask for thoughts; models that think do.
        thinking: _,
        effort,
        session: _,
        raw_events: _,
        agent: _,
        agent_kind: _,
    } = request;
    let mut list: Vec<Value> = system_of(system).into_iter().collect();
    for message in messages {
        match message.role {
            Role::User => user(message, &mut list),
            Role::Assistant => list.extend(assistant(message)),
        }
    }
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("messages".into(), Value::Array(list));
    if !tools.is_empty() {
        body.insert("tools".into(), tools.iter().map(tool).collect());
        if *tools_off {
            body.insert("tool_choice".into(), json!("none"));
        }
    }
    let limit = if quirks.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body.insert(limit.into(), json!(max_tokens));
    if let (Some(Effort::Level(level)), false) = (effort, quirks.no_effort) {
        let word = match level {
            EffortLevel::Low | EffortLevel::Medium | EffortLevel::High => level.name(),
            EffortLevel::XHigh | EffortLevel::Max => EffortLevel::High.name(),
        };
        body.insert("reasoning_effort".into(), json!(word));
    }
    body.insert("stream".into(), json!(true));
    if !quirks.no_stream_options {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    Value::Object(body)
}

fn system_of(parts: &[SystemPart]) -> Option<Value> {
    let texts: Vec<&str> =
        parts.iter().map(|part| part.text.trim()).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| json!({ "role": "system", "content": texts.join("\n\n") }))
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema } = tool;
    let function = json!({ "name": name, "description": description, "parameters": input_schema });
    json!({ "type": "function", "function": function })
}

/// Answers of tools first, because they must follow their calls at once; what they hold besides text and what the user
/// says come behind them as one message.
fn user(message: &Message, list: &mut Vec<Value>) {
    let mut shown: Vec<Value> = Vec::new();
    let mut said: Vec<Value> = Vec::new();
    for block in &message.blocks {
        match block {
            Block::ToolResult(answer) => list.push(tool_message(answer, &mut shown)),
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => said.push(text_part(text)),
            Block::Media(media) => said.push(media_part(media)),
            Block::Other(value) => said.extend(text_of(value).map(text_part)),
            Block::Thinking { .. } | Block::RedactedThinking(_) | Block::ToolUse(_) => {}
        }
    }
    shown.append(&mut said);
    let texts: Option<Vec<&str>> = shown.iter().map(text_of).collect();
    let content = match texts {
        // Many servers take lists of parts only where there are images.
        Some(texts) if texts.is_empty() => return,
        Some(texts) => json!(texts.join("\n\n")),
        None => Value::Array(shown),
    };
    list.push(json!({ "role": "user", "content": content }));
}

fn tool_message(answer: &ToolAnswer, shown: &mut Vec<Value>) -> Value {
    let mut text = answer.plain();
    let media: Vec<&Media> = answer
        .content
        .iter()
        .filter_map(|content| match content {
            Content::Text(_) => None,
            Content::Media(media) => Some(media),
        })
        .collect();
    if !media.is_empty() {
        shown.push(text_part(&format!("What the tool call {} returned:", answer.id)));
        shown.extend(media.into_iter().map(media_part));
        if text.trim().is_empty() {
            text = "(see the next message)".to_owned();
        }
    }
    if text.trim().is_empty() {
        text = "(no output)".to_owned();
    }
    json!({ "role": "tool", "tool_call_id": answer.id, "content": text })
}

fn assistant(message: &Message) -> Option<Value> {
    let mut texts: Vec<&str> = Vec::new();
    let mut calls: Vec<Value> = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) => texts.push(text),
            Block::ToolUse(call) => {
                let function = json!({ "name": call.name, "arguments": call.input.to_string() });
                calls.push(json!({ "id": call.id, "type": "function", "function": function }));
            }
            Block::Other(value) => texts.extend(text_of(value)),
            // Thoughts are not sent back: servers that do not want them refuse the request.
            Block::Thinking { .. } | Block::RedactedThinking(_) | Block::ToolResult(_) | Block::Media(_) => {}
        }
    }
    let text = texts.join("\n");
    match (text.trim().is_empty(), calls.is_empty()) {
        (true, true) => None,
        (false, true) => Some(json!({ "role": "assistant", "content": text })),
        (true, false) => Some(json!({ "role": "assistant", "content": null, "tool_calls": calls })),
        (false, false) => Some(json!({ "role": "assistant", "content": text, "tool_calls": calls })),
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn media_part(media: &Media) -> Value {
    let uri = format!("data:{};base64,{}", media.media_type, media.data);
    match media.kind() {
        "image" => json!({ "type": "image_url", "image_url": { "url": uri } }),
        _ => json!({ "type": "file", "file": { "filename": "document.pdf", "file_data": uri } }),
    }
}

/// The text of a text block.
fn text_of(value: &Value) -> Option<&str> {
    let is_text = value.get("type").and_then(Value::as_str) == Some("text");
    value.get("text").and_then(Value::as_str).filter(|_| is_text)
}
