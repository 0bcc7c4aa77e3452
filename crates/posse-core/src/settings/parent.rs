//! Settings that the program which started posse lays down as if it were the administrator: only what takes away.
//!
//! Knows which keys can only narrow what a session may do. Refuses to know whether such settings are wanted at all.

use serde_json::{Map, Value};

/// Keys that only take away, whatever they say.
const NARROWING: [&str; 20] = [
    "permissions.deny",
    "permissions.ask",
    "permissions.disableBypassPermissionsMode",
    "permissions.disableAutoMode",
    "disableAutoMode",
    "allowManagedPermissionRulesOnly",
    "allowManagedHooksOnly",
    "allowManagedMcpServersOnly",
    "allowedMcpServers",
    "deniedMcpServers",
    "availableModels",
    "strictKnownMarketplaces",
    "blockedMarketplaces",
    "strictPluginOnlyCustomization",
    "disableSideloadFlags",
    "disableSkillShellExecution",
    "sandbox.network.allowManagedDomainsOnly",
    "sandbox.network.deniedDomains",
    "sandbox.filesystem.allowManagedReadPathsOnly",
    "budget",
];

/// More of them; these say what is refused on disk.
const DENIED_PLACES: [&str; 2] = ["sandbox.filesystem.denyRead", "sandbox.filesystem.denyWrite"];

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
        let leads_on = NARROWING.iter().chain(&DENIED_PLACES).any(|known| is_below(known, &key));
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
        // These lists add up: one with anything in it would let more in.
        "allowedHttpHookUrls" | "httpHookAllowedEnvVars" => {
            value.as_array().filter(|list| list.is_empty()).and_then(|_| as_it_is())
        }
        "sandbox.enabled" | "sandbox.failIfUnavailable" => value.as_bool()?.then(as_it_is)?,
        "sandbox.allowUnsandboxedCommands" => (!value.as_bool()?).then(as_it_is)?,
        _ if NARROWING.contains(&key) || DENIED_PLACES.contains(&key) => as_it_is(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
