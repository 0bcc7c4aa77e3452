use serde_json::json;

use super::*;
use crate::hooks::trial::{occasion, occasions};

fn common() -> Common {
    Common {
        session_id: "s".into(),
        transcript_path: "/t".into(),
        cwd: "/c".into(),
        prompt_id: Some("p".into()),
        permission_mode: Some("plan".into()),
        effort: Some("high".into()),
        agent_id: Some("outer".into()),
        agent_type: Some("kind".into()),
    }
}

#[test]
fn each_event_tells_its_own_fields_and_is_matched_by_its_subject() {
    let own = |occasion: &Occasion| {
        let input = occasion.input(&Common::default());
        let keys: Vec<&str> = input.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(&keys[..4], ["session_id", "transcript_path", "cwd", "hook_event_name"]);
        let subject = occasion.subject().map_or_else(String::new, |subject| format!(" [{subject}]"));
        format!("{}{subject} {}", occasion.event().name(), keys[4..].join(" "))
    };
    let lines: Vec<String> = occasions().iter().map(own).collect();
    let want = "\
PreToolUse [Bash] tool_name tool_input tool_use_id
PostToolUse [Bash] tool_name tool_input tool_response tool_use_id duration_ms
PostToolUseFailure [Bash] tool_name tool_input tool_use_id error is_interrupt
Notification [idle_prompt] message notification_type
UserPromptSubmit prompt
SessionStart [startup] source model
SessionEnd [other] reason
Stop stop_hook_active last_assistant_message background_tasks session_crons
StopFailure [overloaded] error
SubagentStart [Explore] agent_id agent_type
SubagentStop [Explore] agent_id agent_type agent_transcript_path stop_hook_active last_assistant_message \
background_tasks session_crons
PreCompact [auto] trigger custom_instructions
PostCompact [manual] trigger compact_summary
PermissionRequest [Bash] tool_name tool_input permission_suggestions
PermissionDenied [Bash] tool_name tool_input tool_use_id reason
Setup [init] trigger
TeammateIdle teammate_name
TaskCreated task_id task_subject
TaskCompleted task_id task_subject
Elicitation [srv] mcp_server_name message mode requested_schema
ElicitationResult [srv] mcp_server_name action content
ConfigChange [project_settings] source file_path
WorktreeCreate name
WorktreeRemove worktree_path
InstructionsLoaded [include] file_path memory_type load_reason globs parent_file_path
CwdChanged old_cwd new_cwd
FileChanged [.envrc] file_path event
UserPromptExpansion [review] expansion_type command_name command_args prompt
PostToolBatch tool_calls
MessageDisplay turn_id message_id index final delta
DirectoryAdded [slash_command] directory source
PreModelSwitch from_model to_model requested_model source
PostModelSwitch from_model to_model requested_model source";
    assert_eq!(lines.join("\n"), want);
}

#[test]
fn an_occasion_has_a_subject_if_and_only_if_its_event_has_a_matcher() {
    for occasion in occasions() {
        let facts = occasion.event().facts();
        assert_eq!(occasion.subject().is_some(), facts.matched.is_some(), "{:?}", facts.event);
        assert_eq!(occasion.tool().is_some(), facts.event.is_about_a_tool(), "{:?}", facts.event);
    }
}

#[test]
fn common_fields_are_told_where_they_apply() {
    for occasion in occasions() {
        let (facts, input) = (occasion.event().facts(), occasion.input(&common()));
        assert_eq!(input.get("permission_mode").is_some(), facts.in_turn, "{:?}", facts.event);
        assert_eq!(input.get("effort").is_some(), facts.around_tools, "{:?}", facts.event);
        assert_eq!(input["prompt_id"], "p");
    }
    assert_eq!(occasion(HookEvent::PreToolUse).input(&common())["effort"], json!({"level": "high"}));
    // An event about another agent tells of that one.
    assert_eq!(occasion(HookEvent::SubagentStop).input(&common())["agent_id"], "a1");
    assert_eq!(occasion(HookEvent::Stop).input(&common())["agent_id"], "outer");
}

#[test]
fn values_are_told_as_they_are() {
    let input = occasion(HookEvent::PostToolBatch).input(&Common::default());
    let call = json!({
        "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "call-1", "tool_response": "done"
    });
    assert_eq!(input["tool_calls"], json!([call]));
    assert_eq!(occasion(HookEvent::PreCompact).input(&Common::default())["custom_instructions"], json!(null));
    assert_eq!(occasion(HookEvent::PreToolUse).name(), "PreToolUse:Bash");
    assert_eq!(occasion(HookEvent::Stop).name(), "Stop");
}
