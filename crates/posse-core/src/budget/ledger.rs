//! The accounts and what is reserved on them. Refuses to know what a request is: amounts only.

use super::{Amount, Exhausted, Left, Limits, Which};

/// The longest an agent gets to hand over what it has when its time is up.
const MOST_GRACE_MS: u64 = 30_000;
/// The part of its time it gets for that, if that is less.
const GRACE_SHARE: u64 = 10;

/// Names an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// Its place in [`Ledger::accounts`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The account of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Whose, for reports.
    pub label: Box<str>,
    /// The account above; none above the root.
    pub parent: Option<NodeId>,
    /// Its own limits.
    pub limits: Limits,
    /// What it and all below it spent.
    pub spent: Amount,
    /// What it and all below it spent beyond what was reserved: a provider's doing. It leaves less for what comes.
    pub overrun: Amount,
    /// Agents below it, ever.
    pub descendants: u32,
    /// What requests under way may cost and hand-backs will, here and below.
    pub(super) reserved: Amount,
    /// The part of it that is for its own hand-back.
    pub(super) kept: Option<Kept>,
    /// Requests of its own under way.
    pending: u32,
    /// Milliseconds at work, up to `since`.
    worked_ms: u64,
    /// At work since; `None` while it rests.
    since: Option<u64>,
}

/// What is put aside for an account's last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) amount: Amount,
    /// How many tokens that request may read.
    pub(super) input: u64,
}

impl Account {
    fn new(label: Box<str>, parent: Option<NodeId>, limits: Limits, now: u64) -> Self {
        Self {
            label,
            parent,
            limits,
            spent: Amount::default(),
            overrun: Amount::default(),
            descendants: 0,
            reserved: Amount::default(),
            kept: None,
            pending: 0,
            worked_ms: 0,
            since: Some(now),
        }
    }

    /// Milliseconds at work so far.
    pub fn worked_ms(&self, now: u64) -> u64 {
        let running = self.since.map_or(0, |since| now.saturating_sub(since));
        self.worked_ms.saturating_add(running)
    }

    /// What is promised and not yet spent.
    pub fn reserved(&self) -> Amount {
        self.reserved
    }

    /// Whether it rests.
    pub fn is_closed(&self) -> bool {
        self.since.is_none()
    }
}

/// What is set aside for one request. It is used up by [`Ledger::settle`] or [`Ledger::release`], once; if it is lost,
/// its amount stays reserved for good, which wastes and never overspends.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle it or release it: what is reserved is lost to everybody else"]
pub struct Reservation {
    node: NodeId,
    bound: Amount,
}

impl Reservation {
    /// Whose.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The most the request may cost.
    pub fn bound(&self) -> Amount {
        self.bound
    }
}

/// When an account must begin to hand over, and when everything must have stopped: milliseconds on the caller's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Deadlines {
    /// Whose limit it is, and the end.
    pub(super) hard: Option<(NodeId, u64)>,
    /// The last moment for work; later there is only time to hand over.
    pub(super) soft: Option<u64>,
    pub(super) grace: u64,
}

/// The accounts of a whole tree of agents.
///
/// Moments (`now`) are milliseconds of one clock of the caller's that does not go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    accounts: Vec<Account>,
}

impl Ledger {
    /// The account above all the others.
    pub const ROOT: NodeId = NodeId(0);

    /// A tree of one.
    pub fn new(label: impl Into<Box<str>>, limits: Limits, now: u64) -> Self {
        Self { accounts: vec![Account::new(label.into(), None, limits, now)] }
    }

    /// An account below another. Refused if somebody on the path may have no more agents below.
    pub fn open(
        &mut self,
        parent: NodeId,
        label: impl Into<Box<str>>,
        limits: Limits,
        now: u64,
    ) -> Result<NodeId, Exhausted> {
        for node in self.path(parent) {
            let account = self.account(node);
            if let Some(limit) = account.limits.descendants
                && account.descendants >= limit
            {
                return Err(Exhausted { node, which: Which::Descendants, limit: limit.into(), left: 0 });
            }
        }
        // Four billion agents do not fit into memory; if they did, the last would share an account.
        let id = NodeId(u32::try_from(self.accounts.len()).unwrap_or(u32::MAX));
        self.each_above(parent, |account| account.descendants = account.descendants.saturating_add(1));
        self.accounts.push(Account::new(label.into(), Some(parent), limits, now));
        Ok(id)
    }

    /// Sets an amount aside, on every account of the path or on none. What the account keeps for its hand-back stays
    /// untouched: this is for requests on the side. For the agent's own see [`Ledger::grant`].
    pub fn reserve(&mut self, node: NodeId, bound: Amount, now: u64) -> Result<Reservation, Exhausted> {
        if let Some(lacking) = self.lacking(node, bound, Amount::default(), now) {
            return Err(lacking);
        }
        Ok(self.set_aside(node, bound, now))
    }

    /// A request came to its end. What it cost beyond what was reserved is counted apart, and returned, to be told.
    pub fn settle(&mut self, reservation: Reservation, actual: Amount) -> Amount {
        let Reservation { node, bound } = reservation;
        let (counted, overrun) = (actual.at_most(bound), actual.less(bound));
        self.each_above(node, |account| {
            account.reserved = account.reserved.less(bound);
            account.spent = account.spent.plus(counted);
            account.overrun = account.overrun.plus(overrun);
        });
        self.done(node);
        overrun
    }

    /// A request cost nothing: it was never made, or refused.
    pub fn release(&mut self, reservation: Reservation) {
        let Reservation { node, bound } = reservation;
        self.each_above(node, |account| account.reserved = account.reserved.less(bound));
        self.done(node);
    }

    /// An agent is done: what it kept for its hand-back is free for others, and its time stands still. Asking for more
    /// wakes it.
    pub fn close(&mut self, node: NodeId, now: u64) {
        self.keep(node, None);
        if let Some(account) = self.accounts.get_mut(node.index()) {
            account.worked_ms = account.worked_ms(now);
            account.since = None;
        }
    }

    /// What is left for an account, its own hand-back included: the least along the path.
    pub fn left(&self, node: NodeId, now: u64) -> Left {
        let kept = self.kept(node);
        let mut left = Left::default();
        let least = |one: Option<u64>, other: u64| Some(one.map_or(other, |one| one.min(other)));
        for id in self.path(node) {
            let Limits { tokens, microdollars, seconds: _, descendants } = self.account(id).limits;
            let free = self.free(id, kept);
            if tokens.is_some() {
                left.tokens = least(left.tokens, free.tokens);
            }
            if microdollars.is_some() {
                left.microdollars = least(left.microdollars, free.microdollars);
            }
            if let Some(limit) = descendants {
                let free = limit.saturating_sub(self.account(id).descendants);
                left.descendants = Some(left.descendants.map_or(free, |one| one.min(free)));
            }
        }
        left.milliseconds = self.deadlines(node, now).hard.map(|(_, end)| end.saturating_sub(now));
        left
    }

    /// Milliseconds an account has left for work; what comes after is for handing over.
    pub fn work_ms(&self, node: NodeId, now: u64) -> Option<u64> {
        self.deadlines(node, now).soft.map(|soft| soft.saturating_sub(now))
    }

    /// An account.
    pub fn account(&self, node: NodeId) -> &Account {
        // Ids come from `open` alone; one of another ledger's counts on the root.
        self.accounts.get(node.index()).unwrap_or(&self.accounts[0])
    }

    /// All accounts, parents before children.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The accounts right below one, oldest first.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        (0..)
            .map(NodeId)
            .zip(&self.accounts)
            .filter(move |(_, account)| account.parent == Some(node))
            .map(|(id, _)| id)
    }

    /// Requests under way, in the whole tree.
    pub fn pending(&self) -> u32 {
        self.accounts.iter().map(|account| account.pending).sum()
    }

    /// From an account up to the root.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |node| self.account(*node).parent)
    }

    /// What is in the way of spending so much, if anything. `freed` is what would be given back for it.
    pub(super) fn lacking(&self, node: NodeId, wanted: Amount, freed: Amount, now: u64) -> Option<Exhausted> {
        if let Some((owner, end)) = self.deadlines(node, now).hard
            && now >= end
        {
            let limit = self.account(owner).limits.seconds.unwrap_or(0);
            return Some(Exhausted { node: owner, which: Which::Seconds, limit, left: 0 });
        }
        self.path(node).find_map(|id| {
            let Limits { tokens, microdollars, seconds: _, descendants: _ } = self.account(id).limits;
            let free = self.free(id, freed);
            let lacks = |which, limit: Option<u64>, left: u64, wanted: u64| {
                let limit = limit.filter(|_| wanted > left)?;
                Some(Exhausted { node: id, which, limit, left })
            };
            lacks(Which::Tokens, tokens, free.tokens, wanted.tokens)
                .or_else(|| lacks(Which::Dollars, microdollars, free.microdollars, wanted.microdollars))
        })
    }

    /// Reserves without asking.
    pub(super) fn set_aside(&mut self, node: NodeId, bound: Amount, now: u64) -> Reservation {
        self.each_above(node, |account| account.reserved = account.reserved.plus(bound));
        if let Some(account) = self.accounts.get_mut(node.index()) {
            account.pending = account.pending.saturating_add(1);
            account.since.get_or_insert(now);
        }
        Reservation { node, bound }
    }

    /// Replaces what an account keeps for its hand-back.
    pub(super) fn keep(&mut self, node: NodeId, kept: Option<Kept>) {
        let (old, new) = (self.kept(node), kept.map_or(Amount::default(), |kept| kept.amount));
        self.each_above(node, |account| account.reserved = account.reserved.less(old).plus(new));
        if let Some(account) = self.accounts.get_mut(node.index()) {
            account.kept = kept;
        }
    }

    /// What an account keeps for its hand-back.
    pub(super) fn kept(&self, node: NodeId) -> Amount {
        self.account(node).kept.map_or(Amount::default(), |kept| kept.amount)
    }

    /// When an account must hand over and stop. An account must be done before the one above it has to hand over, or
    /// what it hands over would be too late to be used.
    pub(super) fn deadlines(&self, node: NodeId, now: u64) -> Deadlines {
        let path: Vec<NodeId> = self.path(node).collect();
        let mut deadlines = Deadlines::default();
        for id in path.into_iter().rev() {
            let account = self.account(id);
            deadlines.hard = deadlines.soft.and_then(|soft| Some((deadlines.hard?.0, soft)));
            if let Some(limit) = account.limits.seconds {
                let limit_ms = limit.saturating_mul(1_000);
                let end = now.saturating_add(limit_ms.saturating_sub(account.worked_ms(now)));
                deadlines.grace = (limit_ms / GRACE_SHARE).min(MOST_GRACE_MS);
                if deadlines.hard.is_none_or(|(_, above)| end < above) {
                    deadlines.hard = Some((id, end));
                }
            }
            deadlines.soft = deadlines.hard.map(|(_, end)| end.saturating_sub(deadlines.grace));
        }
        deadlines
    }

    /// What is free on one account, if so much of what is reserved were given back. Without a limit it means nothing.
    pub(super) fn free(&self, node: NodeId, given_back: Amount) -> Amount {
        let account = self.account(node);
        let limits = Amount {
            tokens: account.limits.tokens.unwrap_or(u64::MAX),
            microdollars: account.limits.microdollars.unwrap_or(u64::MAX),
        };
        let free = limits.less(account.spent).less(account.reserved.less(given_back));
        // What a provider took beyond what it was allowed is gone, too; but what was put aside for a hand-back stays.
        let (after, kept) = (free.less(account.overrun), free.at_most(given_back));
        Amount {
            tokens: after.tokens.max(kept.tokens),
            microdollars: after.microdollars.max(kept.microdollars),
        }
    }

    fn done(&mut self, node: NodeId) {
        if let Some(account) = self.accounts.get_mut(node.index()) {
            account.pending = account.pending.saturating_sub(1);
        }
    }

    fn each_above(&mut self, node: NodeId, mut change: impl FnMut(&mut Account)) {
        let mut next = Some(node);
        while let Some(account) = next.and_then(|node| self.accounts.get_mut(node.index())) {
            change(account);
            next = account.parent;
        }
    }
}
