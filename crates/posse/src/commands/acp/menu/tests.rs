use super::*;

#[test]
fn the_mode_that_asks_nothing_is_open_only_if_it_was_opened() {
    let names = |modes: Modes| modes.open.into_iter().map(Mode::name).collect::<Vec<_>>();
    let usual = |mode| mode != Mode::BypassPermissions;
    assert_eq!(names(modes(Mode::Default, usual)), ["default", "acceptEdits", "plan", "auto", "dontAsk"]);
    assert_eq!(names(modes(Mode::Plan, |_| true)).last(), Some(&"bypassPermissions"));
    assert!(!names(modes(Mode::Plan, |mode| mode != Mode::Auto)).contains(&"auto"));
}

#[test]
fn the_models_hold_the_first_and_the_current_one_once() {
    let cases = [
        ("sonnet", "sonnet", vec!["opus", "sonnet", "haiku"]),
        ("claude-x", "claude-x", vec!["claude-x", "opus", "sonnet", "haiku"]),
        ("claude-x", "opus", vec!["claude-x", "opus", "sonnet", "haiku"]),
        ("sonnet", "openai:y", vec!["opus", "sonnet", "haiku", "openai:y"]),
    ];
    for (first, current, expected) in cases {
        let all = models(first, current, |id| format!("wire-{id}").into());
        let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, expected, "{first} {current}");
        assert!(all.iter().all(|one| one.description == format!("wire-{}", one.id)));
    }
}
