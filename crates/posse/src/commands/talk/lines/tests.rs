use std::future::poll_fn;
use std::io::{BufReader, Cursor, Write, pipe};
use std::task::Poll;

use super::Lines;

/// Wants a line and goes away before it comes.
async fn want_and_leave(lines: &mut Lines) {
    let mut next = Box::pin(lines.next());
    poll_fn(|cx| {
        assert!(next.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn lines_come_without_their_ends_and_end_with_the_input() {
    let mut lines = Lines::of(Cursor::new(b"one\r\n\ntwo \xff".to_vec()));
    for want in [Some("one"), Some(""), Some("two \u{fffd}"), None, None] {
        assert_eq!(lines.next().await.as_deref(), want);
    }
}

#[tokio::test]
async fn a_line_that_nobody_waited_for_goes_to_the_next_or_is_forgotten() {
    let (input, mut typing) = pipe().unwrap();
    let mut lines = Lines::of(BufReader::new(input));
    want_and_leave(&mut lines).await;
    typing.write_all(b"first\n").unwrap();
    assert_eq!(lines.next().await.as_deref(), Some("first"));

    want_and_leave(&mut lines).await;
    typing.write_all(b"meant for another question\n").unwrap();
    while lines.read.is_empty() {
        tokio::task::yield_now().await;
    }
    lines.forget_typed();
    typing.write_all(b"second\n").unwrap();
    assert_eq!(lines.next().await.as_deref(), Some("second"));
}
