use super::*;

#[test]
fn a_tree_is_covered_around_its_holes() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for file in ["a/x", "a/y", "b/z", ".git/hooks/h", ".git/config", ".git/refs/r"] {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    std::os::unix::fs::symlink("/", root.join("link")).unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&[], ""),
        (&["a"], ".git b"),
        (&[".git/hooks", ".git/config"], ".git/refs a b"),
        (&["missing"], ".git a b"),
        (&["a/x", "b"], ".git a/y"),
        (&[""], "nothing"),
    ];
    for (holes, expected) in cases {
        let holes: Vec<PathBuf> = holes.iter().map(|hole| root.join(hole)).collect();
        let found = cover(&root, &holes);
        let found: Vec<_> =
            found.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(" ") };
        assert_eq!(found, expected, "{holes:?}");
    }
}
