use super::*;
use crate::{json, text};

/// What a manifest says, or why the plugin is refused; then what else is said about it.
fn read(source: &str) -> String {
    let (root, problems) = json::parse(source);
    assert!(problems.is_empty(), "the example is not JSON: {problems:?}\n{source}");
    let (manifest, problems) = read_manifest(&root.unwrap(), "Some Folder");
    let said = problems.iter().map(|problem| {
        let at = text::locate(source, problem.span.unwrap());
        let hint = problem.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        format!("{}:{} {} {}{hint}", at.line, at.column, problem.rule.info().id, problem.text)
    });
    let manifest = manifest.as_ref().map_or_else(|| "refused".into(), words);
    [manifest].into_iter().chain(said).collect::<Vec<_>>().join("\n")
}

/// One function knows the shape of a manifest.
fn words(manifest: &Manifest) -> String {
    let paths = |paths: &[ManifestPath]| paths.iter().map(|path| &*path.path).collect::<Vec<_>>().join(" ");
    let mut parts = vec![manifest.name.to_string()];
    let texts = [
        ("version", &manifest.version),
        ("about", &manifest.description),
        ("by", &manifest.author),
        ("home", &manifest.homepage),
        ("repository", &manifest.repository),
        ("license", &manifest.license),
    ];
    parts.extend(texts.iter().filter_map(|(key, text)| Some(format!("{key} {}", text.as_ref()?))));
    if !manifest.keywords.is_empty() {
        parts.push(format!("keywords {}", manifest.keywords.join(" ")));
    }
    parts.extend(manifest.agents.as_ref().map(|agents| format!("agents [{}]", paths(agents))));
    if !manifest.skills.is_empty() {
        parts.push(format!("skills [{}]", paths(&manifest.skills)));
    }
    for command in manifest.commands.iter().flatten() {
        parts.push(match command {
            Command::Path(path) => format!("command {}", path.path),
            Command::Named { name, text: CommandText::File(path), .. } => {
                format!("command {name}={}", path.path)
            }
            Command::Named { name, text: CommandText::Here(text), .. } => format!("command {name}:{text}"),
        });
    }
    parts.extend(manifest.hooks.iter().map(|at| match at {
        HooksAt::File(path) => format!("hooks {}", path.path),
        HooksAt::Here(_) => "hooks here".into(),
    }));
    parts.extend(manifest.mcp_servers.iter().map(|at| match at {
        ServersAt::File(path) => format!("servers {}", path.path),
        ServersAt::Here(_) => "servers here".into(),
    }));
    parts.extend(manifest.user_config.iter().map(|option| {
        let flags = [(option.required, "!"), (option.sensitive, "*")];
        let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, flag)| *flag).collect();
        let default = option.default.as_ref().map_or_else(String::new, |default| format!("={default}"));
        format!("{}{flags}:{}{default}", option.key, option.kind.word())
    }));
    parts.extend(manifest.dependencies.iter().map(|name| format!("needs {name}")));
    parts.join(", ")
}

/// A manifest with a name and this beside it.
fn with(member: &str) -> String {
    format!(r#"{{"name": "p", {member}}}"#)
}

#[test]
fn what_a_manifest_may_say() {
    for (source, want) in [
        (r#"{"name": "p"}"#, "p"),
        (r#"{"name": "Pläg-in_2:x"}"#, "Pläg-in_2:x"),
        (&with(r#""version": "1.0", "description": "does""#), "p, version 1.0, about does"),
        (
            &with(r#""license": "MIT", "repository": "https://e.org/r""#),
            "p, repository https://e.org/r, license MIT",
        ),
        (&with(r#""author": {"name": "A", "email": "a@b"}"#), "p, by A"),
        (&with(r#""homepage": "mailto:a@example.org""#), "p, home mailto:a@example.org"),
        (&with(r#""keywords": []"#), "p"),
        (&with(r#""keywords": ["a", "b"]"#), "p, keywords a b"),
        (&with(r#""dependencies": ["q", {"name": "r"}]"#), "p, needs q, needs r"),
        (&with(r#""commands": "./commands/a.md""#), "p, command commands/a.md"),
        (&with(r#""commands": ["./a.md", "./more/"]"#), "p, command a.md, command more"),
        (
            &with(r#""commands": {"go": {"source": "./go.md"}, "do": {"content": "Do it."}}"#),
            "p, command go=go.md, command do:Do it.",
        ),
        (&with(r#""skills": "./skills""#), "p, skills [skills]"),
        (&with(r#""skills": []"#), "p"),
        (&with(r#""hooks": "./hooks/h.json""#), "p, hooks hooks/h.json"),
        (&with(r#""hooks": ["./a.json", {"Stop": []}]"#), "p, hooks a.json, hooks here"),
        (&with(r#""mcpServers": "./.mcp.json""#), "p, servers .mcp.json"),
        (&with(r#""mcpServers": {"db": {"command": "serve"}}"#), "p, servers here"),
        (&with(r#""whatever": 5"#), "p"),
        // Files of agents take the place of the folder; an empty list means none.
        (&with(r#""agents": "./a.md""#), "p, agents [a.md]"),
        (&with(r#""agents": ["./a.md", "./sub/b.md"]"#), "p, agents [a.md sub/b.md]"),
        (&with(r#""agents": []"#), "p, agents []"),
        // What the user may or must choose.
        (
            &with(
                r#""userConfig": {
                    "level": {"type": "number", "title": "L", "default": 3},
                    "on": {"type": "boolean", "default": true},
                    "key": {"type": "string", "title": "Key", "sensitive": true, "required": true},
                    "dir": {"type": "directory"}, "doc": {"type": "file"}, "free": {}
                }"#,
            ),
            "p, level:number=3, on:boolean=true, key!*:string, dir:directory, doc:file, free:string",
        ),
    ] {
        assert_eq!(read(source), want, "{source}");
    }
}

#[test]
fn what_is_no_object_refuses_the_plugin() {
    assert_eq!(read("[]"), "refused\n1:1 invalid-plugin a manifest is an object; this is a list");
    assert_eq!(read(r#""p""#), "refused\n1:1 invalid-plugin a manifest is an object; this is text");
}

#[test]
fn forms_people_really_wrote_are_understood_and_shown_as_they_are_written_today() {
    // The column of what stands after `{"name": "p", "key": `, worked out from the key.
    let at = |key: &str| r#"{"name": "p", "": "#.len() + key.len() + 1;
    for (key, value, made, said) in [
        ("version", "2", "p, version 2", r#"`version` takes text, not a number (write "2")"#),
        ("version", "null", "p", "`version` takes text, not nothing; it is ignored"),
        ("description", "[]", "p", "`description` takes text, not a list; it is ignored"),
        (
            "repository",
            r#"{"url": "x"}"#,
            "p, repository x",
            r#"`repository` takes text, not a mapping (write "x")"#,
        ),
        (
            "author",
            r#""Ann""#,
            "p, by Ann",
            r#"`author` takes an object with a `name` (write {"name": "Ann"})"#,
        ),
        ("author", "{}", "p", "`author` takes an object with a `name`; it is ignored"),
        ("homepage", r#""example.org""#, "p", "`homepage` takes a URL; it is ignored"),
        ("homepage", "5", "p", "`homepage` takes a URL; it is ignored"),
        (
            "keywords",
            r#""a, b""#,
            "p, keywords a b",
            r#"`keywords` takes a list of texts, not text (write ["a", "b"])"#,
        ),
        (
            "dependencies",
            r#"{"q": "1"}"#,
            "p",
            r#"`dependencies` takes a list of plugins, not a mapping; it is ignored (write ["other-plugin"])"#,
        ),
        ("userConfig", r#""x""#, "p", "`userConfig` takes an object, not text; it is ignored"),
        (
            "commands",
            r#""commands/a.md""#,
            "p, command commands/a.md",
            r#"`commands/a.md` does not begin with `./` (write "./commands/a.md")"#,
        ),
        (
            "skills",
            r#""skills""#,
            "p, skills [skills]",
            r#"`skills` does not begin with `./` (write "./skills")"#,
        ),
        (
            "skills",
            "true",
            "p",
            r#"`skills` takes paths such as "./skills/", not true or false; it is ignored"#,
        ),
        ("agents", r#""a.md""#, "p, agents [a.md]", r#"`a.md` does not begin with `./` (write "./a.md")"#),
        ("agents", r#""./A.MD""#, "p, agents [A.MD]", ""),
        (
            "agents",
            r#""./agents/""#,
            "p, agents [agents]",
            "`agents` names a folder: the form of older versions (name the files one by one, or leave `agents` out and use the folder `agents/`)",
        ),
        (
            "agents",
            r#"".""#,
            "p, agents []",
            "`./` names a folder: the form of older versions (name the files one by one, or leave `agents` out and use the folder `agents/`)",
        ),
    ] {
        let source = with(&format!(r#""{key}": {value}"#));
        let said =
            if said.is_empty() { String::new() } else { format!("\n1:{} old-manifest {said}", at(key)) };
        assert_eq!(read(&source), format!("{made}{said}"), "{source}");
    }
}

#[test]
fn a_plugin_without_a_usable_name_gets_one() {
    for (source, name, said) in [
        (
            "{}",
            "some-folder",
            r#"the manifest has no `name`; the plugin is called like its folder (write "name": "some-folder")"#,
        ),
        (
            r#"{"name": ""}"#,
            "some-folder",
            r#"the name is empty; the plugin is called `some-folder` (write "some-folder")"#,
        ),
        (r#"{"name": 5}"#, "5", r#"`name` takes text, not a number; the plugin is called `5` (write "5")"#),
        (
            r#"{"name": "CI/CD & DevOps Suite"}"#,
            "ci-cd-devops-suite",
            r#"the name `CI/CD & DevOps Suite` cannot stand before a `:`; the plugin is called `ci-cd-devops-suite` (write "ci-cd-devops-suite")"#,
        ),
        (
            r#"{"name": ".."}"#,
            "some-folder",
            r#"the name `..` cannot stand before a `:`; the plugin is called `some-folder` (write "some-folder")"#,
        ),
    ] {
        let at = if source == "{}" { 1 } else { 10 };
        assert_eq!(read(source), format!("{name}\n1:{at} old-manifest {said}"), "{source}");
    }
}

#[test]
fn no_path_leads_out_of_the_plugin() {
    for path in ["/etc/a.md", "../a.md", "./../a.md", "./a/../../b.md", "~/a.md", "C:/a.md", "a\\..\\b.md"] {
        for key in ["agents", "skills", "commands", "hooks", "mcpServers"] {
            let source = with(&format!(r#""{key}": ["{}"]"#, path.replace('\\', "\\\\")));
            let said = read(&source);
            assert!(said.contains("plugin-path") && said.contains("leads out"), "{source}: {said}");
            assert!(!said.lines().next().unwrap().contains(".md"), "{source}: {said}");
        }
    }
}

#[test]
fn parts_without_use_and_slips_of_the_pen_are_told() {
    let source = with(r#""lspServers": {}, "themes": "./t", "agent": "./a.md""#);
    let said = read(&source);
    assert_eq!(said.matches("plugin-part-unused").count(), 2, "{said}");
    assert!(said.contains("did you mean `agents`?"), "{said}");
    let options = with(
        r#""userConfig": {"a": {"kind": "x"}, "b": {"type": "secret"}, "c": 5, "d": {"type": "number", "default": "x"}}"#,
    );
    let said = read(&options);
    assert!(said.starts_with("p, a:string, b:string, c:number=5, d:number\n"), "{said}");
    assert_eq!(said.matches("old-manifest").count(), 4, "{said}");
}

// ── Hooks and servers ──

#[test]
fn hooks_with_or_without_a_name_around_them() {
    for (source, groups, rules) in [
        (
            r#"{"description": "d", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#,
            1,
            "",
        ),
        (r#"{"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}"#, 1, "old-manifest"),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}], "Nope": []}}"#,
            0,
            "invalid-hook unknown-hook-event",
        ),
        (r#"{}"#, 0, "invalid-hook"),
        (r#"[]"#, 0, "invalid-hook"),
    ] {
        let mut problems = Vec::new();
        let read = read_hooks(&json::parse(source).0.unwrap(), &mut problems);
        let said: Vec<&str> = problems.iter().map(|problem| problem.rule.info().id).collect();
        assert_eq!((read.len(), &*said.join(" ")), (groups, rules), "{source}");
    }
}

#[test]
fn servers_with_or_without_a_name_around_them() {
    for (source, names, problems) in [
        (r#"{"mcpServers": {"db": {"command": "serve"}, "web": {"url": "http://x"}}}"#, "db web", 0),
        (r#"{"db": {"command": "serve"}}"#, "db", 0),
        (r#"{"db": {"args": []}, "ok": {"command": "x"}}"#, "ok", 1),
        (r#"{"mcpServers": []}"#, "", 1),
    ] {
        let mut found = Vec::new();
        let read = read_servers(&json::parse(source).0.unwrap(), &mut found);
        let read: Vec<&str> = read.iter().map(|(name, ..)| &**name).collect();
        assert_eq!((&*read.join(" "), found.len()), (names, problems), "{source}");
    }
}

// ── Lists of plugins ──

#[test]
fn where_the_plugins_of_a_list_lie() {
    let source = r#"{"name": "m", "metadata": {"pluginRoot": "./all"}, "plugins": [
        {"name": "here", "source": "./p/here/"},
        {"name": "below", "source": "below"},
        {"name": "hub", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
        {"name": "git", "source": {"source": "url", "url": "https://e.org/x.git", "sha": "abc"}},
        {"name": "sub", "source": {"source": "git-subdir", "url": "file:///x", "path": "a/b"}},
        {"name": "npm", "source": {"source": "npm", "package": "@a/b"}},
        {"name": "here", "source": "./again"},
        {"name": "out", "source": "../x"},
        {"name": "a b", "source": "./x"},
        {"name": "..", "source": "./x"},
        {"name": "none"},
        {"name": "deep", "source": {"source": "git", "url": "u", "path": "../x"}}
    ]}"#;
    let (list, problems) = read_marketplace(&json::parse(source).0.unwrap());
    let list = list.unwrap();
    let shown: Vec<String> = list
        .plugins
        .iter()
        .map(|entry| match &entry.source {
            PluginSource::Folder(path) => format!("{} {path}", entry.name),
            PluginSource::Git { url, reference, commit, folder } => {
                let parts = [reference, commit, folder];
                let parts: Vec<&str> = parts.into_iter().flatten().map(|part| &**part).collect();
                format!("{} {url} {}", entry.name, parts.join(" "))
            }
            PluginSource::Unsupported(why) => format!("{} ! {why}", entry.name),
        })
        .collect();
    assert_eq!(
        shown.join("\n"),
        "\
here p/here
below all/below
hub https://github.com/o/r.git v1
git https://e.org/x.git abc
sub file:///x a/b
npm ! `@a/b` comes from npm, which posse does not install from"
    );
    assert_eq!(problems.len(), 6, "{problems:?}");
    for source in [r#"[]"#, r#"{"name": "m"}"#, r#"{"plugins": []}"#, r#"{"name": "../m", "plugins": []}"#] {
        let (list, problems) = read_marketplace(&json::parse(source).0.unwrap());
        assert!(list.is_none() && problems.len() == 1, "{source}: {problems:?}");
    }
}

// ── What a plugin may do ──

mod powers_of_plugins {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_secret_that_stops_being_one_is_more_than_before() {
        for (before, after, want) in [
            (Some(true), Some(false), true),
            (Some(true), Some(true), false),
            (Some(false), Some(false), false),
            (Some(false), Some(true), false),
            (None, Some(false), false),
            (Some(true), None, false),
        ] {
            let powers = |secret: Option<bool>| {
                let mut powers = Powers::default();
                secret.into_iter().for_each(|secret| powers.option("token", secret));
                powers
            };
            let told = widening(&powers(before), &powers(after));
            assert_eq!(
                told.iter().any(|one| one.more.kind == PowerKind::Option),
                want,
                "{before:?} {after:?}"
            );
        }
    }

    fn reach() -> impl Strategy<Value = Reach> {
        let few = proptest::collection::btree_set("[a-d]", 0..4);
        prop_oneof![
            1 => Just(Reach::All),
            4 => few.prop_map(Reach::these::<String>),
        ]
    }

    fn powers() -> impl Strategy<Value = Powers> {
        let kind = (0..PowerKind::ALL.len()).prop_map(|at| PowerKind::ALL[at]);
        proptest::collection::vec((kind, "[x-z]", reach()), 0..6).prop_map(|all| {
            let mut powers = Powers::default();
            all.into_iter().for_each(|(kind, name, reach)| powers.add(kind, name, reach));
            powers
        })
    }

    fn with(mut powers: Powers, more: &Powers) -> Powers {
        more.iter().for_each(|power| powers.add(power.kind, power.name, power.reach));
        powers
    }

    proptest! {
        #[test]
        fn the_same_is_no_more(powers in powers()) {
            prop_assert_eq!(widening(&powers, &powers), []);
        }

        #[test]
        fn a_part_is_no_more_than_the_whole(one in powers(), other in powers()) {
            let both = with(one.clone(), &other);
            prop_assert_eq!(widening(&both, &one), []);
            prop_assert_eq!(widening(&both, &other), []);
        }

        /// What is told is exactly what is missing: together with it, the old may do all the new may.
        #[test]
        fn what_is_told_is_all_there_is(old in powers(), new in powers()) {
            let told = widening(&old, &new);
            let mut grown = old.clone();
            for one in &told {
                grown.add(one.more.kind, one.more.name.clone(), one.more.reach.clone());
            }
            prop_assert_eq!(widening(&grown, &new), []);
            for one in told {
                let had = old.iter().any(|power| power.kind == one.more.kind && power.name == one.more.name);
                prop_assert_eq!(one.was_there, had);
            }
        }
    }
}

// ── Variables ──

#[test]
fn variables_stand_for_their_values_and_unknown_ones_for_themselves() {
    let variables = Variables {
        root: "/plugins/p".into(),
        data: "/data/p".into(),
        project: "/work".into(),
        user_config: vec![
            ("level".into(), "3".into()),
            ("empty".into(), "".into()),
            ("sly".into(), "${CLAUDE_PLUGIN_ROOT}".into()),
        ],
    };
    for (text, want) in [
        ("", ""),
        ("no variable, $1 and } and { and $ {x}", "no variable, $1 and } and { and $ {x}"),
        ("${CLAUDE_PLUGIN_ROOT}/run.sh", "/plugins/p/run.sh"),
        ("${CLAUDE_PLUGIN_DATA} in ${CLAUDE_PROJECT_DIR}", "/data/p in /work"),
        ("${CLAUDE_PLUGIN_ROOT}${CLAUDE_PLUGIN_ROOT}", "/plugins/p/plugins/p"),
        ("level ${user_config.level}", "level 3"),
        // Set to nothing is set.
        ("[${user_config.empty}]", "[]"),
        // What is not set stays, so that it can be seen.
        ("${user_config.token} ${HOME} ${}", "${user_config.token} ${HOME} ${}"),
        ("${claude_plugin_root} ${ CLAUDE_PLUGIN_ROOT }", "${claude_plugin_root} ${ CLAUDE_PLUGIN_ROOT }"),
        ("${user_config.}", "${user_config.}"),
        ("$CLAUDE_PLUGIN_ROOT", "$CLAUDE_PLUGIN_ROOT"),
        // A value is not looked at again.
        ("${user_config.sly}", "${CLAUDE_PLUGIN_ROOT}"),
        ("$${user_config.level}", "$3"),
        // Unclosed, and one inside another.
        ("${", "${"),
        ("${CLAUDE_PLUGIN_ROOT", "${CLAUDE_PLUGIN_ROOT"),
        ("${a ${user_config.level} b}", "${a 3 b}"),
        ("${user_config.level ${user_config.level}", "${user_config.level 3"),
        ("ü${user_config.level}ü${", "ü3ü${"),
    ] {
        assert_eq!(substitute(text, &variables), want, "{text}");
    }
    // A folder that is not known is not the root of the file system.
    let unknown = Variables::default();
    for text in ["rm -r ${CLAUDE_PLUGIN_DATA}/cache", "${CLAUDE_PLUGIN_ROOT}/x", "${CLAUDE_PROJECT_DIR}/x"] {
        assert_eq!(substitute(text, &unknown), text);
    }
}

#[test]
fn options_without_a_value_are_found_where_they_are_used() {
    let variables = Variables { user_config: vec![("set".into(), "x".into())], ..Variables::default() };
    for (text, want) in [
        ("", ""),
        ("${user_config.set} ${HOME} ${user_config.}", ""),
        ("${user_config.a}${user_config.b} ${user_config.a}", "a b"),
        ("${user_config.a", ""),
        ("${user_config.${user_config.b}", "b"),
    ] {
        assert_eq!(unset(text, &variables).join(" "), want, "{text}");
    }
    let node = json::parse(r#"{"a": ["${user_config.set}", 1, true, null], "b": 1.50}"#).0.unwrap();
    assert_eq!(expand(&node, &variables).to_string(), r#"{"a":["x",1,true,null],"b":1.5}"#);
    assert_eq!(texts(&node), ["${user_config.set}"]);
    // Values may be secret.
    assert!(!format!("{variables:?}").contains("\"x\""));
}
