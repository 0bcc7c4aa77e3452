//! Prompts that are commands: `/name` and what stands behind it becomes the text that the command stands for.

use posse_core::event::{Delta, What};
use posse_core::hooks::occasion::ExpansionType;
use posse_core::hooks::{HookEvent, Merged, Occasion};
use posse_core::message::{Block, Message};
use tokio_util::sync::CancellationToken;

use super::{Event, Run};
use crate::tool::skills::{Command, Typed};

/// What `/compact` is to keep in mind; `None` if the message is not that command.
pub(super) fn compact_command(message: &Message) -> Option<String> {
    let [Block::Text(text)] = message.blocks.as_slice() else { return None };
    compacts(text)
}

fn compacts(text: &str) -> Option<String> {
    let rest = text.trim().strip_prefix("/compact")?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim().to_owned())
}

impl Run {
    /// Puts what a command stands for in its place. An error is why nothing is said at all.
    pub(super) async fn expand(
        &self,
        message: &mut Message,
        context: &mut Vec<String>,
        stop: &CancellationToken,
    ) -> Result<(), String> {
        // What one agent writes to another is no command of the user.
        let Some(commands) = self.commands.clone().filter(|_| self.setup.agent.is_none()) else {
            return Ok(());
        };
        let [Block::Text(text)] = message.blocks.as_slice() else { return Ok(()) };
        let command = match commands.understand(text) {
            Typed::Text => return Ok(()),
            Typed::Unknown(note) => {
                self.show(Event { what: What::Delta(Delta::Note(note)), ids: Vec::new(), from: None });
                return Ok(());
            }
            Typed::Refused(why) => return Err(why),
            Typed::Command(command) => command,
        };
        self.may_expand(&command, text, context, stop).await?;
        let mut cx = self.cx.clone();
        cx.stop = stop.child_token();
        let texts = tokio::select! {
            texts = commands.expand(&command, &cx) => texts?,
            () = stop.cancelled() => return Err("interrupted".into()),
        };
        message.blocks = texts.into_iter().map(Block::Text).collect();
        Ok(())
    }

    /// Whether hooks have nothing against a command.
    async fn may_expand(
        &self,
        command: &Command,
        prompt: &str,
        context: &mut Vec<String>,
        stop: &CancellationToken,
    ) -> Result<(), String> {
        let hooks = &self.setup.guard.hooks;
        if !hooks.hears(HookEvent::UserPromptExpansion) {
            return Ok(());
        }
        let occasion = Occasion::UserPromptExpansion {
            expansion_type: ExpansionType::SlashCommand,
            command_name: command.name.clone(),
            command_args: command.arguments.clone(),
            command_source: Some(command.source.to_owned()),
            prompt: prompt.to_owned(),
        };
        self.consent(&occasion, &format!("/{}", command.name), context, stop).await
    }

    /// Asks hooks about something the user said, and takes what they add to it. An error is why they will not have it.
    pub(super) async fn consent(
        &self,
        occasion: &Occasion,
        what: &str,
        context: &mut Vec<String>,
        stop: &CancellationToken,
    ) -> Result<(), String> {
        let cwd = self.cx.cwd.get();
        let merged = tokio::select! {
            merged = self.setup.guard.hooks.fire(occasion, &cwd) => merged,
            () = stop.cancelled() => Merged::default(),
        };
        self.show_notes(&merged);
        if merged.is_blocked() || merged.stop.is_some() {
            let why = merged.objection().or(merged.stop);
            return Err(why.unwrap_or_else(|| format!("a hook refused {what}")));
        }
        context.extend(merged.context);
        Ok(())
    }

    /// What a person types, looked at as a command.
    pub fn typed(&self, text: &str) -> Typed {
        // The run's own command is none that anybody else has to know.
        match &self.commands {
            Some(commands) if compacts(text).is_none() => commands.understand(text),
            Some(_) | None => Typed::Text,
        }
    }

    /// What the model is to be told of skills that came, went or changed.
    pub(super) fn skill_news(&self, look: bool) -> Option<String> {
        let commands = self.commands.as_ref().filter(|_| self.setup.agent.is_none())?;
        commands.news(&self.cx, look)
    }
}
