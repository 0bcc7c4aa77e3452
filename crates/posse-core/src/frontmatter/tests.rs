use proptest::prelude::*;

use super::*;
use crate::diagnostic::{Edit, Safety};
use crate::node::Node;
use crate::node::trial::shown;
use crate::text;

/// A few keys of each shape; the room itself knows none.
fn vocabulary(key: &str) -> Option<Shape> {
    match key {
        "name" | "model" | "color" | "maxTurns" | "background" => Some(Shape::Word),
        "description" | "initialPrompt" => Some(Shape::Prose),
        "tools" | "skills" => Some(Shape::List),
        "hooks" | "mcpServers" => Some(Shape::Tree),
        _ => None,
    }
}

/// The fields and, behind a bar, the text that follows, trimmed as its readers trim it.
fn said(text: &str, header: &Header) -> String {
    match header {
        Header::Absent => "absent".into(),
        Header::Broken(body) => format!("broken | {}", text[body.range()].trim().replace('\n', "/")),
        Header::Found(entries, body) => {
            let fields: Vec<_> = entries.iter().map(|e| format!("{}: {}", e.key, shown(&e.node))).collect();
            format!("{} | {}", fields.join("; "), text[body.range()].trim().replace('\n', "/"))
        }
    }
}

/// Each problem as `rule line:column`, with `+` for a safe fix and `?` for one that a person should look at.
fn reported(text: &str, problems: &[Problem]) -> String {
    let one = |problem: &Problem| {
        let at = text::locate(text, problem.span.unwrap());
        let fix = match problem.fix.as_ref().map(|fix| fix.safety) {
            Some(Safety::Safe) => "+",
            Some(Safety::Unsafe) => "?",
            None => "",
        };
        format!("{} {}:{}{fix}", problem.rule.info().id, at.line, at.column)
    };
    problems.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn is_safe(problem: &Problem) -> bool {
    problem.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe)
}

/// The text with all safe fixes applied, or nothing if they overlap.
fn mended(text: &str, problems: &[Problem]) -> Option<String> {
    let fixes = problems.iter().filter(|problem| is_safe(problem)).filter_map(|problem| problem.fix.as_ref());
    let mut edits: Vec<&Edit> = fixes.flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| edit.span.start);
    let (mut out, mut at) = (String::new(), 0);
    for edit in edits {
        out.push_str(text.get(at..edit.span.start as usize)?);
        out.push_str(&edit.text);
        at = edit.span.end as usize;
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// What a safe fix promises: the file still says the same, and what was fixed is not reported again.
fn check_safe_fixes(text: &str) -> Result<(), String> {
    let (header, problems) = read(text, vocabulary);
    let fixed = mended(text, &problems).ok_or_else(|| format!("overlapping edits: {problems:?}"))?;
    let (again, left) = read(&fixed, vocabulary);
    let (before, after) = (said(text, &header).replace('\r', ""), said(&fixed, &again).replace('\r', ""));
    if before != after {
        return Err(format!("{text:?}\nbecame {fixed:?}\nbefore: {before}\nafter:  {after}"));
    }
    for rule in problems.iter().filter(|problem| is_safe(problem)).map(|problem| problem.rule) {
        let unfixed = problems.iter().filter(|problem| problem.rule == rule && !is_safe(problem)).count();
        if left.iter().filter(|problem| problem.rule == rule).count() > unfixed {
            return Err(format!("{text:?}\nbecame {fixed:?}\nstill: {}", reported(&fixed, &left)));
        }
    }
    Ok(())
}

/// Every place that is named lies within the text and splits no character.
fn check_spans(text: &str) -> Result<(), String> {
    fn check_node(text: &str, node: &Node) -> Result<(), String> {
        check_span(text, node.span, "a value")?;
        for item in node.as_list().unwrap_or_default() {
            check_node(text, item)?;
        }
        for entry in node.as_map().unwrap_or_default() {
            check_span(text, entry.key_span, "a key")?;
            check_node(text, &entry.node)?;
        }
        Ok(())
    }
    fn check_span(text: &str, span: Span, what: &str) -> Result<(), String> {
        text.get(span.range()).map(|_| ()).ok_or_else(|| format!("{what} at {span:?} in {text:?}"))
    }
    let (header, problems) = read(text, vocabulary);
    if let Header::Found(entries, _) = &header {
        for entry in entries {
            check_span(text, entry.key_span, "a field")?;
            check_node(text, &entry.node)?;
        }
    }
    if let Header::Found(_, body) | Header::Broken(body) = header {
        check_span(text, body, "the body")?;
    }
    for problem in &problems {
        check_span(text, problem.span.ok_or("a problem without a place")?, problem.rule.info().id)?;
        for edit in problem.fix.iter().flat_map(|fix| &fix.edits) {
            check_span(text, edit.span, "an edit")?;
        }
    }
    Ok(())
}

/// Text, what it says, what is reported.
type Case<'t> = (&'t str, &'t str, &'t str);

#[track_caller]
fn check_one(text: &str, fields: &str, problems: &str) {
    let (header, found) = read(text, vocabulary);
    let got = (said(text, &header).replace('\r', ""), reported(text, &found));
    assert_eq!((got.0.as_str(), got.1.as_str()), (fields, problems), "{text:?}");
    check_spans(text).unwrap();
    check_safe_fixes(text).unwrap();
}

/// Every case counts twice: with LF and, saying the same in the same places, with CRLF.
#[track_caller]
fn check(cases: &[Case<'_>]) {
    for (text, fields, problems) in cases {
        check_one(text, fields, problems);
        if !text.contains('\r') {
            check_one(&text.replace('\n', "\r\n"), fields, problems);
        }
    }
}

#[test]
fn fences() {
    const SAID: &str = r#"name: "a"; description: "d" | body"#;
    check(&[
        ("---\nname: a\ndescription: d\n---\nbody", SAID, ""),
        // White space behind either fence, blank lines below the first, no line break behind the last.
        ("---  \t\nname: a\ndescription: d\n---\nbody", SAID, ""),
        ("---\u{a0}\nname: a\ndescription: d\n---\nbody", SAID, ""),
        ("---\n\n \nname: a\ndescription: d\n---\nbody", SAID, ""),
        ("---\nname: a\ndescription: d\n--- \t\n\n\nbody\n\n", SAID, ""),
        ("---\nname: a\ndescription: d\n---", r#"name: "a"; description: "d" | "#, ""),
        // A closing line only has to begin with three dashes; the rest of it begins the body.
        ("---\nname: a\ndescription: d\n----\nbody", r#"name: "a"; description: "d" | -/body"#, ""),
        ("---\nname: a\ndescription: d\n--- x\nbody", r#"name: "a"; description: "d" | x/body"#, ""),
        ("---\nname: a\ndescription: d\n---x\nbody", r#"name: "a"; description: "d" | x/body"#, ""),
        // Dashes in the middle of a line do not close if a closing line follows, whatever they stand in …
        (
            "---\nname: a\ndescription: foo --- bar\nmodel: opus\n---\nbody",
            r#"name: "a"; description: "foo --- bar"; model: "opus" | body"#,
            "",
        ),
        (
            "---\nname: a\ndescription: \"x --- y\"\n---\nbody",
            r#"name: "a"; description: "x --- y" | body"#,
            "",
        ),
        ("---\nname: a\n# --- c\ndescription: d\n---\nbody", SAID, ""),
        (
            "---\nname: a\ndescription: |-\n  x\n  ---\n  y\n---\nbody",
            r#"name: "a"; description: "x\n---\ny" | body"#,
            "",
        ),
        // … and close, as the reference does it, if none does.
        (
            "---\nname: a\ndescription: foo --- bar\nmodel: opus\n",
            r#"name: "a"; description: "foo" | bar/model: opus"#,
            "midline-fence 3:18",
        ),
        ("---\nname: a\ndescription: d\n  ---\nbody", SAID, "midline-fence 4:3"),
        (
            "---\nname: a\ndescription: \"x --- y\"\n",
            r#"name: "a"; description: "x" | y""#,
            "midline-fence 3:17, unclosed-quote 3:14+",
        ),
        // A byte order mark is skipped.
        ("\u{feff}---\nname: a\ndescription: d\n---\nbody", SAID, "byte-order-mark 1:1+"),
        (
            "\u{feff}---\nname: a\ndescription: Use: d\n---\nbody",
            r#"name: "a"; description: "Use: d" | body"#,
            "byte-order-mark 1:1+, unquoted-colon 3:17+",
        ),
        // Not frontmatter, but meant as one: the file begins too late, or the header never ends.
        (
            "\n---\nname: a\ndescription: d\n---\nbody",
            "broken | ---/name: a/description: d/---/body",
            "frontmatter-not-first 2:1?",
        ),
        (" ---\nname: a\n---\nbody", "broken | ---/name: a/---/body", "frontmatter-not-first 1:2?"),
        (
            "\u{feff}\n---\ndescription: d\n---\nbody",
            "broken | \u{feff}/---/description: d/---/body",
            "frontmatter-not-first 2:1?",
        ),
        ("---\nname: a\nbody", "broken | ---/name: a/body", "unclosed-frontmatter 1:1"),
        (
            "---\ndescription: d\n...\nbody",
            "broken | ---/description: d/.../body",
            "unclosed-frontmatter 1:1",
        ),
        // Not frontmatter at all: documentation.
        ("", "absent", ""),
        ("---", "absent", ""),
        ("---\n", "absent", ""),
        ("# Title\n\ntext\n", "absent", ""),
        ("---\nhello\n", "absent", ""),
        ("\n---\nhello\n---\nbody", "absent", ""),
        ("---yaml\nname: a\n---\nbody", "absent", ""),
        ("----\nname: a\n----\nbody", "absent", ""),
        ("--\nname: a\n--\nbody", "absent", ""),
        ("```\n---\nname: a\n---\n```", "absent", ""),
        ("<!-- c -->\n---\nname: a\n---\nbody", "absent", ""),
        ("\u{feff}\u{feff}---\nname: a\n---\nbody", "absent", ""),
        ("---\rname: a\r---\rbody", "absent", ""),
        // A header that is no mapping is no header.
        ("---\n---\nbody", "absent", ""),
        ("---\n# comment\n---\nbody", "absent", ""),
        ("---\n- a\n- b\n---\nbody", "absent", ""),
        ("---\nhello\n---\nbody", "absent", ""),
        ("---\nname: a\n...\ndescription: d\n---\nbody", "absent", ""),
    ]);
}

#[test]
fn a_header_is_searched_for_its_end_within_a_limit() {
    let file = |length: usize| {
        let start = "name: a\n#";
        format!("---\n{start}{}\n---\nbody", "x".repeat(length - start.len() - "\n---".len()))
    };
    assert_eq!(MAX_HEADER, 65_536);
    check_one(&file(MAX_HEADER), r#"name: "a" | body"#, "");
    let text = file(MAX_HEADER + 1);
    let (header, problems) = read(&text, vocabulary);
    assert_eq!(header, Header::Broken(Span::new(0, text.len())));
    assert_eq!(reported(&text, &problems), "unclosed-frontmatter 1:1");
    assert!(problems[0].text.contains("64 KiB"), "{}", problems[0].text);
    // The limit is in bytes and may fall into a character.
    let text = format!("---\nname: a\n{}\n---\nbody", "é".repeat(MAX_HEADER));
    check_spans(&text).unwrap();
    // A long text between two rulers is no agent.
    let text = format!("---\n{}\n---\nbody", "word\n".repeat(MAX_HEADER));
    assert_eq!(read(&text, vocabulary), (Header::Absent, vec![]));
}

#[test]
fn what_yaml_itself_does_is_reported() {
    check(&[
        ("---\nname: a\nmodel: x\nname: b\n---\n", r#"name: "b"; model: "x" | "#, "duplicate-key 2:1"),
        (
            "---\nname: a\ndescription: !important x\n---\n",
            r#"name: "a"; description: "x" | "#,
            "text-lost 3:14",
        ),
        ("---\nname: a\ndescription: &b x\n---\n", r#"name: "a"; description: "x" | "#, "text-lost 3:14"),
        // A bomb is refused, and no repair tries again.
        (
            "---\nname: a\nskills: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[x\n---\nbody",
            "broken | body",
            "yaml-too-complex 3:73",
        ),
    ]);
}

#[test]
fn the_repair_of_the_reference() {
    check(&[
        // The cause of six out of seven failures: `: ` in a description.
        (
            "---\nname: a\ndescription: Use when: x\n---\nbody",
            r#"name: "a"; description: "Use when: x" | body"#,
            "unquoted-colon 3:22+",
        ),
        // Positions are in the file as it is, behind letters of several bytes, too.
        (
            "---\nname: ü😀\ndescription: Für ä: ö\nmodel: x: y\n---\n",
            r#"name: "ü😀"; description: "Für ä: ö"; model: "x: y" | "#,
            "unquoted-colon 3:19+, unquoted-colon 4:9+",
        ),
        // Quotes and backslashes are kept as they are; so are blanks at the end of a rewritten line.
        (
            "---\nname: a\ndescription: Say \"x\": C:\\dir \\n y  \n---\n",
            r#"name: "a"; description: "Say \"x\": C:\\dir \\n y  " | "#,
            "unquoted-colon 3:21+",
        ),
        // One broken line makes all others literal: the comment is part of the value.
        (
            "---\nname: a\ndescription: x: y\nmodel: sonnet # fast\n---\n",
            r##"name: "a"; description: "x: y"; model: "sonnet # fast" | "##,
            "unquoted-colon 3:15+, unquoted-special 4:8+",
        ),
        // A mapping in braces becomes text, a list in brackets stays a list, numbers and booleans stay typed.
        (
            "---\nname: a\ndescription: x: y\nhooks: {k: v}\ntools: [Read, Grep]\nmaxTurns: 5\nbackground: true\n---\n",
            r#"name: "a"; description: "x: y"; hooks: "{k: v}"; tools: ["Read", "Grep"]; maxTurns: 5; background: true | "#,
            "unquoted-colon 3:15+, unquoted-colon 4:10+",
        ),
        // Brackets that are not one list are text; so is a list nobody closed.
        (
            "---\nname: a\nargument-hint: [a] [b]\n---\n",
            r#"name: "a"; argument-hint: "[a] [b]" | "#,
            "unquoted-special 3:16+",
        ),
        (
            "---\nname: a\ntools: [Read, Grep\nmodel: x\n---\n",
            r#"name: "a"; tools: "[Read, Grep"; model: "x" | "#,
            "unquoted-special 3:8+",
        ),
        // What is in quotes from end to end is left alone, whatever it holds.
        (
            "---\nname: 'a #1'\ndescription: x: y\nmodel: \"b: *c\"\n---\n",
            r##"name: "a #1"; description: "x: y"; model: "b: *c" | "##,
            "unquoted-colon 3:15+",
        ),
        // First letters that mean something to YAML.
        ("---\nname: a\ntools: *\n---\n", r#"name: "a"; tools: "*" | "#, "unquoted-special 3:8+"),
        (
            "---\nname: a\ndescription: @x\n---\n",
            r#"name: "a"; description: "@x" | "#,
            "unquoted-special 3:14+",
        ),
        (
            "---\nname: a\ndescription: `x` y\n---\n",
            r#"name: "a"; description: "`x` y" | "#,
            "unquoted-special 3:14+",
        ),
        (
            "---\nname: a\ndescription: %x\n---\n",
            r#"name: "a"; description: "%x" | "#,
            "unquoted-special 3:14+",
        ),
        (
            "---\nname: {{x}}\ndescription: {{y}} z\n---\n",
            r#"name: "{{x}}"; description: "{{y}} z" | "#,
            "unquoted-special 2:7+, unquoted-special 3:14+",
        ),
        ("---\nname: a\ncolor: |x\n---\n", r#"name: "a"; color: "|x" | "#, "unquoted-special 3:8+"),
        ("---\nname: a\ncolor: >x\n---\n", r#"name: "a"; color: ">x" | "#, "unquoted-special 3:8+"),
        // A tab may stand behind the colon, and the key may be unknown, but it is letters, `-` and `_` only.
        (
            "---\nname: a\ndescription:\tb: c\n---\n",
            r#"name: "a"; description: "b: c" | "#,
            "unquoted-colon 3:15+",
        ),
        ("---\nname: a\n_x-Y: b: c\n---\n", r#"name: "a"; _x-Y: "b: c" | "#, "unquoted-colon 3:8+"),
        // Two equal keys: the last wins here, too.
        (
            "---\nname: a\ndescription: x: y\ndescription: z\n---\n",
            r#"name: "a"; description: "z" | "#,
            "duplicate-key 3:1, unquoted-colon 3:15+",
        ),
        // An unknown key at the margin is a field here, even in the middle of an example, and half a quote stays text.
        (
            "---\nname: a\ndescription: 'Use when: x\nContext: y: z\n---\n",
            r#"name: "a"; description: "'Use when: x"; Context: "y: z" | "#,
            "unquoted-colon 3:23+, unquoted-colon 4:11+",
        ),
        // Comments and blank lines between the fields stay what they are.
        (
            "---\nname: a\n# note: one\n\ndescription: x: y\n# two\nmodel: z\n---\n",
            r#"name: "a"; description: "x: y"; model: "z" | "#,
            "unquoted-colon 5:15+",
        ),
    ]);
}

#[test]
fn the_repair_quotes_exactly_what_the_reference_quotes() {
    // Blanks at the end tell whether a line was rewritten: in quotes they stay.
    let color_beside_a_broken_line = |value: &str| {
        let text = format!("---\nname: a\ndescription: x: y\ncolor: {value}  \n---\n");
        check_safe_fixes(&text).unwrap();
        let (header, _) = read(&text, vocabulary);
        let Header::Found(entries, _) = header else { panic!("{text:?}") };
        entries
            .iter()
            .find(|entry| &*entry.key == "color")
            .and_then(|entry| entry.node.as_text().map(str::to_owned))
    };
    for special in ["{", "}", "[", "]", "*", "&", "#", "!", "|", ">", "%", "@", "`", ": "] {
        let value = format!("a{special}b");
        assert_eq!(color_beside_a_broken_line(&value), Some(format!("{value}  ")), "{value}");
    }
    for ordinary in
        [",", ";", ":", "?", "'", "\"", "-", "<", "=", "~", "$", "^", "\\", "/", "(", ")", "+", ".", "é"]
    {
        let value = format!("a{ordinary}b");
        assert_eq!(color_beside_a_broken_line(&value), Some(value.clone()), "{value}");
    }
}

#[test]
fn what_the_reference_gives_up_on_is_salvaged_in_one_line() {
    check(&[
        // A value that YAML refuses, without any of the letters the reference looks for.
        (
            "---\nname: a\ndescription: - x\n---\n",
            r#"name: "a"; description: "- x" | "#,
            "field-repaired 3:14+",
        ),
        (
            "---\nname: a\ndescription: ? x\n---\n",
            r#"name: "a"; description: "? x" | "#,
            "field-repaired 3:14+",
        ),
        (
            "---\nname: a\ndescription: x:\n---\n",
            r#"name: "a"; description: "x:" | "#,
            "field-repaired 3:14+",
        ),
        (
            "---\nname: a\ndescription: , x\n---\n",
            r#"name: "a"; description: ", x" | "#,
            "field-repaired 3:14+",
        ),
        // A quotation at the beginning is no quoted value; a quote that never closes is no quotation.
        (
            "---\nname: a\ndescription: \"Quick\" look\n---\n",
            r#"name: "a"; description: "\"Quick\" look" | "#,
            "field-repaired 3:14+",
        ),
        (
            "---\nname: a\ndescription: \"foo\nmodel: opus\n---\n",
            r#"name: "a"; description: "foo"; model: "opus" | "#,
            "unclosed-quote 3:14+",
        ),
        ("---\nname: \"a\ndescription: d\n---\n", r#"name: "a"; description: "d" | "#, "unclosed-quote 2:7+"),
        // Escapes that YAML does not know.
        (
            "---\nname: a\ndescription: \"in C:\\Users\"\n---\n",
            r#"name: "a"; description: "in C:\\Users" | "#,
            "field-repaired 3:14+",
        ),
        (
            "---\nname: a\ndescription: \"say \\\"x\\\": \\d\"\n---\n",
            r#"name: "a"; description: "say \"x\": \\d" | "#,
            "unquoted-colon 3:24+",
        ),
        // No blank behind the colon, in all fields (then it is one long word to YAML) or in some.
        (
            "---\nname:a\ndescription:d e\n---\nbody",
            r#"name: "a"; description: "d e" | body"#,
            "field-repaired 2:6+, field-repaired 3:13+",
        ),
        (
            "---\nname: a\ndescription:d\nmodel:opus\n---\n",
            r#"name: "a"; description: "d"; model: "opus" | "#,
            "field-repaired 3:13+, field-repaired 4:7+",
        ),
        (
            "---\nname:\u{a0}a\ndescription: d\n---\n",
            r#"name: "a"; description: "d" | "#,
            "field-repaired 2:7+",
        ),
        // Letters that may not stand in YAML are escaped in the fix.
        (
            "---\nname: a\ndescription: x\u{7}: \u{9f}\u{feff}y\n---\n",
            "name: \"a\"; description: \"x\\u{7}: \\u{9f}\\u{feff}y\" | ",
            "unquoted-colon 3:16+",
        ),
        // Comments mean what they mean in YAML: only the reference's repair reads them literally.
        (
            "---\nname: a # the name\ndescription: - x\nmodel: opus # fast\n---\n",
            r#"name: "a"; description: "- x"; model: "opus" | "#,
            "field-repaired 3:14+",
        ),
        // Values of any type survive beside a broken line, and what is empty stays empty.
        (
            "---\nname: 12\ndescription:\nmodel: [a, b]\nmaxTurns: 5\nbackground: true\ntools: - x\n---\n",
            r#"name: 12; description: null; model: ["a", "b"]; maxTurns: 5; background: true; tools: ["x"] | "#,
            "field-repaired 7:8+",
        ),
    ]);
}

#[test]
fn descriptions_that_go_on_at_the_margin_are_salvaged() {
    check(&[
        // Up to the next known key everything belongs to the description, unknown keys and blank lines included.
        (
            "---\nname: a\ndescription: Use this.\n\nExamples:\n- one: two\n\n<example>\nContext: x\nuser: \"hi\"\n</example>\n\nmodel: opus\n---\nbody",
            r#"name: "a"; description: "Use this.\n\nExamples:\n- one: two\n\n<example>\nContext: x\nuser: \"hi\"\n</example>"; model: "opus" | body"#,
            "unindented-text 5:1+",
        ),
        // The first line may be at fault, too; the report is about what is at the margin.
        (
            "---\nname: a\ndescription: Use when: x\nExamples (2): y: z\ncolor: red\n---\n",
            r#"name: "a"; description: "Use when: x\nExamples (2): y: z"; color: "red" | "#,
            "unindented-text 4:1+",
        ),
        // As the last field it ends with the header.
        (
            "---\nname: a\ndescription: Use this.\n<example>\nx\n</example>\n---\nbody",
            r#"name: "a"; description: "Use this.\n<example>\nx\n</example>" | body"#,
            "unindented-text 4:1+",
        ),
        // A block that forgot to indent.
        (
            "---\nname: a\ndescription: |\nText one\n  two: three\nmodel: opus\n---\n",
            r#"name: "a"; description: "Text one\n  two: three"; model: "opus" | "#,
            "unindented-text 4:1+",
        ),
        (
            "---\nname: a\ndescription:\nText (1): one: two\nmodel: opus\n---\n",
            r#"name: "a"; description: "Text (1): one: two"; model: "opus" | "#,
            "unindented-text 4:1+",
        ),
        // In quotes over several lines.
        (
            "---\nname: a\ndescription: \"one\ntwo: \\\"three\\\" \\d\n\nfour\"\nmodel: opus\n---\n",
            r#"name: "a"; description: "one\ntwo: \"three\" \\d\n\nfour"; model: "opus" | "#,
            "unindented-text 4:1+",
        ),
        // Indented, but with a `: ` that YAML takes for a field.
        (
            "---\nname: a\ndescription: one\n  two: three\nmodel: opus\n---\n",
            r#"name: "a"; description: "one\ntwo: three"; model: "opus" | "#,
            "unquoted-colon 3:14+",
        ),
        // A key that stood above already is an example in the prose, a new one is a field.
        (
            "---\nname: a\ndescription: Like this.\n<example>\nname: b\nmodel: opus\n---\n",
            r#"name: "a"; description: "Like this.\n<example>\nname: b"; model: "opus" | "#,
            "unindented-text 4:1+",
        ),
        // Blanks on an otherwise empty line below do not creep in.
        (
            "---\nname: a\ndescription: one\ntwo three\n   \nmodel: opus\n---\n",
            r#"name: "a"; description: "one\ntwo three"; model: "opus" | "#,
            "unindented-text 4:1+",
        ),
        // Comments right above the next field, or the end, are comments.
        (
            "---\nname: a\ndescription: one\nmore text\n# which model\n# really\nmodel: opus\n---\n",
            r#"name: "a"; description: "one\nmore text"; model: "opus" | "#,
            "unindented-text 4:1+",
        ),
        (
            "---\nname: a\ndescription: - d\nmodel: - x\n#one\n\n#two\n---\nbody",
            r#"name: "a"; description: "- d"; model: "- x" | body"#,
            "field-repaired 3:14+, field-repaired 4:8+",
        ),
        // An unknown key inside prose is prose, whatever hangs below it.
        (
            "---\nname: a\ndescription: d: e\nwhen:\n  - f: g: h\nmodel: opus\n---\n",
            r#"name: "a"; description: "d: e\nwhen:\n  - f: g: h"; model: "opus" | "#,
            "unindented-text 4:1+",
        ),
    ]);
}

#[test]
fn lists_and_trees_are_salvaged() {
    check(&[
        // Items that begin with `*`, that hold `: `, that lack a bracket or a quote.
        (
            "---\nname: a\ntools:\n  - Read\n  - *\nmodel: opus\n---\n",
            r#"name: "a"; tools: ["Read", "*"]; model: "opus" | "#,
            "field-repaired 4:3+",
        ),
        (
            "---\nname: a\ntools:\n  - Read: x: y # why\n  # none\n  - Bash(a, b: *)\n---\n",
            r#"name: "a"; tools: ["Read: x: y", "Bash(a, b: *)"] | "#,
            "field-repaired 4:3+",
        ),
        (
            "---\nname: a\ntools: [Read,\n  \"Grep, *\n  ]\nskills: [x\n---\n",
            r#"name: "a"; tools: ["Read", "Grep", "*"]; skills: ["x"] | "#,
            "field-repaired 3:8+, field-repaired 6:9+",
        ),
        (
            "---\nname: a\nmodel: - x\ntools: *\n---\n",
            r#"name: "a"; model: "- x"; tools: ["*"] | "#,
            "field-repaired 3:8+, field-repaired 4:8+",
        ),
        // Tabs are plain to a reader; the mended file has spaces.
        (
            "---\nname: a\ntools:\n\t- Read\n\t- Grep\nmodel: opus\n---\n",
            r#"name: "a"; tools: ["Read", "Grep"]; model: "opus" | "#,
            "tab-indent 4:1+",
        ),
        (
            "---\nname: a\nhooks:\n\tStop:\n\t\t- x\ndescription: |\n\tone\n---\n",
            r#"name: "a"; hooks: {Stop: ["x"]}; description: "one\n" | "#,
            "tab-indent 4:1+, tab-indent 7:1+",
        ),
        // A tree that cannot be read costs itself, not its neighbours.
        (
            "---\nname: a\nhooks:\n  k: v: w\nmodel: opus\n---\n",
            r#"name: "a"; model: "opus" | "#,
            "field-lost 3:1",
        ),
        (
            "---\nname: a\ncolor: [red,\n  *blue\nmodel: - x\n---\n",
            r#"name: "a"; model: "- x" | "#,
            "field-lost 3:1, field-repaired 5:8+",
        ),
        (
            "---\nname: {{a}}\ncolor: [red, *blue\nmodel: - x\n---\n",
            r#"name: "{{a}}"; color: "[red, *blue"; model: "- x" | "#,
            "field-repaired 2:7+, field-repaired 3:8+, field-repaired 4:8+",
        ),
        // An unknown key takes its block with it, readable or not.
        (
            "---\nname: a\nwhen:\n  - x: y\nmodel: - z\n---\n",
            r#"name: "a"; when: [{x: "y"}]; model: "- z" | "#,
            "field-repaired 5:8+",
        ),
        (
            "---\nname: a\nwhen:\n  - x: y: z\n  - w\nmodel: opus\n---\n",
            r#"name: "a"; model: "opus" | "#,
            "field-lost 3:1",
        ),
        // Quoted keys are YAML, if nothing posse looks for.
        (
            "---\n\"name\": a\ndescription: - d\n---\n",
            r#"name: "a"; description: "- d" | "#,
            "field-repaired 3:14+",
        ),
        // Text of no field is lost, and said to be: above the first field and between two.
        (
            "---\n*stray*\nname: a\nstray\nmodel: - x\n---\n",
            r#"name: "a"; model: "- x" | "#,
            "field-lost 2:1, field-lost 4:1, field-repaired 5:8+",
        ),
        // A word has one line. What stands below it may be worth keeping, so the fix that drops it is not safe.
        (
            "---\nname: a\n description: d\nmodel: opus\n---\n",
            r#"name: "a"; model: "opus" | "#,
            "field-repaired 2:7?",
        ),
        // Of two equal keys outside prose the first counts, as the fix then makes plain to everybody.
        (
            "---\nname: a\ntools: - x\nname: \"b\nmodel: opus\n---\n",
            r#"name: "a"; tools: ["x"]; model: "opus" | "#,
            "field-repaired 3:8+, duplicate-key 4:1+",
        ),
        // Nothing to salvage: neither name nor description.
        ("---\nmodel: a: b\n\t- x\n---\nbody", "broken | body", "yaml-syntax 2:9"),
        ("---\n  name: a\n  description: d: e\n---\nbody", "broken | body", "yaml-syntax 3:17"),
    ]);
}

#[test]
fn a_prompt_inside_the_header_is_the_body() {
    check(&[
        // The fence was never closed; the `---` is a ruler in the prompt.
        (
            "---\nname: a\ndescription: d\ntools: Read\n\n# You are\n\nIn short: do: it\n\n---\n\nmore",
            r#"name: "a"; description: "d"; tools: "Read" | # You are//In short: do: it//---//more"#,
            "unclosed-frontmatter 6:1+",
        ),
        // What looks like a field below the heading is an example.
        (
            "---\nname: a\ndescription: d: e\n## Format\nname: b\nmodel: opus\nIn short: do: it\n---\nmore",
            r#"name: "a"; description: "d: e" | ## Format/name: b/model: opus/In short: do: it/---/more"#,
            "unclosed-frontmatter 4:1+, unquoted-colon 3:15+",
        ),
        // Without a heading, below a field that cannot go on at the margin.
        (
            "---\nname: a\ndescription: d\nmodel: opus\n\nYou review: everything.\n\nThoroughly.\n---\nmore",
            r#"name: "a"; description: "d"; model: "opus" | You review: everything.//Thoroughly./---/more"#,
            "unclosed-frontmatter 6:1+",
        ),
        (
            "---\nname: a\nmodel: opus\nYou review.\n## How\nAsk.\nname: b\n---\nmore",
            r#"name: "a"; model: "opus" | You review./## How/Ask./name: b/---/more"#,
            "unclosed-frontmatter 4:1+",
        ),
        // Under a key of its own, which is then no field.
        (
            "---\nname: a\nmodel: opus\nprompt: |\n\n## You: review\n- all: of: it\n---\nmore",
            r#"name: "a"; model: "opus" | ## You: review/- all: of: it/---/more"#,
            "unclosed-frontmatter 4:1+",
        ),
        (
            "---\nname: a\nsystem_prompt:\nYou will: review: it\n---\nmore",
            r#"name: "a" | You will: review: it/---/more"#,
            "unclosed-frontmatter 3:1+",
        ),
        // A heading right above a field is a comment; so is any `#` in a header that is sound.
        (
            "---\nname: a\n# Tools\ntools: - x\n---\nbody",
            r#"name: "a"; tools: ["x"] | body"#,
            "field-repaired 4:8+",
        ),
        ("---\nname: a\n# You are\n---\nbody", r#"name: "a" | body"#, ""),
        // `#1` and `#tag` are no headings.
        (
            "---\nname: a\n#tag\n####### deep\ntools: - x\n---\nbody",
            r#"name: "a"; tools: ["x"] | body"#,
            "field-repaired 5:8+",
        ),
    ]);
}

#[test]
fn quoted_text_reads_as_itself() {
    for text in [
        "",
        "plain",
        "say \"hi\"",
        "C:\\dir\\n",
        "a\nb\r\nc\td",
        "# not a comment: [at] {all} *x &y !z %p @q `r`",
        " blanks ",
        "\u{0}\u{1}\u{1b}\u{7f}\u{80}\u{85}\u{9f}",
        "\u{a0}\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}",
        "ünïcode 漢字 😀",
        "---",
    ] {
        let source = format!("k: {}", quoted(text));
        let document = yaml::parse(&source).unwrap_or_else(|error| panic!("{source:?}: {error:?}"));
        assert_eq!(document.root.get("k").unwrap().as_text(), Some(text));
        assert!(!source.contains('\n'));
    }
}

#[test]
fn every_message_ends_without_a_position_of_its_own() {
    // The parser counts lines from the fence and reports know better; two positions in one message help nobody.
    let text = "---\nfoo: bar: baz\n\tx\n---\n";
    let (_, problems) = read(text, vocabulary);
    assert_eq!(reported(text, &problems), "yaml-syntax 2:9");
    assert_eq!(problems[0].text, "not valid YAML: mapping values are not allowed in this context");
}

/// Inputs that once were, or easily could be, trouble: ends of text, odd white space, letters that break lines for
/// some and not for others, fences that overlap, everything unclosed. Add to it whatever a fuzzer finds.
const NASTY: &[&str] = &[
    "---\n\u{feff}",
    "---\r\n---",
    "---\n---\n---",
    "---\n----",
    "--- ---\n---",
    "---\n ---",
    "\u{feff}",
    "\u{feff}---\u{feff}\nname: a\n---",
    "---\nname:",
    "---\nname:\n---",
    "---\nname: \n---",
    "---\nname:\u{2028}\n---",
    "---\nname: a\u{2029}: b\n---",
    "---\nname: \u{85}: \u{85}\n---",
    "---\nname: a\rdescription: b: c\r\n---\r",
    "---\nname: a\n\r\ndescription: \r: x\n---",
    "---\n\t\n\tname: a: b\n---",
    "---\nname: a\ndescription:\n\t\u{a0}é: x: y\n---",
    "---\nname: a\ndescription: |9\n x\n---",
    "---\nname: a\ndescription: |0\n: x\n---",
    "---\nname: a\ndescription: >-\n\n\n---",
    "---\nname: a\ndescription: \"\n---",
    "---\nname: a\ndescription: '''\n---",
    "---\nname: a\ndescription: \"\\\n---",
    "---\nname: a\ndescription: \"\\u\n---",
    "---\nname: \"\ndescription: \"\n---",
    "---\nname: a\ntools: [\n---",
    "---\nname: a\ntools: ]\n---",
    "---\nname: a\ntools: [,,]\n---",
    "---\nname: a\ntools: (,\n---",
    "---\nname: a\ntools: - - - *\n---",
    "---\nname: a\ntools:\n\t\t\t- [\n---",
    "---\nname: a\ntools: #\n---",
    "---\nname: a\n#\n##\n### \n---",
    "---\nname: a: b\n# \u{a0}\n---",
    "---\nname: a: b\n# x",
    "---\nname: a\nprompt: |\n---",
    "---\nname: a: b\nprompt:\n---",
    "---\nname: a\n<<: *x\n---",
    "---\nname: a\n<<: [*x]\n---",
    "---\nname: &a *a\n---",
    "---\nname: &a [*a]\n---",
    "---\nname: !!binary x\n---",
    "---\nname: !<tag:é> x\n---",
    "---\n%YAML 9.9\nname: a\n---",
    "---\n...\n...\nname: a\n---",
    "---\n? name\n: a\n? [description]\n: d: e\n---",
    "---\n'name': a\n\"description\": \"d\" e\n---",
    "---\nname : a\ndescription  : d: e\n---",
    "---\nname:a\nname:b\nname:\n---",
    "---\n😀: 😀: 😀\nname: 😀\ndescription: \"😀\n---",
    "---\nname: a\ndescription: é\u{301}\u{200d}: \u{202e}x\n---",
    "---\nname: a\u{0}b\ndescription: \u{0}\n---\u{0}",
    "---\nname: a\nhooks: {a: {b: {c\n---",
    "---\n- name: a\n- description: d: e\n---",
    "---\nname: a\n- x\n- y\n---",
    "---\n\"name: a\ndescription: d\n---",
    "---\n{name: a, description: d\n---",
    "---\n{name: a, description: d}\n---",
    "---\n[name: a]\n---",
    "---\nname: a --- description: d",
    "---\nname: a\ndescription: \"x---",
];

#[test]
fn the_saved_corpus_does_no_harm() {
    for text in NASTY {
        for text in
            [(*text).to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}"), format!("{text}\n")]
        {
            check_spans(&text).unwrap();
        }
    }
}

/// Lines of headers: sound, careless and hostile.
const LINES: &[&str] = &[
    "name: a",
    "name:b",
    "name: \"a",
    "name :a",
    "name:\ta",
    "description: d",
    "description: Use when: x",
    "description: \"foo",
    "description: 'it's",
    "description: \"say \\\"x\\\" : \\d\"",
    "description: \\n \\\" \\\\: x",
    "description: ä 😀: ö  ",
    "description: >",
    "description: |-",
    "description:\n\tfoo\n\tbar: x: y",
    "description: x\u{2028}y: z",
    "description: a\u{7}b\u{85}: c\u{9f}\u{feff}",
    "  text: more",
    " indented",
    "\t- Read",
    "\t\ttabbed",
    "tools: Read, Grep",
    "tools:",
    "  - Read",
    "  - *",
    "- Grep",
    "tools: [Read,",
    "]",
    "tools: *",
    "skills:\n\t- *\n\t- Bash(rm: *)",
    "skills: \"a\", b: c",
    "skills:\n  - \"x: y\n  - 'z",
    "model: opus",
    "model: sonnet # fast",
    "model: a: b",
    "color: *x",
    "color: @high  ",
    "color: {x}",
    "maxTurns: 5",
    "background: true",
    "hooks:",
    "  PreToolUse: [",
    "  a: {b: c}",
    "initialPrompt: % 5",
    "Examples:",
    "<example>",
    "user: \"hi\"",
    "",
    "   ",
    "# You are",
    "#comment",
    "foo: bar",
    "foo:",
    "  bar: baz: q",
    "key.with: a: b",
    "a2: b: c",
    "ünïcode: ä: ö",
    "text at margin",
    "- x",
    "? y",
    "!tag x",
    "&anchor x",
    "*alias",
    "{{x}}",
];

/// What no reading of single lines can keep apart: line breaks that only YAML sees, further documents, fences.
const HOSTILE: &[&str] = &[
    "name: a\rb: c",
    "x\ry",
    "...",
    "---x",
    "  ---",
    "description: foo --- bar",
    "%TAG ! x",
    "<<: *x",
    "\"name\": q",
    "'description': q: r",
    "prompt: |",
    "\u{0}",
    "\u{feff}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

fn assemble(lines: &[&str], opening: &str, closing: &str, line_break: &str) -> String {
    let header: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("{opening}\n{header}{closing}").replace('\n', line_break)
}

fn openings() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just("---"), 1 => Just("--- "), 1 => Just("\u{feff}---")]
}

fn line_breaks() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("\n"), 1 => Just("\r\n")]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_leads_astray(text in any::<String>(), opening in openings()) {
        check_spans(&text).map_err(TestCaseError::fail)?;
        check_spans(&format!("{opening}\n{text}\n---\n")).map_err(TestCaseError::fail)?;
        check_spans(&format!("{opening}\nname: a\ndescription: {text}\n---\n")).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn no_header_leads_astray(
        picks in proptest::collection::vec(0..LINES.len() + HOSTILE.len(), 0..10),
        opening in openings(),
        closing in prop_oneof![Just("---\nbody"), Just("---"), Just("")],
        line_break in line_breaks(),
    ) {
        let all = [LINES, HOSTILE].concat();
        let lines: Vec<_> = picks.iter().map(|pick| all[*pick]).collect();
        let text = assemble(&lines, opening, closing, line_break);
        check_spans(&text).map_err(TestCaseError::fail)?;
        // Reading twice says the same twice: nothing depends on the order of a hash map.
        prop_assert_eq!(read(&text, vocabulary), read(&text, vocabulary));
    }

    #[test]
    fn safe_fixes_keep_the_meaning_of_any_header_that_loses_nothing(
        picks in proptest::collection::vec(0..LINES.len(), 1..8),
        opening in openings(),
        line_break in line_breaks(),
    ) {
        let lines: Vec<_> = ["name: x"].into_iter().chain(picks.iter().map(|pick| LINES[*pick])).collect();
        let text = assemble(&lines, opening, "---\nbody", line_break);
        let (_, problems) = read(&text, vocabulary);
        // Where a field or a second key is lost, mending its neighbours can bring it back; whoever writes fixes
        // compares the agents before and after for that reason.
        let loses = |problem: &Problem| matches!(problem.rule, Rule::FieldLost | Rule::DuplicateKey);
        if !problems.iter().any(loses) {
            check_safe_fixes(&text).map_err(TestCaseError::fail)?;
        }
    }
}
