//! `posse doctor`.

use super::*;

/// A world in which everything works, and the port that answers in it.
fn healthy() -> (TestEnv, std::net::TcpListener) {
    let mut env = env();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    env.set("ANTHROPIC_BASE_URL", &format!("http://{}", listener.local_addr().expect("an address")));
    env.set("ANTHROPIC_API_KEY", "k");
    (env, listener)
}

fn states(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let output = env.posse(&[&["doctor", "--json"], args].concat());
    let value = json(&output.stdout);
    let broken = output.code == Some(1);
    assert_eq!(value["ok"], !broken, "{}", output.stdout);
    let checks = value["checks"].as_array().expect("a list");
    let word = |check: &Value, key: &str| check[key].as_str().expect("text").to_owned();
    checks.iter().map(|check| format!("{} {}", word(check, "name"), word(check, "state"))).collect()
}

fn broken(env: &TestEnv, args: &[&str]) -> String {
    let states = states(env, args);
    states.iter().filter_map(|state| state.strip_suffix(" broken")).collect::<Vec<_>>().join(", ")
}

#[test]
fn where_all_is_well_nothing_is_broken() {
    let (env, _listener) = healthy();
    assert_eq!(broken(&env, &[]), "");
    let text = env.posse(&["doctor"]).success();
    for part in [
        "✓ version",
        "✓ config folder",
        "✓ key            ANTHROPIC_API_KEY is set",
        "answers",
        "\nnothing is broken\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains('\x1b'));
}

#[test]
fn what_is_broken_is_said_with_a_remedy() {
    let (mut env, listener) = healthy();
    env.agent("bad.md", "---\nname: bad\n---\nx\n");
    env.write("project/.claude/settings.json", r#"{"permissions": {"deny": 5}}"#);
    env.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"here": {"command": "sh"}, "gone": {"command": "no-such-program"}, "far": {"url": "http://x"}}}"#,
    );
    env.set("ANTHROPIC_API_KEY", "");
    drop(listener);
    assert_eq!(broken(&env, &[]), "key, endpoint, settings, agents, mcp servers");
    assert_eq!(broken(&env, &["--offline"]), "key, settings, agents, mcp servers");
    let (text, _) = env.posse(&["doctor", "--offline"]).fails_with(1);
    for part in [
        "✗ key            there is none\n                 → set ANTHROPIC_API_KEY",
        "first: $ENV/project/.claude/settings.json:1:26 `permissions.deny` takes a list of rules",
        "gone: `no-such-program` is not found on PATH",
        "→ `posse lint` shows why",
        "4 things are broken",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn an_address_that_is_none_is_named() {
    let (mut env, _listener) = healthy();
    env.set("ANTHROPIC_BASE_URL", "not an address");
    assert_eq!(broken(&env, &["--offline"]), "endpoint");
}

#[test]
fn what_waits_for_trust_is_a_note() {
    let (env, _listener) = healthy();
    env.write("project/.claude/settings.json", r#"{"permissions": {"allow": ["Read"]}}"#);
    assert!(states(&env, &[]).contains(&"trust note".to_owned()));
    env.posse(&["trust"]).success();
    assert!(states(&env, &[]).contains(&"trust good".to_owned()));
}

#[cfg(target_os = "linux")]
#[test]
fn the_sandbox_is_tried_and_what_it_cannot_hold_is_said() {
    let (mut env, _listener) = healthy();
    let state = |env: &TestEnv, name: &str| {
        let states = states(env, &["--offline"]);
        states.into_iter().find(|state| state.starts_with(name)).expect("a check")
    };
    assert_eq!(state(&env, "workspace"), "workspace skipped");
    let settings = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true, "filesystem": {"denyRead": ["/nowhere/at/all"]}}}"#;
    env.write("home/.claude/settings.json", settings);
    let text = env.posse(&["doctor", "--offline"]).stdout;
    assert!(
        text.contains("landlock: ") && text.contains("seccomp: ") && text.contains("bubblewrap: "),
        "{text}"
    );
    assert!(text.contains("denyRead: /nowhere/at/all does not exist"), "{text}");
    let made = std::fs::read_dir(env.path("project")).unwrap().count();
    assert_eq!(made, 1, "a doctor makes nothing");
    // Where there is no place for scratch folders, there is no sandbox.
    env.set("TMPDIR", "/nowhere/at/all");
    assert_eq!(state(&env, "workspace"), "workspace broken");
    assert_eq!(state(&env, "read-only"), "read-only note");
}
