//! What a host hears of what is not said in answers: things that go on beside them, replies that break off, reasons.

use serde_json::json;

use super::raw::{Talk, orders};
use super::*;

/// A file in which whoever reads it waits for whoever writes it.
fn gate(env: &TestEnv, name: &str) -> std::path::PathBuf {
    let path = env.path(&format!("project/{name}"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    path
}

fn agent_behind_a_gate() -> String {
    let inner = orders(json!([{"tool": "Bash", "input": {"command": "cat gate"}}]));
    orders(json!([{"tool": "Agent", "id": "toolu_agent", "input": {
        "description": "wait", "prompt": inner, "subagent_type": "general-purpose", "run_in_background": true,
    }}]))
}

fn is_answer(line: &Value) -> bool {
    line["type"] == "assistant"
        && line["parent_tool_use_id"].is_null()
        && line.pointer("/message/content/0/type") == Some(&json!("text"))
}

#[test]
fn a_host_that_has_said_all_gets_all_results_at_the_end() {
    let model = obedient();
    let env = world(&model);
    let gate = gate(&env, "gate");
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.user(&agent_behind_a_gate());
    talk.close();
    talk.until(is_answer);
    std::fs::write(gate, "open").expect("somebody reads");
    let (code, lines, stderr) = talk.finish();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    let results = kinds.iter().filter(|kind| **kind == "result").count();
    assert_eq!((results, &kinds[kinds.len() - 2..]), (2, &["result"; 2][..]), "{kinds:?}");
    let told = lines.iter().position(|line| line["subtype"] == "task_notification");
    assert!(told.is_some_and(|at| at < lines.len() - 2));
    assert_eq!(lines[lines.len() - 1]["origin"]["kind"], "task-notification");
}

#[test]
fn what_an_agent_is_goes_into_the_mirror_too() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--session-mirror"]);
    let inner = orders(json!([{"text": "Report."}]));
    talk.user(&orders(json!([{"tool": "Agent", "id": "toolu_agent", "input": {
        "description": "look", "prompt": inner, "subagent_type": "Explore", "run_in_background": false,
    }}])));
    talk.result();
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    let metas: Vec<&Value> =
        lines.iter().filter(|line| line["entries"][0]["type"] == "agent_metadata").collect();
    let last = metas.last().expect("what the agent is");
    let entry = &last["entries"][0];
    assert_eq!((&entry["agentType"], &entry["toolUseId"]), (&json!("Explore"), &json!("toolu_agent")));
    let beside = last["filePath"].as_str().expect("a file");
    assert!(beside.contains("/subagents/agent-") && beside.ends_with(".jsonl"), "{beside}");
    let own =
        lines.iter().filter(|line| line["filePath"] == beside && line["entries"][0]["uuid"].is_string());
    assert!(own.count() >= 2, "its conversation stands in the same place");
}

#[test]
fn a_command_in_the_background_is_a_task() {
    let model = obedient();
    let env = world(&model);
    let gate = gate(&env, "gate");
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.user(&orders(json!([{"tool": "Bash", "id": "toolu_b", "input": {
        "command": "cat gate; exit 3", "description": "Wait for it", "run_in_background": true,
    }}])));
    let started = talk.until(|line| line["subtype"] == "task_started");
    assert_eq!(
        (&started["task_type"], &started["tool_use_id"], &started["description"]),
        (&json!("local_bash"), &json!("toolu_b"), &json!("Wait for it"))
    );
    let changed = talk.until(|line| line["subtype"] == "background_tasks_changed");
    assert_eq!(changed["tasks"][0]["task_id"], started["task_id"]);
    talk.result();
    std::fs::write(gate, "open").expect("somebody reads");
    let update = talk.until(|line| line["subtype"] == "task_updated");
    assert_eq!(update["patch"]["status"], "failed");
    let end = talk.until(|line| line["subtype"] == "task_notification");
    assert_eq!((&end["task_id"], &end["status"]), (&started["task_id"], &json!("failed")));
    assert_eq!(end["summary"], "Background command \"Wait for it\" failed with exit code 3");
    let changed = talk.until(|line| line["subtype"] == "background_tasks_changed");
    assert_eq!(changed["tasks"], json!([]));
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn what_was_said_before_an_interrupt_is_kept() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--include-partial-messages"]);
    // The model says this and then nothing more.
    let half = "half of what there is to say. ".repeat(20);
    talk.user(&orders(json!([{"text": half}, {"silent_behind": "say. \"}}"}])));
    talk.until(|line| line.pointer("/event/type") == Some(&json!("content_block_delta")));
    talk.request("i", json!({"subtype": "interrupt"}));
    let said = talk.until(|line| line["type"] == "assistant");
    assert_eq!(said["aborted"], true);
    let part = said.pointer("/message/content/0/text").and_then(Value::as_str).expect("a text").to_owned();
    assert!(!part.is_empty() && half.starts_with(&part), "{part}");
    assert_eq!(talk.result()["terminal_reason"], "aborted_streaming");
    talk.user(&orders(json!([{"echo": "/messages/1"}])));
    let end = talk.result();
    assert!(end["result"].as_str().is_some_and(|told| told.contains(part.trim())), "{end}");
    let session = end["session_id"].as_str().expect("an id").to_owned();
    assert_eq!(talk.finish().0, Some(0));
    // Also for whoever goes on later.
    let mut talk = Talk::start(&env, &["--resume", &session]);
    talk.user(&orders(json!([{"echo": "/messages/1"}])));
    let end = talk.result();
    assert!(end["result"].as_str().is_some_and(|told| told.contains(part.trim())), "{end}");
}

#[test]
fn whoever_is_asked_learns_why() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--permission-prompt-tool", "stdio"]);
    let outside = env.path("elsewhere.txt").display().to_string();
    talk.user(&orders(json!([{"tool": "Write", "input": {"file_path": outside, "content": "w"}}])));
    let ask = talk.asked("can_use_tool");
    assert_eq!(
        (&ask["request"]["decision_reason_type"], &ask["request"]["blocked_path"]),
        (&json!("workingDir"), &json!(outside))
    );
    talk.answer(&ask["request_id"], json!({"behavior": "deny", "message": "no"}));
    talk.result();
    let command = json!({"command": "touch x", "description": "Make a file"});
    talk.user(&orders(json!([{"tool": "Bash", "input": command}])));
    let ask = talk.asked("can_use_tool");
    assert_eq!(
        (&ask["request"]["decision_reason_type"], &ask["request"]["description"]),
        (&json!("subcommandResults"), &json!("Make a file"))
    );
    assert!(ask["request"]["blocked_path"].is_null());
}

fn greet_with_a_hook(talk: &mut Talk) {
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"]}]});
    talk.request("init", json!({"subtype": "initialize", "hooks": hooks}));
}

fn decide(talk: &mut Talk, decision: &str) -> Value {
    let asked = talk.asked("hook_callback");
    let said = json!({"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "so"});
    talk.answer(&asked["request_id"], json!({"hookSpecificOutput": said}));
    asked
}

#[test]
fn a_call_that_was_put_off_is_decided_on_when_the_session_goes_on() {
    for (decision, made) in [("allow", true), ("deny", false)] {
        let model = obedient();
        let env = world(&model);
        let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
        greet_with_a_hook(&mut talk);
        talk.user(&orders(
            json!([{"tool": "Bash", "id": "toolu_late", "input": {"command": "echo hi | tee made"}}]),
        ));
        decide(&mut talk, "defer");
        let end = talk.result();
        assert_eq!(
            (&end["stop_reason"], &end["deferred_tool_use"]["id"], &end["permission_denials"]),
            (&json!("tool_deferred"), &json!("toolu_late"), &json!([]))
        );
        let session = end["session_id"].as_str().expect("an id").to_owned();
        assert_eq!(talk.finish().0, Some(0));
        // Nobody says anything: what was put off goes on by itself.
        let mut talk = Talk::start(&env, &["--allowedTools", "Bash", "--resume", &session]);
        greet_with_a_hook(&mut talk);
        let asked = decide(&mut talk, decision);
        assert_eq!(asked["request"]["tool_use_id"], "toolu_late");
        let end = talk.result();
        assert_eq!((&end["subtype"], &end["is_error"]), (&json!("success"), &json!(false)), "{end}");
        assert_eq!(env.path("project/made").exists(), made);
        assert!(
            end["result"].as_str().is_some_and(|text| text.contains(if made { "hi" } else { "so" })),
            "{end}"
        );
        // The conversation is whole, also for whoever comes later.
        talk.user(&orders(json!([{"echo": "/messages"}])));
        let whole = talk.result();
        let told = whole["result"].as_str().expect("the messages");
        assert_eq!(
            (told.matches("\"tool_use_id\":\"toolu_late\"").count(), told.contains("ended before")),
            (1, false)
        );
        assert_eq!(talk.finish().0, Some(0));
        let mut talk = Talk::start(&env, &["--resume", &session]);
        talk.user("hello");
        assert_eq!(talk.result()["result"], "You said: hello");
    }
}

#[test]
fn what_a_host_waits_for_is_answered_also_at_the_end() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    let requests = ["initialize", "mcp_status", "side_question", "generate_session_title", "interrupt"];
    for name in requests {
        let request = json!({"subtype": name, "question": "why?", "description": "a session"});
        talk.request(name, request);
    }
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    let answered = |name: &&str| lines.iter().any(|line| line["response"]["request_id"] == **name);
    let open: Vec<&str> = requests.into_iter().filter(|name| !answered(name)).collect();
    assert_eq!(open, [""; 0], "{lines:#?}");
}

#[test]
fn a_task_that_is_stopped_has_ended_before_the_answer_and_with_its_conversation() {
    let model = obedient();
    let env = world(&model);
    let _gate = gate(&env, "gate");
    let ends = |lines: &[Value]| {
        let kinds = ["task_updated", "task_notification", "background_tasks_changed"];
        let subtype = |line: &Value| kinds.into_iter().find(|kind| line["subtype"] == *kind);
        lines.iter().filter_map(subtype).collect::<Vec<_>>().join(" ")
    };
    let all = "task_updated task_notification background_tasks_changed";
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.user(&agent_behind_a_gate());
    let task = talk.until(|line| line["subtype"] == "task_started")["task_id"].take();
    talk.result();
    let before = talk.seen.len();
    talk.request("stop", json!({"subtype": "stop_task", "task_id": task}));
    talk.reply("stop");
    assert!(ends(&talk.seen[before..]).starts_with(all), "{:#?}", &talk.seen[before..]);
    // An agent that is at work when the conversation is cleared ends with it, and the host hears of that.
    talk.user(&agent_behind_a_gate());
    talk.until(|line| line["subtype"] == "task_started");
    talk.result();
    let before = talk.seen.len();
    talk.user("/clear");
    talk.until(|line| line["type"] == "conversation_reset");
    assert!(ends(&talk.seen[before..]).contains("task_notification"), "{:#?}", &talk.seen[before..]);
}

#[test]
fn nothing_is_done_for_a_host_that_went_while_its_hook_was_asked() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    greet_with_a_hook(&mut talk);
    talk.user(&orders(json!([{"tool": "Bash", "input": {"command": "touch made"}}])));
    talk.asked("hook_callback");
    assert_eq!(talk.finish().0, Some(0));
    assert!(!env.path("project/made").exists());
}

#[test]
fn readers_of_a_transcript_find_the_prompt_and_not_what_stands_around_it() {
    let model = obedient();
    let env = world(&model);
    env.write("project/CLAUDE.md", "Be brief.");
    let mut talk = Talk::start(&env, &[]);
    talk.user("a real prompt");
    let session = talk.result()["session_id"].as_str().expect("an id").to_owned();
    assert_eq!(talk.finish().0, Some(0));
    let project = std::fs::read_dir(env.path("home/.claude/projects")).expect("a folder").next();
    let file = project.expect("a project").expect("an entry").path().join(format!("{session}.jsonl"));
    let text = std::fs::read_to_string(file).expect("a transcript");
    let said: Vec<Value> = text.lines().map(json).filter(|entry| entry["type"] == "user").collect();
    let shown: Vec<&Value> = said.iter().filter(|entry| entry["isMeta"] != true).collect();
    assert_eq!(pluck(&json!(shown), "/message/content"), "a real prompt");
    // To the model it is one message, also later.
    let mut talk = Talk::start(&env, &["--resume", &session]);
    talk.user(&orders(json!([{"echo": "/messages/0"}])));
    let first = talk.result()["result"].as_str().expect("a message").to_owned();
    assert!(first.contains("Be brief.") && first.contains("a real prompt"), "{first}");
}

#[test]
fn half_a_character_harms_nobody() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.raw(r#"{"type":"user","message":{"role":"user","content":"cut \ud83d"}}"#);
    assert_eq!(talk.result()["result"], "You said: cut \u{fffd}");
}

#[test]
fn hooks_hear_of_what_happens_also_when_they_cannot_answer_any_more() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    greet_with_a_hook(&mut talk);
    talk.reply("init");
    talk.user(&orders(json!([{"tool": "Bash", "input": {"command": "touch made"}}])));
    let (code, lines, _) = talk.finish();
    let asked = lines.iter().filter(|line| line["request"]["subtype"] == "hook_callback").count();
    assert_eq!((code, asked, env.path("project/made").exists()), (Some(0), 1, false));
}
