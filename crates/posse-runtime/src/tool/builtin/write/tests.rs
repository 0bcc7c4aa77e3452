use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use crate::tool::builtin::trial::{Trial, tool_named};

const UNSEEN: &str = "error: File has not been read yet. Read it first before writing to it.";
const CHANGED: &str = "error: File has been modified since read, either by the user or by a linter. Read it again before \
                       attempting to write it.";

#[tokio::test]
async fn a_new_file_is_created_with_its_folders() {
    let trial = Trial::new();
    let output = trial.call("Write", json!({ "file_path": "a/b/c.txt", "content": "one\n" })).await;
    let path = trial.path("a/b/c.txt").display().to_string();
    assert_eq!(
        output.structured,
        Some(json!({
            "type": "create", "filePath": path, "content": "one\n", "structuredPatch": [], "originalFile": null,
        }))
    );
    assert_eq!(trial.get("a/b/c.txt"), b"one\n");
    let text = trial.say("Write", json!({ "file_path": "~/x.txt", "content": "" })).await;
    assert_eq!(text, "File created successfully at: $ENV/home/x.txt");
    // Readable for others as far as the umask lets it: exactly like a file made by any other program.
    std::fs::write(trial.path("plain"), "").unwrap();
    let mode = |name| trial.path(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("a/b/c.txt"), mode("plain"));
    assert_eq!(trial.names(), ["a", "plain"]);
}

#[tokio::test]
async fn an_existing_file_must_be_known_and_unchanged() {
    let trial = Trial::new();
    let write = |content: &str| json!({ "file_path": "f.txt", "content": content });
    trial.put("f.txt", "one\n");
    assert_eq!(trial.say("Write", write("two\n")).await, UNSEEN);
    assert_eq!(trial.get("f.txt"), b"one\n");

    trial.known("f.txt", "one\n").await;
    trial.touch("f.txt");
    assert_eq!(trial.say("Write", write("two\n")).await, CHANGED);
    assert_eq!(trial.get("f.txt"), b"one\n");

    trial.known("f.txt", "one\n").await;
    assert_eq!(trial.say("Write", write("two\n")).await, "The file $ENV/project/f.txt has been updated.");
    // What the run wrote itself, it knows.
    assert_eq!(trial.say("Write", write("three\n")).await, "The file $ENV/project/f.txt has been updated.");
    assert_eq!(trial.get("f.txt"), b"three\n");
    assert_eq!(trial.names(), ["f.txt"]);

    // A file that went away can be written again.
    std::fs::remove_file(trial.path("f.txt")).unwrap();
    assert_eq!(trial.say("Write", write("four\n")).await, "File created successfully at: $ENV/project/f.txt");
}

#[tokio::test]
async fn an_update_says_what_changed() {
    let trial = Trial::new();
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    trial.known("f.txt", old).await;
    let new = old.replace("2\n3\n", "2\nthree\n").replace("11\n12\n", "11\n12");
    let output = trial.call("Write", json!({ "file_path": "f.txt", "content": new })).await;
    let structured = output.structured.unwrap();
    assert_eq!(structured["type"], "update");
    assert_eq!(structured["originalFile"], old);
    assert_eq!(structured["content"], new);
    assert_eq!(
        structured["structuredPatch"],
        json!([
            {
                "oldStart": 1, "oldLines": 6, "newStart": 1, "newLines": 6,
                "lines": [" 1", " 2", "-3", "+three", " 4", " 5", " 6"],
            },
            {
                "oldStart": 9, "oldLines": 4, "newStart": 9, "newLines": 4,
                "lines": [" 9", " 10", " 11", "-12", "+12", "\\ No newline at end of file"],
            },
        ])
    );
}

#[tokio::test]
async fn what_is_not_text_can_be_replaced_but_not_compared() {
    let trial = Trial::new();
    trial.known("f.txt", b"caf\xe9\n").await;
    let output = trial.call("Write", json!({ "file_path": "f.txt", "content": "café\n" })).await;
    let structured = output.structured.unwrap();
    assert_eq!((&structured["originalFile"], &structured["structuredPatch"]), (&json!(null), &json!([])));
    assert_eq!(trial.get("f.txt"), "café\n".as_bytes());
}

#[tokio::test]
async fn permissions_and_owner_are_kept_and_links_followed() {
    let trial = Trial::new();
    let path = trial.put("real/run.sh", "old\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
    // Giving a file away takes root, as in containers; elsewhere there is nothing to check.
    let owned = std::os::unix::fs::chown(&path, Some(1234), Some(1234)).is_ok();
    symlink("real/run.sh", trial.path("link.sh")).unwrap();
    symlink("real/new.sh", trial.path("dangling.sh")).unwrap();

    // Read by one name, written by the other.
    trial.call("Read", json!({ "file_path": path })).await;
    let text = trial.say("Write", json!({ "file_path": "link.sh", "content": "new\n" })).await;
    assert_eq!(text, "The file $ENV/project/link.sh has been updated.");
    assert!(trial.path("link.sh").is_symlink());
    assert_eq!(trial.get("real/run.sh"), b"new\n");
    let metadata = path.metadata().unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o751);
    if owned {
        assert_eq!((metadata.uid(), metadata.gid()), (1234, 1234));
    }

    trial.say("Write", json!({ "file_path": "dangling.sh", "content": "made\n" })).await;
    assert!(trial.path("dangling.sh").is_symlink());
    assert_eq!(trial.get("real/new.sh"), b"made\n");
}

#[tokio::test]
async fn what_is_no_file_is_not_written() {
    let trial = Trial::new();
    trial.put("folder/f.txt", "x");
    for (path, want) in [
        ("folder", "error: $ENV/project/folder is a directory, not a file."),
        ("/dev/null", "error: /dev/null is a device, not a regular file."),
        ("folder/f.txt/g.txt", "error: $ENV/project/folder/f.txt/g.txt could not be written:"),
    ] {
        let text = trial.say("Write", json!({ "file_path": path, "content": "x" })).await;
        assert!(text.starts_with(want), "{path}: {text}");
    }
}

#[tokio::test]
async fn an_interrupted_write_changes_nothing() {
    let trial = Trial::new();
    trial.known("f.txt", "one\n").await;
    trial.cx.stop.cancel();
    for name in ["f.txt", "new.txt"] {
        let text = trial.say("Write", json!({ "file_path": name, "content": "two\n" })).await;
        assert_eq!(text, "error: Interrupted.");
    }
    assert_eq!(trial.get("f.txt"), b"one\n");
    assert_eq!(trial.names(), ["f.txt"]);
}

#[test]
fn it_runs_alone() {
    assert!(tool_named("Write").runs_alone(&json!({ "file_path": "a", "content": "b" })));
}
