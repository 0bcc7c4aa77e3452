//! `-p` for programs: a run as JSON, whole at its end or line by line.

use posse_core::event::Outcome as TurnOutcome;
use posse_core::message::Message;
use posse_runtime::launch::{Launched, converse, news};
use posse_runtime::run::{Ended, Event};
use posse_runtime::session::SessionError;
use posse_runtime::tool::TaskKind;
use tokio_util::sync::CancellationToken;

use super::super::signals::interruptible;
use super::{Show, drive, end, log, say_last};
use crate::render::debug::Debug;
use crate::render::stream::{Stream, TurnEnd};
use crate::report::{CommandResult, Error, Outcome};
use crate::terminal::Terminal;

pub(super) async fn run(
    launched: Launched,
    prompt: String,
    stream: bool,
    show: Show,
    terminal: &mut Terminal,
) -> CommandResult {
    let message = launched.first_message(Message::user(prompt));
    let world = launched.cx.world.clone();
    let lines = Stream::new(launched.facts.clone(), world, show.partial, show.hooks);
    let debug = show.debug.then(|| Debug::start(&launched.cx.world));
    let mut told = Told { launched, lines, debug, stream, terminal };
    told.open()?;
    let ended = if stream { told.turn_by_turn(message).await? } else { told.at_once(message).await? };
    Ok(match ended.outcome {
        TurnOutcome::Answer { .. }
        | TurnOutcome::Blocked(_)
        | TurnOutcome::Stopped(_)
        | TurnOutcome::Deferred(_) => Outcome::Fine,
        TurnOutcome::Cancelled { .. } => Outcome::Interrupted,
        TurnOutcome::OutOfTurns(_)
        | TurnOutcome::OutOfTries(_)
        | TurnOutcome::OutOfBudget(_)
        | TurnOutcome::Exhausted { .. }
        | TurnOutcome::Stalled(_)
        | TurnOutcome::Failed(_) => Outcome::Problems,
    })
}

/// A run that is told of while it goes on.
struct Told<'t> {
    launched: Launched,
    lines: Stream,
    debug: Option<Debug>,
    stream: bool,
    terminal: &'t mut Terminal,
}

impl Told<'_> {
    fn open(&mut self) -> Result<(), Error> {
        if self.stream {
            // What the hooks of the start did comes before everything else.
            while let Ok(event) = self.launched.events.try_recv() {
                print(&mut self.lines, &event, self.terminal)?;
            }
            writeln!(self.terminal.out, "{}", self.lines.init())?;
            for note in &self.launched.notes {
                writeln!(self.terminal.out, "{}", self.lines.note(note))?;
            }
            self.terminal.out.flush()?;
        }
        for note in &self.launched.notes {
            writeln!(self.terminal.err, "posse: {note}")?;
        }
        Ok(())
    }

    /// One result at the end of everything.
    async fn at_once(&mut self, message: Message) -> Result<Ended, Error> {
        let stop = CancellationToken::new();
        let Launched { run, events, cx, .. } = &mut self.launched;
        let _listening = interruptible(&stop);
        let turn = converse(run, cx, message, stop.clone());
        let ended = drive(turn, events, |event| {
            self.lines.event(event);
            log(&self.debug, event, self.terminal)
        })
        .await?;
        self.close().await?;
        self.result(&ended, false)?;
        Ok(ended)
    }

    /// A result for each turn: what agents in the background have to say after an answer begins another.
    async fn turn_by_turn(&mut self, message: Message) -> Result<Ended, Error> {
        let stop = CancellationToken::new();
        let _listening = interruptible(&stop);
        let mut next = Some(message);
        let mut by_itself = false;
        loop {
            let Some(message) = next.take() else { return self.interrupted().await };
            let ended = self.prompt(message, by_itself, &stop).await?;
            let goes_on = matches!(ended.outcome, TurnOutcome::Answer { .. })
                && self.launched.cx.tasks.is_awaited(TaskKind::Agent);
            if !goes_on {
                self.close().await?;
                self.result(&ended, by_itself)?;
                return Ok(ended);
            }
            self.result(&ended, by_itself)?;
            by_itself = true;
            next = self.news(&stop).await?;
            if next.is_none() && !stop.is_cancelled() {
                self.close().await?;
                return Ok(ended);
            }
            if next.is_some() {
                writeln!(self.terminal.out, "{}", self.lines.init())?;
            }
        }
    }

    async fn prompt(
        &mut self,
        message: Message,
        by_itself: bool,
        stop: &CancellationToken,
    ) -> Result<Ended, Error> {
        let Launched { run, events, .. } = &mut self.launched;
        let turn = async {
            if by_itself {
                run.hear(message, stop.clone()).await
            } else {
                run.prompt(message, stop.clone()).await
            }
        };
        drive(turn, events, |event| {
            print(&mut self.lines, event, self.terminal)?;
            log(&self.debug, event, self.terminal)
        })
        .await
    }

    /// Waits for agents in the background: what the model is to be told of them.
    async fn news(&mut self, stop: &CancellationToken) -> Result<Option<Message>, Error> {
        let Launched { run, events, cx, .. } = &mut self.launched;
        let waiting = async { Ok::<_, SessionError>(news(run, cx, stop).await) };
        let told = drive(waiting, events, |event| {
            print(&mut self.lines, event, self.terminal)?;
            log(&self.debug, event, self.terminal)
        });
        Ok(told.await?.map(Message::user))
    }

    /// Somebody ended the waiting for agents in the background.
    async fn interrupted(&mut self) -> Result<Ended, Error> {
        self.close().await?;
        let ended = Ended {
            outcome: TurnOutcome::Cancelled { in_tools: true },
            usage: posse_core::message::Usage::default(),
            stop: None,
            denials: Vec::new(),
            user_messages: 0,
            duration_ms: 0,
        };
        self.result(&ended, true)?;
        Ok(ended)
    }

    /// Ends the session. Agents that are stopped by that say so.
    async fn close(&mut self) -> Result<(), Error> {
        say_last(&self.launched, self.terminal)?;
        end(&mut self.launched, self.terminal).await?;
        while let Ok(event) = self.launched.events.try_recv() {
            if self.stream {
                print(&mut self.lines, &event, self.terminal)?;
            } else {
                self.lines.event(&event);
            }
        }
        Ok(())
    }

    fn result(&mut self, ended: &Ended, by_itself: bool) -> Result<(), Error> {
        for line in self.lines.synthetic(ended).into_iter().filter(|_| self.stream) {
            writeln!(self.terminal.out, "{line}")?;
        }
        let run = &self.launched.run;
        let end = TurnEnd { ended, spent: run.spent(), api_ms: run.api_ms(), by_itself };
        writeln!(self.terminal.out, "{}", self.lines.result(&end))?;
        Ok(self.terminal.out.flush()?)
    }
}

fn print(lines: &mut Stream, event: &Event, terminal: &mut Terminal) -> Result<(), Error> {
    for line in lines.event(event) {
        writeln!(terminal.out, "{line}")?;
    }
    Ok(terminal.out.flush()?)
}
