use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use posse_runtime::ask::{Desk, QuestionAsk, Suggestion};
use serde_json::{Value, json};

use super::super::lines::Lines;
use super::*;
use crate::terminal::Terminal;

/// What was shown.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    fn terminal(&self) -> Terminal {
        let end = || Box::new(self.clone());
        Terminal { out: end(), err: end(), is_terminal: true, color: false, width: 80 }
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A run that works in this folder.
fn cx(cwd: &Path) -> ToolCx {
    let world = posse_runtime::world::World { cwd: cwd.to_owned(), ..Default::default() };
    ToolCx::new(Arc::new(world), Path::new("/nowhere"))
}

/// A dialog with somebody who types this: the answer, and what they saw.
async fn dialog<T>(typed: &'static str, cwd: &Path, ask: impl AsyncFnOnce(Desk) -> T) -> (T, String) {
    let screen = Screen::default();
    let mut terminal = screen.terminal();
    let mut console = Console { terminal: &mut terminal, lines: Lines::of(Cursor::new(typed)) };
    let (desk, mut asks) = Desk::open();
    let person = async {
        while let Some(ask) = asks.next().await {
            serve(&mut console, ask, &cx(cwd)).await.unwrap();
        }
    };
    let (answer, ()) = tokio::join!(ask(desk), person);
    (answer, screen.text())
}

fn permission_ask(tool: &str, input: Value) -> PermissionAsk {
    let update = json!({ "type": "addRules", "rules": [{ "toolName": tool }], "behavior": "allow" });
    PermissionAsk {
        tool: tool.into(),
        input,
        title: "May it?".into(),
        reason: None,
        grounds: Box::default(),
        suggestions: vec![Suggestion { label: "all of it".into(), update }],
        agent: None,
        agent_id: None,
        call: "c".into(),
    }
}

fn denied(message: &str) -> PermissionAnswer {
    PermissionAnswer::Deny { message: message.into(), interrupt: false }
}

#[tokio::test]
async fn permission_is_given_refused_and_asked_for_again() {
    let ask = |typed| {
        dialog(typed, Path::new("/"), async |desk: Desk| {
            desk.permission(permission_ask("Bash", json!({ "command": "make" }))).await
        })
    };
    for (typed, want) in [
        ("y\n", PermissionAnswer::yes()),
        ("what?\ny\n", PermissionAnswer::yes()),
        ("n\ntoo early\n", denied("The user refused this call: too early")),
        ("n\n\n", denied(crate::render::ask::REFUSED)),
        ("n\n", denied(crate::render::ask::REFUSED)),
        ("\n", denied(crate::render::ask::REFUSED)),
        // Ctrl-D is no.
        ("", denied(crate::render::ask::REFUSED)),
    ] {
        let (answer, shown) = ask(typed).await;
        assert_eq!(answer, want, "{typed:?}");
        assert!(shown.contains("$ make") && shown.contains("? "), "{shown}");
    }
    let (answer, _) = ask("a\n").await;
    let PermissionAnswer::Allow { updates, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(updates[0]["destination"], "session");
    let (_, shown) = ask("maybe\n").await;
    assert!(shown.contains("none of the answers"), "{shown}");
}

#[tokio::test]
async fn a_file_that_would_be_written_is_compared_with_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "same\nold\n").unwrap();
    let input = json!({ "file_path": "a.txt", "content": "same\nnew\n" });
    let (_, shown) = dialog("y\n", folder.path(), async |desk: Desk| {
        desk.permission(permission_ask("Write", input)).await
    })
    .await;
    assert!(shown.contains("    same\n  - old\n  + new\n"), "{shown}");
}

#[tokio::test]
async fn plans_and_questions_one_after_the_other() {
    let questions: Vec<Question> = serde_json::from_value(json!([
        { "question": "One?", "header": "", "options": [{ "label": "a" }, { "label": "b" }] },
        { "question": "Two?", "header": "", "options": [{ "label": "c" }, { "label": "d" }] },
    ]))
    .unwrap();
    let ((plan, answers), shown) = dialog("n\nless\n2\n\n", Path::new("/"), async |desk: Desk| {
        tokio::join!(
            desk.permission(permission_ask("ExitPlanMode", json!({ "plan": "Do it all" }))),
            desk.question(QuestionAsk { questions: questions.clone(), call: "q".into() })
        )
    })
    .await;
    assert_eq!(plan, denied("less"));
    // The second was left open; the first still counts.
    assert_eq!(answers, QuestionAnswer::Answered([("One?".to_owned(), "b".to_owned())].into()));
    let places = ["Do it all", "What should change?", "One?", "Two?"].map(|text| shown.find(text).unwrap());
    assert!(places.is_sorted(), "{shown}");
    let (answer, _) = dialog("\n", Path::new("/"), async |desk: Desk| {
        desk.question(QuestionAsk { questions, call: "q".into() }).await
    })
    .await;
    assert_eq!(answer, QuestionAnswer::Declined("they would rather not say".into()));
}

#[tokio::test]
async fn a_question_that_is_withdrawn_leaves_the_line_for_the_next() {
    let screen = Screen::default();
    let mut terminal = screen.terminal();
    let (input, mut typing) = std::io::pipe().unwrap();
    let lines = Lines::of(std::io::BufReader::new(input));
    let mut console = Console { terminal: &mut terminal, lines };
    let (desk, mut asks) = Desk::open();
    let ask = || permission_ask("Bash", json!({ "command": "make" }));
    let first = desk.permission(ask());
    let served = async {
        let ask = asks.next().await.unwrap();
        serve(&mut console, ask, &cx(Path::new("/"))).await.unwrap();
    };
    let interrupted = async {
        // Gone as soon as it is shown.
        tokio::select! {
            answer = first => panic!("{answer:?}"),
            () = async { while !screen.text().ends_with("? ") { tokio::task::yield_now().await } } => {}
        }
    };
    tokio::join!(served, interrupted);
    assert!(screen.text().ends_with("not asked any more)\n"), "{}", screen.text());
    let before = screen.text().len();
    let served = async {
        let ask = asks.next().await.unwrap();
        serve(&mut console, ask, &cx(Path::new("/"))).await.unwrap();
    };
    let typed = async {
        while !screen.text()[before..].ends_with("? ") {
            tokio::task::yield_now().await;
        }
        typing.write_all(b"y\n").unwrap();
    };
    let (answer, (), ()) = tokio::join!(desk.permission(ask()), served, typed);
    assert_eq!(answer, PermissionAnswer::yes());
}

#[tokio::test]
async fn trust_is_a_clear_yes() {
    for (typed, want) in [("y\n", true), ("Yes\n", true), ("\n", false), ("", false), ("yup\n", false)] {
        let screen = Screen::default();
        let mut terminal = screen.terminal();
        let mut console = Console { terminal: &mut terminal, lines: Lines::of(Cursor::new(typed)) };
        let trusted = confirm_trust(&mut console, Path::new("/p"), &[]).await.unwrap();
        assert_eq!(trusted, want, "{typed:?}");
    }
}
