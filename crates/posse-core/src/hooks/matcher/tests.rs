use super::*;

/// `matcher` of `event` against subjects: those it takes, in their order.
#[track_caller]
fn check(event: HookEvent, matcher: &str, subjects: &[&str], taken: &[&str]) {
    let matcher = Matcher::new(event, Some(matcher)).unwrap();
    let found: Vec<&str> = subjects.iter().copied().filter(|name| matcher.takes(Some(name))).collect();
    assert_eq!(found, taken, "{matcher:?}");
}

#[test]
fn names_are_exact_and_patterns_are_not_anchored() {
    let tools = &["Bash", "BashOutput", "Edit", "NotebookEdit", "mcp__memory__add", "bash"];
    for (matcher, taken) in [
        ("", &tools[..]),
        ("*", &tools[..]),
        ("Bash", &["Bash"]),
        ("Bash|Edit", &["Bash", "Edit"]),
        ("Bash, Edit", &["Bash", "Edit"]),
        (" Bash |\tEdit ", &["Bash", "Edit"]),
        ("|Edit|", &["Edit"]),
        ("|", &[]),
        ("mcp__memory", &[]),
        ("mcp__memory__.*", &["mcp__memory__add"]),
        ("mcp__.*__add", &["mcp__memory__add"]),
        (".*", &tools[..]),
        ("^Bash$", &["Bash"]),
        ("Bash.*", &["Bash", "BashOutput"]),
        ("(Edit)", &["Edit", "NotebookEdit"]),
        ("^(?!mcp__).*t$", &["BashOutput", "Edit", "NotebookEdit"]),
        ("Bash(git push:*)", &[]),
    ] {
        check(HookEvent::PreToolUse, matcher, tools, taken);
    }
    check(HookEvent::SubagentStart, "db-reader,a", &["db-reader", "db", "a"], &["db-reader", "a"]);
}

#[test]
fn the_tool_that_starts_agents_answers_to_both_its_names() {
    for matcher in ["Task", "Agent", "Bash|Task", "^Task$", "^(Agent)$", "Ta.k"] {
        check(HookEvent::PreToolUse, matcher, &["Agent", "Task"], &["Agent", "Task"]);
    }
    check(HookEvent::PreToolUse, "TaskOutput", &["Agent", "TaskOutput"], &["TaskOutput"]);
}

#[test]
fn file_names_and_errors_have_fewer_plain_characters() {
    let files = &[".env", ".envrc", "x.env", "a-b", "a", "b"];
    check(HookEvent::FileChanged, "a|b", files, &["a", "b"]);
    check(HookEvent::FileChanged, "a-b", files, &["a-b"]);
    check(HookEvent::FileChanged, ".env$", files, &[".env", "x.env"]);
    // A comma is no separator here: it is a pattern, and nothing holds it.
    check(HookEvent::FileChanged, "a,b", files, &[]);
    check(HookEvent::StopFailure, "rate_limit|overloaded", &["rate_limit", "x"], &["rate_limit"]);
    assert_eq!(watched_names(".env|.envrc| |src/[a]"), [".env", ".envrc"]);
}

#[test]
fn events_without_a_matcher_ignore_it() {
    for event in HookEvent::ALL.iter().copied().filter(|event| event.facts().matched.is_none()) {
        for matcher in ["Bash", "(", "cors|cross.?origin"] {
            let matcher = Matcher::new(event, Some(matcher)).unwrap();
            assert!(matcher.is_for_all() && matcher.takes(None), "{event:?}");
        }
    }
}

#[test]
fn what_is_no_pattern_is_an_error_and_a_trap_does_not_match() {
    for broken in ["(", "[a-", "a{99999}{99999}", "**", "(?<n"] {
        assert!(Matcher::new(HookEvent::PreToolUse, Some(broken)).is_err(), "{broken}");
    }
    let trap = Matcher::new(HookEvent::PreToolUse, Some(r"^(?:(a+)+)(?=b)\1$")).unwrap();
    assert!(!trap.takes(Some(&"a".repeat(2000))));
}
