//! Read: a file as a model can take it in. Decides what a file is; the rooms below know how to show it.

mod image;
mod notebook;
mod pdf;
mod text;

use std::io::{BufReader, Read as _, Seek};
use std::path::Path;

use posse_core::message::{Content, Media};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fs::{self, Answer};
use super::view;
use crate::tool::lenient;
use crate::tool::{Tool, ToolCx, ToolOutput, Version};

/// The tool.
pub(super) struct Read;

/// Its input.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    #[serde(alias = "path")]
    file_path: String,
    /// First line (or cell), from 1
    #[serde(default, deserialize_with = "lenient::number")]
    offset: Option<u64>,
    /// How many lines (or cells)
    #[serde(default, deserialize_with = "lenient::number")]
    limit: Option<u64>,
    /// Of a PDF: "3" or "1-5", at most 20
    #[serde(default, deserialize_with = "lenient::text")]
    pages: Option<String>,
}

/// The part of a file that is asked for.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The first line or cell, from 1.
    first: usize,
    /// How many; `None` as many as usual.
    count: Option<usize>,
}

impl Input {
    fn part(&self) -> Part {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        // Nobody asks for nothing: 0 is how some models leave a number out.
        Part {
            first: self.offset.map_or(1, number).max(1),
            count: self.limit.filter(|limit| *limit > 0).map(number),
        }
    }
}

impl Tool for Read {
    const NAME: &'static str = "Read";
    type Input = Input;

    fn description(&self) -> String {
        "Reads a file. Text comes as line number, tab, line: the first 2000 lines unless offset and limit say \
         otherwise; longer lines than 2000 characters are cut, more than about 100 KB at once is refused. Also shows \
         images, PDFs (name the pages if more than 10) and notebooks with their outputs. Not for directories. Read a \
         file before you Edit or Write it; read files you need together in one message."
            .to_owned()
    }

    fn runs_alone(&self, _: &Input) -> bool {
        false
    }

    async fn run(&self, input: Input, cx: &ToolCx) -> ToolOutput {
        let work = cx.clone();
        fs::blocking(cx, move |stop| read(&input, &work, stop)).await
    }
}

fn read(input: &Input, cx: &ToolCx, stop: &CancellationToken) -> Answer {
    let path = cx.resolve(&input.file_path);
    let (mut file, metadata) = fs::open(&path, &cx.cwd.get())?;
    let failed = |error: std::io::Error| format!("{} could not be read: {error}", path.display());
    let version = Version::from_metadata(&metadata);
    let mut head = Vec::new();
    std::io::Read::by_ref(&mut file).take(8192).read_to_end(&mut head).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let output = match kind(&path, &head) {
        Kind::Image => {
            let bytes = fs::read_all(file, &path, image::MAX_READ)?;
            show_image(&path, &bytes)?
        }
        Kind::Pdf => {
            pdf::read(&fs::read_all(file, &path, pdf::MAX_READ)?, &path, input.pages.as_deref(), stop)?
        }
        Kind::Notebook => {
            let bytes = fs::read_all(file, &path, notebook::MAX_READ)?;
            match notebook::read(&bytes, &path, input.part())? {
                Some(output) => output,
                None => text::read(&*bytes, &path, input.part(), stop)?,
            }
        }
        Kind::Text => text::read(BufReader::with_capacity(65_536, file), &path, input.part(), stop)?,
        Kind::Binary => return Err(format!("{} {}", path.display(), binary(&head))),
    };
    cx.files.saw_as(&path, version);
    Ok(output)
}

/// What a file is. The content decides; the name only where the content leaves it open.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Image,
    Pdf,
    Notebook,
    Text,
    Binary,
}

fn kind(path: &Path, head: &[u8]) -> Kind {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let named = |names: &[&str]| names.iter().any(|name| extension.eq_ignore_ascii_case(name));
    let binary = head.contains(&0);
    // A note that begins with "GIF89a" is still a note.
    if image::media_type(head).is_some() && (binary || named(&["png", "jpg", "jpeg", "gif", "webp"])) {
        Kind::Image
    } else if pdf::is_one(head) && (binary || head.starts_with(b"%PDF-") || named(&["pdf"])) {
        Kind::Pdf
    } else if binary {
        Kind::Binary
    } else if named(&["ipynb"]) {
        Kind::Notebook
    } else {
        Kind::Text
    }
}

fn binary(head: &[u8]) -> &'static str {
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        "seems to be UTF-16 text, which this tool does not read. Convert it with iconv in Bash."
    } else {
        "is a binary file, which this tool does not read. Look into it with the right program in Bash, such as file, \
         strings or xxd."
    }
}

fn show_image(path: &Path, bytes: &[u8]) -> Answer {
    let image = image::check(bytes).map_err(|problem| format!("{} {problem}", path.display()))?;
    let image::Image { media: Media { media_type, data }, width, height } = image;
    let structured = json!({
        "type": "image",
        "file": {
            "base64": data,
            "type": media_type,
            "originalSize": bytes.len(),
            "dimensions": { "originalWidth": width, "originalHeight": height },
        },
    });
    let content = vec![Content::Media(Media { media_type, data })];
    Ok(ToolOutput { content, is_error: false, structured: Some(structured) })
}

/// That the view is too large, and what to do about it.
fn too_much(what: &str, advice: &str) -> String {
    format!(
        "{what} more than {} (about 25,000 tokens), the most that is shown at once. {advice}",
        view::size(text::MAX_SHOWN as u64)
    )
}

/// An image as a model is shown it, or what is wrong with it.
pub(crate) fn shown_image(bytes: &[u8]) -> Result<Media, String> {
    image::check(bytes).map(|image| image.media)
}

#[cfg(test)]
mod tests;
