//! What a line from the host says. Pure: text in, a value out. Knows shapes, not what is done about them.

use posse_core::json::with_whole_characters;
use posse_core::message::{Block, Message, Role, json as wire};
use serde_json::{Map, Value};

/// One line of the host.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Incoming {
    /// It says something to the agent.
    User(Box<UserLine>),
    /// It wants something done.
    Request(Request),
    /// It does not want it any more.
    Cancel(String),
    /// It answers: the id, and what it says or why it cannot.
    Response(String, Result<Value, String>),
    /// Nothing that concerns anybody here.
    Nothing,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    /// What the answer is to be called.
    pub(super) id: String,
    /// What is wanted.
    pub(super) subtype: String,
    /// With which particulars.
    pub(super) body: Map<String, Value>,
}

impl Request {
    /// A text among the particulars.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.body.get(key).and_then(Value::as_str)
    }

    /// A switch among the particulars; off if it is not there.
    pub(super) fn is_on(&self, key: &str) -> bool {
        self.body.get(key).and_then(Value::as_bool).unwrap_or_default()
    }
}

/// Something said to the agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UserLine {
    /// What.
    pub(super) blocks: Vec<Block>,
    /// The same as it came.
    pub(super) content: Value,
    /// What the host calls it.
    pub(super) uuid: Option<String>,
    /// Who said it, as far as a host is believed: a person.
    pub(super) is_human: bool,
    /// Whether nothing in it is a command.
    pub(super) is_verbatim: bool,
    /// Whether the agent is to answer.
    pub(super) wants_answer: bool,
    /// How soon.
    pub(super) priority: Priority,
}

/// When something is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// At once: what is under way ends.
    Now,
    /// When what is under way has ended, together with everything else that waits.
    #[default]
    Next,
    /// When nothing else waits.
    Later,
}

/// Reads a line; an error says why it cannot be read.
pub(super) fn parse(line: &str) -> Result<Incoming, String> {
    if line.trim().is_empty() {
        return Ok(Incoming::Nothing);
    }
    let value: Value =
        serde_json::from_str(&with_whole_characters(line)).map_err(|error| format!("not JSON: {error}"))?;
    let Value::Object(fields) = value else { return Err("not an object".to_owned()) };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    match fields.get("type").and_then(Value::as_str) {
        Some("user") => user(&fields).map(|line| Incoming::User(Box::new(line))),
        Some("control_request") => {
            let Some(id) = text("request_id") else { return Err("a request without request_id".to_owned()) };
            let body = fields.get("request").and_then(Value::as_object).cloned().unwrap_or_default();
            let subtype = body.get("subtype").and_then(Value::as_str).unwrap_or_default().to_owned();
            Ok(Incoming::Request(Request { id, subtype, body }))
        }
        Some("control_cancel_request") => Ok(text("request_id").map_or(Incoming::Nothing, Incoming::Cancel)),
        Some("control_response") => Ok(response(fields.get("response")).unwrap_or(Incoming::Nothing)),
        // What a newer host says besides is no reason to stop.
        Some(_) => Ok(Incoming::Nothing),
        None => Err("an object without a type".to_owned()),
    }
}

fn response(envelope: Option<&Value>) -> Option<Incoming> {
    let envelope = envelope?;
    let id = envelope.get("request_id")?.as_str()?.to_owned();
    let answer = match envelope.get("subtype").and_then(Value::as_str) {
        Some("error") => {
            Err(envelope.get("error").and_then(Value::as_str).unwrap_or("no reason given").to_owned())
        }
        _ => Ok(envelope.get("response").cloned().unwrap_or_default()),
    };
    Some(Incoming::Response(id, answer))
}

fn user(fields: &Map<String, Value>) -> Result<UserLine, String> {
    let content = fields.get("message").and_then(|message| message.get("content"));
    let blocks = match content {
        Some(Value::String(text)) => vec![Block::Text(text.clone())],
        Some(Value::Array(blocks)) => blocks.iter().map(wire::read_block).collect(),
        Some(_) | None => return Err("a user message without content".to_owned()),
    };
    let priority = match fields.get("priority").and_then(Value::as_str) {
        Some("now") => Priority::Now,
        Some("later") => Priority::Later,
        Some(_) | None => Priority::Next,
    };
    let switch = |key: &str| fields.get(key).and_then(Value::as_bool);
    Ok(UserLine {
        blocks,
        content: content.cloned().unwrap_or_default(),
        uuid: fields.get("uuid").and_then(Value::as_str).map(str::to_owned),
        is_human: fields.get("origin").and_then(|origin| origin.get("kind")) == Some(&"human".into()),
        is_verbatim: switch("client_composed").unwrap_or_default(),
        wants_answer: switch("shouldQuery").unwrap_or(true),
        priority,
    })
}

impl UserLine {
    /// Its text, if it is nothing else.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.blocks.as_slice() {
            [Block::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The command it is, if it is one.
    pub(super) fn command(&self) -> Option<&str> {
        self.plain().map(str::trim).filter(|text| text.starts_with('/') && !self.is_verbatim)
    }
}

/// Several as one message: texts on lines of their own, everything else in its order.
pub(super) fn message(lines: &[UserLine]) -> Message {
    let texts: Option<Vec<&str>> = lines.iter().map(UserLine::plain).collect();
    let mut blocks = match texts {
        Some(texts) if !texts.is_empty() => vec![Block::Text(texts.join("\n"))],
        Some(_) | None => lines.iter().flat_map(|line| line.blocks.iter().cloned()).collect(),
    };
    if lines.iter().any(|line| line.is_verbatim) && blocks.len() == 1 {
        // A message of one text may be a command; one of two is none, and what is empty is never sent.
        blocks.push(Block::Text(String::new()));
    }
    Message { role: Role::User, blocks }
}

/// What may mention files: texts that are to be understood as if a person had typed them.
pub(super) fn own_words(lines: &[UserLine]) -> Option<String> {
    let texts = lines.iter().flat_map(|line| line.blocks.iter()).filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let is_verbatim = lines.iter().any(|line| line.is_verbatim);
    (!is_verbatim).then(|| texts.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
