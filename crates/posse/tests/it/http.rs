//! `posse -p` against a fake model that speaks real HTTP: what goes over the wire, and what happens when it breaks.

use posse_testkit::server::{Answer, ChatReply, Fault, MessagesReply};
use posse_testkit::{FakeModel, Output};

use super::*;

fn ask(server: &FakeModel, args: &[&str]) -> (TestEnv, Output) {
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "sk-ant-secret-key");
    env.set("OPENAI_BASE_URL", &format!("{}/v1", server.url())).set("OPENAI_API_KEY", "sk-openai-secret");
    env.write("project/a.txt", "hello\n");
    let output = env.posse(args);
    (env, output)
}

fn text(text: &str) -> Answer {
    MessagesReply::new().text(text).usage(100, 10).answer()
}

const STREAM: [&str; 5] = ["-p", "hi", "--output-format", "stream-json", "--verbose"];

fn subtypes(output: &Output) -> String {
    let words = output
        .stdout
        .lines()
        .map(json)
        .map(|line| line["subtype"].as_str().or(line["type"].as_str()).unwrap_or("?").to_owned());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_request_is_small_and_marked_for_the_cache() {
    let server = FakeModel::serving([text("Hello.")]);
    let (_, output) = ask(&server, &["-p", "hi"]);
    assert_eq!(output.success(), "Hello.\n");
    let request = &server.requests()[0];
    assert_eq!(request.header("x-api-key"), Some("sk-ant-secret-key"));
    assert!(request.bytes.len() < 30_000, "{} bytes", request.bytes.len());
    let body = &request.body;
    assert_eq!((&body["stream"], &body["messages"][0]["content"][0]["text"]), (&true.into(), &"hi".into()));
    let marks = serde_json::to_string(body).unwrap().matches("cache_control").count();
    assert!((2..=4).contains(&marks), "{marks} breakpoints");
    let names = pluck(&body["tools"], "/name");
    assert!(names.contains("Read") && names.contains("Bash"), "{names}");
}

#[test]
fn tools_go_round_and_the_prefix_stays_the_same() {
    let call =
        MessagesReply::new().text("Looking.").tool("t1", "Read", &serde_json::json!({"file_path": "a.txt"}));
    let server = FakeModel::serving([call.answer(), text("It says hello.")]);
    let (_, output) = ask(&server, &["-p", "what is in a.txt?"]);
    assert_eq!(output.success(), "It says hello.\n");
    let requests = server.requests();
    let (first, second) = (&requests[0].body, &requests[1].body);
    assert_eq!((&first["system"], &first["tools"]), (&second["system"], &second["tools"]));
    let result = &second["messages"][2]["content"][0];
    assert_eq!((&result["type"], &result["tool_use_id"]), (&"tool_result".into(), &"t1".into()));
    assert!(result["content"].as_str().unwrap().contains("hello"));
}

#[test]
fn passing_faults_are_survived_and_shown() {
    let half =
        || MessagesReply::new().text("A long answer that breaks off somewhere in the middle.").answer();
    for (name, fault, retries) in [
        ("429", Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "0"), 1),
        ("529", Answer::error(529, "overloaded_error", "overloaded").header("retry-after", "0"), 1),
        ("500", Answer::error(500, "api_error", "oops").header("retry-after", "0"), 1),
        ("reset", half().failing(Fault::Reset(400)), 1),
        ("cut", half().failing(Fault::Finish(400)), 1),
        ("garbage", Answer::stream(&b"event: message_start\ndata: {not json\n\n"[..]), 1),
    ] {
        let server = FakeModel::serving([fault, text("Whole.")]);
        let (_, output) = ask(&server, &STREAM);
        let kinds = subtypes(&output);
        assert_eq!(output.code, Some(0), "{name}: {output:?}");
        assert_eq!(kinds.matches("api_retry").count(), retries, "{name}: {kinds}");
        assert_eq!(kinds.matches("assistant").count(), 1, "{name}: nothing is doubled: {kinds}");
        let result = json(output.stdout.lines().last().unwrap());
        assert_eq!(result["result"], "Whole.", "{name}");
    }
}

#[test]
fn what_cannot_pass_fails_at_once_with_its_cause_and_without_the_key() {
    for (answer, part, hint) in [
        (Answer::error(401, "authentication_error", "invalid x-api-key"), "401", "ANTHROPIC_API_KEY"),
        (Answer::error(400, "invalid_request_error", "messages: bad"), "400", ""),
        (Answer::error(404, "not_found_error", "model: nope"), "404", "--model"),
    ] {
        let server = FakeModel::serving([answer]);
        let (_, output) = ask(&server, &["-p", "hi"]);
        let (stdout, stderr) = output.fails_with(1);
        assert!(stdout.is_empty() && stderr.contains(part) && stderr.contains(hint), "{stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
        assert_eq!(server.requests().len(), 1);
    }
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        .set("ANTHROPIC_API_KEY", "k")
        .set("CLAUDE_CODE_MAX_RETRIES", "0");
    let (_, stderr) = env.posse(&["-p", "hi"]).fails_with(1);
    assert!(stderr.contains("127.0.0.1:9") && stderr.contains("ANTHROPIC_BASE_URL"), "{stderr}");
}

#[test]
fn a_failure_in_the_stream_is_a_result_with_its_status() {
    let server = FakeModel::serving([Answer::error(401, "authentication_error", "invalid x-api-key")]);
    let (_, output) = ask(&server, &STREAM);
    let lines: Vec<Value> = output.stdout.lines().map(json).collect();
    assert_eq!(output.code, Some(1));
    let (said, result) = (&lines[lines.len() - 2], &lines[lines.len() - 1]);
    assert_eq!(
        (&said["message"]["model"], &said["error"]),
        (&"<synthetic>".into(), &"authentication_failed".into())
    );
    assert_eq!(
        (&result["subtype"], &result["is_error"], &result["api_error_status"]),
        (&"success".into(), &true.into(), &401.into())
    );
}

#[test]
fn partial_messages_are_the_providers_own_events() {
    let server = FakeModel::serving([text("Hello.")]);
    let (_, output) = ask(&server, &[&STREAM[..], &["--include-partial-messages"]].concat());
    let lines: Vec<Value> = output.stdout.lines().map(json).collect();
    let raw: Vec<&str> = lines
        .iter()
        .filter(|line| line["type"] == "stream_event")
        .filter_map(|line| line["event"]["type"].as_str())
        .collect();
    assert_eq!(raw.first(), Some(&"message_start"));
    assert_eq!(raw.last(), Some(&"message_stop"));
}

#[test]
fn an_openai_endpoint_does_the_same_work() {
    let call = ChatReply::new()
        .text("Looking.")
        .tool("c1", "Read", &serde_json::json!({"file_path": "a.txt"}))
        .finish("tool_calls");
    let server =
        FakeModel::serving([call.answer(), ChatReply::new().text("It says hello.").usage(50, 5, 0).answer()]);
    let (_, output) = ask(&server, &["-p", "what is in a.txt?", "--model", "openai:gpt-x"]);
    assert_eq!(output.success(), "It says hello.\n");
    let requests = server.requests();
    assert_eq!(
        (requests[0].path.as_str(), &requests[0].body["model"]),
        ("/v1/chat/completions", &"gpt-x".into())
    );
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-openai-secret"));
    let messages = requests[1].body["messages"].as_array().unwrap();
    let tool = messages.iter().find(|message| message["role"] == "tool").unwrap();
    assert!(tool["tool_call_id"] == "c1" && tool["content"].as_str().unwrap().contains("hello"), "{tool}");
}

#[test]
fn a_budget_ends_the_run_before_the_next_tool() {
    let call = || {
        MessagesReply::new()
            .tool("t1", "Read", &serde_json::json!({"file_path": "a.txt"}))
            .usage(10_000, 10)
            .answer()
    };
    let server = FakeModel::serving((0..40).map(|_| call()));
    let (_, output) = ask(&server, &["-p", "go", "--output-format", "json", "--max-budget-usd", "0.5"]);
    let (stdout, _) = output.fails_with(1);
    let result = json(&stdout);
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&"error_max_budget_usd".into(), &"budget_exhausted".into())
    );
    assert!(result["total_cost_usd"].as_f64().unwrap() <= 0.5, "{result}");
    let requests = server.requests();
    let last = &requests.last().unwrap().body;
    assert_eq!(last["tool_choice"]["type"], "none", "the last request hands back what there is");
    assert!(
        requests.len() > 2
            && requests.iter().rev().skip(1).all(|request| request.body["tool_choice"].is_null())
    );
}

#[test]
fn instructions_and_prompts_reach_the_model() {
    let server = FakeModel::serving([text("ok")]);
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
    env.write("project/CLAUDE.md", "Always use tabs.");
    env.write("home/.claude/CLAUDE.md", "Call me Ada.");
    let _ = env.posse(&["-p", "hi", "--append-system-prompt", "Be brief."]).success();
    let body = &server.requests()[0].body;
    let opening = body["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(opening.find("Call me Ada.").unwrap() < opening.find("Always use tabs.").unwrap());
    let system = pluck(&body["system"], "/text");
    assert!(system.contains("Be brief.") && system.contains("Working directory: "), "{system}");
}

#[test]
fn the_web_is_searched_by_the_provider_and_paid_for() {
    let call =
        MessagesReply::new().tool("t1", "WebSearch", &serde_json::json!({"query": "posse"})).usage(10, 1);
    let hits = serde_json::json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
        {"type": "web_search_result", "title": "Posse", "url": "https://example.com/posse", "encrypted_content": "x"},
    ]});
    let found = MessagesReply::new().block(hits, vec![]).text("A band of helpers.").usage(20, 2);
    let server = FakeModel::serving([call.answer(), found.answer(), text("Found.")]);
    let (_, output) =
        ask(&server, &["-p", "search", "--output-format", "json", "--allowedTools", "WebSearch"]);
    let result = json(&output.success());
    assert_eq!(result["result"], "Found.");
    let requests = server.requests();
    assert_eq!(requests[1].body["tools"][0]["name"], "web_search");
    let answer = requests[2].body["messages"][2]["content"][0]["content"].as_str().unwrap();
    assert!(
        answer.contains("https://example.com/posse") && answer.contains("A band of helpers."),
        "{answer}"
    );
    let used = &result["modelUsage"]["claude-fake-1"]["inputTokens"];
    assert_eq!(used, &130, "the search counts too: {result}");
}
