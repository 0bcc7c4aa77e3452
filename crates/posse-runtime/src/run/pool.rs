//! The tools of a run: which there are, and which of them the model is told of now.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::tool::builtin::tool_search::ToolSearch;
use crate::tool::{AnyTool, Deferred, Tool, ToolSpec};

/// Tools by name, with what the model is told of them worked out once. Clones share them.
#[derive(Clone)]
pub struct ToolPool {
    kit: Arc<Mutex<Kit>>,
    /// Whether and which tools wait until ToolSearch loads them.
    way: Way,
    /// Tools that come and go.
    more: Option<Arc<dyn MoreTools>>,
}

/// Tools that may be others tomorrow: those of servers.
pub trait MoreTools: Send + Sync {
    /// Changes whenever the tools do.
    fn version(&self) -> u64;

    /// The tools as they are now.
    fn tools(&self) -> Vec<Arc<dyn AnyTool>>;

    /// Lets go of what nobody else uses; [`MoreTools::wake`] takes it up again.
    fn rest(&self);

    /// Takes up what was let go of.
    fn wake(&self);
}

/// What a pool holds at a moment.
#[derive(Clone)]
struct Kit {
    tools: Arc<[Arc<dyn AnyTool>]>,
    /// How many of them stay.
    fixed: usize,
    /// Of the tools that every request carries.
    specs: Arc<[ToolSpec]>,
    /// Of the others, which wait until ToolSearch loads them.
    deferred: Option<Deferred>,
    /// Which of the others' versions these are.
    version: u64,
}

/// Which tools wait.
#[derive(Clone, Copy)]
enum Way {
    /// None.
    Told,
    /// Whatever is rarely needed; of servers' tools those that can, if there are too many.
    Lean(Deferral, u64),
    /// Those that can, if there are too many for the window.
    Search(Deferral, u64),
}

/// When tools that can wait do wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Never.
    Never,
    /// Always.
    Always,
    /// If what is told of them fills more than this many hundredths of the window.
    Above(u64),
}

impl Default for Deferral {
    fn default() -> Self {
        Self::Above(10)
    }
}

impl Deferral {
    /// Reads `ENABLE_TOOL_SEARCH`: `true`, `false`, `auto` or `auto:N`; anything else is `auto`.
    pub fn parse(text: Option<&str>) -> Self {
        let text = text.unwrap_or_default().trim().to_ascii_lowercase();
        match text.as_str() {
            "true" | "1" | "yes" | "on" => Self::Always,
            "false" | "0" | "no" | "off" => Self::Never,
            other => {
                let percent = other.strip_prefix("auto:").and_then(|number| number.parse().ok());
                percent.map_or_else(Self::default, |percent: u64| Self::Above(percent.min(100)))
            }
        }
    }

    fn holds(self, specs: &[ToolSpec], window: u64) -> bool {
        match self {
            Self::Never => false,
            Self::Always => !specs.is_empty(),
            Self::Above(percent) => {
                // Four characters make a token, roughly.
                let tokens = specs.iter().map(size).sum::<usize>() / 4;
                u64::try_from(tokens).unwrap_or(u64::MAX) > window.saturating_mul(percent) / 100
            }
        }
    }
}

/// Characters that telling of a tool takes.
fn size(spec: &ToolSpec) -> usize {
    let ToolSpec { name, description, input_schema } = spec;
    name.len() + description.len() + input_schema.to_string().len()
}

/// What an agent that may use everything rarely needs.
const RARELY: [&str; 9] = [
    "NotebookEdit",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "WebSearch",
];

impl Way {
    fn arrange(self, tools: Vec<Arc<dyn AnyTool>>, fixed: usize) -> Kit {
        match self {
            Self::Told => Kit::told(tools, fixed),
            Self::Lean(deferral, window) => {
                let is_of_server = |tool: &Arc<dyn AnyTool>| tool.name().starts_with("mcp__");
                let of_servers: Vec<ToolSpec> = tools
                    .iter()
                    .filter(|tool| is_of_server(tool) && tool.can_wait())
                    .map(|tool| tool.spec())
                    .collect();
                let holds = deferral.holds(&of_servers, window);
                Kit::searched(tools, fixed, |tool| {
                    RARELY.contains(&tool.name()) || tool.can_wait() && (holds || !is_of_server(tool))
                })
            }
            Self::Search(deferral, window) => {
                let waiting: Vec<ToolSpec> =
                    tools.iter().filter(|tool| tool.can_wait()).map(|tool| tool.spec()).collect();
                let holds = deferral.holds(&waiting, window);
                Kit::searched(tools, fixed, |tool| holds && tool.can_wait())
            }
        }
    }
}

impl Kit {
    /// All of which the model is told.
    fn told(tools: Vec<Arc<dyn AnyTool>>, fixed: usize) -> Self {
        let specs = tools.iter().map(|tool| tool.spec()).collect();
        Self { tools: tools.into(), fixed, specs, deferred: None, version: 0 }
    }

    /// In which the tools for which `waits` holds wait. Without any, or without ToolSearch, none does; where nothing
    /// waits there is nothing to search, and ToolSearch is told of to nobody.
    fn searched(
        mut tools: Vec<Arc<dyn AnyTool>>,
        fixed: usize,
        waits: impl Fn(&Arc<dyn AnyTool>) -> bool,
    ) -> Self {
        let waiting: Vec<ToolSpec> =
            tools.iter().filter(|tool| waits(tool)).map(|tool| tool.spec()).collect();
        let search = tools.iter().position(|tool| tool.name() == ToolSearch::NAME);
        let Some(search) = search.filter(|_| !waiting.is_empty()) else {
            let mut kit = Self::told(tools, fixed);
            kit.specs = kit.specs.iter().filter(|spec| &*spec.name != ToolSearch::NAME).cloned().collect();
            return kit;
        };
        let deferred = Deferred::new(waiting);
        tools[search] = Arc::new(ToolSearch::new(deferred.clone()));
        let specs = tools.iter().filter(|tool| !waits(tool)).map(|tool| tool.spec()).collect();
        Self { tools: tools.into(), fixed, specs, deferred: Some(deferred), version: 0 }
    }

    /// Whether the model can call a tool: ToolSearch only where there is something to search.
    fn offers(&self, tool: &Arc<dyn AnyTool>) -> bool {
        tool.name() != ToolSearch::NAME || self.deferred.is_some()
    }
}

impl ToolPool {
    fn of(tools: Vec<Arc<dyn AnyTool>>, way: Way) -> Self {
        let fixed = tools.len();
        Self { kit: Arc::new(Mutex::new(way.arrange(tools, fixed))), way, more: None }
    }

    /// A pool of these tools, all of which the model is told of.
    pub fn new(tools: Vec<Arc<dyn AnyTool>>) -> Self {
        Self::of(tools, Way::Told)
    }

    /// A pool for an agent that may use everything: whatever it rarely needs waits until it is searched for, so that
    /// its first request is small.
    pub fn lean(tools: Vec<Arc<dyn AnyTool>>, deferral: Deferral, window: u64) -> Self {
        Self::of(tools, Way::Lean(deferral, window))
    }

    /// A pool in which tools that can wait do, if there are too many of them for the window and ToolSearch is there to
    /// load them.
    pub fn with_search(tools: Vec<Arc<dyn AnyTool>>, deferral: Deferral, window: u64) -> Self {
        Self::of(tools, Way::Search(deferral, window))
    }

    /// The same pool, and these that come and go.
    pub fn and(mut self, more: Arc<dyn MoreTools>) -> Self {
        self.more = Some(more);
        self.update(true);
        self
    }

    /// Takes over what has changed. What was loaded and is still there stays loaded.
    fn update(&self, always: bool) {
        let Some(more) = &self.more else { return };
        let mut kit = self.lock();
        let version = more.version();
        if !always && kit.version == version {
            return;
        }
        let (fixed, others) = (kit.fixed, more.tools());
        if others.is_empty() && kit.tools.len() == fixed {
            // Nothing came and nothing went: what is told of the others stays shared with all who have them.
            kit.version = version;
            return;
        }
        let tools: Vec<Arc<dyn AnyTool>> = kit.tools[..fixed].iter().cloned().chain(others).collect();
        let loaded = kit.deferred.as_ref().map(Deferred::loaded).unwrap_or_default();
        *kit = self.way.arrange(tools, fixed);
        kit.version = version;
        if let Some(deferred) = &kit.deferred {
            deferred.load(loaded.iter().map(|spec| &*spec.name));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kit> {
        self.kit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever has it stops working, and may go on later: what was held for it alone is let go of.
    pub fn rest(&self) {
        if let Some(more) = &self.more {
            more.rest();
            self.update(true);
        }
    }

    /// Whoever has it goes on.
    pub fn wake(&self) {
        if let Some(more) = &self.more {
            more.wake();
            self.update(true);
        }
    }

    /// The same for another agent: what is told of the tools is shared, what was loaded is not.
    pub fn fresh(&self) -> Self {
        let mut kit = self.lock().clone();
        if let Some(deferred) = &kit.deferred {
            let deferred = deferred.fresh();
            let own = |tool: &Arc<dyn AnyTool>| -> Arc<dyn AnyTool> {
                if tool.name() == ToolSearch::NAME {
                    Arc::new(ToolSearch::new(deferred.clone()))
                } else {
                    Arc::clone(tool)
                }
            };
            kit.tools = kit.tools.iter().map(own).collect();
            kit.deferred = Some(deferred);
        }
        Self { kit: Arc::new(Mutex::new(kit)), way: self.way, more: self.more.clone() }
    }

    /// A tool, by its name or an older name of it.
    pub fn get(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        let current = posse_core::tools::find(name).map_or(name, |tool| tool.name);
        let kit = self.lock();
        kit.tools.iter().find(|tool| tool.name() == current && kit.offers(tool)).cloned()
    }

    /// What the model is told now: of what never waits, then of what was loaded. Servers may have changed meanwhile.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.update(false);
        let kit = self.lock();
        let loaded = kit.deferred.as_ref().map(Deferred::loaded).unwrap_or_default();
        if loaded.is_empty() {
            Arc::clone(&kit.specs)
        } else {
            kit.specs.iter().cloned().chain(loaded).collect()
        }
    }

    /// Whether a tool of this name still waits to be loaded.
    pub fn is_waiting(&self, name: &str) -> bool {
        let kit = self.lock();
        kit.deferred.as_ref().is_some_and(|deferred| deferred.waiting().iter().any(|known| **known == *name))
    }

    /// Loads tools that are known to be needed, as those that a conversation has used before.
    pub fn load<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        if let Some(deferred) = &self.lock().deferred {
            deferred.load(names);
        }
    }

    /// Their names. Servers may have changed meanwhile.
    pub fn names(&self) -> Vec<String> {
        self.update(false);
        let kit = self.lock();
        kit.tools.iter().filter(|tool| kit.offers(tool)).map(|tool| tool.name().to_owned()).collect()
    }
}
