//! What a person does with what an agent left: look at it, take it over, bring back what was saved. Conflicts are found
//! before anything is touched.

use super::list::Found;
use super::snapshot::Checkout;
use super::{BaseKind, WorktreeError, Worktrees, git};

/// A worktree whose work was taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Its name.
    pub name: String,
    /// How many files that changed.
    pub files: usize,
    /// Whether a commit was made; otherwise the changes lie in the checkout.
    pub committed: bool,
}

/// Something saved that is a branch again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The ref it was saved as, which stays.
    pub saved: String,
    /// The new branch.
    pub branch: String,
}

/// The work in a worktree: from one commit to another.
struct Work {
    name: String,
    base: String,
    kind: BaseKind,
    /// The last commit, with uncommitted files on top if there are any.
    tip: String,
}

impl Worktrees {
    /// What an agent changed, as a patch: commits, changes and new files alike; ignored files not.
    pub async fn diff(&self, name: &str, color: bool) -> Result<Vec<u8>, WorktreeError> {
        let work = self.work(&self.find(name)?).await?;
        let color = if color { "--color=always" } else { "--color=never" };
        let args = ["diff", color, "--no-ext-diff", "--no-textconv", work.base.as_str(), work.tip.as_str()];
        self.repository().patience(git::LONG).bytes(args).await
    }

    /// Takes the work in a worktree over into the branch that is checked out here; with `squash`, as changes that are
    /// not committed. Work on top of uncommitted changes comes back as such.
    pub async fn merge(&self, name: &str, squash: bool) -> Result<Merged, WorktreeError> {
        let work = self.work(&self.find(name)?).await?;
        let args = ["diff", "--name-only", "-z", work.base.as_str(), work.tip.as_str()];
        let files = git::split(&self.repository().bytes(args).await?).count();
        if files == 0 && work.tip == work.base {
            return Ok(Merged { name: work.name, files, committed: false });
        }
        match work.kind {
            BaseKind::Dirty => self.apply(&work).await?,
            BaseKind::Head | BaseKind::Default => self.merge_commits(&work, squash).await?,
        }
        Ok(Merged { files, committed: !squash && work.kind != BaseKind::Dirty, name: work.name })
    }

    async fn work(&self, found: &Found) -> Result<Work, WorktreeError> {
        let head = match self.head_of(found).await? {
            Some(head) => Some(head),
            None => match &found.record {
                Some(record) => self.commit_of(&format!("refs/heads/{}", record.branch)).await?,
                None => None,
            },
        };
        let Some(head) = head else { return Err(WorktreeError::Missing { name: found.name.clone() }) };
        let base = match &found.record {
            Some(record) => record.base.clone(),
            None => {
                let args = ["merge-base", "HEAD", head.as_str()];
                self.git.at(&self.here).answer(args).await?.unwrap_or_else(|| head.clone())
            }
        };
        let kind = found.record.as_ref().map_or(BaseKind::Head, |record| record.kind);
        let mut work = Work { name: found.name.clone(), base, kind, tip: head.clone() };
        if let (true, Some(admin)) = (found.path.is_dir(), &found.admin) {
            let links = found.record.iter().flat_map(|record| &record.links);
            let without = links.map(|(link, _)| link.clone()).collect();
            let checkout = Checkout {
                work: found.path.clone(),
                dir: admin.dir.clone(),
                head: Some(head.clone()),
                without,
            };
            let tree = self.tree(&self.stage(checkout).await?).await?;
            if tree != self.tree_of(&head).await? {
                let message = format!("Work of {}\n", found.name);
                work.tip = self.commit(&tree, &[head], &message).await?;
            }
        }
        Ok(work)
    }

    async fn merge_commits(&self, work: &Work, squash: bool) -> Result<(), WorktreeError> {
        let here = || self.git.at(&self.here).patience(git::LONG);
        let args =
            ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "HEAD", work.tip.as_str()];
        let said = here().run(args).await?;
        match said.code {
            Some(0) => {}
            Some(1) => {
                let files =
                    git::split(&said.stdout).skip(1).map(|path| String::from_utf8_lossy(path).into_owned());
                return Err(WorktreeError::Conflicts { name: work.name.clone(), files: files.collect() });
            }
            Some(_) | None => return Err(said.error()),
        }
        let message = format!("Merge the work of {}", work.name);
        let how = if squash { ["--squash", "--quiet"] } else { ["--no-ff", "--no-edit"] };
        let args = ["merge", how[0], how[1], "-m", message.as_str(), work.tip.as_str()];
        // `--squash` makes no commit, and takes no message.
        let args: Vec<&str> =
            args.into_iter().filter(|arg| !squash || (*arg != "-m" && *arg != message)).collect();
        let said = here().with_hooks().run(args).await?;
        if said.ok() {
            return Ok(());
        }
        if self.here_dir.join("MERGE_HEAD").exists() {
            // A hook said no after git said yes.
            here().bytes(["merge", "--abort"]).await?;
        }
        Err(WorktreeError::Refused { name: work.name.clone(), said: said.stderr })
    }

    /// Applies the difference to the files as they are now, all of it or nothing.
    async fn apply(&self, work: &Work) -> Result<(), WorktreeError> {
        let args = ["diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index"];
        let args = args.into_iter().chain([work.base.as_str(), work.tip.as_str()]);
        let patch = self.repository().patience(git::LONG).bytes(args).await?;
        if patch.is_empty() {
            return Ok(());
        }
        let said = self
            .git
            .at(&self.here)
            .input(patch)
            .patience(git::LONG)
            .run(["apply", "--whitespace=nowarn"])
            .await?;
        if said.ok() {
            Ok(())
        } else {
            Err(WorktreeError::Refused { name: work.name.clone(), said: said.stderr })
        }
    }

    /// Makes a branch of something saved: `<name>/<time>`, the whole ref, or a name that has been saved once.
    pub async fn restore(&self, wanted: &str) -> Result<Restored, WorktreeError> {
        let short = wanted.strip_prefix("refs/posse/saved/").unwrap_or(wanted);
        let mut fitting = Vec::new();
        for saved in self.saved().await? {
            let its = saved.name.trim_start_matches("refs/posse/saved/").to_owned();
            let name = its.split('/').next().unwrap_or_default().to_owned();
            if its == short {
                fitting = vec![(its, saved)];
                break;
            }
            if name == short || name.strip_prefix("agent-") == Some(short) {
                fitting.push((its, saved));
            }
        }
        if fitting.len() > 1 {
            let among = fitting.into_iter().map(|(its, _)| its).collect();
            return Err(WorktreeError::Ambiguous { name: wanted.to_owned(), among });
        }
        let Some((its, saved)) = fitting.pop() else { return Err(WorktreeError::Unknown(wanted.to_owned())) };
        let name = its.split('/').next().unwrap_or_default();
        for number in 1..1000 {
            let branch =
                if number == 1 { format!("restored-{name}") } else { format!("restored-{name}-{number}") };
            let full = format!("refs/heads/{branch}");
            match self.commit_of(&full).await? {
                Some(commit) if commit == saved.commit => return Ok(Restored { saved: saved.name, branch }),
                Some(_) => {}
                None => {
                    self.repository().bytes(["update-ref", full.as_str(), saved.commit.as_str(), ""]).await?;
                    return Ok(Restored { saved: saved.name, branch });
                }
            }
        }
        Err(WorktreeError::Busy { name: wanted.to_owned() })
    }
}
