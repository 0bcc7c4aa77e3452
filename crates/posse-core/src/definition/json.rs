//! Agents given as JSON: `--agents`, and `agents` in settings files. An object of name → definition, with `prompt`
//! where a file has its body.

use std::sync::Arc;

use super::{AgentDefinition, fields, markdown};
use crate::diagnostic::{Diagnostic, Problem, Rule, Severity};
use crate::json;
use crate::node::{Entry, Node, Value};
use crate::origin::Source;
use crate::text::Span;

/// What a JSON object of agents holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonAgents {
    /// The usable ones, in the order written.
    pub agents: Vec<AgentDefinition>,
    /// Names of the unusable ones, with the problems that cost them.
    pub failed: Vec<(Box<str>, Vec<Diagnostic>)>,
    /// Problems that cost nothing but themselves.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a JSON text whose root is the object of agents.
pub fn parse_json_agents(text: &str, source: &Source) -> Result<JsonAgents, Vec<Diagnostic>> {
    let (root, problems) = json::parse(text);
    let diagnostics: Vec<_> =
        problems.into_iter().map(|problem| problem.located(&source.file, text)).collect();
    let Some(root) = root else {
        let empty = Problem::whole(Rule::JsonSyntax, "nothing here: expected an object of agents");
        let empty = empty.located(&source.file, text);
        return Err(if diagnostics.is_empty() { vec![empty] } else { diagnostics });
    };
    let mut agents = read_json_agents(&root, text, source);
    agents.diagnostics.splice(0..0, diagnostics);
    Ok(agents)
}

/// Reads an object of agents out of a larger JSON text.
pub fn read_json_agents(node: &Node, text: &str, source: &Source) -> JsonAgents {
    let mut read = JsonAgents::default();
    let shared: Arc<str> = text.into();
    let Some(entries) = node.as_map() else {
        let said = format!("agents are an object of name and definition; this is {}", node.kind());
        let problem = Problem::at(Rule::InvalidDefinition, node.span, said).hint(EXAMPLE);
        read.failed.push(("agents".into(), vec![problem.located(&source.file, text)]));
        return read;
    };
    for entry in entries {
        let mut problems = Vec::new();
        let definition = read_agent(entry, text, source, &mut problems);
        let unusable =
            definition.is_none() || problems.iter().any(|problem| problem.severity == Severity::Error);
        let diagnostics = problems.into_iter().map(|problem| problem.located(&source.file, text));
        match definition {
            Some(mut definition) if !unusable => {
                definition.places.text = Arc::clone(&shared);
                read.diagnostics.extend(diagnostics);
                read.agents.push(definition);
            }
            Some(_) | None => read.failed.push((entry.key.clone(), diagnostics.collect())),
        }
    }
    read
}

const EXAMPLE: &str =
    r#"for example {"reviewer": {"description": "Reviews changes", "prompt": "You review …"}}"#;

fn read_agent(
    agent: &Entry,
    text: &str,
    source: &Source,
    problems: &mut Vec<Problem>,
) -> Option<AgentDefinition> {
    let name = &agent.key;
    let invalid =
        |span: Span, said: String| Problem::at(Rule::InvalidDefinition, span, format!("{name}{said}"));
    let Some(entries) = agent.node.as_map() else {
        let said = format!(": a definition is an object; this is {}", agent.node.kind());
        problems.push(invalid(agent.node.span, said).hint(EXAMPLE));
        return None;
    };
    if name.is_empty() || name.starts_with('-') {
        problems.push(invalid(agent.key_span, ": a name must not be empty or begin with `-`".into()));
    }
    let mut definition = markdown::blank(source);
    definition.name = name.clone();
    for entry in entries {
        match &*entry.key {
            "prompt" | "name" => {}
            // The spelling of the SDK's own type.
            "criticalSystemReminder_EXPERIMENTAL" => {
                markdown::set(&mut definition, super::FieldId::CriticalSystemReminder, entry, text, problems);
            }
            key => match fields::find(key) {
                Some(field) => markdown::set(&mut definition, field.id, entry, text, problems),
                None => problems.push(markdown::unknown_field(entry)),
            },
        }
    }
    for problem in problems.iter_mut() {
        strict(problem, name);
    }
    match agent.node.get("description").map(|node| (&node.value, node.span)) {
        Some((Value::Text(text), _)) if !text.is_empty() => definition.description = text.clone(),
        Some((_, span)) => {
            problems.push(invalid(span, ".description: must be a text that is not empty".into()))
        }
        None => problems.push(invalid(agent.key_span, ".description: is required".into())),
    }
    match agent.node.get("prompt").map(|node| (&node.value, node.span)) {
        Some((Value::Text(text), _)) => definition.body = text.trim().into(),
        Some((_, span)) => problems.push(invalid(span, ".prompt: must be text".into())),
        None => problems.push(invalid(agent.key_span, ".prompt: is required (it may be empty)".into())),
    }
    Some(definition)
}

/// Whoever writes JSON writes it with a program: a value a field does not take is an error, not a slip.
fn strict(problem: &mut Problem, name: &str) {
    match problem.rule {
        Rule::InvalidValue
        | Rule::InvalidHook
        | Rule::UnknownHookEvent
        | Rule::InvalidMcpServer
        | Rule::InvalidToolPattern => {
            problem.severity = Severity::Error;
            // Nothing is ignored here: the whole start is refused.
            problem.text = format!("{name}: {}", problem.text.replace("; it is ignored", ""));
            problem.fix = None;
        }
        _ => problem.fix = None,
    }
}
