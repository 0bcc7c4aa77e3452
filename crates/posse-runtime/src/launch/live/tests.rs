use super::*;

#[test]
fn words_stay_words() {
    for (text, word) in [("plain", "'plain'"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("$(x)", "'$(x)'")] {
        assert_eq!(quoted(text), word);
    }
}

#[cfg(unix)]
#[test]
fn variables_are_written_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (file, made) = (folder.path().join("new/env.sh"), folder.path().join("made.sh"));
    std::fs::write(&made, "export A=1\n").unwrap();
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o644)).unwrap();
    for file in [&file, &made] {
        append(file, "export KEY='secret'\n").unwrap();
    }
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&made), mode(&folder.path().join("new"))), (0o600, 0o600, 0o700));
    assert_eq!(std::fs::read_to_string(made).unwrap(), "export A=1\nexport KEY='secret'\n");
}
