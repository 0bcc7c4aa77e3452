//! What is true of each event: what its matcher is compared with, who may handle it, what an answer can do.
//!
//! One row per event. The engine, the reader and the documentation all look here. Refuses to know how anything runs.

use std::time::Duration;

use super::{HookEvent, HookKind};

/// One row of the table.
#[derive(Debug)]
pub struct EventFacts {
    /// Which event.
    pub event: HookEvent,
    /// What a matcher is compared with; `None` means that the event has none and ignores it.
    pub matched: Option<&'static str>,
    /// Which kinds of handler run at it.
    pub handlers: Handlers,
    /// What a handler that objects (exit code 2, or `decision: block`) brings about.
    pub objection: Objection,
    /// The same for people: what is prevented, or why nothing is.
    pub effect: &'static str,
    /// What `hookSpecificOutput` may hold.
    pub outputs: &'static [&'static str],
    /// Output that is no JSON is for the model.
    pub text_is_context: bool,
    /// A limit that replaces the default of every kind of handler.
    pub timeout: Option<Duration>,
    /// It happens within a turn: the input says which permission mode holds.
    pub in_turn: bool,
    /// It happens around tool calls: the input says how much effort the model makes.
    pub around_tools: bool,
}

/// Which kinds of handler an event takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handlers {
    /// All five.
    All,
    /// Those that need no model: command, http, mcp_tool.
    WithoutModel,
    /// Those that work before there is a session: command, mcp_tool.
    Local,
}

/// What an objection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// Prevents what was about to happen.
    Blocks,
    /// Prevents it, and so does every other failure of a handler.
    AnyFailureBlocks,
    /// Too late to prevent; the model is told.
    TellsModel,
    /// Nothing: the user sees it as an error.
    ShownOnly,
    /// Nothing at all; whatever is answered is ignored.
    Ignored,
}

impl Handlers {
    /// Whether a handler of this kind may run.
    pub fn admits(self, kind: &HookKind) -> bool {
        match kind {
            HookKind::Command { .. } | HookKind::McpTool { .. } => true,
            HookKind::Http { .. } => self != Self::Local,
            HookKind::Prompt { .. } | HookKind::Agent { .. } => self == Self::All,
        }
    }

    /// Their names, as written in `type`.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::All => &["command", "http", "mcp_tool", "prompt", "agent"],
            Self::WithoutModel => &["command", "http", "mcp_tool"],
            Self::Local => &["command", "mcp_tool"],
        }
    }
}

impl HookKind {
    /// The name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Http { .. } => "http",
            Self::McpTool { .. } => "mcp_tool",
            Self::Prompt { .. } => "prompt",
            Self::Agent { .. } => "agent",
        }
    }

    /// How long it may take if nobody says otherwise.
    pub fn default_timeout(&self, event: HookEvent) -> Duration {
        event.facts().timeout.unwrap_or_else(|| match self {
            Self::Command { .. } | Self::Http { .. } | Self::McpTool { .. } => Duration::from_secs(600),
            Self::Prompt { .. } => Duration::from_secs(30),
            Self::Agent { .. } => Duration::from_secs(60),
        })
    }
}

impl HookEvent {
    /// The event's row in the table.
    pub fn facts(self) -> &'static EventFacts {
        // The table is in the order of the events; a test holds it.
        &FACTS[self as usize]
    }

    /// Whether it is about one call of a tool. Only there a handler's `if` can hold.
    pub fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PermissionRequest
                | Self::PermissionDenied
        )
    }
}

/// What most rows have.
const fn row(event: HookEvent) -> EventFacts {
    EventFacts {
        event,
        matched: None,
        handlers: Handlers::WithoutModel,
        objection: Objection::ShownOnly,
        effect: "nothing to prevent",
        outputs: &[],
        text_is_context: false,
        timeout: None,
        in_turn: false,
        around_tools: false,
    }
}

/// What rows about tool calls have.
const fn tool(event: HookEvent) -> EventFacts {
    EventFacts {
        matched: Some("the tool's name"),
        handlers: Handlers::All,
        in_turn: true,
        around_tools: true,
        ..row(event)
    }
}

/// What rows have that prevent something within a turn.
const fn gate(event: HookEvent, effect: &'static str) -> EventFacts {
    EventFacts { handlers: Handlers::All, objection: Objection::Blocks, effect, in_turn: true, ..row(event) }
}

/// Every event's row, in the order of [`HookEvent::ALL`].
pub const FACTS: &[EventFacts] = &[
    EventFacts {
        objection: Objection::Blocks,
        effect: "the call is denied",
        outputs: &["permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"],
        ..tool(HookEvent::PreToolUse)
    },
    EventFacts {
        objection: Objection::TellsModel,
        effect: "the call is done; the model is told",
        outputs: &["additionalContext", "updatedToolOutput", "updatedMCPToolOutput", "classifierContext"],
        ..tool(HookEvent::PostToolUse)
    },
    EventFacts {
        objection: Objection::TellsModel,
        effect: "the call has failed already; the model is told",
        outputs: &["additionalContext"],
        ..tool(HookEvent::PostToolUseFailure)
    },
    EventFacts {
        matched: Some("the kind of notification"),
        outputs: &["additionalContext"],
        ..row(HookEvent::Notification)
    },
    EventFacts {
        outputs: &["additionalContext", "sessionTitle", "suppressOriginalPrompt"],
        text_is_context: true,
        timeout: Some(Duration::from_secs(30)),
        ..gate(HookEvent::UserPromptSubmit, "the prompt is dropped")
    },
    EventFacts {
        matched: Some("how the session starts"),
        handlers: Handlers::Local,
        outputs: &["additionalContext", "initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"],
        text_is_context: true,
        ..row(HookEvent::SessionStart)
    },
    EventFacts {
        matched: Some("why the session ends"),
        timeout: Some(Duration::from_millis(1500)),
        ..row(HookEvent::SessionEnd)
    },
    EventFacts {
        outputs: &["additionalContext"],
        around_tools: true,
        ..gate(HookEvent::Stop, "the turn goes on")
    },
    EventFacts {
        matched: Some("the kind of error"),
        objection: Objection::Ignored,
        ..row(HookEvent::StopFailure)
    },
    EventFacts {
        matched: Some("the agent's type"),
        outputs: &["additionalContext"],
        ..row(HookEvent::SubagentStart)
    },
    EventFacts {
        matched: Some("the agent's type"),
        outputs: &["additionalContext"],
        around_tools: true,
        ..gate(HookEvent::SubagentStop, "the agent goes on")
    },
    EventFacts {
        matched: Some("`manual` or `auto`"),
        objection: Objection::Blocks,
        effect: "nothing is compacted",
        ..row(HookEvent::PreCompact)
    },
    EventFacts { matched: Some("`manual` or `auto`"), ..row(HookEvent::PostCompact) },
    EventFacts {
        effect: "exit code 2 decides nothing; a `decision` does",
        outputs: &["decision"],
        ..tool(HookEvent::PermissionRequest)
    },
    EventFacts { outputs: &["retry"], ..tool(HookEvent::PermissionDenied) },
    EventFacts {
        matched: Some("`init` or `maintenance`"),
        handlers: Handlers::Local,
        outputs: &["additionalContext"],
        ..row(HookEvent::Setup)
    },
    gate(HookEvent::TeammateIdle, "the teammate goes on"),
    gate(HookEvent::TaskCreated, "the task is taken back"),
    gate(HookEvent::TaskCompleted, "the task stays open"),
    EventFacts {
        matched: Some("the MCP server"),
        handlers: Handlers::WithoutModel,
        outputs: &["action", "content"],
        ..gate(HookEvent::Elicitation, "the question is declined")
    },
    EventFacts {
        matched: Some("the MCP server"),
        handlers: Handlers::WithoutModel,
        outputs: &["action", "content"],
        ..gate(HookEvent::ElicitationResult, "the answer becomes a refusal")
    },
    EventFacts {
        matched: Some("which settings"),
        objection: Objection::Blocks,
        effect: "the new settings are not applied, unless they are the policy's",
        ..row(HookEvent::ConfigChange)
    },
    EventFacts {
        objection: Objection::AnyFailureBlocks,
        effect: "no worktree is created",
        outputs: &["worktreePath"],
        ..row(HookEvent::WorktreeCreate)
    },
    row(HookEvent::WorktreeRemove),
    EventFacts { matched: Some("why they are loaded"), ..row(HookEvent::InstructionsLoaded) },
    EventFacts { outputs: &["watchPaths"], ..row(HookEvent::CwdChanged) },
    EventFacts { matched: Some("the file's name"), outputs: &["watchPaths"], ..row(HookEvent::FileChanged) },
    EventFacts {
        matched: Some("the command's name"),
        outputs: &["additionalContext"],
        text_is_context: true,
        ..gate(HookEvent::UserPromptExpansion, "the command is not expanded")
    },
    EventFacts {
        outputs: &["additionalContext"],
        around_tools: true,
        ..gate(HookEvent::PostToolBatch, "the turn ends")
    },
    EventFacts {
        outputs: &["displayContent"],
        timeout: Some(Duration::from_secs(10)),
        ..row(HookEvent::MessageDisplay)
    },
    EventFacts { matched: Some("how it was added"), ..row(HookEvent::DirectoryAdded) },
    EventFacts {
        handlers: Handlers::All,
        objection: Objection::Blocks,
        effect: "the model stays",
        outputs: &["permissionDecision", "permissionDecisionReason"],
        ..row(HookEvent::PreModelSwitch)
    },
    EventFacts {
        handlers: Handlers::All,
        outputs: &["additionalContext"],
        ..row(HookEvent::PostModelSwitch)
    },
];
