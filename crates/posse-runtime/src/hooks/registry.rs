//! Which hooks there are, where each came from, and whom an occasion means.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posse_core::hooks::matcher::watched_names;
use posse_core::hooks::{HookEvent, HookGroup, HookHandler, HookKind, Matcher, Occasion};

use super::context::Services;

/// However long a hook at the end of a session asks for, somebody waits for the prompt.
const LONGEST_FAREWELL: Duration = Duration::from_secs(60);
/// What a callback of the host gets if it asks for nothing.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(60);

/// Where hooks were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookSource {
    /// How people know it: a file, an agent, a plugin.
    pub label: Box<str>,
    /// What a plugin's hooks are told besides.
    pub plugin: Option<PluginEnv>,
    /// The administrator's: nobody else can switch them off.
    pub is_managed: bool,
}

/// A plugin's own surroundings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginEnv {
    /// Where it is installed.
    pub root: PathBuf,
    /// Where it keeps its data.
    pub data: PathBuf,
    /// Its options, as configured.
    pub options: Vec<(Box<str>, Box<str>)>,
}

impl PluginEnv {
    /// What the hooks of a plugin are told.
    pub fn of(plugin: &crate::catalog::Plugin) -> Self {
        let options = plugin.variables.user_config.clone();
        Self { root: plugin.path.clone(), data: plugin.data.clone(), options }
    }
}

/// What settings allow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookPolicy {
    /// Only the administrator's hooks run (`disableAllHooks`, `allowManagedHooksOnly`).
    pub only_managed: bool,
    /// The hooks of others run, but what they allow does not count.
    pub only_managed_allow: bool,
    /// Where http hooks may send to (`allowedHttpHookUrls`); `*` stands for anything. `None` means anywhere.
    pub http_urls: Option<Vec<Box<str>>>,
    /// Which variables http hooks may use in headers (`httpHookAllowedEnvVars`), besides asking for them themselves.
    pub http_env: Option<Vec<Box<str>>>,
}

impl HookPolicy {
    /// Whether hooks that were written there run.
    pub(super) fn lets_run(&self, source: &HookSource) -> bool {
        source.is_managed || !self.only_managed
    }
}

/// A hook that the host of the session answers itself.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCallback {
    /// What the host calls it.
    pub id: Box<str>,
    /// When.
    pub event: HookEvent,
    /// For what.
    pub matcher: Option<Box<str>>,
    /// How long it may take; a minute unless told.
    pub timeout: Option<Duration>,
    /// If it fails, that is an objection.
    pub blocks_on_failure: bool,
}

/// Hooks of one reach: of the session, or of one run.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pub(super) entries: Vec<Entry>,
    /// One bit per event.
    present: u64,
    /// The same for the administrator's alone.
    managed: u64,
}

/// One handler, ready to be asked.
#[derive(Debug)]
pub(super) struct Entry {
    event: HookEvent,
    matcher: Matcher,
    /// The same as it was written.
    written: Box<str>,
    watches: Vec<String>,
    pub(super) work: Work,
    pub(super) label: String,
    pub(super) source: Arc<HookSource>,
    timeout: Option<Duration>,
    condition: Option<Box<str>>,
    /// Whether it ran, if it may only run once.
    spent: Option<AtomicBool>,
}

/// What is run.
#[derive(Debug)]
pub(super) enum Work {
    Configured(HookKind),
    Callback { id: Box<str>, blocks_on_failure: bool },
}

impl Roster {
    /// Adds the groups of a source, whether they may run now or not: a policy can change. A matcher that is no pattern takes nothing; its reader has said so.
    pub(super) fn add(&mut self, source: &Arc<HookSource>, groups: Vec<HookGroup>, in_subagent: bool) {
        for HookGroup { event, matcher, handlers } in groups {
            let (event, matcher) = match event {
                // What is written for `Stop` has no matcher; there is none to compare with the agent's type now.
                HookEvent::Stop if in_subagent => (HookEvent::SubagentStop, None),
                other => (other, matcher),
            };
            let Ok(ready) = Matcher::new(event, matcher.as_deref()) else { continue };
            for handler in handlers {
                self.push(Entry::new(event, ready.clone(), matcher.as_deref(), source, handler));
            }
        }
    }

    /// The callbacks of a host.
    pub(super) fn of_callbacks(callbacks: impl IntoIterator<Item = HookCallback>) -> Self {
        let mut roster = Self::default();
        for callback in callbacks {
            roster.add_callback(callback);
        }
        roster
    }

    fn add_callback(&mut self, callback: HookCallback) {
        let HookCallback { id, event, matcher, timeout, blocks_on_failure } = callback;
        let Ok(ready) = Matcher::new(event, matcher.as_deref()) else { return };
        self.push(Entry {
            event,
            matcher: ready,
            written: matcher.unwrap_or_default(),
            watches: Vec::new(),
            label: format!("callback {id}"),
            work: Work::Callback { id, blocks_on_failure },
            source: Arc::default(),
            timeout,
            condition: None,
            spent: None,
        });
    }

    fn push(&mut self, entry: Entry) {
        self.present |= bit(entry.event);
        if entry.source.is_managed {
            self.managed |= bit(entry.event);
        }
        self.entries.push(entry);
    }

    /// The callbacks: event, matcher, id.
    pub(super) fn callbacks(&self) -> impl Iterator<Item = (HookEvent, String, String)> {
        self.entries.iter().filter_map(|entry| match &entry.work {
            Work::Callback { id, .. } => Some((entry.event, entry.written.to_string(), id.to_string())),
            Work::Configured(_) => None,
        })
    }

    /// The callbacks as they were given.
    pub(super) fn given_callbacks(&self) -> impl Iterator<Item = HookCallback> {
        self.entries.iter().filter_map(|entry| match &entry.work {
            Work::Callback { id, blocks_on_failure } => Some(HookCallback {
                id: id.clone(),
                event: entry.event,
                matcher: (!entry.written.is_empty()).then(|| entry.written.clone()),
                timeout: entry.timeout,
                blocks_on_failure: *blocks_on_failure,
            }),
            Work::Configured(_) => None,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether anybody who may run under a policy cares about an event.
    pub(super) fn has(&self, event: HookEvent, policy: &HookPolicy) -> bool {
        let present = if policy.only_managed { self.managed } else { self.present };
        present & bit(event) != 0
    }

    pub(super) fn watched_names(&self, policy: &HookPolicy) -> impl Iterator<Item = String> {
        self.entries
            .iter()
            .filter(|entry| policy.lets_run(&entry.source))
            .flat_map(|entry| entry.watches.iter().cloned())
    }
}

fn bit(event: HookEvent) -> u64 {
    1 << event as u32
}

impl Entry {
    fn new(
        event: HookEvent,
        matcher: Matcher,
        written: Option<&str>,
        source: &Arc<HookSource>,
        handler: HookHandler,
    ) -> Self {
        let HookHandler { kind, timeout, condition, status_message: _, once } = handler;
        let watches = match (event, written) {
            (HookEvent::FileChanged, Some(written)) => {
                watched_names(written).into_iter().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        Self {
            event,
            matcher,
            written: written.unwrap_or_default().into(),
            watches,
            label: kind.label(),
            work: Work::Configured(kind),
            source: Arc::clone(source),
            timeout,
            condition,
            spent: once.then(AtomicBool::default),
        }
    }

    /// Whether an occasion is this one's business.
    pub(super) fn is_meant(&self, occasion: &Occasion, services: &Services) -> bool {
        if self.event != occasion.event() || !self.matcher.takes(occasion.subject()) {
            return false;
        }
        match (&self.condition, occasion.tool()) {
            (None, _) => true,
            (Some(rule), Some(tool)) => (services.condition)(rule, &tool.name, &tool.input),
            // A rule about tools where there is none never holds.
            (Some(_), None) => false,
        }
    }

    /// Whether two from different places would do the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same_work = match (&self.work, &other.work) {
            (Work::Configured(one), Work::Configured(other)) => one.does_the_same_as(other),
            (Work::Callback { id, .. }, Work::Callback { id: other, .. }) => id == other,
            (Work::Configured(_), Work::Callback { .. }) | (Work::Callback { .. }, Work::Configured(_)) => {
                false
            }
        };
        // The same command means another program in another plugin.
        same_work && self.condition == other.condition && self.source.plugin == other.source.plugin
    }

    /// Whether it may run now. Asking uses up the one time of those that have only one.
    pub(super) fn may_run(&self) -> bool {
        self.spent.as_ref().is_none_or(|spent| !spent.swap(true, Ordering::Relaxed))
    }

    /// How long it may take.
    pub(super) fn limit(&self, event: HookEvent) -> Duration {
        let limit = self.timeout.unwrap_or_else(|| match &self.work {
            Work::Configured(kind) => kind.default_timeout(event),
            Work::Callback { .. } => CALLBACK_TIMEOUT,
        });
        if event == HookEvent::SessionEnd { limit.min(LONGEST_FAREWELL) } else { limit }
    }
}
