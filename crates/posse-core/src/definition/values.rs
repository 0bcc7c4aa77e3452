//! Readers for single fields. Each takes a node and returns a value; what it does not take becomes a problem, and the
//! field is left out: no field but name and description can cost the file.

use std::num::NonZeroU32;

use super::{Color, Effort, EffortLevel, FieldId, Isolation, MemoryScope, fields};
use crate::budget::{self, Limits, Which};
use crate::diagnostic::{Fix, Problem, Rule};
use crate::model::{self, ModelChoice, Oddity};
use crate::node::{Entry, Node, Value};
use crate::permission::Mode;
use crate::suggest;
use crate::tools;

type Problems = Vec<Problem>;

fn invalid(id: FieldId, node: &Node, got: &str) -> Problem {
    let field = fields::row(id);
    Problem::at(Rule::InvalidValue, node.span, format!("`{}` does not take {got}; it is ignored", field.name))
        .hint(format!("it takes {}", field.takes))
}

fn shown(node: &Node) -> String {
    node.scalar_text().map_or_else(|| node.kind().to_owned(), |text| format!("`{text}`"))
}

/// One of a closed set of words.
fn choice<T: Copy>(
    id: FieldId,
    node: &Node,
    all: impl IntoIterator<Item = (&'static str, T)> + Clone,
    problems: &mut Problems,
) -> Option<T> {
    if matches!(node.value, Value::Null) {
        return None;
    }
    let word = node.as_text().unwrap_or_default();
    if let Some((_, value)) = all.clone().into_iter().find(|(name, _)| *name == word) {
        return Some(value);
    }
    let problem = invalid(id, node, &shown(node));
    let close = suggest::closest(word, all.into_iter().map(|(name, _)| name));
    problems.push(match close {
        Some(close) => {
            let fix = Fix::likely(format!("replace it by `{close}`"), node.span, close);
            problem.hint(format!("did you mean `{close}`?")).fix(fix)
        }
        None => problem,
    });
    None
}

pub(super) fn memory(node: &Node, problems: &mut Problems) -> Option<MemoryScope> {
    choice(FieldId::Memory, node, MemoryScope::ALL.map(|scope| (scope.name(), scope)), problems)
}

pub(super) fn isolation(node: &Node, problems: &mut Problems) -> Option<Isolation> {
    choice(FieldId::Isolation, node, Isolation::ALL.map(|kind| (kind.name(), kind)), problems)
}

pub(super) fn mode(node: &Node, problems: &mut Problems) -> Option<Mode> {
    let all = Mode::ALL.into_iter().map(|mode| (mode.name(), mode)).chain([("manual", Mode::Default)]);
    choice(FieldId::PermissionMode, node, all, problems)
}

/// Never a reason to refuse: colours come in every spelling.
pub(super) fn color(node: &Node, problems: &mut Problems) -> Option<Color> {
    let word = node.scalar_text().unwrap_or_default();
    if matches!(node.value, Value::Null) || word.eq_ignore_ascii_case("automatic") {
        return None;
    }
    let exact = Color::ALL.into_iter().find(|color| color.name() == word);
    if exact.is_some() {
        return exact;
    }
    let names = || Color::ALL.into_iter().map(Color::name);
    let near =
        names().find(|name| name.eq_ignore_ascii_case(word)).or_else(|| suggest::closest(word, names()));
    let list = names().collect::<Vec<_>>().join(", ");
    let text = format!("{} is not one of the eight colours; the next free one is used", shown(node));
    let problem = Problem::at(Rule::BadColor, node.span, text).hint(format!("one of {list}"));
    problems.push(match near {
        Some(near) => problem.fix(Fix::likely(format!("replace it by `{near}`"), node.span, near)),
        None => problem,
    });
    None
}

pub(crate) fn model(node: &Node, problems: &mut Problems) -> ModelChoice {
    let Some(name) = node.as_text() else {
        if !matches!(node.value, Value::Null) {
            problems.push(invalid(FieldId::Model, node, node.kind()));
        }
        return ModelChoice::Inherit;
    };
    let choice = ModelChoice::parse(name);
    if let Some(oddity) = choice.name().and_then(model::oddity) {
        problems.push(odd_model(node, name.trim(), oddity));
    }
    choice
}

fn odd_model(node: &Node, name: &str, oddity: Oddity) -> Problem {
    let bad = |text: String| Problem::at(Rule::BadModel, node.span, text);
    match oddity {
        Oddity::Impossible(hint) => {
            let problem = bad(format!("`{name}` cannot be a model's id; the endpoint will refuse it"));
            match hint {
                Some(alias) => problem.hint(format!("write `{alias}` or a full id")).fix(Fix::likely(
                    format!("replace it by `{alias}`"),
                    node.span,
                    alias,
                )),
                None => problem.hint("write an alias such as `sonnet`, a full id, or `inherit`"),
            }
        }
        Oddity::NoSuchAlias(hint) => {
            let problem = bad(format!(
                "`{name}` is neither an alias nor a model id; the endpoint will probably refuse it"
            ));
            match hint {
                Some(alias) => problem.hint(format!("did you mean `{alias}`?")).fix(Fix::likely(
                    format!("replace it by `{alias}`"),
                    node.span,
                    alias,
                )),
                None => problem.hint("aliases are sonnet, opus, haiku, fable and inherit"),
            }
        }
        Oddity::Foreign => {
            bad(format!("`{name}` is not an Anthropic model; it is sent to the endpoint as written"))
                .severity(crate::diagnostic::Severity::Note)
                .hint("fine if the configured endpoint serves it")
        }
    }
}

pub(crate) fn effort(node: &Node, problems: &mut Problems) -> Option<Effort> {
    let word = match &node.value {
        Value::Null => return None,
        Value::Number(number) => match number.parse() {
            Ok(number) => return Some(Effort::Number(number)),
            Err(_) => {
                problems.push(invalid(FieldId::Effort, node, &shown(node)));
                return None;
            }
        },
        Value::Text(text) => text.to_ascii_lowercase(),
        Value::Bool(_) | Value::List(_) | Value::Map(_) => String::new(),
    };
    if word == "normal" {
        problems.push(
            Problem::at(Rule::OldSpelling, node.span, "`normal` is an older word for `medium`")
                .fix(Fix::safe("replace it by `medium`", node.span, "medium")),
        );
        return Some(Effort::Level(EffortLevel::Medium));
    }
    // Levels are taken in any case; `choice` compares letter for letter.
    let lower = Node::text(node.span, word);
    let found = EffortLevel::ALL.into_iter().find(|level| Some(level.name()) == lower.as_text());
    match found {
        Some(level) => Some(Effort::Level(level)),
        None => choice(FieldId::Effort, node, EffortLevel::ALL.map(|level| (level.name(), level)), problems)
            .map(Effort::Level),
    }
}

/// A positive whole number; text is read as far as it is digits (`'3 turns'` is 3).
pub(super) fn max_turns(node: &Node, problems: &mut Problems) -> Option<NonZeroU32> {
    let number = match &node.value {
        Value::Null => return None,
        Value::Number(text) => text.parse().ok(),
        Value::Text(text) => {
            let text = text.trim_start().trim_start_matches('+');
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse().ok()
        }
        Value::Bool(_) | Value::List(_) | Value::Map(_) => None,
    };
    let turns = number.and_then(NonZeroU32::new);
    if turns.is_none() {
        problems.push(invalid(FieldId::MaxTurns, node, &shown(node)));
    }
    turns
}

/// Limits by name. One that cannot be read is left out, the others count.
pub(super) fn budget(node: &Node, problems: &mut Problems) -> Limits {
    let mut limits = Limits::default();
    let entries = match &node.value {
        Value::Null => return limits,
        Value::Map(entries) => entries,
        Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
            problems.push(invalid(FieldId::Budget, node, &shown(node)));
            return limits;
        }
    };
    for entry in entries {
        let Some(which) = Which::ALL.into_iter().find(|which| which.name() == &*entry.key) else {
            problems.push(no_such_limit(entry));
            continue;
        };
        let text = entry.node.scalar_text();
        let read = match which {
            Which::Tokens => set(&mut limits.tokens, text.and_then(|text| text.parse().ok())),
            Which::Dollars => set(&mut limits.microdollars, text.and_then(budget::parse_dollars)),
            Which::Seconds => set(&mut limits.seconds, text.and_then(|text| text.parse().ok())),
            Which::Descendants => set(&mut limits.descendants, text.and_then(|text| text.parse().ok())),
        };
        if !read && !matches!(entry.node.value, Value::Null) {
            let takes = match which {
                Which::Dollars => "an amount of dollars such as 0.50",
                Which::Tokens | Which::Seconds | Which::Descendants => "a whole number",
            };
            let said =
                format!("`budget.{}` does not take {}; it is ignored", which.name(), shown(&entry.node));
            let problem = Problem::at(Rule::InvalidValue, entry.node.span, said);
            problems.push(problem.hint(format!("it takes {takes}")));
        }
    }
    limits
}

fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    *place = value;
    place.is_some()
}

fn no_such_limit(entry: &Entry) -> Problem {
    let said = format!("`budget` knows no `{}`; it is ignored", entry.key);
    let problem = Problem::at(Rule::InvalidValue, entry.key_span, said);
    match suggest::closest(&entry.key, Which::ALL.into_iter().map(Which::name)) {
        Some(close) => problem.hint(format!("did you mean `{close}`?")).fix(Fix::likely(
            format!("rename it to `{close}`"),
            entry.key_span,
            close,
        )),
        None => problem.hint(format!("it takes {}", fields::row(FieldId::Budget).takes)),
    }
}

pub(super) fn compact_window(node: &Node, problems: &mut Problems) -> Option<u32> {
    let number = node.scalar_text().and_then(|text| text.parse().ok());
    let window = number.filter(|n| (100_000..=1_000_000).contains(n));
    if window.is_none() && !matches!(node.value, Value::Null) {
        problems.push(invalid(FieldId::AutoCompactWindow, node, &shown(node)));
    }
    window
}

pub(super) fn boolean(id: FieldId, node: &Node, problems: &mut Problems) -> Option<bool> {
    match &node.value {
        Value::Null => None,
        Value::Bool(yes) => Some(*yes),
        Value::Text(text) if &**text == "true" => Some(true),
        Value::Text(text) if &**text == "false" => Some(false),
        Value::Text(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => {
            problems.push(invalid(id, node, &shown(node)));
            None
        }
    }
}

pub(super) fn prose(id: FieldId, node: &Node, problems: &mut Problems) -> Option<Box<str>> {
    match &node.value {
        Value::Null => None,
        Value::Text(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => {
            problems.push(invalid(id, node, &shown(node)));
            None
        }
    }
}

/// Names, as a list or as text separated by commas or blanks.
pub(super) fn words(id: FieldId, node: &Node, problems: &mut Problems) -> Vec<Box<str>> {
    let split =
        |text: &str| tools::split_entries(text).into_iter().map(|(_, word)| word.into()).collect::<Vec<_>>();
    match &node.value {
        Value::Null => Vec::new(),
        Value::Text(text) => split(text),
        Value::List(items) => {
            let bad = items.iter().filter(|item| item.as_text().is_none());
            problems.extend(bad.map(|item| invalid(id, item, item.kind())));
            items.iter().filter_map(Node::as_text).flat_map(split).collect()
        }
        Value::Bool(_) | Value::Number(_) | Value::Map(_) => {
            problems.push(invalid(id, node, &shown(node)));
            Vec::new()
        }
    }
}
