//! `http` hooks: the input is posted, an object comes back. Everything else is an error that decides nothing.
//!
//! What is told of a failure names the host, never an address with its secrets, a header or a key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use posse_core::hooks::HookKind;
use posse_core::hooks::answer::{self, Exit};
use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::Job;
use super::asked::Said;
use super::registry::Work;
use crate::net::{self, innermost};
use crate::world::Env;

/// No answer is longer.
const MOST_BYTES: usize = 1 << 20;

/// A client per place that hooks send to. Loading certificates for each call would cost more than the call.
#[derive(Debug, Default)]
pub(super) struct Clients(Mutex<HashMap<String, Client>>);

impl Clients {
    fn get(&self, env: &Env, endpoint: &Url) -> Result<Client, String> {
        let key = format!("{}://{}", endpoint.scheme(), host(endpoint));
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = net::client(net::ClientOptions { env, endpoint }).map_err(|error| error.to_string())?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

/// Posts the input.
pub(super) async fn run(job: &Job) -> Said {
    match post(job).await {
        Ok(stdout) => Said::output(job.event, stdout),
        Err(why) => Said::failed(job.event, Exit::Failed(why)),
    }
}

async fn post(job: &Job) -> Result<String, String> {
    let Work::Configured(HookKind::Http { url, headers, allowed_env }) = &job.entry().work else {
        return Err("not an http hook".to_owned());
    };
    let policy = job.hooks.policy();
    let address =
        Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let address = address.ok_or("its `url` is no web address")?;
    if policy.http_urls.as_ref().is_some_and(|allowed| !allowed.iter().any(|one| allows(one, &address))) {
        return Err("`allowedHttpHookUrls` does not allow its `url`".to_owned());
    }
    let may_use = |name: &str| {
        let listed = |list: &[Box<str>]| list.iter().any(|known| **known == *name);
        listed(allowed_env) && policy.http_env.as_deref().is_none_or(listed)
    };
    let env = &job.cx.world.env;
    let headers = build_headers(headers, |name| env.get(name).filter(|_| may_use(name)).unwrap_or_default())?;
    let request = job.hooks.clients.get(env, &address)?.post(address.clone()).headers(headers);
    let host = host(&address);
    let told = |error: &reqwest::Error| format!("no answer from {host}: {}", innermost(error));
    let mut response = request.body(job.input.to_string()).send().await.map_err(|error| told(&error))?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("{host} answered with status {}", status.as_u16()));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| told(&error))? {
        body.extend_from_slice(&piece);
        if body.len() > MOST_BYTES {
            return Err(format!("{host} answered with more than {MOST_BYTES} bytes"));
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    if !body.trim().is_empty() && answer::json(&body).is_none() {
        return Err(format!("{host} did not answer with a JSON object"));
    }
    Ok(body)
}

fn build_headers<'a>(
    written: &[(Box<str>, Box<str>)],
    variable: impl Fn(&str) -> &'a str,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in written {
        let value = HeaderValue::try_from(expand(value, &variable)).ok();
        let (Ok(name), Some(mut value)) = (HeaderName::try_from(&**name), value) else {
            return Err(format!("the header {name:?} holds characters that HTTP does not allow"));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Replaces `$NAME` and `${NAME}`.
fn expand<'a>(text: &str, variable: impl Fn(&str) -> &'a str) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let is_name = |name: &str| !name.is_empty() && name.chars().all(is_word);
        if let Some((name, behind)) = braced.filter(|(name, _)| is_name(name)) {
            expanded.push_str(variable(name));
            rest = behind;
            continue;
        }
        let end = after.find(|c| !is_word(c)).unwrap_or(after.len());
        if end == 0 || after.starts_with(|c: char| c.is_ascii_digit()) {
            expanded.push('$');
            rest = after;
        } else {
            expanded.push_str(variable(&after[..end]));
            rest = &after[end..];
        }
    }
    expanded + rest
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a pattern means an address. A `*` for a part of the host never reaches into the path: what is behind the
/// host is anybody's to choose.
fn allows(pattern: &str, address: &Url) -> bool {
    if !address.username().is_empty() || address.password().is_some() {
        return false;
    }
    let origin = format!("{}://{}", address.scheme(), host(address));
    let path = &address[url::Position::BeforePath..];
    let Some((scheme, rest)) = pattern.split_once("://") else {
        return is_like(pattern, &format!("{origin}{path}"));
    };
    let (origins, paths) = match rest.find('/') {
        Some(at) => (format!("{scheme}://{}", &rest[..at]), &rest[at..]),
        None => (pattern.to_owned(), if rest.ends_with('*') { "*" } else { "/" }),
    };
    is_like(&origins, &origin) && is_like(paths, path)
}

/// Whether a text is what a pattern says, in which `*` stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests;
