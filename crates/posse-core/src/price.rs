//! What models cost and how much they can hold, by the family their name tells.
//!
//! Prices are per million tokens, in dollars, as published; a model nobody knows is priced like the middle one, because
//! a budget must never be fooled by a new name.

use crate::message::Usage;
use crate::model::Family;

/// What a model costs, per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Read fresh.
    pub input: f64,
    /// Written.
    pub output: f64,
}

/// Writing to the cache costs a quarter more than reading fresh, reading from it a tenth.
const CACHE_WRITE: f64 = 1.25;
const CACHE_READ: f64 = 0.1;
/// Dollars for one search of the provider's.
const WEB_SEARCH: f64 = 0.01;

impl Price {
    /// The price of a model.
    pub fn of(model: &str) -> Self {
        let price = |input, output| Self { input, output };
        let old_opus = ["opus-4-1", "opus-4-2", "opus-4@", "3-opus"].iter().any(|part| model.contains(part));
        match Family::of(model) {
            _ if model.starts_with("rehearsal") => price(0.0, 0.0),
            Some(Family::Haiku) => price(1.0, 5.0),
            Some(Family::Opus) if old_opus => price(15.0, 75.0),
            Some(Family::Opus) => price(5.0, 25.0),
            Some(Family::Fable) => price(15.0, 75.0),
            Some(Family::Sonnet) | None => price(3.0, 15.0),
        }
    }

    /// What a request cost.
    pub fn cost(&self, usage: &Usage) -> f64 {
        // Token counts are far below 2^52.
        #[allow(clippy::cast_precision_loss)]
        let millions = |tokens: u64| tokens as f64 / 1_000_000.0;
        #[allow(clippy::cast_precision_loss)]
        let searches = usage.web_searches as f64 * WEB_SEARCH;
        millions(usage.input) * self.input
            + millions(usage.cache_write) * self.input * CACHE_WRITE
            + millions(usage.cache_read) * self.input * CACHE_READ
            + millions(usage.output) * self.output
            + searches
    }
}

/// How many tokens a model can hold.
pub fn context_window(model: &str) -> u64 {
    if model.to_ascii_lowercase().ends_with("[1m]") { 1_000_000 } else { 200_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 1_000_000,
            cache_write: 1_000_000,
            web_searches: 2,
        };
        let cost = Price::of("claude-sonnet-4-5").cost(&usage);
        assert!((cost - (3.0 + 1.5 + 0.3 + 3.75 + 0.02)).abs() < 1e-9, "{cost}");
        assert_eq!(Price::of("rehearsal:x").cost(&Usage { web_searches: 0, ..usage }), 0.0);
        assert_eq!(Price::of("a-model-of-tomorrow"), Price::of("sonnet"));
    }

    #[test]
    fn windows_follow_the_suffix() {
        assert_eq!((context_window("sonnet"), context_window("claude-sonnet-4-5[1M]")), (200_000, 1_000_000));
    }
}
