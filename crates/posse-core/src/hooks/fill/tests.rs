use serde_json::json;

use super::*;

#[test]
fn a_prompt_holds_the_input_or_is_followed_by_it() {
    let input = json!({"a": 1});
    assert_eq!(prompt("Look at $ARGUMENTS!", &input), r#"Look at {"a":1}!"#);
    assert_eq!(prompt("Look", &input), "Look\n\n{\"a\":1}");
}

#[test]
fn paths_in_texts_are_replaced_by_what_stands_there() {
    let input =
        json!({"tool_name": "Bash", "tool_input": {"command": "ls", "list": [1, "two"]}, "nil": null});
    for (text, want) in [
        ("${tool_name}", "Bash"),
        ("ran ${tool_input.command} by ${tool_name}.", "ran ls by Bash."),
        ("${tool_input.list.1} ${tool_input.list}", r#"two [1,"two"]"#),
        ("${missing.path}|${nil}|${tool_input.list.9}", "||"),
        ("${unclosed", "${unclosed"),
        ("$tool_name {x}", "$tool_name {x}"),
    ] {
        assert_eq!(fill(text, &input), want, "{text}");
    }
    let written = crate::yaml::parse("{a: ['${tool_name}', 2, true, null], b: {c: 1.5}}").unwrap().root;
    assert_eq!(tool_input(Some(&written), &input), json!({"a": ["Bash", 2, true, null], "b": {"c": 1.5}}));
    assert_eq!(tool_input(None, &input), json!({}));
}
