//! What somebody outside turns while a turn is under way: it counts from the next request on.
//!
//! Knows what was turned last. Refuses to know who may turn it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::definition::Effort;

use super::Run;
use crate::model::{Model, Thinking};

/// What can be turned. Clones turn the same.
#[derive(Clone, Default)]
pub struct Dials(Arc<Mutex<Turned>>);

#[derive(Default)]
struct Turned {
    model: Option<(Arc<dyn Model>, Box<str>, u64)>,
    thinking: Option<Thinking>,
    /// The same, for as long as nobody says otherwise.
    chosen_thinking: Option<Thinking>,
    effort: Option<Option<Effort>>,
    /// The same, for as long as nobody says otherwise.
    chosen_effort: Option<Option<Effort>>,
    /// How to plan, if not as usual.
    planning: Option<Arc<str>>,
}

impl Dials {
    fn lock(&self) -> MutexGuard<'_, Turned> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another model, by its id, with so large a window.
    pub fn set_model(&self, model: Arc<dyn Model>, id: Box<str>, window: u64) {
        self.lock().model = Some((model, id, window));
    }

    /// How much to think.
    pub fn set_thinking(&self, thinking: Thinking) {
        let mut turned = self.lock();
        (turned.thinking, turned.chosen_thinking) = (Some(thinking), Some(thinking));
    }

    /// How much to think, if somebody has said so since the beginning.
    pub fn chosen_thinking(&self) -> Option<Thinking> {
        self.lock().chosen_thinking
    }

    /// Whatever model was chosen is out of date.
    pub(super) fn forget_model(&self) {
        self.lock().model = None;
    }

    /// How hard to try; nothing said leaves it to the model.
    pub fn set_effort(&self, effort: Option<Effort>) {
        let mut turned = self.lock();
        (turned.effort, turned.chosen_effort) = (Some(effort), Some(effort));
    }

    /// How hard to try, if somebody has said so since the beginning.
    pub fn chosen_effort(&self) -> Option<Option<Effort>> {
        self.lock().chosen_effort
    }

    /// How to go about planning.
    pub fn set_planning(&self, how: &str) {
        self.lock().planning = Some(how.into());
    }

    pub(super) fn planning(&self) -> Option<Arc<str>> {
        self.lock().planning.clone()
    }
}

impl Run {
    /// Takes over what was turned since the last request.
    pub(super) fn take_dials(&mut self) {
        let (model, thinking, effort) = {
            let mut turned = self.dials.lock();
            (turned.model.take(), turned.thinking.take(), turned.effort.take())
        };
        if let Some((model, id, window)) = model {
            (self.setup.model, self.setup.model_id, self.setup.window) = (model, id, window);
        }
        if let Some(thinking) = thinking {
            self.setup.thinking = thinking;
        }
        if let Some(effort) = effort {
            self.setup.effort = effort;
        }
    }
}
