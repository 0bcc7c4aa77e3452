//! A server that is a program: starting it, what it complains of, ending it. The only place where servers are started.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Sender;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::task::JoinSet;

use crate::world::World;
use crate::world::process::{self, Input, Tree};

/// Of what a server complains of, so much of the end is kept.
const TAIL: usize = 4096;

/// What is started.
pub(super) struct Program<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [Box<str>],
    pub(super) env: &'a [(Box<str>, Box<str>)],
    pub(super) cwd: &'a Path,
}

/// A running server.
pub(super) struct Process {
    tree: Tree,
    complaints: Complaints,
    /// Reads the complaints, or the server would wait for a reader once the pipe is full.
    reader: JoinSet<()>,
}

/// Starts a server. It gets the user's environment and what the configuration adds, and a session of its own: what is
/// typed at the terminal is not for it.
pub(super) fn start(program: &Program<'_>, world: &World) -> io::Result<(Process, ChildStdout, Sender)> {
    let Program { command, args, env, cwd } = *program;
    let mut program = process::Program::new(&world.program, command, command, cwd);
    program
        .command()
        .args(args.iter().map(|arg| &**arg))
        .env_clear()
        .envs(world.env.for_programs(false).iter())
        .envs(env.iter().map(|(name, value)| (&**name, &**value)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut tree = Tree::start(program, Input::Pipe, &world.ids.uuid())?;
    let lost = || io::Error::other("it has no streams to speak on");
    let (stdin, stdout) = (tree.stdin().ok_or_else(lost)?, tree.stdout().ok_or_else(lost)?);
    let complaints = Complaints::default();
    let mut reader = JoinSet::new();
    if let Some(stderr) = tree.stderr() {
        reader.spawn(complaints.clone().listen(stderr));
    }
    Ok((Process { tree, complaints, reader }, stdout, stdin))
}

impl Process {
    /// How it ended and the end of what it complained of; called when it seems to be gone.
    pub(super) async fn last_words(&mut self) -> String {
        // What was written just before the end may still be in the pipe. Somebody else may hold it open, though.
        const PATIENCE: Duration = Duration::from_millis(500);
        let status = tokio::time::timeout(PATIENCE, self.tree.wait()).await;
        let _ = tokio::time::timeout(PATIENCE, self.reader.join_next()).await;
        let ended = match status {
            Ok(Ok(status)) => format!("it ended ({status})"),
            Ok(Err(_)) | Err(_) => "it closed its output".to_owned(),
        };
        match self.complaints.tail() {
            tail if tail.is_empty() => ended,
            tail => format!("{ended} and said: {tail}"),
        }
    }

    /// Ends it and everything it started. By then its input is closed, which should be enough.
    pub(super) async fn end(mut self, farewell: Duration) {
        let _ = tokio::time::timeout(farewell, self.tree.wait()).await;
        self.tree.kill(farewell).await;
        self.reader.shutdown().await;
    }
}

#[derive(Clone, Default)]
struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Complaints {
    async fn listen(self, mut stderr: ChildStderr) {
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut piece).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&piece[..read]);
            let surplus = kept.len().saturating_sub(TAIL);
            kept.drain(..surplus);
        }
    }

    fn tail(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}
