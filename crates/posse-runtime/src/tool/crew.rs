//! Other agents, as tools see them: somebody who starts them and writes to them.

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{ToolCx, ToolOutput};

/// Whoever looks after the agents of a session.
pub trait Crew: Send + Sync {
    /// Starts an agent, or goes on with one; answers when it has ended, or at once if it works in the background.
    fn start<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput>;

    /// Writes to an agent.
    fn write<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput>;

    /// Moves the caller to a copy of the repository.
    fn enter<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput>;

    /// Brings the caller back from there.
    fn leave<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput>;
}
