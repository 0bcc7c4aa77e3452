//! Words: where one ends, what its quotes leave, and whether its value can be told.
//!
//! Knows bash's quoting. Refuses to know where a word stands; what a `$` means is next door, in `expand`.

use super::reader::{Argument, Reader, Reading};
use super::{Variable, Word};

/// A word while it is read.
#[derive(Default)]
pub(super) struct Lexed {
    pub(super) text: String,
    /// Only known when it runs.
    pub(super) open: bool,
    pub(super) splits: bool,
    quoted: bool,
    /// How it begins, if with a tilde.
    tilde: Option<Tilde>,
    brace: bool,
    glob: bool,
    /// A tilde after `=` or `:`, which bash takes for the home folder in what looks like an assignment.
    late_tilde: bool,
    joined: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tilde {
    Quoted,
    Bare,
}

impl Lexed {
    pub(super) fn push_quoted(&mut self, text: &str) {
        self.quoted = true;
        if self.text.is_empty() && self.tilde.is_none() && text.starts_with('~') {
            self.tilde = Some(Tilde::Quoted);
        }
        self.text.push_str(text);
    }

    fn push_bare(&mut self, character: char) {
        match character {
            '~' if self.text.is_empty() => {
                self.tilde = Some(if self.quoted { Tilde::Quoted } else { Tilde::Bare });
            }
            '~' if self.text.ends_with(['=', ':']) => self.late_tilde = true,
            '*' | '?' | '[' => self.glob = true,
            '{' => self.brace = true,
            ',' if self.brace => self.opens(true),
            '.' if self.brace && self.text.ends_with('.') => self.opens(true),
            _ => {}
        }
        self.text.push(character);
    }

    pub(super) fn opens(&mut self, splits: bool) {
        self.open = true;
        self.splits |= splits;
    }

    /// What a program gets, given how the word is written.
    fn finish(mut self, raw: &str) -> Argument {
        if self.glob && !matches!(raw, "[" | "[[") {
            self.opens(true);
        }
        let other_home = self.tilde == Some(Tilde::Bare) && self.text != "~" && !self.text.starts_with("~/");
        if self.late_tilde || other_home {
            self.opens(false);
        }
        let word = if self.open {
            Word::Open(raw.into())
        } else if self.tilde == Some(Tilde::Quoted) {
            Word::Known(format!("./{}", self.text).into())
        } else {
            Word::Known(self.text.into())
        };
        Argument { word, variable: None, splits: self.splits, number: is_number(raw) }
    }
}

/// Whether a word as written can be nothing but a number: `$?`, `"${#list[@]}"`.
fn is_number(raw: &str) -> bool {
    let raw = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw);
    let length = |raw: &str| {
        let name = raw.strip_prefix("${#").and_then(|raw| raw.strip_suffix('}'));
        name.is_some_and(|name| is_name(name.strip_suffix("[@]").unwrap_or(name)))
    };
    let calculated = |raw: &str| raw.starts_with("$((") && raw.ends_with("))") && !raw[1..].contains('$');
    matches!(raw, "$?" | "$#" | "$$" | "$!") || length(raw) || calculated(raw)
}

/// How a name can be written before `=`.
pub(super) fn is_name(text: &str) -> bool {
    text.bytes()
        .enumerate()
        .all(|(at, byte)| byte == b'_' || byte.is_ascii_alphabetic() || (at > 0 && byte.is_ascii_digit()))
        && !text.is_empty()
}

impl<'a> Reader<'a> {
    /// The word that names a command.
    pub(super) fn command_word(&mut self) -> Reading<Argument> {
        let from = self.at;
        let lexed = self.word()?;
        let raw = self.slice(from);
        if lexed.joined {
            self.doubt(from, "is a command name over two lines");
        }
        if lexed.brace && lexed.open {
            self.doubt(from, "is a command made by a brace expansion");
        }
        if raw.split_once('[').is_some_and(|(name, _)| is_name(name)) {
            self.doubt(from, "may set an element of an array");
        }
        self.not_a_descriptor(from)?;
        Ok(lexed.finish(raw))
    }

    /// A further word of a command called `program`.
    pub(super) fn argument(&mut self, program: Option<&str>) -> Reading<Argument> {
        let from = self.at;
        let Some((name, append)) = self.name_before_equals() else {
            let lexed = self.word()?;
            self.not_a_descriptor(from)?;
            return Ok(lexed.finish(self.slice(from)));
        };
        let declares =
            matches!(program, Some("declare" | "typeset" | "local" | "export" | "readonly" | "eval"));
        self.at += name.len() + 1 + usize::from(append);
        if self.peek() == b'(' && declares {
            let value = self.array()?;
            let variable = Variable { name: name.into(), value };
            let word = Word::Open(self.slice(from).into());
            return Ok(Argument { word, variable: Some(variable), splits: true, number: false });
        }
        let value_at = self.at;
        let lexed = self.word()?;
        let home = lexed.tilde == Some(Tilde::Bare);
        let text = format!("{}{}", self.source.get(from..value_at).unwrap_or_default(), lexed.text);
        let argument = lexed.finish(self.slice(value_at));
        let word = match argument.word {
            Word::Known(_) if !home => Word::Known(text.into()),
            Word::Known(_) | Word::Open(_) => Word::Open(self.slice(from).into()),
        };
        let value = if append { Word::Open(self.slice(value_at).into()) } else { argument.word };
        let variable = Some(Variable { name: name.into(), value });
        Ok(Argument { word, variable, ..argument })
    }

    /// `{name}>file` puts a number into a variable.
    fn not_a_descriptor(&mut self, from: usize) -> Reading<()> {
        if matches!(self.peek(), b'<' | b'>') && self.slice(from).ends_with('}') {
            self.doubt(from, "sets a variable by a redirection");
        }
        Ok(())
    }

    fn name_before_equals(&self) -> Option<(&'a str, bool)> {
        let bare = self.bare();
        let (name, _) = bare.split_once('=')?;
        let (name, append) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        is_name(name).then_some((name, append))
    }

    /// `NAME=value` before a command, if that is here.
    pub(super) fn assignment(&mut self) -> Reading<Option<Variable>> {
        let from = self.at;
        if let Some((name, append)) = self.name_before_equals() {
            let name: Box<str> = name.into();
            self.at += name.len() + 1 + usize::from(append);
            if append {
                self.bash_only(from);
            }
            let value_at = self.at;
            let value = if self.peek() == b'(' { self.array()? } else { self.value()? };
            let value = if append { Word::Open(self.slice(value_at).into()) } else { value };
            return Ok(Some(Variable { name, value }));
        }
        let bare = self.bare();
        let element = bare.split_once('[').filter(|(name, _)| is_name(name));
        let Some((name, rest)) = element else { return Ok(None) };
        let Some((index, rest)) = rest.split_once(']') else { return Ok(None) };
        if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) || !rest.starts_with('=') {
            return Ok(None);
        }
        let name: Box<str> = name.into();
        self.at = from + name.len() + index.len() + 3;
        self.bash_only(from);
        let value = self.value()?;
        Ok(Some(Variable { name, value }))
    }

    /// What stands behind `=`; nothing at all is an empty text.
    fn value(&mut self) -> Reading<Word> {
        if !self.at_word() {
            return Ok(Word::Known("".into()));
        }
        let from = self.at;
        let lexed = self.word()?;
        Ok(lexed.finish(self.slice(from)).word)
    }

    /// `(a b c)` behind `NAME=`.
    fn array(&mut self) -> Reading<Word> {
        let from = self.at;
        self.bash_only(from);
        if self.within > 0 {
            // Bash prints what is in a substitution and reads it again, and prints lists without their quotes.
            self.doubt_at(from, self.end, "is a list within a substitution");
        }
        self.at += 1;
        self.inside(None, |reader| {
            loop {
                reader.newlines()?;
                if reader.peek() == b')' {
                    reader.at += 1;
                    return Ok(());
                }
                if !reader.at_word() {
                    return reader.stop("is not understood");
                }
                let element = reader.at;
                reader.word()?;
                let raw = reader.slice(element);
                if raw.starts_with('[') && raw.contains('=') {
                    reader.doubt(element, "has an index that bash would calculate");
                }
            }
        })?;
        Ok(Word::Open(self.slice(from).into()))
    }

    /// The file of a redirection; none for a process substitution.
    pub(super) fn target(&mut self) -> Reading<Option<Word>> {
        let from = self.at;
        let substituted = self.looking_at("<(") || self.looking_at(">(");
        let lexed = self.word()?;
        let raw = self.slice(from);
        let alone = substituted && lexed.text.is_empty() && !lexed.quoted;
        if alone && raw.ends_with(')') { Ok(None) } else { Ok(Some(lexed.finish(raw).word)) }
    }

    /// A word like any other, for its value.
    pub(super) fn some_word(&mut self) -> Reading<Argument> {
        self.blanks();
        if !self.at_word() {
            return self.stop("lacks a word");
        }
        let from = self.at;
        let lexed = self.word()?;
        Ok(lexed.finish(self.slice(from)))
    }

    /// One word, from its first character to the one that ends it.
    pub(super) fn word(&mut self) -> Reading<Lexed> {
        let mut lexed = Lexed::default();
        loop {
            match self.peek() {
                0 if self.done() => break,
                b'<' | b'>' if self.peek_at(1) == b'(' => {
                    self.process_substitution()?;
                    lexed.opens(false);
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\'' => self.single_quotes(&mut lexed)?,
                b'"' => self.double_quotes(&mut lexed)?,
                b'`' => {
                    self.backticks(false)?;
                    lexed.opens(true);
                }
                b'$' => self.dollar(&mut lexed, false)?,
                b'\\' => self.backslash(&mut lexed)?,
                _ => self.bare_character(&mut lexed),
            }
        }
        Ok(lexed)
    }

    fn bare_character(&mut self, lexed: &mut Lexed) {
        let Some(character) = self.source[self.at..self.end].chars().next() else { return };
        let from = self.at;
        self.at += character.len_utf8();
        if is_invisible(character) {
            self.doubt(from, "has an invisible character");
        }
        lexed.push_bare(character);
    }

    fn backslash(&mut self, lexed: &mut Lexed) -> Reading<()> {
        self.at += 1;
        if self.peek() == b'\n' {
            self.at += 1;
            lexed.joined = true;
            return Ok(());
        }
        let Some(character) = self.source[self.at..self.end].chars().next() else {
            return self.stop("ends with a backslash");
        };
        self.at += character.len_utf8();
        lexed.push_quoted(character.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn single_quotes(&mut self, lexed: &mut Lexed) -> Reading<()> {
        self.at += 1;
        let rest = &self.source[self.at..self.end];
        let Some(length) = rest.find('\'') else { return self.stop("has a quote without an end") };
        let text = &rest[..length];
        self.newlines_in_quotes(text)?;
        lexed.push_quoted(text);
        self.at += length + 1;
        Ok(())
    }

    fn newlines_in_quotes(&mut self, text: &str) -> Reading<()> {
        if text.contains('\n') && self.heredocs_wait() {
            return self.stop("goes on after a line with a heredoc");
        }
        Ok(())
    }

    pub(super) fn double_quotes(&mut self, lexed: &mut Lexed) -> Reading<()> {
        let from = self.at;
        self.at += 1;
        lexed.push_quoted("");
        loop {
            match self.peek() {
                0 if self.done() => return self.stop("has a quote without an end"),
                b'"' => {
                    self.at += 1;
                    let text = self.slice(from);
                    return self.newlines_in_quotes(text);
                }
                _ => self.quoted_character(lexed, b'"')?,
            }
        }
    }

    /// A character within double quotes or, without `quote`, within a heredoc.
    fn quoted_character(&mut self, lexed: &mut Lexed, quote: u8) -> Reading<()> {
        match self.peek() {
            b'`' => {
                self.backticks(true)?;
                lexed.opens(false);
            }
            b'$' => self.dollar(lexed, true)?,
            b'\\' if self.peek_at(1) == b'\n' => self.at += 2,
            b'\\'
                if matches!(self.peek_at(1), b'$' | b'`' | b'\\')
                    || (quote != 0 && self.peek_at(1) == quote) =>
            {
                let text = &self.source[self.at + 1..self.at + 2];
                lexed.push_quoted(text);
                self.at += 2;
            }
            _ => {
                let Some(character) = self.source[self.at..self.end].chars().next() else { return Ok(()) };
                self.at += character.len_utf8();
                lexed.push_quoted(character.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(())
    }

    /// The text of a heredoc whose end is not quoted, up to the end of what is being read.
    pub(super) fn heredoc_text(&mut self) -> Reading<()> {
        let mut lexed = Lexed::default();
        while !self.done() {
            self.quoted_character(&mut lexed, 0)?;
        }
        Ok(())
    }

    /// `$'…'`, after the dollar.
    pub(super) fn ansi_quotes(&mut self, lexed: &mut Lexed) -> Reading<()> {
        let from = self.at;
        self.bash_only(from);
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                0 if self.done() => return self.stop("has a quote without an end"),
                b'\'' => {
                    self.at += 1;
                    break;
                }
                b'\\' => {
                    self.at += 1;
                    match self.ansi_escape() {
                        Some(character) => text.push(character),
                        None => lexed.opens(false),
                    }
                }
                _ => {
                    let Some(character) = self.source[self.at..self.end].chars().next() else { break };
                    self.at += character.len_utf8();
                    text.push(character);
                }
            }
        }
        self.newlines_in_quotes(self.slice(from))?;
        lexed.push_quoted(&text);
        Ok(())
    }

    /// What an escape in `$'…'` stands for; none if it is no character, or one that ends the text.
    fn ansi_escape(&mut self) -> Option<char> {
        let letter = self.source[self.at..self.end].chars().next()?;
        self.at += letter.len_utf8();
        let code = match letter {
            'n' => return Some('\n'),
            't' => return Some('\t'),
            'r' => return Some('\r'),
            'a' => return Some('\x07'),
            'b' => return Some('\x08'),
            'e' | 'E' => return Some('\x1b'),
            'f' => return Some('\x0c'),
            'v' => return Some('\x0b'),
            '\\' | '\'' | '"' | '?' => return Some(letter),
            'x' => self.digits(16, 2).filter(|code| *code < 0x80),
            'u' => self.digits(16, 4),
            'U' => self.digits(16, 8),
            '0'..='7' => {
                self.at -= 1;
                self.digits(8, 3).filter(|code| *code < 0x80)
            }
            // `\cx` and what bash leaves as it is.
            _ => None,
        };
        code.and_then(char::from_u32)
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut code: Option<u32> = None;
        for _ in 0..most {
            let Some(digit) = char::from(self.peek()).to_digit(radix) else { break };
            code = Some(code.unwrap_or(0).wrapping_mul(radix).wrapping_add(digit));
            self.at += 1;
        }
        code.filter(|code| *code != 0)
    }
}

/// Blanks that bash does not take for blanks, and characters that make text look like other text.
fn is_invisible(character: char) -> bool {
    !character.is_ascii()
        && (character.is_whitespace()
            || character.is_control()
            || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{180e}'))
}
