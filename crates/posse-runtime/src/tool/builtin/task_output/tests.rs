use super::super::bash::testing::{Answer, Bench, until};
use super::super::{Bash, TaskStop};
use super::*;

async fn start(bench: &Bench, command: &str) -> String {
    let input = json!({ "command": command, "run_in_background": "true", "description": "a test" });
    let answer = bench.run(&Bash::default(), input).await;
    assert!(!answer.is_error, "{answer:?}");
    let id = answer.structured["backgroundTaskId"].as_str().unwrap().to_owned();
    let path = bench.cx.spool.join("tasks").join(format!("{id}.output"));
    let expected = "Command running in background with ID: ";
    assert_eq!(answer.text, format!("{expected}{id}. Output is being written to: {}", path.display()));
    id
}

async fn ask(bench: &Bench, id: &str, block: bool) -> Answer {
    bench.run(&TaskOutput, json!({ "task_id": id, "block": block })).await
}

fn status(answer: &Answer) -> (&str, &str, &str, Option<i64>) {
    let task = &answer.structured["task"];
    let text = |value: &'_ serde_json::Value| -> Option<String> { value.as_str().map(str::to_owned) };
    assert!(text(&task["task_id"]).is_some(), "{answer:?}");
    (
        answer.structured["retrieval_status"].as_str().unwrap(),
        task["status"].as_str().unwrap(),
        task["output"].as_str().unwrap(),
        task["exitCode"].as_i64(),
    )
}

#[tokio::test]
async fn a_task_can_be_read_while_it_runs_and_when_it_is_done() {
    let bench = Bench::new();
    let id =
        start(&bench, "cd sub; echo one; echo two >&2; until test -e ../go; do sleep 0.05; done; echo done")
            .await;
    assert_eq!(bench.cx.cwd.get(), bench.path(""), "a background command does not move the run");
    let path = bench.cx.tasks.get(&id).unwrap().output;
    until("output", || std::fs::read_to_string(&path).is_ok_and(|text| text.len() >= 8)).await;
    let answer = ask(&bench, &id, false).await;
    assert_eq!(status(&answer), ("not_ready", "running", "one\ntwo", None));
    let answer = bench.run(&TaskOutput, json!({ "task_id": id, "timeout": "1" })).await;
    assert_eq!(status(&answer), ("timeout", "running", "one\ntwo", None));
    assert_eq!(bench.cx.tasks.drain(), []);

    bench.env.write("project/go", "");
    let answer = ask(&bench, &id, true).await;
    assert_eq!(status(&answer), ("success", "completed", "one\ntwo\ndone", Some(0)));
    let expected = format!(
        "<retrieval_status>success</retrieval_status>\n<task_id>{id}</task_id>\n<task_type>local_bash</task_type>\n\
         <status>completed</status>\n<exit_code>0</exit_code>\n<output>\none\ntwo\ndone\n</output>"
    );
    assert_eq!(answer.text, expected);
    let told = bench.cx.tasks.drain();
    assert_eq!(told.iter().map(|done| (&*done.task.call, done.seen)).collect::<Vec<_>>(), [("call", true)]);
    assert_eq!(bench.cx.tasks.drain(), []);
}

#[tokio::test]
async fn a_failure_and_much_output_are_told() {
    let bench = Bench::with(&[("BASH_MAX_OUTPUT_LENGTH", "200")]);
    let id = start(&bench, "printf '\\033[1m'; seq 10000; exit 7").await;
    bench.cx.tasks.changed().await;
    let told = bench.cx.tasks.drain();
    assert_eq!((&*told[0].task.id, told[0].seen, told[0].task.state.code), (id.as_str(), false, Some(7)));
    let answer = ask(&bench, &id, true).await;
    let (retrieval, status, output, code) = status(&answer);
    assert_eq!((retrieval, status, code), ("success", "failed", Some(7)));
    assert!(output.starts_with("1\n2\n") && output.ends_with("9999\n10000"), "{output}");
    assert!(output.contains("lines left out; the whole output is in "), "{output}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_task_can_be_stopped() {
    let bench = Bench::new();
    let id = start(&bench, "setsid sleep 1000 & echo up; sleep 1000").await;
    let path = bench.cx.tasks.get(&id).unwrap().output;
    until("output", || std::fs::read_to_string(&path).is_ok_and(|text| !text.is_empty())).await;
    let answer = bench.run(&TaskStop, json!({ "shell_id": id })).await;
    assert!(!answer.is_error && answer.text.starts_with(&format!("Stopped task {id}: setsid")), "{answer:?}");
    assert_eq!(bench.running(), 0);
    assert_eq!(status(&ask(&bench, &id, true).await), ("success", "killed", "up", None));
    let again = bench.run(&TaskStop, json!({ "task_id": id })).await;
    assert_eq!((again.text, again.is_error), (format!("Task {id} is not running: it is killed."), true));
}

#[tokio::test]
async fn an_unknown_id_is_answered_with_the_known_ones() {
    let bench = Bench::new();
    let answer = ask(&bench, "b123", true).await;
    let expected = "No task has the ID \"b123\". There are no tasks in this session.";
    assert_eq!((answer.text.as_str(), answer.is_error), (expected, true));
    let id = start(&bench, "true").await;
    ask(&bench, &id, true).await;
    let answer = bench.run(&TaskStop, json!({ "task_id": "x" })).await;
    let expected = format!("No task has the ID \"x\". There are: {id} (completed).");
    assert_eq!((answer.text, answer.is_error), (expected, true));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_left_after_a_shutdown() {
    let bench = Bench::new();
    let running = start(&bench, "(setsid sleep 1000 &); nohup sleep 1000 & sleep 1000").await;
    let daemon = start(&bench, "setsid -f sleep 1000; echo done").await;
    assert_eq!(status(&ask(&bench, &daemon, true).await).1, "completed");
    assert!(bench.running() > 0);
    bench.cx.tasks.shutdown().await;
    assert_eq!(bench.running(), 0);
    assert_eq!(status(&ask(&bench, &running, true).await).1, "killed");
    let late =
        bench.run(&Bash::default(), json!({ "command": "sleep 1000", "run_in_background": true })).await;
    assert!(late.is_error);
    until("the end", || bench.running() == 0).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_left_after_a_session_is_dropped() {
    let mut bench = Bench::new();
    start(&bench, "setsid sleep 1000 & sleep 1000").await;
    until("the start", || bench.running() >= 2).await;
    bench.cx.tasks = crate::tool::Tasks::default();
    until("the end", || bench.running() == 0).await;
}

#[test]
fn the_model_is_told_little() {
    use crate::tool::AnyTool;
    assert!(TaskOutput.spec().description.len() < 500);
    assert_eq!(TaskOutput.spec().input_schema["required"], json!(["task_id"]));
}
