//! Patterns for shell commands: `git diff:*`, `npm run *`, `* --version`.
//!
//! A pattern is compared with words, not with text: a blank in a pattern stands between words, never inside one, so
//! that `git diff` does not fit a program called "git diff".

use crate::shell::{self, Word};

/// Between words; cannot occur in one, since no program can be given it.
const BREAK: char = '\0';

/// A pattern for one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandPattern {
    /// Literal pieces between stars, blanks replaced by breaks.
    pieces: Vec<Box<str>>,
    /// Whether more words may follow (`:*` or ` *` at the end).
    open_end: bool,
    /// The program, if the pattern names it without a star.
    pub(super) program: Option<Box<str>>,
    /// The pattern as a whole text, for commands that equal it to the letter.
    text: Box<str>,
}

/// How a pattern fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It does, whatever open words turn out to be.
    Yes,
    /// It may: that depends on words only known when it runs.
    Maybe,
    /// It does not.
    No,
}

impl CommandPattern {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let (head, open_end) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(head) => (head.trim_end(), true),
            None => (text, false),
        };
        let broken = match quoted_words(head) {
            Some(words) => words.join(&BREAK.to_string()),
            None => head.split_whitespace().collect::<Vec<_>>().join(&BREAK.to_string()),
        };
        let pieces: Vec<Box<str>> = broken.split('*').map(Into::into).collect();
        let program = pieces.first().and_then(|first| {
            let (program, is_whole) = match first.split_once(BREAK) {
                Some((program, _)) => (program, true),
                None => (&**first, pieces.len() == 1),
            };
            (is_whole && !program.is_empty()).then(|| program.into())
        });
        Self { pieces, open_end, program, text: text.into() }
    }

    /// Whether the pattern is the whole command line, to the letter.
    pub(super) fn is_exactly(&self, source: &str) -> bool {
        // A blank to a shell is less than a blank to Unicode.
        let source = source.trim_matches([' ', '\t', '\n']);
        !self.open_end && self.pieces.len() == 1 && &*self.text == source
    }

    pub(super) fn fits(&self, words: &[Word]) -> Fit {
        self.fits_text(&Text::of(words))
    }

    /// The same for many patterns: the text is made once.
    pub(super) fn fits_text(&self, text: &Text) -> Fit {
        if self.matches(text) {
            Fit::Yes
        } else if text.has_open && self.may_match(text) {
            Fit::Maybe
        } else {
            Fit::No
        }
    }

    /// The pattern with its end made explicit: as characters, where a star is `None`.
    fn symbols(&self) -> Vec<Option<char>> {
        let mut symbols = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                symbols.push(None);
            }
            symbols.extend(piece.chars().map(Some));
        }
        symbols
    }

    fn matches(&self, text: &Text) -> bool {
        let ends = |rest: &str| rest.is_empty() || (self.open_end && rest.starts_with(BREAK));
        // An open end behind nothing is everything.
        if self.open_end && self.pieces.len() == 1 && self.pieces[0].is_empty() {
            return true;
        }
        let Some(rest) = text.flat.strip_prefix(&*self.pieces[0]) else { return false };
        match self.pieces.get(1..) {
            None | Some([]) => ends(rest),
            Some(more) => spans(rest, more, self.open_end),
        }
    }

    /// Whether some value of the open words makes the pattern fit: both sides may have stars.
    fn may_match(&self, text: &Text) -> bool {
        let mut pattern = self.symbols();
        if self.open_end {
            // The end of the text, or a break and anything: with open words about, anything is near enough.
            pattern.push(None);
        }
        let text = text.symbols();
        // reach[j]: the pattern so far can consume the first j symbols of the text.
        let mut reach = vec![false; text.len() + 1];
        reach[0] = true;
        spread_open(&mut reach, &text);
        for symbol in pattern {
            let mut next = vec![false; text.len() + 1];
            match symbol {
                None => {
                    let mut on = false;
                    for (at, slot) in next.iter_mut().enumerate() {
                        on |= reach[at];
                        *slot = on;
                    }
                }
                Some(wanted) => {
                    for (at, have) in text.iter().enumerate() {
                        match have {
                            Some(have) if *have == wanted => next[at + 1] |= reach[at],
                            Some(_) => {}
                            // An open word can hold this character and go on being open.
                            None => next[at] |= reach[at],
                        }
                    }
                }
            }
            spread_open(&mut next, &text);
            reach = next;
        }
        reach[text.len()]
    }
}

/// An open word can also be nothing (or end here).
fn spread_open(reach: &mut [bool], text: &[Option<char>]) {
    for at in 0..text.len() {
        if reach[at] && text[at].is_none() {
            reach[at + 1] = true;
        }
    }
}

/// Whether pieces occur in order, the last one at the end.
fn spans(mut rest: &str, pieces: &[Box<str>], open_end: bool) -> bool {
    let Some((last, middle)) = pieces.split_last() else { return true };
    for piece in middle {
        match rest.find(&**piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    if !open_end {
        return rest.ends_with(&**last);
    }
    let followed = format!("{last}{BREAK}");
    last.is_empty() || rest.ends_with(&**last) || rest.contains(&followed)
}

/// The words of a pattern that is written with quotes.
fn quoted_words(head: &str) -> Option<Vec<String>> {
    if !head.contains(['"', '\'', '\\']) || head.contains('*') {
        return None;
    }
    let script = shell::parse(head);
    let [run] = script.runs.as_slice() else { return None };
    let whole = script.doubts.is_empty() && run.variables.is_empty() && run.redirects.is_empty();
    let words: Option<Vec<String>> = run.words.iter().map(|word| word.known().map(str::to_owned)).collect();
    words.filter(|_| whole && run.wrapped.is_empty())
}

/// A command as patterns see it.
pub(super) struct Text {
    /// Words with breaks between them; an open word is one character that no pattern holds.
    flat: String,
    has_open: bool,
}

/// Stands for an open word.
const OPEN: char = '\u{1}';

impl Text {
    pub(super) fn of(words: &[Word]) -> Self {
        let mut flat = String::new();
        let mut has_open = false;
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                flat.push(BREAK);
            }
            match word {
                // A word that holds the sign for an open one is as good as open.
                Word::Known(text) if !text.contains([OPEN, BREAK]) => flat.push_str(text),
                Word::Known(_) | Word::Open(_) => {
                    flat.push(OPEN);
                    has_open = true;
                }
            }
        }
        Self { flat, has_open }
    }

    fn symbols(&self) -> Vec<Option<char>> {
        self.flat.chars().map(|c| (c != OPEN).then_some(c)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ')
            .map(|word| match word.strip_prefix('$') {
                Some(_) => Word::Open(word.into()),
                None => Word::Known(word.replace('_', " ").into()),
            })
            .collect()
    }

    #[test]
    fn patterns_fit_words() {
        // pattern, command (`_` is a blank inside a word, `$x` is open), fit
        let cases: &[(&str, &str, Fit)] = &[
            ("git diff:*", "git diff", Fit::Yes),
            ("git diff:*", "git diff --stat", Fit::Yes),
            ("git diff:*", "git difftool", Fit::No),
            ("git diff:*", "git diff $x", Fit::Yes),
            ("git diff:*", "git $x", Fit::Maybe),
            ("git diff:*", "$x diff", Fit::Maybe),
            ("git diff *", "git diff", Fit::Yes),
            ("git diff *", "git diff a b", Fit::Yes),
            ("git diff", "git diff", Fit::Yes),
            ("git diff", "git diff --stat", Fit::No),
            ("git diff", "git_diff", Fit::No),
            ("git  diff", "git diff", Fit::Yes),
            ("ls*", "lsof", Fit::Yes),
            ("ls *", "lsof", Fit::No),
            ("ls *", "ls", Fit::Yes),
            ("* --version", "node --version", Fit::Yes),
            ("* --version", "node --version x", Fit::No),
            ("git * main", "git push origin main", Fit::Yes),
            ("git * main", "git push origin main x", Fit::No),
            ("git * main:*", "git push origin main x", Fit::Yes),
            ("git * main:*", "git push origin mainline", Fit::No),
            ("npm run test:*", "npm run test:unit", Fit::No),
            ("npm run test*", "npm run test:unit", Fit::Yes),
            ("rm -rf:*", "rm $x", Fit::Maybe),
            ("rm -rf:*", "ls $x", Fit::No),
            ("rm -rf:*", "$x", Fit::Maybe),
            (":*", "anything at all", Fit::Yes),
            ("*", "anything at all", Fit::Yes),
            ("git commit -m \"a b\"", "git commit -m a_b", Fit::Yes),
            ("a*b*c", "aXbYc", Fit::Yes),
            ("a*b*c", "aXcYb", Fit::No),
        ];
        for (pattern, command, fit) in cases {
            assert_eq!(CommandPattern::parse(pattern).fits(&words(command)), *fit, "{pattern} | {command}");
        }
    }

    #[test]
    fn the_program_is_known_where_no_star_touches_it() {
        let program = |text: &str| CommandPattern::parse(text).program.map(String::from);
        assert_eq!(program("git diff:*"), Some("git".into()));
        assert_eq!(program("ls"), Some("ls".into()));
        assert_eq!(program("ls:*"), Some("ls".into()));
        assert_eq!(program("ls*"), None);
        assert_eq!(program("* x"), None);
        assert_eq!(program(":*"), None);
    }
}
