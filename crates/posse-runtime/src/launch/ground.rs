//! What a session stands on before anybody is in it. Everything that can refuse the start is here.

use std::path::Path;
use std::sync::Arc;

use posse_core::definition::AgentDefinition;
use posse_core::event::{Delta, HookNotice, What};
use posse_core::hooks::Common;
use posse_core::message::Message;
use posse_core::origin::Origin;
use posse_core::registry::Lookup;
use posse_core::spec;
use tokio::sync::mpsc::UnboundedSender;

use super::assemble::retry_policy;
use super::opened::{Opened, open_session};
use super::provider::{Provider, client, model_name, wire_id};
use super::servers::{self, Asker, Belt};
use super::{
    LaunchError, LaunchRequest, StructuredOutput, crew, powers, side, skills, start, tools, verifier,
};
use crate::ask::SharedMode;
use crate::authority::{Authority, RunHooks};
use crate::catalog::Catalog;
use crate::context::{self, Wanted};
use crate::hooks::{HookCx, Services};
use crate::mcp::Servers;
use crate::memory::{self, Memory};
use crate::model::Model;
use crate::run::{Bill, Deferral, Event, ToolPool};
use crate::tool::{Checkpoints, FileState, ToolCx};
use crate::world::World;

/// What a session stands on before anybody is in it.
pub(super) struct Ground {
    pub(super) request: LaunchRequest,
    pub(super) world: Arc<World>,
    pub(super) catalog: Arc<Catalog>,
    /// Which agent it runs as.
    pub(super) agent: Option<AgentDefinition>,
    pub(super) model_name: String,
    pub(super) model_id: Box<str>,
    pub(super) model: Arc<dyn Model>,
    pub(super) session: Opened,
    pub(super) final_tool: Option<StructuredOutput>,
    pub(super) bill: Bill,
    pub(super) mode: SharedMode,
    pub(super) capability: posse_core::tools::Capability,
    pub(super) authority: Arc<Authority>,
    pub(super) confinement: powers::Confinement,
    /// What the main agent remembers, if it does.
    pub(super) memory: Option<Memory>,
    pub(super) gathered: context::Context,
    pub(super) shelf: Arc<crate::skills::Shelf>,
    pub(super) servers: Servers,
    /// What the main agent has of the servers.
    pub(super) belt: Arc<Belt>,
    pub(super) notes: Vec<String>,
}

/// Everything that can refuse the start.
pub(super) async fn prepare(world: &Arc<World>, request: LaunchRequest) -> Result<Ground, LaunchError> {
    let catalog = Arc::new(Catalog::load(world, &request.catalog)?);
    catalog.check()?;
    let env = world.env.with_defaults(catalog.settings.env.iter().map(|(name, set)| (&**name, &*set.value)));
    let world = Arc::new(World { env, ..(**world).clone() });
    start::check_limits(&world)?;
    let mut notes = start::check_tools(&request)?;
    let agent = main_agent(&catalog, start::agent(&request, &catalog, &mut notes))?.cloned();
    let model_name = model_name(&request, agent.as_ref(), &catalog);
    let model_id = wire_id(&model_name, &catalog);
    let key_helper = catalog.settings.api_key_helper.as_ref().map(|set| &*set.value);
    let model = client(&model_name, &request, key_helper, &world)?;
    let session = open_session(&request, &catalog, &world)?;
    let final_tool =
        request.json_schema.as_ref().map(StructuredOutput::new).transpose().map_err(LaunchError::Schema)?;
    let mode = SharedMode::from(start::mode(&request, &catalog, &world, &mut notes)?);
    let capability = tools::capability(&request, agent.as_ref(), &catalog);
    notes.extend(catalog.ignored_for_trust().into_iter().chain(catalog.plugin_note()));
    let authority = powers::authority(&request, &catalog, &world);
    let memory = main_memory(agent.as_ref(), &catalog, &mut notes)?;
    let reader = agent.as_ref().filter(|_| powers::is_reader(&capability)).map(|agent| &*agent.name);
    let confinement = powers::confine(&catalog, reader, &authority, &world, &mut notes).await?;
    let servers = servers::open(&world, &catalog, &request, &authority.roots(), &mut notes)?;
    let belt = main_belt(&servers, &catalog, &world, agent.as_ref(), &capability, &request, &mut notes).await;
    let shelf = skills::shelf(&world, &catalog, &request, &session.id, &model_name);
    notes.extend(shelf.notes(&catalog.trust.folder));
    let dirs = &request.catalog.add_dirs;
    let gathered = context::gather(&world, &catalog.layout, dirs, &model_id, wanted(&request)).await;
    Ok(Ground {
        request,
        world,
        catalog,
        agent,
        model_name,
        model_id,
        model,
        session,
        final_tool,
        bill: Bill::default(),
        mode,
        capability,
        authority,
        confinement,
        memory,
        gathered,
        shelf,
        servers,
        belt,
        notes,
    })
}

impl Ground {
    fn is_provider(&self) -> bool {
        matches!(Provider::of(&self.model_name), Provider::Anthropic)
    }

    /// A model asked beside the conversation.
    pub(super) fn side(&self, name: &str) -> side::Side {
        let names = self.catalog.policy.model_names.clone();
        side::Side {
            model: Arc::clone(&self.model),
            id: if self.is_provider() { names.wire_id(name) } else { self.model_id.clone() },
            world: Arc::clone(&self.world),
            session: self.session.id.as_str().into(),
            names,
            bill: self.bill.clone(),
        }
    }

    pub(super) fn crew(
        &self,
        sender: &UnboundedSender<Event>,
        hooks: &crate::hooks::Hooks,
    ) -> Arc<crew::Crew> {
        let Self { request, catalog, session, .. } = self;
        crew::Crew::new(crew::Common {
            world: Arc::clone(&self.world),
            catalog: Arc::clone(catalog),
            hooks: hooks.clone(),
            skills: Arc::clone(&self.shelf),
            servers: self.servers.clone(),
            strict_servers: request.strict_mcp,
            desk: request.desk.clone(),
            events: sender.clone().into(),
            session: session.id.as_str().into(),
            entrypoint: request.entrypoint.as_str().into(),
            mirror: request.mirror.clone(),
            branch: catalog.layout.repository.as_deref().map(context::branch).unwrap_or_default(),
            transcript: session.file.clone(),
            folder: (!request.no_persistence).then(|| session.spool.join("subagents")),
            copied_from: session.copied_from.as_ref().map(|spool| spool.join("subagents")),
            spool: session.spool.clone(),
            context: self.gathered.clone(),
            pages: self.is_provider().then(|| self.side("haiku")),
            search: self.is_provider().then(|| self.side(&self.model_name)),
            one_client: !self.is_provider(),
        })
    }

    /// The tools of the main agent.
    pub(super) fn tools(&mut self, crew: &Arc<crew::Crew>, window: u64) -> ToolPool {
        let connected = tools::Connected {
            session: &self.session.id,
            pages: self.is_provider().then(|| self.side("haiku")),
            search: self.is_provider().then(|| self.side(&self.model_name)),
            desk: &self.request.desk,
            mode: &self.mode,
            sandbox: self.confinement.sandbox.as_deref(),
        };
        let mut tools = tools::select(&self.capability, connected);
        tools.extend(crew.tools(&self.capability, false));
        tools.extend(self.final_tool.take().map(|tool| Arc::new(tool) as _));
        let deferral = Deferral::parse(self.world.env.get("ENABLE_TOOL_SEARCH"));
        let tools = ToolPool::with_search(tools, deferral, window).and(self.belt.clone());
        tools.load(self.session.history.iter().flat_map(Message::calls).map(|call| &*call.name));
        tools
    }

    pub(super) fn tool_context(&self) -> ToolCx {
        let mut cx = ToolCx::new(Arc::clone(&self.world), self.session.spool.clone());
        cx.extra_dirs = self.authority.roots().iter().skip(1).cloned().collect();
        cx.sandbox = self.confinement.sandbox.clone();
        cx.hidden = self.authority.hidden();
        if self.request.checkpoints && !self.request.no_persistence {
            cx.files = FileState::kept_by(Checkpoints::open(&self.session.spool.join("checkpoints")));
        }
        cx.env_file = Some(self.session.spool.join("hook-env.sh").into());
        cx
    }

    pub(super) fn run_hooks(
        &self,
        hooks: crate::hooks::Hooks,
        judge: &Arc<side::Side>,
        sender: &UnboundedSender<Event>,
    ) -> RunHooks {
        let spool = &self.session.spool;
        let services = Services {
            callbacks: self.request.host.callbacks.clone(),
            mcp: Some(Arc::new(self.servers.clone())),
            ..services(&self.authority, judge, &self.confinement, spool, sender.clone())
        };
        let common = common(&self.request, self.agent.as_ref(), &self.session);
        let cx = HookCx {
            env_file: Some(spool.join("hook-env.sh")),
            entrypoint: self.request.entrypoint.as_str().into(),
            services: Arc::new(services),
            project_dir: self.catalog.layout.project.clone(),
            ..HookCx::new(Arc::clone(&self.world), common, spool.clone())
        };
        RunHooks::new(hooks, cx, self.mode.clone(), None)
    }
}

/// Who helps hooks.
fn services(
    authority: &Arc<Authority>,
    judge: &Arc<side::Side>,
    confinement: &powers::Confinement,
    spool: &Path,
    events: UnboundedSender<Event>,
) -> Services {
    let checker = verifier::Checker {
        side: Arc::clone(judge),
        authority: Arc::clone(authority),
        sandbox: confinement.sandbox.clone(),
        spool: spool.to_owned(),
        retry: retry_policy(&judge.world.env),
    };
    Services {
        condition: Arc::new(powers::condition(authority, &judge.world)),
        notices: Arc::new(show_hooks(events)),
        judge: Some(judge.clone()),
        verifier: Some(Arc::new(checker)),
        ..Services::default()
    }
}

/// What every hook of a session is told.
fn common(request: &LaunchRequest, agent: Option<&AgentDefinition>, session: &Opened) -> Common {
    Common {
        session_id: session.id.clone(),
        transcript_path: session.file.display().to_string(),
        effort: request.effort.map(|effort| effort.to_string()),
        agent_type: agent.map(|agent| agent.name.to_string()),
        ..Common::default()
    }
}

/// Lets frontends see hooks at work.
fn show_hooks(events: UnboundedSender<Event>) -> impl Fn(HookNotice) {
    move |notice| {
        // Nobody watching is no reason not to run.
        let _ = events.send(Event { what: What::Delta(Delta::Hook(notice)), ids: Vec::new(), from: None });
    }
}

/// The memory of the agent a session runs as.
fn main_memory(
    agent: Option<&AgentDefinition>,
    catalog: &Catalog,
    notes: &mut Vec<String>,
) -> Result<Option<Memory>, LaunchError> {
    let Some(agent) = agent.filter(|_| catalog.policy.memory_off.is_none()) else { return Ok(None) };
    let Some(scope) = agent.memory else { return Ok(None) };
    let memory = memory::open(&catalog.layout, scope, &agent.name, catalog.trust.trusted);
    let memory = memory.map_err(|error| LaunchError::Refused {
        what: format!("the memory of {} cannot be opened: {error}", agent.name),
        hint: "mend the folder, or take `memory` out of the agent's file",
    })?;
    notes.extend(memory.notes.iter().map(ToString::to_string));
    Ok(Some(memory))
}

/// What the main agent has of the servers; those of the agent the session runs as among them.
async fn main_belt(
    servers: &Servers,
    catalog: &Catalog,
    world: &World,
    agent: Option<&AgentDefinition>,
    capability: &posse_core::tools::Capability,
    request: &LaunchRequest,
    notes: &mut Vec<String>,
) -> Arc<Belt> {
    let own = agent.map(|agent| spec::own_servers(agent, &catalog.policy)).unwrap_or_default();
    let asker = Asker {
        id: "",
        capability,
        own: &own,
        origin: agent.map_or(Origin::BuiltIn, |agent| agent.source.origin),
        strict: request.strict_mcp,
    };
    Arc::new(Belt::take(servers, catalog, world, asker, notes).await)
}

fn main_agent<'c>(
    catalog: &'c Catalog,
    name: Option<&str>,
) -> Result<Option<&'c AgentDefinition>, LaunchError> {
    let Some(name) = name else { return Ok(None) };
    match catalog.registry.lookup(name) {
        Lookup::Found(agent) => Ok(Some(agent)),
        Lookup::Ambiguous(_) | Lookup::Unknown(_) => {
            let known =
                catalog.registry.active.iter().map(|agent| &*agent.name).collect::<Vec<_>>().join(", ");
            Err(LaunchError::NoAgent { name: name.to_owned(), known })
        }
    }
}

/// Which instructions count follows from which settings do.
fn wanted(request: &LaunchRequest) -> Wanted {
    let sources = request.catalog.sources;
    let all = !request.catalog.bare;
    Wanted {
        user: sources.user && all,
        project: sources.project && all,
        local: sources.local && all,
        git: all,
    }
}
