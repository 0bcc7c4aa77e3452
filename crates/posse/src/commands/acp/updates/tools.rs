//! How the use of a tool looks in an editor: its title, its kind, the files it is about, what it changes. Pure.

use std::path::{Path, PathBuf};

use posse_core::message::{Content, ToolAnswer, ToolCall};
use serde_json::Value;

use crate::commands::acp::words::{Call, Kind, Place, Shown};

/// Titles are one line; longer ones are cut.
const LONGEST_TITLE: usize = 120;

/// Whether a tool's use is shown in another way: the to-do list is the plan.
pub(super) fn is_hidden(tool: &str) -> bool {
    tool == "TodoWrite"
}

/// What kind of thing a tool does.
pub(super) fn kind(tool: &str) -> Kind {
    match tool {
        "Read" => Kind::Read,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Kind::Edit,
        "Glob" | "Grep" | "ToolSearch" => Kind::Search,
        "Bash" => Kind::Execute,
        "Agent" | "Task" => Kind::Think,
        "WebFetch" | "WebSearch" => Kind::Fetch,
        "EnterPlanMode" | "ExitPlanMode" => Kind::Mode,
        _ => Kind::Other,
    }
}

/// What a call is to do. Which one it is and how far is for others to say.
pub(in crate::commands::acp) fn about(call: &ToolCall, cwd: &Path) -> Call {
    Call {
        tool: Some(call.name.to_string()),
        title: Some(title(call, cwd)),
        kind: Some(kind(&call.name)),
        shown: Some(intended(call, cwd)),
        places: Some(places(call, cwd)),
        input: Some(call.input.clone()),
        ..Call::default()
    }
}

fn title(call: &ToolCall, cwd: &Path) -> String {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let file = || {
        let path = text("file_path").or_else(|| text("path")).or_else(|| text("notebook_path"));
        path.map_or_else(|| "a file".to_owned(), |path| short(path, cwd))
    };
    let within = || text("path").map(|path| format!(" in {}", short(path, cwd))).unwrap_or_default();
    let title = match &*call.name {
        "Bash" => text("command").map(|command| format!("`{command}`")),
        "Read" => Some(format!("Read {}{}", file(), lines(&call.input))),
        "Edit" | "MultiEdit" => Some(format!("Edit {}", file())),
        "Write" => Some(format!("Write {}", file())),
        "NotebookEdit" => Some(format!("Edit {}", file())),
        "Glob" => text("pattern").map(|pattern| format!("Find `{pattern}`{}", within())),
        "Grep" => text("pattern").map(|pattern| format!("Search for `{pattern}`{}", within())),
        "WebFetch" => text("url").map(|url| format!("Fetch {url}")),
        "WebSearch" => text("query").map(|query| format!("Search the web for “{query}”")),
        "Agent" | "Task" => text("description").map(|task| match text("subagent_type") {
            Some(kind) => format!("{kind}: {task}"),
            None => task.to_owned(),
        }),
        "Skill" => text("skill").or_else(|| text("command")).map(|skill| format!("Skill {skill}")),
        "EnterPlanMode" => Some("Plan first".to_owned()),
        "ExitPlanMode" => Some("Ready to carry out the plan?".to_owned()),
        "AskUserQuestion" => Some("A question to you".to_owned()),
        name => name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(of_server),
    };
    one_line(&title.unwrap_or_else(|| call.name.to_string()))
}

fn of_server((server, tool): (&str, &str)) -> String {
    format!("{tool} ({server})")
}

fn lines(input: &Value) -> String {
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (from, None) => format!(" from line {}", from.unwrap_or(1)),
        (from, Some(many)) => {
            let from = from.unwrap_or(1).max(1);
            format!(" (lines {from}–{})", from.saturating_add(many).saturating_sub(1))
        }
    }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(LONGEST_TITLE).collect();
    match (short.len() < line.len(), line.starts_with('`')) {
        (false, _) => line,
        (true, false) => format!("{short}…"),
        (true, true) => format!("{short}…`"),
    }
}

/// A path as people of the project call it.
fn short(path: &str, cwd: &Path) -> String {
    let inside = Path::new(path).strip_prefix(cwd).ok().filter(|rest| !rest.as_os_str().is_empty());
    inside.unwrap_or(Path::new(path)).display().to_string()
}

/// The file a call is about.
fn file(call: &ToolCall, cwd: &Path) -> Option<PathBuf> {
    let keys: &[&str] = match &*call.name {
        "Read" | "Edit" | "Write" | "MultiEdit" => &["file_path", "path"],
        "NotebookEdit" => &["notebook_path"],
        "Glob" | "Grep" => &["path"],
        _ => &[],
    };
    let path = keys.iter().find_map(|key| call.input.get(key)?.as_str())?;
    Some(cwd.join(path))
}

fn places(call: &ToolCall, cwd: &Path) -> Vec<Place> {
    let line = call.input.get("offset").filter(|_| &*call.name == "Read");
    let line = line.and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    file(call, cwd).map(|path| Place { path, line }).into_iter().collect()
}

/// What there is to see before anything has happened.
fn intended(call: &ToolCall, cwd: &Path) -> Vec<Shown> {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str).map(str::to_owned);
    let diff = |old: Option<String>, new: Option<String>| {
        let (path, new) = (file(call, cwd)?, new?);
        Some(Shown::Diff { path, old, new })
    };
    let one = match &*call.name {
        "Edit" => diff(text("old_string").filter(|old| !old.is_empty()), text("new_string")),
        "Write" => diff(None, text("content")),
        "NotebookEdit" => diff(None, text("new_source")),
        "MultiEdit" => return edits(call, cwd),
        "ExitPlanMode" => text("plan").map(Shown::Text),
        "Agent" | "Task" => text("prompt").map(Shown::Text),
        "Bash" => text("description").map(Shown::Text),
        _ => None,
    };
    one.into_iter().collect()
}

/// Several changes of one file, as other programs' transcripts have them.
fn edits(call: &ToolCall, cwd: &Path) -> Vec<Shown> {
    let Some(path) = file(call, cwd) else { return Vec::new() };
    let edits = call.input.get("edits").and_then(Value::as_array).into_iter().flatten();
    let diff = |edit: &Value| {
        let text = |key: &str| edit.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Shown::Diff { path: path.clone(), old: text("old_string"), new: text("new_string")? })
    };
    edits.filter_map(diff).collect()
}

/// What came of a call: what there is to see, and where, if that is better known now.
pub(super) fn outcome(call: &ToolCall, answer: &ToolAnswer, cwd: &Path) -> (Vec<Shown>, Option<Vec<Place>>) {
    let changed = answer.structured.as_ref().filter(|_| !answer.is_error).and_then(|result| {
        let diffs = changes(&call.name, result, &file(call, cwd)?);
        (!diffs.is_empty()).then_some(diffs)
    });
    if let Some(diffs) = changed {
        let (shown, places): (Vec<Shown>, Vec<Place>) = diffs.into_iter().unzip();
        return (shown, Some(places));
    }
    let is_verbatim = answer.is_error || matches!(&*call.name, "Bash" | "Read" | "Grep" | "Glob");
    let shown = |content: &Content| match content {
        Content::Text(text) if text.trim().is_empty() => None,
        Content::Text(text) if is_verbatim => Some(Shown::Text(fenced(text))),
        Content::Text(text) => Some(Shown::Text(text.clone())),
        Content::Media(media) if media.kind() == "image" => {
            Some(Shown::Image { media_type: media.media_type.to_string(), data: media.data.clone() })
        }
        Content::Media(media) => Some(Shown::Text(format!("[{}]", media.media_type))),
    };
    (answer.content.iter().filter_map(shown).collect(), None)
}

/// The changes a tool has made, with the place of each.
fn changes(tool: &str, result: &Value, path: &Path) -> Vec<(Shown, Place)> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
    let whole = |old: Option<String>, new: Option<String>| {
        let new = new?;
        let place = Place { path: path.to_owned(), line: None };
        Some((Shown::Diff { path: path.to_owned(), old, new }, place))
    };
    match tool {
        "Write" if result.get("originalFile").is_none_or(Value::is_null) => {
            whole(None, text("content")).into_iter().collect()
        }
        "Edit" | "MultiEdit" | "Write" => {
            let hunks = result.get("structuredPatch").and_then(Value::as_array).into_iter().flatten();
            hunks.filter_map(|one| hunk(one, path)).collect()
        }
        "NotebookEdit" => whole(text("original_file"), text("updated_file")).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// A hunk as the two texts it stands for.
fn hunk(hunk: &Value, path: &Path) -> Option<(Shown, Place)> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for line in hunk.get("lines")?.as_array()?.iter().filter_map(Value::as_str) {
        match (line.get(..1), line.get(1..)) {
            (Some("-"), Some(rest)) => old.push(rest),
            (Some("+"), Some(rest)) => new.push(rest),
            (Some(" "), Some(rest)) => {
                old.push(rest);
                new.push(rest);
            }
            _ => {}
        }
    }
    let line = hunk.get("newStart").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let place = Place { path: path.to_owned(), line };
    Some((Shown::Diff { path: path.to_owned(), old: Some(old.join("\n")), new: new.join("\n") }, place))
}

/// A text to be shown as it is, whatever it looks like.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests;
