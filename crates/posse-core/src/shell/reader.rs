//! The reader: lists, pipelines, simple commands, redirections and heredocs, byte by byte as bash's own lexer goes.
//!
//! Knows the order of things in a text. Refuses to know what the commands mean. Whatever does not fit ends the reading
//! with a doubt; what was found until then is kept, for rules that deny.

use super::{Dialect, Doubt, Redirect, Variable, Word};

/// Everything found in one text.
#[derive(Default)]
pub(super) struct Found {
    /// In source order, but a substitution stands before the command it is in.
    pub(super) commands: Vec<Simple>,
    pub(super) doubts: Vec<Doubt>,
    /// Where a command word begins, in bytes.
    pub(super) starts: Vec<usize>,
    /// Whether something may run again or later than where it stands.
    pub(super) repeats: bool,
}

/// A command as written, not yet understood.
#[derive(Clone, Default)]
pub(super) struct Simple {
    pub(super) text: Box<str>,
    pub(super) variables: Vec<Variable>,
    pub(super) words: Vec<Argument>,
    pub(super) redirects: Vec<Redirect>,
}

/// A word of a command with what is known of its making.
#[derive(Clone)]
pub(super) struct Argument {
    pub(super) word: Word,
    /// For `NAME=value`.
    pub(super) variable: Option<Variable>,
    /// Whether it may become several words, or none.
    pub(super) splits: bool,
    /// Whether it can be nothing but a number: `$?`, `${#x}`.
    pub(super) number: bool,
}

impl Argument {
    pub(super) fn plain(word: Word) -> Self {
        let splits = matches!(word, Word::Open(_));
        Self { word, variable: None, splits, number: false }
    }

    pub(super) fn known(&self) -> Option<&str> {
        self.word.known()
    }
}

/// Reading cannot go on; the doubt has been noted.
pub(super) struct Stop;
pub(super) type Reading<T> = Result<T, Stop>;

struct Heredoc {
    end: Box<str>,
    tabs: bool,
    literal: bool,
}

pub(super) struct Reader<'a> {
    pub(super) source: &'a str,
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) dialect: Dialect,
    pub(super) found: Found,
    heredocs: Vec<Heredoc>,
    /// Inside something whose line has heredocs to come: where their text would begin is bash's secret.
    one_line: bool,
    pub(super) depth: usize,
    /// How many substitutions, arrays and the like we are in.
    pub(super) within: usize,
}

/// Constructs within constructs are followed this far; the stack is not endless.
pub(super) const DEEPEST: usize = 40;

/// Reads a whole text.
pub(super) fn read(source: &str, dialect: Dialect) -> Found {
    let mut reader = Reader {
        source,
        at: 0,
        end: source.len(),
        dialect,
        found: Found::default(),
        heredocs: Vec::new(),
        one_line: false,
        depth: 0,
        within: 0,
    };
    let _ = reader.all();
    reader.found
}

impl<'a> Reader<'a> {
    fn all(&mut self) -> Reading<()> {
        if self.source.bytes().any(|byte| byte.is_ascii_control() && byte != b'\n' && byte != b'\t') {
            self.doubt_at(0, self.end, "has a control character");
        }
        self.list()?;
        self.whole()
    }

    /// The text must be used up, and its heredocs with it.
    fn whole(&mut self) -> Reading<()> {
        if self.at < self.end {
            return self.stop("is not understood");
        }
        if self.heredocs.is_empty() { Ok(()) } else { self.stop("has a heredoc without an end") }
    }

    pub(super) fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// The byte `ahead`, or 0 at the end: a NUL in the text is a doubt anyway.
    pub(super) fn peek_at(&self, ahead: usize) -> u8 {
        let at = self.at + ahead;
        if at < self.end { self.source.as_bytes()[at] } else { 0 }
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        self.source.as_bytes()[self.at..self.end].starts_with(text.as_bytes())
    }

    pub(super) fn done(&self) -> bool {
        self.at >= self.end
    }

    pub(super) fn slice(&self, from: usize) -> &'a str {
        self.source.get(from..self.at).unwrap_or_default()
    }

    pub(super) fn doubt(&mut self, from: usize, why: &'static str) {
        self.doubt_at(from, self.at, why);
    }

    pub(super) fn doubt_at(&mut self, from: usize, to: usize, why: &'static str) {
        let text: String = self.source.get(from..to).unwrap_or(self.source).chars().take(200).collect();
        self.found.doubts.push(Doubt { text: text.into(), why });
    }

    pub(super) fn stop<T>(&mut self, why: &'static str) -> Reading<T> {
        self.doubt_at(self.at, self.end, why);
        Err(Stop)
    }

    /// A construct that plain shells read as something else.
    pub(super) fn bash_only(&mut self, from: usize) {
        if self.dialect == Dialect::Plain {
            let until = if self.at > from { self.at } else { self.end };
            self.doubt_at(from, until, "is read differently by plain shells");
        }
    }

    pub(super) fn expect(&mut self, text: &str) -> Reading<()> {
        if !self.looking_at(text) {
            return self.stop("is not understood");
        }
        self.at += text.len();
        Ok(())
    }

    /// Reads something that lies inside: one level deeper, on text of its own if a range is given.
    pub(super) fn inside<T>(
        &mut self,
        range: Option<(usize, usize)>,
        read: impl FnOnce(&mut Self) -> Reading<T>,
    ) -> Reading<T> {
        self.depth += 1;
        self.within += 1;
        if self.depth > DEEPEST {
            return self.stop("is too deep");
        }
        let outer = std::mem::take(&mut self.heredocs);
        let before = (self.at, self.end, self.one_line);
        self.one_line |= !outer.is_empty();
        if let Some((from, to)) = range {
            (self.at, self.end) = (from, to);
        }
        let result = read(self)?;
        if !self.heredocs.is_empty() {
            return self.stop("has a heredoc without an end");
        }
        self.heredocs = outer;
        self.one_line = before.2;
        if range.is_some() {
            (self.at, self.end) = (before.0, before.1);
        }
        self.depth -= 1;
        self.within -= 1;
        Ok(result)
    }

    /// Over spaces, tabs, joined lines and a comment, up to what may be a newline.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek_at(1) == b'\n' => self.at += 2,
                b'#' => {
                    let from = self.at;
                    while !self.done() && self.peek() != b'\n' {
                        self.at += 1;
                    }
                    if self.within > 0 {
                        self.doubt(from, "is a comment within something, which not every bash skips");
                    }
                }
                _ => return,
            }
        }
    }

    /// Over blanks, comments and newlines, with the heredocs that begin there.
    pub(super) fn newlines(&mut self) -> Reading<()> {
        self.blanks();
        while self.peek() == b'\n' {
            self.newline_in_text()?;
            self.at += 1;
            for heredoc in std::mem::take(&mut self.heredocs) {
                self.heredoc_body(&heredoc)?;
            }
            self.blanks();
        }
        Ok(())
    }

    /// A newline where heredocs of an outer line are waiting.
    pub(super) fn newline_in_text(&mut self) -> Reading<()> {
        if self.one_line { self.stop("goes on after a line with a heredoc") } else { Ok(()) }
    }

    pub(super) fn heredocs_wait(&self) -> bool {
        !self.heredocs.is_empty() || self.one_line
    }

    fn heredoc_body(&mut self, heredoc: &Heredoc) -> Reading<()> {
        let from = self.at;
        loop {
            if self.done() {
                return self.stop("has a heredoc without an end");
            }
            let line_at = self.at;
            let rest = &self.source[line_at..self.end];
            let line = rest.split('\n').next().unwrap_or_default();
            self.at = (line_at + line.len() + 1).min(self.end);
            let bare = if heredoc.tabs { line.trim_start_matches('\t') } else { line };
            if bare == &*heredoc.end {
                let next = self.at;
                if !heredoc.literal {
                    self.inside(Some((from, line_at)), Self::heredoc_text)?;
                }
                self.at = next;
                return Ok(());
            }
            if !heredoc.literal && line.ends_with('\\') {
                self.doubt(line_at, "joins lines in a heredoc");
            }
        }
    }

    /// Commands up to whatever ends a list; how many there were.
    pub(super) fn list(&mut self) -> Reading<usize> {
        let mut count = 0;
        loop {
            self.newlines()?;
            if self.at_list_end() {
                return Ok(count);
            }
            self.and_or()?;
            count += 1;
            self.blanks();
            match self.peek() {
                b';' if !matches!(self.peek_at(1), b';' | b'&') => self.at += 1,
                b'&' => self.at += 1,
                b'\n' => {}
                _ => return Ok(count),
            }
        }
    }

    /// A list that must not be empty.
    pub(super) fn some_list(&mut self) -> Reading<()> {
        if self.list()? == 0 { self.stop("lacks a command") } else { Ok(()) }
    }

    fn at_list_end(&self) -> bool {
        self.done()
            || self.peek() == b')'
            || self.looking_at(";;")
            || self.looking_at(";&")
            || matches!(self.bare(), "then" | "do" | "done" | "fi" | "elif" | "else" | "esac" | "}")
    }

    /// The characters up to the next blank or operator: a reserved word is one only if written just so.
    pub(super) fn bare(&self) -> &'a str {
        let rest = &self.source[self.at..self.end];
        let length = rest.find([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>']).unwrap_or(rest.len());
        &rest[..length]
    }

    pub(super) fn reserved(&mut self, word: &str) -> Reading<()> {
        if self.bare() != word {
            return self.stop("is not understood");
        }
        self.at += word.len();
        Ok(())
    }

    fn and_or(&mut self) -> Reading<()> {
        self.pipeline()?;
        loop {
            self.blanks();
            if !self.looking_at("&&") && !self.looking_at("||") {
                return Ok(());
            }
            self.at += 2;
            self.newlines()?;
            self.pipeline()?;
        }
    }

    fn pipeline(&mut self) -> Reading<()> {
        loop {
            self.blanks();
            match self.bare() {
                "!" => self.at += 1,
                "time" => {
                    self.found.starts.push(self.at);
                    self.at += 4;
                    self.bash_only(self.at - 4);
                    self.blanks();
                    if self.bare() == "-p" {
                        self.at += 2;
                        self.blanks();
                    }
                    if self.bare() == "--" {
                        self.at += 2;
                    }
                    self.blanks();
                    if self.within > 0 && (self.peek() == b'(' || self.bare() == "{") {
                        return self.stop("is timed within a substitution, which bash cannot read again");
                    }
                }
                _ => break,
            }
        }
        self.command()?;
        loop {
            self.blanks();
            if self.peek() != b'|' || self.peek_at(1) == b'|' {
                return Ok(());
            }
            if self.peek_at(1) == b'&' {
                self.at += 1;
                self.bash_only(self.at - 1);
            }
            self.at += 1;
            self.newlines()?;
            self.command()?;
        }
    }

    pub(super) fn at_word(&self) -> bool {
        match self.peek() {
            b'<' | b'>' => self.peek_at(1) == b'(',
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => false,
            _ => !self.done(),
        }
    }

    /// A command of words. Where it cannot be read to its end, its beginning still counts.
    pub(super) fn simple(&mut self) -> Reading<()> {
        let from = self.at;
        let mut simple = Simple::default();
        let read = self.simple_words(&mut simple);
        let until = match read {
            Ok(Some(until)) if until > from => until,
            Ok(Some(_)) => return self.stop("is not understood"),
            Ok(None) => return Ok(()),
            Err(Stop) => self.at.min(self.end),
        };
        simple.text = self.source.get(from..until).unwrap_or(self.source).into();
        if read.is_ok() || !simple.words.is_empty() {
            self.found.commands.push(simple);
        }
        read.map(|_| ())
    }

    /// Where the words end, or nothing if they turn out to begin a function.
    fn simple_words(&mut self, simple: &mut Simple) -> Reading<Option<usize>> {
        let mut until = self.at;
        loop {
            self.blanks();
            if self.redirect(&mut simple.redirects)? {
            } else if !self.at_word() {
                return Ok(Some(until));
            } else if simple.words.is_empty() {
                if let Some(variable) = self.assignment()? {
                    simple.variables.push(variable);
                } else {
                    self.found.starts.push(self.at);
                    let word = self.command_word()?;
                    simple.words.push(word);
                    until = self.at;
                    if self.function_follows(simple) {
                        let name = simple.words.pop();
                        self.function_body(name.as_ref().and_then(Argument::known))?;
                        return Ok(None);
                    }
                    continue;
                }
            } else {
                let word = self.argument(simple.words[0].known())?;
                simple.words.push(word);
            }
            until = self.at;
        }
    }

    fn function_follows(&mut self, simple: &Simple) -> bool {
        self.blanks();
        self.peek() == b'(' && simple.variables.is_empty() && simple.redirects.is_empty()
    }

    /// One redirection, if there is one here.
    pub(super) fn redirect(&mut self, into: &mut Vec<Redirect>) -> Reading<bool> {
        let from = self.at;
        let mut operator_at = 0;
        while self.peek_at(operator_at).is_ascii_digit() {
            operator_at += 1;
        }
        let (first, second) = (self.peek_at(operator_at), self.peek_at(operator_at + 1));
        let both = operator_at == 0 && first == b'&' && second == b'>';
        if !both && (!matches!(first, b'<' | b'>') || second == b'(') {
            return Ok(false);
        }
        self.at += operator_at;
        const OPERATORS: [&str; 12] =
            ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"];
        let Some(operator) = OPERATORS.into_iter().find(|operator| self.looking_at(operator)) else {
            return self.stop("is not understood");
        };
        self.at += operator.len();
        self.blanks();
        if !self.at_word() {
            return self.stop("lacks a file");
        }
        if matches!(operator, "<<" | "<<-") {
            return self.heredoc(operator == "<<-").map(|()| true);
        }
        if matches!(operator, "&>" | "&>>" | "<<<") || (operator == ">&" && !self.peek().is_ascii_digit()) {
            self.bash_only(from);
        }
        let copies = matches!(operator, ">&" | "<&");
        if copies && self.peek() == b'-' {
            // Here a dash is a sign of its own, whatever follows it.
            self.at += 1;
            return Ok(true);
        }
        let target_at = self.at;
        let target = self.target()?;
        let raw = self.slice(target_at);
        if raw.bytes().all(|byte| byte.is_ascii_digit()) && matches!(self.peek(), b'<' | b'>') {
            return self.stop("lacks a file");
        }
        if copies && raw.contains(['\'', '"', '\\']) {
            self.doubt(from, "has a file whose quotes bash takes off twice");
        }
        self.note_redirect(operator, target, into, from);
        Ok(true)
    }

    fn note_redirect(&mut self, operator: &str, file: Option<Word>, into: &mut Vec<Redirect>, from: usize) {
        // A process substitution has no file.
        let Some(file) = file else { return };
        let copies =
            |text: &str| text == "-" || text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        match operator {
            "<<<" => return,
            ">&" | "<&" if file.known().is_some_and(copies) => return,
            _ => {}
        }
        if file.known().is_some_and(|file| file.starts_with("/dev/tcp/") || file.starts_with("/dev/udp/")) {
            self.doubt(from, "opens a connection");
        }
        into.push(Redirect { file, writes: !matches!(operator, "<" | "<&") });
    }

    fn heredoc(&mut self, tabs: bool) -> Reading<()> {
        let from = self.at;
        let word = self.word()?;
        let raw = self.slice(from);
        if raw.contains(['$', '`', '\n', '(']) || raw.contains("\\\n") {
            return self.stop("has a heredoc with a strange end");
        }
        let literal = raw.contains(['\'', '"', '\\']);
        if word.text.contains('\n') {
            return self.stop("has a heredoc with a strange end");
        }
        self.heredocs.push(Heredoc { end: word.text.into(), tabs, literal });
        Ok(())
    }
}
