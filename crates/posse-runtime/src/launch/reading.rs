//! What a host reads through a session: files, the names of files, the output of tasks.
//!
//! Everything goes by the rules that the session's own tools go by, and nobody is asked.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ignore::WalkBuilder;
use posse_core::hooks::occasion::DirectorySource;
use posse_core::hooks::{HookEvent, Occasion};
use posse_core::message::ToolCall;
use posse_core::permission::{Destination, Update};
use serde_json::json;

use super::Reins;
use crate::tool::{Filter, TaskKind};

/// A line to a host may not be longer than a megabyte, and every character of it may take six.
const MOST_READ: u64 = 128 * 1024;
/// The same for bytes that are written as four characters for three.
const MOST_BYTES: u64 = 600 * 1024;
/// How much of a task's output is shown.
const TAIL: u64 = 8 * 1024;
/// How many names are looked at.
const MOST_NAMES: usize = 20_000;

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    /// What it says, as text or in base64.
    pub contents: String,
    /// Where it is.
    pub path: PathBuf,
    /// Whether there is more of it.
    pub truncated: bool,
    /// Whether it is not text through and through; nothing for base64, which is exact.
    pub lossy: Option<bool>,
}

/// The end of what a task has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOutput {
    /// The end.
    pub text: String,
    /// How long the whole is.
    pub bytes: u64,
    /// Whether there is something before it.
    pub truncated: bool,
}

impl Reins {
    /// Reads a file, if the Read tool could without asking anybody.
    pub async fn read_file(&self, path: &str, most: Option<u64>, base64: bool) -> Result<FileRead, String> {
        let full = self.cx.resolve(path);
        let call = ToolCall {
            id: "read_file".into(),
            name: "Read".into(),
            input: json!({ "file_path": full.display().to_string() }),
        };
        self.cx.permit.ask(&call, &self.cx.cwd.get(), &[]).await?;
        let limit = if base64 { MOST_BYTES } else { MOST_READ };
        let most = most.unwrap_or(limit).min(limit);
        let failed = |error: std::io::Error| format!("{} cannot be read: {error}", full.display());
        let meta = full.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Err(format!("{} is not a file", full.display()));
        }
        let mut bytes = Vec::new();
        std::fs::File::open(&full).map_err(failed)?.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
        let truncated = bytes.len() as u64 > most;
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let (contents, lossy) = if base64 {
            (STANDARD.encode(&bytes), None)
        } else {
            let text = String::from_utf8_lossy(&bytes);
            let lossy = matches!(text, std::borrow::Cow::Owned(_));
            (text.into_owned(), Some(lossy))
        };
        Ok(FileRead { contents, path: full, truncated, lossy })
    }

    /// Takes it that the model knows a file as it was at a time, in milliseconds. One that has changed since it does not.
    pub fn seed_read(&self, path: &str, mtime_ms: f64) -> bool {
        let full = self.cx.resolve(path);
        let modified = full.metadata().ok().and_then(|meta| meta.modified().ok());
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        #[allow(clippy::cast_precision_loss)] // Milliseconds since 1970 are far below 2^52.
        let is_same = since.is_some_and(|since| since.as_millis() as f64 <= mtime_ms.floor());
        if is_same {
            self.cx.files.saw(&full);
        }
        is_same
    }

    /// The end of what a command in the background has printed; nothing if there is no such task.
    pub fn task_output(&self, id: &str) -> Option<TaskOutput> {
        let id = self.tasks.id_of(id)?;
        let task = self.tasks.get(&id).filter(|task| task.kind == TaskKind::Shell)?;
        let empty = TaskOutput { text: String::new(), bytes: 0, truncated: false };
        let Ok(mut file) = std::fs::File::open(&task.output) else { return Some(empty) };
        let bytes = file.metadata().map(|meta| meta.len()).unwrap_or_default();
        let mut tail = Vec::new();
        // What cannot be read has nothing to show.
        let _ = file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL)));
        let _ = file.take(TAIL).read_to_end(&mut tail);
        let truncated = bytes > tail.len() as u64;
        Some(TaskOutput { text: String::from_utf8_lossy(&tail).into_owned(), bytes, truncated })
    }

    /// The names of files and folders below the working directory, as far as they are no secret.
    pub fn file_names(&self) -> (PathBuf, Vec<String>) {
        let cwd = self.cx.cwd.get();
        let names = names(&cwd, self.cx.hidden.now());
        (cwd, names)
    }

    /// Where the session works now.
    pub fn cwd(&self) -> PathBuf {
        self.cx.cwd.get()
    }

    /// Works in another folder from now on; an error is why not.
    pub async fn set_cwd(&self, path: &str) -> Result<PathBuf, String> {
        let full = self.cx.resolve(path);
        let real = full.canonicalize().map_err(|error| format!("{}: {error}", full.display()))?;
        if !real.is_dir() {
            return Err(format!("{} is not a folder", full.display()));
        }
        if !self.authority.roots().iter().any(|root| real.starts_with(root)) {
            return Err(format!("{} is not below a working directory of the session", full.display()));
        }
        let before = self.cx.cwd.get();
        self.cx.cwd.set(real.clone());
        if before != real {
            self.run_hooks.moved(&real);
            let occasion = Occasion::CwdChanged {
                old_cwd: before.display().to_string(),
                new_cwd: real.display().to_string(),
            };
            self.fire(HookEvent::CwdChanged, &occasion).await;
        }
        Ok(real)
    }

    /// Adds a folder below one that belongs to the session; an error is why not.
    pub async fn add_root(&self, path: &str) -> Result<PathBuf, String> {
        let full = self.cx.resolve(path);
        let real = full.canonicalize().map_err(|error| format!("{}: {error}", full.display()))?;
        let roots = self.authority.roots();
        if roots.contains(&real) {
            return Err(format!("{} is already a working directory", real.display()));
        }
        if !real.is_dir() || !roots.iter().any(|root| real.starts_with(root)) {
            return Err(format!("{} is not a folder below a working directory", real.display()));
        }
        let update = Update::AddDirectories {
            directories: vec![real.display().to_string()],
            destination: Destination::Session,
        };
        let applied = self.authority.apply(&update, &self.cx.cwd.get());
        for folder in applied.added {
            let directory = folder.display().to_string();
            let occasion = Occasion::DirectoryAdded { directory, source: DirectorySource::RegisterRepoRoot };
            self.fire(HookEvent::DirectoryAdded, &occasion).await;
        }
        Ok(real)
    }

    async fn fire(&self, event: HookEvent, occasion: &Occasion) {
        if self.run_hooks.hears(event) {
            let merged = self.run_hooks.fire(occasion, &self.cx.cwd.get()).await;
            let texts = merged.system_messages.into_iter().chain(merged.errors);
            texts.for_each(|text| self.note(text));
        }
    }
}

fn names(root: &Path, hidden: Option<Filter>) -> Vec<String> {
    let walk = WalkBuilder::new(root).hidden(false).require_git(false).build();
    let entries = walk.filter_map(Result::ok).filter(|entry| entry.depth() > 0);
    let shown = entries.filter(|entry| {
        let is_git = entry.path().components().any(|part| part.as_os_str() == ".git");
        !is_git && hidden.as_ref().is_none_or(|hides| !hides(entry.path()))
    });
    let name = |entry: ignore::DirEntry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path()).display().to_string();
        if is_dir { format!("{path}/") } else { path }
    };
    shown.take(MOST_NAMES).map(name).collect()
}
