//! How many tokens something can come to at most, before any provider has counted them.

use crate::message::{Block, Content, Media, Message, json};

/// What providers add to a request that nobody sees: how to call tools, who speaks.
pub const HIDDEN_TOKENS: u64 = 1_024;
/// The most an image comes to: providers shrink those that are larger.
const IMAGE: u64 = 6_000;

/// The most tokens messages come to: one for each byte they are written with, for a token is at least one. A document
/// can be packed, and then its bytes say nothing: it counts as a whole window.
pub fn tokens_at_most(messages: &[Message], window: u64) -> u64 {
    messages.iter().map(|message| message_at_most(message, window)).fold(0, u64::saturating_add)
}

fn message_at_most(message: &Message, window: u64) -> u64 {
    let media: Vec<&Media> = message.blocks.iter().flat_map(media_in).collect();
    let packed = media.iter().map(|media| length(&media.data)).fold(0, u64::saturating_add);
    let unpacked = media.iter().map(|media| match media.kind() {
        "image" => IMAGE,
        _ => window.max(length(&media.data)),
    });
    let written = length(&json::message(message).to_string()).saturating_sub(packed);
    unpacked.fold(written, u64::saturating_add)
}

fn media_in(block: &Block) -> Vec<&Media> {
    match block {
        Block::Media(media) => vec![media],
        Block::ToolResult(answer) => answer
            .content
            .iter()
            .filter_map(|content| match content {
                Content::Media(media) => Some(media),
                Content::Text(_) => None,
            })
            .collect(),
        Block::Text(_)
        | Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse(_)
        | Block::Other(_) => Vec::new(),
    }
}

fn length(text: &str) -> u64 {
    text.len() as u64
}
