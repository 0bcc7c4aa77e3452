//! Edit: one text in a file replaced by another.

mod matching;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fs::{self, Answer, Text};
use super::{patch, view};
use crate::tool::lenient;
use crate::tool::{Tool, ToolCx, ToolOutput};

/// As much of the model's own text as an error repeats.
const QUOTED: usize = 500;

/// The tool.
pub(super) struct Edit;

/// Its input.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    #[serde(alias = "path")]
    file_path: String,
    old_string: String,
    new_string: String,
    /// Every occurrence
    #[serde(default, deserialize_with = "lenient::flag")]
    replace_all: bool,
}

impl Tool for Edit {
    const NAME: &'static str = "Edit";
    type Input = Input;

    fn description(&self) -> String {
        "Replaces text in a file that was read with Read in this session and is unchanged since. old_string must be \
         the file's exact text, indentation included, without Read's line numbers, and occur once: add lines around \
         it, or set replace_all. Line ends (LF or CRLF) are kept; write plain line breaks. An empty old_string creates \
         a file. Notebooks: NotebookEdit."
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
    let path = cx.resolve(&input.file_path);
    if input.old_string == input.new_string {
        return Err("No changes to make: old_string and new_string are exactly the same.".to_owned());
    }
    if input.old_string.is_empty() {
        return create(input, &path, cx, stop);
    }
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
        return Err("This is a Jupyter notebook. Use NotebookEdit to change its cells.".to_owned());
    }
    if !fs::may_write(&cx.files, &path)? {
        // Opening says best what is missing.
        fs::open(&path, &cx.cwd.get())?;
    }
    let Text { text, mark } = fs::read_text(&path, &cx.cwd.get())?;
    let edited = replaced(input, &text)?;
    fs::write(&cx.files, &path, true, format!("{mark}{edited}").as_bytes(), stop)?;
    let hunks = patch::hunks(&text, &edited);
    let place = path.display();
    let done = if input.replace_all {
        format!("The file {place} has been updated. All occurrences were replaced.")
    } else {
        format!("The file {place} has been updated.")
    };
    let text_shown = format!("{done} The lines around the change:\n{}", patch::snippet(&hunks));
    Ok(answer(input, &path, text_shown, &text, &hunks))
}

/// The text with the change in it.
fn replaced(input: &Input, text: &str) -> Result<String, String> {
    let quoted = || view::cut(&input.old_string, QUOTED);
    let found = matching::find(text, &input.old_string);
    match found.places.len() {
        0 => {
            let mut error = format!("String to replace not found in file.\nString: {}", quoted());
            if let Some(line) = matching::same_but_for_blanks(text, &input.old_string) {
                error.push_str(&format!(
                    "\nLine {line} begins the same text with other white space. Read it again and copy it exactly."
                ));
            }
            return Err(error);
        }
        1 => {}
        _ if input.replace_all => {}
        many => {
            return Err(format!(
                "Found {many} matches of the string to replace, but replace_all is false. To replace all of them set \
                 replace_all to true; to replace one, add text around it that occurs only there.\nString: {}",
                quoted()
            ));
        }
    }
    let edited = found.replace(text, &input.old_string, &input.new_string);
    if edited == text {
        return Err("No changes to make: the file already holds new_string there.".to_owned());
    }
    Ok(edited)
}

/// An empty text to replace: the file is to be made.
fn create(input: &Input, path: &Path, cx: &ToolCx, stop: &CancellationToken) -> Answer {
    if let Ok(metadata) = path.metadata() {
        fs::regular(path, &metadata)?;
        if metadata.len() > 0 {
            return Err(format!(
                "Cannot create {}: it exists and is not empty. Give the text to replace in old_string.",
                path.display()
            ));
        }
        // There is nothing in it that could be lost unread.
        cx.files.saw(path);
    }
    let existing = fs::may_write(&cx.files, path)?;
    fs::write(&cx.files, path, existing, input.new_string.as_bytes(), stop)?;
    let text = format!("File created successfully at: {}", path.display());
    Ok(answer(input, path, text, "", &patch::hunks("", &input.new_string)))
}

fn answer(input: &Input, path: &Path, text: String, original: &str, hunks: &[patch::Hunk]) -> ToolOutput {
    ToolOutput::text(text).with(json!({
        "filePath": path.display().to_string(),
        "oldString": input.old_string,
        "newString": input.new_string,
        "originalFile": original,
        "structuredPatch": hunks,
        "userModified": false,
        "replaceAll": input.replace_all,
    }))
}

#[cfg(test)]
mod tests;
