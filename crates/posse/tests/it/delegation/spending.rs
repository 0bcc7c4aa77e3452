//! Thousands of trees of agents against a model that does whatever it can to overspend, over real HTTP: what it billed,
//! by its own books, never exceeds a limit of anybody, and whoever runs out hands back what it has.
//!
//! `POSSE_MANY=1` plays all of them.

mod adversary;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_core::event::Outcome;
use posse_core::hooks::occasion::EndReason;
use posse_core::message::{Message, Role};
use posse_runtime::catalog::CatalogOptions;
use posse_runtime::launch::{LaunchRequest, converse, launch};
use posse_runtime::world::{Env, Ids, World};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::adversary::{Adversary, Chance, Kind, Limits};
use super::*;

const FEW: u64 = 300;
const MANY: u64 = 10_000;
/// Trees that grow at the same time.
const AT_ONCE: usize = 16;

/// The limits of one tree, and of each kind of agent in it.
#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    root: Limits,
    kinds: Vec<Kind>,
    /// Whether the root's limits come as a flag rather than from settings.
    by_flag: bool,
}

impl Plan {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let models = ["haiku", "sonnet", "opus"];
        let kinds = (0..4)
            .map(|at| Kind {
                name: format!("k{at}"),
                model: models[chance.below(3) as usize],
                background: chance.one_in(3),
                limits: Limits {
                    tokens: chance.maybe(2, 8_000, 80_000),
                    microdollars: chance.maybe(3, 30_000, 400_000),
                    descendants: chance.maybe(3, 0, 3),
                    turns: chance.maybe(3, 1, 5),
                },
            })
            .collect();
        let by_flag = chance.one_in(2);
        // Something must end every tree.
        let tokens = (!by_flag).then(|| 20_000 + chance.below(280_000));
        let microdollars =
            by_flag.then(|| 60_000 + chance.below(900_000)).or(chance.maybe(3, 60_000, 900_000));
        let root = Limits {
            tokens,
            microdollars,
            descendants: chance.maybe(3, 0, 12).filter(|_| !by_flag),
            turns: chance.maybe(4, 1, 8),
        };
        Self { seed, root, kinds, by_flag }
    }

    fn agents(&self) -> String {
        let mut agents = serde_json::Map::new();
        for kind in &self.kinds {
            let mut agent = json!({
                "description": "Works", "prompt": "Be greedy.", "model": kind.model, "background": kind.background,
            });
            let budget = budget(&kind.limits);
            if budget != json!({}) {
                agent["budget"] = budget;
            }
            if let Some(turns) = kind.limits.turns {
                agent["maxTurns"] = json!(turns);
            }
            agents.insert(kind.name.clone(), agent);
        }
        Value::Object(agents).to_string()
    }

    #[allow(clippy::cast_precision_loss)] // A few cents.
    fn request(&self) -> LaunchRequest {
        let settings = (!self.by_flag).then(|| json!({ "budget": budget(&self.root) }).to_string());
        let usd = self.root.microdollars.filter(|_| self.by_flag).map(|micro| micro as f64 / 1e6);
        LaunchRequest {
            catalog: CatalogOptions {
                agents: Some(self.agents()),
                settings,
                headless: true,
                ..CatalogOptions::default()
            },
            model: Some("sonnet".into()),
            tools: Some("Agent,Read".into()),
            max_budget_usd: usd,
            max_turns: self.root.turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
            no_persistence: true,
            ..LaunchRequest::default()
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn budget(limits: &Limits) -> Value {
    let mut budget = json!({});
    if let Some(tokens) = limits.tokens {
        budget["tokens"] = json!(tokens);
    }
    if let Some(micro) = limits.microdollars {
        budget["usd"] = json!(micro as f64 / 1e6);
    }
    if let Some(descendants) = limits.descendants {
        budget["descendants"] = json!(descendants);
    }
    budget
}

/// Lets one tree grow to its end; returns what it did wrong, and how it ended.
async fn grow(plan: Plan, home: Arc<TestEnv>) -> (Vec<String>, String) {
    let adversary = Arc::new(Mutex::new(Adversary::new(plan.seed, plan.root, plan.kinds.clone())));
    let script = Arc::clone(&adversary);
    let server = FakeModel::answering(move |request| {
        script.lock().unwrap_or_else(PoisonError::into_inner).answer(request)
    });
    let mut vars = home.vars();
    for (name, value) in [
        ("ANTHROPIC_BASE_URL", server.url().as_str()),
        ("ANTHROPIC_API_KEY", "sk-ant-secret-key"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "1500"),
        ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "5"),
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "6000"),
        ("POSSE_CACHE_WAIT_MS", "20"),
    ] {
        vars.push((name.to_owned(), value.to_owned()));
    }
    let world = Arc::new(World {
        env: Env::new(vars),
        cwd: home.path("project"),
        ids: Arc::new(Ids::seeded(plan.seed)),
        ..World::default()
    });
    let mut wrong = Vec::new();
    let mut launched = match launch(&world, plan.request()).await {
        Ok(launched) => launched,
        Err(error) => return (vec![format!("not started: {error}")], String::new()),
    };
    let turn =
        converse(&mut launched.run, &launched.cx, Message::user("go [[0:main]]"), CancellationToken::new());
    let ended = tokio::time::timeout(Duration::from_secs(120), turn).await;
    launched.end(EndReason::Other).await;
    let outcome = match ended {
        Err(_) => {
            wrong.push("it does not end".into());
            None
        }
        Ok(Err(error)) => {
            wrong.push(error.to_string());
            None
        }
        Ok(Ok(ended)) => Some(ended.outcome),
    };
    let mut adversary = adversary.lock().unwrap_or_else(PoisonError::into_inner);
    let out = matches!(outcome, Some(Outcome::OutOfBudget(_) | Outcome::Exhausted { .. }));
    let said = launched.run.history().iter().rev().filter(|message| message.role == Role::Assistant);
    let words = said.map(Message::text).find(|text| !text.is_empty()).unwrap_or_default();
    adversary.check_main(out, &words);
    wrong.append(&mut adversary.wrong);
    let name = outcome.map_or_else(String::new, |outcome| {
        let text = format!("{outcome:?}");
        text.chars().take_while(|c| c.is_ascii_alphabetic()).collect()
    });
    (wrong, name)
}

#[test]
fn no_tree_spends_more_than_it_may_and_all_hand_back_what_they_have() {
    let (first, count) = seeds();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let home = Arc::new(env());
    let mut endings = std::collections::BTreeMap::<String, u64>::new();
    let mut failed: Vec<String> = Vec::new();
    runtime.block_on(async {
        let mut trees = JoinSet::new();
        let mut next = first;
        while next < first + count || !trees.is_empty() {
            while next < first + count && trees.len() < AT_ONCE {
                let (plan, home) = (Plan::new(next), Arc::clone(&home));
                trees.spawn(async move { (plan.clone(), grow(plan, home).await) });
                next += 1;
            }
            let Some(grown) = trees.join_next().await else { continue };
            let (plan, (wrong, ending)) = grown.expect("a tree");
            if !wrong.is_empty() {
                failed.push(format!("{wrong:#?} in {plan:?}"));
            }
            *endings.entry(ending).or_default() += 1;
        }
    });
    assert!(failed.is_empty(), "{} trees: {}", failed.len(), failed.join("\n"));
    // Trees that all end in the same way have tried nothing.
    for ending in ["Answer", "OutOfBudget", "Exhausted", "OutOfTurns"] {
        let enough = count == 1 || endings.get(ending).is_some_and(|times| *times > count / 100);
        assert!(enough, "{ending}: {endings:?}");
    }
}

/// Where to begin, and how many. `POSSE_TREE=<seed>` plays one alone.
#[allow(clippy::disallowed_methods)] // The switches of the suite, which posse itself never sees.
fn seeds() -> (u64, u64) {
    let set = |name: &str| std::env::var(name).ok();
    match set("POSSE_TREE").and_then(|seed| seed.parse().ok()) {
        Some(seed) => (seed, 1),
        None if set("POSSE_MANY").as_deref() == Some("1") => (0, MANY),
        None => (0, FEW),
    }
}
