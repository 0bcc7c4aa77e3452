//! Files that came with a prompt, as lines of a transcript, and what a model reads of them. Knows both, so that a
//! conversation that is opened again is word for word what it was. Refuses to know how files are read.

use posse_core::message::{Block, Content, Media, json as wire};
use serde_json::{Value, json};

/// The kind of line.
pub(super) const KIND: &str = "attachment";

/// A file: `content` is what Read says of it in its structured way, `shown` what it shows.
pub fn file(path: &str, display: &str, content: &Value, shown: &[Content]) -> Value {
    let mut attachment =
        json!({ "type": "file", "filename": path, "content": content, "displayPath": display });
    // What the content does not tell is kept as it is.
    if told(content).is_none() {
        attachment["shown"] = shown.iter().map(|part| wire::block(&block(part))).collect();
    }
    attachment
}

/// A folder, with a line for each thing in it.
pub fn folder(path: &str, display: &str, listing: &str) -> Value {
    json!({ "type": "directory", "path": path, "content": listing, "displayPath": display })
}

/// What the model reads. Nothing for what is no file and no folder: others attach much else.
pub fn blocks(attachment: &Value) -> Vec<Block> {
    let text = |key: &str| attachment.get(key).and_then(Value::as_str);
    let named = text("displayPath").or(text("filename")).or(text("path")).unwrap_or_default();
    let read = match text("type") {
        Some("directory") => {
            let listing = text("content").unwrap_or_default();
            return vec![reminder(&format!("The user mentions the folder {named}. It holds:\n{listing}"))];
        }
        Some("file") => attachment.get("content").and_then(told).or_else(|| kept(attachment)),
        Some(_) | None => None,
    };
    let said = |text: &str| reminder(&format!("The user mentions {named}. It was read:\n{text}"));
    match read {
        None => Vec::new(),
        Some(parts) => {
            let is_text = |block: &Block| matches!(block, Block::Text(_));
            let announced = parts.iter().any(is_text).then(Vec::new).unwrap_or_else(|| vec![said("")]);
            let shown = parts.into_iter().map(|block| match block {
                Block::Text(text) => said(&text),
                other => other,
            });
            announced.into_iter().chain(shown).collect()
        }
    }
}

fn reminder(text: &str) -> Block {
    Block::Text(format!("<system-reminder>\n{}\n</system-reminder>", text.trim_end()))
}

fn block(part: &Content) -> Block {
    match part {
        Content::Text(text) => Block::Text(text.clone()),
        Content::Media(media) => Block::Media(media.clone()),
    }
}

fn kept(attachment: &Value) -> Option<Vec<Block>> {
    Some(wire::read_content(attachment.get("shown")?))
}

/// Texts and pictures, as their structure tells.
fn told(content: &Value) -> Option<Vec<Block>> {
    let file = content.get("file")?;
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    match content.get("type")?.as_str()? {
        "text" => Some(vec![Block::Text(numbered(file, text("content")?))]),
        "image" => {
            let media = Media { media_type: text("type")?.into(), data: text("base64")?.to_owned() };
            Some(vec![Block::Media(media)])
        }
        _ => None,
    }
}

fn numbered(file: &Value, content: &str) -> String {
    let number = |key: &str| file.get(key).and_then(Value::as_u64);
    let first = number("startLine").unwrap_or(1);
    let lines = (first..).zip(content.lines()).map(|(number, line)| format!("{number:>6}\t{line}"));
    let mut shown: Vec<String> = lines.collect();
    let last = (first + shown.len() as u64).saturating_sub(1);
    match number("totalLines") {
        Some(total) if last < total => {
            shown.push(format!("(lines {first} to {last} of {total}; Read shows the others)"));
        }
        Some(_) | None if shown.is_empty() => shown.push("(the file is empty)".to_owned()),
        Some(_) | None => {}
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests;
