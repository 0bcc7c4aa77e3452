//! What time it is: the system's, or one that stands still so that output can be compared byte for byte.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::Instant;

use super::Env;

/// A clock.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    fixed: Option<Timestamp>,
}

impl Clock {
    /// A clock that stands still.
    pub fn fixed(at: Timestamp) -> Self {
        Self { fixed: Some(at) }
    }

    /// The system's clock, unless `POSSE_CLOCK` names a moment (`2026-01-02T03:04:05Z`).
    pub(super) fn from_env(env: &Env) -> Self {
        Self { fixed: env.get("POSSE_CLOCK").and_then(|text| text.parse().ok()) }
    }

    /// Now.
    #[allow(clippy::disallowed_methods)] // The door the lint guards.
    pub fn now(&self) -> Timestamp {
        self.fixed.unwrap_or_else(Timestamp::now)
    }

    /// Now as transcripts write it: UTC with milliseconds.
    pub fn stamp(&self) -> String {
        let now = self.now();
        let milliseconds = now.subsec_millisecond().rem_euclid(1000);
        format!("{}.{milliseconds:03}Z", now.strftime("%Y-%m-%dT%H:%M:%S"))
    }

    /// A moment as a person reads it: UTC, to the second.
    pub fn iso(&self, moment: std::time::SystemTime) -> String {
        Timestamp::try_from(moment)
            .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
            .unwrap_or_default()
    }

    /// Today, where the user is: year-month-day.
    pub fn today(&self) -> String {
        let zone = if self.fixed.is_some() { TimeZone::UTC } else { TimeZone::system() };
        self.now().to_zoned(zone).strftime("%Y-%m-%d").to_string()
    }

    /// A moment to measure from, on the clock that waits go by.
    pub fn start(&self) -> Stopwatch {
        Stopwatch { start: self.fixed.is_none().then(Instant::now) }
    }
}

/// Measures how long something took; under a clock that stands still, nothing takes any time.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    start: Option<Instant>,
}

impl Stopwatch {
    /// Whether it measures nothing.
    pub fn stands_still(&self) -> bool {
        self.start.is_none()
    }

    /// Milliseconds since the start.
    pub fn elapsed_ms(&self) -> u64 {
        self.start.map_or(0, |start| u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}
