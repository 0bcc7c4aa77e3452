use super::*;

#[test]
fn rule_ids_are_unique_and_kebab_case() {
    let mut ids: Vec<_> = Rule::ALL.iter().map(|rule| rule.info().id).collect();
    for id in &ids {
        assert!(id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{id}");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn a_located_problem_carries_its_line() {
    let source = "---\nname: x\ncolour: red\n";
    let at = source.find("colour").unwrap();
    let file: Arc<Path> = Path::new("a.md").into();
    let got = Problem::at(Rule::UnknownField, Span::new(at, at + 6), "no such field").located(&file, source);
    assert_eq!(got.excerpt.as_deref(), Some("colour: red"));
    assert_eq!(got.location, Some(Location { line: 3, column: 1, end_line: 3, end_column: 7 }));
}
