//! Lines as the protocol's crate wants them: a sink and a stream.

use std::io::{self, BufRead, Write};

use futures_util::stream::{self, Stream};
use futures_util::{Sink, sink};
use posse_core::json::with_whole_characters;
use tokio::sync::mpsc;

use crate::commands::lines::{self, Far, Line};

/// What stands for a line that is too long: nothing that could be understood.
const TOO_LONG: &str = "{ a line that is too long";
/// Lines that were read and nobody has looked at; more have to wait.
const UNREAD: usize = 64;

/// Lines that go out, lines that come in, and how the far end is doing.
pub(super) fn open(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> (
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
    Far,
) {
    let (sender, mut unread) = mpsc::channel(UNREAD);
    std::thread::spawn(move || read_all(input, &sender));
    let incoming = stream::poll_fn(move |cx| unread.poll_recv(cx));
    let (out, far) = lines::write(output);
    let outgoing = sink::unfold(out, |out, line: String| async move {
        // A writer that is gone has told so. An error here would drop the sessions instead of ending them.
        let _ = out.send(Some(line));
        Ok(out)
    });
    (outgoing, incoming, far)
}

fn read_all(mut input: impl BufRead, to: &mpsc::Sender<io::Result<String>>) {
    while let Some(line) = lines::read(&mut input) {
        let line = match line {
            Line::Text(text) => with_whole_characters(&text).into_owned(),
            Line::TooLong => TOO_LONG.to_owned(),
        };
        if !line.trim().is_empty() && to.blocking_send(Ok(line)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
