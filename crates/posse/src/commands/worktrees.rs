//! `posse worktrees`: what agents left, and what becomes of it.

use posse_runtime::worktree::{WorktreeError, Worktrees};
use posse_runtime::world::World;
use serde_json::json;

use super::run::runtime;
use crate::args::{WorktreesArgs, WorktreesCommand};
use crate::render::style::Style;
use crate::render::{json as as_json, worktrees as page};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &WorktreesArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let runtime = runtime()?;
    runtime.block_on(async {
        let trees = Worktrees::of(&world.cwd, world).await.map_err(|error| failure(&error))?;
        match args.command.as_ref().unwrap_or(&WorktreesCommand::List) {
            WorktreesCommand::List => list(&trees, args.json, world, terminal).await,
            WorktreesCommand::Diff { name } => diff(&trees, name, args.json, terminal).await,
            WorktreesCommand::Merge { name, squash } => {
                merge(&trees, name, *squash, args.json, terminal).await
            }
            WorktreesCommand::Drop { name, force } => remove(&trees, name, *force, args.json, terminal).await,
            WorktreesCommand::Restore { saved } => restore(&trees, saved, args.json, terminal).await,
        }
    })
}

async fn list(trees: &Worktrees, json: bool, world: &World, terminal: &mut Terminal) -> CommandResult {
    let entries = trees.list().await.map_err(|error| failure(&error))?;
    let saved = trees.saved().await.map_err(|error| failure(&error))?;
    if json {
        as_json::print(&page::list_json(&entries, &saved), &mut terminal.out)?;
    } else {
        let style = Style { color: terminal.color };
        let text = page::list(&entries, &saved, &world.clock, style);
        terminal.out.write_all(text.as_bytes())?;
    }
    Ok(Outcome::Fine)
}

async fn diff(trees: &Worktrees, name: &str, json: bool, terminal: &mut Terminal) -> CommandResult {
    let patch = trees.diff(name, terminal.color && !json).await.map_err(|error| failure(&error))?;
    if json {
        as_json::print(&json!({ "patch": String::from_utf8_lossy(&patch) }), &mut terminal.out)?;
    } else {
        terminal.out.write_all(&patch)?;
    }
    Ok(Outcome::Fine)
}

async fn merge(
    trees: &Worktrees,
    name: &str,
    squash: bool,
    json: bool,
    terminal: &mut Terminal,
) -> CommandResult {
    let merged = trees.merge(name, squash).await.map_err(|error| failure(&error))?;
    if json {
        let value = json!({ "name": merged.name, "files": merged.files, "committed": merged.committed });
        as_json::print(&value, &mut terminal.out)?;
    } else {
        terminal.out.write_all(page::merged(&merged).as_bytes())?;
    }
    Ok(Outcome::Fine)
}

async fn remove(
    trees: &Worktrees,
    name: &str,
    force: bool,
    json: bool,
    terminal: &mut Terminal,
) -> CommandResult {
    let dropped = trees.drop(name, force).await.map_err(|error| failure(&error))?;
    if json {
        as_json::print(&page::dropped_json(&dropped), &mut terminal.out)?;
    } else {
        terminal.out.write_all(page::dropped(&dropped).as_bytes())?;
    }
    Ok(Outcome::Fine)
}

async fn restore(trees: &Worktrees, wanted: &str, json: bool, terminal: &mut Terminal) -> CommandResult {
    let restored = trees.restore(wanted).await.map_err(|error| failure(&error))?;
    if json {
        let value = json!({ "ref": restored.saved, "branch": restored.branch });
        as_json::print(&value, &mut terminal.out)?;
    } else {
        writeln!(terminal.out, "{} is the branch {} now", restored.saved, restored.branch)?;
        writeln!(terminal.out, "git switch {}", restored.branch)?;
    }
    Ok(Outcome::Fine)
}

/// An error of worktrees as the end of a command, with what to do about it.
fn failure(error: &WorktreeError) -> Failure {
    let end = Failure::new(error.to_string());
    match error {
        WorktreeError::NotARepository { .. } => end.hint("run it in a git repository").usage(),
        WorktreeError::Unknown(_) => end.hint("`posse worktrees` lists what there is").usage(),
        WorktreeError::Ambiguous { .. } => end.hint("write more of the name").usage(),
        WorktreeError::Running { .. } => end.hint("stop that run first"),
        WorktreeError::Locked { .. } => {
            end.hint("--force removes it all the same, after saving what is in it")
        }
        WorktreeError::Nested(_) => {
            end.hint("move it away, or delete it; --force moves the whole folder to where it is kept")
        }
        WorktreeError::Conflicts { name, .. } => end
            .hint("nothing was changed")
            .hint(format!("merge the branch worktree-{name} with git to solve them by hand")),
        WorktreeError::Refused { .. } => {
            end.hint("nothing was changed; commit or stash your own changes first")
        }
        WorktreeError::Record { .. } => {
            end.hint("nothing is removed without its record; mend or delete the file")
        }
        WorktreeError::Busy { .. } => end.hint("end what writes to it, then try again"),
        WorktreeError::NoCommit
        | WorktreeError::Link(_)
        | WorktreeError::Id(_)
        | WorktreeError::Start { .. }
        | WorktreeError::Git { .. }
        | WorktreeError::Late { .. }
        | WorktreeError::Disk { .. }
        | WorktreeError::Reused { .. }
        | WorktreeError::Missing { .. }
        | WorktreeError::Taken { .. } => end,
    }
}
