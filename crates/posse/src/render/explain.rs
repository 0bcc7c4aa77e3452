//! A resolved agent for people: every value with who set it, every tool with its reason.

use std::path::Path;

use posse_core::definition::field_row;
use posse_core::mcp::McpServer;
use posse_core::spec::{AgentSpec, Parent, SetBy, Sourced, Step, Verb, Why};
use posse_core::tools::{ALL, Grant, Scope};

use super::listing::pad;
use super::relative;
use super::style::{Style, plain};

/// What a page is made of.
pub struct Page<'a> {
    /// The agent.
    pub spec: &'a AgentSpec,
    /// Who starts it.
    pub parent: &'a Parent,
    /// How to write.
    pub style: Style,
    /// Where paths are relative to.
    pub cwd: &'a Path,
}

impl Page<'_> {
    /// The whole page.
    pub fn text(&self) -> String {
        let spec = self.spec;
        let place = if spec.background.value { "in the background" } else { "in the foreground" };
        let file = relative(&spec.source.file, self.cwd);
        let mut text = format!(
            "{}  {}\n",
            self.style.bold(&plain(&spec.name)),
            self.style.dim(&format!("{}, {file}", spec.source.origin.word()))
        );
        let depth = format!("started by {} {place}, depth {}", plain(&self.parent.name), spec.depth);
        text.push_str(&format!("{}\n\n", self.style.dim(&depth)));
        self.values(&mut text);
        self.tools(&mut text);
        text
    }

    fn values(&self, text: &mut String) {
        let spec = self.spec;
        self.row(text, "model", Some(&spec.model), |model| model.to_string());
        self.row(text, "effort", spec.effort.as_ref(), ToString::to_string);
        self.row(text, "permission mode", Some(&spec.approval), |approval| {
            let quiet = if approval.may_ask { "" } else { ", asks nobody" };
            format!("{}{quiet}", approval.mode.name())
        });
        self.row(text, "background", Some(&spec.background), ToString::to_string);
        self.row(text, "memory", spec.memory.as_ref(), |scope| scope.name().to_owned());
        self.row(text, "isolation", spec.isolation.as_ref(), |kind| kind.name().to_owned());
        self.row(text, "turns", spec.max_turns.as_ref(), |turns| format!("at most {turns}"));
        self.row(text, "budget", spec.budget.as_ref(), |budget| format!("at most {budget}"));
        let mut plain_row = |name: &str, value: String| {
            if !value.is_empty() {
                text.push_str(&format!("  {}  {value}\n", self.style.dim(&pad(name, 16))));
            }
        };
        let events = spec.hooks.iter().map(|group| group.event.name()).collect::<Vec<_>>();
        plain_row("hooks", events.join(", "));
        let servers = spec.mcp_servers.iter().map(|server| match server {
            McpServer::Named(name) => format!("{name} (shared)"),
            McpServer::Inline { name, .. } => format!("{name} (its own)"),
        });
        plain_row("MCP servers", servers.collect::<Vec<_>>().join(", "));
        plain_row("needs servers", spec.required_mcp_servers.join(", "));
        plain_row("skills", spec.skills.join(", "));
        plain_row("CLAUDE.md", if spec.omit_claude_md { "left out".into() } else { String::new() });
        let prompt = if spec.body.is_empty() {
            "the default prompt".into()
        } else {
            format!("{} characters", spec.body.chars().count())
        };
        plain_row("prompt", prompt);
        for (field, by) in &spec.withheld {
            plain_row(field_row(*field).name, format!("withheld by {}", who(by, self.cwd)));
        }
    }

    fn row<T>(&self, text: &mut String, name: &str, value: Option<&Sourced<T>>, show: impl Fn(&T) -> String) {
        let name = self.style.dim(&pad(name, 16));
        match value {
            Some(sourced) => {
                let by = self.style.dim(&who(&sourced.by, self.cwd));
                text.push_str(&format!("  {name}  {}  {by}\n", pad(&plain(&show(&sourced.value)), 24)));
                if let Some(note) = &sourced.note {
                    text.push_str(&format!("  {}  {}\n", pad("", 16), self.style.hint(note)));
                }
            }
            None => text.push_str(&format!("  {name}  {}\n", self.style.dim("not set"))),
        }
    }

    fn tools(&self, text: &mut String) {
        let pool = &self.spec.pool;
        let grants = &pool.capability.grants;
        text.push_str(&format!(
            "\n{} {}\n",
            self.style.bold("Tools"),
            self.style.dim(&format!("({} of {})", grants.len(), ALL.len()))
        ));
        for step in
            pool.steps.iter().filter(|step| matches!(step.verb, Verb::Kept | Verb::Limited | Verb::Added))
        {
            let limits =
                grants.iter().find(|grant| grant.tool.name == &*step.subject).map(limits).unwrap_or_default();
            self.step(text, "✓", step, &limits);
        }
        if grants.is_empty() {
            text.push_str(&format!("  {}\n", self.style.dim("no built-in tool")));
        }
        text.push_str(&format!("  {}\n", self.style.dim(&self.mcp())));
        let out: Vec<_> =
            pool.steps.iter().filter(|step| matches!(step.verb, Verb::Removed | Verb::Ignored)).collect();
        if out.is_empty() {
            return;
        }
        text.push_str(&format!(
            "\n{} {}\n",
            self.style.bold("Not in the pool"),
            self.style.dim(&format!("({})", out.len()))
        ));
        for step in out {
            self.step(text, "✗", step, "");
        }
    }

    fn step(&self, text: &mut String, mark: &str, step: &Step, limits: &str) {
        let subject = format!("{}{limits}", plain(&step.subject));
        text.push_str(&format!(
            "  {mark} {}  {}\n",
            pad(&subject, 24),
            self.style.dim(&why(&step.why, self.cwd))
        ));
    }

    fn mcp(&self) -> String {
        let capability = &self.spec.pool.capability;
        if capability.is_closed_to_mcp() {
            return "MCP tools: none of the session's".into();
        }
        if capability.mcp.is_empty() {
            return "MCP tools: all of the session's".into();
        }
        "MCP tools: those of the session's that the entries here admit".into()
    }
}

/// The limits on a tool, as one would write them.
pub fn limits(grant: &Grant) -> String {
    let scope = |scope: &Scope| match scope {
        Scope::Agents(agents) => agents.join(", "),
        Scope::Argument(argument) => argument.to_string(),
        Scope::MemoryFolder(agent) => format!("memory of {agent}"),
    };
    let limit = |any: &[Scope]| format!("({})", any.iter().map(scope).collect::<Vec<_>>().join(" or "));
    grant.limits.iter().map(|one| limit(&one.any_of)).collect::<Vec<_>>().join("∩")
}

/// Who set a value, in words.
pub fn who(by: &SetBy, cwd: &Path) -> String {
    match by {
        SetBy::Default => "default".into(),
        SetBy::Parent(name) => format!("from its parent, {}", plain(name)),
        SetBy::Definition(Some(at)) => format!("its definition, line {}", at.line),
        SetBy::Definition(None) => "its definition".into(),
        SetBy::Call => "the call".into(),
        SetBy::Environment(name) => format!("the environment, {name}"),
        SetBy::Settings(set) => format!("{} settings, {}", set.layer.word(), relative(&set.file, cwd)),
        SetBy::Distrust => "distrust: the folder is not trusted, see `posse trust`".into(),
    }
}

/// The reason for a step, in words.
pub fn why(why: &Why, cwd: &Path) -> String {
    match why {
        Why::Inherited => "its parent has it".into(),
        Why::Listed { entry, at } => format!("`tools` lists {entry}, line {}", at.line),
        Why::NotListed => "not in `tools`".into(),
        Why::Disallowed { entry, at } => format!("`disallowedTools` lists {entry}, line {}", at.line),
        Why::Memory => "added by `memory`".into(),
        Why::OwnServer => "added by `mcpServers`".into(),
        Why::MainAgentOnly => "only the main agent has it".into(),
        Why::PlanModeOnly => "only in plan mode".into(),
        Why::DepthLimit(depth) => format!("agents {depth} deep cannot start others"),
        Why::Background => "agents in the background cannot use it".into(),
        Why::NotInParent(parent) => format!("its parent, {}, does not have it", plain(parent)),
        Why::DenyRule { rule, by } => format!("denied by {rule} in {}", relative(&by.file, cwd)),
        Why::NoSuchTool { at } => format!("no such tool, line {}", at.line),
    }
}
