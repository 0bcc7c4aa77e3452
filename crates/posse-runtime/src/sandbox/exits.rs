//! Which commands of a confined run run outside after all. Says who may leave; whether a command that leaves is allowed
//! to run is decided elsewhere, as if there were no sandbox.

use posse_core::permission::all_fit;
use serde_json::Value;

use super::Sandbox;

/// The input of Bash by which a command asks to run outside.
pub const LEAVE: &str = "dangerouslyDisableSandbox";

/// The ways out of a sandbox. By default there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// Commands that always run outside, as patterns.
    pub commands: Vec<Box<str>>,
    /// Whether a command may ask to run outside.
    pub on_request: bool,
}

impl Exits {
    /// With patterns as settings have them: a lone word is a program, whatever its arguments.
    pub fn new<'a>(commands: impl IntoIterator<Item = &'a str>, on_request: bool) -> Self {
        let is_program = |text: &str| !text.contains(|c: char| c.is_whitespace() || c == '*' || c == ':');
        let pattern = |text: &str| match text.trim() {
            word if is_program(word) => format!("{word} *").into(),
            text => text.into(),
        };
        let commands = commands.into_iter().filter(|text| !text.trim().is_empty());
        Self { commands: commands.map(pattern).collect(), on_request }
    }
}

/// Whether the input of a call asks to run outside. Read to the letter, as rules about this input are: what a rule would
/// not recognise must not open the door.
pub fn asks_to_leave(value: &Value) -> bool {
    *value == Value::Bool(true) || value.as_str() == Some("true")
}

impl Sandbox {
    /// The same, with ways out.
    pub fn with_exits(mut self, exits: Exits) -> Self {
        self.exits = exits;
        self
    }

    /// Whether a command may ask to run outside.
    pub fn can_be_left(&self) -> bool {
        self.exits.on_request
    }

    /// Whether a command line runs confined. What cannot be read for certain does.
    pub fn confines(&self, line: &str, asks_to_leave: bool) -> bool {
        let leaves = asks_to_leave && self.exits.on_request;
        !leaves && !all_fit(&self.exits.commands, line)
    }

    /// The same of a call of Bash.
    pub fn confines_call(&self, input: &Value) -> bool {
        let line = input.get("command").and_then(Value::as_str).unwrap_or_default();
        self.confines(line, input.get(LEAVE).is_some_and(asks_to_leave))
    }
}
