use serde_json::{Value, json};

use super::*;
use crate::commands::host::incoming::{Incoming, parse};

fn line(text: &str, more: Value) -> UserLine {
    let mut value = json!({ "type": "user", "uuid": text, "message": { "role": "user", "content": text } });
    for (key, field) in more.as_object().expect("fields") {
        value[key] = field.clone();
    }
    match parse(&value.to_string()) {
        Ok(Incoming::User(line)) => *line,
        other => panic!("{other:?}"),
    }
}

/// The turns that a list of messages becomes.
fn turns(lines: Vec<UserLine>) -> String {
    let mut queue = Queue::default();
    lines.into_iter().for_each(|line| queue.put(line));
    let mut turns = Vec::new();
    loop {
        let turn = queue.take();
        if turn.is_empty() {
            return turns.join(" | ");
        }
        turns.push(turn.iter().filter_map(UserLine::plain).collect::<Vec<_>>().join("+"));
    }
}

#[test]
fn what_waits_is_said_together_as_far_as_it_can_be() {
    let plain = |text: &str| line(text, json!({}));
    let at = |text: &str, priority: &str| line(text, json!({ "priority": priority }));
    let quiet = |text: &str| line(text, json!({ "shouldQuery": false }));
    let cases = [
        (vec![plain("a"), plain("b"), plain("c")], "a+b+c"),
        (vec![plain("a"), plain("/x"), plain("b"), plain("c")], "a | /x | b+c"),
        (vec![at("later", "later"), plain("a"), at("now", "now")], "now+a | later"),
        (vec![plain("a"), quiet("q"), plain("b")], "a | q | b"),
        (vec![quiet("q"), quiet("r")], "q | r"),
        (vec![], ""),
    ];
    for (lines, expected) in cases {
        assert_eq!(turns(lines), expected);
    }
}

#[test]
fn what_waits_can_be_taken_back() {
    let mut queue = Queue::default();
    for name in ["a", "b", "c"] {
        queue.put(line(name, json!({})));
    }
    assert!(queue.cancel("b") && !queue.cancel("b"));
    assert_eq!(queue.names(), ["a", "c"]);
    assert_eq!((queue.clear(), queue.len()), (vec!["a".to_owned(), "c".to_owned()], 0));
}
