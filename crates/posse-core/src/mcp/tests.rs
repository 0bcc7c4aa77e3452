mod choosing;

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
        McpServer::Inline { config, .. } => match &config.reach {
            Reach::Stdio { command, args, env, cwd } => {
                let cwd = cwd.as_ref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
                format!("{name}: {command} [{}] [{}]{cwd}", args.join(","), pairs(env))
            }
            Reach::Remote { transport, url, headers } => {
                format!("{name}: {transport:?} {url} [{}]", pairs(headers))
            }
            Reach::Sdk { name: inner } => format!("{name}: of the host, {inner}"),
        },
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
        ("{command: c, cwd: /srv}", "x: c [] [] in /srv"),
        ("{type: sdk, name: inner}", "x: of the host, inner"),
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
- i: {command: ' '}
- j: {type: sdk}
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
            "! 10:6 invalid-mcp-server a stdio server needs `command`",
            "! 11:6 invalid-mcp-server a server of the host needs `name`",
        ],
    );
    for (source, kind) in [("5", "a number"), ("true", "true or false")] {
        let text = format!("! 1:1 invalid-mcp-server `mcpServers` must be a list; this is {kind}");
        check(source, &[&text]);
    }
}

/// The one server of a text.
fn config(text: &str) -> McpConfig {
    read_config(&yaml::parse(text).expect("YAML").root).expect("a server")
}

#[test]
fn how_a_server_is_treated_is_read_beside_how_it_is_reached() {
    let read = config("{command: c, stateful: true, alwaysLoad: true, timeout: 5000}");
    assert_eq!((read.stateful, read.always_load, read.timeout_ms), (true, true, Some(5000)));
    // Half a second is a slip of the unit, and so is no number.
    for timeout in ["500", "0", "-1", "soon", "true"] {
        assert_eq!(config(&format!("{{command: c, timeout: {timeout}}}")).timeout_ms, None, "{timeout}");
    }
    let oauth = config("{url: u, oauth: {clientId: me, callbackPort: 8080, scopes: a b}}").oauth;
    assert_eq!((oauth.client_id.as_deref(), oauth.callback_port), (Some("me"), Some(8080)));
    assert_eq!(oauth.scopes.as_deref(), Some("a b"));
}

#[test]
fn two_servers_are_one_if_the_same_is_started_or_reached() {
    let same = [
        ("{command: c, args: [a, b]}", "{type: stdio, command: c, args: [a, b]}"),
        ("{command: c, env: {A: 1, B: 2}}", "{command: c, env: {B: 2, A: 1}}"),
        ("{command: c, timeout: 5000}", "{command: c, stateful: true}"),
        ("{url: u}", "{type: http, url: u}"),
    ];
    for (one, other) in same {
        assert_eq!(config(one).identity(), config(other).identity(), "{one} and {other}");
    }
    let different = [
        ("{command: c, args: [a, b]}", "{command: c, args: ['a b']}"),
        ("{command: c, args: [a, b]}", "{command: c, args: [b, a]}"),
        ("{command: c, args: [a]}", "{command: ca}"),
        ("{command: c, env: {A: 1}}", "{command: c, env: {A: 2}}"),
        ("{command: c, cwd: /a}", "{command: c, cwd: /b}"),
        ("{command: c, args: ['x2:ab']}", "{command: c, args: [x, b]}"),
        ("{url: u}", "{type: sse, url: u}"),
        ("{url: u, headers: {X: 1}}", "{url: u, headers: {X: 2}}"),
    ];
    for (one, other) in different {
        assert_ne!(config(one).identity(), config(other).identity(), "{one} and {other}");
    }
}

#[test]
fn a_file_holds_servers_under_their_key_or_bare() {
    let read = |text: &str| {
        let (root, _) = crate::json::parse(text);
        let (servers, problems) = read_file(&root.unwrap());
        let names: Vec<String> = servers
            .iter()
            .map(|(name, config)| format!("{name}{}", if config.is_ok() { "" } else { "!" }))
            .collect();
        (names.join(" "), problems.len())
    };
    for (text, want) in [
        (r#"{"mcpServers": {"a": {"command": "a"}, "b": {}}}"#, ("a b!", 0)),
        (r#"{"mcpServers": {}}"#, ("", 0)),
        (r#"{"a": {"command": "a"}, "b": {"url": "u"}}"#, ("a b", 1)),
        (r#"{"mcpServers": []}"#, ("", 1)),
        (r#"{"servers": {"a": {"command": "a"}}}"#, ("", 1)),
        ("{}", ("", 1)),
        ("[]", ("", 1)),
    ] {
        let (names, problems) = read(text);
        assert_eq!((names.as_str(), problems), want, "{text}");
    }
}

#[test]
fn names_become_what_a_provider_takes() {
    for (server, tool, want) in [
        ("github", "create_issue", Some("mcp__github__create_issue")),
        ("my server", "do.it", Some("mcp__my_server__do_it")),
        ("plugin:tools:db", "query", Some("mcp__plugin_tools_db__query")),
        ("größe", "a/b", Some("mcp__gr__e__a_b")),
        ("", "x", None),
        ("x", "", None),
        ("x", &"y".repeat(121), None),
    ] {
        assert_eq!(full_name(server, tool).as_deref(), want, "{server} {tool}");
    }
    assert_eq!(full_name("x", &"y".repeat(120)).map(|name| name.len()), Some(128));
}

#[test]
fn variables_are_filled_in_and_missing_ones_named() {
    let lookup = |name: &str| match name {
        "HOME" => Some("/home/me"),
        "EMPTY" => Some(""),
        "NESTED" => Some("${HOME}"),
        "user_config.key" => Some("chosen"),
        _ => None,
    };
    for (text, want) in [
        ("plain", Ok("plain")),
        ("${HOME}/x", Ok("/home/me/x")),
        ("a${HOME}b${HOME}c", Ok("a/home/meb/home/mec")),
        ("${NONE:-fall back}", Ok("fall back")),
        ("${NONE:-}", Ok("")),
        ("${HOME:-other}", Ok("/home/me")),
        ("${EMPTY}", Ok("")),
        ("${user_config.key} ${other.key}", Ok("chosen ${other.key}")),
        // What a variable holds is not read again.
        ("${NESTED}", Ok("${HOME}")),
        // None of these is a reference.
        ("$HOME ${} ${1x} ${a b} ${", Ok("$HOME ${} ${1x} ${a b} ${")),
        ("${open ${HOME}", Ok("${open /home/me")),
        ("${NONE}", Err("NONE")),
        ("${HOME}${TOKEN}", Err("TOKEN")),
    ] {
        for config in [
            format!("{{command: c, args: [{text:?}]}}"),
            format!("{{command: c, env: {{A: {text:?}}}}}"),
            format!("{{command: c, cwd: {text:?}}}"),
            format!("{{url: {text:?}}}"),
            format!("{{url: u, headers: {{A: {text:?}}}}}"),
        ] {
            let expanded = expand(&self::config(&config), &lookup);
            let got = match &expanded {
                Ok(done) => Ok(filled(done)),
                Err(missing) => Err(&*missing.name),
            };
            assert_eq!(got, want, "{config}");
        }
    }
}

/// The one text of a configuration that the test above fills.
fn filled(config: &McpConfig) -> &str {
    match &config.reach {
        Reach::Stdio { args, env, cwd, .. } => {
            let env = env.first().map(|(_, value)| &**value);
            args.first().map(|arg| &**arg).or(env).or(cwd.as_deref()).expect("a text")
        }
        Reach::Remote { url, headers, .. } => headers.first().map_or(url, |(_, value)| value),
        Reach::Sdk { name } => name,
    }
}

#[test]
fn what_is_shown_of_a_server_holds_no_secrets() {
    let lookup = |name: &str| match name {
        "TOKEN" => Some("s3cret"),
        "HOME" => Some("/home/me"),
        "N" => Some("7"),
        _ => None,
    };
    for (written, shown) in [
        ("{command: c, args: ['--key=${TOKEN}', '${HOME}/x', '${N}']}", "c --key=${TOKEN} ${HOME}/x ${N}"),
        ("{url: 'https://me:${TOKEN}@h.com/mcp'}", "https://…@h.com/mcp"),
        ("{url: 'https://me:pw@h.com/mcp?key=abc&x'}", "https://…@h.com/mcp?key=…&…"),
        ("{url: 'https://h.com/${TOKEN}/mcp'}", "https://h.com/${TOKEN}/mcp"),
        ("{command: c, args: ['postgres://u:p@db/x']}", "c postgres://…@db/x"),
    ] {
        let filled = expand(&config(written), &lookup).unwrap();
        assert_eq!(filled.words(), shown);
        assert_eq!(config(written).words(), shown, "before, too");
        let veiled = filled.veiled("no s3cret in /home/me/x, 7 times");
        let want = if written.contains("TOKEN") { "no … in" } else { "no s3cret in" };
        assert!(veiled.starts_with(want) && veiled.ends_with("/home/me/x, 7 times"), "{veiled}");
    }
}

#[test]
fn addresses_in_a_text_lose_their_keys() {
    for (text, want) in [
        ("for url (http://a.b/c?key=x)b)", "for url (http://a.b/c?key=…)"),
        ("http://u:p@a, then https://a/?x=1#y.", "http://…@a, then https://a/?x=…."),
        ("no address at all: //x?y=z", "no address at all: //x?y=z"),
        ("://", "://"),
        ("http://a/b", "http://a/b"),
        ("http://a/p@th?q", "http://a/p@th?…"),
    ] {
        assert_eq!(without_keys(text), want);
    }
}

#[test]
fn programs_are_shown_a_configuration_without_its_secrets() {
    for (written, want) in [
        (
            "{command: c, args: [-k, 'https://me:pw@x/?key=1'], env: {TOKEN: geheim}, cwd: /srv, timeout: 5000}",
            r#"{"type":"stdio","command":"c","args":["-k","https://…@x/?key=…"],"env":{"TOKEN":"…"},"cwd":"/srv","timeout":5000}"#,
        ),
        ("{command: c}", r#"{"type":"stdio","command":"c","args":[]}"#),
        (
            "{url: 'https://x/mcp?key=geheim', headers: {Authorization: Bearer geheim}, alwaysLoad: true}",
            r#"{"type":"http","url":"https://x/mcp?key=…","headers":{"Authorization":"…"},"alwaysLoad":true}"#,
        ),
        ("{type: sse, url: 'https://x'}", r#"{"type":"sse","url":"https://x"}"#),
        ("{type: ws, url: 'wss://x'}", r#"{"type":"ws","url":"wss://x"}"#),
        ("{type: sdk, name: n}", r#"{"type":"sdk","name":"n"}"#),
    ] {
        let read = config(written);
        let shown = read.shown();
        assert_eq!(shown.to_string(), want);
        assert_eq!(shown["type"], read.transport_word());
    }
    // What variables were filled in with is hidden wherever it stands.
    let filled = expand(&config("{command: c, args: ['--key=${KEY}']}"), &|_| Some("geheim")).unwrap();
    assert_eq!(filled.shown()["args"][0], "--key=…");
}
