//! Which folders somebody trusts: the record in `.claude.json`, shared with other tools.
//!
//! Knows where the record lies and how to change one word of it. Refuses to know what trust makes count; and never
//! writes a file that it cannot read.

mod record;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::diagnostic::{Diagnostic, Rule};
use posse_core::settings::FolderTrust;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::world::Env;

pub use record::{TrustError, set};

/// Other tools keep histories in this file; it can be large, but not without end.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What is known about trust in one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The folder: the top of the repository, or the working directory.
    pub folder: PathBuf,
    /// Whether somebody trusts it.
    pub trusted: bool,
    /// The file that says so, or would.
    pub by: Option<PathBuf>,
}

impl Trust {
    /// Looks a folder up. A record that cannot be read trusts nobody.
    pub fn find(folder: &Path, env: &Env) -> (Self, Option<Diagnostic>) {
        let by = file(env);
        let (folders, problem) = by.as_deref().map(folders).unwrap_or_default();
        let trusted = names(folder).iter().any(|name| folders.get(name) == Some(&true));
        (Self { folder: folder.to_owned(), trusted, by }, problem)
    }

    /// The same, as settings are merged by it.
    pub fn of_folder(&self) -> FolderTrust {
        if self.trusted { FolderTrust::Trusted } else { FolderTrust::Untrusted }
    }
}

/// Where the record lies: `~/.claude.json`, or inside `CLAUDE_CONFIG_DIR`.
pub fn file(env: &Env) -> Option<PathBuf> {
    match env.get("CLAUDE_CONFIG_DIR") {
        Some(folder) => Some(Path::new(folder).join(".claude.json")),
        None => env.home().map(|home| home.join(".claude.json")),
    }
}

/// Every folder the record speaks of, and whether it is trusted.
pub fn folders(file: &Path) -> (BTreeMap<String, bool>, Option<Diagnostic>) {
    let problem = |rule, text: String| {
        let file: Arc<Path> = file.into();
        let hint = "until it is mended, no folder counts as trusted";
        (BTreeMap::new(), Some(Diagnostic::of_file(rule, &file, None, text).hint(hint)))
    };
    let text = match read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Default::default(),
        Err(error) => return problem(Rule::UnreadableFile, format!("cannot be read: {error}")),
    };
    let content = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if content.trim().is_empty() {
        return Default::default();
    }
    match serde_json::from_str::<Record>(content) {
        Ok(record) => {
            (record.projects.into_iter().map(|(folder, entry)| (folder, entry.accepted)).collect(), None)
        }
        Err(error) => problem(Rule::JsonSyntax, format!("cannot be understood: {error}")),
    }
}

/// Deserialized from an object only: what serde derives would take a list for one.
struct Record {
    projects: BTreeMap<String, Entry>,
}

struct Entry {
    accepted: bool,
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let projects = deserializer.deserialize_map(Member::<BTreeMap<String, Entry>>::of("projects"))?;
        Ok(Self { projects: projects.unwrap_or_default() })
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said: Option<serde_json::Value> =
            deserializer.deserialize_map(Member::of("hasTrustDialogAccepted"))?;
        Ok(Self { accepted: said == Some(serde_json::Value::Bool(true)) })
    }
}

/// One member of an object; the others are passed over without being kept.
struct Member<T> {
    name: &'static str,
    value: PhantomData<T>,
}

impl<T> Member<T> {
    fn of(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Member<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == self.name {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A folder goes by the name it was entered with and by its real one.
fn names(folder: &Path) -> Vec<String> {
    let real = folder.canonicalize().ok();
    let text = |path: &Path| path.to_str().map(str::to_owned);
    [Some(folder.to_owned()), real].into_iter().flatten().filter_map(|path| text(&path)).collect()
}

fn read(file: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(file)?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(file)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other("the file is too large"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
