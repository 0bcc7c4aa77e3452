//! Which variables cannot change what a program does.
//!
//! Knows a strict list of names. Refuses to look at values: where a value can matter, the name is not on the list.

const HARMLESS: [&str; 29] = [
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBUG",
    "DO_NOT_TRACK",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOG_LEVEL",
    "NODE_ENV",
    "NO_COLOR",
    "PY_COLORS",
    "RAILS_ENV",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "RUST_LOG_STYLE",
    "RUST_TEST_THREADS",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "DEBIAN_FRONTEND",
    "SOURCE_DATE_EPOCH",
    "TERM",
    "TZ",
    "VERBOSE",
    "_",
];

/// Lower-case names that programs do listen to.
const LISTENED_TO: [&str; 9] = ["npm_", "pnpm_", "yarn_", "bun_", "pip_", "git_", "cargo_", "ld_", "dyld_"];

/// Whether setting a variable cannot change what a program does beyond how it prints (`LANG`, `NO_COLOR`).
///
/// Names in small letters are a script's own by custom and harmless too, but for the few that programs listen to.
pub fn is_harmless(variable: &str) -> bool {
    let own = |byte: u8| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if variable.starts_with(|first: char| first == '_' || first.is_ascii_lowercase())
        && variable.bytes().all(own)
        && variable != "_"
    {
        return !variable.ends_with("proxy")
            && !LISTENED_TO.iter().any(|prefix| variable.starts_with(prefix));
    }
    HARMLESS.contains(&variable) || variable.strip_prefix("LC_").is_some_and(|rest| !rest.is_empty())
}
