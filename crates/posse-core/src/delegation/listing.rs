//! The agents an agent may start, as the model reads them. The same agents give the same bytes: a listing that changes
//! by itself would cost every request its cache.

use crate::collate;
use crate::definition::AgentDefinition;
use crate::origin::Origin;
use crate::spec::{self, Policy};
use crate::suggest;
use crate::tools::{Capability, ToolPattern};

/// The first line of a listing.
pub const HEADER: &str = "Available agent types for the Agent tool:";

/// Who reads the listing, as far as it decides what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Audience<'a> {
    /// Rules may hide agents.
    pub policy: &'a Policy,
    /// `Agent(a, b)` may limit whom the reader starts.
    pub capability: &'a Capability,
    /// MCP servers that are connected and offer tools.
    pub servers: &'a [&'a str],
}

/// The agents the reader may start, in listing order.
pub fn offered<'d>(agents: &[&'d AgentDefinition], audience: Audience<'_>) -> Vec<&'d AgentDefinition> {
    let spawnable = audience.capability.spawnable();
    let is_there = |needed: &str| audience.servers.iter().any(|server| server.eq_ignore_ascii_case(needed));
    let may = |agent: &AgentDefinition| {
        spawnable.as_ref().is_none_or(|names| names.contains(&&*agent.name))
            && spec::denied(&agent.name, audience.policy).is_none()
            && agent.required_mcp_servers.iter().all(|needed| is_there(needed))
    };
    let mut offered: Vec<&AgentDefinition> = agents.iter().copied().filter(|agent| may(agent)).collect();
    offered.sort_by(|a, b| collate::compare(&a.name, &b.name));
    offered
}

/// The listing of agents that [`offered`] chose; empty if there are none.
pub fn listing(offered: &[&AgentDefinition]) -> String {
    if offered.is_empty() {
        return String::new();
    }
    let mut text = String::from(HEADER);
    for agent in offered {
        text.push('\n');
        text.push_str(&line(agent));
    }
    text
}

/// One agent's entry.
pub fn line(agent: &AgentDefinition) -> String {
    let context = if agent.fork_context { "Properties: access to current context; " } else { "" };
    format!("- {}: {} ({context}Tools: {})", agent.name, agent.description, tools(agent))
}

/// Built-in agents that take everything print the star they declare, as the reference does.
fn tools(agent: &AgentDefinition) -> String {
    let star = |entry: &crate::definition::ToolEntry| entry.pattern == ToolPattern::All;
    let declares_all = agent.tools.as_ref().is_some_and(|tools| tools.iter().any(star));
    if agent.source.origin == Origin::BuiltIn && declares_all && agent.disallowed_tools.is_empty() {
        return "*".to_owned();
    }
    agent.listed_tools()
}

/// What a model is told that asked for an agent nobody offers.
pub fn not_found(wanted: Option<&str>, offered: &[&AgentDefinition]) -> String {
    let names: Vec<&str> = offered.iter().map(|agent| &*agent.name).collect();
    let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let Some(wanted) = wanted else {
        return format!(
            "subagent_type is required: there is no general-purpose agent here. Available agents: {list}"
        );
    };
    let hint = suggest::closest(wanted, names.iter().copied())
        .map_or_else(String::new, |close| format!(" Did you mean '{close}'?"));
    format!("Agent type '{wanted}' not found.{hint} Available agents: {list}")
}
