//! `posse -p`, sessions and the demo, with a rehearsed model and real tools.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use super::*;

/// A world with a script for a model.
fn rehearsed(script: &str) -> TestEnv {
    let env = env();
    env.write("project/script.yaml", script);
    env
}

const MODEL: [&str; 2] = ["--model", "rehearsal:script.yaml"];

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}

fn kinds(lines: &[Value]) -> String {
    let kind = |line: &Value| match (line["type"].as_str(), line["subtype"].as_str()) {
        (Some("assistant"), _) => {
            format!("assistant:{}", line["message"]["content"][0]["type"].as_str().unwrap_or(""))
        }
        (Some(kind), Some(subtype)) => format!("{kind}/{subtype}"),
        (kind, _) => kind.unwrap_or("?").to_owned(),
    };
    lines.iter().map(kind).collect::<Vec<_>>().join(" ")
}

const LOOK_AND_ANSWER: &str = "
- say: I will look.
  calls:
    - Read: {file_path: \"{{cwd}}/a.txt\"}
- say: It says hello.
";

#[test]
fn text_is_just_the_answer() {
    let env = rehearsed(LOOK_AND_ANSWER);
    env.write("project/a.txt", "hello\n");
    let output = env.posse(&[&["-p", "what is in a.txt?"], &MODEL[..]].concat());
    assert_eq!(
        (output.code, output.stdout.as_str(), output.stderr.as_str()),
        (Some(0), "It says hello.\n", "")
    );
    let verbose = env.posse(&[&["-p", "what is in a.txt?", "--verbose"], &MODEL[..]].concat());
    assert!(verbose.stderr.contains("● Read") && verbose.stderr.contains("hello"), "{}", verbose.stderr);
}

#[test]
fn the_stream_has_the_lines_of_the_protocol() {
    let env = rehearsed(LOOK_AND_ANSWER);
    env.write("project/a.txt", "hello\n");
    env.agent("broken.md", "---\nname: broken\n---\n");
    let args = [&["-p", "go", "--output-format", "stream-json", "--verbose"], &MODEL[..]].concat();
    let lines = lines(&env.posse(&args).success());
    assert_eq!(
        kinds(&lines),
        "system/init assistant:text assistant:tool_use user assistant:text result/success"
    );
    let init = &lines[0];
    assert_eq!((&init["permissionMode"], &init["cwd"]), (&"default".into(), &"$ENV/project".into()));
    let tools = init["tools"].as_array().unwrap();
    assert!(tools.contains(&"Read".into()));
    // Where nobody can be asked and nothing waits to be loaded, there is nothing to ask or search with.
    for absent in ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "ToolSearch"] {
        assert!(!tools.contains(&absent.into()), "{absent}");
    }
    assert!(init["agents"].as_array().unwrap().contains(&"general-purpose".into()));
    assert_eq!(pluck(&init["agents_failed"], "/file"), "$ENV/project/.claude/agents/broken.md");
    let session = init["session_id"].as_str().unwrap();
    assert!(lines.iter().all(|line| line["session_id"] == session && line["uuid"].is_string()));
    assert_eq!(lines[1]["message"]["id"], lines[2]["message"]["id"]);
    assert!(lines[1]["parent_tool_use_id"].is_null() && lines[1].get("parent_tool_use_id").is_some());
    assert_eq!(lines[3]["message"]["content"][0]["tool_use_id"], lines[2]["message"]["content"][0]["id"]);
    let result = &lines[5];
    assert_eq!(result["result"], "It says hello.");
    assert_eq!(
        (&result["num_turns"], &result["is_error"], &result["stop_reason"]),
        (&2.into(), &false.into(), &"end_turn".into())
    );
    assert_eq!((&result["total_cost_usd"], &result["terminal_reason"]), (&0.0.into(), &"completed".into()));
    // The uuids of the stream are those of the transcript.
    let key = posse_runtime::session::project_key(&env.path("project").canonicalize().unwrap());
    let transcript = env.read(&format!("home/.claude/projects/{key}/{session}.jsonl"));
    for line in &lines[1..5] {
        assert!(transcript.contains(line["uuid"].as_str().unwrap()));
    }
}

#[test]
fn json_is_the_result_alone_and_errors_set_the_exit_code() {
    let env = rehearsed("- say: Hi.\n");
    let result =
        json(&env.posse(&[&["-p", "hello", "--output-format", "json"], &MODEL[..]].concat()).success());
    assert_eq!((&result["type"], &result["result"]), (&"result".into(), &"Hi.".into()));
    let env = rehearsed(&"- calls: [{Glob: {pattern: \"*\"}}]\n".repeat(5));
    let args = [&["-p", "go", "--output-format", "json", "--max-turns", "2"], &MODEL[..]].concat();
    let (stdout, _) = env.posse(&args).fails_with(1);
    let result = json(&stdout);
    assert_eq!((&result["subtype"], &result["num_turns"]), (&"error_max_turns".into(), &3.into()));
    assert_eq!(result["errors"][0], "Reached maximum number of turns (2)");
    // A script that ends too early is a failure with its cause.
    let env = rehearsed("[]");
    let (_, stderr) = env.posse(&[&["-p", "go"], &MODEL[..]].concat()).fails_with(1);
    assert!(stderr.contains("the script has 0 turns") && stderr.contains("hint:"), "{stderr}");
}

#[test]
fn a_prompt_can_come_from_standard_input() {
    use std::io::Write;
    let env = rehearsed("- say: Read.\n");
    let args = [&["-p", "summarise:", "--record", "run.jsonl"], &MODEL[..]].concat();
    let mut child = env
        .command()
        .args(args)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a long text\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(env.read("project/run.jsonl").contains("summarise:\\n\\na long text"));
    let (_, stderr) = env.posse(&["-p"]).fails_with(2);
    assert!(stderr.contains("there is no task"), "{stderr}");
}

#[test]
fn an_input_that_is_never_closed_does_not_keep_a_task_waiting() {
    let env = rehearsed("- say: Hi.\n");
    let args = [&["-p", "hello"], &MODEL[..]].concat();
    let mut child = env.command().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Held open, never written to.
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Hi.\n");
}

#[test]
fn conversations_are_continued_resumed_and_forked() {
    let env = rehearsed("- say: First answer.\n");
    let id = "11111111-2222-3333-4444-555555555555";
    let _ = env.posse(&[&["-p", "first question", "--session-id", id], &MODEL[..]].concat()).success();
    env.write("project/script.yaml", "- say: Second answer.\n");
    let record = |name: &str, more: &[&str]| {
        let args = [&["-p", "second question", "--record", name], more, &MODEL[..]].concat();
        assert_eq!(env.posse(&args).success(), "Second answer.\n");
        env.read(&format!("project/{name}"))
    };
    for (name, flags) in
        [("fork.jsonl", &["--resume", id, "--fork-session"][..]), ("resume.jsonl", &["--resume", id])]
    {
        let request = record(name, flags);
        assert!(request.contains("first question") && request.contains("First answer."), "{request}");
    }
    let listed = json(&env.posse(&["sessions", "--json"]).success());
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(pluck(&listed, "/title"), "first question first question");
    let request = record("continue.jsonl", &["--continue"]);
    assert_eq!(request.matches("second question").count(), 2, "the last conversation already had it once");
    let (_, stderr) = env.posse(&[&["-p", "x", "--resume", "nobody"], &MODEL[..]].concat()).fails_with(1);
    assert!(stderr.contains("No conversation found with session ID: nobody"), "{stderr}");
    let (_, stderr) = env.posse(&[&["-p", "x", "--session-id", id], &MODEL[..]].concat()).fails_with(1);
    assert!(stderr.contains("already in use"), "{stderr}");
    let env = rehearsed("- say: Gone.\n");
    let _ = env.posse(&[&["-p", "x", "--no-session-persistence"], &MODEL[..]].concat()).success();
    assert!(!env.path("home/.claude/projects").exists());
}

#[test]
fn a_recorded_run_replays_byte_for_byte() {
    let mut env = rehearsed(LOOK_AND_ANSWER);
    env.set("POSSE_SEED", "1").set("POSSE_CLOCK", "2026-01-02T03:04:05Z");
    env.write("project/a.txt", "hello\n");
    let stream = |model: &str, more: &[&str]| {
        let args = [
            "-p",
            "go",
            "--output-format",
            "stream-json",
            "--verbose",
            "--no-session-persistence",
            "--model",
            model,
        ];
        env.posse(&[&args, more].concat())
    };
    let first = stream("rehearsal:script.yaml", &["--record", "run.jsonl"]).success();
    let again =
        stream("rehearsal:run.jsonl", &[]).success().replace("rehearsal:run.jsonl", "rehearsal:script.yaml");
    assert_eq!(first, again);
    env.write("project/a.txt", "changed\n");
    let (stdout, _) = stream("rehearsal:run.jsonl", &[]).fails_with(1);
    let result = lines(&stdout).pop().unwrap();
    let said = result["result"].as_str().unwrap();
    assert!(
        said.contains("request 2 differs from the recording")
            && said.contains("+")
            && said.contains("changed"),
        "{said}"
    );
}

#[test]
fn tools_can_be_limited_allowed_and_refused() {
    let env = rehearsed(
        "- calls: [{Bash: {command: touch made}}, {Write: {file_path: w.txt, content: x}}]\n- say: ok\n",
    );
    let stream = |more: &[&str]| {
        let args = [&["-p", "go", "--output-format", "stream-json", "--verbose"], more, &MODEL[..]].concat();
        lines(&env.posse(&args).success())
    };
    let refused = stream(&[]);
    assert_eq!(pluck(&refused.last().unwrap()["permission_denials"], "/tool_name"), "Bash Write");
    assert!(kinds(&refused).contains("system/permission_denied"));
    assert!(!env.path("project/made").exists());
    let _ = stream(&["--allowedTools", "Bash", "--permission-mode", "acceptEdits"]);
    assert!(env.path("project/made").exists() && env.path("project/w.txt").exists());
    let few = stream(&["--tools", "Read,Grep", "--disallowedTools", "Grep"]);
    assert_eq!(few[0]["tools"], serde_json::json!(["Read"]));
    let none = stream(&["--tools", ""]);
    assert_eq!(none[0]["tools"], serde_json::json!([]));
}

#[test]
fn an_agent_can_be_the_main_agent() {
    let env = rehearsed("- say: As you say.\n");
    env.agent("poet.md", "---\nname: poet\ndescription: d\ntools: Read\ninitialPrompt: Think in verse.\n---\nYou are a poet.\n");
    let args = [
        &[
            "-p",
            "go",
            "--agent",
            "poet",
            "--output-format",
            "stream-json",
            "--verbose",
            "--record",
            "r.jsonl",
        ],
        &MODEL[..],
    ]
    .concat();
    let lines = lines(&env.posse(&args).success());
    assert_eq!(lines[0]["tools"], serde_json::json!(["Read"]));
    assert!(env.read("project/r.jsonl").contains("Think in verse.\\n\\ngo"));
    let (_, stderr) = env.posse(&[&["-p", "go", "--agent", "nobody"], &MODEL[..]].concat()).fails_with(1);
    assert!(stderr.contains("there is no agent called `nobody`") && stderr.contains("poet"), "{stderr}");
}

#[test]
fn an_answer_can_be_made_to_fit_a_schema() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let env = rehearsed("- calls: [{StructuredOutput: {n: many}}]\n- calls: [{StructuredOutput: {n: 3}}]\n");
    let args = [&["-p", "count", "--json-schema", schema, "--output-format", "json"], &MODEL[..]].concat();
    let result = json(&env.posse(&args).success());
    assert_eq!(result["structured_output"], serde_json::json!({"n": 3}));
    assert_eq!(result["result"], r#"{"n":3}"#);
    let (_, stderr) =
        env.posse(&[&["-p", "count", "--json-schema", r#"{"type": 7}"#], &MODEL[..]].concat()).fails_with(1);
    assert!(stderr.contains("--json-schema cannot be used"), "{stderr}");
}

/// Starts posse and waits for its first tool call; what it printed until then comes too.
pub(super) fn until_a_tool_runs(env: &TestEnv, args: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let mut command = env.command();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("posse starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut seen = String::new();
    while !seen.contains("\"tool_use\"") {
        assert!(out.read_line(&mut seen).expect("text") > 0, "{seen}");
    }
    (child, out, seen)
}

#[test]
fn signals_end_a_run_cleanly_and_the_conversation_can_go_on() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let env = rehearsed("- calls: [{Bash: {command: \"echo started; sleep 1000\"}}]\n");
        let args = [
            &["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"],
            &MODEL[..],
        ]
        .concat();
        let (mut child, mut out, mut seen) = until_a_tool_runs(&env, &args);
        let pid = i32::try_from(child.id()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
        std::io::Read::read_to_string(&mut out, &mut seen).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let result = lines(&seen).pop().unwrap();
        assert_eq!(
            (&result["subtype"], &result["terminal_reason"]),
            (&"error_during_execution".into(), &"aborted_tools".into())
        );
        env.write("project/script.yaml", "- say: Going on.\n");
        assert_eq!(
            env.posse(&[&["-p", "again", "--continue"], &MODEL[..]].concat()).success(),
            "Going on.\n"
        );
    }
}

#[test]
fn killed_at_any_moment_a_conversation_can_be_resumed() {
    // Where there are no minders, nothing can stop what a killed posse had started, so it must end by itself.
    let script = "- calls: [{Bash: {command: sleep 3}}]\n";
    let env = rehearsed(script);
    let args =
        [&["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"], &MODEL[..]]
            .concat();
    let (mut child, _, _) = until_a_tool_runs(&env, &args);
    child.kill().unwrap();
    child.wait().unwrap();
    env.write("project/script.yaml", "- say: Still here.\n");
    let args = [&["-p", "what happened?", "--continue", "--record", "r.jsonl"], &MODEL[..]].concat();
    assert_eq!(env.posse(&args).success(), "Still here.\n");
    assert!(env.read("project/r.jsonl").contains("The session ended before this tool answered."));
}

#[test]
fn the_demo_works_without_a_key_and_cleans_up() {
    let mut env = env();
    env.write("tmp/mine", "");
    let temporary = env.path("tmp");
    env.set("TMPDIR", &temporary.display().to_string());
    let text = env.posse(&["demo"]).success();
    for part in [
        "The tests of this project fail.",
        "● Bash  sh test.sh",
        "FAIL  an order of exactly 100.00 does too: wanted 90.00, got 100.00",
        "Explore ● Read  receipt.sh",
        "reviewer ● Read  README.md",
        "receipt.sh:9: an order of exactly 100.00 gets no discount",
        "general-purpose ● Edit  receipt.sh",
        "ok    an order of exactly 100.00 does too",
        "● Bash  git merge",
        "Give the discount from 100.00 on",
        "verification (try to break it): in the background",
        "    │     201 ok",
        "All four cases pass,",
        "Who did what",
        "├─ general-purpose fixer  mend the comparison",
        "└─ verification &  try to break it",
        "What to try next",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for sign in ["crashed", "failed,", "posse: the set-in"] {
        assert!(!text.contains(sign), "{sign} in\n{text}");
    }
    assert!(!env.path("home/.claude/projects").exists(), "a demo leaves no conversation behind");
    let left: Vec<_> =
        std::fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mine"], "and no project");
}

#[test]
fn wrong_flags_are_answered_with_a_remedy() {
    let env = rehearsed("- say: x\n");
    for (args, part) in [
        (&["-p", "x", "--model", "rehearsal:nowhere.yaml"][..], "cannot read"),
        (&["-p", "x", "--max-turns", "0"], "--max-turns"),
        (&["-p", "x", "--max-budget-usd", "-1"], "--max-budget-usd"),
        (&["-p", "x", "--session-id", "short"], "not a UUID"),
        (&["-p", "x", "--fork-session"], "--fork-session needs --continue or --resume"),
        (&["-p", "x", "--permission-mode", "yolo"], "one of plan, dontAsk"),
        (&["-p", "x", "--json-schema", "{"], "not JSON"),
        (&["-p", "x", "--system-prompt-file", "nowhere.md"], "cannot read"),
        (&["hello there"], "give a task with -p"),
    ] {
        let output = env.posse(args);
        assert!(matches!(output.code, Some(1 | 2)) && output.stdout.is_empty(), "{args:?}: {output:?}");
        assert!(output.stderr.contains(part), "{args:?}: {}", output.stderr);
    }
}

#[test]
fn a_conversation_can_be_compacted_by_hand() {
    let env = rehearsed("- say: A long answer.\n");
    let _ = env.posse(&[&["-p", "tell me"], &MODEL[..]].concat()).success();
    env.write("project/script.yaml", "- say: They wanted to be told.\n");
    let args = [&["-p", "/compact keep the names", "--continue", "--record", "c.jsonl"], &MODEL[..]].concat();
    assert_eq!(env.posse(&args).success(), "Conversation compacted.\n");
    assert!(env.read("project/c.jsonl").contains("keep the names"));
    let args = [&["-p", "and now?", "--continue", "--record", "d.jsonl"], &MODEL[..]].concat();
    let _ = env.posse(&args).success();
    let request = env.read("project/d.jsonl");
    assert!(request.contains("They wanted to be told.") && !request.contains("A long answer."), "{request}");
}

#[test]
fn background_work_is_reported_to_the_model_once() {
    let script = "
- calls: [{Bash: {command: echo finished, run_in_background: true, description: say it}}]
- calls: [{Bash: {command: \"for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done\"}}]
- calls: [{Read: {file_path: a.txt}}]
- say: Done.
";
    let env = rehearsed(script);
    let args = [&["-p", "go", "--allowedTools", "Bash", "--record", "r.jsonl"], &MODEL[..]].concat();
    assert_eq!(env.posse(&args).success(), "Done.\n");
    let last = env.read("project/r.jsonl").lines().last().unwrap().to_owned();
    assert_eq!(last.matches("<task-notification>").count(), 1, "{last}");
    assert!(last.contains("ended with exit code 0"), "{last}");
}

#[test]
fn debug_says_what_happens() {
    let env = rehearsed(LOOK_AND_ANSWER);
    env.write("project/a.txt", "hello\n");
    let output = env.posse(&[&["-p", "go", "--debug"], &MODEL[..]].concat());
    for part in ["request", "tool Read", "answer Read", "reply msg_rehearsal_0002", "finished: Answer"] {
        assert!(output.stderr.contains(part), "{part} in {}", output.stderr);
    }
}
