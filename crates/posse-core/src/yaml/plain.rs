//! The short way through the headers nearly everybody writes: one `key: value` per line, nothing clever.
//!
//! Returns `None` at the first thing that is not obviously plain; the full parser then decides. A property test holds
//! the two equal wherever this one answers.

use super::{Document, scalar};
use crate::node::{Entry, Node, Value};
use crate::text::Span;

/// Longer headers and keys can meet a limit of the full parser, which is its to report.
const MAX_LINES: usize = 128;
const MAX_KEY: usize = 128;

/// Parses a header of plain `key: value` lines, or declines.
pub fn parse_plain(text: &str) -> Option<Document> {
    let mut entries: Vec<Entry> = Vec::with_capacity(8);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        if line.is_empty() {
            // A blank line may belong to a multi-line scalar; between two keys it means nothing, but proving that is
            // the full parser's job.
            if at == text.len() {
                break;
            }
            return None;
        }
        let entry = plain_line(line, start)?;
        if entries.len() == MAX_LINES || entries.iter().any(|earlier| earlier.key == entry.key) {
            return None;
        }
        entries.push(entry);
    }
    let (first, last) = (entries.first()?, entries.last()?);
    let span = first.key_span.to(last.node.span);
    Some(Document { root: Node { span, value: Value::Map(entries) }, duplicates: vec![], dropped: vec![] })
}

fn plain_line(line: &str, start: usize) -> Option<Entry> {
    let colon = line.bytes().position(|b| b == b':')?;
    let key = &line[..colon];
    if key.len() > MAX_KEY {
        return None;
    }
    let is_word = key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if !is_word || !key.starts_with(|c: char| c.is_ascii_alphabetic()) || is_typed_word(key) {
        return None;
    }
    let rest = line[colon + 1..].strip_prefix(' ')?;
    let value = rest.trim_start_matches(' ');
    let value_at = start + line.len() - value.len();
    let node = match value.as_bytes().first()? {
        b'"' => quoted(value, value_at)?,
        first if first.is_ascii_alphanumeric() => unquoted(value, value_at)?,
        _ => return None,
    };
    Some(Entry { key: key.into(), key_span: Span::new(start, start + colon), node })
}

/// Keys such as `true:` or `null:` are not text in YAML; leave them to the full parser.
fn is_typed_word(key: &str) -> bool {
    matches!(key.to_ascii_lowercase().as_str(), "true" | "false" | "null")
}

/// `"…"` without escapes or inner quotes, with nothing behind it.
fn quoted(value: &str, at: usize) -> Option<Node> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let simple = inner.chars().all(|c| c != '"' && c != '\\' && is_ordinary(c));
    (value.len() >= 2 && simple).then(|| Node::text(Span::new(at, at + value.len()), inner))
}

fn unquoted(value: &str, at: usize) -> Option<Node> {
    let text = value.trim_end_matches(' ');
    let mut previous = ' ';
    for c in text.chars() {
        let starts_comment = c == '#' && previous == ' ';
        let ends_key = previous == ':' && c == ' ';
        if starts_comment || ends_key || !is_ordinary(c) {
            return None;
        }
        previous = c;
    }
    if previous == ':' {
        return None;
    }
    Some(Node { span: Span::new(at, at + text.len()), value: scalar::resolve(text.into()) })
}

/// No tabs, carriage returns, other controls, or Unicode's extra line breaks, byte order marks and non-characters.
fn is_ordinary(c: char) -> bool {
    matches!(c,
        ' '..='~'
        | '\u{a0}'..='\u{2027}'
        | '\u{202a}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}'
        | '\u{10000}'..='\u{10ffff}')
}
