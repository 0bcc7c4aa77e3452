use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde_json::json;

use crate::tool::builtin::all;
use crate::tool::builtin::trial::{Trial, tool_named};

#[tokio::test]
async fn a_missing_file_names_the_nearest_one() {
    let trial = Trial::new();
    for name in ["src/main.rs", "src/tool/read.rs", "config.yaml"] {
        trial.put(name, "x");
    }
    for (path, want) in [
        ("src/mian.rs", Some("$ENV/project/src/main.rs")),
        ("config.json", Some("$ENV/project/config.yaml")),
        ("src/tol/read.rs", Some("$ENV/project/src/tool/read.rs")),
        ("src/tol/other.rs", None),
        ("/src/main.rs", Some("$ENV/project/src/main.rs")),
        ("src/main.rs/x", None),
        ("unlike/anything", None),
    ] {
        let text = trial.say("Read", json!({ "file_path": path })).await;
        let place = if path.starts_with('/') { path.to_owned() } else { format!("$ENV/project/{path}") };
        let mut expected =
            format!("error: File does not exist: {place}. Current working directory: $ENV/project.");
        if let Some(want) = want {
            expected.push_str(&format!(" Did you mean {want}?"));
        }
        assert_eq!(text, expected, "{path}");
    }
}

#[test]
fn the_tools_are_listed_by_name_and_described() {
    let names: Vec<String> = all().iter().map(|tool| tool.name().to_owned()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for name in ["Edit", "NotebookEdit", "Read", "Write"] {
        let spec = tool_named(name).spec();
        assert!(!spec.description.is_empty(), "{name} says nothing");
        assert!(spec.input_schema["properties"].is_object(), "{name} takes nothing");
    }
}

/// Root may write everywhere, so there is nothing to see for it.
#[tokio::test]
async fn a_folder_without_permission_is_no_obstacle_and_a_file_without_is() {
    let trial = Trial::new();
    let path = trial.known("folder/f.txt", "one\n").await;
    let folder = trial.path("folder");
    let allow = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    allow(&folder, 0o555);
    if std::fs::write(folder.join("probe"), "").is_ok() {
        return;
    }
    let inode = path.metadata().unwrap().ino();
    let write = json!({ "file_path": "folder/f.txt", "content": "two\n" });
    let text = trial.say("Write", write.clone()).await;
    assert_eq!(text, "The file $ENV/project/folder/f.txt has been updated.");
    assert_eq!((trial.get("folder/f.txt"), path.metadata().unwrap().ino()), (b"two\n".to_vec(), inode));

    allow(&folder, 0o755);
    allow(&path, 0o444);
    let text = trial.say("Write", write).await;
    assert!(
        text.starts_with("error: $ENV/project/folder/f.txt could not be written: Permission denied"),
        "{text}"
    );
}
