//! A run as lines of JSON, in the shapes the SDKs read.

mod board;
mod raw;
mod shells;

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_core::event::{Delta, Fact, HookNotice, Outcome, TaskNews, What};
use posse_core::failure::Failure;
use posse_core::hooks::HookEvent;
use posse_core::message::{Reply, StopReason, json as wire};
use posse_core::permission::Mode;
use posse_core::price;
use posse_runtime::catalog::{Plugin, PluginFault};
use posse_runtime::launch::Facts;
use posse_runtime::mcp::Status;
use posse_runtime::run::{Ended, Event, Mark, Spent};
use posse_runtime::session::{VERSION, assistant_message, tool_use_result, trigger_word};
use posse_runtime::tool::Task;
use posse_runtime::world::World;
use serde_json::{Value, json};

use self::board::Board;
use self::raw::{Raw, Shown};
use self::shells::Shells;

/// Turns events into lines.
pub struct Stream {
    facts: Facts,
    world: Arc<World>,
    partial: bool,
    hooks: bool,
    /// Whether agents that are waited for are heard talking to themselves.
    speech: bool,
    board: Board,
    /// Commands in the background.
    shells: Shells,
    /// Those of them that go on.
    shells_at_work: Vec<Value>,
    /// What is open of the raw events.
    raw: Raw,
    /// The blocks that were told of before their reply was whole.
    shown: Shown,
    /// How many turns have been told of.
    results: u64,
}

/// How a turn ended, with the run's totals.
pub struct TurnEnd<'a> {
    /// The turn.
    pub ended: &'a Ended,
    /// By model, over the whole run.
    pub spent: &'a BTreeMap<Box<str>, Spent>,
    /// Milliseconds spent waiting for the model.
    pub api_ms: u64,
    /// Whether it was no prompt that began it, but the end of an agent.
    pub by_itself: bool,
}

fn server(server: &Status) -> Value {
    let mut value = json!({ "name": *server.name, "status": server.state.word() });
    if let Some(source) = server.source {
        value["source"] = json!(source);
    }
    value
}

/// A plugin, as hosts list it.
pub fn plugin(plugin: &Plugin) -> Value {
    let mut value =
        json!({ "name": *plugin.name, "path": plugin.path.display().to_string(), "source": plugin.id });
    if let Some(version) = &plugin.version {
        value["version"] = json!(version);
    }
    value
}

impl Stream {
    /// Lines for a run; `partial` if raw events are wanted, `hooks` if what hooks do is.
    pub fn new(facts: Facts, world: Arc<World>, partial: bool, hooks: bool) -> Self {
        Self {
            facts,
            world,
            partial,
            hooks,
            speech: false,
            board: Board::default(),
            shells: Shells::default(),
            shells_at_work: Vec::new(),
            raw: Raw::default(),
            shown: Shown::default(),
            results: 0,
        }
    }

    /// What the run was launched with, as lines tell it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Tells of another run from now on, or of the same with another model.
    pub fn retell(&mut self, facts: Facts) {
        self.facts = facts;
    }

    /// Also tells what agents that are waited for say to themselves.
    pub fn tell_speech_of_agents(&mut self) {
        self.speech = true;
    }

    /// Actions are approved in another way.
    pub fn mode_changed(&self, mode: Mode) -> Value {
        self.system("status", json!({ "status": null, "permissionMode": mode.name() }))
    }

    /// Something that was said in the user's role.
    pub fn said(&self, content: Value, id: Option<&Arc<str>>) -> Value {
        let mut line = self.line("user", id);
        line["message"] = json!({ "role": "user", "content": content });
        line["parent_tool_use_id"] = Value::Null;
        line
    }

    /// A line of its own kind.
    pub fn other(&self, kind: &str, fields: Value) -> Value {
        let mut line = self.line(kind, None);
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        line
    }

    /// What stands at the start of every turn.
    pub fn init(&self) -> Value {
        let facts = &self.facts;
        // The older name of the Agent tool is what readers know.
        let tools: Vec<&str> =
            facts.tools.iter().map(|name| if name == "Agent" { "Task" } else { name }).collect();
        let mut line = json!({
            "type": "system",
            "subtype": "init",
            "cwd": facts.cwd.display().to_string(),
            "session_id": facts.session,
            "tools": tools,
            "mcp_servers": facts.servers.iter().map(server).collect::<Vec<_>>(),
            "model": facts.model,
            "permissionMode": facts.mode.name(),
            "slash_commands": facts.slash_commands,
            "apiKeySource": facts.key_source,
            "claude_code_version": VERSION,
            "output_style": facts.output_style,
            "agents": facts.agents,
            "skills": facts.skills,
            "plugins": facts.plugins.iter().map(plugin).collect::<Vec<_>>(),
            "uuid": self.world.ids.uuid(),
        });
        if !facts.betas.is_empty() {
            line["betas"] = json!(facts.betas);
        }
        if !facts.failed.is_empty() {
            let failed = facts.failed.iter().map(|(file, reason)| json!({ "file": file, "reason": reason }));
            line["agents_failed"] = failed.collect();
        }
        if !facts.plugin_faults.is_empty() {
            let fault = |fault: &PluginFault| {
                let PluginFault { plugin, kind, text, path } = fault;
                json!({ "plugin": plugin, "type": kind, "message": text, "path": path.display().to_string() })
            };
            line["plugin_errors"] = facts.plugin_faults.iter().map(fault).collect();
        }
        line
    }

    /// Something the user should know.
    pub fn note(&self, text: &str) -> Value {
        self.system("informational", json!({ "content": text, "level": "notice" }))
    }

    /// The lines of an event.
    pub fn event(&mut self, event: &Event) -> Vec<Value> {
        let changed = self.board.note(event, &self.world.clock);
        let mut lines = match &event.from {
            Some(mark) => self.agent(mark, event),
            None => {
                let missing = self.raw.note(&event.what);
                let mut lines: Vec<Value> = missing.into_iter().map(|event| self.raw_event(event)).collect();
                lines.extend(self.main(event));
                self.shown.forget_told(&event.what, &event.ids, &mut lines);
                lines
            }
        };
        if changed {
            lines.push(self.background_tasks());
        }
        lines
    }

    /// The lines of what has become of commands in the background since the last look.
    pub fn look_at(&mut self, tasks: &[Task]) -> Vec<Value> {
        let news = self.shells.look(tasks);
        if news.is_empty() {
            return Vec::new();
        }
        self.shells_at_work = shells::at_work(tasks).collect();
        let mut lines: Vec<Value> =
            news.into_iter().map(|(kind, fields)| self.system(kind, fields)).collect();
        lines.push(self.background_tasks());
        lines
    }

    fn background_tasks(&self) -> Value {
        let tasks: Vec<Value> =
            self.board.in_background().into_iter().chain(self.shells_at_work.iter().cloned()).collect();
        self.system("background_tasks_changed", json!({ "tasks": tasks }))
    }

    /// What another agent does: its comings and goings, and what it does with tools.
    fn agent(&mut self, mark: &Mark, event: &Event) -> Vec<Value> {
        let lines = match &event.what {
            What::Delta(Delta::Task(news)) => return self.task(mark, news),
            What::Delta(Delta::ToolRunning(call)) => return self.progress(mark, &call.name),
            What::Delta(Delta::ToolProgress { .. }) => {
                let tell = |mut line: Value| {
                    line["parent_tool_use_id"] = json!(mark.call);
                    line["task_id"] = json!(mark.agent);
                    line["subagent_type"] = json!(mark.kind);
                    line
                };
                return self.main(event).into_iter().map(tell).collect();
            }
            What::Fact(Fact::Replied(_) | Fact::Answered { .. } | Fact::Denied { .. }) => self.main(event),
            What::Delta(Delta::Note(_) | Delta::Hook(_)) => return self.main(event),
            What::Fact(_) | What::Delta(_) => return Vec::new(),
        };
        let in_background = self.board.is_in_background(mark);
        let shown = |line: &Value| {
            // What it says to itself is its own, and the call gets the report; of one that nobody waits for, this is
            // all there is to see.
            let text = line.pointer("/message/content/0/type").and_then(Value::as_str);
            let is_speech = line.get("type").and_then(Value::as_str) == Some("assistant")
                && matches!(text, Some("text" | "thinking" | "redacted_thinking"));
            in_background || self.speech || !is_speech
        };
        lines.into_iter().filter(shown).map(|line| marked(line, mark)).collect()
    }

    /// The task of an agent, as it was given to it.
    fn told(&self, prompt: &str) -> Value {
        let mut line = self.line("user", None);
        line["message"] = json!({ "role": "user", "content": [{ "type": "text", "text": prompt }] });
        line["parent_tool_use_id"] = Value::Null;
        line
    }

    fn progress(&mut self, mark: &Mark, tool: &str) -> Vec<Value> {
        let Some(done) = self.board.progress(mark, tool) else { return Vec::new() };
        let fields = json!({
            "task_id": mark.agent,
            "tool_use_id": mark.call,
            "description": mark.task,
            "subagent_type": mark.kind,
            "usage": { "total_tokens": done.tokens, "tool_uses": done.tools, "duration_ms": done.duration_ms },
            "last_tool_name": done.tool,
        });
        vec![self.system("task_progress", fields)]
    }

    fn task(&self, mark: &Mark, news: &TaskNews) -> Vec<Value> {
        let mut fields = json!({ "task_id": mark.agent, "tool_use_id": mark.call });
        let mut put = |key: &str, value: Value| fields[key] = value;
        match news {
            TaskNews::Started { prompt, background, asked: _ } => {
                put("run_id", json!(mark.agent));
                put("description", json!(mark.task));
                put("subagent_type", json!(mark.kind));
                put("is_backgrounded", json!(background));
                put("spawn_depth", json!(mark.depth));
                put("task_type", json!("local_agent"));
                put("prompt", json!(prompt));
                vec![self.system("task_started", fields), marked(self.told(prompt), mark)]
            }
            TaskNews::SentToBackground => {
                let patch = json!({ "task_id": mark.agent, "patch": { "is_backgrounded": true } });
                vec![self.system("task_updated", patch)]
            }
            TaskNews::Refused(_) => Vec::new(),
            TaskNews::Ended {
                status,
                sdk_status,
                stopper: _,
                at_ms,
                summary,
                output_file,
                tokens,
                tool_uses,
                duration_ms,
            } => {
                let mut update =
                    json!({ "task_id": mark.agent, "patch": { "status": status, "end_time": at_ms } });
                if *status == "failed" {
                    update["patch"]["error"] = json!(summary);
                }
                put("status", json!(sdk_status));
                put("summary", json!(summary));
                put("output_file", json!(output_file));
                put(
                    "usage",
                    json!({ "total_tokens": tokens, "tool_uses": tool_uses, "duration_ms": duration_ms }),
                );
                vec![self.system("task_updated", update), self.system("task_notification", fields)]
            }
        }
    }

    fn main(&self, event: &Event) -> Vec<Value> {
        match &event.what {
            What::Fact(Fact::Replied(reply)) | What::Delta(Delta::Block(reply)) => {
                self.reply(reply, &event.ids)
            }
            What::Fact(Fact::Answered { answer, .. }) => {
                let mut line = self.line("user", event.ids.first());
                line["message"] = json!({ "role": "user", "content": [wire::tool_result(answer)] });
                line["parent_tool_use_id"] = Value::Null;
                line["tool_use_result"] = tool_use_result(answer);
                vec![line]
            }
            What::Fact(Fact::Denied { call, why }) => {
                let mut line =
                    json!({ "tool_name": call.name, "tool_use_id": call.id, "message": why.message });
                if let Some(because) = &why.because {
                    line["decision_reason_type"] = because.kind.into();
                    line["decision_reason"] = because.reason.as_str().into();
                }
                vec![self.system("permission_denied", line)]
            }
            What::Fact(Fact::Compacted { trigger, before, .. }) => vec![
                self.system("status", json!({ "status": null, "compact_result": "success" })),
                self.system(
                "compact_boundary",
                json!({ "compact_metadata": { "trigger": trigger_word(*trigger), "pre_tokens": before } }),
            ),
            ],
            What::Delta(Delta::Retry { attempt, of, delay, failure }) => vec![self.system(
                "api_retry",
                json!({
                    "attempt": attempt,
                    "max_retries": of,
                    "retry_delay_ms": u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    "error_status": failure.status,
                    "error": failure.kind.word(),
                }),
            )],
            What::Delta(Delta::ToolProgress { call, tool, elapsed_ms, text: _ }) => {
                let seconds = std::time::Duration::from_millis(*elapsed_ms).as_secs_f64();
                let fields = json!({
                    "tool_use_id": call,
                    "tool_name": tool,
                    "parent_tool_use_id": null,
                    "elapsed_time_seconds": seconds,
                });
                vec![self.other("tool_progress", fields)]
            }
            What::Delta(Delta::Compacting) => vec![self.system("status", json!({ "status": "compacting" }))],
            What::Delta(Delta::Requesting) if self.partial => {
                vec![self.system("status", json!({ "status": "requesting" }))]
            }
            What::Delta(Delta::Raw(raw)) if self.partial => vec![self.raw_event(raw.clone())],
            What::Delta(Delta::Hook(notice)) if self.shows(notice) => vec![self.hook(notice)],
            What::Delta(Delta::Note(text)) => vec![self.note(text)],
            What::Delta(Delta::ModeChanged(mode)) => vec![self.mode_changed(*mode)],
            What::Fact(Fact::Said(_) | Fact::Finished(_))
            | What::Delta(
                Delta::Requesting
                | Delta::Raw(_)
                | Delta::Hook(_)
                | Delta::Task(_)
                | Delta::Text(_)
                | Delta::Thinking(_)
                | Delta::ToolStart { .. }
                | Delta::Discarded
                | Delta::ToolRunning(_),
            ) => Vec::new(),
        }
    }

    fn raw_event(&self, event: Value) -> Value {
        let mut line = self.line("stream_event", None);
        line["event"] = event;
        line["parent_tool_use_id"] = Value::Null;
        line
    }

    /// Those of the session's start are always told.
    fn shows(&self, notice: &HookNotice) -> bool {
        let (HookNotice::Started { event, .. } | HookNotice::Response { event, .. }) = notice;
        self.hooks || matches!(event, HookEvent::SessionStart | HookEvent::Setup)
    }

    fn hook(&self, notice: &HookNotice) -> Value {
        match notice {
            HookNotice::Started { hook_id, name, event } => self.system(
                "hook_started",
                json!({ "hook_id": hook_id, "hook_name": &**name, "hook_event": event.name() }),
            ),
            HookNotice::Response { hook_id, name, event, output, stdout, stderr, exit_code, outcome } => {
                let mut line = self.system(
                    "hook_response",
                    json!({
                        "hook_id": hook_id, "hook_name": &**name, "hook_event": event.name(), "output": output,
                        "stdout": stdout, "stderr": stderr, "outcome": outcome.word(),
                    }),
                );
                if let Some(code) = exit_code {
                    line["exit_code"] = json!(code);
                }
                line
            }
        }
    }

    fn reply(&self, reply: &Reply, ids: &[Arc<str>]) -> Vec<Value> {
        let line = |(place, block)| {
            let mut line = self.line("assistant", ids.get(place));
            line["message"] = assistant_message(reply, block);
            line["parent_tool_use_id"] = Value::Null;
            if reply.stop == StopReason::Aborted {
                line["aborted"] = json!(true);
            }
            line
        };
        reply.blocks.iter().enumerate().map(line).collect()
    }

    fn line(&self, kind: &str, id: Option<&Arc<str>>) -> Value {
        let id = id.map_or_else(|| self.world.ids.uuid(), |id| id.to_string());
        json!({ "type": kind, "session_id": self.facts.session, "uuid": id })
    }

    fn system(&self, subtype: &str, fields: Value) -> Value {
        let mut line = self.line("system", None);
        line["subtype"] = json!(subtype);
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        line
    }

    /// What the model would have said, had it been reached.
    pub fn synthetic(&self, ended: &Ended) -> Vec<Value> {
        let Outcome::Failed(failure) = &ended.outcome else { return Vec::new() };
        let mut line = self.local(&prose(failure));
        line["error"] = json!(failure.kind.word());
        vec![line]
    }

    /// A line of the system, of its own kind.
    pub fn of_system(&self, subtype: &str, fields: Value) -> Value {
        self.system(subtype, fields)
    }

    /// What posse itself says in the place of the model.
    pub fn local(&self, text: &str) -> Value {
        let mut line = self.line("assistant", None);
        line["message"] = json!({
            "id": self.world.ids.uuid(),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{ "type": "text", "text": text }],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": wire::usage(&posse_core::message::Usage::default()),
        });
        line["parent_tool_use_id"] = Value::Null;
        line
    }

    /// The end of a turn.
    pub fn result(&mut self, end: &TurnEnd<'_>) -> Value {
        let ended = end.ended;
        let (subtype, is_error, reason) = verdict(&ended.outcome);
        let cost = end.spent.values().fold(0.0, |total, spent| total + spent.cost);
        let mut line = json!({
            "type": "result",
            "subtype": subtype,
            "is_error": is_error,
            "duration_ms": ended.duration_ms,
            "duration_api_ms": end.api_ms,
            // The prompt is one of the user's messages; a command that asks no model has none.
            "num_turns": ended.user_messages,
            "stop_reason": ended.stop.as_ref().map(posse_core::message::StopReason::word),
            "session_id": self.facts.session,
            "total_cost_usd": cost,
            "usage": wire::usage(&ended.usage),
            "modelUsage": self.model_usage(end.spent),
            "permission_denials": ended.denials.iter().map(|call| json!({
                "tool_name": call.name, "tool_use_id": call.id, "tool_input": call.input,
            })).collect::<Vec<_>>(),
            "terminal_reason": reason,
            "uuid": self.world.ids.uuid(),
            "result_index": self.results,
        });
        self.results += 1;
        if end.by_itself {
            line["origin"] = json!({ "kind": "task-notification" });
        }
        if let Some(stats) = self.board.stats() {
            line["subagent_stats"] = stats;
        }
        match &ended.outcome {
            Outcome::Answer { text, structured } => {
                line["result"] = json!(text);
                if let Some(structured) = structured {
                    line["structured_output"] = structured.clone();
                }
            }
            Outcome::Failed(failure) => {
                line["result"] = json!(prose(failure));
                line["api_error_status"] = json!(failure.status);
            }
            Outcome::OutOfTurns(limit) => {
                line["errors"] = json!([format!("Reached maximum number of turns ({limit})")])
            }
            Outcome::OutOfTries(tries) => {
                line["errors"] = json!([format!("The answer did not fit the schema in {tries} tries")]);
            }
            Outcome::Exhausted { which, limit } => {
                line["errors"] =
                    json!([format!("Reached the limit of the budget ({})", which.amount(*limit))]);
            }
            Outcome::OutOfBudget(limit) => {
                line["errors"] = json!([format!("Reached maximum budget (${limit})")])
            }
            Outcome::Stalled(time) => {
                line["errors"] = json!([format!("Nothing came from the model for {} s", time.as_secs())]);
            }
            Outcome::Cancelled { .. } => line["errors"] = json!(["Request was aborted."]),
            Outcome::Blocked(why) => line["result"] = json!(why),
            Outcome::Deferred(call) => {
                line["result"] = json!("");
                line["stop_reason"] = json!("tool_deferred");
                line["deferred_tool_use"] = json!({ "id": call.id, "name": call.name, "input": call.input });
            }
            Outcome::Stopped(why) => {
                line["result"] = json!("");
                line["stop_hook_reason"] = json!(why);
            }
        }
        line
    }

    fn model_usage(&self, spent: &BTreeMap<Box<str>, Spent>) -> Value {
        let one = |model: &str, spent: &Spent| {
            let usage = spent.usage;
            let value = json!({
                "inputTokens": usage.input,
                "outputTokens": usage.output,
                "cacheReadInputTokens": usage.cache_read,
                "cacheCreationInputTokens": usage.cache_write,
                "webSearchRequests": usage.web_searches,
                "costUSD": spent.cost,
                "contextWindow": price::context_window(model),
                "maxOutputTokens": self.facts.max_tokens,
            });
            (model.to_string(), value)
        };
        Value::Object(spent.iter().map(|(model, spent)| one(model, spent)).collect())
    }
}

/// A line as one of another agent's.
fn marked(mut line: Value, mark: &Mark) -> Value {
    if line.get("parent_tool_use_id").is_some() {
        line["parent_tool_use_id"] = json!(mark.call);
        line["subagent_type"] = json!(mark.kind);
        line["task_description"] = json!(mark.task);
    }
    line["agent_id"] = json!(mark.agent);
    line
}

fn verdict(outcome: &Outcome) -> (&'static str, bool, &'static str) {
    match outcome {
        Outcome::Answer { .. } => ("success", false, "completed"),
        Outcome::Failed(_) => ("success", true, "api_error"),
        Outcome::OutOfTurns(_) => ("error_max_turns", true, "max_turns"),
        Outcome::OutOfTries(_) => ("error_max_structured_output_retries", true, "structured_output_retries"),
        Outcome::Exhausted { .. } => ("error_max_budget_usd", true, "budget_exhausted"),
        Outcome::OutOfBudget(_) => ("error_max_budget_usd", true, "budget_exhausted"),
        Outcome::Stalled(_) => ("error_during_execution", true, "stalled"),
        Outcome::Blocked(_) => ("success", false, "blocked_by_hook"),
        Outcome::Stopped(_) => ("success", false, "hook_stopped"),
        Outcome::Deferred(_) => ("success", false, "tool_deferred"),
        Outcome::Cancelled { in_tools: true } => ("error_during_execution", true, "aborted_tools"),
        Outcome::Cancelled { in_tools: false } => ("error_during_execution", true, "aborted_streaming"),
    }
}

/// The end of a session that never began, for programs that wait for one.
pub fn refused(why: &str, session: &str, world: &World) -> Value {
    json!({
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
        "is_error": true,
        "num_turns": 0,
        "stop_reason": null,
        "session_id": session,
        "total_cost_usd": 0,
        "usage": wire::usage(&posse_core::message::Usage::default()),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": world.ids.uuid(),
        "errors": [why],
        "result_index": 0,
    })
}

/// A failed request in words.
pub fn prose(failure: &Failure) -> String {
    let mut text = match failure.status {
        Some(status) if !failure.message.starts_with(&status.to_string()) => {
            format!("API Error: {status} {}", failure.message)
        }
        Some(_) | None => format!("API Error: {}", failure.message),
    };
    // What is tried again never gets here; a wait this long was not worth it.
    if let Some(asked) = failure.retry_after {
        text.push_str(&format!(" (the provider asks to wait {} s)", asked.as_secs()));
    }
    text
}
