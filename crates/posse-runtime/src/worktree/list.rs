//! The worktrees there are: those with a record, and others below the same folder. Lists, and removes nothing.

use std::path::{Path, PathBuf};

use super::record::io;
use super::{Record, Saved, State, WorktreeError, Worktrees};

/// A checkout git keeps a folder for.
#[derive(Clone, Debug)]
pub(super) struct Admin {
    /// The folder in the repository.
    pub(super) dir: PathBuf,
    /// The checkout.
    pub(super) path: PathBuf,
}

impl Admin {
    /// Why it is locked, if it is.
    pub(super) fn lock(&self) -> Option<String> {
        std::fs::read_to_string(self.dir.join("locked")).ok().map(|text| text.trim().to_owned())
    }
}

/// A worktree as it is found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) name: String,
    /// Where it is: where git says, else where it was made.
    pub(super) path: PathBuf,
    pub(super) admin: Option<Admin>,
    pub(super) record: Option<Record>,
}

/// Who a worktree belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// An agent works in it.
    Running,
    /// Its run is over, and it was kept.
    Kept,
    /// Its run ended without saying what should become of it.
    Stale,
    /// Something other than posse made it.
    Foreign,
}

impl Standing {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Kept => "kept",
            Self::Stale => "stale",
            Self::Foreign => "foreign",
        }
    }
}

/// A worktree in a list.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What is written down of it.
    pub record: Option<Record>,
    /// Whose it is.
    pub standing: Standing,
    /// What became of it, or why that cannot be said.
    pub state: Result<State, WorktreeError>,
}

/// A worktree of a run that is gone.
pub type Leftover = Entry;

impl Worktrees {
    /// All worktrees of agents, by name.
    pub async fn list(&self) -> Result<Vec<Entry>, WorktreeError> {
        let mut entries = Vec::new();
        for found in self.all()? {
            let state = match &found {
                Ok(found) => self.look(found).await,
                Err(_) => Ok(State::Unchanged { ignored: 0 }),
            };
            entries.push(match found {
                Ok(found) => entry(found, state),
                Err((name, error)) => Entry {
                    path: self.folder().join(&name),
                    name,
                    record: None,
                    standing: Standing::Stale,
                    state: Err(error),
                },
            });
        }
        Ok(entries)
    }

    /// The worktrees of runs that are gone. They are offered to a person, never just deleted.
    pub async fn sweep(&self) -> Result<Vec<Leftover>, WorktreeError> {
        let mut all = self.list().await?;
        all.retain(|entry| entry.standing == Standing::Stale);
        Ok(all)
    }

    /// What was saved, by name and time.
    pub async fn saved(&self) -> Result<Vec<Saved>, WorktreeError> {
        let format = "--format=%(refname) %(objectname)";
        let text = self.repository().text(["for-each-ref", format, "refs/posse/saved"]).await?;
        let saved = text.lines().filter_map(|line| line.split_once(' '));
        let saved = saved.map(|(name, commit)| Saved::new(name.to_owned(), commit.to_owned()));
        Ok(saved.collect())
    }

    #[allow(clippy::type_complexity)] // One use, and the parts explain themselves.
    fn all(&self) -> Result<Vec<Result<Found, (String, WorktreeError)>>, WorktreeError> {
        let admins = self.admins()?;
        let mut all = Vec::new();
        let mut seen = Vec::new();
        for name in self.records.names()? {
            match self.records.read(&name) {
                Ok(Some(record)) => {
                    let found = with_record(record, &admins);
                    seen.push(found.path.clone());
                    all.push(Ok(found));
                }
                Ok(None) => {}
                Err(error) => all.push(Err((name, error))),
            }
        }
        let folder = self.folder();
        for admin in admins.into_iter().filter(|admin| admin.path.parent() == Some(&folder)) {
            let Some(name) = admin.path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
                continue;
            };
            let listed = all.iter().any(|one| matches!(one, Err((other, _)) if *other == name));
            if !seen.contains(&admin.path) && !listed {
                all.push(Ok(Found { name, path: admin.path.clone(), admin: Some(admin), record: None }));
            }
        }
        Ok(all)
    }

    /// The worktree of a name; the start of one does, with or without `agent-`, if no other starts so.
    pub(super) fn find(&self, name: &str) -> Result<Found, WorktreeError> {
        let mut fitting = Vec::new();
        for found in self.all()? {
            let its = match &found {
                Ok(found) => found.name.clone(),
                Err((name, _)) => name.clone(),
            };
            if its == name {
                return found.map_err(|(_, error)| error);
            }
            if its.starts_with(name)
                || its.strip_prefix("agent-").is_some_and(|short| short.starts_with(name))
            {
                fitting.push((its, found));
            }
        }
        match fitting.len() {
            0 => Err(WorktreeError::Unknown(name.to_owned())),
            1 => fitting.remove(0).1.map_err(|(_, error)| error),
            _ => {
                let among = fitting.into_iter().map(|(name, _)| name).collect();
                Err(WorktreeError::Ambiguous { name: name.to_owned(), among })
            }
        }
    }

    /// The worktree of a record, as it is now.
    pub(super) fn found(&self, record: Record) -> Result<Found, WorktreeError> {
        Ok(with_record(record, &self.admins()?))
    }

    /// Every linked checkout of the repository. Read from the disk: git's own list leaves out what it cannot read.
    pub(super) fn admins(&self) -> Result<Vec<Admin>, WorktreeError> {
        let folder = self.common.join("worktrees");
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io(&folder, error)),
        };
        let mut admins = Vec::new();
        for entry in entries {
            let dir = entry.map_err(|error| io(&folder, error))?.path();
            if let Some(path) = checkout_of(&dir) {
                admins.push(Admin { dir, path });
            }
        }
        admins.sort_by(|a, b| a.dir.cmp(&b.dir));
        Ok(admins)
    }
}

/// The checkout a folder of the repository is for.
fn checkout_of(dir: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(dir.join("gitdir")).ok()?;
    let link = Path::new(text.trim_end_matches('\n'));
    // Newer versions of git can write it relative to the folder it is in.
    let link = if link.is_absolute() { link.to_owned() } else { dir.join(link) };
    let path = link.parent()?;
    Some(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

fn with_record(record: Record, admins: &[Admin]) -> Found {
    let known = |admin: &&Admin| record.admin.as_ref().is_some_and(|dir| *dir == admin.dir);
    let there = |admin: &&Admin| admin.path == record.path;
    let admin = admins.iter().find(there).or_else(|| admins.iter().find(known)).cloned();
    let path = match &admin {
        Some(admin) if admin.path.exists() => admin.path.clone(),
        Some(_) | None => record.path.clone(),
    };
    Found { name: record.name.clone(), path, admin, record: Some(record) }
}

fn entry(found: Found, state: Result<State, WorktreeError>) -> Entry {
    let standing = match &found.record {
        None => Standing::Foreign,
        Some(record) if record.is_running() => Standing::Running,
        Some(record) if record.kept => Standing::Kept,
        Some(_) => Standing::Stale,
    };
    Entry { name: found.name, path: found.path, record: found.record, standing, state }
}
