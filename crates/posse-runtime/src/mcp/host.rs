//! Servers that live inside the program that started posse: their messages go through that program.
//!
//! Knows that somebody carries messages there and back, and makes a stream of lines of it, so that such a server is
//! greeted, asked and ended like every other. Refuses to know how the messages are carried.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, WriteHalf};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

/// Bytes that may be under way in one direction.
const UNDER_WAY: usize = 64 * 1024;

/// Whoever carries messages to servers inside the program that started posse.
pub trait HostServers: Send + Sync {
    /// Hands a message to a server. The answer counts if the message is a request; an error says why there is none.
    fn send<'a>(&'a self, server: &'a str, message: Value) -> BoxFuture<'a, Result<Value, String>>;

    /// What a server says unasked, from now on. Whoever listened before hears nothing more.
    fn listen(&self, server: &str) -> UnboundedReceiver<Value>;
}

/// The near end of a line to such a server.
pub(super) fn connect(host: &Arc<dyn HostServers>, server: &str, tasks: &TaskTracker) -> DuplexStream {
    let (near, far) = tokio::io::duplex(UNDER_WAY);
    let (host, server) = (Arc::clone(host), Arc::<str>::from(server));
    tasks.spawn(async move { carry(host, server, far).await });
    near
}

/// Carries messages until the near end is closed. Requests are carried side by side: a slow tool holds up nothing.
async fn carry(host: Arc<dyn HostServers>, server: Arc<str>, far: DuplexStream) {
    let mut unasked = host.listen(&server);
    let (from_near, mut to_near) = tokio::io::split(far);
    let mut lines = BufReader::new(from_near).lines();
    let mut under_way: JoinSet<Option<Value>> = JoinSet::new();
    loop {
        let answer = tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                if let Ok(message) = serde_json::from_str::<Value>(&line) {
                    under_way.spawn(ask(Arc::clone(&host), Arc::clone(&server), message));
                }
                None
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
