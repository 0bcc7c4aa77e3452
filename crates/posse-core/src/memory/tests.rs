use proptest::prelude::*;

use super::*;

#[test]
fn folders_are_called_like_their_agents_as_far_as_paths_allow() {
    for (agent, want) in [
        ("reviewer", "reviewer"),
        ("two words", "two-words"),
        ("pp:x", "pp-x"),
        ("a/b\\c", "a-b-c"),
        ("v1.2_b", "v1.2_b"),
        ("größe", "größe"),
        ("..", "--"),
        ("../../etc", "---..-etc"),
        (".hidden", "-hidden"),
        ("", "agent"),
        ("  ", "agent"),
        ("nul\0\n", "nul-"),
    ] {
        assert_eq!(folder_name(agent), want, "{agent:?}");
    }
    assert_eq!(folder_name(&"é".repeat(300)).len(), 200);
}

#[test]
fn agents_that_share_a_folder_are_found() {
    let shared = collisions(["a b", "a-b", "A:B", "c", "ab"]);
    assert_eq!(shared.len(), 1);
    assert_eq!(shared["a-b"], ["a b", "a-b", "A:B"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_name_is_one_safe_component(agent in "\\PC{0,20}|[./\\\\: a-z]{0,12}|.{200,260}") {
        let name = folder_name(&agent);
        prop_assert!(!name.is_empty() && name.len() <= 255 && !name.starts_with('.'), "{name:?}");
        prop_assert!(name.chars().all(|c| !c.is_control() && !matches!(c, '/' | '\\' | ':')), "{name:?}");
        prop_assert_eq!(folder_name(&name), name.clone());
    }

    #[test]
    fn what_is_shown_is_bounded(lengths in proptest::collection::vec(0_usize..400, 0..300)) {
        let index = lengths.iter().map(|length| "é".repeat(*length)).collect::<Vec<_>>().join("\n");
        let shown = bounded(&index);
        let is_cut = index.lines().count() > MAX_LINES || index.chars().count() > MAX_CHARACTERS;
        prop_assert_eq!(shown.contains("> WARNING: "), is_cut);
        let kept = shown.split("\n\n> WARNING").next().unwrap_or_default();
        prop_assert!(index.starts_with(kept));
        prop_assert!(kept.lines().count() <= MAX_LINES && kept.chars().count() <= MAX_CHARACTERS);
    }
}

#[test]
fn a_section_names_folder_scope_and_content() {
    for (scope, word) in [
        (MemoryScope::User, "keep what you save general"),
        (MemoryScope::Project, "version control"),
        (MemoryScope::Local, "this machine"),
    ] {
        let text = section(scope, "/h/.claude/agent-memory/x", Some("- [a](a.md): b\n"));
        assert!(text.starts_with("# Persistent Agent Memory\n\n"));
        assert!(text.contains("`/h/.claude/agent-memory/x`") && text.contains(word), "{text}");
        assert!(text.ends_with("\n\n## MEMORY.md\n\n- [a](a.md): b"));
        assert!(text.len() < 2_500, "every request carries it: {}", text.len());
    }
    for none in [None, Some(" \n")] {
        let text = section(MemoryScope::User, "/m", none);
        assert!(text.contains("## MEMORY.md\n\nMEMORY.md is empty."), "{text}");
    }
}

#[test]
fn a_long_index_says_where_it_is_cut() {
    let many = (1..=250).map(|number| format!("- {number}")).collect::<Vec<_>>().join("\n");
    let shown = bounded(&many);
    assert!(shown.contains("\n- 200\n") && !shown.contains("- 201"));
    assert!(shown.contains("has 250 lines") && shown.contains("cut after line 200"), "{shown}");
    let wide = format!("{}\n{}", "é".repeat(20_000), "x".repeat(20_000));
    let shown = bounded(&wide);
    assert!(!shown.contains('x'.to_string().repeat(9).as_str()) && shown.contains("cut after line 1"));
    let one = "z".repeat(30_000);
    assert_eq!(bounded(&one).matches("z").count(), 25_000);
}
