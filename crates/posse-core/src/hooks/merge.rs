//! From the answers of all handlers to what comes of them.
//!
//! Knows who wins and the texts that models and users read. Refuses to know how anything is done about it.

use serde_json::Value;

use super::HookEvent;
use super::answer::{Answer, Block, RequestDecision, Verdict};
use super::facts::Objection;
use super::occasion::{ConfigSource, ElicitationAction, Occasion};

/// What one handler answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The handler, as people know it: its command, its address.
    pub label: String,
    /// What it said.
    pub answer: Answer,
}

/// What comes of an occasion. Empty if nobody had anything to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// What is to happen with a call, and why.
    pub permission: Option<(Verdict, Option<String>)>,
    /// Objections, as they are told, in the order of the handlers. See [`Merged::is_blocked`].
    pub objections: Vec<String>,
    /// The objections prevent what was about to happen; otherwise they only tell the model.
    pub prevents: bool,
    /// The call's input is to be this.
    pub updated_input: Option<Value>,
    /// The call's output is to be this.
    pub updated_output: Option<Value>,
    /// The same, for tools of MCP servers only.
    pub updated_mcp_output: Option<Value>,
    /// Texts for the model, ready to be added. After `Stop` and `SubagentStop` any of them makes the run go on.
    pub context: Vec<String>,
    /// Texts for whoever classifies later calls.
    pub classifier_context: Vec<String>,
    /// Everything stops, for this reason, which may be empty.
    pub stop: Option<String>,
    /// Texts for the user, ready to be shown.
    pub system_messages: Vec<String>,
    /// For the terminal, as they are.
    pub terminal_sequences: Vec<String>,
    /// What was decided in a person's place.
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
    /// What went wrong with handlers, ready to be shown to the user. Nothing else comes of it.
    pub errors: Vec<String>,
}

impl Merged {
    /// Whether what was about to happen must not.
    pub fn is_blocked(&self) -> bool {
        let is_denied = matches!(self.permission, Some((Verdict::Deny, _)));
        is_denied || self.prevents && !self.objections.is_empty()
    }

    /// The objections as one text: why it must not, or what the model is told of what is done already.
    pub fn objection(&self) -> Option<String> {
        (!self.objections.is_empty()).then(|| self.objections.join("\n"))
    }

    /// What makes a run that was about to stop go on (`Stop`, `SubagentStop`, `TeammateIdle`): what to tell it.
    pub fn goes_on_with(&self) -> Option<String> {
        let texts: Vec<&str> = self.objections.iter().chain(&self.context).map(String::as_str).collect();
        (self.stop.is_none() && !texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// Brings the answers of all handlers together, in their order.
pub fn merge(occasion: &Occasion, answers: impl IntoIterator<Item = Answered>) -> Merged {
    let event = occasion.event();
    let objection = event.facts().objection;
    let prevents = matches!(objection, Objection::Blocks | Objection::AnyFailureBlocks);
    let mut merged = Merged { prevents, ..Merged::default() };
    for answered in answers {
        merged.add(occasion, answered);
    }
    if matches!(merged.permission, Some((Verdict::Deny | Verdict::Defer, _))) {
        merged.updated_input = None;
    }
    if matches!(event, HookEvent::Elicitation | HookEvent::ElicitationResult) && merged.is_blocked() {
        merged.elicitation = Some((ElicitationAction::Decline, None));
    }
    if merged.is_blocked() {
        merged.worktree_path = None;
    }
    merged
}

impl Merged {
    fn add(&mut self, occasion: &Occasion, answered: Answered) {
        let Answered { label, answer } = answered;
        let name = occasion.name();
        let event = occasion.event().name();
        let Answer {
            block,
            errors,
            stop,
            system_message,
            terminal_sequence,
            context,
            classifier_context,
            permission,
            updated_input,
            updated_output,
            updated_mcp_output,
            request,
            initial_user_message,
            session_title,
            suppress_original_prompt,
            reload_skills,
            retry,
            watch_paths,
            worktree_path,
            elicitation,
            display_content,
            detached: _,
        } = answer;
        self.errors.extend(errors.into_iter().map(|text| format!("{name} hook failed: [{label}]: {text}")));
        if let Some(block) = block {
            self.object(occasion, &label, &block);
        }
        if let Some((verdict, reason)) = permission {
            self.decide(&name, verdict, reason);
        }
        if let Some(request) = request {
            self.answer_request(request);
        }
        self.stop = self.stop.take().or(stop);
        self.system_messages.extend(system_message.map(|text| format!("{name} says: {text}")));
        self.terminal_sequences.extend(terminal_sequence);
        self.context.extend(context.map(|text| format!("{event} hook additional context: {text}")));
        self.classifier_context.extend(classifier_context);
        self.suppress_original_prompt |= suppress_original_prompt;
        self.reload_skills |= reload_skills;
        self.retry |= retry;
        self.watch_paths = match (self.watch_paths.take(), watch_paths) {
            (Some(mut all), Some(more)) => {
                all.extend(more);
                Some(all)
            }
            (one, other) => one.or(other),
        };
        // Of several handlers that replace the same thing, the last one configured has the last word.
        replace(&mut self.updated_input, updated_input);
        replace(&mut self.updated_output, updated_output);
        replace(&mut self.updated_mcp_output, updated_mcp_output);
        replace(&mut self.initial_user_message, initial_user_message);
        replace(&mut self.session_title, session_title);
        replace(&mut self.worktree_path, worktree_path);
        replace(&mut self.elicitation, elicitation);
        replace(&mut self.display_content, display_content);
    }

    fn object(&mut self, occasion: &Occasion, label: &str, block: &Block) {
        if matches!(occasion, Occasion::ConfigChange { source: ConfigSource::Policy, .. }) {
            let text = format!("{} hook failed: [{label}]: the policy cannot be blocked", occasion.name());
            return self.errors.push(text);
        }
        let text = objection_text(occasion, label, block);
        if matches!(occasion.event(), HookEvent::PreToolUse | HookEvent::PreModelSwitch) {
            let first = !matches!(self.permission, Some((Verdict::Deny, _)));
            if first {
                self.permission = Some((Verdict::Deny, Some(text.clone())));
            }
        }
        self.objections.push(text);
    }

    /// The strictest verdict counts, with the reason of the first who gave it.
    fn decide(&mut self, name: &str, verdict: Verdict, reason: Option<String>) {
        let reason = if verdict == Verdict::Deny {
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            let text = format!("{name} hook error: {reason}");
            self.objections.push(text.clone());
            Some(text)
        } else {
            reason
        };
        if self.permission.as_ref().is_none_or(|(known, _)| *known < verdict) {
            self.permission = Some((verdict, reason));
        }
    }

    fn answer_request(&mut self, request: RequestDecision) {
        let is_denied = matches!(self.request, Some(RequestDecision::Deny { .. }));
        let denies = matches!(request, RequestDecision::Deny { .. });
        if self.request.is_none() || denies && !is_denied {
            self.request = Some(request);
        }
    }
}

fn objection_text(occasion: &Occasion, label: &str, block: &Block) -> String {
    let Block { reason, by_exit } = block;
    let (name, event) = (occasion.name(), occasion.event());
    let said = if *by_exit { format!("[{label}]: {reason}") } else { reason.clone() };
    match event {
        HookEvent::PreToolUse | HookEvent::PreModelSwitch => format!("{name} hook error: {said}"),
        HookEvent::Stop | HookEvent::SubagentStop if !by_exit => {
            format!("{} hook blocking error from command: \"{label}\": {reason}", event.name())
        }
        HookEvent::Stop | HookEvent::SubagentStop | HookEvent::TeammateIdle => {
            format!("{} hook feedback:\n{said}", event.name())
        }
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => format!("{name} hook feedback:\n{said}"),
        _ => format!("{} blocked by hook: {said}", event.name()),
    }
}

fn replace<T>(known: &mut Option<T>, newer: Option<T>) {
    if newer.is_some() {
        *known = newer;
    }
}

#[cfg(test)]
mod tests;
