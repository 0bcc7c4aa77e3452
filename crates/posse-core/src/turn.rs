//! The turn machine: inputs in, effects out, nothing else.
//!
//! Invariant: the history handed to the model never has a tool call without its answer, answers stand in the order of
//! the calls, and every call is answered exactly once, whatever order inputs arrive in and whenever it is cancelled.
//! The machine knows no clock and no network; whoever drives it does what the effects say and feeds back what happened.

use std::sync::Arc;

use crate::event::{Denial, Fact, Outcome};
use crate::failure::{Failure, FailureKind};
use crate::message::{Block, Message, Reply, Role, StopReason, ToolAnswer, ToolCall};

/// What can happen to a turn.
#[derive(Clone, Debug)]
pub enum Input {
    /// The user says something; begins a turn.
    Prompt(Message),
    /// The model's answer is complete.
    Replied(Reply),
    /// The request failed for good.
    Failed(Failure),
    /// Whether a call may run.
    Verdict {
        /// Which call.
        call: Box<str>,
        /// May it?
        verdict: Verdict,
    },
    /// A tool answered.
    Answered(ToolAnswer),
    /// Text from outside the conversation: another agent, a finished task.
    Mail(String),
    /// Text from outside that belongs to the request that is just about to be made.
    Aside(String),
    /// The conversation so far was summarised.
    Compacted(Vec<Message>),
    /// Nothing stands against ending with the answer.
    Ends,
    /// Something does: the model is told, and the turn goes on.
    GoesOn(String),
    /// A call that was put off in an earlier turn is decided on now.
    TakeUp(Box<str>),
    /// Stop.
    Cancel,
    /// The turn ends in the middle of a reply.
    Cut {
        /// What there is of it.
        heard: Reply,
        /// How it ends.
        end: Box<Input>,
    },
    /// Somebody else ends the turn: a budget, a hook.
    Stop(Outcome),
    /// There is no time left for work: what is under way ends, and what there is can still be handed over.
    TimeUp {
        /// What a call that will not be carried through is answered with.
        answer: String,
        /// Whether tools that run may still answer for themselves, now that they are stopped.
        patient: bool,
    },
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes; `alone` if nothing else may run beside it.
    Allow {
        /// Not beside other calls.
        alone: bool,
        /// With this instead of what the model gave.
        input: Option<serde_json::Value>,
    },
    /// No, and why.
    Deny(Denial),
    /// There is nothing to run: no such tool.
    Reject(String),
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the model, with [`Turn::history`].
    CallModel,
    /// Give up the request that is under way: nobody waits for its reply any more.
    EndRequest,
    /// Decide whether a call may run.
    Authorize(ToolCall),
    /// Run a tool.
    RunTool(ToolCall),
    /// Stop a tool that runs.
    StopTool(Box<str>),
    /// The model has given its answer, with this text: may the turn end?
    MayEnd(String),
    /// Store what happened.
    Record(Fact),
    /// The turn is over.
    Stop,
}

/// Where a turn ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Requests to the model in one turn.
    pub max_requests: Option<u32>,
}

#[derive(Debug)]
enum Phase {
    /// Nothing is asked; a prompt begins a turn.
    Idle,
    /// The model speaks.
    Sampling,
    /// Tools are being decided on, run and answered.
    Tools(Vec<Slot>),
    /// The answer is there; whether it is the end is being asked.
    Ending(Outcome),
}

/// One tool call on its way to its answer.
#[derive(Debug)]
struct Slot {
    call: ToolCall,
    progress: Progress,
}

impl Slot {
    fn answer(&mut self, answer: ToolAnswer, out: &mut Vec<Effect>) {
        let told = Arc::new(answer.clone());
        out.push(Effect::Record(Fact::Answered { call: self.call.clone(), answer: told }));
        self.progress = Progress::Answered(answer);
    }
}

#[derive(Debug)]
enum Progress {
    Asked,
    Waiting { alone: bool },
    Running { alone: bool },
    Answered(ToolAnswer),
}

/// One conversation, turn after turn.
#[derive(Debug)]
pub struct Turn {
    history: Vec<Message>,
    mail: Vec<String>,
    phase: Phase,
    limits: Limits,
    requests: u32,
    /// Whether another prompt does not begin the count of requests anew.
    counts_on: bool,
    /// The tool whose successful answer ends the turn, and what it was given.
    final_tool: Option<Box<str>>,
    /// Whether the model was reminded of the final tool in this turn.
    reminded: bool,
    /// How often the final tool refused what it was given in this turn.
    misfits: u32,
}

/// After so many answers that do not fit, another will not either.
const MOST_MISFITS: u32 = 5;

/// What stands for an answer that will never come.
const INTERRUPTED: &str = "[Request interrupted by user for tool use]";
/// What a call is answered with that a limit or an error ended.
const CUT_OFF: &str = "[Not done: the turn ended before it]";

impl Turn {
    /// A conversation with what was said before.
    pub fn new(history: Vec<Message>, limits: Limits) -> Self {
        Self {
            history,
            mail: Vec::new(),
            phase: Phase::Idle,
            limits,
            requests: 0,
            counts_on: false,
            final_tool: None,
            reminded: false,
            misfits: 0,
        }
    }

    /// Names a tool whose successful answer ends the turn.
    pub fn ending_with(mut self, tool: Option<&str>) -> Self {
        self.final_tool = tool.map(Into::into);
        self
    }

    /// Whether the request that is about to be made is the last that the limit allows, and not the first.
    pub fn is_last_request(&self) -> bool {
        self.requests > 1 && self.limits.max_requests == Some(self.requests)
    }

    /// Whether the next prompt begins the count of requests anew.
    pub fn count_on(&mut self, counts_on: bool) {
        self.counts_on = counts_on;
    }

    /// Lets the limit on requests count for all prompts together, and not for each.
    #[must_use]
    pub fn counting_on(mut self, counts_on: bool) -> Self {
        self.counts_on = counts_on;
        self
    }

    /// Everything said, fit to be sent.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
    }

    /// Feeds one input; effects are appended in the order they must be carried out.
    pub fn handle(&mut self, input: Input, out: &mut Vec<Effect>) {
        let input = match input {
            Input::Cut { heard, end } => {
                self.keep(heard, out);
                *end
            }
            other => other,
        };
        match (&mut self.phase, input) {
            // Taken apart above.
            (_, Input::Cut { .. }) => {}
            (_, Input::Mail(text)) => self.mail.push(text),
            (Phase::Idle, Input::Prompt(message)) => {
                (self.reminded, self.misfits) = (false, 0);
                if !self.counts_on {
                    self.requests = 0;
                }
                self.say(message, out);
                self.sample(out);
            }
            (Phase::Idle, Input::TakeUp(call)) => self.take_up(&call, out),
            (Phase::Sampling, Input::Aside(text)) => self.say(Message::user(text), out),
            (_, Input::Aside(text)) => self.mail.push(text),
            (Phase::Sampling, Input::Replied(reply)) => self.replied(reply, out),
            (Phase::Sampling, Input::Failed(failure)) => self.finish(Outcome::Failed(failure), out),
            (Phase::Sampling, Input::Cancel) => self.finish(Outcome::Cancelled { in_tools: false }, out),
            (Phase::Tools(_), Input::Verdict { call, verdict }) => self.decide(&call, verdict, out),
            (Phase::Tools(_), Input::Answered(answer)) => self.answered(answer, out),
            (Phase::Tools(_), Input::Cancel) => self.cancel_tools(out),
            (Phase::Idle | Phase::Sampling | Phase::Ending(_), Input::Compacted(history)) => {
                self.history = history;
            }
            (Phase::Ending(outcome), Input::Ends) => {
                let outcome = outcome.clone();
                self.finish(outcome, out);
            }
            (Phase::Ending(_), Input::GoesOn(why)) => {
                self.say(Message::user(why), out);
                self.sample(out);
            }
            (Phase::Ending(_), Input::Cancel) => self.finish(Outcome::Cancelled { in_tools: false }, out),
            (Phase::Tools(_), Input::Stop(outcome)) => self.stop_tools(outcome, out),
            (Phase::Sampling | Phase::Ending(_), Input::Stop(outcome)) => self.finish(outcome, out),
            (Phase::Tools(_), Input::TimeUp { answer, patient }) => self.hurry_tools(&answer, patient, out),
            (Phase::Sampling, Input::TimeUp { .. }) => out.extend([Effect::EndRequest, Effect::CallModel]),
            // The answer is there, and those who are asked about it have had their time.
            (Phase::Ending(outcome), Input::TimeUp { .. }) => {
                let outcome = outcome.clone();
                self.finish(outcome, out);
            }
            // Late or foreign inputs change nothing. Listed, not wildcarded: whoever adds an input must place it.
            (
                Phase::Idle,
                Input::Replied(_)
                | Input::Failed(_)
                | Input::Verdict { .. }
                | Input::Answered(_)
                | Input::Ends
                | Input::GoesOn(_)
                | Input::Stop(_)
                | Input::TimeUp { .. }
                | Input::Cancel,
            )
            | (
                Phase::Sampling,
                Input::Prompt(_)
                | Input::TakeUp(_)
                | Input::Verdict { .. }
                | Input::Answered(_)
                | Input::Ends
                | Input::GoesOn(_),
            )
            | (
                Phase::Tools(_),
                Input::Prompt(_)
                | Input::TakeUp(_)
                | Input::Replied(_)
                | Input::Failed(_)
                | Input::Compacted(_)
                | Input::Ends
                | Input::GoesOn(_),
            )
            | (
                Phase::Ending(_),
                Input::Prompt(_)
                | Input::TakeUp(_)
                | Input::Replied(_)
                | Input::Failed(_)
                | Input::Verdict { .. }
                | Input::Answered(_),
            ) => {}
        }
    }

    /// Goes back to the calls of the last reply: one of them has been waiting, the others have their answers.
    fn take_up(&mut self, open: &str, out: &mut Vec<Effect>) {
        let reply = self.history.iter().rposition(|message| message.role == Role::Assistant);
        let Some(reply) = reply.filter(|at| self.history[*at].calls().any(|call| &*call.id == open)) else {
            return;
        };
        (self.reminded, self.misfits, self.requests) = (false, 0, 0);
        let said = self.history.split_off(reply + 1).into_iter().flat_map(|message| message.blocks);
        let mut answers: Vec<ToolAnswer> = said
            .filter_map(|block| match block {
                Block::ToolResult(answer) => Some(answer),
                _ => None,
            })
            .collect();
        let slot = |call: &ToolCall| {
            let answer = answers.iter().position(|answer| answer.id == call.id && &*call.id != open);
            let progress = match answer.map(|at| answers.swap_remove(at)) {
                Some(answer) => Progress::Answered(answer),
                None => {
                    out.push(Effect::Authorize(call.clone()));
                    Progress::Asked
                }
            };
            Slot { call: call.clone(), progress }
        };
        self.phase = Phase::Tools(self.history[reply].calls().map(slot).collect());
    }

    /// Keeps what there is of a reply that will not become whole.
    fn keep(&mut self, reply: Reply, out: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Sampling) && !reply.blocks.is_empty() {
            self.history.push(Message { role: Role::Assistant, blocks: reply.blocks.clone() });
            out.push(Effect::Record(Fact::Replied(Arc::new(reply))));
        }
    }

    fn replied(&mut self, reply: Reply, out: &mut Vec<Effect>) {
        let message = Message { role: Role::Assistant, blocks: reply.blocks.clone() };
        let text = message.text();
        let calls: Vec<ToolCall> = message.calls().cloned().collect();
        let stop = reply.stop.clone();
        out.push(Effect::Record(Fact::Replied(Arc::new(reply))));
        // The API refuses an empty message in history; an empty answer is still an answer.
        if !message.blocks.is_empty() {
            self.history.push(message);
        }
        if !calls.is_empty() {
            out.extend(calls.iter().cloned().map(Effect::Authorize));
            let slots = calls.into_iter().map(|call| Slot { call, progress: Progress::Asked });
            self.phase = Phase::Tools(slots.collect());
            return;
        }
        match stop {
            StopReason::PauseTurn => self.sample(out),
            StopReason::MaxTokens => {
                let text = "the answer reached the limit on its length before it was whole";
                self.finish(Outcome::Failed(Failure::new(FailureKind::OutputLimit, text)), out);
            }
            StopReason::Refusal => {
                let failure = Failure::new(FailureKind::Refused, "the model refused to answer");
                self.finish(Outcome::Failed(failure), out);
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::StopSequence
            | StopReason::Aborted
            | StopReason::Other(_)
                if self.final_tool.is_some() && !self.reminded =>
            {
                self.reminded = true;
                let tool = self.final_tool.as_deref().unwrap_or_default();
                let text =
                    format!("Hand in your answer by calling {tool}; an answer in text does not count.");
                self.say(Message::user(text), out);
                self.sample(out);
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::StopSequence
            | StopReason::Aborted
            | StopReason::Other(_) => self.answer(text, None, out),
        }
    }

    fn answer(&mut self, text: String, structured: Option<serde_json::Value>, out: &mut Vec<Effect>) {
        out.push(Effect::MayEnd(text.clone()));
        self.phase = Phase::Ending(Outcome::Answer { text, structured });
    }

    fn decide(&mut self, call: &str, verdict: Verdict, out: &mut Vec<Effect>) {
        let Phase::Tools(slots) = &mut self.phase else { return };
        let asked =
            slots.iter_mut().find(|slot| *slot.call.id == *call && matches!(slot.progress, Progress::Asked));
        let Some(slot) = asked else { return };
        match verdict {
            Verdict::Allow { alone, input } => {
                if let Some(input) = input {
                    slot.call.input = input;
                }
                slot.progress = Progress::Waiting { alone };
                self.start_tools(out);
            }
            Verdict::Reject(why) => self.answered(ToolAnswer::error(call, why), out),
            Verdict::Deny(why) => {
                out.push(Effect::Record(Fact::Denied { call: slot.call.clone(), why: why.clone() }));
                self.answered(ToolAnswer::error(call, why.message), out);
            }
        }
    }

    /// Starts what may run now: calls in order, side by side while they may, one alone while it must.
    fn start_tools(&mut self, out: &mut Vec<Effect>) {
        let Phase::Tools(slots) = &mut self.phase else { return };
        let mut running =
            slots.iter().filter(|slot| matches!(slot.progress, Progress::Running { .. })).count();
        let mut alone_running =
            slots.iter().any(|slot| matches!(slot.progress, Progress::Running { alone: true }));
        for slot in slots {
            match slot.progress {
                Progress::Answered(_) | Progress::Running { .. } => {}
                // A call that is not decided yet holds back those behind it: order is what the model expects.
                Progress::Asked => break,
                Progress::Waiting { alone } => {
                    if alone_running || (alone && running > 0) {
                        break;
                    }
                    slot.progress = Progress::Running { alone };
                    running += 1;
                    alone_running = alone;
                    out.push(Effect::RunTool(slot.call.clone()));
                }
            }
        }
    }

    fn answered(&mut self, answer: ToolAnswer, out: &mut Vec<Effect>) {
        let Phase::Tools(slots) = &mut self.phase else { return };
        let open = |slot: &Slot| !matches!(slot.progress, Progress::Answered(_));
        let Some(slot) = slots.iter_mut().find(|slot| slot.call.id == answer.id && open(slot)) else {
            return;
        };
        slot.answer(answer, out);
        if slots.iter().any(open) {
            return self.start_tools(out);
        }
        self.unless_open(out);
    }

    /// Goes on where every call has its answer.
    fn unless_open(&mut self, out: &mut Vec<Effect>) {
        let Phase::Tools(slots) = &self.phase else { return };
        if slots.iter().any(|slot| !matches!(slot.progress, Progress::Answered(_))) {
            return;
        }
        let structured = self.structured();
        self.misfits += u32::from(self.has_misfit());
        self.close_tools(INTERRUPTED);
        if structured.is_none() && self.misfits >= MOST_MISFITS {
            return self.finish(Outcome::OutOfTries(self.misfits), out);
        }
        match structured {
            Some(value) => self.answer(value.to_string(), Some(value), out),
            None => self.sample(out),
        }
    }

    /// What the final tool was given, if it was called and took it.
    fn structured(&self) -> Option<serde_json::Value> {
        let Phase::Tools(slots) = &self.phase else { return None };
        let taken = |slot: &&Slot| {
            Some(&slot.call.name) == self.final_tool.as_ref()
                && matches!(&slot.progress, Progress::Answered(answer) if !answer.is_error)
        };
        slots.iter().find(taken).map(|slot| slot.call.input.clone())
    }

    /// Whether the final tool was called and refused what it was given.
    fn has_misfit(&self) -> bool {
        let Phase::Tools(slots) = &self.phase else { return false };
        slots.iter().any(|slot| {
            Some(&slot.call.name) == self.final_tool.as_ref()
                && matches!(&slot.progress, Progress::Answered(answer) if answer.is_error)
        })
    }

    /// Puts the answers into history in the order of the calls; what has none is answered with these words.
    fn close_tools(&mut self, otherwise: &str) {
        let Phase::Tools(slots) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let answers = slots.into_iter().map(|slot| match slot.progress {
            Progress::Answered(answer) => answer,
            Progress::Asked | Progress::Waiting { .. } | Progress::Running { .. } => {
                ToolAnswer::error(slot.call.id, otherwise)
            }
        });
        let blocks = answers.map(Block::ToolResult).collect();
        self.history.push(Message { role: Role::User, blocks });
    }

    fn cancel_tools(&mut self, out: &mut Vec<Effect>) {
        self.stop_tools(Outcome::Cancelled { in_tools: true }, out);
    }

    /// Ends the turn while tools are at work: what runs is stopped, what has no answer gets one.
    fn stop_tools(&mut self, outcome: Outcome, out: &mut Vec<Effect>) {
        let Phase::Tools(slots) = &self.phase else { return };
        let word = if matches!(outcome, Outcome::Cancelled { .. }) { INTERRUPTED } else { CUT_OFF };
        // What is put off is answered when it is taken up again.
        let waits = |call: &ToolCall| matches!(&outcome, Outcome::Deferred(put_off) if put_off.id == call.id);
        for slot in slots {
            if matches!(slot.progress, Progress::Running { .. }) {
                out.push(Effect::StopTool(slot.call.id.clone()));
            }
            if !matches!(slot.progress, Progress::Answered(_)) && !waits(&slot.call) {
                let answer = Arc::new(ToolAnswer::error(slot.call.id.clone(), word));
                out.push(Effect::Record(Fact::Answered { call: slot.call.clone(), answer }));
            }
        }
        self.close_tools(word);
        self.finish(outcome, out);
    }

    /// Stops what runs and answers what has not begun. Impatient, it answers what runs, too.
    fn hurry_tools(&mut self, answer: &str, patient: bool, out: &mut Vec<Effect>) {
        let Phase::Tools(slots) = &mut self.phase else { return };
        for slot in slots {
            let runs = match slot.progress {
                Progress::Answered(_) => continue,
                Progress::Asked | Progress::Waiting { .. } => false,
                Progress::Running { .. } => true,
            };
            if runs {
                out.push(Effect::StopTool(slot.call.id.clone()));
            }
            if !runs || !patient {
                slot.answer(ToolAnswer::error(slot.call.id.clone(), answer), out);
            }
        }
        self.unless_open(out);
    }

    fn sample(&mut self, out: &mut Vec<Effect>) {
        for text in std::mem::take(&mut self.mail) {
            self.say(Message::user(text), out);
        }
        if let Some(limit) = self.limits.max_requests
            && self.requests >= limit
        {
            return self.finish(Outcome::OutOfTurns(limit), out);
        }
        self.requests += 1;
        self.phase = Phase::Sampling;
        out.push(Effect::CallModel);
    }

    fn finish(&mut self, outcome: Outcome, out: &mut Vec<Effect>) {
        self.phase = Phase::Idle;
        out.push(Effect::Record(Fact::Finished(outcome)));
        out.push(Effect::Stop);
    }

    fn say(&mut self, message: Message, out: &mut Vec<Effect>) {
        out.push(Effect::Record(Fact::Said(Arc::new(message.clone()))));
        // Two user messages in a row are one to the API: what comes later joins what is there.
        match self.history.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                last.blocks.extend(message.blocks)
            }
            Some(_) | None => self.history.push(message),
        }
    }
}

#[cfg(test)]
mod tests;
