//! Signals that end things: Ctrl-C, a polite kill, a hang-up. Knows when they come, not what they end.

use std::convert::Infallible;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Ctrl-C: stop what you are doing.
    Interrupt,
    /// Ctrl-\: go on without waiting for the agents at work. Only where a conversation is held.
    Background,
    /// End: nobody is there any more, or somebody wants the program gone.
    End,
}

/// Listens for as long as it lives; signals that come between two calls are not lost.
pub(super) struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    hang_up: Option<tokio::signal::unix::Signal>,
    quit: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Begins to listen.
    pub(super) fn listen() -> Self {
        let listen = |kind| signal(kind).ok();
        Self {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
            hang_up: listen(SignalKind::hangup()),
            quit: None,
        }
    }

    /// Listens for what a person at a terminal can ask for, too.
    pub(super) fn listen_at_terminal() -> Self {
        Self { quit: signal(SignalKind::quit()).ok(), ..Self::listen() }
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            () = came(self.interrupt.as_mut()) => Signal::Interrupt,
            () = came(self.terminate.as_mut()) => Signal::End,
            () = came(self.hang_up.as_mut()) => Signal::End,
            () = came(self.quit.as_mut()) => Signal::Background,
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
pub(super) fn interrupts(stop: CancellationToken) -> impl Future<Output = Infallible> + Send + 'static {
    // From now on, not only once somebody waits.
    let signals = Signals::listen();
    cancelling(signals, stop)
}

async fn cancelling(mut signals: Signals, stop: CancellationToken) -> Infallible {
    signals.next().await;
    stop.cancel();
    signals.next().await;
    at_once()
}

/// Lets signals cancel the token for as long as the result lives: also those that come between two turns.
#[must_use]
pub(super) fn interruptible(stop: &CancellationToken) -> JoinSet<Infallible> {
    let mut listening = JoinSet::new();
    listening.spawn(interrupts(stop.clone()));
    listening
}

/// Whoever asks twice does not want to wait for anything. The transcript is whole: facts are written as they happen.
#[allow(clippy::disallowed_methods)]
pub(super) fn at_once() -> ! {
    posse_runtime::world::process::end_all();
    std::process::exit(130)
}
