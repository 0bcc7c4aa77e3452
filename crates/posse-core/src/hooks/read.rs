//! From a tree of values to hooks. One bad entry costs itself, never its neighbours.

use std::time::Duration;

use super::{HookEvent, HookGroup, HookHandler, HookKind, Matcher};
use crate::diagnostic::{Problem, Rule};
use crate::node::{Entry, Node, Value};
use crate::suggest;

/// Reads `{Event: [{matcher, hooks: [handler…]}…]}`.
pub fn read(node: &Node, problems: &mut Vec<Problem>) -> Vec<HookGroup> {
    let Some(events) = node.as_map() else {
        if !matches!(node.value, Value::Null) {
            let text = format!("`hooks` must map events to handlers; this is {}", node.kind());
            problems.push(Problem::at(Rule::InvalidHook, node.span, text));
        }
        return Vec::new();
    };
    let mut groups = Vec::new();
    for event in events {
        match HookEvent::parse(&event.key) {
            Some(known) => read_event(known, event, &mut groups, problems),
            None => problems.push(unknown_event(event)),
        }
    }
    groups
}

fn unknown_event(event: &Entry) -> Problem {
    let problem = Problem::at(
        Rule::UnknownHookEvent,
        event.key_span,
        format!("no hook event is called `{}`; its hooks never run", event.key),
    );
    match suggest::closest(&event.key, HookEvent::ALL.iter().map(|event| event.name())) {
        Some(close) => problem.hint(format!("did you mean `{close}`?")),
        None => problem.hint("for example PreToolUse, PostToolUse, Stop, SessionStart"),
    }
}

fn read_event(event: HookEvent, entry: &Entry, groups: &mut Vec<HookGroup>, problems: &mut Vec<Problem>) {
    let Some(items) = entry.node.as_list() else {
        if !matches!(entry.node.value, Value::Null) {
            let text =
                format!("`{}` must be a list of hook groups; this is {}", entry.key, entry.node.kind());
            problems.push(Problem::at(Rule::InvalidHook, entry.node.span, text).hint(MODERN));
        }
        return;
    };
    for item in items {
        if let Some(group) = read_group(event, item, problems) {
            groups.push(group);
        }
    }
}

const MODERN: &str = "write `- matcher: Bash` with `hooks: [{type: command, command: …}]` below it";

fn read_group(event: HookEvent, item: &Node, problems: &mut Vec<Problem>) -> Option<HookGroup> {
    let invalid = |node: &Node, text: String| Problem::at(Rule::InvalidHook, node.span, text).hint(MODERN);
    let matcher = match item.get("matcher") {
        None | Some(Node { value: Value::Null, .. }) => None,
        Some(node) => match node.as_text() {
            Some(text) => {
                if let Err(bad) = Matcher::new(event, Some(text)) {
                    let problem = Problem::at(Rule::InvalidHook, node.span, bad.to_string());
                    problems.push(problem.hint("until it is one, its hooks never run"));
                }
                Some(Box::from(text))
            }
            None => {
                problems.push(invalid(node, format!("`matcher` must be text; this is {}", node.kind())));
                return None;
            }
        },
    };
    if let Some(list) = item.get("hooks") {
        let Some(items) = list.as_list() else {
            problems
                .push(invalid(list, format!("`hooks` must be a list of handlers; this is {}", list.kind())));
            return None;
        };
        let handlers: Vec<_> =
            items.iter().filter_map(|item| read_handler(event, item, Form::Nested, problems)).collect();
        return (!handlers.is_empty() || items.is_empty()).then_some(HookGroup { event, matcher, handlers });
    }
    // The flat form of older versions: the handler itself stands where a group belongs.
    if item.get("command").is_some() || item.as_text().is_some() {
        let handler = read_handler(event, item, Form::Flat, problems)?;
        let text = "a handler without a group around it: the form of older versions";
        problems.push(Problem::at(Rule::OldSpelling, item.span, text).hint(MODERN));
        return Some(HookGroup { event, matcher, handlers: vec![handler] });
    }
    problems.push(invalid(item, "a hook group needs `hooks`, a list of handlers".into()));
    None
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// As today: timeouts are seconds.
    Nested,
    /// As once: timeouts are milliseconds, a bare text is a command.
    Flat,
}

fn read_handler(
    event: HookEvent,
    node: &Node,
    form: Form,
    problems: &mut Vec<Problem>,
) -> Option<HookHandler> {
    let kind = match (node.as_text(), form) {
        (Some(command), Form::Flat) => Ok(command_kind(command.into(), node)),
        _ => read_kind(node),
    };
    let kind = kind.map_err(|problem| problems.push(problem)).ok()?;
    let admitted = event.facts().handlers;
    if !admitted.admits(&kind) {
        let text = format!("`{}` takes no `{}` hooks; this one never runs", event.name(), kind.name());
        let problem = Problem::at(Rule::InvalidHook, node.span, text);
        problems.push(problem.hint(format!("one of {}", admitted.names().join(", "))));
        return None;
    }
    let timeout = match node.get("timeout") {
        None => None,
        Some(value) => match seconds(value, form) {
            Some(timeout) => Some(timeout),
            None => {
                let text = "`timeout` must be a positive number of seconds; the default applies";
                problems.push(Problem::at(Rule::InvalidValue, value.span, text));
                None
            }
        },
    };
    Some(HookHandler {
        kind,
        timeout,
        condition: node.text_of("if"),
        status_message: node.text_of("statusMessage"),
        once: flag(node, "once"),
    })
}

fn read_kind(node: &Node) -> Result<HookKind, Problem> {
    let missing = |field: &str, kind: &str| {
        Problem::at(Rule::InvalidHook, node.span, format!("a `{kind}` hook needs `{field}`"))
            .hint("the hook is ignored until it has one")
    };
    if node.as_map().is_none() {
        return Err(Problem::at(
            Rule::InvalidHook,
            node.span,
            format!("a hook must be a mapping; this is {}", node.kind()),
        ));
    }
    let kind = node.text_of("type");
    match kind.as_deref() {
        // `command` alone says enough; the type was optional once.
        Some("command") | None => {
            let command = node.text_of("command").ok_or_else(|| missing("command", "command"))?;
            Ok(command_kind(command, node))
        }
        Some("http") => Ok(HookKind::Http {
            url: node.text_of("url").ok_or_else(|| missing("url", "http"))?,
            headers: node.get("headers").map(Node::scalar_pairs).unwrap_or_default(),
            allowed_env: node.get("allowedEnvVars").and_then(Node::scalars).unwrap_or_default(),
        }),
        Some("mcp_tool") => Ok(HookKind::McpTool {
            server: node.text_of("server").ok_or_else(|| missing("server", "mcp_tool"))?,
            tool: node.text_of("tool").ok_or_else(|| missing("tool", "mcp_tool"))?,
            input: node.get("input").cloned(),
        }),
        Some("prompt") => Ok(HookKind::Prompt {
            prompt: node.text_of("prompt").ok_or_else(|| missing("prompt", "prompt"))?,
            model: node.text_of("model"),
            continue_on_block: flag(node, "continueOnBlock"),
        }),
        Some("agent") => Ok(HookKind::Agent {
            prompt: node.text_of("prompt").ok_or_else(|| missing("prompt", "agent"))?,
            model: node.text_of("model"),
        }),
        Some(other) => {
            let span = node.get("type").map_or(node.span, |node| node.span);
            Err(Problem::at(Rule::InvalidHook, span, format!("no kind of hook is called `{other}`"))
                .hint("one of command, http, mcp_tool, prompt, agent"))
        }
    }
}

fn command_kind(command: Box<str>, node: &Node) -> HookKind {
    HookKind::Command {
        command,
        args: node.get("args").and_then(Node::scalars),
        shell: node.text_of("shell"),
        detached: flag(node, "async"),
        rewake: flag(node, "asyncRewake"),
    }
}

fn seconds(value: &Node, form: Form) -> Option<Duration> {
    let Value::Number(number) = &value.value else { return None };
    let number: f64 = number.parse().ok()?;
    let seconds = if form == Form::Flat && number >= 1000.0 { number / 1000.0 } else { number };
    (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::as_bool) == Some(true)
}
