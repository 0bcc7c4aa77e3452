//! From keys of the right shape to [`Settings`], layer upon layer.

use super::trust::{self, FolderTrust, Ignored, IgnoredKind, WhyIgnored};
use super::walk::Said;
use super::{
    Layer, PluginOnly, Report, Set, SetIn, Settings, SettingsFile, SettingsServer, permissions, texts,
};
use crate::budget;
use crate::diagnostic::{Problem, Rule, Severity};
use crate::hooks;
use crate::mcp;
use crate::node::{Node, Value};
use crate::permission::{Behavior, Mode};
use std::sync::Arc;

/// What the administrator keeps to himself must be known before the others are heard.
pub(super) fn locks(files: &[&SettingsFile], settings: &mut Settings) {
    const DOMAINS: [&str; 3] = ["sandbox", "network", "allowManagedDomainsOnly"];
    const READ_PATHS: [&str; 3] = ["sandbox", "filesystem", "allowManagedReadPathsOnly"];
    let says = |file: &SettingsFile, path: &[&str]| {
        path.iter().try_fold(file.root.as_ref()?, |node, key| node.get(key))?.as_bool()
    };
    let managed = || files.iter().filter(|file| file.layer == Layer::Managed);
    for file in managed().filter(|file| !file.is_of_parent) {
        let by = SetIn { layer: file.layer, file: Arc::clone(&file.file) };
        let set = |path: &[&str], lock: &mut Option<SetIn>| {
            if let Some(on) = says(file, path) {
                *lock = on.then(|| by.clone());
            }
        };
        set(&["allowManagedPermissionRulesOnly"], &mut settings.managed_rules_only);
        set(&["allowManagedHooksOnly"], &mut settings.managed_hooks_only);
        set(&["allowManagedMcpServersOnly"], &mut settings.managed_mcp_only);
        set(&DOMAINS, &mut settings.sandbox.managed_domains_only);
        set(&READ_PATHS, &mut settings.sandbox.managed_read_paths_only);
    }
    let names_servers = |file: &&SettingsFile| {
        let list = file.root.as_ref().and_then(|root| root.get("allowedMcpServers")?.as_list());
        !file.is_of_parent && list.is_some()
    };
    // Without a list of the administrator's, there would be no list at all, and every server would be allowed.
    let has_servers = managed().any(names_servers);
    for file in managed().filter(|file| file.is_of_parent) {
        let by = SetIn { layer: file.layer, file: Arc::clone(&file.file) };
        let add = |path: &[&str], lock: &mut Option<SetIn>| {
            if says(file, path) == Some(true) {
                lock.get_or_insert_with(|| by.clone());
            }
        };
        if has_servers {
            add(&["allowManagedMcpServersOnly"], &mut settings.managed_mcp_only);
        }
        add(&DOMAINS, &mut settings.sandbox.managed_domains_only);
        add(&READ_PATHS, &mut settings.sandbox.managed_read_paths_only);
    }
}

/// Takes over one key of what a parent lays down, so that no more is allowed than without it. What it says of others'
/// files, those have been heard already: their allowances go, their limits stay.
pub(super) fn narrow(settings: &mut Settings, said: Said<'_>, by: &SetIn, report: &mut Report) {
    let Said { key, node } = said;
    match key.name {
        "permissions.ask" => rules(settings, Behavior::Ask, node, by, report),
        "permissions.deny" => rules(settings, Behavior::Deny, node, by, report),
        "allowManagedPermissionRulesOnly" => {
            only_managed_leave(settings, by);
            settings.managed_rules_only.get_or_insert_with(|| by.clone());
        }
        "allowManagedHooksOnly" => drop(settings.managed_leave_only.insert(by.clone())),
        "allowedMcpServers" => settings.mcp.policy.also_allowed = Some(server_rules(node, report)),
        "availableModels" => fewer(&mut settings.available_models, node, by),
        "strictPluginOnlyCustomization" => {
            let before = settings.plugin_only;
            plugin_only(settings, node, by, report);
            let now = &mut settings.plugin_only;
            if now.hooks && !before.hooks {
                settings.managed_leave_only = Some(by.clone());
            }
            *now = PluginOnly {
                agents: before.agents || now.agents,
                hooks: before.hooks,
                mcp: before.mcp || now.mcp,
                skills: before.skills || now.skills,
            };
        }
        "sandbox.enabled" => {
            // Being confined would be a yes to commands that are asked about without it.
            if settings.sandbox.enabled.as_ref().is_none_or(|set| !set.value) {
                settings.sandbox.auto_allow_bash = Some(Set { value: false, by: by.clone() });
            }
            settings.sandbox.apply("enabled", node, by);
        }
        // Locks were heard before everything else.
        "allowManagedMcpServersOnly"
        | "sandbox.network.allowManagedDomainsOnly"
        | "sandbox.filesystem.allowManagedReadPathsOnly" => {}
        _ => apply(settings, said, by, FolderTrust::Trusted, report),
    }
}

/// The allowances of everybody but the administrator go; they are told of.
fn only_managed_leave(settings: &mut Settings, by: &SetIn) {
    let stays = |rule: &permissions::PermissionRule| {
        rule.behavior != Behavior::Allow || rule.by.layer == Layer::Managed
    };
    let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut settings.rules).into_iter().partition(stays);
    settings.rules = kept;
    settings.ignored.extend(gone.into_iter().map(|rule| Ignored {
        kind: IgnoredKind::Rule,
        text: format!("{} {}", rule.behavior.word(), rule.text).into(),
        by: rule.by,
        location: rule.location,
        why: WhyIgnored::ManagedOnly(by.clone()),
    }));
}

/// Only what both lists name.
fn fewer(place: &mut Option<Set<Vec<Box<str>>>>, node: &Node, by: &SetIn) {
    let mut values = texts(node);
    if let Some(earlier) = place {
        values.retain(|value| earlier.value.iter().any(|known| known.eq_ignore_ascii_case(value)));
    }
    *place = Some(Set { value: values, by: by.clone() });
}

/// Takes over one key.
pub(super) fn apply(
    settings: &mut Settings,
    said: Said<'_>,
    by: &SetIn,
    trust: FolderTrust,
    report: &mut Report,
) {
    let Said { key, node } = said;
    let untrusted = trust == FolderTrust::Untrusted && by.layer.is_of_folder();
    if let Some((kind, why)) = unheard(settings, said, by, untrusted) {
        ignore(settings, key.name, node, by, kind, why, report);
        return;
    }
    match key.name {
        "permissions.allow" => rules(settings, Behavior::Allow, node, by, report),
        "permissions.ask" => rules(settings, Behavior::Ask, node, by, report),
        "permissions.deny" => rules(settings, Behavior::Deny, node, by, report),
        "permissions.additionalDirectories" => {
            let folders = texts(node).into_iter().map(|value| Set { value, by: by.clone() });
            settings.additional_directories.extend(folders);
        }
        "permissions.defaultMode" => default_mode(settings, node, by, report),
        // Anybody can switch these off; nobody can switch them on again.
        "permissions.disableBypassPermissionsMode" if disables(node) => {
            settings.bypass_disabled = Some(by.clone());
        }
        "permissions.disableAutoMode" | "disableAutoMode" if disables(node) => {
            settings.auto_disabled = Some(by.clone());
        }
        "budget.tokens" => least(&mut settings.budget.tokens, whole(node), by),
        "budget.usd" => {
            let amount = node.scalar_text().and_then(budget::parse_dollars);
            least(&mut settings.budget.microdollars, amount, by);
        }
        "budget.seconds" => least(&mut settings.budget.seconds, whole(node), by),
        "budget.descendants" => {
            // More than fit are no limit that anybody reaches.
            let count = whole(node).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            least(&mut settings.budget.descendants, count, by);
        }
        "hooks" => hook_groups(settings, node, by, report),
        "disableAllHooks" => settings.hooks_off = on(node, by),
        "allowedMcpServers" => allowed_servers(settings, node, report),
        "deniedMcpServers" => denied_servers(settings, node, report),
        "mcpServers" => servers(settings, node, by, report),
        "enableAllProjectMcpServers" => settings.mcp.approvals.all = node.as_bool() == Some(true),
        // Every layer can add a yes or a no; a no wins.
        "enabledMcpjsonServers" => settings.mcp.approvals.enabled.extend(texts(node)),
        "disabledMcpjsonServers" => settings.mcp.approvals.disabled.extend(texts(node)),
        "allowedHttpHookUrls" => limit(&mut settings.hook_urls, node, by),
        "httpHookAllowedEnvVars" => limit(&mut settings.hook_env, node, by),
        "availableModels" => limit(&mut settings.available_models, node, by),
        "model" => settings.model = text(node, by),
        "agent" => settings.agent = text(node, by),
        "outputStyle" => settings.output_style = text(node, by),
        "apiKeyHelper" => settings.api_key_helper = text(node, by),
        "cleanupPeriodDays" => {
            settings.cleanup_period_days = whole(node).map(|value| Set { value, by: by.clone() });
        }
        "worktree.baseRef" => settings.worktree.base = text(node, by),
        "worktree.symlinkDirectories" => settings.worktree.links.extend(node.scalars().unwrap_or_default()),
        "worktree.sparsePaths" => settings.worktree.sparse.extend(node.scalars().unwrap_or_default()),
        "enabledPlugins" => plugins(settings, node, by, report),
        "pluginConfigs" => plugin_configs(settings, node),
        "env" => env(settings, node, by, untrusted, report),
        "autoMemoryEnabled" => {
            settings.memory_off = (node.as_bool() == Some(false)).then(|| by.clone());
        }
        "strictPluginOnlyCustomization" => plugin_only(settings, node, by, report),
        "disableSideloadFlags" => settings.no_sideload = on(node, by),
        other => {
            if let Some(name) = other.strip_prefix("sandbox.") {
                settings.sandbox.apply(name, node, by);
            }
        }
    }
}

fn whole(node: &Node) -> Option<u64> {
    node.scalar_text().and_then(|number| number.parse().ok())
}

/// A limit of another layer counts if it is smaller.
fn least<T: Ord>(place: &mut Option<Set<T>>, value: Option<T>, by: &SetIn) {
    let Some(value) = value else { return };
    if place.as_ref().is_none_or(|set| value < set.value) {
        *place = Some(Set { value, by: by.clone() });
    }
}

fn text(node: &Node, by: &SetIn) -> Option<Set<Box<str>>> {
    node.as_text().map(|text| Set { value: text.into(), by: by.clone() })
}

fn on(node: &Node, by: &SetIn) -> Option<SetIn> {
    (node.as_bool() == Some(true)).then(|| by.clone())
}

fn disables(node: &Node) -> bool {
    node.as_text().is_some() || node.as_bool() == Some(true)
}

/// Why a key is not heard at all from this layer, if it is not.
fn unheard(
    settings: &Settings,
    said: Said<'_>,
    by: &SetIn,
    untrusted: bool,
) -> Option<(IgnoredKind, WhyIgnored)> {
    let name = said.key.name;
    if by.layer != Layer::Managed {
        let sandbox = &settings.sandbox;
        let (kind, lock) = match name {
            "permissions.allow" | "permissions.ask" | "permissions.deny" => {
                (IgnoredKind::Rule, settings.managed_rules_only.as_ref())
            }
            "hooks" => (IgnoredKind::Hook, settings.managed_hooks_only.as_ref()),
            "allowedMcpServers" => (IgnoredKind::Switch, settings.managed_mcp_only.as_ref()),
            "sandbox.network.allowedDomains" => (IgnoredKind::Sandbox, sandbox.managed_domains_only.as_ref()),
            "sandbox.filesystem.allowRead" => {
                (IgnoredKind::Sandbox, sandbox.managed_read_paths_only.as_ref())
            }
            _ => (IgnoredKind::Rule, None),
        };
        if let Some(lock) = lock {
            return Some((kind, WhyIgnored::ManagedOnly(lock.clone())));
        }
    }
    // Trust in a folder is no yes to the programs that come with it; the user's own file in it may hold one.
    let is_yes = match name {
        "enableAllProjectMcpServers" => said.node.as_bool() == Some(true),
        "enabledMcpjsonServers" => true,
        _ => false,
    };
    if is_yes && by.layer == Layer::Project && !untrusted {
        return Some((IgnoredKind::Switch, WhyIgnored::OwnYes));
    }
    let kind = untrusted.then(|| trust::needed(name, said.node)).flatten()?;
    Some((kind, WhyIgnored::Untrusted))
}

/// Notes what is not heard: rule by rule and hook by hook, so that a person can be shown what it was.
fn ignore(
    settings: &mut Settings,
    name: &str,
    node: &Node,
    by: &SetIn,
    kind: IgnoredKind,
    why: WhyIgnored,
    report: &mut Report,
) {
    let location = Some(report.locate(node.span));
    let note = |text: &str, location| Ignored {
        kind,
        text: text.into(),
        by: by.clone(),
        location,
        why: why.clone(),
    };
    let behavior = match name {
        "permissions.allow" => Some(Behavior::Allow),
        "permissions.ask" => Some(Behavior::Ask),
        "permissions.deny" => Some(Behavior::Deny),
        _ => None,
    };
    if let Some(behavior) = behavior {
        for rule in permissions::read(behavior, node, by, report) {
            let text = format!("{} {}", behavior.word(), rule.text);
            settings.ignored.push(note(&text, rule.location));
        }
    } else if name == "hooks" {
        for group in hooks::read(node, &mut report.problems) {
            settings.ignored.extend(
                group.handlers.iter().map(|handler| note(&trust::hook_words(&group, handler), location)),
            );
        }
    } else if let Some(items) = node.as_list() {
        let word = |item: &'_ Node| item.as_text().map_or_else(|| item.kind().to_owned(), str::to_owned);
        let texts = items.iter().map(|item| (word(item), item.span));
        settings
            .ignored
            .extend(texts.map(|(text, span)| note(&trust::words(name, &text), Some(report.locate(span)))));
    } else if let Some(entries) = node.as_map() {
        settings.ignored.extend(entries.iter().map(|entry| {
            // Of options only the plugin is told: values may be secret.
            let value = entry.node.scalar_text().map_or_else(String::new, |value| format!(": {value}"));
            note(&format!("{name} {}{value}", entry.key), Some(report.locate(entry.key_span)))
        }));
    } else {
        let value = node.scalar_text().unwrap_or_default();
        settings.ignored.push(note(&format!("{name}: {value}"), location));
    }
}

fn rules(settings: &mut Settings, behavior: Behavior, node: &Node, by: &SetIn, report: &mut Report) {
    settings.rules.extend(permissions::read(behavior, node, by, report));
}

fn default_mode(settings: &mut Settings, node: &Node, by: &SetIn, report: &mut Report) {
    match node.as_text().and_then(Mode::parse) {
        Some(Mode::Auto) if by.layer == Layer::Project => report.problem(
            Problem::at(Rule::InvalidSetting, node.span, "a project cannot choose `auto`; it is ignored")
                .hint("set it in your own settings"),
        ),
        Some(value) => settings.default_mode = Some(Set { value, by: by.clone() }),
        None => {}
    }
}

fn hook_groups(settings: &mut Settings, node: &Node, by: &SetIn, report: &mut Report) {
    let mut problems = Vec::new();
    let groups = hooks::read(node, &mut problems);
    for problem in problems {
        // A hook of the administrator's may be a guard: without it nothing may run.
        match by.layer {
            Layer::Managed if problem.severity == Severity::Error => report.refuse(problem),
            _ => report.problem(problem),
        }
    }
    settings.hooks.extend(groups.into_iter().map(|group| (group, by.clone())));
}

/// Hooks that a switch of a stronger layer keeps from running.
pub(super) fn switch_hooks(settings: &mut Settings) {
    let off = settings.hooks_off.clone();
    let plugins = settings.plugin_only_by.clone().filter(|_| settings.plugin_only.hooks);
    let (kept, dropped): (Vec<_>, Vec<_>) =
        std::mem::take(&mut settings.hooks).into_iter().partition(|(_, by)| match by.layer {
            Layer::Managed => off.as_ref().is_none_or(|off| off.layer != Layer::Managed),
            Layer::User | Layer::Project | Layer::Local | Layer::Flag => off.is_none() && plugins.is_none(),
        });
    settings.hooks = kept;
    let why = match (off, plugins) {
        (Some(by), _) => WhyIgnored::HooksOff(by),
        (None, Some(by)) => WhyIgnored::PluginsOnly(by),
        (None, None) => return,
    };
    for (group, by) in dropped {
        settings.ignored.extend(group.handlers.iter().map(|handler| Ignored {
            kind: IgnoredKind::Hook,
            text: trust::hook_words(&group, handler).into(),
            by: by.clone(),
            location: None,
            why: why.clone(),
        }));
    }
}

/// Lists of what alone is allowed add up, but what the administrator allows is not for others to add to.
fn limit(place: &mut Option<Set<Vec<Box<str>>>>, node: &Node, by: &SetIn) {
    let mut values = texts(node);
    let counts = |layer| by.layer != Layer::Managed || layer == Layer::Managed;
    let earlier = place.take().filter(|set| counts(set.by.layer));
    values.splice(0..0, earlier.map(|set| set.value).unwrap_or_default());
    *place = Some(Set { value: values, by: by.clone() });
}

/// The lists of all layers add up. Where the administrator lets only his own count, the others are not heard.
fn allowed_servers(settings: &mut Settings, node: &Node, report: &mut Report) {
    settings.mcp.policy.allowed.get_or_insert_default().extend(server_rules(node, report));
}

fn server_rules(node: &Node, report: &mut Report) -> Vec<mcp::ServerRule> {
    let mut rules = Vec::new();
    for item in node.as_list().unwrap_or_default() {
        match mcp::read_rule(item) {
            Ok(rule) => rules.push(rule),
            // What cannot be read allows nothing.
            Err(problem) => report.problem(problem),
        }
    }
    rules
}

fn denied_servers(settings: &mut Settings, node: &Node, report: &mut Report) {
    for item in node.as_list().unwrap_or_default() {
        match mcp::read_rule(item) {
            Ok(rule) => settings.mcp.policy.denied.push(rule),
            Err(problem) => report.refuse(problem),
        }
    }
}

fn servers(settings: &mut Settings, node: &Node, by: &SetIn, report: &mut Report) {
    for entry in node.as_map().unwrap_or_default() {
        let config = mcp::read_config(&entry.node).map_err(|problem| {
            let text = problem.text.clone();
            report.problem(problem);
            text
        });
        settings.mcp.servers.push(SettingsServer { name: entry.key.clone(), config, by: by.clone() });
    }
}

fn plugin_only(settings: &mut Settings, node: &Node, by: &SetIn, report: &mut Report) {
    const KEY: &str = "strictPluginOnlyCustomization";
    let all = |on: bool| PluginOnly { agents: on, hooks: on, mcp: on, skills: on };
    let only = &mut settings.plugin_only;
    match &node.value {
        Value::Bool(on) => *only = all(*on),
        Value::List(items) => {
            // A list adds to a list, but takes the place of a mere `true`.
            if *only == all(true) {
                *only = all(false);
            }
            for item in items {
                match item.as_text() {
                    Some("agents") => only.agents = true,
                    Some("hooks") => only.hooks = true,
                    Some("mcp") => only.mcp = true,
                    Some("skills") => only.skills = true,
                    other => {
                        let got = other.map_or_else(|| item.kind().into(), |word| format!("`{word}`"));
                        let text = format!("`{KEY}` knows agents, hooks, mcp and skills, not {got}");
                        report.refuse(Problem::at(Rule::InvalidSetting, item.span, text));
                    }
                }
            }
        }
        // The table lets nothing else through.
        Value::Null | Value::Number(_) | Value::Text(_) | Value::Map(_) => return,
    }
    settings.plugin_only_by = Some(by.clone());
}

/// Options merge by key, as objects do.
fn plugin_configs(settings: &mut Settings, node: &Node) {
    for plugin in node.as_map().unwrap_or_default() {
        let options = plugin.node.get("options").unwrap_or(&plugin.node).scalar_pairs();
        let place = settings.plugin_configs.iter().position(|(id, _)| *id == plugin.key);
        let mut merged = place.map(|at| settings.plugin_configs.remove(at).1).unwrap_or_default();
        merged.retain(|(earlier, _)| !options.iter().any(|(key, _)| key == earlier));
        merged.extend(options);
        settings.plugin_configs.push((plugin.key.clone(), merged));
    }
}

fn env(settings: &mut Settings, node: &Node, by: &SetIn, untrusted: bool, report: &mut Report) {
    for variable in node.as_map().unwrap_or_default() {
        let Some(value) = variable.node.scalar_text() else {
            report.problem(member("env", &variable.key, "text", &variable.node));
            continue;
        };
        if untrusted && trust::env_needs_trust(&variable.key) {
            settings.ignored.push(Ignored {
                kind: IgnoredKind::Environment,
                text: variable.key.clone(),
                by: by.clone(),
                location: Some(report.locate(variable.key_span)),
                why: WhyIgnored::Untrusted,
            });
            continue;
        }
        settings.env.retain(|(earlier, _)| *earlier != variable.key);
        settings.env.push((variable.key.clone(), Set { value: value.into(), by: by.clone() }));
    }
}

fn plugins(settings: &mut Settings, node: &Node, by: &SetIn, report: &mut Report) {
    for entry in node.as_map().unwrap_or_default() {
        match entry.node.as_bool() {
            Some(value) => {
                settings.plugins.retain(|(earlier, _)| *earlier != entry.key);
                settings.plugins.push((entry.key.clone(), Set { value, by: by.clone() }));
            }
            None => report.problem(member("enabledPlugins", &entry.key, "true or false", &entry.node)),
        }
    }
}

fn member(key: &str, name: &str, takes: &str, node: &Node) -> Problem {
    let text = format!("`{key}.{name}` takes {takes}, not {}; it is ignored", node.kind());
    Problem::at(Rule::InvalidSetting, node.span, text)
}
