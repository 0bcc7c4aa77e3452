//! Whether an agent's next request is work, its last word, or one too many.

use super::ledger::{Deadlines, Kept};
use super::{Amount, Exhausted, Ledger, Left, NodeId, Reservation, Which};
use crate::price::Price;

/// The least a hand-back may say, in tokens.
pub const LEAST_ANSWER: u64 = 512;
/// The least a request that works may say: less would cut its calls in half.
pub const LEAST_WORK: u64 = 2_048;
/// What a hand-back may add to what the request before it read and wrote, in tokens: the answers of tools, cut to
/// this, and the words that ask for it.
pub const HAND_BACK_ROOM: u64 = 4_096;

/// A request somebody wants to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The most it can read, in tokens: what the last request is known to have read and written, and a token for each
    /// byte that came since. A request that the provider's own tools lengthen reads its whole window, once for each
    /// search and once more.
    pub input_bound_tokens: u64,
    /// What it would like to be able to say.
    pub wanted_output_tokens: u64,
    /// What it costs.
    pub price: Price,
    /// How often the provider may search for it.
    pub searches: u64,
}

impl Ask {
    fn bound(&self, read: u64, written: u64) -> Amount {
        Amount {
            tokens: read.saturating_add(written),
            microdollars: self.price.at_most(read, written, self.searches),
        }
    }

    /// What this request comes to at most with so long an answer.
    pub fn at_most(&self, max_tokens: u64) -> Amount {
        self.bound(self.input_bound_tokens, max_tokens)
    }

    /// What must stay after it: one more request, without tools, that reads all of it.
    fn kept_after(&self, max_tokens: u64) -> Kept {
        let input = self.input_bound_tokens.saturating_add(max_tokens).saturating_add(HAND_BACK_ROOM);
        Kept { amount: Self { searches: 0, ..*self }.bound(input, LEAST_ANSWER), input }
    }
}

/// What to do about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Make it.
    Go {
        /// The limit on its answer: no more than wanted.
        max_tokens: u64,
        /// Milliseconds after which it, and the tools it calls, must stop: what is left is for the hand-back.
        within_ms: Option<u64>,
    },
    /// Make it without tools, as the last one: the agent hands over what it has.
    HandBack {
        /// The limit on its answer.
        max_tokens: u64,
        /// The most it may read. What came since the last request must be cut to it; that is always possible within
        /// [`HAND_BACK_ROOM`].
        max_input_tokens: u64,
        /// Milliseconds after which it must stop.
        within_ms: Option<u64>,
        /// Why it is the last.
        cause: Exhausted,
    },
    /// Make no request.
    Stop(Exhausted),
}

/// A plan with what it needs set aside.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what it reserves must be settled or released"]
pub enum Grant {
    /// See [`Plan::Go`].
    Go {
        /// What is set aside for it.
        reservation: Reservation,
        /// The limit on its answer.
        max_tokens: u64,
        /// Milliseconds it has.
        within_ms: Option<u64>,
    },
    /// See [`Plan::HandBack`].
    HandBack {
        /// What is set aside for it.
        reservation: Reservation,
        /// The limit on its answer.
        max_tokens: u64,
        /// The most it may read.
        max_input_tokens: u64,
        /// Milliseconds it has.
        within_ms: Option<u64>,
        /// Why it is the last.
        cause: Exhausted,
    },
    /// See [`Plan::Stop`].
    Stop(Exhausted),
}

impl Ledger {
    /// Decides on a request of an agent's own. Work is granted if afterwards, whatever the request costs and whatever
    /// others do meanwhile, one request stays in which it can hand over what it has.
    pub fn plan(&self, node: NodeId, ask: &Ask, now: u64) -> Plan {
        self.work(node, ask, now).unwrap_or_else(|why_not| self.last_word(node, ask, now, why_not))
    }

    fn work(&self, node: NodeId, ask: &Ask, now: u64) -> Result<Plan, Exhausted> {
        let Deadlines { hard, soft, grace: _ } = self.deadlines(node, now);
        if let (Some((owner, end)), Some(soft)) = (hard, soft)
            && now >= soft
        {
            let limit = self.account(owner).limits.seconds.unwrap_or(0);
            let left = end.saturating_sub(now) / 1_000;
            return Err(Exhausted { node: owner, which: Which::Seconds, limit, left });
        }
        let with_rest = |max_tokens| ask.at_most(max_tokens).plus(ask.kept_after(max_tokens).amount);
        let least = ask.wanted_output_tokens.min(LEAST_WORK);
        if let Some(lacking) = self.lacking(node, with_rest(least), self.kept(node), now) {
            return Err(lacking);
        }
        let left = self.left(node, now);
        let most = largest(least, ask.wanted_output_tokens, |max| fits(&left, with_rest(max)));
        let within_ms = soft.map(|soft| soft.saturating_sub(now));
        Ok(Plan::Go { max_tokens: most.unwrap_or(least), within_ms })
    }

    fn last_word(&self, node: NodeId, ask: &Ask, now: u64, cause: Exhausted) -> Plan {
        // The provider's tools are off like all others.
        let ask = Ask { searches: 0, ..*ask };
        let least = ask.wanted_output_tokens.min(LEAST_ANSWER);
        let lacking = |read| self.lacking(node, ask.bound(read, least), self.kept(node), now);
        let all = ask.input_bound_tokens;
        let cut = self.account(node).kept.map_or(all, |kept| kept.input.min(all));
        // Before its first request there is nothing that could be cut.
        let max_input_tokens = if lacking(all).is_none() { all } else { cut };
        if let Some(lacking) = lacking(max_input_tokens) {
            return Plan::Stop(lacking);
        }
        let left = self.left(node, now);
        let affordable = |max| fits(&left, ask.bound(max_input_tokens, max));
        let max_tokens = largest(least, ask.wanted_output_tokens, affordable).unwrap_or(least);
        Plan::HandBack { max_tokens, max_input_tokens, within_ms: left.milliseconds, cause }
    }

    /// Decides, and sets aside what the decision needs: for work also what its hand-back will need.
    pub fn grant(&mut self, node: NodeId, ask: &Ask, now: u64) -> Grant {
        match self.plan(node, ask, now) {
            Plan::Go { max_tokens, within_ms } => {
                self.keep(node, Some(ask.kept_after(max_tokens)));
                let reservation = self.set_aside(node, ask.at_most(max_tokens), now);
                Grant::Go { reservation, max_tokens, within_ms }
            }
            Plan::HandBack { max_tokens, max_input_tokens, within_ms, cause } => {
                self.keep(node, None);
                let bound = Ask { searches: 0, ..*ask }.bound(max_input_tokens, max_tokens);
                let reservation = self.set_aside(node, bound, now);
                Grant::HandBack { reservation, max_tokens, max_input_tokens, within_ms, cause }
            }
            Plan::Stop(exhausted) => Grant::Stop(exhausted),
        }
    }
}

fn fits(left: &Left, amount: Amount) -> bool {
    let enough = |left: Option<u64>, wanted: u64| left.is_none_or(|left| wanted <= left);
    enough(left.tokens, amount.tokens) && enough(left.microdollars, amount.microdollars)
}

/// The largest number of a range that fits, if the smallest does. What does not fit must not fit when larger.
fn largest(least: u64, most: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (least, most);
    if !fits(low) {
        return None;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    Some(low)
}
