//! Reading Rust without a parser: what is code, what is test, which paths are named. Rough on purpose; when it is
//! wrong it should be wrong in ways a person writing ordinary code never meets.

/// The same text with comments, strings and character literals blanked. Lines stay where they are.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped_until(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Where the comment or literal starting at `at` ends; `at` itself if none starts there.
fn skipped_until(chars: &[char], at: usize) -> usize {
    let get = |i: usize| chars.get(i).copied().unwrap_or('\0');
    match (get(at), get(at + 1)) {
        ('/', '/') => find(chars, at, |c| c == '\n'),
        ('/', '*') => block_comment_end(chars, at),
        ('"', _) => quoted_end(chars, at + 1, '"'),
        ('\'', '\\') => quoted_end(chars, at + 1, '\''),
        ('\'', _) if get(at + 2) == '\'' => at + 3,
        ('r', '"' | '#') if at == 0 || !is_word(chars[at - 1]) || starts_bytes(chars, at) => {
            raw_string_end(chars, at)
        }
        _ => at,
    }
}

/// Is the `r` at `at` part of the prefix `br` or `cr`?
fn starts_bytes(chars: &[char], at: usize) -> bool {
    matches!(chars[at - 1], 'b' | 'c') && (at == 1 || !is_word(chars[at - 2]))
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn raw_string_end(chars: &[char], start: usize) -> usize {
    let quote = find(chars, start + 1, |c| c != '#');
    if chars.get(quote) != Some(&'"') {
        return start; // a raw identifier such as r#type
    }
    let hashes = quote - start - 1;
    let closes =
        |at: usize| chars[at] == '"' && chars[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
    match (quote + 1..chars.len()).find(|at| closes(*at)) {
        Some(end) => end + 1 + hashes,
        None => chars.len(),
    }
}

fn find(chars: &[char], from: usize, wanted: impl Fn(char) -> bool) -> usize {
    chars[from..].iter().position(|c| wanted(*c)).map_or(chars.len(), |offset| from + offset)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A word or a mark, and the line (from 1) it stands on. `::` is one mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl Token<'_> {
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(is_word)
    }
}

/// Splits text from [`code_only`] into tokens.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push(Token { text: &rest[..length], line: number + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// The code of one file that ends up in the product, and the modules it declares for tests alone.
#[derive(Debug, Default)]
pub(crate) struct Product<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    pub(crate) test_modules: Vec<String>,
}

/// Leaves out every item under `#[cfg(test)]`, or all of it under `#![cfg(test)]`.
pub(crate) fn product(code: &str) -> Product<'_> {
    let all = tokens(code);
    let mut product = Product::default();
    let mut at = 0;
    while at < all.len() {
        let whole_file = text(&all, at + 1) == "!";
        let open = if whole_file { at + 2 } else { at + 1 };
        if text(&all, at) != "#" || text(&all, open) != "[" {
            product.tokens.push(all[at]);
            at += 1;
            continue;
        }
        let after = closing(&all, open) + 1;
        if !means_test(&all[open..after.min(all.len())]) {
            product.tokens.extend(&all[at..after.min(all.len())]);
            at = after;
        } else if whole_file {
            return Product::default();
        } else {
            let (end, module) = test_item(&all, after);
            product.test_modules.extend(module);
            at = end;
        }
    }
    product
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// `[cfg(test)]` or `[cfg(all(test, …))]`. With `any` the code may well be in the product.
fn means_test(attribute: &[Token<'_>]) -> bool {
    let words: Vec<&str> = attribute.iter().map(|token| token.text).collect();
    match words.as_slice() {
        ["[", "cfg", "(", "test", ")", "]"] => true,
        ["[", "cfg", "(", "all", "(", inner @ ..] => {
            let mut depth = 0;
            inner.iter().any(|word| {
                match *word {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                depth == 0 && *word == "test"
            })
        }
        _ => false,
    }
}

/// The index of the bracket that closes the one at `open`; the end if none does.
pub(crate) fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Where the item that starts at `start` ends, and its name if it is a `mod name;`.
fn test_item(tokens: &[Token<'_>], start: usize) -> (usize, Option<String>) {
    let mut at = start;
    while text(tokens, at) == "#" {
        at = closing(tokens, at + 1) + 1;
    }
    if text(tokens, at) == "pub" {
        at += 1;
        if text(tokens, at) == "(" {
            at = closing(tokens, at) + 1;
        }
    }
    let (keyword, next) = (text(tokens, at), text(tokens, at + 1));
    if keyword == "mod" && text(tokens, at + 2) == ";" {
        return (at + 3, Some(next.to_owned()));
    }
    let value = keyword == "const" && !matches!(next, "fn" | "unsafe" | "async" | "extern");
    let ends_with_semicolon = value || matches!(keyword, "use" | "static" | "type" | "let");
    // Anything else under the attribute is a field, a variant or a match arm, and a comma ends it.
    let item = ends_with_semicolon
        || matches!(keyword, "fn" | "async" | "const" | "unsafe" | "extern" | "mod" | "struct" | "enum")
        || matches!(keyword, "union" | "trait" | "impl" | "macro_rules");
    while at < tokens.len() {
        match tokens[at].text {
            ";" => return (at + 1, None),
            "," if !item => return (at + 1, None),
            ")" | "]" | "}" => return (at, None),
            "{" if !ends_with_semicolon => return (closing(tokens, at) + 1, None),
            "(" | "[" | "{" => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
    (at, None)
}

/// A path of two or more segments as written, groups taken apart: `use a::{b, c::d}` gives `a::b` and `a::c::d`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedPath {
    pub(crate) segments: Vec<String>,
    /// The name after `as`.
    pub(crate) alias: Option<String>,
    pub(crate) line: usize,
    /// Inline modules around it, which `super` climbs through first.
    pub(crate) inside: usize,
}

/// Every path named in the code, imports and plain mentions alike.
pub(crate) fn paths(tokens: &[Token<'_>]) -> Vec<NamedPath> {
    let mut found = Vec::new();
    let mut inline_ends: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        inline_ends.retain(|end| *end > at);
        if tokens[at].text == "mod" && text(tokens, at + 2) == "{" {
            inline_ends.push(closing(tokens, at + 2));
            at += 3;
        } else if can_start_a_path(&tokens[at]) && text(tokens, at + 1) == "::" {
            at = path(tokens, at, &[], inline_ends.len(), &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Words that stand before a path with a leading `::` are not its first segment.
fn can_start_a_path(token: &Token<'_>) -> bool {
    token.is_word() && !matches!(token.text, "use" | "return" | "in" | "as" | "dyn" | "impl" | "mut" | "else")
}

/// Reads one path from `at`, adds what it names to `found`, and returns where it ends.
fn path(
    tokens: &[Token<'_>],
    mut at: usize,
    before: &[String],
    inside: usize,
    found: &mut Vec<NamedPath>,
) -> usize {
    let line = tokens[at].line;
    let mut segments = before.to_vec();
    loop {
        match text(tokens, at) {
            "{" => {
                let end = closing(tokens, at);
                at += 1;
                while at < end {
                    at = match text(tokens, at) {
                        "," | "::" => at + 1,
                        _ => path(tokens, at, &segments, inside, found),
                    };
                }
                return end + 1;
            }
            "*" => {
                segments.push("*".to_owned());
                at += 1;
                break;
            }
            word if word.starts_with(is_word) => {
                segments.push(word.to_owned());
                at += 1;
                if text(tokens, at) != "::" {
                    break;
                }
                at += 1;
            }
            // A turbofish, or something we do not understand: the path ends here, and what follows is looked at anew.
            _ => {
                at += usize::from(text(tokens, at) != "}");
                break;
            }
        }
    }
    let mut alias = None;
    if text(tokens, at) == "as" {
        alias = tokens.get(at + 1).map(|token| token.text.to_owned());
        at += 2;
    }
    if segments.len() > 1 {
        found.push(NamedPath { segments, alias, line, inside });
    }
    at
}

#[cfg(test)]
mod tests;
