//! Whether an agent left anything in its worktree. In doubt, it did.

use std::path::{Path, PathBuf};

use super::list::Found;
use super::snapshot::{hides, is_sparse};
use super::{Record, Worktree, WorktreeError, Worktrees, git, walk};

/// What became of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// As it was made, but for ignored files.
    Unchanged {
        /// How many ignored files and folders there are.
        ignored: usize,
    },
    /// Something is in it that was not.
    Changed(Changes),
}

/// What is in a worktree that was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Commits since its base.
    pub commits: usize,
    /// Tracked files that were changed, staged or deleted.
    pub tracked: usize,
    /// New files that are not ignored.
    pub untracked: usize,
    /// Ignored files and folders.
    pub ignored: usize,
    /// What else is not as it was made.
    pub odd: Vec<Oddity>,
}

/// Something that is not as it was made and is no change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// Its files are gone.
    Missing,
    /// git does not know it any more.
    Unregistered,
    /// Its `.git` is not the one it was made with.
    OtherGit,
    /// It is on no branch.
    Detached,
    /// It is on another branch.
    OtherBranch(String),
    /// Its branch is gone.
    BranchGone,
    /// Its branch is not where its files are.
    BranchMoved,
    /// Commits were made that no branch holds.
    Loose(usize),
    /// Something was begun and not ended: a merge, a rebase.
    InProgress(&'static str),
    /// git was told not to look at some files.
    Hidden,
    /// Another worktree lies inside.
    Worktree(PathBuf),
    /// A repository of its own lies inside, or a submodule.
    Repository(PathBuf),
}

impl std::fmt::Display for Oddity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("its files are gone"),
            Self::Unregistered => f.write_str("git does not know it any more"),
            Self::OtherGit => f.write_str("its .git was replaced"),
            Self::Detached => f.write_str("it is on no branch"),
            Self::OtherBranch(name) => write!(f, "it is on the branch {name}"),
            Self::BranchGone => f.write_str("its branch is gone"),
            Self::BranchMoved => f.write_str("its branch was moved"),
            Self::Loose(1) => f.write_str("1 commit is on no branch"),
            Self::Loose(many) => write!(f, "{many} commits are on no branch"),
            Self::InProgress(what) => write!(f, "{what} is in progress"),
            Self::Hidden => f.write_str("git was told not to look at some files"),
            Self::Worktree(path) => write!(f, "the worktree {} lies inside", path.display()),
            Self::Repository(path) => write!(f, "the repository {} lies inside", path.display()),
        }
    }
}

impl std::fmt::Display for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |number: usize, what: &str| match number {
            0 => None,
            1 => Some(format!("1 {what}")),
            many => Some(format!("{many} {what}s")),
        };
        let numbers = [
            count(self.commits, "commit"),
            count(self.tracked, "changed file"),
            count(self.untracked, "new file"),
        ];
        let parts = numbers.into_iter().flatten().chain(self.odd.iter().map(ToString::to_string));
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// What lies in a git folder while something is under way.
const IN_PROGRESS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
    ("sequencer", "a sequence of commits"),
];

impl Worktrees {
    /// What became of a worktree. An error means that nobody knows, and that it must be kept.
    pub async fn inspect(&self, worktree: &Worktree) -> Result<State, WorktreeError> {
        self.look(&self.found(worktree.inner.record.clone())?).await
    }

    pub(super) async fn look(&self, found: &Found) -> Result<State, WorktreeError> {
        let mut changes = Changes::default();
        if found.path.is_dir() {
            self.look_at_disk(found, &mut changes).await?;
        } else {
            changes.odd.push(Oddity::Missing);
        }
        match &found.admin {
            None => changes.odd.push(Oddity::Unregistered),
            Some(admin) => {
                let under_way = IN_PROGRESS.iter().filter(|(file, _)| admin.dir.join(file).exists());
                changes.odd.extend(under_way.map(|(_, what)| Oddity::InProgress(what)));
                if found.path.is_dir() {
                    self.look_with_git(found, &admin.dir, &mut changes).await?;
                }
            }
        }
        self.look_at_commits(found, &mut changes).await?;
        changes.odd.dedup();
        let same = Changes { ignored: changes.ignored, ..Changes::default() } == changes;
        Ok(if same { State::Unchanged { ignored: changes.ignored } } else { State::Changed(changes) })
    }

    async fn look_at_disk(&self, found: &Found, changes: &mut Changes) -> Result<(), WorktreeError> {
        let link = std::fs::read_to_string(found.path.join(".git")).unwrap_or_default();
        let leads = link.strip_prefix("gitdir:").map(|dir| found.path.join(dir.trim()));
        let leads = leads.and_then(|dir| dir.canonicalize().ok());
        let own = found.admin.as_ref().and_then(|admin| admin.dir.canonicalize().ok());
        if leads.is_none() || leads != own {
            changes.odd.push(Oddity::OtherGit);
        }
        let inside = self.inside(found)?;
        for path in walk::disk(&found.path).await?.nested {
            let full = found.path.join(&path);
            let linked = inside.iter().any(|admin| admin.path == full);
            changes.odd.push(if linked { Oddity::Worktree(full) } else { Oddity::Repository(full) });
        }
        Ok(())
    }

    /// The worktrees that lie inside another; also those whose folder is gone and that git still believes in.
    pub(super) fn inside(&self, found: &Found) -> Result<Vec<super::list::Admin>, WorktreeError> {
        let mut admins = self.admins()?;
        admins.retain(|admin| admin.path != found.path && admin.path.starts_with(&found.path));
        Ok(admins)
    }

    async fn look_with_git(
        &self,
        found: &Found,
        dir: &Path,
        changes: &mut Changes,
    ) -> Result<(), WorktreeError> {
        let git = || self.git.at(&found.path).dir(dir).work(&found.path).patience(git::LONG);
        let args = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--no-renames",
            "--ignore-submodules=none",
        ];
        let said = git().run(args).await?;
        // git goes on after a folder it cannot open, with a warning.
        if !said.ok() || said.stderr.contains("could not open") {
            return Err(said.error());
        }
        let links = found.record.as_ref().map(|record| record.links.as_slice()).unwrap_or_default();
        for line in git::split(&said.stdout) {
            match line.first() {
                Some(b'?') => {
                    let path = git::path(line.get(2..).unwrap_or_default());
                    changes.untracked += usize::from(!is_own_link(&found.path, &path, links));
                }
                Some(b'!') => changes.ignored += 1,
                Some(b'#') | None => {}
                Some(_) => changes.tracked += 1,
            }
        }
        let flags = git().bytes(["ls-files", "-v", "-z"]).await?;
        if hides(&flags, is_sparse(dir)) {
            changes.odd.push(Oddity::Hidden);
        }
        Ok(())
    }

    async fn look_at_commits(&self, found: &Found, changes: &mut Changes) -> Result<(), WorktreeError> {
        let Some(record) = &found.record else {
            let loose = self.loose(found, None).await?;
            changes.commits += loose.count;
            return Ok(());
        };
        let branch = self.commit_of(&format!("refs/heads/{}", record.branch)).await?;
        let head = self.head_of(found).await?;
        if let Some(admin) = &found.admin {
            self.look_at_head(record, &admin.dir, changes).await?;
        }
        match (&branch, &head) {
            (None, _) => changes.odd.push(Oddity::BranchGone),
            (Some(branch), Some(head)) if head != branch => changes.odd.push(Oddity::BranchMoved),
            (Some(_), _) => {}
        }
        let tip = head.or(branch);
        if let Some(tip) = tip.filter(|tip| *tip != record.base) {
            let range = format!("{}..{tip}", record.base);
            let count = self.repository().text(["rev-list", "--count", range.as_str()]).await?;
            changes.commits = count.parse().unwrap_or(1);
            if changes.commits == 0 {
                // Behind its base: nothing new, and yet not as it was.
                changes.odd.push(Oddity::BranchMoved);
            }
        }
        let loose = self.loose(found, None).await?;
        if loose.count > 0 {
            changes.odd.push(Oddity::Loose(loose.count));
        }
        Ok(())
    }

    async fn look_at_head(
        &self,
        record: &Record,
        dir: &Path,
        changes: &mut Changes,
    ) -> Result<(), WorktreeError> {
        let name = self.git.at(&self.common).dir(dir).answer(["symbolic-ref", "--quiet", "HEAD"]).await?;
        match name.as_deref().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name)) {
            None => changes.odd.push(Oddity::Detached),
            Some(name) if name == record.branch => {}
            Some(name) => changes.odd.push(Oddity::OtherBranch(name.to_owned())),
        }
        Ok(())
    }

    /// The commit a worktree is at, if it is at one.
    pub(super) async fn head_of(&self, found: &Found) -> Result<Option<String>, WorktreeError> {
        let Some(admin) = &found.admin else { return Ok(None) };
        let args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        self.git.at(&self.common).dir(&admin.dir).answer(args).await
    }
}

/// Whether a path is a link posse made and nobody changed.
pub(super) fn is_own_link(top: &Path, path: &Path, links: &[(PathBuf, PathBuf)]) -> bool {
    let made = links.iter().find(|(link, _)| link == path);
    made.is_some_and(|(_, leads)| std::fs::read_link(top.join(path)).is_ok_and(|target| target == *leads))
}
