//! Settings files, layer by layer: what they say about agents, and who said it.
//!
//! Knows the keys that decide which agents there are and what they may do. Every value remembers its layer and file.
//! Refuses to know where the files lie.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Problem, Rule};
use crate::json;
use crate::node::{Node, Value};
use crate::origin::Origin;
use crate::permission::Mode;
use crate::suggest;
use crate::tools::{Scope, ToolPattern, split_entries};

/// The layers, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// `~/.claude/settings.json`.
    User,
    /// `.claude/settings.json`.
    Project,
    /// `.claude/settings.local.json`.
    Local,
    /// `--settings`.
    Flag,
    /// The administrator's.
    Managed,
}

impl Layer {
    /// The origin of agents defined in this layer.
    pub fn origin(self) -> Origin {
        match self {
            Self::User => Origin::User,
            Self::Project | Self::Local => Origin::Project,
            Self::Flag => Origin::Flag,
            Self::Managed => Origin::Managed,
        }
    }

    /// One lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Flag => "flag",
            Self::Managed => "managed",
        }
    }
}

/// One file of settings, read.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// Which layer.
    pub layer: Layer,
    /// Which file, or `<--settings>`.
    pub file: Arc<Path>,
    /// Its text.
    pub text: Arc<str>,
    /// What it says; nothing if it could not be read.
    pub root: Option<Node>,
}

impl SettingsFile {
    /// Reads the text of a settings file.
    pub fn read(layer: Layer, file: Arc<Path>, text: &str) -> (Self, Vec<Diagnostic>) {
        let (root, mut problems) = json::parse(text);
        let root = match root {
            Some(node) if node.as_map().is_none() => {
                problems.push(Problem::at(
                    Rule::InvalidSetting,
                    node.span,
                    format!("settings are an object; this is {}", node.kind()),
                ));
                None
            }
            other => other,
        };
        let diagnostics = problems.into_iter().map(|problem| problem.located(&file, text)).collect();
        (Self { layer, file, text: text.into(), root }, diagnostics)
    }
}

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetIn {
    /// Which layer.
    pub layer: Layer,
    /// Which file.
    pub file: Arc<Path>,
}

/// A value and who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub by: SetIn,
}

/// A permission rule that denies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyRule {
    /// As written.
    pub text: Box<str>,
    /// What it means.
    pub pattern: ToolPattern,
    /// Who wrote it.
    pub by: SetIn,
}

/// Which kinds of customization only plugins and administrators may bring (`strictPluginOnlyCustomization`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PluginOnly {
    pub agents: bool,
    pub hooks: bool,
    pub mcp: bool,
    pub skills: bool,
}

/// Names and values, in order.
pub type Options = Vec<(Box<str>, Box<str>)>;

/// All layers together, as far as agents are concerned.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Every deny rule of every layer: a deny anywhere wins.
    pub deny: Vec<DenyRule>,
    /// `permissions.defaultMode`.
    pub default_mode: Option<Set<Mode>>,
    /// `permissions.disableBypassPermissionsMode`.
    pub bypass_disabled: Option<SetIn>,
    /// `model`.
    pub model: Option<Set<Box<str>>>,
    /// `apiKeyHelper`: a command that prints a key.
    pub api_key_helper: Option<Set<Box<str>>>,
    /// `availableModels`: the only models that may be used.
    pub available_models: Option<Set<Vec<Box<str>>>>,
    /// `enabledPlugins`, each switched on or off by its highest layer.
    pub plugins: Vec<(Box<str>, Set<bool>)>,
    /// `env`, each variable set by its highest layer.
    pub env: Vec<(Box<str>, Set<Box<str>>)>,
    /// `autoMemoryEnabled: false`.
    pub memory_off: Option<SetIn>,
    /// `strictPluginOnlyCustomization` (administrator only).
    pub plugin_only: PluginOnly,
    /// `pluginConfigs`: what the user chose for a plugin's `userConfig`, by plugin.
    pub plugin_configs: Vec<(Box<str>, Options)>,
    /// Who set `plugin_only`.
    pub plugin_only_by: Option<SetIn>,
    /// `disableSideloadFlags` (administrator only).
    pub no_sideload: Option<SetIn>,
}

impl Settings {
    /// What the user chose for a plugin, named with or without its marketplace.
    pub fn plugin_config(&self, name: &str) -> &[(Box<str>, Box<str>)] {
        let bare = |id: &str| id.split('@').next() == Some(name);
        self.plugin_configs.iter().rev().find(|(id, _)| bare(id)).map_or(&[], |(_, options)| options)
    }
}

/// Merges files, weakest layer first: arrays add up, objects merge by key, scalars override.
pub fn merge(files: &[SettingsFile]) -> (Settings, Vec<Diagnostic>) {
    let mut settings = Settings::default();
    let mut diagnostics = Vec::new();
    let mut sorted: Vec<&SettingsFile> = files.iter().collect();
    sorted.sort_by_key(|file| file.layer);
    for file in sorted {
        let Some(root) = &file.root else { continue };
        let mut problems = Vec::new();
        let by = SetIn { layer: file.layer, file: Arc::clone(&file.file) };
        apply(&mut settings, root, &by, &mut problems);
        diagnostics.extend(problems.into_iter().map(|problem| problem.located(&file.file, &file.text)));
    }
    (settings, diagnostics)
}

fn apply(settings: &mut Settings, root: &Node, by: &SetIn, problems: &mut Vec<Problem>) {
    for entry in root.as_map().unwrap_or_default() {
        let node = &entry.node;
        match &*entry.key {
            "permissions" => permissions(settings, node, by, problems),
            "model" => match node.as_text() {
                Some(model) => settings.model = Some(Set { value: model.into(), by: by.clone() }),
                None => problems.push(wrong("model", "text", node)),
            },
            // A folder somebody cloned must not run a command before anybody trusts it.
            "apiKeyHelper" if matches!(by.layer, Layer::Project | Layer::Local) => {
                problems.push(Problem::at(
                    Rule::InvalidSetting,
                    entry.key_span,
                    "`apiKeyHelper` runs a command, so a project may not set it; it is ignored here",
                ))
            }
            "apiKeyHelper" => match node.as_text() {
                Some(command) => {
                    settings.api_key_helper = Some(Set { value: command.into(), by: by.clone() })
                }
                None => problems.push(wrong("apiKeyHelper", "a command", node)),
            },
            "availableModels" => match node.scalars() {
                Some(mut models) => {
                    // What the administrator allows is not for others to add to.
                    let counts = |layer| by.layer != Layer::Managed || layer == Layer::Managed;
                    let earlier = settings.available_models.take().filter(|set| counts(set.by.layer));
                    models.splice(0..0, earlier.map(|set| set.value).unwrap_or_default());
                    settings.available_models = Some(Set { value: models, by: by.clone() });
                }
                None => problems.push(wrong("availableModels", "a list of models", node)),
            },
            "enabledPlugins" => plugins(settings, node, by, problems),
            "pluginConfigs" => plugin_configs(settings, node, problems),
            "env" => env(settings, node, by, problems),
            "autoMemoryEnabled" => match node.as_bool() {
                Some(enabled) => settings.memory_off = (!enabled).then(|| by.clone()),
                None => problems.push(wrong("autoMemoryEnabled", "true or false", node)),
            },
            "strictPluginOnlyCustomization" | "disableSideloadFlags" if by.layer != Layer::Managed => {
                let said = format!("`{}` counts only in managed settings; it is ignored here", entry.key);
                problems.push(Problem::at(Rule::InvalidSetting, entry.key_span, said));
            }
            "strictPluginOnlyCustomization" => plugin_only(settings, node, by, problems),
            "disableSideloadFlags" => match node.as_bool() {
                Some(on) => settings.no_sideload = on.then(|| by.clone()),
                None => problems.push(wrong("disableSideloadFlags", "true or false", node)),
            },
            _ => {}
        }
    }
}

fn wrong(key: &str, takes: &str, node: &Node) -> Problem {
    Problem::at(
        Rule::InvalidSetting,
        node.span,
        format!("`{key}` takes {takes}, not {}; it is ignored", node.kind()),
    )
}

fn plugin_only(settings: &mut Settings, node: &Node, by: &SetIn, problems: &mut Vec<Problem>) {
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
                    Some(other) => problems.push(Problem::at(
                        Rule::InvalidSetting,
                        item.span,
                        format!("`{KEY}` knows agents, hooks, mcp and skills, not `{other}`"),
                    )),
                    None => problems.push(wrong(KEY, "agents, hooks, mcp and skills", item)),
                }
            }
        }
        Value::Null | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
            problems.push(wrong(KEY, "true, false or a list of agents, hooks, mcp and skills", node));
            return;
        }
    }
    settings.plugin_only_by = Some(by.clone());
}

/// Options merge by key, as objects do.
fn plugin_configs(settings: &mut Settings, node: &Node, problems: &mut Vec<Problem>) {
    let Some(plugins) = node.as_map() else {
        problems.push(wrong("pluginConfigs", "an object of plugins and their options", node));
        return;
    };
    for plugin in plugins {
        let options = plugin.node.get("options").unwrap_or(&plugin.node).scalar_pairs();
        let place = settings.plugin_configs.iter().position(|(id, _)| *id == plugin.key);
        let mut merged = place.map(|at| settings.plugin_configs.remove(at).1).unwrap_or_default();
        merged.retain(|(earlier, _)| !options.iter().any(|(key, _)| key == earlier));
        merged.extend(options);
        settings.plugin_configs.push((plugin.key.clone(), merged));
    }
}

fn env(settings: &mut Settings, node: &Node, by: &SetIn, problems: &mut Vec<Problem>) {
    let Some(variables) = node.as_map() else {
        problems.push(wrong("env", "an object of names and values", node));
        return;
    };
    for variable in variables {
        match variable.node.scalar_text() {
            Some(value) => {
                settings.env.retain(|(earlier, _)| *earlier != variable.key);
                settings.env.push((variable.key.clone(), Set { value: value.into(), by: by.clone() }));
            }
            None => problems.push(wrong(&format!("env.{}", variable.key), "text", &variable.node)),
        }
    }
}

fn plugins(settings: &mut Settings, node: &Node, by: &SetIn, problems: &mut Vec<Problem>) {
    let Some(entries) = node.as_map() else {
        problems.push(wrong("enabledPlugins", "an object of `name@marketplace` and true or false", node));
        return;
    };
    for entry in entries {
        match entry.node.as_bool() {
            Some(value) => {
                settings.plugins.retain(|(earlier, _)| *earlier != entry.key);
                settings.plugins.push((entry.key.clone(), Set { value, by: by.clone() }));
            }
            None => {
                problems.push(wrong(&format!("enabledPlugins.{}", entry.key), "true or false", &entry.node))
            }
        }
    }
}

fn permissions(settings: &mut Settings, node: &Node, by: &SetIn, problems: &mut Vec<Problem>) {
    if node.as_map().is_none() {
        problems.push(wrong("permissions", "an object", node));
        return;
    }
    if let Some(deny) = node.get("deny") {
        let rules = deny_rules(deny, problems);
        settings.deny.extend(rules.into_iter().map(|text| DenyRule {
            pattern: ToolPattern::parse(&text),
            text,
            by: by.clone(),
        }));
    }
    if let Some(mode) = node.get("defaultMode") {
        match mode.as_text().and_then(Mode::parse) {
            Some(Mode::Auto) if by.layer == Layer::Project => problems.push(
                Problem::at(Rule::InvalidSetting, mode.span, "a project cannot choose `auto`; it is ignored")
                    .hint("set it in your own settings"),
            ),
            Some(value) => settings.default_mode = Some(Set { value, by: by.clone() }),
            None => {
                let names = Mode::ALL.map(Mode::name);
                let got = mode.as_text().map_or_else(|| mode.kind().to_owned(), |word| format!("`{word}`"));
                let takes = format!("`permissions.defaultMode` takes one of {}", names.join(", "));
                let said = format!("{takes}, not {got}; it is ignored");
                let problem = Problem::at(Rule::InvalidSetting, mode.span, said);
                problems.push(match suggest::closest(mode.as_text().unwrap_or_default(), names) {
                    Some(close) => problem.hint(format!("did you mean `{close}`?")),
                    None => problem,
                });
            }
        }
    }
    if let Some(switch) = node.get("disableBypassPermissionsMode") {
        match &switch.value {
            Value::Text(word) if &**word == "disable" => settings.bypass_disabled = Some(by.clone()),
            Value::Bool(true) => settings.bypass_disabled = Some(by.clone()),
            Value::Bool(false) | Value::Null => {}
            Value::Text(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => {
                let said = "`permissions.disableBypassPermissionsMode` takes \"disable\"; it is ignored";
                problems.push(Problem::at(Rule::InvalidSetting, switch.span, said));
            }
        }
    }
}

/// A deny is never dropped for its form: text, a list, or the object form of older versions.
fn deny_rules(node: &Node, problems: &mut Vec<Problem>) -> Vec<Box<str>> {
    let read_as_list = |rules: usize| {
        let said = format!("`permissions.deny` takes a list of rules, not {}", node.kind());
        Problem::at(Rule::InvalidSetting, node.span, said).hint(format!("read as a list of {rules}"))
    };
    match &node.value {
        Value::List(items) => items.iter().filter_map(|item| deny_rule(item, problems)).collect(),
        Value::Text(text) => {
            let rules = split_entries(text);
            problems.push(read_as_list(rules.len()));
            rules.into_iter().filter_map(|(_, rule)| text_rule(rule, node, problems)).collect()
        }
        Value::Map(_) => {
            problems.push(read_as_list(1));
            deny_rule(node, problems).into_iter().collect()
        }
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) => {
            problems.push(wrong("permissions.deny", "a list of rules", node));
            Vec::new()
        }
    }
}

/// A rule that looks like one and denies nothing is worse than none: its author relies on it.
fn text_rule(text: &str, node: &Node, problems: &mut Vec<Problem>) -> Option<Box<str>> {
    let text = text.trim();
    let pattern = ToolPattern::parse(text);
    let several =
        matches!(&pattern, ToolPattern::Tool { scope: Some(Scope::Agents(agents)), .. } if agents.len() != 1);
    let at = |said: String| Problem::at(Rule::InvalidSetting, node.span, said);
    if text.is_empty() {
        problems.push(at("an empty rule denies nothing".into()));
        return None;
    }
    if ToolPattern::is_unbalanced(text) {
        let said = format!("unbalanced parentheses: the rule `{text}` denies nothing");
        problems.push(at(said).hint("write \"Tool\" or \"Tool(pattern)\""));
    } else if several {
        let said = format!("a rule names one agent: `{text}` denies nothing");
        problems.push(at(said).hint("write a rule for each agent"));
    }
    Some(text.into())
}

fn deny_rule(item: &Node, problems: &mut Vec<Problem>) -> Option<Box<str>> {
    if let Some(text) = item.as_text() {
        return text_rule(text, item, problems);
    }
    let first = |keys: &[&str]| keys.iter().find_map(|key| item.text_of(key));
    let Some(tool) = first(&["toolName", "tool", "name"]) else {
        problems.push(wrong("permissions.deny", "rules such as \"Bash(rm:*)\"", item));
        return None;
    };
    let rule: Box<str> = match first(&["ruleContent", "specifier", "pattern", "agent", "content"]) {
        Some(content) => format!("{tool}({content})").into(),
        None => tool,
    };
    let said = "a rule as an object: the form of older versions";
    problems.push(Problem::at(Rule::OldSpelling, item.span, said).hint(format!("write \"{rule}\"")));
    Some(rule)
}

#[cfg(test)]
mod tests;
