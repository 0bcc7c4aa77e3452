use proptest::prelude::*;

use super::*;

proptest! {
    /// Whatever comes, it is a message, an error that says so, or nothing; and an answer carries the id it is for.
    #[test]
    fn reading_never_panics(line in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        r#"\{"jsonrpc":"2.0","id":(1|"a"|null|\[\]),"method":"[a-z/]{0,12}","params":[\[\]{}0-9]{0,4}\}"#
            .prop_map(String::into_bytes),
    ]) {
        match read(&line) {
            Heard::Nonsense(complaint) => {
                prop_assert_eq!(&complaint["jsonrpc"], "2.0");
                prop_assert!(matches!(complaint["error"]["code"].as_i64(), Some(-32700 | -32600)));
            }
            Heard::Message(_) | Heard::Nothing => {}
        }
    }
}

#[tokio::test]
async fn a_line_may_come_in_pieces_and_the_last_needs_an_end() {
    let (mut client, server) = tokio::io::duplex(16);
    let (input, output) = tokio::io::split(server);
    let mut lines = Lines::new(input, output, CancellationToken::new());
    let sending = tokio::spawn(async move {
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        client.write_all(format!("\r\n{message}\r\n{message}").as_bytes()).await.unwrap();
    });
    assert!(matches!(lines.receive().await, Some(ClientJsonRpcMessage::Request(_))));
    assert!(lines.receive().await.is_none());
    sending.await.unwrap();
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
