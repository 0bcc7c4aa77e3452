//! How results look: to people as text, to programs as JSON. Values in, strings out.

pub mod ask;
pub mod config;
pub mod debug;
pub mod diagnostics;
pub mod explain;
pub mod fields;
pub mod hooks;
pub mod json;
pub mod listing;
pub mod mcp;
pub mod plugins;
pub mod runs;
pub mod sarif;
pub mod skills;
pub mod stream;
pub mod style;
pub mod transcript;
pub mod worktrees;

use std::path::Path;

/// A path as one would type it here: relative below the working directory, else absolute.
pub fn relative(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        Ok(_) | Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests;
