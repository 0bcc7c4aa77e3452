//! What is said, as hooks would have it shown. Only the terminal sees the difference: the conversation keeps the words
//! of the model.

use std::path::PathBuf;

use posse_core::event::{Delta, What};
use posse_core::hooks::{HookEvent, Merged, Occasion};
use posse_core::message::{Block, Reply};
use tokio_util::sync::CancellationToken;

use super::{Event, Events, Run};
use crate::authority::RunHooks;

/// Shows texts that hooks look at first. They come whole: a piece alone could not be judged.
pub(super) struct Display {
    hooks: RunHooks,
    cwd: PathBuf,
}

impl Run {
    /// Who shows texts, if hooks want to see them first.
    pub(super) fn display(&self) -> Option<Display> {
        let hooks = &self.setup.guard.hooks;
        let wanted = hooks.hears(HookEvent::MessageDisplay);
        wanted.then(|| Display { hooks: hooks.clone(), cwd: self.cx.cwd.get() })
    }
}

impl Display {
    pub(super) async fn show(&self, reply: &Reply, events: &Events, stop: &CancellationToken) {
        let send = |delta: Delta| {
            // Nobody listening is no reason to stop working.
            events.send(Event { what: What::Delta(delta), ids: Vec::new(), from: None });
        };
        let texts: Vec<&String> = reply.blocks.iter().filter_map(text).collect();
        for (index, text) in texts.iter().enumerate() {
            let occasion = Occasion::MessageDisplay {
                turn_id: self.hooks.prompt_id().unwrap_or_default(),
                message_id: reply.id.to_string(),
                index: u64::try_from(index).unwrap_or(u64::MAX),
                is_final: index + 1 == texts.len(),
                delta: (*text).clone(),
            };
            let merged = tokio::select! {
                merged = self.hooks.fire(&occasion, &self.cwd) => merged,
                () = stop.cancelled() => Merged::default(),
            };
            for note in merged.system_messages.iter().chain(&merged.errors) {
                send(Delta::Note(note.clone()));
            }
            send(Delta::Text(merged.display_content.unwrap_or_else(|| (*text).clone())));
        }
    }
}

fn text(block: &Block) -> Option<&String> {
    match block {
        Block::Text(text) => Some(text),
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Media(_)
        | Block::Other(_) => None,
    }
}
