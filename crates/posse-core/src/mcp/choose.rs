//! Which of the servers that somebody configured a session has: who wins a name, what policy refuses, what waits for a
//! yes. Pure: it is given what was found and what settings say.

use super::{McpConfig, Policy, clash, expand, normalized};

/// Who configured a server, weakest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum McpSource {
    /// A plugin, by its name.
    Plugin(Box<str>),
    /// The user, for all projects.
    User,
    /// The project: `.mcp.json`.
    Project,
    /// The user, for this project alone.
    Local,
    /// `--mcp-config`.
    Flag,
    /// An agent, in its own file; one given on the command line counts as [`McpSource::Flag`].
    Agent,
    /// The administrator.
    Managed,
}

impl McpSource {
    /// What it is called towards people and programs.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Plugin(_) => "plugin",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Flag => "dynamic",
            Self::Agent => "agent",
            Self::Managed => "managed",
        }
    }
}

/// A server as somebody offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Its name.
    pub name: Box<str>,
    /// How to reach it, or why nobody can tell.
    pub config: Result<McpConfig, String>,
    /// Who says so.
    pub source: McpSource,
}

/// What settings say about servers of `.mcp.json`, which come with a folder and run programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    /// `enableAllProjectMcpServers`.
    pub all: bool,
    /// `enabledMcpjsonServers`.
    pub enabled: Vec<Box<str>>,
    /// `disabledMcpjsonServers`.
    pub disabled: Vec<Box<str>>,
}

/// Everything that decides besides the servers themselves.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What is allowed at all.
    pub policy: Policy,
    /// What was said about `.mcp.json`.
    pub approvals: Approvals,
    /// Whether the folder is trusted.
    pub trusted: bool,
    /// `--strict-mcp-config`: only what the command line gives.
    pub strict: bool,
    /// There is a `managed-mcp.json`: only what it holds.
    pub managed_only: bool,
    /// `strictPluginOnlyCustomization`: only plugins and the administrator may bring servers.
    pub plugin_only: bool,
}

/// Why a server is not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStarted {
    /// Policy refuses it.
    #[error("{0}")]
    Policy(#[from] super::Denied),
    /// The administrator's own servers are all there are.
    #[error("the administrator's managed-mcp.json holds all servers there may be")]
    ManagedOnly,
    /// `--strict-mcp-config`.
    #[error("--strict-mcp-config leaves only the servers of --mcp-config")]
    Strict,
    /// Only plugins may bring servers.
    #[error("the managed settings allow servers only from plugins and administrators")]
    PluginOnly,
    /// The user switched it off.
    #[error("it is switched off")]
    SwitchedOff,
    /// Somebody stronger has a server of that name.
    #[error("a server of this name from the source `{0}` counts instead")]
    Shadowed(&'static str),
    /// Rules for the tools of one server would mean those of another.
    #[error(
        "its tools could not be told from those of `{name}` (source `{source_label}`): rename one of the two"
    )]
    TooAlike {
        /// The server that keeps its name.
        name: Box<str>,
        /// Who configured that one.
        source_label: &'static str,
    },
}

/// Whether a server can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It can.
    Ready,
    /// Not before somebody says yes to it.
    NeedsApproval,
    /// Not before somebody trusts the folder it came with.
    NeedsTrust,
    /// It may not.
    Denied(NotStarted),
    /// Nobody can tell how.
    Broken(String),
}

/// A server, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What was offered; variables are filled in where it is ready.
    pub offered: Offered,
    /// Whether it can be used.
    pub standing: Standing,
}

/// Judges all servers. The result holds every one of them; of those that are [`Standing::Ready`] or wait for approval,
/// each name occurs once.
pub fn choose<'e>(
    mut offered: Vec<Offered>,
    rules: &Rules,
    lookup: &impl Fn(&str) -> Option<&'e str>,
) -> Vec<Chosen> {
    // Strongest first; what came first stays first among equals. Of two that are too much alike, the plainer name stays.
    offered.sort_by_key(|one| (std::cmp::Reverse(one.source.clone()), normalized(&one.name).len()));
    let mut chosen: Vec<Chosen> = Vec::with_capacity(offered.len());
    for mut one in offered {
        let standing = match name_taken(&one.name, &chosen) {
            Some(why) => Standing::Denied(why),
            None => judge(&mut one, rules, lookup),
        };
        chosen.push(Chosen { offered: one, standing });
    }
    chosen.sort_by(|a, b| (&a.offered.name, &b.offered.source).cmp(&(&b.offered.name, &a.offered.source)));
    chosen
}

/// Whether somebody stronger has the name, or one that cannot be told from it.
fn name_taken(name: &str, stronger: &[Chosen]) -> Option<NotStarted> {
    let holding = || stronger.iter().filter(|other| holds(&other.standing)).map(|other| &other.offered);
    if let Some(winner) = holding().find(|other| *other.name == *name) {
        return Some(NotStarted::Shadowed(winner.source.label()));
    }
    let winner = holding().find(|other| clash(&other.name, name))?;
    Some(NotStarted::TooAlike { name: winner.name.clone(), source_label: winner.source.label() })
}

/// Whether a name is taken: also by what is broken, so that a slip in a strong source does not bring a weak one back.
fn holds(standing: &Standing) -> bool {
    match standing {
        Standing::Ready | Standing::NeedsApproval | Standing::NeedsTrust | Standing::Broken(_) => true,
        Standing::Denied(NotStarted::SwitchedOff) => true,
        Standing::Denied(
            NotStarted::Policy(_)
            | NotStarted::ManagedOnly
            | NotStarted::Strict
            | NotStarted::PluginOnly
            | NotStarted::TooAlike { .. }
            | NotStarted::Shadowed(_),
        ) => false,
    }
}

fn judge<'e>(one: &mut Offered, rules: &Rules, lookup: &impl Fn(&str) -> Option<&'e str>) -> Standing {
    if let Some(why) = locked_out(&one.source, rules) {
        return Standing::Denied(why);
    }
    let config = match &one.config {
        Ok(config) => config,
        Err(problem) => return Standing::Broken(problem.clone()),
    };
    let config = match expand(config, lookup) {
        Ok(config) => config,
        Err(missing) => return Standing::Broken(missing.to_string()),
    };
    if let Err(denied) = rules.policy.judge(&one.name, &config) {
        return Standing::Denied(denied.into());
    }
    let standing =
        if one.source == McpSource::Project { approval(&one.name, rules) } else { Standing::Ready };
    one.config = Ok(config);
    standing
}

fn locked_out(source: &McpSource, rules: &Rules) -> Option<NotStarted> {
    let is_managed = *source == McpSource::Managed;
    let is_flag = *source == McpSource::Flag;
    let is_plugin = matches!(source, McpSource::Plugin(_));
    if rules.managed_only && !is_managed {
        Some(NotStarted::ManagedOnly)
    } else if rules.strict && !is_managed && !is_flag {
        Some(NotStarted::Strict)
    } else if rules.plugin_only && !is_managed && !is_plugin {
        Some(NotStarted::PluginOnly)
    } else {
        None
    }
}

/// A server of `.mcp.json` runs programs that came with the folder: it takes trust in the folder and a yes to the
/// server. A no counts in any folder.
fn approval(name: &str, rules: &Rules) -> Standing {
    let listed = |names: &[Box<str>]| names.iter().any(|listed| **listed == *name);
    let Approvals { all, enabled, disabled } = &rules.approvals;
    if listed(disabled) {
        Standing::Denied(NotStarted::SwitchedOff)
    } else if !rules.trusted {
        Standing::NeedsTrust
    } else if *all || listed(enabled) {
        Standing::Ready
    } else {
        Standing::NeedsApproval
    }
}
