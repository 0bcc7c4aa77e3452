//! Where an agent works: with its caller, in another folder, or in a copy of the repository of its own.

use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use posse_core::definition::Isolation;
use posse_core::delegation::{self, Cause, Ending, Input};

use super::build::failed;
use super::stay::Before;
use super::tree::{Called, Home, Hooked, Tree};
use super::{Crew, Member};
use crate::authority::Claim;
use crate::tool::Cwd;
use crate::worktree::Worktrees;

/// A place to work.
pub(super) struct Place {
    pub(super) cwd: PathBuf,
    pub(super) tree: Option<Tree>,
    /// The only folders it may work in, if they are not the session's.
    pub(super) claim: Option<Claim>,
}

/// The copy of the repository that an agent works in, if it does.
#[derive(Default)]
pub(super) struct Lodging {
    pub(super) tree: Option<Tree>,
    /// How to find it again when the agent goes on.
    pub(super) home: Option<Home>,
    /// Where it was before, if it went there by itself.
    pub(super) before: Option<Before>,
}

impl Lodging {
    /// In this copy, or, if it is not at hand, in the one it was in before.
    pub(super) fn found_again(tree: Option<Tree>, home: Option<Home>) -> Self {
        let lodging = Self::of(tree);
        Self { home: lodging.home.or(home), ..lodging }
    }

    /// In this copy, if any.
    pub(super) fn of(tree: Option<Tree>) -> Self {
        Self { home: tree.as_ref().map(Tree::home), tree, before: None }
    }
}

impl Member {
    pub(super) fn lodging(&self) -> MutexGuard<'_, Lodging> {
        self.lodging.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
                let tree = caller.lodging().tree.as_ref().map(Tree::hold);
                let cwd = folder_of(caller, input)?;
                Ok(Place { cwd, tree, claim: caller.setup.guard.territory.claim() })
            }
        }
    }

    async fn own_tree(&self, caller: &Member, id: &str) -> Result<Place, Cause> {
        let (cwd, guard) = (caller.cx.cwd.get(), &caller.setup.guard);
        let tree = self.make_tree(&guard.hooks, &cwd, Called::After(id)).await?;
        let claim = self.claim_on(&tree, &cwd, guard.territory.claim()).await;
        Ok(Place { cwd: tree.path().to_owned(), tree: Some(tree), claim: Some(claim) })
    }

    /// The place an agent had before, if that was a copy; if it had nothing new in it, another one.
    pub(super) async fn same_place(&self, member: &Member) -> Result<Option<Place>, String> {
        let Some(home) = member.lodging().home.clone() else { return Ok(None) };
        let tree = match self.held(&home) {
            Some(tree) => Some(tree),
            None => self.reopened(home).await?,
        };
        let Some(main) = self.member("") else { return Ok(None) };
        if let Some(tree) = tree {
            let cwd = tree.path().to_owned();
            let claim = match member.setup.guard.territory.claim() {
                Some(claim) => claim,
                None => self.claim_on(&tree, &self.common.world.cwd, None).await,
            };
            return Ok(Some(Place { cwd, tree: Some(tree), claim: Some(claim) }));
        }
        let place = self.own_tree(&main, &member.id).await;
        place.map(Some).map_err(|cause| Ending::Failed(cause).words())
    }

    /// A copy that somebody works in right now.
    fn held(&self, home: &Home) -> Option<Tree> {
        let members: Vec<_> = self.members().by_id.values().cloned().collect();
        members.iter().find_map(|member| {
            let lodging = member.lodging();
            lodging.tree.as_ref().filter(|tree| tree.home() == *home).map(Tree::hold)
        })
    }

    async fn reopened(&self, home: Home) -> Result<Option<Tree>, String> {
        match home {
            Home::Git(name) => {
                let world = &self.common.world;
                let trees = Worktrees::of(&world.cwd, world).await.map_err(|error| error.to_string())?;
                Ok(trees.reopen(&name, &self.common.session).await.ok().map(Tree::Git))
            }
            Home::Hooked(path) => Ok(path.is_dir().then(|| Tree::Hooked(Arc::new(Hooked::again(path))))),
            Home::Visited(path) => Ok(path.is_dir().then_some(Tree::Visited(path))),
        }
    }

    /// Gives the place up: a copy with nothing new in it goes, one with work in it stays.
    pub(super) async fn leave_place(&self, member: &Member) -> Option<delegation::Worktree> {
        let tree = member.lodging().tree.take()?;
        self.give_up(tree, &member.setup.guard.hooks).await
    }
}

/// A working directory that a shell may not take out of a claim.
pub(super) fn kept_in(cwd: &Cwd, claim: Option<&Claim>) -> Cwd {
    match claim {
        Some(claim) => cwd.within(&claim.roots, &claim.fenced),
        None => cwd.clone(),
    }
}

/// Where its caller works, unless the call names another of its folders.
fn folder_of(caller: &Member, input: &Input) -> Result<PathBuf, Cause> {
    const STEP: &str = "find its folder";
    let Some(wanted) = &input.cwd else { return Ok(caller.cx.cwd.get()) };
    let folder = caller.cx.resolve(wanted);
    let place = folder.canonicalize().map_err(|error| failed(STEP, format!("{wanted}: {error}")))?;
    let roots = caller.setup.guard.folders(&folder).roots;
    if !roots.iter().any(|root| place.starts_with(root)) {
        return Err(failed(STEP, format!("{wanted} is outside the working directories")));
    }
    Ok(place)
}
