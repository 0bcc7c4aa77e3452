//! All skills together: which of one name counts, which are shadowed, and what a name leads to.

use super::read::may_grant;
use super::{Kind, SkillDefinition};
use crate::collate;
use crate::diagnostic::{Diagnostic, Problem, Rule};
use crate::hooks::HookGroup;
use crate::origin::{Origin, Source};
use crate::suggest;

/// A skill that lost to another of the same name.
#[derive(Clone, Debug)]
pub struct ShadowedSkill {
    /// The loser.
    pub skill: SkillDefinition,
    /// Who won.
    pub by: Source,
}

/// What reading the sources brought, before anybody wins.
#[derive(Clone, Debug, Default)]
pub struct SkillFindings {
    /// Skills and commands, in any order.
    pub skills: Vec<SkillDefinition>,
    /// Problems of files, and files that could not be read.
    pub diagnostics: Vec<Diagnostic>,
}

/// All skills.
#[derive(Clone, Debug, Default)]
pub struct SkillRegistry {
    /// One per name, in listing order.
    pub active: Vec<SkillDefinition>,
    /// The losers, in listing order.
    pub shadowed: Vec<ShadowedSkill>,
    /// What is wrong with files, in order.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a name leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum SkillLookup<'r> {
    /// One skill.
    Found(&'r SkillDefinition),
    /// Several, none of them exactly.
    Ambiguous(Vec<&'r str>),
    /// None; perhaps this one was meant.
    Unknown(Option<&'r str>),
}

/// Who wins: the administrator's over the user's over the project's, and a skill over a command.
fn rank(skill: &SkillDefinition) -> (Kind, u8) {
    let origin = match skill.source.origin {
        Origin::BuiltIn => 0,
        Origin::Plugin => 1,
        Origin::Project => 2,
        Origin::User => 3,
        Origin::Flag => 4,
        Origin::Managed => 5,
    };
    (skill.kind, origin)
}

impl SkillRegistry {
    /// Lets skills of one name compete.
    pub fn build(findings: SkillFindings) -> Self {
        let SkillFindings { mut skills, mut diagnostics } = findings;
        skills.sort_by(|a, b| {
            let strength = || rank(b).cmp(&rank(a)).then_with(|| b.source.strength(&a.source));
            a.name.cmp(&b.name).then_with(strength)
        });
        let mut active: Vec<SkillDefinition> = Vec::with_capacity(skills.len());
        let mut shadowed = Vec::new();
        for skill in skills {
            match active.last() {
                Some(winner) if winner.name == skill.name => {
                    diagnostics.push(shadow_report(&skill, winner));
                    shadowed.push(ShadowedSkill { by: winner.source.clone(), skill });
                }
                Some(_) | None => active.push(skill),
            }
        }
        active.sort_by(|a, b| collate::compare(&a.name, &b.name));
        shadowed.sort_by(|a, b| collate::compare(&a.skill.name, &b.skill.name));
        diagnostics.sort_by(|a, b| (&a.file, a.location, a.rule).cmp(&(&b.file, b.location, b.rule)));
        Self { active, shadowed, diagnostics }
    }

    /// The skill with exactly this name.
    pub fn get(&self, name: &str) -> Option<&SkillDefinition> {
        self.active.iter().find(|skill| &*skill.name == name)
    }

    /// Finds a skill as somebody may name it: exactly, with a slash before it, a plugin's without the plugin, or but
    /// for case, blanks, `-` and `_`.
    pub fn lookup(&self, name: &str) -> SkillLookup<'_> {
        let name = name.trim().trim_start_matches('/');
        if let Some(skill) = self.get(name) {
            return SkillLookup::Found(skill);
        }
        let bare = |skill: &&SkillDefinition| {
            skill.source.plugin.is_some() && skill.name.split_once(':').is_some_and(|(_, rest)| rest == name)
        };
        let plain = suggest::simplify(name);
        let near = |skill: &&SkillDefinition| suggest::simplify(&skill.name) == plain;
        let mut found: Vec<&SkillDefinition> = self.active.iter().filter(bare).collect();
        if found.is_empty() {
            found = self.active.iter().filter(near).collect();
        }
        match found.as_slice() {
            [one] => SkillLookup::Found(one),
            [] => SkillLookup::Unknown(suggest::closest(name, self.active.iter().map(|skill| &*skill.name))),
            several => SkillLookup::Ambiguous(several.iter().map(|skill| &*skill.name).collect()),
        }
    }

    /// What the model may use. What is about certain files is among it only if one of them has been `seen`.
    pub fn for_models<'s>(&self, seen: impl Fn(&SkillDefinition) -> bool + 's) -> Vec<&SkillDefinition> {
        let offered =
            |skill: &&SkillDefinition| skill.is_for_models() && (skill.paths.is_empty() || seen(skill));
        self.active.iter().filter(offered).collect()
    }

    /// What people can type, without the slash.
    pub fn slash_commands(&self) -> Vec<String> {
        self.active.iter().filter(|skill| skill.is_for_people()).map(|skill| skill.name.to_string()).collect()
    }

    /// The skills that programs are told of: what people can type that is described, and is no command that the model
    /// could use as well.
    pub fn skills(&self) -> Vec<String> {
        let told = |skill: &&SkillDefinition| {
            let is_skill = match skill.kind {
                Kind::Skill => true,
                Kind::Command => skill.disable_model_invocation,
            };
            skill.is_for_people() && skill.is_described && is_skill
        };
        self.active.iter().filter(told).map(|skill| skill.name.to_string()).collect()
    }

    /// The names of an agent's skills that lead nowhere, each with what to say about it.
    pub fn missing<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<(&'n str, String)> {
        names.into_iter().filter_map(|name| Some((name, self.preload(name).err()?))).collect()
    }

    /// The skill that an agent starts with, or why it does not.
    pub fn preload(&self, name: &str) -> Result<&SkillDefinition, String> {
        match self.lookup(name) {
            SkillLookup::Found(skill) if skill.is_for_models() => Ok(skill),
            SkillLookup::Found(_) => Err(format!(
                "the skill `{name}` is not loaded: `disable-model-invocation` keeps it to people"
            )),
            SkillLookup::Ambiguous(names) => {
                Err(format!("the skill `{name}` is not loaded: it could be {}", names.join(" or ")))
            }
            SkillLookup::Unknown(Some(close)) => {
                Err(format!("there is no skill called `{name}`; did you mean `{close}`?"))
            }
            SkillLookup::Unknown(None) => Err(format!("there is no skill called `{name}`")),
        }
    }
}

impl SkillDefinition {
    /// The rules it allows, if its source may give leave: an untrusted folder only takes away.
    pub fn grants(&self, is_trusted: bool) -> &[Box<str>] {
        if may_grant(&self.source, is_trusted) { &self.allowed_tools } else { &[] }
    }

    /// The hooks it brings, if its source may bring any.
    pub fn brings(&self, is_trusted: bool) -> &[HookGroup] {
        if may_grant(&self.source, is_trusted) { &self.hooks } else { &[] }
    }
}

fn shadow_report(loser: &SkillDefinition, winner: &SkillDefinition) -> Diagnostic {
    let at = winner.source.file.display();
    let said = format!("`{}` is not used: the {} in {at} wins", loser.name, winner.kind.word());
    let same_place = loser.source.root == winner.source.root && loser.kind == winner.kind;
    let rule = if same_place { Rule::DuplicateName } else { Rule::Shadowed };
    Problem::whole(rule, said).located(&loser.source.file, "")
}
