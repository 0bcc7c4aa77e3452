use super::*;

#[test]
fn a_setting_is_found_again_where_it_was_written() {
    let table = [
        ("model", "model"),
        ("permissions.allow", "permissions/allow"),
        ("sandbox.network.allowedDomains", "sandbox/network/allowedDomains"),
        ("env.A.B", "env/A.B"),
        ("enabledPlugins.x.y@z", "enabledPlugins/x.y@z"),
        ("un.known", "un.known"),
    ];
    for (key, path) in table {
        assert_eq!(path_of(key).join("/"), path);
    }
}

#[test]
fn values_that_look_secret_are_not_told() {
    let mut settings = json!({"env": {
        "ANTHROPIC_API_KEY": "sk", "GITHUB_TOKEN": "x", "db_password": "y", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "5", "A": "b",
    }});
    hide_secrets(&mut settings);
    let shown = json!({"env": {
        "ANTHROPIC_API_KEY": HIDDEN, "GITHUB_TOKEN": HIDDEN, "db_password": HIDDEN,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "5", "A": "b",
    }});
    assert_eq!(settings, shown);
}
