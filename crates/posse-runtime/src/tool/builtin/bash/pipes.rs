//! What a program prints on its two pipes, piece by piece.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};

use crate::tool::capture::Stream;

/// What a pipe holds on Linux.
const PIECE: usize = 65_536;

/// The reading ends of a program's pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    out: Pipe<ChildStdout>,
    err: Pipe<ChildStderr>,
    last: Stream,
}

#[derive(Debug)]
struct Pipe<R> {
    end: Option<R>,
    piece: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(end: Option<R>) -> Self {
        Self { end, piece: vec![0; PIECE] }
    }

    /// How many bytes of `piece` were read; zero if it was closed. A pipe that is closed already never answers.
    async fn read(&mut self) -> usize {
        match &mut self.end {
            Some(end) => end.read(&mut self.piece).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }
}

impl Pipes {
    pub(super) fn new(out: Option<ChildStdout>, err: Option<ChildStderr>) -> Self {
        Self { out: Pipe::new(out), err: Pipe::new(err), last: Stream::Err }
    }

    /// Whether nobody can write any more.
    pub(super) fn are_closed(&self) -> bool {
        self.out.end.is_none() && self.err.end.is_none()
    }

    /// The next piece; `None` once both are closed. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Option<(Stream, &[u8])> {
        let (stream, count) = loop {
            if self.are_closed() {
                return None;
            }
            // Both in turn: neither can starve the other, and the same output comes in the same order.
            let (stream, count) = match self.last {
                Stream::Err => tokio::select! {
                    biased;
                    count = self.out.read() => (Stream::Out, count),
                    count = self.err.read() => (Stream::Err, count),
                },
                Stream::Out => tokio::select! {
                    biased;
                    count = self.err.read() => (Stream::Err, count),
                    count = self.out.read() => (Stream::Out, count),
                },
            };
            self.last = stream;
            match (stream, count) {
                (Stream::Out, 0) => self.out.end = None,
                (Stream::Err, 0) => self.err.end = None,
                (Stream::Out | Stream::Err, _) => break (stream, count),
            }
        };
        let piece = match stream {
            Stream::Out => &self.out.piece,
            Stream::Err => &self.err.piece,
        };
        Some((stream, &piece[..count]))
    }
}
