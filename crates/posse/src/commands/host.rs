//! `--input-format stream-json`: a session for a program that started posse and stays at the other end, such as the
//! SDKs. Turn after turn until the program says no more.
//!
//! Knows when a turn begins and what is owed to the host at its end. How lines look is `render::stream`'s business, what
//! the envelope is `wire`'s, and what can be asked for `control`'s.

mod asks;
mod context;
mod control;
mod incoming;
mod initialize;
mod listings;
mod naming;
mod queue;
mod reading;
mod servers;
mod settings;
mod side;
mod states;
mod wire;

use std::io::BufReader;
use std::sync::Arc;

use posse_core::event::{Fact, Outcome as TurnOutcome, What};
use posse_core::hooks::occasion::EndReason;
use posse_core::message::{Block, Message, Usage};
use posse_runtime::ask::{Asks, Desk};
use posse_runtime::launch::{
    Facts, Host as HostSide, LaunchRequest, Launched, Reins, SessionChoice, launch, news,
};
use posse_runtime::run::{Ended, Event};
use posse_runtime::session::{Mirrored, SessionError};
use posse_runtime::tool::TaskKind;
use posse_runtime::world::World;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use self::asks::Via;
use self::context::Tally;
use self::incoming::{Incoming, Priority, UserLine};
use self::initialize::{Declared, Delivery, Greeting};
use self::side::{Ending, Log, Parts, Places, Side};
use self::states::States;
use self::wire::{Ends, Input, Wire};
use super::answers::PromptTool;
use super::lines;
use super::run::{launch_failure, refused_session, request, runtime};
use super::signals::{Signals, at_once};
use crate::args::{OutputFormat, PermissionPrompts, RunArgs};
use crate::render::debug::Debug;
use crate::render::stream::{Stream, TurnEnd, refused};
use crate::report::{CommandResult, Error, Failure, Outcome};
use crate::terminal::Terminal;

/// How the session is shown.
struct Options {
    partial: bool,
    hooks: bool,
    replays: bool,
    /// What was given and has no effect.
    notes: Vec<String>,
    /// What comes with the greeting.
    delivery: Delivery,
    /// Where everything that happens is written down.
    log: Places,
}

pub(super) fn run(args: RunArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    if args.output_format != OutputFormat::StreamJson {
        let failure = Failure::new("--input-format stream-json needs --output-format stream-json").usage();
        return Err(failure.into());
    }
    let options = Options {
        partial: args.include_partial_messages,
        hooks: args.include_hook_events,
        replays: args.host.replay_user_messages,
        notes: args.host.without_effect(),
        delivery: Delivery {
            plugins: args.host.await_initialize,
            managed: args.host.managed_settings_in_initialize,
        },
        log: log_places(&args, world)?,
    };
    let prompt_tool = args.authority.permission_prompt_tool.clone();
    let prompt_tool = prompt_tool.filter(|_| args.authority.permission_prompts == PermissionPrompts::Host);
    let (sender, mirror) = unbounded_channel();
    let sender = args.host.session_mirror.then_some(sender);
    let first = args.prompt.clone();
    let checkpoints = world.env.is_on("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING");
    let request = LaunchRequest { checkpoints, mirror: sender, lenient_agent: true, ..request(args, world)? };
    let world = Arc::new(world.clone());
    runtime()?.block_on(async {
        let input = BufReader::new(std::io::stdin());
        let (wire, ends) = Wire::open(input, std::io::stdout(), Arc::clone(&world.ids));
        lines::watch_output(ends.broken.clone());
        // Others than this SDK do not know questions of servers and must not be sent any.
        if world.env.get("CLAUDE_CODE_ENTRYPOINT") == Some("sdk-ts") {
            wire.elicits();
        }
        let (desk, asks) =
            if prompt_tool.is_some() { Desk::open() } else { (Desk::default(), Desk::open().1) };
        let host =
            HostSide { callbacks: Some(Arc::new(wire.clone())), servers: Some(Arc::new(wire.clone())) };
        let request = LaunchRequest { desk, host, ..request };
        let line = wire.clone();
        let beginning =
            Beginning { world, request, wire: line, ends, asks, options, first, prompt_tool, mirror };
        let outcome = beginning.go(terminal).await;
        wire.end();
        outcome
    })
}

/// A session before there is one.
struct Beginning {
    world: Arc<World>,
    request: LaunchRequest,
    wire: Wire,
    ends: Ends,
    asks: Asks,
    options: Options,
    first: Option<String>,
    prompt_tool: Option<String>,
    mirror: UnboundedReceiver<Mirrored>,
}

/// What came before the session could begin.
#[derive(Default)]
struct Early {
    /// The id of the first greeting, and what it says of the host.
    greeting: Option<(String, Declared)>,
    /// Everything else, in its order.
    others: Vec<Input>,
}

impl Early {
    /// Goes on listening while the session is made, which can take as long as the slowest server: nothing is done yet,
    /// so that a wish to stop is granted at once. Nothing comes of it if nobody wants it any more.
    async fn hear_until<T>(
        &mut self,
        made: impl Future<Output = T>,
        ends: &mut Ends,
        signals: &mut Signals,
        wire: &Wire,
    ) -> Option<T> {
        tokio::pin!(made);
        let mut is_open = !matches!(self.others.last(), Some(Input::End));
        loop {
            let input = tokio::select! {
                biased;
                _ = signals.next() => return None,
                () = ends.broken.cancelled() => return None,
                made = &mut made => return Some(made),
                input = ends.inbox.recv(), if is_open => input.unwrap_or(Input::End),
            };
            is_open = !matches!(input, Input::End);
            match &input {
                Input::Line(Incoming::Request(request))
                    if request.subtype == "interrupt" && !request.is_on("cancel_queued") =>
                {
                    wire.answer(&request.id, Some(json!({ "still_queued": self.queued() })));
                }
                Input::Line(_) | Input::Bad(_) | Input::End => self.others.push(input),
            }
        }
    }

    /// What waits to be said, by the names that the host gave it.
    fn queued(&self) -> Vec<&str> {
        let named = self.others.iter().filter_map(|input| match input {
            Input::Line(Incoming::User(line)) => line.uuid.as_deref(),
            Input::Line(_) | Input::Bad(_) | Input::End => None,
        });
        named.collect()
    }
}

impl Beginning {
    async fn go(mut self, terminal: &mut Terminal) -> CommandResult {
        let mut signals = Signals::listen();
        let early = tokio::select! {
            early = self.early() => early,
            _ = signals.next() => return Ok(Outcome::Interrupted),
        };
        let Some(mut early) = early? else { return Ok(Outcome::Fine) };
        let Self { world, request, wire, mut ends, asks, options, first, prompt_tool, mirror } = self;
        let written = async |ends: &mut Ends| {
            wire.end();
            // Nobody is left to be told that it was not written.
            let _ = (&mut ends.written).await;
        };
        let launching = launch(&world, request.clone());
        let launched = match early.hear_until(launching, &mut ends, &mut signals, &wire).await {
            None => return Ok(Outcome::Interrupted),
            Some(Ok(launched)) => launched,
            Some(Err(error)) => {
                let asked = match &request.session {
                    SessionChoice::NewWith(id) | SessionChoice::Resume { id, fork: _ } => Some(id.clone()),
                    SessionChoice::New | SessionChoice::Continue { .. } => None,
                };
                if let Some(session) = refused_session(&error, asked, &world) {
                    wire.say(refused(&error.to_string(), &session, &world));
                }
                written(&mut ends).await;
                return Err(Error::Failure(launch_failure(&error)));
            }
        };
        let states = States::new(&wire, &world.env, &world.ids);
        let mut lines =
            Stream::new(launched.facts.clone(), Arc::clone(&world), options.partial, options.hooks);
        let (id, declared) = early.greeting.take().unzip();
        let declared = declared.unwrap_or_default();
        if declared.hears_agents {
            lines.tell_speech_of_agents();
        }
        let replays = options.replays;
        let via = via(&wire, prompt_tool.as_deref(), &launched);
        let parts = Parts {
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
            first_thinking: request.thinking,
            first_effort: launched.run.effort(),
            token: world.env.get("ANTHROPIC_AUTH_TOKEN").is_some(),
            tally: Tally::of(launched.run.history()),
            log: (!options.log.is_empty()).then(|| Log { debug: Debug::start(&world), places: options.log }),
        };
        let side = Side::new(parts);
        let mut host = Host { world, request, launched, side, prompt_tool, held: Vec::new(), gave_up: false };
        host.greet(id.as_deref(), options.notes);
        host.take_early(early.others, first);
        let went = host.go_on().await;
        host.close(terminal, went).await
    }

    /// Reads up to the host's greeting, or up to the first thing it says without one. Nothing if it says nothing at all.
    async fn early(&mut self) -> Result<Option<Early>, Error> {
        let mut early = Early::default();
        if self.first.is_some() {
            return Ok(Some(early));
        }
        loop {
            match self.ends.inbox.recv().await {
                None | Some(Input::End) if early.others.is_empty() => return Ok(None),
                None | Some(Input::End) => {
                    early.others.push(Input::End);
                    return Ok(Some(early));
                }
                Some(Input::Bad(why)) => return Err(unreadable(&why).into()),
                Some(Input::Line(Incoming::Request(request))) if request.subtype == "initialize" => {
                    let delivery = self.options.delivery;
                    let mut declared = initialize::apply(&request.body, delivery, &mut self.request);
                    self.wire.know(std::mem::take(&mut declared.servers.greeted));
                    if declared.servers.elicits {
                        self.wire.elicits();
                    }
                    early.greeting = Some((request.id, declared));
                    return Ok(Some(early));
                }
                Some(line @ Input::Line(Incoming::User(_))) => {
                    early.others.push(line);
                    return Ok(Some(early));
                }
                Some(line @ Input::Line(_)) => early.others.push(line),
            }
        }
    }
}

/// Who answers questions.
fn via(wire: &Wire, prompt_tool: Option<&str>, launched: &Launched) -> Via {
    match prompt_tool {
        None | Some("stdio") => Via::Host(wire.clone()),
        Some(tool) => Via::Tool(PromptTool::new(launched.servers.clone(), tool)),
    }
}

/// Where everything that happens is written down, if anywhere: whoever names a file wants nothing on standard error.
fn log_places(args: &RunArgs, world: &World) -> Result<Places, Failure> {
    let mut places = Places::new();
    if let Some(file) = &args.host.debug_file {
        places.push(Box::new(log_file(file, world)?));
    }
    if args.host.debug_to_stderr || (args.debug && args.host.debug_file.is_none()) {
        places.push(Box::new(std::io::stderr()));
    }
    Ok(places)
}

fn log_file(file: &std::path::Path, world: &World) -> Result<std::fs::File, Failure> {
    let file = world.cwd.join(file);
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(&file);
    opened.map_err(|error| Failure::new(format!("--debug-file {}: {error}", file.display())))
}

fn unreadable(why: &str) -> Failure {
    Failure::new(format!("a line of the input cannot be read: {why}"))
        .hint("with --input-format stream-json every line is one JSON object")
}

/// A hosted session.
struct Host {
    world: Arc<World>,
    /// What a new conversation would begin with.
    request: LaunchRequest,
    launched: Launched,
    side: Side,
    /// Who answers questions, if the host does not.
    prompt_tool: Option<String>,
    /// What was said and wanted no answer.
    held: Vec<UserLine>,
    /// Whether agents in the background have had all the time there is.
    gave_up: bool,
}

/// What comes after a pause.
enum Next {
    /// Something may be waiting.
    Look,
    /// The model is to be told something that the host did not say.
    News(String),
    /// Nothing.
    Over,
}

impl Host {
    /// Answers the greeting, and says what there is to say before anything happens.
    fn greet(&mut self, id: Option<&str>, notes: Vec<String>) {
        let reins = self.launched.reins();
        servers::apply_rules(&reins, &self.side.declared.servers);
        self.take_declared(&reins);
        self.side.states.name(&self.launched.facts.session);
        while let Ok(event) = self.launched.events.try_recv() {
            self.side.show(&event);
        }
        if let Some(id) = id {
            let declared = &self.side.declared;
            let greeting = Greeting {
                state: self.side.states.word(),
                hooks: declared.has_hooks.then_some(true),
                plugins: initialize::are_loaded(declared.plugins.clone(), &self.launched.facts),
                managed: declared.managed,
                token: self.side.token,
            };
            let mut reply = initialize::reply(self.side.lines.facts(), &reins, greeting);
            if let Some(parked) = &declared.servers.parked {
                reply["sdk_mcp_manifests_parked"] = json!(parked);
            }
            self.side.wire.greet(id, reply);
        }
        let declared = std::mem::take(&mut self.side.declared.notes);
        let own = std::mem::take(&mut self.launched.notes);
        for note in notes.into_iter().chain(declared).chain(own) {
            self.side.wire.say(self.side.lines.note(&note));
        }
    }

    /// What the host wants of a session that has just begun.
    fn take_declared(&mut self, reins: &Reins) {
        let Declared { aliases, planning, title, .. } = &self.side.declared;
        reins.set_aliases(aliases.iter().cloned());
        if let Some(how) = planning {
            reins.dials.set_planning(how);
        }
        // A session that goes on has a title, or none for a reason.
        let is_new = matches!(self.request.session, SessionChoice::New | SessionChoice::NewWith(_));
        if let Some(title) = title.as_ref().filter(|_| is_new && !self.request.after_clear)
            && let Err(error) = reins.rename(title)
        {
            self.launched.notes.push(error.to_string());
        }
    }

    fn take_early(&mut self, others: Vec<Input>, first: Option<String>) {
        let reins = self.launched.reins();
        if let Some(text) = first {
            self.side.queue.put(UserLine {
                blocks: vec![Block::Text(text.clone())],
                content: json!(text),
                uuid: None,
                is_human: false,
                is_verbatim: false,
                wants_answer: true,
                priority: Priority::Next,
            });
        }
        for input in others {
            self.side.take(Some(input), &reins, None);
        }
    }

    /// Turn after turn, until there is nothing left to say or to wait for.
    async fn go_on(&mut self) -> Result<(), Error> {
        if let Some(call) = self.launched.deferred.take() {
            self.take_up(&call).await?;
        }
        loop {
            if self.side.ending.is_some() {
                return Ok(());
            }
            self.fulfil().await;
            let lines = self.side.queue.take();
            if !lines.is_empty() {
                self.taken_up(lines).await?;
                continue;
            }
            match self.pause().await {
                Next::Look => {}
                Next::News(text) => self.turn(Message::user(text), &[], true).await?,
                Next::Over => return Ok(()),
            }
        }
    }

    /// Does what the host wanted of the run while it was busy.
    async fn fulfil(&mut self) {
        let wishes = std::mem::take(&mut self.side.wishes);
        self.launched.adopt_model();
        self.retell_model();
        let Some(model) = wishes.model else { return };
        let name = model.unwrap_or_else(|| self.side.first_model.to_string());
        let notes = match self.launched.next_model(&name).await {
            // Whoever hosts the session has asked already.
            Ok(next) => self.launched.switch_model(next).await,
            Err(why) => vec![why],
        };
        self.retell_model();
        for note in notes {
            self.side.wire.say(self.side.lines.note(&note));
        }
    }

    fn retell_model(&mut self) {
        let Facts { model, window, .. } = &self.launched.facts;
        if *model != self.side.lines.facts().model {
            let facts = Facts { model: model.clone(), window: *window, ..self.side.lines.facts().clone() };
            self.side.lines.retell(facts);
        }
    }

    /// Waits for something to do.
    async fn pause(&mut self) -> Next {
        let reins = self.launched.reins();
        let Self { launched, side, gave_up, .. } = self;
        let Launched { run, events, cx, .. } = launched;
        let is_awaited = cx.tasks.is_awaited(TaskKind::Agent) && !*gave_up;
        if !is_awaited {
            side.states.idle();
            if side.closed {
                return Next::Over;
            }
        }
        let never = CancellationToken::new();
        let mut ends = reins.tasks.count_ended();
        side.show_shells(&reins);
        let news = news(run, cx, &never);
        tokio::pin!(news);
        loop {
            tokio::select! {
                biased;
                _ = side.signals.next() => side.end(Ending::Signal, None),
                () = side.ends.broken.cancelled() => side.end(Ending::Gone, None),
                Some(event) = events.recv() => side.show(&event),
                Some(ask) = side.asks.next() => side.ask(ask),
                input = side.ends.inbox.recv(), if !side.closed => {
                    side.take(input, &reins, None);
                    if side.closed {
                        return Next::Look;
                    }
                }
                text = reins.woken() => return Next::News(text),
                () = reins.tasks.next_end(ends) => {
                    ends = reins.tasks.count_ended();
                    side.show_shells(&reins);
                }
                Some(answer) = side.answers.1.recv() => side.tell(answer),
                told = &mut news, if is_awaited => match told {
                    Some(text) => return Next::News(text),
                    None => {
                        *gave_up = true;
                        return Next::Look;
                    }
                },
            }
            if side.ending.is_some() || side.queue.len() > 0 || !side.wishes.is_empty() {
                return Next::Look;
            }
        }
    }

    /// Something the host said is taken up.
    async fn taken_up(&mut self, lines: Vec<UserLine>) -> Result<(), Error> {
        let command = lines.first().and_then(UserLine::command).unwrap_or_default();
        if matches!(command, "/clear" | "/reset" | "/new") {
            return self.clear(&lines).await;
        }
        if command == "/context" {
            self.show_context(&lines);
            return Ok(());
        }
        if command.split_whitespace().next() == Some("/compact") {
            return self.compact(&lines).await;
        }
        if lines.iter().all(|line| !line.wants_answer) {
            self.side.begin(&lines, &[]);
            self.side.say_init(&self.launched.reins());
            self.held.extend(lines);
            self.say_empty_result();
            return Ok(());
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend(lines);
        if let Some(text) = incoming::own_words(&all) {
            self.launched.run.may_mention(text);
        }
        let message = self.launched.first_message(incoming::message(&all));
        self.turn(message, &all, false).await
    }

    /// Goes on from a call that a hook put off before the session was taken up again.
    async fn take_up(&mut self, call: &str) -> Result<(), Error> {
        let reins = self.launched.reins();
        let Self { launched, side, .. } = self;
        side.states.running();
        side.begin_without_prompt();
        let stop = CancellationToken::new();
        let Launched { run, events, servers, .. } = launched;
        attend(unless(servers.greeted(), &stop), events, side, &reins, &stop).await;
        side.say_init(&reins);
        let ended = attend(run.take_up(call, stop.clone()), events, side, &reins, &stop).await;
        self.end_turn(ended, false)
    }

    /// Says something to the agent and tells the host what comes of it.
    async fn turn(&mut self, message: Message, lines: &[UserLine], by_itself: bool) -> Result<(), Error> {
        self.gave_up = false;
        let names: Vec<String> =
            lines.iter().map(|line| line.uuid.clone().unwrap_or_else(|| self.world.ids.uuid())).collect();
        for name in &names {
            self.launched.run.name_next_prompt(name);
        }
        let reins = self.launched.reins();
        let Self { launched, side, .. } = self;
        side.states.running();
        side.begin(lines, &names);
        let stop = CancellationToken::new();
        let Launched { run, events, servers, .. } = launched;
        // What was given to the session just now is there from this turn on.
        attend(unless(servers.greeted(), &stop), events, side, &reins, &stop).await;
        side.say_init(&reins);
        let ended = attend(run.prompt(message, stop.clone()), events, side, &reins, &stop).await;
        self.end_turn(ended, by_itself)
    }

    fn end_turn(&mut self, ended: Result<Ended, SessionError>, by_itself: bool) -> Result<(), Error> {
        let mut ended = ended.map_err(|error| Failure::new(error.to_string()))?;
        self.side.close_turn(&mut ended);
        self.say_result(&ended, by_itself);
        Ok(())
    }

    fn say_result(&mut self, ended: &Ended, by_itself: bool) {
        let run = &self.launched.run;
        let end = TurnEnd { ended, spent: run.spent(), api_ms: run.api_ms(), by_itself };
        let line = self.side.lines.result(&end);
        self.side.cost_text = format!("Total cost: ${:.4}", run.cost());
        let is_last = !self.launched.cx.tasks.is_awaited(TaskKind::Agent);
        self.side.say_result(line, is_last);
    }

    /// `/context`: how full the window is, for people.
    fn show_context(&mut self, lines: &[UserLine]) {
        let reins = self.launched.reins();
        self.side.begin(lines, &[]);
        self.side.say_init(&reins);
        let text = self.side.fullness(&reins).table();
        self.side.wire.say(self.side.lines.local(&text));
        self.say_local_result(text);
    }

    /// `/compact`: the start of the turn is told of behind the summary.
    async fn compact(&mut self, lines: &[UserLine]) -> Result<(), Error> {
        let reins = self.launched.reins();
        let Self { launched, side, .. } = self;
        side.states.running();
        side.begin(lines, &[]);
        side.owe_init(&reins);
        let (stop, message) = (CancellationToken::new(), incoming::message(lines));
        let Launched { run, events, .. } = launched;
        let ended = attend(run.prompt(message, stop.clone()), events, side, &reins, &stop).await;
        let ended = ended.map_err(|error| Failure::new(error.to_string()))?;
        let text = match &ended.outcome {
            TurnOutcome::Answer { text, .. } => text.clone(),
            _ => String::new(),
        };
        side.settle_init(&text);
        side.say_printed(&text);
        self.say_local_result(text);
        Ok(())
    }

    /// The result of what needed no model.
    fn say_empty_result(&mut self) {
        self.say_local_result(String::new());
    }

    fn say_local_result(&mut self, text: String) {
        let ended = Ended {
            outcome: TurnOutcome::Answer { text, structured: None },
            usage: Usage::default(),
            stop: None,
            denials: Vec::new(),
            user_messages: 0,
            duration_ms: 0,
        };
        let run = &self.launched.run;
        let end = TurnEnd { ended: &ended, spent: run.spent(), api_ms: run.api_ms(), by_itself: false };
        let mut line = self.side.lines.result(&end);
        line.as_object_mut().map(|line| line.shift_remove("terminal_reason"));
        self.side.say_result(line, true);
    }

    /// A new conversation with everything else as it is. A recording belongs to the one that was begun with it.
    async fn clear(&mut self, lines: &[UserLine]) -> Result<(), Error> {
        let (switched_off, turned) = (self.launched.servers.switched_off(), self.launched.reins().turned());
        self.launched.end(EndReason::Clear).await;
        while let Ok(event) = self.launched.events.try_recv() {
            self.side.show(&event);
        }
        self.side.show_shells(&self.launched.reins());
        if self.side.given_servers.is_some() {
            // What the host gave since has taken the place of what it brought.
            let brought = &self.side.declared.servers.configs;
            self.request.mcp_configs.retain(|config| !brought.contains(config));
        }
        self.request.session = SessionChoice::New;
        self.request.after_clear = true;
        self.request.record = None;
        self.request.permission_mode = Some(self.launched.mode.current());
        self.keep_changes();
        let launched = launch(&self.world, self.request.clone()).await;
        self.launched = launched.map_err(|error| Error::Failure(launch_failure(&error)))?;
        let (brought, given) = (&self.side.declared.servers, self.side.given_servers.as_ref());
        servers::renew(&self.launched.reins(), brought, given, &switched_off).await;
        self.launched.reins().turn_like(turned);
        self.side.via = via(&self.side.wire, self.prompt_tool.as_deref(), &self.launched);
        self.take_declared(&self.launched.reins());
        (self.side.tally, self.side.last_usage) = (Tally::default(), None);
        let facts = self.launched.facts.clone();
        let reset = json!({ "new_conversation_id": facts.session, "trigger": "clear" });
        self.side.wire.say(self.side.lines.other("conversation_reset", reset));
        self.side.states.name(&facts.session);
        self.side.lines.retell(facts);
        self.side.begin(lines, &[]);
        self.side.say_init(&self.launched.reins());
        self.say_empty_result();
        Ok(())
    }

    /// What was changed while a conversation ran holds for the next one, too.
    fn keep_changes(&mut self) {
        self.launched.adopt_model();
        self.request.catalog = self.launched.sources();
        if self.launched.facts.model != self.side.first_model {
            self.request.model = Some(self.launched.model_name().to_owned());
        }
        if let Some(effort) = self.launched.run.dials().chosen_effort() {
            self.request.effort = effort;
        }
        if let Some(thinking) = self.launched.run.dials().chosen_thinking() {
            self.request.thinking = thinking;
        }
        self.request.callbacks = self.launched.callbacks();
    }

    /// The session ends; everything that was said is written before the program does.
    async fn close(mut self, terminal: &mut Terminal, went: Result<(), Error>) -> CommandResult {
        self.side.finish_requests().await;
        let left = self.launched.end(EndReason::Other).await;
        while let Ok(event) = self.launched.events.try_recv() {
            self.side.show(&event);
        }
        self.side.say_mirrored();
        self.side.say_held();
        self.side.let_go().await;
        left.iter().try_for_each(|text| writeln!(terminal.err, "posse: {text}"))?;
        self.side.wire.end();
        tokio::select! {
            _ = &mut self.side.ends.written => {}
            // A host that does not read and wants the program gone.
            _ = self.side.signals.next() => {}
        }
        went?;
        match self.side.ending {
            Some(Ending::Bad(why)) => Err(unreadable(&why).into()),
            Some(Ending::Signal) => Ok(Outcome::Interrupted),
            Some(Ending::Gone) | None if self.side.failed => Ok(Outcome::Problems),
            Some(Ending::Gone) | None => Ok(Outcome::Fine),
        }
    }
}

/// Waits for something, but not longer than anybody wants it.
async fn unless(work: impl Future<Output = ()>, stop: &CancellationToken) {
    tokio::select! {
        () = work => {}
        () = stop.cancelled() => {}
    }
}

/// Waits for something, with the host at hand for everything else. Whoever says `stop` hears of it.
async fn attend<T>(
    work: impl Future<Output = T>,
    events: &mut UnboundedReceiver<Event>,
    side: &mut Side,
    reins: &Reins,
    stop: &CancellationToken,
) -> T {
    tokio::pin!(work);
    let mut ends = reins.tasks.count_ended();
    let done = loop {
        tokio::select! {
            biased;
            _ = side.signals.next() => {
                if side.ending.is_some() {
                    at_once();
                }
                side.end(Ending::Signal, Some(stop));
            }
            () = side.ends.broken.cancelled(), if side.ending.is_none() => side.end(Ending::Gone, Some(stop)),
            // What happened is shown before what is asked about it, and before its end.
            Some(event) = events.recv() => {
                side.show(&event);
                if event.from.is_none() && matches!(event.what, What::Fact(Fact::Answered { .. })) {
                    side.show_shells(reins);
                }
            }
            Some(ask) = side.asks.next() => side.ask(ask),
            input = side.ends.inbox.recv(), if !side.closed => side.take(input, reins, Some(stop)),
            () = reins.tasks.next_end(ends) => {
                ends = reins.tasks.count_ended();
                side.show_shells(reins);
            }
            Some(answer) = side.answers.1.recv() => side.tell(answer),
            done = &mut work => break done,
        }
    };
    while let Ok(event) = events.try_recv() {
        side.show(&event);
    }
    side.show_shells(reins);
    done
}
