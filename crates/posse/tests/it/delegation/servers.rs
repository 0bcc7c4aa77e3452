//! Servers of tools in a run: who is offered what, what a call comes to, how many processes there are.

use super::*;

/// What the servers offer, on one line as the protocol has it.
const TOOLS: &str = concat!(
    r#"[{"name": "add", "description": "Adds a note.", "inputSchema": {"type": "object"}},"#,
    r#"{"name": "crash", "inputSchema": {"type": "object"}}, {"name": "relist", "inputSchema": {"type": "object"}}]"#
);

/// A world with servers that are shell scripts, each in a folder where it says how often it was started.
fn served(server: &FakeModel, names: &[&str]) -> TestEnv {
    let env = world(server);
    let mut servers = serde_json::Map::new();
    for name in names {
        env.write(&format!("{name}/tools.json"), TOOLS);
        servers.insert((*name).to_owned(), config(&env, name));
    }
    env.write("servers.json", json!({ "mcpServers": servers }).to_string());
    env
}

fn config(env: &TestEnv, name: &str) -> Value {
    let script = env.write("server.sh", include_str!("../../../../posse-runtime/src/mcp/tests/server.sh"));
    // A server of its own for each name: the same command in the same folder is one server.
    json!({ "command": "sh", "args": [script, name], "cwd": env.path(name) })
}

fn go(env: &TestEnv, more: &[&str]) -> Output {
    let file = env.path("servers.json").display().to_string();
    env.posse(&[&STREAM[..], &["--mcp-config", &file], more].concat())
}

/// How often a server was started, and whether one of those processes still lives.
fn started(env: &TestEnv, name: &str) -> (usize, bool) {
    let pids = std::fs::read_to_string(env.path(&format!("{name}/started"))).unwrap_or_default();
    let alive = pids.lines().any(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists());
    (pids.lines().count(), alive)
}

fn offered(request: &Recorded) -> Vec<String> {
    let names = list(&request.body["tools"]).iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.starts_with("mcp__")).map(str::to_owned).collect()
}

#[test]
fn the_main_agent_and_others_use_one_server() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => call("m1", "mcp__notes__add", &json!({})),
        (None, 1) => {
            let both = [start("worker", "One.", json!({})), start("scout", "Two.", json!({}))];
            calls("Agent", &both)
        }
        (None, _) => text("Done."),
        (Some(_), 0) if all(request).contains("One.") => call("c1", "mcp__notes__add", &json!({})),
        (Some(_), _) => text("Report."),
    });
    let env = served(&server, &["notes"]);
    let output = go(&env, &["--allowedTools", "mcp__notes"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let main = of_main(&server);
    assert_eq!(offered(&main[0]), ["mcp__notes__add", "mcp__notes__crash", "mcp__notes__relist"]);
    assert!(words(&json!({ "content": [result(&main[1], "m1")] })).contains("call 1"));
    let agents = of_agents(&server);
    let worker = agents.iter().rfind(|request| all(request).contains("One.")).unwrap();
    assert!(words(&json!({ "content": [result(worker, "c1")] })).contains("call 2"), "the same process");
    // Its list names Read and Bash and no server.
    let scout = agents.iter().find(|request| all(request).contains("Two.")).unwrap();
    assert!(offered(scout).is_empty(), "{:?}", offered(scout));
    assert_eq!(started(&env, "notes"), (1, false));
    let init = &stream(&output)[0];
    assert_eq!(init["mcp_servers"][0]["name"], "notes");
    assert!(list(&init["tools"]).contains(&json!("mcp__notes__add")), "{init}");
}

#[test]
fn what_is_denied_is_not_offered_and_what_is_not_allowed_is_refused() {
    let server = FakeModel::answering(|request| match steps(request) {
        0 => calls("mcp__notes__add", &[json!({})]),
        1 => call("m2", "mcp__notes__crash", &json!({})),
        _ => text("Done."),
    });
    let env = served(&server, &["notes"]);
    go(&env, &["--disallowedTools", "mcp__notes__crash"]).success();
    let main = of_main(&server);
    assert_eq!(offered(&main[0]), ["mcp__notes__add", "mcp__notes__relist"]);
    assert_eq!(result(&main[1], "t1")["is_error"], true, "nobody allowed it");
    assert_eq!(result(&main[2], "m2")["is_error"], true, "it is not there");
}

#[test]
fn an_agent_brings_a_server_along_and_it_ends_with_the_agent() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("clerk", "Note it.", json!({}))]),
        (None, 1) => call("b1", "Bash", &json!({ "command": "kill -0 $(cat ../own/started) && echo alive" })),
        (None, _) => text("Done."),
        (Some(_), 0) => call("c1", "mcp__own__add", &json!({})),
        (Some(_), _) => text("Noted."),
    });
    let env = served(&server, &["notes"]);
    env.write("own/tools.json", TOOLS);
    let own = config(&env, "own").to_string();
    env.agent(
        "clerk.md",
        &format!(
            "---\nname: clerk\ndescription: Notes\ntools: Read\nmcpServers:\n  - notes\n  - own: {own}\n---\nBe a clerk.\n"
        ),
    );
    env.posse(&["trust", "."]).success();
    go(&env, &["--allowedTools", "mcp__own", "Bash"]).success();
    let clerk = &of_agents(&server)[0];
    assert_eq!(offered(clerk).len(), 6, "all of both: {:?}", offered(clerk));
    let main = of_main(&server);
    assert!(offered(&main[1]).iter().all(|tool| tool.starts_with("mcp__notes")), "it is the agent's own");
    assert!(!words(&json!({ "content": [result(&main[2], "b1")] })).contains("alive"));
    assert_eq!(started(&env, "own"), (1, false));
}

#[test]
fn an_agent_that_needs_a_server_is_there_only_with_it() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("needy", "Go.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), _) => text("Report."),
    });
    let env = served(&server, &["notes"]);
    env.agent(
        "needy.md",
        "---\nname: needy\ndescription: Needs notes\nrequiredMcpServers: [notes]\n---\nBe needy.\n",
    );
    go(&env, &[]).success();
    env.posse(&STREAM).success();
    let main = of_main(&server);
    let listed = |request: &Recorded| request.body["tools"].to_string().contains("needy");
    assert!(listed(&main[0]) && !listed(&main[2]));
    assert_ne!(result(&main[1], "t1")["is_error"], true, "{}", result(&main[1], "t1"));
    let refused = words(&json!({ "content": [result(&main[3], "t1")] }));
    assert!(refused.contains("needs the server `notes`"), "{refused}");
}

#[test]
fn a_crash_and_another_list_do_not_end_the_run() {
    let server = FakeModel::answering(|request| match steps(request) {
        0 => call("m1", "mcp__notes__crash", &json!({})),
        1 => call("m2", "mcp__notes__relist", &json!({})),
        2 => call("m3", "mcp__notes__add", &json!({})),
        3 => call("m4", "mcp__notes__fresh", &json!({})),
        _ => text("Done."),
    });
    let env = served(&server, &["notes"]);
    go(&env, &["--allowedTools", "mcp__notes"]).success();
    let main = of_main(&server);
    let said = |at: usize, call: &str| words(&json!({ "content": [result(&main[at], call)] }));
    assert!(said(1, "m1").contains("segmentation fault (really)"), "{}", said(1, "m1"));
    assert!(said(2, "m2").contains("another list"), "{}", said(2, "m2"));
    let last = main.last().unwrap();
    assert_eq!(offered(last), ["mcp__notes__fresh"]);
    assert!(words(&json!({ "content": [result(last, "m4")] })).contains("call"));
}

#[test]
fn fifty_agents_and_five_servers_are_five_processes_and_none_without_need() {
    let names = ["one", "two", "three", "four", "five"];
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) if all(request).contains("go") => {
            let many: Vec<Value> =
                (0..50).map(|at| start("worker", &format!("Task {at}."), json!({}))).collect();
            calls("Agent", &many)
        }
        (None, _) => text("Done."),
        (Some(_), step @ 0..5) => call("c1", &format!("mcp__{}__add", names[step]), &json!({})),
        (Some(_), _) => text("Report."),
    });
    let env = served(&server, &names);
    let output = go(&env, &["--allowedTools", "mcp__one,mcp__two,mcp__three,mcp__four,mcp__five"]);
    output.success();
    assert_eq!(names.map(|name| started(&env, name)), [(1, false); 5]);
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 300);
    let answers = agents.iter().filter(|request| steps(request) == 5).flat_map(|request| {
        list(&request.body["messages"]).iter().map(words).filter(|said| said.contains("call "))
    });
    assert_eq!(answers.count(), 250, "every call was answered by its server");
    // What they offer is known by now: whoever calls none starts none.
    let file = env.path("servers.json").display().to_string();
    env.posse(&["-p", "nothing", "--mcp-config", &file]).success();
    assert_eq!(offered(of_main(&server).last().unwrap()).len(), 15);
    assert_eq!(names.map(|name| started(&env, name).0), [1; 5]);
}

#[test]
fn servers_of_the_command_line_must_be_right() {
    let server = FakeModel::answering(|_| text("Done."));
    let env = world(&server);
    for (given, what) in [
        ("{\"mcpServers\": {\"x\": {\"command\": 7}}}", "command"),
        ("nowhere.json", "nowhere.json"),
        ("{oops", "--mcp-config"),
    ] {
        let output = env.posse(&["-p", "go", "--mcp-config", given]);
        assert_ne!(output.code, Some(0), "{given}");
        assert!(output.stderr.contains(what), "{given}: {}", output.stderr);
    }
    assert!(server.requests().is_empty());
}

#[test]
#[allow(clippy::disallowed_methods)] // The test command hands the place over in the environment.
fn prompts_of_a_server_are_typed_and_resources_mentioned() {
    use std::io::Write as _;
    let Ok(folder) = std::env::var("POSSE_TEST_MCP") else {
        let _ = writeln!(std::io::stderr(), "skipped: POSSE_TEST_MCP is not set; `cargo xtask test` sets it");
        return;
    };
    let server = FakeModel::answering(|_| text("Done."));
    let mut env = world(&server);
    env.set("PATH", &std::env::var("PATH").unwrap_or_default());
    let program = format!("{folder}/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let config = json!({ "mcpServers": { "everything": { "command": "node", "args": [program] } } });
    env.write("servers.json", config.to_string());
    let file = env.path("servers.json").display().to_string();
    let typed = |prompt: &str| {
        env.posse(&["-p", prompt, "--mcp-config", &file]).success();
        all(server.requests().last().unwrap())
    };
    let said = typed("/mcp__everything__args-prompt Paris");
    assert!(said.contains("Paris") && !said.contains("/mcp__"), "{said}");
    let said = typed("What does @everything:demo://resource/dynamic/text/1 say?");
    assert!(said.contains("@everything:demo://resource/dynamic/text/1:\n"), "{said}");
    assert!(said.contains("Resource 1"), "{said}");
    let output = env.posse(&["-p", "/mcp__everything__nothing", "--mcp-config", &file]);
    assert!(output.stderr.contains("has no prompt nothing"), "{output:?}");
}

#[test]
fn what_is_denied_is_denied_to_an_agent_s_own_servers() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("clerk", "Note it.", json!({}))]),
        (None, _) | (Some(_), _) => text("Done."),
    });
    let env = served(&server, &["notes"]);
    env.write("own/tools.json", TOOLS);
    let own = config(&env, "own").to_string();
    let file = format!(
        "---\nname: clerk\ndescription: Notes\ntools: Read\ndisallowedTools: mcp__own__crash, mcp__notes\n\
         mcpServers:\n  - notes\n  - own: {own}\n---\nBe a clerk.\n"
    );
    env.agent("clerk.md", &file);
    env.posse(&["trust", "."]).success();
    go(&env, &[]).success();
    assert_eq!(offered(&of_agents(&server)[0]), ["mcp__own__add", "mcp__own__relist"]);
    let output = go(&env, &["--agent", "clerk", "--disallowedTools", "mcp__own__relist"]);
    assert!(output.stderr.contains("`notes` of the agent is left out: its tools are denied"), "{output:?}");
    assert_eq!(offered(of_main(&server).last().unwrap()), ["mcp__own__add"]);
}

#[test]
fn servers_that_cannot_be_told_apart_and_tools_that_are_left_out_are_said_and_steer_no_terminal() {
    let server = FakeModel::answering(|_| text("Done."));
    let env = served(&server, &["notes"]);
    env.write(
        "notes/tools.json",
        r#"[{"name": "good", "inputSchema": {"type": "object"}}, {"name": "bad"}]"#,
    );
    env.write(
        "home/.claude.json",
        r#"{"mcpServers": {"notes__x": {"command": "sh"}, "a\u001b[2Jb": {"type": "pigeon"}}}"#,
    );
    let output = go(&env, &[]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(offered(&of_main(&server)[0]), ["mcp__notes__good"]);
    let said = &output.stderr;
    assert!(said.contains("could not be told from those of `notes`"), "{said}");
    assert!(said.contains("\"bad\": it cannot be read"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}
