use serde_json::json;

use super::*;

#[test]
fn only_what_takes_away_is_kept() {
    let table = [
        (json!({"permissions": {"deny": ["Bash"]}}), json!({"permissions": {"deny": ["Bash"]}}), ""),
        (json!({"permissions": {"allow": ["Bash"]}}), json!({}), "permissions.allow"),
        (
            json!({"permissions": {"allow": ["Bash"], "ask": ["Read"], "defaultMode": "plan"}}),
            json!({"permissions": {"ask": ["Read"]}}),
            "permissions.allow permissions.defaultMode",
        ),
        (json!({"disableAllHooks": "yes"}), json!({"allowManagedHooksOnly": true}), ""),
        (json!({"disableAllHooks": "false"}), json!({}), "disableAllHooks"),
        (json!({"allowedHttpHookUrls": []}), json!({"allowedHttpHookUrls": []}), ""),
        (json!({"allowedHttpHookUrls": ["*"]}), json!({}), "allowedHttpHookUrls"),
        (
            json!({"sandbox": {"enabled": true, "network": {"allowManagedDomainsOnly": true, "allowedDomains": ["x"]}}}),
            json!({"sandbox": {"enabled": true, "network": {"allowManagedDomainsOnly": true}}}),
            "sandbox.network.allowedDomains",
        ),
        (
            json!({"sandbox": {"enabled": false, "allowUnsandboxedCommands": true}}),
            json!({}),
            "sandbox.enabled sandbox.allowUnsandboxedCommands",
        ),
        (
            json!({"sandbox": {"filesystem": {"denyRead": ["~"]}}}),
            json!({"sandbox": {"filesystem": {"denyRead": ["~"]}}}),
            "",
        ),
        (json!({"budget": {"usd": 1}}), json!({"budget": {"usd": 1}}), ""),
        (json!({"hooks": {}, "env": {}, "model": "opus"}), json!({}), "env hooks model"),
        (json!({"permissions": "all"}), json!({}), "permissions"),
    ];
    for (given, kept, dropped) in table {
        let Value::Object(map) = &given else { panic!("{given}") };
        let (found, mut left_out) = restrictive(map);
        left_out.sort_unstable_by_key(|key| dropped.find(key.as_str()).unwrap_or(usize::MAX));
        assert_eq!((Value::Object(found), left_out.join(" ").as_str()), (kept, dropped), "{given}");
    }
}
