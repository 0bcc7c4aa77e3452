use super::*;
use crate::tool::AnyTool;

#[test]
fn it_runs_alone_under_either_name_of_its_input() {
    assert!(TaskStop.spec().description.len() < 500);
    for name in ["task_id", "shell_id"] {
        let input: Input = serde_json::from_value(json!({ name: "b1" })).unwrap();
        assert_eq!(input.task_id, "b1");
        assert!(Tool::runs_alone(&TaskStop, &input));
    }
}
