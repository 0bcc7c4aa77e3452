//! Plugins: finding them, reading their manifests, and the agents they bring.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::Naming;
use posse_core::diagnostic::{Diagnostic, Problem, Rule};
use posse_core::node::Node;
use posse_core::origin::{Origin, Source, Standing};
use posse_core::plugin::{self, Manifest, ManifestPath, Variables};
use posse_core::registry::Findings;
use posse_core::settings::Settings;

use super::{CatalogOptions, Layout, agents, file_problem, parallel, record, settings, walk};
use crate::world::World;

/// A plugin that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Its name.
    pub name: Arc<str>,
    /// Its folder.
    pub path: PathBuf,
    /// Its version, if it says one.
    pub version: Option<Box<str>>,
}

const MANIFEST: &str = ".claude-plugin/plugin.json";
const OLD_MANIFEST: &str = "plugin.json";

/// Whether a folder is a plugin.
pub(super) fn is_plugin(path: &Path) -> bool {
    path.join(MANIFEST).is_file() || path.join(OLD_MANIFEST).is_file()
}

/// Whether a folder has what plugins are made of: a manifest is optional.
pub(super) fn has_parts(path: &Path) -> bool {
    const PARTS: [&str; 5] = ["agents", "skills", "commands", "hooks", ".mcp.json"];
    PARTS.iter().any(|part| path.join(part).exists())
}

/// Loads the plugins of the command line and of the settings.
pub(super) fn load(
    layout: &Layout,
    world: &World,
    options: &CatalogOptions,
    settings: &Settings,
    findings: &mut Findings,
) -> Vec<Plugin> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for dir in &options.plugin_dirs {
        folders.extend(given(&world.cwd.join(dir), findings));
    }
    folders.extend(enabled(layout, settings, findings));
    let mut plugins: Vec<Plugin> = Vec::new();
    for folder in folders {
        // The first of two plugins with one name counts: the command line comes before the settings.
        if let Some(twin) = plugins.iter().find(|plugin| plugin.path == folder) {
            let text = format!("the plugin `{}` is given twice", twin.name);
            findings.diagnostics.push(whole(&folder, Rule::Shadowed, text));
            continue;
        }
        plugins.extend(load_one(&folder, layout, settings, findings));
    }
    plugins
}

/// What `--plugin-dir` may name: a plugin, or a folder of plugins.
fn given(dir: &Path, findings: &mut Findings) -> Vec<PathBuf> {
    if dir.is_file() {
        let text = "not a folder: unpack the plugin and name the folder";
        findings.diagnostics.push(whole(dir, Rule::InvalidPlugin, text));
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(dir) else {
        findings.diagnostics.push(whole(dir, Rule::InvalidPlugin, "there is no such plugin folder"));
        return Vec::new();
    };
    if is_plugin(dir) || has_parts(dir) {
        return vec![dir.to_owned()];
    }
    let children = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut children: Vec<PathBuf> = children.filter(|path| is_plugin(path) || has_parts(path)).collect();
    children.sort();
    if children.is_empty() { vec![dir.to_owned()] } else { children }
}

/// Plugins that settings enable, where they are installed.
fn enabled(layout: &Layout, settings: &Settings, findings: &mut Findings) -> Vec<PathBuf> {
    let Some(base) = layout.user.as_ref().map(|user| user.join("plugins")) else { return Vec::new() };
    let wanted: Vec<_> = settings.plugins.iter().filter(|(_, set)| set.value).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let installed = base.join("installed_plugins.json");
    let installed =
        if installed.is_file() { settings::read_json(&installed, &mut findings.diagnostics) } else { None };
    let mut folders = Vec::new();
    for (id, set) in wanted {
        let recorded = installed.as_ref().and_then(|(root, _)| install_path(root, id));
        let found = recorded.into_iter().chain(marketplace_path(&base, id)).find(|path| path.is_dir());
        match found {
            Some(path) => folders.push(path),
            None => {
                let text = format!("the plugin `{id}` is enabled but not installed");
                let diagnostic = Diagnostic::of_file(Rule::PluginNotFound, &set.by.file, None, text);
                findings.diagnostics.push(diagnostic.hint("install it, or set it to false"));
            }
        }
    }
    folders
}

/// The path the installer recorded: an object per plugin, or a list of one object per scope.
fn install_path(root: &Node, id: &str) -> Option<PathBuf> {
    let record = root.get("plugins")?.get(id)?;
    let record = record.as_list().and_then(<[Node]>::first).unwrap_or(record);
    record.text_of("installPath").map(|path| PathBuf::from(&*path))
}

/// The folder a local copy of the marketplace names for `plugin@marketplace`.
fn marketplace_path(base: &Path, id: &str) -> Option<PathBuf> {
    let (name, marketplace) = id.split_once('@')?;
    let folder = base.join("marketplaces").join(marketplace);
    let (root, _) = settings::read_json(&folder.join(".claude-plugin/marketplace.json"), &mut Vec::new())?;
    let plugins = root.get("plugins")?.as_list()?;
    let entry = plugins.iter().find(|plugin| plugin.text_of("name").as_deref() == Some(name))?;
    inside(&folder, &entry.text_of("source")?)
}

/// A relative path below a folder; `None` if it leads out of it.
fn inside(folder: &Path, relative: &str) -> Option<PathBuf> {
    let relative = Path::new(relative);
    let stays = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    stays.then(|| folder.join(relative))
}

/// Loads one plugin: its manifest, then its agents.
pub(super) fn load_one(
    folder: &Path,
    layout: &Layout,
    settings: &Settings,
    findings: &mut Findings,
) -> Option<Plugin> {
    let (manifest, manifest_file) = manifest(folder, findings)?;
    let name: Arc<str> = manifest.name.clone().into();
    let variables = variables(folder, &manifest, layout, settings);
    let context = Context { folder, name: &name, variables: &variables };
    match &manifest.agents {
        None => context.scan(&folder.join("agents"), true, findings),
        Some(paths) => {
            for path in paths {
                context.listed(path, &manifest_file, findings);
            }
        }
    }
    Some(Plugin { name, path: folder.to_owned(), version: manifest.version })
}

/// The manifest; a plugin without one is called like its folder.
fn manifest(folder: &Path, findings: &mut Findings) -> Option<(Manifest, (Arc<Path>, String))> {
    let modern = folder.join(MANIFEST);
    let old = folder.join(OLD_MANIFEST);
    let path = if modern.is_file() { &modern } else { &old };
    if !path.is_file() {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let manifest = Manifest { name: name.into(), ..Manifest::default() };
        return Some((manifest, (folder.into(), String::new())));
    }
    let file: Arc<Path> = path.as_path().into();
    if path == &old {
        let text = "a manifest in the plugin's root: the form of older versions";
        let diagnostic = file_problem(
            &file,
            Problem::whole(Rule::OldManifest, text).hint(format!("move it to {MANIFEST}")),
        );
        findings.diagnostics.push(diagnostic);
    }
    let (root, text) = settings::read_json(path, &mut findings.diagnostics)?;
    let (manifest, problems) = plugin::read_manifest(&root);
    findings.diagnostics.extend(problems.into_iter().map(|problem| problem.located(&file, &text)));
    Some((manifest?, (file, text)))
}

fn variables(folder: &Path, manifest: &Manifest, layout: &Layout, settings: &Settings) -> Variables {
    let data = layout.user.as_ref().map(|user| user.join("plugins/data").join(&*manifest.name));
    let chosen = settings.plugin_config(&manifest.name);
    let mut user_config: Vec<(Box<str>, Box<str>)> = chosen.to_vec();
    user_config.extend(
        manifest.user_config.iter().filter(|(key, _)| !chosen.iter().any(|(name, _)| name == key)).cloned(),
    );
    Variables {
        root: folder.display().to_string(),
        data: data.map(|data| data.display().to_string()).unwrap_or_default(),
        project: layout.cwd.display().to_string(),
        user_config,
    }
}

struct Context<'a> {
    folder: &'a Path,
    name: &'a Arc<str>,
    variables: &'a Variables,
}

impl Context<'_> {
    /// A path that the manifest names.
    fn listed(&self, path: &ManifestPath, manifest: &(Arc<Path>, String), findings: &mut Findings) {
        let (file, text) = manifest;
        let mut wrong = |said: String| {
            findings.diagnostics.push(Problem::at(Rule::PluginPath, path.span, said).located(file, text));
        };
        let Some(target) = inside(self.folder, &path.path) else {
            return wrong(format!("`{}` leads out of the plugin's folder and is not read", path.path));
        };
        if !target.exists() {
            return wrong(format!("`{}` does not exist", path.path));
        }
        // Folders are part of the name only below the default folder.
        self.scan(&target, &*path.path == "agents", findings);
    }

    fn scan(&self, root: &Path, folders_count: bool, findings: &mut Findings) {
        let found = walk::files(root, walk::is_markdown_any_case);
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
            let outcome = agents::parse_file(&source, naming);
            (source, outcome)
        });
        for (source, outcome) in read {
            let substitute = |agent: &mut posse_core::definition::AgentDefinition| {
                if agent.body.contains("${") {
                    agent.body = plugin::substitute(&agent.body, self.variables).into();
                }
            };
            record(outcome, source, substitute, findings);
        }
    }
}

fn whole(path: &Path, rule: Rule, text: impl Into<String>) -> Diagnostic {
    file_problem(&path.into(), Problem::whole(rule, text))
}
