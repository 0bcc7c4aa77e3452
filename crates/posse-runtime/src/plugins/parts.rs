//! What a plugin's folder brings: its manifest, hooks, servers, skills and commands, with what is wrong with them; and
//! what all of it may do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::{self, Naming, Parsed};
use posse_core::diagnostic::{Diagnostic, Problem, Rule};
use posse_core::hooks::{HookGroup, HookKind};
use posse_core::json;
use posse_core::mcp::{self, McpConfig};
use posse_core::node::Node;
use posse_core::origin::{Origin, Source, Standing};
use posse_core::plugin::{
    self, Command, CommandText, HooksAt, Manifest, ManifestPath, PowerKind, Powers, Reach, ServersAt,
};
use posse_core::skill::{self, Kind, SkillDefinition};

use super::digest::{Tree, hex, mark};
use crate::fence::Fence;

const MANIFEST: &str = ".claude-plugin/plugin.json";
const OLD_MANIFEST: &str = "plugin.json";

/// Whether a folder is a plugin.
pub fn is_plugin(path: &Path) -> bool {
    path.join(MANIFEST).is_file() || path.join(OLD_MANIFEST).is_file()
}

/// Whether a folder has what plugins are made of: a manifest is optional.
pub fn has_parts(path: &Path) -> bool {
    const PARTS: [&str; 5] = ["agents", "skills", "commands", "hooks", ".mcp.json"];
    PARTS.iter().any(|part| path.join(part).exists())
}

/// Whether a folder holds a list of plugins.
pub fn is_marketplace(path: &Path) -> bool {
    path.join(super::marketplace::FILE).is_file()
}

/// Hooks, and the file they stand in.
#[derive(Clone, Debug, PartialEq)]
pub struct PartFile {
    /// The file.
    pub file: Arc<Path>,
    /// The hooks.
    pub groups: Vec<HookGroup>,
}

/// A server, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name within the plugin.
    pub name: Box<str>,
    /// The file it stands in.
    pub file: Arc<Path>,
    /// What is written.
    pub node: Node,
    /// How it is reached, as written.
    pub config: McpConfig,
}

/// Where commands are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandPlace {
    /// A folder of files; folders below it are part of the names.
    Folder(PathBuf),
    /// A file, called like itself unless the manifest says how.
    File {
        /// The file.
        path: PathBuf,
        /// The name the manifest gives it.
        name: Option<Box<str>>,
    },
    /// A text in the manifest.
    Here {
        /// Its name.
        name: Box<str>,
        /// The text.
        text: Box<str>,
        /// What the manifest says of it.
        description: Option<Box<str>>,
    },
}

/// What a plugin's folder brings.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The folder.
    pub root: PathBuf,
    /// The manifest; of a plugin without one, its name alone.
    pub manifest: Manifest,
    /// The manifest's file, or the folder.
    pub manifest_file: Arc<Path>,
    /// The manifest's text.
    pub manifest_text: String,
    /// Hooks, file by file.
    pub hooks: Vec<PartFile>,
    /// MCP servers.
    pub servers: Vec<Server>,
    /// Folders of skills, and skills themselves.
    pub skills: Vec<PathBuf>,
    /// Commands.
    pub commands: Vec<CommandPlace>,
}

impl Parts {
    /// Reads a plugin's folder. `None` if it cannot be used; the diagnostics say why, and what else is wrong.
    pub fn read(root: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let (manifest, manifest_file, manifest_text) = manifest(root, diagnostics)?;
        let mut parts = Self {
            root: root.to_owned(),
            manifest,
            manifest_file,
            manifest_text,
            hooks: Vec::new(),
            servers: Vec::new(),
            skills: Vec::new(),
            commands: Vec::new(),
        };
        parts.read_hooks(diagnostics);
        parts.read_servers(diagnostics);
        parts.find_skills(diagnostics);
        parts.find_commands(diagnostics);
        Some(parts)
    }

    /// What a path of the manifest leads to; what it does not lead to is said.
    pub fn target(&self, path: &ManifestPath, diagnostics: &mut Vec<Diagnostic>) -> Option<PathBuf> {
        let target = self.root.join(&*path.path);
        // The text of the path stays inside; a link may still lead out.
        let real = target.canonicalize().ok();
        let said = match (&real, self.root.canonicalize()) {
            (None, _) => format!("`{}` does not exist", path.path),
            (Some(real), Ok(root)) if !real.starts_with(&root) => {
                format!("`{}` is a link that leads out of the plugin's folder and is not read", path.path)
            }
            (Some(_), _) => return Some(target),
        };
        let problem = Problem::at(Rule::PluginPath, path.span, said);
        diagnostics.push(problem.located(&self.manifest_file, &self.manifest_text));
        None
    }

    /// Whether a file that has its usual name lies inside; if a link leads out, that is said.
    fn is_inside(&self, path: &Path, diagnostics: &mut Vec<Diagnostic>) -> bool {
        let objection = Fence::of_plugin(&self.root).objection(path);
        let is_inside = objection.is_none();
        diagnostics.extend(objection);
        is_inside
    }

    fn read_hooks(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let default = self.root.join("hooks/hooks.json");
        let mut files: Vec<PathBuf> = Vec::new();
        if default.exists() && self.is_inside(&default, diagnostics) {
            files.push(default);
        }
        for at in &self.manifest.hooks.clone() {
            match at {
                HooksAt::File(path) => {
                    let target = self.target(path, diagnostics);
                    files.extend(target.filter(|target| !files.contains(target)));
                }
                HooksAt::Here(node) => {
                    let mut problems = Vec::new();
                    let groups = plugin::read_hooks(node, &mut problems);
                    let located =
                        |problem: Problem| problem.located(&self.manifest_file, &self.manifest_text);
                    // Without `hooks` around them is how they are written inside a manifest.
                    problems.retain(|problem| problem.rule != Rule::OldManifest);
                    diagnostics.extend(problems.into_iter().map(located));
                    self.hooks.push(PartFile { file: Arc::clone(&self.manifest_file), groups });
                }
            }
        }
        for path in files {
            let Some((node, file, text)) = tree(&path, diagnostics) else { continue };
            let mut problems = Vec::new();
            let groups = plugin::read_hooks(&node, &mut problems);
            diagnostics.extend(problems.into_iter().map(|problem| problem.located(&file, &text)));
            self.hooks.push(PartFile { file, groups });
        }
        self.hooks.retain(|part| !part.groups.is_empty());
    }

    fn read_servers(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let default = self.root.join(".mcp.json");
        let mut found: Vec<(Node, Arc<Path>, String)> = Vec::new();
        if default.exists() && self.is_inside(&default, diagnostics) {
            found.extend(tree(&default, diagnostics));
        }
        for at in &self.manifest.mcp_servers.clone() {
            match at {
                ServersAt::File(path) => {
                    let target = self.target(path, diagnostics).filter(|target| *target != default);
                    found.extend(target.and_then(|target| tree(&target, diagnostics)));
                }
                ServersAt::Here(node) => {
                    found.push((node.clone(), Arc::clone(&self.manifest_file), self.manifest_text.clone()));
                }
            }
        }
        for (node, file, text) in found {
            let mut problems = Vec::new();
            for (name, node, config) in plugin::read_servers(&node, &mut problems) {
                // What the manifest says comes later and wins.
                self.servers.retain(|other| other.name != name);
                self.servers.push(Server { name, file: Arc::clone(&file), node, config });
            }
            diagnostics.extend(problems.into_iter().map(|problem| problem.located(&file, &text)));
        }
    }

    fn find_skills(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let default = self.root.join("skills");
        if default.is_dir() {
            self.skills.push(default);
        } else if self.root.join("SKILL.md").is_file() {
            self.skills.push(self.root.clone());
        }
        for path in &self.manifest.skills.clone() {
            if let Some(target) =
                self.target(path, diagnostics).filter(|target| !self.skills.contains(target))
            {
                self.skills.push(target);
            }
        }
    }

    fn find_commands(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let Some(commands) = self.manifest.commands.clone() else {
            let default = self.root.join("commands");
            if default.is_dir() {
                self.commands.push(CommandPlace::Folder(default));
            }
            return;
        };
        for command in commands {
            let place = match command {
                Command::Path(path) => self.target(&path, diagnostics).map(|path| {
                    if path.is_dir() {
                        CommandPlace::Folder(path)
                    } else {
                        CommandPlace::File { path, name: None }
                    }
                }),
                Command::Named { name, text: CommandText::File(path), .. } => {
                    let target = self.target(&path, diagnostics);
                    target.map(|path| CommandPlace::File { path, name: Some(name) })
                }
                Command::Named { name, text: CommandText::Here(text), description } => {
                    Some(CommandPlace::Here { name, text, description })
                }
            };
            self.commands.extend(place);
        }
    }

    /// What all of it may do.
    pub fn powers(&self, content: &Tree) -> Powers {
        let mut powers = Powers::default();
        for group in self.hooks.iter().flat_map(|part| &part.groups) {
            let name = match &group.matcher {
                Some(matcher) if !matcher.is_empty() => format!("{} ({matcher})", group.event.name()),
                Some(_) | None => group.event.name().to_owned(),
            };
            let reach = group.handlers.iter().map(|handler| words_of(&handler.kind));
            powers.add(PowerKind::Hook, name, Reach::these(reach));
        }
        for server in &self.servers {
            let more: &[(Box<str>, Box<str>)] = match &server.config.reach {
                mcp::Reach::Stdio { env, .. } => env,
                mcp::Reach::Remote { headers, .. } => headers,
                mcp::Reach::Sdk { .. } => &[],
            };
            let more = more.iter().map(|(name, value)| format!("{name}={value}"));
            let reach = std::iter::once(server.config.words()).chain(more);
            powers.add(PowerKind::Server, server.name.clone(), Reach::these(reach));
        }
        for option in &self.manifest.user_config {
            powers.option(option.key.clone(), option.sensitive);
        }
        let texts = self.texts(content);
        if self.runs_programs() || texts.iter().any(Text::may_run) {
            for file in content.files.iter().filter(|file| !is_prose(&file.path)) {
                // Another content is another program.
                let mark = format!("content {}", hex(&file.digest[..6]));
                powers.add(PowerKind::Program, file.path.display().to_string(), Reach::these([mark]));
            }
        }
        for path in self.agent_files(content) {
            self.agent_power(&path, &mut powers);
        }
        texts.iter().for_each(|text| text.add_to(&mut powers));
        powers
    }

    fn runs_programs(&self) -> bool {
        let handlers = self.hooks.iter().flat_map(|part| &part.groups).flat_map(|group| &group.handlers);
        handlers.into_iter().any(|handler| matches!(handler.kind, HookKind::Command { .. }))
            || self.servers.iter().any(|server| matches!(server.config.reach, mcp::Reach::Stdio { .. }))
    }

    fn agent_files(&self, content: &Tree) -> Vec<PathBuf> {
        let roots: Vec<PathBuf> = match &self.manifest.agents {
            None => vec!["agents".into()],
            Some(paths) => paths.iter().map(|path| PathBuf::from(&*path.path)).collect(),
        };
        let is_agent = |path: &Path| roots.iter().any(|root| path.starts_with(root)) && is_markdown(path);
        content.files.iter().map(|file| file.path.clone()).filter(|path| is_agent(path)).collect()
    }

    fn agent_power(&self, path: &Path, powers: &mut Powers) {
        let full = self.root.join(path);
        let Ok((text, _)) = crate::read::text(&full) else { return };
        let source = Source {
            origin: Origin::Plugin,
            standing: Standing::Folder(0),
            file: full.as_path().into(),
            root: self.root.as_path().into(),
            plugin: Some(self.manifest.name.clone().into()),
        };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let below = path.strip_prefix("agents").ok().and_then(Path::parent);
        let folders: Vec<_> = below.into_iter().flatten().map(|part| part.to_string_lossy()).collect();
        let folders: Vec<&str> = folders.iter().map(|part| &**part).collect();
        let naming = Naming::Plugin { plugin: &self.manifest.name, folders: &folders, stem: &stem };
        let (Parsed::Agent(agent), _) = definition::parse(&text, &source, naming) else { return };
        let reach = match &agent.tools {
            None => Reach::All,
            Some(tools) if tools.iter().any(|tool| &*tool.text == "*") => Reach::All,
            Some(tools) => Reach::these(tools.iter().map(|tool| tool.text.clone())),
        };
        powers.add(PowerKind::Agent, agent.name.to_string(), reach);
    }

    /// Skills and commands, as a session would read them.
    fn texts(&self, content: &Tree) -> Vec<Text> {
        let below = |folder: &Path| folder.strip_prefix(&self.root).map(Path::to_owned).unwrap_or_default();
        let mut texts = Vec::new();
        for folder in &self.skills {
            let folder = below(folder);
            for file in content.files.iter().filter(|file| file.path.starts_with(&folder)) {
                if file.path.file_name().is_some_and(|name| name == "SKILL.md") {
                    let name = file.path.parent().and_then(Path::file_name);
                    let name =
                        name.map_or_else(|| (*self.manifest.name).into(), |name| name.to_string_lossy());
                    texts.push(self.text(Kind::Skill, &name, &self.root.join(&file.path)));
                }
            }
        }
        for place in &self.commands {
            match place {
                CommandPlace::Folder(folder) => {
                    let folder = below(folder);
                    let files = content.files.iter().map(|file| &file.path);
                    for path in files.filter(|path| path.starts_with(&folder) && is_markdown(path)) {
                        let name = path.strip_prefix(&folder).unwrap_or(path).with_extension("");
                        let name = name.display().to_string().replace('/', ":");
                        texts.push(self.text(Kind::Command, &name, &self.root.join(path)));
                    }
                }
                CommandPlace::File { path, name } => {
                    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into()).unwrap_or_default();
                    texts.push(self.text(Kind::Command, &name.clone().unwrap_or(stem), path));
                }
                CommandPlace::Here { name, text, .. } => {
                    texts.push(self.parsed(Kind::Command, name, &self.manifest_file, text));
                }
            }
        }
        texts
    }

    fn text(&self, kind: Kind, name: &str, file: &Path) -> Text {
        let text = crate::read::text(file).map(|(text, _)| text).unwrap_or_default();
        self.parsed(kind, name, file, &text)
    }

    fn parsed(&self, kind: Kind, name: &str, file: &Path, text: &str) -> Text {
        let source = Source {
            origin: Origin::Plugin,
            standing: Standing::Folder(0),
            file: file.into(),
            root: self.root.as_path().into(),
            plugin: Some(self.manifest.name.clone().into()),
        };
        let naming = skill::Naming { kind, plugin: None, folders: &[], stem: name };
        let (skill, _) = skill::parse(text, &source, naming);
        Text {
            skill,
            file: file.strip_prefix(&self.root).unwrap_or(file).to_owned(),
            mark: mark(text.as_bytes()),
        }
    }
}

/// A skill or a command.
struct Text {
    skill: SkillDefinition,
    /// Below the plugin's folder.
    file: PathBuf,
    mark: String,
}

impl Text {
    /// Whether something may be run because of it that nobody is asked about.
    fn may_run(&self) -> bool {
        !self.skill.grants_nothing() || self.skill.commands().next().is_some()
    }

    /// What it allows and runs. Under what it allows its text is as good as a program: another text, another program.
    fn add_to(&self, powers: &mut Powers) {
        let kind = match self.skill.kind {
            Kind::Skill => PowerKind::Skill,
            Kind::Command => PowerKind::Command,
        };
        let tools = &self.skill.allowed_tools;
        let reach = if tools.iter().any(|tool| &**tool == "*") {
            Reach::All
        } else {
            let commands = self.skill.commands().map(|command| format!("!`{command}`").into());
            Reach::these(tools.iter().cloned().chain(commands))
        };
        powers.add(kind, self.skill.name.clone(), reach);
        if !self.skill.grants_nothing() {
            let mark = format!("content {}", self.mark);
            powers.add(PowerKind::Program, self.file.display().to_string(), Reach::these([mark]));
        }
    }
}

/// What a hook does, so that two that do something else never look the same.
fn words_of(kind: &HookKind) -> String {
    let rest = match kind {
        HookKind::Command { .. } => return kind.label(),
        HookKind::Http { url, headers, allowed_env } => format!("{url} {headers:?} {allowed_env:?}"),
        HookKind::McpTool { input, .. } => {
            let input = input.as_ref().map(|input| plugin::expand(input, &plugin::Variables::default()));
            input.map(|input| input.to_string()).unwrap_or_default()
        }
        HookKind::Prompt { prompt, .. } | HookKind::Agent { prompt, .. } => prompt.to_string(),
    };
    format!("{} (content {})", kind.label(), mark(rest.as_bytes()))
}

/// The manifest; a plugin without one is called like its folder.
fn manifest(root: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<(Manifest, Arc<Path>, String)> {
    let modern = root.join(MANIFEST);
    let old = root.join(OLD_MANIFEST);
    let path = if modern.is_file() { &modern } else { &old };
    let folder = root.file_name()?.to_string_lossy().into_owned();
    if !path.is_file() {
        let manifest = Manifest { name: folder.into(), ..Manifest::default() };
        return Some((manifest, root.into(), String::new()));
    }
    let file: Arc<Path> = path.as_path().into();
    if path == &old {
        let text = "a manifest in the plugin's root: the form of older versions";
        let problem = Problem::whole(Rule::OldManifest, text).hint(format!("move it to {MANIFEST}"));
        diagnostics.push(problem.located(&file, ""));
    }
    let (node, _, text) = tree(path, diagnostics)?;
    let (manifest, problems) = plugin::read_manifest(&node, &folder);
    diagnostics.extend(problems.into_iter().map(|problem| problem.located(&file, &text)));
    Some((manifest?, file, text))
}

/// A JSON file as a tree; problems are recorded.
fn tree(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<(Node, Arc<Path>, String)> {
    let file: Arc<Path> = path.into();
    match crate::read::text(path) {
        Ok((text, _)) => {
            let (node, problems) = json::parse(&text);
            let silent = node.is_none() && problems.is_empty();
            diagnostics.extend(problems.into_iter().map(|problem| problem.located(&file, &text)));
            if silent {
                let problem = Problem::whole(Rule::JsonSyntax, "the file is empty");
                diagnostics.push(problem.located(&file, ""));
            }
            node.map(|node| (node, file, text))
        }
        Err(problem) => {
            diagnostics.push(problem.located(&file, ""));
            None
        }
    }
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// Files that nobody runs.
fn is_prose(path: &Path) -> bool {
    const KINDS: [&str; 6] = ["md", "txt", "json", "png", "svg", "jpg"];
    match path.extension() {
        Some(extension) => KINDS.iter().any(|kind| extension.eq_ignore_ascii_case(kind)),
        None => path.file_name().is_some_and(|name| name == "LICENSE" || name == ".gitignore"),
    }
}
