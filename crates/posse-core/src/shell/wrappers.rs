//! Programs that only change how another one runs; they are taken off, and what is left is judged.
//!
//! Knows their options exactly: one that is not in the table is a doubt, because it may take the next word for its
//! value. Refuses to know what is behind them.

use super::reader::Argument;
use super::{Variable, Word};

/// How a program takes its options.
pub(super) struct Options {
    pub(super) name: &'static str,
    /// Letters that stand alone.
    pub(super) flags: &'static str,
    /// Letters that take a value.
    pub(super) valued: &'static str,
    /// Long options that stand alone, without the dashes.
    pub(super) long: &'static [&'static str],
    /// Long options that take a value, behind `=` or as the next word.
    pub(super) long_valued: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
}

const NONE: Options = Options { name: "", flags: "", valued: "", long: &[], long_valued: &[], operands: 0 };

const WRAPPERS: [Options; 14] = [
    Options {
        name: "timeout",
        flags: "v",
        valued: "ks",
        long: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
    },
    Options { name: "nice", valued: "n", long_valued: &["adjustment"], ..NONE },
    Options { name: "nohup", ..NONE },
    Options { name: "stdbuf", valued: "ioe", long_valued: &["input", "output", "error"], ..NONE },
    Options { name: "time", flags: "pv", ..NONE },
    Options { name: "command", flags: "p", ..NONE },
    Options { name: "builtin", ..NONE },
    Options { name: "exec", flags: "cl", ..NONE },
    Options { name: "env", ..NONE },
    Options { name: "ionice", flags: "t", valued: "cn", ..NONE },
    Options { name: "setsid", flags: "cfw", long: &["ctty", "fork", "wait"], ..NONE },
    Options {
        name: "chrt",
        flags: "bfior",
        long: &["batch", "fifo", "idle", "other", "rr"],
        operands: 1,
        ..NONE
    },
    Options { name: "taskset", flags: "c", long: &["cpu-list"], operands: 1, ..NONE },
    Options { name: "unbuffer", flags: "p", ..NONE },
];

pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
}

/// What lies behind the first word.
pub(super) enum Behind {
    /// It is no wrapper, or wraps nothing.
    Nothing,
    /// A command begins at this word, with these variables set.
    Command(usize, Vec<Variable>),
    /// It cannot be told.
    Doubt,
}

/// Looks behind one wrapper. Only the one from the system's folders is taken for it: `./timeout` is anybody's.
pub(super) fn behind(words: &[Argument]) -> Behind {
    let Some(name) = words.first().and_then(Argument::known) else { return Behind::Nothing };
    let name = ["/bin/", "/usr/bin/", "/usr/local/bin/"]
        .into_iter()
        .find_map(|folder| name.strip_prefix(folder))
        .unwrap_or(name);
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else { return Behind::Nothing };
    let asks = |word: &Argument| word.known().is_some_and(|word| matches!(word, "-v" | "-V" | "-pv" | "-pV"));
    if name == "command" && words.get(1).is_some_and(asks) {
        return Behind::Nothing;
    }
    let Some(mut at) = skip_options(words, wrapper) else { return Behind::Doubt };
    let mut variables = Vec::new();
    if name == "env" {
        while let Some(variable) = words.get(at).and_then(assigned) {
            variables.push(variable);
            at += 1;
        }
    }
    let before = words.get(..at).unwrap_or(words);
    if before.iter().any(|word| word.splits && word.variable.is_none()) {
        return Behind::Doubt;
    }
    match words.get(at) {
        Some(first) if name == "env" && first.known().is_none_or(|word| word == "-") => Behind::Doubt,
        Some(_) => Behind::Command(at, variables),
        None => Behind::Nothing,
    }
}

/// `NAME=value` as an argument, quoted or not.
pub(super) fn assigned(argument: &Argument) -> Option<Variable> {
    if let Some(variable) = &argument.variable {
        return (!argument.splits).then(|| variable.clone());
    }
    // These programs take whatever stands before the sign for a name.
    let (name, value) = argument.known()?.split_once('=')?;
    Some(Variable { name: name.into(), value: Word::Known(value.into()) })
}

/// The place of the first word behind options and operands; none where an option is not known.
pub(super) fn skip_options(words: &[Argument], options: &Options) -> Option<usize> {
    let mut at = 1;
    while let Some(argument) = words.get(at) {
        // A word that may turn out to be options must not stand where options are read.
        let Some(text) = argument.known() else {
            if options.operands == 0 {
                break;
            }
            return None;
        };
        if text == "--" {
            at += 1;
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            at += long_option(long, options)?;
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            at += short_options(letters, options)?;
        } else {
            break;
        }
    }
    Some(at + options.operands)
}

fn long_option(option: &str, options: &Options) -> Option<usize> {
    match option.split_once('=') {
        Some((name, _)) => (options.long_valued.contains(&name) || options.long.contains(&name)).then_some(1),
        None if options.long.contains(&option) => Some(1),
        None => options.long_valued.contains(&option).then_some(2),
    }
}

fn short_options(letters: &str, options: &Options) -> Option<usize> {
    for (at, letter) in letters.char_indices() {
        if options.valued.contains(letter) {
            return Some(if at + letter.len_utf8() == letters.len() { 2 } else { 1 });
        }
        if !options.flags.contains(letter) {
            return None;
        }
    }
    Some(1)
}
