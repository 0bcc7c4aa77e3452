use super::*;
use crate::node::Node;
use crate::{text, yaml};

/// Reads hooks as an agent has them in its header: a line per group and handler, then a line per problem.
#[track_caller]
fn check(source: &str, want: &str) {
    let root = yaml::parse(source).unwrap().root;
    let mut problems = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for group in read(&root, &mut problems) {
        let matcher = group.matcher.as_deref().map_or_else(String::new, |matcher| format!(" [{matcher}]"));
        lines.push(format!("{}{matcher}", group.event.name()));
        lines.extend(group.handlers.iter().map(|handler| format!("  {}", shown(handler))));
    }
    for problem in problems {
        let at = text::locate(source, problem.span.unwrap());
        let hint = problem.hint.map_or_else(String::new, |hint| format!(" ({hint})"));
        lines.push(format!("! {}:{} {} {}{hint}", at.line, at.column, problem.rule.info().id, problem.text));
    }
    let want = want.lines().map(|line| line.strip_prefix("        ").unwrap_or(line)).collect::<Vec<_>>();
    assert_eq!(lines.join("\n"), want.join("\n").trim(), "\n--- of\n{source}");
}

fn shown(handler: &HookHandler) -> String {
    let pairs = |pairs: &[(Box<str>, Box<str>)]| {
        pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    };
    let optional = |name: &str, value: &Option<Box<str>>| {
        value.as_deref().map_or_else(String::new, |value| format!(" {name}={value}"))
    };
    let flag = |name: &str, on: bool| if on { format!(" {name}") } else { String::new() };
    let kind = match &handler.kind {
        HookKind::Command { command, args, shell, detached, rewake } => {
            let args = args.as_ref().map_or_else(String::new, |args| format!(" args=[{}]", args.join(",")));
            let switches = flag("async", *detached) + &flag("rewake", *rewake);
            format!("command `{command}`{args}{}{switches}", optional("shell", shell))
        }
        HookKind::Http { url, headers, allowed_env } => {
            format!("http {url} headers=[{}] env=[{}]", pairs(headers), allowed_env.join(","))
        }
        HookKind::McpTool { server, tool, input } => {
            let keys = input.iter().filter_map(Node::as_map).flatten().map(|entry| &*entry.key);
            format!("mcp_tool {server}/{tool} input=[{}]", keys.collect::<Vec<_>>().join(","))
        }
        HookKind::Prompt { prompt, model, continue_on_block } => {
            format!("prompt `{prompt}`{}{}", optional("model", model), flag("continues", *continue_on_block))
        }
        HookKind::Agent { prompt, model } => format!("agent `{prompt}`{}", optional("model", model)),
    };
    let timeout = handler.timeout.map_or_else(String::new, |time| format!(" timeout={time:?}"));
    let (condition, status) =
        (optional("if", &handler.condition), optional("status", &handler.status_message));
    format!("{kind}{timeout}{condition}{status}{}", flag("once", handler.once))
}

#[test]
fn all_33_events_are_known_by_their_exact_names() {
    const NAMES: &str = "PreToolUse PostToolUse PostToolUseFailure Notification UserPromptSubmit SessionStart \
        SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact PermissionRequest \
        PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange \
        WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged UserPromptExpansion PostToolBatch \
        MessageDisplay DirectoryAdded PreModelSwitch PostModelSwitch";
    let names: Vec<_> = NAMES.split_whitespace().collect();
    assert_eq!(names.len(), 33);
    assert_eq!(HookEvent::ALL.iter().map(|event| event.name()).collect::<Vec<_>>(), names);
    for name in names {
        assert_eq!(HookEvent::parse(name).map(HookEvent::name), Some(name));
        assert_eq!(HookEvent::parse(&name.to_lowercase()), None, "case counts");
        check(
            &format!("{name}: [{{hooks: [{{type: command, command: x}}]}}]"),
            &format!("{name}\n  command `x`"),
        );
    }
}

#[test]
fn groups_have_a_matcher_and_any_number_of_handlers() {
    check(
        "\
PreToolUse:
  - matcher: Bash|Edit
    hooks:
      - {type: command, command: ./a.sh}
      - {type: command, command: ./b.sh}
  - matcher: \"\"
    hooks: [{type: command, command: c}]
  - matcher: null
    hooks: [{type: command, command: d}]
Stop:
  - hooks: []
SubagentStop: null
",
        "
        PreToolUse [Bash|Edit]
          command `./a.sh`
          command `./b.sh`
        PreToolUse []
          command `c`
        PreToolUse
          command `d`
        Stop",
    );
}

#[test]
fn each_kind_of_handler_has_its_fields() {
    check(
        "\
PostToolUse:
  - hooks:
      - {type: command, command: lint, args: [--fix, 3], shell: bash, async: true, asyncRewake: true, timeout: 5}
      - {type: http, url: 'https://example.org/x', headers: {X-Key: $KEY, N: 1}, allowedEnvVars: [KEY], timeout: 1.5}
      - {type: mcp_tool, server: notes, tool: add, input: {text: '${tool_name}'}, statusMessage: noting}
      - {type: prompt, prompt: Is it done?, model: haiku, continueOnBlock: true, if: Bash(rm *)}
      - {type: agent, prompt: Check the tests, model: sonnet, once: true}
",
        "
        PostToolUse
          command `lint` args=[--fix,3] shell=bash async rewake timeout=5s
          http https://example.org/x headers=[X-Key=$KEY,N=1] env=[KEY] timeout=1.5s
          mcp_tool notes/add input=[text] status=noting
          prompt `Is it done?` model=haiku continues if=Bash(rm *)
          agent `Check the tests` model=sonnet once",
    );
    check(
        "\
PostToolUse:
  - hooks:
      - {type: http, url: u}
      - {type: mcp_tool, server: s, tool: t}
      - {type: prompt, prompt: p}
      - {type: agent, prompt: p}
      # The type was optional once.
      - {command: c}
",
        "
        PostToolUse
          http u headers=[] env=[]
          mcp_tool s/t input=[]
          prompt `p`
          agent `p`
          command `c`",
    );
}

#[test]
fn a_bad_handler_is_reported_and_costs_only_itself() {
    check(
        "\
Stop:
  - hooks:
      - {type: command}
      - {type: http}
      - {type: mcp_tool, tool: t}
      - {type: mcp_tool, server: s}
      - {type: prompt, model: m}
      - {type: agent}
      - {type: shell, command: x}
      - {type: command, command: [a]}
      - just text
      - {type: command, command: good}
",
        "
        Stop
          command `good`
        ! 3:9 invalid-hook a `command` hook needs `command` (the hook is ignored until it has one)
        ! 4:9 invalid-hook a `http` hook needs `url` (the hook is ignored until it has one)
        ! 5:9 invalid-hook a `mcp_tool` hook needs `server` (the hook is ignored until it has one)
        ! 6:9 invalid-hook a `mcp_tool` hook needs `tool` (the hook is ignored until it has one)
        ! 7:9 invalid-hook a `prompt` hook needs `prompt` (the hook is ignored until it has one)
        ! 8:9 invalid-hook a `agent` hook needs `prompt` (the hook is ignored until it has one)
        ! 9:16 invalid-hook no kind of hook is called `shell` (one of command, http, mcp_tool, prompt, agent)
        ! 10:9 invalid-hook a `command` hook needs `command` (the hook is ignored until it has one)
        ! 11:9 invalid-hook a hook must be a mapping; this is text",
    );
}

const MODERN: &str = "write `- matcher: Bash` with `hooks: [{type: command, command: …}]` below it";

#[test]
fn a_bad_group_or_event_costs_only_itself() {
    check(
        "\
PreToolUse:
  - matcher: {tool: Bash}
    hooks: [{command: a}]
  - hooks: {command: b}
  - matcher: Bash
  - hooks: [{type: nonsense}]
  - 5
  - hooks: [{command: good}]
PostToolUse: {hooks: [{command: c}]}
Notification: text
Stop: [{hooks: [{command: also good}]}]
",
        &format!(
            "
        PreToolUse
          command `good`
        Stop
          command `also good`
        ! 2:14 invalid-hook `matcher` must be text; this is a mapping ({MODERN})
        ! 4:12 invalid-hook `hooks` must be a list of handlers; this is a mapping ({MODERN})
        ! 5:5 invalid-hook a hook group needs `hooks`, a list of handlers ({MODERN})
        ! 6:20 invalid-hook no kind of hook is called `nonsense` (one of command, http, mcp_tool, prompt, agent)
        ! 7:5 invalid-hook a hook group needs `hooks`, a list of handlers ({MODERN})
        ! 9:14 invalid-hook `PostToolUse` must be a list of hook groups; this is a mapping ({MODERN})
        ! 10:15 invalid-hook `Notification` must be a list of hook groups; this is text ({MODERN})"
        ),
    );
}

#[test]
fn what_is_no_mapping_of_events_holds_no_hooks() {
    for (source, kind) in [("[a]", "a list"), ("text", "text"), ("5", "a number"), ("true", "true or false")]
    {
        check(source, &format!("! 1:1 invalid-hook `hooks` must map events to handlers; this is {kind}"));
    }
    check("null", "");
    check("{}", "");
}

#[test]
fn unknown_events_are_reported_where_they_stand_and_the_others_kept() {
    let example = "for example PreToolUse, PostToolUse, Stop, SessionStart";
    let gone =
        |name: &str| format!("unknown-hook-event no hook event is called `{name}`; its hooks never run");
    check(
        "\
PreToolUze: [{hooks: [{command: a}]}]
pre-tool-use: []
stop: []
pre_task: {anything: at all}
Stop: [{hooks: [{command: kept}]}]
",
        &format!(
            "
        Stop
          command `kept`
        ! 1:1 {} (did you mean `PreToolUse`?)
        ! 2:1 {} (did you mean `PreToolUse`?)
        ! 3:1 {} (did you mean `Stop`?)
        ! 4:1 {} ({example})",
            gone("PreToolUze"),
            gone("pre-tool-use"),
            gone("stop"),
            gone("pre_task")
        ),
    );
}

#[test]
fn the_flat_form_of_older_versions_is_read_and_reported_with_the_modern_form() {
    let old =
        format!("old-spelling a handler without a group around it: the form of older versions ({MODERN})");
    check(
        "\
PreToolUse:
  - command: ./check.sh
    timeout: 5000
  - {matcher: Bash, type: command, command: b, timeout: 1500}
  - ./c.sh
  # Nobody gives a program 30 milliseconds: small numbers were meant as seconds.
  - {command: d, timeout: 30}
  - {command: [no]}
  - hooks: [{command: modern, timeout: 5000}]
",
        &format!(
            "
        PreToolUse
          command `./check.sh` timeout=5s
        PreToolUse [Bash]
          command `b` timeout=1.5s
        PreToolUse
          command `./c.sh`
        PreToolUse
          command `d` timeout=30s
        PreToolUse
          command `modern` timeout=5000s
        ! 2:5 {old}
        ! 4:5 {old}
        ! 5:5 {old}
        ! 7:5 {old}
        ! 8:5 invalid-hook a `command` hook needs `command` (the hook is ignored until it has one)"
        ),
    );
}

#[test]
fn a_timeout_that_is_none_is_reported_and_the_default_applies() {
    for timeout in ["0", "-1", "soon", "'5'", "true", "[5]", "1e300"] {
        check(
            &format!("Stop: [{{hooks: [{{command: x, timeout: {timeout}}}]}}]"),
            "
        Stop
          command `x`
        ! 1:39 invalid-value `timeout` must be a positive number of seconds; the default applies",
        );
    }
}

#[test]
fn the_table_of_events_is_in_the_order_of_the_events() {
    let events: Vec<HookEvent> = facts::FACTS.iter().map(|row| row.event).collect();
    assert_eq!(events, HookEvent::ALL);
}

#[test]
fn a_matcher_that_is_no_pattern_is_reported_unless_nobody_asks_it() {
    check(
        "\
PreToolUse: [{matcher: 'Bash(', hooks: [{command: a}]}]
Stop: [{matcher: 'Bash(', hooks: [{command: b}]}]
",
        "
        PreToolUse [Bash(]
          command `a`
        Stop [Bash(]
          command `b`
        ! 1:24 invalid-hook the matcher is not a valid pattern: \
Parsing error at position 5: Opening parenthesis without closing parenthesis (until it is one, its hooks never run)",
    );
}

#[test]
fn a_kind_that_its_event_does_not_take_is_reported_and_left_out() {
    check(
        "\
SessionStart:
  - hooks: [{type: prompt, prompt: p}, {type: http, url: u}, {command: a}]
Notification:
  - hooks: [{type: agent, prompt: p}, {type: http, url: u}]
",
        "
        SessionStart
          command `a`
        Notification
          http u headers=[] env=[]
        ! 2:13 invalid-hook `SessionStart` takes no `prompt` hooks; this one never runs (one of command, mcp_tool)
        ! 2:40 invalid-hook `SessionStart` takes no `http` hooks; this one never runs (one of command, mcp_tool)
        ! 4:13 invalid-hook `Notification` takes no `agent` hooks; this one never runs (one of command, http, mcp_tool)",
    );
}

#[test]
fn the_same_work_is_known_wherever_it_is_written() {
    let kinds = |source: &str| {
        let root = yaml::parse(source).unwrap().root;
        let groups = read(&root, &mut Vec::new());
        groups.into_iter().flat_map(|group| group.handlers).map(|handler| handler.kind).collect::<Vec<_>>()
    };
    let source = "\
Stop:
  - hooks: [{type: mcp_tool, server: s, tool: t, input: {a: 1}}, {command: x}, {command: x, args: [y]}]
";
    let (one, other) = (kinds(source), kinds(&format!("\n\n{source}")));
    for (a, kind) in one.iter().enumerate() {
        for (b, other) in other.iter().enumerate() {
            assert_eq!(kind.does_the_same_as(other), a == b, "{kind:?} {other:?}");
        }
    }
    assert_eq!(one.iter().map(HookKind::label).collect::<Vec<_>>(), ["s/t", "x", "x y"]);
    let http = kinds("Stop: [{hooks: [{type: http, url: 'https://me:pw@a.org:8/p@th?key=1'}]}]");
    assert_eq!(http[0].label(), "https://a.org:8/p@th");
}
