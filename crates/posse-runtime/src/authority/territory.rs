//! Where a run may work, if that is not everywhere the session may: a copy of the repository of its own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The folders of a run that has a copy of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Its only working directories.
    pub roots: Vec<PathBuf>,
    /// The checkout it was moved out of and must leave alone.
    pub fenced: Vec<PathBuf>,
}

/// Where a run may work. It changes when the run enters or leaves a copy; clones follow.
#[derive(Clone, Debug, Default)]
pub struct Territory(Arc<Mutex<Option<Claim>>>);

impl Territory {
    /// A run's own; without a claim it works wherever the session does.
    pub fn new(claim: Option<Claim>) -> Self {
        Self(Arc::new(Mutex::new(claim)))
    }

    /// What it is now.
    pub fn claim(&self) -> Option<Claim> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it is from now on.
    pub fn set(&self, claim: Option<Claim>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = claim;
    }
}
