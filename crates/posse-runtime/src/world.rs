//! The one place that reads what surrounds the process: arguments, environment, working directory.
//!
//! Everything else is handed a [`World`], so a test can hand it another, and a run in a worktree has its own cwd.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What surrounds a run.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The command line, program name included.
    pub args: Vec<OsString>,
    /// The environment.
    pub env: Env,
    /// The working directory, absolute.
    pub cwd: PathBuf,
}

impl World {
    /// Reads the surroundings of this process. Called once, in `main`.
    #[allow(clippy::disallowed_methods)] // This is the door the lint guards.
    pub fn from_process() -> std::io::Result<Self> {
        let vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Self { args: std::env::args_os().collect(), env: Env { vars }, cwd: std::env::current_dir()? })
    }
}

/// The environment, as it was when the program started.
#[derive(Clone, Debug, Default)]
pub struct Env {
    vars: BTreeMap<String, String>,
}

impl Env {
    /// An environment of one's own making.
    pub fn new<N: Into<String>, V: Into<String>>(vars: impl IntoIterator<Item = (N, V)>) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A switch: `1`, `true`, `yes` or `on`, in any case.
    pub fn is_on(&self, name: &str) -> bool {
        let on = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on");
        self.get(name).is_some_and(on)
    }

    /// The same environment with what settings add; what is already set stays.
    pub fn with_defaults<'a>(&self, defaults: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut vars = self.vars.clone();
        for (name, value) in defaults {
            vars.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        Self { vars }
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new)
    }
}
