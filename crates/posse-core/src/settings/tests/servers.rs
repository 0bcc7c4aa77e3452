//! What settings say about MCP servers.

use super::super::*;
use super::check;
use crate::mcp::ServerRule;

fn rule(rule: &ServerRule) -> String {
    match rule {
        ServerRule::Name(name) => name.to_string(),
        ServerRule::Command(words) => words.join(" "),
        ServerRule::Url(pattern) => pattern.to_string(),
    }
}

/// A line per thing said.
pub(super) fn lines(servers: &McpSettings) -> Vec<String> {
    let McpSettings { policy, approvals, servers } = servers;
    let mut lines: Vec<String> = servers
        .iter()
        .map(|one| match &one.config {
            Ok(config) => format!("server {}: {} [{}]", one.name, config.words(), one.by.layer.word()),
            Err(why) => format!("server {}! {why} [{}]", one.name, one.by.layer.word()),
        })
        .collect();
    let listed = |rules: &[ServerRule]| rules.iter().map(rule).collect::<Vec<_>>().join(",");
    lines.extend(policy.allowed.iter().map(|rules| format!("only servers {}", listed(rules))));
    if !policy.denied.is_empty() {
        lines.push(format!("no servers {}", listed(&policy.denied)));
    }
    let mcp::Approvals { all, enabled, disabled } = approvals;
    lines.extend(all.then(|| "all of the folder's servers".to_owned()));
    for (word, names) in [("enabled", enabled), ("disabled", disabled)] {
        if !names.is_empty() {
            lines.push(format!("{word} {}", names.join(",")));
        }
    }
    lines
}

#[test]
fn lists_of_servers_add_up() {
    check(
        &[
            (Layer::User, r#"{"allowedMcpServers": [{"serverName": "a"}], "enabledMcpjsonServers": ["x"]}"#),
            (
                Layer::Project,
                r#"{"deniedMcpServers": [{"serverUrl": "http://*"}], "disabledMcpjsonServers": ["y"]}"#,
            ),
            (
                Layer::Local,
                r#"{"allowedMcpServers": [{"serverCommand": ["b", "c"]}], "enableAllProjectMcpServers": true}"#,
            ),
        ],
        &[
            "only servers a,b c",
            "no servers http://*",
            "all of the folder's servers",
            "enabled x",
            "disabled y",
        ],
    );
    // An empty list allows none; no list allows all.
    check(&[(Layer::User, r#"{"allowedMcpServers": []}"#)], &["only servers "]);
}

#[test]
fn the_administrator_can_let_only_his_own_list_count() {
    check(
        &[
            (
                Layer::User,
                r#"{"allowedMcpServers": [{"serverName": "u"}], "deniedMcpServers": [{"serverName": "d"}]}"#,
            ),
            (
                Layer::Managed,
                r#"{"allowManagedMcpServersOnly": true, "allowedMcpServers": [{"serverName": "m"}]}"#,
            ),
        ],
        &[
            "managed mcp only [managed]",
            "only servers m",
            "no servers d",
            "- allowedMcpServers: a mapping [user]",
        ],
    );
}

#[test]
fn a_folder_cannot_say_yes_to_its_own_servers() {
    let text = r#"{"enableAllProjectMcpServers": true, "enabledMcpjsonServers": ["x"],
        "allowedMcpServers": [{"serverName": "x"}], "deniedMcpServers": [{"serverName": "y"}],
        "disabledMcpjsonServers": ["z"]}"#;
    let (file, _) = super::file(Layer::Project, text);
    let (settings, _) = merge(&[file], FolderTrust::Untrusted);
    assert_eq!(lines(&settings.mcp), ["no servers y", "disabled z"]);
    assert_eq!(settings.waiting_for_trust().count(), 3);
    // Trust in the folder is no yes, either. A file that is the user's own in the folder is another matter.
    let (file, _) = super::file(Layer::Project, text);
    let (settings, _) = merge(&[file], FolderTrust::Trusted);
    assert_eq!(lines(&settings.mcp), ["only servers x", "no servers y", "disabled z"]);
    let ignored: Vec<_> = settings.ignored.iter().map(|one| (&*one.text, one.why.clone())).collect();
    assert_eq!(
        ignored,
        [
            ("enableAllProjectMcpServers: true", WhyIgnored::OwnYes),
            ("enabledMcpjsonServers: x", WhyIgnored::OwnYes)
        ]
    );
    let (file, _) = super::file(Layer::Local, text);
    let (settings, _) = merge(&[file], FolderTrust::Trusted);
    assert!(lines(&settings.mcp).contains(&"all of the folder's servers".to_owned()));
    // What a folder says no to, it may.
    let files = [
        (Layer::User, r#"{"enableAllProjectMcpServers": true}"#),
        (Layer::Project, r#"{"enableAllProjectMcpServers": false}"#),
    ];
    check(&files, &[]);
}

#[test]
fn servers_stand_in_settings_too() {
    let text = r#"{"mcpServers": {"a": {"command": "a"}, "b": {}}}"#;
    let (file, _) = super::file(Layer::Project, text);
    let (settings, problems) = merge(&[file], FolderTrust::Trusted);
    let want = ["server a: a [project]", "server b! a stdio server needs `command` [project]"];
    assert_eq!((lines(&settings.mcp), problems.len()), (want.map(str::to_owned).to_vec(), 1));
    let (file, _) = super::file(Layer::Local, text);
    let (settings, _) = merge(&[file], FolderTrust::Untrusted);
    assert!(settings.mcp.servers.is_empty());
    assert_eq!(settings.waiting_for_trust().count(), 2);
}

#[test]
fn a_deny_that_cannot_be_read_stops_the_start() {
    for wrong in [r#"["evil"]"#, r#"{"serverName": "evil"}"#, r#""evil""#, "true"] {
        let (file, _) = super::file(Layer::User, &format!(r#"{{"deniedMcpServers": {wrong}}}"#));
        let (settings, _) = merge(&[file], FolderTrust::Trusted);
        assert_eq!(settings.unsound.len(), 1, "{wrong}");
    }
    let (file, _) = super::file(Layer::User, r#"{"allowedMcpServers": ["good"]}"#);
    let (settings, problems) = merge(&[file], FolderTrust::Trusted);
    assert_eq!((settings.unsound.len(), problems.len()), (0, 1));
    assert_eq!(lines(&settings.mcp), ["only servers "], "what cannot be read allows nothing");
}
