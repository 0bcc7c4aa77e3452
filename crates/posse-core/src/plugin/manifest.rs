//! `plugin.json`. Only what is no object refuses the plugin; every other form that people really wrote is understood,
//! reported, and shown as it is written today.

use super::options::{self, UserOption};
use crate::diagnostic::{Problem, Rule};
use crate::hooks::{self, HookGroup};
use crate::mcp::{self, McpConfig};
use crate::node::{Entry, Node, Value};
use crate::suggest;
use crate::text::Span;

/// A plugin's manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// The plugin's name: the first part of its agents' names.
    pub name: Box<str>,
    /// Its version.
    pub version: Option<Box<str>>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// Who made it.
    pub author: Option<Box<str>>,
    /// Where to read about it.
    pub homepage: Option<Box<str>>,
    /// Where its source lies.
    pub repository: Option<Box<str>>,
    /// Its licence.
    pub license: Option<Box<str>>,
    /// Words to find it by.
    pub keywords: Vec<Box<str>>,
    /// `agents`: replaces the default folder; an empty list means none.
    pub agents: Option<Vec<ManifestPath>>,
    /// `skills`: folders besides the default one.
    pub skills: Vec<ManifestPath>,
    /// `commands`: replaces the default folder.
    pub commands: Option<Vec<Command>>,
    /// `hooks`, besides `hooks/hooks.json`.
    pub hooks: Vec<HooksAt>,
    /// `mcpServers`, besides `.mcp.json`.
    pub mcp_servers: Vec<ServersAt>,
    /// `userConfig`: what the user may or must choose.
    pub user_config: Vec<UserOption>,
    /// Names of plugins it needs.
    pub dependencies: Vec<Box<str>>,
}

/// A path in a manifest. It stays below the plugin's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestPath {
    /// Relative to the plugin, without the leading `./`.
    pub path: Box<str>,
    /// Where it stands.
    pub span: Span,
}

/// An entry of `commands`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A file, or a folder of files.
    Path(ManifestPath),
    /// A command with a name of its own.
    Named {
        /// The name, without the plugin's.
        name: Box<str>,
        /// Where its text is.
        text: CommandText,
        /// What it says of itself.
        description: Option<Box<str>>,
    },
}

/// The text of a named command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandText {
    /// In a file.
    File(ManifestPath),
    /// In the manifest.
    Here(Box<str>),
}

/// Where a manifest has hooks.
#[derive(Clone, Debug, PartialEq)]
pub enum HooksAt {
    /// In a file.
    File(ManifestPath),
    /// In the manifest.
    Here(Node),
}

/// Where a manifest has MCP servers.
#[derive(Clone, Debug, PartialEq)]
pub enum ServersAt {
    /// In a file.
    File(ManifestPath),
    /// In the manifest.
    Here(Node),
}

/// Parts of plugins that posse knows and has no use for.
const UNUSED: &[&str] =
    &["lspServers", "outputStyles", "settings", "themes", "monitors", "workflows", "channels"];
const USED: &[&str] = &[
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "agents",
    "skills",
    "commands",
    "hooks",
    "mcpServers",
    "userConfig",
    "dependencies",
];

/// Reads a manifest. `folder` is what the plugin's folder is called: the name of a plugin that does not say one.
pub fn read_manifest(root: &Node, folder: &str) -> (Option<Manifest>, Vec<Problem>) {
    let mut check = Check { root, problems: Vec::new() };
    if root.as_map().is_none() {
        let text = format!("a manifest is an object; this is {}", root.kind());
        check.problems.push(Problem::at(Rule::InvalidPlugin, root.span, text));
        return (None, check.problems);
    }
    let manifest = Manifest {
        name: check.name(folder),
        version: check.text("version"),
        description: check.text("description"),
        author: check.author(),
        homepage: check.homepage(),
        repository: check.repository(),
        license: check.text("license"),
        keywords: check.keywords(),
        agents: check.agents(),
        skills: check.paths("skills", "./skills/").unwrap_or_default(),
        commands: check.commands(),
        hooks: check.hooks(),
        mcp_servers: check.servers(),
        user_config: check.user_config(),
        dependencies: check.dependencies(),
    };
    check.others();
    (Some(manifest), check.problems)
}

struct Check<'n> {
    root: &'n Node,
    problems: Vec<Problem>,
}

impl<'n> Check<'n> {
    /// A form that is understood, and what to write instead.
    fn old(&mut self, span: Span, text: impl Into<String>, modern: impl Into<String>) {
        self.problems.push(Problem::at(Rule::OldManifest, span, text).hint(modern));
    }

    /// A value nobody can do anything with.
    fn ignored(&mut self, key: &str, takes: &str, node: &Node) {
        let text = format!("`{key}` takes {takes}, not {}; it is ignored", node.kind());
        self.problems.push(Problem::at(Rule::OldManifest, node.span, text));
    }

    fn name(&mut self, folder: &str) -> Box<str> {
        let Some(node) = self.root.get("name") else {
            let text = "the manifest has no `name`; the plugin is called like its folder";
            self.old(self.root.span, text, format!("write \"name\": {:?}", folder_name(folder)));
            return folder_name(folder).into();
        };
        let written = node.scalar_text().filter(|_| !matches!(node.value, Value::Null)).unwrap_or_default();
        let fits = node.as_text().is_some() && !written.is_empty() && !written.chars().any(is_awkward);
        if fits && !written.starts_with('.') {
            return written.into();
        }
        let called =
            Some(folder_name(written)).filter(|name| !name.is_empty()).unwrap_or_else(|| folder_name(folder));
        let what = match (node.as_text(), written.is_empty()) {
            (Some(_), false) => format!("the name `{written}` cannot stand before a `:`"),
            (Some(_), true) => "the name is empty".to_owned(),
            (None, _) => format!("`name` takes text, not {}", node.kind()),
        };
        self.old(node.span, format!("{what}; the plugin is called `{called}`"), format!("write {called:?}"));
        called.into()
    }

    fn text(&mut self, key: &str) -> Option<Box<str>> {
        let node = self.root.get(key)?;
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            Value::Number(text) => {
                self.old(node.span, format!("`{key}` takes text, not a number"), format!("write \"{text}\""));
                Some(text.clone())
            }
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => {
                self.ignored(key, "text", node);
                None
            }
        }
    }

    fn author(&mut self) -> Option<Box<str>> {
        const TAKES: &str = "`author` takes an object with a `name`";
        let node = self.root.get("author")?;
        let name = node.text_of("name").filter(|name| !name.is_empty());
        match (&name, node.as_text()) {
            (Some(_), _) => name,
            (None, Some(name)) => {
                self.old(node.span, TAKES, format!("write {{\"name\": {name:?}}}"));
                Some(name.into())
            }
            (None, None) => {
                self.problems.push(Problem::at(
                    Rule::OldManifest,
                    node.span,
                    format!("{TAKES}; it is ignored"),
                ));
                None
            }
        }
    }

    fn homepage(&mut self) -> Option<Box<str>> {
        let node = self.root.get("homepage")?;
        let is_url = |text: &str| {
            text.split_once(':').is_some_and(|(scheme, rest)| {
                scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
                    && !rest.is_empty()
            })
        };
        let url = node.as_text().filter(|text| is_url(text));
        if url.is_none() {
            let text = "`homepage` takes a URL; it is ignored";
            self.problems.push(Problem::at(Rule::OldManifest, node.span, text));
        }
        url.map(Into::into)
    }

    fn repository(&mut self) -> Option<Box<str>> {
        let url = self.root.get("repository").and_then(|node| Some((node, node.text_of("url")?)));
        if let Some((node, url)) = url {
            self.old(node.span, "`repository` takes text, not a mapping", format!("write {url:?}"));
            return Some(url);
        }
        self.text("repository")
    }

    fn keywords(&mut self) -> Vec<Box<str>> {
        let Some(node) = self.root.get("keywords") else { return Vec::new() };
        match &node.value {
            Value::List(items) => {
                for item in items.iter().filter(|item| item.as_text().is_none()) {
                    self.ignored("keywords", "a list of texts", item);
                }
                items.iter().filter_map(|item| item.as_text().map(Into::into)).collect()
            }
            Value::Text(text) => {
                let words: Vec<Box<str>> =
                    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Into::into).collect();
                self.old(node.span, "`keywords` takes a list of texts, not text", format!("write {words:?}"));
                words
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Map(_) => {
                self.ignored("keywords", "a list of texts", node);
                Vec::new()
            }
        }
    }

    /// A list of names, or of objects with a `name`; older ones map names to versions.
    fn dependencies(&mut self) -> Vec<Box<str>> {
        let Some(node) = self.root.get("dependencies") else { return Vec::new() };
        match &node.value {
            Value::List(items) => {
                let name = |item: &Node| item.as_text().map(Box::from).or_else(|| item.text_of("name"));
                items.iter().filter_map(name).collect()
            }
            Value::Map(_) => {
                // Such objects name packages of other kinds as often as plugins.
                self.old(
                    node.span,
                    "`dependencies` takes a list of plugins, not a mapping; it is ignored",
                    "write [\"other-plugin\"]",
                );
                Vec::new()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                self.ignored("dependencies", "a list", node);
                Vec::new()
            }
        }
    }

    fn user_config(&mut self) -> Vec<UserOption> {
        let Some(node) = self.root.get("userConfig") else { return Vec::new() };
        if node.as_map().is_none() {
            self.ignored("userConfig", "an object", node);
        }
        options::read(node, &mut self.problems)
    }

    /// The paths of a key that takes one or several.
    fn paths(&mut self, key: &str, example: &str) -> Option<Vec<ManifestPath>> {
        let node = self.root.get(key)?;
        let takes = format!("paths such as {example:?}");
        Some(one_or_many(node).iter().filter_map(|item| self.path(key, &takes, item)).collect())
    }

    fn path(&mut self, key: &str, takes: &str, item: &Node) -> Option<ManifestPath> {
        let Some(text) = item.as_text() else {
            self.ignored(key, takes, item);
            return None;
        };
        let leads_out = text.starts_with(['/', '~', '\\'])
            || text.get(1..2) == Some(":")
            || text.split(['/', '\\']).any(|part| part == "..");
        if leads_out || text.contains('\0') {
            let said = format!("`{text}` leads out of the plugin's folder and is not read");
            self.problems.push(
                Problem::at(Rule::PluginPath, item.span, said).hint("keep everything inside the plugin"),
            );
            return None;
        }
        if !text.starts_with("./") && text != "." {
            let said = format!("`{text}` does not begin with `./`");
            self.old(item.span, said, format!("write \"./{text}\""));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        Some(ManifestPath { path: parts.join("/").into(), span: item.span })
    }

    /// `"./x.md"` or a list of such. A folder is the older form: accepted, and said.
    fn agents(&mut self) -> Option<Vec<ManifestPath>> {
        let paths = self.paths("agents", "./agents/reviewer.md")?;
        for path in paths.iter().filter(|path| !path.path.to_ascii_lowercase().ends_with(".md")) {
            let shown = if path.path.is_empty() { "./" } else { &path.path };
            self.old(
                path.span,
                format!("`{shown}` names a folder: the form of older versions"),
                "name the files one by one, or leave `agents` out and use the folder `agents/`",
            );
        }
        Some(paths)
    }

    fn commands(&mut self) -> Option<Vec<Command>> {
        let Some(entries) = self.root.get("commands")?.as_map() else {
            let paths = self.paths("commands", "./commands/deploy.md")?;
            return Some(paths.into_iter().map(Command::Path).collect());
        };
        Some(entries.iter().filter_map(|entry| self.command(entry)).collect())
    }

    fn command(&mut self, entry: &Entry) -> Option<Command> {
        let source =
            entry.node.get("source").or_else(|| Some(&entry.node).filter(|node| node.as_text().is_some()));
        let text = match (source, entry.node.text_of("content")) {
            (Some(source), _) => CommandText::File(self.path("commands", "paths", source)?),
            (None, Some(content)) => CommandText::Here(content),
            (None, None) => {
                let text = format!("the command `{}` has neither `source` nor `content`", entry.key);
                self.problems
                    .push(Problem::at(Rule::OldManifest, entry.node.span, text).hint("it is left out"));
                return None;
            }
        };
        let description = entry.node.text_of("description");
        Some(Command::Named { name: entry.key.clone(), text, description })
    }

    fn hooks(&mut self) -> Vec<HooksAt> {
        let Some(node) = self.root.get("hooks") else { return Vec::new() };
        let mut found = Vec::new();
        for item in one_or_many(node) {
            match &item.value {
                Value::Map(_) => found.push(HooksAt::Here(item.clone())),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                    let path = self.path("hooks", "a path such as \"./hooks/hooks.json\", or hooks", item);
                    found.extend(path.map(HooksAt::File));
                }
            }
        }
        found
    }

    fn servers(&mut self) -> Vec<ServersAt> {
        let Some(node) = self.root.get("mcpServers") else { return Vec::new() };
        let mut found = Vec::new();
        for item in one_or_many(node) {
            match &item.value {
                Value::Map(_) => found.push(ServersAt::Here(item.clone())),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                    let Some(path) =
                        self.path("mcpServers", "a path such as \"./.mcp.json\", or servers", item)
                    else {
                        continue;
                    };
                    if path.path.ends_with(".json") {
                        found.push(ServersAt::File(path));
                    } else {
                        let text = format!("`{}` is a bundle, which posse does not read", path.path);
                        self.problems.push(
                            Problem::at(Rule::PluginPartUnused, item.span, text)
                                .hint("give the server's command, or a JSON file that does"),
                        );
                    }
                }
            }
        }
        found
    }

    /// Keys that mean nothing here: parts posse has no use for, and words that look like known ones.
    fn others(&mut self) {
        for entry in self.root.as_map().unwrap_or_default() {
            let key = &*entry.key;
            if UNUSED.contains(&key) {
                let text = format!("posse does not use `{key}` of plugins");
                self.problems.push(Problem::at(Rule::PluginPartUnused, entry.key_span, text));
            } else if !USED.contains(&key)
                && let Some(close) = suggest::closest(key, USED.iter().copied())
            {
                let text = format!("no such key: `{key}`; it is ignored");
                let problem = Problem::at(Rule::OldManifest, entry.key_span, text);
                self.problems.push(problem.hint(format!("did you mean `{close}`?")));
            }
        }
    }
}

fn one_or_many(node: &Node) -> &[Node] {
    node.as_list().unwrap_or(std::slice::from_ref(node))
}

/// What may not stand in a name that is part of others and of paths.
fn is_awkward(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\' | '@')
}

/// A name that can stand before a `:`, after a `/` and before an `@`. Nothing, if nothing of it can.
pub fn folder_name(name: &str) -> String {
    let word = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':') { c } else { '-' };
    let plain: String = name.trim().to_lowercase().chars().map(word).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-").trim_start_matches('.').to_owned()
}

/// The hooks of a `hooks.json`, or of a manifest: `{"hooks": {Event: […]}}`. The events alone are understood as well.
pub fn read_hooks(root: &Node, problems: &mut Vec<Problem>) -> Vec<HookGroup> {
    let Some(entries) = root.as_map() else {
        let text = format!("hooks are an object; this is {}", root.kind());
        problems.push(Problem::at(Rule::InvalidHook, root.span, text).hint(HOOKS));
        return Vec::new();
    };
    if let Some(hooks) = root.get("hooks") {
        return hooks::read(hooks, problems);
    }
    if !entries.iter().any(|entry| hooks::HookEvent::parse(&entry.key).is_some()) {
        problems.push(Problem::at(Rule::InvalidHook, root.span, "there are no `hooks` in it").hint(HOOKS));
        return Vec::new();
    }
    let text = "events without `hooks` around them: read here, refused by other tools";
    problems.push(Problem::at(Rule::OldManifest, root.span, text).hint(HOOKS));
    hooks::read(root, problems)
}

const HOOKS: &str = "write {\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": …}]}]}}";

/// The servers of an `.mcp.json`, or of a manifest: `{"mcpServers": {name: …}}`, or the servers alone.
pub fn read_servers(root: &Node, problems: &mut Vec<Problem>) -> Vec<(Box<str>, Node, McpConfig)> {
    let servers = root.get("mcpServers").unwrap_or(root);
    let Some(entries) = servers.as_map() else {
        let text = format!("MCP servers are an object of names; this is {}", servers.kind());
        problems.push(Problem::at(Rule::InvalidMcpServer, servers.span, text));
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries {
        match mcp::read_config(&entry.node) {
            Ok(config) => found.push((entry.key.clone(), entry.node.clone(), config)),
            Err(problem) => problems.push(problem.hint("the server is left out")),
        }
    }
    found
}
