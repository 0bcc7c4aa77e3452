//! Copies of an agent that go on from the same conversation: everything but their last words is the same to the byte.

use super::*;

const FORKS: usize = 8;
const PLACEHOLDER: &str = posse_core::delegation::PLACEHOLDER;

fn many(kind: Option<&'static str>) -> FakeModel {
    FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => call("r0", "Read", &json!({ "file_path": "a.txt" })),
        (None, 1) => {
            let inputs: Vec<Value> = (0..FORKS)
                .map(|at| {
                    let mut input =
                        json!({ "description": format!("part {at}"), "prompt": format!("Directive {at}.") });
                    if let Some(kind) = kind {
                        input["subagent_type"] = json!(kind);
                    }
                    input
                })
                .collect();
            calls("Agent", &inputs)
        }
        (None, _) => text("Done."),
        (Some(_), _) => text("Scope: all of it."),
    })
}

#[test]
fn forks_of_one_message_differ_in_their_directive_alone() {
    for (kind, set) in [(Some("fork"), None), (None, Some("CLAUDE_CODE_FORK_SUBAGENT"))] {
        let server = many(kind);
        let mut env = world(&server);
        if let Some(set) = set {
            env.set(set, "1");
        }
        assert_eq!(env.posse(&["-p", "a word of main"]).success(), "Done.\n");
        let (main, forks) = (of_main(&server), of_agents(&server));
        assert_eq!(forks.len(), FORKS, "{kind:?}");
        let mut directives = Vec::new();
        let mut bodies = Vec::new();
        for fork in &forks {
            let said = last(fork);
            let at = said.rfind("Your directive: ").unwrap_or_else(|| panic!("no directive in {said}"));
            let directive = said[at + "Your directive: ".len()..].to_owned();
            let body = String::from_utf8(fork.bytes.clone()).unwrap();
            assert_eq!(body.matches(&directive).count(), 2, "in the call and at the end: {body}");
            // The last place is the fork's own.
            let own = body.rfind(&directive).unwrap();
            bodies.push(format!("{}{}", &body[..own], &body[own + directive.len()..]));
            directives.push(directive);
        }
        assert!(
            bodies.iter().all(|body| body == &bodies[0]),
            "{kind:?}: forks differ before their directive"
        );
        directives.sort();
        assert_eq!(directives, (0..FORKS).map(|at| format!("Directive {at}.")).collect::<Vec<_>>());
        let fork = &forks[0];
        for key in ["system", "tools", "model", "max_tokens", "thinking"] {
            assert_eq!(fork.body[key], main[1].body[key], "{key}");
        }
        let message = list(&fork.body["messages"]).last().unwrap();
        let blocks = list(&message["content"]);
        assert_eq!(blocks.len(), FORKS + 1);
        for (at, block) in blocks[..FORKS].iter().enumerate() {
            assert_eq!(block["tool_use_id"], format!("t{}", at + 1));
            assert_eq!(words(&json!({ "content": [block] })), PLACEHOLDER);
        }
        let rules = blocks[FORKS]["text"].as_str().unwrap();
        assert!(rules.starts_with("<fork-boilerplate>") && rules.contains("</fork-boilerplate>"), "{rules}");
        assert!(all(fork).contains("a word of main"));
        assert_eq!(metas(&env).iter().filter(|meta| meta["isFork"] == true).count(), FORKS);
    }
}

#[test]
fn a_fork_cannot_fork() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("fork", "Go deep.", json!({}))]),
        (None, _) => text("Done."),
        (Some(_), 1) => call("f1", "Agent", &start("fork", "Deeper.", json!({}))),
        (Some(_), _) => text("Scope: all."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 2);
    let answer = result(&agents[1], "f1");
    assert_eq!(answer["is_error"], true);
    assert!(words(&json!({ "content": [answer] })).contains("cannot fork"), "{answer}");
}

#[test]
fn a_fork_that_ended_goes_on_from_the_whole_conversation() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("fork", "Go deep.", json!({ "name": "deep" }))]),
        (None, 1) => {
            call("m1", "Agent", &json!({ "description": "on", "prompt": "Go on.", "resume": "deep" }))
        }
        (None, _) => text("Done."),
        (Some(_), _) => text("Scope: all."),
    });
    let env = world(&server);
    assert_eq!(env.posse(&["-p", "a word of main"]).success(), "Done.\n");
    let agents = of_agents(&server);
    assert_eq!(agents.len(), 2);
    let told = all(&agents[1]);
    let places = ["a word of main", PLACEHOLDER, "Your directive: Go deep.", "Scope: all.", "Go on."]
        .map(|part| told.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {told}");
    assert_eq!(told.matches("Your directive: ").count(), 1);
}

#[test]
fn a_rule_forbids_forks() {
    for (kind, set) in [(Some("fork"), None), (None, Some("CLAUDE_CODE_FORK_SUBAGENT"))] {
        let server = many(kind);
        let mut env = world(&server);
        if let Some(set) = set {
            env.set(set, "1");
        }
        let deny = json!({ "permissions": { "deny": ["Agent(fork)"] } });
        env.write("home/.claude/settings.json", deny.to_string());
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
        assert_eq!(of_agents(&server).len(), 0);
        let answer = result(&of_main(&server)[2], "t1").clone();
        assert!(words(&json!({ "content": [answer] })).contains("Agent(fork)"), "{answer}");
    }
}
