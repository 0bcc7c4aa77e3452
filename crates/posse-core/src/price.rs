//! What models cost and how much they can hold, by the family their name tells.
//!
//! Prices are as published; a model nobody knows is priced like the middle one, because a budget must never be fooled
//! by a new name. They are whole numbers of nanodollars, in which even a cached token is one: sums of floats drift, and
//! a limit that drifts is none.

use crate::message::Usage;
use crate::model::Family;

/// What a model costs, in nanodollars per token: a dollar per million tokens is a thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Read fresh.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// Writing to the cache costs a quarter more than reading fresh, reading from it a tenth.
const fn cache_write(input: u64) -> u64 {
    input + input / 4
}
const fn cache_read(input: u64) -> u64 {
    input / 10
}
/// Nanodollars for one search of the provider's.
const WEB_SEARCH: u64 = 10_000_000;
/// Nanodollars in a microdollar, and in a dollar.
const MICRO: u128 = 1_000;
const DOLLAR: f64 = 1e9;

impl Price {
    /// The price of a model.
    pub fn of(model: &str) -> Self {
        let per_million = |input: u64, output: u64| Self { input: input * 1_000, output: output * 1_000 };
        let old_opus = ["opus-4-1", "opus-4-2", "opus-4@", "3-opus"].iter().any(|part| model.contains(part));
        match Family::of(model) {
            _ if model.starts_with("rehearsal") => per_million(0, 0),
            Some(Family::Haiku) => per_million(1, 5),
            Some(Family::Opus) if old_opus => per_million(15, 75),
            Some(Family::Opus) => per_million(5, 25),
            Some(Family::Fable) => per_million(15, 75),
            Some(Family::Sonnet) | None => per_million(3, 15),
        }
    }

    /// What a request cost, in dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        // Far below 2^52 for any bill one can pay.
        #[allow(clippy::cast_precision_loss)]
        let nanodollars = self.nanodollars(usage) as f64;
        nanodollars / DOLLAR
    }

    /// What a request cost, in millionths of a dollar. A begun one counts whole.
    pub fn microdollars(&self, usage: &Usage) -> u64 {
        u64::try_from(self.nanodollars(usage).div_ceil(MICRO)).unwrap_or(u64::MAX)
    }

    /// The most a request can cost, in millionths of a dollar: no usage with so much read, written and searched costs
    /// more. The dearest way to read is to write to the cache.
    pub fn at_most(&self, read: u64, written: u64, searches: u64) -> u64 {
        self.microdollars(&Usage {
            input: 0,
            output: written,
            cache_read: 0,
            cache_write: read,
            web_searches: searches,
        })
    }

    /// The dearer of two, for a request that may go to either model.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { input: self.input.max(other.input), output: self.output.max(other.output) }
    }

    fn nanodollars(&self, usage: &Usage) -> u128 {
        let times = |count: u64, price: u64| u128::from(count) * u128::from(price);
        times(usage.input, self.input)
            + times(usage.cache_write, cache_write(self.input))
            + times(usage.cache_read, cache_read(self.input))
            + times(usage.output, self.output)
            + times(usage.web_searches, WEB_SEARCH)
    }
}

/// How many tokens a model can hold.
pub fn context_window(model: &str) -> u64 {
    if model.to_ascii_lowercase().ends_with("[1m]") { 1_000_000 } else { 200_000 }
}

#[cfg(test)]
mod tests;
