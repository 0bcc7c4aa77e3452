//! The Messages API, streamed: Anthropic's own endpoint and everything that speaks its protocol.
//!
//! Knows where to send a request and with which key. What is written is `wire`'s business, what is read `stream`'s,
//! and trying again the caller's; only a key that was refused and can be fetched anew is fetched here.

mod credential;
mod stream;
mod wire;

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
use super::{Model, Request, ThinkingDisplay};
use crate::world::{Env, World};

pub use credential::{Credential, KeyHelper};

const PUBLIC: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";

/// A Messages API endpoint. The fields may be changed until the first call.
#[derive(Debug)]
pub struct Anthropic {
    /// Where it is, without `/v1/messages`.
    pub base_url: String,
    /// What proves who asks.
    pub credential: Credential,
    /// Headers of the user's own; they win over posse's.
    pub custom_headers: Vec<(String, String)>,
    /// Features to ask for besides those a request needs.
    pub betas: Vec<String>,
    /// How long the endpoint may say nothing at all.
    pub stall: Duration,
    /// What posse calls itself.
    pub user_agent: String,
    /// Tokens the model is told to make do with for a whole task (`--task-budget`).
    pub task_budget: Option<u64>,
    /// How thoughts are shown: `summarized` or `omitted` (`--thinking-display`).
    pub thinking_display: ThinkingDisplay,
    http: Http,
}

/// Who asks: posse, and whoever started it if that says so. What cannot stand in a header is left out.
fn user_agent(env: &Env) -> String {
    let posse = concat!("posse/", env!("CARGO_PKG_VERSION"));
    let named = |variable: &str, before: &str| {
        let name = env.get(variable)?.trim();
        let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic() && !b"()".contains(&byte));
        (is_plain && !name.is_empty()).then(|| format!("{before}{name}"))
    };
    let starter = named("CLAUDE_CODE_ENTRYPOINT", "").map(|name| format!("external, {name}"));
    let others = [
        starter,
        named("CLAUDE_AGENT_SDK_VERSION", "agent-sdk/"),
        named("CLAUDE_AGENT_SDK_CLIENT_APP", "client-app/"),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    if others.is_empty() { posse.to_owned() } else { format!("{posse} ({})", others.join(", ")) }
}

impl Anthropic {
    /// The endpoint and key the environment names. A key helper, a setting rather than a variable, serves if no key
    /// is named.
    pub fn new(world: &World, key_helper: Option<&str>) -> Self {
        let env = &world.env;
        let bearer = env.get("ANTHROPIC_AUTH_TOKEN").map(|token| Credential::Bearer(Secret::new(token)));
        let key = || env.get("ANTHROPIC_API_KEY").map(|key| Credential::ApiKey(Secret::new(key)));
        let helper = || key_helper.map(|command| Credential::Helper(KeyHelper::new(command, world)));
        let list = |text: &str| text.split(',').map(|beta| beta.trim().to_owned()).collect();
        Self {
            base_url: env.get("ANTHROPIC_BASE_URL").unwrap_or(PUBLIC).to_owned(),
            credential: bearer.or_else(key).or_else(helper).unwrap_or(Credential::None),
            custom_headers: env.get("ANTHROPIC_CUSTOM_HEADERS").map(http::parse_headers).unwrap_or_default(),
            betas: env.get("ANTHROPIC_BETAS").map(list).unwrap_or_default(),
            stall: Duration::from_millis(env.number("CLAUDE_STREAM_IDLE_TIMEOUT_MS").unwrap_or(90_000)),
            user_agent: user_agent(env),
            task_budget: None,
            thinking_display: ThinkingDisplay::default(),
            http: Http::new(world),
        }
    }

    fn url(&self) -> Result<Url, Failure> {
        let base = self.base_url.trim().trim_end_matches('/');
        // People copy it with or without the version.
        let base = base.strip_suffix("/v1").unwrap_or(base);
        http::address(&format!("{base}/v1/messages"), "ANTHROPIC_BASE_URL")
    }

    fn headers(&self, request: &Request, key: Option<&Secret>) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        let mut put = |name: &str, value: &str| http::put(&mut headers, name, value);
        put("content-type", "application/json")?;
        put("accept", "application/json, text/event-stream")?;
        put("anthropic-version", VERSION)?;
        put("user-agent", &self.user_agent)?;
        let betas = wire::betas(request, &self.betas, self.task_budget);
        if !betas.is_empty() {
            put("anthropic-beta", &betas.join(","))?;
        }
        if let Some(key) = key {
            let (as_key, as_bearer) = match &self.credential {
                Credential::None => (false, false),
                Credential::ApiKey(_) => (true, false),
                Credential::Bearer(_) => (false, true),
                // Whoever wrote the helper knows which of the two the endpoint reads.
                Credential::Helper(_) => (true, true),
            };
            if as_key {
                put("x-api-key", key.expose())?;
            }
            if as_bearer {
                put("authorization", &format!("Bearer {}", key.expose()))?;
            }
        }
        if let Some(agent) = &request.agent {
            put("x-claude-code-agent-id", agent)?;
        }
        for (name, value) in &self.custom_headers {
            put(name, value)?;
        }
        Ok(headers)
    }

    /// Sends the request, with a new key if the first is refused and another can be had.
    async fn send(&self, request: &Request, used: &mut Vec<Secret>) -> Result<Response, Failure> {
        let url = self.url()?;
        if matches!(self.credential, Credential::None) && self.base_url == PUBLIC {
            let text = "there is no API key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN";
            return Err(Failure::new(FailureKind::Auth, text));
        }
        let body = wire::body(request, self.task_budget, self.thinking_display.get().as_deref()).to_string();
        let mut fresh = false;
        loop {
            let key = self.credential.key().await?;
            used.extend(key.clone());
            let headers = self.headers(request, key.as_ref())?;
            let response = self.http.post(&url, headers, body.clone().into_bytes(), self.stall).await?;
            let status = response.status();
            if status == StatusCode::UNAUTHORIZED && !fresh && self.credential.forget(key.as_ref()).await {
                fresh = true;
                continue;
            }
            return match status.is_success() {
                true => Ok(response),
                false => Err(self.http.refusal(response, self.stall).await),
            };
        }
    }

    async fn read(
        &self,
        response: Response,
        raw_events: bool,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, Failure> {
        if let Some(kind) = http::is_no_stream(&response) {
            let host = http::host(response.url());
            let text = http::snippet(&http::text_of(response, self.stall, http::MOST_ERROR_BYTES).await);
            let text =
                format!("{host} answered with {kind} instead of events (is the base URL right?): {text}");
            return Err(Failure::new(FailureKind::Invalid, text));
        }
        let mut events = Events::of(response, self.stall);
        let reply = stream::read(&mut events, raw_events, on).await?;
        events.drain();
        Ok(reply)
    }
}

impl Model for Anthropic {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let mut used = Vec::new();
            let result = match self.send(request, &mut used).await {
                Ok(response) => self.read(response, request.raw_events, on).await,
                Err(failure) => Err(failure),
            };
            let values = self.custom_headers.iter().map(|(_, value)| value.as_str());
            result.map_err(|failure| scrub(failure, used.iter().map(Secret::expose).chain(values)))
        })
    }
}

/// What events amount to, for those who retell replies as events.
#[cfg(test)]
pub(super) fn assembled<'a>(events: impl Iterator<Item = &'a serde_json::Value>) -> Option<Reply> {
    let mut assembly = stream::Assembly::new(false);
    events.into_iter().find_map(|event| assembly.feed(&event.to_string(), &mut |_| {}).ok().flatten())
}

#[cfg(test)]
mod tests;
