//! MCP servers as configured, in frontmatter and elsewhere. Knows shapes; connecting is the runtime's business.

use crate::diagnostic::{Problem, Rule};
use crate::node::{Entry, Node, Value};

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

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpConfig {
    /// A child process that speaks on its standard streams.
    Stdio {
        /// Program.
        command: Box<str>,
        /// Arguments.
        args: Vec<Box<str>>,
        /// Extra environment, in order.
        env: Vec<(Box<str>, Box<str>)>,
    },
    /// A server at an address.
    Remote {
        /// By which protocol.
        transport: Transport,
        /// Where.
        url: Box<str>,
        /// Extra headers, in order.
        headers: Vec<(Box<str>, Box<str>)>,
    },
}

impl McpConfig {
    /// What connecting runs or reaches, for a person who decides about it.
    pub fn words(&self) -> String {
        match self {
            Self::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(|word| &**word);
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Remote { url, .. } => url.to_string(),
        }
    }
}

/// Protocols to a server at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP.
    Http,
    /// The older server-sent events.
    Sse,
    /// Web sockets.
    WebSocket,
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

/// Reads one server's configuration.
pub fn read_config(node: &Node) -> Result<McpConfig, Problem> {
    let invalid = |text: String| Problem::at(Rule::InvalidMcpServer, node.span, text).hint(MODERN);
    if node.as_map().is_none() {
        return Err(invalid(format!("an MCP server's configuration is a mapping; this is {}", node.kind())));
    }
    let text = |key: &str| node.text_of(key);
    let kind = text("type").or_else(|| text("transport"));
    let transport = match kind.as_deref() {
        None if text("url").is_some() && text("command").is_none() => Some(Transport::Http),
        None | Some("stdio" | "local") => None,
        Some("http" | "streamable-http" | "streamableHttp") => Some(Transport::Http),
        Some("sse") => Some(Transport::Sse),
        Some("ws") => Some(Transport::WebSocket),
        Some(other) => {
            return Err(invalid(format!("no transport is called `{other}`; use stdio, http, sse or ws")));
        }
    };
    match transport {
        None => Ok(McpConfig::Stdio {
            command: text("command").ok_or_else(|| invalid("a stdio server needs `command`".into()))?,
            args: node.get("args").and_then(Node::scalars).unwrap_or_default(),
            env: node.get("env").map(Node::scalar_pairs).unwrap_or_default(),
        }),
        Some(transport) => Ok(McpConfig::Remote {
            transport,
            url: text("url").ok_or_else(|| invalid("a server at an address needs `url`".into()))?,
            headers: node.get("headers").map(Node::scalar_pairs).unwrap_or_default(),
        }),
    }
}

#[cfg(test)]
mod tests;
