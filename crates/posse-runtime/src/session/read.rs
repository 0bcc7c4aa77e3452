//! From the lines of a transcript back to a conversation.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use posse_core::message::{Block, Message, Role, ToolAnswer, json as wire};
use serde_json::Value;

use super::entries::TURN_END;
use super::{SessionError, attached};

/// A conversation as it was left.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What was said, fit to be sent.
    pub messages: Vec<Message>,
    /// The newest entry: what is said next hangs from it.
    pub last: Option<Arc<str>>,
    /// Lines that could not be read. The last one may be torn by a crash; others mean a damaged file.
    pub unreadable: usize,
    /// The model that answered last.
    pub model: Option<Box<str>>,
    /// The raw entries of the conversation, for a copy of it.
    pub entries: Vec<Value>,
    /// The call that was put off, if the conversation ended with that.
    pub deferred: Option<Box<str>>,
}

/// Reads a transcript, up to and including entry `upto` if one is given.
pub fn load(path: &Path, upto: Option<&str>) -> Result<History, SessionError> {
    let bytes = std::fs::read(path).map_err(|source| SessionError::Io { path: path.to_owned(), source })?;
    Ok(parse(&String::from_utf8_lossy(&bytes), upto))
}

/// Everything that was said in a conversation, as entries: also what a summary has replaced since.
pub fn whole(path: &Path) -> Result<Vec<Value>, SessionError> {
    let bytes = std::fs::read(path).map_err(|source| SessionError::Io { path: path.to_owned(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    let mut parts: Vec<Vec<Value>> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut upto: Option<String> = None;
    loop {
        let entries = parse(&text, upto.as_deref()).entries;
        let before = entries.first().and_then(|first| first.get("logicalParentUuid")?.as_str());
        upto = before.map(str::to_owned);
        parts.push(entries);
        // A file that was tampered with may lead in a circle.
        if upto.as_ref().is_none_or(|id| !seen.insert(id.clone())) {
            break;
        }
    }
    Ok(parts.into_iter().rev().flatten().collect())
}

/// A conversation as it was when it made a call: up to and with the message that holds it, no call of which is answered.
pub fn before_answers(path: &Path, call: &str) -> Result<Option<Vec<Message>>, SessionError> {
    let bytes = std::fs::read(path).map_err(|source| SessionError::Io { path: path.to_owned(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    let Some(last) = last_of_reply(&text, call) else { return Ok(None) };
    let mut messages = parse(&text, Some(&last)).messages;
    // What was owed at that moment was answered for the sake of whoever goes on there.
    let end = messages.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |at| at + 1);
    messages.truncate(end);
    Ok(Some(messages))
}

/// The last entry of the reply that holds a call. Each block of a reply is an entry of its own, one behind the other; ids
/// of replies are not asked, as not every model gives each reply one of its own.
fn last_of_reply(text: &str, call: &str) -> Option<String> {
    let kind = |entry: &Value| entry.get("type").and_then(Value::as_str).map(str::to_owned);
    let holds = |entry: &Value| {
        let blocks = entry.pointer("/message/content").and_then(Value::as_array);
        blocks.is_some_and(|blocks| {
            blocks.iter().any(|block| block.get("id").and_then(Value::as_str) == Some(call))
        })
    };
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let reply = entries
        .skip_while(|entry| !holds(entry))
        .filter(|entry| matches!(kind(entry).as_deref(), Some("user" | "assistant")));
    let last = reply.take_while(|entry| kind(entry).as_deref() == Some("assistant")).last()?;
    uuid(&last).map(str::to_owned)
}

pub(super) fn parse(text: &str, upto: Option<&str>) -> History {
    let mut unreadable = 0;
    let mut entries: Vec<Value> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(entry) => entries.push(entry),
            Err(_) => unreadable += 1,
        }
    }
    let kept = conversation(&entries, upto);
    let last = kept.last().and_then(|entry| uuid(entry)).map(Arc::from);
    let model = kept.iter().rev().find_map(|entry| entry.pointer("/message/model")?.as_str()).map(Box::from);
    let messages = close_calls(merge(&kept));
    let deferred = deferred(&entries).filter(|_| upto.is_none()).map(Box::from);
    History { messages, last, unreadable, model, entries: kept.into_iter().cloned().collect(), deferred }
}

/// The call that the last turn ended with, if nothing was said since.
fn deferred(entries: &[Value]) -> Option<&str> {
    let is_end = |entry: &Value| entry.get("type").and_then(Value::as_str) == Some(TURN_END);
    let last = entries.iter().rev().find(|entry| is_end(entry) || is_part(entry))?;
    last.get("deferred")?.as_str().filter(|_| is_end(last))
}

fn uuid(entry: &Value) -> Option<&str> {
    entry.get("uuid")?.as_str()
}

fn parent(entry: &Value) -> Option<&str> {
    entry.get("parentUuid")?.as_str()
}

fn is_part(entry: &Value) -> bool {
    let kind = entry.get("type").and_then(Value::as_str);
    matches!(kind, Some("user" | "assistant" | "system" | "attachment")) && uuid(entry).is_some()
}

fn is_aside(entry: &Value) -> bool {
    entry.get("isSidechain").and_then(Value::as_bool) == Some(true)
}

/// The entries of the conversation the newest entry belongs to, in the order written.
///
/// Parallel tool calls fork the chain: each answer hangs from its own call. Entries of one answer share a message id,
/// and answers hang from entries of the chain; both are brought back in.
fn conversation<'e>(entries: &'e [Value], upto: Option<&str>) -> Vec<&'e Value> {
    let mut parts: Vec<&Value> = entries.iter().filter(|entry| is_part(entry)).collect();
    // What an agent says is beside the conversation, unless the file is that agent's own.
    if !parts.iter().all(|entry| is_aside(entry)) {
        parts.retain(|entry| !is_aside(entry));
    }
    let leaf = match upto {
        Some(id) => parts.iter().position(|entry| uuid(entry) == Some(id)),
        None => parts.len().checked_sub(1),
    };
    let Some(leaf) = leaf else { return Vec::new() };
    let parts = &parts[..=leaf];
    let by_id: HashMap<&str, &Value> =
        parts.iter().filter_map(|entry| Some((uuid(entry)?, *entry))).collect();
    let mut chain: HashSet<&str> = HashSet::new();
    let mut at = uuid(parts[leaf]);
    while let Some(id) = at {
        if !chain.insert(id) {
            break;
        }
        at = by_id.get(id).and_then(|entry| parent(entry));
    }
    let message_id = |entry: &'e Value| entry.pointer("/message/id").and_then(Value::as_str);
    let ids: HashSet<&str> = parts
        .iter()
        .filter(|entry| uuid(entry).is_some_and(|id| chain.contains(id)))
        .filter_map(|entry| message_id(entry))
        .collect();
    for entry in parts {
        if message_id(entry).is_some_and(|id| ids.contains(id)) {
            chain.extend(uuid(entry));
        }
    }
    for entry in parts {
        let answers = entry.pointer("/message/content/0/type").and_then(Value::as_str) == Some("tool_result");
        if answers && parent(entry).is_some_and(|parent| chain.contains(parent)) {
            chain.extend(uuid(entry));
        }
    }
    let mut kept: Vec<&Value> =
        parts.iter().copied().filter(|entry| uuid(entry).is_some_and(|id| chain.contains(id))).collect();
    // A compaction replaces everything before it.
    let boundary = |entry: &&Value| entry.get("subtype").and_then(Value::as_str) == Some("compact_boundary");
    if let Some(at) = kept.iter().rposition(boundary) {
        kept.drain(..at);
    }
    kept
}

/// Entries to messages: blocks of one answer join, and so do user messages in a row.
fn merge(entries: &[&Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for entry in entries {
        let Some(message) = entry.get("message").and_then(wire::read_message).or_else(|| brought(entry))
        else {
            continue;
        };
        match messages.last_mut() {
            Some(last) if last.role == message.role => last.blocks.extend(message.blocks),
            Some(_) | None => messages.push(message),
        }
    }
    messages
}

/// Files that came with what was said.
fn brought(entry: &Value) -> Option<Message> {
    let blocks = entry.get("attachment").map(attached::blocks).filter(|blocks| !blocks.is_empty())?;
    Some(Message { role: Role::User, blocks })
}

/// Every call gets its answer, in the order of the calls; what a crash left open is answered as interrupted.
fn close_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut closed: Vec<Message> = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        let calls: Vec<Box<str>> = match message.role {
            Role::Assistant => message.calls().map(|call| call.id.clone()).collect(),
            Role::User => Vec::new(),
        };
        closed.push(message);
        if calls.is_empty() {
            continue;
        }
        let follow =
            messages.next_if(|next| next.role == Role::User).map(|next| next.blocks).unwrap_or_default();
        let (answers, rest): (Vec<Block>, Vec<Block>) =
            follow.into_iter().partition(|block| matches!(block, Block::ToolResult(_)));
        let mut answers: Vec<ToolAnswer> = answers
            .into_iter()
            .filter_map(|block| match block {
                Block::ToolResult(answer) => Some(answer),
                _ => None,
            })
            .collect();
        let in_order = calls.into_iter().map(|id| match answers.iter().position(|answer| answer.id == id) {
            Some(at) => answers.swap_remove(at),
            None => ToolAnswer::error(id, "The session ended before this tool answered."),
        });
        let blocks = in_order.map(Block::ToolResult).collect::<Vec<_>>().into_iter().chain(rest).collect();
        closed.push(Message { role: Role::User, blocks });
    }
    closed
}
