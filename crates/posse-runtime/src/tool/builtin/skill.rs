//! **Skill**: loads instructions that are kept outside of the conversation until they are needed, or has an agent
//! follow them. Which there are and what they say, the shelf knows.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use posse_core::message::Content;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tool::crew::Crew;
use crate::tool::skills::{Fork, Loaded, Skills};
use crate::tool::{AnyTool, ToolCx, ToolOutput, ToolSpec, lenient, schema};

/// The tool, as one run sees it.
pub struct Skill {
    skills: Arc<dyn Skills>,
    crew: Arc<dyn Crew>,
    description: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The name of a skill in the list, without a slash
    #[serde(alias = "command", alias = "name")]
    skill: String,
    /// What it is given, as one would type it behind its name
    #[serde(default, alias = "arguments", deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    args: Option<String>,
}

impl Skill {
    /// Its name on the wire.
    pub const NAME: &'static str = "Skill";

    /// The tool with what the model is told of it.
    pub fn new(skills: Arc<dyn Skills>, crew: Arc<dyn Crew>, description: String) -> Self {
        Self { skills, crew, description }
    }

    async fn load(&self, input: Value, cx: &ToolCx) -> ToolOutput {
        let Input { skill, args } = match serde_json::from_value(input) {
            Ok(input) => input,
            Err(error) => {
                return ToolOutput::error(format!(
                    "InputValidationError: Skill was called with input that does not fit: {error}"
                ));
            }
        };
        // Some put everything into the name.
        let (name, behind) = skill.trim().split_once(char::is_whitespace).unwrap_or((skill.trim(), ""));
        let arguments = args.unwrap_or_else(|| behind.trim().to_owned());
        let loaded = match self.skills.load(name, &arguments, cx).await {
            Ok(loaded) => loaded,
            Err(why) => return ToolOutput::error(why),
        };
        if let Some(fork) = &loaded.fork {
            return delegate(&*self.crew, &loaded, fork, cx).await;
        }
        let mut structured = json!({ "success": true, "commandName": loaded.name });
        if !loaded.terms.rules.is_empty() {
            structured["allowedTools"] = loaded.terms.rules.iter().map(|rule| &*rule.text).collect();
        }
        if let Some(model) = &loaded.terms.model {
            structured["model"] = json!(model);
        }
        cx.terms.add(loaded.terms);
        loaded.hooks.iter().for_each(|hooks| cx.permit.take_hooks(hooks));
        ToolOutput::text(format!("Launching skill: {}\n\n{}", loaded.name, loaded.text)).with(structured)
    }
}

/// Has an agent follow a skill.
pub async fn delegate(crew: &dyn Crew, loaded: &Loaded, fork: &Fork, cx: &ToolCx) -> ToolOutput {
    let mut input = json!({
        "description": format!("skill {}", loaded.name),
        "prompt": loaded.text,
        "subagent_type": fork.agent,
        "run_in_background": fork.background,
    });
    if let Some(model) = &fork.model {
        input["model"] = json!(model);
    }
    let cx = ToolCx { terms: cx.terms.bequeathing(&loaded.terms.rules, loaded.hooks.clone()), ..cx.clone() };
    let mut output = crew.start(input, &cx).await;
    if output.is_error {
        return output;
    }
    let said = output.structured.take().unwrap_or_default();
    let text = said.pointer("/content/0/text").cloned();
    output.structured = Some(json!({
        "success": true,
        "commandName": loaded.name,
        "status": "forked",
        "agentId": said.get("agentId").cloned().unwrap_or_default(),
        "result": text.unwrap_or_else(|| Value::String(text_of(&output.content))),
    }));
    output
}

/// What an answer says.
pub fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        Content::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

impl AnyTool for Skill {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: Self::NAME.into(),
            description: self.description.clone(),
            input_schema: schema::<Input>(),
        }
    }

    fn runs_alone(&self, _input: &Value) -> bool {
        // Its commands may change something, and what it asks for counts for what follows.
        true
    }

    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.load(input, cx))
    }
}
