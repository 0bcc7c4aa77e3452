//! Trying again: bounded, with patience, visible, and never doubling what was already drawn.

use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind, RetryPolicy};
use posse_core::message::Reply;
use tokio_util::sync::CancellationToken;

use super::{Model, Request};
use crate::world::World;

/// How to try again.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// How often and how long.
    pub policy: RetryPolicy,
    /// The model to turn to when the first is overloaded.
    pub fallback: Option<&'a str>,
}

/// After so many failures of an overloaded model the fallback is asked instead.
const PATIENCE_BEFORE_FALLBACK: u32 = 3;

/// Makes a request until it succeeds, cannot succeed, or has failed often enough.
pub async fn call(
    model: &dyn Model,
    request: &Request,
    options: &Options<'_>,
    world: &World,
    stop: &CancellationToken,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<Reply, Failure> {
    let mut request = std::borrow::Cow::Borrowed(request);
    let mut overloaded = 0;
    for attempt in 1.. {
        let mut drawn = false;
        let outcome = {
            let mut watch = |delta: Delta| {
                drawn |= matches!(
                    delta,
                    Delta::Text(_) | Delta::Thinking(_) | Delta::ToolStart { .. } | Delta::Raw(_)
                );
                on(delta);
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return Err(interrupted()),
                outcome = model.call(&request, &mut watch) => outcome,
            }
        };
        let failure = match outcome {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        if drawn {
            on(Delta::Discarded);
        }
        overloaded += u32::from(matches!(failure.kind, FailureKind::Overloaded | FailureKind::RateLimit));
        if let Some(fallback) = options.fallback.filter(|name| **name != *request.model)
            && overloaded >= PATIENCE_BEFORE_FALLBACK
        {
            request.to_mut().model = fallback.into();
        }
        let Some(delay) = options.policy.delay(&failure, attempt, world.ids.fraction()) else {
            return Err(failure);
        };
        on(Delta::Retry { attempt, of: options.policy.max_retries, delay, failure });
        tokio::select! {
            biased;
            () = stop.cancelled() => return Err(interrupted()),
            () = tokio::time::sleep(delay) => {}
        }
    }
    Err(interrupted())
}

fn interrupted() -> Failure {
    Failure::new(FailureKind::Connection, "interrupted")
}
