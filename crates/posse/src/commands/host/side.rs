//! Everything about a hosted session but the session itself: the line to the host, what waits to be said, what is shown.
//!
//! It works while a turn is under way, so it never touches the run; what the host wants of that is noted as a wish.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use posse_core::definition::Effort;
use posse_core::event::{Delta, Fact, Outcome as TurnOutcome, What};
use posse_core::message::{Block, Message, Role, StopReason, Usage, json as shape};
use posse_runtime::ask::{Ask, Asks};
use posse_runtime::launch::Reins;
use posse_runtime::model::Thinking;
use posse_runtime::run::{Ended, Event};
use posse_runtime::session::Mirrored;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::asks::{self, Via};
use super::context::Tally;
use super::control::{Answer, Handled, Refusal};
use super::incoming::{Incoming, Priority, Request, UserLine};
use super::initialize::Declared;
use super::queue::Queue;
use super::states::States;
use super::wire::{Ends, Input, Wire};
use super::{listings, servers};
use crate::commands::signals::Signals;
use crate::render::debug::Debug;
use crate::render::stream::Stream;

/// An answer, and to which request.
type Told = (String, Answer);

/// How long a host that says nothing more is still answered.
const LAST_MOMENT: Duration = Duration::from_millis(1_500);

/// Everything but the session.
pub(super) struct Side {
    pub(super) wire: Wire,
    pub(super) ends: Ends,
    pub(super) signals: Signals,
    pub(super) asks: Asks,
    pub(super) states: States,
    pub(super) lines: Stream,
    pub(super) queue: Queue,
    pub(super) declared: Declared,
    /// What the run is to do when it can.
    pub(super) wishes: Wishes,
    /// The model it began with.
    pub(super) first_model: Box<str>,
    /// How much it thought, and how hard it tried, when it began.
    pub(super) first_thinking: Thinking,
    pub(super) first_effort: Option<Effort>,
    /// Whether a token of the environment proves who asks.
    pub(super) token: bool,
    /// What was said, by who said it.
    pub(super) tally: Tally,
    /// What the last answer of the model used.
    pub(super) last_usage: Option<Usage>,
    /// The last result, and what all of them took.
    pub(super) last_result: Value,
    pub(super) duration_ms: u64,
    /// Lines that were added to files, and that were removed, by all agents.
    pub(super) lines_changed: (u64, u64),
    /// Where everything that happens is written down.
    log: Option<Log>,
    /// Whether the host will say nothing more.
    pub(super) closed: bool,
    /// Why everything ends, if it does.
    pub(super) ending: Option<Ending>,
    /// Whether prompts are shown again.
    pub(super) replays: bool,
    pub(super) turn: TurnView,
    /// Whether the last result told of an error.
    pub(super) failed: bool,
    /// What was spent, in words.
    pub(super) cost_text: String,
    /// Results of turns that more turns follow, for a host that only listens: many of those leave with the first.
    held_results: Vec<Value>,
    /// Lines that follow an answer.
    pub(super) after: Vec<Value>,
    /// The servers that the host gave while the session ran.
    pub(super) given_servers: Option<Map<String, Value>>,
    /// Who answers questions.
    pub(super) via: Via,
    /// Lines of transcripts that the host is to have, too.
    mirror: UnboundedReceiver<Mirrored>,
    /// Questions and requests under way.
    at_work: JoinSet<()>,
    requests: HashMap<String, AbortHandle>,
    /// Answers that are told behind everything that happened on the way to them.
    pub(super) answers: (UnboundedSender<Told>, UnboundedReceiver<Told>),
}

/// What the run is to do when it can.
#[derive(Default)]
pub(super) struct Wishes {
    /// Go on with this model; with the first one, if none is named.
    pub(super) model: Option<Option<String>>,
}

impl Wishes {
    pub(super) fn is_empty(&self) -> bool {
        self.model.is_none()
    }
}

/// Why everything ends.
pub(super) enum Ending {
    /// Somebody sent a signal.
    Signal,
    /// The host is gone.
    Gone,
    /// The host says what nobody understands.
    Bad(String),
}

/// What is known of the turn under way.
#[derive(Default)]
pub(super) struct TurnView {
    /// Whether the prompt itself has been told of.
    prompt_seen: bool,
    /// Prompts to show again with the first word of the model.
    replays: Vec<Value>,
    /// What the host calls the prompts of this turn.
    uuids: Vec<String>,
    /// Whether the first answer has been marked with them.
    marked: bool,
    is_human: bool,
    /// What stands at the start of a turn, where it comes later: behind a summary that was asked for.
    owed_init: Option<Value>,
    /// Whether a summary stands for the conversation now.
    summarised: bool,
}

/// What a side is made with.
pub(super) struct Parts {
    pub(super) wire: Wire,
    pub(super) ends: Ends,
    pub(super) signals: Signals,
    pub(super) asks: Asks,
    pub(super) states: States,
    pub(super) lines: Stream,
    pub(super) declared: Declared,
    pub(super) replays: bool,
    pub(super) via: Via,
    pub(super) mirror: UnboundedReceiver<Mirrored>,
    pub(super) first_thinking: Thinking,
    pub(super) first_effort: Option<Effort>,
    pub(super) token: bool,
    pub(super) tally: Tally,
    pub(super) log: Option<Log>,
}

/// Where everything that happens is written down, with the mark that hosts look for.
pub(super) struct Log {
    pub(super) debug: Debug,
    pub(super) places: Places,
}

/// A file, standard error, or both.
pub(super) type Places = Vec<Box<dyn Write>>;

impl Log {
    fn write(&mut self, line: &str) {
        for place in &mut self.places {
            // What cannot be written down happens all the same.
            let _ = place.write_all(format!("[DEBUG] {line}").as_bytes());
        }
    }
}

impl Side {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts {
            wire,
            ends,
            signals,
            asks,
            states,
            lines,
            declared,
            replays,
            via,
            mirror,
            first_thinking,
            first_effort,
            token,
            tally,
            log,
        } = parts;
        Self {
            first_model: lines.facts().model.clone(),
            wire,
            ends,
            signals,
            asks,
            states,
            lines,
            declared,
            replays,
            via,
            mirror,
            queue: Queue::default(),
            wishes: Wishes::default(),
            closed: false,
            ending: None,
            turn: TurnView::default(),
            failed: false,
            first_thinking,
            first_effort,
            token,
            tally,
            last_usage: None,
            last_result: Value::Null,
            duration_ms: 0,
            lines_changed: (0, 0),
            log,
            cost_text: String::new(),
            held_results: Vec::new(),
            after: Vec::new(),
            given_servers: None,
            at_work: JoinSet::new(),
            requests: HashMap::new(),
            answers: unbounded_channel(),
        }
    }

    /// Takes what came in. `stop` ends the turn, if one is under way.
    pub(super) fn take(&mut self, input: Option<Input>, reins: &Reins, stop: Option<&CancellationToken>) {
        match input {
            None | Some(Input::End) => self.closed = true,
            Some(Input::Bad(why)) => self.end(Ending::Bad(why), stop),
            Some(Input::Line(Incoming::User(line))) => self.said(*line, stop),
            Some(Input::Line(Incoming::Request(request))) => self.asked(&request, reins, stop),
            Some(Input::Line(Incoming::Cancel(id))) => {
                if let Some(work) = self.requests.remove(&id) {
                    // Whatever it is, nobody wants it.
                    work.abort();
                }
            }
            Some(Input::Line(Incoming::Response(..) | Incoming::Nothing)) => {}
        }
    }

    /// Everything ends, and the turn first.
    pub(super) fn end(&mut self, why: Ending, stop: Option<&CancellationToken>) {
        self.ending.get_or_insert(why);
        if let Some(stop) = stop {
            stop.cancel();
        }
    }

    fn said(&mut self, line: UserLine, stop: Option<&CancellationToken>) {
        if let Some(uuid) = &line.uuid {
            self.lifecycle(uuid, "queued");
        }
        let urgent = line.priority == Priority::Now;
        self.queue.put(line);
        if let Some(stop) = stop.filter(|_| urgent) {
            self.wire.withdraw_asks();
            stop.cancel();
        }
    }

    /// What becomes of a prompt that has a name.
    pub(super) fn lifecycle(&self, uuid: &str, state: &str) {
        let fields = json!({ "command_uuid": uuid, "state": state });
        self.wire.say(self.lines.other("command_lifecycle", fields));
    }

    fn asked(&mut self, request: &Request, reins: &Reins, stop: Option<&CancellationToken>) {
        while self.at_work.try_join_next().is_some() {}
        self.log(|| format!("asked for {}", request.subtype));
        match self.control(request, reins, stop) {
            Handled::Now(Ok(Some(reply))) if request.subtype == "initialize" => {
                self.wire.greet(&request.id, reply);
            }
            Handled::Now(answer) => answered(&self.wire, &request.id, answer),
            Handled::Later(work) => {
                let (wire, id) = (self.wire.clone(), request.id.clone());
                self.work_on(request, async move { answered(&wire, &id, work.await) });
            }
            Handled::Behind(work) => {
                let (answers, id) = (self.answers.0.clone(), request.id.clone());
                self.work_on(request, async move {
                    // Nobody who waits for it is no harm.
                    let _ = answers.send((id, work.await));
                });
            }
        }
        self.after.drain(..).for_each(|line| self.wire.say(line));
    }

    fn work_on(&mut self, request: &Request, work: impl Future<Output = ()> + Send + 'static) {
        self.requests.retain(|_, work| !work.is_finished());
        let handle = self.at_work.spawn(work);
        self.requests.insert(request.id.clone(), handle);
    }

    /// Puts a question of the session to the host.
    pub(super) fn ask(&mut self, ask: Ask) {
        self.at_work.spawn(asks::serve(self.via.clone(), self.states.clone(), ask));
    }

    /// Hands over the lines of transcripts, one by one: together they may be too long to be read.
    pub(super) fn say_mirrored(&mut self) {
        while let Ok(Mirrored { file, entries }) = self.mirror.try_recv() {
            for entry in entries {
                self.wire.say(json!({ "type": "transcript_mirror", "filePath": file, "entries": [entry] }));
            }
        }
    }

    /// Tells an answer.
    pub(super) fn tell(&mut self, (id, answer): Told) {
        self.requests.remove(&id);
        answered(&self.wire, &id, answer);
    }

    /// What a host that says nothing more still waits for gets a moment.
    pub(super) async fn finish_requests(&mut self) {
        if self.ending.is_none() {
            let work = &mut self.at_work;
            let done = async { while work.join_next().await.is_some() {} };
            // Late is late.
            let _ = tokio::time::timeout(LAST_MOMENT, done).await;
        }
        while let Ok(answer) = self.answers.1.try_recv() {
            self.tell(answer);
        }
    }

    /// Nothing is asked and nothing is done for the host any more. What it waited for is answered all the same.
    pub(super) async fn let_go(&mut self) {
        let open = self.requests.extract_if(|_, work| !work.is_finished());
        let open: Vec<String> = open.map(|(id, _)| id).collect();
        self.at_work.shutdown().await;
        while let Ok(answer) = self.answers.1.try_recv() {
            self.tell(answer);
        }
        for id in open {
            self.wire.refuse(&id, "the session ended before it was done", None);
        }
    }

    /// A turn begins with these.
    pub(super) fn begin(&mut self, lines: &[UserLine], names: &[String]) {
        let replay = |(line, name): (&UserLine, &String)| {
            let mut shown = self.lines.said(line.content.clone(), Some(&name.as_str().into()));
            shown["isReplay"] = json!(true);
            shown
        };
        let replays = if self.replays { lines.iter().zip(names).map(replay).collect() } else { Vec::new() };
        self.turn = TurnView {
            prompt_seen: false,
            replays,
            uuids: lines.iter().filter_map(|line| line.uuid.clone()).collect(),
            marked: false,
            is_human: lines.iter().any(|line| line.is_human),
            owed_init: None,
            summarised: false,
        };
        self.turn.uuids.iter().for_each(|uuid| self.lifecycle(uuid, "started"));
    }

    /// A turn begins that nobody has said anything for.
    pub(super) fn begin_without_prompt(&mut self) {
        self.turn = TurnView { prompt_seen: true, ..TurnView::default() };
    }

    /// What stands at the start of every turn.
    pub(super) fn say_init(&self, reins: &Reins) {
        self.wire.say(self.init(reins));
    }

    /// The same, but only once there is a summary, or none will come.
    pub(super) fn owe_init(&mut self, reins: &Reins) {
        self.turn.owed_init = Some(self.init(reins));
    }

    fn init(&self, reins: &Reins) -> Value {
        let mut line = self.lines.init();
        line["permissionMode"] = json!(reins.mode.current().name());
        line["cwd"] = json!(reins.cwd().display().to_string());
        line["output_style"] = json!(reins.output_style());
        line["capabilities"] = json!(super::initialize::CAPABILITIES);
        if let Some(servers) = &reins.servers {
            line["mcp_servers"] = servers::listed(servers);
        }
        // The older name of the Agent tool is what readers know.
        let known = |name: String| if name == "Agent" { "Task".to_owned() } else { name };
        line["tools"] = reins.tool_names().into_iter().map(known).collect();
        if !self.turn.uuids.is_empty() {
            line["user_message_uuids"] = json!(self.turn.uuids);
        }
        line
    }

    /// Writes something down, if anything is.
    fn log(&mut self, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            let line = log.debug.line(&text());
            log.write(&line);
        }
    }

    /// Shows what happened.
    pub(super) fn show(&mut self, event: &Event) {
        // What is told of has been written down.
        self.say_mirrored();
        if let Some(log) = &mut self.log
            && let Some(line) = log.debug.event(event)
        {
            log.write(&line);
        }
        if event.from.is_none() {
            self.note_main(event);
        }
        if let What::Fact(Fact::Answered { answer, .. }) = &event.what
            && let Some(result) = &answer.structured
        {
            let (added, removed) = listings::lines_changed(result);
            self.lines_changed = (self.lines_changed.0 + added, self.lines_changed.1 + removed);
        }
        for mut line in self.lines.event(event) {
            let is_answer = line.get("type") == Some(&"assistant".into()) && event.from.is_none();
            if is_answer && !self.turn.marked && !self.turn.uuids.is_empty() {
                self.turn.marked = true;
                line["user_message_uuid"] = json!(self.turn.uuids.last());
                line["user_message_uuids"] = json!(self.turn.uuids);
            }
            self.wire.say(line);
            self.say_owed_init();
        }
        if let (What::Fact(Fact::Compacted { summary, .. }), None) = (&event.what, &event.from) {
            let content = json!([{ "type": "text", "text": posse_core::prompt::continued(summary) }]);
            let mut line = self.lines.said(content, event.ids.last());
            line["isSynthetic"] = json!(true);
            self.wire.say(line);
        }
    }

    /// Behind the word that a summary is there.
    fn say_owed_init(&mut self) {
        if self.turn.summarised
            && let Some(init) = self.turn.owed_init.take()
        {
            self.wire.say(init);
        }
    }

    /// Whatever is still owed when a command has ended: why there is no summary, and the start of the turn.
    pub(super) fn settle_init(&mut self, why: &str) {
        if let Some(init) = self.turn.owed_init.take() {
            let fields = json!({ "status": null, "compact_result": "failed", "compact_error": why });
            self.wire.say(self.lines.of_system("status", fields));
            self.wire.say(init);
        }
    }

    /// What a command of the user printed.
    pub(super) fn say_printed(&mut self, text: &str) {
        let printed = format!("<local-command-stdout>{text}</local-command-stdout>");
        let mut line = self.lines.said(json!(printed), None);
        line["isReplay"] = json!(true);
        self.wire.say(line);
    }

    /// Shows what has become of commands in the background.
    pub(super) fn show_shells(&mut self, reins: &Reins) {
        let tasks = reins.tasks.list();
        self.lines.look_at(&tasks).into_iter().for_each(|line| self.wire.say(line));
    }

    fn note_main(&mut self, event: &Event) {
        match &event.what {
            What::Fact(Fact::Said(message)) => {
                self.tally.add(message.role, &message.blocks);
                if std::mem::replace(&mut self.turn.prompt_seen, true) {
                    let content: Value = message.blocks.iter().map(shape::block).collect();
                    let mut line = self.lines.said(content, event.ids.first());
                    line["isSynthetic"] = json!(true);
                    self.wire.say(line);
                }
            }
            What::Fact(Fact::Replied(reply)) => {
                if reply.stop != StopReason::Aborted {
                    self.last_usage = Some(reply.usage);
                }
                self.tally.add(Role::Assistant, &reply.blocks);
                self.show_replays();
            }
            What::Fact(Fact::Answered { answer, .. }) => {
                self.tally.add(Role::User, &[Block::ToolResult((**answer).clone())]);
            }
            What::Fact(Fact::Compacted { summary, .. }) => {
                self.turn.summarised = true;
                self.last_usage = None;
                self.tally = Tally::of(&[Message::user(summary.clone())]);
            }
            What::Delta(Delta::Raw(_) | Delta::Text(_) | Delta::Thinking(_) | Delta::ToolStart { .. }) => {
                self.show_replays();
            }
            What::Fact(_) | What::Delta(_) => {}
        }
    }

    fn show_replays(&mut self) {
        for line in std::mem::take(&mut self.turn.replays) {
            self.wire.say(line);
        }
    }

    /// What a turn ends with, before its result.
    pub(super) fn close_turn(&mut self, ended: &mut Ended) {
        self.show_replays();
        if let TurnOutcome::Cancelled { in_tools } = ended.outcome {
            let text = match in_tools {
                true => "[Request interrupted by user for tool use]",
                false => "[Request interrupted by user]",
            };
            ended.user_messages += 1;
            self.wire.say(self.lines.said(json!([{ "type": "text", "text": text }]), None));
        }
        for line in self.lines.synthetic(ended) {
            self.wire.say(line);
        }
    }

    /// The result of a turn. If agents are still at work, there will be another; a host that has said all it wants to say
    /// gets them together.
    pub(super) fn say_result(&mut self, mut line: Value, is_last: bool) {
        self.say_mirrored();
        line["queued_turn_count"] = json!(self.queue.len());
        if self.turn.is_human {
            line["origin"] = json!({ "kind": "human" });
        }
        if let Some(last) = self.turn.uuids.last() {
            line["user_message_uuid"] = json!(last);
            line["user_message_uuids"] = json!(self.turn.uuids);
        }
        self.failed = line.get("is_error") == Some(&true.into());
        self.duration_ms += line.get("duration_ms").and_then(Value::as_u64).unwrap_or_default();
        self.last_result = line.clone();
        self.held_results.push(line);
        if is_last || !self.closed {
            self.say_held();
        }
        for uuid in std::mem::take(&mut self.turn.uuids) {
            self.lifecycle(&uuid, "completed");
        }
        self.turn = TurnView::default();
    }

    /// Says the results that were held back.
    pub(super) fn say_held(&mut self) {
        self.held_results.drain(..).for_each(|line| self.wire.say(line));
    }
}

fn answered(wire: &Wire, id: &str, answer: Answer) {
    match answer {
        Ok(response) => wire.answer(id, response),
        Err(Refusal { why, code }) => wire.refuse(id, &why, code),
    }
}
