//! Rules that change while a session runs, and calls that a person, a hook's stand-in or a model decides on.

use std::time::Duration;

use futures_util::future::BoxFuture;
use posse_core::message::ToolCall;
use posse_core::turn::Verdict;
use serde_json::{Value, json};

use super::*;
use crate::ask::{Ask, Desk, PermissionAnswer};
use crate::hooks::Judge;
use crate::world::World;

fn authority(rules: &[(Behavior, &str)], root: &Path) -> Arc<Authority> {
    let source = Arc::new(RuleSource::new("test", root, root, None));
    Authority::new(Beginning {
        rules: rules.iter().map(|(behavior, text)| Rule::parse(*behavior, text, &source)).collect(),
        roots: vec![root.to_owned()],
        places: SettingsPlaces {
            user: None,
            project: root.join(".claude/settings.json"),
            local: root.join(".claude/settings.local.json"),
        },
        ..Beginning::default()
    })
}

fn guard(authority: Arc<Authority>, mode: Mode) -> Guard {
    Guard::new(authority, mode.into(), RunHooks::none(Arc::new(World::default())))
}

fn call(name: &str, input: Value) -> ToolCall {
    ToolCall { id: "c".into(), name: name.into(), input }
}

async fn judge(guard: &Guard, call: &ToolCall, cwd: &Path) -> Authorized {
    guard.authorize(call, cwd, &["tidy up".into()], |_| true).await
}

fn allowed(authorized: &Authorized) -> bool {
    matches!(authorized.verdict, Verdict::Allow { .. })
}

#[tokio::test]
async fn an_answer_can_last_for_the_session_and_be_written_down() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    let authority = authority(&[], root);
    let (desk, mut asks) = Desk::open();
    let guard = Guard { desk, ..guard(Arc::clone(&authority), Mode::Default) };
    let make = call("Bash", json!({ "command": "make all" }));
    let person = async {
        let Some(Ask::Permission(pending)) = asks.next().await else { panic!("nobody asked") };
        assert_eq!(pending.ask.suggestions[0].label, "allow Bash(make all:*)");
        let updates = vec![pending.ask.suggestions[0].update.clone()];
        pending.answer(PermissionAnswer::Allow { updated_input: None, updates });
    };
    let (first, ()) = tokio::join!(judge(&guard, &make, root), person);
    assert!(allowed(&first), "{first:?}");
    drop(asks);
    // Nobody is there any more; the rule is.
    assert!(allowed(&judge(&guard, &make, root).await));
    assert!(!allowed(&judge(&guard, &call("Bash", json!({ "command": "make all; rm -rf x" })), root).await));
    let saved = std::fs::read_to_string(root.join(".claude/settings.local.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&saved).unwrap()["permissions"]["allow"],
        json!(["Bash(make all:*)"])
    );
}

#[test]
fn what_a_person_names_is_shown_unless_something_is_against_it() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    let rules = [(Behavior::Deny, "Read(secret/**)"), (Behavior::Ask, "Read(asked.txt)")];
    for mode in [Mode::Default, Mode::DontAsk, Mode::Plan, Mode::Auto, Mode::AcceptEdits] {
        let guard = guard(authority(&rules, root), mode);
        for (path, want) in [
            (root.join("plain.txt"), true),
            (root.join("secret/key"), false),
            (root.join("asked.txt"), false),
            ("/elsewhere/note.txt".into(), true),
        ] {
            assert_eq!(guard.may_show(&path, root), want, "{mode:?} {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_settings_file_with_comments_is_not_rewritten() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join(".claude/settings.local.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{ // mine\n}").unwrap();
    let authority = authority(&[], temp.path());
    let update = json!({ "type": "addRules", "rules": [{ "toolName": "WebSearch" }], "behavior": "allow",
                         "destination": "localSettings" });
    let applied = authority.apply(&Update::from_json(&update).unwrap(), temp.path());
    assert!(applied.notes[0].contains("left as it is"), "{applied:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ // mine\n}");
    let guard = guard(authority, Mode::Default);
    assert!(allowed(&judge(&guard, &call("WebSearch", json!({ "query": "x" })), temp.path()).await));
}

#[tokio::test]
async fn a_change_of_mode_holds_at_once_and_bypass_must_be_open() {
    let temp = tempfile::tempdir().unwrap();
    let authority = authority(&[], temp.path());
    let guard = guard(Arc::clone(&authority), Mode::Default);
    let write = call("Write", json!({ "file_path": "a.txt", "content": "" }));
    assert!(!allowed(&judge(&guard, &write, temp.path()).await));
    let update = Update::SetMode { mode: Mode::BypassPermissions, destination: Destination::Session };
    let applied = authority.apply(&update, temp.path());
    assert_eq!((applied.mode, applied.notes.len()), (None, 1));
    guard.mode.set(Mode::AcceptEdits);
    assert!(allowed(&judge(&guard, &write, temp.path()).await));
    let outside = call("Write", json!({ "file_path": "/elsewhere/a.txt", "content": "" }));
    assert!(!allowed(&judge(&guard, &outside, temp.path()).await));
}

struct Says(&'static str);
impl Judge for Says {
    fn ask<'a>(
        &'a self,
        prompt: &'a str,
        _: Option<&'a str>,
        _: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        assert!(prompt.contains("<user>tidy up</user>") && prompt.contains("rm notes.txt"), "{prompt}");
        Box::pin(async { if self.0.is_empty() { Err("down".into()) } else { Ok(self.0.to_owned()) } })
    }
}

#[tokio::test]
async fn in_auto_only_a_clear_yes_allows_and_rules_stand_above_it() {
    let temp = tempfile::tempdir().unwrap();
    let rm = call("Bash", json!({ "command": "rm notes.txt" }));
    for (says, fine) in
        [("VERDICT: ALLOW", true), ("VERDICT: ASK deletes", false), ("hm", false), ("", false)]
    {
        let guard =
            Guard { judge: Some(Arc::new(Says(says))), ..guard(authority(&[], temp.path()), Mode::Auto) };
        assert_eq!(allowed(&judge(&guard, &rm, temp.path()).await), fine, "{says}");
    }
    let denied = authority(&[(Behavior::Deny, "Bash(rm:*)")], temp.path());
    let guard = Guard { judge: Some(Arc::new(Says("VERDICT: ALLOW"))), ..guard(denied, Mode::Auto) };
    let found = judge(&guard, &rm, temp.path()).await;
    let Verdict::Deny(why) = found.verdict else { panic!("{found:?}") };
    assert_eq!(why.message, "Permission to use Bash has been denied: the deny rule `Bash(rm:*)` in test.");
    let because = why.because.expect("a reason");
    assert_eq!((because.kind, &*because.reason), ("rule", "the deny rule `Bash(rm:*)` in test"));
}

#[tokio::test]
async fn a_person_can_change_the_input_or_end_the_turn() {
    let temp = tempfile::tempdir().unwrap();
    let (desk, mut asks) = Desk::open();
    let guard = Guard { desk, ..guard(authority(&[], temp.path()), Mode::Default) };
    let touch = call("Bash", json!({ "command": "touch a" }));
    let person = async {
        for answer in [
            PermissionAnswer::Allow { updated_input: Some(json!({ "command": "touch b" })), updates: vec![] },
            PermissionAnswer::Deny { message: "not now".into(), interrupt: true },
        ] {
            let Some(Ask::Permission(pending)) = asks.next().await else { panic!("nobody asked") };
            pending.answer(answer);
        }
    };
    let calls =
        async { (judge(&guard, &touch, temp.path()).await, judge(&guard, &touch, temp.path()).await) };
    let ((first, second), ()) = tokio::join!(calls, person);
    assert_eq!(first.verdict, Verdict::Allow { alone: true, input: Some(json!({ "command": "touch b" })) });
    let Verdict::Deny(why) = second.verdict else { panic!("it was denied") };
    assert!(why.message.contains("has stopped you here"), "{}", why.message);
    assert!(second.stop.is_some());
}

#[test]
fn settings_that_change_replace_their_rules_and_leave_the_sessions() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    let authority = authority(&[(Behavior::Allow, "Bash(make)"), (Behavior::Deny, "Read(./a)")], root);
    let added = json!({
        "type": "addRules", "behavior": "allow", "destination": "session",
        "rules": [{ "toolName": "Bash", "ruleContent": "ls" }],
    });
    let added = Update::from_json(&added).unwrap();
    authority.apply(&added, root);
    let source = Arc::new(RuleSource::new("test", root, root, None));
    let rules = || vec![Rule::parse(Behavior::Deny, "Read(./b)", &source)];
    let texts = || authority.rules().rules().iter().map(|rule| rule.text.to_string()).collect::<Vec<_>>();
    authority.reload(Reloaded { rules: rules(), ..Reloaded::default() });
    assert_eq!(texts(), ["Read(./b)", "Bash(ls)"]);
    // Where only the administrator's rules count, nothing that somebody allowed does.
    authority.reload(Reloaded {
        rules: rules(),
        managed_only: true,
        bypass_disabled: true,
        auto_disabled: true,
    });
    assert_eq!((texts(), authority.may_bypass()), (vec!["Read(./b)".to_owned()], false));
    assert_eq!(authority.apply(&added, root).notes.len(), 1);
}

#[test]
fn modes_that_are_closed_stay_closed() {
    let set = |mode| Update::SetMode { mode, destination: Destination::Session };
    let table = [
        (false, false, Mode::Auto, true),
        (false, true, Mode::Auto, false),
        (true, false, Mode::BypassPermissions, true),
        (false, false, Mode::BypassPermissions, false),
        (false, true, Mode::AcceptEdits, true),
    ];
    for (may_bypass, auto_disabled, mode, is_open) in table {
        let authority = Authority::new(Beginning { may_bypass, auto_disabled, ..Beginning::default() });
        let applied = authority.apply(&set(mode), Path::new("/"));
        assert_eq!((applied.mode.is_some(), applied.notes.is_empty()), (is_open, is_open), "{mode:?}");
        assert_eq!(authority.objection_to(mode).is_none(), is_open, "{mode:?}");
    }
    let authority = Authority::new(Beginning::default());
    authority.reload(Reloaded { auto_disabled: true, ..Reloaded::default() });
    authority.reload(Reloaded::default());
    assert!(authority.objection_to(Mode::Auto).is_some());
}

#[test]
fn what_was_refused_for_a_session_outlasts_the_conversation() {
    let (old, new) = (Authority::new(Beginning::default()), Authority::new(Beginning::default()));
    let add = |behavior, rule: &str| Update::AddRules {
        rules: vec![RuleText { tool: rule.into(), content: None }],
        behavior,
        destination: Destination::Session,
    };
    for (behavior, rule) in [(Behavior::Deny, "Bash"), (Behavior::Ask, "Edit"), (Behavior::Allow, "Write")] {
        old.apply(&add(behavior, rule), Path::new("/"));
    }
    old.set_server_mode("files", Some(Mode::Default));
    new.inherit(&old.lasting());
    let rules = new.rules();
    let texts: Vec<&str> = rules.rules().iter().map(|rule| &*rule.text).collect();
    assert_eq!(texts, ["Bash", "Edit"]);
    assert_eq!(new.lasting(), old.lasting());
    assert_eq!(new.mode_for("mcp__files__x", Mode::BypassPermissions), Mode::Default);
}
