//! How an agent's run can end. A closed list: an ending without a cause is a bug somebody has to guess at.

use std::time::Duration;

use crate::budget::Which;
use crate::event::Outcome;
use crate::failure::{Failure, FailureKind};

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// With its report.
    Completed,
    /// Cut off, with a report of what there was.
    Partial(Limit),
    /// Without a result.
    Failed(Cause),
    /// Somebody stopped it.
    Stopped(Stopper),
    /// The turn it belonged to was interrupted.
    Interrupted,
    /// The process that ran it is gone; found out later.
    Crashed,
}

/// What cut a run off.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Its limit on requests.
    Turns(u32),
    /// Its limit on cost, in dollars.
    Dollars(f64),
    /// Its limit on tokens.
    Tokens(u64),
    /// Its limit on time.
    Time(Duration),
    /// The provider failed after some work was done.
    Api(String),
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// The model could not be reached, or refused.
    Api(String),
    /// It ended without a word.
    NoReport,
    /// Its answer never fitted the schema it was given.
    Misfit(u32),
    /// A hook would not have its prompt.
    Blocked(String),
    /// Nothing came for so long.
    Stalled(Duration),
    /// It could not be started: the step that failed, and why.
    Start {
        /// The step.
        step: &'static str,
        /// What went wrong.
        why: String,
    },
    /// posse itself went wrong.
    Internal(String),
}

/// Who stopped a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopper {
    /// The agent that started it, or one above.
    Parent,
    /// A person.
    User,
    /// A hook, with its reason.
    Hook(String),
    /// posse, with its reason.
    System(String),
}

impl Ending {
    /// What the end of a turn means for the agent as a whole. `has_text`: whether it said anything before. A provider's
    /// failure after some work is a partial result to a caller that waits, and a failure to one that was not waiting.
    pub fn of(outcome: &Outcome, has_text: bool, background: bool) -> Self {
        match outcome {
            Outcome::Answer { text, structured } if text.trim().is_empty() && structured.is_none() => {
                Self::Failed(Cause::NoReport)
            }
            Outcome::Answer { .. } => Self::Completed,
            Outcome::Cancelled { .. } => Self::Interrupted,
            Outcome::OutOfTurns(turns) => Self::Partial(Limit::Turns(*turns)),
            Outcome::OutOfTries(tries) => Self::Failed(Cause::Misfit(*tries)),
            Outcome::OutOfBudget(dollars) => Self::Partial(Limit::Dollars(*dollars)),
            Outcome::Exhausted { which: Which::Seconds, limit } => {
                Self::Partial(Limit::Time(Duration::from_secs(*limit)))
            }
            Outcome::Exhausted { which: Which::Tokens | Which::Dollars | Which::Descendants, limit } => {
                Self::Partial(Limit::Tokens(*limit))
            }
            Outcome::Stalled(time) => Self::Failed(Cause::Stalled(*time)),
            Outcome::Blocked(why) => Self::Failed(Cause::Blocked(why.clone())),
            Outcome::Stopped(why) => Self::Stopped(Stopper::Hook(why.clone())),
            Outcome::Deferred(call) => {
                Self::Stopped(Stopper::Hook(format!("the call of {} was put off", call.name)))
            }
            Outcome::Failed(failure) if has_text && !background && leaves_work(failure) => {
                Self::Partial(Limit::Api(failure.message.clone()))
            }
            Outcome::Failed(failure) => Self::Failed(Cause::Api(failure.message.clone())),
        }
    }

    /// The status in a `<task-notification>` and in `task_updated`.
    pub fn task_status(&self) -> &'static str {
        match self {
            Self::Completed | Self::Partial(_) => "completed",
            Self::Failed(_) | Self::Crashed => "failed",
            Self::Stopped(_) | Self::Interrupted => "killed",
        }
    }

    /// The status in the SDK's `task_notification`.
    pub fn sdk_status(&self) -> &'static str {
        match self.task_status() {
            "killed" => "stopped",
            other => other,
        }
    }

    /// Who stopped it, in a word, if anybody did.
    pub fn stopper(&self) -> Option<&'static str> {
        match self {
            Self::Stopped(Stopper::Parent) => Some("parent"),
            Self::Stopped(Stopper::User) | Self::Interrupted => Some("user"),
            Self::Stopped(Stopper::Hook(_) | Stopper::System(_)) => Some("system"),
            Self::Completed | Self::Partial(_) | Self::Failed(_) | Self::Crashed => None,
        }
    }

    /// Whether there is a report to hand back as a result.
    pub fn has_result(&self) -> bool {
        match self {
            Self::Completed | Self::Partial(_) => true,
            Self::Failed(_) | Self::Stopped(_) | Self::Interrupted | Self::Crashed => false,
        }
    }

    /// What happened, to follow the agent's name.
    pub fn words(&self) -> String {
        match self {
            Self::Completed => "completed".into(),
            Self::Partial(limit) => format!("stopped early: {}", limit.words()),
            Self::Failed(cause) => format!("failed: {}", cause.words()),
            Self::Stopped(Stopper::Parent) => "was stopped by the agent that started it".into(),
            Self::Stopped(Stopper::User) => "was stopped by the user".into(),
            Self::Stopped(Stopper::Hook(why)) => format!("was stopped by a hook: {why}"),
            Self::Stopped(Stopper::System(why)) => format!("was stopped: {why}"),
            Self::Interrupted => "was interrupted by the user".into(),
            Self::Crashed => "was running when posse ended, and did not finish".into(),
        }
    }

    /// What the caller must know of a result that is not whole.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Partial(limit) => Some(format!(
                "The agent was cut off: {}. Its output is PARTIAL; do not take it for the finished task.",
                limit.words()
            )),
            Self::Completed | Self::Failed(_) | Self::Stopped(_) | Self::Interrupted | Self::Crashed => None,
        }
    }
}

/// Failures that come from outside and leave what was done before them as good as it was.
fn leaves_work(failure: &Failure) -> bool {
    match failure.kind {
        FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::Server
        | FailureKind::Connection
        | FailureKind::Malformed => true,
        FailureKind::Auth
        | FailureKind::Billing
        | FailureKind::ModelNotFound
        | FailureKind::TooLong
        | FailureKind::Invalid
        | FailureKind::OutputLimit
        | FailureKind::Refused
        | FailureKind::Diverged => false,
    }
}

impl Limit {
    fn words(&self) -> String {
        match self {
            Self::Turns(turns) => format!("it reached its {turns}-turn limit"),
            Self::Dollars(dollars) => format!("it reached its budget of ${dollars:.2}"),
            Self::Tokens(tokens) => format!("it reached its budget of {tokens} tokens"),
            Self::Time(time) => format!("its time of {} s was up", time.as_secs()),
            Self::Api(why) => format!("an API error ended it ({why})"),
        }
    }
}

impl Cause {
    fn words(&self) -> String {
        match self {
            Self::Api(why) => format!("terminated early due to an API error: {why}"),
            Self::NoReport => "no assistant messages found: it ended without a report".into(),
            Self::Misfit(tries) => format!("its answer did not fit the schema in {tries} tries"),
            Self::Blocked(why) => format!("a hook would not have the prompt: {why}"),
            Self::Stalled(time) => format!("nothing came from the model for {} s", time.as_secs()),
            Self::Start { step, why } => format!("it could not be started ({step}): {why}"),
            Self::Internal(why) => format!("an error in posse: {why}"),
        }
    }
}
