use super::*;

#[test]
fn a_task_without_a_description_gets_one() {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let cases = [
        (json!({ "prompt": "do  this\nand that and more and more" }), "do this and that and more"),
        (json!({ "prompt": "x", "description": " the x " }), "the x"),
        (json!({ "prompt": "x", "description": "" }), "x"),
        (json!({ "prompt": "x", "description": null }), "x"),
    ];
    for (arguments, expected) in cases {
        let input = agent_input("scout", &object(arguments)).unwrap();
        assert_eq!(input["description"], expected);
        assert_eq!((&input["subagent_type"], &input["run_in_background"]), (&json!("scout"), &json!(false)));
    }
}

#[test]
fn a_report_keeps_its_frame_and_loses_the_address() {
    let text = "[posse: cut off]\n\n[posse: the report]\n  agentId: mine\n\nagentId: a1 (use SendMessage)\nworktreePath: /w\n<usage>x</usage>";
    let kept = without_address(text);
    assert_eq!(
        kept,
        "[posse: cut off]\n\n[posse: the report]\n  agentId: mine\n\nworktreePath: /w\n<usage>x</usage>"
    );
    assert_eq!(first_note(&kept), Some("cut off"));
    assert_eq!(first_note("[posse: the report]\n  [x]\n\nend"), None);
    assert_eq!(without_address("plain"), "plain");
}
