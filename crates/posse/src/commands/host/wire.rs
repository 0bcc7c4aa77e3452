//! The line to the host: JSON objects out, JSON objects in, and requests of ours that wait for their answers.
//!
//! Two threads of its own read and write: a host that does not listen, or says nothing, holds up no work. Every request
//! ends: with the answer, when nobody wants it any more, or when the host is gone. Knows the envelope and nothing of what
//! is in it.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use posse_runtime::hooks::Callbacks;
use posse_runtime::mcp::{Greeted, HostServers};
use posse_runtime::world::Ids;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::incoming::{self, Incoming};
use crate::commands::lines::{self, Far, Line};

/// Readers give up on longer lines: a mebibyte, with some room.
const LONGEST_LINE: usize = 1_000_000;
/// What a request is told when the host has gone.
const GONE: &str = "stream closed before response received";

/// The line. Copies are the same line.
#[derive(Clone)]
pub(super) struct Wire(Arc<Shared>);

struct Shared {
    /// Nothing more after nothing.
    out: std::sync::mpsc::Sender<Option<String>>,
    ids: Arc<Ids>,
    waiting: Mutex<Waiting>,
    /// Servers of the host that somebody listens to.
    unasked: Mutex<BTreeMap<String, UnboundedSender<Value>>>,
    /// What servers said when the host greeted them.
    greeted: Mutex<BTreeMap<String, Greeted>>,
    /// Whether the host answers questions of servers.
    elicits: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    closed: bool,
    by_id: BTreeMap<String, (Kind, oneshot::Sender<Result<Value, String>>)>,
}

/// What a request of ours is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A question to a person, which an interrupt takes back.
    Ask,
    /// A hook, which hears of what happens also when it cannot answer any more.
    Hook,
    /// Anything else.
    Other,
}

/// What comes in besides answers.
#[derive(Debug)]
pub(super) enum Input {
    /// A line.
    Line(Incoming),
    /// A line that cannot be read, and why.
    Bad(String),
    /// There is no more.
    End,
}

/// The far end: what is read, and how it ends.
pub(super) struct Ends {
    /// What comes in.
    pub(super) inbox: UnboundedReceiver<Input>,
    /// Whether nothing can be written any more.
    pub(super) broken: CancellationToken,
    /// Told when everything is written and nobody can write any more.
    pub(super) written: oneshot::Receiver<()>,
}

impl Wire {
    /// A line over these two.
    pub(super) fn open(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        ids: Arc<Ids>,
    ) -> (Self, Ends) {
        let (out, Far { broken, written }) = lines::write(output);
        let (sender, inbox) = unbounded_channel();
        let wire = Self(Arc::new(Shared {
            out,
            ids,
            waiting: Mutex::default(),
            unasked: Mutex::default(),
            greeted: Mutex::default(),
            elicits: AtomicBool::new(false),
        }));
        // Weak: the reader may wait for input for ever, and must not keep the writer from its end.
        let reader = Arc::downgrade(&wire.0);
        std::thread::spawn(move || {
            let mut input = input;
            while let Some(line) = lines::read(&mut input) {
                let Some(shared) = reader.upgrade() else { return };
                let came = match line {
                    Line::Text(line) => Self(shared).take(&line),
                    Line::TooLong => {
                        Some(Input::Bad(format!("a line of more than {} bytes", lines::LONGEST)))
                    }
                };
                if let Some(came) = came
                    && sender.send(came).is_err()
                {
                    return;
                }
            }
            if let Some(shared) = reader.upgrade() {
                Self(shared).close();
            }
            let _ = sender.send(Input::End);
        });
        (wire, Ends { inbox, broken, written })
    }

    /// Takes a line; answers go to whoever waits for them.
    fn take(&self, line: &str) -> Option<Input> {
        match incoming::parse(line) {
            Err(why) => Some(Input::Bad(why)),
            Ok(Incoming::Nothing) => None,
            Ok(Incoming::Response(id, answer)) => {
                let waiting = self.waiting().by_id.remove(&id);
                if let Some((_, reply)) = waiting {
                    let _ = reply.send(answer);
                }
                None
            }
            Ok(line @ (Incoming::User(_) | Incoming::Request(_) | Incoming::Cancel(_))) => {
                Some(Input::Line(line))
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host says nothing any more: nobody gets an answer.
    fn close(&self) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        for (_, (_, reply)) in std::mem::take(&mut waiting.by_id) {
            let _ = reply.send(Err(GONE.to_owned()));
        }
    }

    /// Says something.
    pub(super) fn say(&self, line: Value) {
        // A writer that is gone has told so.
        let _ = self.0.out.send(Some(fit(line)));
    }

    /// Says nothing more.
    pub(super) fn end(&self) {
        self.close();
        let _ = self.0.out.send(None);
    }

    /// Answers a request.
    pub(super) fn answer(&self, id: &str, response: Option<Value>) {
        let mut envelope = json!({ "subtype": "success", "request_id": id });
        if let Some(response) = response {
            envelope["response"] = response;
        }
        self.say(json!({ "type": "control_response", "response": envelope }));
    }

    /// Answers a greeting: what is asked and not yet answered stands beside the answer. Of an earlier process there is
    /// never anything.
    pub(super) fn greet(&self, id: &str, response: Value) {
        let envelope = json!({
            "subtype": "success",
            "request_id": id,
            "response": response,
            "pending_permission_requests": [],
            "pending_user_dialog_requests": [],
        });
        self.say(json!({ "type": "control_response", "response": envelope }));
    }

    /// Answers a request with an error.
    pub(super) fn refuse(&self, id: &str, why: &str, code: Option<&str>) {
        let mut envelope = json!({ "subtype": "error", "request_id": id, "error": why });
        if let Some(code) = code {
            envelope["error_code"] = json!(code);
        }
        self.say(json!({ "type": "control_response", "response": envelope }));
    }

    /// Asks the host for something. Dropping the future tells it that nobody waits any more.
    pub(super) async fn request(&self, kind: Kind, request: Value) -> Result<Value, String> {
        let id = self.0.ids.uuid();
        let (reply, answer) = oneshot::channel();
        {
            let mut waiting = self.waiting();
            if waiting.closed {
                drop(waiting);
                if kind == Kind::Hook {
                    self.say(json!({ "type": "control_request", "request_id": id, "request": request }));
                }
                return Err(GONE.to_owned());
            }
            waiting.by_id.insert(id.clone(), (kind, reply));
        }
        let withdrawing = Withdrawing { wire: self, id: &id };
        self.say(json!({ "type": "control_request", "request_id": id, "request": request }));
        let answer = answer.await.unwrap_or_else(|_| Err("the request was taken back".to_owned()));
        drop(withdrawing);
        answer
    }

    /// Takes back what a person is asked.
    pub(super) fn withdraw_asks(&self) {
        let asks: Vec<String> = {
            let waiting = self.waiting();
            let asks = waiting.by_id.iter().filter(|(_, (kind, _))| *kind == Kind::Ask);
            asks.map(|(id, _)| id.clone()).collect()
        };
        asks.iter().for_each(|id| self.withdraw(id));
    }

    fn withdraw(&self, id: &str) {
        if self.waiting().by_id.remove(id).is_some() {
            self.say(json!({ "type": "control_cancel_request", "request_id": id }));
        }
    }

    /// Takes what servers said when the host greeted them.
    pub(super) fn know(&self, greeted: Vec<(String, Greeted)>) {
        self.0.greeted.lock().unwrap_or_else(PoisonError::into_inner).extend(greeted);
    }

    /// The host answers questions of servers.
    pub(super) fn elicits(&self) {
        self.0.elicits.store(true, Ordering::Relaxed);
    }

    /// Hands on what a server of the host says unasked; says whether anybody listens.
    pub(super) fn said_by_server(&self, server: &str, message: Value) -> bool {
        let unasked = self.0.unasked.lock().unwrap_or_else(PoisonError::into_inner);
        unasked.get(server).is_some_and(|listener| listener.send(message).is_ok())
    }
}

/// A request that is taken back unless it was answered.
struct Withdrawing<'a> {
    wire: &'a Wire,
    id: &'a str,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        self.wire.withdraw(self.id);
    }
}

impl Callbacks for Wire {
    fn call<'a>(
        &'a self,
        id: &'a str,
        input: &'a Value,
        tool_use_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Value, String>> {
        // Hosts want some id, also where no tool is used.
        let tool = tool_use_id.map_or_else(|| self.0.ids.uuid(), str::to_owned);
        let request =
            json!({ "subtype": "hook_callback", "callback_id": id, "input": input, "tool_use_id": tool });
        Box::pin(self.request(Kind::Hook, request))
    }

    fn is_gone(&self) -> bool {
        self.waiting().closed
    }
}

impl HostServers for Wire {
    fn send<'a>(&'a self, server: &'a str, message: Value) -> BoxFuture<'a, Result<Value, String>> {
        let request = json!({ "subtype": "mcp_message", "server_name": server, "message": message });
        Box::pin(async move {
            let answer = self.request(Kind::Other, request).await?;
            Ok(answer.get("mcp_response").cloned().unwrap_or_default())
        })
    }

    fn listen(&self, server: &str) -> UnboundedReceiver<Value> {
        let (sender, receiver) = unbounded_channel();
        let mut unasked = self.0.unasked.lock().unwrap_or_else(PoisonError::into_inner);
        unasked.insert(server.to_owned(), sender);
        receiver
    }

    fn greeted(&self, server: &str) -> Option<Greeted> {
        self.0.greeted.lock().unwrap_or_else(PoisonError::into_inner).remove(server)
    }

    fn elicit(&self, question: Value) -> Option<BoxFuture<'_, Result<Value, String>>> {
        let asks = self.0.elicits.load(Ordering::Relaxed);
        asks.then(|| Box::pin(self.request(Kind::Ask, question)) as BoxFuture<'_, _>)
    }
}

/// The text of a line, short enough to be read: the structured result of a tool is left out first, then long texts are
/// cut.
fn fit(mut line: Value) -> String {
    let mut text = line.to_string();
    let mut most = 200_000;
    while text.len() > LONGEST_LINE && most > 100 {
        let result = line.get_mut("tool_use_result").filter(|result| !result.is_null());
        match result {
            Some(result) => *result = Value::Null,
            None => {
                cut(&mut line, most);
                most /= 2;
            }
        }
        text = line.to_string();
    }
    text
}

fn cut(value: &mut Value, most: usize) {
    match value {
        Value::String(text) if text.len() > most => {
            let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
            let left_out = text.len() - end;
            text.truncate(end);
            text.push_str(&format!("… [{left_out} bytes left out]"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, most)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cut(field, most)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
