use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::diagnostic::{Edit, Rule, Safety, Severity};
use crate::mcp::Reach;
use crate::origin::{Origin, Standing};

fn source(origin: Origin) -> Source {
    Source {
        origin,
        standing: Standing::Folder(0),
        file: Path::new("agents/file-stem.md").into(),
        root: Path::new("agents").into(),
        plugin: (origin == Origin::Plugin).then(|| "kit".into()),
    }
}

const PLUGIN: Naming<'_> = Naming::Plugin { plugin: "kit", folders: &["sub", "dir"], stem: "file-stem" };

fn parse_project(text: &str) -> (Parsed, Vec<Diagnostic>) {
    parse(text, &source(Origin::Project), Naming::Field)
}

fn parse_plugin(text: &str) -> (Parsed, Vec<Diagnostic>) {
    parse(text, &source(Origin::Plugin), PLUGIN)
}

/// A file with a name, a description and these lines; the lines begin on the fourth.
fn file(lines: &str) -> String {
    format!("---\nname: a\ndescription: d\n{lines}\n---\nbody\n")
}

#[track_caller]
fn agent(text: &str) -> AgentDefinition {
    match parse_project(text) {
        (Parsed::Agent(agent), _) => *agent,
        (other, problems) => panic!("{text:?} is {other:?}: {}", reported(&problems)),
    }
}

/// Each problem as `rule line:column`, with `+` for a safe fix and `?` for one that a person should look at.
fn reported(diagnostics: &[Diagnostic]) -> String {
    let one = |diagnostic: &Diagnostic| {
        let place = diagnostic.location.map_or("-".into(), |at| format!("{}:{}", at.line, at.column));
        let fix = match diagnostic.fix.as_ref().map(|fix| fix.safety) {
            Some(Safety::Safe) => "+",
            Some(Safety::Unsafe) => "?",
            None => "",
        };
        format!("{} {place}{fix}", diagnostic.rule.info().id)
    };
    diagnostics.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn texts(list: &ToolList) -> String {
    list.iter().map(|entry| &*entry.text).collect::<Vec<_>>().join("|")
}

/// All fields but name, description and body that are not at their default. Taken apart completely, so that a new
/// field has to be shown here, too.
fn shown(agent: &AgentDefinition) -> String {
    let AgentDefinition {
        name: _,
        description: _,
        body: _,
        tools,
        disallowed_tools,
        model,
        effort,
        permission_mode,
        color,
        max_turns,
        budget,
        background,
        initial_prompt,
        memory,
        isolation,
        hooks,
        mcp_servers,
        skills,
        required_mcp_servers,
        omit_claude_md,
        fork_context,
        critical_system_reminder,
        auto_compact_window,
        observers,
        observer_message,
        source: _,
        places: _,
    } = agent;
    let words = |words: &[Box<str>]| (!words.is_empty()).then(|| words.join("|"));
    let servers = |servers: &[McpServer]| {
        let one = |server: &McpServer| match server {
            McpServer::Named(name) => name.to_string(),
            McpServer::Inline { name, config } => match &config.reach {
                Reach::Stdio { command, args, .. } => format!("{name}={command} {}", args.join(" ")),
                Reach::Remote { transport, url, .. } => format!("{name}={transport:?} {url}"),
                Reach::Sdk { name: inner } => format!("{name}=host {inner}"),
            },
        };
        (!servers.is_empty()).then(|| servers.iter().map(one).collect::<Vec<_>>().join("|"))
    };
    let groups = |groups: &[HookGroup]| {
        let one = |group: &HookGroup| {
            let matcher = group.matcher.as_deref().unwrap_or("any");
            format!("{} {matcher} {}", group.event.name(), group.handlers.len())
        };
        (!groups.is_empty()).then(|| groups.iter().map(one).collect::<Vec<_>>().join("|"))
    };
    let fields = [
        ("tools", tools.as_ref().map(texts)),
        ("disallowedTools", (!disallowed_tools.is_empty()).then(|| texts(disallowed_tools))),
        ("model", model.name().map(str::to_owned)),
        ("effort", effort.map(|effort| effort.to_string())),
        ("permissionMode", permission_mode.map(|mode| mode.name().to_owned())),
        ("color", color.map(|color| color.name().to_owned())),
        ("maxTurns", max_turns.map(|turns| turns.to_string())),
        ("budget", (!budget.is_unlimited()).then(|| budget.to_string())),
        ("background", background.map(|yes| yes.to_string())),
        ("initialPrompt", initial_prompt.as_deref().map(str::to_owned)),
        ("memory", memory.map(|scope| scope.name().to_owned())),
        ("isolation", isolation.map(|kind| kind.name().to_owned())),
        ("hooks", groups(hooks)),
        ("mcpServers", servers(mcp_servers)),
        ("skills", words(skills)),
        ("requiredMcpServers", words(required_mcp_servers)),
        ("omitClaudeMd", omit_claude_md.then(|| "true".to_owned())),
        ("forkContext", fork_context.then(|| "true".to_owned())),
        ("criticalSystemReminder", critical_system_reminder.as_deref().map(str::to_owned)),
        ("autoCompactWindow", auto_compact_window.map(|window| window.to_string())),
        ("observer", words(observers)),
        ("observerMessage", observer_message.as_deref().map(str::to_owned)),
    ];
    let set = fields.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name}={value}")));
    set.collect::<Vec<_>>().join("; ")
}

/// Applies all safe fixes and checks what they promise: the same agent, and the problem gone.
#[track_caller]
fn check_safe_fixes(text: &str, read: impl Fn(&str) -> (Parsed, Vec<Diagnostic>)) {
    let is_safe = |d: &&Diagnostic| d.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe);
    let (before, problems) = read(text);
    let fixed: Vec<&Diagnostic> = problems.iter().filter(is_safe).collect();
    let mut edits: Vec<&Edit> =
        fixed.iter().filter_map(|d| d.fix.as_ref()).flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| edit.span.start);
    let mut mended = text.to_owned();
    for edit in edits.iter().rev() {
        mended.replace_range(edit.span.range(), &edit.text);
    }
    let (after, left) = read(&mended);
    let same = match (&before, &after) {
        (Parsed::Agent(before), Parsed::Agent(after)) => before.same_meaning(after),
        (before, after) => before == after,
    };
    assert!(same, "{text:?}\nbecame {mended:?}");
    for rule in fixed.iter().map(|diagnostic| diagnostic.rule) {
        assert!(left.iter().all(|diagnostic| diagnostic.rule != rule), "{mended:?}: {}", reported(&left));
    }
}

/// Lines of a header, what they set, what is reported.
#[track_caller]
fn check_fields(cases: &[(&str, &str, &str)]) {
    for (lines, fields, problems) in cases {
        let text = file(lines);
        let (parsed, diagnostics) = parse_project(&text);
        let Parsed::Agent(agent) = parsed else {
            panic!("{lines:?} cost the file: {}", reported(&diagnostics))
        };
        assert_eq!((&*agent.name, &*agent.description, &*agent.body), ("a", "d", "body"), "{lines:?}");
        assert_eq!(
            (shown(&agent).as_str(), reported(&diagnostics).as_str()),
            (*fields, *problems),
            "{lines:?}"
        );
        check_safe_fixes(&text, parse_project);
    }
}

#[test]
fn words_and_numbers() {
    check_fields(&[
        // model: trimmed; what is no text is unset; any text is kept as written.
        ("model: haiku", "model=haiku", ""),
        ("model: Opus", "model=Opus", ""),
        ("model: \"  sonnet[1m] \"", "model=sonnet[1m]", ""),
        ("model: claude-sonnet-4-20250514", "model=claude-sonnet-4-20250514", ""),
        ("model: inherit", "", ""),
        ("model: InHerit", "", ""),
        ("model: ''", "", ""),
        ("model:", "", ""),
        ("model: ~", "", ""),
        ("model: [opus, haiku]", "", "invalid-value 4:8"),
        ("model: 4", "", "invalid-value 4:8"),
        ("model: true", "", "invalid-value 4:8"),
        ("model: gpt-4", "model=gpt-4", "bad-model 4:8"),
        ("model: sonet", "model=sonet", "bad-model 4:8?"),
        ("model: Claude Opus 4", "model=Claude Opus 4", "bad-model 4:8?"),
        // effort: five words in any case, or a number; the old word is understood.
        ("effort: low", "effort=low", ""),
        ("effort: Medium", "effort=medium", ""),
        ("effort: HIGH", "effort=high", ""),
        ("effort: xhigh", "effort=xhigh", ""),
        ("effort: max", "effort=max", ""),
        ("effort: 7", "effort=7", ""),
        ("effort: normal", "effort=medium", "old-spelling 4:9+"),
        ("effort: \"Normal\"", "effort=medium", "old-spelling 4:9+"),
        ("effort:", "", ""),
        ("effort: 2.5", "", "invalid-value 4:9"),
        ("effort: -1", "", "invalid-value 4:9"),
        ("effort: mediun", "", "invalid-value 4:9?"),
        ("effort: insane", "", "invalid-value 4:9"),
        ("effort: true", "", "invalid-value 4:9"),
        ("effort: [high]", "", "invalid-value 4:9"),
        // permissionMode: case counts.
        ("permissionMode: default", "permissionMode=default", ""),
        ("permissionMode: acceptEdits", "permissionMode=acceptEdits", ""),
        ("permissionMode: plan", "permissionMode=plan", ""),
        ("permissionMode: dontAsk", "permissionMode=dontAsk", ""),
        ("permissionMode: bypassPermissions", "permissionMode=bypassPermissions", ""),
        ("permissionMode: auto", "permissionMode=auto", ""),
        ("permissionMode: bubble", "permissionMode=bubble", ""),
        ("permissionMode: manual", "permissionMode=default", ""),
        ("permissionMode:", "", ""),
        ("permissionMode: acceptedits", "", "invalid-value 4:17?"),
        ("permissionMode: delegate", "", "invalid-value 4:17"),
        ("permissionMode: [plan]", "", "invalid-value 4:17"),
        // color: never a reason to refuse anything.
        ("color: cyan", "color=cyan", ""),
        ("color: Purple", "", "bad-color 4:8?"),
        ("color: \"#ff8800\"", "", "bad-color 4:8"),
        ("color: teal", "", "bad-color 4:8"),
        ("color: 7", "", "bad-color 4:8"),
        ("color: [red]", "", "bad-color 4:8"),
        ("color: automatic", "", ""),
        ("color:", "", ""),
        // maxTurns: a positive whole number, or a text that begins with one.
        ("maxTurns: 5", "maxTurns=5", ""),
        ("maxTurns: '3'", "maxTurns=3", ""),
        ("maxTurns: '2.5'", "maxTurns=2", ""),
        ("maxTurns: 3 turns", "maxTurns=3", ""),
        ("maxTurns:", "", ""),
        ("maxTurns: 0", "", "invalid-value 4:11"),
        ("maxTurns: -2", "", "invalid-value 4:11"),
        ("maxTurns: 2.5", "", "invalid-value 4:11"),
        ("maxTurns: '0'", "", "invalid-value 4:11"),
        ("maxTurns: many", "", "invalid-value 4:11"),
        ("maxTurns: true", "", "invalid-value 4:11"),
        ("maxTurns: [5]", "", "invalid-value 4:11"),
        ("maxTurns: 99999999999", "", "invalid-value 4:11"),
        // budget: limits by name; one that cannot be read does not cost the others.
        (
            "budget: {tokens: 200000, usd: 0.50, seconds: 600, descendants: 4}",
            "budget=200000 tokens, $0.50, 600 seconds, 4 descendants",
            "",
        ),
        ("budget:\n  usd: 2\n  descendants: 0", "budget=$2.00, 0 descendants", ""),
        ("budget: {tokens: '5000', usd: '0.000001'}", "budget=5000 tokens, $0.000001", ""),
        ("budget:", "", ""),
        ("budget: {}", "", ""),
        ("budget: {tokens: }", "", ""),
        ("budget: 5", "", "invalid-value 4:9"),
        ("budget: [usd]", "", "invalid-value 4:9"),
        ("budget: {usd: 1, tokens: many}", "budget=$1.00", "invalid-value 4:26"),
        ("budget: {usd: -1}", "", "invalid-value 4:15"),
        ("budget: {tokens: 1.5}", "", "invalid-value 4:18"),
        ("budget: {usd: [1]}", "", "invalid-value 4:15"),
        ("budget: {token: 5}", "", "invalid-value 4:10?"),
        ("budget: {euros: 5}", "", "invalid-value 4:10"),
        ("max_budget_usd: 5", "", "unknown-field 4:1?"),
        // Booleans: YAML's, or the words in quotes.
        ("background: true", "background=true", ""),
        ("background: 'true'", "background=true", ""),
        ("background: False", "background=false", ""),
        ("background: \"false\"", "background=false", ""),
        ("background:", "", ""),
        ("background: yes", "", "invalid-value 4:13"),
        ("background: on", "", "invalid-value 4:13"),
        ("background: 1", "", "invalid-value 4:13"),
        ("background: []", "", "invalid-value 4:13"),
        ("omitClaudeMd: true", "omitClaudeMd=true", ""),
        ("omitClaudeMd: false", "", ""),
        ("omitClaudeMd:", "", ""),
        ("omitClaudeMd: maybe", "", "invalid-value 4:15"),
        ("forkContext: 'true'", "forkContext=true", ""),
        ("forkContext: ~", "", ""),
        ("forkContext: {a: b}", "", "invalid-value 4:14"),
        // memory and isolation: one of a few words.
        ("memory: user", "memory=user", ""),
        ("memory: project", "memory=project", ""),
        ("memory: local", "memory=local", ""),
        ("memory:", "", ""),
        ("memory: Project", "", "invalid-value 4:9?"),
        ("memory: true", "", "invalid-value 4:9"),
        ("isolation: worktree", "isolation=worktree", ""),
        ("isolation: remote", "isolation=remote", ""),
        ("isolation:", "", ""),
        ("isolation: container", "", "invalid-value 4:12"),
        ("isolation: worktre", "", "invalid-value 4:12?"),
        // autoCompactWindow: within its bounds.
        ("autoCompactWindow: 100000", "autoCompactWindow=100000", ""),
        ("autoCompactWindow: '1000000'", "autoCompactWindow=1000000", ""),
        ("autoCompactWindow:", "", ""),
        ("autoCompactWindow: 99999", "", "invalid-value 4:20"),
        ("autoCompactWindow: 1000001", "", "invalid-value 4:20"),
        ("autoCompactWindow: 200k", "", "invalid-value 4:20"),
    ]);
}

#[test]
fn texts_and_lists_of_names() {
    check_fields(&[
        ("initialPrompt: Go.", "initialPrompt=Go.", ""),
        ("initialPrompt: |-\n  One\n  two", "initialPrompt=One\ntwo", ""),
        ("initialPrompt:", "", ""),
        ("initialPrompt: 5", "", "invalid-value 4:16"),
        ("initialPrompt: [Go]", "", "invalid-value 4:16"),
        ("criticalSystemReminder: Never.", "criticalSystemReminder=Never.", ""),
        ("criticalSystemReminder: true", "", "invalid-value 4:25"),
        ("observerMessage: Look.", "observerMessage=Look.", ""),
        ("observerMessage: {a: b}", "", "invalid-value 4:18"),
        // Lists are lists, or text with commas or blanks; items are split again.
        ("skills: one", "skills=one", ""),
        ("skills: one, two three", "skills=one|two|three", ""),
        ("skills: [one, two]", "skills=one|two", ""),
        ("skills:\n  - one\n  - two, three", "skills=one|two|three", ""),
        ("skills: []", "", ""),
        ("skills:", "", ""),
        ("skills: [one, 2, [x]]", "skills=one", "invalid-value 4:15, invalid-value 4:18"),
        ("skills: 5", "", "invalid-value 4:9"),
        ("skills: {one: two}", "", "invalid-value 4:9"),
        ("requiredMcpServers: github, jira", "requiredMcpServers=github|jira", ""),
        ("requiredMcpServers: [github]", "requiredMcpServers=github", ""),
        ("requiredMcpServers: true", "", "invalid-value 4:21"),
        ("observer: auditor, scribe", "observer=auditor|scribe", ""),
        ("observer: [auditor]", "observer=auditor", ""),
        ("observer: 1", "", "invalid-value 4:11"),
    ]);
}

#[test]
fn hooks_and_servers() {
    check_fields(&[
        (
            "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: x",
            "hooks=PreToolUse Bash 1",
            "",
        ),
        ("hooks:", "", ""),
        ("hooks: {}", "", ""),
        // The flat form of older versions, with an explanation; the handler's neighbours stay.
        ("hooks:\n  Stop:\n    - command: x", "hooks=Stop any 1", "old-spelling 6:7"),
        ("hooks:\n  Stop:\n    - ./x.sh", "hooks=Stop any 1", "old-spelling 6:7"),
        // What is wrong costs itself, never the file.
        ("hooks: later", "", "invalid-hook 4:8"),
        ("hooks: [a]", "", "invalid-hook 4:8"),
        (
            "hooks:\n  pre_task: x\n  Stop:\n    - hooks: [{type: command, command: y}, {type: dance}]",
            "hooks=Stop any 1",
            "unknown-hook-event 5:3, invalid-hook 7:51",
        ),
        // Servers by name, of the agent's own, and both.
        ("mcpServers: [github]", "mcpServers=github", ""),
        ("mcpServers: []", "", ""),
        ("mcpServers:", "", ""),
        (
            "mcpServers:\n  - github\n  - own: {command: npx, args: [-y, srv]}\n  - far: {type: http, url: http://x}",
            "mcpServers=github|own=npx -y srv|far=Http http://x",
            "",
        ),
        // The forms of older versions.
        (
            "mcpServers:\n  - name: own\n    transport: stdio\n    command: npx",
            "mcpServers=own=npx ",
            "old-spelling 5:5",
        ),
        (
            "mcpServers:\n  - name: far\n    transport: sse\n    url: http://x",
            "mcpServers=far=Sse http://x",
            "old-spelling 5:5",
        ),
        ("mcpServers:\n  own: {command: npx}\n  github:", "mcpServers=own=npx |github", "old-spelling 5:3"),
        ("mcpServers: github, jira", "mcpServers=github|jira", ""),
        ("mcpServers: 5", "", "invalid-mcp-server 4:13"),
        (
            "mcpServers: [github, 5, {own: {args: [x]}}, {odd: {transport: pigeon}}]",
            "mcpServers=github",
            "invalid-mcp-server 4:22, invalid-mcp-server 4:31, invalid-mcp-server 4:51",
        ),
    ]);
}

#[test]
fn unknown_fields_are_ignored_with_a_suggestion() {
    check_fields(&[
        ("allowed-tools: Read", "", "unknown-field 4:1?"),
        ("max_turns: 5", "", "unknown-field 4:1?"),
        ("mcp-servers: [x]", "", "unknown-field 4:1?"),
        // Keys are case-sensitive.
        ("Model: opus", "", "unknown-field 4:1?"),
        ("emoji: x\nvibe: calm", "", "unknown-field 4:1, unknown-field 5:1"),
        ("model: opus\nmodle: haiku", "model=opus", "unknown-field 5:1?"),
    ]);
    for (written, meant) in [
        ("allowedTools", Some("tools")),
        ("allowed_tools", Some("tools")),
        ("when-to-use", Some("description")),
        ("whenToUse", Some("description")),
        ("descripton", Some("description")),
        ("maxturns", Some("maxTurns")),
        ("permission-mode", Some("permissionMode")),
        ("colour", Some("color")),
        ("mcp_servers", Some("mcpServers")),
        ("disallowed-tools", Some("disallowedTools")),
        ("background ", Some("background")),
        ("emoji", None),
        ("version", None),
        ("", None),
        ("an entire sentence that is surely no field at all", None),
    ] {
        assert_eq!(meant_by(written).map(|field| field.name), meant, "{written:?}");
    }
}

#[test]
fn tools_are_split_as_the_reference_splits_them() {
    check_fields(&[
        ("tools: Read", "tools=Read", ""),
        ("tools: Read, Grep,Glob", "tools=Read|Grep|Glob", ""),
        ("tools: Read Grep  ,, Glob", "tools=Read|Grep|Glob", ""),
        ("tools: [Read, Grep]", "tools=Read|Grep", ""),
        ("tools:\n  - Read, Grep\n  - Glob", "tools=Read|Grep|Glob", ""),
        ("tools: [Read, Read]", "tools=Read|Read", ""),
        // Inside parentheses nothing splits, and an open one swallows the rest.
        ("tools: Bash(git diff:*), Agent(a, b)", "tools=Bash(git diff:*)|Agent(a, b)", ""),
        ("tools: Bash(git, Read", "tools=Bash(git, Read", "invalid-tool-pattern 4:8"),
        ("tools: Read), Grep", "tools=Read)|Grep", "invalid-tool-pattern 4:8"),
        // Tabs, semicolons and bars do not split, and a list in quotes is no list.
        ("tools: \"Read\\tGrep\"", "tools=Read\tGrep", "unknown-tool 4:8"),
        ("tools: Read;Grep", "tools=Read;Grep", "unknown-tool 4:8"),
        ("tools: \"[Read, Write]\"", "tools=[Read|Write]", "unknown-tool 4:9?, unknown-tool 4:16?"),
        // What is no text is dropped.
        (
            "tools: [Read, 5, [Grep], ~]",
            "tools=Read",
            "invalid-tool-pattern 4:15, invalid-tool-pattern 4:18, invalid-tool-pattern 4:26",
        ),
        // Names that match nothing are kept, each with its reason and its own place.
        ("tools: Read, grep, LS", "tools=Read|grep|LS", "unknown-tool 4:14?, retired-tool 4:20"),
        ("tools: [read_file, Raed]", "tools=read_file|Raed", "unknown-tool 4:9?, unknown-tool 4:20?"),
        (
            "tools:\n  - ünknown\n  - mcp__x\n  - mcp__x__*\n  - mcp__x__y",
            "tools=ünknown|mcp__x|mcp__x__*|mcp__x__y",
            "unknown-tool 5:5",
        ),
        ("tools: 'Task, KillShell'", "tools=Task|KillShell", ""),
        // Present but empty means none, in every form.
        ("tools: []", "tools=", "no-tools 4:8"),
        ("tools: ''", "tools=", "no-tools 4:8"),
        ("tools: ' , '", "tools=", "no-tools 4:8"),
        ("tools:", "tools=", "no-tools 4:6"),
        ("tools: {Read: true}", "tools=", "invalid-value 4:8"),
        ("tools: 5", "tools=", "invalid-value 4:8"),
        ("tools: true", "tools=", "invalid-value 4:8"),
        ("disallowedTools: Write, Edit", "disallowedTools=Write|Edit", ""),
        ("disallowedTools: []", "", ""),
        ("disallowedTools:", "", ""),
        ("disallowedTools: '*'", "disallowedTools=*", "useless-entry 4:19"),
        ("disallowedTools: Bash(rm:*)", "disallowedTools=Bash(rm:*)", "useless-entry 4:18"),
        ("disallowedTools: 5", "", "invalid-value 4:18"),
    ]);
}

#[test]
fn the_listing_says_which_tools_an_agent_has() {
    for (lines, want) in [
        ("", "All tools"),
        ("tools: '*'", "All tools"),
        ("tools: [Read, '*']", "All tools"),
        ("tools: Read, Grep", "Read, Grep"),
        ("tools: [Grep, read, LS, mcp__x, 'Bash(git:*)', Task]", "Grep, read, LS, mcp__x, Bash(git:*), Task"),
        ("tools: Read, Read", "Read, Read"),
        ("tools: \"[Read, Write]\"", "[Read, Write]"),
        // Present but empty is no tools; the reference shows `All tools` there, to everybody's confusion.
        ("tools: []", "None"),
        ("tools:", "None"),
        ("tools: ''", "None"),
        ("tools: {}", "None"),
        ("tools: 5", "None"),
        ("tools: true", "None"),
        // Only equal entries are subtracted.
        ("tools: Read, Grep, Bash\ndisallowedTools: Grep, Glob", "Read, Bash"),
        ("tools: Bash(git:*), Task\ndisallowedTools: Bash, Agent", "Bash(git:*), Task"),
        ("tools: Read, Grep\ndisallowedTools: [Grep, Read]", "None"),
        ("disallowedTools: Write, Edit", "All tools except Write, Edit"),
        ("tools: '*'\ndisallowedTools: Bash", "All tools except Bash"),
        ("tools: []\ndisallowedTools: Bash", "None"),
        // Memory appends what is missing, in this order, to a list that names something.
        ("tools: Grep\nmemory: user", "Grep, Write, Edit, Read"),
        ("tools: Read, Grep\nmemory: project", "Read, Grep, Write, Edit"),
        ("memory: local\ntools: Edit, Read, Write", "Edit, Read, Write"),
        ("tools: Write(docs/**)\nmemory: user", "Write(docs/**), Write, Edit, Read"),
        ("tools: Grep\nmemory: user\ndisallowedTools: Edit", "Grep, Write, Read"),
        ("tools: Grep\nmemory: nowhere", "Grep"),
        ("tools: []\nmemory: user", "None"),
        ("tools: '*'\nmemory: user", "All tools"),
        ("memory: user", "All tools"),
        ("memory: user\ndisallowedTools: Write", "All tools except Write"),
    ] {
        assert_eq!(agent(&file(lines)).listed_tools(), want, "{lines:?}");
    }
}

#[test]
fn names() {
    // The value of `name`, the name it gives or nothing, what is reported.
    for (written, name, problems) in [
        ("reviewer", Some("reviewer"), ""),
        ("Code Reviewer", Some("Code Reviewer"), ""),
        ("prüfer-😀", Some("prüfer-😀"), ""),
        ("yes", Some("yes"), ""),
        ("2024-01-31", Some("2024-01-31"), ""),
        ("\"12\"", Some("12"), ""),
        // These load, but not everywhere, or nobody can type them.
        ("a:b", Some("a:b"), "unusual-name 2:7"),
        ("a (b)", Some("a (b)"), "unusual-name 2:7"),
        ("a,b", Some("a,b"), "unusual-name 2:7"),
        ("../a", Some("../a"), "unusual-name 2:7"),
        ("\" a\"", Some(" a"), "unusual-name 2:7"),
        ("\" \"", Some(" "), "unusual-name 2:7"),
        ("\"a\\nb\"", Some("a\nb"), "unusual-name 2:7"),
        // These do not.
        ("\"-a\"", None, "invalid-name 2:7"),
        ("-a", None, "invalid-name 2:7"),
        ("12", None, "invalid-name 2:7?"),
        ("1.10", None, "invalid-name 2:7?"),
        ("true", None, "invalid-name 2:7?"),
        ("[a, b]", None, "invalid-name 2:7"),
        ("{a: b}", None, "invalid-name 2:7"),
        ("\"\"", None, "missing-name 2:7"),
        ("", None, "missing-name 2:5"),
        ("~", None, "missing-name 2:7"),
        ("null", None, "missing-name 2:7"),
    ] {
        let (parsed, diagnostics) = parse_project(&format!("---\nname: {written}\ndescription: d\n---\n"));
        let got = match &parsed {
            Parsed::Agent(agent) => Some(&*agent.name),
            Parsed::Document | Parsed::Failed => None,
        };
        assert_eq!((got, reported(&diagnostics).as_str()), (name, problems), "{written:?}");
        assert!(name.is_some() || parsed == Parsed::Failed, "{written:?}");
    }
    // No name at all: the fix takes the file's, below the opening line whatever that looks like.
    let (parsed, diagnostics) = parse_project("--- \r\ndescription: d\r\n---\r\n");
    assert_eq!((parsed, reported(&diagnostics).as_str()), (Parsed::Failed, "missing-name 2:1?"));
    assert_eq!(diagnostics[0].fix.as_ref().unwrap().edits[0].text, "name: \"file-stem\"\n");
}

#[test]
fn descriptions() {
    for (written, description, problems) in [
        ("When in doubt.", Some("When in doubt."), ""),
        ("\" \"", Some(" "), ""),
        ("yes", Some("yes"), ""),
        // The two characters `\n` are a line break, however they are quoted; nothing else is unescaped.
        ("one\\ntwo\\tthree", Some("one\ntwo\\tthree"), ""),
        ("'one\\ntwo'", Some("one\ntwo"), ""),
        ("\"one\\ntwo\"", Some("one\ntwo"), ""),
        ("\"one\\\\ntwo\"", Some("one\ntwo"), ""),
        ("one\\n\\nUse: two", Some("one\n\nUse: two"), "unquoted-colon 3:24+"),
        // Nothing is trimmed: a block keeps its final line break.
        ("|\n  one\n  two", Some("one\ntwo\n"), ""),
        (">-\n  one\n  two", Some("one two"), ""),
        // What YAML cuts off is said.
        ("see #123 for more", Some("see"), "text-lost 3:18"),
        ("one\n  two # three", Some("one two"), "text-lost 4:7"),
        ("'see' # really", Some("see"), ""),
        ("123", None, "invalid-description 3:14"),
        ("true", None, "invalid-description 3:14"),
        ("[a]", None, "invalid-description 3:14"),
        ("{a: b}", None, "invalid-description 3:14"),
        ("\"\"", None, "missing-description 3:14"),
        ("", None, "missing-description 3:12"),
        ("null", None, "missing-description 3:14"),
    ] {
        let text = format!("---\nname: a\ndescription: {written}\n---\n");
        let (parsed, diagnostics) = parse_project(&text);
        let got = match &parsed {
            Parsed::Agent(agent) => Some(&*agent.description),
            Parsed::Document | Parsed::Failed => None,
        };
        assert_eq!((got, reported(&diagnostics).as_str()), (description, problems), "{written:?}");
        check_safe_fixes(&text, parse_project);
    }
    let (parsed, diagnostics) = parse_project("---\nname: a\n---\n");
    assert_eq!((parsed, reported(&diagnostics).as_str()), (Parsed::Failed, "missing-description 2:1"));
    let (_, diagnostics) = parse_project("---\nmodel: opus\n---\n");
    assert_eq!(reported(&diagnostics), "missing-name 2:1?, missing-description 2:1");
}

#[test]
fn agents_documents_and_failures() {
    for (text, kind, problems) in [
        ("---\nname: a\ndescription: d\n---\nbody", "agent", ""),
        ("---\nname: a\ndescription: d\n---", "agent", ""),
        // Documentation: nothing that an agent has.
        ("", "document", "no-frontmatter -"),
        ("# Agents\n\nThis folder holds …\n", "document", "no-frontmatter -"),
        ("---\ntitle: Notes\ndate: 2024-01-31\n---\ntext", "document", "no-frontmatter -"),
        ("---\n- a\n---\ntext", "document", "no-frontmatter -"),
        // Meant as an agent.
        ("---\nmodel: opus\n---\n", "failed", "missing-name 2:1?, missing-description 2:1"),
        ("\n---\nname: a\ndescription: d\n---\n", "failed", "frontmatter-not-first 2:1?"),
        ("---\nname: a\ndescription: d\n", "failed", "unclosed-frontmatter 1:1"),
        ("---\nmodel: a: b\n\tc\n---\n", "failed", "yaml-syntax 2:9"),
    ] {
        let (parsed, diagnostics) = parse_project(text);
        let got = match parsed {
            Parsed::Agent(_) => "agent",
            Parsed::Document => "document",
            Parsed::Failed => "failed",
        };
        assert_eq!((got, reported(&diagnostics).as_str()), (kind, problems), "{text:?}");
        // Whoever is refused is told so by an error; documentation is not bothered.
        let worst = diagnostics.iter().map(|diagnostic| diagnostic.severity).max();
        assert_eq!(got == "failed", worst == Some(Severity::Error), "{text:?}");
        assert!(got != "document" || worst == Some(Severity::Note), "{text:?}");
    }
}

#[test]
fn the_body_is_trimmed_and_otherwise_left_alone() {
    for (after_header, body) in [
        (
            "\n\n  You review.\r\n\r\n- all ${CLAUDE_PLUGIN_ROOT}\n\t\n",
            "You review.\r\n\r\n- all ${CLAUDE_PLUGIN_ROOT}",
        ),
        ("", ""),
        (" \n \u{a0}\u{feff}\u{2028}\n", ""),
        ("\n\u{feff}x\u{feff}y\u{feff}", "x\u{feff}y"),
        (" x\ny", "x\ny"),
        ("-\nx", "-\nx"),
        ("\n---\nname: b\n---\n", "---\nname: b\n---"),
    ] {
        let text = format!("---\nname: a\ndescription: d\n---{after_header}");
        assert_eq!(&*agent(&text).body, body, "{after_header:?}");
    }
}

#[test]
fn places_are_kept_for_later_reports() {
    let text = "---\nname: ü\ndescription: d\ntools: [Read,\n  Grep]\nmodel: opus\n---\nbody";
    let agent = agent(text);
    let at = |id| agent.location(id).map(|at| (at.line, at.column, at.end_line, at.end_column));
    assert_eq!(at(FieldId::Name), Some((2, 7, 2, 8)));
    assert_eq!(at(FieldId::Tools), Some((4, 8, 5, 8)));
    assert_eq!(at(FieldId::Model), Some((6, 8, 6, 12)));
    assert_eq!(at(FieldId::Color), None);
    assert_eq!(agent.places.key(FieldId::Model).map(|span| &text[span.range()]), Some("model"));
    assert_eq!(agent.places.tools(), agent.places.value(FieldId::Tools));
    // The entries of a list have places of their own, and those of a quoted text, too.
    let entries = |text: &str| -> Vec<String> {
        let list = self::agent(text).tools.unwrap_or_default();
        list.iter().map(|entry| text[entry.span.range()].to_owned()).collect()
    };
    assert_eq!(entries(text), ["Read", "Grep"]);
    assert_eq!(entries(&file("tools: Read, Bash(a, b)")), ["Read", "Bash(a, b)"]);
    assert_eq!(entries(&file("tools: \"é, Grep\"")), ["é", "Grep"]);
    // Escapes move everything; then the whole text is the place.
    assert_eq!(entries(&file("tools: \"\\u00e9, Grep\"")), ["\"\\u00e9, Grep\""; 2]);
    // A report made long after reading still shows the line.
    let problem = Problem::at(Rule::EmptyPool, agent.places.tools().unwrap(), "nothing left");
    let diagnostic = agent.report(problem);
    assert_eq!(
        (diagnostic.excerpt.as_deref(), diagnostic.location.unwrap().line),
        (Some("tools: [Read,"), 4)
    );
    assert_eq!(&*diagnostic.file, Path::new("agents/file-stem.md"));
}

#[test]
fn every_file_of_a_plugin_is_an_agent() {
    // Text, name and description, what is reported.
    let cases: &[(&str, &str, &str, &str)] = &[
        ("---\nname: a\ndescription: d\n---\nbody", "kit:sub:dir:a", "d", ""),
        // The name as JavaScript would print it; what is falsy there is the file's.
        ("---\nname: 12\ndescription: d\n---\n", "kit:sub:dir:12", "d", ""),
        ("---\nname: true\ndescription: d\n---\n", "kit:sub:dir:true", "d", ""),
        ("---\nname: [a, b]\ndescription: d\n---\n", "kit:sub:dir:a,b", "d", ""),
        ("---\nname: -a\ndescription: d\n---\n", "kit:sub:dir:-a", "d", ""),
        ("---\nname: a b:c\ndescription: d\n---\n", "kit:sub:dir:a b:c", "d", ""),
        ("---\nname: false\ndescription: d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\nname: 0\ndescription: d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\nname: 0.0\ndescription: d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\nname: ''\ndescription: d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\nname:\ndescription: d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\nname: []\ndescription: d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\ndescription: d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        // The description: any scalar, trimmed, `\n` not converted; else the older field; else a sentence.
        ("---\ndescription: 123\n---\n", "kit:sub:dir:file-stem", "123", ""),
        ("---\ndescription: true\n---\n", "kit:sub:dir:file-stem", "true", ""),
        ("---\ndescription: \"  d  \"\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\ndescription: |\n  d\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\ndescription: one\\ntwo\n---\n", "kit:sub:dir:file-stem", "one\\ntwo", ""),
        ("---\nwhen-to-use: often\n---\n", "kit:sub:dir:file-stem", "often", "old-spelling 2:1+"),
        ("---\nwhen_to_use: often\n---\n", "kit:sub:dir:file-stem", "often", "old-spelling 2:1+"),
        // Beside a description that cannot be used, renaming would let their order decide.
        (
            "---\nwhen-to-use: often\ndescription: [x]\n---\n",
            "kit:sub:dir:file-stem",
            "often",
            "old-spelling 2:1",
        ),
        (
            "---\nwhen-to-use: often\ndescription:\n---\n",
            "kit:sub:dir:file-stem",
            "often",
            "old-spelling 2:1",
        ),
        ("---\ndescription: d\nwhen-to-use: often\n---\n", "kit:sub:dir:file-stem", "d", ""),
        ("---\nname: a\n---\n", "kit:sub:dir:a", "Agent from kit plugin", "missing-description -"),
        (
            "---\ndescription: ' '\n---\n",
            "kit:sub:dir:file-stem",
            "Agent from kit plugin",
            "missing-description -",
        ),
        // No header, a broken one, a late one: an agent with defaults, and a word about it.
        (
            "# Read me\n",
            "kit:sub:dir:file-stem",
            "Agent from kit plugin",
            "no-frontmatter -, missing-description -",
        ),
        ("", "kit:sub:dir:file-stem", "Agent from kit plugin", "no-frontmatter -, missing-description -"),
        (
            "---\nmodel: a: b\n\tc\n---\nbody",
            "kit:sub:dir:file-stem",
            "Agent from kit plugin",
            "yaml-syntax 2:9, missing-description -",
        ),
        (
            "\n---\nname: a\ndescription: d\n---\nbody",
            "kit:sub:dir:file-stem",
            "Agent from kit plugin",
            "frontmatter-not-first 2:1?, missing-description -",
        ),
        // What plugins may not set, and what they may.
        (
            "---\nname: a\ndescription: d\npermissionMode: plan\nhooks: {}\nmcpServers: [x]\nmodel: opus\n---\n",
            "kit:sub:dir:a",
            "d",
            "plugin-field-ignored 4:1, plugin-field-ignored 5:1, plugin-field-ignored 6:1",
        ),
        ("---\nname: a\ndescription: d\nallowed-tools: x\n---\n", "kit:sub:dir:a", "d", "unknown-field 4:1?"),
    ];
    for (text, name, description, problems) in cases {
        let (parsed, diagnostics) = parse_plugin(text);
        let Parsed::Agent(agent) = parsed else { panic!("{text:?}: {}", reported(&diagnostics)) };
        assert_eq!((&*agent.name, &*agent.description), (*name, *description), "{text:?}");
        assert_eq!(reported(&diagnostics), *problems, "{text:?}");
        assert!(agent.permission_mode.is_none() && agent.hooks.is_empty() && agent.mcp_servers.is_empty());
        // The agent loads, so nothing here is an error.
        assert!(diagnostics.iter().all(|d| d.severity < Severity::Error), "{text:?}");
        check_safe_fixes(text, parse_plugin);
    }
    let (parsed, _) =
        parse("", &source(Origin::Plugin), Naming::Plugin { plugin: "kit", folders: &[], stem: "x" });
    assert!(matches!(parsed, Parsed::Agent(agent) if &*agent.name == "kit:x"));
    // The prompt is what follows the header, or the whole file if there is none.
    for (text, body) in [("# Read me\n", "# Read me"), ("---\nmodel: a: b\n\tc\n---\nbody", "body")] {
        let (parsed, _) = parse_plugin(text);
        assert!(matches!(&parsed, Parsed::Agent(agent) if &*agent.body == body), "{parsed:?}");
    }
}

/// The agents as `name: fields`, then who failed; each problem with its place.
fn read_json(text: &str) -> String {
    let source = source(Origin::Flag);
    let JsonAgents { agents, failed, diagnostics } = match parse_json_agents(text, &source) {
        Ok(agents) => agents,
        Err(problems) => return format!("refused: {}", reported(&problems)),
    };
    let agents = agents.iter().map(|agent| {
        let fields = shown(agent);
        let gap = if fields.is_empty() { "" } else { " " };
        format!("{} ({}, {}){gap}{fields}", agent.name, agent.description, agent.body)
    });
    let failed = failed.iter().map(|(name, problems)| format!("FAILED {name}: {}", reported(problems)));
    let noted = (!diagnostics.is_empty()).then(|| reported(&diagnostics));
    agents.chain(failed).chain(noted).collect::<Vec<_>>().join("\n")
}

#[test]
fn agents_in_json() {
    for (text, want) in [
        ("{}", ""),
        (r#"{"a": {"description": "d", "prompt": "p"}}"#, "a (d, p)"),
        (r#"{"a": {"description": "d", "prompt": ""}}"#, "a (d, )"),
        // The same fields as in a file, under any name; `name` itself is the key.
        (
            r#"{"x:y": {"description": "d", "prompt": " p\n", "name": "z", "model": "opus", "maxTurns": 3,
                "tools": ["Read"], "background": true, "criticalSystemReminder_EXPERIMENTAL": "Stop."}}"#,
            "x:y (d, p) tools=Read; model=opus; maxTurns=3; background=true; criticalSystemReminder=Stop.",
        ),
        // Unknown keys and any colour are accepted, with a word.
        (
            r#"{"a": {"description": "d", "prompt": "p", "emoji": "x", "color": "teal"}}"#,
            "a (d, p)\nunknown-field 1:43, bad-color 1:66",
        ),
        ("{\"a\": {\"description\": \"d\", \"prompt\": \"p\",},}", "a (d, p)\njson-comment 1:41"),
        // Everything else is an error, and all errors of all agents are listed.
        (
            "{\"a\": {\"description\": \"\", \"maxTurns\": 0},\n \"b\": {\"prompt\": 5, \"memory\": \"x\", \"tools\": [\"Read\", 1]},\n \"c\": {\"description\": \"d\", \"prompt\": \"p\"}}",
            "c (d, p)\n\
             FAILED a: invalid-value 1:39, invalid-definition 1:23, invalid-definition 1:2\n\
             FAILED b: invalid-value 2:31, invalid-tool-pattern 2:54, invalid-definition 2:2, invalid-definition 2:18",
        ),
        (r#"{"-a": {"description": "d", "prompt": "p"}}"#, "FAILED -a: invalid-definition 1:2"),
        (r#"{"": {"description": "d", "prompt": "p"}}"#, "FAILED : invalid-definition 1:2"),
        (
            r#"{"a": "text", "b": null}"#,
            "FAILED a: invalid-definition 1:7\nFAILED b: invalid-definition 1:20",
        ),
        (
            r#"{"a": {"description": "d", "prompt": "p", "hooks": {"Dance": []}}}"#,
            "FAILED a: unknown-hook-event 1:53",
        ),
        (
            r#"{"a": {"description": "d", "prompt": "p", "hooks": {"Stop": [{"hooks": [{"type": "x"}]}]}}}"#,
            "FAILED a: invalid-hook 1:82",
        ),
        (
            r#"{"a": {"description": "d", "prompt": "p", "mcpServers": [{"s": {}}]}}"#,
            "FAILED a: invalid-mcp-server 1:64",
        ),
        (
            r#"{"a": {"description": "d", "prompt": "p", "background": "yes"}}"#,
            "FAILED a: invalid-value 1:57",
        ),
        (r#"{"a": {"description": "d", "prompt": "p", "isolation": "vm"}}"#, "FAILED a: invalid-value 1:56"),
        (r#"{"a": {"description": ["d"], "prompt": "p"}}"#, "FAILED a: invalid-definition 1:23"),
        // Not agents at all.
        ("[]", "FAILED agents: invalid-definition 1:1"),
        ("\"a\"", "FAILED agents: invalid-definition 1:1"),
        ("", "refused: json-syntax -"),
        ("{", "refused: json-syntax 1:1"),
        ("agents.json", "refused: json-syntax 1:1"),
    ] {
        assert_eq!(read_json(text), want, "{text}");
    }
}

#[test]
fn problems_in_json_name_the_agent_and_offer_no_edits() {
    let text = r#"{"fixer": {"description": 5, "prompt": "p", "maxTurns": 0, "memory": "projekt"}}"#;
    let read = parse_json_agents(text, &source(Origin::Flag)).unwrap();
    let (name, problems) = &read.failed[0];
    assert_eq!((&**name, problems.len()), ("fixer", 3));
    for problem in problems {
        assert!(problem.text.starts_with("fixer"), "{}", problem.text);
        assert!(problem.severity == Severity::Error && problem.fix.is_none(), "{problem:?}");
    }
    // Places are in the text the agents came in.
    let text = r#"{"ü": {"description": "d", "prompt": "p", "model": "opus"}}"#;
    let read = parse_json_agents(text, &source(Origin::Flag)).unwrap();
    let at = read.agents[0].location(FieldId::Model).unwrap();
    assert_eq!((at.line, at.column), (1, 52));
}

#[test]
fn the_table_of_fields_is_in_order_and_complete() {
    for (index, field) in FIELDS.iter().enumerate() {
        // `row` indexes by the number of the variant.
        assert_eq!(field.id as usize, index, "{}", field.name);
        assert_eq!(field_row(field.id).name, field.name);
        assert_eq!(find_field(field.name).map(|found| found.id), Some(field.id));
        assert_eq!(vocabulary(field.name), Some(field.shape));
        for text in [field.name, field.takes, field.does, field.default, field.example] {
            assert!(!text.is_empty() && text.trim() == text, "{}: {text:?}", field.name);
        }
        for other in field.mistaken_for {
            assert!(find_field(other).is_none(), "{other} is a field of its own");
            assert_eq!(meant_by(other).map(|meant| meant.id), Some(field.id), "{other}");
        }
    }
    assert_eq!(find_field("Name").map(|field| field.name), None);
    let ignored: Vec<_> = FIELDS.iter().filter(|field| !field.in_plugins).map(|field| field.name).collect();
    assert_eq!(ignored, ["permissionMode", "hooks", "mcpServers"]);
}

#[test]
fn every_example_can_be_pasted() {
    for field in FIELDS {
        let (key, _) = field.example.split_once(": ").unwrap();
        assert_eq!(key, field.name);
        let lines = match field.id {
            FieldId::Name => format!("{}\ndescription: d", field.example),
            FieldId::Description => format!("name: a\n{}", field.example),
            _ => format!("name: a\ndescription: d\n{}", field.example),
        };
        let (parsed, diagnostics) = parse_project(&format!("---\n{lines}\n---\nbody\n"));
        let Parsed::Agent(agent) = parsed else { panic!("{}", field.example) };
        assert_eq!(reported(&diagnostics), "", "{}", field.example);
        assert!(agent.places.value(field.id).is_some(), "{}", field.example);
        // It really sets something: with it the agent is another than without.
        let plain = self::agent("---\nname: a\ndescription: d\n---\nbody\n");
        assert!(!agent.same_meaning(&plain), "{}", field.example);
    }
}

#[test]
fn the_same_agent_in_other_words() {
    let hooks = "hooks: {Stop: [{hooks: [{type: mcp_tool, server: s, tool: t, input: {a: [1]}}]}]}";
    let moved = "hooks:\n  Stop:\n  - hooks:\n    - {type: mcp_tool, server: s, tool: t, input: {a: [1]}}";
    for (one, other) in [
        ("model: opus", "# a comment\nmodel:   \"opus\""),
        ("tools: Read, Grep", "tools:\n  - Read\n  - Grep"),
        ("color: red\nmodel: opus", "model: opus\ncolor: red"),
        ("background: true", "background: 'true'"),
        ("emoji: x", "vibe: y"),
        (hooks, moved),
    ] {
        let (one, other) = (agent(&file(one)), agent(&file(other)));
        assert!(one.same_meaning(&other) && other.same_meaning(&one));
        assert_ne!(one.places, other.places);
    }
    let text = file("tools: Read\nmodel: opus");
    assert!(agent(&text).same_meaning(&agent(&text.replace('\n', "\r\n"))));
    for (one, other) in [
        ("model: opus", "model: Opus"),
        ("tools: Read, Grep", "tools: Grep, Read"),
        ("tools: []", ""),
        ("skills: a", "skills: b"),
        (hooks, &hooks.replace("[1]", "[2]")),
    ] {
        assert!(!agent(&file(one)).same_meaning(&agent(&file(other))), "{one} {other}");
    }
    let text = file("");
    assert!(!agent(&text).same_meaning(&agent(&text.replace("body", "other"))));
    assert!(!agent(&text).same_meaning(&agent(&text.replace("name: a", "name: b"))));
    assert!(!agent(&text).same_meaning(&agent(&text.replace("description: d", "description: e"))));
}

#[test]
fn an_agent_that_needed_everything_mended_is_still_that_agent() {
    // One file with a little of all that people get wrong; its values are what the author plainly meant.
    let text = "\u{feff}---\r\nname: \"reviewer\r\ndescription: Use after: changes.\r\n\r\nExamples:\r\n<example>\r\n\
        user: \"hi\"\r\n</example>\r\ntools:\r\n\t- Read\r\n\t- *\r\nmodel:opus\r\neffort: normal\r\n---\r\nYou review.\r\n";
    let (parsed, diagnostics) = parse_project(text);
    let Parsed::Agent(agent) = parsed else { panic!("{}", reported(&diagnostics)) };
    assert_eq!(&*agent.name, "reviewer");
    assert_eq!(&*agent.description, "Use after: changes.\n\nExamples:\n<example>\nuser: \"hi\"\n</example>");
    assert_eq!(
        (shown(&agent).as_str(), &*agent.body),
        ("tools=Read|*; model=opus; effort=medium", "You review.")
    );
    assert_eq!(
        reported(&diagnostics),
        "byte-order-mark 1:1+, unclosed-quote 2:7+, unindented-text 5:1+, field-repaired 10:2+, \
         field-repaired 12:7+, old-spelling 13:9+"
    );
    check_safe_fixes(text, parse_project);
}

/// Fields as they are and as nobody would write them.
const LINES: &[&str] = &[
    "name: a",
    "name: [a, {b: c}]",
    "name: 0x0",
    "name: \"-\\u0000\"",
    "description: d",
    "description: Use: d",
    "description: \\n",
    "description: d # lost",
    "tools: Read, (, ), grep",
    "tools: [a, [b], {c: d}, ~, \"*\"]",
    "tools: \"\\u00e9, \\t(\"",
    "tools: é, 😀(ä, ö",
    "disallowedTools: *",
    "model: ' 😀 '",
    "effort: 1e99",
    "effort: normal",
    "permissionMode: Plan",
    "color: '#é'",
    "maxTurns: +99999999999999999999",
    "maxTurns: '+++3é'",
    "background: yes",
    "memory: {a: b}",
    "isolation: [worktree]",
    "hooks: {Stop: [x, {matcher: [], hooks: 5}, {hooks: [~, {timeout: -1, command: x}]}], Dance: 1}",
    "hooks:\n  Stop:\n  - command: x\n    timeout: .inf",
    "mcpServers: [{name: x}, {name: {url: y}}, [], {a: {type: sse, url: 5}}]",
    "skills: [[[]], 5]",
    "autoCompactWindow: -.inf",
    "when-to-use: w",
    "unknown 😀: {a: [b]}",
    "<<: {model: opus, name: merged}",
    "x: &x [1]\nskills: *x",
    "\tbroken",
    "text at the margin: é: 😀",
    "\"open",
    "---",
    "",
];

fn check_harmless(text: &str) -> Result<(), TestCaseError> {
    let (parsed, diagnostics) = parse_project(text);
    if let Parsed::Agent(agent) = &parsed {
        prop_assert!(!agent.name.is_empty() && !agent.name.starts_with('-') && !agent.description.is_empty());
        for (_, key, value) in &agent.places.fields {
            prop_assert!(agent.places.text.get(key.range()).is_some(), "{:?}", text);
            prop_assert!(agent.places.text.get(value.range()).is_some(), "{:?}", text);
        }
        prop_assert!(agent.same_meaning(agent));
        agent.listed_tools();
    }
    // Nothing is silent: what is not an agent says why.
    prop_assert!(matches!(parsed, Parsed::Agent(_)) || !diagnostics.is_empty(), "{:?}", text);
    for diagnostic in &diagnostics {
        for edit in diagnostic.fix.iter().flat_map(|fix| &fix.edits) {
            prop_assert!(text.get(edit.span.range()).is_some(), "{:?} in {:?}", diagnostic, text);
        }
    }
    let (parsed, _) = parse_plugin(text);
    let Parsed::Agent(agent) = parsed else {
        return Err(TestCaseError::fail(format!("{text:?} is no agent")));
    };
    prop_assert!(
        agent.name.starts_with("kit:sub:dir:") && agent.name.len() > 12 && !agent.description.is_empty()
    );
    prop_assert!(agent.hooks.is_empty() && agent.mcp_servers.is_empty() && agent.permission_mode.is_none());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_too_odd_to_be_read(text in any::<String>(), value in any::<String>(), field in 0..FIELDS.len()) {
        check_harmless(&text)?;
        check_harmless(&file(&format!("{}: {value}", FIELDS[field].name)))?;
    }

    #[test]
    fn no_header_is_too_odd_to_be_read(
        picks in proptest::collection::vec(0..LINES.len(), 0..10),
        line_break in prop_oneof![3 => Just("\n"), 1 => Just("\r\n")],
    ) {
        let lines: Vec<_> = picks.iter().map(|pick| LINES[*pick]).collect();
        check_harmless(&format!("---\n{}\n---\nbody", lines.join("\n")).replace('\n', line_break))?;
    }

    #[test]
    fn no_json_is_too_odd_to_be_read(text in any::<String>(), value in "[\\[\\]{}\":,0-9a-z -]{0,30}", field in 0..FIELDS.len()) {
        let source = source(Origin::Flag);
        // An answer of either kind, and never an agent that was not asked for by name.
        if let Err(problems) = parse_json_agents(&text, &source) {
            prop_assert!(!problems.is_empty());
        }
        let text = format!(r#"{{"a": {{"description": "d", "prompt": "p", "{}": {value}}}}}"#, FIELDS[field].name);
        match parse_json_agents(&text, &source) {
            Ok(read) => prop_assert_eq!(read.agents.len() + read.failed.len(), 1, "{}", text),
            Err(problems) => prop_assert!(!problems.is_empty(), "{}", text),
        }
    }
}
