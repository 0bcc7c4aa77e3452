//! Shell commands, taken apart so that everything that would run can be judged by itself.
//!
//! Knows the grammar of bash, which programs only start other programs, and which only look. Refuses to know rules,
//! files and modes: what may run is decided in `permission`. What cannot be understood is a [`Doubt`], never a guess.

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
    /// Files it reads from or writes to by redirection. Copies of descriptors (`2>&1`) are not among them.
    pub redirects: Vec<Redirect>,
    /// The same words with the wrappers that were taken off, outermost first: rules that deny see those too.
    pub wrapped: Vec<Vec<Word>>,
    /// Folders the script may have moved to before (`cd x`), besides the one it starts in.
    pub folders: Vec<Word>,
    /// As written.
    pub text: Box<str>,
}

/// A word of a command, after quote removal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// What the program gets, exactly.
    Known(Box<str>),
    /// Only known when it runs: `$x`, `*.rs`, `$(…)`; as written.
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

/// Takes a command line apart.
pub fn parse(source: &str) -> Script {
    Script { runs: Vec::new(), doubts: vec![Doubt { text: source.into(), why: "commands are not read yet" }] }
}

/// What a run that only looks looks at: `None` if it may change something, else the words that name files.
pub fn looks_at(run: &Run) -> Option<Vec<Word>> {
    let _ = run;
    None
}

/// Whether setting a variable cannot change what a program does beyond how it prints (`LANG`, `NO_COLOR`).
pub fn is_harmless(variable: &str) -> bool {
    let _ = variable;
    false
}
