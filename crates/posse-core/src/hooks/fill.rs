//! Putting an occasion into a handler's own words: `$ARGUMENTS` in prompts, `${path}` in the input of an MCP tool.

use serde_json::{Map, Value};

use crate::node::{self, Node};

/// The prompt with the input in place of `$ARGUMENTS`, or behind it.
pub fn prompt(prompt: &str, input: &Value) -> String {
    const PLACE: &str = "$ARGUMENTS";
    let input = input.to_string();
    if prompt.contains(PLACE) { prompt.replace(PLACE, &input) } else { format!("{prompt}\n\n{input}") }
}

/// The input of an MCP tool, with `${a.b}` in its texts replaced by what stands there in the occasion's input.
pub fn tool_input(written: Option<&Node>, input: &Value) -> Value {
    written.map_or_else(|| Value::Object(Map::new()), |node| value(node, input))
}

fn value(node: &Node, input: &Value) -> Value {
    match &node.value {
        node::Value::Null => Value::Null,
        node::Value::Bool(yes) => Value::Bool(*yes),
        node::Value::Number(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()))
        }
        node::Value::Text(text) => Value::String(fill(text, input)),
        node::Value::List(items) => items.iter().map(|item| value(item, input)).collect(),
        node::Value::Map(entries) => {
            let pairs = entries.iter().map(|entry| (entry.key.to_string(), value(&entry.node, input)));
            Value::Object(pairs.collect())
        }
    }
}

fn fill(text: &str, input: &Value) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let Some((path, behind)) = after.split_once('}') else {
            filled.push_str("${");
            rest = after;
            continue;
        };
        // What is not there is nothing, as in a shell.
        match at(input, path.trim()) {
            Some(Value::String(text)) => filled.push_str(text),
            Some(Value::Null) | None => {}
            Some(other) => filled.push_str(&other.to_string()),
        }
        rest = behind;
    }
    filled + rest
}

fn at<'a>(input: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(input, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

#[cfg(test)]
mod tests;
