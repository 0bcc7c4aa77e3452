//! From what a server answers to what a model reads: text within bounds, images as images, everything else in a file
//! with its path told.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use posse_core::message::Content;
use rmcp::model::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents};
use serde_json::Value;

use super::Limits;
use crate::tool::capture::{Capture, Stream};
use crate::tool::{ToolCx, ToolOutput, builtin};

/// A tool's answer.
pub(super) async fn of_call(
    result: CallToolResult,
    limits: &Limits,
    longest: Option<usize>,
    cx: &ToolCx,
) -> ToolOutput {
    let is_error = result.is_error.unwrap_or_default();
    let structured = serde_json::to_value(&result.content).ok();
    let mut parts = Parts::new(limits, longest, cx);
    let nothing = result.content.is_empty();
    for block in result.content {
        parts.block(block).await;
    }
    if let Some(value) = result.structured_content.filter(|_| nothing) {
        parts.text(&value.to_string()).await;
    }
    parts.output(is_error, structured).await
}

/// What a resource holds.
pub(super) async fn of_resource(result: ReadResourceResult, limits: &Limits, cx: &ToolCx) -> ToolOutput {
    let mut parts = Parts::new(limits, None, cx);
    for contents in result.contents {
        parts.resource(contents).await;
    }
    parts.output(false, None).await
}

struct Parts<'a> {
    text: Capture,
    any: bool,
    media: Vec<Content>,
    files: usize,
    longest: usize,
    cx: &'a ToolCx,
}

impl<'a> Parts<'a> {
    fn new(limits: &Limits, longest: Option<usize>, cx: &'a ToolCx) -> Self {
        let longest = longest.unwrap_or_else(|| limits.output_chars());
        let text = Capture::new(longest, Self::file(cx, "txt", 0));
        Self { text, any: false, media: Vec::new(), files: 0, longest, cx }
    }

    /// A file of this call in the session's own folder.
    fn file(cx: &ToolCx, kind: &str, number: usize) -> PathBuf {
        // Ids of calls are a provider's, and could be anything.
        let call: String =
            cx.call.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        cx.spool.join(format!("mcp-{call}{number}.{kind}"))
    }

    async fn text(&mut self, text: &str) {
        if self.any {
            self.text.take(Stream::Out, b"\n").await;
        }
        self.any = true;
        self.text.take(Stream::Out, text.as_bytes()).await;
    }

    async fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(&text.text).await,
            ContentBlock::Image(image) => self.data(&image.data, Some(&image.mime_type), "an image").await,
            ContentBlock::Audio(audio) => self.data(&audio.data, Some(&audio.mime_type), "a recording").await,
            ContentBlock::Resource(embedded) => self.resource(embedded.resource).await,
            ContentBlock::ResourceLink(link) => {
                let description = link.description.map(|text| format!(" ({text})")).unwrap_or_default();
                self.text(&format!("[resource {} at {}{description}]", link.name, link.uri)).await;
            }
            _ => self.text("[something posse does not know]").await,
        }
    }

    async fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.text(&format!("[resource {uri}]\n{text}")).await;
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                self.data(&blob, mime_type.as_deref(), &uri).await;
            }
            _ => self.text("[a resource posse does not know]").await,
        }
    }

    /// Bytes: an image that a model can be shown is shown, anything else becomes a file.
    async fn data(&mut self, base64: &str, mime: Option<&str>, what: &str) {
        let Ok(bytes) = STANDARD.decode(base64.trim()) else {
            return self.text(&format!("[{what}, which is damaged and cannot be shown]")).await;
        };
        if mime.is_some_and(|mime| mime.starts_with("image/"))
            && let Ok(media) = builtin::shown_image(&bytes)
        {
            self.media.push(Content::Media(media));
            return;
        }
        self.files += 1;
        let kind = mime.and_then(|mime| mime.rsplit('/').next()).unwrap_or("bin");
        let kind: String = kind.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let path = Self::file(self.cx, if kind.is_empty() { "bin" } else { &kind }, self.files);
        let said = match super::kept::write_private(&path, &bytes) {
            Ok(()) => format!("[{what}, {} bytes, kept in {}]", bytes.len(), path.display()),
            Err(error) => format!("[{what}, {} bytes, which could not be kept: {error}]", bytes.len()),
        };
        self.text(&said).await;
    }

    async fn output(mut self, is_error: bool, structured: Option<Value>) -> ToolOutput {
        let mut content = Vec::new();
        let text = self.text.text().await;
        if !text.is_empty() || self.media.is_empty() {
            content.push(Content::Text(if text.is_empty() { "(no output)".to_owned() } else { text }));
        }
        content.append(&mut self.media);
        // For programs, but not a gigabyte of it.
        let longest = self.longest;
        let structured = structured.filter(|value| value.to_string().len() <= longest);
        ToolOutput { content, is_error, structured }
    }
}
