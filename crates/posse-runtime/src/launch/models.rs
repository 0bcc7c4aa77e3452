//! Another model for the same conversation: by its name, if hooks have nothing against it.

use std::sync::Arc;

use posse_core::hooks::answer::Verdict;
use posse_core::hooks::occasion::ModelSwitch;
use posse_core::hooks::{HookEvent, Occasion};
use posse_core::message::Usage;
use posse_core::price::{self, Price};
use serde_json::{Map, Value, json};

use super::provider::{Provider, client};
use super::{LaunchRequest, Launched, side};
use crate::model::Model;

/// A model that can be switched to.
pub struct NextModel {
    model: Arc<dyn Model>,
    id: Box<str>,
    window: u64,
    switch: ModelSwitch,
    /// What a hook wants to have asked first.
    pub question: Option<String>,
}

impl Launched {
    /// The model as it would have to be asked for.
    pub fn model_name(&self) -> &str {
        &self.model_name
    }

    /// Finds a model by its name and asks hooks about it. An error is why it will not be.
    pub async fn next_model(&self, name: &str) -> Result<NextModel, String> {
        let side::Side { names, world, .. } = &*self.judge;
        let current = self.run.model();
        let another =
            || client(name, &LaunchRequest::default(), None, world).map_err(|error| error.to_string());
        // A bare name means a model of whoever answers now; a script has no others.
        let (model, id): (_, Box<str>) = match (Provider::of(&self.model_name), Provider::of(name)) {
            (_, Provider::Rehearsal(_)) => (another()?, name.into()),
            (_, Provider::OpenAi(id)) => (another()?, id.into()),
            (Provider::Anthropic, Provider::Anthropic) => (current, names.wire_id(name)),
            (Provider::OpenAi(_), Provider::Anthropic) => (current, name.into()),
            (Provider::Rehearsal(_), Provider::Anthropic) => (another()?, names.wire_id(name)),
        };
        let switch = ModelSwitch {
            from_model: self.facts.model.to_string(),
            to_model: id.to_string(),
            requested_model: name.to_owned(),
            source: "command".into(),
            costs: costs(&id, self.run.context_tokens()),
        };
        let question = self.ask_hooks(&switch).await?;
        Ok(NextModel { model, id, window: price::context_window(name), switch, question })
    }

    async fn ask_hooks(&self, switch: &ModelSwitch) -> Result<Option<String>, String> {
        if !self.hooks.hears(HookEvent::PreModelSwitch) {
            return Ok(None);
        }
        let occasion = Occasion::PreModelSwitch(switch.clone());
        let merged = self.hooks.fire(&occasion, &self.cx.cwd.get()).await;
        if merged.is_blocked() || merged.stop.is_some() {
            let why = merged.objection().or(merged.stop);
            return Err(why.unwrap_or_else(|| "a PreModelSwitch hook refused it".into()));
        }
        match merged.permission {
            Some((Verdict::Ask | Verdict::Defer, why)) => {
                Ok(Some(why.unwrap_or_else(|| "a hook wants to be sure".into())))
            }
            Some((Verdict::Allow | Verdict::Deny, _)) | None => Ok(None),
        }
    }

    /// Goes on with another model; what hooks have to say to the user comes back.
    pub async fn switch_model(&mut self, next: NextModel) -> Vec<String> {
        let NextModel { model, id, window, switch, question: _ } = next;
        self.run.set_model(model, id.clone(), window);
        (self.facts.model, self.facts.window) = (id, window);
        self.model_name = match (Provider::of(&self.model_name), Provider::of(&switch.requested_model)) {
            (Provider::OpenAi(_), Provider::Anthropic) => format!("openai:{}", switch.requested_model),
            _ => switch.requested_model.clone(),
        };
        if !self.hooks.hears(HookEvent::PostModelSwitch) {
            return Vec::new();
        }
        let merged = self.hooks.fire(&Occasion::PostModelSwitch(switch), &self.cx.cwd.get()).await;
        self.run.greet(merged.context);
        merged.system_messages.into_iter().chain(merged.errors).collect()
    }
}

/// What a switch takes: the new model has read nothing of the conversation yet.
fn costs(model: &str, context_tokens: u64) -> Map<String, Value> {
    let price = Price::of(model);
    let written = Usage { cache_write: context_tokens, ..Usage::default() };
    let fields = [
        ("context_tokens", json!(context_tokens)),
        ("prompt_cache_warm", json!(false)),
        ("cache_ttl", json!("5m")),
        ("estimated_cache_write_usd", json!(price.cost(&written))),
        ("pricing", json!({ "input": price.input, "output": price.output })),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
