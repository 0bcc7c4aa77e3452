//! Skills, as tools and runs see them: somebody who has them and makes text of them.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Terms, ToolCx};
use crate::hooks::SkillHooks;

/// A skill, ready to be read.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Its name.
    pub name: Box<str>,
    /// Its text, with everything in it that its author asked for.
    pub text: String,
    /// What it asks for until the turn ends.
    pub terms: Terms,
    /// What hooks it brings, if any.
    pub hooks: Option<Arc<SkillHooks>>,
    /// Whether an agent of its own does it.
    pub fork: Option<Fork>,
}

/// How a skill is handed to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Which agent.
    pub agent: Box<str>,
    /// Whether nobody waits for it.
    pub background: bool,
    /// The model, as the skill names it.
    pub model: Option<Box<str>>,
}

/// Whoever has the skills.
pub trait Skills: Send + Sync {
    /// Loads a skill for a model; an error is what the model reads.
    fn load<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        cx: &'a ToolCx,
    ) -> BoxFuture<'a, Result<Loaded, String>>;
}

/// What somebody typed, looked at as a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Something to say.
    Text,
    /// It looks like a command and is none: said all the same, with this for the person.
    Unknown(String),
    /// A command that cannot be used so; why.
    Refused(String),
    /// A command.
    Command(Command),
}

/// A command as somebody typed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name.
    pub name: String,
    /// What stands behind the name.
    pub arguments: String,
    /// Where it comes from, in a word.
    pub source: &'static str,
}

/// Whoever understands commands.
pub trait Commands: Send + Sync {
    /// Understands what was typed.
    fn understand(&self, text: &str) -> Typed;

    /// What the model reads instead, in pieces; an error is what the person reads.
    fn expand<'a>(
        &'a self,
        command: &'a Command,
        cx: &'a ToolCx,
    ) -> BoxFuture<'a, Result<Vec<String>, String>>;

    /// What a text mentions that others have to fetch, besides the text itself.
    fn mentioned<'a>(&'a self, _text: &'a str, _cx: &'a ToolCx) -> BoxFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// What has changed for the model since it was told last. With `look`, the disk is looked at first.
    fn news(&self, cx: &ToolCx, look: bool) -> Option<String>;
}
