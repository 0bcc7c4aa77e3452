use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn news_arrives_as_it_was_sent() {
    for news in [
        News::Ended { status: 0, alone: true },
        News::Ended { status: 9, alone: false },
        News::Ended { status: i32::MIN, alone: true },
        News::NotStarted(2),
    ] {
        assert_eq!(News::read(&news.bytes()), Some(news));
    }
    for broken in [&b""[..], b"e", b"e1234", b"x12345", b"e123456"] {
        assert_eq!(News::read(broken), None, "{broken:?}");
    }
}

#[test]
fn an_input_is_handed_over_and_silence_is_an_error() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    send_input(&ours, Some(reader.as_fd())).unwrap();
    send_input(&ours, None).unwrap();
    drop((ours, reader));
    let input = receive_input(&theirs).unwrap().expect("a pipe");
    writer.write_all(b"hello").unwrap();
    drop(writer);
    let mut text = String::new();
    std::fs::File::from(input).read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello");
    assert!(receive_input(&theirs).unwrap().is_none());
    assert_eq!(receive_input(&theirs).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}
