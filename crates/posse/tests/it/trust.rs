//! `posse trust`.

use super::*;

fn project() -> TestEnv {
    let env = env();
    env.write(
        "project/.claude/settings.json",
        r#"{
  "permissions": {"allow": ["Bash(make:*)", "Read"], "deny": ["WebFetch"], "additionalDirectories": ["/srv"]},
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "curl evil"}]}]},
  "env": {"PATH": "/x", "NODE_ENV": "test"}
}"#,
    );
    env.agent(
        "a.md",
        "---\nname: a\ndescription: d\nmcpServers:\n  - db: {command: serve, args: [it]}\nhooks:\n  Stop:\n    - hooks: [{type: command, command: own}]\n---\nx\n",
    );
    env.write(
        "project/.claude/skills/ship/SKILL.md",
        "---\ndescription: d\nallowed-tools: Bash(make:*)\n---\nLook: !`make what`\n",
    );
    env.write("project/.claude/commands/plain.md", "Plain.\n");
    env.write("project/.mcp.json", r#"{"mcpServers": {"notes": {"command": "notes", "args": ["-x"]}}}"#);
    env
}

const SHOWN: &str = "\
Trust makes this of $ENV/project count:

Allow rules
  allow Bash(make:*)  .claude/settings.json:2
  allow Read  .claude/settings.json:2

Hooks
  Stop: curl evil  .claude/settings.json:3

Working folders
  /srv  .claude/settings.json:2

Environment variables
  PATH  .claude/settings.json:4

Hooks of agents
  a, Stop: own

MCP servers of agents
  a, db: serve it

Skills that allow something
  ship: allows Bash(make:*); runs !`make what`  .claude/skills/ship/SKILL.md

MCP servers of the project, each after a yes of its own
  notes: notes -x  .mcp.json

";

#[test]
fn what_trust_makes_count_is_shown_before_it_does() {
    let env = project();
    assert_eq!(env.posse(&["trust", "--show"]).success(), SHOWN);
    assert_eq!(env.posse(&["trust", "--list"]).success(), "no folder is trusted\n");
    assert_eq!(env.posse(&["trust"]).success(), format!("{SHOWN}$ENV/project is trusted now\n"));
    assert_eq!(env.posse(&["trust"]).success(), "$ENV/project is trusted already\n");
    assert_eq!(env.posse(&["trust", "--list"]).success(), "$ENV/project\n");
    let config = json(&env.posse(&["config", "--json"]).success());
    assert_eq!(pluck(&config["ignored"], "/text"), "");
    assert_eq!(env.posse(&["trust", "--revoke"]).success(), "$ENV/project is not trusted any more\n");
    assert_eq!(env.posse(&["trust", "--revoke"]).success(), "$ENV/project was not trusted\n");
    assert_eq!(env.posse(&["trust", "--list"]).success(), "no folder is trusted\n");
}

#[test]
fn without_trust_a_project_only_takes_away() {
    let env = project();
    let config = json(&env.posse(&["config", "--json"]).success());
    assert_eq!(pluck(&config["ignored"], "/text"), "allow Bash(make:*) allow Read /srv Stop: curl evil PATH");
    let explained = env.posse(&["explain", "a"]).success();
    for field in ["hooks", "mcpServers"] {
        let line = format!("{field:18}withheld by distrust");
        assert!(explained.contains(&line), "{line} in {explained}");
    }
    assert!(!explained.contains("✓ WebFetch"), "{explained}");
    env.posse(&["trust"]).success();
    let explained = env.posse(&["explain", "a"]).success();
    assert!(!explained.contains("withheld") && !explained.contains("✓ WebFetch"), "{explained}");
}

#[test]
fn another_folder_and_a_folder_within() {
    let mut env = project();
    env.enter("project/src/deep");
    assert!(env.posse(&["trust"]).success().contains("$ENV/project is trusted now"));
    env.enter("elsewhere");
    std::fs::create_dir_all(env.path("elsewhere/.git")).unwrap();
    let value = json(&env.posse(&["trust", "../project", "--show", "--json"]).success());
    assert_eq!((&value["trusted"], &value["folder"]), (&true.into(), &"$ENV/project".into()));
    let value = json(&env.posse(&["trust", "--json"]).success());
    assert_eq!((&value["before"], &value["trusted"]), (&false.into(), &true.into()));
    let (_, stderr) = env.posse(&["trust", "missing"]).fails_with(2);
    assert!(stderr.contains("is not a folder"), "{stderr}");
}

#[test]
fn a_record_that_cannot_be_read_is_never_overwritten() {
    let env = project();
    env.write("home/.claude.json", "{\"projects\": ");
    let (_, stderr) = env.posse(&["trust"]).fails_with(1);
    assert!(stderr.contains("it is left alone"), "{stderr}");
    assert_eq!(env.read("home/.claude.json"), "{\"projects\": ");
    env.posse(&["trust", "--list"]).fails_with(1);
    let (config, _) = env.posse(&["config"]).fails_with(1);
    assert!(config.contains("until it is mended, no folder counts as trusted"), "{config}");
}
