//! For tests of the readers: a tree as text one can compare.

use super::{Node, Value};

/// A value on one line with its type plain to see: text in quotes, everything else bare.
pub(crate) fn shown(node: &Node) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match &node.value {
        Value::Null => "null".into(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", list(items.iter().map(shown).collect())),
        Value::Map(entries) => {
            format!(
                "{{{}}}",
                list(entries.iter().map(|e| format!("{}: {}", e.key, shown(&e.node))).collect())
            )
        }
    }
}

/// What stands in the source at every key and value, in the order of the tree.
pub(crate) fn slices<'t>(text: &'t str, node: &Node, out: &mut Vec<&'t str>) {
    out.push(&text[node.span.range()]);
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| slices(text, item, out)),
        Value::Map(entries) => entries.iter().for_each(|entry| {
            out.push(&text[entry.key_span.range()]);
            slices(text, &entry.node, out);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}
