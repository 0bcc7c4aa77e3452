//! Whole trees of agents at work, against models and tools that do their worst.

use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;

use super::*;

/// How a model treats what was reserved for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Uses all of it.
    Greedy,
    /// Uses more, whatever the limits on the request say.
    Lawless,
    /// Uses nothing.
    Idle,
    /// Never answers.
    Broken,
}

#[derive(Clone, Debug)]
enum Move {
    /// An agent starts another.
    Spawn { by: usize, limits: Limits },
    /// An agent asks for its next request.
    Ask { by: usize, grown: u64, wanted: u64 },
    /// Somebody's oldest request comes to its end.
    End { by: usize },
    /// A request on the side, such as a summary.
    Side { by: usize, tokens: u64 },
    /// Time passes.
    Wait(u64),
}

struct Agent {
    node: NodeId,
    /// What its last request is known to have read and written.
    context: u64,
    /// What is under way: the reservation and what it would have read and written.
    flying: Option<(Reservation, Amount, u64)>,
    /// Whether it was ever granted work.
    worked: bool,
    handed_back: u32,
    stopped: bool,
}

struct World {
    ledger: Ledger,
    agents: Vec<Agent>,
    model: Model,
    price: Price,
    now: u64,
    side: Vec<Reservation>,
    /// The moment up to which whoever works was told to be done.
    timed: bool,
}

impl World {
    fn new(limits: Limits, model: Model, price: Price, timed: bool) -> Self {
        let limits = if timed { limits } else { Limits { seconds: None, ..limits } };
        let ledger = Ledger::new("main", limits, 0);
        let mut world = Self { ledger, agents: Vec::new(), model, price, now: 0, side: Vec::new(), timed };
        world.join(Ledger::ROOT);
        world
    }

    fn join(&mut self, node: NodeId) {
        let agent = Agent { node, context: 0, flying: None, worked: false, handed_back: 0, stopped: false };
        self.agents.push(agent);
    }

    fn play(&mut self, step: &Move) -> Result<(), TestCaseError> {
        let count = self.agents.len();
        match *step {
            Move::Spawn { by, limits } => {
                let limits = if self.timed { limits } else { Limits { seconds: None, ..limits } };
                let parent = self.agents[by % count].node;
                if let Ok(node) = self.ledger.open(parent, "child", limits, self.now) {
                    self.join(node);
                }
            }
            Move::Ask { by, grown, wanted } => self.ask(by % count, grown, wanted)?,
            Move::End { by } => self.end(by % count),
            Move::Side { by, tokens } => {
                let node = self.agents[by % count].node;
                self.side.extend(self.ledger.reserve(node, amount(tokens, tokens), self.now));
            }
            Move::Wait(ms) => self.now += ms,
        }
        self.check()
    }

    fn ask(&mut self, by: usize, grown: u64, wanted: u64) -> Result<(), TestCaseError> {
        let agent = &self.agents[by];
        if agent.flying.is_some() || agent.handed_back > 0 || agent.stopped {
            return Ok(());
        }
        let (node, context) = (agent.node, agent.context);
        let input = context + grown;
        let ask =
            Ask { input_bound_tokens: input, wanted_output_tokens: wanted, price: self.price, searches: 0 };
        let plan = self.ledger.plan(node, &ask, self.now);
        let affords_one =
            self.ledger.clone().reserve(node, ask.at_most(wanted.min(LEAST_ANSWER)), self.now).is_ok();
        match self.ledger.grant(node, &ask, self.now) {
            Grant::Go { reservation, max_tokens, within_ms } => {
                prop_assert_eq!(plan, Plan::Go { max_tokens, within_ms });
                prop_assert!(max_tokens <= wanted && max_tokens >= wanted.min(LEAST_WORK));
                let after = input + max_tokens;
                self.agents[by].flying = Some((reservation, ask.at_most(max_tokens), after));
                self.agents[by].worked = true;
            }
            Grant::HandBack { reservation, max_tokens, max_input_tokens, .. } => {
                prop_assert!(max_tokens <= wanted && max_tokens >= wanted.min(LEAST_ANSWER));
                // Only what came since the last request ever has to be cut, and never all of it.
                prop_assert!(max_input_tokens >= input.min(context + HAND_BACK_ROOM));
                prop_assert!(max_input_tokens <= input);
                let bound = reservation.bound();
                self.agents[by].flying = Some((reservation, bound, max_input_tokens + max_tokens));
                self.agents[by].handed_back += 1;
            }
            Grant::Stop(cause) => {
                prop_assert_eq!(plan, Plan::Stop(cause));
                prop_assert!(!affords_one, "stopped with one request in hand: {:?}", cause);
                let in_time = cause.which != Which::Seconds;
                prop_assert!(
                    !(self.agents[by].worked && in_time),
                    "stopped without a hand-back: {:?}",
                    cause
                );
                self.agents[by].stopped = true;
            }
        }
        Ok(())
    }

    fn end(&mut self, by: usize) {
        if let Some(held) = self.side.pop() {
            let bound = held.bound();
            self.settle(held, bound);
        }
        let agent = &mut self.agents[by];
        let Some((held, bound, after)) = agent.flying.take() else { return };
        if self.model != Model::Broken {
            agent.context = after;
        }
        self.settle(held, bound);
        let agent = &self.agents[by];
        if agent.handed_back > 0 {
            self.ledger.close(agent.node, self.now);
        }
    }

    fn settle(&mut self, held: Reservation, bound: Amount) {
        match self.model {
            Model::Greedy => assert!(self.ledger.settle(held, bound).is_zero()),
            Model::Lawless => {
                let more = amount(bound.tokens * 3 + 7, bound.microdollars * 2 + 1);
                assert_eq!(self.ledger.settle(held, more), more.less(bound));
            }
            Model::Idle => assert!(self.ledger.settle(held, Amount::default()).is_zero()),
            Model::Broken => self.ledger.release(held),
        }
    }

    /// At every moment, on every account.
    fn check(&self) -> Result<(), TestCaseError> {
        for account in self.ledger.accounts() {
            let promised = account.spent.plus(account.reserved());
            let Limits { tokens, microdollars, seconds: _, descendants } = account.limits;
            prop_assert!(tokens.is_none_or(|limit| promised.tokens <= limit), "{:?}", account);
            prop_assert!(microdollars.is_none_or(|limit| promised.microdollars <= limit), "{:?}", account);
            prop_assert!(descendants.is_none_or(|limit| account.descendants <= limit), "{:?}", account);
        }
        Ok(())
    }

    /// Lets everybody finish: who has work goes on until there is nothing left.
    fn finish(&mut self) -> Result<(), TestCaseError> {
        for by in 0..self.agents.len() {
            self.end(by);
        }
        while !self.side.is_empty() {
            self.end(0);
        }
        for by in 0..self.agents.len() {
            let node = self.agents[by].node;
            self.ledger.close(node, self.now);
        }
        prop_assert_eq!(self.ledger.pending(), 0);
        prop_assert!(self.ledger.accounts().iter().all(|account| account.reserved().is_zero()), "a leak");
        self.check()
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    let tokens = proptest::option::of(0..60_000_u64);
    let microdollars = proptest::option::of(0..200_000_u64);
    let seconds = proptest::option::weighted(0.3, 0..100_u64);
    let descendants = proptest::option::weighted(0.3, 0..5_u32);
    (tokens, microdollars, seconds, descendants).prop_map(|(tokens, microdollars, seconds, descendants)| {
        Limits { tokens, microdollars, seconds, descendants }
    })
}

fn moves() -> impl Strategy<Value = Move> {
    let by = 0..50_usize;
    prop_oneof![
        2 => (by.clone(), limits()).prop_map(|(by, limits)| Move::Spawn { by, limits }),
        6 => (by.clone(), 0..9_000_u64, 0..9_000_u64)
            .prop_map(|(by, grown, wanted)| Move::Ask { by, grown, wanted }),
        5 => by.clone().prop_map(|by| Move::End { by }),
        1 => (by, 0..5_000_u64).prop_map(|(by, tokens)| Move::Side { by, tokens }),
        1 => (0..20_000_u64).prop_map(Move::Wait),
    ]
}

fn models() -> impl Strategy<Value = Model> {
    prop_oneof![Just(Model::Greedy), Just(Model::Lawless), Just(Model::Idle), Just(Model::Broken)]
}

fn prices() -> impl Strategy<Value = Price> {
    prop_oneof![Just("haiku"), Just("sonnet"), Just("opus"), Just("rehearsal")].prop_map(Price::of)
}

fn many(cases: u32) -> ProptestConfig {
    let rng_algorithm = RngAlgorithm::XorShift;
    ProptestConfig { cases, failure_persistence: None, rng_algorithm, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(many(4_000))]

    /// Any interleaving, any settlement: no account ever promises more than its limit, and nothing stays reserved.
    #[test]
    fn no_account_goes_below_zero(
        root in limits(), model in models(), price in prices(),
        timed: bool, steps in proptest::collection::vec(moves(), 1..60),
    ) {
        let mut world = World::new(root, model, price, timed);
        for step in &steps {
            world.play(step)?;
        }
        world.finish()?;
    }
}

proptest! {
    #![proptest_config(many(10_000))]

    /// Trees of agents that work until nothing is left: whoever worked hands back exactly once, and whoever did not
    /// never had enough for one request.
    #[test]
    fn whoever_runs_out_hands_back(
        root in (0..200_000_u64, 0..400_000_u64),
        price in prices(),
        lawless: bool,
        shape in proptest::collection::vec((0..8_usize, limits()), 0..8),
        order in proptest::collection::vec((0..8_usize, 0..9_000_u64, 1..9_000_u64), 10..80),
    ) {
        let root = Limits { tokens: Some(root.0), microdollars: Some(root.1), ..Limits::default() };
        let model = if lawless { Model::Lawless } else { Model::Greedy };
        let mut world = World::new(root, model, price, false);
        for (by, limits) in shape {
            world.play(&Move::Spawn { by, limits })?;
        }
        // Requests overlap: one ends when its agent, or another, gets its next move.
        for round in 0..400 {
            let (by, grown, wanted) = order[round % order.len()];
            world.play(&Move::Ask { by: by + round, grown, wanted })?;
            world.play(&Move::End { by: by + round / 2 })?;
        }
        for by in 0..world.agents.len() {
            // Every request reads what all before it read and wrote, so nobody goes on for ever.
            while world.agents[by].handed_back == 0 && !world.agents[by].stopped {
                world.play(&Move::End { by })?;
                world.play(&Move::Ask { by, grown: 100, wanted: 4_000 })?;
            }
        }
        for agent in &world.agents {
            prop_assert_eq!(agent.handed_back, u32::from(agent.worked || agent.handed_back > 0));
            prop_assert!(agent.handed_back == 1 || (agent.stopped && !agent.worked));
        }
        world.finish()?;
    }
}
