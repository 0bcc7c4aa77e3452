//! `posse agents`.

use super::*;

/// One agent in every source, one shadowed, one broken, one document.
fn every_source() -> TestEnv {
    let env = env();
    env.agent("reviewer.md", "---\nname: reviewer\ndescription: \"Reviews: all of it\"\ntools: Read, Grep\nmodel: haiku\ncolor: cyan\n---\nReview.\n");
    env.agent("Explore.md", &TestEnv::minimal("Explore"));
    env.agent("broken.md", "---\nname: broken\n---\n");
    env.agent("README.md", "# About these agents\n");
    env.write("home/.claude/agents/u.md", TestEnv::minimal("mine"));
    env.write("home/.claude/agents/r.md", TestEnv::minimal("reviewer"));
    env.write("managed/.claude/agents/m.md", TestEnv::minimal("audit"));
    env.write("project/.claude/settings.json", r#"{"agents": {"small": {"description": "From settings", "prompt": "p"}}, "permissions": {"deny": ["Agent(mine)"]}}"#);
    env.write("kit/.claude-plugin/plugin.json", r#"{"name": "kit"}"#);
    env.write("kit/agents/helper.md", TestEnv::minimal("helper"));
    env.write("extra/.claude/agents/x.md", TestEnv::minimal("extra"));
    env
}

const FLAGS: [&str; 6] = [
    "--plugin-dir",
    "../kit",
    "--add-dir",
    "../extra",
    "--agents",
    r#"{"quick": {"description": "From the flag", "prompt": ""}}"#,
];

#[test]
fn json_gives_active_shadowed_and_failed() {
    let env = every_source();
    let list = json(&env.posse(&[&["agents", "list", "--json"], &FLAGS[..]].concat()).success());
    let custom: Vec<Value> = list["active"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|a| a["source"]["origin"] != "built-in")
        .cloned()
        .collect();
    let custom = Value::Array(custom);
    assert_eq!(pluck(&custom, "/name"), "audit Explore extra kit:helper mine quick reviewer small");
    assert_eq!(pluck(&custom, "/source/origin"), "managed project project plugin user flag project project");
    let reviewer = &custom[6];
    assert_eq!(reviewer["description"], "Reviews: all of it");
    assert_eq!(reviewer["tools"], serde_json::json!(["Read", "Grep"]));
    assert_eq!((&reviewer["model"], &reviewer["color"]), (&"haiku".into(), &"cyan".into()));
    assert_eq!(
        custom[4]["hidden"],
        format!("denied by Agent(mine) in {}", env.path("project/.claude/settings.json").display())
            .replace(&env.path("").display().to_string(), "$ENV/")
    );
    assert_eq!(pluck(&list["shadowed"], "/name"), "Explore reviewer");
    assert_eq!(pluck(&list["shadowed"], "/source/origin"), "built-in user");
    assert_eq!(
        pluck(&list["shadowed"], "/shadowedBy/file"),
        "$ENV/project/.claude/agents/Explore.md $ENV/project/.claude/agents/reviewer.md"
    );
    assert_eq!(pluck(&list["failed"], "/reason"), "no `description`: the agent is not loaded");
    assert_eq!(pluck(&list["failed"], "/source/file"), "$ENV/project/.claude/agents/broken.md");
    assert_eq!(pluck(&list["failed"], "/diagnostics/0/line"), "2");
    assert_eq!(list["documents"], serde_json::json!(["$ENV/project/.claude/agents/README.md"]));
    assert_eq!(pluck(&list["plugins"], "/name"), "kit");
}

#[test]
fn the_list_is_grouped_by_source() {
    let env = every_source();
    let list = env.posse(&[&["agents"], &FLAGS[..]].concat()).success();
    let custom = list.split("Built-in").next().unwrap();
    assert_eq!(
        custom,
        "\
Managed (1) $ENV/managed/.claude/agents
  ● audit              inherit   The audit

Command line (1) <--agents>
  ● quick              inherit   From the flag

Project (2) .claude/agents
  ● Explore            inherit   The Explore
  ● reviewer           haiku     Reviews: all of it

Project (1) ../extra/.claude/agents
  ● extra              inherit   The extra

Project (1) .claude/settings.json
  ● small              inherit   From settings

User (1) $ENV/home/.claude/agents
  ● mine               inherit   denied by Agent(mine) · The mine

Plugin (1) ../kit, not editable
  ● kit:helper         inherit   The helper

"
    );
    let end = list.split("Shadowed").nth(1).unwrap();
    assert_eq!(
        end,
        " (2)
  ○ Explore            built-in — project, .claude/agents/Explore.md wins
  ○ reviewer           user, $ENV/home/.claude/agents/r.md — project, .claude/agents/reviewer.md wins

Not loaded (1)
  ✗ .claude/agents/broken.md:2:1 (broken): no `description`: the agent is not loaded

16 agents, 2 shadowed, 1 not loaded, 1 file without frontmatter
"
    );
}

#[test]
fn show_has_every_field_the_prompt_and_the_problems() {
    let env = env();
    env.agent("r.md", "---\nname: r\ndescription: Two\\nlines\ntools: [Read]\nmemory: user\nmaxTurns: 3\nmodle: opus\n---\nLine one.\n\nLine two.\n");
    assert_eq!(
        env.posse(&["agents", "show", "R"]).success(),
        "\
● r  project, .claude/agents/r.md

  Two
  lines

  tools                   Read, Write, Edit
  model                   inherit
  maxTurns                3
  memory                  user

Prompt
  Line one.
  
  Line two.

Problems
warning[unknown-field]: no field is called `modle`; it is ignored
  --> .claude/agents/r.md:7:1
  |
7 | modle: opus
  | ^^^^^ did you mean `model`?
  = fix: rename it to `model` (--fix --unsafe-fixes)
"
    );
    let shown = json(&env.posse(&["agents", "show", "r", "--json"]).success());
    assert_eq!(shown["prompt"], "Line one.\n\nLine two.");
    assert_eq!(shown["memory"], "user");
    assert_eq!(pluck(&shown["diagnostics"], "/rule"), "unknown-field");
}

#[test]
fn an_unknown_agent_is_answered_with_what_was_meant() {
    let env = env();
    env.agent("a.md", &TestEnv::minimal("reviewer"));
    env.agent("broken.md", "---\nname: broken\n---\n");
    let (_, message) = env.posse(&["agents", "show", "reviwer"]).fails_with(2);
    assert_eq!(message, "error: there is no agent called `reviwer`\nhint: did you mean `reviewer`?\n");
    let (_, message) = env.posse(&["agents", "show", "broken"]).fails_with(2);
    assert!(message.contains("broken.md could not be loaded: no `description`"), "{message}");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let env = env();
    env.agent("evil.md", "---\nname: \"a\\e[31mb\"\ndescription: \"x\\u0007\\ry\"\n---\n\u{1b}[2J\n");
    for args in
        [&["agents"][..], &["agents", "show", "a\u{1b}[31mb"], &["lint"], &["explain", "a\u{1b}[31mb"]]
    {
        let text = env.posse(args).stdout;
        assert!(text.contains("a [31mb"), "{args:?} {text:?}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\r']), "{args:?} {text:?}");
    }
    let colored = env.posse(&["agents", "--color", "always"]).success();
    assert!(colored.contains("\u{1b}[1m"), "{colored:?}");
}
