//! The other side of the sandbox: a posse that gives up its rights and becomes the program it was asked to run.
//!
//! Runs before anything else, in a process with one thread, because rights are given up by threads. Whatever fails
//! here means that the program is not run: there is no way on without a sandbox.

use std::ffi::OsString;

use super::order::{Order, WORD};

/// Why the program was not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The call makes no sense; only posse makes such calls.
    #[error("the order to confine a command cannot be read: {0}")]
    Order(String),
    /// A right could not be given up.
    #[error("the sandbox could not be set up, so the command was not run: {0}")]
    Setup(String),
    /// All is confined, but there is no such program.
    #[error("{program} could not be run: {source}")]
    Exec {
        /// The program.
        program: String,
        /// What the system says.
        source: std::io::Error,
    },
}

impl ConfineError {
    /// The exit code, as `env` and others use them.
    pub fn code(&self) -> u8 {
        match self {
            Self::Order(_) | Self::Setup(_) => 125,
            Self::Exec { source, .. } if source.kind() == std::io::ErrorKind::NotFound => 127,
            Self::Exec { .. } => 126,
        }
    }
}

/// Whether a command line asks for this.
pub fn is_asked(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|word| word == WORD)
}

/// Gives up rights and becomes the program. Returns only if that failed.
pub fn become_confined(args: &[OsString]) -> ConfineError {
    let (order, program) = match read(args) {
        Ok(read) => read,
        Err(text) => return ConfineError::Order(text),
    };
    if let Err(text) = enforce(&order) {
        return ConfineError::Setup(text);
    }
    become_program(program)
}

/// `posse __confine <order> -- program args…`
fn read(args: &[OsString]) -> Result<(Order, &[OsString]), String> {
    let [_, _, order, dashes, program @ ..] = args else { return Err("it is incomplete".to_owned()) };
    if dashes != "--" || program.is_empty() {
        return Err("it names no program".to_owned());
    }
    let order = order.to_str().ok_or("it is not text")?;
    let order = serde_json::from_str(order).map_err(|error| error.to_string())?;
    Ok((order, program))
}

#[cfg(target_os = "linux")]
fn enforce(order: &Order) -> Result<(), String> {
    use super::{landlock, privileges, seccomp};
    privileges::drop(order)?;
    if order.landlock {
        landlock::restrict(order)?;
    }
    seccomp::restrict(order)
}

#[cfg(not(target_os = "linux"))]
fn enforce(_: &Order) -> Result<(), String> {
    Err("there is no sandbox for this system yet".to_owned())
}

#[allow(clippy::disallowed_methods)] // Nothing is started: this process becomes the program, in its own surroundings.
fn become_program(program: &[OsString]) -> ConfineError {
    use std::os::unix::process::CommandExt;
    let Some((path, args)) = program.split_first() else {
        return ConfineError::Order("it names no program".to_owned());
    };
    let name = std::path::Path::new(path).file_name().unwrap_or(path);
    let source = std::process::Command::new(path).arg0(name).args(args).exec();
    ConfineError::Exec { program: path.to_string_lossy().into_owned(), source }
}
