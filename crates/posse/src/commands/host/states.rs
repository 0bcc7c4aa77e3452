//! What the session is doing, for hosts that wait for its end: running, waiting for a person, idle.

use std::sync::{Arc, Mutex, PoisonError};

use posse_runtime::world::{Env, Ids};
use serde_json::json;

use super::wire::Wire;

/// Tells the host whenever the state changes. Copies tell of the same.
#[derive(Clone)]
pub(super) struct States(Arc<Inner>);

struct Inner {
    wire: Wire,
    ids: Arc<Ids>,
    audience: Option<Audience>,
    now: Mutex<Now>,
}

/// Who wants to hear of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// The program that uses the host.
    Everybody,
    /// Only the host itself.
    Host,
}

struct Now {
    session: String,
    busy: bool,
    asked: usize,
    told: &'static str,
}

impl States {
    pub(super) fn new(wire: &Wire, env: &Env, ids: &Arc<Ids>) -> Self {
        let audience = if env.is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") {
            Some(Audience::Everybody)
        } else {
            env.is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE").then_some(Audience::Host)
        };
        let now = Now { session: String::new(), busy: false, asked: 0, told: "idle" };
        Self(Arc::new(Inner { wire: wire.clone(), ids: Arc::clone(ids), audience, now: Mutex::new(now) }))
    }

    /// The session that is spoken of.
    pub(super) fn name(&self, session: &str) {
        self.change(|now| session.clone_into(&mut now.session));
    }

    /// A prompt is taken up.
    pub(super) fn running(&self) {
        self.change(|now| now.busy = true);
    }

    /// Nothing is left to do.
    pub(super) fn idle(&self) {
        self.change(|now| now.busy = false);
    }

    /// The word for it now.
    pub(super) fn word(&self) -> &'static str {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner).told
    }

    /// Somebody is asked, until this is dropped.
    pub(super) fn asking(&self) -> Asking {
        self.change(|now| now.asked += 1);
        Asking(self.clone())
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        let mut now = self.0.now.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut now);
        let word = match (now.busy, now.asked) {
            (_, 1..) => "requires_action",
            (true, 0) => "running",
            (false, 0) => "idle",
        };
        if word == now.told {
            return;
        }
        now.told = word;
        let Some(audience) = self.0.audience else { return };
        let mut line = json!({
            "type": "system",
            "subtype": "session_state_changed",
            "state": word,
            "session_id": now.session,
            "uuid": self.0.ids.uuid(),
        });
        if audience == Audience::Host {
            line["sdk_host_only"] = json!(true);
        }
        self.0.wire.say(line);
    }
}

/// A question that is open.
pub(super) struct Asking(States);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.change(|now| now.asked = now.asked.saturating_sub(1));
    }
}
