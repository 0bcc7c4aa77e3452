//! Tools by name: which there are, how people write them down, and what an agent may do with them.
//!
//! Knows names, patterns and capabilities. Refuses to know how a tool runs, and what a `Bash` command means: scopes are
//! kept as written, for the permission room to judge at the call.

mod capability;
mod known;
mod pattern;

pub use capability::{Capability, Grant, Limit, McpFilter};
pub use known::{ALL, NotATool, Subagents, ToolFacts, find, why_not_a_tool};
pub use pattern::{McpPattern, Scope, ToolPattern, split_entries};

#[cfg(test)]
mod tests;
