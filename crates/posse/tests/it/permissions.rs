//! Rules, modes and trust as users meet them: flags, settings, what is said of a refusal.

use super::*;

const MODEL: [&str; 2] = ["--model", "rehearsal:script.yaml"];

/// A world with a script for a model.
fn rehearsed(script: &str) -> TestEnv {
    let env = env();
    env.write("project/script.yaml", script);
    env
}

/// The lines of a run.
fn stream(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    let args = [&["-p", "go", "--output-format", "stream-json", "--verbose"], &MODEL[..], args].concat();
    let output = env.posse(&args);
    assert_eq!(output.code, Some(0), "{output:?}");
    output.stdout.lines().map(json).collect()
}

fn denials(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["subtype"] == "permission_denied").collect()
}

/// What the model read of each call.
fn answers(lines: &[Value]) -> Vec<&str> {
    let results = lines.iter().filter_map(|line| line.pointer("/message/content/0"));
    results
        .filter(|block| block["type"] == "tool_result")
        .filter_map(|block| block["content"].as_str())
        .collect()
}

const THREE_CALLS: &str = "
- calls: [{Bash: {command: 'touch allowed'}}]
- calls: [{Bash: {command: 'ls; rm -f script.yaml'}}]
- calls: [{Bash: {command: 'make all'}}]
- say: Done.
";

#[test]
fn refusals_say_what_refused_to_the_model_and_to_programs() {
    let env = rehearsed(THREE_CALLS);
    env.write("home/.claude/settings.json", r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#);
    let lines = stream(&env, &["--allowedTools", "Bash(touch:*)"]);
    assert!(env.path("project/allowed").exists() && env.path("project/script.yaml").exists());
    let denied = denials(&lines);
    let field = |name: &str| denied.iter().map(|line| line[name].as_str().unwrap_or("")).collect::<Vec<_>>();
    assert_eq!(field("tool_name"), ["Bash", "Bash"]);
    assert_eq!(field("decision_reason_type"), ["rule", "subcommandResults"]);
    let rule = "the deny rule `Bash(rm:*)` in $ENV/home/.claude/settings.json";
    assert_eq!(field("decision_reason"), [rule, "no rule allows `make all`"]);
    let told = answers(&lines);
    assert_eq!(told[1], format!("Permission to use Bash has been denied: {rule}."));
    assert!(
        told[2].contains("haven't granted it yet") && told[2].contains("no rule allows `make all`"),
        "{told:?}"
    );
    assert_eq!(field("message"), [told[1], told[2]]);
    let result = lines.last().expect("a result");
    assert_eq!(pluck(&result["permission_denials"], "/tool_input/command"), "ls; rm -f script.yaml make all");
    assert_eq!(result["is_error"], false);
    // Nobody is asked, and nothing is run, in the mode that asks nothing of anybody.
    let lines = stream(&env, &["--permission-mode", "dontAsk"]);
    let told = answers(&lines);
    assert_eq!(told[2], "Permission to use Bash has been denied: no rule allows `make all`.");
}

#[test]
fn rules_of_an_untrusted_folder_are_named_and_do_not_count() {
    let env = rehearsed("- calls: [{Bash: {command: 'touch made'}}]\n- say: Done.\n");
    env.write("project/.claude/settings.json", r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#);
    let args = [&["-p", "go"], &MODEL[..]].concat();
    let output = env.command().args(&args).output().expect("a run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not trusted") && said.contains("posse trust"), "{said}");
    assert!(!env.path("project/made").exists());
    env.posse(&["trust"]).success();
    let output = env.command().args(&args).output().expect("a run");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(env.path("project/made").exists());
}

#[test]
fn modes_that_are_switched_off_are_refused_as_flags_and_passed_over_in_settings() {
    let mut env = rehearsed("- say: Hello.\n");
    env.set("IS_SANDBOX", "1");
    let settings = "home/.claude/settings.json";
    let run = |env: &TestEnv, args: &[&str]| env.posse(&[&["-p", "go"], &MODEL[..], args].concat());
    env.write(
        settings,
        r#"{"permissions": {"disableBypassPermissionsMode": "disable", "disableAutoMode": "disable"}}"#,
    );
    for (args, mode) in [
        (&["--dangerously-skip-permissions"][..], "bypassPermissions"),
        (&["--permission-mode", "bypassPermissions"], "bypassPermissions"),
        (&["--permission-mode", "auto"], "auto"),
    ] {
        let (_, said) = run(&env, args).fails_with(2);
        let expected = format!("permission mode {mode} is switched off in $ENV/home/.claude/settings.json");
        assert!(said.contains(&expected), "{said}");
    }
    let (_, said) = run(&env, &["--permission-mode", "bubble"]).fails_with(2);
    assert!(said.contains("bubble is for agents"), "{said}");
    for (mode, extra, starts_in, note) in [
        (
            "bypassPermissions",
            r#", "disableBypassPermissionsMode": "disable""#,
            "default",
            "is switched off in",
        ),
        ("auto", r#", "disableAutoMode": "disable""#, "default", "is switched off in"),
        ("bubble", "", "default", "is for agents that others start"),
        ("acceptEdits", "", "acceptEdits", ""),
        ("dontAsk", "", "dontAsk", ""),
        ("bypassPermissions", "", "bypassPermissions", ""),
    ] {
        env.write(settings, format!(r#"{{"permissions": {{"defaultMode": "{mode}"{extra}}}}}"#));
        let lines = stream(&env, &[]);
        let init = lines.iter().find(|line| line["subtype"] == "init").expect("a first line");
        assert_eq!(init["permissionMode"], starts_in, "{mode}");
        let notes: String = lines.iter().filter_map(|line| line["content"].as_str()).collect();
        assert!(notes.contains(note) && notes.is_empty() == note.is_empty(), "{mode}: {notes}");
    }
    // A flag is stronger than a setting.
    let lines = stream(&env, &["--permission-mode", "plan"]);
    assert!(lines.iter().any(|line| line["permissionMode"] == "plan"));
}

#[test]
fn root_is_not_to_approve_everything_by_flag_or_by_settings() {
    if !posse_runtime::world::is_root() {
        return;
    }
    let env = rehearsed("- say: Hello.\n");
    let (_, said) =
        env.posse(&[&["-p", "go", "--dangerously-skip-permissions"], &MODEL[..]].concat()).fails_with(2);
    assert!(said.contains("refused for root"), "{said}");
    env.write("home/.claude/settings.json", r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#);
    let (_, said) = env.posse(&[&["-p", "go"], &MODEL[..]].concat()).fails_with(2);
    assert!(said.contains("refused for root") && said.contains("settings.json asks for it"), "{said}");
}

#[test]
fn tools_that_do_not_exist_are_named() {
    let env = rehearsed("- say: Hello.\n");
    for (list, expected) in [
        ("Read,Bogus", "--tools Bogus: there is no such tool"),
        ("read", "--tools read: there is no such tool; did you mean Read?"),
        ("Grpe(x)", "--tools Grpe: there is no such tool; did you mean Grep?"),
    ] {
        let (_, said) = env.posse(&[&["-p", "go", "--tools", list], &MODEL[..]].concat()).fails_with(2);
        assert!(said.contains(expected), "{said}");
    }
    let notes = |args: &[&str]| {
        let lines = stream(&env, args);
        lines.iter().filter_map(|line| line["content"].as_str()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        notes(&["--tools", "Read,MultiEdit"]),
        "--tools MultiEdit: there is no such tool any more: Edit does the same"
    );
    assert_eq!(
        notes(&["--allowedTools", "Bsah(ls:*),mcp__s__t,Web*", "--disallowedTools", "Bogus,Web*"]),
        "--allowedTools Bsah: there is no such tool; did you mean Bash?\n\
         --allowedTools Web*: a star in a name allows nothing\n\
         --disallowedTools Bogus: there is no such tool"
    );
    assert_eq!(notes(&["--tools", "", "--allowedTools", "Task Read", "--permission-prompts", "none"]), "");
}

#[test]
fn the_agent_of_the_settings_is_run_and_a_missing_one_is_named() {
    let env = rehearsed("- calls: [{Bash: {command: 'touch made'}}]\n- say: Done.\n");
    env.agent("looker.md", "---\nname: looker\ndescription: d\ntools: Read, Grep\n---\nYou only look.\n");
    env.write("home/.claude/settings.json", r#"{"agent": "looker"}"#);
    let lines = stream(&env, &["--allowedTools", "Bash"]);
    let init = lines.iter().find(|line| line["subtype"] == "init").expect("a first line");
    assert_eq!(init["tools"], serde_json::json!(["Grep", "Read"]));
    assert!(!env.path("project/made").exists());
    env.write("home/.claude/settings.json", r#"{"agent": "loker"}"#);
    let lines = stream(&env, &["--allowedTools", "Bash"]);
    let notes: String = lines.iter().filter_map(|line| line["content"].as_str()).collect();
    assert!(
        notes.contains("no agent called `loker`, which $ENV/home/.claude/settings.json asks for"),
        "{notes}"
    );
    assert!(env.path("project/made").exists());
}

#[test]
fn what_may_not_be_read_is_not_found_either() {
    let script = "
- calls: [{Grep: {pattern: secret, output_mode: content}}, {Grep: {pattern: secret, glob: .env}}, {Glob: {pattern: '**/.e*'}}]
- say: Done.
";
    let env = rehearsed(script);
    env.write("project/.env", "secret=1");
    env.write("project/a.txt", "no secret");
    env.write("home/.claude/settings.json", r#"{"permissions": {"deny": ["Read(.env)"]}}"#);
    let lines = stream(&env, &[]);
    let answers = answers(&lines).join("\n");
    assert!(
        answers.contains("a.txt") && !answers.contains(".env:") && !answers.contains("secret=1"),
        "{answers}"
    );
    assert!(!answers.lines().any(|line| line.ends_with("/.env") || line == ".env"), "{answers}");
    env.write("home/.claude/settings.json", "{}");
    assert!(
        self::answers(&stream(&env, &[])).join("\n").contains("secret=1"),
        "without the rule it is found"
    );
}

#[test]
fn a_limit_that_cannot_be_read_refuses_the_start() {
    let env = rehearsed("- say: hi\n");
    let output = env.posse(&[&["-p", "go", "--disallowedTools", "Bash(echo"], &MODEL[..]].concat());
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("unbalanced parentheses"), "{output:?}");
}
