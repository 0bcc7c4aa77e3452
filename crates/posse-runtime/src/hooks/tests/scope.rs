//! Who is meant.

use super::*;

/// The commands that ran, by what they wrote into a file.
async fn ran(bench: &Bench, hooks: &Hooks, occasion: &Occasion) -> String {
    let _ = std::fs::remove_file(bench.path("ran"));
    let merged = hooks.fire(occasion, &bench.cx).await;
    assert_eq!(merged.errors, [""; 0]);
    let mut lines: Vec<String> =
        std::fs::read_to_string(bench.path("ran")).unwrap_or_default().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines.join(" ")
}

fn note(word: &str) -> Value {
    json!({"type": "command", "command": format!("echo {word} >> ran")})
}

#[tokio::test]
async fn matchers_conditions_and_doubles() {
    let bench = Bench::with(|services| {
        services.condition = Arc::new(|rule, tool, input| {
            rule == format!("{tool}({})", input["command"].as_str().unwrap_or_default())
        });
    });
    let with = |word: &str, condition: &str| {
        let mut handler = note(word);
        handler["if"] = json!(condition);
        handler
    };
    let written = json!({
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [note("bash"), note("bash"), with("if", "Bash(ls -l)"), with("not", "Bash(rm)")]},
            {"matcher": "^Task$", "hooks": [note("agent")]},
            {"hooks": [note("all")]},
        ],
        // A condition about tools where there is none.
        "Stop": [{"hooks": [with("never", "Bash(ls -l)"), note("stop")]}],
    });
    let sources = [(source("user"), groups(&written)), (source("project"), groups(&written))];
    let hooks = Hooks::new(HookPolicy::default(), sources, []);
    assert_eq!(ran(&bench, &hooks, &before("Bash")).await, "all bash if");
    assert_eq!(ran(&bench, &hooks, &before("Agent")).await, "agent all");
    assert_eq!(ran(&bench, &hooks, &stop()).await, "stop");
    assert!(hooks.is_empty_for(HookEvent::PostToolUse) && !hooks.is_empty_for(HookEvent::Stop));
}

#[tokio::test]
async fn once_is_once() {
    let bench = Bench::new();
    let mut once = note("once");
    once["once"] = json!(true);
    let hooks = hooks(&json!({"PreToolUse": [{"matcher": "Bash", "hooks": [once, note("always")]}]}));
    assert_eq!(ran(&bench, &hooks, &before("Read")).await, "");
    assert_eq!(ran(&bench, &hooks, &before("Bash")).await, "always once");
    assert_eq!(ran(&bench, &hooks.clone(), &before("Bash")).await, "always");
}

#[tokio::test]
async fn an_agents_hooks_are_seen_by_its_run_alone_and_its_stop_is_a_subagents() {
    let bench = Bench::new();
    let session = hooks(&json!({"PreToolUse": [{"hooks": [note("session")]}]}));
    let own = json!({
        "PreToolUse": [{"hooks": [note("own")]}],
        "Stop": [{"matcher": "ignored", "hooks": [note("stop")]}],
        "SubagentStop": [{"hooks": [note("explicit")]}],
    });
    let scoped = session.scoped(&source("agent"), groups(&own));
    let sibling =
        session.scoped(&source("other"), groups(&json!({"PreToolUse": [{"hooks": [note("other")]}]})));
    let child = scoped.scoped(&source("child"), Vec::new());
    let subagent_stop = Occasion::SubagentStop {
        agent_id: "a".into(),
        agent_type: "Explore".into(),
        agent_transcript_path: "/t".into(),
        stopping: Stopping::default(),
    };
    assert_eq!(ran(&bench, &scoped, &before("Bash")).await, "own session");
    assert_eq!(ran(&bench, &scoped, &subagent_stop).await, "explicit stop");
    assert_eq!(ran(&bench, &scoped, &stop()).await, "");
    assert_eq!(ran(&bench, &sibling, &before("Bash")).await, "other session");
    assert_eq!(ran(&bench, &child, &before("Bash")).await, "session");
    drop(scoped);
    assert_eq!(ran(&bench, &session, &before("Bash")).await, "session");
    assert!(session.is_empty_for(HookEvent::SubagentStop));
}

#[tokio::test]
async fn where_only_the_administrators_hooks_run_the_others_do_not() {
    let bench = Bench::new();
    let managed = Arc::new(HookSource { is_managed: true, ..HookSource::default() });
    let of = |word: &str| groups(&json!({"PreToolUse": [{"hooks": [note(word)]}]}));
    let policy = HookPolicy { only_managed: true, ..HookPolicy::default() };
    let hooks = Hooks::new(policy, [(source("user"), of("user")), (managed, of("managed"))], []);
    let scoped = hooks.scoped(&source("agent"), of("agent"));
    assert_eq!(ran(&bench, &scoped, &before("Bash")).await, "managed");
}

#[test]
fn file_hooks_say_what_to_watch() {
    let hooks = hooks(&json!({"FileChanged": [{"matcher": ".envrc|.env", "hooks": [note("x")]}]}));
    assert_eq!(hooks.watched_names(), [".envrc", ".env"]);
}

#[tokio::test]
async fn where_only_the_administrator_may_allow_others_still_object() {
    use posse_core::hooks::answer::Verdict;
    let bench = Bench::new();
    let says = |decision: &str| {
        let output =
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision}});
        let handler = json!({"type": "command", "command": format!("echo '{output}'")});
        groups(&json!({"PreToolUse": [{"hooks": [handler]}]}))
    };
    let managed = Arc::new(HookSource { is_managed: true, ..HookSource::default() });
    let table = [
        (source("user"), "allow", None),
        (source("user"), "ask", Some(Verdict::Ask)),
        (source("user"), "deny", Some(Verdict::Deny)),
        (managed, "allow", Some(Verdict::Allow)),
    ];
    for (source, decision, verdict) in table {
        let policy = HookPolicy { only_managed_allow: true, ..HookPolicy::default() };
        let hooks = Hooks::new(policy, [(source, says(decision))], []);
        let merged = hooks.fire(&before("Bash"), &bench.cx).await;
        assert_eq!(merged.permission.map(|(verdict, _)| verdict), verdict, "{decision}");
    }
}

#[tokio::test]
async fn a_policy_that_changes_counts_for_every_hook_and_takes_none_away_for_good() {
    let bench = Bench::new();
    let of = |word: &str| groups(&json!({"PreToolUse": [{"hooks": [note(word)]}]}));
    let callback = HookCallback {
        id: "c".into(),
        event: HookEvent::Stop,
        matcher: None,
        timeout: None,
        blocks_on_failure: false,
    };
    let hooks = Hooks::new(HookPolicy::default(), [(source("user"), of("user"))], [callback]);
    let scoped = hooks.scoped(&source("agent"), of("agent"));
    scoped.take_up(&Arc::new(SkillHooks { source: source("skill"), groups: of("skill") }), true);
    assert_eq!(ran(&bench, &scoped, &before("Bash")).await, "agent skill user");
    let locked = HookPolicy { only_managed: true, ..HookPolicy::default() };
    hooks.resettle(&Hooks::new(locked, [(source("user"), of("user"))], []));
    assert_eq!(ran(&bench, &scoped, &before("Bash")).await, "");
    assert!(scoped.is_empty_for(HookEvent::PreToolUse) && hooks.is_empty_for(HookEvent::Stop));
    assert_eq!(hooks.callbacks(), []);
    hooks.resettle(&Hooks::new(HookPolicy::default(), [(source("user"), of("user"))], []));
    assert_eq!(ran(&bench, &scoped, &before("Bash")).await, "agent skill user");
    assert!(!hooks.is_empty_for(HookEvent::Stop));
    assert_eq!(hooks.callbacks().len(), 1);
}
