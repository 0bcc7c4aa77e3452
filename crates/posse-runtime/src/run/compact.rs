//! Summarising a conversation that no longer fits.

use posse_core::event::{Delta, Fact, Outcome, Trigger, What};
use posse_core::hooks::occasion::{CompactTrigger, LoadReason, SessionSource};
use posse_core::hooks::{HookEvent, Merged, Occasion};
use posse_core::message::{Block, Message, Role, Usage};
use posse_core::prompt;
use posse_core::turn::Input;
use tokio_util::sync::CancellationToken;

use super::budget::Affordable;
use super::{Ended, Event, Run};
use crate::context;
use crate::model::retry::{self, NoReply};
use crate::session::SessionError;

/// Room that is kept free for the answer, in percent of the window.
const KEEP_FREE: u64 = 15;

/// What came of summarising.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// A summary stands for the conversation now.
    Done,
    /// Hooks will not have it, for this reason.
    Blocked(String),
    /// The model would not give a summary.
    Failed,
}

/// How many tokens of a window may be full before a conversation is summarised by itself.
pub fn compacts_above(window: u64) -> u64 {
    window / 100 * (100 - KEEP_FREE)
}

impl Run {
    /// Whether the next request may not fit.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.turn.history().len() > 2 && self.context_tokens > compacts_above(self.setup.window)
    }

    /// `/compact`: summarises now, with what the user adds.
    pub(super) async fn compact_by_hand(
        &mut self,
        extra: String,
        stop: &CancellationToken,
    ) -> Result<Ended, SessionError> {
        let watch = self.setup.world.clock.start();
        let text = if self.turn.history().is_empty() {
            "There is nothing to compact yet.".to_owned()
        } else {
            match self.compact(Trigger::Manual, (!extra.is_empty()).then_some(&*extra), stop).await? {
                Compaction::Done => "Conversation compacted.".to_owned(),
                Compaction::Blocked(why) => format!("The conversation stays as it is: {why}"),
                Compaction::Failed => {
                    "The conversation could not be compacted; it stays as it is.".to_owned()
                }
            }
        };
        Ok(Ended {
            outcome: Outcome::Answer { text, structured: None },
            usage: Usage::default(),
            stop: None,
            denials: Vec::new(),
            user_messages: 0,
            duration_ms: watch.elapsed_ms(),
        })
    }

    /// Replaces the conversation by a summary of it, if hooks and the model will.
    pub async fn compact(
        &mut self,
        trigger: Trigger,
        extra: Option<&str>,
        stop: &CancellationToken,
    ) -> Result<Compaction, SessionError> {
        if let Some(why) = self.objection_to_compacting(trigger, extra, stop).await {
            if trigger == Trigger::Auto {
                let note = format!("the conversation is nearly full and was not summarised: {why}");
                self.show(Event { what: What::Delta(Delta::Note(note)), ids: Vec::new(), from: None });
            }
            return Ok(Compaction::Blocked(why));
        }
        self.show(Event { what: What::Delta(Delta::Compacting), ids: Vec::new(), from: None });
        let mut messages = self.turn.history().to_vec();
        let ask = Block::Text(prompt::compaction(extra));
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.blocks.push(ask),
            Some(_) | None => messages.push(Message { role: Role::User, blocks: vec![ask] }),
        }
        let affordable = match self.afford_aside(self.request(messages)) {
            Ok(affordable) => affordable,
            Err(lacking) => {
                let note = format!("the conversation was not summarised: {lacking}");
                self.show(Event { what: What::Delta(Delta::Note(note)), ids: Vec::new(), from: None });
                return Ok(Compaction::Failed);
            }
        };
        let Affordable { request, model, paid: _ } = affordable;
        let world = self.setup.world.clone();
        let watch = world.clock.start();
        let (policy, fallback) = (self.setup.retry, self.setup.fallback.clone());
        let mut quietly = |_| {};
        let call = retry::call_with_retries(
            &*model,
            &request,
            &policy,
            fallback.as_deref(),
            &world,
            &mut quietly,
            stop,
        );
        let time = [self.patience, self.time_for_work()].into_iter().flatten().min();
        let reply = match time {
            Some(time) => tokio::time::timeout(time, call).await.unwrap_or(Err(NoReply::Cancelled)),
            None => call.await,
        };
        self.api_ms += watch.elapsed_ms();
        let Ok(reply) = reply else { return Ok(Compaction::Failed) };
        self.spend(&reply.model, &reply.usage);
        let summary = Message { role: Role::Assistant, blocks: reply.blocks }.text();
        if summary.trim().is_empty() {
            return Ok(Compaction::Failed);
        }
        let before = self.context_tokens;
        self.context_tokens = 0;
        self.inherited = 0;
        // The standing instructions stood at the beginning, which is gone.
        let opening = self.setup.opening.as_deref().map(|opening| Block::Text(opening.to_owned()));
        let blocks = opening.into_iter().chain([Block::Text(prompt::continued(&summary))]).collect();
        let conversation = vec![Message { role: Role::User, blocks }];
        self.turn.handle(Input::Compacted(conversation), &mut Vec::new());
        self.record(Fact::Compacted { trigger, before, summary: summary.clone() })?;
        self.compacted(trigger, summary, stop).await?;
        Ok(Compaction::Done)
    }

    /// Why hooks will not have the conversation summarised, if they will not.
    async fn objection_to_compacting(
        &self,
        trigger: Trigger,
        extra: Option<&str>,
        stop: &CancellationToken,
    ) -> Option<String> {
        let occasion =
            Occasion::PreCompact { trigger: word(trigger), custom_instructions: extra.map(str::to_owned) };
        let merged = self.fire(&occasion, stop).await?;
        if !merged.is_blocked() && merged.stop.is_none() {
            return None;
        }
        Some(merged.objection().or(merged.stop).unwrap_or_else(|| "a PreCompact hook refused it".into()))
    }

    /// Tells hooks of the summary: it is where the conversation begins now, with its instructions loaded anew.
    async fn compacted(
        &mut self,
        trigger: Trigger,
        summary: String,
        stop: &CancellationToken,
    ) -> Result<(), SessionError> {
        self.fire(&Occasion::PostCompact { trigger: word(trigger), compact_summary: summary }, stop).await;
        let begins = Occasion::SessionStart {
            source: SessionSource::Compact,
            model: Some(self.setup.model_id.to_string()),
            session_title: None,
        };
        if let Some(merged) = self.fire(&begins, stop).await {
            self.aside(&merged.context)?;
        }
        if self.setup.guard.hooks.hears(HookEvent::InstructionsLoaded) {
            for file in &self.instructions {
                self.fire(&context::loaded(file, LoadReason::Compact), stop).await;
            }
        }
        Ok(())
    }

    /// Tells hooks of something and the user what they say; nothing if nobody cares.
    pub(super) async fn fire(&self, occasion: &Occasion, stop: &CancellationToken) -> Option<Merged> {
        let hooks = &self.setup.guard.hooks;
        if !hooks.hears(occasion.event()) {
            return None;
        }
        let cwd = self.cx.cwd.get();
        let merged = tokio::select! {
            merged = hooks.fire(occasion, &cwd) => merged,
            () = stop.cancelled() => Merged::default(),
        };
        self.show_notes(&merged);
        Some(merged)
    }
}

/// A trigger as hooks know it.
fn word(trigger: Trigger) -> CompactTrigger {
    match trigger {
        Trigger::Manual => CompactTrigger::Manual,
        Trigger::Auto => CompactTrigger::Auto,
    }
}
