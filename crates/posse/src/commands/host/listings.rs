//! What a session goes by, as hosts show it: rules, hooks, plugins, what was used.

use posse_core::hooks::{HookEvent, HookKind};
use posse_runtime::launch::{CommandFact, HookRow, Reins, RuleRow};
use serde_json::{Value, json};

use super::control::{Handled, Refusal, done, refused};
use super::incoming::Request;
use super::side::Side;
use super::{servers, settings};
use crate::render::stream;

/// The rules and folders of the session.
pub(super) fn permission_rules(side: &Side, reins: &Reins) -> Handled {
    let rule = |row: RuleRow| {
        let editability = match row.source {
            "userSettings" | "projectSettings" | "localSettings" => "persistent",
            "cliArg" | "session" => "session",
            _ => "readonly",
        };
        json!({
            "behavior": row.behavior.word(),
            "source": row.source,
            "rule": row.rule,
            "editability": editability,
        })
    };
    let folders = reins.folders();
    let folder = |(path, source): &(std::path::PathBuf, &str)| json!({ "path": path, "source": source });
    let mut state = json!({
        "rules": reins.rules().into_iter().map(rule).collect::<Vec<_>>(),
        "workspaceDirectories": folders.iter().skip(1).map(folder).collect::<Vec<_>>(),
        "originalCwd": folders.first().map_or(&side.lines.facts().cwd, |(path, _)| path),
        "managedOnly": reins.managed_only().0,
    });
    let errors = settings::errors(reins);
    if !errors.is_empty() {
        state["errors"] = json!(errors);
    }
    done(json!({ "state": state }))
}

/// The hooks of the session.
pub(super) fn hooks(reins: &Reins) -> Handled {
    let rows = reins.hook_rows();
    let described = |event: HookEvent| {
        let facts = event.facts();
        json!({
            "name": event.name(),
            "summary": facts.effect,
            "supportsMatcher": facts.matched.is_some(),
        })
    };
    let events = HookEvent::ALL.iter().filter_map(|event| {
        let count = rows.iter().filter(|row| row.event == *event).count();
        let mut value = described(*event);
        value["hookCount"] = json!(count);
        (count > 0).then_some(value)
    });
    let mut sorted: Vec<&HookRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.event as u32);
    let (off, off_by_policy) = reins.hooks_off();
    done(json!({
        "events": events.collect::<Vec<_>>(),
        "hooks": sorted.into_iter().map(hook).collect::<Vec<_>>(),
        "eventCatalog": HookEvent::ALL.iter().map(|event| described(*event)).collect::<Vec<_>>(),
        "policy": {
            "disabledByPolicy": off_by_policy,
            "managedOnly": reins.managed_only().1,
            "pluginOnly": reins.hooks_of_plugins_only(),
            "allDisabled": off,
            "policyHookCount": rows.iter().filter(|row| row.source == "policySettings").count(),
        },
    }))
}

fn hook(row: &HookRow) -> Value {
    let (kind, label) = match row.handler.as_ref().map(|handler| &handler.kind) {
        None => ("callback", "Callback"),
        Some(HookKind::Command { .. }) => ("command", "Command"),
        Some(HookKind::Http { .. }) => ("http", "URL"),
        Some(HookKind::McpTool { .. }) => ("mcp_tool", "Tool"),
        Some(HookKind::Prompt { .. }) => ("prompt", "Prompt"),
        Some(HookKind::Agent { .. }) => ("agent", "Prompt"),
    };
    let shown = revealed(&row.name);
    let mut value = json!({
        "event": row.event.name(),
        "matcher": revealed(&row.matcher),
        "source": row.source,
        "sourceLabel": row.label,
        "type": kind,
        "displayText": shown,
        "commandText": shown,
        "contentLabel": label,
    });
    if let Some(plugin) = &row.plugin {
        value["pluginName"] = json!(plugin);
    }
    let Some(handler) = &row.handler else { return value };
    if let Some(condition) = &handler.condition {
        value["condition"] = json!(revealed(condition));
    }
    if let Some(timeout) = handler.timeout {
        value["timeout"] = json!(timeout.as_secs_f64());
    }
    if let Some(message) = &handler.status_message {
        value["statusMessage"] = json!(revealed(message));
        value["displayText"] = json!(revealed(message));
    }
    if handler.once {
        value["runsOnce"] = json!(true);
    }
    if matches!(&handler.kind, HookKind::Command { detached: true, .. }) {
        value["runsInBackground"] = json!(true);
    }
    value
}

/// One line in which nothing can hide.
fn revealed(text: &str) -> String {
    let shown = |c: char| if hides(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Whether a character cannot be seen itself, or changes where others are seen.
fn hides(c: char) -> bool {
    let is_unseen = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    c.is_control() || is_unseen || turns
}

/// What was used so far.
pub(super) fn usage(side: &Side) -> Handled {
    let told = &side.last_result;
    done(json!({
        "session": {
            "total_cost_usd": told.get("total_cost_usd").cloned().unwrap_or(json!(0.0)),
            "total_api_duration_ms": told.get("duration_api_ms").cloned().unwrap_or(json!(0)),
            "total_duration_ms": side.duration_ms,
            "total_lines_added": side.lines_changed.0,
            "total_lines_removed": side.lines_changed.1,
            "model_usage": told.get("modelUsage").cloned().unwrap_or(json!({})),
        },
        "subscription_type": null,
        "rate_limits_available": false,
        "rate_limits": null,
        "behaviors": null,
    }))
}

/// How many lines a tool says that it has added and removed.
pub(super) fn lines_changed(result: &Value) -> (u64, u64) {
    // Of a new file there is nothing to compare with.
    if let (Some("create"), Some(content)) = (result["type"].as_str(), result["content"].as_str()) {
        return (content.lines().count() as u64, 0);
    }
    let hunks = result["structuredPatch"].as_array().into_iter().flatten();
    let lines = hunks.flat_map(|hunk| hunk["lines"].as_array().into_iter().flatten());
    lines.filter_map(Value::as_str).fold((0, 0), |(added, removed), line| match line.chars().next() {
        Some('+') => (added + 1, removed),
        Some('-') => (added, removed + 1),
        _ => (added, removed),
    })
}

/// A command, as hosts list it.
pub(super) fn command(command: &CommandFact) -> Value {
    json!({
        "name": command.name,
        "description": command.description,
        "argumentHint": command.argument_hint,
    })
}

impl Side {
    /// Takes over what can be typed.
    fn take_commands(&mut self, commands: &[CommandFact], reins: &Reins) {
        let mut facts = self.lines.facts().clone();
        facts.skills = reins.skill_names();
        facts.slash_commands = commands.iter().map(|command| command.name.clone()).collect();
        facts.command_list = commands.to_vec();
        self.lines.retell(facts);
    }

    /// Looks at skills again.
    pub(super) fn reload_skills(&mut self, reins: &Reins) -> Handled {
        let commands = reins.reload_skills();
        self.take_commands(&commands, reins);
        done(json!({ "skills": commands.iter().map(command).collect::<Vec<_>>() }))
    }

    /// Looks at plugins again.
    pub(super) fn reload_plugins(&mut self, request: &Request, reins: &Reins, busy: bool) -> Handled {
        if request.is_on("refuse_if_busy") && (busy || self.queue.len() > 0) {
            let why = "The session is busy; nothing was reloaded".to_owned();
            return Handled::Now(Err(Refusal { why, code: Some("reload_plugins_busy") }));
        }
        let more = request.body.get("add_plugins").and_then(Value::as_array).cloned().unwrap_or_default();
        let paths: Option<Vec<std::path::PathBuf>> = more
            .iter()
            .map(|one| one.get("path").and_then(Value::as_str).map(Into::into))
            .map(|path: Option<std::path::PathBuf>| path.filter(|path| path.is_absolute()))
            .collect();
        let Some(paths) = paths else { return refused("add_plugins takes plugins with absolute paths") };
        let notes = match reins.reload_plugins(&paths) {
            Ok(notes) => notes,
            Err(why) => return refused(why),
        };
        let (plugins, faults) = reins.plugins();
        let late =
            "agents and servers of plugins that came or changed count with the next session".to_owned();
        let changed =
            plugins.iter().map(|one| &one.id).ne(self.lines.facts().plugins.iter().map(|one| &one.id));
        for note in notes.into_iter().chain(changed.then_some(late)) {
            self.wire.say(self.lines.note(&note));
        }
        let commands = reins.commands();
        self.take_commands(&commands, reins);
        let mut facts = self.lines.facts().clone();
        facts.plugins.clone_from(&plugins);
        facts.plugin_faults.clone_from(&faults);
        self.lines.retell(facts);
        let agents = self.lines.facts().agent_list.iter().map(super::initialize::agent);
        done(json!({
            "commands": commands.iter().map(command).collect::<Vec<_>>(),
            "agents": agents.collect::<Vec<_>>(),
            "plugins": plugins.iter().map(stream::plugin).collect::<Vec<_>>(),
            "mcpServers": servers::all_in_full(reins),
            "error_count": faults.len(),
        }))
    }
}

#[cfg(test)]
mod tests;
