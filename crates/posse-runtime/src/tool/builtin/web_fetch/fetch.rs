//! Asking hosts. Every name is resolved by a resolver that lets only public addresses through, and it is these the
//! connection is made to: a name that changes its mind between a check and a connection gains nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, NoProxy, Proxy, Response, StatusCode, redirect};
use url::{Host, Url};

use super::WebPolicy;
use super::address;
use super::page::Page;
use crate::net;
use crate::world::Env;

/// Longest body, after decompression.
const MAX_BODY: usize = 10 * 1024 * 1024;
/// Most redirects on the way to a page.
const MAX_REDIRECTS: usize = 10;
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Finds the addresses of a name. A parameter, because tests cannot ask the real one.
pub(super) type Lookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync + 'static>;

/// The resolver of the system.
pub(super) fn system_lookup() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// What a host answered.
pub(super) enum Fetched {
    /// A page, whatever its status.
    Page(Page),
    /// That it is at another host.
    Elsewhere { code: u16, to: Url },
}

/// A status with its words: `404 Not Found`.
pub(super) fn status(code: u16) -> String {
    let words = StatusCode::from_u16(code).ok().and_then(|status| status.canonical_reason());
    words.map_or_else(|| code.to_string(), |words| format!("{code} {words}"))
}

/// The way to the web.
pub(super) struct Web {
    client: Client,
    guard: Guard,
}

impl Web {
    pub(super) fn new(policy: WebPolicy, env: &Env, lookup: Lookup) -> Result<Self, String> {
        net::install_tls();
        let proxies = proxies(env)?;
        let guard = Guard { policy, lookup, proxies: proxies.iter().map(|(host, _)| host.clone()).collect() };
        // The proxies come from our environment, not from that of the process.
        let mut builder = Client::builder().no_proxy();
        for (_, proxy) in proxies {
            builder = builder.proxy(proxy);
        }
        let client = builder
            .dns_resolver(Arc::new(guard.clone()))
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_LIMIT)
            .user_agent(concat!("posse/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("The web cannot be reached: {}", innermost(&error)))?;
        Ok(Self { client, guard })
    }

    /// The address as it will be asked for, if it may be.
    pub(super) fn admit(&self, mut url: Url) -> Result<Url, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{url} cannot be fetched: only http and https can."));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "The address holds a user name or password; they are never sent. Leave them out.".into()
            );
        }
        let to_proxy = url.host_str().is_some_and(|host| self.guard.is_proxy(host));
        if !self.guard.policy.allow_private && (to_proxy || address::looks_private(&url)) {
            return Err(refused(url.host_str().unwrap_or_default()));
        }
        if url.scheme() == "http" && !address::is_loopback(&url) {
            // Cannot fail between these two schemes.
            let _ = url.set_scheme("https");
        }
        url.set_fragment(None);
        Ok(url)
    }

    /// Fetches an address that was admitted.
    pub(super) async fn get(&self, url: Url) -> Result<Fetched, String> {
        let mut url = url;
        for _ in 0..=MAX_REDIRECTS {
            self.guard.check_behind_proxy(&url).await?;
            let request = self.client.get(url.clone());
            let request = request.header(ACCEPT, "text/markdown, text/html;q=0.9, */*;q=0.8");
            let response = request.send().await.map_err(|error| failure(&url, &error))?;
            let Some(to) = target(&response, &url)? else { return read(response, url).await };
            let code = response.status().as_u16();
            // Where the host is the same, so is the decision about its scheme.
            let upgraded = self.admit(to.clone());
            match upgraded {
                Ok(next) if address::same_host(&url, &next) => url = next,
                Ok(_) => return Ok(Fetched::Elsewhere { code, to }),
                Err(_) if !address::same_host(&url, &to) && to.scheme().starts_with("http") => {
                    return Ok(Fetched::Elsewhere { code, to });
                }
                Err(problem) => return Err(format!("{url} redirects to {to}. {problem}")),
            }
        }
        Err(format!("{url} redirects more than {MAX_REDIRECTS} times."))
    }
}

/// Where a response sends us, if it does.
fn target(response: &Response, url: &Url) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let location = String::from_utf8_lossy(location.as_bytes());
    let to = url.join(&location);
    to.map(Some).map_err(|error| format!("{url} redirects to {location:?}, which is no address: {error}."))
}

async fn read(mut response: Response, url: Url) -> Result<Fetched, String> {
    let too_large = || format!("{url} is larger than {} MB.", MAX_BODY / 1024 / 1024);
    if response.content_length().is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    let kind =
        response.headers().get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes()).into());
    let code = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(&url, &error))? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched::Page(Page { url, code, kind, body }))
}

fn failure(url: &Url, error: &reqwest::Error) -> String {
    format!("{url} could not be fetched: {}", innermost(error))
}

/// What really went wrong: the outer errors only say where.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn refused(host: &str) -> String {
    format!(
        "{host} is not on the public internet, and is not fetched. If the user wants it, they can set \
         POSSE_WEBFETCH_ALLOW_PRIVATE=1."
    )
}

/// Resolves names, and lets only what the policy allows through.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) policy: WebPolicy,
    pub(super) lookup: Lookup,
    /// Hosts of proxies: chosen by the user, so they may be where they want.
    pub(super) proxies: Vec<String>,
}

impl Guard {
    fn is_proxy(&self, host: &str) -> bool {
        self.proxies.iter().any(|proxy| proxy == host)
    }

    /// The addresses of a name that may be connected to. An error if there is none.
    pub(super) async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = (self.lookup)(name.to_owned()).await?;
        if self.policy.allow_private || self.is_proxy(name) {
            return Ok(found);
        }
        let any = !found.is_empty();
        let public: Vec<IpAddr> = found.into_iter().filter(|address| address::is_public(*address)).collect();
        if public.is_empty() && any {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, refused(name)));
        }
        Ok(public)
    }

    /// A proxy resolves names itself, past our resolver. What our own resolver says of a name counts as well; that
    /// it does not know one is usual behind a proxy, and then the proxy decides.
    async fn check_behind_proxy(&self, url: &Url) -> Result<(), String> {
        match url.host() {
            Some(Host::Domain(name)) if !self.proxies.is_empty() => match self.addresses(name).await {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error.to_string()),
                Ok(_) | Err(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = guard.addresses(name.as_str()).await?;
            let found: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}

/// The proxies of the environment, with their hosts.
fn proxies(env: &Env) -> Result<Vec<(String, Proxy)>, String> {
    let one_of = |names: [&str; 2]| names.iter().find_map(|name| env.get(name));
    let all = one_of(["ALL_PROXY", "all_proxy"]);
    let exceptions = one_of(["NO_PROXY", "no_proxy"]);
    let https = one_of(["HTTPS_PROXY", "https_proxy"]).or(all);
    let http = one_of(["HTTP_PROXY", "http_proxy"]).or(all);
    let mut proxies = Vec::new();
    for (scheme, address) in [("https", https), ("http", http)] {
        let Some(address) = address else { continue };
        let address = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let proxy = if scheme == "https" { Proxy::https(&address) } else { Proxy::http(&address) };
        let host = Url::parse(&address).ok().and_then(|url| url.host_str().map(str::to_owned));
        // The address is not shown: it may hold a password.
        let (host, proxy) =
            host.zip(proxy.ok()).ok_or_else(|| format!("The proxy for {scheme} is not an address."))?;
        proxies.push((host, proxy.no_proxy(exceptions.and_then(NoProxy::from_string))));
    }
    Ok(proxies)
}
