use super::*;

fn asked(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

#[test]
fn a_greeting_is_answered_from_what_was_said_before_and_only_once() {
    let answer = |result: Value| Replayed::Answer(json!({"jsonrpc": "2.0", "id": 7, "result": result}));
    let tools = json!({"tools": []});
    let greeted = Greeted { initialize: json!({"protocolVersion": PROTOCOL}), tools: Some(tools.clone()) };
    let said = json!({"protocolVersion": PROTOCOL});
    let greeting = [
        asked("initialize", json!({})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        asked("tools/list", json!({})),
        asked("tools/list", json!({})),
        asked("initialize", json!({})),
    ];
    let mut replay = Replay::new(greeted.clone());
    let came: Vec<Replayed> = greeting.iter().map(|message| replay.take(message)).collect();
    assert_eq!(came, [answer(said.clone()), Replayed::Swallowed, answer(tools), Replayed::No, Replayed::No]);
    // Without a list the server is asked for it, and for everything after.
    let mut replay = Replay::new(Greeted { tools: None, ..greeted.clone() });
    let came: Vec<Replayed> = greeting.iter().map(|message| replay.take(message)).collect();
    assert_eq!(came, [answer(said), Replayed::Swallowed, Replayed::No, Replayed::No, Replayed::No]);
    // A page of a list is no first question, and whatever else is asked goes through.
    for other in [asked("tools/list", json!({"cursor": "2"})), asked("ping", json!({}))] {
        assert_eq!(Replay::new(greeted.clone()).take(&other), Replayed::No);
    }
}

#[test]
fn only_a_notice_of_an_abandoned_request_names_one() {
    for (message, want) in [
        (json!({"method": "notifications/cancelled", "params": {"requestId": 3}}), Some("3")),
        (json!({"method": "notifications/cancelled", "params": {"requestId": "a"}}), Some("\"a\"")),
        (json!({"method": "notifications/cancelled"}), None),
        (json!({"method": "tools/call", "params": {"requestId": 3}}), None),
    ] {
        assert_eq!(abandoned(&message).as_deref(), want, "{message}");
    }
}

#[test]
fn the_version_that_is_asked_for_is_the_one_that_is_promised() {
    assert_eq!(rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE.as_str(), PROTOCOL);
}
