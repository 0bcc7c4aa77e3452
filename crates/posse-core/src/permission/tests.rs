//! What the rules decide, in tables: one row is a world in a line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::tools::{Limit, Scope, ToolPattern};

mod fence;
mod properties;
mod shell_cases;

/// `allow Bash(git diff:*); deny Read(.env)` in a folder `/w` of a user whose home is `/home/u`.
fn rules(text: &str) -> RuleSet {
    let source = Arc::new(RuleSource::new("settings", "/w", "/w", Some("/home/u")));
    let read = |rule: &str| {
        let (word, text) = rule.trim().split_once(' ').expect("a behaviour and a rule");
        let behavior = match word {
            "allow" => Behavior::Allow,
            "ask" => Behavior::Ask,
            "deny" => Behavior::Deny,
            other => panic!("{other}"),
        };
        Rule::parse(behavior, text, &source)
    };
    RuleSet::new(text.split(';').filter(|rule| !rule.trim().is_empty()).map(read).collect())
}

/// `/w/link` leads out, `/w/inside` leads in.
struct Links;
impl Paths for Links {
    fn real(&self, path: &Path) -> PathBuf {
        for (link, to) in
            [("/w/link", "/outside"), ("/w/envlink", "/w/.env"), ("/w/gitlink", "/w/.git/config")]
        {
            if let Ok(rest) = path.strip_prefix(link) {
                return if rest.as_os_str().is_empty() { to.into() } else { Path::new(to).join(rest) };
            }
        }
        path.to_owned()
    }
}

fn folders() -> Folders {
    Folders {
        cwd: "/w".into(),
        roots: vec!["/w".into(), "/more".into()],
        readable: vec!["/spool".into()],
        writable: vec!["/memory".into()],
        fenced: Vec::new(),
        home: Some("/home/u".into()),
    }
}

fn decision(set: &str, mode: Mode, limits: &[Limit], tool: &str, input: &Value) -> Decision {
    decision_by(&rules(set), mode, limits, tool, input)
}

fn decision_by(rules: &RuleSet, mode: Mode, limits: &[Limit], tool: &str, input: &Value) -> Decision {
    let folders = folders();
    let situation =
        Situation { rules, mode, limits, folders: &folders, paths: &Links, hook: None, contained: false };
    decide(&Call::new(tool, input), &situation)
}

/// A call as text: `Bash git diff`, `Read a.txt`, `Agent reviewer`.
fn call(text: &str) -> (String, Value) {
    let (tool, rest) = text.split_once(' ').unwrap_or((text, ""));
    let input = match tool {
        "Bash" => json!({ "command": rest }),
        "Read" | "Write" | "Edit" => json!({ "file_path": rest }),
        "NotebookEdit" => json!({ "notebook_path": rest }),
        "Grep" => json!({ "pattern": "x", "path": rest }),
        "Glob" => json!({ "pattern": rest }),
        "WebFetch" => json!({ "url": rest }),
        "Agent" | "Task" => json!({ "subagent_type": rest, "prompt": "", "model": "opus" }),
        "Skill" => json!({ "skill": rest }),
        _ => json!({}),
    };
    (tool.to_owned(), input)
}

fn word(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Allow => "allow",
        Ruling::Ask => "ask",
        Ruling::Judge => "judge",
        Ruling::Deny => "deny",
    }
}

#[track_caller]
fn check(mode: Mode, set: &str, rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        let (tool, input) = call(text);
        let got = decision(set, mode, &[], &tool, &input);
        assert_eq!(word(got.ruling), *expected, "{set} | {text} | {}", got.reason);
    }
}

#[test]
fn without_rules_only_looking_inside_is_free() {
    check(
        Mode::Default,
        "",
        &[
            ("Read a.txt", "allow"),
            ("Read /w/a/b", "allow"),
            ("Read /more/x", "allow"),
            ("Read /spool/out.txt", "allow"),
            ("Read /memory/MEMORY.md", "allow"),
            ("Read ../x", "ask"),
            ("Read /etc/passwd", "ask"),
            ("Read ~/x", "ask"),
            ("Read link/passwd", "ask"),
            ("Grep src", "allow"),
            ("Grep /etc", "ask"),
            ("Glob **/*.rs", "allow"),
            ("Glob /etc/*", "ask"),
            ("Glob ../*", "ask"),
            ("Write a.txt", "ask"),
            ("Edit a.txt", "ask"),
            ("Write /memory/MEMORY.md", "allow"),
            ("Bash ls", "allow"),
            ("Bash git status", "allow"),
            ("Bash cat a.txt | head -3", "allow"),
            ("Bash cat /etc/passwd", "ask"),
            ("Bash cat link/passwd", "ask"),
            ("Bash echo hi", "allow"),
            ("Bash echo hi > a.txt", "ask"),
            ("Bash echo hi > /dev/null", "allow"),
            ("Bash ls 2>&1", "allow"),
            ("Bash rm a", "ask"),
            ("Bash ls; rm a", "ask"),
            ("Bash cd sub && ls", "allow"),
            ("Bash cd .. && ls", "ask"),
            ("Bash cd sub && cat a.txt", "allow"),
            ("Bash cd sub; cat ../a.txt", "ask"),
            ("Bash cd sub && cat ../../x", "ask"),
            ("Bash cat $X", "ask"),
            ("Bash cat *.txt", "ask"),
            ("Bash ls *.txt", "allow"),
            ("Bash grep -R x .", "ask"),
            ("Bash env - rm x", "ask"),
            ("Bash cat ../*.txt", "ask"),
            ("Bash PATH=/tmp ls", "ask"),
            ("Bash LANG=C ls", "allow"),
            ("Agent Explore", "allow"),
            ("TodoWrite", "allow"),
            ("WebFetch https://example.com/", "ask"),
            ("WebSearch", "ask"),
            ("mcp__s__t", "ask"),
            ("Skill x", "ask"),
        ],
    );
}

#[test]
fn allow_rules_allow_what_they_say_and_no_more() {
    check(
        Mode::Default,
        "allow Bash(git diff:*); allow Bash(npm run *); allow Bash(make && make test); allow Edit(src/**); \
         allow Write(docs/*.md); allow WebFetch(domain:example.com); allow WebFetch(domain:*.rust-lang.org); \
         allow mcp__s; allow mcp__t__one; allow Skill(review); allow Skill(team:*); allow Read(//etc/hosts)",
        &[
            ("Bash git diff", "allow"),
            ("Bash git diff --stat $X", "allow"),
            ("Bash git diff; rm x", "ask"),
            ("Bash git diff;rm x", "ask"),
            ("Bash git diff && npm run build", "allow"),
            ("Bash git diff | sh", "ask"),
            ("Bash git diff $(rm x)", "ask"),
            ("Bash git diff `rm x`", "ask"),
            ("Bash git diff\nrm x", "ask"),
            ("Bash git diff > out.txt", "ask"),
            ("Bash git diff > src/out.txt", "allow"),
            ("Bash git diff > /w/src/../.git/hooks/x", "ask"),
            ("Bash GIT_EXTERNAL_DIFF=evil git diff", "ask"),
            ("Bash timeout 5 git diff", "allow"),
            ("Bash timeout 5 rm x", "ask"),
            ("Bash sudo git diff", "ask"),
            ("Bash xargs git diff", "ask"),
            ("Bash \"git diff\"", "ask"),
            ("Bash /tmp/git diff", "ask"),
            ("Bash make && make test", "allow"),
            ("Bash make && make install", "ask"),
            ("Bash make", "ask"),
            ("Bash bash -c 'git diff'", "ask"),
            ("Edit src/a.rs", "allow"),
            ("Write src/a.rs", "allow"),
            ("Edit link/src/a.rs", "ask"),
            ("Edit src/../x", "ask"),
            ("Edit lib/a.rs", "ask"),
            ("Write docs/a.md", "allow"),
            ("Edit docs/a.md", "ask"),
            ("Write docs/x/a.md", "ask"),
            ("WebFetch https://example.com/x", "allow"),
            ("WebFetch https://example.com@evil.com/", "ask"),
            ("WebFetch https://sub.example.com/", "ask"),
            ("WebFetch https://doc.rust-lang.org/", "allow"),
            ("mcp__s__any", "allow"),
            ("mcp__t__one", "allow"),
            ("mcp__t__two", "ask"),
            ("Skill review", "allow"),
            ("Skill team:x", "allow"),
            ("Skill other", "ask"),
            ("Read /etc/hosts", "allow"),
            ("Read /etc/passwd", "ask"),
            ("Bash cat /etc/hosts", "allow"),
        ],
    );
}

#[test]
fn denies_win_and_see_through_wrappers_links_and_paths() {
    check(
        Mode::BypassPermissions,
        "allow Bash; allow Read; deny Bash(rm:*); deny Bash(git push *); deny Read(.env); deny Edit(/secret/**); \
         deny WebFetch(domain:evil.com); deny mcp__*__delete; deny mcp__my server; deny mcp__*__a.b; deny Agent(bad); deny Agent(model:opus*); deny Skill(x); \
         deny Bash(run_in_background:true)",
        &[
            ("Bash ls", "allow"),
            ("Bash rm x", "deny"),
            ("Bash ls; rm x", "deny"),
            ("Bash timeout 5 rm x", "deny"),
            ("Bash sudo rm x", "deny"),
            ("Bash /bin/rm x", "deny"),
            ("Bash r\\m x", "deny"),
            ("Bash 'rm' x", "deny"),
            ("Bash $(rm x)", "deny"),
            ("Bash echo `rm x`", "deny"),
            ("Bash find . -exec rm {} +", "deny"),
            ("Bash ls | xargs rm", "deny"),
            ("Bash bash -c 'rm x'", "deny"),
            ("Bash A=1 rm x", "deny"),
            ("Bash f() { rm x; }; f", "deny"),
            ("Bash git push origin main", "deny"),
            ("Bash git pull", "allow"),
            ("Bash cat .env", "deny"),
            ("Bash grep -r x --file=.env", "deny"),
            ("Bash cat envlink", "deny"),
            ("Bash cat < .env", "deny"),
            ("Bash cat sub/.env", "deny"),
            ("Read .env", "deny"),
            ("Read sub/.env", "deny"),
            ("Read envlink", "deny"),
            ("Edit .env", "deny"),
            ("Write secret/a", "deny"),
            ("Bash echo x > secret/a", "deny"),
            ("WebFetch https://evil.com", "deny"),
            ("WebFetch https://EVIL.com./x", "deny"),
            ("mcp__s__delete", "deny"),
            ("mcp__s__list", "allow"),
            ("mcp__my_server__list", "deny"),
            ("mcp__s__a_b", "deny"),
            ("Agent bad", "deny"),
            ("Task bad", "deny"),
            ("Agent good", "deny"),
            ("Skill x", "deny"),
        ],
    );
}

#[test]
fn a_rule_that_takes_away_and_may_fit_is_asked_about() {
    check(
        Mode::Default,
        "allow Bash; deny Bash(rm:*); ask Bash(git push:*); ask Read(secrets/**)",
        &[
            ("Bash make", "allow"),
            ("Bash $X y", "ask"),
            ("Bash r$X y", "ask"),
            ("Bash git $X", "ask"),
            ("Bash git push", "ask"),
            ("Bash git pushy", "allow"),
            ("Bash eval \"$X\"", "ask"),
            ("Bash rm x", "deny"),
            ("Read secrets/x", "ask"),
            ("Bash cat secrets/x", "ask"),
        ],
    );
    // Nobody may be asked: what must be asked is refused.
    check(
        Mode::DontAsk,
        "ask Bash(git push:*); allow Bash",
        &[("Bash git push", "deny"), ("Bash make", "allow")],
    );
    check(Mode::DontAsk, "", &[("Bash make", "deny"), ("Write a", "deny"), ("Read a", "allow")]);
    // An ask is an ask even where nothing else is.
    check(
        Mode::BypassPermissions,
        "ask Bash(git push:*)",
        &[("Bash git push", "ask"), ("Bash rm x", "allow")],
    );
}

#[test]
fn modes() {
    check(
        Mode::AcceptEdits,
        "",
        &[
            ("Write a.txt", "allow"),
            ("Edit /more/a.txt", "allow"),
            ("Edit /elsewhere/a.txt", "ask"),
            ("Edit link/a.txt", "ask"),
            ("Edit .git/config", "ask"),
            ("Edit gitlink", "ask"),
            ("Edit .claude/settings.json", "ask"),
            ("Write .bashrc", "ask"),
            ("Bash mkdir -p a/b", "allow"),
            ("Bash touch a", "allow"),
            ("Bash mv a b", "allow"),
            ("Bash cp a /etc/b", "ask"),
            ("Bash rm a", "allow"),
            ("Bash rm -rf a", "ask"),
            ("Bash rm .", "ask"),
            ("Bash rm *", "ask"),
            ("Bash touch .git/hooks/x", "ask"),
            ("Bash echo x > a.txt", "allow"),
            ("Bash echo x > .git/config", "ask"),
            ("Bash make", "ask"),
        ],
    );
    check(
        Mode::Plan,
        "allow Bash; allow Edit; allow mcp__s",
        &[
            ("Read a", "allow"),
            ("Bash ls", "allow"),
            ("Bash make", "ask"),
            ("Bash echo x > a", "ask"),
            ("Edit a", "deny"),
            ("Write a", "deny"),
            ("NotebookEdit a", "deny"),
            ("mcp__s__t", "ask"),
            ("Agent Explore", "allow"),
            ("ExitPlanMode", "allow"),
        ],
    );
    check(
        Mode::Auto,
        "deny Bash(rm:*); allow Bash(make:*)",
        &[
            ("Bash make", "allow"),
            ("Bash npm test", "judge"),
            ("Bash rm x", "deny"),
            ("Write a", "allow"),
            ("Write .git/config", "ask"),
            ("WebFetch https://x.y", "judge"),
        ],
    );
    check(Mode::BypassPermissions, "", &[("Bash rm -rf /", "allow"), ("Write /etc/x", "allow")]);
    check(Mode::Bubble, "", &[("Bash make", "ask"), ("Read a", "allow")]);
}

#[test]
fn a_bare_rule_does_not_open_what_is_protected_but_a_named_place_is_opened() {
    check(
        Mode::Default,
        "allow Edit",
        &[("Edit a", "allow"), ("Edit .git/config", "ask"), ("Edit /x/y", "allow")],
    );
    check(
        Mode::Default,
        "allow Edit(**); allow Edit(//tmp/**); allow Edit(*.json)",
        &[
            ("Edit src/a", "allow"),
            ("Edit .git/hooks/x", "ask"),
            ("Edit .claude/settings.local.json", "ask"),
            ("Edit .mcp.json", "ask"),
            ("Edit /tmp/.bashrc", "ask"),
        ],
    );
    check(
        Mode::Default,
        "allow Edit(.git/info/*)",
        &[("Edit .git/info/exclude", "allow"), ("Edit .git/config", "ask")],
    );
}

#[test]
fn a_command_does_not_do_what_a_tool_may_not() {
    check(
        Mode::AcceptEdits,
        "deny Write(sealed/**); deny NotebookEdit(n/**)",
        &[
            ("Bash echo x > sealed/a", "deny"),
            ("Bash touch sealed/a", "deny"),
            ("Bash cp a sealed", "deny"),
            ("Bash echo x > n/a", "deny"),
            ("Bash echo x > a", "allow"),
        ],
    );
    check(Mode::AcceptEdits, "deny Edit", &[("Bash echo x > a", "ask"), ("Bash touch a", "ask")]);
    check(Mode::AcceptEdits, "ask Write", &[("Bash echo x > a", "ask")]);
    check(Mode::Default, "deny Read", &[("Bash cat a", "ask"), ("Bash pwd", "allow")]);
    check(
        Mode::Default,
        "allow Bash; deny Read(.env)",
        &[
            ("Bash make", "allow"),
            ("Bash make $X", "allow"),
            ("Bash eval x", "allow"),
            ("Bash cat .env", "deny"),
            ("Bash cat .e*", "ask"),
            ("Bash head -1 $X", "ask"),
        ],
    );
}

#[test]
fn an_allow_rule_that_cannot_be_read_allows_nothing() {
    check(
        Mode::Default,
        "allow WebSearch(x); allow mcp__s__t(x); allow mcp__*; allow Web*; allow Agent; allow Edit([)",
        &[("WebSearch", "ask"), ("mcp__s__t", "ask"), ("WebFetch https://a.b", "ask"), ("Edit a", "ask")],
    );
    check(
        Mode::BypassPermissions,
        "deny WebSearch(x); deny Edit([); ask Write([)",
        &[("WebSearch", "deny"), ("Edit a", "deny"), ("Write a", "ask")],
    );
}

#[test]
fn patterns_for_names_are_free_where_they_cannot_lead_out() {
    check(
        Mode::Default,
        "allow Bash(xargs:*); allow Bash(find:*); allow Edit; allow Read",
        &[
            ("Bash echo x > /dev/tcp/h/80", "ask"),
            ("Bash cat < /dev/udp/h/80", "ask"),
            ("Bash echo > /dev/sda", "ask"),
        ],
    );
    check(
        Mode::Default,
        "allow Bash(xargs:*); allow Bash(find:*)",
        &[
            ("Bash ls *", "allow"),
            ("Bash ls src/*.rs", "allow"),
            // A name that fits may be a link to anywhere.
            ("Bash cat *", "ask"),
            ("Bash cat src/*.rs", "ask"),
            ("Bash ls src/*/", "ask"),
            ("Bash cat link/*", "ask"),
            ("Bash cat /etc/*", "ask"),
            ("Bash cat ../*", "ask"),
            ("Bash echo /etc/passwd | xargs cat", "ask"),
            ("Bash echo /etc/passwd | xargs -I X cat X", "ask"),
            ("Bash echo /etc/passwd | xargs -I '*' cat '*'", "ask"),
            ("Bash echo /etc/passwd | xargs -I '?' cat '?'", "ask"),
            ("Bash find / -name passwd -exec cat {} +", "ask"),
            ("Bash cd sub && cat *", "ask"),
        ],
    );
}

#[test]
fn limits_of_the_agents_own_list_hold_whatever_else_allows() {
    let limit = |entry: &str| match ToolPattern::parse(entry) {
        ToolPattern::Tool { scope: Some(scope), .. } => Limit { any_of: vec![scope] },
        other => panic!("{other:?}"),
    };
    let rows: &[(&str, &str, &str)] = &[
        ("Bash(git diff:*)", "Bash git diff", "allow"),
        ("Bash(git diff:*)", "Bash git diff; git diff --stat", "allow"),
        ("Bash(git diff:*)", "Bash git log", "deny"),
        ("Bash(git diff:*)", "Bash git diff > x", "deny"),
        ("Bash(git diff:*)", "Bash git diff | sh", "deny"),
        ("Bash(git diff:*)", "Bash GIT_EXTERNAL_DIFF=x git diff", "deny"),
        ("Bash(git diff:*)", "Bash git $X", "deny"),
        ("Bash(git diff:*)", "Bash eval git diff", "deny"),
        ("Read(src/**)", "Read src/a", "allow"),
        ("Read(src/**)", "Read lib/a", "deny"),
        ("Read(src/**)", "Read link/src/a", "deny"),
        ("Edit(src/**)", "Edit src/a", "allow"),
        ("Edit(src/**)", "Edit src/../a", "deny"),
        ("WebFetch(domain:a.b)", "WebFetch https://a.b/", "allow"),
        ("WebFetch(domain:a.b)", "WebFetch https://c.d/", "deny"),
        ("Agent(a, b)", "Agent b", "allow"),
        ("Agent(a, b)", "Agent c", "deny"),
    ];
    for (entry, text, expected) in rows {
        let (tool, input) = call(text);
        let got = decision("", Mode::BypassPermissions, &[limit(entry)], &tool, &input);
        assert_eq!(word(got.ruling), *expected, "{entry} | {text} | {}", got.reason);
    }
    let memory = Limit { any_of: vec![Scope::MemoryFolder("a".into())] };
    let (tool, input) = call("Write /memory/a.md");
    assert_eq!(
        decision("", Mode::Default, std::slice::from_ref(&memory), &tool, &input).ruling,
        Ruling::Allow
    );
    let (tool, input) = call("Write /w/a.md");
    assert_eq!(decision("", Mode::BypassPermissions, &[memory], &tool, &input).ruling, Ruling::Deny);
}

#[test]
fn hooks_spare_the_question_but_not_the_rules() {
    let judge = |set: &str, hook: HookSays, text: &str| {
        let (rules, folders) = (rules(set), folders());
        let (tool, input) = call(text);
        let situation = Situation {
            rules: &rules,
            mode: Mode::Default,
            limits: &[],
            folders: &folders,
            paths: &Links,
            hook: Some(hook),
            contained: false,
        };
        word(decide(&Call::new(&tool, &input), &situation).ruling)
    };
    assert_eq!(judge("", HookSays::Allow, "Bash rm x"), "allow");
    assert_eq!(judge("deny Bash(rm:*)", HookSays::Allow, "Bash rm x"), "deny");
    assert_eq!(judge("ask Bash(rm:*)", HookSays::Allow, "Bash rm x"), "ask");
    assert_eq!(judge("allow Bash", HookSays::Ask, "Bash rm x"), "ask");
}

#[test]
fn the_reason_names_what_decided() {
    let why = |set: &str, text: &str| {
        let (tool, input) = call(text);
        decision(set, Mode::Default, &[], &tool, &input).reason.to_string()
    };
    assert_eq!(why("deny Bash(rm:*)", "Bash ls; rm x"), "the deny rule `Bash(rm:*)` in settings");
    assert_eq!(why("", "Bash ls; make x"), "no rule allows `make x`");
    assert_eq!(why("", "Read /etc/passwd"), "/etc/passwd is outside the working directories");
    assert_eq!(why("allow Edit", "Edit .git/config"), "/w/.git/config is protected: it steers other tools");
    assert!(why("", "Bash eval x").contains("cannot be judged"));
}

#[test]
fn the_condition_of_a_hook_fires_when_in_doubt() {
    let fires = |rule: &str, text: &str| {
        let (tool, input) = call(text);
        concerns(rule, &Call::new(&tool, &input), &folders(), &Links)
    };
    assert!(fires("Bash(git push:*)", "Bash git push"));
    assert!(fires("Bash(git push:*)", "Bash ls && git push"));
    assert!(fires("Bash(git push:*)", "Bash eval $X"));
    assert!(!fires("Bash(git push:*)", "Bash git pull"));
    assert!(fires("Edit(*.rs)", "Edit src/a.rs") && !fires("Edit(*.rs)", "Edit a.md"));
    assert!(fires("Bash", "Bash anything") && !fires("Bash", "Read a"));
}

#[test]
fn updates_round_trip() {
    for json in [
        json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}, {"toolName": "Read"}], "behavior": "deny", "destination": "localSettings"}),
        json!({"type": "replaceRules", "rules": [], "behavior": "ask", "destination": "userSettings"}),
        json!({"type": "removeRules", "rules": [], "behavior": "allow", "destination": "projectSettings"}),
        json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}),
        json!({"type": "addDirectories", "directories": ["/a"], "destination": "cliArg"}),
        json!({"type": "removeDirectories", "directories": ["/a"], "destination": "session"}),
    ] {
        assert_eq!(Update::from_json(&json).expect("a good update").to_json(), json);
    }
    for bad in [
        json!({}),
        json!({"type": "x"}),
        json!({"type": "setMode", "mode": "x"}),
        json!({"type": "addRules"}),
    ] {
        assert!(Update::from_json(&bad).is_err(), "{bad}");
    }
}

#[test]
fn git_looks_freely_only_where_the_session_works() {
    let (rules, mut folders) = (rules(""), folders());
    for (cwd, expected) in [("/w", "allow"), ("/more", "allow"), ("/w/evil", "ask")] {
        folders.cwd = cwd.into();
        let (tool, input) = call("Bash git status");
        let situation = Situation {
            rules: &rules,
            mode: Mode::Default,
            limits: &[],
            folders: &folders,
            paths: &Links,
            hook: None,
            contained: false,
        };
        assert_eq!(word(decide(&Call::new(&tool, &input), &situation).ruling), expected, "{cwd}");
    }
}

#[test]
fn what_takes_away_means_the_tool_however_it_is_spelt() {
    check(Mode::BypassPermissions, "deny bash; deny EDIT(a)", &[("Bash ls", "deny"), ("Edit a", "deny")]);
    check(Mode::Default, "allow bash", &[("Bash make", "ask")]);
}

#[test]
fn where_nothing_is_asked_what_may_be_denied_still_is() {
    check(
        Mode::BypassPermissions,
        "deny Bash(rm:*)",
        &[("Bash make", "allow"), ("Bash $X y", "ask"), ("Bash eval \"$X\"", "ask"), ("Bash {rm,x}", "ask")],
    );
    check(Mode::BypassPermissions, "", &[("Bash eval \"$X\"", "allow")]);
}
