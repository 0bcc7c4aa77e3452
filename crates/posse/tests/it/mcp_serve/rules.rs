//! No detour: rules, hooks and people decide about calls from outside as about an agent's own.

use super::*;

#[test]
fn rules_decide_and_what_would_be_asked_is_refused_with_the_reason() {
    let mut env = env();
    env.set("IS_SANDBOX", "1");
    env.write("project/a.txt", "hello\n");
    let deny =
        r#"{"permissions": {"deny": ["Read(./secret.txt)", "Bash(rm *)"], "allow": ["Bash(echo *)"]}}"#;
    env.write("project/secret.txt", "hush\n");
    let mut client = Client::new(&env, &["--settings", deny]);
    assert_eq!(client.call("Read", json!({ "file_path": "a.txt" })), (false, "     1\thello".into()));
    let (failed, said) = client.call("Read", json!({ "file_path": "secret.txt" }));
    assert!(failed && said.contains("denied"), "{said}");
    assert_eq!(client.call("Bash", json!({ "command": "echo hi" })), (false, "hi".into()));
    let (failed, said) = client.call("Bash", json!({ "command": "echo hi && rm a.txt" }));
    assert!(failed && said.contains("denied"), "{said}");
    let (failed, said) = client.call("Write", json!({ "file_path": "b.txt", "content": "x" }));
    assert!(failed && said.contains("Nobody can be asked here"), "{said}");
    assert!(!env.path("project/b.txt").exists());
    client.end();

    let mut client = Client::new(&env, &["--settings", deny, "--permission-mode", "acceptEdits"]);
    let (failed, said) = client.call("Write", json!({ "file_path": "b.txt", "content": "x" }));
    assert!(!failed, "{said}");
    let (failed, said) = client.call("Write", json!({ "file_path": "a.txt", "content": "x" }));
    assert!(failed && said.contains("read"), "an unread file is not overwritten: {said}");
    client.call("Read", json!({ "file_path": "a.txt" }));
    let (failed, said) =
        client.call("Edit", json!({ "file_path": "a.txt", "old_string": "hello", "new_string": "bye" }));
    assert!(!failed, "{said}");
    assert_eq!(env.read("project/a.txt"), "bye\n");
    client.end();

    let mut client = Client::new(&env, &["--settings", deny, "--dangerously-skip-permissions"]);
    let (failed, said) = client.call("Bash", json!({ "command": "rm a.txt" }));
    assert!(failed && said.contains("denied"), "no mode undoes a deny: {said}");
    client.end();
}

#[test]
fn a_person_behind_the_client_is_asked() {
    let env = env();
    let deny = r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#;
    let mut client = Client::asking(&env, &["--settings", deny, "--no-agents"]);
    let answers = [
        (json!({ "action": "accept", "content": { "allow": true } }), true),
        (json!({ "action": "accept", "content": { "allow": false } }), false),
        (json!({ "action": "accept", "content": {} }), false),
        (json!({ "action": "accept" }), false),
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
    ];
    for (place, (answer, yes)) in answers.into_iter().enumerate() {
        let file = format!("new{place}.txt");
        let id = client.begin_call("Write", json!({ "file_path": file, "content": "some words" }));
        let question = client.question();
        let message = question["params"]["message"].as_str().unwrap();
        assert!(
            message.contains("Write") && message.contains(&file) && message.contains("some words"),
            "{message}"
        );
        assert_eq!(question["params"]["requestedSchema"]["properties"]["allow"]["type"], "boolean");
        client.reply(&question, answer.clone());
        let (failed, said) = result(&client.answer(id).1);
        assert_eq!((!failed, env.path(&format!("project/{file}")).exists()), (yes, yes), "{answer}: {said}");
    }
    // A client that cannot do what it promised is nobody.
    let id = client.begin_call("Write", json!({ "file_path": "other.txt", "content": "x" }));
    let question = client.question();
    let error = json!({ "code": -32601, "message": "no" });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
    let (failed, said) = result(&client.answer(id).1);
    assert!(failed && said.contains("Nobody can be asked"), "{said}");
    // What a rule denies is not asked.
    let (failed, said) = client.call("Bash", json!({ "command": "rm -r ." }));
    assert!(failed && said.contains("denied"), "{said}");
    client.end();
}

#[test]
fn a_question_is_taken_back_when_its_call_is_cancelled() {
    let env = env();
    let mut client = Client::asking(&env, &["--no-agents"]);
    let id = client.begin_call("Write", json!({ "file_path": "x.txt", "content": "x" }));
    let question = client.question();
    client.tell("notifications/cancelled", json!({ "requestId": id }));
    let taken_back = client.next();
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    // A late yes changes nothing, and the next question is another.
    client.reply(&question, json!({ "action": "accept", "content": { "allow": true } }));
    let id = client.begin_call("Write", json!({ "file_path": "y.txt", "content": "y" }));
    let question = client.question();
    client.reply(&question, json!({ "action": "accept", "content": { "allow": true } }));
    assert!(!result(&client.answer(id).1).0);
    assert!(!env.path("project/x.txt").exists() && env.path("project/y.txt").exists());
    client.end();
}

#[test]
fn hanging_up_with_a_question_open_ends_it_with_a_no() {
    let env = env();
    let mut client = Client::asking(&env, &["--no-agents"]);
    client.begin_call("Write", json!({ "file_path": "x.txt", "content": "x" }));
    client.question();
    client.end();
    assert!(!env.path("project/x.txt").exists());
}

#[test]
fn hooks_see_rewrite_and_refuse_calls() {
    let env = env();
    env.write("project/a.txt", "hello\n");
    env.write("project/b.txt", "other\n");
    let settings = json!({ "hooks": {
        "PreToolUse": [
            { "matcher": "Grep", "hooks": [{ "type": "command", "command": "echo not here >&2; exit 2" }] },
            { "matcher": "Read", "hooks": [{ "type": "command", "command":
                r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"file_path": "b.txt"}}}'"# }] },
        ],
        "PostToolUse": [{ "matcher": "Read", "hooks": [{ "type": "command", "command":
            r#"cat > seen.json; echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "mind the gap"}}'"# }] }],
        "SessionEnd": [{ "hooks": [{ "type": "command", "command": "touch ended" }] }],
    } });
    let mut client = Client::new(&env, &["--settings", &settings.to_string(), "--no-agents"]);
    let (failed, said) = client.call("Grep", json!({ "pattern": "x" }));
    assert!(failed && said.contains("not here"), "{said}");
    let (failed, said) = client.call("Read", json!({ "file_path": "a.txt" }));
    assert!(!failed && said.contains("other") && said.contains("mind the gap"), "{said}");
    let seen = json(&env.read("project/seen.json"));
    assert_eq!(seen["tool_name"], "Read");
    assert_eq!(seen["tool_input"]["file_path"], "b.txt");
    assert!(!env.path("project/ended").exists());
    client.end();
    assert!(env.path("project/ended").exists());
}
