//! The first thing a host says: what it brings along, and what it is told in return. Pure but for what it is handed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use posse_core::hooks::HookEvent;
use posse_runtime::hooks::HookCallback;
use posse_runtime::launch::{AgentFact, Facts, LaunchRequest, Reins};
use posse_runtime::session::VERSION;
use serde_json::{Map, Value, json};

use super::listings;
use super::servers::Brought;

/// What a host says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// Whether agents in the background are stopped one by one there, and not by an interrupt.
    pub(super) stops_tasks_itself: bool,
    /// Whether it wants to hear what agents say to themselves.
    pub(super) hears_agents: bool,
    /// Whether it brought hooks.
    pub(super) has_hooks: bool,
    /// What it says of its servers.
    pub(super) servers: Brought,
    /// What it said that nobody here understands.
    pub(super) notes: Vec<String>,
    /// What the session is called.
    pub(super) title: Option<String>,
    /// What tools are called besides their names.
    pub(super) aliases: Vec<(Box<str>, Box<str>)>,
    /// How to go about planning.
    pub(super) planning: Option<String>,
    /// The plugins it lists.
    pub(super) plugins: Option<Vec<PathBuf>>,
    /// Whether it lays down settings as an administrator would, and was heard.
    pub(super) managed: Option<bool>,
}

/// What the command line leaves to the greeting.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// `--await-initialize`: plugins.
    pub(super) plugins: bool,
    /// `--managed-settings-in-initialize`.
    pub(super) managed: bool,
}

/// Takes what a host brings along into what is launched.
pub(super) fn apply(body: &Map<String, Value>, delivery: Delivery, request: &mut LaunchRequest) -> Declared {
    let mut notes = Vec::new();
    let is_on = |key: &str| body.get(key).and_then(Value::as_bool).unwrap_or_default();
    if let Some(prompt) = body.get("systemPrompt").and_then(joined) {
        request.system_prompt = Some(prompt);
    }
    if let Some(text) = body.get("appendSystemPrompt").and_then(Value::as_str) {
        request.append_system_prompt = Some(text.to_owned());
    }
    if let Some(schema) = body.get("jsonSchema").filter(|schema| schema.is_object()) {
        request.json_schema = Some(schema.clone());
    }
    if let Some(agents) = body.get("agents").and_then(Value::as_object).filter(|agents| !agents.is_empty()) {
        let given = request.catalog.agents.as_deref();
        let given = given.and_then(|text| serde_json::from_str(text).ok());
        let mut all: Map<String, Value> = given.unwrap_or_default();
        all.extend(agents.clone());
        request.catalog.agents = Some(Value::Object(all).to_string());
    }
    if let Some(skills) = body.get("skills").and_then(Value::as_array) {
        request.skills = Some(skills.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }
    let servers = Brought::read(body);
    request.mcp_configs.extend(servers.configs.iter().cloned());
    request.static_prompt = is_on("excludeDynamicSections");
    request.catalog.vouched = vouched(body.get("workspaceTrust"));
    let listed = plugins(body);
    if delivery.plugins {
        request.catalog.plugin_dirs.extend(listed.iter().flatten().cloned());
    }
    let managed = body.get("managedSettings").filter(|settings| settings.is_object());
    if let Some(settings) = managed.filter(|_| delivery.managed) {
        request.catalog.parent = Some(settings.to_string());
    }
    let hooks = body.get("hooks").filter(|hooks| !hooks.is_null());
    request.callbacks = callbacks(hooks, &mut notes);
    let text = |key: &str| body.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    Declared {
        title: text("title").map(str::to_owned),
        aliases: aliases(body.get("toolAliases")),
        planning: text("planModeInstructions").map(str::to_owned),
        plugins: listed,
        managed: managed.map(|_| delivery.managed),
        stops_tasks_itself: is_on("perTaskStopAffordance"),
        hears_agents: is_on("forwardSubagentText"),
        servers,
        has_hooks: hooks.is_some(),
        notes,
    }
}

/// The plugins a greeting lists; nothing if it lists none.
pub(super) fn plugins(body: &Map<String, Value>) -> Option<Vec<PathBuf>> {
    let listed = body.get("plugins")?.as_array()?;
    let path = |plugin: &Value| plugin.get("path").and_then(Value::as_str).map(PathBuf::from);
    Some(listed.iter().filter_map(path).collect())
}

/// Whether every listed plugin is loaded; nothing if none is listed.
pub(super) fn are_loaded(listed: Option<Vec<PathBuf>>, facts: &Facts) -> Option<bool> {
    let real = |path: &Path| facts.cwd.join(path).canonicalize().ok();
    let is_loaded = |path: &PathBuf| {
        let path = real(path);
        path.is_some() && facts.plugins.iter().any(|plugin| real(&plugin.path) == path)
    };
    listed.map(|listed| listed.iter().all(is_loaded))
}

/// Other names of tools: single steps, so that nothing can go round in circles.
fn aliases(map: Option<&Value>) -> Vec<(Box<str>, Box<str>)> {
    let named = map.and_then(Value::as_object).into_iter().flatten();
    named.filter_map(|(alias, name)| Some((alias.as_str().into(), name.as_str()?.into()))).collect()
}

/// The folder that a host vouches for: it must say which.
fn vouched(trust: Option<&Value>) -> Option<PathBuf> {
    let trust = trust.filter(|trust| trust.get("accepted") == Some(&Value::Bool(true)))?;
    let folder = PathBuf::from(trust.get("directory")?.as_str()?);
    folder.is_absolute().then_some(folder)
}

/// A prompt that may come in parts.
fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n\n")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The hooks of a host.
pub(super) fn callbacks(hooks: Option<&Value>, notes: &mut Vec<String>) -> Vec<HookCallback> {
    let mut all = Vec::new();
    for (name, matchers) in hooks.and_then(Value::as_object).into_iter().flatten() {
        let Some(event) = HookEvent::parse(name) else {
            notes.push(format!("the host has hooks for {name}, which posse does not know"));
            continue;
        };
        for matcher in matchers.as_array().into_iter().flatten() {
            let ids = matcher.get("hookCallbackIds").and_then(Value::as_array).into_iter().flatten();
            let seconds = matcher.get("timeout").and_then(Value::as_f64);
            let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            all.extend(ids.filter_map(Value::as_str).map(|id| HookCallback {
                id: id.into(),
                event,
                matcher: matcher.get("matcher").and_then(Value::as_str).map(Into::into),
                timeout,
                blocks_on_failure: matcher.get("onFailure") == Some(&"block".into()),
            }));
        }
    }
    all
}

/// How the answer to a greeting differs from time to time.
pub(super) struct Greeting {
    /// What the session does now.
    pub(super) state: &'static str,
    /// Whether hooks that were sent are called.
    pub(super) hooks: Option<bool>,
    /// Whether plugins that were listed are loaded.
    pub(super) plugins: Option<bool>,
    /// Whether settings that were laid down count.
    pub(super) managed: Option<bool>,
    /// Whether a token of the environment proves who asks.
    pub(super) token: bool,
}

/// An agent, as hosts list it.
pub(super) fn agent(agent: &AgentFact) -> Value {
    let mut value = json!({ "name": agent.name, "description": agent.description });
    if let Some(model) = &agent.model {
        value["model"] = json!(model);
    }
    value
}

/// The ways answers can be written. Settings may name another, and hosts are told of that; it changes nothing here.
pub(super) const OUTPUT_STYLES: [&str; 1] = ["default"];

/// What the host is told.
pub(super) fn reply(facts: &Facts, reins: &Reins, greeting: Greeting) -> Value {
    let Greeting { state, hooks, plugins, managed, token } = greeting;
    let mut account = json!({ "apiKeySource": facts.key_source, "apiProvider": "firstParty" });
    account["tokenSource"] = json!(if token { "ANTHROPIC_AUTH_TOKEN" } else { "none" });
    let mut reply = json!({
        "commands": facts.command_list.iter().map(listings::command).collect::<Vec<_>>(),
        "agents": facts.agent_list.iter().map(agent).collect::<Vec<_>>(),
        "models": models(reins),
        "account": account,
        "output_style": reins.output_style(),
        "available_output_styles": OUTPUT_STYLES,
        "claude_code_version": VERSION,
        "pid": std::process::id(),
        "current_permission_mode": reins.mode.current().name(),
        "session_state": state,
        "hook_on_failure_supported": true,
        "capabilities": CAPABILITIES,
        "fast_mode_state": "off",
    });
    let applied =
        [("hooks_applied", hooks), ("plugins_applied", plugins), ("managed_settings_applied", managed)];
    for (key, applied) in applied {
        if let Some(applied) = applied {
            reply[key] = json!(applied);
        }
    }
    reply
}

/// What hosts may rely on.
pub(super) const CAPABILITIES: [&str; 5] = [
    "interrupt_receipt_v1",
    "interrupt_cancel_queued_v1",
    "mcp_read_resource_v1",
    "mcp_call_result_not_for_model_v1",
    "reload_plugins_refuse_if_busy_v1",
];

/// The models that can be asked for by name.
pub(super) fn models(reins: &Reins) -> Value {
    let families = [
        ("default", "Default", "The recommended model"),
        ("opus", "Opus", "For hard tasks"),
        ("sonnet", "Sonnet", "For everyday tasks"),
        ("haiku", "Haiku", "Fast, for simple tasks"),
    ];
    let one = |(value, name, description): (&str, &str, &str)| {
        json!({
            "value": value,
            "displayName": name,
            "description": description,
            "resolvedModel": reins.wire_id(value),
            "supportsEffort": true,
            "supportedEffortLevels": ["low", "medium", "high", "xhigh", "max"],
            "supportsAdaptiveThinking": value != "haiku",
            "supportsFastMode": false,
            "supportsAutoMode": true,
        })
    };
    families.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests;
