//! What a person says in an editor, as a message to the model. Pure.
//!
//! Without pictures it is one text, so that a command typed after a slash is understood as one, whatever is attached.

use posse_core::message::{Block, Media, Message, Role};

use super::words::Piece;

/// The pictures models can look at.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The message; nothing if nothing was said.
pub(super) fn message(pieces: &[Piece]) -> Option<Message> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut text = String::new();
    let mut attached = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(said) => text.push_str(said),
            Piece::Link { name, uri } => text.push_str(&link(name, uri)),
            Piece::TextResource { uri, text: content } => {
                text.push_str(&link(last_part(uri), uri));
                attached.push_str(&format!("\n\n<context uri=\"{uri}\">\n{content}\n</context>"));
            }
            Piece::Audio { media_type } => text.push_str(&unseen(media_type)),
            Piece::Image { media_type, data } => media(media_type, data, &mut text, &mut blocks),
            Piece::BlobResource { uri, media_type, data } => {
                text.push_str(&link(last_part(uri), uri));
                let kind = media_type.as_deref().unwrap_or("application/octet-stream");
                media(kind, data, &mut text, &mut blocks);
            }
        }
    }
    text.push_str(&attached);
    flush(&mut text, &mut blocks);
    (!blocks.is_empty()).then_some(Message { role: Role::User, blocks })
}

/// What the person typed, without what came with it: only that may mention files.
pub(super) fn typed(pieces: &[Piece]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(said) => Some(said.as_str()),
        Piece::Link { .. }
        | Piece::TextResource { .. }
        | Piece::Audio { .. }
        | Piece::Image { .. }
        | Piece::BlobResource { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn media(media_type: &str, data: &str, text: &mut String, blocks: &mut Vec<Block>) {
    if !is_base64(data) {
        text.push_str(&format!(" [The user attached something of the type {media_type}, which is damaged.]"));
    } else if PICTURES.contains(&media_type) || media_type == "application/pdf" {
        flush(text, blocks);
        blocks.push(Block::Media(Media { media_type: media_type.into(), data: data.to_owned() }));
    } else {
        text.push_str(&unseen(media_type));
    }
}

/// Whether data can be what it says it is. A provider would refuse every later request of the conversation otherwise.
fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !digits.is_empty() && digits.bytes().all(is_digit) && data.len().is_multiple_of(4)
}

fn unseen(media_type: &str) -> String {
    format!(" [The user attached something of the type {media_type}, which cannot be shown to you.]")
}

fn flush(text: &mut String, blocks: &mut Vec<Block>) {
    let said = std::mem::take(text);
    if !said.trim().is_empty() {
        blocks.push(Block::Text(said));
    }
}

/// Something to look up. Files are named as tools want them named.
fn link(name: &str, uri: &str) -> String {
    let place = uri.strip_prefix("file://").map(decoded);
    format!("[{name}]({})", place.as_deref().unwrap_or(uri))
}

fn last_part(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    path.trim_end_matches('/').rsplit('/').next().filter(|part| !part.is_empty()).unwrap_or(uri)
}

/// A path with its `%20`s read. What is no such code stays.
fn decoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = path.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(read) => {
                out.push(read);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| path.to_owned())
}

/// What a session is about, by how it begins.
pub(super) fn title(pieces: &[Piece]) -> Option<String> {
    const LONGEST: usize = 80;
    let said = pieces.iter().find_map(|piece| match piece {
        Piece::Text(text) => text.lines().map(str::trim).find(|line| !line.is_empty()),
        Piece::Image { .. }
        | Piece::Audio { .. }
        | Piece::Link { .. }
        | Piece::TextResource { .. }
        | Piece::BlobResource { .. } => None,
    })?;
    let short: String = said.chars().take(LONGEST).collect();
    Some(if short.len() < said.len() { format!("{short}…") } else { short })
}

#[cfg(test)]
mod tests;
