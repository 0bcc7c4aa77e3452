//! Why a request to a model failed, in the kinds somebody branches on, and what to do about each.

use std::time::Duration;

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// Too many requests.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The provider failed.
    Server,
    /// The connection failed, broke off or fell silent.
    Connection,
    /// What came back is not what the protocol allows.
    Malformed,
    /// The key was refused.
    Auth,
    /// The account cannot pay.
    Billing,
    /// No such model.
    ModelNotFound,
    /// The conversation does not fit the model's window.
    TooLong,
    /// The request itself is wrong.
    Invalid,
    /// The answer reached its limit before it was whole.
    OutputLimit,
    /// The model will not.
    Refused,
    /// The recording does not know this request.
    Diverged,
}

impl FailureKind {
    /// The word the SDK protocol uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Server => "server_error",
            Self::OutputLimit => "max_output_tokens",
            Self::Connection | Self::Malformed | Self::Refused | Self::Diverged => "unknown",
            Self::Auth => "authentication_failed",
            Self::Billing => "billing_error",
            Self::ModelNotFound => "model_not_found",
            Self::TooLong | Self::Invalid => "invalid_request",
        }
    }

    /// Whether trying the same again can help.
    pub fn is_passing(self) -> bool {
        match self {
            Self::RateLimit | Self::Overloaded | Self::Server | Self::Connection | Self::Malformed => true,
            Self::Auth
            | Self::Billing
            | Self::ModelNotFound
            | Self::TooLong
            | Self::Invalid
            | Self::OutputLimit
            | Self::Refused
            | Self::Diverged => false,
        }
    }
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// HTTP status, if one came.
    pub status: Option<u16>,
    /// What to tell the user. Holds no secrets.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the request never reached anybody.
    pub unsent: bool,
}

impl Failure {
    /// Whether a request that failed so was surely not billed: it reached nobody, or it was refused before a word of
    /// an answer (`began`) came. What broke off may have been.
    pub fn is_free(&self, began: bool) -> bool {
        match self.kind {
            FailureKind::RateLimit | FailureKind::Overloaded | FailureKind::Server => {
                self.status.is_some() && !began
            }
            FailureKind::Connection => self.unsent,
            FailureKind::Malformed | FailureKind::OutputLimit | FailureKind::Refused => false,
            FailureKind::Auth
            | FailureKind::Billing
            | FailureKind::ModelNotFound
            | FailureKind::TooLong
            | FailureKind::Invalid
            | FailureKind::Diverged => !began,
        }
    }

    /// A failure without a status.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), retry_after: None, unsent: false }
    }
}

/// How often and how patiently to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries after the first.
    pub max_retries: u32,
    /// The first wait.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 10, first: Duration::from_millis(500), longest: Duration::from_secs(32) }
    }
}

/// The longest wait a provider may ask for; beyond it, it is kinder to fail now and say when.
const MOST_PATIENCE: Duration = Duration::from_secs(300);

impl RetryPolicy {
    /// How long to wait before try number `attempt` (1 is the first retry), or `None` to give up.
    ///
    /// `jitter` in 0..1 spreads waits over the upper half, so that many agents do not come back at once.
    pub fn delay(&self, failure: &Failure, attempt: u32, jitter: f64) -> Option<Duration> {
        if !failure.kind.is_passing() || attempt > self.max_retries {
            return None;
        }
        if let Some(asked) = failure.retry_after {
            return (asked <= MOST_PATIENCE).then_some(asked);
        }
        let doubled =
            self.first.saturating_mul(1u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        Some(doubled.min(self.longest).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_end() {
        let policy =
            RetryPolicy { max_retries: 3, first: Duration::from_secs(1), longest: Duration::from_secs(3) };
        let overloaded = Failure::new(FailureKind::Overloaded, "busy");
        let waits: Vec<_> = (1..=4).map(|attempt| policy.delay(&overloaded, attempt, 1.0)).collect();
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(waits, [seconds(1), seconds(2), seconds(3), None]);
        assert_eq!(policy.delay(&overloaded, 1, 0.0), Some(Duration::from_millis(500)));
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again_and_providers_are_obeyed() {
        let policy = RetryPolicy::default();
        for kind in
            [FailureKind::Auth, FailureKind::Invalid, FailureKind::TooLong, FailureKind::ModelNotFound]
        {
            assert_eq!(policy.delay(&Failure::new(kind, ""), 1, 0.5), None);
        }
        let asked = |seconds| Failure {
            retry_after: Some(Duration::from_secs(seconds)),
            ..Failure::new(FailureKind::RateLimit, "")
        };
        assert_eq!(policy.delay(&asked(7), 1, 0.5), Some(Duration::from_secs(7)));
        assert_eq!(policy.delay(&asked(3600), 1, 0.5), None);
    }
}
