//! All definitions together: who is active, who is shadowed by whom, what failed and why.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::collate;
use crate::definition::{AgentDefinition, Color, FieldId};
use crate::diagnostic::{Diagnostic, Problem, Rule, Severity};
use crate::origin::{Origin, Source};
use crate::suggest;

/// A definition that lost to another of the same name.
#[derive(Clone, Debug)]
pub struct Shadowed {
    /// The loser.
    pub definition: AgentDefinition,
    /// Who won.
    pub by: Source,
}

/// Something that was meant as an agent and is none.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Its name, where one could be read.
    pub name: Option<Box<str>>,
    /// Where it is.
    pub source: Source,
    /// Why; the first error is the reason.
    pub diagnostics: Vec<Diagnostic>,
}

impl Failed {
    /// The reason in one sentence.
    pub fn reason(&self) -> &str {
        let errors = self.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        errors.or(self.diagnostics.first()).map_or("cannot be used", |diagnostic| &diagnostic.text)
    }
}

/// What reading the sources brought, before anybody wins.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Definitions, in any order.
    pub definitions: Vec<AgentDefinition>,
    /// What could not be used.
    pub failed: Vec<Failed>,
    /// Files without frontmatter.
    pub documents: Vec<Arc<Path>>,
    /// Problems of definitions and other files that did not cost an agent.
    pub diagnostics: Vec<Diagnostic>,
}

/// The result of loading.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// One definition per name, in listing order.
    pub active: Vec<AgentDefinition>,
    /// The losers, in listing order.
    pub shadowed: Vec<Shadowed>,
    /// What could not be used, by path.
    pub failed: Vec<Failed>,
    /// Files without frontmatter, by path.
    pub documents: Vec<Arc<Path>>,
    /// Everything worth telling that did not cost an agent.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a name leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup<'r> {
    /// One agent.
    Found(&'r AgentDefinition),
    /// Several, none of them exactly.
    Ambiguous(Vec<&'r str>),
    /// None; perhaps this one was meant.
    Unknown(Option<&'r str>),
}

impl Registry {
    /// Lets the definitions compete: by origin, then nearness, then path.
    pub fn build(findings: Findings) -> Self {
        let Findings { mut definitions, mut failed, mut documents, mut diagnostics } = findings;
        // Of those with one name the strongest comes first, and wins.
        definitions.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| b.source.strength(&a.source)));
        let mut active: Vec<AgentDefinition> = Vec::with_capacity(definitions.len());
        let mut shadowed = Vec::new();
        for definition in definitions {
            match active.last() {
                Some(winner) if winner.name == definition.name => {
                    diagnostics.push(shadow_report(&definition, winner));
                    shadowed.push(Shadowed { by: winner.source.clone(), definition });
                }
                Some(_) | None => active.push(definition),
            }
        }
        active.sort_by(|a, b| collate::compare(&a.name, &b.name));
        shadowed.sort_by(|a, b| collate::compare(&a.definition.name, &b.definition.name));
        failed.sort_by(|a, b| a.source.file.cmp(&b.source.file));
        documents.sort();
        diagnostics.sort_by(|a, b| (&a.file, a.location, a.rule).cmp(&(&b.file, b.location, b.rule)));
        Self { active, shadowed, failed, documents, diagnostics }
    }

    /// The active agent with exactly this name.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.active.iter().find(|agent| &*agent.name == name)
    }

    /// Finds an agent as a person or model may name it: exactly, else but for case, blanks, `-` and `_`.
    pub fn lookup(&self, name: &str) -> Lookup<'_> {
        if let Some(agent) = self.get(name) {
            return Lookup::Found(agent);
        }
        let plain = suggest::simplify(name);
        let near: Vec<_> =
            self.active.iter().filter(|agent| suggest::simplify(&agent.name) == plain).collect();
        match near.as_slice() {
            [one] => Lookup::Found(one),
            [] => Lookup::Unknown(suggest::closest(name, self.active.iter().map(|agent| &*agent.name))),
            several => Lookup::Ambiguous(several.iter().map(|agent| &*agent.name).collect()),
        }
    }
}

/// Two of one folder are a mistake; one layer over another is how overriding works.
fn shadow_report(loser: &AgentDefinition, winner: &AgentDefinition) -> Diagnostic {
    let same_place =
        loser.source.origin == winner.source.origin && loser.source.standing == winner.source.standing;
    let span = loser.places.value(FieldId::Name).unwrap_or_default();
    let at = winner.source.file.display();
    let problem = if same_place && loser.source.origin != Origin::BuiltIn {
        Problem::at(
            Rule::DuplicateName,
            span,
            format!("`{}` is also defined in {at}, which wins", loser.name),
        )
        .hint("rename one of the two, or delete it")
    } else {
        let winner = winner.source.origin.word();
        Problem::at(
            Rule::Shadowed,
            span,
            format!("`{}` is not used: the {winner} agent in {at} wins", loser.name),
        )
    };
    loser.report(problem)
}

/// Colours, handed out so that they stay the same for a whole session, reloads included.
#[derive(Clone, Debug, Default)]
pub struct Colors {
    given: BTreeMap<Box<str>, Color>,
}

impl Colors {
    /// Gives every agent a colour: its own, else the one it was given before, else the one fewest others have.
    pub fn assign(&mut self, agents: &[AgentDefinition]) {
        for agent in agents {
            if let Some(own) = agent.color {
                self.given.insert(agent.name.clone(), own);
            }
        }
        let mut uses = Color::ALL.map(|color| self.given.values().filter(|given| **given == color).count());
        for agent in agents {
            if self.given.contains_key(&agent.name) {
                continue;
            }
            let next =
                Color::ALL.into_iter().min_by_key(|color| uses[*color as usize]).unwrap_or(Color::Blue);
            uses[next as usize] += 1;
            self.given.insert(agent.name.clone(), next);
        }
    }

    /// The colour of an agent that was among those assigned.
    pub fn of(&self, name: &str) -> Option<Color> {
        self.given.get(name).copied()
    }
}

#[cfg(test)]
mod tests;
