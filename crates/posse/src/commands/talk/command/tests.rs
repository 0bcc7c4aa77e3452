use posse_core::permission::Mode;

use super::{COMMANDS, Command, help};

#[test]
fn what_is_typed_and_what_it_means() {
    let say = |text: &str| Command::Say(text.into());
    for (typed, want) in [
        ("hello", say("hello")),
        ("  two\nlines \n", say("two\nlines")),
        ("", Command::Nothing),
        (" \n", Command::Nothing),
        ("/help", Command::Help),
        ("/compact", Command::Compact("/compact".into())),
        ("/compact the names ", Command::Compact("/compact the names".into())),
        ("/clear", Command::Clear),
        ("/cost", Command::Cost),
        ("/exit", Command::Exit),
        ("/quit", Command::Exit),
        ("/mode", Command::Mode(None)),
        ("/mode plan", Command::Mode(Some(Mode::Plan))),
        ("/mode manual", Command::Mode(Some(Mode::Default))),
        ("/model", Command::Model(None)),
        ("/model opus ", Command::Model(Some("opus".into()))),
        // Paths and what has a space before it are things to say.
        ("/usr/bin is full", say("/usr/bin is full")),
        (" /help", say("/help")),
        ("/", say("/")),
    ] {
        assert_eq!(Command::parse(typed), want, "{typed:?}");
    }
    for (typed, hint) in [
        ("/hepl", "did you mean /help?"),
        ("/review it", "/help lists them"),
        ("/mode bypassPermissions", "default, acceptEdits, plan, dontAsk"),
    ] {
        let (Command::Unknown(text) | Command::Other { hint: text, .. }) = Command::parse(typed) else {
            panic!("{typed} is no command")
        };
        assert!(text.contains(hint), "{text}");
    }
}

#[test]
fn everything_that_help_names_is_understood() {
    let text = help(&["review".to_owned()]);
    assert!(text.contains("/review"), "{text}");
    for (name, _, what) in COMMANDS {
        assert!(text.contains(&format!("/{name}")) && text.contains(what), "{name}");
        let understood = Command::parse(&format!("/{name}"));
        assert!(!matches!(understood, Command::Unknown(_) | Command::Say(_)), "{name}: {understood:?}");
    }
}
