//! A stream whose lines cannot grow without end: a server that never ends a line must not eat the memory, and whoever
//! waits for its answer must hear of it now and not when the time is over.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Why a connection was ended from this side, if it was.
pub(super) type Fault = Arc<OnceLock<String>>;

/// Passes bytes on until a line is too long.
pub(super) struct Bounded<R> {
    inner: R,
    most: usize,
    line: usize,
    fault: Fault,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R, most: usize, fault: Fault) -> Self {
        Self { inner, most, line: 0, fault }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        for piece in buf.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            self.line += piece.len();
            if self.line > self.most {
                let why = too_long(self.most);
                let _ = self.fault.set(why.clone());
                return Poll::Ready(Err(io::Error::other(why)));
            }
            if piece.ends_with(b"\n") {
                self.line = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// What is said of an answer that is too long.
pub(super) fn too_long(most: usize) -> String {
    format!("it sent a message of more than {} MiB", most.div_ceil(1024 * 1024))
}
