//! Text files, a part at a time. A file of any size is read through once, and only what is shown is kept.

use std::io::BufRead;
use std::path::Path;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Part;
use crate::tool::ToolOutput;
use crate::tool::builtin::fs::{self, Answer};
use crate::tool::builtin::view;

/// Lines shown unless asked otherwise.
const USUAL_LINES: usize = 2000;
/// Characters shown of a line.
const MAX_LINE: usize = 2000;
/// Bytes that hold so many characters and one more, whatever they are.
const KEPT: usize = (MAX_LINE + 1) * 4;
/// Bytes shown at once: about 25,000 tokens.
pub(super) const MAX_SHOWN: usize = 100_000;

/// Shows a part of a text.
pub(super) fn read(source: impl BufRead, path: &Path, part: Part, stop: &CancellationToken) -> Answer {
    let mut view = View::new(part);
    view.fill(source, path, stop)?;
    let View { first, lines, total, lossy, .. } = view;
    let structured = json!({
        "type": "text",
        "file": {
            "filePath": path.display().to_string(),
            "content": lines.join("\n"),
            "numLines": lines.len(),
            "startLine": first,
            "totalLines": total,
        },
    });
    let last = first - 1 + lines.len();
    let numbered = (first..).zip(&lines).map(|(number, line)| view::numbered(number, line));
    let mut shown: Vec<String> = numbered.collect();
    if total == 0 {
        shown.push(view::reminder("The file exists but is empty."));
    } else if first > total {
        let text = format!("Nothing is shown: the file has {total} lines, and offset is {first}.");
        shown.push(view::reminder(&text));
    } else if last < total {
        let text =
            format!("Lines {first} to {last} of {total} are shown. Use offset and limit to read the others.");
        shown.push(view::reminder(&text));
    }
    if lossy {
        shown.push(view::reminder(
            "The file is not valid UTF-8; \u{fffd} stands for what could not be decoded. Edit will refuse it.",
        ));
    }
    Ok(ToolOutput::text(shown.join("\n")).with(structured))
}

/// What is shown of a file, and what has been seen on the way.
struct View {
    first: usize,
    count: usize,
    lines: Vec<String>,
    /// Lines so far.
    total: usize,
    /// Bytes so far of what is shown, numbers included.
    size: usize,
    lossy: bool,
    line: Line,
}

/// The line that is being read.
#[derive(Default)]
struct Line {
    /// Its beginning.
    kept: Vec<u8>,
    /// Its length in bytes and characters.
    bytes: usize,
    characters: usize,
    ends_in_return: bool,
}

impl View {
    fn new(part: Part) -> Self {
        let Part { first, count } = part;
        Self {
            first,
            count: count.unwrap_or(USUAL_LINES),
            lines: Vec::new(),
            total: 0,
            size: 0,
            lossy: false,
            line: Line::default(),
        }
    }

    fn fill(
        &mut self,
        mut source: impl BufRead,
        path: &Path,
        stop: &CancellationToken,
    ) -> Result<(), String> {
        loop {
            fs::go_on(stop)?;
            let chunk = source
                .fill_buf()
                .map_err(|error| format!("{} could not be read: {error}", path.display()))?;
            if chunk.is_empty() {
                break;
            }
            for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
                match piece.strip_suffix(b"\n") {
                    Some(end) => {
                        self.extend(end);
                        self.end_line(path)?;
                    }
                    None => self.extend(piece),
                }
            }
            let length = chunk.len();
            source.consume(length);
        }
        if self.line.bytes > 0 {
            self.end_line(path)?;
        }
        Ok(())
    }

    /// Whether the line that is being read is shown.
    fn wanted(&self) -> bool {
        self.total + 1 >= self.first && self.lines.len() < self.count
    }

    fn extend(&mut self, piece: &[u8]) {
        let wanted = self.wanted();
        let line = &mut self.line;
        line.bytes += piece.len();
        if wanted {
            line.kept.extend_from_slice(&piece[..piece.len().min(KEPT - line.kept.len())]);
            line.characters += piece.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
            line.ends_in_return = piece.last().map_or(line.ends_in_return, |byte| *byte == b'\r');
        }
    }

    fn end_line(&mut self, path: &Path) -> Result<(), String> {
        let wanted = self.wanted();
        let line = std::mem::take(&mut self.line);
        self.total += 1;
        if !wanted {
            return Ok(());
        }
        let (line, lossy) = line.shown(self.total == 1);
        self.lossy |= lossy;
        self.size += line.len() + 8;
        if self.size > MAX_SHOWN {
            let fit = self.lines.len();
            let what = format!("What was asked of {} comes to", path.display());
            let advice = format!(
                "Use offset and limit to read a part ({fit} lines from line {} fit), or Grep to find what you need.",
                self.first
            );
            return Err(super::too_much(&what, &advice));
        }
        self.lines.push(line);
        Ok(())
    }
}

impl Line {
    /// The line as it is shown, and whether something in it could not be decoded.
    fn shown(mut self, first_of_file: bool) -> (String, bool) {
        let whole = self.kept.len() == self.bytes;
        if self.ends_in_return {
            self.characters -= 1;
            if whole {
                self.kept.pop();
            }
        }
        let mut kept = self.kept.as_slice();
        if first_of_file && let Some(rest) = kept.strip_prefix("\u{feff}".as_bytes()) {
            kept = rest;
            self.characters -= 1;
        }
        // The beginning of a long line may end within a character; that is our doing, not the file's.
        let valid = match std::str::from_utf8(kept) {
            Ok(_) => true,
            Err(error) => !whole && error.error_len().is_none(),
        };
        let text = String::from_utf8_lossy(kept);
        let text = match text.char_indices().nth(MAX_LINE) {
            Some((at, _)) => view::shortened(&text[..at], self.characters.saturating_sub(MAX_LINE)),
            None => text.into_owned(),
        };
        (text, !valid)
    }
}
