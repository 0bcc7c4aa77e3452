use super::*;
use crate::tidy::project::File;

fn with_manifest(manifest: &str) -> Crate {
    Crate { folder: "crates/x".to_owned(), manifest: manifest.to_owned(), files: Vec::new() }
}

fn with_file(path: &str, text: &str) -> Crate {
    let files = vec![File { path: path.to_owned(), text: text.to_owned() }];
    Crate { folder: "crates/x".to_owned(), manifest: String::new(), files }
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_dependency_off_the_list_is_found() {
    let krate = with_manifest(
        "[dependencies]\nstrsim = \"1\"\ntokio.workspace = true\n[dev-dependencies]\nproptest = \"1\"",
    );
    let expected = "crates/x/Cargo.toml: tokio is not on the list of what this crate may use";
    assert_eq!(only_these_dependencies(&krate, &["strsim"]), [expected]);
    assert_eq!(only_these_dependencies(&krate, &["strsim", "tokio"]), NOTHING);
}

#[test]
fn clap_and_its_relatives_are_found_but_not_its_namesakes() {
    let krate = with_manifest("[dependencies]\nclapper = \"1\"\n[dev-dependencies]\nclap_complete = \"4\"");
    assert_eq!(
        no_dependency_on(&krate, "clap"),
        ["crates/x/Cargo.toml: clap_complete belongs into crates/posse alone"]
    );
}

#[test]
fn ambient_authority_is_found_however_it_is_written() {
    let check = |code: &str, expected: &[&str]| {
        let found = no_ambient_authority(&with_file("src/a.rs", code), &["fs", "env"], &["Instant"]);
        let expected: Vec<String> = expected.iter().map(|what| format!("crates/x/src/a.rs:{what}")).collect();
        assert_eq!(found, expected, "{code}");
    };
    check("use std::fs;", &["1: names std::fs"]);
    check("\nuse std::{io, fs::{self, File}};", &["2: names std::fs", "2: names std::fs"]);
    check("fn f() { ::std::env::var(x) }", &["1: names std::env"]);
    check("use std::*;", &["1: names std::*"]);
    check("use std::time::{Duration, Instant};", &["1: names Instant"]);
    check("use std::fmt; // std::fs\nconst X: &str = \"std::env\"; struct InstantCoffee;", &[]);
    check("#[cfg(test)]\nmod tests { use std::fs; }", &[]);
}

#[test]
fn a_file_without_module_doc_is_found() {
    let found = |path: &str, text: &str| !module_docs(&with_file(path, text)).is_empty();
    assert!(found("src/a.rs", "use b;"));
    assert!(found("src/a.rs", "// not a doc\n//! too late"));
    assert!(found("src/a.rs", ""));
    assert!(!found("src/a.rs", "\n//! What it knows.\n"));
    assert!(!found("src/a/tests.rs", "use b;"));
    assert!(!found("tests/it/main.rs", "use b;"));
}

#[test]
fn mod_rs_is_found_anywhere() {
    assert_eq!(no_mod_rs(&with_file("src/a/mod.rs", "")).len(), 1);
    assert_eq!(no_mod_rs(&with_file("tests/it/common/mod.rs", "")).len(), 1);
    assert_eq!(no_mod_rs(&with_file("src/a/commod.rs", "")), NOTHING);
}

#[test]
fn a_long_file_is_found_unless_it_is_a_test() {
    let lines = |count: usize| "//!\n".repeat(count);
    assert_eq!(sizes(&with_file("src/a.rs", &lines(900))), NOTHING);
    assert_eq!(sizes(&with_file("src/a.rs", &lines(901))), ["crates/x/src/a.rs: 901 lines, more than 900"]);
    assert_eq!(sizes(&with_file("src/a/tests.rs", &lines(901))), NOTHING);
}

#[test]
fn a_long_function_is_found_unless_it_is_a_test() {
    let function = |lines: usize| {
        format!("fn long(x: [u8; {{ 1 }}]) -> X\nwhere X: Y {{\n{}}}\n", "{ }\n".repeat(lines - 3))
    };
    assert_eq!(sizes(&with_file("src/a.rs", &function(120))), NOTHING);
    let expected = "crates/x/src/a.rs:2: fn long has 121 lines, more than 120";
    assert_eq!(sizes(&with_file("src/a.rs", &format!("\n{}", function(121)))), [expected]);
    assert_eq!(sizes(&with_file("src/a.rs", &format!("impl T {{\n{} }}", function(121)))), [expected]);
    assert_eq!(
        sizes(&with_file("src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{} }}", function(500)))),
        NOTHING
    );
    assert_eq!(sizes(&with_file("src/a.rs", "trait T { fn none(&self); }\ntype F = fn(u8);\n")), NOTHING);
}
