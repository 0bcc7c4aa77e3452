mod servers;

use super::*;
use crate::tools::{Scope, ToolPattern};

/// The file of a layer, in its usual shape: `user.json`.
fn file(layer: Layer, text: &str) -> (SettingsFile, Vec<Diagnostic>) {
    SettingsFile::read(layer, Path::new(&format!("{}.json", layer.word())).into(), text)
}

/// What the files say together, a line for each setting with the file that set it, then a line for each problem.
fn said(files: &[(Layer, &str)]) -> Vec<String> {
    let (files, read): (Vec<_>, Vec<_>) = files.iter().map(|(layer, text)| file(*layer, text)).unzip();
    let (settings, merged) = merge(&files, FolderTrust::Trusted);
    let Settings {
        rules,
        additional_directories,
        default_mode,
        bypass_disabled,
        auto_disabled,
        managed_rules_only,
        hooks,
        hooks_off,
        managed_hooks_only,
        managed_leave_only,
        hook_urls,
        hook_env,
        managed_mcp_only,
        mcp: servers,
        budget,
        sandbox: _,
        model,
        agent,
        output_style,
        api_key_helper,
        available_models,
        plugins,
        env,
        memory_off,
        cleanup_period_days,
        plugin_only,
        plugin_configs,
        plugin_only_by,
        no_sideload,
        ignored,
        unsound,
        worktree: _,
    } = settings;
    let by = |by: &SetIn| {
        assert_eq!(by.file.display().to_string(), format!("{}.json", by.layer.word()));
        format!("[{}]", by.layer.word())
    };
    let mut lines = Vec::new();
    lines.extend(rules.iter().map(|rule| format!("{} {} {}", rule.behavior.word(), rule.text, by(&rule.by))));
    lines.extend(additional_directories.iter().map(|set| format!("folder {} {}", set.value, by(&set.by))));
    lines.extend(default_mode.iter().map(|mode| format!("mode {} {}", mode.value.name(), by(&mode.by))));
    lines.extend(bypass_disabled.iter().map(|set| format!("no bypass {}", by(set))));
    let TreeBudget { tokens, microdollars, seconds, descendants } = budget;
    lines.extend(tokens.iter().map(|set| format!("tokens {} {}", set.value, by(&set.by))));
    lines.extend(microdollars.iter().map(|set| format!("microdollars {} {}", set.value, by(&set.by))));
    lines.extend(seconds.iter().map(|set| format!("seconds {} {}", set.value, by(&set.by))));
    lines.extend(descendants.iter().map(|set| format!("descendants {} {}", set.value, by(&set.by))));
    lines.extend(model.iter().map(|model| format!("model {} {}", model.value, by(&model.by))));
    lines.extend(api_key_helper.iter().map(|set| format!("key helper {} {}", set.value, by(&set.by))));
    lines
        .extend(available_models.iter().map(|set| format!("models {} {}", set.value.join(","), by(&set.by))));
    lines.extend(plugins.iter().map(|(id, set)| format!("plugin {id}={} {}", set.value, by(&set.by))));
    lines.extend(env.iter().map(|(name, set)| format!("env {name}={} {}", set.value, by(&set.by))));
    lines.extend(memory_off.iter().map(|set| format!("no memory {}", by(set))));
    let PluginOnly { agents, hooks: hooks_kept, mcp, skills } = plugin_only;
    let kinds = [(agents, "agents"), (hooks_kept, "hooks"), (mcp, "mcp"), (skills, "skills")];
    let kinds: Vec<_> = kinds.into_iter().filter(|(on, _)| *on).map(|(_, kind)| kind).collect();
    lines.extend(plugin_only_by.iter().map(|set| format!("plugins only {} {}", kinds.join(","), by(set))));
    assert!(plugin_only_by.is_some() || kinds.is_empty(), "set by nobody");
    for (plugin, options) in &plugin_configs {
        let options: Vec<_> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
        lines.push(format!("config {plugin} {}", options.join(",")));
    }
    lines.extend(hooks.iter().map(|(group, set)| {
        let handlers = group.handlers.iter().map(|handler| trust::hook_words(group, handler));
        format!("hook {} {}", handlers.collect::<Vec<_>>().join("; "), by(set))
    }));
    lines.extend(agent.iter().map(|set| format!("agent {} {}", set.value, by(&set.by))));
    lines.extend(output_style.iter().map(|set| format!("style {} {}", set.value, by(&set.by))));
    lines.extend(cleanup_period_days.iter().map(|set| format!("days {} {}", set.value, by(&set.by))));
    for (name, limit) in [("hook urls", &hook_urls), ("hook env", &hook_env)] {
        lines.extend(limit.iter().map(|set| format!("{name} {} {}", set.value.join(","), by(&set.by))));
    }
    for (name, switch) in [
        ("no auto", &auto_disabled),
        ("managed rules only", &managed_rules_only),
        ("no hooks", &hooks_off),
        ("managed hooks only", &managed_hooks_only),
        ("managed leave only", &managed_leave_only),
        ("managed mcp only", &managed_mcp_only),
    ] {
        lines.extend(switch.iter().map(|set| format!("{name} {}", by(set))));
    }
    lines.extend(servers::lines(&servers));
    lines.extend(ignored.iter().map(|one| format!("- {} {}", one.text, by(&one.by))));
    for refusal in &unsound {
        assert!(merged.contains(refusal), "said to the one and not to the other: {refusal:?}");
        assert_eq!(refusal.severity, Severity::Error);
    }
    lines.extend(no_sideload.iter().map(|set| format!("no sideload {}", by(set))));
    lines.extend(read.iter().flatten().chain(&merged).map(|one| {
        let at = one.location.unwrap();
        let hint = one.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        format!(
            "! {}:{}:{} {} {}{hint}",
            one.file.display(),
            at.line,
            at.column,
            one.rule.info().id,
            one.text
        )
    }));
    lines
}

/// Behind every problem that stops the start.
const MENDED: &str = "; nothing is started until it is mended";

#[track_caller]
fn check(files: &[(Layer, &str)], want: &[&str]) {
    assert_eq!(said(files), want, "\n--- of\n{files:#?}");
}

const LAYERS: [Layer; 5] = [Layer::User, Layer::Project, Layer::Local, Layer::Flag, Layer::Managed];

// ── Layers ──

#[test]
fn layers_are_ordered_and_know_the_origin_of_their_agents() {
    assert!(LAYERS.is_sorted());
    let origins = LAYERS.map(|layer| format!("{} {}", layer.word(), layer.origin().word())).join(", ");
    assert_eq!(origins, "user user, project project, local project, flag flag, managed managed");
}

#[test]
fn of_any_two_layers_the_stronger_sets_a_single_value_whichever_comes_first() {
    let text = |layer: Layer| {
        let word = layer.word();
        format!(
            r#"{{"model": "{word}", "permissions": {{"defaultMode": "plan"}}, "autoMemoryEnabled": false}}"#
        )
    };
    for (place, stronger) in LAYERS.into_iter().enumerate() {
        for weaker in &LAYERS[..place] {
            let (weak, strong) = (text(*weaker), text(stronger));
            let word = stronger.word();
            let want = [
                format!("mode plan [{word}]"),
                format!("model {word} [{word}]"),
                format!("no memory [{word}]"),
            ];
            let files = [(*weaker, &*weak), (stronger, &*strong)];
            assert_eq!(said(&files), want);
            assert_eq!(said(&[files[1], files[0]]), want, "the order of the files plays no part");
        }
    }
    // Silence leaves what a weaker layer said; the opposite takes it back.
    check(&[(Layer::User, r#"{"model": "a"}"#), (Layer::Managed, "{}")], &["model a [user]"]);
    let on = r#"{"autoMemoryEnabled": true}"#;
    check(&[(Layer::User, r#"{"autoMemoryEnabled": false}"#), (Layer::Local, on)], &[]);
    check(&[(Layer::User, on), (Layer::Local, r#"{"autoMemoryEnabled": false}"#)], &["no memory [local]"]);
}

#[test]
fn lists_add_up_and_every_rule_remembers_its_file() {
    check(
        &[
            (Layer::Managed, r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#),
            (Layer::User, r#"{"permissions": {"deny": ["WebFetch", "Agent(x)"]}}"#),
            (Layer::Project, r#"{"permissions": {"deny": ["WebFetch"]}}"#),
            (Layer::Local, r#"{"permissions": {"deny": []}}"#),
        ],
        &[
            "deny WebFetch [user]",
            "deny Agent(x) [user]",
            "deny WebFetch [project]",
            "deny Bash(rm:*) [managed]",
        ],
    );
    check(
        &[
            (Layer::User, r#"{"availableModels": ["haiku"]}"#),
            (Layer::Local, r#"{"availableModels": ["opus"]}"#),
        ],
        &["models haiku,opus [local]"],
    );
    // Unless the administrator lists them: a limit is not for others to widen.
    check(
        &[
            (Layer::User, r#"{"availableModels": ["opus"]}"#),
            (Layer::Managed, r#"{"availableModels": ["haiku"]}"#),
        ],
        &["models haiku [managed]"],
    );
    check(
        &[
            (Layer::Managed, r#"{"availableModels": ["haiku"]}"#),
            (Layer::Managed, r#"{"availableModels": ["opus"]}"#),
        ],
        &["models haiku,opus [managed]"],
    );
    check(
        &[(Layer::User, r#"{"availableModels": ["opus"]}"#), (Layer::Managed, r#"{"availableModels": []}"#)],
        &["models  [managed]"],
    );
}

#[test]
fn objects_merge_by_key() {
    check(
        &[
            (
                Layer::User,
                r#"{"enabledPlugins": {"a@m": true, "b@m": true}, "env": {"A": "user", "B": "user"}}"#,
            ),
            (
                Layer::Project,
                r#"{"enabledPlugins": {"b@m": false, "c@m": true}, "env": {"B": "project", "N": 5}}"#,
            ),
            (Layer::Managed, r#"{"enabledPlugins": {"c@m": false}, "env": {"A": "managed", "T": true}}"#),
        ],
        &[
            "plugin a@m=true [user]",
            "plugin b@m=false [project]",
            "plugin c@m=false [managed]",
            "env B=project [project]",
            "env N=5 [project]",
            "env A=managed [managed]",
            "env T=true [managed]",
        ],
    );
    check(
        &[
            (
                Layer::User,
                r#"{"pluginConfigs": {"p@m": {"options": {"a": "user", "b": "user"}}, "q": {"c": 1}}}"#,
            ),
            (Layer::Project, r#"{"pluginConfigs": {"p@m": {"options": {"b": "project"}}}}"#),
        ],
        &["config q c=1", "config p@m a=user,b=project"],
    );
}

#[test]
fn a_plugins_options_are_found_with_and_without_its_marketplace() {
    let text = r#"{"pluginConfigs": {"p@m": {"options": {"a": 1}}, "q": {"b": 2}, "pq": {"c": 3}}}"#;
    let (settings, _) = merge(&[file(Layer::User, text).0], FolderTrust::Trusted);
    let of = |name: &str| settings.plugin_config(name).iter().map(|(key, _)| &**key).collect::<String>();
    assert_eq!([of("p@m"), of("p@n"), of("q"), of("m"), of("")], ["a", "", "b", "", ""]);
    // One for a session gets what was chosen for its name anywhere.
    assert_eq!([of("p@inline"), of("q@inline"), of("pq@inline"), of("m@inline")], ["a", "b", "c", ""]);
}

// ── Denials ──

#[test]
fn a_denial_is_never_lost_for_its_form() {
    let as_list = "! user.json:1:26 invalid-setting `permissions.deny` takes a list of rules, not";
    let old = "old-spelling a rule as an object: the form of older versions";
    for (deny, want) in [
        (r#"["Bash", " Read "]"#, vec!["deny Bash [user]".to_owned(), "deny Read [user]".into()]),
        (
            r#""Bash(rm -rf:*)""#,
            vec!["deny Bash(rm -rf:*) [user]".into(), format!("{as_list} text (read as a list of 1)")],
        ),
        (
            r#""Bash(rm, x), Read WebFetch""#,
            vec![
                "deny Bash(rm, x) [user]".into(),
                "deny Read [user]".into(),
                "deny WebFetch [user]".into(),
                format!("{as_list} text (read as a list of 3)"),
            ],
        ),
        (
            r#"{"tool": "Bash"}"#,
            vec![
                "deny Bash [user]".into(),
                format!("{as_list} a mapping (read as a list of 1)"),
                format!("! user.json:1:26 {old} (write \"Bash\")"),
            ],
        ),
        (
            r#"["Edit", {"toolName": "Bash", "ruleContent": "rm:*"}, {"tool": "Task", "agent": "x"}]"#,
            vec![
                "deny Edit [user]".into(),
                "deny Bash(rm:*) [user]".into(),
                "deny Task(x) [user]".into(),
                format!("! user.json:1:35 {old} (write \"Bash(rm:*)\")"),
                format!("! user.json:1:80 {old} (write \"Task(x)\")"),
            ],
        ),
        // A condition that is not understood makes the rule broader, not void.
        (
            r#"[{"name": "Bash", "ruleContent": ["a", "b"]}]"#,
            vec!["deny Bash [user]".into(), format!("! user.json:1:27 {old} (write \"Bash\")")],
        ),
        ("null", vec![]),
        ("[]", vec![]),
    ] {
        let text = format!(r#"{{"permissions": {{"deny": {deny}}}}}"#);
        let want: Vec<&str> = want.iter().map(String::as_str).collect();
        check(&[(Layer::User, &text)], &want);
    }
}

#[test]
fn a_denial_that_cannot_work_is_reported_and_costs_only_itself() {
    let rules = r#""permissions.deny" takes"#.replace('"', "`");
    for (deny, said) in [
        (
            "5",
            format!(
                "26 invalid-setting {rules} a list of rules, not the number 5; nothing is started until it is mended"
            ),
        ),
        (
            "true",
            format!(
                "26 invalid-setting {rules} a list of rules, not true or false; nothing is started until it is mended"
            ),
        ),
        (
            r#"[5, "Bash"]"#,
            format!(r#"27 invalid-setting {rules} rules such as "Bash(rm:*)", not a number{MENDED}"#),
        ),
        (
            r#"[["Read"], "Bash"]"#,
            format!(r#"27 invalid-setting {rules} rules such as "Bash(rm:*)", not a list{MENDED}"#),
        ),
        (
            r#"[{"path": "x"}, "Bash"]"#,
            format!(r#"27 invalid-setting {rules} rules such as "Bash(rm:*)", not a mapping{MENDED}"#),
        ),
        (r#"["", "Bash"]"#, "27 invalid-setting an empty rule denies nothing".into()),
    ] {
        let text = format!(r#"{{"permissions": {{"deny": {deny}}}}}"#);
        let said = format!("! user.json:1:{said}");
        let kept = deny.contains("Bash").then_some("deny Bash [user]");
        check(&[(Layer::User, &text)], &kept.into_iter().chain([&*said]).collect::<Vec<_>>());
    }
    // Kept, in case somebody counts on seeing it, but not without a word.
    check(
        &[(Layer::User, r#"{"permissions": {"deny": ["Bash(rm", "Agent(a, b)"]}}"#)],
        &[
            "deny Agent(a, b) [user]",
            "! user.json:1:27 invalid-setting unbalanced parentheses: the rule `Bash(rm` denies nothing; nothing is \
             started until it is mended (write \"Tool\" or \"Tool(pattern)\")",
            "! user.json:1:38 invalid-setting a rule names one agent: `Agent(a, b)` denies nothing \
             (write a rule for each agent)",
        ],
    );
}

#[test]
fn denials_are_understood_like_tools_in_a_list() {
    let text = r#"{"permissions": {"deny": ["Task(x)", "mcp__github", "*", "Bash(rm:*)", "KillShell"]}}"#;
    let (settings, _) = merge(&[file(Layer::Project, text).0], FolderTrust::Trusted);
    for rule in &settings.rules {
        assert_eq!(rule.pattern, ToolPattern::parse(&rule.text));
    }
    let ToolPattern::Tool { name, scope } = &settings.rules[0].pattern else { panic!("Task(x) is a tool") };
    assert_eq!((&**name, scope), ("Agent", &Some(Scope::Agents(vec!["x".into()]))));
}

// ── The administrator's ──

#[test]
fn what_only_the_administrator_may_set_is_ignored_elsewhere_and_said() {
    let text = "{\n  \"strictPluginOnlyCustomization\": true,\n  \"disableSideloadFlags\": true\n}";
    for layer in [Layer::User, Layer::Project, Layer::Local, Layer::Flag] {
        let said = |line: u32, key: &str| {
            let file = layer.word();
            format!(
                "! {file}.json:{line}:3 invalid-setting `{key}` counts only in managed settings; it is ignored here"
            )
        };
        check(
            &[(layer, text)],
            &[&said(2, "strictPluginOnlyCustomization"), &said(3, "disableSideloadFlags")],
        );
    }
    check(
        &[(Layer::Managed, text)],
        &["plugins only agents,hooks,mcp,skills [managed]", "no sideload [managed]"],
    );
}

#[test]
fn what_is_kept_to_plugins_can_be_listed_and_adds_up() {
    let kinds = "`strictPluginOnlyCustomization` knows agents, hooks, mcp and skills";
    let only = |value: &str| format!(r#"{{"strictPluginOnlyCustomization": {value}}}"#);
    for (values, want) in [
        (&["true"][..], &["plugins only agents,hooks,mcp,skills [managed]"][..]),
        (&["false"], &["plugins only  [managed]"]),
        (&[r#"["agents", "mcp"]"#], &["plugins only agents,mcp [managed]"]),
        (&[r#"["agents"]"#, r#"["hooks"]"#], &["plugins only agents,hooks [managed]"]),
        (&["true", "false"], &["plugins only  [managed]"]),
        (&["true", r#"["hooks"]"#], &["plugins only hooks [managed]"]),
        (
            &[r#"["agent", "mcp", 5]"#],
            &[
                "plugins only mcp [managed]",
                &format!("! managed.json:1:36 invalid-setting {kinds}, not `agent`{MENDED}"),
                &format!("! managed.json:1:52 invalid-setting {kinds}, not a number{MENDED}"),
            ],
        ),
        // A policy that is mistyped must not look as if it were in force.
        (
            &[r#""agents""#],
            &[&format!(
                "! managed.json:1:35 invalid-setting `strictPluginOnlyCustomization` takes true or false, or a \
                     list, not text{MENDED}"
            )],
        ),
    ] {
        let texts: Vec<String> = values.iter().map(|value| only(value)).collect();
        let files: Vec<_> = texts.iter().map(|text| (Layer::Managed, text.as_str())).collect();
        check(&files, want);
    }
}

#[test]
fn bypass_can_be_switched_off_anywhere_and_on_again_nowhere() {
    let switch = |value: &str| format!(r#"{{"permissions": {{"disableBypassPermissionsMode": {value}}}}}"#);
    let (off, on) = (switch(r#""disable""#), switch("false"));
    check(&[(Layer::User, &off)], &["no bypass [user]"]);
    check(&[(Layer::User, &switch("true"))], &["no bypass [user]"]);
    check(&[(Layer::Project, &off), (Layer::Local, &on)], &["no bypass [project]"]);
    check(&[(Layer::Managed, &off), (Layer::Local, &on)], &["no bypass [managed]"]);
    for (value, got) in [(r#""enable""#, "`enable`"), ("1", "the number 1"), ("[]", "a list")] {
        let said = format!(
            "! user.json:1:50 invalid-setting `permissions.disableBypassPermissionsMode` takes \"disable\", not {got}; \
             it is ignored"
        );
        check(&[(Layer::User, &switch(value))], &[&said]);
    }
}

#[test]
fn a_project_cannot_choose_the_mode_that_judges_for_itself() {
    let auto = r#"{"permissions": {"defaultMode": "auto"}}"#;
    for layer in [Layer::User, Layer::Local, Layer::Flag, Layer::Managed] {
        check(&[(layer, auto)], &[&format!("mode auto [{}]", layer.word())]);
    }
    check(
        &[(Layer::User, r#"{"permissions": {"defaultMode": "plan"}}"#), (Layer::Project, auto)],
        &[
            "mode plan [user]",
            "! project.json:1:33 invalid-setting a project cannot choose `auto`; it is ignored \
             (set it in your own settings)",
        ],
    );
}

// ── Mistakes ──

#[test]
fn a_wrong_type_is_reported_where_it_stands_and_costs_only_itself() {
    let modes = "plan, dontAsk, default, bubble, acceptEdits, auto, bypassPermissions, manual";
    let text = r#"{
  "model": 5,
  "availableModels": "opus",
  "enabledPlugins": [],
  "env": ["A=1"],
  "pluginConfigs": "x",
  "autoMemoryEnabled": "no",
  "permissions": {"defaultMode": "acceptEdit", "deny": ["Bash"]},
  "disableAllHooks": "yes",
  "cleanupPeriodDays": -3,
  "hooks": 5,
  "unknown": {"is": "fine"}
}"#;
    // What stops the start in the administrator's file costs only itself in others.
    for (layer, end) in [(Layer::Managed, MENDED), (Layer::User, "; it is ignored")] {
        let word = layer.word();
        let at = |place: &str, said: &str| format!("! {word}.json:{place} {said}");
        let wrong = |place: &str, said: &str| at(place, &format!("invalid-setting {said}{end}"));
        let hook_end = if layer == Layer::Managed { MENDED } else { "" };
        let want = [
            format!("deny Bash [{word}]"),
            wrong("2:12", "`model` takes text, not the number 5"),
            wrong("3:22", "`availableModels` takes a list of texts, not text"),
            wrong("4:21", "`enabledPlugins` takes an object of names and true or false, not a list"),
            wrong("5:10", "`env` takes an object of names and values, not a list"),
            wrong("6:20", "`pluginConfigs` takes an object, not text"),
            wrong("7:24", "`autoMemoryEnabled` takes true or false, not text"),
            wrong("8:34", &format!("`permissions.defaultMode` takes one of {modes}, not `acceptEdit`"))
                + " (did you mean `acceptEdits`?)",
            wrong("9:22", "`disableAllHooks` takes true or false, not text"),
            wrong("10:24", "`cleanupPeriodDays` takes a whole number, not the number -3"),
            at("12:3", "unknown-setting no setting is called `unknown`; it is ignored"),
            at(
                "11:12",
                &format!("invalid-hook `hooks` must map events to handlers; this is a number{hook_end}"),
            ),
        ];
        check(&[(layer, text)], &want.iter().map(String::as_str).collect::<Vec<_>>());
    }
    check(
        &[(Layer::User, r#"{"enabledPlugins": {"a": true, "b": "yes"}, "env": {"A": "1", "B": ["x"]}}"#)],
        &[
            "plugin a=true [user]",
            "env A=1 [user]",
            "! user.json:1:37 invalid-setting `enabledPlugins.b` takes true or false, not text; it is ignored",
            "! user.json:1:68 invalid-setting `env.B` takes text, not a list; it is ignored",
        ],
    );
    check(
        &[(Layer::User, r#"{"permissions": ["Bash"], "model": "kept"}"#)],
        &[
            "model kept [user]",
            "! user.json:1:17 invalid-setting `permissions` takes an object, not a list; nothing is started until it is \
             mended",
        ],
    );
    check(
        &[(Layer::User, r#"{"permissions": {"defaultMode": 5}}"#)],
        &[&format!(
            "! user.json:1:33 invalid-setting `permissions.defaultMode` takes one of {modes}, not the number 5; it is ignored"
        )],
    );
    // A wrong value takes nothing from a weaker layer that had a right one.
    check(
        &[(Layer::User, r#"{"model": "a"}"#), (Layer::Local, r#"{"model": null}"#)],
        &[
            "model a [user]",
            "! local.json:1:11 invalid-setting `model` takes text, not nothing; it is ignored",
        ],
    );
}

#[test]
fn comments_and_trailing_commas_are_read_and_said() {
    check(
        &[(Layer::User, "{\n  // mine\n  \"model\": \"a\",\n}")],
        &[
            "model a [user]",
            "! user.json:2:3 json-comment a comment or a trailing comma: not strict JSON \
             (posse reads it, other tools drop the whole file)",
        ],
    );
    check(
        &[(Layer::User, r#"{"model": "a", "model": "b"}"#)],
        &["model b [user]", "! user.json:1:2 duplicate-key this key stands again below; the last one counts"],
    );
}

#[test]
fn a_file_that_says_nothing_leaves_the_others_alone() {
    for text in ["", "  \n", "{}"] {
        check(&[(Layer::Local, text), (Layer::User, r#"{"model": "a"}"#)], &["model a [user]"]);
    }
    for (text, kind) in [("[]", "a list"), ("5", "a number"), ("\"x\"", "text"), ("null", "nothing")] {
        check(
            &[(Layer::Local, text), (Layer::User, r#"{"model": "a"}"#)],
            &[
                "model a [user]",
                &format!("! local.json:1:1 invalid-setting settings are an object; this is {kind}"),
            ],
        );
    }
    let (broken, problems) = file(Layer::User, "{\"model\": \n}");
    assert!(broken.root.is_none());
    assert_eq!(problems.iter().map(|one| one.rule).collect::<Vec<_>>(), [Rule::JsonSyntax]);
    assert_eq!(problems[0].location.map(|at| at.line), Some(2));
}

#[test]
fn a_project_may_not_bring_a_command_that_prints_keys() {
    let helper = r#"{"apiKeyHelper": "print-key"}"#;
    assert_eq!(said(&[(Layer::User, helper)]), ["key helper print-key [user]"]);
    for layer in [Layer::Project, Layer::Local] {
        let lines = said(&[(layer, helper)]);
        assert!(lines.len() == 1 && lines[0].contains("invalid-setting"), "{lines:?}");
    }
}

// ── The table ──

/// A value the shape does not take, if there is one.
fn not_taken(shape: Shape) -> Option<&'static str> {
    match shape {
        Shape::Text | Shape::Disable => Some("7"),
        Shape::Flag | Shape::Count | Shape::Dollars | Shape::Choice(_) => Some("\"maybe\""),
        Shape::Rules => Some("7"),
        Shape::Texts | Shape::List => Some("\"one\""),
        Shape::Group | Shape::Values | Shape::Flags | Shape::Object | Shape::Either(_) => Some("7"),
        Shape::Hooks | Shape::Any => None,
    }
}

/// A value the shape takes.
fn taken(shape: Shape) -> String {
    match shape {
        Shape::Text => "\"x\"".into(),
        Shape::Flag => "true".into(),
        Shape::Count => "3".into(),
        Shape::Dollars => "0.25".into(),
        Shape::Choice(words) => format!("{:?}", words[0]),
        Shape::Disable => "\"disable\"".into(),
        Shape::Texts | Shape::Rules | Shape::List => "[]".into(),
        Shape::Hooks | Shape::Group | Shape::Values | Shape::Flags | Shape::Object => "{}".into(),
        Shape::Either(shapes) => taken(shapes[0]),
        Shape::Any => "null".into(),
    }
}

/// A file that sets one key, the value in line 2, and the column the value stands in.
fn one_key(name: &str, value: &str) -> (String, usize) {
    let parts: Vec<&str> = name.split('.').collect();
    let open: String = parts.iter().map(|part| format!("\"{part}\": {{")).collect();
    let open = open.strip_suffix('{').unwrap_or(&open);
    (format!("{{\n{open}{value}{}", "}".repeat(parts.len())), open.len() + 1)
}

#[test]
fn every_key_takes_its_shape_and_reports_another_where_it_stands() {
    for key in KEYS {
        let (text, _) = one_key(key.name, &taken(key.shape));
        let (good, _) = file(Layer::Managed, &text);
        let (settings, problems) = merge(&[good], FolderTrust::Trusted);
        assert!(problems.is_empty() && settings.unsound.is_empty(), "{text}: {problems:?}");
        let Some(wrong) = not_taken(key.shape) else { continue };
        let (text, column) = one_key(key.name, wrong);
        for layer in [Layer::User, Layer::Managed] {
            let (settings, problems) = merge(&[file(layer, &text).0], FolderTrust::Trusted);
            let may_set = key.setters == Setters::Anyone || layer == Layer::Managed;
            let at = problems.iter().map(|one| one.location.map(|at| (at.line, at.column as usize)));
            let place = if may_set || key.setters == Setters::NotProject { Some((2, column)) } else { None };
            if let Some(place) = place {
                assert_eq!(at.collect::<Vec<_>>(), [Some(place)], "{text}: {problems:?}");
                assert!(problems[0].text.starts_with(&format!("`{}` takes ", key.name)), "{problems:?}");
            } else {
                assert!(problems[0].text.contains("only in managed settings"), "{problems:?}");
            }
            let denies = matches!(key.name, "permissions" | "permissions.deny" | "deniedMcpServers")
                || key.name.starts_with("budget");
            let stops = denies || (layer == Layer::Managed && key.used);
            assert_eq!(!settings.unsound.is_empty(), stops, "{} in {}", key.name, layer.word());
        }
    }
}

#[test]
fn the_table_is_in_order() {
    for (place, key) in KEYS.iter().enumerate() {
        assert!(!KEYS[..place].iter().any(|earlier| earlier.name == key.name), "{} stands twice", key.name);
        assert!(key.does.ends_with('.'), "{}", key.name);
        if let Some((group, _)) = key.name.rsplit_once('.') {
            let group = find_key(group).unwrap_or_else(|| panic!("{group} is not in the table"));
            assert_eq!(group.shape, Shape::Group, "{}", key.name);
        }
    }
    for mode in Mode::ALL {
        let shape = find_key("permissions.defaultMode").unwrap().shape;
        assert!(matches!(shape, Shape::Choice(words) if words.contains(&mode.name())), "{mode:?}");
    }
}

#[test]
fn keys_nobody_knows_are_told_from_slips_and_notes() {
    let said = |text: &str| {
        let (_, problems) = merge(&[file(Layer::User, text).0], FolderTrust::Trusted);
        let word =
            |one: &Diagnostic| format!("{} {}", one.severity.word(), one.hint.clone().unwrap_or_default());
        problems.iter().map(word).collect::<Vec<_>>().join("; ")
    };
    for (text, want) in [
        (r#"{"modle": 1}"#, "warning did you mean `model`?"),
        (r#"{"permissions": {"dney": []}}"#, "warning did you mean `deny`?"),
        (r#"{"permissions": {"bash": {"deny": []}}}"#, "warning "),
        (r#"{"deny": []}"#, "warning it belongs at `permissions.deny`"),
        (r#"{"allowedDomains": []}"#, "warning it belongs at `sandbox.network.allowedDomains`"),
        (r#"{"claudeFlow": {}}"#, "note "),
        (r##"{"_comment": 1, "//": 2, "$schema": "x", "# why": 3}"##, ""),
    ] {
        assert_eq!(said(text), want, "{text}");
    }
}

// ── Rules that allow and ask, hooks, trust ──

#[test]
fn rules_that_allow_or_ask_are_dropped_when_malformed_and_doubted_when_they_match_nothing() {
    for (behavior, nothing) in [("allow", "allows nothing"), ("ask", "asks for nothing")] {
        let text = format!(
            r#"{{"permissions": {{"{behavior}": ["Bash(rm", 5, "", "Frob", "Read", "Agent(Ex*)", "mcp__x__y", {{"name": "Bash", "ruleContent": 5}}]}}}}"#
        );
        let lines = said(&[(Layer::User, &text)]);
        let kept: Vec<&String> = lines.iter().filter(|line| !line.starts_with('!')).collect();
        let want =
            ["Frob", "Read", "Agent(Ex*)", "mcp__x__y"].map(|rule| format!("{behavior} {rule} [user]"));
        assert_eq!(kept, want.iter().collect::<Vec<_>>());
        let problems = lines.iter().filter(|line| line.starts_with('!')).count();
        assert_eq!(problems, 6, "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains(nothing)), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.contains(MENDED)), "{lines:#?}");
    }
}

#[test]
fn only_the_administrators_rules_count_where_he_says_so() {
    check(
        &[
            (Layer::User, r#"{"permissions": {"allow": ["Read"], "deny": ["Bash"]}}"#),
            (
                Layer::Managed,
                r#"{"allowManagedPermissionRulesOnly": true, "permissions": {"ask": ["Edit"]}}"#,
            ),
        ],
        &["ask Edit [managed]", "managed rules only [managed]", "- allow Read [user]", "- deny Bash [user]"],
    );
}

#[test]
fn hooks_add_up_and_are_switched_off_by_those_who_may() {
    let hook = |command: &str, more: &str| {
        format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}{more}}}"#
        )
    };
    let (user, managed) = (hook("u", ""), hook("m", ""));
    check(
        &[(Layer::User, &user), (Layer::Managed, &managed)],
        &["hook Stop: u [user]", "hook Stop: m [managed]"],
    );
    let off = hook("u", r#", "disableAllHooks": true"#);
    check(
        &[(Layer::User, &off), (Layer::Managed, &managed)],
        &["hook Stop: m [managed]", "no hooks [user]", "- Stop: u [user]"],
    );
    let off = hook("m", r#", "disableAllHooks": true"#);
    check(
        &[(Layer::User, &user), (Layer::Managed, &off)],
        &["no hooks [managed]", "- Stop: u [user]", "- Stop: m [managed]"],
    );
    let only = hook("m", r#", "allowManagedHooksOnly": true"#);
    check(
        &[(Layer::User, &user), (Layer::Managed, &only)],
        &["hook Stop: m [managed]", "managed hooks only [managed]", "- Stop: u [user]"],
    );
}

#[test]
fn a_folder_nobody_trusts_only_takes_away() {
    let own = r#"{
  "permissions": {"allow": ["Bash"], "ask": ["Edit"], "deny": ["Read"], "additionalDirectories": ["/x"], "defaultMode": "acceptEdits"},
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]},
  "env": {"PATH": "/x", "NODE_ENV": "test", "ANTHROPIC_BASE_URL": "http://x", "ANTHROPIC_MODEL": "m"},
  "disableAllHooks": true,
  "sandbox": {"enabled": false, "excludedCommands": ["git"], "filesystem": {"denyRead": ["/secret"], "allowWrite": ["/"]}}
}"#;
    let user = r#"{"sandbox": {"enabled": true}, "permissions": {"defaultMode": "plan"}}"#;
    for layer in [Layer::Project, Layer::Local] {
        let files = [file(Layer::User, user).0, file(layer, own).0];
        let (settings, problems) = merge(&files, FolderTrust::Untrusted);
        assert_eq!(problems, []);
        let rules: Vec<&str> = settings.rules.iter().map(|rule| &*rule.text).collect();
        assert_eq!(rules, ["Edit", "Read"]);
        let env: Vec<&str> = settings.env.iter().map(|(name, _)| &**name).collect();
        assert_eq!(env, ["NODE_ENV", "ANTHROPIC_MODEL"]);
        assert_eq!(settings.default_mode.map(|set| set.value), Some(Mode::Plan));
        assert!(settings.hooks.is_empty() && settings.hooks_off.is_none());
        assert_eq!(settings.sandbox.enabled.map(|set| set.value), Some(true));
        assert_eq!(settings.sandbox.deny_read.len(), 1);
        assert!(settings.sandbox.allow_write.is_empty() && settings.sandbox.excluded_commands.is_empty());
        assert!(settings.additional_directories.is_empty());
        assert_eq!(settings.ignored.len(), 10);
        assert!(settings.ignored.iter().all(|one| one.location.is_some()));
        let (settings, _) = merge(&files, FolderTrust::Trusted);
        assert_eq!(
            (settings.rules.len(), settings.env.len(), settings.ignored.len()),
            (3, 4, 1),
            "the hook is off"
        );
    }
    for layer in [Layer::User, Layer::Flag, Layer::Managed] {
        let (settings, _) = merge(&[file(layer, own).0], FolderTrust::Untrusted);
        assert_eq!((settings.rules.len(), settings.env.len()), (3, 4), "not the folder's to be trusted");
    }
}

#[test]
fn budgets_are_only_ever_lowered() {
    let own = r#"{"budget": {"usd": 5, "tokens": 1000, "descendants": 99999999999}}"#;
    check(
        &[
            (Layer::User, own),
            (Layer::Project, r#"{"budget": {"usd": 7.25, "tokens": 10, "seconds": 60}}"#),
            (Layer::Managed, r#"{"budget": {"usd": 20}}"#),
        ],
        &[
            "tokens 10 [project]",
            "microdollars 5000000 [user]",
            "seconds 60 [project]",
            "descendants 4294967295 [user]",
        ],
    );
    check(
        &[(Layer::User, own), (Layer::Managed, r#"{"budget": {"usd": 0.5, "descendants": 0}}"#)],
        &["tokens 1000 [user]", "microdollars 500000 [managed]", "descendants 0 [managed]"],
    );
    // An untrusted folder may take away.
    let (files, _): (Vec<_>, Vec<_>) =
        [(Layer::User, own), (Layer::Project, r#"{"budget": {"usd": 1, "tokens": 5000}}"#)]
            .map(|(layer, text)| file(layer, text))
            .into_iter()
            .unzip();
    let (settings, _) = merge(&files, FolderTrust::Untrusted);
    assert_eq!(
        (settings.budget.limits().microdollars, settings.budget.limits().tokens),
        (Some(1_000_000), Some(1_000))
    );
    assert!(settings.ignored.is_empty());
    let shown: Vec<String> = view(&files, &settings, FolderTrust::Untrusted)
        .iter()
        .map(|value| format!("{} {:?}", value.key, value.value.as_ref().map(ToString::to_string)))
        .collect();
    assert_eq!(
        shown,
        [
            r#"budget.tokens Some("1000")"#,
            r#"budget.usd Some("1")"#,
            r#"budget.descendants Some("99999999999")"#,
        ]
    );
}

#[test]
fn a_budget_that_cannot_be_read_is_not_taken_for_none() {
    for text in [
        r#"{"budget": 5}"#,
        r#"{"budget": {"usd": "five"}}"#,
        r#"{"budget": {"usd": -1}}"#,
        r#"{"budget": {"tokens": 1.5}}"#,
    ] {
        let (read, _) = file(Layer::User, text);
        let (settings, _) = merge(&[read], FolderTrust::Trusted);
        assert_eq!(settings.unsound.len(), 1, "{text}");
        assert!(settings.budget.limits().is_unlimited(), "{text}");
    }
}
