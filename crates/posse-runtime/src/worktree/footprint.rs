//! What lies in a folder at one time, to tell later whether anything was done to it.
//!
//! For places that git did not make and may know nothing of. Refuses to say that nothing was done where it cannot see
//! everything: inside repositories.

use std::path::Path;

use super::walk::{self, Disk};

/// The files of a folder at one time.
#[derive(Clone, Debug)]
pub struct Footprint(Disk);

impl Footprint {
    /// Of a folder as it is now; none if that cannot be told.
    pub async fn of(folder: &Path) -> Option<Self> {
        let disk = walk::disk(folder).await.ok()?;
        disk.nested.is_empty().then_some(Self(disk))
    }

    /// Whether the folder certainly is as it was.
    pub async fn still_fits(&self, folder: &Path) -> bool {
        Self::of(folder).await.is_some_and(|now| now.0 == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Act = fn(&Path);

    #[tokio::test]
    async fn whatever_is_done_is_seen_and_what_cannot_be_seen_is_no_footprint() {
        let cases: &[(&str, Act)] = &[
            ("a new file", |top| std::fs::write(top.join("new"), "").unwrap()),
            ("another text", |top| std::fs::write(top.join("sub/a"), "longer").unwrap()),
            ("a file less", |top| std::fs::remove_file(top.join("sub/a")).unwrap()),
            ("a repository inside", |top| std::fs::create_dir_all(top.join("x/.git")).unwrap()),
            ("no folder at all", |top| std::fs::remove_dir_all(top).unwrap()),
        ];
        for (what, act) in cases {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().join("top");
            std::fs::create_dir_all(top.join("sub")).unwrap();
            std::fs::write(top.join("sub/a"), "text").unwrap();
            std::fs::write(top.join(".git"), "gitdir: elsewhere").unwrap();
            let before = Footprint::of(&top).await.unwrap();
            assert!(before.still_fits(&top).await, "{what}");
            act(&top);
            assert!(!before.still_fits(&top).await, "{what}");
        }
        let clone = tempfile::tempdir().unwrap();
        std::fs::create_dir(clone.path().join(".git")).unwrap();
        assert!(Footprint::of(clone.path()).await.is_none());
    }
}
