//! Standard input and output as lines, for programs at the other end.
//!
//! Reading and writing are done by threads of their own: one that does not listen, or says nothing, holds up no work.
//! Knows how long a line may be; knows nothing of what is in it.

use std::io::{BufRead, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// What comes in may hold pictures; what is longer is a mistake.
pub(super) const LONGEST: u64 = 256 * 1024 * 1024;

/// One line that came in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Its text, without its end. What is no text in it is replaced.
    Text(String),
    /// It is too long to be read, and was passed over.
    TooLong,
}

/// How the far end is doing.
pub(super) struct Far {
    /// Cancelled when nothing can be written any more.
    pub(super) broken: CancellationToken,
    /// Told when everything is written and nobody can write any more.
    pub(super) written: oneshot::Receiver<()>,
}

/// Reads a line; nothing at the end of the input, and when it cannot be read any more.
pub(super) fn read(input: &mut impl BufRead) -> Option<Line> {
    let mut bytes = Vec::new();
    let count = input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).ok()?;
    if count == 0 {
        return None;
    }
    if count as u64 == LONGEST && !bytes.ends_with(b"\n") {
        drop(bytes);
        input.skip_until(b'\n').ok()?;
        return Some(Line::TooLong);
    }
    while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.pop();
    }
    let text = String::from_utf8(bytes);
    Some(Line::Text(text.unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())))
}

/// Writes the lines that are handed over, until nothing is.
pub(super) fn write(output: impl Write + Send + 'static) -> (Sender<Option<String>>, Far) {
    let (out, lines) = channel();
    let (done, written) = oneshot::channel();
    let broken = CancellationToken::new();
    let breaks = broken.clone();
    std::thread::spawn(move || {
        write_all(&lines, output, &breaks);
        // Nobody waiting is no harm.
        let _ = done.send(());
    });
    (out, Far { broken, written })
}

fn write_all(lines: &Receiver<Option<String>>, mut output: impl Write, broken: &CancellationToken) {
    while let Ok(Some(mut line)) = lines.recv() {
        line.push('\n');
        let written = output.write_all(line.as_bytes()).and_then(|()| output.flush());
        if written.is_err() {
            broken.cancel();
            return;
        }
    }
}

/// Cancels when nobody reads this process's output any more. Only writing would tell otherwise, and while a tool works
/// there is nothing to write.
pub(super) fn watch_output(broken: CancellationToken) {
    use rustix::event::{PollFd, PollFlags, poll};
    std::thread::spawn(move || {
        let output = std::io::stdout();
        // Nothing is asked for: what is left are errors, such as a pipe without a reader.
        let mut watched = [PollFd::new(&output, PollFlags::empty())];
        loop {
            match poll(&mut watched, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(1..) => return broken.cancel(),
                Ok(0) | Err(_) => return,
            }
        }
    });
}
