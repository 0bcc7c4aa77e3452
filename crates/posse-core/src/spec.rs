//! One agent as it would run: nothing left to inherit, and for everything the answer to "who set this?".
//!
//! [`resolve`] takes a definition, its parent, the call and the policy. It only ever narrows: tools, scopes and mode of
//! a child are the parent's ∩ the definition's ∩ the policy's. The one addition, the agent's own MCP servers, is listed
//! apart so that it can be judged apart.

mod pool;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::budget::Limits;
use crate::definition::{AgentDefinition, Effort, FieldId, Isolation, MemoryScope};
use crate::hooks::HookGroup;
use crate::mcp::McpServer;
use crate::model::{self, ModelChoice};
use crate::origin::{Origin, Source};
use crate::permission::{Approval, Mode};
use crate::settings::{PermissionRule, PluginOnly, Set, SetIn};
use crate::text::Location;
use crate::tools::{Capability, ToolPattern};

pub use pool::{EmptyPool, Pool, Step, Verb, Why, session_pool};

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// Nobody: what holds when nothing is said.
    Default,
    /// The agent that starts this one.
    Parent(Box<str>),
    /// The definition, at this place.
    Definition(Option<Location>),
    /// The call that starts it.
    Call,
    /// An environment variable.
    Environment(&'static str),
    /// A settings file.
    Settings(SetIn),
    /// Nobody trusts the folder it comes from.
    Distrust,
}

/// A value and who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub by: SetBy,
    /// What was wanted instead and why it was not given.
    pub note: Option<String>,
}

impl<T> Sourced<T> {
    /// A value without a story.
    pub fn new(value: T, by: SetBy) -> Self {
        Self { value, by, note: None }
    }
}

/// What holds for every agent of a session.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Deny rules of all layers.
    pub deny: Vec<PermissionRule>,
    /// Who forbids `bypassPermissions`, if anybody.
    pub bypass_disabled: Option<SetIn>,
    /// The only models that may be used.
    pub available_models: Option<Set<Vec<Box<str>>>>,
    /// What only plugins and administrators may bring.
    pub plugin_only: PluginOnly,
    /// Who says so.
    pub plugin_only_by: Option<SetIn>,
    /// Whether the project's folder is not trusted: what its agents bring along to run is left out.
    pub folder_untrusted: bool,
    /// Who switched memory off, if anybody.
    pub memory_off: Option<SetBy>,
    /// Whether agents may run in the background at all.
    pub background_disabled: bool,
    /// `CLAUDE_CODE_SUBAGENT_MODEL`, unless it says `inherit`.
    pub subagent_model: Option<Box<str>>,
    /// Pinned ids of model families.
    pub model_names: model::Names,
    /// How many agents deep spawning may go below the main agent.
    pub max_depth: u32,
}

/// The depth below the main agent at which agents cannot start others, unless configured.
pub const DEFAULT_MAX_DEPTH: u32 = 3;

/// The agent that starts another, as far as the other is concerned.
#[derive(Clone, Debug)]
pub struct Parent {
    /// Its name, for the record.
    pub name: Box<str>,
    /// What it may do.
    pub capability: Capability,
    /// How its actions are approved.
    pub approval: Approval,
    /// Its model.
    pub model: Box<str>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// 0 for the main agent.
    pub depth: u32,
}

/// What the call says.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Another model.
    pub model: Option<Box<str>>,
    /// Another effort.
    pub effort: Option<Effort>,
    /// Foreground or background.
    pub background: Option<bool>,
    /// Another place to work.
    pub isolation: Option<Isolation>,
    /// Another mode.
    pub mode: Option<Mode>,
    /// Another limit.
    pub max_turns: Option<NonZeroU32>,
    /// What it may use.
    pub budget: Limits,
}

/// An agent as it would run.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    /// Its name.
    pub name: Box<str>,
    /// When to use it.
    pub description: Box<str>,
    /// Its system prompt; empty means the default prompt.
    pub body: Arc<str>,
    /// Its tools.
    pub pool: Pool,
    /// Its model.
    pub model: Sourced<Box<str>>,
    /// How hard it thinks; `None` leaves it to the model.
    pub effort: Option<Sourced<Effort>>,
    /// How its actions are approved.
    pub approval: Sourced<Approval>,
    /// Its memory.
    pub memory: Option<Sourced<MemoryScope>>,
    /// Where it works; `None` means where the parent does.
    pub isolation: Option<Sourced<Isolation>>,
    /// Its limit on requests to the model.
    pub max_turns: Option<Sourced<NonZeroU32>>,
    /// What it and all it starts may use, besides what those above it may.
    pub budget: Option<Sourced<Limits>>,
    /// Whether it runs in the background.
    pub background: Sourced<bool>,
    /// Its hooks.
    pub hooks: Vec<HookGroup>,
    /// MCP servers of its own.
    pub mcp_servers: Vec<McpServer>,
    /// Fields the policy took away, with who did.
    pub withheld: Vec<(FieldId, SetBy)>,
    /// Skills it starts with.
    pub skills: Vec<Box<str>>,
    /// Servers without which it is hidden.
    pub required_mcp_servers: Vec<Box<str>>,
    /// Without CLAUDE.md.
    pub omit_claude_md: bool,
    /// With the caller's conversation.
    pub fork_context: bool,
    /// Put before the first prompt, as main agent.
    pub initial_prompt: Option<Box<str>>,
    /// Repeated with every turn.
    pub critical_system_reminder: Option<Box<str>>,
    /// When its conversation is compacted.
    pub auto_compact_window: Option<u32>,
    /// Agents that watch it.
    pub observers: Vec<Box<str>>,
    /// What they are told.
    pub observer_message: Option<Box<str>>,
    /// Where it was found.
    pub source: Source,
    /// How deep below the main agent it runs.
    pub depth: u32,
}

impl AgentSpec {
    /// This agent as the parent of another.
    pub fn as_parent(&self) -> Parent {
        Parent {
            name: self.name.clone(),
            capability: self.pool.capability.clone(),
            approval: self.approval.value,
            model: self.model.value.clone(),
            effort: self.effort.as_ref().map(|effort| effort.value),
            depth: self.depth,
        }
    }
}

/// Why an agent cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A rule forbids it.
    #[error("agent `{agent}` is denied by the rule `{rule}` in {from}")]
    Denied {
        /// The agent.
        agent: Box<str>,
        /// The rule as written.
        rule: Box<str>,
        /// The file.
        from: String,
    },
    /// The parent may not start it.
    #[error("agent `{parent}` may not start `{agent}`: it may start {allowed}")]
    NotSpawnable {
        /// Who tried.
        parent: Box<str>,
        /// Whom.
        agent: Box<str>,
        /// Whom it may.
        allowed: String,
    },
    /// Its tool list resolves to nothing.
    #[error("{0}")]
    EmptyPool(#[from] EmptyPool),
}

/// The deny rule that hides an agent, if any: `Agent(x)`, or the older `Task(x)`.
pub fn denied<'p>(name: &str, policy: &'p Policy) -> Option<&'p PermissionRule> {
    policy.deny.iter().find(|rule| match &rule.pattern {
        ToolPattern::Tool { name: tool, scope: Some(crate::tools::Scope::Agents(agents)) }
            if &**tool == "Agent" =>
        {
            // One name, exactly: a list in a rule matches nothing, as in the reference.
            matches!(agents.as_slice(), [one] if &**one == name)
        }
        ToolPattern::All | ToolPattern::Mcp(_) | ToolPattern::Tool { .. } => false,
    })
}

/// Resolves an agent that another one starts.
pub fn resolve(
    definition: &AgentDefinition,
    parent: &Parent,
    call: &Call,
    policy: &Policy,
) -> Result<AgentSpec, ResolveError> {
    if let Some(rule) = denied(&definition.name, policy) {
        return Err(ResolveError::Denied {
            agent: definition.name.clone(),
            rule: rule.text.clone(),
            from: rule.by.file.display().to_string(),
        });
    }
    if let Some(allowed) = parent.capability.spawnable()
        && !allowed.contains(&&*definition.name)
    {
        let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        return Err(ResolveError::NotSpawnable {
            parent: parent.name.clone(),
            agent: definition.name.clone(),
            allowed,
        });
    }
    // Taken apart completely: a new field does not compile until somebody decides here what it does.
    let AgentDefinition {
        name,
        description,
        body,
        tools: _,
        disallowed_tools: _,
        model: _,
        effort: _,
        permission_mode: _,
        color: _,
        max_turns,
        budget: _,
        background: _,
        initial_prompt,
        memory: _,
        isolation,
        hooks,
        mcp_servers,
        skills,
        required_mcp_servers,
        omit_claude_md,
        fork_context,
        critical_system_reminder,
        auto_compact_window,
        observers,
        observer_message,
        source,
        places: _,
    } = definition.clone();
    let depth = parent.depth + 1;
    let by_definition = |id| SetBy::Definition(definition.location(id));
    let approval = approval(definition, parent, call, policy);
    let memory = memory(definition, policy);
    let background = background(definition, call, policy);
    let mut withheld = Vec::new();
    let hooks =
        keep_trusted(hooks, FieldId::Hooks, policy.plugin_only.hooks, source.origin, policy, &mut withheld);
    let mcp_servers = keep_trusted(
        mcp_servers,
        FieldId::McpServers,
        policy.plugin_only.mcp,
        source.origin,
        policy,
        &mut withheld,
    );
    let (hooks, mcp_servers) = keep_harmless(hooks, mcp_servers, source.origin, policy, &mut withheld);
    let request = pool::Request {
        definition,
        depth,
        max_depth: policy.max_depth,
        plan_mode: approval.value.mode == Mode::Plan,
        background: background.value,
        memory: memory.is_some(),
        mcp_servers: &mcp_servers,
        deny: &policy.deny,
    };
    Ok(AgentSpec {
        pool: pool::resolve(parent, &request)?,
        model: model(definition, parent, call, policy),
        effort: effort(definition, parent, call),
        approval,
        memory,
        isolation: match (call.isolation, isolation) {
            (Some(value), _) => Some(Sourced::new(value, SetBy::Call)),
            (None, Some(value)) => Some(Sourced::new(value, by_definition(FieldId::Isolation))),
            (None, None) => None,
        },
        max_turns: match (call.max_turns, max_turns) {
            (Some(value), Some(own)) if own < value => {
                Some(Sourced::new(own, by_definition(FieldId::MaxTurns)))
            }
            (Some(value), _) => Some(Sourced::new(value, SetBy::Call)),
            (None, Some(value)) => Some(Sourced::new(value, by_definition(FieldId::MaxTurns))),
            (None, None) => None,
        },
        budget: budget(definition, call),
        background,
        name,
        description,
        body,
        hooks,
        mcp_servers,
        withheld,
        skills,
        required_mcp_servers,
        omit_claude_md,
        fork_context,
        initial_prompt,
        critical_system_reminder,
        auto_compact_window,
        observers,
        observer_message,
        source,
        depth,
    })
}

fn keep_trusted<T>(
    items: Vec<T>,
    field: FieldId,
    restricted: bool,
    origin: Origin,
    policy: &Policy,
    withheld: &mut Vec<(FieldId, SetBy)>,
) -> Vec<T> {
    if !restricted || origin.is_admin_trusted() || items.is_empty() {
        return items;
    }
    let by = policy.plugin_only_by.clone().map_or(SetBy::Default, SetBy::Settings);
    withheld.push((field, by));
    Vec::new()
}

/// An agent that came with a folder nobody trusts may run, but starts no programs of its own choosing.
fn keep_harmless(
    hooks: Vec<HookGroup>,
    mut servers: Vec<McpServer>,
    origin: Origin,
    policy: &Policy,
    withheld: &mut Vec<(FieldId, SetBy)>,
) -> (Vec<HookGroup>, Vec<McpServer>) {
    if !policy.folder_untrusted || origin != Origin::Project {
        return (hooks, servers);
    }
    if !hooks.is_empty() {
        withheld.push((FieldId::Hooks, SetBy::Distrust));
    }
    let all = servers.len();
    servers.retain(|server| matches!(server, McpServer::Named(_)));
    if servers.len() < all {
        withheld.push((FieldId::McpServers, SetBy::Distrust));
    }
    (Vec::new(), servers)
}

/// The servers that an agent brings to a session that runs as it.
pub fn own_servers(definition: &AgentDefinition, policy: &Policy) -> Vec<McpServer> {
    let (servers, origin, mut withheld) =
        (definition.mcp_servers.clone(), definition.source.origin, Vec::new());
    let restricted = policy.plugin_only.mcp;
    let servers = keep_trusted(servers, FieldId::McpServers, restricted, origin, policy, &mut withheld);
    let (_, mut servers) = keep_harmless(Vec::new(), servers, origin, policy, &mut withheld);
    servers.retain(|server| pool::server_denied(server.name(), &policy.deny).is_none());
    servers
}

/// The environment's override, then the call, then the definition, then the parent.
fn model(definition: &AgentDefinition, parent: &Parent, call: &Call, policy: &Policy) -> Sourced<Box<str>> {
    let by_parent = || SetBy::Parent(parent.name.clone());
    let wanted =
        match (&policy.subagent_model, call.model.as_deref().map(ModelChoice::parse), &definition.model) {
            (Some(name), _, _) => {
                (ModelChoice::Named(name.clone()), SetBy::Environment("CLAUDE_CODE_SUBAGENT_MODEL"))
            }
            (None, Some(choice), _) => (choice, SetBy::Call),
            (None, None, choice @ ModelChoice::Named(_)) => {
                (choice.clone(), SetBy::Definition(definition.location(FieldId::Model)))
            }
            (None, None, ModelChoice::Inherit) => (ModelChoice::Inherit, by_parent()),
        };
    let (ModelChoice::Named(name), by) = wanted else {
        return Sourced::new(parent.model.clone(), by_parent());
    };
    let id: Box<str> = policy.model_names.id_of(&name).into();
    match &policy.available_models {
        Some(allowed) if !is_available(&name, &id, &allowed.value) => {
            let replacement = replacement(&name, &allowed.value, &policy.model_names);
            let file = allowed.by.file.display();
            let note = format!("`{name}` is not among the available models of {file}");
            match replacement {
                Some(value) => Sourced { value, by: SetBy::Settings(allowed.by.clone()), note: Some(note) },
                None => Sourced { value: parent.model.clone(), by: by_parent(), note: Some(note) },
            }
        }
        Some(_) | None => Sourced::new(id, by),
    }
}

fn is_available(name: &str, id: &str, allowed: &[Box<str>]) -> bool {
    allowed.iter().any(|one| one.eq_ignore_ascii_case(name) || one.eq_ignore_ascii_case(id))
}

/// The newest permitted of the same family.
fn replacement(name: &str, allowed: &[Box<str>], names: &model::Names) -> Option<Box<str>> {
    let family = model::Family::of(name)?;
    let same = allowed.iter().filter(|one| model::Family::of(one) == Some(family));
    same.max_by_key(|one| age(one)).map(|newest| names.id_of(newest).into())
}

/// Orders ids of one family, oldest first: by version, then by date. A bare alias stands for the newest there is.
fn age(id: &str) -> (bool, Vec<u64>, Option<u64>) {
    const SHORTEST_DATE: usize = 8;
    let is_alias = model::Family::ALL.iter().any(|family| id.eq_ignore_ascii_case(family.alias()));
    let numbers = || id.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let version =
        numbers().filter(|digits| digits.len() < SHORTEST_DATE).filter_map(|digits| digits.parse().ok());
    let date = numbers().find(|digits| digits.len() >= SHORTEST_DATE).and_then(|digits| digits.parse().ok());
    (is_alias, version.collect(), date)
}

fn effort(definition: &AgentDefinition, parent: &Parent, call: &Call) -> Option<Sourced<Effort>> {
    if let Some(effort) = call.effort {
        return Some(Sourced::new(effort, SetBy::Call));
    }
    if let Some(effort) = definition.effort {
        return Some(Sourced::new(effort, SetBy::Definition(definition.location(FieldId::Effort))));
    }
    parent.effort.map(|effort| Sourced::new(effort, SetBy::Parent(parent.name.clone())))
}

fn approval(
    definition: &AgentDefinition,
    parent: &Parent,
    call: &Call,
    policy: &Policy,
) -> Sourced<Approval> {
    let by_parent = SetBy::Parent(parent.name.clone());
    let by_definition = SetBy::Definition(definition.location(FieldId::PermissionMode));
    let wanted = match (call.mode, definition.permission_mode) {
        (Some(mode), _) => Some((mode, SetBy::Call)),
        (None, Some(mode)) => Some((mode, by_definition.clone())),
        (None, None) => None,
    };
    let Some((mode, by)) = wanted else { return Sourced::new(parent.approval, by_parent) };
    if mode == Mode::BypassPermissions
        && let Some(set) = &policy.bypass_disabled
    {
        let note = Some(format!("bypassPermissions is switched off by {}", set.file.display()));
        return match definition.permission_mode {
            // The call's wish is void; what the definition says still holds.
            Some(own) if parent.approval.narrowed_to(own) != parent.approval => {
                Sourced { value: parent.approval.narrowed_to(own), by: by_definition, note }
            }
            Some(_) | None => Sourced { value: parent.approval, by: by_parent, note },
        };
    }
    let value = parent.approval.narrowed_to(mode);
    // The call may narrow further what the definition wants, never widen it.
    if let (Some(_), Some(own)) = (call.mode, definition.permission_mode)
        && value.narrowed_to(own) != value
    {
        let note = format!("`{}` was wanted; a call never widens what the definition says", mode.name());
        return Sourced { value: value.narrowed_to(own), by: by_definition, note: Some(note) };
    }
    if value.mode == mode {
        return Sourced::new(value, by);
    }
    let note = format!("`{}` was wanted; a child's mode is never wider than its parent's", mode.name());
    Sourced { value, by: by_parent, note: Some(note) }
}

fn memory(definition: &AgentDefinition, policy: &Policy) -> Option<Sourced<MemoryScope>> {
    let scope = definition.memory?;
    policy
        .memory_off
        .is_none()
        .then(|| Sourced::new(scope, SetBy::Definition(definition.location(FieldId::Memory))))
}

/// Limit by limit, the smaller of what the definition and the call say.
fn budget(definition: &AgentDefinition, call: &Call) -> Option<Sourced<Limits>> {
    let (own, called) = (definition.budget, call.budget);
    let value = own.narrowed(called);
    if value.is_unlimited() {
        return None;
    }
    let by_definition = SetBy::Definition(definition.location(FieldId::Budget));
    Some(if value == own {
        Sourced::new(value, by_definition)
    } else if value == called {
        Sourced::new(value, SetBy::Call)
    } else {
        let note = Some(format!("its definition says {own}, the call {called}: the smaller counts"));
        Sourced { value, by: SetBy::Call, note }
    })
}

fn background(definition: &AgentDefinition, call: &Call, policy: &Policy) -> Sourced<bool> {
    let by_definition = SetBy::Definition(definition.location(FieldId::Background));
    let wanted = match (call.background, definition.background) {
        (_, Some(true)) => Sourced::new(true, by_definition),
        (Some(value), _) => Sourced::new(value, SetBy::Call),
        (None, Some(value)) => Sourced::new(value, by_definition),
        (None, None) => Sourced::new(false, SetBy::Default),
    };
    if wanted.value && policy.background_disabled {
        let note = Some("background tasks are disabled".to_owned());
        return Sourced {
            value: false,
            by: SetBy::Environment("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"),
            note,
        };
    }
    wanted
}

#[cfg(test)]
mod tests;
