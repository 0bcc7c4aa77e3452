//! The reference's repair: lines of the form `key: value` whose value holds something YAML would trip over are put in
//! double quotes, then the whole is parsed again.
//!
//! What it changes it changes exactly as the reference does, so that a file means the same to both; only CRLF line
//! ends, which the reference does not repair, are treated like LF here.

use crate::diagnostic::{Fix, Problem, Rule};
use crate::node::Value;
use crate::text::{self, Span};
use crate::yaml::{self, Document};

/// Quotes what must be quoted and parses again. Spans of the result are bytes of the *original* text.
pub(super) fn quote_lines(yaml: &str) -> Option<(Document, Vec<Problem>)> {
    let mut repaired = String::with_capacity(yaml.len() + 64);
    let mut rewritten = Vec::new();
    let mut starts = Vec::new();
    for (at, line) in text::lines_with_offsets(yaml) {
        starts.push((repaired.len(), at, line.len()));
        match value_to_quote(line) {
            Some(from) => {
                let value = &line[from..];
                repaired.push_str(&line[..from]);
                repaired.push_str(&escape(value));
                rewritten.push((Span::new(at + from, at + line.len()), value));
            }
            None => repaired.push_str(line),
        }
        repaired.push('\n');
    }
    if rewritten.is_empty() {
        return None;
    }
    let mut document = yaml::parse(&repaired).ok()?;
    let back = |span: Span| original_span(&starts, span);
    document.root.map_spans(&back);
    document.duplicates.iter_mut().for_each(|span| *span = back(*span));
    document.dropped.iter_mut().for_each(|span| *span = back(*span));
    let problems = rewritten.into_iter().filter_map(|(span, value)| problem(span, value)).collect();
    Some((document, problems))
}

/// `"` + value with `\` and `"` escaped + `"`: nothing else is touched, so blanks at the end stay.
fn escape(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Where the value of a line that must be quoted begins: `^([A-Za-z_-]+):\s+(.+)$`.
fn value_to_quote(line: &str) -> Option<usize> {
    let colon = line.find(':')?;
    let key = &line[..colon];
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-')) {
        return None;
    }
    let rest = &line[colon + 1..];
    let value = rest.trim_start();
    if value.is_empty() || value.len() == rest.len() || value.contains(['\r', '\u{2028}', '\u{2029}']) {
        return None;
    }
    let special = value.contains(": ")
        || value.contains(['{', '}', '[', ']', '*', '&', '#', '!', '|', '>', '%', '@', '`']);
    (special && !is_quoted(value) && !is_flow_list(value)).then_some(line.len() - value.len())
}

fn is_quoted(value: &str) -> bool {
    let within = |quote: char| value.len() >= 2 && value.starts_with(quote) && value.ends_with(quote);
    within('"') || within('\'')
}

fn is_flow_list(value: &str) -> bool {
    value.starts_with('[')
        && value.ends_with(']')
        && yaml::parse(value).is_ok_and(|document| matches!(document.root.value, Value::List(_)))
}

/// Lines keep their number and everything before the value its column, so a position maps by line and column.
fn original_span(starts: &[(usize, usize, usize)], span: Span) -> Span {
    let map = |offset: usize| {
        let line = starts.partition_point(|(repaired, _, _)| *repaired <= offset).saturating_sub(1);
        let (repaired, original, length) = starts.get(line).copied().unwrap_or_default();
        original + (offset - repaired.min(offset)).min(length)
    };
    let (start, end) = (map(span.start as usize), map(span.end as usize));
    Span::new(start, end)
}

/// Not every quoted line was at fault: one broken line makes the repair read all of them literally.
fn problem(span: Span, value: &str) -> Option<Problem> {
    let alone = yaml::parse(value);
    let fix = Fix::safe("put the value in quotes", span, escape(value));
    // Blanks at the end count: the repair keeps them, YAML without quotes would not.
    if alone.as_ref().is_ok_and(|document| document.root.as_text() == Some(value)) {
        return None;
    }
    if let Some(colon) = value.find(": ") {
        let at = span.start as usize + colon;
        let text = "a `: ` inside an unquoted value: YAML takes it for another field";
        return Some(
            Problem::at(Rule::UnquotedColon, Span::new(at, at + 1), text)
                .hint("put the value in quotes")
                .fix(fix),
        );
    }
    let text = if alone.is_ok() {
        "because another line is not valid YAML, this value is read literally, comments and brackets included"
    } else {
        "the value holds a character that means something in YAML; it is read as text"
    };
    Some(Problem::at(Rule::UnquotedSpecial, span, text).hint("put the value in quotes").fix(fix))
}
