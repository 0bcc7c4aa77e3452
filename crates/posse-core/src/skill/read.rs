//! From the text of a Markdown file to a skill. Nothing is refused: what is missing is made up, and said.

use std::path::Path;
use std::sync::Arc;

use super::{Kind, SkillDefinition, SkillFieldId, fields};
use crate::definition::values;
use crate::diagnostic::{Diagnostic, Problem, Rule, Severity};
use crate::frontmatter::{self, Header};
use crate::hooks;
use crate::model::ModelChoice;
use crate::node::{Entry, Node, Value};
use crate::origin::{Origin, Source};
use crate::text::Span;
use crate::tools;

/// The longest first line of a body that serves as description.
const LONGEST_LINE: usize = 100;

/// What a file is called and where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// What kind of file it is.
    pub kind: Kind,
    /// The plugin that brings it.
    pub plugin: Option<&'a str>,
    /// Folders between the folder of commands and the file; a skill has none.
    pub folders: &'a [&'a str],
    /// The name of the skill's folder, or of the command's file without its ending.
    pub stem: &'a str,
}

impl Naming<'_> {
    fn name(&self) -> Box<str> {
        let parts = self.plugin.iter().chain(self.folders).chain([&self.stem]);
        parts.copied().collect::<Vec<_>>().join(":").into()
    }

    /// What an empty file is described by.
    fn nothing_said(&self) -> &'static str {
        match (self.plugin, self.kind) {
            (None, Kind::Skill) => "Skill",
            (None, Kind::Command) => "Custom command",
            (Some(_), Kind::Skill) => "Plugin skill",
            (Some(_), Kind::Command) => "Plugin command",
        }
    }
}

/// Reads one file. Never fails and never panics, whatever the text.
pub fn parse(text: &str, source: &Source, naming: Naming<'_>) -> (SkillDefinition, Vec<Diagnostic>) {
    let (header, mut problems) = frontmatter::read(text, fields::vocabulary);
    let (entries, body) = match header {
        Header::Absent => (Vec::new(), Span::new(empty_header(text), text.len())),
        Header::Broken(body) => (Vec::new(), body),
        Header::Found(entries, body) => (entries, body),
    };
    // It loads all the same: nothing is lost that an error would have to announce.
    problems.iter_mut().for_each(|problem| problem.severity = problem.severity.min(Severity::Warning));
    let body = text.get(body.range()).unwrap_or_default().trim();
    let mut skill = blank(source, naming, body);
    for entry in &entries {
        match fields::find(&entry.key) {
            Some(field) => set(&mut skill, field.id, entry, &mut problems),
            None => problems.push(unknown_field(entry)),
        }
    }
    if !skill.is_described {
        let first = body.lines().map(str::trim).find(|line| !line.is_empty());
        skill.description = first.map_or_else(|| naming.nothing_said().into(), shortened);
        let said = "no description: the first line of the text stands in for it";
        problems.push(Problem::whole(Rule::MissingDescription, said).severity(Severity::Note));
    }
    // Only files of agents are mended by `posse lint`: a fix that nobody applies is not offered.
    let located = |problem: Problem| Problem { fix: None, ..problem }.located(&source.file, text);
    (skill, problems.into_iter().map(located).collect())
}

/// Where the text behind a header without fields begins.
fn empty_header(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let opens = lines.next().filter(|line| line.trim_end() == "---");
    let Some(opens) = opens else { return 0 };
    let blank: usize = lines.clone().take_while(|line| line.trim().is_empty()).map(str::len).sum();
    let closes = lines.find(|line| !line.trim().is_empty()).filter(|line| line.trim_end() == "---");
    closes.map_or(0, |closes| opens.len() + blank + closes.len())
}

/// The first line of a text as a description.
fn shortened(line: &str) -> Box<str> {
    let line = line.trim_start_matches('#').trim();
    if line.chars().count() <= LONGEST_LINE {
        return line.into();
    }
    let kept: String = line.chars().take(LONGEST_LINE - 3).collect();
    format!("{kept}...").into()
}

fn blank(source: &Source, naming: Naming<'_>, body: &str) -> SkillDefinition {
    SkillDefinition {
        name: naming.name(),
        kind: naming.kind,
        display: None,
        description: Box::default(),
        is_described: false,
        when_to_use: None,
        argument_hint: None,
        arguments: Vec::new(),
        allowed_tools: Vec::new(),
        model: ModelChoice::Inherit,
        effort: None,
        forks: false,
        agent: None,
        background: None,
        disable_model_invocation: false,
        user_invocable: true,
        paths: Vec::new(),
        hooks: Vec::new(),
        body: body.into(),
        folder: Arc::from(source.file.parent().unwrap_or(Path::new(""))),
        source: source.clone(),
    }
}

fn set(skill: &mut SkillDefinition, id: SkillFieldId, entry: &Entry, problems: &mut Vec<Problem>) {
    let node = &entry.node;
    match id {
        SkillFieldId::Name => skill.display = scalar(node),
        SkillFieldId::Description => {
            if let Some(text) = scalar(node) {
                skill.description = text;
                skill.is_described = true;
            } else if !matches!(node.value, Value::Null | Value::Text(_)) {
                problems.push(invalid(id, node));
            }
        }
        SkillFieldId::WhenToUse => skill.when_to_use = scalar(node),
        SkillFieldId::ArgumentHint => skill.argument_hint = hint(node),
        SkillFieldId::Arguments => {
            let names = words(id, node, problems, |text| text.split([' ', ',', '\t', '\n']).collect());
            skill.arguments = names.iter().map(|name| name.trim_start_matches('$').into()).collect();
        }
        SkillFieldId::AllowedTools => {
            skill.allowed_tools = words(id, node, problems, |text| {
                tools::split_entries(text).into_iter().map(|(_, entry)| entry).collect()
            });
        }
        SkillFieldId::Model => skill.model = values::model(node, problems),
        SkillFieldId::Effort => skill.effort = values::effort(node, problems),
        SkillFieldId::Context => match node.scalar_text() {
            Some("fork") => skill.forks = true,
            Some("null" | "inline") => {}
            Some(_) | None => problems.push(invalid(id, node)),
        },
        SkillFieldId::Agent => skill.agent = scalar(node),
        SkillFieldId::Background => skill.background = switch(id, node, problems),
        SkillFieldId::DisableModelInvocation => {
            // A limit that cannot be read is not taken for no limit.
            let is_set = !matches!(node.value, Value::Null);
            let before = problems.len();
            skill.disable_model_invocation = switch(id, node, problems).unwrap_or(is_set);
            for problem in &mut problems[before..] {
                problem.text = problem.text.replace("it is ignored", "the skill is kept to people");
            }
        }
        SkillFieldId::UserInvocable => {
            skill.user_invocable = switch(id, node, problems).unwrap_or(true);
        }
        SkillFieldId::Paths => {
            skill.paths = words(id, node, problems, |text| text.split([',', '\n']).collect());
        }
        SkillFieldId::Shell => {
            if !matches!(node.scalar_text(), Some("bash" | "null")) {
                problems.push(invalid(id, node));
            }
        }
        SkillFieldId::Hooks => {
            skill.hooks = hooks::read(node, problems);
        }
        SkillFieldId::Version
        | SkillFieldId::License
        | SkillFieldId::Compatibility
        | SkillFieldId::Metadata => {}
    }
}

fn invalid(id: SkillFieldId, node: &Node) -> Problem {
    let field = fields::row(id);
    let got = node.scalar_text().map_or_else(|| node.kind().to_owned(), |text| format!("`{text}`"));
    Problem::at(Rule::InvalidValue, node.span, format!("`{}` does not take {got}; it is ignored", field.name))
        .hint(format!("it takes {}", field.takes))
}

/// A scalar as text, trimmed; nothing is nothing.
fn scalar(node: &Node) -> Option<Box<str>> {
    let text = match node.value {
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            node.scalar_text()
        }
    };
    text.map(str::trim).filter(|text| !text.is_empty()).map(Into::into)
}

/// `[x] [y]` is a list to YAML and a hint to people.
fn hint(node: &Node) -> Option<Box<str>> {
    match node.scalars() {
        Some(items) => (!items.is_empty()).then(|| items.join(",").into()),
        None => scalar(node),
    }
}

/// Words, as a list or as one text that `split` takes apart. An item of a list can be a mapping, as people write
/// arguments: its `name` counts.
fn words(
    id: SkillFieldId,
    node: &Node,
    problems: &mut Vec<Problem>,
    split: impl Fn(&str) -> Vec<&str>,
) -> Vec<Box<str>> {
    let mut found: Vec<Box<str>> = Vec::new();
    let mut add = |text: &str| {
        found.extend(split(text).into_iter().map(str::trim).filter(|word| !word.is_empty()).map(Box::from));
    };
    match &node.value {
        Value::Null => {}
        Value::Text(text) | Value::Number(text) => add(text),
        Value::List(items) => {
            for item in items {
                let named = item.get("name").filter(|_| id == SkillFieldId::Arguments);
                match named.unwrap_or(item).scalar_text().filter(|_| !matches!(item.value, Value::Null)) {
                    Some(text) => add(text),
                    None => problems.push(invalid(id, item)),
                }
            }
        }
        Value::Bool(_) | Value::Map(_) => problems.push(invalid(id, node)),
    }
    found
}

fn switch(id: SkillFieldId, node: &Node, problems: &mut Vec<Problem>) -> Option<bool> {
    let word = node.scalar_text().map(str::trim).unwrap_or_default();
    match word {
        "true" => Some(true),
        "false" => Some(false),
        "null" if matches!(node.value, Value::Null) => None,
        _ => {
            problems.push(invalid(id, node));
            None
        }
    }
}

/// Skills carry fields for all kinds of programs: only what looks like a slip is worth a warning.
fn unknown_field(entry: &Entry) -> Problem {
    let said = format!("no field of a skill is called `{}`; it is ignored", entry.key);
    let problem = Problem::at(Rule::UnknownField, entry.key_span, said);
    match fields::meant_by(&entry.key) {
        Some(field) => problem.hint(format!("did you mean `{}`?", field.name)),
        None => problem.severity(Severity::Note),
    }
}

/// Whether a source may give leave: an untrusted folder only takes away.
pub(super) fn may_grant(source: &Source, is_trusted: bool) -> bool {
    source.origin != Origin::Project || is_trusted
}
