//! The command line itself: help, wrong input, closed pipes.

use super::*;

#[test]
fn help_is_complete_and_goes_to_standard_output() {
    let env = env();
    for args in [
        &["--help"][..],
        &["agents", "--help"],
        &["agents", "list", "--help"],
        &["lint", "--help"],
        &["explain", "--help"],
        &["config", "--help"],
        &["trust", "--help"],
        &["doctor", "--help"],
        &["mcp", "--help"],
        &["mcp", "add", "--help"],
    ] {
        let help = env.posse(args).success();
        assert!(help.contains("Usage: posse"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
}

#[test]
fn wrong_input_is_answered_with_place_and_remedy() {
    let env = env();
    for (args, part) in [
        (&["agnets"][..], "agents"),
        (&["lint", "--formt", "json"], "--format"),
        (&["agents", "--setting-sources", "user,team"], "`team` is not one of user, project, local"),
        (&["agents", "--agents", "missing.json"], "give JSON, or the path of a JSON file"),
        (&["agents", "--settings", "{"], "--settings cannot be used"),
    ] {
        let (stdout, stderr) = env.posse(args).fails_with(2);
        assert!(stdout.is_empty() && stderr.contains(part), "{args:?}: {stderr}");
    }
}

#[test]
fn a_bad_agents_flag_lists_every_problem_with_its_place() {
    let env = env();
    let given = "{\n  \"a\": {\"prompt\": \"p\", \"model\": 5},\n  \"b\": 7\n}";
    let (_, message) = env.posse(&["agents", "--agents", given]).fails_with(2);
    for part in
        ["<--agents>:2:3", "a.description", "<--agents>:2:33", "<--agents>:3:8", "nothing was started"]
    {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let env = env();
    for args in [&["agents"][..], &["agents", "--json"], &["completions", "bash"], &["lint"]] {
        let output = env.posse_into_closed_pipe(args);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn completions_know_the_commands() {
    let env = env();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.posse(&["completions", shell]).success();
        assert!(["agents", "lint", "explain"].iter().all(|word| script.contains(word)), "{shell}");
    }
    let (_, message) = env.posse(&["completions", "tcsh"]).fails_with(2);
    assert!(message.contains("possible values"), "{message}");
}
