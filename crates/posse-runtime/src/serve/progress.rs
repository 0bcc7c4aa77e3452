//! What goes on in a call, told to whoever asked for it: each tool that its agent uses, and the agents below it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::event::{Delta, TaskNews, What};
use posse_core::message::ToolCall;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::run::{Event, Mark};

/// Told once everything that happened before is told.
pub(super) type Flush = oneshot::Sender<()>;

/// The calls that somebody wants to hear of.
#[derive(Clone, Default)]
pub(super) struct Watched(Arc<Mutex<HashMap<Box<str>, Told>>>);

struct Told {
    token: ProgressToken,
    steps: u32,
    /// Calls further down, by which agents of its agent were started.
    below: HashSet<Box<str>>,
}

/// As long as this lives, a call is watched.
pub(super) struct Watch {
    watched: Watched,
    call: Box<str>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watched.lock().remove(&self.call);
    }
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Told>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self, call: &str, token: ProgressToken) -> Watch {
        let told = Told { token, steps: 0, below: HashSet::new() };
        self.lock().insert(call.into(), told);
        Watch { watched: self.clone(), call: call.into() }
    }

    /// What to tell of something that happened, if anybody wants to hear of it.
    fn step(&self, mark: &Mark, what: &What) -> Option<ProgressNotificationParam> {
        let mut watched = self.lock();
        let mut all = watched.iter_mut();
        let (_, told) = all.find(|(call, told)| **call == mark.call || told.below.contains(&mark.call))?;
        let message = match what {
            What::Delta(Delta::ToolRunning(call)) => {
                told.below.insert(call.id.clone());
                format!("{}: {}", mark.kind, in_short(call))
            }
            What::Delta(Delta::ToolProgress { tool, text, .. }) => format!("{}: {tool} {text}", mark.kind),
            What::Delta(Delta::Task(TaskNews::Started { .. })) => format!("{} goes to work", mark.kind),
            What::Delta(Delta::Task(TaskNews::Ended { status, .. })) => format!("{}: {status}", mark.kind),
            What::Delta(_) | What::Fact(_) => return None,
        };
        told.steps += 1;
        let param = ProgressNotificationParam::new(told.token.clone(), f64::from(told.steps));
        Some(param.with_message(message))
    }
}

/// A call on one line.
fn in_short(call: &ToolCall) -> String {
    const SAYING: [&str; 8] =
        ["file_path", "notebook_path", "command", "pattern", "url", "query", "description", "path"];
    const LETTERS: usize = 100;
    let said = SAYING.iter().find_map(|key| call.input.get(key).and_then(Value::as_str));
    let said: Vec<&str> = said.unwrap_or_default().split_whitespace().collect();
    let said = said.join(" ");
    let line = format!("{} {said}", call.name);
    match line.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.trim_end().to_owned(),
    }
}

/// Tells of everything that happens, in order, until nothing can happen any more.
pub(super) async fn report(
    mut events: UnboundedReceiver<Event>,
    mut flushes: UnboundedReceiver<Flush>,
    watched: Watched,
    peer: Peer<RoleServer>,
    say: UnboundedSender<String>,
) {
    loop {
        tokio::select! {
            // What happened is told before anybody hears that it is.
            biased;
            Some(event) = events.recv() => {
                if let What::Delta(Delta::Note(note)) = &event.what {
                    let _ = say.send(note.clone());
                }
                let step = event.from.as_ref().and_then(|mark| watched.step(mark, &event.what));
                if let Some(step) = step {
                    // Whoever is gone need not hear of it.
                    let _ = peer.notify_progress(step).await;
                }
            }
            Some(told) = flushes.recv() => { let _ = told.send(()); }
            else => return,
        }
    }
}

#[cfg(test)]
mod tests;
