//! The tables beside the programs speak of everything that the installed SDKs offer, and name checks that there are.

use std::collections::BTreeMap;

use super::*;

type Table = BTreeMap<String, BTreeMap<String, String>>;

/// A table as written: kinds, names, and what is said of each.
fn table(folder: &str) -> Table {
    let text = std::fs::read_to_string(format!("{PROGRAMS}/{folder}/coverage.txt")).expect("a table");
    let mut table = Table::new();
    let mut kind = String::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => name.clone_into(&mut kind),
            None => {
                let (name, said) = line.split_once(": ").unwrap_or_else(|| panic!("not a row: {line}"));
                let rows = table.entry(kind.clone()).or_default();
                assert_eq!(rows.insert(name.to_owned(), said.to_owned()), None, "{kind}: {name} twice");
            }
        }
    }
    table
}

/// What the installed SDK offers, by a program that looks.
fn offered(mut command: Command) -> Table {
    if let Some(path) = option_env!("PATH") {
        command.env("PATH", path);
    }
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = |line: &Value| {
        let names = line["names"].as_array().cloned().unwrap_or_default();
        names.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), String::new())).collect()
    };
    let row = |line: Value| (line["kind"].as_str().unwrap_or_default().to_owned(), names(&line));
    text.lines().map(json).map(row).collect()
}

/// What is wrong with a table: names that are missing or gone, checks that nobody makes.
fn gaps(table: &Table, offered: &Table, checks: &[(&str, &[&str])], folder: &str) -> Vec<String> {
    let mut gaps = Vec::new();
    let rows = |table: &Table| -> Vec<(String, String)> {
        let one = |(kind, names): (&String, &BTreeMap<String, String>)| {
            names.keys().map(|name| (kind.clone(), name.clone())).collect::<Vec<_>>()
        };
        table.iter().flat_map(one).collect()
    };
    let (written, there) = (rows(table), rows(offered));
    gaps.extend(
        there.iter().filter(|row| !written.contains(row)).map(|row| format!("not in the table: {row:?}")),
    );
    gaps.extend(
        written.iter().filter(|row| !there.contains(row)).map(|row| format!("not in the SDK: {row:?}")),
    );
    for (name, said) in table.values().flatten() {
        let is_known = match (said.strip_prefix("not: "), said.strip_prefix("later: ")) {
            (Some(reason), _) => !reason.is_empty(),
            (None, Some(place)) => is_written(place, folder),
            (None, None) => said.split_once(" / ").is_some_and(|(area, check)| {
                checks.iter().any(|(name, checks)| *name == area && checks.contains(&check))
            }),
        };
        if !is_known {
            gaps.push(format!("no such check: {name}: {said}"));
        }
    }
    gaps
}

/// Whether a check that is not kept yet stands in its program.
fn is_written(place: &str, folder: &str) -> bool {
    let Some((area, check)) = place.split_once(" / ") else { return false };
    let ending = if folder == "python" { "py" } else { "mjs" };
    let program = std::fs::read_to_string(format!("{PROGRAMS}/{folder}/{area}.{ending}")).unwrap_or_default();
    let heads = match folder {
        "python" => [format!("async def {}(", check.replace(' ', "_")), String::from("\0")],
        _ => [format!("async \"{check}\"("), format!("async {check}(")],
    };
    heads.iter().any(|head| program.contains(head))
}

#[test]
fn a_table_that_forgets_something_is_found_out() {
    let of = |rows: &[(&str, &str)]| -> Table {
        let rows = rows.iter().map(|(name, said)| ((*name).to_owned(), (*said).to_owned())).collect();
        BTreeMap::from([("options".to_owned(), rows)])
    };
    let offered = of(&[("a", ""), ("b", "")]);
    let checks: &[(&str, &[&str])] = &[("area", &["check"])];
    let good = of(&[("a", "area / check"), ("b", "not: for a reason")]);
    assert_eq!(gaps(&good, &offered, checks, "python"), Vec::<String>::new());
    for (table, part) in [
        (of(&[("a", "area / check")]), "not in the table"),
        (of(&[("a", "area / check"), ("b", "not: so"), ("c", "not: so")]), "not in the SDK"),
        (of(&[("a", "area / other"), ("b", "not: so")]), "no such check"),
        (of(&[("a", "other / check"), ("b", "not: so")]), "no such check"),
        (of(&[("a", "later: queries / a check that nobody wrote"), ("b", "not: so")]), "no such check"),
    ] {
        let found = gaps(&table, &offered, checks, "python");
        assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
    }
}

#[test]
#[allow(clippy::disallowed_methods)] // Tests start programs of others.
fn everything_that_the_sdk_for_python_offers_is_spoken_of() {
    let Some(packages) = installed("POSSE_TEST_PYTHON") else { return };
    let mut command = Command::new("python3");
    command.arg(format!("{PROGRAMS}/python/names.py"));
    command.env_clear().env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    assert_eq!(gaps(&table("python"), &offered(command), PYTHON, "python"), Vec::<String>::new());
}

#[test]
#[allow(clippy::disallowed_methods)] // As above.
fn everything_that_the_sdk_for_typescript_offers_is_spoken_of() {
    let Some(packages) = installed("POSSE_TEST_SDK") else { return };
    let mut command = Command::new("node");
    command.arg(format!("{PROGRAMS}/ts/names.mjs"));
    command.env_clear().env("POSSE_TEST_SDK", packages);
    assert_eq!(gaps(&table("ts"), &offered(command), TYPESCRIPT, "ts"), Vec::<String>::new());
}
