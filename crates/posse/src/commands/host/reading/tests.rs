use super::*;

#[test]
fn names_that_begin_so_come_first() {
    let names: Vec<String> =
        ["src/", "src/main.rs", "src/domain.rs", "docs/main.md", "main.rs", "Makefile", "m/a/i/n"]
            .map(str::to_owned)
            .to_vec();
    let table = [
        ("", "src/ main.rs Makefile"),
        ("main", "main.rs src/main.rs docs/main.md src/domain.rs m/a/i/n"),
        ("./src/m", "src/main.rs src/domain.rs"),
        ("MAKE", "Makefile"),
        ("zzz", ""),
    ];
    for (query, expected) in table {
        assert_eq!(ranked(query, &names).join(" "), expected, "{query}");
    }
}
