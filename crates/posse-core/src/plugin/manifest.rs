//! `plugin.json`. A wrong type refuses the whole plugin, as the reference does: half a plugin helps nobody. Two older
//! forms are accepted and reported: folders in `agents`, and a manifest in the plugin's root.

use crate::diagnostic::{Problem, Rule};
use crate::node::{Node, Value};
use crate::text::Span;

/// A plugin's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The plugin's name: the first part of its agents' names.
    pub name: Box<str>,
    /// Its version.
    pub version: Option<Box<str>>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// `agents`: replaces the default folder; an empty list means none.
    pub agents: Option<Vec<ManifestPath>>,
    /// Defaults of `userConfig`, by key.
    pub user_config: Vec<(Box<str>, Box<str>)>,
}

/// A path in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestPath {
    /// Relative to the plugin, without the leading `./`.
    pub path: Box<str>,
    /// Where it stands.
    pub span: Span,
}

/// Reads a manifest; any problem that is an error refuses the plugin.
pub fn read_manifest(root: &Node) -> (Option<Manifest>, Vec<Problem>) {
    let mut check = Check { root, problems: Vec::new() };
    if root.as_map().is_none() {
        check.refuse(root.span, format!("a manifest is an object; this is {}", root.kind()));
        return (None, check.problems);
    }
    let manifest = Manifest {
        name: check.name(),
        version: check.text("version"),
        description: check.text("description"),
        agents: check.agents(),
        user_config: check.user_config(),
    };
    check.text("license");
    check.text("repository");
    check.author();
    check.homepage();
    check.keywords();
    check.list("dependencies");
    check.map("settings");
    check.paths("commands", true);
    check.paths("skills", false);
    check.paths("outputStyles", false);
    let refused = check.problems.iter().any(|problem| problem.rule == Rule::InvalidPlugin);
    ((!refused).then_some(manifest), check.problems)
}

struct Check<'n> {
    root: &'n Node,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn refuse(&mut self, span: Span, text: impl Into<String>) {
        self.problems.push(Problem::at(Rule::InvalidPlugin, span, text));
    }

    fn wrong(&mut self, key: &str, takes: &str, node: &Node) {
        self.refuse(node.span, format!("`{key}` takes {takes}, not {}", node.kind()));
    }

    fn name(&mut self) -> Box<str> {
        match self.root.get("name").map(|node| (node.as_text(), node)) {
            Some((Some(name), _)) if !name.is_empty() && !name.contains(' ') => name.into(),
            Some((Some(name), node)) => {
                let hint = name.trim().replace(' ', "-").to_lowercase();
                let said = if name.is_empty() {
                    "the name is empty".into()
                } else {
                    format!("the name `{name}` holds a blank")
                };
                let problem = Problem::at(Rule::InvalidPlugin, node.span, said);
                self.problems.push(if hint.is_empty() {
                    problem
                } else {
                    problem.hint(format!("for example `{hint}`"))
                });
                Box::default()
            }
            Some((None, node)) => {
                self.wrong("name", "text", node);
                Box::default()
            }
            None => {
                self.refuse(self.root.span, "the manifest needs a `name`");
                Box::default()
            }
        }
    }

    fn text(&mut self, key: &str) -> Option<Box<str>> {
        let node = self.root.get(key)?;
        let text = node.as_text().map(Into::into);
        if text.is_none() {
            self.wrong(key, "text", node);
        }
        text
    }

    fn author(&mut self) {
        let Some(node) = self.root.get("author") else { return };
        let named = node.get("name").and_then(Node::as_text).is_some_and(|name| !name.is_empty());
        if !named {
            let problem =
                Problem::at(Rule::InvalidPlugin, node.span, "`author` takes an object with a `name`");
            self.problems.push(match node.as_text() {
                Some(name) => problem.hint(format!("write {{\"name\": {name:?}}}")),
                None => problem,
            });
        }
    }

    fn homepage(&mut self) {
        let Some(node) = self.root.get("homepage") else { return };
        let is_url = node.as_text().is_some_and(|text| {
            text.split_once(':').is_some_and(|(scheme, rest)| {
                scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
                    && !rest.is_empty()
            })
        });
        if !is_url {
            self.refuse(node.span, "`homepage` takes a URL");
        }
    }

    fn keywords(&mut self) {
        let Some(node) = self.root.get("keywords") else { return };
        if !node.as_list().is_some_and(|items| items.iter().all(|item| item.as_text().is_some())) {
            self.wrong("keywords", "a list of texts", node);
        }
    }

    fn list(&mut self, key: &str) {
        let Some(node) = self.root.get(key) else { return };
        if node.as_list().is_none() {
            self.wrong(key, "a list", node);
        }
    }

    fn map(&mut self, key: &str) {
        let Some(node) = self.root.get(key) else { return };
        if node.as_map().is_none() {
            self.wrong(key, "an object", node);
        }
    }

    fn user_config(&mut self) -> Vec<(Box<str>, Box<str>)> {
        self.map("userConfig");
        let entries = self.root.get("userConfig").and_then(Node::as_map).unwrap_or_default();
        let default = |node: &Node| node.get("default").and_then(Node::scalar_text).map(Box::from);
        entries.iter().filter_map(|entry| Some((entry.key.clone(), default(&entry.node)?))).collect()
    }

    /// `"./x.md"` or a list of such. A folder is the older form: accepted, and said.
    fn agents(&mut self) -> Option<Vec<ManifestPath>> {
        let node = self.root.get("agents")?;
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut paths = Vec::new();
        for item in items {
            let Some(text) = item.as_text() else {
                self.wrong("agents", "paths such as \"./agents/reviewer.md\"", item);
                continue;
            };
            let Some(path) = text.strip_prefix("./").or((text == ".").then_some("")) else {
                self.refuse(
                    item.span,
                    format!("`{text}` must begin with `./`: paths are relative to the plugin"),
                );
                continue;
            };
            if !path.ends_with(".md") && path.to_ascii_lowercase().ends_with(".md") {
                self.refuse(item.span, format!("`{text}` must end in `.md`, in lower case"));
                continue;
            }
            if !path.ends_with(".md") {
                self.problems.push(
                    Problem::at(
                        Rule::OldManifest,
                        item.span,
                        format!("`{text}` names a folder: the form of older versions"),
                    )
                    .hint("name the files one by one, or leave `agents` out and use the folder `agents/`"),
                );
            }
            paths.push(ManifestPath { path: path.trim_end_matches('/').into(), span: item.span });
        }
        Some(paths)
    }

    fn paths(&mut self, key: &str, map_allowed: bool) {
        let Some(node) = self.root.get(key) else { return };
        let is_path = |item: &Node| item.as_text().is_some_and(|text| text.starts_with("./"));
        let fits = match &node.value {
            Value::Text(_) => is_path(node),
            Value::List(items) => items.iter().all(is_path),
            Value::Map(entries) => {
                map_allowed
                    && entries
                        .iter()
                        .all(|e| e.node.get("source").is_some() || e.node.get("content").is_some())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        };
        if !fits {
            self.refuse(node.span, format!("`{key}` takes paths that begin with `./`"));
        }
    }
}
