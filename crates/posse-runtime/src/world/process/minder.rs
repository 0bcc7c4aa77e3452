//! The minder of a program, as seen from posse: a line to a process that does the work. See `mind` for the other end.

use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{SendFlags, Shutdown};
use tokio::net::UnixStream;

use super::wire::{self, News};

/// A line to a minder. When it is dropped, the minder ends everything.
#[derive(Debug)]
pub(super) struct Minder {
    line: UnixStream,
    heard: Vec<u8>,
}

impl Minder {
    /// A line, and the end of it that is to be the minder's standard input. `input` is what its program reads.
    pub(super) fn call(input: Option<&OwnedFd>) -> std::io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        wire::send_input(&ours, input.map(AsFd::as_fd))?;
        ours.set_nonblocking(true)?;
        Ok((Self { line: UnixStream::from_std(ours)?, heard: Vec::new() }, theirs.into()))
    }

    /// What became of the program; `None` if the minder is gone without a word. May be dropped and called again.
    pub(super) async fn news(&mut self) -> Option<News> {
        while self.heard.len() < News::LENGTH {
            self.line.readable().await.ok()?;
            let mut piece = [0; News::LENGTH];
            match self.line.try_read(&mut piece[self.heard.len()..]) {
                Ok(0) => return None,
                Ok(count) => self.heard.extend_from_slice(piece[self.heard.len()..].get(..count)?),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
        News::read(&self.heard)
    }

    /// The same, of a minder that has ended.
    pub(super) fn last_news(&mut self) -> Option<News> {
        while self.heard.len() < News::LENGTH {
            let mut piece = [0; News::LENGTH];
            let count = rustix::io::read(&self.line, &mut piece[self.heard.len()..])
                .ok()
                .filter(|count| *count > 0)?;
            self.heard.extend_from_slice(piece[self.heard.len()..].get(..count)?);
        }
        News::read(&self.heard)
    }

    /// Tells the minder what to do. One who is gone has nothing to do.
    pub(super) fn say(&self, word: u8) {
        let _ = rustix::net::send(&self.line, &[word], SendFlags::NOSIGNAL);
    }

    /// Tells the minder to end everything, as if posse had gone.
    pub(super) fn leave(&self) {
        let _ = rustix::net::shutdown(&self.line, Shutdown::Write);
    }
}
