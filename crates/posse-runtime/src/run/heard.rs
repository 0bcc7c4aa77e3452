//! What has been heard of a reply that is not whole yet: kept, if it never becomes whole. Knows texts only. Thoughts
//! that are not signed cannot be sent again, and a call that nobody will answer is better not made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::event::Delta;
use posse_core::message::{Block, Reply, StopReason, Usage};

use crate::session::EntryIds;
use crate::world::Ids;

/// What has been heard so far. Clones hear the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<So>>);

#[derive(Debug, Default)]
struct So {
    /// Texts that are whole, with what they are called.
    whole: Vec<(Block, Option<Arc<str>>)>,
    /// The text that is not.
    begun: String,
}

impl Heard {
    fn so(&self) -> MutexGuard<'_, So> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what comes.
    pub(super) fn note(&self, delta: &Delta, ids: &EntryIds) {
        let mut so = self.so();
        match delta {
            Delta::Text(text) => so.begun.push_str(text),
            Delta::Block(reply) => {
                so.begun.clear();
                let texts = reply.blocks.iter().filter(|block| matches!(block, Block::Text(_)));
                so.whole.extend(texts.map(|text| (text.clone(), ids.first().cloned())));
            }
            Delta::Discarded => *so = So::default(),
            Delta::Requesting
            | Delta::Thinking(_)
            | Delta::ToolStart { .. }
            | Delta::Raw(_)
            | Delta::Retry { .. }
            | Delta::ToolRunning(_)
            | Delta::ToolProgress { .. }
            | Delta::Compacting
            | Delta::Hook(_)
            | Delta::Task(_)
            | Delta::Note(_)
            | Delta::ModeChanged(_) => {}
        }
    }

    /// What there is of the reply, and what its blocks are called; nothing if nothing was said.
    pub(super) fn cut(&self, model: &str, ids: &Ids) -> Option<(Reply, EntryIds)> {
        let So { mut whole, begun } = std::mem::take(&mut *self.so());
        if !begun.trim().is_empty() {
            whole.push((Block::Text(begun), None));
        }
        let name = |id: Option<Arc<str>>| id.unwrap_or_else(|| ids.uuid().into());
        let (blocks, names): (Vec<Block>, EntryIds) =
            whole.into_iter().map(|(block, id)| (block, name(id))).unzip();
        (!blocks.is_empty()).then(|| {
            let id = format!("msg_{}", ids.hex16()).into();
            let (model, usage) = (model.into(), Usage::default());
            (Reply { id, model, blocks, stop: StopReason::Aborted, usage }, names)
        })
    }
}
