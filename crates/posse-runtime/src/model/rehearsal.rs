//! Models that follow a script: written by hand as YAML, or recorded from a real run.
//!
//! A script makes demos and tests of agents possible without a key. A recording also checks: the first request that
//! differs from the recorded one in what matters ends the run with the difference.

mod record;
mod script;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Block, Reply, StopReason, Usage};

use super::{Model, Request};
use crate::world::World;

pub use record::{Recorder, Recording};
pub use script::{Calls, Script, ScriptError, Step};

/// Plays a script or a recording.
pub struct Rehearsal {
    source: Source,
    next: Mutex<usize>,
    world: Arc<World>,
}

enum Source {
    Script(Script),
    Recording(Recording),
}

impl Rehearsal {
    /// Plays a script.
    pub fn of_script(script: Script, world: Arc<World>) -> Self {
        Self { source: Source::Script(script), next: Mutex::new(0), world }
    }

    /// Plays a recording.
    pub fn of_recording(recording: Recording, world: Arc<World>) -> Self {
        Self { source: Source::Recording(recording), next: Mutex::new(0), world }
    }

    /// Reads a file: YAML is a script, lines of JSON are a recording.
    pub fn open(path: &Path, world: Arc<World>) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: path.to_owned(), source })?;
        if text.trim_start().starts_with('{') {
            return Ok(Self::of_recording(Recording::parse(&text, path)?, world));
        }
        Ok(Self::of_script(Script::parse(&text, path)?, world))
    }

    fn answer(&self, request: &Request) -> Result<Reply, Failure> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *next;
        *next += 1;
        match &self.source {
            Source::Recording(recording) => recording.answer(number, request, &self.world),
            Source::Script(script) => {
                let Some(step) = script.steps.get(number) else {
                    let text = format!(
                        "the script has {} turns; this is request {}",
                        script.steps.len(),
                        number + 1
                    );
                    return Err(Failure::new(FailureKind::Diverged, text));
                };
                Ok(self.play(step, number, request))
            }
        }
    }

    fn play(&self, step: &Step, number: usize, request: &Request) -> Reply {
        let cwd = self.world.cwd.display().to_string();
        let blocks = step.blocks(number, &cwd);
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse(_)));
        // Four bytes make a token, roughly: a rehearsal should show plausible numbers, and always the same.
        let said = |blocks: &[Block]| -> u64 {
            let bytes: usize =
                blocks.iter().map(|block| posse_core::message::json::block(block).to_string().len()).sum();
            u64::try_from(bytes / 4).unwrap_or_default()
        };
        let input = request.messages.iter().map(|message| said(&message.blocks)).sum();
        let usage = Usage { input, output: said(&blocks), ..Usage::default() };
        Reply {
            id: format!("msg_rehearsal_{:04}", number + 1).into(),
            model: request.model.clone(),
            blocks,
            stop: if calls { StopReason::ToolUse } else { StopReason::EndTurn },
            usage,
        }
    }
}

impl Model for Rehearsal {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let reply = self.answer(request)?;
            draw(&reply, on);
            Ok(reply)
        })
    }
}

/// Shows a finished reply as a provider would have streamed it.
fn draw(reply: &Reply, on: &mut (dyn FnMut(Delta) + Send)) {
    for block in &reply.blocks {
        match block {
            Block::Text(text) => on(Delta::Text(text.clone())),
            Block::Thinking { text, .. } => on(Delta::Thinking(text.clone())),
            Block::ToolUse(call) => on(Delta::ToolStart { id: call.id.clone(), name: call.name.clone() }),
            Block::RedactedThinking(_) | Block::ToolResult(_) | Block::Media(_) | Block::Other(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
