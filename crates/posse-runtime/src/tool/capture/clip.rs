//! The beginning and the end of a long text.

use std::borrow::Cow;

/// No character is longer in UTF-8, so this many bytes per character hold every text within the limit.
const WIDEST: usize = 4;

/// Keeps a text while it is short, and its beginning and end when it is not. Memory stays within a multiple of the
/// limit.
#[derive(Debug)]
pub(crate) struct Clip {
    /// Characters to show.
    limit: usize,
    head: Vec<u8>,
    /// What came after the head, or at least the last `limit * WIDEST` bytes of it.
    tail: Vec<u8>,
    bytes: u64,
    lines: u64,
    /// Counted only until they are too many.
    characters: usize,
}

impl Clip {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, head: Vec::new(), tail: Vec::new(), bytes: 0, lines: 0, characters: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.lines += count_lines(bytes);
        if self.characters <= self.limit {
            // Bytes that continue a character do not begin one.
            self.characters += bytes.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count();
        }
        let room = (self.limit * WIDEST).saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        let keep = self.limit * WIDEST;
        if self.tail.len() > 2 * keep {
            self.tail.drain(..self.tail.len() - keep);
        }
    }

    /// Whether all of it is still here, and short enough to be shown.
    pub(crate) fn is_whole(&self) -> bool {
        self.characters <= self.limit && self.tail.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The beginning; everything, while it is whole.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The text. If it is too long, its middle is replaced by what `gap` makes of how much is missing.
    pub(crate) fn text(&self, gap: impl FnOnce(&str) -> String) -> String {
        if self.is_whole() {
            return decode(&self.head).into_owned();
        }
        let half = self.limit / 2;
        let front = decode(&self.head);
        let front = front_lines(first(&front, half));
        // One character more than half: the first of them may be cut.
        let wanted = (half + 1) * WIDEST;
        let mut end = tail_of(&self.head, wanted.saturating_sub(self.tail.len())).to_vec();
        end.extend_from_slice(tail_of(&self.tail, wanted));
        let back = decode(&end);
        let back = back_lines(last(&back, half));
        let lines = self.lines.saturating_sub(count_lines(front.as_bytes()) + count_lines(back.as_bytes()));
        let bytes = self.bytes.saturating_sub((front.len() + back.len()) as u64);
        let left = if lines > 0 { format!("{lines} lines") } else { format!("{bytes} bytes") };
        let end = if front.is_empty() || front.ends_with('\n') { "" } else { "\n" };
        format!("{front}{end}{}\n{back}", gap(&left))
    }

    /// How many bytes of memory it takes.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.head.capacity() + self.tail.capacity()
    }
}

/// Text of whatever bytes, for a model: what is no text shows as such, and so does NUL, which some providers refuse.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn tail_of(bytes: &[u8], count: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(count)..]
}

/// The first so many characters.
fn first(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

/// The last so many characters.
fn last(text: &str, count: usize) -> &str {
    if count == 0 {
        return "";
    }
    text.char_indices().nth_back(count - 1).map_or(text, |(start, _)| &text[start..])
}

/// Ends at the end of a line, if that costs less than a quarter.
fn front_lines(text: &str) -> &str {
    match text.rfind('\n') {
        Some(end) if end >= text.len() / 4 * 3 => &text[..=end],
        Some(_) | None => text,
    }
}

/// Begins at the beginning of a line, if that costs less than a quarter.
fn back_lines(text: &str) -> &str {
    match text.find('\n') {
        Some(end) if end <= text.len() / 4 => &text[end + 1..],
        Some(_) | None => text,
    }
}
