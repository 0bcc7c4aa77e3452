//! Where servers are configured, and what counts.

use super::super::config::{self, McpConfigError};
use super::*;
use crate::catalog::{Catalog, CatalogOptions};

/// A home and a project that somebody trusts.
fn home(trusted: bool) -> (TempDir, World) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a real path");
    let project = root.join("project");
    std::fs::create_dir_all(project.join(".git")).expect("a project");
    let home = root.join("home");
    let record = json!({
        "mcpServers": {"user": {"command": "u"}, "both": {"command": "from user"}, "broken": {"type": "http"}},
        "projects": {project.to_str().expect("text"): {
            "hasTrustDialogAccepted": trusted,
            "mcpServers": {"local": {"command": "l"}, "both": {"command": "from local"}},
            "enabledMcpjsonServers": ["yes"],
            "disabledMcpServers": ["user"],
        }},
    });
    write(&home, ".claude.json", &record.to_string());
    write(
        &project,
        ".mcp.json",
        r#"{"mcpServers": {"yes": {"command": "y"}, "ask": {"command": "a"}, "var": {"command": "${TOOL:-v}", "env": {"T": "${TOKEN}"}}}}"#,
    );
    let managed = root.join("managed");
    let env = Env::new([
        ("HOME", home.to_str().expect("text")),
        ("POSSE_MANAGED_DIR", managed.to_str().expect("text")),
    ]);
    (folder, World { env, cwd: project, ..World::default() })
}

/// A line per server: its name, whose it is, what becomes of it.
fn found(world: &World, options: &McpOptions, plugins: &[PathBuf]) -> Result<Vec<String>, McpConfigError> {
    let loading = CatalogOptions { plugin_dirs: plugins.to_vec(), ..CatalogOptions::default() };
    let catalog = Catalog::load(world, &loading).expect("a catalog");
    let found = config::read(world, &catalog, options)?;
    let line = |one: &Configured| {
        let standing = match &one.standing {
            Standing::Ready => one.config.as_ref().map(McpConfig::words).unwrap_or_default(),
            Standing::NeedsApproval => "ask".to_owned(),
            Standing::NeedsTrust => "trust".to_owned(),
            Standing::Denied(_) => "no".to_owned(),
            Standing::Broken(why) => format!("broken: {why}"),
        };
        format!("{}/{}: {standing}", one.name, one.source.label())
    };
    Ok(found.servers.iter().map(line).collect())
}

#[test]
fn every_source_is_read_and_judged() {
    let (_folder, world) = home(true);
    let lines = found(&world, &McpOptions::default(), &[]).unwrap();
    assert_eq!(
        lines,
        [
            "ask/project: ask",
            "both/local: from local",
            "both/user: no",
            "broken/user: broken: a server at an address needs `url`",
            "local/local: l",
            "user/user: no",
            "var/project: broken: the environment variable TOKEN is not set; set it, or write ${TOKEN:-default}",
            "yes/project: y",
        ]
    );
    let (_folder, world) = home(false);
    let lines = found(&world, &McpOptions::default(), &[]).unwrap();
    assert!(lines.contains(&"yes/project: trust".to_owned()), "not in a folder nobody trusts: {lines:?}");
}

#[test]
fn the_command_line_adds_and_can_be_all_there_is() {
    let (folder, world) = home(true);
    let file = write(folder.path(), "more.json", r#"{"mcpServers": {"file": {"url": "http://x"}}}"#);
    let inline =
        r#"{"mcpServers": {"both": {"command": "from flag"}, "sdk": {"type": "sdk", "name": "sdk"}}}"#;
    let configs = vec![file.to_str().unwrap().to_owned(), inline.to_owned()];
    let options = McpOptions { configs, strict: true, ..McpOptions::default() };
    let lines = found(&world, &options, &[]).unwrap();
    let ready: Vec<_> = lines.iter().filter(|line| !line.ends_with(": no")).collect();
    assert_eq!(
        ready,
        [
            "both/dynamic: from flag",
            "file/dynamic: http://x",
            "sdk/dynamic: sdk, inside the program that started posse"
        ]
    );
    let bare = McpOptions { bare: true, ..McpOptions::default() };
    assert_eq!(found(&world, &bare, &[]).unwrap(), Vec::<String>::new());
    for wrong in ["{", "{}", "nowhere.json", r#"{"mcpServers": {"a": {}}}"#] {
        let options = McpOptions { configs: vec![wrong.to_owned()], ..McpOptions::default() };
        assert!(matches!(found(&world, &options, &[]), Err(McpConfigError::Flag(_))), "{wrong}");
    }
}

#[test]
fn the_administrator_s_file_is_all_there_is_even_if_it_cannot_be_read() {
    let (folder, world) = home(true);
    let managed = folder.path().canonicalize().unwrap().join("managed");
    for (text, want) in [
        (r#"{"mcpServers": {"ours": {"command": "o"}}}"#, vec!["ours/managed: o".to_owned()]),
        (r#"{"mcpServers": {}}"#, vec![]),
        ("{ not json", vec![]),
    ] {
        write(&managed, "managed-mcp.json", text);
        let lines = found(&world, &McpOptions::default(), &[]).unwrap();
        let usable: Vec<_> = lines.into_iter().filter(|line| !line.ends_with(": no")).collect();
        assert_eq!(usable, want, "{text}");
    }
}

#[test]
fn a_plugin_s_servers_are_called_after_it_and_know_its_folder() {
    let (folder, world) = home(true);
    let plugin = folder.path().canonicalize().unwrap().join("plugin");
    write(
        &plugin,
        ".claude-plugin/plugin.json",
        r#"{"name": "tools", "mcpServers": {"inline": {"command": "${CLAUDE_PLUGIN_ROOT}/i"}}}"#,
    );
    write(&plugin, ".mcp.json", r#"{"mcpServers": {"file": {"command": "${CLAUDE_PLUGIN_ROOT}/f"}}}"#);
    let lines = found(&world, &McpOptions::default(), std::slice::from_ref(&plugin)).unwrap();
    let own: Vec<_> = lines.iter().filter(|line| line.starts_with("plugin:")).collect();
    let root = plugin.display();
    assert_eq!(
        own,
        [&format!("plugin:tools:file/plugin: {root}/f"), &format!("plugin:tools:inline/plugin: {root}/i")]
    );
}

#[test]
fn a_yes_is_to_what_was_there_when_it_was_given() {
    let (_folder, world) = home(true);
    let line = |world: &World| {
        let lines = found(world, &McpOptions::default(), &[]).expect("servers");
        lines.into_iter().find(|line| line.starts_with("ask/")).expect("the server")
    };
    let write_server = |config: &str| {
        write(
            &world.cwd,
            ".mcp.json",
            &format!(r#"{{"mcpServers": {{"ask": {config}, "yes": {{"command": "y"}}}}}}"#),
        );
    };
    write_server(r#"{"command": "a", "env": {"T": "${T:-x}"}}"#);
    assert_eq!(line(&world), "ask/project: ask");
    let say_yes = || {
        let catalog = Catalog::load(&world, &CatalogOptions::default()).expect("a catalog");
        let found = config::read(&world, &catalog, &McpOptions::default()).expect("servers");
        let one = found.servers.iter().find(|one| &*one.name == "ask").expect("the server");
        super::super::edit::decide(one, true, &catalog, &world).expect("a yes");
    };
    say_yes();
    assert_eq!(line(&world), "ask/project: a");
    // How it is treated may change; and so may what a variable holds.
    write_server(r#"{"command": "a", "timeout": 5000, "env": {"T": "${T:-x}"}}"#);
    assert_eq!(line(&world), "ask/project: a");
    for other in [
        r#"{"command": "b", "env": {"T": "${T:-x}"}}"#,
        r#"{"command": "a", "args": ["-e"]}"#,
        r#"{"url": "http://x"}"#,
    ] {
        write_server(other);
        assert_eq!(line(&world), "ask/project: ask", "{other}");
    }
    say_yes();
    assert_eq!(line(&world), "ask/project: http://x");
}

#[test]
fn servers_of_settings_files_count_by_their_layer() {
    let (folder, world) = home(true);
    let servers = |name: &str| format!(r#"{{"mcpServers": {{"{name}": {{"command": "{name}"}}}}}}"#);
    write(&folder.path().join("home"), ".claude/settings.json", &servers("s-user"));
    write(&world.cwd, ".claude/settings.json", &servers("s-project"));
    write(&world.cwd, ".claude/settings.local.json", &servers("s-local"));
    let lines = found(&world, &McpOptions::default(), &[]).unwrap();
    for want in ["s-user/user: s-user", "s-project/project: ask", "s-local/local: s-local"] {
        assert!(lines.contains(&want.to_owned()), "{want}: {lines:?}");
    }
}
