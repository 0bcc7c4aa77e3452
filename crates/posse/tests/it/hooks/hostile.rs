//! Who may have hooks, which calls they are for, and hooks that go wrong: the run goes on, and the user hears of it.

use super::*;

const READ: &str = "- calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}]\n- say: Done.\n";

#[test]
fn hooks_that_go_wrong_stop_nothing() {
    for (handler, note) in [
        (json!({ "type": "command", "command": "sleep 1000", "timeout": 0.3 }), "not done after 0.3 s"),
        (command("kill -9 $$"), "killed by signal 9"),
        (command("exit 7"), "exit code 7"),
        (command("/nowhere/at/all"), "exit code 127"),
        (json!({ "type": "command", "command": "/nowhere/at/all", "args": [] }), "cannot be started"),
        (json!({ "type": "mcp_tool", "server": "s", "tool": "t" }), "no MCP server is called s"),
        // These are no mistakes, only noise.
        (command("head -c 100000000 /dev/zero | tr '\\0' x"), ""),
        (command("head -c 100000 /dev/urandom"), ""),
        (command("printf '{'; head -c 100000 /dev/urandom"), ""),
    ] {
        let env = world(&at(HookEvent::PreToolUse, &handler), READ);
        let output = run(&env, &["-p", "go", "--verbose"]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), "Done.\n"), "{handler}: {output:?}");
        let is_told = output.stderr.contains("hook failed") && output.stderr.contains(note);
        assert!(note.is_empty() || is_told, "{handler}: {}", output.stderr);
        assert!(output.stderr.contains("hello"), "{handler}: {}", output.stderr);
    }
}

#[test]
fn a_folder_that_is_not_trusted_has_no_hooks() {
    let env = world(&json!({}), READ);
    env.write("project/.claude/settings.json", at(HookEvent::PreToolUse, &command(HEAR)).to_string());
    let output = run(&env, &["-p", "go"]);
    assert_eq!(output.stdout, "Done.\n");
    assert!(output.stderr.contains("is not trusted: 1 hook"), "{}", output.stderr);
    assert_eq!(heard(&env), Vec::<Value>::new());
    let _ = env.posse(&["trust"]).success();
    let output = run(&env, &["-p", "go"]);
    assert_eq!((output.stdout.as_str(), heard(&env).len()), ("Done.\n", 1), "{output:?}");
}

#[test]
fn hooks_can_be_switched_off_but_not_the_administrators() {
    let mut settings = at(HookEvent::PreToolUse, &command(HEAR));
    settings["disableAllHooks"] = true.into();
    let env = world(&settings, READ);
    let _ = run(&env, &["-p", "go"]).success();
    assert_eq!(heard(&env), Vec::<Value>::new());
    let managed = at(HookEvent::Stop, &command(HEAR));
    env.write("managed/managed-settings.json", managed.to_string());
    let _ = run(&env, &["-p", "go"]).success();
    assert_eq!(heard(&env).len(), 1);
    // Only the administrator's.
    let env = world(&at(HookEvent::PreToolUse, &command(HEAR)), READ);
    let mut managed = managed;
    managed["allowManagedHooksOnly"] = true.into();
    env.write("managed/managed-settings.json", managed.to_string());
    let _ = run(&env, &["-p", "go"]).success();
    check(
        "managed",
        &heard(&env),
        &[row(HookEvent::Stop, STOPPING), row(HookEvent::PreToolUse, TOOL).times(0)],
    );
}

#[test]
fn conditions_and_matchers_choose_the_calls() {
    let script = "
- calls: [{Bash: {command: git status}}, {Bash: {command: ls}}, {Read: {file_path: \"{{cwd}}/a.txt\"}}]
- say: Done.
";
    for (matcher, condition, times) in [
        (None, None, 3),
        (Some("Bash"), None, 2),
        (Some("Bash|Read"), None, 3),
        (Some("^Re"), None, 1),
        (Some("bash"), None, 0),
        (None, Some("Bash(git *)"), 1),
        (Some("Read"), Some("Bash(git *)"), 0),
        (None, Some("Read(./*.txt)"), 1),
    ] {
        let mut handler = command(HEAR);
        if let Some(condition) = condition {
            handler["if"] = json!(condition);
        }
        let hooks =
            json!({ "hooks": { "PreToolUse": [{ "matcher": matcher.unwrap_or("*"), "hooks": [handler] }] } });
        let env = world(&hooks, script);
        let _ = run(&env, &["-p", "go", "--allowedTools", "Bash"]).success();
        assert_eq!(heard(&env).len(), times, "{matcher:?} {condition:?}");
    }
}

#[test]
fn those_who_ask_see_hooks_at_work() {
    let env = world(&at(HookEvent::PreToolUse, &command("echo noted")), READ);
    let args = ["-p", "go", "--output-format", "stream-json", "--verbose"];
    let plain = run(&env, &args).success();
    assert!(!plain.contains("hook_started"), "{plain}");
    let stdout = run(&env, &[&args[..], &["--include-hook-events"]].concat()).success();
    let lines: Vec<Value> = stdout.lines().map(json).collect();
    let of = |subtype: &str| lines.iter().find(|line| line["subtype"] == subtype).unwrap_or(&Value::Null);
    let (started, ended) = (of("hook_started"), of("hook_response"));
    assert_eq!(
        (&started["hook_name"], &started["hook_event"]),
        (&"PreToolUse:Read".into(), &"PreToolUse".into())
    );
    assert_eq!((&ended["hook_id"], &ended["stdout"]), (&started["hook_id"], &"noted\n".into()));
    assert_eq!((&ended["exit_code"], &ended["outcome"]), (&0.into(), &"success".into()));
}
