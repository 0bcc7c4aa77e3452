//! Writing a change of permissions into a settings file, which may hold anything else.

use std::io::Write;
use std::path::Path;

use posse_core::permission::{Behavior, RuleText, Update};
use serde_json::{Map, Value, json};

/// Writes a change; the text says why it could not be.
pub(super) fn save(file: &Path, update: &Update) -> Result<(), String> {
    let mut root = read(file).map_err(|why| format!("{why}; the change holds for this session"))?;
    change(&mut root, update);
    write(file, &Value::Object(root)).map_err(|error| format!("{} was not changed: {error}", file.display()))
}

/// Merges keys into a settings file: nothing (`null`) takes one out. What else the file holds stays.
pub(super) fn merge(file: &Path, patch: &Map<String, Value>) -> Result<(), String> {
    let mut root = read(file)?;
    overlay(&mut root, patch);
    write(file, &Value::Object(root)).map_err(|error| format!("{} was not changed: {error}", file.display()))
}

/// Key by key, objects inside of objects likewise.
fn overlay(root: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match (root.get_mut(key), value) {
            (_, Value::Null) => {
                root.shift_remove(key);
            }
            (Some(Value::Object(inner)), Value::Object(patch)) => overlay(inner, patch),
            (_, value) => {
                root.insert(key.clone(), value.clone());
            }
        }
    }
}

fn read(file: &Path) -> Result<Map<String, Value>, String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(format!("{} cannot be read: {error}", file.display())),
    };
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    // A file with comments or mistakes is a person's work; rewriting it would lose them.
    match serde_json::from_str(&text) {
        Ok(Value::Object(root)) => Ok(root),
        Ok(_) | Err(_) => Err(format!("{} is not plain JSON and was left as it is", file.display())),
    }
}

fn entry<'m>(map: &'m mut Map<String, Value>, key: &str, empty: Value) -> &'m mut Value {
    let slot = map.entry(key).or_insert_with(|| empty.clone());
    // A value of another kind means nothing to anybody.
    if std::mem::discriminant(slot) != std::mem::discriminant(&empty) {
        *slot = empty;
    }
    slot
}

fn change(root: &mut Map<String, Value>, update: &Update) {
    let Value::Object(permissions) = entry(root, "permissions", json!({})) else { return };
    let list = |permissions: &mut Map<String, Value>, key: &str, edit: &dyn Fn(&mut Vec<Value>)| {
        if let Value::Array(items) = entry(permissions, key, json!([])) {
            edit(items);
        }
    };
    let add = |texts: Vec<String>| {
        move |items: &mut Vec<Value>| {
            for text in &texts {
                if !items.iter().any(|item| item.as_str() == Some(text)) {
                    items.push(json!(text));
                }
            }
        }
    };
    let remove = |texts: Vec<String>| {
        move |items: &mut Vec<Value>| items.retain(|item| !texts.iter().any(|text| item == text))
    };
    let texts = |rules: &[RuleText]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    let key = |behavior: &Behavior| behavior.word();
    match update {
        Update::AddRules { rules, behavior, .. } => list(permissions, key(behavior), &add(texts(rules))),
        Update::ReplaceRules { rules, behavior, .. } => {
            list(permissions, key(behavior), &|items| {
                *items = texts(rules).into_iter().map(Value::from).collect()
            });
        }
        Update::RemoveRules { rules, behavior, .. } => {
            list(permissions, key(behavior), &remove(texts(rules)))
        }
        Update::SetMode { mode, .. } => {
            permissions.insert("defaultMode".into(), json!(mode.name()));
        }
        Update::AddDirectories { directories, .. } => {
            list(permissions, "additionalDirectories", &add(directories.clone()));
        }
        Update::RemoveDirectories { directories, .. } => {
            list(permissions, "additionalDirectories", &remove(directories.clone()));
        }
    }
}

/// Whole or not at all.
fn write(file: &Path, value: &Value) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // The file behind a link is what is meant, not the link.
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut temp = tempfile::NamedTempFile::new_in(target.parent().unwrap_or(folder))?;
    if let Ok(meta) = std::fs::metadata(&target) {
        temp.as_file().set_permissions(meta.permissions())?;
    }
    temp.write_all(format!("{value:#}\n").as_bytes())?;
    temp.persist(&target)?;
    Ok(())
}
