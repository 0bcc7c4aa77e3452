//! Worktrees that cannot lose work: a checkout and a branch of its own for an agent, made by the real git.
//!
//! Everything here fails towards keeping: a check that cannot be made counts as a change, what cannot be saved is not
//! removed. Before anything is removed, all that no surviving ref holds is saved below `refs/posse/saved`. Knows nothing
//! of agents but their ids, and nothing of terminals.

mod base;
mod create;
mod error;
mod footprint;
mod furnish;
mod git;
mod inspect;
mod list;
mod merge;
mod record;
mod remove;
mod save;
mod snapshot;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::world::World;
use git::Git;
use record::Records;

pub use create::usual_name;
pub use error::WorktreeError;
pub use footprint::Footprint;
pub use inspect::{Changes, Oddity, State};
pub use list::{Entry, Leftover, Standing};
pub use merge::{Merged, Restored};
pub use record::Record;
pub use remove::{Dropped, Finished};
pub use save::{Left, Saved};

/// Ignored files are saved up to so many bytes, small ones first: notes and settings fit, build output does not.
const IGNORED_CAP: u64 = 64 * 1024 * 1024;

/// What a worktree starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaseKind {
    /// The commit that is checked out.
    Head,
    /// The default branch: `origin/HEAD`, else `main`, else `master`, else the commit that is checked out.
    Default,
    /// The files as they are now, changes and untracked files included; ignored ones not.
    Dirty,
}

impl BaseKind {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Default => "default",
            Self::Dirty => "dirty",
        }
    }
}

/// What a worktree is to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The commit that is checked out.
    Head,
    /// The default branch; fetched first if that is wanted, a remote exists and the last fetch is a day old.
    DefaultBranch {
        /// Whether to fetch.
        fetch: bool,
    },
    /// The files as they are now.
    Dirty,
}

impl Base {
    /// What a value of the setting `worktree.baseRef` means; `None` for an unknown one.
    pub fn from_setting(word: &str) -> Option<Self> {
        match word {
            "head" => Some(Self::Head),
            "fresh" => Some(Self::DefaultBranch { fetch: true }),
            "dirty" => Some(Self::Dirty),
            _ => None,
        }
    }

    fn kind(self) -> BaseKind {
        match self {
            Self::Head => BaseKind::Head,
            Self::DefaultBranch { .. } => BaseKind::Default,
            Self::Dirty => BaseKind::Dirty,
        }
    }
}

/// How a worktree is made.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    /// The session it belongs to.
    pub session: String,
    /// Folders of the main checkout to link into it: `worktree.symlinkDirectories`.
    pub symlink_directories: Vec<String>,
    /// The only folders to check out, if any: `worktree.sparsePaths`.
    pub sparse_paths: Vec<String>,
}

/// The worktrees of one repository.
#[derive(Clone, Debug)]
pub struct Worktrees {
    git: Git,
    world: World,
    /// The checkout this was asked for.
    here: PathBuf,
    /// Its git folder.
    here_dir: PathBuf,
    /// The main checkout, below which worktrees are made. Those made from within a worktree lie beside it, not inside:
    /// what removes the one must not take the other along.
    root: PathBuf,
    /// The git folder all checkouts share.
    common: PathBuf,
    records: Records,
    ignored_cap: u64,
}

impl Worktrees {
    /// Those of the repository a folder is in.
    pub async fn of(folder: &Path, world: &World) -> Result<Self, WorktreeError> {
        let git = Git::new(world);
        let args = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--absolute-git-dir",
            "--git-common-dir",
        ];
        let said = git.at(folder).run(args).await?;
        let text = said.text();
        let lines: Vec<&str> = text.lines().collect();
        let [here, here_dir, common] = lines.as_slice() else {
            return Err(WorktreeError::NotARepository { folder: folder.to_owned(), said: said.stderr });
        };
        let (here, here_dir, common) = (PathBuf::from(here), PathBuf::from(here_dir), PathBuf::from(common));
        let beside = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
        let root = beside.map_or_else(|| here.clone(), Path::to_owned);
        let records = Records::of(&common);
        Ok(Self {
            git,
            world: world.clone(),
            here,
            here_dir,
            root,
            common,
            records,
            ignored_cap: IGNORED_CAP,
        })
    }

    /// The main checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What whoever works in one of the worktrees is kept out of: the main checkout, the one this was asked for, and the
    /// repository itself.
    pub fn fence(&self) -> Vec<PathBuf> {
        let mut fence = vec![self.root.clone()];
        for other in [&self.here, &self.common] {
            if !other.starts_with(&self.root) {
                fence.push(other.clone());
            }
        }
        fence
    }

    /// The folder of the worktrees.
    fn folder(&self) -> PathBuf {
        self.root.join(".claude").join("worktrees")
    }

    /// A call in the repository, with no work tree.
    fn repository(&self) -> git::Call<'_> {
        self.git.at(&self.common).dir(&self.common)
    }
}

/// A worktree in use. Whoever works in it has a handle; the last to hand its own to [`Worktrees::finish`] decides what
/// becomes of it. A handle that is dropped instead leaves the tree as it is, to be found later.
#[derive(Debug)]
pub struct Worktree {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    record: Record,
    notes: Vec<String>,
}

impl Worktree {
    /// `agent-<8 of the agent's id>`, or longer.
    pub fn name(&self) -> &str {
        &self.inner.record.name
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.inner.record.path
    }

    /// Its branch.
    pub fn branch(&self) -> &str {
        &self.inner.record.branch
    }

    /// The commit it started from.
    pub fn base(&self) -> &str {
        &self.inner.record.base
    }

    /// What did not go as wished when it was made, for people to read.
    pub fn notes(&self) -> &[String] {
        &self.inner.notes
    }

    /// Whether nobody else works in it.
    pub fn is_last(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    /// Another handle, for somebody else who works in it.
    #[must_use = "a handle that is dropped at once holds nothing"]
    pub fn hold(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

#[cfg(test)]
mod tests;
