//! PDFs: whole if they are short, else the pages that are asked for, as a PDF of their own.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lopdf::{Dictionary, Document, LoadOptions, Object, ObjectId};
use posse_core::message::{Content, Media};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::tool::ToolOutput;
use crate::tool::builtin::fs::{self, Answer};
use crate::tool::builtin::view;

/// Pages that are shown without being asked for.
const MAX_UNASKED: usize = 10;
/// Pages shown at once.
const MAX_PAGES: usize = 20;
/// Bytes of what is shown; a request must stay under 32 MB, and base64 and the rest of the conversation need room.
const MAX_SHOWN: usize = 10_000_000;
/// Larger files are not even read.
pub(super) const MAX_READ: u64 = 100_000_000;
/// What a compressed part may grow to: a few bytes can claim to be gigabytes.
const MAX_UNPACKED: usize = 100_000_000;
/// A page tree deeper than this goes in a circle.
const MAX_DEPTH: usize = 64;

/// Whether a file is a PDF; some programs write a few bytes before the mark.
pub(super) fn is_one(head: &[u8]) -> bool {
    head[..head.len().min(1024)].windows(5).any(|window| window == b"%PDF-")
}

/// Shows a PDF or some of its pages.
pub(super) fn read(bytes: &[u8], path: &Path, pages: Option<&str>, stop: &CancellationToken) -> Answer {
    let place = path.display();
    let options = LoadOptions { max_decompressed_size: Some(MAX_UNPACKED), ..LoadOptions::default() };
    let document = Document::load_mem_with_options(bytes, options)
        .map_err(|error| format!("{place} is not a PDF that can be read: {error}."))?;
    if document.trailer.has(b"Encrypt") {
        return Err(format!("{place} is protected by a password and cannot be read."));
    }
    fs::go_on(stop)?;
    let ids: Vec<ObjectId> = document.page_iter().collect();
    if ids.is_empty() {
        return Err(format!("{place} is a PDF without pages."));
    }
    let wanted = match pages {
        Some(pages) => range(pages, ids.len())?,
        None if ids.len() > MAX_UNASKED || bytes.len() > MAX_SHOWN => {
            return Err(format!(
                "{place} has {} and {}, too much to be shown whole. Say which pages to read, for example pages: \"1-5\"; \
                 at most {MAX_PAGES} per call.",
                count(ids.len()),
                view::size(bytes.len() as u64)
            ));
        }
        None => 1..=ids.len(),
    };
    let whole = wanted.clone().count() == ids.len();
    let caption = if whole {
        format!("{place}: {}", count(ids.len()))
    } else {
        format!("{place}: pages {} to {} of {}", wanted.start(), wanted.end(), ids.len())
    };
    // One that opens without a password may still be encrypted, and the API takes no such files.
    let shown = if whole && !document.was_encrypted() {
        Cow::Borrowed(bytes)
    } else {
        let chosen = &ids[wanted.start() - 1..*wanted.end()];
        let part = only(document, &ids, chosen)
            .map_err(|error| format!("The pages of {place} could not be taken out: {error}."))?;
        Cow::Owned(part)
    };
    if shown.len() > MAX_SHOWN {
        return Err(format!(
            "These pages of {place} come to {}; at most {} can be shown. Ask for fewer pages.",
            view::size(shown.len() as u64),
            view::size(MAX_SHOWN as u64)
        ));
    }
    let data = STANDARD.encode(shown);
    let structured = json!({
        "type": "pdf",
        "file": {
            "filePath": place.to_string(),
            "base64": data,
            "originalSize": bytes.len(),
            "totalPages": ids.len(),
            "firstPage": wanted.start(),
            "lastPage": wanted.end(),
        },
    });
    let media = Media { media_type: "application/pdf".into(), data };
    let content = vec![Content::Text(caption), Content::Media(media)];
    Ok(ToolOutput { content, is_error: false, structured: Some(structured) })
}

fn count(pages: usize) -> String {
    if pages == 1 { "1 page".to_owned() } else { format!("{pages} pages") }
}

/// Reads `3`, `1-5` or `7-` (to the end).
fn range(pages: &str, total: usize) -> Result<RangeInclusive<usize>, String> {
    let wrong = || format!("pages is {pages:?}; write a page (\"3\") or a range (\"1-5\").");
    let number =
        |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number > 0).ok_or_else(wrong);
    let (first, last) = match pages.split_once('-') {
        None => (number(pages)?, number(pages)?),
        Some((first, last)) if last.trim().is_empty() => (number(first)?, total.max(number(first)?)),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if last < first {
        return Err(wrong());
    }
    if first > total {
        return Err(format!("There is no page {first}: the document has {}.", count(total)));
    }
    let last = last.min(total);
    if last - first >= MAX_PAGES {
        return Err(format!("pages {pages:?} is too many; at most {MAX_PAGES} pages are read per call."));
    }
    Ok(first..=last)
}

/// The document reduced to some of its pages. lopdf can delete pages, but walks the whole document for each of them and
/// compares everything with everything: twice the pages take seven times as long, and 800 took five seconds.
fn only(mut document: Document, all: &[ObjectId], chosen: &[ObjectId]) -> lopdf::Result<Vec<u8>> {
    let tree = document.new_object_id();
    let root = document.new_object_id();
    for page in chosen {
        let inherited = inherited(&document, *page);
        let page = document.get_dictionary_mut(*page)?;
        for (key, value) in inherited {
            page.set(key, value);
        }
        page.set("Parent", Object::Reference(tree));
    }
    let kids: Vec<Object> = chosen.iter().map(|page| Object::Reference(*page)).collect();
    let mut catalog = Dictionary::new();
    catalog.set("Type", Object::Name(b"Catalog".to_vec()));
    catalog.set("Pages", Object::Reference(tree));
    // Which layers are visible is part of how a page looks; outlines, forms and scripts are not.
    if let Ok(layers) = document.catalog().and_then(|old| old.get(b"OCProperties")) {
        catalog.set("OCProperties", layers.clone());
    }
    let mut pages = Dictionary::new();
    pages.set("Type", Object::Name(b"Pages".to_vec()));
    pages.set("Count", i64::try_from(kids.len()).unwrap_or_default());
    pages.set("Kids", kids);
    document.objects.insert(tree, Object::Dictionary(pages));
    document.objects.insert(root, Object::Dictionary(catalog));
    document.trailer = Dictionary::new();
    document.trailer.set("Root", Object::Reference(root));
    let kept = reachable(&document, root, all, chosen);
    document.objects.retain(|id, _| kept.contains(id));
    let mut bytes = Vec::new();
    document.save_to(&mut bytes)?;
    Ok(bytes)
}

/// What a page has from the nodes above it.
fn inherited(document: &Document, page: ObjectId) -> Vec<(&'static str, Object)> {
    let mut found: Vec<(&'static str, Object)> = Vec::new();
    let mut missing = vec!["Resources", "MediaBox", "CropBox", "Rotate"];
    let mut node = document.get_dictionary(page).ok();
    for level in 0..MAX_DEPTH {
        let Some(dictionary) = node else { break };
        missing.retain(|key| match dictionary.get(key.as_bytes()) {
            Ok(value) if level > 0 => {
                found.push((key, value.clone()));
                false
            }
            other => other.is_err(),
        });
        node = dictionary
            .get(b"Parent")
            .and_then(Object::as_reference)
            .and_then(|id| document.get_dictionary(id))
            .ok();
    }
    found
}

/// Everything that is needed from the root on. Links to the other pages lead nowhere, or they would bring them along.
fn reachable(
    document: &Document,
    root: ObjectId,
    all: &[ObjectId],
    chosen: &[ObjectId],
) -> HashSet<ObjectId> {
    let mut left_out: HashSet<ObjectId> = all.iter().copied().collect();
    for page in chosen {
        left_out.remove(page);
    }
    let mut kept = HashSet::from([root]);
    let mut open: Vec<&Object> = document.objects.get(&root).into_iter().collect();
    while let Some(object) = open.pop() {
        match object {
            Object::Reference(id) => {
                if !left_out.contains(id)
                    && kept.insert(*id)
                    && let Some(object) = document.objects.get(id)
                {
                    open.push(object);
                }
            }
            Object::Array(items) => open.extend(items),
            Object::Dictionary(entries) => open.extend(entries.iter().map(|(_, value)| value)),
            Object::Stream(stream) => open.extend(stream.dict.iter().map(|(_, value)| value)),
            Object::Null
            | Object::Boolean(_)
            | Object::Integer(_)
            | Object::Real(_)
            | Object::Name(_)
            | Object::String(..) => {}
        }
    }
    kept
}
