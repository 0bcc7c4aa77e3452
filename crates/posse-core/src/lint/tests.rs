use std::path::Path;

use super::*;
use crate::definition::{self, Naming, Parsed};
use crate::origin::{Origin, Source, Standing};
use crate::permission::{Approval, Behavior, Mode};
use crate::registry::Findings;
use crate::settings::{Layer, PermissionRule, PluginOnly, SetIn};

/// Agents by name with a line of their headers, which is line 4 of their files; each diagnostic is a line.
#[track_caller]
fn check(agents: &[(&str, &str)], want: &[&str]) {
    check_under(&Policy { max_depth: 3, ..Policy::default() }, agents, want);
}

#[track_caller]
fn check_under(policy: &Policy, agents: &[(&str, &str)], want: &[&str]) {
    let definitions = agents.iter().map(|(name, fields)| {
        let file = format!("{name}.md");
        let source = Source {
            origin: Origin::Project,
            standing: Standing::Folder(0),
            file: Path::new(&file).into(),
            root: Path::new("").into(),
            plugin: None,
        };
        let text = format!("---\nname: {name}\ndescription: d\n{fields}\n---\n");
        match definition::parse(&text, &source, Naming::Field).0 {
            Parsed::Agent(agent) => *agent,
            other => panic!("the example is no agent: {other:?}\n{text}"),
        }
    });
    let registry = Registry::build(Findings { definitions: definitions.collect(), ..Findings::default() });
    let main = Parent {
        name: "main".into(),
        capability: spec::session_pool(policy).capability,
        approval: Approval::of(Mode::Default),
        model: "m".into(),
        effort: None,
        depth: 0,
    };
    let got = check_all(&registry, policy, &main);
    assert_eq!(got, want, "\n--- of\n{agents:#?}");
}

fn check_all(registry: &Registry, policy: &Policy, main: &Parent) -> Vec<String> {
    let line = |one: &Diagnostic| {
        let at = one.location.unwrap();
        let hint = one.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        format!("{}:{}:{} {} {}{hint}", one.file.display(), at.line, at.column, one.rule.info().id, one.text)
    };
    super::check(registry, policy, main).iter().map(line).collect()
}

fn managed() -> SetIn {
    SetIn { layer: Layer::Managed, file: Path::new("managed.json").into() }
}

fn denial(text: &str) -> PermissionRule {
    PermissionRule {
        behavior: Behavior::Deny,
        text: text.into(),
        pattern: ToolPattern::parse(text),
        by: managed(),
        location: None,
    }
}

const CIRCLE: &str = "(only the depth limit would end it; take one of the names out)";
const NO_TOOLS: &str = "(name at least one tool it can have, or leave `tools` out for all of them)";

#[test]
fn agents_that_fit_together_are_not_talked_about() {
    check(&[], &[]);
    check(
        &[
            ("lead", "tools: Agent(helper, reader), Read"),
            ("helper", "tools: Agent(reader)"),
            ("reader", "tools: Read"),
            ("silent", "tools: []"),
        ],
        &[],
    );
}

#[test]
fn a_list_that_the_denylist_empties_is_worth_a_word() {
    check(
        &[("emptied", "tools: Bash\ndisallowedTools: Bash")],
        &[
            "emptied.md:4:8 no-tools `disallowedTools` takes away every tool that `tools` gives: the agent has none",
        ],
    );
}

#[test]
fn a_list_that_gives_no_tool_is_an_error_at_the_list() {
    check(
        &[("x", "tools: Frob, AskUserQuestion"), ("y", "model: opus\ntools: [read]")],
        &[
            &format!(
                "x.md:4:8 empty-pool agent `x` would be started without a single tool: not a tool: Frob; \
                 not available to it here: AskUserQuestion {NO_TOOLS}"
            ),
            &format!(
                "y.md:5:8 empty-pool agent `y` would be started without a single tool: not a tool: read {NO_TOOLS}"
            ),
        ],
    );
    // Under the policy as it is: with Bash denied there is nothing left of this list.
    let policy = Policy { max_depth: 3, deny: vec![denial("Bash")], ..Policy::default() };
    check_under(
        &policy,
        &[("x", "tools: Bash")],
        &[&format!(
            "x.md:4:8 empty-pool agent `x` would be started without a single tool: \
             not available to it here: Bash {NO_TOOLS}"
        )],
    );
}

#[test]
fn agents_that_cannot_be_started_anyway_are_no_news() {
    for text in ["Agent(x)", "Agent"] {
        let policy = Policy { max_depth: 3, deny: vec![denial(text)], ..Policy::default() };
        check_under(&policy, &[("x", "tools: Frob")], &[]);
    }
}

#[test]
fn a_field_that_the_policy_withholds_is_reported_at_its_key() {
    let policy = Policy {
        max_depth: 3,
        plugin_only: PluginOnly { hooks: true, mcp: true, ..PluginOnly::default() },
        plugin_only_by: Some(managed()),
        ..Policy::default()
    };
    check_under(
        &policy,
        &[("x", "hooks: {Stop: [{hooks: [{command: a}]}]}\nmcpServers: [github]"), ("y", "tools: Read")],
        &[
            "x.md:4:1 policy-field-ignored `hooks` is ignored: managed.json keeps it to plugins and administrators",
            "x.md:5:1 policy-field-ignored `mcpServers` is ignored: managed.json keeps it to plugins and administrators",
        ],
    );
}

#[test]
fn a_target_that_does_not_exist_is_reported_with_the_one_that_was_meant() {
    check(
        &[
            ("lead", "tools: Read, Agent(reviewr, tester, nobody-at-all), Task(Tester)"),
            ("reviewer", ""),
            ("tester", ""),
        ],
        &[
            "lead.md:4:14 unknown-spawn-target `lead` may start `reviewr`, but there is no such agent \
             (did you mean `reviewer`?)",
            "lead.md:4:14 unknown-spawn-target `lead` may start `nobody-at-all`, but there is no such agent",
            // Names are exact where agents are started from a list.
            "lead.md:4:53 unknown-spawn-target `lead` may start `Tester`, but there is no such agent \
             (did you mean `tester`?)",
        ],
    );
    // A target that is not there leads nowhere, hence not in a circle.
    check(
        &[("a", "tools: Agent(b)")],
        &["a.md:4:8 unknown-spawn-target `a` may start `b`, but there is no such agent"],
    );
}

#[test]
fn circles_are_reported_once_at_the_entry_that_closes_them() {
    let circle = |place: &str, way: &str| {
        format!("{place} spawn-cycle these agents can start each other in a circle: {way} {CIRCLE}")
    };
    for (agents, want) in [
        (&[("a", "tools: Read, Agent(a)")][..], &[("a.md:4:14", "a → a")][..]),
        (&[("a", "tools: Agent(b)"), ("b", "tools: Read, Task(a)")], &[("a.md:4:8", "a → b → a")]),
        (
            &[("a", "tools: Agent(b)"), ("b", "tools: Agent(c)"), ("c", "tools: Read, Agent(a)")],
            &[("a.md:4:8", "a → b → c → a")],
        ),
        // The list's place is that of the entry with the next step, not of the first entry.
        (
            &[("a", "tools: Agent(c), Read, Agent(b)"), ("b", "tools: Agent(a)"), ("c", "tools: Read")],
            &[("a.md:4:24", "a → b → a")],
        ),
        // Two circles are two problems.
        (
            &[
                ("a", "tools: Agent(b)"),
                ("b", "tools: Agent(a)"),
                ("c", "tools: Agent(d)"),
                ("d", "tools: Agent(d)"),
            ],
            &[("a.md:4:8", "a → b → a"), ("d.md:4:8", "d → d")],
        ),
        // Whoever only leads into a circle is not part of it.
        (
            &[("a", "tools: Agent(b)"), ("b", "tools: Agent(c)"), ("c", "tools: Agent(b)")],
            &[("b.md:4:8", "b → c → b")],
        ),
        // A shorter circle inside a longer one: both are there.
        (
            &[("a", "tools: Agent(b)"), ("b", "tools: Agent(b, c)"), ("c", "tools: Agent(a)")],
            &[("a.md:4:8", "a → b → c → a"), ("b.md:4:8", "b → b")],
        ),
    ] {
        let want: Vec<String> = want.iter().map(|(place, way)| circle(place, way)).collect();
        check(agents, &want.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn no_circle_is_seen_where_nobody_named_one() {
    for agents in [
        // Whoever may start anybody may start a circle: no news.
        &[("a", ""), ("b", "")][..],
        &[("a", "tools: Agent"), ("b", "tools: Task")],
        &[("a", "tools: '*'"), ("b", "tools: Agent(a)")],
        &[("a", "tools: Agent(b)"), ("b", "")],
        &[("a", "tools: Agent(*)")],
        // Taken away again, in any spelling.
        &[("a", "tools: Agent(a), Read\ndisallowedTools: Agent")],
        &[("a", "tools: Agent(a), Read\ndisallowedTools: Task")],
        &[("a", "tools: Agent(a), Read\ndisallowedTools: Agent(a)")],
        &[("a", "tools: Agent(b), Read"), ("b", "tools: Agent(a), Read\ndisallowedTools: Agent")],
        // A line, not a circle.
        &[("a", "tools: Agent(b, c)"), ("b", "tools: Agent(c)"), ("c", "tools: Read")],
    ] {
        check(agents, &[]);
    }
}
