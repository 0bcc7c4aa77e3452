//! A notebook as a text with cells in it. What is not a cell is never written anew.

use posse_core::json;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};

use crate::world::Ids;

/// A notebook's text, cut at its cells.
pub(super) struct Notebook<'a> {
    before: &'a str,
    cells: Vec<Cell>,
    after: &'a str,
    /// One step of indentation; `None` if the file is written without line breaks.
    indent: Option<&'a str>,
    line_break: &'static str,
    /// Whether sources are lists of lines, as Jupyter writes them.
    in_lines: bool,
    /// Whether cells of this format have ids.
    pub(super) has_ids: bool,
    /// The language of the code.
    pub(super) language: String,
}

struct Cell {
    id: Option<Box<str>>,
    text: String,
}

impl<'a> Notebook<'a> {
    /// Finds the cells.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let (root, problems) = json::parse(text);
        let Some(root) = root else {
            let problem = problems.into_iter().next().map(|problem| problem.text).unwrap_or_default();
            return Err(format!("the notebook cannot be read: {problem}"));
        };
        let number = |key| root.get(key).and_then(|node| node.scalar_text()?.parse::<u32>().ok());
        let (major, minor) = (number("nbformat").unwrap_or(4), number("nbformat_minor").unwrap_or(0));
        let list = root.get("cells").and_then(|node| Some((node.span.range(), node.as_list()?)));
        let Some((range, nodes)) = list.filter(|_| major >= 4) else {
            return Err(format!("only notebooks of format 4 can be edited, and this is format {major}"));
        };
        let cells: Vec<Cell> = nodes
            .iter()
            .map(|node| Cell { id: node.text_of("id"), text: text[node.span.range()].to_owned() })
            .collect();
        let named = |node: &posse_core::node::Node| node.get("language_info")?.text_of("name");
        Ok(Self {
            before: &text[..range.start],
            after: &text[range.end..],
            indent: indentation(text),
            line_break: if text.contains("\r\n") { "\r\n" } else { "\n" },
            in_lines: !nodes
                .iter()
                .any(|node| node.get("source").is_some_and(|source| source.as_text().is_some())),
            has_ids: (major, minor) >= (4, 5),
            language: root
                .get("metadata")
                .and_then(named)
                .map_or_else(|| super::USUAL_LANGUAGE.to_owned(), String::from),
            cells,
        })
    }

    /// The place of a cell by its id, or `cell-3` if it has none.
    pub(super) fn place(&self, id: &str) -> Result<usize, String> {
        let by_place = || id.strip_prefix("cell-")?.parse().ok().filter(|place| *place < self.cells.len());
        let by_id = self.cells.iter().position(|cell| cell.id.as_deref() == Some(id));
        by_id.or_else(by_place).ok_or_else(|| {
            const SHOWN: usize = 30;
            let ids = self.cells.iter().enumerate().take(SHOWN).map(|(place, cell)| match &cell.id {
                Some(id) => id.to_string(),
                None => format!("cell-{place}"),
            });
            let ids = ids.collect::<Vec<_>>().join(", ");
            let more = if self.cells.len() > SHOWN { ", …" } else { "" };
            format!("There is no cell {id:?} in the notebook. Its cells are: {ids}{more}")
        })
    }

    /// A cell, taken apart.
    pub(super) fn cell(&self, at: usize) -> Result<Map<String, Value>, String> {
        let text = self.cells.get(at).map(|cell| cell.text.as_str()).unwrap_or_default();
        serde_json::from_str(text).map_err(|error| format!("The cell cannot be read: {error}"))
    }

    /// An id no cell has yet.
    pub(super) fn new_id(&self, ids: &Ids) -> String {
        loop {
            let id: String = ids.hex16().chars().take(8).collect();
            if !self.cells.iter().any(|cell| cell.id.as_deref() == Some(id.as_str())) {
                return id;
            }
        }
    }

    /// A source in the form it had, or in that of the notebook's others.
    pub(super) fn source(&self, text: &str, old: Option<&Value>) -> Value {
        let in_lines = old.map_or(self.in_lines, |old| !old.is_string());
        if in_lines { text.split_inclusive('\n').collect() } else { text.into() }
    }

    /// Adds a cell.
    pub(super) fn insert(&mut self, at: usize, cell: &Map<String, Value>) -> Result<(), String> {
        let new = self.written(cell)?;
        self.cells.insert(at, new);
        Ok(())
    }

    /// Puts a cell in the place of another.
    pub(super) fn replace(&mut self, at: usize, cell: &Map<String, Value>) -> Result<(), String> {
        self.cells[at] = self.written(cell)?;
        Ok(())
    }

    /// Takes a cell out.
    pub(super) fn remove(&mut self, at: usize) {
        self.cells.remove(at);
    }

    fn written(&self, cell: &Map<String, Value>) -> Result<Cell, String> {
        let id = cell.get("id").and_then(Value::as_str).map(Box::from);
        let failed = |error: serde_json::Error| format!("The cell cannot be written: {error}");
        let Some(indent) = self.indent else {
            return Ok(Cell { id, text: serde_json::to_string(cell).map_err(failed)? });
        };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        cell.serialize(&mut Serializer::with_formatter(&mut bytes, formatter)).map_err(failed)?;
        // Line breaks in the text itself are escaped, so all of these are between values.
        let deeper = format!("{}{indent}{indent}", self.line_break);
        let text = String::from_utf8_lossy(&bytes).replace('\n', &deeper);
        Ok(Cell { id, text })
    }

    /// The whole file.
    pub(super) fn text(&self) -> String {
        let (start, between, end) = match self.indent {
            Some(indent) => (
                format!("{}{indent}{indent}", self.line_break),
                format!(",{}{indent}{indent}", self.line_break),
                format!("{}{indent}", self.line_break),
            ),
            None => (String::new(), ", ".to_owned(), String::new()),
        };
        let cells: Vec<&str> = self.cells.iter().map(|cell| cell.text.as_str()).collect();
        let cells = if cells.is_empty() {
            "[]".to_owned()
        } else {
            format!("[{start}{}{end}]", cells.join(&between))
        };
        format!("{}{cells}{}", self.before, self.after)
    }
}

/// The blanks before the first key; none if it stands on the line of the bracket.
fn indentation(text: &str) -> Option<&str> {
    let inside = text.trim_start().strip_prefix('{')?;
    let key = inside.find(|character: char| !character.is_whitespace())?;
    inside[..key].rsplit_once('\n').map(|(_, blanks)| blanks)
}
