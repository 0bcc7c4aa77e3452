//! Servers that others wrote, over every transport.
//!
//! `cargo xtask test` installs them and says where in `POSSE_TEST_MCP`; run without it, these tests say that they were
//! skipped.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::Mutex;

use posse_core::mcp::Transport;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::ask::{Ask, QuestionAnswer};
use crate::world::process::{self, Tree};

/// The program of a server; `None` where nobody installed it.
#[allow(clippy::disallowed_methods)] // The test command hands the place over in the environment.
fn program(server: &str) -> Option<String> {
    let Ok(folder) = std::env::var("POSSE_TEST_MCP") else {
        let _ = writeln!(std::io::stderr(), "skipped: POSSE_TEST_MCP is not set; `cargo xtask test` sets it");
        return None;
    };
    Some(format!("{folder}/node_modules/@modelcontextprotocol/server-{server}/dist/index.js"))
}

fn node(args: &[&str]) -> McpConfig {
    let args = args.iter().map(|arg| Box::from(*arg)).collect();
    McpConfig::new(Reach::Stdio { command: "node".into(), args, env: Vec::new(), cwd: None })
}

/// The server that has everything, at an address.
struct Remote {
    tree: Tree,
    url: String,
    _reader: JoinSet<()>,
}

impl Remote {
    async fn start(rig: &Rig, program: &str, kind: &str, path: &str) -> Self {
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let mut node = process::Program::new(std::path::Path::new(""), "node", "node", rig.path());
        let command = node.command();
        command.args([program, kind]).env_clear().envs(rig.world.env.iter()).env("PORT", port.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut tree = Tree::start(node, process::Input::None, &rig.world.ids.uuid()).expect("node");
        let mut lines = BufReader::new(tree.stderr().expect("a pipe")).lines();
        while let Some(line) = lines.next_line().await.expect("a line") {
            if line.contains(&port.to_string()) {
                break;
            }
        }
        let mut reader = JoinSet::new();
        // Somebody has to read what it goes on saying.
        reader.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { tree, url: format!("http://127.0.0.1:{port}{path}"), _reader: reader }
    }
}

/// A server of the rig that is reached like this, with everything it needs.
async fn everything(way: &str) -> Option<(Rig, Servers, Arc<Lease>, Option<Remote>)> {
    let program = program("everything")?;
    let rig = Rig::new();
    let (config, remote) = match way {
        "stdio" => (node(&[&program, "stdio"]), None),
        _ => {
            let (kind, path, transport) = match way {
                "http" => ("streamableHttp", "/mcp", Transport::Http),
                _ => ("sse", "/sse", Transport::Sse),
            };
            let remote = Remote::start(&rig, &program, kind, path).await;
            let url = remote.url.as_str().into();
            (McpConfig::new(Reach::Remote { transport, url, headers: Vec::new() }), Some(remote))
        }
    };
    let servers = rig.servers(vec![configured("everything", config)]);
    let lease = Arc::new(servers.lease("everything", MAIN).expect("a lease"));
    Some((rig, servers, lease, remote))
}

async fn exercise(way: &str) {
    let Some((rig, servers, lease, remote)) = everything(way).await else { return };
    let cx = rig.cx();
    let facts = lease.facts().await.unwrap_or_else(|error| panic!("{way}: {error}"));
    assert!(facts.resources && facts.prompts && facts.left_out.is_empty(), "{way}: {facts:?}");
    let inputs: BTreeMap<&str, (Value, &str)> = BTreeMap::from([
        ("echo", (json!({"message": "hello"}), "hello")),
        ("get-sum", (json!({"a": 2, "b": 3}), "5")),
        ("get-env", (json!({}), "PATH")),
        ("get-tiny-image", (json!({}), "image")),
        ("get-annotated-message", (json!({"messageType": "error"}), "Error")),
        ("get-structured-content", (json!({"location": "Chicago"}), "temperature")),
        ("get-resource-links", (json!({"count": 2}), "[resource ")),
        ("get-resource-reference", (json!({"resourceType": "Text", "resourceId": 1}), "[resource ")),
        ("get-roots-list", (json!({}), "")),
        ("toggle-simulated-logging", (json!({}), "")),
        ("toggle-subscriber-updates", (json!({}), "")),
        ("trigger-long-running-operation", (json!({"duration": 0.05, "steps": 2}), "completed")),
        ("trigger-elicitation-request", (json!({}), "declined")),
    ]);
    for tool in tools_of(&lease, &facts) {
        // Every tool answers, also those this list does not know.
        let known = inputs.get(tool.fact().name.as_str());
        let (input, want) = known.cloned().unwrap_or((json!({}), ""));
        let output = tool.run(input, &cx).await;
        let said = text(&output);
        assert!(!said.is_empty(), "{way} {}: {output:?}", tool.name());
        if known.is_some() {
            assert!(!output.is_error, "{way} {}: {said}", tool.name());
            assert!(said.to_lowercase().contains(&want.to_lowercase()), "{way} {}: {said}", tool.name());
        }
    }
    let image = call(&lease, "get-tiny-image", json!({}), &cx).await;
    assert!(image.content.iter().any(|part| matches!(part, Content::Media(_))), "{way}: an image is shown");
    progress_and_stop(&lease, way).await;
    resources_and_prompts(&lease, &cx, way).await;
    servers.shutdown().await;
    if let Some(mut remote) = remote {
        remote.tree.kill(Duration::from_millis(500)).await;
    }
}

async fn progress_and_stop(lease: &Lease, way: &str) {
    let heard = Mutex::new(Vec::new());
    let stop = CancellationToken::new();
    let hear = |progress: Progress| {
        heard.lock().unwrap().push((progress.done, progress.total));
        // Once it is under way, it is stopped: an hour is left.
        if progress.done >= 2.0 {
            stop.cancel();
        }
    };
    let input = json!({"duration": 3600, "steps": 72000});
    let options = CallOptions { stop: stop.clone(), progress: Some(&hear), call: "toolu_2" };
    let input = input.as_object().unwrap().clone();
    let ended = lease.call("trigger-long-running-operation", input, options).await;
    assert_eq!(ended.err(), Some(McpError::Stopped), "{way}");
    assert_eq!(heard.into_inner().unwrap()[..2], [(1.0, Some(72000.0)), (2.0, Some(72000.0))], "{way}");
}

async fn resources_and_prompts(lease: &Arc<Lease>, cx: &ToolCx, way: &str) {
    let leases: Vec<Arc<Lease>> = vec![Arc::clone(lease)];
    let list = ListMcpResources::new(leases.clone());
    let listed = AnyTool::run(&list, json!({}), cx).await;
    let all = listed.structured.unwrap();
    let uri = all[0]["uri"].as_str().unwrap().to_owned();
    assert_eq!(all[0]["server"], "everything", "{way}");
    let read = ReadMcpResource::new(leases.clone());
    let output = AnyTool::run(&read, json!({"server": "everything", "uri": uri}), cx).await;
    assert!(!output.is_error && text(&output).starts_with(&format!("[resource {uri}]")), "{way}: {output:?}");
    let mentioned = read_mention(&leases, &format!("@everything:{uri}"), cx).await.unwrap();
    assert_eq!(text(&mentioned), text(&output), "{way}");
    assert!(read_mention(&leases, "@nobody:x", cx).await.is_none());
    let missing = AnyTool::run(&read, json!({"server": "everything", "uri": "demo://no/such"}), cx).await;
    assert!(missing.is_error, "{way}: {missing:?}");

    let prompts = lease.prompts().await.unwrap();
    let with_arguments =
        prompts.iter().find(|prompt| prompt.arguments.iter().any(|(_, must)| *must)).unwrap();
    let given: Vec<(String, String)> =
        with_arguments.arguments.iter().map(|(name, _)| (name.clone(), "Lyon".to_owned())).collect();
    assert!(lease.prompt(&with_arguments.name, &given).await.unwrap().contains("Lyon"), "{way}");
    let plain = prompts.iter().find(|prompt| prompt.arguments.is_empty()).unwrap();
    assert!(!lease.prompt(&plain.name, &[]).await.unwrap().is_empty(), "{way}");
}

#[tokio::test]
async fn everything_over_stdio() {
    exercise("stdio").await;
}

#[tokio::test]
async fn everything_over_streamable_http() {
    exercise("http").await;
}

#[tokio::test]
async fn everything_over_the_older_event_stream() {
    exercise("sse").await;
}

#[tokio::test]
async fn a_server_s_questions_reach_the_person_and_the_answers_the_server() {
    let Some(program) = program("everything") else { return };
    let mut rig = Rig::new();
    let (desk, mut asks) = Desk::open();
    rig.desk = desk;
    let servers = rig.servers(vec![configured("everything", node(&[&program, "stdio"]))]);
    let lease = Arc::new(servers.lease("everything", MAIN).unwrap());
    let cx = rig.cx();
    let answering = async {
        let Some(Ask::Question(pending)) = asks.next().await else { panic!("a question") };
        let mut answers = BTreeMap::new();
        for question in &pending.ask.questions {
            let said = if question.question.contains("[name]") {
                "Ada Lovelace"
            } else if question.question.contains("[check]") {
                "Yes"
            } else {
                "Leave it"
            };
            answers.insert(question.question.clone(), said.to_owned());
        }
        assert!(pending.ask.questions[0].question.starts_with("everything: Please provide inputs"));
        pending.answer(QuestionAnswer::Answered(answers));
    };
    let (output, ()) = tokio::join!(call(&lease, "trigger-elicitation-request", json!({}), &cx), answering);
    let said = text(&output);
    assert!(said.contains("Ada Lovelace") && said.contains("stormy"), "{said}");
    servers.shutdown().await;
}

#[tokio::test]
async fn the_file_server_s_every_tool() {
    let Some(program) = program("filesystem") else { return };
    let rig = Rig::new();
    let folder = rig.path().canonicalize().unwrap();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let config = node(&[&program, folder.to_str().unwrap()]);
    let servers = rig.servers(vec![configured("files", config)]);
    let lease = Arc::new(servers.lease("files", MAIN).unwrap());
    let cx = rig.cx();
    let steps = [
        ("create_directory", json!({"path": at("d")}), ""),
        ("write_file", json!({"path": at("d/a.txt"), "content": "one\ntwo\n"}), ""),
        ("read_file", json!({"path": at("d/a.txt")}), "one\ntwo"),
        ("read_text_file", json!({"path": at("d/a.txt"), "head": 1}), "one"),
        ("read_multiple_files", json!({"paths": [at("d/a.txt")]}), "two"),
        ("edit_file", json!({"path": at("d/a.txt"), "edits": [{"oldText": "one", "newText": "1"}]}), "+1"),
        ("list_directory", json!({"path": at("d")}), "a.txt"),
        ("list_directory_with_sizes", json!({"path": at("d")}), "a.txt"),
        ("directory_tree", json!({"path": at("d")}), "a.txt"),
        ("search_files", json!({"path": at("d"), "pattern": "*.txt"}), "a.txt"),
        ("get_file_info", json!({"path": at("d/a.txt")}), "size"),
        ("move_file", json!({"source": at("d/a.txt"), "destination": at("d/b.txt")}), ""),
        ("list_allowed_directories", json!({}), folder.to_str().unwrap()),
    ];
    for (tool, input, want) in &steps {
        let output = call(&lease, tool, input.clone(), &cx).await;
        assert!(!output.is_error && text(&output).contains(want), "{tool}: {output:?}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("d/b.txt")).unwrap(), "1\ntwo\n");
    let outside = call(&lease, "read_text_file", json!({"path": "/etc/hostname"}), &cx).await;
    assert!(outside.is_error, "{outside:?}");

    // An answer that is too long for a model is whole in a file.
    let long = "0123456789abcdef\n".repeat(20_000);
    write(&folder, "long.txt", &long);
    let output = call(&lease, "read_text_file", json!({"path": at("long.txt")}), &cx).await;
    let said = text(&output);
    assert!(said.len() < 110_000 && said.contains("left out; the whole output is in"), "{}", said.len());
    assert_eq!(std::fs::read_to_string(folder.join("spool/mcp-toolu_1.txt")).unwrap(), long);
    servers.shutdown().await;
}
