use posse_core::event::Outcome;
use posse_core::message::{Block, Message, Reply, Role, StopReason, ToolAnswer, ToolCall, Usage};
use serde_json::json;

use super::*;
use crate::world::{Clock, Ids};

fn world() -> World {
    World {
        clock: Clock::fixed("2026-01-02T03:04:05.678Z".parse().unwrap()),
        ids: Arc::new(Ids::seeded(1)),
        ..World::default()
    }
}

fn writer() -> EntryWriter {
    EntryWriter::new("s-1", "/p", "main", "cli", None)
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "Read".into(), input: json!({ "file_path": id }) }
}

/// A turn with two parallel calls, answered the other way round.
fn facts() -> Vec<Fact> {
    let reply = |id: &str, blocks| {
        let (id, model) = (id.into(), "m".into());
        Fact::Replied(Arc::new(Reply {
            id,
            model,
            blocks,
            stop: StopReason::ToolUse,
            usage: Usage::default(),
        }))
    };
    let answered = |id: &str| Fact::Answered {
        call: call(id),
        answer: Arc::new(ToolAnswer::text(id, format!("got {id}"))),
    };
    vec![
        Fact::Said(Arc::new(Message::user("hello"))),
        reply(
            "m1",
            vec![Block::Text("looking".into()), Block::ToolUse(call("a")), Block::ToolUse(call("b"))],
        ),
        answered("b"),
        answered("a"),
        reply("m2", vec![Block::Text("done".into())]),
        Fact::Finished(Outcome::Answer { text: "done".into(), structured: None }),
    ]
}

fn written(facts: &[Fact]) -> String {
    let world = world();
    let mut writer = writer();
    let entries = facts.iter().flat_map(|fact| writer.entries(fact, &world).0);
    entries.map(|entry| format!("{entry}\n")).collect()
}

fn shape(messages: &[Message]) -> String {
    let block = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::ToolUse(call) => format!("{}?", call.id),
        Block::ToolResult(answer) => format!("{}{}", answer.id, if answer.is_error { "!" } else { "=" }),
        other => format!("{other:?}"),
    };
    let line = |message: &Message| {
        let who = if message.role == Role::User { "user" } else { "model" };
        format!("{who}: {}", message.blocks.iter().map(block).collect::<Vec<_>>().join(" "))
    };
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn entries_have_the_fields_readers_expect() {
    let text = written(&facts());
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        first,
        json!({
            "parentUuid": null, "isSidechain": false, "type": "user",
            "message": { "role": "user", "content": "hello" },
            "uuid": first["uuid"], "timestamp": "2026-01-02T03:04:05.678Z", "userType": "external", "entrypoint": "cli",
            "cwd": "/p", "sessionId": "s-1", "version": entries::VERSION, "gitBranch": "main",
        })
    );
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // One entry per block, chained; each answer hangs from its own call.
    assert_eq!(all.len(), 7);
    assert_eq!(all[2]["parentUuid"], all[1]["uuid"]);
    assert_eq!(
        (&all[4]["parentUuid"], &all[4]["sourceToolAssistantUUID"]),
        (&all[3]["uuid"], &all[3]["uuid"])
    );
    assert_eq!(all[5]["parentUuid"], all[2]["uuid"]);
    assert_eq!(all[4]["toolUseResult"], "got b");
}

#[test]
fn a_transcript_reads_back_as_the_conversation() {
    let history = read::parse(&written(&facts()), None);
    assert_eq!(shape(&history.messages), "user: hello\nmodel: looking a? b?\nuser: a= b=\nmodel: done");
    assert_eq!((history.unreadable, history.model.as_deref()), (0, Some("m")));
}

#[test]
fn cut_at_any_byte_it_still_reads_and_can_go_on() {
    let text = written(&facts());
    for cut in 0..text.len() {
        if !text.is_char_boundary(cut) {
            continue;
        }
        let history = read::parse(&text[..cut], None);
        assert!(history.unreadable <= 1, "at {cut}");
        for (i, message) in history.messages.iter().enumerate() {
            let asked = message.calls().count();
            if message.role == Role::Assistant && asked > 0 {
                let answers = &history.messages[i + 1].blocks;
                assert_eq!(
                    answers.iter().filter(|block| matches!(block, Block::ToolResult(_))).count(),
                    asked,
                    "at {cut}"
                );
            }
        }
    }
}

#[test]
fn appending_after_a_torn_line_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/s.jsonl");
    let world = world();
    let mut transcript = Transcript::open(Some(&path), writer()).unwrap();
    transcript.record(&facts()[0], &world).unwrap();
    drop(transcript);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"type\":\"assist");
    std::fs::write(&path, &text).unwrap();
    let before = load(&path, None).unwrap();
    assert_eq!(before.unreadable, 1);
    let mut transcript =
        Transcript::open(Some(&path), EntryWriter::new("s-1", "/p", "", "cli", before.last.clone())).unwrap();
    transcript.record(&Fact::Said(Arc::new(Message::user("again"))), &world).unwrap();
    let after = load(&path, None).unwrap();
    assert_eq!(shape(&after.messages), "user: hello again");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_compaction_replaces_what_came_before() {
    let mut all = facts();
    all.push(Fact::Compacted {
        trigger: posse_core::event::Trigger::Auto,
        before: 100,
        summary: "we looked".into(),
    });
    all.push(Fact::Said(Arc::new(Message::user("go on"))));
    let history = read::parse(&written(&all), None);
    let text = shape(&history.messages);
    assert!(
        text.starts_with("user: This conversation continues")
            && text.contains("we looked")
            && text.ends_with("go on"),
        "{text}"
    );
    assert!(!text.contains("hello"));
}

#[test]
fn a_session_can_be_taken_up_at_an_earlier_entry() {
    let text = written(&facts());
    let ids: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["uuid"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(shape(&read::parse(&text, Some(&ids[0])).messages), "user: hello");
    assert!(read::parse(&text, Some("nobody")).messages.is_empty());
}

#[test]
fn keys_are_those_the_readers_compute() {
    assert_eq!(project_key(Path::new("/home/me/my_project.x")), "-home-me-my-project-x");
    let long = format!("/{}", "a".repeat(300));
    let key = project_key(Path::new(&long));
    assert_eq!(key.len(), 200 + 1 + key.rsplit('-').next().unwrap().len());
    assert!(key.starts_with("-aaa"));
}

#[test]
fn sessions_are_listed_newest_first_and_found_by_id_or_title() {
    let folder = tempfile::tempdir().unwrap();
    let (config, cwd) = (folder.path().join("config"), folder.path());
    for (id, prompt, age) in [("one", "first question", 100), ("two", "second question", 50)] {
        let path = session_file(&config, cwd, id);
        let mut transcript =
            Transcript::open(Some(&path), EntryWriter::new(id, "/p", "", "cli", None)).unwrap();
        transcript.record(&Fact::Said(Arc::new(Message::user(prompt))), &world()).unwrap();
        let time = SystemTimeBefore(age).time();
        File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    let titles: Vec<String> = list(&config, cwd).into_iter().map(|found| found.title).collect();
    assert_eq!(titles, ["second question", "first question"]);
    assert_eq!(find(&config, cwd, "one").unwrap().id, "one");
    assert_eq!(find(&config, cwd, "second question").unwrap().id, "two");
    assert!(matches!(find(&config, cwd, "three"), Err(SessionError::NotFound(_))));
}

/// So many seconds before a fixed moment.
struct SystemTimeBefore(u64);

impl SystemTimeBefore {
    fn time(&self) -> std::time::SystemTime {
        std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 - self.0)
    }
}

#[test]
fn what_a_summary_replaced_is_still_part_of_the_whole() {
    let said = |text: &str| Fact::Said(Arc::new(Message::user(text)));
    let compacted =
        || Fact::Compacted { trigger: posse_core::event::Trigger::Auto, before: 9, summary: "so far".into() };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let facts = [facts(), vec![compacted(), said("two"), compacted(), said("three")]].concat();
    std::fs::write(&file, written(&facts)).unwrap();
    let texts: Vec<String> = whole(&file)
        .unwrap()
        .iter()
        .filter_map(|entry| entry.pointer("/message/content")?.as_str().map(str::to_owned))
        .filter(|text| !text.contains("so far"))
        .collect();
    assert_eq!(texts, ["hello", "two", "three"]);
    assert_eq!(load(&file, None).unwrap().messages.len(), 1, "what goes on begins with the last summary");
    // A boundary that leads back to itself is no reason to read for ever.
    let circle = json!({
        "type": "system", "uuid": "b", "parentUuid": null, "subtype": "compact_boundary", "logicalParentUuid": "b",
    });
    std::fs::write(&file, format!("{circle}\n")).unwrap();
    assert!(whole(&file).unwrap().len() <= 2);
}

#[test]
fn conversations_are_listed_in_parts_with_where_they_were_held() {
    let folder = tempfile::tempdir().unwrap();
    let write = |cwd: &str, id: &str, age: u64| {
        let file = session_file(folder.path(), Path::new(cwd), id);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let entry = json!({ "type": "user", "cwd": cwd, "message": { "role": "user", "content": id } });
        std::fs::write(&file, format!("{{}}\n{entry}\n")).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
        File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    };
    for (cwd, id, age) in [("/a", "a1", 3), ("/b", "b1", 2), ("/a", "a2", 1)] {
        write(cwd, id, age);
    }
    let told = |cwd: Option<&str>, from, most| {
        let Page { sessions, more } = page(folder.path(), cwd.map(Path::new), from, most);
        let one = |(cwd, found): &(PathBuf, Found)| format!("{}:{}", cwd.display(), found.id);
        (sessions.iter().map(one).collect::<Vec<_>>().join(" "), more)
    };
    let cases = [
        (None, 0, 9, ("/a:a2 /b:b1 /a:a1", false)),
        (None, 0, 2, ("/a:a2 /b:b1", true)),
        (None, 2, 2, ("/a:a1", false)),
        (None, usize::MAX, 2, ("", false)),
        (Some("/a"), 0, 9, ("/a:a2 /a:a1", false)),
        (Some("/c"), 0, 9, ("", false)),
    ];
    for (cwd, from, most, (expected, more)) in cases {
        assert_eq!(told(cwd, from, most), (expected.to_owned(), more), "{cwd:?} {from} {most}");
    }
}
