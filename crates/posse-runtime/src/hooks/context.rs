//! What the engine is handed: the run it works for, and whoever does what it cannot do itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use posse_core::event::HookNotice;
use posse_core::hooks::Common;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::world::World;

/// Answers one question with a model (`prompt` hooks).
pub trait Judge: Send + Sync {
    /// What the model says, or why it could not be asked. `model` is as written in the hook.
    fn ask<'a>(
        &'a self,
        prompt: &'a str,
        model: Option<&'a str>,
        limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// Checks something with an agent that has tools (`agent` hooks).
pub trait Verifier: Send + Sync {
    /// What the agent says last, after `most_turns` at most, or why there is nothing.
    fn verify<'a>(
        &'a self,
        prompt: &'a str,
        model: Option<&'a str>,
        most_turns: u32,
        limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// Calls a tool of a connected MCP server (`mcp_tool` hooks).
pub trait McpCaller: Send + Sync {
    /// The text the tool answers, or why it failed.
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
        limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// Asks the host of the session (its SDK) to run one of its callbacks.
pub trait Callbacks: Send + Sync {
    /// The host's answer, or why it failed. Dropping the future means that nobody waits any more.
    fn call<'a>(
        &'a self,
        id: &'a str,
        input: &'a Value,
        tool_use_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Value, String>>;

    /// Whether nobody is there any more who could answer.
    fn is_gone(&self) -> bool {
        false
    }
}

/// What a handler in the background has to say when it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct HookMail {
    /// For the model.
    pub text: String,
    /// The run is to be woken for it (`asyncRewake`); otherwise the next turn is soon enough.
    pub wakes: bool,
}

type Condition = dyn Fn(&str, &str, &Value) -> bool + Send + Sync;
type Notices = dyn Fn(HookNotice) + Send + Sync;
type Mailbox = dyn Fn(HookMail) + Send + Sync;

/// Whoever does what the engine cannot. What is absent makes the hooks that need it fail, which blocks nothing.
#[derive(Clone)]
pub struct Services {
    /// Whether a permission rule (`if`) matches a call: rule, tool, input.
    pub condition: Arc<Condition>,
    /// Who watches.
    pub notices: Arc<Notices>,
    /// Who takes what handlers in the background say.
    pub mail: Arc<Mailbox>,
    /// For `prompt` hooks.
    pub judge: Option<Arc<dyn Judge>>,
    /// For `agent` hooks.
    pub verifier: Option<Arc<dyn Verifier>>,
    /// For `mcp_tool` hooks.
    pub mcp: Option<Arc<dyn McpCaller>>,
    /// For hooks of the host.
    pub callbacks: Option<Arc<dyn Callbacks>>,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            // A condition nobody can judge does not hold.
            condition: Arc::new(|_, _, _| false),
            notices: Arc::new(|_| {}),
            mail: Arc::new(|_| {}),
            judge: None,
            verifier: None,
            mcp: None,
            callbacks: None,
        }
    }
}

/// What a handler needs to know of the run.
#[derive(Clone)]
pub struct HookCx {
    /// Environment, clock, ids.
    pub world: Arc<World>,
    /// What every handler is told. Its `cwd` is where programs run.
    pub common: Common,
    /// Where the session was launched; does not follow worktrees.
    pub project_dir: PathBuf,
    /// What kind of program this session is to those it starts (`CLAUDE_CODE_ENTRYPOINT`).
    pub entrypoint: Box<str>,
    /// Lines written there are sourced before later commands of Bash.
    pub env_file: Option<PathBuf>,
    /// Where long texts go.
    pub spool: Arc<Path>,
    /// Cancelled when the run ends.
    pub stop: CancellationToken,
    /// Whoever does the rest.
    pub services: Arc<Services>,
}

impl HookCx {
    /// For a run at `world.cwd`, with nobody to help.
    pub fn new(world: Arc<World>, common: Common, spool: impl Into<Arc<Path>>) -> Self {
        let entrypoint = world.env.get("CLAUDE_CODE_ENTRYPOINT").unwrap_or("cli").into();
        Self {
            project_dir: world.cwd.clone(),
            world,
            common,
            entrypoint,
            env_file: None,
            spool: spool.into(),
            stop: CancellationToken::new(),
            services: Arc::default(),
        }
    }
}

/// Puts a text that is too long into a file and says where.
pub(super) fn keep(spool: &Path, world: &World, whole: &str) -> Option<String> {
    let folder = spool.join("hooks");
    let path = folder.join(format!("{}.txt", world.ids.hex16()));
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, whole)).ok()?;
    Some(path.display().to_string())
}
