//! Calls: judged, run, and looked at by hooks afterwards. Each in a task of its own, so that asking a person or
//! waiting for a hook holds up nothing else.

use std::path::Path;
use std::sync::Arc;

use posse_core::event::{Delta, Outcome, What};
use posse_core::hooks::occasion::{TaskFacts, ToolUse};
use posse_core::hooks::{HookEvent, Merged, Occasion};
use posse_core::message::{Content, Role, ToolAnswer, ToolCall};
use posse_core::permission::Mode;
use posse_core::turn::{Input, Verdict};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::driver::{Done, Flight, unjudged};
use super::{Event, Run, ToolPool};
use crate::authority::Guard;
use crate::tool::{AnyTool, ToolCx, ToolOutput, ToolProgress};
use crate::world::Clock;

/// What else comes of a call that has run.
#[derive(Debug, Default)]
pub(super) struct Aftermath {
    /// What the model is told.
    pub(super) mail: Vec<String>,
    /// What the user is told.
    pub(super) notes: Vec<String>,
    /// How the turn ends with it, if it does.
    pub(super) stop: Option<Outcome>,
}

impl Aftermath {
    fn take(&mut self, merged: &Merged) {
        self.mail.extend(merged.context.iter().cloned());
        self.notes.extend(merged.system_messages.iter().chain(&merged.errors).cloned());
        if let Some(why) = &merged.stop {
            self.stop = Some(Outcome::Stopped(why.clone()));
        }
    }
}

impl Run {
    /// The pool is enforced here, at the call, and not only in what is offered.
    pub(super) fn authorize(&self, call: ToolCall, flight: &mut Flight, stop: &CancellationToken) {
        let rejected = match self.setup.tools.get(&call.name) {
            None => Some(format!("Error: No such tool available: {}", call.name)),
            Some(tool) if self.setup.tools.is_waiting(tool.name()) => Some(format!(
                "Error: {name} is not loaded yet, so its input is not known. Load it first: call ToolSearch with the \
                 query \"select:{name}\", then call it.",
                name = tool.name()
            )),
            Some(_) => None,
        };
        if let Some(why) = rejected {
            let verdict = Verdict::Reject(why);
            flight.inputs.push_back(Input::Verdict { call: call.id, verdict });
            return;
        }
        let Some(tool) = self.setup.tools.get(&call.name) else {
            // A server may have been taken away while somebody was asked about the call.
            let gone = format!("{} is not there any more.", call.name);
            flight.inputs.push_back(Input::Answered(ToolAnswer::error(call.id, gone)));
            return;
        };
        let (guard, cwd, words) = (self.setup.guard.clone(), self.cx.cwd.get(), self.words());
        let stop = stop.clone();
        let owed = Done::Judged(call.id.clone(), Box::new(unjudged(&call.name)));
        flight.start(owed, async move {
            let judged = tokio::select! {
                judged = guard.authorize(&call, &cwd, &words, |input| tool.runs_alone(input)) => judged,
                // The machine has given the call its answer by then.
                () = stop.cancelled() => unjudged(&call.name),
            };
            Done::Judged(call.id, Box::new(judged))
        });
    }

    /// What the user said, where somebody will judge by it.
    fn words(&self) -> Vec<String> {
        if self.setup.guard.mode.current() != Mode::Auto {
            return Vec::new();
        }
        let said = self.turn.history().iter().filter(|message| message.role == Role::User);
        let texts = said.flat_map(|message| message.blocks.iter()).filter_map(|block| match block {
            posse_core::message::Block::Text(text) if !text.trim_start().starts_with('<') => {
                Some(text.clone())
            }
            _ => None,
        });
        texts.collect()
    }

    /// Shows how far a call has come.
    fn progress_of(&self, call: &ToolCall) -> ToolProgress {
        let (id, tool) = (call.id.clone(), call.name.clone());
        let (events, watch) = (self.events.clone(), self.setup.world.clock.start());
        ToolProgress::new(move |text| {
            let (call, tool, elapsed_ms) = (id.clone(), tool.clone(), watch.elapsed_ms());
            events.delta(Delta::ToolProgress { call, tool, elapsed_ms, text });
        })
    }

    pub(super) fn run_tool(&self, call: ToolCall, flight: &mut Flight, stop: &CancellationToken) {
        let Some(tool) = self.setup.tools.get(&call.name) else {
            // A server may have been taken away while somebody was asked about the call.
            let gone = format!("{} is not there any more.", call.name);
            flight.inputs.push_back(Input::Answered(ToolAnswer::error(call.id, gone)));
            return;
        };
        self.show(Event { what: What::Delta(Delta::ToolRunning(call.clone())), ids: Vec::new(), from: None });
        let mut cx = self.cx.for_call(&call.id);
        cx.stop = stop.child_token();
        cx.progress = self.progress_of(&call);
        if tool.wants_conversation(&call.input) {
            cx.conversation = Some(flight.conversation(self.turn.history()));
        }
        flight.stops.insert(call.id.clone(), cx.stop.clone());
        let crashed =
            ToolAnswer::error(call.id.clone(), format!("{} crashed; this is a bug in posse.", call.name));
        let worker = Worker {
            tool,
            tools: self.setup.tools.clone(),
            guard: self.setup.guard.clone(),
            clock: self.setup.world.clock.clone(),
            cx,
        };
        let keeps_batch = self.setup.guard.hooks.hears(HookEvent::PostToolBatch);
        if keeps_batch {
            flight.batch.push((tool_use(&call), Value::Null));
        }
        flight.start(Done::Tool(crashed, Aftermath::default()), async move {
            let (answer, aftermath) = worker.work(call).await;
            Done::Tool(answer, aftermath)
        });
    }
}

/// A tool as hooks are told of it.
pub(super) fn tool_use(call: &ToolCall) -> ToolUse {
    ToolUse {
        name: call.name.to_string(),
        input: call.input.clone(),
        id: call.id.to_string(),
        mcp_server: None,
    }
}

/// An answer as hooks are told of it.
pub(super) fn response(answer: &ToolAnswer) -> Value {
    answer.structured.clone().unwrap_or_else(|| Value::String(text(&answer.content)))
}

fn text(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        Content::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Somebody who runs one call.
pub(super) struct Worker {
    pub(super) tool: Arc<dyn AnyTool>,
    pub(super) tools: ToolPool,
    pub(super) guard: Guard,
    pub(super) clock: Clock,
    pub(super) cx: ToolCx,
}

impl Worker {
    pub(super) async fn work(self, call: ToolCall) -> (ToolAnswer, Aftermath) {
        let mut aftermath = Aftermath::default();
        if let Some(refusal) = self.task_may_be_closed(&call, &mut aftermath).await {
            return (ToolAnswer::error(call.id, refusal), aftermath);
        }
        let before = self.cx.cwd.get();
        let watch = self.clock.start();
        let output = self.tool.run(call.input.clone(), &self.cx).await;
        let took = watch.elapsed_ms();
        let mut answer = answer(&call, output);
        self.task_was_made(&call, &mut answer, &mut aftermath).await;
        self.after(&call, &mut answer, took, &mut aftermath).await;
        self.moved(&before, &mut aftermath).await;
        (answer, aftermath)
    }

    async fn fire(&self, occasion: &Occasion, aftermath: &mut Aftermath) -> Merged {
        let merged = self.guard.hooks.fire(occasion, &self.cx.cwd.get()).await;
        aftermath.take(&merged);
        merged
    }

    async fn after(&self, call: &ToolCall, answer: &mut ToolAnswer, took: u64, aftermath: &mut Aftermath) {
        let hooks = &self.guard.hooks;
        let duration_ms = Some(took);
        let occasion = if answer.is_error && hooks.hears(HookEvent::PostToolUseFailure) {
            Occasion::PostToolUseFailure {
                tool: tool_use(call),
                error: text(&answer.content),
                is_interrupt: self.cx.stop.is_cancelled().then_some(true),
                duration_ms,
            }
        } else if !answer.is_error && hooks.hears(HookEvent::PostToolUse) {
            Occasion::PostToolUse { tool: tool_use(call), tool_response: response(answer), duration_ms }
        } else {
            return;
        };
        let merged = self.fire(&occasion, aftermath).await;
        // The tool has run: an objection is something for the model to know.
        aftermath.mail.extend(merged.objection());
        if let Some(output) = merged.updated_output.or(merged.updated_mcp_output) {
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            answer.content = vec![Content::Text(text)];
            answer.structured = Some(output);
        }
    }

    async fn moved(&self, before: &Path, aftermath: &mut Aftermath) {
        let now = self.cx.cwd.get();
        if now != before {
            self.guard.hooks.moved(&now);
        }
        if now != before && self.guard.hooks.hears(HookEvent::CwdChanged) {
            let occasion = Occasion::CwdChanged {
                old_cwd: before.display().to_string(),
                new_cwd: now.display().to_string(),
            };
            self.fire(&occasion, aftermath).await;
        }
    }

    /// A task that hooks will not have is taken off the list again.
    async fn task_was_made(&self, call: &ToolCall, answer: &mut ToolAnswer, aftermath: &mut Aftermath) {
        if self.tool.name() != "TaskCreate"
            || answer.is_error
            || !self.guard.hooks.hears(HookEvent::TaskCreated)
        {
            return;
        }
        let id =
            answer.structured.as_ref().and_then(|made| made.pointer("/task/id")).cloned().unwrap_or_default();
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let merged = self.fire(&Occasion::TaskCreated(task_facts(call, &id)), aftermath).await;
        if !merged.is_blocked() {
            return;
        }
        if let Some(update) = self.tools.get("TaskUpdate") {
            update.run(json!({ "taskId": id, "status": "deleted" }), &self.cx).await;
        }
        let why = merged.objection().unwrap_or_else(|| "a TaskCreated hook refused it".into());
        *answer = ToolAnswer::error(call.id.clone(), why);
    }

    /// Why a task stays open, if hooks say so.
    async fn task_may_be_closed(&self, call: &ToolCall, aftermath: &mut Aftermath) -> Option<String> {
        let closes = call.input.get("status").and_then(Value::as_str) == Some("completed");
        if self.tool.name() != "TaskUpdate" || !closes || !self.guard.hooks.hears(HookEvent::TaskCompleted) {
            return None;
        }
        let id = call.input.get("taskId").cloned().unwrap_or_default();
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let merged = self.fire(&Occasion::TaskCompleted(task_facts(call, &id)), aftermath).await;
        merged
            .is_blocked()
            .then(|| merged.objection().unwrap_or_else(|| "a TaskCompleted hook refused it".into()))
    }
}

fn task_facts(call: &ToolCall, id: &str) -> TaskFacts {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str).map(str::to_owned);
    TaskFacts {
        id: id.to_owned(),
        subject: text("subject").unwrap_or_default(),
        description: text("description"),
        teammate_name: None,
        team_name: None,
    }
}

fn answer(call: &ToolCall, output: ToolOutput) -> ToolAnswer {
    let mut content = output.content;
    if content.is_empty() {
        content.push(Content::Text("(no output)".into()));
    }
    ToolAnswer { id: call.id.clone(), content, is_error: output.is_error, structured: output.structured }
}
