//! Results for programs. The shapes are documented in docs/json.md; keys are only ever added.

use std::io::{self, Write};
use std::path::Path;

use posse_core::budget::Limits;
use posse_core::definition::{AgentDefinition, field_row};
use posse_core::diagnostic::{Diagnostic, Safety, Severity};
use posse_core::mcp::McpServer;
use posse_core::origin::{Origin, Source};
use posse_core::registry::Colors;
use posse_core::settings::SetIn;
use posse_core::spec::{self, AgentSpec, Parent, SetBy, Sourced, Step, Verb, Why};
use posse_core::tools::{McpFilter, McpPattern, Scope};
use posse_runtime::catalog::Catalog;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::explain;

/// Prints a value, indented, with a line break at the end.
pub fn print(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// A list whose items are made one at a time, as they are written: ten thousand agents need the memory of one.
struct Each<'a, T, F>(&'a [T], F);

impl<T, F: Fn(&T) -> Value> Serialize for Each<'_, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

/// `posse agents list --json`.
pub struct Agents<'a> {
    /// The agents.
    pub catalog: &'a Catalog,
    /// Their colours.
    pub colors: &'a Colors,
}

impl Serialize for Agents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let registry = &self.catalog.registry;
        let mut map = serializer.serialize_map(None)?;
        let one = |definition: &AgentDefinition| agent(definition, self.catalog, self.colors);
        map.serialize_entry("active", &Each(&registry.active, one))?;
        for (key, value) in rest(self.catalog).as_object().into_iter().flatten() {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("diagnostics", &Each(&registry.diagnostics, diagnostic))?;
        map.end()
    }
}

/// Everything of a list but the two parts that can be long.
fn rest(catalog: &Catalog) -> Value {
    let registry = &catalog.registry;
    json!({
        "shadowed": registry.shadowed.iter().map(|one| json!({
            "name": one.definition.name,
            "source": source(&one.definition.source),
            "shadowedBy": source(&one.by),
        })).collect::<Vec<_>>(),
        "failed": registry.failed.iter().map(|one| json!({
            "name": one.name,
            "source": source(&one.source),
            "reason": one.reason(),
            "diagnostics": one.diagnostics.iter().map(diagnostic).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "documents": registry.documents.iter().map(|file| path(file)).collect::<Vec<_>>(),
        "plugins": catalog.plugins.iter().map(|plugin| json!({
            "name": *plugin.name,
            "id": plugin.id,
            "path": path(&plugin.path),
            "version": plugin.version,
            "hooks": plugin.hooks.iter().flat_map(|part| &part.groups).map(|group| group.event.name()).collect::<Vec<_>>(),
            "mcpServers": plugin.servers.iter().map(|server| &*server.name).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

/// One agent as written, with its prompt.
pub fn agent_with_prompt(definition: &AgentDefinition, catalog: &Catalog, colors: &Colors) -> Value {
    let mut value = agent(definition, catalog, colors);
    let own = |one: &Diagnostic| one.file == definition.source.file;
    value["prompt"] = json!(*definition.body);
    value["diagnostics"] = catalog.diagnostics().iter().filter(|one| own(one)).map(diagnostic).collect();
    value
}

fn agent(definition: &AgentDefinition, catalog: &Catalog, colors: &Colors) -> Value {
    let entries = |list: &[posse_core::definition::ToolEntry]| -> Vec<Value> {
        list.iter().map(|entry| json!(entry.text)).collect()
    };
    let denied = spec::denied(&definition.name, &catalog.policy);
    let hidden = denied.map(|rule| format!("denied by {} in {}", rule.text, rule.by.file.display()));
    json!({
        "name": definition.name,
        "description": definition.description,
        "source": source(&definition.source),
        "editable": matches!(definition.source.origin, Origin::User | Origin::Project),
        "tools": definition.tools.as_deref().map(entries),
        "disallowedTools": entries(&definition.disallowed_tools),
        "listedTools": definition.listed_tools(),
        "model": definition.model.name(),
        "effort": definition.effort.map(|effort| effort.to_string()),
        "permissionMode": definition.permission_mode.map(|mode| mode.name()),
        "color": colors.of(&definition.name).map(|color| color.name()),
        "ownColor": definition.color.map(|color| color.name()),
        "maxTurns": definition.max_turns,
        "budget": (!definition.budget.is_unlimited()).then(|| limits(&definition.budget)),
        "background": definition.background,
        "initialPrompt": definition.initial_prompt,
        "memory": definition.memory.map(|scope| scope.name()),
        "isolation": definition.isolation.map(|kind| kind.name()),
        "hooks": definition.hooks.iter().map(|group| group.event.name()).collect::<Vec<_>>(),
        "mcpServers": definition.mcp_servers.iter().map(server).collect::<Vec<_>>(),
        "skills": definition.skills,
        "requiredMcpServers": definition.required_mcp_servers,
        "omitClaudeMd": definition.omit_claude_md,
        "forkContext": definition.fork_context,
        "criticalSystemReminder": definition.critical_system_reminder,
        "autoCompactWindow": definition.auto_compact_window,
        "observer": definition.observers,
        "observerMessage": definition.observer_message,
        "hidden": hidden,
    })
}

fn server(server: &McpServer) -> Value {
    match server {
        McpServer::Named(name) => json!({ "name": name, "inline": false }),
        McpServer::Inline { name, .. } => json!({ "name": name, "inline": true }),
    }
}

fn source(source: &Source) -> Value {
    json!({
        "origin": source.origin.word(),
        "file": path(&source.file),
        "root": path(&source.root),
        "plugin": source.plugin.as_deref(),
    })
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// `posse lint --format json`.
pub fn lint(found: &[Diagnostic], catalog: &Catalog) -> Value {
    let of = |severity| found.iter().filter(|one| one.severity == severity).count();
    json!({
        "diagnostics": found.iter().map(diagnostic).collect::<Vec<_>>(),
        "counts": {
            "error": of(Severity::Error),
            "warning": of(Severity::Warning),
            "note": of(Severity::Note),
            "agents": catalog.registry.active.len(),
            "failed": catalog.registry.failed.len(),
        },
    })
}

/// One problem.
pub fn diagnostic(one: &Diagnostic) -> Value {
    json!({
        "rule": one.rule.info().id,
        "severity": one.severity.word(),
        "file": path(&one.file),
        "line": one.location.map(|at| at.line),
        "column": one.location.map(|at| at.column),
        "endLine": one.location.map(|at| at.end_line),
        "endColumn": one.location.map(|at| at.end_column),
        "message": one.text,
        "hint": one.hint,
        "excerpt": one.excerpt,
        "fix": one.fix.as_ref().map(|fix| json!({ "title": fix.title, "safe": fix.safety == Safety::Safe })),
    })
}

/// `posse explain --json`.
pub fn spec(spec: &AgentSpec, parent: &Parent) -> Value {
    json!({
        "name": spec.name,
        "source": source(&spec.source),
        "parent": parent.name,
        "depth": spec.depth,
        "model": sourced(Some(&spec.model), |model| json!(model)),
        "effort": sourced(spec.effort.as_ref(), |effort| json!(effort.to_string())),
        "permissionMode": sourced(Some(&spec.approval), |approval| json!(approval.mode.name())),
        "mayAsk": spec.approval.value.may_ask,
        "background": sourced(Some(&spec.background), |yes| json!(yes)),
        "memory": sourced(spec.memory.as_ref(), |scope| json!(scope.name())),
        "isolation": sourced(spec.isolation.as_ref(), |kind| json!(kind.name())),
        "maxTurns": sourced(spec.max_turns.as_ref(), |turns| json!(turns)),
        "budget": sourced(spec.budget.as_ref(), limits),
        "tools": spec.pool.capability.grants.iter().map(|grant| json!({
            "name": grant.tool.name,
            "limits": grant.limits.iter().map(|limit| limit.any_of.iter().map(scope).collect::<Vec<_>>()).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "mcp": spec.pool.capability.mcp.iter().map(filter).collect::<Vec<_>>(),
        "ownServers": spec.pool.own_servers,
        "steps": spec.pool.steps.iter().map(step).collect::<Vec<_>>(),
        "spawnable": spec.pool.capability.spawnable(),
        "hooks": spec.hooks.iter().map(|group| group.event.name()).collect::<Vec<_>>(),
        "mcpServers": spec.mcp_servers.iter().map(server).collect::<Vec<_>>(),
        "withheld": spec.withheld.iter().map(|(field, by)| json!({
            "field": field_row(*field).name, "by": set_by(by),
        })).collect::<Vec<_>>(),
        "skills": spec.skills,
        "requiredMcpServers": spec.required_mcp_servers,
        "omitClaudeMd": spec.omit_claude_md,
        "forkContext": spec.fork_context,
        "promptCharacters": spec.body.chars().count(),
    })
}

fn limits(limits: &Limits) -> Value {
    let Limits { tokens, microdollars, seconds, descendants } = *limits;
    // Millionths of a dollar are exact in JSON up to billions.
    #[allow(clippy::cast_precision_loss)]
    let usd = microdollars.map(|amount| amount as f64 / 1e6);
    json!({ "tokens": tokens, "usd": usd, "seconds": seconds, "descendants": descendants })
}

fn sourced<T>(value: Option<&Sourced<T>>, show: impl Fn(&T) -> Value) -> Value {
    value.map_or(
        Value::Null,
        |one| json!({ "value": show(&one.value), "by": set_by(&one.by), "note": one.note }),
    )
}

fn set_by(by: &SetBy) -> Value {
    match by {
        SetBy::Default => json!({ "kind": "default" }),
        SetBy::Parent(name) => json!({ "kind": "parent", "name": name }),
        SetBy::Definition(at) => {
            json!({ "kind": "definition", "line": at.map(|at| at.line), "column": at.map(|at| at.column) })
        }
        SetBy::Call => json!({ "kind": "call" }),
        SetBy::Environment(name) => json!({ "kind": "environment", "name": name }),
        SetBy::Settings(set) => set_in(set),
        SetBy::Distrust => json!({ "kind": "distrust" }),
    }
}

fn set_in(set: &SetIn) -> Value {
    json!({ "kind": "settings", "layer": set.layer.word(), "file": path(&set.file) })
}

fn scope(scope: &Scope) -> Value {
    match scope {
        Scope::Agents(agents) => json!({ "agents": agents }),
        Scope::Argument(argument) => json!({ "argument": argument }),
        Scope::MemoryFolder(agent) => json!({ "memoryOf": agent }),
    }
}

fn filter(filter: &McpFilter) -> Value {
    let show = |pattern: &McpPattern| match pattern {
        McpPattern::Exact(name) => name.to_string(),
        McpPattern::Prefix(prefix) => format!("{prefix}*"),
    };
    let shown = |patterns: &[McpPattern]| patterns.iter().map(show).collect::<Vec<_>>();
    json!({ "allow": filter.allow.as_deref().map(shown), "deny": shown(&filter.deny) })
}

fn step(step: &Step) -> Value {
    let verb = match step.verb {
        Verb::Kept => "kept",
        Verb::Limited => "limited",
        Verb::Added => "added",
        Verb::Removed => "removed",
        Verb::Ignored => "ignored",
    };
    let reason = match &step.why {
        Why::Inherited => "inherited",
        Why::Listed { .. } => "listed",
        Why::NotListed => "not-listed",
        Why::Disallowed { .. } => "disallowed",
        Why::Memory => "memory",
        Why::OwnServer => "own-server",
        Why::MainAgentOnly => "main-agent-only",
        Why::PlanModeOnly => "plan-mode-only",
        Why::DepthLimit(_) => "depth-limit",
        Why::Background => "background",
        Why::NotInParent(_) => "not-in-parent",
        Why::DenyRule { .. } => "deny-rule",
        Why::NoSuchTool { .. } => "no-such-tool",
    };
    json!({ "subject": step.subject, "verb": verb, "reason": reason, "why": explain::why(&step.why, Path::new("")) })
}
