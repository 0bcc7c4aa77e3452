//! Plugins of a session: those of the command line and those that settings enable; their agents, and what else they
//! bring, ready for whoever runs it. Only what is as it was installed is loaded.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::{AgentDefinition, Naming, Parsed};
use posse_core::diagnostic::{Diagnostic, Problem, Rule, Severity};
use posse_core::hooks::{HookGroup, HookHandler, HookKind};
use posse_core::origin::{Origin, Source, Standing};
use posse_core::plugin::{self, Manifest, UserOption, Variables};
use posse_core::registry::Findings;
use posse_core::settings::{Layer, Settings};

use super::{Catalog, CatalogOptions, Layout, agents, file_problem, parallel, record, settings, walk};
use crate::fence::Fence;
use crate::plugins::{self, CommandPlace, PartFile, Parts, Pin, Record, Store};
use crate::world::World;

/// A plugin that was loaded.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// Its name.
    pub name: Arc<str>,
    /// Its full name: `name@marketplace`, or `name@inline` if the command line names its folder.
    pub id: Box<str>,
    /// Its folder.
    pub path: PathBuf,
    /// Where it may keep things. It need not exist: whoever starts something of the plugin makes it.
    pub data: PathBuf,
    /// Its version, if it says one.
    pub version: Option<Box<str>>,
    /// Its manifest.
    pub manifest: Manifest,
    /// The administrator enables it: what it brings counts like the administrator's own.
    pub is_managed: bool,
    /// What `${…}` stands for in what it brings; secrets among it.
    pub variables: Variables,
    /// Hooks as written, file by file. `${…}` in them is for whoever runs them.
    pub hooks: Vec<PartFile>,
    /// MCP servers, ready to be connected.
    pub servers: Vec<PluginServer>,
    /// Folders of skills, and skills themselves.
    pub skills: Vec<PathBuf>,
    /// Commands.
    pub commands: Vec<CommandPlace>,
}

impl Plugin {
    /// What `${…}` stands for in what a model or a person reads: without secrets.
    pub fn public_variables(&self) -> Variables {
        public(&self.variables, &self.manifest.user_config)
    }

    /// Its hooks with values in what no shell will fill in: addresses, headers, questions. Only headers get secrets.
    pub fn filled_hooks(&self) -> Vec<Vec<HookGroup>> {
        let shown = self.public_variables();
        let fill =
            |text: &mut Box<str>, variables: &Variables| *text = plugin::substitute(text, variables).into();
        let mut files: Vec<Vec<HookGroup>> = self.hooks.iter().map(|part| part.groups.clone()).collect();
        for handler in files.iter_mut().flatten().flat_map(|group| &mut group.handlers) {
            match &mut handler.kind {
                HookKind::Http { url, headers, .. } => {
                    fill(url, &shown);
                    headers.iter_mut().for_each(|(_, value)| fill(value, &self.variables));
                }
                HookKind::Prompt { prompt, .. } | HookKind::Agent { prompt, .. } => fill(prompt, &shown),
                // Whoever runs these fills in what they need.
                HookKind::Command { .. } | HookKind::McpTool { .. } => {}
            }
        }
        files
    }
}

fn public(variables: &Variables, options: &[UserOption]) -> Variables {
    let is_secret = |key: &str| options.iter().any(|option| &*option.key == key && option.sensitive);
    let user_config = variables.user_config.iter().filter(|(key, _)| !is_secret(key)).cloned().collect();
    Variables { user_config, ..variables.clone() }
}

/// An MCP server of a plugin.
#[derive(Clone, PartialEq)]
pub struct PluginServer {
    /// `plugin:<plugin>:<server>`.
    pub name: Box<str>,
    /// The file it stands in.
    pub file: Arc<Path>,
    /// Its configuration, with values in place of `${…}`: secrets may be among them.
    pub config: serde_json::Value,
    /// What it runs or reaches, as written: for people.
    pub words: Box<str>,
}

impl fmt::Debug for PluginServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PluginServer").field("name", &self.name).field("words", &self.words).finish()
    }
}

/// What a plugin, or a part of one, is missing for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFault {
    /// Its full name, as far as it is known.
    pub plugin: Box<str>,
    /// What kind of fault, in a word for programs.
    pub kind: &'static str,
    /// What is wrong.
    pub text: String,
    /// Where.
    pub path: Arc<Path>,
}

impl Catalog {
    /// What is missing of plugins: one line, or none.
    pub fn plugin_note(&self) -> Option<String> {
        let first = self.plugin_faults.first()?;
        let more = match self.plugin_faults.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        Some(format!("plugin {}: {}{more} (posse lint shows where)", first.plugin, first.text))
    }
}

/// What loading plugins found.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadedPlugins {
    pub(super) plugins: Vec<Plugin>,
    pub(super) faults: Vec<PluginFault>,
}

/// A folder that is to be loaded.
struct Wanted {
    folder: PathBuf,
    /// Without a name for what the command line names: only the manifest knows it.
    id: Option<Box<str>>,
    is_managed: bool,
    /// Whether the servers of tools that it brings along count.
    has_servers: bool,
}

/// Loads the plugins of the command line and of the settings.
pub(super) fn load(
    layout: &Layout,
    world: &World,
    options: &CatalogOptions,
    settings: &Settings,
    findings: &mut Findings,
) -> LoadedPlugins {
    let mut loading = Loading { layout, settings, findings, loaded: LoadedPlugins::default() };
    let mut wanted: Vec<Wanted> = Vec::new();
    let whole = options.plugin_dirs.iter().map(|dir| (dir, true));
    let others = options.plugin_dirs_without_servers.iter().map(|dir| (dir, false));
    for (place, (dir, has_servers)) in whole.chain(others).enumerate() {
        let given = loading.given(&world.cwd.join(dir), place, world);
        wanted.extend(given.into_iter().map(|one| Wanted { has_servers, ..one }));
    }
    wanted.extend(loading.enabled());
    for one in &wanted {
        loading.one(one);
    }
    loading.check_dependencies();
    loading.loaded
}

/// Loads one plugin that somebody points at.
pub(super) fn load_one(
    folder: &Path,
    layout: &Layout,
    settings: &Settings,
    findings: &mut Findings,
) -> Option<Plugin> {
    let mut loading = Loading { layout, settings, findings, loaded: LoadedPlugins::default() };
    loading.one(&Wanted { folder: folder.to_owned(), id: None, is_managed: false, has_servers: true });
    loading.loaded.plugins.pop()
}

struct Loading<'a> {
    layout: &'a Layout,
    settings: &'a Settings,
    findings: &'a mut Findings,
    loaded: LoadedPlugins,
}

impl Loading<'_> {
    fn store(&self) -> Option<Store> {
        self.layout.user.as_deref().map(Store::new)
    }

    /// Reports something that keeps a plugin, or a part of it, from being there.
    fn fault(&mut self, plugin: &str, diagnostic: Diagnostic) {
        self.loaded.faults.push(fault(plugin, &diagnostic));
        self.findings.diagnostics.push(diagnostic);
    }

    /// What `--plugin-dir` may name: a plugin, an archive of one, or a folder of plugins.
    fn given(&mut self, dir: &Path, place: usize, world: &World) -> Vec<Wanted> {
        let wanted = |folder| Wanted { folder, id: None, is_managed: false, has_servers: true };
        let inline = format!("inline[{place}]");
        if dir.is_file() {
            let base = self.store().map_or_else(|| world.temp_dir(), |store| store.inline());
            return match plugins::unpacked(dir, &base) {
                Ok(folder) => vec![wanted(folder)],
                Err(error) => {
                    let diagnostic = whole(dir, Rule::InvalidPlugin, error.to_string());
                    self.fault(&inline, diagnostic.hint("give a folder, or a zip file of one"));
                    Vec::new()
                }
            };
        }
        let Ok(entries) = std::fs::read_dir(dir) else {
            self.fault(&inline, whole(dir, Rule::InvalidPlugin, "there is no such plugin folder"));
            return Vec::new();
        };
        let is_one = |path: &Path| plugins::is_plugin(path) || plugins::has_parts(path);
        if is_one(dir) {
            return vec![wanted(dir.to_owned())];
        }
        let children = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut children: Vec<PathBuf> = children.filter(|path| is_one(path)).collect();
        children.sort();
        if children.is_empty() {
            children.push(dir.to_owned());
        }
        children.into_iter().map(wanted).collect()
    }

    /// Plugins that settings enable, where they are installed and as they were installed.
    fn enabled(&mut self) -> Vec<Wanted> {
        let Some(store) = self.store() else { return Vec::new() };
        let settings = self.settings;
        let enabled: Vec<_> = settings.plugins.iter().filter(|(_, set)| set.value).collect();
        if enabled.is_empty() {
            return Vec::new();
        }
        let file = store.installed_file();
        let diagnostics = &mut self.findings.diagnostics;
        let root = if file.is_file() { settings::read_json(&file, diagnostics) } else { None };
        let records = root.map(|(root, _)| Record::read(&root)).unwrap_or_default();
        let mut wanted = Vec::new();
        for (id, set) in enabled {
            let Some(record) = self.record_of(&records, id) else {
                let text = format!("the plugin `{id}` is enabled but not installed");
                let diagnostic = Diagnostic::of_file(Rule::PluginNotFound, &set.by.file, None, text);
                self.fault(id, diagnostic.hint(format!("posse plugin install {id}, or set it to false")));
                continue;
            };
            if self.is_sound(record) {
                let is_managed = set.by.layer == Layer::Managed;
                let (folder, id) = (record.path.clone(), Some(id.clone()));
                wanted.push(Wanted { folder, id, is_managed, has_servers: true });
            }
        }
        wanted
    }

    /// This project's installation, or else everybody's.
    fn record_of<'r>(&self, records: &'r [Record], id: &str) -> Option<&'r Record> {
        let top = self.layout.repository.as_deref().unwrap_or(&self.layout.cwd);
        let of_plugin = || records.iter().filter(|record| record.id == id);
        let here =
            of_plugin().filter(|record| record.is_for(top)).max_by_key(|record| record.project.is_some());
        here.or_else(|| of_plugin().next())
    }

    fn is_sound(&mut self, record: &Record) -> bool {
        let id = &record.id;
        let diagnostic = match record.pin() {
            Pin::Holds => return true,
            Pin::Absent => {
                let text = format!("`{id}` was installed by another program: its content is not pinned");
                let hint = format!("posse plugin install {id} pins it");
                let diagnostic = whole(&record.path, Rule::PluginUnpinned, text).hint(hint);
                self.findings.diagnostics.push(diagnostic);
                return true;
            }
            Pin::Broken => {
                let text = format!("the files of `{id}` are not those that were installed; it is not loaded");
                whole(&record.path, Rule::PluginChanged, text).hint(format!(
                    "posse plugin install {id} brings them back; what a plugin keeps belongs into its data folder"
                ))
            }
            Pin::Gone => {
                let text = format!("the files of `{id}` are gone");
                whole(&record.path, Rule::PluginNotFound, text).hint(format!("posse plugin install {id}"))
            }
        };
        self.fault(id, diagnostic);
        false
    }

    /// Loads one plugin: what it brings, then its agents.
    fn one(&mut self, wanted: &Wanted) {
        let Wanted { folder, id, is_managed, has_servers } = wanted;
        let mut diagnostics = Vec::new();
        let parts = Parts::read(folder, &mut diagnostics);
        let name = parts.as_ref().map(|parts| parts.manifest.name.clone());
        let shown = name.clone().unwrap_or_else(|| {
            folder.file_name().map(|name| name.to_string_lossy().into()).unwrap_or_default()
        });
        let id = id.clone().unwrap_or_else(|| format!("{shown}@inline").into());
        let faults = diagnostics.iter().filter(|one| is_fault(one)).map(|one| fault(&id, one));
        self.loaded.faults.extend(faults);
        self.findings.diagnostics.append(&mut diagnostics);
        let Some(parts) = parts else { return };
        // The first of two plugins with one name counts: the command line comes before the settings.
        if let Some(twin) = self.loaded.plugins.iter().find(|plugin| *plugin.name == *parts.manifest.name) {
            let text = match twin.path == *folder {
                true => format!("the plugin `{}` is given twice", twin.name),
                false => format!("a plugin `{}` is loaded from {} already", twin.name, twin.path.display()),
            };
            self.findings.diagnostics.push(whole(folder, Rule::Shadowed, text));
            return;
        }
        self.load_parts(parts, id, *is_managed);
        if let Some(plugin) = self.loaded.plugins.last_mut().filter(|_| !has_servers) {
            plugin.servers.clear();
        }
    }

    fn load_parts(&mut self, mut parts: Parts, id: Box<str>, is_managed: bool) {
        let secrets = self.secrets(&id);
        // What was given as a secret stays one, whatever a later manifest says.
        for option in &mut parts.manifest.user_config {
            option.sensitive |= secrets.contains_key(&*option.key);
        }
        let values = self.values(&parts, &id, &secrets);
        let data = self.store().map(|store| store.data(&id)).unwrap_or_default();
        let variables = Variables {
            root: parts.root.display().to_string(),
            data: data.display().to_string(),
            project: self.layout.cwd.display().to_string(),
            user_config: values,
        };
        let name: Arc<str> = parts.manifest.name.clone().into();
        let needs = Needs { options: &parts.manifest.user_config, variables: &variables, id: &id };
        let hooks = self.hooks(&parts, &needs);
        let servers = self.servers(&parts, &needs);
        // What a model reads may end up anywhere: secrets stay out of it.
        let public = public(&variables, &parts.manifest.user_config);
        let context =
            Context { folder: &parts.root, name: &name, needs: Needs { variables: &public, ..needs } };
        match &parts.manifest.agents {
            None => context.scan(&parts.root.join("agents"), true, self.findings),
            Some(paths) => {
                for path in paths {
                    let mut diagnostics = Vec::new();
                    let target = parts.target(path, &mut diagnostics);
                    self.loaded.faults.extend(diagnostics.iter().map(|one| fault(&id, one)));
                    self.findings.diagnostics.append(&mut diagnostics);
                    if let Some(target) = target {
                        // Folders are part of the name only below the default folder.
                        context.scan(&target, &*path.path == "agents", self.findings);
                    }
                }
            }
        }
        let Parts { root, manifest, skills, commands, .. } = parts;
        let version = manifest.version.clone();
        let plugin = Plugin {
            name,
            id,
            path: root,
            data,
            version,
            manifest,
            is_managed,
            variables,
            hooks,
            servers,
            skills,
            commands,
        };
        self.loaded.plugins.push(plugin);
    }

    /// What the user gave a plugin as secrets.
    fn secrets(&mut self, id: &str) -> BTreeMap<String, String> {
        match self.store().map(|store| store.secrets(id)) {
            Some(Ok(secrets)) => secrets,
            Some(Err(error)) => {
                let file = self.store().map(|store| store.secrets_file()).unwrap_or_default();
                self.fault(id, whole(&file, Rule::UnreadableFile, error.to_string()));
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        }
    }

    /// The values of a plugin's options: what the user chose, or else the defaults.
    fn values(
        &mut self,
        parts: &Parts,
        id: &str,
        secrets: &BTreeMap<String, String>,
    ) -> Vec<(Box<str>, Box<str>)> {
        let chosen = self.settings.plugin_config(id);
        let mut values: Vec<(Box<str>, Box<str>)> = Vec::new();
        for option in &parts.manifest.user_config {
            let UserOption { key, kind, default, required, .. } = option;
            let secret = secrets.get(&**key).map(|value| Box::from(value.as_str()));
            let setting = || chosen.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
            let own = secret.or_else(setting);
            let fits = own.as_ref().is_none_or(|value| kind.accepts(value));
            if !fits {
                let text =
                    format!("the option `{key}` of `{id}` takes {}; what is set is ignored", kind.takes());
                let hint = format!("posse plugin enable {id} --config {key}=…");
                self.fault(id, whole(&parts.manifest_file, Rule::PluginOption, text).hint(hint));
            }
            match own.filter(|_| fits).or_else(|| default.clone()) {
                Some(value) => values.push((key.clone(), value)),
                None if *required => {
                    let text = format!("`{id}` needs the option `{key}`; what uses it is not loaded");
                    let hint = format!("posse plugin enable {id} --config {key}=…");
                    self.fault(id, whole(&parts.manifest_file, Rule::PluginOption, text).hint(hint));
                }
                None => {}
            }
        }
        // Options that the manifest does not speak of can be chosen, too.
        values.extend(
            chosen
                .iter()
                .filter(|(key, _)| !parts.manifest.user_config.iter().any(|option| option.key == *key))
                .cloned(),
        );
        values
    }

    fn hooks(&mut self, parts: &Parts, needs: &Needs<'_>) -> Vec<PartFile> {
        let mut files = parts.hooks.clone();
        for part in &mut files {
            for group in &mut part.groups {
                group.handlers.retain(|handler| match needs.missing(texts_of(handler)) {
                    None => true,
                    Some(key) => {
                        let text =
                            format!("a hook of {} is not loaded: the option `{key}` is not set", needs.id);
                        self.fault(
                            needs.id,
                            whole(&part.file, Rule::PluginOption, text).hint(needs.hint(&key)),
                        );
                        false
                    }
                });
            }
            part.groups.retain(|group| !group.handlers.is_empty());
        }
        files.retain(|part| !part.groups.is_empty());
        files
    }

    fn servers(&mut self, parts: &Parts, needs: &Needs<'_>) -> Vec<PluginServer> {
        let mut servers = Vec::new();
        for server in &parts.servers {
            if let Some(key) = needs.missing(plugin::texts(&server.node)) {
                let text =
                    format!("the server `{}` is not loaded: the option `{key}` is not set", server.name);
                self.fault(needs.id, whole(&server.file, Rule::PluginOption, text).hint(needs.hint(&key)));
                continue;
            }
            servers.push(PluginServer {
                name: format!("plugin:{}:{}", parts.manifest.name, server.name).into(),
                file: Arc::clone(&server.file),
                config: plugin::expand(&server.node, needs.variables),
                words: server.config.words().into(),
            });
        }
        servers
    }

    fn check_dependencies(&mut self) {
        let names: Vec<Arc<str>> =
            self.loaded.plugins.iter().map(|plugin| Arc::clone(&plugin.name)).collect();
        let mut missing = Vec::new();
        for plugin in &self.loaded.plugins {
            for needed in &plugin.manifest.dependencies {
                let bare = needed.split('@').next().unwrap_or(needed);
                if !names.iter().any(|name| **name == *bare) {
                    let text = format!("`{}` needs the plugin `{needed}`, which is not loaded", plugin.name);
                    missing.push((plugin.id.clone(), whole(&plugin.path, Rule::PluginNotFound, text)));
                }
            }
        }
        for (id, diagnostic) in missing {
            self.fault(&id, diagnostic);
        }
    }
}

/// What has to be set before a part can be used.
#[derive(Clone, Copy)]
struct Needs<'a> {
    options: &'a [UserOption],
    variables: &'a Variables,
    id: &'a str,
}

impl Needs<'_> {
    fn is_secret(&self, key: &str) -> bool {
        self.options.iter().any(|option| &*option.key == key && option.sensitive)
    }

    /// The first option that is used and has no value.
    fn missing<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> Option<String> {
        texts
            .into_iter()
            .find_map(|text| plugin::unset(text, self.variables).first().map(|key| (*key).to_owned()))
    }

    fn hint(&self, key: &str) -> String {
        format!("posse plugin enable {} --config {key}=…", self.id)
    }
}

struct Context<'a> {
    folder: &'a Path,
    name: &'a Arc<str>,
    needs: Needs<'a>,
}

impl Context<'_> {
    fn scan(&self, root: &Path, folders_count: bool, findings: &mut Findings) {
        let fence = Fence::of_plugin(self.folder);
        let found = walk::files(root, walk::is_markdown_any_case, Some(&fence));
        findings.diagnostics.extend(found.diagnostics);
        let shared: Arc<Path> = self.folder.into();
        let read = parallel::map(&found.files, |path| {
            let source = Source {
                origin: Origin::Plugin,
                standing: Standing::Folder(0),
                file: path.as_path().into(),
                root: Arc::clone(&shared),
                plugin: Some(Arc::clone(self.name)),
            };
            let below = path.strip_prefix(root).ok().and_then(Path::parent).filter(|_| folders_count);
            let folders: Vec<_> = below
                .into_iter()
                .flat_map(Path::components)
                .map(|part| part.as_os_str().to_string_lossy())
                .collect();
            let folders: Vec<&str> = folders.iter().map(|part| &**part).collect();
            let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
            let naming = Naming::Plugin { plugin: self.name, folders: &folders, stem: &stem };
            let outcome = self.fill(agents::parse_file(&source, naming), &source);
            (source, outcome)
        });
        for (source, outcome) in read {
            record(outcome, source, |_| {}, findings);
        }
    }

    /// Puts values into an agent's prompt; an agent that needs one that is required and not set is not used.
    fn fill(&self, mut outcome: agents::FileOutcome, source: &Source) -> agents::FileOutcome {
        let Parsed::Agent(agent) = &mut outcome.parsed else { return outcome };
        if !agent.body.contains("${") {
            return outcome;
        }
        let agent: &mut AgentDefinition = agent;
        let unset = plugin::unset(&agent.body, self.needs.variables);
        let option = |key: &str| self.needs.options.iter().find(|option| &*option.key == key);
        let required =
            unset.iter().find(|key| option(key).is_some_and(|option| option.required && !option.sensitive));
        if let Some(key) = required {
            let text = format!("the option `{key}` of the plugin is not set");
            outcome
                .diagnostics
                .push(whole(&source.file, Rule::PluginOption, text).hint(self.needs.hint(key)));
            outcome.name = Some(agent.name.to_string().into());
            outcome.parsed = Parsed::Failed;
            return outcome;
        }
        for key in unset.iter().filter(|key| self.needs.is_secret(key)) {
            let text =
                format!("the option `{key}` is secret and does not go into prompts; it stays as written");
            let diagnostic = whole(&source.file, Rule::PluginOption, text);
            outcome.diagnostics.push(Diagnostic { severity: Severity::Warning, ..diagnostic });
        }
        agent.body = plugin::substitute(&agent.body, self.needs.variables).into();
        outcome
    }
}

/// All texts of a handler in which variables may stand.
fn texts_of(handler: &HookHandler) -> Vec<&str> {
    match &handler.kind {
        HookKind::Command { command, args, .. } => {
            std::iter::once(&**command).chain(args.iter().flatten().map(|arg| &**arg)).collect()
        }
        HookKind::Http { url, headers, .. } => {
            std::iter::once(&**url).chain(headers.iter().map(|(_, value)| &**value)).collect()
        }
        HookKind::McpTool { input, .. } => input.iter().flat_map(plugin::texts).collect(),
        HookKind::Prompt { prompt, .. } | HookKind::Agent { prompt, .. } => vec![prompt],
    }
}

/// Whether a problem costs a plugin something, or would elsewhere.
fn is_fault(one: &Diagnostic) -> bool {
    one.severity == Severity::Error || kind_of(one) != "other"
}

fn fault(plugin: &str, one: &Diagnostic) -> PluginFault {
    let path = Arc::clone(&one.file);
    PluginFault { plugin: plugin.into(), kind: kind_of(one), text: one.text.clone(), path }
}

/// The words programs know from elsewhere.
fn kind_of(one: &Diagnostic) -> &'static str {
    let is_manifest = one.file.file_name().is_some_and(|name| name == "plugin.json");
    match one.rule {
        Rule::PluginPath | Rule::LinkLeadsOut => "path-not-found",
        Rule::InvalidHook | Rule::UnknownHookEvent => "hook-load-failed",
        Rule::OldManifest if !is_manifest => "hook-load-failed",
        Rule::InvalidMcpServer => "mcp-config-invalid",
        Rule::PluginNotFound => "plugin-not-found",
        Rule::PluginChanged => "plugin-changed",
        Rule::PluginOption => "option-not-set",
        Rule::InvalidPlugin if !one.file.exists() => "path-not-found",
        Rule::InvalidPlugin => "manifest-validation-error",
        Rule::JsonSyntax if is_manifest => "manifest-parse-error",
        Rule::JsonSyntax => "hook-load-failed",
        _ => "other",
    }
}

fn whole(path: &Path, rule: Rule, text: impl Into<String>) -> Diagnostic {
    file_problem(&path.into(), Problem::whole(rule, text))
}
