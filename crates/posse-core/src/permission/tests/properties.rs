//! What holds for any rules and any call.

use proptest::prelude::*;

use super::*;

/// Pieces of command lines that rules below speak of, or nearly.
const COMMANDS: &[&str] = &[
    "git diff",
    "git diff --stat",
    "git push origin",
    "rm x",
    "/bin/rm x",
    "npm run build",
    "ls src",
    "cat .env",
    "cat a.txt",
    "cat $X",
    "echo a > out/b",
    "echo a > .git/config",
    "touch a",
    "$X y",
    "eval x",
    "timeout 5 rm x",
    "xargs rm",
    "sh -c 'git push'",
    "A=1 make",
];
const JOINTS: &[&str] = &["; ", " && ", " | ", "\n", " & ", " $(", " || "];
const SCOPES: &[&str] = &[
    "Bash",
    "Bash(git diff:*)",
    "Bash(git push:*)",
    "Bash(git *)",
    "Bash(rm:*)",
    "Bash(npm run *)",
    "Bash(* x)",
    "Bash(echo:*)",
    "Bash(cat:*)",
    "Bash(make)",
    "Bash(timeout:*)",
    "Bash(xargs:*)",
    "Read",
    "Read(.env)",
    "Read(//etc/**)",
    "Read(src/**)",
    "Edit",
    "Edit(out/**)",
    "Edit(.git/**)",
    "Write(a)",
    "WebFetch",
    "WebFetch(domain:a.b)",
    "WebFetch(domain:*.a.b)",
    "mcp__s",
    "mcp__s__t",
    "mcp__*",
    "Agent(a)",
    "Agent(model:opus)",
    "Skill(x)",
    "Skill(x:*)",
    "*",
    "Web*",
];

fn a_command() -> impl Strategy<Value = String> {
    prop::collection::vec((prop::sample::select(COMMANDS), prop::sample::select(JOINTS)), 1..4).prop_map(
        |parts| {
            let mut line = String::new();
            let mut closing = String::new();
            for (at, (command, joint)) in parts.iter().enumerate() {
                if at > 0 {
                    line.push_str(joint);
                    if joint.ends_with('(') {
                        closing.push(')');
                    }
                }
                line.push_str(command);
            }
            format!("Bash {line}{closing}")
        },
    )
}

fn a_call() -> impl Strategy<Value = String> {
    let others = vec![
        "Read .env",
        "Read src/a",
        "Read /etc/passwd",
        "Read link/x",
        "Edit a",
        "Edit out/x",
        "Edit .git/config",
        "Write a",
        "Write /memory/x",
        "Glob *",
        "Grep /etc",
        "WebFetch https://a.b/x",
        "WebFetch https://c.a.b/x",
        "mcp__s__t",
        "mcp__r__t",
        "Agent a",
        "Skill x",
        "Skill x:y",
        "TodoWrite",
        "WebSearch",
    ];
    prop_oneof![3 => a_command(), 2 => prop::sample::select(others).prop_map(str::to_owned)]
}

fn a_rule() -> impl Strategy<Value = (Behavior, &'static str)> {
    (prop::sample::select(vec![Behavior::Allow, Behavior::Ask, Behavior::Deny]), prop::sample::select(SCOPES))
}

fn set(rules: &[(Behavior, &str)]) -> RuleSet {
    let source = Arc::new(RuleSource::new("settings", "/w", "/w", Some("/home/u")));
    RuleSet::new(rules.iter().map(|(behavior, text)| Rule::parse(*behavior, text, &source)).collect())
}

fn ruling(rules: &RuleSet, mode: Mode, hook: Option<HookSays>, text: &str) -> Ruling {
    let (tool, input) = call(text);
    let folders = folders();
    let situation =
        Situation { rules, mode, limits: &[], folders: &folders, paths: &Links, hook, contained: false };
    decide(&Call::new(&tool, &input), &situation).ruling
}

/// How much a ruling lets through: the higher, the less.
fn strength(ruling: Ruling) -> u8 {
    match ruling {
        Ruling::Allow => 0,
        Ruling::Judge => 1,
        Ruling::Ask => 2,
        Ruling::Deny => 3,
    }
}

fn a_hook() -> impl Strategy<Value = Option<HookSays>> {
    prop::sample::select(vec![None, Some(HookSays::Allow), Some(HookSays::Ask)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_allow_rule_never_undoes_a_deny_or_an_ask_of_a_rule(
        rules in prop::collection::vec(a_rule(), 0..6),
        more in prop::sample::select(SCOPES),
        text in a_call(),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        hook in a_hook(),
    ) {
        let before = ruling(&set(&rules), mode, hook, &text);
        let denied_by_rule = ruling(&set(&rules), Mode::BypassPermissions, None, &text);
        let mut rules = rules;
        rules.push((Behavior::Allow, more));
        let after = ruling(&set(&rules), mode, hook, &text);
        if denied_by_rule != Ruling::Allow {
            prop_assert_eq!(before, after);
        }
        prop_assert!(strength(after) <= strength(before), "{:?} {:?}", before, after);
    }

    #[test]
    fn a_deny_or_an_ask_never_makes_it_easier(
        rules in prop::collection::vec(a_rule(), 0..6),
        more in prop::sample::select(SCOPES),
        behavior in prop::sample::select(vec![Behavior::Ask, Behavior::Deny]),
        text in a_call(),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        hook in a_hook(),
    ) {
        let before = ruling(&set(&rules), mode, hook, &text);
        let mut rules = rules;
        rules.push((behavior, more));
        let after = ruling(&set(&rules), mode, hook, &text);
        prop_assert!(strength(after) >= strength(before), "{:?} {:?}", before, after);
    }

    #[test]
    fn the_order_of_rules_does_not_matter(
        rules in prop::collection::vec(a_rule(), 0..6),
        text in a_call(),
        mode in prop::sample::select(Mode::ALL.to_vec()),
    ) {
        let reversed: Vec<_> = rules.iter().rev().copied().collect();
        prop_assert_eq!(ruling(&set(&rules), mode, None, &text), ruling(&set(&reversed), mode, None, &text));
    }

    #[test]
    fn a_deny_that_decides_alone_decides_among_others(
        rules in prop::collection::vec(a_rule(), 0..6),
        deny in prop::sample::select(SCOPES),
        text in a_call(),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        hook in a_hook(),
    ) {
        let alone = ruling(&set(&[(Behavior::Deny, deny)]), Mode::BypassPermissions, None, &text);
        let mut rules = rules;
        rules.insert(0, (Behavior::Deny, deny));
        if alone == Ruling::Deny {
            prop_assert_eq!(ruling(&set(&rules), mode, hook, &text), Ruling::Deny);
        }
    }

    #[test]
    fn modes_that_allow_less_allow_less(
        rules in prop::collection::vec(a_rule(), 0..6),
        text in a_call(),
        hook in a_hook(),
    ) {
        let rules = set(&rules);
        let of = |mode| ruling(&rules, mode, hook, &text);
        let default = of(Mode::Default);
        for mode in [Mode::Plan, Mode::DontAsk, Mode::Bubble] {
            prop_assert!(strength(of(mode)) >= strength(default), "{:?} {:?} {:?}", mode, of(mode), default);
        }
        // What asks nothing only skips asks.
        let bypass = of(Mode::BypassPermissions);
        prop_assert_eq!(default == Ruling::Deny, bypass == Ruling::Deny);
        prop_assert!(default != Ruling::Allow || bypass == Ruling::Allow);
        for mode in [Mode::AcceptEdits, Mode::Auto] {
            prop_assert_eq!(default == Ruling::Deny, of(mode) == Ruling::Deny);
            prop_assert!(strength(of(mode)) <= strength(default));
        }
        prop_assert_ne!(of(Mode::DontAsk), Ruling::Ask);
    }
}
