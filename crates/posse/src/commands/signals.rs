//! Signals that end things: Ctrl-C, a polite kill, a hang-up. Knows when they come, not what they end.

use std::convert::Infallible;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Ctrl-C: stop what you are doing.
    Interrupt,
    /// End: nobody is there any more, or somebody wants the program gone.
    End,
}

/// Listens for as long as it lives; signals that come between two calls are not lost.
pub(super) struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Begins to listen.
    pub(super) fn listen() -> Self {
        let listen = |kind| signal(kind).ok();
        Self {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
            hang_up: listen(SignalKind::hangup()),
        }
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            () = came(self.interrupt.as_mut()) => Signal::Interrupt,
            () = came(self.terminate.as_mut()) => Signal::End,
            () = came(self.hang_up.as_mut()) => Signal::End,
        }
    }
}

/// Waits for a signal; for one that cannot be listened to, for ever.
async fn came(signal: Option<&mut tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Cancels the token at the first signal to end and ends the program at the second; never ends by itself.
///
/// A hang-up or a polite kill ends a run like Ctrl-C does: with everything it started, and the conversation whole.
pub(super) async fn interrupts(stop: CancellationToken) -> Infallible {
    let mut signals = Signals::listen();
    signals.next().await;
    stop.cancel();
    signals.next().await;
    at_once()
}

/// Whoever asks twice does not want to wait for anything. The transcript is whole: facts are written as they happen.
#[allow(clippy::disallowed_methods)]
pub(super) fn at_once() -> ! {
    std::process::exit(130)
}
