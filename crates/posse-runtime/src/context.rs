//! What an agent should know before the first word: standing instructions, the repository, the machine.

mod git;
mod instructions;

use std::path::{Path, PathBuf};

use posse_core::hooks::Occasion;
use posse_core::hooks::occasion::LoadReason;
use posse_core::prompt::{Environment, Instructions};

use crate::catalog::Layout;
use crate::world::World;

pub use git::branch;

/// What was gathered.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// CLAUDE.md files and their kin.
    pub instructions: Vec<Instructions>,
    /// The state of the repository.
    pub git: Option<String>,
    /// The machine.
    pub environment: Environment,
}

/// Which parts to gather.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Instructions of the user.
    pub user: bool,
    /// Instructions of the project.
    pub project: bool,
    /// Instructions that are not checked in.
    pub local: bool,
    /// The state of the repository.
    pub git: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { user: true, project: true, local: true, git: true }
    }
}

/// Gathers what is wanted. Nothing here can fail: what cannot be read is left out.
pub async fn gather(
    world: &World,
    layout: &Layout,
    extra_dirs: &[PathBuf],
    model: &str,
    wanted: Wanted,
) -> Context {
    let is_git = layout.repository.is_some();
    let status = async { if is_git && wanted.git { git::status(&layout.cwd).await } else { None } };
    let instructions = instructions::gather(layout, &world.env, wanted);
    Context {
        instructions,
        git: status.await,
        environment: Environment {
            cwd: layout.cwd.display().to_string(),
            extra_dirs: extra_dirs.iter().map(|dir| dir.display().to_string()).collect(),
            is_git,
            os: operating_system(),
            shell: shell(world),
            model: model.to_owned(),
            date: world.clock.today(),
        },
    }
}

/// A file of instructions as hooks are told of it. One that another file imports says so, whatever the reason was.
pub fn loaded(file: &Instructions, reason: LoadReason) -> Occasion {
    let Instructions { path, whose: _, memory, parent, text: _ } = file;
    let is_first = reason == LoadReason::SessionStart;
    Occasion::InstructionsLoaded {
        file_path: path.clone(),
        memory_type: *memory,
        load_reason: if parent.is_some() && is_first { LoadReason::Include } else { reason },
        globs: None,
        trigger_file_path: None,
        parent_file_path: parent.clone(),
    }
}

fn shell(world: &World) -> String {
    let path = world.env.get("SHELL").unwrap_or("sh");
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn operating_system() -> String {
    let uname = rustix::system::uname();
    format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy())
}

#[cfg(test)]
mod tests;
