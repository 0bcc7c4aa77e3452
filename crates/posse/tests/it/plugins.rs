//! Plugins as a user has them: added, installed, switched, updated, tampered with; and what of them runs.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A marketplace `m` with the plugin `kit`: nested agents, a hook, a server, options.
fn market(env: &TestEnv) {
    env.write(
        "market/.claude-plugin/marketplace.json",
        r#"{"name": "m", "owner": {"name": "o"}, "plugins": [
            {"name": "kit", "source": "./plugins/kit", "description": "A kit"},
            {"name": "far", "source": {"source": "npm", "package": "far"}}
        ]}"#,
    );
    manifest(env, "1.0.0");
    env.write(
        "market/plugins/kit/agents/team/helper.md",
        "---\nname: helper\ndescription: Helps\ntools: Read\n---\nHelp.\n",
    );
    env.write(
        "market/plugins/kit/skills/deploy/SKILL.md",
        "---\ndescription: d\nallowed-tools: Bash(make:*)\n---\nx\n",
    );
    env.write("market/plugins/kit/commands/go.md", "Go.\n");
    hook(env, "guard.sh");
    script(env, "market/plugins/kit/guard.sh", "exit 0");
}

fn manifest(env: &TestEnv, version: &str) {
    let text = serde_json::json!({
        "name": "kit", "version": version,
        "userConfig": {
            "token": { "type": "string", "title": "Token", "sensitive": true, "required": true },
            "level": { "type": "number", "default": 1 },
        },
        "mcpServers": { "db": { "command": "serve", "env": { "TOKEN": "${user_config.token}" } } },
    });
    env.write("market/plugins/kit/.claude-plugin/plugin.json", text.to_string());
}

fn hook(env: &TestEnv, script: &str) {
    let command = format!("${{CLAUDE_PLUGIN_ROOT}}/{script}");
    let hooks = serde_json::json!({ "hooks": { "PreToolUse": [
        { "matcher": "Bash", "hooks": [{ "type": "command", "command": command }] },
    ] } });
    env.write("market/plugins/kit/hooks/hooks.json", hooks.to_string());
}

fn script(env: &TestEnv, path: &str, body: &str) {
    let path = env.write(path, format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn installed() -> TestEnv {
    let env = env();
    market(&env);
    env.posse(&["plugin", "marketplace", "add", "../market"]).success();
    env.posse(&["plugin", "install", "kit"]).success();
    env
}

fn row(env: &TestEnv) -> Value {
    let output = env.posse(&["plugin", "list", "--json"]);
    json(&output.stdout)["plugins"][0].clone()
}

fn agents(env: &TestEnv, args: &[&str]) -> String {
    let output = env.posse(&[&["agents", "list", "--json"], args].concat());
    let listed = json(&output.stdout);
    let names = pluck(&listed["active"], "/name");
    names.split(' ').filter(|name| name.contains(':')).collect::<Vec<_>>().join(" ")
}

#[test]
fn from_a_folder_to_an_agent_and_back() {
    let env = env();
    market(&env);
    assert!(env.posse(&["plugin"]).success().contains("no plugin is installed"));
    let added = env.posse(&["plugin", "marketplace", "add", "../market"]).success();
    assert_eq!(
        added,
        "\
added m from $ENV/market
  kit  A kit
  far  not for posse: `far` comes from npm, which posse does not install from
posse plugin install NAME@m
"
    );
    let done = env.posse(&["plugin", "install", "kit@m"]).success();
    for line in [
        "installed kit@m 1.0.0 (user)",
        "  hook PreToolUse (Bash): ${CLAUDE_PLUGIN_ROOT}/guard.sh",
        "  server db: TOKEN=${user_config.token}, serve",
        "  agent kit:team:helper: Read",
        "  skill deploy: Bash(make:*)",
        "  command go",
        "  token (text, secret, needed)  Token",
    ] {
        assert!(done.contains(line), "{line} in {done}");
    }
    assert_eq!(agents(&env, &[]), "kit:team:helper");
    let listed = row(&env);
    assert_eq!((&listed["content"], &listed["enabled"]), (&"pinned".into(), &true.into()));
    assert!(env.posse(&["plugin", "disable", "kit"]).success().contains("switched off"));
    assert_eq!(agents(&env, &[]), "");
    env.posse(&["plugin", "enable", "kit"]).success();
    env.posse(&["plugin", "uninstall", "kit"]).success();
    assert_eq!((agents(&env, &[]), row(&env)), (String::new(), Value::Null));
    assert!(!env.path("home/.claude/plugins/cache/m").exists(), "empty folders are left");
    env.posse(&["plugin", "marketplace", "remove", "m"]).success();
    assert!(env.path("market/plugins/kit/guard.sh").exists(), "a folder of the user's was removed");
}

#[test]
fn what_cannot_be_done_says_what_can() {
    let env = installed();
    for (args, code, said) in [
        (&["install", "kti"][..], 2, "did you mean `kit`?"),
        (&["install", "far"], 1, "comes from npm"),
        (&["install", "kit@nope"], 2, "there are m"),
        (&["enable", "other"], 2, "installed: kit@m"),
        (&["enable", "kit", "--config", "level=high"], 2, "`level` takes a number"),
        (&["enable", "kit", "--config", "volume=1"], 2, "it has token, level"),
        (&["marketplace", "add", "./nowhere"], 1, "nowhere"),
        (&["marketplace", "add", "."], 1, "holds no marketplace"),
        (&["marketplace", "add", "what"], 1, "neither a folder"),
    ] {
        let (_, stderr) = env.posse(&[&["plugin"], args].concat()).fails_with(code);
        assert!(stderr.contains(said), "{args:?}: {stderr}");
    }
    // A file with comments is somebody's work.
    env.write("home/.claude/settings.json", "{ // mine\n}");
    let (_, stderr) = env.posse(&["plugin", "disable", "kit"]).fails_with(1);
    assert!(stderr.contains("left alone"), "{stderr}");
    assert_eq!(env.read("home/.claude/settings.json"), "{ // mine\n}");
}

#[test]
fn content_that_was_changed_is_not_loaded_until_it_is_brought_back() {
    let env = installed();
    let cache = row(&env)["installPath"].as_str().unwrap().replace("$ENV/", "");
    let helper = format!("{cache}/agents/team/helper.md");
    let original = env.read(&helper);
    type Change = fn(&TestEnv, &str);
    let changes: [Change; 4] = [
        |env, cache| {
            drop(env.write(&format!("{cache}/agents/team/helper.md"), "---\ndescription: Evil\n---\n"))
        },
        |env, cache| drop(env.write(&format!("{cache}/agents/new.md"), "x")),
        |env, cache| std::fs::remove_file(env.path(&format!("{cache}/guard.sh"))).unwrap(),
        |env, cache| {
            let mode = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(env.path(&format!("{cache}/guard.sh")), mode).unwrap();
        },
    ];
    for (at, change) in changes.iter().enumerate() {
        change(&env, &cache);
        assert_eq!(agents(&env, &[]), "", "change {at}");
        let (lint, _) = env.posse(&["lint"]).fails_with(1);
        assert!(lint.contains("plugin-changed") && lint.contains("posse plugin install kit@m"), "{lint}");
        let (list, _) = env.posse(&["plugin", "list"]).fails_with(1);
        assert!(list.contains("changed"), "{list}");
        env.posse(&["plugin", "install", "kit@m"]).success();
        assert_eq!((agents(&env, &[]), env.read(&helper)), ("kit:team:helper".into(), original.clone()));
    }
}

#[test]
fn an_update_that_may_do_more_is_shown_and_asked_about() {
    let env = installed();
    assert_eq!(env.posse(&["plugin", "update"]).success(), "kit@m is up to date\n");
    // No more than before: nobody is asked.
    manifest(&env, "1.1.0");
    assert_eq!(env.posse(&["plugin", "update", "kit"]).success(), "updated kit@m 1.0.0 -> 1.1.0\n");
    // More: an agent's tools, another command at an event, another content of what it runs.
    manifest(&env, "2.0.0");
    env.write(
        "market/plugins/kit/agents/team/helper.md",
        "---\nname: helper\ndescription: Helps\ntools: Read, Bash\n---\nHelp.\n",
    );
    hook(&env, "other.sh");
    script(&env, "market/plugins/kit/other.sh", "exit 2");
    let before = row(&env);
    let (stdout, stderr) = env.posse(&["plugin", "update", "kit"]).fails_with(1);
    assert!(stdout.starts_with("kit@m 1.1.0 -> 2.0.0 may do more than before:\n"), "{stdout}");
    for line in [
        "  ~ hook PreToolUse (Bash): ${CLAUDE_PLUGIN_ROOT}/other.sh\n",
        "  + program other.sh: content ",
        "  ~ agent kit:team:helper: Bash\n",
    ] {
        assert!(stdout.contains(line), "{line} in {stdout}");
    }
    assert!(stderr.contains("nobody can be asked") && stderr.contains("--yes"), "{stderr}");
    assert_eq!(row(&env), before);
    // Asked at a terminal: no, then yes.
    let mut terminal = env.at_terminal(&["plugin", "update", "kit"]);
    terminal.expect("Update kit@m? [y/N]");
    terminal.send("n\n");
    terminal.expect("kit@m stays as it is");
    assert_eq!(terminal.end().0, Some(1));
    assert_eq!(row(&env), before);
    let accepted = env.posse(&["plugin", "update", "kit", "--yes"]).success();
    assert!(accepted.ends_with("updated kit@m 1.1.0 -> 2.0.0\n"), "{accepted}");
    assert_eq!(row(&env)["version"], "2.0.0");
    let versions = env.path("home/.claude/plugins/cache/m/kit").read_dir().unwrap().count();
    assert_eq!(versions, 1, "old content is left behind");
}

#[test]
fn a_marketplace_in_a_git_repository_is_fetched_and_updated() {
    let env = env();
    market(&env);
    env.git("market", &["init", "--quiet"]);
    env.git("market", &["add", "."]);
    env.git("market", &["commit", "--quiet", "-m", "one"]);
    let url = format!("file://{}", env.path("market").display());
    let added = env.posse(&["plugin", "marketplace", "add", &url]).success();
    assert!(added.starts_with("added m from file://$ENV/market\n"), "{added}");
    env.posse(&["plugin", "install", "kit@m"]).success();
    assert_eq!(agents(&env, &[]), "kit:team:helper");
    // Nothing of the repository itself is in the cache, and what happens in it later does not reach the plugin.
    let cache = row(&env)["installPath"].as_str().unwrap().replace("$ENV/", "");
    assert!(!env.path(&format!("{cache}/.git")).exists());
    manifest(&env, "1.5.0");
    env.git("market", &["commit", "--quiet", "-am", "two"]);
    env.posse(&["plugin", "marketplace", "update"]).success();
    assert_eq!(row(&env)["version"], "1.0.0");
    env.posse(&["plugin", "update", "kit"]).success();
    assert_eq!(row(&env)["version"], "1.5.0");
    let (_, stderr) = env.posse(&["plugin", "marketplace", "add", "file:///nowhere/at/all"]).fails_with(1);
    assert!(stderr.contains("git clone failed"), "{stderr}");
}

#[test]
fn scopes_and_trust() {
    let env = env();
    market(&env);
    env.posse(&["plugin", "marketplace", "add", "../market"]).success();
    let done = env.posse(&["plugin", "install", "kit", "--scope", "project"]).success();
    assert!(done.contains("it counts once $ENV/project is trusted"), "{done}");
    assert!(env.read("project/.claude/settings.json").contains("\"kit@m\": true"));
    assert_eq!(agents(&env, &[]), "");
    let shown = env.posse(&["trust"]).success();
    assert!(shown.contains("Plugins\n  enabledPlugins kit@m: true"), "{shown}");
    assert_eq!(agents(&env, &[]), "kit:team:helper");
    env.posse(&["plugin", "disable", "kit", "--scope", "local"]).success();
    assert!(env.read("project/.claude/settings.local.json").contains("\"kit@m\": false"));
    assert_eq!(agents(&env, &[]), "");
    let (_, stderr) = env.posse(&["plugin", "uninstall", "kit", "--scope", "user"]).fails_with(2);
    assert!(stderr.contains("not installed"), "{stderr}");
    env.posse(&["plugin", "uninstall", "kit", "--scope", "project"]).success();
    assert!(!env.read("project/.claude/settings.json").contains("kit@m"));
}

#[test]
fn secrets_are_kept_apart_and_never_printed() {
    const SECRET: &str = "hunter2-do-not-show";
    let env = installed();
    let listed = env.posse(&["plugin", "list"]).success();
    assert!(listed.contains("`kit@m` needs the option `token`"), "{listed}");
    env.write("secret.txt", format!("{SECRET}\n"));
    let file = format!("token={}", env.path("secret.txt").display());
    let mut printed =
        env.posse(&["plugin", "enable", "kit", "--config-file", &file, "--config", "level=3"]).success();
    let kept = env.path("home/.claude/plugins/posse-secrets.json");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&kept).unwrap().contains(SECRET));
    let settings = json(&env.read("home/.claude/settings.json"));
    assert_eq!(settings["pluginConfigs"]["kit@m"]["options"], serde_json::json!({ "level": 3 }));
    for args in [
        &["plugin", "list"][..],
        &["plugin", "list", "--json"],
        &["config"],
        &["lint"],
        &["agents", "list", "--json"],
    ] {
        printed.push_str(&env.posse(args).success());
    }
    assert!(!printed.contains(SECRET), "{printed}");
    let servers = json(&env.posse(&["agents", "list", "--json"]).success());
    assert_eq!(servers["plugins"][0]["mcpServers"], serde_json::json!(["plugin:kit:db"]));
    env.posse(&["plugin", "uninstall", "kit"]).success();
    assert!(!std::fs::read_to_string(&kept).unwrap().contains(SECRET));
}

const SCRIPT: &str = "- calls: [{Bash: {command: echo it ran > ran.txt}}]\n- say: Done.\n";

fn task(env: &TestEnv, args: &[&str]) -> posse_testkit::Output {
    env.write("project/script.yaml", SCRIPT);
    let run = ["-p", "go", "--model", "rehearsal:script.yaml", "--output-format", "stream-json", "--verbose"];
    env.posse(&[&run[..], &["--allowedTools", "Bash"], args].concat())
}

#[test]
fn a_plugins_hook_runs_with_its_surroundings() {
    let env = env();
    market(&env);
    script(
        &env,
        "market/plugins/kit/guard.sh",
        r#"printf '%s\n' "$CLAUDE_PLUGIN_ROOT" "$CLAUDE_PLUGIN_DATA" "$CLAUDE_PLUGIN_OPTION_LEVEL" "$CLAUDE_PLUGIN_OPTION_TOKEN" > "$CLAUDE_PLUGIN_DATA/heard"; echo "not with me" >&2; exit 2"#,
    );
    env.posse(&["plugin", "marketplace", "add", "../market"]).success();
    env.posse(&["plugin", "install", "kit", "--config", "token=abc"]).success();
    let output = task(&env, &[]);
    assert!(output.stdout.contains("not with me") && !env.path("project/ran.txt").exists(), "{output:?}");
    let heard = env.normalize(env.read("home/.claude/plugins/data/kit-m/heard").as_bytes());
    let root = row(&env)["installPath"].as_str().unwrap().to_owned();
    assert_eq!(heard, format!("{root}\n$ENV/home/.claude/plugins/data/kit-m\n1\nabc\n"));
    assert_eq!(row(&env)["content"], "pinned");
    // Switches of hooks hold for those of plugins.
    let ran = |env: &TestEnv| {
        let output = task(env, &[]);
        assert_eq!(output.code, Some(0), "{output:?}");
        std::fs::remove_file(env.path("project/ran.txt")).is_ok()
    };
    let settings = env.read("home/.claude/settings.json");
    env.write("home/.claude/settings.json", settings.replacen('{', "{\"disableAllHooks\": true,", 1));
    assert!(ran(&env));
    env.write("home/.claude/settings.json", &settings);
    for policy in [r#"{"allowManagedHooksOnly": true}"#, r#"{"strictPluginOnlyCustomization": ["hooks"]}"#] {
        env.write("managed/managed-settings.json", policy);
        assert!(ran(&env), "{policy}");
        // A plugin that the administrator enables is the administrator's.
        env.write(
            "managed/managed-settings.json",
            policy.replacen('{', r#"{"enabledPlugins": {"kit@m": true},"#, 1),
        );
        assert!(!ran(&env), "{policy}");
    }
}

#[test]
fn a_plugin_for_one_run_from_a_folder_or_an_archive() {
    let env = env();
    market(&env);
    let folder = env.path("market/plugins/kit").display().to_string();
    assert_eq!(agents(&env, &["--plugin-dir", &folder]), "kit:team:helper");
    let zip = archive(
        &env,
        "kit.zip",
        &[
            ("kit/.claude-plugin/plugin.json", r#"{"name": "packed"}"#),
            ("kit/agents/deep/a.md", "---\nname: a\ndescription: d\n---\nx\n"),
        ],
    );
    assert_eq!(agents(&env, &["--plugin-dir", &zip]), "packed:deep:a");
    assert_eq!(
        agents(&env, &["--plugin-dir", &zip, "--plugin-dir", &folder]),
        "kit:team:helper packed:deep:a"
    );
    assert!(env.posse(&["plugin", "validate", &zip]).success().contains("packed: 0 errors"));
    for name in ["../evil.md", "/evil.md", "a/../../evil.md", "a\\..\\..\\evil.md"] {
        let zip = archive(&env, "evil.zip", &[("agents/a.md", "x"), (name, "x")]);
        assert_eq!(agents(&env, &["--plugin-dir", &zip]), "", "{name}");
        let (_, stderr) = env.posse(&["plugin", "validate", &zip]).fails_with(1);
        assert!(stderr.contains("leads out"), "{name}: {stderr}");
    }
    let junk = env.write("junk.zip", "no archive").display().to_string();
    let output = task(&env, &["--plugin-dir", &junk]);
    let init = json(output.stdout.lines().find(|line| line.contains("\"init\"")).expect("an init line"));
    assert_eq!(init["plugin_errors"][0]["plugin"], "inline[0]", "{init:#}");
    assert!(!env.path("evil.md").exists() && !env.path("home/evil.md").exists());
}

/// A zip file without compression, made by hand: the names in it need not be honest.
fn archive(env: &TestEnv, file: &str, entries: &[(&str, &str)]) -> String {
    let mut body = Vec::new();
    let mut directory = Vec::new();
    for (name, text) in entries {
        let offset = u32::try_from(body.len()).expect("a small number");
        let size = u32::try_from(text.len()).expect("a small number");
        let length = u16::try_from(name.len()).expect("a small number");
        let mut common = Vec::new();
        for number in [20_u16, 0, 0, 0, 0x21] {
            common.extend(number.to_le_bytes());
        }
        for number in [crc(text.as_bytes()), size, size] {
            common.extend(number.to_le_bytes());
        }
        common.extend(length.to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        body.extend(b"PK\x03\x04");
        body.extend(&common);
        body.extend(name.as_bytes());
        body.extend(text.as_bytes());
        directory.extend(b"PK\x01\x02");
        directory.extend(20_u16.to_le_bytes());
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length) = (
        u32::try_from(body.len()).expect("a small number"),
        u32::try_from(directory.len()).expect("a small number"),
    );
    let count = u16::try_from(entries.len()).expect("a small number");
    body.extend(directory);
    body.extend(b"PK\x05\x06\0\0\0\0");
    body.extend(count.to_le_bytes());
    body.extend(count.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(start.to_le_bytes());
    body.extend(0_u16.to_le_bytes());
    env.write(file, body).display().to_string()
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 },
        )
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn validate_tells_everything_with_its_place() {
    let env = env();
    env.write("pl/.claude-plugin/plugin.json", "{\n  \"name\": \"My Plugin\",\n  \"author\": \"me\",\n  \"agents\": [\"./gone.md\", \"../x.md\"],\n  \"themes\": \"./t\"\n}");
    env.write("pl/hooks/hooks.json", "{\n  \"hooks\": {\"PreToolUze\": []}\n}");
    env.write("pl/.mcp.json", "{\n  \"db\": {\"args\": []}\n}");
    let (text, _) = env.posse(&["plugin", "validate", "../pl"]).fails_with(1);
    for said in [
        "pl/.claude-plugin/plugin.json:2:11",
        "called `my-plugin`",
        "pl/.claude-plugin/plugin.json:3:13",
        "`gone.md` does not exist",
        "`../x.md` leads out of the plugin's folder",
        "note[plugin-part-unused]",
        "pl/hooks/hooks.json:2:13",
        "did you mean `PreToolUse`?",
        "pl/.mcp.json:2:9",
        "✗ my-plugin: 1 errors",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    let value = json(&env.posse(&["plugin", "validate", "../pl", "--json"]).stdout);
    assert_eq!((&value["valid"], &value["plugins"][0]), (&false.into(), &"my-plugin".into()));
    env.write("good/agents/a.md", "---\nname: a\ndescription: d\n---\nx\n");
    assert!(env.posse(&["plugin", "validate", "../good"]).success().contains("✓ good: 0 errors, 0 warnings"));
}

#[test]
fn skills_and_commands_stand_where_the_manifest_says() {
    let env = env();
    let manifest = r#"{
        "name": "tools",
        "skills": "./know-how/",
        "commands": {
            "hello": { "content": "Say hello to $ARGUMENTS in ${user_config.language}.", "description": "Greets" },
            "again": { "source": "./texts/a.md" }
        },
        "userConfig": { "language": { "type": "string", "title": "Language", "description": "d", "default": "Latin" } }
    }"#;
    env.write("plugin/.claude-plugin/plugin.json", manifest);
    env.write(
        "plugin/know-how/cook/SKILL.md",
        "---\ndescription: Cooks\n---\nCook with ${CLAUDE_PLUGIN_ROOT}/pan.\n",
    );
    env.write("plugin/texts/a.md", "---\ndescription: Again\n---\nOnce more.\n");
    let plugin = env.path("plugin").display().to_string();
    let listed = env.posse(&["skills", "--json", "--plugin-dir", &plugin]).success();
    for name in ["tools:cook", "tools:hello", "tools:again"] {
        assert!(listed.contains(&format!("\"{name}\"")), "{name} in {listed}");
    }
    let server = posse_testkit::FakeModel::answering(|_| {
        posse_testkit::server::MessagesReply::new().text("Done.").answer()
    });
    let mut env = env;
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
    env.posse(&["-p", "/tools:hello Rome", "--plugin-dir", &plugin]).success();
    let sent = server.requests()[0].body["messages"].to_string();
    assert!(sent.contains("Say hello to Rome in Latin."), "{sent}");
}

/// Changes of the plugin that nobody accepted, and the line that shows each.
#[test]
fn new_content_is_asked_about_however_it_comes() {
    type Change = fn(&TestEnv);
    let skill = |body: &str| format!("---\ndescription: d\nallowed-tools: Bash(make:*)\n---\n{body}\n");
    let changes: [(Change, &str); 4] = [
        (
            |env| {
                let file = "market/plugins/kit/.claude-plugin/plugin.json";
                env.write(file, env.read(file).replace(r#""sensitive":true"#, r#""sensitive":false"#));
            },
            "  ~ option token: no longer kept secret\n",
        ),
        (
            |env| {
                let text = env.read("market/plugins/kit/skills/deploy/SKILL.md");
                env.write("market/plugins/kit/skills/deploy/SKILL.md", text + "!`make evil`\n");
            },
            "  ~ skill deploy: !`make evil`\n",
        ),
        (
            |env| {
                let text = env.read("market/plugins/kit/skills/deploy/SKILL.md");
                env.write("market/plugins/kit/skills/deploy/SKILL.md", text + "And make evil.\n");
            },
            "  ~ program skills/deploy/SKILL.md: content ",
        ),
        (
            |env| drop(env.write("market/plugins/kit/commands/go.md", "Go: !`id`\n")),
            "  ~ command go: !`id`\n",
        ),
    ];
    let env = installed();
    env.posse(&["plugin", "enable", "kit", "--config", "token=hunter2"]).success();
    for (change, line) in changes {
        env.write("market/plugins/kit/skills/deploy/SKILL.md", skill("x"));
        let before = row(&env);
        change(&env);
        for command in ["update", "install"] {
            let (stdout, stderr) = env.posse(&["plugin", command, "kit@m"]).fails_with(1);
            assert!(stdout.contains(line), "{command}: {line} in {stdout}");
            assert!(stderr.contains("nobody can be asked") && stderr.contains("--yes"), "{stderr}");
            assert_eq!(row(&env), before, "{command}");
        }
        env.posse(&["plugin", "install", "kit@m", "--yes"]).success();
        // What was accepted is not asked about again, also as a repair.
        env.posse(&["plugin", "install", "kit@m"]).success();
    }
    // What was given as a secret stays one, whatever the manifest says now.
    env.posse(&["plugin", "enable", "kit", "--config", "token=hunter3"]).success();
    assert!(!env.read("home/.claude/settings.json").contains("hunter"));
    assert!(env.read("home/.claude/plugins/posse-secrets.json").contains("hunter3"));
}

#[test]
fn what_a_killed_install_left_is_swept_and_what_a_running_one_holds_is_not() {
    let env = installed();
    env.write("home/.claude/plugins/cache/.posse-dead/content/kit/a.md", "x");
    env.write("home/.claude/plugins/cache/.posse-alive/content/kit/a.md", "x");
    let held = std::fs::File::open(env.path("home/.claude/plugins/cache/.posse-alive")).unwrap();
    held.lock().unwrap();
    env.posse(&["plugin", "list"]).success();
    let there = |name: &str| env.path(&format!("home/.claude/plugins/cache/{name}")).exists();
    assert_eq!((there(".posse-dead"), there(".posse-alive"), there("m")), (false, true, true));
    drop(held);
    env.posse(&["plugin", "list"]).success();
    assert!(!there(".posse-alive"));
}

#[test]
fn validate_refuses_what_install_refuses_and_sees_what_links_bring() {
    let env = env();
    market(&env);
    let link = |target: &str, at: &str| std::os::unix::fs::symlink(target, env.path(at)).unwrap();
    env.write("market/shared/e/SKILL.md", "---\ndescription: d\nallowed-tools: Bash\n---\nE.\n");
    link("../../../shared/e", "market/plugins/kit/skills/e");
    // Inside the list: installing puts the skill in the place of the link.
    let said = env.posse(&["plugin", "validate", "../market"]).success();
    assert!(said.contains("  skill e: Bash\n"), "{said}");
    // By itself the plugin does not hold it.
    let (said, _) = env.posse(&["plugin", "validate", "../market/plugins/kit"]).fails_with(1);
    assert!(said.contains("skills/e/SKILL.md") && said.contains("link-leads-out"), "{said}");
    env.write("out/f.txt", "x");
    link("../../../out/f.txt", "market/plugins/kit/f.txt");
    let (said, _) = env.posse(&["plugin", "validate", "../market"]).fails_with(1);
    assert!(said.contains("cannot be installed") && said.contains("kit/f.txt"), "{said}");
}
