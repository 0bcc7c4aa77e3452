//! One occasion of each event, for tests.

use serde_json::json;

use super::occasion::*;

pub(super) fn tool() -> ToolUse {
    ToolUse { name: "Bash".into(), input: json!({"command": "ls"}), id: "call-1".into(), mcp_server: None }
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// In the order of the events.
pub(super) fn occasions() -> Vec<Occasion> {
    let stopping =
        Stopping { stop_hook_active: true, last_assistant_message: Some(text("bye")), ..Stopping::default() };
    let task = TaskFacts { id: text("7"), subject: text("dig"), ..TaskFacts::default() };
    let switch = ModelSwitch {
        from_model: text("a"),
        to_model: text("b"),
        source: text("sdk"),
        ..ModelSwitch::default()
    };
    vec![
        Occasion::PreToolUse { tool: tool() },
        Occasion::PostToolUse { tool: tool(), tool_response: json!({"stdout": "x"}), duration_ms: Some(5) },
        Occasion::PostToolUseFailure {
            tool: tool(),
            error: text("no"),
            is_interrupt: Some(false),
            duration_ms: None,
        },
        Occasion::Notification { message: text("m"), title: None, notification_type: text("idle_prompt") },
        Occasion::UserPromptSubmit { prompt: text("hi"), source: None, session_title: None },
        Occasion::SessionStart {
            source: SessionSource::Startup,
            model: Some(text("m")),
            session_title: None,
        },
        Occasion::SessionEnd { reason: EndReason::Other },
        Occasion::Stop(stopping.clone()),
        Occasion::StopFailure {
            error: text("overloaded"),
            error_details: None,
            last_assistant_message: None,
        },
        Occasion::SubagentStart { agent_id: text("a1"), agent_type: text("Explore") },
        Occasion::SubagentStop {
            agent_id: text("a1"),
            agent_type: text("Explore"),
            agent_transcript_path: text("/t/a1"),
            stopping,
        },
        Occasion::PreCompact { trigger: CompactTrigger::Auto, custom_instructions: None },
        Occasion::PostCompact { trigger: CompactTrigger::Manual, compact_summary: text("s") },
        Occasion::PermissionRequest { tool: tool(), permission_suggestions: Some(json!([])) },
        Occasion::PermissionDenied { tool: tool(), reason: text("r") },
        Occasion::Setup { trigger: SetupTrigger::Init },
        Occasion::TeammateIdle { teammate_name: text("bob"), team_name: None },
        Occasion::TaskCreated(task.clone()),
        Occasion::TaskCompleted(task),
        Occasion::Elicitation {
            mcp_server_name: text("srv"),
            message: text("m"),
            mode: Some(text("form")),
            url: None,
            elicitation_id: None,
            requested_schema: Some(json!({})),
        },
        Occasion::ElicitationResult {
            mcp_server_name: text("srv"),
            action: ElicitationAction::Accept,
            content: Some(json!({"a": 1})),
            mode: None,
            elicitation_id: None,
        },
        Occasion::ConfigChange { source: ConfigSource::Project, file_path: Some(text("/s")) },
        Occasion::WorktreeCreate { name: text("w") },
        Occasion::WorktreeRemove { worktree_path: text("/w") },
        Occasion::InstructionsLoaded {
            file_path: text("/p/CLAUDE.md"),
            memory_type: MemoryType::Project,
            load_reason: LoadReason::Include,
            globs: Some(vec![text("*.rs")]),
            trigger_file_path: None,
            parent_file_path: Some(text("/p/x")),
        },
        Occasion::CwdChanged { old_cwd: text("/a"), new_cwd: text("/b") },
        Occasion::FileChanged { file_path: text("/p/.envrc"), event: FileChange::Add },
        Occasion::UserPromptExpansion {
            expansion_type: ExpansionType::SlashCommand,
            command_name: text("review"),
            command_args: text("x"),
            command_source: None,
            prompt: text("/review x"),
        },
        Occasion::PostToolBatch { calls: vec![(tool(), json!("done"))] },
        Occasion::MessageDisplay {
            turn_id: text("t"),
            message_id: text("m"),
            index: 0,
            is_final: true,
            delta: text("d"),
        },
        Occasion::DirectoryAdded { directory: text("/d"), source: DirectorySource::SlashCommand },
        Occasion::PreModelSwitch(switch.clone()),
        Occasion::PostModelSwitch(switch),
    ]
}

/// The occasion of one event.
pub(super) fn occasion(event: super::HookEvent) -> Occasion {
    occasions().swap_remove(event as usize)
}
