//! `marketplace.json`: a list of plugins and where each one lies. One bad entry costs itself, never its neighbours.

use super::manifest::folder_name;
use crate::diagnostic::{Problem, Rule};
use crate::node::{Node, Value};
use crate::text::Span;

/// A list of plugins.
#[derive(Clone, Debug, PartialEq)]
pub struct Marketplace {
    /// Its name: what stands behind the `@`.
    pub name: Box<str>,
    /// What it says of itself.
    pub description: Option<Box<str>>,
    /// The plugins, in order, without those whose name stands twice.
    pub plugins: Vec<PluginEntry>,
}

/// A plugin in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginEntry {
    /// What it is called.
    pub name: Box<str>,
    /// Where it lies.
    pub source: PluginSource,
    /// What the list says of it.
    pub description: Option<Box<str>>,
    /// Its version, as the list has it.
    pub version: Option<Box<str>>,
    /// Where it stands in the list.
    pub span: Span,
    /// The entry itself: the manifest of a plugin that has none.
    pub node: Node,
}

/// Where a plugin lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// Below the marketplace's folder.
    Folder(Box<str>),
    /// In a repository.
    Git {
        /// What to clone.
        url: Box<str>,
        /// Which branch or tag.
        reference: Option<Box<str>>,
        /// Which commit exactly.
        commit: Option<Box<str>>,
        /// Which folder of it.
        folder: Option<Box<str>>,
    },
    /// Somewhere posse does not go, and why.
    Unsupported(String),
}

/// Reads a list.
pub fn read_marketplace(root: &Node) -> (Option<Marketplace>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut refuse = |span, text: String| problems.push(Problem::at(Rule::InvalidMarketplace, span, text));
    if root.as_map().is_none() {
        refuse(root.span, format!("a marketplace is an object; this is {}", root.kind()));
        return (None, problems);
    }
    let Some(list) = root.get("plugins").and_then(Node::as_list) else {
        refuse(root.span, "a marketplace has `plugins`, a list".into());
        return (None, problems);
    };
    let name = root.text_of("name").unwrap_or_default();
    if name.is_empty() || *folder_name(&name) != *name.to_lowercase() || name.contains([':', '@']) {
        let span = root.get("name").map_or(root.span, |node| node.span);
        refuse(
            span,
            format!("a marketplace needs a name of letters, digits, `-`, `_` and `.`; this is `{name}`"),
        );
        return (None, problems);
    }
    let base = root.get("metadata").and_then(|node| node.text_of("pluginRoot"));
    let mut plugins: Vec<PluginEntry> = Vec::new();
    for node in list {
        match entry(node, base.as_deref()) {
            Ok(entry) if plugins.iter().any(|other| other.name == entry.name) => {
                let text = format!("`{}` stands in the list twice; the first counts", entry.name);
                problems.push(Problem::at(Rule::DuplicateKey, node.span, text));
            }
            Ok(entry) => plugins.push(entry),
            Err(text) => {
                let problem = Problem::at(Rule::InvalidMarketplace, node.span, text);
                problems.push(problem.hint("the entry is left out"));
            }
        }
    }
    let described = root.get("metadata").and_then(|node| node.text_of("description"));
    let description = root.text_of("description").or(described);
    (Some(Marketplace { name, description, plugins }), problems)
}

fn entry(node: &Node, base: Option<&str>) -> Result<PluginEntry, String> {
    let name = node.text_of("name").unwrap_or_default();
    if name.is_empty()
        || name.starts_with('.')
        || name.contains(|c: char| c.is_whitespace() || c.is_control() || "/\\@".contains(c))
    {
        return Err(format!("a plugin needs a name without blanks, `/` and `@`; this is `{name}`"));
    }
    let source = source(node.get("source"), base)?;
    Ok(PluginEntry {
        name,
        source,
        description: node.text_of("description"),
        version: node.get("version").and_then(Node::scalar_text).map(Into::into),
        span: node.span,
        node: node.clone(),
    })
}

fn source(node: Option<&Node>, base: Option<&str>) -> Result<PluginSource, String> {
    let node = node.ok_or("a plugin needs a `source`")?;
    match &node.value {
        Value::Text(path) => folder(path, base),
        Value::Map(_) => remote(node),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) => Err(format!(
            "`source` takes a path such as \"./plugins/x\", or an object; this is {}",
            node.kind()
        )),
    }
}

/// A path below the list's own folder. Without `./` it lies below `metadata.pluginRoot`.
fn folder(path: &str, base: Option<&str>) -> Result<PluginSource, String> {
    let joined = match base {
        Some(base) if !path.starts_with("./") => format!("{base}/{path}"),
        Some(_) | None => path.to_owned(),
    };
    Ok(PluginSource::Folder(below(&joined)?.into()))
}

/// A relative path without detours; or why it is none.
fn below(path: &str) -> Result<String, String> {
    let leads_out = path.starts_with(['/', '~'])
        || path.contains(['\\', '\0'])
        || path.split('/').any(|part| part == "..");
    if leads_out || path.is_empty() {
        return Err(format!("`{path}` does not lie below the marketplace's folder"));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    Ok(parts.join("/"))
}

fn remote(node: &Node) -> Result<PluginSource, String> {
    let kind = node.text_of("source").unwrap_or_default();
    let needs = |key: &str| {
        node.text_of(key).filter(|text| !text.is_empty()).ok_or(format!("a `{kind}` source needs `{key}`"))
    };
    let url = match &*kind {
        "github" => format!("https://github.com/{}.git", needs("repo")?).into(),
        "url" | "git" | "git-subdir" => needs("url")?,
        "npm" | "pip" => {
            let what = node.text_of("package").unwrap_or_default();
            return Ok(PluginSource::Unsupported(format!(
                "`{what}` comes from {kind}, which posse does not install from"
            )));
        }
        other => {
            return Ok(PluginSource::Unsupported(format!("posse knows no source of the kind `{other}`")));
        }
    };
    let folder = node.text_of("path").map(|path| below(&path)).transpose()?;
    Ok(PluginSource::Git {
        url,
        reference: node.text_of("ref"),
        commit: node.text_of("sha").or_else(|| node.text_of("commit")),
        folder: folder.map(Into::into),
    })
}
