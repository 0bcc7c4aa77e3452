use std::io::Cursor;

use futures_util::{SinkExt, StreamExt};

use super::*;

#[tokio::test]
async fn lines_come_in_whole_and_what_is_no_text_does_no_harm() {
    let input = Cursor::new(b"one\r\n\n  \ntwo \xff\nthree".to_vec());
    let (_out, incoming, _ends) = open(input, io::sink());
    let lines: Vec<String> = incoming.map(|line| line.unwrap()).collect().await;
    assert_eq!(lines, ["one", "two \u{fffd}", "three"]);
}

#[tokio::test]
async fn an_output_that_breaks_is_told_of() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (out, _incoming, ends) = open(Cursor::new(Vec::new()), Broken);
    tokio::pin!(out);
    out.send("hello".to_owned()).await.unwrap();
    ends.broken.cancelled().await;
    ends.written.await.unwrap();
    out.send("is anybody there?".to_owned()).await.unwrap();
}
