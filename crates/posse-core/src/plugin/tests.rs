use super::*;
use crate::{json, text};

/// What a manifest says, or why the plugin is refused; then what else is said about it.
fn read(source: &str) -> String {
    let (root, problems) = json::parse(source);
    assert!(problems.is_empty(), "the example is not JSON: {problems:?}\n{source}");
    let (manifest, problems) = read_manifest(&root.unwrap());
    let said = problems.iter().map(|problem| {
        let at = text::locate(source, problem.span.unwrap());
        let hint = problem.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        format!("{}:{} {} {}{hint}", at.line, at.column, problem.rule.info().id, problem.text)
    });
    let manifest = manifest.map(|manifest| {
        let Manifest { name, version, description, agents, user_config } = &manifest;
        let mut parts = vec![name.to_string()];
        parts.extend(version.as_ref().map(|version| format!("version {version}")));
        parts.extend(description.as_ref().map(|description| format!("`{description}`")));
        parts.extend(agents.as_ref().map(|paths| {
            format!("agents [{}]", paths.iter().map(|path| &*path.path).collect::<Vec<_>>().join(", "))
        }));
        parts.extend(user_config.iter().map(|(key, value)| format!("{key}={value}")));
        parts.join(", ")
    });
    [manifest.unwrap_or_else(|| "refused".into())].into_iter().chain(said).collect::<Vec<_>>().join("\n")
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
        (&with(r#""version": "1.0", "description": "does""#), "p, version 1.0, `does`"),
        (&with(r#""license": "MIT", "repository": "https://example.org/r""#), "p"),
        (&with(r#""author": {"name": "A", "email": "a@b"}"#), "p"),
        (&with(r#""homepage": "https://example.org""#), "p"),
        (&with(r#""homepage": "mailto:a@example.org""#), "p"),
        (&with(r#""keywords": []"#), "p"),
        (&with(r#""keywords": ["a", "b"]"#), "p"),
        (&with(r#""dependencies": ["q"]"#), "p"),
        (&with(r#""settings": {}"#), "p"),
        (&with(r#""commands": "./commands/a.md""#), "p"),
        (&with(r#""commands": ["./a.md", "./more"]"#), "p"),
        (&with(r#""commands": {"go": {"source": "./go.md"}, "do": {"content": "Do it."}}"#), "p"),
        (&with(r#""skills": "./skills""#), "p"),
        (&with(r#""skills": []"#), "p"),
        (&with(r#""outputStyles": ["./styles"]"#), "p"),
        (&with(r#""whatever": 5, "hooks": [], "mcpServers": null"#), "p"),
        // Files of agents take the place of the folder; an empty list means none.
        (&with(r#""agents": "./a.md""#), "p, agents [a.md]"),
        (&with(r#""agents": ["./a.md", "./sub/b.md"]"#), "p, agents [a.md, sub/b.md]"),
        (&with(r#""agents": []"#), "p, agents []"),
        // What the user may configure, where it has a default.
        (
            &with(
                r#""userConfig": {"level": {"default": 3}, "on": {"default": true}, "key": {"title": "Key"}}"#,
            ),
            "p, level=3, on=true",
        ),
    ] {
        assert_eq!(read(source), want, "{source}");
    }
}

#[test]
fn what_refuses_the_whole_plugin() {
    // The column of what stands after `{"name": "p", "key": `, worked out from the key.
    let at = |key: &str| format!("1:{}", r#"{"name": "p", "": "#.len() + key.len() + 1);
    let paths = |key: &str| format!("{} invalid-plugin `{key}` takes paths that begin with `./`", at(key));
    let takes = |key: &str, what: &str| format!("{} invalid-plugin `{key}` takes {what}", at(key));
    for (key, value, want) in [
        ("version", "2", takes("version", "text, not a number")),
        ("version", "null", takes("version", "text, not nothing")),
        ("description", "[]", takes("description", "text, not a list")),
        ("license", "{}", takes("license", "text, not a mapping")),
        ("repository", r#"{"url": "x"}"#, takes("repository", "text, not a mapping")),
        ("author", r#""Ann""#, takes("author", r#"an object with a `name` (write {"name": "Ann"})"#)),
        ("author", "{}", takes("author", "an object with a `name`")),
        ("author", r#"{"name": ""}"#, takes("author", "an object with a `name`")),
        ("author", r#"{"name": 5}"#, takes("author", "an object with a `name`")),
        ("homepage", r#""example.org""#, takes("homepage", "a URL")),
        ("homepage", r#""https:""#, takes("homepage", "a URL")),
        ("homepage", r#""""#, takes("homepage", "a URL")),
        ("homepage", "5", takes("homepage", "a URL")),
        ("keywords", r#""a, b""#, takes("keywords", "a list of texts, not text")),
        ("keywords", r#"["a", 5]"#, takes("keywords", "a list of texts, not a list")),
        ("dependencies", r#"{"q": "1"}"#, takes("dependencies", "a list, not a mapping")),
        ("settings", "[]", takes("settings", "an object, not a list")),
        ("userConfig", r#""x""#, takes("userConfig", "an object, not text")),
        ("commands", r#""commands/a.md""#, paths("commands")),
        ("commands", r#"["./a.md", "b.md"]"#, paths("commands")),
        ("commands", r#"{"go": {"text": "x"}}"#, paths("commands")),
        ("commands", "null", paths("commands")),
        ("skills", r#""skills""#, paths("skills")),
        ("skills", r#"{"go": {"source": "./x"}}"#, paths("skills")),
        ("skills", "true", paths("skills")),
        ("outputStyles", r#"[5]"#, paths("outputStyles")),
        ("agents", "null", takes("agents", r#"paths such as "./agents/reviewer.md", not nothing"#)),
        ("agents", "{}", takes("agents", r#"paths such as "./agents/reviewer.md", not a mapping"#)),
        (
            "agents",
            r#""a.md""#,
            format!(
                "{} invalid-plugin `a.md` must begin with `./`: paths are relative to the plugin",
                at("agents")
            ),
        ),
        (
            "agents",
            r#""/etc/a.md""#,
            format!(
                "{} invalid-plugin `/etc/a.md` must begin with `./`: paths are relative to the plugin",
                at("agents")
            ),
        ),
        (
            "agents",
            r#""./A.MD""#,
            format!("{} invalid-plugin `./A.MD` must end in `.md`, in lower case", at("agents")),
        ),
    ] {
        let source = with(&format!(r#""{key}": {value}"#));
        assert_eq!(read(&source), format!("refused\n{want}"), "{source}");
    }
}

#[test]
fn a_plugin_needs_a_name_without_blanks() {
    for (source, want) in [
        ("{}", "1:1 invalid-plugin the manifest needs a `name`"),
        (r#"{"name": ""}"#, "1:10 invalid-plugin the name is empty"),
        (r#"{"name": null}"#, "1:10 invalid-plugin `name` takes text, not nothing"),
        (r#"{"name": 5}"#, "1:10 invalid-plugin `name` takes text, not a number"),
        (
            r#"{"name": "My Plugin"}"#,
            "1:10 invalid-plugin the name `My Plugin` holds a blank (for example `my-plugin`)",
        ),
        (r#"{"name": " "}"#, "1:10 invalid-plugin the name ` ` holds a blank"),
        ("[]", "1:1 invalid-plugin a manifest is an object; this is a list"),
        (r#""p""#, "1:1 invalid-plugin a manifest is an object; this is text"),
    ] {
        assert_eq!(read(source), format!("refused\n{want}"), "{source}");
    }
}

#[test]
fn every_problem_is_told_not_only_the_first() {
    let source = "{\n  \"name\": \"a b\",\n  \"author\": \"x\",\n  \"agents\": [5, \"b.md\"]\n}";
    assert_eq!(
        read(source),
        "\
refused
2:11 invalid-plugin the name `a b` holds a blank (for example `a-b`)
4:14 invalid-plugin `agents` takes paths such as \"./agents/reviewer.md\", not a number
4:17 invalid-plugin `b.md` must begin with `./`: paths are relative to the plugin
3:13 invalid-plugin `author` takes an object with a `name` (write {\"name\": \"x\"})"
    );
}

#[test]
fn folders_of_agents_are_the_older_form_accepted_and_said() {
    let hint = "(name the files one by one, or leave `agents` out and use the folder `agents/`)";
    for (value, paths, said) in [
        (r#""./agents""#, "agents", &["1:25 old-manifest `./agents` names a folder"][..]),
        (r#""./agents/""#, "agents", &["1:25 old-manifest `./agents/` names a folder"]),
        (r#"["./a.md", "./more/"]"#, "a.md, more", &["1:36 old-manifest `./more/` names a folder"]),
        (r#""./""#, "", &["1:25 old-manifest `./` names a folder"]),
        (r#"".""#, "", &["1:25 old-manifest `.` names a folder"]),
    ] {
        let source = with(&format!(r#""agents": {value}"#));
        let said: String =
            said.iter().map(|said| format!("\n{said}: the form of older versions {hint}")).collect();
        assert_eq!(read(&source), format!("p, agents [{paths}]{said}"), "{source}");
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
