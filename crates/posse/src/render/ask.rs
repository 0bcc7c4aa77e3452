//! Questions to a person as text, and what a typed answer means. Knows nothing of where the answer is typed.
//!
//! Whoever says yes must have seen what it is they allow: nothing is left out, and characters that could make a text
//! look like another are spelt out.

use std::path::Path;
use std::time::Duration;

use posse_runtime::ask::{PermissionAnswer, PermissionAsk, Question, Suggestion};
use serde_json::{Value, json};

use super::style::Style;

/// What a line means as an answer to "may it?".
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// This is the answer.
    Answer(PermissionAnswer),
    /// No, and whether there is a reason is worth asking.
    No,
    /// It could mean anything.
    Unclear,
}

/// After this a coarser difference has to do.
const PATIENCE: Duration = Duration::from_millis(500);
/// What the model is told of a no without a reason.
pub const REFUSED: &str =
    "The user refused this call and gave no reason. Do not try to get it done another way.";
/// What the model is told of a no to a plan without a word about what to change.
pub const NOT_YET: &str = "they want to keep planning";

/// What is asked for permission. `old` is what the file holds that would be written.
pub fn permission(ask: &PermissionAsk, old: Option<&str>, style: Style) -> String {
    let mut text = format!("\n{} {}\n", style.hint("?"), style.bold(&visible(&ask.title)));
    if let Some(agent) = &ask.agent {
        text.push_str(&format!("  {}\n", style.dim(&format!("asked by the agent {}", visible(agent)))));
    }
    text.push_str(&details(ask, old, style));
    if let Some(reason) = &ask.reason {
        text.push_str(&format!("  {}\n", style.dim(&format!("asked because {}", visible(reason)))));
    }
    text.push_str(&choices(&ask.suggestions));
    text
}

/// What would be done.
fn details(ask: &PermissionAsk, old: Option<&str>, style: Style) -> String {
    let field = |name: &str| ask.input[name].as_str();
    let file = || {
        let file = field("file_path").or_else(|| field("notebook_path")).unwrap_or_default();
        format!("  {}\n", visible(file))
    };
    match &*ask.tool {
        "Bash" => match field("command") {
            Some(command) => {
                let about = field("description").map(|about| format!("  {}\n", style.dim(&visible(about))));
                format!("{}{}", about.unwrap_or_default(), indented(command, "  $ "))
            }
            None => other(&ask.input),
        },
        "Edit" => {
            let every = if ask.input["replace_all"] == true { "  at every place\n" } else { "" };
            let (old, new) =
                (field("old_string").unwrap_or_default(), field("new_string").unwrap_or_default());
            format!("{}{every}{}", file(), diff(old, new, style))
        }
        "Write" => {
            let new = field("content").unwrap_or_default();
            let what = if old.is_some() { "" } else { "  a new file\n" };
            format!("{}{what}{}", file(), diff(old.unwrap_or_default(), new, style))
        }
        "NotebookEdit" => {
            let cell = field("cell_id").map(|cell| format!("  cell {}\n", visible(cell)));
            let how = field("edit_mode").map(|how| format!("  {}\n", visible(how)));
            let new = diff("", field("new_source").unwrap_or_default(), style);
            format!("{}{}{}{new}", file(), cell.unwrap_or_default(), how.unwrap_or_default())
        }
        _ => other(&ask.input),
    }
}

fn other(input: &Value) -> String {
    let empty = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
    if empty { String::new() } else { indented(&format!("{input:#}"), "  ") }
}

/// Lines behind `first`, those after the first one as far in.
fn indented(text: &str, first: &str) -> String {
    let rest = " ".repeat(first.len());
    let lines = text.trim_end().lines().enumerate();
    lines.map(|(n, line)| format!("{}{}\n", if n == 0 { first } else { &rest }, visible(line))).collect()
}

/// What changes between two texts, with the lines around it.
fn diff(old: &str, new: &str, style: Style) -> String {
    let diff = similar::TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut text = String::new();
    for (place, group) in diff.grouped_ops(3).iter().enumerate() {
        if place > 0 {
            text.push_str(&format!("  {}\n", style.dim("…")));
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let line = visible(change.value().trim_end_matches(['\n', '\r']));
            let line = match change.tag() {
                similar::ChangeTag::Equal => style.dim(&format!("  {line}")),
                similar::ChangeTag::Delete => style.error(&format!("- {line}")),
                similar::ChangeTag::Insert => style.good(&format!("+ {line}")),
            };
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

/// What can be typed.
fn choices(suggestions: &[Suggestion]) -> String {
    let mut text = String::from("  y   yes, this once\n");
    for (number, suggestion) in suggestions.iter().enumerate() {
        let mark = mark(number, suggestions.len());
        let what = rule(suggestion);
        text.push_str(&format!("  {:3} yes, and always in this session: {what}\n", format!("a{mark}")));
        if can_be_saved(suggestion) {
            text.push_str(&format!(
                "  {:3} yes, and always in this project (.claude/settings.local.json): {what}\n",
                format!("p{mark}")
            ));
        }
    }
    text.push_str("  n   no (Enter alone is no; what follows the n is told to the agent)\n");
    text
}

/// The number behind a letter; one alone needs none.
fn mark(number: usize, of: usize) -> String {
    if of > 1 { (number + 1).to_string() } else { String::new() }
}

/// A rule is worth saving; a mode is for now.
fn can_be_saved(suggestion: &Suggestion) -> bool {
    matches!(suggestion.update["type"].as_str(), Some("addRules" | "addDirectories"))
}

/// What would be allowed, exactly; the label only where the change does not say it.
fn rule(suggestion: &Suggestion) -> String {
    let update = &suggestion.update;
    let text = |value: &Value| value.as_str().map(visible);
    let rule = |rule: &Value| {
        let tool = text(&rule["toolName"])?;
        Some(match text(&rule["ruleContent"]) {
            Some(content) => format!("{tool}({content})"),
            None => tool,
        })
    };
    let list = |field: &str| update[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let exact: Vec<String> = match update["type"].as_str() {
        Some("addRules") => list("rules").iter().filter_map(rule).collect(),
        Some("addDirectories") => list("directories").iter().filter_map(text).collect(),
        Some("setMode") => text(&update["mode"]).map(|mode| format!("mode {mode}")).into_iter().collect(),
        Some(_) | None => Vec::new(),
    };
    if exact.is_empty() { visible(&suggestion.label) } else { exact.join(", ") }
}

/// What a line means as an answer to a [`permission`].
pub fn permission_reply(line: &str, suggestions: &[Suggestion]) -> Reply {
    let line = line.trim();
    // Escape arrives as a character on a line of its own.
    let line = line.strip_prefix('\u{1b}').map_or(line, |_| "");
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.to_ascii_lowercase();
    match word.as_str() {
        "" => return Reply::Answer(deny(REFUSED)),
        "y" | "yes" if rest.is_empty() => return Reply::Answer(PermissionAnswer::yes()),
        "n" | "no" if rest.trim().is_empty() => return Reply::No,
        "n" | "no" => return Reply::Answer(refusal(rest)),
        _ => {}
    }
    for (number, suggestion) in suggestions.iter().enumerate() {
        let mark = mark(number, suggestions.len());
        let destination = if word == format!("a{mark}") {
            "session"
        } else if word == format!("p{mark}") && can_be_saved(suggestion) {
            "localSettings"
        } else {
            continue;
        };
        if rest.is_empty() {
            let mut update = suggestion.update.clone();
            update["destination"] = json!(destination);
            return Reply::Answer(PermissionAnswer::Allow { updated_input: None, updates: vec![update] });
        }
    }
    Reply::Unclear
}

/// A no with a reason, or with none.
pub fn refusal(reason: &str) -> PermissionAnswer {
    match reason.trim() {
        "" => deny(REFUSED),
        reason => deny(&format!("The user refused this call: {reason}")),
    }
}

fn deny(message: &str) -> PermissionAnswer {
    PermissionAnswer::Deny { message: message.to_owned(), interrupt: false }
}

/// A plan that waits for a yes.
pub fn plan(ask: &PermissionAsk, style: Style) -> String {
    let mut text = format!("\n{} {}\n\n", style.hint("?"), style.bold(&visible(&ask.title)));
    match ask.input["plan"].as_str() {
        Some(plan) => text.push_str(&indented(plan, "  ")),
        None => text.push_str(&format!("  {}\n", style.dim("(the plan is what the agent said above)"))),
    }
    let needs = ask.input["allowedPrompts"].as_array().map(Vec::as_slice).unwrap_or_default();
    for need in needs {
        let need = (need["tool"].as_str().unwrap_or_default(), need["prompt"].as_str().unwrap_or_default());
        text.push_str(&format!("  {}\n", style.dim(&visible(&format!("will need {}: {}", need.0, need.1)))));
    }
    text.push_str("\n  y   yes, carry it out\n");
    for suggestion in ask.suggestions.iter().take(1) {
        text.push_str(&format!("  e   yes, {}\n", visible(&suggestion.label)));
    }
    text.push_str("  n   no, keep planning (what follows the n is told to the agent)\n");
    text
}

/// What a line means as an answer to a [`plan`]. Whatever is not a yes is what to change.
pub fn plan_reply(line: &str, suggestions: &[Suggestion]) -> Reply {
    let line = line.trim();
    let line = line.strip_prefix('\u{1b}').map_or(line, |_| "");
    match (line.to_ascii_lowercase().as_str(), suggestions.first()) {
        ("", _) => Reply::Answer(deny(NOT_YET)),
        ("y" | "yes", _) => Reply::Answer(PermissionAnswer::yes()),
        ("e", Some(suggestion)) => Reply::Answer(PermissionAnswer::Allow {
            updated_input: None,
            updates: vec![suggestion.update.clone()],
        }),
        ("n" | "no", _) => Reply::No,
        _ => {
            let words = line.split_once(char::is_whitespace);
            let told = words.filter(|(no, _)| no.eq_ignore_ascii_case("n") || no.eq_ignore_ascii_case("no"));
            Reply::Answer(deny(told.map_or(line, |(_, rest)| rest.trim())))
        }
    }
}

/// Feedback on a plan, or none.
pub fn plan_refusal(feedback: &str) -> PermissionAnswer {
    match feedback.trim() {
        "" => deny(NOT_YET),
        feedback => deny(feedback),
    }
}

/// A question with its options.
pub fn question(question: &Question, style: Style) -> String {
    let Question { question, header, options, multi_select } = question;
    let header = if header.is_empty() { String::new() } else { format!("{} ", style.dim(&visible(header))) };
    let mut text = format!("\n{} {header}{}\n", style.hint("?"), style.bold(&visible(question)));
    for (number, option) in options.iter().enumerate() {
        let label = visible(&option.label);
        let about = if option.description.is_empty() { "" } else { " — " };
        let about = style.dim(&format!("{about}{}", visible(&option.description)));
        text.push_str(&format!("  {}   {label}{about}\n", number + 1));
    }
    let how = if *multi_select { "numbers, such as 1,2" } else { "a number" };
    text.push_str(&format!(
        "  {}\n",
        style.dim(&format!("{how}, or an answer of your own; Enter alone for none"))
    ));
    text
}

/// What a line means as an answer to a [`question`]: an answer, none, or why it can be neither.
pub fn question_reply(line: &str, question: &Question) -> Result<Option<String>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('\u{1b}') {
        return Ok(None);
    }
    let words = || line.split([',', ' ', ';']).filter(|word| !word.is_empty());
    let numbers: Option<Vec<usize>> = words().map(|word| word.parse().ok()).collect();
    let Some(mut numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
        let label = question.options.iter().map(|option| &option.label);
        let known = label.into_iter().find(|label| label.eq_ignore_ascii_case(line));
        return Ok(Some(known.map_or(line, String::as_str).to_owned()));
    };
    numbers.dedup();
    if numbers.len() > 1 && !question.multi_select {
        return Err("Only one can be chosen.".to_owned());
    }
    let label = |number: &usize| {
        let option = number.checked_sub(1).and_then(|place| question.options.get(place));
        option
            .map(|option| option.label.clone())
            .ok_or_else(|| format!("There is no {number}; there are 1 to {}.", question.options.len()))
    };
    let labels = numbers.iter().map(label).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(labels.join(", ")))
}

/// Whether a folder is trusted.
pub fn trust(folder: &Path, wishes: &[String], style: Style) -> String {
    let mut text = format!(
        "\n{} {}\n  {}\n",
        style.hint("?"),
        style.bold("posse has not worked in this folder before:"),
        visible(&folder.display().to_string())
    );
    text.push_str(
        "  Its files can tell the agent what to do, and its settings can run commands on this machine.\n  \
         Go on only if you trust whoever wrote them.\n",
    );
    for wish in wishes {
        text.push_str(&format!("  - {}\n", visible(wish)));
    }
    text
}

/// One line in which every character can be seen: control characters, and those that hide or turn others around, are
/// spelt out.
fn visible(text: &str) -> String {
    let hides = |c: char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            || ('\u{e0000}'..='\u{e007f}').contains(&c)
    };
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            c if c.is_control() || hides(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
