//! Worktrees for people and for programs: values in, text out.

use posse_runtime::worktree::{Dropped, Entry, Merged, Saved, Standing, State};
use posse_runtime::world::Clock;
use serde_json::{Value, json};

use super::listing::pad;
use super::style::{Style, plain};

/// The list of worktrees, and of what was saved.
pub fn list(entries: &[Entry], saved: &[Saved], clock: &Clock, style: Style) -> String {
    let mut text = String::new();
    let widest = entries.iter().map(|entry| entry.name.len()).max().unwrap_or_default();
    for entry in entries {
        let standing = pad(entry.standing.word(), 8);
        let standing = match entry.standing {
            Standing::Running => style.good(&standing),
            Standing::Stale => style.error(&standing),
            Standing::Kept | Standing::Foreign => style.dim(&standing),
        };
        let name = style.bold(&pad(&plain(&entry.name), widest));
        text.push_str(&format!("{name}  {standing}  {}\n", plain(&state(entry))));
        text.push_str(&format!("  {}\n", style.dim(&plain(&about(entry, clock)))));
    }
    if entries.is_empty() {
        text.push_str(&format!("{}\n", style.dim("no worktrees of agents")));
    }
    if !saved.is_empty() {
        text.push_str(&format!("\n{}\n", style.bold("Saved of removed worktrees")));
        for one in saved {
            let short = one.name.trim_start_matches("refs/posse/saved/");
            text.push_str(&format!("  {}  {}\n", plain(short), style.dim(short_id(&one.commit))));
        }
    }
    if entries.iter().any(|entry| entry.standing == Standing::Stale) {
        let hint = "stale: its run is gone; `posse worktrees diff`, `merge` or `drop` it";
        text.push_str(&format!("\n{}\n", style.hint(hint)));
    }
    text
}

fn state(entry: &Entry) -> String {
    match &entry.state {
        Ok(State::Unchanged { ignored: 0 }) => "unchanged".to_owned(),
        Ok(State::Unchanged { .. }) => "unchanged, but for ignored files".to_owned(),
        Ok(State::Changed(changes)) => changes.to_string(),
        Err(error) => format!("cannot be read: {error}"),
    }
}

fn about(entry: &Entry, clock: &Clock) -> String {
    let Some(record) = &entry.record else { return entry.path.display().to_string() };
    let base = format!("from {} {}", record.kind.word(), short_id(&record.base));
    let age = record.age(clock).map(age).unwrap_or_default();
    format!("{}, {base}, agent {}{age}", record.branch, record.agent)
}

fn age(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..60 => return ", just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!(", {number} {unit}{plural} ago")
}

fn short_id(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// What was taken over.
pub fn merged(merged: &Merged) -> String {
    let name = &merged.name;
    match (merged.files, merged.committed) {
        (0, false) => format!("{name} holds nothing to merge\n"),
        (files, true) => format!("merged {name}: {}\nposse worktrees drop {name}\n", count(files)),
        (files, false) => {
            format!("brought over {name}: {}, not committed\nposse worktrees drop {name}\n", count(files))
        }
    }
}

fn count(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

/// What was removed, and where it is now.
pub fn dropped(dropped: &Dropped) -> String {
    let mut text = format!("{} is removed\n", dropped.name);
    for saved in &dropped.saved {
        let short = saved.name.trim_start_matches("refs/posse/saved/");
        text.push_str(&format!("saved as {}\nposse worktrees restore {short}\n", saved.name));
    }
    if dropped.saved.is_empty() && dropped.moved.is_none() {
        text.push_str("there was nothing to save\n");
    }
    if dropped.left.files > 0 {
        let megabytes = dropped.left.bytes.div_ceil(1_000_000);
        text.push_str(&format!(
            "not saved: {} that git ignores, {megabytes} MB\n",
            count(dropped.left.files)
        ));
    }
    if let Some(branch) = &dropped.branch_kept {
        text.push_str(&format!("the branch {branch} is checked out elsewhere and stays\n"));
    }
    if let Some(place) = &dropped.moved {
        text.push_str(&format!("its folder was moved to {}\n", place.display()));
    }
    text
}

/// `posse worktrees --json`.
pub fn list_json(entries: &[Entry], saved: &[Saved]) -> Value {
    json!({
        "worktrees": entries.iter().map(entry_json).collect::<Vec<_>>(),
        "saved": saved.iter().map(saved_json).collect::<Vec<_>>(),
    })
}

fn entry_json(entry: &Entry) -> Value {
    let record = entry.record.as_ref();
    let (state, changes, error) = match &entry.state {
        Ok(State::Unchanged { ignored }) => ("unchanged", json!({ "ignored": ignored }), None),
        Ok(State::Changed(changes)) => {
            let odd: Vec<String> = changes.odd.iter().map(ToString::to_string).collect();
            let value = json!({
                "commits": changes.commits, "tracked": changes.tracked, "untracked": changes.untracked,
                "ignored": changes.ignored, "odd": odd,
            });
            ("changed", value, None)
        }
        Err(error) => ("unknown", Value::Null, Some(error.to_string())),
    };
    json!({
        "name": entry.name,
        "path": entry.path,
        "branch": record.map(|record| &record.branch),
        "base": record.map(|record| &record.base),
        "baseKind": record.map(|record| record.kind.word()),
        "agent": record.map(|record| &record.agent),
        "session": record.map(|record| &record.session),
        "pid": record.map(|record| record.pid),
        "created": record.map(|record| &record.created),
        "standing": entry.standing.word(),
        "state": state,
        "changes": changes,
        "error": error,
    })
}

fn saved_json(saved: &Saved) -> Value {
    json!({ "ref": saved.name, "commit": saved.commit, "at": saved.at })
}

/// `posse worktrees drop --json`.
pub fn dropped_json(dropped: &Dropped) -> Value {
    json!({
        "name": dropped.name,
        "saved": dropped.saved.iter().map(saved_json).collect::<Vec<_>>(),
        "notSaved": { "files": dropped.left.files, "bytes": dropped.left.bytes },
        "branchKept": dropped.branch_kept,
        "moved": dropped.moved,
    })
}
