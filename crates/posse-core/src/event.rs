//! The one stream everything observes: facts are stored and replayed, deltas are drawn and forgotten.
//!
//! Transcript, JSON output, terminal and tests read this and nothing else. Whether something is in the transcript is a
//! question of its type.

use std::sync::Arc;
use std::time::Duration;

use crate::budget::Which;
use crate::failure::Failure;
use crate::hooks::HookEvent;
use crate::message::{Message, Reply, ToolAnswer, ToolCall, Usage};
use crate::permission::Mode;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Stored and replayed.
    Fact(Fact),
    /// Drawn and forgotten.
    Delta(Delta),
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// The user, or posse on their behalf, said something.
    Said(Arc<Message>),
    /// The model answered.
    Replied(Arc<Reply>),
    /// A tool answered.
    Answered {
        /// The call.
        call: ToolCall,
        /// The answer.
        answer: Arc<ToolAnswer>,
    },
    /// A call was refused.
    Denied {
        /// The call.
        call: ToolCall,
        /// Why.
        why: Denial,
    },
    /// The conversation so far was replaced by a summary.
    Compacted {
        /// By hand or automatically.
        trigger: Trigger,
        /// Tokens before.
        before: u64,
        /// The summary.
        summary: String,
    },
    /// The turn is over.
    Finished(Outcome),
}

/// Why a call was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denial {
    /// What the model is told.
    pub message: String,
    /// What decided so, for programs that watch; none if a person did.
    pub because: Option<Because>,
}

/// What decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Because {
    /// Its kind in one word: `rule`, `mode`, `hook`, ….
    pub kind: &'static str,
    /// Itself, as part of a sentence.
    pub reason: String,
}

impl From<String> for Denial {
    fn from(message: String) -> Self {
        Self { message, because: None }
    }
}

impl From<&str> for Denial {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// What set a compaction off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// `/compact`.
    Manual,
    /// The window filled up.
    Auto,
}

/// What is going on right now.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// A request is under way.
    Requesting,
    /// More text.
    Text(String),
    /// More thought.
    Thinking(String),
    /// The model begins to ask for a tool.
    ToolStart {
        /// The call.
        id: Box<str>,
        /// The tool.
        name: Box<str>,
    },
    /// A block of the reply is whole: the reply as far as it is known, with this block alone.
    Block(Arc<Reply>),
    /// What was drawn of this reply is void: the request is made again.
    Discarded,
    /// A raw event of the provider, for those who asked for them.
    Raw(serde_json::Value),
    /// A request failed and will be made again.
    Retry {
        /// Which retry, from 1.
        attempt: u32,
        /// Of how many.
        of: u32,
        /// After how long.
        delay: Duration,
        /// Why.
        failure: Failure,
    },
    /// A tool runs.
    ToolRunning(ToolCall),
    /// A tool that runs says how far it has come.
    ToolProgress {
        /// The call.
        call: Box<str>,
        /// The tool.
        tool: Box<str>,
        /// Milliseconds since it began.
        elapsed_ms: u64,
        /// In a few words.
        text: String,
    },
    /// The conversation is being summarised.
    Compacting,
    /// A hook runs, or has run.
    Hook(HookNotice),
    /// An agent starts, or has ended.
    Task(TaskNews),
    /// Something the user should know; the model does not see it.
    Note(String),
    /// Actions are approved in another way from now on.
    ModeChanged(Mode),
}

/// What becomes of an agent; which one, the event says.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskNews {
    /// It goes to work.
    Started {
        /// Its task.
        prompt: String,
        /// Whether nobody waits for it.
        background: bool,
        /// Where whoever called for it wanted it, if they said so.
        asked: Option<bool>,
    },
    /// Nobody waits for it any longer.
    SentToBackground,
    /// It was not started at all.
    Refused(Refusal),
    /// It is done.
    Ended {
        /// How: completed, failed, killed.
        status: &'static str,
        /// The same in the words of the SDKs.
        sdk_status: &'static str,
        /// Who stopped it, if anybody did: parent, user, system.
        stopper: Option<&'static str>,
        /// When, in milliseconds since 1970.
        at_ms: i64,
        /// In a sentence.
        summary: String,
        /// Its transcript.
        output_file: String,
        /// What its conversation fills.
        tokens: u64,
        /// How often it used a tool.
        tool_uses: u64,
        /// How long it took.
        duration_ms: u64,
    },
}

/// Which limit kept an agent from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Too many are at work and in line.
    Concurrency,
    /// There is nothing left to spend.
    Budget,
}

/// How a handler's run came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOutcome {
    /// It ended as it should, whatever it said.
    Success,
    /// It failed.
    Error,
    /// It was ended: its time was over, or the run was.
    Cancelled,
}

impl HookOutcome {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What happens to handlers, for those who watch. Callbacks of the host are not told: the host knows.
#[derive(Clone, Debug, PartialEq)]
pub enum HookNotice {
    /// One begins.
    Started {
        /// This run of this handler.
        hook_id: String,
        /// `PreToolUse:Bash`.
        name: Arc<str>,
        /// `PreToolUse`.
        event: HookEvent,
    },
    /// And is over.
    Response {
        /// This run of this handler.
        hook_id: String,
        /// `PreToolUse:Bash`.
        name: Arc<str>,
        /// `PreToolUse`.
        event: HookEvent,
        /// All it printed.
        output: String,
        /// What it answered.
        stdout: String,
        /// What it complained of.
        stderr: String,
        /// How it ended, if it is a program and ended by itself.
        exit_code: Option<i32>,
        /// In one word.
        outcome: HookOutcome,
    },
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With an answer.
    Answer {
        /// The last text.
        text: String,
        /// What the structured-output tool was given, if there was one.
        structured: Option<serde_json::Value>,
    },
    /// It was interrupted.
    Cancelled {
        /// While tools ran, rather than while the model spoke.
        in_tools: bool,
    },
    /// It reached the limit on requests.
    OutOfTurns(u32),
    /// The answer did not fit its schema, however often it was handed in.
    OutOfTries(u32),
    /// It reached the limit on cost.
    OutOfBudget(f64),
    /// It reached another limit of its budget; what it had, it handed back.
    Exhausted {
        /// Of what.
        which: Which,
        /// The limit.
        limit: u64,
    },
    /// Nothing was heard from the model for so long.
    Stalled(Duration),
    /// A hook would not have the prompt; the model was never asked.
    Blocked(String),
    /// A hook ended the turn.
    Stopped(String),
    /// A hook put a call off: whoever started the session decides about it later.
    Deferred(ToolCall),
    /// The model could not be reached, or refused.
    Failed(Failure),
}

/// What a turn has used so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests to the model.
    pub requests: u32,
    /// Tokens.
    pub usage: Usage,
}
