use proptest::prelude::*;

use super::*;

proptest! {
    /// Every agent gets a name that clients take, and no two the same.
    #[test]
    fn names_are_plain_and_free(agents in prop::collection::vec("\\PC{0,70}", 0..12)) {
        let mut taken: Vec<String> = Vec::new();
        for agent in &agents {
            let name = free_name(agent, |name| taken.iter().any(|taken| taken == name));
            prop_assert!(name.starts_with("agent_") && name.len() <= LONGEST_NAME, "{}", name);
            prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{}", name);
            prop_assert!(!taken.contains(&name));
            taken.push(name);
        }
    }
}

#[test]
fn a_list_chooses_tools() {
    let tools = |list: &str| Offer::default().with_tools(list).map(|offer| offer.tools);
    assert_eq!(tools(""), Ok(vec![]));
    assert_eq!(tools("default").unwrap(), OFFERED);
    assert_eq!(tools("Read, Bash"), Ok(vec!["Read", "Bash"]));
    assert_eq!(tools("KillShell"), Ok(vec!["TaskStop"]));
    for wrong in ["read", "Agent", "AskUserQuestion", "Bash(git *)", "mcp__x", "*"] {
        assert_eq!(tools(wrong), Err(UnknownTool(wrong.into())));
    }
}

#[test]
fn everything_offered_is_a_tool_and_says_whether_it_changes_anything() {
    for name in OFFERED {
        let facts = tools::find(name).unwrap();
        let told = tool_annotations(name);
        assert_eq!((told.read_only_hint, told.destructive_hint), (Some(facts.read_only), Some(!facts.read_only)));
    }
}
