//! The events the Messages API would have sent. Those who ask for raw events read that protocol and no other, so a
//! reply of another one is retold in it.

use posse_core::event::Delta;
use posse_core::message::{StopReason, Usage, json as shape};
use serde_json::{Value, json};

/// What has been told so far.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    begun: bool,
    blocks: Vec<Told>,
}

#[derive(Debug)]
struct Told {
    /// `text`, `thinking`, or the id of a call.
    what: Box<str>,
    open: bool,
}

impl Mirror {
    pub(super) fn text(&mut self, id: &str, model: &str, text: &str, on: &mut (dyn FnMut(Delta) + Send)) {
        let index = self.block(id, model, "text", || json!({ "type": "text", "text": "" }), on);
        told(on, delta(index, json!({ "type": "text_delta", "text": text })));
    }

    pub(super) fn thinking(&mut self, id: &str, model: &str, text: &str, on: &mut (dyn FnMut(Delta) + Send)) {
        let empty = || json!({ "type": "thinking", "thinking": "", "signature": "" });
        let index = self.block(id, model, "thinking", empty, on);
        told(on, delta(index, json!({ "type": "thinking_delta", "thinking": text })));
    }

    pub(super) fn call(
        &mut self,
        id: &str,
        model: &str,
        call: &str,
        name: &str,
        on: &mut (dyn FnMut(Delta) + Send),
    ) {
        let empty = || json!({ "type": "tool_use", "id": call, "name": name, "input": {} });
        self.block(id, model, call, empty, on);
    }

    pub(super) fn arguments(&mut self, call: &str, more: &str, on: &mut (dyn FnMut(Delta) + Send)) {
        let index = self.blocks.iter().rposition(|block| &*block.what == call);
        if let (Some(index), false) = (index, more.is_empty()) {
            told(on, delta(index, json!({ "type": "input_json_delta", "partial_json": more })));
        }
    }

    pub(super) fn finish(
        &mut self,
        id: &str,
        model: &str,
        stop: &StopReason,
        usage: &Usage,
        on: &mut (dyn FnMut(Delta) + Send),
    ) {
        self.begin(id, model, on);
        self.close(on, |_| true);
        let end = json!({ "stop_reason": stop.word(), "stop_sequence": null });
        told(on, json!({ "type": "message_delta", "delta": end, "usage": shape::usage(usage) }));
        told(on, json!({ "type": "message_stop" }));
    }

    fn begin(&mut self, id: &str, model: &str, on: &mut (dyn FnMut(Delta) + Send)) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": shape::usage(&Usage::default()),
        });
        told(on, json!({ "type": "message_start", "message": message }));
    }

    /// The index of the block that is open for this, opening one if there is none. Text and thoughts close each other;
    /// calls stay open, because their pieces may come by turns.
    fn block(
        &mut self,
        id: &str,
        model: &str,
        what: &str,
        empty: impl FnOnce() -> Value,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> usize {
        self.begin(id, model, on);
        if let Some(index) = self.blocks.iter().rposition(|block| block.open && &*block.what == what) {
            return index;
        }
        self.close(on, |block| matches!(&*block.what, "text" | "thinking"));
        let index = self.blocks.len();
        self.blocks.push(Told { what: what.into(), open: true });
        told(on, json!({ "type": "content_block_start", "index": index, "content_block": empty() }));
        index
    }

    fn close(&mut self, on: &mut (dyn FnMut(Delta) + Send), which: impl Fn(&Told) -> bool) {
        for (index, block) in
            self.blocks.iter_mut().enumerate().filter(|(_, block)| block.open && which(block))
        {
            block.open = false;
            told(on, json!({ "type": "content_block_stop", "index": index }));
        }
    }
}

fn delta(index: usize, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn told(on: &mut (dyn FnMut(Delta) + Send), event: Value) {
    on(Delta::Raw(event));
}
