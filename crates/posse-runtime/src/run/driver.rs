//! The only loop: effects become work, work becomes inputs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_core::event::{Delta, Fact, Outcome, Trigger, What};
use posse_core::failure::{Failure, FailureKind};
use posse_core::hooks::Merged;
use posse_core::hooks::occasion::ToolUse;
use posse_core::message::{Message, Reply, ToolAnswer, ToolCall, Usage};
use posse_core::turn::{Effect, Input, Verdict};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::budget::Affordable;
use super::calls::Aftermath;
use super::commands::compact_command;
use super::compact::Compaction;
use super::deadline::{self, Due};
use super::heard::Heard;
use super::{Ended, Event, Run};
use crate::authority::Authorized;
use crate::model::retry::{self, NoReply};
use crate::model::{Request, is_believable};
use crate::session::{EntryIds, SessionError};
use crate::world::{Stopwatch, World};

/// What a finished piece of work feeds the machine.
pub(super) enum Done {
    Model(Result<Reply, NoReply>, u64),
    Judged(Box<str>, Box<Authorized>),
    Tool(ToolAnswer, Aftermath),
    /// Nothing was heard from the model for so long.
    Silent(Duration, u64),
    /// There was nothing left to try the request again with.
    Broke(u64),
    /// What hooks said of the answers of one reply.
    Batch(Box<Merged>),
    /// What hooks said of the end.
    MayEnd(Box<Merged>),
}

/// What stands for a request that died.
fn crashed(message: &str) -> Done {
    Done::Model(Err(NoReply::Failed(Failure::new(FailureKind::Malformed, message))), 0)
}

/// One turn under way.
pub(super) struct Flight {
    work: JoinSet<Done>,
    /// What to feed for a task that dies without a word.
    owed: HashMap<Id, Done>,
    /// How to stop a tool.
    pub(super) stops: HashMap<Box<str>, CancellationToken>,
    pub(super) inputs: VecDeque<Input>,
    ended: Option<Outcome>,
    usage: Usage,
    stop_reason: Option<posse_core::message::StopReason>,
    denials: Vec<ToolCall>,
    user_messages: u32,
    /// A conversation that does not fit is summarised once; if it still does not fit, that is the answer.
    compacted: bool,
    /// Calls answered since the last request, for hooks that look at them together.
    pub(super) batch: Vec<(ToolUse, Value)>,
    /// How often hooks sent the answer back in a row.
    pub(super) sent_back: u32,
    /// When time is up.
    pub(super) due: Option<Due>,
    /// What the request under way reads and writes at most, in tokens.
    pub(super) at_most: Option<u64>,
    /// Whether it was up while something was at work.
    pub(super) late: bool,
    /// How the turn ends with the reply that is awaited, if it is the last.
    pub(super) last: Option<Outcome>,
    /// What was said so far, for the calls of one reply that have to know it: a thousand of them share it.
    conversation: Option<Arc<[Message]>>,
    /// What the blocks of the reply under way are called.
    names: Names,
    /// What has come of it.
    heard: Heard,
}

/// Ids of blocks that were shown before they are written.
type Names = Arc<Mutex<Vec<Arc<str>>>>;

impl Flight {
    fn new(first: Input) -> Self {
        Self {
            work: JoinSet::new(),
            owed: HashMap::new(),
            stops: HashMap::new(),
            inputs: VecDeque::from([first]),
            ended: None,
            usage: Usage::default(),
            stop_reason: None,
            denials: Vec::new(),
            user_messages: 0,
            compacted: false,
            batch: Vec::new(),
            sent_back: 0,
            due: None,
            at_most: None,
            late: false,
            last: None,
            conversation: None,
            names: Names::default(),
            heard: Heard::default(),
        }
    }
}

impl Run {
    /// Says something and drives the turn to its end. Cancelling `stop` ends it early, with the conversation whole.
    pub async fn prompt(&mut self, message: Message, stop: CancellationToken) -> Result<Ended, SessionError> {
        if let Some(extra) = compact_command(&message) {
            return self.compact_by_hand(extra, &stop).await;
        }
        let watch = self.setup.world.clock.start();
        let (message, blocked) = self.open_turn(message, &stop).await;
        if let Some(why) = blocked {
            return self.blocked(why, watch.elapsed_ms());
        }
        self.fly(Flight::new(Input::Prompt(message)), watch, stop).await
    }

    /// Decides now on a call that was put off before, and goes on from its answer.
    pub async fn take_up(&mut self, call: &str, stop: CancellationToken) -> Result<Ended, SessionError> {
        let watch = self.setup.world.clock.start();
        self.setup.guard.hooks.begin_prompt(&self.setup.world.ids.uuid());
        self.cx.terms.begin_turn();
        self.fly(Flight::new(Input::TakeUp(call.into())), watch, stop).await
    }

    /// Drives a turn to its end.
    async fn fly(
        &mut self,
        mut flight: Flight,
        watch: Stopwatch,
        stop: CancellationToken,
    ) -> Result<Ended, SessionError> {
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
                    let end = self.with_heard(Input::Cancel, &flight);
                    flight.inputs.push_back(end);
                }
                stage = Due::passed(&mut flight.due), if flight.due.is_some() => {
                    self.time_is_up(stage, &mut flight);
                }
                Some(done) = flight.work.join_next_with_id() => {
                    let done = flight.settle(done);
                    self.finished(done, &mut flight, &stop).await?;
                }
            }
        }
        flight.work.shutdown().await;
        self.close_turn(flight.ended.as_ref()).await;
        Ok(Ended {
            outcome: flight.ended.unwrap_or(Outcome::Cancelled { in_tools: false }),
            usage: flight.usage,
            stop: flight.stop_reason,
            denials: flight.denials,
            user_messages: flight.user_messages,
            duration_ms: watch.elapsed_ms(),
        })
    }

    /// Tells the model of something nobody asked for just now. A limit on requests goes on from the last prompt.
    pub async fn hear(&mut self, news: Message, stop: CancellationToken) -> Result<Ended, SessionError> {
        self.turn.count_on(true);
        let ended = self.prompt(news, stop).await;
        self.turn.count_on(self.setup.agent.is_some());
        ended
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
                    if self.is_nearly_full() && !flight.compacted && !flight.late {
                        flight.compacted = true;
                        self.compact(Trigger::Auto, None, stop).await?;
                    }
                    if !self.show_batch(flight, stop) {
                        self.ask_model(flight, stop)?;
                    }
                }
                Effect::EndRequest => {
                    flight.give_up();
                    self.events.delta(Delta::Discarded);
                }
                Effect::Authorize(call) => self.authorize(self.cx.terms.named(call), flight, stop),
                Effect::RunTool(call) => self.run_tool(self.cx.terms.named(call), flight, stop),
                Effect::StopTool(id) => {
                    if let Some(stop) = flight.stops.remove(&id) {
                        stop.cancel();
                    }
                }
                Effect::MayEnd(text) => self.may_end(text, flight, stop),
                Effect::Record(fact) => {
                    flight.note(&fact);
                    if let Fact::Answered { call, .. } = &fact {
                        self.answered.add(&call.name);
                    }
                    self.record(fact)?;
                }
                Effect::Stop => {}
            }
        }
        Ok(())
    }

    pub(super) fn call_model(
        &mut self,
        flight: &mut Flight,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        let Some(Affordable { request, model, paid }) = self.afford(flight)? else { return Ok(()) };
        let (world, policy, patience) = (self.setup.world.clone(), self.setup.retry, self.patience);
        let (fallback, events, stop) = (self.setup.fallback.clone(), self.events.clone(), stop.clone());
        let owed = crashed("the request crashed; this is a bug in posse");
        let display = self.display();
        flight.names = Names::default();
        flight.heard = Heard::default();
        let (names, hears) = (Arc::clone(&flight.names), flight.heard.clone());
        flight.start(owed, async move {
            let watch = world.clock.start();
            let heard = Notify::new();
            let mut on = |delta: Delta| {
                heard.notify_one();
                if display.is_some() && matches!(delta, Delta::Text(_)) {
                    return;
                }
                let ids = name(&delta, &names, &world);
                hears.note(&delta, &ids);
                events.send(Event { what: What::Delta(delta), ids, from: None });
            };
            on(Delta::Requesting);
            let fallback = fallback.as_deref();
            let call = retry::call_with_retries(&*model, &request, &policy, fallback, &world, &mut on, &stop);
            let Some(reply) = deadline::unless_silent(call, &heard, patience).await else {
                return Done::Silent(patience.unwrap_or_default(), watch.elapsed_ms());
            };
            if reply.is_err() && paid.is_some_and(|paid| paid.is_broke()) {
                return Done::Broke(watch.elapsed_ms());
            }
            if let (Some(display), Ok(reply)) = (&display, &reply) {
                display.show(reply, &events, &stop).await;
            }
            Done::Model(reply, watch.elapsed_ms())
        });
        Ok(())
    }

    pub(super) fn request(&self, messages: Vec<Message>) -> Request {
        Request {
            model: self.model_id(),
            system: self.setup.system.clone(),
            tools: self.setup.tools.specs(),
            tools_off: false,
            server_tools: Arc::from([]),
            messages,
            max_tokens: self.setup.max_tokens,
            thinking: self.setup.thinking,
            effort: self.cx.terms.effort().or(self.setup.effort),
            session: self.setup.session.clone(),
            raw_events: self.setup.raw_events,
            agent: self.setup.agent.clone(),
            agent_kind: self.kind(),
        }
    }

    /// What kind of agent this is, if it is not the main one: the one who is named when something is asked.
    fn kind(&self) -> Option<Box<str>> {
        let named = self.setup.guard.agent.as_deref();
        self.setup.agent.as_ref().map(|_| named.unwrap_or_default().into())
    }

    async fn finished(
        &mut self,
        done: Done,
        flight: &mut Flight,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        match done {
            Done::Judged(call, judged) => {
                let Authorized { verdict, mail, notes, stop, mode } = *judged;
                self.tell(mail, notes, flight);
                if let Some(mode) = mode {
                    self.show(Event {
                        what: What::Delta(Delta::ModeChanged(mode)),
                        ids: Vec::new(),
                        from: None,
                    });
                }
                // What is put off is not refused: somebody decides on it later.
                if !matches!(stop, Some(Outcome::Deferred(_))) {
                    flight.inputs.push_back(Input::Verdict { call, verdict });
                }
                flight.inputs.extend(stop.map(Input::Stop));
            }
            Done::Tool(mut answer, aftermath) => {
                if flight.stops.remove(&answer.id).is_none() && flight.late {
                    deadline::explain(&mut answer);
                }
                self.pay();
                // Mail first: it goes out with the request that this answer may set off.
                flight.inputs.extend(self.notices());
                flight.inputs.extend(self.skill_news(false).map(|text| Input::Mail(super::reminder(&text))));
                self.tell(aftermath.mail, aftermath.notes, flight);
                flight.inputs.push_back(Input::Answered(answer));
                flight.inputs.extend(aftermath.stop.map(Input::Stop));
            }
            Done::Batch(merged) => self.batch_shown(*merged, flight, stop)?,
            Done::MayEnd(merged) => self.end_judged(*merged, flight),
            Done::Silent(time, took) => {
                self.api_ms += took;
                let end = self.with_heard(Input::Stop(Outcome::Stalled(time)), flight);
                flight.inputs.push_back(end);
            }
            Done::Broke(took) => {
                self.api_ms += took;
                match flight.last.take() {
                    Some(outcome) => flight.inputs.push_back(Input::Stop(outcome)),
                    None => self.ask_model(flight, stop)?,
                }
            }
            Done::Model(reply, took) => self.replied(reply, took, flight, stop).await?,
        }
        Ok(())
    }

    /// An end in the middle of a reply: what the model has said of it is kept.
    fn with_heard(&mut self, end: Input, flight: &Flight) -> Input {
        let Some((heard, names)) = flight.heard.cut(&self.model_id(), &self.setup.world.ids) else {
            return end;
        };
        self.transcript.name_next_blocks(names);
        Input::Cut { heard, end: Box::new(end) }
    }

    async fn replied(
        &mut self,
        reply: Result<Reply, NoReply>,
        took: u64,
        flight: &mut Flight,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        self.api_ms += took;
        flight.conversation = None;
        flight.heard = Heard::default();
        match reply {
            Ok(reply) => {
                // An empty reply leaves no message: what is said next joins the last, which would count as known.
                if !reply.blocks.is_empty() {
                    let said = reply.usage.context() + reply.usage.output;
                    let tokens = if is_believable(&reply) { Some(said) } else { flight.at_most };
                    self.known = tokens.map(|tokens| (self.turn.history().len() + 1, tokens));
                }
                let names = std::mem::take(&mut *flight.names.lock().unwrap_or_else(PoisonError::into_inner));
                self.transcript.name_next_blocks(names);
                self.spend(&reply.model, &reply.usage);
                self.context_tokens = reply.usage.context() + reply.usage.output;
                flight.usage += reply.usage;
                flight.stop_reason = Some(reply.stop.clone());
                flight.inputs.push_back(Input::Replied(reply));
                if let Some(outcome) = flight.last.take() {
                    // Whatever it would do next, it has nothing left to do it with.
                    self.setup.purse.close();
                    flight.inputs.push_back(Input::Stop(outcome));
                }
            }
            // The machine is told to cancel by whoever cancelled; there is nothing to add.
            Err(NoReply::Cancelled) => {}
            Err(NoReply::Failed(failure)) => {
                if failure.kind == FailureKind::TooLong && !flight.compacted && self.turn.history().len() > 1
                {
                    flight.compacted = true;
                    if self.compact(Trigger::Auto, None, stop).await? == Compaction::Done {
                        return self.ask_model(flight, stop);
                    }
                }
                flight.inputs.push_back(Input::Failed(failure));
            }
        }
        Ok(())
    }

    /// Mail for the model, notes for the user.
    pub(super) fn tell(&self, mail: Vec<String>, notes: Vec<String>, flight: &mut Flight) {
        flight.inputs.extend(mail.into_iter().map(|text| Input::Mail(super::reminder(&text))));
        for note in notes {
            self.show(Event { what: What::Delta(Delta::Note(note)), ids: Vec::new(), from: None });
        }
    }
}

impl Flight {
    pub(super) fn start(&mut self, owed: Done, work: impl Future<Output = Done> + Send + 'static) {
        let handle = self.work.spawn(work);
        self.owed.insert(handle.id(), owed);
    }

    /// Ends everything that is under way; nothing of it is waited for.
    pub(super) fn give_up(&mut self) {
        self.work = JoinSet::new();
        self.owed.clear();
    }

    /// What was said up to the reply whose calls are running.
    pub(super) fn conversation(&mut self, history: &[Message]) -> Arc<[Message]> {
        Arc::clone(self.conversation.get_or_insert_with(|| history.into()))
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

/// The id of a block that is shown; of a reply that broke off nobody needs to know any.
fn name(delta: &Delta, names: &Names, world: &World) -> EntryIds {
    let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
    match delta {
        Delta::Block(_) => {
            let id: Arc<str> = world.ids.uuid().into();
            names.push(Arc::clone(&id));
            vec![id]
        }
        Delta::Discarded => {
            names.clear();
            Vec::new()
        }
        Delta::Requesting
        | Delta::Text(_)
        | Delta::Thinking(_)
        | Delta::ToolStart { .. }
        | Delta::Raw(_)
        | Delta::Retry { .. }
        | Delta::ToolRunning(_)
        | Delta::ToolProgress { .. }
        | Delta::Compacting
        | Delta::Hook(_)
        | Delta::Task(_)
        | Delta::Note(_)
        | Delta::ModeChanged(_) => Vec::new(),
    }
}

/// A verdict that stands for a judge who died.
pub(super) fn unjudged(tool: &str) -> Authorized {
    Authorized {
        verdict: Verdict::Deny(
            format!("Whether {tool} may run could not be decided; this is a bug in posse.").into(),
        ),
        mail: Vec::new(),
        notes: Vec::new(),
        stop: None,
        mode: None,
    }
}
