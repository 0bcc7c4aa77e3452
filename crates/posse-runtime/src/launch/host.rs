//! The program that started the session and stays at the other end: what it answers for, and what it may do while a
//! turn is under way.
//!
//! Knows which of a session's parts can be turned while the conversation is busy. Refuses to know how the program is
//! talked to.

use std::path::Path;
use std::sync::{Arc, Mutex};

use posse_core::model::Names;
use posse_core::permission::{Behavior, Mode, Update};
use posse_core::prompt::Instructions;
use tokio::sync::mpsc::UnboundedSender;

use super::crew::Crew;
use super::live::Live;
use super::models::{Switchboard, Switched};
use super::{Launched, side};
use crate::ask::SharedMode;
use crate::authority::{Applied, Authority, Lasting, RunHooks};
use crate::hooks::{Callbacks, HookCallback, Hooks, Mailbox};
use crate::mcp::{HostServers, Servers};
use crate::model::{SystemPart, ThinkingDisplay};
use crate::run::{Dials, Event, ToolPool};
use crate::tool::{Checkpoints, RewindError, Rewound, Task, TaskKind, Tasks, ToolCx};

/// What a host answers for.
#[derive(Clone, Default)]
pub struct Host {
    /// Its hooks.
    pub callbacks: Option<Arc<dyn Callbacks>>,
    /// Its servers of tools.
    pub servers: Option<Arc<dyn HostServers>>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { callbacks, servers } = self;
        f.debug_struct("Host")
            .field("callbacks", &callbacks.is_some())
            .field("servers", &servers.is_some())
            .finish()
    }
}

/// What can be done to a session while a turn is under way. Copies do it to the same session.
#[derive(Clone)]
pub struct Reins {
    /// How actions are approved.
    pub mode: SharedMode,
    /// What goes on in the background.
    pub tasks: Tasks,
    /// The servers of tools, if there are any.
    pub servers: Option<Servers>,
    pub(super) authority: Arc<Authority>,
    pub(super) crew: Arc<Crew>,
    pub(super) hooks: Hooks,
    names: Names,
    files: Checkpoints,
    events: UnboundedSender<Event>,
    mail: Mailbox,
    pool: ToolPool,
    /// What counts from the next request on.
    pub dials: Dials,
    /// How thoughts are shown.
    pub display: ThinkingDisplay,
    pub(super) board: Switchboard,
    pub(super) switched: Arc<Mutex<Option<Switched>>>,
    pub(super) live: Arc<Live>,
    /// What tools are given, with nobody to ask.
    pub(super) cx: ToolCx,
    pub(super) told: (Arc<[SystemPart]>, ToolPool, Option<Arc<str>>),
    pub(super) instructions: Arc<[Instructions]>,
    pub(super) judge: Arc<side::Side>,
    pub(super) run_hooks: RunHooks,
}

/// What a host has turned in a conversation and stays so in the next.
#[derive(Clone, Debug)]
pub struct Turned {
    lasting: Lasting,
    display: Option<String>,
}

impl Launched {
    /// The callbacks of the host as it gave them last.
    pub fn callbacks(&self) -> Vec<HookCallback> {
        self.hooks.hooks().given_callbacks()
    }

    /// What can be done to it while a turn is under way.
    pub fn reins(&self) -> Reins {
        Reins {
            mode: self.mode.clone(),
            tasks: self.cx.tasks.clone(),
            servers: Some(self.servers.clone()),
            authority: self.run.authority(),
            crew: Arc::clone(&self.crew),
            hooks: self.hooks.hooks().clone(),
            names: self.judge.names.clone(),
            files: self.cx.files.checkpoints().clone(),
            events: self.run.observers(),
            mail: self.hooks.mail().clone(),
            pool: self.run.tools(),
            dials: self.run.dials(),
            display: self.display.clone(),
            board: self.switchboard(),
            switched: Arc::clone(&self.switched),
            live: Arc::clone(&self.live),
            cx: self.run.unattended_context(),
            told: self.run.told(),
            instructions: Arc::clone(&self.instructions),
            judge: Arc::clone(&self.judge),
            run_hooks: self.hooks.clone(),
        }
    }
}

impl Reins {
    /// Approves actions in another way from now on, if that way is open.
    pub fn set_mode(&self, mode: Mode) -> Result<(), &'static str> {
        self.authority.objection_to(mode).map_or(Ok(()), Err)?;
        self.mode.set(mode);
        Ok(())
    }

    /// Whether actions may be approved so.
    pub fn is_open(&self, mode: Mode) -> bool {
        self.authority.objection_to(mode).is_none()
    }

    /// What the host has turned and the conversation that follows this one is to have, too.
    pub fn turned(&self) -> Turned {
        Turned { lasting: self.authority.lasting(), display: self.display.get() }
    }

    /// Has what was turned in another conversation.
    pub fn turn_like(&self, turned: Turned) {
        self.authority.inherit(&turned.lasting);
        self.display.set(turned.display);
    }

    /// Carries out a change of the rules.
    pub fn apply(&self, update: &Update, cwd: &Path) -> Applied {
        self.authority.apply(update, cwd)
    }

    /// Names of the tools of the main agent now.
    pub fn tool_names(&self) -> Vec<String> {
        self.pool.names()
    }

    /// What the host says of the tools of a server from now on, by their full names.
    pub fn set_tool_rules(&self, server: &str, rules: &[(Box<str>, Behavior)]) {
        self.authority.set_tool_rules(server, rules);
    }

    /// How the tools of a server are approved where the session's mode would ask nobody.
    pub fn set_server_mode(&self, server: &str, mode: Option<Mode>) {
        self.authority.set_server_mode(server, mode);
    }

    /// What a tool that nobody but the host calls works with.
    pub fn context(&self, call: &str) -> ToolCx {
        self.cx.for_call(call)
    }

    /// Stops what goes on in the background, by its id.
    pub async fn stop_task(&self, id: &str) -> Option<Task> {
        let id = self.tasks.id_of(id)?;
        self.tasks.stop(&id).await
    }

    /// Stops every agent that nobody waits for.
    pub async fn stop_agents(&self) {
        let at_work = |task: &Task| task.kind == TaskKind::Agent && !task.state.is_over();
        for task in self.tasks.list().into_iter().filter(at_work) {
            self.tasks.stop(&task.id).await;
            // Whoever had it stopped knows.
            self.tasks.saw_end(&task.id);
        }
    }

    /// Sends agents that are waited for to the background: those of one call, or all. Says how many there were.
    pub fn to_background(&self, call: Option<&str>) -> usize {
        self.crew.send_to_background(call)
    }

    /// Replaces the host's hooks; says whether they will be called.
    pub fn set_callbacks(&self, callbacks: Vec<HookCallback>) -> bool {
        self.hooks.set_callbacks(callbacks)
    }

    /// Lets tools be called by other names, too: a single step, for every agent of the session.
    pub fn set_aliases(&self, aliases: impl IntoIterator<Item = (Box<str>, Box<str>)>) {
        self.cx.terms.set_aliases(aliases);
    }

    /// What a model is called on the wire.
    pub fn wire_id(&self, name: &str) -> Box<str> {
        self.names.wire_id(name)
    }

    /// Puts files back as they were before a prompt.
    pub fn rewind(&self, prompt: &str, dry_run: bool) -> Result<Rewound, RewindError> {
        self.files.rewind(prompt, dry_run)
    }

    /// Waits until a hook in the background has something to say that cannot wait: what to tell the model.
    pub async fn woken(&self) -> String {
        self.mail.urgent().await
    }

    /// Lets those who watch know of something.
    pub fn tell(&self, event: Event) {
        // Nobody listening is no reason to stop working.
        let _ = self.events.send(event);
    }
}
