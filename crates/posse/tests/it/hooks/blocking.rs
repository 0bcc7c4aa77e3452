//! What can be prevented is prevented, whether a hook says so by its exit code or in JSON.

use super::*;

/// Both ways to object.
fn objections() -> [String; 2] {
    [
        "echo too bold >&2; exit 2".to_owned(),
        r#"echo '{"decision": "block", "reason": "too bold"}'"#.to_owned(),
    ]
}

/// An objection that is made only once: to what a run does because of it there is none.
fn once(objection: &str) -> String {
    format!("if [ -e ~/objected ]; then exit 0; fi; touch ~/objected; {objection}")
}

const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];

#[test]
fn prompts_calls_tasks_and_ends() {
    use HookEvent::{PostToolBatch, PreToolUse, Stop, TaskCompleted, TaskCreated, UserPromptSubmit};
    let write = "- calls: [{Write: {file_path: \"{{cwd}}/new.txt\", content: x}}]\n- say: Done.\n";
    let task = "- calls: [{TaskCreate: {subject: Paint it, description: x}}]\n";
    let close = "- calls: [{TaskUpdate: {taskId: '1', status: completed}}]\n";
    let list = "- calls: [{TaskList: {}}]\n- say: Done.\n";
    // Event, script, what the stream says, and what it does not.
    let rows: [(HookEvent, String, &[&str], &[&str]); 6] = [
        (UserPromptSubmit, "- say: Done.\n".into(), &["blocked_by_hook", "too bold"], &["Done."]),
        (PreToolUse, write.into(), &["PreToolUse:Write hook error", "too bold", "Done."], &[]),
        (PostToolBatch, write.into(), &["hook_stopped", "too bold"], &["Done."]),
        (Stop, "- say: First.\n- say: Second.\n".into(), &["Second."], &[]),
        (TaskCreated, format!("{task}{list}"), &["too bold", "Done."], &["Paint it [pending]"]),
        (TaskCompleted, format!("{task}{close}{list}"), &["too bold", "pending", "Done."], &[]),
    ];
    for (event, script, present, absent) in &rows {
        for objection in objections() {
            let env = world(&at(*event, &command(&once(&objection))), script);
            let output = run(&env, &[&["-p", "go", "--allowedTools", "Write"], &STREAM[..]].concat());
            assert_eq!(output.code, Some(0), "{output:?}");
            for text in *present {
                assert!(
                    output.stdout.contains(text),
                    "{}, {objection}: {text}: {}",
                    event.name(),
                    output.stdout
                );
            }
            for text in *absent {
                assert!(
                    !output.stdout.contains(text),
                    "{}, {objection}: {text}: {}",
                    event.name(),
                    output.stdout
                );
            }
            let is_written = env.path("project/new.txt").exists();
            assert_eq!(is_written, *event == PostToolBatch, "{}: {objection}", event.name());
        }
    }
}

#[test]
fn a_summary() {
    for objection in objections() {
        let settings = at(HookEvent::PreCompact, &command(&objection));
        let env = world(&settings, "- say: Hi.\n");
        let _ = run(&env, &["-p", "hello"]).success();
        let stdout = run(&env, &["-p", "/compact", "-c"]).success();
        assert!(stdout.contains("stays as it is") && stdout.contains("too bold"), "{stdout}");
        // One that would happen by itself is skipped, and the run goes on.
        let (mut env, server) = (world(&settings, "[]"), nearly_full());
        assert_eq!(over_http(&mut env, &server, &["-p", "go"]).success(), "Unsummarised.\n");
    }
}

/// A run that writes a deny into settings, waits until hooks have heard of it, and reads the file.
fn writes_settings(file: &str, objection: &str) -> (TestEnv, String) {
    let heard = format!("{HEAR}; {objection}");
    let script = [
        format!(
            "- calls: [{{Bash: {{command: 'mkdir -p $(dirname {file}); echo \"{{\\\"permissions\\\": {{\\\"deny\\\": \
             [\\\"Read(//**/a.txt)\\\"]}}}}\" > {file}'}}}}]\n"
        ),
        until_heard("_settings"),
        settled(),
        "- calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}]\n".to_owned(),
        "- say: Done.\n".to_owned(),
    ];
    let mut settings = at(HookEvent::ConfigChange, &command(&heard));
    settings["hooks"]["FileChanged"] = json!([{ "matcher": "sync.txt", "hooks": [command(HEAR)] }]);
    let env = world(&settings, &script.concat());
    let args = [&["-p", "go", "--allowedTools", "Bash"], &STREAM[..]].concat();
    let stdout = run(&env, &args).success();
    (env, stdout)
}

#[test]
fn new_settings_but_never_the_administrators() {
    for objection in objections() {
        let (_env, stdout) = writes_settings(".claude/settings.json", &objection);
        assert!(stdout.contains("does not count") && stdout.contains("too bold"), "{stdout}");
        assert!(!stdout.contains("Permission to use Read has been denied"), "{stdout}");
        let (_env, stdout) = writes_settings("../managed/managed-settings.json", &objection);
        assert!(stdout.contains("the policy cannot be blocked"), "{stdout}");
        assert!(stdout.contains("Permission to use Read has been denied"), "{stdout}");
    }
}

#[test]
fn half_a_settings_file_takes_no_limit_away() {
    let deny = json!({ "permissions": { "deny": ["Read(./a.txt)"] } });
    let mut settings = at(HookEvent::ConfigChange, &command(HEAR));
    settings["permissions"] = json!({ "allow": ["Bash"] });
    settings["hooks"]["FileChanged"] = json!([{ "matcher": "sync.txt", "hooks": [command(HEAR)] }]);
    let script = [
        "- calls: [{Bash: {command: 'echo \"{\" > .claude/settings.local.json'}}]\n".to_owned(),
        until_heard("local_settings"),
        settled(),
        "- calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}]\n".to_owned(),
        "- say: Done.\n".to_owned(),
    ];
    let env = world(&settings, &script.concat());
    env.write("project/.claude/settings.local.json", deny.to_string());
    let stdout = run(&env, &[&["-p", "go"], &STREAM[..]].concat()).success();
    assert!(stdout.contains("rules from before stay"), "{stdout}");
    assert!(stdout.contains("Permission to use Read has been denied"), "{stdout}");
}

#[test]
fn another_model() {
    let denial = json!({ "hookSpecificOutput": {
        "hookEventName": "PreModelSwitch", "permissionDecision": "deny", "permissionDecisionReason": "too bold",
    } });
    for objection in ["echo too bold >&2; exit 2".to_owned(), format!("echo '{denial}'")] {
        let env = world(&at(HookEvent::PreModelSwitch, &command(&objection)), "- say: Still me.\n");
        env.write("project/other.yaml", "- say: I am another.\n");
        let mut pty = env.at_terminal(&MODEL);
        pty.expect("> ");
        pty.send("/model rehearsal:other.yaml\n");
        pty.expect("too bold");
        pty.expect("The model is rehearsal:script.yaml.");
        pty.expect("> ");
        pty.send("who are you?\n");
        pty.expect("Still me.");
        pty.expect("> ");
        pty.send("\u{4}");
        assert_eq!(pty.end().0, Some(0));
    }
}

#[test]
fn what_a_person_would_be_asked() {
    let decision = |decision: Value| {
        let answer =
            json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
        format!("echo '{answer}'")
    };
    let write = "- calls: [{Write: {file_path: \"{{cwd}}/new.txt\", content: x}}]\n- say: Done.\n";
    for (objection, present, written) in [
        (decision(json!({ "behavior": "deny", "message": "too bold" })), "too bold", false),
        (decision(json!({ "behavior": "allow" })), "Done.", true),
        // The exit code decides nothing here: nobody is there to ask.
        ("echo too bold >&2; exit 2".to_owned(), "Nobody can be asked", false),
    ] {
        let env = world(&at(HookEvent::PermissionRequest, &command(&objection)), write);
        let output = run(&env, &[&["-p", "go"], &STREAM[..]].concat());
        assert!(output.stdout.contains(present), "{objection}: {output:?}");
        assert_eq!(env.path("project/new.txt").exists(), written, "{objection}");
    }
}
