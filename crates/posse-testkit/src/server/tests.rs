use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

/// Speaks HTTP without any library: everything the server sends until it closes the line.
fn exchange(server: &FakeModel, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn answers_come_in_order_and_requests_are_kept() {
    let server = FakeModel::serving([
        Answer::plain(200, "text/plain", "one"),
        Answer::error(529, "overloaded_error", "Overloaded").header("Retry-After", "3"),
    ]);
    let first = exchange(&server, &post("/v1/messages", r#"{"n":1}"#));
    assert!(
        first.starts_with("HTTP/1.1 200 OK\r\n") && first.ends_with("content-length: 3\r\n\r\none"),
        "{first}"
    );
    let second = exchange(&server, &post("/v1/messages?beta=true", "no json"));
    assert!(second.starts_with("HTTP/1.1 529 ") && second.contains("\r\nretry-after: 3\r\n"), "{second}");
    assert!(exchange(&server, &post("/v1/messages", "{}")).contains("the script is over"));
    let requests = server.requests();
    assert_eq!(requests[0].body, json!({ "n": 1 }));
    assert_eq!((requests[0].method.as_str(), requests[0].header("x-api-key")), ("POST", Some("k")));
    assert_eq!((requests[1].path.as_str(), &requests[1].body), ("/v1/messages?beta=true", &json!(null)));
}

#[test]
fn other_paths_take_nothing_from_the_script() {
    let server = FakeModel::serving([Answer::plain(200, "text/plain", "mine")]);
    assert!(exchange(&server, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(exchange(&server, &post("/v1/messages", "{}")).ends_with("mine"));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn chunks_and_cuts_are_exact() {
    let answer = Answer::stream("abcdefg").chunked(3);
    let text = String::from_utf8(answer.bytes()).unwrap();
    assert!(text.ends_with("\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n1\r\ng\r\n0\r\n\r\n"), "{text}");
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    let at = text.find("def").unwrap();
    let server =
        FakeModel::serving([Fault::Finish(at), Fault::Reset(at)].map(|fault| answer.clone().failing(fault)));
    assert_eq!(exchange(&server, &post("/v1/messages", "{}")), text[..at]);
    let reset = exchange(&server, &post("/v1/messages", "{}"));
    assert!(text[..at].starts_with(&reset), "a reset may lose what was sent, but adds nothing: {reset}");
}

#[test]
fn a_stalled_line_does_not_keep_the_server_alive() {
    let server = FakeModel::serving([MessagesReply::new().text("Hello").answer().stall_behind("Hello")]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(post("/v1/messages", "{}").as_bytes()).unwrap();
    let mut bytes = [0; 4096];
    let mut seen = Vec::new();
    while !seen.ends_with(b"Hello") {
        let count = stream.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "the line is still open");
        seen.extend(&bytes[..count]);
    }
    drop(server);
    assert!(matches!(stream.read(&mut bytes), Ok(0) | Err(_)), "closed with the server");
}

#[test]
fn replies_have_the_shape_of_the_real_thing() {
    let bytes = MessagesReply::new().tool("toolu_1", "Read", &json!({ "path": "a.txt" })).bytes();
    let text = String::from_utf8(bytes).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names[..3], ["message_start", "content_block_start", "ping"]);
    assert_eq!(names[names.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    assert!(text.contains(r#""stop_reason":"tool_use""#));

    let chat = String::from_utf8(ChatReply::new().text("hi").bytes()).unwrap();
    assert!(chat.starts_with("data: {") && chat.ends_with("data: [DONE]\n\n"), "{chat}");
    assert!(chat.contains(r#""finish_reason":"stop""#) && chat.contains(r#""prompt_tokens":10"#), "{chat}");
}
