use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::definition::{self, EffortLevel, Naming, Parsed};
use crate::origin::Standing;
use crate::permission::Behavior;
use crate::settings::Layer;
use crate::tools::{ALL, Grant, Limit, McpFilter, Scope};

// ── What every test here starts from ──

/// Who starts an agent, how, and under which policy.
#[derive(Clone)]
struct Scene {
    parent: Parent,
    call: Call,
    policy: Policy,
}

/// A main agent with a few tools, so that expected texts stay short. Without `Agent` it could start nobody.
fn main_with(tools: &str) -> Scene {
    let mut capability = Capability::everything();
    capability.retain(|tool| tools.split_whitespace().any(|name| name == tool.name));
    assert_eq!(capability.grants.len(), tools.split_whitespace().count(), "a misspelt tool in {tools}");
    let parent = Parent {
        name: "main".into(),
        capability,
        approval: Approval::of(Mode::Default),
        model: "main-model".into(),
        effort: None,
        depth: 0,
    };
    Scene {
        parent,
        call: Call::default(),
        policy: Policy { max_depth: DEFAULT_MAX_DEPTH, ..Policy::default() },
    }
}

/// A way to make something else of a thing.
type Change<'a, T> = Box<dyn Fn(&mut T) + 'a>;

impl Scene {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The same scene one level down: another agent is the parent now.
    fn below(self, fields: &str) -> Self {
        let parent = self.resolve(&named("middle", fields)).unwrap().as_parent();
        Self { parent, ..self }
    }

    fn resolve(&self, agent: &AgentDefinition) -> Result<AgentSpec, ResolveError> {
        resolve(agent, &self.parent, &self.call, &self.policy)
    }
}

fn set_in(layer: Layer, file: &str) -> SetIn {
    SetIn { layer, file: Path::new(file).into() }
}

fn deny(rules: &[&str]) -> Vec<PermissionRule> {
    let by = set_in(Layer::User, "settings.json");
    let rule = |text: &&str| PermissionRule {
        behavior: Behavior::Deny,
        text: (*text).into(),
        pattern: ToolPattern::parse(text),
        by: by.clone(),
        location: None,
    };
    rules.iter().map(rule).collect()
}

/// An agent called `x` with these lines in its header, the first of them in line 4.
fn agent(fields: &str) -> AgentDefinition {
    named("x", fields)
}

fn named(name: &str, fields: &str) -> AgentDefinition {
    agent_of(Origin::Project, name, fields)
}

fn agent_of(origin: Origin, name: &str, fields: &str) -> AgentDefinition {
    let source = Source {
        origin,
        standing: Standing::Folder(1),
        file: Path::new("x.md").into(),
        root: Path::new("").into(),
        plugin: None,
    };
    let text = format!("---\nname: {name}\ndescription: d\n{fields}\n---\nBody.");
    match definition::parse(&text, &source, Naming::Field) {
        (Parsed::Agent(agent), _) => *agent,
        other => panic!("the example is no agent: {other:?}\n{text}"),
    }
}

// ── The pool, step by step ──

/// The steps one line each, then what is left; or the refusal.
fn story(scene: &Scene, fields: &str) -> String {
    match scene.resolve(&agent(fields)) {
        Err(error) => format!("refused: {error}"),
        Ok(spec) => {
            let lines = spec.pool.steps.iter().map(step).chain([format!("= {}", left(&spec.pool))]);
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

#[track_caller]
fn check(scene: &Scene, fields: &str, want: &str) {
    let want = want.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n");
    assert_eq!(story(scene, fields), want, "\n--- of\n{fields}");
}

/// Only what is left: for tables.
#[track_caller]
fn check_left(scene: &Scene, fields: &str, want: &str) {
    let story = story(scene, fields);
    let last = story.lines().last().unwrap_or_default();
    assert_eq!(last.strip_prefix("= ").unwrap_or(last), want, "\n--- of\n{fields}\n---\n{story}");
}

fn step(step: &Step) -> String {
    let at = |at: &Location| format!("{}:{}", at.line, at.column);
    let verb = match step.verb {
        Verb::Kept => "kept",
        Verb::Limited => "limited",
        Verb::Added => "added",
        Verb::Removed => "removed",
        Verb::Ignored => "ignored",
    };
    let why = match &step.why {
        Why::Inherited => "inherited".into(),
        Why::Listed { entry, at: place } => format!("`{entry}` at {}", at(place)),
        Why::NotListed => "not listed".into(),
        Why::Disallowed { entry, at: place } => format!("disallowed by `{entry}` at {}", at(place)),
        Why::Memory => "memory".into(),
        Why::OwnServer => "own server".into(),
        Why::MainAgentOnly => "main agent only".into(),
        Why::PlanModeOnly => "plan mode only".into(),
        Why::DepthLimit(limit) => format!("depth limit {limit}"),
        Why::Background => "background".into(),
        Why::NotInParent(parent) => format!("{parent} does not have it"),
        Why::DenyRule { rule, by } => format!("denied by `{rule}` in {}", by.file.display()),
        Why::NoSuchTool { at: place } => format!("no such tool at {}", at(place)),
    };
    format!("{} {verb}: {why}", step.subject)
}

fn left(pool: &Pool) -> String {
    let capability = &pool.capability;
    let mut parts: Vec<String> = capability.grants.iter().map(grant).collect();
    if parts.is_empty() {
        parts.push("nothing".into());
    }
    parts.push(match capability.mcp.as_slice() {
        _ if capability.is_closed_to_mcp() => "- no mcp".into(),
        [] => "- all mcp".into(),
        [..] => "- some mcp".into(),
    });
    parts.extend(pool.own_servers.iter().map(|server| format!("+ {server}")));
    parts.join(" ")
}

fn grant(grant: &Grant) -> String {
    let scope = |scope: &Scope| match scope {
        Scope::Agents(agents) => agents.join("/"),
        Scope::Argument(argument) => argument.to_string(),
        Scope::MemoryFolder(agent) => format!("memory of {agent}"),
    };
    let limit =
        |limit: &Limit| format!("({})", limit.any_of.iter().map(scope).collect::<Vec<_>>().join(" or "));
    format!("{}{}", grant.tool.name, grant.limits.iter().map(limit).collect::<Vec<_>>().join("&"))
}

#[test]
fn without_a_list_an_agent_has_what_its_parent_has_but_for_what_sub_agents_never_get() {
    let main = main_with("Agent AskUserQuestion Bash EnterPlanMode ExitPlanMode Read TaskOutput");
    let want = "
        AskUserQuestion removed: main agent only
        EnterPlanMode removed: main agent only
        ExitPlanMode removed: plan mode only
        TaskOutput removed: main agent only
        Agent kept: inherited
        Bash kept: inherited
        Read kept: inherited
        = Agent Bash Read - all mcp";
    check(&main, "", want);
    // `*` anywhere in a list is no list.
    check(&main, "tools: '*'", want);
    check(&main, "tools: Read, *, NoSuchTool", want);
    check(&main, "tools: ['*']", want);
}

#[test]
fn an_empty_list_is_no_tools() {
    let main = main_with("Agent Bash Read");
    let want = "
        Agent removed: not listed
        Bash removed: not listed
        Read removed: not listed
        = nothing - no mcp";
    for fields in ["tools: []", "tools: ''", "tools:", "tools: 5", "tools: {a: b}"] {
        check(&main, fields, want);
    }
}

#[test]
fn a_list_keeps_what_it_names_and_says_what_came_of_every_entry() {
    check(
        &main_with("Agent Bash Read TaskStop Write"),
        "tools: [Read, Task, KillShell, read, MultiEdit, Glob, NoSuch(x)]",
        "
        Agent kept: `Task` at 4:15
        Read kept: `Read` at 4:9
        TaskStop kept: `KillShell` at 4:21
        Bash removed: not listed
        Write removed: not listed
        read ignored: no such tool at 4:32
        MultiEdit ignored: no such tool at 4:38
        Glob ignored: main does not have it
        NoSuch(x) ignored: no such tool at 4:55
        = Agent Read TaskStop - no mcp",
    );
    // What a step before took away is not reported a second time.
    check(
        &main_with("Agent AskUserQuestion Read"),
        "tools: AskUserQuestion, Read",
        "
        AskUserQuestion removed: main agent only
        Read kept: `Read` at 4:25
        Agent removed: not listed
        = Read - no mcp",
    );
}

#[test]
fn the_denylist_comes_before_the_list() {
    let main = main_with("Agent Bash Edit Read");
    check(
        &main,
        "disallowedTools: Bash, Task, *, NoSuch, Grep",
        "
        Bash removed: disallowed by `Bash` at 4:18
        Agent removed: disallowed by `Task` at 4:24
        * ignored: disallowed by `*` at 4:30
        NoSuch ignored: no such tool at 4:33
        Edit kept: inherited
        Read kept: inherited
        = Edit Read - all mcp",
    );
    check(
        &main,
        "tools: Bash, Read\ndisallowedTools: Bash",
        "
        Bash removed: disallowed by `Bash` at 5:18
        Read kept: `Read` at 4:14
        Agent removed: not listed
        Edit removed: not listed
        = Read - no mcp",
    );
    // Half a denial would look like a whole one: a scope takes the tool away altogether.
    check_left(&main, "disallowedTools: Bash(rm:*)", "Agent Edit Read - all mcp");
    check_left(&main, "disallowedTools: Agent(a)", "Bash Edit Read - all mcp");
    check_left(&main, "tools: Bash(git:*), Read\ndisallowedTools: Bash(rm:*)", "Read - no mcp");
}

#[test]
fn scopes_really_limit() {
    let main = main_with("Agent Bash Read Write");
    check(
        &main,
        "tools: Bash(git diff:*), Read(src/**), Bash(git log:*), Write(*)",
        "
        Bash limited: `Bash(git diff:*), Bash(git log:*)` at 4:8
        Read limited: `Read(src/**)` at 4:26
        Write kept: `Write(*)` at 4:57
        Agent removed: not listed
        = Bash(git diff:* or git log:*) Read(src/**) Write - no mcp",
    );
    for (fields, want) in [
        // The bare name beside a scope: the author asked for the whole tool.
        ("tools: Bash(git:*), Bash", "Bash - no mcp"),
        ("tools: Agent(a, b)", "Agent(a/b) - no mcp"),
        ("tools: Task(a), Agent(b)", "Agent(a or b) - no mcp"),
        ("tools: Agent(*)", "Agent - no mcp"),
        ("tools: Agent()", "Agent - no mcp"),
        ("tools: [\"Agent(,)\"]", "Agent() - no mcp"),
    ] {
        check_left(&main, fields, want);
    }
    // A parent's limits go on to hold; the child's come on top, and leaving the list out does not shed them.
    let below = main.below("tools: Agent(x, y), Bash(git:*), Read(src/**)");
    check_left(&below, "", "Agent(x/y) Bash(git:*) Read(src/**) - no mcp");
    check_left(&below, "tools: Bash", "Bash(git:*) - no mcp");
    check_left(&below, "tools: '*'", "Agent(x/y) Bash(git:*) Read(src/**) - no mcp");
    check_left(
        &below,
        "tools: Agent(y, z), Bash(git diff:*), Read(docs/**)",
        "Agent(x/y)&(y/z) Bash(git:*)&(git diff:*) Read(src/**)&(docs/**) - no mcp",
    );
}

#[test]
fn memory_adds_file_tools_to_a_list_and_keeps_them_to_the_memory_folder() {
    let main = main_with("Agent Bash Edit Read Write");
    check(
        &main,
        "tools: Bash\nmemory: project",
        "
        Bash kept: `Bash` at 4:8
        Edit added: memory
        Read added: memory
        Write added: memory
        Agent removed: not listed
        = Bash Edit(memory of x) Read Write(memory of x) - no mcp",
    );
    for (fields, want) in [
        // Also to an empty list.
        ("tools: []\nmemory: user", "Edit(memory of x) Read Write(memory of x) - no mcp"),
        // What the list has already stays as the list has it.
        ("tools: Write, Read(src/**)\nmemory: local", "Edit(memory of x) Read(src/**) Write - no mcp"),
        // The denylist beats memory.
        ("tools: Bash\nmemory: project\ndisallowedTools: Write, Edit(a)", "Bash Read - no mcp"),
        // Nothing to add where nothing was left out.
        ("memory: project", "Agent Bash Edit Read Write - all mcp"),
        ("tools: '*'\nmemory: project", "Agent Bash Edit Read Write - all mcp"),
        // A memory that is none.
        ("tools: Bash\nmemory: global", "Bash - no mcp"),
    ] {
        check_left(&main, fields, want);
    }
    // Only what the parent has can be added, and under the parent's limits.
    check_left(&main_with("Agent Bash Read"), "tools: Bash\nmemory: project", "Bash Read - no mcp");
    let below = main.clone().below("tools: Agent, Read(src/**), Write(docs/**)");
    check_left(&below, "tools: []\nmemory: user", "Read(src/**) Write(docs/**)&(memory of x) - no mcp");
    let off = main.with(|scene| scene.policy.memory_off = Some(SetBy::Default));
    check_left(&off, "tools: Bash\nmemory: project", "Bash - no mcp");
}

#[test]
fn the_background_takes_the_tools_that_need_the_foreground() {
    let main = main_with("Agent Bash TaskCreate TaskGet TaskList TaskStop TaskUpdate");
    let want = "
        TaskCreate removed: background
        TaskGet removed: background
        TaskList removed: background
        TaskUpdate removed: background
        Agent kept: inherited
        Bash kept: inherited
        TaskStop kept: inherited
        = Agent Bash TaskStop - all mcp";
    check(&main, "background: true", want);
    check(&main.clone().with(|scene| scene.call.background = Some(true)), "", want);
    let disabled = main.with(|scene| scene.policy.background_disabled = true);
    check_left(
        &disabled,
        "background: true",
        "Agent Bash TaskCreate TaskGet TaskList TaskStop TaskUpdate - all mcp",
    );
}

#[test]
fn exit_plan_mode_is_for_those_who_plan() {
    let main = main_with("Agent ExitPlanMode Read");
    check_left(&main, "permissionMode: plan", "Agent ExitPlanMode Read - all mcp");
    check_left(&main, "permissionMode: plan\nbackground: true", "Agent ExitPlanMode Read - all mcp");
    check_left(&main, "permissionMode: plan\ntools: Read", "Read - no mcp");
    check_left(&main, "permissionMode: acceptEdits\ntools: Read, ExitPlanMode", "Read - no mcp");
    // It is the mode the agent ends up in that counts, whoever wants it.
    let planning = main.clone().with(|scene| scene.parent.approval = Approval::of(Mode::Plan));
    check_left(&planning, "permissionMode: acceptEdits", "Agent ExitPlanMode Read - all mcp");
    check_left(
        &main.with(|scene| scene.call.mode = Some(Mode::Plan)),
        "",
        "Agent ExitPlanMode Read - all mcp",
    );
}

#[test]
fn at_the_depth_limit_agents_cannot_start_others() {
    for (max_depth, want) in [(1, [false, false, false]), (2, [true, false, false]), (3, [true, true, false])]
    {
        let mut scene = main_with("Agent Read").with(|scene| scene.policy.max_depth = max_depth);
        for (depth, agent_stays) in (1..).zip(want) {
            let Ok(spec) = scene.resolve(&agent("")) else {
                assert!(depth > max_depth, "depth {depth} of {max_depth} cannot be reached");
                break;
            };
            assert_eq!(spec.depth, depth);
            assert_eq!(spec.pool.capability.grant("Agent").is_some(), agent_stays, "{depth} of {max_depth}");
            scene.parent = spec.as_parent();
        }
    }
    check(
        &main_with("Agent Read").with(|scene| scene.policy.max_depth = 1),
        "tools: Agent, Read",
        "
        Agent removed: depth limit 1
        Read kept: `Read` at 4:15
        = Read - no mcp",
    );
}

#[test]
fn mcp_tools_are_judged_by_name_when_they_appear() {
    const NAMES: [&str; 4] =
        ["mcp__github__create_issue", "mcp__github__get_issue", "mcp__git__log", "mcp__slack__post"];
    let admitted = |scene: &Scene, fields: &str| {
        let spec = scene.resolve(&agent(fields)).unwrap();
        let names = NAMES.into_iter().filter(|name| spec.pool.capability.admits_mcp(name));
        names.map(|name| name.trim_start_matches("mcp__")).collect::<Vec<_>>().join(" ")
    };
    let main = main_with("Agent Bash Read");
    let all = "github__create_issue github__get_issue git__log slack__post";
    for (fields, want) in [
        ("", all),
        ("tools: Read, *", all),
        ("tools: Read", ""),
        ("tools: []\nmemory: user", ""),
        ("tools: Read, mcp__github", "github__create_issue github__get_issue"),
        ("tools: mcp__github__*", "github__create_issue github__get_issue"),
        ("tools: mcp__github__get_issue, mcp__git", "github__get_issue git__log"),
        ("tools: mcp__*", all),
        ("disallowedTools: mcp__github", "git__log slack__post"),
        ("disallowedTools: mcp__github__*", "git__log slack__post"),
        ("disallowedTools: mcp__github__create_issue, mcp__slack", "github__get_issue git__log"),
        ("disallowedTools: mcp__*", ""),
        ("disallowedTools: '*'", all),
        // A denial with an argument takes the whole tool, as it does for other tools.
        ("disallowedTools: mcp__slack__post(channel:x)", "github__create_issue github__get_issue git__log"),
        ("tools: mcp__github, Read\ndisallowedTools: mcp__github__create_issue", "github__get_issue"),
    ] {
        assert_eq!(admitted(&main, fields), want, "{fields}");
    }
    let below =
        main.below("tools: Agent, Read, mcp__github, mcp__git\ndisallowedTools: mcp__github__create_issue");
    for (fields, want) in [
        ("", "github__get_issue git__log"),
        ("tools: mcp__github", "github__get_issue"),
        ("tools: Read, mcp__*", "github__get_issue git__log"),
        ("disallowedTools: mcp__git", "github__get_issue"),
        ("tools: Read, mcp__slack", ""),
    ] {
        assert_eq!(admitted(&below, fields), want, "below: {fields}");
    }
}

#[test]
fn mcp_entries_that_come_to_nothing_are_reported() {
    let main = main_with("Agent Read");
    check(
        &main,
        "tools: Read, mcp__a, mcp__b__x\ndisallowedTools: mcp__b",
        "
        mcp__b removed: disallowed by `mcp__b` at 5:18
        Read kept: `Read` at 4:8
        Agent removed: not listed
        mcp__a kept: `mcp__a` at 4:14
        = Read - some mcp",
    );
    let below = main.below("tools: Agent, Read, mcp__a__x");
    check(
        &below,
        "tools: Read, mcp__a, mcp__a__y, mcp__b",
        "
        Read kept: `Read` at 4:8
        Agent removed: not listed
        mcp__a kept: `mcp__a` at 4:14
        mcp__a__y ignored: middle does not have it
        mcp__b ignored: middle does not have it
        = Read - some mcp",
    );
}

#[test]
fn an_agents_own_servers_come_on_top_of_everything() {
    let main = main_with("Agent Read");
    check(
        &main,
        "tools: Read\nmcpServers: [github, {notes: {command: npx}}]",
        "
        Read kept: `Read` at 4:8
        Agent removed: not listed
        mcp__github__* added: own server
        mcp__notes__* added: own server
        = Read - no mcp + github + notes",
    );
    // They are its own: agents that it starts do not have them.
    let below = main_with("Agent Read").below("tools: Agent, Read\nmcpServers: [github]");
    check_left(&below, "", "Agent Read - no mcp");
    // A rule that takes a server away takes it away here too: no detour around a limit.
    for rule in ["mcp__github", "mcp__github__*", "mcp__*", "mcp__git*"] {
        let denied = main.clone().with(|scene| scene.policy.deny = deny(&[rule]));
        check(
            &denied,
            "tools: Read\nmcpServers: [github, notes]",
            &format!(
                "
                Read kept: `Read` at 4:8
                Agent removed: not listed
                mcp__github__* removed: denied by `{rule}` in settings.json
                {}",
                if rule == "mcp__*" {
                    "mcp__notes__* removed: denied by `mcp__*` in settings.json\n= Read - no mcp"
                } else {
                    "mcp__notes__* added: own server\n= Read - no mcp + notes"
                }
            ),
        );
    }
    // One tool of it denied: the server stays, the rule is applied at the call.
    let denied = main.with(|scene| scene.policy.deny = deny(&["mcp__github__delete"]));
    check_left(&denied, "tools: Read\nmcpServers: [github]", "Read - no mcp + github");
}

#[test]
fn a_list_that_comes_to_nothing_is_refused_with_every_entry_in_its_group() {
    let main = main_with("Agent AskUserQuestion Bash Read");
    let closed = main_with("Agent Bash Read").below("tools: Agent, Bash, Read");
    let none = "refused: agent `x` would be started without a single tool:";
    for (scene, fields, want) in [
        (&main, "tools: Frob, read", "not a tool: Frob, read"),
        (&main, "tools: AskUserQuestion, Glob(x)", "not available to it here: AskUserQuestion, Glob(x)"),
        (&closed, "tools: mcp__a, mcp__b__c", "matched no tool: mcp__a, mcp__b__c"),
        (
            &closed,
            "tools: mcp__a, Glob, Frob, Grep, Nix",
            "not a tool: Frob, Nix; not available to it here: Glob, Grep; matched no tool: mcp__a",
        ),
        // A denylist that took nothing away is no excuse.
        (&main, "tools: Frob\ndisallowedTools: Bash", "not a tool: Frob"),
    ] {
        check(scene, fields, &format!("{none} {want}"));
    }
    // Nothing in common with what the parent has, or with what the policy leaves: no tool could ever match.
    let only_a = main_with("Agent Read").below("tools: Agent, Read, mcp__a");
    check(&only_a, "tools: mcp__b", &format!("{none} matched no tool: mcp__b"));
    let deny_all = main_with("Agent Read").with(|scene| {
        scene.policy.deny = deny(&["mcp__*"]);
        scene.parent.capability = session_pool(&scene.policy).capability;
    });
    check(&deny_all, "tools: mcp__b", &format!("{none} matched no tool: mcp__b"));
    check(&deny_all, "tools: mcp__b\nmcpServers: [b]", &format!("{none} matched no tool: mcp__b"));
}

#[test]
fn an_agent_without_tools_is_not_refused_if_that_is_what_was_written() {
    let main = main_with("Agent AskUserQuestion Bash Read");
    for (fields, want) in [
        // Empty on purpose.
        ("tools: []", "nothing - no mcp"),
        // Emptied by its own denylist.
        ("tools: Bash\ndisallowedTools: Bash", "nothing - no mcp"),
        ("tools: Bash, Frob\ndisallowedTools: Bash(rm:*)", "nothing - no mcp"),
        ("tools: mcp__a\ndisallowedTools: mcp__a", "nothing - no mcp"),
        ("tools: mcp__a__x\ndisallowedTools: mcp__*", "nothing - no mcp"),
        ("disallowedTools: Agent, Bash, Read", "nothing - all mcp"),
        // Not empty at all: a server may yet bring the tools, its own server will, memory does.
        ("tools: mcp__a", "nothing - some mcp"),
        ("tools: Frob\nmcpServers: [a]", "nothing - no mcp + a"),
        ("tools: Frob\nmemory: user", "Read - no mcp"),
        ("tools: Frob, *", "Agent Bash Read - all mcp"),
    ] {
        check_left(&main, fields, want);
    }
}

// ── The session ──

#[test]
fn the_session_has_everything_but_what_bare_deny_rules_take() {
    let pool = |rules: &[&str]| session_pool(&Policy { deny: deny(rules), ..Policy::default() });
    let gone = |pool: &Pool| {
        let gone = ALL.iter().filter(|tool| pool.capability.grant(tool.name).is_none());
        gone.map(|tool| tool.name).collect::<Vec<_>>().join(" ")
    };
    for (rules, want) in [
        (&[][..], ""),
        (&["Bash", "Task"], "Agent Bash"),
        (&["Bash(*)", "Agent(*)"], "Agent Bash"),
        // A `*` in a name stands for anything.
        (&["Web*"], "WebFetch WebSearch"),
        (&["*Plan*"], "EnterPlanMode ExitPlanMode"),
        (&["*Write", "E*Worktree"], "EnterWorktree ExitWorktree TodoWrite Write"),
        (&["Kill*"], "TaskStop"),
        // Judged at the call, where the argument is known.
        (&["Bash(rm:*)", "Agent(x)", "Read(.env)", "mcp__a__b(c:d)"], ""),
        (&["bash", "NoSuch", "Web*(x)"], ""),
    ] {
        let pool = pool(rules);
        assert_eq!(gone(&pool), want, "{rules:?}");
        assert!(pool.capability.admits_mcp("mcp__a__b"), "{rules:?}");
        assert_eq!(pool.steps.len(), want.split_whitespace().count(), "every removal is said: {rules:?}");
    }
    let steps = |rules: &[&str]| pool(rules).steps.iter().map(step).collect::<Vec<_>>().join("\n");
    assert_eq!(
        steps(&["Task", "mcp__a"]),
        "Agent removed: denied by `Task` in settings.json\nmcp__a removed: denied by `mcp__a` in settings.json"
    );
    for (rules, want) in [
        (&["mcp__a"][..], "mcp__b__x"),
        (&["mcp__a__*", "mcp__b__y"], "mcp__b__x"),
        (&["mcp__*"], ""),
        // Everything means the tools of servers as well.
        (&["*"], ""),
    ] {
        let capability = pool(rules).capability;
        let names = ["mcp__a__x", "mcp__a__y", "mcp__b__x"].into_iter().filter(|n| capability.admits_mcp(n));
        assert_eq!(names.collect::<Vec<_>>().join(" "), want, "{rules:?}");
    }
    assert_eq!(gone(&pool(&["*"])).split(' ').count(), ALL.len());
}

// ── Who may be started ──

#[test]
fn deny_rules_hide_agents_by_their_exact_name() {
    for (rule, want) in [
        ("Agent(x)", Some("agent `x` is denied by the rule `Agent(x)` in settings.json")),
        ("Task(x)", Some("agent `x` is denied by the rule `Task(x)` in settings.json")),
        ("Agent( x )", Some("agent `x` is denied by the rule `Agent( x )` in settings.json")),
        ("Agent(X)", None),
        ("Agent(x*)", None),
        ("Agent(x, y)", None),
        ("Agent(y)", None),
        ("Bash(x)", None),
        ("x", None),
    ] {
        let scene = main_with("Agent Bash").with(|scene| scene.policy.deny = deny(&[rule]));
        let got = scene.resolve(&agent("")).err().map(|error| error.to_string());
        assert_eq!(got.as_deref(), want, "{rule}");
        assert_eq!(denied("x", &scene.policy).is_some(), want.is_some(), "{rule}");
    }
}

#[test]
fn a_parent_starts_only_whom_it_may() {
    let may_not = |allowed: &str| format!("agent `middle` may not start `x`: it may start {allowed}");
    for (fields, want) in [
        ("", None),
        ("tools: Agent", None),
        ("tools: Agent(x)", None),
        ("tools: Agent(y, x)", None),
        ("tools: Task(y), Agent(x)", None),
        ("tools: Agent(y, z)", Some(may_not("y, z"))),
        ("tools: Agent(X)", Some(may_not("X"))),
        ("tools: [\"Agent(,)\"]", Some(may_not("none"))),
        ("tools: Bash", Some(may_not("none"))),
        ("disallowedTools: Agent", Some(may_not("none"))),
        ("disallowedTools: Agent(y)", Some(may_not("none"))),
    ] {
        let scene = main_with("Agent Bash").below(fields);
        let got = scene.resolve(&agent("")).err().map(|error| error.to_string());
        assert_eq!(got, want, "{fields}");
    }
    // A rule is the stronger reason: it is the one to tell.
    let both = main_with("Bash").with(|scene| scene.policy.deny = deny(&["Agent(x)"]));
    assert!(matches!(both.resolve(&agent("")), Err(ResolveError::Denied { .. })));
}

// ── Single values and who set them ──

fn sourced<T>(value: &Sourced<T>, show: impl FnOnce(&T) -> String) -> String {
    let note = value.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    format!("{} by {}{note}", show(&value.value), who(&value.by))
}

fn who(by: &SetBy) -> String {
    match by {
        SetBy::Distrust => "distrust".into(),
        SetBy::Default => "default".into(),
        SetBy::Parent(name) => name.to_string(),
        SetBy::Definition(Some(at)) => format!("definition {}:{}", at.line, at.column),
        SetBy::Definition(None) => "definition".into(),
        SetBy::Call => "call".into(),
        SetBy::Environment(name) => (*name).into(),
        SetBy::Settings(set) => format!("{} settings", set.layer.word()),
    }
}

#[test]
fn the_model_is_the_environments_then_the_calls_then_the_definitions_then_the_parents() {
    for (environment, call, fields, want) in [
        (Some("opus"), Some("haiku"), "model: sonnet", "opus by CLAUDE_CODE_SUBAGENT_MODEL"),
        (None, Some("haiku"), "model: sonnet", "haiku by call"),
        (None, None, "model: sonnet", "sonnet by definition 4:8"),
        (None, None, "", "main-model by main"),
        (None, None, "model: inherit", "main-model by main"),
        (None, None, "model: ' Inherit '", "main-model by main"),
        (None, None, "model: ''", "main-model by main"),
        (None, None, "model: [a]", "main-model by main"),
        (None, Some("inherit"), "model: sonnet", "main-model by main"),
        // Names are sent as written.
        (None, None, "model: Some-Vendor/Model:7", "Some-Vendor/Model:7 by definition 4:8"),
        (None, None, "model: Sonnet", "Sonnet by definition 4:8"),
    ] {
        let scene = main_with("Agent").with(|scene| {
            scene.policy.subagent_model = environment.map(Into::into);
            scene.call.model = call.map(Into::into);
        });
        let spec = scene.resolve(&agent(fields)).unwrap();
        assert_eq!(sourced(&spec.model, ToString::to_string), want, "{environment:?} {call:?} {fields}");
    }
}

#[test]
fn the_environment_pins_what_an_alias_stands_for() {
    let scene = main_with("Agent").with(|scene| {
        scene.policy.model_names.family_ids = [Some("tiny-1".into()), None, Some("big-1".into()), None];
    });
    for (model, want) in [
        ("haiku", "tiny-1 by definition 4:8"),
        ("Opus", "big-1 by definition 4:8"),
        ("sonnet", "sonnet by definition 4:8"),
        ("claude-haiku-9", "claude-haiku-9 by definition 4:8"),
    ] {
        let spec = scene.resolve(&agent(&format!("model: {model}"))).unwrap();
        assert_eq!(sourced(&spec.model, ToString::to_string), want, "{model}");
    }
    let called = scene.with(|scene| scene.call.model = Some("haiku".into()));
    let spec = called.resolve(&agent("model: opus")).unwrap();
    assert_eq!(sourced(&spec.model, ToString::to_string), "tiny-1 by call");
}

#[test]
fn a_model_that_is_not_available_is_replaced_by_the_newest_of_its_family() {
    let not = |name: &str| format!("(`{name}` is not among the available models of managed.json)");
    for (available, pinned, model, want) in [
        ("sonnet opus", "", "sonnet", "sonnet by definition 4:8".into()),
        ("Sonnet", "", "sonnet", "sonnet by definition 4:8".into()),
        ("claude-sonnet-4-5", "", "claude-sonnet-4-5", "claude-sonnet-4-5 by definition 4:8".into()),
        // The alias is fine if what it stands for is.
        ("claude-sonnet-4-5", "claude-sonnet-4-5", "sonnet", "claude-sonnet-4-5 by definition 4:8".into()),
        (
            "claude-sonnet-4-5",
            "",
            "sonnet",
            format!("claude-sonnet-4-5 by managed settings {}", not("sonnet")),
        ),
        // The newest: by version, not by spelling; dates only decide between equals.
        (
            "claude-sonnet-4-5 claude-sonnet-4-10 claude-opus-9",
            "",
            "sonnet",
            format!("claude-sonnet-4-10 by managed settings {}", not("sonnet")),
        ),
        (
            "claude-opus-4-1-20250805 claude-opus-4-20250514",
            "",
            "opus",
            format!("claude-opus-4-1-20250805 by managed settings {}", not("opus")),
        ),
        (
            "claude-3-5-haiku-20241022 claude-3-haiku-20240307 claude-3-5-haiku-20240620",
            "",
            "haiku",
            format!("claude-3-5-haiku-20241022 by managed settings {}", not("haiku")),
        ),
        // A bare alias stands for the newest there is, and for what the environment pins it to.
        ("claude-sonnet-9 Sonnet", "", "sonnet-4", format!("Sonnet by managed settings {}", not("sonnet-4"))),
        (
            "sonnet",
            "pinned-7",
            "claude-sonnet-3",
            format!("pinned-7 by managed settings {}", not("claude-sonnet-3")),
        ),
        // No relative: the parent's.
        ("claude-opus-9", "", "haiku", format!("main-model by main {}", not("haiku"))),
        ("claude-opus-9", "", "gpt-5", format!("main-model by main {}", not("gpt-5"))),
        ("", "", "opus", format!("main-model by main {}", not("opus"))),
        ("claude-opus-9", "", "inherit", "main-model by main".into()),
    ] {
        let scene = main_with("Agent").with(|scene| {
            let models = available.split_whitespace().map(Into::into).collect();
            let by = set_in(Layer::Managed, "managed.json");
            scene.policy.available_models = Some(Set { value: models, by });
            let pin = (!pinned.is_empty()).then(|| pinned.into());
            scene.policy.model_names.family_ids = [None, pin, None, None];
        });
        let spec = scene.resolve(&agent(&format!("model: {model}"))).unwrap();
        assert_eq!(sourced(&spec.model, ToString::to_string), want, "{model} of {available}");
    }
    // The limit holds for the environment and for the call as well.
    for change in [
        (|scene: &mut Scene| scene.policy.subagent_model = Some("opus".into())) as fn(&mut Scene),
        |scene: &mut Scene| scene.call.model = Some("opus".into()),
    ] {
        let scene = main_with("Agent").with(change).with(|scene| {
            let by = set_in(Layer::Managed, "managed.json");
            scene.policy.available_models = Some(Set { value: vec!["haiku".into()], by });
        });
        let spec = scene.resolve(&agent("")).unwrap();
        assert_eq!(sourced(&spec.model, ToString::to_string), format!("main-model by main {}", not("opus")));
    }
}

#[test]
fn effort_is_the_calls_then_the_definitions_then_the_parents() {
    let low = Effort::Level(EffortLevel::Low);
    for (call, fields, parent, want) in [
        (Some(low), "effort: max", None, Some("low by call")),
        (None, "effort: XHigh", Some(low), Some("xhigh by definition 4:9")),
        (None, "effort: 7", Some(low), Some("7 by definition 4:9")),
        (None, "effort: normal", None, Some("medium by definition 4:9")),
        (None, "effort: lots", Some(low), Some("low by main")),
        (None, "", Some(low), Some("low by main")),
        (None, "", None, None),
    ] {
        let scene = main_with("Agent").with(|scene| {
            scene.call.effort = call;
            scene.parent.effort = parent;
        });
        let spec = scene.resolve(&agent(fields)).unwrap();
        let got = spec.effort.as_ref().map(|effort| sourced(effort, ToString::to_string));
        assert_eq!(got.as_deref(), want, "{call:?} {fields}");
        assert_eq!(spec.as_parent().effort, spec.effort.map(|effort| effort.value));
    }
}

fn approval_of(scene: &Scene, fields: &str) -> String {
    let quiet = |approval: &Approval| if approval.may_ask { "" } else { ", never asks" };
    let spec = scene.resolve(&agent(fields)).unwrap();
    sourced(&spec.approval, |approval| format!("{}{}", approval.mode.name(), quiet(approval)))
}

#[test]
fn a_childs_mode_is_its_definitions_unless_the_parents_is_narrower() {
    use Mode::{AcceptEdits, Auto, BypassPermissions, Default, DontAsk, Plan};
    let wider =
        |mode: &str| format!("(`{mode}` was wanted; a child's mode is never wider than its parent's)");
    for (parent, fields, want) in [
        (Default, "", "default by main".into()),
        (AcceptEdits, "", "acceptEdits by main".into()),
        (DontAsk, "", "dontAsk, never asks by main".into()),
        (Default, "permissionMode: plan", "plan by definition 4:17".into()),
        (Default, "permissionMode: bubble", "bubble by definition 4:17".into()),
        (Default, "permissionMode: manual", "default by definition 4:17".into()),
        (Default, "permissionMode: dontAsk", "dontAsk, never asks by definition 4:17".into()),
        (Default, "permissionMode: AcceptEdits", "default by main".into()),
        (Default, "permissionMode: acceptEdits", format!("default by main {}", wider("acceptEdits"))),
        (AcceptEdits, "permissionMode: auto", format!("acceptEdits by main {}", wider("auto"))),
        (Plan, "permissionMode: bypassPermissions", format!("plan by main {}", wider("bypassPermissions"))),
        (Auto, "permissionMode: acceptEdits", "acceptEdits by definition 4:17".into()),
        (
            BypassPermissions,
            "permissionMode: bypassPermissions",
            "bypassPermissions by definition 4:17".into(),
        ),
        (BypassPermissions, "permissionMode: default", "default by definition 4:17".into()),
        (DontAsk, "permissionMode: default", format!("dontAsk, never asks by main {}", wider("default"))),
        (DontAsk, "permissionMode: plan", "plan, never asks by definition 4:17".into()),
    ] {
        let scene = main_with("Agent").with(|scene| scene.parent.approval = Approval::of(parent));
        assert_eq!(approval_of(&scene, fields), want, "{parent:?} {fields}");
    }
}

#[test]
fn a_call_may_choose_a_mode_within_the_definitions() {
    use Mode::{AcceptEdits, BypassPermissions, Default, Plan};
    let definitions =
        |mode: &str| format!("(`{mode}` was wanted; a call never widens what the definition says)");
    let wider =
        |mode: &str| format!("(`{mode}` was wanted; a child's mode is never wider than its parent's)");
    for (parent, call, fields, want) in [
        (Default, Plan, "", "plan by call".into()),
        (AcceptEdits, Plan, "permissionMode: acceptEdits", "plan by call".into()),
        (AcceptEdits, Default, "permissionMode: acceptEdits", "default by call".into()),
        (Default, AcceptEdits, "", format!("default by main {}", wider("acceptEdits"))),
        (
            AcceptEdits,
            AcceptEdits,
            "permissionMode: plan",
            format!("plan by definition 4:17 {}", definitions("acceptEdits")),
        ),
        (
            Default,
            Default,
            "permissionMode: plan",
            format!("plan by definition 4:17 {}", definitions("default")),
        ),
        (
            Default,
            BypassPermissions,
            "permissionMode: dontAsk",
            format!("dontAsk, never asks by definition 4:17 {}", definitions("bypassPermissions")),
        ),
    ] {
        let scene = main_with("Agent").with(|scene| {
            scene.parent.approval = Approval::of(parent);
            scene.call.mode = Some(call);
        });
        assert_eq!(approval_of(&scene, fields), want, "{parent:?} {call:?} {fields}");
    }
}

#[test]
fn bypass_that_is_switched_off_is_not_given_and_lifts_nothing_else() {
    use Mode::{AcceptEdits, BypassPermissions};
    let off = "(bypassPermissions is switched off by managed.json)";
    for (call, fields, want) in [
        (None, "permissionMode: bypassPermissions", format!("acceptEdits by main {off}")),
        (Some(BypassPermissions), "", format!("acceptEdits by main {off}")),
        (Some(BypassPermissions), "permissionMode: bypassPermissions", format!("acceptEdits by main {off}")),
        // The call's wish is void; the definition still holds.
        (Some(BypassPermissions), "permissionMode: plan", format!("plan by definition 4:17 {off}")),
        (Some(BypassPermissions), "permissionMode: auto", format!("acceptEdits by main {off}")),
        (None, "permissionMode: plan", "plan by definition 4:17".into()),
        (None, "", "acceptEdits by main".into()),
    ] {
        let scene = main_with("Agent").with(|scene| {
            scene.parent.approval = Approval::of(AcceptEdits);
            scene.policy.bypass_disabled = Some(set_in(Layer::Managed, "managed.json"));
            scene.call.mode = call;
        });
        assert_eq!(approval_of(&scene, fields), want, "{call:?} {fields}");
    }
}

#[test]
fn memory_isolation_turns_and_background_say_who_set_them() {
    let turns = NonZeroU32::new(5);
    let plain = |_: &mut Scene| {};
    let worktree = |scene: &mut Scene| scene.call.isolation = Some(Isolation::Worktree);
    let five = move |scene: &mut Scene| scene.call.max_turns = turns;
    let ten_tokens = |scene: &mut Scene| scene.call.budget.tokens = Some(10);
    let memory_off = |scene: &mut Scene| scene.policy.memory_off = Some(SetBy::Default);
    let no_background = |scene: &mut Scene| scene.policy.background_disabled = true;
    let called = |wanted: bool| move |scene: &mut Scene| scene.call.background = Some(wanted);
    let vetoed = "background: false by CLAUDE_CODE_DISABLE_BACKGROUND_TASKS (background tasks are disabled)";
    let cases: Vec<(Change<'_, Scene>, &str, &str)> = vec![
        (Box::new(plain), "", "background: false by default"),
        (Box::new(plain), "memory: user", "memory: user by definition 4:9; background: false by default"),
        (Box::new(memory_off), "memory: user", "background: false by default"),
        (
            Box::new(plain),
            "budget: {usd: 1}",
            "budget: $1.00 by definition 4:9; background: false by default",
        ),
        (Box::new(ten_tokens), "", "budget: 10 tokens by call; background: false by default"),
        (
            Box::new(ten_tokens),
            "budget: {tokens: 9}",
            "budget: 9 tokens by definition 4:9; background: false by default",
        ),
        (
            Box::new(ten_tokens),
            "budget: {tokens: 11, usd: 1}",
            "budget: 10 tokens, $1.00 by call (its definition says 11 tokens, $1.00, the call 10 tokens: the smaller \
             counts); background: false by default",
        ),
        (
            Box::new(plain),
            "isolation: remote",
            "isolation: remote by definition 4:12; background: false by default",
        ),
        (
            Box::new(worktree),
            "isolation: remote",
            "isolation: worktree by call; background: false by default",
        ),
        (Box::new(worktree), "", "isolation: worktree by call; background: false by default"),
        (Box::new(plain), "maxTurns: 9", "turns: 9 by definition 4:11; background: false by default"),
        (Box::new(five), "", "turns: 5 by call; background: false by default"),
        // The lower of the two: neither may lift the other's limit.
        (Box::new(five), "maxTurns: 9", "turns: 5 by call; background: false by default"),
        (Box::new(five), "maxTurns: 3", "turns: 3 by definition 4:11; background: false by default"),
        (Box::new(plain), "background: true", "background: true by definition 4:13"),
        (Box::new(called(false)), "background: true", "background: true by definition 4:13"),
        (Box::new(plain), "background: false", "background: false by definition 4:13"),
        (Box::new(called(true)), "background: false", "background: true by call"),
        (Box::new(called(true)), "", "background: true by call"),
        (Box::new(called(false)), "", "background: false by call"),
        (Box::new(no_background), "background: true", vetoed),
        (Box::new(move |scene| (called(true)(scene), no_background(scene)).1), "", vetoed),
        (Box::new(no_background), "", "background: false by default"),
    ];
    for (change, fields, want) in cases {
        let spec = main_with("Agent").with(change).resolve(&agent(fields)).unwrap();
        let parts = [
            spec.memory.map(|memory| format!("memory: {}", sourced(&memory, |scope| scope.name().into()))),
            spec.isolation.map(|kind| format!("isolation: {}", sourced(&kind, |kind| kind.name().into()))),
            spec.max_turns.map(|turns| format!("turns: {}", sourced(&turns, ToString::to_string))),
            spec.budget.map(|budget| format!("budget: {}", sourced(&budget, ToString::to_string))),
            Some(format!("background: {}", sourced(&spec.background, ToString::to_string))),
        ];
        assert_eq!(parts.into_iter().flatten().collect::<Vec<_>>().join("; "), want, "{fields}");
    }
}

#[test]
fn agents_of_a_folder_nobody_trusts_start_nothing_of_their_own() {
    let fields = "hooks:\n  Stop:\n    - hooks: [{type: command, command: x}]\nmcpServers:\n  - shared\n  - own: {command: y}";
    for (origin, untrusted, want) in [
        (Origin::Project, true, "0 hooks, 1 servers, 2 withheld"),
        (Origin::Project, false, "1 hooks, 2 servers, 0 withheld"),
        (Origin::User, true, "1 hooks, 2 servers, 0 withheld"),
        (Origin::Flag, true, "1 hooks, 2 servers, 0 withheld"),
        (Origin::Managed, true, "1 hooks, 2 servers, 0 withheld"),
    ] {
        let scene = main_with("Agent Read").with(|scene| scene.policy.folder_untrusted = untrusted);
        let spec = scene.resolve(&agent_of(origin, "x", fields)).unwrap();
        let withheld = spec.withheld.iter().filter(|(_, by)| *by == SetBy::Distrust).count();
        let got =
            format!("{} hooks, {} servers, {withheld} withheld", spec.hooks.len(), spec.mcp_servers.len());
        assert_eq!(got, want, "{origin:?} {untrusted}");
        assert_eq!(spec.pool.own_servers.len(), spec.mcp_servers.len(), "tools of a withheld server");
    }
}

#[test]
fn hooks_and_servers_of_untrusted_sources_are_withheld_where_the_policy_says_so() {
    const FIELDS: &str = "hooks: {Stop: [{hooks: [{command: x}]}]}\nmcpServers: [github]";
    let managed = set_in(Layer::Managed, "managed.json");
    let policy = |hooks, mcp| Policy {
        max_depth: 3,
        plugin_only: PluginOnly { hooks, mcp, ..PluginOnly::default() },
        plugin_only_by: Some(managed.clone()),
        ..Policy::default()
    };
    for (origin, hooks, mcp, fields, want) in [
        (Origin::Project, false, false, FIELDS, "1 hooks, 1 servers, "),
        (Origin::Project, true, false, FIELDS, "0 hooks, 1 servers, Hooks"),
        (Origin::User, false, true, FIELDS, "1 hooks, 0 servers, McpServers"),
        (Origin::Flag, true, true, FIELDS, "0 hooks, 0 servers, Hooks McpServers"),
        (Origin::Managed, true, true, FIELDS, "1 hooks, 1 servers, "),
        (Origin::BuiltIn, true, true, FIELDS, "1 hooks, 1 servers, "),
        // What was not there is not taken away.
        (Origin::Project, true, true, "", "0 hooks, 0 servers, "),
    ] {
        let scene = main_with("Agent Read").with(|scene| scene.policy = policy(hooks, mcp));
        let spec = scene.resolve(&agent_of(origin, "x", fields)).unwrap();
        let withheld =
            spec.withheld.iter().map(|(field, _)| format!("{field:?}")).collect::<Vec<_>>().join(" ");
        let got = format!("{} hooks, {} servers, {withheld}", spec.hooks.len(), spec.mcp_servers.len());
        assert_eq!(got, want, "{origin:?} {hooks} {mcp}");
        assert!(spec.withheld.iter().all(|(_, by)| *by == SetBy::Settings(managed.clone())));
        assert_eq!(spec.pool.own_servers.len(), spec.mcp_servers.len(), "tools of a withheld server");
    }
}

#[test]
fn everything_else_is_handed_on_as_written() {
    let fields = "\
skills: [a, b]
requiredMcpServers: [github]
omitClaudeMd: true
forkContext: true
initialPrompt: Begin.
criticalSystemReminder: Careful.
autoCompactWindow: 200000
observer: [o, p]
observerMessage: Look.";
    let spec = main_with("Agent").resolve(&agent(fields)).unwrap();
    assert_eq!((&*spec.name, &*spec.description, &*spec.body, spec.depth), ("x", "d", "Body.", 1));
    assert_eq!(spec.skills, ["a".into(), "b".into()]);
    assert_eq!(spec.required_mcp_servers, ["github".into()]);
    assert!(spec.omit_claude_md && spec.fork_context);
    assert_eq!(spec.initial_prompt.as_deref(), Some("Begin."));
    assert_eq!(spec.critical_system_reminder.as_deref(), Some("Careful."));
    assert_eq!(spec.auto_compact_window, Some(200_000));
    assert_eq!(spec.observers, ["o".into(), "p".into()]);
    assert_eq!(spec.observer_message.as_deref(), Some("Look."));
}

// ── The promise: a child never has more than its parent, its definition and the policy together allow ──
//
// Random trees of agents are resolved and held against an oracle. The oracle does not know how pools are built: it
// reads the lists as they were written, letter by letter, and decides for every use of every tool whether the list
// admits it. It shares no code with `pool.rs` or `tools/pattern.rs`; the price is that it knows only the entries below.

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Entries of lists, separated by `; `.
const ENTRIES: &str = "Read; Write; Edit; Bash; Grep; WebFetch; Agent; Agent; Task; KillShell; TaskStop; TaskCreate; \
    AskUserQuestion; ExitPlanMode; Bash(git:*); Bash(git diff:*); Bash(*); Read(src/**); Write(docs/**); Agent(a); \
    Agent(a, b); Task(b, c, d); Agent(); Agent(,); read; NoSuchTool; NoSuchTool(x); mcp__github; mcp__github__*; \
    mcp__github__create_issue; mcp__git*; mcp__slack__post; mcp__*; *";

/// Deny rules, likewise.
const RULES: &str = "Bash; Task; Edit; Web*; mcp__github; mcp__slack__post; mcp__*; Bash(rm:*); Agent(b); Task(c); \
    Agent(a, b); Bash(*); NoSuchTool; *";

fn one_of(texts: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(texts.split("; ").collect::<Vec<_>>())
}

const SERVERS: [&str; 3] = ["github", "slack", "notes"];

const MCP_NAMES: [&str; 5] = [
    "mcp__github__create_issue",
    "mcp__github__delete_repo",
    "mcp__gitlab__list",
    "mcp__slack__post",
    "mcp__notes__add",
];

/// An agent as its author wrote it, and how it is called.
#[derive(Clone, Debug)]
struct Written {
    name: &'static str,
    tools: Option<Vec<&'static str>>,
    disallowed: Vec<&'static str>,
    as_text: bool,
    memory: bool,
    mode: Option<Mode>,
    background: Option<bool>,
    servers: Vec<&'static str>,
    call_mode: Option<Mode>,
    call_background: Option<bool>,
}

/// What holds for everybody.
#[derive(Clone, Debug)]
struct Rules {
    deny: Vec<&'static str>,
    bypass_off: bool,
    memory_off: bool,
    background_off: bool,
    max_depth: u32,
    main_mode: Mode,
}

/// A use of a tool: the tool, and which of the scopes anybody could write fit what is done with it.
#[derive(Clone, Debug)]
struct Use {
    tool: &'static str,
    fits: Vec<String>,
}

/// Every use there is, as far as the entries above can tell uses apart.
fn uses() -> Vec<Use> {
    let mut uses = Vec::new();
    let folders = || NAMES.into_iter().map(|name| Some(format!("memory of {name}"))).chain([None]);
    for tool in ALL {
        let arguments: &[&str] = match tool.name {
            "Bash" => &["git:*", "git diff:*"],
            "Read" => &["src/**"],
            "Write" => &["docs/**"],
            _ => &[],
        };
        let subsets = (0..1 << arguments.len()).map(|bits: usize| {
            let chosen = arguments.iter().enumerate().filter(|(place, _)| bits & (1 << place) != 0);
            chosen.map(|(_, argument)| (*argument).to_owned()).collect::<Vec<_>>()
        });
        match tool.name {
            "Agent" => uses.extend(NAMES.map(|name| Use { tool: "Agent", fits: vec![name.to_owned()] })),
            "Write" | "Edit" | "Read" => {
                for (subset, folder) in subsets.flat_map(|subset| folders().map(move |f| (subset.clone(), f)))
                {
                    uses.push(Use { tool: tool.name, fits: subset.into_iter().chain(folder).collect() });
                }
            }
            _ => uses.extend(subsets.map(|fits| Use { tool: tool.name, fits })),
        }
    }
    uses
}

/// What a resolved agent may do: the only place where the oracle looks at a capability.
fn may_use(capability: &Capability, one: &Use) -> bool {
    let fits = |scope: &Scope| match scope {
        Scope::Agents(agents) => agents.iter().any(|agent| one.fits.iter().any(|fit| **fit == **agent)),
        Scope::Argument(argument) => one.fits.iter().any(|fit| **fit == **argument),
        Scope::MemoryFolder(agent) => one.fits.contains(&format!("memory of {agent}")),
    };
    let grants = capability.grants.iter().filter(|grant| grant.tool.name == one.tool);
    grants.into_iter().any(|grant| grant.limits.iter().all(|limit| limit.any_of.iter().any(fits)))
}

mod oracle {
    use super::{Mode, Rules, Use, Written};

    fn word(entry: &str) -> &str {
        match entry.split('(').next() {
            Some("Task") => "Agent",
            Some("KillShell") => "TaskStop",
            other => other.unwrap_or_default(),
        }
    }

    fn argument(entry: &str) -> Option<&str> {
        let inside = &entry[entry.find('(')? + 1..entry.len() - 1];
        (!inside.is_empty() && inside != "*").then_some(inside)
    }

    /// Whether an entry of a list admits a use.
    fn entry_admits(entry: &str, one: &Use) -> bool {
        word(entry) == one.tool
            && match argument(entry) {
                None => true,
                Some(agents) if one.tool == "Agent" => agents.split(", ").any(|agent| agent == one.fits[0]),
                Some(argument) => one.fits.iter().any(|fit| fit == argument),
            }
    }

    fn names_mcp(entry: &str, name: &str) -> bool {
        if let Some(start) = entry.strip_suffix('*') {
            return entry.starts_with("mcp__") && name.starts_with(start);
        }
        let is_server = entry.starts_with("mcp__") && entry.matches("__").count() == 1;
        entry == name || (is_server && name.starts_with(&format!("{entry}__")))
    }

    pub(super) fn definition_admits(written: &Written, rules: &Rules, one: &Use) -> bool {
        if written.disallowed.iter().any(|entry| word(entry) == one.tool) {
            return false;
        }
        let Some(list) = &written.tools else { return true };
        let listed = list.iter().any(|entry| word(entry) == one.tool);
        let remembers = written.memory && !rules.memory_off && !listed;
        list.contains(&"*")
            || list.iter().any(|entry| entry_admits(entry, one))
            || (remembers && one.tool == "Read")
            || (remembers
                && ["Write", "Edit"].contains(&one.tool)
                && one.fits.contains(&format!("memory of {}", written.name)))
    }

    pub(super) fn definition_admits_mcp(written: &Written, name: &str) -> bool {
        let listed = match &written.tools {
            None => true,
            Some(list) => list.iter().any(|entry| *entry == "*" || names_mcp(entry, name)),
        };
        listed && !written.disallowed.iter().any(|entry| names_mcp(entry, name))
    }

    pub(super) fn policy_admits(rules: &Rules, tool: &str) -> bool {
        !rules.deny.iter().any(|rule| match *rule {
            "*" => true,
            "Web*" => tool.starts_with("Web"),
            rule => word(rule) == tool && argument(rule).is_none(),
        })
    }

    pub(super) fn policy_admits_mcp(rules: &Rules, name: &str) -> bool {
        !rules.deny.iter().any(|rule| *rule == "*" || names_mcp(rule, name))
    }

    /// Whether a rule forbids to start an agent. `Agent(a, b)` names nobody.
    pub(super) fn policy_forbids_agent(rules: &Rules, name: &str) -> bool {
        rules.deny.iter().any(|rule| word(rule) == "Agent" && argument(rule) == Some(name))
    }

    pub(super) fn in_background(written: &Written, rules: &Rules) -> bool {
        !rules.background_off && (written.background == Some(true) || written.call_background == Some(true))
    }

    /// What being a sub-agent takes away, whatever the lists say.
    pub(super) fn place_admits(tool: &str, mode: Mode, background: bool, at_depth_limit: bool) -> bool {
        match tool {
            "AskUserQuestion" | "EnterPlanMode" | "TaskOutput" => false,
            "ExitPlanMode" => mode == Mode::Plan,
            "Agent" => !at_depth_limit,
            "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" => !background,
            _ => true,
        }
    }

    /// How much may happen without a person saying yes.
    pub(super) fn reach(mode: Mode) -> u8 {
        match mode {
            Mode::Plan => 0,
            Mode::Default | Mode::DontAsk | Mode::Bubble => 1,
            Mode::AcceptEdits => 2,
            Mode::Auto => 3,
            Mode::BypassPermissions => 4,
        }
    }
}

/// What the oracle has against a child. Empty means that the promise holds, and that nothing was lost for no reason.
fn objections(written: &Written, rules: &Rules, parent: &Parent, child: &Parent) -> Vec<String> {
    let mut objections = Vec::new();
    let background = oracle::in_background(written, rules);
    let at_depth_limit = child.depth >= rules.max_depth;
    for one in uses() {
        let place = oracle::place_admits(one.tool, child.approval.mode, background, at_depth_limit);
        let verdicts = [
            ("parent", may_use(&parent.capability, &one)),
            ("definition", oracle::definition_admits(written, rules, &one)),
            ("policy", oracle::policy_admits(rules, one.tool)),
            ("place", place),
        ];
        let against: Vec<_> = verdicts.iter().filter(|(_, admits)| !admits).map(|(who, _)| *who).collect();
        match (may_use(&child.capability, &one), against.as_slice()) {
            (true, []) | (false, [_, ..]) => {}
            (true, _) => objections.push(format!("{one:?} is more than {} admits", against.join(" and "))),
            (false, []) => objections.push(format!("{one:?} is lost")),
        }
    }
    for name in MCP_NAMES {
        let expected = parent.capability.admits_mcp(name)
            && oracle::definition_admits_mcp(written, name)
            && oracle::policy_admits_mcp(rules, name);
        match (child.capability.admits_mcp(name), expected) {
            (true, false) => objections.push(format!("{name} is more than it may have")),
            (false, true) => objections.push(format!("{name} is lost")),
            (true, true) | (false, false) => {}
        }
    }
    objections.extend(approval_objections(written, rules, parent, child));
    objections
}

fn approval_objections(written: &Written, rules: &Rules, parent: &Parent, child: &Parent) -> Vec<String> {
    let mut objections = Vec::new();
    let modes = [("definition", written.mode), ("call", written.call_mode)];
    let modes = modes.into_iter().filter_map(|(who, mode)| Some((who, Approval::of(mode?))));
    for (who, bound) in modes.chain([("parent", parent.approval)]) {
        // A wish for what is switched off bounds nothing: the other two do.
        if bound.mode == Mode::BypassPermissions && rules.bypass_off && who != "parent" {
            continue;
        }
        let within = oracle::reach(child.approval.mode) <= oracle::reach(bound.mode)
            && (bound.may_ask || !child.approval.may_ask);
        if !within || !child.approval.is_within(bound) {
            objections.push(format!("{:?} is wider than the {who}'s {bound:?}", child.approval));
        }
    }
    objections
}

fn policy_of(rules: &Rules) -> Policy {
    Policy {
        deny: deny(&rules.deny),
        bypass_disabled: rules.bypass_off.then(|| set_in(Layer::Managed, "managed.json")),
        memory_off: rules.memory_off.then_some(SetBy::Default),
        background_disabled: rules.background_off,
        max_depth: rules.max_depth,
        ..Policy::default()
    }
}

fn definition_of(written: &Written) -> AgentDefinition {
    let list = |key: &str, entries: &[&str]| {
        if written.as_text {
            return format!("{key}: \"{}\"\n", entries.join(", "));
        }
        let quoted: Vec<_> = entries.iter().map(|entry| format!("\"{entry}\"")).collect();
        format!("{key}: [{}]\n", quoted.join(", "))
    };
    let mut fields = list("disallowedTools", &written.disallowed);
    if let Some(tools) = &written.tools {
        fields += &list("tools", tools);
    }
    if written.memory {
        fields += "memory: project\n";
    }
    if let Some(mode) = written.mode {
        fields += &format!("permissionMode: {}\n", mode.name());
    }
    if let Some(background) = written.background {
        fields += &format!("background: {background}\n");
    }
    if !written.servers.is_empty() {
        fields += &format!("mcpServers: [{}]\n", written.servers.join(", "));
    }
    named(written.name, fields.trim_end())
}

/// What a run of the property met, so that a property that holds because nothing happens does not pass.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    started: usize,
    deepest: u32,
    limited: usize,
    refused: usize,
    forbidden: usize,
}

/// Grows a tree below a main agent: each agent is started by one that is alive already.
fn grow(rules: &Rules, tree: &[(Written, prop::sample::Index)], met: &mut Met) -> Result<(), String> {
    let policy = policy_of(rules);
    let main = Parent {
        name: "main".into(),
        capability: session_pool(&policy).capability,
        approval: Approval::of(rules.main_mode),
        model: "m".into(),
        effort: None,
        depth: 0,
    };
    for one in uses() {
        if may_use(&main.capability, &one) != oracle::policy_admits(rules, one.tool) {
            return Err(format!("the session and {one:?} under {:?}", rules.deny));
        }
    }
    let mut alive = vec![main];
    for (written, place) in tree {
        let parent = place.get(&alive).clone();
        let call = Call { mode: written.call_mode, background: written.call_background, ..Call::default() };
        let start = Use { tool: "Agent", fits: vec![written.name.to_owned()] };
        let forbidden = oracle::policy_forbids_agent(rules, written.name);
        let may_start = may_use(&parent.capability, &start) && !forbidden;
        match resolve(&definition_of(written), &parent, &call, &policy) {
            Ok(spec) => {
                let child = spec.as_parent();
                let against = objections(written, rules, &parent, &child);
                if !may_start || !against.is_empty() {
                    return Err(format!("{written:?}\nmay start: {may_start}\n{}", against.join("\n")));
                }
                let of_server =
                    |server: &&&str| oracle::policy_admits_mcp(rules, &format!("mcp__{server}__~"));
                let servers: Vec<&str> = written.servers.iter().filter(of_server).copied().collect();
                if spec.pool.own_servers.iter().map(|name| &**name).ne(servers.iter().copied()) {
                    return Err(format!("{written:?}\nown servers: {:?}", spec.pool.own_servers));
                }
                met.started += 1;
                met.deepest = met.deepest.max(child.depth);
                met.limited += child.capability.grants.iter().filter(|grant| grant.limits.len() > 1).count();
                alive.push(child);
            }
            Err(ResolveError::EmptyPool(_)) => {
                let admitted = uses().into_iter().find(|one| {
                    may_use(&parent.capability, one)
                        && oracle::definition_admits(written, rules, one)
                        && oracle::place_admits(one.tool, parent.approval.mode, false, true)
                });
                if let Some(one) = admitted.filter(|_| !oracle::in_background(written, rules)) {
                    return Err(format!("{written:?}\nrefused, though it may {one:?}"));
                }
                met.refused += 1;
            }
            Err(ResolveError::Denied { .. } | ResolveError::NotSpawnable { .. }) => {
                if may_start {
                    return Err(format!("{written:?}\nforbidden by nobody"));
                }
                met.forbidden += 1;
            }
        }
    }
    Ok(())
}

fn any_written() -> impl Strategy<Value = Written> {
    let entries = |most| prop::collection::vec(one_of(ENTRIES), 0..most);
    let mode = || prop::option::weighted(0.4, prop::sample::select(Mode::ALL.to_vec()));
    let who = (prop::sample::select(NAMES.to_vec()), prop::sample::subsequence(SERVERS.to_vec(), 0..2));
    let lists = (prop::option::weighted(0.7, entries(8)), entries(3), any::<bool>());
    let switches = (prop::bool::weighted(0.3), mode(), prop::option::weighted(0.3, any::<bool>()));
    let call = (
        prop::option::weighted(0.2, prop::sample::select(Mode::ALL.to_vec())),
        prop::option::weighted(0.2, any::<bool>()),
    );
    (who, lists, switches, call).prop_map(
        |(
            (name, servers),
            (tools, disallowed, as_text),
            (memory, mode, background),
            (call_mode, call_background),
        )| Written {
            name,
            tools,
            disallowed,
            as_text,
            memory,
            mode,
            background,
            servers,
            call_mode,
            call_background,
        },
    )
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let deny = prop::collection::vec(one_of(RULES), 0..3);
    let switches = (prop::bool::weighted(0.3), prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    (deny, switches, 1..=6u32, prop::sample::select(Mode::ALL.to_vec())).prop_map(
        |(deny, (bypass_off, memory_off, background_off), max_depth, main_mode)| Rules {
            deny,
            bypass_off,
            memory_off,
            background_off,
            max_depth,
            main_mode,
        },
    )
}

#[test]
fn no_child_in_any_tree_has_more_than_its_parent_its_definition_and_the_policy_allow() {
    const TREES: u32 = 1_500;
    let config = ProptestConfig { cases: TREES, failure_persistence: None, ..ProptestConfig::default() };
    let met = std::cell::Cell::new(Met::default());
    let trees = (any_rules(), prop::collection::vec((any_written(), any::<prop::sample::Index>()), 1..14));
    let result = proptest::test_runner::TestRunner::new(config).run(&trees, |(rules, tree)| {
        let mut counts = met.get();
        let grown = grow(&rules, &tree, &mut counts);
        met.set(counts);
        grown.map_err(TestCaseError::fail)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let Met { started, deepest, limited, refused, forbidden } = met.get();
    assert!(started > 2 * TREES as usize && deepest >= 4, "hardly a tree: {:?}", met.get());
    assert!(limited > 50 && refused > 50 && forbidden > 50, "hardly a limit: {:?}", met.get());
}

/// A parent and its child, both limited in every way there is.
fn narrow_pair() -> (Written, Rules, Parent, Parent) {
    let rules = Rules {
        deny: vec!["Web*", "mcp__slack__post"],
        bypass_off: true,
        memory_off: false,
        background_off: false,
        max_depth: 3,
        main_mode: Mode::DontAsk,
    };
    let parent = Written {
        name: "a",
        tools: Some(vec!["Agent(a, b)", "Bash(git:*)", "Read", "Write", "mcp__github", "TaskCreate"]),
        disallowed: vec![],
        as_text: false,
        memory: false,
        mode: None,
        background: None,
        servers: vec![],
        call_mode: None,
        call_background: None,
    };
    let child = Written {
        name: "b",
        tools: Some(vec!["Agent", "Bash(git diff:*)", "Read(src/**)", "mcp__github", "TaskCreate"]),
        disallowed: vec!["mcp__github__delete_repo"],
        memory: true,
        mode: Some(Mode::Plan),
        background: Some(true),
        ..parent.clone()
    };
    let policy = policy_of(&rules);
    let main = Parent {
        name: "main".into(),
        capability: session_pool(&policy).capability,
        approval: Approval::of(rules.main_mode),
        model: "m".into(),
        effort: None,
        depth: 0,
    };
    let below = |written: &Written, parent: &Parent| {
        resolve(&definition_of(written), parent, &Call::default(), &policy).unwrap().as_parent()
    };
    let parent = below(&parent, &main);
    let resolved = below(&child, &parent);
    (child, rules, parent, resolved)
}

/// A property is worth what it can catch: each of these children has a little more, or less, than it should.
#[test]
fn the_oracle_objects_to_every_widening() {
    let (written, rules, parent, child) = narrow_pair();
    assert_eq!(
        objections(&written, &rules, &parent, &child),
        [""; 0],
        "as resolved there is nothing against it"
    );
    let give = |child: &mut Parent, tool: &str| {
        let tool = crate::tools::find(tool).unwrap();
        child.capability.grants.push(Grant { tool, limits: vec![] });
    };
    let limits = |child: &mut Parent, tool: &str, limits: Vec<Limit>| {
        let grant = child.capability.grants.iter_mut().find(|grant| grant.tool.name == tool).unwrap();
        grant.limits = limits;
    };
    let argument = |text: &str| Limit { any_of: vec![Scope::Argument(text.into())] };
    let agents = |name: &str| Limit { any_of: vec![Scope::Agents(vec![name.into()])] };
    let memory = |name: &str| Limit { any_of: vec![Scope::MemoryFolder(name.into())] };
    let widenings: Vec<(&str, Change<'_, Parent>)> = vec![
        ("a tool that nobody gave", Box::new(|child| give(child, "Grep"))),
        ("a tool that the policy denies", Box::new(|child| give(child, "WebFetch"))),
        ("a tool that the background takes", Box::new(|child| give(child, "TaskCreate"))),
        ("a tool of the main agent", Box::new(|child| give(child, "AskUserQuestion"))),
        ("no scope at all", Box::new(|child| limits(child, "Bash", vec![]))),
        ("only the parent's scope", Box::new(|child| limits(child, "Bash", vec![argument("git:*")]))),
        ("only its own scope", Box::new(|child| limits(child, "Bash", vec![argument("git diff:*")]))),
        (
            "either scope instead of both",
            Box::new(|child| {
                let any_of =
                    [argument("git:*"), argument("git diff:*")].into_iter().flat_map(|limit| limit.any_of);
                let any_of = any_of.collect();
                limits(child, "Bash", vec![Limit { any_of }]);
            }),
        ),
        ("any agent", Box::new(|child| limits(child, "Agent", vec![]))),
        ("another agent", Box::new(|child| limits(child, "Agent", vec![agents("c")]))),
        ("another agent's memory", Box::new(|child| limits(child, "Write", vec![memory("a")]))),
        ("all files", Box::new(|child| limits(child, "Write", vec![]))),
        ("every MCP tool", Box::new(|child| child.capability.mcp.clear())),
        (
            "an MCP tool it disallows",
            Box::new(|child| {
                let filters = child.capability.mcp.iter();
                child.capability.mcp =
                    filters.map(|one| McpFilter { allow: one.allow.clone(), deny: vec![] }).collect();
            }),
        ),
        ("a wider mode", Box::new(|child| child.approval.mode = Mode::AcceptEdits)),
        ("a mode wider than its definition's", Box::new(|child| child.approval.mode = Mode::DontAsk)),
        ("asking, which its parent may not", Box::new(|child| child.approval.may_ask = true)),
        // And the other way round: a limit that nobody stated.
        ("a tool too few", Box::new(|child| child.capability.retain(|tool| tool.name != "Read"))),
        ("a scope too many", Box::new(|child| child.capability.limit("Bash", argument("rm:*")))),
        (
            "an MCP tool too few",
            Box::new(|child| {
                child.capability.mcp.push(McpFilter { allow: Some(vec![]), deny: vec![] });
            }),
        ),
    ];
    for (what, widen) in widenings {
        let mut changed = child.clone();
        widen(&mut changed);
        assert_ne!(objections(&written, &rules, &parent, &changed), [""; 0], "{what} goes unnoticed");
    }
}
