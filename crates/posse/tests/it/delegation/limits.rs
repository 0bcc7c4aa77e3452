//! Where delegation ends: depth, seats, turns, rules, hooks, a verdict that is due, and the user's own hand.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use super::*;

fn answer(request: &Recorded, call: &str) -> String {
    words(&json!({ "content": [result(request, call)] }))
}

fn names(request: &Recorded) -> Vec<String> {
    list(&request.body["tools"]).iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
}

const BOSS: &str = "---\nname: boss\ndescription: Hands on\ntools: Agent, Read\n---\nBe a boss.\n";

/// Every boss starts another, as long as it has the tool; a report says how deep it was.
fn bosses() -> FakeModel {
    FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("boss", "Level 1.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), 0) if names(request).iter().any(|name| name == "Agent") => {
            let level: u32 =
                last(request).chars().filter_map(|c| c.to_digit(10)).next_back().unwrap_or_default();
            call("n1", "Agent", &start("boss", &format!("Level {}.", level + 1), json!({})))
        }
        (Some(_), _) => text("Report."),
    })
}

#[test]
fn at_the_depth_limit_there_is_no_agent_tool() {
    for (set, layers) in [(Some("1"), 1), (Some("2"), 2), (None, 3)] {
        let server = bosses();
        let mut env = world(&server);
        env.agent("boss.md", BOSS);
        if let Some(set) = set {
            env.set("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", set);
        }
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
        let mut depths: Vec<u64> =
            metas(&env).iter().filter_map(|meta| meta["spawnDepth"].as_u64()).collect();
        depths.sort_unstable();
        assert_eq!(depths, (1..=layers).collect::<Vec<_>>(), "{set:?}");
        let agents = of_agents(&server);
        let without = agents.iter().filter(|request| !names(request).contains(&"Agent".to_owned())).count();
        assert_eq!(without, 1, "only the deepest");
    }
}

#[test]
fn nested_agents_do_not_wait_for_the_seats_of_those_who_wait_for_them() {
    let server = bosses();
    let mut env = world(&server);
    env.agent("boss.md", BOSS);
    env.set("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "1");
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    assert_eq!(metas(&env).len(), 3);
}

#[test]
fn no_more_agents_are_at_work_than_there_are_seats() {
    let ask = |at: usize| start("scout", &format!("Part {at}."), json!({ "run_in_background": true }));
    let inputs: Vec<Value> = (0..5).map(ask).collect();
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &inputs),
        (None, _) => text("Done."),
        (Some(_), 0) => call("r1", "Read", &json!({ "file_path": "a.txt" })).after(Duration::from_millis(20)),
        (Some(_), _) => text("Report.").after(Duration::from_millis(20)),
    });
    let mut env = world(&server);
    env.set("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "2");
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let requests = server.requests();
    for request in requests.iter().filter(|request| agent(request).is_some()) {
        let beside = request.beside.iter().filter(|at| agent(&requests[**at]).is_some()).count();
        assert!(beside < 2, "{beside} others");
    }
    let crowded = requests.iter().any(|request| {
        agent(request).is_some() && request.beside.iter().any(|at| agent(&requests[*at]).is_some())
    });
    assert!(crowded, "two work side by side");
    let first = requests.iter().filter(|request| agent(request).is_some() && steps(request) == 0);
    let order: Vec<char> = first.map(|request| last(request).chars().rev().nth(1).unwrap()).collect();
    // The first two have seats at once; which of them asks first is theirs.
    assert_eq!(order[2..], ['2', '3', '4'], "{order:?}");
    let end = of_main(&server).pop().unwrap();
    assert_eq!(all(&end).matches("<status>completed</status>").count(), 5);
    assert!(answer(&end, "t5").contains("every seat is taken"), "{}", answer(&end, "t5"));
}

#[test]
fn a_limit_on_turns_hands_back_what_there_is() {
    for (more, limit) in [(json!({ "max_turns": 2 }), 2), (json!({}), 3)] {
        let input = start("short", "Look.", more);
        let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", std::slice::from_ref(&input)),
            (None, _) => text("Done."),
            (Some(_), step) => MessagesReply::new()
                .text(&format!("Found {step}."))
                .tool(&format!("r{step}"), "Read", &json!({ "file_path": "a.txt" }))
                .answer(),
        });
        let env = world(&server);
        env.agent(
            "short.md",
            "---\nname: short\ndescription: Short\nmaxTurns: 3\ntools: Read\n---\nBe short.\n",
        );
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
        assert_eq!(of_agents(&server).len(), limit);
        let main = of_main(&server);
        let told = answer(&main[1], "t1");
        assert!(result(&main[1], "t1")["is_error"] != true, "{told}");
        for part in ["PARTIAL", &format!("{limit}-turn limit"), &format!("Found {}.", limit - 1), "agentId: "]
        {
            assert!(told.contains(part), "{part} in {told}");
        }
    }
}

#[test]
fn calls_that_cannot_be_made_say_why() {
    let cases = [
        (start("scuot", "Look.", json!({})), "Agent type 'scuot' not found. Did you mean 'scout'?"),
        (start("banned", "Look.", json!({})), "Agent(banned)"),
        (start("barred", "Look.", json!({})), "Task(barred)"),
        (json!({ "description": "x", "prompt": "Look." }), "Agent(general-purpose)"),
        (start("empty", "Look.", json!({})), "Frobnicate"),
        (json!({ "description": "x", "subagent_type": "scout" }), "InputValidationError"),
        (start("scout", "Look.", json!({ "cwd": "/" })), "outside the working directories"),
    ];
    for (input, part) in cases {
        let shown = input.to_string();
        let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", std::slice::from_ref(&input)),
            (None, _) => text("Done."),
            (Some(_), _) => text("Report."),
        });
        let env = world(&server);
        env.agent("banned.md", &TestEnv::minimal("banned"));
        env.agent("empty.md", "---\nname: empty\ndescription: Empty\ntools: Frobnicate\n---\nBe empty.\n");
        let deny =
            json!({ "permissions": { "deny": ["Agent(banned)", "Task(barred)", "Agent(general-purpose)"] } });
        env.agent("barred.md", &TestEnv::minimal("barred"));
        env.write("home/.claude/settings.json", deny.to_string());
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n", "{shown}");
        let main = of_main(&server);
        let told = answer(&main[1], "t1");
        assert_eq!(result(&main[1], "t1")["is_error"], true, "{shown}: {told}");
        assert!(told.contains(part), "{shown}: {told}");
        assert_eq!(of_agents(&server).len(), 0, "{shown}");
        let tool = list(&main[0].body["tools"]).iter().find(|tool| tool["name"] == "Agent").unwrap();
        let listing = tool["description"].as_str().unwrap();
        assert!(listing.contains("- scout: Looks around (Tools: Read, Bash)"), "{listing}");
        assert!(
            ["banned", "barred", "general-purpose"]
                .iter()
                .all(|name| !listing.contains(&format!("- {name}:"))),
            "{listing}"
        );
    }
}

#[test]
fn a_tool_outside_the_pool_is_refused_at_the_call() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("scout", "Look.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), 0) => call("w1", "Write", &json!({ "file_path": "b.txt", "content": "no" })),
        (Some(_), _) => text("Report."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go", "--permission-mode", "acceptEdits"]).success(), "Done.\n");
    assert_eq!(result(&of_agents(&server)[1], "w1")["is_error"], true);
    assert!(!env.path("project/b.txt").exists());
}

#[test]
fn a_list_of_agents_limits_whom_one_may_start() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("lead", "Look.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), 0) if names(request).contains(&"Agent".to_owned()) => {
            call("x1", "Agent", &start("worker", "Work.", json!({})))
        }
        (Some(_), 1) => call("x2", "Agent", &start("scout", "Look.", json!({}))),
        (Some(_), _) => text("Report."),
    });
    let env = world(&server);
    env.agent("lead.md", "---\nname: lead\ndescription: Leads\ntools: Agent(scout), Read\n---\nLead.\n");
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let agents = of_agents(&server);
    let end = agents.last().unwrap();
    assert_eq!(result(end, "x1")["is_error"], true, "{}", answer(end, "x1"));
    assert!(answer(end, "x2").contains("Report."), "{}", answer(end, "x2"));
    let kinds: Vec<String> = metas(&env).iter().map(|meta| meta["agentType"].to_string()).collect();
    assert!(!kinds.contains(&"\"worker\"".to_owned()), "{kinds:?}");
    let tool = list(&agents[0].body["tools"]).iter().find(|tool| tool["name"] == "Agent").unwrap();
    let listing = tool["description"].as_str().unwrap();
    assert!(listing.contains("- scout:") && !listing.contains("- worker:"), "{listing}");
}

#[test]
fn a_verification_without_its_verdict_is_asked_for_it_once() {
    for (second, asked) in [("Fine.\nVERDICT: PASS", 2), ("Still none.", 2)] {
        let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", &[start("verification", "Check it.", json!({}))]),
            (None, 1) => text("Waiting."),
            (None, _) => text("Done."),
            (Some(_), 0) => text("It seems fine."),
            (Some(_), _) => text(second),
        });
        let env = world(&server);
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
        let agents = of_agents(&server);
        assert_eq!(agents.len(), asked, "{second}");
        assert!(last(&agents[1]).contains("VERDICT: PASS"), "{}", last(&agents[1]));
        let end = of_main(&server).pop().unwrap();
        assert!(all(&end).contains(second.lines().next().unwrap()), "{}", all(&end));
    }
}

#[test]
fn hooks_greet_an_agent_and_send_it_back_to_work() {
    // Both from settings and from the agent's own file.
    let greets = r#"echo '{"hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "Mind the step."}}'"#;
    let objects = "if [ -e ~/objected ]; then exit 0; fi; touch ~/objected; echo too bold >&2; exit 2";
    let hook = |command: &str| json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    for own in [false, true] {
        let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", &[start("proud", "Look.", json!({}))]),
            (None, _) => text("Done."),
            (Some(_), step) => text(&format!("Report {step}.")),
        });
        let env = world(&server);
        let mut hooks = json!({ "SubagentStart": hook(greets) });
        let mut file = "---\nname: proud\ndescription: Proud\ntools: Read\n".to_owned();
        if own {
            // In an agent's file its end is simply the end.
            file.push_str(&format!("hooks: {}\n", json!({ "Stop": hook(objects) })));
        } else {
            hooks["SubagentStop"] = hook(objects);
        }
        // Hooks of a user's own agent need no trust.
        env.write("home/.claude/agents/proud.md", format!("{file}---\nBe proud.\n"));
        env.write("home/.claude/settings.json", json!({ "hooks": hooks }).to_string());
        let output = env.posse(&["-p", "go"]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), "Done.\n"), "own {own}: {output:?}");
        let agents = of_agents(&server);
        assert!(all(&agents[0]).contains("Mind the step."), "{}", all(&agents[0]));
        assert_eq!(agents.len(), 2, "own {own}: {output:?}");
        assert!(last(&agents[1]).contains("too bold"), "{}", last(&agents[1]));
        assert!(answer(&of_main(&server)[1], "t1").contains("Report 1."));
    }
}

/// Whether some process has this text in its command line.
fn is_running(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(text))
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_ends_the_agent_and_what_it_started() {
    for background in [false, true] {
        let nap = format!("sleep 1{:06}", std::process::id() % 1_000_000 + u32::from(background));
        let command = format!("echo started; {nap}");
        let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
            (None, 0) => {
                calls("Agent", &[start("scout", "Look.", json!({ "run_in_background": background }))])
            }
            (None, _) => text("Waiting."),
            (Some(_), _) => call("b1", "Bash", &json!({ "command": command })),
        });
        let env = world(&server);
        let mut posse = env.command();
        posse.args(STREAM).args(["--allowedTools", "Bash"]);
        let mut child = posse.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        while !seen.contains("task_started") {
            assert!(out.read_line(&mut seen).unwrap() > 0, "{seen}");
        }
        while !is_running(&nap) {
            std::thread::yield_now();
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        out.read_to_string(&mut seen).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{seen}");
        assert!(!is_running(&nap), "background {background}: the command goes on");
        let lines: Vec<Value> = seen.lines().map(json).collect();
        assert_eq!(lines.last().unwrap()["subtype"], "error_during_execution", "{seen}");
        let ended: Vec<&Value> = lines.iter().filter(|line| line["subtype"] == "task_notification").collect();
        assert_eq!((ended.len(), &ended[0]["status"]), (1, &json!("stopped")), "{seen}");
        let files = files(&env);
        for line in files[0].1.lines() {
            json(line);
        }
        let meta = json(&files[1].1);
        assert_eq!((&meta["finished"], &meta["status"]), (&json!(true), &json!("killed")), "{meta}");
    }
}

#[test]
fn the_agent_a_session_runs_as_has_its_memory() {
    let server = FakeModel::answering(|request| match steps(request) {
        0 => call("r1", "Read", &json!({ "file_path": ".claude/agent-memory/clerk/MEMORY.md" })),
        1 => calls(
            "Write",
            &[
                json!({ "file_path": ".claude/agent-memory/clerk/MEMORY.md", "content": "Likes tea.\n" }),
                json!({ "file_path": "project.txt", "content": "not mine\n" }),
            ],
        ),
        _ => text("Done."),
    });
    let env = world(&server);
    env.agent(
        "clerk.md",
        "---\nname: clerk\ndescription: Remembers\ntools: Read\nmemory: project\n---\nBe a clerk.\n",
    );
    env.write("project/.claude/agent-memory/clerk/MEMORY.md", "Likes coffee.\n");
    env.posse(&["trust", "."]).success();
    env.posse(&["-p", "go", "--agent", "clerk", "--permission-mode", "acceptEdits"]).success();
    let main = of_main(&server);
    assert!(system(&main[0]).contains("Likes coffee."), "{}", system(&main[0]));
    assert_ne!(result(&main[2], "t1")["is_error"], true, "{}", result(&main[2], "t1"));
    assert_eq!(result(&main[2], "t2")["is_error"], true, "memory is no licence to write elsewhere");
    assert_eq!(env.read("project/.claude/agent-memory/clerk/MEMORY.md"), "Likes tea.\n");
    assert!(!env.path("project/project.txt").exists());
}

#[test]
fn the_last_turn_an_agent_is_allowed_hands_back_what_it_has() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("worker", "Look.", json!({ "max_turns": 2 }))]),
        (None, _) => text("Done."),
        (Some(_), 0) => call("r1", "Read", &json!({ "file_path": "a.txt" })),
        (Some(_), _) => text("It says hello; the rest is undone."),
    });
    let env = world(&server);
    env.posse(&["-p", "go"]).success();
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 2);
    assert_eq!(agents[0].body["tool_choice"], Value::Null);
    assert_eq!(agents[1].body["tool_choice"]["type"], "none", "{}", agents[1].body);
    assert!(last(&agents[1]).contains("This is your last turn"), "{}", last(&agents[1]));
    let report = words(&json!({ "content": [result(of_main(&server).last().unwrap(), "t1")] }));
    assert!(report.contains("the rest is undone"), "{report}");
}

#[test]
fn a_limit_on_turns_counts_those_that_agents_begin() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, step) if step % 2 == 0 => {
            calls("Agent", &[start("scout", &format!("Look {step}."), json!({ "run_in_background": true }))])
        }
        (None, _) => text("Waiting."),
        (Some(_), _) => text("Seen."),
    });
    let env = world(&server);
    let output = env.posse(&["-p", "go", "--max-turns", "3"]);
    assert_ne!(output.code, Some(0), "{output:?}");
    assert!(output.stderr.contains("maximum number of turns (3)"), "{}", output.stderr);
    assert!(of_main(&server).len() <= 3, "{}", of_main(&server).len());
}
