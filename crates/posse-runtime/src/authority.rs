//! Who may do what in a session: the rules that count now, the folders that belong to it, and the way from a call to a
//! verdict.
//!
//! [`Authority`] is the session's: what somebody allows for longer than one call holds for every run of it. A [`Guard`]
//! is one run's. The decision itself is `posse_core::permission`; here are the people, models and files around it.

mod guard;
mod host;
mod judge;
mod listen;
mod permit;
mod real;
mod save;
mod territory;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::permission::{
    Behavior, Destination, Mode, Place, Rule, RuleSet, RuleSource, RuleText, Update,
};
use posse_core::settings::Layer;
use serde_json::{Map, Value};

use crate::tool::{Filter, Hidden};

pub use guard::{Authorized, Guard};
pub use listen::{RunHooks, Subagent, Wish};
pub use real::RealPaths;
pub use territory::{Claim, Territory};

/// Where changes that outlive the session are written.
#[derive(Clone, Debug, Default)]
pub struct SettingsPlaces {
    /// `~/.claude/settings.json`.
    pub user: Option<PathBuf>,
    /// `.claude/settings.json`.
    pub project: PathBuf,
    /// `.claude/settings.local.json`.
    pub local: PathBuf,
}

/// The rules and folders of a session.
#[derive(Debug)]
pub struct Authority {
    state: Mutex<State>,
    /// What rules that are added later are relative to.
    session: Arc<RuleSource>,
    places: SettingsPlaces,
}

#[derive(Debug)]
struct State {
    rules: Arc<RuleSet>,
    roots: Arc<[PathBuf]>,
    /// Whether only the administrator's rules count, so that nothing can be added.
    managed_only: bool,
    /// Whether the mode that asks nothing may be switched to.
    may_bypass: bool,
    /// Whether the mode in which a model judges may be switched to.
    may_auto: bool,
    /// What the host says of servers.
    host: host::Said,
}

/// What settings say after they have changed.
#[derive(Debug, Default)]
pub struct Reloaded {
    /// The rules of settings and flags.
    pub rules: Vec<Rule>,
    /// Whether only the administrator's rules count.
    pub managed_only: bool,
    /// Whether the mode that asks nothing is closed.
    pub bypass_disabled: bool,
    /// Whether the mode in which a model judges is.
    pub auto_disabled: bool,
}

/// What a session begins with.
#[derive(Debug, Default)]
pub struct Beginning {
    /// Rules that count.
    pub rules: Vec<Rule>,
    /// Working directories, absolute.
    pub roots: Vec<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// Where changes are written.
    pub places: SettingsPlaces,
    /// Whether only the administrator's rules count.
    pub managed_only: bool,
    /// Whether the mode that asks nothing may be switched to.
    pub may_bypass: bool,
    /// Whether the mode in which a model judges is closed.
    pub auto_disabled: bool,
}

/// What outlasts a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    rules: Vec<(Behavior, Box<str>)>,
    modes: Vec<(Box<str>, Mode)>,
}

/// What a change did besides changing rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The mode it asks for.
    pub mode: Option<Mode>,
    /// Folders that were added.
    pub added: Vec<PathBuf>,
    /// What could not be done, for the user.
    pub notes: Vec<String>,
}

impl Authority {
    /// The authority of a session that begins.
    pub fn new(beginning: Beginning) -> Arc<Self> {
        let Beginning { rules, roots, home, places, managed_only, may_bypass, auto_disabled } = beginning;
        let cwd = roots.first().cloned().unwrap_or_default();
        let session = Arc::new(RuleSource { label: "this session".into(), base: cwd.clone(), cwd, home });
        // Both names of a folder that is reached through a link are the run's.
        let mut all: Vec<PathBuf> = Vec::new();
        for root in roots {
            let real = real::follow(&root);
            for path in [root, real] {
                if !all.contains(&path) {
                    all.push(path);
                }
            }
        }
        let rules = Arc::new(RuleSet::new(rules));
        let host = host::Said::default();
        let may_auto = !auto_disabled;
        let state = State { rules, roots: all.into(), managed_only, may_bypass, may_auto, host };
        Arc::new(Self { state: Mutex::new(state), session, places })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules that count now.
    pub fn rules(&self) -> Arc<RuleSet> {
        Arc::clone(&self.lock().rules)
    }

    /// The working directories now.
    pub fn roots(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.lock().roots)
    }

    /// What searches pass over: what no tool may read.
    pub fn hidden(self: &Arc<Self>) -> Hidden {
        let authority = Arc::clone(self);
        Hidden::new(move || {
            let rules = authority.rules();
            rules.denies_some_reading().then(|| {
                let hides = move |path: &Path| {
                    let place = Place { named: path.to_owned(), real: real::follow(path) };
                    rules.denies_reading(&place)
                };
                Arc::new(hides) as Filter
            })
        })
    }

    /// Whether anybody but the administrator can allow something.
    pub fn takes_leave(&self) -> bool {
        !self.lock().managed_only
    }

    /// Whether the mode that asks nothing may be switched to.
    pub fn may_bypass(&self) -> bool {
        self.lock().may_bypass
    }

    /// Why a mode may not be switched to, if it may not.
    pub fn objection_to(&self, mode: Mode) -> Option<&'static str> {
        let state = self.lock();
        match mode {
            Mode::BypassPermissions if !state.may_bypass => {
                Some("bypassPermissions is not open here: start with --allow-dangerously-skip-permissions")
            }
            Mode::Auto if !state.may_auto => Some("auto is not open here: settings have `disableAutoMode`"),
            Mode::BypassPermissions
            | Mode::Auto
            | Mode::Default
            | Mode::AcceptEdits
            | Mode::Plan
            | Mode::DontAsk
            | Mode::Bubble => None,
        }
    }

    /// Takes over what settings say now. What was added in this session stays, unless only the administrator's rules
    /// count from now on; what a session may not do it does not get back.
    pub fn reload(&self, reloaded: Reloaded) {
        let Reloaded { mut rules, managed_only, bypass_disabled, auto_disabled } = reloaded;
        let mut state = self.lock();
        let own = state.rules.rules().iter().filter(|rule| rule.source == self.session);
        rules.extend(own.filter(|rule| !managed_only || rule.behavior != Behavior::Allow).cloned());
        state.rules = Arc::new(RuleSet::new(rules));
        state.managed_only = managed_only;
        state.may_bypass &= !bypass_disabled;
        state.may_auto &= !auto_disabled;
    }

    /// What a conversation that follows this one begins with: what was refused for the session, and what the host said
    /// of servers. What was allowed ends with it.
    pub fn lasting(&self) -> Lasting {
        let state = self.lock();
        let own = state.rules.rules().iter().filter(|rule| rule.source == self.session);
        let limits = own.filter(|rule| rule.behavior != Behavior::Allow);
        Lasting {
            rules: limits.map(|rule| (rule.behavior, rule.text.clone())).collect(),
            modes: state.host.modes(),
        }
    }

    /// Begins with what another had.
    pub fn inherit(&self, lasting: &Lasting) {
        let rules = lasting.rules.iter().map(|(behavior, text)| Rule::parse(*behavior, text, &self.session));
        let mut state = self.lock();
        state.rules = Arc::new(state.rules.with(rules));
        drop(state);
        lasting.modes.iter().for_each(|(server, mode)| self.set_server_mode(server, Some(*mode)));
    }

    /// Carries out a change. What is meant to last is written to its settings file as well.
    pub fn apply(&self, update: &Update, cwd: &Path) -> Applied {
        let mut applied = Applied::default();
        match update {
            Update::SetMode { mode, .. } => match self.objection_to(*mode) {
                Some(_) => {
                    applied.notes.push(format!("the mode {} is not open to this session", mode.name()));
                }
                None => applied.mode = Some(*mode),
            },
            Update::AddDirectories { directories, .. } => {
                let paths = directories.iter().map(|directory| cwd.join(directory));
                applied.added = paths.filter(|path| self.add_root(path)).collect();
            }
            Update::RemoveDirectories { directories, .. } => self.remove_roots(directories, cwd),
            Update::AddRules { rules, behavior, .. } => self.add_rules(rules, *behavior, &mut applied),
            Update::ReplaceRules { rules, behavior, .. } => {
                self.drop_rules(*behavior, |_| true);
                self.add_rules(rules, *behavior, &mut applied);
            }
            Update::RemoveRules { rules, behavior, .. } => {
                let texts: Vec<String> = rules.iter().map(ToString::to_string).collect();
                self.drop_rules(*behavior, |rule| texts.iter().any(|text| **text == *rule.text));
            }
        }
        if let Err(note) = self.save(update) {
            applied.notes.push(note);
        }
        applied
    }

    fn add_root(&self, path: &Path) -> bool {
        let real = real::follow(path);
        let mut state = self.lock();
        if !real.is_dir() || state.roots.contains(&real) {
            return false;
        }
        let mut roots = state.roots.to_vec();
        roots.push(real.clone());
        if real != path {
            roots.push(path.to_owned());
        }
        state.roots = roots.into();
        true
    }

    fn remove_roots(&self, directories: &[String], cwd: &Path) {
        let gone: Vec<PathBuf> = directories.iter().map(|directory| cwd.join(directory)).collect();
        let mut state = self.lock();
        // The folder the session began in stays: without it nothing could be done at all.
        let first = state.roots.first().cloned();
        let keeps = |root: &&PathBuf| Some(*root) == first.as_ref() || !gone.contains(root);
        state.roots = state.roots.iter().filter(keeps).cloned().collect();
    }

    fn add_rules(&self, rules: &[RuleText], behavior: Behavior, applied: &mut Applied) {
        if self.lock().managed_only && behavior == Behavior::Allow {
            applied.notes.push("only the administrator's rules count here; nothing was added".into());
            return;
        }
        let rules = rules.iter().map(|rule| Rule::parse(behavior, &rule.to_string(), &self.session));
        let mut state = self.lock();
        state.rules = Arc::new(state.rules.with(rules));
    }

    /// Only what was added in this session can be taken back: a file's rules are its owner's.
    fn drop_rules(&self, behavior: Behavior, drop: impl Fn(&Rule) -> bool) {
        let mut state = self.lock();
        let own = |rule: &Rule| rule.behavior == behavior && rule.source == self.session && drop(rule);
        state.rules = Arc::new(state.rules.without(own));
    }

    /// Merges keys into the settings file of a layer that is written to; `null` takes one out. Says which
    /// file that is.
    pub fn write_settings(&self, layer: Layer, patch: &Map<String, Value>) -> Result<PathBuf, String> {
        let file = match layer {
            Layer::User => self.places.user.as_deref().ok_or("there is no user folder to save to")?,
            Layer::Project => &self.places.project,
            Layer::Local => &self.places.local,
            Layer::Flag | Layer::Managed => return Err("only files of users and projects are written".into()),
        };
        save::merge(file, patch)?;
        Ok(file.to_owned())
    }

    fn save(&self, update: &Update) -> Result<(), String> {
        let file = match update.destination() {
            Destination::Session | Destination::CliArg => return Ok(()),
            Destination::UserSettings => {
                self.places.user.as_deref().ok_or("there is no user folder to save to")?
            }
            Destination::ProjectSettings => &self.places.project,
            Destination::LocalSettings => &self.places.local,
        };
        save::save(file, update)
    }
}

#[cfg(test)]
mod tests;
