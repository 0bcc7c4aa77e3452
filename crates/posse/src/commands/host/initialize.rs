//! The first thing a host says: what it brings along, and what it is told in return. Pure but for what it is handed.

use std::time::Duration;

use posse_core::hooks::HookEvent;
use posse_runtime::hooks::HookCallback;
use posse_runtime::launch::{Facts, LaunchRequest, Reins};
use posse_runtime::session::VERSION;
use serde_json::{Map, Value, json};

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
}

/// Takes what a host brings along into what is launched.
pub(super) fn apply(body: &Map<String, Value>, request: &mut LaunchRequest) -> Declared {
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
    let hooks = body.get("hooks").filter(|hooks| !hooks.is_null());
    request.callbacks = callbacks(hooks, &mut notes);
    Declared {
        stops_tasks_itself: is_on("perTaskStopAffordance"),
        hears_agents: is_on("forwardSubagentText"),
        servers,
        has_hooks: hooks.is_some(),
        notes,
    }
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

/// What the host is told.
pub(super) fn reply(facts: &Facts, reins: &Reins, state: &str, hooks: Option<bool>) -> Value {
    let commands = facts.command_list.iter().map(|command| {
        json!({
            "name": command.name,
            "description": command.description,
            "argumentHint": command.argument_hint,
        })
    });
    let agents = facts.agent_list.iter().map(|agent| {
        let mut value = json!({ "name": agent.name, "description": agent.description });
        if let Some(model) = &agent.model {
            value["model"] = json!(model);
        }
        value
    });
    let mut reply = json!({
        "commands": commands.collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
        "models": models(reins),
        "account": { "apiKeySource": facts.key_source, "apiProvider": "firstParty" },
        "output_style": "default",
        "available_output_styles": ["default"],
        "claude_code_version": VERSION,
        "pid": std::process::id(),
        "current_permission_mode": reins.mode.current().name(),
        "session_state": state,
        "hook_on_failure_supported": true,
        "capabilities": CAPABILITIES,
    });
    if let Some(applied) = hooks {
        reply["hooks_applied"] = json!(applied);
    }
    reply
}

/// What hosts may rely on.
pub(super) const CAPABILITIES: [&str; 4] = [
    "interrupt_receipt_v1",
    "interrupt_cancel_queued_v1",
    "mcp_read_resource_v1",
    "mcp_call_result_not_for_model_v1",
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
        })
    };
    families.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests;
