//! The answer of a Chat Completions endpoint, put together from its chunks. Pure.
//!
//! There is a whole [`Reply`] or a failure, never half a reply. Calls are told apart by whatever the server gives:
//! index, id, name, or that the one before is already complete.

use std::collections::HashSet;

use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Block, Reply, StopReason, ToolCall, Usage};
use serde_json::{Map, Value};

use super::raw::Mirror;
use crate::model::http;
use crate::world::Ids;

/// A reply in the making.
pub(super) struct Assembly<'a> {
    ids: &'a Ids,
    /// The model that was asked for.
    asked: &'a str,
    /// Ids the conversation already uses; some servers count from zero each time.
    taken: HashSet<Box<str>>,
    id: Box<str>,
    model: Box<str>,
    parts: Vec<Part>,
    refused: bool,
    finish: Option<Box<str>>,
    usage: Usage,
    mirror: Option<Mirror>,
}

/// A block in the making.
#[derive(Debug)]
enum Part {
    Text(String),
    Thinking(String),
    Call(Call),
}

#[derive(Debug)]
struct Call {
    /// What the server calls it; may be empty or used twice.
    theirs: Box<str>,
    index: Option<u64>,
    id: Box<str>,
    name: Box<str>,
    arguments: String,
}

impl Call {
    /// Whether its arguments can be no longer than they are.
    fn is_whole(&self) -> bool {
        serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }
}

/// A piece of a call, as it comes.
struct Fragment {
    index: Option<u64>,
    id: Box<str>,
    name: Box<str>,
    arguments: String,
}

impl Fragment {
    fn read(value: &Value) -> Self {
        let function = value.get("function").unwrap_or(value);
        let text = |holder: &Value, key: &str| -> Box<str> {
            holder.get(key).and_then(Value::as_str).unwrap_or_default().into()
        };
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            Some(_) | None => String::new(),
        };
        Self {
            index: value.get("index").and_then(Value::as_u64),
            id: text(value, "id"),
            name: text(function, "name"),
            arguments,
        }
    }
}

impl<'a> Assembly<'a> {
    /// A reply to a request for `model`, in a conversation that knows calls by the ids in `taken`.
    pub(super) fn new(raw_events: bool, model: &'a str, taken: HashSet<Box<str>>, ids: &'a Ids) -> Self {
        Self {
            ids,
            asked: model,
            taken,
            id: Box::default(),
            model: Box::default(),
            parts: Vec::new(),
            refused: false,
            finish: None,
            usage: Usage::default(),
            mirror: raw_events.then(Mirror::default),
        }
    }

    /// Whether the model has said why it stopped: everything but the bill is here.
    pub(super) fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes the data of one event.
    pub(super) fn feed(&mut self, data: &str, on: &mut (dyn FnMut(Delta) + Send)) -> Result<(), Failure> {
        let chunk: Value = serde_json::from_str(data)
            .map_err(|error| malformed(format!("a chunk is not JSON ({error}): {}", http::snippet(data))))?;
        self.take(&chunk, on)
    }

    /// Takes an answer that came in one piece; `None` if it is no reply.
    pub(super) fn whole(
        mut self,
        text: &str,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Option<Reply>, Failure> {
        let Ok(mut answer) = serde_json::from_str::<Value>(text) else { return Ok(None) };
        if let Some(choice) = answer.pointer_mut("/choices/0").and_then(Value::as_object_mut) {
            let message = choice.remove("message").unwrap_or_default();
            choice.insert("delta".into(), message);
            choice.entry("finish_reason").or_insert_with(|| "stop".into());
        }
        self.take(&answer, on)?;
        if self.is_complete() { self.finish(on).map(Some) } else { Ok(None) }
    }

    fn take(&mut self, chunk: &Value, on: &mut (dyn FnMut(Delta) + Send)) -> Result<(), Failure> {
        let is_error = chunk.get("error").is_some_and(|error| !error.is_null())
            || chunk.get("object").and_then(Value::as_str) == Some("error");
        if is_error {
            return Err(http::from_event(chunk));
        }
        for (key, field) in [("id", &mut self.id), ("model", &mut self.model)] {
            if let (true, Some(text)) = (field.is_empty(), chunk.get(key).and_then(Value::as_str)) {
                *field = text.into();
            }
        }
        // Some servers leave out who they are; others have to tell replies apart nevertheless.
        if self.id.is_empty() {
            self.id = format!("reply_{}", self.ids.hex16()).into();
        }
        if self.model.is_empty() {
            self.model = self.asked.into();
        }
        if let Some(usage @ Value::Object(_)) = chunk.get("usage") {
            self.usage = read_usage(usage);
        }
        let choices = chunk.get("choices").and_then(Value::as_array).into_iter().flatten();
        for choice in choices {
            if choice.get("index").and_then(Value::as_u64).unwrap_or_default() == 0 {
                self.take_choice(choice, on);
            }
        }
        Ok(())
    }

    fn take_choice(&mut self, choice: &Value, on: &mut (dyn FnMut(Delta) + Send)) {
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        let thought = delta.get("reasoning_content").filter(|thought| thought.is_string());
        if let Some(Value::String(thought)) = thought.or_else(|| delta.get("reasoning")) {
            self.think(thought, on);
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.speak(text, on),
            Some(Value::Array(parts)) => {
                for text in parts.iter().filter_map(|part| part.get("text")?.as_str()) {
                    self.speak(text, on);
                }
            }
            Some(_) | None => {}
        }
        if let Some(Value::String(refusal)) = delta.get("refusal") {
            self.refused |= !refusal.is_empty();
            self.speak(refusal, on);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        let old = delta.get("function_call").filter(|call| call.is_object());
        for fragment in calls.chain(old) {
            self.call(Fragment::read(fragment), on);
        }
        if let Some(Value::String(word)) = choice.get("finish_reason") {
            self.finish = Some(word.as_str().into());
        }
    }

    fn speak(&mut self, text: &str, on: &mut (dyn FnMut(Delta) + Send)) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Text(said)) => said.push_str(text),
            Some(Part::Thinking(_) | Part::Call(_)) | None => self.parts.push(Part::Text(text.to_owned())),
        }
        if let Some(mirror) = &mut self.mirror {
            mirror.text(&self.id, &self.model, text, on);
        }
        on(Delta::Text(text.to_owned()));
    }

    fn think(&mut self, text: &str, on: &mut (dyn FnMut(Delta) + Send)) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Thinking(thought)) => thought.push_str(text),
            Some(Part::Text(_) | Part::Call(_)) | None => self.parts.push(Part::Thinking(text.to_owned())),
        }
        if let Some(mirror) = &mut self.mirror {
            mirror.thinking(&self.id, &self.model, text, on);
        }
        on(Delta::Thinking(text.to_owned()));
    }

    fn call(&mut self, fragment: Fragment, on: &mut (dyn FnMut(Delta) + Send)) {
        let position = match self.continued(&fragment) {
            Some(position) => position,
            // A piece that belongs to nothing and names nothing.
            None if fragment.name.is_empty() => return,
            None => {
                let id = self.fresh_id(&fragment.id);
                on(Delta::ToolStart { id: id.clone(), name: fragment.name.clone() });
                if let Some(mirror) = &mut self.mirror {
                    mirror.call(&self.id, &self.model, &id, &fragment.name, on);
                }
                self.parts.push(Part::Call(Call {
                    theirs: fragment.id,
                    index: fragment.index,
                    id,
                    name: fragment.name,
                    arguments: String::new(),
                }));
                self.parts.len() - 1
            }
        };
        if let Part::Call(call) = &mut self.parts[position] {
            call.arguments.push_str(&fragment.arguments);
            if let Some(mirror) = &mut self.mirror {
                mirror.arguments(&call.id, &fragment.arguments, on);
            }
        }
    }

    /// The call a fragment goes on with, or nothing if it begins one.
    fn continued(&self, fragment: &Fragment) -> Option<usize> {
        let Fragment { index, id, name, arguments } = fragment;
        let calls = || {
            let calls = self.parts.iter().enumerate().filter_map(|(position, part)| match part {
                Part::Call(call) => Some((position, call)),
                Part::Text(_) | Part::Thinking(_) => None,
            });
            calls.rev()
        };
        // Same id, same call; but the index, where there is one, must not say otherwise.
        let by_id = calls().find(|(_, call)| call.theirs == *id && (index.is_none() || call.index == *index));
        let by_place = calls().find(|(_, call)| index.is_none() || call.index == *index);
        let candidate = match (id.is_empty(), name.is_empty()) {
            (true, _) => by_place,
            (false, false) => by_id,
            // Some servers make a new id for every piece, but only the first has a name.
            (false, true) => by_id.or(by_place),
        };
        // A name begins a call, unless the server repeats it with every piece: then only what comes behind the end
        // of the one before begins another, and where something else tells them apart, that must be more than nothing.
        let is_more = (id.is_empty() && index.is_none()) || !arguments.is_empty();
        let begins = |call: &Call| !name.is_empty() && (*name != call.name || (is_more && call.is_whole()));
        candidate.filter(|(_, call)| !begins(call)).map(|(position, _)| position)
    }

    /// An id nobody else in the conversation has.
    fn fresh_id(&mut self, theirs: &str) -> Box<str> {
        let mut id: Box<str> = theirs.into();
        while id.is_empty() || self.taken.contains(&id) {
            id = format!("call_{}", self.ids.hex16()).into();
        }
        self.taken.insert(id.clone());
        id
    }

    /// The reply.
    pub(super) fn finish(mut self, on: &mut (dyn FnMut(Delta) + Send)) -> Result<Reply, Failure> {
        if self.finish.is_none() && self.parts.is_empty() {
            return Err(malformed("it ends without having said anything"));
        }
        let truncated = self.finish.as_deref() == Some("length");
        let mut blocks = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::Text(text) => blocks.push(Block::Text(text)),
                Part::Thinking(text) => blocks.push(Block::Thinking { text, signature: String::new() }),
                Part::Call(call) => match read_arguments(&call.arguments, truncated) {
                    Ok(input) => {
                        blocks.push(Block::ToolUse(ToolCall { id: call.id, name: call.name, input }))
                    }
                    // The model was cut off in the middle of it; there is nothing to run.
                    Err(_) if truncated => {}
                    Err(why) => return Err(malformed(format!("the arguments of {}: {why}", call.name))),
                },
            }
        }
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse(_)));
        let stop = match self.finish.as_deref() {
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            _ if self.refused => StopReason::Refusal,
            // Servers disagree on the word; the calls themselves do not lie.
            _ if calls => StopReason::ToolUse,
            None | Some("stop" | "tool_calls" | "function_call" | "eos" | "") => StopReason::EndTurn,
            Some(word) => StopReason::Other(word.into()),
        };
        if let Some(mirror) = &mut self.mirror {
            mirror.finish(&self.id, &self.model, &stop, &self.usage, on);
        }
        Ok(Reply { id: self.id, model: self.model, blocks, stop, usage: self.usage })
    }
}

/// Nothing at all is an empty object: that is how a call without arguments is written.
fn read_arguments(text: &str, truncated: bool) -> Result<Value, String> {
    if text.trim().is_empty() && !truncated {
        return Ok(Value::Object(Map::new()));
    }
    let value: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(Value::Object(value))
}

fn read_usage(usage: &Value) -> Usage {
    let number = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let cached = number("/prompt_tokens_details/cached_tokens").or(number("/prompt_cache_hit_tokens"));
    let (prompt, cache_read) = (number("/prompt_tokens").unwrap_or_default(), cached.unwrap_or_default());
    Usage {
        input: prompt.saturating_sub(cache_read),
        output: number("/completion_tokens").unwrap_or_default(),
        cache_read,
        ..Usage::default()
    }
}

fn malformed(why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Malformed, format!("the provider's answer breaks its protocol: {why}"))
}
