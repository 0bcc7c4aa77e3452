//! **SendMessage**: writes to another agent, by its name or id. One that has ended goes on from where it stopped.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::tool::crew::Crew;
use crate::tool::{AnyTool, ToolCx, ToolOutput, ToolSpec};

/// The tool.
pub struct SendMessage {
    crew: Arc<dyn Crew>,
    can_wait: bool,
}

impl SendMessage {
    /// Its name on the wire.
    pub const NAME: &'static str = "SendMessage";

    /// Writes to the agents of this crew.
    pub fn new(crew: Arc<dyn Crew>, can_wait: bool) -> Self {
        Self { crew, can_wait }
    }
}

impl AnyTool for SendMessage {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: Self::NAME.into(),
            description: "Writes to an agent you started, by the name or agentId you know it by, or to `main`, the \
                          conversation with the user. An agent at work reads it between two steps; one that has ended \
                          goes on in the background with all it knew, and you are told when it is done."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "to": { "type": "string", "description": "Name, agentId or main" },
                    "message": { "type": "string" },
                    "summary": { "type": "string", "description": "In a few words" },
                },
                "required": ["to", "message"],
            }),
        }
    }

    fn runs_alone(&self, _input: &Value) -> bool {
        false
    }

    fn can_wait(&self) -> bool {
        self.can_wait
    }

    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        self.crew.write(input, cx)
    }
}
