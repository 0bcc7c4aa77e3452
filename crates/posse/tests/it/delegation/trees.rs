//! Agents and sessions in copies of the repository of their own: that they are there, that they stay there, and what is
//! left of it.

use super::*;
use crate::worktrees::git;

/// A world where everything is allowed, so that only the fence refuses; also to a user who is root.
fn free_world(server: &FakeModel) -> TestEnv {
    let mut env = world(server);
    env.set("IS_SANDBOX", "1");
    // One that knows all its tools from the start.
    env.agent(
        "lead.md",
        "---\nname: lead\ndescription: Leads\ntools: Agent, Bash, Read, Write\n---\nBe a lead.\n",
    );
    env
}

/// One whose project is a repository with a commit.
fn repository(server: &FakeModel) -> TestEnv {
    let mut env = free_world(server);
    env.set("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        env.set(name, "a");
    }
    git(&env, "project", &["init", "-q", "-b", "main", "."]);
    git(&env, "project", &["add", "-A"]);
    git(&env, "project", &["commit", "-qm", "first"]);
    env
}

fn go(env: &TestEnv, more: &[&str]) -> Output {
    let mut args = vec!["-p", "go", "--dangerously-skip-permissions"];
    args.extend(more);
    env.posse(&args)
}

fn answer(request: &Recorded, call: &str) -> String {
    words(&json!({ "content": [result(request, call)] }))
}

/// The names in the folder of worktrees.
fn trees(env: &TestEnv) -> Vec<String> {
    let entries = std::fs::read_dir(env.path("project/.claude/worktrees")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != ".gitignore").collect();
    names.sort();
    names
}

/// One agent in a worktree that does these calls one by one, then says that it is done.
fn isolated(steps_of_agent: Vec<(&'static str, Value)>) -> FakeModel {
    FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("worker", "Work.", json!({ "isolation": "worktree" }))]),
        (None, _) => text("Done."),
        (Some(_), at) => match steps_of_agent.get(at) {
            Some((tool, input)) => call(&format!("c{at}"), tool, input),
            None => text("I did it."),
        },
    })
}

fn bash(command: impl Into<String>) -> (&'static str, Value) {
    ("Bash", json!({ "command": command.into(), "description": "x" }))
}

#[test]
fn an_agent_works_in_its_worktree_which_goes_unless_work_is_in_it() {
    let server = isolated(vec![bash("git status --porcelain; pwd")]);
    let env = repository(&server);
    assert_eq!(go(&env, &[]).success(), "Done.\n");
    let agents = of_agents(&server);
    let pwd = answer(&agents[1], "c0");
    assert!(pwd.contains("project/.claude/worktrees/agent-a"), "{pwd}");
    assert!(system(&agents[0]).contains(pwd.trim()), "told where it is: {}", system(&agents[0]));
    assert!(!answer(&of_main(&server)[1], "t1").contains("worktreePath"));
    assert_eq!(
        (trees(&env), git(&env, "project", &["branch", "--list", "worktree-*"])),
        (vec![], String::new())
    );

    let server = isolated(vec![("Write", json!({ "file_path": "new.txt", "content": "mine\n" }))]);
    let env = repository(&server);
    go(&env, &[]).success();
    let told = answer(&of_main(&server)[1], "t1");
    let [tree] = &trees(&env)[..] else { panic!("{:?}", trees(&env)) };
    assert!(told.contains(&format!("worktreeBranch: worktree-{tree}")), "{told}");
    assert_eq!(env.read(&format!("project/.claude/worktrees/{tree}/new.txt")), "mine\n");
    assert!(!env.path("project/new.txt").exists());
}

#[test]
fn an_agent_does_not_leave_its_worktree_even_where_all_is_allowed() {
    let server = FakeModel::answering(|request| {
        let project = |request: &Recorded| {
            let told = system(request);
            let at = told.find("/.claude/worktrees/").expect("a worktree");
            told[..at].rsplit([' ', '\n']).next().expect("a path").to_owned()
        };
        match (agent(request), steps(request)) {
            (None, 0) => calls("Agent", &[start("lead", "Work.", json!({ "isolation": "worktree" }))]),
            (None, _) => text("Done."),
            (Some(_), 0) => {
                let main = project(request);
                let write = json!({ "file_path": format!("{main}/new.txt"), "content": "x" });
                let run = |command: String| json!({ "command": command, "description": "x" });
                MessagesReply::new()
                    .tool("w", "Write", &write)
                    .tool("c", "Bash", &run(format!("git -C {main} commit --allow-empty -m x")))
                    .tool("d", "Bash", &run(format!("cd {main} && touch b.txt")))
                    .tool("v", "Bash", &run(format!("GIT_DIR={main}/.git git status")))
                    .tool("e", "Bash", &run(format!("echo x > {main}/new.txt")))
                    .tool("p", "Agent", &start("worker", "Deeper.", json!({ "cwd": main })))
                    .tool("r", "Read", &json!({ "file_path": format!("{main}/a.txt") }))
                    .tool(
                        "o",
                        "Bash",
                        &run("echo x > b.txt && git add -A && git commit -qm own && ls /usr".into()),
                    )
                    .answer()
            }
            (Some(_), _) => text("I did it."),
        }
    });
    let env = repository(&server);
    let head = git(&env, "project", &["rev-parse", "HEAD"]);
    go(&env, &[]).success();
    let agents = of_agents(&server);
    for refused in ["w", "c", "d", "v", "e"] {
        let answer = answer(&agents[1], refused);
        assert!(
            answer.contains("in the main checkout, and this agent works in a worktree"),
            "{refused}: {answer}"
        );
    }
    let deeper = answer(&agents[1], "p");
    assert!(deeper.contains("outside the working directories"), "{deeper}");
    for free in ["r", "o"] {
        assert_ne!(result(&agents[1], free)["is_error"], true, "{}", answer(&agents[1], free));
    }
    assert_eq!(git(&env, "project", &["rev-parse", "HEAD"]), head);
    assert!(!env.path("project/new.txt").exists() && !env.path("project/b.txt").exists());
}

#[test]
fn a_fork_in_a_worktree_is_told_to_translate_what_it_inherits() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("fork", "Part.", json!({ "isolation": "worktree" }))]),
        (None, _) => text("Done."),
        (Some(_), _) => text("Scope: all."),
    });
    let env = repository(&server);
    go(&env, &[]).success();
    let [fork] = &of_agents(&server)[..] else { panic!("one fork") };
    let told = last(fork);
    let project = env.path("project").canonicalize().unwrap();
    let notice = format!(
        "read every path below it as the same path below {}/.claude/worktrees/agent-",
        project.display()
    );
    assert!(told.contains(&notice), "{told}");
}

#[test]
fn an_agent_shares_its_callers_worktree_or_gets_one_beside_it() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => calls("Agent", &[start("lead", "Outer.", json!({ "isolation": "worktree" }))]),
        (None, _) => text("Done."),
        (Some(_), 0) if all(request).contains("Outer.") => calls(
            "Agent",
            &[
                start("worker", "Shares.", json!({})),
                start("worker", "Alone.", json!({ "isolation": "worktree" })),
            ],
        ),
        (Some(_), 0) => {
            let name = if all(request).contains("Shares.") { "shared.txt" } else { "alone.txt" };
            call("w", "Write", &json!({ "file_path": name, "content": "x" }))
        }
        (Some(_), _) => text("I did it."),
    });
    let env = repository(&server);
    go(&env, &[]).success();
    let found = trees(&env);
    assert_eq!(found.len(), 2, "{found:?}");
    let holds =
        |tree: &str, file: &str| env.path(&format!("project/.claude/worktrees/{tree}/{file}")).exists();
    for file in ["shared.txt", "alone.txt"] {
        assert_eq!(found.iter().filter(|tree| holds(tree, file)).count(), 1, "{file}");
    }
    assert!(!found.iter().any(|tree| holds(tree, "shared.txt") && holds(tree, "alone.txt")));
    assert!(!found.iter().any(|tree| holds(tree, ".claude/worktrees")), "beside, not inside");
}

#[test]
fn an_agent_that_goes_on_finds_its_worktree() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => {
            calls("Agent", &[start("worker", "Work.", json!({ "isolation": "worktree", "name": "mole" }))])
        }
        (None, 1) => {
            call("m", "Agent", &json!({ "description": "on", "prompt": "Go on.", "resume": "mole" }))
        }
        (None, _) => text("Done."),
        (Some(_), 0) => call("c0", "Write", &json!({ "file_path": "one.txt", "content": "x" })),
        (Some(_), 2) => {
            let main = "$(git rev-parse --path-format=absolute --git-common-dir)/..";
            call("c1", "Bash", &json!({ "command": format!("ls; git -C {main} status"), "description": "x" }))
        }
        (Some(_), 3) => call("c2", "Bash", &json!({ "command": "ls", "description": "x" })),
        (Some(_), _) => text("I did it."),
    });
    let env = repository(&server);
    go(&env, &[]).success();
    let agents = of_agents(&server);
    let refused = answer(agents.last().unwrap(), "c1");
    assert!(refused.contains("only known when it runs"), "still fenced in: {refused}");
    assert!(answer(agents.last().unwrap(), "c2").contains("one.txt"));
    assert_eq!(trees(&env).len(), 1);
}

/// A session whose hooks make folders outside of the project, and write down what they are told.
fn hooked(server: &FakeModel, create: &str) -> TestEnv {
    let env = free_world(server);
    let log = env.path("log").display().to_string();
    let made = env.path("made").display().to_string();
    let hook = |command: String| json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    let settings = json!({ "hooks": {
        "WorktreeCreate": hook(create.replace("MADE", &made).replace("LOG", &log)),
        "WorktreeRemove": hook(format!("cat >> {log}; rm -rf {made}")),
    } });
    env.write("home/.claude/settings.json", settings.to_string());
    env
}

const MAKES: &str = "cat > LOG; mkdir -p MADE; echo hello > MADE/a.txt; echo some talk; echo MADE";

#[test]
fn a_hook_makes_and_removes_the_place_instead_of_git() {
    let server = isolated(vec![bash("pwd")]);
    let env = hooked(&server, MAKES);
    go(&env, &[]).success();
    let made = env.path("made").canonicalize().unwrap_or_else(|_| env.path("made"));
    assert!(answer(&of_agents(&server)[1], "c0").trim().ends_with("/made"));
    let log = env.read("log");
    assert!(
        log.contains(r#""hook_event_name":"WorktreeCreate""#) && log.contains(r#""name":"agent-a"#),
        "{log}"
    );
    assert!(log.contains(r#""worktree_path":"#), "removed by the hook: {log}");
    assert!(!made.exists());
    assert!(!env.path("project/.claude/worktrees").exists());
}

#[test]
fn what_a_hook_made_and_an_agent_changed_stays_and_is_told_of() {
    let server = isolated(vec![
        ("Write", json!({ "file_path": "new.txt", "content": "mine" })),
        bash("cd .. && ls project"),
    ]);
    let env = hooked(&server, MAKES);
    go(&env, &[]).success();
    assert_eq!(env.read("made/new.txt"), "mine");
    assert!(!env.read("log").contains("WorktreeRemove"));
    let told = answer(&of_main(&server)[1], "t1");
    assert!(
        told.contains("worktreePath: ") && told.contains("/made") && !told.contains("worktreeBranch"),
        "{told}"
    );
}

#[test]
fn a_hook_that_makes_no_place_stops_the_start() {
    for (create, why) in [
        ("echo no room >&2; exit 1", "no room"),
        ("exit 2", "WorktreeCreate"),
        ("true", "no path was printed"),
        ("echo MADE/nowhere", "which is no folder"),
    ] {
        let server = isolated(vec![]);
        let env = hooked(&server, create);
        go(&env, &[]).success();
        assert_eq!(of_agents(&server).len(), 0, "{create}");
        let told = answer(&of_main(&server)[1], "t1");
        assert!(told.contains("make its worktree") && told.contains(why), "{create}: {told}");
    }
}

#[test]
fn without_git_and_without_a_hook_there_is_no_worktree() {
    let server = isolated(vec![]);
    let env = free_world(&server);
    go(&env, &[]).success();
    let told = answer(&of_main(&server)[1], "t1");
    assert!(told.contains("make its worktree") && told.contains("not in a git repository"), "{told}");
}

/// The main agent does these calls one by one.
fn alone(steps_of_main: Vec<(&'static str, Value)>) -> FakeModel {
    FakeModel::answering(move |request| match steps_of_main.get(steps(request)) {
        Some((tool, input)) => call(&format!("c{}", steps(request)), tool, input),
        None => text("Done."),
    })
}

#[test]
fn a_session_enters_a_worktree_and_does_not_lose_what_it_did_there() {
    let write = |name: &str| ("Write", json!({ "file_path": name, "content": "mine" }));
    let server = alone(vec![
        ("EnterWorktree", json!({ "name": "fix/one" })),
        bash("pwd"),
        ("EnterWorktree", json!({})),
        write("new.txt"),
        bash("git -C ../../.. status"),
        ("ExitWorktree", json!({ "action": "remove" })),
        ("ExitWorktree", json!({ "action": "keep" })),
        bash("pwd"),
        ("ExitWorktree", json!({ "action": "keep" })),
        ("EnterWorktree", json!({ "path": ".claude/worktrees/fix+one" })),
        bash("ls"),
        ("ExitWorktree", json!({ "action": "remove", "discard_changes": true })),
        ("EnterWorktree", json!({})),
        ("ExitWorktree", json!({ "action": "remove" })),
        ("EnterWorktree", json!({ "name": "../out" })),
        ("EnterWorktree", json!({ "path": "." })),
    ]);
    let env = repository(&server);
    assert_eq!(go(&env, &[]).success(), "Done.\n");
    let requests = server.requests();
    let said = |at: usize| answer(requests.last().unwrap(), &format!("c{at}"));
    let holds = |at: usize, part: &str| assert!(said(at).contains(part), "c{at}: {}", said(at));
    holds(0, "on the branch worktree-fix+one");
    holds(1, "/.claude/worktrees/fix+one");
    holds(2, "in a worktree already");
    holds(4, "in the main checkout");
    holds(5, "holds work: 1 new file");
    holds(6, "stays as it is, on the branch worktree-fix+one");
    assert!(said(7).trim().ends_with("/project"), "{}", said(7));
    holds(8, "no worktree that EnterWorktree brought you to");
    holds(10, "new.txt");
    holds(11, "is saved as refs/posse/saved/fix+one/");
    holds(13, "was removed.");
    holds(14, "no name for a worktree");
    holds(15, "no worktree of this repository");
    assert_eq!(trees(&env), Vec::<String>::new());
    assert_eq!(git(&env, "project", &["status", "--porcelain"]), "");
    let saved = git(&env, "project", &["for-each-ref", "--format=%(refname)", "refs/posse/saved"]);
    assert_eq!(git(&env, "project", &["show", &format!("{}:new.txt", saved.trim())]), "mine");
}

#[test]
fn a_session_begins_in_a_worktree_and_finds_it_again() {
    let server =
        alone(vec![("Write", json!({ "file_path": "new.txt", "content": "mine" })), bash("ls; pwd")]);
    let env = repository(&server);
    let output = go(&env, &["--worktree", "fix"]);
    let said = "/project/.claude/worktrees/fix on the branch worktree-fix; see `posse worktrees diff fix`";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert_eq!(output.stdout, "Done.\n");
    let folder = env.path("project").canonicalize().unwrap().join(".claude/worktrees/fix");
    assert!(system(&server.requests()[0]).contains(&folder.display().to_string()));
    assert_eq!(env.read("project/.claude/worktrees/fix/new.txt"), "mine");
    assert!(!env.path("project/new.txt").exists());

    let server = alone(vec![bash("ls; pwd")]);
    let mut env = env;
    env.set("ANTHROPIC_BASE_URL", &server.url());
    assert_eq!(go(&env, &["-w", "fix"]).stdout, "Done.\n");
    let found = answer(&server.requests()[1], "c0");
    assert!(found.contains("new.txt") && found.contains("/worktrees/fix"), "{found}");

    // Nothing is done in this one, so nothing is left of it.
    let server = alone(vec![bash("pwd")]);
    env.set("ANTHROPIC_BASE_URL", &server.url());
    let output = go(&env, &["-w"]);
    assert!(!output.stderr.contains("the work is in"), "{}", output.stderr);
    assert_eq!(output.stdout, "Done.\n");
    assert!(answer(&server.requests()[1], "c0").contains("/.claude/worktrees/session-"));
    assert_eq!(trees(&env), ["fix"]);
}

#[test]
fn a_session_that_cannot_have_its_worktree_does_not_begin() {
    let server = alone(vec![]);
    let env = free_world(&server);
    let (_, stderr) = go(&env, &["--worktree", "fix"]).fails_with(2);
    assert!(stderr.contains("not in a git repository") && stderr.contains("hint:"), "{stderr}");
    assert_eq!(server.requests().len(), 0);
}
