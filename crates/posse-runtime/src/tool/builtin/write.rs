//! Write: a file's whole content, new or replaced.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fs::{self, Answer};
use super::patch;
use crate::tool::{Tool, ToolCx, ToolOutput};

/// The tool.
pub(super) struct Write;

/// Its input.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    #[serde(alias = "path")]
    file_path: String,
    content: String,
}

impl Tool for Write {
    const NAME: &'static str = "Write";
    type Input = Input;

    fn description(&self) -> String {
        "Writes a whole file, with the folders above it. One that exists must have been read with Read in this session \
         and be unchanged since. To change a part use Edit. Create only files the task needs, and no documentation \
         nobody asked for."
            .to_owned()
    }

    fn runs_alone(&self, _: &Input) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: &ToolCx) -> ToolOutput {
        let work = cx.clone();
        fs::blocking(cx, move |stop| write(&input, &work, stop)).await
    }
}

fn write(input: &Input, cx: &ToolCx, stop: &CancellationToken) -> Answer {
    let path = cx.resolve(&input.file_path);
    let existing = fs::may_write(&cx.files, &path)?;
    let original = if existing {
        let (file, _) = fs::open(&path, &cx.cwd.get())?;
        // What cannot be shown as text has no lines to compare; it may be replaced all the same.
        fs::read_all(file, &path, fs::MAX_EDITED).ok().and_then(|bytes| String::from_utf8(bytes).ok())
    } else {
        None
    };
    fs::write(&cx.files, &path, existing, input.content.as_bytes(), stop)?;
    let hunks = original.as_deref().map(|original| patch::hunks(original, &input.content));
    let (kind, text) = if existing {
        ("update", format!("The file {} has been updated.", path.display()))
    } else {
        ("create", format!("File created successfully at: {}", path.display()))
    };
    Ok(ToolOutput::text(text).with(json!({
        "type": kind,
        "filePath": path.display().to_string(),
        "content": input.content,
        "structuredPatch": hunks.unwrap_or_default(),
        "originalFile": original,
    })))
}

#[cfg(test)]
mod tests;
