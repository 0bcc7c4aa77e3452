use std::path::PathBuf;

use super::{Checkpoints, RewindError, Rewound};

struct Place {
    folder: tempfile::TempDir,
    kept: Checkpoints,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = Checkpoints::open(&folder.path().join("kept"));
        Self { folder, kept }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.kept.before(&self.path(name));
        std::fs::write(self.path(name), text).expect("written");
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }
}

#[test]
fn files_come_back_as_they_were_at_a_prompt_and_new_ones_go() {
    let place = Place::new();
    std::fs::write(place.path("old"), "one\ntwo\n").unwrap();
    place.kept.begin("p1");
    place.write("old", "one\nTWO\nthree\n");
    place.write("old", "again\n");
    place.kept.begin("p2");
    place.write("old", "last\n");
    place.write("new", "made\n");
    let would = place.kept.rewind("p1", true).unwrap();
    assert_eq!(
        would,
        Rewound { files: vec![place.path("new"), place.path("old")], insertions: 2, deletions: 2 }
    );
    assert_eq!(place.read("old").as_deref(), Some("last\n"), "a trial changes nothing");
    // Another process, later.
    let kept = Checkpoints::open(&place.path("kept"));
    kept.rewind("p2", false).unwrap();
    assert_eq!((place.read("old").as_deref(), place.read("new")), (Some("again\n"), None));
    kept.rewind("p1", false).unwrap();
    assert_eq!(place.read("old").as_deref(), Some("one\ntwo\n"));
    assert_eq!(kept.rewind("p1", false).unwrap(), Rewound::default());
}

#[test]
fn what_is_not_kept_cannot_be_had_back() {
    let off = Checkpoints::default();
    off.begin("p");
    assert!(matches!(off.rewind("p", false), Err(RewindError::Off)));
    let place = Place::new();
    place.write("before", "any prompt");
    assert!(matches!(place.kept.rewind("p", false), Err(RewindError::Unknown)));
    std::fs::create_dir_all(place.path("kept")).unwrap();
    std::fs::write(place.path("kept/index.jsonl"), "{torn\n\"x\"\n{\"prompt\":\"p\"}\n").unwrap();
    assert_eq!(Checkpoints::open(&place.path("kept")).rewind("p", false).unwrap(), Rewound::default());
}
