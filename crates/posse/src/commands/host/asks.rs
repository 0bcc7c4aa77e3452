//! Questions of the session, put to the host, or to the tool that answers for it.

use posse_runtime::ask::Ask;
use serde_json::Value;

use super::states::States;
use super::wire::{Kind, Wire};
use crate::commands::answers::{self, PromptTool};

/// Who answers.
#[derive(Clone)]
pub(super) enum Via {
    /// The host itself.
    Host(Wire),
    /// A tool of a server.
    Tool(PromptTool),
}

impl Via {
    async fn ask(&self, request: Value) -> Result<Value, String> {
        match self {
            Self::Host(wire) => wire.request(Kind::Ask, request).await,
            Self::Tool(tool) => tool.ask(request).await,
        }
    }
}

/// Puts one question to the host and hands back the answer. If nobody wants it any more, the host is told.
pub(super) async fn serve(via: Via, states: States, ask: Ask) {
    let _asking = states.asking();
    answers::serve(ask, async |request| via.ask(request).await).await;
}
