//! What is written down of an agent beside what it says: who it is and how it stands. Enough, with its transcript, to
//! go on with it in another process.

use std::io::Write;
use std::path::{Path, PathBuf};

use posse_core::budget::Limits;
use serde::{Deserialize, Serialize};

/// An agent of a session, as its `agent-ID.meta.json` tells. Files of other programs leave most of it out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentMeta {
    /// Which agent it is.
    pub agent_type: Box<str>,
    /// Its task in a few words.
    pub description: String,
    /// The call it works for.
    pub tool_use_id: Box<str>,
    /// How far below the main agent it stands.
    pub spawn_depth: u32,
    /// `foreground` or `background`.
    pub request_shape: Box<str>,
    /// What others call it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// The agent that started it; none is the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<Box<str>>,
    /// The model it speaks with, as it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<str>>,
    /// How its actions are approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<Box<str>>,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The copy of the repository it works in, by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// Whether it began with the conversation of its parent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_fork: bool,
    /// Whether it has come to an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<bool>,
    /// Which end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Box<str>>,
    /// Whether its end has not been told to whoever started it; `false` once that was made up for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undelivered: Option<bool>,
    /// What it and all below it have spent: its budget does not begin anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<SpentBefore>,
}

/// What was spent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpentBefore {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub microdollars: u64,
    /// Seconds at work.
    pub seconds: u64,
    /// Agents started.
    pub descendants: u32,
}

impl SpentBefore {
    /// What is left of limits.
    pub fn taken_from(self, limits: Limits) -> Limits {
        Limits {
            tokens: limits.tokens.map(|all| all.saturating_sub(self.tokens)),
            microdollars: limits.microdollars.map(|all| all.saturating_sub(self.microdollars)),
            seconds: limits.seconds.map(|all| all.saturating_sub(self.seconds)),
            descendants: limits.descendants.map(|all| all.saturating_sub(self.descendants)),
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(more.tokens),
            microdollars: self.microdollars.saturating_add(more.microdollars),
            seconds: self.seconds.saturating_add(more.seconds),
            descendants: self.descendants.saturating_add(more.descendants),
        }
    }
}

impl AgentMeta {
    /// Where it stands, beside a transcript.
    pub fn beside(transcript: &Path) -> PathBuf {
        transcript.with_extension("meta.json")
    }

    /// Reads one; nothing if it cannot be understood.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// All agents of a folder by their ids, in no order.
    pub fn all(folder: &Path) -> Vec<(Box<str>, Self)> {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter_map(|path| Some((id(&path)?.into(), Self::read(&path)?))).collect()
    }

    /// Writes it in one step: whoever reads meanwhile finds the old one or the new one.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new().prefix(".meta").tempfile_in(folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The agent a file tells of.
pub(super) fn id(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".meta.json")
}
