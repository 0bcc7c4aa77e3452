//! What goes on in the background of a session: who it is, how it stands, where it writes, how it is stopped.
//!
//! Nothing here knows what the work is. Whoever starts some hands over a future, which is told to stop through its
//! [`Work`] and must then end what it started; dropping it must do the same.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::world::Ids;

/// How long work may take to end after it was told to. Then it is dropped.
const PATIENCE: Duration = Duration::from_secs(10);

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// A command of Bash.
    Shell,
    /// An agent.
    Agent,
}

impl TaskKind {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shell => "local_bash",
            Self::Agent => "local_agent",
        }
    }

    /// What ids of it begin with.
    fn letter(self) -> char {
        match self {
            Self::Shell => 'b',
            Self::Agent => 'a',
        }
    }
}

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// It goes on.
    Running,
    /// It ended well.
    Completed,
    /// It ended badly.
    Failed,
    /// It was stopped.
    Killed,
}

impl TaskStatus {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }
}

/// How a task stands, with its exit code if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// How it stands.
    pub status: TaskStatus,
    /// What its program ended with.
    pub code: Option<i32>,
}

impl TaskState {
    /// Whether it is over.
    pub fn is_over(self) -> bool {
        match self.status {
            TaskStatus::Running => false,
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Killed => true,
        }
    }
}

/// A task, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Names it within the session.
    pub id: Box<str>,
    /// What else it is called by, if it has a name.
    pub name: Option<Box<str>>,
    /// What kind of work it is.
    pub kind: TaskKind,
    /// The command, or whatever else it was given to do.
    pub command: String,
    /// What it is for, in a few words, if that was said.
    pub description: Option<String>,
    /// What it prints, as far as it has.
    pub output: PathBuf,
    /// The tool call that started it.
    pub call: Box<str>,
    /// How it stands.
    pub state: TaskState,
    /// What came of it, if it says so itself; otherwise `output` tells.
    pub report: Option<Arc<str>>,
}

/// A task that is over, for whoever tells the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The task.
    pub task: Task,
    /// The model knows already: it looked, or stopped it itself.
    pub seen: bool,
    /// What the model is to be told, if the work has words of its own for it.
    pub notice: Option<String>,
}

/// What work has to say when it is over.
#[derive(Clone, Debug, Default)]
struct Said {
    report: Option<Arc<str>>,
    notice: Option<String>,
}

/// The background work of a session. Dropping the last of its clones ends the work.
#[derive(Clone, Debug, Default)]
pub struct Tasks(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Above the stop of every task.
    stop: CancellationToken,
    news: Arc<News>,
    inner: Mutex<Inner>,
}

/// How many have ended, and a bell for those who wait for more.
#[derive(Debug, Default)]
struct News {
    ended: AtomicUsize,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<Entry>,
    work: JoinSet<()>,
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    task: Task,
    state: watch::Receiver<TaskState>,
    stop: CancellationToken,
    said: Arc<Mutex<Said>>,
    seen: bool,
    told: bool,
}

impl Entry {
    fn goes_on(&self, kind: TaskKind) -> bool {
        self.task.kind == kind && !self.seen && !self.state.borrow().is_over()
    }
}

impl Entry {
    fn task(&self) -> Task {
        let report = self.said().report.clone();
        Task { state: *self.state.borrow(), report, ..self.task.clone() }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tasks {
    /// A task that is not yet started: it has an id nobody else has, and a file below `spool` to write to.
    pub fn prepare(&self, kind: TaskKind, command: &str, ids: &Ids, spool: &Path) -> Task {
        let id = loop {
            let hex = ids.hex16();
            let id = format!("{}{}", kind.letter(), hex.get(..8).unwrap_or(&hex));
            if self.get(&id).is_none() {
                break id;
            }
        };
        Task {
            name: None,
            kind,
            command: command.to_owned(),
            description: None,
            output: spool.join("tasks").join(format!("{id}.output")),
            call: Box::default(),
            state: TaskState { status: TaskStatus::Running, code: None },
            report: None,
            id: id.into(),
        }
    }

    /// Starts work. After [`Tasks::shutdown`] it is refused, and dropped.
    #[must_use]
    pub fn start<F>(&self, task: Task, work: impl FnOnce(Work) -> F) -> bool
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, state) = watch::channel(task.state);
        let stop = self.0.stop.child_token();
        let said = Arc::new(Mutex::new(Said::default()));
        let news = Arc::clone(&self.0.news);
        let handle = Work { state: sender, stop: stop.clone(), news, said: Arc::clone(&said) };
        let future = work(handle);
        let mut inner = self.lock();
        if inner.closed {
            return false;
        }
        inner.spawn(future);
        inner.entries.push(Entry { task, state, stop, said, seen: false, told: false });
        true
    }

    /// Looks after something that is no task, such as what a command left behind, until the session ends.
    pub fn keep<F>(&self, work: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let future = work(self.0.stop.child_token());
        let mut inner = self.lock();
        if !inner.closed {
            inner.spawn(future);
        }
    }

    /// Whether something of a kind still goes on, or has ended without anybody being told.
    pub fn is_awaited(&self, kind: TaskKind) -> bool {
        let inner = self.lock();
        inner.entries.iter().any(|entry| entry.task.kind == kind && !entry.told && !entry.seen)
    }

    /// Whether something of a kind goes on that nobody waits for.
    pub fn is_running(&self, kind: TaskKind) -> bool {
        self.lock().entries.iter().any(|entry| entry.goes_on(kind))
    }

    /// How many of a kind go on that nobody waits for.
    pub fn count_running(&self, kind: TaskKind) -> usize {
        self.lock().entries.iter().filter(|entry| entry.goes_on(kind)).count()
    }

    /// How many have ended so far.
    pub fn count_ended(&self) -> usize {
        self.0.news.ended.load(Ordering::Relaxed)
    }

    /// Waits until more have ended than so many.
    pub async fn next_end(&self, ended: usize) {
        loop {
            let mut news = std::pin::pin!(self.0.news.bell.notified());
            news.as_mut().enable();
            if self.count_ended() > ended {
                return;
            }
            news.await;
        }
    }

    /// Those of a kind whose end nobody was told of.
    pub fn untold(&self, kind: TaskKind) -> Vec<Box<str>> {
        let inner = self.lock();
        let untold =
            inner.entries.iter().filter(|entry| entry.task.kind == kind && !entry.told && !entry.seen);
        untold.map(|entry| entry.task.id.clone()).collect()
    }

    /// All tasks, in the order they were started.
    pub fn list(&self) -> Vec<Task> {
        self.lock().entries.iter().map(Entry::task).collect()
    }

    /// A task; the latest, if it was taken up again.
    pub fn get(&self, id: &str) -> Option<Task> {
        self.lock().entries.iter().rfind(|entry| *entry.task.id == *id).map(Entry::task)
    }

    /// The id of the latest task that is called so.
    pub fn id_of(&self, wanted: &str) -> Option<Box<str>> {
        let inner = self.lock();
        let called = |entry: &&Entry| *entry.task.id == *wanted || entry.task.name.as_deref() == Some(wanted);
        inner.entries.iter().rfind(called).map(|entry| entry.task.id.clone())
    }

    /// Stops a task and waits until it has.
    pub async fn stop(&self, id: &str) -> Option<Task> {
        let stop = self.lock().entries.iter().rfind(|entry| *entry.task.id == *id)?.stop.clone();
        stop.cancel();
        self.wait(id, PATIENCE, &CancellationToken::new()).await
    }

    /// Waits until a task is over, so long at most, or until `stop`. The task says which it was.
    pub async fn wait(&self, id: &str, longest: Duration, stop: &CancellationToken) -> Option<Task> {
        let mut state = self.lock().entries.iter().rfind(|entry| *entry.task.id == *id)?.state.clone();
        tokio::select! {
            biased;
            _ = state.wait_for(|state| state.is_over()) => {}
            () = stop.cancelled() => {}
            () = tokio::time::sleep(longest) => {}
        }
        self.get(id)
    }

    /// Remembers that the model knows how a task ended.
    pub fn saw_end(&self, id: &str) {
        if let Some(entry) = self.lock().entries.iter_mut().rfind(|entry| *entry.task.id == *id) {
            entry.seen = true;
        }
    }

    /// Forgets that somebody waits for a task itself: its end is news again.
    pub fn unsee(&self, id: &str) {
        if let Some(entry) = self.lock().entries.iter_mut().rfind(|entry| *entry.task.id == *id) {
            entry.seen = false;
        }
    }

    /// The tasks that are over since the last time somebody asked. Each comes once.
    pub fn drain(&self) -> Vec<Finished> {
        let mut inner = self.lock();
        let over = inner.entries.iter_mut().filter(|entry| !entry.told && entry.state.borrow().is_over());
        over.map(|entry| {
            entry.told = true;
            let notice = entry.said().notice.take();
            Finished { task: entry.task(), seen: entry.seen, notice }
        })
        .collect()
    }

    /// Waits until there is something to [`Tasks::drain`].
    pub async fn changed(&self) {
        loop {
            let mut news = std::pin::pin!(self.0.news.bell.notified());
            news.as_mut().enable();
            let over = |entry: &Entry| !entry.told && entry.state.borrow().is_over();
            if self.lock().entries.iter().any(over) {
                return;
            }
            news.await;
        }
    }

    /// Ends everything and waits until it has ended. Nothing can be started afterwards.
    pub async fn shutdown(&self) {
        let mut work = {
            let mut inner = self.lock();
            inner.closed = true;
            std::mem::take(&mut inner.work)
        };
        self.0.stop.cancel();
        let all = async { while work.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            work.shutdown().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn spawn(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        // What is over still takes room until somebody asks for it.
        while self.work.try_join_next().is_some() {}
        self.work.spawn(future);
    }
}

/// What work in the background is given.
#[derive(Debug)]
pub struct Work {
    state: watch::Sender<TaskState>,
    /// Cancelled when the task is to stop.
    pub stop: CancellationToken,
    news: Arc<News>,
    said: Arc<Mutex<Said>>,
}

impl Work {
    /// What came of it, and what the model is to be told. To be said before [`Work::end`].
    pub fn say(&self, report: &str, notice: String) {
        let said = Said { report: Some(report.into()), notice: Some(notice) };
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = said;
    }

    /// Says how the task ended. The first word counts.
    pub fn end(&self, status: TaskStatus, code: Option<i32>) {
        let changed = self.state.send_if_modified(|state| {
            let changes = !state.is_over();
            if changes {
                *state = TaskState { status, code };
            }
            changes
        });
        if changed {
            self.news.ended.fetch_add(1, Ordering::Relaxed);
            self.news.bell.notify_waiters();
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Work that was dropped, or fell over, is not running either.
        self.end(TaskStatus::Killed, None);
    }
}

#[cfg(test)]
mod tests;
