//! Scripts: a YAML list of what the model says, turn by turn.
//!
//! ```yaml
//! - say: I will look first.
//!   calls:
//!     - Read: {file_path: "{{cwd}}/README.md"}
//! - say: Done.
//! ```
//!
//! A list is for everybody who asks, in the order of the requests. Where several agents work side by side that order is
//! not known; so a script can also say what each kind of agent says: `{main: [turns], agents: {Explore: [turns]}}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use posse_core::message::{Block, ToolCall};
use posse_core::node::{Node, Value as NodeValue};
use posse_core::text::{self, Span};
use posse_core::yaml::{self, YamlError};
use serde_json::Value;

/// Why a script or recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// It does not say what it should.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// What is wrong.
        message: String,
    },
}

/// What a model says, turn by turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The turns: of the main agent, or of all.
    pub steps: Vec<Step>,
    /// The turns of the other agents, by kind; if there are none of these, everybody shares `steps`.
    pub agents: Option<BTreeMap<Box<str>, Vec<Step>>>,
}

/// One turn of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What it thinks.
    pub think: Option<String>,
    /// What it says.
    pub say: Option<String>,
    /// What it asks for: tool and input.
    pub calls: Calls,
}

/// Tools and their inputs.
pub type Calls = Vec<(Box<str>, Value)>;

impl Script {
    /// Reads a script.
    pub fn parse(source: &str, path: &Path) -> Result<Self, ScriptError> {
        let invalid = |span: Span, message: String| {
            let at = text::locate(source, span);
            ScriptError::Invalid { path: path.to_owned(), line: at.line, column: at.column, message }
        };
        let document = yaml::parse(source).map_err(|error| match error {
            YamlError::Syntax { at, message } => {
                invalid(Span::point(at), format!("not valid YAML: {message}"))
            }
            YamlError::TooComplex { at, limit } => invalid(Span::point(at), limit.to_owned()),
            YamlError::SeveralDocuments => invalid(Span::default(), "more than one document".into()),
        })?;
        Self::read(&document.root).map_err(|(span, message)| invalid(span, message))
    }

    fn read(root: &Node) -> Result<Self, (Span, String)> {
        if root.get("main").is_none() && root.get("agents").is_none() {
            return Ok(Self { steps: steps(root.get("turns").unwrap_or(root))?, agents: None });
        }
        let mut script = Self { steps: Vec::new(), agents: Some(BTreeMap::new()) };
        for entry in root.as_map().unwrap_or_default() {
            match &*entry.key {
                "main" => script.steps = steps(&entry.node)?,
                "agents" => script.agents = Some(kinds(&entry.node)?),
                other => {
                    let text = format!("a script for several agents has `main` and `agents`, not `{other}`");
                    return Err((entry.key_span, text));
                }
            }
        }
        Ok(script)
    }

    /// The turns of a kind of agent, or of the main one; why there are none, if so.
    pub(super) fn turns_of(&self, kind: Option<&str>) -> Result<&[Step], String> {
        let (Some(agents), Some(kind)) = (&self.agents, kind) else { return Ok(&self.steps) };
        agents.get(kind).map(Vec::as_slice).ok_or_else(|| {
            let known: Vec<&str> = agents.keys().map(|kind| &**kind).collect();
            let known = if known.is_empty() { "the main agent only".to_owned() } else { known.join(", ") };
            format!("the script has no turns for the agent {kind}; it has some for {known}")
        })
    }
}

/// Turns by kind of agent.
fn kinds(node: &Node) -> Result<BTreeMap<Box<str>, Vec<Step>>, (Span, String)> {
    let Some(entries) = node.as_map() else {
        let text = format!("`agents` has a list of turns for each kind of agent; this is {}", node.kind());
        return Err((node.span, text));
    };
    entries.iter().map(|entry| Ok((entry.key.clone(), steps(&entry.node)?))).collect()
}

fn steps(list: &Node) -> Result<Vec<Step>, (Span, String)> {
    let Some(items) = list.as_list() else {
        return Err((list.span, format!("a script is a list of turns; this is {}", list.kind())));
    };
    items.iter().map(step).collect()
}

fn step(node: &Node) -> Result<Step, (Span, String)> {
    if let Some(text) = node.as_text() {
        return Ok(Step { say: Some(text.to_owned()), ..Step::default() });
    }
    let Some(entries) = node.as_map() else {
        return Err((
            node.span,
            format!("a turn is a text or has `say`, `think` and `calls`; this is {}", node.kind()),
        ));
    };
    let mut step = Step::default();
    for entry in entries {
        let words = || entry.node.scalar_text().map(str::to_owned);
        match &*entry.key {
            "say" => step.say = words(),
            "think" => step.think = words(),
            "calls" => step.calls = calls(&entry.node)?,
            other => {
                return Err((
                    entry.key_span,
                    format!("a turn has no `{other}`; it has `say`, `think` and `calls`"),
                ));
            }
        }
    }
    Ok(step)
}

fn calls(node: &Node) -> Result<Calls, (Span, String)> {
    let wrong = |node: &Node| (node.span, "calls are a list of `Tool: {input}`".to_owned());
    let items = node.as_list().ok_or_else(|| wrong(node))?;
    let mut calls = Vec::new();
    for item in items {
        for entry in item.as_map().ok_or_else(|| wrong(item))? {
            calls.push((entry.key.clone(), to_json(&entry.node)));
        }
    }
    Ok(calls)
}

fn to_json(node: &Node) -> Value {
    match &node.value {
        NodeValue::Null => Value::Null,
        NodeValue::Bool(yes) => Value::Bool(*yes),
        NodeValue::Number(number) => {
            serde_json::from_str(number).unwrap_or_else(|_| Value::String(number.to_string()))
        }
        NodeValue::Text(text) => Value::String(text.to_string()),
        NodeValue::List(items) => items.iter().map(to_json).collect(),
        NodeValue::Map(entries) => {
            entries.iter().map(|entry| (entry.key.to_string(), to_json(&entry.node))).collect()
        }
    }
}

impl Step {
    /// The turn as blocks; `{{cwd}}` stands for the working directory. Ids of calls begin with `ids`.
    pub(super) fn blocks(&self, ids: &str, cwd: &str) -> Vec<Block> {
        let fill = |text: &str| text.replace("{{cwd}}", cwd);
        let mut blocks = Vec::new();
        if let Some(thought) = &self.think {
            blocks.push(Block::Thinking { text: fill(thought), signature: "rehearsal".into() });
        }
        if let Some(said) = &self.say {
            blocks.push(Block::Text(fill(said)));
        }
        for (place, (tool, input)) in self.calls.iter().enumerate() {
            let id = format!("toolu_{ids}_{:02}", place + 1);
            blocks.push(Block::ToolUse(ToolCall {
                id: id.into(),
                name: tool.clone(),
                input: filled(input, &fill),
            }));
        }
        blocks
    }
}

fn filled(value: &Value, fill: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text)),
        Value::Array(items) => items.iter().map(|item| filled(item, fill)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), filled(value, fill))).collect(),
        other => other.clone(),
    }
}
