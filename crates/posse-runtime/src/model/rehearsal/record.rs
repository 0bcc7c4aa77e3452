//! Recordings of real runs: one line per request, with what was asked and what was answered.
//!
//! What matters of a request is what was said and which tools were on offer. The system prompt, ids and the place on
//! disk do not: a recording replays in another folder, on another day.

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
#[derive(Clone, Debug)]
pub struct Recording {
    lines: Vec<Value>,
}

impl Recording {
    /// Reads a recording.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScriptError> {
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let value: Value = serde_json::from_str(line).map_err(|error| ScriptError::Invalid {
                path: path.to_owned(),
                line: u32::try_from(number + 1).unwrap_or(u32::MAX),
                column: u32::try_from(error.column()).unwrap_or(u32::MAX),
                message: format!("not a line of a recording: {error}"),
            })?;
            lines.push(value);
        }
        Ok(Self { lines })
    }

    pub(super) fn answer(&self, number: usize, request: &Request, world: &World) -> Result<Reply, Failure> {
        let diverged = |text: String| Failure::new(FailureKind::Diverged, text);
        let Some(line) = self.lines.get(number) else {
            let text = format!("the recording has {} requests; the run makes another", self.lines.len());
            return Err(diverged(text));
        };
        let then = line.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let here = world.cwd.display().to_string();
        let move_here =
            |value: &Value| if then.is_empty() { value.clone() } else { moved(value, then, &here) };
        let wanted = move_here(line.get("request").unwrap_or(&Value::Null));
        let given = essence(request);
        if let Some(difference) = difference(&wanted, &given) {
            return Err(diverged(format!(
                "request {} differs from the recording:\n{difference}",
                number + 1
            )));
        }
        let reply = move_here(line.get("reply").unwrap_or(&Value::Null));
        let text = |key: &str| reply.get(key).and_then(Value::as_str).unwrap_or_default();
        Ok(Reply {
            id: text("id").into(),
            model: text("model").into(),
            blocks: wire::read_content(reply.get("content").unwrap_or(&Value::Null)),
            stop: StopReason::parse(text("stop_reason")),
            usage: wire::read_usage(reply.get("usage").unwrap_or(&Value::Null)),
        })
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

/// Times, dates and process ids change from run to run and say nothing.
fn comparable(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    text.replace("\\n", "\n")
}

/// What differs, as lines with `-` (recorded) and `+` (now); `None` if nothing does.
fn difference(wanted: &Value, given: &Value) -> Option<String> {
    let pair = |key: &str| (wanted.get(key).unwrap_or(&Value::Null), given.get(key).unwrap_or(&Value::Null));
    for (key, at) in ["tools", "messages"].into_iter().zip(["the tools on offer", "what was said"]) {
        let (wanted, given) = pair(key);
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
        return (comparable(wanted), comparable(given));
    };
    let at = before.iter().zip(after).position(|(a, b)| a != b).unwrap_or(before.len().min(after.len()));
    let show = |items: &[Value]| items.get(at).map(comparable).unwrap_or_default();
    (format!("{}\n", show(before)), format!("{}\n", show(after)))
}
