use std::collections::BTreeSet;

use super::all;
use super::trial::Trial;

#[test]
fn names_are_unique_and_descriptions_short() {
    let mut names = BTreeSet::new();
    for tool in all() {
        let spec = tool.spec();
        assert!(names.insert(spec.name.clone()), "{} is there twice", spec.name);
        // Every request carries them, names, descriptions and schemas.
        let size = spec.name.len() + spec.description.len() + spec.input_schema.to_string().len();
        let most = match &*spec.name {
            "Grep" => 1_500,
            "Bash" => 1_350,
            "AskUserQuestion" => 1_600,
            "TaskUpdate" | "ExitPlanMode" => 850,
            _ => 800,
        };
        assert!(size <= most, "{}: {size} bytes", spec.name);
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
    }
}

#[test]
fn what_changes_something_runs_alone() {
    let alone: Vec<String> = all()
        .iter()
        .filter(|tool| {
            let input = serde_json::json!({
                "pattern": "x", "url": "https://example.com", "prompt": "x", "query": "xx", "taskId": "1",
                "todos": [], "subject": "x", "description": "x",
                "questions": [{ "question": "?", "header": "x", "options": [] }],
            });
            tool.runs_alone(&input)
        })
        .map(|tool| tool.name().to_owned())
        .collect();
    for name in ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TaskCreate", "TaskUpdate", "TodoWrite"]
    {
        assert!(alone.iter().any(|alone| alone == name), "{name} must run alone");
    }
    for name in ["Grep", "Glob", "WebFetch", "WebSearch", "TaskGet", "TaskList", "ToolSearch"] {
        assert!(!alone.iter().any(|alone| alone == name), "{name} need not run alone");
    }
}

#[tokio::test]
async fn input_that_does_not_fit_is_answered_and_not_run() {
    let trial = Trial::new();
    // Those that need nothing have nothing that could be missing.
    let needs_nothing = ["EnterPlanMode", "ExitPlanMode", "TaskList"];
    for tool in all().iter().filter(|tool| !needs_nothing.contains(&tool.name())) {
        let answer = trial.ask(&**tool, serde_json::json!({ "nonsense": true })).await;
        assert!(answer.is_error && answer.text.contains("does not fit"), "{}: {answer:?}", tool.name());
    }
}
