use super::*;

#[test]
fn every_agent_gets_a_name_that_clients_take_and_no_two_the_same() {
    let long = "x".repeat(200);
    let agents = [
        "scout",
        "my plugin:odd one",
        "my_plugin_odd_one",
        "my/plugin/odd.one",
        "",
        "ärger",
        &long,
        &long,
        &long,
    ];
    let mut taken: Vec<String> = Vec::new();
    for agent in agents {
        let name = free_name(agent, |name| taken.iter().any(|taken| taken == name));
        assert!(name.starts_with("agent_") && name.len() <= LONGEST_NAME, "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
        taken.push(name);
    }
    assert_eq!(
        taken[..4],
        ["agent_scout", "agent_my_plugin_odd_one", "agent_my_plugin_odd_one_2", "agent_my_plugin_odd_one_3"]
    );
    let different: std::collections::BTreeSet<&String> = taken.iter().collect();
    assert_eq!(different.len(), taken.len());
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
        assert_eq!(
            (told.read_only_hint, told.destructive_hint),
            (Some(facts.read_only), Some(!facts.read_only))
        );
    }
}
