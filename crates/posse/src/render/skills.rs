//! Skills and commands for people and programs: the list, one of them, and the table of their fields.

use std::collections::BTreeMap;
use std::path::Path;

use posse_core::diagnostic::Severity;
use posse_core::origin::{Origin, Source};
use posse_core::skill::{SKILL_FIELDS, SkillDefinition, SkillFieldId, SkillRegistry, skill_field_row};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::diagnostics::{self, count};
use super::listing::{cut, pad};
use super::relative;
use super::style::{Style, plain};

/// What a page is made of.
pub struct Page<'a> {
    /// The skills.
    pub registry: &'a SkillRegistry,
    /// What paths are relative to.
    pub cwd: &'a Path,
    /// Whether the project's skills may allow anything.
    pub is_trusted: bool,
    /// How to write.
    pub style: Style,
    /// How wide.
    pub width: usize,
}

/// Who can use a skill, in a few words; nothing where everybody can.
fn reserved(skill: &SkillDefinition) -> &'static str {
    match (skill.is_for_people(), skill.is_for_models()) {
        (true, true) => "",
        (true, false) => "people only · ",
        (false, true) => "models only · ",
        (false, false) => "nobody can use it · ",
    }
}

impl Page<'_> {
    /// All skills by source, strongest first, then what is not used.
    pub fn list(&self) -> String {
        let registry = self.registry;
        let mut groups: BTreeMap<(Origin, &Path), Vec<&SkillDefinition>> = BTreeMap::new();
        for skill in &registry.active {
            groups.entry((skill.source.origin, &skill.source.root)).or_default().push(skill);
        }
        let widest = registry.active.iter().map(|skill| skill.name.width()).max().unwrap_or_default().min(36);
        let mut text = String::new();
        for ((origin, root), skills) in groups.into_iter().rev() {
            let title =
                self.style.bold(&format!("{}{}", origin.word()[..1].to_uppercase(), &origin.word()[1..]));
            let place = format!("({}) {}", skills.len(), relative(root, self.cwd));
            text.push_str(&format!("{title} {}\n", self.style.dim(&place)));
            skills.iter().for_each(|skill| text.push_str(&self.row(skill, widest)));
            text.push('\n');
        }
        self.shadowed(&mut text, widest);
        text.push_str(&self.totals());
        text
    }

    fn row(&self, skill: &SkillDefinition, widest: usize) -> String {
        let name = pad(&plain(&skill.name), widest);
        let about = skill.about();
        let first = about.trim().lines().next().unwrap_or_default();
        let about = format!("{}{}", reserved(skill), plain(first));
        let about = cut(&about, self.width.saturating_sub(widest + 5).max(20));
        format!("  /{}  {about}\n", self.style.bold(&name))
    }

    fn shadowed(&self, text: &mut String, widest: usize) {
        let shadowed = &self.registry.shadowed;
        if shadowed.is_empty() {
            return;
        }
        let number = self.style.dim(&format!("({})", shadowed.len()));
        text.push_str(&format!("{} {number}\n", self.style.bold("Shadowed")));
        for one in shadowed {
            let name = pad(&plain(&one.skill.name), widest);
            let (loser, winner) = (self.source(&one.skill.source), self.source(&one.by));
            text.push_str(&format!("  /{name}  {}\n", self.style.dim(&format!("{loser} — {winner} wins"))));
        }
        text.push('\n');
    }

    fn totals(&self) -> String {
        let mut parts = vec![count(self.registry.active.len(), "skill")];
        if !self.registry.shadowed.is_empty() {
            parts.push(format!("{} shadowed", self.registry.shadowed.len()));
        }
        for (severity, word) in [(Severity::Error, "error"), (Severity::Warning, "warning")] {
            let number = self.registry.diagnostics.iter().filter(|one| one.severity == severity).count();
            if number > 0 {
                parts.push(format!("{} (see `posse lint`)", count(number, word)));
            }
        }
        format!("{}\n", self.style.dim(&parts.join(", ")))
    }

    /// One skill as written.
    pub fn show(&self, skill: &SkillDefinition) -> String {
        let style = self.style;
        let head = style.bold(&format!("/{}", plain(&skill.name)));
        let mut text = format!("{head}  {}\n\n", style.dim(&self.source(&skill.source)));
        for line in skill.about().lines() {
            text.push_str(&format!("  {}\n", plain(line)));
        }
        text.push('\n');
        for (name, value) in self.facts(skill) {
            text.push_str(&format!("  {}  {}\n", style.dim(&pad(name, 24)), plain(&value)));
        }
        text.push_str(&format!("\n{}\n", style.bold("Text")));
        for line in skill.body.lines() {
            text.push_str(&format!("  {}\n", plain(line)));
        }
        let problems: Vec<_> =
            self.registry.diagnostics.iter().filter(|one| one.file == skill.source.file).collect();
        if !problems.is_empty() {
            text.push_str(&format!("\n{}\n", style.bold("Problems")));
        }
        for problem in problems {
            text.push_str(&diagnostics::one(problem, style, |path| relative(path, self.cwd)));
        }
        text
    }

    /// What an author set, with values in words.
    fn facts(&self, skill: &SkillDefinition) -> Vec<(&'static str, String)> {
        let mut facts = vec![("kind", skill.kind.word().to_owned())];
        let mut add = |id: SkillFieldId, value: Option<String>| {
            facts.extend(value.map(|value| (skill_field_row(id).name, value)));
        };
        let words = |words: &[Box<str>]| (!words.is_empty()).then(|| words.join(", "));
        add(SkillFieldId::Name, skill.display.as_deref().map(str::to_owned));
        add(SkillFieldId::ArgumentHint, skill.argument_hint.as_deref().map(str::to_owned));
        add(SkillFieldId::Arguments, words(&skill.arguments));
        let distrusted = skill.grants(self.is_trusted).len() < skill.allowed_tools.len();
        let note = if distrusted { " (do not count: the folder is not trusted)" } else { "" };
        add(SkillFieldId::AllowedTools, words(&skill.allowed_tools).map(|list| format!("{list}{note}")));
        add(SkillFieldId::Model, skill.model.name().map(str::to_owned));
        add(SkillFieldId::Effort, skill.effort.map(|effort| effort.to_string()));
        add(SkillFieldId::Context, skill.forks.then(|| "fork".to_owned()));
        add(SkillFieldId::Agent, skill.agent.as_deref().map(str::to_owned));
        add(SkillFieldId::Background, skill.background.map(|yes| yes.to_string()));
        let hidden = skill.disable_model_invocation.then(|| "true".to_owned());
        add(SkillFieldId::DisableModelInvocation, hidden);
        add(SkillFieldId::UserInvocable, (!skill.user_invocable).then(|| "false".to_owned()));
        add(SkillFieldId::Paths, words(&skill.paths));
        facts
    }

    fn source(&self, source: &Source) -> String {
        format!("{}, {}", source.origin.word(), relative(&source.file, self.cwd))
    }
}

/// `posse skills list --json`.
pub fn json(registry: &SkillRegistry) -> Value {
    let shadowed = registry.shadowed.iter().map(
        |one| json!({ "name": one.skill.name, "source": source(&one.skill.source), "by": source(&one.by) }),
    );
    json!({
        "active": registry.active.iter().map(one).collect::<Vec<_>>(),
        "shadowed": shadowed.collect::<Vec<_>>(),
        "diagnostics": registry.diagnostics.iter().map(super::json::diagnostic).collect::<Vec<_>>(),
    })
}

fn one(skill: &SkillDefinition) -> Value {
    json!({
        "name": skill.name,
        "kind": skill.kind.word(),
        "displayName": skill.display,
        "description": skill.description,
        "described": skill.is_described,
        "whenToUse": skill.when_to_use,
        "argumentHint": skill.argument_hint,
        "arguments": skill.arguments,
        "allowedTools": skill.allowed_tools,
        "model": skill.model.name(),
        "effort": skill.effort.map(|effort| effort.to_string()),
        "fork": skill.forks,
        "agent": skill.agent,
        "background": skill.background,
        "modelInvocable": skill.is_for_models(),
        "userInvocable": skill.is_for_people(),
        "paths": skill.paths,
        "source": source(&skill.source),
    })
}

/// `posse skills show --json`.
pub fn with_text(skill: &SkillDefinition) -> Value {
    let mut value = one(skill);
    value["text"] = json!(skill.body);
    value
}

fn source(source: &Source) -> Value {
    json!({
        "origin": source.origin.word(),
        "file": source.file.display().to_string(),
        "root": source.root.display().to_string(),
        "plugin": source.plugin.as_deref(),
    })
}

/// The table of fields as Markdown, for `docs/skills.md`.
pub fn markdown() -> String {
    let mut text = String::from("| field | takes | default | what it does |\n|---|---|---|---|\n");
    for field in SKILL_FIELDS {
        let takes = field.takes.replace('|', "\\|");
        text.push_str(&format!("| `{}` | {takes} | {} | {} |\n", field.name, field.default, field.does));
    }
    text
}
