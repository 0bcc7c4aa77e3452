//! A purse: one agent's hand on the budget of its whole tree.
//!
//! Knows the clock and who holds what. Refuses to decide: that is [`posse_core::budget`]. What is held for a request
//! counts as spent in full if it is dropped without a word, because a request that was cut off may have been billed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::budget::{Amount, Ask, Exhausted, Grant, Ledger, Left, Limits, NodeId, Plan, Reservation};
use posse_core::message::Usage;
use posse_core::price::Price;

use crate::world::{Clock, Stopwatch};

/// One agent's account; clones are hands on the same.
#[derive(Clone, Debug)]
pub struct Purse {
    tree: Arc<Tree>,
    node: NodeId,
}

#[derive(Debug)]
struct Tree {
    ledger: Mutex<Ledger>,
    watch: Stopwatch,
}

impl Tree {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Every change is made whole before anything can panic.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.watch.elapsed_ms()
    }
}

/// Leave for a request, or the reason why there is none.
#[derive(Debug)]
#[must_use = "what it holds counts as spent when it is dropped"]
pub enum Permit {
    /// Make it.
    Go {
        /// What is held for it.
        held: Held,
        /// The limit on its answer.
        max_tokens: u64,
        /// How long it and the tools it calls may take.
        within: Option<Duration>,
    },
    /// Make it without tools: the agent hands back what it has, and ends.
    HandBack {
        /// What is held for it.
        held: Held,
        /// The limit on its answer.
        max_tokens: u64,
        /// The most it may read; what came since the last request must be cut to it.
        max_input_tokens: u64,
        /// How long it may take.
        within: Option<Duration>,
        /// Why it is the last.
        cause: Exhausted,
    },
    /// Make none.
    Stop(Exhausted),
}

/// An account as reports show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How deep below the purse that was asked.
    pub depth: usize,
    /// Whose.
    pub label: Box<str>,
    /// Its own limits.
    pub limits: Limits,
    /// What it and all below it spent.
    pub spent: Amount,
    /// What a provider used beyond what it was allowed.
    pub overrun: Amount,
    /// Time at work.
    pub worked_ms: u64,
    /// Agents below it, ever.
    pub descendants: u32,
    /// Whether it is still at work.
    pub is_open: bool,
}

impl Purse {
    /// The purse of a main agent: of the whole tree.
    pub fn new(label: impl Into<Box<str>>, limits: Limits, clock: &Clock) -> Self {
        let tree = Tree { ledger: Mutex::new(Ledger::new(label, limits, 0)), watch: clock.start() };
        Self { tree: Arc::new(tree), node: Ledger::ROOT }
    }

    /// A purse for an agent that this one starts.
    pub fn child(&self, label: impl Into<Box<str>>, limits: Limits) -> Result<Self, Exhausted> {
        let mut ledger = self.tree.ledger();
        let node = ledger.open(self.node, label, limits, self.tree.now())?;
        // Its time begins with its first request: until then it may be waiting for a seat.
        ledger.close(node, self.tree.now());
        drop(ledger);
        Ok(Self { tree: Arc::clone(&self.tree), node })
    }

    /// What [`Purse::ask`] would say now. Others may be quicker.
    pub fn plan(&self, ask: &Ask) -> Plan {
        self.tree.ledger().plan(self.node, ask, self.tree.now())
    }

    /// Asks for the agent's next request; what it needs is held from here on.
    pub fn ask(&self, ask: &Ask) -> Permit {
        let grant = self.tree.ledger().grant(self.node, ask, self.tree.now());
        // Where no time passes, none runs out.
        let timed = !self.tree.watch.stands_still();
        let within = |ms: Option<u64>| ms.filter(|_| timed).map(Duration::from_millis);
        match grant {
            Grant::Go { reservation, max_tokens, within_ms } => {
                Permit::Go { held: self.hold(reservation), max_tokens, within: within(within_ms) }
            }
            Grant::HandBack { reservation, max_tokens, max_input_tokens, within_ms, cause } => {
                let (held, within) = (self.hold(reservation), within(within_ms));
                Permit::HandBack { held, max_tokens, max_input_tokens, within, cause }
            }
            Grant::Stop(cause) => Permit::Stop(cause),
        }
    }

    /// Holds what a request on the side comes to at most: a summary, a search. The agent's hand-back stays safe.
    pub fn reserve(&self, bound: Amount) -> Result<Held, Exhausted> {
        let reservation = self.tree.ledger().reserve(self.node, bound, self.tree.now())?;
        Ok(self.hold(reservation))
    }

    /// The agent is done: what is kept for its hand-back is free again and its time stands still.
    pub fn close(&self) {
        self.tree.ledger().close(self.node, self.tree.now());
    }

    /// How long it may still work; nothing said is no limit.
    pub fn time_for_work(&self) -> Option<Duration> {
        let left = self.tree.ledger().work_ms(self.node, self.tree.now());
        left.filter(|_| !self.tree.watch.stands_still()).map(Duration::from_millis)
    }

    /// What it and all below it spent.
    pub fn spent(&self) -> Amount {
        self.tree.ledger().account(self.node).spent
    }

    /// What it and all below it took, whether they were allowed to or not; seconds at work; agents started.
    pub fn taken(&self) -> (Amount, u64, u32) {
        let (ledger, now) = (self.tree.ledger(), self.tree.now());
        let account = ledger.account(self.node);
        let amount = Amount {
            tokens: account.spent.tokens.saturating_add(account.overrun.tokens),
            microdollars: account.spent.microdollars.saturating_add(account.overrun.microdollars),
        };
        (amount, account.worked_ms(now) / 1_000, account.descendants)
    }

    /// What is left for it: the least on the way to the root.
    pub fn left(&self) -> Left {
        self.tree.ledger().left(self.node, self.tree.now())
    }

    /// Whether anything is limited here or above.
    pub fn is_limited(&self) -> bool {
        let Left { tokens, microdollars, milliseconds, descendants: _ } = self.left();
        tokens.is_some() || microdollars.is_some() || milliseconds.is_some()
    }

    /// Which account it is; the same number as in an [`Exhausted`].
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Whose account that is, for messages.
    pub fn label_of(&self, node: NodeId) -> Box<str> {
        self.tree.ledger().account(node).label.clone()
    }

    /// This account and all below it, each before those below it.
    pub fn report(&self) -> Vec<Entry> {
        let (ledger, now) = (self.tree.ledger(), self.tree.now());
        let mut entries = Vec::new();
        let mut next = vec![(self.node, 0)];
        while let Some((node, depth)) = next.pop() {
            let account = ledger.account(node);
            entries.push(Entry {
                depth,
                label: account.label.clone(),
                limits: account.limits,
                spent: account.spent,
                overrun: account.overrun,
                worked_ms: account.worked_ms(now),
                descendants: account.descendants,
                is_open: !account.is_closed(),
            });
            let mut below: Vec<_> = ledger.children(node).map(|child| (child, depth + 1)).collect();
            below.reverse();
            next.extend(below);
        }
        entries
    }

    fn hold(&self, reservation: Reservation) -> Held {
        Held { tree: Arc::clone(&self.tree), reservation: Some(reservation) }
    }
}

/// What is held for one request. Dropped without a word it counts as spent in full.
#[derive(Debug)]
#[must_use = "it counts as spent when it is dropped"]
pub struct Held {
    tree: Arc<Tree>,
    reservation: Option<Reservation>,
}

impl Held {
    /// The most the request may come to.
    pub fn bound(&self) -> Amount {
        self.reservation.as_ref().map_or_else(Amount::default, Reservation::bound)
    }

    /// The request came to its end. What it used beyond what was held is returned, to be told.
    pub fn settle(mut self, usage: &Usage, price: &Price) -> Amount {
        self.settle_as(Amount::of(usage, price))
    }

    /// The request was never made, or refused: it cost nothing.
    pub fn release(mut self) {
        if let Some(reservation) = self.reservation.take() {
            self.tree.ledger().release(reservation);
        }
    }

    fn settle_as(&mut self, actual: Amount) -> Amount {
        let Some(reservation) = self.reservation.take() else { return Amount::default() };
        self.tree.ledger().settle(reservation, actual)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let bound = self.bound();
        let _within = self.settle_as(bound);
    }
}

#[cfg(test)]
mod tests;
