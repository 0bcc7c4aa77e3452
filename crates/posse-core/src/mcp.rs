//! MCP servers as configured, in frontmatter and elsewhere. Knows shapes; connecting is the runtime's business.

mod choose;
mod config;
mod expand;
mod name;
mod policy;
mod shown;
mod veil;

use crate::diagnostic::{Problem, Rule};
use crate::node::{Entry, Node, Value};

pub use choose::{Approvals, Chosen, McpSource, NotStarted, Offered, Rules, Standing, choose};
pub use config::{FileServer, McpConfig, OAuthOptions, Reach, Transport, read_config, read_file};
pub use expand::{Missing, expand};
pub use name::{LONGEST_NAME, clash, full_name, normalized};
pub use policy::{Denied, Policy, ServerRule, read_rule};
pub use veil::without_keys;

/// An entry of an agent's `mcpServers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServer {
    /// A server configured elsewhere; the connection is shared.
    Named(Box<str>),
    /// A server of the agent's own: started with it, stopped with it.
    Inline {
        /// Its name.
        name: Box<str>,
        /// How to reach it.
        config: McpConfig,
    },
}

impl McpServer {
    /// The name, either way.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Inline { name, .. } => name,
        }
    }
}

const MODERN: &str =
    "write `- name` for a configured server, or `- name: {command: …, args: […]}` for one of its own";

/// Reads the `mcpServers` of an agent: a list of names and `{name: config}` mappings.
pub fn read_list(node: &Node, problems: &mut Vec<Problem>) -> Vec<McpServer> {
    match &node.value {
        Value::Null => Vec::new(),
        Value::List(items) => items.iter().flat_map(|item| read_item(item, problems)).collect(),
        Value::Map(entries) => {
            let text = "`mcpServers` is a list; a mapping is read as a list of its entries";
            problems.push(Problem::at(Rule::OldSpelling, node.span, text).hint(MODERN));
            entries.iter().filter_map(|entry| read_named(entry, problems)).collect()
        }
        Value::Text(names) => names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| McpServer::Named(name.into()))
            .collect(),
        Value::Bool(_) | Value::Number(_) => {
            let text = format!("`mcpServers` must be a list; this is {}", node.kind());
            problems.push(Problem::at(Rule::InvalidMcpServer, node.span, text).hint(MODERN));
            Vec::new()
        }
    }
}

fn read_item(item: &Node, problems: &mut Vec<Problem>) -> Vec<McpServer> {
    if let Some(name) = item.as_text() {
        return vec![McpServer::Named(name.into())];
    }
    let Some(entries) = item.as_map() else {
        let text = format!("an MCP server is a name or a mapping; this is {}", item.kind());
        problems.push(Problem::at(Rule::InvalidMcpServer, item.span, text).hint(MODERN));
        return Vec::new();
    };
    // `{name: …, transport: …, …}`: the form of older versions. A server *called* `name` has a mapping as its value.
    if let Some(name) = item.get("name").and_then(Node::as_text) {
        let text = "`name` beside the configuration: the form of older versions";
        problems.push(Problem::at(Rule::OldSpelling, item.span, text).hint(MODERN));
        return match read_config(item) {
            Ok(config) => vec![McpServer::Inline { name: name.into(), config }],
            Err(problem) => {
                problems.push(problem);
                Vec::new()
            }
        };
    }
    entries.iter().filter_map(|entry| read_named(entry, problems)).collect()
}

fn read_named(entry: &Entry, problems: &mut Vec<Problem>) -> Option<McpServer> {
    if matches!(entry.node.value, Value::Null) {
        return Some(McpServer::Named(entry.key.clone()));
    }
    match read_config(&entry.node) {
        Ok(config) => Some(McpServer::Inline { name: entry.key.clone(), config }),
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

#[cfg(test)]
mod tests;
