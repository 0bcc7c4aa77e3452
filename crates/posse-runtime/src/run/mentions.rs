//! What a prompt mentions as `@path` or `@server:page`: fetched for the model before it is asked.
//!
//! Only the user's own words are looked at, as whoever takes them hands them over; what agents, hooks and files say
//! mentions nothing. What cannot be read, or must not be, stays a word of the prompt.

use std::path::Path;

use posse_core::message::Message;
use posse_core::skill::{self, Mention};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Run;
use crate::session::attached;
use crate::tool::{ToolCx, builtin};

/// As many files as one prompt can bring along.
const MOST_FILES: usize = 20;
/// As many things of a folder as are listed.
const MOST_LISTED: usize = 1000;

impl Run {
    /// What this text mentions is fetched for the next prompt. It must be the user's own words: whoever can write here
    /// can have files read.
    pub fn may_mention(&mut self, text: impl Into<String>) {
        self.mentions = Some(text.into());
    }

    /// What others have of what a prompt mentions: pages of servers.
    pub(super) async fn pages(&self, message: &Message, stop: &CancellationToken) -> Vec<String> {
        let Some(commands) = self.commands.clone().filter(|_| self.setup.agent.is_none()) else {
            return Vec::new();
        };
        let text = message.text();
        if !text.contains('@') {
            return Vec::new();
        }
        let mut cx = self.cx.clone();
        cx.stop = stop.child_token();
        tokio::select! {
            texts = commands.mentioned(&text, &cx) => texts,
            () = stop.cancelled() => Vec::new(),
        }
    }

    /// The files and folders that a text mentions, as far as they may be read.
    pub(super) async fn files(&self, text: &str, stop: &CancellationToken) -> Vec<Value> {
        let mut cx = self.cx.clone();
        cx.stop = stop.child_token();
        let mut found = Vec::new();
        for mention in skill::mentioned(text).into_iter().take(MOST_FILES) {
            let attachment = tokio::select! {
                attachment = self.file(&mention, &cx) => attachment,
                () = stop.cancelled() => break,
            };
            found.extend(attachment);
        }
        found
    }

    async fn file(&self, mention: &Mention, cx: &ToolCx) -> Option<Value> {
        let (path, cwd) = (cx.resolve(&mention.path), cx.cwd.get());
        let guard = &self.setup.guard;
        // Whether there is something is not even looked up where nothing may be read.
        if !guard.may_show(&path, &cwd) {
            return None;
        }
        let display = path.strip_prefix(&cwd).unwrap_or(&path).display().to_string();
        let full = path.display().to_string();
        let metadata = std::fs::metadata(&path).ok()?;
        if metadata.is_dir() {
            let listing = listing(&path, |entry| guard.may_show(entry, &cwd))?;
            return Some(attached::folder(&full, &display, &listing));
        }
        if !metadata.is_file() {
            return None;
        }
        let read = builtin::all().into_iter().find(|tool| tool.name() == "Read")?;
        let mut input = json!({ "file_path": full });
        if let Some((first, last)) = mention.lines {
            input["offset"] = json!(first);
            input["limit"] = json!(last - first + 1);
        }
        let output = read.run(input, cx).await;
        let content = output.structured.filter(|_| !output.is_error)?;
        Some(attached::file(&full, &display, &content, &output.content))
    }
}

/// What is in a folder, one line each, folders with a stroke behind them.
fn listing(folder: &Path, may_show: impl Fn(&Path) -> bool) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let shown = entries.filter(|entry| may_show(&entry.path()));
    let mut names: Vec<String> = shown
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() { format!("{name}/") } else { name }
        })
        .collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(MOST_LISTED);
    names.truncate(MOST_LISTED);
    if more > 0 {
        names.push(format!("({more} more)"));
    }
    Some(names.join("\n"))
}
