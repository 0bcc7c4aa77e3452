//! EnterWorktree and ExitWorktree: an agent that moves to a copy of the repository and back in the middle of its work.
//!
//! Knows where it came from and brings it back there. Refuses to remove what holds work, unless it is told to; and even
//! then what git made is saved first.

use std::path::{Path, PathBuf};

use posse_core::delegation::{Cause, Ending};
use serde_json::{Value, json};

use super::place::Lodging;
use super::tree::{Called, Home, STEP, Tree};
use super::{Crew, Member};
use crate::authority::{Claim, RunHooks};
use crate::tool::{ToolCx, ToolOutput};
use crate::worktree::{Finished, State, Worktree, WorktreeError, Worktrees};

/// Where somebody was before.
#[derive(Clone, Debug)]
pub(super) struct Before {
    cwd: PathBuf,
    claim: Option<Claim>,
}

/// A session that begins in a copy.
pub(in super::super) struct Lodged {
    pub(in super::super) path: PathBuf,
    pub(in super::super) branch: Option<String>,
    pub(in super::super) claim: Claim,
    pub(super) lodging: Lodging,
}

/// Longer names are no names.
const LONGEST_NAME: usize = 64;

impl Crew {
    /// Makes the copy that a session begins in.
    pub(in super::super) async fn lodge(
        &self,
        name: Option<&str>,
        hooks: &RunHooks,
        roots: &[PathBuf],
    ) -> Result<Lodged, String> {
        let cwd = self.common.world.cwd.clone();
        let (tree, claim) = self.named_tree(name, hooks, &cwd, roots).await?;
        let (path, branch) = (tree.path().to_owned(), tree.branch().map(str::to_owned));
        let before = Some(Before { cwd, claim: None });
        let lodging = Lodging { before, ..Lodging::of(Some(tree)) };
        Ok(Lodged { path, branch, claim, lodging })
    }

    async fn named_tree(
        &self,
        name: Option<&str>,
        hooks: &RunHooks,
        cwd: &Path,
        roots: &[PathBuf],
    ) -> Result<(Tree, Claim), String> {
        let name = match name {
            Some(name) => flat_name(name)?,
            None => format!("session-{}", self.common.world.ids.hex16().get(..8).unwrap_or_default()),
        };
        let made = self.make_tree(hooks, cwd, Called::Exactly(&name)).await;
        let tree = made.map_err(|cause| match cause {
            Cause::Start { step: STEP, why } => why,
            other => Ending::Failed(other).words(),
        })?;
        let claim = self.own_claim(&tree, cwd, roots).await;
        Ok((tree, claim))
    }

    /// Folders that were added to the session stay its own.
    async fn own_claim(&self, tree: &Tree, cwd: &Path, roots: &[PathBuf]) -> Claim {
        let mut claim = self.claim_on(tree, cwd, None).await;
        let is_fenced = |root: &PathBuf| claim.fenced.iter().any(|fence| root.starts_with(fence));
        let stays: Vec<PathBuf> =
            roots.iter().filter(|root| !is_fenced(root) && *root != cwd).cloned().collect();
        claim.roots.extend(stays);
        claim
    }

    /// What a call of EnterWorktree does.
    pub(super) async fn enter(&self, input: Value, cx: &ToolCx) -> ToolOutput {
        let Some(member) = self.member(&cx.agent) else {
            return ToolOutput::error("This conversation cannot move.");
        };
        match self.try_enter(&input, &member).await {
            Ok(output) => output,
            Err(why) => ToolOutput::error(why),
        }
    }

    async fn try_enter(&self, input: &Value, member: &Member) -> Result<ToolOutput, String> {
        let text = |key: &str| input.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        if let Some(tree) = &member.lodging().tree {
            let path = tree.path().display();
            return Err(format!(
                "You work in a worktree already: {path}. Leave it with ExitWorktree before you enter another."
            ));
        }
        let (cwd, guard) = (member.cx.cwd.get(), &member.setup.guard);
        let before = Before { cwd: cwd.clone(), claim: guard.territory.claim() };
        let roots = guard.folders(&cwd).roots;
        let (tree, claim) = match (text("name"), text("path")) {
            (Some(_), Some(_)) => return Err("EnterWorktree takes `name` or `path`, not both.".into()),
            (name, None) => self
                .named_tree(name, &guard.hooks, &cwd, &roots)
                .await
                .map_err(|why| format!("The worktree was not made: {why}"))?,
            (None, Some(path)) => {
                let tree = self.existing_tree(&member.cx.resolve(path), &cwd).await?;
                let claim = self.own_claim(&tree, &cwd, &roots).await;
                (tree, claim)
            }
        };
        let (path, branch) = (tree.path().to_owned(), tree.branch().map(str::to_owned));
        *member.lodging() = Lodging { before: Some(before), ..Lodging::of(Some(tree)) };
        guard.territory.set(Some(claim));
        member.cx.cwd.set(path.clone());
        let on = branch.as_ref().map(|branch| format!(" on the branch {branch}")).unwrap_or_default();
        let (path, original) = (path.display(), cwd.display());
        let text = format!(
            "You work in the worktree {path}{on} from now on. Read every path below {original} as the same path below \
             {path}, and touch nothing in {original}. Files you have read there may differ here: read them again \
             before you change them. ExitWorktree brings you back."
        );
        Ok(ToolOutput::text(text).with(json!({ "worktreePath": path.to_string(), "worktreeBranch": branch })))
    }

    async fn existing_tree(&self, path: &Path, cwd: &Path) -> Result<Tree, String> {
        let trees = Worktrees::of(cwd, &self.common.world).await.map_err(|error| error.to_string())?;
        match trees.reopen_at(path, &self.common.session).await {
            Ok(Some(tree)) => Ok(Tree::Git(tree)),
            Ok(None) => Ok(Tree::Visited(path.canonicalize().unwrap_or_else(|_| path.to_owned()))),
            Err(WorktreeError::Unknown(path)) => {
                Err(format!("{path} is no worktree of this repository; `git worktree list` shows them."))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// What a call of ExitWorktree does.
    pub(super) async fn exit(&self, input: Value, cx: &ToolCx) -> ToolOutput {
        let Some(member) = self.member(&cx.agent) else {
            return ToolOutput::error("This conversation cannot move.");
        };
        match self.try_exit(&input, &member).await {
            Ok(output) => output,
            Err(why) => ToolOutput::error(why),
        }
    }

    async fn try_exit(&self, input: &Value, member: &Member) -> Result<ToolOutput, String> {
        let removes = match input.get("action").and_then(Value::as_str) {
            Some("keep") => false,
            Some("remove") => true,
            Some(_) | None => return Err("ExitWorktree takes `action`: keep or remove.".into()),
        };
        let discards = input.get("discard_changes").and_then(Value::as_bool).unwrap_or(false);
        let (tree, before) = {
            let mut lodging = member.lodging();
            let Some(before) = lodging.before.clone() else { return Err(not_entered(&lodging)) };
            let Some(tree) = lodging.tree.take() else { return Err(not_entered(&lodging)) };
            (tree, before)
        };
        if removes && let Err(why) = self.may_remove(&tree, discards).await {
            member.lodging().tree = Some(tree);
            return Err(why);
        }
        *member.lodging() = Lodging::default();
        member.setup.guard.territory.set(before.claim);
        member.cx.cwd.set(before.cwd.clone());
        let path = tree.path().display().to_string();
        let branch = tree.branch().map(str::to_owned);
        let became = if removes {
            self.remove_tree(tree, &member.setup.guard.hooks).await
        } else {
            self.keep_tree(tree).await
        };
        let text = format!("You work in {} again. The worktree {path} {became}", before.cwd.display());
        let action = if removes { "remove" } else { "keep" };
        Ok(ToolOutput::text(text)
            .with(json!({ "action": action, "worktreePath": path, "worktreeBranch": branch })))
    }

    /// Whether a copy may go: nothing is in it, or somebody says that it may go all the same.
    async fn may_remove(&self, tree: &Tree, discards: bool) -> Result<(), String> {
        const HOW: &str =
            "Leave with `action: keep`, or, if the user does not want it, set `discard_changes`.";
        if !tree.is_last() {
            return Err(
                "Agents still work in this worktree. Leave with `action: keep`, or wait for them.".into()
            );
        }
        match tree {
            Tree::Git(tree) if !discards => match self.state(tree).await {
                Ok(State::Unchanged { .. }) => Ok(()),
                Ok(State::Changed(changes)) => Err(format!("The worktree holds work: {changes}. {HOW}")),
                Err(error) => Err(format!("Whether the worktree holds work cannot be told: {error}. {HOW}")),
            },
            Tree::Hooked(tree) if !discards && !tree.is_untouched().await => {
                Err(format!("The worktree is not as the hook made it, and may hold work. {HOW}"))
            }
            Tree::Visited(_) => {
                Err("This worktree was not made here and is not removed here. Leave with `action: keep`."
                    .into())
            }
            Tree::Git(_) | Tree::Hooked(_) => Ok(()),
        }
    }

    async fn state(&self, tree: &Worktree) -> Result<State, WorktreeError> {
        Worktrees::of(tree.path(), &self.common.world).await?.inspect(tree).await
    }

    /// Removes a copy, after saving what is in it. What became of it, as half a sentence.
    async fn remove_tree(&self, tree: Tree, hooks: &RunHooks) -> String {
        match tree {
            Tree::Git(tree) => self.remove_git_tree(tree).await,
            Tree::Hooked(tree) => match self.hand_back(tree.path(), hooks).await {
                Ok(()) => "was removed by its hook.".into(),
                Err(why) => format!("is still there: {why}."),
            },
            Tree::Visited(_) => "is as it was.".into(),
        }
    }

    async fn remove_git_tree(&self, tree: Worktree) -> String {
        let name = tree.name().to_owned();
        let trees = match Worktrees::of(&self.common.world.cwd, &self.common.world).await {
            Ok(trees) => trees,
            Err(error) => return format!("is still there: {error}."),
        };
        let saved = match trees.finish(tree).await {
            Finished::Removed { saved, .. } => saved,
            Finished::InUse => return "is still in use, and ends with whoever uses it.".into(),
            Finished::Kept { .. } => match trees.drop(&name, false).await {
                Ok(dropped) => dropped.saved.into_iter().next_back(),
                Err(error) => return format!("is still there: {error}."),
            },
        };
        match saved {
            Some(saved) => format!("was removed. What was in it is saved as {}.", saved.name),
            None => "was removed.".into(),
        }
    }

    async fn keep_tree(&self, tree: Tree) -> String {
        let branch = tree.branch().map(|branch| format!(", on the branch {branch}")).unwrap_or_default();
        if let Tree::Git(tree) = tree {
            let trees = Worktrees::of(&self.common.world.cwd, &self.common.world).await;
            if let Ok(trees) = trees {
                trees.keep(tree).await;
            }
        }
        format!("stays as it is{branch}.")
    }

    /// The main agent leaves for good: what a person should know of the copy it worked in.
    pub(in super::super) async fn leave_main(&self) -> Option<String> {
        let main = self.member("")?;
        let home = main.lodging().home.clone();
        let kept = self.leave_place(&main).await?;
        let branch = kept.branch.map(|branch| format!(" on the branch {branch}")).unwrap_or_default();
        let how = match home {
            Some(Home::Git(name)) => format!("; see `posse worktrees diff {name}`"),
            Some(Home::Hooked(_) | Home::Visited(_)) | None => String::new(),
        };
        Some(format!("the work is in {}{branch}{how}", kept.path))
    }
}

fn not_entered(lodging: &Lodging) -> String {
    match &lodging.tree {
        Some(_) => "This worktree was made for you and ends with you: finish your work and report.".into(),
        None => "You are in no worktree that EnterWorktree brought you to, so there is none to leave.".into(),
    }
}

/// A name as a person gives it, as one word that a folder and a branch can have.
fn flat_name(name: &str) -> Result<String, String> {
    let is_fine = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with(['.', '-'])
            && !part.contains("..")
            && !part.ends_with(".lock")
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    if name.len() <= LONGEST_NAME && name.split('/').all(is_fine) {
        return Ok(name.replace('/', "+"));
    }
    Err(format!(
        "`{name}` is no name for a worktree: up to {LONGEST_NAME} letters, digits, dots, underscores and dashes, with \
         slashes between the parts"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_folders_and_branches_can_have() {
        for (name, flat) in [
            ("fix", Some("fix")),
            ("feature/auth-2", Some("feature+auth-2")),
            ("a.b_c", Some("a.b_c")),
            ("", None),
            ("..", None),
            ("../x", None),
            ("/x", None),
            ("a//b", None),
            ("-x", None),
            ("a b", None),
            ("a..b", None),
            ("x.lock", None),
            ("n\u{e9}", None),
        ] {
            assert_eq!(flat_name(name).ok().as_deref(), flat, "{name}");
        }
        assert!(flat_name(&"a".repeat(65)).is_err());
    }
}
