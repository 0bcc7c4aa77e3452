//! Servers that a host gives, takes away and switches while the session runs.

use super::super::config::{self, Found};
use super::*;
use crate::catalog::{Catalog, CatalogOptions};

/// A session whose list of servers can change. Settings of the administrator and of the user decide.
fn session(rig: &Rig, managed: &[(&str, Value)], configs: &[Value]) -> Servers {
    let folder = rig.path().join("managed");
    for (name, text) in managed {
        write(&folder, name, &text.to_string());
    }
    let home = rig.path().join("home");
    let env = Env::new([
        ("HOME", home.to_str().expect("text")),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("POSSE_MANAGED_DIR", folder.to_str().expect("text")),
    ]);
    let world = World { env, cwd: rig.path().to_owned(), ..World::default() };
    let catalog = Catalog::load(&world, &CatalogOptions::default()).expect("a catalog");
    let configs = configs.iter().map(|servers| json!({"mcpServers": servers}).to_string()).collect();
    let found: Found =
        config::read(&world, &catalog, &McpOptions { configs, ..McpOptions::default() }).expect("servers");
    let setup = Setup {
        world: Arc::new(world),
        desk: rig.desk.clone(),
        roots: vec![rig.path().to_owned()],
        limits: rig.limits,
        host: None,
    };
    Servers::of(setup, found)
}

fn given(servers: Value) -> Vec<(Box<str>, Result<McpConfig, String>)> {
    read_given(servers.as_object().expect("an object"))
}

fn shell(mode: &str) -> Value {
    json!({"command": "sh", "args": [SCRIPT, mode]})
}

/// What came of it in a line: added, removed, and who is wrong.
async fn give(servers: &Servers, other: Value) -> String {
    let Reset { added, removed, errors } = servers.give(given(other)).await;
    let wrong: Vec<String> = errors.keys().map(ToString::to_string).collect();
    format!("+{} -{} !{}", added.join(","), removed.join(","), wrong.join(","))
}

fn states(servers: &Servers) -> String {
    let words = servers.status().into_iter().map(|one| format!("{}:{}", one.name, one.state.word()));
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_process_that_two_names_share_ends_with_the_second() {
    let mut rig = Rig::new();
    rig.limits.grace = Duration::ZERO;
    let servers = session(&rig, &[], &[json!({"flag": shell("a")})]);
    let lease = Arc::new(servers.lease("flag", MAIN).unwrap());
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "call 1");
    assert_eq!(give(&servers, json!({"same": shell("a")})).await, "+same - !");
    assert_eq!(rig.started().len(), 1, "the same program is one process");
    assert_eq!(give(&servers, json!({})).await, "+ -same !");
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "call 2", "it is still there");
    servers.switch("flag", false).await.unwrap();
    assert!(!Rig::is_running(rig.started()[0]));
    assert!(!lease.is_current());
    let refused = lease.call("echo", serde_json::Map::new(), CallOptions::default()).await;
    let off = McpError::Dismissed { server: "flag".into(), how: "is switched off" };
    assert_eq!(refused.err(), Some(off.clone()));
    assert_eq!((servers.check("flag"), states(&servers).as_str()), (Err(off), "flag:disabled"));
    servers.switch("flag", true).await.unwrap();
    assert!(!lease.is_current(), "whoever held the old one has to take the new one");
    let fresh = Arc::new(servers.lease("flag", MAIN).unwrap());
    assert_eq!(text(&call(&fresh, "echo", json!({}), &rig.cx()).await), "call 1");
    // The old one is let go of late, which is nothing to the new one.
    drop(lease);
    settled(&servers).await;
    assert_eq!(text(&call(&fresh, "echo", json!({}), &rig.cx()).await), "call 2");
    rig.end(&servers).await;
}

#[tokio::test]
async fn every_change_is_told_and_what_stays_is_not_touched() {
    let rig = Rig::new();
    let servers = session(&rig, &[], &[]);
    let before = servers.version();
    assert_eq!(give(&servers, json!({"a": shell("a"), "b": shell("b")})).await, "+a,b - !");
    assert!(servers.version() > before);
    assert_eq!(states(&servers), "a:connected b:connected");
    let before = servers.version();
    assert_eq!(give(&servers, json!({"a": shell("a"), "b": shell("b")})).await, "+ - !");
    assert_eq!((servers.version(), rig.started().len()), (before, 2));
    assert_eq!(
        give(&servers, json!({"a": shell("other"), "c": {"type": "http"}, "": shell("x")})).await,
        "+a -b !,c"
    );
    let running = rig.started().into_iter().filter(|id| Rig::is_running(*id)).count();
    assert_eq!((running, states(&servers).as_str()), (1, "a:connected"));
    // Another server of the name is not the one that was switched off.
    servers.switch("a", false).await.unwrap();
    assert_eq!(give(&servers, json!({"a": shell("third")})).await, "+a - !");
    assert_eq!(states(&servers), "a:connected");
    for (name, on) in [("x", true), ("x", false)] {
        assert_eq!(servers.switch(name, on).await, Err(McpError::Unknown { server: "x".into() }));
    }
    rig.end(&servers).await;
}

#[tokio::test]
async fn whoever_decides_about_servers_decides_about_those_of_the_host() {
    let settings = |settings: Value| ("managed-settings.json", settings);
    let file = ("managed-mcp.json", json!({"mcpServers": {}}));
    for (managed, want) in [
        (vec![], "+good - !"),
        (vec![file], "+ - !good"),
        (vec![settings(json!({"deniedMcpServers": [{"serverName": "good"}]}))], "+ - !good"),
        (vec![settings(json!({"allowedMcpServers": [{"serverName": "other"}]}))], "+ - !good"),
        (vec![settings(json!({"allowedMcpServers": [{"serverName": "good"}]}))], "+good - !"),
        (vec![settings(json!({"disableSideloadFlags": true}))], "+ - !good"),
    ] {
        let rig = Rig::new();
        let servers = session(&rig, &managed, &[]);
        assert_eq!(give(&servers, json!({"good": shell("good")})).await, want, "{managed:?}");
        assert_eq!(rig.started().is_empty(), want.starts_with("+ "), "what is refused is not started");
        rig.end(&servers).await;
    }
}

#[tokio::test]
async fn a_list_that_was_made_by_hand_takes_no_others() {
    let rig = Rig::new();
    let servers = rig.servers(vec![configured("a", script("a"))]);
    assert_eq!(give(&servers, json!({"b": shell("b")})).await, "+ - !b");
    assert_eq!(states(&servers), "a:pending");
    rig.end(&servers).await;
}
