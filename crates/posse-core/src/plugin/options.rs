//! `userConfig`: what a plugin asks its user for. Knows types, defaults and what is secret; values are kept elsewhere.

use crate::diagnostic::{Problem, Rule};
use crate::node::{Entry, Node, Value};
use crate::suggest;

/// One thing a plugin asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserOption {
    /// The key: `${user_config.KEY}`.
    pub key: Box<str>,
    /// What values it takes.
    pub kind: OptionType,
    /// A few words for the user.
    pub title: Option<Box<str>>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// The value if nobody chooses one.
    pub default: Option<Box<str>>,
    /// What needs it is not loaded before somebody chose a value.
    pub required: bool,
    /// Never shown, and kept apart from settings.
    pub sensitive: bool,
}

/// Types of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionType {
    /// Text.
    #[default]
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// The path of a folder.
    Directory,
    /// The path of a file.
    File,
}

impl OptionType {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Text, Self::Number, Self::Boolean, Self::Directory, Self::File];

    /// The word in manifests.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Directory => "directory",
            Self::File => "file",
        }
    }

    /// What it takes, for messages.
    pub fn takes(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Directory => "the absolute path of a folder",
            Self::File => "the absolute path of a file",
        }
    }

    /// Whether a value is one of this type. Paths are not looked for.
    pub fn accepts(self, value: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Number => value.parse::<f64>().is_ok_and(f64::is_finite),
            Self::Boolean => matches!(value, "true" | "false"),
            Self::Directory | Self::File => value.starts_with('/') && !value.contains('\0'),
        }
    }
}

const KEYS: &[&str] =
    &["type", "title", "description", "default", "required", "sensitive", "multiple", "min", "max"];

/// Reads the options; one that cannot be understood is taken for text, and said.
pub(super) fn read(node: &Node, problems: &mut Vec<Problem>) -> Vec<UserOption> {
    node.as_map().unwrap_or_default().iter().map(|entry| one(entry, problems)).collect()
}

fn one(entry: &Entry, problems: &mut Vec<Problem>) -> UserOption {
    let Entry { key, key_span, node } = entry;
    let mut wrong = |span, text: String, hint: String| {
        problems.push(Problem::at(Rule::OldManifest, span, text).hint(hint));
    };
    if !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || key.is_empty() {
        let text = format!("`{key}` is not a name that every program takes for a variable");
        wrong(*key_span, text, "use letters, digits and `_`".into());
    }
    // The value itself, as some write it, is its default.
    if node.as_map().is_none() {
        let default = node.scalar_text().filter(|_| !matches!(node.value, Value::Null)).map(Box::from);
        let text = format!("an option is an object, not {}", node.kind());
        let shown = default.as_deref().unwrap_or_default();
        wrong(
            node.span,
            text,
            format!("write {{\"type\": \"string\", \"title\": {key:?}, \"default\": {shown:?}}}"),
        );
        let kind = match node.value {
            Value::Bool(_) => OptionType::Boolean,
            Value::Number(_) => OptionType::Number,
            Value::Null | Value::Text(_) | Value::List(_) | Value::Map(_) => OptionType::Text,
        };
        return UserOption {
            key: key.clone(),
            kind,
            title: None,
            description: None,
            default,
            required: false,
            sensitive: false,
        };
    }
    for part in node.as_map().unwrap_or_default() {
        if !KEYS.contains(&&*part.key) {
            let close = suggest::closest(&part.key, KEYS.iter().copied());
            let hint = close.map_or_else(
                || format!("one of {}", KEYS.join(", ")),
                |close| format!("did you mean `{close}`?"),
            );
            wrong(part.key_span, format!("options have no `{}`; it is ignored", part.key), hint);
        }
    }
    let kind = match node.get("type") {
        None => OptionType::Text,
        Some(kind) => {
            let word = kind.as_text().unwrap_or_default();
            let known = OptionType::ALL.into_iter().find(|kind| kind.word() == word);
            known.unwrap_or_else(|| {
                let words: Vec<&str> = OptionType::ALL.iter().map(|kind| kind.word()).collect();
                let text = format!("`{word}` is no type of options; it is taken for text");
                wrong(kind.span, text, format!("one of {}", words.join(", ")));
                OptionType::Text
            })
        }
    };
    let default = node.get("default").and_then(|default| {
        let text = default.scalar_text().filter(|_| !matches!(default.value, Value::Null))?;
        if !kind.accepts(text) && !text.contains("${") {
            wrong(
                default.span,
                format!("the default of `{key}` is not {}", kind.takes()),
                "it is ignored".into(),
            );
            return None;
        }
        Some(text.into())
    });
    let flag = |name: &str| node.get(name).and_then(Node::as_bool) == Some(true);
    UserOption {
        key: key.clone(),
        kind,
        title: node.text_of("title"),
        description: node.text_of("description"),
        default,
        required: flag("required"),
        sensitive: flag("sensitive"),
    }
}
