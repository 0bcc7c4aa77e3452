//! What a skill asks for until the turn ends: leave for some tools, another model, more effort.
//!
//! Kept by the run's tools and read by whoever judges its calls and makes its requests. Knows nothing of who may ask
//! for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::definition::Effort;
use posse_core::message::ToolCall;
use posse_core::permission::Rule;

use crate::hooks::SkillHooks;

/// What holds until the turn ends.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Rules that allow.
    pub rules: Vec<Rule>,
    /// The id of the model that answers.
    pub model: Option<Box<str>>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
}

/// The terms of a run. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct TurnTerms {
    turn: Arc<Mutex<Terms>>,
    /// Rules that hold for the whole session: what needs nobody's leave because it gives none.
    standing: Arc<Mutex<Arc<[Rule]>>>,
    /// What tools are called besides their names, for the whole session.
    aliases: Arc<Mutex<HashMap<Box<str>, Box<str>>>>,
    /// Rules that hold for as long as the run: of the skill it was started to follow.
    own: Arc<[Rule]>,
    /// Rules for the agent that is about to be started.
    bequest: Arc<[Rule]>,
    /// Hooks for that agent, of the skill it is to follow; for the agent itself, those it was started with.
    hooks: Option<Arc<SkillHooks>>,
}

impl TurnTerms {
    fn lock(&self) -> MutexGuard<'_, Terms> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For another run: what holds for the session is shared, what holds for a turn is its own, and it gets what is left
    /// to it.
    pub fn child(&self) -> Self {
        Self {
            standing: Arc::clone(&self.standing),
            aliases: Arc::clone(&self.aliases),
            own: Arc::clone(&self.bequest),
            hooks: self.hooks.clone(),
            ..Self::default()
        }
    }

    /// The same, with rules and hooks for the agent that is about to be started.
    pub fn bequeathing(&self, rules: &[Rule], hooks: Option<Arc<SkillHooks>>) -> Self {
        Self { bequest: rules.into(), hooks, ..self.clone() }
    }

    /// The hooks that were left to this run.
    pub fn hooks(&self) -> Option<&Arc<SkillHooks>> {
        self.hooks.as_ref()
    }

    /// The same with more rules, which nobody else gets.
    pub fn with(&self, rules: &[Rule]) -> Self {
        let mut terms = self.lock().clone();
        terms.rules.extend(rules.iter().cloned());
        Self { turn: Arc::new(Mutex::new(terms)), ..self.clone() }
    }

    /// Another turn begins: nothing is left of the last one's.
    pub fn begin_turn(&self) {
        *self.lock() = Terms::default();
    }

    /// From now on until the turn ends. What was asked for before stays, where this does not say otherwise.
    pub fn add(&self, terms: Terms) {
        let Terms { rules, model, effort } = terms;
        let mut now = self.lock();
        now.rules.extend(rules);
        now.model = model.or(now.model.take());
        now.effort = effort.or(now.effort);
    }

    /// Rules for the whole session, instead of those from before.
    pub fn stand(&self, rules: Vec<Rule>) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = rules.into();
    }

    /// Lets tools be called by other names, too, in the whole session.
    pub fn set_aliases(&self, aliases: impl IntoIterator<Item = (Box<str>, Box<str>)>) {
        *self.aliases.lock().unwrap_or_else(PoisonError::into_inner) = aliases.into_iter().collect();
    }

    /// A call by the name that its tool has. What the name stands for is not looked up again.
    pub fn named(&self, mut call: ToolCall) -> ToolCall {
        if let Some(name) = self.aliases.lock().unwrap_or_else(PoisonError::into_inner).get(&call.name) {
            call.name.clone_from(name);
        }
        call
    }

    /// The rules of the turn and of the run.
    pub fn rules(&self) -> Vec<Rule> {
        self.lock().rules.iter().chain(&*self.own).cloned().collect()
    }

    /// The rules of the session.
    pub fn standing(&self) -> Arc<[Rule]> {
        Arc::clone(&self.standing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The model that answers, if it is not the run's.
    pub fn model(&self) -> Option<Box<str>> {
        self.lock().model.clone()
    }

    /// How hard it thinks, if not as the run says.
    pub fn effort(&self) -> Option<Effort> {
        self.lock().effort
    }
}
