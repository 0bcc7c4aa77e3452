use serde_json::json;

use super::*;

fn applied(body: Value) -> (LaunchRequest, Declared) {
    let mut request = LaunchRequest::default();
    let declared = apply(body.as_object().expect("an object"), Delivery::default(), &mut request);
    (request, declared)
}

#[test]
fn what_a_host_brings_along_is_launched_with() {
    let (request, declared) = applied(json!({
        "systemPrompt": ["one", "two"],
        "appendSystemPrompt": "three",
        "jsonSchema": { "type": "object" },
        "agents": { "helper": { "description": "d", "prompt": "p" } },
        "sdkMcpServers": ["sums"],
        "skills": ["tidy"],
        "perTaskStopAffordance": true,
        "forwardSubagentText": true,
        "hooks": {
            "PreToolUse": [
                { "matcher": "Bash", "hookCallbackIds": ["h0", "h1"], "timeout": 1.5, "onFailure": "block" },
            ],
            "FromTheFuture": [{ "hookCallbackIds": ["h2"] }],
        },
        "unheard_of": [1],
    }));
    assert_eq!(request.system_prompt.as_deref(), Some("one\n\ntwo"));
    assert_eq!(request.append_system_prompt.as_deref(), Some("three"));
    assert_eq!(request.json_schema, Some(json!({ "type": "object" })));
    assert!(request.catalog.agents.unwrap().contains("helper"));
    assert_eq!(request.skills, Some(vec!["tidy".to_owned()]));
    assert!(request.mcp_configs[0].contains(r#""type":"sdk""#));
    assert!(declared.stops_tasks_itself && declared.hears_agents && declared.has_hooks);
    assert_eq!(request.callbacks.len(), 2);
    let hook = &request.callbacks[1];
    assert_eq!((&*hook.id, hook.event, hook.matcher.as_deref()), ("h1", HookEvent::PreToolUse, Some("Bash")));
    assert_eq!((hook.timeout, hook.blocks_on_failure), (Some(Duration::from_millis(1500)), true));
    assert!(declared.notes[0].contains("FromTheFuture"));
}

#[test]
fn agents_of_a_host_join_those_of_the_flag_and_nonsense_changes_nothing() {
    let mut request = LaunchRequest::default();
    request.catalog.agents = Some(r#"{"a": {"description": "x"}}"#.into());
    let body = json!({ "agents": { "b": { "description": "y" } } });
    apply(body.as_object().unwrap(), Delivery::default(), &mut request);
    let agents: Value = serde_json::from_str(request.catalog.agents.as_deref().unwrap()).unwrap();
    assert_eq!(agents.as_object().unwrap().len(), 2);
    let body = json!({
        "systemPrompt": 7, "agents": [], "hooks": { "Stop": { "x": 1 } }, "sdkMcpServers": "s",
        "jsonSchema": "text",
    });
    let (request, declared) = applied(body);
    assert!(request.system_prompt.is_none() && request.json_schema.is_none() && request.callbacks.is_empty());
    assert!(declared.has_hooks && declared.notes.is_empty());
}

#[test]
fn plugins_and_an_administrators_settings_come_only_where_they_are_waited_for() {
    let body = json!({
        "plugins": [{ "type": "local", "path": "/p" }, { "type": "local" }],
        "managedSettings": { "permissions": { "deny": ["Bash"] } },
    });
    for waits in [false, true] {
        let mut request = LaunchRequest::default();
        let delivery = Delivery { plugins: waits, managed: waits };
        let declared = apply(body.as_object().unwrap(), delivery, &mut request);
        assert_eq!(
            (request.catalog.plugin_dirs.len(), request.catalog.parent.is_some()),
            (usize::from(waits), waits)
        );
        assert_eq!((declared.plugins.map(|all| all.len()), declared.managed), (Some(1), Some(waits)));
    }
}

#[test]
fn a_host_vouches_for_a_folder_it_names() {
    let table = [
        (json!({ "accepted": true, "directory": "/p" }), Some("/p")),
        (json!({ "accepted": true, "directory": "p" }), None),
        (json!({ "accepted": true }), None),
        (json!({ "accepted": false, "directory": "/p" }), None),
        (json!("yes"), None),
    ];
    for (trust, folder) in table {
        assert_eq!(vouched(Some(&trust)), folder.map(PathBuf::from), "{trust}");
    }
}
