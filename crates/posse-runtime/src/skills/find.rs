//! Where skills and commands lie, and reading them. A bad file costs a diagnostic, never the others.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use posse_core::diagnostic::{Diagnostic, Problem, Rule};
use posse_core::origin::{Origin, Source, Standing};
use posse_core::skill::{self, Kind, Naming, SkillFindings, SkillRegistry};

use crate::catalog::{Catalog, CatalogOptions, Plugin, walk};
use crate::fence::Fence;
use crate::hooks::PluginEnv;
use crate::plugins::CommandPlace;
use crate::read;
use crate::world::World;

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// What a plugin brings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginSkills {
    /// The plugin.
    pub name: Arc<str>,
    /// Its folder.
    pub root: PathBuf,
    /// Folders of skills, or single skills.
    pub skills: Vec<PathBuf>,
    /// Where its commands are.
    pub commands: Vec<CommandPlace>,
    /// What `${…}` in its texts stands for, besides what every skill knows.
    pub variables: Vec<(String, String)>,
    /// What its hooks are told.
    pub environment: PluginEnv,
    /// Whether the administrator enables it.
    pub is_managed: bool,
}

impl PluginSkills {
    /// What a plugin says it brings. A model reads the texts: what is secret is left out.
    pub fn of(plugin: &Plugin) -> Self {
        let public = plugin.public_variables();
        let folders = [("CLAUDE_PLUGIN_ROOT", public.root), ("CLAUDE_PLUGIN_DATA", public.data)];
        let folders = folders.map(|(name, value)| (name.to_owned(), value));
        let chosen =
            public.user_config.iter().map(|(key, value)| (format!("user_config.{key}"), value.to_string()));
        Self {
            name: Arc::clone(&plugin.name),
            root: plugin.path.clone(),
            skills: plugin.skills.clone(),
            commands: plugin.commands.clone(),
            variables: folders.into_iter().chain(chosen).collect(),
            environment: PluginEnv::of(plugin),
            is_managed: plugin.is_managed,
        }
    }
}

/// A folder like `.claude`, with its rank.
#[derive(Clone, Debug)]
struct Home {
    path: PathBuf,
    origin: Origin,
    standing: Standing,
    /// What links must not lead out of.
    fence: Option<Fence>,
}

/// Everywhere skills are looked for.
#[derive(Clone, Debug, Default)]
pub struct Places {
    homes: Vec<Home>,
    plugins: Vec<PluginSkills>,
    /// What is not looked at although it is there.
    passed_over: Vec<Diagnostic>,
}

/// What all files were when somebody looked.
pub(super) type Seal = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// A file that may be a skill or a command.
struct Candidate {
    file: PathBuf,
    kind: Kind,
    folders: Vec<String>,
    stem: String,
    source: Source,
    /// What it says, if that stands in no file of its own.
    text: Option<String>,
}

impl Places {
    /// The places of a session: where its agents lie, skills and commands lie beside them.
    pub fn of(
        catalog: &Catalog,
        world: &World,
        options: &CatalogOptions,
        plugins: Vec<PluginSkills>,
    ) -> Self {
        let mut places = Self::default();
        if options.safe_mode || world.env.is_on("CLAUDE_CODE_SAFE_MODE") {
            return places;
        }
        let bare = options.bare || world.env.is_on("CLAUDE_CODE_SIMPLE");
        let only_plugins = catalog.settings.plugin_only.skills;
        for folder in &catalog.layout.agent_folders {
            let Some(path) = folder.path.parent().map(Path::to_owned) else { continue };
            let is_managed = folder.origin == Origin::Managed;
            if bare && !is_managed {
                continue;
            }
            let fence = catalog.layout.fence(folder);
            let home = Home { path, origin: folder.origin, standing: folder.standing, fence };
            if only_plugins && !is_managed {
                places.pass_over(&home, catalog);
            } else {
                places.homes.push(home);
            }
        }
        if !bare {
            places.plugins = plugins;
        }
        places
    }

    /// Only what plugins bring.
    pub fn with_plugins(plugins: Vec<PluginSkills>) -> Self {
        Self { plugins, ..Self::default() }
    }

    fn pass_over(&mut self, home: &Home, catalog: &Catalog) {
        let by = catalog.settings.plugin_only_by.as_ref();
        let by = by.map(|by| by.file.display().to_string()).unwrap_or_default();
        let text = format!("not read: {by} allows skills only from plugins and administrators");
        for folder in
            ["skills", "commands"].map(|name| home.path.join(name)).into_iter().filter(|f| f.is_dir())
        {
            let file: Arc<Path> = folder.into();
            self.passed_over.push(Diagnostic::of_file(Rule::SourceDisabled, &file, None, text.clone()));
        }
    }

    /// What a plugin's texts know besides.
    pub(super) fn variables(&self, plugin: &str) -> &[(String, String)] {
        self.plugin(plugin).map_or(&[], |plugin| &plugin.variables)
    }

    pub(super) fn plugin(&self, name: &str) -> Option<&PluginSkills> {
        self.plugins.iter().find(|known| &*known.name == name)
    }

    /// Reads everything.
    pub fn read(&self) -> SkillRegistry {
        let mut findings = SkillFindings { skills: Vec::new(), diagnostics: self.passed_over.clone() };
        for candidate in self.candidates(&mut findings.diagnostics) {
            candidate.read(&mut findings);
        }
        SkillRegistry::build(findings)
    }

    /// What all files are now.
    pub(super) fn seal(&self) -> Seal {
        let of = |candidate: Candidate| {
            let metadata = candidate.file.metadata().ok();
            let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            (candidate.file, modified, metadata.map_or(0, |metadata| metadata.len()))
        };
        self.candidates(&mut Vec::new()).into_iter().map(of).collect()
    }

    fn candidates(&self, problems: &mut Vec<Diagnostic>) -> Vec<Candidate> {
        let mut found = Vec::new();
        for home in &self.homes {
            let place = Place { home, plugin: None };
            place.skills(&home.path.join("skills"), &mut found, problems);
            place.commands(&home.path.join("commands"), &mut found, problems);
        }
        for plugin in &self.plugins {
            let home = Home {
                path: plugin.root.clone(),
                origin: Origin::Plugin,
                standing: Standing::Folder(0),
                fence: Some(Fence::of_plugin(&plugin.root)),
            };
            let place = Place { home: &home, plugin: Some(&plugin.name) };
            plugin.skills.iter().for_each(|folder| place.skills(folder, &mut found, problems));
            for command in &plugin.commands {
                match command {
                    CommandPlace::Folder(folder) => place.commands(folder, &mut found, problems),
                    CommandPlace::File { path, name } => {
                        if !place.is_fenced_off(path, problems) {
                            found.push(place.command(path, name.as_deref()));
                        }
                    }
                    CommandPlace::Here { name, text, description } => {
                        found.push(place.written(&plugin.root, name, text, description.as_deref()));
                    }
                }
            }
        }
        found
    }
}

struct Place<'a> {
    home: &'a Home,
    plugin: Option<&'a Arc<str>>,
}

impl Place<'_> {
    fn source(&self, file: &Path, root: &Path) -> Source {
        Source {
            origin: self.home.origin,
            standing: self.home.standing,
            file: file.into(),
            root: root.into(),
            plugin: self.plugin.map(Arc::clone),
        }
    }

    /// Whether a path leads to where it must not; that is said.
    fn is_fenced_off(&self, path: &Path, problems: &mut Vec<Diagnostic>) -> bool {
        let objection = self.home.fence.as_ref().and_then(|fence| fence.objection(path));
        let is_off = objection.is_some();
        problems.extend(objection);
        is_off
    }

    /// The skills right below a folder, or the folder itself if it is one.
    fn skills(&self, folder: &Path, found: &mut Vec<Candidate>, problems: &mut Vec<Diagnostic>) {
        if self.is_fenced_off(folder, problems) {
            return;
        }
        let own = folder.join(SKILL_FILE);
        if own.is_file() {
            if self.is_fenced_off(&own, problems) {
                return;
            }
            found.extend(self.skill(folder, own, folder));
            return;
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        folders.sort();
        for below in folders {
            let file = below.join(SKILL_FILE);
            // A link that leads nowhere is somebody's skill all the same; reading it says what is wrong.
            if file.symlink_metadata().is_ok() && !self.is_fenced_off(&file, problems) {
                found.extend(self.skill(&below, file, folder));
            }
        }
    }

    fn skill(&self, folder: &Path, file: PathBuf, root: &Path) -> Option<Candidate> {
        let stem = folder.file_name()?.to_string_lossy().into_owned();
        let source = self.source(&file, root);
        Some(Candidate { file, kind: Kind::Skill, folders: Vec::new(), stem, source, text: None })
    }

    /// A command in a file of its own, called as the manifest says, or like the file.
    fn command(&self, file: &Path, name: Option<&str>) -> Candidate {
        let own = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let stem = name.map(str::to_owned).or(own).unwrap_or_default();
        let source = self.source(file, file.parent().unwrap_or(file));
        Candidate {
            file: file.to_owned(),
            kind: Kind::Command,
            folders: Vec::new(),
            stem,
            source,
            text: None,
        }
    }

    /// A command that stands in the manifest.
    fn written(&self, root: &Path, name: &str, text: &str, description: Option<&str>) -> Candidate {
        let file = root.join(".claude-plugin/plugin.json");
        let header = description.map(|text| format!("---\ndescription: {}\n---\n", serde_json::json!(text)));
        let text = format!("{}{text}", header.unwrap_or_default());
        let source = self.source(&file, root);
        let (stem, kind) = (name.to_owned(), Kind::Command);
        Candidate { file, kind, folders: Vec::new(), stem, source, text: Some(text) }
    }

    fn commands(&self, folder: &Path, found: &mut Vec<Candidate>, problems: &mut Vec<Diagnostic>) {
        let walked = walk::files(folder, walk::is_markdown, self.home.fence.as_ref());
        problems.extend(walked.diagnostics);
        for file in walked.files {
            let below = file.strip_prefix(folder).ok().and_then(Path::parent);
            let parts = below.into_iter().flat_map(Path::components);
            let folders = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let source = self.source(&file, folder);
            found.push(Candidate { file, kind: Kind::Command, folders, stem, source, text: None });
        }
    }
}

impl Candidate {
    fn read(self, findings: &mut SkillFindings) {
        let Self { file, kind, folders, stem, source, text } = self;
        let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
        let naming = Naming { kind, plugin: source.plugin.as_deref(), folders: &folders, stem: &stem };
        let read = match text {
            Some(text) => Ok((text, None)),
            None => read::text(&file),
        };
        match read {
            Ok((text, warning)) => {
                let (skill, diagnostics) = skill::parse(&text, &source, naming);
                findings.skills.push(skill);
                findings.diagnostics.extend(diagnostics);
                findings.diagnostics.extend(warning.map(|problem| problem.located(&source.file, &text)));
            }
            Err(problem) => {
                let problem: Problem = problem;
                findings.diagnostics.push(problem.located(&source.file, ""));
            }
        }
    }
}
