//! `posse lint`.

use super::*;

/// One problem each, planted where it can be found: file content, then `line:column rule` of what must be reported.
const PLANTED: &[(&str, &str)] = &[
    ("---\nname: a\ndescription: d\ncolour: red\n---\n", "4:1 unknown-field"),
    ("---\nname: a\ndescription: d\ntools: Read, Grpe\n---\n", "4:14 unknown-tool"),
    ("---\nname: a\ndescription: d\ntools:\n  - Read\n  - bash\n---\n", "6:5 unknown-tool"),
    ("---\nname: a\ndescription: d\ntools: [Read, MultiEdit]\n---\n", "4:15 retired-tool"),
    ("---\nname: a\ndescription: d\nmodel: sonet\n---\n", "4:8 bad-model"),
    ("---\nname: a\ndescription: d\nmodel: Claude Sonnet 4.5\n---\n", "4:8 bad-model"),
    ("---\nname: a\ndescription: d\ncolor: teal\n---\n", "4:8 bad-color"),
    ("---\nname: a\ndescription: Use this when: needed\n---\n", "3:27 unquoted-colon"),
    ("---\nname: a\ndescription: d\ntools:\n\t- Read\n---\n", "5:1 tab-indent"),
    ("---\ndescription: d\n---\n", "2:1 missing-name"),
    ("---\nname: \"\"\ndescription: d\n---\n", "2:7 missing-name"),
    ("---\nname: a\n---\n", "2:1 missing-description"),
    ("---\nname: plugin:a\ndescription: d\n---\n", "2:7 unusual-name"),
    ("---\nname: -a\ndescription: d\n---\n", "2:7 invalid-name"),
    ("---\nname: 7\ndescription: d\n---\n", "2:7 invalid-name"),
    ("---\nname: a\ndescription: d\ntools: AskUserQuestion, nope\n---\n", "4:8 empty-pool"),
    ("---\nname: a\ndescription: d\ntools: Agent(a)\n---\n", "4:8 spawn-cycle"),
    ("---\nname: a\ndescription: d\ntools: Agent(ghost)\n---\n", "4:8 unknown-spawn-target"),
    ("---\nname: a\ndescription: d\npermissionMode: yolo\n---\n", "4:17 invalid-value"),
    ("---\nname: a\ndescription: d\nhooks:\n  PreTolUse: []\n---\n", "5:3 unknown-hook-event"),
    ("---\nname: a\ndescription: d # not a comment?\n---\n", "3:16 text-lost"),
    ("---\nname: a\nname: b\ndescription: d\n---\n", "2:1 duplicate-key"),
    ("---\nname: a\ndescription: one\n\nExamples:\nmore\n---\n", "5:1 unindented-text"),
    ("\n---\nname: a\ndescription: d\n---\n", "2:1 frontmatter-not-first"),
    ("---\nname: a\ndescription: d\n", "1:1 unclosed-frontmatter"),
    ("---\nname: a\ndescription: d\neffort: normal\n---\n", "4:9 old-spelling"),
];

#[test]
fn every_planted_problem_is_found_at_its_line_and_column() {
    for (content, want) in PLANTED {
        let env = env();
        env.agent("a.md", content);
        let report = json(&env.posse(&["lint", "--format", "json"]).stdout);
        let own: Vec<Value> = report["diagnostics"].as_array().unwrap().clone();
        let found: Vec<String> = own
            .iter()
            .map(|d| format!("{}:{} {}", d["line"], d["column"], d["rule"].as_str().unwrap()))
            .collect();
        assert!(found.iter().any(|line| line == want), "wanted {want}, found {found:?} in\n{content}");
        let (line, _) = want.split_once(':').unwrap();
        let shown = env.posse(&["lint"]).stdout;
        let excerpt = content.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap().replace('\t', " ");
        assert!(shown.contains(&format!("{line} | {excerpt}")), "{shown}");
    }
}

#[test]
fn duplicates_and_ignored_plugin_fields_are_found_too() {
    let env = env();
    env.agent("a.md", &TestEnv::minimal("twin"));
    env.agent("b.md", &TestEnv::minimal("twin"));
    env.write("kit/.claude-plugin/plugin.json", r#"{"name": "kit"}"#);
    env.write("kit/agents/p.md", "---\nname: p\ndescription: d\npermissionMode: plan\n---\n");
    let report = json(&env.posse(&["lint", "--format", "json", "--plugin-dir", "../kit"]).success());
    assert_eq!(pluck(&report["diagnostics"], "/rule"), "plugin-field-ignored duplicate-name");
    assert_eq!(pluck(&report["diagnostics"], "/line"), "4 2");
}

#[test]
fn exit_codes_follow_severity() {
    let env = env();
    env.agent("a.md", &TestEnv::minimal("fine"));
    assert_eq!(env.posse(&["lint"]).success(), "✓ no problems, 1 agent looked at\n");
    env.agent("b.md", "---\nname: b\ndescription: d\ncolor: teal\n---\n");
    let (text, _) = env.posse(&["lint"]).fails_with(0);
    assert!(text.ends_with("1 warning, 2 agents looked at\n"), "{text}");
    let _ = env.posse(&["lint", "--strict"]).fails_with(1);
    env.agent("c.md", "---\nname: c\n---\n");
    let _ = env.posse(&["lint"]).fails_with(1);
}

#[test]
fn paths_limit_what_is_looked_at() {
    let env = env();
    env.agent("bad.md", "---\nname: bad\n---\n");
    env.agent("good.md", &TestEnv::minimal("good"));
    env.write("kit/.claude-plugin/plugin.json", r#"{"name": "kit"}"#);
    env.write("kit/agents/p.md", "---\nname: p\ndescription: d\nhooks: {}\n---\n");
    let _ = env.posse(&["lint", ".claude/agents/good.md"]).success();
    let (text, _) = env.posse(&["lint", ".claude/agents/bad.md"]).fails_with(1);
    assert!(text.contains("missing-description") && !text.contains("good.md"), "{text}");
    let _ = env.posse(&["lint", ".claude/agents"]).fails_with(1);
    let (text, _) = env.posse(&["lint", "../kit"]).fails_with(0);
    assert!(text.contains("plugin-field-ignored"), "{text}");
    let (_, message) = env.posse(&["lint", "nowhere.md"]).fails_with(2);
    assert_eq!(message, "error: nowhere.md does not exist\n");
}

#[test]
fn sarif_has_what_code_hosts_need() {
    let env = env();
    env.agent("a b.md", "---\nname: a\ndescription: d\nmodle: opus\n---\n");
    let log = json(&env.posse(&["lint", "--format", "sarif"]).success());
    assert_eq!(
        (&log["version"], &log["runs"][0]["tool"]["driver"]["name"]),
        (&"2.1.0".into(), &"posse".into())
    );
    let result = &log["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"unknown-field".into(), &"warning".into()));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], ".claude/agents/a%20b.md");
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 4, "startColumn": 1, "endLine": 4, "endColumn": 6})
    );
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][index]["id"], "unknown-field");
}

#[test]
fn fix_mends_what_is_safe_and_says_so() {
    let env = env();
    env.agent("a.md", "---\nname: a\ndescription: Use when: asked\nmodle: opus\n---\nBody\n");
    let output = env.posse(&["lint", "--fix"]);
    assert_eq!(output.stderr, "mended .claude/agents/a.md: put the value in quotes\n");
    assert_eq!(output.code, Some(0));
    let mended = "---\nname: a\ndescription: \"Use when: asked\"\nmodle: opus\n---\nBody\n";
    assert_eq!(env.read("project/.claude/agents/a.md"), mended);
    let _ = env.posse(&["lint", "--fix", "--unsafe-fixes"]);
    assert_eq!(env.read("project/.claude/agents/a.md"), mended.replace("modle", "model"));
    assert!(env.posse(&["lint"]).success().starts_with("✓ no problems"));
    let (_, message) = env.posse(&["lint", "--unsafe-fixes"]).fails_with(2);
    assert!(message.contains("--fix"), "{message}");
}

#[test]
fn the_text_shows_the_line_and_the_place() {
    let env = env();
    let long = "x".repeat(300);
    env.agent("a.md", &format!("---\nname: a\ndescription: Größe: {long}\ntools: Read,  Grpe\n---\n"));
    let (text, _) = env.posse(&["lint"]).fails_with(0);
    let want = format!(
        "\
warning[unquoted-colon]: a `: ` inside an unquoted value: YAML takes it for another field
  --> .claude/agents/a.md:3:19
  |
3 | description: Größe: {}…
  |                   ^ put the value in quotes
  = fix: put the value in quotes (--fix)

warning[unknown-tool]: no tool is called `Grpe`; the entry matches nothing
  --> .claude/agents/a.md:4:15
  |
4 | tools: Read,  Grpe
  |               ^^^^ did you mean `Grep`?
  = fix: replace it by `Grep` (--fix --unsafe-fixes)

2 warnings, 1 agent looked at; --fix mends 1, --unsafe-fixes 1 more
",
        "x".repeat(80)
    );
    assert_eq!(text, want);
}

#[test]
fn watching_prints_again_after_a_change() {
    use std::io::{BufRead, BufReader};
    let env = env();
    env.agent("a.md", &TestEnv::minimal("a"));
    let mut child =
        env.command().args(["lint", "--watch"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.next().as_deref(), Some("✓ no problems, 1 agent looked at"));
    env.agent("a.md", "---\nname: a\n---\n");
    let after = lines.find(|line| line.contains("missing-description"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(after.is_some());
}

#[test]
fn a_field_behind_a_tab_and_a_limit_below_prose_are_not_lost() {
    let env = env();
    env.agent("a.md", "---\nname: a\n\tdescription: x\n---\nb\n");
    env.agent("b.md", "---\nname: b\ndescription: Use it\nthis and that\nallowed-tools: Read\n---\n");
    env.agent("c.md", "---\nName: c\nDescription: x\n---\n");
    env.agent("d.md", "---\nname: d\ndescription: x\ndisallowedTools: Write(\n---\n");
    let report = json(&env.posse(&["lint", "--format", "json"]).stdout);
    let found: Vec<String> = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| format!("{}:{} {}", d["line"], d["column"], d["rule"].as_str().unwrap()))
        .collect();
    for want in ["3:1 tab-indent", "5:1 unknown-field", "2:1 missing-name", "4:18 invalid-tool-pattern"] {
        assert!(found.iter().any(|line| line == want), "{want} in {found:?}");
    }
    let spec = json(&env.posse(&["explain", "d", "--json"]).success());
    assert!(!pluck(&spec["tools"], "/name").split(' ').any(|tool| tool == "Write"));
    let list = json(&env.posse(&["agents", "--json"]).success());
    assert_eq!(pluck(&list["failed"], "/source/file"), "$ENV/project/.claude/agents/c.md");
}
