//! A request as the Messages API reads it. Pure: the same request is always the same bytes, or no cache would hit.

use posse_core::definition::Effort;
use posse_core::message::{Block, Content, Message, Role, ToolAnswer, json as shape};
use serde_json::{Map, Value, json};

use crate::model::{LEAST_THOUGHT, Request, Thinking};
use crate::tool::ToolSpec;

/// What the API allows.
const MOST_BREAKPOINTS: usize = 4;
/// Room for an answer behind the thoughts, if the request leaves none.
const ROOM: u32 = 4096;
/// Suffix by which people ask for the long window.
const LONG_WINDOW: &str = "[1m]";
/// Stands for a message of which nothing is left; the API refuses empty ones.
const NOTHING: &str = "(no content)";

/// The features a request needs, besides those asked for.
pub(super) fn betas(request: &Request, asked: &[String], task_budget: Option<u64>) -> Vec<String> {
    let long = request.model.ends_with(LONG_WINDOW).then_some("context-1m-2025-08-07");
    let budget = task_budget.map(|_| "task-budgets-2026-03-13");
    let mut betas: Vec<String> = Vec::new();
    for beta in asked.iter().map(String::as_str).chain(long).chain(budget) {
        if !beta.is_empty() && !betas.iter().any(|known| known == beta) {
            betas.push(beta.to_owned());
        }
    }
    betas
}

/// The body of a request.
pub(super) fn body(request: &Request, task_budget: Option<u64>, display: Option<&str>) -> Value {
    let Request {
        model,
        system,
        tools,
        tools_off,
        server_tools,
        messages,
        max_tokens,
        thinking,
        effort,
        session,
        raw_events: _,
        agent: _,
        agent_kind: _,
    } = request;
    let (thinking, max_tokens) = thinking_of(*thinking, *max_tokens, display);
    let (messages, used) = messages_of(messages);
    let mut body = Map::new();
    body.insert("model".into(), json!(model.strip_suffix(LONG_WINDOW).unwrap_or(model)));
    body.insert("max_tokens".into(), json!(max_tokens));

    // One, whatever the messages take: agents and their forks send the same system prompt to the byte.
    let left = (MOST_BREAKPOINTS - used).min(1);
    let (system, used) = system_of(system, left);
    if !system.is_empty() {
        body.insert("system".into(), Value::Array(system));
    }
    body.insert("messages".into(), Value::Array(messages));
    if !tools.is_empty() || !server_tools.is_empty() {
        // Tools come first in what is cached, so a breakpoint of the system prompt covers them.
        let mut values = tools_of(tools, used == 0 && left > 0);
        values.extend(server_tools.iter().cloned());
        body.insert("tools".into(), Value::Array(values));
        if *tools_off {
            body.insert("tool_choice".into(), json!({ "type": "none" }));
        }
    }
    if let Some(thinking) = thinking {
        body.insert("thinking".into(), thinking);
    }
    let mut output = Map::new();
    if let Some(Effort::Level(level)) = effort {
        output.insert("effort".into(), json!(level.name()));
    }
    if let Some(total) = task_budget {
        output.insert("task_budget".into(), json!({ "type": "tokens", "total": total }));
    }
    if !output.is_empty() {
        body.insert("output_config".into(), Value::Object(output));
    }
    if !session.is_empty() {
        body.insert("metadata".into(), json!({ "user_id": session }));
    }
    body.insert("stream".into(), json!(true));
    Value::Object(body)
}

fn thinking_of(thinking: Thinking, max_tokens: u32, display: Option<&str>) -> (Option<Value>, u32) {
    let shown = |mut value: Value| {
        if let Some(display) = display {
            value["display"] = json!(display);
        }
        Some(value)
    };
    match thinking {
        Thinking::Default => (None, max_tokens),
        Thinking::Adaptive => (shown(json!({ "type": "adaptive" })), max_tokens),
        Thinking::Disabled | Thinking::Budget(0) => (Some(json!({ "type": "disabled" })), max_tokens),
        Thinking::Budget(tokens) => {
            let tokens = tokens.max(LEAST_THOUGHT);
            let enough = if max_tokens > tokens { max_tokens } else { tokens.saturating_add(ROOM) };
            (shown(json!({ "type": "enabled", "budget_tokens": tokens })), enough)
        }
    }
}

/// The system prompt with at most so many breakpoints, and how many it has.
fn system_of(parts: &[crate::model::SystemPart], most: usize) -> (Vec<Value>, usize) {
    let mut values: Vec<Value> = Vec::new();
    let mut marked: Vec<usize> = Vec::new();
    for part in parts {
        if !is_blank(&part.text) {
            values.push(json!({ "type": "text", "text": part.text }));
        }
        // A blank part cannot be sent, but what it marks ends with the one before.
        if let Some(last) = values.len().checked_sub(1)
            && part.cache
            && !marked.contains(&last)
        {
            marked.push(last);
        }
    }
    // The first changes least and the last covers most; those between are worth least.
    while marked.len() > most {
        marked.remove(usize::from(marked.len() > 1));
    }
    for index in &marked {
        mark(&mut values[*index]);
    }
    (values, marked.len())
}

fn tools_of(tools: &[ToolSpec], cache: bool) -> Vec<Value> {
    let mut values: Vec<Value> = tools
        .iter()
        .map(|ToolSpec { name, description, input_schema }| {
            json!({ "name": name, "description": description, "input_schema": input_schema })
        })
        .collect();
    if cache && let Some(last) = values.last_mut() {
        mark(last);
    }
    values
}

/// The messages, with breakpoints on the last and on the last of the user before it: what the request before this one
/// wrote to the cache ends there. And how many breakpoints those are.
fn messages_of(messages: &[Message]) -> (Vec<Value>, usize) {
    let mut values: Vec<Value> = messages.iter().map(message).collect();
    let Some(last) = values.len().checked_sub(1) else { return (values, 0) };
    let before = messages[..last].iter().rposition(|message| message.role == Role::User);
    let mut used = 0;
    for index in [Some(last), before].into_iter().flatten() {
        let blocks = values[index].get_mut("content").and_then(Value::as_array_mut);
        if let Some(block) = blocks.and_then(|blocks| blocks.iter_mut().rfind(|block| !is_thought(block))) {
            mark(block);
            used += 1;
        }
    }
    // What stands before a task is what agents of one kind, and forks of one moment, have in common.
    let blocks = values[last].get_mut("content").and_then(Value::as_array_mut);
    if let Some([.., before, task]) = blocks.map(Vec::as_mut_slice)
        && task["type"] == "text"
        && !is_thought(before)
    {
        mark(before);
        used += 1;
    }
    (values, used)
}

fn message(message: &Message) -> Value {
    let mut blocks: Vec<Value> = message.blocks.iter().filter_map(block).collect();
    // An assistant's message must not end in a thought, and no message may be empty.
    if blocks.last().is_none_or(is_thought) {
        blocks.push(json!({ "type": "text", "text": NOTHING }));
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({ "role": role, "content": blocks })
}

/// A block, unless the API would refuse the whole request because of it.
fn block(block: &Block) -> Option<Value> {
    match block {
        Block::Text(text) if is_blank(text) => None,
        // Thoughts of other providers, or cut off before they were signed.
        Block::Thinking { signature, .. } if signature.is_empty() => None,
        Block::ToolResult(answer) => Some(tool_result(answer)),
        Block::Other(value) => {
            let mut value = value.clone();
            if let Some(fields) = value.as_object_mut() {
                // Breakpoints are counted here, and a stranger's would be one too many.
                fields.shift_remove("cache_control");
            }
            Some(value)
        }
        Block::Text(_)
        | Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse(_)
        | Block::Media(_) => Some(shape::block(block)),
    }
}

fn tool_result(answer: &ToolAnswer) -> Value {
    let says = |content: &Content| match content {
        Content::Text(text) => !is_blank(text),
        Content::Media(_) => true,
    };
    if answer.content.iter().all(says) && !(answer.is_error && answer.content.is_empty()) {
        return shape::tool_result(answer);
    }
    let mut content: Vec<Content> = answer.content.iter().filter(|part| says(part)).cloned().collect();
    if content.is_empty() {
        content.push(Content::Text(NOTHING.to_owned()));
    }
    shape::tool_result(&ToolAnswer { content, structured: None, ..answer.clone() })
}

fn mark(value: &mut Value) {
    value["cache_control"] = json!({ "type": "ephemeral" });
}

fn is_thought(block: &Value) -> bool {
    matches!(block.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking"))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
