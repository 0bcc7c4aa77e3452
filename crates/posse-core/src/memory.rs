//! An agent's memory as far as it is words: what its folder is called, and what the agent is told about it.
//!
//! Where the folder lies and what is in it, others find out.

use std::collections::BTreeMap;

use crate::definition::MemoryScope;

/// The file that is put into the prompt.
pub const INDEX: &str = "MEMORY.md";
/// Lines of it that are.
pub const MAX_LINES: usize = 200;
/// Characters of it that are.
pub const MAX_CHARACTERS: usize = 25_000;

/// The longest name of a folder, in bytes. File systems stop at 255, and snapshots are made under longer names.
const LONGEST: usize = 200;

/// The name of an agent's folder: a single, visible path component, whatever the agent is called.
pub fn folder_name(agent: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let mut name: String = agent.trim().chars().map(safe).collect();
    // A leading dot hides a folder, and one or two of them alone are no folder of its own.
    let dots = name.len() - name.trim_start_matches('.').len();
    name.replace_range(..dots, &"-".repeat(dots));
    let end = (0..=LONGEST.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or_default();
    name.truncate(end);
    if name.is_empty() { "agent".into() } else { name }
}

/// Agents that would share a folder, by folder. Case does not tell folders apart: on some disks it cannot.
pub fn collisions<'a>(agents: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, Vec<&'a str>> {
    let mut by_folder: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for agent in agents {
        by_folder.entry(folder_name(agent).to_lowercase()).or_default().push(agent);
    }
    by_folder.retain(|_, agents| agents.len() > 1);
    by_folder
}

/// The part of a system prompt about memory. `index`: the text of `MEMORY.md`, if there is one.
pub fn section(scope: MemoryScope, folder: &str, index: Option<&str>) -> String {
    let guide = include_str!("memory/guide.md").trim();
    let whose = match scope {
        MemoryScope::User => {
            "This memory goes with you through all of the user's projects: keep what you save general."
        }
        MemoryScope::Project => {
            "This memory belongs to this project and is shared with its people through version control: save what helps \
             all of them, and nothing private."
        }
        MemoryScope::Local => {
            "This memory belongs to this project on this machine and is not shared: what holds only here may go in."
        }
    };
    let content = match index.map(str::trim).filter(|index| !index.is_empty()) {
        Some(index) => bounded(index),
        None => format!("{INDEX} is empty. What you save will be listed here next time."),
    };
    format!(
        "# Persistent Agent Memory\n\nYou have a memory of your own in `{folder}`. The folder exists; write to it \
         directly.\n\n{guide}\n\n{whose}\n\n## {INDEX}\n\n{content}"
    )
}

/// As much of the index as fits, cut between lines where that is possible, and a line that says so.
fn bounded(index: &str) -> String {
    let (lines, characters) = (index.lines().count(), index.chars().count());
    if lines <= MAX_LINES && characters <= MAX_CHARACTERS {
        return index.to_owned();
    }
    let by_lines = index.split_inclusive('\n').take(MAX_LINES).map(str::len).sum();
    let by_characters = index.char_indices().nth(MAX_CHARACTERS).map_or(index.len(), |(at, _)| at);
    let cut = if by_characters < by_lines {
        index[..by_characters].rfind('\n').unwrap_or(by_characters)
    } else {
        by_lines
    };
    let shown = index[..cut].trim_end();
    format!(
        "{shown}\n\n> WARNING: {INDEX} has {lines} lines and {characters} characters; at most {MAX_LINES} lines and \
         {MAX_CHARACTERS} characters are shown. It is cut after line {}. Shorten it: one line for each memory, details \
         in files of their own.",
        shown.lines().count()
    )
}

#[cfg(test)]
mod tests;
