//! What Grep and Glob share: where a search begins, how paths are shown, and the newest of many files.
//!
//! Knows nothing of patterns.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use ignore::WalkBuilder;

use crate::tool::ToolCx;
use crate::world::Env;

/// Folders in which version control keeps its own files: nothing in them was written by a person.
pub(super) const VCS_FOLDERS: &[&str] = &[".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

/// Whether a name is that of a version control folder.
pub(super) fn is_vcs(name: &OsStr) -> bool {
    VCS_FOLDERS.iter().any(|folder| name == *folder)
}

/// The file or folder a search begins at, absolute and without `.` and `..`. An error says what is wrong with it.
pub(super) fn root(cx: &ToolCx, path: Option<&str>) -> Result<PathBuf, String> {
    let cwd = cx.cwd.get();
    let path = path.map(str::trim).filter(|path| !path.is_empty());
    let path = path.map_or_else(|| cwd.clone(), |path| cx.resolve(path));
    let metadata = path.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            format!("Path does not exist: {}. The working directory is {}.", path.display(), cwd.display())
        }
        _ => format!("{} cannot be searched: {error}", path.display()),
    })?;
    // A pipe or a device has no end.
    if !metadata.is_dir() && !metadata.is_file() {
        return Err(format!("{} is neither a file nor a folder.", path.display()));
    }
    Ok(plain(&path))
}

/// The same path without `.` and `..`. Behind a symbolic link `..` is another folder than the text says, so the disk
/// is asked.
fn plain(path: &Path) -> PathBuf {
    if path.components().any(|part| part == Component::ParentDir)
        && let Ok(real) = path.canonicalize()
    {
        return real;
    }
    path.components().collect()
}

/// A path as it is shown: from the working directory if it lies below, else whole.
pub(super) fn shown(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

/// A walk that obeys ignore files as ripgrep's does, with hidden files.
pub(super) fn obedient(root: &Path, cwd: &Path, env: &Env) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    // The library would find the user's own ignore file through the environment of the process; ours is handed to us.
    walk.current_dir(cwd).hidden(false).git_global(false).add_custom_ignore_filename(".rgignore");
    let in_git = root.ancestors().any(|folder| folder.join(".git").exists());
    if let Some(file) = in_git.then(|| git_excludes(env)).flatten() {
        // What cannot be read or parsed in it counts as not written.
        let _ = walk.add_ignore(file);
    }
    walk
}

/// The user's ignore file for all repositories: `core.excludesFile`, or where git looks without it.
fn git_excludes(env: &Env) -> Option<PathBuf> {
    let home = env.home()?;
    let config = env.get("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("git");
    let named = [home.join(".gitconfig"), config.join("config")].iter().find_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        excludes_in(&text).map(|path| match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => PathBuf::from(path),
        })
    });
    let file = named.unwrap_or_else(|| config.join("ignore"));
    file.is_file().then_some(file)
}

/// The value of `excludesFile` in a git configuration. No other section has a key of this name.
fn excludes_in(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let found = key.trim().eq_ignore_ascii_case("excludesfile");
        found.then(|| value.trim().trim_matches('"')).filter(|value| !value.is_empty())
    })
}

/// The newest of any number of files, newest first and by path among equals, so that the answer does not depend on
/// which thread was faster. Holds hardly more than it is asked to keep.
pub(super) struct Newest {
    keep: usize,
    total: usize,
    files: Vec<(Reverse<SystemTime>, PathBuf)>,
    /// What is older than this is not among the newest any more.
    bound: Option<SystemTime>,
}

impl Newest {
    /// Keeps so many.
    pub(super) fn new(keep: usize) -> Self {
        Self { keep, total: 0, files: Vec::new(), bound: None }
    }

    /// One more file.
    pub(super) fn push(&mut self, modified: SystemTime, path: &Path) {
        // Pruned seldom, so that each file costs about one comparison; the older half costs nothing else.
        const SLACK: usize = 256;
        self.total += 1;
        if self.bound.is_some_and(|bound| modified < bound) {
            return;
        }
        self.files.push((Reverse(modified), path.to_owned()));
        if self.files.len() > self.keep.saturating_mul(2).saturating_add(SLACK) {
            self.prune();
        }
    }

    fn prune(&mut self) {
        if self.files.len() > self.keep {
            self.files.select_nth_unstable(self.keep);
            self.files.truncate(self.keep);
            self.bound = self.files.iter().map(|(Reverse(modified), _)| *modified).min();
        }
    }

    /// What another thread found.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.total += other.total;
        self.files.append(&mut other.files);
    }

    /// The files in order, and how many there were.
    pub(super) fn finish(mut self) -> (Vec<PathBuf>, usize) {
        self.prune();
        self.files.sort_unstable();
        (self.files.into_iter().map(|(_, path)| path).collect(), self.total)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_come_first_however_many_there_are() {
        let at = |n: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(n);
        let (mut one, mut other) = (Newest::new(3), Newest::new(3));
        for n in 0..10_000u64 {
            let newest = if n % 2 == 0 { &mut one } else { &mut other };
            newest.push(at(n / 4), Path::new(&format!("{n:05}")));
        }
        one.merge(other);
        let (files, total) = one.finish();
        assert_eq!(total, 10_000);
        assert_eq!(files, ["09996", "09997", "09998"].map(PathBuf::from));
    }

    #[test]
    fn the_ignore_file_of_the_user_is_found_in_gits_configuration() {
        for (text, want) in [
            ("[core]\n\texcludesFile = ~/.ignore-me\n", Some("~/.ignore-me")),
            ("[core]\nexcludesfile=\"/a b\"", Some("/a b")),
            ("[core]\nexcludesfile=\n", None),
            ("[user]\nname = x\n", None),
        ] {
            assert_eq!(excludes_in(text), want, "{text}");
        }
    }
}
