//! From a resolved agent to a run that can be started: prompt, contexts, tools, permissions, hooks. A step that fails
//! names itself.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::definition::AgentDefinition;
use posse_core::delegation::{Cause, Input, NOTES};
use posse_core::event::{Delta, Refusal};
use posse_core::hooks::Common as HookCommon;
use posse_core::hooks::occasion::MemoryType;
use posse_core::message::Message;
use posse_core::origin::Origin;
use posse_core::spec::AgentSpec;
use posse_core::tools::Capability;
use posse_core::turn::Limits;
use posse_core::{price, prompt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::super::servers::{Asker, Belt, with_tools};
use super::super::{powers, tools};
use super::place::{Lodging, Place, kept_in};
use super::seats::Seat;
use super::tree::Home;
use super::{Crew, KnownPool, Member, Standing};
use crate::ask::{Desk, SharedMode};
use crate::authority::{Guard, RunHooks, Subagent, Territory};
use crate::hooks::{HookCx, HookSource};
use crate::memory::{self, Memory};
use crate::model::SystemPart;
use crate::purse::Purse;
use crate::run::{Deferral, RunSetup, ToolPool};
use crate::session::{AgentMeta, EntryWriter, Mirrored, SessionError, SpentBefore, Transcript};
use crate::tool::{AnyTool, Cwd, Inbox, Tasks, Todos, ToolCx, TurnTerms};

/// Built-in agents that are told nothing of the project but its place, answer once and are not continued.
const SCOUTS: [&str; 2] = ["Explore", "Plan"];

/// What a failing step says.
pub(super) fn failed(step: &'static str, why: impl ToString) -> Cause {
    Cause::Start { step, why: why.to_string() }
}

/// What an agent has from its first moment on.
pub(super) struct Born {
    pub(super) id: Box<str>,
    pub(super) name: Option<Box<str>>,
    /// The call it is started by.
    pub(super) call: Box<str>,
    /// What skills allow it.
    pub(super) terms: TurnTerms,
    /// Where it was, if it is not new.
    pub(super) earlier: Option<Earlier>,
}

/// Where an agent of an earlier process was.
pub(super) struct Earlier {
    pub(super) place: Place,
    pub(super) home: Option<Home>,
    pub(super) spent: SpentBefore,
}

impl Crew {
    /// Builds an agent that `caller` starts.
    pub(super) async fn build(
        &self,
        caller: &Member,
        definition: &AgentDefinition,
        spec: &AgentSpec,
        input: &Input,
        born: Born,
    ) -> Result<Arc<Member>, Cause> {
        let common = &self.common;
        let Born { id, name, call, terms, earlier } = born;
        let memory = self.memory_of(spec)?;
        let limits = spec.budget.as_ref().map(|budget| budget.value).unwrap_or_default();
        let spent_before = earlier.as_ref().map(|earlier| earlier.spent).unwrap_or_default();
        let limits = spent_before.taken_from(limits);
        let label = format!("{} {id}", spec.name);
        let purse = caller.setup.purse.child(label, limits).map_err(|error| {
            self.refused(Refusal::Budget);
            failed("open its budget", error)
        })?;
        let mode = SharedMode::from(spec.approval.value.mode);
        let desk = if spec.approval.value.may_ask { common.desk.clone() } else { Desk::default() };
        let capability = spec.pool.capability.clone();
        let reader = powers::is_reader(&capability).then_some(&*spec.name);
        let authority = Arc::clone(&caller.setup.guard.authority);
        let mut notes = Vec::new();
        let confinement = powers::confine(&common.catalog, reader, &authority, &common.world, &mut notes)
            .await
            .map_err(|error| failed("apply the permission mode", error))?;
        for note in notes {
            common.events.delta(posse_core::event::Delta::Note(note));
        }
        let belt = self.belt(definition, spec, &id).await.inspect_err(|_| purse.close())?;
        // Last of what can fail: a copy of the repository that nobody comes to work in would be left behind.
        let isolation = spec.isolation.as_ref().map(|isolation| isolation.value);
        let (place, home) = match earlier {
            Some(earlier) => (earlier.place, earlier.home),
            None => {
                let place = self.place(caller, input, isolation, &id).await;
                (place.inspect_err(|_| purse.close())?, None)
            }
        };
        let Place { cwd, tree, claim } = place;
        let mut cx = self.tool_context(caller, &id, cwd, confinement.sandbox.clone(), terms);
        cx.cwd = kept_in(&cx.cwd, claim.as_ref());
        let hooks = self.hooks_of(caller, spec, &id, &mode);
        cx.terms.hooks().into_iter().for_each(|skill| hooks.take_up(skill));
        let (client, model_id) = self.model_of(caller, &spec.model.value);
        let window = price::context_window(&spec.model.value);
        let explicit = definition.tools.as_ref().is_some_and(|list| {
            !list.is_empty() && !list.iter().any(|entry| entry.pattern == posse_core::tools::ToolPattern::All)
        });
        let pool = self.pool(
            &spec.name,
            &capability,
            &mode,
            confinement.sandbox.as_deref(),
            (explicit, window),
            belt,
        );
        let guard = Guard {
            authority,
            mode,
            capability: capability.clone(),
            desk,
            hooks,
            agent: Some(spec.name.to_string()),
            territory: Territory::new(claim),
            readable: vec![common.spool.clone()],
            writable: memory.iter().map(|memory| memory.folder.clone()).collect(),
            contained: confinement.allows_commands.clone(),
            ..caller.setup.guard.clone()
        };
        let is_scout = definition.source.origin == Origin::BuiltIn && SCOUTS.contains(&&*spec.name);
        let setup = RunSetup {
            model: client,
            model_id,
            system: self.system(spec, &cx, memory.as_ref()),
            opening: self.opening(spec, is_scout),
            greeting: Vec::new(),
            tools: pool,
            guard,
            limits: Limits { max_requests: spec.max_turns.as_ref().map(|turns| turns.value.get()) },
            purse,
            effort: spec.effort.as_ref().map(|effort| effort.value),
            window: spec.auto_compact_window.map_or(window, u64::from),
            final_tool: None,
            bill: crate::run::Bill::default(),
            agent: Some(id.clone()),
            ..caller.setup.clone()
        };
        Ok(Arc::new(Member {
            transcript: self.transcript_of(&id),
            kind: spec.name.clone(),
            name,
            description: input.description.clone(),
            spent_before,
            call,
            parent: caller.id.clone(),
            depth: spec.depth,
            is_fork: false,
            one_shot: is_scout,
            capability,
            may_ask: spec.approval.value.may_ask,
            model: spec.model.value.clone(),
            setup,
            cx,
            base: None,
            seat: Seat::empty(&self.seats),
            lodging: Mutex::new(Lodging::found_again(tree, home)),
            standing: Mutex::new(Standing::Running(CancellationToken::new())),
            to_background: Notify::new(),
            is_waited_for: AtomicBool::new(false),
            confinement: Arc::new(confinement),
            id,
        }))
    }

    /// A copy of the caller that goes on from the same conversation: same words, same tools, same model.
    pub(super) fn build_fork(
        &self,
        caller: &Member,
        input: &Input,
        born: Born,
        place: Place,
        purse: Purse,
        base: Arc<[Message]>,
    ) -> Arc<Member> {
        let Born { id, name, call, terms, earlier } = born;
        let spent_before = earlier.as_ref().map(|earlier| earlier.spent).unwrap_or_default();
        let home = earlier.and_then(|earlier| earlier.home);
        let Place { cwd, tree, claim } = place;
        let mut cx = self.tool_context(caller, &id, cwd, caller.cx.sandbox.clone(), terms);
        cx.cwd = kept_in(&cx.cwd, claim.as_ref());
        let hooks = self.fork_hooks(caller, &id);
        let setup = RunSetup {
            opening: None,
            greeting: Vec::new(),
            guard: Guard {
                hooks,
                agent: Some("fork".into()),
                territory: Territory::new(claim),
                ..caller.setup.guard.clone()
            },
            purse,
            final_tool: None,
            bill: crate::run::Bill::default(),
            agent: Some(id.clone()),
            limits: Limits { max_requests: input.max_turns.map(std::num::NonZero::get) },
            ..caller.setup.clone()
        };
        Arc::new(Member {
            transcript: self.transcript_of(&id),
            kind: "fork".into(),
            name,
            description: input.description.clone(),
            spent_before,
            call,
            parent: caller.id.clone(),
            depth: caller.depth + 1,
            is_fork: true,
            one_shot: false,
            capability: caller.capability.clone(),
            may_ask: caller.may_ask,
            model: caller.model.clone(),
            setup,
            cx,
            base: Some(base),
            seat: Seat::empty(&self.seats),
            lodging: Mutex::new(Lodging::found_again(tree, home)),
            standing: Mutex::new(Standing::Running(CancellationToken::new())),
            to_background: Notify::new(),
            is_waited_for: AtomicBool::new(false),
            confinement: Arc::clone(&caller.confinement),
            id,
        })
    }

    fn tool_context(
        &self,
        caller: &Member,
        id: &str,
        cwd: PathBuf,
        sandbox: Option<Arc<crate::sandbox::Sandbox>>,
        terms: TurnTerms,
    ) -> ToolCx {
        ToolCx {
            cwd: Cwd::new(cwd),
            files: caller.cx.files.fresh(),
            tasks: Tasks::default(),
            todos: Todos::default(),
            stop: CancellationToken::new(),
            call: Box::default(),
            agent: id.into(),
            inbox: Inbox::default(),
            conversation: None,
            terms,
            sandbox,
            ..caller.cx.clone()
        }
    }

    pub(super) fn transcript_of(&self, id: &str) -> PathBuf {
        self.common.folder.as_ref().map(|folder| folder.join(format!("agent-{id}.jsonl"))).unwrap_or_default()
    }

    /// The client of a model and its id there. A main model that is no provider answers for all.
    fn model_of(&self, caller: &Member, name: &str) -> (Arc<dyn crate::model::Model>, Box<str>) {
        let setup = &caller.setup;
        let id = if self.common.one_client || name == &*caller.model {
            setup.model_id.clone()
        } else {
            self.common.catalog.policy.model_names.wire_id(name)
        };
        (Arc::clone(&setup.model), id)
    }

    fn pool(
        &self,
        kind: &str,
        capability: &Capability,
        mode: &SharedMode,
        sandbox: Option<&crate::sandbox::Sandbox>,
        (explicit, window): (bool, u64),
        belt: Arc<Belt>,
    ) -> ToolPool {
        // What a sandbox or a plan has a say in belongs to one agent.
        let shared = sandbox.is_none() && capability.grant("ExitPlanMode").is_none() && belt.is_shared();
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |known: &&KnownPool| &*known.kind == kind && known.capability == *capability;
        if shared && let Some(known) = pools.iter().find(known) {
            return known.pool.fresh();
        }
        let mut tools: Vec<Arc<dyn AnyTool>> = tools::select(capability, self.connected(mode, sandbox));
        if let Some(crew) = self.this.upgrade() {
            tools.extend(crew.tools(capability, !explicit));
        }
        let deferral = Deferral::parse(self.common.world.env.get("ENABLE_TOOL_SEARCH"));
        let pool = if explicit {
            ToolPool::with_search(tools, deferral, window)
        } else {
            ToolPool::lean(tools, deferral, window)
        };
        let pool = pool.and(belt);
        if shared {
            let pool = pool.clone();
            pools.push(KnownPool { kind: kind.into(), capability: capability.clone(), pool });
        }
        pool
    }

    /// What an agent has of the servers. One that needs a server that is not there does not start.
    async fn belt(
        &self,
        definition: &AgentDefinition,
        spec: &AgentSpec,
        id: &str,
    ) -> Result<Arc<Belt>, Cause> {
        let common = &self.common;
        let mut own = spec.mcp_servers.clone();
        own.retain(|server| spec.pool.own_servers.iter().any(|name| **name == *server.name()));
        let asker = Asker {
            id,
            capability: &spec.pool.capability,
            own: &own,
            origin: definition.source.origin,
            strict: common.strict_servers,
        };
        let mut notes = Vec::new();
        let belt = Belt::take(&common.servers, &common.catalog, &common.world, asker, &mut notes).await;
        for note in notes {
            common.events.delta(Delta::Note(format!("agent {}: {note}", spec.name)));
        }
        // Most agents need no server, and then nobody has to be asked.
        let needed = &spec.required_mcp_servers;
        let there = if needed.is_empty() { Vec::new() } else { with_tools(&common.servers) };
        let is_there = |needed: &str| there.iter().any(|server| server.eq_ignore_ascii_case(needed));
        match needed.iter().find(|needed| !is_there(needed)) {
            Some(missing) => Err(failed(
                "connect its MCP servers",
                format!("it needs the server `{missing}`, which is not connected or offers no tools"),
            )),
            None => Ok(Arc::new(belt)),
        }
    }

    /// What never changes first: agents of one kind share it word for word.
    fn system(&self, spec: &AgentSpec, cx: &ToolCx, memory: Option<&Memory>) -> Arc<[SystemPart]> {
        let body = spec.body.trim();
        let main = if body.is_empty() { prompt::DEFAULT_SUBAGENT.trim() } else { body };
        let environment = prompt::Environment {
            cwd: cx.cwd.get().display().to_string(),
            model: spec.model.value.to_string(),
            ..self.common.context.environment.clone()
        };
        Arc::from([
            SystemPart {
                text: match memory {
                    Some(memory) => format!("{main}\n\n{}\n\n{}", memory.section().trim(), NOTES.trim()),
                    None => format!("{main}\n\n{}", NOTES.trim()),
                },
                cache: true,
            },
            SystemPart { text: prompt::environment(&environment), cache: true },
        ])
    }

    /// The memory of an agent that has one.
    fn memory_of(&self, spec: &AgentSpec) -> Result<Option<Memory>, Cause> {
        let Some(scope) = &spec.memory else { return Ok(None) };
        let catalog = &self.common.catalog;
        let memory = memory::open(&catalog.layout, scope.value, &spec.name, catalog.trust.trusted)
            .map_err(|error| failed("open its memory", error))?;
        for note in &memory.notes {
            self.common.events.delta(posse_core::event::Delta::Note(note.to_string()));
        }
        Ok(Some(memory))
    }

    fn opening(&self, spec: &AgentSpec, bare: bool) -> Option<Arc<str>> {
        let mut openings = self.openings.lock().unwrap_or_else(PoisonError::into_inner);
        openings.entry((bare, spec.omit_claude_md)).or_insert_with(|| self.make_opening(spec, bare)).clone()
    }

    fn make_opening(&self, spec: &AgentSpec, bare: bool) -> Option<Arc<str>> {
        let context = &self.common.context;
        let managed = |file: &&prompt::Instructions| file.memory == MemoryType::Managed;
        let instructions: Vec<prompt::Instructions> = match (bare, spec.omit_claude_md) {
            (true, _) => Vec::new(),
            (false, true) => context.instructions.iter().filter(managed).cloned().collect(),
            (false, false) => context.instructions.clone(),
        };
        let git = context.git.as_deref().filter(|_| !bare);
        prompt::opening(&instructions, git).map(Into::into)
    }

    fn hooks_of(&self, caller: &Member, spec: &AgentSpec, id: &str, mode: &SharedMode) -> RunHooks {
        let source = Arc::new(HookSource {
            label: format!("agent {}", spec.name).into(),
            plugin: None,
            is_managed: spec.source.origin == Origin::Managed,
        });
        let hooks = self.common.hooks.scoped(&source, spec.hooks.clone());
        self.run_hooks(caller, hooks, id, &spec.name, mode.clone())
    }

    fn fork_hooks(&self, caller: &Member, id: &str) -> RunHooks {
        let hooks = self.common.hooks.forked(caller.setup.guard.hooks.hooks());
        self.run_hooks(caller, hooks, id, "fork", caller.setup.guard.mode.clone())
    }

    fn run_hooks(
        &self,
        caller: &Member,
        hooks: crate::hooks::Hooks,
        id: &str,
        kind: &str,
        mode: SharedMode,
    ) -> RunHooks {
        let cx = caller.setup.guard.hooks.cx();
        let common = HookCommon {
            agent_id: Some(id.to_owned()),
            agent_type: Some(kind.to_owned()),
            ..cx.common.clone()
        };
        let subagent = Subagent {
            id: id.to_owned(),
            kind: kind.to_owned(),
            transcript: self.transcript_of(id).display().to_string(),
        };
        RunHooks::new(hooks, HookCx { common, ..cx.clone() }, mode, Some(subagent))
    }
}

impl Member {
    /// Opens its transcript, to begin it or to go on.
    pub(super) fn open_transcript(&self, crew: &Crew) -> Result<(Transcript, Vec<Message>), SessionError> {
        let common = &crew.common;
        let stored = (!self.transcript.as_os_str().is_empty()).then_some(self.transcript.as_path());
        let before = match stored.filter(|path| path.exists()) {
            Some(path) => Some(crate::session::load(path, None)?),
            None => None,
        };
        let last = before.as_ref().and_then(|history| history.last.clone());
        let cwd = self.cx.cwd.get().display().to_string();
        let writer = EntryWriter::new(&common.session, &cwd, &common.branch, &common.entrypoint, last)
            .of_agent(&self.id);
        let transcript = Transcript::open(stored, writer)?.mirrored(common.mirror.clone());
        Ok((transcript, before.map(|history| history.messages).unwrap_or_default()))
    }

    /// What it has spent, in earlier processes too.
    fn spent(&self) -> SpentBefore {
        let (spent, seconds, descendants) = self.setup.purse.taken();
        let now =
            SpentBefore { tokens: spent.tokens, microdollars: spent.microdollars, seconds, descendants };
        self.spent_before.and(now)
    }

    /// Writes down what the agent is, beside what it says, and where that is mirrored.
    pub(super) fn write_meta(&self, crew: &Crew, background: bool, ended: Option<&str>) {
        if self.transcript.as_os_str().is_empty() {
            return;
        }
        let meta = AgentMeta {
            agent_type: self.kind.clone(),
            description: self.description.clone(),
            tool_use_id: self.call.clone(),
            spawn_depth: self.depth,
            request_shape: if background { "background" } else { "foreground" }.into(),
            name: self.name.clone(),
            parent_agent_id: (!self.parent.is_empty()).then(|| self.parent.clone()),
            model: Some(self.model.clone()),
            permission_mode: Some(self.setup.guard.mode.current().name().into()),
            cwd: Some(self.cx.cwd.get()),
            worktree: self.lodging().home.as_ref().map(Home::written),
            is_fork: self.is_fork,
            finished: Some(ended.is_some()),
            status: ended.map(Into::into),
            undelivered: None,
            spent: Some(self.spent()),
        };
        // What cannot be written is missed by whoever looks later; the agent works all the same.
        let _ = meta.write(&AgentMeta::beside(&self.transcript));
        if let Some(mirror) = &crew.common.mirror
            && let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(&meta)
        {
            let kind = [("type".to_owned(), "agent_metadata".into())];
            let entry = serde_json::Value::Object(kind.into_iter().chain(fields).collect());
            // A copy that nobody keeps is none.
            let _ = mirror.send(Mirrored { file: self.transcript.clone(), entries: vec![entry] });
        }
    }
}
