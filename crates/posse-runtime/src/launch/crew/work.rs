//! One agent at work, from its first word to its ending.

use std::sync::Arc;
use std::time::Duration;

use posse_core::delegation::{self, Cause, Ending, Facts, Input, Stopper, ToolUses, VERDICT_REMINDER};
use posse_core::event::{Delta, Outcome, TaskNews};
use posse_core::hooks::{HookEvent, Occasion};
use posse_core::message::{Block, Message, Role, Usage};
use tokio_util::sync::CancellationToken;

use super::super::launched::news;
use super::{Crew, Member, Standing};
use crate::run::{Ended, Events, Mark, Run};
use crate::tool::{TaskKind, ToolCx};

/// How long nothing may be heard of an agent, unless `CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS` says otherwise.
const SILENCE_MS: u64 = 600_000;

/// What an agent leaves.
pub(super) struct Left {
    pub(super) ending: Ending,
    pub(super) facts: Facts,
    /// The last thing it said.
    pub(super) said: String,
}

/// One piece of work for an agent.
pub(super) struct Job {
    pub(super) member: Arc<Member>,
    pub(super) prompt: String,
    /// What it is told, as it is told.
    pub(super) message: Message,
    /// The call it works for.
    pub(super) call: Box<str>,
    pub(super) background: bool,
    /// Where its caller wanted it, if they said so.
    pub(super) asked: Option<bool>,
}

impl Job {
    /// What a call of the Agent tool asks for.
    pub(super) fn of_call(
        member: Arc<Member>,
        message: Message,
        input: &Input,
        cx: &ToolCx,
        background: bool,
    ) -> Self {
        let (prompt, call) = (input.prompt.clone(), cx.call.clone());
        Self { member, prompt, message, call, background, asked: input.run_in_background }
    }
}

impl Crew {
    /// Does a job, and says what is left. Ends in any case: cancelling `stop` ends it early.
    pub(super) async fn work(&self, job: Job, stop: CancellationToken) -> Left {
        let watch = self.common.world.clock.start();
        let member = Arc::clone(&job.member);
        let events = member.events(self, &job.call, job.background);
        let (prompt, background, asked) = (job.prompt.clone(), job.background, job.asked);
        events.delta(Delta::Task(TaskNews::Started { prompt, background, asked }));
        member.write_meta(self, job.background, None);
        let opened = member.open_transcript(self);
        // What a fork has of its caller is not its own work.
        let mut earlier = ToolUses::default();
        let (ending, said, run) = match opened {
            Err(error) => {
                let cause = Cause::Start { step: "open its transcript", why: error.to_string() };
                (Ending::Failed(cause), String::new(), None)
            }
            Ok((transcript, own)) => {
                earlier = tool_uses(&own);
                let base = member.base.iter().flat_map(|base| base.iter().cloned());
                let history: Vec<Message> = base.chain(own).collect();
                let setup = self.pace.turn(&member, &self.common.world.env, &stop).await;
                let mut run = Run::new(setup, history, member.cx.clone(), transcript, events.clone());
                run.fail_when_silent(self.patience());
                // What it has of its caller is not its own word.
                run.inherit(member.base.as_ref().map_or(0, |base| base.len()));
                let (ending, said) = self.drive(&mut run, &member, job.message, &stop, job.background).await;
                (ending, said, Some(run))
            }
        };
        member.cx.tasks.shutdown().await;
        // What nobody has read, whoever continues the agent finds first.
        member.cx.inbox.seal();
        member.setup.purse.close();
        member.setup.tools.rest();
        let worktree = self.leave_place(&member).await;
        let usage = self.settle(run.as_ref());
        let facts = Facts {
            agent_id: member.id.clone(),
            agent_type: member.kind.clone(),
            description: member.description.clone(),
            prompt: job.prompt,
            model: member.setup.model_id.clone(),
            models_used: Vec::new(),
            usage,
            total_tokens: run.as_ref().map(Run::context_tokens).unwrap_or_default(),
            tools: run.as_ref().map(|run| together(earlier, run.answered())).unwrap_or_default(),
            duration: Duration::from_millis(watch.elapsed_ms()),
            can_continue: !member.one_shot,
            worktree,
        };
        *member.standing() = Standing::Ended;
        member.write_meta(self, job.background, Some(ending.task_status()));
        events.delta(Delta::Task(TaskNews::Ended {
            status: ending.task_status(),
            sdk_status: ending.sdk_status(),
            stopper: ending.stopper(),
            at_ms: self.common.world.clock.now().as_millisecond(),
            summary: format!("Agent \"{}\" {}", member.description, ending.words()),
            output_file: member.transcript.display().to_string(),
            tokens: facts.total_tokens,
            tool_uses: facts.tools.total(),
            duration_ms: watch.elapsed_ms(),
        }));
        member.seat.leave();
        Left { ending, facts, said }
    }

    /// How long an agent may be silent.
    fn patience(&self) -> Duration {
        let set = self.common.world.env.number("CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS");
        Duration::from_millis(set.unwrap_or(SILENCE_MS))
    }

    /// Turn after turn until nothing is left to hear: agents of its own, messages, a verdict that is due.
    async fn drive(
        &self,
        run: &mut Run,
        member: &Member,
        message: Message,
        stop: &CancellationToken,
        background: bool,
    ) -> (Ending, String) {
        self.greet(run, member).await;
        let mut next = message;
        let mut reminded = false;
        loop {
            let ended = match run.prompt(next, stop.clone()).await {
                Ok(ended) => ended,
                Err(error) => return (Ending::Failed(Cause::Internal(error.to_string())), last_words(run)),
            };
            let is_answer = matches!(ended.outcome, Outcome::Answer { .. });
            if is_answer && let Some(more) = self.more_to_hear(run, member, stop).await {
                next = Message::user(more);
                continue;
            }
            if is_answer && is_verdict_due(member, run) && !std::mem::replace(&mut reminded, true) {
                next = Message::user(VERDICT_REMINDER);
                continue;
            }
            let (ending, mut said) = conclude(&ended, run, stop, background);
            if is_answer && is_verdict_due(member, run) {
                said.push_str(NO_VERDICT);
            }
            if !is_answer {
                said.push_str(&unread(member));
            }
            return (ending, said);
        }
    }

    /// Hooks hear that an agent starts, and may have something to say to it.
    async fn greet(&self, run: &mut Run, member: &Member) {
        let hooks = &member.setup.guard.hooks;
        if !hooks.hears(HookEvent::SubagentStart) {
            return;
        }
        let occasion =
            Occasion::SubagentStart { agent_id: member.id.to_string(), agent_type: member.kind.to_string() };
        let merged = hooks.fire(&occasion, &member.cx.cwd.get()).await;
        for note in merged.system_messages.into_iter().chain(merged.errors) {
            self.common.events.delta(Delta::Note(note));
        }
        run.greet(merged.context);
    }

    /// What agents of its own and others have to say after its last word; nothing if it is really over.
    async fn more_to_hear(&self, run: &Run, member: &Member, stop: &CancellationToken) -> Option<String> {
        if member.cx.tasks.is_awaited(TaskKind::Agent) {
            // Whoever it waits for may need the seat.
            member.seat.rest();
            let news = news(run, &member.cx, stop).await;
            member.seat.resume().await;
            if news.is_some() {
                return news;
            }
        }
        if member.cx.inbox.close_if_empty() {
            return None;
        }
        let mail = run.mail();
        (!mail.is_empty()).then(|| mail.join("\n\n"))
    }

    /// Everything an agent used is paid by the session.
    fn settle(&self, run: Option<&Run>) -> Usage {
        let mut total = Usage::default();
        let Some(run) = run else { return total };
        let payer = self.member("").map(|main| main.setup.bill.clone());
        for (model, spent) in run.spent() {
            total += spent.usage;
            if let Some(payer) = &payer {
                payer.charge(model, spent.usage);
            }
        }
        total
    }
}

impl Member {
    fn mark(&self, call: &str, in_background: bool) -> Arc<Mark> {
        Arc::new(Mark {
            agent: self.id.clone(),
            kind: self.kind.clone(),
            task: self.description.clone(),
            call: call.into(),
            depth: self.depth,
            in_background,
        })
    }

    /// Where those who watch hear of this agent.
    pub(super) fn events(&self, crew: &Crew, call: &str, in_background: bool) -> Events {
        crew.common.events.of(self.mark(call, in_background))
    }
}

/// Behind the report of a verification that gave no verdict when it was asked for one.
const NO_VERDICT: &str = "\n\n[posse: it gave no verdict, although it was asked twice.]\n\nVERDICT: PARTIAL";

/// What agents of its own reported that an agent did not come to read.
fn unread(member: &Member) -> String {
    let notices =
        member.cx.tasks.drain().into_iter().filter(|done| !done.seen).filter_map(|done| done.notice);
    let notices: Vec<String> = notices.collect();
    if notices.is_empty() {
        return String::new();
    }
    format!(
        "\n\n[posse: agents it started have ended meanwhile; it did not read this.]\n{}",
        notices.join("\n")
    )
}

fn is_verdict_due(member: &Member, run: &Run) -> bool {
    &*member.kind == "verification" && delegation::verdict(&last_words(run)).is_none()
}

/// How a run that will say no more has ended, and its last words.
fn conclude(ended: &Ended, run: &Run, stop: &CancellationToken, background: bool) -> (Ending, String) {
    let said = match &ended.outcome {
        Outcome::Answer { text, .. } if !text.trim().is_empty() => text.clone(),
        _ => last_words(run),
    };
    let ending = match Ending::of(&ended.outcome, !said.trim().is_empty(), background) {
        Ending::Interrupted if background && stop.is_cancelled() => Ending::Stopped(Stopper::Parent),
        other => other,
    };
    (ending, said)
}

/// The last text of the agent itself.
fn last_words(run: &Run) -> String {
    let spoken = run.own_history().iter().rev().filter(|message| message.role == Role::Assistant);
    spoken.map(Message::text).find(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// What was done before and what was done now.
fn together(mut earlier: ToolUses, now: &ToolUses) -> ToolUses {
    for (name, times) in &now.by_name {
        *earlier.by_name.entry(name.clone()).or_default() += times;
    }
    earlier
}

fn tool_uses(history: &[Message]) -> ToolUses {
    let mut uses = ToolUses::default();
    for block in history.iter().flat_map(|message| &message.blocks) {
        if let Block::ToolUse(call) = block {
            uses.add(&call.name);
        }
    }
    uses
}
