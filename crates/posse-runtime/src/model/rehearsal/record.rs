//! Recordings of real runs: one line per request, with what was asked and what was answered.
//!
//! What matters of a request is what was said and which tools were on offer. The system prompt, ids and the place on
//! disk do not: a recording replays in another folder, on another day.
//!
//! Each agent replays the lines of one recorded agent of its kind. Agents get new ids every time; where one is named, in
//! what is said or answered, the new one stands in for the recorded one.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Reply, StopReason, json as wire};
use serde_json::{Value, json};

use super::ScriptError;
use crate::model::{Model, Request};
use crate::session::project_key;
use crate::world::World;

/// A model that writes down what another one is asked and answers.
pub struct Recorder {
    inner: Arc<dyn Model>,
    file: Mutex<File>,
    world: Arc<World>,
}

impl Recorder {
    /// Records to a new file.
    pub fn new(inner: Arc<dyn Model>, path: &Path, world: Arc<World>) -> std::io::Result<Self> {
        Ok(Self { inner, file: Mutex::new(File::create(path)?), world })
    }

    fn write(&self, request: &Request, reply: &Reply) {
        let line = json!({
            "version": 1,
            "cwd": self.world.cwd.display().to_string(),
            "agent": request.agent,
            "agentKind": request.agent_kind,
            "request": essence(request),
            "reply": {
                "id": reply.id,
                "model": reply.model,
                "content": reply.blocks.iter().map(wire::block).collect::<Vec<_>>(),
                "stop_reason": reply.stop.word(),
                "usage": wire::usage(&reply.usage),
            },
        });
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A recording that cannot be written must not cost the run it records.
        let _ = writeln!(file, "{line}");
    }
}

impl Model for Recorder {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let reply = self.inner.call(request, on).await?;
            self.write(request, &reply);
            Ok(reply)
        })
    }
}

/// What matters of a request.
fn essence(request: &Request) -> Value {
    json!({
        "tools": request.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(),
        "messages": request.messages.iter().map(wire::message).collect::<Vec<_>>(),
    })
}

/// A recorded run.
#[derive(Debug)]
pub struct Recording {
    /// The lines of each agent, in order.
    parts: Vec<Part>,
    /// Who plays whose part, by the ids of agents: recorded and new.
    cast: Mutex<Cast>,
}

/// What one agent was asked and answered.
#[derive(Debug)]
struct Part {
    /// The agent's id; empty for the main one.
    agent: Box<str>,
    kind: Box<str>,
    lines: Vec<Value>,
}

impl Recording {
    /// Reads a recording.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScriptError> {
        let mut parts: Vec<Part> = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let value: Value = serde_json::from_str(line).map_err(|error| ScriptError::Invalid {
                path: path.to_owned(),
                line: u32::try_from(number + 1).unwrap_or(u32::MAX),
                column: u32::try_from(error.column()).unwrap_or(u32::MAX),
                message: format!("not a line of a recording: {error}"),
            })?;
            let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
            let (agent, kind) = (word("agent"), word("agentKind"));
            match parts.iter_mut().find(|part| &*part.agent == agent) {
                Some(part) => part.lines.push(value),
                None => parts.push(Part { agent: agent.into(), kind: kind.into(), lines: vec![value] }),
            }
        }
        Ok(Self { parts, cast: Mutex::default() })
    }

    pub(super) fn answer(&self, number: usize, request: &Request, world: &World) -> Result<Reply, Failure> {
        let diverged = |text: String| Failure::new(FailureKind::Diverged, text);
        let whose =
            request.agent_kind.as_ref().map(|kind| format!(" of the agent {kind}")).unwrap_or_default();
        let (part, cast) = self.part(request, world).map_err(diverged)?;
        let Some(line) = part.lines.get(number) else {
            let text =
                format!("the recording has {} requests{whose}; the run makes another", part.lines.len());
            return Err(diverged(text));
        };
        let now = Now { world, cast: &cast };
        let wanted = now.of(line, "request");
        if let Some(difference) = difference(&wanted, &essence(request)) {
            return Err(diverged(format!(
                "request {}{whose} differs from the recording:\n{difference}",
                number + 1
            )));
        }
        let reply = now.of(line, "reply");
        let text = |key: &str| reply.get(key).and_then(Value::as_str).unwrap_or_default();
        Ok(Reply {
            id: text("id").into(),
            model: text("model").into(),
            blocks: wire::read_content(reply.get("content").unwrap_or(&Value::Null)),
            stop: StopReason::parse(text("stop_reason")),
            usage: wire::read_usage(reply.get("usage").unwrap_or(&Value::Null)),
        })
    }

    /// The part an agent plays, and who plays what by now. A newcomer gets the part that begins with what it was asked;
    /// if none does, the first of its kind that is left, so that the difference can be told.
    fn part(&self, request: &Request, world: &World) -> Result<(&Part, Cast), String> {
        let mut cast = self.cast.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(agent) = request.agent.as_deref() else {
            let main = self.parts.iter().find(|part| part.agent.is_empty());
            let main = main.ok_or("the recording has no requests of the main agent")?;
            return Ok((main, cast.clone()));
        };
        let kind = request.agent_kind.as_deref().unwrap_or_default();
        if let Some((recorded, _)) = cast.iter().find(|(_, new)| &**new == agent) {
            let part = self.parts.iter().find(|part| part.agent == *recorded);
            return Ok((part.ok_or("the recording has lost an agent")?, cast.clone()));
        }
        let is_free = |part: &&Part| !cast.iter().any(|(recorded, _)| *recorded == part.agent);
        let of_kind = |part: &&Part| !part.agent.is_empty() && &*part.kind == kind;
        let free: Vec<&Part> = self.parts.iter().filter(of_kind).filter(is_free).collect();
        let given = essence(request);
        let begins = |part: &&&Part| {
            let now = Now { world, cast: &cast };
            part.lines.first().is_some_and(|line| difference(&now.of(line, "request"), &given).is_none())
        };
        let part = free.iter().find(begins).or(free.first()).copied();
        let recorded = self.parts.iter().filter(of_kind).count();
        let part = part.ok_or_else(|| {
            format!("the recording has {recorded} agents of the kind {kind}; the run starts another")
        })?;
        cast.push((part.agent.clone(), agent.into()));
        Ok((part, cast.clone()))
    }
}

/// Recorded and new ids of agents.
type Cast = Vec<(Box<str>, Box<str>)>;

/// What a recorded line means here and now.
struct Now<'a> {
    world: &'a World,
    cast: &'a Cast,
}

impl Now<'_> {
    fn of(&self, line: &Value, key: &str) -> Value {
        let value = line.get(key).unwrap_or(&Value::Null);
        let then = line.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let mut value = match then {
            "" => value.clone(),
            then => {
                let here = self.world.cwd.display().to_string();
                let moved_there = moved(value, then, &here);
                // Transcripts of agents lie in a folder that is called after the place.
                moved(&moved_there, &project_key(Path::new(then)), &project_key(&self.world.cwd))
            }
        };
        for (recorded, new) in self.cast {
            value = moved(&value, recorded, new);
        }
        value
    }
}

/// The same value with one folder in place of another.
fn moved(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(from, to)),
        Value::Array(items) => items.iter().map(|item| moved(item, from, to)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), moved(value, from, to))).collect(),
        other => other.clone(),
    }
}

fn readable(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    text.replace("\\n", "\n")
}

/// How long an agent took, and under which session it was written down, changes from run to run and says nothing.
fn comparable(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_sessions(&without_durations(text))),
        Value::Array(items) => items.iter().map(comparable).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), comparable(value))).collect(),
        other => other.clone(),
    }
}

fn without_durations(text: &str) -> String {
    let mut pieces = text.split("duration_ms");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let lead = if piece.starts_with(": ") { 2 } else { usize::from(piece.starts_with('>')) };
        kept.push_str("duration_ms");
        kept.push_str(&piece[..lead]);
        kept.push_str(piece[lead..].trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    kept
}

/// Ids of sessions as they stand in paths: `/8-4-4-4-12 hexadecimal digits/`.
fn without_sessions(text: &str) -> String {
    let is_id = |part: &str| {
        let lengths = part.split('-').map(str::len);
        lengths.eq([8, 4, 4, 4, 12]) && part.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
    };
    text.split('/').map(|part| if is_id(part) { "SESSION" } else { part }).collect::<Vec<_>>().join("/")
}

/// What differs, as lines with `-` (recorded) and `+` (now); `None` if nothing does.
fn difference(wanted: &Value, given: &Value) -> Option<String> {
    let pair = |key: &str| (wanted.get(key).unwrap_or(&Value::Null), given.get(key).unwrap_or(&Value::Null));
    for (key, at) in ["tools", "messages"].into_iter().zip(["the tools on offer", "what was said"]) {
        let (wanted, given) = pair(key);
        let (wanted, given) = (&comparable(wanted), &comparable(given));
        if wanted == given {
            continue;
        }
        let (before, after) = first_difference(wanted, given);
        let diff = similar::TextDiff::from_lines(&before, &after);
        let lines = diff.unified_diff().context_radius(2).to_string();
        let shown: Vec<&str> = lines.lines().take(40).collect();
        return Some(format!("in {at}:\n{}", shown.join("\n")));
    }
    None
}

/// The first item of two lists that differs, or the whole.
fn first_difference(wanted: &Value, given: &Value) -> (String, String) {
    let (Some(before), Some(after)) = (wanted.as_array(), given.as_array()) else {
        return (readable(wanted), readable(given));
    };
    let at = before.iter().zip(after).position(|(a, b)| a != b).unwrap_or(before.len().min(after.len()));
    let show = |items: &[Value]| items.get(at).map(readable).unwrap_or_default();
    (format!("{}\n", show(before)), format!("{}\n", show(after)))
}
