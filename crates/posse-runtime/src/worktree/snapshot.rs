//! The files of a checkout as a tree in the repository, made with an index of our own: no index, file or branch of
//! anybody else is touched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::git::{self, LONG};
use super::record::io;
use super::{WorktreeError, Worktrees};

/// Who the commits are by that posse makes for itself.
const WHO: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "posse"),
    ("GIT_AUTHOR_EMAIL", "posse@localhost"),
    ("GIT_COMMITTER_NAME", "posse"),
    ("GIT_COMMITTER_EMAIL", "posse@localhost"),
];
/// Objects must be on the disk before what they were made from is not.
const DURABLE: &str = "core.fsync=objects,reference";

/// A checkout to be looked at.
#[derive(Clone, Debug)]
pub(super) struct Checkout {
    /// Its files.
    pub(super) work: PathBuf,
    /// Its git folder.
    pub(super) dir: PathBuf,
    /// Its commit, if it has one.
    pub(super) head: Option<String>,
    /// Paths from the top that are left out.
    pub(super) without: Vec<PathBuf>,
}

/// An index of our own that holds the files of a checkout.
#[derive(Debug)]
pub(super) struct Staged {
    checkout: Checkout,
    index: PathBuf,
    /// Folders that are repositories of their own and therefore not in it.
    pub(super) nested: Vec<PathBuf>,
    _folder: tempfile::TempDir,
}

impl Worktrees {
    /// Takes every file of a checkout that is not ignored into an index of our own.
    pub(super) async fn stage(&self, checkout: Checkout) -> Result<Staged, WorktreeError> {
        let place = self.world.temp_dir();
        let folder =
            tempfile::Builder::new().prefix("posse-index").tempdir_in(&place).map_err(|e| io(&place, e))?;
        let index = folder.path().join("index");
        let mut staged = Staged { checkout, index, nested: Vec::new(), _folder: folder };
        if !self.copy_index(&staged).await? {
            let start = staged.checkout.head.clone();
            let empty = "--empty".to_owned();
            self.call(&staged).bytes(["read-tree".to_owned(), start.unwrap_or(empty)]).await?;
        }
        let others = self.call(&staged).bytes(["ls-files", "-z", "--others", "--exclude-standard"]).await?;
        let nested = git::split(&others).filter_map(|path| path.strip_suffix(b"/"));
        staged.nested = nested.map(git::path).collect();
        let mut specs = b".\0".to_vec();
        for path in staged.nested.iter().chain(&staged.checkout.without) {
            specs.extend_from_slice(b":(exclude,top,literal)");
            specs.extend(git::joined([path.as_path()]));
        }
        let args = ["add", "-A", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.call(&staged).input(specs).patience(LONG).bytes(args).await?;
        Ok(staged)
    }

    /// The checkout's own index knows which files are as they were; without it every file must be read. It is not used if
    /// it was told to look away from some.
    async fn copy_index(&self, staged: &Staged) -> Result<bool, WorktreeError> {
        let own = staged.checkout.dir.join("index");
        match copy_with_time(&own, &staged.index) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(io(&own, error)),
        }
        let said = self.call(staged).run(["ls-files", "-v", "-z"]).await?;
        let good = said.ok() && !hides(&said.stdout, is_sparse(&staged.checkout.dir));
        if !good {
            std::fs::remove_file(&staged.index).map_err(|error| io(&staged.index, error))?;
        }
        Ok(good)
    }

    /// The paths in an index of our own.
    pub(super) async fn paths(&self, staged: &Staged) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let listed = self.call(staged).bytes(["ls-files", "-z", "--cached"]).await?;
        Ok(git::split(&listed).map(git::path).collect())
    }

    /// Adds files to it, ignored or not.
    pub(super) async fn add(&self, staged: &Staged, paths: &[&Path]) -> Result<(), WorktreeError> {
        if paths.is_empty() {
            return Ok(());
        }
        let args = ["update-index", "--add", "--replace", "-z", "--stdin"];
        let input = git::joined(paths.iter().copied());
        self.call(staged).input(input).patience(LONG).set(DURABLE).bytes(args).await?;
        Ok(())
    }

    /// Makes a tree of it.
    pub(super) async fn tree(&self, staged: &Staged) -> Result<String, WorktreeError> {
        self.call(staged).set(DURABLE).text(["write-tree"]).await
    }

    /// Makes a commit of a tree. No ref holds it yet.
    pub(super) async fn commit(
        &self,
        tree: &str,
        parents: &[String],
        message: &str,
    ) -> Result<String, WorktreeError> {
        let mut args = vec!["commit-tree", tree];
        for parent in parents {
            args.extend(["-p", parent.as_str()]);
        }
        let mut call = self.repository().set(DURABLE).input(message.as_bytes().to_vec());
        for (name, value) in WHO {
            call = call.var(name, value);
        }
        let date = format!("{} +0000", self.world.clock.now().as_second());
        call.var("GIT_AUTHOR_DATE", &date).var("GIT_COMMITTER_DATE", &date).text(args).await
    }

    fn call(&self, staged: &Staged) -> git::Call<'_> {
        let Checkout { work, dir, .. } = &staged.checkout;
        self.git.at(work).dir(dir).work(work).index(&staged.index).set(DURABLE)
    }
}

/// Copies an index together with its time. A file as young as the index it is in may have changed since: git looks at it
/// again. In a copy that seems younger, it would not.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    // The time first: if the index is written meanwhile, more files seem young, not fewer.
    let modified = from.metadata()?.modified()?;
    std::fs::copy(from, to)?;
    std::fs::File::options().write(true).open(to)?.set_modified(modified)
}

/// Whether a list of `ls-files -v` names files git was told not to look at. In a sparse checkout, those are the ones
/// that are not there.
pub(super) fn hides(list: &[u8], sparse: bool) -> bool {
    git::split(list)
        .filter_map(|entry| entry.first())
        .any(|mark| mark.is_ascii_lowercase() || (*mark == b'S' && !sparse))
}

/// Whether a checkout was made of some folders only.
pub(super) fn is_sparse(dir: &Path) -> bool {
    dir.join("info").join("sparse-checkout").exists()
}

#[cfg(test)]
mod tests;
