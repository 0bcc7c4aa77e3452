use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::schema;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code)] // Only its schema is looked at.
enum Kind {
    First,
    /// A word on this one.
    SecondOne,
}

/// Not for models.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)] // Only its schema is looked at.
struct Input {
    /// What it is.
    name: String,
    count: Option<u64>,
    /// Which.
    kind: Option<Kind>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    words: Vec<String>,
    /// Called like a word of the schema itself.
    format: String,
}

#[test]
fn a_schema_says_what_a_model_needs_and_no_more() {
    let want = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "What it is." },
            "count": { "type": "integer" },
            "kind": { "type": "string", "enum": ["first", "second_one"], "description": "Which." },
            "all": { "type": "boolean" },
            "words": { "type": "array", "items": { "type": "string" } },
            "format": { "type": "string", "description": "Called like a word of the schema itself." },
        },
        "required": ["name", "format"],
    });
    assert_eq!(schema::<Input>(), want);
}
