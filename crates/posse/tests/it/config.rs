//! `posse config`.

use super::*;

fn layered() -> TestEnv {
    let env = env();
    env.write(
        "home/.claude/settings.json",
        "{\n  \"model\": \"opus\",\n  \"permissions\": {\"deny\": [\"Bash(rm:*)\"]},\n  \"env\": {\"MY_TOKEN\": \"s3cret\"}\n}",
    );
    env.write(
        "project/.claude/settings.json",
        "{\n  \"model\": \"haiku\",\n  \"permissions\": {\"allow\": [\"Read\"], \"deny\": [\"WebFetch\"]}\n}",
    );
    env.write("managed/managed-settings.json", "{\n  \"cleanupPeriodDays\": 7\n}");
    env
}

#[test]
fn every_value_is_shown_with_who_set_it_and_what_it_overrode() {
    let env = layered();
    let text = env.posse(&["config"]).success();
    assert_eq!(
        text,
        "\
permissions.allow = not in force
    project  .claude/settings.json:3              ignored: the folder is not trusted
permissions.deny = [\"Bash(rm:*)\",\"WebFetch\"]
    project  .claude/settings.json:3
    user     $ENV/home/.claude/settings.json:3
model = \"haiku\"
    project  .claude/settings.json:2
    user     $ENV/home/.claude/settings.json:2 overridden: \"opus\"
env.MY_TOKEN = \"(not shown)\"
    user     $ENV/home/.claude/settings.json:4
cleanupPeriodDays = 7
    managed  $ENV/managed/managed-settings.json:2

ignored because $ENV/project is not trusted: 1 allow rule (posse trust makes them count)
"
    );
    env.posse(&["trust"]).success();
    let text = env.posse(&["config", "permissions.allow"]).success();
    assert!(
        text.contains("permissions.allow = [\"Read\"]\n    project  .claude/settings.json:3\n"),
        "{text}"
    );
}

#[test]
fn one_setting_and_what_lies_below_it() {
    let env = layered();
    let keys = |key: &str| pluck(&json(&env.posse(&["config", key, "--json"]).success())["settings"], "/key");
    assert_eq!(keys("permissions"), "permissions.allow permissions.deny");
    assert_eq!(keys("env.MY_TOKEN"), "env.MY_TOKEN");
    assert_eq!(keys("sandbox"), "");
    let text = env.posse(&["config", "agent"]).success();
    assert!(text.starts_with("agent is not set\n"), "{text}");
    let (_, stderr) = env.posse(&["config", "modle"]).fails_with(2);
    assert!(stderr.contains("did you mean `model`?"), "{stderr}");
}

#[test]
fn json_holds_the_same_and_no_secrets() {
    let env = layered();
    let text = env.posse(&["config", "--json"]).success();
    assert!(!text.contains("s3cret"), "{text}");
    let value = json(&text);
    assert_eq!(pluck(&value["settings"][2]["setBy"], "/standing"), "overridden counts");
    assert_eq!(pluck(&value["settings"][2]["setBy"], "/line"), "2 2");
    assert_eq!(pluck(&value["ignored"], "/text"), "allow Read");
    assert_eq!(value["trust"]["trusted"], false);
}

#[test]
fn mistakes_are_shown_with_their_place_and_limits_stop_the_start() {
    let env = env();
    env.write(
        "project/.claude/settings.json",
        "{\n  \"modle\": \"x\",\n  \"cleanupPeriodDays\": \"x\",\n  \"permissions\": {\"deny\": 5, \"allow\": [\"Bsh\"]},\n  \"hooks\": {\"PreTool\": []}\n}",
    );
    let (stdout, _) = env.posse(&["config"]).fails_with(1);
    for part in [
        "warning[unknown-setting]: no setting is called `modle`; it is ignored\n  --> .claude/settings.json:2:3",
        "did you mean `model`?",
        "`cleanupPeriodDays` takes a whole number, not text; it is ignored\n  --> .claude/settings.json:3:24",
        "error[invalid-setting]: `permissions.deny` takes a list of rules, not the number 5; nothing is started until it is mended\n  --> .claude/settings.json:4:27",
        "warning[unknown-tool]: no tool is called `Bsh`; the rule allows nothing",
        "no hook event is called `PreTool`",
    ] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
    let (_, stderr) = env.posse(&["explain", "general-purpose"]).fails_with(1);
    assert!(stderr.contains("permissions.deny") && stderr.contains(":4:27"), "{stderr}");
}

#[test]
fn the_administrators_files_must_be_right() {
    for text in [
        "{",
        "[]",
        r#"{"allowManagedHooksOnly": "yes"}"#,
        r#"{"sandbox": {"enabled": 1}}"#,
        r#"{"hooks": 5}"#,
    ] {
        let env = env();
        env.write("managed/managed-settings.d/10.json", text);
        let (stdout, _) = env.posse(&["config"]).fails_with(1);
        assert!(stdout.contains("managed-settings.d/10.json"), "{stdout}");
        env.posse(&["explain", "general-purpose"]).fails_with(1);
    }
    // Later files win, in order of name; what is not JSON by name is no settings file.
    let env = env();
    for (file, days) in
        [("managed-settings.json", 1), ("managed-settings.d/20.json", 20), ("managed-settings.d/10.json", 10)]
    {
        env.write(&format!("managed/{file}"), format!("\u{feff}{{\"cleanupPeriodDays\": {days}}}"));
    }
    env.write("managed/managed-settings.d/99.txt", "{");
    let text = env.posse(&["config", "cleanupPeriodDays"]).success();
    assert!(text.contains("cleanupPeriodDays = 20"), "{text}");
}
