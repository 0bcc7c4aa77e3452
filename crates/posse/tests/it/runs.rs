//! `posse runs`, and rehearsals of several agents: real runs with a rehearsed model.

use super::*;

const MODEL: [&str; 2] = ["--model", "rehearsal:script.yaml"];

const CREW: &str = "
main:
  - say: I will ask two.
    calls:
      - Agent: {subagent_type: Explore, description: look left, prompt: left}
      - Agent: {subagent_type: Explore, description: look right, prompt: right}
      - Agent: {subagent_type: helper, description: help, prompt: help, name: hand}
  - say: All done.
agents:
  Explore:
    - say: Looking.
      calls:
        - Read: {file_path: \"{{cwd}}/a.txt\"}
    - say: Found it.
  helper:
    - calls:
        - Agent: {subagent_type: poet, description: a verse, prompt: verse}
    - say: Helped.
  poet:
    - say: Roses.
";

fn crew(script: &str) -> TestEnv {
    let env = env();
    env.write("project/script.yaml", script);
    env.write("project/a.txt", "hello\n");
    env.agent("helper.md", "---\nname: helper\ndescription: d\ntools: Agent, Read\n---\nYou help.\n");
    env.agent("poet.md", "---\nname: poet\ndescription: d\ntools: Read\n---\nYou are a poet.\n");
    env
}

/// The tree as one line.
fn shape(node: &Value) -> String {
    let below: Vec<String> = node["children"].as_array().into_iter().flatten().map(shape).collect();
    let word = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let below = if below.is_empty() { String::new() } else { format!("({})", below.join(" ")) };
    format!("{}:{}:{}:{}{below}", word("type"), word("status"), node["turns"], node["toolCalls"])
}

#[test]
fn the_tree_of_a_session_is_read_from_its_transcripts() {
    let env = crew(CREW);
    let (_, stderr) = env.posse(&["runs"]).fails_with(2);
    assert!(stderr.contains("there are no conversations in this folder yet"), "{stderr}");
    assert_eq!(env.posse(&[&["-p", "go"], &MODEL[..]].concat()).success(), "All done.\n");
    let tree = json(&env.posse(&["runs", "--json"]).success());
    let root = &tree["agents"];
    let mut parts: Vec<String> = root["children"].as_array().unwrap().iter().map(shape).collect();
    parts.sort();
    assert_eq!(
        parts.join(" "),
        "Explore:completed:2:1 Explore:completed:2:1 helper:completed:2:1(poet:completed:1:0)"
    );
    assert_eq!((&root["status"], &root["task"]), (&"completed".into(), &"go".into()));
    assert_eq!((&tree["total"]["turns"], &tree["total"]["toolCalls"]), (&9.into(), &6.into()));
    assert!(pluck(&root["children"], "/name").contains("hand"), "{tree}");
    assert!(tree["total"]["usage"]["inputTokens"].as_u64().unwrap() > 0, "{tree}");
    let id = tree["session"].as_str().unwrap();
    let text = env.posse(&["runs", id]).success();
    assert_eq!(env.posse(&["runs", "go"]).success(), text, "by title");
    for part in ["agent", "├─ ", "Explore  look left", "helper hand  help", "└─ poet  a verse", "total"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let (_, stderr) = env.posse(&["runs", "nobody"]).fails_with(2);
    assert!(stderr.contains("No conversation found") && stderr.contains("posse sessions"), "{stderr}");
}

#[test]
fn a_recording_of_several_agents_replays() {
    let env = crew(CREW);
    let go = |model: &str, more: &[&str]| {
        let args = [&["-p", "go", "--model", model, "--no-session-persistence"], more].concat();
        env.posse(&args).success()
    };
    assert_eq!(go("rehearsal:script.yaml", &["--record", "r.jsonl"]), "All done.\n");
    assert_eq!(env.read("project/r.jsonl").lines().count(), 9);
    for _ in 0..3 {
        assert_eq!(go("rehearsal:r.jsonl", &[]), "All done.\n");
    }
}

#[test]
fn an_agent_the_script_does_not_know_is_named() {
    let env = crew(&CREW.replace("  poet:\n    - say: Roses.\n", ""));
    assert_eq!(env.posse(&[&["-p", "go"], &MODEL[..]].concat()).success(), "All done.\n");
    let tree = json(&env.posse(&["runs", "--json"]).success());
    assert!(tree.to_string().contains("\"failed\""), "{tree}");
    let env =
        crew("- calls: [{Agent: {subagent_type: poet, description: d, prompt: p}}]\n- Roses.\n- Done.\n");
    assert_eq!(env.posse(&[&["-p", "go"], &MODEL[..]].concat()).success(), "Done.\n", "a list is shared");
}

#[test]
fn an_agent_whose_process_was_killed_did_not_finish() {
    // The command must end by itself: where there are no minders, nothing can stop what a killed posse had started.
    let env = crew(
        "{main: [calls: [{Agent: {subagent_type: general-purpose, description: wait, prompt: w}}]],
          agents: {general-purpose: [calls: [{Bash: {command: touch started; sleep 3}}]]}}",
    );
    let args = ["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"];
    let (mut child, mut out, mut seen) = super::run::until_a_tool_runs(&env, &[&args, &MODEL[..]].concat());
    // The first call is the main agent's; the second is that of the agent it started.
    while !seen.contains("touch started") {
        assert!(std::io::BufRead::read_line(&mut out, &mut seen).unwrap() > 0, "{seen}");
    }
    let status = || shape(&json(&env.posse(&["runs", "--json"]).success())["agents"]);
    assert_eq!(status(), "main:running:1:1(general-purpose:running:1:1)");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(status(), "main:crashed:1:1(general-purpose:crashed:1:1)");
    let text = env.posse(&["runs"]).success();
    assert!(text.contains("crashed: its process is gone, and it did not finish"), "{text}");
}

#[test]
fn a_turn_that_was_cut_short_is_no_crash() {
    let env = crew("- calls: [{Glob: {pattern: '*'}}]\n- calls: [{Glob: {pattern: '*'}}]\n- Done.\n");
    let root = || json(&env.posse(&["runs", "--json"]).success())["agents"].clone();
    assert_ne!(env.posse(&[&["-p", "go", "--max-turns", "1"], &MODEL[..]].concat()).code, Some(0));
    assert_eq!(
        (&root()["status"], &root()["turns"]),
        (&serde_json::json!("failed"), &serde_json::json!(1)),
        "{}",
        root()
    );
    // Whoever goes on and comes to an end has ended well; a script begins anew and so do its ids.
    env.posse(&[&["-p", "on", "--continue"], &MODEL[..]].concat()).success();
    assert_eq!(
        (&root()["status"], &root()["turns"]),
        (&serde_json::json!("completed"), &serde_json::json!(4)),
        "{}",
        root()
    );
}
