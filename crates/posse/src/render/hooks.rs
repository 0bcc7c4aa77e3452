//! The table of hook events, for the documentation.

use posse_core::hooks::facts::{FACTS, Handlers, Objection};

/// As a table in Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "| event | matcher is compared with | handlers | exit 2 or `decision: block` | `hookSpecificOutput` |\n|---|---|---|---|---|\n",
    );
    for row in FACTS {
        let outputs: Vec<String> = row.outputs.iter().map(|name| format!("`{name}`")).collect();
        let handlers = match row.handlers {
            Handlers::All => "all".to_owned(),
            Handlers::WithoutModel | Handlers::Local => row.handlers.names().join(", "),
        };
        let objection = match row.objection {
            Objection::Ignored => "nothing; answers are ignored",
            Objection::Blocks
            | Objection::AnyFailureBlocks
            | Objection::TellsModel
            | Objection::ShownOnly => row.effect,
        };
        text.push_str(&format!(
            "| `{}` | {} | {handlers} | {objection} | {} |\n",
            row.event.name(),
            row.matched.unwrap_or("—"),
            if outputs.is_empty() { "—".to_owned() } else { outputs.join(", ") },
        ));
    }
    text
}
