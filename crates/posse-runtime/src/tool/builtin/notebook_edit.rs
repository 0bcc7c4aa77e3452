//! NotebookEdit: a cell of a Jupyter notebook replaced, added or removed.
//!
//! The file is changed as text, cell by cell: numbers, escapes and keys nobody here knows stay as they were written,
//! and a version control system shows the one cell that changed.

mod cells;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::fs::{self, Answer, Text};
use crate::tool::lenient;
use crate::tool::{Tool, ToolCx, ToolOutput};
use cells::Notebook;

/// The language of a notebook that names none.
const USUAL_LANGUAGE: &str = "python";

/// The tool.
pub(super) struct NotebookEdit;

/// Its input.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    notebook_path: String,
    /// As Read shows it; insert without it puts the cell first
    #[serde(default, deserialize_with = "lenient::text")]
    cell_id: Option<String>,
    new_source: String,
    #[serde(default)]
    cell_type: Option<CellType>,
    #[serde(default)]
    edit_mode: Option<Mode>,
}

/// What a cell can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CellType {
    Code,
    Markdown,
    Raw,
}

impl CellType {
    fn word(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
        }
    }
}

/// What is done to a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }
}

impl Tool for NotebookEdit {
    const NAME: &'static str = "NotebookEdit";
    type Input = Input;

    fn description(&self) -> String {
        "Changes a cell of a Jupyter notebook that was read with Read in this session and is unchanged since. replace \
         (default) sets the cell's whole source and clears its outputs, insert adds a cell after cell_id and needs \
         cell_type, delete removes it. Nothing is executed."
            .to_owned()
    }

    fn runs_alone(&self, _: &Input) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: &ToolCx) -> ToolOutput {
        let work = cx.clone();
        fs::blocking(cx, move |stop| edit(&input, &work, stop)).await
    }
}

fn edit(input: &Input, cx: &ToolCx, stop: &CancellationToken) -> Answer {
    let path = cx.resolve(&input.notebook_path);
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
        return Err(format!("{} is not a Jupyter notebook (.ipynb). Use Edit.", path.display()));
    }
    if !fs::may_write(&cx.files, &path)? {
        // Opening says best what is missing.
        fs::open(&path, &cx.cwd.get())?;
    }
    let Text { text, mark } = fs::read_text(&path, &cx.cwd.get())?;
    let mut notebook = Notebook::parse(&text).map_err(|problem| format!("{}: {problem}", path.display()))?;
    let Changed { id, kind, what } = change(input, &mut notebook, cx)?;
    let updated = notebook.text();
    fs::write(&cx.files, &path, true, format!("{mark}{updated}").as_bytes(), stop)?;
    Ok(ToolOutput::text(format!("{what} cell {id} in {}.", path.display())).with(json!({
        "new_source": input.new_source,
        "cell_id": id,
        "cell_type": kind,
        "language": notebook.language,
        "edit_mode": input.edit_mode.unwrap_or_default().word(),
        "error": "",
        "notebook_path": path.display().to_string(),
        "original_file": text,
        "updated_file": updated,
    })))
}

/// What was done.
struct Changed {
    id: String,
    kind: String,
    what: &'static str,
}

fn change(input: &Input, notebook: &mut Notebook, cx: &ToolCx) -> Result<Changed, String> {
    let mode = input.edit_mode.unwrap_or_default();
    let place = match &input.cell_id {
        Some(id) => Some(notebook.place(id)?),
        None => None,
    };
    match (mode, place) {
        (Mode::Insert, place) => {
            let kind = input.cell_type.ok_or("cell_type is needed to insert a cell.")?;
            let at = place.map_or(0, |place| place + 1);
            let id = notebook.has_ids.then(|| notebook.new_id(&cx.world.ids));
            let source = notebook.source(&input.new_source, None);
            notebook.insert(at, &new_cell(kind, id.as_deref(), source))?;
            let id = id.unwrap_or_else(|| format!("cell-{at}"));
            Ok(Changed { id, kind: kind.word().to_owned(), what: "Inserted" })
        }
        (Mode::Replace | Mode::Delete, None) => Err(format!("cell_id is needed to {} a cell.", mode.word())),
        (Mode::Replace, Some(at)) => {
            let mut cell = notebook.cell(at)?;
            let id = cell_id(at, &Value::Object(cell.clone()));
            let source = notebook.source(&input.new_source, cell.get("source"));
            let kind = replace(&mut cell, input.cell_type, source);
            notebook.replace(at, &cell)?;
            Ok(Changed { id, kind, what: "Replaced" })
        }
        (Mode::Delete, Some(at)) => {
            let cell = Value::Object(notebook.cell(at)?);
            notebook.remove(at);
            let kind = plain(&cell["cell_type"]);
            Ok(Changed { id: cell_id(at, &cell), kind, what: "Deleted" })
        }
    }
}

/// Gives a cell another source; what it printed belonged to the old one.
fn replace(cell: &mut Map<String, Value>, kind: Option<CellType>, source: Value) -> String {
    if let Some(kind) = kind {
        cell.insert("cell_type".to_owned(), kind.word().into());
    }
    let kind = cell.get("cell_type").map(plain).unwrap_or_default();
    if kind == "code" {
        cell.insert("execution_count".to_owned(), Value::Null);
        cell.insert("outputs".to_owned(), json!([]));
    } else {
        cell.shift_remove("execution_count");
        cell.shift_remove("outputs");
    }
    cell.insert("source".to_owned(), source);
    kind
}

/// A cell with its keys in Jupyter's order.
fn new_cell(kind: CellType, id: Option<&str>, source: Value) -> Map<String, Value> {
    let code = kind == CellType::Code;
    let entries = [
        Some(("cell_type", Value::from(kind.word()))),
        code.then_some(("execution_count", Value::Null)),
        id.map(|id| ("id", Value::from(id))),
        Some(("metadata", json!({}))),
        code.then(|| ("outputs", json!([]))),
        Some(("source", source)),
    ];
    entries.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// How a cell is called: by its id, or by its place if it is too old to have one.
pub(super) fn cell_id(index: usize, cell: &Value) -> String {
    cell["id"].as_str().map_or_else(|| format!("cell-{index}"), str::to_owned)
}

/// A text as notebooks keep it, in one piece or in lines.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The language of a notebook's code.
pub(super) fn language(metadata: &Value) -> &str {
    metadata["language_info"]["name"].as_str().unwrap_or(USUAL_LANGUAGE)
}

#[cfg(test)]
mod tests;
