use super::*;
use crate::ask::Ask;

fn form(schema: Value) -> ElicitRequestParams {
    let params = json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema});
    serde_json::from_value(params).expect("a request")
}

/// Asks, answers each question by the name of its field, and gives back what the server hears.
async fn heard(request: ElicitRequestParams, answers: &[(&str, &str)]) -> (Vec<Question>, Value) {
    let (desk, mut asks) = Desk::open();
    let answering = async {
        let Some(Ask::Question(pending)) = asks.next().await else { panic!("a question") };
        let questions = pending.ask.questions.clone();
        let answer = |question: &Question| {
            let marked = |name: &str| name.is_empty() || question.question.contains(&format!("[{name}]"));
            let (_, said) = answers.iter().find(|(name, _)| marked(name))?;
            Some((question.question.clone(), (*said).to_owned()))
        };
        pending.answer(QuestionAnswer::Answered(questions.iter().filter_map(answer).collect()));
        questions
    };
    let (result, questions) = tokio::join!(at_desk("notes", request, &desk), answering);
    (questions, serde_json::to_value(result).expect("JSON"))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "As in your passport"},
            "age": {"type": "integer"},
            "ratio": {"type": "number", "default": 0.5},
            "sure": {"type": "boolean"},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        },
        "required": ["name"],
    })
}

#[tokio::test]
async fn answers_become_what_the_schema_asks_for() {
    let given = [("name", "Ada"), ("age", "36"), ("ratio", "Leave it"), ("sure", "Yes"), ("size", "Large")];
    let (questions, result) = heard(form(schema()), &given).await;
    let want = json!({"name": "Ada", "age": 36, "ratio": 0.5, "sure": true, "size": "l"});
    assert_eq!(result, json!({"action": "accept", "content": want}));
    assert!(questions[0].question.starts_with("notes: Who are you?\n"), "{:?}", questions[0]);
    let size = questions.iter().find(|question| question.question.contains("[size]")).unwrap();
    let labels: Vec<_> = size.options.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["Small", "Large", "Leave it"]);
    // What is optional may stay open.
    let (_, result) = heard(form(schema()), &[("name", "Ada")]).await;
    assert_eq!(result, json!({"action": "accept", "content": {"name": "Ada", "ratio": 0.5}}));
}

#[tokio::test]
async fn what_is_needed_and_not_said_or_cannot_be_read_is_a_no() {
    for answers in [
        &[("age", "36")][..],
        &[("name", "Leave it")][..],
        &[("name", "Ada"), ("age", "old")][..],
        &[("name", "Ada"), ("size", "medium")][..],
        &[("name", "Ada"), ("sure", "perhaps")][..],
    ] {
        let (_, result) = heard(form(schema()), answers).await;
        assert_eq!(result, json!({"action": "decline"}), "{answers:?}");
    }
}

#[tokio::test]
async fn a_form_without_fields_and_an_address_want_a_yes() {
    let empty = || form(json!({"type": "object", "properties": {}}));
    assert_eq!(heard(empty(), &[("", "Yes")]).await.1, json!({"action": "accept", "content": {}}));
    assert_eq!(heard(empty(), &[("", "No")]).await.1, json!({"action": "decline"}));
    let params = json!({"mode": "url", "message": "Pay", "url": "https://x/pay", "elicitationId": "1"});
    let address: ElicitRequestParams = serde_json::from_value(params).unwrap();
    let (questions, result) = heard(address, &[("", "Yes")]).await;
    assert!(questions[0].question.contains("https://x/pay"));
    assert_eq!(result, json!({"action": "accept"}));
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_answer_is_no() {
    let result = at_desk("notes", form(schema()), &Desk::default()).await;
    assert_eq!(result.action, ElicitationAction::Decline);
    // Nobody fills in a hundred fields.
    let (desk, _asks) = Desk::open();
    let many: Map<String, Value> =
        (0..100).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
    let result = at_desk("notes", form(json!({"type": "object", "properties": many})), &desk).await;
    assert_eq!(result.action, ElicitationAction::Decline);
}

#[test]
fn a_host_is_asked_in_its_own_words() {
    let url = json!({"mode": "url", "message": "Log in", "url": "https://x", "elicitationId": "e1"});
    let url: ElicitRequestParams = serde_json::from_value(url).expect("a request");
    assert_eq!(
        for_host("notes", &url),
        Some(json!({
            "subtype": "elicitation", "mcp_server_name": "notes", "message": "Log in", "mode": "url",
            "url": "https://x", "elicitation_id": "e1",
        }))
    );
    let asked = for_host("notes", &form(schema())).expect("a question");
    assert_eq!((&asked["mode"], &asked["message"]), (&json!("form"), &json!("Who are you?")));
    assert_eq!(asked["requested_schema"]["type"], "object");
    let names: Vec<Value> = asked["requested_schema"]["properties"]
        .as_object()
        .expect("fields")
        .keys()
        .map(|name| json!(name))
        .collect();
    assert_eq!(asked["property_order"], Value::Array(names));
}

#[test]
fn what_a_host_answers_is_taken_and_nonsense_is_a_no() {
    for (answer, want) in [
        (json!({"action": "accept", "content": {"a": 1}}), json!({"action": "accept", "content": {"a": 1}})),
        (json!({"action": "accept", "content": "x"}), json!({"action": "accept"})),
        (json!({"action": "cancel", "content": {"a": 1}}), json!({"action": "cancel"})),
        (json!({"action": "decline"}), json!({"action": "decline"})),
        (json!({"action": "perhaps"}), json!({"action": "decline"})),
        (json!({}), json!({"action": "decline"})),
        (json!(7), json!({"action": "decline"})),
    ] {
        assert_eq!(serde_json::to_value(of_host(&answer)).expect("JSON"), want, "{answer}");
    }
}
