//! Another model for the same conversation: by its name, if hooks have nothing against it.

use std::sync::{Arc, PoisonError};

use posse_core::hooks::answer::Verdict;
use posse_core::hooks::occasion::ModelSwitch;
use posse_core::hooks::{HookEvent, Occasion};
use posse_core::message::Usage;
use posse_core::price::{self, Price};
use serde_json::{Map, Value, json};

use super::provider::{Provider, client};
use super::{LaunchRequest, Launched, Reins, side};
use crate::authority::RunHooks;
use crate::hooks::HookMail;
use crate::model::Model;
use crate::tool::Cwd;

/// A model that can be switched to.
pub struct NextModel {
    model: Arc<dyn Model>,
    id: Box<str>,
    window: u64,
    switch: ModelSwitch,
    /// What a hook wants to have asked first.
    pub question: Option<String>,
}

/// What it takes to choose another model, also while a turn is under way.
#[derive(Clone)]
pub(super) struct Switchboard {
    judge: Arc<side::Side>,
    hooks: RunHooks,
    cwd: Cwd,
    pub(super) model: Arc<dyn Model>,
    /// As it was asked for, which tells whose it is.
    model_name: String,
    /// Its id.
    pub(super) id: Box<str>,
    context_tokens: u64,
}

/// A model that was chosen while a turn was under way.
pub(super) struct Switched {
    id: Box<str>,
    window: u64,
    requested: String,
}

impl Launched {
    /// The model as it would have to be asked for.
    pub fn model_name(&self) -> &str {
        &self.model_name
    }

    pub(super) fn switchboard(&self) -> Switchboard {
        Switchboard {
            judge: Arc::clone(&self.judge),
            hooks: self.hooks.clone(),
            cwd: self.cx.cwd.clone(),
            model: self.run.model(),
            model_name: self.model_name.clone(),
            id: self.facts.model.clone(),
            context_tokens: self.run.context_tokens(),
        }
    }

    /// Finds a model by its name and asks hooks about it. An error is why it will not be.
    pub async fn next_model(&self, name: &str) -> Result<NextModel, String> {
        self.switchboard().next(name).await
    }

    /// Takes note of a model that was chosen while a turn was under way.
    pub fn adopt_model(&mut self) {
        let switched = self.switched.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Switched { id, window, requested }) = switched else { return };
        (self.facts.model, self.facts.window) = (id, window);
        self.model_name = full_name(&self.model_name, &requested);
    }
}

impl Reins {
    /// Goes on with another model from the next request on, unless hooks object: its id, and what they have to say to
    /// the user.
    pub async fn switch_model(&self, name: &str) -> Result<(Box<str>, Vec<String>), String> {
        let board = &self.board;
        let NextModel { model, id, window, switch, question: _ } = board.next(name).await?;
        self.dials.set_model(model, id.clone(), window);
        let switched = Switched { id: id.clone(), window, requested: name.to_owned() };
        *self.switched.lock().unwrap_or_else(PoisonError::into_inner) = Some(switched);
        if !board.hooks.hears(HookEvent::PostModelSwitch) {
            return Ok((id, Vec::new()));
        }
        let merged = board.hooks.fire(&Occasion::PostModelSwitch(switch), &board.cwd.get()).await;
        let mail = board.hooks.mail().slot();
        merged.context.into_iter().for_each(|text| mail(HookMail { text, wakes: false }));
        Ok((id, merged.system_messages.into_iter().chain(merged.errors).collect()))
    }
}

/// A model as it would have to be asked for: a bare name means a model of whoever answers now.
fn full_name(current: &str, requested: &str) -> String {
    match (Provider::of(current), Provider::of(requested)) {
        (Provider::OpenAi(_), Provider::Anthropic) => format!("openai:{requested}"),
        _ => requested.to_owned(),
    }
}

impl Switchboard {
    async fn next(&self, name: &str) -> Result<NextModel, String> {
        let side::Side { names, world, .. } = &*self.judge;
        let current = Arc::clone(&self.model);
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
            from_model: self.id.to_string(),
            to_model: id.to_string(),
            requested_model: name.to_owned(),
            source: "command".into(),
            costs: costs(&id, self.context_tokens),
        };
        let question = self.ask_hooks(&switch).await?;
        Ok(NextModel { model, id, window: price::context_window(name), switch, question })
    }

    async fn ask_hooks(&self, switch: &ModelSwitch) -> Result<Option<String>, String> {
        if !self.hooks.hears(HookEvent::PreModelSwitch) {
            return Ok(None);
        }
        let occasion = Occasion::PreModelSwitch(switch.clone());
        let merged = self.hooks.fire(&occasion, &self.cwd.get()).await;
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
}

impl Launched {
    /// Goes on with another model; what hooks have to say to the user comes back.
    pub async fn switch_model(&mut self, next: NextModel) -> Vec<String> {
        let NextModel { model, id, window, switch, question: _ } = next;
        self.run.set_model(model, id.clone(), window);
        (self.facts.model, self.facts.window) = (id, window);
        self.model_name = full_name(&self.model_name, &switch.requested_model);
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
