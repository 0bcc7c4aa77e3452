//! Servers of tools (MCP): finding those that are configured, reaching them, and what they offer as tools of a run.
//!
//! Knows the protocol through `rmcp` and keeps its types to itself. One process or connection per distinct server,
//! however many agents use it; started when it is needed, ended when nobody is left. Refuses to know which agent may
//! use which tool, and believes nothing a server says about itself: sizes, names and waits are bounded here.

mod auth;
mod call;
pub mod config;
mod connect;
mod direct;
pub mod edit;
mod elicit;
mod facts;
mod handler;
mod hook;
mod host;
mod http;
mod kept;
mod limits;
mod lines;
mod output;
mod process;
mod roster;
mod servers;
mod sse;
mod tools;

use posse_core::mcp::{McpConfig, without_keys};

pub use auth::{Login, LoginError, logout};
pub use call::{CallOptions, Progress};
pub use config::{Configured, McpOptions};
pub use direct::DirectCall;
pub use facts::{Facts, PromptFact, ResourceFact, ToolFact};
pub use host::{Greeted, HostServers, PROTOCOL};
pub use limits::Limits;
pub use roster::{Roster, read_given};
pub use servers::{Change, Holder, Lease, Reset, Servers, Setup, State, Status};
pub use tools::{ListMcpResources, McpTool, ReadMcpResource, read_mention, tools_of};

/// Why a server did not do what was asked. Clones, because one failure is told to all who waited for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// It wants to know who asks.
    #[error("{server} needs a login: run `posse mcp login {server}`")]
    NeedsLogin {
        /// The server.
        server: Box<str>,
    },
    /// It could not be started or reached.
    #[error("{server} could not be {}: {why}", if *.remote { "reached" } else { "started" })]
    Connect {
        /// The server.
        server: Box<str>,
        /// Whether it is at an address.
        remote: bool,
        /// What happened.
        why: String,
    },
    /// It was asked and went away before it answered.
    #[error("{server} went away: {why}")]
    Closed {
        /// The server.
        server: Box<str>,
        /// What is known about it; of a program, the end of what it complained of.
        why: String,
    },
    /// It took too long.
    #[error("{server} did not answer {what} within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The server.
        server: Box<str>,
        /// What it was asked.
        what: String,
        /// How long it had.
        limit: std::time::Duration,
    },
    /// It answered with an error.
    #[error("{server}: {message}")]
    Refused {
        /// The server.
        server: Box<str>,
        /// Its words.
        message: String,
    },
    /// It answered with something else than was asked for.
    #[error("{server} answered with what nobody can read: {what}")]
    Nonsense {
        /// The server.
        server: Box<str>,
        /// What is wrong with it.
        what: String,
    },
    /// posse does not speak its protocol.
    #[error("{server} is reached by {how}, which posse does not speak")]
    Unsupported {
        /// The server.
        server: Box<str>,
        /// How it would be reached.
        how: &'static str,
    },
    /// It was there, and is not any more.
    #[error("{server} {how}")]
    Dismissed {
        /// The server.
        server: Box<str>,
        /// What became of it, as the rest of a sentence.
        how: &'static str,
    },
    /// Nobody knows it.
    #[error("Server not found: {server}")]
    Unknown {
        /// The name.
        server: Box<str>,
    },
    /// It may not be used.
    #[error("{server} may not be used: {why}")]
    Unusable {
        /// The server.
        server: Box<str>,
        /// Why.
        why: String,
    },
    /// Whoever asked wants no answer any more.
    #[error("stopped by the user")]
    Stopped,
    /// The session is over.
    #[error("the session is over")]
    Over,
}

impl McpError {
    /// The same without secrets: what the configuration took from elsewhere, and keys in addresses.
    fn veiled(mut self, config: &McpConfig) -> Self {
        match &mut self {
            Self::Connect { why, .. } | Self::Closed { why, .. } => {
                *why = without_keys(&config.veiled(why));
            }
            // Its own words: an address in them may be one to open.
            Self::Refused { message: text, .. } | Self::Nonsense { what: text, .. } => {
                *text = config.veiled(text);
            }
            Self::NeedsLogin { .. }
            | Self::TimedOut { .. }
            | Self::Unsupported { .. }
            | Self::Dismissed { .. }
            | Self::Unknown { .. }
            | Self::Unusable { .. }
            | Self::Stopped
            | Self::Over => {}
        }
        self
    }
}

#[cfg(test)]
mod tests;
