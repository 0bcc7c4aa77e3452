//! One exchange with a model's endpoint: a request out, events in, and what it means when either fails.
//!
//! Knows HTTP and nothing of what is said. Its texts name the host, never an address, a header or a key.

mod errors;

use std::io::Cursor;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use jiff::Timestamp;
use posse_core::failure::{Failure, FailureKind};
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use sse_stream::{Sse, SseByteStream};
use url::Url;

use crate::net::{self, innermost};
use crate::world::{Clock, Env, World};

pub(super) use errors::{from_event, snippet};

/// No answer is longer; a server that goes on beyond this has lost its way.
pub(super) const MOST_BYTES: usize = 128 << 20;
/// How much of an error's text is read.
pub(super) const MOST_ERROR_BYTES: usize = 64 << 10;
/// A request this long may take a second longer to arrive: a slow line is not a silent server.
const UPLOAD_PER_SECOND: usize = 64 << 10;

/// A client for one endpoint, built when it is first needed.
#[derive(Debug)]
pub(super) struct Http {
    env: Env,
    clock: Clock,
    client: OnceLock<reqwest::Client>,
}

impl Http {
    pub(super) fn new(world: &World) -> Self {
        Self { env: world.env.clone(), clock: world.clock.clone(), client: OnceLock::new() }
    }

    fn client(&self, endpoint: &Url) -> Result<&reqwest::Client, Failure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = net::client(net::ClientOptions { env: &self.env, endpoint })
            .map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
        stall: Duration,
    ) -> Result<Response, Failure> {
        let upload = Duration::from_secs((body.len() / UPLOAD_PER_SECOND) as u64);
        let sent = self.client(url)?.post(url.clone()).headers(headers).body(body).send();
        match tokio::time::timeout(stall + upload, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                let kind = if error.is_builder() { FailureKind::Invalid } else { FailureKind::Connection };
                let problem = if error.is_connect() { "cannot reach" } else { "no answer from" };
                let text = format!("{problem} {}: {}", host(url), innermost(&error));
                Err(Failure { unsent: error.is_connect(), ..Failure::new(kind, text) })
            }
            Err(_) => Err(silent(&host(url), stall)),
        }
    }

    /// What an answer that is no success means. Reads what it says.
    pub(super) async fn refusal(&self, response: Response, stall: Duration) -> Failure {
        let status = response.status();
        let wait = retry_after(response.headers(), self.clock.now());
        let host = host(response.url());
        let text = text_of(response, stall, MOST_ERROR_BYTES).await;
        let failure = errors::from_status(status, &host, &text);
        Failure { retry_after: wait, ..failure }
    }
}

/// The text of an answer, as much of it as comes and is wanted.
pub(super) async fn text_of(mut response: Response, stall: Duration, most: usize) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < most
        && let Ok(Ok(Some(chunk))) = tokio::time::timeout(stall, response.chunk()).await
    {
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What may be told of an address: its host, and the port if it is not the usual one.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Reads a configured address; `variable` is where the user would look.
pub(super) fn address(text: &str, variable: &str) -> Result<Url, Failure> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| Failure::new(FailureKind::Invalid, format!("{variable} is not a web address")))
}

/// Adds a header; values are secrets, so a bad one is told by its name.
pub(super) fn put(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Failure> {
    let pair = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
    let Some((name, mut value)) = pair else {
        let text =
            format!("the header {name:?} holds characters that HTTP does not allow, perhaps a line break");
        return Err(Failure::new(FailureKind::Invalid, text));
    };
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

/// `Name: value`, one per line. What is no header is left out.
pub(super) fn parse_headers(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let (name, value) = (name.trim(), value.trim());
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

/// How long the server asks to wait: milliseconds, seconds or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str, unit: f64| {
        let number: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(number / unit).ok()
    };
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 1000.0)) {
        return Some(wait);
    }
    let wait = text("retry-after")?;
    seconds(wait, 1.0).or_else(|| {
        let date = jiff::fmt::rfc2822::parse(wait).ok()?.timestamp();
        Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
    })
}

fn silent(host: &str, stall: Duration) -> Failure {
    let text = format!("{host} has been silent for {} s", stall.as_secs_f64());
    Failure::new(FailureKind::Connection, text)
}

/// Whether an answer claims to be something else than a stream of events.
pub(super) fn is_no_stream(response: &Response) -> Option<String> {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE)?.to_str().ok()?;
    (!kind.trim_start().starts_with("text/event-stream")).then(|| kind.to_owned())
}

/// Why bytes stopped coming.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("silent")]
    Silent,
    #[error("endless")]
    Endless,
    #[error(transparent)]
    Read(Box<dyn std::error::Error + Send + Sync>),
}

/// The events of an answer.
pub(super) struct Events {
    events: Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>,
    host: String,
    stall: Duration,
}

impl Events {
    /// The events of a response.
    pub(super) fn of(response: Response, stall: Duration) -> Self {
        let host = host(response.url());
        Self::over(response.bytes_stream(), host, stall)
    }

    /// The events in bytes from anywhere.
    pub(super) fn over<S, B, E>(bytes: S, host: String, stall: Duration) -> Self
    where
        S: Stream<Item = Result<B, E>> + Send + 'static,
        B: AsRef<[u8]> + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
    {
        let watched = futures_util::stream::unfold(Some((Box::pin(bytes), 0)), move |state| async move {
            let (mut bytes, read) = state?;
            let failed = |broken| Some((Err(broken), None));
            match tokio::time::timeout(stall, bytes.next()).await {
                Err(_) => failed(Broken::Silent),
                Ok(None) => None,
                Ok(Some(Err(error))) => failed(Broken::Read(Box::new(error))),
                Ok(Some(Ok(chunk))) => match read + chunk.as_ref().len() {
                    read if read > MOST_BYTES => failed(Broken::Endless),
                    read => Some((Ok(Cursor::new(chunk)), Some((bytes, read)))),
                },
            }
        });
        Self { events: Box::pin(SseByteStream::new(watched)), host, stall }
    }

    /// The data of the next event; `None` if the stream came to a proper end.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Failure> {
        while let Some(event) = self.events.next().await {
            match event {
                Ok(Sse { data: Some(data), .. }) => return Ok(Some(data)),
                Ok(_) => {}
                Err(error) => return Err(self.explain(&error)),
            }
        }
        Ok(None)
    }

    /// Reads what is already there, so that the connection can be used again.
    pub(super) fn drain(mut self) {
        use futures_util::FutureExt;
        while let Some(Some(Ok(_))) = self.events.next().now_or_never() {}
    }

    /// The stream ended where it must not.
    pub(super) fn cut_short(&self) -> Failure {
        let text = format!("the answer of {} ended before it was complete", self.host);
        Failure::new(FailureKind::Connection, text)
    }

    fn explain(&self, error: &sse_stream::Error) -> Failure {
        let host = &self.host;
        let sse_stream::Error::Body(broken) = error else {
            return Failure::new(FailureKind::Malformed, format!("{host} sent an event that is not text"));
        };
        match broken.downcast_ref::<Broken>() {
            Some(Broken::Silent) => silent(host, self.stall),
            Some(Broken::Endless) => {
                Failure::new(FailureKind::Malformed, format!("the answer of {host} does not end"))
            }
            Some(Broken::Read(cause)) => {
                let text = format!("the connection to {host} broke off: {}", innermost(&**cause));
                Failure::new(FailureKind::Connection, text)
            }
            None => Failure::new(FailureKind::Connection, format!("the connection to {host} broke off")),
        }
    }
}

#[cfg(test)]
mod tests;
