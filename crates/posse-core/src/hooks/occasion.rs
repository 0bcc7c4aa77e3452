//! What has happened: one variant per event, with what a handler is told about it.
//!
//! Knows the fields of each event's input and their names on the wire. Refuses to know who listens.

mod input;
mod words;

use serde_json::{Map, Value};

use super::HookEvent;

pub use words::{
    CompactTrigger, ConfigSource, DirectorySource, ElicitationAction, EndReason, ExpansionType, FileChange,
    LoadReason, MemoryType, SessionSource, SetupTrigger,
};

/// What every handler is told, as far as it applies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Common {
    /// The session.
    pub session_id: String,
    /// Where it is written down.
    pub transcript_path: String,
    /// The working directory of the run.
    pub cwd: String,
    /// The input that is being worked on.
    pub prompt_id: Option<String>,
    /// The permission mode of the run.
    pub permission_mode: Option<String>,
    /// How much effort the model makes.
    pub effort: Option<String>,
    /// Which sub-agent this is; `None` outside of one.
    pub agent_id: Option<String>,
    /// What kind of agent, in a sub-agent or if the session was started as one.
    pub agent_type: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// What it is given.
    pub input: Value,
    /// The call's id.
    pub id: String,
    /// The MCP server it belongs to, as it is told on the wire.
    pub mcp_server: Option<Value>,
}

/// A run is about to stop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stopping {
    /// It goes on because a hook said so before.
    pub stop_hook_active: bool,
    /// What the model said last.
    pub last_assistant_message: Option<String>,
    /// What still runs in the background.
    pub background_tasks: Vec<Value>,
    /// What is planned for later.
    pub session_crons: Vec<Value>,
}

/// A task of the task list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskFacts {
    /// Its id.
    pub id: String,
    /// Its title.
    pub subject: String,
    /// What is to be done.
    pub description: Option<String>,
    /// Whose it is.
    pub teammate_name: Option<String>,
    /// And of which team.
    pub team_name: Option<String>,
}

/// A change of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSwitch {
    /// From this one.
    pub from_model: String,
    /// To this one.
    pub to_model: String,
    /// As asked for.
    pub requested_model: String,
    /// Who asked: `command`, `picker`, `sdk`; afterwards also `auto`, `resume`.
    pub source: String,
    /// What else is known: `context_tokens`, `prompt_cache_warm`, `cache_ttl`, `estimated_cache_write_usd`, `pricing`.
    pub costs: Map<String, Value>,
}

/// Something that hooks can run at. The fields are those of the input, with their names.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Each field is named and documented by the event's input; see the reference page of hooks.
pub enum Occasion {
    PreToolUse {
        tool: ToolUse,
    },
    PostToolUse {
        tool: ToolUse,
        tool_response: Value,
        duration_ms: Option<u64>,
    },
    PostToolUseFailure {
        tool: ToolUse,
        error: String,
        is_interrupt: Option<bool>,
        duration_ms: Option<u64>,
    },
    Notification {
        message: String,
        title: Option<String>,
        notification_type: String,
    },
    UserPromptSubmit {
        prompt: String,
        source: Option<String>,
        session_title: Option<String>,
    },
    SessionStart {
        source: SessionSource,
        model: Option<String>,
        session_title: Option<String>,
    },
    SessionEnd {
        reason: EndReason,
    },
    Stop(Stopping),
    StopFailure {
        error: String,
        error_details: Option<String>,
        last_assistant_message: Option<String>,
    },
    SubagentStart {
        agent_id: String,
        agent_type: String,
    },
    SubagentStop {
        agent_id: String,
        agent_type: String,
        agent_transcript_path: String,
        stopping: Stopping,
    },
    PreCompact {
        trigger: CompactTrigger,
        custom_instructions: Option<String>,
    },
    PostCompact {
        trigger: CompactTrigger,
        compact_summary: String,
    },
    PermissionRequest {
        tool: ToolUse,
        permission_suggestions: Option<Value>,
    },
    PermissionDenied {
        tool: ToolUse,
        reason: String,
    },
    Setup {
        trigger: SetupTrigger,
    },
    TeammateIdle {
        teammate_name: String,
        team_name: Option<String>,
    },
    TaskCreated(TaskFacts),
    TaskCompleted(TaskFacts),
    Elicitation {
        mcp_server_name: String,
        message: String,
        mode: Option<String>,
        url: Option<String>,
        elicitation_id: Option<String>,
        requested_schema: Option<Value>,
    },
    ElicitationResult {
        mcp_server_name: String,
        action: ElicitationAction,
        content: Option<Value>,
        mode: Option<String>,
        elicitation_id: Option<String>,
    },
    ConfigChange {
        source: ConfigSource,
        file_path: Option<String>,
    },
    WorktreeCreate {
        name: String,
    },
    WorktreeRemove {
        worktree_path: String,
    },
    InstructionsLoaded {
        file_path: String,
        memory_type: MemoryType,
        load_reason: LoadReason,
        globs: Option<Vec<String>>,
        trigger_file_path: Option<String>,
        parent_file_path: Option<String>,
    },
    CwdChanged {
        old_cwd: String,
        new_cwd: String,
    },
    FileChanged {
        file_path: String,
        event: FileChange,
    },
    UserPromptExpansion {
        expansion_type: ExpansionType,
        command_name: String,
        command_args: String,
        command_source: Option<String>,
        prompt: String,
    },
    /// The calls of one reply of the model, each with its answer.
    PostToolBatch {
        calls: Vec<(ToolUse, Value)>,
    },
    MessageDisplay {
        turn_id: String,
        message_id: String,
        index: u64,
        is_final: bool,
        delta: String,
    },
    DirectoryAdded {
        directory: String,
        source: DirectorySource,
    },
    PreModelSwitch(ModelSwitch),
    PostModelSwitch(ModelSwitch),
}

impl Occasion {
    /// Which event it is.
    pub fn event(&self) -> HookEvent {
        match self {
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::Notification { .. } => HookEvent::Notification,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::Stop(_) => HookEvent::Stop,
            Self::StopFailure { .. } => HookEvent::StopFailure,
            Self::SubagentStart { .. } => HookEvent::SubagentStart,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::PostCompact { .. } => HookEvent::PostCompact,
            Self::PermissionRequest { .. } => HookEvent::PermissionRequest,
            Self::PermissionDenied { .. } => HookEvent::PermissionDenied,
            Self::Setup { .. } => HookEvent::Setup,
            Self::TeammateIdle { .. } => HookEvent::TeammateIdle,
            Self::TaskCreated(_) => HookEvent::TaskCreated,
            Self::TaskCompleted(_) => HookEvent::TaskCompleted,
            Self::Elicitation { .. } => HookEvent::Elicitation,
            Self::ElicitationResult { .. } => HookEvent::ElicitationResult,
            Self::ConfigChange { .. } => HookEvent::ConfigChange,
            Self::WorktreeCreate { .. } => HookEvent::WorktreeCreate,
            Self::WorktreeRemove { .. } => HookEvent::WorktreeRemove,
            Self::InstructionsLoaded { .. } => HookEvent::InstructionsLoaded,
            Self::CwdChanged { .. } => HookEvent::CwdChanged,
            Self::FileChanged { .. } => HookEvent::FileChanged,
            Self::UserPromptExpansion { .. } => HookEvent::UserPromptExpansion,
            Self::PostToolBatch { .. } => HookEvent::PostToolBatch,
            Self::MessageDisplay { .. } => HookEvent::MessageDisplay,
            Self::DirectoryAdded { .. } => HookEvent::DirectoryAdded,
            Self::PreModelSwitch(_) => HookEvent::PreModelSwitch,
            Self::PostModelSwitch(_) => HookEvent::PostModelSwitch,
        }
    }

    /// What a matcher is compared with.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::PreToolUse { tool }
            | Self::PostToolUse { tool, .. }
            | Self::PostToolUseFailure { tool, .. }
            | Self::PermissionRequest { tool, .. }
            | Self::PermissionDenied { tool, .. } => Some(&tool.name),
            Self::Notification { notification_type, .. } => Some(notification_type),
            Self::SessionStart { source, .. } => Some(source.word()),
            Self::SessionEnd { reason } => Some(reason.word()),
            Self::StopFailure { error, .. } => Some(error),
            Self::SubagentStart { agent_type, .. } | Self::SubagentStop { agent_type, .. } => {
                Some(agent_type)
            }
            Self::PreCompact { trigger, .. } | Self::PostCompact { trigger, .. } => Some(trigger.word()),
            Self::Setup { trigger } => Some(trigger.word()),
            Self::Elicitation { mcp_server_name, .. } | Self::ElicitationResult { mcp_server_name, .. } => {
                Some(mcp_server_name)
            }
            Self::ConfigChange { source, .. } => Some(source.word()),
            Self::InstructionsLoaded { load_reason, .. } => Some(load_reason.word()),
            Self::FileChanged { file_path, .. } => file_path.rsplit('/').next(),
            Self::UserPromptExpansion { command_name, .. } => Some(command_name),
            Self::DirectoryAdded { source, .. } => Some(source.word()),
            Self::UserPromptSubmit { .. }
            | Self::Stop(_)
            | Self::TeammateIdle { .. }
            | Self::TaskCreated(_)
            | Self::TaskCompleted(_)
            | Self::WorktreeCreate { .. }
            | Self::WorktreeRemove { .. }
            | Self::CwdChanged { .. }
            | Self::PostToolBatch { .. }
            | Self::MessageDisplay { .. }
            | Self::PreModelSwitch(_)
            | Self::PostModelSwitch(_) => None,
        }
    }

    /// The one call it is about: what a handler's `if` is judged by.
    pub fn tool(&self) -> Option<&ToolUse> {
        match self {
            Self::PreToolUse { tool }
            | Self::PostToolUse { tool, .. }
            | Self::PostToolUseFailure { tool, .. }
            | Self::PermissionRequest { tool, .. }
            | Self::PermissionDenied { tool, .. } => Some(tool),
            _ => None,
        }
    }

    /// What its hooks are called on the wire and in messages: `PreToolUse:Bash`, `SessionStart:startup`, `Stop`.
    pub fn name(&self) -> String {
        let event = self.event().name();
        self.subject().map_or_else(|| event.to_owned(), |subject| format!("{event}:{subject}"))
    }
}

#[cfg(test)]
mod tests;
