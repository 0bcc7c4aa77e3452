//! What changed between two texts, as hunks of lines. Knows lines; knows nothing of files.

use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::view;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// After this a coarser difference has to do: two large texts with little in common cost the product of their lengths.
const PATIENCE: Duration = Duration::from_millis(500);

/// A group of changes with the lines around them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hunk {
    /// The first line in the old text, from 1.
    old_start: usize,
    /// How many lines of the old text.
    old_lines: usize,
    /// The first line in the new text, from 1.
    new_start: usize,
    /// How many lines of the new text.
    new_lines: usize,
    /// The lines, each after ` `, `-` or `+`; after `\` a remark, as in unified diffs.
    lines: Vec<String>,
}

/// The changes that lead from one text to the other. `\r\n` counts as a plain line break.
pub(super) fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    // Cut by hand: similar also takes a lone `\r` for a line break, and the numbers would differ from Read's.
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(&old, &new);
    let groups = diff.grouped_ops(CONTEXT);
    groups
        .iter()
        .filter_map(|operations| {
            let (first, last) = (operations.first()?, operations.last()?);
            let (old, new) = (
                first.old_range().start..last.old_range().end,
                first.new_range().start..last.new_range().end,
            );
            let mut lines = Vec::new();
            for change in operations.iter().flat_map(|operation| diff.iter_changes(operation)) {
                let sign = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                let line = change.value();
                lines.push(format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
                if !line.ends_with('\n') {
                    lines.push("\\ No newline at end of file".to_owned());
                }
            }
            Some(Hunk {
                old_start: old.start + 1,
                old_lines: old.len(),
                new_start: new.start + 1,
                new_lines: new.len(),
                lines,
            })
        })
        .collect()
}

/// The new text around the changes, numbered, and no more of it than one wants to read.
pub(super) fn snippet(hunks: &[Hunk]) -> String {
    const LINES: usize = 60;
    const WIDTH: usize = 500;
    let mut shown = Vec::new();
    let mut left_out = 0;
    for (place, hunk) in hunks.iter().enumerate() {
        let new = hunk.lines.iter().filter_map(|line| line.strip_prefix([' ', '+']));
        if place > 0 && shown.len() < LINES {
            shown.push("   ...".to_owned());
        }
        for (number, line) in (hunk.new_start..).zip(new) {
            if shown.len() < LINES {
                shown.push(view::numbered(number, &view::cut(line, WIDTH)));
            } else {
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        shown.push(format!("   ... [{left_out} more lines]"));
    }
    shown.join("\n")
}
