use serde_json::{Value, json};

use super::super::trial::Trial;
use super::TodoWrite;

fn todo(content: &str, status: &str) -> Value {
    json!({ "content": content, "status": status, "activeForm": format!("{content}ing") })
}

#[tokio::test]
async fn the_list_is_replaced_and_kept() {
    let trial = Trial::new();
    let first = json!([todo("Plan", "in_progress"), todo("Test", "pending")]);
    let answer = trial.ask(&TodoWrite, json!({ "todos": first })).await;
    assert_eq!(answer.text, "List saved: 0 done, 1 to come. Now: Plan");
    assert_eq!(answer.structured, Some(json!({ "oldTodos": [], "newTodos": first })));

    let second = json!([todo("Plan", "completed"), todo("Test", "pending")]);
    let answer = trial.ask(&TodoWrite, json!({ "todos": second })).await;
    assert!(answer.text.contains("1 done, 1 to come, none in progress"), "{}", answer.text);
    assert_eq!(answer.structured, Some(json!({ "oldTodos": first, "newTodos": second })));
    assert_eq!(serde_json::to_value(trial.cx.todos.get()).unwrap(), second);

    let answer = trial.ask(&TodoWrite, json!({ "todos": [todo("Plan", "completed")] })).await;
    assert_eq!(answer.text, "List saved: all 1 done.");
    let answer = trial.ask(&TodoWrite, json!({ "todos": [] })).await;
    assert_eq!(answer.text, "List saved: it is empty.");
}

#[tokio::test]
async fn a_list_that_makes_no_sense_changes_nothing() {
    let trial = Trial::new();
    let good = json!([todo("Plan", "pending")]);
    trial.ask(&TodoWrite, json!({ "todos": good })).await;
    for bad in [json!([todo("Plan", "done")]), json!([todo(" ", "pending")]), json!("Plan")] {
        let answer = trial.ask(&TodoWrite, json!({ "todos": bad })).await;
        assert!(answer.is_error, "{bad}");
    }
    assert_eq!(serde_json::to_value(trial.cx.todos.get()).unwrap(), good);
}
