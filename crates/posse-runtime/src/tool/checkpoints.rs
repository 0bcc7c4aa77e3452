//! Files as they were before each prompt, so that a host can have them back.
//!
//! Knows what tools that write files tell it just before they do; what commands change it never hears of. Kept beside
//! the transcript, so that a session that is taken up again can still be rewound.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

/// Larger files are not kept.
const MOST_KEPT: u64 = 50_000_000;
const INDEX: &str = "index.jsonl";

/// The checkpoints of a session. Copies are the same; the default keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints(Option<Arc<Mutex<Kept>>>);

#[derive(Debug, Default)]
struct Kept {
    folder: PathBuf,
    entries: Vec<Entry>,
}

/// One line of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Entry {
    /// A prompt begins.
    Prompt(String),
    /// A file is about to be written for the first time since.
    File {
        /// Which.
        path: PathBuf,
        /// Its content, as a file of ours; nothing if there was no such file.
        content: Option<String>,
    },
}

/// What going back would do, or did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewound {
    /// Files that are others than before.
    pub files: Vec<PathBuf>,
    /// Lines that came back.
    pub insertions: usize,
    /// Lines that went away.
    pub deletions: usize,
}

/// Why nothing can be had back.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// Nothing is kept in this session.
    #[error("File checkpointing is not enabled for this session.")]
    Off,
    /// No prompt of that id.
    #[error("No file checkpoint found for this message.")]
    Unknown,
    /// A file cannot be put back.
    #[error("{} could not be restored: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl Checkpoints {
    /// Keeps files in a folder, together with what it holds already. A line that cannot be read is passed over.
    pub fn open(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(INDEX)).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Self(Some(Arc::new(Mutex::new(Kept { folder: folder.to_owned(), entries }))))
    }

    /// Whether anything is kept.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    fn lock(&self) -> Option<MutexGuard<'_, Kept>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything from now on comes after this prompt.
    pub fn begin(&self, prompt: &str) {
        if let Some(mut kept) = self.lock() {
            // What cannot be kept cannot be had back, which is said when somebody wants it.
            let _ = kept.add(Entry::Prompt(prompt.to_owned()));
        }
    }

    /// A file is about to be written. Only the first time since a prompt counts.
    pub fn before(&self, path: &Path) {
        if let Some(mut kept) = self.lock() {
            let _ = kept.keep(path);
        }
    }

    /// Puts every file back that was written since a prompt; `dry_run` only says what that would do.
    pub fn rewind(&self, prompt: &str, dry_run: bool) -> Result<Rewound, RewindError> {
        let mut kept = self.lock().ok_or(RewindError::Off)?;
        let then = kept.since(prompt).ok_or(RewindError::Unknown)?;
        let mut rewound = Rewound::default();
        for (path, content) in then {
            let failed = |source| RewindError::Io { path: path.clone(), source };
            let old =
                content.map(|name| std::fs::read(kept.folder.join(name))).transpose().map_err(failed)?;
            let now = std::fs::read(&path).ok();
            if old == now {
                continue;
            }
            count(now.as_deref(), old.as_deref(), &mut rewound);
            if !dry_run {
                // Whoever wants to undo the undoing finds what was there.
                kept.keep(&path).map_err(failed)?;
                put_back(&path, old.as_deref()).map_err(failed)?;
            }
            rewound.files.push(path);
        }
        Ok(rewound)
    }
}

impl Kept {
    fn add(&mut self, entry: Entry) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let mut index =
            std::fs::OpenOptions::new().create(true).append(true).open(self.folder.join(INDEX))?;
        let line = serde_json::to_string(&entry)?;
        index.write_all(format!("{line}\n").as_bytes())?;
        self.entries.push(entry);
        Ok(())
    }

    fn keep(&mut self, path: &Path) -> io::Result<()> {
        let since = self.entries.iter().rposition(|entry| matches!(entry, Entry::Prompt(_)));
        let Some(since) = since else { return Ok(()) };
        let is_same =
            |entry: &Entry| matches!(entry, Entry::File { path: known, .. } if known.as_path() == path);
        if self.entries[since..].iter().any(is_same) {
            return Ok(());
        }
        let content = match path.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.len() <= MOST_KEPT => {
                std::fs::create_dir_all(&self.folder)?;
                let name = format!("{}.file", self.entries.len());
                std::fs::copy(path, self.folder.join(&name))?;
                Some(name)
            }
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.add(Entry::File { path: path.to_owned(), content })
    }

    /// The files as they were at a prompt: of each, what was kept first since then.
    fn since(&self, prompt: &str) -> Option<BTreeMap<PathBuf, Option<String>>> {
        let is_it = |entry: &Entry| matches!(entry, Entry::Prompt(id) if id == prompt);
        let from = self.entries.iter().rposition(is_it)?;
        let mut then = BTreeMap::new();
        for entry in &self.entries[from..] {
            if let Entry::File { path, content } = entry {
                then.entry(path.clone()).or_insert_with(|| content.clone());
            }
        }
        Some(then)
    }
}

fn put_back(path: &Path, content: Option<&[u8]>) -> io::Result<()> {
    match content {
        None => std::fs::remove_file(path),
        Some(content) => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, content)
        }
    }
}

/// Counts the lines that going from one content to the other changes.
fn count(now: Option<&[u8]>, then: Option<&[u8]>, rewound: &mut Rewound) {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let (now, then) = (text(now), text(then));
    for change in TextDiff::from_lines(&now, &then).iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => rewound.insertions += 1,
            ChangeTag::Delete => rewound.deletions += 1,
            ChangeTag::Equal => {}
        }
    }
}

#[cfg(test)]
mod tests;
