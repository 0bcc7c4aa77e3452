//! The `tools` and `disallowedTools` of an agent: entries as written, each understood.

use super::{AgentDefinition, FieldId, Places};
use crate::diagnostic::{Fix, Problem, Rule};
use crate::node::{Node, Value};
use crate::text::Span;
use crate::tools::{self, NotATool, ToolPattern};

/// One entry as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolEntry {
    /// The entry.
    pub text: Box<str>,
    /// What it means.
    pub pattern: ToolPattern,
    /// Where it stands; entries of a quoted text share the text's span.
    pub span: Span,
}

/// A list of entries; empty means none.
pub type ToolList = Vec<ToolEntry>;

/// Reads a list: text is split at commas and blanks, list items are split again, what is not text is dropped.
pub(super) fn read(node: &Node, source: &str, problems: &mut Vec<Problem>) -> ToolList {
    let mut entries = Vec::new();
    match &node.value {
        Value::Text(text) => split(node, text, source, &mut entries),
        Value::List(items) => {
            for item in items {
                match item.as_text() {
                    Some(text) => split(item, text, source, &mut entries),
                    None => problems.push(
                        Problem::at(
                            Rule::InvalidToolPattern,
                            item.span,
                            format!("a tool is text; this is {}", item.kind()),
                        )
                        .hint("the entry is ignored"),
                    ),
                }
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::Map(_) => problems.push(
            Problem::at(
                Rule::InvalidValue,
                node.span,
                format!("tools are a list or text; {} gives no tools", node.kind()),
            )
            .hint("write `tools: Read, Grep`, or leave the field out for all tools"),
        ),
    }
    entries
}

fn split(node: &Node, text: &str, source: &str, entries: &mut ToolList) {
    let start = node.span.start as usize;
    // Escapes and quotes shift positions; an unquoted text stands in the source letter for letter.
    let verbatim = source.get(start..start + text.len()) == Some(text);
    let in_quotes = source.get(start + 1..start + 1 + text.len()) == Some(text);
    let base = if verbatim { Some(start) } else { in_quotes.then_some(start + 1) };
    for (offset, entry) in tools::split_entries(text) {
        let span = base.map_or(node.span, |base| Span::new(base + offset, base + offset + entry.len()));
        entries.push(ToolEntry { text: entry.into(), pattern: ToolPattern::parse(entry), span });
    }
}

/// Reports entries that do nothing, or not what they seem to.
pub(super) fn check(entries: &ToolList, field: FieldId, problems: &mut Vec<Problem>) {
    for entry in entries {
        if ToolPattern::is_unbalanced(&entry.text) {
            problems.push(
                Problem::at(
                    Rule::InvalidToolPattern,
                    entry.span,
                    format!("unbalanced parentheses in `{}`", entry.text),
                )
                .hint("write `Tool(scope)`; inside the parentheses commas and blanks belong to the scope"),
            );
            continue;
        }
        match &entry.pattern {
            ToolPattern::All if field == FieldId::DisallowedTools => problems.push(
                Problem::at(Rule::UselessEntry, entry.span, "`*` here takes nothing away")
                    .hint("to give no tools at all write `tools: []`"),
            ),
            ToolPattern::All | ToolPattern::Mcp(_) => {}
            ToolPattern::Tool { name, scope } => {
                if tools::find(name).is_none() {
                    problems.push(unknown(entry, name));
                } else if scope.is_some() && field == FieldId::DisallowedTools {
                    problems.push(
                        Problem::at(
                            Rule::UselessEntry,
                            entry.span,
                            format!("this takes {name} away altogether, not only `{}`", entry.text),
                        )
                        .hint("to refuse some uses of a tool, add a rule to `permissions.deny` in settings"),
                    );
                }
            }
        }
    }
}

fn unknown(entry: &ToolEntry, name: &str) -> Problem {
    let at = |rule, text: String| Problem::at(rule, entry.span, text);
    let fix = |to: &str| {
        let replacement = entry.text.replacen(name, to, 1);
        Fix::likely(format!("replace it by `{replacement}`"), entry.span, replacement)
    };
    let nothing = format!("no tool is called `{name}`; the entry matches nothing");
    match tools::why_not_a_tool(name) {
        NotATool::Retired(instead) => {
            at(Rule::RetiredTool, format!("`{name}` no longer exists; the entry matches nothing"))
                .hint(instead)
        }
        NotATool::Case(right) => {
            at(Rule::UnknownTool, format!("`{name}` matches nothing: names of tools are case-sensitive"))
                .hint(format!("write `{right}`"))
                .fix(fix(right))
        }
        NotATool::Foreign(ours) => {
            at(Rule::UnknownTool, nothing).hint(format!("here that is `{ours}`")).fix(fix(ours))
        }
        NotATool::Elsewhere => {
            at(Rule::UnknownTool, format!("posse has no `{name}`; the entry matches nothing"))
        }
        NotATool::Misspelt(close) => {
            at(Rule::UnknownTool, nothing).hint(format!("did you mean `{close}`?")).fix(fix(close))
        }
        NotATool::Unknown => at(Rule::UnknownTool, nothing).hint(
            "tools of MCP servers are written `mcp__server__tool`, `mcp__server` for all of a server's",
        ),
    }
}

/// What memory adds to an explicit list, in the order the reference appends them.
pub const MEMORY_TOOLS: [&str; 3] = ["Write", "Edit", "Read"];

pub(super) fn listed(definition: &AgentDefinition) -> String {
    let denied = &definition.disallowed_tools;
    let join = |entries: Vec<&str>| entries.join(", ");
    match &definition.tools {
        Some(entries) if !entries.iter().any(|entry| entry.pattern == ToolPattern::All) => {
            let mut shown: Vec<&str> = entries.iter().map(|entry| &*entry.text).collect();
            if definition.memory.is_some() && !shown.is_empty() {
                shown.extend(
                    MEMORY_TOOLS.iter().filter(|tool| !entries.iter().any(|entry| &*entry.text == **tool)),
                );
            }
            shown.retain(|entry| !denied.iter().any(|denied| &*denied.text == *entry));
            if shown.is_empty() { "None".into() } else { join(shown) }
        }
        Some(_) | None if denied.is_empty() => "All tools".into(),
        Some(_) | None => {
            format!("All tools except {}", join(denied.iter().map(|entry| &*entry.text).collect()))
        }
    }
}

impl Places {
    /// Where to point when a whole list is at fault.
    pub fn tools(&self) -> Option<Span> {
        self.value(FieldId::Tools)
    }
}
