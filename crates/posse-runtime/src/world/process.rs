//! Starting other programs. The only place that may: whoever starts one says where it runs, and owns all that comes
//! of it.
//!
//! A [`Tree`] is a program with everything it started. Ending it must reach processes that left their group or
//! session (`setsid`) and those whose parents are gone (`nohup … &`). On Linux three things together find them: this
//! process adopts orphans, so what it started stays below it; every process inherits a mark in its environment; and
//! sessions and parents are in `/proc`. What wipes its environment, leaves its session *and* outlives its parent before
//! anybody looks escapes; stopping that takes a sandbox. Elsewhere the process group is all there is.

mod group;
#[cfg(target_os = "linux")]
mod table;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use rustix::process::{Pid, Signal};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

#[cfg(not(target_os = "linux"))]
use group::Group as Kin;
#[cfg(target_os = "linux")]
use table::Kin;

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

/// A program and everything it started. Dropping it ends them all.
#[derive(Debug)]
pub struct Tree {
    child: Box<dyn ChildWrapper>,
    /// Behind a lock because looking for them reads files and happens on another thread.
    kin: Arc<Mutex<Kin>>,
    /// Nobody is left, and nobody can come any more.
    settled: bool,
}

impl Tree {
    /// Starts a program in a session of its own, so that no terminal is its. `id` must be unique: it marks the tree.
    pub fn start(mut command: Command, id: &str) -> std::io::Result<Self> {
        adopt_orphans();
        let mut mark = OsString::new();
        if let Some((_, Some(outer))) = command.as_std().get_envs().find(|(name, _)| *name == MARK) {
            mark.push(outer);
            mark.push("/");
        }
        mark.push(id);
        command.env(MARK, mark);
        let mut command = CommandWrap::from(command);
        command.wrap(KillOnDrop).wrap(ProcessSession);
        // Without its outer layer, whose `wait` is for the whole group: a server left in the background would hold it.
        let child = command.spawn()?.into_inner();
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = leader.ok_or_else(|| std::io::Error::other("the process has no id"))?;
        Ok(Self { child, kin: Arc::new(Mutex::new(Kin::new(leader, id))), settled: false })
    }

    /// Where to write to it, once, if it was started with a pipe.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin().take()
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
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// The ids of those still running.
    pub async fn left(&mut self) -> Vec<i32> {
        if self.settled {
            return Vec::new();
        }
        let ended = matches!(self.child.try_wait(), Ok(Some(_)));
        let left = self.sweep(None).await;
        self.settled |= ended && left.is_empty();
        left
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
        self.sweep(Some(Signal::TERM)).await;
        self.settled =
            self.ends_within(grace, None).await || self.ends_within(LAST_WORD, Some(Signal::KILL)).await;
        let _ = tokio::time::timeout(LAST_WORD, self.child.wait()).await;
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
