//! Servers of tools behind a host: given, taken away, switched, called and answered for while the session runs.

use serde_json::json;

use super::raw::Talk;
use super::*;

/// A world in which everything may be allowed, whoever runs the tests.
fn open_world(model: &FakeModel) -> TestEnv {
    let mut env = world(model);
    env.set("IS_SANDBOX", "1");
    env
}

/// The same with a server in it that is a shell script.
fn with_server(model: &FakeModel) -> TestEnv {
    let env = open_world(model);
    env.write("project/server.sh", include_str!("server.sh"));
    env
}

fn script(mode: &str) -> Value {
    json!({"type": "stdio", "command": "sh", "args": ["server.sh", mode], "env": {"TOKEN": "geheim"}})
}

fn greet(talk: &mut Talk) {
    talk.request("greeting", json!({"subtype": "initialize"}));
    assert_eq!(talk.reply("greeting")["subtype"], "success");
}

/// Asks for something and waits for the answer.
#[track_caller]
fn ask(talk: &mut Talk, request: Value) -> Value {
    let id = format!("ask {}", talk.seen.len());
    talk.request(&id, request);
    talk.reply(&id)
}

#[track_caller]
fn set(talk: &mut Talk, servers: Value) -> Value {
    ask(talk, json!({"subtype": "mcp_set_servers", "servers": servers}))["response"].take()
}

fn toggle(talk: &mut Talk, name: &str, enabled: bool) -> Value {
    ask(talk, json!({"subtype": "mcp_toggle", "serverName": name, "enabled": enabled}))
}

fn status(talk: &mut Talk, name: &str) -> Value {
    let all = ask(talk, json!({"subtype": "mcp_status"}))["response"]["mcpServers"].take();
    all.as_array().expect("a list").iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
}

/// The tools of servers that the model is told of in its next request, and those that `init` lists.
fn tools(talk: &mut Talk) -> (String, String) {
    talk.user(&format!("do: {}", json!([{"echo": "/tools"}])));
    let end = talk.result();
    let of_servers = |names: &mut dyn Iterator<Item = String>| {
        names.filter(|name| name.starts_with("mcp__")).collect::<Vec<_>>().join(" ")
    };
    let told = json(end["result"].as_str().expect("a text"));
    let told = told.as_array().cloned().unwrap_or_default();
    let told = of_servers(&mut told.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()));
    let init = talk.seen.iter().rfind(|line| line["subtype"] == "init").expect("an init");
    let init = init["tools"].as_array().cloned().unwrap_or_default();
    let init = of_servers(&mut init.iter().map(|name| name.as_str().unwrap_or_default().to_owned()));
    (told, init)
}

/// Lets the model use a tool: what came of it.
fn used(talk: &mut Talk, tool: &str, input: Value) -> String {
    talk.user(&format!("do: {}", json!([{"tool": tool, "input": input}])));
    talk.result()["result"].as_str().unwrap_or_default().to_owned()
}

/// Answers the greeting of a server inside the host, which has these tools.
fn shake_hands(talk: &mut Talk, server: &str, tools: &[&str]) {
    let tools: Vec<Value> =
        tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    let greeting = [
        ("initialize", initialized()),
        ("notifications/initialized", json!({})),
        ("tools/list", json!({"tools": tools})),
    ];
    for (method, result) in greeting {
        let asked = talk.asked("mcp_message");
        let message = &asked["request"]["message"];
        assert_eq!((&asked["request"]["server_name"], &message["method"]), (&json!(server), &json!(method)));
        reply_from_server(talk, &asked, result);
    }
}

fn initialized() -> Value {
    let info = json!({"name": "inside", "version": "2"});
    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": info})
}

fn reply_from_server(talk: &mut Talk, asked: &Value, result: Value) {
    let id = &asked["request"]["message"]["id"];
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
    talk.answer(&asked["request_id"], json!({"mcp_response": answer}));
}

/// The processes of servers that are there now.
fn running(env: &TestEnv) -> usize {
    let started = std::fs::read_to_string(env.path("project/started")).unwrap_or_default();
    started.lines().filter(|id| std::path::Path::new("/proc").join(id).exists()).count()
}

#[test]
fn servers_come_and_go_while_the_session_runs() {
    let model = obedient();
    let env = with_server(&model);
    let config = json!({"mcpServers": {"file": script("file")}}).to_string();
    let mut talk = Talk::start(&env, &["--mcp-config", &config, "--permission-mode", "bypassPermissions"]);
    greet(&mut talk);
    let (told, _) = tools(&mut talk);
    assert!(told.contains("mcp__file__look") && !told.contains("mcp__new__"), "{told}");

    let reset =
        set(&mut talk, json!({"new": script("new"), "bad": script("dies"), "odd": {"type": "pigeon"}}));
    assert_eq!((&reset["added"], &reset["removed"]), (&json!(["bad", "new"]), &json!([])), "{reset}");
    let errors = reset["errors"].as_object().unwrap();
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["bad", "odd"]);
    assert!(reset["errors"]["odd"].as_str().unwrap().contains("pigeon"), "{reset}");
    assert_eq!(status(&mut talk, "bad")["status"], "failed");
    let (told, init) = tools(&mut talk);
    for list in [&told, &init] {
        assert!(list.contains("mcp__new__look") && list.contains("mcp__file__look"), "{list}");
    }
    assert_eq!(used(&mut talk, "mcp__new__look", json!({})), "Result: here");
    let before = running(&env);

    // The same again changes nothing; what is not named goes, but for what a file or a flag configured.
    let reset = set(&mut talk, json!({"new": script("new")}));
    assert_eq!((&reset["added"], &reset["removed"]), (&json!([]), &json!(["bad"])));
    let reset = set(&mut talk, json!({}));
    assert_eq!((&reset["added"], &reset["removed"]), (&json!([]), &json!(["new"])));
    assert_eq!(running(&env), before - 1, "its process has ended with the answer");
    assert_eq!(status(&mut talk, "new"), Value::Null);
    let (told, init) = tools(&mut talk);
    for list in [&told, &init] {
        assert!(!list.contains("mcp__new__") && list.contains("mcp__file__look"), "{list}");
    }
    let said = used(&mut talk, "mcp__new__look", json!({}));
    assert!(said.contains("No such tool available: mcp__new__look"), "{said}");

    // One of the host's takes the place of one of a flag, for as long as it is there.
    let reset = set(&mut talk, json!({"file": script("other")}));
    assert_eq!(reset["added"], json!(["file"]));
    let all = ask(&mut talk, json!({"subtype": "mcp_status"}))["response"]["mcpServers"].take();
    assert_eq!(pluck(&all, "/name"), "file", "only what counts is listed");
    assert_eq!(status(&mut talk, "file")["config"]["args"], json!(["server.sh", "other"]));
    set(&mut talk, json!({}));
    assert_eq!(status(&mut talk, "file")["config"]["args"], json!(["server.sh", "file"]));
    assert_eq!(used(&mut talk, "mcp__file__look", json!({})), "Result: here");
    let (code, _, stderr) = talk.finish();
    assert_eq!((code, stderr.as_str(), running(&env)), (Some(0), "", 0));
}

#[test]
fn a_call_to_a_server_that_is_taken_away_ends_with_the_reason() {
    let model = obedient();
    let env = with_server(&model);
    for (request, why) in [
        (
            json!({"subtype": "mcp_set_servers", "servers": {}}),
            "s is not among the servers of this session any more",
        ),
        (json!({"subtype": "mcp_toggle", "serverName": "s", "enabled": false}), "s is switched off"),
    ] {
        let mut talk = Talk::start(&env, &["--permission-mode", "bypassPermissions"]);
        greet(&mut talk);
        set(&mut talk, json!({"s": script("s")}));
        talk.user(&format!("do: {}", json!([{"tool": "mcp__s__hang", "input": {}}])));
        // The server says when it has the call.
        talk.until(|line| line["type"] == "tool_progress");
        assert_eq!(ask(&mut talk, request)["subtype"], "success");
        assert_eq!(talk.result()["result"], format!("Result: {why}"));
        assert_eq!((talk.finish().0, running(&env)), (Some(0), 0));
    }
}

#[test]
fn a_server_that_never_answers_can_be_taken_away() {
    let model = obedient();
    let env = with_server(&model);
    let mut talk = Talk::start(&env, &[]);
    greet(&mut talk);
    talk.request("never", json!({"subtype": "mcp_set_servers", "servers": {"mute": script("mute")}}));
    while status(&mut talk, "mute").is_null() || running(&env) == 0 {}
    assert_eq!(status(&mut talk, "mute")["status"], "pending");
    assert_eq!(set(&mut talk, json!({}))["removed"], json!(["mute"]));
    let late = talk.seen.iter().find(|line| line["response"]["request_id"] == "never").cloned();
    let late = late.unwrap_or_else(|| json!({"response": talk.reply("never")}));
    assert_eq!(late["response"]["response"]["errors"], json!({"mute": "mute was taken away"}));
    assert_eq!((talk.finish().0, running(&env)), (Some(0), 0));
}

#[test]
fn what_a_host_gives_survives_a_new_conversation() {
    let model = obedient();
    let env = with_server(&model);
    let mut talk = Talk::start(&env, &[]);
    greet(&mut talk);
    set(&mut talk, json!({"new": script("new"), "off": script("off")}));
    toggle(&mut talk, "off", false);
    talk.user("/clear");
    talk.result();
    let (told, _) = tools(&mut talk);
    assert!(told.contains("mcp__new__look") && !told.contains("mcp__off__"), "{told}");
    assert_eq!(status(&mut talk, "off")["status"], "disabled");
    assert_eq!(talk.finish().0, Some(0));
    assert_eq!(running(&env), 0);
}

#[test]
fn policy_holds_for_servers_of_the_host() {
    let model = obedient();
    let env = with_server(&model);
    env.write(
        "home/.claude/settings.json",
        json!({"deniedMcpServers": [{"serverName": "evil"}, {"serverCommand": ["sh", "server.sh", "evil"]}]})
            .to_string(),
    );
    let mut talk = Talk::start(&env, &["--strict-mcp-config"]);
    greet(&mut talk);
    let reset =
        set(&mut talk, json!({"evil": script("a"), "hidden": script("evil"), "good": script("good")}));
    assert_eq!(reset["added"], json!(["good"]));
    for name in ["evil", "hidden"] {
        assert_eq!(reset["errors"][name], "`deniedMcpServers` denies it");
        assert_eq!(status(&mut talk, name), Value::Null);
    }
    assert_eq!(running(&env), 1);
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn a_server_is_switched_off_and_on() {
    let model = obedient();
    let env = with_server(&model);
    let config = json!({"mcpServers": {"s": script("s")}}).to_string();
    let mut talk = Talk::start(&env, &["--mcp-config", &config, "--permission-mode", "bypassPermissions"]);
    greet(&mut talk);
    assert_eq!(used(&mut talk, "mcp__s__look", json!({})), "Result: here");
    assert_eq!(running(&env), 1);
    assert_eq!(toggle(&mut talk, "s", false)["subtype"], "success");
    assert_eq!(running(&env), 0);
    let off = status(&mut talk, "s");
    assert_eq!((&off["status"], &off["tools"]), (&json!("disabled"), &Value::Null));
    let (told, init) = tools(&mut talk);
    assert_eq!((told.as_str(), init.as_str()), ("", ""));
    let refused = ask(&mut talk, json!({"subtype": "mcp_reconnect", "serverName": "s"}));
    assert_eq!((&refused["subtype"], &refused["error"]), (&json!("error"), &json!("s is switched off")));
    // Off and on between two requests: the tools are those of the new one.
    for _ in 0..2 {
        assert_eq!(toggle(&mut talk, "s", false)["subtype"], "success");
        assert_eq!(toggle(&mut talk, "s", true)["subtype"], "success");
        assert_eq!((status(&mut talk, "s")["status"].clone(), running(&env)), (json!("connected"), 1));
    }
    assert_eq!(used(&mut talk, "mcp__s__look", json!({})), "Result: here");
    assert_eq!(ask(&mut talk, json!({"subtype": "mcp_reconnect", "serverName": "s"}))["subtype"], "success");
    assert_eq!(used(&mut talk, "mcp__s__look", json!({})), "Result: here");
    for request in ["mcp_toggle", "mcp_reconnect"] {
        let refused = ask(&mut talk, json!({"subtype": request, "serverName": "x", "enabled": true}));
        assert_eq!(refused["error"], "Server not found: x");
    }
    assert_eq!(talk.finish().0, Some(0));
    assert_eq!(running(&env), 0);
}

#[test]
fn the_state_of_a_server_is_told_in_full_and_without_secrets() {
    let model = obedient();
    let env = with_server(&model);
    let servers = json!({"s": script("s"), "d": script("dies")});
    let mut talk = Talk::start(&env, &["--mcp-config", &json!({"mcpServers": servers}).to_string()]);
    greet(&mut talk);
    ask(&mut talk, json!({"subtype": "mcp_reconnect", "serverName": "s"}));
    let told = status(&mut talk, "s");
    assert_eq!(
        told["config"],
        json!({"type": "stdio", "command": "sh", "args": ["server.sh", "s"], "env": {"TOKEN": "…"}})
    );
    assert_eq!(told["serverInfo"], json!({"name": "shell", "version": "1"}));
    let words = ["status", "scope", "source", "transport"].map(|key| told[key].as_str().unwrap_or("-"));
    assert_eq!(words, ["connected", "dynamic", "dynamic", "stdio"]);
    assert_eq!(
        (&told["tools"][0], &told["tools"][1]),
        (
            &json!({"name": "look", "description": "Looks.", "annotations": {"readOnly": true}}),
            &json!({"name": "hang"})
        )
    );
    let failed = status(&mut talk, "d");
    assert_eq!((&failed["status"], failed["error"].is_string()), (&json!("failed"), true), "{failed}");
    assert!(failed["tools"].is_null() && failed["serverInfo"].is_null());
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    assert!(lines.iter().all(|line| !line.to_string().contains("geheim")));
}

#[test]
fn servers_inside_the_host_are_replaced_as_a_whole() {
    let model = obedient();
    let env = open_world(&model);
    let mut talk = Talk::start(&env, &["--permission-mode", "bypassPermissions"]);
    talk.request("r", json!({"subtype": "initialize", "sdkMcpServers": ["old", "stays"]}));
    let mut waiting = vec!["old", "stays"];
    // Both are greeted side by side.
    for _ in 0..6 {
        let asked = talk.asked("mcp_message");
        let (server, method) =
            (asked["request"]["server_name"].clone(), asked["request"]["message"]["method"].clone());
        let result = match method.as_str() {
            Some("initialize") => initialized(),
            Some("tools/list") => {
                waiting.retain(|name| server != *name);
                json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
            }
            _ => json!({}),
        };
        reply_from_server(&mut talk, &asked, result);
    }
    assert!(waiting.is_empty());
    talk.reply("r");
    let told = status(&mut talk, "old");
    assert_eq!((&told["source"], &told["scope"]), (&json!("sdk"), &json!("dynamic")));
    let reset = set(
        &mut talk,
        json!({"stays": {"type": "sdk", "name": "stays"}, "new": {"type": "sdk", "name": "new"}}),
    );
    assert_eq!(reset, json!({"added": ["new"], "removed": ["old"], "errors": {}}));
    // The greeting may come after the answer; the next turn waits for it.
    talk.user(&format!("do: {}", json!([{"tool": "mcp__new__t", "input": {"a": 1}, "id": "toolu_x"}])));
    shake_hands(&mut talk, "new", &["t"]);
    let asked = talk.asked("mcp_message");
    let params = &asked["request"]["message"]["params"];
    assert_eq!((&params["name"], &params["arguments"]), (&json!("t"), &json!({"a": 1})));
    assert_eq!(params["_meta"]["claudecode/toolUseId"], "toolu_x");
    assert!(!params["_meta"]["progressToken"].is_null(), "{params}");
    reply_from_server(&mut talk, &asked, json!({"content": [{"type": "text", "text": "inside"}]}));
    assert_eq!(talk.result()["result"], "Result: inside");
    let init = talk.seen.iter().rfind(|line| line["subtype"] == "init").unwrap().clone();
    let listed = json!([
        {"name": "new", "status": "connected", "source": "sdk"},
        {"name": "stays", "status": "connected", "source": "sdk"},
    ]);
    assert_eq!(init["mcp_servers"], listed);
    let gone = ask(&mut talk, json!({"subtype": "mcp_message", "server_name": "old", "message": {}}));
    assert_eq!(gone["error"], "Server not found: old");
    // Unasked, it says that it has others now.
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    talk.request("n", json!({"subtype": "mcp_message", "server_name": "new", "message": changed}));
    let asked = talk.asked("mcp_message");
    assert_eq!(asked["request"]["message"]["method"], "tools/list");
    let two = json!({"tools": [{"name": "u", "inputSchema": {"type": "object"}}]});
    reply_from_server(&mut talk, &asked, two);
    let is_known = |told: Value| told["tools"][0]["name"] == "u";
    assert!((0..10_000).any(|_| is_known(status(&mut talk, "new"))), "the other list is never learnt");
    // What was there before stays where it was.
    assert_eq!(tools(&mut talk).0, "mcp__stays__t mcp__new__u");
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn a_greeting_that_the_host_has_held_is_not_held_again() {
    let model = obedient();
    let env = open_world(&model);
    let mut talk = Talk::start(&env, &["--permission-mode", "bypassPermissions"]);
    let list = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    talk.request(
        "r",
        json!({
            "subtype": "initialize",
            "sdkMcpServers": ["known"],
            "sdkMcpServerConfigs": {"known": {"timeout": 1000, "tools": [{"name": "t", "permission_policy": "always_deny"}]}},
            "sdkMcpServerManifests": {"known": {"initializeResult": initialized(), "toolsListResult": list}},
        }),
    );
    assert_eq!(talk.reply("r")["response"]["sdk_mcp_manifests_parked"], json!({"known": "parked"}));
    assert!(talk.seen.iter().all(|line| line["type"] != "control_request"), "{:?}", talk.seen);
    assert_eq!(tools(&mut talk).0, "mcp__known__t");
    let told = status(&mut talk, "known");
    assert_eq!((&told["status"], &told["serverInfo"]["name"]), (&json!("connected"), &json!("inside")));
    assert_eq!(told["config"], json!({"type": "sdk", "name": "known", "timeout": 1000}));
    // What the host says of its tools counts in every mode, until it says something else.
    let said = used(&mut talk, "mcp__known__t", json!({}));
    assert!(said.contains("has been denied"), "{said}");
    assert_eq!(set(&mut talk, json!({"known": {"type": "sdk", "name": "known"}}))["added"], json!([]));
    // A call that takes longer than the host allows is given up, and the server hears of it.
    talk.user(&format!("do: {}", json!([{"tool": "mcp__known__t", "input": {}}])));
    let call = talk.asked("mcp_message");
    assert_eq!(call["request"]["message"]["method"], "tools/call");
    let notice = talk.asked("mcp_message");
    let message = &notice["request"]["message"];
    assert_eq!(message["method"], "notifications/cancelled");
    assert_eq!(message["params"]["requestId"], call["request"]["message"]["id"]);
    reply_from_server(&mut talk, &notice, json!({}));
    let withdrawn = talk.until(|line| line["type"] == "control_cancel_request");
    assert_eq!(withdrawn["request_id"], call["request_id"]);
    let end = talk.result();
    assert!(end["result"].as_str().unwrap().contains("did not answer a call of t within 1 s"), "{end}");
    // Every later greeting is a real one.
    talk.request("again", json!({"subtype": "mcp_reconnect", "serverName": "known"}));
    shake_hands(&mut talk, "known", &["t"]);
    assert_eq!(talk.reply("again")["subtype"], "success");
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn a_host_calls_tools_and_reads_pages_itself() {
    let model = obedient();
    let env = with_server(&model);
    let servers = json!({"s": script("s"), "inside": {"type": "sdk", "name": "inside"}});
    let mut talk = Talk::start(&env, &["--mcp-config", &json!({"mcpServers": servers}).to_string()]);
    talk.request("r", json!({"subtype": "initialize"}));
    shake_hands(&mut talk, "inside", &["t"]);
    talk.reply("r");
    let call = |tool: &str| json!({"subtype": "mcp_call", "tool": tool, "arguments": {}});
    let with = |tool: &str, key: &str, value: Value| {
        let mut call = call(tool);
        call[key] = value;
        call
    };
    let here = json!([{"type": "text", "text": "here"}]);
    let read =
        |server: &str, uri: &str| json!({"subtype": "mcp_read_resource", "serverName": server, "uri": uri});
    let page = json!([{"uri": "ui://page", "mimeType": "text/html", "text": "<p>hello</p>", "_meta": {"ui": {"csp": {}}}}]);
    for (request, want) in [
        (call("mcp__s__look"), json!({"content": here})),
        (call("mcp__s__odd_name"), json!({"content": here})),
        (with("mcp__s__look", "result_not_for_model", json!(true)), json!({"content": here})),
        (with("mcp__s__look", "timeout_ms", json!(5000)), json!({"content": here})),
        (read("s", "ui://page"), json!({"contents": page})),
    ] {
        assert_eq!(ask(&mut talk, request.clone())["response"], want, "{request}");
    }
    for (request, want) in [
        (call("mcp__s__fails"), "it broke"),
        (call("mcp__s__nothing"), "there is no tool mcp__s__nothing"),
        (call("Bash"), "there is no tool Bash"),
        (call("mcp__inside__t"), "a server of the host itself"),
        (with("mcp__s__look", "check_permissions", json!(true)), "The tool did not run: "),
        (with("mcp__s__look", "input_files", json!([])), "The tool did not run: "),
        (read("s", "file:///etc/passwd"), "only ui:// resources"),
        (read("x", "ui://page"), "Server not found: x"),
        (read("inside", "ui://page"), "a server of the host itself"),
    ] {
        let reply = ask(&mut talk, request.clone());
        assert_eq!(reply["subtype"], "error", "{request}: {reply}");
        assert!(reply["error"].as_str().unwrap().contains(want), "{request}: {reply}");
    }
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn a_host_wants_to_be_asked_about_one_server_whatever_the_mode() {
    let model = obedient();
    let env = with_server(&model);
    let config = json!({"mcpServers": {"s": script("s")}}).to_string();
    let flags =
        ["--mcp-config", &config, "--permission-mode", "bypassPermissions", "--permission-prompt-tool=stdio"];
    let mut talk = Talk::start(&env, &flags);
    greet(&mut talk);
    let mode = |name: &str, mode: Value| json!({"subtype": "set_mcp_permission_mode_override", "serverName": name, "mode": mode});
    assert_eq!(used(&mut talk, "mcp__s__look", json!({})), "Result: here");
    assert_eq!(ask(&mut talk, mode("s", json!("default")))["response"], json!({}));
    talk.user(&format!("do: {}", json!([{"tool": "mcp__s__look", "input": {}}])));
    let asked = talk.asked("can_use_tool");
    talk.answer(&asked["request_id"], json!({"behavior": "deny", "message": "not now"}));
    assert_eq!(talk.result()["result"], "Result: not now");
    assert_eq!(ask(&mut talk, mode("s", Value::Null))["response"], json!({}));
    assert_eq!(used(&mut talk, "mcp__s__look", json!({})), "Result: here");
    assert!(ask(&mut talk, mode("x", json!("auto")))["response"]["warning"].is_string());
    assert_eq!(ask(&mut talk, mode("s", json!("bypassPermissions")))["subtype"], "error");
    assert_eq!(talk.finish().0, Some(0));
}

#[test]
fn questions_of_a_server_go_to_hosts_that_know_them_and_to_no_others() {
    let model = obedient();
    for (entrypoint, answer, want) in [
        ("sdk-ts", Some(json!({"action": "accept", "content": {"name": "Ada"}})), "hello Ada"),
        ("sdk-ts", Some(json!({"action": "decline"})), "declined"),
        ("sdk-ts", Some(json!({"nonsense": 1})), "declined"),
        ("sdk-py", None, "declined"),
        ("sdk-cli", None, "declined"),
    ] {
        let mut env = with_server(&model);
        env.set("CLAUDE_CODE_ENTRYPOINT", entrypoint);
        let config = json!({"mcpServers": {"s": script("s")}}).to_string();
        let flags =
            ["--mcp-config", &config, "--allowedTools", "mcp__s__ask", "--permission-prompt-tool=stdio"];
        let mut talk = Talk::start(&env, &flags);
        greet(&mut talk);
        talk.user(&format!("do: {}", json!([{"tool": "mcp__s__ask", "input": {}}])));
        if let Some(answer) = answer {
            let asked = talk.asked("elicitation");
            let mut request = asked["request"].clone();
            assert_eq!(request["requested_schema"]["properties"]["name"]["type"], "string");
            request["requested_schema"] = Value::Null;
            assert_eq!(
                request,
                json!({
                    "subtype": "elicitation", "mcp_server_name": "s", "message": "Who?", "mode": "form",
                    "property_order": ["name"], "requested_schema": null,
                })
            );
            talk.answer(&asked["request_id"], answer);
        }
        assert_eq!(talk.result()["result"], format!("Result: {want}"), "{entrypoint}");
        let (code, lines, _) = talk.finish();
        assert_eq!(code, Some(0));
        let asked = lines.iter().filter(|line| line["type"] == "control_request").count();
        assert_eq!(asked, usize::from(entrypoint == "sdk-ts"), "{entrypoint}");
    }
}

#[test]
fn progress_of_a_server_s_tool_is_told() {
    let model = obedient();
    let env = with_server(&model);
    let config = json!({"mcpServers": {"s": script("s")}}).to_string();
    let mut talk = Talk::start(&env, &["--mcp-config", &config, "--allowedTools", "mcp__s__hang"]);
    talk.user(&format!("do: {}", json!([{"tool": "mcp__s__hang", "input": {}, "id": "toolu_p"}])));
    let told = talk.until(|line| line["type"] == "tool_progress");
    let keys = ["tool_use_id", "tool_name", "parent_tool_use_id"].map(|key| told[key].clone());
    assert_eq!(keys, [json!("toolu_p"), json!("mcp__s__hang"), Value::Null]);
    assert!(told["elapsed_time_seconds"].is_number() && told["uuid"].is_string());
    assert_eq!(ask(&mut talk, json!({"subtype": "interrupt"}))["subtype"], "success");
    assert_eq!(talk.result()["terminal_reason"], "aborted_tools");
    assert_eq!((talk.finish().0, running(&env)), (Some(1), 0), "an interrupted turn is no success");
    // People see it, too.
    let mut short = script("s");
    short["timeout"] = json!(1000);
    let config = json!({"mcpServers": {"s": short}}).to_string();
    let prompt = format!("do: {}", json!([{"tool": "mcp__s__hang", "input": {}}]));
    let flags = ["-p", &prompt, "--verbose", "--mcp-config", &config, "--allowedTools", "mcp__s__hang"];
    let shown = env.posse(&flags);
    assert!(shown.stderr.contains("│ 1 of 3: halfway"), "{}", shown.stderr);
}

#[test]
fn a_tool_gives_permissions_in_runs_without_a_host() {
    let model = obedient();
    let env = with_server(&model);
    let config = json!({"mcpServers": {"s": script("s")}}).to_string();
    let run = |name: &str, format: &str| {
        let prompt =
            format!("do: {}", json!([{"tool": "Bash", "input": {"command": format!("touch {name}")}}]));
        let flags = ["--mcp-config", &config, "--permission-prompt-tool", "mcp__s__permit"];
        env.posse(&[&["-p", &prompt, "--output-format", format][..], &flags].concat()).success()
    };
    for format in ["text", "json", "stream-json"] {
        let made = format!("{format}-made");
        run(&made, format);
        assert!(env.path(&format!("project/{made}")).exists(), "{format}");
        let said = run("forbidden", format);
        assert!(said.contains("the tool says no"), "{said}");
        assert!(!env.path("project/forbidden").exists());
    }
    let asked = env.read("project/asked");
    assert!(
        asked.contains(r#""tool_name":"Bash""#) && asked.contains(r#""tool_use_id":"toolu_0""#),
        "{asked}"
    );
    assert_eq!(running(&env), 0);
    for (tool, why) in [
        ("mcp__s__nothing", "there is no tool mcp__s__nothing"),
        ("mcp__x__t", "there is no tool mcp__x__t"),
        ("stdio", "nobody is at the other end"),
    ] {
        let flags = ["-p", "hello", "--mcp-config", &config, "--permission-prompt-tool", tool];
        let (_, said) = env.posse(&flags).fails_with(2);
        assert!(said.contains(why), "{tool}: {said}");
    }
}

#[test]
fn a_tool_that_goes_while_somebody_is_asked_about_it_answers_all_the_same() {
    let model = obedient();
    let env = with_server(&model);
    let mut talk = Talk::start(&env, &["--permission-prompt-tool", "stdio"]);
    greet(&mut talk);
    set(&mut talk, json!({"new": script("new")}));
    talk.user(&format!("do: {}", json!([{"tool": "mcp__new__look", "input": {}}])));
    let asked = talk.asked("can_use_tool");
    set(&mut talk, json!({}));
    // Whoever looks at the tools now knows that it is gone.
    ask(&mut talk, json!({"subtype": "get_context_usage"}));
    talk.answer(&asked["request_id"], json!({"behavior": "allow"}));
    let end = talk.result();
    assert!(end["result"].as_str().is_some_and(|text| text.contains("any more")), "{end}");
}

#[test]
fn nobody_waits_for_a_mute_server_longer_than_they_want_to() {
    let model = obedient();
    let env = open_world(&model);
    let mut talk = Talk::start(&env, &[]);
    greet(&mut talk);
    set(&mut talk, json!({"mute": {"type": "sdk", "name": "mute"}}));
    talk.asked("mcp_message");
    talk.user("hello");
    ask(&mut talk, json!({"subtype": "interrupt"}));
    assert_eq!(talk.result()["terminal_reason"], "aborted_streaming");
}
