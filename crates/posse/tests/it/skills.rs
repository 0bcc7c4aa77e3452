//! Skills and commands, against a fake model that speaks real HTTP: what the model is told of them, what it reads when
//! one is used, and what is run on the way.

use posse_testkit::server::{Answer, MessagesReply, Recorded};
use posse_testkit::{FakeModel, Output};
use serde_json::json;

use super::*;

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn world(server: &FakeModel) -> TestEnv {
    let mut env = env();
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "sk-ant-secret-key");
    env.write("project/a.txt", "hello from a\n");
    env.write("project/.git/HEAD", "ref: refs/heads/main\n");
    env
}

fn skill(env: &TestEnv, name: &str, header: &str, body: &str) {
    env.write(&format!("home/.claude/skills/{name}/SKILL.md"), format!("---\n{header}---\n{body}\n"));
}

fn text(text: &str) -> Answer {
    MessagesReply::new().text(text).answer()
}

/// A model that loads a skill first.
fn loads(input: Value) -> FakeModel {
    FakeModel::answering(move |request| match (agent(request), steps(request)) {
        (None, 0) => MessagesReply::new().tool("t1", "Skill", &input).answer(),
        (None, _) => text("Done."),
        (Some(_), _) => text("Report of the agent."),
    })
}

fn talks() -> FakeModel {
    FakeModel::answering(|_| text("Done."))
}

fn agent(request: &Recorded) -> Option<&str> {
    request.header("x-claude-code-agent-id")
}

fn steps(request: &Recorded) -> usize {
    list(&request.body["messages"]).iter().filter(|message| message["role"] == "assistant").count()
}

/// What all messages of a request say, answers of tools too.
fn all(request: &Recorded) -> String {
    let mut texts = Vec::new();
    for block in list(&request.body["messages"]).iter().flat_map(|message| list(&message["content"])) {
        texts.extend(block["text"].as_str().map(str::to_owned));
        texts.extend(block["content"].as_str().map(str::to_owned));
        texts.extend(
            list(&block["content"]).iter().filter_map(|part| Some(part["text"].as_str()?.to_owned())),
        );
    }
    texts.join("\n")
}

/// What the Skill tool is described by, if it is there.
fn offered(request: &Recorded) -> Option<String> {
    let tool = list(&request.body["tools"]).iter().find(|tool| tool["name"] == "Skill")?;
    tool["description"].as_str().map(str::to_owned)
}

fn last(server: &FakeModel) -> Recorded {
    server.requests().pop().expect("a request")
}

fn first(server: &FakeModel) -> Recorded {
    server.requests().remove(0)
}

fn ok(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn the_model_is_told_of_what_it_may_use_and_of_nothing_else() {
    let server = talks();
    let env = world(&server);
    skill(&env, "greet", "description: Says hello\nwhen_to_use: at the start\n", "Hi.");
    skill(&env, "secret", "description: Hidden\ndisable-model-invocation: true\n", "No.");
    skill(&env, "quiet", "description: For models\nuser-invocable: false\n", "Hm.");
    env.write("project/.claude/commands/team/check.md", "Check it.\n");
    let output = env.posse(&["-p", "go", "--output-format", "stream-json", "--verbose"]);
    ok(&output);
    let told = offered(&first(&server)).expect("the tool");
    assert!(
        told.ends_with("- greet: Says hello - at the start\n- quiet: For models\n- team:check: Check it."),
        "{told}"
    );
    let init = output.stdout.lines().map(json).find(|line| line["subtype"] == "init").expect("init");
    assert_eq!(init["slash_commands"], json!(["greet", "secret", "team:check"]));
    assert_eq!(init["skills"], json!(["greet", "secret"]));
    assert!(list(&init["tools"]).contains(&json!("Skill")), "{init}");
}

#[test]
fn without_anything_to_load_there_is_no_tool() {
    for header in [None, Some("description: x\ndisable-model-invocation: true\n")] {
        let server = talks();
        let env = world(&server);
        if let Some(header) = header {
            skill(&env, "x", header, "b");
        }
        ok(&env.posse(&["-p", "go"]));
        assert_eq!(offered(&first(&server)), None, "{header:?}");
    }
}

#[test]
fn the_list_keeps_to_its_budget() {
    let server = talks();
    let mut env = world(&server);
    env.set("SLASH_COMMAND_TOOL_CHAR_BUDGET", "60");
    skill(&env, "long", &format!("description: {}\n", "word ".repeat(50)), "b");
    skill(&env, "tiny", "description: Small\n", "b");
    ok(&env.posse(&["-p", "go"]));
    let told = offered(&first(&server)).expect("the tool");
    let (_, list) = told.split_once("Skills:\n").expect("a list");
    assert!(list.chars().count() <= 60 && list.contains("- tiny: Small") && list.contains('…'), "{list}");
}

#[test]
fn a_skill_that_is_called_is_read_with_its_arguments() {
    for (input, wanted) in [
        (json!({ "skill": "fix", "args": "'one two' three" }), "Mend one two in three: 'one two' three."),
        (json!({ "skill": "/fix a b" }), "Mend a in b: a b."),
        (json!({ "skill": "fix" }), "Mend $0 in $where: ."),
    ] {
        let server = loads(input.clone());
        let env = world(&server);
        skill(
            &env,
            "fix",
            "description: Mends\narguments: [what, where]\n",
            "Mend $0 in $where: $ARGUMENTS.",
        );
        let output = env.posse(&["-p", "go"]);
        assert_eq!(output.stdout, "Done.\n", "{output:?}");
        let said = all(&last(&server));
        let folder = env.path("home/.claude/skills/fix");
        assert!(
            said.contains(&format!("Base directory for this skill: {}\n\n{wanted}", folder.display())),
            "{said}"
        );
    }
    let server = loads(json!({ "skill": "fix", "args": "the door" }));
    let env = world(&server);
    skill(&env, "fix", "description: Mends\n", "Look in ${CLAUDE_SKILL_DIR}.");
    ok(&env.posse(&["-p", "go"]));
    assert!(all(&last(&server)).contains("/skills/fix.\n\nARGUMENTS: the door"));
}

#[test]
fn what_the_model_may_not_use_is_refused_and_named() {
    for (name, wanted) in [
        ("secret", "for the user only, who can type /secret"),
        ("gret", "There is no skill called \"gret\". Did you mean \"greet\"?"),
        // Only the name that was judged counts.
        ("GREET", "Did you mean \"greet\"?"),
    ] {
        let server = loads(json!({ "skill": name }));
        let env = world(&server);
        skill(&env, "greet", "description: Says hello\n", "Hi there.");
        skill(&env, "secret", "description: Hidden\ndisable-model-invocation: true\n", "The secret text.");
        ok(&env.posse(&["-p", "go", "--allowedTools", "Skill"]));
        let said = all(&last(&server));
        assert!(
            said.contains(wanted) && !said.contains("The secret text") && !said.contains("Hi there"),
            "{said}"
        );
    }
}

#[test]
fn a_skill_that_allows_something_needs_a_yes_and_a_denied_one_is_not_loaded() {
    for (header, args, loaded) in [
        ("description: d\n", &[][..], true),
        ("description: d\nallowed-tools: Bash(touch:*)\n", &[], false),
        ("description: d\nallowed-tools: Bash(touch:*)\n", &["--allowedTools", "Skill(x)"], true),
        ("description: d\n", &["--disallowedTools", "Skill(x)"], false),
    ] {
        let server = loads(json!({ "skill": "x" }));
        let env = world(&server);
        skill(&env, "x", header, "The text.");
        ok(&env.posse(&[&["-p", "go"], args].concat()));
        assert_eq!(all(&last(&server)).contains("The text."), loaded, "{header} {args:?}");
        let is_denied = args.contains(&"--disallowedTools");
        assert_eq!(offered(&last(&server)).expect("the tool").contains("- x: d"), !is_denied, "{args:?}");
    }
}

#[test]
fn commands_in_a_skill_are_judged_like_any_other() {
    let body = "Now: !`touch out.txt && echo in-$((40+2))`\n\n```!\necho block-$((1+1))\n```\nend";
    for (header, runs) in
        [("description: d\n", false), ("description: d\nallowed-tools: Bash(touch:*), Bash(echo:*)\n", true)]
    {
        let server = loads(json!({ "skill": "x" }));
        let env = world(&server);
        skill(&env, "x", header, body);
        ok(&env.posse(&["-p", "go", "--allowedTools", "Skill"]));
        let said = all(&last(&server));
        assert_eq!(env.path("project/out.txt").exists(), runs, "{said}");
        assert_eq!(said.contains("Now: in-42"), runs, "{said}");
        assert_eq!(said.contains("[not run: `touch out.txt"), !runs, "{said}");
        assert!(said.contains("block-2\nend"), "what only looks needs no leave: {said}");
    }
}

#[test]
fn neither_arguments_nor_tools_that_are_missing_bring_a_command() {
    let server = loads(json!({ "skill": "x", "args": "!`touch stolen.txt`" }));
    let env = world(&server);
    skill(&env, "x", "description: d\nallowed-tools: Bash\n", "Do $ARGUMENTS");
    ok(&env.posse(&["-p", "go", "--allowedTools", "Skill"]));
    assert!(all(&last(&server)).contains("Do !`touch stolen.txt`"));
    skill(&env, "x", "description: d\nallowed-tools: Bash\n", "Do !`touch stolen.txt`");
    ok(&env.posse(&["-p", "go", "--allowedTools", "Skill", "--tools", "Skill,Read"]));
    assert!(all(&last(&server)).contains("Bash is not among the tools"), "{}", all(&last(&server)));
    assert!(!env.path("project/stolen.txt").exists());
    env.write("home/.claude/settings.json", "{\"disableSkillShellExecution\": true}");
    ok(&env.posse(&["-p", "go", "--allowedTools", "Skill"]));
    assert!(all(&last(&server)).contains("switches commands of skills off"));
    assert!(!env.path("project/stolen.txt").exists());
}

#[test]
fn what_a_skill_allows_holds_until_the_turn_ends() {
    let server = FakeModel::answering(|request| match steps(request) {
        0 => MessagesReply::new().tool("t0", "Bash", &json!({ "command": "touch early.txt" })).answer(),
        1 => MessagesReply::new().tool("t1", "Skill", &json!({ "skill": "x" })).answer(),
        2 => MessagesReply::new().tool("t2", "Bash", &json!({ "command": "touch late.txt" })).answer(),
        _ => text("Done."),
    });
    let env = world(&server);
    skill(&env, "x", "description: d\nallowed-tools: Bash(touch:*)\nmodel: haiku\neffort: low\n", "b");
    ok(&env.posse(&["-p", "go", "--allowedTools", "Skill", "--model", "sonnet"]));
    assert!(!env.path("project/early.txt").exists() && env.path("project/late.txt").exists());
    let models: Vec<bool> = server
        .requests()
        .iter()
        .map(|request| request.body["model"].as_str().is_some_and(|model| model.contains("haiku")))
        .collect();
    assert_eq!(models, [false, false, true, true]);
}

#[test]
fn a_project_allows_nothing_before_it_is_trusted() {
    for trusted in [false, true] {
        let server = loads(json!({ "skill": "x" }));
        let env = world(&server);
        env.write(
            "project/.claude/skills/x/SKILL.md",
            "---\ndescription: d\nallowed-tools: Bash\n---\n!`touch made.txt`\n",
        );
        if trusted {
            ok(&env.posse(&["trust"]));
        }
        ok(&env.posse(&["-p", "go", "--allowedTools", "Skill"]));
        assert_eq!(env.path("project/made.txt").exists(), trusted);
    }
}

#[test]
fn files_that_are_mentioned_come_along_if_they_may_be_read() {
    let server = loads(json!({ "skill": "x", "args": "a.txt" }));
    let env = world(&server);
    env.write("project/b.txt", "secret of b\n");
    env.write("home/.claude/settings.json", "{\"permissions\": {\"deny\": [\"Read(b.txt)\"]}}");
    skill(&env, "x", "description: d\n", "Compare @$0 with @b.txt and @nothing.txt.");
    ok(&env.posse(&["-p", "go"]));
    let said = all(&last(&server));
    assert!(said.contains("<file path=\"a.txt\">") && said.contains("hello from a"), "{said}");
    assert!(said.contains("[not read: @b.txt (") && !said.contains("secret of b"), "{said}");
    assert!(!said.contains("not read: @nothing"), "{said}");
}

#[test]
fn a_skill_can_be_given_to_an_agent_of_its_own() {
    let server = loads(json!({ "skill": "look", "args": "a.txt" }));
    let env = world(&server);
    env.agent("scout.md", "---\nname: scout\ndescription: Looks\ntools: Read\n---\nBe a scout.\n");
    skill(&env, "look", "description: d\ncontext: fork\nagent: scout\n", "Look at $ARGUMENTS.");
    let output = env.posse(&["-p", "go", "--output-format", "stream-json", "--verbose"]);
    ok(&output);
    let requests = server.requests();
    let of_agent = requests.iter().find(|request| agent(request).is_some()).expect("an agent");
    assert!(all(of_agent).contains("Look at a.txt."), "{}", all(of_agent));
    let main = all(&last(&server));
    assert!(main.contains("Report of the agent.") && !main.contains("Look at a.txt."), "{main}");
    let results =
        output.stdout.lines().map(json).filter(|line| line["tool_use_result"]["commandName"] == "look");
    let results: Vec<Value> = results.map(|line| line["tool_use_result"].clone()).collect();
    assert_eq!(results.len(), 1, "{}", output.stdout);
    let id = agent(of_agent).expect("an id");
    assert_eq!(
        results[0],
        json!({ "success": true, "commandName": "look", "status": "forked", "agentId": id, "result": "Report of the agent." })
    );
}

#[test]
fn what_a_skill_allows_holds_for_the_agent_that_follows_it() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => MessagesReply::new().tool("t1", "Skill", &json!({ "skill": "look" })).answer(),
        (Some(_), 0) => {
            MessagesReply::new().tool("b1", "Bash", &json!({ "command": "touch by-agent.txt" })).answer()
        }
        (None, 1) => {
            MessagesReply::new().tool("t2", "Bash", &json!({ "command": "touch by-main.txt" })).answer()
        }
        _ => text("Done."),
    });
    let env = world(&server);
    skill(&env, "look", "description: d\ncontext: fork\nallowed-tools: Bash(touch:*)\n", "Look.");
    ok(&env.posse(&["-p", "go", "--allowedTools", "Skill"]));
    assert!(env.path("project/by-agent.txt").exists() && !env.path("project/by-main.txt").exists());
}

#[test]
fn an_agent_starts_with_the_skills_it_names() {
    let server = FakeModel::answering(|request| match (agent(request), steps(request)) {
        (None, 0) => {
            let input = json!({ "description": "d", "prompt": "Do the task.", "subagent_type": "smith" });
            MessagesReply::new().tool("t1", "Agent", &input).answer()
        }
        _ => text("Done."),
    });
    let env = world(&server);
    env.agent(
        "smith.md",
        "---\nname: smith\ndescription: d\ntools: Read\nskills: [iron, irn, secret]\n---\nBe a smith.\n",
    );
    skill(&env, "iron", "description: d\n", "Strike in ${CLAUDE_SKILL_DIR} with '$ARGUMENTS'.");
    skill(&env, "secret", "description: d\ndisable-model-invocation: true\n", "The secret text.");
    let output = env.posse(&["-p", "go", "--output-format", "stream-json", "--verbose"]);
    ok(&output);
    let requests = server.requests();
    let of_agent = requests.iter().find(|request| agent(request).is_some()).expect("an agent");
    let said = all(of_agent);
    let places =
        ["Do the task.", "Base directory for this skill: ", "\n\nStrike in /"].map(|part| said.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {said}");
    assert!(said.contains("with ''.") && !said.contains("The secret text."), "{said}");
    assert_eq!(offered(of_agent), None, "it lists no Skill");
    for note in
        ["no skill called `irn`; did you mean `iron`?", "`disable-model-invocation` keeps it to people"]
    {
        assert!(output.stdout.contains(note), "{note} in {}", output.stdout);
    }
    let lint = env.posse(&["lint"]);
    assert!(lint.stdout.contains("unknown-skill") && lint.stdout.contains("smith.md:5"), "{lint:?}");
    let explained = env.posse(&["explain", "smith"]).success();
    assert!(explained.contains("there is no skill called `irn`"), "{explained}");
    // As main agent it starts with them too.
    ok(&env.posse(&["-p", "Go on.", "--agent", "smith"]));
    assert!(all(&last(&server)).contains("Strike in /"));
}

#[test]
fn what_a_person_types_becomes_the_text_of_the_command() {
    let server = talks();
    let env = world(&server);
    env.write(
        "project/.claude/commands/review.md",
        "---\nallowed-tools: Bash(touch:*)\nargument-hint: [file]\n---\nReview @$0 now.\n",
    );
    ok(&env.posse(&["-p", "/review a.txt"]));
    let said = all(&last(&server));
    for part in [
        "<command-name>/review</command-name>",
        "<command-args>a.txt</command-args>",
        "Review @a.txt now.",
        "hello from a",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(!said.contains("Base directory"), "{said}");
    // What is no command is said as it is, with a word for the person.
    let output = env.posse(&["-p", "/reveiw a.txt"]);
    assert!(output.stderr.contains("did you mean /review?") && output.stdout == "Done.\n", "{output:?}");
    let output = env.posse(&["-p", "/reveiw a.txt", "--output-format", "stream-json", "--verbose"]);
    ok(&output);
    assert!(
        output.stdout.contains("there is no command /reveiw; did you mean /review?"),
        "{}",
        output.stdout
    );
    assert!(all(&last(&server)).contains("/reveiw a.txt"));
    ok(&env.posse(&["-p", "/usr/bin is a folder"]));
    assert!(all(&last(&server)).contains("/usr/bin is a folder"));
}

#[test]
fn what_is_for_models_only_cannot_be_typed_and_what_is_for_people_can() {
    let server = talks();
    let env = world(&server);
    skill(&env, "quiet", "description: d\nuser-invocable: false\n", "The quiet text.");
    skill(&env, "mine", "description: d\ndisable-model-invocation: true\n", "My text.");
    let output = env.posse(&["-p", "/quiet"]);
    assert!(output.stderr.contains("/quiet cannot be typed") && server.requests().is_empty(), "{output:?}");
    ok(&env.posse(&["-p", "/mine"]));
    assert!(all(&last(&server)).contains("My text."));
}

#[test]
fn hooks_hear_of_a_command_before_it_counts() {
    let server = talks();
    let env = world(&server);
    skill(&env, "mine", "description: d\n", "My text.");
    let hook = |code: u8| {
        json!({ "hooks": { "UserPromptExpansion": [{ "matcher": "mine", "hooks": [{
            "type": "command", "command": format!("cat > heard.json; echo not now >&2; exit {code}") }] }] } })
    };
    env.write("home/.claude/settings.json", hook(2).to_string());
    let output = env.posse(&["-p", "/mine and more"]);
    assert!(server.requests().is_empty() && output.stderr.contains("not now"), "{output:?}");
    let heard = json(&std::fs::read_to_string(env.path("project/heard.json")).expect("heard"));
    for (key, value) in [
        ("hook_event_name", "UserPromptExpansion"),
        ("expansion_type", "slash_command"),
        ("command_name", "mine"),
        ("command_args", "and more"),
        ("command_source", "user"),
        ("prompt", "/mine and more"),
    ] {
        assert_eq!(heard[key], value, "{key}");
    }
    env.write("home/.claude/settings.json", hook(0).to_string());
    ok(&env.posse(&["-p", "/mine and more"]));
    assert!(all(&last(&server)).contains("My text.\n\nARGUMENTS: and more"));
}

#[test]
fn what_a_typed_command_allows_holds_for_its_turn() {
    let server = FakeModel::answering(|request| match steps(request) {
        0 => MessagesReply::new().tool("t1", "Bash", &json!({ "command": "touch made.txt" })).answer(),
        _ => text("Done."),
    });
    let env = world(&server);
    skill(&env, "make", "description: d\nallowed-tools: Bash(touch:*)\n", "Make it.");
    ok(&env.posse(&["-p", "make"]));
    assert!(!env.path("project/made.txt").exists());
    ok(&env.posse(&["-p", "/make"]));
    assert!(env.path("project/made.txt").exists());
}

#[test]
fn a_typed_command_can_be_given_to_an_agent() {
    let server = FakeModel::answering(|request| match agent(request) {
        Some(_) => text("Report of the agent."),
        None => text("Done."),
    });
    let env = world(&server);
    skill(&env, "look", "description: d\ncontext: fork\n", "Look around.");
    assert_eq!(env.posse(&["-p", "/look"]).stdout, "Done.\n");
    let requests = server.requests();
    assert!(agent(&requests[0]).is_some() && all(&requests[0]).contains("Look around."));
    let main = all(&requests[1]);
    assert!(agent(&requests[1]).is_none() && main.contains("Report of the agent."), "{main}");
}

#[test]
fn skills_that_change_or_come_into_view_are_told_of_and_count_at_once() {
    // The model writes a skill, reads a file that another one is about, and uses the first.
    let server = FakeModel::answering(|request| match steps(request) {
        0 => {
            let input = json!({ "command": "mkdir -p .claude/skills/new && printf 'Fresh %s.' text > .claude/skills/new/SKILL.md && printf 'Changed.' > ../home/.claude/skills/old/SKILL.md" });
            MessagesReply::new().tool("t1", "Bash", &input).answer()
        }
        1 => MessagesReply::new().tool("t2", "Read", &json!({ "file_path": "a.txt" })).answer(),
        2 => MessagesReply::new().tool("t3", "Skill", &json!({ "skill": "old" })).answer(),
        3 => MessagesReply::new().tool("t4", "Skill", &json!({ "skill": "new" })).answer(),
        _ => text("Done."),
    });
    let env = world(&server);
    skill(&env, "old", "description: d\n", "As it was.");
    skill(&env, "texts", "description: About texts\npaths: '*.txt'\n", "b");
    ok(&env.posse(&["-p", "go", "--allowedTools", "Skill", "Bash"]));
    let requests = server.requests();
    assert!(!offered(&requests[0]).expect("the tool").contains("About texts"));
    assert!(!all(&requests[1]).contains("About texts") && all(&requests[2]).contains("- texts: About texts"));
    let end = all(&requests[4]);
    assert!(
        end.contains("\n\nChanged.") && !end.contains("As it was.") && end.contains("Fresh text."),
        "{end}"
    );
}

#[test]
fn people_see_what_there_is_where_it_comes_from_and_what_is_wrong() {
    let env = env();
    skill(&env, "greet", "description: Says hello\nallowedTools: Read\n", "Hi $ARGUMENTS.");
    skill(&env, "quiet", "description: For models\nuser-invocable: false\n", "Hm.");
    env.write("project/.git/HEAD", "ref: refs/heads/main\n");
    env.write("project/.claude/skills/greet/SKILL.md", "Another greeting.\n");
    env.write("project/.claude/commands/team/check.md", "---\nallowed-tools: Bash\n---\nCheck it.\n");
    env.write("plugin/.claude-plugin/plugin.json", "{\"name\": \"kit\"}");
    env.write("plugin/skills/build/SKILL.md", "---\ndescription: Builds in ${CLAUDE_PLUGIN_ROOT}\n---\nb\n");
    let plugin = env.path("plugin");
    let plugin = plugin.to_str().expect("a path");
    let text = env.posse(&["skills", "--plugin-dir", plugin]).success();
    for part in [
        "User (2)",
        "/greet       Says hello",
        "/quiet       models only · For models",
        "Project (1) .claude/commands",
        "/team:check  Check it.",
        "/kit:build",
        "Shadowed (1)",
        "project, .claude/skills/greet/SKILL.md",
        "4 skills, 1 shadowed, 1 warning",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let listed = json(&env.posse(&["skills", "list", "--json", "--plugin-dir", plugin]).success());
    assert_eq!(pluck(&listed["active"], "/name"), "greet kit:build quiet team:check");
    assert_eq!(pluck(&listed["active"], "/source/origin"), "user plugin user project");
    assert_eq!(pluck(&listed["shadowed"], "/name"), "greet");
    let shown = env.posse(&["skills", "show", "Greet"]).success();
    assert!(shown.contains("Hi $ARGUMENTS.") && shown.contains("did you mean `allowed-tools`?"), "{shown}");
    let shown = env.posse(&["skills", "show", "check"]);
    assert!(shown.code == Some(2) && shown.stderr.contains("there is no skill called `check`"), "{shown:?}");
    let shown = env.posse(&["skills", "show", "team:check"]).success();
    assert!(shown.contains("Bash (do not count: the folder is not trusted)"), "{shown}");
    let none = env.posse(&["skills", "--bare"]).success();
    assert!(none.starts_with("0 skills"), "{none}");
}

#[test]
fn at_a_terminal_a_skill_is_typed_and_its_commands_are_asked_about() {
    let mut env = env();
    env.set("TERM", "dumb");
    env.write("project/script.yaml", "- say: Understood.\n");
    skill(&env, "make", "description: d\n", "Made: !`touch made.txt`");
    skill(&env, "quiet", "description: d\nuser-invocable: false\n", "Hm.");
    let mut pty = env.at_terminal(&["--model", "rehearsal:script.yaml"]);
    pty.expect("> ");
    pty.send("/mkae\n");
    pty.expect("did you mean /make?");
    pty.expect("> ");
    pty.send("/quiet\n");
    pty.expect("/quiet cannot be typed");
    pty.expect("> ");
    pty.send("/help\n");
    pty.expect("/make");
    pty.expect("> ");
    pty.send("/make\n");
    pty.expect("touch made.txt");
    pty.expect("told to the agent)");
    pty.expect("? ");
    pty.send("y\n");
    pty.expect("Understood.");
    pty.expect("> ");
    pty.send("/exit\n");
    let (code, shown) = pty.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(env.path("project/made.txt").exists(), "{shown}");
}

#[test]
fn a_link_brings_no_file_of_the_users_to_the_model() {
    let server = loads(json!({ "skill": "lnk" }));
    let env = world(&server);
    env.write("home/id_rsa", "PRIVATE KEY\n");
    env.write("project/.claude/skills/grant/SKILL.md", "---\ndescription: g\nallowed-tools: Bash\n---\nG.\n");
    env.write("project/.claude/commands/own.md", "Own.\n");
    std::os::unix::fs::symlink(env.path("home/id_rsa"), env.path("project/.claude/commands/lnk.md")).unwrap();
    let output = env.posse(&["-p", "go"]);
    ok(&output);
    for request in server.requests() {
        assert!(!request.body.to_string().contains("PRIVATE KEY"), "{}", request.body);
    }
    for note in
        ["lnk.md: a link that leads out of the project", "not trusted: allowed-tools and hooks of 1 skill "]
    {
        assert!(output.stderr.contains(note), "{note} in {}", output.stderr);
    }
    let (lint, _) = env.posse(&["lint"]).fails_with(1);
    assert!(lint.contains("link-leads-out"), "{lint}");
}

const GUARDED: &str = "description: x\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          \
                       command: echo called >> \"$CLAUDE_PROJECT_DIR/calls\"\n  Stop:\n    - hooks:\n        - type: command\n          \
                       command: echo stop >> \"$CLAUDE_PROJECT_DIR/calls\"\n          once: true\n";

fn calls(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("project/calls")).unwrap_or_default()
}

/// A model that uses Bash, loads a skill, and uses Bash again, then has an agent do so.
fn careful() -> FakeModel {
    FakeModel::answering(|request| {
        let reply = MessagesReply::new();
        let bash =
            |id: &str| MessagesReply::new().tool(id, "Bash", &json!({ "command": "echo hi" })).answer();
        match (agent(request), steps(request)) {
            (None, 0) => bash("b1"),
            (None, 1) => reply.tool("s", "Skill", &json!({ "skill": "careful" })).answer(),
            (None, 2) => bash("b2"),
            (None, 3) => {
                let input = json!({ "description": "d", "prompt": "p", "subagent_type": "general-purpose" });
                reply.tool("a", "Agent", &input).answer()
            }
            (Some(_), 0) => bash("b3"),
            (None | Some(_), _) => text("Done."),
        }
    })
}

#[test]
fn hooks_of_a_skill_run_from_its_use_on_and_only_where_it_is_used() {
    let server = careful();
    let env = world(&server);
    skill(&env, "careful", GUARDED, "Be careful.");
    let output = env.posse(&["-p", "go", "--allowedTools", "Skill,Bash"]);
    ok(&output);
    assert_eq!(calls(&env), "called\nstop\n", "{output:?}");
}

#[test]
fn hooks_of_a_skill_run_when_it_is_typed_and_for_the_agent_that_follows_it() {
    let bash = |request: &Recorded| match steps(request) {
        0 => MessagesReply::new().tool("b", "Bash", &json!({ "command": "echo hi" })).answer(),
        _ => text("Done."),
    };
    let server = FakeModel::answering(bash);
    let env = world(&server);
    skill(&env, "careful", GUARDED, "Be careful.");
    ok(&env.posse(&["-p", "/careful", "--allowedTools", "Bash"]));
    assert_eq!(calls(&env), "called\nstop\n");
    // In an agent, `Stop` is the agent's end. Who started it has no part in it.
    let server = FakeModel::answering(bash);
    let env = world(&server);
    skill(&env, "careful", &format!("{GUARDED}context: fork\n"), "Be careful.");
    ok(&env.posse(&["-p", "/careful", "--allowedTools", "Bash"]));
    assert_eq!(calls(&env), "called\nstop\n");
}

#[test]
fn hooks_of_the_project_s_skills_wait_for_trust() {
    let server = careful();
    let env = world(&server);
    env.write("project/.claude/skills/careful/SKILL.md", format!("---\n{GUARDED}---\nBe careful.\n"));
    let output = env.posse(&["-p", "go", "--allowedTools", "Skill,Bash"]);
    ok(&output);
    assert_eq!(calls(&env), "");
    assert!(output.stderr.contains("hooks of 1 skill"), "{}", output.stderr);
}
