//! Every source, its rank, and the switches that turn sources off.

use super::*;
use crate::catalog::SettingSources;

fn everywhere() -> TestEnv {
    let env = TestEnv::new();
    for (place, description) in [
        ("home/.claude/agents/a.md", "user"),
        ("project/.claude/agents/a.md", "project top"),
        ("project/sub/.claude/agents/deep/a.md", "nearest"),
        ("managed/.claude/agents/a.md", "managed"),
        ("extra/.claude/agents/a.md", "added"),
    ] {
        env.write(place, agent("same", description));
    }
    env.write("home/.claude/agents/u.md", agent("of-user", "user"));
    env.write("extra/.claude/agents/x.md", agent("of-extra", "added"));
    env.write("project/.claude/agents/p.md", agent("of-project", "project"));
    env
}

fn options(env: &TestEnv) -> CatalogOptions {
    CatalogOptions {
        add_dirs: vec![env.path("extra")],
        agents: Some(r#"{"same": {"description": "flag", "prompt": ""}, "of-flag": {"description": "f", "prompt": "p"}}"#.into()),
        ..CatalogOptions::default()
    }
}

#[test]
fn the_strongest_source_wins_and_all_others_are_remembered() {
    let mut env = everywhere();
    env.enter("project/sub");
    assert_eq!(
        summary(&env, &options(&env)),
        "\
of-extra project added
of-flag flag f
of-project project project
of-user user user
same managed managed
  shadowed same flag by managed
  shadowed same project by managed
  shadowed same project by managed
  shadowed same project by managed
  shadowed same user by managed"
    );
    std::fs::remove_dir_all(env.path("managed")).unwrap();
    let without_flag = CatalogOptions { agents: None, ..options(&env) };
    let catalog = load(&env, &without_flag);
    assert_eq!(&*catalog.registry.get("same").unwrap().description, "nearest");
}

#[test]
fn folders_below_the_working_directory_and_above_the_repository_are_not_read() {
    let mut env = TestEnv::new();
    env.write("project/below/.claude/agents/a.md", agent("below", "x"));
    env.write(".claude/agents/a.md", agent("above", "x"));
    assert_eq!(summary(&env, &CatalogOptions::default()), "");
    env.enter("project/below");
    assert_eq!(summary(&env, &CatalogOptions::default()), "below project x");
}

#[test]
fn without_a_repository_the_walk_goes_on_and_meets_the_users_folder_only_once() {
    let mut env = TestEnv::new();
    env.write("home/.claude/agents/u.md", agent("of-user", "user"));
    env.enter("home/work/deep");
    assert_eq!(summary(&env, &CatalogOptions::default()), "of-user user user");
}

#[test]
fn a_linked_worktree_without_agents_uses_those_of_the_main_checkout() {
    let mut env = TestEnv::new();
    std::fs::remove_dir_all(env.path("project/.git")).unwrap();
    env.git("project", &["init", "--quiet"]);
    env.git("project", &["commit", "--quiet", "--allow-empty", "-m", "start"]);
    env.write("project/.claude/agents/a.md", agent("main-only", "not committed"));
    env.git("project", &["worktree", "add", "--quiet", "../linked"]);
    env.enter("linked");
    assert_eq!(summary(&env, &CatalogOptions::default()), "main-only project not committed");
    env.write("linked/.claude/agents/b.md", agent("own", "x"));
    assert_eq!(summary(&env, &CatalogOptions::default()), "own project x");
}

#[test]
fn a_project_can_replace_a_built_in_agent() {
    let env = TestEnv::new();
    env.agent("Explore.md", &agent("Explore", "mine"));
    assert_eq!(
        summary(&env, &CatalogOptions::default()),
        "Explore project mine\n  shadowed Explore built-in by project"
    );
}

#[test]
fn of_two_files_in_one_folder_the_first_path_wins() {
    let env = TestEnv::new();
    env.agent("z.md", &agent("twin", "z"));
    env.agent("a/later.md", &agent("twin", "a/later"));
    env.agent("b.md", &agent("twin", "b"));
    let catalog = load(&env, &CatalogOptions::default());
    assert_eq!(&*catalog.registry.get("twin").unwrap().description, "a/later");
    assert_eq!(
        problems(&env, &CatalogOptions::default()),
        "project/.claude/agents/b.md:2:7 duplicate-name\nproject/.claude/agents/z.md:2:7 duplicate-name"
    );
}

#[test]
fn agents_in_settings_files_are_the_weakest_of_their_layer() {
    let env = TestEnv::new();
    let settings =
        |text: &str| format!(r#"{{"agents": {{"s": {{"description": "{text}", "prompt": "p"}}}}}}"#);
    env.write("home/.claude/settings.json", settings("user settings"));
    assert_eq!(summary(&env, &CatalogOptions::default()), "s user user settings");
    env.write("home/.claude/agents/s.md", agent("s", "user file"));
    assert_eq!(summary(&env, &CatalogOptions::default()), "s user user file\n  shadowed s user by user");
    env.write("project/.claude/settings.json", settings("project settings"));
    let catalog = load(&env, &CatalogOptions::default());
    assert_eq!(&*catalog.registry.get("s").unwrap().description, "project settings");
    env.write("project/.claude/settings.local.json", settings("local settings"));
    let catalog = load(&env, &CatalogOptions::default());
    assert_eq!(&*catalog.registry.get("s").unwrap().description, "local settings");
}

#[test]
fn a_bad_agent_in_settings_is_reported_with_its_place_and_harms_nobody() {
    let env = TestEnv::new();
    env.write(
        "project/.claude/settings.json",
        "{\n  \"agents\": {\n    \"bad\": {\"prompt\": \"p\"},\n    \"good\": {\"description\": \"d\", \"prompt\": \"p\"}\n  }\n}",
    );
    assert_eq!(
        summary(&env, &CatalogOptions::default()),
        "good project d\n  failed settings.json invalid-definition"
    );
    assert_eq!(
        problems(&env, &CatalogOptions::default()),
        "project/.claude/settings.json:3:5 invalid-definition"
    );
}

#[test]
fn bare_and_safe_mode_and_setting_sources_leave_sources_out() {
    let mut env = everywhere();
    std::fs::remove_file(env.path("managed/.claude/agents/a.md")).unwrap();
    env.write("managed/.claude/agents/m.md", agent("of-managed", "m"));
    let base = CatalogOptions {
        agents: Some(r#"{"of-flag": {"description": "f", "prompt": ""}}"#.into()),
        ..options(&env)
    };
    let names = |env: &TestEnv, options: &CatalogOptions| {
        let catalog = load(env, options);
        let custom = catalog.registry.active.iter().filter(|agent| agent.source.origin.word() != "built-in");
        custom.map(|agent| agent.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&env, &base), "of-extra of-flag of-managed of-project of-user same");
    assert_eq!(names(&env, &CatalogOptions { bare: true, ..base.clone() }), "of-flag of-managed");
    assert_eq!(names(&env, &CatalogOptions { safe_mode: true, ..base.clone() }), "");
    let only = |user, project| SettingSources { user, project, local: false };
    assert_eq!(
        names(&env, &CatalogOptions { sources: only(true, false), ..base.clone() }),
        "of-flag of-managed of-user same"
    );
    assert_eq!(
        names(&env, &CatalogOptions { sources: only(false, true), ..base.clone() }),
        "of-extra of-flag of-managed of-project same"
    );
    env.set("CLAUDE_CODE_SIMPLE", "1");
    assert_eq!(names(&env, &base), "of-flag of-managed");
}

#[test]
fn the_environment_switches_built_in_agents_off() {
    let built_ins = |name: &str, value: &str, headless: bool| {
        let mut env = TestEnv::new();
        env.set(name, value);
        let catalog = load(&env, &CatalogOptions { headless, ..CatalogOptions::default() });
        catalog.registry.active.iter().map(|agent| agent.name.to_string()).collect::<Vec<_>>()
    };
    let all = built_ins("UNRELATED", "1", true);
    assert!(all.contains(&"claude-code-guide".to_owned()) && all.contains(&"Explore".to_owned()));
    assert_eq!(built_ins("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "1", true), Vec::<String>::new());
    assert_eq!(built_ins("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "0", true), all);
    assert_eq!(built_ins("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "1", false), all);
    let fewer = built_ins("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS", "1", true);
    assert_eq!(fewer.len(), all.len() - 2);
    assert!(!built_ins("CLAUDE_CODE_ENTRYPOINT", "sdk-py", true).contains(&"claude-code-guide".to_owned()));
}

#[test]
fn the_config_folder_can_be_moved_and_settings_can_set_switches() {
    let mut env = TestEnv::new();
    env.write("elsewhere/agents/a.md", agent("moved", "x"));
    env.write("elsewhere/settings.json", r#"{"env": {"CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS": "1"}}"#);
    let folder = env.path("elsewhere").display().to_string();
    env.set("CLAUDE_CONFIG_DIR", &folder);
    let catalog = load(&env, &CatalogOptions::default());
    assert!(catalog.registry.get("moved").is_some());
    assert!(catalog.registry.get("Explore").is_none());
}

#[test]
fn the_administrator_can_keep_agents_hooks_and_servers_to_plugins() {
    let env = everywhere();
    env.write("managed/managed-settings.json", r#"{"strictPluginOnlyCustomization": true}"#);
    assert_eq!(
        summary(&env, &options(&env)),
        "of-flag flag f\nsame managed managed\n  shadowed same flag by managed"
    );
    let reported = problems(&env, &options(&env));
    assert!(reported.contains("home/.claude/agents source-disabled"), "{reported}");
    assert!(reported.contains("project/.claude/agents source-disabled"), "{reported}");
    env.write(
        "managed/managed-settings.d/10-hooks.json",
        r#"{"strictPluginOnlyCustomization": ["hooks", "mcp"]}"#,
    );
    env.agent(
        "h.md",
        "---\nname: hooked\ndescription: d\nhooks: {Stop: [{hooks: [{type: command, command: x}]}]}\nmcpServers: [db]\n---\n",
    );
    let reported = problems(&env, &CatalogOptions::default());
    assert!(reported.contains("project/.claude/agents/h.md:4:1 policy-field-ignored"), "{reported}");
    assert!(reported.contains("project/.claude/agents/h.md:5:1 policy-field-ignored"), "{reported}");
}

#[test]
fn the_administrator_can_forbid_sideloading() {
    let env = TestEnv::new();
    env.write("managed/managed-settings.json", r#"{"disableSideloadFlags": true}"#);
    let options = CatalogOptions { agents: Some("{}".into()), ..CatalogOptions::default() };
    let error = Catalog::load(&world(&env), &options).unwrap_err();
    assert!(matches!(error, LoadError::Forbidden { flag: "--agents", .. }), "{error:?}");
    let plugins = vec![env.path("plugin")];
    let bare = CatalogOptions { plugin_dirs_without_servers: plugins, ..CatalogOptions::default() };
    let error = Catalog::load(&world(&env), &bare).unwrap_err();
    assert!(matches!(error, LoadError::Forbidden { flag: "--plugin-dir-no-mcp", .. }), "{error:?}");
    assert!(Catalog::load(&world(&env), &CatalogOptions::default()).is_ok());
    // Only the administrator may: the same key elsewhere is reported and does nothing.
    std::fs::remove_file(env.path("managed/managed-settings.json")).unwrap();
    env.write("project/.claude/settings.json", r#"{"disableSideloadFlags": true}"#);
    assert!(Catalog::load(&world(&env), &options).is_ok());
    assert_eq!(problems(&env, &options), "project/.claude/settings.json:1:2 invalid-setting");
}

#[test]
fn one_bad_entry_of_the_agents_flag_refuses_the_start_with_every_problem() {
    let env = TestEnv::new();
    let given = r#"{"a": {"prompt": "p"}, "b": {"description": "d", "prompt": 5, "maxTurns": 0}, "-c": {"description": "d", "prompt": ""}}"#;
    let file = env.write("agents.json", given);
    for agents in [given.to_owned(), file.display().to_string()] {
        let options = CatalogOptions { agents: Some(agents), ..CatalogOptions::default() };
        let Err(LoadError::Agents(diagnostics)) = Catalog::load(&world(&env), &options) else {
            panic!("must refuse")
        };
        let said: Vec<_> =
            diagnostics.iter().map(|one| (one.location.map(|at| at.column), one.text.as_str())).collect();
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said.iter().all(|(column, _)| column.is_some()), "{said:?}");
        let all = said.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
        for part in ["a.description", "b.prompt", "maxTurns", "-c"] {
            assert!(all.contains(part), "{part} in {all}");
        }
    }
    let missing = CatalogOptions { agents: Some("no-such-file.json".into()), ..CatalogOptions::default() };
    assert!(matches!(Catalog::load(&world(&env), &missing), Err(LoadError::Agents(_))));
}

#[test]
fn a_change_is_noticed_even_where_there_was_no_folder() {
    // Waiting ends with the event; the limit only keeps a broken watcher from hanging the test.
    let limit = std::time::Duration::from_secs(20);
    let env = TestEnv::new();
    env.write("project/.claude/settings.json", "{}");
    let before = load(&env, &CatalogOptions::default());
    let watcher = Watcher::start(&before).unwrap();
    env.agent("new.md", &agent("new", "first"));
    assert!(watcher.wait(limit), "a new folder with a new agent");
    let after = load(&env, &CatalogOptions::default());
    assert_eq!(&*after.registry.get("new").unwrap().description, "first");
    let watcher = Watcher::start(&after).unwrap();
    env.agent("new.md", &agent("new", "second"));
    assert!(watcher.wait(limit), "an edit");
    let again = load(&env, &CatalogOptions::default());
    assert_eq!(&*again.registry.get("new").unwrap().description, "second");
}

#[test]
fn what_a_parent_lays_down_counts_unless_an_administrator_has_the_say() {
    let env = TestEnv::new();
    let parent = r#"{"permissions": {"deny": ["Bash"], "allow": ["Write"]}, "availableModels": ["haiku"]}"#;
    let options = CatalogOptions { parent: Some(parent.into()), ..CatalogOptions::default() };
    let found = |env: &TestEnv| {
        let settings = load(env, &options).settings;
        let rules: Vec<&str> = settings.rules.iter().map(|rule| &*rule.text).collect();
        let models = settings.available_models.map(|set| set.value.join(" ")).unwrap_or_default();
        format!("{} / {models}", rules.join(" "))
    };
    assert_eq!(found(&env), "Bash / haiku");
    env.write("managed/managed-settings.json", r#"{"availableModels": ["opus"]}"#);
    assert_eq!(found(&env), " / opus");
    let merging = r#"{"availableModels": ["opus"], "parentSettingsBehavior": "merge"}"#;
    env.write("managed/managed-settings.json", merging);
    // Nobody's list is added to: only what both name is left.
    assert_eq!(found(&env), "Bash / ");
    env.write("managed/managed-settings.json", merging.replace("opus", "Haiku"));
    assert_eq!(found(&env), "Bash / haiku");
}

#[test]
fn a_project_may_be_configured_elsewhere() {
    let mut env = TestEnv::new();
    env.write("main/.claude/agents/m.md", agent("of-main", "x"));
    env.write("main/.claude/settings.json", r#"{"permissions": {"deny": ["WebFetch"]}}"#);
    env.write("tree/.claude/agents/t.md", agent("of-tree", "x"));
    env.write("tree/.claude/settings.json", r#"{"permissions": {"deny": ["Bash"]}}"#);
    env.enter("tree");
    for (root, agents, rule) in [(None, "of-tree", "Bash"), (Some(env.path("main")), "of-main", "WebFetch")] {
        let options = CatalogOptions { project_root: root, ..CatalogOptions::default() };
        assert_eq!(summary(&env, &options), format!("{agents} project x"));
        let rules = load(&env, &options).settings.rules;
        assert_eq!(rules.iter().map(|rule| &*rule.text).collect::<Vec<_>>(), [rule]);
    }
}
