//! From disk to core values: agents, plugins and settings, wherever they may lie.
//!
//! A [`Catalog`] is immutable; a reload makes another. Loading reads and never writes, skips nothing without a
//! diagnostic, and fails only where going on would be wrong: a bad `--agents`, or a flag the administrator forbids.

mod agents;
pub mod fix;
mod layout;
mod parallel;
mod plugins;
mod settings;
pub(crate) mod walk;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::builtin;
use posse_core::definition::AgentDefinition;
use posse_core::diagnostic::{Diagnostic, Problem, Rule};
use posse_core::hooks::HookGroup;
use posse_core::mcp::McpServer;
use posse_core::model::Names;
use posse_core::origin::{Origin, Source, Standing};
use posse_core::permission::{Approval, Behavior, Mode};
use posse_core::registry::{Failed, Findings, Registry};
use posse_core::settings::{IgnoredKind, PermissionRule, SetIn, Settings, SettingsFile, hook_words};
use posse_core::spec::{self, DEFAULT_MAX_DEPTH, Parent, Policy, SetBy};
use posse_core::{definition, lint};

use crate::read;
use crate::trust::Trust;
use crate::world::{Env, World};

pub use layout::Layout;
pub use plugins::{Plugin, PluginFault, PluginServer};
pub use watch::{WatchError, Watcher};

/// Which settings layers count (`--setting-sources`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SettingSources {
    pub user: bool,
    pub project: bool,
    pub local: bool,
}

impl Default for SettingSources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

/// What the command line says about where to look.
#[derive(Clone, Debug, Default)]
pub struct CatalogOptions {
    /// `--add-dir`.
    pub add_dirs: Vec<PathBuf>,
    /// `--agents`: JSON, or the path of a JSON file.
    pub agents: Option<String>,
    /// `--plugin-dir`.
    pub plugin_dirs: Vec<PathBuf>,
    /// `--plugin-dir-no-mcp`: plugins whose servers of tools somebody else starts.
    pub plugin_dirs_without_servers: Vec<PathBuf>,
    /// `--settings`: JSON, or the path of a JSON file.
    pub settings: Option<String>,
    /// What the program at the other end has added to those since, as JSON.
    pub overlay: Option<String>,
    /// `--managed-settings`: what the program that started this lays down as an administrator would, as JSON.
    pub parent: Option<String>,
    /// `--project-config-root`: where the project's configuration lies, if not in the working directory.
    pub project_root: Option<PathBuf>,
    /// `--setting-sources`.
    pub sources: SettingSources,
    /// A folder that the program at the other end vouches for.
    pub vouched: Option<PathBuf>,
    /// `--bare`: no files of anybody's.
    pub bare: bool,
    /// `--safe-mode`: no custom agents of any scope.
    pub safe_mode: bool,
    /// Whether a program, not a person, is at the other end.
    pub headless: bool,
}

/// The settings files that count if they are there, weakest first.
pub fn settings_places(
    layout: &Layout,
    options: &CatalogOptions,
) -> Vec<(posse_core::settings::Layer, PathBuf)> {
    settings::places(layout, options, &mut Vec::new())
}

/// Why loading cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// `--agents` has a problem; every one is listed.
    #[error("--agents cannot be used")]
    Agents(Vec<Diagnostic>),
    /// `--settings` has a problem.
    #[error("--settings cannot be used")]
    Settings(Vec<Diagnostic>),
    /// `--managed-settings` has a problem.
    #[error("--managed-settings cannot be used: {0}")]
    Parent(String),
    /// Rules that cannot be read must not be taken for no rules.
    #[error("settings that may deny something cannot be read")]
    Unreadable(Vec<Diagnostic>),
    /// The administrator forbids a flag.
    #[error("{flag} is switched off by {}", by.display())]
    Forbidden {
        /// The flag.
        flag: &'static str,
        /// The settings file that says so.
        by: Arc<Path>,
    },
}

/// Everything there is to know about agents at one moment.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The agents.
    pub registry: Registry,
    /// The settings, merged: what counts.
    pub settings: Settings,
    /// The files they come from, weakest first.
    pub settings_files: Vec<SettingsFile>,
    /// Whether the folder is trusted.
    pub trust: Trust,
    /// What holds for every agent.
    pub policy: Policy,
    /// The plugins that were loaded.
    pub plugins: Vec<Plugin>,
    /// What is missing of plugins, and why.
    pub plugin_faults: Vec<PluginFault>,
    /// Where was looked.
    pub layout: Layout,
    /// The main agent, as the parent of others.
    pub main: Parent,
    /// Settings that may hold rules and cannot be read: nothing may be started while there are any.
    pub unreadable: Vec<Diagnostic>,
}

impl Catalog {
    /// Reads everything.
    pub fn load(world: &World, options: &CatalogOptions) -> Result<Self, LoadError> {
        let layout = Layout::find(world, options);
        let mut findings = Findings::default();
        let (mut trust, problem) = Trust::find(layout.project_top(), &world.env);
        findings.diagnostics.extend(problem);
        trust.trusted |= options.vouched.as_ref().is_some_and(|folder| trust.folder.starts_with(folder));
        let settings::Loaded { files, settings, unreadable } =
            settings::load(&layout, world, options, &trust, &mut findings)?;
        forbid_sideloading(&settings, options)?;
        // Settings may set switches too; the process's own environment wins.
        let env = world.env.with_defaults(settings.env.iter().map(|(name, set)| (&**name, &*set.value)));
        let switches = Switches::read(&env, options);
        findings.definitions.extend(builtin::agents(switches.builtins));
        let mut loaded = plugins::LoadedPlugins::default();
        if !switches.safe {
            findings_of_folders(&layout, &trust, &settings, switches, &mut findings);
            if !switches.bare {
                loaded = plugins::load(&layout, world, options, &settings, &mut findings);
                settings::agents(&files, &settings, &mut findings);
            }
            flag_agents(world, options, &mut findings)?;
        }
        let policy = policy(&settings, &trust, &env);
        let main = main_agent(&settings, &policy, &env);
        Ok(Self {
            registry: Registry::build(findings),
            settings,
            settings_files: files,
            trust,
            policy,
            plugins: loaded.plugins,
            plugin_faults: loaded.faults,
            layout,
            main,
            unreadable,
        })
    }

    /// Whether something may be started with these settings.
    pub fn check(&self) -> Result<(), LoadError> {
        if self.unreadable.is_empty() { Ok(()) } else { Err(LoadError::Unreadable(self.unreadable.clone())) }
    }

    /// The permission rules that count here.
    pub fn effective_rules(&self) -> &[PermissionRule] {
        &self.settings.rules
    }

    /// The hooks of settings that run here, each with who set it.
    pub fn effective_hooks(&self) -> &[(HookGroup, SetIn)] {
        &self.settings.hooks
    }

    /// What does not count because the folder is not trusted: one line, or none.
    pub fn ignored_for_trust(&self) -> Option<String> {
        let mut kinds: Vec<String> = IgnoredKind::ALL
            .into_iter()
            .map(|kind| (kind, self.settings.waiting_for_trust().filter(|one| one.kind == kind).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| kind.counted(count))
            .collect();
        if !self.trust.trusted {
            let (hooks, servers) = self.agents_waiting_for_trust();
            let counted = |items: Vec<String>, one: &str, many: &str| match items.len() {
                0 => None,
                1 => Some(format!("1 {one}")),
                count => Some(format!("{count} {many}")),
            };
            kinds.extend(counted(hooks, "hook of an agent", "hooks of agents"));
            kinds.extend(counted(servers, "MCP server of an agent", "MCP servers of agents"));
        }
        let folder = self.trust.folder.display();
        let list = kinds.join(", ");
        (!kinds.is_empty()).then(|| {
            format!("ignored because {folder} is not trusted: {list} (posse trust makes them count)")
        })
    }

    /// What is wrong with settings files and the record of trust, in order.
    pub fn settings_problems(&self) -> Vec<Diagnostic> {
        let record = self.trust.by.as_deref();
        let mut files: Vec<&Path> =
            self.settings_files.iter().map(|file| &*file.file).chain(record).collect();
        files.extend(self.unreadable.iter().map(|one| &*one.file));
        let concerns = |one: &&Diagnostic| files.contains(&&*one.file);
        let mut found: Vec<Diagnostic> = self.registry.diagnostics.iter().filter(concerns).cloned().collect();
        found.extend(self.unreadable.iter().filter(|one| !self.registry.diagnostics.contains(one)).cloned());
        found.sort_by(|a, b| (&a.file, a.location, a.rule).cmp(&(&b.file, b.location, b.rule)));
        found
    }

    /// The hooks and MCP servers that the project's agents bring along, in words.
    pub fn agents_waiting_for_trust(&self) -> (Vec<String>, Vec<String>) {
        let agents = self.registry.active.iter().filter(|agent| agent.source.origin == Origin::Project);
        let (mut hooks, mut servers) = (Vec::new(), Vec::new());
        for agent in agents {
            for group in &agent.hooks {
                let words = |handler| format!("{}, {}", agent.name, hook_words(group, handler));
                hooks.extend(group.handlers.iter().map(words));
            }
            for server in &agent.mcp_servers {
                if let McpServer::Inline { name, config } = server {
                    servers.push(format!("{}, {name}: {}", agent.name, config.words()));
                }
            }
        }
        (hooks, servers)
    }

    /// Problems that only show when all agents are looked at together, and those of single files, in order.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = self.registry.diagnostics.clone();
        all.extend(self.registry.failed.iter().flat_map(|failed| failed.diagnostics.clone()));
        all.extend(lint::check(&self.registry, &self.policy, &self.main));
        all.sort_by(|a, b| (&a.file, a.location, a.rule).cmp(&(&b.file, b.location, b.rule)));
        all
    }

    /// Reads a plugin's folder alone, as `--plugin-dir` would.
    pub fn of_plugin(world: &World, options: &CatalogOptions, folder: &Path) -> Result<Self, LoadError> {
        let mut catalog = Self::load(world, &CatalogOptions { bare: true, ..options.clone() })?;
        let definitions = std::mem::take(&mut catalog.registry.active);
        let mut findings = Findings { definitions, ..Findings::default() };
        let plugin = plugins::load_one(folder, &catalog.layout, &catalog.settings, &mut findings);
        catalog.plugins.extend(plugin);
        catalog.registry = Registry::build(findings);
        Ok(catalog)
    }

    /// Reads single files and folders as if they were a project's, for the lint.
    pub fn of_paths(world: &World, options: &CatalogOptions, paths: &[PathBuf]) -> Result<Self, LoadError> {
        let mut catalog = Self::load(world, &CatalogOptions { bare: true, ..options.clone() })?;
        let definitions = std::mem::take(&mut catalog.registry.active);
        let mut findings = Findings { definitions, ..Findings::default() };
        for path in paths {
            let path = world.cwd.join(path);
            let bare_plugin = crate::plugins::has_parts(&path) && !path.join(".claude").exists();
            if crate::plugins::is_plugin(&path) || bare_plugin {
                let plugin = plugins::load_one(&path, &catalog.layout, &catalog.settings, &mut findings);
                catalog.plugins.extend(plugin);
            } else {
                agents::scan(&path, (Origin::Project, Standing::Folder(0)), None, &mut findings);
            }
        }
        catalog.registry = Registry::build(findings);
        Ok(catalog)
    }
}

/// The switches of the environment that decide what is loaded.
#[derive(Clone, Copy)]
struct Switches {
    builtins: builtin::Wanted,
    bare: bool,
    safe: bool,
}

impl Switches {
    fn read(env: &Env, options: &CatalogOptions) -> Self {
        let driven = env.get("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entry| entry.starts_with("sdk"));
        Self {
            builtins: builtin::Wanted {
                none: options.headless && env.is_on("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS"),
                no_explore_plan: env.is_on("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS"),
                no_guide: driven,
            },
            bare: options.bare || env.is_on("CLAUDE_CODE_SIMPLE"),
            safe: options.safe_mode || env.is_on("CLAUDE_CODE_SAFE_MODE"),
        }
    }
}

fn forbid_sideloading(settings: &Settings, options: &CatalogOptions) -> Result<(), LoadError> {
    let Some(by) = &settings.no_sideload else { return Ok(()) };
    let flag = if options.agents.is_some() {
        "--agents"
    } else if !options.plugin_dirs.is_empty() {
        "--plugin-dir"
    } else if !options.plugin_dirs_without_servers.is_empty() {
        "--plugin-dir-no-mcp"
    } else {
        return Ok(());
    };
    Err(LoadError::Forbidden { flag, by: Arc::clone(&by.file) })
}

/// The agents folders of user, project and administrator.
fn findings_of_folders(
    layout: &Layout,
    trust: &Trust,
    settings: &Settings,
    switches: Switches,
    findings: &mut Findings,
) {
    for folder in &layout.agent_folders {
        let managed = folder.origin == Origin::Managed;
        if switches.bare && !managed {
            continue;
        }
        if settings.plugin_only.agents && !managed {
            let by =
                settings.plugin_only_by.as_ref().map(|by| by.file.display().to_string()).unwrap_or_default();
            if folder.path.is_dir() {
                let text = format!("not read: {by} allows agents only from plugins and administrators");
                let file: Arc<Path> = folder.path.as_path().into();
                findings.diagnostics.push(Diagnostic::of_file(Rule::SourceDisabled, &file, None, text));
            }
            continue;
        }
        // People share agents by links. What nobody vouches for must not reach for files outside of it with them.
        let fence = layout.fence(folder).filter(|_| !trust.trusted);
        agents::scan(&folder.path, (folder.origin, folder.standing), fence.as_ref(), findings);
    }
}

/// `--agents`: one bad entry refuses the start, and every problem is listed.
fn flag_agents(world: &World, options: &CatalogOptions, findings: &mut Findings) -> Result<(), LoadError> {
    let Some(given) = &options.agents else { return Ok(()) };
    let (file, text) = read::inline_or_file(given, "<--agents>", &world.cwd).map_err(LoadError::Agents)?;
    let source = Source {
        origin: Origin::Flag,
        standing: Standing::Folder(0),
        root: Arc::clone(&file),
        file,
        plugin: None,
    };
    let agents = definition::parse_json_agents(&text, &source).map_err(LoadError::Agents)?;
    if !agents.failed.is_empty() {
        return Err(LoadError::Agents(
            agents.failed.into_iter().flat_map(|(_, problems)| problems).collect(),
        ));
    }
    findings.definitions.extend(agents.agents);
    findings.diagnostics.extend(agents.diagnostics);
    Ok(())
}

fn policy(settings: &Settings, trust: &Trust, env: &Env) -> Policy {
    let family = |variable: &str| env.get(variable).map(Into::into);
    let subagent_model =
        env.get("CLAUDE_CODE_SUBAGENT_MODEL").filter(|model| !model.eq_ignore_ascii_case("inherit"));
    let depth = env.number("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH").and_then(|depth| depth.try_into().ok());
    let memory_off = env
        .is_on("CLAUDE_CODE_DISABLE_AUTO_MEMORY")
        .then_some(SetBy::Environment("CLAUDE_CODE_DISABLE_AUTO_MEMORY"))
        .or_else(|| settings.memory_off.clone().map(SetBy::Settings));
    Policy {
        deny: settings.rules.iter().filter(|rule| rule.behavior == Behavior::Deny).cloned().collect(),
        bypass_disabled: settings.bypass_disabled.clone(),
        available_models: settings.available_models.clone(),
        plugin_only: settings.plugin_only,
        plugin_only_by: settings.plugin_only_by.clone(),
        folder_untrusted: !trust.trusted,
        memory_off,
        background_disabled: env.is_on("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"),
        subagent_model: subagent_model.map(Into::into),
        model_names: Names {
            family_ids: [
                family("ANTHROPIC_DEFAULT_HAIKU_MODEL"),
                family("ANTHROPIC_DEFAULT_SONNET_MODEL"),
                family("ANTHROPIC_DEFAULT_OPUS_MODEL"),
                None,
            ],
        },
        max_depth: depth.filter(|depth| *depth > 0).unwrap_or(DEFAULT_MAX_DEPTH),
    }
}

/// The agent a person talks to, as the parent of those it starts.
fn main_agent(settings: &Settings, policy: &Policy, env: &Env) -> Parent {
    let mode = settings.default_mode.as_ref().map_or(Mode::Default, |set| set.value);
    let forbidden = mode == Mode::BypassPermissions && policy.bypass_disabled.is_some();
    let model =
        env.get("ANTHROPIC_MODEL").or(settings.model.as_ref().map(|set| &*set.value)).unwrap_or("default");
    Parent {
        name: "main".into(),
        capability: spec::session_pool(policy).capability,
        approval: Approval::of(if forbidden { Mode::Default } else { mode }),
        model: model.into(),
        effort: None,
        depth: 0,
    }
}

/// Records an agent's parse, whatever it was.
fn record(
    outcome: agents::FileOutcome,
    source: Source,
    adjust: impl FnOnce(&mut AgentDefinition),
    findings: &mut Findings,
) {
    let agents::FileOutcome { parsed, diagnostics, name } = outcome;
    match parsed {
        definition::Parsed::Agent(mut agent) => {
            adjust(&mut agent);
            findings.definitions.push(*agent);
            findings.diagnostics.extend(diagnostics);
        }
        definition::Parsed::Document => {
            findings.documents.push(source.file);
            findings.diagnostics.extend(diagnostics);
        }
        definition::Parsed::Failed => findings.failed.push(Failed { name, source, diagnostics }),
    }
}

/// A problem of a file as a whole.
fn file_problem(file: &Arc<Path>, problem: Problem) -> Diagnostic {
    problem.located(file, "")
}

#[cfg(test)]
mod tests;
