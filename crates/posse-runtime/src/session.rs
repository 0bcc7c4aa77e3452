//! Conversations on disk: append-only, one line per thing said, in the place and format the SDKs' own readers expect.
//!
//! Each fact is written before it is shown. A torn last line (a crash while writing) is passed over when reading, and a
//! tool call whose answer was never written is answered as interrupted, so every transcript can be continued.

pub mod attached;
mod entries;
mod list;
mod meta;
mod paths;
mod read;
mod tree;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::event::Fact;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::world::World;

pub use entries::{EntryWriter, VERSION, assistant_message, tool_use_result, trigger_word};
pub use list::{Found, Page, find, list, newest, page};
pub use meta::{AgentMeta, SpentBefore};
pub use paths::{project_folder, project_key, session_file};
pub use read::{History, before_answers, load, whole};
pub use tree::{Node, Status, Work, is_open, tree};

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file cannot be read or written.
    #[error("cannot use the session file {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// There is no such session.
    #[error("No conversation found with session ID: {0}")]
    NotFound(String),
    /// There is nothing to continue here.
    #[error("No conversation found to continue")]
    Nothing,
    /// Another process is at work in it.
    #[error("Session {0} is in use by another process")]
    Busy(String),
    /// A new session would overwrite an old one.
    #[error("Session ID {0} is already in use")]
    InUse(String),
    /// What is asked for would lose more than whoever asks knows of.
    #[error("{0}")]
    Rejected(String),
}

/// The transcript of a run, as it grows.
#[derive(Debug)]
pub struct Transcript {
    file: Option<File>,
    path: PathBuf,
    entries: EntryWriter,
    mirror: Option<UnboundedSender<Mirrored>>,
}

/// Lines that were written to a transcript, for whoever keeps a copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirrored {
    /// The transcript.
    pub file: PathBuf,
    /// The lines.
    pub entries: Vec<Value>,
}

/// What a fact became: its entries' ids, in order. Empty for facts that are not part of a conversation.
pub type EntryIds = Vec<Arc<str>>;

impl Transcript {
    /// Opens a transcript for appending. Without a path nothing is stored, but ids are handed out all the same.
    pub fn open(path: Option<&Path>, entries: EntryWriter) -> Result<Self, SessionError> {
        let Some(path) = path else {
            return Ok(Self { file: None, path: PathBuf::new(), entries, mirror: None });
        };
        let failed = |source| SessionError::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let mut file =
            OpenOptions::new().append(true).create(true).read(true).mode(0o600).open(path).map_err(failed)?;
        end_torn_line(&mut file).map_err(failed)?;
        // Tells others that somebody is at work here, for as long as this process lives. It keeps nobody out, and a file
        // system without locks only makes a running agent look like one that did not finish.
        let _ = file.try_lock_shared();
        Ok(Self { file: Some(file), path: path.to_owned(), entries, mirror: None })
    }

    /// Hands every line that is written to somebody else, too.
    #[must_use]
    pub fn mirrored(mut self, mirror: Option<UnboundedSender<Mirrored>>) -> Self {
        self.mirror = mirror;
        self
    }

    /// Where it lies; empty if it is not stored.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a fact; only then may it be shown.
    pub fn record(&mut self, fact: &Fact, world: &World) -> Result<EntryIds, SessionError> {
        let (entries, ids) = self.entries.entries(fact, world);
        self.append(&entries)?;
        Ok(ids)
    }

    /// The next thing that is said gets this id.
    pub fn name_next(&mut self, id: &str) {
        self.entries.name_next(id);
    }

    /// These files come with the next thing that is said.
    pub fn attach_next(&mut self, attachments: Vec<Value>) {
        self.entries.attach_next(attachments);
    }

    /// The blocks of the next reply get these ids.
    pub fn name_next_blocks(&mut self, ids: EntryIds) {
        self.entries.name_next_blocks(ids);
    }

    /// Writes lines that are not part of the conversation: titles, the last prompt.
    pub fn append(&mut self, entries: &[Value]) -> Result<(), SessionError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if entries.is_empty() {
            return Ok(());
        }
        // One write per fact: a crash tears at most the last line.
        let mut bytes = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut bytes, entry)
                .map_err(|error| SessionError::Io { path: self.path.clone(), source: error.into() })?;
            bytes.push(b'\n');
        }
        file.write_all(&bytes).map_err(|source| SessionError::Io { path: self.path.clone(), source })?;
        if let Some(mirror) = &self.mirror {
            // A copy that nobody keeps is none.
            let _ = mirror.send(Mirrored { file: self.path.clone(), entries: entries.to_vec() });
        }
        Ok(())
    }
}

/// Writes one line that is no part of the conversation, such as a title, beside whoever else writes: in one piece, at
/// the end.
pub fn append_aside(
    path: &Path,
    entry: &Value,
    mirror: Option<&UnboundedSender<Mirrored>>,
) -> Result<(), SessionError> {
    let failed = |source| SessionError::Io { path: path.to_owned(), source };
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(format!("{entry}\n").as_bytes()).map_err(failed)?;
    if let Some(mirror) = mirror {
        // A copy that nobody keeps is none.
        let _ = mirror.send(Mirrored { file: path.to_owned(), entries: vec![entry.clone()] });
    }
    Ok(())
}

/// A crash may have left half a line: what is appended must not become its end.
fn end_torn_line(file: &mut File) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0u8];
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
