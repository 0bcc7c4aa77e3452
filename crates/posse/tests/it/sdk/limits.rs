//! What a host, a file or a hook has limited stays limited, whatever is changed beside it.

use serde_json::json;

use super::raw::{Talk, orders};
use super::*;

fn flags(talk: &mut Talk, settings: Value) {
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": settings}));
}

fn hook(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

/// A user's settings that give all that can be given, with the hooks besides.
fn generous(home: &str, hooks: Value) -> Value {
    let mut hooks = hooks;
    hooks["UserPromptSubmit"] = hook("touch hooked");
    json!({
        "permissions": {"allow": ["Bash"], "additionalDirectories": [home]},
        "env": {"GIVEN": "yes"},
        "hooks": hooks,
    })
}

#[test]
fn a_change_that_a_hook_will_not_have_never_counts() {
    let model = obedient();
    let env = world(&model);
    let guard = json!({"ConfigChange": hook("echo not this >&2; exit 2")});
    env.write("home/.claude/settings.json", json!({"hooks": guard}).to_string());
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let home = env.path("home").display().to_string();
    env.write("home/.claude/settings.json", generous(&home, guard).to_string());
    talk.until(|line| line["content"].as_str().is_some_and(|text| text.contains("does not count")));
    let check = |talk: &mut Talk| {
        let state = talk.ask(json!({"subtype": "list_permission_rules"}))["state"].clone();
        assert_eq!((&state["rules"], &state["workspaceDirectories"]), (&json!([]), &json!([])));
        assert!(talk.says("hello").contains("hello") && !env.path("project/hooked").exists());
        let listing = talk.ask(json!({"subtype": "get_hooks_listing"}));
        assert_eq!(pluck(&listing["hooks"], "/event"), "ConfigChange");
    };
    check(&mut talk);
    flags(&mut talk, json!({"effortLevel": "low"}));
    check(&mut talk);
    talk.ask(json!({"subtype": "reload_plugins"}));
    check(&mut talk);
    flags(&mut talk, json!({"permissions": {"deny": ["WebFetch"], "allow": ["Bash(printf:*)"]}}));
    let said = talk.does("Bash", json!({"command": "printf '<%s>' \"$GIVEN\""}));
    assert!(said.contains("<>"), "{said}");
}

#[test]
fn hooks_of_a_file_wait_for_the_next_session() {
    let model = obedient();
    let env = world(&model);
    env.write("home/.claude/settings.json", "{}");
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let home = env.path("home").display().to_string();
    env.write("home/.claude/settings.json", generous(&home, json!({})).to_string());
    talk.until(|line| line["content"].as_str().is_some_and(|text| text.contains("count from now on")));
    flags(&mut talk, json!({"hooks": {"Stop": hook("touch stopped")}}));
    talk.says("hello");
    talk.ask(json!({"subtype": "reload_plugins"}));
    talk.says("hello");
    assert!(env.path("project/stopped").exists() && !env.path("project/hooked").exists());
    let listing = talk.ask(json!({"subtype": "get_hooks_listing"}));
    assert_eq!(pluck(&listing["hooks"], "/event"), "Stop");
    // Switching hooks off and on again brings back what there was, and no more.
    flags(&mut talk, json!({"disableAllHooks": true}));
    flags(&mut talk, json!({"disableAllHooks": null}));
    std::fs::remove_file(env.path("project/stopped")).unwrap();
    talk.says("hello");
    assert!(env.path("project/stopped").exists() && !env.path("project/hooked").exists());
}

#[test]
fn what_a_host_has_denied_stays_denied_in_the_next_conversation() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.greet(json!({}));
    let touch = json!({"command": "touch made"});
    flags(&mut talk, json!({"permissions": {"deny": ["Bash(touch:*)"]}}));
    talk.says("/clear");
    flags(&mut talk, json!({"effortLevel": "low"}));
    talk.does("Bash", touch.clone());
    assert!(!env.path("project/made").exists());
    flags(&mut talk, json!({"permissions": null}));
    talk.does("Bash", touch);
    assert!(env.path("project/made").exists());
    assert_eq!(talk.says(&orders(json!([{"echo": "/output_config/effort"}]))), "\"low\"");
}

#[test]
fn what_a_host_has_turned_stays_so_in_the_next_conversation() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.greet(json!({}));
    let called = json!({"Stop": [{"hookCallbackIds": ["second"]}]});
    talk.greet(json!({"hooks": called}));
    talk.ask(json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 2000}));
    talk.user("/clear");
    talk.result();
    let listing = talk.ask(json!({"subtype": "get_hooks_listing"}));
    assert_eq!(pluck(&listing["hooks"], "/commandText"), "second");
    talk.user("hello");
    let asked = talk.asked("hook_callback");
    assert_eq!(asked["request"]["callback_id"], "second");
    talk.answer(&asked["request_id"], json!({}));
    talk.result();
    assert_eq!(model.requests().pop().unwrap().body["thinking"]["budget_tokens"], 2000);
}

#[test]
fn a_mode_that_settings_close_is_entered_by_no_door() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let auto = json!({"subtype": "set_permission_mode", "mode": "auto"});
    let mode =
        |talk: &mut Talk| talk.ask(json!({"subtype": "get_settings"}))["applied"]["permissionMode"].clone();
    talk.ask(auto.clone());
    assert_eq!(mode(&mut talk), "auto");
    flags(&mut talk, json!({"disableAutoMode": "disable"}));
    assert_eq!(mode(&mut talk), "default");
    let why = talk.ask_in_vain(auto);
    assert!(why.contains("disableAutoMode"), "{why}");
    flags(&mut talk, json!({"permissions": {"defaultMode": "auto"}}));
    assert_eq!(mode(&mut talk), "default");
}

#[test]
fn of_two_models_the_one_chosen_last_answers() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let settings = json!({"model": "claude-x-1"});
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": settings}));
    talk.ask(json!({"subtype": "set_model", "model": "claude-x-2"}));
    assert_eq!(talk.says(&orders(json!([{"echo": "/model"}]))), "\"claude-x-2\"");
}

#[test]
fn lines_that_were_changed_are_counted() {
    let model = obedient();
    let env = world(&model);
    env.write("project/old.txt", "one\ntwo\nthree\n");
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash Write Edit Read"]);
    talk.greet(json!({}));
    talk.does("Write", json!({"file_path": env.path("project/new.txt"), "content": "a\nb\n"}));
    talk.does("Read", json!({"file_path": env.path("project/old.txt")}));
    let edit = json!({"file_path": env.path("project/old.txt"), "old_string": "two", "new_string": "2\n2"});
    talk.does("Edit", edit);
    let session = talk.ask(json!({"subtype": "get_usage"}))["session"].clone();
    assert_eq!((&session["total_lines_added"], &session["total_lines_removed"]), (&json!(4), &json!(1)));
}

#[test]
fn what_was_left_out_of_an_output_is_counted_in_bytes() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.greet(json!({}));
    let command = r"head -c 9000 /dev/zero | tr '\0' '\377'; read -r never < /dev/zero";
    let said = talk.does("Bash", json!({"command": command, "run_in_background": true}));
    let words = said.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut ids = words.filter(|word| word.starts_with('b') && word.len() > 5);
    let id = ids.find(|word| word.chars().any(|c| c.is_ascii_digit())).expect("an id");
    loop {
        let output = talk.ask(json!({"subtype": "get_task_output", "task_id": id}));
        if output["total_bytes"] == 9000 {
            assert_eq!(output["truncated"], true);
            break;
        }
    }
    talk.ask(json!({"subtype": "stop_task", "task_id": id}));
}
