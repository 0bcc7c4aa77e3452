//! The tools of a run.

use std::sync::Arc;

use crate::tool::{AnyTool, ToolSpec};

/// Tools by name, with what the model is told of them worked out once.
#[derive(Clone)]
pub struct ToolPool {
    tools: Arc<[Arc<dyn AnyTool>]>,
    specs: Arc<[ToolSpec]>,
}

impl ToolPool {
    /// A pool of these tools.
    pub fn new(tools: Vec<Arc<dyn AnyTool>>) -> Self {
        let specs = tools.iter().map(|tool| tool.spec()).collect();
        Self { tools: tools.into(), specs }
    }

    /// A tool, by its name or an older name of it.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        let current = posse_core::tools::find(name).map_or(name, |tool| tool.name);
        self.tools.iter().find(|tool| tool.name() == current)
    }

    /// What the model is told.
    pub fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }
}
