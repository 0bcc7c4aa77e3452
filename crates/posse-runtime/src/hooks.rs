//! Running hooks: who is meant by an occasion, all of them at once, and what comes of it.
//!
//! Knows how handlers are run and bounded: each has a deadline, each ends with the run, none can break it. What an
//! answer means is `posse_core::hooks`'; what is done about it is the caller's.

mod asked;
mod background;
mod command;
mod context;
mod http;
mod mailbox;
mod registry;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use posse_core::hooks::answer::Answer;
use posse_core::hooks::{Answered, HookEvent, HookGroup, HookKind, Merged, Occasion, merge};
use tokio::task::JoinSet;

use self::background::Background;
use self::registry::{Entry, Roster, Work};

pub use context::{Callbacks, HookCx, HookMail, Judge, McpCaller, Services, Verifier};
pub use mailbox::Mailbox;
pub use posse_core::event::{HookNotice, HookOutcome};
pub use registry::{HookCallback, HookPolicy, HookSource, PluginEnv};

/// How long after its deadline a handler may take to be ended. Then it is dropped, which ends it, too.
const PATIENCE: Duration = Duration::from_secs(15);

/// The hooks that one run sees: the session's, and its own. Cheap to clone; what is scoped to a run is gone when the
/// run's handle is.
#[derive(Clone, Debug)]
pub struct Hooks {
    /// The session's, which may be replaced while it runs.
    settled: Arc<RwLock<Settled>>,
    own: Option<Arc<Roster>>,
    /// Those of the skills that the run has used.
    used: Used,
    /// The host's, which it may replace while the session runs.
    host: Arc<RwLock<Arc<Roster>>>,
    background: Arc<Background>,
    clients: Arc<http::Clients>,
}

/// The hooks of skills, by where they were written. Clones share them.
#[derive(Clone, Debug, Default)]
struct Used(Arc<RwLock<Vec<UsedSkill>>>);

#[derive(Clone, Debug)]
struct UsedSkill {
    hooks: Arc<SkillHooks>,
    roster: Arc<Roster>,
}

impl Used {
    fn rosters(&self) -> Vec<Arc<Roster>> {
        let used = self.0.read().unwrap_or_else(PoisonError::into_inner);
        used.iter().map(|one| Arc::clone(&one.roster)).collect()
    }

    fn any(&self, is_it: impl Fn(&Roster) -> bool) -> bool {
        let used = self.0.read().unwrap_or_else(PoisonError::into_inner);
        used.iter().any(|one| is_it(&one.roster))
    }
}

/// What a skill brings along.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkillHooks {
    /// Where they were written.
    pub source: Arc<HookSource>,
    /// The hooks.
    pub groups: Vec<HookGroup>,
}

/// What settings say of hooks.
#[derive(Clone, Debug)]
struct Settled {
    session: Arc<Roster>,
    policy: Arc<HookPolicy>,
}

impl Default for Hooks {
    fn default() -> Self {
        Self::new(HookPolicy::default(), [], [])
    }
}

impl Hooks {
    /// The hooks of a session, source by source. Earlier sources come first in everything.
    pub fn new(
        policy: HookPolicy,
        groups: impl IntoIterator<Item = (Arc<HookSource>, Vec<HookGroup>)>,
        callbacks: impl IntoIterator<Item = HookCallback>,
    ) -> Self {
        let mut session = Roster::default();
        for (source, groups) in groups {
            session.add(&source, groups, false);
        }
        let host = Arc::new(RwLock::new(Arc::new(Roster::of_callbacks(callbacks))));
        Self {
            host,
            settled: Arc::new(RwLock::new(Settled { session: Arc::new(session), policy: Arc::new(policy) })),
            own: None,
            used: Used::default(),
            background: Arc::default(),
            clients: Arc::default(),
        }
    }

    fn settled(&self) -> Settled {
        self.settled.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn policy(&self) -> Arc<HookPolicy> {
        self.settled().policy
    }

    /// Takes over the hooks of settings from another, for every run of the session. Those of the host, of agents and of
    /// skills stay; whether they run is for the policy of the moment.
    pub fn resettle(&self, other: &Self) {
        *self.settled.write().unwrap_or_else(PoisonError::into_inner) = other.settled();
    }

    /// Replaces the callbacks of the host, for every run of the session; says whether they will be called.
    pub fn set_callbacks(&self, callbacks: impl IntoIterator<Item = HookCallback>) -> bool {
        let roster = Arc::new(Roster::of_callbacks(callbacks));
        *self.host.write().unwrap_or_else(PoisonError::into_inner) = roster;
        !self.policy().only_managed
    }

    /// The callbacks of the host that are called: event, matcher, and what the host calls them.
    pub fn callbacks(&self) -> Vec<(HookEvent, String, String)> {
        if self.policy().only_managed { Vec::new() } else { self.host().callbacks().collect() }
    }

    /// The callbacks as the host gave them, whether they are called or not.
    pub fn given_callbacks(&self) -> Vec<HookCallback> {
        self.host().given_callbacks().collect()
    }

    fn host(&self) -> Arc<Roster> {
        Arc::clone(&self.host.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What a sub-agent sees: the session's hooks and those of its own definition, until the handle is dropped. Its
    /// `Stop` is a `SubagentStop`. Of the hooks of the agent that started it, it sees nothing.
    pub fn scoped(&self, source: &Arc<HookSource>, groups: Vec<HookGroup>) -> Self {
        let mut own = Roster::default();
        own.add(source, groups, true);
        let own = (!own.is_empty()).then(|| Arc::new(own));
        Self { own, used: Used::default(), ..self.clone() }
    }

    /// What a fork sees: the session's hooks, and those of the skills that are in the conversation it goes on from.
    pub fn forked(&self, from: &Self) -> Self {
        let used = from.used.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self { own: None, used: Used(Arc::new(RwLock::new(used))), ..self.clone() }
    }

    /// Adds the hooks of a skill for as long as the run lasts. One that is used again has the hooks it has now, and what
    /// of them may only run once has run.
    pub fn take_up(&self, skill: &Arc<SkillHooks>, in_subagent: bool) {
        let mut used = self.used.0.write().unwrap_or_else(PoisonError::into_inner);
        if used.iter().any(|one| *one.hooks == **skill) {
            return;
        }
        used.retain(|one| one.hooks.source.label != skill.source.label);
        let mut roster = Roster::default();
        roster.add(&skill.source, skill.groups.clone(), in_subagent);
        if !roster.is_empty() {
            used.push(UsedSkill { hooks: Arc::clone(skill), roster: Arc::new(roster) });
        }
    }

    /// Whether nobody cares about an event. Costs nothing.
    pub fn is_empty_for(&self, event: HookEvent) -> bool {
        let Settled { session, policy } = self.settled();
        let hears = |roster: &Roster| roster.has(event, &policy);
        !hears(&session)
            && !hears(&self.host())
            && !self.own.as_deref().is_some_and(hears)
            && !self.used.any(hears)
    }

    /// The file names that `FileChanged` hooks ask to be watched.
    pub fn watched_names(&self) -> Vec<String> {
        let Settled { session, policy } = self.settled();
        let own = self.own.iter().flat_map(|own| own.watched_names(&policy));
        session.watched_names(&policy).chain(own).collect()
    }

    /// Runs everybody who is meant, side by side, and says what comes of it. Ends when the last of them has, at its
    /// deadline at the latest, or when the run is stopped. Dropping it ends them all.
    pub async fn fire(&self, occasion: &Occasion, cx: &HookCx) -> Merged {
        let event = occasion.event();
        if self.is_empty_for(event) {
            return merge(occasion, []);
        }
        let selected = self.select(occasion, cx);
        if selected.is_empty() {
            return merge(occasion, []);
        }
        let name: Arc<str> = occasion.name().into();
        let input = Arc::new(occasion.input(&cx.common));
        let mut running = JoinSet::new();
        let mut answers: Vec<Answered> = Vec::with_capacity(selected.len());
        for (place, (roster, index)) in selected.into_iter().enumerate() {
            let label = roster.entries[index].label.clone();
            answers.push(Answered { label, answer: Answer::error("it broke off") });
            let job = Job {
                roster,
                index,
                event,
                name: Arc::clone(&name),
                input: Arc::clone(&input),
                tool_use_id: occasion.tool().map(|tool| tool.id.clone()),
                hooks: self.clone(),
                cx: cx.clone(),
            };
            running.spawn(async move { (place, job.run().await) });
        }
        // A handler that panics leaves the answer it was given in advance.
        while let Some(ended) = running.join_next().await {
            if let Ok((place, answer)) = ended {
                answers[place].answer = answer;
            }
        }
        merge(occasion, answers)
    }

    /// Whether what a handler allows counts.
    fn may_allow(&self, entry: &Entry) -> bool {
        entry.source.is_managed || !self.policy().only_managed_allow
    }

    /// Ends what still runs in the background. The last act of a session.
    pub async fn shutdown(&self) {
        self.background.shutdown().await;
    }

    /// Who is meant, each once, in the order of the configuration.
    fn select(&self, occasion: &Occasion, cx: &HookCx) -> Vec<(Arc<Roster>, usize)> {
        let mut selected: Vec<(Arc<Roster>, usize)> = Vec::new();
        let (Settled { session, policy }, host, used) = (self.settled(), self.host(), self.used.rosters());
        let rosters = [&session, &host].into_iter().chain(&self.own).chain(&used);
        for roster in rosters.filter(|roster| roster.has(occasion.event(), &policy)) {
            let entries = roster.entries.iter().enumerate();
            for (index, entry) in entries.filter(|(_, entry)| policy.lets_run(&entry.source)) {
                let known = |(roster, index): &(Arc<Roster>, usize)| roster.entries[*index].is_same(entry);
                if entry.is_meant(occasion, &cx.services) && !selected.iter().any(known) && entry.may_run() {
                    selected.push((Arc::clone(roster), index));
                }
            }
        }
        selected
    }
}

/// One handler at one occasion.
struct Job {
    roster: Arc<Roster>,
    index: usize,
    event: HookEvent,
    name: Arc<str>,
    input: Arc<serde_json::Value>,
    tool_use_id: Option<String>,
    hooks: Hooks,
    cx: HookCx,
}

impl Job {
    fn entry(&self) -> &Entry {
        &self.roster.entries[self.index]
    }

    fn limit(&self) -> Duration {
        self.entry().limit(self.event)
    }

    async fn run(self) -> Answer {
        let (event, limit) = (self.event, self.limit());
        let may_allow = self.hooks.may_allow(self.entry());
        let spool = Arc::clone(&self.cx.spool);
        let world = Arc::clone(&self.cx.world);
        let mut answer = match tokio::time::timeout(limit + PATIENCE, self.answer()).await {
            Ok(answer) => answer,
            Err(_) => {
                let exit = posse_core::hooks::answer::Exit::TimedOut(limit);
                posse_core::hooks::answer::read(event, &exit, "", "")
            }
        };
        if !may_allow {
            answer.allow_nothing();
        }
        answer.cap(&mut |whole| context::keep(&spool, &world, whole));
        answer
    }

    async fn answer(self) -> Answer {
        match &self.entry().work {
            Work::Configured(HookKind::Command { .. }) => command::run(self).await,
            Work::Configured(HookKind::Http { .. }) => asked::noticed(&self, http::run(&self)).await,
            Work::Configured(HookKind::McpTool { .. } | HookKind::Prompt { .. } | HookKind::Agent { .. }) => {
                asked::noticed(&self, asked::run(&self)).await
            }
            Work::Callback { .. } => asked::callback(&self).await,
        }
    }
}

#[cfg(test)]
mod tests;
