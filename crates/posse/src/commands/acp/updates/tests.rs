use std::sync::Arc;

use posse_core::event::Trigger;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{StopReason, Usage};
use serde_json::json;

use super::super::words::{Kind, Place, Shown};
use super::*;

fn call(id: &str, name: &str, input: Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), input }
}

fn bash(id: &str) -> ToolCall {
    call(id, "Bash", json!({ "command": "ls" }))
}

fn reply(blocks: Vec<Block>) -> Arc<Reply> {
    let (id, model) = ("r".into(), "m".into());
    Arc::new(Reply { id, model, blocks, stop: StopReason::EndTurn, usage: Usage::default() })
}

fn replied(blocks: Vec<Block>) -> What {
    What::Fact(Fact::Replied(reply(blocks)))
}

fn text(text: &str) -> What {
    What::Delta(Delta::Text(text.to_owned()))
}

fn thinking(text: &str) -> What {
    What::Delta(Delta::Thinking(text.to_owned()))
}

fn start(id: &str) -> What {
    What::Delta(Delta::ToolStart { id: id.into(), name: "Bash".into() })
}

fn running(call: ToolCall) -> What {
    What::Delta(Delta::ToolRunning(call))
}

fn answered(call: ToolCall, text: &str) -> What {
    let answer = Arc::new(ToolAnswer::text(call.id.clone(), text));
    What::Fact(Fact::Answered { call, answer })
}

fn mark() -> Mark {
    Mark {
        agent: "a1".into(),
        kind: "helper".into(),
        task: "help".to_owned(),
        call: "outer".into(),
        depth: 1,
        in_background: false,
    }
}

fn teller() -> Teller {
    Teller::new(Path::new("/p"), Abilities { notices: true, compaction: true, forms: false })
}

/// Updates, in short.
fn short(update: &Update) -> String {
    let call = |mark: &str, call: &Call| {
        let progress = call.progress.map(|progress| format!("{progress:?}")).unwrap_or_default();
        let agent = call.agent.as_ref().map(|agent| format!(" under {}", agent.parent)).unwrap_or_default();
        format!("{mark}{} {} {progress}{agent}", call.id, call.title.as_deref().unwrap_or("-"))
    };
    match update {
        Update::Text(text) => format!("text {text:?}"),
        Update::Thought(text) => format!("thought {text:?}"),
        Update::NewCall(one) => call("+", one),
        Update::Call(one) => call("", one),
        Update::Notice(text) => format!("notice {text}"),
        Update::Compaction(number, progress) => format!("compaction {number} {progress:?}"),
        other => format!("{other:?}"),
    }
}

/// What is told of events of the main agent.
fn told(events: &[What]) -> Vec<String> {
    let mut teller = teller();
    events.iter().flat_map(|what| teller.event(what, None)).map(|update| short(&update)).collect()
}

#[test]
fn what_happens_is_told_once() {
    let said = |text: &str| Block::Text(text.to_owned());
    let thought = |text: &str| Block::Thinking { text: text.to_owned(), signature: String::new() };
    let uses = |id: &str| Block::ToolUse(bash(id));
    let discarded = || What::Delta(Delta::Discarded);
    let failure = Failure::new(FailureKind::Overloaded, "busy");
    let retry = What::Delta(Delta::Retry { attempt: 1, of: 3, delay: Default::default(), failure });
    let broke = format!("text {BROKE_OFF:?}");
    let cases: Vec<(&str, Vec<What>, Vec<&str>)> = vec![
        (
            "a reply in parts",
            vec![text("a"), text("b"), replied(vec![said("ab")])],
            vec!["text \"a\"", "text \"b\""],
        ),
        (
            "a reply in one",
            vec![replied(vec![thought("t"), said("ab")])],
            vec!["thought \"t\"", "text \"ab\""],
        ),
        (
            "two replies in a row",
            vec![text("a"), replied(vec![said("a")]), text("b"), replied(vec![said("b")])],
            vec!["text \"a\"", "text \"\\n\\n\"", "text \"b\""],
        ),
        (
            "a call as it is made",
            vec![start("1"), replied(vec![uses("1")]), running(bash("1")), answered(bash("1"), "out")],
            vec!["+1 Bash Pending", "1 `ls` Pending", "1 - Running", "1 - Done"],
        ),
        (
            "a block before its reply",
            vec![What::Delta(Delta::Block(reply(vec![uses("1")]))), replied(vec![uses("1")])],
            vec!["+1 `ls` Pending"],
        ),
        (
            "an id that comes again",
            vec![
                replied(vec![uses("1")]),
                answered(bash("1"), "a"),
                replied(vec![uses("1")]),
                running(bash("1")),
            ],
            vec!["+1 `ls` Pending", "1 - Done", "+1-2 `ls` Pending", "1-2 - Running"],
        ),
        (
            "a reply that broke off and came again",
            vec![text("ha"), start("1"), discarded(), text("hallo"), replied(vec![said("hallo")])],
            vec!["text \"ha\"", "+1 Bash Pending", "1 - Failed", &broke, "text \"hallo\""],
        ),
        ("one that broke off for good", vec![thinking("h"), discarded()], vec!["thought \"h\""]),
        ("one that had not begun", vec![discarded(), text("a")], vec!["text \"a\""]),
        ("a retry", vec![retry], vec!["notice Asking the model again (1 of 3): busy"]),
        (
            "a summary",
            vec![
                What::Delta(Delta::Compacting),
                What::Fact(Fact::Compacted { trigger: Trigger::Auto, before: 9, summary: "s".into() }),
            ],
            vec!["compaction 1 Running", "compaction 1 Done"],
        ),
        (
            "what nobody needs to know",
            vec![
                What::Delta(Delta::Requesting),
                What::Fact(Fact::Said(Arc::new(posse_core::message::Message::user("hi")))),
                What::Fact(Fact::Denied { call: bash("1"), why: "no".into() }),
            ],
            vec![],
        ),
    ];
    for (name, events, expected) in cases {
        assert_eq!(told(&events), expected, "{name}");
    }
}

#[test]
fn a_list_of_things_to_do_is_the_plan() {
    let todos = json!({ "todos": [
        { "content": "one", "status": "completed" },
        { "content": "two", "status": "in_progress" },
        { "content": "three", "status": "pending" },
        { "status": "pending" },
    ] });
    let todo = call("t", "TodoWrite", todos);
    let step = |text: &str, progress| Step { text: text.to_owned(), progress };
    let plan = Update::Plan(vec![
        step("one", Progress::Done),
        step("two", Progress::Running),
        step("three", Progress::Pending),
    ]);
    let mut teller = teller();
    assert_eq!(teller.event(&replied(vec![Block::ToolUse(todo.clone())]), None), []);
    assert_eq!(teller.event(&running(todo.clone()), None), []);
    assert_eq!(teller.event(&answered(todo.clone(), "saved"), None), [plan]);
    assert_eq!(teller.event(&answered(todo.clone(), "saved"), Some(&mark())), [], "of another agent");
    let failed = Arc::new(ToolAnswer::error("t", "no"));
    assert_eq!(teller.event(&What::Fact(Fact::Answered { call: todo, answer: failed }), None), []);
}

#[test]
fn what_agents_do_is_shown_and_what_they_say_is_not() {
    let mut teller = teller();
    let outer = call("outer", "Agent", json!({ "description": "help", "subagent_type": "helper" }));
    teller.event(&replied(vec![Block::ToolUse(outer)]), None);
    let mark = mark();
    let said = vec![Block::Text("aside".to_owned()), Block::ToolUse(bash("outer"))];
    let events = [text("aside"), thinking("hm"), start("outer"), replied(said), running(bash("outer"))];
    let told: Vec<String> =
        events.iter().flat_map(|what| teller.event(what, Some(&mark))).map(|update| short(&update)).collect();
    assert_eq!(told, ["+outer-2 `ls` Pending under outer", "outer-2 - Running"]);
    assert_eq!(teller.known(Some("a1"), "outer"), Some("outer-2"));
    assert_eq!(teller.known(None, "outer"), Some("outer"));
    assert_eq!(teller.known(None, "nothing"), None);
}

#[test]
fn what_is_open_at_the_end_of_a_turn_has_failed() {
    let mut teller = teller();
    teller.event(&replied(vec![Block::ToolUse(bash("1"))]), None);
    teller.event(&replied(vec![Block::ToolUse(bash("2"))]), Some(&mark()));
    teller.event(&What::Delta(Delta::Compacting), None);
    let told: Vec<String> = teller.turn_ends().iter().map(short).collect();
    assert_eq!(told, ["1 - Failed", "compaction 1 Failed"]);
    assert_eq!(teller.turn_ends(), []);
}

#[test]
fn a_turn_of_its_own_begins_below_the_last_answer() {
    for (by_itself, expected) in [(true, vec!["text \"\\n\\n\"", "text \"b\""]), (false, vec!["text \"b\""])]
    {
        let mut teller = teller();
        teller.event(&text("a"), None);
        teller.event(&replied(vec![Block::Text("a".into())]), None);
        teller.turn_begins(by_itself);
        let told: Vec<String> = teller.event(&text("b"), None).iter().map(short).collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn what_came_of_a_call_is_told_with_it() {
    let mut teller = teller();
    let read = call("1", "Read", json!({ "file_path": "/p/a.rs", "offset": 7 }));
    let updates = teller.event(&answered(read, "fn a() {}"), None);
    let [Update::NewCall(first), Update::Call(last)] = updates.as_slice() else {
        panic!("{updates:?}");
    };
    assert_eq!((first.kind, first.title.as_deref()), (Some(Kind::Read), Some("Read a.rs from line 7")));
    assert_eq!(first.places, Some(vec![Place { path: "/p/a.rs".into(), line: Some(7) }]));
    assert_eq!(last.shown, Some(vec![Shown::Text("```\nfn a() {}\n```".to_owned())]));
    assert_eq!(last.output, Some(json!("fn a() {}")));
}
