use super::*;
use crate::ask::{Choice, Question};

#[test]
fn a_person_sees_what_they_decide_about() {
    let ask = |tool: &str, input: Value| PermissionAsk {
        agent_id: None,
        tool: tool.into(),
        input,
        title: format!("posse wants to use {tool}"),
        reason: Some("no rule allows it".into()),
        grounds: Box::default(),
        suggestions: Vec::new(),
        agent: None,
        call: "c".into(),
    };
    assert_eq!(
        permission_text(&ask("Bash", json!({ "command": "ls\nrm x" }))),
        "posse wants to use Bash:\n\nls\nrm x\n\nAsked because: no rule allows it"
    );
    let text = permission_text(&ask("Write", json!({ "file_path": "/a", "content": "x".repeat(9000) })));
    assert!(text.contains("\"/a\"") && text.contains("more characters are not shown]"), "{text}");
}

#[test]
fn questions_become_a_form_and_its_content_answers() {
    let choice = |label: &str| Choice { label: label.into(), description: String::new() };
    let question = |text: &str, multi_select: bool| Question {
        question: text.into(),
        header: "H".into(),
        options: vec![choice("A"), choice("B")],
        multi_select,
    };
    let ask =
        QuestionAsk { questions: vec![question("One?", false), question("Many?", true)], call: "c".into() };
    let (text, schema) = form(&ask);
    assert_eq!(text, "One?\nMany?");
    assert_eq!(schema["properties"]["answer1"]["enum"], json!(["A", "B"]));
    assert_eq!(schema["properties"]["answer2"]["description"], "Many? (any of: A, B)");
    assert_eq!(schema["required"], json!(["answer1", "answer2"]));
    assert!(serde_json::from_value::<ElicitationSchema>(schema).is_ok());
    let given = answers(&ask, &json!({ "answer1": "B", "answer3": "C" }));
    assert_eq!(given.into_iter().collect::<Vec<_>>(), [("One?".to_owned(), "B".to_owned())]);
    assert!(answers(&ask, &Value::Null).is_empty());
}
