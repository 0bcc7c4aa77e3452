//! What happens in a run and when, one line each, for whoever looks for a reason.

use posse_core::event::{Delta, Fact, HookNotice, TaskNews, What};
use posse_runtime::run::Event;
use posse_runtime::world::{Stopwatch, World};

use super::listing::cut;
use super::style::plain;

/// Writes lines with the time since the start.
pub struct Debug {
    watch: Stopwatch,
}

impl Debug {
    /// Starts the clock.
    pub fn start(world: &World) -> Self {
        Self { watch: world.clock.start() }
    }

    /// A line of its own.
    pub fn line(&self, text: &str) -> String {
        format!("[{:>7} ms] {}\n", self.watch.elapsed_ms(), plain(text))
    }

    /// The line of an event; text as it streams has none.
    pub fn event(&self, event: &Event) -> Option<String> {
        let what = match &event.what {
            What::Delta(Delta::Requesting) => "request".to_owned(),
            What::Delta(Delta::Retry { attempt, of, delay, failure }) => format!(
                "retry {attempt}/{of} in {} ms: {} {}",
                delay.as_millis(),
                failure.kind.word(),
                plain(&failure.message)
            ),
            What::Delta(Delta::Discarded) => "the reply broke off; what came of it is void".to_owned(),
            What::Delta(Delta::Compacting) => "summarising the conversation".to_owned(),
            What::Delta(Delta::ToolRunning(call)) => {
                format!("tool {} {} {}", call.name, call.id, cut(&plain(&call.input.to_string()), 200))
            }
            What::Delta(Delta::ToolProgress { call, tool, text, .. }) => {
                format!("tool {tool} {call}: {}", plain(text))
            }
            What::Fact(Fact::Replied(reply)) => format!(
                "reply {} from {}: {} blocks, {}; in {} out {} cache read {} write {}",
                reply.id,
                reply.model,
                reply.blocks.len(),
                reply.stop.word(),
                reply.usage.input,
                reply.usage.output,
                reply.usage.cache_read,
                reply.usage.cache_write
            ),
            What::Fact(Fact::Answered { call, answer }) => {
                let failed = if answer.is_error { ", failed" } else { "" };
                format!(
                    "answer {} {}: {} characters{failed}",
                    call.name,
                    call.id,
                    answer.plain().chars().count()
                )
            }
            What::Fact(Fact::Denied { call, why }) => {
                format!("denied {} {}: {}", call.name, call.id, plain(&why.message))
            }
            What::Fact(Fact::Compacted { before, summary, .. }) => {
                format!("compacted: {before} tokens to a summary of {} characters", summary.chars().count())
            }
            What::Fact(Fact::Finished(outcome)) => {
                format!("finished: {}", cut(&plain(&format!("{outcome:?}")), 200))
            }
            What::Fact(Fact::Said(message)) => format!("said: {} blocks", message.blocks.len()),
            What::Delta(Delta::Hook(HookNotice::Started { name, .. })) => format!("hook {name} starts"),
            What::Delta(Delta::Hook(HookNotice::Response { name, outcome, exit_code, stderr, .. })) => {
                format!(
                    "hook {name} {} {} {}",
                    outcome.word(),
                    exit_code.map(|code| code.to_string()).unwrap_or_default(),
                    cut(&plain(stderr), 200)
                )
            }
            What::Delta(Delta::Task(TaskNews::Started { background, .. })) => {
                format!("agent starts{}", if *background { " in the background" } else { "" })
            }
            What::Delta(Delta::Task(TaskNews::SentToBackground)) => "agent goes on in the background".into(),
            What::Delta(Delta::Task(TaskNews::Refused(why))) => format!("agent refused: {why:?}"),
            What::Delta(Delta::Task(TaskNews::Ended { status, tokens, .. })) => {
                format!("agent {status}, {tokens} tokens")
            }
            What::Delta(Delta::Note(text)) => format!("note: {}", plain(text)),
            What::Delta(Delta::ModeChanged(mode)) => format!("permission mode {}", mode.name()),
            What::Delta(
                Delta::Text(_)
                | Delta::Thinking(_)
                | Delta::ToolStart { .. }
                | Delta::Block(_)
                | Delta::Raw(_),
            ) => {
                return None;
            }
        };
        let whose =
            event.from.as_ref().map(|mark| format!("{} {}: ", mark.kind, mark.agent)).unwrap_or_default();
        Some(format!("[{:>7} ms] {whose}{what}\n", self.watch.elapsed_ms()))
    }
}
