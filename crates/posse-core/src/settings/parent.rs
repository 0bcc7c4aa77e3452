//! Settings that the program which started posse lays down as if it were the administrator: only what takes away.
//!
//! Knows which keys can only narrow what a session may do. Refuses to know whether such settings are wanted at all.

use serde_json::{Map, Value};

/// Keys that only take away, whatever they say.
const NARROWING: [&str; 11] = [
    "permissions.deny",
    "permissions.ask",
    "allowedMcpServers",
    "deniedMcpServers",
    "availableModels",
    "strictKnownMarketplaces",
    "blockedMarketplaces",
    "sandbox.network.deniedDomains",
    "sandbox.filesystem.denyRead",
    "sandbox.filesystem.denyWrite",
    "budget",
];

/// Keys that take away when they are switched on. Switched off, they would undo what the administrator locked.
const SWITCHES: [&str; 13] = [
    "permissions.disableBypassPermissionsMode",
    "permissions.disableAutoMode",
    "disableAutoMode",
    "allowManagedPermissionRulesOnly",
    "allowManagedHooksOnly",
    "allowManagedMcpServersOnly",
    "strictPluginOnlyCustomization",
    "disableSideloadFlags",
    "disableSkillShellExecution",
    "sandbox.enabled",
    "sandbox.failIfUnavailable",
    "sandbox.network.allowManagedDomainsOnly",
    "sandbox.filesystem.allowManagedReadPathsOnly",
];

/// What such settings may say, and the keys that were left out.
pub fn restrictive(given: &Map<String, Value>) -> (Map<String, Value>, Vec<String>) {
    let mut kept = Map::new();
    let mut dropped = Vec::new();
    sift("", given, &mut kept, &mut dropped);
    (kept, dropped)
}

fn sift(above: &str, given: &Map<String, Value>, kept: &mut Map<String, Value>, dropped: &mut Vec<String>) {
    for (name, value) in given {
        let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        if let Some((name, value)) = narrowing(&key, name, value) {
            kept.insert(name, value);
            continue;
        }
        let leads_on = NARROWING.iter().chain(&SWITCHES).any(|known| is_below(known, &key));
        match value {
            Value::Object(inner) if leads_on || key == "sandbox" => {
                let mut below = Map::new();
                sift(&key, inner, &mut below, dropped);
                if !below.is_empty() {
                    kept.insert(name.clone(), Value::Object(below));
                }
            }
            _ => dropped.push(key),
        }
    }
}

fn is_below(known: &str, key: &str) -> bool {
    known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
}

/// What a key and its value come to, if that can only take away.
fn narrowing(key: &str, name: &str, value: &Value) -> Option<(String, Value)> {
    let as_it_is = || Some((name.to_owned(), value.clone()));
    match key {
        // The administrator's own hooks go on, where nobody but the administrator could switch them off.
        "disableAllHooks" => {
            let off = !matches!(value, Value::Bool(false)) && value.as_str() != Some("false");
            off.then(|| ("allowManagedHooksOnly".to_owned(), Value::Bool(true)))
        }
        "sandbox.allowUnsandboxedCommands" => (!value.as_bool()?).then(as_it_is)?,
        _ if NARROWING.contains(&key) => as_it_is(),
        _ if SWITCHES.contains(&key) && is_on(key, value) => as_it_is(),
        _ => None,
    }
}

/// Whether a switch is on, in any of the ways it is written.
fn is_on(key: &str, value: &Value) -> bool {
    match value {
        Value::Bool(on) => *on,
        Value::String(word) => word == "disable" && key.contains("disable"),
        Value::Array(parts) => key == "strictPluginOnlyCustomization" && !parts.is_empty(),
        Value::Null | Value::Number(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests;
