//! Following a command to its end, whichever comes first.

use std::future::Future;
use std::process::ExitStatus;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::pipes::Pipes;
use crate::tool::capture::{Capture, Plain, Spool, Stream};
use crate::tool::{TaskStatus, Work};
use crate::world::process::{Lost, Tree};

/// How long a command that is told to end may take over it.
const GRACE: Duration = Duration::from_millis(500);
/// How long output is waited for after the shell has ended. What it left running may hold the pipes for ever.
const DRAIN: Duration = Duration::from_millis(500);

/// How a command in the foreground ended.
#[derive(Debug)]
pub(super) enum End {
    Exited(ExitStatus),
    TimedOut,
    Interrupted,
    /// It printed more than anybody can want.
    Flooded,
    /// It was not run, or the system would not say.
    Lost(Lost),
}

/// When a command is not waited for any longer.
#[derive(Debug)]
pub(super) struct Bounds<'a> {
    pub(super) stop: &'a CancellationToken,
    pub(super) time: Duration,
    /// Bytes of output.
    pub(super) flood: u64,
}

/// Follows a command to its end. Unless it ended by itself, nothing of it is left afterwards.
pub(super) async fn foreground(
    tree: &mut Tree,
    pipes: &mut Pipes,
    capture: &mut Capture,
    bounds: &Bounds<'_>,
) -> End {
    let end = to_the_end(tree, pipes, capture, bounds).await;
    match &end {
        End::Exited(_) => {}
        End::TimedOut | End::Interrupted | End::Lost(_) => {
            // What it says when told to end is worth keeping, and must not keep it from ending.
            let kill = tree.kill(GRACE);
            tokio::select! {
                () = kill => {}
                () = async { drain(pipes, capture, bounds.flood).await; std::future::pending().await } => {}
            }
        }
        End::Flooded => {
            tree.kill(GRACE).await;
            return end;
        }
    }
    let _ = tokio::time::timeout(DRAIN, drain(pipes, capture, bounds.flood)).await;
    if capture.total() > bounds.flood {
        tree.kill(GRACE).await;
        return End::Flooded;
    }
    end
}

async fn to_the_end(tree: &mut Tree, pipes: &mut Pipes, capture: &mut Capture, bounds: &Bounds<'_>) -> End {
    let mut time = std::pin::pin!(tokio::time::sleep(bounds.time));
    loop {
        tokio::select! {
            biased;
            () = bounds.stop.cancelled() => return End::Interrupted,
            () = &mut time => return End::TimedOut,
            status = tree.wait() => return status.map_or_else(End::Lost, End::Exited),
            Some((stream, bytes)) = pipes.next() => capture.take(stream, bytes).await,
        }
        if capture.total() > bounds.flood {
            return End::Flooded;
        }
    }
}

async fn drain(pipes: &mut Pipes, capture: &mut Capture, flood: u64) {
    while capture.total() <= flood
        && let Some((stream, bytes)) = pipes.next().await
    {
        capture.take(stream, bytes).await;
    }
}

/// Looks after what a command left running. Its pipes stay open, or writing to them would end it; but nobody reads what
/// it writes, so a flood does end it.
pub(super) async fn leftovers(mut tree: Tree, mut pipes: Pipes, flood: u64, stop: CancellationToken) {
    let over = async {
        let mut total = 0;
        while let Some((_, bytes)) = pipes.next().await {
            total += bytes.len() as u64;
            if total > flood {
                return false;
            }
        }
        tree.gone().await;
        true
    };
    if unless(&stop, over).await != Some(true) {
        tree.kill(GRACE).await;
    }
}

/// Follows a command in the background: all it prints goes to a file. It has ended when its shell has; what that left
/// running is looked after until it is gone, or until the end of the session.
pub(super) async fn background(mut tree: Tree, mut pipes: Pipes, spool: Spool, work: Work) {
    let mut log = Log { spool, out: Plain::default(), err: Plain::default() };
    let status = loop {
        tokio::select! {
            biased;
            () = work.stop.cancelled() => break None,
            status = tree.wait() => break Some(status),
            Some((stream, bytes)) = pipes.next() => log.take(stream, bytes).await,
        }
    };
    let Some(status) = status else {
        tree.kill(GRACE).await;
        let _ = tokio::time::timeout(DRAIN, log.drain(&mut pipes)).await;
        log.spool.flush().await;
        work.end(TaskStatus::Killed, None);
        return;
    };
    let _ = tokio::time::timeout(DRAIN, log.drain(&mut pipes)).await;
    log.spool.flush().await;
    match status {
        Ok(status) if status.success() => work.end(TaskStatus::Completed, Some(0)),
        Ok(status) => work.end(TaskStatus::Failed, code(status)),
        Err(_) => work.end(TaskStatus::Failed, None),
    }
    let over = async {
        log.drain(&mut pipes).await;
        log.spool.flush().await;
        tree.gone().await;
    };
    if unless(&work.stop, over).await.is_none() {
        tree.kill(GRACE).await;
    }
}

/// What a program ended with, as shells put it: 128 and the number of the signal, if it was one.
pub(super) fn code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| Some(128 + status.signal()?))
}

async fn unless<T>(stop: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        value = work => Some(value),
    }
}

struct Log {
    spool: Spool,
    out: Plain,
    err: Plain,
}

impl Log {
    async fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let plain = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        self.spool.write(plain.strip(bytes)).await;
    }

    async fn drain(&mut self, pipes: &mut Pipes) {
        while let Some((stream, bytes)) = pipes.next().await {
            self.take(stream, bytes).await;
        }
    }
}
