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

/// The files of a project's conversations, newest first. Nothing is read: transcripts can be large, and many.
fn files(config: &Path, cwd: &Path) -> Vec<PathBuf> {
    let mut files = aged(&paths::project_folder(config, cwd));
    newest_first(&mut files);
    files.into_iter().map(|(_, path)| path).collect()
}

/// The transcripts in a folder, with when they were last written to.
fn aged(folder: &Path) -> Vec<(SystemTime, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let aged = entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    aged.filter(|(_, path)| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

fn newest_first(files: &mut [(SystemTime, PathBuf)]) {
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
}

/// The conversations of a project, newest first.
pub fn list(config: &Path, cwd: &Path) -> Vec<Found> {
    files(config, cwd).iter().filter_map(|path| look(path)).collect()
}

/// Some of the conversations there are, each with the folder it was held in.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The conversations.
    pub sessions: Vec<(PathBuf, Found)>,
    /// Whether there are more behind them.
    pub more: bool,
}

/// A part of the conversations of a folder, or of all folders, newest first. Only that part is read.
pub fn page(config: &Path, cwd: Option<&Path>, from: usize, most: usize) -> Page {
    let folders = match cwd {
        Some(cwd) => vec![paths::project_folder(config, cwd)],
        None => {
            let folders = std::fs::read_dir(config.join("projects")).into_iter().flatten().flatten();
            folders.map(|entry| entry.path()).collect()
        }
    };
    let mut files: Vec<(SystemTime, PathBuf)> = folders.iter().flat_map(|folder| aged(folder)).collect();
    newest_first(&mut files);
    let more = files.len() > from.saturating_add(most);
    let part = files.into_iter().skip(from).take(most);
    let found = part.filter_map(|(_, path)| {
        let found = look(&path)?;
        Some((cwd.map(Path::to_owned).or_else(|| held_in(&path))?, found))
    });
    Page { sessions: found.collect(), more }
}

/// The folder a conversation was held in, as its first entry that knows says.
fn held_in(path: &Path) -> Option<PathBuf> {
    use std::io::BufRead;
    let lines = std::io::BufReader::new(std::fs::File::open(path).ok()?).lines();
    let entries = lines.map_while(Result::ok).filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    entries.filter_map(|entry| Some(PathBuf::from(entry.get("cwd")?.as_str()?))).next()
}

/// The last conversation of a project; the others are not read for it.
pub fn newest(config: &Path, cwd: &Path) -> Option<Found> {
    files(config, cwd).iter().find_map(|path| look(path))
}

fn look(path: &Path) -> Option<Found> {
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

/// A session by id, or else by title; only a title makes it read the others.
pub fn find(config: &Path, cwd: &Path, wanted: &str) -> Result<Found, SessionError> {
    let files = files(config, cwd);
    let named = files.iter().find(|path| path.file_stem().is_some_and(|stem| stem == wanted));
    let titled = || files.iter().filter_map(|path| look(path)).find(|found| found.title == wanted);
    named.and_then(|path| look(path)).or_else(titled).ok_or_else(|| SessionError::NotFound(wanted.to_owned()))
}
