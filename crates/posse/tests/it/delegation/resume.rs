//! Agents that go on after their end, and messages to those at work.

use super::*;

fn letter(to: &str, message: &str) -> Value {
    json!({ "to": to, "message": message, "summary": "a word" })
}

fn answer(request: &Recorded, call: &str) -> String {
    words(&json!({ "content": [result(request, call)] }))
}

/// What both have in common must be the same to the byte, marks for the cache aside.
fn goes_on_from(before: &Recorded, after: &Recorded) {
    let plain = |request: &Recorded| {
        let mut messages = request.body["messages"].clone();
        for message in messages.as_array_mut().into_iter().flatten() {
            for block in message["content"].as_array_mut().into_iter().flatten() {
                block.as_object_mut().map(|block| block.remove("cache_control"));
            }
        }
        messages
    };
    let (old, new) = (plain(before), plain(after));
    assert!(list(&new).starts_with(list(&old)), "{old}\nis no beginning of\n{new}");
    assert_eq!(before.body["tools"], after.body["tools"]);
    assert_eq!(before.body["model"], after.body["model"]);
    assert_eq!(system(before), system(after));
}

#[test]
fn an_agent_that_ended_goes_on_with_its_history() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("scout", "Look.", json!({ "name": "eyes" }))]),
        (None, 1) => call(
            "t2",
            "Agent",
            &json!({ "description": "again", "prompt": "Look again.", "resume": id_of(&answer(request, "t1")) }),
        ),
        (None, 2) => call(
            "t3",
            "Agent",
            &json!({ "description": "again", "prompt": "A third time.", "resume": "eyes" }),
        ),
        (None, _) => text("Done."),
        (Some(_), 0) => call("r1", "Read", &json!({ "file_path": "a.txt" })),
        (Some(_), step) => text(&format!("Report {step}.")),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let main = of_main(&server);
    let end = main.last().unwrap();
    assert_eq!(main.len(), 4, "nothing is told besides: {}", all(end));
    for (call, report) in [("t1", "Report 1."), ("t2", "Report 2."), ("t3", "Report 3.")] {
        assert!(answer(end, call).contains(report), "{call}: {}", answer(end, call));
    }
    assert_eq!(all(end).matches("<task-notification>").count(), 0);
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 4);
    assert!(agents.iter().all(|request| agent(request) == agent(&agents[0])));
    for pair in agents.windows(2) {
        goes_on_from(&pair[0], &pair[1]);
    }
    assert!(last(&agents[2]).contains("Look again.") && last(&agents[2]).contains("not a word of the user"));
    assert_eq!(metas(&env).len(), 1);
    // Main opened the conversation once.
    assert_eq!(all(agents.last().unwrap()).matches("Always use tabs.").count(), 1);
}

#[test]
fn a_message_to_an_agent_that_ended_takes_it_up_again_in_the_background() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("scout", "Look.", json!({}))]),
        (None, 1) => call("m1", "SendMessage", &letter(&id_of(&answer(request, "t1")), "And the cellar?")),
        (None, 2) => text("Waiting."),
        (None, 3) => call("o1", "TaskOutput", &json!({ "task_id": id_of(&answer(request, "t1")) })),
        (None, _) => text("Done."),
        (Some(_), 0) => text("Report 0."),
        (Some(_), _) => text("The cellar is empty.").after(std::time::Duration::from_millis(30)),
    });
    let env = world(&server);
    let output = env.posse(&STREAM);
    assert_eq!(output.code, Some(0), "{output:?}");
    let main = of_main(&server);
    let end = main.last().unwrap();
    let id = id_of(&answer(end, "t1"));
    let value =
        stream(&output).into_iter().find(|line| line["tool_use_result"]["resumedAgentId"] == id.as_str());
    assert_eq!(value.unwrap()["tool_use_result"]["success"], true);
    assert_eq!(all(end).matches("<task-notification>").count(), 1, "{}", all(end));
    let told = last(&main[3]);
    assert!(
        told.contains("The cellar is empty.") && told.contains("<tool-use-id>m1</tool-use-id>"),
        "{told}"
    );
    // The task of that name is the one that goes on, not the one that was.
    assert!(answer(end, "o1").contains("The cellar is empty."), "{}", answer(end, "o1"));
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 2);
    goes_on_from(&agents[0], &agents[1]);
}

#[test]
fn an_agent_at_work_reads_its_messages_between_two_steps() {
    let gate = Gate::default();
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => {
            calls("Agent", &[start("scout", "Look.", json!({ "run_in_background": true, "name": "eyes" }))])
        }
        (None, 1) => call("m1", "SendMessage", &letter("eyes", "And the cellar?")),
        (None, 2) => {
            call("a1", "Agent", &json!({ "description": "again", "prompt": "More.", "resume": "eyes" }))
        }
        (None, 3) => {
            gate.open();
            text("Waiting.")
        }
        (None, _) => text("Done."),
        (Some(_), 0) => call("r1", "Read", &json!({ "file_path": "a.txt" })).behind(&gate),
        (Some(_), _) => text("The cellar is empty."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let main = of_main(&server);
    let end = main.last().unwrap();
    assert!(answer(end, "m1").contains("queued"), "{}", answer(end, "m1"));
    assert_eq!(result(end, "a1")["is_error"], true);
    assert!(answer(end, "a1").contains("still at work"), "{}", answer(end, "a1"));
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 2);
    let told = last(&agents[1]);
    assert!(told.contains("And the cellar?") && told.contains("hello"), "{told}");
    assert_eq!(all(end).matches("<task-notification>").count(), 1);
}

#[test]
fn a_message_that_came_too_late_is_found_first() {
    let gate = Gate::default();
    let server = FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => calls(
            "Agent",
            &[start("scout", "Look.", json!({ "run_in_background": true, "name": "eyes", "max_turns": 1 }))],
        ),
        (None, 1) => call("m1", "SendMessage", &letter("eyes", "And the cellar?")),
        (None, 2) => {
            gate.open();
            text("Waiting.")
        }
        (None, 3) => {
            call("t2", "Agent", &json!({ "description": "again", "prompt": "Go on.", "resume": "eyes" }))
        }
        (None, _) => text("Done."),
        (Some(_), 0) => call("r1", "Read", &json!({ "file_path": "a.txt" })).behind(&gate),
        (Some(_), _) => text("The cellar is empty."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let agents = of_agents(&server);
    let end = agents.last().unwrap();
    assert!(agents.len() >= 2 && all(end).contains("And the cellar?"), "{}", all(end));
    assert_eq!(all(end).matches("And the cellar?").count(), 1);
}

#[test]
fn an_agent_writes_to_main() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("writer", "Look.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), 0) => call("m1", "SendMessage", &letter("main", "I have begun.")),
        (Some(_), _) => text("Report."),
    });
    let env = world(&server);
    env.agent("writer.md", "---\nname: writer\ndescription: Writes\ntools: SendMessage\n---\nBe a writer.\n");
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let main = of_main(&server);
    let agents = of_agents(&server);
    assert!(answer(&agents[1], "m1").contains("queued"), "{}", answer(&agents[1], "m1"));
    assert_eq!(
        all(main.last().unwrap()).matches("I have begun.").count(),
        1,
        "{}",
        all(main.last().unwrap())
    );
}

#[test]
fn whoever_is_not_there_cannot_be_written_to() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls(
            "SendMessage",
            &[letter("nobody", "Hello?"), letter("main", "Hello?"), json!({ "to": "x" })],
        ),
        (None, 1) => {
            call("t4", "Agent", &json!({ "description": "again", "prompt": "More.", "resume": "a0" }))
        }
        (None, 2) => call("t5", "Agent", &start("Explore", "Look.", json!({ "name": "once" }))),
        (None, 3) => call("t6", "SendMessage", &letter("once", "More?")),
        (None, _) => text("Done."),
        (Some(_), _) => text("Report."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let main = of_main(&server);
    let end = main.last().unwrap();
    for (call, part) in [
        ("t1", "no agent `nobody`"),
        ("t2", "yourself"),
        ("t3", "`message`"),
        ("t4", "no agent `a0`"),
        ("t6", "answers once"),
    ] {
        assert!(answer(end, call).contains(part), "{call}: {}", answer(end, call));
    }
    assert_eq!(of_agents(&server).len(), 1);
}
