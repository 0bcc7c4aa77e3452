//! What came back, as text: HTML becomes Markdown, text stays, everything else is refused.
//!
//! Pages are written by strangers, and the converter walks them by recursion: so they are cut to size first.

use std::rc::Rc;

use htmd::{HtmlToMarkdown, Node};
use url::Url;

use super::tame::tame;

/// Longest text, in characters.
const MAX_TEXT: usize = 100_000;
/// Elements within elements, where browsers stop as well.
const MAX_DEPTH: usize = 512;
/// Enough for so many, and for the frames of a debug build.
const STACK: usize = 64 * 1024 * 1024;

/// What of a page is no text.
const SKIPPED: &[&str] = &["canvas", "video", "audio", "embed"];

/// A page as it came.
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) code: u16,
    /// Its `Content-Type`.
    pub(super) kind: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Page {
    /// Its text. The error says why there is none.
    pub(super) fn into_text(self) -> Result<String, String> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let mime = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let text = match Kind::of(&mime, &self.body) {
            Kind::Html => markdown(decode(&self.body, kind))?,
            Kind::Text => decode(&self.body, kind),
            Kind::Binary => {
                let mime = if mime.is_empty() { "binary data" } else { &mime };
                return Err(format!(
                    "{} is {mime} ({} bytes), not text. To work with it, download it with Bash.",
                    self.url,
                    self.body.len()
                ));
            }
        };
        Ok(cut(text))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    Binary,
}

impl Kind {
    fn of(mime: &str, body: &[u8]) -> Self {
        // Whatever a server calls it.
        if body.iter().take(8192).any(|byte| *byte == 0) {
            return Self::Binary;
        }
        let (family, name) = mime.split_once('/').unwrap_or((mime, ""));
        match (family, name) {
            ("text", "html") | ("application", "xhtml+xml") => Self::Html,
            ("text", _) => Self::Text,
            (
                "application",
                "json"
                | "xml"
                | "javascript"
                | "x-javascript"
                | "ecmascript"
                | "typescript"
                | "yaml"
                | "x-yaml"
                | "toml"
                | "x-toml"
                | "x-ndjson"
                | "jsonl"
                | "graphql"
                | "sql"
                | "x-sh"
                | "markdown"
                | "rtf"
                | "x-www-form-urlencoded",
            ) => Self::Text,
            (_, name) if name.ends_with("+json") || name.ends_with("+xml") || name.ends_with("+yaml") => {
                Self::Text
            }
            // Nobody says what it is: it is what it looks like.
            ("", _) | ("application", "octet-stream") if std::str::from_utf8(body).is_ok() => {
                let start = body.trim_ascii_start().get(..15).unwrap_or_default().to_ascii_lowercase();
                if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
                    Self::Html
                } else {
                    Self::Text
                }
            }
            _ => Self::Binary,
        }
    }
}

/// The characters of a body. Nearly everything is UTF-8; Latin-1 is its own table; the rest is read as well as it goes.
fn decode(body: &[u8], kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    let latin = ["iso-8859-1", "latin1", "windows-1252"].iter().any(|name| kind.contains(name));
    if latin && std::str::from_utf8(body).is_err() {
        return body.iter().map(|byte| char::from(*byte)).collect();
    }
    let text = String::from_utf8_lossy(body);
    text.strip_prefix('\u{feff}').map_or_else(|| text.to_string(), str::to_owned)
}

/// HTML as Markdown.
fn markdown(html: String) -> Result<String, String> {
    let convert = move || {
        let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
        let (html, cut_off) = tame(&html);
        let tree = converter.html_to_tree(&html)?;
        let pruned = prune(&tree);
        let mut text = converter.tree_to_markdown(&tree);
        if cut_off || pruned {
            text.push_str("\n\n[Parts of the page are left out: it is too large or too deeply nested]");
        }
        Ok::<_, std::io::Error>(text)
    };
    // Not on a thread of the runtime: their stacks are small.
    let thread = std::thread::Builder::new().name("html".into()).stack_size(STACK).spawn(convert);
    let converted = thread.map_err(|error| error.to_string()).and_then(|thread| match thread.join() {
        Ok(converted) => converted.map_err(|error| error.to_string()),
        Err(_) => Err("its HTML is too strange".to_owned()),
    });
    converted.map_err(|problem| format!("The page cannot be turned into text: {problem}"))
}

/// Cuts branches that are too long, and says whether there were any.
fn prune(tree: &Rc<Node>) -> bool {
    let mut pruned = false;
    let mut open = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = open.pop() {
        let mut children = node.children.borrow_mut();
        if depth < MAX_DEPTH {
            open.extend(children.iter().map(|child| (Rc::clone(child), depth + 1)));
        } else if !children.is_empty() {
            children.clear();
            pruned = true;
        }
    }
    pruned
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        None => text,
        Some((end, _)) => {
            let all = text.chars().count();
            format!("{}\n\n[Cut: the first {MAX_TEXT} of {all} characters]", &text[..end])
        }
    }
}

#[cfg(test)]
mod tests;
