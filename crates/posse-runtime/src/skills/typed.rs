//! What people type after a slash, and what the model hears of skills between two prompts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use posse_core::skill::{SkillDefinition, SkillLookup, SkillRegistry};
use posse_core::suggest;

use super::Shelf;
use crate::tool::ToolCx;
use crate::tool::builtin::skill::{delegate, text_of};
use crate::tool::crew::Crew;
use crate::tool::skills::{Command, Commands, Typed};

/// Understands what is typed in one conversation.
pub struct Typist {
    shelf: Arc<Shelf>,
    crew: Arc<dyn Crew>,
    /// What the model knows of skills; nothing is told to one that cannot load any.
    told: Option<Mutex<String>>,
}

impl Typist {
    /// For a conversation whose model has the Skill tool or has not.
    pub fn new(shelf: Arc<Shelf>, crew: Arc<dyn Crew>, has_tool: bool) -> Self {
        let told = has_tool.then(|| Mutex::new(shelf.listing(&[])));
        Self { shelf, crew, told }
    }

    async fn text(&self, command: &Command, cx: &ToolCx) -> Result<String, String> {
        let registry = self.shelf.registry();
        let Some(skill) = registry.get(&command.name) else {
            return Err(format!("/{} is not there any more", command.name));
        };
        let loaded = self.shelf.use_skill(skill, &command.arguments, cx).await;
        let Some(fork) = &loaded.fork else {
            cx.terms.add(loaded.terms);
            loaded.hooks.iter().for_each(|hooks| cx.permit.take_hooks(hooks));
            return Ok(loaded.text);
        };
        let cx = cx.for_call(&format!("skill_{}", cx.world.ids.hex16()));
        let output = delegate(&*self.crew, &loaded, fork, &cx).await;
        let said = text_of(&output.content);
        let agent = &fork.agent;
        Ok(if output.is_error {
            format!("/{} was given to the agent {agent}, without success:\n\n{said}", command.name)
        } else {
            format!("/{} was given to the agent {agent}. What it says:\n\n{said}", command.name)
        })
    }
}

/// The first word behind a slash and the rest, if the text can be a command at all.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = |c: char| c.is_alphanumeric() || "-_:.".contains(c);
    (!name.is_empty() && name.chars().all(is_name)).then(|| (name, arguments.trim()))
}

/// What is said of a command that is not there.
fn unknown(name: &str, registry: &SkillRegistry) -> String {
    let names = registry.active.iter().filter(|skill| skill.is_for_people()).map(|skill| &*skill.name);
    let hint = suggest::closest(name, names).map(|close| format!("; did you mean /{close}?"));
    format!("there is no command /{name}{}", hint.unwrap_or_else(|| "; it is said as it is".into()))
}

impl Commands for Typist {
    fn understand(&self, text: &str) -> Typed {
        let Some((name, arguments)) = split(text) else { return Typed::Text };
        let registry = self.shelf.look();
        let found = |skill: &SkillDefinition| {
            if !skill.is_for_people() {
                let why = "it is for the model only (user-invocable: false); ask for it in words";
                return Typed::Refused(format!("/{} cannot be typed: {why}", skill.name));
            }
            Typed::Command(Command {
                name: skill.name.to_string(),
                arguments: arguments.to_owned(),
                source: skill.source.origin.word(),
            })
        };
        match registry.lookup(name) {
            SkillLookup::Found(skill) => found(skill),
            SkillLookup::Ambiguous(names) => {
                Typed::Unknown(format!("/{name} could be {}", names.join(" or ")))
            }
            SkillLookup::Unknown(_) => Typed::Unknown(unknown(name, &registry)),
        }
    }

    fn expand<'a>(
        &'a self,
        command: &'a Command,
        cx: &'a ToolCx,
    ) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(async move {
            let Command { name, arguments, .. } = command;
            let mut head =
                format!("<command-message>{name}</command-message>\n<command-name>/{name}</command-name>");
            if !arguments.is_empty() {
                head.push_str(&format!("\n<command-args>{arguments}</command-args>"));
            }
            Ok(vec![head, self.text(command, cx).await?])
        })
    }

    fn news(&self, cx: &ToolCx, look: bool) -> Option<String> {
        let told = self.told.as_ref()?;
        if look {
            self.shelf.look();
            cx.terms.stand(self.shelf.harmless());
        }
        if !look && !self.shelf.depends_on_files() {
            return None;
        }
        let now = self.shelf.listing(&cx.files.known());
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *told, now.clone());
        difference(&before, &now)
    }
}

/// What a list says that another did not, and what it no longer says.
fn difference(before: &str, now: &str) -> Option<String> {
    if before == now {
        return None;
    }
    let old: BTreeSet<&str> = before.lines().collect();
    let fresh: Vec<&str> = now.lines().filter(|line| !old.contains(line)).collect();
    let name = |line: &'_ str| line.split(": ").next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = now.lines().map(name).collect();
    let gone: Vec<String> = before.lines().map(name).filter(|name| !names.contains(name)).collect::<Vec<_>>();
    let mut parts = Vec::new();
    if !fresh.is_empty() {
        parts.push(format!("Skills that the Skill tool can load from now on:\n{}", fresh.join("\n")));
    }
    if !gone.is_empty() {
        parts.push(format!("Skills that are not there any more:\n{}", gone.join("\n")));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}
