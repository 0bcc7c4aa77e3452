use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::super::trial::Trial;
use super::{Answers, AskUserQuestion, Asker, Question};

/// A user who always takes the first option, or refuses.
struct Fake(Result<(), String>);

impl Asker for Fake {
    fn ask<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Result<Answers, String>> {
        let answer = |question: &Question| (question.question.clone(), question.options[0].label.clone());
        let answers = self.0.clone().map(|()| questions.iter().take(1).map(answer).collect());
        Box::pin(std::future::ready(answers))
    }
}

/// A user who never answers.
struct Silent;

impl Asker for Silent {
    fn ask<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Result<Answers, String>> {
        Box::pin(std::future::pending())
    }
}

fn question(text: &str, header: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({ "label": label, "description": "" })).collect();
    json!({ "question": text, "header": header, "options": options, "multiSelect": false })
}

#[tokio::test]
async fn answers_come_back_in_the_order_of_the_questions() {
    let tool = AskUserQuestion::new(Arc::new(Fake(Ok(()))));
    let questions =
        json!([question("Which?", "Database", &["SQLite", "None"]), question("Why?", "", &["a", "b"])]);
    let answer = Trial::new().ask(&tool, json!({ "questions": questions })).await;
    assert_eq!(answer.text, "The user answered:\n- Which? → SQLite\n- Why? → (no answer)");
    assert_eq!(answer.structured, Some(json!({ "questions": questions, "answers": { "Which?": "SQLite" } })));
}

#[tokio::test]
async fn nobody_to_ask_and_nobody_who_answers() {
    let trial = Trial::new();
    let input = json!({ "questions": [question("Which?", "DB", &["a", "b"])] });
    let answer = trial.ask(&AskUserQuestion::default(), input.clone()).await;
    assert!(answer.is_error && answer.text.starts_with("Nobody can be asked"), "{}", answer.text);
    let tool = AskUserQuestion::new(Arc::new(Fake(Err("they closed the dialog".into()))));
    let answer = trial.ask(&tool, input.clone()).await;
    assert!(answer.is_error && answer.text.ends_with("they closed the dialog"), "{}", answer.text);
    trial.cx.stop.cancel();
    let answer = trial.ask(&AskUserQuestion::new(Arc::new(Silent)), input).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("Interrupted before it was done.", true));
}

#[tokio::test]
async fn questions_that_cannot_be_asked() {
    let tool = AskUserQuestion::new(Arc::new(Fake(Ok(()))));
    let trial = Trial::new();
    let good = || question("Which?", "DB", &["a", "b"]);
    for (questions, want) in [
        (json!([]), "one to four questions"),
        (json!([good(), good(), good(), good(), good()]), "one to four questions"),
        (json!([good(), good()]), "asked twice"),
        (json!([question("Which?", "thirteen char", &["a", "b"])]), "longer than 12 characters"),
        (json!([question("Which?", "DB", &["a"])]), "1 options"),
        (json!([question("Which?", "DB", &["a", "b", "c", "d", "e"])]), "5 options"),
        (json!([question("Which?", "DB", &["a", "a"])]), "labels that differ"),
        (json!([question(" ", "DB", &["a", "b"])]), "no text"),
    ] {
        let answer = trial.ask(&tool, json!({ "questions": questions })).await;
        assert!(answer.is_error && answer.text.contains(want), "{want}: {}", answer.text);
    }
    let widest = question("Which?", "twelve chars", &["a", "b", "c", "d"]);
    assert!(!trial.ask(&tool, json!({ "questions": [widest] })).await.is_error);
}
