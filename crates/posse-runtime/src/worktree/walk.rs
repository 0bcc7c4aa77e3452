//! What really lies in a worktree, whatever git makes of it. Follows no link, and fails rather than miss anything.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::record::io;

/// What tells a file from a changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Disk {
    /// Files and links by their path from the top.
    pub(super) files: BTreeMap<PathBuf, Stamp>,
    /// Folders with a `.git` of their own; what is in them is not listed. The top itself if its `.git` is a folder.
    pub(super) nested: Vec<PathBuf>,
}

/// Looks through a folder on a thread for such work. Its own `.git`, if that is a file, is left out.
pub(super) async fn disk(top: &Path) -> Result<Disk, WorktreeError> {
    let owned = top.to_owned();
    let look = move || {
        let mut disk = Disk::default();
        look(&owned, Path::new(""), &mut disk)?;
        Ok(disk)
    };
    match tokio::task::spawn_blocking(look).await {
        Ok(found) => found,
        Err(error) => Err(io(top, std::io::Error::other(error))),
    }
}

fn look(top: &Path, start: &Path, disk: &mut Disk) -> Result<(), WorktreeError> {
    let mut todo = vec![start.to_owned()];
    while let Some(folder) = todo.pop() {
        let full = top.join(&folder);
        let mut folders = Vec::new();
        let mut has_git = false;
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&full).map_err(|error| io(&full, error))? {
            let entry = entry.map_err(|error| io(&full, error))?;
            let data = entry.metadata().map_err(|error| io(&entry.path(), error))?;
            let path = folder.join(entry.file_name());
            if entry.file_name() == ".git" {
                let is_top = folder.as_os_str().is_empty();
                has_git = !is_top || !data.is_file();
            } else if data.is_dir() {
                folders.push(path);
            } else if data.is_file() || data.is_symlink() {
                let stamp = Stamp {
                    size: data.size(),
                    inode: data.ino(),
                    modified: (data.mtime(), data.mtime_nsec()),
                    changed: (data.ctime(), data.ctime_nsec()),
                };
                files.push((path, stamp));
            }
        }
        if has_git {
            disk.nested.push(folder);
        } else {
            disk.files.extend(files);
            todo.extend(folders);
        }
    }
    disk.nested.sort();
    Ok(())
}

/// Whether two files, neither of them a link, have the same bytes.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    let size =
        |path: &Path| path.symlink_metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
    match (size(one), size(other)) {
        (Some(a), Some(b)) if a == b => {}
        _ => return false,
    }
    let read = |path: &Path| std::fs::File::open(path).map(std::io::BufReader::new);
    let (Ok(mut one), Ok(mut other)) = (read(one), read(other)) else { return false };
    loop {
        use std::io::BufRead;
        let (Ok(a), Ok(b)) = (one.fill_buf(), other.fill_buf()) else { return false };
        let common = a.len().min(b.len());
        if common == 0 {
            return a.len() == b.len();
        }
        if a[..common] != b[..common] {
            return false;
        }
        one.consume(common);
        other.consume(common);
    }
}

/// Removes a folder and all in it. Folders that may not be written to are made writable first, if need be.
pub(super) async fn remove(top: &Path) -> Result<(), WorktreeError> {
    let owned = top.to_owned();
    let work = move || match std::fs::remove_dir_all(&owned) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            make_writable(&owned);
            std::fs::remove_dir_all(&owned)
        }
        other => other,
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => Err(io(top, error)),
        Ok(_) => Ok(()),
        Err(error) => Err(io(top, std::io::Error::other(error))),
    }
}

fn make_writable(top: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut todo = vec![top.to_owned()];
    while let Some(folder) = todo.pop() {
        // What cannot be changed is reported by the removal that follows.
        let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        todo.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}
