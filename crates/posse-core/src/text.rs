//! Positions in a text, and text that cannot steer a terminal. Knows bytes, lines, columns and characters; knows nothing
//! of what the text says.

/// Text of unknown origin on one line: no control characters, and none that turn the direction of what is read.
pub fn plain(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// A range of bytes in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span over `start..end`; offsets beyond 4 GiB saturate (files are capped far below).
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end.max(start)) }
    }

    /// An empty span, for "something is missing here".
    pub fn point(at: usize) -> Self {
        Self::new(at, at)
    }

    /// The range as `usize`, for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A span in the terms a person uses: lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Line of the first character.
    pub line: u32,
    /// Column of the first character.
    pub column: u32,
    /// Line of the end.
    pub end_line: u32,
    /// Column one past the last character.
    pub end_column: u32,
}

/// Finds the line and column of a span.
pub fn locate(text: &str, span: Span) -> Location {
    let (line, column) = line_column(text, span.start as usize);
    let (end_line, end_column) =
        if span.end == span.start { (line, column) } else { line_column(text, span.end as usize) };
    Location { line, column, end_line, end_column }
}

fn line_column(text: &str, offset: usize) -> (u32, u32) {
    let offset = floor_char(text, offset);
    let before = &text[..offset];
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = before[line_start(text, offset)..].chars().count() + 1;
    (to_u32(line), to_u32(column))
}

/// The byte at which a column of a line lies; past the end of the line, its end. Inverse of [`locate`].
pub fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let rest = text[start..].lines().next().unwrap_or_default();
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at)
}

/// The start of the line that holds `offset`.
pub fn line_start(text: &str, offset: usize) -> usize {
    text[..floor_char(text, offset)].rfind('\n').map_or(0, |at| at + 1)
}

/// The line that holds `offset`, without its line break.
pub fn line_at(text: &str, offset: usize) -> &str {
    let start = line_start(text, offset);
    text[start..].split('\n').next().unwrap_or_default().trim_end_matches('\r')
}

fn floor_char(text: &str, mut offset: usize) -> usize {
    offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The lines of a text with the byte each starts at; line breaks (`\n`, `\r\n`) are left out.
pub fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split('\n').map(move |line| {
        let start = at;
        at += line.len() + 1;
        (start, line.strip_suffix('\r').unwrap_or(line))
    })
}

#[cfg(test)]
mod tests;
