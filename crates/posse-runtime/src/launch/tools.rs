//! Which tools a run has.

use std::sync::Arc;

use posse_core::definition::AgentDefinition;
use posse_core::spec;
use posse_core::tools::{ToolPattern, split_entries};

use super::LaunchRequest;
use crate::catalog::Catalog;
use crate::tool::{AnyTool, builtin};

/// Built-in tools, less what flags, rules and the agent take away.
pub(super) fn select(
    request: &LaunchRequest,
    agent: Option<&AgentDefinition>,
    catalog: &Catalog,
) -> Vec<Arc<dyn AnyTool>> {
    let session = spec::session_pool(&catalog.policy).capability;
    let flag = request.tools.as_deref().filter(|list| *list != "default").map(patterns);
    let denied: Vec<ToolPattern> = request.disallowed_tools.iter().flat_map(|list| patterns(list)).collect();
    let own = agent
        .and_then(|agent| agent.tools.as_ref())
        .map(|list| list.iter().map(|entry| entry.pattern.clone()).collect::<Vec<_>>());
    let taken = agent
        .map(|agent| agent.disallowed_tools.iter().map(|entry| entry.pattern.clone()).collect::<Vec<_>>());
    builtin::all()
        .into_iter()
        .filter(|tool| session.grant(tool.name()).is_some())
        .filter(|tool| flag.as_ref().is_none_or(|list| names(list, tool.name(), true)))
        .filter(|tool| own.as_ref().is_none_or(|list| names(list, tool.name(), true)))
        .filter(|tool| !names(&denied, tool.name(), false))
        .filter(|tool| !taken.as_ref().is_some_and(|list| names(list, tool.name(), true)))
        .collect()
}

fn patterns(list: &str) -> Vec<ToolPattern> {
    split_entries(list).into_iter().map(|(_, entry)| ToolPattern::parse(entry)).collect()
}

/// Whether a list names a tool; an entry with a scope counts only where `scoped` says so.
fn names(list: &[ToolPattern], tool: &str, scoped: bool) -> bool {
    list.iter().any(|pattern| match pattern {
        ToolPattern::All => true,
        ToolPattern::Tool { name, scope } => &**name == tool && (scoped || scope.is_none()),
        ToolPattern::Mcp(_) => false,
    })
}
