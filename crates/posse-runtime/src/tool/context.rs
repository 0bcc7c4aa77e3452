//! What a tool is given: where it runs, how it is stopped, what the run remembers of files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::message::Message;
use tokio_util::sync::CancellationToken;

use super::{FileState, Hidden, Inbox, Permit, Tasks, Todos, TurnTerms};
use crate::sandbox::Sandbox;
use crate::world::{Env, World};

/// Everything a tool may use.
#[derive(Clone, Debug)]
pub struct ToolCx {
    /// The surroundings: environment, clock, ids. Its `cwd` is where the session started; use [`ToolCx::cwd`].
    pub world: Arc<World>,
    /// Where the run works now; `cd` in Bash moves it.
    pub cwd: Cwd,
    /// Folders besides the working directory that belong to the run (`--add-dir`).
    pub extra_dirs: Arc<[PathBuf]>,
    /// What the run has read and written, for read-before-write.
    pub files: FileState,
    /// What goes on in the background, shared by the session. Whoever begins one calls [`Tasks::shutdown`] at its end.
    pub tasks: Tasks,
    /// The run's to-do list.
    pub todos: Todos,
    /// What confines the commands of the run. Without it they can do what the user can.
    pub sandbox: Option<Arc<Sandbox>>,
    /// What hooks want every command to begin with: a file that is sourced, if it is there.
    pub env_file: Option<Arc<Path>>,
    /// Cancelled when the user interrupts.
    pub stop: CancellationToken,
    /// Where long output goes: the session's own folder, created on demand.
    pub spool: Arc<Path>,
    /// The id of the call.
    pub call: Box<str>,
    /// Which agent this is; empty for the main one.
    pub agent: Arc<str>,
    /// What searches pass over.
    pub hidden: Hidden,
    /// What others have written to it.
    pub inbox: Inbox,
    /// Whom to ask before doing what is another tool's.
    pub permit: Permit,
    /// What a skill asked for until the turn ends.
    pub terms: TurnTerms,
    /// What was said so far, for tools that hand it on.
    pub conversation: Option<Arc<[Message]>>,
    /// Who hears how far the call has come.
    pub progress: ToolProgress,
    /// Whether whoever calls hears of nothing but the answer: an agent it starts must not go on in the background.
    pub only_waits: bool,
}

impl ToolCx {
    /// What the tools of a run share, for a run that begins at `world.cwd`.
    pub fn new(world: Arc<World>, spool: impl Into<Arc<Path>>) -> Self {
        Self {
            cwd: Cwd::new(&world.cwd),
            world,
            extra_dirs: Arc::from([]),
            files: FileState::default(),
            tasks: Tasks::default(),
            todos: Todos::default(),
            sandbox: None,
            env_file: None,
            stop: CancellationToken::new(),
            spool: spool.into(),
            call: Box::default(),
            agent: Arc::from(""),
            hidden: Hidden::default(),
            inbox: Inbox::default(),
            permit: Permit::default(),
            terms: TurnTerms::default(),
            conversation: None,
            progress: ToolProgress::default(),
            only_waits: false,
        }
    }

    /// The same for one call, with a stop of its own below the run's.
    pub fn for_call(&self, call: &str) -> Self {
        Self { call: call.into(), stop: self.stop.child_token(), ..self.clone() }
    }

    /// A path as a model gives it: `~` is the home folder, what is relative starts at the cwd.
    pub fn resolve(&self, path: &str) -> PathBuf {
        let env: &Env = &self.world.env;
        let path = match (path.strip_prefix("~/"), env.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            (None, Some(home)) if path == "~" => home.to_owned(),
            _ => PathBuf::from(path),
        };
        self.cwd.get().join(path)
    }
}

/// Tells how far a call has come, if anybody wants to hear of it.
#[derive(Clone, Default)]
pub struct ToolProgress(Option<Arc<dyn Fn(String) + Send + Sync>>);

impl ToolProgress {
    /// Tells this one.
    pub fn new(hear: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }

    /// Tells it, in a few words.
    pub fn tell(&self, text: String) {
        if let Some(hear) = &self.0 {
            hear(text);
        }
    }
}

impl std::fmt::Debug for ToolProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ToolProgress").field(&self.0.is_some()).finish()
    }
}

/// A run's working directory.
#[derive(Clone, Debug)]
pub struct Cwd {
    at: Arc<Mutex<PathBuf>>,
    /// Where it works, and which folders around that are not its to work in.
    bounds: Option<Arc<(Vec<PathBuf>, Vec<PathBuf>)>>,
}

impl Cwd {
    /// Starts at a folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { at: Arc::new(Mutex::new(path.into())), bounds: None }
    }

    /// The same, for a run that works below `roots` and must stay out of what is `fenced`.
    #[must_use]
    pub fn within(&self, roots: &[PathBuf], fenced: &[PathBuf]) -> Self {
        let bounds = (!fenced.is_empty()).then(|| Arc::new((roots.to_vec(), fenced.to_vec())));
        Self { at: Arc::new(Mutex::new(self.get())), bounds }
    }

    /// Where the run is.
    pub fn get(&self) -> PathBuf {
        self.at.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves the run.
    pub fn set(&self, path: PathBuf) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }

    /// Follows a command that moved; says whether it may stay there. If not, the run is where it was.
    pub fn follow(&self, path: PathBuf) -> bool {
        let below = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        let strays = self.bounds.as_ref().is_some_and(|bounds| below(&bounds.1) && !below(&bounds.0));
        if !strays {
            self.set(path);
        }
        !strays
    }
}
