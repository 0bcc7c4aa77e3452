//! Events that nothing fires yet: what their handlers will be told, and what an objection will do.

use posse_core::hooks::occasion::{ElicitationAction, ExpansionType};

use super::*;

#[tokio::test]
async fn handlers_of_events_without_an_occasion() {
    let text = str::to_owned;
    let (agent_id, agent_type) = (text("a1"), text("reviewer"));
    let server = || text("db");
    // The occasion, a field its handler reads, and whether exit code 2 prevents it.
    for (occasion, field, blocks) in [
        (
            Occasion::SubagentStart { agent_id: agent_id.clone(), agent_type: agent_type.clone() },
            "\"agent_type\":\"reviewer\"",
            false,
        ),
        (
            Occasion::SubagentStop {
                agent_id,
                agent_type,
                agent_transcript_path: text("/t.jsonl"),
                stopping: Stopping::default(),
            },
            "\"agent_transcript_path\":\"/t.jsonl\"",
            true,
        ),
        (
            Occasion::TeammateIdle { teammate_name: text("ann"), team_name: None },
            "\"teammate_name\":\"ann\"",
            true,
        ),
        (
            Occasion::Elicitation {
                mcp_server_name: server(),
                message: text("which?"),
                mode: None,
                url: None,
                elicitation_id: None,
                requested_schema: None,
            },
            "\"message\":\"which?\"",
            true,
        ),
        (
            Occasion::ElicitationResult {
                mcp_server_name: server(),
                action: ElicitationAction::Accept,
                content: None,
                mode: None,
                elicitation_id: None,
            },
            "\"action\":\"accept\"",
            true,
        ),
        (Occasion::WorktreeCreate { name: text("w1") }, "\"name\":\"w1\"", true),
        (Occasion::WorktreeRemove { worktree_path: text("/w1") }, "\"worktree_path\":\"/w1\"", false),
        (
            Occasion::UserPromptExpansion {
                expansion_type: ExpansionType::SlashCommand,
                command_name: text("review"),
                command_args: text("all"),
                command_source: None,
                prompt: text("/review all"),
            },
            "\"command_name\":\"review\"",
            true,
        ),
    ] {
        let bench = Bench::new();
        let hooks = command(occasion.event(), "cat > heard; echo no >&2; exit 2");
        let merged = hooks.fire(&occasion, &bench.cx).await;
        assert_eq!(merged.is_blocked(), blocks, "{occasion:?}: {merged:?}");
        let heard = std::fs::read_to_string(bench.path("heard")).unwrap();
        assert!(heard.contains(field), "{heard} lacks {field}");
    }
}
