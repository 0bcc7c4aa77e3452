//! The answer of the Messages API, put together from its events. Pure but for the loop that feeds it.
//!
//! There is a whole [`Reply`] or a failure, never half a reply. Events and blocks nobody here knows are kept or passed
//! over, so that what the API learns tomorrow does no harm.

use std::sync::Arc;

use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Block, Reply, StopReason, json as shape};
use serde_json::{Map, Value, json};

use crate::model::http::{self, Events};

/// Reads events up to the end of the reply.
pub(super) async fn read(
    events: &mut Events,
    raw_events: bool,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<Reply, Failure> {
    let mut assembly = Assembly::new(raw_events);
    while let Some(data) = events.next().await? {
        if let Some(reply) = assembly.feed(&data, on)? {
            return Ok(reply);
        }
    }
    Err(events.cut_short())
}

/// A reply in the making.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    raw_events: bool,
    message: Option<Started>,
    blocks: Vec<Building>,
    stop: Option<StopReason>,
    usage: Map<String, Value>,
}

#[derive(Debug)]
struct Started {
    id: Box<str>,
    model: Box<str>,
}

/// A block in the making.
#[derive(Clone, Debug)]
struct Building {
    index: u64,
    block: Value,
    /// The input of a tool, as far as it has come.
    input: String,
    closed: bool,
}

impl Assembly {
    pub(super) fn new(raw_events: bool) -> Self {
        Self { raw_events, ..Self::default() }
    }

    /// Takes the data of one event; gives the reply when it is complete.
    pub(super) fn feed(
        &mut self,
        data: &str,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Option<Reply>, Failure> {
        let event: Value = serde_json::from_str(data)
            .map_err(|error| malformed(format!("an event is not JSON ({error}): {}", http::snippet(data))))?;
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "content_block_stop" {
            self.tell_block(&event, on);
        }
        if self.raw_events && !matches!(kind, "ping" | "error") {
            on(Delta::Raw(event.clone()));
        }
        match kind {
            "message_start" => self.start(&event)?,
            "content_block_start" => self.open(&event, on)?,
            "content_block_delta" => self.extend(&event, on)?,
            "content_block_stop" => self.building(&event)?.closed = true,
            "message_delta" => self.update(&event),
            "message_stop" => return self.finish().map(Some),
            "error" => return Err(http::from_event(&event)),
            _ => {}
        }
        Ok(None)
    }

    /// Tells of a block that is whole, unless something is wrong with it: then the end of the reply says what.
    fn tell_block(&mut self, event: &Value, on: &mut (dyn FnMut(Delta) + Send)) {
        let usage = shape::read_usage(&Value::Object(self.usage.clone()));
        let Some(Started { id, model }) = &self.message else { return };
        let (id, model) = (id.clone(), model.clone());
        let Ok(building) = self.building(event) else { return };
        if let Ok(block) = building.clone().finish(false) {
            on(Delta::Block(Arc::new(Reply {
                id,
                model,
                blocks: vec![block],
                stop: StopReason::EndTurn,
                usage,
            })));
        }
    }

    fn start(&mut self, event: &Value) -> Result<(), Failure> {
        if self.message.is_some() {
            return Err(malformed("a second message begins within the first"));
        }
        let message = event.get("message").unwrap_or(&Value::Null);
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default().into();
        self.message = Some(Started { id: text("id"), model: text("model") });
        self.count(message);
        Ok(())
    }

    fn open(&mut self, event: &Value, on: &mut (dyn FnMut(Delta) + Send)) -> Result<(), Failure> {
        let block = event.get("content_block").filter(|block| block.is_object()).cloned();
        let (Some(block), Some(_)) = (block, &self.message) else {
            return Err(malformed("a block begins outside of a message"));
        };
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" if !text("text").is_empty() => on(Delta::Text(text("text").to_owned())),
            "thinking" if !text("thinking").is_empty() => on(Delta::Thinking(text("thinking").to_owned())),
            "tool_use" => on(Delta::ToolStart { id: text("id").into(), name: text("name").into() }),
            _ => {}
        }
        self.blocks.push(Building { index: index_of(event), block, input: String::new(), closed: false });
        Ok(())
    }

    fn extend(&mut self, event: &Value, on: &mut (dyn FnMut(Delta) + Send)) -> Result<(), Failure> {
        let building = self.building(event)?;
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => {
                append(&mut building.block, "text", text("text"));
                tell(Delta::Text, text("text"), on);
            }
            "thinking_delta" => {
                append(&mut building.block, "thinking", text("thinking"));
                tell(Delta::Thinking, text("thinking"), on);
            }
            "signature_delta" => append(&mut building.block, "signature", text("signature")),
            "input_json_delta" => building.input.push_str(text("partial_json")),
            "citations_delta" => {
                let citation = delta.get("citation").cloned().unwrap_or_default();
                match building.block.get_mut("citations") {
                    Some(Value::Array(citations)) => citations.push(citation),
                    Some(_) | None => building.block["citations"] = json!([citation]),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn update(&mut self, event: &Value) {
        if let Some(word) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
            self.stop = Some(StopReason::parse(word));
        }
        self.count(event);
    }

    /// Counts are totals: what comes later replaces what came before, and what is missing stays.
    fn count(&mut self, holder: &Value) {
        let Some(Value::Object(usage)) = holder.get("usage") else { return };
        for (key, value) in usage.iter().filter(|(_, value)| !value.is_null()) {
            self.usage.insert(key.clone(), value.clone());
        }
    }

    fn building(&mut self, event: &Value) -> Result<&mut Building, Failure> {
        let index = index_of(event);
        let open = self.blocks.iter_mut().rfind(|building| building.index == index && !building.closed);
        open.ok_or_else(|| malformed(format!("block {index} goes on without having begun")))
    }

    fn finish(&mut self) -> Result<Reply, Failure> {
        let Some(Started { id, model }) = self.message.take() else {
            return Err(malformed("a message ends without having begun"));
        };
        let buildings = std::mem::take(&mut self.blocks);
        let truncated = match &self.stop {
            Some(StopReason::MaxTokens) => true,
            Some(StopReason::Other(word)) => &**word == "model_context_window_exceeded",
            Some(_) | None => false,
        };
        let last = buildings.len().saturating_sub(1);
        let mut blocks = Vec::new();
        for (position, building) in buildings.into_iter().enumerate() {
            match building.finish(truncated && position == last) {
                Ok(block) => blocks.push(block),
                // The model was cut off in the middle of it; there is nothing to run.
                Err(_) if truncated => {}
                Err(why) => return Err(malformed(why)),
            }
        }
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse(_)));
        let usual = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
        let usage = shape::read_usage(&Value::Object(std::mem::take(&mut self.usage)));
        Ok(Reply { id, model, blocks, stop: self.stop.take().unwrap_or(usual), usage })
    }
}

impl Building {
    /// The block, or what is wrong with it. Of a truncated one, an input that has not begun has not been finished.
    fn finish(mut self, truncated: bool) -> Result<Block, String> {
        let kind = self.block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let has_input = !self.input.is_empty() || self.block.get("input").is_some();
        if has_input {
            if self.input.is_empty() && truncated {
                return Err(format!("the input of a {kind} block is missing"));
            }
            if !self.input.is_empty() {
                self.block["input"] = serde_json::from_str(&self.input)
                    .map_err(|error| format!("the input of a {kind} block is not JSON: {error}"))?;
            }
            if !self.block["input"].is_object() {
                return Err(format!("the input of a {kind} block is not an object"));
            }
        }
        if kind == "text" {
            let cited = matches!(self.block.get("citations"), Some(Value::Array(list)) if !list.is_empty());
            if let (false, Some(fields)) = (cited, self.block.as_object_mut()) {
                fields.shift_remove("citations");
            }
        }
        match shape::read_block(&self.block) {
            Block::Other(_) if kind == "tool_use" => Err("a call lacks its id or its name".to_owned()),
            block => Ok(block),
        }
    }
}

fn index_of(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or_default()
}

fn append(block: &mut Value, key: &str, more: &str) {
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        Some(_) | None => block[key] = json!(more),
    }
}

fn tell(make: fn(String) -> Delta, text: &str, on: &mut (dyn FnMut(Delta) + Send)) {
    if !text.is_empty() {
        on(make(text.to_owned()));
    }
}

fn malformed(why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Malformed, format!("the provider's answer breaks its protocol: {why}"))
}
