//! Which servers the administrator, or anybody's settings, allow at all: `allowedMcpServers` and `deniedMcpServers`.
//!
//! A deny wins over every allow. Names can be chosen freely by whoever writes a configuration, so as soon as the list
//! of what is allowed speaks of commands (or of addresses), a server with a command (or an address) must match one.

use super::{McpConfig, Reach};
use crate::diagnostic::{Problem, Rule};
use crate::node::Node;

/// An entry of one of the lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerRule {
    /// `serverName`.
    Name(Box<str>),
    /// `serverCommand`: the program and all its arguments, exactly.
    Command(Vec<Box<str>>),
    /// `serverUrl`: an address in which `*` stands for anything.
    Url(Box<str>),
}

/// Both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Only these; without a list, all.
    pub allowed: Option<Vec<ServerRule>>,
    /// And only these of them, if somebody narrows them down further.
    pub also_allowed: Option<Vec<ServerRule>>,
    /// None of these.
    pub denied: Vec<ServerRule>,
}

/// Why a server is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is on the list of what is denied.
    #[error("`deniedMcpServers` denies it")]
    Listed,
    /// It is not on the list of what is allowed.
    #[error("`allowedMcpServers` does not name it")]
    NotListed,
}

impl Policy {
    /// Whether a server may be started or reached.
    pub fn judge(&self, name: &str, config: &McpConfig) -> Result<(), Denied> {
        if self.denied.iter().any(|rule| rule.matches(name, config)) {
            return Err(Denied::Listed);
        }
        let passes = |list: &Option<Vec<ServerRule>>| {
            list.as_ref().is_none_or(|allowed| is_listed(allowed, name, config))
        };
        if passes(&self.allowed) && passes(&self.also_allowed) { Ok(()) } else { Err(Denied::NotListed) }
    }
}

fn is_listed(allowed: &[ServerRule], name: &str, config: &McpConfig) -> bool {
    let is_command = |rule: &&ServerRule| matches!(rule, ServerRule::Command(_));
    let is_url = |rule: &&ServerRule| matches!(rule, ServerRule::Url(_));
    let is_name = |rule: &&ServerRule| matches!(rule, ServerRule::Name(_));
    let passes = |kind: &dyn Fn(&&ServerRule) -> bool| {
        allowed.iter().filter(|rule| kind(rule)).any(|rule| rule.matches(name, config))
    };
    match &config.reach {
        Reach::Stdio { .. } if allowed.iter().any(|rule| is_command(&rule)) => passes(&is_command),
        Reach::Remote { .. } if allowed.iter().any(|rule| is_url(&rule)) => passes(&is_url),
        // What lives in the host program is the host's own business.
        Reach::Sdk { .. } => true,
        Reach::Stdio { .. } | Reach::Remote { .. } => passes(&is_name),
    }
}

impl ServerRule {
    fn matches(&self, name: &str, config: &McpConfig) -> bool {
        match (self, &config.reach) {
            (Self::Name(listed), _) => **listed == *name,
            (Self::Command(words), Reach::Stdio { command, args, .. }) => {
                words.iter().eq(std::iter::once(command).chain(args))
            }
            (Self::Url(pattern), Reach::Remote { url, .. }) => fits(pattern, url),
            (Self::Command(_), Reach::Remote { .. } | Reach::Sdk { .. })
            | (Self::Url(_), Reach::Stdio { .. } | Reach::Sdk { .. }) => false,
        }
    }
}

/// Whether an address fits a pattern in which `*` stands for anything. Scheme and host know no case.
fn fits(pattern: &str, url: &str) -> bool {
    let (pattern, url) = (fold_host(pattern), fold_host(url));
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| url.strip_prefix(first)) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

fn fold_host(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    format!("{}{}", url[..end].to_ascii_lowercase(), &url[end..])
}

/// Reads an entry of a list.
pub fn read_rule(node: &Node) -> Result<ServerRule, Problem> {
    let rules = [
        node.text_of("serverName").map(ServerRule::Name),
        node.get("serverCommand").and_then(Node::scalars).map(ServerRule::Command),
        node.text_of("serverUrl").map(ServerRule::Url),
    ];
    let mut rules = rules.into_iter().flatten();
    match (rules.next(), rules.next()) {
        (Some(rule), None) => Ok(rule),
        _ => {
            let text = "an entry has one of `serverName`, `serverCommand` (a list) and `serverUrl`";
            Err(Problem::at(Rule::InvalidMcpServer, node.span, text)
                .hint("for example {\"serverName\": \"github\"}"))
        }
    }
}
