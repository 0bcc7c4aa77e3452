//! Where a path leads, and which places belong to a run.

use std::path::{Component, Path, PathBuf};

/// How to find out where a path really leads. The only thing about files that a decision cannot know by itself.
pub trait Paths {
    /// The path with every link followed, as far as it exists; the rest as it is. `path` is absolute.
    fn real(&self, path: &Path) -> PathBuf;
}

/// Follows no links: for callers that know there are none.
#[derive(Clone, Copy, Debug)]
pub struct Unlinked;

impl Paths for Unlinked {
    fn real(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

/// A place in the file system: as named, and as it really is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As named, made absolute, `.` and `..` taken out.
    pub named: PathBuf,
    /// With links followed.
    pub real: PathBuf,
}

impl Place {
    /// Both ways to see the place.
    pub fn views(&self) -> impl Iterator<Item = &Path> {
        let real = (self.real != self.named).then_some(&*self.real);
        std::iter::once(&*self.named).chain(real)
    }
}

/// The folders of a run. All absolute and without links.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// Where the run works now.
    pub cwd: PathBuf,
    /// Working directories: the one the session began in, and those that were added.
    pub roots: Vec<PathBuf>,
    /// What may be read besides: output that was put aside, memory, plugins.
    pub readable: Vec<PathBuf>,
    /// What may be written besides: the agent's memory.
    pub writable: Vec<PathBuf>,
    /// The checkout a run was moved out of when it was given a copy of its own: what is in it and in none of the folders
    /// above is not the run's to change. Empty for a run that works in the checkout itself.
    pub fenced: Vec<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
}

impl Folders {
    /// The place a path names, seen from the working directory.
    pub fn place(&self, path: &str, paths: &dyn Paths) -> Place {
        self.place_in(&self.cwd, path, paths)
    }

    /// The place a path names, seen from a folder.
    pub(super) fn place_in(&self, folder: &Path, path: &str, paths: &dyn Paths) -> Place {
        let path = self.expand(path);
        // `..` behind a link goes up from where the link leads, so links are followed before dots are taken out.
        let joined = folder.join(path);
        let real = clean(&paths.real(&joined));
        Place { named: clean(&joined), real }
    }

    fn expand(&self, path: &str) -> PathBuf {
        match (&self.home, path.strip_prefix('~')) {
            (Some(home), Some("")) => home.clone(),
            (Some(home), Some(rest)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            // A home that is not known is somewhere else.
            (None, Some(rest)) if rest.is_empty() || rest.starts_with('/') => Path::new("/").join(path),
            _ => PathBuf::from(path),
        }
    }

    /// Whether a place lies in a working directory, however one looks at it.
    pub fn holds(&self, place: &Place) -> bool {
        place.views().all(|view| within(view, &self.roots))
    }

    /// Whether a place may be looked at without asking.
    pub(super) fn may_read(&self, place: &Place) -> bool {
        place.views().all(|view| within(view, &self.roots) || within(view, &self.readable))
    }

    /// Whether a place lies in the checkout the run was moved out of, seen in any way.
    pub(super) fn is_fenced(&self, place: &Place) -> bool {
        let is_free = |view: &Path| within(view, &self.roots) || within(view, &self.writable);
        place.views().any(|view| within(view, &self.fenced) && !is_free(view))
    }

    /// Whether a place belongs to the run itself.
    pub(super) fn is_own(&self, place: &Place) -> bool {
        place.views().all(|view| within(view, &self.writable))
    }
}

fn within(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// An absolute path without `.` and `..`.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => cleaned.push(name),
            Component::ParentDir => {
                cleaned.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    cleaned
}

/// Folders whose contents steer tools rather than being worked on.
const PROTECTED_FOLDERS: &[&str] = &[".git", ".husky", ".idea", ".ssh", ".vscode", ".gnupg"];
/// Files that shells, git, posse and their like run or obey.
const PROTECTED_FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude.json",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".kshrc",
    ".mcp.json",
    ".npmrc",
    ".profile",
    ".ripgreprc",
    ".tmux.conf",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];
/// What of `.claude` is worked on rather than obeyed.
const WORK_IN_CLAUDE: &[&str] =
    &["agent-memory", "agent-memory-local", "plans", "projects", "tasks", "teams", "todos", "worktrees"];

/// Why a place must not be changed without asking, whatever mode or bare rule allows: half a sentence.
pub fn protected(place: &Place) -> Option<&'static str> {
    protected_by(place).map(|(_, why)| why)
}

/// The name in the path that makes a place protected, and why it does.
pub(super) fn protected_by(place: &Place) -> Option<(String, &'static str)> {
    place.views().find_map(protected_view)
}

fn protected_view(path: &Path) -> Option<(String, &'static str)> {
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    while let Some(name) = names.next() {
        // Letters of either case: some file systems do not tell them apart.
        let lower = name.to_ascii_lowercase();
        if PROTECTED_FOLDERS.contains(&&*lower) {
            return Some((name.to_owned(), "it steers other tools"));
        }
        if lower == ".claude" {
            return match names.next() {
                // A worktree inside is a project of its own and looked at as such.
                Some(inside) if WORK_IN_CLAUDE.contains(&inside) => continue,
                Some(_) | None => Some((name.to_owned(), "it steers posse itself")),
            };
        }
        if PROTECTED_FILES.contains(&&*lower) {
            return Some((name.to_owned(), "it steers shells or tools"));
        }
    }
    let system =
        ["/boot", "/dev", "/etc", "/proc", "/sys"].into_iter().find(|folder| path.starts_with(folder))?;
    Some((system.to_owned(), "it steers the whole system"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Links(&'static [(&'static str, &'static str)]);
    impl Paths for Links {
        fn real(&self, path: &Path) -> PathBuf {
            for (link, to) in self.0 {
                if let Ok(rest) = path.strip_prefix(link) {
                    return Path::new(to).join(rest);
                }
            }
            path.to_owned()
        }
    }

    fn folders() -> Folders {
        Folders {
            cwd: "/w".into(),
            roots: vec!["/w".into()],
            home: Some("/home/u".into()),
            ..Folders::default()
        }
    }

    #[test]
    fn a_place_is_inside_only_if_both_views_are() {
        let links = Links(&[("/w/out", "/etc"), ("/in", "/w/a")]);
        let holds = |path: &str| folders().holds(&folders().place(path, &links));
        assert!(holds("a/b") && holds("./a/../b") && holds("/w") && holds("."));
        assert!(!holds("../x") && !holds("/w2") && !holds("~/x") && !holds("a/../../x"));
        assert!(!holds("out/passwd"), "a link that leads out");
        assert!(!holds("/in/x"), "a way in from outside still is outside by name");
        assert!(!holds("out/../x"), "dots behind a link go up from where it leads");
    }

    #[test]
    fn what_steers_is_protected() {
        let why = |path: &str| protected(&folders().place(path, &Unlinked)).is_some();
        for path in [
            ".git/config",
            ".GIT/hooks/x",
            "sub/.git/HEAD",
            ".claude/settings.json",
            ".claude/agents/x.md",
            ".claude",
            "~/.bashrc",
            ".envrc",
            ".mcp.json",
            "/etc/hosts",
            "~/.ssh/config",
            ".claude/worktrees/a/.git",
        ] {
            assert!(why(path), "{path}");
        }
        for path in [
            "src/x.rs",
            ".gitignore",
            ".github/workflows/x.yml",
            ".claude/worktrees/a/src/x.rs",
            "git/config",
        ] {
            assert!(!why(path), "{path}");
        }
    }
}
