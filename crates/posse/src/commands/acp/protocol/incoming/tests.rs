use super::*;

#[test]
fn servers_are_written_as_files_would_have_them() {
    let servers: Vec<McpServer> = serde_json::from_value(json!([
        { "name": "a", "command": "/bin/a", "args": ["-x"], "env": [{ "name": "K", "value": "v" }] },
        { "type": "http", "name": "b", "url": "http://b", "headers": [{ "name": "H", "value": "1" }] },
        { "type": "sse", "name": "c", "url": "http://c", "headers": [] },
    ]))
    .unwrap();
    let opening = opening("/p".into(), Vec::new(), &servers);
    let expected = [
        ("a", json!({ "type": "stdio", "command": "/bin/a", "args": ["-x"], "env": { "K": "v" } })),
        ("b", json!({ "type": "http", "url": "http://b", "headers": { "H": "1" } })),
        ("c", json!({ "type": "sse", "url": "http://c", "headers": {} })),
    ];
    let expected: Vec<(String, Value)> =
        expected.into_iter().map(|(name, config)| (name.to_owned(), config)).collect();
    assert_eq!(opening.servers, expected);
}

#[test]
fn pieces_of_a_prompt_are_read() {
    let cases = [
        (json!({ "type": "text", "text": "t" }), Piece::Text("t".into())),
        (
            json!({ "type": "image", "mimeType": "image/png", "data": "AA" }),
            Piece::Image { media_type: "image/png".into(), data: "AA".into() },
        ),
        (
            json!({ "type": "audio", "mimeType": "audio/wav", "data": "AA" }),
            Piece::Audio { media_type: "audio/wav".into() },
        ),
        (
            json!({ "type": "resource_link", "name": "n", "uri": "file:///n" }),
            Piece::Link { name: "n".into(), uri: "file:///n".into() },
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "u", "text": "t" } }),
            Piece::TextResource { uri: "u".into(), text: "t".into() },
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "u", "mimeType": "m", "blob": "AA" } }),
            Piece::BlobResource { uri: "u".into(), media_type: Some("m".into()), data: "AA".into() },
        ),
    ];
    for (value, expected) in cases {
        let block: ContentBlock = serde_json::from_value(value).unwrap();
        assert_eq!(piece(block), expected);
    }
}

#[test]
fn what_an_editor_can_do_is_read() {
    let read = |value: Value| abilities(&serde_json::from_value(value).unwrap());
    assert_eq!(read(json!({})), Abilities::default());
    let all = json!({ "session": { "notices": {}, "compaction": {} }, "elicitation": { "form": {} } });
    assert_eq!(read(all), Abilities { notices: true, compaction: true, forms: true });
    assert!(!read(json!({ "elicitation": { "url": {} } })).forms);
}
