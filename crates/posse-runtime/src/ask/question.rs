//! What can be put before a person to choose from, and what they chose.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The whole question, ending in a question mark.
    pub question: String,
    /// A label of at most 12 characters: "Database".
    pub header: String,
    /// Two to four answers to choose from. The user can always write another.
    #[schemars(length(min = 2, max = 4))]
    pub options: Vec<Choice>,
    /// Whether several answers may be chosen.
    #[serde(default, deserialize_with = "switch")]
    pub multi_select: bool,
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// The answer in one to five words.
    pub label: String,
    /// What it means or leads to.
    #[serde(default)]
    pub description: String,
}

/// Answers by the text of their questions; several labels are joined by ", ".
pub type Answers = BTreeMap<String, String>;

/// Yes or no, also as the text of it: models write both. Nothing is no.
fn switch<'de, D: Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Plain(bool),
        Text(String),
    }
    match Option::<Written>::deserialize(input)? {
        None => Ok(false),
        Some(Written::Plain(yes)) => Ok(yes),
        Some(Written::Text(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Written::Text(text)) if text.is_empty() || text.eq_ignore_ascii_case("false") => Ok(false),
        Some(Written::Text(text)) => {
            Err(serde::de::Error::custom(format!("expected true or false, got {text:?}")))
        }
    }
}
