//! Agents as tools: what they report, what is heard of them on the way, and how they end.

use posse_testkit::server::Gate;

use super::*;

#[test]
fn an_agent_reports_and_is_heard_of_on_the_way() {
    let server = FakeModel::answering(|request| {
        match (request.body["system"].to_string().contains("Be a scout"), steps(request)) {
            // The agent of the agent.
            (true, 0) => tool("n1", "Read", &json!({ "file_path": "a.txt" })),
            (true, _) => text("There is one."),
            (false, 0) => tool("t1", "Read", &json!({ "file_path": "a.txt" })),
            (false, 1) => tool(
                "t2",
                "Agent",
                &json!({ "description": "count", "prompt": "count the files", "subagent_type": "scout" }),
            ),
            (false, _) => text("All is well."),
        }
    });
    let env = world(&server);
    env.agent("lead.md", "---\nname: lead\ndescription: Leads\ntools: Read, Agent\n---\nLead.\n");
    let mut client = Client::new(&env, &[]);
    let id = client.begin(
        "tools/call",
        json!({
            "name": "agent_lead",
            "arguments": { "prompt": "look at everything" },
            "_meta": { "progressToken": "tok" },
        }),
    );
    let (before, answer) = client.answer(id);
    let (failed, said) = result(&answer);
    assert!(!failed && said.contains("All is well."), "{said}");
    assert!(!said.contains("SendMessage"), "{said}");
    let facts = &answer["result"]["structuredContent"];
    assert_eq!(facts["report"], "All is well.");
    assert_eq!(facts["agentType"], "lead");
    assert_eq!(facts["toolUses"], 2);
    assert!(facts["agentId"].as_str().is_some_and(|id| id.starts_with('a')), "{facts}");
    assert!(facts["durationMs"].is_u64() && facts["usage"]["input_tokens"].is_u64(), "{facts}");
    let told: Vec<&Value> = before.iter().map(|note| &note["params"]).collect();
    assert!(told.iter().all(|params| params["progressToken"] == "tok"), "{before:?}");
    let steps: Vec<f64> = told.iter().filter_map(|params| params["progress"].as_f64()).collect();
    assert!(steps.is_sorted_by(|one, next| one < next), "{steps:?}");
    let messages: Vec<&str> = told.iter().filter_map(|params| params["message"].as_str()).collect();
    assert_eq!(
        messages,
        [
            "lead goes to work",
            "lead: Read a.txt",
            "lead: Agent count",
            "scout goes to work",
            "scout: Read a.txt",
            "scout: completed",
            "lead: completed",
        ]
    );
    // Whoever does not ask for it hears of nothing.
    let id = client.begin_call("agent_scout", json!({ "prompt": "count the files", "description": "again" }));
    let (before, answer) = client.answer(id);
    assert_eq!((before.len(), result(&answer).0), (0, false));
    client.end();
}

#[test]
fn arguments_that_do_not_fit_start_nobody() {
    let server = FakeModel::serving([]);
    let env = world(&server);
    let mut client = Client::new(&env, &[]);
    for arguments in [
        json!({}),
        json!({ "prompt": "  " }),
        json!({ "prompt": 7 }),
        json!({ "prompt": "x", "description": [] }),
        json!({ "prompt": "x", "mode": "bypassPermissions" }),
    ] {
        let answer = client.ask("tools/call", json!({ "name": "agent_scout", "arguments": arguments }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    client.end();
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn agents_work_side_by_side_and_tools_beside_them() {
    let gate = Gate::default();
    let (mut seen, opening) = (0, gate.clone());
    let server = FakeModel::answering(move |_| {
        seen += 1;
        if seen == 2 {
            opening.open();
        }
        text("done").behind(&opening)
    });
    let env = world(&server);
    let mut client = Client::new(&env, &["--permission-mode", "acceptEdits"]);
    let one = client.begin_call("agent_scout", json!({ "prompt": "one" }));
    // What must run alone does not wait for agents.
    let (failed, said) = client.call("Write", json!({ "file_path": "b.txt", "content": "x" }));
    assert!(!failed, "{said}");
    let two = client.begin_call("agent_worker", json!({ "prompt": "two" }));
    let mut answered = [client.next(), client.next()].map(|answer| answer["id"].as_u64().unwrap());
    answered.sort_unstable();
    assert_eq!(answered, [one, two]);
    client.end();
}

#[test]
fn an_agent_that_likes_the_background_is_waited_for() {
    let server = FakeModel::serving([text("I am done.")]);
    let env = world(&server);
    env.agent("shy.md", "---\nname: shy\ndescription: Shy\nbackground: true\n---\nBe shy.\n");
    let mut client = Client::new(&env, &[]);
    let (failed, said) = client.call("agent_shy", json!({ "prompt": "go" }));
    assert!(!failed && said.contains("I am done."), "{said}");
    client.end();
}

#[test]
fn a_cancelled_agent_stops_with_everything_it_started() {
    let (made, line) = std::sync::mpsc::channel::<String>();
    let server = FakeModel::answering(move |_| {
        tool("t1", "Bash", &json!({ "command": line.recv().unwrap_or_default() }))
    });
    let env = world(&server);
    let lifeline = Lifeline::new(&env.path("project/lifeline"));
    made.send(lifeline.command()).unwrap();
    let mut client = Client::new(&env, &["--allowedTools", "Bash"]);
    let id = client.begin_call("agent_worker", json!({ "prompt": "go" }));
    let held = lifeline.held();
    client.tell("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    let_go(held);
    // No answer comes for it, and the server goes on.
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(server.requests().len(), 1, "the model is not asked again");
    client.end();
}

#[test]
fn the_end_of_the_input_ends_agents_and_what_runs_in_the_background() {
    let (made, line) = std::sync::mpsc::channel::<String>();
    let server = FakeModel::answering(move |_| {
        tool("t1", "Bash", &json!({ "command": line.recv().unwrap_or_default() }))
    });
    let env = world(&server);
    let of_agent = Lifeline::new(&env.path("project/one"));
    let of_tool = Lifeline::new(&env.path("project/two"));
    made.send(of_agent.command()).unwrap();
    let mut client = Client::new(&env, &["--allowedTools", "Bash"]);
    client.begin_call("agent_worker", json!({ "prompt": "go" }));
    let (one, command) = (of_agent.held(), of_tool.command());
    let (failed, said) = client.call("Bash", json!({ "command": command, "run_in_background": true }));
    assert!(!failed, "{said}");
    let two = of_tool.held();
    client.end();
    let_go(one);
    let_go(two);
}

#[test]
fn a_signal_ends_it_although_the_input_is_open() {
    use rustix::process::{Pid, Signal, kill_process};
    let env = env();
    let lifeline = Lifeline::new(&env.path("project/lifeline"));
    let mut client = Client::new(&env, &["--allowedTools", "Bash", "--no-agents"]);
    client.begin_call("Bash", json!({ "command": lifeline.command() }));
    let held = lifeline.held();
    let pid = Pid::from_child(&client.child);
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(client.child.wait().unwrap().code(), Some(130));
    let_go(held);
}

#[test]
fn the_budget_holds_for_all_calls_together() {
    let server = FakeModel::answering(|_| text("done"));
    let env = world(&server);
    let mut client = Client::new(&env, &["--max-budget-usd", "0.000001"]);
    let id = client.begin_call("agent_scout", json!({ "prompt": "go" }));
    let (_, answer) = client.answer(id);
    let said = result(&answer).1;
    assert!(said.contains("it reached its budget"), "{said}");
    let note = answer["result"]["structuredContent"]["note"].as_str().unwrap();
    assert!(note.contains("it reached its budget"), "{note}");
    client.end();
    assert_eq!(server.requests().len(), 0, "nothing is spent that was not there");
}

#[test]
fn permission_is_asked_for_what_agents_do() {
    let server = FakeModel::answering(|request| match steps(request) {
        0 => tool("t1", "Bash", &json!({ "command": "touch made" })),
        _ => text("done"),
    });
    let env = world(&server);
    let mut client = Client::asking(&env, &[]);
    let id = client.begin_call("agent_worker", json!({ "prompt": "go" }));
    let question = client.question();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("worker wants to use Bash") && message.contains("touch made"), "{message}");
    client.reply(&question, json!({ "action": "accept", "content": { "allow": true } }));
    assert!(!result(&client.answer(id).1).0);
    assert!(env.path("project/made").exists());
    client.end();
}
