//! Problems as SARIF 2.1.0, which code hosts and editors read.

use std::path::Path;

use posse_core::diagnostic::{Diagnostic, Rule, Severity};
use serde_json::{Value, json};

use super::relative;

/// The whole log.
pub fn log(found: &[Diagnostic], cwd: &Path) -> Value {
    let rules = Rule::ALL.iter().map(|rule| {
        let info = rule.info();
        json!({
            "id": info.id,
            "shortDescription": { "text": info.summary },
            "defaultConfiguration": { "level": info.severity.word() },
        })
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "posse",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": found.iter().map(|one| result(one, cwd)).collect::<Vec<_>>(),
        }],
    })
}

fn result(one: &Diagnostic, cwd: &Path) -> Value {
    let level = match one.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let text = match &one.hint {
        Some(hint) => format!("{} ({hint})", one.text),
        None => one.text.clone(),
    };
    let mut place = json!({ "artifactLocation": { "uri": uri(&relative(&one.file, cwd)) } });
    if let Some(at) = one.location {
        place["region"] = json!({
            "startLine": at.line, "startColumn": at.column, "endLine": at.end_line, "endColumn": at.end_column,
        });
    }
    let index = Rule::ALL.iter().position(|rule| *rule == one.rule);
    json!({
        "ruleId": one.rule.info().id,
        "ruleIndex": index,
        "level": level,
        "message": { "text": text },
        "locations": [{ "physicalLocation": place }],
    })
}

/// A path as a URI reference: what is not plain is written as %XX.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    if out.starts_with('/') { format!("file://{out}") } else { out }
}
