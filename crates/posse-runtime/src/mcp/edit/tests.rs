use serde_json::json;

use super::*;

#[track_caller]
fn check(text: &str, path: &[&str], value: Option<Value>, want: &str) {
    let after = changed(text, path, value.as_ref()).unwrap();
    assert_eq!(after, want);
    // Whoever reads it again finds what was written, and nothing else is other than it was.
    let (read, before): (Value, Value) =
        (serde_json::from_str(&after).unwrap(), serde_json::from_str(text).unwrap());
    let found = path.iter().try_fold(&read, |node, key| node.get(key));
    assert_eq!(found, value.as_ref());
    for (key, kept) in before.as_object().unwrap() {
        if key != path[0] {
            assert_eq!(&read[key], kept);
        }
    }
}

#[test]
fn a_server_is_added_replaced_and_taken_out() {
    let server = || Some(json!({"command": "c"}));
    let empty = "{}\n";
    let one = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"c\"\n    }\n  }\n}\n";
    check(empty, &["mcpServers", "a"], server(), one);
    check(one, &["mcpServers", "a"], server(), one);
    check(one, &["mcpServers", "a"], None, "{\n  \"mcpServers\": {\n    \n  }\n}\n");
    check(empty, &["mcpServers", "a"], None, empty);
    // Numbers no computer can hold and the layout of others survive.
    let others = "{\"big\": 123456789012345678901234567890.10,\n\n \"mcpServers\": {\"x\": {}, \"y\": {}}}";
    check(
        others,
        &["mcpServers", "x"],
        None,
        "{\"big\": 123456789012345678901234567890.10,\n\n \"mcpServers\": {\"y\": {}}}",
    );
    check(
        others,
        &["mcpServers", "y"],
        None,
        "{\"big\": 123456789012345678901234567890.10,\n\n \"mcpServers\": {\"x\": {}}}",
    );
    let deep =
        changed("{\"projects\": {}}", &["projects", "/p", "mcpServers", "a"], server().as_ref()).unwrap();
    let read: Value = serde_json::from_str(&deep).unwrap();
    assert_eq!(read, json!({"projects": {"/p": {"mcpServers": {"a": {"command": "c"}}}}}));
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    for text in ["{", "[]", "{\"mcpServers\": []}", "{\"mcpServers\": 5}"] {
        assert!(changed(text, &["mcpServers", "a"], Some(&json!({}))).is_err(), "{text}");
    }
}
