use super::*;

/// Bytes that nobody chose: a small generator, so that a failure can be run again.
fn noise(seed: u64) -> Vec<u8> {
    const PIECES: [&str; 14] = [
        "{",
        "}",
        "[",
        "]",
        "\"jsonrpc\":\"2.0\"",
        ",",
        "\"id\":",
        "null",
        "1.5",
        "\"method\":",
        "\"ping\"",
        "\"params\":",
        "\u{feff}",
        "\\u0000",
    ];
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).unwrap_or_default()
    };
    let count = next() % 12;
    (0..count).flat_map(|_| PIECES[next() % PIECES.len()].as_bytes().to_vec()).collect()
}

#[test]
fn whatever_comes_is_a_message_or_an_error_that_says_so() {
    let mut wrong = 0;
    for seed in 0..20_000 {
        if let Heard::Nonsense(complaint) = read(&noise(seed)) {
            assert_eq!(complaint["jsonrpc"], "2.0", "seed {seed}");
            assert!(matches!(complaint["error"]["code"].as_i64(), Some(-32700 | -32600)), "seed {seed}");
            wrong += 1;
        }
    }
    assert!(wrong > 1000, "{wrong}");
}

#[tokio::test]
async fn a_line_may_come_in_pieces_and_the_last_needs_an_end() {
    let (mut client, server) = tokio::io::duplex(16);
    let (input, output) = tokio::io::split(server);
    let mut lines = Lines::new(input, output, CancellationToken::new());
    let mut sending = JoinSet::new();
    sending.spawn(async move {
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        client.write_all(format!("\r\n{message}\r\n{message}").as_bytes()).await.unwrap();
    });
    assert!(matches!(lines.receive().await, Some(ClientJsonRpcMessage::Request(_))));
    assert!(lines.receive().await.is_none());
    sending.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn nobody_who_reads_is_the_end() {
    let (client, server) = tokio::io::duplex(16);
    let (input, _) = tokio::io::split(server);
    let (reader, writer) = tokio::io::duplex(16);
    drop(reader);
    let gone = CancellationToken::new();
    let mut lines = Lines::new(input, writer, gone.clone());
    let complaint = ServerJsonRpcMessage::error(rmcp::ErrorData::invalid_request("x", None), None);
    assert!(lines.send(complaint).await.is_err());
    assert!(lines.receive().await.is_none() && gone.is_cancelled());
    lines.close().await.unwrap();
    drop(client);
}
