//! A baseline a team checks in: copied into a memory that is still empty, whole or not at all, and never over anything.

use std::io;
use std::path::{Path, PathBuf};

use posse_core::definition::MemoryScope;
use posse_core::memory::folder_name;

use super::roots;
use crate::catalog::Layout;

const FOLDER: &str = ".claude/agent-memory-snapshots";
/// Notes are small. What is larger was not meant as a memory.
const MAX_FILES: usize = 500;
const MAX_BYTES: u64 = 10 * 1024 * 1024;
const MAX_DEPTH: usize = 8;

/// Fills an empty memory from the nearest snapshot, if there is one. Returns where it came from.
pub(super) fn fill(
    layout: &Layout,
    scope: MemoryScope,
    agent: &str,
    folder: &Path,
    trusted: bool,
    notes: &mut Vec<String>,
) -> Option<PathBuf> {
    if !is_empty(folder) {
        return None;
    }
    let snapshot = find(layout, agent)?;
    let shown = snapshot.display();
    // The user's memory goes along into other projects; a stranger's must not.
    if scope == MemoryScope::User && !trusted {
        notes.push(format!("the memory snapshot {shown} is not used: nobody trusts this folder"));
        return None;
    }
    match copy(layout, &snapshot, folder, notes) {
        Ok(true) => Some(snapshot),
        Ok(false) => None,
        Err(error) => {
            notes.push(format!("the memory snapshot {shown} is not used: {error}"));
            None
        }
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// From the working directory up to the top of the repository.
fn find(layout: &Layout, agent: &str) -> Option<PathBuf> {
    let top = layout.repository.as_deref().unwrap_or(&layout.cwd);
    let inside = layout.cwd.ancestors().take_while(|folder| folder.starts_with(top));
    inside.map(|folder| folder.join(FOLDER).join(folder_name(agent))).find(|folder| folder.is_dir())
}

/// Copies beside the memory and then puts the copy into its place in one step: two agents that start at once cannot mix
/// their copies, and a crash leaves no half of one. `false` if somebody else was faster.
fn copy(layout: &Layout, from: &Path, to: &Path, notes: &mut Vec<String>) -> io::Result<bool> {
    let real = from.canonicalize()?;
    if !roots(layout).iter().any(|root| real.starts_with(root)) {
        return Err(io::Error::other("it is a link that leads out of the project"));
    }
    let files = collect(&real, notes)?;
    if files.is_empty() {
        return Ok(false);
    }
    let beside = to.parent().unwrap_or(to);
    let workshop = tempfile::Builder::new().prefix(".snapshot-").tempdir_in(beside)?;
    let copy = workshop.path().join("copy");
    std::fs::create_dir(&copy)?;
    for file in files {
        let target = copy.join(&file);
        std::fs::create_dir_all(target.parent().unwrap_or(&copy))?;
        std::fs::copy(real.join(&file), &target)?;
    }
    match std::fs::rename(&copy, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(error) => Err(error),
    }
}

/// The plain files below a folder. Links are left out, because what they lead to was not checked in.
fn collect(root: &Path, notes: &mut Vec<String>) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut bytes) = (Vec::new(), 0);
    let mut waiting = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < MAX_DEPTH {
                waiting.push((path, depth + 1));
            } else if kind.is_file() {
                bytes += entry.metadata()?.len();
                files.push(path);
            } else {
                notes.push(format!(
                    "{} is left out of the memory: it is no plain file",
                    entry.path().display()
                ));
            }
            if files.len() > MAX_FILES || bytes > MAX_BYTES {
                let why = format!("it has more than {MAX_FILES} files or {MAX_BYTES} bytes");
                return Err(io::Error::other(why));
            }
        }
    }
    files.sort();
    Ok(files)
}
