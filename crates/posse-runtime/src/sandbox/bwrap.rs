//! Private mounts: what Landlock cannot express, said to `bwrap`. Decides which mounts; starts nothing.
//!
//! The whole system is mounted read-only, the writable folders over it, and over those what is protected in them.
//! Every folder on the way to something protected becomes a mount of its own, because a mount cannot be renamed: without
//! that `mv .git old; cp -r old .git` would leave the protection behind.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What to mount. All paths are absolute and without links.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    pub(super) writable: Vec<PathBuf>,
    pub(super) protected: Vec<PathBuf>,
    pub(super) unreadable: Vec<PathBuf>,
    /// Whether the command gets a process table of its own.
    pub(super) own_processes: bool,
    /// Whether bwrap needs a user namespace.
    pub(super) own_user: bool,
}

impl Mounts {
    /// The arguments, up to and without the program to run.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut args = Arguments(Vec::new());
        args.words(&["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/dev/shm", "--unshare-ipc"]);
        if self.own_user {
            args.words(&["--unshare-user"]);
        }
        if self.own_processes {
            // Read-only as all else: the settings of the kernel in it are root's to write.
            args.words(&["--unshare-pid", "--proc", "/proc", "--remount-ro", "/proc"]);
        }
        for path in &self.writable {
            args.mount("--bind", path, path);
        }
        for path in self.on_the_way() {
            args.mount("--bind", &path, &path);
        }
        for path in self.protected.iter().filter(|path| path.exists()) {
            args.mount("--ro-bind", path, path);
        }
        for path in &self.unreadable {
            if path.is_dir() {
                args.path("--tmpfs", path);
                args.path("--remount-ro", path);
            } else {
                args.mount("--ro-bind", Path::new("/dev/null"), path);
            }
        }
        args.words(&["--"]);
        args.0
    }

    /// Folders between something protected and the writable folder it is in, outermost first.
    fn on_the_way(&self) -> BTreeSet<PathBuf> {
        let way = |path: &Path| -> Vec<PathBuf> {
            let root = self.writable.iter().find(|root| path.starts_with(root));
            let Some(root) = root else { return Vec::new() };
            let above = path.ancestors().skip(1);
            above
                .take_while(|folder| *folder != root && folder.starts_with(root))
                .map(Path::to_owned)
                .collect()
        };
        let ways = self.protected.iter().chain(&self.unreadable).flat_map(|path| way(path));
        ways.filter(|path| path.is_dir()).collect()
    }
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn path(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into()]);
    }

    fn mount(&mut self, option: &str, from: &Path, to: &Path) {
        self.0.extend([option.into(), from.into(), to.into()]);
    }
}

#[cfg(test)]
mod tests;
