//! A conversation that was held before, as what an editor is told of it. Pure.
//!
//! What was said is told by the same `Teller` that tells of what happens now.

use std::collections::HashMap;
use std::sync::Arc;

use posse_core::event::{Fact, What};
use posse_core::message::{Block, Message, Reply, Role, StopReason, ToolCall, Usage, json as wire};
use serde_json::Value;

use super::updates::Teller;
use super::words::{Piece, Update};

/// What there is to tell of the entries of a transcript, in their order.
pub(super) fn updates(entries: &[Value], teller: &mut Teller) -> Vec<Update> {
    let mut updates = Vec::new();
    let mut calls: HashMap<Box<str>, ToolCall> = HashMap::new();
    for entry in entries {
        let hidden = |key: &str| entry.get(key).and_then(Value::as_bool) == Some(true);
        if hidden("isMeta") || hidden("isCompactSummary") {
            continue;
        }
        let Some(message) = entry.get("message").and_then(wire::read_message) else { continue };
        match message.role {
            Role::Assistant => {
                calls.extend(message.calls().map(|call| (call.id.clone(), call.clone())));
                let fact = Fact::Replied(Arc::new(reply(message)));
                updates.extend(teller.event(&What::Fact(fact), None));
            }
            Role::User => updates.extend(said(message, entry, &mut calls, teller)),
        }
    }
    updates.extend(teller.turn_ends());
    updates
}

fn reply(message: Message) -> Reply {
    Reply {
        id: "".into(),
        model: "".into(),
        blocks: message.blocks,
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

fn said(
    message: Message,
    entry: &Value,
    calls: &mut HashMap<Box<str>, ToolCall>,
    teller: &mut Teller,
) -> Vec<Update> {
    let mut updates = Vec::new();
    for block in message.blocks {
        match block {
            Block::Text(text) if is_machinery(&text) => {}
            Block::Text(text) => {
                teller.turn_begins(false);
                updates.push(Update::User(Piece::Text(text)));
            }
            Block::Media(media) if media.kind() == "image" => {
                let piece = Piece::Image { media_type: media.media_type.into(), data: media.data };
                updates.push(Update::User(piece));
            }
            Block::ToolResult(mut answer) => {
                let Some(call) = calls.remove(&answer.id) else { continue };
                answer.structured = entry.get("toolUseResult").filter(|result| result.is_object()).cloned();
                let fact = Fact::Answered { call, answer: Arc::new(answer) };
                updates.extend(teller.event(&What::Fact(fact), None));
            }
            Block::Media(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolUse(_)
            | Block::Other(_) => {}
        }
    }
    updates
}

/// Whether a text is nothing a person said.
fn is_machinery(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || ["<system-reminder>", "<task-notification>"].iter().any(|mark| text.starts_with(mark))
}

#[cfg(test)]
mod tests;
