//! What a `$`, a backtick or `<(` stands for: which commands run inside, and which forms bash would run as code.
//!
//! Knows the expansions. Refuses to know values. Arithmetic is only let through when there is no name in it: a variable
//! that is calculated with may hold `a[$(rm x)]`, and bash would run that.

use super::reader::{Reader, Reading};
use super::variables::is_harmless;
use super::word::Lexed;

const CALCULATES: &str = "calculates with what may be a command";

impl Reader<'_> {
    /// Everything that begins with `$`.
    pub(super) fn dollar(&mut self, lexed: &mut Lexed, quoted: bool) -> Reading<()> {
        let from = self.at;
        self.at += 1;
        match self.peek() {
            b'(' if self.peek_at(1) == b'(' => {
                self.arithmetic(from, 2, "))")?;
                lexed.opens(false);
            }
            b'(' => {
                self.at += 1;
                self.substitution()?;
                lexed.opens(!quoted);
            }
            b'{' => self.parameter(lexed, quoted)?,
            b'[' => {
                self.arithmetic(from, 1, "]")?;
                lexed.opens(false);
            }
            b'\'' if !quoted => self.ansi_quotes(lexed)?,
            b'"' if !quoted => {
                self.bash_only(from);
                self.double_quotes(lexed)?;
                lexed.opens(false);
            }
            b'@' | b'*' => {
                self.at += 1;
                lexed.opens(true);
            }
            b'?' | b'#' | b'$' | b'!' => {
                self.at += 1;
                lexed.opens(false);
            }
            byte if byte == b'-' || byte.is_ascii_digit() => {
                self.at += 1;
                lexed.opens(!quoted);
            }
            byte if byte == b'_' || byte.is_ascii_alphabetic() => {
                while self.peek() == b'_' || self.peek().is_ascii_alphanumeric() {
                    self.at += 1;
                }
                lexed.opens(!quoted);
            }
            b'\\' if self.peek_at(1) == b'\n' => return self.stop("has a dollar at the end of a line"),
            _ => lexed.push_quoted("$"),
        }
        Ok(())
    }

    /// The commands up to `)`.
    pub(super) fn substitution(&mut self) -> Reading<()> {
        if self.peek() == b'\\' {
            return self.stop("is a substitution over two lines");
        }
        self.inside(None, |reader| {
            reader.list()?;
            reader.expect(")")
        })
    }

    pub(super) fn process_substitution(&mut self) -> Reading<()> {
        self.bash_only(self.at);
        self.at += 2;
        self.substitution()
    }

    /// Backticks end at the next one, whatever stands between; what a backslash does to the text is left open.
    pub(super) fn backticks(&mut self, quoted: bool) -> Reading<()> {
        let from = self.at;
        let bytes = self.source.as_bytes();
        let mut until = from + 1;
        while until < self.end && bytes[until] != b'`' {
            until += if bytes[until] == b'\\' { 2 } else { 1 };
        }
        if until >= self.end {
            return self.stop("has a backtick without an end");
        }
        let text = &self.source[from + 1..until];
        if text.contains('\\') || text.contains("<<") || (quoted && text.contains('"')) {
            self.doubt_at(from, until + 1, "has backslashes, quotes or heredocs within backticks");
        }
        if text.contains('\n') && self.heredocs_wait() {
            return self.stop("goes on after a line with a heredoc");
        }
        self.inside(Some((from + 1, until)), |reader| {
            reader.list()?;
            if reader.done() { Ok(()) } else { reader.stop("is not understood") }
        })?;
        self.at = until + 1;
        Ok(())
    }

    /// Arithmetic after the dollar, with `open` brackets before it: only what has no names in it.
    fn arithmetic(&mut self, from: usize, open: usize, close: &str) -> Reading<()> {
        self.at += open;
        let mut level = 0_usize;
        loop {
            match self.peek() {
                _ if level == 0 && self.looking_at(close) => {
                    self.at += close.len();
                    return Ok(());
                }
                b'(' => level += 1,
                b')' if level > 0 => level -= 1,
                b'0'..=b'9'
                | b' '
                | b'+'
                | b'-'
                | b'*'
                | b'/'
                | b'%'
                | b'<'
                | b'>'
                | b'='
                | b'!'
                | b'&'
                | b'|'
                | b'^'
                | b'~'
                | b'?'
                | b':'
                | b',' => {}
                _ => {
                    self.at = from;
                    return self.stop(CALCULATES);
                }
            }
            self.at += 1;
        }
    }

    /// `((…))` as a command.
    pub(super) fn arithmetic_command(&mut self) -> Reading<()> {
        let from = self.at;
        self.bash_only(from);
        self.arithmetic(from, 2, "))")
    }

    /// `${…}`, at the brace.
    fn parameter(&mut self, lexed: &mut Lexed, quoted: bool) -> Reading<()> {
        let from = self.at - 1;
        self.at += 1;
        lexed.opens(!quoted);
        let length = self.peek() == b'#' && self.peek_at(1) != b'}';
        if length {
            self.at += 1;
        }
        let name = self.parameter_name();
        if name.is_empty() {
            self.at = from;
            return self.stop("is an expansion that may run code");
        }
        self.element(lexed)?;
        if length && self.peek() != b'}' {
            self.at = from;
            return self.stop("is an expansion that may run code");
        }
        if matches!(name.as_str(), "@" | "*") {
            lexed.opens(true);
        }
        self.operator(&name, quoted, from)?;
        self.expect("}")
    }

    fn parameter_name(&mut self) -> String {
        let from = self.at;
        if matches!(self.peek(), b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-')
            && !(self.peek() == b'!' && self.peek_at(1) != b'}')
        {
            self.at += 1;
        } else {
            while self.peek() == b'_' || self.peek().is_ascii_alphanumeric() {
                self.at += 1;
            }
        }
        self.slice(from).to_owned()
    }

    /// `[@]`, `[*]` or `[3]` behind a name.
    fn element(&mut self, lexed: &mut Lexed) -> Reading<()> {
        if self.peek() != b'[' {
            return Ok(());
        }
        let rest = &self.source[self.at + 1..self.end];
        let index = rest.split(']').next().unwrap_or_default();
        let many = matches!(index, "@" | "*");
        if !many && (index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit())) {
            return self.stop(CALCULATES);
        }
        self.at += index.len() + 1;
        self.expect("]")?;
        if many {
            lexed.opens(true);
        }
        Ok(())
    }

    /// What is done to the value.
    fn operator(&mut self, name: &str, quoted: bool, from: usize) -> Reading<()> {
        let (first, second) = (self.peek(), self.peek_at(1));
        match (first, second) {
            (b'}', _) => return Ok(()),
            (b':', b'-' | b'=' | b'+' | b'?') => self.at += 2,
            (b':', _) => return self.slice_of_value(from),
            (b'-' | b'=' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',', _) => self.at += 1,
            _ => {
                self.at = from;
                return self.stop("is an expansion that may run code");
            }
        }
        if (first == b'=' || (first == b':' && second == b'=')) && !is_harmless(name) {
            self.doubt(from, "may set a variable");
        }
        self.inside(None, |reader| reader.operand(quoted))
    }

    /// `:2`, `: -1`, `:2:3`, with numbers only.
    fn slice_of_value(&mut self, from: usize) -> Reading<()> {
        while matches!(self.peek(), b':' | b' ' | b'-' | b'0'..=b'9') {
            self.at += 1;
        }
        if self.peek() == b'}' {
            return Ok(());
        }
        self.at = from;
        self.stop(CALCULATES)
    }

    /// A word up to the brace that ends the expansion.
    fn operand(&mut self, quoted: bool) -> Reading<()> {
        let mut lexed = Lexed::default();
        loop {
            match self.peek() {
                0 if self.done() => return self.stop("has a brace without an end"),
                b'}' => return Ok(()),
                // Bash's rules for these differ by operator, by version and by what stands around.
                b'\'' | b'"' if quoted => return self.stop("has quotes within a quoted expansion"),
                b'<' | b'>' if self.peek_at(1) == b'(' => self.process_substitution()?,
                b'\n' => return self.stop("has an expansion over two lines"),
                b'"' => self.double_quotes(&mut lexed)?,
                b'\'' => {
                    let rest = &self.source[self.at + 1..self.end];
                    let Some(length) = rest.find('\'') else {
                        return self.stop("has a quote without an end");
                    };
                    self.at += length + 2;
                }
                b'`' => self.backticks(quoted)?,
                b'$' => self.dollar(&mut lexed, quoted)?,
                b'\\' => {
                    self.at += 1;
                    let next = self.source[self.at..self.end].chars().next();
                    self.at += next.map_or(0, char::len_utf8);
                }
                b'{' => return self.stop("has a brace within an expansion"),
                _ => {
                    let next = self.source[self.at..self.end].chars().next();
                    self.at += next.map_or(1, char::len_utf8);
                }
            }
        }
    }
}
