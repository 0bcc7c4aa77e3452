//! The commit a worktree starts from.

use std::time::{Duration, SystemTime};

use super::snapshot::Checkout;
use super::{Base, WorktreeError, Worktrees};

/// How long a remote may take; whoever waits for an agent should not wait for a network.
const FETCH: Duration = Duration::from_secs(30);
/// A fetch as recent as this is fresh enough.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Worktrees {
    /// The commit, and what is to be said about it.
    pub(super) async fn base_commit(
        &self,
        base: Base,
        notes: &mut Vec<String>,
    ) -> Result<String, WorktreeError> {
        match base {
            Base::Head => self.head().await?.ok_or(WorktreeError::NoCommit),
            Base::DefaultBranch { fetch } => self.default_branch(fetch, notes).await,
            Base::Dirty => self.dirty(notes).await,
        }
    }

    async fn head(&self) -> Result<Option<String>, WorktreeError> {
        let args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        self.git.at(&self.here).dir(&self.here_dir).answer(args).await
    }

    /// The commit a ref leads to.
    pub(super) async fn commit_of(&self, name: &str) -> Result<Option<String>, WorktreeError> {
        let commit = format!("{name}^{{commit}}");
        self.repository().answer(["rev-parse", "--verify", "--quiet", commit.as_str()]).await
    }

    async fn default_branch(&self, fetch: bool, notes: &mut Vec<String>) -> Result<String, WorktreeError> {
        let head = self.repository().answer(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).await?;
        let remote =
            head.as_deref().and_then(|name| name.strip_prefix("refs/remotes/origin/")).map(str::to_owned);
        if fetch {
            self.fetch(remote.as_deref(), notes).await?;
        }
        let of_remote =
            head.into_iter().chain(["refs/remotes/origin/main".into(), "refs/remotes/origin/master".into()]);
        for name in of_remote.chain(["refs/heads/main".into(), "refs/heads/master".into()]) {
            if let Some(commit) = self.commit_of(&name).await? {
                return Ok(commit);
            }
        }
        notes.push(
            "there is no default branch; the worktree starts from the commit that is checked out".to_owned(),
        );
        self.head().await?.ok_or(WorktreeError::NoCommit)
    }

    /// Brings the remote's branch up to date if that is due. A failure is said; what is known of the branch must do.
    async fn fetch(&self, branch: Option<&str>, notes: &mut Vec<String>) -> Result<(), WorktreeError> {
        let has_remote = self.repository().answer(["config", "--get", "remote.origin.url"]).await?.is_some();
        if !has_remote || self.fetched_lately() {
            return Ok(());
        }
        let mut args = vec!["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin"];
        args.extend(branch);
        let mut call = self.repository().patience(FETCH);
        if self.world.env.get("GIT_SSH_COMMAND").is_none() && self.world.env.get("GIT_SSH").is_none() {
            call = call.var("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        if let Err(error) = call.bytes(args).await {
            notes.push(format!("the remote could not be asked, the last known state is used: {error}"));
        }
        Ok(())
    }

    fn fetched_lately(&self) -> bool {
        let fetched = self.common.join("FETCH_HEAD").metadata().and_then(|data| data.modified());
        let now = SystemTime::from(self.world.clock.now());
        fetched.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < DAY))
    }

    /// The files as they are, as a commit on top of the one that is checked out.
    async fn dirty(&self, notes: &mut Vec<String>) -> Result<String, WorktreeError> {
        let head = self.head().await?;
        let checkout = Checkout {
            work: self.here.clone(),
            dir: self.here_dir.clone(),
            head: head.clone(),
            without: vec![[".claude", "worktrees"].iter().collect()],
        };
        let staged = self.stage(checkout).await?;
        for nested in &staged.nested {
            notes.push(format!("{} is a repository of its own and is not copied", nested.display()));
        }
        let tree = self.tree(&staged).await?;
        if let Some(head) = &head
            && self.tree_of(head).await? == tree
        {
            return Ok(head.clone());
        }
        let parents: Vec<String> = head.into_iter().collect();
        self.commit(&tree, &parents, "Uncommitted state, as a base for an agent\n").await
    }

    /// The tree of a commit.
    pub(super) async fn tree_of(&self, commit: &str) -> Result<String, WorktreeError> {
        let tree = format!("{commit}^{{tree}}");
        self.repository().text(["rev-parse", "--verify", tree.as_str()]).await
    }
}
