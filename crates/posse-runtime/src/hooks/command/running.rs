//! A program that runs: fed, listened to, ended in time. Whatever it prints, little of it is kept.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use posse_core::hooks::answer::{self, Exit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio_util::sync::CancellationToken;

use super::super::background::Background;
use crate::world::process::Tree;

/// Bytes of each pipe that are kept. The rest is read and forgotten, so that nobody waits for a full pipe.
const KEPT: usize = 1 << 20;
/// What a pipe holds on Linux.
const PIECE: usize = 65_536;
/// The longest first line that is looked at while a program runs.
const LINE: usize = 4096;
/// How long a program that is told to end may take over it.
const GRACE: Duration = Duration::from_millis(500);
/// How long output is waited for after the program has ended. What it left running may hold the pipes for ever.
const DRAIN: Duration = Duration::from_millis(500);

/// What a program printed, as text.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// How following a program ended.
#[derive(Debug)]
pub(super) enum End {
    /// It is over.
    Over(Exit),
    /// It has said that it goes on by itself, and perhaps for how long.
    Detached(Option<Duration>),
}

/// A program that runs.
pub(super) struct Running {
    tree: Tree,
    out: Pipe<ChildStdout>,
    err: Pipe<ChildStderr>,
    /// Writing the input. A program that does not read it, or closes it, is no failure.
    feeding: Option<BoxFuture<'static, ()>>,
}

impl Running {
    pub(super) fn new(mut tree: Tree, input: String) -> Self {
        let feeding = tree.stdin().map(|mut stdin| {
            async move {
                let _ = stdin.write_all(input.as_bytes()).await;
                let _ = stdin.write_all(b"\n").await;
                let _ = stdin.shutdown().await;
            }
            .boxed()
        });
        let (out, err) = (Pipe::new(tree.stdout()), Pipe::new(tree.stderr()));
        Self { tree, out, err, feeding }
    }

    /// Follows it until it ends, its time is over, or it must stop. Unless it ended by itself, nothing of it is left.
    pub(super) async fn follow(
        &mut self,
        limit: Duration,
        stop: &CancellationToken,
        may_detach: bool,
    ) -> End {
        let mut time = std::pin::pin!(tokio::time::sleep(limit));
        let mut asks = may_detach;
        let exit = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break Exit::Stopped,
                () = &mut time => break Exit::TimedOut(limit),
                status = self.tree.wait() => break match status {
                    Ok(status) => match (status.code(), status.signal()) {
                        (Some(code), _) => Exit::Code(code),
                        (None, Some(signal)) => Exit::Signal(signal),
                        (None, None) => Exit::Failed("it ended without an exit code".to_owned()),
                    },
                    Err(lost) => Exit::Failed(lost.to_string()),
                },
                () = self.out.fill() => {
                    if asks && let Some(line) = self.out.first_line() {
                        asks = false;
                        if let Some(limit) = answer::detaches(&line) {
                            return End::Detached(limit);
                        }
                    }
                }
                () = self.err.fill() => {}
                () = fed(&mut self.feeding) => self.feeding = None,
            }
        };
        match &exit {
            Exit::Code(_) | Exit::Signal(_) => {}
            Exit::TimedOut(_) | Exit::Stopped | Exit::Failed(_) => self.tree.kill(GRACE).await,
        }
        let _ = tokio::time::timeout(DRAIN, drain(&mut self.out, &mut self.err)).await;
        End::Over(exit)
    }

    /// What it has printed so far.
    pub(super) fn printed(&self) -> Printed {
        Printed { stdout: self.out.text(), stderr: self.err.text() }
    }

    /// Looks after what it left running, until that is over or the session is. Its pipes stay open: closing them would
    /// end it.
    pub(super) fn leave(self, background: &Background) {
        let Self { mut tree, mut out, mut err, feeding: _ } = self;
        background.keep(move |stop| async move {
            let over = async {
                if !tree.left().await.is_empty() {
                    drain(&mut out, &mut err).await;
                    tree.gone().await;
                }
            };
            let is_over = tokio::select! {
                biased;
                () = stop.cancelled() => false,
                () = over => true,
            };
            if !is_over {
                tree.kill(GRACE).await;
            }
        });
    }
}

async fn fed(feeding: &mut Option<BoxFuture<'static, ()>>) {
    match feeding {
        Some(feeding) => feeding.await,
        None => std::future::pending().await,
    }
}

async fn drain(out: &mut Pipe<ChildStdout>, err: &mut Pipe<ChildStderr>) {
    while out.end.is_some() || err.end.is_some() {
        tokio::select! {
            () = out.fill() => {}
            () = err.fill() => {}
        }
    }
}

/// The reading end of a pipe, and the beginning of what came through it.
struct Pipe<R> {
    end: Option<R>,
    piece: Box<[u8]>,
    kept: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(end: Option<R>) -> Self {
        Self { end, piece: vec![0; PIECE].into(), kept: Vec::new() }
    }

    /// Reads one piece. A pipe that is closed already never answers. Nothing is lost when the future is dropped.
    async fn fill(&mut self) {
        let count = match &mut self.end {
            Some(end) => end.read(&mut self.piece).await.unwrap_or(0),
            None => std::future::pending().await,
        };
        if count == 0 {
            self.end = None;
        }
        let room = KEPT.saturating_sub(self.kept.len()).min(count);
        self.kept.extend_from_slice(&self.piece[..room]);
    }

    /// The first line, once it is whole. Nobody needs a long one.
    fn first_line(&self) -> Option<String> {
        let start = &self.kept[..self.kept.len().min(LINE)];
        let end = start.iter().position(|byte| *byte == b'\n').or((start.len() == LINE).then_some(LINE))?;
        Some(String::from_utf8_lossy(&start[..end]).into_owned())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}
