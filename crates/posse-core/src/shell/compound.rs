//! Compound commands: groups, conditions, loops, cases, functions and `[[ … ]]`.
//!
//! Knows their grammar. Refuses to know which branch is taken: every command in any of them is found.

use super::builtins::is_special_name;
use super::reader::{Argument, DEEPEST, Reader, Reading, Simple};
use super::{Variable, Word};

impl Reader<'_> {
    pub(super) fn command(&mut self) -> Reading<()> {
        self.blanks();
        let from = self.at;
        if self.peek() == b'(' {
            self.parenthesis()?;
            return self.redirects_of_compound(from);
        }
        match self.bare() {
            "{" => self.group()?,
            "if" => self.condition()?,
            "while" | "until" => self.while_loop()?,
            "for" | "select" => self.for_loop()?,
            "case" => self.case()?,
            "[[" => self.double_brackets()?,
            "function" => return self.named_function(),
            "coproc" => {
                self.found.starts.push(from);
                self.at += 6;
                self.doubt(from, "starts something in the background under a name");
                return self.command();
            }
            // `in` and the closing words cannot begin a command; a later stage would take them for programs.
            "then" | "do" | "done" | "fi" | "elif" | "else" | "esac" | "}" | "!" | "time" => {
                return self.stop("is not understood");
            }
            _ => return self.simple(),
        }
        self.redirects_of_compound(from)
    }

    fn redirects_of_compound(&mut self, from: usize) -> Reading<()> {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if !self.redirect(&mut redirects)? {
                break;
            }
        }
        if !redirects.is_empty() {
            let text = self.slice(from).into();
            self.found.commands.push(Simple { redirects, text, ..Simple::default() });
        }
        Ok(())
    }

    fn parenthesis(&mut self) -> Reading<()> {
        if self.looking_at("((") {
            return self.arithmetic_command();
        }
        if self.peek_at(1) == b'\\' {
            return self.stop("is a bracket over two lines");
        }
        self.at += 1;
        self.nested(|reader| {
            reader.some_list()?;
            reader.expect(")")
        })
    }

    /// One level deeper on the same line: heredocs that wait go on waiting.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Reading<()>) -> Reading<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.stop("is too deep");
        }
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn group(&mut self) -> Reading<()> {
        self.at += 1;
        self.nested(|reader| {
            reader.some_list()?;
            reader.reserved("}")
        })
    }

    fn condition(&mut self) -> Reading<()> {
        self.at += 2;
        self.nested(|reader| {
            reader.some_list()?;
            reader.reserved("then")?;
            reader.some_list()?;
            while reader.bare() == "elif" {
                reader.at += 4;
                reader.some_list()?;
                reader.reserved("then")?;
                reader.some_list()?;
            }
            if reader.bare() == "else" {
                reader.at += 4;
                reader.some_list()?;
            }
            reader.reserved("fi")
        })
    }

    fn while_loop(&mut self) -> Reading<()> {
        self.at += 5;
        self.found.repeats = true;
        self.nested(|reader| {
            reader.some_list()?;
            reader.body()
        })
    }

    fn body(&mut self) -> Reading<()> {
        self.reserved("do")?;
        self.some_list()?;
        self.reserved("done")
    }

    fn for_loop(&mut self) -> Reading<()> {
        let from = self.at;
        if self.bare() == "select" {
            self.bash_only(from);
        }
        self.at += self.bare().len();
        self.found.repeats = true;
        self.blanks();
        let name = self.bare();
        if !super::word::is_name(name) {
            return self.stop("is a loop that calculates");
        }
        self.at += name.len();
        self.newlines()?;
        let mut values = Vec::new();
        if self.bare() == "in" {
            self.at += 2;
            self.blanks();
            while self.at_word() {
                values.push(self.some_word()?);
                self.blanks();
            }
            if !matches!(self.peek(), b';' | b'\n') {
                return self.stop("is not understood");
            }
        }
        if self.peek() == b';' {
            self.at += 1;
        }
        self.newlines()?;
        self.set_by_loop(name, values, from);
        self.nested(Self::body)
    }

    fn set_by_loop(&mut self, name: &str, mut values: Vec<Argument>, from: usize) {
        let text = self.slice(from);
        let value = match values.pop() {
            Some(Argument { word, .. }) if values.is_empty() => word,
            _ => Word::Open(text.into()),
        };
        let variables = vec![Variable { name: name.into(), value }];
        let text = text.trim_end().trim_end_matches(';').into();
        self.found.commands.push(Simple { variables, text, ..Simple::default() });
    }

    fn case(&mut self) -> Reading<()> {
        self.at += 4;
        self.some_word()?;
        self.newlines()?;
        self.reserved("in")?;
        self.nested(|reader| {
            loop {
                reader.newlines()?;
                if reader.bare() == "esac" {
                    reader.at += 4;
                    return Ok(());
                }
                if !reader.case_item()? {
                    return reader.reserved("esac");
                }
            }
        })
    }

    /// One `pattern) …;;`, and whether another may follow.
    fn case_item(&mut self) -> Reading<bool> {
        if self.peek() == b'(' {
            self.at += 1;
        }
        loop {
            self.some_word()?;
            self.blanks();
            if self.peek() != b'|' {
                break;
            }
            self.at += 1;
        }
        self.expect(")")?;
        self.list()?;
        for (end, bash_only) in [(";;&", true), (";;", false), (";&", true)] {
            if self.looking_at(end) {
                if bash_only {
                    self.bash_only(self.at);
                }
                self.at += end.len();
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn named_function(&mut self) -> Reading<()> {
        self.bash_only(self.at);
        self.at += "function".len();
        self.blanks();
        if !self.at_word() {
            return self.stop("is not understood");
        }
        let name = self.some_word()?;
        self.blanks();
        self.function_body(name.known())
    }

    /// From `()` on. The body is judged where it stands, whoever calls it.
    pub(super) fn function_body(&mut self, name: Option<&str>) -> Reading<()> {
        let from = self.at;
        if self.peek() == b'(' {
            self.at += 1;
            self.blanks();
            self.expect(")")?;
        }
        if name.is_none_or(|name| is_special_name(name) || name.contains(['/', '='])) {
            self.doubt(from, "gives a new meaning to a command of the shell");
        }
        self.found.repeats = true;
        self.newlines()?;
        let compound =
            matches!(self.bare(), "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[");
        if self.peek() != b'(' && !compound {
            return self.stop("is a function without a body");
        }
        self.command()
    }

    /// `[[ … ]]`, which comes out as a run like `[ … ]`.
    fn double_brackets(&mut self) -> Reading<()> {
        let from = self.at;
        self.bash_only(from);
        self.at += 2;
        let mut words = vec![Argument::plain(Word::Known("[[".into()))];
        loop {
            self.blanks();
            if self.bare() == "]]" {
                self.at += 2;
                break;
            }
            if let Some(sign) = ["&&", "||", "(", ")", "<", ">"]
                .into_iter()
                .find(|sign| self.looking_at(sign) && !self.looking_at("<(") && !self.looking_at(">("))
            {
                self.at += sign.len();
                words.push(Argument::plain(Word::Known(sign.into())));
            } else {
                words.push(self.some_word()?);
            }
        }
        self.check_brackets(&words, from);
        words.push(Argument::plain(Word::Known("]]".into())));
        let text = self.slice(from).into();
        self.found.starts.push(from);
        self.found.commands.push(Simple { words, text, ..Simple::default() });
        Ok(())
    }

    fn check_brackets(&mut self, words: &[Argument], from: usize) {
        let number = |word: Option<&Argument>| {
            word.is_some_and(|word| {
                word.number
                    || word.known().is_some_and(|text| {
                        let digits = text.strip_prefix('-').unwrap_or(text);
                        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
                    })
            })
        };
        for (at, word) in words.iter().enumerate() {
            match word.known() {
                Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
                    if at < 2 || !number(words.get(at - 1)) || !number(words.get(at + 1)) =>
                {
                    self.doubt(from, "calculates with what may be a command");
                }
                Some("-v" | "-R") => self.doubt(from, "looks for a variable by a name that may be a command"),
                _ => {}
            }
        }
        let rest = words.get(1..).and_then(|words| or_of_tests(words, 0));
        if rest.is_none_or(|rest| !rest.is_empty()) {
            self.doubt(from, "is not understood");
        }
    }
}

/// Takes tests joined by `&&` and `||` off the front; none if they are not put together right.
fn or_of_tests(words: &[Argument], depth: usize) -> Option<&[Argument]> {
    let mut rest = one_test(words, depth)?;
    while let Some((sign, after)) = rest.split_first() {
        if !matches!(sign.known(), Some("&&" | "||")) {
            break;
        }
        rest = one_test(after, depth)?;
    }
    Some(rest)
}

fn one_test(words: &[Argument], depth: usize) -> Option<&[Argument]> {
    const BETWEEN_TWO: [&str; 15] =
        ["=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
    if depth > DEEPEST {
        return None;
    }
    let (first, rest) = words.split_first()?;
    match first.known() {
        Some("!") => one_test(rest, depth + 1),
        Some("(") => {
            let (close, after) = or_of_tests(rest, depth + 1)?.split_first()?;
            (close.known() == Some(")")).then_some(after)
        }
        Some("&&" | "||" | ")" | "<" | ">") => None,
        Some(text) if text.len() == 2 && text.starts_with('-') => rest.split_first().map(|(_, after)| after),
        _ => match rest.split_first() {
            Some((sign, after)) if sign.known().is_some_and(|sign| BETWEEN_TWO.contains(&sign)) => {
                after.split_first().map(|(_, after)| after)
            }
            _ => Some(rest),
        },
    }
}
