//! The permission mode of a run, which can change while it runs. Knows the way into planning and back; what a mode
//! allows is decided elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::permission::Mode;

/// A mode that tools, rules and frontends share.
#[derive(Clone, Debug)]
pub struct SharedMode(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    current: Mode,
    /// Where planning leads back to.
    before_plan: Mode,
}

impl From<Mode> for SharedMode {
    fn from(mode: Mode) -> Self {
        // A run that begins with planning goes on with asking.
        let before_plan = if mode == Mode::Plan { Mode::Default } else { mode };
        Self(Arc::new(Mutex::new(State { current: mode, before_plan })))
    }
}

impl Default for SharedMode {
    fn default() -> Self {
        Self::from(Mode::Default)
    }
}

impl SharedMode {
    /// The mode now.
    pub fn current(&self) -> Mode {
        self.lock().current
    }

    /// Changes the mode.
    pub fn set(&self, mode: Mode) {
        let mut state = self.lock();
        if mode != Mode::Plan {
            state.before_plan = mode;
        }
        state.current = mode;
    }

    /// The mode that comes after planning: the one before it.
    pub fn after_plan(&self) -> Mode {
        self.lock().before_plan
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
