//! Time that is up: what works is stopped, then there is a little left to hand over what there is, then it is over. And
//! silence: a model from which nothing is heard.
//!
//! Knows when to stop. How much time there is, the purse says.

use std::pin::Pin;
use std::time::Duration;

use posse_core::budget::Which;
use posse_core::event::Outcome;
use posse_core::message::{Content, ToolAnswer};
use posse_core::turn::Input;
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep};

use super::Run;
use super::driver::Flight;

/// What a call is answered with, or told after its own words, when time was up while it ran.
const TIME_UP: &str =
    "[posse: stopped, because the time for this work is used up. What it had done until then stands.]";
/// The longest that stopped tools may take for their last words.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The part of the time for handing over that they get, if that is less.
const SHARE: u32 = 4;

/// What happens when the time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Work ends.
    Work,
    /// Tools that were stopped are waited for no longer.
    LastWords,
    /// The hand-back itself ends.
    HandBack,
}

/// When the next of them comes.
#[derive(Debug)]
pub(super) struct Due {
    at: Pin<Box<Sleep>>,
    stage: Stage,
}

impl Due {
    pub(super) fn after(time: Duration, stage: Stage) -> Self {
        Self { at: Box::pin(sleep(time)), stage }
    }

    /// Waits until it is time; for ever if nothing is due.
    pub(super) async fn passed(due: &mut Option<Self>) -> Stage {
        match due {
            Some(due) => {
                due.at.as_mut().await;
                due.stage
            }
            None => std::future::pending().await,
        }
    }
}

impl Run {
    /// It is time.
    pub(super) fn time_is_up(&self, stage: Stage, flight: &mut Flight) {
        flight.due = None;
        match stage {
            Stage::Work => {
                flight.late = true;
                let rest = self.setup.purse.left().milliseconds.map_or(LAST_WORDS, Duration::from_millis);
                flight.due = Some(Due::after((rest / SHARE).min(LAST_WORDS), Stage::LastWords));
                flight.inputs.push_back(Input::TimeUp { answer: TIME_UP.to_owned(), patient: true });
            }
            Stage::LastWords => {
                flight.inputs.push_back(Input::TimeUp { answer: TIME_UP.to_owned(), patient: false });
            }
            Stage::HandBack => {
                flight.give_up();
                let outcome = flight.last.take();
                let outcome = outcome.unwrap_or(Outcome::Exhausted { which: Which::Seconds, limit: 0 });
                flight.inputs.push_back(Input::Stop(outcome));
            }
        }
    }
}

/// Says in the answer of a stopped tool why it was stopped.
pub(super) fn explain(answer: &mut ToolAnswer) {
    answer.content.push(Content::Text(TIME_UP.to_owned()));
}

/// Waits for something as long as something is heard of it; `None` after a silence of `patience`.
pub(super) async fn unless_silent<T>(
    work: impl Future<Output = T>,
    heard: &Notify,
    patience: Option<Duration>,
) -> Option<T> {
    let Some(patience) = patience else { return Some(work.await) };
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Some(done),
            () = heard.notified() => {}
            () = sleep(patience) => return None,
        }
    }
}
