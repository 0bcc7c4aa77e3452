use super::*;

fn words(code: &str) -> String {
    tokens(code).iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}

fn kept(source: &str) -> String {
    let code = code_only(source);
    product(&code).tokens.iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}

fn named(source: &str) -> Vec<String> {
    let code = code_only(source);
    paths(&tokens(&code)).into_iter().map(|path| path.segments.join("::")).collect()
}

#[test]
fn comments_and_literals_are_not_code() {
    let check = |source: &str, expected: &str| assert_eq!(words(&code_only(source)), expected, "{source}");
    check("a // crate::b\nc", "a c");
    check("a /* b /* c */ d */ e", "a e");
    check(r#"a("crate::b \" c") d"#, "a ( ) d");
    check(r###"a(r#"b " c"#, br"d\", r"e") f"###, "a ( , b , ) f");
    check(r"a('x', '\'', '\u{1F600}', '{') b", "a ( , , , ) b");
    check("fn f<'a>(x: &'a str) {}", "fn f < ' a > ( x : & ' a str ) { }");
    check("r#type for r", "r # type for r");
    check("a \"never closed", "a");
}

#[test]
fn lines_stay_where_they_are() {
    let code = code_only("/* one\ntwo */ a\n\"three\nfour\" b");
    let lines: Vec<(&str, usize)> = tokens(&code).iter().map(|token| (token.text, token.line)).collect();
    assert_eq!(lines, [("a", 2), ("b", 4)]);
}

#[test]
fn test_items_are_left_out_and_their_neighbours_kept() {
    let check = |item: &str| assert_eq!(kept(&format!("a; #[cfg(test)] {item} z;")), "a ; z ;", "{item}");
    check("mod tests;");
    check("mod tests { fn x() { y(); } }");
    check("#[allow(unused)] pub(crate) fn x<A, B>(a: A) -> [B; 2] { {} }");
    check("use a::{b, c};");
    check("const X: [Y; 1] = [Y { z: 1 }];");
    check("const fn x() {}");
    check("struct X(u8);");
    check("impl X { fn y(); }");
    assert_eq!(kept("enum E { A, #[cfg(test)] B { x: u8, y: u8 }, C }"), "enum E { A , , C }");
    assert_eq!(
        kept("struct S { a: u8, #[cfg(test)] b: Vec<(u8, u8)>, c: u8 }"),
        "struct S { a : u8 , c : u8 }"
    );
    assert_eq!(kept("struct S { a: u8, #[cfg(test)] b: u8 } z"), "struct S { a : u8 , } z");
}

#[test]
fn which_conditions_mean_test() {
    assert_eq!(kept("#[cfg(all(unix, test))] fn a() {}"), "");
    assert_eq!(kept("#![cfg(test)] fn a() {}"), "");
    assert_eq!(kept("#[cfg(not(test))] fn a() {}"), "# [ cfg ( not ( test ) ) ] fn a ( ) { }");
    assert_eq!(kept("#[cfg(all(unix, not(test)))] a"), "# [ cfg ( all ( unix , not ( test ) ) ) ] a");
    assert_eq!(kept("#[cfg(any(test, unix))] a"), "# [ cfg ( any ( test , unix ) ) ] a");
    assert_eq!(kept("#![warn(x)] a"), "# ! [ warn ( x ) ] a");
}

#[test]
fn modules_declared_for_tests_are_remembered() {
    let code = code_only("mod a;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod fixtures;");
    assert_eq!(product(&code).test_modules, ["tests", "fixtures"]);
}

#[test]
fn groups_are_taken_apart() {
    assert_eq!(named("use crate::a;"), ["crate::a"]);
    assert_eq!(
        named("use crate::{a, b::{c, d as e}, f::*, self};"),
        ["crate::a", "crate::b::c", "crate::b::d", "crate::f::*", "crate::self"]
    );
    assert_eq!(named("use ::std::{fs, io::{self, Read}};"), ["std::fs", "std::io::self", "std::io::Read"]);
}

#[test]
fn paths_are_found_in_the_middle_of_code() {
    assert_eq!(
        named("fn f(x: crate::a::B) -> crate::c::D { crate::e::f::<crate::g::H>() }").join(" "),
        "crate::a::B crate::c::D crate::e::f crate::g::H"
    );
    assert_eq!(named("pub(crate) fn f() {}"), Vec::<String>::new());
    assert_eq!(named("pub(in crate::a) fn f() {}"), ["crate::a"]);
    assert_eq!(named("let x = if crate::a::B { c } else { d };"), ["crate::a::B"]);
}

#[test]
fn unfinished_code_does_not_hang_or_panic() {
    for source in [
        "use crate::{a, b",
        "crate::",
        "#[",
        "#[cfg(test)]",
        "#[cfg(test)] fn",
        "mod x {",
        "r#",
        "'",
        "use a::{}}",
    ] {
        kept(source);
        named(source);
    }
}

#[test]
fn inline_modules_are_counted() {
    let code = code_only("use super::a; mod x { use super::b; mod y { use super::c; } } use super::d;");
    let depths: Vec<usize> = paths(&tokens(&code)).iter().map(|path| path.inside).collect();
    assert_eq!(depths, [0, 1, 2, 0]);
}
