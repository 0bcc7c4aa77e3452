//! What a model may ask for when it starts an agent: the schema it is shown, and the reading of what it sends.
//!
//! Reading forgives the slips models make (a number as text, an empty text for nothing) and never guesses: what cannot
//! be understood is answered with what to write instead.

use std::fmt;
use std::num::NonZeroU32;

use serde_json::{Map, Value, json};

use crate::definition::{Effort, EffortLevel, Isolation};
use crate::model::{self, Oddity};
use crate::permission::Mode;
use crate::spec::Call;

/// What a call of the Agent tool says. Who is meant by `subagent_type` is looked up elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The task in a few words, for people.
    pub description: String,
    /// The task.
    pub prompt: String,
    /// Which agent; `None` leaves it to the run.
    pub subagent_type: Option<Box<str>>,
    /// Another model: an alias or an id.
    pub model: Option<Box<str>>,
    /// Another effort.
    pub effort: Option<Effort>,
    /// Foreground or background.
    pub run_in_background: Option<bool>,
    /// What others call it by.
    pub name: Option<Box<str>>,
    /// The team it joins.
    pub team_name: Option<Box<str>>,
    /// Another permission mode; it only narrows.
    pub mode: Option<Mode>,
    /// Another place to work.
    pub isolation: Option<Isolation>,
    /// Another folder to work in.
    pub cwd: Option<Box<str>>,
    /// The id or name of an agent to go on with.
    pub resume: Option<Box<str>>,
    /// A limit on its requests to the model.
    pub max_turns: Option<NonZeroU32>,
}

/// Everything that is wrong with an input, in words the model can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InputError {
    /// One sentence for each problem.
    pub problems: Vec<String>,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = self.problems.join("; ");
        write!(f, "InputValidationError: Agent was called with input that does not fit: {problems}")
    }
}

impl Input {
    /// Reads what a model sent. Unknown keys are ignored, as older and newer versions of the tool have others.
    pub fn parse(value: &Value) -> Result<Self, InputError> {
        let Some(map) = value.as_object() else {
            let problem = format!("an object is expected, not {}", kind(value));
            return Err(InputError { problems: vec![problem] });
        };
        let mut read = Reader { map, problems: Vec::new() };
        let input = Self {
            description: read.required("description", "three to five words on the task"),
            prompt: read.required("prompt", "the whole task"),
            subagent_type: read.text("subagent_type"),
            model: read.model(),
            effort: read.effort(),
            run_in_background: read.flag("run_in_background"),
            name: read.name(),
            team_name: read.text("team_name"),
            mode: read.choice("mode", &Mode::ALL, Mode::name, Mode::parse),
            isolation: read.choice("isolation", &Isolation::ALL, Isolation::name, |word| {
                Isolation::ALL.into_iter().find(|one| one.name() == word)
            }),
            cwd: read.text("cwd"),
            resume: read.text("resume"),
            max_turns: read.count("max_turns"),
        };
        if read.problems.is_empty() { Ok(input) } else { Err(InputError { problems: read.problems }) }
    }

    /// What the call says to the resolution of the agent, where it runs being decided already.
    pub fn call(&self, background: bool) -> Call {
        Call {
            model: self.model.clone(),
            effort: self.effort,
            background: Some(background),
            isolation: self.isolation,
            mode: self.mode,
            max_turns: self.max_turns,
            budget: crate::budget::Limits::default(),
        }
    }
}

/// Whether others can call an agent by this name: letters, digits, `_` and `-`, not first, at most 64.
pub fn is_valid_name(name: &str) -> bool {
    const LONGEST: usize = 64;
    name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

struct Reader<'v> {
    map: &'v Map<String, Value>,
    problems: Vec<String>,
}

impl<'v> Reader<'v> {
    fn get(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&mut self, key: &str, takes: &str, value: &Value) {
        self.problems.push(format!("`{key}` takes {takes}, not {}", shown(value)));
    }

    /// May be empty, must be there.
    fn required(&mut self, key: &str, what: &str) -> String {
        match self.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => {
                self.wrong(key, "text", value);
                String::new()
            }
            None => {
                self.problems.push(format!("`{key}` is missing: give {what}"));
                String::new()
            }
        }
    }

    /// Blanks around it do not count; empty means left out.
    fn text(&mut self, key: &str) -> Option<Box<str>> {
        match self.get(key)? {
            Value::String(text) => Some(text.trim()).filter(|text| !text.is_empty()).map(Into::into),
            value => {
                self.wrong(key, "text", value);
                None
            }
        }
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.get(key)?;
        let word = match value {
            Value::Bool(flag) => return Some(*flag),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => String::from("?"),
        };
        match word.as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            "" => None,
            _ => {
                self.wrong(key, "true or false", value);
                None
            }
        }
    }

    fn count(&mut self, key: &str) -> Option<NonZeroU32> {
        let value = self.get(key)?;
        let number = match value {
            Value::Number(number) => whole(number),
            Value::String(text) if text.trim().is_empty() => return None,
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let count = number.and_then(NonZeroU32::new);
        if count.is_none() {
            self.wrong(key, "a whole number above 0", value);
        }
        count
    }

    fn choice<T: Copy>(
        &mut self,
        key: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
        find: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let word = self.text(key)?;
        let found = find(&word);
        if found.is_none() {
            let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
            self.problems.push(format!("`{key}` takes {}, not `{}`", names.join(", "), clipped(&word)));
        }
        found
    }

    fn effort(&mut self) -> Option<Effort> {
        let value = self.get("effort")?;
        let word = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::from("?"),
        };
        let level = EffortLevel::ALL.into_iter().find(|level| level.name() == word);
        match (word.as_str(), level, word.parse()) {
            ("", _, _) => None,
            ("normal", _, _) => Some(Effort::Level(EffortLevel::Medium)),
            (_, Some(level), _) => Some(Effort::Level(level)),
            (_, None, Ok(number)) => Some(Effort::Number(number)),
            (_, None, Err(_)) => {
                self.wrong("effort", &EffortLevel::ALL.map(EffortLevel::name).join(", "), value);
                None
            }
        }
    }

    /// Any id may be served by some endpoint; only what cannot be one is refused here.
    fn model(&mut self) -> Option<Box<str>> {
        let name = self.text("model")?;
        match model::oddity(&name) {
            None | Some(Oddity::Foreign | Oddity::NoSuchAlias(None)) => Some(name),
            Some(Oddity::NoSuchAlias(Some(_)) | Oddity::Impossible(_))
                if name.eq_ignore_ascii_case("inherit") =>
            {
                None
            }
            Some(oddity) => {
                let meant = match oddity {
                    Oddity::Impossible(meant) => meant,
                    Oddity::NoSuchAlias(meant) => meant.map(str::to_owned),
                    Oddity::Foreign => None,
                };
                let hint = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
                let aliases = model::Family::ALL.map(model::Family::alias).join(", ");
                self.problems.push(format!(
                    "`model` takes {aliases} or the id of a model, not `{}`{hint}",
                    clipped(&name)
                ));
                None
            }
        }
    }

    fn name(&mut self) -> Option<Box<str>> {
        let name = self.text("name")?;
        if !is_valid_name(&name) {
            self.problems.push(format!(
                "`name` takes up to 64 letters, digits, `-` and `_`, a letter or digit first, not `{}`",
                clipped(&name)
            ));
            return None;
        }
        Some(name)
    }
}

/// `3` and `3.0` are whole; models write both.
fn whole(number: &serde_json::Number) -> Option<u32> {
    let text = number.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) => format!("`{}`", clipped(text)),
        Value::Null | Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    }
}

fn clipped(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// What this run's Agent tool can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether a call may ask for the background: not where it is disabled, nor where everything runs there anyway.
    pub background: bool,
    /// Whether a call without `subagent_type` is a fork.
    pub fork_by_default: bool,
    /// Whether agents can form a team.
    pub teams: bool,
}

/// The schema of the tool's input. Small, because every request carries it: what is rarely wanted is accepted by
/// [`Input::parse`] and not advertised.
pub fn schema(options: Options) -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let omitted = if options.fork_by_default { "a fork of yourself" } else { "general-purpose" };
    let efforts = EffortLevel::ALL.map(EffortLevel::name);
    let isolations = Isolation::ALL.map(Isolation::name);
    let mut properties = Map::new();
    let mut add = |key: &str, value: Value| properties.insert(key.to_owned(), value);
    add("description", text("The task in 3-5 words"));
    add("prompt", text("The whole task"));
    add("subagent_type", text(&format!("Which agent; left out: {omitted}")));
    add("model", text("sonnet, opus, haiku, fable or a model id; left out: the agent's own"));
    add("effort", json!({ "type": "string", "enum": efforts }));
    if options.background {
        let about = "true: go on at once and be told when it ends; false: wait";
        add("run_in_background", json!({ "type": "boolean", "description": about }));
    }
    let about = "worktree: in a copy of the repository of its own";
    add("isolation", json!({ "type": "string", "enum": isolations, "description": about }));
    add("resume", text("Id or name of an earlier agent to go on with; prompt is what it is told"));
    add("max_turns", json!({ "type": "integer", "minimum": 1 }));
    add("name", text("A name others can write to it by"));
    if options.teams {
        add("team_name", text("The team it joins"));
        add("mode", json!({ "type": "string", "enum": Mode::ALL.map(Mode::name) }));
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["description", "prompt"],
        "additionalProperties": false,
    })
}

/// What the model is told of the tool. `listing` may be empty where the agents are listed elsewhere.
pub fn description(listing: &str, options: Options) -> String {
    let mut text = include_str!("agent-tool.md").trim().to_owned();
    if options.background {
        text.push_str("\n\n");
        text.push_str(include_str!("agent-tool-background.md").trim());
    }
    if options.fork_by_default {
        text.push_str("\n\n");
        text.push_str(include_str!("agent-tool-fork.md").trim());
    }
    if !listing.is_empty() {
        text.push_str("\n\n");
        text.push_str(listing);
    }
    text
}
