//! Which tools a run has.

use std::sync::Arc;

use posse_core::definition::{AgentDefinition, MEMORY_TOOLS};
use posse_core::spec;
use posse_core::tools::{self, Capability, Limit, McpFilter, Scope, ToolPattern, split_entries};

use super::LaunchRequest;
use super::side::Side;
use crate::ask::{Desk, SharedMode};
use crate::catalog::Catalog;
use crate::sandbox::Sandbox;
use crate::tool::AnyTool;
use crate::tool::builtin::ask_user_question::AskUserQuestion;
use crate::tool::builtin::plan_mode::{EnterPlanMode, ExitPlanMode};
use crate::tool::builtin::web_fetch::WebFetch;
use crate::tool::builtin::web_search::WebSearch;
use crate::tool::builtin::{self, Bash, task_list};

/// What some tools need somebody else for.
pub(super) struct Connected<'a> {
    /// Whose task list.
    pub(super) session: &'a str,
    /// Who reads pages.
    pub(super) pages: Option<Side>,
    /// Who searches the web.
    pub(super) search: Option<Side>,
    /// Where a person can be asked.
    pub(super) desk: &'a Desk,
    /// The mode that planning changes.
    pub(super) mode: &'a SharedMode,
    /// What confines commands.
    pub(super) sandbox: Option<&'a Sandbox>,
}

/// Tools that need a person: without one they are not offered.
const NEED_A_PERSON: [&str; 3] = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];

/// All tools, those that need it connected; what cannot work is not offered.
fn connected(connected: Connected<'_>) -> Vec<Arc<dyn AnyTool>> {
    let tasks = task_list::tools(connected.session);
    let fetch = match connected.pages {
        Some(side) => WebFetch::default().with_summarizer(Arc::new(side)),
        None => WebFetch::default(),
    };
    let search = connected.search.map(|side| WebSearch::new(Arc::new(side)));
    let Connected { desk, mode, sandbox, .. } = connected;
    let person: [Arc<dyn AnyTool>; 3] = [
        Arc::new(AskUserQuestion::new(desk.clone())),
        Arc::new(EnterPlanMode::new(mode.clone())),
        Arc::new(ExitPlanMode::new(mode.clone(), desk.clone())),
    ];
    let mut own: Vec<Arc<dyn AnyTool>> =
        tasks.into_iter().chain(person).chain([Arc::new(fetch) as Arc<dyn AnyTool>]).collect();
    own.extend(sandbox.map(|sandbox| Arc::new(Bash::confined(sandbox)) as Arc<dyn AnyTool>));
    own.extend(search.map(|search| Arc::new(search) as Arc<dyn AnyTool>));
    let place =
        |tool: Arc<dyn AnyTool>| own.iter().find(|mine| mine.name() == tool.name()).cloned().unwrap_or(tool);
    let works = |tool: &Arc<dyn AnyTool>| desk.is_staffed() || !NEED_A_PERSON.contains(&tool.name());
    builtin::all().into_iter().filter(works).map(place).collect()
}

/// What flags, rules and the agent's own list leave, with the limits the list sets.
pub(super) fn capability(
    request: &LaunchRequest,
    agent: Option<&AgentDefinition>,
    catalog: &Catalog,
) -> Capability {
    let mut capability = spec::session_pool(&catalog.policy).capability;
    let flag = request.tools.as_deref().filter(|list| *list != "default").map(patterns);
    let denied: Vec<ToolPattern> = request.disallowed_tools.iter().flat_map(|list| patterns(list)).collect();
    let own = agent
        .and_then(|agent| agent.tools.as_ref())
        .map(|list| list.iter().map(|entry| entry.pattern.clone()).collect::<Vec<_>>());
    let taken = agent
        .map(|agent| agent.disallowed_tools.iter().map(|entry| entry.pattern.clone()).collect::<Vec<_>>());
    let has_memory = agent.is_some_and(|agent| agent.memory.is_some()) && catalog.policy.memory_off.is_none();
    let for_memory = |name: &str| has_memory && MEMORY_TOOLS.contains(&name);
    capability.retain(|tool| {
        flag.as_ref().is_none_or(|list| names(list, tool.name, true))
            && own.as_ref().is_none_or(|list| names(list, tool.name, true) || for_memory(tool.name))
            && !names(&denied, tool.name, false)
            && !taken.as_ref().is_some_and(|list| names(list, tool.name, true))
    });
    let of_servers = |list: &[ToolPattern]| list.iter().filter_map(ToolPattern::mcp).collect::<Vec<_>>();
    let allow = own.as_ref().filter(|list| !list.contains(&ToolPattern::All)).map(|list| of_servers(list));
    let deny = of_servers(&[denied, taken.unwrap_or_default()].concat());
    capability.mcp.push(McpFilter { allow, deny });
    for list in flag.iter().chain(&own) {
        limit(&mut capability, list);
    }
    if let (Some(agent), Some(list)) = (agent, &own) {
        // What only memory adds reaches only the memory.
        let added = MEMORY_TOOLS.iter().filter(|name| for_memory(name) && !names(list, name, true));
        for name in added.filter(|name| tools::find(name).is_some_and(|tool| !tool.read_only)) {
            capability.limit(name, Limit { any_of: vec![Scope::MemoryFolder(agent.name.clone())] });
        }
    }
    capability
}

/// What a list says of the arguments of its tools: a tool that is only listed with scopes is limited to them.
fn limit(capability: &mut Capability, list: &[ToolPattern]) {
    let tools: Vec<&'static str> = capability.grants.iter().map(|grant| grant.tool.name).collect();
    for tool in tools {
        let entries = list.iter().filter_map(|pattern| match pattern {
            ToolPattern::All => Some(None),
            ToolPattern::Tool { name, scope } if &**name == tool => Some(scope.clone()),
            ToolPattern::Tool { .. } | ToolPattern::Mcp(_) => None,
        });
        if let Some(any_of) = entries.collect::<Option<Vec<_>>>().filter(|scopes| !scopes.is_empty()) {
            capability.limit(tool, Limit { any_of });
        }
    }
}

/// The built-in tools of a capability.
pub(super) fn select(capability: &Capability, connection: Connected<'_>) -> Vec<Arc<dyn AnyTool>> {
    connected(connection).into_iter().filter(|tool| capability.grant(tool.name()).is_some()).collect()
}

/// The entries of a list as a flag gives it.
pub(super) fn patterns(list: &str) -> Vec<ToolPattern> {
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
