//! What handlers leave behind: those that run on by themselves, and what others started. All of it ends with the
//! session.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long the end may take once it was asked for. Then they are dropped, which ends them, too.
const PATIENCE: Duration = Duration::from_secs(10);

/// Work that nobody waits for.
#[derive(Debug, Default)]
pub(super) struct Background {
    running: Mutex<JoinSet<()>>,
    stop: CancellationToken,
}

impl Background {
    /// Looks after some work until it is done or the session is over. The work must heed the token.
    pub(super) fn keep<F>(&self, work: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(work(self.stop.clone()));
    }

    /// Ends everything.
    pub(super) async fn shutdown(&self) {
        self.stop.cancel();
        let mut running = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *running)
        };
        let _ = tokio::time::timeout(PATIENCE, async { while running.join_next().await.is_some() {} }).await;
    }
}
