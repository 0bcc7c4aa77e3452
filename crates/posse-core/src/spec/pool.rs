//! The tool pool of an agent, step by step, with the reason for every tool that is in it and every one that is not.
//!
//! Order: what the parent has → what sub-agents never get → what the background takes → the denylist → the list with
//! its scopes → what memory adds → the agent's own MCP servers. Each step narrows what the one before left.

use std::fmt;

use super::{Parent, Policy};
use crate::definition::{AgentDefinition, MEMORY_TOOLS, ToolEntry};
use crate::mcp::McpServer;
use crate::settings::{PermissionRule, SetIn};
use crate::text::{self, Location};
use crate::tools::{
    self, Capability, Limit, McpFilter, McpPattern, Scope, Subagents, ToolFacts, ToolPattern,
};

/// What became of a tool or an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// In the pool.
    Kept,
    /// In the pool, for some arguments only.
    Limited,
    /// Put in by a field other than `tools`.
    Added,
    /// Not in the pool.
    Removed,
    /// An entry that matched nothing.
    Ignored,
}

/// Why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The parent has it and nobody objects.
    Inherited,
    /// The list names it.
    Listed {
        /// As written.
        entry: Box<str>,
        /// Where.
        at: Location,
    },
    /// The list does not name it.
    NotListed,
    /// `disallowedTools` names it.
    Disallowed {
        /// As written.
        entry: Box<str>,
        /// Where.
        at: Location,
    },
    /// `memory` needs it.
    Memory,
    /// The agent's own MCP server.
    OwnServer,
    /// Sub-agents never get it.
    MainAgentOnly,
    /// Sub-agents get it only in plan mode.
    PlanModeOnly,
    /// Agents this deep cannot start others.
    DepthLimit(u32),
    /// Agents in the background lose it.
    Background,
    /// The parent does not have it.
    NotInParent(Box<str>),
    /// A deny rule.
    DenyRule {
        /// As written.
        rule: Box<str>,
        /// By whom.
        by: SetIn,
    },
    /// No such tool.
    NoSuchTool {
        /// Where the entry stands.
        at: Location,
    },
}

/// One step of the resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The tool, or the entry.
    pub subject: Box<str>,
    /// What became of it.
    pub verb: Verb,
    /// Why.
    pub why: Why,
}

/// The tools of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// What it may do.
    pub capability: Capability,
    /// MCP servers of its own, whose tools it has besides.
    pub own_servers: Vec<Box<str>>,
    /// How it came about.
    pub steps: Vec<Step>,
}

impl Pool {
    fn note(&mut self, subject: impl Into<Box<str>>, verb: Verb, why: Why) {
        self.steps.push(Step { subject: subject.into(), verb, why });
    }

    /// Takes away the tools for which `why` has a reason.
    fn remove(&mut self, why: impl Fn(&'static ToolFacts) -> Option<Why>) {
        let mut removed = Vec::new();
        self.capability.retain(|tool| match why(tool) {
            Some(reason) => {
                removed.push(Step { subject: tool.name.into(), verb: Verb::Removed, why: reason });
                false
            }
            None => true,
        });
        self.steps.append(&mut removed);
    }
}

/// A tool list of which nothing is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmptyPool {
    /// The agent.
    pub agent: Box<str>,
    /// Entries that name no tool.
    pub unknown: Vec<Box<str>>,
    /// Entries that name tools this agent cannot have here.
    pub unavailable: Vec<Box<str>>,
    /// Entries for MCP tools that cannot be there.
    pub unmatched: Vec<Box<str>>,
}

impl std::error::Error for EmptyPool {}

impl fmt::Display for EmptyPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "agent `{}` would be started without a single tool:", self.agent)?;
        let groups = [
            ("not a tool", &self.unknown),
            ("not available to it here", &self.unavailable),
            ("matched no tool", &self.unmatched),
        ];
        let mut separator = " ";
        for (what, entries) in groups.into_iter().filter(|(_, entries)| !entries.is_empty()) {
            write!(f, "{separator}{what}: {}", entries.join(", "))?;
            separator = "; ";
        }
        Ok(())
    }
}

/// What the main agent of a session has: everything but what bare deny rules take away.
pub fn session_pool(policy: &Policy) -> Pool {
    let mut pool = Pool { capability: Capability::everything(), ..Pool::default() };
    for rule in &policy.deny {
        let why = || Why::DenyRule { rule: rule.text.clone(), by: rule.by.clone() };
        match &rule.pattern {
            ToolPattern::All => {
                pool.remove(|_| Some(why()));
                pool.capability.mcp.push(McpFilter { allow: None, deny: vec![McpPattern::all()] });
            }
            ToolPattern::Tool { name, scope: None } => pool.remove(|tool| denies(name, tool).then(why)),
            // With an argument it is judged at the call, like other tools' below.
            ToolPattern::Mcp(_) if rule.text.contains('(') => {}
            ToolPattern::Mcp(pattern) => {
                pool.note(rule.text.clone(), Verb::Removed, why());
                pool.capability.mcp.push(McpFilter { allow: None, deny: vec![pattern.clone()] });
            }
            // Judged at the call, where the argument is known.
            ToolPattern::Tool { scope: Some(_), .. } => {}
        }
    }
    pool
}

/// Whether the name in a deny rule means a tool; `*` in it stands for anything.
fn denies(rule: &str, tool: &ToolFacts) -> bool {
    let fits = |name: &str| match rule.split_once('*') {
        None => name == rule,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| ends_like(name, rest)),
    };
    fits(tool.name) || (rule.contains('*') && tool.aliases.iter().any(|alias| fits(alias)))
}

/// Whether a text, after anything at all, goes on like a pattern.
fn ends_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text.ends_with(pattern),
        Some((piece, rest)) => text.find(piece).is_some_and(|at| ends_like(&text[at + piece.len()..], rest)),
    }
}

/// The deny rule that takes away all tools of a server, if any.
pub(super) fn server_denied<'a>(name: &str, rules: &'a [PermissionRule]) -> Option<&'a PermissionRule> {
    rules.iter().find(|rule| match &rule.pattern {
        ToolPattern::All => true,
        ToolPattern::Mcp(pattern) => pattern.covers(&McpPattern::server(name)),
        ToolPattern::Tool { .. } => false,
    })
}

/// Everything the pool depends on besides the parent.
pub(super) struct Request<'a> {
    pub(super) definition: &'a AgentDefinition,
    pub(super) depth: u32,
    pub(super) max_depth: u32,
    pub(super) plan_mode: bool,
    pub(super) background: bool,
    pub(super) memory: bool,
    pub(super) mcp_servers: &'a [McpServer],
    pub(super) deny: &'a [PermissionRule],
}

/// Resolves the pool of an agent that `parent` starts.
pub(super) fn resolve(parent: &Parent, request: &Request<'_>) -> Result<Pool, EmptyPool> {
    let mut pool = Pool { capability: parent.capability.clone(), ..Pool::default() };
    pool.remove(|tool| match tool.subagents {
        Subagents::No => Some(Why::MainAgentOnly),
        Subagents::InPlanMode if !request.plan_mode => Some(Why::PlanModeOnly),
        Subagents::InPlanMode | Subagents::Yes => None,
    });
    if request.depth >= request.max_depth {
        pool.remove(|tool| (tool.name == "Agent").then_some(Why::DepthLimit(request.max_depth)));
    }
    if request.background {
        pool.remove(|tool| (!tool.background).then_some(Why::Background));
    }
    let available = pool.capability.clone();
    deny(&mut pool, request.definition);
    let own_list = request.definition.tools.as_ref().filter(|list| !is_all(list));
    match own_list {
        Some(list) => allow(&mut pool, list, parent, request),
        None => keep_all(&mut pool),
    }
    if let Some(list) = own_list
        && let Some(empty) = empty_pool(&pool, list, &available, request)
    {
        return Err(empty);
    }
    for server in request.mcp_servers {
        let subject = format!("mcp__{}__*", server.name());
        match server_denied(server.name(), request.deny) {
            Some(rule) => {
                let why = Why::DenyRule { rule: rule.text.clone(), by: rule.by.clone() };
                pool.note(subject, Verb::Removed, why);
            }
            None => {
                pool.note(subject, Verb::Added, Why::OwnServer);
                pool.own_servers.push(server.name().into());
            }
        }
    }
    Ok(pool)
}

fn is_all(list: &[ToolEntry]) -> bool {
    list.iter().any(|entry| entry.pattern == ToolPattern::All)
}

fn at(definition: &AgentDefinition, entry: &ToolEntry) -> Location {
    text::locate(&definition.places.text, entry.span)
}

/// An entry with a scope takes the whole tool away: half a denial would look like a whole one.
fn deny(pool: &mut Pool, definition: &AgentDefinition) {
    let mut patterns = Vec::new();
    for entry in &definition.disallowed_tools {
        let why = || Why::Disallowed { entry: entry.text.clone(), at: at(definition, entry) };
        match &entry.pattern {
            ToolPattern::All => pool.note("*", Verb::Ignored, why()),
            ToolPattern::Tool { name, .. } if denied_tool(name).is_some() => {
                let denied = denied_tool(name);
                pool.remove(|tool| (Some(tool) == denied).then(why));
            }
            ToolPattern::Tool { .. } => {
                pool.note(entry.text.clone(), Verb::Ignored, Why::NoSuchTool { at: at(definition, entry) });
            }
            ToolPattern::Mcp(pattern) => {
                pool.note(entry.text.clone(), Verb::Removed, why());
                let whole = entry.text.split('(').next().map(ToolPattern::parse);
                patterns.push(match whole {
                    Some(ToolPattern::Mcp(whole)) => whole,
                    Some(ToolPattern::All | ToolPattern::Tool { .. }) | None => pattern.clone(),
                });
            }
        }
    }
    if !patterns.is_empty() {
        pool.capability.mcp.push(McpFilter { allow: None, deny: patterns });
    }
}

/// The tool an entry of a denylist means. `Write(` is malformed, but what it is to take away is plain.
fn denied_tool(name: &str) -> Option<&'static ToolFacts> {
    let bare = name.split('(').next().unwrap_or(name);
    tools::find(bare)
}

fn keep_all(pool: &mut Pool) {
    let kept: Vec<_> = pool.capability.grants.iter().map(|grant| grant.tool.name).collect();
    for tool in kept {
        pool.note(tool, Verb::Kept, Why::Inherited);
    }
}

fn allow(pool: &mut Pool, list: &[ToolEntry], parent: &Parent, request: &Request<'_>) {
    let definition = request.definition;
    let wanted = |tool: &ToolFacts| list.iter().filter(move |entry| names(entry, tool)).collect::<Vec<_>>();
    let for_memory =
        |tool: &ToolFacts| request.memory && MEMORY_TOOLS.contains(&tool.name) && wanted(tool).is_empty();
    let before: Vec<&'static ToolFacts> = pool.capability.grants.iter().map(|grant| grant.tool).collect();
    for tool in before {
        let entries = wanted(tool);
        if for_memory(tool) {
            pool.note(tool.name, Verb::Added, Why::Memory);
            if !tool.read_only {
                pool.capability
                    .limit(tool.name, Limit { any_of: vec![Scope::MemoryFolder(definition.name.clone())] });
            }
        } else if let Some(first) = entries.first() {
            let scopes: Option<Vec<Scope>> = entries.iter().map(|entry| scope_of(entry)).collect();
            let verb = if scopes.is_some() { Verb::Limited } else { Verb::Kept };
            let entry = entries.iter().map(|entry| &*entry.text).collect::<Vec<_>>().join(", ");
            pool.note(tool.name, verb, Why::Listed { entry: entry.into(), at: at(definition, first) });
            if let Some(any_of) = scopes {
                pool.capability.limit(tool.name, Limit { any_of });
            }
        }
    }
    pool.remove(|tool| (wanted(tool).is_empty() && !for_memory(tool)).then_some(Why::NotListed));
    report_unmatched(pool, list, parent, definition);
    let patterns: Vec<McpPattern> = list.iter().filter_map(mcp_pattern).collect();
    pool.capability.mcp.push(McpFilter { allow: Some(patterns), deny: vec![] });
}

fn names(entry: &ToolEntry, tool: &ToolFacts) -> bool {
    matches!(&entry.pattern, ToolPattern::Tool { name, .. } if **name == *tool.name)
}

fn scope_of(entry: &ToolEntry) -> Option<Scope> {
    match &entry.pattern {
        ToolPattern::Tool { scope, .. } => scope.clone(),
        ToolPattern::All | ToolPattern::Mcp(_) => None,
    }
}

fn mcp_pattern(entry: &ToolEntry) -> Option<McpPattern> {
    entry.pattern.mcp()
}

/// Entries that came to nothing, each with its reason: nothing is dropped without a word.
fn report_unmatched(pool: &mut Pool, list: &[ToolEntry], parent: &Parent, definition: &AgentDefinition) {
    for entry in list {
        let at = at(definition, entry);
        match &entry.pattern {
            ToolPattern::All => {}
            ToolPattern::Mcp(pattern) if pool.capability.may_admit(pattern) => {
                pool.note(entry.text.clone(), Verb::Kept, Why::Listed { entry: entry.text.clone(), at });
            }
            ToolPattern::Mcp(pattern) if !parent.capability.may_admit(pattern) => {
                pool.note(entry.text.clone(), Verb::Ignored, Why::NotInParent(parent.name.clone()));
            }
            // Taken away by `disallowedTools`, which has said so.
            ToolPattern::Mcp(_) => {}
            ToolPattern::Tool { name, .. } => match tools::find(name) {
                None => pool.note(entry.text.clone(), Verb::Ignored, Why::NoSuchTool { at }),
                Some(tool) if parent.capability.grant(tool.name).is_none() => {
                    pool.note(entry.text.clone(), Verb::Ignored, Why::NotInParent(parent.name.clone()));
                }
                // Taken away by one of the steps above, which has said so.
                Some(_) => {}
            },
        }
    }
}

/// A list that is not empty but resolves to nothing is a mistake; one emptied by `disallowedTools` is a decision.
fn empty_pool(
    pool: &Pool,
    list: &[ToolEntry],
    available: &Capability,
    request: &Request<'_>,
) -> Option<EmptyPool> {
    let definition = request.definition;
    let has_server = |server: &McpServer| server_denied(server.name(), request.deny).is_none();
    if list.is_empty()
        || !pool.capability.grants.is_empty()
        || !pool.capability.is_closed_to_mcp()
        || request.mcp_servers.iter().any(has_server)
    {
        return None;
    }
    let emptied_by_denylist = list.iter().any(|entry| match &entry.pattern {
        ToolPattern::Tool { name, .. } => available.grant(name).is_some(),
        ToolPattern::Mcp(pattern) => available.may_admit(pattern),
        ToolPattern::All => false,
    });
    if emptied_by_denylist {
        return None;
    }
    let mut empty =
        EmptyPool { agent: definition.name.clone(), unknown: vec![], unavailable: vec![], unmatched: vec![] };
    for entry in list {
        let group = match &entry.pattern {
            ToolPattern::Tool { name, .. } if tools::find(name).is_none() => &mut empty.unknown,
            ToolPattern::Tool { .. } => &mut empty.unavailable,
            ToolPattern::All | ToolPattern::Mcp(_) => &mut empty.unmatched,
        };
        group.push(entry.text.clone());
    }
    Some(empty)
}
