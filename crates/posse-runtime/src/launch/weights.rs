//! What a session puts before the conversation, and how long each piece is: what hosts show of a full window.
//!
//! Knows characters. Refuses to know how many tokens they are.

use posse_core::origin::{Origin, Source};

use super::Reins;
use crate::tool::builtin::agent::Agent;
use crate::tool::builtin::skill::Skill;

/// One piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// What it is called.
    pub name: String,
    /// Where it comes from, in a word.
    pub source: &'static str,
    /// The plugin that brings it, if one does.
    pub plugin: Option<String>,
    /// Its file, if it has one.
    pub path: Option<String>,
    /// How long it is.
    pub characters: usize,
    /// Whether it is known but not in the window.
    pub waits: bool,
}

/// Everything that stands before a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// The system prompt, part by part.
    pub system: Vec<Weight>,
    /// Tools that posse has itself, without what they tell of agents and skills.
    pub tools: Vec<Weight>,
    /// Tools of servers.
    pub server_tools: Vec<Weight>,
    /// Agents that somebody wrote.
    pub agents: Vec<Weight>,
    /// Files of standing instructions.
    pub memory: Vec<Weight>,
    /// Skills that the model is told of.
    pub skills: Vec<Weight>,
    /// How many skills and commands there are.
    pub commands: usize,
}

fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::BuiltIn => "built-in",
        Origin::Plugin => "plugin",
        Origin::Project => "projectSettings",
        Origin::User => "userSettings",
        Origin::Flag => "flagSettings",
        Origin::Managed => "policySettings",
    }
}

fn of_source(name: &str, source: &Source, characters: usize) -> Weight {
    let path = source.file.is_absolute().then(|| source.file.display().to_string());
    let plugin = source.plugin.as_ref().map(ToString::to_string);
    Weight { name: name.to_owned(), source: word(source.origin), plugin, path, characters, waits: false }
}

impl Reins {
    /// What stands before the conversation now.
    pub fn weights(&self) -> Weights {
        let (system, pool, _) = &self.told;
        let part = |(place, part): (usize, &crate::model::SystemPart)| Weight {
            name: match place {
                0 => "Prompt",
                _ if part.text.starts_with("# Environment") => "Environment",
                _ => "Added",
            }
            .to_owned(),
            characters: part.text.len(),
            ..Weight::default()
        };
        let agents: Vec<Weight> = self
            .crew
            .startable()
            .iter()
            .filter(|agent| agent.source.origin != Origin::BuiltIn)
            .map(|agent| of_source(&agent.name, &agent.source, agent.name.len() + agent.description.len()))
            .collect();
        let registry = self.live.shelf.registry();
        let skills: Vec<Weight> = registry
            .for_models(|_| true)
            .iter()
            .map(|skill| of_source(&skill.name, &skill.source, skill.name.len() + skill.description.len()))
            .collect();
        let sum = |weights: &[Weight]| weights.iter().map(|weight| weight.characters).sum::<usize>();
        let (of_agents, of_skills) = (sum(&agents), sum(&skills));
        let tool = |name: &String| {
            let spec = pool.get(name)?.spec();
            let own = spec.name.len() + spec.description.len() + spec.input_schema.to_string().len();
            let characters = match name.as_str() {
                Agent::NAME => own.saturating_sub(of_agents),
                Skill::NAME => own.saturating_sub(of_skills),
                _ => own,
            };
            Some(Weight { name: name.clone(), characters, waits: pool.is_waiting(name), ..Weight::default() })
        };
        let (server_tools, tools) =
            pool.names().iter().filter_map(tool).partition(|tool| tool.name.starts_with("mcp__"));
        let memory = self.instructions.iter().map(|file| Weight {
            name: file.path.clone(),
            source: file.memory.word(),
            path: Some(file.path.clone()),
            characters: file.text.len(),
            ..Weight::default()
        });
        Weights {
            system: system.iter().enumerate().map(part).collect(),
            tools,
            server_tools,
            agents,
            memory: memory.collect(),
            skills,
            commands: registry.slash_commands().len(),
        }
    }
}
