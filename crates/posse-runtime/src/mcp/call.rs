//! One question to a server and its answer: with a limit, with a way to stop it, and with the progress it reports.

use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification,
    CancelledNotificationParam, ClientRequest, ContentBlock, ProgressToken, RequestId, RequestMetaObject,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::McpError;
use super::connect::Connection;
use super::facts::cut;

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// So much is done.
    pub done: f64,
    /// Of so much, if the server knows.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

impl Progress {
    /// In a few words.
    pub fn words(&self) -> String {
        let Self { done, total, message } = self;
        let far = match total {
            Some(total) => format!("{done} of {total}"),
            None => done.to_string(),
        };
        match message.as_deref().filter(|message| !message.trim().is_empty()) {
            Some(message) => format!("{far}: {}", cut(message.trim().to_owned(), 200)),
            None => far,
        }
    }
}

/// How a tool is called.
#[derive(Default)]
pub struct CallOptions<'a> {
    /// Ends the call; the server is told.
    pub stop: CancellationToken,
    /// Hears of progress.
    pub progress: Option<&'a (dyn Fn(Progress) + Send + Sync)>,
    /// The id of the call towards the model.
    pub call: &'a str,
}

impl CallOptions<'_> {
    fn again(&self) -> Self {
        Self { stop: self.stop.clone(), progress: self.progress, call: self.call }
    }
}

/// How often a server may ask for more before it answers a call.
const ROUNDS: usize = 10;

/// Calls a tool.
pub(super) async fn call_tool(
    connection: &Connection,
    tool: &str,
    input: Map<String, Value>,
    limit: Duration,
    options: CallOptions<'_>,
) -> Result<CallToolResult, McpError> {
    let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(input);
    let mut meta = Map::new();
    if !options.call.is_empty() {
        meta.insert("claudecode/toolUseId".into(), options.call.into());
    }
    let what = format!("a call of {tool}");
    // Servers of the newer protocol answer with what they want to know, and are asked again with the answers.
    for _ in 0..ROUNDS {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
        let asked = Asked { what: &what, limit, meta: meta.clone(), options: options.again() };
        match ask(connection, request, asked).await? {
            ServerResult::CallToolResult(result) => return Ok(result),
            ServerResult::CustomResult(answer) => {
                return read_loosely(answer.0)
                    .ok_or_else(|| connection.nonsense("the answer is none to a call"));
            }
            ServerResult::InputRequiredResult(wanted) => {
                let answering = connection.answer(wanted.input_requests.unwrap_or_default());
                let answers = tokio::select! {
                    biased;
                    () = options.stop.cancelled() => return Err(McpError::Stopped),
                    answers = answering => answers?,
                };
                params.input_responses = (!answers.is_empty()).then_some(answers);
                params.request_state = wanted.request_state;
            }
            ServerResult::CreateTaskResult(_) => {
                return Err(connection.nonsense("it made a task of the call"));
            }
            _ => return Err(connection.nonsense("the answer is none to a call")),
        }
    }
    Err(connection.nonsense("it asks for more input without end"))
}

/// An answer that holds something nobody knows: what can be read is read, and the rest is named.
fn read_loosely(mut answer: Value) -> Option<CallToolResult> {
    let Value::Array(blocks) = answer.get_mut("content")?.take() else { return None };
    let read = |block: Value| {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or("nothing");
        let unknown = format!("[a part of the answer that posse cannot read: {}]", cut(kind.to_owned(), 100));
        serde_json::from_value(block).unwrap_or_else(|_| ContentBlock::text(unknown))
    };
    let mut result = CallToolResult::success(blocks.into_iter().map(read).collect());
    result.is_error = answer.get("isError").and_then(Value::as_bool);
    result.structured_content = answer.get("structuredContent").cloned();
    Some(result)
}

/// A question and how it is asked.
pub(super) struct Asked<'a> {
    pub(super) what: &'a str,
    pub(super) limit: Duration,
    pub(super) meta: Map<String, Value>,
    pub(super) options: CallOptions<'a>,
}

/// Asks and waits.
pub(super) async fn ask(
    connection: &Connection,
    request: ClientRequest,
    asked: Asked<'_>,
) -> Result<ServerResult, McpError> {
    let Asked { what, limit, meta, options } = asked;
    // Listening begins before asking, or the first news could be missed.
    let mut notes = connection.progress();
    let sending = PeerRequestOptions::no_options().with_meta(RequestMetaObject::from(meta));
    let sent = connection.peer().send_request_with_option(request, sending).await;
    let mut handle = match sent {
        Ok(handle) => handle,
        Err(error) => return Err(connection.failed(error).await),
    };
    let mut abandoned = Abandoned {
        peer: connection.peer().clone(),
        id: Some(handle.id.clone()),
        reason: "nobody waits for it any more",
        tasks: connection.tasks().clone(),
    };
    let deadline = tokio::time::sleep(limit);
    tokio::pin!(deadline);
    let answer = loop {
        tokio::select! {
            biased;
            () = options.stop.cancelled() => {
                abandoned.reason = "stopped by the user";
                return Err(McpError::Stopped);
            }
            answer = &mut handle.rx => break answer,
            note = notes.recv() => if let (Ok(note), Some(hear)) = (note, options.progress)
                && is_for(&note.progress_token, &handle.progress_token)
            {
                let message = note.message.clone();
                hear(Progress { done: note.progress, total: note.total, message });
            },
            () = &mut deadline => {
                abandoned.reason = "it took too long";
                return Err(McpError::TimedOut { server: connection.server().into(), what: what.into(), limit });
            }
        }
    };
    abandoned.id = None;
    match answer {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(connection.failed(error).await),
        Err(_) => Err(connection.failed(ServiceError::TransportClosed).await),
    }
}

fn is_for(token: &ProgressToken, wanted: &ProgressToken) -> bool {
    token == wanted
}

/// Tells the server that an answer is not wanted any more, whichever way the waiting ended.
struct Abandoned {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
    reason: &'static str,
    tasks: TaskTracker,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (peer, reason) = (self.peer.clone(), self.reason.to_owned());
        self.tasks.spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some(reason));
            let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
        });
    }
}
