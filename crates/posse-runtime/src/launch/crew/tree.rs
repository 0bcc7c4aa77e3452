//! A copy of the repository that agents work in: made by git, made by a hook, or somebody else's.
//!
//! Knows how each kind is made and given up. What git made is never given up before its work is safe; what a hook made is
//! the hook's, and is handed back to it only if it is as it was.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::delegation::{self, Cause};
use posse_core::event::Delta;
use posse_core::hooks::{HookEvent, Merged, Occasion};

use super::Crew;
use super::build::failed;
use crate::authority::{Claim, RunHooks};
use crate::worktree::{Base, CreateOptions, Finished, Footprint, Worktree, Worktrees, usual_name};

/// The step that fails where a copy cannot be made.
pub(super) const STEP: &str = "make its worktree";

/// A copy in use.
pub(super) enum Tree {
    /// Made by git.
    Git(Worktree),
    /// Made by a `WorktreeCreate` hook.
    Hooked(Arc<Hooked>),
    /// Made by somebody else: nothing ever becomes of it.
    Visited(PathBuf),
}

/// What a hook made.
pub(super) struct Hooked {
    path: PathBuf,
    /// As the hook handed it over; unknown if it cannot be told, or if it was worked in before.
    found: Option<Footprint>,
}

/// How to find a copy again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Git(String),
    Hooked(PathBuf),
    Visited(PathBuf),
}

impl Home {
    /// As it is written down: a name, or a path.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Git(name) => name.clone(),
            Self::Hooked(path) | Self::Visited(path) => path.display().to_string(),
        }
    }

    /// From what was written down. Who made a place that git did not is not asked: it is never removed.
    pub(super) fn read(text: &str) -> Self {
        if text.starts_with('/') { Self::Visited(text.into()) } else { Self::Git(text.to_owned()) }
    }
}

/// What a copy is called.
#[derive(Clone, Copy)]
pub(super) enum Called<'a> {
    /// After the agent it is for.
    After(&'a str),
    /// As somebody wants it; one of that name is taken into use again.
    Exactly(&'a str),
}

impl Tree {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Git(tree) => tree.path(),
            Self::Hooked(tree) => &tree.path,
            Self::Visited(path) => path,
        }
    }

    pub(super) fn branch(&self) -> Option<&str> {
        match self {
            Self::Git(tree) => Some(tree.branch()),
            Self::Hooked(_) | Self::Visited(_) => None,
        }
    }

    pub(super) fn home(&self) -> Home {
        match self {
            Self::Git(tree) => Home::Git(tree.name().to_owned()),
            Self::Hooked(tree) => Home::Hooked(tree.path.clone()),
            Self::Visited(path) => Home::Visited(path.clone()),
        }
    }

    /// For somebody else who works in it.
    pub(super) fn hold(&self) -> Self {
        match self {
            Self::Git(tree) => Self::Git(tree.hold()),
            Self::Hooked(tree) => Self::Hooked(Arc::clone(tree)),
            Self::Visited(path) => Self::Visited(path.clone()),
        }
    }

    /// Whether nobody else works in it.
    pub(super) fn is_last(&self) -> bool {
        match self {
            Self::Git(tree) => tree.is_last(),
            Self::Hooked(tree) => Arc::strong_count(tree) == 1,
            Self::Visited(_) => true,
        }
    }

    pub(super) fn as_kept(&self) -> delegation::Worktree {
        delegation::Worktree {
            path: self.path().display().to_string(),
            branch: self.branch().map(str::to_owned),
        }
    }
}

impl Hooked {
    /// One that was worked in before: what is in it is not known to be safe to remove.
    pub(super) fn again(path: PathBuf) -> Self {
        Self { path, found: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it certainly is as the hook handed it over.
    pub(super) async fn is_untouched(&self) -> bool {
        match &self.found {
            Some(found) => found.still_fits(&self.path).await,
            None => false,
        }
    }
}

impl Crew {
    /// Makes a copy for somebody who works at `cwd`. A hook that makes copies replaces git altogether.
    pub(super) async fn make_tree(
        &self,
        hooks: &RunHooks,
        cwd: &Path,
        called: Called<'_>,
    ) -> Result<Tree, Cause> {
        if hooks.hears(HookEvent::WorktreeCreate) {
            return self.hooked_tree(hooks, cwd, called).await;
        }
        let world = &self.common.world;
        let trees = Worktrees::of(cwd, world).await.map_err(|error| failed(STEP, error))?;
        let settings = &self.common.catalog.settings.worktree;
        let base =
            settings.base.as_ref().and_then(|set| Base::from_setting(&set.value)).unwrap_or(Base::Head);
        let options = CreateOptions {
            session: self.common.session.to_string(),
            symlink_directories: settings.links.iter().map(ToString::to_string).collect(),
            sparse_paths: settings.sparse.iter().map(ToString::to_string).collect(),
        };
        let made = match called {
            Called::After(agent) => trees.create(agent, base, &options).await,
            Called::Exactly(name) => trees.create_or_reopen(name, base, &options).await,
        };
        let tree = made.map_err(|error| failed(STEP, error))?;
        for note in tree.notes() {
            self.common.events.delta(Delta::Note(note.to_string()));
        }
        Ok(Tree::Git(tree))
    }

    async fn hooked_tree(&self, hooks: &RunHooks, cwd: &Path, called: Called<'_>) -> Result<Tree, Cause> {
        let name = match called {
            Called::After(agent) => usual_name(agent).map_err(|error| failed(STEP, error))?,
            Called::Exactly(name) => name.to_owned(),
        };
        let merged = hooks.fire(&Occasion::WorktreeCreate { name }, cwd).await;
        self.tell(&merged);
        if merged.is_blocked() || merged.stop.is_some() {
            let why = merged.objection().or(merged.stop);
            return Err(failed(STEP, why.unwrap_or_else(|| "a WorktreeCreate hook refused it".into())));
        }
        let Some(path) = merged.worktree_path else {
            return Err(failed(STEP, "the WorktreeCreate hook named no path"));
        };
        let path = cwd.join(path);
        let place = path.canonicalize().ok().filter(|place| place.is_dir());
        let Some(place) = place else {
            let why = format!("the WorktreeCreate hook named {}, which is no folder", path.display());
            return Err(failed(STEP, why));
        };
        let found = Footprint::of(&place).await;
        Ok(Tree::Hooked(Arc::new(Hooked { path: place, found })))
    }

    fn tell(&self, merged: &Merged) {
        for note in merged.system_messages.iter().chain(&merged.errors) {
            self.common.events.delta(Delta::Note(note.clone()));
        }
    }

    /// Where somebody may work who is given a copy and comes from `cwd`.
    pub(super) async fn claim_on(&self, tree: &Tree, cwd: &Path, before: Option<Claim>) -> Claim {
        let fenced = match Worktrees::of(cwd, &self.common.world).await {
            Ok(trees) => trees.fence(),
            // No repository: whatever folders it came from.
            Err(_) => before.map_or_else(|| vec![cwd.to_owned()], |claim| claim.roots),
        };
        Claim { roots: vec![tree.path().to_owned()], fenced }
    }

    /// Gives a copy up: one with nothing new in it goes, one with work in it stays, and is told of.
    pub(super) async fn give_up(&self, tree: Tree, hooks: &RunHooks) -> Option<delegation::Worktree> {
        let kept = tree.as_kept();
        match tree {
            Tree::Git(tree) => {
                let Ok(trees) = Worktrees::of(tree.path(), &self.common.world).await else {
                    return Some(kept);
                };
                match trees.finish(tree).await {
                    Finished::Kept { path, branch, .. } => {
                        Some(delegation::Worktree { path: path.display().to_string(), branch: Some(branch) })
                    }
                    Finished::Removed { .. } | Finished::InUse => None,
                }
            }
            Tree::Hooked(tree) => {
                let tree = Arc::into_inner(tree)?;
                if !tree.is_untouched().await {
                    return Some(kept);
                }
                self.hand_back(&tree.path, hooks).await.err().map(|_| kept)
            }
            Tree::Visited(_) => None,
        }
    }

    /// Lets the hook remove what a hook made; the error is why it is still there.
    pub(super) async fn hand_back(&self, path: &Path, hooks: &RunHooks) -> Result<(), String> {
        if !hooks.hears(HookEvent::WorktreeRemove) {
            return Err("a hook made it, and there is no WorktreeRemove hook that would remove it".into());
        }
        let worktree_path = path.display().to_string();
        let merged = hooks.fire(&Occasion::WorktreeRemove { worktree_path }, &self.common.world.cwd).await;
        self.tell(&merged);
        if path.exists() { Err("the WorktreeRemove hook left it where it is".into()) } else { Ok(()) }
    }
}
