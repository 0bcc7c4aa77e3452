//! The older transport: one stream of events from the server, and an address, told on it, where messages are posted.

use futures_util::stream::{BoxStream, StreamExt as _};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::RoleClient;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::worker::{Worker, WorkerContext, WorkerQuitReason};
use sse_stream_rmcp::{Error as EventError, Sse as Event};
use tokio::task::{JoinError, JoinSet};
use url::Url;

use super::http::Web;

type Failure = StreamableHttpError<reqwest::Error>;

/// A stream that is open and has told where to post.
pub(super) struct Sse {
    web: Web,
    events: BoxStream<'static, Result<Event, EventError>>,
    post_to: Url,
}

impl Sse {
    /// Opens the stream and waits for the address.
    pub(super) async fn open(web: Web) -> Result<Self, Failure> {
        let mut events = web.events().await?;
        while let Some(event) = events.next().await {
            let Event { event: Some(kind), data: Some(data), .. } = event? else { continue };
            if kind == "endpoint" {
                let post_to = web.url().join(data.trim());
                // A server that sends us elsewhere would send the user's token along.
                return match post_to {
                    Ok(post_to) if post_to.origin() == web.url().origin() => {
                        Ok(Self { web, events, post_to })
                    }
                    Ok(_) | Err(_) => Err(StreamableHttpError::UnexpectedServerResponse(
                        "it wants messages to be sent to another server".into(),
                    )),
                };
            }
        }
        Err(StreamableHttpError::UnexpectedEndOfStream)
    }
}

impl Worker for Sse {
    type Error = Failure;
    type Role = RoleClient;

    fn err_closed() -> Failure {
        StreamableHttpError::TransportChannelClosed
    }

    fn err_join(error: JoinError) -> Failure {
        StreamableHttpError::TokioJoinError(error)
    }

    async fn run(self, mut context: WorkerContext<Self>) -> Result<(), WorkerQuitReason<Failure>> {
        let Self { web, mut events, post_to } = self;
        // Beside each other: an answer on the stream may be what lets a post end.
        let mut posts = JoinSet::new();
        loop {
            tokio::select! {
                () = context.cancellation_token.cancelled() => return Err(WorkerQuitReason::Cancelled),
                event = events.next() => match event {
                    Some(Ok(event)) => if let Some(message) = message(&event) {
                        context.send_to_handler(message).await?;
                    },
                    Some(Err(error)) => return Err(WorkerQuitReason::fatal(error.into(), "reading events")),
                    None => return Err(WorkerQuitReason::TransportClosed),
                },
                request = context.from_handler_rx.recv() => {
                    let request = request.ok_or(WorkerQuitReason::HandlerTerminated)?;
                    let (web, url) = (web.clone(), post_to.clone());
                    posts.spawn(async move {
                        let sent = web.send(url, &request.message).await;
                        let _ = request.responder.send(sent);
                    });
                }
                Some(_) = posts.join_next() => {}
            }
        }
    }
}

/// The message in an event; what is none is passed over, as on every transport.
fn message(event: &Event) -> Option<ServerJsonRpcMessage> {
    let is_message = event.event.as_deref().is_none_or(|kind| kind == "message" || kind.is_empty());
    serde_json::from_str(event.data.as_deref().filter(|_| is_message)?).ok()
}
