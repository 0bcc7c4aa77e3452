//! Settings files, layer by layer: what they say, who said it, and what of it counts.
//!
//! Every value remembers its layer and file; what does not count is kept with the reason. Refuses to know where the
//! files lie and whether a folder is trusted: both are told.

mod apply;
mod keys;
mod parent;
mod permissions;
mod sandbox;
mod trust;
mod view;
mod walk;

use std::path::Path;
use std::sync::Arc;

use crate::budget::Limits;
use crate::diagnostic::{Diagnostic, Problem, Rule, Severity};
use crate::hooks::HookGroup;
use crate::json;
use crate::mcp;
use crate::node::Node;
use crate::origin::Origin;
use crate::permission::Mode;
use crate::text::{self, Location, Span};

pub use keys::{KEYS, Key, Merging, Setters, Shape, find as find_key};
pub use parent::restrictive;
pub use permissions::PermissionRule;
pub use sandbox::{ReadOnlyAgents, SandboxSettings};
pub use trust::{FolderTrust, Ignored, IgnoredKind, WhyIgnored, env_needs_trust, hook_words};
pub use view::{Part, Standing, Value, view};

/// The layers, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// `~/.claude/settings.json`.
    User,
    /// `.claude/settings.json`.
    Project,
    /// `.claude/settings.local.json`.
    Local,
    /// `--settings`.
    Flag,
    /// The administrator's.
    Managed,
}

impl Layer {
    /// The origin of agents defined in this layer.
    pub fn origin(self) -> Origin {
        match self {
            Self::User => Origin::User,
            Self::Project | Self::Local => Origin::Project,
            Self::Flag => Origin::Flag,
            Self::Managed => Origin::Managed,
        }
    }

    /// One lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Flag => "flag",
            Self::Managed => "managed",
        }
    }

    /// Whether the file comes with the folder, so that whoever made the folder speaks through it.
    pub fn is_of_folder(self) -> bool {
        matches!(self, Self::Project | Self::Local)
    }
}

/// One file of settings, read.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// Which layer.
    pub layer: Layer,
    /// Which file, or `<--settings>`.
    pub file: Arc<Path>,
    /// Its text.
    pub text: Arc<str>,
    /// What it says; nothing if it could not be read.
    pub root: Option<Node>,
    /// Laid down by the program that started this one: it stands with the administrator's, and can only take away.
    pub is_of_parent: bool,
}

impl SettingsFile {
    /// Reads the text of a settings file.
    pub fn read(layer: Layer, file: Arc<Path>, text: &str) -> (Self, Vec<Diagnostic>) {
        let (root, mut problems) = json::parse(text);
        let root = match root {
            Some(node) if node.as_map().is_none() => {
                let text = format!("settings are an object; this is {}", node.kind());
                // Not one setting is lost but all of them.
                problems.push(Problem::at(Rule::InvalidSetting, node.span, text).severity(Severity::Error));
                None
            }
            other => other,
        };
        let diagnostics = problems.into_iter().map(|problem| problem.located(&file, text)).collect();
        (Self { layer, file, text: text.into(), root, is_of_parent: false }, diagnostics)
    }

    /// Reads what the program that started this one lays down; see [`restrictive`].
    pub fn of_parent(file: Arc<Path>, text: &str) -> (Self, Vec<Diagnostic>) {
        let (file, diagnostics) = Self::read(Layer::Managed, file, text);
        (Self { is_of_parent: true, ..file }, diagnostics)
    }
}

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetIn {
    /// Which layer.
    pub layer: Layer,
    /// Which file.
    pub file: Arc<Path>,
}

/// A value and who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub by: SetIn,
}

/// Which kinds of customization only plugins and administrators may bring (`strictPluginOnlyCustomization`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PluginOnly {
    pub agents: bool,
    pub hooks: bool,
    pub mcp: bool,
    pub skills: bool,
}

/// `budget`: what a run and all agents in it may use together. The smallest of all layers counts, so that a folder can
/// only lower it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeBudget {
    /// `budget.tokens`.
    pub tokens: Option<Set<u64>>,
    /// `budget.usd`, in millionths.
    pub microdollars: Option<Set<u64>>,
    /// `budget.seconds`.
    pub seconds: Option<Set<u64>>,
    /// `budget.descendants`.
    pub descendants: Option<Set<u32>>,
}

impl TreeBudget {
    /// The limits alone.
    pub fn limits(&self) -> Limits {
        let Self { tokens, microdollars, seconds, descendants } = self;
        Limits {
            tokens: tokens.as_ref().map(|set| set.value),
            microdollars: microdollars.as_ref().map(|set| set.value),
            seconds: seconds.as_ref().map(|set| set.value),
            descendants: descendants.as_ref().map(|set| set.value),
        }
    }
}

/// How worktrees are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeSettings {
    /// `baseRef`: fresh, head or dirty.
    pub base: Option<Set<Box<str>>>,
    /// `symlinkDirectories`.
    pub links: Vec<Box<str>>,
    /// `sparsePaths`.
    pub sparse: Vec<Box<str>>,
}

/// What is said about MCP servers: which may be used at all, and which of a folder's `.mcp.json` are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpSettings {
    /// `allowedMcpServers` and `deniedMcpServers`.
    pub policy: mcp::Policy,
    /// `enableAllProjectMcpServers`, `enabledMcpjsonServers` and `disabledMcpjsonServers`.
    pub approvals: mcp::Approvals,
    /// `mcpServers`.
    pub servers: Vec<SettingsServer>,
}

/// A server that stands in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsServer {
    /// Its name.
    pub name: Box<str>,
    /// How to reach it, or why nobody can tell.
    pub config: Result<mcp::McpConfig, String>,
    /// The file.
    pub by: SetIn,
}

/// Names and values, in order.
pub type Options = Vec<(Box<str>, Box<str>)>;

/// All layers together: what counts.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Permission rules of every layer: a deny anywhere wins, then an ask.
    pub rules: Vec<PermissionRule>,
    /// `permissions.additionalDirectories`, as written.
    pub additional_directories: Vec<Set<Box<str>>>,
    /// `outputStyle`.
    pub output_style: Option<Set<Box<str>>>,
    /// `permissions.defaultMode`.
    pub default_mode: Option<Set<Mode>>,
    /// `permissions.disableBypassPermissionsMode`.
    pub bypass_disabled: Option<SetIn>,
    /// `permissions.disableAutoMode`.
    pub auto_disabled: Option<SetIn>,
    /// `allowManagedPermissionRulesOnly` (administrator only).
    pub managed_rules_only: Option<SetIn>,
    /// `hooks` that run, in the order of the layers.
    pub hooks: Vec<(HookGroup, SetIn)>,
    /// `disableAllHooks`: nothing but the administrator's hooks runs, and not even those if the administrator says so.
    pub hooks_off: Option<SetIn>,
    /// `allowManagedHooksOnly` (administrator only).
    pub managed_hooks_only: Option<SetIn>,
    /// The same from the program that started this one: the hooks of others run, for they may be guards, but what they
    /// allow does not count.
    pub managed_leave_only: Option<SetIn>,
    /// `allowedHttpHookUrls`.
    pub hook_urls: Option<Set<Vec<Box<str>>>>,
    /// `httpHookAllowedEnvVars`.
    pub hook_env: Option<Set<Vec<Box<str>>>>,
    /// `allowManagedMcpServersOnly` (administrator only).
    pub managed_mcp_only: Option<SetIn>,
    /// What is said about MCP servers.
    pub mcp: McpSettings,
    /// `budget`: for the whole tree of agents.
    pub budget: TreeBudget,
    /// `sandbox`.
    pub sandbox: SandboxSettings,
    /// `model`.
    pub model: Option<Set<Box<str>>>,
    /// `agent`.
    pub agent: Option<Set<Box<str>>>,
    /// `apiKeyHelper`: a command that prints a key.
    pub api_key_helper: Option<Set<Box<str>>>,
    /// `availableModels`: the only models that may be used.
    pub available_models: Option<Set<Vec<Box<str>>>>,
    /// `enabledPlugins`, each switched on or off by its highest layer.
    pub plugins: Vec<(Box<str>, Set<bool>)>,
    /// `env`, each variable set by its highest layer.
    pub env: Vec<(Box<str>, Set<Box<str>>)>,
    /// `autoMemoryEnabled: false`.
    pub memory_off: Option<SetIn>,
    /// `cleanupPeriodDays`.
    pub cleanup_period_days: Option<Set<u64>>,
    /// `worktree`.
    pub worktree: WorktreeSettings,
    /// `strictPluginOnlyCustomization` (administrator only).
    pub plugin_only: PluginOnly,
    /// `pluginConfigs`: what the user chose for a plugin's `userConfig`, by plugin.
    pub plugin_configs: Vec<(Box<str>, Options)>,
    /// Who set `plugin_only`.
    pub plugin_only_by: Option<SetIn>,
    /// `disableSideloadFlags` (administrator only).
    pub no_sideload: Option<SetIn>,
    /// What somebody wrote and does not count, with the reason.
    pub ignored: Vec<Ignored>,
    /// Limits that cannot be read: nothing may be started while there are any.
    pub unsound: Vec<Diagnostic>,
}

impl Settings {
    /// How answers are written, by name.
    pub fn style_name(&self) -> Box<str> {
        self.output_style.as_ref().map_or_else(|| "default".into(), |set| set.value.clone())
    }

    /// What the user chose for a plugin, by its full name. One that is only loaded for a session gets what was chosen for
    /// its name anywhere: that is how a plugin is tried out while it is being written.
    pub fn plugin_config(&self, id: &str) -> &[(Box<str>, Box<str>)] {
        let name = id.strip_suffix("@inline");
        let is_meant =
            |other: &str| other == id || name.is_some_and(|name| other.split('@').next() == Some(name));
        let exact = self.plugin_configs.iter().find(|(other, _)| &**other == id);
        let found = exact.or_else(|| self.plugin_configs.iter().rev().find(|(other, _)| is_meant(other)));
        found.map_or(&[], |(_, options)| options)
    }

    /// What does not count because the folder is not trusted.
    pub fn waiting_for_trust(&self) -> impl Iterator<Item = &Ignored> {
        self.ignored.iter().filter(|ignored| ignored.why == WhyIgnored::Untrusted)
    }
}

/// Merges files, weakest layer first: arrays add up, objects merge by key, scalars override. What a parent lays down
/// comes last and takes away from what the others came to.
///
/// In a folder that is not trusted, what its own files say counts only as far as it takes away.
pub fn merge(files: &[SettingsFile], trust: FolderTrust) -> (Settings, Vec<Diagnostic>) {
    let mut settings = Settings::default();
    let mut diagnostics = Vec::new();
    let sorted = weakest_first(files);
    apply::locks(&sorted, &mut settings);
    for file in sorted {
        let Some(root) = &file.root else { continue };
        let mut report = Report::new(&file.text);
        let by = SetIn { layer: file.layer, file: Arc::clone(&file.file) };
        for said in walk::walk(root, file.layer, &mut report) {
            if file.is_of_parent {
                apply::narrow(&mut settings, said, &by, &mut report);
            } else {
                apply::apply(&mut settings, said, &by, trust, &mut report);
            }
        }
        let located = |problem: Problem| problem.located(&file.file, &file.text);
        diagnostics.extend(report.problems.into_iter().map(located));
        settings.unsound.extend(report.refusals.into_iter().map(located));
    }
    apply::switch_hooks(&mut settings);
    (settings, diagnostics)
}

fn weakest_first(files: &[SettingsFile]) -> Vec<&SettingsFile> {
    let mut sorted: Vec<&SettingsFile> = files.iter().collect();
    sorted.sort_by_key(|file| (file.is_of_parent, file.layer));
    sorted
}

/// What is wrong with one file.
struct Report {
    text: Arc<str>,
    problems: Vec<Problem>,
    /// Those among the problems that may have cost a limit.
    refusals: Vec<Problem>,
}

impl Report {
    fn new(text: &Arc<str>) -> Self {
        Self { text: Arc::clone(text), problems: Vec::new(), refusals: Vec::new() }
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// A problem that nothing may be started with.
    fn refuse(&mut self, mut problem: Problem) {
        problem.text.push_str("; nothing is started until it is mended");
        let problem = problem.severity(Severity::Error);
        self.problems.push(problem.clone());
        self.refusals.push(problem);
    }

    fn locate(&self, span: Span) -> Location {
        text::locate(&self.text, span)
    }
}

/// The texts of a list; what is no text has been reported by the walk.
fn texts(node: &Node) -> Vec<Box<str>> {
    node.as_list().unwrap_or_default().iter().filter_map(Node::as_text).map(Into::into).collect()
}

#[cfg(test)]
mod tests;
