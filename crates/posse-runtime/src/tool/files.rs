//! What a run knows of files: which it has read, and what they were then.
//!
//! Writing over a file nobody looked at, or one that changed since, destroys work. The tools that write ask here first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// What identifies a version of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    modified: Option<SystemTime>,
    size: u64,
}

impl Version {
    /// The version on disk now; `None` if there is no such file.
    fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self { modified: metadata.modified().ok(), size: metadata.len() })
    }
}

/// Shared by the tools of one run.
#[derive(Clone, Debug, Default)]
pub struct FileState {
    seen: Arc<Mutex<HashMap<PathBuf, Version>>>,
}

impl FileState {
    /// Remembers that the run knows this file as it is now.
    pub fn saw(&self, path: &Path) {
        if let Some(version) = Version::of(path) {
            self.lock().insert(path.to_owned(), version);
        }
    }

    /// Whether the run may write: it must have seen the file, and it must not have changed since.
    pub fn check(&self, path: &Path) -> Freshness {
        let Some(now) = Version::of(path) else { return Freshness::Absent };
        match self.lock().get(path) {
            None => Freshness::Unseen,
            Some(seen) if *seen == now => Freshness::Fresh,
            Some(_) => Freshness::Changed,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Version>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a run knows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// There is no such file.
    Absent,
    /// It exists, and the run has not looked at it.
    Unseen,
    /// The run knows it as it is.
    Fresh,
    /// It changed since the run looked at it.
    Changed,
}
