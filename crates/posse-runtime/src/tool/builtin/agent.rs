//! **Agent**: hands a task to another agent. Who there is and what becomes of it, the crew knows.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::tool::crew::Crew;
use crate::tool::{AnyTool, ToolCx, ToolOutput, ToolSpec};

/// The tool, as one caller sees it.
pub struct Agent {
    crew: Arc<dyn Crew>,
    description: String,
    schema: Value,
    /// Whether it can wait until it is searched for.
    can_wait: bool,
}

impl Agent {
    /// Its name on the wire.
    pub const NAME: &'static str = "Agent";

    /// The tool with what its caller is told of it.
    pub fn new(crew: Arc<dyn Crew>, description: String, schema: Value, can_wait: bool) -> Self {
        Self { crew, description, schema, can_wait }
    }
}

impl AnyTool for Agent {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: Self::NAME.into(),
            description: self.description.clone(),
            input_schema: self.schema.clone(),
        }
    }

    fn runs_alone(&self, _input: &Value) -> bool {
        // Agents called in one message work side by side.
        false
    }

    fn can_wait(&self) -> bool {
        self.can_wait
    }

    fn wants_conversation(&self, _input: &Value) -> bool {
        true
    }

    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        self.crew.start(input, cx)
    }
}
