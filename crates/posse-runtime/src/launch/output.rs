//! The tool through which a model hands in an answer of a given form.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::tool::{AnyTool, ToolCx, ToolOutput, ToolSpec};

/// Takes an answer that fits a schema; its success ends the turn.
pub struct StructuredOutput {
    schema: Value,
    validator: jsonschema::Validator,
}

impl StructuredOutput {
    /// Its name on the wire.
    pub const NAME: &'static str = "StructuredOutput";

    /// Checks the schema itself first.
    pub fn new(schema: &Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("a schema is an object".into());
        }
        let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
        Ok(Self { schema: schema.clone(), validator })
    }
}

impl AnyTool for StructuredOutput {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: Self::NAME.into(),
            description:
                "Hand in your final answer in the form the user asked for. Call it exactly once, at the end, \
                          instead of answering in text."
                    .into(),
            input_schema: self.schema.clone(),
        }
    }

    fn runs_alone(&self, _: &Value) -> bool {
        true
    }

    fn run<'a>(&'a self, input: Value, _: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        let problems: Vec<String> = self
            .validator
            .iter_errors(&input)
            .take(20)
            .map(|error| format!("- {}: {error}", error.instance_path()))
            .collect();
        let output = if problems.is_empty() {
            ToolOutput::text("Structured output provided successfully").with(input)
        } else {
            ToolOutput::error(format!("Output does not match required schema:\n{}", problems.join("\n")))
        };
        Box::pin(std::future::ready(output))
    }
}
