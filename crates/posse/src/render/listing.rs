//! Agents for people: the list, and one of them.

use std::collections::BTreeMap;
use std::path::Path;

use posse_core::definition::{AgentDefinition, FieldId};
use posse_core::diagnostic::{Rule, Severity};
use posse_core::origin::{Origin, Source, Standing};
use posse_core::registry::Colors;
use posse_core::spec;
use posse_runtime::catalog::Catalog;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::diagnostics::{self, count};
use super::relative;
use super::style::{Style, plain};

/// What a page is made of.
pub struct Page<'a> {
    /// The agents.
    pub catalog: &'a Catalog,
    /// Their colours.
    pub colors: &'a Colors,
    /// How to write.
    pub style: Style,
    /// How wide.
    pub width: usize,
}

impl Page<'_> {
    /// All agents by source, strongest first, then what is not used and what failed.
    pub fn list(&self) -> String {
        let registry = &self.catalog.registry;
        let mut groups: BTreeMap<(Origin, Standing, &Path), Vec<&AgentDefinition>> = BTreeMap::new();
        for agent in &registry.active {
            let Source { origin, standing, root, .. } = &agent.source;
            groups.entry((*origin, *standing, root)).or_default().push(agent);
        }
        let widest = registry.active.iter().map(|agent| agent.name.width()).max().unwrap_or_default().min(36);
        let mut text = String::new();
        for ((origin, _, root), agents) in groups.into_iter().rev() {
            text.push_str(&self.heading(origin, root, agents.len()));
            for agent in agents {
                text.push_str(&self.row(agent, widest));
            }
            text.push('\n');
        }
        self.shadowed(&mut text, widest);
        self.failed(&mut text);
        text.push_str(&self.totals());
        text
    }

    fn heading(&self, origin: Origin, root: &Path, number: usize) -> String {
        let title = match origin {
            Origin::BuiltIn => "Built-in",
            Origin::Plugin => "Plugin",
            Origin::User => "User",
            Origin::Project => "Project",
            Origin::Flag => "Command line",
            Origin::Managed => "Managed",
        };
        let place = match origin {
            Origin::BuiltIn => "always there, not editable".to_owned(),
            Origin::Plugin => format!("{}, not editable", self.path(root)),
            Origin::User | Origin::Project | Origin::Flag | Origin::Managed => self.path(root),
        };
        format!(
            "{} {} {}\n",
            self.style.bold(title),
            self.style.dim(&format!("({number})")),
            self.style.dim(&place)
        )
    }

    fn row(&self, agent: &AgentDefinition, widest: usize) -> String {
        let color = self.colors.of(&agent.name);
        let dot = color.map_or_else(|| "●".to_owned(), |color| self.style.agent(color, "●"));
        let name = pad(&plain(&agent.name), widest);
        let model = pad(agent.model.name().unwrap_or("inherit"), 8);
        let hidden =
            spec::denied(&agent.name, &self.catalog.policy).map(|rule| format!("denied by {} · ", rule.text));
        let about = format!("{}{}", hidden.unwrap_or_default(), first_line(&agent.description));
        let used = 2 + 2 + widest + 2 + 8 + 2;
        let about = cut(&about, self.width.saturating_sub(used).max(20));
        format!("  {dot} {}  {}  {about}\n", self.style.bold(&name), self.style.dim(&model))
    }

    fn shadowed(&self, text: &mut String, widest: usize) {
        let shadowed = &self.catalog.registry.shadowed;
        if shadowed.is_empty() {
            return;
        }
        text.push_str(&format!(
            "{} {}\n",
            self.style.bold("Shadowed"),
            self.style.dim(&format!("({})", shadowed.len()))
        ));
        for one in shadowed {
            let name = pad(&plain(&one.definition.name), widest);
            let (loser, winner) = (self.source(&one.definition.source), self.source(&one.by));
            text.push_str(&format!("  ○ {name}  {}\n", self.style.dim(&format!("{loser} — {winner} wins"))));
        }
        text.push('\n');
    }

    fn failed(&self, text: &mut String) {
        let failed = &self.catalog.registry.failed;
        if failed.is_empty() {
            return;
        }
        let title = self.style.error("Not loaded");
        text.push_str(&format!("{title} {}\n", self.style.dim(&format!("({})", failed.len()))));
        for one in failed {
            let place = match one.diagnostics.iter().find_map(|diagnostic| diagnostic.location) {
                Some(at) => format!("{}:{}:{}", self.path(&one.source.file), at.line, at.column),
                None => self.path(&one.source.file),
            };
            let name = one.name.as_deref().map(|name| format!(" ({})", plain(name))).unwrap_or_default();
            text.push_str(&format!("  ✗ {place}{name}: {}\n", plain(one.reason())));
        }
        text.push('\n');
    }

    fn totals(&self) -> String {
        let registry = &self.catalog.registry;
        let mut parts = vec![count(registry.active.len(), "agent")];
        let mut add = |number: usize, what: String| {
            if number > 0 {
                parts.push(what);
            }
        };
        add(registry.shadowed.len(), format!("{} shadowed", registry.shadowed.len()));
        add(registry.failed.len(), format!("{} not loaded", registry.failed.len()));
        let documents = format!("{} without frontmatter", count(registry.documents.len(), "file"));
        add(registry.documents.len(), documents);
        let of = |severity| registry.diagnostics.iter().filter(|one| one.severity == severity).count();
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        let closed = registry.diagnostics.iter().filter(|one| one.rule == Rule::SourceDisabled).count();
        add(closed, format!("{} not read by policy", count(closed, "source")));
        let told = if warnings > 0 { "" } else { " (see `posse lint`)" };
        add(errors, format!("{} besides{told}", count(errors, "error")));
        add(warnings, format!("{} (see `posse lint`)", count(warnings, "warning")));
        format!("{}\n", self.style.dim(&parts.join(", ")))
    }

    /// One agent as written.
    pub fn show(&self, agent: &AgentDefinition) -> String {
        let style = self.style;
        let color = self.colors.of(&agent.name);
        let dot = color.map_or_else(|| "●".to_owned(), |color| style.agent(color, "●"));
        let mut text = format!(
            "{dot} {}  {}\n\n",
            style.bold(&plain(&agent.name)),
            style.dim(&self.source(&agent.source))
        );
        for line in agent.description.lines() {
            text.push_str(&format!("  {}\n", plain(line)));
        }
        text.push('\n');
        for (name, value) in facts(agent) {
            text.push_str(&format!("  {}  {}\n", style.dim(&pad(name, 22)), plain(&value)));
        }
        let body = if agent.body.is_empty() { "(none: the default prompt is used)" } else { &*agent.body };
        text.push_str(&format!("\n{}\n", style.bold("Prompt")));
        for line in body.lines() {
            text.push_str(&format!("  {}\n", plain(line)));
        }
        let problems: Vec<_> = self
            .catalog
            .diagnostics()
            .into_iter()
            .filter(|diagnostic| diagnostic.file == agent.source.file)
            .collect();
        if !problems.is_empty() {
            text.push_str(&format!("\n{}\n", style.bold("Problems")));
            for problem in &problems {
                text.push_str(&diagnostics::one(problem, style, |path| self.path(path)));
            }
        }
        text
    }

    fn source(&self, source: &Source) -> String {
        match source.origin {
            Origin::BuiltIn => "built-in".to_owned(),
            origin => format!("{}, {}", origin.word(), self.path(&source.file)),
        }
    }

    fn path(&self, path: &Path) -> String {
        relative(path, &self.catalog.layout.cwd)
    }
}

/// The fields an author set, with their values in words.
fn facts(agent: &AgentDefinition) -> Vec<(&'static str, String)> {
    let name = |id: FieldId| posse_core::definition::field_row(id).name;
    let words = |words: &[Box<str>]| words.join(", ");
    let mut facts = vec![
        (name(FieldId::Tools), agent.listed_tools()),
        (name(FieldId::Model), agent.model.name().unwrap_or("inherit").to_owned()),
    ];
    let mut add = |id: FieldId, value: Option<String>| facts.extend(value.map(|value| (name(id), value)));
    add(FieldId::Effort, agent.effort.map(|effort| effort.to_string()));
    add(FieldId::PermissionMode, agent.permission_mode.map(|mode| mode.name().to_owned()));
    add(FieldId::Color, agent.color.map(|color| color.name().to_owned()));
    add(FieldId::MaxTurns, agent.max_turns.map(|turns| turns.to_string()));
    add(FieldId::Budget, (!agent.budget.is_unlimited()).then(|| agent.budget.to_string()));
    add(FieldId::Background, agent.background.map(|yes| yes.to_string()));
    add(FieldId::InitialPrompt, agent.initial_prompt.as_ref().map(ToString::to_string));
    add(FieldId::Memory, agent.memory.map(|scope| scope.name().to_owned()));
    add(FieldId::Isolation, agent.isolation.map(|kind| kind.name().to_owned()));
    let events = agent.hooks.iter().map(|group| group.event.name()).collect::<Vec<_>>().join(", ");
    add(FieldId::Hooks, (!agent.hooks.is_empty()).then_some(events));
    let servers =
        agent.mcp_servers.iter().map(posse_core::mcp::McpServer::name).collect::<Vec<_>>().join(", ");
    add(FieldId::McpServers, (!agent.mcp_servers.is_empty()).then_some(servers));
    add(FieldId::Skills, (!agent.skills.is_empty()).then(|| words(&agent.skills)));
    let required = &agent.required_mcp_servers;
    add(FieldId::RequiredMcpServers, (!required.is_empty()).then(|| words(required)));
    add(FieldId::OmitClaudeMd, agent.omit_claude_md.then(|| "true".to_owned()));
    add(FieldId::ForkContext, agent.fork_context.then(|| "true".to_owned()));
    add(FieldId::CriticalSystemReminder, agent.critical_system_reminder.as_ref().map(ToString::to_string));
    add(FieldId::AutoCompactWindow, agent.auto_compact_window.map(|window| window.to_string()));
    add(FieldId::Observer, (!agent.observers.is_empty()).then(|| words(&agent.observers)));
    add(FieldId::ObserverMessage, agent.observer_message.as_ref().map(ToString::to_string));
    facts
}

fn first_line(text: &str) -> String {
    plain(text.trim().lines().next().unwrap_or_default())
}

/// Fills up to a width; what is longer stays whole.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Cuts to a width, with a sign that something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let mut out = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or_default();
        if used > width.saturating_sub(1) {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}
