//! Finding the Markdown files below a folder.
//!
//! Everything counts: hidden files, ignored ones, links to files and folders. No folder and no file is visited twice,
//! by whatever links it is reached, so circles and thickets of links end.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::diagnostic::{Diagnostic, Problem, Rule};

use super::{file_problem, parallel, read};
use crate::fence::Fence;

/// Deeper than anybody sorts agents, and far from what the system's path length allows.
const MAX_DEPTH: usize = 64;

/// What lies below a folder.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The files, sorted by path.
    pub(crate) files: Vec<PathBuf>,
    /// What was passed over.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Which names count.
pub(crate) type Wanted = fn(&str) -> bool;

/// Names of agent files: lower-case `.md` only.
pub(crate) fn is_markdown(name: &str) -> bool {
    name.ends_with(".md")
}

/// In plugins `.MD` counts too.
pub(super) fn is_markdown_any_case(name: &str) -> bool {
    name.ends_with(".md") || name.ends_with(".MD")
}

/// Finds the files below `root`, or `root` itself if it is a file. A folder that does not exist holds nothing. Links that
/// lead out of the fence, where there is one, are not followed.
pub(crate) fn files(root: &Path, wanted: Wanted, fence: Option<&Fence>) -> Found {
    let mut found = Found::default();
    if let Some(objection) = fence.and_then(|fence| fence.objection(root)) {
        found.diagnostics.push(objection);
        return found;
    }
    let metadata = match fs::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) => {
            // Dangling links are worth a word, absence is not.
            if fs::symlink_metadata(root).is_ok() {
                found.pass_over(
                    root,
                    Rule::BrokenLink,
                    format!("cannot be followed: {}", read::plain(&error)),
                );
            }
            return found;
        }
    };
    if !metadata.is_dir() {
        found.files.push(root.to_owned());
        return found;
    }
    let mut folders_seen = HashSet::from([(metadata.dev(), metadata.ino())]);
    let mut files_seen = HashSet::new();
    let mut level = vec![(root.to_owned(), metadata.dev())];
    for depth in 0.. {
        if level.is_empty() {
            break;
        }
        if depth == MAX_DEPTH {
            for (folder, _) in &level {
                found.pass_over(
                    folder,
                    Rule::TooDeep,
                    format!("more than {MAX_DEPTH} folders deep; not read"),
                );
            }
            break;
        }
        let mut below = Vec::new();
        for listing in parallel::map(&level, |(folder, device)| list(folder, *device, wanted, fence)) {
            found.diagnostics.extend(listing.diagnostics);
            // The first path to a file or folder counts; `list` sorts, so it is always the same one.
            let new_file = |(id, path): (Id, PathBuf)| files_seen.insert(id).then_some(path);
            found.files.extend(listing.files.into_iter().filter_map(new_file));
            for Folder { id, path, is_link } in listing.folders {
                if folders_seen.insert(id) {
                    below.push((path, id.0));
                } else if is_link {
                    found.pass_over(&path, Rule::LinkCircle, "leads to a folder that is read already".into());
                }
            }
        }
        level = below;
    }
    found.files.sort_by(|a, b| by_bytes(a, b));
    found
}

impl Found {
    fn pass_over(&mut self, path: &Path, rule: Rule, text: String) {
        let file: Arc<Path> = path.into();
        self.diagnostics.push(file_problem(&file, Problem::whole(rule, text)));
    }
}

/// Paths compare part by part, which is slow for a thousand of them; their bytes give as good an order.
fn by_bytes(a: &Path, b: &Path) -> std::cmp::Ordering {
    a.as_os_str().cmp(b.as_os_str())
}

/// Device and inode: what makes two paths the same thing.
type Id = (u64, u64);

struct Folder {
    id: Id,
    path: PathBuf,
    is_link: bool,
}

#[derive(Default)]
struct Listing {
    files: Vec<(Id, PathBuf)>,
    folders: Vec<Folder>,
    diagnostics: Vec<Diagnostic>,
}

fn list(folder: &Path, device: u64, wanted: Wanted, fence: Option<&Fence>) -> Listing {
    let mut listing = Listing::default();
    let mut report = Found::default();
    match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                match entry {
                    Ok(entry) if is_fenced_off(&entry, wanted, fence, &mut report) => {}
                    Ok(entry) => sort_in(&entry, device, wanted, &mut listing, &mut report),
                    Err(error) => report.pass_over(
                        folder,
                        Rule::UnreadableFile,
                        format!("cannot be read: {}", read::plain(&error)),
                    ),
                }
            }
        }
        Err(error) => {
            report.pass_over(folder, Rule::UnreadableFile, format!("cannot be read: {}", read::plain(&error)))
        }
    }
    listing.files.sort_by(|a, b| by_bytes(&a.1, &b.1));
    // Real folders first: of two ways to the same one, the link is the detour.
    listing.folders.sort_by(|a, b| (a.is_link, &a.path).cmp(&(b.is_link, &b.path)));
    listing.diagnostics = report.diagnostics;
    listing
}

/// Whether an entry is a link that must not be followed. What would not be read anyway is not worth a word.
fn is_fenced_off(entry: &DirEntry, wanted: Wanted, fence: Option<&Fence>, report: &mut Found) -> bool {
    let Some(fence) = fence.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_symlink())) else {
        return false;
    };
    let Some(objection) = fence.objection(&entry.path()) else { return false };
    if entry.file_name().to_str().is_some_and(wanted) || entry.path().is_dir() {
        report.diagnostics.push(objection);
    }
    true
}

/// Regular files and folders are known from the listing itself; only links cost a look of their own.
fn sort_in(entry: &DirEntry, device: u64, wanted: Wanted, listing: &mut Listing, report: &mut Found) {
    let name = entry.file_name();
    let counts = name.to_str().is_some_and(wanted);
    let Ok(kind) = entry.file_type() else { return };
    if kind.is_file() {
        if counts {
            listing.files.push(((device, entry.ino()), entry.path()));
        }
    } else if kind.is_dir() {
        // A mount point has another device; one look per folder keeps identities true.
        let id = entry.metadata().map_or((device, entry.ino()), |metadata| (metadata.dev(), metadata.ino()));
        listing.folders.push(Folder { id, path: entry.path(), is_link: false });
    } else if kind.is_symlink() {
        follow(entry, counts, listing, report);
    } else if counts {
        report.pass_over(&entry.path(), Rule::NotAFile, "not a regular file; it is left alone".into());
    }
}

fn follow(entry: &DirEntry, counts: bool, listing: &mut Listing, report: &mut Found) {
    let path = entry.path();
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => {
            listing.folders.push(Folder { id: (metadata.dev(), metadata.ino()), path, is_link: true });
        }
        Ok(metadata) if metadata.is_file() && counts => {
            listing.files.push(((metadata.dev(), metadata.ino()), path))
        }
        Ok(_) if counts => {
            report.pass_over(&path, Rule::NotAFile, "leads to something that is not a regular file".into())
        }
        Ok(_) => {}
        // What a broken link was meant to be cannot be known: a folder of agents, perhaps.
        Err(error) => {
            report.pass_over(&path, Rule::BrokenLink, format!("cannot be followed: {}", read::plain(&error)))
        }
    }
}
