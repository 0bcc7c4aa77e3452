//! Starting other programs. The only place that may: whoever starts one says where it runs, and owns all that comes
//! of it.
//!
//! A [`Tree`] is a program with everything it started. Ending it must reach processes that left their group or
//! session (`setsid`) and those whose parents are gone (`nohup … &`), also when this process is killed. On Linux a
//! minder stands between: a posse of its own that adopts orphans, so that all of the tree stays below it, and that ends
//! them when it is told to or when nobody is there to tell it (`mind`). Should the program kill its minder, or should
//! there be none, three things together find the tree: this process adopts orphans, too; every process inherits a mark
//! in its environment; and sessions and parents are in `/proc`. Elsewhere the process group is all there is.

#[cfg(target_os = "linux")]
mod ending;
mod group;
#[cfg(target_os = "linux")]
pub mod mind;
mod minder;
#[cfg(target_os = "linux")]
mod table;
mod wire;

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe;
use tokio::process::{ChildStderr, ChildStdout, Command};

#[cfg(not(target_os = "linux"))]
use group::Group as Kin;
use minder::Minder;
#[cfg(target_os = "linux")]
use table::Kin;
use wire::News;

/// The environment variable that tells whose a process is. A posse started by a posse adds to it after a `/`, so that
/// the outer one still knows its own.
pub const MARK: &str = "POSSE_CALL";

/// How long a killed tree may take to be gone. Only a process the kernel cannot interrupt takes longer, and nobody can
/// wait for that.
const LAST_WORD: Duration = Duration::from_secs(5);
/// Between two looks at a tree that is ending.
const LOOK: Duration = Duration::from_millis(10);

/// A program to be run in a folder. It inherits the environment of this process.
#[allow(clippy::disallowed_methods)] // The door the lint guards.
pub fn command(program: impl AsRef<OsStr>, cwd: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(cwd).stdin(std::process::Stdio::null()).kill_on_drop(true);
    command
}

/// The id of this process, for those it starts.
pub fn own_id() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// When a process was started, in a unit of the system's own; `None` if there is none of this id. With the id, it names
/// a process for good. Where the system does not tell, every living process started at 0.
pub fn started(id: i32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        table::started(id)
    }
    #[cfg(not(target_os = "linux"))]
    Pid::from_raw(id).and_then(|pid| rustix::process::test_kill_process(pid).ok()).map(|()| 0)
}

/// Makes this process the parent of whatever loses its own below it, and says whether that worked. Once is enough;
/// [`Tree::start`] does it.
///
/// A tree reaps its own orphans. Those of programs that were started in another way stay as zombies until this process
/// ends: which of its children somebody still waits for, only that somebody knows.
pub fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    {
        static ADOPTS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ADOPTS.get_or_init(|| rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok())
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// Ends whatever this process has started and nobody has ended. The last thing it does: whoever killed its minder and
/// hid from everybody has come to this process, and nobody will look for it afterwards.
pub fn end_all() {
    #[cfg(target_os = "linux")]
    ending::end_all();
}

/// A program that is to be started with a minder, where there can be one.
#[derive(Debug)]
pub struct Program {
    command: Command,
    minded: bool,
}

impl Program {
    /// A program to be run in a folder, under a name. `posse` is this very program, or empty if it is none that can mind.
    pub fn new(posse: &Path, program: impl AsRef<OsStr>, name: impl AsRef<OsStr>, cwd: &Path) -> Self {
        let minded = cfg!(target_os = "linux") && !posse.as_os_str().is_empty();
        let mut command = if minded {
            // Not by its path: there may be another version by now.
            let mut command = command("/proc/self/exe", cwd);
            command.arg0(posse).arg(wire::WORD).arg(name).arg(program);
            command
        } else {
            let mut command = command(program, cwd);
            command.arg0(name);
            command
        };
        command.kill_on_drop(!minded);
        Self { command, minded }
    }

    /// For its arguments, its environment and its output. Its input is decided when it is started.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }
}

/// What a program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    None,
    /// What is written to [`Tree::stdin`].
    Pipe,
}

/// Why it is not known how a program ended.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// It was not run.
    #[error("it cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// The system does not say.
    #[error("how it ended is not known: {0}")]
    Unknown(#[from] std::io::Error),
}

/// A program and everything it started. Dropping it ends them all.
#[derive(Debug)]
pub struct Tree {
    /// The minder, if there is one, or else the program.
    child: Box<dyn ChildWrapper>,
    minder: Option<Minder>,
    stdin: Option<pipe::Sender>,
    /// Behind a lock because looking for them reads files and happens on another thread.
    kin: Arc<Mutex<Kin>>,
    /// Nobody is left, and nobody can come any more.
    settled: bool,
}

impl Tree {
    /// Starts a program in a session of its own, so that no terminal is its. `id` must be unique: it marks the tree.
    pub fn start(program: Program, input: Input, id: &str) -> std::io::Result<Self> {
        let Program { mut command, minded } = program;
        adopt_orphans();
        let mut mark = OsString::new();
        if let Some((_, Some(outer))) = command.as_std().get_envs().find(|(name, _)| *name == MARK) {
            mark.push(outer);
            mark.push("/");
        }
        mark.push(id);
        command.env(MARK, mark);
        let (reader, stdin) = match input {
            Input::None => (None, None),
            Input::Pipe => {
                let (reader, writer) = std::io::pipe()?;
                (Some(OwnedFd::from(reader)), Some(pipe::Sender::from_owned_fd(writer.into())?))
            }
        };
        let mut minder = None;
        if minded {
            let (line, theirs) = Minder::call(reader.as_ref())?;
            command.stdin(theirs);
            minder = Some(line);
        } else if let Some(reader) = reader {
            command.stdin(reader);
        }
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        if !minded {
            command.wrap(KillOnDrop);
        }
        // Without its outer layer, whose `wait` is for the whole group: a server left in the background would hold it.
        let child = command.spawn()?.into_inner();
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = leader.ok_or_else(|| std::io::Error::other("the process has no id"))?;
        Ok(Self { child, minder, stdin, kin: Arc::new(Mutex::new(Kin::new(leader, id))), settled: false })
    }

    /// Where to write to it, once, if it was started with a pipe.
    pub fn stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// What it prints, once, if it was started with a pipe.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// What it complains of, once, if it was started with a pipe.
    pub fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr().take()
    }

    /// Waits for the program itself, not for what it started. May be dropped and called again.
    pub async fn wait(&mut self) -> Result<ExitStatus, Lost> {
        let news = match &mut self.minder {
            Some(minder) => minder.news().await,
            None => None,
        };
        match news {
            Some(News::Ended { status, alone }) => {
                self.settled |= alone;
                Ok(ExitStatus::from_raw(status))
            }
            Some(News::NotStarted(number)) => {
                self.settled = true;
                Err(Lost::NotStarted(std::io::Error::from_raw_os_error(number)))
            }
            // Nobody stands between, or not any more: somebody has killed the minder.
            None => Ok(self.child.wait().await?),
        }
    }

    /// The ids of those still running.
    pub async fn left(&mut self) -> Vec<i32> {
        if self.settled {
            return Vec::new();
        }
        let ended = matches!(self.child.try_wait(), Ok(Some(_)));
        if ended && self.is_minded_to_the_end() {
            self.settled = true;
            return Vec::new();
        }
        let minder = self.minder.as_ref().and(self.child.id()).and_then(|id| i32::try_from(id).ok());
        let mut left = self.sweep(None).await;
        left.retain(|id| Some(*id) != minder);
        // A minder that lives has somebody to mind.
        self.settled |= ended && left.is_empty();
        left
    }

    /// Whether a minder that has ended did so because nobody was left.
    fn is_minded_to_the_end(&mut self) -> bool {
        self.minder.as_mut().is_some_and(|minder| minder.last_news().is_some())
    }

    /// Waits until nobody is left, without doing anything about it.
    pub async fn gone(&mut self) {
        let mut pause = Duration::from_millis(250);
        while !self.left().await.is_empty() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(8));
        }
    }

    /// Asks all of them to end and, when `grace` is over, ends them. Afterwards nobody is left.
    pub async fn kill(&mut self, grace: Duration) {
        if self.settled {
            return;
        }
        if self.kill_by_minder(grace).await {
            self.settled = true;
            return;
        }
        self.sweep(Some(Signal::TERM)).await;
        self.settled =
            self.ends_within(grace, None).await || self.ends_within(LAST_WORD, Some(Signal::KILL)).await;
        let _ = tokio::time::timeout(LAST_WORD, self.child.wait()).await;
    }

    /// Says whether there is a minder and it did its work.
    async fn kill_by_minder(&mut self, grace: Duration) -> bool {
        let Some(minder) = &self.minder else { return false };
        minder.say(wire::ASK);
        let mut ended = tokio::time::timeout(grace, self.child.wait()).await.is_ok();
        if !ended {
            minder.say(wire::END);
            ended = tokio::time::timeout(LAST_WORD, self.child.wait()).await.is_ok();
        }
        ended && self.is_minded_to_the_end()
    }

    async fn ends_within(&mut self, limit: Duration, signal: Option<Signal>) -> bool {
        let ends = async {
            // One look can miss somebody who moves while the table is read.
            let mut empty = 0;
            while empty < 2 {
                // Where there is no table, a leader nobody has waited for keeps its group alive.
                let _ = self.child.try_wait();
                if self.sweep(signal).await.is_empty() {
                    empty += 1;
                } else {
                    empty = 0;
                    tokio::time::sleep(LOOK).await;
                }
            }
        };
        tokio::time::timeout(limit, ends).await.is_ok()
    }

    /// Sends a signal, if any, to all who live, and says who that was.
    async fn sweep(&self, signal: Option<Signal>) -> Vec<i32> {
        let kin = Arc::clone(&self.kin);
        let sweep = move || kin.lock().unwrap_or_else(PoisonError::into_inner).sweep(signal);
        // The work fails only while the runtime ends; then the tree is dropped, which is the other way to end it.
        tokio::task::spawn_blocking(sweep).await.unwrap_or_default()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        if let Some(minder) = &self.minder {
            minder.leave();
            for _ in 0..100 {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            if self.is_minded_to_the_end() {
                return;
            }
        }
        let mut kin = self.kin.lock().unwrap_or_else(PoisonError::into_inner);
        // There is nobody to wait for us here: no asking, and a fifth of a second at most. It takes a hundredth.
        for _ in 0..100 {
            if kin.sweep(Some(Signal::KILL)).is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[cfg(test)]
mod tests;
