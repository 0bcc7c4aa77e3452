//! What is offered: which of posse's tools, which agents, and how clients are told of them. Decides nothing about calls.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use posse_core::tools;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::run::ToolPool;

/// The tools that make sense without a conversation, in the order they are offered.
pub const OFFERED: [&str; 11] = [
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "TaskOutput",
    "TaskStop",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// What somebody wants to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Which of [`OFFERED`].
    tools: Vec<&'static str>,
    /// Whether agents are.
    agents: bool,
}

/// A name in a list that is no tool that can be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be offered")]
pub struct UnknownTool(pub String);

impl Default for Offer {
    fn default() -> Self {
        Self { tools: OFFERED.to_vec(), agents: true }
    }
}

impl Offer {
    /// The same with these tools: a comma list, `default` for all, empty for none.
    pub fn with_tools(self, list: &str) -> Result<Self, UnknownTool> {
        if list.trim() == "default" {
            return Ok(Self { tools: OFFERED.to_vec(), ..self });
        }
        let names = tools::split_entries(list).into_iter();
        let known = names.map(|(_, name)| {
            let current = tools::find(name).map_or(name, |tool| tool.name);
            OFFERED.into_iter().find(|offered| *offered == current).ok_or_else(|| UnknownTool(name.into()))
        });
        Ok(Self { tools: known.collect::<Result<_, _>>()?, ..self })
    }

    /// The same without agents.
    pub fn without_agents(self) -> Self {
        Self { agents: false, ..self }
    }
}

/// What is offered, by the name clients use.
pub(super) struct Offers {
    /// As clients are told, in order.
    pub(super) listed: Vec<Tool>,
    pub(super) instructions: String,
    behind: BTreeMap<String, Behind>,
}

/// What stands behind a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// A tool of posse, under its own name.
    Tool,
    /// An agent, under this name.
    Agent(String),
}

impl Offers {
    /// What there is of what somebody wants to offer.
    pub(super) fn new(offer: &Offer, pool: &ToolPool, agents: Vec<(String, String)>, cwd: &Path) -> Self {
        let mut listed: Vec<Tool> = Vec::new();
        let mut behind = BTreeMap::new();
        for name in OFFERED.into_iter().filter(|name| offer.tools.contains(name)) {
            let Some(tool) = pool.get(name) else { continue };
            let spec = tool.spec();
            let described = Tool::new(name, spec.description, object(spec.input_schema));
            listed.push(described.with_annotations(tool_annotations(name)));
            behind.insert(name.to_owned(), Behind::Tool);
        }
        let agents = if offer.agents { agents } else { Vec::new() };
        for (name, when) in agents {
            let called = free_name(&name, |taken| behind.contains_key(taken));
            listed.push(agent_tool(&called, &name, when));
            behind.insert(called, Behind::Agent(name));
        }
        let instructions = instructions(&behind, cwd);
        Self { listed, instructions, behind }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Behind> {
        self.behind.get(name)
    }
}

/// What a client's model is told of the server as a whole.
fn instructions(behind: &BTreeMap<String, Behind>, cwd: &Path) -> String {
    let mut text = format!("posse works in {}; paths that are not absolute start there.", cwd.display());
    if behind.values().any(|behind| *behind == Behind::Tool) {
        text.push_str(" Read a file before you change it. What the user's rules do not allow is refused, with the reason.");
    }
    if behind.values().any(|behind| matches!(behind, Behind::Agent(_))) {
        text.push_str(
            " A tool whose name begins with agent_ hands a task to an agent, which works by itself and answers with a \
             report. It knows nothing of your conversation: put everything it needs into the prompt. Several can work \
             at once.",
        );
    }
    text
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

fn tool_annotations(name: &str) -> ToolAnnotations {
    let reads = tools::find(name).is_some_and(|tool| tool.read_only);
    let reaches_out = matches!(name, "Bash" | "WebFetch" | "WebSearch");
    ToolAnnotations::new().read_only(reads).destructive(!reads).open_world(reaches_out)
}

fn agent_tool(called: &str, name: &str, when: String) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "prompt": {
                "type": "string",
                "minLength": 1,
                "description": "The whole task: the agent knows nothing else of what you know.",
            },
            "description": { "type": "string", "description": "The task in three to five words." },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    let annotations = ToolAnnotations::with_title(name).read_only(false).destructive(true).open_world(true);
    Tool::new(called.to_owned(), when, object(schema)).with_annotations(annotations)
}

/// Clients put a prefix of their own before it, and models take 64 characters.
const LONGEST_NAME: usize = 50;

/// A name for an agent that every client takes: letters, digits, `_` and `-`, and nobody else's.
fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let base: String = format!("agent_{name}").chars().map(plain).take(LONGEST_NAME).collect();
    let numbered = (2..).map(|number: u32| {
        let end = format!("_{number}");
        let start: String = base.chars().take(LONGEST_NAME - end.len()).collect();
        start + &end
    });
    std::iter::once(base.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
