//! Where an agent works: with its caller, in another folder, or in a copy of the repository of its own.

use std::path::PathBuf;
use std::sync::PoisonError;

use posse_core::definition::Isolation;
use posse_core::delegation::{self, Cause, Ending, Input};
use posse_core::event::Delta;

use super::build::failed;
use super::{Crew, Member};
use crate::worktree::{Base, CreateOptions, Finished, Worktree, Worktrees};

/// A place to work.
pub(super) struct Place {
    pub(super) cwd: PathBuf,
    pub(super) tree: Option<Worktree>,
    /// What that copy is called, also when it is not at hand.
    pub(super) tree_name: Option<String>,
    /// The only folders it may work in, if they are not the session's.
    pub(super) roots: Option<Vec<PathBuf>>,
}

impl Crew {
    /// Finds or makes the place of an agent. A copy of the repository is made before the agent starts.
    pub(super) async fn place(
        &self,
        caller: &Member,
        input: &Input,
        isolation: Option<Isolation>,
        id: &str,
    ) -> Result<Place, Cause> {
        match isolation {
            Some(Isolation::Worktree) => self.own_tree(caller, id).await,
            Some(Isolation::Remote) => Err(failed(
                "find its place",
                "there is no fleet of workers to send it to; leave `isolation` out, or use worktree",
            )),
            None => {
                let tree =
                    caller.tree.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Worktree::hold);
                let cwd = folder_of(caller, input)?;
                let tree_name = tree.as_ref().map(|tree| tree.name().to_owned());
                Ok(Place { cwd, tree, tree_name, roots: caller.setup.guard.roots.clone() })
            }
        }
    }

    async fn own_tree(&self, caller: &Member, id: &str) -> Result<Place, Cause> {
        const STEP: &str = "make its worktree";
        let world = &self.common.world;
        let trees = Worktrees::of(&caller.cx.cwd.get(), world).await.map_err(|error| failed(STEP, error))?;
        let settings = &self.common.catalog.settings.worktree;
        let base =
            settings.base.as_ref().and_then(|set| Base::from_setting(&set.value)).unwrap_or(Base::Head);
        let options = CreateOptions {
            session: self.common.session.to_string(),
            symlink_directories: settings.links.iter().map(ToString::to_string).collect(),
            sparse_paths: settings.sparse.iter().map(ToString::to_string).collect(),
        };
        let tree = trees.create(id, base, &options).await.map_err(|error| failed(STEP, error))?;
        for note in tree.notes() {
            self.common.events.delta(Delta::Note(note.to_string()));
        }
        let path = tree.path().to_owned();
        let tree_name = Some(tree.name().to_owned());
        Ok(Place { cwd: path.clone(), tree: Some(tree), tree_name, roots: Some(vec![path]) })
    }

    /// The copy of the repository an agent worked in before; if it had nothing new in it, another one.
    pub(super) async fn same_tree(&self, member: &Member) -> Result<Option<Worktree>, String> {
        let Some(name) = &member.tree_name else { return Ok(None) };
        let world = &self.common.world;
        let trees = Worktrees::of(&world.cwd, world).await.map_err(|error| error.to_string())?;
        match trees.reopen(name, &self.common.session).await {
            Ok(tree) => Ok(Some(tree)),
            Err(_) => match self.member("") {
                Some(main) => {
                    let place = self.own_tree(&main, &member.id).await;
                    place.map(|place| place.tree).map_err(|cause| Ending::Failed(cause).words())
                }
                None => Ok(None),
            },
        }
    }

    /// Gives the place up: a copy with nothing new in it goes, one with work in it stays.
    pub(super) async fn leave_place(&self, member: &Member) -> Option<delegation::Worktree> {
        let tree = member.tree.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let trees = Worktrees::of(tree.path(), &self.common.world).await.ok()?;
        match trees.finish(tree).await {
            Finished::Kept { path, branch, .. } => {
                Some(delegation::Worktree { path: path.display().to_string(), branch: Some(branch) })
            }
            Finished::Removed { .. } | Finished::InUse => None,
        }
    }
}

/// Where its caller works, unless the call names another of its folders.
fn folder_of(caller: &Member, input: &Input) -> Result<PathBuf, Cause> {
    const STEP: &str = "find its folder";
    let Some(wanted) = &input.cwd else { return Ok(caller.cx.cwd.get()) };
    let folder = caller.cx.resolve(wanted);
    let place = folder.canonicalize().map_err(|error| failed(STEP, format!("{wanted}: {error}")))?;
    let roots = caller.setup.guard.authority.roots();
    if !roots.iter().any(|root| place.starts_with(root)) {
        return Err(failed(STEP, format!("{wanted} is outside the working directories")));
    }
    Ok(place)
}
