use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::diagnostic::Severity;
use crate::origin::{Origin, Standing};

fn source(origin: Origin, file: &str) -> Source {
    Source {
        origin,
        standing: Standing::Folder(0),
        file: Path::new(file).into(),
        root: Path::new("/r").into(),
        plugin: (origin == Origin::Plugin).then(|| "p".into()),
    }
}

fn naming(kind: Kind, stem: &str) -> Naming<'_> {
    Naming { kind, plugin: None, folders: &[], stem }
}

fn skill(text: &str) -> SkillDefinition {
    parse(text, &source(Origin::User, "/r/x/SKILL.md"), naming(Kind::Skill, "x")).0
}

fn problems(text: &str) -> Vec<String> {
    let (_, found) = parse(text, &source(Origin::User, "/r/x/SKILL.md"), naming(Kind::Skill, "x"));
    found.iter().map(|one| format!("{} {}", one.severity.word(), one.text)).collect()
}

#[test]
fn the_table_is_in_the_order_of_its_ids() {
    for (place, field) in SKILL_FIELDS.iter().enumerate() {
        assert_eq!(field.id as usize, place, "{}", field.name);
        assert_eq!(skill_field_row(field.id).name, field.name);
        for slip in field.mistaken_for {
            assert!(find_skill_field(slip).is_none(), "{slip} is a field");
            assert_eq!(meant_by_skill_field(slip).map(|field| field.id), Some(field.id), "{slip}");
        }
    }
}

#[test]
fn fields_are_read_however_they_are_written() {
    let read = skill(
        "---\nname: Shown\ndescription:  Does it. \nwhen_to_use: often\nargument-hint: [a] [b]\narguments: [file, $mode]\n\
         allowed-tools: Read, Bash(git add:*), Grep\nmodel: haiku\neffort: high\ncontext: fork\nagent: scout\n\
         background: false\npaths: src/**/*.rs, docs\ndisable-model-invocation: true\nuser-invocable: \"false\"\n\
         license: MIT\n---\n\n Body \n",
    );
    assert_eq!(&*read.name, "x");
    assert_eq!(read.display.as_deref(), Some("Shown"));
    assert_eq!(read.about(), "Does it. - often");
    assert_eq!(read.argument_hint.as_deref(), Some("[a] [b]"));
    assert_eq!(read.arguments, ["file", "mode"].map(Box::from));
    assert_eq!(read.allowed_tools, ["Read", "Bash(git add:*)", "Grep"].map(Box::from));
    assert_eq!(read.model.name(), Some("haiku"));
    assert!(read.effort.is_some() && read.forks && read.is_described);
    assert_eq!((read.agent.as_deref(), read.background), (Some("scout"), Some(false)));
    assert_eq!(read.paths, ["src/**/*.rs", "docs"].map(Box::from));
    assert!(!read.is_for_models() && !read.is_for_people());
    assert_eq!((&*read.body, &*read.folder), ("Body", Path::new("/r/x")));
}

#[test]
fn what_is_not_described_is_described_by_its_first_line() {
    let long = "x".repeat(101);
    let cut = format!("{}...", "x".repeat(97));
    for (text, kind, plugin, want) in [
        ("\n\n## Title here\nmore", Kind::Skill, None, "Title here"),
        ("---\ndescription: [a, b]\n---\n# T", Kind::Skill, None, "T"),
        ("---\ndescription: 12\n---\n# T", Kind::Skill, None, "12"),
        (&long, Kind::Command, None, &cut),
        ("", Kind::Skill, None, "Skill"),
        ("", Kind::Command, None, "Custom command"),
        ("", Kind::Skill, Some("p"), "Plugin skill"),
        ("---\n---\n", Kind::Command, Some("p"), "Plugin command"),
    ] {
        let naming = Naming { kind, plugin, folders: &[], stem: "x" };
        let (read, _) = parse(text, &source(Origin::User, "/r/x.md"), naming);
        assert_eq!(&*read.description, want, "{text:?}");
    }
}

#[test]
fn names_come_from_folders_and_plugins() {
    for (kind, plugin, folders, want) in [
        (Kind::Skill, None, &[][..], "x"),
        (Kind::Skill, Some("p"), &[], "p:x"),
        (Kind::Command, None, &["a", "b"], "a:b:x"),
        (Kind::Command, Some("p"), &["a"], "p:a:x"),
    ] {
        let naming = Naming { kind, plugin, folders, stem: "x" };
        let (read, _) = parse("---\nname: other\n---\nb", &source(Origin::User, "/r/x.md"), naming);
        assert_eq!(&*read.name, want);
    }
}

#[test]
fn what_cannot_be_used_is_said_and_costs_nothing_else() {
    for (text, want) in [
        (
            "---\nallowedTools: Read\ndescription: d\n---\nb",
            "warning no field of a skill is called `allowedTools`",
        ),
        ("---\nowner: me\ndescription: d\n---\nb", "note no field of a skill is called `owner`"),
        ("---\ncontext: thread\ndescription: d\n---\nb", "warning `context` does not take `thread`"),
        (
            "---\nuser-invocable: maybe\ndescription: d\n---\nb",
            "warning `user-invocable` does not take `maybe`",
        ),
        ("---\nshell: powershell\ndescription: d\n---\nb", "warning `shell` does not take `powershell`"),
        ("b", "note no description"),
    ] {
        let found = problems(text);
        assert!(found.len() == 1 && found[0].starts_with(want), "{text:?}: {found:?}");
    }
    let (read, found) = parse(
        "---\ndescription: \"open\nx: [\n---\nb",
        &source(Origin::User, "/r/x/SKILL.md"),
        naming(Kind::Skill, "x"),
    );
    assert!(!found.is_empty() && found.iter().all(|one| one.severity < Severity::Error), "{found:?}");
    assert_eq!(&*read.name, "x");
}

#[test]
fn a_limit_that_cannot_be_read_holds() {
    for (value, hidden) in [("true", true), ("'true'", true), ("false", false), ("yes", true), ("", false)] {
        let read = skill(&format!("---\ndescription: d\ndisable-model-invocation: {value}\n---\nb"));
        assert_eq!(read.disable_model_invocation, hidden, "{value}");
    }
}

#[test]
fn arguments_are_taken_apart_as_a_shell_does() {
    for (text, want) in [
        ("", &[][..]),
        ("  a  b ", &["a", "b"]),
        ("'a b' c", &["a b", "c"]),
        ("\"a \\\"b\\\"\" ''", &["a \"b\"", ""]),
        ("a\\ b", &["a b"]),
        ("it's late", &["it's", "late"]),
        ("x\"y z\"w", &["xy zw"]),
    ] {
        assert_eq!(split_arguments(text), want, "{text}");
    }
}

#[test]
fn placeholders_are_replaced_once() {
    let names = ["file", "file_name"].map(Box::from);
    let values = |arguments| Values {
        arguments,
        names: &names,
        variables: vec![("CLAUDE_SKILL_DIR", "/s".into()), ("EMPTY", String::new())],
    };
    for (text, arguments, want, took) in [
        ("do $ARGUMENTS now", "a 'b c'", "do a 'b c' now", true),
        ("$0-$1|$2", "a 'b c'", "a-b c|$2", true),
        ("$ARGUMENTS[1] $ARGUMENTS[7] $ARGUMENTS[x]", "a b", "b $ARGUMENTS[7] a b[x]", true),
        ("$file $file_name $files $file[0]", "a b", "a b $files $file[0]", true),
        ("${CLAUDE_SKILL_DIR}/x ${EMPTY}${HOME} $HOME", "a", "/s/x ${HOME} $HOME", false),
        ("$0", "$1 b", "$1", true),
        ("$ARGUMENTS", "", "", true),
        ("$0x $ARGUMENTSX $ $$ ${", "a", "$0x $ARGUMENTSX $ $$ ${", false),
        ("costs $5", "a", "costs $5", false),
    ] {
        assert_eq!(substitute(text, &values(arguments)), (want.to_owned(), took), "{text}");
    }
}

#[test]
fn commands_are_found_where_an_author_wrote_them() {
    use Piece::{Command, Text};
    for (body, want) in [
        ("plain", &[Text("plain")][..]),
        ("!`date`", &[Command("date")]),
        ("- now: !`date -u` end", &[Text("- now: "), Command("date -u"), Text(" end")]),
        ("`!`date``", &[Text("`!`date``")]),
        ("x!`date`", &[Text("x!`date`")]),
        ("!`` !` `", &[Text("!`` !` `")]),
        ("!`open\n` x", &[Text("!`open\n` x")]),
        ("a\n```!\nls\npwd\n```\nb", &[Text("a\n"), Command("ls\npwd"), Text("\nb")]),
        ("```!\nnever closed", &[Text("```!\nnever closed")]),
        ("```sh\nls\n```", &[Text("```sh\nls\n```")]),
        ("é !`ä` ü", &[Text("é "), Command("ä"), Text(" ü")]),
    ] {
        assert_eq!(pieces(body), want, "{body:?}");
    }
}

#[test]
fn files_are_mentioned_outside_of_code() {
    for (text, want) in [
        ("see @a.txt, @b/c.md.", &["a.txt", "b/c.md"][..]),
        ("(@x.rs) @\"a b.txt\" @x.rs", &["x.rs", "a b.txt"]),
        ("mail me@x.org `@Component` @", &[]),
        ("```\n@inside\n```\n@outside", &["outside"]),
        ("@a.rs#L3-9", &["a.rs"]),
    ] {
        assert_eq!(mentions(text), want, "{text:?}");
    }
}

#[test]
fn a_mention_may_be_of_some_lines() {
    for (text, want) in [
        ("@a.rs", &[("a.rs", None)][..]),
        ("@a.rs#L3-9, @a.rs#L12.", &[("a.rs", Some((3, 9))), ("a.rs", Some((12, 12)))]),
        ("@a.rs#L3-L9", &[("a.rs", Some((3, 9)))]),
        // What is no range is no reason to pass the file over.
        ("@a.rs#L9-3 @b.rs#L0 @c.rs#Lx", &[("a.rs", None), ("b.rs", None), ("c.rs", None)]),
        ("@#L3", &[]),
    ] {
        let found = mentioned(text);
        let found: Vec<_> = found.iter().map(|mention| (mention.path.as_str(), mention.lines)).collect();
        assert_eq!(found, want, "{text:?}");
    }
}

#[test]
fn a_skill_is_about_the_files_its_patterns_fit() {
    let read = skill("---\ndescription: d\npaths: [src/**/*.rs, 'docs/', '*.sql', '[bad']\n---\n");
    for (path, want) in [
        ("src/a.rs", true),
        ("src/b/c.rs", true),
        ("a.rs", false),
        ("docs/x/y.md", true),
        ("deep/down/q.sql", true),
        ("src/a.py", false),
    ] {
        assert_eq!(read.is_about(path), want, "{path}");
    }
    assert!(skill("b").is_about("anything"));
}

fn named(name: &str, kind: Kind, origin: Origin, file: &str) -> SkillDefinition {
    let mut skill = parse("---\ndescription: d\n---\nb", &source(origin, file), naming(kind, name)).0;
    skill.name = name.into();
    skill
}

#[test]
fn of_one_name_one_counts_and_the_others_are_remembered() {
    let skills = vec![
        named("x", Kind::Skill, Origin::Project, "/p/x/SKILL.md"),
        named("x", Kind::Skill, Origin::User, "/u/x/SKILL.md"),
        named("x", Kind::Command, Origin::Managed, "/m/x.md"),
        named("p:tool", Kind::Skill, Origin::Plugin, "/q/tool/SKILL.md"),
        named("b", Kind::Command, Origin::User, "/u/b.md"),
    ];
    let registry = SkillRegistry::build(SkillFindings { skills, diagnostics: Vec::new() });
    let names: Vec<&str> = registry.active.iter().map(|skill| &*skill.name).collect();
    assert_eq!(names, ["b", "p:tool", "x"]);
    assert_eq!(registry.get("x").map(|skill| skill.source.origin), Some(Origin::User));
    assert_eq!((registry.shadowed.len(), registry.diagnostics.len()), (2, 2));
    let found = |name: &str| match registry.lookup(name) {
        SkillLookup::Found(skill) => skill.name.to_string(),
        SkillLookup::Ambiguous(names) => names.join("|"),
        SkillLookup::Unknown(close) => format!("?{}", close.unwrap_or_default()),
    };
    for (name, want) in [("/x", "x"), ("tool", "p:tool"), ("X", "x"), ("p:tol", "?p:tool"), ("nothing", "?")]
    {
        assert_eq!(found(name), want, "{name}");
    }
    assert_eq!(registry.slash_commands(), ["b", "p:tool", "x"]);
    assert_eq!(registry.skills(), ["p:tool", "x"]);
}

#[test]
fn a_folder_gives_leave_only_if_it_is_trusted() {
    let mut skill = named("x", Kind::Skill, Origin::Project, "/p/x/SKILL.md");
    skill.allowed_tools = vec!["Bash".into()];
    assert_eq!((skill.grants(false).len(), skill.grants(true).len()), (0, 1));
    skill.source.origin = Origin::User;
    assert_eq!(skill.grants(false).len(), 1);
}

#[test]
fn the_list_is_cut_fairly_and_says_what_it_leaves_out() {
    let mut short = named("short", Kind::Skill, Origin::User, "/u/s");
    short.description = "Tiny.".into();
    let mut long = named("long", Kind::Skill, Origin::User, "/u/l");
    long.description = "word ".repeat(60).trim().into();
    let both = [&long, &short];
    let with = |characters| listing(&both, Budget { characters, description: 200 });
    assert!(with(1000).lines().next().is_some_and(|line| line.chars().count() <= 208));
    let cut = with(100);
    assert!(cut.ends_with("- short: Tiny.") && cut.contains("…\n") && cut.chars().count() <= 100, "{cut}");
    assert_eq!(with(30), "- long\n- short");
    assert_eq!(with(8), "- long\n(1 more are not listed, for lack of room.)");
}

proptest! {
    #[test]
    fn nothing_panics_and_pieces_lose_nothing(text in "(?s)[ -~\n`!@$é]{0,200}") {
        let (read, _) = parse(&text, &source(Origin::User, "/r/x/SKILL.md"), naming(Kind::Skill, "x"));
        let values = Values { arguments: "a 'b", names: &read.arguments, variables: Vec::new() };
        let _ = (mentions(&text), substitute(&text, &values), split_arguments(&text));
        // Every command stands in the text, in order, between the texts around it.
        let mut rest = &*text;
        for piece in pieces(&text) {
            let (Piece::Text(part) | Piece::Command(part)) = piece;
            let at = rest.find(part);
            prop_assert!(at.is_some());
            rest = &rest[at.unwrap_or_default() + part.len()..];
        }
    }

    #[test]
    fn what_comes_in_through_arguments_is_never_a_command(arguments in "[a-z !`\n]{0,40}") {
        let values = Values { arguments: &arguments, ..Values::default() };
        let commands: Vec<_> = pieces("say $ARGUMENTS and !`date`")
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Command(command) => Some(substitute(command, &values).0),
                Piece::Text(_) => None,
            })
            .collect();
        prop_assert_eq!(commands, ["date"]);
    }

    #[test]
    fn the_list_fits_its_budget_wherever_names_do(
        lengths in proptest::collection::vec(0_usize..300, 1..20),
        characters in 300_usize..3000,
    ) {
        let skills: Vec<SkillDefinition> = lengths
            .iter()
            .enumerate()
            .map(|(at, length)| {
                let mut skill = named(&format!("s{at}"), Kind::Skill, Origin::User, "/u/s");
                skill.description = "x".repeat(*length).into();
                skill
            })
            .collect();
        let all: Vec<&SkillDefinition> = skills.iter().collect();
        let list = listing(&all, Budget { characters, description: 250 });
        prop_assert!(list.chars().count() <= characters);
        prop_assert_eq!(list.lines().count(), skills.len());
        prop_assert_eq!(list, listing(&all, Budget { characters, description: 250 }));
    }
}

#[test]
fn a_limit_that_cannot_be_read_keeps_the_skill_to_people_and_says_so() {
    let source = named("x", Kind::Skill, Origin::User, "/u/x").source;
    let naming = Naming { kind: Kind::Skill, plugin: None, folders: &[], stem: "x" };
    let (skill, found) = parse("---\ndescription: d\ndisable-model-invocation: yes\n---\nx", &source, naming);
    assert!(!skill.is_for_models());
    let said: Vec<&str> = found.iter().map(|one| &*one.text).collect();
    assert_eq!(said, ["`disable-model-invocation` does not take `yes`; the skill is kept to people"]);
}
