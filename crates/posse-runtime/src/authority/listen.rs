//! The hooks of one run, together with everything about the run that they are told.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::hooks::occasion::Stopping;
use posse_core::hooks::{Common, HookEvent, Merged, Occasion};

use tokio::sync::mpsc::UnboundedSender;

use crate::ask::SharedMode;
use crate::hooks::{HookCx, Hooks, Mailbox, Services, SkillHooks};
use crate::world::World;

/// Tells the hooks of a run what happens in it.
#[derive(Clone)]
pub struct RunHooks {
    hooks: Hooks,
    cx: HookCx,
    mode: SharedMode,
    /// The input that is being worked on.
    prompt: Arc<Mutex<Option<String>>>,
    /// What its handlers in the background have said.
    mail: Mailbox,
    /// Who wants to know what else is to be watched.
    watcher: Arc<Mutex<Option<UnboundedSender<Wish>>>>,
    subagent: Option<Subagent>,
}

/// What is to be watched from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// These, instead of those that a hook asked for before.
    Paths(Vec<PathBuf>),
    /// The names that hooks are configured for, in this folder.
    Moved(PathBuf),
}

/// Which sub-agent a run is.
#[derive(Clone, Debug)]
pub struct Subagent {
    /// Its id.
    pub id: String,
    /// What kind of agent.
    pub kind: String,
    /// Where its conversation is written down.
    pub transcript: String,
}

impl RunHooks {
    /// For a run that is told of by `cx`; `cx.common` has its session and agent.
    pub fn new(hooks: Hooks, cx: HookCx, mode: SharedMode, subagent: Option<Subagent>) -> Self {
        let mail = Mailbox::default();
        let services = Services { mail: Arc::new(mail.slot()), ..(*cx.services).clone() };
        let cx = HookCx { services: Arc::new(services), ..cx };
        Self { hooks, cx, mode, prompt: Arc::default(), mail, watcher: Arc::default(), subagent }
    }

    /// Nobody listens.
    pub fn none(world: Arc<World>) -> Self {
        let cx = HookCx::new(world, Common::default(), Path::new(""));
        Self::new(Hooks::default(), cx, SharedMode::default(), None)
    }

    /// Whether anybody cares about an event. Costs nothing.
    pub fn hears(&self, event: HookEvent) -> bool {
        !self.hooks.is_empty_for(event)
    }

    /// Takes the hooks of a skill that the run has used.
    pub fn take_up(&self, skill: &Arc<SkillHooks>) {
        self.hooks.take_up(skill, self.subagent.is_some());
    }

    /// The hooks themselves.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// What hooks are told of the run.
    pub fn cx(&self) -> &HookCx {
        &self.cx
    }

    /// What handlers in the background have said and the model has not read.
    pub fn mail(&self) -> &Mailbox {
        &self.mail
    }

    /// Tells somebody what is to be watched, from now on.
    pub fn watched_by(&self, watcher: UnboundedSender<Wish>) {
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
    }

    /// The input that is being worked on.
    pub fn prompt_id(&self) -> Option<String> {
        self.prompt.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything from now on belongs to this input.
    pub fn begin_prompt(&self, id: &str) {
        *self.prompt.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.to_owned());
    }

    /// Runs everybody who is meant and says what comes of it.
    pub async fn fire(&self, occasion: &Occasion, cwd: &Path) -> Merged {
        let common = Common {
            cwd: cwd.display().to_string(),
            prompt_id: self.prompt_id(),
            permission_mode: Some(self.mode.current().name().to_owned()),
            ..self.cx.common.clone()
        };
        let merged = self.hooks.fire(occasion, &HookCx { common, ..self.cx.clone() }).await;
        if let Some(paths) = &merged.watch_paths {
            self.wish(Wish::Paths(paths.iter().map(|path| cwd.join(path)).collect()));
        }
        merged
    }

    /// Says that the run works in another folder now.
    pub fn moved(&self, cwd: &Path) {
        self.wish(Wish::Moved(cwd.to_owned()));
    }

    fn wish(&self, wish: Wish) {
        if let Some(watcher) = &*self.watcher.lock().unwrap_or_else(PoisonError::into_inner) {
            // A watcher that is gone watches nothing.
            let _ = watcher.send(wish);
        }
    }

    /// The end of a run as hooks know it; nothing if nobody cares.
    pub fn stopping(&self, stopping: Stopping) -> Option<Occasion> {
        let occasion = match &self.subagent {
            None => Occasion::Stop(stopping),
            Some(Subagent { id, kind, transcript }) => Occasion::SubagentStop {
                agent_id: id.clone(),
                agent_type: kind.clone(),
                agent_transcript_path: transcript.clone(),
                stopping,
            },
        };
        self.hears(occasion.event()).then_some(occasion)
    }
}
