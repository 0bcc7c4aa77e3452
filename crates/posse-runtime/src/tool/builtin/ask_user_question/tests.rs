use serde_json::{Value, json};

use super::super::trial::{Answer, Trial};
use super::AskUserQuestion;
use crate::ask::{Ask, Desk, Question, QuestionAnswer};

/// Calls the tool with a person who answers like this.
async fn ask(trial: &Trial, input: Value, answer: impl Fn(&[Question]) -> QuestionAnswer) -> Answer {
    let (desk, mut asks) = Desk::open();
    let tool = AskUserQuestion::new(desk);
    let person = async {
        while let Some(ask) = asks.next().await {
            let Ask::Question(pending) = ask else { panic!("{ask:?}") };
            let answer = answer(&pending.ask.questions);
            pending.answer(answer);
        }
    };
    tokio::select! {
        answer = trial.ask(&tool, input) => answer,
        () = person => panic!("the tool holds the desk"),
    }
}

/// Takes the first option of the first question.
fn first(questions: &[Question]) -> QuestionAnswer {
    let answer = |question: &Question| (question.question.clone(), question.options[0].label.clone());
    QuestionAnswer::Answered(questions.iter().take(1).map(answer).collect())
}

fn question(text: &str, header: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({ "label": label, "description": "" })).collect();
    json!({ "question": text, "header": header, "options": options, "multiSelect": false })
}

#[tokio::test]
async fn answers_come_back_in_the_order_of_the_questions() {
    let questions =
        json!([question("Which?", "Database", &["SQLite", "None"]), question("Why?", "", &["a", "b"])]);
    let answer = ask(&Trial::new(), json!({ "questions": questions }), first).await;
    assert_eq!(answer.text, "The user answered:\n- Which? → SQLite\n- Why? → (no answer)");
    assert_eq!(answer.structured, Some(json!({ "questions": questions, "answers": { "Which?": "SQLite" } })));
}

#[tokio::test]
async fn nobody_to_ask_and_nobody_who_answers() {
    let trial = Trial::new();
    let input = json!({ "questions": [question("Which?", "DB", &["a", "b"])] });
    let answer = trial.ask(&AskUserQuestion::default(), input.clone()).await;
    assert!(answer.is_error && answer.text.starts_with("Nobody can be asked"), "{}", answer.text);
    let declined = |_: &[Question]| QuestionAnswer::Declined("they closed the dialog".into());
    let answer = ask(&trial, input.clone(), declined).await;
    assert!(answer.is_error && answer.text.ends_with("they closed the dialog"), "{}", answer.text);
    trial.cx.stop.cancel();
    let (desk, _silent) = Desk::open();
    let answer = trial.ask(&AskUserQuestion::new(desk), input).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("Interrupted before it was done.", true));
}

#[tokio::test]
async fn questions_that_cannot_be_asked() {
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
        let answer = ask(&trial, json!({ "questions": questions }), first).await;
        assert!(answer.is_error && answer.text.contains(want), "{want}: {}", answer.text);
    }
    let widest = question("Which?", "twelve chars", &["a", "b", "c", "d"]);
    assert!(!ask(&trial, json!({ "questions": [widest] }), first).await.is_error);
}
