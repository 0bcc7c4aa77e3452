use proptest::prelude::*;

use super::*;
use crate::diagnostic::Severity;
use crate::node::trial::{shown, slices};
use crate::text;

/// The value, or `-`, then each problem as `rule line:column`.
fn read(source: &str) -> String {
    let (root, problems) = parse(source);
    let mut out = root.as_ref().map_or_else(|| "-".to_owned(), shown);
    for problem in &problems {
        let at = text::locate(source, problem.span.unwrap());
        out.push_str(&format!("; {} {}:{}", problem.rule.info().id, at.line, at.column));
    }
    out
}

#[test]
fn values_and_problems() {
    let cases: &[(&str, &str)] = &[
        // Nothing is not an error: an empty settings file says nothing.
        ("", "-"),
        ("  \n\t", "-"),
        ("\u{feff}", "-"),
        ("null", "null"),
        (" true ", "true"),
        ("[1, -2.50, 1e9, false, null]", "[1, -2.50, 1e9, false, null]"),
        (r#"{"a": "x", "b": {"c": []}}"#, r#"{a: "x", b: {c: []}}"#),
        (r#""\ud83d\ude00 \u00e9 \" \\ \/ \n""#, r#""😀 é \" \\ / \n""#),
        (r#"{"": 1}"#, "{: 1}"),
        // The last of two equal keys counts, in the place of the first; each loser is reported where it stands.
        (r#"{"a": 1, "b": 2, "a": 3}"#, "{a: 3, b: 2}; duplicate-key 1:2"),
        (r#"{"é": 1, "\u00e9": 2}"#, "{é: 2}; duplicate-key 1:2"),
        (r#"{"a": {"b": 1, "b": 2}, "a": 3}"#, "{a: 3}; duplicate-key 1:8; duplicate-key 1:2"),
        (r#"[{"a": 1}, {"a": 2}]"#, "[{a: 1}, {a: 2}]"),
        // What other tools drop the whole file for is read, with a note at the first such place.
        ("{\"a\": 1,}", "{a: 1}; json-comment 1:8"),
        ("[1,]", "[1]; json-comment 1:3"),
        ("// first\n{\"a\": 1} // last\n", "{a: 1}; json-comment 1:1"),
        ("{\n  \"ä\": 1, /* 😀 */\n  \"b\": 2,\n}", "{ä: 1, b: 2}; json-comment 2:11"),
        ("// nothing else", "-; json-comment 1:1"),
        ("{\"a\": 1, \"a\": 2,}", "{a: 2}; duplicate-key 1:2; json-comment 1:16"),
        // A byte order mark is skipped and positions count it, as editors do.
        ("\u{feff}{\"a\": 1}", "{a: 1}"),
        ("\u{feff}{\"ü\": 1,}", "{ü: 1}; json-comment 1:9"),
        ("\u{feff}{\"ü\": x}", "-; json-syntax 1:8"),
        // Everything else is refused, with its place.
        ("{", "-; json-syntax 1:1"),
        ("[1, 2", "-; json-syntax 1:1"),
        ("{\"a\" 1}", "-; json-syntax 1:6"),
        ("{\"a\": }", "-; json-syntax 1:7"),
        ("{\"a\": 1 \"b\": 2}", "-; json-syntax 1:8"),
        ("{\"a\": 1,,}", "-; json-syntax 1:9"),
        ("{a: 1}", "-; json-syntax 1:2"),
        ("{'a': 1}", "-; json-syntax 1:2"),
        ("{\"a\": 01}", "-; json-syntax 1:8"),
        ("{\"a\": +1}", "-; json-syntax 1:7"),
        ("{\"a\": .5}", "-; json-syntax 1:7"),
        ("{\"a\": 0x10}", "-; json-syntax 1:7"),
        ("{\"a\": NaN}", "-; json-syntax 1:7"),
        ("{\"a\": \"\\x41\"}", "-; json-syntax 1:8"),
        ("{\"a\": \"\\ud83d\"}", "-; json-syntax 1:8"),
        ("{\"a\": \"open}", "-; json-syntax 1:7"),
        ("{\"a\": 1}}", "-; json-syntax 1:9"),
        ("{} {}", "-; json-syntax 1:4"),
        ("/* open", "-; json-syntax 1:1"),
        ("{\"a\": 1}\u{0}", "-; json-syntax 1:9"),
        ("name: x", "-; json-syntax 1:1"),
        ("{\n  \"ü\": \"😀\",\n  \"b\": nope\n}", "-; json-syntax 3:8"),
    ];
    for (source, want) in cases {
        assert_eq!(read(source), *want, "{source:?}");
    }
}

#[test]
fn spans_are_bytes_of_the_source_whatever_stands_before_them() {
    let cases: &[(&str, &[&str])] = &[
        (r#"{"a": [1, true]}"#, &[r#"{"a": [1, true]}"#, r#""a""#, "[1, true]", "1", "true"]),
        (r#"{"ü😀": "ä", "b": 2}"#, &[r#"{"ü😀": "ä", "b": 2}"#, r#""ü😀""#, r#""ä""#, r#""b""#, "2"]),
        ("/* é 😀 */ [\"ß\", null]", &["[\"ß\", null]", "\"ß\"", "null"]),
        ("\u{feff}// 漢字\n[\"\\u00e9\", 1.50]", &["[\"\\u00e9\", 1.50]", "\"\\u00e9\"", "1.50"]),
    ];
    for (source, want) in cases {
        let mut got = Vec::new();
        slices(source, &parse(source).0.unwrap(), &mut got);
        assert_eq!(got, *want, "{source:?}");
    }
    // A problem is at a byte, too: the word after twelve bytes that are only five characters.
    let source = r#"["äöü😀", x]"#;
    let span = parse(source).1[0].span.unwrap();
    assert_eq!(source[span.start as usize..].chars().next(), Some('x'), "{span:?}");
}

#[test]
fn notes_and_errors_are_told_apart() {
    for (source, severity) in
        [("[1,]", Severity::Note), (r#"{"a": 1, "a": 2}"#, Severity::Warning), ("[1", Severity::Error)]
    {
        assert_eq!(parse(source).1[0].severity, severity, "{source}");
    }
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn nesting_has_a_limit_that_comments_and_strings_cannot_hide() {
    let deep = nested(MAX_DEPTH);
    let too_deep = nested(MAX_DEPTH + 1);
    for source in [
        deep.clone(),
        format!("{}1{}", "{\"a\":".repeat(MAX_DEPTH), "}".repeat(MAX_DEPTH)),
        // Brackets that are not brackets.
        format!("[\"{}\"]", "[".repeat(100)),
        format!("[\"\\\"{}\"]", "[".repeat(100)),
        format!("// {}\n[]", "[".repeat(100)),
        format!("/* {} */ []", "{".repeat(100)),
        // Wide is not deep.
        format!("[{}[]]", "[], ".repeat(10_000)),
    ] {
        assert!(parse(&source).0.is_some(), "{:.80}: {}", source, read(&source));
    }
    for (source, column) in [
        (too_deep.clone(), 65),
        (format!("{}1{}", "{\"a\":".repeat(MAX_DEPTH + 1), "}".repeat(MAX_DEPTH + 1)), 5 * MAX_DEPTH + 1),
        ("[".repeat(100_000), 65),
        ("{\"a\":".repeat(100_000), 5 * MAX_DEPTH + 1),
        // An odd quote in a comment would hide all that follows from a scan that does not know comments.
        (format!("/* \" */{too_deep}"), 7 + 65),
        (format!("[\"\\\\\", {deep}]"), 7 + 64),
        (format!("\u{feff}{too_deep}"), 66),
    ] {
        assert_eq!(read(&source), format!("-; json-syntax 1:{column}"), "{source:.80}");
    }
    assert_eq!(read(&format!("// \"\n{too_deep}")), "-; json-syntax 2:65");
}

/// Pieces of JSON, whole and broken.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "/",
    "//",
    "/*",
    "*/",
    "\n",
    " ",
    "\"a\"",
    "\"ü😀\"",
    "1",
    "-",
    "1.5e3",
    "0x1",
    "true",
    "null",
    "nul",
    "'a'",
    "\u{feff}",
    "\\u",
    "\"\\ud83d\"",
    "é",
    "\u{0}",
    "{\"a\":1}",
    "[1,]",
    "// \"\n",
    "\u{2028}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_value_or_a_problem_within_it(
        picks in proptest::collection::vec(0..PIECES.len(), 0..20),
        text in any::<String>(),
    ) {
        let assembled: String = picks.iter().map(|pick| PIECES[*pick]).collect();
        for source in [assembled.as_str(), text.as_str()] {
            let (root, problems) = parse(source);
            // Slicing panics if a span leaves the text or splits a character.
            if let Some(root) = &root {
                slices(source, root, &mut Vec::new());
            }
            for problem in &problems {
                let span = problem.span.unwrap();
                prop_assert!(source.get(span.range()).is_some(), "{:?} in {:?}", problem, source);
            }
            // Silence is for texts that say nothing.
            let says_nothing = source.strip_prefix('\u{feff}').unwrap_or(source).trim().is_empty();
            prop_assert!(root.is_some() || !problems.is_empty() || says_nothing, "{:?}", source);
        }
    }
}

#[test]
fn half_a_character_is_replaced_and_nothing_else() {
    for (text, expected) in [
        (r#"{"a":"plain"}"#, r#"{"a":"plain"}"#),
        (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
        (r#""cut \ud83d""#, r#""cut \ufffd""#),
        (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
        (r#""\ude00 late""#, r#""\ufffd late""#),
        (r#""\uD83Dé\uDE00""#, r#""\ufffdé\ufffd""#),
        (r#""a path \\ud83d""#, r#""a path \\ud83d""#),
        (r#""\u00e9 \n \ud83""#, r#""\u00e9 \n \ud83""#),
        (r"\", r"\"),
        (r"\ud8", r"\ud8"),
        (r"\é", r"\é"),
    ] {
        assert_eq!(with_whole_characters(text), expected, "{text}");
    }
}
