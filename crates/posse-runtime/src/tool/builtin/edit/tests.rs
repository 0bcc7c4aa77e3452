use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::tool::builtin::trial::{Trial, tool_named};

fn input(old: &str, new: &str) -> Value {
    json!({ "file_path": "f.txt", "old_string": old, "new_string": new })
}

/// Edits a file the run has read and gives what is in it afterwards.
async fn edited(before: &str, input: Value) -> String {
    let trial = Trial::new();
    trial.known("f.txt", before).await;
    let text = trial.say("Edit", input).await;
    assert!(text.starts_with("The file $ENV/project/f.txt has been updated."), "{text}");
    assert_eq!(trial.names(), ["f.txt"]);
    String::from_utf8(trial.get("f.txt")).unwrap()
}

#[tokio::test]
async fn a_text_is_replaced_and_the_rest_stays() {
    for (before, old, new, after) in [
        ("one\ntwo\n", "two", "zwei", "one\nzwei\n"),
        ("one\ntwo", "two", "zwei", "one\nzwei"),
        ("one\ntwo\nthree\n", "two\n", "", "one\nthree\n"),
        ("a a2", "a2", "b", "a b"),
        // Line breaks of either kind, each line keeping its own.
        ("one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2", "1\r\n2\r\nthree\r\n"),
        ("one\r\ntwo\r\nthree\r\n", "two\r\n", "2\r\n2b\r\n", "one\r\n2\r\n2b\r\nthree\r\n"),
        ("one\r\ntwo\r\nthree", "\nthree", "", "one\r\ntwo"),
        ("one\r\ntwo\r\n", "one", "1", "1\r\ntwo\r\n"),
        ("a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n"),
        ("a\nb\n", "a\r\nb", "c\r\nd", "c\nd\n"),
        // The mark stays at the start.
        ("\u{feff}one\n", "one", "two", "\u{feff}two\n"),
        // Quotes of either kind.
        ("say “hi” to Ann’s cat\n", "\"hi\" to Ann's", "\"bye\" to 'Ann's", "say “bye” to ‘Ann’s cat\n"),
        ("é “a” x\n", "\"a\" x", "\"a\" y", "é “a” y\n"),
        ("say \"hi\"\n", "“hi”", "“ho”", "say \"ho\"\n"),
        ("“a”\r\n“b”\r\n", "\"a\"\n\"b\"", "\"c\"\n\"d\"", "“c”\r\n“d”\r\n"),
        // An exact match goes first and leaves the quotes alone.
        ("'x' ‘x’\n", "'x'", "'y'", "'y' ‘x’\n"),
    ] {
        assert_eq!(edited(before, input(old, new)).await, after, "{before:?} {old:?} {new:?}");
    }
}

#[tokio::test]
async fn every_occurrence_is_replaced_when_asked() {
    for replace_all in [json!(true), json!("true")] {
        let mut input = input("a", "bb");
        input["replace_all"] = replace_all;
        assert_eq!(edited("a\r\na a\r\n“a”\r\n", input).await, "bb\r\nbb bb\r\n“bb”\r\n");
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_said_and_nothing_is_touched() {
    let long = "x".repeat(600);
    let cut = format!("String: {}… [100 more characters]", "x".repeat(500));
    for (before, old, new, want) in [
        ("a", "a", "a", "error: No changes to make: old_string and new_string are exactly the same."),
        ("b a a", "a", "c", "error: Found 2 matches of the string to replace, but replace_all is false. "),
        ("b", "a", "c", "error: String to replace not found in file.\nString: a"),
        ("b", &*long, "c", &*cut),
        (
            "x\n\tif a  {\n\t\tb\n",
            "if a {\n    b",
            "c",
            "\nLine 2 begins the same text with other white space.",
        ),
        ("b", "", "c", "error: Cannot create $ENV/project/f.txt: it exists and is not empty."),
        ("‘a’", "'a'", "‘a’", "error: No changes to make: the file already holds new_string there."),
    ] {
        let trial = Trial::new();
        trial.known("f.txt", before).await;
        let text = trial.say("Edit", input(old, new)).await;
        assert!(text.starts_with("error: ") && text.contains(want), "{before:?} {old:?}: {text}");
        assert_eq!(trial.get("f.txt"), before.as_bytes());
    }
}

#[tokio::test]
async fn the_file_must_be_known_unchanged_and_text() {
    let trial = Trial::new();
    let edit = input("one", "two");
    assert_eq!(
        trial.say("Edit", edit.clone()).await,
        "error: File does not exist: $ENV/project/f.txt. Current working directory: $ENV/project."
    );
    trial.put("f.txt", "one\n");
    assert_eq!(
        trial.say("Edit", edit.clone()).await,
        "error: File has not been read yet. Read it first before writing to it."
    );
    trial.known("f.txt", "one\n").await;
    trial.touch("f.txt");
    assert!(trial.say("Edit", edit.clone()).await.starts_with("error: File has been modified since read"));
    assert_eq!(trial.get("f.txt"), b"one\n");

    trial.known("f.txt", b"one caf\xe9\n").await;
    let text = trial.say("Edit", edit.clone()).await;
    assert!(text.starts_with("error: $ENV/project/f.txt is not valid UTF-8 (byte 7)"), "{text}");
    assert_eq!(trial.get("f.txt"), b"one caf\xe9\n");

    let path = trial.known("f.txt", "one\n").await;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
    // Permissions are no content: the file is still as it was read, and keeps them.
    assert!(trial.say("Edit", edit).await.starts_with("The file"));
    assert_eq!(trial.path("f.txt").metadata().unwrap().permissions().mode() & 0o777, 0o640);

    trial.known("n.ipynb", "{\"cells\": []}").await;
    let notebook = json!({ "file_path": "n.ipynb", "old_string": "cells", "new_string": "x" });
    assert!(trial.say("Edit", notebook).await.contains("Use NotebookEdit"));
}

#[tokio::test]
async fn an_empty_text_creates_a_file() {
    let trial = Trial::new();
    let create = json!({ "file_path": "new/f.txt", "old_string": "", "new_string": "one\n" });
    let text = trial.say("Edit", create.clone()).await;
    assert_eq!(text, "File created successfully at: $ENV/project/new/f.txt");
    assert_eq!(trial.get("new/f.txt"), b"one\n");
    assert!(trial.say("Edit", create).await.starts_with("error: Cannot create"));

    trial.put("f.txt", "");
    let output = trial.call("Edit", input("", "one\n")).await;
    assert_eq!(
        output.structured.unwrap()["structuredPatch"],
        json!([{ "oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+one"] }])
    );
    assert_eq!(trial.get("f.txt"), b"one\n");
}

#[tokio::test]
async fn the_answer_shows_the_lines_around_the_change() {
    let trial = Trial::new();
    let before: String = (1..=30).map(|number| format!("line {number}\r\n")).collect();
    let path = trial.known("f.txt", &before).await;
    let output = trial.call("Edit", input("line 10\nline 11\n", "ten\n")).await;
    let want = "has been updated. The lines around the change:\n     7\tline 7\n     8\tline 8\n     9\tline 9\n    10\tten\n    \
                11\tline 12\n    12\tline 13\n    13\tline 14";
    let text = super::super::trial::text(&output);
    assert!(text.ends_with(want), "{text}");
    assert_eq!(
        output.structured.unwrap(),
        json!({
            "filePath": path,
            "oldString": "line 10\nline 11\n",
            "newString": "ten\n",
            "originalFile": before,
            "structuredPatch": [{
                "oldStart": 7, "oldLines": 8, "newStart": 7, "newLines": 7,
                "lines": [
                    " line 7", " line 8", " line 9", "-line 10", "-line 11", "+ten", " line 12", " line 13", " line 14",
                ],
            }],
            "userModified": false,
            "replaceAll": false,
        })
    );
}

#[tokio::test]
async fn a_large_change_is_shown_in_part() {
    let trial = Trial::new();
    trial.known("f.txt", "start\nend\n").await;
    let many: String = (0..500).map(|_| format!("{}\n", "x".repeat(1000))).collect();
    let text = trial.say("Edit", input("start\n", &many)).await;
    assert!(text.ends_with("   ... [441 more lines]"), "{}", &text[text.len() - 100..]);
    assert!(text.len() < 40_000, "{}", text.len());
}

#[tokio::test]
async fn one_edit_after_the_other_needs_no_second_look() {
    let trial = Trial::new();
    trial.known("f.txt", "a\n").await;
    for (old, new) in [("a", "b"), ("b", "c"), ("c", "d")] {
        assert!(trial.say("Edit", input(old, new)).await.starts_with("The file"));
    }
    assert_eq!(trial.get("f.txt"), b"d\n");
}

#[tokio::test]
async fn input_that_does_not_fit_is_explained() {
    let trial = Trial::new();
    let mut wrong = input("a", "b");
    wrong["replace_all"] = json!("perhaps");
    let text = trial.say("Edit", wrong).await;
    assert!(text.contains("expected true or false, got \"perhaps\""), "{text}");
}

#[test]
fn it_runs_alone() {
    assert!(tool_named("Edit").runs_alone(&input("a", "b")));
}
