//! Hooks: events, matchers, handlers as configured; what a handler is told, and what its answer means.
//!
//! `read` takes them from settings and frontmatter alike; `facts` is the table of events; `matcher`, `occasion`,
//! `answer`, `judgement` and `merge` are the way of one occasion. Refuses to know how a handler is run.

pub mod answer;
pub mod facts;
pub mod fill;
pub mod judgement;
pub mod matcher;
pub mod merge;
pub mod occasion;
mod read;

use std::time::Duration;

pub use matcher::Matcher;
pub use merge::{Answered, Merged, merge};
pub use occasion::{Common, Occasion};
pub use read::read;

macro_rules! events {
    ($($name:ident,)*) => {
        /// The moments at which hooks run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum HookEvent { $(#[doc = stringify!($name)] $name,)* }

        impl HookEvent {
            /// All events.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in files and on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

events! {
    PreToolUse, PostToolUse, PostToolUseFailure, Notification, UserPromptSubmit, SessionStart, SessionEnd, Stop,
    StopFailure, SubagentStart, SubagentStop, PreCompact, PostCompact, PermissionRequest, PermissionDenied, Setup,
    TeammateIdle, TaskCreated, TaskCompleted, Elicitation, ElicitationResult, ConfigChange, WorktreeCreate,
    WorktreeRemove, InstructionsLoaded, CwdChanged, FileChanged, UserPromptExpansion, PostToolBatch, MessageDisplay,
    DirectoryAdded, PreModelSwitch, PostModelSwitch,
}

impl HookEvent {
    /// Finds an event by its name. Case counts.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.name() == name)
    }
}

/// Handlers that run together at an event.
#[derive(Clone, Debug, PartialEq)]
pub struct HookGroup {
    /// When.
    pub event: HookEvent,
    /// For which tool, agent type or source, as written; `None` means all.
    pub matcher: Option<Box<str>>,
    /// What.
    pub handlers: Vec<HookHandler>,
}

/// One thing that is run.
#[derive(Clone, Debug, PartialEq)]
pub struct HookHandler {
    /// What kind, with its own fields.
    pub kind: HookKind,
    /// How long it may take; `None` means the default of its kind.
    pub timeout: Option<Duration>,
    /// One permission rule that must match (`if`).
    pub condition: Option<Box<str>>,
    /// What to show while it runs.
    pub status_message: Option<Box<str>>,
    /// Only the first time.
    pub once: bool,
}

/// The five kinds of handler.
#[derive(Clone, Debug, PartialEq)]
pub enum HookKind {
    /// A program: through the shell, or directly if `args` are given.
    Command {
        /// Shell text, or the program.
        command: Box<str>,
        /// Arguments for direct execution.
        args: Option<Vec<Box<str>>>,
        /// Which shell.
        shell: Option<Box<str>>,
        /// Runs on while the agent goes on (`async`).
        detached: bool,
        /// Wakes the agent when it ends (`asyncRewake`).
        rewake: bool,
    },
    /// A POST of the input.
    Http {
        /// Where to.
        url: Box<str>,
        /// Extra headers, in order.
        headers: Vec<(Box<str>, Box<str>)>,
        /// Environment variables that may be used in the headers.
        allowed_env: Vec<Box<str>>,
    },
    /// A call of an MCP tool.
    McpTool {
        /// Server.
        server: Box<str>,
        /// Tool.
        tool: Box<str>,
        /// Its input, as written.
        input: Option<crate::node::Node>,
    },
    /// One question to a model.
    Prompt {
        /// The question.
        prompt: Box<str>,
        /// Which model.
        model: Option<Box<str>>,
        /// Whether the run goes on after a block.
        continue_on_block: bool,
    },
    /// A small agent that checks.
    Agent {
        /// Its task.
        prompt: Box<str>,
        /// Which model.
        model: Option<Box<str>>,
    },
}

impl HookKind {
    /// How people know it: its command, its address, the tool, the beginning of the question.
    pub fn label(&self) -> String {
        match self {
            Self::Command { command, args: None, .. } => command.to_string(),
            Self::Command { command, args: Some(args), .. } => {
                let words = std::iter::once(command).chain(args).map(|word| &**word);
                words.collect::<Vec<_>>().join(" ")
            }
            // Without what may be a secret: a user before the host, a key behind the path.
            Self::Http { url, .. } => {
                let url = url.split(['?', '#']).next().unwrap_or_default();
                let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
                let path = rest.find('/').unwrap_or(rest.len());
                let host = rest[..path].rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{}", &rest[path..])
            }
            Self::McpTool { server, tool, .. } => format!("{server}/{tool}"),
            Self::Prompt { prompt, .. } | Self::Agent { prompt, .. } => {
                let line = prompt.lines().next().unwrap_or_default();
                line.chars().take(80).collect()
            }
        }
    }

    /// Whether two do the same work, wherever they were written.
    pub fn does_the_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            // Trees of values know where they stand, which is not what they say.
            (
                Self::McpTool { server, tool, input },
                Self::McpTool { server: server2, tool: tool2, input: input2 },
            ) => {
                let plain = |node: &Option<crate::node::Node>| {
                    fill::tool_input(node.as_ref(), &serde_json::Value::Null)
                };
                server == server2 && tool == tool2 && plain(input) == plain(input2)
            }
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trial;
