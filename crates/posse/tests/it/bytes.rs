//! How large requests are: what every agent pays before it has done anything.

use std::fmt::Write as _;

use posse_testkit::FakeModel;
use posse_testkit::server::{Answer, MessagesReply, Recorded};

use super::*;

/// A reply for whoever asks: the caller hands the work to an agent once, everything else is answered with a word.
fn script(agent: Option<&'static str>) -> impl FnMut(&Recorded) -> Answer {
    let mut pending = agent;
    move |_| {
        let reply = MessagesReply::new();
        match pending.take() {
            Some(agent) => {
                let input = serde_json::json!({
                    "description": "Look around", "prompt": "Find out what this is.", "subagent_type": agent,
                });
                reply.tool("t1", "Agent", &input).answer()
            }
            None => reply.text("Done.").answer(),
        }
    }
}

/// The first request of an agent, or of the main thread, with so much to read in CLAUDE.md.
fn first_request(agent: Option<&'static str>, instructions: usize) -> Recorded {
    let server = FakeModel::answering(script(agent));
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
    if instructions > 0 {
        let line = "Keep to what the project does already, and say what you leave out.\n";
        let text: String = line.chars().cycle().take(instructions).collect();
        env.write("project/CLAUDE.md", &text);
    }
    let _ = env.posse(&["-p", "hi"]).success();
    let mut requests = server.requests().into_iter();
    let wanted = |request: &Recorded| request.header("x-claude-code-agent-id").is_some() == agent.is_some();
    requests.find(wanted).expect("a request of whom we look at")
}

/// What the bytes are spent on, one part per line.
fn parts(request: &Recorded) -> String {
    let size = |value: &Value| serde_json::to_string(value).expect("JSON").len();
    let body = &request.body;
    let mut table = format!("{:>8} in all\n", request.bytes.len());
    for part in ["system", "tools", "messages"] {
        writeln!(table, "{:>8} {part}", size(&body[part])).expect("a line");
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        writeln!(table, "{:>8}   {}", size(tool), tool["name"].as_str().unwrap_or("?")).expect("a line");
    }
    table
}

#[test]
fn first_requests_are_small() {
    for (agent, instructions, most) in [
        (None, 0, 20_000),
        (Some("general-purpose"), 20 * 1024, 30_000),
        (Some("Explore"), 20 * 1024, 8_000),
        (Some("Plan"), 20 * 1024, 8_000),
    ] {
        let request = first_request(agent, instructions);
        let table = parts(&request);
        let who = agent.unwrap_or("main");
        println!("{who}: at most {most}\n{table}");
        assert!(request.bytes.len() <= most, "{who}: at most {most}\n{table}");
    }
}
