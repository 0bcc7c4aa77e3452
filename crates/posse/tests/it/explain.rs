//! `posse explain`.

use super::*;

fn team() -> TestEnv {
    let env = env();
    env.agent("lead.md", "---\nname: lead\ndescription: d\ntools: Read, Grep, Bash(git log:*), Agent(worker)\npermissionMode: plan\nmodel: opus\n---\nLead.\n");
    env.agent("worker.md", "---\nname: worker\ndescription: d\ntools: Read, Write, Bash(git log:*), Bash(git diff:*), TaskList, mcp__db\npermissionMode: acceptEdits\nmaxTurns: 5\n---\n");
    env
}

#[test]
fn every_value_has_its_source_and_every_tool_its_reason() {
    let env = team();
    assert_eq!(
        env.posse(&["explain", "worker"]).success(),
        "\
worker  project, .claude/agents/worker.md
started by main in the foreground, depth 1

  model             default                   from its parent, main
  effort            not set
  permission mode   default                   from its parent, main
                    `acceptEdits` was wanted; a child's mode is never wider than its parent's
  background        false                     default
  memory            not set
  isolation         not set
  turns             at most 5                 its definition, line 6
  budget            not set
  prompt            the default prompt

Tools (4 of 25)
  ✓ Bash(git log:* or git diff:*)  `tools` lists Bash(git log:*), Bash(git diff:*), line 4
  ✓ Read                      `tools` lists Read, line 4
  ✓ TaskList                  `tools` lists TaskList, line 4
  ✓ Write                     `tools` lists Write, line 4
  ✓ mcp__db                   `tools` lists mcp__db, line 4
  MCP tools: those of the session's that the entries here admit

Not in the pool (21)
  ✗ AskUserQuestion           only the main agent has it
  ✗ EnterPlanMode             only the main agent has it
  ✗ ExitPlanMode              only in plan mode
  ✗ TaskOutput                only the main agent has it
  ✗ Agent                     not in `tools`
  ✗ Edit                      not in `tools`
  ✗ EnterWorktree             not in `tools`
  ✗ ExitWorktree              not in `tools`
  ✗ Glob                      not in `tools`
  ✗ Grep                      not in `tools`
  ✗ NotebookEdit              not in `tools`
  ✗ SendMessage               not in `tools`
  ✗ Skill                     not in `tools`
  ✗ TaskCreate                not in `tools`
  ✗ TaskGet                   not in `tools`
  ✗ TaskStop                  not in `tools`
  ✗ TaskUpdate                not in `tools`
  ✗ TodoWrite                 not in `tools`
  ✗ ToolSearch                not in `tools`
  ✗ WebFetch                  not in `tools`
  ✗ WebSearch                 not in `tools`
"
    );
}

#[test]
fn parent_and_background_narrow_further() {
    let env = team();
    let spec =
        json(&env.posse(&["explain", "worker", "--parent", "lead", "--background", "--json"]).success());
    assert_eq!(pluck(&spec["tools"], "/name"), "Bash Read");
    assert_eq!(
        spec["tools"][0]["limits"],
        serde_json::json!([[{"argument": "git log:*"}], [{"argument": "git log:*"}, {"argument": "git diff:*"}]])
    );
    assert_eq!((&spec["parent"], &spec["depth"]), (&"lead".into(), &2.into()));
    assert_eq!((&spec["model"]["value"], &spec["model"]["by"]["kind"]), (&"opus".into(), &"parent".into()));
    assert_eq!(spec["permissionMode"]["value"], "plan");
    assert_eq!(
        (&spec["background"]["value"], &spec["background"]["by"]["kind"]),
        (&true.into(), &"call".into())
    );
    let ignored = spec["steps"].as_array().unwrap().iter().find(|step| step["subject"] == "Write").unwrap();
    assert_eq!(ignored["reason"], "not-in-parent");
}

#[test]
fn what_cannot_be_started_says_why() {
    let env = team();
    env.agent("void.md", "---\nname: void\ndescription: d\ntools: nope, AskUserQuestion\n---\n");
    let said = |args: &[&str]| env.posse(args).fails_with(1).1.lines().next().unwrap().to_owned();
    assert_eq!(
        said(&["explain", "void"]),
        "error: agent `void` would be started without a single tool: not a tool: nope; not available to it here: AskUserQuestion"
    );
    assert_eq!(
        said(&["explain", "void", "--parent", "lead"]),
        "error: agent `lead` may not start `void`: it may start worker"
    );
    env.write("home/.claude/settings.json", r#"{"permissions": {"deny": ["Task(worker)"]}}"#);
    assert_eq!(
        said(&["explain", "worker"]),
        "error: agent `worker` is denied by the rule `Task(worker)` in $ENV/home/.claude/settings.json"
    );
    let (_, message) = env.posse(&["explain", "lead", "--permission-mode", "yolo"]).fails_with(2);
    assert!(message.contains("one of plan, dontAsk, default"), "{message}");
}

#[test]
fn environment_and_settings_show_as_sources() {
    let mut env = team();
    env.set("CLAUDE_CODE_SUBAGENT_MODEL", "haiku").set("ANTHROPIC_DEFAULT_HAIKU_MODEL", "tiny-1");
    env.write(
        "home/.claude/settings.json",
        r#"{"permissions": {"deny": ["WebSearch"], "defaultMode": "dontAsk"}}"#,
    );
    let spec = json(&env.posse(&["explain", "general-purpose", "--json"]).success());
    assert_eq!(
        (&spec["model"]["value"], &spec["model"]["by"]["name"]),
        (&"tiny-1".into(), &"CLAUDE_CODE_SUBAGENT_MODEL".into())
    );
    assert_eq!((&spec["permissionMode"]["value"], &spec["mayAsk"]), (&"dontAsk".into(), &false.into()));
    assert!(!pluck(&spec["tools"], "/name").contains("WebSearch"));
}
