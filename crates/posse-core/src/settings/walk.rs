//! One file of settings against the table: which keys stand where they may, with values they take.
//!
//! What comes out of here has the right shape; whoever reads it further has only its meaning left to judge.

use super::keys::{self, KEYS, Key, Setters, Shape};
use super::{Layer, Report};
use crate::diagnostic::{Problem, Rule, Severity};
use crate::node::{Entry, Node, Value};
use crate::suggest;

/// A key and its value, both in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'n> {
    pub(super) key: &'static Key,
    pub(super) node: &'n Node,
}

/// All that a file says and that may count. Groups are walked, not listed.
pub(super) fn walk<'n>(root: &'n Node, layer: Layer, report: &mut Report) -> Vec<Said<'n>> {
    let mut said = Vec::new();
    members(root, "", layer, report, &mut said);
    said
}

fn members<'n>(group: &'n Node, path: &str, layer: Layer, report: &mut Report, said: &mut Vec<Said<'n>>) {
    for entry in group.as_map().unwrap_or_default() {
        let name = if path.is_empty() { entry.key.to_string() } else { format!("{path}.{}", entry.key) };
        let Some(key) = keys::find(&name) else {
            report.problems.extend(unknown(entry, path, &name));
            continue;
        };
        if !may_set(key, entry, layer, report) || !has_shape(key, &entry.node, layer, report) {
            continue;
        }
        match key.shape {
            Shape::Group => members(&entry.node, &name, layer, report, said),
            _ => said.push(Said { key, node: &entry.node }),
        }
    }
}

/// People leave notes in settings, under keys that begin like a comment.
fn is_comment(key: &str) -> bool {
    key.starts_with(['_', '$', '#']) || key.starts_with("//") || key == "comment"
}

fn unknown(entry: &Entry, path: &str, name: &str) -> Option<Problem> {
    if is_comment(&entry.key) {
        return None;
    }
    let text = format!("no setting is called `{name}`; it is ignored");
    let mut problem = Problem::at(Rule::UnknownSetting, entry.key_span, text);
    if !path.is_empty() {
        // Nobody else keeps keys in there: whoever wrote this expects something of it.
        problem = problem.severity(Severity::Warning);
    }
    let beside = |key: &&Key| match key.name.rsplit_once('.') {
        Some((parent, _)) => parent == path,
        None => path.is_empty(),
    };
    let last = |key: &'static Key| key.name.rsplit('.').next().unwrap_or(key.name);
    if let Some(close) = suggest::closest(&entry.key, KEYS.iter().filter(beside).map(last)) {
        // A slip of the fingers costs what its author wanted; a key of another program costs nothing.
        return Some(problem.severity(Severity::Warning).hint(format!("did you mean `{close}`?")));
    }
    let elsewhere = KEYS.iter().find(|key| key.name.contains('.') && last(key) == &*entry.key);
    Some(match elsewhere {
        Some(key) => problem.severity(Severity::Warning).hint(format!("it belongs at `{}`", key.name)),
        None => problem,
    })
}

fn may_set(key: &Key, entry: &Entry, layer: Layer, report: &mut Report) -> bool {
    let from_folder = matches!(layer, Layer::Project | Layer::Local);
    let text = match key.setters {
        Setters::Anyone => return true,
        Setters::Managed if layer == Layer::Managed => return true,
        Setters::NotProject if !from_folder => return true,
        Setters::Managed => format!("`{}` counts only in managed settings; it is ignored here", key.name),
        Setters::NotProject => format!("a project may not set `{}`; it is ignored here", key.name),
    };
    report.problem(Problem::at(Rule::InvalidSetting, entry.key_span, text));
    false
}

fn has_shape(key: &'static Key, node: &Node, layer: Layer, report: &mut Report) -> bool {
    if key.shape.accepts(node) {
        if let (Shape::Texts, Some(items)) = (key.shape, node.as_list()) {
            for item in items.iter().filter(|item| item.as_text().is_none()) {
                let text = format!("`{}` takes texts, not {}", key.name, item.kind());
                lost(key, item, layer, text, report);
            }
        }
        return true;
    }
    let got = match (key.shape, node.as_text()) {
        (Shape::Choice(_) | Shape::Disable, Some(word)) => format!("`{word}`"),
        _ => match &node.value {
            Value::Number(number) => format!("the number {number}"),
            _ => node.kind().to_owned(),
        },
    };
    lost(key, node, layer, format!("`{}` takes {}, not {got}", key.name, key.shape.takes()), report);
    false
}

/// A value that cannot be read is left out; unless it may have been a limit, for no limit is not what it says.
fn lost(key: &'static Key, node: &Node, layer: Layer, text: String, report: &mut Report) {
    let hint = match (key.shape, node.as_text()) {
        (Shape::Choice(words), Some(word)) => suggest::closest(word, words.iter().copied()),
        _ => None,
    };
    let with_hint = |problem: Problem| match hint {
        Some(close) => problem.hint(format!("did you mean `{close}`?")),
        None => problem,
    };
    let nothing = matches!(node.value, Value::Null);
    let limits = matches!(key.name, "permissions" | "permissions.deny" | "budget" | "deniedMcpServers")
        || key.name.starts_with("budget.");
    let may_deny = limits && !nothing;
    if may_deny || (layer == Layer::Managed && key.used) {
        report.refuse(with_hint(Problem::at(Rule::InvalidSetting, node.span, text)));
    } else {
        report.problem(with_hint(Problem::at(
            Rule::InvalidSetting,
            node.span,
            format!("{text}; it is ignored"),
        )));
    }
}
