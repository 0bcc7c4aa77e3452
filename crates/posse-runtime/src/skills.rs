//! The skills and commands of a session: where they lie, what they say when they are used, and when they have changed.
//!
//! A [`Shelf`] looks at the disk again whenever somebody is about to use it, so that an edited skill counts at once.
//! What a text asks for is done in the name of the run that reads it: commands as Bash calls, files as Read calls,
//! through the same judge. Nothing here decides what is allowed.

mod expand;
mod find;
mod typed;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use posse_core::definition::AgentDefinition;
use posse_core::diagnostic::{Diagnostic, Problem, Rule as Lint};
use posse_core::hooks::HookKind;
use posse_core::model::Names;
use posse_core::origin::Origin;
use posse_core::permission::{Behavior, Rule, RuleSource};
use posse_core::skill::{self, Budget, SkillDefinition, SkillRegistry};

use crate::catalog::Catalog;
use crate::hooks::{HookSource, SkillHooks};
use crate::tool::skills::{Fork, Loaded, Skills};
use crate::tool::{Terms, ToolCx};
use crate::world::World;

pub use find::{Places, PluginSkills};
pub use typed::Typist;

/// Who does a skill that forks, where it does not say.
const USUAL_AGENT: &str = "general-purpose";

/// What a session makes of skills.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// The session's id.
    pub session: Box<str>,
    /// The project's folder.
    pub project: PathBuf,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// Whether the project's own files may allow anything.
    pub is_trusted: bool,
    /// Whether a person is there to go on talking to.
    pub is_conversation: bool,
    /// What models are called on the wire; without it every model is the session's.
    pub names: Option<Names>,
    /// How much the model is told of skills.
    pub budget: Budget,
    /// What rules deny of skills: names, or `group:*`.
    pub denied: Vec<String>,
    /// The only skills the model is offered; nothing said is all.
    pub only: Option<Vec<String>>,
    /// Which setting keeps skills from running commands, if one does.
    pub commands_off: Option<String>,
}

impl Circumstances {
    /// The circumstances of a session under these settings.
    pub fn of(catalog: &Catalog, world: &World, session: &str, window: u64) -> Self {
        let off = |file: &&posse_core::settings::SettingsFile| {
            let root = file.root.as_ref();
            root.and_then(|root| root.get("disableSkillShellExecution")?.as_bool()) == Some(true)
        };
        let commands_off = catalog.settings_files.iter().find(off);
        Self {
            session: session.into(),
            project: catalog.layout.cwd.clone(),
            home: world.env.home().map(Path::to_owned),
            is_trusted: catalog.trust.trusted,
            is_conversation: false,
            names: Some(catalog.policy.model_names.clone()),
            budget: budget(catalog, world.env.number("SLASH_COMMAND_TOOL_CHAR_BUDGET"), window),
            denied: denied(catalog.policy.deny.iter().map(|rule| &*rule.text)),
            only: None,
            commands_off: commands_off.map(|file| file.file.display().to_string()),
        }
    }
}

/// What rules deny of skills.
pub fn denied<'r>(rules: impl Iterator<Item = &'r str>) -> Vec<String> {
    let inside = |rule: &'r str| rule.trim().strip_prefix("Skill(")?.strip_suffix(')').map(str::to_owned);
    rules.filter_map(inside).collect()
}

/// How much the model is told: as the environment says, else as settings say.
fn budget(catalog: &Catalog, set: Option<u64>, window: u64) -> Budget {
    let said = |key: &str| {
        let mut files = catalog.settings_files.iter().rev();
        files.find_map(|file| file.root.as_ref()?.get(key)?.scalar_text())
    };
    let usual = Budget::default();
    let description = said("skillListingMaxDescChars").and_then(|number| number.parse().ok());
    let fraction = said("skillListingBudgetFraction").and_then(|number| number.parse().ok());
    Budget {
        characters: share(set, fraction, window),
        description: description.filter(|most| *most > 0).unwrap_or(usual.description),
    }
}

/// A number of characters, or a share of a window, four characters to a token. Nothing is no answer.
fn share(set: Option<u64>, fraction: Option<f64>, window: u64) -> usize {
    let fraction = fraction.filter(|fraction| *fraction > 0.0 && *fraction <= 1.0).unwrap_or(0.01);
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // Windows are far smaller than 2^52, and the share is between nothing and all of it.
    let share = (window.saturating_mul(4) as f64 * fraction).round() as u64;
    let characters = usize::try_from(set.unwrap_or(share)).ok();
    characters.filter(|characters| *characters > 0).unwrap_or(skill::DEFAULT_BUDGET)
}

/// All skills of a session.
#[derive(Debug)]
pub struct Shelf {
    circumstances: Circumstances,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    places: Places,
    registry: Arc<SkillRegistry>,
    seal: find::Seal,
}

impl Shelf {
    /// Looks at all places.
    pub fn open(places: Places, circumstances: Circumstances) -> Arc<Self> {
        let seal = places.seal();
        let registry = Arc::new(places.read());
        Arc::new(Self { circumstances, state: Mutex::new(State { places, registry, seal }) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The skills as they were when somebody looked last.
    pub fn registry(&self) -> Arc<SkillRegistry> {
        Arc::clone(&self.lock().registry)
    }

    /// What somebody should know who begins a session: what does not count, and what is not read.
    pub fn notes(&self, folder: &Path) -> Vec<String> {
        let registry = self.registry();
        let mut notes = Vec::new();
        let waiting = if self.circumstances.is_trusted { Vec::new() } else { waiting_for_trust(&registry) };
        if !waiting.is_empty() {
            let skills = if waiting.len() == 1 { "skill" } else { "skills" };
            notes.push(format!(
                "ignored because {} is not trusted: allowed-tools and hooks of {} {skills} (posse trust makes them count)",
                folder.display(),
                waiting.len()
            ));
        }
        let is_out = |one: &&Diagnostic| one.rule == Lint::LinkLeadsOut;
        if let Some(first) = registry.diagnostics.iter().find(is_out) {
            let more = match registry.diagnostics.iter().filter(is_out).count() {
                1 => String::new(),
                count => format!(", and {} more", count - 1),
            };
            notes.push(format!("{}: {}{more} (posse lint shows where)", first.file.display(), first.text));
        }
        notes
    }

    /// Looks again; reads only if something has changed.
    pub fn look(&self) -> Arc<SkillRegistry> {
        let mut state = self.lock();
        let seal = state.places.seal();
        if state.seal != seal {
            state.registry = Arc::new(state.places.read());
            state.seal = seal;
        }
        Arc::clone(&state.registry)
    }

    /// Looks elsewhere from now on.
    pub fn look_at(&self, places: Places) -> Arc<SkillRegistry> {
        let (seal, registry) = (places.seal(), Arc::new(places.read()));
        *self.lock() = State { places, registry, seal };
        self.registry()
    }

    /// Whether there is anything for a model.
    pub fn has_any_for_models(&self) -> bool {
        self.registry().active.iter().any(SkillDefinition::is_for_models)
    }

    /// What a model is told of the skills there are, one line each, for one that knows these files.
    pub fn listing(&self, known: &[PathBuf]) -> String {
        let registry = self.registry();
        let seen = |skill: &SkillDefinition| {
            let base = self.base(skill);
            // A run knows files by their own names, whatever links lead to them.
            let real = base.canonicalize().unwrap_or(base);
            let mut below = known.iter().filter_map(|path| path.strip_prefix(&real).ok());
            below.any(|path| skill.is_about(&path.to_string_lossy()))
        };
        let mut offered = registry.for_models(seen);
        offered.retain(|skill| !self.is_denied(&skill.name));
        skill::listing(&offered, self.circumstances.budget)
    }

    /// Whether some skill is only told of when certain files are known.
    pub fn depends_on_files(&self) -> bool {
        self.registry().active.iter().any(|skill| !skill.paths.is_empty())
    }

    /// What the `paths` of a skill are relative to: the folder its `.claude` lies in, or the project.
    fn base(&self, skill: &SkillDefinition) -> PathBuf {
        let own = skill.source.root.ancestors().nth(2).filter(|_| skill.source.origin == Origin::Project);
        own.unwrap_or(&self.circumstances.project).to_owned()
    }

    /// Whether there is a list of skills, and this one is not on it.
    fn is_left_out(&self, name: &str) -> bool {
        let bare = name.rsplit(':').next().unwrap_or(name);
        let is_listed = |only: &Vec<String>| only.iter().any(|one| one == name || one == bare);
        self.circumstances.only.as_ref().is_some_and(|only| !is_listed(only))
    }

    /// Whether a rule keeps a skill from being used: what cannot be used is not offered.
    fn is_denied(&self, name: &str) -> bool {
        if self.is_left_out(name) {
            return true;
        }
        self.circumstances.denied.iter().any(|denied| match denied.strip_suffix(":*") {
            Some(group) => {
                name.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            }
            None => denied == name,
        })
    }

    /// What a model is told of the tool that loads skills.
    pub fn description(&self) -> String {
        skill::description(&self.listing(&[]))
    }

    /// Rules for using skills that give no leave for anything: loading a text needs nobody's yes.
    pub fn harmless(&self) -> Vec<Rule> {
        let registry = self.registry();
        let source = self.rule_source("a skill that allows nothing");
        let is_plain = |skill: &&SkillDefinition| {
            skill.is_for_models() && skill.grants_nothing() && !skill.name.contains(['*', '(', ')'])
        };
        let rule = |skill: &SkillDefinition| {
            Rule::parse(Behavior::Allow, &format!("Skill({})", skill.name), &source)
        };
        registry.active.iter().filter(is_plain).map(rule).collect()
    }

    fn rule_source(&self, label: &str) -> Arc<RuleSource> {
        let Circumstances { project, home, .. } = &self.circumstances;
        Arc::new(RuleSource {
            label: label.into(),
            base: project.clone(),
            cwd: project.clone(),
            home: home.clone(),
        })
    }

    fn grants(&self, skill: &SkillDefinition) -> Vec<Rule> {
        let source = self.rule_source(&format!("{} {}", skill.kind.word(), skill.name));
        let texts = skill.grants(self.circumstances.is_trusted);
        texts.iter().map(|text| Rule::parse(Behavior::Allow, text, &source)).collect()
    }

    /// A skill with everything in its text, for whoever uses it with these arguments.
    pub async fn use_skill(&self, skill: &SkillDefinition, arguments: &str, cx: &ToolCx) -> Loaded {
        let rules = self.grants(skill);
        let plugin = skill.source.plugin.as_deref().unwrap_or_default();
        let own = self.lock().places.variables(plugin).to_vec();
        let text = expand::Expansion { shelf: self, skill, rules: &rules, own, cx }.text(arguments).await;
        let model = skill.model.name();
        let wire = self.circumstances.names.as_ref().zip(model).map(|(names, model)| names.wire_id(model));
        let fork = skill.forks.then(|| Fork {
            agent: skill.agent.clone().unwrap_or_else(|| USUAL_AGENT.into()),
            background: skill.background.unwrap_or(self.circumstances.is_conversation && cx.agent.is_empty()),
            model: model.filter(|_| self.circumstances.names.is_some()).map(Into::into),
        });
        let terms = Terms { rules, model: wire, effort: skill.effort };
        Loaded { name: skill.name.clone(), text, terms, hooks: self.hooks_of(skill).map(Arc::new), fork }
    }

    /// The hooks that come with a skill. Those of the project count in a folder that is trusted.
    fn hooks_of(&self, skill: &SkillDefinition) -> Option<SkillHooks> {
        let mut groups = skill.brings(self.circumstances.is_trusted).to_vec();
        if groups.is_empty() {
            return None;
        }
        let plugin =
            skill.source.plugin.as_deref().and_then(|plugin| self.lock().places.plugin(plugin).cloned());
        let source = HookSource {
            label: format!("{} {}", skill.kind.word(), skill.name).into(),
            plugin: plugin.as_ref().map(|plugin| plugin.environment.clone()),
            is_managed: skill.source.origin == Origin::Managed
                || plugin.as_ref().is_some_and(|plugin| plugin.is_managed),
        };
        for handler in groups.iter_mut().flat_map(|group| &mut group.handlers) {
            if let HookKind::Command { command, .. } = &mut handler.kind {
                let folder = skill.folder.display().to_string();
                *command = command.replace("${CLAUDE_SKILL_DIR}", &folder).into();
            }
        }
        Some(SkillHooks { source: Arc::new(source), groups })
    }

    /// The texts of the skills that an agent starts with, and what to say of those that it does not get.
    pub async fn preload(&self, names: &[Box<str>], cx: &ToolCx) -> (Vec<String>, Vec<String>) {
        let registry = self.look();
        let (mut texts, mut missing) = (Vec::new(), Vec::new());
        for name in names {
            match registry.preload(name) {
                Ok(skill) => {
                    let loaded = self.use_skill(skill, "", cx).await;
                    loaded.hooks.iter().for_each(|hooks| cx.permit.take_hooks(hooks));
                    texts.push(loaded.text);
                }
                Err(why) => missing.push(why),
            }
        }
        (texts, missing)
    }
}

impl Skills for Shelf {
    fn load<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        cx: &'a ToolCx,
    ) -> BoxFuture<'a, Result<Loaded, String>> {
        Box::pin(async move {
            let registry = self.look();
            // Exactly this name: it is the one that was judged.
            let name = name.trim_start_matches('/');
            let Some(skill) = registry.get(name) else { return Err(unknown(name, &registry)) };
            if self.is_left_out(name) {
                return Err(format!("The skill {name} is not among those that this session may use."));
            }
            if !skill.is_for_models() {
                return Err(format!(
                    "The skill {name} is for the user only, who can type /{name} (disable-model-invocation)."
                ));
            }
            Ok(self.use_skill(skill, arguments, cx).await)
        })
    }
}

/// What a model reads that names a skill which is not there.
fn unknown(name: &str, registry: &SkillRegistry) -> String {
    use posse_core::skill::SkillLookup;
    let close = match registry.lookup(name) {
        SkillLookup::Found(skill) => Some(&*skill.name),
        SkillLookup::Ambiguous(names) => names.first().copied(),
        SkillLookup::Unknown(close) => close,
    };
    let close = close.filter(|close| registry.get(close).is_some_and(SkillDefinition::is_for_models));
    match close {
        Some(close) => format!("There is no skill called {name:?}. Did you mean {close:?}?"),
        None => format!("There is no skill called {name:?}."),
    }
}

/// The skills of the project that allow something once its folder is trusted: what each allows and runs, in words, and its
/// file.
pub fn waiting_for_trust(registry: &SkillRegistry) -> Vec<(String, Arc<Path>)> {
    let weight =
        |skill: &SkillDefinition, is_trusted| skill.grants(is_trusted).len() + skill.brings(is_trusted).len();
    let waits = |skill: &&SkillDefinition| weight(skill, false) < weight(skill, true);
    let words = |skill: &SkillDefinition| {
        let mut what = Vec::new();
        if !skill.grants(true).is_empty() {
            what.push(format!("allows {}", skill.grants(true).join(", ")));
        }
        if !skill.brings(true).is_empty() {
            let events: Vec<&str> = skill.brings(true).iter().map(|group| group.event.name()).collect();
            what.push(format!("has hooks at {}", events.join(", ")));
        }
        let mut text = format!("{}: {}", skill.name, what.join(" and "));
        let commands: Vec<String> = skill.commands().map(|command| format!("!`{command}`")).collect();
        if !commands.is_empty() {
            text.push_str(&format!("; runs {}", commands.join(", ")));
        }
        (text, Arc::clone(&skill.source.file))
    };
    registry.active.iter().filter(waits).map(words).collect()
}

/// What is wrong with the skills that agents start with.
pub fn check(agents: &[AgentDefinition], registry: &SkillRegistry) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for agent in agents.iter().filter(|agent| agent.source.origin != Origin::BuiltIn) {
        let span = agent.places.value(posse_core::definition::FieldId::Skills).unwrap_or_default();
        for (_, said) in registry.missing(agent.skills.iter().map(|name| &**name)) {
            let problem = Problem::at(Lint::UnknownSkill, span, said);
            found.push(agent.report(problem.hint("`posse skills` lists those there are")));
        }
    }
    found
}

#[cfg(test)]
mod tests;
