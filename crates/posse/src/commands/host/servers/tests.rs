use super::*;

fn brought(body: Value) -> Brought {
    Brought::read(body.as_object().expect("an object"))
}

fn shown(rules: &[(Box<str>, Behavior)]) -> String {
    rules.iter().map(|(tool, behavior)| format!("{tool}={}", behavior.word())).collect::<Vec<_>>().join(" ")
}

#[test]
fn settings_of_servers_inside_the_host_are_read_and_nonsense_is_left_out() {
    let read = brought(json!({
        "sdkMcpServers": ["a", "b", 7],
        "sdkMcpServerConfigs": {
            "a": {"timeout": 5000, "tools": [
                {"name": "x", "permission_policy": "always_ask"},
                {"name": "y", "permission_policy": "always_deny"},
                {"name": "z", "permission_policy": "always_allow"},
                {"name": "w", "permission_policy": "sometimes"},
                {"name": "v"},
                {"permission_policy": "always_deny"},
                "u",
            ]},
            "b": {"timeout": "soon", "tools": {}},
            "c": {"timeout": 1},
        },
        "supportedDialogKinds": ["elicitation"],
    }));
    assert_eq!(
        read.configs,
        [
            r#"{"mcpServers":{"a":{"type":"sdk","name":"a","timeout":5000}}}"#,
            r#"{"mcpServers":{"b":{"type":"sdk","name":"b"}}}"#,
        ]
    );
    assert_eq!(read.rules.len(), 1);
    assert_eq!(shown(&read.rules[0].1), "mcp__a__x=ask mcp__a__y=deny mcp__a__w=ask");
    assert!(read.elicits && read.parked.is_none());
    assert!(!brought(json!({})).elicits);
}

#[test]
fn only_of_a_server_at_an_address_a_host_says_that_nothing_is_asked() {
    for (kind, want) in [("http", "mcp__s__t=allow"), ("sse", "mcp__s__t=allow"), ("sdk", ""), ("stdio", "")]
    {
        let config = json!({"type": kind, "tools": [{"name": "t", "permission_policy": "always_allow"}]});
        assert_eq!(shown(&tool_rules("s", &config)), want, "{kind}");
    }
}

#[test]
fn a_greeting_held_beforehand_is_kept_or_the_host_is_told_why_not() {
    let initialize = json!({"protocolVersion": PROTOCOL, "capabilities": {}});
    let cases = [
        (json!({"initializeResult": initialize}), "parked"),
        (json!({"initializeResult": initialize, "toolsListResult": {"tools": []}}), "parked"),
        (
            json!({"initializeResult": initialize, "toolsListResult": {"tools": [], "nextCursor": "2"}}),
            "malformed",
        ),
        (json!({"initializeResult": initialize, "toolsListResult": []}), "malformed"),
        (json!({"initializeResult": {"protocolVersion": "1999-01-01"}}), "protocol_version_mismatch"),
        (json!({"initializeResult": {}}), "malformed"),
        (json!({"initializeResult": "x"}), "malformed"),
        (json!({}), "malformed"),
        (json!(null), "malformed"),
    ];
    for (manifest, want) in cases {
        let read = brought(json!({"sdkMcpServers": ["a"], "sdkMcpServerManifests": {"a": manifest, "b": 1}}));
        assert_eq!(json!(read.parked), json!({"a": want}), "{manifest}");
        assert_eq!(read.greeted.len(), usize::from(want == "parked"));
    }
    let none = brought(json!({"sdkMcpServers": ["a", "b"], "sdkMcpServerManifests": 7}));
    assert_eq!(json!(none.parked), json!({"a": "malformed", "b": "malformed"}));
    let other = brought(json!({"sdkMcpServers": ["a"], "sdkMcpServerManifests": {}}));
    assert_eq!(json!(other.parked), json!({}));
    assert!(brought(json!({"sdkMcpServerManifests": {"a": {}}})).parked.is_none());
}
