//! Chat Completions, streamed: any endpoint that claims to be compatible with OpenAI's.
//!
//! Claims differ. What a server refuses (a parameter it does not know) is left out from then on; what it sends is read
//! by `stream`, which expects little. Trying again is the caller's business.

mod raw;
mod stream;
mod wire;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::Reply;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use url::Url;

use super::http::{self, Events, Http};
use super::secret::{Secret, scrub};
use super::{Model, Request};
use crate::world::{Ids, World};

use stream::Assembly;
use wire::Quirks;

const PUBLIC: &str = "https://api.openai.com/v1";
/// Once the answer is complete only the bill is waited for, and not for long.
const PATIENCE_AFTER_THE_END: Duration = Duration::from_secs(5);

/// A Chat Completions endpoint. The fields may be changed until the first call.
#[derive(Debug)]
pub struct OpenAi {
    /// Where it is, without `/chat/completions`.
    pub base_url: String,
    /// What proves who asks; local servers need nothing.
    pub api_key: Option<Secret>,
    /// Headers of the user's own; they win over posse's.
    pub custom_headers: Vec<(String, String)>,
    /// How long the endpoint may say nothing at all. Long: a local model reads the prompt in silence.
    pub stall: Duration,
    /// What posse calls itself.
    pub user_agent: String,
    http: Http,
    ids: Arc<Ids>,
    /// What was learned of each model.
    quirks: Mutex<HashMap<Box<str>, Quirks>>,
}

impl OpenAi {
    /// The endpoint and key the environment names.
    pub fn new(world: &World) -> Self {
        let env = &world.env;
        Self {
            base_url: env.get("OPENAI_BASE_URL").unwrap_or(PUBLIC).to_owned(),
            api_key: env.get("OPENAI_API_KEY").map(Secret::new),
            custom_headers: env.get("OPENAI_CUSTOM_HEADERS").map(http::parse_headers).unwrap_or_default(),
            stall: Duration::from_millis(env.number("POSSE_OPENAI_IDLE_TIMEOUT_MS").unwrap_or(300_000)),
            user_agent: concat!("posse/", env!("CARGO_PKG_VERSION")).to_owned(),
            http: Http::new(world),
            ids: Arc::clone(&world.ids),
            quirks: Mutex::default(),
        }
    }

    fn url(&self) -> Result<Url, Failure> {
        let base = self.base_url.trim().trim_end_matches('/');
        let base = base.strip_suffix("/chat/completions").unwrap_or(base);
        let url = http::address(&format!("{base}/chat/completions"), "OPENAI_BASE_URL")?;
        // A bare host means the usual place; every other path is meant as written.
        match url.path() {
            "/chat/completions" => http::address(&format!("{base}/v1/chat/completions"), "OPENAI_BASE_URL"),
            _ => Ok(url),
        }
    }

    fn headers(&self) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        let mut put = |name: &str, value: &str| http::put(&mut headers, name, value);
        put("content-type", "application/json")?;
        put("accept", "text/event-stream, application/json")?;
        put("user-agent", &self.user_agent)?;
        if let Some(key) = &self.api_key {
            put("authorization", &format!("Bearer {}", key.expose()))?;
        }
        for (name, value) in &self.custom_headers {
            put(name, value)?;
        }
        Ok(headers)
    }

    /// Sends the request, without what the server turns out not to take.
    async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let url = self.url()?;
        let all = || self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut quirks: Quirks = all().get(&request.model).copied().unwrap_or_default();
        loop {
            let body = wire::body(request, quirks).to_string().into_bytes();
            let response = self.http.post(&url, self.headers()?, body, self.stall).await?;
            let status = response.status();
            if status.is_success() {
                // Only what led to success is worth remembering.
                if quirks != Quirks::default() {
                    all().insert(request.model.clone(), quirks);
                }
                return Ok(response);
            }
            let failure = self.http.refusal(response, self.stall).await;
            let about_the_request =
                matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY);
            match quirks.learn(&failure.message) {
                Some(learned) if about_the_request => quirks = learned,
                Some(_) | None => return Err(failure),
            }
        }
    }

    async fn read(
        &self,
        response: Response,
        request: &Request,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, Failure> {
        let taken = request.messages.iter().flat_map(|message| message.calls()).map(|call| call.id.clone());
        let assembly =
            Assembly::new(request.raw_events, &request.model, taken.collect::<HashSet<_>>(), &self.ids);
        match http::is_no_stream(&response) {
            // Some servers do not stream, whatever one asks for.
            Some(kind) if kind.contains("json") => {
                let host = http::host(response.url());
                let text = http::text_of(response, self.stall, http::MOST_BYTES).await;
                assembly.whole(&text, on)?.ok_or_else(|| {
                    let text =
                        format!("{host} answered with something else than a reply: {}", http::snippet(&text));
                    Failure::new(FailureKind::Malformed, text)
                })
            }
            Some(kind) if kind.contains("html") => {
                let host = http::host(response.url());
                let text = http::snippet(&http::text_of(response, self.stall, http::MOST_ERROR_BYTES).await);
                let text = format!("{host} answered with {text} instead of events (is the base URL right?)");
                Err(Failure::new(FailureKind::Invalid, text))
            }
            // Others stream and call it text.
            Some(_) | None => read_events(Events::of(response, self.stall), assembly, on).await,
        }
    }
}

/// Reads events up to the end of the reply, and the bill that may come behind it.
async fn read_events(
    mut events: Events,
    mut assembly: Assembly<'_>,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<Reply, Failure> {
    loop {
        let next = if assembly.is_complete() {
            match tokio::time::timeout(PATIENCE_AFTER_THE_END, events.next()).await {
                Ok(Ok(next)) => next,
                // Everything was said; what is lost is a number.
                Ok(Err(_)) | Err(_) => None,
            }
        } else {
            events.next().await?
        };
        match next {
            Some(data) if data.trim() == "[DONE]" => {
                let reply = assembly.finish(on)?;
                events.drain();
                return Ok(reply);
            }
            Some(data) => assembly.feed(&data, on)?,
            None if assembly.is_complete() => return assembly.finish(on),
            None => return Err(events.cut_short()),
        }
    }
}

impl Model for OpenAi {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let result = match self.send(request).await {
                Ok(response) => self.read(response, request, on).await,
                Err(failure) => Err(failure),
            };
            let values = self.custom_headers.iter().map(|(_, value)| value.as_str());
            result.map_err(|failure| scrub(failure, self.api_key.iter().map(Secret::expose).chain(values)))
        })
    }
}

#[cfg(test)]
mod tests;
