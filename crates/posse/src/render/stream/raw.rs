//! What was told of a reply before it was whole.
//!
//! What is open of the model's raw events: a try that breaks off is brought to an end, so that whoever counts beginnings
//! and ends counts as many of both.

use std::collections::BTreeSet;
use std::sync::Arc;

use posse_core::event::{Delta, Fact, What};
use serde_json::{Value, json};

/// A message in the making, as its events tell.
#[derive(Debug, Default)]
pub(super) struct Raw {
    open: Option<BTreeSet<u64>>,
}

impl Raw {
    /// Takes note of what happens; the events that are missing for an end, if it will not come by itself.
    pub(super) fn note(&mut self, what: &What) -> Vec<Value> {
        match what {
            What::Delta(Delta::Raw(event)) => {
                self.take(event);
                Vec::new()
            }
            What::Delta(Delta::Discarded) | What::Fact(_) => self.close(),
            What::Delta(_) => Vec::new(),
        }
    }

    fn take(&mut self, event: &Value) {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        match (kind, &mut self.open) {
            ("message_start", open) => *open = Some(BTreeSet::new()),
            ("message_stop", open) => *open = None,
            ("content_block_start", Some(blocks)) => {
                blocks.insert(index);
            }
            ("content_block_stop", Some(blocks)) => {
                blocks.remove(&index);
            }
            _ => {}
        }
    }

    fn close(&mut self) -> Vec<Value> {
        let Some(blocks) = self.open.take() else { return Vec::new() };
        let stops = blocks.into_iter().map(|index| json!({ "type": "content_block_stop", "index": index }));
        stops.chain([json!({ "type": "message_stop" })]).collect()
    }
}

/// Blocks that were told of as they came: the whole reply does not repeat them.
#[derive(Debug, Default)]
pub(super) struct Shown(Vec<Arc<str>>);

impl Shown {
    /// Takes lines out that have been told.
    pub(super) fn forget_told(&mut self, what: &What, ids: &[Arc<str>], lines: &mut Vec<Value>) {
        match what {
            What::Delta(Delta::Block(_)) => self.0.extend(ids.iter().cloned()),
            What::Fact(Fact::Replied(_)) => {
                let told = std::mem::take(&mut self.0);
                let is_new = |line: &Value| {
                    let id = line.get("uuid").and_then(Value::as_str);
                    !told.iter().any(|told| Some(&**told) == id)
                };
                lines.retain(is_new);
            }
            What::Delta(_) | What::Fact(_) => {}
        }
    }
}
