//! What an agent may do with tools, as a value that can only shrink.
//!
//! A capability is built from a parent's by intersection: tools fall away, limits are added, MCP filters pile up.
//! There is no operation that widens one, so "a child never has more than its parent" needs no check at run time.

use std::collections::BTreeSet;

use super::known::ToolFacts;
use super::pattern::{McpPattern, Scope};

/// A built-in tool and the limits on its arguments. A call must satisfy every limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The tool.
    pub tool: &'static ToolFacts,
    /// All must hold.
    pub limits: Vec<Limit>,
}

/// A limit on a tool's arguments: one of these scopes must fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Any one suffices.
    pub any_of: Vec<Scope>,
}

/// A filter on MCP tools by name. Servers connect later than pools are resolved, so names are judged when they appear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpFilter {
    /// `None` admits all.
    pub allow: Option<Vec<McpPattern>>,
    /// Wins over `allow`.
    pub deny: Vec<McpPattern>,
}

impl McpFilter {
    /// Whether this filter lets a tool through.
    pub fn admits(&self, full_name: &str) -> bool {
        let listed =
            self.allow.as_ref().is_none_or(|allow| allow.iter().any(|pattern| pattern.matches(full_name)));
        listed && !self.deny.iter().any(|pattern| pattern.matches(full_name))
    }
}

/// All an agent may do with tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capability {
    /// Built-in tools, in the order of the table.
    pub grants: Vec<Grant>,
    /// Every filter must admit an MCP tool.
    pub mcp: Vec<McpFilter>,
}

impl Capability {
    /// Everything: where a session starts before policy and flags take away.
    pub fn everything() -> Self {
        let grants = super::known::ALL.iter().map(|tool| Grant { tool, limits: vec![] }).collect();
        Self { grants, mcp: vec![] }
    }

    /// The grant for a tool, by its current name.
    pub fn grant(&self, tool: &str) -> Option<&Grant> {
        self.grants.iter().find(|grant| grant.tool.name == tool)
    }

    /// Whether an MCP tool may be used.
    pub fn admits_mcp(&self, full_name: &str) -> bool {
        self.mcp.iter().all(|filter| filter.admits(full_name))
    }

    /// Whether a deny takes away all the MCP tools that `wanted` means, whatever is allowed.
    pub fn denies_mcp(&self, wanted: &McpPattern) -> bool {
        self.mcp.iter().flat_map(|filter| &filter.deny).any(|pattern| pattern.covers(wanted))
    }

    /// Whether any of the MCP tools that `wanted` means could pass, whichever servers there turn out to be.
    pub fn may_admit(&self, wanted: &McpPattern) -> bool {
        let mut left = BTreeSet::from([wanted]);
        for allow in self.mcp.iter().filter_map(|filter| filter.allow.as_ref()) {
            let both = left.iter().flat_map(|one| allow.iter().filter_map(|other| narrower(one, other)));
            left = both.collect();
        }
        left.into_iter().any(|one| !self.denies_mcp(one))
    }

    /// Whether no MCP tool whatsoever can pass.
    pub fn is_closed_to_mcp(&self) -> bool {
        !self.may_admit(&McpPattern::all())
    }

    /// Keeps the tools for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&'static ToolFacts) -> bool) {
        self.grants.retain(|grant| keep(grant.tool));
    }

    /// Adds a limit to a tool, if it is there.
    pub fn limit(&mut self, tool: &str, limit: Limit) {
        if let Some(grant) = self.grants.iter_mut().find(|grant| grant.tool.name == tool) {
            grant.limits.push(limit);
        }
    }

    /// The agents that may be started: `None` means any, an empty list means none.
    pub fn spawnable(&self) -> Option<Vec<&str>> {
        let Some(grant) = self.grant("Agent") else { return Some(Vec::new()) };
        let mut names: Option<Vec<&str>> = None;
        for limit in &grant.limits {
            let allowed: Vec<&str> = limit
                .any_of
                .iter()
                .filter_map(|scope| match scope {
                    Scope::Agents(agents) => Some(agents),
                    Scope::Argument(_) | Scope::MemoryFolder(_) => None,
                })
                .flatten()
                .map(|name| &**name)
                .collect();
            names = Some(match names {
                None => allowed,
                Some(before) => before.into_iter().filter(|name| allowed.contains(name)).collect(),
            });
        }
        names
    }
}

/// What two patterns have in common: patterns lie within each other or apart.
fn narrower<'p>(a: &'p McpPattern, b: &'p McpPattern) -> Option<&'p McpPattern> {
    if a.covers(b) {
        Some(b)
    } else if b.covers(a) {
        Some(a)
    } else {
        None
    }
}
