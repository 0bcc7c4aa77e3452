//! What is written down of a worktree, so that it is found again when the run that made it is gone.
//!
//! A record is the first thing that is made and the last that is removed: whatever else is left of a worktree, its
//! record is. Knows nothing of git but the folder it writes to.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{BaseKind, WorktreeError};
use crate::world::{Clock, process};

/// A worktree as written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// `agent-<8 of the agent's id>`.
    pub name: String,
    /// Where it was made.
    pub path: PathBuf,
    /// Its folder in the repository, once git has made it.
    #[serde(default)]
    pub admin: Option<PathBuf>,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// The commit it started from.
    pub base: String,
    /// What was asked for as base.
    pub kind: BaseKind,
    /// The agent.
    pub agent: String,
    /// The session.
    pub session: String,
    /// The process that made or reopened it.
    pub pid: i32,
    /// When that process was started.
    pub started: Option<u64>,
    /// When the worktree was made.
    pub created: String,
    /// The run is over, and the tree was kept.
    #[serde(default)]
    pub kept: bool,
    /// Links to folders of the main checkout, and where they lead.
    #[serde(default)]
    pub links: Vec<(PathBuf, PathBuf)>,
}

impl Record {
    /// Whether the run that uses the tree still goes on.
    pub fn is_running(&self) -> bool {
        !self.kept && self.started.is_some() && process::started(self.pid) == self.started
    }

    /// How many seconds ago it was made, if its record tells.
    pub fn age(&self, clock: &Clock) -> Option<u64> {
        let created: jiff::Timestamp = self.created.parse().ok()?;
        u64::try_from(clock.now().duration_since(created).as_secs()).ok()
    }

    /// The reason of git's lock.
    pub(super) fn reason(&self) -> String {
        let started = self.started.map_or_else(|| "unknown".to_owned(), |started| started.to_string());
        format!("posse agent {} (pid {} start {started} session {})", self.agent, self.pid, self.session)
    }
}

/// The folder of records.
#[derive(Clone, Debug)]
pub(super) struct Records {
    folder: PathBuf,
}

impl Records {
    /// Those of a repository.
    pub(super) fn of(common: &Path) -> Self {
        Self { folder: common.join("posse").join("worktrees") }
    }

    /// Writes a record of a new name; `false` if the name is taken.
    pub(super) fn claim(&self, record: &Record) -> Result<bool, WorktreeError> {
        let file = self.draft(record)?;
        match file.persist_noclobber(self.file(&record.name)) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(io(&self.folder, error.error)),
        }
    }

    /// Writes a record anew.
    pub(super) fn write(&self, record: &Record) -> Result<(), WorktreeError> {
        let file = self.draft(record)?;
        file.persist(self.file(&record.name)).map_err(|error| io(&self.folder, error.error))?;
        Ok(())
    }

    fn draft(&self, record: &Record) -> Result<tempfile::NamedTempFile, WorktreeError> {
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            let mut file = tempfile::Builder::new().prefix(".draft").tempfile_in(&self.folder)?;
            serde_json::to_writer_pretty(&mut file, record)?;
            file.write_all(b"\n")?;
            file.as_file().sync_data()?;
            Ok(file)
        };
        write().map_err(|error| io(&self.folder, error))
    }

    /// Whether there is a record of a name, readable or not.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.file(name).symlink_metadata().is_ok()
    }

    /// Reads the record of a name.
    pub(super) fn read(&self, name: &str) -> Result<Option<Record>, WorktreeError> {
        let file = self.file(name);
        match std::fs::read(&file) {
            Ok(text) => match serde_json::from_slice::<Record>(&text) {
                Ok(record) if record.name == name => Ok(Some(record)),
                Ok(_) => Err(WorktreeError::Record { file, reason: "it is of another name".to_owned() }),
                Err(error) => Err(WorktreeError::Record { file, reason: error.to_string() }),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io(&file, error)),
        }
    }

    /// The names there are.
    pub(super) fn names(&self) -> Result<Vec<String>, WorktreeError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io(&self.folder, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| io(&self.folder, error))?.file_name();
            let name = name.to_string_lossy();
            names.extend(name.strip_suffix(".json").filter(|name| !name.starts_with('.')).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Removes a record.
    pub(super) fn remove(&self, name: &str) -> Result<(), WorktreeError> {
        match std::fs::remove_file(self.file(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(&self.folder, error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}

/// The branch of a worktree.
pub(super) fn branch_of(name: &str) -> String {
    format!("worktree-{name}")
}

/// A failure of the disk at a place.
pub(super) fn io(place: &Path, source: std::io::Error) -> WorktreeError {
    WorktreeError::Disk { place: place.to_owned(), source }
}
