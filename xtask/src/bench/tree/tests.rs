use super::*;

#[test]
fn one_file_of_a_hundred_has_what_is_searched_for() {
    let hits = (0..1_000).filter(|index| {
        let text = text(*index);
        let found = text.lines().filter(|line| line.contains("fn handle_") && line.contains("_timeout("));
        found.count() == 1
    });
    assert_eq!(hits.count(), 10);
}

#[test]
fn the_same_number_gives_the_same_file() {
    assert_eq!(text(7), text(7));
    assert_ne!(text(7), text(8));
    assert_eq!(name(7), "source_00007.ts");
}
