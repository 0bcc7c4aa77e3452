//! How tools are written down: `Read`, `Bash(git diff:*)`, `mcp__server__*`, `Agent(a, b)`, `*`.

use super::known;

/// One entry of a tool list, understood.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToolPattern {
    /// `*`.
    All,
    /// A tool by name, perhaps only for some arguments.
    Tool {
        /// The name as written, except that older names are replaced by the current one.
        name: Box<str>,
        /// What stands in the parentheses.
        scope: Option<Scope>,
    },
    /// Tools of MCP servers.
    Mcp(McpPattern),
}

/// What stands in the parentheses of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Of `Agent`: the agents that may be started.
    Agents(Vec<Box<str>>),
    /// Of any other tool: a pattern for its argument, as written.
    Argument(Box<str>),
    /// Of file tools that `memory` adds: only the memory folder of this agent. Cannot be written by hand.
    MemoryFolder(Box<str>),
}

/// Which MCP tools an entry means.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum McpPattern {
    /// One tool, by its full name `mcp__server__tool`.
    Exact(Box<str>),
    /// All whose full name begins so: `mcp__server__` is a server, `mcp__` is all.
    Prefix(Box<str>),
}

const MCP: &str = "mcp__";

impl McpPattern {
    /// Whether the pattern means the tool with this full name.
    pub fn matches(&self, full_name: &str) -> bool {
        match self {
            Self::Exact(name) => &**name == full_name,
            Self::Prefix(prefix) => full_name.starts_with(&**prefix),
        }
    }

    /// Whether this pattern means every tool that `other` means.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Prefix(prefix), Self::Prefix(name) | Self::Exact(name)) => name.starts_with(&**prefix),
            (Self::Exact(one), Self::Exact(name)) => one == name,
            (Self::Exact(_), Self::Prefix(_)) => false,
        }
    }

    /// All tools of all servers.
    pub fn all() -> Self {
        Self::Prefix(MCP.into())
    }

    /// All tools of one server, whatever it is called.
    pub fn server(name: &str) -> Self {
        Self::Prefix(format!("{MCP}{}__", crate::mcp::normalized(name)).into())
    }

    /// An entry as tools are called: people write a server's name as it is, `mcp__my server`. Stars stay.
    pub fn spelled(entry: &str) -> String {
        let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
        entry.chars().map(|c| if keep(c) { c } else { '_' }).collect()
    }

    fn parse(entry: &str) -> Option<Self> {
        entry.strip_prefix(MCP)?;
        // What has an argument means no tool at all, and must not become one.
        let entry = &*if entry.contains('(') { entry.to_owned() } else { Self::spelled(entry) };
        let rest = entry.strip_prefix(MCP)?;
        if let Some(prefix) = entry.strip_suffix('*') {
            return Some(Self::Prefix(prefix.into()));
        }
        Some(match rest.split_once("__") {
            Some((_, tool)) if !tool.is_empty() => Self::Exact(entry.into()),
            Some(_) => Self::Prefix(entry.into()),
            None => Self::Prefix(format!("{entry}__").into()),
        })
    }
}

impl ToolPattern {
    /// What it says of servers' tools, if it speaks of those.
    pub fn mcp(&self) -> Option<McpPattern> {
        match self {
            Self::Mcp(pattern) => Some(pattern.clone()),
            Self::All | Self::Tool { .. } => None,
        }
    }

    /// Understands one entry. Every text is some pattern; whether the tool exists is another question.
    pub fn parse(entry: &str) -> Self {
        if entry == "*" {
            return Self::All;
        }
        if let Some(mcp) = McpPattern::parse(entry) {
            return Self::Mcp(mcp);
        }
        match entry.split_once('(') {
            Some((name, rest)) if rest.ends_with(')') && !name.is_empty() => {
                let name = current_name(name.trim());
                let scope = Scope::parse(&name, rest[..rest.len() - 1].trim());
                Self::Tool { name, scope }
            }
            _ => Self::Tool { name: current_name(entry), scope: None },
        }
    }

    /// Whether the entry opens a parenthesis that it does not close, or the other way round.
    pub fn is_unbalanced(entry: &str) -> bool {
        let opens = entry.matches('(').count();
        let closes = entry.matches(')').count();
        opens != closes || (opens > 0 && !entry.ends_with(')')) || entry.starts_with('(')
    }
}

impl Scope {
    /// `Tool()` and `Tool(*)` say no more than `Tool`.
    fn parse(tool: &str, inside: &str) -> Option<Self> {
        if inside.is_empty() || inside == "*" {
            return None;
        }
        if tool == "Agent" {
            let names = inside.split(',').map(str::trim).filter(|name| !name.is_empty());
            return Some(Self::Agents(names.map(Into::into).collect()));
        }
        Some(Self::Argument(inside.into()))
    }
}

fn current_name(name: &str) -> Box<str> {
    known::find(name).map_or(name, |tool| tool.name).into()
}

/// Splits a text into entries at commas and blanks outside parentheses; returns each with its offset.
///
/// Tabs and line breaks do not split, a `)` without `(` is kept, an open `(` swallows the rest: as the reference does.
pub fn split_entries(text: &str) -> Vec<(usize, &str)> {
    let (mut entries, mut depth, mut start) = (Vec::new(), 0usize, 0);
    let mut push = |from: usize, to: usize| {
        if from < to {
            entries.push((from, &text[from..to]));
        }
    };
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                push(start, at);
                start = at + 1;
            }
            _ => {}
        }
    }
    push(start, text.len());
    entries
}
