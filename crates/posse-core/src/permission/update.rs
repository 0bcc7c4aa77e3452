//! Changes to permissions: what somebody who is asked answers beyond yes and no. The JSON form is the SDKs'.

use serde_json::{Value, json};

use super::{Behavior, Mode};

/// How long a change lasts and where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// `~/.claude/settings.json`.
    UserSettings,
    /// `.claude/settings.json`.
    ProjectSettings,
    /// `.claude/settings.local.json`.
    LocalSettings,
    /// Until the session ends.
    Session,
    /// Like a flag: until the session ends.
    CliArg,
}

impl Destination {
    const ALL: [Self; 5] =
        [Self::UserSettings, Self::ProjectSettings, Self::LocalSettings, Self::Session, Self::CliArg];

    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::UserSettings => "userSettings",
            Self::ProjectSettings => "projectSettings",
            Self::LocalSettings => "localSettings",
            Self::Session => "session",
            Self::CliArg => "cliArg",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// A rule in its two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The tool.
    pub tool: String,
    /// What stands in the parentheses.
    pub content: Option<String>,
}

impl std::fmt::Display for RuleText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.content {
            Some(content) => write!(f, "{}({content})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Update {
    AddRules { rules: Vec<RuleText>, behavior: Behavior, destination: Destination },
    ReplaceRules { rules: Vec<RuleText>, behavior: Behavior, destination: Destination },
    RemoveRules { rules: Vec<RuleText>, behavior: Behavior, destination: Destination },
    SetMode { mode: Mode, destination: Destination },
    AddDirectories { directories: Vec<String>, destination: Destination },
    RemoveDirectories { directories: Vec<String>, destination: Destination },
}

impl Update {
    /// Reads the JSON form; the text says what is wrong.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let text =
            |key: &str| value.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}` is missing"));
        let destination = || {
            let word = value.get("destination").and_then(Value::as_str).unwrap_or("session");
            Destination::parse(word).ok_or_else(|| format!("there is no destination `{word}`"))
        };
        let behavior = || match text("behavior")? {
            "allow" => Ok(Behavior::Allow),
            "ask" => Ok(Behavior::Ask),
            "deny" => Ok(Behavior::Deny),
            other => Err(format!("there is no behavior `{other}`")),
        };
        let directories = || {
            let items =
                value.get("directories").and_then(Value::as_array).ok_or("`directories` is missing")?;
            Ok::<_, String>(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        Ok(match text("type")? {
            "addRules" => {
                Self::AddRules { rules: rules(value)?, behavior: behavior()?, destination: destination()? }
            }
            "replaceRules" => Self::ReplaceRules {
                rules: rules(value)?,
                behavior: behavior()?,
                destination: destination()?,
            },
            "removeRules" => {
                Self::RemoveRules { rules: rules(value)?, behavior: behavior()?, destination: destination()? }
            }
            "setMode" => {
                let word = text("mode")?;
                let mode = Mode::parse(word).ok_or_else(|| format!("there is no mode `{word}`"))?;
                Self::SetMode { mode, destination: destination()? }
            }
            "addDirectories" => {
                Self::AddDirectories { directories: directories()?, destination: destination()? }
            }
            "removeDirectories" => {
                Self::RemoveDirectories { directories: directories()?, destination: destination()? }
            }
            other => return Err(format!("there is no update `{other}`")),
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        let of_rules = |kind: &str, rules: &[RuleText], behavior: Behavior, destination: Destination| {
            let rules: Vec<Value> = rules
                .iter()
                .map(|rule| match &rule.content {
                    Some(content) => json!({"toolName": rule.tool, "ruleContent": content}),
                    None => json!({"toolName": rule.tool}),
                })
                .collect();
            json!({"type": kind, "rules": rules, "behavior": behavior.word(), "destination": destination.word()})
        };
        match self {
            Self::AddRules { rules, behavior, destination } => {
                of_rules("addRules", rules, *behavior, *destination)
            }
            Self::ReplaceRules { rules, behavior, destination } => {
                of_rules("replaceRules", rules, *behavior, *destination)
            }
            Self::RemoveRules { rules, behavior, destination } => {
                of_rules("removeRules", rules, *behavior, *destination)
            }
            Self::SetMode { mode, destination } => {
                json!({"type": "setMode", "mode": mode.name(), "destination": destination.word()})
            }
            Self::AddDirectories { directories, destination } => {
                json!({"type": "addDirectories", "directories": directories, "destination": destination.word()})
            }
            Self::RemoveDirectories { directories, destination } => {
                json!({"type": "removeDirectories", "directories": directories, "destination": destination.word()})
            }
        }
    }

    /// Where it is to be written.
    pub fn destination(&self) -> Destination {
        match self {
            Self::AddRules { destination, .. }
            | Self::ReplaceRules { destination, .. }
            | Self::RemoveRules { destination, .. }
            | Self::SetMode { destination, .. }
            | Self::AddDirectories { destination, .. }
            | Self::RemoveDirectories { destination, .. } => *destination,
        }
    }

    /// For a person, as half a sentence.
    pub fn label(&self) -> String {
        let list = |rules: &[RuleText]| rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::AddRules { rules, behavior, .. } => format!("{} {}", behavior.word(), list(rules)),
            Self::ReplaceRules { rules, behavior, .. } => format!("{} only {}", behavior.word(), list(rules)),
            Self::RemoveRules { rules, behavior, .. } => {
                format!("no longer {} {}", behavior.word(), list(rules))
            }
            Self::SetMode { mode, .. } => format!("switch to {}", mode.name()),
            Self::AddDirectories { directories, .. } => format!("work in {} too", directories.join(", ")),
            Self::RemoveDirectories { directories, .. } => {
                format!("no longer work in {}", directories.join(", "))
            }
        }
    }
}

fn rules(value: &Value) -> Result<Vec<RuleText>, String> {
    let items = value.get("rules").and_then(Value::as_array).ok_or("`rules` is missing")?;
    let read = |item: &Value| {
        let tool = item.get("toolName").and_then(Value::as_str).ok_or("a rule has no `toolName`")?;
        let content = item.get("ruleContent").and_then(Value::as_str).map(str::to_owned);
        Ok(RuleText { tool: tool.to_owned(), content })
    };
    items.iter().map(read).collect()
}
