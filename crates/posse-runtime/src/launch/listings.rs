//! What a session goes by, for hosts that show it: settings, rules, hooks. And the way to change them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::Effort;
use posse_core::hooks::occasion::ConfigSource;
use posse_core::hooks::{HookEvent, HookGroup, HookHandler, HookKind, Occasion};
use posse_core::permission::Behavior;
use posse_core::settings::{self, Layer, find_key};
use serde_json::{Map, Value, json};

use super::{CommandFact, Reins, Resettled};
use crate::catalog::{Catalog, Plugin, PluginFault};

/// A rule, as hosts list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    /// What it brings about.
    pub behavior: Behavior,
    /// As it was written.
    pub rule: String,
    /// Where it comes from, as hosts name it.
    pub source: &'static str,
}

/// A hook, as hosts list it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookRow {
    /// When.
    pub event: HookEvent,
    /// For what.
    pub matcher: String,
    /// Where it comes from, as hosts name it.
    pub source: &'static str,
    /// The same for people.
    pub label: String,
    /// The plugin that brings it, if one does.
    pub plugin: Option<String>,
    /// What is run; nothing for callbacks of the host.
    pub handler: Option<HookHandler>,
    /// What it is called.
    pub name: String,
}

/// A layer as hosts name it.
fn name_of(layer: Layer) -> &'static str {
    match layer {
        Layer::User => "userSettings",
        Layer::Project => "projectSettings",
        Layer::Local => "localSettings",
        Layer::Flag => "flagSettings",
        Layer::Managed => "policySettings",
    }
}

impl Reins {
    /// Adds settings to those of the flags; see [`Resettled`]. An error is why nothing has changed.
    pub fn add_flag_settings(&self, patch: &Map<String, Value>) -> Result<Resettled, String> {
        self.live.add_flags(patch)
    }

    /// Writes settings to the file of a layer: the user's or the project's, and only if that layer counts here and hooks
    /// have nothing against it.
    pub async fn write_settings(
        &self,
        source: &str,
        patch: &Map<String, Value>,
    ) -> Result<Resettled, String> {
        let sources = self.live.options().sources;
        let (layer, counts, hooks_source) = match source {
            "userSettings" => (Layer::User, sources.user, ConfigSource::User),
            "projectSettings" => (Layer::Project, sources.project, ConfigSource::Project),
            "localSettings" => (Layer::Local, sources.local, ConfigSource::Local),
            other => return Err(format!("settings of {other} cannot be written")),
        };
        if !counts {
            return Err(format!("{source} does not count in this session (--setting-sources)"));
        }
        if self.run_hooks.hears(HookEvent::ConfigChange) {
            let occasion = Occasion::ConfigChange { source: hooks_source, file_path: None };
            let merged = self.run_hooks.fire(&occasion, &self.cx.cwd.get()).await;
            if merged.is_blocked() {
                return Err(merged.objection().unwrap_or_else(|| "a hook refused it".into()));
            }
        }
        self.live.write(layer, patch)
    }

    /// What holds, and what each source says. Values of variables that look like secrets are left out.
    pub fn settings(&self) -> (Value, Vec<(&'static str, Value)>) {
        let catalog = self.live.catalog();
        let view = settings::view(&catalog.settings_files, &catalog.settings, catalog.trust.of_folder());
        let mut effective = Map::new();
        for set in view {
            if let Some(value) = set.value {
                place(&mut effective, &path_of(&set.key), value);
            }
        }
        let mut effective = Value::Object(effective);
        hide_secrets(&mut effective);
        (effective, sources(&catalog))
    }

    /// What is wrong with settings files: file and reason.
    pub fn settings_errors(&self) -> Vec<(String, String)> {
        let catalog = self.live.catalog();
        let lost = catalog.settings_files.iter().filter(|file| file.root.is_none());
        lost.map(|file| (file.file.display().to_string(), "it cannot be understood".to_owned())).collect()
    }

    /// The rules that count now.
    pub fn rules(&self) -> Vec<RuleRow> {
        let catalog = self.live.catalog();
        let layer_of = |label: &str| {
            let file = catalog.settings_files.iter().find(|file| *file.file == *Path::new(label));
            file.map(|file| name_of(file.layer))
        };
        let rules = self.authority.rules();
        let row = |rule: &posse_core::permission::Rule| RuleRow {
            behavior: rule.behavior,
            rule: rule.text.to_string(),
            source: layer_of(&rule.source.label).unwrap_or(match &*rule.source.label {
                "--allowedTools" | "--disallowedTools" => "cliArg",
                _ => "session",
            }),
        };
        rules.rules().iter().map(row).collect()
    }

    /// The working directories, each with where it comes from; the first is where the session began.
    pub fn folders(&self) -> Vec<(PathBuf, &'static str)> {
        let (catalog, options) = (self.live.catalog(), self.live.options());
        let cwd = &catalog.layout.cwd;
        let of_settings = |path: &PathBuf| {
            let mut set = catalog.settings.additional_directories.iter();
            set.find(|set| super::powers::expand(&set.value, cwd, &catalog) == *path)
        };
        let source = |path: &PathBuf| match of_settings(path) {
            Some(set) => name_of(set.by.layer),
            None if path == cwd || options.add_dirs.iter().any(|dir| cwd.join(dir) == *path) => "cliArg",
            None => "session",
        };
        self.authority.roots().iter().map(|path| (path.clone(), source(path))).collect()
    }

    /// Whether only the administrator's rules count, and whether only the administrator's hooks do.
    pub fn managed_only(&self) -> (bool, bool) {
        let catalog = self.live.catalog();
        (catalog.settings.managed_rules_only.is_some(), catalog.settings.managed_hooks_only.is_some())
    }

    /// Whether hooks come only from plugins and administrators.
    pub fn hooks_of_plugins_only(&self) -> bool {
        self.live.catalog().settings.plugin_only.hooks
    }

    /// Whether hooks are switched off, and whether the administrator has done so.
    pub fn hooks_off(&self) -> (bool, bool) {
        let off = self.live.catalog().settings.hooks_off.clone();
        (off.is_some(), off.is_some_and(|by| by.layer == Layer::Managed))
    }

    /// Every hook of the session, in the order they are asked.
    pub fn hook_rows(&self) -> Vec<HookRow> {
        let catalog = self.live.hooked();
        let mut rows = Vec::new();
        for (group, by) in catalog.effective_hooks() {
            rows.extend(rows_of(group, name_of(by.layer), &by.file.display().to_string(), None));
        }
        for plugin in &catalog.plugins {
            for group in plugin.filled_hooks().into_iter().flatten() {
                let (label, name) = (format!("plugin {}", plugin.id), plugin.name.to_string());
                rows.extend(rows_of(&group, "pluginHook", &label, Some(name)));
            }
        }
        for group in self.live.agent.iter().flat_map(|agent| &agent.hooks) {
            rows.extend(rows_of(group, "sessionHook", "the agent", None));
        }
        rows.extend(self.hooks.callbacks().into_iter().map(|(event, matcher, id)| HookRow {
            event,
            matcher,
            source: "sessionHook",
            label: "the program at the other end".to_owned(),
            plugin: None,
            handler: None,
            name: id,
        }));
        rows
    }

    /// Looks at skills and commands again: what can be typed now.
    pub fn reload_skills(&self) -> Vec<CommandFact> {
        self.live.look_for_skills(&self.live.catalog());
        self.commands()
    }

    /// The names of the skills as they were read last.
    pub fn skill_names(&self) -> Vec<String> {
        self.live.shelf.registry().skills()
    }

    /// How answers are written, by name, as settings have it now.
    pub fn output_style(&self) -> Box<str> {
        self.live.catalog().settings.style_name()
    }

    /// What can be typed.
    pub fn commands(&self) -> Vec<CommandFact> {
        super::assemble::command_list(&self.live.shelf.registry())
    }

    /// Looks at plugins again, with some more. Skills, commands and hooks of theirs count at once. What the user should
    /// know comes back.
    pub fn reload_plugins(&self, more: &[PathBuf]) -> Result<Vec<String>, String> {
        self.live.reload_plugins(more)
    }

    /// The plugins as they were read last, and what is missing of them.
    pub fn plugins(&self) -> (Vec<Plugin>, Vec<PluginFault>) {
        let catalog = self.live.catalog();
        (catalog.plugins.clone(), catalog.plugin_faults.clone())
    }

    /// How hard the model is asked to try from now on; nothing said leaves it to the model.
    pub fn set_effort(&self, effort: Option<Effort>) {
        self.dials.set_effort(effort);
    }
}

fn rows_of(group: &HookGroup, source: &'static str, label: &str, plugin: Option<String>) -> Vec<HookRow> {
    let row = |handler: &HookHandler| HookRow {
        event: group.event,
        matcher: group.matcher.as_deref().unwrap_or_default().to_owned(),
        source,
        label: label.to_owned(),
        plugin: plugin.clone(),
        name: HookKind::label(&handler.kind),
        handler: Some(handler.clone()),
    };
    group.handlers.iter().map(row).collect()
}

/// The way to a setting: names of variables and plugins may have dots in them.
fn path_of(key: &str) -> Vec<&str> {
    if find_key(key).is_some() {
        return key.split('.').collect();
    }
    let mut cuts = key.match_indices('.').map(|(at, _)| at).collect::<Vec<_>>();
    cuts.reverse();
    match cuts.into_iter().find(|at| find_key(&key[..*at]).is_some()) {
        Some(at) => key[..at].split('.').chain([&key[at + 1..]]).collect(),
        None => vec![key],
    }
}

fn place(root: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [] => {}
        [last] => drop(root.insert((*last).to_owned(), value)),
        [first, rest @ ..] => {
            let inner = root.entry(*first).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                place(inner, rest, value);
            }
        }
    }
}

/// What each source says, weakest first; several files of one source together.
fn sources(catalog: &Catalog) -> Vec<(&'static str, Value)> {
    let mut files: Vec<_> = catalog.settings_files.iter().collect();
    files.sort_by_key(|file| file.layer);
    let mut sources: Vec<(&'static str, Value)> = Vec::new();
    for file in files {
        let text: &Arc<str> = &file.text;
        let Ok(mut said) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else {
            continue;
        };
        hide_secrets(&mut said);
        let name = name_of(file.layer);
        match (sources.last_mut(), said) {
            (Some((last, Value::Object(known))), Value::Object(more)) if *last == name => known.extend(more),
            (_, said) => sources.push((name, said)),
        }
    }
    sources
}

/// What stands where a secret was.
const HIDDEN: &str = "[hidden]";

fn hide_secrets(settings: &mut Value) {
    let Some(Value::Object(env)) = settings.get_mut("env") else { return };
    for (name, value) in env.iter_mut().filter(|(name, _)| looks_secret(name)) {
        let _ = name;
        *value = json!(HIDDEN);
    }
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "HEADERS"];
    words.iter().any(|word| name.contains(word)) && !name.ends_with("_TOKENS")
}

#[cfg(test)]
mod tests;
