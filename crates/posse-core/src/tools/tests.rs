use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

// ── Splitting ──

/// Entries with their offsets: `0:Read 6:Grep`, each in brackets because an entry may hold blanks.
fn split(text: &str) -> String {
    split_entries(text).iter().map(|(at, entry)| format!("{at}[{entry}]")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_text_is_split_at_commas_and_blanks_outside_parentheses() {
    for (text, want) in [
        ("", ""),
        (" ,, ,", ""),
        ("Read", "0[Read]"),
        ("Read, Grep", "0[Read] 6[Grep]"),
        ("Read Grep", "0[Read] 5[Grep]"),
        (" ,Read,,  Grep , ", "2[Read] 10[Grep]"),
        // No entry is dropped for standing twice, and case is the author's.
        ("Read, read, Read", "0[Read] 6[read] 12[Read]"),
        // Parentheses hold together.
        ("Bash(git diff:*), Read", "0[Bash(git diff:*)] 18[Read]"),
        ("Agent(a, b) Read", "0[Agent(a, b)] 12[Read]"),
        ("Bash(a (b, c) d), e", "0[Bash(a (b, c) d)] 18[e]"),
        // A `)` without `(` is a letter like any other; an open `(` swallows the rest.
        ("a) b", "0[a)] 3[b]"),
        ("a)), b(c d)", "0[a))] 5[b(c d)]"),
        ("Bash(git, Read, Grep", "0[Bash(git, Read, Grep]"),
        (")( a, b", "0[)( a, b]"),
        // Nothing else separates.
        ("Read\tGrep", "0[Read\tGrep]"),
        ("Read\nGrep", "0[Read\nGrep]"),
        ("Read;Grep|Glob", "0[Read;Grep|Glob]"),
        ("Read,\u{a0}Grep", "0[Read] 5[\u{a0}Grep]"),
        ("Read，Grep", "0[Read，Grep]"),
        // A list in quotes is text: its brackets stay.
        ("[Read, Write]", "0[[Read] 7[Write]]"),
        // Offsets are bytes.
        ("é, ü", "0[é] 4[ü]"),
    ] {
        assert_eq!(split(text), want, "{text:?}");
    }
}

/// Texts that have broken parsers like this one, kept so that they are tried on every run.
const NASTY: &[&str] = &[
    "",
    " ",
    ",",
    "(",
    ")",
    "()",
    ")(",
    "((((((((((,",
    ")))))))))),",
    "(,),(",
    "*",
    "**",
    "*(*)",
    "(*)",
    "Bash(",
    "Bash)",
    "Bash((",
    "Bash())",
    "Bash()()",
    "Agent(",
    "Agent(,)",
    "Agent((,))",
    "Agent(a,\u{0},b)",
    "Task()(x)",
    "mcp__",
    "mcp__*",
    "mcp____",
    "mcp____*",
    "mcp__*__*",
    "mcp__(x)",
    "mcp__é*",
    "mcp__é__ü(",
    "mcp_",
    "💥(💥",
    "💥)",
    "(💥)",
    "é(ü)é",
    "Bash(\u{301})",
    "\u{202e}hsaB",
    "\u{feff}Read",
    "Read\u{0}",
    "Read\r\n",
    "\u{3000}Read\u{3000}",
    "ﬁ(ﬁ,ﬁ) ﬁ",
    "\u{10ffff}(\u{10ffff})",
];

/// Holds for every text there is: nothing is lost, nothing is made up, nothing panics.
fn check_any_text(text: &str) {
    let mut end = 0;
    for (at, entry) in split_entries(text) {
        assert!(!entry.is_empty(), "an empty entry in {text:?}");
        assert_eq!(text.get(at..at + entry.len()), Some(entry), "{text:?}");
        assert!(at >= end, "entries overlap in {text:?}");
        assert!(text[end..at].bytes().all(|b| matches!(b, b',' | b' ')), "text lost before {at} in {text:?}");
        end = at + entry.len();
        check_any_entry(entry);
    }
    assert!(text[end..].bytes().all(|b| matches!(b, b',' | b' ')), "text lost at the end of {text:?}");
    check_any_entry(text);
}

fn check_any_entry(entry: &str) {
    ToolPattern::is_unbalanced(entry);
    why_not_a_tool(entry);
    match ToolPattern::parse(entry) {
        ToolPattern::All => assert_eq!(entry, "*"),
        ToolPattern::Mcp(McpPattern::Exact(name)) => {
            let written = if entry.contains('(') { entry.to_owned() } else { McpPattern::spelled(entry) };
            assert_eq!(*name, written);
        }
        ToolPattern::Mcp(McpPattern::Prefix(prefix)) => {
            assert!(entry.starts_with("mcp__") && prefix.starts_with("mcp__"), "{entry:?} {prefix:?}");
        }
        ToolPattern::Tool { name, scope } => {
            // Either the name is part of the entry, or an older name was replaced.
            let renamed = find(&name).is_some_and(|tool| tool.aliases.iter().any(|old| entry.contains(old)));
            assert!(entry.contains(&*name) || renamed, "{entry:?} became {name:?}");
            match scope {
                None => {}
                Some(Scope::Argument(argument)) => assert!(entry.contains(&*argument), "{entry:?}"),
                Some(Scope::Agents(agents)) => {
                    assert_eq!(&*name, "Agent");
                    assert!(agents.iter().all(|agent| entry.contains(&**agent)), "{entry:?}");
                }
                Some(Scope::MemoryFolder(_)) => panic!("{entry:?} cannot be written by hand"),
            }
        }
    }
}

#[test]
fn nasty_texts_are_split_and_understood() {
    for text in NASTY {
        check_any_text(text);
        // And in company, where the parentheses of one could reach into the next.
        for other in NASTY {
            check_any_text(&format!("{text}, {other}"));
        }
    }
    check_any_text(&"(".repeat(20_000));
    check_any_text(&"a(,".repeat(20_000));
}

/// Text made of what the splitter cares about, so that most cases are near misses of something valid.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "(", ")", ",", " ", "*", "__", "mcp__", "Agent", "Task", "Bash", "Read", "\t", "\n", "é", "💥",
        "\u{0}", ":", "a", "\u{a0}",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_or_loses_a_letter(arbitrary in any::<String>(), hostile in hostile()) {
        check_any_text(&arbitrary);
        check_any_text(&hostile);
    }
}

// ── Patterns ──

fn pattern(entry: &str) -> String {
    match ToolPattern::parse(entry) {
        ToolPattern::All => "all".into(),
        ToolPattern::Tool { name, scope: None } => format!("tool {name}"),
        ToolPattern::Tool { name, scope: Some(Scope::Argument(text)) } => format!("tool {name} for [{text}]"),
        ToolPattern::Tool { name, scope: Some(Scope::Agents(agents)) } => {
            format!("tool {name} of [{}]", agents.join("|"))
        }
        ToolPattern::Tool { name, scope: Some(Scope::MemoryFolder(_)) } => format!("tool {name} for memory"),
        ToolPattern::Mcp(McpPattern::Exact(name)) => format!("mcp {name}"),
        ToolPattern::Mcp(McpPattern::Prefix(prefix)) => format!("mcp {prefix}…"),
    }
}

#[test]
fn every_form_of_entry_is_understood() {
    for (entry, want) in [
        ("*", "all"),
        ("**", "tool **"),
        ("Read", "tool Read"),
        ("read", "tool read"),
        ("NoSuchTool", "tool NoSuchTool"),
        ("", "tool "),
        // Older names become the current one, with and without parentheses.
        ("Task", "tool Agent"),
        ("Task(a)", "tool Agent of [a]"),
        ("KillShell", "tool TaskStop"),
        ("KillBash", "tool TaskStop"),
        ("BashOutput", "tool TaskOutput"),
        ("AgentOutputTool", "tool TaskOutput"),
        // Arguments are kept as written, but for blanks at the ends.
        ("Bash(git diff:*)", "tool Bash for [git diff:*]"),
        ("Bash( git )", "tool Bash for [git]"),
        ("Bash (git)", "tool Bash for [git]"),
        ("Bash(a, b)", "tool Bash for [a, b]"),
        ("Bash(a(b)c)", "tool Bash for [a(b)c]"),
        ("Read(src/**)", "tool Read for [src/**]"),
        ("NoSuchTool(x)", "tool NoSuchTool for [x]"),
        // Nothing, and everything, in the parentheses: no more than the tool.
        ("Bash()", "tool Bash"),
        ("Bash(  )", "tool Bash"),
        ("Bash(*)", "tool Bash"),
        ("Bash( * )", "tool Bash"),
        ("Agent(*)", "tool Agent"),
        // Agents by name.
        ("Agent(a)", "tool Agent of [a]"),
        ("Agent(a, b)", "tool Agent of [a|b]"),
        ("Agent(a,,b,)", "tool Agent of [a|b]"),
        ("Agent(plugin:a, two words)", "tool Agent of [plugin:a|two words]"),
        // A list of nobody means nobody, not everybody.
        ("Agent(,)", "tool Agent of []"),
        // What is not `name(…)` is a name that matches nothing.
        ("Bash(git", "tool Bash(git"),
        ("Bash)", "tool Bash)"),
        ("(git)", "tool (git)"),
        ("Bash(git)x", "tool Bash(git)x"),
        // MCP: a tool, a server in three spellings, part of a server, everything.
        ("mcp__github__create_issue", "mcp mcp__github__create_issue"),
        ("mcp__a__b__c", "mcp mcp__a__b__c"),
        ("mcp__github", "mcp mcp__github__…"),
        ("mcp__my server", "mcp mcp__my_server__…"),
        ("mcp__my.server__do it", "mcp mcp__my_server__do_it"),
        ("mcp__plugin:a:b*", "mcp mcp__plugin_a_b…"),
        ("mcp__github__", "mcp mcp__github__…"),
        ("mcp__github__*", "mcp mcp__github__…"),
        ("mcp__github__get_*", "mcp mcp__github__get_…"),
        ("mcp__git*", "mcp mcp__git…"),
        ("mcp__*", "mcp mcp__…"),
        ("mcp__", "mcp mcp____…"),
        ("mcp_github", "tool mcp_github"),
        ("MCP__github", "tool MCP__github"),
    ] {
        assert_eq!(pattern(entry), want, "{entry:?}");
    }
}

fn mcp(entry: &str) -> McpPattern {
    match ToolPattern::parse(entry) {
        ToolPattern::Mcp(pattern) => pattern,
        ToolPattern::All | ToolPattern::Tool { .. } => panic!("{entry} is not for MCP"),
    }
}

#[test]
fn mcp_patterns_match_whole_names() {
    const NAMES: [&str; 6] = [
        "mcp__git__log",
        "mcp__git__log_all",
        "mcp__github__log",
        "mcp__github__get_issue",
        "mcp__github__get_repo",
        "Read",
    ];
    for (entry, want) in [
        ("mcp__git__log", "mcp__git__log"),
        // A server is not the servers whose names begin like it.
        ("mcp__git", "mcp__git__log mcp__git__log_all"),
        ("mcp__git__*", "mcp__git__log mcp__git__log_all"),
        (
            "mcp__git*",
            "mcp__git__log mcp__git__log_all mcp__github__log mcp__github__get_issue mcp__github__get_repo",
        ),
        ("mcp__github__get_*", "mcp__github__get_issue mcp__github__get_repo"),
        (
            "mcp__*",
            "mcp__git__log mcp__git__log_all mcp__github__log mcp__github__get_issue mcp__github__get_repo",
        ),
        ("mcp__Git__log", ""),
        ("mcp__slack", ""),
    ] {
        let got: Vec<_> = NAMES.into_iter().filter(|name| mcp(entry).matches(name)).collect();
        assert_eq!(got.join(" "), want, "{entry}");
    }
}

#[test]
fn unbalanced_parentheses_are_seen() {
    for (entry, want) in [
        ("Read", false),
        ("*", false),
        ("Bash(git diff:*)", false),
        ("Bash(a(b)c)", false),
        ("Bash()", false),
        ("Bash(git", true),
        ("Bash git)", true),
        ("Bash(a))", true),
        ("Bash((a)", true),
        ("Bash(a)b", true),
        ("(a)", true),
        (")a(", true),
    ] {
        assert_eq!(ToolPattern::is_unbalanced(entry), want, "{entry}");
    }
}

// ── The table ──

#[test]
fn every_tool_is_found_by_each_of_its_names_and_no_name_means_two() {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for tool in ALL {
        for name in tool.aliases.iter().copied().chain([tool.name]) {
            assert_eq!(owners.insert(name, tool.name), None, "{name} means two tools");
            assert_eq!(find(name), Some(tool), "{name}");
            assert_eq!(pattern(name), format!("tool {}", tool.name));
        }
        assert!(!tool.purpose.is_empty());
    }
    // The ones posse promises (SPEC N4), and the names of older versions.
    for name in "Read Write Edit Bash Grep Glob NotebookEdit WebFetch WebSearch TodoWrite TaskCreate TaskGet TaskList \
                 TaskUpdate Agent SendMessage Skill TaskOutput TaskStop AskUserQuestion EnterPlanMode ExitPlanMode \
                 EnterWorktree ExitWorktree ToolSearch Task KillShell"
        .split_whitespace()
    {
        assert!(owners.contains_key(name), "{name} is missing");
    }
}

#[test]
fn the_table_knows_what_sub_agents_and_the_background_take_away() {
    let names = |keep: &dyn Fn(&ToolFacts) -> bool| {
        ALL.iter().filter(|tool| keep(tool)).map(|tool| tool.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&|tool| tool.subagents == Subagents::No), "AskUserQuestion EnterPlanMode TaskOutput");
    assert_eq!(names(&|tool| tool.subagents == Subagents::InPlanMode), "ExitPlanMode");
    assert_eq!(
        names(&|tool| tool.subagents != Subagents::No && !tool.background),
        "TaskCreate TaskGet TaskList TaskUpdate"
    );
    // What a read-only sandbox may leave in: nothing here can change a file or start a process.
    assert_eq!(
        names(&|tool| tool.read_only),
        "AskUserQuestion EnterPlanMode ExitPlanMode Glob Grep Read Skill TaskCreate TaskGet TaskList TaskOutput \
         TaskUpdate TodoWrite ToolSearch WebFetch WebSearch"
    );
}

#[test]
fn names_that_are_no_tools_are_explained() {
    for (name, want) in [
        ("LS", "retired: use Glob, or Bash with `ls`"),
        ("MultiEdit", "retired: Edit does the same"),
        ("NotebookRead", "retired: Read reads notebooks"),
        ("TodoRead", "retired: the to-do list is always in view; TodoWrite changes it"),
        ("SlashCommand", "retired: Skill runs commands"),
        ("read", "case: Read"),
        ("GLOB", "case: Glob"),
        ("webfetch", "case: WebFetch"),
        ("read_file", "foreign: Read"),
        ("edit/editFiles", "foreign: Edit"),
        ("runCommands", "foreign: Bash"),
        ("codebase", "foreign: Grep"),
        ("view", "foreign: Read"),
        ("PowerShell", "elsewhere"),
        ("Workflow", "elsewhere"),
        ("Monitor", "elsewhere"),
        ("Raed", "misspelt: Read"),
        ("Grepp", "misspelt: Grep"),
        ("WebSerach", "misspelt: WebSearch"),
        ("frobnicate", "unknown"),
        ("", "unknown"),
    ] {
        let got = match why_not_a_tool(name) {
            NotATool::Retired(instead) => format!("retired: {instead}"),
            NotATool::Case(right) => format!("case: {right}"),
            NotATool::Foreign(ours) => format!("foreign: {ours}"),
            NotATool::Elsewhere => "elsewhere".into(),
            NotATool::Misspelt(close) => format!("misspelt: {close}"),
            NotATool::Unknown => "unknown".into(),
        };
        assert_eq!(got, want, "{name}");
    }
}

// ── Capabilities ──

fn capability(tools: &str) -> Capability {
    let mut capability = Capability::everything();
    capability.retain(|tool| tools.split(' ').any(|name| name == tool.name));
    capability
}

#[test]
fn everything_is_every_tool_without_limits() {
    let everything = Capability::everything();
    assert_eq!(everything.grants.len(), ALL.len());
    assert!(everything.grants.iter().all(|grant| grant.limits.is_empty()));
    assert!(everything.admits_mcp("mcp__any__thing") && !everything.is_closed_to_mcp());
    assert_eq!(everything.spawnable(), None);
}

#[test]
fn retaining_takes_tools_away_and_leaves_the_limits_of_the_others() {
    let mut capability = capability("Agent Bash Read");
    let git = Limit { any_of: vec![Scope::Argument("git:*".into())] };
    capability.limit("Bash", git.clone());
    capability.retain(|tool| tool.name != "Agent");
    let left: Vec<_> = capability.grants.iter().map(|grant| (grant.tool.name, grant.limits.len())).collect();
    assert_eq!(left, [("Bash", 1), ("Read", 0)]);
    // A limit on what is not there gives nothing.
    capability.limit("Write", git.clone());
    assert_eq!(capability.grant("Write"), None);
    // Limits pile up: every one must hold.
    capability.limit("Bash", git);
    assert_eq!(capability.grant("Bash").unwrap().limits.len(), 2);
    // Older names are for reading files, not for asking here.
    assert_eq!(capability.grant("Task"), None);
}

#[test]
fn limits_on_agent_say_who_may_be_started() {
    let agents = |names: &str| {
        let names = names.split(' ').filter(|name| !name.is_empty());
        Scope::Agents(names.map(Into::into).collect())
    };
    // Each limit is one or more scopes, any of which suffices; all limits must hold.
    for (limits, want) in [
        (vec![], None),
        (vec![vec!["a b"]], Some("a b")),
        (vec![vec!["a", "b"]], Some("a b")),
        (vec![vec!["a b"], vec!["b c"]], Some("b")),
        (vec![vec!["a b c"], vec!["c", "b"], vec!["b"]], Some("b")),
        (vec![vec!["a"], vec!["b"]], Some("")),
        (vec![vec![""]], Some("")),
        (vec![vec![]], Some("")),
    ] {
        let mut capability = capability("Agent Bash");
        for limit in &limits {
            capability.limit("Agent", Limit { any_of: limit.iter().map(|names| agents(names)).collect() });
        }
        let got = capability.spawnable().map(|names| names.join(" "));
        assert_eq!(got.as_deref(), want, "{limits:?}");
    }
    assert_eq!(capability("Bash Read").spawnable(), Some(vec![]), "without Agent nobody can be started");
}

/// `+a b -c` is a filter that allows a and b and denies c; `-c` alone allows everything but c.
fn filter(text: &str) -> McpFilter {
    let (allow, deny) = text.split_once('-').unwrap_or((text, ""));
    let patterns = |entries: &str| entries.split_whitespace().map(mcp).collect::<Vec<_>>();
    McpFilter { allow: allow.strip_prefix('+').map(patterns), deny: patterns(deny) }
}

#[test]
fn an_mcp_tool_must_pass_every_filter() {
    const NAMES: [&str; 4] = ["mcp__a__read", "mcp__a__write", "mcp__b__read", "mcp__c__read"];
    for (filters, want, closed) in [
        (&[][..], "mcp__a__read mcp__a__write mcp__b__read mcp__c__read", false),
        (&["-mcp__a"], "mcp__b__read mcp__c__read", false),
        (&["+mcp__a mcp__b__read"], "mcp__a__read mcp__a__write mcp__b__read", false),
        (&["+mcp__a -mcp__a__write"], "mcp__a__read", false),
        (&["+mcp__a mcp__b", "+mcp__b mcp__c"], "mcp__b__read", false),
        (&["+mcp__a", "-mcp__a__write"], "mcp__a__read", false),
        (&["+mcp__a mcp__b", "-mcp__b", "-mcp__a__read"], "mcp__a__write", false),
        // Closed is what nothing can pass, whichever servers there are: empty, all denied, or nothing in common.
        (&["+"], "", true),
        (&["+mcp__a", "+"], "", true),
        (&["-mcp__*"], "", true),
        (&["+mcp__a -mcp__a"], "", true),
        (&["+mcp__a", "+mcp__b"], "", true),
        (&["+mcp__a__read", "-mcp__a"], "", true),
        // Open, though none of the names above passes: a server may have other tools.
        (&["+mcp__d"], "", false),
        (&["+mcp__a -mcp__a__read mcp__a__write"], "", false),
    ] {
        let mut capability = Capability::everything();
        capability.mcp = filters.iter().map(|text| filter(text)).collect();
        let got: Vec<_> = NAMES.into_iter().filter(|name| capability.admits_mcp(name)).collect();
        assert_eq!(got.join(" "), want, "{filters:?}");
        assert_eq!(capability.is_closed_to_mcp(), closed, "{filters:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whether something *could* pass is decided before any server is known. The oracle tries real names instead: each
    /// that is written somewhere, and below each prefix one that nobody wrote.
    #[test]
    fn what_could_pass_is_what_some_name_passes(filters in prop::collection::vec(any_filter(), 0..4), wanted in any_mcp()) {
        let mut names: Vec<String> = Vec::new();
        let written = filters.iter().flat_map(|filter| filter.allow.iter().flatten().chain(&filter.deny));
        for pattern in written.chain([&wanted]) {
            names.push(match pattern {
                McpPattern::Exact(name) => name.to_string(),
                McpPattern::Prefix(prefix) => format!("{prefix}~"),
            });
        }
        let mut capability = Capability::everything();
        capability.mcp = filters;
        let some_passes = names.iter().any(|name| wanted.matches(name) && capability.admits_mcp(name));
        prop_assert_eq!(capability.may_admit(&wanted), some_passes);
        for name in &names {
            let exact = McpPattern::Exact(name.as_str().into());
            prop_assert_eq!(capability.may_admit(&exact), capability.admits_mcp(name));
        }
    }
}

fn any_mcp() -> impl Strategy<Value = McpPattern> {
    prop::sample::select(vec![
        "mcp__*",
        "mcp__a",
        "mcp__a__*",
        "mcp__a__x",
        "mcp__a__x*",
        "mcp__a__xy",
        "mcp__b",
        "mcp__b__x",
        "mcp__a*",
        "mcp__ab",
    ])
    .prop_map(mcp)
}

fn any_filter() -> impl Strategy<Value = McpFilter> {
    let allow = prop::option::of(prop::collection::vec(any_mcp(), 0..4));
    (allow, prop::collection::vec(any_mcp(), 0..3)).prop_map(|(allow, deny)| McpFilter { allow, deny })
}
