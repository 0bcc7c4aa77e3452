use super::*;
use crate::tidy::project::File;

fn krate(files: &[(&str, &str)]) -> Crate {
    let files =
        files.iter().map(|(path, text)| File { path: format!("src/{path}"), text: (*text).to_owned() });
    Crate { folder: "crates/x".to_owned(), manifest: String::new(), files: files.collect() }
}

/// One line per edge.
fn edges(files: &[(&str, &str)]) -> String {
    let graph = modules(&krate(files));
    let lines = graph.iter().flat_map(|(from, to)| to.keys().map(move |to| format!("{from}->{to}")));
    lines.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_circle_of_two_is_found_with_its_places() {
    let krate =
        krate(&[("lib.rs", "mod a; mod b;"), ("a.rs", "\nuse crate::b;"), ("b.rs", "use crate::a::X;")]);
    assert_eq!(circles(&modules(&krate)), ["a -> b (crates/x/src/a.rs:2) -> a (crates/x/src/b.rs:1)"]);
}

#[test]
fn a_long_circle_is_told_once_and_a_short_cut_is_preferred() {
    let files = [
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::{c, d};"),
        ("c.rs", "use crate::a;"),
        ("d.rs", "use crate::c;"),
        ("e.rs", "use crate::a;"),
    ];
    let found = circles(&modules(&krate(&files)));
    let modules_only: Vec<String> = found
        .iter()
        .map(|f| f.split(' ').filter(|w| !w.starts_with('(')).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(modules_only, ["a -> b -> c -> a", "d -> c -> a -> b -> d"]);
}

#[test]
fn layers_have_no_circle() {
    let files = [
        ("a.rs", ""),
        ("b.rs", "use crate::a;"),
        ("c.rs", "use crate::{a, b};"),
        ("c/d.rs", "use super::X;"),
    ];
    assert_eq!(circles(&modules(&krate(&files))), Vec::<String>::new());
    assert_eq!(edges(&files), "b->a c->a c->b");
}

#[test]
fn every_way_to_name_a_module_counts() {
    let check = |code: &str, expected: &str| {
        assert_eq!(edges(&[("a.rs", code), ("b.rs", ""), ("c.rs", "")]), expected, "{code}");
    };
    check("use crate::b;", "a->b");
    check("use crate::{b::{X, Y}, c};", "a->b a->c");
    check("fn f() { crate::b::g(&crate::c::H) }", "a->b a->c");
    check("use super::b;", "a->b");
    check("mod inner { use super::super::b; use super::c; }", "a->b");
    check("use std::b; use self::c; use c::d;", "");
    check("// crate::b\nconst X: &str = \"crate::c\";", "");
    check("#[cfg(test)]\nmod tests { use crate::b; }\nuse crate::c;", "a->c");
}

#[test]
fn files_below_a_module_speak_for_it() {
    assert_eq!(edges(&[("a.rs", ""), ("a/x/y.rs", "use super::super::super::b;"), ("b.rs", "")]), "a->b");
    assert_eq!(edges(&[("a.rs", ""), ("a/x.rs", "use super::b;"), ("b.rs", "")]), "");
    assert_eq!(edges(&[("a.rs", "use crate::a::x;"), ("a/x.rs", "use crate::a::B;")]), "");
}

#[test]
fn names_re_exported_by_the_root_lead_to_their_module() {
    let root = "mod a; mod b; pub use b::{Thing, other as renamed}; pub use crate::c::deep::Far;";
    let with = |code: &str| edges(&[("lib.rs", root), ("a.rs", code), ("b.rs", ""), ("c.rs", "")]);
    assert_eq!(with("use crate::Thing;"), "a->b");
    assert_eq!(with("use crate::renamed;"), "a->b");
    assert_eq!(with("use crate::Far;"), "a->c");
    assert_eq!(with("use crate::Unknown;"), "");
}

#[test]
fn tests_and_roots_may_use_everything() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod fixtures; use crate::a;"),
        ("main.rs", "use crate::b;"),
        ("bin/tool.rs", "use crate::b;"),
        ("a.rs", "use crate::b; #[cfg(test)] mod samples;"),
        ("a/samples.rs", "use crate::b;"),
        ("a/tests.rs", "use crate::b;"),
        ("b.rs", ""),
        ("b/tests.rs", "use crate::a;"),
        ("b/tests/more.rs", "use crate::a;"),
        ("fixtures.rs", "use crate::a;"),
    ];
    assert_eq!(edges(&files), "a->b");
}

#[test]
fn an_empty_crate_is_fine() {
    assert_eq!(circles(&modules(&krate(&[]))), Vec::<String>::new());
    assert_eq!(circles(&modules(&krate(&[("lib.rs", "")]))), Vec::<String>::new());
}
