//! Every setting as it stands: what counts, who said so, and what was said in vain.

use serde_json::Value as Json;

use super::keys::{Key, Merging};
use super::trust::{self, FolderTrust};
use super::walk::{self, Said};
use super::{Layer, Report, SetIn, Settings, SettingsFile};
use crate::node::{self, Node};
use crate::text::Location;
use std::sync::Arc;

/// What became of one file's word on a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It counts.
    Counts,
    /// A stronger layer says otherwise.
    Overridden,
    /// It is not heard; the text says why.
    Ignored(String),
}

/// One file's word on a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it says.
    pub value: Json,
    /// Which file.
    pub by: SetIn,
    /// Where in it.
    pub location: Location,
    /// What became of it.
    pub standing: Standing,
}

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Its key, with `.` leading into objects.
    pub key: String,
    /// Whether posse acts on it.
    pub used: bool,
    /// What holds; nothing if no word on it counts.
    pub value: Option<Json>,
    /// Who said what, weakest first.
    pub parts: Vec<Part>,
}

/// Every setting somebody wrote, in the order of the table.
pub fn view(files: &[SettingsFile], settings: &Settings, trust: FolderTrust) -> Vec<Value> {
    let mut values: Vec<(usize, Merging, Value)> = Vec::new();
    for file in super::weakest_first(files) {
        let Some(root) = &file.root else { continue };
        let mut report = Report::new(&file.text);
        for said in walk::walk(root, file.layer, &mut report) {
            let by = SetIn { layer: file.layer, file: Arc::clone(&file.file) };
            for (key, node) in leaves(said) {
                let standing = standing(said.key, &key, node, &by, settings, trust);
                let location = report.locate(node.span);
                let part = Part { value: json(node), by: by.clone(), location, standing };
                add(&mut values, said.key, key, part);
            }
        }
    }
    values.sort_by(|(a, _, one), (b, _, other)| (a, &one.key).cmp(&(b, &other.key)));
    values.into_iter().map(|(_, merging, value)| settle(merging, value)).collect()
}

/// Objects that merge by name are one setting for each name.
fn leaves<'n>(said: Said<'n>) -> Vec<(String, &'n Node)> {
    let name = said.key.name;
    match (said.key.merging(), said.node.as_map()) {
        (Merging::ByName, Some(entries)) => {
            entries.iter().map(|entry| (format!("{name}.{}", entry.key), &entry.node)).collect()
        }
        _ => vec![(name.to_owned(), said.node)],
    }
}

fn add(values: &mut Vec<(usize, Merging, Value)>, row: &'static Key, key: String, part: Part) {
    match values.iter_mut().find(|(_, _, value)| value.key == key) {
        Some((_, _, value)) => value.parts.push(part),
        None => {
            let place = super::KEYS.iter().position(|one| one.name == row.name).unwrap_or(usize::MAX);
            let merging = match row.merging() {
                // Their leaves are settings of their own.
                Merging::ByName => Merging::Override,
                merging @ (Merging::Override | Merging::AddUp | Merging::Least) => merging,
            };
            values.push((place, merging, Value { key, used: row.used, value: None, parts: vec![part] }));
        }
    }
}

fn standing(
    row: &Key,
    key: &str,
    node: &Node,
    by: &SetIn,
    settings: &Settings,
    trust: FolderTrust,
) -> Standing {
    let only = |lock: &Option<SetIn>| match lock {
        Some(lock) if by.layer != Layer::Managed => {
            Some(Standing::Ignored(format!("only managed ones count: {}", lock.file.display())))
        }
        _ => None,
    };
    let locked = match row.name {
        "permissions.allow" | "permissions.ask" | "permissions.deny" => only(&settings.managed_rules_only),
        "hooks" => only(&settings.managed_hooks_only).or_else(|| {
            let off = settings.hooks_off.as_ref()?;
            let spared = by.layer == Layer::Managed && off.layer != Layer::Managed;
            (!spared).then(|| Standing::Ignored(format!("disableAllHooks is set in {}", off.file.display())))
        }),
        "sandbox.network.allowedDomains" => only(&settings.sandbox.managed_domains_only),
        "sandbox.filesystem.allowRead" => only(&settings.sandbox.managed_read_paths_only),
        "availableModels" | "allowedHttpHookUrls" | "httpHookAllowedEnvVars" => {
            let limits = [&settings.available_models, &settings.hook_urls, &settings.hook_env];
            let at = ["availableModels", "allowedHttpHookUrls", "httpHookAllowedEnvVars"];
            let limit = at.iter().position(|name| *name == row.name).and_then(|at| limits[at].as_ref());
            only(&limit.map(|set| set.by.clone()).filter(|by| by.layer == Layer::Managed))
        }
        _ => None,
    };
    if let Some(locked) = locked {
        return locked;
    }
    let untrusted = trust == FolderTrust::Untrusted && by.layer.is_of_folder();
    let variable = key.strip_prefix("env.").is_some_and(trust::env_needs_trust);
    if untrusted && (variable || trust::needed(row.name, node).is_some()) {
        return Standing::Ignored("the folder is not trusted".into());
    }
    Standing::Counts
}

/// Among words of which only one can count, the last.
fn settle(merging: Merging, mut value: Value) -> Value {
    let counts = |part: &Part| part.standing == Standing::Counts;
    match merging {
        Merging::AddUp => {
            let said: Vec<&Json> =
                value.parts.iter().filter(|part| counts(part)).map(|part| &part.value).collect();
            value.value = add_up(&said);
        }
        Merging::Override | Merging::ByName | Merging::Least => {
            let last = if merging == Merging::Least {
                smallest(&value.parts)
            } else {
                value.parts.iter().rposition(counts)
            };
            for (place, part) in value.parts.iter_mut().enumerate() {
                if counts(part) && Some(place) != last {
                    part.standing = Standing::Overridden;
                }
            }
            value.value = last.map(|place| value.parts[place].value.clone());
        }
    }
    value
}

/// The first part that says the least.
fn smallest(parts: &[Part]) -> Option<usize> {
    let number = |part: &Part| part.value.as_f64().unwrap_or(f64::INFINITY);
    let counting = parts.iter().enumerate().filter(|(_, part)| part.standing == Standing::Counts);
    counting.min_by(|(_, one), (_, other)| number(one).total_cmp(&number(other))).map(|(place, _)| place)
}

/// Lists one behind the other; objects of lists (hooks by event) likewise, name by name.
fn add_up(said: &[&Json]) -> Option<Json> {
    let mut items = Vec::new();
    let mut by_name = serde_json::Map::new();
    for one in said {
        match one {
            Json::Array(more) => items.extend(more.iter().cloned()),
            Json::Object(more) => {
                for (name, value) in more {
                    match (by_name.get_mut(name), value) {
                        (Some(Json::Array(earlier)), Json::Array(later)) => {
                            earlier.extend(later.iter().cloned());
                        }
                        _ => {
                            by_name.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            other => items.push((*other).clone()),
        }
    }
    if said.is_empty() {
        None
    } else if by_name.is_empty() {
        Some(Json::Array(items))
    } else {
        Some(Json::Object(by_name))
    }
}

fn json(node: &Node) -> Json {
    match &node.value {
        node::Value::Null => Json::Null,
        node::Value::Bool(on) => Json::Bool(*on),
        node::Value::Number(number) => serde_json::from_str(number).unwrap_or_else(|_| Json::from(&**number)),
        node::Value::Text(text) => Json::from(&**text),
        node::Value::List(items) => items.iter().map(json).collect(),
        node::Value::Map(entries) => {
            Json::Object(entries.iter().map(|entry| (entry.key.to_string(), json(&entry.node))).collect())
        }
    }
}
