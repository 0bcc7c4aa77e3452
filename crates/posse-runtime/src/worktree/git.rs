//! Calls of git: with a deadline, a folder, and an environment in which no variable of the caller's points elsewhere.
//! Knows nothing of what the calls are for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::WorktreeError;
use crate::world::{World, process};

/// A call that reads or writes a ref or two.
const SHORT: Duration = Duration::from_secs(60);
/// A call that may write or read every file of a large checkout.
pub(super) const LONG: Duration = Duration::from_secs(900);

/// Variables that say how to reach remotes, where configuration lies and who commits. All others of git's say which
/// repository, index or work tree is meant, and that is for us to say.
const KEPT: &[&str] = &[
    "GIT_ASKPASS",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// Settings for every call. A monitor of file changes is a program, which an agent may have named; the index must be
/// compared with the disk by all that the disk tells, or a change could hide behind an old date.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.quotePath=false",
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=10000",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// The git program, as seen from a world.
#[derive(Clone, Debug)]
pub(super) struct Git {
    env: Vec<(String, String)>,
}

impl Git {
    /// git in this world's environment.
    pub(super) fn new(world: &World) -> Self {
        let kept = |name: &str| !name.starts_with("GIT_") || KEPT.contains(&name);
        let vars =
            world.env.iter().filter(|(name, _)| kept(name) && !name.starts_with("LC_") && *name != "LANG");
        let mut env: Vec<_> = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for (name, value) in [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")] {
            env.push((name.to_owned(), value.to_owned()));
        }
        Self { env }
    }

    /// A call in a folder, in whatever repository that is.
    pub(super) fn at(&self, cwd: &Path) -> Call<'_> {
        Call {
            git: self,
            cwd: cwd.to_owned(),
            vars: Vec::new(),
            settings: Vec::new(),
            input: Vec::new(),
            patience: SHORT,
            hooks: false,
        }
    }
}

/// A call that is being put together.
#[derive(Debug)]
pub(super) struct Call<'g> {
    git: &'g Git,
    cwd: PathBuf,
    vars: Vec<(&'static str, OsString)>,
    settings: Vec<String>,
    input: Vec<u8>,
    patience: Duration,
    hooks: bool,
}

impl Call<'_> {
    /// Sets a variable.
    pub(super) fn var(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.vars.push((name, value.as_ref().to_owned()));
        self
    }

    /// In exactly this repository, wherever the folder belongs. A work tree whose `.git` is gone would otherwise be taken
    /// for a part of the checkout around it.
    pub(super) fn dir(self, dir: &Path) -> Self {
        self.var("GIT_DIR", dir)
    }

    /// With these files.
    pub(super) fn work(self, work: &Path) -> Self {
        self.var("GIT_WORK_TREE", work)
    }

    /// With this index.
    pub(super) fn index(self, index: &Path) -> Self {
        self.var("GIT_INDEX_FILE", index)
    }

    /// Sets a value of the configuration for this call.
    pub(super) fn set(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// What the call reads.
    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// How long it may take.
    pub(super) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// With the user's hooks: the call makes a commit in the user's name.
    pub(super) fn with_hooks(mut self) -> Self {
        self.hooks = true;
        self
    }

    /// Runs git and tells how that ended; an error only if it could not be run to its end.
    pub(super) async fn run<S: AsRef<OsStr>>(
        self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Said, WorktreeError> {
        let mut command = process::command("git", &self.cwd);
        command.env_clear().envs(self.git.env.iter().map(|(name, value)| (name, value)));
        command.envs(self.vars);
        for setting in SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            command.arg("-c").arg(setting);
        }
        if !self.hooks {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let what = what(&args);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |source| WorktreeError::Start { what: what.clone(), source };
        let mut child = command.spawn().map_err(failed)?;
        let (mut stdin, input) = (child.stdin.take(), self.input);
        let feed = async move {
            if let Some(pipe) = &mut stdin {
                // Who does not read to the end says why with its exit code.
                let _ = pipe.write_all(&input).await;
            }
            drop(stdin);
        };
        let both = async { tokio::join!(feed, child.wait_with_output()).1 };
        let output = tokio::time::timeout(self.patience, both).await;
        let output = output
            .map_err(|_| WorktreeError::Late { what: what.clone(), seconds: self.patience.as_secs() })?;
        let output = output.map_err(failed)?;
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok(Said { what, code: output.status.code(), stdout: output.stdout, stderr })
    }

    /// Runs git, which must succeed, and gives what it printed.
    pub(super) async fn bytes<S: AsRef<OsStr>>(
        self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, WorktreeError> {
        let said = self.run(args).await?;
        if said.ok() { Ok(said.stdout) } else { Err(said.error()) }
    }

    /// Runs git, which must succeed, and gives the text it printed.
    pub(super) async fn text<S: AsRef<OsStr>>(
        self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<String, WorktreeError> {
        let bytes = self.bytes(args).await?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    /// Runs git: what it printed, or `None` if it ended with 1, which is how it says no.
    pub(super) async fn answer<S: AsRef<OsStr>>(
        self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Option<String>, WorktreeError> {
        let said = self.run(args).await?;
        match said.code {
            Some(0) => Ok(Some(said.text())),
            Some(1) => Ok(None),
            Some(_) | None => Err(said.error()),
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct Said {
    what: String,
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Said {
    /// Whether it succeeded.
    pub(super) fn ok(&self) -> bool {
        self.code == Some(0)
    }

    /// What it printed.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    /// Its failure.
    pub(super) fn error(self) -> WorktreeError {
        let said = if self.stderr.is_empty() { "no reason given".to_owned() } else { self.stderr };
        WorktreeError::Git { what: self.what, said }
    }
}

/// The name of a call: what comes first and is no option.
fn what(args: &[OsString]) -> String {
    let words = args.iter().map(|arg| arg.to_string_lossy()).take_while(|arg| !arg.starts_with('-'));
    words.take(2).collect::<Vec<_>>().join(" ")
}

/// The parts of output that was asked for with `-z`.
pub(super) fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// A path as git prints it with `-z`.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Paths as git reads them with `-z`.
pub(super) fn joined<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}
