//! Keeps what would be gone with a worktree: its files, and commits no other ref holds, below `refs/posse/saved`.

use std::collections::BTreeSet;
use std::path::Path;

use super::inspect::is_own_link;
use super::list::Found;
use super::record::branch_of;
use super::snapshot::Checkout;
use super::walk::Disk;
use super::{WorktreeError, Worktrees, git, walk};

/// What git takes for the former value of a ref that must not exist.
const NOTHING: &str = "";
/// How many refs of one second are tried.
const SAME_SECOND: usize = 1000;

/// Something that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The ref: `refs/posse/saved/<name>/<time>`.
    pub name: String,
    /// The commit: the files on top of the agent's last commit.
    pub commit: String,
    /// When, in UTC; empty if somebody else made the ref.
    pub at: String,
}

impl Saved {
    /// The time is in the name: a saved commit may be an older one of the agent's.
    pub(super) fn new(name: String, commit: String) -> Self {
        let time = name.rsplit('/').next().unwrap_or_default();
        let time = time.split('-').next().unwrap_or_default();
        let at = match jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", time) {
            Ok(time) => format!("{time}Z"),
            Err(_) => String::new(),
        };
        Self { name, commit, at }
    }
}

/// Ignored files that were too large to be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// How many.
    pub files: usize,
    /// How large, together.
    pub bytes: u64,
}

/// The outcome of saving.
#[derive(Debug)]
pub(super) struct Saving {
    pub(super) saved: Option<Saved>,
    pub(super) left: Left,
    /// What was on the disk.
    pub(super) disk: Disk,
}

/// Commits that only this worktree holds.
#[derive(Debug, Default)]
pub(super) struct Loose {
    /// How many.
    pub(super) count: usize,
    /// Those that no other of them is built on.
    pub(super) tips: Vec<String>,
}

impl Worktrees {
    /// Saves what is in a worktree and nowhere else. `doomed` is a branch that will be gone.
    pub(super) async fn save(&self, found: &Found, doomed: Option<&str>) -> Result<Saving, WorktreeError> {
        let head = match self.head_of(found).await? {
            Some(head) => Some(head),
            None => self.fallback_head(found).await?,
        };
        let mut left = Left::default();
        let mut disk = Disk::default();
        let mut tree = None;
        if found.path.is_dir() {
            disk = walk::disk(&found.path).await?;
            if let Some(nested) = disk.nested.first() {
                return Err(WorktreeError::Nested(found.path.join(nested)));
            }
            tree = Some(self.tree_with_ignored(found, head.clone(), &disk, &mut left).await?);
        }
        let loose = self.loose(found, doomed).await?;
        let head_tree = match &head {
            Some(head) => Some(self.tree_of(head).await?),
            None => None,
        };
        // An empty folder holds nothing, even if it is no commit's.
        let files = tree.filter(|tree| Some(tree) != head_tree.as_ref() && !disk.files.is_empty());
        let commit = match (files, loose.tips.as_slice()) {
            (None, []) => return Ok(Saving { saved: None, left, disk }),
            (None, [only]) => only.clone(),
            (files, tips) => {
                let tree = match (files, head_tree) {
                    (Some(tree), _) | (None, Some(tree)) => tree,
                    (None, None) => self.tree_of(&tips[0]).await?,
                };
                let others = tips.iter().filter(|tip| Some(*tip) != head.as_ref());
                let parents: Vec<String> = head.iter().chain(others).cloned().collect();
                let message = format!("{}: saved before its worktree was removed\n", found.name);
                self.commit(&tree, &parents, &message).await?
            }
        };
        let saved = Some(self.pin(&found.name, &commit).await?);
        Ok(Saving { saved, left, disk })
    }

    /// Where a worktree probably was if git has lost it.
    async fn fallback_head(&self, found: &Found) -> Result<Option<String>, WorktreeError> {
        let Some(record) = &found.record else { return Ok(None) };
        let branch = self.commit_of(&format!("refs/heads/{}", record.branch)).await?;
        match branch {
            Some(branch) => Ok(Some(branch)),
            None => self.commit_of(&record.base).await,
        }
    }

    /// All files as a tree: also ignored ones, unless the main checkout has the same, as far as they fit.
    async fn tree_with_ignored(
        &self,
        found: &Found,
        head: Option<String>,
        disk: &Disk,
        left: &mut Left,
    ) -> Result<String, WorktreeError> {
        let links = found.record.as_ref().map(|record| record.links.as_slice()).unwrap_or_default();
        let own = disk.files.keys().filter(|path| is_own_link(&found.path, path, links));
        let without = own.cloned().collect();
        let dir = found.admin.as_ref().map_or(&self.common, |admin| &admin.dir).clone();
        let checkout = Checkout { work: found.path.clone(), dir, head, without };
        let staged = self.stage(checkout).await?;
        let known = self.paths(&staged).await?;
        let missing = disk.files.iter().filter(|(path, _)| !known.contains(*path));
        let missing = missing.filter(|(path, _)| !is_own_link(&found.path, path, links));
        let copied = |path: &Path| {
            self.root != found.path && walk::same(&self.root.join(path), &found.path.join(path))
        };
        let mut missing: Vec<_> = missing.filter(|(path, _)| !copied(path)).collect();
        missing.sort_by_key(|(path, stamp)| (stamp.size, path.as_path()));
        let mut room = self.ignored_cap;
        let mut fitting = Vec::new();
        for (path, stamp) in missing {
            if stamp.size <= room {
                room -= stamp.size;
                fitting.push(path.as_path());
            } else {
                *left = Left { files: left.files + 1, bytes: left.bytes + stamp.size };
            }
        }
        self.add(&staged, &fitting).await?;
        self.tree(&staged).await
    }

    /// The commits that are gone with a worktree: its own, and those its log remembers, if no ref but `doomed` leads to
    /// them. The base is no work of the agent.
    pub(super) async fn loose(&self, found: &Found, doomed: Option<&str>) -> Result<Loose, WorktreeError> {
        let base = found.record.as_ref().map(|record| record.base.as_str());
        let mut tips = BTreeSet::new();
        tips.extend(self.head_of(found).await?);
        if let Some(branch) = doomed {
            tips.extend(self.commit_of(&format!("refs/heads/{branch}")).await?);
        }
        if let Some(admin) = &found.admin {
            tips.extend(logged(&admin.dir));
        }
        tips.retain(|tip| Some(tip.as_str()) != base);
        if tips.is_empty() {
            return Ok(Loose::default());
        }
        let mut input = String::new();
        for tip in &tips {
            input.push_str(&format!("{tip}\n"));
        }
        if let Some(base) = base {
            input.push_str(&format!("^{base}\n"));
        }
        // The branch of another worktree is no safe place either: what that one started from goes with it unsaved, as no
        // work of its agent. So everybody saves their own.
        let others = self.records.names()?.into_iter().filter(|name| *name != found.name);
        let exclude = others.map(|name| branch_of(&name)).chain(doomed.map(str::to_owned));
        let exclude: Vec<String> = exclude.map(|branch| format!("--exclude=refs/heads/{branch}")).collect();
        // By itself, `--all` counts where every worktree is, and this one will not be.
        let args = ["rev-list", "--single-worktree", "--ignore-missing", "--parents", "--stdin"]
            .into_iter()
            .chain(exclude.iter().map(String::as_str));
        let args = args.chain(["--not", "--all"]);
        let listed = self.repository().input(input.into_bytes()).patience(git::LONG).text(args).await?;
        let (mut commits, mut parents) = (BTreeSet::new(), BTreeSet::new());
        for line in listed.lines() {
            let mut ids = line.split(' ');
            commits.extend(ids.next());
            parents.extend(ids);
        }
        let top = |tip: &String| commits.contains(tip.as_str()) && !parents.contains(tip.as_str());
        Ok(Loose { count: commits.len(), tips: tips.iter().filter(|tip| top(tip)).cloned().collect() })
    }

    /// Makes a ref for a commit.
    async fn pin(&self, name: &str, commit: &str) -> Result<Saved, WorktreeError> {
        let now = self.world.clock.now();
        let at = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        for number in 1..SAME_SECOND {
            let time = if number == 1 { at.clone() } else { format!("{at}-{number}") };
            let full = format!("refs/posse/saved/{name}/{time}");
            let known = self.commit_of(&full).await?;
            if known.as_deref().is_some_and(|known| known != commit) {
                continue;
            }
            if known.is_none() {
                let args = ["update-ref", full.as_str(), commit, NOTHING];
                self.repository().set("core.fsync=objects,reference").bytes(args).await?;
            }
            return Ok(Saved::new(full, commit.to_owned()));
        }
        Err(WorktreeError::Busy { name: name.to_owned() })
    }
}

/// Every commit a worktree has been at, as its log tells.
fn logged(dir: &Path) -> BTreeSet<String> {
    let log = std::fs::read(dir.join("logs").join("HEAD")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let ids = log.lines().flat_map(|line| line.split(' ').take(2));
    let is_id = |id: &&str| {
        id.len() >= 40 && id.bytes().all(|b| b.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0')
    };
    ids.filter(is_id).map(str::to_owned).collect()
}
