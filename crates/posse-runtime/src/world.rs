//! The one place with ambient authority: arguments, environment, working directory, clock, ids, processes.
//!
//! Everything else is handed a [`World`], so a test can hand it another, and a run in a worktree has its own cwd.

mod clock;
mod env;
mod ids;
pub mod process;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

pub use clock::{Clock, Stopwatch};
pub use env::{BadLimit, Env, LIMITS, LimitVariable};
pub use ids::Ids;

/// Whether this process may do anything on the machine.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The command line of this process, program name included.
#[allow(clippy::disallowed_methods)] // This is the door the lint guards.
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// What surrounds a run.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The command line, program name included.
    pub args: Vec<OsString>,
    /// The environment.
    pub env: Env,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// This program, to be started once more.
    pub program: PathBuf,
    /// What time it is.
    pub clock: Clock,
    /// Where ids come from.
    pub ids: Arc<Ids>,
}

impl World {
    /// Reads the surroundings of this process. Called once, in `main`.
    #[allow(clippy::disallowed_methods)] // This is the door the lint guards.
    pub fn from_process() -> std::io::Result<Self> {
        let vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let env = Env::new(vars);
        Ok(Self {
            args: arguments(),
            cwd: std::env::current_dir()?,
            program: std::env::current_exe().unwrap_or_default(),
            clock: Clock::from_env(&env),
            ids: Arc::new(Ids::from_env(&env)),
            env,
        })
    }

    /// The folder for temporary files.
    pub fn temp_dir(&self) -> PathBuf {
        self.env.get("TMPDIR").unwrap_or("/tmp").into()
    }
}
