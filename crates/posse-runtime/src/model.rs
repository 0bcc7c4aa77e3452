//! Models: what a request is, and whoever can answer one.
//!
//! Knows providers and their protocols. Refuses to know what a turn is: one call is one request, and trying again is
//! the caller's decision.

pub mod anthropic;
mod http;
pub mod openai;
mod paid;
pub mod rehearsal;
pub mod retry;
mod secret;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use posse_core::budget::{HIDDEN_TOKENS, tokens_at_most};
use posse_core::definition::Effort;
use posse_core::event::Delta;
use posse_core::failure::Failure;
use posse_core::message::{Message, Reply};

use crate::tool::ToolSpec;

pub use paid::{Paid, is_believable};
pub use secret::Secret;

/// One request to a model.
#[derive(Clone, Debug)]
pub struct Request {
    /// Id of the model, as the endpoint knows it.
    pub model: Box<str>,
    /// The system prompt, in parts; those that change least come first.
    pub system: Arc<[SystemPart]>,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Whether none of them may be called. They stay on offer, or what the provider has in its cache would be lost.
    pub tools_off: bool,
    /// Tools the provider runs itself, as it describes them; other providers leave them out.
    pub server_tools: Arc<[serde_json::Value]>,
    /// What was said.
    pub messages: Vec<Message>,
    /// Limit on the answer.
    pub max_tokens: u32,
    /// How much to think.
    pub thinking: Thinking,
    /// How hard to try.
    pub effort: Option<Effort>,
    /// Names the run to the provider, for its own accounts.
    pub session: Box<str>,
    /// Whether to pass on every event of the provider as [`Delta::Raw`].
    pub raw_events: bool,
    /// Which agent asks, if it is not the main one.
    pub agent: Option<Box<str>>,
    /// What kind of agent that is.
    pub agent_kind: Option<Box<str>>,
}

impl Request {
    /// With an answer no longer than this, thoughts included. Providers lengthen the answer where it leaves no room
    /// behind the thoughts; so those are shortened, or left out.
    #[must_use]
    pub fn within(mut self, max_tokens: u64) -> Self {
        self.max_tokens = u32::try_from(max_tokens).unwrap_or(u32::MAX);
        if let Thinking::Budget(tokens @ 1..) = self.thinking
            && tokens.max(LEAST_THOUGHT) >= self.max_tokens
        {
            let half = self.max_tokens / 2;
            self.thinking = if half < LEAST_THOUGHT { Thinking::Disabled } else { Thinking::Budget(half) };
        }
        self
    }

    /// The most tokens it can read. `known` is what a reply to the same system prompt and tools is known to have read
    /// and written, with the number of messages that was, itself included; what came since counts by its bytes.
    pub fn input_at_most(&self, known: Option<(usize, u64)>, window: u64) -> u64 {
        let since = |from: usize| tokens_at_most(self.messages.get(from..).unwrap_or(&self.messages), window);
        match known {
            Some((count, tokens)) => tokens.saturating_add(since(count)),
            None => {
                let system = self.system.iter().map(|part| part.text.len()).sum::<usize>();
                let tools = self.tools.iter().map(|ToolSpec { name, description, input_schema }| {
                    name.len() + description.len() + input_schema.to_string().len()
                });
                let own = self.server_tools.iter().map(|tool| tool.to_string().len());
                let bytes = system + tools.chain(own).sum::<usize>();
                since(0).saturating_add(bytes as u64).saturating_add(HIDDEN_TOKENS)
            }
        }
    }

    /// The last of an agent that has to hand back what it has: no tools, and all of the answer for the answer.
    #[must_use]
    pub fn as_hand_back(mut self, max_tokens: u64) -> Self {
        self.tools_off = true;
        self.thinking = Thinking::Disabled;
        self.within(max_tokens)
    }
}

/// How thoughts are shown (`summarized`, `omitted`), which may change while a session runs. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ThinkingDisplay(Arc<std::sync::Mutex<Option<String>>>);

impl From<Option<String>> for ThinkingDisplay {
    fn from(how: Option<String>) -> Self {
        Self(Arc::new(std::sync::Mutex::new(how)))
    }
}

impl ThinkingDisplay {
    /// As it is now; nothing said leaves it to the provider.
    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Shows them so from the next request on.
    pub fn set(&self, how: Option<String>) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = how;
    }
}

/// The smallest budget for thinking that a provider takes.
const LEAST_THOUGHT: u32 = 1024;

/// A part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPart {
    /// The text.
    pub text: String,
    /// Whether everything up to here is worth keeping in the provider's cache.
    pub cache: bool,
}

/// How much to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// As the model likes.
    #[default]
    Default,
    /// As much as the task needs.
    Adaptive,
    /// Not at all.
    Disabled,
    /// Up to this many tokens.
    Budget(u32),
}

/// Whoever can answer a request.
pub trait Model: Send + Sync {
    /// Makes one request and streams what comes to `on`. Dropping the future ends the request.
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>>;
}

#[cfg(test)]
mod tests;
