//! Lines that a person types. Reads only when a line is wanted, so that what is typed ahead waits in the terminal,
//! where it can be seen and taken back.

use std::io::BufRead;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Where lines come from.
pub(super) struct Lines {
    want: std::sync::mpsc::Sender<()>,
    read: UnboundedReceiver<Option<String>>,
    /// Whether a line was wanted and has not come: whoever wanted it is gone, and the next one gets it.
    under_way: bool,
    is_terminal: bool,
}

impl Lines {
    /// The lines of this process's terminal.
    pub(super) fn of_terminal() -> Self {
        Self { is_terminal: true, ..Self::of(std::io::BufReader::new(std::io::stdin())) }
    }

    /// The lines of an input. A thread of its own reads it: a read from a terminal cannot be taken back, and must not
    /// keep the program from ending.
    pub(super) fn of(mut input: impl BufRead + Send + 'static) -> Self {
        let (want, wanted) = std::sync::mpsc::channel();
        let (lines, read) = unbounded_channel();
        std::thread::spawn(move || {
            for () in wanted {
                if lines.send(line(&mut input)).is_err() {
                    return;
                }
            }
        });
        Self { want, read, under_way: false, is_terminal: false }
    }

    /// The next line without its end; `None` at the end of the input. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<String> {
        if !self.under_way {
            self.want.send(()).ok()?;
            self.under_way = true;
        }
        let line = self.read.recv().await.flatten();
        self.under_way = false;
        line
    }

    /// Throws away what was typed before anybody asked: it cannot have been meant as the answer.
    pub(super) fn forget_typed(&mut self) {
        if self.is_terminal {
            // If it cannot be done there was nothing to throw away.
            let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        }
        // A line that was wanted for a question that is gone.
        while self.read.try_recv().is_ok() {
            self.under_way = false;
        }
    }
}

/// A line; `None` at the end of the input, and when it cannot be read any more.
fn line(input: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let count = input.read_until(b'\n', &mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    (count > 0).then(|| text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests;
