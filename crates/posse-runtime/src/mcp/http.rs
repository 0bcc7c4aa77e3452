//! Servers at an address: requests with the configured headers and the user's token, answers within bounds. rmcp reads
//! an answer in JSON to its end, however long that is; here it is read only as far as a message may go.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt as _};
use posse_core::mcp::McpConfig;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::ClientInitializeError;
use rmcp::transport::common::http_header::{EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, StreamableHttpClient, StreamableHttpClientTransport,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream_rmcp::{Error as SseError, Sse as Event, SseStream};
use url::Url;

use super::auth::Token;
use super::connect::Surroundings;
use super::lines::too_long;
use crate::net::{self, ClientOptions};

/// Redirects that are followed, and only within the server's own origin.
const REDIRECTS: usize = 5;
/// Headers that the protocol itself sets.
const RESERVED: [&str; 5] =
    ["accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

/// A way to one server at an address.
#[derive(Clone)]
pub(super) struct Web(Arc<Inner>);

struct Inner {
    client: reqwest::Client,
    url: Url,
    headers: HashMap<HeaderName, HeaderValue>,
    token: Option<Token>,
    most: usize,
}

type Failure = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Event, SseError>>;

impl Web {
    pub(super) async fn new(
        server: &str,
        url: &str,
        headers: &[(Box<str>, Box<str>)],
        config: &McpConfig,
        around: &Surroundings,
    ) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("its address cannot be read: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("its address begins with {}:, not with http: or https:", url.scheme()));
        }
        let mut given = HashMap::new();
        for (name, value) in headers {
            let wrong = || format!("the header {name} cannot be sent");
            let header = HeaderName::try_from(&**name).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(&**value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            if !RESERVED.contains(&header.as_str()) {
                given.insert(header, value);
            }
        }
        let options = ClientOptions { env: &around.world.env, endpoint: &url };
        let client = net::client(options).map_err(|error| error.to_string())?;
        // Whoever writes the header wants it sent, and not a token of ours.
        let token = match given.contains_key("authorization") {
            true => None,
            false => Token::load(server, config, &url, &around.world).await,
        };
        Ok(Self(Arc::new(Inner { client, url, headers: given, token, most: around.limits.message })))
    }

    /// The transport of today.
    pub(super) fn transport(&self) -> StreamableHttpClientTransport<Self> {
        let config = StreamableHttpClientTransportConfig::with_uri(self.0.url.as_str())
            .custom_headers(self.0.headers.clone())
            .max_sse_event_size(self.0.most)
            .reinit_on_expired_session(true);
        StreamableHttpClientTransport::with_client(self.clone(), config)
    }

    pub(super) fn url(&self) -> &Url {
        &self.0.url
    }

    /// The user's token for this server.
    async fn token(&self, given: Option<String>) -> Result<Option<String>, Failure> {
        match (&self.0.token, given) {
            (_, Some(given)) => Ok(Some(given)),
            (Some(token), None) => Ok(Some(token.get().await?)),
            (None, None) => Ok(None),
        }
    }

    /// Opens a stream of events.
    pub(super) async fn events(&self) -> Result<Events, Failure> {
        let token = self.token(None).await?;
        let mut request = self.0.client.get(self.0.url.clone()).header(ACCEPT, EVENT_STREAM_MIME_TYPE);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in &self.0.headers {
            request = request.header(name, value);
        }
        let response = checked(request.send().await?)?;
        match kind(&response) {
            Kind::Events => Ok(bounded(response, self.0.most)),
            Kind::Json | Kind::Other(_) => {
                Err(StreamableHttpError::UnexpectedContentType(content_type(&response)))
            }
        }
    }

    /// Sends a message to an address of the server; its answer does not come this way.
    pub(super) async fn send(&self, url: Url, message: &ClientJsonRpcMessage) -> Result<(), Failure> {
        let token = self.token(None).await?;
        let response = self.post(url, message, None, token, &self.0.headers).await?;
        checked(response).map(drop)
    }

    /// Posts, and follows redirects that stay with the server and keep the method.
    async fn post(
        &self,
        mut url: Url,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        token: Option<String>,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> Result<Response, Failure> {
        let body = serde_json::to_vec(message)?;
        for _ in 0..=REDIRECTS {
            let mut request = self.0.client.post(url.clone()).header(CONTENT_TYPE, JSON_MIME_TYPE);
            request = request.header(ACCEPT, format!("{JSON_MIME_TYPE}, {EVENT_STREAM_MIME_TYPE}"));
            for (name, value) in headers {
                request = request.header(name, value);
            }
            if let Some(token) = &token {
                request = request.bearer_auth(token);
            }
            if let Some(session) = session {
                request = request.header(HEADER_SESSION_ID, session);
            }
            let response = request.body(body.clone()).send().await?;
            match redirected(&url, &response) {
                Some(next) => url = next,
                None => return Ok(response),
            }
        }
        Err(said("it redirects without end"))
    }
}

fn said(text: impl Into<String>) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(text.into().into())
}

fn redirected(url: &Url, response: &Response) -> Option<Url> {
    let keeps = matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let next = url.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()?;
    (keeps && next.origin() == url.origin()).then_some(next)
}

/// A response that is none is an error.
fn checked(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED) {
        return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge(&response))));
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(HttpStatusError::new(status.as_u16(), None).into());
    }
    if !status.is_success() {
        return Err(said(format!("it answered with HTTP {status}")));
    }
    Ok(response)
}

fn challenge(response: &Response) -> String {
    let header = response.headers().get(WWW_AUTHENTICATE);
    header.and_then(|header| header.to_str().ok()).unwrap_or_default().to_owned()
}

enum Kind {
    Events,
    Json,
    Other(Option<String>),
}

fn content_type(response: &Response) -> Option<String> {
    let header = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(header.as_bytes()).into_owned())
}

fn kind(response: &Response) -> Kind {
    match content_type(response) {
        Some(kind) if kind.starts_with(EVENT_STREAM_MIME_TYPE) => Kind::Events,
        Some(kind) if kind.starts_with(JSON_MIME_TYPE) => Kind::Json,
        other => Kind::Other(other),
    }
}

/// Events of which none is longer than a message may be. What counts is the bytes since the last empty line.
fn bounded(response: Response, most: usize) -> Events {
    let mut since = 0;
    let mut at_start = true;
    let bytes = response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(std::io::Error::other)?;
        for byte in &piece {
            since += 1;
            match byte {
                b'\n' if at_start => since = 0,
                b'\n' => at_start = true,
                b'\r' => {}
                _ => at_start = false,
            }
            if since > most {
                return Err(std::io::Error::other(too_long(most)));
            }
        }
        Ok(piece)
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// The body of an answer, as far as it may go.
async fn body(response: Response, most: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        if body.len() + piece.len() > most {
            return Err(said(too_long(most)));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

impl StreamableHttpClient for Web {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_token: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let url = Url::parse(&uri).map_err(|error| said(error.to_string()))?;
        let token = self.token(auth_token).await?;
        let response = self.post(url, &message, session_id.as_deref(), token, &custom_headers).await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response.headers().get(HEADER_SESSION_ID);
        let session = session.and_then(|session| session.to_str().ok()).map(str::to_owned);
        let wants_answer = matches!(message, JsonRpcMessage::Request(_));
        // An error may come as JSON with a status of its own, and its words are worth more than a number.
        let is_json = matches!(kind(&response), Kind::Json);
        if !status.is_success()
            && is_json
            && !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        {
            let text = body(response, self.0.most).await?;
            return match serde_json::from_slice::<ServerJsonRpcMessage>(&text) {
                Ok(error @ JsonRpcMessage::Error(_)) => Ok(StreamableHttpPostResponse::Json(error, session)),
                Ok(_) | Err(_) => Err(said(format!("it answered with HTTP {status}"))),
            };
        }
        let response = checked(response)?;
        match kind(&response) {
            Kind::Events => Ok(StreamableHttpPostResponse::Sse(bounded(response, self.0.most), session)),
            Kind::Json => {
                let text = body(response, self.0.most).await?;
                match serde_json::from_slice::<ServerJsonRpcMessage>(&text) {
                    Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
                    Err(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
                    Err(error) => Err(said(format!("its answer is none: {error}"))),
                }
            }
            Kind::Other(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Kind::Other(kind) => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_token: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let token = self.token(auth_token).await?;
        self.0.client.delete_session(uri, session_id, token, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_token: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failure> {
        let token = self.token(auth_token).await?;
        let (most, client) = (self.0.most, &self.0.client);
        client
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, token, custom_headers, most)
            .await
    }
}

/// Why a server at an address could not be greeted.
pub(super) enum Unreached {
    /// It wants to know who asks.
    Login,
    /// Something that may pass: a server that starts, a gateway that is busy.
    Passing(String),
    /// Something else.
    Failed(String),
}

impl Unreached {
    pub(super) fn of(error: &(dyn std::error::Error + 'static), why: String) -> Self {
        let mut next = Some(error);
        while let Some(current) = next {
            if super::auth::asks_for_login(current) {
                return Self::Login;
            }
            // Its status is shown as the error itself and not as what lies below it.
            let status = current
                .downcast_ref::<Failure>()
                .is_some_and(|error| matches!(error, StreamableHttpError::HttpStatus(_)));
            let request = current.downcast_ref::<reqwest::Error>();
            if status || request.is_some_and(|error| error.is_connect() || error.is_timeout()) {
                return Self::Passing(why);
            }
            next = current.source();
        }
        Self::Failed(why)
    }

    pub(super) fn of_greeting(error: &ClientInitializeError, why: String) -> Self {
        if error.is_authorization_required() || error.auth_challenge().is_some() {
            return Self::Login;
        }
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::of(error.error.as_ref(), why),
            _ => Self::Failed(why),
        }
    }
}
