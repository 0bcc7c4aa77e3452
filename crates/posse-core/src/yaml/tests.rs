use proptest::prelude::*;

use super::*;
use crate::node::trial::{shown, slices};

#[test]
fn plain_scalars_have_the_types_of_the_core_schema() {
    let text = |word: &str| format!("{word:?}");
    let check = |written: &str, want: String| {
        let source = format!("key: {written}\n");
        let document = parse(&source).unwrap_or_else(|error| panic!("{written:?}: {error:?}"));
        let value = document.root.get("key").unwrap();
        assert_eq!(shown(value), want, "{written:?}");
        // The short way must agree wherever it dares to answer.
        if let Some(plain) = parse_plain(&source) {
            assert_eq!(plain, document, "{written:?}");
        }
    };
    // What YAML 1.1 would turn into something else; files that say `name: no` mean the word.
    for word in [
        "yes",
        "no",
        "Yes",
        "NO",
        "on",
        "off",
        "On",
        "OFF",
        "y",
        "n",
        "Y",
        "N",
        "1_000",
        "0b101",
        "12:30",
        "1:20:30",
        "190:20",
        "2024-01-31",
        "2024-01-31T12:00:00Z",
        "1,000",
        "0x",
        "0xg1",
        "0o8",
        "0o",
        "+0x1",
        "-0o7",
        "1e",
        "e5",
        "1e+",
        ".",
        "..",
        "+",
        "-x",
        "+.",
        ".e5",
        "1.2.3",
        "1.2.3-beta",
        "v1",
        "1a",
        "tRUE",
        "truE",
        "nULL",
        "nil",
        "None",
        "undefined",
        ".infinity",
        ".iNF",
        "-.nan",
        "+.NaN",
        "inf",
        "NaN",
        "~x",
        "truely",
        "null x",
        "<<",
    ] {
        check(word, text(word));
    }
    for (written, want) in [
        ("true", "true"),
        ("True", "true"),
        ("TRUE", "true"),
        ("false", "false"),
        ("False", "false"),
        ("FALSE", "false"),
        ("null", "null"),
        ("Null", "null"),
        ("NULL", "null"),
        ("~", "null"),
        ("", "null"),
        ("   ", "null"),
        // Numbers keep their spelling: a version `1.10` is not 1.1.
        ("0", "0"),
        ("-0", "-0"),
        ("+12", "+12"),
        ("0777", "0777"),
        ("99999999999999999999999999", "99999999999999999999999999"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1.10", "1.10"),
        ("1.", "1."),
        (".5", ".5"),
        ("-.5", "-.5"),
        ("1e3", "1e3"),
        ("1E-3", "1E-3"),
        ("-1.5e+10", "-1.5e+10"),
        (".inf", ".inf"),
        ("-.Inf", "-.Inf"),
        ("+.INF", "+.INF"),
        (".nan", ".nan"),
        (".NaN", ".NaN"),
        (".NAN", ".NAN"),
        // Quotes make text of everything.
        ("\"true\"", r#""true""#),
        ("'null'", r#""null""#),
        ("\"\"", r#""""#),
        ("''", r#""""#),
        ("'12'", r#""12""#),
        ("'it''s'", r#""it's""#),
        (r#""a\tb\n\u00e9\x41""#, r#""a\tb\néA""#),
        // ` #` begins a comment, `#` alone does not.
        ("see #123", r#""see""#),
        ("see#123", r#""see#123""#),
        ("12 # a dozen", "12"),
        ("true # really", "true"),
        ("a:b", r#""a:b""#),
        ("http://x.y/z?a=b&c", r#""http://x.y/z?a=b&c""#),
        ("a [b] {c}, *d* & e", r#""a [b] {c}, *d* & e""#),
        ("--- dashes", r#""--- dashes""#),
    ] {
        check(written, want.to_owned());
    }
}

#[test]
fn documents() {
    // Source, value, what the overridden keys and the values with a dropped tag or anchor stand at (`key@byte`).
    let cases: &[(&str, &str, &str)] = &[
        ("", "null", ""),
        ("# only a comment\n", "null", ""),
        ("word", r#""word""#, ""),
        ("- a\n- 1\n-\n", r#"["a", 1, null]"#, ""),
        ("a:\nb: x\n", r#"{a: null, b: "x"}"#, ""),
        ("a: b\r\nc: d\r\n", r#"{a: "b", c: "d"}"#, ""),
        ("a:\tb\n", r#"{a: "b"}"#, ""),
        ("%YAML 1.2\n---\na: b\n", r#"{a: "b"}"#, ""),
        ("a: 1\n...\n", "{a: 1}", ""),
        // The last of two equal keys wins, in the place of the first.
        ("a: 1\nb: 2\na: 3\n", "{a: 3, b: 2}", "a@0"),
        ("a: 1\na: 2\na: 3\n", "{a: 3}", "a@0 a@5"),
        ("a: {x: 1, x: 2}\nb: {x: 3}\n", "{a: {x: 2}, b: {x: 3}}", "x@4"),
        ("1: a\n'1': b\n", r#"{1: "b"}"#, "1@0"),
        // Keys that are not text are taken as written.
        ("true: 1\n~: 2\n1.10: 3\n", "{true: 1, ~: 2, 1.10: 3}", ""),
        ("? a\n: b\n", r#"{a: "b"}"#, ""),
        ("? [a, b]\n: c\n", r#"{[a, b]: "c"}"#, ""),
        ("\"quoted key\": 1\n", "{quoted key: 1}", ""),
        // Merge keys: what is written out wins, then the first of several mappings.
        ("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n", "{x: {a: 1, b: 2}, y: {a: 1, b: 3}}", ""),
        ("x: &x {a: 1}\ny:\n  a: 3\n  <<: *x\n", "{x: {a: 1}, y: {a: 3}}", ""),
        ("<<: [{a: 1}, {a: 2, b: 2}]\nc: 3\n", "{a: 1, b: 2, c: 3}", ""),
        ("<<: {a: 1}\n<<: {b: 2}\n", "{a: 1, b: 2}", ""),
        ("<<: [1, {a: 1}, x]\n", "{a: 1}", ""),
        ("<<: text\n", r#"{<<: "text"}"#, ""),
        // Unknown tags and unused anchors fall away, and that is reported: often they were meant as text.
        ("a: !important text\n", r#"{a: "text"}"#, "!important text@3"),
        ("a: !!str 12\nb: !!int '3'\n", r#"{a: "12", b: "3"}"#, "!!str 12@3 !!int '3'@15"),
        ("a: &note text\n", r#"{a: "text"}"#, "&note text@3"),
        ("a: &x text\nb: *x\n", r#"{a: "text", b: "text"}"#, "&x text@3"),
        ("a: &l [x, &i y]\nb: [*l, *i]\n", r#"{a: ["x", "y"], b: [["x", "y"], "y"]}"#, "&l [x, &i y@3"),
        ("a: &x one\nb: &x two\nc: *x\n", r#"{a: "one", b: "two", c: "two"}"#, "&x one@3 &x two@13"),
        // A list whose bracket closes at the margin: one reference parser refuses it, people write it.
        ("a: [b,\n  c,\n]\nd: e\n", r#"{a: ["b", "c"], d: "e"}"#, ""),
        ("a:\n- b\n- c\nd: e\n", r#"{a: ["b", "c"], d: "e"}"#, ""),
        // Scalars over several lines.
        ("a: |\n  x\n   y\n\n  z\n\nb: 1\n", r#"{a: "x\n y\n\nz\n", b: 1}"#, ""),
        ("a: |-\n  x\n  y\n\n", r#"{a: "x\ny"}"#, ""),
        ("a: |+\n  x\n\nb: 1\n", r#"{a: "x\n\n", b: 1}"#, ""),
        ("a: >\n  x\n  y\n\n  z\n", r#"{a: "x y\nz\n"}"#, ""),
        ("a: |\n  # no comment: here\n", r##"{a: "# no comment: here\n"}"##, ""),
        ("a: x\n  y\n  z\n", r#"{a: "x y z"}"#, ""),
        ("a: \"x\n  y\\\n  z\"\n", r#"{a: "x yz"}"#, ""),
    ];
    for (source, value, reported) in cases {
        let document = parse(source).unwrap_or_else(|error| panic!("{source:?}: {error:?}"));
        assert_eq!(shown(&document.root), *value, "{source:?}");
        let at = |span: &Span| format!("{}@{}", &source[span.range()], span.start);
        let spans: Vec<_> = document.duplicates.iter().chain(&document.dropped).map(at).collect();
        assert_eq!(spans.join(" "), *reported, "{source:?}");
    }
}

#[test]
fn spans_are_bytes_of_the_source() {
    let cases: &[(&str, &[&str])] = &[
        // Characters of two to four bytes in front of a value must not move it.
        ("ü: ä\nkey: 😀 x\n", &["ü: ä\nkey: 😀 x", "ü", "ä", "key", "😀 x"]),
        ("# ß 漢字\na: 'ö'\n", &["a: 'ö'", "a", "'ö'"]),
        (
            "a: [é, \"😀 b\", {c: d}]  \n",
            &["a: [é, \"😀 b\", {c: d}]", "a", "[é, \"😀 b\", {c: d}]", "é", "\"😀 b\"", "{c: d}", "c", "d"],
        ),
        // Nothing stands where nothing was written: at the key's own colon, never on the next line.
        ("a:\nb: 1\n", &["a:\nb: 1", "a", "", "b", "1"]),
        // A collection or block ends with its last letter, not with the blank lines below it.
        (
            "a:\n  - x\n  - y\n\n\nb: z\n",
            &["a:\n  - x\n  - y\n\n\nb: z", "a", "- x\n  - y", "x", "y", "b", "z"],
        ),
        ("a: |\n  é\n  y\n\n\nb: z\n", &["a: |\n  é\n  y\n\n\nb: z", "a", "é\n  y", "b", "z"]),
        ("a: b\r\nc: d\r\n", &["a: b\r\nc: d", "a", "b", "c", "d"]),
        // Of an alias, the alias; below it, the places of what it stands for.
        ("a: &x [é]\nb: *x\n", &["a: &x [é]\nb: *x", "a", "[é]", "é", "b", "*x", "é"]),
        ("a: 1\na: 2\n", &["a: 1\na: 2", "a", "2"]),
    ];
    for (source, want) in cases {
        let mut got = Vec::new();
        slices(source, &parse(source).unwrap().root, &mut got);
        assert_eq!(got, *want, "{source:?}");
    }
    // The empty value of `a` really is at its own colon.
    assert_eq!(parse("a:\nb: 1\n").unwrap().root.get("a").unwrap().span.start, 1);
}

#[test]
fn syntax_errors_say_where() {
    for (source, line_and_rest) in [
        ("a: Use when: x\n", ": x\n"),
        ("é: ä\nb: @x\n", "@x\n"),
        ("a: *nope\n", "*nope\n"),
        ("a: &x [*x]\n", "*x]\n"),
        // A quote that is never closed swallows everything; the parser gives up at the end.
        ("a: \"open\n", ""),
        ("a: [b\n", "[b\n"),
        ("a: %x\n", "%x\n"),
        ("a: \u{0}\n", "\u{0}\n"),
        ("a: x\n  b: c\n", ": c\n"),
    ] {
        match parse(source) {
            Err(YamlError::Syntax { at, message }) => {
                assert_eq!(&source[at..], line_and_rest, "{source:?}");
                assert!(!message.is_empty() && !message.contains(" line "), "{message}");
            }
            other => panic!("{source:?}: {other:?}"),
        }
    }
    // A long line that begins with `%` is no bomb: the parser's limit on directives is about syntax, and the lenient
    // readers must get their chance.
    let source = "%".repeat(5_000);
    assert!(matches!(parse(&source), Err(YamlError::Syntax { .. })), "{:?}", parse(&source));
}

#[test]
fn a_second_document_is_one_too_many() {
    for source in ["a: 1\n---\nb: 2\n", "a: 1\n...\nb: 2\n", "--- a\n--- b\n"] {
        assert_eq!(parse(source), Err(YamlError::SeveralDocuments), "{source:?}");
    }
}

/// `[[[…]]]` around a word.
fn nested(depth: usize, inside: &str) -> String {
    format!("{}{inside}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Lines, each with ten aliases of the one before it.
fn alias_bomb(levels: usize, width: usize) -> String {
    let mut source = "l0: &l0 [x]\n".to_owned();
    for level in 1..=levels {
        let aliases = vec![format!("*l{}", level - 1); width].join(", ");
        source.push_str(&format!("l{level}: &l{level} [{aliases}]\n"));
    }
    source
}

fn merge_bomb(levels: usize, width: usize) -> String {
    let mut source = "m0: &m0 {k: 1}\n".to_owned();
    for level in 1..=levels {
        let aliases = vec![format!("*m{}", level - 1); width].join(", ");
        source
            .push_str(&format!("m{level}: &m{level}\n  k{level}: {{<<: [{aliases}]}}\n  <<: [{aliases}]\n"));
    }
    source
}

/// Sixty levels around an alias of sixty levels around an alias …: each line is modest, the tree is a tower.
fn alias_tower(floors: usize) -> String {
    let mut source = format!("f0: &f0 {}\n", nested(60, "x"));
    for floor in 1..=floors {
        source.push_str(&format!("f{floor}: &f{floor} {}\n", nested(60, &format!("*f{}", floor - 1))));
    }
    source
}

#[test]
fn bombs_meet_a_limit() {
    let lines = |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    let (deep, aliases, anchors, values) =
        ("too deeply nested", "too many aliases", "too many anchors", "too many values");
    let cases = [
        ("10^10 by aliases", alias_bomb(10, 10), aliases),
        ("2^25 by aliases", alias_bomb(25, 2), aliases),
        ("merge keys", merge_bomb(20, 4), aliases),
        ("many aliases of one word", format!("a: &a x\nb: [{}]", "*a, ".repeat(10_000)), aliases),
        ("aliases within aliases", alias_tower(20), deep),
        ("open brackets", "[".repeat(20_000), deep),
        ("open brackets below a key", format!("a: {}", "[".repeat(20_000)), deep),
        ("open braces", "{a: ".repeat(20_000), deep),
        ("explicit keys", "? ".repeat(20_000), deep),
        ("explicit keys, a line each", lines(300, |n| "? ".repeat(n) + "\n"), deep),
        ("dashes", "- ".repeat(20_000), deep),
        ("indentation", lines(500, |n| " ".repeat(n) + "k:\n"), deep),
        ("anchors in a list", lines(100_000, |n| format!("- &a{n} x\n")), anchors),
        ("anchors in a mapping", lines(100_000, |n| format!("k{n}: &a{n} x\n")), anchors),
        ("a long list", "- a\n".repeat(100_000), values),
        ("a long list in brackets", format!("[{}]", "a,".repeat(100_000)), values),
        ("a long mapping", lines(100_000, |n| format!("k{n}: v\n")), values),
        ("a long plain header", lines(12_000, |n| format!("k{n}: v\n")), values),
    ];
    for (name, source, want) in cases {
        match parse(&source) {
            Err(YamlError::TooComplex { at, limit }) => {
                assert_eq!(limit, want, "{name}");
                assert!(at <= source.len(), "{name}: {at}");
            }
            other => panic!("{name}: {:.300}", format!("{other:?}")),
        }
        // The short way has no limits of its own, so it must not answer in the full parser's place.
        assert_eq!(parse_plain(&source), None, "{name}");
    }
}

#[test]
fn what_stays_below_the_limits_is_read() {
    let list_in_block = |depth: usize| format!("a: {}", nested(depth, "x"));
    // The mapping itself is the first of the 64 levels.
    for (name, source) in [
        ("nesting", list_in_block(MAX_DEPTH - 1)),
        ("aliases", format!("a: &a x\nb: [{}]", vec!["*a"; MAX_ALIASES].join(", "))),
        ("anchors", (0..MAX_ALIASES).map(|n| format!("k{n}: &a{n} x\n")).collect()),
        ("a large block", format!("a: |\n{}", "  text\n".repeat(9_000))),
        ("a large plain scalar", format!("a: {}", "word ".repeat(12_000))),
        ("many comments", "# c\n".repeat(20_000) + "a: b\n"),
        ("a long list", "- a\n".repeat(MAX_NODES - 1)),
    ] {
        assert!(parse(&source).is_ok(), "{name}: {:?}", parse(&source).err());
    }
    for (name, source) in [
        ("nesting", list_in_block(MAX_DEPTH)),
        ("aliases", format!("a: &a x\nb: [{}]", vec!["*a"; MAX_ALIASES + 1].join(", "))),
        ("anchors", (0..=MAX_ALIASES).map(|n| format!("k{n}: &a{n} x\n")).collect()),
        ("a long list", "- a\n".repeat(MAX_NODES)),
    ] {
        assert!(matches!(parse(&source), Err(YamlError::TooComplex { .. })), "{name}");
    }
}

#[test]
fn brackets_and_indentation_count_together() {
    // The parser counts the two apart; each of these stays below its limits, their sum does not.
    let mut source: String = (0..40).map(|level| format!("{}k:\n", " ".repeat(level))).collect();
    source.push_str(&format!("{}k: {}\n", " ".repeat(40), nested(40, "x")));
    assert!(matches!(parse(&source), Err(YamlError::TooComplex { limit: TOO_DEEP, .. })));
}

#[test]
fn the_short_way_answers_for_typical_headers() {
    for source in [
        "name: code-reviewer\ndescription: Reads a diff and reports defects.\n",
        "name: reviewer\ndescription: Uses C# and a#b, 100% of (it); \"quoted\" too - really?\nmodel: sonnet\n",
        "name: a\ndescription: \"Use when: the #1 thing\"\ntools: Read, Grep, Bash(git diff:*)\ncolor: red\n",
        "name: a\nmaxTurns: 20\nbackground: true\nmodel: null\nversion: 1.10\n",
        "name: a   \ndescription:   spaced   out   \n",
        "name: a",
        "name: \"\"\n",
    ] {
        assert_eq!(parse_plain(source), parse(source).ok(), "{source:?}");
        assert!(parse_plain(source).is_some(), "{source:?}");
    }
}

/// Lines that are plain, lines that look plain and are not, and lines that are anything but.
const LINES: &[&str] = &[
    "name: reviewer",
    "name: other",
    "description: Reads the diff, reports defects.",
    "description: \"in quotes: with # and [all]\"",
    "description: 'single'",
    "model: sonnet",
    "tools: Read, Grep, Bash(git:*)",
    "maxTurns: 20",
    "maxTurns: 0x1F",
    "background: true",
    "color: ~",
    "version: 1.10",
    "date: 2024-01-31",
    "time: 12:30",
    "a_b-c9: x",
    "9key: x",
    "-key: x",
    "Key: x",
    "true: x",
    "Null: x",
    "key.dot: x",
    "key space: x",
    "ünïcode: ä",
    "value: ünïcode 😀",
    "value: x ünïcode 😀 漢字",
    "value: a\u{a0}b\u{2003}c",
    "value: a\u{2028}b",
    "value: a\u{85}b",
    "value: a\u{feff}b",
    "value: a\u{7f}b",
    "value: a\u{fffe}b",
    "value: \u{0}",
    "key:value",
    "key:",
    "key: ",
    "key :value",
    "key : value",
    "key:  two  blanks  ",
    "key:\ttab",
    "key: a\tb",
    "key: trailing\t",
    "url: http://example.com/a?b=c#d",
    "note: see #123",
    "note: see#123",
    "note: a: b",
    "note: a:b",
    "note: ends with:",
    "note: ends with: ",
    "note: a # b",
    "note: x#",
    "note: 1 #",
    "note: \"quoted\" and more",
    "note: \"unclosed",
    "note: \"esc \\\" aped\"",
    "note: \"a\\nb\"",
    "note: \"a\"b\"",
    "note: \"\"",
    "note: \"tab\there\"",
    "note: \" blanks \"",
    "note: \"x\"  ",
    "note: [a, b]",
    "note: {a: b}",
    "note: - x",
    "note: ? x",
    "note: *x",
    "note: &x y",
    "note: !x y",
    "note: |",
    "note: >-",
    "note: @x",
    "note: `x`",
    "note: %x",
    "note: x ? y : z",
    "note: a, b - c [d] {e} 'f' \"g\" & *h* !i |j >k %l @m `n`",
    "- item",
    "-",
    "? x",
    ": x",
    "# comment",
    "#comment: x",
    " indented: x",
    "  more text",
    "\tname: x",
    "",
    " ",
    "   ",
    "\t",
    "...",
    "---",
    "--- x",
    "%TAG",
    "<<: {a: b}",
    "<<: x",
    "\"quoted\": x",
    "plain text",
    "\u{feff}name: x",
    "name: a\r",
    "\r",
    "x: a\rb: c",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_short_way_never_disagrees_with_the_full_parser(
        picks in proptest::collection::vec(0..LINES.len(), 1..6),
        line_break in prop_oneof![4 => Just("\n"), 1 => Just("\r\n")],
        ends_with_break: bool,
        noise in "[ -~ä😀\t#:\"]{0,12}",
        noisy: bool,
    ) {
        let mut lines: Vec<String> = picks.iter().map(|pick| LINES[*pick].to_owned()).collect();
        if noisy {
            lines.push(format!("noise: {noise}"));
        }
        let mut source = lines.join(line_break);
        if ends_with_break {
            source.push_str(line_break);
        }
        if let Some(plain) = parse_plain(&source) {
            prop_assert_eq!(Ok(plain), parse(&source), "{:?}", source);
        }
    }

    #[test]
    fn lines_of_words_take_the_short_way(
        keys in proptest::collection::btree_set("[a-z][a-zA-Z0-9_-]{0,8}", 1..8),
        value in "[a-zA-Z0-9][a-zA-Z0-9 ,.()/_;=+ä😀-]{0,30}",
    ) {
        // So that the property above cannot hold by always declining.
        let is_word = |key: &&String| !matches!(key.to_lowercase().as_str(), "true" | "false" | "null");
        let keys: Vec<_> = keys.iter().filter(is_word).collect();
        prop_assume!(!keys.is_empty());
        let source: String = keys.iter().map(|key| format!("{key}: {value}\n")).collect();
        let plain = parse_plain(&source);
        prop_assert!(plain.is_some(), "{:?}", source);
        prop_assert_eq!(Ok(plain.unwrap()), parse(&source), "{:?}", source);
    }

    #[test]
    fn any_text_is_a_document_or_an_error_within_it(
        picks in proptest::collection::vec(0..LINES.len(), 0..6),
        text in any::<String>(),
    ) {
        let mixed = picks.iter().map(|pick| LINES[*pick]).collect::<Vec<_>>().join("\n") + &text;
        for source in [text.as_str(), mixed.as_str()] {
            match parse(source) {
                // Slicing panics if a span leaves the text or splits a character.
                Ok(document) => {
                    slices(source, &document.root, &mut Vec::new());
                    let spans = document.duplicates.iter().chain(&document.dropped);
                    prop_assert!(spans.into_iter().all(|span| source.get(span.range()).is_some()));
                }
                Err(YamlError::Syntax { at, .. } | YamlError::TooComplex { at, .. }) => {
                    prop_assert!(source.is_char_boundary(at), "{:?} at {}", source, at);
                }
                Err(YamlError::SeveralDocuments) => {}
            }
        }
    }
}
