//! Folders that links must not lead out of. Knows what is really where; what is done with a link that leads out, and who
//! may put links where, is told elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::diagnostic::{Diagnostic, Problem, Rule};

/// The folders that belong together, and what they are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    folders: Vec<PathBuf>,
    what: &'static str,
}

impl Fence {
    /// Around these folders; one that does not exist holds nothing.
    pub(crate) fn around<P: AsRef<Path>>(what: &'static str, folders: impl IntoIterator<Item = P>) -> Self {
        let folders = folders.into_iter().filter_map(|folder| folder.as_ref().canonicalize().ok()).collect();
        Self { folders, what }
    }

    /// Around a plugin's folder.
    pub(crate) fn of_plugin(root: &Path) -> Self {
        Self::around("the plugin's folder", [root])
    }

    /// Why a path is not to be read, if it leads out. One that leads nowhere is for whoever reads it to complain about.
    pub(crate) fn objection(&self, path: &Path) -> Option<Diagnostic> {
        let real = path.canonicalize().ok()?;
        if self.folders.iter().any(|folder| real.starts_with(folder)) {
            return None;
        }
        let file: Arc<Path> = path.into();
        let text = format!("a link that leads out of {}; it is not read", self.what);
        let problem =
            Problem::whole(Rule::LinkLeadsOut, text).hint(format!("keep the file inside {}", self.what));
        Some(problem.located(&file, ""))
    }
}
