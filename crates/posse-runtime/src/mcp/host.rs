//! Servers that live inside the program that started posse: their messages go through that program.
//!
//! Knows that somebody carries messages there and back, and makes a stream of lines of it, so that such a server is
//! greeted, asked and ended like every other. Refuses to know how the messages are carried.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, WriteHalf};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::task::TaskTracker;

/// Bytes that may be under way in one direction.
const UNDER_WAY: usize = 64 * 1024;
/// The protocol's version that such a server is asked for.
pub const PROTOCOL: &str = "2025-11-25";

/// Whoever carries messages to servers inside the program that started posse.
pub trait HostServers: Send + Sync {
    /// Hands a message to a server. The answer counts if the message is a request; an error says why there is none.
    fn send<'a>(&'a self, server: &'a str, message: Value) -> BoxFuture<'a, Result<Value, String>>;

    /// What a server says unasked, from now on. Whoever listened before hears nothing more.
    fn listen(&self, server: &str) -> UnboundedReceiver<Value>;

    /// What a server said when the host greeted it beforehand; told once.
    fn greeted(&self, server: &str) -> Option<Greeted>;

    /// Puts a question of any server to whoever uses the host; nothing if the host takes no such questions.
    fn elicit(&self, question: Value) -> Option<BoxFuture<'_, Result<Value, String>>>;
}

/// What a server answered to the greeting of somebody else.
#[derive(Clone, Debug, PartialEq)]
pub struct Greeted {
    /// The result of `initialize`.
    pub initialize: Value,
    /// The result of `tools/list`, if it was asked for.
    pub tools: Option<Value>,
}

/// The near end of a line to such a server. With a greeting, its first questions are answered from that.
pub(super) fn connect(
    host: &Arc<dyn HostServers>,
    server: &str,
    greeted: Option<Greeted>,
    tasks: &TaskTracker,
) -> DuplexStream {
    let (near, far) = tokio::io::duplex(UNDER_WAY);
    let (host, server) = (Arc::clone(host), Arc::<str>::from(server));
    tasks.spawn(async move { carry(host, server, greeted.map(Replay::new), far).await });
    near
}

/// Carries messages until the near end is closed. Requests are carried side by side: a slow tool holds up nothing.
async fn carry(host: Arc<dyn HostServers>, server: Arc<str>, mut replay: Option<Replay>, far: DuplexStream) {
    let mut unasked = host.listen(&server);
    let (from_near, mut to_near) = tokio::io::split(far);
    let mut lines = BufReader::new(from_near).lines();
    let mut under_way: JoinSet<Option<Value>> = JoinSet::new();
    let mut by_id: BTreeMap<String, AbortHandle> = BTreeMap::new();
    loop {
        let answer = tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
                match replay.as_mut().map_or(Replayed::No, |replay| replay.take(&message)) {
                    Replayed::Answer(answer) => Some(answer),
                    Replayed::Swallowed => None,
                    Replayed::No => {
                        by_id.retain(|_, work| !work.is_finished());
                        let id = message.get("id").map(Value::to_string);
                        let abandoned = abandoned(&message).and_then(|id| by_id.remove(&id));
                        let asking = ask(Arc::clone(&host), Arc::clone(&server), message);
                        let work = under_way.spawn(async move {
                            let answer = asking.await;
                            // The server first, then whoever carried the question.
                            abandoned.inspect(AbortHandle::abort);
                            answer
                        });
                        by_id.extend(id.map(|id| (id, work)));
                        None
                    }
                }
            }
            Some(done) = under_way.join_next() => done.ok().flatten(),
            Some(message) = unasked.recv() => Some(message),
        };
        if let Some(answer) = answer
            && write(&mut to_near, &answer).await.is_err()
        {
            return;
        }
    }
}

/// The request that nobody wants answered any more, if a message says so.
fn abandoned(message: &Value) -> Option<String> {
    let is_it = message.get("method").and_then(Value::as_str) == Some("notifications/cancelled");
    message.pointer("/params/requestId").filter(|_| is_it).map(Value::to_string)
}

/// A greeting that is answered from what was said before. It ends with the first question it has no answer to.
struct Replay {
    initialize: Option<Value>,
    tools: Option<Value>,
    is_over: bool,
}

/// What becomes of a message.
#[derive(Debug, PartialEq)]
enum Replayed {
    /// It has an answer.
    Answer(Value),
    /// The server has heard it before.
    Swallowed,
    /// The server must see it.
    No,
}

impl Replay {
    fn new(greeted: Greeted) -> Self {
        let Greeted { initialize, tools } = greeted;
        Self { initialize: Some(initialize), tools, is_over: false }
    }

    fn take(&mut self, message: &Value) -> Replayed {
        if self.is_over {
            return Replayed::No;
        }
        let known = match message.get("method").and_then(Value::as_str) {
            Some("initialize") => self.initialize.take(),
            Some("notifications/initialized") => return Replayed::Swallowed,
            Some("tools/list") if message.pointer("/params/cursor").is_none_or(Value::is_null) => {
                self.is_over = true;
                self.tools.take()
            }
            Some(_) | None => None,
        };
        match known {
            Some(result) => {
                let id = message.get("id").cloned().unwrap_or_default();
                Replayed::Answer(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            }
            None => {
                self.is_over = true;
                Replayed::No
            }
        }
    }
}

/// Hands one message over: the answer, if it was a request. One that fails is answered with an error of the protocol.
async fn ask(host: Arc<dyn HostServers>, server: Arc<str>, message: Value) -> Option<Value> {
    let id = message.get("id").filter(|_| message.get("method").is_some()).cloned();
    let answer = host.send(&server, message).await;
    let id = id?;
    Some(match answer {
        Ok(mut answer) if answer.is_object() => {
            // The answer to this request, whatever it calls itself.
            answer["id"] = id;
            answer
        }
        Ok(other) => failure(id, &format!("the answer is no object: {other}")),
        Err(why) => failure(id, &why),
    })
}

fn failure(id: Value, why: &str) -> Value {
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": why } })
}

async fn write(to: &mut WriteHalf<DuplexStream>, message: &Value) -> std::io::Result<()> {
    to.write_all(format!("{message}\n").as_bytes()).await?;
    to.flush().await
}

#[cfg(test)]
mod tests;
