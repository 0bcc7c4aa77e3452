//! Shell commands, taken apart so that everything that would run can be judged by itself.
//!
//! Knows the grammar of bash, which programs only start other programs, and which only look. Refuses to know rules,
//! files and modes: what may run is decided in `permission`. What cannot be understood is a [`Doubt`], never a guess.
//!
//! Two readers look at each text. Ours follows bash's own lexer byte by byte and knows a strict part of the language;
//! the tree-sitter grammar knows more of it, but is made for colouring (to it `a\ b` is two words). So ours decides,
//! and what only the other one takes for a command is a doubt.

use std::collections::BTreeSet;

mod builtins;
mod compound;
mod expand;
mod look;
mod reader;
mod second;
mod settle;
mod starters;
mod variables;
mod word;
mod wrappers;

pub use look::looks_at;
pub use variables::is_harmless;

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Everything that would be started, wherever it stands: in lists, pipes, substitutions, functions, heredocs.
    pub runs: Vec<Run>,
    /// Why it is not certain that `runs` is all. A script with a doubt is never allowed by a rule.
    pub doubts: Vec<Doubt>,
}

/// Something that cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The piece of the command line.
    pub text: Box<str>,
    /// What is wrong with it, as half a sentence.
    pub why: &'static str,
}

/// One program or builtin that would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The program and its arguments, quotes removed, behind wrappers that only change how it runs (`timeout 5 …`).
    pub words: Vec<Word>,
    /// Variables set for it, by `NAME=value …` or through `env`; for a mere assignment `words` is empty.
    pub variables: Vec<Variable>,
    /// Files it reads from or writes to by redirection. Copies of descriptors (`2>&1`) are not among them. Those of a
    /// whole group or loop come as a run without words.
    pub redirects: Vec<Redirect>,
    /// The same words with the wrappers that were taken off, outermost first: rules that deny see those too.
    pub wrapped: Vec<Vec<Word>>,
    /// Folders the script may have moved to before (`cd x`), besides the one it starts in. An open word among them
    /// means that relative paths cannot be told.
    pub folders: Vec<Word>,
    /// As written.
    pub text: Box<str>,
}

/// A word of a command, after quote removal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// What the program gets, exactly, but for the tilde: a leading `~` (alone or before `/`) is the home folder. Where
    /// the tilde was quoted and thus means a file of that name, the word reads `./~…`, so that no reader of paths
    /// takes one for the other.
    Known(Box<str>),
    /// Only known when it runs, and may then be any number of words: `$x`, `*.rs`, `{a,b}`, `$(…)`; as written.
    Open(Box<str>),
}

/// A variable that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Box<str>,
    /// What it is set to.
    pub value: Word,
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The file.
    pub file: Word,
    /// Whether it may be changed.
    pub writes: bool,
}

impl Word {
    /// The text, if it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Open(_) => None,
        }
    }
}

/// Takes a command line apart. It is read as `bash -c` would: without aliases, history and extended patterns.
pub fn parse(source: &str) -> Script {
    let mut script = Script::default();
    read_into(&mut script, source, Dialect::Bash, 0);
    let mut seen = BTreeSet::new();
    script.doubts.retain(|doubt| seen.insert((doubt.text.clone(), doubt.why)));
    script
}

/// Whose grammar a text is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Bash,
    /// Whatever `sh` is here: what bash and a plain shell read differently is a doubt.
    Plain,
}

/// A text within a text within a text (`sh -c "sh -c …"`) is followed this far.
const DEEPEST_TEXT: usize = 6;
/// No command line that a person would read is longer.
const LONGEST_TEXT: usize = 256 * 1024;

fn read_into(script: &mut Script, source: &str, dialect: Dialect, depth: usize) {
    if depth > DEEPEST_TEXT || source.len() > LONGEST_TEXT {
        let text: String = source.chars().take(80).collect();
        script.doubts.push(Doubt { text: text.into(), why: "is too deep or too long to be read" });
        return;
    }
    let mut found = reader::read(source, dialect);
    second::compare(source, &mut found);
    settle::settle(script, found, depth);
}

#[cfg(test)]
mod tests;
