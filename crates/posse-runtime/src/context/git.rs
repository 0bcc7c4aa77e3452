//! The state of a repository, in a few lines. One call of git, and its HEAD read directly: starting programs is what
//! costs time before the first request.

use std::path::Path;
use std::time::Duration;

use crate::world::process;

/// A repository so large that git needs longer gets no status.
const PATIENCE: Duration = Duration::from_secs(5);
const MOST_LINES: usize = 60;

/// Branch, changes and last commits; `None` if git cannot say.
pub(super) async fn status(cwd: &Path) -> Option<String> {
    let status = run(cwd, &["status", "--short", "--branch", "--no-ahead-behind"]);
    let log = run(cwd, &["log", "--oneline", "--no-decorate", "-n", "5"]);
    let (status, log) = tokio::join!(status, log);
    let status = status?;
    let mut lines: Vec<&str> = status.lines().collect();
    let total = lines.len();
    lines.truncate(MOST_LINES);
    let mut text = lines.join("\n");
    if total > MOST_LINES {
        text.push_str(&format!("\n… {} more", total - MOST_LINES));
    }
    if total <= 1 {
        text.push_str("\n(clean)");
    }
    if let Some(log) = log.filter(|log| !log.trim().is_empty()) {
        text.push_str(&format!("\n\nRecent commits:\n{}", log.trim_end()));
    }
    Some(text)
}

async fn run(cwd: &Path, args: &[&str]) -> Option<String> {
    let mut command = process::command("git", cwd);
    // A status must not take locks or ask for passwords while somebody else works in the repository.
    command
        .args(["--no-optional-locks", "-c", "core.quotepath=false"])
        .args(args)
        .env("GIT_TERMINAL_PROMPT", "0");
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The branch a repository is on, without starting git; empty if it is on none.
pub fn branch(repository: &Path) -> String {
    let dot_git = repository.join(".git");
    let head = if dot_git.is_dir() {
        std::fs::read_to_string(dot_git.join("HEAD"))
    } else {
        std::fs::read_to_string(&dot_git).and_then(|link| {
            let folder = link.trim().strip_prefix("gitdir:").map(str::trim).unwrap_or_default();
            std::fs::read_to_string(repository.join(folder).join("HEAD"))
        })
    };
    let head = head.unwrap_or_default();
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned).unwrap_or_default()
}
