//! Facts as lines of a transcript. One line per block of an answer, chained by `parentUuid`; each tool's answer hangs
//! from the call it answers.

use std::collections::HashMap;
use std::sync::Arc;

use posse_core::event::{Fact, Outcome, Trigger};
use posse_core::message::{Block, Message, Reply, ToolAnswer, ToolCall, json as wire};
use serde_json::{Value, json};

use super::{EntryIds, attached};
use crate::world::World;

/// The version transcripts carry: readers look for a number of this form.
pub const VERSION: &str = "2.1.325";

/// The kind of the line that says how a turn without an answer ended.
pub(super) const TURN_END: &str = "turn-end";

/// Turns facts into entries. Remembers what the next entry hangs from.
#[derive(Debug)]
pub struct EntryWriter {
    session: Arc<str>,
    cwd: String,
    branch: String,
    entrypoint: String,
    last: Option<Arc<str>>,
    /// The entry of each open tool call.
    calls: HashMap<Box<str>, Arc<str>>,
    /// The id the next user message gets, if the client chose one.
    next_id: Option<Arc<str>>,
    /// The ids the blocks of the next reply get, if they were shown before they were written.
    next_blocks: EntryIds,
    /// Files that come with the next user message.
    next_attached: Vec<Value>,
    /// Which agent's conversation this is, if it is not the main one.
    agent: Option<Box<str>>,
}

impl EntryWriter {
    /// A writer for a session; `last` is the entry the next one continues.
    pub fn new(session: &str, cwd: &str, branch: &str, entrypoint: &str, last: Option<Arc<str>>) -> Self {
        Self {
            session: session.into(),
            cwd: cwd.into(),
            branch: branch.into(),
            entrypoint: entrypoint.into(),
            last,
            calls: HashMap::new(),
            next_id: None,
            next_blocks: Vec::new(),
            next_attached: Vec::new(),
            agent: None,
        }
    }

    /// The same for the conversation of an agent.
    #[must_use]
    pub fn of_agent(mut self, id: &str) -> Self {
        self.agent = Some(id.into());
        self
    }

    /// The next thing that is said gets this id.
    pub fn name_next(&mut self, id: &str) {
        self.next_id = Some(id.into());
    }

    /// These files come with the next thing that is said.
    pub fn attach_next(&mut self, attachments: Vec<Value>) {
        self.next_attached = attachments;
    }

    /// The blocks of the next reply get these ids.
    pub fn name_next_blocks(&mut self, ids: EntryIds) {
        self.next_blocks = ids;
    }

    /// The id of the newest entry.
    pub fn last(&self) -> Option<&Arc<str>> {
        self.last.as_ref()
    }

    /// The entries of a fact, and their ids.
    pub fn entries(&mut self, fact: &Fact, world: &World) -> (Vec<Value>, EntryIds) {
        match fact {
            Fact::Said(message) => self.said(message, world),
            Fact::Replied(reply) => self.replied(reply, world),
            Fact::Answered { call, answer } => self.answered(call, answer, world),
            Fact::Compacted { trigger, before, summary } => self.compacted(*trigger, *before, summary, world),
            Fact::Finished(outcome) => (self.ended(outcome, world).into_iter().collect(), Vec::new()),
            // Told by the answers and events; not part of the conversation.
            Fact::Denied { .. } => (Vec::new(), Vec::new()),
        }
    }

    /// A line beside the conversation that says why a turn ended without an answer. Of agents, another file tells.
    fn ended(&self, outcome: &Outcome, world: &World) -> Option<Value> {
        let status = match outcome {
            Outcome::Answer { .. } => return None,
            Outcome::Cancelled { .. } | Outcome::Stopped(_) | Outcome::Deferred(_) | Outcome::Blocked(_) => {
                "killed"
            }
            Outcome::OutOfTurns(_)
            | Outcome::OutOfTries(_)
            | Outcome::OutOfBudget(_)
            | Outcome::Exhausted { .. }
            | Outcome::Stalled(_)
            | Outcome::Failed(_) => "failed",
        };
        let stamp = world.clock.stamp();
        let mut line =
            json!({ "type": TURN_END, "status": status, "sessionId": self.session, "timestamp": stamp });
        if let Outcome::Deferred(call) = outcome {
            line["deferred"] = json!(call.id);
        }
        self.agent.is_none().then_some(line)
    }

    /// What stands around a prompt is written apart from it, and marked: readers show the prompt, and take it for what
    /// the conversation is about. Read again, it is one message as before.
    fn said(&mut self, message: &Message, world: &World) -> (Vec<Value>, EntryIds) {
        let files = std::mem::take(&mut self.next_attached);
        // What came with it has lines of its own.
        let brought: Vec<Block> = files.iter().flat_map(attached::blocks).collect();
        let said: Vec<Block> =
            message.blocks.iter().filter(|block| !brought.contains(block)).cloned().collect();
        let (before, prompt, behind) = around(&said);
        let mut entries = Vec::new();
        entries.extend((!before.is_empty()).then(|| self.said_beside(before, world)));
        let id = self.next_id.take().unwrap_or_else(|| world.ids.uuid().into());
        entries.push(self.said_by_user(prompt, &id, world));
        entries.extend(files.into_iter().map(|file| self.attached(file, world)));
        entries.extend((!behind.is_empty()).then(|| self.said_beside(behind, world)));
        (entries, vec![id])
    }

    fn attached(&mut self, file: Value, world: &World) -> Value {
        let id: Arc<str> = world.ids.uuid().into();
        let mut entry = self.entry(attached::KIND, &id, self.last.clone(), world, Value::Null);
        entry["attachment"] = file;
        self.last = Some(id);
        entry
    }

    fn said_beside(&mut self, blocks: &[Block], world: &World) -> Value {
        let mut entry = self.said_by_user(blocks, &world.ids.uuid().into(), world);
        entry["isMeta"] = json!(true);
        entry
    }

    fn said_by_user(&mut self, blocks: &[Block], id: &Arc<str>, world: &World) -> Value {
        // A single text is written as a string: that is where readers look for the first prompt.
        let content = match blocks {
            [Block::Text(text)] => json!(text),
            blocks => blocks.iter().map(wire::block).collect(),
        };
        let message = json!({ "role": "user", "content": content });
        let entry = self.entry("user", id, self.last.clone(), world, message);
        self.last = Some(Arc::clone(id));
        entry
    }

    fn replied(&mut self, reply: &Reply, world: &World) -> (Vec<Value>, EntryIds) {
        let (mut entries, mut ids) = (Vec::new(), Vec::new());
        // They come in the order of the blocks; what was cut off at the end has one too many.
        let mut named = std::mem::take(&mut self.next_blocks).into_iter();
        for block in &reply.blocks {
            let id: Arc<str> = named.next().unwrap_or_else(|| world.ids.uuid().into());
            let message = assistant_message(reply, block);
            let entry = self.entry("assistant", &id, self.last.clone(), world, message);
            if let Block::ToolUse(call) = block {
                self.calls.insert(call.id.clone(), Arc::clone(&id));
            }
            self.last = Some(Arc::clone(&id));
            entries.push(entry);
            ids.push(id);
        }
        (entries, ids)
    }

    fn answered(&mut self, call: &ToolCall, answer: &ToolAnswer, world: &World) -> (Vec<Value>, EntryIds) {
        let id: Arc<str> = world.ids.uuid().into();
        let asked = self.calls.remove(&call.id);
        let message = json!({ "role": "user", "content": [wire::tool_result(answer)] });
        let mut entry = self.entry("user", &id, asked.clone().or(self.last.clone()), world, message);
        if let Some(asked) = asked {
            entry["sourceToolAssistantUUID"] = json!(asked);
        }
        entry["toolUseResult"] = tool_use_result(answer);
        self.last = Some(Arc::clone(&id));
        (vec![entry], vec![id])
    }

    fn compacted(
        &mut self,
        trigger: Trigger,
        before: u64,
        summary: &str,
        world: &World,
    ) -> (Vec<Value>, EntryIds) {
        let boundary: Arc<str> = world.ids.uuid().into();
        let mut entry = self.entry("system", &boundary, None, world, Value::Null);
        entry["logicalParentUuid"] = json!(self.last);
        entry["subtype"] = json!("compact_boundary");
        entry["content"] = json!("Conversation compacted");
        entry["level"] = json!("info");
        entry["compactMetadata"] = json!({ "trigger": trigger_word(trigger), "preTokens": before });
        let id: Arc<str> = world.ids.uuid().into();
        let message = json!({ "role": "user", "content": posse_core::prompt::continued(summary) });
        let mut text = self.entry("user", &id, Some(Arc::clone(&boundary)), world, message);
        text["isCompactSummary"] = json!(true);
        text["isVisibleInTranscriptOnly"] = json!(true);
        self.last = Some(Arc::clone(&id));
        (vec![entry, text], vec![boundary, id])
    }

    fn entry(&self, kind: &str, id: &str, parent: Option<Arc<str>>, world: &World, message: Value) -> Value {
        let mut entry = json!({
            "parentUuid": parent,
            "isSidechain": self.agent.is_some(),
            "type": kind,
            "message": message,
            "uuid": id,
            "timestamp": world.clock.stamp(),
            "userType": "external",
            "entrypoint": self.entrypoint,
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": VERSION,
            "gitBranch": self.branch,
        });
        if let Some(agent) = &self.agent {
            entry["agentId"] = json!(agent);
        }
        if message_is_absent(&entry) {
            entry.as_object_mut().map(|map| map.shift_remove("message"));
        }
        entry
    }
}

/// What is said, and the reminders before and behind it. What is nothing but reminders is said.
fn around(blocks: &[Block]) -> (&[Block], &[Block], &[Block]) {
    let is_reminder = |block: &Block| match block {
        Block::Text(text) => text.starts_with("<system-reminder>"),
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Media(_)
        | Block::Other(_) => false,
    };
    let Some(first) = blocks.iter().position(|block| !is_reminder(block)) else { return (&[], blocks, &[]) };
    let end = blocks.iter().rposition(|block| !is_reminder(block)).map_or(blocks.len(), |last| last + 1);
    (&blocks[..first], &blocks[first..end], &blocks[end..])
}

fn message_is_absent(entry: &Value) -> bool {
    entry.get("message").is_some_and(Value::is_null)
}

/// "manual" or "auto".
pub fn trigger_word(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "manual",
        Trigger::Auto => "auto",
    }
}

/// One block of an answer, in the envelope of the whole answer.
pub fn assistant_message(reply: &Reply, block: &Block) -> Value {
    json!({
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [wire::block(block)],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": wire::usage(&reply.usage),
    })
}

/// The structured result of a tool; errors are a text that begins with `Error:`.
pub fn tool_use_result(answer: &ToolAnswer) -> Value {
    if answer.is_error {
        return json!(format!("Error: {}", answer.plain()));
    }
    answer.structured.clone().unwrap_or_else(|| json!(answer.plain()))
}
