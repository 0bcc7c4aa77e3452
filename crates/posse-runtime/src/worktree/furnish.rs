//! What a new worktree gets besides its checkout: ignored files that `.worktreeinclude` names, and links to folders.
//! Never writes through a link: the checkout may contain one that leads elsewhere.

use std::path::{Component, Path, PathBuf};

use super::git::{self, LONG};
use super::{WorktreeError, Worktrees};

const INCLUDE: &str = ".worktreeinclude";

impl Worktrees {
    /// Copies the ignored files that `.worktreeinclude` names. What cannot be copied is said.
    pub(super) async fn copy_included(
        &self,
        to: &Path,
        notes: &mut Vec<String>,
    ) -> Result<(), WorktreeError> {
        let list = self.root.join(INCLUDE);
        if !list.is_file() || self.root == to {
            return Ok(());
        }
        let exclude = format!("--exclude-from={}", list.display());
        let args = ["ls-files", "-z", "--others", "--ignored", exclude.as_str()];
        let named = self.git.at(&self.root).patience(LONG).bytes(args).await?;
        if named.is_empty() {
            return Ok(());
        }
        let said = self
            .git
            .at(&self.root)
            .input(named)
            .patience(LONG)
            .run(["check-ignore", "-z", "--stdin"])
            .await?;
        if said.code == Some(1) {
            return Ok(());
        }
        if !said.ok() {
            return Err(said.error());
        }
        let worktrees: PathBuf = [".claude", "worktrees"].iter().collect();
        for path in git::split(&said.stdout).map(git::path).filter(|path| !path.starts_with(&worktrees)) {
            if let Err(error) = copy(&self.root, to, &path) {
                notes.push(format!("{} could not be copied: {error}", path.display()));
            }
        }
        Ok(())
    }

    /// Links folders of the main checkout into a worktree; gives the links made, and where they lead.
    pub(super) fn link_folders(
        &self,
        to: &Path,
        folders: &[String],
        notes: &mut Vec<String>,
    ) -> Vec<(PathBuf, PathBuf)> {
        let mut links = Vec::new();
        for folder in folders {
            let path: PathBuf = Path::new(folder).components().collect();
            let from = self.root.join(&path);
            let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            if !plain || path.as_os_str().is_empty() {
                notes.push(format!("{folder} is not a folder below the repository and is not linked"));
            } else if !from.is_dir() || to.join(&path).symlink_metadata().is_ok() {
                // Nothing to link yet, or the checkout brings its own.
            } else {
                let made = parent(to, &path).and_then(|()| std::os::unix::fs::symlink(&from, to.join(&path)));
                match made {
                    Ok(()) => links.push((path, from)),
                    Err(error) => notes.push(format!("{folder} could not be linked: {error}")),
                }
            }
        }
        links
    }
}

fn copy(root: &Path, to: &Path, path: &Path) -> std::io::Result<()> {
    let (from, target) = (root.join(path), to.join(path));
    if target.symlink_metadata().is_ok() {
        return Ok(());
    }
    parent(to, path)?;
    let data = from.symlink_metadata()?;
    if data.is_symlink() {
        std::os::unix::fs::symlink(std::fs::read_link(&from)?, &target)
    } else if data.is_file() {
        std::fs::copy(&from, &target).map(|_| ())
    } else {
        Ok(())
    }
}

/// Makes the folders above a path, none of them through a link.
fn parent(top: &Path, path: &Path) -> std::io::Result<()> {
    let mut folder = top.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(data) if data.is_dir() => {}
            Ok(_) => return Err(std::io::Error::other(format!("{} is not a folder", folder.display()))),
            Err(_) => std::fs::create_dir(&folder)?,
        }
    }
    Ok(())
}
