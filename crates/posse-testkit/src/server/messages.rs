//! Replies of a fake Messages API, as the events the real one sends.

use serde_json::{Value, json};

use super::Answer;

/// Characters per delta: few, so that everything comes in pieces.
const PIECE: usize = 7;

/// A reply in the making.
#[derive(Clone, Debug)]
pub struct MessagesReply {
    id: String,
    model: String,
    /// Each with its start and its deltas.
    blocks: Vec<(Value, Vec<Value>)>,
    stop: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
    cache_read: u64,
    cache_write: u64,
}

impl Default for MessagesReply {
    fn default() -> Self {
        Self::new()
    }
}

impl MessagesReply {
    /// An empty reply of `claude-fake-1`.
    pub fn new() -> Self {
        Self {
            id: "msg_fake_1".into(),
            model: "claude-fake-1".into(),
            blocks: Vec::new(),
            stop: None,
            input_tokens: 10,
            output_tokens: 5,
            cache_read: 0,
            cache_write: 0,
        }
    }

    /// With another id.
    pub fn id(mut self, id: &str) -> Self {
        self.id = id.into();
        self
    }

    /// Of another model.
    pub fn model(mut self, model: &str) -> Self {
        self.model = model.into();
        self
    }

    /// Says something.
    pub fn text(self, text: &str) -> Self {
        let deltas = pieces(text).map(|piece| json!({ "type": "text_delta", "text": piece })).collect();
        self.block(json!({ "type": "text", "text": "" }), deltas)
    }

    /// Thinks something, and signs it.
    pub fn thinking(self, text: &str, signature: &str) -> Self {
        let mut deltas: Vec<Value> =
            pieces(text).map(|piece| json!({ "type": "thinking_delta", "thinking": piece })).collect();
        deltas.push(json!({ "type": "signature_delta", "signature": signature }));
        self.block(json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
    }

    /// Asks for a tool.
    pub fn tool(self, id: &str, name: &str, input: &Value) -> Self {
        self.tool_text(id, name, &input.to_string())
    }

    /// Asks for a tool with any text for its input, valid or not.
    pub fn tool_text(self, id: &str, name: &str, input: &str) -> Self {
        // The real API begins with an empty piece.
        let texts = std::iter::once("").chain(pieces(input));
        let deltas =
            texts.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })).collect();
        self.block(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), deltas)
    }

    /// Any block: how it starts, and its deltas.
    pub fn block(mut self, start: Value, deltas: Vec<Value>) -> Self {
        self.blocks.push((start, deltas));
        self
    }

    /// Stops for this reason; otherwise `tool_use` if there is a call and `end_turn` if not.
    pub fn stop(mut self, reason: &str) -> Self {
        self.stop = Some(reason.into());
        self
    }

    /// Tokens read and written.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        (self.input_tokens, self.output_tokens) = (input, output);
        self
    }

    /// Tokens read from and written to the cache.
    pub fn cache(mut self, read: u64, write: u64) -> Self {
        (self.cache_read, self.cache_write) = (read, write);
        self
    }

    /// The events.
    pub fn events(&self) -> Vec<Value> {
        let usage = json!({
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": self.cache_write,
            "cache_read_input_tokens": self.cache_read,
            "output_tokens": 1,
            "service_tier": "standard",
        });
        let message = json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        let mut events = vec![json!({ "type": "message_start", "message": message })];
        for (index, (start, deltas)) in self.blocks.iter().enumerate() {
            events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
            if index == 0 {
                events.push(json!({ "type": "ping" }));
            }
            for delta in deltas {
                events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            }
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        let calls = self.blocks.iter().any(|(start, _)| start["type"] == "tool_use");
        let usual = if calls { "tool_use" } else { "end_turn" };
        let reason = self.stop.as_deref().unwrap_or(usual);
        events.push(json!({
            "type": "message_delta",
            "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": self.output_tokens },
        }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    /// The bytes of the stream.
    pub fn bytes(&self) -> Vec<u8> {
        events_to_bytes(&self.events())
    }

    /// The answer to a request.
    pub fn answer(&self) -> Answer {
        Answer::stream(self.bytes()).header("request-id", "req_fake_1")
    }
}

/// Events as a stream; each is named after its type.
fn events_to_bytes(events: &[Value]) -> Vec<u8> {
    let mut text = String::new();
    for event in events {
        let name = event["type"].as_str().unwrap_or_default();
        text.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    }
    text.into_bytes()
}

pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(end, _)| end);
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}
