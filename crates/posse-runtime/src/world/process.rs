//! Starting other programs. The only place that may: whoever starts one says where it runs.

use std::ffi::OsStr;
use std::path::Path;

/// A program to be run in a folder. It inherits the environment of this process.
#[allow(clippy::disallowed_methods)] // The door the lint guards.
pub fn command(program: impl AsRef<OsStr>, cwd: &Path) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program);
    command.current_dir(cwd).stdin(std::process::Stdio::null()).kill_on_drop(true);
    command
}
