//! What arguments and variables do to a text.
//!
//! One pass from left to right: a value that looks like a placeholder is not replaced again. What has no value stays as
//! written, so that it can be seen.

/// What placeholders stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values<'a> {
    /// Everything behind the name, as typed.
    pub arguments: &'a str,
    /// Names of the arguments, in order.
    pub names: &'a [Box<str>],
    /// `${NAME}` and its value.
    pub variables: Vec<(&'a str, String)>,
}

/// Arguments as a shell would take them apart: blanks separate, quotes keep together. Quotes that do not close mean
/// nothing.
pub fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().push(chars.next().unwrap_or('\\')),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    words.extend(word);
    words
}

/// A text with its placeholders replaced, and whether any of them took an argument.
pub fn substitute(text: &str, values: &Values<'_>) -> (String, bool) {
    let words = split(values.arguments);
    let mut out = String::with_capacity(text.len());
    let mut took = false;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (value, used) = match placeholder(from, values, &words) {
            Some((value, used, is_argument)) => {
                took |= is_argument;
                (value, used)
            }
            None => ("$", 1),
        };
        out.push_str(value);
        rest = &from[used..];
    }
    out.push_str(rest);
    (out, took)
}

/// What the placeholder at the start of a text stands for, how long it is, and whether it is an argument.
fn placeholder<'v>(
    from: &str,
    values: &'v Values<'_>,
    words: &'v [String],
) -> Option<(&'v str, usize, bool)> {
    let name = from.get(1..)?;
    if let Some(inside) = name.strip_prefix('{') {
        let end = inside.find('}')?;
        let (_, value) = values.variables.iter().find(|(known, _)| *known == &inside[..end])?;
        return Some((value, end + 3, false));
    }
    let word = |index: &str| words.get(index.parse::<usize>().ok()?).map(String::as_str);
    if let Some(behind) = name.strip_prefix("ARGUMENTS") {
        if let Some(inside) = behind.strip_prefix('[')
            && let Some(end) = inside.find(']')
            && inside[..end].bytes().all(|byte| byte.is_ascii_digit())
        {
            return Some((word(&inside[..end])?, "$ARGUMENTS[]".len() + end, true));
        }
        return ends_word(behind).then_some((values.arguments, "$ARGUMENTS".len(), true));
    }
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        return ends_word(&name[digits..])
            .then(|| word(&name[..digits]))?
            .map(|value| (value, digits + 1, true));
    }
    let fits = |known: &str| {
        name.strip_prefix(known).is_some_and(|behind| ends_word(behind) && !behind.starts_with('['))
    };
    // Of two names that fit the longer one is meant.
    let named = values.names.iter().enumerate().filter(|(_, known)| fits(known));
    let (place, named) = named.max_by_key(|(_, known)| known.len())?;
    Some((words.get(place)?, named.len() + 1, true))
}

/// Whether a name ends before this text.
fn ends_word(behind: &str) -> bool {
    !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}
