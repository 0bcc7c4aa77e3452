//! A model whose requests are paid for one by one. A try that breaks off may have been billed, so it counts in full, and
//! the next one needs an amount of its own.
//!
//! Knows what is held for a request. Refuses to decide what to do when nothing is left: [`Paid::is_broke`] says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use posse_core::budget::Amount;
use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::Reply;
use posse_core::price::Price;

use super::{Model, Request};
use crate::purse::{Held, Purse};

/// A model for one request, however often it has to be tried.
pub struct Paid {
    inner: Arc<dyn Model>,
    purse: Purse,
    bound: Amount,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    broke: bool,
}

impl Paid {
    /// Pays the first try with what is held, and every other with as much again.
    pub fn new(inner: Arc<dyn Model>, purse: Purse, held: Held) -> Self {
        let bound = held.bound();
        Self { inner, purse, bound, state: Mutex::new(State { held: Some(held), broke: false }) }
    }

    /// Whether a try was not made because there was nothing left to pay it with.
    pub fn is_broke(&self) -> bool {
        self.state().broke
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self) -> Result<Held, Failure> {
        let mut state = self.state();
        if let Some(held) = state.held.take() {
            return Ok(held);
        }
        self.purse.reserve(self.bound).map_err(|lacking| {
            state.broke = true;
            Failure::new(FailureKind::Billing, format!("not tried again: {lacking}"))
        })
    }
}

impl Model for Paid {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            // Whoever gives up on this future drops it with what it holds, which then counts in full.
            let held = self.hold()?;
            let mut began = false;
            let mut listening = |delta: Delta| {
                began = true;
                on(delta);
            };
            let reply = self.inner.call(request, &mut listening).await;
            match &reply {
                Ok(reply) if is_believable(reply) => {
                    held.settle(&reply.usage, &Price::of(&reply.model));
                }
                Err(failure) if failure.is_free(began) => self.state().held = Some(held),
                Ok(_) | Err(_) => drop(held),
            }
            reply
        })
    }
}

impl Drop for Paid {
    fn drop(&mut self) {
        if let Some(held) = self.state().held.take() {
            held.release();
        }
    }
}

/// Whether what a provider says an answer came to can be true: nothing is read or said for no tokens.
pub fn is_believable(reply: &Reply) -> bool {
    reply.usage.context() > 0 && reply.usage.output > 0
}
