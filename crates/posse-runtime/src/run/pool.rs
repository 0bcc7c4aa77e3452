//! The tools of a run: which there are, and which of them the model is told of now.

use std::sync::Arc;

use crate::tool::builtin::tool_search::ToolSearch;
use crate::tool::{AnyTool, Deferred, Tool, ToolSpec};

/// Tools by name, with what the model is told of them worked out once.
#[derive(Clone)]
pub struct ToolPool {
    tools: Arc<[Arc<dyn AnyTool>]>,
    /// Of the tools that every request carries.
    specs: Arc<[ToolSpec]>,
    /// Of the others, which wait until ToolSearch loads them.
    deferred: Option<Deferred>,
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

impl ToolPool {
    /// A pool of these tools, all of which the model is told of.
    pub fn new(tools: Vec<Arc<dyn AnyTool>>) -> Self {
        let specs = tools.iter().map(|tool| tool.spec()).collect();
        Self { tools: tools.into(), specs, deferred: None }
    }

    /// A pool for an agent that may use everything: whatever it rarely needs waits until it is searched for, so that
    /// its first request is small.
    pub fn lean(tools: Vec<Arc<dyn AnyTool>>) -> Self {
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
        let waits = |tool: &Arc<dyn AnyTool>| tool.can_wait() || RARELY.contains(&tool.name());
        Self::searched(tools, waits)
    }

    /// A pool in which tools that can wait do, if there are too many of them for the window and ToolSearch is there to
    /// load them. Where nothing waits there is nothing to search, and ToolSearch is left out.
    pub fn with_search(tools: Vec<Arc<dyn AnyTool>>, deferral: Deferral, window: u64) -> Self {
        let waiting: Vec<ToolSpec> =
            tools.iter().filter(|tool| tool.can_wait()).map(|tool| tool.spec()).collect();
        let holds = deferral.holds(&waiting, window);
        Self::searched(tools, |tool| holds && tool.can_wait())
    }

    /// A pool in which the tools for which `waits` holds wait. Without any, or without ToolSearch, none does.
    fn searched(mut tools: Vec<Arc<dyn AnyTool>>, waits: impl Fn(&Arc<dyn AnyTool>) -> bool) -> Self {
        let waiting: Vec<ToolSpec> =
            tools.iter().filter(|tool| waits(tool)).map(|tool| tool.spec()).collect();
        let search = tools.iter().position(|tool| tool.name() == ToolSearch::NAME);
        let Some(search) = search.filter(|_| !waiting.is_empty()) else {
            tools.retain(|tool| tool.name() != ToolSearch::NAME);
            return Self::new(tools);
        };
        let specs_of = |tools: &[Arc<dyn AnyTool>]| {
            tools.iter().filter(|tool| !waits(tool)).map(|tool| tool.spec()).collect()
        };
        let deferred = Deferred::new(waiting);
        tools[search] = Arc::new(ToolSearch::new(deferred.clone()));
        let specs = specs_of(&tools);
        Self { tools: tools.into(), specs, deferred: Some(deferred) }
    }

    /// The same for another agent: what is told of the tools is shared, what was loaded is not.
    pub fn fresh(&self) -> Self {
        let Some(deferred) = &self.deferred else { return self.clone() };
        let deferred = deferred.fresh();
        let own = |tool: &Arc<dyn AnyTool>| -> Arc<dyn AnyTool> {
            if tool.name() == ToolSearch::NAME {
                Arc::new(ToolSearch::new(deferred.clone()))
            } else {
                Arc::clone(tool)
            }
        };
        Self {
            tools: self.tools.iter().map(own).collect(),
            specs: Arc::clone(&self.specs),
            deferred: Some(deferred),
        }
    }

    /// A tool, by its name or an older name of it.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        let current = posse_core::tools::find(name).map_or(name, |tool| tool.name);
        self.tools.iter().find(|tool| tool.name() == current)
    }

    /// What the model is told now: of what never waits, then of what was loaded.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        let loaded = self.deferred.as_ref().map(Deferred::loaded).unwrap_or_default();
        if loaded.is_empty() {
            self.specs.clone()
        } else {
            self.specs.iter().cloned().chain(loaded).collect()
        }
    }

    /// Whether a tool of this name still waits to be loaded.
    pub fn is_waiting(&self, name: &str) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.waiting().iter().any(|known| **known == *name))
    }

    /// Loads tools that are known to be needed, as those that a conversation has used before.
    pub fn load<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        if let Some(deferred) = &self.deferred {
            deferred.load(names);
        }
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }
}
