//! Skills and commands as their authors wrote them: text that is loaded into a conversation when it is needed.
//!
//! A skill is a folder with a `SKILL.md`; a command is a Markdown file in a `commands` folder. Both become a
//! [`SkillDefinition`]; reading one never fails. This room knows what a file says, who may use it, what arguments do to
//! its text and where its text asks for commands and files. It refuses to know how a command is run or a file is read.

mod arguments;
mod fields;
mod listing;
mod pieces;
mod read;
mod registry;

use std::path::Path;
use std::sync::Arc;

use globset::GlobBuilder;

use crate::definition::Effort;
use crate::hooks::HookGroup;
use crate::model::ModelChoice;
use crate::origin::Source;

pub use arguments::{Values, split as split_arguments, substitute};
pub use fields::{
    SKILL_FIELDS, SkillField, SkillFieldId, find as find_skill_field, meant_by as meant_by_skill_field,
    row as skill_field_row, vocabulary as skill_vocabulary,
};
pub use listing::{Budget, DEFAULT_BUDGET, MAX_DESCRIPTION, description, listing};
pub use pieces::{Mention, Piece, mentioned, mentions, pieces};
pub use read::{Naming, parse};
pub use registry::{ShadowedSkill, SkillFindings, SkillLookup, SkillRegistry};

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `commands/name.md`.
    Command,
    /// `skills/name/SKILL.md`; of one name it wins over a command.
    Skill,
}

impl Kind {
    /// One lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Skill => "skill",
        }
    }
}

/// A skill or command as written.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillDefinition {
    /// What it is called by, plugin prefix included.
    pub name: Box<str>,
    /// What kind of file it is.
    pub kind: Kind,
    /// `name:`, for listings.
    pub display: Option<Box<str>>,
    /// What it is for; made up from the body where nothing is written.
    pub description: Box<str>,
    /// Whether the description was written by the author.
    pub is_described: bool,
    /// When to use it.
    pub when_to_use: Option<Box<str>>,
    /// What to type behind its name.
    pub argument_hint: Option<Box<str>>,
    /// Names of the arguments, in order.
    pub arguments: Vec<Box<str>>,
    /// Rules that allow, as written.
    pub allowed_tools: Vec<Box<str>>,
    /// Which model answers.
    pub model: ModelChoice,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// Whether an agent of its own does it.
    pub forks: bool,
    /// Which agent.
    pub agent: Option<Box<str>>,
    /// Whether nobody waits for that agent.
    pub background: Option<bool>,
    /// Whether only people may use it.
    pub disable_model_invocation: bool,
    /// Whether people may use it.
    pub user_invocable: bool,
    /// Which files it is about; empty means all.
    pub paths: Vec<Box<str>>,
    /// Hooks of whoever uses it, from then on.
    pub hooks: Vec<HookGroup>,
    /// The text, trimmed.
    pub body: Arc<str>,
    /// Its folder: what `${CLAUDE_SKILL_DIR}` stands for.
    pub folder: Arc<Path>,
    /// Where it was found.
    pub source: Source,
}

impl SkillDefinition {
    /// Whether the model may use it.
    pub fn is_for_models(&self) -> bool {
        !self.disable_model_invocation
    }

    /// Whether people may use it.
    pub fn is_for_people(&self) -> bool {
        self.user_invocable
    }

    /// Whether it gives nobody leave to do anything: loading it needs no yes.
    pub fn grants_nothing(&self) -> bool {
        self.allowed_tools.is_empty() && self.hooks.is_empty()
    }

    /// The commands that its text runs, as written.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        pieces(&self.body).into_iter().filter_map(|piece| match piece {
            Piece::Command(command) => Some(command),
            Piece::Text(_) => None,
        })
    }

    /// What listings say of it.
    pub fn about(&self) -> String {
        match &self.when_to_use {
            Some(when) => format!("{} - {when}", self.description),
            None => self.description.to_string(),
        }
    }

    /// Whether it is about a file, whose path is relative to the project. One without `paths` is about all of them.
    pub fn is_about(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| fits(pattern, path))
    }
}

/// Whether a path fits a pattern. `dir` and `dir/` mean everything below; a name without a slash is looked for at any
/// depth. A pattern that cannot be read fits nothing.
fn fits(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim().trim_start_matches("./").trim_start_matches('/');
    let anywhere = if pattern.trim_end_matches('/').contains('/') { "" } else { "**/" };
    let folder = pattern.trim_end_matches('/');
    let globs = [format!("{anywhere}{folder}"), format!("{anywhere}{folder}/**")];
    let is_match = |glob: &String| {
        let glob = GlobBuilder::new(glob).literal_separator(true).build();
        glob.is_ok_and(|glob| glob.compile_matcher().is_match(path.trim_start_matches("./")))
    };
    !folder.is_empty() && globs.iter().any(is_match)
}

#[cfg(test)]
mod tests;
