mod media;

use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use crate::tool::builtin::trial::{Trial, text, tool_named};

/// Reads a file with this content and gives what the model sees.
async fn shown(content: impl AsRef<[u8]>, more: Value) -> String {
    let trial = Trial::new();
    trial.put("f.txt", content);
    let mut input = json!({ "file_path": "f.txt" });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    trial.say("Read", input).await
}

#[tokio::test]
async fn text_is_shown_with_line_numbers() {
    let ten: String = (1..=10).map(|number| format!("l{number}\n")).collect();
    let part = "     3\tl3\n     4\tl4\n<system-reminder>Lines 3 to 4 of 10 are shown. Use offset and limit to read the \
                others.</system-reminder>";
    for (content, more, want) in [
        ("one\ntwo\n", json!({}), "     1\tone\n     2\ttwo"),
        ("one\ntwo", json!({}), "     1\tone\n     2\ttwo"),
        ("\n", json!({}), "     1\t"),
        ("one\n\n", json!({}), "     1\tone\n     2\t"),
        ("a\r\nb\rc\r\n", json!({}), "     1\ta\n     2\tb\rc"),
        ("\u{feff}one\n", json!({}), "     1\tone"),
        (&*ten, json!({ "offset": 9 }), "     9\tl9\n    10\tl10"),
        (&*ten, json!({ "offset": 3, "limit": 2 }), part),
        (&*ten, json!({ "offset": "3", "limit": "2" }), part),
        (&*ten, json!({ "offset": 3.0, "limit": " 2 " }), part),
        ("one\n", json!({ "offset": 0, "limit": 0, "pages": "" }), "     1\tone"),
        ("one\n", json!({ "offset": null, "limit": "", "pages": null }), "     1\tone"),
        ("", json!({}), "<system-reminder>The file exists but is empty.</system-reminder>"),
        (
            "one\ntwo\n",
            json!({ "offset": 7 }),
            "<system-reminder>Nothing is shown: the file has 2 lines, and offset is 7.</system-reminder>",
        ),
    ] {
        assert_eq!(shown(content, more.clone()).await, want, "{content:?} {more}");
    }
}

#[tokio::test]
async fn two_thousand_lines_are_shown_unless_more_are_asked_for() {
    let many: String = (1..=2500).map(|number| format!("l{number}\n")).collect();
    let text = shown(&many, json!({})).await;
    assert!(
        text.ends_with(
            "\n  2000\tl2000\n<system-reminder>Lines 1 to 2000 of 2500 are shown. Use offset and limit to read the \
             others.</system-reminder>"
        ),
        "{}",
        &text[text.len() - 200..]
    );
    assert!(shown(&many, json!({ "limit": 3000 })).await.ends_with("\n  2500\tl2500"));
}

#[tokio::test]
async fn long_lines_are_cut() {
    let full = "é".repeat(2000);
    for (content, want) in [
        (format!("{full}\nx\n"), format!("     1\t{full}\n     2\tx")),
        (format!("{full}\r\nx\n"), format!("     1\t{full}\n     2\tx")),
        (format!("{full}ab\r\n"), format!("     1\t{full}… [2 more characters]")),
        // What is kept ends within a character.
        (
            format!("a{}\n", "é".repeat(5000)),
            format!("     1\ta{}… [3001 more characters]", "é".repeat(1999)),
        ),
        // Far beyond what is kept, and across the blocks a file is read in.
        (
            format!("{}\r\n€{}", "é".repeat(100_000), "€".repeat(50_000)),
            format!(
                "     1\t{full}… [98000 more characters]\n     2\t{}… [48001 more characters]",
                "€".repeat(2000)
            ),
        ),
    ] {
        assert_eq!(shown(&content, json!({})).await, want);
    }
}

#[tokio::test]
async fn too_much_text_is_refused_with_what_would_fit() {
    let wide: String = (0..300).map(|_| format!("{}\n", "x".repeat(992))).collect();
    assert_eq!(
        shown(&wide, json!({})).await,
        "error: What was asked of $ENV/project/f.txt comes to more than 100.0 KB (about 25,000 tokens), the most that is \
         shown at once. Use offset and limit to read a part (100 lines from line 1 fit), or Grep to find what you need."
    );
    assert!(shown(&wide, json!({ "limit": 100 })).await.starts_with("     1\txxx"));
    assert!(shown(&wide, json!({ "offset": 201, "limit": 100 })).await.starts_with("   201\txxx"));
    assert!(shown(&wide, json!({ "offset": 150 })).await.contains("100 lines from line 150 fit"));
}

#[tokio::test]
async fn what_is_not_utf8_is_shown_as_well_as_possible() {
    let note = "<system-reminder>The file is not valid UTF-8; \u{fffd} stands for what could not be decoded. Edit will \
                refuse it.</system-reminder>";
    assert_eq!(shown(b"caf\xe9\nok\n", json!({})).await, format!("     1\tcaf\u{fffd}\n     2\tok\n{note}"));
    // A file that ends within a character, and one that really holds the replacement character.
    assert_eq!(shown(b"caf\xc3", json!({})).await, format!("     1\tcaf\u{fffd}\n{note}"));
    assert_eq!(shown("caf\u{fffd}", json!({})).await, "     1\tcaf\u{fffd}");
}

#[tokio::test]
async fn what_is_no_readable_file_is_refused() {
    let trial = Trial::new();
    trial.put("folder/f", "");
    trial.put("data.bin", b"\x7fELF\x02\0\0\0");
    trial.put("wide.txt", b"\xff\xfea\0b\0");
    let pipe = trial.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    std::os::unix::fs::symlink(&pipe, trial.path("to_pipe")).unwrap();
    let _socket = UnixListener::bind(trial.path("socket")).unwrap();
    for (path, want) in [
        ("folder", "is a directory, not a file. List it with ls in Bash, or find files in it with Glob."),
        (".", "is a directory, not a file."),
        ("pipe", "is a named pipe (FIFO), not a regular file."),
        ("to_pipe", "is a named pipe (FIFO), not a regular file."),
        ("socket", "is a socket, not a regular file."),
        ("/dev/zero", "is a device, not a regular file."),
        ("data.bin", "is a binary file, which this tool does not read."),
        (
            "wide.txt",
            "seems to be UTF-16 text, which this tool does not read. Convert it with iconv in Bash.",
        ),
    ] {
        let text = trial.say("Read", json!({ "file_path": path })).await;
        assert!(text.starts_with("error: ") && text.contains(want), "{path}: {text}");
    }
}

#[tokio::test]
async fn files_that_claim_to_be_empty_are_read() {
    let trial = Trial::new();
    let text = trial.say("Read", json!({ "file_path": "/proc/self/status" })).await;
    assert!(text.starts_with("     1\tName:"), "{text}");
}

#[tokio::test]
async fn paths_start_at_the_cwd_or_at_home() {
    let trial = Trial::new();
    let path = trial.put("sub/f.txt", "here\n");
    trial.put("../home/h.txt", "home\n");
    for (cwd, path, want) in [
        ("", path.display().to_string(), "here"),
        ("", "sub/f.txt".to_owned(), "here"),
        ("sub", "f.txt".to_owned(), "here"),
        ("sub", "../sub/./f.txt".to_owned(), "here"),
        ("", "~/h.txt".to_owned(), "home"),
    ] {
        trial.cx.cwd.set(trial.path(cwd));
        assert_eq!(
            trial.say("Read", json!({ "file_path": path })).await,
            format!("     1\t{want}"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn programs_get_the_lines_and_where_they_stand() {
    let trial = Trial::new();
    let path = trial.put("f.txt", "a\r\nb\r\nc\r\nd\r\n");
    let output = trial.call("Read", json!({ "file_path": "f.txt", "offset": 2, "limit": 2 })).await;
    assert_eq!(
        output.structured.unwrap(),
        json!({
            "type": "text",
            "file": { "filePath": path, "content": "b\nc", "numLines": 2, "startLine": 2, "totalLines": 4 },
        })
    );
    let output = trial.call("Read", json!({ "file_path": "f.txt", "offset": 9 })).await;
    assert_eq!(
        output.structured.unwrap()["file"],
        json!({ "filePath": path, "content": "", "numLines": 0, "startLine": 9, "totalLines": 4 })
    );
}

#[tokio::test]
async fn a_part_makes_a_file_known_and_a_refusal_does_not() {
    let trial = Trial::new();
    trial.put("f.txt", "a\nb\n");
    trial.put("b.bin", b"\0");
    trial.call("Read", json!({ "file_path": "f.txt", "limit": 1 })).await;
    trial.call("Read", json!({ "file_path": "b.bin" })).await;
    let write = |name: &str| json!({ "file_path": name, "content": "x" });
    assert!(trial.say("Write", write("f.txt")).await.starts_with("The file"));
    assert!(trial.say("Write", write("b.bin")).await.starts_with("error: File has not been read yet."));
}

#[tokio::test]
async fn it_stops_when_the_user_interrupts() {
    let trial = Trial::new();
    trial.put("f.txt", "a\n");
    trial.cx.stop.cancel();
    assert_eq!(trial.say("Read", json!({ "file_path": "f.txt" })).await, "error: Interrupted.");
}

#[tokio::test]
async fn input_that_does_not_fit_is_explained() {
    for (more, want) in [
        (json!({ "offset": -1 }), "expected a whole number from 0 up, got -1"),
        (json!({ "limit": "many" }), "expected a whole number from 0 up, got \"many\""),
        (json!({ "limit": true }), "expected a whole number from 0 up, got true"),
        (json!({ "pages": [1] }), "expected text, got [1]"),
    ] {
        let text = shown("x", more).await;
        assert!(text.starts_with("error: InputValidationError: Read") && text.contains(want), "{text}");
    }
}

#[tokio::test]
async fn notebooks_are_shown_as_cells() {
    let trial = Trial::new();
    let png = media::png_base64();
    let notebook = json!({
        "cells": [
            { "cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"] },
            {
                "cell_type": "code", "id": "calc", "metadata": {}, "execution_count": 3, "source": "print(1)",
                "outputs": [
                    { "output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"] },
                    { "output_type": "display_data", "data": { "text/plain": "<Figure>", "image/png": format!("{png}\n") } },
                    { "output_type": "display_data", "data": { "image/png": "AAAA" } },
                    { "output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\u{1b}[0;31mE\u{1b}[0m: bad"] },
                ],
            },
            { "cell_type": "code", "metadata": {}, "execution_count": null, "outputs": [], "source": [] },
        ],
        "metadata": { "language_info": { "name": "julia" } }, "nbformat": 4, "nbformat_minor": 5,
    });
    let path = trial.put("n.ipynb", notebook.to_string());
    let output = trial.call("Read", json!({ "file_path": "n.ipynb" })).await;
    assert_eq!(
        text(&output),
        "<cell id=\"intro\" type=\"markdown\">\n# Title\ntext\n</cell>\n<cell id=\"calc\" \
         type=\"code\">\nprint(1)\n</cell>\n<output of=\"calc\">\n1\n2\n<Figure>\n[image/png]\n[image/png: is a damaged \
         image and cannot be shown.]\nE: bad\n</output>\n<cell id=\"cell-2\" type=\"code\">\n\n</cell>"
    );
    assert_eq!(
        output.structured.unwrap(),
        json!({
            "type": "notebook",
            "file": {
                "filePath": path,
                "cells": [
                    { "cellType": "markdown", "source": "# Title\ntext", "cell_id": "intro" },
                    {
                        "cellType": "code", "source": "print(1)", "cell_id": "calc", "language": "julia",
                        "execution_count": 3,
                        "outputs": [
                            { "output_type": "stream", "text": "1\n2" },
                            {
                                "output_type": "display_data", "text": "<Figure>",
                                "image": { "image_data": png, "media_type": "image/png" },
                            },
                            { "output_type": "display_data", "image": null },
                            { "output_type": "error", "text": "E: bad" },
                        ],
                    },
                    {
                        "cellType": "code", "source": "", "cell_id": "cell-2", "language": "julia",
                        "execution_count": null,
                    },
                ],
            },
        })
    );
    assert_eq!(
        trial.say("Read", json!({ "file_path": "n.ipynb", "offset": 3, "limit": 1 })).await,
        "<cell id=\"cell-2\" type=\"code\">\n\n</cell>\n<system-reminder>Cells 3 to 3 of 3 are shown.</system-reminder>"
    );
    assert_eq!(
        trial.say("Read", json!({ "file_path": "n.ipynb", "offset": 4 })).await,
        "<system-reminder>Nothing is shown: the notebook has 3 cells, and offset is 4.</system-reminder>"
    );
    trial.put("n.ipynb", "{\"cells\": []}");
    assert_eq!(
        trial.say("Read", json!({ "file_path": "n.ipynb" })).await,
        "<system-reminder>The notebook has no cells.</system-reminder>"
    );
}

#[tokio::test]
async fn large_notebooks_are_shown_in_part() {
    let trial = Trial::new();
    let output = json!({ "output_type": "stream", "text": "x".repeat(50_000) });
    let cell = json!({ "cell_type": "code", "id": "a", "metadata": {}, "outputs": [output], "source": "y".repeat(9_000) });
    trial.put("n.ipynb", json!({ "cells": vec![cell; 10], "nbformat": 4 }).to_string());
    let text = trial.say("Read", json!({ "file_path": "n.ipynb" })).await;
    assert!(
        text.ends_with(
            "Use offset and limit to read some of its 10 cells, or jq in Bash to get at one of them."
        ),
        "{text}"
    );
    let text = trial.say("Read", json!({ "file_path": "n.ipynb", "limit": 1 })).await;
    assert!(text.contains("… [40000 more characters]\n</output>"), "{}", text.len());
}

#[tokio::test]
async fn a_notebook_by_name_only_is_text() {
    let trial = Trial::new();
    for content in ["not json\n", "[1]\n"] {
        trial.put("n.ipynb", content);
        let want = format!("     1\t{}", content.trim_end());
        assert_eq!(trial.say("Read", json!({ "file_path": "n.ipynb" })).await, want);
    }
}

#[test]
fn it_runs_beside_others() {
    let tool = tool_named("Read");
    assert!(!tool.runs_alone(&json!({ "file_path": "a" })));
    let schema = tool.spec().input_schema;
    assert_eq!(schema["required"], json!(["file_path"]));
}
