//! Where a text asks for commands to be run and files to be read. Found in the text as its author wrote it: what comes
//! in through arguments is never a command.

/// A part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Text to be taken as it is.
    Text(&'t str),
    /// A command whose output goes here: `` !`command` ``, or a block that begins with ```` ```! ````.
    Command(&'t str),
}

/// The parts of a body, in order. Put together again with their marks they are the body.
pub fn pieces(body: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    // Where the text that belongs to no command yet begins.
    let mut from = 0;
    let mut at = 0;
    while at < body.len() {
        match command_at(body, at) {
            Some((command, end)) => {
                if at > from {
                    found.push(Piece::Text(&body[from..at]));
                }
                found.push(Piece::Command(command));
                (from, at) = (end, end);
            }
            None => at += body[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    if from < body.len() {
        found.push(Piece::Text(&body[from..]));
    }
    found
}

/// The command that begins exactly here, and where what follows it begins.
fn command_at(body: &str, at: usize) -> Option<(&str, usize)> {
    let rest = &body[at..];
    let before = body[..at].chars().next_back();
    if rest.starts_with("!`") && before.is_none_or(char::is_whitespace) {
        let inside = &rest[2..];
        let end = inside.find(['`', '\n']).filter(|end| inside[*end..].starts_with('`'))?;
        let command = inside[..end].trim();
        return (!command.is_empty()).then_some((command, at + 2 + end + 1));
    }
    if rest.starts_with("```!") && before.is_none_or(|c| c == '\n') {
        let inside = &rest[4..];
        let end =
            inside.match_indices("```").map(|(end, _)| end).find(|end| inside[..*end].ends_with('\n'))?;
        let command = inside[..end].trim();
        return (!command.is_empty()).then_some((command, at + 4 + end + 3));
    }
    None
}

/// A file that a text mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where it is, as written.
    pub path: String,
    /// The first and the last line that is meant (`@path#L3-9`), if not all of it.
    pub lines: Option<(u64, u64)>,
}

/// The paths that a text mentions as `@path` or `@"path"`, each once, in order. Code is left alone: decorators and
/// addresses in it are no files.
pub fn mentions(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for mention in mentioned(text) {
        if !found.contains(&mention.path) {
            found.push(mention.path);
        }
    }
    found
}

/// The same with the lines that are meant: a file may be mentioned once for each part of it.
pub fn mentioned(text: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if !in_block {
            mentions_in_line(line, &mut found);
        }
    }
    found
}

fn mentions_in_line(line: &str, found: &mut Vec<Mention>) {
    let mut in_code = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '`' {
            in_code = !in_code;
        }
        if c == '@'
            && !in_code
            && (before.is_whitespace() || before == '(')
            && let Some(mention) = mention_at(&line[at + 1..])
            && !found.contains(&mention)
        {
            found.push(mention);
        }
        before = c;
    }
}

fn mention_at(rest: &str) -> Option<Mention> {
    if let Some(quoted) = rest.strip_prefix('"') {
        let (path, _) = quoted.split_once('"').filter(|(path, _)| !path.is_empty())?;
        return Some(Mention { path: path.to_owned(), lines: None });
    }
    let end = rest.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(rest.len());
    // A sentence goes on behind a name.
    let path = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"']);
    let (path, lines) = match path.split_once("#L") {
        Some((path, lines)) => (path, range(lines)),
        None => (path, None),
    };
    (!path.is_empty()).then(|| Mention { path: path.to_owned(), lines })
}

/// `3`, `3-9` or `3-L9`: lines count from 1, and the last is not before the first.
fn range(lines: &str) -> Option<(u64, u64)> {
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let first: u64 = first.parse().ok().filter(|first| *first > 0)?;
    let last: u64 = last.strip_prefix('L').unwrap_or(last).parse().ok()?;
    (last >= first).then_some((first, last))
}
