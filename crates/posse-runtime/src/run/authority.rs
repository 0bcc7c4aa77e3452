//! Who decides whether a call may run.
//!
//! What only looks is allowed. What changes something needs a rule (`--allowedTools`) or a mode that allows it; with
//! nobody to ask, everything else is refused with a reason the model can read.

use posse_core::message::ToolCall;
use posse_core::permission::Mode;
use posse_core::tools::{self, ToolPattern};
use posse_core::turn::Verdict;

use crate::ask::SharedMode;

/// The rules of a run.
#[derive(Clone, Debug, Default)]
pub struct Authority {
    /// The mode, which can change while the run goes on.
    pub mode: SharedMode,
    /// What is allowed without asking.
    pub allowed: Vec<ToolPattern>,
    /// What is refused whatever else says.
    pub denied: Vec<ToolPattern>,
}

/// Tools that change files and nothing else.
const EDITS: [&str; 3] = ["Edit", "NotebookEdit", "Write"];
/// Tools that change only what belongs to the run itself.
const HARMLESS: [&str; 4] = ["TaskStop", "StructuredOutput", "SendMessage", "Agent"];

impl Authority {
    /// Decides on a call.
    pub fn decide(&self, call: &ToolCall, alone: bool) -> Verdict {
        let name = tools::find(&call.name).map_or(&*call.name, |tool| tool.name);
        let bare = |pattern: &ToolPattern| match pattern {
            ToolPattern::All => true,
            ToolPattern::Tool { name: tool, scope } => &**tool == name && scope.is_none(),
            ToolPattern::Mcp(pattern) => pattern.matches(name),
        };
        if self.denied.iter().any(bare) {
            return Verdict::Deny(format!("Permission to use {name} has been denied."));
        }
        let reads = tools::find(name).is_some_and(|tool| tool.read_only) || HARMLESS.contains(&name);
        let mode = self.mode.current();
        let mode_allows = match mode {
            Mode::BypassPermissions => true,
            Mode::AcceptEdits | Mode::Auto => EDITS.contains(&name),
            Mode::Plan | Mode::DontAsk | Mode::Default | Mode::Bubble => false,
        };
        let rule_allows = mode != Mode::Plan && self.allowed.iter().any(bare);
        if reads || mode_allows || rule_allows {
            return Verdict::Allow { alone };
        }
        Verdict::Deny(format!(
            "Claude requested permissions to use {name}, but you haven't granted it yet. \
             (Nobody can be asked here: allow it with --allowedTools {name}, or choose another --permission-mode.)"
        ))
    }
}
