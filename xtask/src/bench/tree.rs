//! Writes a tree of 50,000 files that look like source code, to search in. The same on every machine.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::agents::{Dice, end_project_here};

/// How many files there are.
pub(super) const FILES: u32 = 50_000;
/// Found in one file of a hundred.
pub(super) const PATTERN: &str = r"fn handle_[a-z]+_timeout\(";
/// One file of five.
pub(super) const GLOB: &str = "**/*.rs";
/// In the name of every file, and in no other name around.
pub(super) const MARK: &str = "source_";

const PER_FOLDER: u32 = 100;
const EXTENSIONS: &[&str] = &["rs", "py", "ts", "md", "json"];
const WORDS: &[&str] = &[
    "account", "answer", "buffer", "cache", "channel", "config", "counter", "entry", "event", "field",
    "handle", "index", "input", "limit", "message", "number", "option", "parser", "request", "result",
    "session", "state", "stream", "table", "timeout", "token", "user", "value",
];

/// Puts the files under `project/tree`, unless they are there already.
pub(super) fn generate(project: &Path) -> io::Result<()> {
    // Changing what is written below means changing this number, or old files stay.
    let stamp = format!("format 1, {FILES} files\n");
    let stamp_file = project.join("generated.txt");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    let tree = project.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    for folder in 0..FILES / PER_FOLDER {
        let place = tree.join(format!("part_{:02}/module_{folder:03}", folder / 10));
        fs::create_dir_all(&place)?;
        for index in folder * PER_FOLDER..(folder + 1) * PER_FOLDER {
            fs::write(place.join(name(index)), text(index))?;
        }
    }
    end_project_here(project)?;
    fs::write(stamp_file, stamp)
}

fn name(index: u32) -> String {
    format!("{MARK}{index:05}.{}", EXTENSIONS[index as usize % EXTENSIONS.len()])
}

/// One to six kilobytes.
fn text(index: u32) -> String {
    let mut dice = Dice(u64::from(index) + 1);
    let lines = 20 + dice.below(100);
    let hit = (index % 100 == 42).then(|| dice.below(lines));
    let mut text = String::new();
    for line in 0..lines {
        let mut word = || dice.pick(WORDS);
        let done = if hit == Some(line) {
            writeln!(text, "pub fn handle_{}_timeout({}: u64) {{", word(), word())
        } else {
            writeln!(text, "    let {}_{} = self.{}.{}({});", word(), word(), word(), word(), word())
        };
        debug_assert!(done.is_ok(), "writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests;
