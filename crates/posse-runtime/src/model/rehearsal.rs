//! Models that follow a script: written by hand as YAML, or recorded from a real run.
//!
//! A script makes demos and tests of agents possible without a key. A recording also checks: the first request that
//! differs from the recorded one in what matters ends the run with the difference.
//!
//! Agents that work side by side ask in no certain order. Each one therefore has its own place in the script or the
//! recording; only a script that is a plain list is shared by all, in the order of the requests.

mod record;
mod script;

use std::collections::HashMap;
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
    /// How many requests each agent has made; the main one has no name.
    asked: Mutex<HashMap<Box<str>, usize>>,
    world: Arc<World>,
}

enum Source {
    Script(Script),
    Recording(Recording),
}

impl Rehearsal {
    /// Plays a script.
    pub fn of_script(script: Script, world: Arc<World>) -> Self {
        Self { source: Source::Script(script), asked: Mutex::default(), world }
    }

    /// Plays a recording.
    pub fn of_recording(recording: Recording, world: Arc<World>) -> Self {
        Self { source: Source::Recording(recording), asked: Mutex::default(), world }
    }

    /// Reads a file: YAML is a script, lines of JSON are a recording.
    pub fn open(path: &Path, world: Arc<World>) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: path.to_owned(), source })?;
        let is_script = |start: &str| start.starts_with("{\"main\"") || start.starts_with("{\"agents\"");
        if Some(text.trim_start()).is_some_and(|start| start.starts_with("{\"") && !is_script(start)) {
            return Ok(Self::of_recording(Recording::parse(&text, path)?, world));
        }
        Ok(Self::of_script(Script::parse(&text, path)?, world))
    }

    fn answer(&self, request: &Request) -> Result<Reply, Failure> {
        match &self.source {
            Source::Recording(recording) => {
                let number = self.count(request.agent.as_deref().unwrap_or_default());
                recording.answer(number, request, &self.world)
            }
            Source::Script(script) => {
                let diverged = |text: String| Failure::new(FailureKind::Diverged, text);
                let steps = script.turns_of(request.agent_kind.as_deref()).map_err(diverged)?;
                let agent = request.agent.as_deref().filter(|_| script.agents.is_some());
                let number = self.count(agent.unwrap_or_default());
                let Some(step) = steps.get(number) else {
                    let turns = steps.len();
                    let text = match request.agent_kind.as_deref().filter(|_| agent.is_some()) {
                        Some(kind) => format!(
                            "the script has {turns} turns for the agent {kind}; this is its request {}",
                            number + 1
                        ),
                        None => format!("the script has {turns} turns; this is request {}", number + 1),
                    };
                    return Err(diverged(text));
                };
                Ok(self.play(step, number, agent, request))
            }
        }
    }

    /// Which request of an agent this is, from 0.
    fn count(&self, agent: &str) -> usize {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let next = asked.entry(agent.into()).or_default();
        *next += 1;
        *next - 1
    }

    fn play(&self, step: &Step, number: usize, agent: Option<&str>, request: &Request) -> Reply {
        let cwd = self.world.cwd.display().to_string();
        let whose = agent.map(|agent| format!("{agent}_")).unwrap_or_default();
        let ids = format!("rehearsal_{whose}{:04}", number + 1);
        let blocks = step.blocks(&ids, &cwd);
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
            id: format!("msg_{ids}").into(),
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
