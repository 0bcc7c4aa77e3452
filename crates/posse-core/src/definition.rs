//! One agent as its author wrote it.
//!
//! "Maybe set" lives here and only here: resolving turns an [`AgentDefinition`] into a spec in which nothing is left to
//! inherit. Reading never fails: it returns a definition if there is one, and every problem it met.

mod fields;
mod json;
mod markdown;
mod tool_list;
pub(crate) mod values;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::budget::Limits;
use crate::diagnostic::{Diagnostic, Problem};
use crate::hooks::HookGroup;
use crate::mcp::McpServer;
use crate::model::ModelChoice;
use crate::origin::Source;
use crate::permission::Mode;
use crate::text::{self, Location, Span};

pub use fields::{FIELDS, Field, FieldId, find as find_field, meant_by, row as field_row, vocabulary};
pub use json::{JsonAgents, parse_json_agents, read_json_agents};
pub use markdown::{Naming, Parsed, parse, written_name};
pub use tool_list::MEMORY_TOOLS;
pub use tool_list::{ToolEntry, ToolList};

/// The colours an agent can be shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Color {
    Red,
    Blue,
    Green,
    Yellow,
    Purple,
    Orange,
    Pink,
    Cyan,
}

impl Color {
    /// All colours, in the order they are handed out.
    pub const ALL: [Self; 8] = [
        Self::Red,
        Self::Blue,
        Self::Green,
        Self::Yellow,
        Self::Purple,
        Self::Orange,
        Self::Pink,
        Self::Cyan,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Blue => "blue",
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Purple => "purple",
            Self::Orange => "orange",
            Self::Pink => "pink",
            Self::Cyan => "cyan",
        }
    }
}

/// How hard a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effort {
    /// A named level.
    Level(EffortLevel),
    /// A number of the author's own.
    Number(u32),
}

/// The named levels of effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum EffortLevel {
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl EffortLevel {
    /// All levels.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// The name in files and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Level(level) => f.write_str(level.name()),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Where an agent's memory lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryScope {
    /// With the user, across projects.
    User,
    /// With the project, shared through version control.
    Project,
    /// With the project, on this machine only.
    Local,
}

impl MemoryScope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// In a git worktree of its own.
    Worktree,
    /// On another machine.
    Remote,
}

impl Isolation {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Worktree, Self::Remote];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Remote => "remote",
        }
    }
}

/// An agent as written.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// The name it goes by, plugin prefix included.
    pub name: Box<str>,
    /// When to use it.
    pub description: Box<str>,
    /// The system prompt, trimmed; empty means the default prompt.
    pub body: Arc<str>,
    /// `None` means all tools.
    pub tools: Option<ToolList>,
    /// Taken away from `tools`.
    pub disallowed_tools: ToolList,
    /// Which model.
    pub model: ModelChoice,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// How actions are approved.
    pub permission_mode: Option<Mode>,
    /// How it is shown.
    pub color: Option<Color>,
    /// Limit on requests to the model.
    pub max_turns: Option<NonZeroU32>,
    /// What it and all it starts may use.
    pub budget: Limits,
    /// Whether it always runs in the background.
    pub background: Option<bool>,
    /// Put before the first prompt, as main agent.
    pub initial_prompt: Option<Box<str>>,
    /// A folder that outlives the run.
    pub memory: Option<MemoryScope>,
    /// Where it works.
    pub isolation: Option<Isolation>,
    /// Hooks for its run.
    pub hooks: Vec<HookGroup>,
    /// MCP servers of its own.
    pub mcp_servers: Vec<McpServer>,
    /// Skills it starts with.
    pub skills: Vec<Box<str>>,
    /// Servers without which it is hidden.
    pub required_mcp_servers: Vec<Box<str>>,
    /// Without CLAUDE.md.
    pub omit_claude_md: bool,
    /// With the caller's conversation.
    pub fork_context: bool,
    /// Repeated with every turn.
    pub critical_system_reminder: Option<Box<str>>,
    /// When its conversation is compacted.
    pub auto_compact_window: Option<u32>,
    /// Agents that watch it.
    pub observers: Vec<Box<str>>,
    /// What the observers are told.
    pub observer_message: Option<Box<str>>,
    /// Where it was found.
    pub source: Source,
    /// Where its fields stand.
    pub places: Places,
}

/// Where the fields of a definition stand, for reports made long after the file was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The text the spans are in: the file up to the end of its header, or the JSON it came in.
    pub text: Arc<str>,
    /// Field, key, value.
    pub fields: Vec<(FieldId, Span, Span)>,
}

impl Places {
    /// Where a field's key stands, if the author wrote it.
    pub fn key(&self, id: FieldId) -> Option<Span> {
        self.fields.iter().find(|(field, _, _)| *field == id).map(|(_, key, _)| *key)
    }

    /// Where a field's value stands, if the author wrote it.
    pub fn value(&self, id: FieldId) -> Option<Span> {
        self.fields.iter().find(|(field, _, _)| *field == id).map(|(_, _, value)| *value)
    }
}

impl AgentDefinition {
    /// The line and column of a field's value.
    pub fn location(&self, id: FieldId) -> Option<Location> {
        self.places.value(id).map(|span| text::locate(&self.places.text, span))
    }

    /// Turns a problem in this definition's text into a report.
    pub fn report(&self, problem: Problem) -> Diagnostic {
        problem.located(&self.source.file, &self.places.text)
    }

    /// Whether two readings are the same agent, wherever their fields stand.
    pub fn same_meaning(&self, other: &Self) -> bool {
        let bare = |agent: &Self| {
            let mut agent = agent.clone();
            agent.places = Places { text: Arc::from(""), fields: Vec::new() };
            let lists = agent.tools.iter_mut().chain([&mut agent.disallowed_tools]);
            lists.flatten().for_each(|entry| entry.span = Span::default());
            for handler in agent.hooks.iter_mut().flat_map(|group| &mut group.handlers) {
                if let crate::hooks::HookKind::McpTool { input: Some(input), .. } = &mut handler.kind {
                    input.map_spans(&|_| Span::default());
                }
            }
            agent
        };
        bare(self) == bare(other)
    }

    /// What the listing for the model says of the tools: as written, less what is taken away, with what memory adds.
    pub fn listed_tools(&self) -> String {
        tool_list::listed(self)
    }
}

#[cfg(test)]
mod tests;
