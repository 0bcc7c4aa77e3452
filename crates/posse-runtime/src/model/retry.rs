//! Trying again: how often, how long to wait between, and when to ask another model instead.
//!
//! Knows nothing of providers or protocols. What was streamed of a failed try is declared void before anything else is.

use std::time::Duration;

use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind, RetryPolicy};
use posse_core::message::Reply;
use tokio_util::sync::CancellationToken;

use super::{Model, Request};
use crate::world::World;

/// After so many refusals in a row for want of capacity, another model is asked.
const PATIENCE_WITH_A_BUSY_MODEL: u32 = 3;

/// How a call ends without a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoReply {
    /// It was cancelled. What was streamed stands: whoever cancelled decides what becomes of it.
    Cancelled,
    /// It failed for good.
    Failed(Failure),
}

/// Makes a request until it succeeds, cannot succeed or is cancelled.
///
/// `fallback` names the model to ask when the first is too busy; several are separated by commas and asked in turn.
/// Each model gets the tries the policy grants. Of `world` only chance is used, to spread waits.
pub async fn call_with_retries(
    model: &dyn Model,
    request: &Request,
    policy: &RetryPolicy,
    fallback: Option<&str>,
    world: &World,
    on: &mut (dyn FnMut(Delta) + Send),
    stop: &CancellationToken,
) -> Result<Reply, NoReply> {
    let names = fallback.into_iter().flat_map(|names| names.split(',')).map(str::trim);
    let mut fallbacks = names.filter(|name| !name.is_empty() && *name != &*request.model);
    let mut other: Option<Request> = None;
    let (mut attempt, mut busy) = (0, 0);
    loop {
        let request = other.as_ref().unwrap_or(request);
        let failure = match try_once(model, request, on, stop).await {
            Ok(reply) => return Ok(reply),
            Err(NoReply::Cancelled) => return Err(NoReply::Cancelled),
            Err(NoReply::Failed(failure)) => failure,
        };
        attempt += 1;
        let is_busy = matches!(failure.kind, FailureKind::Overloaded | FailureKind::RateLimit);
        busy = if is_busy { busy + 1 } else { 0 };
        let delay = policy.delay(&failure, attempt, world.ids.fraction());
        let of = policy.max_retries;
        if is_busy
            && (busy >= PATIENCE_WITH_A_BUSY_MODEL || delay.is_none())
            && let Some(name) = fallbacks.next()
        {
            // Another model has not been asked yet, so there is nothing to wait for.
            on(Delta::Retry { attempt: attempt.min(of).max(1), of, delay: Duration::ZERO, failure });
            other = Some(Request { model: name.into(), ..request.clone() });
            (attempt, busy) = (0, 0);
            continue;
        }
        let Some(delay) = delay else { return Err(NoReply::Failed(failure)) };
        on(Delta::Retry { attempt, of, delay, failure });
        tokio::select! {
            biased;
            () = stop.cancelled() => return Err(NoReply::Cancelled),
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// One try. If it fails after something was streamed, that is declared void.
async fn try_once(
    model: &dyn Model,
    request: &Request,
    on: &mut (dyn FnMut(Delta) + Send),
    stop: &CancellationToken,
) -> Result<Reply, NoReply> {
    if stop.is_cancelled() {
        return Err(NoReply::Cancelled);
    }
    let mut streamed = false;
    let mut watched = |delta: Delta| {
        streamed |= is_drawn(&delta);
        on(delta);
    };
    let result = tokio::select! {
        biased;
        () = stop.cancelled() => return Err(NoReply::Cancelled),
        result = model.call(request, &mut watched) => result,
    };
    if result.is_err() && streamed {
        on(Delta::Discarded);
    }
    result.map_err(NoReply::Failed)
}

/// Whether somebody may have drawn it as part of the reply.
fn is_drawn(delta: &Delta) -> bool {
    match delta {
        Delta::Text(_) | Delta::Thinking(_) | Delta::ToolStart { .. } | Delta::Block(_) | Delta::Raw(_) => {
            true
        }
        Delta::Requesting
        | Delta::Discarded
        | Delta::Retry { .. }
        | Delta::ToolRunning(_)
        | Delta::ToolProgress { .. }
        | Delta::Compacting
        | Delta::Hook(_)
        | Delta::Task(_)
        | Delta::Note(_)
        | Delta::ModeChanged(_) => false,
    }
}

#[cfg(test)]
mod tests;
