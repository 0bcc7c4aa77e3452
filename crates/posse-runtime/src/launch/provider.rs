//! Whose a model is, by the way it is named, and the client that speaks to it.

use std::sync::Arc;

use posse_core::definition::AgentDefinition;
use posse_core::model::ModelChoice;

use super::{LaunchError, LaunchRequest};
use crate::catalog::Catalog;
use crate::model::Model;
use crate::model::anthropic::Anthropic;
use crate::model::openai::OpenAi;
use crate::model::rehearsal::{Recorder, Rehearsal};
use crate::world::{Env, World};

/// The flag, then the agent, then environment and settings.
pub(super) fn model_name(
    request: &LaunchRequest,
    agent: Option<&AgentDefinition>,
    catalog: &Catalog,
) -> String {
    let flag = request.model.as_deref().map(ModelChoice::parse);
    let own = agent.map(|agent| agent.model.clone());
    let chosen = [flag, own].into_iter().flatten().find_map(|choice| choice.name().map(str::to_owned));
    chosen.unwrap_or_else(|| catalog.main.model.to_string())
}

/// A model by the way it is named: `rehearsal:FILE`, `openai:NAME`, or an Anthropic model.
pub(super) enum Provider<'n> {
    Rehearsal(&'n str),
    OpenAi(&'n str),
    Anthropic,
}

impl<'n> Provider<'n> {
    pub(super) fn of(name: &'n str) -> Self {
        match name.split_once(':') {
            Some(("rehearsal", file)) => Self::Rehearsal(file),
            Some(("openai", model)) => Self::OpenAi(model),
            Some(_) | None => Self::Anthropic,
        }
    }
}

/// What a model is called on the wire.
pub(super) fn wire_id(name: &str, catalog: &Catalog) -> Box<str> {
    match Provider::of(name) {
        Provider::OpenAi(name) => name.into(),
        Provider::Rehearsal(_) => name.into(),
        Provider::Anthropic => catalog.policy.model_names.wire_id(name),
    }
}

pub(super) fn client(
    name: &str,
    request: &LaunchRequest,
    key_helper: Option<&str>,
    world: &Arc<World>,
) -> Result<Arc<dyn Model>, LaunchError> {
    let model: Arc<dyn Model> = match Provider::of(name) {
        Provider::Rehearsal(file) => Arc::new(Rehearsal::open(&world.cwd.join(file), Arc::clone(world))?),
        Provider::OpenAi(_) => Arc::new(OpenAi::new(world)),
        Provider::Anthropic => {
            let mut model = Anthropic::new(world, key_helper);
            model.betas.extend(request.betas.iter().cloned());
            model.task_budget = request.task_budget;
            model.thinking_display = request.thinking_display.clone();
            Arc::new(model)
        }
    };
    match &request.record {
        None => Ok(model),
        Some(path) => {
            let path = world.cwd.join(path);
            let recorder = Recorder::new(model, &path, Arc::clone(world));
            Ok(Arc::new(recorder.map_err(|source| LaunchError::Unwritable { path, source })?))
        }
    }
}

pub(super) fn key_source(env: &Env, has_helper: bool) -> &'static str {
    if env.get("ANTHROPIC_API_KEY").is_some() {
        "ANTHROPIC_API_KEY"
    } else if has_helper {
        "apiKeyHelper"
    } else {
        "none"
    }
}
