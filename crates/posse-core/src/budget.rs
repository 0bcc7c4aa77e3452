//! Budgets that are reserved before they are spent.
//!
//! A tree of accounts, one for each agent: what one spends, all above it spend. A request reserves the most it can cost
//! on the whole path to the root, or it is not made; so no account ever goes below zero, however many agents work at
//! once and whatever a model does. Each account also keeps back what one last request costs, in which the agent hands
//! over what it has. Knows numbers only: whoever calls brings the time, makes the requests and stops them in time.

mod bound;
mod ledger;
mod plan;

use crate::message::Usage;
use crate::price::Price;

pub use bound::{HIDDEN_TOKENS, tokens_at_most};
pub use ledger::{Account, Ledger, NodeId, Reservation};
pub use plan::{Ask, Grant, HAND_BACK_ROOM, LEAST_ANSWER, LEAST_WORK, Plan};

/// What may be used up; nothing said is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Tokens read and written, cached ones too.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub microdollars: Option<u64>,
    /// Seconds at work.
    pub seconds: Option<u64>,
    /// Agents started, and started by those.
    pub descendants: Option<u32>,
}

impl Limits {
    /// The smaller of both, limit by limit.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            }
        }
        Self {
            tokens: least(self.tokens, other.tokens),
            microdollars: least(self.microdollars, other.microdollars),
            seconds: least(self.seconds, other.seconds),
            descendants: least(self.descendants, other.descendants),
        }
    }

    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// A few words for a person: `200000 tokens, $0.50, 600 seconds, 4 descendants`.
impl std::fmt::Display for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tokens, microdollars, seconds, descendants } = self;
        let parts: Vec<String> = [
            tokens.map(|limit| Which::Tokens.amount(limit)),
            microdollars.map(|limit| Which::Dollars.amount(limit)),
            seconds.map(|limit| Which::Seconds.amount(limit)),
            descendants.map(|limit| Which::Descendants.amount(limit.into())),
        ]
        .into_iter()
        .flatten()
        .collect();
        f.write_str(&if parts.is_empty() { "no limit".to_owned() } else { parts.join(", ") })
    }
}

/// Something that is spent: a request, or what it may come to at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens read and written.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub microdollars: u64,
}

impl Amount {
    /// What a request came to.
    pub fn of(usage: &Usage, price: &Price) -> Self {
        let tokens = usage.context().saturating_add(usage.output);
        Self { tokens, microdollars: price.microdollars(usage) }
    }

    /// Nothing at all.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            microdollars: self.microdollars.saturating_add(other.microdollars),
        }
    }

    fn less(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            microdollars: self.microdollars.saturating_sub(other.microdollars),
        }
    }

    fn at_most(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.min(other.tokens),
            microdollars: self.microdollars.min(other.microdollars),
        }
    }
}

/// What is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// Tokens.
    Tokens,
    /// Money; amounts of it are millionths of a dollar.
    Dollars,
    /// Time; amounts of it are seconds.
    Seconds,
    /// Agents.
    Descendants,
}

impl Which {
    /// The key in frontmatter and settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Dollars => "usd",
            Self::Seconds => "seconds",
            Self::Descendants => "descendants",
        }
    }

    /// All of them, in the order of the docs.
    pub const ALL: [Self; 4] = [Self::Tokens, Self::Dollars, Self::Seconds, Self::Descendants];

    /// An amount of it, for a person.
    pub fn amount(self, amount: u64) -> String {
        match self {
            Self::Dollars => dollars(amount),
            Self::Tokens | Self::Seconds | Self::Descendants => {
                let name = self.name();
                format!("{amount} {}", if amount == 1 { &name[..name.len() - 1] } else { name })
            }
        }
    }
}

/// A budget that does not reach: whose, of what, and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget of {} is used up ({} left)", which.amount(*limit), which.amount(*left))]
pub struct Exhausted {
    /// Whose.
    pub node: NodeId,
    /// Of what.
    pub which: Which,
    /// The limit.
    pub limit: u64,
    /// What is left: too little for what was asked.
    pub left: u64,
}

/// What is left on a path: the least of all its accounts. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub microdollars: Option<u64>,
    /// Milliseconds until everything must have stopped.
    pub milliseconds: Option<u64>,
    /// Agents that can still be started.
    pub descendants: Option<u32>,
}

/// Millionths of a dollar as a price tag: two decimals, more if it takes more to say.
pub fn dollars(microdollars: u64) -> String {
    let text = format!("${}.{:06}", microdollars / 1_000_000, microdollars % 1_000_000);
    let bare = text.trim_end_matches('0').len();
    let two_decimals = text.len() - 4;
    text[..bare.max(two_decimals)].to_owned()
}

/// Reads an amount of dollars (`0.50`, `3`) as millionths. What is less than one of them is cut off: a limit is not
/// rounded up.
pub fn parse_dollars(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = format!("{part:0<6}")[..6].parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(part)
}

/// An amount of dollars that came as a float, as millionths. `None` if it is no amount.
pub fn from_dollars(dollars: f64) -> Option<u64> {
    if !dollars.is_finite() || dollars < 0.0 {
        return None;
    }
    // By way of the text: 0.29 is meant as 0.29, not as the float just below it.
    parse_dollars(&format!("{dollars}"))
}

#[cfg(test)]
mod tests;
