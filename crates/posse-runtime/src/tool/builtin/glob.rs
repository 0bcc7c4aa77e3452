//! Glob: files by name, newest first.
//!
//! Unlike Grep it shows what git ignores: whoever names a file wants it. What a package manager or version control
//! piled up is left out unless the pattern names it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::blocking;
use super::search::{self, Newest};
use crate::tool::{Filter, Tool, ToolCx, ToolOutput};

/// Most files in an answer.
const LIMIT: usize = 100;
/// Characters that make a name a pattern.
const MAGIC: &[char] = &['*', '?', '[', '{', '\\'];

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GlobInput {
    /// `src/**/*.{ts,tsx}`; without a slash it matches names at any depth
    pattern: String,
    /// Folder; default: the working directory
    path: Option<String>,
}

/// The tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

impl Tool for Glob {
    const NAME: &'static str = "Glob";
    type Input = GlobInput;

    fn description(&self) -> String {
        "Finds files by name: at most 100 paths, newest first. Hidden and git-ignored files are included; `.git` and \
         `node_modules` only if the pattern names them. To search in files use Grep."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        false
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let watch = cx.world.clock.start();
        let plan = match Plan::new(&input, cx) {
            Ok(plan) => plan,
            Err(problem) => return ToolOutput::error(problem),
        };
        let cwd = cx.cwd.get();
        let Some((files, total)) = blocking::run(cx, move |halt| plan.run(halt)).await else {
            return ToolOutput::error(blocking::INTERRUPTED);
        };
        let names: Vec<String> = files.iter().map(|file| search::shown(file, &cwd)).collect();
        let truncated = total > names.len();
        let text = match names.as_slice() {
            [] => "No files found".to_owned(),
            names if truncated => format!(
                "{}\n\n[The {} newest of {total} files; a narrower pattern or path shows the others]",
                names.join("\n"),
                names.len()
            ),
            names => names.join("\n"),
        };
        ToolOutput::text(text).with(json!({
            "durationMs": watch.elapsed_ms(),
            "numFiles": names.len(),
            "filenames": names,
            "truncated": truncated,
        }))
    }
}

/// The part of a path below a folder. The walk joins names to the folder it was given, so bytes decide; taking both
/// apart name by name, for every file of a tree, is what took longest here.
fn below<'p>(path: &'p Path, base: &Path) -> Option<&'p Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(base.as_os_str().as_bytes())?;
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    Some(Path::new(OsStr::from_bytes(rest)))
}

/// A call, understood.
struct Plan {
    /// The deepest folder that everything the pattern can match lies below.
    base: PathBuf,
    /// The pattern from there on.
    matcher: GlobSet,
    depth: Option<usize>,
    /// Folders to stay out of.
    closed: Vec<&'static str>,
    /// What is passed over.
    hidden: Option<Filter>,
}

impl Plan {
    fn new(input: &GlobInput, cx: &ToolCx) -> Result<Self, String> {
        let pattern = input.pattern.trim();
        if pattern.is_empty() {
            return Err("The pattern is empty. For all files use **".into());
        }
        let (folder, rest) = split(pattern);
        // A pattern from the root or the home folder needs no other place to start from.
        let absolute = folder.starts_with(['/', '~']);
        let root = if absolute { PathBuf::from("/") } else { search::root(cx, input.path.as_deref())? };
        if root.is_file() {
            return Err(format!("{} is a file; path must be a folder.", root.display()));
        }
        let base = if absolute { cx.resolve(&folder) } else { root.join(&folder) };
        // Only for folders that exist: the others hold nothing to be found.
        let base = if base.is_dir() { search::root(cx, base.to_str()).unwrap_or(base) } else { base };
        let glob = GlobBuilder::new(&rest)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| format!("Invalid glob {pattern:?}: {}", error.kind()))?;
        // With braces, one alternative may be deeper than another.
        let flat = !rest.contains("**") && !rest.contains('{');
        let depth = flat.then(|| rest.split('/').count());
        let heaps = search::VCS_FOLDERS.iter().chain(&["node_modules"]);
        let closed = heaps.copied().filter(|folder| !pattern.contains(folder)).collect();
        // A set of one: unlike a lone matcher it knows shortcuts, such as looking at the ending only.
        let matcher = GlobSetBuilder::new().add(glob).build();
        let matcher = matcher.map_err(|error| format!("Invalid glob {pattern:?}: {}", error.kind()))?;
        Ok(Self { base, matcher, depth, closed, hidden: cx.hidden.now() })
    }

    fn run(&self, halt: &AtomicBool) -> (Vec<PathBuf>, usize) {
        let all = Mutex::new(Newest::new(LIMIT));
        let (closed, hidden) = (self.closed.clone(), self.hidden.clone());
        let mut walk = WalkBuilder::new(&self.base);
        walk.standard_filters(false)
            .current_dir(&self.base)
            .max_depth(self.depth)
            // Only folders are closed; asking every file for its name takes its path apart.
            .filter_entry(move |entry| {
                let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let is_closed = folder && closed.iter().any(|name| entry.file_name() == *name);
                !is_closed && !hidden.as_ref().is_some_and(|hides| hides(entry.path()))
            });
        walk.build_parallel().run(|| {
            let mut worker = Worker { plan: self, halt, found: Newest::new(LIMIT), all: &all, folder: None };
            Box::new(move |entry| entry.map_or(WalkState::Continue, |entry| worker.visit(&entry)))
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner).finish()
    }
}

/// One thread's part of the walk.
struct Worker<'a> {
    plan: &'a Plan,
    halt: &'a AtomicBool,
    found: Newest,
    all: &'a Mutex<Newest>,
    /// The folder of the last hit, opened.
    folder: Option<(Vec<u8>, OwnedFd)>,
}

impl Worker<'_> {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        if self.halt.load(Ordering::Relaxed) {
            return WalkState::Quit;
        }
        let path = entry.path();
        let folder = entry.file_type().is_none_or(|kind| kind.is_dir());
        if !folder
            && self.plan.matches(path)
            && let Some(modified) = self.modified(path)
        {
            self.found.push(modified, path);
        }
        WalkState::Continue
    }
}

impl Worker<'_> {
    /// When a file was last changed; `None` if it is none. Follows a symbolic link: what counts is the file behind it.
    ///
    /// Files come folder by folder, so the folder is opened once and its files looked up in it: finding the way from
    /// the root again for each of them costs more than looking at it.
    fn modified(&mut self, path: &Path) -> Option<SystemTime> {
        let bytes = path.as_os_str().as_bytes();
        let (folder, name) = bytes.split_at(bytes.iter().rposition(|byte| *byte == b'/')?);
        if self.folder.as_ref().is_none_or(|(open, _)| open != folder) {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let place = if folder.is_empty() { b"/" } else { folder };
            let descriptor = rustix::fs::open(OsStr::from_bytes(place), flags, Mode::empty()).ok()?;
            self.folder = Some((folder.to_owned(), descriptor));
        }
        let (_, descriptor) = self.folder.as_ref()?;
        let stat = rustix::fs::statat(descriptor, OsStr::from_bytes(&name[1..]), AtFlags::empty()).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let seconds = u64::try_from(stat.st_mtime).unwrap_or_default();
        let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
        Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos))
    }
}

impl Plan {
    fn matches(&self, path: &Path) -> bool {
        below(path, &self.base).is_some_and(|below| self.matcher.is_match(below))
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let found = std::mem::replace(&mut self.found, Newest::new(0));
        self.all.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
    }
}

/// A pattern as a folder without magic and the pattern below it.
fn split(pattern: &str) -> (String, String) {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if !pattern.contains('/') {
        return (String::new(), format!("**/{pattern}"));
    }
    // A pattern that ends in a slash means what is in the folder.
    let pattern = if pattern.ends_with('/') { format!("{pattern}**") } else { pattern.to_owned() };
    let magic = pattern.find(MAGIC).unwrap_or(pattern.len());
    let slash = pattern[..magic].rfind('/').map_or(0, |slash| slash + 1);
    let (folder, rest) = pattern.split_at(slash);
    (folder.to_owned(), rest.to_owned())
}

#[cfg(test)]
mod tests;
