//! Summarising a conversation that no longer fits.

use posse_core::event::{Delta, Fact, Outcome, Trigger, What};
use posse_core::message::{Block, Message, Role, Usage};
use posse_core::prompt;
use posse_core::turn::Input;
use tokio_util::sync::CancellationToken;

use super::{Ended, Event, Run};
use crate::model::retry;
use crate::session::SessionError;

/// Room that is kept free for the answer, in percent of the window.
const KEEP_FREE: u64 = 15;

impl Run {
    /// Whether the next request may not fit.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.turn.history().len() > 2 && self.context_tokens > self.setup.window / 100 * (100 - KEEP_FREE)
    }

    /// `/compact`: summarises now, with what the user adds.
    pub(super) async fn compact_by_hand(
        &mut self,
        extra: String,
        stop: &CancellationToken,
    ) -> Result<Ended, SessionError> {
        let watch = self.setup.world.clock.start();
        let text = if self.turn.history().is_empty() {
            "There is nothing to compact yet."
        } else if self.compact(Trigger::Manual, (!extra.is_empty()).then_some(&*extra), stop).await? {
            "Conversation compacted."
        } else {
            "The conversation could not be compacted; it stays as it is."
        };
        Ok(Ended {
            outcome: Outcome::Answer { text: text.to_owned(), structured: None },
            usage: Usage::default(),
            stop: None,
            denials: Vec::new(),
            user_messages: 0,
            duration_ms: watch.elapsed_ms(),
        })
    }

    /// Replaces the conversation by a summary of it; `false` if the model would not give one.
    pub async fn compact(
        &mut self,
        trigger: Trigger,
        extra: Option<&str>,
        stop: &CancellationToken,
    ) -> Result<bool, SessionError> {
        self.show(Event { what: What::Delta(Delta::Compacting), ids: Vec::new() });
        let mut messages = self.turn.history().to_vec();
        let ask = Block::Text(prompt::compaction(extra));
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.blocks.push(ask),
            Some(_) | None => messages.push(Message { role: Role::User, blocks: vec![ask] }),
        }
        let request = self.request(messages);
        let world = self.setup.world.clone();
        let model = self.setup.model.clone();
        let watch = world.clock.start();
        let (policy, fallback) = (self.setup.retry, self.setup.fallback.clone());
        let mut quietly = |_| {};
        let reply = retry::call_with_retries(
            &*model,
            &request,
            &policy,
            fallback.as_deref(),
            &world,
            &mut quietly,
            stop,
        )
        .await;
        self.api_ms += watch.elapsed_ms();
        let Ok(reply) = reply else { return Ok(false) };
        self.spend(&reply.model, &reply.usage);
        let summary = Message { role: Role::Assistant, blocks: reply.blocks }.text();
        if summary.trim().is_empty() {
            return Ok(false);
        }
        let before = self.context_tokens;
        self.context_tokens = 0;
        self.turn.handle(Input::Compacted(vec![Message::user(prompt::continued(&summary))]), &mut Vec::new());
        self.record(Fact::Compacted { trigger, before, summary })?;
        Ok(true)
    }
}
