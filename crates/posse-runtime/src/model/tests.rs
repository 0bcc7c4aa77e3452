//! What the tests of all providers share: a request, a world, and what was drawn of a reply.

use std::sync::{Arc, Mutex};

use posse_core::event::Delta;
use posse_core::failure::Failure;
use posse_core::message::{Block, Message, Reply};

use super::*;
use crate::world::{Env, Ids, World};

/// A short request.
pub(super) fn request(model: &str) -> Request {
    Request {
        model: model.into(),
        system: Arc::from([]),
        server_tools: Arc::from([]),
        tools: Arc::from([]),
        tools_off: false,
        messages: vec![Message::user("Hello")],
        max_tokens: 1000,
        thinking: Thinking::Default,
        effort: None,
        session: "session-1".into(),
        raw_events: false,
        agent: None,
        agent_kind: None,
    }
}

/// A world with nothing in it but these variables.
pub(super) fn world(vars: &[(&str, &str)]) -> World {
    World {
        env: Env::new(vars.iter().copied()),
        cwd: "/".into(),
        ids: Arc::new(Ids::seeded(1)),
        ..World::default()
    }
}

/// Makes a call and keeps what was streamed.
pub(super) async fn call(model: &dyn Model, request: &Request) -> (Result<Reply, Failure>, Vec<Delta>) {
    let deltas = Mutex::new(Vec::new());
    let result = model.call(request, &mut |delta| deltas.lock().unwrap().push(delta)).await;
    (result, deltas.into_inner().unwrap())
}

/// What somebody has before them who draws deltas as they come and wipes what is discarded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drawn {
    thoughts: String,
    text: String,
    calls: String,
}

impl Drawn {
    fn draw(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(more) => self.text.push_str(more),
            Delta::Thinking(more) => self.thoughts.push_str(more),
            Delta::ToolStart { id, name } => self.calls.push_str(&format!("{id} {name},")),
            Delta::Discarded => *self = Self::default(),
            _ => {}
        }
    }

    fn of(reply: &Reply) -> Self {
        let mut drawn = Self::default();
        for block in &reply.blocks {
            match block {
                Block::Text(text) => drawn.text.push_str(text),
                Block::Thinking { text, .. } => drawn.thoughts.push_str(text),
                Block::ToolUse(call) => drawn.calls.push_str(&format!("{} {},", call.id, call.name)),
                _ => {}
            }
        }
        drawn
    }

    fn begins(&self, whole: &Self) -> bool {
        let Self { thoughts, text, calls } = self;
        whole.thoughts.starts_with(thoughts) && whole.text.starts_with(text) && whole.calls.starts_with(calls)
    }
}

/// Whoever draws as things come never sees more than the reply holds, and in the end sees exactly that.
#[track_caller]
pub(super) fn nothing_is_doubled(deltas: &[Delta], reply: &Reply) {
    let whole = Drawn::of(reply);
    let mut drawn = Drawn::default();
    for delta in deltas {
        drawn.draw(delta);
        assert!(drawn.begins(&whole), "after {delta:?}: {drawn:?}");
    }
    assert_eq!(drawn, whole);
}
