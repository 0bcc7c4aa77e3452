//! Errors at the top: one message, hints, one exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use posse_core::diagnostic::Diagnostic;
use posse_runtime::sandbox::confine::ConfineError;

use crate::render::diagnostics;
use crate::render::style::Style;
use crate::terminal::Terminal;

/// How a command ended.
pub enum Outcome {
    /// As it should.
    Fine,
    /// It ran, and found problems.
    Problems,
    /// Somebody stopped it.
    Interrupted,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
    /// The places at fault.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the command line is to blame.
    pub usage: bool,
}

impl Failure {
    /// A failure with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new(), diagnostics: Vec::new(), usage: false }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Blames the command line.
    pub fn usage(mut self) -> Self {
        self.usage = true;
        self
    }
}

/// A command's result; writing is the only other thing that can go wrong.
pub type CommandResult = Result<Outcome, Error>;

/// A failure, or the output was closed.
pub enum Error {
    /// The command failed.
    Failure(Failure),
    /// Writing failed.
    Io(io::Error),
}

impl Error {
    /// The same for a program that started posse: whatever keeps a session from starting has one exit code.
    pub fn for_programs(self) -> Self {
        match self {
            Self::Failure(failure) => Self::Failure(Failure { usage: false, ..failure }),
            Self::Io(error) => Self::Io(error),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

const PROBLEMS: u8 = 1;
const USAGE: u8 = 2;
/// What shells say of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Turns a result into an exit code, and says what there is to say.
pub fn finish(result: CommandResult, terminal: &mut Terminal) -> ExitCode {
    let result = result.and_then(|outcome| {
        terminal.out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Problems) => ExitCode::from(PROBLEMS),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        // Whoever closed the pipe has read enough.
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Error::Io(error)) => say(terminal, &Failure::new(format!("cannot write: {error}"))),
        Err(Error::Failure(failure)) => say(terminal, &failure),
    }
}

fn say(terminal: &mut Terminal, failure: &Failure) -> ExitCode {
    let text = text(failure, Style { color: terminal.color });
    // If not even that can be written there is nobody to tell.
    let _ = terminal.err.write_all(text.as_bytes());
    ExitCode::from(if failure.usage { USAGE } else { PROBLEMS })
}

/// A failure as people read it: the message, the places, the hints.
pub fn text(failure: &Failure, style: Style) -> String {
    let mut text = format!("{} {}\n", style.error("error:"), failure.message);
    for diagnostic in &failure.diagnostics {
        text.push('\n');
        text.push_str(&diagnostics::one(diagnostic, style, |path| path.display().to_string()));
    }
    for hint in &failure.hints {
        text.push_str(&format!("{} {hint}\n", style.hint("hint:")));
    }
    text
}

/// What the argument parser has to say: help and version are results, the rest are errors. Programs that start posse
/// know one code for all that keeps a session from starting.
pub fn usage(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let _ = error.print();
    let apart = args.windows(2).any(|pair| pair[0] == "--input-format" && pair[1] == "stream-json");
    let by_program = apart || args.iter().any(|arg| arg == "--input-format=stream-json");
    match (error.use_stderr(), by_program) {
        (false, _) => ExitCode::SUCCESS,
        (true, true) => ExitCode::from(PROBLEMS),
        (true, false) => ExitCode::from(USAGE),
    }
}

/// A command that was to run in a sandbox did not run.
pub fn not_confined(error: &ConfineError) -> ExitCode {
    let _ = writeln!(io::stderr(), "posse: {error}");
    ExitCode::from(error.code())
}

/// The working directory is gone, or something as strange.
pub fn no_world(error: &io::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: the working directory cannot be read: {error}");
    ExitCode::from(PROBLEMS)
}
