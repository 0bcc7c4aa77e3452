//! Replies of a fake Chat Completions endpoint, with the habits of the servers that really exist.

use serde_json::{Map, Value, json};

use super::Answer;
use super::messages::pieces;

#[derive(Clone, Debug)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// A reply in the making. Without further ado it comes as OpenAI sends it.
#[derive(Clone, Debug)]
pub struct ChatReply {
    model: String,
    thinking: String,
    text: String,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Option<(u64, u64)>,
    cached: u64,
    whole: bool,
    indexed: bool,
    with_ids: bool,
    done: bool,
}

impl Default for ChatReply {
    fn default() -> Self {
        Self::new()
    }
}

impl ChatReply {
    /// An empty reply of `chat-fake-1`.
    pub fn new() -> Self {
        Self {
            model: "chat-fake-1".into(),
            thinking: String::new(),
            text: String::new(),
            calls: Vec::new(),
            finish: None,
            usage: Some((10, 5)),
            cached: 0,
            whole: false,
            indexed: true,
            with_ids: true,
            done: true,
        }
    }

    /// Thinks something (`reasoning_content`).
    pub fn thinking(mut self, text: &str) -> Self {
        self.thinking.push_str(text);
        self
    }

    /// Says something.
    pub fn text(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    /// Asks for a tool.
    pub fn tool(self, id: &str, name: &str, input: &Value) -> Self {
        self.tool_text(id, name, &input.to_string())
    }

    /// Asks for a tool with any text for its arguments, valid or not.
    pub fn tool_text(mut self, id: &str, name: &str, arguments: &str) -> Self {
        self.calls.push(Call { id: id.into(), name: name.into(), arguments: arguments.into() });
        self
    }

    /// Stops for this reason; otherwise `tool_calls` if there is a call and `stop` if not.
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// Tokens read (those from the cache included), written, and read from the cache.
    pub fn usage(mut self, prompt: u64, completion: u64, cached: u64) -> Self {
        (self.usage, self.cached) = (Some((prompt, completion)), cached);
        self
    }

    /// Reports no usage.
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Each call in one piece, as Ollama and Gemini send them.
    pub fn whole_calls(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Calls without an index.
    pub fn without_index(mut self) -> Self {
        self.indexed = false;
        self
    }

    /// Calls with empty ids.
    pub fn without_ids(mut self) -> Self {
        self.with_ids = false;
        self
    }

    /// Ends without `[DONE]`.
    pub fn without_done(mut self) -> Self {
        self.done = false;
        self
    }

    /// The chunks.
    pub fn chunks(&self) -> Vec<Value> {
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        deltas.extend(pieces(&self.thinking).map(|piece| json!({ "reasoning_content": piece })));
        deltas.extend(pieces(&self.text).map(|piece| json!({ "content": piece })));
        if self.whole {
            let starts =
                self.calls.iter().enumerate().map(|(at, call)| self.fragment(at, call, &call.arguments));
            deltas.extend(starts.map(|fragment| json!({ "tool_calls": [fragment] })));
        } else {
            for (at, call) in self.calls.iter().enumerate() {
                deltas.push(json!({ "tool_calls": [self.fragment(at, call, "")] }));
                for piece in pieces(&call.arguments) {
                    let mut fragment = json!({ "index": at, "function": { "arguments": piece } });
                    if let (false, Some(fields)) = (self.indexed, fragment.as_object_mut()) {
                        fields.remove("index");
                    }
                    deltas.push(json!({ "tool_calls": [fragment] }));
                }
            }
        }
        let usual = if self.calls.is_empty() { "stop" } else { "tool_calls" };
        let reason = self.finish.as_deref().unwrap_or(usual);
        let mut chunks: Vec<Value> =
            deltas.iter().map(|delta| self.chunk(&json!([choice(delta, &Value::Null)]))).collect();
        chunks.push(self.chunk(&json!([choice(&json!({}), &json!(reason))])));
        if let Some((prompt, completion)) = self.usage {
            let mut last = self.chunk(&json!([]));
            last["usage"] = json!({
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
                "prompt_tokens_details": { "cached_tokens": self.cached },
            });
            chunks.push(last);
        }
        chunks
    }

    fn fragment(&self, at: usize, call: &Call, arguments: &str) -> Value {
        let mut fields = Map::new();
        if self.indexed {
            fields.insert("index".into(), json!(at));
        }
        fields.insert("id".into(), json!(if self.with_ids { call.id.as_str() } else { "" }));
        fields.insert("type".into(), json!("function"));
        fields.insert("function".into(), json!({ "name": call.name, "arguments": arguments }));
        Value::Object(fields)
    }

    fn chunk(&self, choices: &Value) -> Value {
        json!({
            "id": "chatcmpl-fake-1", "object": "chat.completion.chunk", "created": 1_760_000_000,
            "model": self.model, "choices": choices, "usage": null,
        })
    }

    /// The bytes of the stream.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text: String = self.chunks().iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        if self.done {
            text.push_str("data: [DONE]\n\n");
        }
        text.into_bytes()
    }

    /// The answer to a request.
    pub fn answer(&self) -> Answer {
        Answer::stream(self.bytes())
    }

    /// The same reply from a server that does not stream.
    pub fn answer_whole(&self) -> Answer {
        let calls: Vec<Value> = self
            .calls
            .iter()
            .enumerate()
            .map(|(at, call)| self.fragment(at, call, &call.arguments))
            .collect();
        let mut message = json!({ "role": "assistant", "content": self.text });
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        let usual = if self.calls.is_empty() { "stop" } else { "tool_calls" };
        let reason = self.finish.as_deref().unwrap_or(usual);
        let mut body = json!({
            "id": "chatcmpl-fake-1", "object": "chat.completion", "model": self.model,
            "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
        });
        if let Some((prompt, completion)) = self.usage {
            body["usage"] = json!({ "prompt_tokens": prompt, "completion_tokens": completion });
        }
        Answer::json(200, &body)
    }
}

fn choice(delta: &Value, finish: &Value) -> Value {
    json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish })
}
