//! Finding a text in a file as a model remembers it: line breaks of either kind, quotes straight or curly.

use std::ops::Range;

/// A text in which things that may be taken for each other have become the same, and the way back to the original.
struct Folded {
    text: String,
    /// From this byte of the folded text on, so many bytes of the original are missing.
    dropped: Vec<(usize, usize)>,
}

impl Folded {
    fn new(original: &str, quotes: bool) -> Self {
        let mut folded = Self { text: String::with_capacity(original.len()), dropped: Vec::new() };
        let mut missing = 0;
        let mut characters = original.chars().peekable();
        while let Some(character) = characters.next() {
            let (plain, shorter) = match character {
                '\r' if characters.next_if_eq(&'\n').is_some() => ('\n', 1),
                _ if quotes => match straight(character) {
                    Some(quote) => (quote, character.len_utf8() - 1),
                    None => (character, 0),
                },
                _ => (character, 0),
            };
            folded.text.push(plain);
            if shorter > 0 {
                missing += shorter;
                folded.dropped.push((folded.text.len(), missing));
            }
        }
        folded
    }

    /// Where a place in the folded text is in the original; of a folded pair, its beginning.
    fn original(&self, at: usize) -> usize {
        match self.dropped.partition_point(|(from, _)| *from <= at) {
            0 => at,
            behind => at + self.dropped[behind - 1].1,
        }
    }

    fn places(&self, wanted: &str) -> Vec<Range<usize>> {
        let found = self.text.match_indices(wanted);
        found.map(|(at, _)| self.original(at)..self.original(at + wanted.len())).collect()
    }
}

/// The straight quote a curly one stands for.
fn straight(character: char) -> Option<char> {
    match character {
        '\u{2018}' | '\u{2019}' => Some('\''),
        '\u{201c}' | '\u{201d}' => Some('"'),
        _ => None,
    }
}

/// Where a text was found.
pub(super) struct Found {
    /// In bytes of the file's text, in order, without overlap.
    pub(super) places: Vec<Range<usize>>,
    /// Whether only with quotes of either kind taken for the same.
    by_quotes: bool,
}

/// Finds a text as it stands, else with quotes of either kind.
pub(super) fn find(text: &str, wanted: &str) -> Found {
    let look = |quotes| {
        let places = Folded::new(text, quotes).places(&Folded::new(wanted, quotes).text);
        Found { places, by_quotes: quotes }
    };
    let exact = look(false);
    if exact.places.is_empty() { look(true) } else { exact }
}

impl Found {
    /// The file's text with every place replaced, in the file's line breaks and quotes.
    pub(super) fn replace(&self, text: &str, old: &str, new: &str) -> String {
        let new = new.replace("\r\n", "\n");
        let all = text.matches('\n').count();
        let carried = text.matches("\r\n").count();
        let carries = carried * 2 > all;
        let mut edited = String::with_capacity(text.len() + new.len());
        let mut done = 0;
        for place in &self.places {
            edited.push_str(&text[done..place.start]);
            let mut put = if self.by_quotes { like(&text[place.clone()], old, &new) } else { new.clone() };
            if carries {
                put = put.replace('\n', "\r\n");
            }
            edited.push_str(&put);
            done = place.end;
        }
        edited.push_str(&text[done..]);
        edited
    }
}

/// The new text with its quotes as the file has them where the model had the other kind.
fn like(there: &str, old: &str, new: &str) -> String {
    let mut text = new.to_owned();
    for (plain, opening, closing) in [('"', '\u{201c}', '\u{201d}'), ('\'', '\u{2018}', '\u{2019}')] {
        let curly = [opening, closing];
        if there.contains(curly) && !old.contains(curly) {
            text = curled(&text, plain, opening, closing);
        } else if !there.contains(curly) && old.contains(curly) {
            text = text.replace(curly, &plain.to_string());
        }
    }
    text
}

/// Straight quotes made curly: opening at the start of a word, closing elsewhere, which is right for apostrophes too.
fn curled(text: &str, plain: char, opening: char, closing: char) -> String {
    let mut before = ' ';
    let curl = |character: char| {
        let opens = before.is_whitespace()
            || matches!(before, '(' | '[' | '{' | '\u{2013}' | '\u{2014}' | '\u{201c}');
        before = character;
        match character == plain {
            true if opens => opening,
            true => closing,
            false => character,
        }
    };
    text.chars().map(curl).collect()
}

/// The line, from 1, at which the same words begin with other blanks around them.
pub(super) fn same_but_for_blanks(text: &str, wanted: &str) -> Option<usize> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = wanted.trim().lines().map(words).collect();
    let lines: Vec<String> = text.lines().map(words).collect();
    if wanted.is_empty() || wanted.iter().all(String::is_empty) {
        return None;
    }
    lines.windows(wanted.len()).position(|window| window == wanted).map(|at| at + 1)
}
