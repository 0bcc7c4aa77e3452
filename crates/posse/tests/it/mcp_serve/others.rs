//! The official Python client at the other end.
//!
//! `cargo xtask test` installs it and says where in `POSSE_TEST_PYTHON`; run without it, the tests say that they were
//! skipped.

use super::*;

/// Plays a scene of `client.py` and says what it printed; nothing if there is no client.
#[allow(clippy::disallowed_methods)] // The test command hands the place over in the environment.
fn play(env: &TestEnv, scene: &str, flags: &[&str]) -> Option<Vec<Value>> {
    let Ok(packages) = std::env::var("POSSE_TEST_PYTHON") else {
        let _ =
            writeln!(std::io::stderr(), "skipped: POSSE_TEST_PYTHON is not set; `cargo xtask test` sets it");
        return None;
    };
    let posse = env.command();
    let mut python = std::process::Command::new("python3");
    let vars = posse.get_envs().filter_map(|(name, value)| Some((name, value?)));
    python.env_clear().envs(vars).env("PYTHONPATH", packages).current_dir(env.cwd());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_serve/client.py");
    let output =
        python.arg(script).arg(posse.get_program()).arg(scene).args(flags).output().expect("python3");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    let lines: Vec<Value> = String::from_utf8_lossy(&output.stdout).lines().map(json).collect();
    assert_eq!(lines[0], json!({ "server": "posse" }), "{complaints}");
    Some(lines[1..].to_vec())
}

#[test]
fn it_lists_and_calls_tools() {
    let env = env();
    env.write("project/a.txt", "hello\n");
    let Some(lines) = play(&env, "tools", &["--tools", "Read,Grep", "--no-agents"]) else { return };
    let expected = [
        json!({ "tools": ["Grep", "Read"] }),
        json!({ "read": "     1\thello", "failed": false }),
        json!({ "code": -32602 }),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn it_hears_of_an_agent_and_gets_its_report() {
    let server = FakeModel::answering(|request| match steps(request) {
        0 => tool("t1", "Read", &json!({ "file_path": "a.txt" })),
        _ => text("Done."),
    });
    let Some(lines) = play(&world(&server), "agent", &[]) else { return };
    let heard = ["worker goes to work", "worker: Read a.txt", "worker: completed"];
    assert_eq!(lines, [json!({ "report": "Done.", "heard": heard })]);
}

#[test]
fn it_puts_questions_before_its_user() {
    for (scene, yes) in [("permit", true), ("refuse", false)] {
        let env = env();
        let Some(lines) = play(&env, scene, &["--no-agents"]) else { return };
        assert!(lines[0]["asked"].as_str().unwrap().contains("new.txt"), "{lines:?}");
        assert_eq!(lines[1], json!({ "failed": !yes }));
        assert_eq!(env.path("project/new.txt").exists(), yes);
    }
}

#[test]
fn it_cancels_an_agent_for_good() {
    let (made, line) = std::sync::mpsc::channel::<String>();
    let server = FakeModel::answering(move |_| {
        tool("t1", "Bash", &json!({ "command": line.recv().unwrap_or_default() }))
    });
    let env = world(&server);
    made.send(Lifeline::new(&env.path("project/lifeline")).command()).unwrap();
    let Some(lines) = play(&env, "cancel", &["--allowedTools", "Bash"]) else { return };
    assert_eq!(lines, [json!({ "rest": "", "alive": true })]);
}
