//! Blocks as the Messages API writes them, both ways. Used for requests, replies, transcripts and events alike.

use serde_json::{Map, Value, json};

use super::{Block, Content, Media, Message, Role, ToolAnswer, ToolCall, Usage};

/// A block on the wire.
pub fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        Block::RedactedThinking(data) => json!({ "type": "redacted_thinking", "data": data }),
        Block::ToolUse(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input })
        }
        Block::ToolResult(answer) => tool_result(answer),
        Block::Media(media) => media_block(media),
        Block::Other(value) => value.clone(),
    }
}

fn media_block(media: &Media) -> Value {
    json!({
        "type": media.kind(),
        "source": { "type": "base64", "media_type": media.media_type, "data": media.data },
    })
}

/// A tool's answer on the wire. One text stays a text: shorter, and what everybody expects to read.
pub fn tool_result(answer: &ToolAnswer) -> Value {
    let content = match answer.content.as_slice() {
        [Content::Text(text)] => json!(text),
        parts => parts
            .iter()
            .map(|part| match part {
                Content::Text(text) => json!({ "type": "text", "text": text }),
                Content::Media(media) => media_block(media),
            })
            .collect(),
    };
    let mut value = json!({ "type": "tool_result", "tool_use_id": answer.id, "content": content });
    if answer.is_error {
        value["is_error"] = json!(true);
    }
    value
}

/// A message on the wire.
pub fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({ "role": role, "content": message.blocks.iter().map(block).collect::<Vec<_>>() })
}

/// Reads a message; `None` if it is none. Content may be a text or a list of blocks.
pub fn read_message(value: &Value) -> Option<Message> {
    let role = match value.get("role")?.as_str()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    Some(Message { role, blocks: read_content(value.get("content")?) })
}

/// Reads the content of a message.
pub fn read_content(value: &Value) -> Vec<Block> {
    match value {
        Value::String(text) => vec![Block::Text(text.clone())],
        Value::Array(items) => items.iter().map(read_block).collect(),
        _ => Vec::new(),
    }
}

/// Reads a block. What is not known stays as it is.
pub fn read_block(value: &Value) -> Block {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let known = match value.get("type").and_then(Value::as_str) {
        Some("text") if value.get("citations").is_none() => text("text").map(Block::Text),
        Some("thinking") => Some(Block::Thinking {
            text: text("thinking").unwrap_or_default(),
            signature: text("signature").unwrap_or_default(),
        }),
        Some("redacted_thinking") => text("data").map(Block::RedactedThinking),
        Some("tool_use") => text("id").zip(text("name")).map(|(id, name)| {
            let input = value.get("input").cloned().unwrap_or_else(|| Value::Object(Map::new()));
            Block::ToolUse(ToolCall { id: id.into(), name: name.into(), input })
        }),
        Some("tool_result") => text("tool_use_id").map(|id| Block::ToolResult(read_answer(id, value))),
        Some("image" | "document") => read_media(value).map(Block::Media),
        Some(_) | None => None,
    };
    known.unwrap_or_else(|| Block::Other(value.clone()))
}

fn read_media(value: &Value) -> Option<Media> {
    let source = value.get("source")?;
    if source.get("type")?.as_str()? != "base64" || value.as_object()?.len() > 2 {
        return None;
    }
    let media_type = source.get("media_type")?.as_str()?.into();
    Some(Media { media_type, data: source.get("data")?.as_str()?.to_owned() })
}

fn read_answer(id: String, value: &Value) -> ToolAnswer {
    let content = match value.get("content") {
        Some(Value::String(text)) => vec![Content::Text(text.clone())],
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| match read_block(item) {
                Block::Text(text) => Some(Content::Text(text)),
                Block::Media(media) => Some(Content::Media(media)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let is_error = value.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    ToolAnswer { id: id.into(), content, is_error, structured: None }
}

/// Token counts as the API reports them; what is missing is zero.
pub fn read_usage(value: &Value) -> Usage {
    let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    Usage {
        input: number("/input_tokens"),
        output: number("/output_tokens"),
        cache_read: number("/cache_read_input_tokens"),
        cache_write: number("/cache_creation_input_tokens"),
        web_searches: number("/server_tool_use/web_search_requests"),
    }
}

/// Token counts as the API reports them.
pub fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "server_tool_use": { "web_search_requests": usage.web_searches },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_survives_a_round_trip() {
        let blocks = json!([
            { "type": "text", "text": "hi" },
            { "type": "text", "text": "cited", "citations": [{ "url": "x" }] },
            { "type": "thinking", "thinking": "hm", "signature": "s" },
            { "type": "redacted_thinking", "data": "d" },
            { "type": "tool_use", "id": "t1", "name": "Read", "input": { "b": 1, "a": 2 } },
            { "type": "tool_result", "tool_use_id": "t1", "content": "text" },
            { "type": "tool_result", "tool_use_id": "t2", "content": [
                { "type": "text", "text": "a" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA" } },
            ], "is_error": true },
            { "type": "image", "source": { "type": "url", "url": "x" } },
            { "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AA" } },
            { "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {} },
            { "type": "from_the_future", "x": [1, 2] },
        ]);
        let read = read_content(&blocks);
        let written: Value = read.iter().map(block).collect();
        assert_eq!(written, blocks);
        // Key order of inputs is the model's: a cache that compares bytes must see the same bytes.
        assert_eq!(written[4]["input"].to_string(), r#"{"b":1,"a":2}"#);
    }
}
