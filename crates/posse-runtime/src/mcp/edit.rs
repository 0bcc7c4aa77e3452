//! Adding and removing a server in a file that may belong to others: every other byte stays as it is.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use posse_core::json;
use posse_core::mcp::McpSource;
use posse_core::node::Node;
use serde_json::Value;

use super::Configured;
use crate::catalog::Catalog;
use crate::trust;
use crate::world::World;

/// Which file a server is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for this project alone.
    Local,
    /// The project's `.mcp.json`.
    Project,
    /// The user's, for all projects.
    User,
}

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// There is no place for it.
    #[error("there is no home folder to keep servers in")]
    NoHome,
    /// It cannot be read.
    #[error("{} cannot be understood, so it is left alone: {why}", file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The disk.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Writes a server down, in place of one of that name. Gives back the file, and whether there was one.
pub fn add(
    scope: Scope,
    name: &str,
    config: &Value,
    catalog: &Catalog,
    world: &World,
) -> Result<(PathBuf, bool), EditError> {
    let there = place(scope, name, catalog, world)?;
    let read: Value = serde_json::from_str(&text_of(&there.0)?).unwrap_or_default();
    let replaced = there.1.iter().try_fold(&read, |node, key| node.get(key)).is_some();
    change(scope, name, Some(config), catalog, world).map(|(file, _)| (file, replaced))
}

/// Takes a server out. Gives back the file, if it held one.
pub fn remove(
    scope: Scope,
    name: &str,
    catalog: &Catalog,
    world: &World,
) -> Result<Option<PathBuf>, EditError> {
    change(scope, name, None, catalog, world).map(|(file, changed)| changed.then_some(file))
}

/// Records the user's yes or no to a server in this project, where other tools look too. A yes to a server that came
/// with the folder counts only while the folder is trusted.
pub fn decide(
    server: &Configured,
    yes: bool,
    catalog: &Catalog,
    world: &World,
) -> Result<PathBuf, EditError> {
    let file = trust::file(&world.env).ok_or(EditError::NoHome)?;
    let folder = catalog.trust.folder.display().to_string();
    let before = text_of(&file)?;
    let broken = |why: String| EditError::Broken { file: file.clone(), why };
    let mut text = before.clone();
    let Configured { name, source, consent, .. } = server;
    let of_folder = *source == McpSource::Project;
    let lists = [
        ("enabledMcpjsonServers", yes && of_folder),
        ("disabledMcpjsonServers", !yes && of_folder),
        ("disabledMcpServers", !yes && !of_folder),
    ];
    for (key, belongs) in lists {
        let path = ["projects", folder.as_str(), key];
        let read: Value = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let found = path.iter().try_fold(&read, |node, key| node.get(key));
        let mut names: Vec<Value> = found.and_then(Value::as_array).cloned().unwrap_or_default();
        if names.iter().any(|one| *one == **name) == belongs {
            continue;
        }
        names.retain(|one| *one != **name);
        if belongs {
            names.push(Value::from(&**name));
        }
        text = changed(&text, &path, Some(&Value::Array(names))).map_err(broken)?;
    }
    if of_folder {
        // What exactly the yes is to: another program under the name takes another yes.
        let given = consent.as_deref().filter(|_| yes).map(Value::from);
        text = changed(&text, &["projects", &folder, "posseMcpConsents", name], given.as_ref())
            .map_err(broken)?;
    }
    if text != before {
        write(&file, &text).map_err(|source| EditError::Io { file: file.clone(), source })?;
    }
    Ok(file)
}

/// What a file holds; one that is not there holds nothing.
fn text_of(file: &Path) -> Result<String, EditError> {
    match std::fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => Ok("{}\n".to_owned()),
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok("{}\n".to_owned()),
        Err(source) => Err(EditError::Io { file: file.to_owned(), source }),
    }
}

/// The file of a scope, and where in it a server stands.
fn place(
    scope: Scope,
    name: &str,
    catalog: &Catalog,
    world: &World,
) -> Result<(PathBuf, Vec<String>), EditError> {
    let own = || trust::file(&world.env).ok_or(EditError::NoHome);
    let path = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    Ok(match scope {
        Scope::Project => (catalog.trust.folder.join(".mcp.json"), path(&["mcpServers", name])),
        Scope::User => (own()?, path(&["mcpServers", name])),
        Scope::Local => {
            let folder = catalog.trust.folder.display().to_string();
            (own()?, path(&["projects", &folder, "mcpServers", name]))
        }
    })
}

fn change(
    scope: Scope,
    name: &str,
    config: Option<&Value>,
    catalog: &Catalog,
    world: &World,
) -> Result<(PathBuf, bool), EditError> {
    let (file, path) = place(scope, name, catalog, world)?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let failed = |source| EditError::Io { file: file.clone(), source };
    let text = text_of(&file)?;
    let after = changed(&text, &path, config).map_err(|why| EditError::Broken { file: file.clone(), why })?;
    let differs = after != text;
    if differs {
        write(&file, &after).map_err(failed)?;
    }
    Ok((file, differs))
}

/// The text with one member set or taken out.
pub(super) fn changed(text: &str, path: &[&str], value: Option<&Value>) -> Result<String, String> {
    let (root, problems) = json::parse(text);
    let root =
        root.ok_or_else(|| problems.first().map_or_else(String::new, |problem| problem.text.clone()))?;
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        if node.as_map().is_none() {
            return Err(format!("where `{key}` belongs there is {}, not an object", node.kind()));
        }
        match node.get(key) {
            Some(next) => node = next,
            None => {
                let Some(value) = value else { return Ok(text.to_owned()) };
                // The objects on the way are made along.
                let wrap = |inner: Value, key: &&str| {
                    Value::Object([((*key).to_owned(), inner)].into_iter().collect())
                };
                let inner = path[depth + 1..].iter().rev().fold(value.clone(), wrap);
                return Ok(append(text, node, key, &inner, depth));
            }
        }
    }
    let mut out = text.to_owned();
    match value {
        Some(value) => out.replace_range(node.span.range(), &pretty(value, path.len())),
        None => {
            let Some((last, way)) = path.split_last() else { return Ok(out) };
            let parent = way.iter().try_fold(&root, |node, key| node.get(key)).unwrap_or(&root);
            out.replace_range(cut(parent, last), "");
        }
    }
    Ok(out)
}

/// The bytes of a member with one of the commas beside it.
fn cut(parent: &Node, key: &str) -> std::ops::Range<usize> {
    let entries = parent.as_map().unwrap_or_default();
    let Some(place) = entries.iter().position(|entry| &*entry.key == key) else { return 0..0 };
    let (start, end) = (entries[place].key_span.start as usize, entries[place].node.span.end as usize);
    match (place.checked_sub(1).map(|before| &entries[before]), entries.get(place + 1)) {
        (_, Some(next)) => start..next.key_span.start as usize,
        (Some(before), None) => before.node.span.end as usize..end,
        (None, None) => start..end,
    }
}

/// A member behind the last one of an object.
fn append(text: &str, object: &Node, key: &str, value: &Value, depth: usize) -> String {
    let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
    let member = format!("{}{}: {}", indent(depth + 1), Value::from(key), pretty(value, depth + 1));
    let mut out = text.to_owned();
    match object.as_map().and_then(<[_]>::last) {
        Some(last) => out.insert_str(last.node.span.end as usize, &format!(",{member}")),
        None => out.replace_range(object.span.range(), &format!("{{{member}{}}}", indent(depth))),
    }
    out
}

fn pretty(value: &Value, depth: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = real.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(&real) {
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    temporary.persist(&real).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests;
