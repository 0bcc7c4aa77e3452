use super::*;
use crate::{text, yaml};

/// Reads an agent's `mcpServers`: a line per server, then a line per problem.
#[track_caller]
fn check(source: &str, want: &[&str]) {
    let root = yaml::parse(source).unwrap().root;
    let mut problems = Vec::new();
    let mut lines: Vec<String> = read_list(&root, &mut problems).iter().map(shown).collect();
    for problem in problems {
        let at = text::locate(source, problem.span.unwrap());
        assert_eq!(problem.hint.as_deref(), Some(MODERN), "every problem here shows the form to write");
        lines.push(format!("! {}:{} {} {}", at.line, at.column, problem.rule.info().id, problem.text));
    }
    assert_eq!(lines, want, "\n--- of\n{source}");
}

fn shown(server: &McpServer) -> String {
    let pairs = |pairs: &[(Box<str>, Box<str>)]| {
        pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    };
    let name = server.name();
    match server {
        McpServer::Named(_) => format!("{name} (shared)"),
        McpServer::Inline { config: McpConfig::Stdio { command, args, env }, .. } => {
            format!("{name}: {command} [{}] [{}]", args.join(","), pairs(env))
        }
        McpServer::Inline { config: McpConfig::Remote { transport, url, headers }, .. } => {
            format!("{name}: {transport:?} {url} [{}]", pairs(headers))
        }
    }
}

#[test]
fn a_list_mixes_names_and_servers_of_its_own() {
    check(
        "\
- github
- notes: {command: npx, args: [-y, notes, 8], env: {TOKEN: $T, N: 1}}
- web: {type: http, url: 'https://x/mcp', headers: {Authorization: Bearer y}}
- old: {type: sse, url: 'https://x/sse'}
- socket: {type: ws, url: 'wss://x'}
- bare:
- {a: {command: a}, b: {command: b}}
",
        &[
            "github (shared)",
            "notes: npx [-y,notes,8] [TOKEN=$T,N=1]",
            "web: Http https://x/mcp [Authorization=Bearer y]",
            "old: Sse https://x/sse []",
            "socket: WebSocket wss://x []",
            "bare (shared)",
            "a: a [] []",
            "b: b [] []",
        ],
    );
}

#[test]
fn the_transport_follows_from_what_is_given() {
    for (config, want) in [
        ("{command: c}", "x: c [] []"),
        ("{type: stdio, command: c}", "x: c [] []"),
        ("{type: local, command: c}", "x: c [] []"),
        ("{url: u}", "x: Http u []"),
        ("{type: streamable-http, url: u}", "x: Http u []"),
        ("{type: streamableHttp, url: u}", "x: Http u []"),
        ("{transport: sse, url: u}", "x: Sse u []"),
        // With both, the process it is: an address alone is what makes it remote.
        ("{command: c, url: u}", "x: c [] []"),
    ] {
        check(&format!("- x: {config}"), &[want]);
    }
}

#[test]
fn older_and_other_forms_are_read_and_reported() {
    check(
        "- {name: notes, transport: stdio, command: npx, args: [notes]}",
        &[
            "notes: npx [notes] []",
            "! 1:3 old-spelling `name` beside the configuration: the form of older versions",
        ],
    );
    check(
        "{github: null, notes: {command: n}}",
        &[
            "github (shared)",
            "notes: n [] []",
            "! 1:1 old-spelling `mcpServers` is a list; a mapping is read as a list of its entries",
        ],
    );
    // Text is a list as everywhere else; nothing is a list of nothing.
    check("github, , notes", &["github (shared)", "notes (shared)"]);
    check("null", &[]);
    check("[]", &[]);
    // A server that is *called* name has a configuration under it.
    check("- name: {command: n}", &["name: n [] []"]);
}

#[test]
fn a_bad_entry_is_reported_and_costs_only_itself() {
    check(
        "\
- 5
- [a]
- a: {type: carrier-pigeon, url: u}
- b: {type: http}
- c: {type: stdio, url: u}
- d: {}
- e: text
- {name: f}
- {g: {command: g}, h: {args: [h]}}
- kept
",
        &[
            "g: g [] []",
            "kept (shared)",
            "! 1:3 invalid-mcp-server an MCP server is a name or a mapping; this is a number",
            "! 2:3 invalid-mcp-server an MCP server is a name or a mapping; this is a list",
            "! 3:6 invalid-mcp-server no transport is called `carrier-pigeon`; use stdio, http, sse or ws",
            "! 4:6 invalid-mcp-server a server at an address needs `url`",
            "! 5:6 invalid-mcp-server a stdio server needs `command`",
            "! 6:6 invalid-mcp-server a stdio server needs `command`",
            "! 7:6 invalid-mcp-server an MCP server's configuration is a mapping; this is text",
            "! 8:3 old-spelling `name` beside the configuration: the form of older versions",
            "! 8:3 invalid-mcp-server a stdio server needs `command`",
            "! 9:24 invalid-mcp-server a stdio server needs `command`",
        ],
    );
    for (source, kind) in [("5", "a number"), ("true", "true or false")] {
        let text = format!("! 1:1 invalid-mcp-server `mcpServers` must be a list; this is {kind}");
        check(source, &[&text]);
    }
}
