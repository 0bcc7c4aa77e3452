use std::sync::Arc;

use posse_core::event::Fact;
use posse_core::message::{Block, Content, Media, Message, Role};
use serde_json::{Value, json};

use super::super::{EntryWriter, read};
use super::{blocks, file, folder};
use crate::world::World;

fn text(content: &str, first: u64, total: u64) -> Value {
    let file = json!({ "filePath": "/p/a", "content": content, "startLine": first, "totalLines": total });
    json!({ "type": "text", "file": file })
}

fn picture() -> Value {
    json!({ "type": "image", "file": { "base64": "AA==", "type": "image/png", "originalSize": 1 } })
}

fn attachments() -> Vec<Value> {
    let shown = [
        Content::Text("2 pages".into()),
        Content::Media(Media { media_type: "application/pdf".into(), data: "AA==".into() }),
    ];
    vec![
        file("/p/a", "a", &text("one\ntwo", 3, 9), &[Content::Text("ignored".into())]),
        file("/p/b", "b", &text("", 1, 0), &[]),
        file("/p/c.png", "c.png", &picture(), &[]),
        file("/p/d.pdf", "d.pdf", &json!({ "type": "pdf" }), &shown),
        folder("/p/e", "e", "f\ng/"),
    ]
}

#[test]
fn a_model_reads_files_with_their_names() {
    let shown: Vec<String> = attachments()
        .iter()
        .flat_map(blocks)
        .map(|block| match block {
            Block::Text(text) => {
                text.replace("<system-reminder>\n", "").replace("\n</system-reminder>", "").replace('\n', "|")
            }
            other => format!("{other:?}").split(' ').next().unwrap_or_default().to_owned(),
        })
        .collect();
    let want = [
        "The user mentions a. It was read:|     3\tone|     4\ttwo|(lines 3 to 4 of 9; Read shows the others)",
        "The user mentions b. It was read:|(the file is empty)",
        "The user mentions c.png. It was read:",
        "Media(Media",
        "The user mentions d.pdf. It was read:|2 pages",
        "Media(Media",
        "The user mentions the folder e. It holds:|f|g/",
    ];
    assert_eq!(shown, want);
}

#[test]
fn what_others_attach_is_no_file() {
    for attachment in [
        json!({ "type": "todo_reminder", "content": [] }),
        json!({ "type": "file", "filename": "/a" }),
        json!({ "type": "file", "filename": "/a", "content": { "type": "text" } }),
        json!(null),
        json!("file"),
    ] {
        assert_eq!(blocks(&attachment), [], "{attachment}");
    }
}

#[test]
fn a_prompt_with_files_is_read_back_as_it_was() {
    let world = World::default();
    let mut writer = EntryWriter::new("s", "/p", "", "cli", None);
    let attachments = attachments();
    let mut message = Message::user("see @a");
    message.blocks.extend(attachments.iter().flat_map(blocks));
    writer.attach_next(attachments);
    let (mut entries, ids) = writer.entries(&Fact::Said(Arc::new(message.clone())), &world);
    assert_eq!((ids.len(), entries.len()), (1, 6));
    assert_eq!(entries[0]["message"]["content"], "see @a");
    for pair in entries.windows(2) {
        assert_eq!(pair[0]["uuid"], pair[1]["parentUuid"]);
        assert_eq!((&pair[1]["type"], &pair[1]["sessionId"]), (&json!("attachment"), &json!("s")));
    }
    let (more, _) = writer.entries(&Fact::Said(Arc::new(Message::user("more"))), &world);
    assert_eq!(more[0]["parentUuid"], entries[5]["uuid"]);
    let lines = |entries: &[Value]| entries.iter().map(|entry| format!("{entry}\n")).collect::<String>();
    assert_eq!(read::parse(&lines(&entries), None).messages, [message.clone()]);
    entries.extend(more);
    message.blocks.push(Block::Text("more".into()));
    assert_eq!(read::parse(&lines(&entries), None).messages, [Message { role: Role::User, ..message }]);
}
