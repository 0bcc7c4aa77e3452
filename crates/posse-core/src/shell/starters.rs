//! Programs that start others: each is a run of its own, and what it starts is another.
//!
//! Knows where the inner command stands. Refuses to guess: where that cannot be told, it says so.

use super::reader::Argument;
use super::wrappers::{Options, assigned, skip_options};
use super::{Dialect, Variable, Word};

/// Something that a program would start.
pub(super) enum Inner {
    Command(Vec<Argument>, Vec<Variable>),
    Text(Box<str>, Dialect),
    Doubt(&'static str),
}

const UNCLEAR: &str = "starts something that cannot be told";

const XARGS: Options = Options {
    name: "xargs",
    flags: "0rtpxo",
    valued: "adEILnPs",
    long: &["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "replace", "max-lines"],
    long_valued: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars"],
    operands: 0,
};
const SUDO: Options = Options {
    name: "sudo",
    flags: "nEHkSbAP",
    valued: "ugCpTD",
    long: &["non-interactive", "preserve-env", "set-home", "stdin", "background"],
    long_valued: &["user", "group", "prompt", "chdir"],
    operands: 0,
};
const DOAS: Options =
    Options { name: "doas", flags: "n", valued: "u", long: &[], long_valued: &[], operands: 0 };
const BUSYBOX: Options =
    Options { name: "busybox", flags: "", valued: "", long: &[], long_valued: &[], operands: 0 };
const ENTR: Options =
    Options { name: "entr", flags: "acdnprz", valued: "", long: &[], long_valued: &[], operands: 0 };
const FLOCK: Options = Options {
    name: "flock",
    flags: "sxenoF",
    valued: "wE",
    long: &["shared", "exclusive", "nonblock", "close", "no-fork"],
    long_valued: &["timeout", "wait", "conflict-exit-code"],
    operands: 1,
};

/// Start others in ways that are not followed.
const NOT_FOLLOWED: [&str; 33] = [
    "setpriv",
    "prlimit",
    "npx",
    "bunx",
    "pnpx",
    "capsh",
    "systemd-run",
    "dbus-run-session",
    "faketime",
    "parallel",
    "watch",
    "script",
    "strace",
    "ltrace",
    "gdb",
    "lldb",
    "su",
    "runuser",
    "pkexec",
    "chroot",
    "nsenter",
    "unshare",
    "systemd-run",
    "firejail",
    "bwrap",
    "proot",
    "start-stop-daemon",
    "expect",
    "daemon",
    "at",
    "batch",
    "fish",
    "csh",
];
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"];

pub(super) fn is_starter(name: &str) -> bool {
    NOT_FOLLOWED.contains(&name)
        || SHELLS.contains(&name)
        || matches!(name, "xargs" | "sudo" | "doas" | "busybox" | "toybox" | "entr" | "flock" | "find" | "fd")
        || name == "fdfind"
}

/// What these words would start besides themselves.
pub(super) fn inner(words: &[Argument]) -> Vec<Inner> {
    let Some(program) = words.first().and_then(Argument::known) else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    match name {
        "xargs" => vec![xargs(words)],
        "sudo" => vec![behind_options(words, &SUDO)],
        "doas" => vec![behind_options(words, &DOAS)],
        "busybox" | "toybox" => vec![behind_options(words, &BUSYBOX)],
        "entr" => vec![behind_options(words, &ENTR)],
        "flock" => vec![behind_options(words, &FLOCK)],
        "find" => find(words),
        "fd" | "fdfind" => fd(words),
        _ if SHELLS.contains(&name) => shell(name, words),
        _ if NOT_FOLLOWED.contains(&name) => vec![Inner::Doubt(UNCLEAR)],
        _ => Vec::new(),
    }
}

fn behind_options(words: &[Argument], options: &Options) -> Inner {
    let Some(mut at) = skip_options(words, options) else { return Inner::Doubt(UNCLEAR) };
    let mut variables = Vec::new();
    if options.name == "sudo" {
        while let Some(variable) = words.get(at).and_then(assigned) {
            variables.push(variable);
            at += 1;
        }
    }
    let before = words.get(..at).unwrap_or(words);
    let rest = words.get(at..).unwrap_or_default();
    if before.iter().any(|word| word.known().is_none())
        || rest.first().is_some_and(|first| first.known().is_none_or(|first| first.starts_with('-')))
    {
        return Inner::Doubt(UNCLEAR);
    }
    if rest.is_empty() && options.operands > 0 {
        return Inner::Doubt(UNCLEAR);
    }
    Inner::Command(rest.to_vec(), variables)
}

fn appended() -> Argument {
    Argument::plain(Word::Open("…".into()))
}

/// Words in which a placeholder stands are only known when it runs. They are marked as filled in, so that a placeholder
/// like `*` is not taken for a pattern of file names.
fn filled_in(words: &[Argument], placeholder: &str) -> Vec<Argument> {
    let fill = |argument: &Argument| match argument.known() {
        Some(text) if text.contains(placeholder) => Argument::plain(Word::Open(format!("$({text})").into())),
        _ => argument.clone(),
    };
    words.iter().map(fill).collect()
}

fn xargs(words: &[Argument]) -> Inner {
    let Some(at) = skip_options(words, &XARGS) else { return Inner::Doubt(UNCLEAR) };
    let options = words.get(..at).unwrap_or(words);
    if options.iter().any(|word| word.known().is_none()) {
        return Inner::Doubt(UNCLEAR);
    }
    let command = words.get(at..).unwrap_or_default();
    if command.is_empty() {
        return Inner::Command(vec![Argument::plain(Word::Known("echo".into())), appended()], Vec::new());
    }
    // Also with a placeholder: a few words too many are better than one too few.
    let mut command = command.to_vec();
    for placeholder in placeholders(options) {
        command = filled_in(&command, placeholder);
    }
    command.push(appended());
    Inner::Command(command, Vec::new())
}

/// What `xargs` would replace, by options that have been found to be in its table.
fn placeholders(options: &[Argument]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut words = options.iter().skip(1).filter_map(Argument::known);
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').unwrap_or((long, "{}"));
            if name == "replace" {
                found.push(value);
            }
            if XARGS.long_valued.contains(&name) && !long.contains('=') {
                words.next();
            }
            continue;
        }
        let Some(at) = word.find(|letter| XARGS.valued.contains(letter)) else { continue };
        let (letter, rest) = (&word[at..=at], &word[at + 1..]);
        let value = if rest.is_empty() { words.next().unwrap_or_default() } else { rest };
        if letter == "I" {
            found.push(value);
        }
    }
    found
}

fn find(words: &[Argument]) -> Vec<Inner> {
    if words.iter().any(|word| word.known().is_none()) {
        return vec![Inner::Doubt("may be told to run something")];
    }
    let mut inner = Vec::new();
    let mut rest = words.get(1..).unwrap_or_default();
    while let Some(at) = rest.iter().position(|word| {
        word.known().is_some_and(|word| matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir"))
    }) {
        rest = &rest[at + 1..];
        let ends = |(at, word): (usize, &Argument)| match word.known() {
            Some(";") => true,
            // `+` only ends it behind `{}`.
            Some("+") => at > 0 && rest[at - 1].known() == Some("{}"),
            _ => false,
        };
        let Some(until) = rest.iter().enumerate().position(ends) else {
            inner.push(Inner::Doubt(UNCLEAR));
            return inner;
        };
        inner.push(Inner::Command(filled_in(&rest[..until], "{}"), Vec::new()));
        rest = &rest[until + 1..];
    }
    inner
}

fn fd(words: &[Argument]) -> Vec<Inner> {
    let runs = |word: &Argument| match word.known() {
        Some(text) => {
            text.starts_with("--exec")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']))
        }
        None => true,
    };
    let Some(at) = words.iter().skip(1).position(runs) else { return Vec::new() };
    let option = words[at + 1].known();
    let command = words.get(at + 2..).unwrap_or_default();
    let ends = command.iter().any(|word| word.known() == Some(";"));
    if !matches!(option, Some("-x" | "-X" | "--exec" | "--exec-batch")) || command.is_empty() || ends {
        return vec![Inner::Doubt(UNCLEAR)];
    }
    let mut command = filled_in(command, "{");
    command.push(appended());
    vec![Inner::Command(command, Vec::new())]
}

/// `sh -c text`. A script file or standard input is not followed: the words show it.
fn shell(name: &str, words: &[Argument]) -> Vec<Inner> {
    let mut at = 1;
    let mut text_follows = false;
    while let Some(argument) = words.get(at) {
        let Some(text) = argument.known() else { return vec![Inner::Doubt(UNCLEAR)] };
        if text == "--" || text == "-" {
            at += 1;
            break;
        }
        if matches!(text, "--norc" | "--noprofile" | "--posix" | "--login" | "--version" | "--help") {
            at += 1;
            continue;
        }
        if text.starts_with("--") {
            return vec![Inner::Doubt(UNCLEAR)];
        }
        let Some(letters) = text.strip_prefix(['-', '+']) else { break };
        if !letters.chars().all(|letter| "euxclso".contains(letter)) {
            return vec![Inner::Doubt(UNCLEAR)];
        }
        text_follows |= letters.contains('c');
        at += 1 + letters.matches('o').count();
    }
    if !text_follows {
        return Vec::new();
    }
    match words.get(at).map(|word| &word.word) {
        Some(Word::Known(text)) => match name {
            "bash" | "rbash" => vec![Inner::Text(text.clone(), Dialect::Bash)],
            "sh" | "dash" | "ash" => vec![Inner::Text(text.clone(), Dialect::Plain)],
            // Their grammar is another; what we make of it is only good for rules that deny.
            _ => vec![Inner::Doubt("is another shell's language"), Inner::Text(text.clone(), Dialect::Plain)],
        },
        Some(Word::Open(_)) | None => vec![Inner::Doubt(UNCLEAR)],
    }
}
