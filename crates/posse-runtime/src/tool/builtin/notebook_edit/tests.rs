use serde_json::{Value, json};

use crate::tool::builtin::trial::{Trial, tool_named};

/// As Jupyter writes them, with things in it that a parser would write differently.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Caf\u00e9\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "calc",
   "metadata": {"tags": ["keep"], "unknown": 1.10},
   "outputs": [{"data": {"x": [1e-05, 0.10]}, "output_type": "display_data"}],
   "source": ["1 + 1"]
  },
  {
   "cell_type": "code",
   "execution_count": 8,
   "id": "last",
   "metadata": {},
   "outputs": [{"data": {"x": [1e-05, 12345678901234567890123]}, "output_type": "display_data"}],
   "source": ["2"]
  }
 ],
 "metadata": {
  "language_info": {
   "name": "julia"
  },
  "vendor": {"z": 1, "a": 2.50}
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn input(cell: &str, source: &str, mode: &str) -> Value {
    let mut input = json!({ "notebook_path": "n.ipynb", "new_source": source });
    if !cell.is_empty() {
        input["cell_id"] = json!(cell);
    }
    if !mode.is_empty() {
        input["edit_mode"] = json!(mode);
    }
    input
}

/// Edits a notebook the run has read; gives the file and the answer.
async fn edited(before: &str, input: Value) -> (String, String) {
    let trial = Trial::new();
    trial.known("n.ipynb", before).await;
    let text = trial.say("NotebookEdit", input).await;
    let after = String::from_utf8(trial.get("n.ipynb")).unwrap();
    assert!(serde_json::from_str::<Value>(&after).is_ok(), "{after}");
    (after, text)
}

#[tokio::test]
async fn a_replaced_cell_loses_its_outputs_and_nothing_else_changes() {
    let (after, text) = edited(NOTEBOOK, input("calc", "x = \"ä\"\nx\n", "")).await;
    assert_eq!(text, "Replaced cell calc in $ENV/project/n.ipynb.");
    let start = NOTEBOOK.find("  {\n   \"cell_type\": \"code\"").unwrap();
    let end = NOTEBOOK.find(",\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 8").unwrap();
    let cell = r#"  {
   "cell_type": "code",
   "execution_count": null,
   "id": "calc",
   "metadata": {
    "tags": [
     "keep"
    ],
    "unknown": 1.1
   },
   "outputs": [],
   "source": [
    "x = \"ä\"\n",
    "x\n"
   ]
  }"#;
    assert_eq!(after, format!("{}{cell}{}", &NOTEBOOK[..start], &NOTEBOOK[end..]));
}

#[tokio::test]
async fn cells_are_inserted_with_new_ids() {
    let mut first = input("", "import x", "insert");
    first["cell_type"] = json!("code");
    let (after, text) = edited(NOTEBOOK, first).await;
    let id = text.strip_prefix("Inserted cell ").unwrap().split(' ').next().unwrap();
    assert!(id.len() == 8 && id.chars().all(|digit| digit.is_ascii_hexdigit()), "{text}");
    let cell = format!(
        "{{\n \"cells\": [\n  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{id}\",\n   \
         \"metadata\": {{}},\n   \"outputs\": [],\n   \"source\": [\n    \"import x\"\n   ]\n  }},\n"
    );
    assert_eq!(after, NOTEBOOK.replacen("{\n \"cells\": [\n", &cell, 1));

    let mut end = input("last", "", "insert");
    end["cell_type"] = json!("markdown");
    let (after, _) = edited(NOTEBOOK, end).await;
    let cells = serde_json::from_str::<Value>(&after).unwrap()["cells"].clone();
    let kinds: Vec<&str> =
        cells.as_array().unwrap().iter().map(|cell| cell["cell_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["markdown", "code", "code", "markdown"]);
    assert_eq!(cells[3]["source"], json!([]));
    assert!(cells[3].get("outputs").is_none());
}

#[tokio::test]
async fn cells_are_deleted() {
    let (after, text) = edited(NOTEBOOK, input("last", "", "delete")).await;
    assert_eq!(text, "Deleted cell last in $ENV/project/n.ipynb.");
    let start = NOTEBOOK.find(",\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 8").unwrap();
    let end = NOTEBOOK.find("\n ],").unwrap();
    assert_eq!(after, format!("{}{}", &NOTEBOOK[..start], &NOTEBOOK[end..]));

    let only = "{\n  \"cells\": [\n    {\"cell_type\": \"raw\", \"metadata\": {}, \"source\": \"\"}\n  ],\n  \"nbformat\": 4\n}";
    let (after, _) = edited(only, input("cell-0", "", "delete")).await;
    assert_eq!(after, "{\n  \"cells\": [],\n  \"nbformat\": 4\n}");
}

#[tokio::test]
async fn the_kind_of_a_cell_can_change() {
    for (cell, kind, want) in [
        (
            "intro",
            "code",
            json!({
                "cell_type": "code", "id": "intro", "metadata": {}, "source": ["s"], "execution_count": null, "outputs": [],
            }),
        ),
        (
            "last",
            "markdown",
            json!({
                "cell_type": "markdown", "id": "last", "metadata": {}, "source": ["s"],
            }),
        ),
    ] {
        let mut input = input(cell, "s", "replace");
        input["cell_type"] = json!(kind);
        let (after, _) = edited(NOTEBOOK, input).await;
        let after: Value = serde_json::from_str(&after).unwrap();
        let found = after["cells"].as_array().unwrap().iter().find(|found| found["id"] == cell).unwrap();
        assert_eq!(found, &want);
    }
}

#[tokio::test]
async fn the_form_of_the_file_is_kept() {
    let cell = r#"{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": "a"}"#;
    for (before, want) in [
        // On one line, sources in one piece, before ids.
        (
            format!(r#"{{"cells": [{cell}], "nbformat": 4, "nbformat_minor": 4}}"#),
            format!(
                r#"{{"cells": [{cell}, {{"cell_type":"markdown","metadata":{{}},"source":"x\ny"}}], "nbformat": 4, "nbformat_minor": 4}}"#
            ),
        ),
        // Tabs, CRLF, a mark at the start, no line break at the end.
        (
            format!("\u{feff}{{\r\n\t\"cells\": [\r\n\t\t{cell}\r\n\t],\r\n\t\"nbformat\": 4\r\n}}"),
            format!(
                "\u{feff}{{\r\n\t\"cells\": [\r\n\t\t{cell},\r\n\t\t{{\r\n\t\t\t\"cell_type\": \"markdown\",\r\n\t\t\t\"metadata\": \
                 {{}},\r\n\t\t\t\"source\": \"x\\ny\"\r\n\t\t}}\r\n\t],\r\n\t\"nbformat\": 4\r\n}}"
            ),
        ),
    ] {
        let trial = Trial::new();
        trial.known("n.ipynb", &before).await;
        let mut input = input("cell-0", "x\ny", "insert");
        input["cell_type"] = json!("markdown");
        assert_eq!(trial.say("NotebookEdit", input).await, "Inserted cell cell-1 in $ENV/project/n.ipynb.");
        assert_eq!(String::from_utf8(trial.get("n.ipynb")).unwrap(), want);
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_said_and_nothing_is_touched() {
    let old = r#"{"worksheets": [{"cells": []}], "nbformat": 3, "nbformat_minor": 0}"#;
    for (before, input, want) in [
        (NOTEBOOK, input("", "x", "replace"), "cell_id is needed to replace a cell."),
        (NOTEBOOK, input("", "x", "delete"), "cell_id is needed to delete a cell."),
        (NOTEBOOK, input("", "x", "insert"), "cell_type is needed to insert a cell."),
        (
            NOTEBOOK,
            input("nope", "x", ""),
            "no cell \"nope\" in the notebook. Its cells are: intro, calc, last",
        ),
        (NOTEBOOK, input("cell-3", "x", ""), "no cell \"cell-3\""),
        (NOTEBOOK, input("calc", "x", "append"), "unknown variant `append`"),
        (old, input("cell-0", "x", ""), "only notebooks of format 4 can be edited, and this is format 3"),
        ("{\"cells\": [", input("cell-0", "x", ""), "the notebook cannot be read"),
    ] {
        let trial = Trial::new();
        trial.known("n.ipynb", before).await;
        let text = trial.say("NotebookEdit", input).await;
        assert!(text.starts_with("error: ") && text.contains(want), "{text}");
        assert_eq!(trial.get("n.ipynb"), before.as_bytes());
    }
}

#[tokio::test]
async fn the_notebook_must_be_known_and_unchanged() {
    let trial = Trial::new();
    let edit = input("calc", "x", "");
    assert!(trial.say("NotebookEdit", edit.clone()).await.starts_with("error: File does not exist"));
    trial.put("n.ipynb", NOTEBOOK);
    assert!(trial.say("NotebookEdit", edit.clone()).await.starts_with("error: File has not been read yet."));
    trial.known("n.ipynb", NOTEBOOK).await;
    trial.touch("n.ipynb");
    assert!(
        trial.say("NotebookEdit", edit.clone()).await.starts_with("error: File has been modified since read")
    );
    assert_eq!(trial.get("n.ipynb"), NOTEBOOK.as_bytes());
    let text = json!({ "notebook_path": "a.py", "new_source": "" });
    assert!(trial.say("NotebookEdit", text).await.contains("is not a Jupyter notebook (.ipynb). Use Edit."));
}

#[tokio::test]
async fn programs_get_both_versions() {
    let trial = Trial::new();
    let path = trial.known("n.ipynb", NOTEBOOK).await;
    let output = trial.call("NotebookEdit", input("calc", "x", "")).await;
    let after = String::from_utf8(trial.get("n.ipynb")).unwrap();
    assert_eq!(
        output.structured.unwrap(),
        json!({
            "new_source": "x", "cell_id": "calc", "cell_type": "code", "language": "julia", "edit_mode": "replace",
            "error": "", "notebook_path": path, "original_file": NOTEBOOK, "updated_file": after,
        })
    );
    // And the run knows what it wrote.
    assert!(trial.say("NotebookEdit", input("calc", "y", "")).await.starts_with("Replaced"));
}

#[test]
fn it_runs_alone() {
    assert!(tool_named("NotebookEdit").runs_alone(&input("a", "b", "")));
}
