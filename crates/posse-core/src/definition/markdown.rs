//! From the text of a Markdown file to an agent.

use std::sync::Arc;

use super::{AgentDefinition, FieldId, Places, fields, tool_list, values};
use crate::budget::Limits;
use crate::diagnostic::{Diagnostic, Fix, Problem, Rule, Severity};
use crate::frontmatter::{self, Header};
use crate::hooks;
use crate::mcp;
use crate::model::ModelChoice;
use crate::node::{Entry, Node, Value};
use crate::origin::{Origin, Source};
use crate::text::Span;

/// How a file's agent gets its name.
#[derive(Clone, Copy, Debug)]
pub enum Naming<'a> {
    /// From the `name` field alone: the path plays no part.
    Field,
    /// As `plugin:folder:name`, the name falling back to the file's; every file of a plugin is an agent.
    Plugin {
        /// The plugin.
        plugin: &'a str,
        /// Folders between the plugin's agents folder and the file.
        folders: &'a [&'a str],
        /// File name without its ending.
        stem: &'a str,
    },
}

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// An agent.
    Agent(Box<AgentDefinition>),
    /// Documentation that happens to lie in an agents folder.
    Document,
    /// Meant as an agent, but unusable; the diagnostics say why.
    Failed,
}

/// Reads one file. Never fails and never panics, whatever the text.
pub fn parse(text: &str, source: &Source, naming: Naming<'_>) -> (Parsed, Vec<Diagnostic>) {
    let (header, mut problems) = frontmatter::read(text, fields::vocabulary);
    let parsed = match naming {
        Naming::Field => parse_file(text, header, source, &mut problems),
        Naming::Plugin { plugin, folders, stem } => {
            let prefix: String =
                [&[plugin], folders].concat().iter().map(|part| format!("{part}:")).collect();
            parse_plugin_file(text, header, source, &PluginName { plugin, prefix, stem }, &mut problems)
        }
    };
    let diagnostics = problems.into_iter().map(|problem| problem.located(&source.file, text)).collect();
    (parsed, diagnostics)
}

/// The name somebody wrote into a file, whatever else is wrong with it.
pub fn written_name(text: &str) -> Option<Box<str>> {
    let (Header::Found(entries, _), _) = frontmatter::read(text, fields::vocabulary) else { return None };
    let name = entries.iter().find(|entry| &*entry.key == "name")?.node.scalar_text()?;
    (!name.is_empty()).then(|| name.into())
}

fn parse_file(text: &str, header: Header, source: &Source, problems: &mut Vec<Problem>) -> Parsed {
    let (entries, body) = match header {
        Header::Absent => {
            problems.push(Problem::whole(
                Rule::NoFrontmatter,
                "no frontmatter: taken as documentation, not as an agent",
            ));
            return Parsed::Document;
        }
        Header::Broken(_) => return Parsed::Failed,
        Header::Found(entries, body) => (entries, body),
    };
    // Keys count in their case, but a header with `Name` and `Description` was not meant as documentation.
    let is_meant =
        |entry: &Entry| fields::FIELDS.iter().any(|field| field.name.eq_ignore_ascii_case(&entry.key));
    if !entries.iter().any(is_meant) {
        let text = "the frontmatter has no field of an agent: taken as documentation";
        problems
            .push(Problem::whole(Rule::NoFrontmatter, text).hint("an agent needs `name` and `description`"));
        return Parsed::Document;
    }
    let mut definition = assemble(&entries, text, body, source, problems);
    let name = file_name(&entries, source, text, problems);
    let description = file_description(&entries, text, problems);
    match (name, description) {
        (Some(name), Some(description)) => {
            definition.name = name;
            definition.description = description;
            Parsed::Agent(Box::new(definition))
        }
        (Some(_) | None, Some(_) | None) => Parsed::Failed,
    }
}

struct PluginName<'a> {
    plugin: &'a str,
    prefix: String,
    stem: &'a str,
}

/// In a plugin nothing is refused: what is missing is made up, and said.
fn parse_plugin_file(
    text: &str,
    header: Header,
    source: &Source,
    naming: &PluginName<'_>,
    problems: &mut Vec<Problem>,
) -> Parsed {
    let (entries, body) = match header {
        Header::Absent => {
            let said =
                "no frontmatter: every file in a plugin's agents folder is an agent, this one with defaults";
            problems.push(Problem::whole(Rule::NoFrontmatter, said).severity(Severity::Warning));
            (Vec::new(), Span::new(0, text.len()))
        }
        Header::Broken(body) => {
            // The agent loads, with defaults: nothing is lost that an error would have to announce.
            problems
                .iter_mut()
                .for_each(|problem| problem.severity = problem.severity.min(Severity::Warning));
            (Vec::new(), body)
        }
        Header::Found(entries, body) => (entries, body),
    };
    let mut definition = assemble(&entries, text, body, source, problems);
    let find = |key: &str| entries.iter().find(|entry| &*entry.key == key).map(|entry| &entry.node);
    let own = find("name").and_then(js_string).filter(|name| !name.is_empty());
    definition.name = format!("{}{}", naming.prefix, own.as_deref().unwrap_or(naming.stem)).into();
    let scalar = |key: &str| {
        let text =
            find(key).filter(|node| !matches!(node.value, Value::Null)).and_then(Node::scalar_text)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let written = scalar("description").or_else(|| {
        let older = ["when-to-use", "when_to_use"].into_iter().find(|key| scalar(key).is_some())?;
        let said = format!("`{older}` serves as the description");
        let span = entries.iter().find(|entry| &*entry.key == older).map(|entry| entry.key_span);
        let problem = Problem { span, ..Problem::whole(Rule::OldSpelling, said) };
        // Beside an unusable `description` a second one would be decided by their order.
        problems.push(match find("description") {
            Some(_) => problem.hint("write the text into `description`"),
            None => {
                problem.fix(Fix::safe("rename it to `description`", span.unwrap_or_default(), "description"))
            }
        });
        scalar(older)
    });
    definition.description = written
        .unwrap_or_else(|| {
            let said = "no description: other agents will hardly know when to use this one";
            problems.push(Problem::whole(Rule::MissingDescription, said).severity(Severity::Warning));
            format!("Agent from {} plugin", naming.plugin)
        })
        .into();
    Parsed::Agent(Box::new(definition))
}

/// A value as JavaScript's `String()` writes it, falsy values being nothing.
fn js_string(node: &Node) -> Option<String> {
    match &node.value {
        Value::Null | Value::Bool(false) | Value::Map(_) => None,
        Value::Bool(true) => Some("true".into()),
        Value::Number(number) => (number.parse() != Ok(0.0)).then(|| number.to_string()),
        Value::Text(text) => Some(text.to_string()),
        Value::List(items) => {
            Some(items.iter().map(|item| js_string(item).unwrap_or_default()).collect::<Vec<_>>().join(","))
        }
    }
}

fn file_name(
    entries: &[Entry],
    source: &Source,
    text: &str,
    problems: &mut Vec<Problem>,
) -> Option<Box<str>> {
    let entry = entries.iter().find(|entry| &*entry.key == "name");
    let name = match entry.map(|entry| (&entry.node, &entry.node.value)) {
        Some((_, Value::Text(name))) if !name.is_empty() => name,
        Some((node, Value::Number(_) | Value::Bool(_) | Value::List(_) | Value::Map(_))) => {
            let problem = Problem::at(
                Rule::InvalidName,
                node.span,
                format!("the name must be text; this is {}", node.kind()),
            );
            problems.push(match node.scalar_text() {
                Some(word) => {
                    let fix = Fix::likely("put the name in quotes", node.span, frontmatter::quoted(word));
                    problem.hint("put it in quotes").fix(fix)
                }
                None => problem,
            });
            return None;
        }
        Some((node, Value::Text(_) | Value::Null)) => {
            problems.push(Problem::at(Rule::MissingName, node.span, "`name` is empty").hint(NAME_HINT));
            return None;
        }
        None => {
            let stem =
                source.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            // After the opening line, whatever white space it carries.
            let at = text.find('\n').map_or(0, |at| at + 1);
            problems.push(
                Problem::at(Rule::MissingName, Span::point(at), "no `name`: the agent is not loaded")
                    .hint(NAME_HINT)
                    .fix(Fix::likely(
                        "name it after the file",
                        Span::point(at),
                        format!("name: {}\n", frontmatter::quoted(&stem)),
                    )),
            );
            return None;
        }
    };
    let span = entry.map(|entry| entry.node.span).unwrap_or_default();
    if name.starts_with('-') {
        let said = format!("the name `{name}` begins with `-`: it would be taken for an option");
        problems.push(Problem::at(Rule::InvalidName, span, said).hint("begin it with a letter"));
        return None;
    }
    if let Some(why) = unusual(name) {
        problems
            .push(Problem::at(Rule::UnusualName, span, format!("the name `{name}` {why}")).hint(NAME_HINT));
    }
    Some(name.clone())
}

const NAME_HINT: &str = "letters, digits and hyphens work everywhere, as in `code-reviewer`";

fn unusual(name: &str) -> Option<&'static str> {
    if name.contains(':') {
        Some("holds `:`, which newer versions keep for plugins and refuse here")
    } else if name.contains([',', '(', ')']) {
        Some("cannot be written in `Agent(…)` lists and rules")
    } else if name.trim() != name || name.contains(char::is_control) {
        Some("has white space at its ends or control characters, which nobody will type")
    } else if name.contains(['/', '\\']) {
        Some("holds a path separator; its memory folder gets another name")
    } else {
        None
    }
}

fn file_description(entries: &[Entry], text: &str, problems: &mut Vec<Problem>) -> Option<Box<str>> {
    let entry = entries.iter().find(|entry| &*entry.key == "description");
    const HINT: &str = "say when to use the agent, for the model that chooses";
    match entry.map(|entry| (&entry.node, &entry.node.value)) {
        Some((node, Value::Text(description))) if !description.is_empty() => {
            if let Some(lost) = lost_comment(text, node) {
                problems.push(
                    Problem::at(
                        Rule::TextLost,
                        lost,
                        "YAML takes ` #` for a comment: the description ends before it",
                    )
                    .hint("put the description in quotes"),
                );
            }
            Some(if description.contains("\\n") {
                description.replace("\\n", "\n").into()
            } else {
                description.clone()
            })
        }
        Some((node, Value::Number(_) | Value::Bool(_) | Value::List(_) | Value::Map(_))) => {
            let said = format!("the description must be text; this is {}", node.kind());
            problems.push(Problem::at(Rule::InvalidDescription, node.span, said).hint("put it in quotes"));
            None
        }
        Some((node, Value::Text(_) | Value::Null)) => {
            problems
                .push(Problem::at(Rule::MissingDescription, node.span, "`description` is empty").hint(HINT));
            None
        }
        None => {
            let at = text.find('\n').map_or(0, |at| at + 1);
            let said = "no `description`: the agent is not loaded";
            problems.push(Problem::at(Rule::MissingDescription, Span::point(at), said).hint(HINT));
            None
        }
    }
}

/// A comment on the line of an unquoted value.
fn lost_comment(text: &str, node: &Node) -> Option<Span> {
    let end = node.span.end as usize;
    if text.get(node.span.range())?.starts_with(['"', '\'', '|', '>']) {
        return None;
    }
    let rest = text.get(end..)?.lines().next()?;
    let comment = rest.trim_start();
    let is_comment = comment.starts_with('#') && rest.len() > comment.len();
    is_comment.then(|| Span::new(end + rest.len() - comment.len(), end + rest.trim_end().len()))
}

/// Everything but name and description, which differ by kind of file.
pub(super) fn assemble(
    entries: &[Entry],
    text: &str,
    body: Span,
    source: &Source,
    problems: &mut Vec<Problem>,
) -> AgentDefinition {
    let mut definition = blank(source);
    definition.body = text.get(body.range()).unwrap_or_default().trim_matches(is_js_space).into();
    // Positions are only ever asked for in the header.
    let header = &text[..(body.start as usize).min(text.len())];
    definition.places.text = header.into();
    for entry in entries {
        match fields::find(&entry.key) {
            Some(field) if source.origin == Origin::Plugin && !field.in_plugins => problems.push(
                Problem::at(
                    Rule::PluginFieldIgnored,
                    entry.key_span,
                    format!("`{}` is ignored: a plugin's agents may not set it", field.name),
                )
                .hint("copy the agent to .claude/agents to use the field"),
            ),
            Some(field) => set(&mut definition, field.id, entry, text, problems),
            None if is_plugin_description(&entry.key, source) => {}
            None => problems.push(unknown_field(entry)),
        }
    }
    definition
}

fn is_plugin_description(key: &str, source: &Source) -> bool {
    source.origin == Origin::Plugin && matches!(key, "when-to-use" | "when_to_use")
}

fn is_js_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

pub(super) fn blank(source: &Source) -> AgentDefinition {
    AgentDefinition {
        name: "".into(),
        description: "".into(),
        body: Arc::from(""),
        tools: None,
        disallowed_tools: Vec::new(),
        model: ModelChoice::Inherit,
        effort: None,
        permission_mode: None,
        color: None,
        max_turns: None,
        budget: Limits::default(),
        background: None,
        initial_prompt: None,
        memory: None,
        isolation: None,
        hooks: Vec::new(),
        mcp_servers: Vec::new(),
        skills: Vec::new(),
        required_mcp_servers: Vec::new(),
        omit_claude_md: false,
        fork_context: false,
        critical_system_reminder: None,
        auto_compact_window: None,
        observers: Vec::new(),
        observer_message: None,
        source: source.clone(),
        places: Places { text: Arc::from(""), fields: Vec::new() },
    }
}

pub(super) fn set(
    definition: &mut AgentDefinition,
    id: FieldId,
    entry: &Entry,
    text: &str,
    problems: &mut Vec<Problem>,
) {
    let node = &entry.node;
    definition.places.fields.push((id, entry.key_span, node.span));
    match id {
        FieldId::Name | FieldId::Description => {}
        FieldId::Tools => definition.tools = Some(tools(id, node, text, problems)),
        FieldId::DisallowedTools => definition.disallowed_tools = tools(id, node, text, problems),
        FieldId::Model => definition.model = values::model(node, problems),
        FieldId::Effort => definition.effort = values::effort(node, problems),
        FieldId::PermissionMode => definition.permission_mode = values::mode(node, problems),
        FieldId::Color => definition.color = values::color(node, problems),
        FieldId::MaxTurns => definition.max_turns = values::max_turns(node, problems),
        FieldId::Budget => definition.budget = values::budget(node, problems),
        FieldId::Background => definition.background = values::boolean(id, node, problems),
        FieldId::InitialPrompt => definition.initial_prompt = values::prose(id, node, problems),
        FieldId::Memory => definition.memory = values::memory(node, problems),
        FieldId::Isolation => definition.isolation = values::isolation(node, problems),
        FieldId::Hooks => definition.hooks = hooks::read(node, problems),
        FieldId::McpServers => definition.mcp_servers = mcp::read_list(node, problems),
        FieldId::Skills => definition.skills = values::words(id, node, problems),
        FieldId::RequiredMcpServers => definition.required_mcp_servers = values::words(id, node, problems),
        FieldId::OmitClaudeMd => {
            definition.omit_claude_md = values::boolean(id, node, problems).unwrap_or_default();
        }
        FieldId::ForkContext => {
            definition.fork_context = values::boolean(id, node, problems).unwrap_or_default()
        }
        FieldId::CriticalSystemReminder => {
            definition.critical_system_reminder = values::prose(id, node, problems)
        }
        FieldId::AutoCompactWindow => definition.auto_compact_window = values::compact_window(node, problems),
        FieldId::Observer => definition.observers = values::words(id, node, problems),
        FieldId::ObserverMessage => definition.observer_message = values::prose(id, node, problems),
    }
}

fn tools(id: FieldId, node: &Node, text: &str, problems: &mut Vec<Problem>) -> tool_list::ToolList {
    let entries = tool_list::read(node, text, problems);
    tool_list::check(&entries, id, problems);
    if id == FieldId::Tools
        && entries.is_empty()
        && matches!(node.value, Value::List(_) | Value::Null | Value::Text(_))
    {
        problems.push(
            Problem::at(Rule::NoTools, node.span, "an empty list: the agent has no tools at all")
                .hint("leave the field out to give it all tools"),
        );
    }
    entries
}

pub(super) fn unknown_field(entry: &Entry) -> Problem {
    let problem = Problem::at(
        Rule::UnknownField,
        entry.key_span,
        format!("no field is called `{}`; it is ignored", entry.key),
    );
    match fields::meant_by(&entry.key) {
        Some(field) => problem.hint(format!("did you mean `{}`?", field.name)).fix(Fix::likely(
            format!("rename it to `{}`", field.name),
            entry.key_span,
            field.name,
        )),
        None => problem,
    }
}
