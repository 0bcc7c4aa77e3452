use std::path::PathBuf;

use posse_core::message::{ToolAnswer, ToolCall};
use posse_core::permission::Mode;

use super::*;

fn facts() -> Facts {
    Facts {
        session: "s".into(),
        model: "m".into(),
        tools: Vec::new(),
        mode: Mode::Default,
        agents: Vec::new(),
        agent_list: Vec::new(),
        command_list: Vec::new(),
        plugins: Vec::new(),
        plugin_faults: Vec::new(),
        failed: Vec::new(),
        servers: Vec::new(),
        skills: Vec::new(),
        slash_commands: Vec::new(),
        key_source: "none",
        window: 10_000,
        max_tokens: 1,
        cwd: PathBuf::new(),
        initial_prompt: None,
        betas: Vec::new(),
        output_style: "default".into(),
    }
}

fn weight(name: &str, characters: usize, waits: bool) -> Weight {
    Weight { name: name.into(), characters, waits, ..Weight::default() }
}

#[test]
fn the_parts_of_the_window_add_up_to_it() {
    let facts = facts();
    let tally = Tally::of(&[Message::user("x".repeat(400))]);
    let weights = || Weights {
        system: vec![weight("Prompt", 800, false)],
        tools: vec![weight("Read", 40, false), weight("Rare", 400, true)],
        server_tools: vec![weight("mcp__s__t", 80, false)],
        agents: vec![weight("a", 20, false)],
        memory: vec![weight("/CLAUDE.md", 100, false)],
        skills: vec![weight("k", 12, false)],
        commands: 3,
    };
    let last = Usage { input: 500, output: 50, ..Usage::default() };
    let less = Fullness {
        facts: &facts,
        weights: weights(),
        tally: &tally,
        last: Some(Usage { input: 10, output: 5, ..Usage::default() }),
    };
    let used = less.parts().iter().filter(|part| part.kind == "used").map(|part| part.tokens).sum::<u64>();
    assert_eq!((less.answer(false)["totalTokens"].as_u64(), used), (Some(15), 15));
    // What is known of the conversation: nothing but what was said, or what the model counted.
    for (last, total, messages) in [(None, 338, 75), (Some(last), 550, 287)] {
        let full = Fullness { facts: &facts, weights: weights(), tally: &tally, last };
        let answer = full.answer(true);
        assert_eq!(answer["totalTokens"], total, "{answer}");
        let of = |id: &str| {
            let mut rows = answer["categories"].as_array().unwrap().iter();
            rows.find(|row| row["id"] == id).map(|row| row["tokens"].as_u64().unwrap())
        };
        assert_eq!(
            (of("messages"), of("system_prompt"), of("mcp_tools")),
            (Some(messages), Some(200), Some(20))
        );
        assert_eq!((of("system_tools"), of("system_tools_deferred")), (Some(10), Some(100)));
        let rows = answer["categories"].as_array().unwrap();
        let inside = rows.iter().filter(|row| row["kind"] != "deferred");
        assert_eq!(inside.map(|row| row["tokens"].as_u64().unwrap()).sum::<u64>(), 10_000);
        assert_eq!(
            (&answer["autoCompactThreshold"], answer["mcpTools"][0]["serverName"].as_str()),
            (&json!(8500), Some("s"))
        );
        assert!(full.table().contains("| Memory files | 25 | 0.2% |"), "{}", full.table());
    }
}

#[test]
fn what_was_said_is_told_apart() {
    let call = ToolCall { id: "t".into(), name: "Read".into(), input: json!({}) };
    let mut tally = Tally::of(&[Message::user("abcd")]);
    tally.add(Role::Assistant, &[Block::Text("hey".into()), Block::ToolUse(call)]);
    tally.add(Role::User, &[Block::ToolResult(ToolAnswer::text("t", "12345678"))]);
    assert_eq!((tally.user, tally.assistant, tally.calls, tally.results), (4, 3, 6, 8));
    assert_eq!(tally.tools.get("Read"), Some(&(6, 8)));
    assert_eq!(tally.all(), 21);
}
