//! How a worktree ends: kept, or saved and removed. The record goes last, so that whatever a crash leaves is found.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::list::{Admin, Found};
use super::record::io;
use super::{Changes, Left, Record, Saved, State, Worktree, WorktreeError, Worktrees, walk};

/// How often files that change while they are saved are saved again.
const ATTEMPTS: usize = 3;

/// What became of a worktree after its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Nothing was left in it; it is gone, with its branch.
    Removed {
        /// Ignored files that were saved.
        saved: Option<Saved>,
        /// Ignored files that were not.
        left: Left,
    },
    /// It is still there.
    Kept {
        /// Where.
        path: PathBuf,
        /// Its branch.
        branch: String,
        /// Why.
        why: String,
        /// What is in it, if that is why.
        changes: Option<Changes>,
    },
    /// Somebody else still works in it, and will finish it.
    InUse,
}

/// A worktree that was removed by a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Its name.
    pub name: String,
    /// What was saved: of worktrees inside first, its own last.
    pub saved: Vec<Saved>,
    /// Ignored files that were not.
    pub left: Left,
    /// Its branch, if somebody else uses that.
    pub branch_kept: Option<String>,
    /// Where its folder was moved, if it held what cannot be saved.
    pub moved: Option<PathBuf>,
}

impl Worktrees {
    /// Ends the use of a worktree. If it is as it was made, it is removed; else, or if anything fails, it is kept.
    pub async fn finish(&self, worktree: Worktree) -> Finished {
        // Of several handles, exactly one is the last.
        let Some(inner) = Arc::into_inner(worktree.inner) else { return Finished::InUse };
        let record = inner.record;
        let (why, changes) = match self.remove_if_unchanged(&record).await {
            Ok(Ok(dropped)) => {
                return Finished::Removed {
                    saved: dropped.saved.into_iter().next_back(),
                    left: dropped.left,
                };
            }
            Ok(Err(changes)) => (changes.to_string(), Some(changes)),
            Err(error) => (error.to_string(), None),
        };
        self.set_down(record, why, changes).await
    }

    /// Ends the use of a worktree for somebody who wants it kept as it is.
    pub async fn keep(&self, worktree: Worktree) -> Finished {
        let Some(inner) = Arc::into_inner(worktree.inner) else { return Finished::InUse };
        self.set_down(inner.record, "it was to be kept".to_owned(), None).await
    }

    async fn set_down(&self, mut record: Record, why: String, changes: Option<Changes>) -> Finished {
        let path = self.found(record.clone()).map_or_else(|_| record.path.clone(), |found| found.path);
        let branch = record.branch.clone();
        record.kept = true;
        // If this fails, it is listed as left behind once this process is gone.
        let _ = self.records.write(&record);
        self.unlock(&path).await;
        Finished::Kept { path, branch, why, changes }
    }

    async fn remove_if_unchanged(&self, record: &Record) -> Result<Result<Dropped, Changes>, WorktreeError> {
        let found = self.found(record.clone())?;
        match self.look(&found).await? {
            State::Changed(changes) => Ok(Err(changes)),
            State::Unchanged { .. } => {
                let mut dropped = Dropped { name: record.name.clone(), ..Dropped::default() };
                self.clear(&found, false, &mut dropped).await?;
                // Whoever wrote a file since the look, wrote something that counts.
                Ok(Ok(dropped))
            }
        }
    }

    /// Removes a worktree for a person who asked for it, after saving what is in it. With `force`, also one that holds
    /// repositories of its own, whose folder is moved away then, and one posse did not make although it is locked.
    pub async fn drop(&self, name: &str, force: bool) -> Result<Dropped, WorktreeError> {
        let found = self.find(name)?;
        may_drop(&found, force)?;
        let mut dropped = Dropped { name: found.name.clone(), ..Dropped::default() };
        self.drop_inside(&found, force, &mut dropped).await?;
        self.clear(&found, force, &mut dropped).await?;
        Ok(dropped)
    }

    /// Saves and removes worktrees an agent made inside its own, deepest first. Their branches stay.
    async fn drop_inside(
        &self,
        found: &Found,
        force: bool,
        dropped: &mut Dropped,
    ) -> Result<(), WorktreeError> {
        let mut inside = self.inside(found)?;
        inside.sort_by_key(|admin| std::cmp::Reverse(admin.path.components().count()));
        for admin in inside {
            let last = admin.path.file_name().unwrap_or_default().to_string_lossy();
            let last: String =
                last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            let name = format!("{}-within-{last}", found.name);
            let inner = Found { name, path: admin.path.clone(), admin: Some(admin), record: None };
            may_drop(&inner, force)?;
            self.save_and_remove_files(&inner, None, force, dropped).await?;
            self.forget(&inner).await?;
        }
        Ok(())
    }

    /// Saves, then removes files, git's folder, branch and record, in this order.
    async fn clear(&self, found: &Found, force: bool, dropped: &mut Dropped) -> Result<(), WorktreeError> {
        let branch = found.record.as_ref().map(|record| record.branch.as_str());
        let tip = match branch {
            Some(branch) => self.commit_of(&format!("refs/heads/{branch}")).await?,
            None => None,
        };
        let doomed = branch.filter(|_| tip.is_some());
        self.save_and_remove_files(found, doomed, force, dropped).await?;
        self.forget(found).await?;
        if let (Some(branch), Some(tip)) = (branch, tip) {
            if self.is_checked_out(branch).await? {
                dropped.branch_kept = Some(branch.to_owned());
            } else {
                let full = format!("refs/heads/{branch}");
                // Only from where it was when it was saved.
                self.repository().bytes(["update-ref", "-d", full.as_str(), tip.as_str()]).await?;
            }
        }
        if found.record.is_some() {
            self.records.remove(&found.name)?;
        }
        Ok(())
    }

    async fn save_and_remove_files(
        &self,
        found: &Found,
        doomed: Option<&str>,
        force: bool,
        dropped: &mut Dropped,
    ) -> Result<(), WorktreeError> {
        for _ in 0..ATTEMPTS {
            let saving = match self.save(found, doomed).await {
                Err(WorktreeError::Nested(_)) if force => {
                    return self.move_away(found, doomed, dropped).await;
                }
                other => other?,
            };
            dropped.left = saving.left;
            dropped.saved.extend(saving.saved);
            self.check_unused(found)?;
            if !found.path.is_dir() {
                return Ok(());
            }
            // What was written since it was saved is saved, too.
            if walk::disk(&found.path).await? == saving.disk {
                return walk::remove(&found.path).await;
            }
        }
        Err(WorktreeError::Busy { name: found.name.clone() })
    }

    /// Moves a folder that cannot be saved to where nobody removes it.
    async fn move_away(
        &self,
        found: &Found,
        doomed: Option<&str>,
        dropped: &mut Dropped,
    ) -> Result<(), WorktreeError> {
        if let Some(admin) = &found.admin
            && admin.dir.join("modules").exists()
        {
            // The repositories of submodules lie in git's folder for this worktree, and would go with it.
            return Err(WorktreeError::Nested(admin.dir.join("modules")));
        }
        let folder = self.common.join("posse").join("kept");
        std::fs::create_dir_all(&folder).map_err(|error| io(&folder, error))?;
        let at = self.world.clock.now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let place = (1..1000).map(|number| folder.join(format!("{}-{at}-{number}", found.name)));
        let place = place.into_iter().find(|place| place.symlink_metadata().is_err());
        let Some(place) = place else { return Err(WorktreeError::Busy { name: found.name.clone() }) };
        self.check_unused(found)?;
        // Commits first: without files, saving pins those alone.
        let bare = Found { path: place.clone(), ..found.clone() };
        dropped.saved.extend(self.save(&bare, doomed).await?.saved);
        std::fs::rename(&found.path, &place).map_err(|error| io(&found.path, error))?;
        dropped.moved = Some(place);
        Ok(())
    }

    /// Nobody took the worktree into use since it was found.
    fn check_unused(&self, found: &Found) -> Result<(), WorktreeError> {
        let Some(record) = &found.record else { return Ok(()) };
        let now = self.records.read(&found.name)?;
        let same = now
            .as_ref()
            .is_some_and(|now| (now.pid, now.started, now.kept) == (record.pid, record.started, record.kept));
        if same { Ok(()) } else { Err(WorktreeError::Reused { name: found.name.clone() }) }
    }

    /// Lets git forget a checkout whose files are gone. One that is locked, too: the lock was ours.
    async fn forget(&self, found: &Found) -> Result<(), WorktreeError> {
        let Some(admin) = &found.admin else { return Ok(()) };
        if !admin.dir.exists() {
            return Ok(());
        }
        let args: [&OsStr; 6] = [
            "worktree".as_ref(),
            "remove".as_ref(),
            "--force".as_ref(),
            "--force".as_ref(),
            "--".as_ref(),
            admin.path.as_ref(),
        ];
        self.repository().bytes(args).await?;
        Ok(())
    }

    async fn is_checked_out(&self, branch: &str) -> Result<bool, WorktreeError> {
        let listed = self.repository().text(["worktree", "list", "--porcelain"]).await?;
        let line = format!("branch refs/heads/{branch}");
        Ok(listed.lines().any(|other| other == line))
    }

    /// Unlocks; a tree that was not locked, or is gone, is as good.
    pub(super) async fn unlock(&self, path: &Path) {
        let args: [&OsStr; 3] = ["worktree".as_ref(), "unlock".as_ref(), path.as_ref()];
        let _ = self.repository().run(args).await;
    }

    /// Removes what a creation that failed has made. Goes the same way as every removal.
    pub(super) async fn undo(&self, record: &Record) -> Result<(), WorktreeError> {
        let found = self.found(record.clone())?;
        self.clear(&found, false, &mut Dropped::default()).await
    }
}

fn may_drop(found: &Found, force: bool) -> Result<(), WorktreeError> {
    match (&found.record, found.admin.as_ref().and_then(Admin::lock)) {
        (Some(record), _) if record.is_running() => {
            Err(WorktreeError::Running { name: found.name.clone(), pid: record.pid })
        }
        (None, Some(reason)) if !force => Err(WorktreeError::Locked { name: found.name.clone(), reason }),
        (Some(_) | None, _) => Ok(()),
    }
}
