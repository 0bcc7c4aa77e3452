//! **EnterWorktree** and **ExitWorktree**: into a copy of the repository in the middle of the work, and back.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::tool::crew::Crew;
use crate::tool::{AnyTool, ToolCx, ToolOutput, ToolSpec};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// EnterWorktree.
    In,
    /// ExitWorktree.
    Out,
}

impl Way {
    /// The tool's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "EnterWorktree",
            Self::Out => "ExitWorktree",
        }
    }
}

/// The tool.
pub struct WorktreeTool {
    crew: Arc<dyn Crew>,
    way: Way,
}

impl WorktreeTool {
    /// Moves agents of this crew.
    pub fn new(crew: Arc<dyn Crew>, way: Way) -> Self {
        Self { crew, way }
    }
}

impl AnyTool for WorktreeTool {
    fn name(&self) -> &str {
        self.way.name()
    }

    fn spec(&self) -> ToolSpec {
        let (description, input_schema) = match self.way {
            Way::In => (
                "Moves this conversation to a git worktree: a checkout and a branch of its own, so that the user's own \
                 files stay as they are. Only when the user speaks of a worktree, or instructions ask for one; a branch \
                 alone is no reason. Without `name` and `path` a new one is made and named for you.",
                json!({
                    "type": "object",
                    "properties": {
                        "name": {
                            "type": "string",
                            "description": "Name of the worktree to make, or of one that was made before: letters, \
                                            digits, dots, underscores, dashes, slashes between parts; 64 at most",
                        },
                        "path": {
                            "type": "string",
                            "description": "Path of a worktree of this repository that exists; instead of name",
                        },
                    },
                }),
            ),
            Way::Out => (
                "Leaves the worktree that EnterWorktree, or the start of the session, brought this conversation to, and \
                 goes back to where it was. Only when the user wants that, or the work there is done.",
                json!({
                    "type": "object",
                    "properties": {
                        "action": {
                            "type": "string",
                            "enum": ["keep", "remove"],
                            "description": "keep leaves worktree and branch as they are; remove removes both",
                        },
                        "discard_changes": {
                            "type": "boolean",
                            "description": "Remove also if files or commits are in it that are nowhere else; only \
                                            when the user said so",
                        },
                    },
                    "required": ["action"],
                }),
            ),
        };
        ToolSpec { name: self.way.name().into(), description: description.into(), input_schema }
    }

    fn runs_alone(&self, _input: &Value) -> bool {
        true
    }

    fn can_wait(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        match self.way {
            Way::In => self.crew.enter(input, cx),
            Way::Out => self.crew.leave(input, cx),
        }
    }
}
