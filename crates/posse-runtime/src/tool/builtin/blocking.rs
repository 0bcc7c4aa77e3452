//! Work that blocks, on a thread of its own, for as long as somebody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tool::ToolCx;

/// What a tool answers that was interrupted.
pub(super) const INTERRUPTED: &str = "Interrupted before it was done.";

/// Tells the work to stop when whoever waits for it goes away, for whatever reason.
struct Halt(Arc<AtomicBool>);

impl Drop for Halt {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` beside the event loop. It is handed a flag that rises when the user interrupts or the caller is
/// dropped, and has to look at it: a thread cannot be stopped from outside. `None` if it was interrupted.
pub(super) async fn run<T: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> Option<T> {
    if cx.stop.is_cancelled() {
        return None;
    }
    let halt = Halt(Arc::default());
    let flag = Arc::clone(&halt.0);
    let job = tokio::task::spawn_blocking(move || work(&flag));
    tokio::select! {
        done = job => match done {
            Ok(done) => Some(done),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down.
            Err(_) => None,
        },
        () = cx.stop.cancelled() => None,
    }
}
