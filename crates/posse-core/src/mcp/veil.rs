//! Keeping secrets out of what is shown. Knows two kinds: values that a configuration took from somewhere else, and the
//! parts of an address that hold passwords and keys. Refuses to guess what else might be one.

/// What stands in the place of a secret.
pub(super) const HIDDEN: &str = "…";
/// Shorter values are no secrets, and hiding them would make a riddle of every text.
const SHORTEST: usize = 4;
/// Variables whose values are places or names and help whoever reads an error.
const OPEN: [&str; 9] = [
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "HOME",
    "LOGNAME",
    "PATH",
    "PWD",
    "TMPDIR",
    "USER",
];

/// Whether the value of a variable is to be hidden.
pub(super) fn is_secret(variable: &str, value: &str) -> bool {
    value.len() >= SHORTEST && !OPEN.contains(&variable)
}

/// The text without these values.
pub(super) fn without_values(text: &str, values: &[Box<str>]) -> String {
    let mut values: Vec<&str> = values.iter().map(|value| &**value).filter(|v| v.len() >= SHORTEST).collect();
    // One may lie within another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.iter().fold(text.to_owned(), |text, value| text.replace(value, HIDDEN))
}

/// The text with every address in it stripped of user, password and the values of its query.
pub fn without_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + 3);
        out.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`');
        let end = address.find(ends).unwrap_or(address.len());
        let (address, after) = address.split_at(end);
        // What encloses or ends a sentence is no part of it.
        let bare = address.trim_end_matches([')', ',', '.', ';', ':', '\'']);
        out.push_str(&stripped(bare));
        out.push_str(&address[bare.len()..]);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// An address behind its scheme.
fn stripped(address: &str) -> String {
    let host_end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let (host, path) = address.split_at(host_end);
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => host.to_owned(),
    };
    let Some((path, query)) = path.split_once('?') else { return format!("{host}{path}") };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    };
    let query: Vec<String> = query.split('&').map(hide).collect();
    format!("{host}{path}?{}", query.join("&"))
}
