//! The tables in the docs are those of the program. To bring them up to date: `POSSE_WRITE_DOCS=1 cargo xtask test -- docs`.

use posse::render::{config, fields, hooks, skills};

#[test]
fn the_tables_in_the_docs_are_current() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (page, table) in [
        ("agents.md", fields::markdown()),
        ("hooks.md", hooks::markdown()),
        ("lint.md", fields::rules_markdown()),
        ("settings.md", config::markdown()),
        ("skills.md", skills::markdown()),
    ] {
        let path = docs.join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) =
            text.split_once("<!-- table -->\n").unwrap_or_else(|| panic!("{page} has no table mark"));
        let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("{page} has no end mark"));
        let want = format!("{before}<!-- table -->\n{table}<!-- end -->{after}");
        if option_env!("POSSE_WRITE_DOCS").is_some() {
            std::fs::write(&path, &want).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), want, "docs/{page} is out of date");
    }
}
