use posse_core::hooks::HookHandler;
use std::time::Duration;

use super::*;

#[test]
fn nothing_hides_in_a_line() {
    let table = [
        ("rm -rf x", "rm -rf x"),
        ("a\nb\u{1b}", "a\\nb\\u{1b}"),
        ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ("a\u{200b}\u{200d}b\u{feff}", "a\\u{200b}\\u{200d}b\\u{feff}"),
        ("prüfe Ω 漢字 🎉", "prüfe Ω 漢字 🎉"),
    ];
    for (text, shown) in table {
        assert_eq!(revealed(text), shown);
    }
}

#[test]
fn what_a_hook_says_while_it_runs_hides_nothing_either() {
    let handler = HookHandler {
        kind: HookKind::Command {
            command: "x".into(),
            args: None,
            shell: None,
            detached: false,
            rewake: false,
        },
        timeout: Some(Duration::from_secs(1)),
        condition: None,
        status_message: Some("a\u{202e}b".into()),
        once: false,
    };
    let row = HookRow {
        event: HookEvent::Stop,
        matcher: String::new(),
        source: "userSettings",
        label: String::new(),
        plugin: None,
        handler: Some(handler),
        name: "x".into(),
    };
    assert_eq!(hook(&row)["statusMessage"], "a\\u{202e}b");
}
