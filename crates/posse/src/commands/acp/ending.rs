//! How a turn ended, as an editor is told. Pure.

use posse_core::event::Outcome;
use posse_core::failure::FailureKind;
use posse_core::message::StopReason;

use super::words::{Refusal, RefusalKind, Stop};
use crate::render::stream::prose;

/// What is said below the answer, if anything, and why the turn is over.
pub(super) fn verdict(
    outcome: &Outcome,
    stop: Option<&StopReason>,
) -> (Option<String>, Result<Stop, Refusal>) {
    let said = |text: String, stop: Stop| (Some(format!("\n\n*{text}*")), Ok(stop));
    match outcome {
        Outcome::Answer { .. } => {
            let stop = match stop {
                Some(StopReason::MaxTokens) => Stop::MaxTokens,
                Some(StopReason::Refusal) => Stop::Refusal,
                Some(_) | None => Stop::EndTurn,
            };
            (None, Ok(stop))
        }
        Outcome::Cancelled { .. } => (None, Ok(Stop::Cancelled)),
        Outcome::OutOfTurns(limit) => {
            said(format!("Stopped after {limit} requests to the model."), Stop::MaxRequests)
        }
        Outcome::OutOfBudget(limit) => said(format!("Stopped: ${limit} are spent."), Stop::MaxRequests),
        Outcome::Exhausted { which, limit } => said(
            format!("Stopped: the limit of the budget is reached ({}).", which.amount(*limit)),
            Stop::MaxRequests,
        ),
        Outcome::OutOfTries(tries) => {
            said(format!("Stopped: the answer did not fit its schema in {tries} tries."), Stop::EndTurn)
        }
        Outcome::Blocked(why) => said(format!("The prompt was refused by a hook: {why}"), Stop::Refusal),
        Outcome::Stopped(why) => said(format!("Stopped by a hook: {why}"), Stop::EndTurn),
        Outcome::Deferred(call) => said(format!("A hook put the use of {} off.", call.name), Stop::EndTurn),
        Outcome::Stalled(time) => {
            let why = format!("nothing was heard from the model for {} seconds", time.as_secs());
            (None, Err(Refusal::new(RefusalKind::Failed, why)))
        }
        Outcome::Failed(failure) => {
            let why = prose(failure);
            match failure.kind {
                FailureKind::Refused => said(why, Stop::Refusal),
                FailureKind::OutputLimit => said(why, Stop::MaxTokens),
                FailureKind::Auth => {
                    let why = format!("{why}: set ANTHROPIC_API_KEY where the editor starts posse");
                    (None, Err(Refusal::new(RefusalKind::Auth, why)))
                }
                FailureKind::RateLimit
                | FailureKind::Overloaded
                | FailureKind::Server
                | FailureKind::Connection
                | FailureKind::Malformed
                | FailureKind::Billing
                | FailureKind::ModelNotFound
                | FailureKind::TooLong
                | FailureKind::Invalid
                | FailureKind::Diverged => (None, Err(Refusal::new(RefusalKind::Failed, why))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
