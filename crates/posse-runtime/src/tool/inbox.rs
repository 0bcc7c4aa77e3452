//! What others have written to a run, until it reads it between two steps.

use std::sync::{Arc, Mutex, PoisonError};

/// Messages to one run. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Inbox(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<String>,
    closed: bool,
}

impl Inbox {
    /// Puts a message in; `false` if nobody will read it any more.
    pub fn put(&self, text: String) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.closed {
            state.waiting.push(text);
        }
        !state.closed
    }

    /// Everything that waits, oldest first.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).waiting)
    }

    /// Closes the box if nothing waits in it, and says whether it is closed: nothing is lost between the last look and
    /// the end.
    pub fn close_if_empty(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed |= state.waiting.is_empty();
        state.closed
    }

    /// Closes the box with everything in it: whoever goes on with the run finds it.
    pub fn seal(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
    }

    /// Closes the box and hands back what nobody read.
    pub fn close(&self) -> Vec<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }
}
