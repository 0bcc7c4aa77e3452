//! Where the paths of a profile really are. Looks at the disk once, when a sandbox is made: what a command does to the
//! paths later must not widen what the next one may do.

use std::path::{Path, PathBuf};

use super::SandboxError;
use super::profile::Profile;

/// The paths of a profile, absolute and without links.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The scratch folder among them; none lies in another.
    pub(super) writable: Vec<PathBuf>,
    /// What exists of it, and lies in a writable folder.
    pub(super) protected: Vec<PathBuf>,
    /// What exists of it.
    pub(super) unreadable: Vec<PathBuf>,
    pub(super) scratch: PathBuf,
    /// What cannot be held.
    pub(super) weaknesses: Vec<String>,
}

/// Resolves all paths. With mounts, something protected must exist to be mounted over; folders are made for that, or, if
/// nothing may be made, taken for made.
pub(super) fn resolve(
    profile: &Profile,
    with_mounts: bool,
    may_make: bool,
) -> Result<Resolved, SandboxError> {
    let real = |path: &PathBuf| {
        let folder = |source| SandboxError::Folder { path: path.display().to_string(), source };
        path.canonicalize().map_err(folder)
    };
    let scratch = real(&profile.scratch)?;
    let roots: Vec<(&PathBuf, PathBuf)> =
        profile.writable.iter().map(|path| Ok((path, real(path)?))).collect::<Result<_, SandboxError>>()?;
    let mut writable: Vec<PathBuf> = roots.iter().map(|(_, real)| real.clone()).collect();
    writable.push(scratch.clone());
    let writable = outermost(writable);

    let mut guard =
        Guard { with_mounts, may_make, protected: Vec::new(), uncreated: Vec::new(), linked: Vec::new() };
    for path in &profile.protected {
        // As it is written, so that a link on the way is noticed; else wherever it leads to.
        let as_written = roots.iter().find_map(|(written, real)| {
            let rest = path.strip_prefix(written).or_else(|_| path.strip_prefix(real)).ok()?;
            Some((real, rest.to_owned()))
        });
        let as_it_is = || {
            let place = real_place(path);
            roots.iter().find_map(|(_, real)| Some((real, place.strip_prefix(real).ok()?.to_owned())))
        };
        if let Some((root, rest)) = as_written.or_else(as_it_is) {
            guard.protect(root, &rest);
        }
    }
    let Guard { mut protected, uncreated, linked, .. } = guard;
    // A link may lead out of what is writable; then there is nothing to take away.
    protected.retain(|path| writable.iter().any(|root| path.starts_with(root) && path != root));
    let unreadable = profile.unreadable.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let weaknesses = weaknesses(&uncreated, &linked);
    Ok(Resolved {
        writable,
        protected: outermost(protected),
        unreadable: outermost(unreadable),
        scratch,
        weaknesses,
    })
}

fn weaknesses(uncreated: &[PathBuf], linked: &[PathBuf]) -> Vec<String> {
    let list = |paths: &[PathBuf]| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut found = Vec::new();
    if !uncreated.is_empty() {
        found.push(format!("these do not exist yet and can be created: {}", list(uncreated)));
    }
    if !linked.is_empty() {
        found.push(format!("these are reached by a link, which can be replaced: {}", list(linked)));
    }
    found
}

struct Guard {
    with_mounts: bool,
    may_make: bool,
    protected: Vec<PathBuf>,
    uncreated: Vec<PathBuf>,
    linked: Vec<PathBuf>,
}

impl Guard {
    fn protect(&mut self, root: &Path, rest: &Path) {
        let path = root.join(rest);
        let existing = path.ancestors().find(|above| above.symlink_metadata().is_ok()).unwrap_or(root);
        match existing.canonicalize() {
            Ok(real) if real == existing => {}
            Ok(real) => {
                self.linked.push(path.clone());
                self.protected.push(real);
                return;
            }
            Err(_) => {
                self.linked.push(path);
                return;
            }
        }
        if existing == path || !self.with_mounts {
            // Landlock grants nothing in the folders on the way, so what does not exist cannot come to be.
            self.protected.push(path);
        } else if existing != root && !existing.ends_with(".git") {
            // Coarser, but nothing has to be made.
            self.protected.push(existing.to_owned());
        } else {
            self.make(existing, &path);
        }
    }

    /// An empty folder where something protected would be: nobody notices it, git least of all. A file would be read by
    /// those it is meant for.
    fn make(&mut self, existing: &Path, path: &Path) {
        let first = path.strip_prefix(existing).ok().and_then(|rest| rest.components().next());
        let Some(first) = first.map(|name| existing.join(name)) else { return };
        let is_hooks = path.ends_with(".git/hooks");
        let is_a_folder = first != path && !first.ends_with(".git");
        let makes = || !self.may_make || std::fs::create_dir(&first).is_ok();
        if (is_hooks && first == path || is_a_folder) && makes() {
            self.protected.push(first);
        } else if !self.protected.iter().any(|done| path.starts_with(done)) {
            self.uncreated.push(path.to_owned());
        }
    }
}

/// Where a path is or would be, with every link on the way followed.
fn real_place(path: &Path) -> PathBuf {
    let mut above = path.ancestors();
    let found = above.find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    match found {
        Some((real, rest)) if rest.as_os_str().is_empty() => real,
        Some((real, rest)) => real.join(rest),
        None => path.to_owned(),
    }
}

/// Those that lie in no other.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort_unstable();
    paths.dedup_by(|later, earlier| later.starts_with(earlier));
    paths
}
