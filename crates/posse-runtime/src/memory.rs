//! An agent's memory on disk: its folder, the index in it, and the snapshot a team starts from.
//!
//! A project's folder may come from strangers. So a memory inside a project never leads out of it through a link, and a
//! snapshot only fills an empty place. What the agent is told about its memory is the core's.

mod snapshot;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use posse_core::definition::MemoryScope;
use posse_core::memory::{INDEX, folder_name, section};

use crate::catalog::Layout;

/// More of an index is not read; far less is shown.
const MAX_INDEX: u64 = 1024 * 1024;

/// A memory that is ready for use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Who shares it.
    pub scope: MemoryScope,
    /// The folder, with every link followed. It exists.
    pub folder: PathBuf,
    /// What `MEMORY.md` says, if there is one.
    pub index: Option<String>,
    /// The snapshot it was filled from just now.
    pub filled_from: Option<PathBuf>,
    /// What was left out and why, for the user.
    pub notes: Vec<String>,
}

impl Memory {
    /// The part of the system prompt about it.
    pub fn section(&self) -> String {
        section(self.scope, &self.folder.display().to_string(), self.index.as_deref())
    }
}

/// Why a memory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The user has no folder.
    #[error("there is no home folder to keep the user's memory in: set HOME or CLAUDE_CONFIG_DIR")]
    NoUserFolder,
    /// A link takes it somewhere else.
    #[error("the memory folder {} is a link to {}; replace it by a folder", .folder.display(), .to.display())]
    Linked {
        /// The link.
        folder: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// The disk will not.
    #[error("the memory folder {} cannot be used: {error}", .folder.display())]
    Disk {
        /// The folder.
        folder: PathBuf,
        /// What it says.
        error: io::Error,
    },
}

/// Where an agent's memory lies, whether it exists or not. `None` if the user has no folder.
pub fn folder(layout: &Layout, scope: MemoryScope, agent: &str) -> Option<PathBuf> {
    let (base, steps) = place(layout, scope, agent)?;
    Some(steps.iter().fold(base, |path, step| path.join(step)))
}

/// The folder everything hangs on, and the way from there. A project's is the one the session was started in.
fn place(layout: &Layout, scope: MemoryScope, agent: &str) -> Option<(PathBuf, Vec<String>)> {
    let name = folder_name(agent);
    let in_project =
        |kind: &str| (layout.cwd.clone(), vec![".claude".to_owned(), kind.to_owned(), name.clone()]);
    match scope {
        MemoryScope::User => {
            layout.user.clone().map(|user| (user, vec!["agent-memory".to_owned(), name.clone()]))
        }
        MemoryScope::Project => Some(in_project("agent-memory")),
        MemoryScope::Local => Some(in_project("agent-memory-local")),
    }
}

/// Makes an agent's memory ready: creates its folder, fills it from a snapshot if it is empty, reads its index. Called
/// when the agent is started, and only where memory is on. `trusted`: whether somebody trusts the project's folder.
pub fn open(layout: &Layout, scope: MemoryScope, agent: &str, trusted: bool) -> Result<Memory, MemoryError> {
    let (base, steps) = place(layout, scope, agent).ok_or(MemoryError::NoUserFolder)?;
    let folder = match scope {
        MemoryScope::User => make_following_links(&base, &steps)?,
        MemoryScope::Project | MemoryScope::Local => make_inside(layout, &base, &steps)?,
    };
    let mut notes = Vec::new();
    let filled_from = snapshot::fill(layout, scope, agent, &folder, trusted, &mut notes);
    let index = read_index(&folder, scope, &mut notes);
    Ok(Memory { scope, folder, index, filled_from, notes })
}

fn disk(folder: &Path) -> impl FnOnce(io::Error) -> MemoryError {
    let folder = folder.to_owned();
    move |error| MemoryError::Disk { folder, error }
}

/// Links in the user's own folder are the user's own business.
fn make_following_links(base: &Path, steps: &[String]) -> Result<PathBuf, MemoryError> {
    let folder = steps.iter().fold(base.to_owned(), |path, step| path.join(step));
    std::fs::create_dir_all(&folder).and_then(|()| folder.canonicalize()).map_err(disk(&folder))
}

/// One step at a time, so that nothing is created behind a link before it was looked at. The first step, `.claude`, may
/// be a link within the project, as in checkouts that share one; the folder of the memory itself is what the agent may
/// write, so no link may choose it.
fn make_inside(layout: &Layout, base: &Path, steps: &[String]) -> Result<PathBuf, MemoryError> {
    let roots = roots(layout);
    let mut path = base.canonicalize().map_err(disk(base))?;
    for (number, step) in steps.iter().enumerate() {
        let next = path.join(step);
        match std::fs::create_dir(&next) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(disk(&next)(error)),
        }
        let is_link = next.symlink_metadata().map_err(disk(&next))?.is_symlink();
        let real = next.canonicalize().map_err(disk(&next))?;
        let stays = roots.iter().any(|root| real.starts_with(root));
        if is_link && (number > 0 || !stays) {
            return Err(MemoryError::Linked { folder: next, to: real });
        }
        if !real.is_dir() {
            return Err(disk(&next)(io::ErrorKind::NotADirectory.into()));
        }
        path = real;
    }
    Ok(path)
}

/// The folders that belong to the project, without links.
fn roots(layout: &Layout) -> Vec<PathBuf> {
    let folders = std::iter::once(&layout.cwd).chain(&layout.repository);
    folders.filter_map(|folder| folder.canonicalize().ok()).collect()
}

/// A file that is none, or that lies elsewhere, is not read: a link in a project could name any file of the user's.
fn read_index(folder: &Path, scope: MemoryScope, notes: &mut Vec<String>) -> Option<String> {
    let path = folder.join(INDEX);
    path.symlink_metadata().ok()?;
    let mut leave_out = |why: &str| {
        notes.push(format!("{} is not read: {why}", path.display()));
        None
    };
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => return leave_out(&error.to_string()),
    };
    if scope != MemoryScope::User && !real.starts_with(folder) {
        return leave_out("it is a link that leads out of the memory");
    }
    // A pipe would keep the reader waiting for ever.
    if !real.is_file() {
        return leave_out("it is no file");
    }
    let mut bytes = Vec::new();
    let read = std::fs::File::open(&real).and_then(|file| file.take(MAX_INDEX).read_to_end(&mut bytes));
    match read {
        Ok(_) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => leave_out(&error.to_string()),
    }
}

#[cfg(test)]
mod tests;
