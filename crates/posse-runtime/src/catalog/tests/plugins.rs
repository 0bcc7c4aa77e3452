//! Plugins: names, paths, variables, restrictions, and what is wrong with them.

use super::*;

fn plugin_dirs(env: &TestEnv, folders: &[&str]) -> CatalogOptions {
    CatalogOptions {
        plugin_dirs: folders.iter().map(|folder| env.path(folder)).collect(),
        ..CatalogOptions::default()
    }
}

#[test]
fn agents_are_named_after_plugin_folders_and_field_or_file() {
    let env = TestEnv::new();
    env.write("pl/.claude-plugin/plugin.json", r#"{"name": "kit", "version": "1.2.0"}"#);
    env.write("pl/agents/a.md", agent("named", "by field"));
    env.write("pl/agents/team/inner/b.md", "---\ndescription: by file\n---\nx");
    env.write("pl/agents/README.MD", "# Not an agent, one would think");
    let options = plugin_dirs(&env, &["pl"]);
    assert_eq!(
        summary(&env, &options),
        "\
kit:named plugin by field
kit:README plugin Agent from kit plugin
kit:team:inner:b plugin by file"
    );
    assert!(problems(&env, &options).contains("pl/agents/README.MD no-frontmatter"));
    let catalog = load(&env, &options);
    assert_eq!((&*catalog.plugins[0].name, catalog.plugins[0].version.as_deref()), ("kit", Some("1.2.0")));
}

#[test]
fn a_plugin_without_manifest_is_called_like_its_folder_and_a_folder_of_plugins_is_several() {
    let env = TestEnv::new();
    env.write("bare/agents/a.md", agent("x", "d"));
    env.write("many/one/.claude-plugin/plugin.json", r#"{"name": "one"}"#);
    env.write("many/one/agents/a.md", agent("x", "d"));
    env.write("many/two/.claude-plugin/plugin.json", r#"{"name": "two"}"#);
    env.write("many/two/agents/a.md", agent("x", "d"));
    assert_eq!(
        summary(&env, &plugin_dirs(&env, &["bare", "many"])),
        "bare:x plugin d\none:x plugin d\ntwo:x plugin d"
    );
}

#[test]
fn the_manifests_agents_replace_the_default_folder() {
    let env = TestEnv::new();
    env.write("pl/agents/default.md", agent("default", "d"));
    env.write("pl/special/one.md", agent("one", "d"));
    env.write("pl/special/sub/two.md", agent("two", "d"));
    let manifest = |agents: &str| {
        env.write("pl/.claude-plugin/plugin.json", format!(r#"{{"name": "p", "agents": {agents}}}"#));
        (summary(&env, &plugin_dirs(&env, &["pl"])), problems(&env, &plugin_dirs(&env, &["pl"])))
    };
    assert_eq!(manifest(r#""./special/one.md""#), ("p:one plugin d".into(), String::new()));
    assert_eq!(manifest("[]").0, "");
    let (folder, reported) = manifest(r#"["./special"]"#);
    assert_eq!(folder, "p:one plugin d\np:two plugin d");
    assert_eq!(reported, "pl/.claude-plugin/plugin.json:1:26 old-manifest");
    let (missing, reported) = manifest(r#"["./gone.md", "./special/one.md"]"#);
    assert_eq!(missing, "p:one plugin d");
    assert_eq!(reported, "pl/.claude-plugin/plugin.json:1:26 plugin-path");
    let (outside, reported) = manifest(r#"["./../../home/x.md"]"#);
    assert_eq!(outside, "");
    assert_eq!(reported, "pl/.claude-plugin/plugin.json:1:26 plugin-path");
}

#[test]
fn an_old_manifest_in_the_root_is_read_and_said() {
    let env = TestEnv::new();
    env.write("pl/plugin.json", r#"{"name": "old"}"#);
    env.write("pl/agents/a.md", agent("a", "d"));
    assert_eq!(summary(&env, &plugin_dirs(&env, &["pl"])), "old:a plugin d");
    assert_eq!(problems(&env, &plugin_dirs(&env, &["pl"])), "pl/plugin.json old-manifest");
}

#[test]
fn a_bad_manifest_costs_the_plugin_and_nothing_else() {
    let env = TestEnv::new();
    env.agent("mine.md", &agent("mine", "d"));
    env.write("pl/.claude-plugin/plugin.json", "{\n  \"name\": \"Has Blanks\",\n  \"author\": \"me\"\n}");
    env.write("pl/agents/a.md", agent("a", "d"));
    env.write("nojson/.claude-plugin/plugin.json", "{");
    let options = plugin_dirs(&env, &["pl", "nojson", "absent"]);
    assert_eq!(summary(&env, &options), "has-blanks:a plugin d\nmine project d");
    assert_eq!(
        problems(&env, &options),
        "\
absent invalid-plugin
nojson/.claude-plugin/plugin.json:1:1 json-syntax
pl/.claude-plugin/plugin.json:2:11 old-manifest
pl/.claude-plugin/plugin.json:3:13 old-manifest"
    );
    let kinds: Vec<&str> = load(&env, &options).plugin_faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, ["path-not-found", "manifest-parse-error"]);
}

#[test]
fn a_plugins_agent_may_not_widen_itself_and_its_variables_are_filled_in() {
    let env = TestEnv::new();
    env.write(
        "pl/.claude-plugin/plugin.json",
        r#"{"name": "p", "userConfig": {"lang": {"type": "string", "default": "en"}, "team": {"type": "string"}}}"#,
    );
    env.write(
        "pl/agents/a.md",
        "---\nname: a\ndescription: d\npermissionMode: bypassPermissions\nhooks: {}\nmcpServers: [x]\nmodel: haiku\n---\n\
         ${CLAUDE_PLUGIN_ROOT}/x ${user_config.lang} ${user_config.team} ${HOME}",
    );
    env.write(
        "home/.claude/settings.json",
        r#"{"pluginConfigs": {"p@market": {"options": {"lang": "de"}}}}"#,
    );
    let options = plugin_dirs(&env, &["pl"]);
    let catalog = load(&env, &options);
    let agent = catalog.registry.get("p:a").unwrap();
    let body = env.normalize(agent.body.as_bytes());
    assert_eq!(body, "$ENV/pl/x de ${user_config.team} ${HOME}");
    assert_eq!(
        (agent.permission_mode, agent.mcp_servers.len(), agent.model.name()),
        (None, 0, Some("haiku"))
    );
    assert_eq!(
        problems(&env, &options),
        "\
pl/agents/a.md:4:1 plugin-field-ignored
pl/agents/a.md:5:1 plugin-field-ignored
pl/agents/a.md:6:1 plugin-field-ignored"
    );
}

#[test]
fn enabled_plugins_are_found_where_they_are_installed() {
    let env = TestEnv::new();
    env.write("cache/one/.claude-plugin/plugin.json", r#"{"name": "one"}"#);
    env.write("cache/one/agents/a.md", agent("a", "installed"));
    let path = env.path("cache/one").display().to_string();
    env.write(
        "home/.claude/plugins/installed_plugins.json",
        format!(
            r#"{{"version": 2, "plugins": {{"one@m": [{{"scope": "user", "installPath": {path:?}}}]}}}}"#
        ),
    );
    // A list that is known does not make what it lists installed: nobody has looked at that.
    let market = "home/.claude/plugins/marketplaces/m";
    env.write(
        &format!("{market}/.claude-plugin/marketplace.json"),
        r#"{"name": "m", "plugins": [{"name": "two", "source": "./two"}]}"#,
    );
    env.write(&format!("{market}/two/agents/a.md"), agent("a", "from the marketplace"));
    env.write(
        "home/.claude/settings.json",
        r#"{"enabledPlugins": {"one@m": true, "two@m": true, "off@m": false, "lost@m": true}}"#,
    );
    assert_eq!(summary(&env, &CatalogOptions::default()), "one:a plugin installed");
    let reported = problems(&env, &CatalogOptions::default());
    assert_eq!(reported.matches("plugin-not-found").count(), 2, "{reported}");
    assert_eq!(reported.matches("plugin-unpinned").count(), 1, "{reported}");
    // The project switches one off for itself, once it is trusted.
    env.write("project/.claude/settings.json", r#"{"enabledPlugins": {"one@m": false}}"#);
    assert_eq!(summary(&env, &CatalogOptions::default()), "one:a plugin installed");
    let project = env.path("project").display().to_string();
    env.write(
        "home/.claude.json",
        format!(r#"{{"projects": {{{project:?}: {{"hasTrustDialogAccepted": true}}}}}}"#),
    );
    assert_eq!(summary(&env, &CatalogOptions::default()), "");
}
