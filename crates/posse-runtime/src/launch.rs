//! From what somebody asks for to a run that can be talked to: agent, model, tools, prompt, session.
//!
//! Plain data in, a [`Launched`] out. Frontends parse their flags into a [`LaunchRequest`] and know nothing of how a run
//! is put together; this room knows nothing of flags.

mod asides;
mod assemble;
mod crew;
mod ground;
mod host;
mod launched;
mod listings;
mod live;
mod models;
mod opened;
mod output;
mod powers;
mod provider;
mod reading;
mod servers;
mod side;
mod skills;
mod start;
mod tools;
mod verifier;
mod watch;
mod weights;

use std::path::PathBuf;
use std::sync::Arc;

use posse_core::definition::Effort;
use posse_core::hooks::occasion::SetupTrigger;
use posse_core::permission::Mode;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::ask::Desk;
use crate::catalog::{CatalogOptions, LoadError};
use crate::hooks::HookCallback;
use crate::model::rehearsal::ScriptError;
use crate::model::{Thinking, ThinkingDisplay};
use crate::session::{Mirrored, SessionError};
use crate::world::World;

pub use host::{Host, Reins};
pub use launched::{AgentFact, CommandFact, Facts, Launched, ToBackground, converse, news};
pub use listings::{HookRow, RuleRow};
pub use live::Resettled;
pub use models::NextModel;
pub use output::StructuredOutput;
pub use reading::{FileRead, TaskOutput};
pub use weights::{Weight, Weights};

/// What somebody asks for.
#[derive(Clone, Debug, Default)]
pub struct LaunchRequest {
    /// Where agents and settings come from.
    pub catalog: CatalogOptions,
    /// Run as this agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Another for when that one is overloaded.
    pub fallback_model: Option<String>,
    /// Instead of the default system prompt.
    pub system_prompt: Option<String>,
    /// `--mcp-config`: servers as JSON, or files of JSON.
    pub mcp_configs: Vec<String>,
    /// `--strict-mcp-config`: no other servers than those.
    pub strict_mcp: bool,
    /// Whether the system prompt must be the same on every machine: what is not goes before the first prompt.
    pub static_prompt: bool,
    /// Whether an agent that is not there is passed over with a note.
    pub lenient_agent: bool,
    /// Behind the system prompt.
    pub append_system_prompt: Option<String>,
    /// `--tools`: which built-in tools there are; `None` means all.
    pub tools: Option<String>,
    /// `--allowedTools`.
    pub allowed_tools: Vec<String>,
    /// `--disallowedTools`.
    pub disallowed_tools: Vec<String>,
    /// How actions are approved.
    pub permission_mode: Option<Mode>,
    /// Whether the mode that asks nothing may be switched to later.
    pub may_bypass: bool,
    /// What sets the session up, if it is to be.
    pub setup: Option<SetupTrigger>,
    /// Requests to the model per turn.
    pub max_turns: Option<u32>,
    /// Dollars for the whole run.
    pub max_budget_usd: Option<f64>,
    /// How hard to try.
    pub effort: Option<Effort>,
    /// How much to think.
    pub thinking: Thinking,
    /// A JSON Schema the answer must fit.
    pub json_schema: Option<Value>,
    /// Which conversation.
    pub session: SessionChoice,
    /// Whether it begins because the last one was cleared away.
    pub after_clear: bool,
    /// Whether nothing is written down.
    pub no_persistence: bool,
    /// Whether to work in a worktree, and in which.
    pub worktree: Option<Option<String>>,
    /// Where to record requests and replies.
    pub record: Option<PathBuf>,
    /// Whether raw events of the provider are wanted.
    pub raw_events: bool,
    /// Who started this, for the transcript.
    pub entrypoint: String,
    /// Where a person can be asked; by default nobody can.
    pub desk: Desk,
    /// The program that started this, as far as it answers for something.
    pub host: Host,
    /// That program's hooks.
    pub callbacks: Vec<HookCallback>,
    /// Features of the provider to ask for besides.
    pub betas: Vec<String>,
    /// Tokens the model is told to make do with.
    pub task_budget: Option<u64>,
    /// How thoughts are shown.
    pub thinking_display: ThinkingDisplay,
    /// The last entry of the old conversation that counts.
    pub resume_at: Option<String>,
    /// The one turn that may be lost by that.
    pub resume_drops: Option<String>,
    /// Whether files are kept as they were before each prompt.
    pub checkpoints: bool,
    /// The only skills the model is offered; nothing said is all.
    pub skills: Option<Vec<String>>,
    /// Who is handed every line of the transcripts, too.
    pub mirror: Option<UnboundedSender<Mirrored>>,
}

/// Which conversation to have.
#[derive(Clone, Debug, Default)]
pub enum SessionChoice {
    /// A new one.
    #[default]
    New,
    /// A new one with this id.
    NewWith(String),
    /// The last one of this folder.
    Continue {
        /// As a copy, with this id or a new one.
        fork: Option<Option<String>>,
    },
    /// One by id or title.
    Resume {
        /// Which.
        id: String,
        /// As a copy, with this id or a new one.
        fork: Option<Option<String>>,
    },
}

/// Why a run cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Agents or settings.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The script of a rehearsal.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Servers that the command line names.
    #[error("{0}")]
    Servers(crate::mcp::config::McpConfigError),
    /// No such agent.
    #[error("there is no agent called `{name}`; there are {known}")]
    NoAgent {
        /// What was asked for.
        name: String,
        /// Which there are.
        known: String,
    },
    /// What is asked for is not allowed, or not there.
    #[error("{what}")]
    Refused {
        /// What is wrong.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// Commands cannot be confined, and must be.
    #[error("{0}")]
    Sandbox(String),
    /// The schema cannot be used.
    #[error("--json-schema cannot be used: {0}")]
    Schema(String),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
}

/// Puts a run together.
pub async fn launch(world: &Arc<World>, request: LaunchRequest) -> Result<Launched, LaunchError> {
    let ground = ground::prepare(world, request).await?;
    assemble::assemble(ground).await
}
