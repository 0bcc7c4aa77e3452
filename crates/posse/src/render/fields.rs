//! The fields an agent file can have, for people: on the terminal, and as the page in the docs.

use posse_core::definition::FIELDS;

use super::listing::pad;
use super::style::Style;

/// The fields on a terminal.
pub fn text(style: Style, width: usize) -> String {
    let mut text = String::new();
    for field in FIELDS {
        text.push_str(&format!("{}\n", style.bold(field.name)));
        for (label, value) in
            [("", field.does), ("takes", field.takes), ("default", field.default), ("example", field.example)]
        {
            let label = if label.is_empty() { String::new() } else { style.dim(&pad(label, 9)) };
            text.push_str(&wrapped(&label, value, width));
        }
        text.push('\n');
    }
    text
}

fn wrapped(label: &str, value: &str, width: usize) -> String {
    let indent = if label.is_empty() { 2 } else { 11 };
    let mut lines = vec![String::new()];
    for word in value.split(' ') {
        let line = lines.last().map(String::len).unwrap_or_default();
        if line > 0 && indent + line + 1 + word.len() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let first = lines.remove(0);
    let mut text = format!("  {label}{first}\n");
    for line in lines {
        text.push_str(&format!("{}{line}\n", " ".repeat(indent)));
    }
    text
}

/// The table of fields as Markdown, for `docs/agents.md`.
pub fn markdown() -> String {
    let mut text = String::from("| field | takes | default | what it does |\n|---|---|---|---|\n");
    for field in FIELDS {
        let plugin = if field.in_plugins { "" } else { " Ignored in plugins." };
        let cell = |text: &str| text.replace('|', "\\|");
        text.push_str(&format!(
            "| `{}` | {} | {} | {}{plugin} |\n",
            field.name,
            cell(field.takes),
            field.default,
            field.does
        ));
    }
    text
}

/// The table of lint rules as Markdown, for `docs/lint.md`.
pub fn rules_markdown() -> String {
    let mut text = String::from("| rule | usually | what it is about |\n|---|---|---|\n");
    for rule in posse_core::diagnostic::Rule::ALL {
        let info = rule.info();
        text.push_str(&format!("| `{}` | {} | {} |\n", info.id, info.severity.word(), info.summary));
    }
    text
}
