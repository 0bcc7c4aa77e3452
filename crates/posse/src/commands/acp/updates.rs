//! What happens in a session, as what an editor is told. Pure: an event in, updates out.
//!
//! Knows what is on the editor's screen as far as the next update depends on it: which calls it has seen, and whether
//! the reply that is being drawn is still good.

pub(super) mod tools;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use posse_core::event::{Delta, Fact, What};
use posse_core::message::{Block, Reply, ToolAnswer, ToolCall};
use posse_runtime::run::Mark;
use serde_json::Value;

use super::words::{Abilities, Agent, Call, Progress, Step, Update};

/// Tells an editor of one session.
#[derive(Debug)]
pub(super) struct Teller {
    cwd: PathBuf,
    abilities: Abilities,
    calls: HashMap<Key, Seen>,
    /// How often an id was used; models may use one twice.
    used: HashMap<Box<str>, u32>,
    drawn: Drawn,
    /// Whether something was drawn that turned out to be void, and nothing followed yet.
    is_void: bool,
    /// Whether the last thing the editor saw is text of the agent.
    spoke: bool,
    /// How often the conversation was summarised, and whether it is being just now.
    compactions: u32,
    is_compacting: bool,
}

/// Which call: the agent whose it is, and its id.
type Key = (Option<Box<str>>, Box<str>);

/// A call the editor has seen.
#[derive(Debug)]
struct Seen {
    /// What the editor knows it by.
    id: String,
    is_described: bool,
    is_over: bool,
}

/// What was drawn of the reply under way.
#[derive(Debug, Default)]
struct Drawn {
    text: bool,
    thought: bool,
    calls: Vec<Box<str>>,
}

/// What stands between a reply that broke off and the next try.
const BROKE_OFF: &str = "\n\n*(The reply broke off here; it is asked for again.)*\n\n";

impl Teller {
    /// For a session in this folder.
    pub(super) fn new(cwd: &Path, abilities: Abilities) -> Self {
        Self {
            cwd: cwd.to_owned(),
            abilities,
            calls: HashMap::new(),
            used: HashMap::new(),
            drawn: Drawn::default(),
            is_void: false,
            spoke: false,
            compactions: 0,
            is_compacting: false,
        }
    }

    /// A turn begins: what was said before is no part of it.
    pub(super) fn turn_begins(&mut self, by_itself: bool) {
        self.drawn = Drawn::default();
        self.is_void = false;
        // A turn that nobody began goes on under the last answer.
        self.spoke &= by_itself;
    }

    /// A turn is over: what is still open will not go on.
    pub(super) fn turn_ends(&mut self) -> Vec<Update> {
        let open = self.calls.iter_mut().filter(|((agent, _), seen)| agent.is_none() && !seen.is_over);
        let mut updates: Vec<Update> = open.map(|(_, seen)| over(seen)).collect();
        if std::mem::take(&mut self.is_compacting) {
            updates.extend(self.compaction(Progress::Failed));
        }
        updates
    }

    /// What an editor knows a call by.
    pub(super) fn known(&self, agent: Option<&str>, call: &str) -> Option<&str> {
        let key = (agent.map(Box::from), call.into());
        self.calls.get(&key).map(|seen| seen.id.as_str())
    }

    /// What there is to tell of an event; `from` is whose it is, if not the main agent's.
    pub(super) fn event(&mut self, what: &What, from: Option<&Mark>) -> Vec<Update> {
        let updates = match from {
            Some(mark) => self.of_agent(what, mark),
            None => self.of_main(what),
        };
        let is_text = |update: &Update| matches!(update, Update::Text(_));
        let shows = |update: &&Update| !matches!(update, Update::Usage { .. } | Update::Notice(_));
        if let Some(last) = updates.iter().rfind(shows) {
            self.spoke = is_text(last);
        }
        updates
    }

    /// What another agent says is its own; what it does can be seen.
    fn of_agent(&mut self, what: &What, mark: &Mark) -> Vec<Update> {
        match what {
            What::Fact(Fact::Replied(reply)) => self.calls_in(reply, Some(mark)),
            What::Fact(Fact::Answered { call, answer }) => self.answered(call, answer, Some(mark)),
            What::Delta(Delta::ToolRunning(call)) => self.running(call, Some(mark)),
            What::Delta(Delta::Note(text)) => self.note(text),
            What::Fact(_) | What::Delta(_) => Vec::new(),
        }
    }

    fn of_main(&mut self, what: &What) -> Vec<Update> {
        match what {
            What::Delta(Delta::Text(text)) => {
                let mut updates = self.before_text();
                self.drawn.text = true;
                updates.push(Update::Text(text.clone()));
                updates
            }
            What::Delta(Delta::Thinking(text)) => {
                let mut updates = self.mend();
                self.drawn.thought = true;
                updates.push(Update::Thought(text.clone()));
                updates
            }
            What::Delta(Delta::ToolStart { id, name }) => {
                let mut updates = self.mend();
                self.drawn.calls.push(id.clone());
                updates.extend(self.begun(id, name));
                updates
            }
            What::Delta(Delta::Block(reply)) => self.calls_in(reply, None),
            What::Fact(Fact::Replied(reply)) => self.replied(reply),
            What::Delta(Delta::Discarded) => self.discarded(),
            What::Delta(Delta::ToolRunning(call)) => self.running(call, None),
            What::Fact(Fact::Answered { call, answer }) => self.answered(call, answer, None),
            What::Delta(Delta::Note(text)) => self.note(text),
            What::Delta(Delta::ToolProgress { tool, text, .. }) => self.note(&format!("{tool}: {text}")),
            What::Delta(Delta::Retry { attempt, of, failure, .. }) => {
                self.note(&format!("Asking the model again ({attempt} of {of}): {}", failure.message))
            }
            What::Delta(Delta::Compacting) => {
                self.compactions += 1;
                self.is_compacting = true;
                self.compaction(Progress::Running)
            }
            What::Fact(Fact::Compacted { .. }) => {
                self.is_compacting = false;
                self.compaction(Progress::Done)
            }
            What::Fact(Fact::Said(_) | Fact::Denied { .. } | Fact::Finished(_))
            | What::Delta(
                Delta::Requesting | Delta::Raw(_) | Delta::Hook(_) | Delta::Task(_) | Delta::ModeChanged(_),
            ) => Vec::new(),
        }
    }

    fn note(&self, text: &str) -> Vec<Update> {
        let told = self.abilities.notices.then(|| Update::Notice(text.to_owned()));
        told.into_iter().collect()
    }

    fn compaction(&self, progress: Progress) -> Vec<Update> {
        let told = self.abilities.compaction.then_some(Update::Compaction(self.compactions, progress));
        told.into_iter().collect()
    }

    /// If what was drawn last is void, says so before anything else.
    fn mend(&mut self) -> Vec<Update> {
        let void = std::mem::take(&mut self.is_void);
        void.then(|| Update::Text(BROKE_OFF.to_owned())).into_iter().collect()
    }

    /// What comes before the first text of a reply: editors put texts that follow each other together.
    fn before_text(&mut self) -> Vec<Update> {
        let mended = self.mend();
        let joins = self.spoke && !self.drawn.text && mended.is_empty();
        if joins { vec![Update::Text("\n\n".to_owned())] } else { mended }
    }

    /// A whole reply. Most of it was drawn already, unless the model does not speak in parts.
    fn replied(&mut self, reply: &Reply) -> Vec<Update> {
        let mut updates = Vec::new();
        for block in &reply.blocks {
            match block {
                Block::Text(text) if !self.drawn.text && !text.is_empty() => {
                    updates.extend(self.before_text());
                    updates.push(Update::Text(text.clone()));
                }
                Block::Thinking { text, .. } if !self.drawn.thought && !text.is_empty() => {
                    updates.extend(self.mend());
                    updates.push(Update::Thought(text.clone()));
                }
                Block::Text(_)
                | Block::Thinking { .. }
                | Block::RedactedThinking(_)
                | Block::ToolUse(_)
                | Block::ToolResult(_)
                | Block::Media(_)
                | Block::Other(_) => {}
            }
        }
        updates.extend(self.calls_in(reply, None));
        self.drawn = Drawn::default();
        updates
    }

    /// A reply that will not be finished.
    fn discarded(&mut self) -> Vec<Update> {
        let drawn = std::mem::take(&mut self.drawn);
        self.is_void |= drawn.text || drawn.thought;
        let keys = drawn.calls.into_iter().map(|call| (None, call));
        keys.filter_map(|key| self.calls.get_mut(&key).filter(|seen| !seen.is_over).map(over)).collect()
    }

    /// The calls of a reply, with what they were called with.
    fn calls_in(&mut self, reply: &Reply, mark: Option<&Mark>) -> Vec<Update> {
        let mut updates = Vec::new();
        for block in &reply.blocks {
            if let Block::ToolUse(call) = block {
                if mark.is_none() && !self.drawn.calls.contains(&call.id) {
                    self.drawn.calls.push(call.id.clone());
                }
                updates.extend(self.described(call, mark));
            }
        }
        updates
    }

    /// A call begins to be made; with what is not known yet.
    fn begun(&mut self, id: &str, name: &str) -> Option<Update> {
        if tools::is_hidden(name) {
            return None;
        }
        let (seen, is_new) = self.see(id, None);
        let call = Call {
            id: seen.id.clone(),
            tool: Some(name.to_owned()),
            title: Some(name.to_owned()),
            kind: Some(tools::kind(name)),
            progress: Some(Progress::Pending),
            ..Call::default()
        };
        is_new.then(|| Update::NewCall(Box::new(call)))
    }

    /// What a call is to do, told once.
    fn described(&mut self, call: &ToolCall, mark: Option<&Mark>) -> Option<Update> {
        if tools::is_hidden(&call.name) {
            return None;
        }
        let agent = mark.map(|mark| self.agent(mark));
        let about = tools::about(call, &self.cwd);
        let (seen, is_new) = self.see(&call.id, mark);
        if std::mem::replace(&mut seen.is_described, true) {
            return None;
        }
        let told = Call { id: seen.id.clone(), progress: Some(Progress::Pending), agent, ..about };
        Some(if is_new { Update::NewCall(Box::new(told)) } else { Update::Call(Box::new(told)) })
    }

    fn running(&mut self, call: &ToolCall, mark: Option<&Mark>) -> Vec<Update> {
        let first = self.described(call, mark);
        let Some(seen) = self.calls.get(&key(&call.id, mark)) else { return Vec::new() };
        let now = Call { id: seen.id.clone(), progress: Some(Progress::Running), ..Call::default() };
        first.into_iter().chain([Update::Call(Box::new(now))]).collect()
    }

    fn answered(&mut self, call: &ToolCall, answer: &ToolAnswer, mark: Option<&Mark>) -> Vec<Update> {
        if tools::is_hidden(&call.name) {
            let is_plan = mark.is_none() && !answer.is_error;
            return is_plan.then(|| plan(&call.input)).flatten().into_iter().collect();
        }
        let first = self.described(call, mark);
        let Some(seen) = self.calls.get_mut(&key(&call.id, mark)) else { return Vec::new() };
        seen.is_over = true;
        let id = seen.id.clone();
        let done = if answer.is_error { Progress::Failed } else { Progress::Done };
        let (shown, places) = tools::outcome(call, answer, &self.cwd);
        let output = answer.structured.clone().unwrap_or_else(|| answer.plain().into());
        let told = Call {
            id,
            progress: Some(done),
            shown: Some(shown),
            places,
            output: Some(output),
            ..Call::default()
        };
        first.into_iter().chain([Update::Call(Box::new(told))]).collect()
    }

    /// A call as the editor knows it, and whether that is from now on. An id that was used before gets another one.
    fn see(&mut self, id: &str, mark: Option<&Mark>) -> (&mut Seen, bool) {
        let key = key(id, mark);
        let is_new = self.calls.get(&key).is_none_or(|seen| seen.is_over);
        if is_new {
            self.calls.remove(&key);
        }
        let used = &mut self.used;
        let seen = self.calls.entry(key).or_insert_with(|| {
            let times = used.entry(id.into()).or_default();
            *times += 1;
            let id = if *times == 1 { id.to_owned() } else { format!("{id}-{times}") };
            Seen { id, is_described: false, is_over: false }
        });
        (seen, is_new)
    }

    fn agent(&self, mark: &Mark) -> Agent {
        // Whose call it was that started the agent is not said; the main agent's come first.
        let main = self.calls.get(&(None, mark.call.clone()));
        let any = || self.calls.iter().find(|((_, call), _)| *call == mark.call).map(|(_, seen)| seen);
        let parent = main.or_else(any).map_or_else(|| mark.call.to_string(), |seen| seen.id.clone());
        Agent { parent, id: mark.agent.to_string(), kind: mark.kind.to_string() }
    }
}

fn key(id: &str, mark: Option<&Mark>) -> Key {
    (mark.map(|mark| mark.agent.clone()), id.into())
}

fn over(seen: &mut Seen) -> Update {
    seen.is_over = true;
    let call = Call { id: seen.id.clone(), progress: Some(Progress::Failed), ..Call::default() };
    Update::Call(Box::new(call))
}

/// The to-do list as a plan.
fn plan(input: &Value) -> Option<Update> {
    let step = |todo: &Value| {
        let progress = match todo.get("status").and_then(Value::as_str) {
            Some("in_progress") => Progress::Running,
            Some("completed") => Progress::Done,
            Some(_) | None => Progress::Pending,
        };
        Some(Step { text: todo.get("content")?.as_str()?.to_owned(), progress })
    };
    let todos = input.get("todos")?.as_array()?;
    Some(Update::Plan(todos.iter().filter_map(step).collect()))
}

#[cfg(test)]
mod tests;
