//! Agents that begin with the same words start one after the first: once the provider has read those words for one of
//! them, the others find them in its cache instead of paying for them again.
//!
//! The first goes ahead; the rest wait for its first byte, a few seconds at most. `POSSE_CACHE_WAIT_MS=0` lets all of
//! them go at once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use posse_core::event::Delta;
use posse_core::failure::Failure;
use posse_core::message::Reply;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Member;
use crate::model::{Model, Request};
use crate::run::RunSetup;
use crate::world::Env;

/// How long the others wait for the first, unless the environment says otherwise.
const PATIENCE_MS: u64 = 5_000;

/// Who has begun with which words.
#[derive(Debug, Default)]
pub(super) struct Pace {
    begun: Mutex<HashMap<u64, watch::Receiver<bool>>>,
}

impl Pace {
    /// Waits until it is this agent's turn. The first of its kind gets a client that tells the others when it is heard.
    pub(super) async fn turn(&self, member: &Member, env: &Env, stop: &CancellationToken) -> RunSetup {
        let mut setup = member.setup.clone();
        let patience = env.number("POSSE_CACHE_WAIT_MS").unwrap_or(PATIENCE_MS);
        if patience == 0 {
            return setup;
        }
        let (first, mut heard) = self.join(key(member));
        match first {
            Some(signal) => setup.model = Arc::new(Herald { inner: setup.model, signal }),
            None => {
                // The first may fail or be stopped: then its sender is gone, and the wait is over, too.
                let wait = heard.wait_for(|heard| *heard);
                tokio::select! {
                    _ = tokio::time::timeout(Duration::from_millis(patience), wait) => {}
                    () = stop.cancelled() => {}
                }
            }
        }
        setup
    }

    fn join(&self, key: u64) -> (Option<watch::Sender<bool>>, watch::Receiver<bool>) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(heard) = begun.get(&key) {
            return (None, heard.clone());
        }
        let (signal, heard) = watch::channel(false);
        begun.insert(key, heard.clone());
        (Some(signal), heard)
    }
}

/// What agents share that begin with the same words.
fn key(member: &Member) -> u64 {
    let mut hasher = DefaultHasher::new();
    let setup = &member.setup;
    setup.model_id.hash(&mut hasher);
    for part in setup.system.iter() {
        part.text.hash(&mut hasher);
    }
    for spec in setup.tools.specs().iter() {
        (&spec.name, spec.description.len()).hash(&mut hasher);
    }
    setup.opening.hash(&mut hasher);
    // A fork begins with a whole conversation; those of another moment begin otherwise.
    member.base.as_ref().map(|base| base.len()).hash(&mut hasher);
    hasher.finish()
}

/// A client that says when the first byte comes.
struct Herald {
    inner: Arc<dyn Model>,
    signal: watch::Sender<bool>,
}

impl Model for Herald {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let mut listening = |delta: Delta| {
                self.signal.send_replace(true);
                on(delta);
            };
            let reply = self.inner.call(request, &mut listening).await;
            self.signal.send_replace(true);
            reply
        })
    }
}
