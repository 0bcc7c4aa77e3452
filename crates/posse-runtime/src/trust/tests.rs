use super::*;
use crate::world::Env;

fn world() -> (tempfile::TempDir, Env, PathBuf, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let real = root.path().canonicalize().unwrap();
    let folder = real.join("project");
    std::fs::create_dir(&folder).unwrap();
    let env = Env::new([("HOME", real.to_str().unwrap())]);
    let file = real.join(".claude.json");
    (root, env, file, folder)
}

fn trusted(folder: &Path, env: &Env) -> bool {
    Trust::find(folder, env).0.trusted
}

#[test]
fn trust_is_given_and_taken_back() {
    let (_root, env, file, folder) = world();
    assert!(!trusted(&folder, &env));
    set(Some(&file), &folder, true).unwrap();
    assert!(trusted(&folder, &env));
    assert!(!trusted(&folder.join("below"), &env), "the folder itself, not what lies in it");
    assert!(!trusted(folder.parent().unwrap(), &env));
    set(Some(&file), &folder, false).unwrap();
    assert!(!trusted(&folder, &env));
}

#[test]
fn every_other_byte_stays() {
    let key = |trusted: bool| format!("\"hasTrustDialogAccepted\": {trusted}");
    let on = key(true);
    for (before, after) in [
        ("".to_owned(), format!("{{\n  \"projects\": {{\n    \"/a\": {{\n      {on}\n    }}\n  }}\n}}\n")),
        ("{}".into(), format!("{{\"projects\": {{\"/a\": {{{on}}}}}}}")),
        (r#"{"z":1.10,"a":[ ]}"#.into(), format!(r#"{{"z":1.10,"a":[ ],"projects": {{"/a": {{{on}}}}}}}"#)),
        (
            r#"{"projects":{"/b":{"x":1e3}},"z":"ü"}"#.into(),
            format!(r#"{{"projects":{{"/b":{{"x":1e3}},"/a": {{{on}}}}},"z":"ü"}}"#),
        ),
        (
            "{\n  \"projects\": {\n    \"/a\": {\n      \"x\": [1]\n    }\n  }\n}\n".into(),
            format!(
                "{{\n  \"projects\": {{\n    \"/a\": {{\n      \"x\": [1],\n      {on}\n    }}\n  }}\n}}\n"
            ),
        ),
        (
            format!(r#"{{"projects":{{"/a":{{{}, "y":0}}}}}}"#, key(false)),
            format!(r#"{{"projects":{{"/a":{{{on}, "y":0}}}}}}"#),
        ),
        (
            r#"{"projects":{"/a":{"hasTrustDialogAccepted":"yes"}}}"#.into(),
            r#"{"projects":{"/a":{"hasTrustDialogAccepted":true}}}"#.into(),
        ),
    ] {
        assert_eq!(record::changed(&before, "/a", true).unwrap(), after, "of {before}");
        // What was written is read by the strict reader too.
        let record: serde_json::Value = serde_json::from_str(&after).unwrap();
        assert_eq!(record["projects"]["/a"]["hasTrustDialogAccepted"], true);
    }
}

#[test]
fn what_cannot_be_understood_is_left_alone_and_trusts_nobody() {
    for text in
        ["{", "[]", "5", r#"{"projects": []}"#, r#"{"projects": {"F": 5}}"#, "{\"projects\": {\"F\": "]
    {
        let (_root, env, file, folder) = world();
        let text = text.replace("\"F\"", &format!("{:?}", folder.to_str().unwrap()));
        std::fs::write(&file, &text).unwrap();
        let (trust, problem) = Trust::find(&folder, &env);
        assert!(!trust.trusted && problem.is_some(), "{text}");
        assert!(matches!(set(Some(&file), &folder, true), Err(TrustError::Broken { .. })), "{text}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn only_true_is_trust() {
    for value in ["\"true\"", "1", "null", "false", "[true]"] {
        let (_root, env, file, folder) = world();
        let name = serde_json::Value::from(folder.to_str().unwrap());
        std::fs::write(
            &file,
            format!(r#"{{"projects": {{{name}: {{"hasTrustDialogAccepted": {value}}}}}}}"#),
        )
        .unwrap();
        assert!(!trusted(&folder, &env), "{value}");
    }
}

#[test]
fn writers_wait_for_each_other_and_a_link_stays_a_link() {
    let (root, env, file, folder) = world();
    let real = root.path().join("elsewhere.json");
    std::fs::write(&real, "{\"kept\": true}").unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    let folders: Vec<PathBuf> = (0..8).map(|number| folder.join(number.to_string())).collect();
    std::thread::scope(|scope| {
        for one in &folders {
            scope.spawn(|| set(Some(&file), one, true).unwrap());
        }
    });
    assert!(folders.iter().all(|one| trusted(one, &env)), "one writer lost another's word");
    assert!(file.is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("\"kept\": true"));
}

#[test]
fn a_folder_entered_through_a_link_is_the_folder() {
    let (root, env, file, folder) = world();
    let link = root.path().join("link");
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    set(Some(&file), &link, true).unwrap();
    assert!(trusted(&folder, &env) && trusted(&link, &env));
    set(Some(&file), &link, false).unwrap();
    assert!(!trusted(&folder, &env) && !trusted(&link, &env));
}
