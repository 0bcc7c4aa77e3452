//! `posse mcp`.

use super::*;

/// A project with a server of tools in it, which is a shell script.
fn project() -> TestEnv {
    let env = env();
    env.write("project/server.sh", include_str!("../../../posse-runtime/src/mcp/tests/server.sh"));
    env.write(
        "project/tools.json",
        r#"[{"name": "add", "description": "Adds a note.", "inputSchema": {"type": "object"}}]"#,
    );
    env
}

#[test]
fn a_server_is_added_listed_shown_and_removed() {
    let env = project();
    assert_eq!(env.posse(&["mcp"]).success(), "no MCP servers are configured\n");
    let said = env.posse(&["mcp", "add", "notes", "-e", "SECRET=x", "--", "sh", "server.sh", "a"]).success();
    assert!(said.starts_with("notes is in ") && said.ends_with(".claude.json\n"), "{said}");
    assert_eq!(env.posse(&["mcp", "list"]).success(), "notes  connected, 1 tool  sh server.sh a\n");
    let shown = env.posse(&["mcp", "get", "notes"]).success();
    assert!(shown.contains("calls itself shell 1") && shown.contains("add  Adds a note."), "{shown}");
    assert!(!shown.contains("SECRET"), "{shown}");
    let list = json(&env.posse(&["mcp", "--json"]).success());
    assert_eq!(list["servers"][0]["status"], "connected");
    assert_eq!(list["servers"][0]["tools"][0], "add");
    let said = env.posse(&["mcp", "add", "notes", "--", "sh", "server.sh", "a"]).success();
    assert!(said.ends_with(".claude.json, in place of what was there\n"), "{said}");
    let said = env.posse(&["mcp", "remove", "notes"]).success();
    assert!(said.starts_with("notes is not in "), "{said}");
    assert_eq!(env.posse(&["mcp"]).success(), "no MCP servers are configured\n");
}

#[test]
fn a_project_s_server_waits_for_a_yes_and_a_wrong_one_is_not_written_down() {
    let env = project();
    let config = r#"{"command": "sh", "args": ["server.sh", "a"]}"#;
    let said = env.posse(&["mcp", "add-json", "notes", config, "--scope", "project"]).success();
    assert_eq!(said, "notes is in $ENV/project/.mcp.json\n");
    let listed = env.posse(&["mcp"]).success();
    assert!(listed.contains("disabled") && listed.contains("posse trust"), "{listed}");
    assert!(!env.path("project/started").exists(), "nothing was started");
    for wrong in ["{}", "[", r#"{"type": "pigeon"}"#] {
        let (_, said) = env.posse(&["mcp", "add-json", "x", wrong]).fails_with(2);
        assert!(!said.is_empty(), "{wrong}");
    }
    for wrong in [&["", "sh"][..], &["x", "ftp://x", "-t", "http"], &["x", "example.com", "-t", "sse"]] {
        let (_, said) = env.posse(&[&["mcp", "add"], wrong].concat()).fails_with(2);
        assert!(said.contains("a server needs a name") || said.contains("is no address"), "{said}");
    }
    let (_, said) = env.posse(&["mcp", "get", "nobody"]).fails_with(2);
    assert!(said.contains("no MCP server is called `nobody`"), "{said}");
    let (_, said) = env.posse(&["mcp", "login", "notes"]).fails_with(1);
    assert!(said.contains("only a server at an address"), "{said}");
}

#[test]
fn a_project_s_server_runs_with_trust_and_a_yes_until_there_is_a_no() {
    let env = project();
    env.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"notes": {"command": "sh", "args": ["server.sh", "a"]}}}"#,
    );
    let said = env.posse(&["mcp", "enable", "notes"]).success();
    assert_eq!(
        said,
        "notes is switched on in $ENV/project\nit runs once you trust the folder: posse trust\n"
    );
    assert!(env.posse(&["mcp"]).success().contains("disabled"), "not before the folder is trusted");
    let _ = env.posse(&["trust"]).success();
    assert_eq!(env.posse(&["mcp"]).success(), "notes  connected, 1 tool  sh server.sh a\n");
    let said = env.posse(&["mcp", "disable", "notes"]).success();
    assert_eq!(said, "notes is switched off in $ENV/project\n");
    assert!(env.posse(&["mcp"]).success().contains("it is switched off"));
    // One's own server can be switched off and on here, too.
    let _ = env.posse(&["mcp", "add", "mine", "--scope", "user", "--", "sh", "server.sh", "b"]).success();
    let _ = env.posse(&["mcp", "disable", "mine"]).success();
    assert!(env.posse(&["mcp", "get", "mine"]).success().contains("switched off"));
    let _ = env.posse(&["mcp", "enable", "mine"]).success();
    assert!(env.posse(&["mcp", "get", "mine"]).success().contains("connected"));
}

#[test]
fn no_secret_is_shown() {
    let mut env = project();
    env.set("TOKEN", "s3cret-value");
    env.write(
        "home/.claude.json",
        r#"{"mcpServers": {
            "loud": {"command": "sh", "args": ["-c", "echo bad key ${TOKEN} >&2; exit 1", "${TOKEN}"]},
            "far": {"url": "http://me:pass@127.0.0.1:1/mcp?key=${TOKEN}"}
        }}"#,
    );
    for command in [&["mcp"][..], &["mcp", "get", "loud"], &["mcp", "get", "far"], &["mcp", "--json"]] {
        let shown = env.posse(command).success();
        assert!(!shown.contains("s3cret-value") && !shown.contains("pass"), "{shown}");
        assert!(shown.contains("bad key …") || !command.contains(&"loud"), "{shown}");
        assert!(shown.contains("http://…@127.0.0.1:1/mcp?key=…") || !command.contains(&"far"), "{shown}");
    }
}
