//! Calls that no model makes: a program on the other end wants a tool of a server used, or something of it read.

use std::time::Duration;

use posse_core::mcp::{Standing, full_name, normalized};
use posse_core::message::json as wire;
use posse_core::message::{Content, ToolAnswer};
use serde_json::{Map, Value, json};

use super::roster::is_within_host;
use super::{CallOptions, Holder, Lease, Servers, output};
use crate::tool::ToolCx;

/// Characters of an answer that a program is handed. Lines with more are not read by everybody.
const LONGEST: usize = 800_000;

/// A call that no model makes.
#[derive(Debug)]
pub struct DirectCall<'a> {
    /// The tool, as models call it: `mcp__server__tool`.
    pub tool: &'a str,
    /// What it is given.
    pub input: Map<String, Value>,
    /// Whether the answer is wanted as the server gives it, and not as a model would read it.
    pub as_it_is: bool,
    /// How long it may take, if not as long as every call.
    pub limit: Option<Duration>,
}

impl Servers {
    /// The server and the tool that a full name means; the server is reached if nobody knows its tools.
    pub async fn tool_named(&self, name: &str) -> Result<(Lease, String), String> {
        let unknown = || format!("there is no tool {name}");
        let rest = name.strip_prefix("mcp__").ok_or_else(unknown)?;
        let configured = self.configured();
        let fits = |server: &str| {
            rest.strip_prefix(normalized(server).as_str()).is_some_and(|rest| rest.starts_with("__"))
        };
        let ready = configured.iter().filter(|one| one.standing == Standing::Ready && fits(&one.name));
        let server = &ready.max_by_key(|one| one.name.len()).ok_or_else(unknown)?.name;
        self.check(server).map_err(|error| error.to_string())?;
        let lease = self.lease(server, Holder { agent: "", own: false }).ok_or_else(unknown)?;
        let facts = lease.facts().await.map_err(|error| format!("MCP server not connected: {error}"))?;
        let tool = facts.tools.iter().find(|tool| full_name(server, &tool.name).as_deref() == Some(name));
        Ok((lease, tool.ok_or_else(unknown)?.name.clone()))
    }

    /// Calls a tool for a program: what it answered, or why there is no answer.
    pub async fn call_directly(&self, call: DirectCall<'_>, cx: &ToolCx) -> Result<Value, String> {
        let DirectCall { tool, input, as_it_is, limit } = call;
        let (lease, name) = self.tool_named(tool).await?;
        refuse_own(&lease)?;
        let options = CallOptions { stop: cx.stop.clone(), progress: None, call: "" };
        let calling = lease.call(&name, input, options);
        let answer = match limit {
            None => calling.await,
            Some(limit) => {
                let late = || format!("{tool} did not answer within {} s", limit.as_secs_f64());
                tokio::time::timeout(limit, calling).await.map_err(|_| late())?
            }
        };
        let answer = answer.map_err(|error| error.to_string())?;
        let structured = answer.structured_content.clone();
        let mut reply = if as_it_is && answer.is_error != Some(true) {
            json!({ "content": answer.content })
        } else {
            let facts = lease.known();
            let fact = facts.iter().flat_map(|facts| &facts.tools).find(|tool| tool.name == name);
            let longest = fact.and_then(|fact| fact.longest_result);
            let output = output::of_call(answer, lease.limits(), longest, cx).await;
            let read =
                ToolAnswer { id: Box::default(), content: output.content, is_error: false, structured: None };
            if output.is_error {
                return Err(read.plain());
            }
            json!({ "content": blocks(&read) })
        };
        if let Some(structured) = structured {
            reply["structuredContent"] = structured;
        }
        bounded(reply)
    }

    /// Reads what a program is to show: a page of a server's user interface.
    pub async fn read_directly(&self, server: &str, uri: &str) -> Result<Value, String> {
        if !uri.starts_with("ui://") {
            return Err(format!("only ui:// resources can be read this way, not {uri}"));
        }
        self.check(server).map_err(|error| error.to_string())?;
        let lease = self.lease(server, Holder { agent: "", own: false });
        let lease = lease.ok_or_else(|| format!("Server not found: {server}"))?;
        refuse_own(&lease)?;
        let read = lease.read(uri, CallOptions::default()).await.map_err(|error| error.to_string())?;
        bounded(json!({ "contents": read.contents }))
    }
}

/// Whoever has a server inside can call it without a detour.
fn refuse_own(lease: &Lease) -> Result<(), String> {
    if is_within_host(lease.config()) {
        return Err(format!("{} is a server of the host itself: call it there", lease.name()));
    }
    Ok(())
}

fn blocks(answer: &ToolAnswer) -> Value {
    match answer.content.as_slice() {
        [Content::Text(text)] => json!([{ "type": "text", "text": text }]),
        _ => wire::tool_result(answer)["content"].take(),
    }
}

fn bounded(reply: Value) -> Result<Value, String> {
    let length = reply.to_string().len();
    if length > LONGEST {
        return Err(format!("the answer has {length} characters; at most {LONGEST} can be handed over"));
    }
    Ok(reply)
}
