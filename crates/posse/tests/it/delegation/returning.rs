//! Agents of a session whose process is gone: they go on in the next one.

use super::*;

fn on(to: &str) -> Answer {
    call("m1", "Agent", &json!({ "description": "on", "prompt": "Go on.", "resume": to }))
}

/// What main is told when it goes on with an agent, and what that agent is sent.
fn taken_up(server: &FakeModel) -> (Recorded, Vec<Recorded>) {
    (of_main(server).pop().expect("a request"), of_agents(server))
}

#[test]
fn an_agent_goes_on_in_the_next_process_as_it_was() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("scout", "Look.", json!({ "name": "eyes", "model": "sonnet" }))]),
        (None, 1) => text("Later."),
        (None, 2) => on("eyes"),
        (None, _) => text("Done."),
        (Some(_), 0) => call("r1", "Read", &json!({ "file_path": "a.txt" })),
        (Some(_), step) => text(&format!("Report {step}.")),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Later.\n");
    assert_eq!(env.posse(&["-p", "on", "--continue"]).success(), "Done.\n");
    let (main, agents) = taken_up(&server);
    assert_eq!(agents.len(), 3);
    assert_eq!(agent(&agents[1]), agent(&agents[2]));
    let before: Vec<Value> = list(&agents[1].body["messages"]).iter().map(|one| json!(words(one))).collect();
    let after: Vec<Value> = list(&agents[2].body["messages"]).iter().map(|one| json!(words(one))).collect();
    assert!(after.starts_with(&before), "{before:?} is no beginning of {after:?}");
    for part in ["model", "tools", "system"] {
        assert_eq!(agents[1].body[part], agents[2].body[part], "{part}");
    }
    assert!(words(&json!({ "content": [result(&main, "m1")] })).contains("Report 2."), "{}", all(&main));
    assert!(!all(&main).contains("interrupted"), "it had ended");
    assert_eq!(metas(&env).len(), 1);
}

#[test]
fn a_fork_goes_on_in_the_next_process_with_all_it_inherited() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("fork", "Go deep.", json!({ "name": "deep" }))]),
        (None, 1) => text("Later."),
        (None, 2) => on("deep"),
        (None, _) => text("Done."),
        (Some(_), _) => text("Scope: all."),
    });
    let env = world(&server);
    env.posse(&["-p", "a word of main"]).success();
    assert_eq!(env.posse(&["-p", "on", "--continue"]).success(), "Done.\n");
    let (_, agents) = taken_up(&server);
    let told = all(&agents[1]);
    let parts = ["a word of main", "Your directive: Go deep.", "Scope: all.", "Go on."];
    let places = parts.map(|part| told.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {told}");
    assert!(!told.contains("Later."), "what main did afterwards is none of its business: {told}");
    assert_eq!(agents[0].body["tools"], agents[1].body["tools"]);
}

#[test]
fn below_an_agent_nobody_gets_more_than_that_agent_has() {
    let server = FakeModel::answering(|request| {
        let is_child = all(request).contains("Look closer.");
        match (agent(request), steps(request), is_child) {
            (None, 0, _) => calls("Agent", &[start("lead", "Lead.", json!({}))]),
            (None, 1, _) => text("Later."),
            (None, 2, _) => on("close"),
            (None, _, _) => text("Done."),
            (Some(_), 0, false) => {
                calls("Agent", &[start("worker", "Look closer.", json!({ "name": "close" }))])
            }
            (Some(_), _, _) => text("Seen."),
        }
    });
    let env = world(&server);
    let lead = "---\nname: lead\ndescription: Leads\ntools: Read, Agent\n---\nBe a lead.\n";
    env.agent("lead.md", lead);
    env.posse(&["-p", "go"]).success();
    assert_eq!(env.posse(&["-p", "on", "--continue"]).success(), "Done.\n");
    let child = of_agents(&server).into_iter().filter(|request| all(request).contains("Look closer."));
    let tools: Vec<Value> = child.map(|request| request.body["tools"].clone()).collect();
    assert!(tools.len() == 2 && tools[0] == tools[1], "{tools:?}");
    assert!(!tools[1].to_string().contains("\"Bash\""), "{}", tools[1]);
}

#[test]
fn a_copy_of_a_session_goes_on_with_copies_of_its_agents() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("scout", "Look.", json!({ "name": "eyes" }))]),
        (None, 1) => text("Later."),
        (None, 2) => on("eyes"),
        (None, _) => text("Done."),
        (Some(_), _) => text("Seen."),
    });
    let env = world(&server);
    env.posse(&["-p", "go"]).success();
    let before = files(&env);
    assert_eq!(env.posse(&["-p", "on", "--continue", "--fork-session"]).success(), "Done.\n");
    assert!(all(&of_agents(&server)[1]).contains("Look."));
    let after = files(&env);
    assert_eq!(after.len(), 2 * before.len(), "the copy has its own");
    assert!(before.iter().all(|file| after.contains(file)), "the original is as it was");
}

#[test]
fn who_was_at_work_when_the_process_died_is_told_of_and_goes_on() {
    let gate = Gate::default();
    let held = gate.clone();
    let (at_work, is_at_work) = std::sync::mpsc::channel();
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, _) if all(request).contains("take it up") => {
            if request.body["messages"].to_string().contains("\"m1\"") { text("Done.") } else { on("eyes") }
        }
        (None, 0) => {
            let more = json!({ "name": "eyes", "run_in_background": true });
            calls("Agent", &[start("scout", "Look.", more)])
        }
        (None, _) => text("Later."),
        (Some(_), 0) => call("r1", "Read", &json!({ "file_path": "a.txt" })),
        (Some(_), 1) if !all(request).contains("Go on.") => {
            at_work.send(()).unwrap();
            text("Never.").behind(&held)
        }
        (Some(_), _) => text("Seen."),
    });
    let env = world(&server);
    let mut child = env.command().args(["-p", "go"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    is_at_work.recv().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    gate.open();
    assert_eq!(env.posse(&["-p", "take it up", "--continue"]).success(), "Done.\n");
    let (main, agents) = taken_up(&server);
    assert!(all(&main).contains("- eyes (scout): task Look."), "{}", all(&main));
    let told = all(agents.last().unwrap());
    assert!(told.contains("hello") && told.contains("Go on."), "{told}");
}

#[test]
fn an_agent_whose_type_is_gone_says_so() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("scout", "Look.", json!({ "name": "eyes" }))]),
        (None, 1) => text("Later."),
        (None, 2) => on("eyes"),
        (None, 3) => call("m2", "SendMessage", &json!({ "to": "nobody", "message": "Hello?" })),
        (None, _) => text("Done."),
        (Some(_), _) => text("Seen."),
    });
    let env = world(&server);
    env.posse(&["-p", "go"]).success();
    std::fs::remove_file(env.path("project/.claude/agents/scout.md")).unwrap();
    env.posse(&["-p", "on", "--continue"]).success();
    let (main, _) = taken_up(&server);
    for (call, what) in [("m1", "no agent type `scout` any more"), ("m2", "There are: eyes, and main")] {
        let answer = result(&main, call);
        assert_eq!(answer["is_error"], true, "{answer}");
        assert!(words(&json!({ "content": [answer] })).contains(what), "{answer}");
    }
}

#[test]
fn two_agents_do_not_share_a_name() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => {
            let named = |task: &str| start("scout", task, json!({ "name": "eyes" }));
            calls("Agent", &[named("Left."), named("Right.")])
        }
        (None, 1) => on("eyes-2"),
        (None, _) => text("Done."),
        (Some(_), _) => text("Seen."),
    });
    let env = world(&server);
    env.posse(&["-p", "go"]).success();
    let names: std::collections::BTreeSet<String> =
        metas(&env).iter().map(|meta| meta["name"].to_string()).collect();
    assert_eq!(names, ["\"eyes\"", "\"eyes-2\""].map(str::to_owned).into());
    let (_, agents) = taken_up(&server);
    assert!(all(&agents[2]).contains("Go on."));
}

#[test]
fn who_was_stopped_with_the_session_is_told_of_once_when_it_goes_on() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => {
            let more = json!({ "name": "eyes", "run_in_background": true });
            calls("Agent", &[start("scout", "Look.", more)])
        }
        (None, step) => text(&format!("Step {step}.")),
        (Some(_), _) => text("Never.").after(std::time::Duration::from_secs(600)),
    });
    let mut env = world(&server);
    env.set("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "50");
    let stderr = env.posse(&["-p", "go"]).stderr;
    assert!(stderr.contains("stopped what was still at work"), "{stderr}");
    let told = |prompt: &str| {
        env.posse(&["-p", prompt, "--continue"]).success();
        all(of_main(&server).last().unwrap()).matches("- eyes (scout): task Look.").count()
    };
    assert_eq!([told("on"), told("and on")], [1, 1], "it is said once");
}

#[test]
fn a_session_that_is_at_work_is_not_taken_up_by_another_process() {
    let gate = Gate::default();
    let held = gate.clone();
    let (at_work, is_at_work) = std::sync::mpsc::channel();
    let server = FakeModel::answering(move |_| {
        let _ = at_work.send(());
        text("Done.").behind(&held)
    });
    let env = world(&server);
    let mut child = env.command().args(["-p", "go"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    is_at_work.recv().unwrap();
    let output = env.posse(&["-p", "me too", "--continue"]);
    gate.open();
    assert!(child.wait().unwrap().success());
    assert_ne!(output.code, Some(0));
    assert!(output.stderr.contains("in use by another process"), "{}", output.stderr);
    assert!(output.stderr.contains("--fork-session"), "{}", output.stderr);
    env.posse(&["-p", "me too", "--continue"]).success();
}

#[test]
fn a_budget_goes_on_where_it_was() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("frugal", "Look.", json!({ "name": "eyes" }))]),
        (None, 1) => text("Later."),
        (None, 2) => on("eyes"),
        (None, _) => text("Done."),
        (Some(_), _) => MessagesReply::new().text("Seen.").usage(60_000, 10).answer(),
    });
    let env = world(&server);
    env.agent(
        "frugal.md",
        "---\nname: frugal\ndescription: Saves\nbudget: {tokens: 66000}\n---\nBe frugal.\n",
    );
    env.posse(&["-p", "go"]).success();
    env.posse(&["-p", "on", "--continue"]).success();
    let (main, agents) = taken_up(&server);
    let said = words(&json!({ "content": [result(&main, "m1")] }));
    assert!(said.contains("budget"), "6,000 tokens are left, which are too few: {said}");
    assert_eq!(agents.len(), 1, "no request that cannot be paid");
}
