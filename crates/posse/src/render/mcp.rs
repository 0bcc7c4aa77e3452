//! MCP servers for people and for programs: values in, text out.

use posse_runtime::mcp::config::{Configured, Found};
use posse_runtime::mcp::{State, Status};
use serde_json::{Value, json};

use super::listing::pad;
use super::style::{Style, plain};

/// A line per server, with what is wrong below it.
pub fn list(found: &Found, statuses: &[Status], style: Style) -> String {
    let mut text = String::new();
    let widest = found.servers.iter().map(|one| one.name.chars().count()).max().unwrap_or_default();
    for (one, status) in pairs(found, statuses) {
        let name = style.bold(&pad(&plain(&one.name), widest));
        let tools = match status.tools {
            Some(1) => ", 1 tool".to_owned(),
            Some(tools) => format!(", {tools} tools"),
            None => String::new(),
        };
        let words =
            one.config.as_ref().map(|config| format!("  {}", plain(&config.words()))).unwrap_or_default();
        text.push_str(&format!("{name}  {}{tools}{}\n", state(status.state, style), style.dim(&words)));
        if let Some(error) = &status.error {
            text.push_str(&format!("  {}\n", plain(error)));
        }
    }
    if found.servers.is_empty() {
        text.push_str(&format!("{}\n", style.dim("no MCP servers are configured")));
    }
    for one in &found.diagnostics {
        text.push_str(&format!(
            "{} {}\n",
            style.error("!"),
            plain(&format!("{}: {}", one.file.display(), one.text))
        ));
    }
    text
}

/// Everything about servers of one name.
pub fn details(found: &Found, statuses: &[Status], style: Style) -> String {
    let mut text = String::new();
    for (one, status) in pairs(found, statuses) {
        text.push_str(&format!("{}  {}\n", style.bold(&plain(&one.name)), state(status.state, style)));
        let words = one.config.as_ref().map(posse_core::mcp::McpConfig::words).unwrap_or_default();
        let facts = status.facts.as_deref();
        let server = facts.map(|facts| format!("{} {}", facts.server, facts.version)).unwrap_or_default();
        let error = status.error.clone().unwrap_or_default();
        let source = format!("{} ({})", one.file.display(), one.source.label());
        for (label, value) in
            [("from", source), ("reached by", words), ("calls itself", server), ("wrong", error)]
        {
            if !value.trim().is_empty() {
                text.push_str(&format!("  {} {}\n", pad(label, 12), plain(&value)));
            }
        }
        for tool in facts.map(|facts| facts.tools.as_slice()).unwrap_or_default() {
            let first = tool.description.lines().next().unwrap_or_default();
            text.push_str(&format!("  {}  {}\n", plain(&tool.name), style.dim(&plain(first))));
        }
        for out in facts.map(|facts| facts.left_out.as_slice()).unwrap_or_default() {
            text.push_str(&format!("  {} {}\n", style.error("left out"), plain(out)));
        }
    }
    text
}

/// The same for programs.
pub fn list_json(found: &Found, statuses: &[Status]) -> Value {
    let servers: Vec<Value> = pairs(found, statuses)
        .map(|(one, status)| {
            json!({
                "name": one.name,
                "status": status.state.word(),
                "source": one.source.label(),
                "file": one.file.display().to_string(),
                "error": status.error,
                "tools": status.facts.as_ref().map(|facts| {
                    facts.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
                }),
            })
        })
        .collect();
    json!({ "servers": servers })
}

/// Each server with how it is; the two lists go side by side.
fn pairs<'a>(found: &'a Found, statuses: &'a [Status]) -> impl Iterator<Item = (&'a Configured, &'a Status)> {
    found.servers.iter().zip(statuses)
}

fn state(state: State, style: Style) -> String {
    match state {
        State::Connected => style.good(state.word()),
        State::Failed => style.error(state.word()),
        State::NeedsAuth => style.hint(state.word()),
        State::Pending | State::Disabled => style.dim(state.word()),
    }
}
