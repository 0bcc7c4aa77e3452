//! Messages as lines: what comes in is read one line at a time, what goes out is written by one task.
//!
//! What cannot be read is answered with an error of the protocol and does not end the connection. A line has an end, and
//! so has the patience with a reader that does not read.

use std::io;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The longest message.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;
/// How many messages wait to be written.
const WAITING: usize = 64;
/// How long the last messages may take.
const LAST: Duration = Duration::from_secs(2);

/// A line to write, and whom to tell that it is.
type Out = (String, Option<oneshot::Sender<()>>);

/// A connection made of lines.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is passed over.
    skipping: bool,
    /// Whether anything was asked yet.
    begun: bool,
    output: Option<mpsc::Sender<Out>>,
    /// One task.
    writer: JoinSet<()>,
    /// Cancelled when the other side is gone.
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new<W>(input: R, output: W, gone: CancellationToken) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, lines) = mpsc::channel(WAITING);
        let mut writer = JoinSet::new();
        writer.spawn(write(output, lines, gone.clone()));
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            skipping: false,
            begun: false,
            output: Some(sender),
            writer,
            gone,
        }
    }

    /// The next line, which stays in `self.line`; no if there is none. What was read of a line is kept if this is dropped.
    async fn next_line(&mut self) -> bool {
        loop {
            let Ok(available) = self.input.fill_buf().await else { return false };
            if available.is_empty() {
                return false;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let was_skipping = self.skipping;
            if !was_skipping {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            self.skipping = self.skipping && end.is_none();
            if self.line.len() > LONGEST {
                self.line.clear();
                self.skipping = end.is_none();
                self.complain(&complaint(None, INVALID_REQUEST, "the message is longer than 16 MiB"));
            } else if end.is_some() && !was_skipping {
                return true;
            }
        }
    }

    /// Says what is wrong. Whoever sends nothing but nonsense and reads no answers gets none.
    fn complain(&self, complaint: &Value) {
        if let Some(output) = &self.output {
            let _ = output.try_send((complaint.to_string(), None));
        }
    }

    async fn next_message(&mut self) -> Option<ClientJsonRpcMessage> {
        while self.next_line().await {
            let heard = read(&self.line);
            self.line.clear();
            match heard {
                Heard::Message(message) => {
                    self.begun |= matches!(*message, ClientJsonRpcMessage::Request(_));
                    // Before the first request there is nothing to be told of.
                    if self.begun {
                        return Some(*message);
                    }
                }
                Heard::Nonsense(complaint) => self.complain(&complaint),
                Heard::Nothing => {}
            }
        }
        None
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "nobody reads any more");
            let text = serde_json::to_string(&message)?;
            let (written, wait) = oneshot::channel();
            let output = output.ok_or_else(gone)?;
            output.send((text, Some(written))).await.map_err(|_| gone())?;
            wait.await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let gone = self.gone.clone();
        let message = tokio::select! {
            message = self.next_message() => message,
            () = gone.cancelled() => None,
        };
        if message.is_none() {
            self.gone.cancel();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output = None;
        // Whoever has not read by then is not waited for.
        let _ = tokio::time::timeout(LAST, self.writer.join_next()).await;
        self.writer.abort_all();
        Ok(())
    }
}

/// Writes line after line; the end of whoever reads them is the end of the connection.
async fn write<W>(mut output: W, mut lines: mpsc::Receiver<Out>, gone: CancellationToken)
where
    W: AsyncWrite + Send + Unpin,
{
    while let Some((mut line, written)) = lines.recv().await {
        line.push('\n');
        let done = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        if done.await.is_err() {
            gone.cancel();
            return;
        }
        if let Some(written) = written {
            let _ = written.send(());
        }
    }
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// What a line says.
enum Heard {
    Message(Box<ClientJsonRpcMessage>),
    Nonsense(Value),
    Nothing,
}

fn complaint(id: Option<&Value>, code: i32, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
}

fn read(line: &[u8]) -> Heard {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Heard::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return Heard::Nonsense(complaint(None, PARSE_ERROR, &format!("not JSON: {error}"))),
    };
    let Some(object) = value.as_object() else {
        let text = "a message is one object; several at once are not understood";
        return Heard::Nonsense(complaint(None, INVALID_REQUEST, text));
    };
    let id = object.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let invalid = |text: &str| Heard::Nonsense(complaint(id, INVALID_REQUEST, text));
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` must be \"2.0\"");
    }
    if object.contains_key("id") && object.contains_key("method") && id.is_none() {
        return invalid("`id` must be a text or a whole number");
    }
    let is_notification = object.contains_key("method") && !object.contains_key("id");
    let unreadable = invalid("neither a request nor an answer");
    match serde_json::from_value(value) {
        Ok(message) => Heard::Message(Box::new(message)),
        // Nobody waits for an answer to it.
        Err(_) if is_notification => Heard::Nothing,
        Err(_) => unreadable,
    }
}

#[cfg(test)]
mod tests;
