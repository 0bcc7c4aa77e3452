//! How a worktree comes into being. The record is written first: whatever happens afterwards, somebody finds it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::git::LONG;
use super::record::{Record, branch_of, io};
use super::{Base, CreateOptions, Inner, Worktree, WorktreeError, Worktrees};
use crate::world::process;

/// How many characters of an id a name has, unless another has the same.
const SHORT: usize = 8;
/// Ignores all in the folder of worktrees, itself included, so that the main checkout does not see them.
const IGNORE_ALL: &str = "*\n";

impl Worktrees {
    /// Makes a worktree for an agent.
    pub async fn create(
        &self,
        agent: &str,
        base: Base,
        options: &CreateOptions,
    ) -> Result<Worktree, WorktreeError> {
        let id = usable(agent)?;
        let names = (0..id.len() + 1000).map(|attempt| name(&id, attempt));
        self.make(agent, names, base, options).await
    }

    /// Makes a worktree of a name that somebody chose, or takes the one of that name into use again.
    pub async fn create_or_reopen(
        &self,
        name: &str,
        base: Base,
        options: &CreateOptions,
    ) -> Result<Worktree, WorktreeError> {
        if self.records.holds(name) {
            return self.reopen(name, &options.session).await;
        }
        match self.make(name, std::iter::once(name.to_owned()), base, options).await {
            Err(WorktreeError::Id(name)) => Err(WorktreeError::Taken { name }),
            other => other,
        }
    }

    /// The first of these names that nobody has.
    async fn make(
        &self,
        agent: &str,
        names: impl Iterator<Item = String>,
        base: Base,
        options: &CreateOptions,
    ) -> Result<Worktree, WorktreeError> {
        let mut notes = Vec::new();
        let folder = self.prepare_folder()?;
        let commit = self.base_commit(base, &mut notes).await?;
        let mut record = self.claim(agent, names, base, &commit, options, &folder).await?;
        match self.build(&mut record, options, &mut notes).await {
            Ok(()) => Ok(Worktree { inner: Arc::new(Inner { record, notes }) }),
            Err(error) => {
                // Nobody has worked in it. If not even that succeeds, the record is found later.
                let _ = self.undo(&record).await;
                Err(error)
            }
        }
    }

    /// Makes the folder of worktrees; refuses where a link would lead elsewhere.
    fn prepare_folder(&self) -> Result<PathBuf, WorktreeError> {
        let folder = self.folder();
        for place in [&self.root.join(".claude"), &folder] {
            if is_link(place) {
                return Err(WorktreeError::Link(place.clone()));
            }
        }
        std::fs::create_dir_all(&folder).map_err(|error| io(&folder, error))?;
        let ignore = folder.join(".gitignore");
        match std::fs::File::create_new(&ignore) {
            Ok(mut file) => {
                use std::io::Write;
                file.write_all(IGNORE_ALL.as_bytes()).map_err(|error| io(&ignore, error))?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(&ignore, error)),
        }
        Ok(folder)
    }

    /// Finds a name nobody has, and takes it.
    async fn claim(
        &self,
        agent: &str,
        names: impl Iterator<Item = String>,
        base: Base,
        commit: &str,
        options: &CreateOptions,
        folder: &Path,
    ) -> Result<Record, WorktreeError> {
        for name in names {
            let path = folder.join(&name);
            if is_link(&path) {
                return Err(WorktreeError::Link(path));
            }
            let branch = branch_of(&name);
            let taken = path.symlink_metadata().is_ok()
                || self.records.holds(&name)
                || self.commit_of(&format!("refs/heads/{branch}")).await?.is_some();
            if taken {
                continue;
            }
            let record = Record {
                name,
                path,
                admin: None,
                branch,
                base: commit.to_owned(),
                kind: base.kind(),
                agent: agent.to_owned(),
                session: options.session.clone(),
                pid: process::own_id(),
                started: process::started(process::own_id()),
                created: self.world.clock.stamp(),
                kept: false,
                links: Vec::new(),
            };
            if self.records.claim(&record)? {
                return Ok(record);
            }
        }
        Err(WorktreeError::Id(agent.to_owned()))
    }

    async fn build(
        &self,
        record: &mut Record,
        options: &CreateOptions,
        notes: &mut Vec<String>,
    ) -> Result<(), WorktreeError> {
        let sparse = !options.sparse_paths.is_empty();
        let reason = record.reason();
        let mut args: Vec<&std::ffi::OsStr> = Vec::new();
        for arg in ["worktree", "add", "--quiet", "--no-track", "--lock", "--reason", &reason] {
            args.push(arg.as_ref());
        }
        if sparse {
            args.push("--no-checkout".as_ref());
        }
        args.extend::<[&std::ffi::OsStr; 4]>([
            "-b".as_ref(),
            record.branch.as_ref(),
            record.path.as_ref(),
            record.base.as_ref(),
        ]);
        self.repository().patience(LONG).bytes(args).await?;
        record.admin =
            self.admins()?.into_iter().find(|admin| admin.path == record.path).map(|admin| admin.dir);
        if sparse {
            self.check_out_sparsely(record, &options.sparse_paths).await?;
        }
        self.copy_included(&record.path, notes).await?;
        record.links = self.link_folders(&record.path, &options.symlink_directories, notes);
        self.records.write(record)
    }

    async fn check_out_sparsely(&self, record: &Record, paths: &[String]) -> Result<(), WorktreeError> {
        let mut args = vec!["sparse-checkout", "set", "--cone", "--"];
        args.extend(paths.iter().map(String::as_str));
        self.git.at(&record.path).bytes(args).await?;
        self.git.at(&record.path).patience(LONG).bytes(["read-tree", "-mu", "HEAD"]).await?;
        Ok(())
    }

    /// Takes a kept worktree into use again, for an agent that goes on.
    pub async fn reopen(&self, name: &str, session: &str) -> Result<Worktree, WorktreeError> {
        let found = self.find(name)?;
        let Some(mut record) = found.record else { return Err(WorktreeError::Unknown(name.to_owned())) };
        if record.is_running() {
            return Err(WorktreeError::Running { name: record.name, pid: record.pid });
        }
        if !found.path.is_dir() || found.admin.is_none() {
            return Err(WorktreeError::Missing { name: record.name });
        }
        session.clone_into(&mut record.session);
        record.pid = process::own_id();
        record.started = process::started(record.pid);
        record.kept = false;
        record.path = found.path;
        self.records.write(&record)?;
        self.unlock(&record.path).await;
        let reason = record.reason();
        let args: [&std::ffi::OsStr; 5] = [
            "worktree".as_ref(),
            "lock".as_ref(),
            "--reason".as_ref(),
            reason.as_ref(),
            record.path.as_ref(),
        ];
        self.repository().bytes(args).await?;
        Ok(Worktree { inner: Arc::new(Inner { record, notes: Vec::new() }) })
    }

    /// Takes the worktree at a place into use; nothing if it is one of this repository that posse did not make.
    pub async fn reopen_at(&self, path: &Path, session: &str) -> Result<Option<Worktree>, WorktreeError> {
        let unknown = || WorktreeError::Unknown(path.display().to_string());
        let path = path.canonicalize().map_err(|_| unknown())?;
        if !self.admins()?.iter().any(|admin| admin.path == path) {
            return Err(unknown());
        }
        let entry = self.list().await?.into_iter().find(|entry| entry.path == path);
        match entry.and_then(|entry| entry.record) {
            Some(record) => self.reopen(&record.name, session).await.map(Some),
            None => Ok(None),
        }
    }
}

/// The part of an id that can be in a name.
fn usable(agent: &str) -> Result<String, WorktreeError> {
    let id: String = agent.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    let id = id.trim_matches('-');
    let id = id.strip_prefix("agent-").unwrap_or(id);
    if id.is_empty() { Err(WorktreeError::Id(agent.to_owned())) } else { Ok(id.to_owned()) }
}

/// What the worktree of an agent is called, unless another has the same name.
pub fn usual_name(agent: &str) -> Result<String, WorktreeError> {
    usable(agent).map(|id| name(&id, 0))
}

/// The name to try: eight characters of the id, then more of them, then numbers.
fn name(id: &str, attempt: usize) -> String {
    let longest = id.len();
    let wanted = SHORT + attempt;
    if wanted <= longest || attempt == 0 {
        format!("agent-{}", &id[..wanted.min(longest)])
    } else {
        format!("agent-{id}-{}", wanted.saturating_sub(longest.max(SHORT)) + 1)
    }
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_symlink())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_grow_before_they_are_numbered() {
        let names = |id: &str| (0..4).map(|attempt| name(id, attempt)).collect::<Vec<_>>().join(" ");
        assert_eq!(names("0123456789"), "agent-01234567 agent-012345678 agent-0123456789 agent-0123456789-2");
        assert_eq!(names("ab"), "agent-ab agent-ab-2 agent-ab-3 agent-ab-4");
    }
}
