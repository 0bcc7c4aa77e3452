//! The conversations there are.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::{SessionError, paths};

/// A conversation on disk.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// When it was last written to.
    pub modified: SystemTime,
    /// How it begins, or what it was called.
    pub title: String,
    /// How large it is.
    pub bytes: u64,
}

/// The conversations of a project, newest first.
pub fn list(config: &Path, cwd: &Path) -> Vec<Found> {
    let folder = paths::project_folder(config, cwd);
    let entries =
        std::fs::read_dir(&folder).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let mut found: Vec<Found> = entries.into_iter().filter_map(|entry| look(&entry.path())).collect();
    found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.id.cmp(&b.id)));
    found
}

fn look(path: &Path) -> Option<Found> {
    if path.extension()? != "jsonl" {
        return None;
    }
    let metadata = path.metadata().ok()?;
    let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut first, mut custom) = (None, None);
    for entry in entries {
        if let Some(title) = entry.get("customTitle").and_then(Value::as_str) {
            custom = Some(title.to_owned());
        }
        if first.is_none() {
            first = prompt(&entry);
        }
    }
    Some(Found {
        id: path.file_stem()?.to_string_lossy().into_owned(),
        path: path.to_owned(),
        modified: metadata.modified().ok()?,
        title: custom.or(first)?,
        bytes: metadata.len(),
    })
}

/// The text of a real prompt: not a tool's answer, not something posse said by itself.
fn prompt(entry: &Value) -> Option<String> {
    let hidden = |key: &str| entry.get(key).and_then(Value::as_bool) == Some(true);
    if entry.get("type")?.as_str()? != "user"
        || hidden("isMeta")
        || hidden("isSidechain")
        || hidden("isCompactSummary")
    {
        return None;
    }
    let content = entry.pointer("/message/content")?;
    let text = match content {
        Value::String(text) => text.as_str(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.rev().find(|text| !text.starts_with("<system-reminder>"))?
        }
        _ => return None,
    };
    Some(text.lines().next().unwrap_or_default().to_owned())
}

/// The file of a session, by id or by title.
pub fn find(config: &Path, cwd: &Path, wanted: &str) -> Result<Found, SessionError> {
    let mut all = list(config, cwd);
    let at = all
        .iter()
        .position(|found| found.id == wanted)
        .or_else(|| all.iter().position(|found| found.title == wanted));
    at.map(|at| all.swap_remove(at)).ok_or_else(|| SessionError::NotFound(wanted.to_owned()))
}
