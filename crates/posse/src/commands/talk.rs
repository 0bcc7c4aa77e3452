//! `posse` at a terminal: a conversation, line by line. Needs nothing of the terminal but that lines can be typed and
//! shown, so that it works where nothing else does.

mod command;
mod console;
mod dialog;
mod lines;

use std::sync::Arc;

use posse_core::event::Outcome as TurnOutcome;
use posse_core::hooks::occasion::EndReason;
use posse_core::message::Message;
use posse_core::permission::Mode;
use posse_runtime::ask::{Asks, Desk};
use posse_runtime::launch::{LaunchRequest, Launched, SessionChoice, launch, news};
use posse_runtime::run::{Ended, Run};
use posse_runtime::session::SessionError;
use posse_runtime::tool::TaskKind;
use posse_runtime::tool::skills::Typed;
use posse_runtime::trust;
use posse_runtime::world::World;
use tokio_util::sync::CancellationToken;

use self::command::Command;
use self::console::Console;
use self::lines::Lines;
use super::run::{failure_of, launch_failure, log, request, runtime, say_first};
use super::signals::{Signal, Signals, at_once};
use crate::args::{OutputFormat, PermissionPrompts, RunArgs};
use crate::render::debug::Debug;
use crate::render::style::plain;
use crate::render::transcript::Transcript;
use crate::report::{self, CommandResult, Error, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: RunArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    refuse_unfit(&args)?;
    let (first, debug) = (args.prompt.clone(), args.debug);
    let may_ask = args.authority.permission_prompts == PermissionPrompts::Host;
    let request = request(args, world)?;
    let world = Arc::new(world.clone());
    runtime()?.block_on(async {
        let mut console = Console { terminal, lines: Lines::of_terminal() };
        ask_for_trust(&mut console, &world, &request).await?;
        let (desk, asks) = if may_ask { Desk::open() } else { (Desk::default(), Desk::open().1) };
        let request = LaunchRequest { desk, ..request };
        let mut talk = Talk::begin(console, world, request, asks, debug).await?;
        talk.greet()?;
        let talked = talk.go_on(first).await;
        let left = talk.launched.end(EndReason::PromptInputExit).await;
        left.iter().try_for_each(|text| talk.console.say(&format!("{}\n", plain(text))))?;
        talked.map(|()| Outcome::Fine)
    })
}

/// Asks whether the folder's own files may have a say in what runs here, if they want one and nobody was asked yet.
async fn ask_for_trust(
    console: &mut Console<'_>,
    world: &World,
    request: &LaunchRequest,
) -> Result<(), Error> {
    let catalog = super::load(world, &request.catalog)?;
    let wishes = super::trust::wishes(&catalog, world, &request.catalog);
    if wishes.is_empty() {
        return Ok(());
    }
    let folder = &catalog.trust.folder;
    if dialog::confirm_trust(console, folder, &wishes).await? {
        trust::set(catalog.trust.by.as_deref(), folder, true)
            .map_err(|error| Failure::new(error.to_string()).hint("nothing was changed"))?;
    }
    Ok(())
}

/// Refuses flags that say how one answer is printed.
fn refuse_unfit(args: &RunArgs) -> Result<(), Failure> {
    let unfit = [
        ("--output-format", args.output_format != OutputFormat::Text),
        ("--json-schema", args.json_schema.is_some()),
        ("--include-partial-messages", args.include_partial_messages),
    ];
    match unfit.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::new(format!("{flag} is for one answer, not for a conversation"))
            .hint("add -p")
            .usage()),
        None => Ok(()),
    }
}

/// A conversation with a person.
struct Talk<'t> {
    console: Console<'t>,
    signals: Signals,
    world: Arc<World>,
    /// What a new conversation would begin with.
    request: LaunchRequest,
    launched: Launched,
    asks: Asks,
    drawn: Transcript,
    debug: Option<Debug>,
    /// Whether what is said next is what agents and hooks had to say, and not the person.
    is_news: bool,
}

/// Whether the conversation goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoesOn,
    Ends,
}

impl<'t> Talk<'t> {
    async fn begin(
        console: Console<'t>,
        world: Arc<World>,
        request: LaunchRequest,
        asks: Asks,
        debug: bool,
    ) -> Result<Self, Error> {
        let launched = start(&world, &request).await?;
        let drawn = Transcript::new(console.style(), console.terminal.width);
        let debug = debug.then(|| Debug::start(&launched.cx.world));
        Ok(Self {
            console,
            signals: Signals::listen_at_terminal(),
            world,
            request,
            launched,
            asks,
            drawn,
            debug,
            is_news: false,
        })
    }

    fn greet(&mut self) -> Result<(), Error> {
        let style = self.console.style();
        let facts = &self.launched.facts;
        let about = format!("{} in {}", facts.model, facts.cwd.display());
        let before = match self.launched.run.history().len() {
            0 => String::new(),
            count => format!("; goes on after {count} messages"),
        };
        let text = format!(
            "{} {}\n{}\n",
            style.bold("posse"),
            style.dim(&plain(&format!("{about}{before}"))),
            style.dim("/help shows what can be typed; Ctrl-D ends")
        );
        say_first(&self.launched, self.console.terminal)?;
        Ok(self.console.say(&text)?)
    }

    /// Turn after turn, until the person ends it.
    async fn go_on(&mut self, first: Option<String>) -> Result<(), Error> {
        // An agent that has a first prompt of its own begins by itself.
        let mut next = match (first, &self.launched.facts.initial_prompt) {
            (Some(first), _) => Some(Command::parse(&first)),
            (None, Some(_)) if self.launched.run.history().is_empty() => Some(Command::Say(String::new())),
            (None, _) => None,
        };
        loop {
            let command = match next.take() {
                Some(command) => command,
                None => match self.typed().await? {
                    Some(text) => Command::parse(&text),
                    None => return Ok(()),
                },
            };
            if self.obey(command).await? == Flow::Ends {
                return Ok(());
            }
        }
    }

    async fn obey(&mut self, command: Command) -> Result<Flow, Error> {
        match command {
            Command::Nothing => {}
            Command::Say(text) => {
                let message = match std::mem::take(&mut self.is_news) {
                    true => Message::user(text),
                    false => {
                        self.launched.run.may_mention(text.as_str());
                        self.launched.first_message(Message::user(text))
                    }
                };
                return Ok(self.turn(message).await?.1);
            }
            Command::Compact(text) => {
                let (ended, flow) = self.turn(Message::user(text)).await?;
                if let TurnOutcome::Answer { text, .. } = &ended.outcome {
                    self.console.say(&format!("{text}\n"))?;
                }
                return Ok(flow);
            }
            Command::Help => {
                let text = command::help(&self.launched.facts.slash_commands);
                self.console.say(&text)?;
            }
            Command::Other { text, hint } => return self.skill(&text, &hint).await,
            Command::Cost => {
                let text = cost(&self.launched.run);
                self.console.say(&text)?;
            }
            Command::Mode(mode) => self.mode(mode)?,
            Command::Model(name) => self.model(name).await?,
            Command::Clear => self.clear().await?,
            Command::Unknown(text) => self.console.say(&format!("{text}\n"))?,
            Command::Exit => return Ok(Flow::Ends),
        }
        Ok(Flow::GoesOn)
    }

    /// A skill that somebody typed, if it is one.
    async fn skill(&mut self, text: &str, hint: &str) -> Result<Flow, Error> {
        match self.launched.run.typed(text) {
            Typed::Command(_) => {
                self.launched.run.may_mention(text);
                let (ended, flow) = self.turn(Message::user(text)).await?;
                if let TurnOutcome::Blocked(why) = &ended.outcome {
                    self.console.say(&format!("{}\n", plain(why)))?;
                }
                return Ok(flow);
            }
            Typed::Refused(why) => self.console.say(&format!("{}\n", plain(&why)))?,
            // What comes close to a skill is worth more than the usual hint.
            Typed::Unknown(note) if note.contains("did you mean") => {
                self.console.say(&format!("{}\n", plain(&note)))?;
            }
            Typed::Unknown(_) | Typed::Text => self.console.say(&format!("{hint}\n"))?,
        }
        Ok(Flow::GoesOn)
    }

    fn mode(&mut self, wanted: Option<Mode>) -> Result<(), Error> {
        if let Some(mode) = wanted
            && let Err(why) = self.launched.set_mode(mode)
        {
            self.console.say(&format!("{why}\n"))?;
        }
        let text = format!("The mode is {}.\n", self.launched.mode.current().name());
        Ok(self.console.say(&text)?)
    }

    /// Goes on with another model, if hooks have nothing against it.
    async fn model(&mut self, wanted: Option<String>) -> Result<(), Error> {
        if let Some(name) = wanted {
            match self.launched.next_model(&name).await {
                Err(why) => self.console.say(&format!("{}\n", plain(&why)))?,
                Ok(next) => {
                    if self.is_wanted(next.question.as_deref()).await? {
                        for note in self.launched.switch_model(next).await {
                            self.console.say(&format!("{}\n", plain(&note)))?;
                        }
                        self.request.model = Some(self.launched.model_name().to_owned());
                    }
                }
            }
        }
        let text = format!("The model is {}.\n", plain(&self.launched.facts.model));
        Ok(self.console.say(&text)?)
    }

    /// Asks what a hook wants to have asked.
    async fn is_wanted(&mut self, question: Option<&str>) -> Result<bool, Error> {
        let Some(question) = question else { return Ok(true) };
        self.console.lines.forget_typed();
        let prompt = format!("{} Switch? [y/N] ", plain(question));
        let line = self.console.read(&prompt).await?.unwrap_or_default();
        Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// A new conversation with everything else as it is. A recording belongs to the one that was begun with it.
    async fn clear(&mut self) -> Result<(), Error> {
        let left = self.launched.end(EndReason::Clear).await;
        left.iter().try_for_each(|text| self.console.say(&format!("{}\n", plain(text))))?;
        self.request.session = SessionChoice::New;
        self.request.after_clear = true;
        self.request.record = None;
        self.request.permission_mode = Some(self.launched.mode.current());
        self.launched = start(&self.world, &self.request).await?;
        Ok(self.console.say("A new conversation begins.\n")?)
    }

    /// What the person types next; `None` when they end it.
    async fn typed(&mut self) -> Result<Option<String>, Error> {
        let mut text = String::new();
        let mut warned = false;
        let never = CancellationToken::new();
        self.is_news = false;
        self.console.say("\n")?;
        loop {
            let prompt = if text.is_empty() { "> " } else { ". " };
            let prompt = self.console.style().hint(prompt);
            let is_awaited = text.is_empty() && self.launched.cx.tasks.is_awaited(TaskKind::Agent);
            tokio::select! {
                line = self.console.read(&prompt) => {
                    let Some(line) = line? else { return Ok(None) };
                    warned = false;
                    match line.strip_suffix('\\') {
                        Some(part) => text.push_str(&format!("{part}\n")),
                        None => return Ok(Some(text + &line)),
                    }
                }
                // A hook in the background has found something out that cannot wait.
                news = self.launched.woken(), if text.is_empty() => {
                    self.console.say("\n")?;
                    self.is_news = true;
                    return Ok(Some(news));
                }
                // So have agents in the background, when they end or have to ask.
                news = news(&self.launched.run, &self.launched.cx, &never), if is_awaited => {
                    let Some(news) = news else { continue };
                    self.console.say("\n")?;
                    self.show_events()?;
                    self.is_news = true;
                    return Ok(Some(news));
                }
                Some(ask) = self.asks.next() => {
                    self.console.say("\n")?;
                    self.show_events()?;
                    dialog::serve(&mut self.console, ask, &self.launched.cx).await?;
                }
                signal = self.signals.next() => {
                    if signal == Signal::Background {
                        continue;
                    }
                    if signal == Signal::End || std::mem::replace(&mut warned, true) {
                        self.console.say("\n")?;
                        return Ok(None);
                    }
                    text.clear();
                    self.console.say("\n(Ctrl-C once more ends; so does Ctrl-D)\n")?;
                }
            }
        }
    }

    /// Shows what has happened meanwhile.
    fn show_events(&mut self) -> Result<(), Error> {
        while let Ok(event) = self.launched.events.try_recv() {
            log(&self.debug, &event, self.console.terminal)?;
            let text = self.drawn.event(&event);
            self.console.say(&text)?;
        }
        Ok(())
    }

    /// Says something to the agent and shows what comes of it, with the person at hand for questions.
    async fn turn(&mut self, message: Message) -> Result<(Ended, Flow), Error> {
        let Self { console, signals, launched, asks, drawn, debug, .. } = self;
        let background = launched.background();
        let Launched { run, events, cx, .. } = launched;
        let stop = CancellationToken::new();
        let mut flow = Flow::GoesOn;
        let turn = run.prompt(message, stop.clone());
        tokio::pin!(turn);
        let ended: Result<Ended, SessionError> = loop {
            tokio::select! {
                biased;
                signal = signals.next() => match signal {
                    Signal::Background if background.send(None) == 0 => {
                        console.say("\n(no agent is waited for that could go to the background)\n")?;
                    }
                    Signal::Background => {}
                    Signal::Interrupt | Signal::End => interrupted(signal, &stop, &mut flow),
                },
                // What happened is shown before what is asked about it, and before its end.
                Some(event) = events.recv() => {
                    log(debug, &event, console.terminal)?;
                    console.say(&drawn.event(&event))?;
                }
                Some(ask) = asks.next() => {
                    // Work goes on behind a question; what it has to show waits until the question is answered.
                    tokio::select! {
                        biased;
                        signal = signals.next() => {
                            // The cursor still stands behind the question.
                            console.say("\n")?;
                            interrupted(signal, &stop, &mut flow);
                        }
                        ended = &mut turn => break ended,
                        served = dialog::serve(console, ask, cx) => served?,
                    }
                }
                ended = &mut turn => break ended,
            }
        };
        while let Ok(event) = events.try_recv() {
            log(debug, &event, console.terminal)?;
            console.say(&drawn.event(&event))?;
        }
        let ended = ended.map_err(|error| Failure::new(error.to_string()))?;
        if let Some(failure) = failure_of(&ended.outcome) {
            let text = report::text(&failure, console.style());
            console.say(&text)?;
        }
        Ok((ended, flow))
    }
}

async fn start(world: &Arc<World>, request: &LaunchRequest) -> Result<Launched, Error> {
    launch(world, request.clone()).await.map_err(|error| Error::Failure(launch_failure(&error)))
}

/// The first signal ends the turn, the second the program. Where nobody is left the conversation ends with the turn.
fn interrupted(signal: Signal, stop: &CancellationToken, flow: &mut Flow) {
    if stop.is_cancelled() {
        at_once();
    }
    stop.cancel();
    match signal {
        Signal::Interrupt | Signal::Background => {}
        Signal::End => *flow = Flow::Ends,
    }
}

/// What was used so far.
fn cost(run: &Run) -> String {
    let mut text = String::new();
    for (model, spent) in run.spent() {
        let usage = &spent.usage;
        text.push_str(&format!(
            "{model}: {} tokens read, {} written, ${:.4}\n",
            usage.context(),
            usage.output,
            spent.cost
        ));
    }
    #[allow(clippy::cast_precision_loss)] // Nobody waits for 2^52 milliseconds.
    let seconds = run.api_ms() as f64 / 1_000.0;
    text.push_str(&format!("together ${:.4}; {seconds:.1} s of waiting for the model\n", run.cost()));
    text
}
