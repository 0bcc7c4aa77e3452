//! What the program that hosts the session says of servers' tools: which of them are always asked about or refused, and
//! of which servers more is asked than the mode would.
//!
//! It can only be stricter than the mode is. Refuses to know which servers there are: what is said of one that is not
//! there counts when it comes.

use std::collections::BTreeMap;

use posse_core::mcp::normalized;
use posse_core::permission::{Behavior, Mode, Rule};

use super::Authority;

/// What a host said.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Rules about tools, by server.
    rules: BTreeMap<Box<str>, Vec<Rule>>,
    /// By server, the mode for its tools where the session's would ask nothing.
    modes: BTreeMap<Box<str>, Mode>,
}

impl Said {
    /// The modes, by server.
    pub(super) fn modes(&self) -> Vec<(Box<str>, Mode)> {
        self.modes.iter().map(|(server, mode)| (server.clone(), *mode)).collect()
    }
}

/// Whether a tool is one of a server's.
fn is_of(tool: &str, server: &str) -> bool {
    let rest = tool.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(normalized(server).as_str()));
    rest.is_some_and(|rest| rest.starts_with("__"))
}

impl Authority {
    /// What holds for the tools of a server from now on, by their full names.
    pub fn set_tool_rules(&self, server: &str, rules: &[(Box<str>, Behavior)]) {
        let parse = |(tool, behavior): &(Box<str>, Behavior)| Rule::parse(*behavior, tool, &self.session);
        let rules: Vec<Rule> = rules.iter().map(parse).collect();
        let mut state = self.lock();
        if rules.is_empty() {
            state.host.rules.remove(server);
        } else {
            state.host.rules.insert(server.into(), rules);
        }
    }

    /// The rules of the host about a tool. An allowance counts only where others than the administrator may allow.
    pub(super) fn tool_rules(&self, tool: &str) -> Vec<Rule> {
        let state = self.lock();
        let of_server = state.host.rules.iter().filter(|(server, _)| is_of(tool, server));
        let rules = of_server.flat_map(|(_, rules)| rules);
        let counts = |rule: &&Rule| !state.managed_only || rule.behavior != Behavior::Allow;
        rules.filter(counts).filter(|rule| *rule.text == *tool).cloned().collect()
    }

    /// How the tools of a server are approved where the session's mode would ask nobody.
    pub fn set_server_mode(&self, server: &str, mode: Option<Mode>) {
        let mut state = self.lock();
        match mode {
            Some(mode) => drop(state.host.modes.insert(server.into(), mode)),
            None => drop(state.host.modes.remove(server)),
        }
    }

    /// The mode that counts for a tool.
    pub(super) fn mode_for(&self, tool: &str, mode: Mode) -> Mode {
        let strictness = |mode: Mode| match mode {
            Mode::BypassPermissions => Some(0),
            Mode::Auto => Some(1),
            Mode::Default => Some(2),
            Mode::AcceptEdits | Mode::Plan | Mode::DontAsk | Mode::Bubble => None,
        };
        let Some(now) = strictness(mode).filter(|now| *now < 2) else { return mode };
        let state = self.lock();
        let mut said =
            state.host.modes.iter().filter(|(server, _)| is_of(tool, server)).map(|(_, mode)| *mode);
        said.find(|said| strictness(*said).is_some_and(|said| said > now)).unwrap_or(mode)
    }
}

#[cfg(test)]
mod tests;
