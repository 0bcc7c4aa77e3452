//! Standing instructions: CLAUDE.md of the administrator, the user and every folder of the project, with what they
//! import. Where a folder has none, AGENTS.md serves.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use posse_core::hooks::occasion::MemoryType;
use posse_core::prompt::Instructions;

use super::Wanted;
use crate::catalog::Layout;
use crate::world::Env;

/// How far imports may lead.
const MAX_HOPS: usize = 5;
/// Larger files are not instructions.
const MAX_FILE: u64 = 1024 * 1024;

/// All instructions, the most general first.
pub(super) fn gather(layout: &Layout, env: &Env, wanted: Wanted) -> Vec<Instructions> {
    let mut found = Found { env, seen: HashSet::new(), files: Vec::new() };
    found.add(&layout.managed.join("CLAUDE.md"), MemoryType::Managed);
    if let Some(user) = layout.user.as_ref().filter(|_| wanted.user) {
        found.add(&user.join("CLAUDE.md"), MemoryType::User);
    }
    for folder in project_folders(layout) {
        if wanted.project {
            let own = [folder.join("CLAUDE.md"), folder.join(".claude/CLAUDE.md")];
            if !own.iter().any(|path| found.add(path, MemoryType::Project)) {
                found.add(&folder.join("AGENTS.md"), MemoryType::Project);
            }
        }
        if wanted.local {
            found.add(&folder.join("CLAUDE.local.md"), MemoryType::Local);
        }
    }
    found.files
}

/// From the repository's top (or the root) down to the working directory: the nearest speaks last.
fn project_folders(layout: &Layout) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in layout.cwd.ancestors() {
        folders.push(folder.to_owned());
        if Some(folder) == layout.repository.as_deref() {
            break;
        }
    }
    folders.reverse();
    folders
}

/// Whose instructions they are, for the model.
fn whose(memory: MemoryType) -> &'static str {
    match memory {
        MemoryType::Managed => "managed instructions for all users",
        MemoryType::User => "the user's instructions for all projects",
        MemoryType::Project => "project instructions, checked into the code base",
        MemoryType::Local => "the user's own instructions for this project",
    }
}

struct Found<'e> {
    env: &'e Env,
    seen: HashSet<PathBuf>,
    files: Vec<Instructions>,
}

impl Found<'_> {
    /// Adds a file and what it imports; `false` if there is no such file or it was there before.
    fn add(&mut self, path: &Path, memory: MemoryType) -> bool {
        let Some(text) = self.read(path) else { return false };
        self.push(path, memory, None, text.clone());
        self.imports(&text, path, 1, memory);
        true
    }

    fn push(&mut self, path: &Path, memory: MemoryType, parent: Option<&Path>, text: String) {
        self.files.push(Instructions {
            path: path.display().to_string(),
            whose: whose(memory),
            memory,
            parent: parent.map(|parent| parent.display().to_string()),
            text,
        });
    }

    fn read(&mut self, path: &Path) -> Option<String> {
        let metadata = path.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MAX_FILE {
            return None;
        }
        let real = path.canonicalize().ok()?;
        if !self.seen.insert(real) {
            return None;
        }
        let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
        Some(text).filter(|text| !text.trim().is_empty())
    }

    fn imports(&mut self, text: &str, from: &Path, hop: usize, memory: MemoryType) {
        if hop > MAX_HOPS {
            return;
        }
        for name in imported(text) {
            let path = self.resolve(&name, from);
            if let Some(text) = self.read(&path) {
                self.push(&path, memory, Some(from), text.clone());
                self.imports(&text, &path, hop + 1, memory);
            }
        }
    }

    /// Relative to the file that imports; `~/` is the home folder.
    fn resolve(&self, name: &str, from: &Path) -> PathBuf {
        match (name.strip_prefix("~/"), self.env.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => from.parent().unwrap_or(from).join(name),
        }
    }
}

/// The paths a text imports: words that begin with `@`, outside code.
fn imported(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        // Even pieces stand outside back-ticks.
        for piece in line.split('`').step_by(2) {
            let words = piece.split_whitespace().filter_map(|word| word.strip_prefix('@'));
            let paths = words
                .map(|word| word.trim_end_matches([',', ';', ':', ')', '.']))
                .filter(|word| !word.is_empty());
            names.extend(paths.map(str::to_owned));
        }
    }
    names
}
