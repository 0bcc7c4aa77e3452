//! YAML to [`Node`], on granit-parser's events, with budgets for everything a hostile file can inflate.
//!
//! Rules of the reference: YAML 1.2 core schema (so `yes`, `on`, `1_000` and dates are text), the last of two equal
//! keys wins, merge keys apply, unknown tags fall away. This room knows YAML; it refuses to know which keys mean what.

mod plain;
mod scalar;

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle};

use crate::node::{self, Entry, Node, Value};
use crate::text::Span;

pub use plain::parse_plain;

/// Limits on one document. Real headers stay far below; a bomb meets them within microseconds.
const MAX_EVENTS: usize = 50_000;
const MAX_NODES: usize = 20_000;
const MAX_ALIASES: usize = 100;
const MAX_DEPTH: usize = 64;

const TOO_DEEP: &str = "too deeply nested";

/// A parsed document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The root value.
    pub root: Node,
    /// Keys that were overridden by a later twin.
    pub duplicates: Vec<Span>,
    /// Values whose tag (`!word`) or anchor (`&word`) fell away.
    pub dropped: Vec<Span>,
}

/// Why a text is not a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlError {
    /// Not YAML.
    Syntax {
        /// Where the parser gave up.
        at: usize,
        /// Its words.
        message: String,
    },
    /// YAML, but larger than posse is willing to build.
    TooComplex {
        /// Where the limit was met.
        at: usize,
        /// Which limit.
        limit: &'static str,
    },
    /// More than one document in the stream.
    SeveralDocuments,
}

/// Parses one document. Offsets in the result are bytes of `text`.
pub fn parse(text: &str) -> Result<Document, YamlError> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        emit_comments: false,
    };
    let mut composer = Composer { text, ..Composer::default() };
    for (count, event) in Parser::new_from_str_with_options(text, options).enumerate() {
        let (event, span) = event.map_err(|error| scan_error(&error))?;
        let span = Span::new(byte(text, &span.start), byte(text, &span.end));
        if count >= MAX_EVENTS {
            return Err(YamlError::TooComplex { at: span.start as usize, limit: "too many values" });
        }
        composer.take(event, span)?;
    }
    composer.finish()
}

fn scan_error(error: &granit_parser::ScanError) -> YamlError {
    let at = error.marker().byte_offset().unwrap_or_default();
    match error.kind() {
        // The parser's own nesting limits are budgets, not syntax: a repair must not try again.
        ErrorKind::RecursionLimitExceeded => YamlError::TooComplex { at, limit: TOO_DEEP },
        // The kind's words alone: the error's own end with a position, which is reported by our own means.
        kind => YamlError::Syntax { at, message: kind.to_string() },
    }
}

fn byte(text: &str, marker: &Marker) -> usize {
    marker.byte_offset().unwrap_or(text.len())
}

/// Builds nodes from events on a stack of its own, so that depth costs heap, not call stack.
#[derive(Default)]
struct Composer<'t> {
    text: &'t str,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    anchors: HashMap<usize, (Node, Extent)>,
    aliases: usize,
    nodes: usize,
    duplicates: Vec<Span>,
    dropped: Vec<Span>,
}

/// A collection that has begun and not ended.
enum Open {
    List { start: Span, anchor: usize, items: Vec<Node> },
    Map { start: Span, anchor: usize, entries: Vec<Entry>, key: Option<Node> },
}

impl Composer<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 { Err(YamlError::SeveralDocuments) } else { Ok(()) }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let as_text = style != ScalarStyle::Plain
                    || tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
                if tag.is_some() || anchor != 0 {
                    self.dropped.push(self.with_properties(span));
                }
                let value = if as_text { Value::Text(text.into()) } else { scalar::resolve(text) };
                self.put(Node { span: self.trimmed(span, style), value }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Open::List { start: span, anchor, items: Vec::new() }, span)
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Open::Map { start: span, anchor, entries: Vec::new(), key: None }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(id) => self.alias(id, span),
            // Not switched on in `parse`, and the enum may grow: metadata, not values.
            _ => Ok(()),
        }
    }

    /// The parser counts brackets and indentation apart, and sees nothing of what an alias brings in.
    fn begin(&mut self, open: Open, span: Span) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlError::TooComplex { at: span.start as usize, limit: TOO_DEEP });
        }
        self.open.push(open);
        Ok(())
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), YamlError> {
        self.aliases += 1;
        let at = span.start as usize;
        let Some((node, Extent { size, depth })) = self.anchors.get(&id) else {
            let message = "an alias inside the value it stands for".into();
            return Err(YamlError::Syntax { at, message });
        };
        if self.aliases > MAX_ALIASES || self.nodes + size > MAX_NODES {
            return Err(YamlError::TooComplex { at, limit: "too many aliases" });
        }
        if self.open.len() + depth > MAX_DEPTH {
            return Err(YamlError::TooComplex { at, limit: TOO_DEEP });
        }
        // `put` counts one node; the copies below it count too.
        self.nodes += size.saturating_sub(1);
        let mut copy = node.clone();
        copy.span = span;
        self.put(copy, 0)
    }

    fn close(&mut self, end: Span) -> Result<(), YamlError> {
        let (span, anchor, value) = match self.open.pop() {
            Some(Open::List { start, anchor, items }) => (start.to(end), anchor, Value::List(items)),
            Some(Open::Map { start, anchor, entries, key: _ }) => {
                let (entries, lost) = node::drop_duplicates(apply_merges(entries));
                self.duplicates.extend(lost);
                (start.to(end), anchor, Value::Map(entries))
            }
            None => return Ok(()),
        };
        self.put(Node { span: self.trimmed(span, ScalarStyle::Plain), value }, anchor)
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(YamlError::TooComplex { at: node.span.start as usize, limit: "too many values" });
        }
        if anchor != 0 {
            if self.anchors.len() >= MAX_ALIASES {
                return Err(YamlError::TooComplex {
                    at: node.span.start as usize,
                    limit: "too many anchors",
                });
            }
            let extent = Extent::of(&node);
            self.anchors.insert(anchor, (node.clone(), extent));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { key, entries, .. }) => match key.take() {
                None => *key = Some(node),
                Some(key) => entries.push(Entry { key_span: key.span, key: key_text(key, self.text), node }),
            },
        }
        Ok(())
    }

    /// A value together with the tag or anchor before it on its line: that is what falls away.
    fn with_properties(&self, span: Span) -> Span {
        let start = span.start as usize;
        let line = crate::text::line_start(self.text, start);
        let before = self.text.get(line..start).unwrap_or_default();
        let first = before.find(['!', '&']).map_or(start, |at| line + at);
        Span::new(first, span.end as usize)
    }

    /// Collections and block scalars end where the next token begins; reports should not point at blank lines.
    fn trimmed(&self, span: Span, style: ScalarStyle) -> Span {
        if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
            return span;
        }
        let Some(slice) = self.text.get(span.range()) else { return span };
        Span::new(span.start as usize, span.start as usize + slice.trim_end().len())
    }

    fn finish(self) -> Result<Document, YamlError> {
        let root = self.root.unwrap_or(Node { span: Span::default(), value: Value::Null });
        Ok(Document { root, duplicates: self.duplicates, dropped: self.dropped })
    }
}

/// How large a value is: all its nodes, and how many collections stand inside each other.
#[derive(Clone, Copy)]
struct Extent {
    size: usize,
    depth: usize,
}

impl Extent {
    fn of(node: &Node) -> Self {
        let whole = |parts: &mut dyn Iterator<Item = Self>| {
            parts.fold(Self { size: 1, depth: 1 }, |whole, part| Self {
                size: whole.size + part.size,
                depth: whole.depth.max(1 + part.depth),
            })
        };
        match &node.value {
            Value::List(items) => whole(&mut items.iter().map(Self::of)),
            Value::Map(entries) => whole(&mut entries.iter().map(|entry| Self::of(&entry.node))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Self { size: 1, depth: 0 },
        }
    }
}

fn key_text(key: Node, source: &str) -> Box<str> {
    match key.value {
        Value::Text(text) | Value::Number(text) => text,
        Value::Bool(_) | Value::Null | Value::List(_) | Value::Map(_) => {
            source.get(key.span.range()).unwrap_or_default().into()
        }
    }
}

/// `<<: *base` brings the entries of a mapping (or of several) in; keys written out win over merged ones.
fn apply_merges(entries: Vec<Entry>) -> Vec<Entry> {
    if !entries.iter().any(|entry| &*entry.key == "<<") {
        return entries;
    }
    let mut merged: Vec<Entry> = Vec::new();
    let mut own = Vec::new();
    for entry in entries {
        let mergeable = &*entry.key == "<<" && matches!(entry.node.value, Value::Map(_) | Value::List(_));
        if !mergeable {
            own.push(entry);
            continue;
        }
        let maps = match entry.node.value {
            Value::List(items) => items,
            other => vec![Node { span: entry.node.span, value: other }],
        };
        for map in maps {
            let Value::Map(more) = map.value else { continue };
            // The first mapping of a list wins over the later ones.
            merged.extend(
                more.into_iter()
                    .filter(|new| !merged.iter().any(|old| old.key == new.key))
                    .collect::<Vec<_>>(),
            );
        }
    }
    merged.retain(|entry| !own.iter().any(|mine| mine.key == entry.key));
    merged.extend(own);
    merged
}

#[cfg(test)]
mod tests;
