//! Where a path really leads, also when its end does not exist yet.

use std::path::{Path, PathBuf};

use posse_core::permission::Paths;

/// Asks the file system.
#[derive(Clone, Copy, Debug)]
pub struct RealPaths;

impl Paths for RealPaths {
    fn real(&self, path: &Path) -> PathBuf {
        follow(path)
    }
}

/// A chain of links longer than this is a loop to every kernel.
const MOST_LINKS: u32 = 40;

/// Follows every link of a path, as far as it exists. A link to what does not exist yet is followed too: whoever
/// writes through it creates its target, not the link.
pub(super) fn follow(path: &Path) -> PathBuf {
    follow_at_most(path, MOST_LINKS)
}

fn follow_at_most(path: &Path, links: u32) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(path) {
        return real;
    }
    if links > 0
        && let Ok(target) = std::fs::read_link(path)
    {
        let parent = path.parent().unwrap_or(Path::new("/"));
        return follow_at_most(&parent.join(target), links - 1);
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(last)) => follow_at_most(parent, links).join(last),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_also_to_what_is_not_there_yet() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        std::fs::create_dir_all(root.join("real/sub")).unwrap();
        link("real", "dir");
        link("/nowhere/new", "dangling");
        link("dangling", "twice");
        link("loop", "loop");
        let at = |path: &str| follow(&root.join(path));
        assert_eq!(at("dir/sub"), root.join("real/sub"));
        assert_eq!(at("dir/new/file"), root.join("real/new/file"));
        assert_eq!(at("dangling"), Path::new("/nowhere/new"));
        assert_eq!(at("twice"), Path::new("/nowhere/new"));
        assert_eq!(at("dir/sub/../x"), root.join("real/x"));
        assert_eq!(at("loop").file_name().unwrap(), "loop");
    }
}
