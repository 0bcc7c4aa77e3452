//! Jupyter notebooks as a model reads them: cells with their ids, sources and outputs, pictures included.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use posse_core::message::Content;
use serde_json::{Map, Value, json};

use super::{Part, image, text};
use crate::tool::ToolOutput;
use crate::tool::builtin::notebook_edit::{cell_id, language, plain};
use crate::tool::builtin::view;

/// Larger files are not even read.
pub(super) const MAX_READ: u64 = 100_000_000;
/// Characters shown of one output.
const MAX_OUTPUT: usize = 10_000;
/// Pictures shown at once.
const MAX_PICTURES: usize = 20;

/// Shows cells; `None` if the file is not a notebook but for its name.
pub(super) fn read(bytes: &[u8], path: &Path, part: Part) -> Result<Option<ToolOutput>, String> {
    let Ok(notebook) = serde_json::from_slice::<Value>(bytes) else { return Ok(None) };
    let Some(cells) = notebook["cells"].as_array() else { return Ok(None) };
    let language = language(&notebook["metadata"]);
    let mut shown = Shown::default();
    let mut structured = Vec::new();
    let wanted = cells.iter().enumerate().skip(part.first - 1).take(part.count.unwrap_or(usize::MAX));
    for (index, cell) in wanted {
        structured.push(shown.cell(index, cell, language));
        if shown.size > text::MAX_SHOWN {
            let advice = format!(
                "Use offset and limit to read some of its {} cells, or jq in Bash to get at one of them.",
                cells.len()
            );
            return Err(super::too_much(&format!("The cells of {} come to", path.display()), &advice));
        }
    }
    let (first, last) = (part.first, part.first - 1 + structured.len());
    if cells.is_empty() {
        shown.text(&view::reminder("The notebook has no cells."));
    } else if structured.is_empty() {
        let text =
            format!("Nothing is shown: the notebook has {} cells, and offset is {first}.", cells.len());
        shown.text(&view::reminder(&text));
    } else if structured.len() < cells.len() {
        let text = format!("Cells {first} to {last} of {} are shown.", cells.len());
        shown.text(&view::reminder(&text));
    }
    let structured = json!({
        "type": "notebook",
        "file": { "filePath": path.display().to_string(), "cells": structured },
    });
    Ok(Some(ToolOutput { content: shown.content, is_error: false, structured: Some(structured) }))
}

/// What the model is going to see.
#[derive(Default)]
struct Shown {
    content: Vec<Content>,
    size: usize,
    pictures: usize,
}

impl Shown {
    /// Adds lines to the text before, or starts one after a picture.
    fn text(&mut self, more: &str) {
        self.size += more.len() + 1;
        match self.content.last_mut() {
            Some(Content::Text(text)) => {
                text.push('\n');
                text.push_str(more);
            }
            Some(Content::Media(_)) | None => self.content.push(Content::Text(more.to_owned())),
        }
    }

    /// Shows a cell and gives it back for programs.
    fn cell(&mut self, index: usize, cell: &Value, language: &str) -> Value {
        let id = cell_id(index, cell);
        let kind = cell["cell_type"].as_str().unwrap_or("code");
        let source = plain(&cell["source"]);
        self.text(&format!("<cell id=\"{id}\" type=\"{kind}\">\n{source}\n</cell>"));
        let mut structured = json!({ "cellType": kind, "source": source, "cell_id": id });
        if kind == "code" {
            structured["language"] = language.into();
            structured["execution_count"] = cell["execution_count"].clone();
            let outputs = cell["outputs"].as_array().map(Vec::as_slice).unwrap_or_default();
            if !outputs.is_empty() {
                self.text(&format!("<output of=\"{id}\">"));
                structured["outputs"] = outputs.iter().map(|output| self.output(output)).collect();
                self.text("</output>");
            }
        }
        structured
    }

    fn output(&mut self, output: &Value) -> Value {
        let kind = output["output_type"].as_str().unwrap_or_default();
        let text = match kind {
            "stream" => plain(&output["text"]),
            "error" => without_colours(&error_text(output)),
            _ => plain(&output["data"]["text/plain"]),
        };
        let text = view::cut(text.trim_end_matches('\n'), MAX_OUTPUT);
        let mut structured = Map::new();
        structured.insert("output_type".to_owned(), kind.into());
        if !text.is_empty() {
            self.text(&text);
            structured.insert("text".to_owned(), text.into());
        }
        if let Some((media_type, data)) = picture(output) {
            structured.insert("image".to_owned(), self.picture(media_type, data));
        }
        Value::Object(structured)
    }

    /// Shows a picture, or says why not.
    fn picture(&mut self, media_type: &str, data: &Value) -> Value {
        self.pictures += 1;
        if self.pictures > MAX_PICTURES {
            self.text(&format!("[{media_type}: left out, {MAX_PICTURES} are shown at once]"));
            return Value::Null;
        }
        let base64: String = plain(data).split_whitespace().collect();
        let problem = "is not valid base64.".to_owned();
        match STANDARD.decode(base64).map_err(|_| problem).and_then(|bytes| image::check(&bytes)) {
            Ok(image) => {
                let structured =
                    json!({ "image_data": image.media.data, "media_type": image.media.media_type });
                self.content.push(Content::Media(image.media));
                structured
            }
            Err(problem) => {
                self.text(&format!("[{media_type}: {problem}]"));
                Value::Null
            }
        }
    }
}

fn picture(output: &Value) -> Option<(&'static str, &Value)> {
    let data = output["data"].as_object()?;
    ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .into_iter()
        .find_map(|media_type| Some((media_type, data.get(media_type)?)))
}

fn error_text(output: &Value) -> String {
    let trace = output["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines: Vec<&str> = trace.iter().filter_map(Value::as_str).collect();
    if lines.is_empty() {
        format!("{}: {}", plain(&output["ename"]), plain(&output["evalue"]))
    } else {
        lines.join("\n")
    }
}

/// The text without the terminal's colours, which tracebacks are full of.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end =
            part.find(|character: char| character.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        plain.push_str(&part[end..]);
    }
    plain
}
