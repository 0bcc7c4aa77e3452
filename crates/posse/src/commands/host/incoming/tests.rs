use posse_core::message::Block;
use serde_json::json;

use super::*;

fn line(text: &str) -> UserLine {
    let value = json!({ "type": "user", "message": { "role": "user", "content": text } });
    match parse(&value.to_string()) {
        Ok(Incoming::User(line)) => *line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_are_read_by_their_type() {
    let cases = [
        ("", "Ok(Nothing)"),
        (r#"{"type":"keep_alive"}"#, "Ok(Nothing)"),
        (r#"{"type":"from_the_future","x":1}"#, "Ok(Nothing)"),
        (r#"{"type":"control_cancel_request","request_id":"a"}"#, r#"Ok(Cancel("a"))"#),
        (r#"{"type":"control_cancel_request"}"#, "Ok(Nothing)"),
        (
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"a","response":{"b":1}}}"#,
            r#"Ok(Response("a", Ok(Object {"b": Number(1)})))"#,
        ),
        (
            r#"{"type":"control_response","response":{"subtype":"error","request_id":"a","error":"no"}}"#,
            r#"Ok(Response("a", Err("no")))"#,
        ),
        (r#"{"type":"control_response"}"#, "Ok(Nothing)"),
        ("[]", r#"Err("not an object")"#),
        ("{}", r#"Err("an object without a type")"#),
        (r#"{"type":"user"}"#, r#"Err("a user message without content")"#),
        (r#"{"type":"control_request","request":{}}"#, r#"Err("a request without request_id")"#),
    ];
    for (text, expected) in cases {
        assert_eq!(format!("{:?}", parse(text)), expected, "{text}");
    }
    assert!(parse("{torn").unwrap_err().starts_with("not JSON"));
}

#[test]
fn texts_are_joined_and_everything_else_keeps_its_order() {
    assert_eq!(message(&[line("a"), line("b")]).blocks, [Block::Text("a\nb".into())]);
    let mut picture = line("c");
    picture.blocks.insert(0, Block::Other(json!({ "type": "image" })));
    let whole = message(&[line("a"), picture]);
    assert_eq!(whole.blocks.len(), 3);
    assert_eq!(whole.blocks[0], Block::Text("a".into()));
}

#[test]
fn what_is_to_be_taken_by_its_letters_is_no_command() {
    let mut one = line("/compact");
    assert_eq!(one.command(), Some("/compact"));
    assert_eq!(message(std::slice::from_ref(&one)).blocks.len(), 1);
    one.is_verbatim = true;
    assert_eq!(one.command(), None);
    assert_ne!(message(&[one]).blocks.len(), 1);
}
