//! How lines are shown to a model: numbered, and cut where they are too long to be read.

use std::borrow::Cow;

/// A line with its number, as `cat -n` writes it.
pub(super) fn numbered(number: usize, line: &str) -> String {
    format!("{number:>6}\t{line}")
}

/// The line, or as much of it as is shown, with a mark that says how much is missing.
pub(super) fn cut(line: &str, most: usize) -> Cow<'_, str> {
    match line.char_indices().nth(most) {
        None => Cow::Borrowed(line),
        Some((at, _)) => Cow::Owned(shortened(&line[..at], line[at..].chars().count())),
    }
}

/// A line whose end is left out.
pub(super) fn shortened(kept: &str, missing: usize) -> String {
    format!("{kept}… [{missing} more characters]")
}

/// Something the model should know that is not part of the file.
pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>{text}</system-reminder>")
}

/// A size for people.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
