//! The edges of a turn: what hooks and reminders add to a prompt, whether an answer is the end.

use posse_core::event::{Delta, Outcome, What};
use posse_core::hooks::occasion::Stopping;
use posse_core::hooks::{HookEvent, Merged, Occasion};
use posse_core::message::{Block, Message, Usage};
use posse_core::permission::Mode;
use posse_core::prompt;
use posse_core::turn::{Effect, Input};
use tokio_util::sync::CancellationToken;

use super::driver::{Done, Flight};
use super::{Ended, Event, Run, calls};
use crate::session::{SessionError, attached};

/// How often hooks may send an answer back in a row, unless `CLAUDE_CODE_STOP_HOOK_BLOCK_CAP` says otherwise.
const MOST_SENT_BACK: u64 = 8;

impl Run {
    /// A prompt with everything that goes before it, and why hooks will not have it, if they will not.
    pub(super) async fn open_turn(
        &mut self,
        mut message: Message,
        stop: &CancellationToken,
    ) -> (Message, Option<String>) {
        let hooks = self.setup.guard.hooks.clone();
        hooks.begin_prompt(&self.setup.world.ids.uuid());
        self.cx.terms.begin_turn();
        let mut context = std::mem::take(&mut self.setup.greeting);
        // What one agent writes to another is no prompt of the user.
        if self.setup.agent.is_none() && hooks.hears(HookEvent::UserPromptSubmit) {
            let occasion =
                Occasion::UserPromptSubmit { prompt: message.text(), source: None, session_title: None };
            if let Err(why) = self.consent(&occasion, "the prompt", &mut context, stop).await {
                return (message, Some(why));
            }
        }
        let mentions = self.mentions.take();
        let typed = mentions.is_some().then(|| message.clone());
        if let Err(why) = self.expand(&mut message, &mut context, stop).await {
            return (message, Some(why));
        }
        let mut files = Vec::new();
        if let Some(text) = mentions {
            context.extend(self.pages(&message, stop).await);
            // A skill fetches the files that it is called with by itself.
            if typed.as_ref() == Some(&message) {
                files = self.files(&text, stop).await;
            }
        }
        context.extend(self.skill_news(true));
        if let Some(reminder) = self.about_planning() {
            // Answers to calls come first, whatever else is said.
            let answers =
                message.blocks.iter().take_while(|block| matches!(block, Block::ToolResult(_))).count();
            message.blocks.insert(answers, Block::Text(reminder));
        }
        self.planning = self.is_planning();
        if self.turn.history().is_empty()
            && let Some(opening) = self.setup.opening.clone()
        {
            message.blocks.insert(0, Block::Text(opening.to_string()));
        }
        message.blocks.extend(context.iter().map(|text| Block::Text(super::reminder(text))));
        message.blocks.extend(files.iter().flat_map(attached::blocks));
        self.transcript.attach_next(files);
        (message, None)
    }

    /// What stands for a turn that never began.
    pub(super) fn blocked(&mut self, why: String, duration_ms: u64) -> Result<Ended, SessionError> {
        Ok(Ended {
            outcome: Outcome::Blocked(why),
            usage: Usage::default(),
            stop: None,
            denials: Vec::new(),
            user_messages: 0,
            duration_ms,
        })
    }

    fn is_planning(&self) -> bool {
        self.setup.guard.mode.current() == Mode::Plan
    }

    /// What a prompt says of plan mode: that it is on, or that somebody has ended it since the last prompt.
    fn about_planning(&self) -> Option<String> {
        match (self.planning, self.is_planning()) {
            (_, true) => {
                let can_present = self.setup.tools.get("ExitPlanMode").is_some();
                Some(prompt::plan_mode(can_present, self.dials.planning().as_deref()))
            }
            (true, false) => Some(prompt::PLAN_MODE_OVER.to_owned()),
            (false, false) => None,
        }
    }

    /// Shows hooks the answers since the last request; says whether there is something to wait for.
    pub(super) fn show_batch(&self, flight: &mut Flight, stop: &CancellationToken) -> bool {
        let hooks = self.setup.guard.hooks.clone();
        if flight.batch.is_empty() || !hooks.hears(HookEvent::PostToolBatch) {
            return false;
        }
        let mut calls = std::mem::take(&mut flight.batch);
        let answers = self.turn.history().last().into_iter().flat_map(|message| message.blocks.iter());
        for answer in answers {
            if let Block::ToolResult(answer) = answer
                && let Some(slot) = calls.iter_mut().find(|(tool, _)| *tool.id == *answer.id)
            {
                slot.1 = calls::response(answer);
            }
        }
        let (cwd, stop) = (self.cx.cwd.get(), stop.clone());
        flight.start(Done::Batch(Box::default()), async move {
            let occasion = Occasion::PostToolBatch { calls };
            let merged = tokio::select! {
                merged = hooks.fire(&occasion, &cwd) => merged,
                () = stop.cancelled() => Merged::default(),
            };
            Done::Batch(Box::new(merged))
        });
        true
    }

    /// What hooks said of a batch: the model is told, or the turn ends.
    pub(super) fn batch_shown(
        &mut self,
        merged: Merged,
        flight: &mut Flight,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        self.show_notes(&merged);
        if merged.is_blocked() || merged.stop.is_some() {
            let why = merged.objection().or(merged.stop).unwrap_or_else(|| "a hook ended the turn".into());
            flight.inputs.push_back(Input::Stop(Outcome::Stopped(why)));
            return Ok(());
        }
        self.aside(&merged.context)?;
        self.ask_model(flight, stop)
    }

    /// Tells the model something with the request that is about to be made; without one, with the next.
    pub(super) fn aside(&mut self, texts: &[String]) -> Result<(), SessionError> {
        for text in texts {
            let mut effects = Vec::new();
            self.turn.handle(Input::Aside(super::reminder(text)), &mut effects);
            for effect in effects {
                if let Effect::Record(fact) = effect {
                    self.record(fact)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a request, with whatever hooks in the background have had to say meanwhile.
    pub(super) fn ask_model(
        &mut self,
        flight: &mut Flight,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        self.take_dials();
        let mail = self.setup.guard.hooks.mail().take();
        self.aside(&mail.into_iter().map(|mail| mail.text).collect::<Vec<_>>())?;
        self.call_model(flight, stop)
    }

    /// Asks hooks whether an answer is the end.
    pub(super) fn may_end(&self, text: String, flight: &mut Flight, stop: &CancellationToken) {
        // Whoever wrote while the answer was given is heard before it counts.
        let mail = self.mail();
        if !mail.is_empty() {
            flight.inputs.push_back(Input::GoesOn(mail.join("\n\n")));
            return;
        }
        let hooks = self.setup.guard.hooks.clone();
        let Some(occasion) = hooks.stopping(Stopping {
            stop_hook_active: flight.sent_back > 0,
            last_assistant_message: (!text.is_empty()).then_some(text),
            background_tasks: Vec::new(),
            session_crons: Vec::new(),
        }) else {
            self.end_unless_woken(flight);
            return;
        };
        let (cwd, stop) = (self.cx.cwd.get(), stop.clone());
        flight.start(Done::MayEnd(Box::default()), async move {
            let merged = tokio::select! {
                merged = hooks.fire(&occasion, &cwd) => merged,
                () = stop.cancelled() => Merged::default(),
            };
            Done::MayEnd(Box::new(merged))
        });
    }

    /// An answer that hooks send back is not the end, but they may not do that for ever.
    pub(super) fn end_judged(&self, merged: Merged, flight: &mut Flight) {
        self.show_notes(&merged);
        let cap = self.most_sent_back();
        match merged.goes_on_with() {
            Some(why) if u64::from(flight.sent_back) < cap => {
                flight.sent_back += 1;
                flight.inputs.push_back(Input::GoesOn(why));
            }
            Some(_) => {
                let note = format!("hooks sent the answer back {cap} times in a row; it counts now");
                self.show(Event { what: What::Delta(Delta::Note(note)), ids: Vec::new(), from: None });
                flight.inputs.push_back(Input::Ends);
            }
            None => self.end_unless_woken(flight),
        }
    }

    /// What a hook in the background has found out meanwhile may be worth another request (`asyncRewake`).
    fn end_unless_woken(&self, flight: &mut Flight) {
        let cap = self.most_sent_back();
        let mailbox = self.setup.guard.hooks.mail();
        if u64::from(flight.sent_back) >= cap || !mailbox.wakes() {
            flight.inputs.push_back(Input::Ends);
            return;
        }
        flight.sent_back += 1;
        let texts: Vec<String> = mailbox.take().into_iter().map(|mail| super::reminder(&mail.text)).collect();
        flight.inputs.push_back(Input::GoesOn(texts.join("\n")));
    }

    fn most_sent_back(&self) -> u64 {
        self.setup.world.env.number("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP").unwrap_or(MOST_SENT_BACK)
    }

    /// Tells hooks of a turn that failed.
    pub(super) async fn close_turn(&mut self, ended: Option<&Outcome>) {
        // Hooks that ask models may have done so since the last tool.
        self.pay();
        let hooks = &self.setup.guard.hooks;
        if let Some(Outcome::Failed(failure)) = ended
            && hooks.hears(HookEvent::StopFailure)
        {
            let occasion = Occasion::StopFailure {
                error: failure.kind.word().to_owned(),
                error_details: Some(failure.message.clone()),
                last_assistant_message: None,
            };
            let merged = hooks.fire(&occasion, &self.cx.cwd.get()).await;
            self.show_notes(&merged);
        }
    }

    pub(super) fn show_notes(&self, merged: &Merged) {
        for note in merged.system_messages.iter().chain(&merged.errors) {
            self.show(Event { what: What::Delta(Delta::Note(note.clone())), ids: Vec::new(), from: None });
        }
    }
}
