use std::cmp::Reverse;

use super::*;
use crate::definition::{self, Naming, Parsed};
use crate::origin::Standing;

/// `name | origin standing file`, as in `x | project folder:2 .claude/agents/x.md`.
fn found(row: &str) -> AgentDefinition {
    let (name, place) = row.split_once(" | ").unwrap();
    let [origin, standing, file] = place.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let number = || standing.split_once(':').unwrap().1.parse().unwrap();
    let source = Source {
        origin: Origin::ALL.into_iter().find(|one| one.word() == origin).unwrap(),
        standing: match standing.split(':').next() {
            Some("settings") => Standing::Settings(0),
            Some("added") => Standing::AddedDir(Reverse(number())),
            _ => Standing::Folder(number()),
        },
        file: Path::new(file).into(),
        root: Path::new("").into(),
        plugin: None,
    };
    named(name, "", &source)
}

fn named(name: &str, fields: &str, source: &Source) -> AgentDefinition {
    let text = format!("---\nname: '{name}'\ndescription: d\n{fields}\n---\n");
    match definition::parse(&text, source, Naming::Field).0 {
        Parsed::Agent(agent) => *agent,
        other => panic!("the example is no agent: {other:?}\n{text}"),
    }
}

fn build(rows: &[&str]) -> Registry {
    let definitions = rows.iter().map(|row| found(row)).collect();
    Registry::build(Findings { definitions, ..Findings::default() })
}

/// Agents of these names, each in a file of its own.
fn of_names(names: &[&str]) -> Registry {
    let source = found("x | user folder:0 x.md").source;
    let definitions = names.iter().map(|name| named(name, "", &source)).collect();
    Registry::build(Findings { definitions, ..Findings::default() })
}

/// Who is active, who is shadowed by whom, and what is said about it; in any order of finding.
#[track_caller]
fn check(rows: &[&str], want: &str) {
    let want = want.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n");
    for turn in 0..rows.len() {
        let mut rows = rows.to_vec();
        rows.rotate_left(turn);
        for _ in 0..2 {
            rows.reverse();
            let registry = build(&rows);
            let file = |source: &Source| source.file.display().to_string();
            let active = registry.active.iter().map(|one| format!("{} {}", one.name, file(&one.source)));
            let shadowed = registry.shadowed.iter().map(|one| {
                let loser = &one.definition;
                format!("- {} {} by {}", loser.name, file(&loser.source), file(&one.by))
            });
            let said = registry.diagnostics.iter().map(|one| {
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
            });
            let got = active.chain(shadowed).chain(said).collect::<Vec<_>>().join("\n");
            assert_eq!(got, want, "\n--- of\n{rows:#?}");
        }
    }
}

/// Every place an agent can come from, weakest first.
const LADDER: [&str; 14] = [
    "x | built-in folder:0 <built-in>",
    "x | plugin folder:0 plugins/p/agents/x.md",
    "x | user settings home/settings.json",
    "x | user folder:0 home/agents/x.md",
    "x | project settings repo/.claude/settings.json",
    "x | project added:1 second/.claude/agents/x.md",
    "x | project added:0 first/.claude/agents/x.md",
    // The repository's own folder, then one nearer to the working directory.
    "x | project folder:3 repo/.claude/agents/x.md",
    "x | project folder:4 repo/sub/.claude/agents/z/x.md",
    "x | project folder:4 repo/sub/.claude/agents/a/x.md",
    "x | flag settings <--settings>",
    "x | flag folder:0 <--agents>",
    "x | managed settings etc/managed-settings.json",
    "x | managed folder:0 etc/.claude/agents/x.md",
];

#[test]
fn of_any_two_places_the_stronger_wins_whichever_was_found_first() {
    for (place, stronger) in LADDER.iter().enumerate() {
        for weaker in &LADDER[..place] {
            for rows in [[*weaker, *stronger], [*stronger, *weaker]] {
                let registry = build(&rows);
                assert_eq!(registry.active, [found(stronger)], "{rows:?}");
                let [loser] = registry.shadowed.as_slice() else { panic!("{rows:?}") };
                assert_eq!((&loser.definition, &loser.by), (&found(weaker), &found(stronger).source));
                assert_eq!(registry.diagnostics.len(), 1, "{rows:?}");
            }
        }
    }
}

#[test]
fn all_losers_are_remembered_with_the_winner() {
    let registry = build(&LADDER);
    assert_eq!(registry.active, [found(LADDER[13])]);
    let losers: Vec<_> = registry.shadowed.iter().map(|one| one.definition.clone()).collect();
    let want: Vec<_> = LADDER[..13].iter().rev().map(|row| found(row)).collect();
    assert_eq!(losers, want, "the strongest first");
    assert!(registry.shadowed.iter().all(|one| one.by == found(LADDER[13]).source));
}

#[test]
fn one_layer_over_another_is_a_note_and_twins_in_one_folder_are_a_mistake() {
    let mistake = "(rename one of the two, or delete it)";
    check(
        &["x | built-in folder:0 <built-in>", "x | user folder:0 u.md", "x | project folder:1 p.md"],
        "
        x p.md
        - x u.md by p.md
        - x <built-in> by p.md
        ! <built-in>:2:7 shadowed `x` is not used: the project agent in p.md wins
        ! u.md:2:7 shadowed `x` is not used: the project agent in p.md wins",
    );
    check(
        &["x | user folder:0 a/b.md", "x | user folder:0 a/a.md", "x | user folder:0 c.md"],
        &format!(
            "
        x a/a.md
        - x a/b.md by a/a.md
        - x c.md by a/a.md
        ! a/b.md:2:7 duplicate-name `x` is also defined in a/a.md, which wins {mistake}
        ! c.md:2:7 duplicate-name `x` is also defined in a/a.md, which wins {mistake}"
        ),
    );
    // Nearness is a layer too; a settings file is another place than the folder beside it.
    check(
        &["x | project folder:1 far.md", "x | project folder:2 near.md", "x | project settings s.json"],
        "
        x near.md
        - x far.md by near.md
        - x s.json by near.md
        ! far.md:2:7 shadowed `x` is not used: the project agent in near.md wins
        ! s.json:2:7 shadowed `x` is not used: the project agent in near.md wins",
    );
    // Twins below a winner from elsewhere: it is the winner that both lost to.
    check(
        &["x | user folder:0 a.md", "x | user folder:0 b.md", "x | managed folder:0 m.md"],
        "
        x m.md
        - x a.md by m.md
        - x b.md by m.md
        ! a.md:2:7 shadowed `x` is not used: the managed agent in m.md wins
        ! b.md:2:7 shadowed `x` is not used: the managed agent in m.md wins",
    );
    // Names are compared letter for letter.
    check(
        &["explore | user folder:0 e.md", "Explore | built-in folder:0 <built-in>"],
        "
        explore e.md
        Explore <built-in>",
    );
}

#[test]
fn agents_are_listed_like_words_in_a_dictionary() {
    let names =
        ["b", "Alpha", "alpha", "a-b", "a_b", "ab", "10", "_x", "Zoo", "plugin:one", "plugin-two", "élan"];
    let registry = of_names(&names);
    let listed: Vec<_> = registry.active.iter().map(|agent| &*agent.name).collect();
    assert_eq!(
        listed,
        ["_x", "10", "a_b", "a-b", "ab", "alpha", "Alpha", "b", "plugin-two", "plugin:one", "Zoo", "élan"]
    );
}

#[test]
fn what_was_no_agent_is_kept_by_path() {
    let failed = |file: &str, texts: &[(Severity, &str)]| {
        let source = found(&format!("x | user folder:0 {file}")).source;
        let diagnostics = texts.iter().map(|(severity, text)| {
            let problem = Problem::whole(Rule::MissingName, *text).severity(*severity);
            problem.located(&source.file, "")
        });
        Failed { name: None, diagnostics: diagnostics.collect(), source: source.clone() }
    };
    let registry = Registry::build(Findings {
        failed: vec![
            failed(
                "b.md",
                &[(Severity::Warning, "odd"), (Severity::Error, "broken"), (Severity::Error, "worse")],
            ),
            failed("c.md", &[]),
            failed("a.md", &[(Severity::Warning, "only odd")]),
        ],
        documents: vec![Path::new("z.md").into(), Path::new("README.md").into()],
        ..Findings::default()
    });
    let got: Vec<_> =
        registry.failed.iter().map(|one| (one.source.file.to_str().unwrap(), one.reason())).collect();
    assert_eq!(got, [("a.md", "only odd"), ("b.md", "broken"), ("c.md", "cannot be used")]);
    assert_eq!(registry.documents, [Path::new("README.md").into(), Path::new("z.md").into()]);
}

// ── Finding one by name ──

#[test]
fn a_name_is_looked_up_exactly_and_then_as_people_type_it() {
    let registry =
        of_names(&["general-purpose", "Explore", "explore", "code_reviewer", "tools:formatter", "Wk", "x y"]);
    for (name, want) in [
        ("general-purpose", "general-purpose"),
        ("General Purpose", "general-purpose"),
        ("generalpurpose", "general-purpose"),
        ("GENERAL_PURPOSE", "general-purpose"),
        (" wk ", "Wk"),
        ("X-Y", "x y"),
        ("code-reviewer", "code_reviewer"),
        // Exactly is better than nearly; nearly is only for one.
        ("Explore", "Explore"),
        ("explore", "explore"),
        ("EXPLORE", "one of explore, Explore"),
        // A plugin's agent goes by its whole name.
        ("tools:formatter", "tools:formatter"),
        ("Tools:Formatter", "tools:formatter"),
        ("formatter", "nobody"),
        // A slip is answered, not followed.
        ("code-reviwer", "nobody; perhaps code_reviewer"),
        ("genral-purpose", "nobody; perhaps general-purpose"),
        ("something else", "nobody"),
        ("", "nobody"),
    ] {
        let got = match registry.lookup(name) {
            Lookup::Found(agent) => agent.name.to_string(),
            Lookup::Ambiguous(names) => format!("one of {}", names.join(", ")),
            Lookup::Unknown(Some(close)) => format!("nobody; perhaps {close}"),
            Lookup::Unknown(None) => "nobody".into(),
        };
        assert_eq!(got, want, "{name:?}");
    }
    assert_eq!(registry.get("Wk").map(|agent| &*agent.name), Some("Wk"));
    assert_eq!(registry.get("wk"), None);
}

// ── Colours ──

/// `name` or `name=colour`.
fn painted(rows: &[&str]) -> Vec<AgentDefinition> {
    let source = found("x | user folder:0 x.md").source;
    let one = |row: &&str| match row.split_once('=') {
        Some((name, color)) => named(name, &format!("color: {color}"), &source),
        None => named(row, "", &source),
    };
    rows.iter().map(one).collect()
}

fn colors_of(colors: &Colors, names: &[&str]) -> String {
    let one = |name: &&str| colors.of(name).map_or("none", Color::name);
    names.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn an_agent_has_its_own_colour_and_the_others_are_given_the_least_used() {
    let mut colors = Colors::default();
    colors.assign(&painted(&["a", "b", "c=red", "d=green", "e", "f=mauve"]));
    assert_eq!(
        colors_of(&colors, &["a", "b", "c", "d", "e", "f", "nobody"]),
        "blue yellow red green purple orange none"
    );
}

#[test]
fn colours_stay_through_reloads() {
    let mut colors = Colors::default();
    colors.assign(&painted(&["a", "b", "c"]));
    assert_eq!(colors_of(&colors, &["a", "b", "c"]), "red blue green");
    // One goes, one comes before the others, one comes back: nobody changes colour.
    colors.assign(&painted(&["0", "a", "c"]));
    assert_eq!(colors_of(&colors, &["0", "a", "c"]), "yellow red green");
    colors.assign(&painted(&["0", "a", "b", "c"]));
    assert_eq!(colors_of(&colors, &["0", "a", "b", "c"]), "yellow red blue green");
    // Its author chooses one: that counts. And it is kept when the line is taken out again.
    colors.assign(&painted(&["0", "a=cyan", "b", "c"]));
    assert_eq!(colors_of(&colors, &["0", "a", "b", "c"]), "yellow cyan blue green");
    colors.assign(&painted(&["0", "a", "b", "c", "d"]));
    assert_eq!(colors_of(&colors, &["0", "a", "b", "c", "d"]), "yellow cyan blue green red");
}

#[test]
fn colours_are_spread_evenly() {
    let names: Vec<String> = (0..37).map(|n| format!("agent-{n}")).collect();
    for own in [0, 3, 8] {
        // Some have chosen the same colour, which the others then have to avoid.
        let rows: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(n, name)| if n < own { format!("{name}=pink") } else { name.clone() })
            .collect();
        let mut colors = Colors::default();
        colors.assign(&painted(&rows.iter().map(String::as_str).collect::<Vec<_>>()));
        let count = |color| names.iter().filter(|name| colors.of(name) == Some(color)).count();
        let counts: Vec<usize> =
            Color::ALL.into_iter().filter(|color| *color != Color::Pink).map(count).collect();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(most - least <= 1, "{own} chose pink: {counts:?}");
        assert!(count(Color::Pink) >= own && count(Color::Pink) <= own.max(*most), "{own} chose pink");
        assert_eq!(counts.iter().sum::<usize>() + count(Color::Pink), names.len());
    }
}
