//! A call that is answered at once, and the end that is told later: once.

use std::time::Duration;

use super::*;

/// Asks for the background.
fn behind(prompt: &str) -> Value {
    start("scout", prompt, json!({ "run_in_background": true }))
}

/// How often a request speaks of the end of an agent.
fn notices(request: &Recorded, id: &str) -> usize {
    all(request).matches(&format!("<task-notification>\n<task-id>{id}</task-id>")).count()
}

fn launched(request: &Recorded, call: &str) -> String {
    id_of(&words(&json!({ "content": [result(request, call)] })))
}

#[test]
fn the_call_is_answered_at_once_and_the_end_comes_as_a_new_turn() {
    let gate = Gate::default();
    let inside = gate.clone();
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[behind("Look.")]),
        (None, 1) => {
            inside.open();
            text("Waiting.")
        }
        (None, _) => text("Done."),
        (Some(_), _) => text("Seen it.").behind(&inside).after(Duration::from_millis(50)),
    });
    let env = world(&server);
    let output = env.posse(&STREAM);
    assert_eq!(output.code, Some(0), "{output:?}");
    let main = of_main(&server);
    assert_eq!(main.len(), 3);
    let answer = words(&json!({ "content": [result(&main[1], "t1")] }));
    let id = id_of(&answer);
    assert!(answer.contains("in the background") && answer.contains("do not guess"), "{answer}");
    assert_eq!(notices(&main[1], &id), 0);
    let told = last(&main[2]);
    let parts = [
        "not input from the user",
        "<task-notification>",
        &format!("<task-id>{id}</task-id>"),
        "<tool-use-id>t1</tool-use-id>",
        "<output-file>",
        "<status>completed</status>",
        "Seen it.",
        "</task-notification>",
    ];
    let places = parts.map(|part| told.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {told}");
    assert_eq!(notices(&main[2], &id), 1);
    let lines = stream(&output);
    let value =
        lines.iter().map(|line| &line["tool_use_result"]).find(|value| value["isAsync"] == true).unwrap();
    assert_eq!(
        (&value["status"], &value["agentId"], &value["canReadOutputFile"]),
        (&json!("async_launched"), &json!(id), &json!(true)),
        "{value}"
    );
    let started = lines.iter().find(|line| line["subtype"] == "task_started").unwrap();
    assert_eq!(started["is_backgrounded"], true);
    let ended: Vec<&Value> = lines.iter().filter(|line| line["subtype"] == "task_notification").collect();
    assert_eq!((ended.len(), &ended[0]["status"]), (1, &json!("completed")));
    // A turn each, and each tells how it ended; the second nobody asked for.
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    let told: Vec<[&Value; 3]> = results
        .iter()
        .map(|line| [&line["result"], &line["result_index"], &line["origin"]["kind"]])
        .collect();
    let second = [&json!("Done."), &json!(1), &json!("task-notification")];
    assert_eq!(told, [[&json!("Waiting."), &json!(0), &Value::Null], second]);
    let changes = lines.iter().filter(|line| line["subtype"] == "background_tasks_changed");
    let counts: Vec<usize> = changes.map(|line| list(&line["tasks"]).len()).collect();
    assert_eq!(counts, [1, 0]);
    let stats = &results[1]["subagent_stats"];
    assert_eq!((&stats["started_in_background"], &stats["completed"]), (&json!(1), &json!(1)), "{stats}");
    let meta = &metas(&env)[0];
    assert_eq!((&meta["requestShape"], &meta["finished"]), (&json!("background"), &json!(true)), "{meta}");
}

#[test]
fn a_caller_at_work_is_told_with_the_results_of_its_tools() {
    // The caller's command goes on until the agent has written down that it is done, and a little longer.
    let wait = "until grep -qs '\"finished\":true' $HOME/.claude/projects/*/*/subagents/*.meta.json; do sleep 0.02; done; sleep 0.5";
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[behind("Look.")]),
        (None, 1) => call("b1", "Bash", &json!({ "command": wait })),
        (None, 2) => call("r1", "Read", &json!({ "file_path": "a.txt" })),
        (None, _) => text("Done."),
        (Some(_), _) => text("Seen it."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go", "--allowedTools", "Bash"]).success(), "Done.\n");
    let main = of_main(&server);
    assert_eq!(main.len(), 4);
    let id = launched(&main[1], "t1");
    let counts: Vec<usize> = main.iter().map(|request| notices(request, &id)).collect();
    assert_eq!(counts, [0, 0, 1, 1]);
    let message = list(&main[2].body["messages"]).last().unwrap();
    let kinds = pluck(&message["content"], "/type");
    assert_eq!(kinds, "tool_result text", "{message}");
}

#[test]
fn output_is_waited_for_and_an_end_that_was_seen_is_not_told_again() {
    let gate = Gate::default();
    let server = FakeModel::answering(move |request| {
        let id = || launched(request, "t1");
        match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", &[behind("Look.")]),
            (None, 1) => call("o1", "TaskOutput", &json!({ "task_id": id(), "block": false })),
            (None, 2) => call("o2", "TaskOutput", &json!({ "task_id": id(), "timeout": 20 })),
            (None, 3) => {
                gate.open();
                call("o3", "TaskOutput", &json!({ "task_id": id() }))
            }
            (None, _) => text("Done."),
            (Some(_), _) => text("Seen it.").behind(&gate),
        }
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let main = of_main(&server);
    let end = main.last().unwrap();
    for (call, status, part) in [
        ("o1", "not_ready", "<status>running</status>"),
        ("o2", "timeout", "<status>running</status>"),
        ("o3", "success", "Seen it."),
    ] {
        let told = words(&json!({ "content": [result(end, call)] }));
        let status = format!("<retrieval_status>{status}</retrieval_status>");
        assert!(told.contains(&status) && told.contains(part), "{call}: {told}");
    }
    assert_eq!((main.len(), all(end).matches("<task-notification>").count()), (5, 0));
}

#[test]
fn a_stopped_agent_is_killed_and_that_is_told_once() {
    for by_name in [false, true] {
        stopped(by_name);
    }
}

fn stopped(by_name: bool) {
    let never = Gate::default();
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => {
            calls("Agent", &[start("scout", "Look.", json!({ "run_in_background": true, "name": "eyes" }))])
        }
        (None, 1) if by_name => call("s1", "TaskStop", &json!({ "task_id": "eyes" })),
        (None, 1) => call("s1", "TaskStop", &json!({ "task_id": launched(request, "t1") })),
        (None, 2) => call("s2", "TaskStop", &json!({ "task_id": "a0000000000000000" })),
        (None, _) => text("Done."),
        (Some(_), _) => text("Never said.").behind(&never),
    });
    let env = world(&server);
    let output = env.posse(&STREAM);
    assert_eq!(output.code, Some(0), "{output:?}");
    let main = of_main(&server);
    let end = main.last().expect("a request");
    let id = launched(end, "t1");
    assert!(result(end, "s1")["is_error"] != true, "{}", result(end, "s1"));
    assert_eq!(result(end, "s2")["is_error"], true, "{}", result(end, "s2"));
    assert_eq!(notices(end, &id), 1, "{}", all(end));
    assert!(all(end).contains("<status>killed</status>") && all(end).contains("was stopped"), "{}", all(end));
    let ended: Vec<Value> =
        stream(&output).into_iter().filter(|line| line["subtype"] == "task_notification").collect();
    assert_eq!((ended.len(), &ended[0]["status"]), (1, &json!("stopped")));
    assert_eq!(metas(&env)[0]["status"], "killed");
}

#[test]
fn waiting_has_an_end() {
    let never = Gate::default();
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[behind("Look.")]),
        (None, _) => text("Waiting."),
        (Some(_), _) => text("Never said.").behind(&never),
    });
    let mut env = world(&server);
    env.set("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "30");
    let output = env.posse(&["-p", "go"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "Waiting.\n"), "{output:?}");
    assert!(output.stderr.contains("background"), "somebody must say that work was stopped: {output:?}");
    let meta = &metas(&env)[0];
    assert_eq!((&meta["finished"], &meta["status"]), (&json!(true), &json!("killed")), "{meta}");
}

#[test]
fn definitions_and_the_environment_decide_too() {
    let scripted = |kind: &'static str, more: Value| {
        FakeModel::answering(move |request| match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", &[start(kind, "Look.", more.clone())]),
            (None, _) => text("Done."),
            (Some(_), _) => text("Seen it."),
        })
    };
    let lazy = "---\nname: lazy\ndescription: Later\nbackground: true\n---\nBe lazy.\n";
    for (kind, more, set, background) in [
        ("lazy", json!({}), None, true),
        ("lazy", json!({ "run_in_background": false }), None, true),
        ("lazy", json!({}), Some("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"), false),
        ("scout", json!({ "run_in_background": true }), Some("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"), false),
        ("scout", json!({}), None, false),
    ] {
        let server = scripted(kind, more.clone());
        let mut env = world(&server);
        env.agent("lazy.md", lazy);
        if let Some(set) = set {
            env.set(set, "1");
        }
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
        let main = of_main(&server);
        let answer = words(&json!({ "content": [result(&main[1], "t1")] }));
        assert_eq!(
            answer.contains("at work in the background"),
            background,
            "{kind} {more} {set:?}: {answer}"
        );
        assert_eq!(answer.contains("Seen it."), !background, "{kind} {more} {set:?}: {answer}");
        let tools = list(&main[0].body["tools"]);
        let tool = tools.iter().find(|tool| tool["name"] == "Agent").unwrap();
        assert_eq!(tool["input_schema"]["properties"].get("run_in_background").is_some(), set.is_none());
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// One run: agents that take some time, and a caller that does a few things before it has nothing more to do.
fn timed(seed: u64) -> FakeModel {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let moves: Vec<u64> = (0..dice.below(4)).map(|_| dice.below(3)).collect();
    FakeModel::answering(move |request| {
        let after = Duration::from_millis(dice.below(25));
        let answer = match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", &[behind("One."), behind("Two."), behind("Three.")]),
            (None, step) => match moves.get(step - 1) {
                Some(0) => {
                    let id = launched(request, "t2");
                    let wait = json!({ "task_id": id, "block": dice.below(2) == 0 });
                    call(&format!("o{step}"), "TaskOutput", &wait)
                }
                Some(_) => call(&format!("r{step}"), "Read", &json!({ "file_path": "a.txt" })),
                None => text("Done."),
            },
            (Some(_), 0) if dice.below(2) == 0 => call("r1", "Read", &json!({ "file_path": "a.txt" })),
            (Some(_), _) => text("Seen it."),
        };
        answer.after(after)
    })
}

#[test]
fn whenever_an_agent_ends_its_caller_hears_of_it_exactly_once() {
    for seed in 1..=24 {
        let server = timed(seed);
        let env = world(&server);
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n", "seed {seed}");
        let main = of_main(&server);
        let end = main.last().unwrap();
        let looked = all(end).matches("<retrieval_status>success</retrieval_status>").count();
        for call in ["t1", "t2", "t3"] {
            let told = notices(end, &launched(end, call));
            // Whoever looks at an end may have been told before, and is not told after.
            let fits = if call == "t2" && looked > 0 { told <= 1 } else { told == 1 };
            assert!(fits, "seed {seed}: {call} was told {told} times: {}", all(end));
        }
        assert!(metas(&env).iter().all(|meta| meta["status"] == "completed"), "seed {seed}");
    }
}
