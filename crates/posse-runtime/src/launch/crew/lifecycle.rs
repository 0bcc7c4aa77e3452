//! The Agent tool: which agent, how it runs, and what its caller is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use posse_core::budget::Limits;
use posse_core::definition::AgentDefinition;
use posse_core::delegation::{
    self, Ending, ForkWorktree, Input, Launched, Reasons, Report, fork_messages, is_fork_history,
    report_limit, should_run_async,
};
use posse_core::event::{Delta, Refusal, TaskNews};
use posse_core::message::Message;
use posse_core::registry::Lookup;
use posse_core::spec;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::build::Born;
use super::work::{Job, Left};
use super::{Crew, Member, Standing};
use crate::tool::{Task, TaskKind, TaskState, TaskStatus, ToolCx, ToolOutput, Work};

/// How long an agent is waited for if it is to move to the background by itself.
const AUTO_BACKGROUND: Duration = Duration::from_secs(120);

/// Ends an agent when whoever waits for it goes away.
struct EndsWith(Option<CancellationToken>);

impl EndsWith {
    /// Lets it go on alone.
    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for EndsWith {
    fn drop(&mut self) {
        if let Some(stop) = &self.0 {
            stop.cancel();
        }
    }
}

impl Crew {
    /// What a call of the Agent tool does.
    pub(super) async fn begin(&self, input: Value, cx: &ToolCx) -> ToolOutput {
        let input = match Input::parse(&input) {
            Ok(input) => input,
            Err(error) => return ToolOutput::error(error.to_string()),
        };
        let Some(caller) = self.member(&cx.agent) else {
            return ToolOutput::error("This conversation cannot start agents.");
        };
        if let Some(wanted) = &input.resume {
            return self.continue_agent(wanted, &input, &caller, cx).await;
        }
        let wants_fork = match input.subagent_type.as_deref() {
            Some(kind) => kind == "fork",
            None => self.fork_mode(),
        };
        let prepared = if wants_fork {
            self.prepare_fork(&input, &caller, cx).await
        } else {
            self.prepare(&input, &caller, cx).await
        };
        match prepared {
            Ok(job) => self.start(job, &caller, cx).await,
            Err(text) => ToolOutput::error(text),
        }
    }

    async fn prepare(&self, input: &Input, caller: &Member, cx: &ToolCx) -> Result<Job, String> {
        let definition = self.definition(input, caller)?;
        let background = self.lifecycle(input, Some(definition), cx)?;
        let policy = &self.common.catalog.policy;
        let call = input.call(background);
        let spec = spec::resolve(definition, &caller.as_parent(), &call, policy)
            .map_err(|error| error.to_string())?;
        let member = self
            .build(caller, definition, &spec, input, self.born(input, cx))
            .await
            .map_err(|cause| format!("Agent {} {}.", definition.name, Ending::Failed(cause).words()))?;
        let mut message = Message::user(input.prompt.clone());
        if spec.fork_context
            && let Some(conversation) = &cx.conversation
        {
            message.blocks.insert(0, posse_core::message::Block::Text(handed_on(conversation)));
        }
        let skills = self.preload(&spec.skills, &member).await;
        message.blocks.extend(skills.into_iter().map(posse_core::message::Block::Text));
        if let Some(reminder) = &spec.critical_system_reminder {
            let text = format!("<system-reminder>\n{reminder}\n</system-reminder>");
            message.blocks.push(posse_core::message::Block::Text(text));
        }
        Ok(Job::of_call(member, message, input, cx, background))
    }

    async fn prepare_fork(&self, input: &Input, caller: &Member, cx: &ToolCx) -> Result<Job, String> {
        let conversation = cx.conversation.as_deref().unwrap_or_default();
        if caller.is_fork || is_fork_history(conversation) {
            return Err("A fork cannot fork. Do the work yourself with your tools, and report.".into());
        }
        self.refuse_denied("fork")?;
        let background = self.lifecycle(input, None, cx)?;
        let born = self.born(input, cx);
        let purse = caller.setup.purse.child(format!("fork {}", born.id), Limits::default());
        let purse = purse.map_err(|error| {
            self.refused(Refusal::Budget);
            format!("The fork was not started: {error}")
        })?;
        let place = self.place(caller, input, input.isolation, &born.id).await.map_err(|cause| {
            purse.close();
            format!("The fork {}.", Ending::Failed(cause).words())
        })?;
        let (original, path) = (caller.cx.cwd.get().display().to_string(), place.cwd.display().to_string());
        let moved = (original != path).then_some(ForkWorktree { original: &original, path: &path });
        let mut messages = fork_messages(conversation, &input.prompt, moved);
        let message = messages.pop().unwrap_or_else(|| Message::user(input.prompt.clone()));
        let member = self.build_fork(caller, input, born, place, purse, messages.into());
        Ok(Job::of_call(member, message, input, cx, background))
    }

    /// What a new agent has from the start: an id, and a name nobody else has.
    fn born(&self, input: &Input, cx: &ToolCx) -> Born {
        let id = format!("a{}", self.common.world.ids.hex16()).into();
        let name = input.name.as_deref().map(|name| self.free_name(name));
        Born { id, name, call: cx.call.clone(), terms: cx.terms.child(), earlier: None }
    }

    /// The name itself, or with a number behind it if somebody has it already.
    fn free_name(&self, wanted: &str) -> Box<str> {
        let is_taken = |name: &str| {
            name == "main" || self.members().names.contains_key(name) || self.is_earlier_name(name)
        };
        let numbered = (2..).map(|number: u32| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        names.find(|name| !is_taken(name)).unwrap_or_default().into()
    }

    /// The agent a call means; an error is what the model reads.
    fn definition(&self, input: &Input, caller: &Member) -> Result<&AgentDefinition, String> {
        let wanted = input.subagent_type.as_deref();
        let offered = self.offered(&caller.capability);
        let registry = &self.common.catalog.registry;
        match registry.lookup(wanted.unwrap_or("general-purpose")) {
            Lookup::Found(found) => {
                self.refuse_denied(&found.name)?;
                Ok(found)
            }
            Lookup::Ambiguous(names) => {
                Err(format!("Agent type '{}' could be {}", wanted.unwrap_or_default(), names.join(" or ")))
            }
            Lookup::Unknown(_) => Err(delegation::not_found(wanted, &offered)),
        }
    }

    /// An agent that a rule denies is not started.
    pub(super) fn refuse_denied(&self, name: &str) -> Result<(), String> {
        let Some(rule) = spec::denied(name, &self.common.catalog.policy) else { return Ok(()) };
        let (text, from) = (&rule.text, rule.by.file.display());
        Err(format!("Agent type '{name}' has been denied by permission rule '{text}' from {from}"))
    }

    /// Whether a call runs in the background.
    fn lifecycle(
        &self,
        input: &Input,
        definition: Option<&AgentDefinition>,
        cx: &ToolCx,
    ) -> Result<bool, String> {
        let env = &self.common.world.env;
        let reasons = Reasons {
            call: input.run_in_background,
            definition: definition.and_then(|definition| definition.background),
            coordinator: env.is_on("CLAUDE_CODE_COORDINATOR_MODE"),
            fork_mode: self.fork_mode(),
            assistant: env.is_on("CLAUDE_CODE_ASSISTANT_MODE"),
            proactive: env.is_on("CLAUDE_CODE_PROACTIVE"),
            background_by_default: env.is_on(delegation::BACKGROUND_BY_DEFAULT_VARIABLE),
            disabled: self.common.catalog.policy.background_disabled || cx.only_waits,
            teammate: false,
        };
        should_run_async(reasons)
            .map(|lifecycle| lifecycle.is_background())
            .map_err(|error| error.to_string())
    }

    /// Puts an agent to work. In the foreground the call waits, unless somebody sends the agent to the background.
    pub(super) async fn start(&self, job: Job, caller: &Arc<Member>, cx: &ToolCx) -> ToolOutput {
        let place = match self.seats.reserve() {
            Ok(place) => place,
            Err(text) => {
                self.refused(Refusal::Concurrency);
                self.leave_place(&job.member).await;
                return ToolOutput::error(text);
            }
        };
        let line = place.line();
        let Some(crew) = self.this.upgrade() else { return ToolOutput::error("The session is ending.") };
        let member = Arc::clone(&job.member);
        let launched = self.launched(&job);
        let background = job.background;
        let (sender, ended) = oneshot::channel();
        self.enlist(&member);
        let task = self.task(&job);
        let output = task.output.clone();
        let started = caller.cx.tasks.start(task, |work| {
            // Now and not when the work begins: whoever waits for it must be able to stop it before.
            *member.standing() = Standing::Running(work.stop.clone());
            async move {
                let seat = tokio::select! {
                    seat = place.seat() => Some(seat),
                    () = work.stop.cancelled() => None,
                };
                if let Some(seat) = seat {
                    member.seat.take(seat);
                }
                let call = job.call.clone();
                let stop = work.stop.clone();
                let left = crew.work(job, stop).await;
                crew.announce(&left, &work, &call, &output);
                let _ = sender.send(left);
            }
        });
        if !started {
            if let Some(member) = self.member(&launched.agent_id) {
                self.leave_place(&member).await;
            }
            return ToolOutput::error("The agent was not started: the session is ending.");
        }
        if background {
            return told(&launched, line);
        }
        caller.cx.tasks.saw_end(&launched.agent_id);
        self.wait(&launched, ended, caller, cx).await
    }

    pub(super) fn refused(&self, why: Refusal) {
        self.common.events.delta(Delta::Task(TaskNews::Refused(why)));
    }

    /// Sends agents that are waited for to the background: those of one call, or all. Says how many.
    pub(in super::super) fn send_to_background(&self, call: Option<&str>) -> usize {
        let members: Vec<Arc<Member>> = self.members().by_id.values().cloned().collect();
        let waited = |member: &&Arc<Member>| {
            member.is_waited_for.load(Ordering::Relaxed) && call.is_none_or(|call| *member.call == *call)
        };
        members.iter().filter(waited).map(|member| member.to_background.notify_one()).count()
    }

    /// Waits for an agent in the foreground.
    async fn wait(
        &self,
        launched: &Launched,
        ended: oneshot::Receiver<Left>,
        caller: &Member,
        cx: &ToolCx,
    ) -> ToolOutput {
        let Some(member) = self.member(&launched.agent_id) else {
            return ToolOutput::error("The agent is gone.");
        };
        let stop = match &*member.standing() {
            Standing::Running(stop) => stop.clone(),
            Standing::Ended => CancellationToken::new(),
        };
        let guard = EndsWith(Some(stop.clone()));
        caller.seat.rest();
        member.is_waited_for.store(true, Ordering::Relaxed);
        let patience = self.waited_long(cx);
        tokio::pin!(ended, patience);
        let left = tokio::select! {
            left = &mut ended => Some(left.ok()),
            () = member.to_background.notified() => None,
            () = &mut patience => None,
            () = cx.stop.cancelled() => {
                stop.cancel();
                Some(ended.await.ok())
            }
        };
        member.is_waited_for.store(false, Ordering::Relaxed);
        let Some(left) = left else {
            // From now on it has a life of its own: the end of the call, or of the turn, is not its end.
            guard.release();
            caller.cx.tasks.unsee(&launched.agent_id);
            member.events(self, &cx.call, true).delta(Delta::Task(TaskNews::SentToBackground));
            caller.seat.resume().await;
            return told(
                &Launched {
                    output_file: self.output_file(&member).display().to_string(),
                    ..launched.clone()
                },
                None,
            );
        };
        caller.seat.resume().await;
        drop(guard);
        match left {
            Some(left) => self.answer(&left),
            None => ToolOutput::error("The agent ended without a word; this is a bug in posse."),
        }
    }

    /// Ends when an agent has been waited for long enough.
    async fn waited_long(&self, cx: &ToolCx) {
        if self.common.world.env.is_on("CLAUDE_AUTO_BACKGROUND_TASKS")
            && !cx.only_waits
            && !self.common.catalog.policy.background_disabled
        {
            tokio::time::sleep(AUTO_BACKGROUND).await;
        } else {
            std::future::pending().await
        }
    }

    /// What a call that waited is answered with.
    fn answer(&self, left: &Left) -> ToolOutput {
        let report = self.report(left);
        if left.ending.has_result() {
            ToolOutput::text(delegation::completed(&report, &left.ending, &left.facts))
                .with(delegation::completed_result(&left.said, &left.facts))
        } else {
            ToolOutput::error(delegation::failed(&left.ending, Some(&report), &left.facts))
        }
    }

    fn report(&self, left: &Left) -> Report {
        let limit = report_limit(self.common.world.env.number("TASK_MAX_OUTPUT_LENGTH"));
        let file = self.member(&left.facts.agent_id).map(|member| member.transcript.display().to_string());
        Report::new(&left.said, limit, file.as_deref().filter(|file| !file.is_empty()))
    }

    /// Leaves what there is to tell where the caller will find it.
    fn announce(&self, left: &Left, work: &Work, call: &str, output: &std::path::Path) {
        let report = self.report(left);
        let file = output.display().to_string();
        let notice = delegation::notification(Some(&report), &left.ending, &left.facts, call, &file);
        work.say(&left.said, notice);
        let status = match left.ending.task_status() {
            "completed" => TaskStatus::Completed,
            "killed" => TaskStatus::Killed,
            _ => TaskStatus::Failed,
        };
        work.end(status, None);
    }

    /// Remembers an agent, by its id and its name.
    pub(super) fn enlist(&self, member: &Arc<Member>) {
        let mut members = self.members();
        if let Some(name) = &member.name {
            members.names.insert(name.clone(), member.id.clone());
        }
        members.by_id.insert(member.id.clone(), Arc::clone(member));
    }

    fn task(&self, job: &Job) -> Task {
        Task {
            id: job.member.id.clone(),
            name: job.member.name.clone(),
            kind: TaskKind::Agent,
            command: job.prompt.clone(),
            description: Some(job.member.description.clone()),
            output: self.output_file(&job.member),
            call: job.call.clone(),
            state: TaskState { status: TaskStatus::Running, code: None },
            report: None,
        }
    }

    /// A file that can be read while the agent works: its transcript, under the name of its task.
    fn output_file(&self, member: &Member) -> PathBuf {
        if member.transcript.as_os_str().is_empty() {
            return PathBuf::new();
        }
        let link = self.common.spool.join("tasks").join(format!("{}.output", member.id));
        let _ = std::fs::create_dir_all(self.common.spool.join("tasks"));
        match std::os::unix::fs::symlink(&member.transcript, &link) {
            Ok(()) => link,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => link,
            Err(_) => member.transcript.clone(),
        }
    }

    fn launched(&self, job: &Job) -> Launched {
        let member = &job.member;
        let output = if job.background { self.output_file(member) } else { member.transcript.clone() };
        Launched {
            agent_id: member.id.clone(),
            name: member.name.clone(),
            description: member.description.clone(),
            prompt: job.prompt.clone(),
            model: member.setup.model_id.clone(),
            can_read_output_file: !output.as_os_str().is_empty(),
            output_file: output.display().to_string(),
            can_continue: !member.one_shot,
        }
    }
}

/// The answer of a call whose agent works on without it.
fn told(launched: &Launched, line: Option<usize>) -> ToolOutput {
    let mut text = delegation::async_launched(launched);
    if let Some(before) = line {
        text.push_str(&format!(
            "\n[posse: every seat is taken; it starts when one is free. {before} wait before it.]"
        ));
    }
    ToolOutput::text(text).with(delegation::async_launched_result(launched))
}

/// A conversation for an agent that works with its caller's.
fn handed_on(conversation: &[Message]) -> String {
    let lines: Vec<String> = conversation
        .iter()
        .map(|message| format!("{:?}: {}", message.role, message.text()))
        .filter(|line| line.len() > 12)
        .collect();
    format!(
        "<system-reminder>\nThe conversation of the agent that calls you, for context; it asks nothing of you.\n\n{}\n\
         </system-reminder>",
        lines.join("\n")
    )
}
