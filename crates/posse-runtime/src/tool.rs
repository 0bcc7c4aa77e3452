//! Tools: what one is, what it is given, what it answers.
//!
//! An author writes a [`Tool`] with a typed input; the pool holds them erased. A tool gets a [`ToolCx`] and nothing
//! else: no process-wide state, no cwd but the run's. Failure is an answer the model can read, never a Rust error.

pub mod builtin;
pub(crate) mod capture;
mod checkpoints;
mod context;
pub mod crew;
mod deferred;
mod files;
mod hidden;
mod inbox;
mod lenient;
mod permit;
mod schema;
pub mod skills;
mod tasks;
mod terms;
mod todos;

use futures_util::future::BoxFuture;
use posse_core::message::Content;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use checkpoints::{Checkpoints, RewindError, Rewound};
pub use context::{Cwd, ToolCx, ToolProgress};
pub use deferred::Deferred;
pub use files::{FileState, Freshness, Version};
pub use hidden::{Filter, Hidden};
pub use inbox::Inbox;
pub use permit::{Judge, Permit};
use schema::schema;
pub use tasks::{Finished, Task, TaskKind, TaskState, TaskStatus, Tasks, Work};
pub use terms::{Terms, TurnTerms};
pub use todos::{Todo, TodoStatus, Todos};

/// What the model is told of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: Box<str>,
    /// What it does and how to use it.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<Content>,
    /// Whether it failed.
    pub is_error: bool,
    /// The same for programs.
    pub structured: Option<Value>,
}

impl ToolOutput {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], ..Self::default() }
    }

    /// What went wrong.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// With a result for programs.
    pub fn with(mut self, structured: Value) -> Self {
        self.structured = Some(structured);
        self
    }
}

/// A tool, as its author writes it.
pub trait Tool: Send + Sync + 'static {
    /// Its name on the wire.
    const NAME: &'static str;
    /// Its input. Doc comments of the fields become their descriptions in the schema.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// What the model is told. Short: every request carries it.
    fn description(&self) -> String;

    /// JSON Schema of its input, where that depends on more than the type.
    fn input_schema(&self) -> Value {
        schema::<Self::Input>()
    }

    /// Whether a call must not run beside others: everything that changes something does.
    fn runs_alone(&self, input: &Self::Input) -> bool;

    /// Whether the model need not know it from the start, where there are many: ToolSearch finds it when needed.
    fn can_wait(&self) -> bool {
        false
    }

    /// Does it. `cx.stop` is cancelled when the user interrupts; dropping the future must stop everything it started.
    fn run(&self, input: Self::Input, cx: &ToolCx) -> impl Future<Output = ToolOutput> + Send;
}

/// A tool in a pool.
pub trait AnyTool: Send + Sync {
    /// Its name on the wire.
    fn name(&self) -> &str;
    /// What the model is told.
    fn spec(&self) -> ToolSpec;
    /// Whether a call must not run beside others; input that cannot be read runs alone, to its error.
    fn runs_alone(&self, input: &Value) -> bool;
    /// Whether the model need not know it from the start: tools of servers, unless they say otherwise.
    fn can_wait(&self) -> bool {
        self.name().starts_with("mcp__")
    }
    /// Whether it has to know what was said so far.
    fn wants_conversation(&self, _input: &Value) -> bool {
        false
    }
    /// Does it; input that does not fit the schema is answered with what is wrong with it.
    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput>;
}

impl<T: Tool> AnyTool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec { name: T::NAME.into(), description: self.description(), input_schema: self.input_schema() }
    }

    fn runs_alone(&self, input: &Value) -> bool {
        T::Input::deserialize(input).map_or(true, |input| Tool::runs_alone(self, &input))
    }

    fn can_wait(&self) -> bool {
        Tool::can_wait(self)
    }

    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        match serde_json::from_value::<T::Input>(input) {
            Ok(input) => Box::pin(Tool::run(self, input, cx)),
            Err(error) => {
                let text = format!(
                    "InputValidationError: {} was called with input that does not fit: {error}",
                    T::NAME
                );
                Box::pin(std::future::ready(ToolOutput::error(text)))
            }
        }
    }
}
