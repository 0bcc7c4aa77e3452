//! Commands that are part of the shell, and those of their uses that run text as code or change what comes after.
//!
//! Knows bash's builtins. Refuses to know programs; those are the business of `wrappers`, `starters` and `look`.

use super::reader::Argument;
use super::word::is_name;
use super::{Variable, Word, starters, wrappers};

const BUILTINS: [&str; 60] = [
    ".",
    ":",
    "[",
    "[[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "unset",
    "wait",
];

/// Whether a function of this name would change what we take other commands for.
pub(super) fn is_special_name(name: &str) -> bool {
    BUILTINS.contains(&name)
        || matches!(name, "umask" | "unalias")
        || wrappers::is_wrapper(name)
        || starters::is_starter(name)
}

/// What a builtin does besides what can be seen.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) doubt: Option<&'static str>,
    pub(super) variables: Vec<Variable>,
}

impl Effect {
    fn doubt(why: &'static str) -> Self {
        Self { doubt: Some(why), variables: Vec::new() }
    }

    fn doubt_if(condition: bool, why: &'static str) -> Self {
        if condition { Self::doubt(why) } else { Self::default() }
    }
}

const NAMES: &str = "sets variables by names that may be commands";

/// What running this does to the shell.
pub(super) fn effect(words: &[Argument]) -> Effect {
    let Some((Some(name), arguments)) = words.split_first().map(|(name, rest)| (name.known(), rest)) else {
        return Effect::default();
    };
    let known: Vec<Option<&str>> = arguments.iter().map(Argument::known).collect();
    let any_open = arguments.iter().any(|argument| argument.known().is_none() && !argument.number);
    match name {
        "eval" | "source" | "." | "trap" | "let" | "fc" => Effect::doubt("runs text as commands"),
        "alias" | "enable" | "complete" | "compgen" | "compopt" | "bind" | "history" => {
            Effect::doubt("changes what commands mean")
        }
        "hash" => {
            Effect::doubt_if(known.iter().any(|word| *word != Some("-r")), "changes what commands mean")
        }
        "set" => Effect::doubt_if(!known_options(&known), "changes how the shell works"),
        "shopt" => Effect::doubt_if(!harmless_shopt(&known), "changes how the shell works"),
        "export" | "readonly" | "declare" | "typeset" | "local" => declared(arguments),
        "read" => named(arguments, "rs", "adnNptu"),
        "mapfile" | "readarray" => named(arguments, "t", "dnOsu"),
        "getopts" => Effect::doubt("sets variables"),
        "unset" => named(arguments, "vf", ""),
        "printf" => Effect::doubt_if(printf_sets(arguments), NAMES),
        "test" | "[" => Effect::doubt_if(test_looks_up(arguments), NAMES),
        "wait" | "jobs" => Effect::doubt_if(
            any_open || known.iter().flatten().any(|word| word.starts_with("-p") || word.contains('x')),
            NAMES,
        ),
        _ => Effect::default(),
    }
}

/// `set` with nothing but what makes scripts stop or talk.
fn known_options(words: &[Option<&str>]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(options) = word.and_then(|word| word.strip_prefix(['-', '+'])) else { return false };
        if options.is_empty() || !options.chars().all(|option| "euxo".contains(option)) {
            return false;
        }
        let named = ["pipefail", "errexit", "nounset", "xtrace"];
        for _ in options.matches('o') {
            if !words.next().is_some_and(|name| name.is_some_and(|name| named.contains(&name))) {
                return false;
            }
        }
    }
    true
}

fn harmless_shopt(words: &[Option<&str>]) -> bool {
    const FINE: [&str; 8] =
        ["-s", "-u", "nullglob", "globstar", "dotglob", "failglob", "nocaseglob", "inherit_errexit"];
    words.iter().all(|word| word.is_some_and(|word| FINE.contains(&word)))
}

/// `export A=1`, `declare -x A`: the names must be there to be read.
fn declared(arguments: &[Argument]) -> Effect {
    let mut variables = Vec::new();
    for argument in arguments {
        if let Some(variable) = &argument.variable {
            variables.push(variable.clone());
            continue;
        }
        match argument.known() {
            Some(flags) if flags.starts_with('-') => {
                if !flags[1..].chars().all(|flag| "xrgaAp-".contains(flag)) {
                    return Effect::doubt("gives a variable a meaning that is not understood");
                }
            }
            Some(name) if is_name(name) => {
                variables.push(Variable { name: name.into(), value: Word::Open(name.into()) });
            }
            _ => return Effect::doubt(NAMES),
        }
    }
    Effect { doubt: None, variables }
}

/// Builtins that set the variables they name: every operand must be a plain name.
fn named(arguments: &[Argument], flags: &str, valued: &str) -> Effect {
    let mut variables = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.known() else { return Effect::doubt(NAMES) };
        if let Some(options) = text.strip_prefix('-').filter(|_| variables.is_empty()) {
            let last = options.chars().last();
            let plain = options.chars().rev().skip(1).all(|option| flags.contains(option));
            match last {
                Some(option) if plain && flags.contains(option) => {}
                Some(option) if plain && valued.contains(option) => {
                    let value = arguments.next();
                    let array = option == 'a';
                    match value.and_then(Argument::known) {
                        Some(name) if array && is_name(name) => {
                            variables.push(Variable { name: name.into(), value: Word::Open(name.into()) });
                        }
                        Some(_) if !array => {}
                        _ => return Effect::doubt(NAMES),
                    }
                }
                _ => return Effect::doubt(NAMES),
            }
        } else if is_name(text) {
            variables.push(Variable { name: text.into(), value: Word::Open(text.into()) });
        } else {
            return Effect::doubt(NAMES);
        }
    }
    Effect { doubt: None, variables }
}

fn printf_sets(arguments: &[Argument]) -> bool {
    match arguments.first().map(Argument::known) {
        Some(Some(first)) => first.starts_with("-v"),
        Some(None) => true,
        None => false,
    }
}

/// Whether a test could come to look up a variable by name, which calculates what stands in its brackets.
fn test_looks_up(arguments: &[Argument]) -> bool {
    const BETWEEN_TWO: [&str; 15] =
        ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "]"];
    arguments.iter().enumerate().any(|(at, argument)| match argument.known() {
        Some(text) => matches!(text, "-v" | "-R"),
        None if argument.number => false,
        None => {
            let next = arguments.get(at + 1).map(Argument::known);
            let apart = next.is_none_or(|next| {
                next.is_some_and(|next| BETWEEN_TWO.contains(&next) || matches!(next, "-a" | "-o"))
            });
            argument.splits || !apart
        }
    })
}
