//! How long and how much: what the environment says, and what holds where it says nothing.

use std::time::Duration;

use crate::world::Env;

/// Bounds for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For starting or reaching one, with its first answers (`MCP_TIMEOUT`).
    pub connect: Duration,
    /// For a call (`MCP_TOOL_TIMEOUT`). Progress does not extend it.
    pub call: Duration,
    /// Of an answer, what a model is shown (`MAX_MCP_OUTPUT_TOKENS`).
    pub output_tokens: usize,
    /// Bytes of one message. More than that ends the connection.
    pub message: usize,
    /// How long a server that nobody uses is kept.
    pub grace: Duration,
    /// How long a program may take to end by itself before it is killed.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            call: Duration::from_millis(100_000_000),
            output_tokens: 25_000,
            message: 16 * 1024 * 1024,
            grace: Duration::from_secs(60),
            farewell: Duration::from_secs(2),
        }
    }
}

impl Limits {
    /// What the environment says; a zero says nothing.
    pub fn from_env(env: &Env) -> Self {
        let number = |name| env.number(name).filter(|number| *number > 0);
        let defaults = Self::default();
        Self {
            connect: number("MCP_TIMEOUT").map_or(defaults.connect, Duration::from_millis),
            call: number("MCP_TOOL_TIMEOUT").map_or(defaults.call, Duration::from_millis),
            output_tokens: number("MAX_MCP_OUTPUT_TOKENS")
                .map_or(defaults.output_tokens, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX)),
            ..defaults
        }
    }

    /// Characters of an answer that a model is shown. Four make a token, roughly.
    pub(super) fn output_chars(&self) -> usize {
        self.output_tokens.saturating_mul(4)
    }
}
