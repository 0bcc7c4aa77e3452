use posse_core::message::Media;
use serde_json::json;

use super::*;

fn call(name: &str, input: Value) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), input }
}

fn diff(path: &str, old: Option<&str>, new: &str) -> Shown {
    Shown::Diff { path: path.into(), old: old.map(str::to_owned), new: new.to_owned() }
}

#[test]
fn titles_and_kinds() {
    let long = "x".repeat(200);
    let cases = [
        (
            "Bash",
            json!({ "command": "git  status\n--short" }),
            Kind::Execute,
            "`git status --short`".to_owned(),
        ),
        ("Bash", json!({ "command": long }), Kind::Execute, format!("`{}…`", "x".repeat(LONGEST_TITLE - 1))),
        ("Bash", json!({}), Kind::Execute, "Bash".to_owned()),
        ("Read", json!({ "file_path": "/p/src/a.rs" }), Kind::Read, "Read src/a.rs".to_owned()),
        (
            "Read",
            json!({ "file_path": "/q/a.rs", "offset": 3, "limit": 2 }),
            Kind::Read,
            "Read /q/a.rs (lines 3–4)".to_owned(),
        ),
        (
            "Read",
            json!({ "offset": u64::MAX, "limit": u64::MAX }),
            Kind::Read,
            format!("Read a file (lines {0}–{1})", u64::MAX, u64::MAX - 1),
        ),
        ("Edit", json!({ "file_path": "a.rs" }), Kind::Edit, "Edit a.rs".to_owned()),
        ("Write", json!({ "file_path": 7 }), Kind::Edit, "Write a file".to_owned()),
        ("NotebookEdit", json!({ "notebook_path": "/p/n.ipynb" }), Kind::Edit, "Edit n.ipynb".to_owned()),
        (
            "Glob",
            json!({ "pattern": "*.rs", "path": "/p/src" }),
            Kind::Search,
            "Find `*.rs` in src".to_owned(),
        ),
        ("Grep", json!({ "pattern": "fn" }), Kind::Search, "Search for `fn`".to_owned()),
        ("WebFetch", json!({ "url": "https://x.y" }), Kind::Fetch, "Fetch https://x.y".to_owned()),
        ("WebSearch", json!({ "query": "rust" }), Kind::Fetch, "Search the web for “rust”".to_owned()),
        (
            "Agent",
            json!({ "description": "look", "subagent_type": "Explore" }),
            Kind::Think,
            "Explore: look".to_owned(),
        ),
        ("Task", json!({ "description": "look" }), Kind::Think, "look".to_owned()),
        ("Skill", json!({ "skill": "pdf" }), Kind::Other, "Skill pdf".to_owned()),
        ("ExitPlanMode", json!({}), Kind::Mode, "Ready to carry out the plan?".to_owned()),
        ("mcp__git_hub__list_issues", json!({}), Kind::Other, "list_issues (git_hub)".to_owned()),
        ("Unheard", json!(null), Kind::Other, "Unheard".to_owned()),
    ];
    for (name, input, kind, title) in cases {
        let about = about(&call(name, input.clone()), Path::new("/p"));
        assert_eq!((about.kind, about.title), (Some(kind), Some(title)), "{name} {input}");
        assert_eq!(about.input, Some(input));
    }
}

#[test]
fn what_a_call_is_about_to_change() {
    let cases = [
        (
            "Edit",
            json!({ "file_path": "a.rs", "old_string": "a", "new_string": "b" }),
            vec![diff("/p/a.rs", Some("a"), "b")],
        ),
        (
            "Edit",
            json!({ "file_path": "a.rs", "old_string": "", "new_string": "b" }),
            vec![diff("/p/a.rs", None, "b")],
        ),
        ("Write", json!({ "file_path": "/x/a.rs", "content": "c" }), vec![diff("/x/a.rs", None, "c")]),
        ("Write", json!({ "content": "c" }), vec![]),
        (
            "MultiEdit",
            json!({ "file_path": "a", "edits": [{ "old_string": "1", "new_string": "2" }, {}] }),
            vec![diff("/p/a", Some("1"), "2")],
        ),
        (
            "NotebookEdit",
            json!({ "notebook_path": "n.ipynb", "new_source": "1" }),
            vec![diff("/p/n.ipynb", None, "1")],
        ),
        ("ExitPlanMode", json!({ "plan": "# So" }), vec![Shown::Text("# So".to_owned())]),
        ("Bash", json!({ "command": "ls", "description": "Lists" }), vec![Shown::Text("Lists".to_owned())]),
        ("Grep", json!({ "pattern": "x" }), vec![]),
    ];
    for (name, input, expected) in cases {
        assert_eq!(
            about(&call(name, input.clone()), Path::new("/p")).shown,
            Some(expected),
            "{name} {input}"
        );
    }
}

#[test]
fn what_a_call_has_changed() {
    let patch = json!([
        { "newStart": 4, "lines": [" a", "-b", "+B", "+C", "\\ No newline at end of file"] },
        { "newStart": 40, "lines": ["-z"] },
        { "lines": 7 },
    ]);
    let edit = json!({ "file_path": "f" });
    let place = |line| Place { path: "/p/f".into(), line };
    let cases = [
        (
            "Edit",
            json!({ "structuredPatch": patch }),
            vec![diff("/p/f", Some("a\nb"), "a\nB\nC"), diff("/p/f", Some("z"), "")],
            vec![place(Some(4)), place(Some(40))],
        ),
        (
            "Write",
            json!({ "content": "new", "originalFile": null }),
            vec![diff("/p/f", None, "new")],
            vec![place(None)],
        ),
        (
            "Write",
            json!({ "content": "new", "originalFile": "old", "structuredPatch": [{ "newStart": 1, "lines": ["-old", "+new"] }] }),
            vec![diff("/p/f", Some("old"), "new")],
            vec![place(Some(1))],
        ),
    ];
    for (name, structured, shown, places) in cases {
        let answer = ToolAnswer { structured: Some(structured), ..ToolAnswer::text("1", "done") };
        assert_eq!(
            outcome(&call(name, edit.clone()), &answer, Path::new("/p")),
            (shown, Some(places)),
            "{name}"
        );
    }
    let notebook = json!({ "original_file": "{1}", "updated_file": "{2}" });
    let answer = ToolAnswer { structured: Some(notebook), ..ToolAnswer::text("1", "done") };
    let (shown, _) =
        outcome(&call("NotebookEdit", json!({ "notebook_path": "n" })), &answer, Path::new("/p"));
    assert_eq!(shown, [diff("/p/n", Some("{1}"), "{2}")]);
}

#[test]
fn what_a_call_has_to_say() {
    let text = |text: &str| Shown::Text(text.to_owned());
    let cases = [
        ("Bash", ToolAnswer::text("1", "a ```b``` c\n"), vec![text("````\na ```b``` c\n````")]),
        ("Bash", ToolAnswer::text("1", " \n"), vec![]),
        ("WebFetch", ToolAnswer::text("1", "# Page"), vec![text("# Page")]),
        ("Edit", ToolAnswer::error("1", "not *found*"), vec![text("```\nnot *found*\n```")]),
    ];
    for (name, answer, expected) in cases {
        let (shown, places) = outcome(&call(name, json!({})), &answer, Path::new("/p"));
        assert_eq!((shown, places), (expected, None), "{name}");
    }
    let media = |kind: &str| Content::Media(Media { media_type: kind.into(), data: "AA".to_owned() });
    let answer = ToolAnswer {
        content: vec![media("image/png"), media("application/pdf")],
        ..ToolAnswer::text("1", "")
    };
    let (shown, _) = outcome(&call("Read", json!({})), &answer, Path::new("/p"));
    let image = Shown::Image { media_type: "image/png".to_owned(), data: "AA".to_owned() };
    assert_eq!(shown, [image, text("[application/pdf]")]);
}
