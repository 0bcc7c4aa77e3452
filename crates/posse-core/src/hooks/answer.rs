//! What a handler answered: from an exit code and two texts to what is meant.
//!
//! Knows the JSON of answers and what each event takes of it; a bad field costs itself, never its neighbours. Refuses
//! to know where the texts come from and what other handlers said: that is `merge`'s.

mod fields;

use std::time::Duration;

use serde_json::{Map, Value};

use super::HookEvent;
use super::facts::Objection;
use super::occasion::ElicitationAction;

/// Characters of one text that are passed on; the rest is kept elsewhere.
pub const MOST_CHARACTERS: usize = 10_000;

/// How a handler ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself. Handlers that are no programs end with 0.
    Code(i32),
    /// Killed by a signal.
    Signal(i32),
    /// Not within its time.
    TimedOut(Duration),
    /// The run ended first.
    Stopped,
    /// It could not be run, or nobody knows how it ended.
    Failed(String),
}

/// What a handler decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Run it without asking.
    Allow,
    /// Ask a person.
    Ask,
    /// Neither now: whoever runs the session decides later.
    Defer,
    /// Do not run it.
    Deny,
}

/// An objection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Why.
    pub reason: String,
    /// Said by the exit code and standard error, not by JSON.
    pub by_exit: bool,
}

/// What a handler decided in a person's place.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestDecision {
    /// Allowed.
    Allow {
        /// With another input.
        updated_input: Option<Value>,
        /// And these rules from now on, as written.
        updated_permissions: Option<Value>,
    },
    /// Denied.
    Deny {
        /// What the model is told.
        message: Option<String>,
        /// The turn ends, too.
        interrupt: bool,
    },
}

/// What one handler answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// It objects.
    pub block: Option<Block>,
    /// What went wrong, for the user. Nothing else comes of it.
    pub errors: Vec<String>,
    /// Everything stops (`continue: false`), for this reason.
    pub stop: Option<String>,
    /// For the user only.
    pub system_message: Option<String>,
    /// For the terminal only.
    pub terminal_sequence: Option<String>,
    /// For the model.
    pub context: Option<String>,
    /// For whoever classifies later calls.
    pub classifier_context: Option<String>,
    /// About the call, with the reason.
    pub permission: Option<(Verdict, Option<String>)>,
    /// The call's input is to be this.
    pub updated_input: Option<Value>,
    /// The call's output is to be this.
    pub updated_output: Option<Value>,
    /// The same, for tools of MCP servers only.
    pub updated_mcp_output: Option<Value>,
    /// In a person's place.
    pub request: Option<RequestDecision>,
    /// What the session starts with.
    pub initial_user_message: Option<String>,
    /// The session's title.
    pub session_title: Option<String>,
    /// The prompt itself is not shown to the model.
    pub suppress_original_prompt: bool,
    /// Skills are to be read again.
    pub reload_skills: bool,
    /// The denied call may be tried again.
    pub retry: bool,
    /// What to watch, instead of what was watched.
    pub watch_paths: Option<Vec<String>>,
    /// Where the worktree was made.
    pub worktree_path: Option<String>,
    /// What to answer an MCP server.
    pub elicitation: Option<(ElicitationAction, Option<Value>)>,
    /// What to show instead.
    pub display_content: Option<String>,
    /// The handler goes on by itself, for so long.
    pub detached: Option<Option<Duration>>,
}

/// Reads what a handler answered.
pub fn read(event: HookEvent, exit: &Exit, stdout: &str, stderr: &str) -> Answer {
    let mut answer = Answer::default();
    let facts = event.facts();
    if facts.objection == Objection::Ignored {
        return answer;
    }
    let code = match exit {
        Exit::Code(code) => *code,
        Exit::Signal(signal) => return answer.failed(event, format!("killed by signal {signal}")),
        Exit::TimedOut(limit) => {
            return answer.failed(event, format!("not done after {} s", limit.as_secs_f64()));
        }
        Exit::Stopped => return answer.failed(event, "stopped with the run".to_owned()),
        Exit::Failed(why) => return answer.failed(event, why.clone()),
    };
    let mut is_json = false;
    match json(stdout) {
        Some(object) => is_json = answer.take(event, &object),
        None if code == 0 => answer.take_text(event, stdout),
        None => {}
    }
    if answer.detached.is_some() {
        return answer;
    }
    match code {
        0 => answer,
        2 => answer.object(event, stderr),
        _ if facts.objection == Objection::AnyFailureBlocks => answer.object(event, stderr),
        _ if is_json => answer,
        code => {
            let said = stderr.trim();
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            answer.failed(event, format!("exit code {code}{said}"))
        }
    }
}

/// The object a text is, if it is one. What follows an object makes it a text.
pub fn json(stdout: &str) -> Option<Map<String, Value>> {
    let text = stdout.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return None;
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Some(object),
        Ok(_) | Err(_) => None,
    }
}

/// Whether a line that a running program has printed says that it goes on by itself, and for how long.
pub fn detaches(line: &str) -> Option<Option<Duration>> {
    let object = json(line)?;
    fields::detached(&object)
}

impl Answer {
    /// An answer that is an error and nothing else.
    pub fn error(text: impl Into<String>) -> Self {
        Self { errors: vec![text.into()], ..Self::default() }
    }

    /// The same with a failure noted: as an error, or as an objection where every failure is one.
    pub(super) fn failed(mut self, event: HookEvent, text: String) -> Self {
        if event.facts().objection == Objection::AnyFailureBlocks {
            self.block = Some(Block { reason: text, by_exit: true });
        } else {
            self.errors.push(text);
        }
        self
    }

    /// The exit code objects, whatever the JSON says. A reason in JSON is kept if it objects, too.
    fn object(mut self, event: HookEvent, stderr: &str) -> Self {
        let stderr = stderr.trim();
        let stderr = if stderr.is_empty() { "no reason given" } else { stderr };
        match event.facts().objection {
            Objection::Blocks | Objection::AnyFailureBlocks | Objection::TellsModel => {
                let denied = matches!(self.permission, Some((Verdict::Deny, _)));
                if self.block.is_none() && !denied {
                    self.block = Some(Block { reason: stderr.to_owned(), by_exit: true });
                }
                if !denied {
                    self.permission = None;
                }
                self.updated_input = None;
                self.worktree_path = None;
            }
            Objection::ShownOnly => self.errors.push(stderr.to_owned()),
            Objection::Ignored => {}
        }
        self
    }

    /// Output that is no JSON.
    fn take_text(&mut self, event: HookEvent, stdout: &str) {
        let text = stdout.trim();
        if event.facts().text_is_context && !text.is_empty() {
            self.context = Some(text.to_owned());
        }
        if event == HookEvent::WorktreeCreate {
            match text.lines().last().map(str::trim).filter(|line| !line.is_empty()) {
                Some(path) => self.worktree_path = Some(path.to_owned()),
                None => self.block = Some(Block { reason: "no path was printed".to_owned(), by_exit: true }),
            }
        }
    }

    /// Takes back what it allows; what it objects to stays.
    pub fn allow_nothing(&mut self) {
        self.permission.take_if(|(verdict, _)| *verdict == Verdict::Allow);
        self.request.take_if(|decision| matches!(decision, RequestDecision::Allow { .. }));
    }

    /// Shortens every text that is too long. `keep` puts the whole somewhere and says where that is.
    pub fn cap(&mut self, keep: &mut dyn FnMut(&str) -> Option<String>) {
        let mut short = |text: &mut String| {
            if let Some((cut, _)) = text.char_indices().nth(MOST_CHARACTERS) {
                let left = text[cut..].chars().count();
                let place = keep(text).map_or_else(
                    || "were left out".to_owned(),
                    |place| format!("are left out; the whole is in {place}"),
                );
                text.truncate(cut);
                text.push_str(&format!("\n[{left} more characters {place}]"));
            }
        };
        let reasons = self.permission.iter_mut().filter_map(|(_, reason)| reason.as_mut());
        let messages = self.request.iter_mut().filter_map(|request| match request {
            RequestDecision::Deny { message, .. } => message.as_mut(),
            RequestDecision::Allow { .. } => None,
        });
        let plain = [
            &mut self.stop,
            &mut self.system_message,
            &mut self.context,
            &mut self.classifier_context,
            &mut self.initial_user_message,
            &mut self.display_content,
            &mut self.session_title,
        ];
        plain.into_iter().flatten().for_each(&mut short);
        self.errors.iter_mut().for_each(&mut short);
        self.block.iter_mut().for_each(|block| short(&mut block.reason));
        reasons.chain(messages).for_each(short);
    }
}

#[cfg(test)]
mod tests;
