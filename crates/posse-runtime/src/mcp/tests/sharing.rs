//! One process per distinct server, however many use it.

use super::*;

#[tokio::test]
async fn fifty_agents_with_five_servers_make_five_processes_and_none_is_left() {
    let rig = Rig::new();
    let names = ["a", "b", "c", "d", "e"];
    let all = names.map(|name| configured(name, script(name)));
    let servers = rig.servers(all.to_vec());
    let cx = rig.cx();
    let mut leases = Vec::new();
    for agent in 0..50 {
        for name in names {
            let agent = agent.to_string();
            leases.push(Arc::new(servers.lease(name, Holder { agent: &agent, own: false }).unwrap()));
        }
    }
    assert!(rig.started().is_empty(), "a lease starts nothing");
    let calls = leases.iter().map(|lease| call(lease, "echo", json!({}), &cx));
    for output in futures_util::future::join_all(calls).await {
        assert!(!output.is_error && text(&output).starts_with("call "), "{output:?}");
    }
    assert_eq!(rig.started().len(), 5);
    let states: Vec<_> = servers.status().iter().map(|one| (one.state, one.tools)).collect();
    assert_eq!(states, [(State::Connected, Some(5)); 5]);
    rig.end(&servers).await;
    let refused = leases[0].call("echo", serde_json::Map::new(), CallOptions::default()).await;
    assert_eq!(refused.err(), Some(McpError::Over), "nothing is started after the end");
    assert_eq!(rig.started().len(), 5);
}

#[tokio::test]
async fn with_a_kept_list_nothing_is_started_before_it_is_called() {
    let rig = Rig::new();
    let first = rig.servers(vec![configured("a", script("a"))]);
    let lease = first.lease("a", MAIN).unwrap();
    assert_eq!(lease.known(), None);
    first.prepare(std::slice::from_ref(&lease)).await;
    assert_eq!(rig.started().len(), 1);
    rig.end(&first).await;

    let second = rig.servers(vec![configured("a", script("a"))]);
    let lease = Arc::new(second.lease("a", MAIN).unwrap());
    assert_eq!(lease.known().unwrap().tools.len(), 5);
    second.prepare(&[second.lease("a", MAIN).unwrap()]).await;
    assert_eq!(second.status()[0].state, State::Pending);
    assert_eq!(rig.started().len(), 1);
    let mut changes = second.changes();
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "call 1");
    assert_eq!(rig.started().len(), 2);
    assert!(changes.try_recv().is_err(), "what is as it was is no news");
    rig.end(&second).await;

    // Only the owner can read what was kept.
    use std::os::unix::fs::PermissionsExt as _;
    let kept = rig.path().join("home/.claude/posse/mcp/tools");
    let file = std::fs::read_dir(kept).unwrap().next().unwrap().unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_list_that_is_not_the_kept_one_is_told() {
    let rig = Rig::new();
    let config = || vec![configured("a", script("a"))];
    let first = rig.servers(config());
    first.prepare(&[first.lease("a", MAIN).unwrap()]).await;
    rig.end(&first).await;

    rig.list(&json!([tool("echo"), tool("new")]));
    let second = rig.servers(config());
    let lease = Arc::new(second.lease("a", MAIN).unwrap());
    let mut changes = second.changes();
    call(&lease, "echo", json!({}), &rig.cx()).await;
    assert_eq!(changes.try_recv(), Ok(Change { server: "a".into() }));
    assert_eq!(lease.known().unwrap().tools[1].name, "new");
    rig.end(&second).await;
}

#[tokio::test]
async fn a_server_that_says_its_list_changed_is_asked_again() {
    let rig = Rig::new();
    let servers = rig.servers(vec![configured("a", script("a"))]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    lease.facts().await.unwrap();
    let mut changes = servers.changes();
    assert_eq!(text(&call(&lease, "relist", json!({}), &rig.cx()).await), "another list");
    assert_eq!(changes.recv().await, Ok(Change { server: "a".into() }));
    assert_eq!(lease.known().unwrap().tools[0].name, "fresh");
    rig.end(&servers).await;
}

#[tokio::test]
async fn an_agent_s_own_server_ends_with_the_last_who_uses_it() {
    let rig = Rig::new();
    let servers = rig.servers(Vec::new());
    let own = |agent| servers.lease_of("a", &script("a"), Holder { agent, own: true });
    let (one, other) = (Arc::new(own("1")), Arc::new(own("2")));
    call(&one, "echo", json!({}), &rig.cx()).await;
    assert_eq!(text(&call(&other, "echo", json!({}), &rig.cx()).await), "call 2", "the same process");
    let id = rig.started()[0];
    drop(one);
    assert_eq!(text(&call(&other, "echo", json!({}), &rig.cx()).await), "call 3");
    drop(other);
    settled(&servers).await;
    assert!(!Rig::is_running(id));
    assert_eq!(servers.status(), []);
    // The next agent begins anew.
    let third = Arc::new(own("3"));
    assert_eq!(text(&call(&third, "echo", json!({}), &rig.cx()).await), "call 1");
    rig.end(&servers).await;
}

#[tokio::test]
async fn a_shared_server_outlives_its_users_for_a_while() {
    let mut rig = Rig::new();
    let servers = rig.servers(vec![configured("a", script("a"))]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    call(&lease, "echo", json!({}), &rig.cx()).await;
    drop(lease);
    let again = Arc::new(servers.lease("a", MAIN).unwrap());
    assert_eq!(text(&call(&again, "echo", json!({}), &rig.cx()).await), "call 2");
    rig.end(&servers).await;

    rig.limits.grace = Duration::ZERO;
    let servers = rig.servers(vec![configured("a", script("a"))]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    call(&lease, "echo", json!({}), &rig.cx()).await;
    let id = *rig.started().last().unwrap();
    assert!(Rig::is_running(id));
    drop(lease);
    settled(&servers).await;
    assert!(!Rig::is_running(id));
    rig.end(&servers).await;
}

#[tokio::test]
async fn a_server_that_remembers_is_not_shared_among_agents() {
    let rig = Rig::new();
    let config = McpConfig { stateful: true, ..script("a") };
    let servers = rig.servers(vec![configured("a", config)]);
    let lease = |agent| Arc::new(servers.lease("a", Holder { agent, own: false }).unwrap());
    let (one, same, other) = (lease("1"), lease("1"), lease("2"));
    assert_eq!(text(&call(&one, "echo", json!({}), &rig.cx()).await), "call 1");
    assert_eq!(text(&call(&same, "echo", json!({}), &rig.cx()).await), "call 2");
    assert_eq!(text(&call(&other, "echo", json!({}), &rig.cx()).await), "call 1");
    let ids = rig.started();
    assert_eq!(ids.len(), 2);
    drop(other);
    settled(&servers).await;
    assert!(Rig::is_running(ids[0]) && !Rig::is_running(ids[1]));
    rig.end(&servers).await;
}

#[tokio::test]
async fn what_is_configured_reaches_the_program() {
    let rig = Rig::new();
    let below = rig.path().join("below");
    std::fs::create_dir(&below).unwrap();
    std::fs::copy(rig.path().join("tools.json"), below.join("tools.json")).unwrap();
    let Reach::Stdio { command, args, .. } = script("a").reach else { unreachable!() };
    let env = vec![("SECRET".into(), "s3cret".into())];
    let config = McpConfig::new(Reach::Stdio { command, args, env, cwd: Some("below".into()) });
    let servers = rig.servers(vec![configured("a", config)]);
    let lease = Arc::new(servers.lease("a", MAIN).unwrap());
    let said = text(&call(&lease, "environment", json!({}), &rig.cx()).await);
    let real = below.canonicalize().unwrap();
    assert_eq!(said, format!("s3cret in {} at {}/home", real.display(), rig.path().display()));
    servers.shutdown().await;
}
