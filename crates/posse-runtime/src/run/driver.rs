//! The only loop: effects become work, work becomes inputs.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use posse_core::event::{Delta, Fact, Outcome, Trigger, What};
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Block, Message, Reply, ToolAnswer, ToolCall, Usage};
use posse_core::permission::Mode;
use posse_core::prompt;
use posse_core::turn::{Effect, Input, Verdict};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Ended, Event, Run};
use crate::model::Request;
use crate::model::retry::{self, NoReply};
use crate::session::SessionError;

/// What a finished piece of work feeds the machine.
enum Done {
    Model(Result<Reply, NoReply>, u64),
    Tool(ToolAnswer),
}

/// What `/compact` is to keep in mind; `None` if the message is not that command.
fn compact_command(message: &Message) -> Option<String> {
    let [Block::Text(text)] = message.blocks.as_slice() else { return None };
    let rest = text.trim().strip_prefix("/compact")?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim().to_owned())
}

/// What stands for a request that died.
fn crashed(message: &str) -> Done {
    Done::Model(Err(NoReply::Failed(Failure::new(FailureKind::Malformed, message))), 0)
}

/// One turn under way.
struct Flight {
    work: JoinSet<Done>,
    /// What to feed for a task that dies without a word.
    owed: HashMap<Id, Done>,
    /// How to stop a tool.
    stops: HashMap<Box<str>, CancellationToken>,
    inputs: VecDeque<Input>,
    ended: Option<Outcome>,
    usage: Usage,
    stop_reason: Option<posse_core::message::StopReason>,
    denials: Vec<ToolCall>,
    user_messages: u32,
    /// A conversation that does not fit is summarised once; if it still does not fit, that is the answer.
    compacted: bool,
}

impl Run {
    /// Says something and drives the turn to its end. Cancelling `stop` ends it early, with the conversation whole.
    pub async fn prompt(
        &mut self,
        mut message: Message,
        stop: CancellationToken,
    ) -> Result<Ended, SessionError> {
        if let Some(extra) = compact_command(&message) {
            return self.compact_by_hand(extra, &stop).await;
        }
        let watch = self.setup.world.clock.start();
        if let Some(reminder) = self.about_planning() {
            message.blocks.insert(0, Block::Text(reminder));
        }
        if self.turn.history().is_empty()
            && let Some(opening) = self.setup.opening.take()
        {
            message.blocks.insert(0, Block::Text(opening));
        }
        let mut flight = Flight {
            work: JoinSet::new(),
            owed: HashMap::new(),
            stops: HashMap::new(),
            inputs: VecDeque::from([Input::Prompt(message)]),
            ended: None,
            usage: Usage::default(),
            stop_reason: None,
            denials: Vec::new(),
            user_messages: 0,
            compacted: false,
        };
        let mut cancelled = false;
        loop {
            while let Some(input) = flight.inputs.pop_front() {
                self.feed(input, &mut flight, &stop).await?;
            }
            if flight.ended.is_some() {
                break;
            }
            tokio::select! {
                // An interrupt counts before what it makes tools say in a hurry.
                biased;
                () = stop.cancelled(), if !cancelled => {
                    cancelled = true;
                    flight.inputs.push_back(Input::Cancel);
                }
                Some(done) = flight.work.join_next_with_id() => {
                    let done = flight.settle(done);
                    self.finished(done, &mut flight, &stop).await?;
                }
            }
        }
        flight.work.shutdown().await;
        self.planning = self.is_planning();
        Ok(Ended {
            outcome: flight.ended.unwrap_or(Outcome::Cancelled { in_tools: false }),
            usage: flight.usage,
            stop: flight.stop_reason,
            denials: flight.denials,
            user_messages: flight.user_messages,
            duration_ms: watch.elapsed_ms(),
        })
    }

    fn is_planning(&self) -> bool {
        self.setup.authority.mode.current() == Mode::Plan
    }

    /// What a prompt says of plan mode: that it is on, or that somebody has ended it since the last prompt.
    fn about_planning(&self) -> Option<String> {
        match (self.planning, self.is_planning()) {
            (_, true) => Some(prompt::plan_mode(self.setup.tools.get("ExitPlanMode").is_some())),
            (true, false) => Some(prompt::PLAN_MODE_OVER.to_owned()),
            (false, false) => None,
        }
    }

    async fn feed(
        &mut self,
        input: Input,
        flight: &mut Flight,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        let mut effects = Vec::new();
        self.turn.handle(input, &mut effects);
        for effect in effects {
            match effect {
                Effect::CallModel => {
                    if self.is_nearly_full() && !flight.compacted {
                        flight.compacted = true;
                        self.compact(Trigger::Auto, None, stop).await?;
                    }
                    self.call_model(flight, stop);
                }
                Effect::Authorize(call) => flight.inputs.push_back(self.authorize(call)),
                Effect::RunTool(call) => self.run_tool(call, flight, stop),
                Effect::StopTool(id) => {
                    if let Some(stop) = flight.stops.remove(&id) {
                        stop.cancel();
                    }
                }
                Effect::Record(fact) => {
                    flight.note(&fact);
                    self.record(fact)?;
                }
                Effect::Stop => {}
            }
        }
        Ok(())
    }

    /// The pool is enforced here, at the call, and not only in what is offered.
    fn authorize(&self, call: ToolCall) -> Input {
        let verdict = match self.setup.tools.get(&call.name) {
            None => Verdict::Reject(format!("Error: No such tool available: {}", call.name)),
            Some(tool) if self.setup.tools.is_waiting(tool.name()) => Verdict::Reject(format!(
                "Error: {name} is not loaded yet, so its input is not known. Load it first: call ToolSearch with the \
                 query \"select:{name}\", then call it.",
                name = tool.name()
            )),
            Some(tool) => self.setup.authority.decide(&call, tool.runs_alone(&call.input)),
        };
        Input::Verdict { call: call.id, verdict }
    }

    fn run_tool(&self, call: ToolCall, flight: &mut Flight, stop: &CancellationToken) {
        let Some(tool) = self.setup.tools.get(&call.name).cloned() else { return };
        self.show(Event { what: What::Delta(Delta::ToolRunning(call.clone())), ids: Vec::new() });
        let mut cx = self.cx.for_call(&call.id);
        cx.stop = stop.child_token();
        flight.stops.insert(call.id.clone(), cx.stop.clone());
        let owed = Done::Tool(ToolAnswer::error(
            call.id.clone(),
            format!("{} crashed; this is a bug in posse.", call.name),
        ));
        let work = async move {
            let output = tool.run(call.input, &cx).await;
            let mut content = output.content;
            if content.is_empty() {
                content.push(posse_core::message::Content::Text("(no output)".into()));
            }
            Done::Tool(ToolAnswer {
                id: call.id,
                content,
                is_error: output.is_error,
                structured: output.structured,
            })
        };
        flight.start(owed, work);
    }

    fn call_model(&self, flight: &mut Flight, stop: &CancellationToken) {
        let request = self.request(self.turn.history().to_vec());
        let (model, world, policy) = (self.setup.model.clone(), self.setup.world.clone(), self.setup.retry);
        let (fallback, events, stop) = (self.setup.fallback.clone(), self.events.clone(), stop.clone());
        let owed = crashed("the request crashed; this is a bug in posse");
        flight.start(owed, async move {
            let watch = world.clock.start();
            let mut on = |delta: Delta| {
                let _ = events.send(Event { what: What::Delta(delta), ids: Vec::new() });
            };
            on(Delta::Requesting);
            let fallback = fallback.as_deref();
            let reply =
                retry::call_with_retries(&*model, &request, &policy, fallback, &world, &mut on, &stop).await;
            Done::Model(reply, watch.elapsed_ms())
        });
    }

    pub(super) fn request(&self, messages: Vec<Message>) -> Request {
        Request {
            model: self.setup.model_id.clone(),
            system: self.setup.system.clone(),
            tools: self.setup.tools.specs(),
            server_tools: Arc::from([]),
            messages,
            max_tokens: self.setup.max_tokens,
            thinking: self.setup.thinking,
            effort: self.setup.effort,
            session: self.setup.session.clone(),
            raw_events: self.setup.raw_events,
        }
    }

    async fn finished(
        &mut self,
        done: Done,
        flight: &mut Flight,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        match done {
            Done::Tool(answer) => {
                flight.stops.remove(&answer.id);
                for (model, usage) in self.setup.bill.take() {
                    self.spend(&model, &usage);
                }
                // Mail first: it goes out with the request that this answer may set off.
                flight.inputs.extend(self.notices());
                flight.inputs.push_back(Input::Answered(answer));
            }
            Done::Model(Ok(reply), took) => {
                self.api_ms += took;
                self.spend(&reply.model, &reply.usage);
                self.context_tokens = reply.usage.context() + reply.usage.output;
                flight.usage += reply.usage;
                flight.stop_reason = Some(reply.stop.clone());
                flight.inputs.push_back(Input::Replied(reply));
                self.check_budget(flight).await?;
            }
            // The machine is told to cancel by whoever cancelled; there is nothing to add.
            Done::Model(Err(NoReply::Cancelled), took) => self.api_ms += took,
            Done::Model(Err(NoReply::Failed(failure)), took) => {
                self.api_ms += took;
                if failure.kind == FailureKind::TooLong && !flight.compacted && self.turn.history().len() > 1
                {
                    flight.compacted = true;
                    if self.compact(Trigger::Auto, None, stop).await? {
                        self.call_model(flight, stop);
                        return Ok(());
                    }
                }
                flight.inputs.push_back(Input::Failed(failure));
            }
        }
        Ok(())
    }

    /// A budget that is used up ends the turn before another tool or request runs.
    async fn check_budget(&mut self, flight: &mut Flight) -> Result<(), SessionError> {
        let Some(limit) = self.setup.max_budget_usd else { return Ok(()) };
        if self.cost() < limit {
            return Ok(());
        }
        let Some(Input::Replied(reply)) = flight.inputs.pop_back() else { return Ok(()) };
        let is_answer = !reply.blocks.iter().any(|block| matches!(block, Block::ToolUse(_)));
        let mut effects = Vec::new();
        self.turn.handle(Input::Replied(reply), &mut effects);
        if !is_answer {
            effects.retain(|effect| matches!(effect, Effect::Record(_)));
            self.turn.end(Outcome::OutOfBudget(limit), &mut effects);
        }
        for effect in effects {
            if let Effect::Record(fact) = effect {
                flight.note(&fact);
                self.record(fact)?;
            }
        }
        Ok(())
    }
}

impl Flight {
    fn start(&mut self, owed: Done, work: impl Future<Output = Done> + Send + 'static) {
        let handle = self.work.spawn(work);
        self.owed.insert(handle.id(), owed);
    }

    /// What a task left, or what is owed for it.
    fn settle(&mut self, done: Result<(Id, Done), JoinError>) -> Done {
        match done {
            Ok((id, done)) => {
                self.owed.remove(&id);
                done
            }
            Err(error) => {
                self.owed.remove(&error.id()).unwrap_or_else(|| crashed("a task ended without a trace"))
            }
        }
    }

    fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Said(_) | Fact::Answered { .. } => self.user_messages += 1,
            Fact::Denied { call, .. } => self.denials.push(call.clone()),
            Fact::Finished(outcome) => self.ended = Some(outcome.clone()),
            Fact::Replied(_) | Fact::Compacted { .. } => {}
        }
    }
}
