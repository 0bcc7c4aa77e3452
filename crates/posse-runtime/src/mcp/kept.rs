//! Lists of tools that outlive a session, so that the next one can offer a server's tools without starting it.
//!
//! Keyed by what is started or reached, as a digest: configurations hold secrets and file names do not. A list that
//! cannot be read is no list.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use posse_core::mcp::McpConfig;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Facts;
use crate::world::Env;

/// Changes when what is kept does.
const VERSION: u32 = 2;
/// A server's list should be far smaller.
const MAX_FILE: u64 = 32 * 1024 * 1024;

/// Where lists are kept; nowhere if the user has no folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    folder: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    facts: Facts,
}

/// posse's own folder inside the user's.
pub(super) fn own_folder(env: &Env) -> Option<PathBuf> {
    let user = match env.get("CLAUDE_CONFIG_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => env.home()?.join(".claude"),
    };
    Some(user.join("posse"))
}

/// What a person says yes to: the server as it is written, before variables are filled in.
pub(super) fn consent(config: &McpConfig) -> Box<str> {
    let digest = Sha256::digest(config.identity());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// What names a server for good.
pub(super) fn digest(config: &McpConfig, cwd: &Path) -> String {
    let mut hash = Sha256::new();
    hash.update(config.identity());
    // A program that is started elsewhere may be another, or offer other tools.
    if matches!(config.reach, posse_core::mcp::Reach::Stdio { .. }) {
        hash.update([0]);
        hash.update(cwd.as_os_str().as_encoded_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Kept {
    pub(super) fn new(env: &Env) -> Self {
        Self { folder: own_folder(env).map(|folder| folder.join("mcp").join("tools")) }
    }

    /// What was known the last time.
    pub(super) fn load(&self, digest: &str) -> Option<Facts> {
        let path = self.path(digest)?;
        if std::fs::metadata(&path).ok()?.len() > MAX_FILE {
            return None;
        }
        let record: Record = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        (record.version == VERSION).then_some(record.facts)
    }

    /// Keeps what is known now. What goes wrong costs the next session a start, and nothing else.
    pub(super) fn save(&self, digest: &str, facts: &Facts) {
        let Some(path) = self.path(digest) else { return };
        let record = Record { version: VERSION, facts: facts.clone() };
        if let Ok(text) = serde_json::to_vec(&record) {
            let _ = write_private(&path, &text);
        }
    }

    fn path(&self, digest: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{digest}.json")))
    }
}

/// Writes a file that only its owner can read, all of it or nothing.
pub(super) fn write_private(path: &Path, text: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = path.parent().ok_or_else(|| std::io::Error::other("no folder"))?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Temporary files are made for their owner alone.
    let mut file = tempfile::Builder::new().prefix(".posse-").tempfile_in(folder)?;
    file.write_all(text)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
