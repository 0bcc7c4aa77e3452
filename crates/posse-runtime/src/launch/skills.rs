//! The skills of a session: the shelf they stand on, and who gets to use them.

use std::sync::Arc;

use posse_core::definition::AgentDefinition;
use posse_core::event::{Delta, What};
use posse_core::price;
use posse_core::tools::split_entries;

use super::provider::Provider;
use super::servers::{Belt, ServerCommands};
use super::{LaunchRequest, Launched};
use crate::catalog::Catalog;
use crate::run::Event;
use crate::skills::{self, Circumstances, Places, PluginSkills, Shelf, Typist};
use crate::tool::Permit;
use crate::tool::builtin::skill::Skill;
use crate::world::World;

/// The shelf of a session.
pub(super) fn shelf(
    world: &World,
    catalog: &Catalog,
    request: &LaunchRequest,
    session: &str,
    model: &str,
) -> Arc<Shelf> {
    let plugins = catalog.plugins.iter().map(PluginSkills::of).collect();
    let places = Places::of(catalog, world, &request.catalog, plugins);
    let mut circumstances = Circumstances::of(catalog, world, session, price::context_window(model));
    let flags = request.disallowed_tools.iter().flat_map(|list| split_entries(list));
    circumstances.denied.extend(skills::denied(flags.map(|(_, entry)| entry)));
    circumstances.only = request.skills.clone();
    circumstances.is_conversation = request.desk.is_staffed();
    if !matches!(Provider::of(model), Provider::Anthropic) {
        // What is no provider of its own answers for every model.
        circumstances.names = None;
    }
    Shelf::open(places, circumstances)
}

impl Launched {
    /// Lets the main agent use skills: people by typing them, the model by its tool, the agent it runs as from the
    /// start.
    pub(super) async fn learn(
        &mut self,
        shelf: &Arc<Shelf>,
        belt: &Arc<Belt>,
        agent: Option<&AgentDefinition>,
    ) {
        let has_tool = self.facts.tools.iter().any(|tool| tool == Skill::NAME);
        self.cx.terms.stand(shelf.harmless());
        let typist = Arc::new(Typist::new(Arc::clone(shelf), self.crew.clone(), has_tool));
        self.run.understands(Arc::new(ServerCommands { others: typist, belt: Arc::clone(belt) }));
        let Some(agent) = agent.filter(|agent| !agent.skills.is_empty()) else { return };
        let (texts, missing) = shelf.preload(&agent.skills, &self.run.unattended_context()).await;
        if self.run.history().is_empty() {
            self.run.greet(texts);
        }
        self.notes.extend(missing.into_iter().map(|why| format!("agent {}: {why}", agent.name)));
    }
}

impl super::crew::Crew {
    /// The texts of the skills that an agent starts with. What it does not get is said.
    pub(super) async fn preload(&self, names: &[Box<str>], member: &super::crew::Member) -> Vec<String> {
        if names.is_empty() {
            return Vec::new();
        }
        let mut cx = member.cx.clone();
        cx.permit = Permit::of(member.setup.guard.clone());
        let (texts, missing) = self.common.skills.preload(names, &cx).await;
        for why in missing {
            let note = format!("agent {}: {why}", member.kind);
            self.common.events.send(Event {
                what: What::Delta(Delta::Note(note)),
                ids: Vec::new(),
                from: None,
            });
        }
        texts
    }
}
