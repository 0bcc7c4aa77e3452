//! `${…}` in what a plugin brings. What is not set stays as written, so that a missing value can be seen.

use serde_json::Value as Json;

use crate::node::{Entry, Node, Value};

/// What the variables of one plugin stand for.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// `${CLAUDE_PLUGIN_ROOT}`: the plugin's folder.
    pub root: String,
    /// `${CLAUDE_PLUGIN_DATA}`: where it may keep things.
    pub data: String,
    /// `${CLAUDE_PROJECT_DIR}`: the project.
    pub project: String,
    /// `${user_config.KEY}`.
    pub user_config: Vec<(Box<str>, Box<str>)>,
}

impl std::fmt::Debug for Variables {
    /// Without the values: some are secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&str> = self.user_config.iter().map(|(key, _)| &**key).collect();
        formatter.debug_struct("Variables").field("root", &self.root).field("user_config", &keys).finish()
    }
}

impl Variables {
    fn get(&self, name: &str) -> Option<&str> {
        // No folder is called nothing: an empty one is not set, and `rm -r ${…}/x` must not become `rm -r /x`.
        let folder = |path| Some(path).filter(|path: &&str| !path.is_empty());
        match name {
            "CLAUDE_PLUGIN_ROOT" => folder(&self.root),
            "CLAUDE_PLUGIN_DATA" => folder(&self.data),
            "CLAUDE_PROJECT_DIR" => folder(&self.project),
            other => {
                let key = other.strip_prefix("user_config.")?;
                self.user_config.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
            }
        }
    }
}

/// Puts values in place of variables, in one pass: a value that looks like a variable is not replaced again.
pub fn substitute(text: &str, variables: &Variables) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let value = from.find('}').and_then(|end| Some((variables.get(&from[2..end])?, end + 1)));
        let (text, used) = value.unwrap_or((&from[..2], 2));
        out.push_str(text);
        rest = &from[used..];
    }
    out.push_str(rest);
    out
}

/// The keys of `${user_config.KEY}` in a text that have no value.
pub fn unset<'t>(text: &'t str, variables: &Variables) -> Vec<&'t str> {
    let mut keys: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${user_config.") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find('}') else { break };
        let name = &rest[..end];
        if variables.get(name).is_none()
            && let Some(key) =
                name.strip_prefix("user_config.").filter(|key| !key.is_empty() && !key.contains("${"))
            && !keys.contains(&key)
        {
            keys.push(key);
        }
    }
    keys
}

/// A tree as JSON, with values in place of variables in every text of it.
pub fn expand(node: &Node, variables: &Variables) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(yes) => (*yes).into(),
        Value::Number(number) => serde_json::from_str(number).unwrap_or_else(|_| (**number).into()),
        Value::Text(text) => substitute(text, variables).into(),
        Value::List(items) => items.iter().map(|item| expand(item, variables)).collect(),
        Value::Map(entries) => {
            let entry = |entry: &Entry| (entry.key.to_string(), expand(&entry.node, variables));
            Json::Object(entries.iter().map(entry).collect())
        }
    }
}

/// All texts of a tree.
pub fn texts(node: &Node) -> Vec<&str> {
    match &node.value {
        Value::Text(text) => vec![text],
        Value::List(items) => items.iter().flat_map(texts).collect(),
        Value::Map(entries) => entries.iter().flat_map(|entry| texts(&entry.node)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
