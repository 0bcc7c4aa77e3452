//! What a run knows of files: which it has read, and what they were then.
//!
//! Writing over a file nobody looked at, or one that changed since, destroys work. The tools that write ask here first.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::Checkpoints;

/// What identifies a version of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    modified: Option<SystemTime>,
    size: u64,
}

impl Version {
    /// The version on disk now; `None` if there is no such file.
    pub fn of(path: &Path) -> Option<Self> {
        Some(Self::from_metadata(&path.metadata().ok()?))
    }

    /// The version of an open file.
    pub fn from_metadata(metadata: &Metadata) -> Self {
        Self { modified: metadata.modified().ok(), size: metadata.len() }
    }
}

/// Shared by the tools of one run.
#[derive(Clone, Debug, Default)]
pub struct FileState {
    seen: Arc<Mutex<HashMap<PathBuf, Version>>>,
    kept: Checkpoints,
}

impl FileState {
    /// For a run whose changes can be taken back.
    pub fn kept_by(kept: Checkpoints) -> Self {
        Self { kept, ..Self::default() }
    }

    /// The same for another agent of the session: it has seen nothing, and its changes can be taken back as well.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self::kept_by(self.kept.clone())
    }

    /// What the changes of the session can be taken back with.
    pub fn checkpoints(&self) -> &Checkpoints {
        &self.kept
    }

    /// Remembers that the run knows this file as it is now.
    pub fn saw(&self, path: &Path) {
        if let Some(version) = Version::of(path) {
            self.saw_as(path, version);
        }
    }

    /// Remembers that the run knows this version of the file. Who takes the version before reading cannot mistake
    /// what somebody writes in between for something it has seen.
    pub fn saw_as(&self, path: &Path, version: Version) {
        self.lock().insert(one_name(path), version);
    }

    /// Whether the run may write: it must have seen the file, and it must not have changed since.
    pub fn check(&self, path: &Path) -> Freshness {
        let Some(now) = Version::of(path) else { return Freshness::Absent };
        match self.lock().get(&one_name(path)) {
            None => Freshness::Unseen,
            Some(seen) if *seen == now => Freshness::Fresh,
            Some(_) => Freshness::Changed,
        }
    }

    /// The files the run knows, in order.
    pub fn known(&self) -> Vec<PathBuf> {
        let mut known: Vec<PathBuf> = self.lock().keys().cloned().collect();
        known.sort();
        known
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Version>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file read through a link is the same file when it is written by its own name.
fn one_name(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
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
