//! The schema of a tool's input, as small as it can be said: every request carries it. Knows what a generator writes
//! that no model needs; what an input means, its type says.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// The schema of an input, without what only documents and Rust need.
pub(super) fn schema<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.to_value();
    tighten(&mut schema);
    schema
}

/// Takes out how wide a number is, what stands for a value that is left out, and the words on single choices, which
/// the field itself explains.
fn tighten(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(tighten);
            merge_optional(map);
            merge_choices(map);
            map.retain(|key, value| !is_noise(key, value));
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".into(), only);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(tighten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_noise(key: &str, value: &Value) -> bool {
    match (key, value) {
        // A property may have any of these names; what it holds is then a schema, which is an object.
        ("default", Value::Null | Value::Bool(false)) => true,
        ("default", Value::Array(values)) => values.is_empty(),
        ("minimum", Value::Number(least)) => least.as_u64() == Some(0),
        ("format", Value::String(format)) => format.starts_with("uint") || format.starts_with("int"),
        ("additionalProperties", value) => *value == Value::Bool(true),
        _ => false,
    }
}

/// "This or null" is this: whatever may be left out is not required.
fn merge_optional(map: &mut Map<String, Value>) {
    let Some(Value::Array(ways)) = map.get("anyOf") else { return };
    let mut some = ways.iter().filter(|way| way["type"] != "null");
    if let (Some(Value::Object(only)), None) = (some.next(), some.next()) {
        let only = only.clone();
        map.remove("anyOf");
        for (key, value) in only {
            map.entry(key).or_insert(value);
        }
    }
}

/// Choices that are single words are a list of words.
fn merge_choices(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else { return };
    let mut words = Vec::new();
    for choice in choices {
        match (choice.get("const"), choice.get("enum")) {
            (Some(word @ Value::String(_)), None) => words.push(word.clone()),
            (None, Some(Value::Array(more))) => words.extend(more.iter().cloned()),
            _ => return,
        }
    }
    map.remove("oneOf");
    map.insert("type".into(), "string".into());
    map.insert("enum".into(), words.into());
}

#[cfg(test)]
mod tests;
