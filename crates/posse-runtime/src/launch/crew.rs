//! The agents of a session: who is at work, who waits for a seat, who has ended and can go on.
//!
//! Every agent but the main one is started here, and every one ends in one of the endings of
//! `posse_core::delegation`. A call waits for its agent in the foreground, or is answered at once; the work is the same
//! task either way, so that it can change sides while it runs. Nothing here knows how a turn is driven.

mod build;
mod lifecycle;
mod messages;
mod pace;
mod place;
mod recall;
mod seats;
mod stay;
mod tree;
mod work;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures_util::future::BoxFuture;
use posse_core::definition::AgentDefinition;
use posse_core::delegation::{self, Audience, Options};
use posse_core::permission::Approval;
use posse_core::spec::Parent;
use posse_core::tools::Capability;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::pace::Pace;
use self::place::Lodging;
use self::seats::{Seat, Seats};
pub(super) use self::stay::Lodged;
use super::servers::with_tools;
use super::side::Side;
use super::{powers, tools};
use crate::ask::Desk;
use crate::catalog::Catalog;
use crate::context::Context;
use crate::hooks::Hooks;
use crate::mcp::Servers;
use crate::run::{Events, RunSetup, ToolPool};
use crate::session::SpentBefore;
use crate::skills::Shelf;
use crate::tool::builtin::agent::Agent;
use crate::tool::builtin::send_message::SendMessage;
use crate::tool::builtin::skill::Skill;
use crate::tool::builtin::worktree::{Way, WorktreeTool};
use crate::tool::{AnyTool, ToolCx, ToolOutput};
use crate::world::World;

/// What all agents of a session have in common.
pub(super) struct Common {
    pub(super) world: Arc<World>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) hooks: Hooks,
    pub(super) skills: Arc<Shelf>,
    /// Servers of tools.
    pub(super) servers: Servers,
    /// Whether only those of the command line count.
    pub(super) strict_servers: bool,
    pub(super) desk: Desk,
    pub(super) events: Events,
    pub(super) session: Box<str>,
    pub(super) entrypoint: Box<str>,
    /// Who is handed every line of their transcripts, too.
    pub(super) mirror: Option<tokio::sync::mpsc::UnboundedSender<crate::session::Mirrored>>,
    pub(super) branch: String,
    /// The transcript of the main agent.
    pub(super) transcript: PathBuf,
    /// Where the transcripts of agents go; nowhere if nothing is written down.
    pub(super) folder: Option<PathBuf>,
    /// Where those of the session this one is a copy of are.
    pub(super) copied_from: Option<PathBuf>,
    pub(super) spool: PathBuf,
    /// Standing instructions, repository, machine: as the main agent knows them.
    pub(super) context: Context,
    /// Who reads pages and searches for them.
    pub(super) pages: Option<Side>,
    pub(super) search: Option<Side>,
    /// Whether every model goes to the client of the main one: it is no provider of its own.
    pub(super) one_client: bool,
}

/// The agents of a session.
pub(super) struct Crew {
    this: Weak<Self>,
    pub(super) common: Common,
    seats: Seats,
    pace: Pace,
    pools: Mutex<Vec<KnownPool>>,
    openings: Mutex<Openings>,
    members: Mutex<Members>,
    /// Who is written down from before this process.
    earlier: OnceLock<Vec<recall::Earlier>>,
}

/// What goes before a task, by whether an agent is told of nothing and whether without CLAUDE.md.
type Openings = HashMap<(bool, bool), Option<Arc<str>>>;

/// A pool that was built once: agents of one kind share what it says of its tools.
struct KnownPool {
    kind: Box<str>,
    capability: Capability,
    pool: ToolPool,
}

#[derive(Default)]
struct Members {
    by_id: HashMap<Box<str>, Arc<Member>>,
    names: HashMap<Box<str>, Box<str>>,
}

/// One agent, at work or not.
pub(super) struct Member {
    id: Box<str>,
    pub(super) kind: Box<str>,
    name: Option<Box<str>>,
    description: String,
    /// What it spent in earlier processes.
    spent_before: SpentBefore,
    /// The call it was first started by, and the agent that made it.
    call: Box<str>,
    parent: Box<str>,
    depth: u32,
    is_fork: bool,
    /// Whether it is not to be continued.
    one_shot: bool,
    /// What others inherit from it; its mode is asked for when they do.
    capability: Capability,
    may_ask: bool,
    model: Box<str>,
    pub(super) setup: RunSetup,
    pub(super) cx: ToolCx,
    transcript: PathBuf,
    /// What stood before its own conversation, if it was forked.
    base: Option<Arc<[posse_core::message::Message]>>,
    seat: Seat,
    /// The copy of the repository it works in.
    lodging: Mutex<Lodging>,
    standing: Mutex<Standing>,
    /// Rung when somebody wants it in the background.
    to_background: Notify,
    /// Whether a call waits for it.
    is_waited_for: AtomicBool,
    /// What must live as long as its sandbox; shared with whoever works in the same one.
    confinement: Arc<powers::Confinement>,
}

/// How an agent stands.
#[derive(Clone, Debug)]
enum Standing {
    /// At work, or about to be.
    Running(CancellationToken),
    /// Done.
    Ended,
}

impl Member {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As the one that starts another.
    fn as_parent(&self) -> Parent {
        let mode = self.setup.guard.mode.current();
        Parent {
            name: self.kind.clone(),
            capability: self.capability.clone(),
            approval: Approval { mode, may_ask: self.may_ask && Approval::of(mode).may_ask },
            model: self.model.clone(),
            effort: self.setup.effort,
            depth: self.depth,
        }
    }
}

impl Crew {
    /// A crew with nobody in it.
    pub(super) fn new(common: Common) -> Arc<Self> {
        let seats = Seats::new(&common.world.env);
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            common,
            seats,
            pace: Pace::default(),
            pools: Mutex::default(),
            openings: Mutex::default(),
            members: Mutex::default(),
            earlier: OnceLock::new(),
        })
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The main agent joins: everybody else descends from it.
    pub(super) fn enlist_main(
        &self,
        setup: RunSetup,
        cx: ToolCx,
        model: &str,
        may_ask: bool,
        lodged: Option<Lodged>,
    ) {
        let member = Member {
            id: Box::default(),
            kind: "main".into(),
            name: Some("main".into()),
            description: String::new(),
            spent_before: SpentBefore::default(),
            call: Box::default(),
            parent: Box::default(),
            depth: 0,
            is_fork: false,
            one_shot: true,
            capability: setup.guard.capability.clone(),
            may_ask,
            model: model.into(),
            setup,
            cx,
            transcript: self.common.transcript.clone(),
            base: None,
            seat: Seat::free(),
            lodging: Mutex::new(lodged.map(|lodged| lodged.lodging).unwrap_or_default()),
            standing: Mutex::new(Standing::Running(CancellationToken::new())),
            to_background: Notify::new(),
            is_waited_for: AtomicBool::new(false),
            confinement: Arc::default(),
        };
        self.members().by_id.insert(Box::default(), Arc::new(member));
    }

    /// Lets everybody go. Members hold tools that hold the crew: without this neither would ever be freed.
    pub(super) fn disband(&self) {
        *self.members() = Members::default();
        self.pools.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn member(&self, id: &str) -> Option<Arc<Member>> {
        self.members().by_id.get(id).cloned()
    }

    /// An agent by its id or its name.
    fn find(&self, wanted: &str) -> Option<Arc<Member>> {
        let members = self.members();
        let id = members.names.get(wanted).map_or(wanted, |id| id);
        members.by_id.get(id).cloned()
    }

    /// What an agent with this capability may start, in order.
    fn offered(&self, capability: &Capability) -> Vec<&AgentDefinition> {
        let all: Vec<&AgentDefinition> =
            self.common.catalog.registry.active.iter().filter(|agent| &*agent.name != "fork").collect();
        let policy = &self.common.catalog.policy;
        // Most agents need no server, and then nobody has to be asked.
        let needs_any = all.iter().any(|agent| !agent.required_mcp_servers.is_empty());
        let there = if needs_any { with_tools(&self.common.servers) } else { Vec::new() };
        let servers: Vec<&str> = there.iter().map(|name| &**name).collect();
        delegation::offered(&all, Audience { policy, capability, servers: &servers })
    }

    /// What the main agent may start, in order.
    pub(super) fn startable(&self) -> Vec<&AgentDefinition> {
        let main = self.member("").filter(|main| main.capability.grant(Agent::NAME).is_some());
        main.map(|main| self.offered(&main.capability)).unwrap_or_default()
    }

    fn options(&self) -> Options {
        let env = &self.common.world.env;
        let disabled = self.common.catalog.policy.background_disabled;
        let fork_by_default = self.fork_mode();
        Options {
            background: !disabled && !fork_by_default,
            fork_by_default,
            teams: env.is_on("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"),
        }
    }

    fn fork_mode(&self) -> bool {
        self.common.world.env.is_on("CLAUDE_CODE_FORK_SUBAGENT")
    }

    /// The tools by which an agent with this capability reaches others.
    pub(super) fn tools(self: &Arc<Self>, capability: &Capability, can_wait: bool) -> Vec<Arc<dyn AnyTool>> {
        let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
        if capability.grant(Agent::NAME).is_some() {
            let listing = delegation::listing(&self.offered(capability));
            let options = self.options();
            let description = delegation::description(&listing, options);
            let crew: Arc<dyn crate::tool::crew::Crew> = self.clone();
            tools.push(Arc::new(Agent::new(crew, description, delegation::schema(options), can_wait)));
        }
        if capability.grant(SendMessage::NAME).is_some() {
            tools.push(Arc::new(SendMessage::new(self.clone(), can_wait)));
        }
        for way in [Way::In, Way::Out] {
            if capability.grant(way.name()).is_some() {
                tools.push(Arc::new(WorktreeTool::new(self.clone(), way)));
            }
        }
        let skills = &self.common.skills;
        if capability.grant(Skill::NAME).is_some() && skills.has_any_for_models() {
            tools.push(Arc::new(Skill::new(skills.clone(), self.clone(), skills.description())));
        }
        tools
    }

    /// Built-in tools of an agent, connected to whom they need.
    fn connected<'a>(
        &'a self,
        mode: &'a crate::ask::SharedMode,
        sandbox: Option<&'a crate::sandbox::Sandbox>,
    ) -> tools::Connected<'a> {
        tools::Connected {
            session: &self.common.session,
            pages: self.common.pages.clone(),
            search: self.common.search.clone(),
            desk: &self.common.desk,
            mode,
            sandbox,
        }
    }
}

impl crate::tool::crew::Crew for Crew {
    fn start<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.begin(input, cx))
    }

    fn write<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.deliver(input, cx))
    }

    fn enter<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.enter(input, cx))
    }

    fn leave<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.exit(input, cx))
    }
}
