//! From what somebody asks for to a run that can be talked to: agent, model, tools, prompt, session.
//!
//! Plain data in, a [`Launched`] out. Frontends parse their flags into a [`LaunchRequest`] and know nothing of how a run
//! is put together; this room knows nothing of flags.

mod crew;
mod models;
mod output;
mod powers;
mod side;
mod start;
mod tools;
mod verifier;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_core::definition::{AgentDefinition, Effort};
use posse_core::event::{Delta, HookNotice, Outcome, What};
use posse_core::failure::RetryPolicy;
use posse_core::hooks::occasion::{EndReason, LoadReason, SessionSource, SetupTrigger};
use posse_core::hooks::{Common, HookEvent, Occasion};
use posse_core::message::Message;
use posse_core::model::ModelChoice;
use posse_core::permission::Mode;
use posse_core::registry::{Failed, Lookup};
use posse_core::turn::Limits;
use posse_core::{budget, price, prompt};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::ask::{Desk, SharedMode};
use crate::authority::{Authority, Guard, RunHooks};
use crate::catalog::{Catalog, CatalogOptions, LoadError};
use crate::context::{self, Wanted};
use crate::hooks::{HookCx, Services};
use crate::model::anthropic::Anthropic;
use crate::model::openai::OpenAi;
use crate::model::rehearsal::{Recorder, Rehearsal, ScriptError};
use crate::model::{Model, SystemPart, Thinking};
use crate::purse::Purse;
use crate::run::{Bill, Deferral, Ended, Event, Run, RunSetup, ToolPool};
use crate::session::{self, EntryWriter, SessionError, Transcript};
use crate::tool::{TaskKind, ToolCx};
use crate::world::{Env, World};

pub use models::NextModel;
pub use output::StructuredOutput;

/// What somebody asks for.
#[derive(Clone, Debug, Default)]
pub struct LaunchRequest {
    /// Where agents and settings come from.
    pub catalog: CatalogOptions,
    /// Run as this agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Another for when that one is overloaded.
    pub fallback_model: Option<String>,
    /// Instead of the default system prompt.
    pub system_prompt: Option<String>,
    /// Behind the system prompt.
    pub append_system_prompt: Option<String>,
    /// `--tools`: which built-in tools there are; `None` means all.
    pub tools: Option<String>,
    /// `--allowedTools`.
    pub allowed_tools: Vec<String>,
    /// `--disallowedTools`.
    pub disallowed_tools: Vec<String>,
    /// How actions are approved.
    pub permission_mode: Option<Mode>,
    /// Whether the mode that asks nothing may be switched to later.
    pub may_bypass: bool,
    /// What sets the session up, if it is to be.
    pub setup: Option<SetupTrigger>,
    /// Requests to the model per turn.
    pub max_turns: Option<u32>,
    /// Dollars for the whole run.
    pub max_budget_usd: Option<f64>,
    /// How hard to try.
    pub effort: Option<Effort>,
    /// How much to think.
    pub thinking: Thinking,
    /// A JSON Schema the answer must fit.
    pub json_schema: Option<Value>,
    /// Which conversation.
    pub session: SessionChoice,
    /// Whether it begins because the last one was cleared away.
    pub after_clear: bool,
    /// Whether nothing is written down.
    pub no_persistence: bool,
    /// Where to record requests and replies.
    pub record: Option<PathBuf>,
    /// Whether raw events of the provider are wanted.
    pub raw_events: bool,
    /// Who started this, for the transcript.
    pub entrypoint: String,
    /// Where a person can be asked; by default nobody can.
    pub desk: Desk,
}

/// Which conversation to have.
#[derive(Clone, Debug, Default)]
pub enum SessionChoice {
    /// A new one.
    #[default]
    New,
    /// A new one with this id.
    NewWith(String),
    /// The last one of this folder.
    Continue {
        /// As a copy, with this id or a new one.
        fork: Option<Option<String>>,
    },
    /// One by id or title.
    Resume {
        /// Which.
        id: String,
        /// As a copy, with this id or a new one.
        fork: Option<Option<String>>,
    },
}

/// Why a run cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Agents or settings.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The script of a rehearsal.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// No such agent.
    #[error("there is no agent called `{name}`; there are {known}")]
    NoAgent {
        /// What was asked for.
        name: String,
        /// Which there are.
        known: String,
    },
    /// What is asked for is not allowed, or not there.
    #[error("{what}")]
    Refused {
        /// What is wrong.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// Commands cannot be confined, and must be.
    #[error("{0}")]
    Sandbox(String),
    /// The schema cannot be used.
    #[error("--json-schema cannot be used: {0}")]
    Schema(String),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
}

/// A run, ready to be talked to.
pub struct Launched {
    /// The run.
    pub run: Run,
    /// What happens in it.
    pub events: UnboundedReceiver<Event>,
    /// What it was launched with.
    pub facts: Facts,
    /// What the tools share; to be shut down at the end.
    pub cx: ToolCx,
    /// How actions are approved from now on.
    pub mode: SharedMode,
    /// What the user should know before anything happens.
    pub notes: Vec<String>,
    hooks: RunHooks,
    /// The model as it was asked for, which tells whose it is.
    model_name: String,
    /// Who is asked beside the conversation.
    judge: Arc<side::Side>,
    /// Everybody but the main agent.
    crew: Arc<crew::Crew>,
    /// Whoever looks for changes on disk; ends with this.
    watching: JoinSet<()>,
    _confinement: powers::Confinement,
}

impl Launched {
    /// Tells hooks that the session begins, and takes what they add to it.
    async fn begin(&mut self, request: &LaunchRequest, instructions: &[prompt::Instructions]) {
        let cwd = self.cx.cwd.get();
        self.run.remember(instructions.to_vec());
        if let Some(trigger) = request.setup
            && self.hooks.hears(HookEvent::Setup)
        {
            let merged = self.hooks.fire(&Occasion::Setup { trigger }, &cwd).await;
            self.take(merged);
        }
        if self.hooks.hears(HookEvent::SessionStart) {
            let occasion = Occasion::SessionStart {
                source: source(request),
                model: Some(self.facts.model.to_string()),
                session_title: None,
            };
            let merged = self.hooks.fire(&occasion, &cwd).await;
            self.take(merged);
        }
        if self.hooks.hears(HookEvent::InstructionsLoaded) {
            for file in instructions {
                let occasion = context::loaded(file, LoadReason::SessionStart);
                let merged = self.hooks.fire(&occasion, &cwd).await;
                self.take(merged);
            }
        }
    }

    fn take(&mut self, merged: posse_core::hooks::Merged) {
        self.notes.extend(merged.system_messages.into_iter().chain(merged.errors));
        self.run.greet(merged.context);
        if let Some(first) = merged.initial_user_message {
            let own = self.facts.initial_prompt.take();
            let texts = own.iter().map(|own| &**own).chain([first.as_str()]);
            self.facts.initial_prompt = Some(texts.collect::<Vec<_>>().join("\n\n").into());
        }
    }

    /// Approves actions in another way from now on, if that way is open.
    pub fn set_mode(&self, mode: Mode) -> Result<(), &'static str> {
        if mode == Mode::BypassPermissions && !self.run.may_bypass() {
            return Err(
                "bypassPermissions is not open here: start with --allow-dangerously-skip-permissions",
            );
        }
        self.mode.set(mode);
        Ok(())
    }

    /// Waits until a hook in the background has something to say that cannot wait: what to tell the model.
    pub async fn woken(&self) -> String {
        self.hooks.mail().woken().await;
        let texts: Vec<String> = self.hooks.mail().take().into_iter().map(|mail| mail.text).collect();
        format!("<system-reminder>\n{}\n</system-reminder>", texts.join("\n"))
    }

    /// Ends the session: hooks hear of it, and nothing it started is left.
    pub async fn end(&mut self, reason: EndReason) {
        if self.hooks.hears(HookEvent::SessionEnd) {
            self.hooks.fire(&Occasion::SessionEnd { reason }, &self.cx.cwd.get()).await;
        }
        self.cx.tasks.shutdown().await;
        self.hooks.hooks().shutdown().await;
        self.crew.disband();
        // Agents that were stopped just now are paid for like all others.
        self.run.pay();
    }

    /// The agents that nobody waits for any longer, for people; nothing if all have ended and been told of.
    pub fn left_behind(&self) -> Option<String> {
        let left = self.cx.tasks.list();
        let names: Vec<String> = left
            .iter()
            .filter(|task| task.kind == TaskKind::Agent && !task.state.is_over())
            .map(|task| format!("`{}`", task.description.as_deref().unwrap_or(&task.command)))
            .collect();
        (!names.is_empty())
            .then(|| format!("stopped what was still at work in the background: {}", names.join(", ")))
    }
}

/// Says something and goes on until nothing is left to hear: an agent in the background that ends after the last answer
/// is told of in a turn of its own. `stop` ends the waiting, and so does the environment's limit.
pub async fn converse(
    run: &mut Run,
    cx: &ToolCx,
    message: Message,
    stop: CancellationToken,
) -> Result<Ended, SessionError> {
    let mut ended = run.prompt(message, stop.clone()).await?;
    while matches!(ended.outcome, Outcome::Answer { .. }) {
        let Some(news) = news(run, cx, &stop).await else {
            if stop.is_cancelled() {
                ended.outcome = Outcome::Cancelled { in_tools: true };
            }
            break;
        };
        let next = run.prompt(Message::user(news), stop.clone()).await?;
        let mut usage = ended.usage;
        usage += next.usage;
        ended = Ended {
            usage,
            denials: ended.denials.into_iter().chain(next.denials).collect(),
            user_messages: ended.user_messages + next.user_messages,
            duration_ms: ended.duration_ms + next.duration_ms,
            ..next
        };
    }
    Ok(ended)
}

/// Waits for agents in the background: what the model is to be told of them, if any are left.
async fn news(run: &Run, cx: &ToolCx, stop: &CancellationToken) -> Option<String> {
    const USUAL: u64 = 600_000;
    let limit = cx.world.env.number("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").unwrap_or(USUAL);
    let patience = async {
        match limit {
            0 => std::future::pending().await,
            limit => tokio::time::sleep(Duration::from_millis(limit)).await,
        }
    };
    tokio::pin!(patience);
    while cx.tasks.is_awaited(TaskKind::Agent) {
        tokio::select! {
            () = cx.tasks.changed() => {}
            () = stop.cancelled() => return None,
            () = &mut patience => return None,
        }
        let mail = run.mail();
        if !mail.is_empty() {
            return Some(mail.join("\n\n"));
        }
    }
    None
}

/// How a session begins, as hooks know it.
fn source(request: &LaunchRequest) -> SessionSource {
    match &request.session {
        SessionChoice::New | SessionChoice::NewWith(_) if request.after_clear => SessionSource::Clear,
        SessionChoice::New | SessionChoice::NewWith(_) => SessionSource::Startup,
        SessionChoice::Continue { fork: Some(_) } | SessionChoice::Resume { fork: Some(_), .. } => {
            SessionSource::Fork
        }
        SessionChoice::Continue { fork: None } | SessionChoice::Resume { fork: None, .. } => {
            SessionSource::Resume
        }
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

/// What frontends tell about a run.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The session.
    pub session: Box<str>,
    /// The model's id.
    pub model: Box<str>,
    /// Names of the tools.
    pub tools: Vec<String>,
    /// The mode.
    pub mode: Mode,
    /// Names of the agents.
    pub agents: Vec<String>,
    /// Plugins: name and path.
    pub plugins: Vec<(String, String)>,
    /// Agents that could not be loaded: file and reason.
    pub failed: Vec<(String, String)>,
    /// Where the key comes from.
    pub key_source: &'static str,
    /// How many tokens the model can hold.
    pub window: u64,
    /// Limit on one answer.
    pub max_tokens: u32,
    /// The working directory.
    pub cwd: PathBuf,
    /// Put before the first prompt.
    pub initial_prompt: Option<Box<str>>,
}

/// Puts a run together.
pub async fn launch(world: &Arc<World>, request: LaunchRequest) -> Result<Launched, LaunchError> {
    let ground = prepare(world, request).await?;
    Ok(assemble(ground).await)
}

/// What a session stands on before anybody is in it.
struct Ground {
    request: LaunchRequest,
    world: Arc<World>,
    catalog: Arc<Catalog>,
    /// Which agent it runs as.
    agent: Option<AgentDefinition>,
    model_name: String,
    model_id: Box<str>,
    model: Arc<dyn Model>,
    session: Opened,
    final_tool: Option<StructuredOutput>,
    bill: Bill,
    mode: SharedMode,
    capability: posse_core::tools::Capability,
    authority: Arc<Authority>,
    confinement: powers::Confinement,
    gathered: context::Context,
    notes: Vec<String>,
}

/// Everything that can refuse the start.
async fn prepare(world: &Arc<World>, request: LaunchRequest) -> Result<Ground, LaunchError> {
    let catalog = Arc::new(Catalog::load(world, &request.catalog)?);
    catalog.check()?;
    let env = world.env.with_defaults(catalog.settings.env.iter().map(|(name, set)| (&**name, &*set.value)));
    let world = Arc::new(World { env, ..(**world).clone() });
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
    notes.extend(catalog.ignored_for_trust());
    let authority = powers::authority(&request, &catalog, &world);
    let reader = agent.as_ref().filter(|_| powers::is_reader(&capability)).map(|agent| &*agent.name);
    let confinement = powers::confine(&catalog, reader, &authority, &world, &mut notes).await?;
    let gathered =
        context::gather(&world, &catalog.layout, &request.catalog.add_dirs, &model_id, wanted(&request))
            .await;
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
        gathered,
        notes,
    })
}

impl Ground {
    fn is_provider(&self) -> bool {
        matches!(Provider::of(&self.model_name), Provider::Anthropic)
    }

    /// A model asked beside the conversation.
    fn side(&self, name: &str) -> side::Side {
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

    fn crew(&self, sender: &UnboundedSender<Event>, hooks: &crate::hooks::Hooks) -> Arc<crew::Crew> {
        let Self { request, catalog, session, .. } = self;
        crew::Crew::new(crew::Common {
            world: Arc::clone(&self.world),
            catalog: Arc::clone(catalog),
            hooks: hooks.clone(),
            desk: request.desk.clone(),
            events: sender.clone().into(),
            session: session.id.as_str().into(),
            entrypoint: request.entrypoint.as_str().into(),
            branch: catalog.layout.repository.as_deref().map(context::branch).unwrap_or_default(),
            folder: (!request.no_persistence).then(|| session.spool.join("subagents")),
            spool: session.spool.clone(),
            context: self.gathered.clone(),
            pages: self.is_provider().then(|| self.side("haiku")),
            search: self.is_provider().then(|| self.side(&self.model_name)),
            one_client: !self.is_provider(),
        })
    }

    /// The tools of the main agent.
    fn tools(&mut self, crew: &Arc<crew::Crew>, window: u64) -> ToolPool {
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
        let tools = ToolPool::with_search(tools, deferral, window);
        tools.load(self.session.history.iter().flat_map(Message::calls).map(|call| &*call.name));
        tools
    }

    fn tool_context(&self) -> ToolCx {
        let mut cx = ToolCx::new(Arc::clone(&self.world), self.session.spool.clone());
        cx.extra_dirs = self.authority.roots().iter().skip(1).cloned().collect();
        cx.sandbox = self.confinement.sandbox.clone();
        cx.hidden = self.authority.hidden();
        cx.env_file = Some(self.session.spool.join("hook-env.sh").into());
        cx
    }

    fn run_hooks(
        &self,
        hooks: crate::hooks::Hooks,
        judge: &Arc<side::Side>,
        sender: &UnboundedSender<Event>,
    ) -> RunHooks {
        let spool = &self.session.spool;
        let services = services(&self.authority, judge, &self.confinement, spool, sender.clone());
        let common = common(&self.request, self.agent.as_ref(), &self.session);
        let cx = HookCx {
            env_file: Some(spool.join("hook-env.sh")),
            entrypoint: self.request.entrypoint.as_str().into(),
            services: Arc::new(services),
            ..HookCx::new(Arc::clone(&self.world), common, spool.clone())
        };
        RunHooks::new(hooks, cx, self.mode.clone(), None)
    }
}

/// Everybody joins.
async fn assemble(mut ground: Ground) -> Launched {
    let (sender, events) = unbounded_channel();
    let agent = ground.agent.clone();
    let session_hooks = powers::hooks(&ground.catalog, agent.as_ref(), &mut ground.notes);
    let crew = ground.crew(&sender, &session_hooks);
    let window = price::context_window(&ground.model_name);
    let final_name = ground.final_tool.as_ref().map(|_| StructuredOutput::NAME.into());
    let tools = ground.tools(&crew, window);
    let judge = Arc::new(ground.side("haiku"));
    let cx = ground.tool_context();
    let hooks = ground.run_hooks(session_hooks, &judge, &sender);
    let Ground { request, world, catalog, session, mode, gathered, notes, .. } = ground;
    let Ground { model_name, model_id, model, bill, capability, authority, confinement, .. } = ground;
    let guard = Guard {
        capability,
        desk: request.desk.clone(),
        judge: Some(judge.clone()),
        readable: vec![session.spool.clone()],
        home: world.env.home().map(Path::to_owned),
        contained: confinement.allows_commands.clone(),
        ..Guard::new(Arc::clone(&authority), mode.clone(), hooks.clone())
    };
    let max_tokens = max_tokens(&world.env);
    let setup = RunSetup {
        world: Arc::clone(&world),
        model,
        model_id: model_id.clone(),
        fallback: request.fallback_model.as_deref().map(|name| catalog.policy.model_names.wire_id(name)),
        system: system(&request, agent.as_ref(), &gathered),
        opening: prompt::opening(&gathered.instructions, gathered.git.as_deref()).map(Into::into),
        greeting: Vec::new(),
        tools: tools.clone(),
        guard,
        limits: limits(&request, agent.as_ref()),
        purse: purse(&request, &catalog, &world),
        thinking: request.thinking,
        effort: request.effort.or(agent.as_ref().and_then(|agent| agent.effort)),
        max_tokens,
        retry: retry_policy(&world.env),
        window,
        final_tool: final_name,
        raw_events: request.raw_events,
        session: session.id.clone().into(),
        bill,
        agent: None,
    };
    crew.enlist_main(setup.clone(), cx.clone(), &model_name, catalog.main.approval.may_ask);
    let told = Told {
        session: &session.id,
        model: &model_id,
        tools: &tools,
        mode: mode.current(),
        window,
        max_tokens,
    };
    let facts = facts(&catalog, agent.as_ref(), &world, told);
    let run = Run::new(setup, session.history, cx.clone(), session.transcript, sender);
    let mut launched = Launched {
        run,
        events,
        facts,
        cx,
        mode,
        notes,
        hooks,
        model_name,
        judge,
        crew,
        watching: JoinSet::new(),
        _confinement: confinement,
    };
    launched.watch(&request, &catalog.layout, authority);
    launched.begin(&request, &gathered.instructions).await;
    launched
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

fn limits(request: &LaunchRequest, agent: Option<&AgentDefinition>) -> Limits {
    Limits { max_requests: request.max_turns.or(agent.and_then(|agent| agent.max_turns.map(Into::into))) }
}

/// What the whole tree of agents may use up: the smallest of what settings and flags say.
fn purse(request: &LaunchRequest, catalog: &Catalog, world: &World) -> Purse {
    let flag = budget::Limits {
        microdollars: request.max_budget_usd.and_then(budget::from_dollars),
        ..budget::Limits::default()
    };
    Purse::new("main", catalog.settings.budget.limits().narrowed(flag), &world.clock)
}

/// What is told of a run that is not in its catalog.
struct Told<'a> {
    session: &'a str,
    model: &'a str,
    tools: &'a ToolPool,
    mode: Mode,
    window: u64,
    max_tokens: u32,
}

fn facts(catalog: &Catalog, agent: Option<&AgentDefinition>, world: &World, told: Told<'_>) -> Facts {
    let plugin =
        |plugin: &crate::catalog::Plugin| (plugin.name.to_string(), plugin.path.display().to_string());
    let failed = |failed: &Failed| (failed.source.file.display().to_string(), failed.reason().to_owned());
    Facts {
        session: told.session.into(),
        model: told.model.into(),
        tools: told.tools.names().map(str::to_owned).collect(),
        mode: told.mode,
        agents: catalog.registry.active.iter().map(|agent| agent.name.to_string()).collect(),
        plugins: catalog.plugins.iter().map(plugin).collect(),
        failed: catalog.registry.failed.iter().map(failed).collect(),
        key_source: key_source(&world.env, catalog.settings.api_key_helper.is_some()),
        window: told.window,
        max_tokens: told.max_tokens,
        cwd: world.cwd.clone(),
        initial_prompt: agent.and_then(|agent| agent.initial_prompt.clone()),
    }
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

/// The flag, then the agent, then environment and settings.
fn model_name(request: &LaunchRequest, agent: Option<&AgentDefinition>, catalog: &Catalog) -> String {
    let flag = request.model.as_deref().map(ModelChoice::parse);
    let own = agent.map(|agent| agent.model.clone());
    let chosen = [flag, own].into_iter().flatten().find_map(|choice| choice.name().map(str::to_owned));
    chosen.unwrap_or_else(|| catalog.main.model.to_string())
}

/// A model by the way it is named: `rehearsal:FILE`, `openai:NAME`, or an Anthropic model.
enum Provider<'n> {
    Rehearsal(&'n str),
    OpenAi(&'n str),
    Anthropic,
}

impl<'n> Provider<'n> {
    fn of(name: &'n str) -> Self {
        match name.split_once(':') {
            Some(("rehearsal", file)) => Self::Rehearsal(file),
            Some(("openai", model)) => Self::OpenAi(model),
            Some(_) | None => Self::Anthropic,
        }
    }
}

/// What a model is called on the wire.
fn wire_id(name: &str, catalog: &Catalog) -> Box<str> {
    match Provider::of(name) {
        Provider::OpenAi(name) => name.into(),
        Provider::Rehearsal(_) => name.into(),
        Provider::Anthropic => catalog.policy.model_names.wire_id(name),
    }
}

fn client(
    name: &str,
    request: &LaunchRequest,
    key_helper: Option<&str>,
    world: &Arc<World>,
) -> Result<Arc<dyn Model>, LaunchError> {
    let model: Arc<dyn Model> = match Provider::of(name) {
        Provider::Rehearsal(file) => Arc::new(Rehearsal::open(&world.cwd.join(file), Arc::clone(world))?),
        Provider::OpenAi(_) => Arc::new(OpenAi::new(world)),
        Provider::Anthropic => Arc::new(Anthropic::new(world, key_helper)),
    };
    match &request.record {
        None => Ok(model),
        Some(path) => {
            let path = world.cwd.join(path);
            let recorder = Recorder::new(model, &path, Arc::clone(world));
            Ok(Arc::new(recorder.map_err(|source| LaunchError::Unwritable { path, source })?))
        }
    }
}

fn key_source(env: &Env, has_helper: bool) -> &'static str {
    if env.get("ANTHROPIC_API_KEY").is_some() {
        "ANTHROPIC_API_KEY"
    } else if has_helper {
        "apiKeyHelper"
    } else {
        "none"
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

/// What never changes first, what changes from day to day last.
fn system(
    request: &LaunchRequest,
    agent: Option<&AgentDefinition>,
    context: &context::Context,
) -> Arc<[SystemPart]> {
    let body = agent.map(|agent| agent.body.trim()).filter(|body| !body.is_empty());
    let main = request.system_prompt.as_deref().or(body).unwrap_or(prompt::DEFAULT).trim().to_owned();
    let mut parts = Vec::new();
    let mut add = |text: String, cache: bool| {
        if !text.is_empty() {
            parts.push(SystemPart { text, cache });
        }
    };
    add(main, true);
    add(request.append_system_prompt.clone().unwrap_or_default(), false);
    // Whoever replaces the whole prompt wants exactly that.
    if request.system_prompt.is_none() {
        add(prompt::environment(&context.environment), true);
    }
    parts.into()
}

fn max_tokens(env: &Env) -> u32 {
    const DEFAULT: u32 = 32_000;
    let set = env.number("CLAUDE_CODE_MAX_OUTPUT_TOKENS").and_then(|tokens| u32::try_from(tokens).ok());
    set.filter(|tokens| *tokens > 0).unwrap_or(DEFAULT)
}

fn retry_policy(env: &Env) -> RetryPolicy {
    let retries = env.number("CLAUDE_CODE_MAX_RETRIES").and_then(|retries| u32::try_from(retries).ok());
    let policy = RetryPolicy::default();
    RetryPolicy { max_retries: retries.unwrap_or(policy.max_retries), ..policy }
}

/// An opened conversation.
struct Opened {
    id: String,
    file: PathBuf,
    history: Vec<Message>,
    transcript: Transcript,
    spool: PathBuf,
}

fn open_session(request: &LaunchRequest, catalog: &Catalog, world: &World) -> Result<Opened, LaunchError> {
    let config = catalog.layout.user.clone().unwrap_or_else(|| world.temp_dir().join("posse"));
    let cwd = &catalog.layout.cwd;
    let (source, fork) = match &request.session {
        SessionChoice::New | SessionChoice::NewWith(_) => (None, None),
        SessionChoice::Continue { fork } => {
            let newest = session::newest(&config, cwd).ok_or(SessionError::Nothing)?;
            (Some(newest), fork.clone())
        }
        SessionChoice::Resume { id, fork } => (Some(session::find(&config, cwd, id)?), fork.clone()),
    };
    let history =
        source.as_ref().map(|found| session::load(&found.path, None)).transpose()?.unwrap_or_default();
    let fresh = || world.ids.uuid();
    let id = match (&request.session, &source, &fork) {
        (SessionChoice::NewWith(id), _, _) => id.clone(),
        (_, Some(_), Some(fork)) => fork.clone().unwrap_or_else(fresh),
        (_, Some(found), None) => found.id.clone(),
        (_, None, _) => fresh(),
    };
    let file = session::session_file(&config, cwd, &id);
    let must_be_new = source.is_none() || fork.is_some();
    if must_be_new && file.exists() {
        return Err(SessionError::InUse(id).into());
    }
    let branch = catalog.layout.repository.as_deref().map(context::branch).unwrap_or_default();
    let writer =
        EntryWriter::new(&id, &cwd.display().to_string(), &branch, &request.entrypoint, history.last.clone());
    let stored = (!request.no_persistence).then_some(file.as_path());
    let mut transcript = Transcript::open(stored, writer)?;
    if fork.is_some() {
        transcript.append(&copied(&history.entries, &id))?;
    }
    Ok(Opened { history: history.messages, transcript, spool: spool(&file), file, id })
}

/// The entries of a conversation as those of its copy.
fn copied(entries: &[Value], id: &str) -> Vec<Value> {
    let own = |entry: &Value| {
        let mut entry = entry.clone();
        let from = entry.get("sessionId").cloned().unwrap_or_default();
        let uuid = entry.get("uuid").cloned().unwrap_or_default();
        entry["forkedFrom"] = serde_json::json!({ "sessionId": from, "messageUuid": uuid });
        entry["sessionId"] = Value::String(id.to_owned());
        entry
    };
    entries.iter().map(own).collect()
}

/// Long outputs lie beside the transcript, in a folder named like it.
fn spool(file: &Path) -> PathBuf {
    file.with_extension("")
}
