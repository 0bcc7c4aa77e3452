//! What a server says of itself and its tools, in our own words and within bounds: a server can be written by anybody,
//! and whatever it says of its tools goes into every request.

use posse_core::mcp::full_name;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Characters of a description that a model is told.
const DESCRIPTION: usize = 2048;
/// Bytes of a schema. Real ones have a few thousand.
const SCHEMA: usize = 128 * 1024;
/// Tools of one server.
const TOOLS: usize = 1000;
/// No answer may be longer than this, whatever the server wishes.
const LONGEST_RESULT: usize = 500_000;

/// What is known about a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The protocol's version that both sides speak.
    pub protocol: String,
    /// What the server calls itself.
    pub server: String,
    /// Its version.
    pub version: String,
    /// What it wants models to know about using it.
    pub instructions: Option<String>,
    /// Whether it has resources.
    pub resources: bool,
    /// Whether it has prompts.
    pub prompts: bool,
    /// Its tools.
    pub tools: Vec<ToolFact>,
    /// Tools that nobody can use, and why.
    pub left_out: Vec<String>,
}

/// What is known about a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolFact {
    /// What the server calls it.
    pub name: String,
    /// What it does, cut to what a model is told.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
    /// Whether it changes nothing, if the server says so.
    pub read_only: Option<bool>,
    /// Whether it may destroy something, if the server says so.
    pub destructive: Option<bool>,
    /// Whether it reaches beyond the server, if the server says so.
    pub open_world: Option<bool>,
    /// Whether the server wants the model to know it from the start, if it says so.
    pub always_load: Option<bool>,
    /// How many characters of an answer the server wants shown.
    pub longest_result: Option<usize>,
}

/// A resource of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFact {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What kind of data it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The server it belongs to.
    pub server: String,
}

/// A prompt of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFact {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its arguments, each with whether it must be given.
    pub arguments: Vec<(String, bool)>,
}

/// A tool of a list, or what is said of one that nobody can read.
pub(super) type Listed = Result<rmcp::model::Tool, String>;

/// The tools of a list that is not quite what the protocol wants, and where the next page is.
pub(super) fn read_list(list: &Value) -> Option<(Vec<Listed>, Option<String>)> {
    let tool = |item: &Value| {
        rmcp::model::Tool::deserialize(item).map_err(|error| {
            let name = item.get("name").map_or_else(|| "a tool without a name".to_owned(), Value::to_string);
            cut(format!("{}: it cannot be read: {error}", cut(name, 100)), 400)
        })
    };
    let tools = list.get("tools")?.as_array()?.iter().map(tool).collect();
    Some((tools, list.get("nextCursor").and_then(Value::as_str).map(str::to_owned)))
}

impl Facts {
    /// Takes over the tools a server lists, as far as they can be used.
    pub(super) fn take_tools(&mut self, server: &str, listed: Vec<Listed>) {
        self.tools.clear();
        self.left_out.clear();
        let mut names: Vec<Box<str>> = Vec::new();
        for tool in listed {
            let tool = match tool {
                Ok(tool) => tool,
                Err(_) if self.left_out.len() == TOOLS => break,
                Err(why) => {
                    self.left_out.push(why);
                    continue;
                }
            };
            let shown: String = tool.name.chars().take(100).collect();
            let mut refuse = |why: String| self.left_out.push(format!("{shown:?}: {why}"));
            if names.len() == TOOLS {
                refuse(format!("only {TOOLS} tools of a server can be used"));
                break;
            }
            let Some(name) = full_name(server, &tool.name) else {
                refuse("no model provider takes such a name".to_owned());
                continue;
            };
            if names.contains(&name) {
                refuse(format!("another tool is called {name} already"));
                continue;
            }
            match ToolFact::read(tool) {
                Ok(fact) => {
                    names.push(name);
                    self.tools.push(fact);
                }
                Err(why) => refuse(why),
            }
        }
    }
}

impl ToolFact {
    fn read(tool: rmcp::model::Tool) -> Result<Self, String> {
        let rmcp::model::Tool { name, title, description, input_schema, annotations, meta, .. } = tool;
        let text = description.map(Into::into).or(title).unwrap_or_default();
        let hint =
            |hint: fn(&rmcp::model::ToolAnnotations) -> Option<bool>| annotations.as_ref().and_then(hint);
        let said = |key: &str| meta.as_ref().and_then(|meta| meta.0.get(key));
        let longest = said("anthropic/maxResultSizeChars").and_then(Value::as_u64);
        let longest = longest.and_then(|chars| usize::try_from(chars).ok()).filter(|chars| *chars > 0);
        Ok(Self {
            name: name.into_owned(),
            description: cut(text, DESCRIPTION),
            input_schema: schema(&input_schema)?,
            read_only: hint(|said| said.read_only_hint),
            destructive: hint(|said| said.destructive_hint),
            open_world: hint(|said| said.open_world_hint),
            always_load: said("anthropic/alwaysLoad").and_then(Value::as_bool),
            longest_result: longest.map(|chars| chars.min(LONGEST_RESULT)),
        })
    }
}

/// A schema that a provider takes: an object at the top, and no alternatives there. One that it does not take would
/// spoil every request; the server checks its input itself anyway.
fn schema(given: &Map<String, Value>) -> Result<Value, String> {
    let mut schema = given.clone();
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            schema.insert("type".into(), "object".into());
        }
        Some(_) => return Err("its input is no object".to_owned()),
    }
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        schema.shift_remove(alternatives);
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".into(), Value::Object(Map::new()));
    }
    let schema = Value::Object(schema);
    if schema.to_string().len() > SCHEMA {
        return Err(format!("its schema has more than {} KiB", SCHEMA / 1024));
    }
    Ok(schema)
}

/// The beginning of a text, with a sign that there was more.
pub(super) fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => format!("{}… [cut]", &text[..end]),
    }
}
