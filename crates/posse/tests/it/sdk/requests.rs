//! What a host can ask for beside the conversation, request by request.

use serde_json::json;

use super::raw::{Talk, kinds, orders, user};
use super::*;

impl Talk {
    /// Asks for something and takes the answer.
    pub(super) fn ask(&mut self, request: Value) -> Value {
        let id = format!("q{}", self.seen.len());
        self.request(&id, request);
        let reply = self.reply(&id);
        assert_eq!(reply["subtype"], "success", "{reply}");
        reply["response"].clone()
    }

    /// Asks for something that is refused: why.
    pub(super) fn ask_in_vain(&mut self, request: Value) -> String {
        let id = format!("q{}", self.seen.len());
        self.request(&id, request);
        let reply = self.reply(&id);
        assert_eq!(reply["subtype"], "error", "{reply}");
        reply["error"].as_str().expect("a reason").to_owned()
    }

    pub(super) fn greet(&mut self, mut request: Value) -> Value {
        request["subtype"] = json!("initialize");
        self.ask(request)
    }

    /// Says something and takes the answer.
    pub(super) fn says(&mut self, text: &str) -> String {
        self.user(text);
        self.result()["result"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn does(&mut self, tool: &str, input: Value) -> String {
        self.says(&orders(json!([{"tool": tool, "input": input}])))
    }
}

fn transcript(env: &TestEnv, session: &str) -> String {
    let folder = env.path("home/.claude/projects");
    let projects = std::fs::read_dir(folder).expect("projects").flatten();
    let mut files = projects.map(|project| project.path().join(format!("{session}.jsonl")));
    std::fs::read_to_string(files.find(|file| file.exists()).expect("a transcript")).expect("text")
}

fn session_of(talk: &Talk) -> String {
    let named = talk.seen.iter().rev().find_map(|line| line["session_id"].as_str());
    named.expect("a session").to_owned()
}

#[test]
fn flag_settings_are_merged_and_count_at_once() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--settings", r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#]);
    talk.greet(json!({}));
    let touch = json!({"command": "touch made"});
    assert!(!talk.does("Bash", touch.clone()).is_empty() && !env.path("project/made").exists());
    talk.ask(
        json!({"subtype": "apply_flag_settings", "settings": {"permissions": {"allow": ["Bash(touch:*)"]}}}),
    );
    talk.does("Bash", touch.clone());
    assert!(env.path("project/made").exists());
    // What was there before stays; what was added under a key is replaced.
    let rules = talk.ask(json!({"subtype": "list_permission_rules"}));
    assert_eq!(pluck(&rules["state"]["rules"], "/rule"), "Bash(rm:*) Bash(touch:*)");
    assert_eq!(pluck(&rules["state"]["rules"], "/source"), "flagSettings flagSettings");
    talk.ask(
        json!({"subtype": "apply_flag_settings", "settings": {"permissions": null, "effortLevel": "low"}}),
    );
    let rules = talk.ask(json!({"subtype": "list_permission_rules"}));
    assert_eq!(pluck(&rules["state"]["rules"], "/rule"), "Bash(rm:*)");
    assert_eq!(talk.says(&orders(json!([{"echo": "/output_config/effort"}]))), "\"low\"");
    let home = env.path("home").display().to_string();
    let folders = json!({"permissions": {"additionalDirectories": [home]}});
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": folders}));
    let state = talk.ask(json!({"subtype": "list_permission_rules"}));
    assert!(pluck(&state["state"]["workspaceDirectories"], "/path").contains(&home), "{state}");
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": {"permissions": {}}}));
    let state = talk.ask(json!({"subtype": "list_permission_rules"}));
    assert_eq!(state["state"]["workspaceDirectories"], json!([]));
    // Variables reach commands, and what is no name does not become one.
    let settings =
        json!({"env": {"GREETING": "it's $HOME", "a;touch evil": "x"}, "permissions": {"allow": ["Bash"]}});
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": settings}));
    let said = talk.does("Bash", json!({"command": "printf %s \"$GREETING\""}));
    assert!(said.contains("it's $HOME") && !env.path("project/evil").exists(), "{said}");
    let settings = talk.ask(json!({"subtype": "get_settings"}));
    assert_eq!(settings["effective"]["effortLevel"], "low");
    assert_eq!(settings["effective"]["permissions"], json!({"allow": ["Bash"], "deny": ["Bash(rm:*)"]}));
    assert_eq!(settings["applied"]["effort"], "low");
    assert_eq!(pluck(&settings["sources"], "/source"), "flagSettings");
    let why =
        talk.ask_in_vain(json!({"subtype": "apply_flag_settings", "settings": {"permissions": {"deny": 7}}}));
    assert!(!why.is_empty());
    talk.ask_in_vain(json!({"subtype": "apply_flag_settings", "settings": 7}));
}

#[test]
fn what_was_changed_outlives_the_conversation() {
    let model = obedient();
    let env = world(&model);
    env.write("project/sub/x", "");
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let settings = json!({"permissions": {"allow": ["Bash"]}, "effortLevel": "low", "model": "claude-x-3"});
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": settings}));
    talk.says("/clear");
    let echo = json!([{"echo": "/output_config/effort"}, {"echo": "/model"}]);
    assert!(talk.says(&orders(echo)).contains("claude-x-3"));
    assert_eq!(model.requests().pop().unwrap().body["output_config"]["effort"], "low");
    talk.does("Bash", json!({"command": "touch made"}));
    assert!(env.path("project/made").exists());
    talk.ask(json!({"subtype": "set_cwd", "path": "sub"}));
    talk.says("hello");
    let init = talk.seen.iter().rev().find(|line| line["subtype"] == "init").unwrap();
    assert!(init["cwd"].as_str().unwrap().ends_with("project/sub"), "{init}");
}

#[test]
fn what_counts_only_at_the_start_is_said() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    talk.ask(
        json!({"subtype": "apply_flag_settings", "settings": {"cleanupPeriodDays": 3, "wholly_new": 1}}),
    );
    let notes: Vec<&Value> = talk.seen.iter().filter(|line| line["subtype"] == "informational").collect();
    let notes = pluck(&json!(notes), "/content");
    assert!(notes.contains("`cleanupPeriodDays` counts only at the start"), "{notes}");
    assert!(notes.contains("does not know the setting `wholly_new`"), "{notes}");
}

#[test]
fn hooks_and_modes_of_flag_settings_count_at_once() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let hook =
        json!([{"hooks": [{"type": "command", "command": "echo hooked >> hooked.txt", "timeout": 5}]}]);
    let settings =
        json!({"hooks": {"UserPromptSubmit": hook}, "permissions": {"defaultMode": "acceptEdits"}});
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": settings}));
    talk.says("hello");
    assert_eq!(env.read("project/hooked.txt"), "hooked\n");
    let listing = talk.ask(json!({"subtype": "get_hooks_listing"}));
    assert_eq!(
        (listing["events"][0]["name"].as_str(), &listing["events"][0]["hookCount"]),
        (Some("UserPromptSubmit"), &json!(1))
    );
    let row = &listing["hooks"][0];
    assert_eq!(
        (row["source"].as_str(), row["type"].as_str(), &row["timeout"]),
        (Some("flagSettings"), Some("command"), &json!(5.0))
    );
    assert_eq!(row["commandText"], "echo hooked >> hooked.txt");
    assert!(listing["eventCatalog"].as_array().unwrap().len() > 20);
    let init = talk.seen.iter().rev().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["permissionMode"], "acceptEdits");
    talk.ask(json!({"subtype": "apply_flag_settings", "settings": {"hooks": null}}));
    talk.says("again");
    assert_eq!(env.read("project/hooked.txt"), "hooked\n");
}

#[test]
fn of_settings_files_a_host_writes_only_what_is_no_power() {
    let model = obedient();
    let env = world(&model);
    let before = json!({"spinnerTipsEnabled": false, "permissions": {"ask": ["WebFetch"]}});
    env.write("project/.claude/settings.local.json", before.to_string());
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let update = |source: &str, settings: Value| json!({"subtype": "update_settings", "source": source, "settings": settings});
    talk.ask(update("localSettings", json!({"outputStyle": "x"})));
    let mut written = before.clone();
    written["outputStyle"] = json!("x");
    assert_eq!(json(&env.read("project/.claude/settings.local.json")), written);
    // It counts from the next turn on.
    talk.user("hi");
    assert_eq!(talk.until(|line| line["subtype"] == "init")["output_style"], "x");
    talk.result();
    talk.ask(update("userSettings", json!({"effortLevel": "low"})));
    assert_eq!(json(&env.read("home/.claude/settings.json")), json!({"effortLevel": "low"}));
    for (source, settings) in [
        ("localSettings", json!({"permissions": {"allow": ["Bash"]}})),
        ("localSettings", json!({"outputStyle": "y", "hooks": {}})),
        ("localSettings", json!({"outputStyle": null})),
        ("localSettings", json!({"effortLevel": "low"})),
        ("userSettings", json!({"effortLevel": "max"})),
        ("userSettings", json!({"effortLevel": "huge"})),
        ("userSettings", json!({"model": "opus"})),
        ("projectSettings", json!({"outputStyle": "y"})),
        ("policySettings", json!({"outputStyle": "y"})),
        ("elsewhere", json!({})),
    ] {
        talk.ask_in_vain(update(source, settings));
    }
    assert_eq!(json(&env.read("project/.claude/settings.local.json")), written);
    // What a person wrote with care is not written over.
    env.write("project/.claude/settings.local.json", "{ /* why */ }");
    let why = talk.ask_in_vain(update("localSettings", json!({"outputStyle": "z"})));
    assert!(why.contains("not plain JSON"), "{why}");
    assert_eq!(env.read("project/.claude/settings.local.json"), "{ /* why */ }");
    let (code, ..) = talk.finish();
    assert_eq!(code, Some(0));
    let mut talk = Talk::start(&env, &["--setting-sources", "user"]);
    talk.greet(json!({}));
    let why = talk.ask_in_vain(update("localSettings", json!({"outputStyle": "z"})));
    assert!(why.contains("--setting-sources"), "{why}");
}

#[test]
fn secrets_of_settings_are_not_told() {
    let model = obedient();
    let env = world(&model);
    let settings = r#"{"env": {"GITHUB_TOKEN": "ghp_x", "PLAIN": "y"}}"#;
    let mut talk = Talk::start(&env, &["--settings", settings]);
    talk.greet(json!({}));
    let settings = talk.ask(json!({"subtype": "get_settings"}));
    assert_eq!(settings["effective"]["env"], json!({"GITHUB_TOKEN": "[hidden]", "PLAIN": "y"}));
    assert!(!settings.to_string().contains("ghp_x") && !settings.to_string().contains("sk-ant-test"));
}

#[test]
fn a_model_chosen_during_a_turn_answers_its_next_request() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--permission-prompt-tool=stdio", "--replay-user-messages"]);
    talk.greet(json!({}));
    talk.user(&orders(json!([{"tool": "Bash", "input": {"command": "touch x"}}])));
    let ask = talk.asked("can_use_tool");
    let chosen = talk.ask(json!({"subtype": "set_model", "model": "claude-x-9"}));
    assert_eq!(chosen, json!({"model": "claude-x-9"}));
    talk.ask(json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 3000, "thinking_display": "omitted"}));
    talk.answer(&ask["request_id"], json!({"behavior": "allow", "updatedInput": {"command": "touch x"}}));
    talk.result();
    talk.says("more");
    let asked: Vec<Value> = model.requests().into_iter().map(|request| request.body).collect();
    let models = pluck(&json!(asked), "/model");
    assert!(models.ends_with(" claude-x-9 claude-x-9") && !models.starts_with("claude-x-9"), "{models}");
    assert_eq!(asked[1]["thinking"], json!({"type": "enabled", "budget_tokens": 3000, "display": "omitted"}));
    let init = talk.seen.iter().rev().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["model"], "claude-x-9");
    let said = json!("<local-command-stdout>Set model to claude-x-9</local-command-stdout>");
    let replayed = talk.seen.iter().find(|line| line["message"]["content"] == said).unwrap();
    assert_eq!(replayed["isReplay"], true);
    // Nothing said leaves the budget; null is how it began.
    talk.ask(json!({"subtype": "set_max_thinking_tokens", "thinking_display": "summarized"}));
    talk.says("once more");
    let last = model.requests().pop().unwrap().body;
    assert_eq!(last["thinking"], json!({"type": "enabled", "budget_tokens": 3000, "display": "summarized"}));
    talk.ask_in_vain(json!({"subtype": "set_max_thinking_tokens", "thinking_display": "highlights"}));
    talk.ask(json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": null}));
    talk.says("the end");
    assert_ne!(model.requests().pop().unwrap().body["thinking"]["budget_tokens"], 3000);
}

#[test]
fn files_are_read_as_far_as_rules_allow() {
    let model = obedient();
    let env = world(&model);
    env.write("project/a.txt", "hello");
    env.write("project/b.bin", [0xff, 0xfe, 0x00]);
    env.write("project/secret/key", "k");
    let mut talk = Talk::start(&env, &["--settings", r#"{"permissions": {"deny": ["Read(secret/**)"]}}"#]);
    talk.greet(json!({}));
    let at = |name: &str| env.path(name).canonicalize().unwrap().display().to_string();
    let read = talk.ask(json!({"subtype": "read_file", "path": "a.txt"}));
    assert_eq!((read["contents"].as_str(), read["lossy"].as_bool()), (Some("hello"), Some(false)));
    assert_eq!(
        std::path::Path::new(read["absPath"].as_str().unwrap()).canonicalize().unwrap().display().to_string(),
        at("project/a.txt")
    );
    let read = talk.ask(json!({"subtype": "read_file", "path": "a.txt", "max_bytes": 2}));
    assert_eq!((&read["contents"], &read["truncated"]), (&json!("he"), &json!(true)));
    let read = talk.ask(json!({"subtype": "read_file", "path": "b.bin"}));
    assert_eq!(read["lossy"], true);
    let read = talk.ask(json!({"subtype": "read_file", "path": "b.bin", "encoding": "base64"}));
    assert_eq!((&read["contents"], &read["encoding"]), (&json!("//4A"), &json!("base64")));
    for path in ["secret/key", "nowhere", "secret", "/etc/shadow"] {
        talk.ask_in_vain(json!({"subtype": "read_file", "path": path}));
    }
    talk.ask_in_vain(json!({"subtype": "read_file"}));
    let names = talk.ask(json!({"subtype": "file_suggestions", "query": "a.t"}));
    assert_eq!(pluck(&names["suggestions"], "/displayText"), "a.txt");
    assert!(names["cwd"].as_str().unwrap().ends_with("project"));
    let names = talk.ask(json!({"subtype": "file_suggestions", "query": "key"}));
    assert_eq!(names["suggestions"], json!([]));
}

#[test]
fn a_file_the_host_knows_to_be_read_can_be_edited() {
    let model = obedient();
    let env = world(&model);
    let file = env.write("project/a.txt", "one");
    let mut talk = Talk::start(&env, &["--permission-mode", "acceptEdits"]);
    talk.greet(json!({}));
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    talk.does("Edit", edit.clone());
    assert_eq!(env.read("project/a.txt"), "one");
    let modified = file.metadata().unwrap().modified().unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let seed = |mtime: u128| json!({"subtype": "seed_read_state", "path": "a.txt", "mtime": u64::try_from(mtime).unwrap()});
    // The host has seen an older one.
    talk.ask(seed(since - 1000));
    talk.does("Edit", edit.clone());
    assert_eq!(env.read("project/a.txt"), "one");
    talk.ask(seed(since));
    talk.does("Edit", edit);
    assert_eq!(env.read("project/a.txt"), "two");
    talk.ask_in_vain(json!({"subtype": "seed_read_state", "path": "a.txt"}));
}

#[test]
fn the_session_works_in_other_folders_that_belong_to_it() {
    let model = obedient();
    let env = world(&model);
    env.write("project/sub/x", "");
    env.write("project/other/x", "");
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.greet(json!({}));
    let moved = talk.ask(json!({"subtype": "set_cwd", "path": "sub"}));
    assert!(moved["cwd"].as_str().unwrap().ends_with("project/sub"), "{moved}");
    assert!(talk.does("Bash", json!({"command": "pwd"})).contains("project/sub"));
    for path in ["/", "x", "nowhere"] {
        talk.ask_in_vain(json!({"subtype": "set_cwd", "path": path}));
    }
    let other = env.path("project/other").display().to_string();
    talk.ask(json!({"subtype": "register_repo_root", "directory": other}));
    assert!(
        talk.ask_in_vain(json!({"subtype": "register_repo_root", "directory": other})).contains("already")
    );
    talk.ask_in_vain(json!({"subtype": "register_repo_root", "directory": env.path("home")}));
    let state = talk.ask(json!({"subtype": "list_permission_rules"}));
    let folders = &state["state"]["workspaceDirectories"];
    assert!(
        pluck(folders, "/path").contains("project/other") && pluck(folders, "/source").contains("session"),
        "{state}"
    );
    assert!(state["state"]["originalCwd"].as_str().unwrap().ends_with("project"));
}

#[test]
fn a_session_is_renamed_and_the_title_is_found_again() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({"title": "From the start"}));
    talk.says("hello");
    let session = session_of(&talk);
    assert!(transcript(&env, &session).contains(r#""customTitle":"From the start""#));
    talk.request("n", json!({"subtype": "rename_session", "title": " A better one ", "source": "host", "session_id": session}));
    talk.reply("n");
    let changed = talk.until(|line| line["subtype"] == "session_title_changed");
    assert_eq!((&changed["title"], &changed["source"]), (&json!("A better one"), &json!("host")));
    talk.ask_in_vain(json!({"subtype": "rename_session", "title": "x", "session_id": "another"}));
    talk.ask_in_vain(json!({"subtype": "rename_session", "title": "  "}));
    talk.ask(json!({"subtype": "set_color", "color": "blue"}));
    talk.ask(json!({"subtype": "set_color", "color": "default"}));
    talk.ask_in_vain(json!({"subtype": "set_color", "color": "plaid"}));
    talk.says("more");
    assert_eq!(talk.finish().0, Some(0));
    let text = transcript(&env, &session);
    assert!(text.contains(r#""agentColor":"blue""#), "{text}");
    // A long conversation is looked at from its end.
    assert_eq!(json(text.lines().last().unwrap())["customTitle"], "A better one");
    let listed = env.posse(&["sessions"]).success();
    assert!(listed.contains("A better one"), "{listed}");
    let mut talk = Talk::start(&env, &["--resume", "A better one"]);
    talk.greet(json!({"title": "Not this one"}));
    talk.says("again");
    assert_eq!(session_of(&talk), session);
    assert_eq!(talk.finish().0, Some(0));
    assert!(!transcript(&env, &session).contains("Not this one"));
}

#[test]
fn titles_and_answers_are_made_beside_the_conversation() {
    let model = FakeModel::answering(|request| {
        let text = request.body["messages"].to_string();
        let said = if text.contains("Write a title") {
            "\"Mending the Fence\""
        } else if text.contains("beside the work") {
            "It is about fences."
        } else {
            "Done."
        };
        MessagesReply::new().text(said).answer()
    });
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    talk.says("mend the fence");
    let title = talk
        .ask(json!({"subtype": "generate_session_title", "description": "mend the fence", "persist": true}));
    assert_eq!(title, json!({"title": "Mending the Fence"}));
    assert!(transcript(&env, &session_of(&talk)).contains(r#""aiTitle":"Mending the Fence""#));
    let history = json!([{"question": "and before?", "response": "Nothing."}]);
    let answer =
        talk.ask(json!({"subtype": "side_question", "question": "What is it about?", "history": history}));
    assert_eq!(answer, json!({"response": "It is about fences.", "synthetic": false}));
    let asked = model.requests().pop().unwrap().body;
    let said = asked["messages"].to_string();
    for part in ["mend the fence", "Done.", "and before?", "Nothing.", "What is it about?"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Nothing of it is left in the conversation.
    talk.says("go on");
    let next = model.requests().pop().unwrap().body["messages"].to_string();
    assert!(!next.contains("What is it about?"), "{next}");
}

#[test]
fn the_output_of_commands_in_the_background_can_be_read() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--allowedTools", "Bash"]);
    talk.greet(json!({}));
    let input = json!({"command": "echo printed; read -r never < /dev/zero", "run_in_background": true});
    let said = talk.does("Bash", input);
    let id = said.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let id = id
        .filter(|word| word.starts_with('b') && word.len() > 5)
        .find(|word| word.chars().any(|c| c.is_ascii_digit()));
    let id = id.unwrap_or_else(|| panic!("{said}"));
    loop {
        let output = talk.ask(json!({"subtype": "get_task_output", "task_id": id}));
        if output["output"] == "printed\n" {
            assert_eq!((&output["total_bytes"], &output["truncated"]), (&json!(8), &json!(false)));
            break;
        }
    }
    talk.ask_in_vain(json!({"subtype": "get_task_output", "task_id": "nobody"}));
    talk.ask(json!({"subtype": "stop_task", "task_id": id}));
}

#[test]
fn skills_and_plugins_are_looked_at_again() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    env.write(
        "project/.claude/skills/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n",
    );
    let skills = talk.ask(json!({"subtype": "reload_skills"}));
    assert!(pluck(&skills["skills"], "/name").contains("tidy"), "{skills}");
    env.write("extra/.claude-plugin/plugin.json", r#"{"name": "extra", "version": "1.0.0"}"#);
    env.write("extra/commands/hi.md", "Say hi.\n");
    let path = env.path("extra");
    let reloaded =
        talk.ask(json!({"subtype": "reload_plugins", "add_plugins": [{"type": "local", "path": path}]}));
    assert_eq!(pluck(&reloaded["plugins"], "/name"), "extra");
    assert!(pluck(&reloaded["commands"], "/name").contains("extra:hi"), "{reloaded}");
    assert_eq!(reloaded["error_count"], 0);
    assert!(talk.says("/extra:hi").contains("Say hi."));
    let why = talk.ask_in_vain(
        json!({"subtype": "reload_plugins", "add_plugins": [{"type": "local", "path": "extra"}]}),
    );
    assert!(why.contains("absolute"), "{why}");
    let styles = talk.ask(json!({"subtype": "reload_output_styles"}));
    assert_eq!(styles, json!({"available_output_styles": ["default"]}));
}

#[test]
fn what_was_used_is_told() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    let usage = talk.ask(json!({"subtype": "get_usage"}));
    assert_eq!(
        (&usage["session"]["model_usage"], &usage["rate_limits_available"]),
        (&json!({}), &json!(false))
    );
    talk.user("hello");
    let end = talk.result();
    let usage = talk.ask(json!({"subtype": "get_usage", "skip_behaviors": true}));
    assert_eq!(usage["session"]["total_cost_usd"], end["total_cost_usd"]);
    assert_eq!(usage["session"]["model_usage"], end["modelUsage"]);
    assert!(talk.ask(json!({"subtype": "get_session_cost"}))["text"].as_str().unwrap().contains('$'));
}

#[test]
fn the_window_is_told_part_by_part() {
    let model = obedient();
    let env = world(&model);
    env.write("project/CLAUDE.md", "Be brief, be kind, and mind the fence.");
    env.agent("helper.md", "---\nname: helper\ndescription: Helps with fences.\n---\nHelp.\n");
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    // Before anything is said everything is estimated; the model of these tests counts next to nothing.
    let usage = talk.ask(json!({"subtype": "get_context_usage"}));
    let ids = pluck(&usage["categories"], "/id");
    let parts =
        "system_prompt system_tools custom_agents memory_files messages free_space autocompact_buffer";
    assert_eq!(ids, parts, "{usage:#}");
    assert!(usage["apiUsage"].is_null());
    env.write("project/a.txt", "hello");
    talk.does("Read", json!({"file_path": "a.txt"}));
    let usage = talk.ask(json!({"subtype": "get_context_usage"}));
    assert_eq!(usage["agents"][0]["agentType"], "helper");
    assert!(usage["memoryFiles"][0]["path"].as_str().unwrap().ends_with("CLAUDE.md"));
    assert_eq!(usage["messageBreakdown"]["toolCallsByType"][0]["name"], "Read");
    assert!(usage["apiUsage"]["input_tokens"].is_u64() && usage["autoCompactThreshold"].is_u64());
    let summary = talk.ask(json!({"subtype": "get_context_usage", "detail": "summary"}));
    assert!(summary["messageBreakdown"].is_null() && summary["gridRows"] == json!([]));
    let before = talk.seen.len();
    talk.user("/context");
    let end = talk.result();
    assert_eq!(kinds(&talk.seen[before..]), "init assistant result");
    let said = talk.seen[before + 1]["message"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("### Memory files") && said.contains("| helper |"), "{said}");
    assert_eq!((&end["num_turns"], end["terminal_reason"].is_null()), (&json!(0), true));
}

#[test]
fn a_greeting_is_answered_in_full() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.request(
        "g",
        json!({"subtype": "initialize", "promptSuggestions": true, "systemPromptSnapshot": false}),
    );
    let envelope = talk.reply("g");
    assert_eq!(envelope["pending_permission_requests"], json!([]));
    assert_eq!(envelope["pending_user_dialog_requests"], json!([]));
    let reply = &envelope["response"];
    assert_eq!(reply["fast_mode_state"], "off");
    assert_eq!(
        reply["account"],
        json!({"apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty", "tokenSource": "none"})
    );
    assert_eq!(reply["models"][1]["supportsAdaptiveThinking"], true);
    assert!(reply["plugins_applied"].is_null() && reply["managed_settings_applied"].is_null());
}

#[test]
fn tools_can_be_called_by_other_names_and_plans_made_in_other_ways() {
    let model = obedient();
    let env = world(&model);
    env.write("project/a.txt", "hello");
    let mut talk = Talk::start(&env, &["--permission-mode", "plan"]);
    talk.greet(json!({"toolAliases": {"Peek": "Read", "Read": "Write"}, "planModeInstructions": "Draw a map first."}));
    assert!(talk.does("Peek", json!({"file_path": "a.txt"})).contains("hello"));
    let task = orders(json!([{"tool": "Peek", "input": {"file_path": "a.txt"}}]));
    let call = json!({
        "description": "d", "prompt": task, "subagent_type": "general-purpose", "run_in_background": false,
    });
    assert!(talk.does("Agent", call).contains("hello"));
    let said = model.requests()[0].body["messages"].to_string();
    assert!(said.contains("Draw a map first.") && said.contains("change nothing"), "{said}");
    assert!(!said.contains("Decide on one way"), "{said}");
}

#[test]
fn a_prompt_that_is_the_same_everywhere_names_no_machine() {
    let model = obedient();
    let env = world(&model);
    for without in [false, true] {
        let mut talk = Talk::start(&env, &[]);
        talk.greet(json!({"excludeDynamicSections": without}));
        talk.says("hello");
        let asked = model.requests().pop().unwrap().body;
        let part = "Working directory";
        assert_eq!(asked["system"].to_string().contains(part), !without);
        assert_eq!(asked["messages"][0].to_string().contains(part), without);
    }
}

#[test]
fn plugins_come_with_the_greeting_where_it_is_waited_for() {
    let model = obedient();
    let env = world(&model);
    env.write("extra/.claude-plugin/plugin.json", r#"{"name": "extra", "version": "1.0.0"}"#);
    let plugins = json!([{"type": "local", "path": env.path("extra")}]);
    for (flags, applied) in [(&["--await-initialize"][..], true), (&[], false)] {
        let mut talk = Talk::start(&env, flags);
        assert_eq!(talk.greet(json!({"plugins": plugins}))["plugins_applied"], applied);
        assert_eq!(talk.greet(json!({"plugins": plugins}))["plugins_applied"], applied);
        talk.says("hello");
        let init = talk.seen.iter().find(|line| line["subtype"] == "init").unwrap();
        assert_eq!(pluck(&init["plugins"], "/name"), if applied { "extra" } else { "" });
    }
}

#[test]
fn whoever_starts_posse_can_take_away_but_not_give() {
    let model = obedient();
    let env = world(&model);
    let settings = json!({"permissions": {"deny": ["Bash"], "allow": ["Write"]}});
    let write = json!({"file_path": "w.txt", "content": "w"});
    let check = |talk: &mut Talk| {
        talk.does("Bash", json!({"command": "touch made"}));
        talk.does("Write", write.clone());
        assert!(!env.path("project/made").exists() && !env.path("project/w.txt").exists());
        let rules = talk.ask(json!({"subtype": "list_permission_rules"}));
        assert_eq!(pluck(&rules["state"]["rules"], "/source"), "policySettings cliArg", "{rules}");
    };
    let text = settings.to_string();
    let mut talk = Talk::start(&env, &["--managed-settings", &text, "--allowedTools", "Bash"]);
    talk.greet(json!({}));
    check(&mut talk);
    let mut talk = Talk::start(
        &env,
        &["--managed-settings-in-initialize", "--await-initialize", "--allowedTools", "Bash"],
    );
    assert_eq!(talk.greet(json!({"managedSettings": settings}))["managed_settings_applied"], true);
    check(&mut talk);
    let mut talk = Talk::start(&env, &[]);
    assert_eq!(talk.greet(json!({"managedSettings": settings}))["managed_settings_applied"], false);
    let (code, _, stderr) = Talk::start(&env, &["--managed-settings", "{", "hello"]).finish();
    assert!(code != Some(0) && stderr.contains("--managed-settings"), "{stderr}");
}

#[test]
fn a_worktree_is_worked_in_by_the_rules_of_its_checkout() {
    let model = obedient();
    let mut env = world(&model);
    env.write("main/.claude/settings.json", r#"{"permissions": {"deny": ["Bash(touch:*)"]}}"#);
    env.write("tree/.claude/settings.json", r#"{"permissions": {"deny": ["Read"]}}"#);
    env.write("main/.claude/agents/ours.md", "---\nname: ours\ndescription: Ours.\n---\nHelp.\n");
    env.write("tree/a.txt", "hello");
    env.enter("tree");
    let root = env.path("main").display().to_string();
    let mut talk = Talk::start(&env, &["--project-config-root", &root, "--allowedTools", "Bash"]);
    let reply = talk.greet(json!({}));
    assert!(pluck(&reply["agents"], "/name").contains("ours"));
    assert!(talk.does("Read", json!({"file_path": "a.txt"})).contains("hello"));
    talk.does("Bash", json!({"command": "touch made"}));
    assert!(!env.path("tree/made").exists());
}

#[test]
fn everything_that_happens_can_be_written_down() {
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &["--debug-file", "debug.log", "--agent", "nobody"]);
    talk.greet(json!({}));
    talk.says("hello");
    talk.ask(json!({"subtype": "get_usage"}));
    let (code, lines, stderr) = talk.finish();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let log = env.read("project/debug.log");
    for part in ["request", "reply", "finished", "asked for get_usage"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    let notes: Vec<&Value> = lines.iter().filter(|line| line["subtype"] == "informational").collect();
    assert!(pluck(&json!(notes), "/content").contains("no agent called `nobody`"), "{notes:?}");
}

#[test]
fn a_host_vouches_for_the_folder() {
    let model = obedient();
    let env = world(&model);
    env.write("project/.claude/settings.json", r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#);
    for (accepted, made) in [(false, false), (true, true)] {
        let mut talk = Talk::start(&env, &[]);
        let folder = env.path("project");
        talk.greet(json!({"workspaceTrust": {"accepted": accepted, "directory": folder}}));
        talk.does("Bash", json!({"command": "touch made"}));
        assert_eq!(env.path("project/made").exists(), made);
    }
}

#[test]
fn what_is_said_meanwhile_is_not_lost() {
    // A request that takes long holds up neither the turn nor other requests.
    let model = obedient();
    let env = world(&model);
    let mut talk = Talk::start(&env, &[]);
    talk.greet(json!({}));
    talk.request("t", json!({"subtype": "generate_session_title", "description": "x"}));
    talk.send(&user("hello"));
    talk.request("u", json!({"subtype": "get_usage"}));
    talk.reply("u");
    talk.close();
    let (code, lines, _) = talk.finish();
    assert_eq!(code, Some(0));
    assert!(lines.iter().any(|line| line["type"] == "result"));
}

#[test]
fn files_that_a_prompt_mentions_are_read_as_far_as_rules_go() {
    let model = obedient();
    let env = world(&model);
    let rules = json!({"permissions": {"deny": ["Read(secret/**)"]}});
    env.write("project/.claude/settings.json", rules.to_string());
    env.write("project/notes.txt", "one\ntwo\nthree\n");
    env.write("project/secret/key.txt", "hidden\n");
    env.write("project/secret/other.txt", "hidden\n");
    env.write("project/folder/a.txt", "");
    let echo = |prompt: &str| format!("{prompt} {}", orders(json!([{"echo": "/messages"}])));
    let mut talk = Talk::start(&env, &["--permission-mode", "acceptEdits"]);
    talk.greet(json!({}));
    let mut said = |prompt: &str| {
        talk.user(prompt);
        talk.result()["result"].as_str().unwrap_or_default().to_owned()
    };
    let heard = said(&echo("See @notes.txt#L2-3, @secret/key.txt, @folder, @gone.txt, me@notes.txt."));
    assert!(heard.contains("2\\ttwo\\n     3\\tthree") && !heard.contains("1\\tone"), "{heard}");
    assert!(heard.contains("the folder folder. It holds:\\na.txt"), "{heard}");
    assert!(!heard.contains("hidden") && !heard.contains("mentions gone.txt"), "{heard}");
    assert!(!said(&echo("And @secret")).contains("other.txt"));
    // What was read so can be changed.
    let edit = json!({"file_path": env.path("project/notes.txt"), "old_string": "two", "new_string": "2"});
    said(&orders(json!([{"tool": "Edit", "input": edit}])));
    assert_eq!(env.read("project/notes.txt"), "one\n2\nthree\n");
    // What a tool says mentions nothing.
    env.write("project/says.txt", "See @folder/a.txt\n");
    said(&orders(json!([{"tool": "Read", "input": {"file_path": env.path("project/says.txt")}}])));
    assert!(!said(&echo("go on")).contains("mentions folder/a.txt"));
    let (_, seen, _) = talk.finish();
    let session = seen.last().and_then(|line| line["session_id"].as_str()).unwrap_or_default().to_owned();
    // Another run that goes on has them, too.
    let mut talk = Talk::start(&env, &["--resume", &session]);
    talk.greet(json!({}));
    talk.user(&echo("again"));
    let heard = talk.result()["result"].as_str().unwrap_or_default().to_owned();
    assert!(heard.contains("2\\ttwo\\n     3\\tthree"), "{heard}");
}
