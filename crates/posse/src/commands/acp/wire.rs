//! Standard input and output as lines, for whoever understands them.
//!
//! Two threads of their own read and write: an editor that does not listen, or says nothing, holds up no work. Knows how
//! long a line may be; knows nothing of what is in it.

use std::io::{self, BufRead, Read, Write};

use futures_util::stream::{self, Stream};
use futures_util::{Sink, sink};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What comes in may hold pictures; what is longer is a mistake.
const LONGEST: u64 = 256 * 1024 * 1024;
/// What stands for a line that is too long: nothing that could be understood.
const TOO_LONG: &str = "{ a line that is too long";
/// Lines that were read and nobody has looked at; more have to wait.
const UNREAD: usize = 64;

/// How the far end is doing.
pub(super) struct Ends {
    /// Cancelled when nothing can be written any more.
    pub(super) broken: CancellationToken,
    /// Told when everything is written and nobody can write any more.
    pub(super) written: oneshot::Receiver<()>,
}

/// Lines that go out, lines that come in, and how the far end is doing.
pub(super) fn open(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> (
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
    Ends,
) {
    let (sender, mut lines) = mpsc::channel(UNREAD);
    std::thread::spawn(move || read_all(input, &sender));
    let incoming = stream::poll_fn(move |cx| lines.poll_recv(cx));

    let (out, to_write) = std::sync::mpsc::channel::<String>();
    let (done, written) = oneshot::channel();
    let broken = CancellationToken::new();
    let breaks = broken.clone();
    std::thread::spawn(move || {
        write_all(&to_write, output, &breaks);
        // Nobody waiting is no harm.
        let _ = done.send(());
    });
    let outgoing = sink::unfold(out, |out, line: String| async move {
        // A writer that is gone has told so. An error here would drop the sessions instead of ending them.
        let _ = out.send(line);
        Ok(out)
    });
    (outgoing, incoming, Ends { broken, written })
}

fn read_all(mut input: impl BufRead, to: &mpsc::Sender<io::Result<String>>) {
    while let Some(line) = read_line(&mut input) {
        if !line.trim().is_empty() && to.blocking_send(Ok(line)).is_err() {
            return;
        }
    }
}

/// A line without its end; nothing at the end of the input, and when it cannot be read any more.
fn read_line(input: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let count = input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).ok()?;
    if count == 0 {
        return None;
    }
    if count as u64 == LONGEST && !bytes.ends_with(b"\n") {
        drop(bytes);
        input.skip_until(b'\n').ok()?;
        return Some(TOO_LONG.to_owned());
    }
    while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.pop();
    }
    Some(String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
}

fn write_all(lines: &std::sync::mpsc::Receiver<String>, mut output: impl Write, broken: &CancellationToken) {
    while let Ok(mut line) = lines.recv() {
        line.push('\n');
        let written = output.write_all(line.as_bytes()).and_then(|()| output.flush());
        if written.is_err() {
            broken.cancel();
            return;
        }
    }
}

#[cfg(test)]
mod tests;
