//! A tree of values with positions: what a YAML header or a JSON file says, before anybody asks what it means.
//!
//! One type serves both formats, so a field has one reader however it was written. Scalars keep the text they were
//! written with: `1.10` is not silently 1.1, and a quoted `"true"` is text.

#[cfg(test)]
pub(crate) mod trial;

use std::collections::HashMap;

use crate::text::Span;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where the value stands in the file.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// What a node can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(Box<str>),
    /// Text.
    Text(Box<str>),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order written, without duplicate keys.
    Map(Vec<Entry>),
}

/// One `key: value` of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key; keys that are not text are taken as written.
    pub key: Box<str>,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

impl Node {
    /// A text node.
    pub fn text(span: Span, text: impl Into<Box<str>>) -> Self {
        Self { span, value: Value::Text(text.into()) }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The entries, if it is a mapping.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => None,
        }
    }

    /// A boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.value {
            Value::Bool(yes) => Some(*yes),
            Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The value under a key, if it is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|entry| &*entry.key == key).map(|entry| &entry.node)
    }

    /// What kind of value it is, for messages: "a list", "text".
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// The text under a key.
    pub fn text_of(&self, key: &str) -> Option<Box<str>> {
        self.get(key)?.as_text().map(Box::from)
    }

    /// The scalars of a list; nested items are left out.
    pub fn scalars(&self) -> Option<Vec<Box<str>>> {
        Some(self.as_list()?.iter().filter_map(|item| item.scalar_text().map(Box::from)).collect())
    }

    /// The entries of a mapping whose values are scalars; of anything else, nothing.
    pub fn scalar_pairs(&self) -> Vec<(Box<str>, Box<str>)> {
        let entries = self.as_map().unwrap_or_default();
        entries.iter().filter_map(|e| Some((e.key.clone(), Box::from(e.node.scalar_text()?)))).collect()
    }

    /// The same tree with every span passed through `map`.
    pub fn map_spans(&mut self, map: &impl Fn(Span) -> Span) {
        self.span = map(self.span);
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.map_spans(map)),
            Value::Map(entries) => entries.iter_mut().for_each(|entry| {
                entry.key_span = map(entry.key_span);
                entry.node.map_spans(map);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }

    /// The scalar as it would be printed; lists and mappings have none.
    pub fn scalar_text(&self) -> Option<&str> {
        match &self.value {
            Value::Null => Some("null"),
            Value::Bool(true) => Some("true"),
            Value::Bool(false) => Some("false"),
            Value::Number(text) | Value::Text(text) => Some(text),
            Value::List(_) | Value::Map(_) => None,
        }
    }
}

/// Keeps the last of several entries with one key, in the place of the first, and returns the losers' key spans.
pub(crate) fn drop_duplicates(entries: Vec<Entry>) -> (Vec<Entry>, Vec<Span>) {
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    let mut places: HashMap<Box<str>, usize> = HashMap::with_capacity(entries.len());
    let mut lost = Vec::new();
    for entry in entries {
        match places.get(&entry.key) {
            Some(&place) => {
                lost.push(kept[place].key_span);
                kept[place] = entry;
            }
            None => {
                places.insert(entry.key.clone(), kept.len());
                kept.push(entry);
            }
        }
    }
    (kept, lost)
}
