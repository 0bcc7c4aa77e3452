//! The rules, each from a crate's texts to a list of findings. A finding names its place and says what to do.

use super::manifest::{self, Kind};
use super::project::Crate;
use super::source::{self, Token};

/// Longer than this, a file has become a place where everything meets.
const MAX_FILE_LINES: usize = 900;
/// Longer than this, nobody holds a function in the head while changing it.
const MAX_FUNCTION_LINES: usize = 120;

/// The crate may use only these packages, whatever else the workspace has.
pub(crate) fn only_these_dependencies(krate: &Crate, allowed: &[&str]) -> Vec<String> {
    let shipped = manifest::dependencies(&krate.manifest).into_iter().filter(|(kind, _)| *kind != Kind::Dev);
    shipped
        .filter(|(_, name)| !allowed.contains(&name.as_str()))
        .map(|(_, name)| {
            format!("{}/Cargo.toml: {name} is not on the list of what this crate may use", krate.folder)
        })
        .collect()
}

/// The crate must not depend on a package of this family (`clap` stands for `clap_complete`, too), not even in tests.
pub(crate) fn no_dependency_on(krate: &Crate, family: &str) -> Vec<String> {
    let belongs = |name: &str| {
        name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-']))
    };
    manifest::dependencies(&krate.manifest)
        .into_iter()
        .filter(|(_, name)| belongs(name))
        .map(|(_, name)| format!("{}/Cargo.toml: {name} belongs into crates/posse alone", krate.folder))
        .collect()
}

/// The product code must not name these parts of the standard library, nor these types from anywhere.
pub(crate) fn no_ambient_authority(krate: &Crate, std_modules: &[&str], types: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in krate.product_files() {
        let tokens = file.tokens();
        let mut finding =
            |line: usize, what: &str| findings.push(format!("{}:{line}: names {what}", file.place));
        for path in source::paths(&tokens) {
            if let [first, module, ..] = path.segments.as_slice()
                && first == "std"
                && (std_modules.contains(&module.as_str()) || module == "*")
            {
                finding(path.line, &format!("std::{module}"));
            }
        }
        for token in tokens.iter().filter(|token| types.contains(&token.text)) {
            finding(token.line, token.text);
        }
    }
    findings
}

/// Every file says first what it knows and what it refuses to know. Tests explain themselves by their names.
pub(crate) fn module_docs(krate: &Crate) -> Vec<String> {
    let sources =
        krate.files.iter().filter(|file| file.path.starts_with("src/") && !file.path.ends_with("/tests.rs"));
    sources
        .filter(|file| !file.text.trim_start_matches('\u{feff}').trim_start().starts_with("//!"))
        .map(|file| {
            format!("{}/{}: starts without a `//!` that says what it is for", krate.folder, file.path)
        })
        .collect()
}

/// One house style for modules with children.
pub(crate) fn no_mod_rs(krate: &Crate) -> Vec<String> {
    let named = krate.files.iter().filter(|file| file.path.ends_with("/mod.rs"));
    named.map(|file| format!("{}/{}: write x.rs beside x/, not x/mod.rs", krate.folder, file.path)).collect()
}

/// No file and no function too long to be read in one sitting. Test files may be as long as their tables.
pub(crate) fn sizes(krate: &Crate) -> Vec<String> {
    let mut findings = Vec::new();
    for file in krate.product_files() {
        let lines = file.text.lines().count();
        if lines > MAX_FILE_LINES {
            findings.push(format!("{}: {lines} lines, more than {MAX_FILE_LINES}", file.place));
        }
        for function in functions(&file.tokens()) {
            let Function { name, line, lines } = function;
            if lines > MAX_FUNCTION_LINES {
                findings.push(format!(
                    "{}:{line}: fn {name} has {lines} lines, more than {MAX_FUNCTION_LINES}",
                    file.place
                ));
            }
        }
    }
    findings
}

struct Function<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
}

fn functions<'a>(tokens: &[Token<'a>]) -> Vec<Function<'a>> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        // `fn(u8)` is a type, and `r#fn` a name.
        if pair[0].text != "fn" || !pair[1].is_word() {
            continue;
        }
        let mut body = at + 2;
        while body < tokens.len() && !matches!(tokens[body].text, "{" | ";") {
            body = if matches!(tokens[body].text, "(" | "[") {
                source::closing(tokens, body) + 1
            } else {
                body + 1
            };
        }
        if tokens.get(body).is_some_and(|token| token.text == "{") {
            let end = source::closing(tokens, body).min(tokens.len() - 1);
            let (name, line) = (pair[1].text, pair[0].line);
            found.push(Function { name, line, lines: tokens[end].line - line + 1 });
        }
    }
    found
}

#[cfg(test)]
mod tests;
