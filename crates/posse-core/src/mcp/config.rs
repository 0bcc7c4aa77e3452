//! One server's configuration: how it is reached and how it is to be treated. Knows the forms people write; refuses to
//! know where they were written and whether anything may be started.

use std::fmt::Write as _;

use super::{MODERN, veil};
use crate::diagnostic::{Problem, Rule};
use crate::node::{Node, Value};

/// A server's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpConfig {
    /// How it is reached.
    pub reach: Reach,
    /// `timeout`: how long a call may take, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// `stateful`: the server remembers who asked what, so each agent gets one of its own. posse's own key.
    pub stateful: bool,
    /// `alwaysLoad`: its tools never wait to be searched for.
    pub always_load: bool,
    /// `oauth`: how to log in, where the server's own word is not enough.
    pub oauth: OAuthOptions,
    /// Values that came out of variables and options: not for anybody's eyes.
    pub hidden: Vec<Box<str>>,
    /// What [`McpConfig::words`] were before variables were filled in.
    pub written: Option<Box<str>>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A child process that speaks on its standard streams.
    Stdio {
        /// Program.
        command: Box<str>,
        /// Arguments.
        args: Vec<Box<str>>,
        /// Extra environment, in order.
        env: Vec<(Box<str>, Box<str>)>,
        /// Where it runs, if not where the session does.
        cwd: Option<Box<str>>,
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
    /// A server inside the program that started posse; it is reached through that program.
    Sdk {
        /// What that program calls it.
        name: Box<str>,
    },
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

/// What the user knows about logging in that the server does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuthOptions {
    /// `clientId`: registered beforehand.
    pub client_id: Option<Box<str>>,
    /// `callbackPort`: where the redirect must lead to.
    pub callback_port: Option<u16>,
    /// `scopes`, separated by blanks.
    pub scopes: Option<Box<str>>,
}

impl McpConfig {
    /// A server that is reached like this, and nothing special about it.
    pub fn new(reach: Reach) -> Self {
        Self {
            reach,
            timeout_ms: None,
            stateful: false,
            always_load: false,
            oauth: OAuthOptions::default(),
            hidden: Vec::new(),
            written: None,
        }
    }

    /// What connecting runs or reaches, for a person who decides about it: as it was written, without secrets.
    pub fn words(&self) -> String {
        if let Some(written) = &self.written {
            return written.to_string();
        }
        let words = match &self.reach {
            Reach::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(|word| &**word);
                words.collect::<Vec<_>>().join(" ")
            }
            Reach::Remote { url, .. } => url.to_string(),
            Reach::Sdk { name } => format!("{name}, inside the program that started posse"),
        };
        veil::without_keys(&veil::without_values(&words, &self.hidden))
    }

    /// A text that speaks of this server, without what the configuration took from variables and options.
    pub fn veiled(&self, text: &str) -> String {
        veil::without_values(text, &self.hidden)
    }

    /// What makes two servers the same one: everything that decides what is started or reached, written down without
    /// ambiguity. It holds secrets where the configuration does: digest it before keeping it.
    pub fn identity(&self) -> String {
        // Lengths before texts: no text can look like the end of another.
        fn add(out: &mut String, kind: char, text: &str) {
            let _ = write!(out, "{kind}{}:{text}", text.len());
        }
        fn add_pairs(out: &mut String, kind: char, pairs: &[(Box<str>, Box<str>)]) {
            let mut sorted: Vec<_> = pairs.iter().collect();
            sorted.sort();
            for (name, value) in sorted {
                add(out, kind, name);
                add(out, '=', value);
            }
        }
        let mut out = String::new();
        match &self.reach {
            Reach::Stdio { command, args, env, cwd } => {
                add(&mut out, 'c', command);
                args.iter().for_each(|arg| add(&mut out, 'a', arg));
                add_pairs(&mut out, 'e', env);
                cwd.iter().for_each(|cwd| add(&mut out, 'd', cwd));
            }
            Reach::Remote { transport, url, headers } => {
                add(&mut out, 't', transport.word());
                add(&mut out, 'u', url);
                add_pairs(&mut out, 'h', headers);
                self.oauth.client_id.iter().for_each(|id| add(&mut out, 'o', id));
            }
            Reach::Sdk { name } => add(&mut out, 's', name),
        }
        out
    }
}

/// Reads one server's configuration.
pub fn read_config(node: &Node) -> Result<McpConfig, Problem> {
    let invalid = |text: String| Problem::at(Rule::InvalidMcpServer, node.span, text).hint(MODERN);
    if node.as_map().is_none() {
        return Err(invalid(format!("an MCP server's configuration is a mapping; this is {}", node.kind())));
    }
    let mut config = McpConfig::new(read_reach(node)?);
    config.stateful = node.get("stateful").and_then(Node::as_bool).unwrap_or_default();
    config.always_load = node.get("alwaysLoad").and_then(Node::as_bool).unwrap_or_default();
    // Less than a second is a slip of the unit: such a server could never answer.
    let timeout = node.get("timeout").and_then(Node::scalar_text).and_then(|text| text.parse().ok());
    config.timeout_ms = timeout.filter(|ms: &u64| *ms >= 1000);
    if let Some(oauth) = node.get("oauth") {
        let port = oauth.get("callbackPort").and_then(Node::scalar_text);
        config.oauth = OAuthOptions {
            client_id: oauth.text_of("clientId"),
            callback_port: port.and_then(|port| port.parse().ok()),
            scopes: oauth.text_of("scopes"),
        };
    }
    Ok(config)
}

fn read_reach(node: &Node) -> Result<Reach, Problem> {
    let invalid = |text: String| Problem::at(Rule::InvalidMcpServer, node.span, text).hint(MODERN);
    let text = |key: &str| node.text_of(key);
    let kind = text("type").or_else(|| text("transport"));
    let transport = match kind.as_deref() {
        None if text("url").is_some() && text("command").is_none() => Some(Transport::Http),
        None | Some("stdio" | "local") => None,
        Some("http" | "streamable-http" | "streamableHttp") => Some(Transport::Http),
        Some("sse") => Some(Transport::Sse),
        Some("ws") => Some(Transport::WebSocket),
        Some("sdk") => {
            let name = text("name").ok_or_else(|| invalid("a server of the host needs `name`".into()))?;
            return Ok(Reach::Sdk { name });
        }
        Some(other) => {
            return Err(invalid(format!("no transport is called `{other}`; use stdio, http, sse or ws")));
        }
    };
    match transport {
        None => Ok(Reach::Stdio {
            command: text("command")
                .filter(|command| !command.trim().is_empty())
                .ok_or_else(|| invalid("a stdio server needs `command`".into()))?,
            args: node.get("args").and_then(Node::scalars).unwrap_or_default(),
            env: node.get("env").map(Node::scalar_pairs).unwrap_or_default(),
            cwd: text("cwd"),
        }),
        Some(transport) => Ok(Reach::Remote {
            transport,
            url: text("url").ok_or_else(|| invalid("a server at an address needs `url`".into()))?,
            headers: node.get("headers").map(Node::scalar_pairs).unwrap_or_default(),
        }),
    }
}

/// A server of a file: its name, and its configuration or what is wrong with it.
pub type FileServer = (Box<str>, Result<McpConfig, Problem>);

/// Reads a file of servers: `{"mcpServers": {name: config}}`, or the mapping alone, which people write too.
pub fn read_file(root: &Node) -> (Vec<FileServer>, Vec<Problem>) {
    let mut problems = Vec::new();
    let servers = match root.get("mcpServers") {
        Some(servers) => servers,
        None => {
            let bare = root.as_map().is_some_and(|entries| {
                let like_server =
                    |node: &Node| ["command", "url", "type"].iter().any(|key| node.get(key).is_some());
                !entries.is_empty() && entries.iter().all(|entry| like_server(&entry.node))
            });
            if bare {
                let text = "the servers belong under `mcpServers`; they are read as if they were";
                let hint = "write {\"mcpServers\": {…}}";
                problems.push(Problem::at(Rule::OldSpelling, root.span, text).hint(hint));
            }
            if !bare {
                return (Vec::new(), vec![not_servers(root)]);
            }
            root
        }
    };
    let Value::Map(entries) = &servers.value else {
        return (Vec::new(), vec![not_servers(servers)]);
    };
    let read = entries.iter().map(|entry| (entry.key.clone(), read_config(&entry.node))).collect();
    (read, problems)
}

fn not_servers(node: &Node) -> Problem {
    let text = match &node.value {
        Value::Map(_) => "`mcpServers` is missing: servers stand under it, by name".to_owned(),
        _ => format!("a file of MCP servers holds `mcpServers`, a mapping; this is {}", node.kind()),
    };
    Problem::at(Rule::InvalidMcpServer, node.span, text)
        .hint("write {\"mcpServers\": {\"name\": {\"command\": …}}}")
}
