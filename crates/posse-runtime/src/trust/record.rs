//! Changing one word of a file that belongs to others: every other byte stays as it is.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use posse_core::json;
use posse_core::node::{Node, Value};
use posse_core::text::Span;

use super::{names, read};

const KEY: &str = "hasTrustDialogAccepted";

/// Why the record was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no place for it.
    #[error("there is no home folder to keep the record in")]
    NoHome,
    /// It is not what it should be, and overwriting it could cost somebody something.
    #[error("{} cannot be understood, so it is left alone: {why}", file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The path cannot be written as JSON text.
    #[error("{} is not a name that can be recorded: it is not UTF-8", .0.display())]
    Name(PathBuf),
    /// The disk.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Records whether a folder is trusted. One writer at a time; readers see the old file or the new one.
pub fn set(file: Option<&Path>, folder: &Path, trusted: bool) -> Result<(), TrustError> {
    let file = file.ok_or(TrustError::NoHome)?;
    let failed = |source| TrustError::Io { file: file.to_owned(), source };
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    // A link is followed, or the file it leads to would be left behind.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let lock = File::create(real.with_extension("json.posse-lock")).map_err(failed)?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    let text = match read(&real) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let names = names(folder);
    let name = names.last().ok_or_else(|| TrustError::Name(folder.to_owned()))?;
    let broken = |why: String| TrustError::Broken { file: file.to_owned(), why };
    let mut changed = changed(&text, name, trusted).map_err(broken)?;
    if !trusted {
        // Taken back under every name it was given.
        for other in &names[..names.len() - 1] {
            if said(&changed, other) == Some(true) {
                changed = self::changed(&changed, other, false).map_err(broken)?;
            }
        }
    }
    write(&real, &changed).map_err(failed)
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    let parent = file.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(parent)?;
    temporary.write_all(text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(file) {
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

fn said(text: &str, folder: &str) -> Option<bool> {
    json::parse(text).0?.get("projects")?.get(folder)?.get(KEY)?.as_bool()
}

/// The text with one word changed; or why that cannot be done without guessing.
pub(super) fn changed(text: &str, folder: &str, trusted: bool) -> Result<String, String> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let name = quoted(folder);
        return Ok(format!(
            "{{\n  \"projects\": {{\n    {name}: {{\n      \"{KEY}\": {trusted}\n    }}\n  }}\n}}\n"
        ));
    }
    let (root, problems) = json::parse(text);
    let Some(root) = root else {
        return Err(problems.into_iter().next().map_or_else(|| "it is empty".into(), |problem| problem.text));
    };
    let (span, insertion) = edit(&root, folder, trusted, text.contains('\n'))?;
    let mut changed = text.to_owned();
    changed.replace_range(span.range(), &insertion);
    // Whoever edits text should read it again before anybody else does.
    match said(&changed, folder) {
        Some(now) if now == trusted => Ok(changed),
        _ => Err("the change could not be made".into()),
    }
}

/// What to put where.
fn edit(root: &Node, folder: &str, trusted: bool, lines: bool) -> Result<(Span, String), String> {
    let map = |node: &Node, what: &str| match &node.value {
        Value::Map(_) => Ok(()),
        _ => Err(format!("{what} is {}, not an object", node.kind())),
    };
    map(root, "the file")?;
    let word = format!("\"{KEY}\": {trusted}");
    let Some(projects) = root.get("projects") else {
        return Ok(append(root, &format!("\"projects\": {{{}: {{{word}}}}}", quoted(folder)), 1, lines));
    };
    map(projects, "`projects`")?;
    let Some(project) = projects.get(folder) else {
        return Ok(append(projects, &format!("{}: {{{word}}}", quoted(folder)), 2, lines));
    };
    map(project, "the folder's entry")?;
    match project.get(KEY) {
        Some(value) => Ok((value.span, trusted.to_string())),
        None => Ok(append(project, &word, 3, lines)),
    }
}

/// A member behind the last one of an object.
fn append(object: &Node, member: &str, depth: usize, lines: bool) -> (Span, String) {
    let indent = |depth: usize| if lines { format!("\n{}", "  ".repeat(depth)) } else { String::new() };
    match object.as_map().and_then(<[_]>::last) {
        Some(last) => {
            let end = object.as_map().unwrap_or_default().iter().map(|entry| entry.node.span.end).max();
            let at = end.unwrap_or(last.node.span.end) as usize;
            (Span::point(at), format!(",{}{member}", indent(depth)))
        }
        None => (object.span, format!("{{{}{member}{}}}", indent(depth), indent(depth - 1))),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
