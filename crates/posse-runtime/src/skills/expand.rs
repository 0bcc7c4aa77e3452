//! What the text of a skill becomes when it is used: placeholders, the output of its commands, the files it mentions.
//!
//! Commands are found before anything is put in, so that no argument and no output can bring one along.

use posse_core::message::ToolCall;
use posse_core::permission::Rule;
use posse_core::skill::{Kind, Piece, SkillDefinition, Values, mentions, pieces, substitute};
use serde_json::{Value, json};

use super::Shelf;
use crate::tool::builtin::skill::text_of;
use crate::tool::builtin::{self, Bash};
use crate::tool::{AnyTool, Cwd, ToolCx, ToolOutput};

/// As many files as one text can bring along.
const MOST_FILES: usize = 20;

/// One use of a skill.
pub(super) struct Expansion<'a> {
    pub(super) shelf: &'a Shelf,
    pub(super) skill: &'a SkillDefinition,
    /// What it allows.
    pub(super) rules: &'a [Rule],
    /// What its plugin lets it say for short.
    pub(super) own: Vec<(String, String)>,
    pub(super) cx: &'a ToolCx,
}

impl Expansion<'_> {
    pub(super) async fn text(&self, arguments: &str) -> String {
        let values = self.values(arguments);
        let (mut text, mut said) = (String::new(), String::new());
        let mut took = false;
        for piece in pieces(&self.skill.body) {
            match piece {
                Piece::Text(part) => {
                    let (part, used) = substitute(part, &values);
                    took |= used;
                    said.push_str(&part);
                    text.push_str(&part);
                }
                Piece::Command(command) => {
                    let (command, used) = substitute(command, &values);
                    took |= used;
                    said.push(' ');
                    text.push_str(&self.run(&command).await);
                }
            }
        }
        if !took && !arguments.trim().is_empty() {
            text.push_str(&format!("\n\nARGUMENTS: {arguments}"));
            said.push_str(&format!("\n{arguments}"));
        }
        for path in mentions(&said).into_iter().take(MOST_FILES) {
            text.push_str(&self.file(&path).await.unwrap_or_default());
        }
        match self.skill.kind {
            Kind::Skill => {
                format!("Base directory for this skill: {}\n\n{text}", self.skill.folder.display())
            }
            Kind::Command => text,
        }
    }

    fn values<'a>(&'a self, arguments: &'a str) -> Values<'a> {
        let circumstances = &self.shelf.circumstances;
        let mut variables = vec![
            ("CLAUDE_SKILL_DIR", self.skill.folder.display().to_string()),
            ("CLAUDE_SESSION_ID", circumstances.session.to_string()),
            ("CLAUDE_PROJECT_DIR", circumstances.project.display().to_string()),
        ];
        variables.extend(self.own.iter().map(|(name, value)| (name.as_str(), value.clone())));
        Values { arguments, names: &self.skill.arguments, variables }
    }

    /// The output of a command, or why it was not run.
    async fn run(&self, command: &str) -> String {
        if let Some(by) = &self.shelf.circumstances.commands_off {
            return format!("[not run: `{command}` ({by} switches commands of skills off)]");
        }
        let input =
            json!({ "command": command, "description": format!("for the skill {}", self.skill.name) });
        match self.call(&Bash::default(), input).await {
            Ok(output) => text_of(&output.content).trim_end().to_owned(),
            Err(why) => format!("[not run: `{command}` ({why})]"),
        }
    }

    /// What is added for a file that is mentioned; nothing if there is no such file.
    async fn file(&self, path: &str) -> Option<String> {
        let target = self.cx.resolve(path);
        if !target.is_file() {
            return None;
        }
        let read = builtin::all().into_iter().find(|tool| tool.name() == "Read")?;
        let input = json!({ "file_path": target.display().to_string() });
        Some(match self.call(&*read, input).await {
            Ok(output) => format!("\n\n<file path={path:?}>\n{}\n</file>", text_of(&output.content)),
            Err(why) => format!("\n\n[not read: @{path} ({why})]"),
        })
    }

    /// Makes a call in the name of the run, if the run may make it.
    async fn call(&self, tool: &dyn AnyTool, input: Value) -> Result<ToolOutput, String> {
        let id = format!("skill_{}", self.cx.world.ids.hex16());
        let call = ToolCall { id: id.as_str().into(), name: tool.name().into(), input };
        let input = self.cx.permit.ask(&call, &self.cx.cwd.get(), self.rules).await?;
        let mut cx = self.cx.for_call(&id);
        // A command that goes elsewhere does not take the run with it.
        cx.cwd = Cwd::new(self.cx.cwd.get());
        Ok(tool.run(input, &cx).await)
    }
}
