//! What can go wrong with worktrees, in words for people.

use std::path::PathBuf;

/// Why something could not be done. Whatever it was, nothing is lost.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// There is no git repository with files.
    #[error("{} is not in a git repository with a checkout: {said}", folder.display())]
    NotARepository {
        /// Where.
        folder: PathBuf,
        /// What git said.
        said: String,
    },
    /// There is no commit to start from.
    #[error("the repository has no commit yet, so there is nothing to start a worktree from")]
    NoCommit,
    /// A link could lead anywhere.
    #[error("{} is a link; a worktree is made only where no link leads elsewhere", .0.display())]
    Link(PathBuf),
    /// The agent's id has no usable characters.
    #[error("`{0}` is no id to name a worktree after")]
    Id(String),
    /// git could not be started.
    #[error("git {what} could not be run: {source}")]
    Start {
        /// Which call.
        what: String,
        /// Why.
        source: std::io::Error,
    },
    /// git failed.
    #[error("git {what} failed: {said}")]
    Git {
        /// Which call.
        what: String,
        /// What it said.
        said: String,
    },
    /// git took too long.
    #[error("git {what} took longer than {seconds} s")]
    Late {
        /// Which call.
        what: String,
        /// How long it was given.
        seconds: u64,
    },
    /// The disk failed.
    #[error("{}: {source}", place.display())]
    Disk {
        /// Where.
        place: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A record cannot be read.
    #[error("{} cannot be read: {reason}", file.display())]
    Record {
        /// The record.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// No such worktree.
    #[error("there is no worktree called `{0}`")]
    Unknown(String),
    /// The name is not free.
    #[error("there is a folder or a branch for a worktree `{name}` already, and posse did not make it")]
    Taken {
        /// Which name.
        name: String,
    },
    /// Several fit.
    #[error("`{name}` could be any of {}", among.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// What it could be.
        among: Vec<String>,
    },
    /// Somebody works in it.
    #[error("an agent still works in {name} (process {pid})")]
    Running {
        /// Which.
        name: String,
        /// Whose.
        pid: i32,
    },
    /// Not ours, and locked.
    #[error("{name} was not made by posse and is locked: {reason}")]
    Locked {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
    /// It holds what cannot be saved in this repository.
    #[error("{} is a repository of its own, which cannot be saved in this one", .0.display())]
    Nested(PathBuf),
    /// Somebody writes to it all the time.
    #[error("files in {name} keep changing")]
    Busy {
        /// Which.
        name: String,
    },
    /// It changed hands.
    #[error("{name} was taken into use again")]
    Reused {
        /// Which.
        name: String,
    },
    /// It is there no more.
    #[error("{name} has no files any more")]
    Missing {
        /// Which.
        name: String,
    },
    /// Both sides changed the same.
    #[error("{name} cannot be merged without conflicts in {}", files.join(", "))]
    Conflicts {
        /// Which.
        name: String,
        /// Where.
        files: Vec<String>,
    },
    /// git refused to merge.
    #[error("{name} cannot be merged here: {said}")]
    Refused {
        /// Which.
        name: String,
        /// What git said.
        said: String,
    },
}
