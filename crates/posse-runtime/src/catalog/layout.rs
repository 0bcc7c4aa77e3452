//! Where things lie: the user's folder, the project's folders, the administrator's.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use posse_core::origin::{Origin, Standing};

use super::CatalogOptions;
use crate::fence::Fence;
use crate::world::{Env, World};

/// A folder of agents and its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFolder {
    /// The folder; it need not exist.
    pub path: PathBuf,
    /// What kind of source it is.
    pub origin: Origin,
    /// Where within it.
    pub standing: Standing,
}

/// All places that are looked at.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The working directory.
    pub cwd: PathBuf,
    /// Where the project's configuration lies: the working directory, unless somebody named another folder.
    pub project: PathBuf,
    /// The top of the repository, where there is one.
    pub repository: Option<PathBuf>,
    /// The user's folder: `~/.claude`, or `CLAUDE_CONFIG_DIR`.
    pub user: Option<PathBuf>,
    /// The administrator's folder.
    pub managed: PathBuf,
    /// Folders of agents.
    pub agent_folders: Vec<AgentFolder>,
}

const MANAGED: &str =
    if cfg!(target_os = "macos") { "/Library/Application Support/ClaudeCode" } else { "/etc/claude-code" };

impl Layout {
    /// Finds out where things lie. Looks for `.git`, reads nothing else.
    pub fn find(world: &World, options: &CatalogOptions) -> Self {
        let cwd = world.cwd.clone();
        let repository = repository_of(&cwd);
        let project = options.project_root.as_ref().map_or_else(|| cwd.clone(), |root| cwd.join(root));
        let user = user_folder(&world.env);
        let managed = managed_folder(&world.env);
        let mut layout = Self { cwd, project, repository, user, managed, agent_folders: Vec::new() };
        layout.agent_folders = layout.folders(world, options);
        layout
    }

    fn folders(&self, world: &World, options: &CatalogOptions) -> Vec<AgentFolder> {
        let mut folders = Vec::new();
        let mut add = |path: PathBuf, origin, standing| folders.push(AgentFolder { path, origin, standing });
        let user_agents = self.user.as_ref().map(|user| user.join("agents"));
        if let Some(path) = user_agents.clone().filter(|_| options.sources.user) {
            add(path, Origin::User, Standing::Folder(0));
        }
        if options.sources.project {
            for path in self.project_folders().into_iter().filter(|path| Some(path) != user_agents.as_ref()) {
                let depth = u16::try_from(path.components().count()).unwrap_or(u16::MAX);
                add(path, Origin::Project, Standing::Folder(depth));
            }
            for (place, dir) in options.add_dirs.iter().enumerate() {
                let place = Reverse(u16::try_from(place).unwrap_or(u16::MAX));
                add(world.cwd.join(dir).join(".claude/agents"), Origin::Project, Standing::AddedDir(place));
            }
        }
        add(self.managed.join(".claude/agents"), Origin::Managed, Standing::Folder(0));
        folders
    }

    /// What links in a folder of the project, and beside it, must not lead out of: the repository and the working
    /// directories. The folders of users and administrators have no fence: links there are their own.
    pub(crate) fn fence(&self, folder: &AgentFolder) -> Option<Fence> {
        if folder.origin != Origin::Project {
            return None;
        }
        let owner = |folder: &AgentFolder| folder.path.ancestors().nth(2).map(Path::to_owned);
        let is_added = |folder: &&AgentFolder| matches!(folder.standing, Standing::AddedDir(_));
        let added = self.agent_folders.iter().filter(is_added).filter_map(owner);
        let own =
            self.repository.clone().into_iter().chain([self.cwd.clone(), self.project_top().to_owned()]);
        let own = own.chain(owner(folder));
        Some(Fence::around("the project", own.chain(added)))
    }

    /// The top of the repository that the project's configuration lies in; without one, the folder itself.
    pub fn project_top(&self) -> &Path {
        self.project_repository().unwrap_or(&self.project)
    }

    /// The repository that the project's configuration lies in.
    pub fn project_repository(&self) -> Option<&Path> {
        match &self.repository {
            Some(top) if self.project == self.cwd => Some(top),
            Some(_) | None => self.project.ancestors().find(|folder| folder.join(".git").exists()),
        }
    }

    /// From the project's folder up to the repository's top; without a repository, up to the root.
    fn project_folders(&self) -> Vec<PathBuf> {
        let top = self.project_repository();
        let mut folders = Vec::new();
        for folder in self.project.ancestors() {
            folders.push(folder.join(".claude/agents"));
            if Some(folder) == top {
                break;
            }
        }
        // A linked worktree without agents of its own uses those of the main checkout.
        if let Some(top) = top
            && !folders.iter().any(|folder| folder.is_dir())
            && let Some(main) = main_checkout(top)
        {
            folders.push(main.join(".claude/agents"));
        }
        folders
    }
}

fn repository_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

fn user_folder(env: &Env) -> Option<PathBuf> {
    match env.get("CLAUDE_CONFIG_DIR") {
        Some(folder) => Some(folder.into()),
        None => env.home().map(|home| home.join(".claude")),
    }
}

/// The administrator's folder. Where none is installed, `POSSE_MANAGED_DIR` may name one: for trying a policy out
/// before rolling it out. It cannot be used to get around an installed one.
fn managed_folder(env: &Env) -> PathBuf {
    let installed = PathBuf::from(MANAGED);
    match env.get("POSSE_MANAGED_DIR") {
        Some(folder) if !installed.exists() => folder.into(),
        Some(_) | None => installed,
    }
}

/// The main checkout of a linked worktree, whose `.git` is a file that says `gitdir: MAIN/.git/worktrees/NAME`.
fn main_checkout(top: &Path) -> Option<PathBuf> {
    let file = top.join(".git");
    if !file.is_file() {
        return None;
    }
    let text = std::fs::read_to_string(&file).ok()?;
    let git_dir = top.join(text.strip_prefix("gitdir:")?.trim());
    let worktrees = git_dir.parent()?;
    if worktrees.file_name()? != "worktrees" {
        return None;
    }
    worktrees.parent()?.parent().map(Path::to_owned)
}
