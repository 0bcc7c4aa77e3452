//! Images and PDFs, made here byte by byte.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lopdf::content::{Content as Drawing, Operation};
use lopdf::{Document, EncryptionState, EncryptionVersion, Object, Permissions, Stream, dictionary};
use posse_core::message::Content;
use serde_json::json;

use crate::tool::ToolOutput;
use crate::tool::builtin::trial::{Trial, text};

/// A PNG of one pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0, 1,
    0, 0, 5, 0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

pub(super) fn png_base64() -> String {
    STANDARD.encode(PNG)
}

/// The media of an answer, decoded.
fn media(output: &ToolOutput) -> (String, Vec<u8>) {
    let media = output.content.iter().find_map(|content| match content {
        Content::Media(media) => Some((media.media_type.to_string(), STANDARD.decode(&media.data).unwrap())),
        Content::Text(_) => None,
    });
    media.unwrap_or_else(|| panic!("no media: {}", text(output)))
}

fn png(width: u32, height: u32, size: usize) -> Vec<u8> {
    let mut bytes = PNG.to_vec();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    bytes.resize(size.max(bytes.len()), 0);
    bytes
}

#[tokio::test]
async fn images_are_shown_as_what_they_are() {
    let jpeg =
        b"\xff\xd8\xff\xe0\0\x04JF\xff\xff\xc4\0\x02\xff\xc2\0\x0b\x08\0\x02\0\x03\x01\0\0\0\xff\xda\0\0";
    let gif = b"GIF89a\x03\0\x02\0\0\0\0;";
    let lossy = b"RIFF\x1a\0\0\0WEBPVP8 \x0e\0\0\0\0\0\0\x9d\x01\x2a\x03\0\x02\x40\0\0";
    let lossless = b"RIFF\x1a\0\0\0WEBPVP8L\x0e\0\0\0\x2f\x02\x40\0\0\0\0";
    let extended = b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x01\0\0";
    for (name, bytes, media_type, width, height) in [
        ("a.png", PNG, "image/png", 1, 1),
        ("a.jpg", jpeg.as_slice(), "image/jpeg", 3, 2),
        ("a.JPEG", jpeg, "image/jpeg", 3, 2),
        ("a.gif", gif, "image/gif", 3, 2),
        ("a.webp", lossy, "image/webp", 3, 2),
        ("b.webp", lossless, "image/webp", 3, 2),
        ("c.webp", extended, "image/webp", 3, 2),
        // The name is wrong, or says nothing.
        ("b.png", jpeg, "image/jpeg", 3, 2),
        ("noname", PNG, "image/png", 1, 1),
    ] {
        let trial = Trial::new();
        trial.put(name, bytes);
        let output = trial.call("Read", json!({ "file_path": name })).await;
        assert_eq!(media(&output), (media_type.to_owned(), bytes.to_vec()), "{name}");
        assert_eq!(
            output.structured.unwrap(),
            json!({
                "type": "image",
                "file": {
                    "base64": STANDARD.encode(bytes), "type": media_type, "originalSize": bytes.len(),
                    "dimensions": { "originalWidth": width, "originalHeight": height },
                },
            })
        );
    }
}

#[tokio::test]
async fn images_the_api_would_refuse_are_not_shown() {
    let most = 5 * 1024 * 1024 / 4 * 3;
    let trial = Trial::new();
    for (bytes, want) in [
        (png(1, 1, most), Ok(())),
        (png(1, 1, most + 1), Err("is an image of 3.94 MB; at most 3.93 MB can be shown (5 MiB as base64).")),
        (png(8000, 8000, 0), Ok(())),
        (png(8001, 1, 0), Err("is 8001 by 1 pixels; images may be at most 8000 pixels wide and high.")),
        (png(1, 9000, 0), Err("is 1 by 9000 pixels")),
        (png(0, 1, 0), Err("is a damaged image")),
        (PNG[..20].to_vec(), Err("is a damaged image")),
        (b"\xff\xd8\xff\xda\0\0".to_vec(), Err("is a damaged image")),
    ] {
        trial.put("a.png", &bytes);
        let output = trial.call("Read", json!({ "file_path": "a.png" })).await;
        match want {
            Ok(()) => assert_eq!(media(&output).1, bytes),
            Err(want) => assert!(output.is_error && text(&output).contains(want), "{}", text(&output)),
        }
    }
}

#[tokio::test]
async fn an_image_by_name_only_is_text() {
    let trial = Trial::new();
    trial.put("a.png", "version https://git-lfs.github.com/spec/v1\n");
    let text = trial.say("Read", json!({ "file_path": "a.png" })).await;
    assert_eq!(text, "     1\tversion https://git-lfs.github.com/spec/v1");
    trial.put("a.txt", "GIF89a is a signature\n");
    assert_eq!(trial.say("Read", json!({ "file_path": "a.txt" })).await, "     1\tGIF89a is a signature");
}

/// A document whose pages say "page 1", "page 2" and so on, take what they share from nodes above them, and link to the
/// last page.
fn pdf(count: usize) -> Document {
    let mut document = Document::with_version("1.5");
    let (root, half) = (document.new_object_id(), document.new_object_id());
    let font =
        document.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier" });
    let mut pages = Vec::new();
    for number in 1..=count {
        let operations = vec![
            Operation::new("BT", vec![]),
            Operation::new("Tf", vec!["F1".into(), 12.into()]),
            Operation::new("Tj", vec![Object::string_literal(format!("page {number}"))]),
            Operation::new("ET", vec![]),
        ];
        let content = Stream::new(dictionary! {}, Drawing { operations }.encode().unwrap());
        let content = document.add_object(content);
        // The first half hangs deeper in the tree.
        let parent = if number <= count / 2 { half } else { root };
        pages.push(
            document.add_object(dictionary! { "Type" => "Page", "Parent" => parent, "Contents" => content }),
        );
    }
    let last = *pages.last().unwrap();
    for page in &pages {
        let link = document.add_object(dictionary! {
            "Type" => "Annot", "Subtype" => "Link", "Rect" => vec![0.into(), 0.into(), 9.into(), 9.into()],
            "Dest" => vec![Object::Reference(last), "Fit".into()],
        });
        document.get_dictionary_mut(*page).unwrap().set("Annots", vec![Object::Reference(link)]);
    }
    let kids = |pages: &[lopdf::ObjectId]| pages.iter().map(|id| Object::Reference(*id)).collect::<Vec<_>>();
    let number = |count: usize| Object::Integer(count.try_into().unwrap());
    let (below, beside) = pages.split_at(count / 2);
    document.objects.insert(
        half,
        Object::Dictionary(dictionary! {
            "Type" => "Pages", "Parent" => root, "Kids" => kids(below), "Count" => number(below.len()), "Rotate" => 90,
        }),
    );
    let mut all = vec![Object::Reference(half)];
    all.extend(kids(beside));
    document.objects.insert(
        root,
        Object::Dictionary(dictionary! {
            "Type" => "Pages", "Kids" => all, "Count" => number(count),
            "MediaBox" => vec![0.into(), 0.into(), 300.into(), 400.into()],
            "Resources" => dictionary! { "Font" => dictionary! { "F1" => font } },
        }),
    );
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => root });
    document.trailer.set("Root", catalog);
    let id = Object::string_literal("0123456789abcdef");
    document.trailer.set("ID", vec![id.clone(), id]);
    document
}

fn saved(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_short_pdf_is_shown_whole() {
    let trial = Trial::new();
    let bytes = saved(pdf(10));
    let path = trial.put("a.pdf", &bytes);
    for input in [json!({ "file_path": "a.pdf" }), json!({ "file_path": "a.pdf", "pages": "1-10" })] {
        let output = trial.call("Read", input).await;
        assert_eq!(media(&output), ("application/pdf".to_owned(), bytes.clone()));
        assert_eq!(text(&output), format!("{}: 10 pages\n[application/pdf]", path.display()));
        let file = json!({
            "filePath": path, "base64": STANDARD.encode(&bytes), "originalSize": bytes.len(),
            "totalPages": 10, "firstPage": 1, "lastPage": 10,
        });
        assert_eq!(output.structured.unwrap(), json!({ "type": "pdf", "file": file }));
    }
}

#[tokio::test]
async fn pages_become_a_pdf_of_their_own() {
    let trial = Trial::new();
    let whole = saved(pdf(30));
    trial.put("a.pdf", &whole);
    for (pages, numbers) in [
        (json!("3"), 3..=3),
        (json!(3), 3..=3),
        (json!("14-17"), 14..=17),
        (json!(" 1 - 20 "), 1..=20),
        (json!("29-40"), 29..=30),
        (json!("28-"), 28..=30),
    ] {
        let output = trial.call("Read", json!({ "file_path": "a.pdf", "pages": pages })).await;
        let bytes = media(&output).1;
        let part = Document::load_mem(&bytes).unwrap();
        let ids = part.get_pages();
        assert_eq!(ids.len(), numbers.clone().count(), "{pages}");
        for ((place, id), number) in ids.iter().zip(numbers.clone()) {
            assert_eq!(part.extract_text(&[*place]).unwrap().trim(), format!("page {number}"));
            let page = part.get_dictionary(*id).unwrap();
            assert_eq!(page.get(b"MediaBox").unwrap().as_array().unwrap().len(), 4);
            // Only the deeper half is turned.
            assert_eq!(page.get(b"Rotate").is_ok(), number <= 15, "{number}");
        }
        // Nothing of the other pages, though the links point to the last.
        let drawings = part.objects.values().filter_map(|object| object.as_stream().ok());
        let drawings = drawings.filter(|stream| stream.content.windows(5).any(|bytes| bytes == b"page "));
        assert_eq!(drawings.count(), numbers.clone().count());
        let words = text(&output);
        let want = format!("pages {} to {} of 30", numbers.start(), numbers.end());
        assert!(words.contains(&want), "{words}");
    }
}

#[tokio::test]
async fn pages_that_cannot_be_had_are_explained() {
    let trial = Trial::new();
    trial.put("a.pdf", saved(pdf(30)));
    trial.put("broken.pdf", b"%PDF-1.5\n\0nothing else");
    trial.put("text.pdf", "just text\n");
    for (path, pages, want) in [
        ("a.pdf", "", "has 30 pages and "),
        ("a.pdf", "", "Say which pages to read, for example pages: \"1-5\"; at most 20 per call."),
        ("a.pdf", "1-21", "pages \"1-21\" is too many; at most 20 pages are read per call."),
        ("a.pdf", "1-", "is too many"),
        ("a.pdf", "31", "There is no page 31: the document has 30 pages."),
        ("a.pdf", "31-", "There is no page 31"),
        ("a.pdf", "5-3", "pages is \"5-3\"; write a page (\"3\") or a range (\"1-5\")."),
        ("a.pdf", "0", "write a page"),
        ("a.pdf", "1,2", "write a page"),
        ("a.pdf", "all", "write a page"),
        ("broken.pdf", "", "is not a PDF that can be read"),
    ] {
        let text = trial.say("Read", json!({ "file_path": path, "pages": pages })).await;
        assert!(text.starts_with("error: ") && text.contains(want), "{path} {pages}: {text}");
    }
    assert_eq!(trial.say("Read", json!({ "file_path": "text.pdf" })).await, "     1\tjust text");
}

#[tokio::test]
async fn a_protected_pdf_is_refused_unless_it_opens_without_a_password() {
    let trial = Trial::new();
    for user_password in ["secret", ""] {
        let mut document = pdf(2);
        let version = EncryptionVersion::V2 {
            document: &document,
            owner_password: "owner",
            user_password,
            key_length: 128,
            permissions: Permissions::all(),
        };
        let state = EncryptionState::try_from(version).unwrap();
        document.encrypt(&state).unwrap();
        trial.put("a.pdf", saved(document));
        let output = trial.call("Read", json!({ "file_path": "a.pdf" })).await;
        if user_password.is_empty() {
            let shown = Document::load_mem(&media(&output).1).unwrap();
            assert!(!shown.is_encrypted() && !shown.was_encrypted());
            assert_eq!(shown.extract_text(&[2]).unwrap().trim(), "page 2");
        } else {
            assert!(
                text(&output).ends_with("is protected by a password and cannot be read."),
                "{}",
                text(&output)
            );
        }
    }
}

#[tokio::test]
async fn a_book_is_cut_in_no_time() {
    let trial = Trial::new();
    trial.put("book.pdf", saved(pdf(3000)));
    let output = trial.call("Read", json!({ "file_path": "book.pdf", "pages": "2999-3000" })).await;
    let part = Document::load_mem(&media(&output).1).unwrap();
    assert_eq!(part.extract_text(&[1]).unwrap().trim(), "page 2999");
}
