use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

use super::super::{FolderTrust, Layer, Settings, SettingsFile, merge};
use super::*;
use crate::mcp;
use crate::permission::Behavior;

#[test]
fn only_what_takes_away_is_kept() {
    let table = [
        (json!({"permissions": {"deny": ["Bash"]}}), json!({"permissions": {"deny": ["Bash"]}}), ""),
        (json!({"permissions": {"allow": ["Bash"]}}), json!({}), "permissions.allow"),
        (
            json!({"permissions": {"allow": ["Bash"], "ask": ["Read"], "defaultMode": "plan"}}),
            json!({"permissions": {"ask": ["Read"]}}),
            "permissions.allow permissions.defaultMode",
        ),
        (json!({"disableAllHooks": "yes"}), json!({"allowManagedHooksOnly": true}), ""),
        (json!({"disableAllHooks": "false"}), json!({}), "disableAllHooks"),
        // A hook that cannot be reached guards nothing.
        (json!({"allowedHttpHookUrls": []}), json!({}), "allowedHttpHookUrls"),
        (json!({"allowedHttpHookUrls": ["*"]}), json!({}), "allowedHttpHookUrls"),
        (
            json!({"sandbox": {"enabled": true, "network": {"allowManagedDomainsOnly": true, "allowedDomains": ["x"]}}}),
            json!({"sandbox": {"enabled": true, "network": {"allowManagedDomainsOnly": true}}}),
            "sandbox.network.allowedDomains",
        ),
        (
            json!({"sandbox": {"enabled": false, "allowUnsandboxedCommands": true}}),
            json!({}),
            "sandbox.enabled sandbox.allowUnsandboxedCommands",
        ),
        (
            json!({"sandbox": {"filesystem": {"denyRead": ["~"]}}}),
            json!({"sandbox": {"filesystem": {"denyRead": ["~"]}}}),
            "",
        ),
        (json!({"budget": {"usd": 1}}), json!({"budget": {"usd": 1}}), ""),
        (json!({"hooks": {}, "env": {}, "model": "opus"}), json!({}), "env hooks model"),
        (json!({"permissions": "all"}), json!({}), "permissions"),
        (
            json!({"allowManagedHooksOnly": false, "disableAutoMode": false}),
            json!({}),
            "allowManagedHooksOnly disableAutoMode",
        ),
        (json!({"disableAutoMode": "disable"}), json!({"disableAutoMode": "disable"}), ""),
        (json!({"strictPluginOnlyCustomization": []}), json!({}), "strictPluginOnlyCustomization"),
        (
            json!({"sandbox": {"network": {"allowManagedDomainsOnly": false}}}),
            json!({}),
            "sandbox.network.allowManagedDomainsOnly",
        ),
    ];
    for (given, kept, dropped) in table {
        let Value::Object(map) = &given else { panic!("{given}") };
        let (found, mut left_out) = restrictive(map);
        left_out.sort_unstable_by_key(|key| dropped.find(key.as_str()).unwrap_or(usize::MAX));
        assert_eq!((Value::Object(found), left_out.join(" ").as_str()), (kept, dropped), "{given}");
    }
}

/// Settings that have to do with limits, as anybody may write them.
fn pieces() -> Vec<Value> {
    vec![
        json!({"permissions": {"deny": ["Bash"]}}),
        json!({"permissions": {"ask": ["Edit"]}}),
        json!({"permissions": {"allow": ["Write", "WebFetch"]}}),
        json!({"permissions": {"disableBypassPermissionsMode": "disable"}}),
        json!({"permissions": {"disableAutoMode": false}}),
        json!({"disableAutoMode": "disable"}),
        json!({"allowManagedPermissionRulesOnly": true}),
        json!({"allowManagedPermissionRulesOnly": false}),
        json!({"allowManagedHooksOnly": true}),
        json!({"allowManagedHooksOnly": false}),
        json!({"disableAllHooks": true}),
        json!({"allowManagedMcpServersOnly": true}),
        json!({"allowManagedMcpServersOnly": false}),
        json!({"allowedMcpServers": [{"serverName": "one"}]}),
        json!({"allowedMcpServers": [{"serverName": "two"}, {"serverName": "three"}]}),
        json!({"deniedMcpServers": [{"serverName": "two"}]}),
        json!({"availableModels": ["opus", "haiku"]}),
        json!({"availableModels": ["Haiku", "sonnet"]}),
        json!({"strictPluginOnlyCustomization": true}),
        json!({"strictPluginOnlyCustomization": false}),
        json!({"strictPluginOnlyCustomization": ["skills"]}),
        json!({"disableSideloadFlags": true}),
        json!({"disableSideloadFlags": false}),
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "guard"}]}]}}),
        json!({"allowedHttpHookUrls": ["https://a/*"]}),
        json!({"allowedHttpHookUrls": []}),
        json!({"sandbox": {"enabled": true}}),
        json!({"sandbox": {"enabled": false, "autoAllowBashIfSandboxed": true}}),
        json!({"sandbox": {"allowUnsandboxedCommands": true}}),
        json!({"sandbox": {"network": {"allowManagedDomainsOnly": true, "allowedDomains": ["a.org"]}}}),
        json!({"sandbox": {"network": {"allowManagedDomainsOnly": false, "deniedDomains": ["b.org"]}}}),
        json!({"sandbox": {"filesystem": {"allowManagedReadPathsOnly": true, "denyRead": ["~"]}}}),
        json!({"sandbox": {"filesystem": {"allowManagedReadPathsOnly": false, "allowRead": ["~/x"]}}}),
        json!({"budget": {"tokens": 5}}),
        json!({"budget": {"tokens": 9, "usd": 2}}),
    ]
}

fn together(pieces: &[Value]) -> Map<String, Value> {
    fn add(into: &mut Map<String, Value>, from: &Map<String, Value>) {
        for (key, value) in from {
            match (into.get_mut(key), value) {
                (Some(Value::Object(into)), Value::Object(from)) => add(into, from),
                _ => drop(into.insert(key.clone(), value.clone())),
            }
        }
    }
    let mut all = Map::new();
    pieces.iter().filter_map(Value::as_object).for_each(|piece| add(&mut all, piece));
    all
}

fn some_settings() -> impl Strategy<Value = Map<String, Value>> {
    subsequence(pieces(), 0..8).prop_shuffle().prop_map(|pieces| together(&pieces))
}

/// What a session may do under settings, each by its name. The more is in it, the more is allowed.
fn allowed(settings: &Settings) -> BTreeSet<String> {
    let mut may = BTreeSet::new();
    let mut add = |can: bool, what: &str| {
        if can {
            may.insert(what.to_owned());
        }
    };
    for rule in ["Bash", "Edit", "Write", "WebFetch"] {
        let says =
            |behavior| settings.rules.iter().any(|known| known.behavior == behavior && &*known.text == rule);
        add(!says(Behavior::Deny), &format!("{rule} undenied"));
        add(!says(Behavior::Ask), &format!("{rule} unasked"));
        add(says(Behavior::Allow), &format!("{rule} allowed"));
    }
    add(settings.bypass_disabled.is_none(), "bypass");
    add(settings.auto_disabled.is_none(), "auto");
    add(settings.managed_rules_only.is_none(), "allow more");
    let hooks_allow = settings.managed_hooks_only.is_none() && settings.managed_leave_only.is_none();
    add(hooks_allow, "allow by hooks");
    add(settings.hooks.is_empty(), "without a guard");
    add(settings.hook_urls.as_ref().is_some_and(|urls| urls.value.is_empty()), "without a guard elsewhere");
    for name in ["one", "two", "three"] {
        let (node, _) = crate::json::parse(r#"{"command": "x"}"#);
        let config = node.and_then(|node| mcp::read_config(&node).ok()).expect("a server");
        add(settings.mcp.policy.judge(name, &config).is_ok(), &format!("server {name}"));
    }
    for model in ["opus", "haiku", "sonnet", "other"] {
        let known = |set: &crate::settings::Set<Vec<Box<str>>>| {
            set.value.iter().any(|one| one.eq_ignore_ascii_case(model))
        };
        add(settings.available_models.as_ref().is_none_or(known), &format!("model {model}"));
    }
    let only = settings.plugin_only;
    add(!only.agents, "own agents");
    add(!only.mcp, "own servers");
    add(!only.skills, "own skills");
    add(settings.no_sideload.is_none(), "sideload");
    let sandbox = &settings.sandbox;
    let is_on = sandbox.enabled.as_ref().is_some_and(|set| set.value);
    add(!is_on, "unconfined");
    add(is_on && sandbox.auto_allow_bash.as_ref().is_none_or(|set| set.value), "commands unasked");
    add(sandbox.allow_unsandboxed.as_ref().is_none_or(|set| set.value), "leave the sandbox");
    add(sandbox.managed_domains_only.is_none(), "own domains");
    add(sandbox.managed_read_paths_only.is_none(), "own readable places");
    add(sandbox.allowed_domains.iter().any(|one| &**one == "a.org"), "reach a.org");
    add(!sandbox.denied_domains.iter().any(|one| &**one == "b.org"), "reach b.org");
    add(sandbox.deny_read.is_empty(), "read ~");
    add(!sandbox.allow_read.is_empty(), "read ~/x");
    for tokens in [4, 6, 8, 10] {
        add(
            settings.budget.tokens.as_ref().is_none_or(|set| set.value > tokens),
            &format!("{tokens} tokens"),
        );
    }
    add(settings.budget.microdollars.is_none(), "spend");
    may
}

proptest! {
    #[test]
    fn no_more_is_allowed_with_a_parent_than_without(
        others in prop::collection::vec((select(vec![Layer::User, Layer::Flag, Layer::Managed]), some_settings()), 0..4),
        parent in some_settings(),
    ) {
        let text = |settings: &Map<String, Value>| Value::Object(settings.clone()).to_string();
        let mut files: Vec<SettingsFile> = others
            .iter()
            .map(|(layer, settings)| SettingsFile::read(*layer, Path::new("x").into(), &text(settings)).0)
            .collect();
        let without = allowed(&merge(&files, FolderTrust::Trusted).0);
        let (kept, _) = restrictive(&parent);
        files.push(SettingsFile::of_parent(Path::new("parent").into(), &text(&kept)).0);
        let with = allowed(&merge(&files, FolderTrust::Trusted).0);
        let more: Vec<&String> = with.difference(&without).collect();
        prop_assert!(more.is_empty(), "{more:?}");
    }
}
