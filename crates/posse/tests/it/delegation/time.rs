//! Limits on time and limits that cannot be read, as a user meets them.

use std::time::Duration;

use super::*;

/// What the main agent is told of an agent.
fn told(server: &FakeModel) -> String {
    let main = of_main(server);
    let answer = result(main.last().expect("a request"), "t1").clone();
    words(&json!({ "content": [answer] }))
}

#[test]
fn an_agent_whose_time_is_up_hands_back_what_it_has() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("brief", "Look.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), 0) => call("b1", "Bash", &json!({ "command": "echo begun; sleep 60" })),
        (Some(_), _) if request.body["tool_choice"]["type"] == "none" => text("Half of it."),
        (Some(_), _) => text("All of it."),
    });
    let env = world(&server);
    let brief = "---\nname: brief\ndescription: Brief\ntools: Bash\nbudget: { seconds: 4 }\n---\nBe brief.\n";
    env.agent("brief.md", brief);
    assert_eq!(env.posse(&["-p", "go", "--allowedTools", "Bash"]).success(), "Done.\n");
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 2);
    let answer = words(&json!({ "content": [result(&agents[1], "b1")] }));
    assert!(answer.contains("begun") && answer.contains("the time for this work is used up"), "{answer}");
    let told = told(&server);
    for part in ["PARTIAL", "its time of 4 s was up", "Half of it."] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn an_agent_that_falls_silent_ends_with_that_cause_and_what_it_said() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("scout", "Look.", json!({ "run_in_background": true }))]),
        (None, 1) => text("Waiting."),
        (None, _) => text("Done."),
        (Some(_), 0) => MessagesReply::new()
            .text("First word.")
            .tool("r", "Read", &json!({ "file_path": "a.txt" }))
            .answer(),
        (Some(_), _) => text("Too late.").after(Duration::from_secs(600)),
    });
    let mut env = world(&server);
    env.set("CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS", "1500");
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let end = all(&of_main(&server).pop().expect("a request"));
    for part in ["<status>failed</status>", "nothing came from the model for 1 s", "First word."] {
        assert!(end.contains(part), "{part} in {end}");
    }
}

#[test]
fn a_limit_that_cannot_be_read_refuses_the_start() {
    let server = FakeModel::serving([]);
    for (name, value) in [
        ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "abc"),
        ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "0"),
        ("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "0"),
        ("CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS", "10 minutes"),
    ] {
        for in_settings in [false, true] {
            let mut env = world(&server);
            if in_settings {
                env.write("home/.claude/settings.json", json!({ "env": { name: value } }).to_string());
            } else {
                env.set(name, value);
            }
            let output = env.posse(&["-p", "go"]);
            assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output:?}");
            let expected = format!("{name}=`{value}` is no limit: it takes a whole number from 1 to");
            assert!(output.stderr.contains(&expected), "{output:?}");
        }
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_fork_that_says_nothing_does_not_hand_back_the_words_of_its_caller() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("fork", "Go deep.", json!({ "max_turns": 1 }))]),
        (None, _) => text("Done."),
        (Some(_), _) => call("own", "Read", &json!({ "file_path": "a.txt" })),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let told = told(&server);
    assert!(told.contains("PARTIAL") && told.contains("wrote no report"), "{told}");
    assert!(!told.contains("I hand this on."), "{told}");
}

#[test]
fn a_fork_counts_its_own_calls_alone() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, step @ 0..=2) => call(&format!("r{step}"), "Read", &json!({ "file_path": "a.txt" })),
        (None, 3) => calls("Agent", &[start("fork", "Go deep.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), 4) => call("own", "Read", &json!({ "file_path": "a.txt" })),
        (Some(_), _) => text("Scope: all."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    assert!(told(&server).contains("tool_uses: 1\n"), "{}", told(&server));
}
