//! Problems for people: the line, a mark under it, what to do.

use std::path::Path;

use posse_core::diagnostic::{Diagnostic, Safety, Severity};
use posse_core::origin::{Origin, Source};
use posse_runtime::catalog::Catalog;
use unicode_width::UnicodeWidthStr;

use super::style::{Style, plain};

/// A line is shown around its mark, never whole if it is long.
const WIDEST: usize = 100;

/// One problem.
pub fn one(diagnostic: &Diagnostic, style: Style, path: impl Fn(&Path) -> String) -> String {
    let severity = diagnostic.severity;
    let head = format!("{}[{}]", severity.word(), diagnostic.rule.info().id);
    let mut text = format!("{}: {}\n", style.severity(severity, &head), plain(&diagnostic.text));
    let file = path(&diagnostic.file);
    match diagnostic.location {
        Some(at) => text.push_str(&format!("  {} {file}:{}:{}\n", style.dim("-->"), at.line, at.column)),
        None => text.push_str(&format!("  {} {file}\n", style.dim("-->"))),
    }
    let mut hint = diagnostic.hint.as_deref().map(plain);
    if let (Some(at), Some(excerpt)) = (diagnostic.location, &diagnostic.excerpt) {
        let number = at.line.to_string();
        let gutter = " ".repeat(number.len());
        let (line, lead, length) = window(excerpt, at.column as usize, mark_length(at));
        let bar = style.dim("|");
        let mark = style.severity(severity, &"^".repeat(length));
        let beside =
            hint.take_if(|hint| hint.len() < 70).map(|hint| format!(" {}", style.severity(severity, &hint)));
        text.push_str(&format!("{gutter} {bar}\n{} {bar} {line}\n", style.dim(&number)));
        text.push_str(&format!("{gutter} {bar} {}{mark}{}\n", " ".repeat(lead), beside.unwrap_or_default()));
    }
    if let Some(hint) = hint {
        text.push_str(&format!("  {} {hint}\n", style.dim("=")));
    }
    if let Some(fix) = &diagnostic.fix {
        let flag = match fix.safety {
            Safety::Safe => "--fix",
            Safety::Unsafe => "--fix --unsafe-fixes",
        };
        text.push_str(&format!("  {} {} {} ({flag})\n", style.dim("="), style.hint("fix:"), fix.title));
    }
    text
}

fn mark_length(at: posse_core::text::Location) -> usize {
    if at.end_line > at.line { usize::MAX } else { (at.end_column.saturating_sub(at.column)).max(1) as usize }
}

/// The part of a line to show, the width before the mark, and the mark's width.
fn window(excerpt: &str, column: usize, length: usize) -> (String, usize, usize) {
    // A tab would make the mark stand anywhere.
    let characters: Vec<char> = plain(excerpt).chars().collect();
    let start = (column - 1).min(characters.len());
    let end = start.saturating_add(length).min(characters.len()).max(start);
    let from = if end <= WIDEST { 0 } else { start.saturating_sub(WIDEST / 3) };
    let to = (from + WIDEST).min(characters.len());
    let shown = |range: std::ops::Range<usize>| characters[range].iter().collect::<String>();
    let (prefix, suffix) = (if from > 0 { "…" } else { "" }, if to < characters.len() { "…" } else { "" });
    let lead = prefix.width() + shown(from..start.min(to)).width();
    let mark = shown(start.min(to)..end.min(to)).width().max(1);
    (format!("{prefix}{}{suffix}", shown(from..to)), lead, mark)
}

/// How many of what, and what can be done about it.
pub fn summary(found: &[Diagnostic], catalog: &Catalog, style: Style) -> String {
    let registry = &catalog.registry;
    let own = |source: &Source| source.origin != Origin::BuiltIn;
    let agents = registry.active.iter().filter(|agent| own(&agent.source)).count()
        + registry.shadowed.iter().filter(|shadowed| own(&shadowed.definition.source)).count();
    let looked = format!("{} looked at", count(agents + registry.failed.len(), "agent"));
    if found.is_empty() {
        return format!("{} no problems, {looked}\n", style.good("✓"));
    }
    let of = |severity: Severity| found.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter(|severity| of(*severity) > 0)
        .map(|severity| style.severity(severity, &count(of(severity), severity.word())))
        .collect();
    let fixable = |safety: Safety| {
        found
            .iter()
            .filter(|diagnostic| diagnostic.fix.as_ref().is_some_and(|fix| fix.safety == safety))
            .count()
    };
    let mut text = format!("{}, {looked}", parts.join(", "));
    match (fixable(Safety::Safe), fixable(Safety::Unsafe)) {
        (0, 0) => {}
        (safe, 0) => text.push_str(&format!("; --fix mends {safe}")),
        (0, likely) => text.push_str(&format!("; --fix --unsafe-fixes mends {likely}")),
        (safe, likely) => text.push_str(&format!("; --fix mends {safe}, --unsafe-fixes {likely} more")),
    }
    text.push('\n');
    text
}

/// "1 agent", "2 agents".
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
