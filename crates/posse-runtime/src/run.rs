//! A run: one conversation, driven. The turn machine decides; this room does what it says and reports back.
//!
//! One task owns the conversation. Tools and requests run in its `JoinSet`, each leaving an IOU: what to feed the machine
//! if it dies, so that no call waits for an answer nobody will give. Facts are stored, then sent; deltas are only sent.

mod budget;
mod calls;
mod commands;
mod compact;
mod deadline;
mod dials;
mod display;
mod driver;
mod errands;
mod heard;
mod mentions;
mod pool;
mod turning;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_core::definition::Effort;
use posse_core::delegation::ToolUses;
use posse_core::event::{Delta, Fact, Outcome, What};
use posse_core::failure::RetryPolicy;
use posse_core::message::{Message, Reply, StopReason, ToolCall, Usage};
use posse_core::price::Price;
use posse_core::prompt::Instructions;
use posse_core::turn::{Input, Limits, Turn};
use tokio::sync::mpsc::UnboundedSender;

use crate::ask::Desk;
use crate::authority::{Authority, Guard};
use crate::model::{Model, SystemPart, Thinking};
use crate::purse::Purse;
use crate::session::{EntryIds, SessionError, Transcript};
use crate::tool::skills::Commands;
use crate::tool::{Permit, Task, ToolCx};
use crate::world::World;

pub use compact::{Compaction, compacts_above};
pub use dials::Dials;
pub use errands::{Errand, Errands};
pub use pool::{Deferral, MoreTools, ToolPool};

/// What a run is made of.
#[derive(Clone)]
pub struct RunSetup {
    /// The surroundings.
    pub world: Arc<World>,
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// Under which id.
    pub model_id: Box<str>,
    /// Which model to turn to when that one is overloaded.
    pub fallback: Option<Box<str>>,
    /// The system prompt.
    pub system: Arc<[SystemPart]>,
    /// What goes before the first prompt of a new conversation.
    pub opening: Option<Arc<str>>,
    /// What hooks have to say with the next prompt.
    pub greeting: Vec<String>,
    /// The tools.
    pub tools: ToolPool,
    /// Who decides on calls, and who hears of them.
    pub guard: Guard,
    /// Where a turn ends by itself.
    pub limits: Limits,
    /// What it may use up, together with those above it.
    pub purse: Purse,
    /// How much to think.
    pub thinking: Thinking,
    /// How hard to try.
    pub effort: Option<Effort>,
    /// Limit on one answer.
    pub max_tokens: u32,
    /// How patiently to try again.
    pub retry: RetryPolicy,
    /// How many tokens the model can hold.
    pub window: u64,
    /// The tool whose answer ends the turn.
    pub final_tool: Option<Box<str>>,
    /// Whether raw events of the provider are wanted.
    pub raw_events: bool,
    /// The session.
    pub session: Box<str>,
    /// What tools asked models for beside the conversation.
    pub bill: Bill,
    /// Which agent this is, if it is not the main one.
    pub agent: Option<Box<str>>,
}

/// Answers of models that tools asked beside the conversation, until the run has paid for them.
#[derive(Clone, Debug, Default)]
pub struct Bill(Arc<Mutex<Items>>);

/// Models and what they used.
type Items = Vec<(Box<str>, Usage)>;

impl Bill {
    /// Adds an answer.
    pub fn add(&self, reply: &Reply) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((reply.model.clone(), reply.usage));
    }

    /// Adds what a model used.
    pub fn charge(&self, model: &str, usage: Usage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((model.into(), usage));
    }

    fn take(&self) -> Items {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Something that happened, as observers see it.
#[derive(Clone, Debug)]
pub struct Event {
    /// What.
    pub what: What,
    /// The ids of its entries in the transcript.
    pub ids: EntryIds,
    /// Whose it is; the main agent's if nobody's.
    pub from: Option<Arc<Mark>>,
}

/// Which agent something happened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its id.
    pub agent: Box<str>,
    /// What kind of agent.
    pub kind: Box<str>,
    /// Its task in a few words.
    pub task: String,
    /// The call that started it.
    pub call: Box<str>,
    /// How many agents stand above it.
    pub depth: u32,
    /// Whether nobody waits for it.
    pub in_background: bool,
}

/// Where those who watch hear of a run.
#[derive(Clone, Debug)]
pub struct Events {
    to: UnboundedSender<Event>,
    mark: Option<Arc<Mark>>,
}

impl From<UnboundedSender<Event>> for Events {
    fn from(to: UnboundedSender<Event>) -> Self {
        Self { to, mark: None }
    }
}

impl Events {
    /// The same place for the events of another agent.
    pub fn of(&self, mark: Arc<Mark>) -> Self {
        Self { to: self.to.clone(), mark: Some(mark) }
    }

    /// Tells of something.
    pub fn send(&self, mut event: Event) {
        event.from = event.from.or_else(|| self.mark.clone());
        // Nobody listening is no reason to stop working.
        let _ = self.to.send(event);
    }

    /// Tells of something that goes on.
    pub fn delta(&self, delta: Delta) {
        self.send(Event { what: What::Delta(delta), ids: Vec::new(), from: None });
    }
}

/// What one model has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Tokens.
    pub usage: Usage,
    /// Dollars.
    pub cost: f64,
}

/// How a turn ended, with what it took.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// Tokens of this turn.
    pub usage: Usage,
    /// Why the model stopped last.
    pub stop: Option<StopReason>,
    /// Calls that were refused in this turn.
    pub denials: Vec<ToolCall>,
    /// Messages of the user's role in this turn, tool answers counted one by one.
    pub user_messages: u32,
    /// Milliseconds of this turn.
    pub duration_ms: u64,
}

/// A conversation that can be talked to.
pub struct Run {
    setup: RunSetup,
    turn: Turn,
    cx: ToolCx,
    transcript: Transcript,
    events: Events,
    /// By model, over the whole run.
    spent: BTreeMap<Box<str>, Spent>,
    /// Milliseconds spent waiting for the model, over the whole run.
    api_ms: u64,
    /// What the model read in its last request: how full the window is.
    context_tokens: u64,
    /// How many messages the last reply closed, and the tokens they are known to be.
    known: Option<(usize, u64)>,
    /// Whether the last turn ended in plan mode.
    planning: bool,
    /// The standing instructions of the conversation, which a summary must not lose.
    instructions: Vec<Instructions>,
    /// How many messages it has of somebody else, at the beginning.
    inherited: usize,
    /// How long the model may be silent in one request.
    patience: Option<Duration>,
    /// The calls that were answered in this run.
    answered: ToolUses,
    /// Who understands what people type after a slash.
    commands: Option<Arc<dyn Commands>>,
    /// What others turn while a turn is under way.
    dials: Dials,
    /// Where the next prompt may mention what is to be fetched.
    mentions: Option<String>,
}

impl Run {
    /// A run that continues `history`, which is empty for a new one.
    pub fn new(
        mut setup: RunSetup,
        history: Vec<Message>,
        mut cx: ToolCx,
        transcript: Transcript,
        events: impl Into<Events>,
    ) -> Self {
        let events = events.into();
        // What a tool asks for counts for the run's own calls, and who judges those judges for tools.
        setup.guard.terms = cx.terms.clone();
        cx.permit = Permit::of(setup.guard.clone());
        let turn = Turn::new(history, setup.limits)
            .ending_with(setup.final_tool.as_deref())
            // What an agent hears of those it started belongs to its one task.
            .counting_on(setup.agent.is_some());
        Self {
            setup,
            turn,
            cx,
            transcript,
            events,
            spent: BTreeMap::new(),
            api_ms: 0,
            context_tokens: 0,
            known: None,
            planning: false,
            instructions: Vec::new(),
            inherited: 0,
            patience: None,
            answered: ToolUses::default(),
            commands: None,
            dials: Dials::default(),
            mentions: None,
        }
    }

    /// What can be turned while a turn is under way.
    pub fn dials(&self) -> Dials {
        self.dials.clone()
    }

    /// What is told of itself and its tools: how much of the window that takes.
    pub fn told(&self) -> (Arc<[SystemPart]>, ToolPool, Option<Arc<str>>) {
        (Arc::clone(&self.setup.system), self.setup.tools.clone(), self.setup.opening.clone())
    }

    /// How hard it tries.
    pub fn effort(&self) -> Option<Effort> {
        self.setup.effort
    }

    /// Lets somebody understand what people type after a slash.
    pub fn understands(&mut self, commands: Arc<dyn Commands>) {
        self.commands = Some(commands);
    }

    /// The model that answers now.
    fn model_id(&self) -> Box<str> {
        self.cx.terms.model().unwrap_or_else(|| self.setup.model_id.clone())
    }

    /// The tools of the run.
    pub fn tools(&self) -> ToolPool {
        self.setup.tools.clone()
    }

    /// Who may do what in the session.
    pub fn authority(&self) -> Arc<Authority> {
        Arc::clone(&self.setup.guard.authority)
    }

    /// Whether the mode that asks nothing may be switched to.
    pub fn may_bypass(&self) -> bool {
        self.setup.guard.authority.may_bypass()
    }

    /// Gives the next prompt an id that somebody else chose: in the transcript, and for files that are kept.
    pub fn name_next_prompt(&mut self, id: &str) {
        self.transcript.name_next(id);
        self.cx.files.checkpoints().begin(id);
    }

    /// Where those who watch the run hear of things.
    pub fn observers(&self) -> UnboundedSender<Event> {
        self.events.to.clone()
    }

    /// Who answers.
    pub fn model(&self) -> Arc<dyn Model> {
        Arc::clone(&self.setup.model)
    }

    /// Answers come from another model from now on, whichever was chosen before.
    pub fn set_model(&mut self, model: Arc<dyn Model>, id: Box<str>, window: u64) {
        self.dials.forget_model();
        (self.setup.model, self.setup.model_id, self.setup.window) = (model, id, window);
    }

    /// What tools are given before the first turn, when nobody can be asked for anything yet.
    pub fn unattended_context(&self) -> ToolCx {
        let guard = Guard { desk: Desk::default(), ..self.setup.guard.clone() };
        ToolCx { permit: Permit::of(guard), ..self.cx.clone() }
    }

    /// What the model read in its last request.
    pub fn context_tokens(&self) -> u64 {
        self.context_tokens
    }

    /// The standing instructions that the opening is made of: hooks hear of them when they are loaded again.
    pub fn remember(&mut self, instructions: Vec<Instructions>) {
        self.instructions = instructions;
    }

    /// Ends a turn in which nothing is heard from the model for so long.
    pub fn fail_when_silent(&mut self, patience: Duration) {
        self.patience = Some(patience);
    }

    /// The calls that were answered in this run, and not in what it continues.
    pub fn answered(&self) -> &ToolUses {
        &self.answered
    }

    /// How long it may still work; nothing said is no limit.
    pub fn time_for_work(&self) -> Option<Duration> {
        self.setup.purse.time_for_work()
    }

    /// Tells the model something with the next prompt.
    pub fn greet(&mut self, texts: Vec<String>) {
        self.setup.greeting.extend(texts);
    }

    /// What was used so far, by model.
    pub fn spent(&self) -> &BTreeMap<Box<str>, Spent> {
        &self.spent
    }

    /// What it cost so far, in dollars.
    pub fn cost(&self) -> f64 {
        self.spent.values().fold(0.0, |total, spent| total + spent.cost)
    }

    /// Milliseconds spent waiting for the model so far.
    pub fn api_ms(&self) -> u64 {
        self.api_ms
    }

    /// Everything said so far.
    pub fn history(&self) -> &[Message] {
        self.turn.history()
    }

    /// Says that so many messages at the beginning are not its own.
    pub fn inherit(&mut self, messages: usize) {
        self.inherited = messages;
    }

    /// Everything said in its own conversation.
    pub fn own_history(&self) -> &[Message] {
        self.history().get(self.inherited..).unwrap_or_default()
    }

    /// Tells the model of background work that has ended, each once, with its next request.
    fn notices(&self) -> Vec<Input> {
        self.mail().into_iter().map(Input::Mail).collect()
    }

    /// What has come for the model since it was last told: ended work, and messages of others. Each once.
    pub fn mail(&self) -> Vec<String> {
        let unseen = self.cx.tasks.drain().into_iter().filter(|finished| !finished.seen);
        let ended = unseen.map(|finished| finished.notice.unwrap_or_else(|| notice(&finished.task)));
        ended.chain(self.cx.inbox.take()).collect()
    }

    /// Stores a fact, then shows it.
    fn record(&mut self, fact: Fact) -> Result<(), SessionError> {
        let ids = self.transcript.record(&fact, &self.setup.world)?;
        self.show(Event { what: What::Fact(fact), ids, from: None });
        Ok(())
    }

    fn show(&self, event: Event) {
        self.events.send(event);
    }

    /// Pays for what was asked beside the conversation.
    pub(crate) fn pay(&mut self) {
        for (model, usage) in self.setup.bill.take() {
            self.spend(&model, &usage);
        }
    }

    fn spend(&mut self, model: &str, usage: &Usage) {
        let spent = self.spent.entry(model.into()).or_default();
        spent.usage += *usage;
        spent.cost += Price::of(model).cost(usage);
    }
}

/// Something the model is told that the user did not say.
fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// What the model reads of a task that has ended.
fn notice(task: &Task) -> String {
    let what = task.description.as_deref().unwrap_or(&task.command);
    format!(
        "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n<output-file>{}</output-file>\n\
         <status>{}</status>\n<summary>Background command \"{what}\" {}</summary>\n</task-notification>",
        task.id,
        task.call,
        task.output.display(),
        task.state.status.word(),
        task.state.code.map_or_else(
            || task.state.status.word().to_owned(),
            |code| format!("ended with exit code {code}")
        ),
    )
}

#[cfg(test)]
mod tests;
