use serde_json::json;

use super::*;

const PLAIN: Style = Style { color: false };

fn ask(tool: &str, input: Value, suggestions: Vec<Suggestion>) -> PermissionAsk {
    PermissionAsk {
        tool: tool.into(),
        input,
        title: format!("Use {tool}?"),
        reason: None,
        grounds: Box::default(),
        suggestions,
        agent: None,
        agent_id: None,
        call: "c".into(),
    }
}

fn rules(content: &str) -> Suggestion {
    let rule = json!({ "toolName": "Bash", "ruleContent": content });
    let update = json!({
        "type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings",
    });
    Suggestion { label: "these commands".into(), update }
}

fn edits() -> Suggestion {
    let update = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
    Suggestion { label: "without asking about edits".into(), update }
}

#[test]
fn a_command_is_shown_whole_with_its_reason_and_the_exact_rule() {
    let input = json!({ "command": "make\n  install", "description": "Install" });
    let ask = PermissionAsk {
        reason: Some("a rule says so".into()),
        agent: Some("builder".into()),
        agent_id: None,
        ..ask("Bash", input, vec![rules("make:*")])
    };
    assert_eq!(
        permission(&ask, None, PLAIN),
        "
? Use Bash?
  asked by the agent builder
  Install
  $ make
      install
  asked because a rule says so
  y   yes, this once
  a   yes, and always in this session: Bash(make:*)
  p   yes, and always in this project (.claude/settings.local.json): Bash(make:*)
  n   no (Enter alone is no; what follows the n is told to the agent)
"
    );
}

#[test]
fn a_change_is_shown_as_a_difference() {
    let input = json!({ "file_path": "/a.rs", "old_string": "one\ntwo\n", "new_string": "one\n2\n" });
    let text = permission(&ask("Edit", input, vec![edits()]), None, PLAIN);
    assert!(text.contains("  /a.rs\n    one\n  - two\n  + 2\n"), "{text}");
    // A mode is not saved.
    assert!(text.contains("a   yes, and always in this session: mode acceptEdits\n  n"), "{text}");
    let input = json!({ "file_path": "/a.rs", "content": "x\ny\n" });
    let text = permission(&ask("Write", input.clone(), Vec::new()), Some("x\n"), PLAIN);
    assert!(text.contains("/a.rs\n    x\n  + y\n  y "), "{text}");
    let text = permission(&ask("Write", input, Vec::new()), None, PLAIN);
    assert!(text.contains("/a.rs\n  a new file\n  + x\n  + y\n"), "{text}");
    let text = permission(&ask("mcp__mail__send", json!({ "to": "me" }), Vec::new()), None, PLAIN);
    assert!(text.contains("  {\n    \"to\": \"me\"\n  }\n"), "{text}");
}

#[test]
fn nothing_hides() {
    let input = json!({ "command": "echo \u{1b}[2Ksafe\u{202e}\u{200b}\u{7}" });
    let text = permission(&ask("Bash", input, Vec::new()), None, PLAIN);
    assert!(text.contains(r"$ echo \u{1b}[2Ksafe\u{202e}\u{200b}\u{7}"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn answers_to_may_it() {
    let allow = |update: Option<Value>| {
        let updates = update.into_iter().collect();
        Reply::Answer(PermissionAnswer::Allow { updated_input: None, updates })
    };
    let no = |message: &str| Reply::Answer(deny(message));
    let to = |destination: &str, suggestion: Suggestion| {
        let mut update = suggestion.update;
        update["destination"] = destination.into();
        Some(update)
    };
    let one = vec![rules("make:*")];
    let two = vec![edits(), rules("make:*")];
    for (line, suggestions, want) in [
        ("y", &one, allow(None)),
        (" YES ", &one, allow(None)),
        ("a", &one, allow(to("session", rules("make:*")))),
        ("p", &one, allow(to("localSettings", rules("make:*")))),
        ("a1", &one, Reply::Unclear),
        ("a", &two, Reply::Unclear),
        ("a1", &two, allow(to("session", edits()))),
        ("p1", &two, Reply::Unclear),
        ("P2", &two, allow(to("localSettings", rules("make:*")))),
        ("a3", &two, Reply::Unclear),
        ("a", &Vec::new(), Reply::Unclear),
        ("", &one, no(REFUSED)),
        ("\u{1b}", &one, no(REFUSED)),
        ("\u{1b}[A", &one, no(REFUSED)),
        ("n", &one, Reply::No),
        ("n use ninja", &one, no("The user refused this call: use ninja")),
        ("yes but quietly", &one, Reply::Unclear),
        ("yy", &one, Reply::Unclear),
        ("sure", &one, Reply::Unclear),
    ] {
        assert_eq!(permission_reply(line, suggestions), want, "{line:?}");
    }
    assert_eq!(refusal(" "), deny(REFUSED));
}

#[test]
fn plans_and_answers_to_them() {
    let input =
        json!({ "plan": "# Plan\n1. Do\n", "allowedPrompts": [{ "tool": "Bash", "prompt": "run tests" }] });
    let text = plan(&ask("ExitPlanMode", input, vec![edits()]), PLAIN);
    assert!(text.contains("\n  # Plan\n  1. Do\n  will need Bash: run tests\n\n  y "), "{text}");
    assert!(text.contains("  e   yes, without asking about edits\n"), "{text}");
    let text = plan(&ask("ExitPlanMode", json!({}), Vec::new()), PLAIN);
    assert!(text.contains("what the agent said above") && !text.contains("  e "), "{text}");
    let accept = PermissionAnswer::Allow { updated_input: None, updates: vec![edits().update] };
    for (line, suggestions, want) in [
        ("y", vec![edits()], Reply::Answer(PermissionAnswer::yes())),
        ("e", vec![edits()], Reply::Answer(accept)),
        ("e", vec![], Reply::Answer(deny("e"))),
        ("", vec![edits()], Reply::Answer(deny(NOT_YET))),
        ("\u{1b}", vec![edits()], Reply::Answer(deny(NOT_YET))),
        ("N", vec![edits()], Reply::No),
        ("no smaller steps", vec![edits()], Reply::Answer(deny("smaller steps"))),
        ("yes, but first test", vec![edits()], Reply::Answer(deny("yes, but first test"))),
    ] {
        assert_eq!(plan_reply(line, &suggestions), want, "{line:?}");
    }
    assert_eq!(plan_refusal(""), deny(NOT_YET));
}

#[test]
fn answers_to_which_of_these() {
    let options =
        json!([{ "label": "Tests", "description": "slow" }, { "label": "Lint" }, { "label": "Types" }]);
    let question = |multi: bool| -> Question {
        let text = json!({ "question": "Which?", "header": "H", "options": options, "multiSelect": multi });
        serde_json::from_value(text).unwrap()
    };
    let answer = |text: &str| Ok(Some(text.to_owned()));
    for (line, multi, want) in [
        ("2", false, answer("Lint")),
        (" 1 ", true, answer("Tests")),
        ("1,3", true, answer("Tests, Types")),
        ("1 3", true, answer("Tests, Types")),
        ("1,1", false, answer("Tests")),
        ("1,3", false, Err("Only one can be chosen.".to_owned())),
        ("4", false, Err("There is no 4; there are 1 to 3.".to_owned())),
        ("0", true, Err("There is no 0; there are 1 to 3.".to_owned())),
        ("lint", false, answer("Lint")),
        ("none of 2", false, answer("none of 2")),
        (",", false, answer(",")),
        ("", false, Ok(None)),
        ("\u{1b}", true, Ok(None)),
    ] {
        assert_eq!(question_reply(line, &question(multi)), want, "{line:?}");
    }
    let text = super::question(&question(true), PLAIN);
    assert!(text.starts_with("\n? H Which?\n  1   Tests — slow\n  2   Lint\n"), "{text}");
}

#[test]
fn trust_names_the_folder_and_what_it_wants() {
    let text = trust(Path::new("/p\u{1b}"), &["run a hook before every call".into()], PLAIN);
    assert!(text.contains("  /p\\u{1b}\n") && text.contains("  - run a hook before every call\n"), "{text}");
}
