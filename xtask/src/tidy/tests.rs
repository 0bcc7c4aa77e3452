use super::project::{self, Crate};
use super::{graph, rules};

/// What the core may be built from. Each of these turns values into values: parsers, among them one that is driven by
/// the grammar tables of a second crate, an edit distance for "did you mean", globs for paths, patterns with look-around
/// for the matchers of hooks, and the derive for error types. None of them can open a file, read a clock or start a
/// thread, and a newcomer has to show the same before it joins the list.
const CORE_DEPENDENCIES: &[&str] = &[
    "fancy-regex",
    "globset",
    "granit-parser",
    "jsonc-parser",
    "serde_json",
    "strsim",
    "thiserror",
    "tree-sitter",
    "tree-sitter-bash",
];

const OUT_OF_BOUNDS_FOR_CORE: &[&str] = &["fs", "env", "net", "process", "thread"];
const CLOCKS: &[&str] = &["SystemTime", "Instant"];

#[track_caller]
fn check(rule: &str, crates: &[Crate], find: impl Fn(&Crate) -> Vec<String>) {
    let findings: Vec<String> = crates.iter().flat_map(find).collect();
    assert!(findings.is_empty(), "{rule}\n\n{}\n", findings.join("\n"));
}

/// The one crate a rule is about. A rule about a crate that is gone would pass for ever.
#[track_caller]
fn only(name: &str) -> Vec<Crate> {
    let found: Vec<Crate> = project::read().into_iter().filter(|krate| krate.name() == name).collect();
    assert_eq!(found.len(), 1, "there is no crate {name} any more; this rule has to move");
    found
}

#[test]
fn modules_of_a_crate_do_not_use_each_other_in_a_circle() {
    let rule = "Modules have a direction: what two of them share belongs into a third below both.";
    check(rule, &project::read(), |krate| graph::circles(&graph::modules(krate)));
}

#[test]
fn the_core_depends_on_little() {
    let rule = "posse-core is data and decisions. What it does not depend on is the architecture.";
    check(rule, &only("posse-core"), |krate| rules::only_these_dependencies(krate, CORE_DEPENDENCIES));
}

#[test]
fn the_core_touches_nothing_outside() {
    let rule =
        "posse-core is handed what it needs: no disk, environment, network, processes, threads or clock.";
    check(rule, &only("posse-core"), |krate| {
        rules::no_ambient_authority(krate, OUT_OF_BOUNDS_FOR_CORE, CLOCKS)
    });
}

#[test]
fn only_the_binary_parses_arguments() {
    let rule = "Arguments are one frontend's business; the crates below serve every frontend.";
    let others: Vec<Crate> = project::read().into_iter().filter(|krate| krate.name() != "posse").collect();
    check(rule, &others, |krate| rules::no_dependency_on(krate, "clap"));
}

#[test]
fn every_module_introduces_itself() {
    let rule = "The first lines of a file say what this room knows and what it refuses to know.";
    check(rule, &project::read(), rules::module_docs);
}

#[test]
fn there_is_no_mod_rs() {
    check("A module with children is x.rs beside x/.", &project::read(), rules::no_mod_rs);
}

#[test]
fn files_and_functions_stay_readable() {
    let rule =
        "Split by what changes together; a table that has outgrown the limit can live in a file of its own.";
    check(rule, &project::read(), rules::sizes);
}
