//! Models: what a request is, and whoever can answer one.
//!
//! Knows providers and their protocols. Refuses to know what a turn is: one call is one request, and trying again is
//! the caller's decision.

pub mod anthropic;
mod http;
pub mod openai;
pub mod rehearsal;
pub mod retry;
mod secret;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use posse_core::definition::Effort;
use posse_core::event::Delta;
use posse_core::failure::Failure;
use posse_core::message::{Message, Reply};

use crate::tool::ToolSpec;

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
}

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
