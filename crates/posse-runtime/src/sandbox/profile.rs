//! What a confined command may do, as plain data. Knows no kernel and no disk: what of it can be held, and by what
//! means, others decide.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Files of a project that others run, or that say what an agent may do. Whoever can write them gets out of a sandbox
/// the next time somebody works in the project.
pub const PROTECTED_IN_PROJECTS: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents",
    ".claude/commands",
    ".claude/skills",
    ".claude/hooks",
    ".mcp.json",
    ".vscode",
    ".idea",
];

/// Files of a home folder that shells and git run.
pub const PROTECTED_IN_HOME: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".config/fish",
    ".config/git",
    ".config/autostart",
    ".config/systemd",
    ".gitconfig",
    ".ssh",
    ".local/bin",
];

/// What a command may do. Reading is allowed everywhere but in `unreadable`; everything else must be listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Folders it may change. None: it is a reader, and only its scratch folder changes.
    pub writable: Vec<PathBuf>,
    /// A private folder it may always write: its `TMPDIR`. Must exist.
    pub scratch: PathBuf,
    /// What it may not change although it lies in a writable folder.
    pub protected: Vec<PathBuf>,
    /// What it may not read.
    pub unreadable: Vec<PathBuf>,
    /// Whom it may reach.
    pub network: Network,
    /// Whether it may reach other programs on this machine by their sockets. A container daemon, a session bus, a key
    /// agent or a display does what it is asked with rights of its own, and no filter can tell them from harmless ones.
    pub local_sockets: bool,
}

impl Profile {
    /// Reads, and writes nothing but its scratch folder.
    pub fn read_only(scratch: impl Into<PathBuf>) -> Self {
        Self {
            writable: Vec::new(),
            scratch: scratch.into(),
            protected: Vec::new(),
            unreadable: Vec::new(),
            network: Network::Open,
            local_sockets: false,
        }
    }

    /// Works in some folders, without touching what is run from them.
    pub fn workspace(dirs: impl IntoIterator<Item = PathBuf>, scratch: impl Into<PathBuf>) -> Self {
        let writable: Vec<PathBuf> = dirs.into_iter().collect();
        let of = |dir: &PathBuf| PROTECTED_IN_PROJECTS.iter().map(|name| dir.join(name)).collect::<Vec<_>>();
        let protected = writable.iter().flat_map(of).collect();
        Self { writable, protected, ..Self::read_only(scratch) }
    }

    /// The same, with what shells and git run from this home folder protected.
    pub fn with_home(mut self, home: &Path) -> Self {
        self.protected.extend(PROTECTED_IN_HOME.iter().map(|name| home.join(name)));
        self
    }

    /// The same with another network.
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Whether nothing but the scratch folder may change.
    pub fn is_read_only(&self) -> bool {
        self.writable.is_empty()
    }
}

/// Whom a command may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Network {
    /// Anybody.
    Open,
    /// Nobody, this machine included.
    Closed,
    /// These hosts, through a proxy of posse's.
    Only(Vec<HostPattern>),
}

/// A host, or all hosts below one: `example.com`, `*.example.com`, `192.0.2.7`, `[::1]:8080`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct HostPattern {
    name: String,
    below: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// Reads a pattern. Letters have no case, and a final dot means nothing.
    pub fn new(text: &str) -> Self {
        let text = text.trim().to_ascii_lowercase();
        let (host, port) = split_port(&text);
        let (name, below) = match host.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (host, false),
        };
        Self { name: normal(name).to_owned(), below, port }
    }

    /// Whether a host, a name or an address in digits, is meant.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let host = normal(&host);
        let named = if self.below {
            host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            self.name == "*" || self.name == host
        };
        named && !self.name.is_empty() && self.port.is_none_or(|only| only == port)
    }

    /// Whether it is this very host, and not a family it belongs to.
    pub fn names_exactly(&self, host: &str, port: u16) -> bool {
        !self.below && self.name != "*" && self.matches(host, port)
    }
}

/// A port behind the last colon, if that is what it is: an IPv6 address has colons of its own.
fn split_port(text: &str) -> (&str, Option<u16>) {
    match text.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (text, None),
        },
        _ => (text, None),
    }
}

fn normal(host: &str) -> &str {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

impl From<String> for HostPattern {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        let HostPattern { name, below, port } = pattern;
        let name = if name.contains(':') { format!("[{name}]") } else { name };
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{name}{port}", if below { "*." } else { "" })
    }
}

#[cfg(test)]
mod tests;
