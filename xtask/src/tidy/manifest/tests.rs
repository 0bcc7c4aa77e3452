use super::*;

#[test]
fn all_the_ways_to_name_a_dependency() {
    let manifest = r#"
[package]
name = "x"            # not a dependency
version = "1"

[dependencies]
# commented = "1"
plain = "1"
inherited.workspace = true
table = { version = "1", features = ["a"] }
short = { package = "really-this", version = "1" }
"quoted" = "1"

[dependencies.own-section]
version = "1"

[dependencies.nick]
package = "full-name"
version = "1"

[dev-dependencies]
tests = "1"

[build-dependencies]
building = "1"

[target.'cfg(unix)'.dependencies]
unixy = "1"

[features]
default = ["plain"]

[lints]
workspace = true
"#;
    let found = dependencies(manifest);
    let names = |kind: Kind| {
        found.iter().filter(|(k, _)| *k == kind).map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(Kind::Normal), "plain inherited table really-this quoted own-section full-name unixy");
    assert_eq!(names(Kind::Dev), "tests");
    assert_eq!(names(Kind::Build), "building");
}
