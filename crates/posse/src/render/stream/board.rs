//! Which agents are at work, as far as the events of a run tell: for the lines that speak of all of them, and for the
//! figures at the end. Knows nothing of how a line looks.

use std::collections::BTreeMap;

use posse_core::event::{Delta, Fact, Refusal, TaskNews, What};
use posse_core::message::StopReason;
use posse_runtime::run::{Event, Mark};
use posse_runtime::world::{Clock, Stopwatch};
use serde_json::{Value, json};

/// The agents of a run.
#[derive(Default)]
pub(super) struct Board {
    at_work: BTreeMap<Box<str>, AtWork>,
    stats: Stats,
}

/// One agent at work.
struct AtWork {
    kind: Box<str>,
    task: String,
    background: bool,
    since: Stopwatch,
    tokens: u64,
    tools: u64,
}

/// What an agent has done so far.
pub(super) struct Progress {
    pub(super) tokens: u64,
    pub(super) tools: u64,
    pub(super) duration_ms: u64,
    pub(super) tool: Box<str>,
}

#[derive(Default)]
struct Stats {
    spawned: u64,
    asked_background: u64,
    asked_foreground: u64,
    unasked: u64,
    in_background: u64,
    max_depth: u32,
    by_agents: u64,
    completed: u64,
    failed: u64,
    killed: BTreeMap<&'static str, u64>,
    no_seat: u64,
    no_budget: u64,
    by_type: BTreeMap<Box<str>, u64>,
}

impl Board {
    /// Takes note of an event; says whether the agents in the background are others than before.
    pub(super) fn note(&mut self, event: &Event, clock: &Clock) -> bool {
        match (&event.from, &event.what) {
            (Some(mark), What::Delta(Delta::Task(news))) => self.news(mark, news, clock),
            (None, What::Delta(Delta::Task(TaskNews::Refused(why)))) => {
                match why {
                    Refusal::Concurrency => self.stats.no_seat += 1,
                    Refusal::Budget => self.stats.no_budget += 1,
                }
                false
            }
            (Some(mark), What::Fact(Fact::Replied(reply))) if reply.stop != StopReason::Aborted => {
                if let Some(one) = self.at_work.get_mut(&mark.agent) {
                    one.tokens = reply.usage.context() + reply.usage.output;
                }
                false
            }
            (_, What::Fact(_) | What::Delta(_)) => false,
        }
    }

    fn news(&mut self, mark: &Mark, news: &TaskNews, clock: &Clock) -> bool {
        match news {
            TaskNews::Started { background, asked, .. } => {
                self.stats.start(mark, *background, *asked);
                let one = AtWork {
                    kind: mark.kind.clone(),
                    task: mark.task.clone(),
                    background: *background,
                    since: clock.start(),
                    tokens: 0,
                    tools: 0,
                };
                self.at_work.insert(mark.agent.clone(), one);
                *background
            }
            TaskNews::SentToBackground => self
                .at_work
                .get_mut(&mark.agent)
                .is_some_and(|one| !std::mem::replace(&mut one.background, true)),
            TaskNews::Refused(_) => false,
            TaskNews::Ended { status, stopper, .. } => {
                self.stats.end(status, *stopper);
                self.at_work.remove(&mark.agent).is_some_and(|one| one.background)
            }
        }
    }

    /// An agent begins to use a tool: what it has done so far.
    pub(super) fn progress(&mut self, mark: &Mark, tool: &str) -> Option<Progress> {
        let one = self.at_work.get_mut(&mark.agent)?;
        one.tools += 1;
        let (tokens, tools, duration_ms) = (one.tokens, one.tools, one.since.elapsed_ms());
        Some(Progress { tokens, tools, duration_ms, tool: tool.into() })
    }

    /// Whether nobody waits for an agent.
    pub(super) fn is_in_background(&self, mark: &Mark) -> bool {
        self.at_work.get(&mark.agent).map_or(mark.in_background, |one| one.background)
    }

    /// The agents nobody waits for.
    pub(super) fn in_background(&self) -> Vec<Value> {
        let waiting = self.at_work.iter().filter(|(_, one)| one.background);
        let line = |(id, one)| {
            let one: &AtWork = one;
            json!({
                "task_id": id,
                "task_type": "local_agent",
                "description": one.task,
                "subagent_type": one.kind,
                "run_id": id,
            })
        };
        waiting.map(line).collect()
    }

    /// What became of all of them; nothing if there were none.
    pub(super) fn stats(&self) -> Option<Value> {
        let stats = &self.stats;
        let killed = |who: &str| stats.killed.get(who).copied().unwrap_or_default();
        (stats.spawned + stats.no_seat + stats.no_budget > 0).then(|| {
            json!({
                "spawned": stats.spawned,
                "requested": {
                    "background": stats.asked_background,
                    "foreground": stats.asked_foreground,
                    "unset": stats.unasked,
                },
                "started_in_background": stats.in_background,
                "max_depth": stats.max_depth,
                "spawned_by_subagents": stats.by_agents,
                "completed": stats.completed,
                "failed": stats.failed,
                "killed": { "parent": killed("parent"), "user": killed("user"), "system": killed("system") },
                "refused": { "depth_limit": 0, "concurrency_limit": stats.no_seat, "budget": stats.no_budget },
                "by_type": stats.by_type,
            })
        })
    }
}

impl Stats {
    fn start(&mut self, mark: &Mark, background: bool, asked: Option<bool>) {
        self.spawned += 1;
        match asked {
            Some(true) => self.asked_background += 1,
            Some(false) => self.asked_foreground += 1,
            None => self.unasked += 1,
        }
        self.in_background += u64::from(background);
        self.max_depth = self.max_depth.max(mark.depth);
        self.by_agents += u64::from(mark.depth > 1);
        *self.by_type.entry(mark.kind.clone()).or_default() += 1;
    }

    fn end(&mut self, status: &str, stopper: Option<&'static str>) {
        match status {
            "completed" => self.completed += 1,
            "killed" => *self.killed.entry(stopper.unwrap_or("system")).or_default() += 1,
            _ => self.failed += 1,
        }
    }
}
