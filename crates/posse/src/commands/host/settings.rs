//! Settings that a host changes while the session runs, and what it is told of them. Which of them can count at once is
//! known here and in `posse_runtime::launch`; whatever cannot is said.

use posse_core::definition::{Effort, EffortLevel};
use posse_core::event::{Delta, What};
use posse_core::permission::Mode;
use posse_core::settings::{KEYS, Key, find_key};
use posse_runtime::launch::Reins;
use posse_runtime::model::Thinking;
use posse_runtime::run::Event;
use serde_json::{Map, Value, json};

use super::control::{Handled, acknowledged, done, refused};
use super::incoming::Request;
use super::side::Side;

/// What counts at once. Of `permissions` everything but what is only for the start.
const AT_ONCE: [&str; 10] = [
    "model",
    "permissions",
    "disableAutoMode",
    "env",
    "hooks",
    "disableAllHooks",
    "allowedHttpHookUrls",
    "httpHookAllowedEnvVars",
    "effortLevel",
    "alwaysThinkingEnabled",
];

/// What the user should know of settings that were changed.
fn leftovers(settings: &Map<String, Value>) -> Vec<String> {
    let late = settings.keys().filter(|key| !AT_ONCE.contains(&key.as_str()));
    let is_used = |key: &str| {
        let below = |row: &&Key| {
            row.name == key || row.name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
        };
        KEYS.iter().filter(below).any(|row| row.used)
    };
    late.map(|key| match find_key(key) {
        Some(_) if is_used(key) => format!("the setting `{key}` counts only at the start of a session"),
        Some(_) => format!("posse does not act on the setting `{key}`"),
        None => format!("posse does not know the setting `{key}`"),
    })
    .collect()
}

/// What a host may write down, by file. These files hold rules and hooks, too, so each key is a decision.
const WRITABLE: [(&str, &str); 2] = [("localSettings", "outputStyle"), ("userSettings", "effortLevel")];

/// Why settings cannot be written down, if they cannot.
fn may_write(source: &str, settings: &Map<String, Value>) -> Result<(), String> {
    let Some((_, allowed)) = WRITABLE.iter().find(|(file, _)| *file == source) else {
        return Err(format!("settings of {source:?} cannot be written"));
    };
    for (key, value) in settings {
        if key != allowed {
            return Err(format!("update_settings writes only `{allowed}` to {source}, not `{key}`"));
        }
        let Some(value) = value.as_str() else {
            return Err(format!("update_settings writes `{key}` only as a text"));
        };
        let is_level = EffortLevel::ALL.iter().any(|level| level.name() == value) && value != "max";
        if key == "effortLevel" && !is_level {
            return Err(format!("{value:?} is no effort that is written down"));
        }
    }
    Ok(())
}

/// How a session began, for what is set back.
struct First {
    thinking: Thinking,
    effort: Option<Effort>,
}

/// The model that settings ask for: one by its name, or the first.
fn model_of(settings: &Map<String, Value>) -> Option<Option<String>> {
    match settings.get("model")? {
        Value::String(model) => Some(Some(model.clone())),
        Value::Null => Some(None),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The settings that are no rules and no model: effort, thinking, mode.
fn adjust(settings: &Map<String, Value>, first: &First, reins: &Reins) {
    match settings.get("effortLevel") {
        Some(Value::Null) => reins.set_effort(first.effort),
        Some(level) => {
            let level = EffortLevel::ALL.into_iter().find(|known| Some(known.name()) == level.as_str());
            level.into_iter().for_each(|level| reins.set_effort(Some(Effort::Level(level))));
        }
        None => {}
    }
    match settings.get("alwaysThinkingEnabled") {
        Some(Value::Bool(true)) => reins.dials.set_thinking(Thinking::Adaptive),
        Some(Value::Bool(false)) => reins.dials.set_thinking(Thinking::Disabled),
        Some(_) => reins.dials.set_thinking(first.thinking),
        None => {}
    }
    leave_closed_mode(reins);
    let named = settings.get("permissions").and_then(|permissions| permissions.get("defaultMode")?.as_str());
    let Some(mode) = named.and_then(Mode::parse).filter(|mode| *mode != Mode::Bubble) else { return };
    match reins.set_mode(mode) {
        Ok(()) => tell_mode(mode, reins),
        Err(why) => reins.note(format!("the mode stays as it is: {why}")),
    }
}

/// A mode that settings have closed is left.
fn leave_closed_mode(reins: &Reins) {
    if !reins.is_open(reins.mode.current()) {
        reins.mode.set(Mode::Default);
        tell_mode(Mode::Default, reins);
    }
}

fn tell_mode(mode: Mode, reins: &Reins) {
    let what = What::Delta(Delta::ModeChanged(mode));
    reins.tell(Event { what, ids: Vec::new(), from: None });
}

impl Side {
    /// Merges settings into those of the flags.
    pub(super) fn apply_settings(&mut self, request: &Request, reins: &Reins, busy: bool) -> Handled {
        let Some(settings) = request.body.get("settings").and_then(Value::as_object) else {
            return refused("apply_flag_settings needs `settings`, an object");
        };
        match reins.add_flag_settings(settings) {
            Err(why) => refused(why),
            Ok(resettled) => {
                for note in resettled.notes.into_iter().chain(leftovers(settings)) {
                    self.wire.say(self.lines.note(&note));
                }
                adjust(settings, &self.first(), reins);
                let Some(model) = model_of(settings) else { return acknowledged() };
                // Its name is told where it is asked for; here nothing is.
                match self.choose_model(model, reins, busy) {
                    Handled::Now(Ok(_)) => acknowledged(),
                    other => other,
                }
            }
        }
    }

    /// Writes settings to a file, unless hooks object, and lets them count.
    pub(super) fn update_settings(&self, request: &Request, reins: &Reins) -> Handled {
        let source = request.text("source").unwrap_or_default().to_owned();
        let Some(settings) = request.body.get("settings").and_then(Value::as_object).cloned() else {
            return refused("update_settings needs `settings`, an object");
        };
        if let Err(why) = may_write(&source, &settings) {
            return refused(why);
        }
        let reins = reins.clone();
        Handled::Later(Box::pin(async move {
            let resettled = reins.write_settings(&source, &settings).await?;
            resettled.notes.into_iter().for_each(|note| reins.note(note));
            Ok(None)
        }))
    }

    fn first(&self) -> First {
        First { thinking: self.first_thinking, effort: self.first_effort }
    }

    /// What holds, who says so, and what came of it.
    pub(super) fn get_settings(&self, reins: &Reins) -> Handled {
        let (effective, sources) = reins.settings();
        let effort = reins.dials.chosen_effort().unwrap_or(self.first_effort);
        let sources =
            sources.into_iter().map(|(source, settings)| json!({ "source": source, "settings": settings }));
        let mut answer = json!({
            "effective": effective,
            "sources": sources.collect::<Vec<_>>(),
            "applied": {
                "model": self.lines.facts().model,
                "effort": effort.map(|effort| effort.to_string()),
                "permissionMode": reins.mode.current().name(),
            },
        });
        let errors = errors(reins);
        if !errors.is_empty() {
            answer["errors"] = json!(errors);
        }
        done(answer)
    }
}

/// What is wrong with settings files, as hosts read it.
pub(super) fn errors(reins: &Reins) -> Vec<Value> {
    let errors = reins.settings_errors().into_iter();
    errors.map(|(file, message)| json!({ "file": file, "path": "", "message": message })).collect()
}

#[cfg(test)]
mod tests;
