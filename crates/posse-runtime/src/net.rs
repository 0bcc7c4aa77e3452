//! The way out to the network: TLS, certificates, proxies. Refuses to know what is said there.
//!
//! Everything a client depends on comes from the given environment, not the process's: settings may add a proxy or a
//! certificate, and a test must not meet the machine's.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, NoProxy, Proxy};
use url::Url;

use crate::world::Env;

/// Variables that name a file of certificates to trust besides the system's.
const CERTIFICATE_FILES: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];

/// What a client is built for.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions<'a> {
    /// Where proxies and certificates are named.
    pub env: &'a Env,
    /// Where its requests will go. A client serves this one endpoint: what another would need is not loaded.
    pub endpoint: &'a Url,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// A file of certificates cannot be used.
    #[error("{variable} names {path}, which cannot be used: {why}")]
    Certificates {
        /// The variable.
        variable: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A proxy's address cannot be used. The address is not told: it may hold a password.
    #[error("{variable} is not the address of an HTTP proxy")]
    Proxy {
        /// The variable.
        variable: &'static str,
    },
    /// TLS could not be set up.
    #[error("HTTP could not be set up: {0}")]
    Setup(String),
}

/// Chooses who does the cryptography, once per process. Without it building any client panics.
pub fn install_tls() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // An error says that somebody else was first, which serves as well.
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// A client for an API: no redirects (they would carry the key elsewhere), the environment's proxy and certificates.
pub fn client(options: ClientOptions<'_>) -> Result<Client, NetError> {
    install_tls();
    let ClientOptions { env, endpoint } = options;
    let mut builder =
        Client::builder().redirect(Policy::none()).referer(false).connect_timeout(Duration::from_secs(30));
    let proxy = proxy(env, endpoint)?;
    let proxy_is_secure = proxy.as_ref().is_some_and(|(_, secure)| *secure);
    builder = match proxy {
        Some((proxy, _)) => builder.proxy(proxy),
        // These two keep proxies outside the environment, and only reqwest knows where.
        None if cfg!(any(target_os = "macos", windows)) => builder,
        None => builder.no_proxy(),
    };
    builder = if endpoint.scheme() == "https" || proxy_is_secure {
        builder.tls_certs_merge(certificates(env)?)
    } else {
        // Reading and parsing the system's roots costs more than the rest of the start together.
        builder.tls_certs_only(std::iter::empty())
    };
    builder.build().map_err(|error| NetError::Setup(innermost(&error)))
}

/// The proxy for an endpoint, and whether it is itself reached by TLS.
fn proxy(env: &Env, endpoint: &Url) -> Result<Option<(Proxy, bool)>, NetError> {
    let variables: [&'static str; 4] = match endpoint.scheme() {
        "https" => ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        _ => ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
    };
    let found = variables.into_iter().find_map(|variable| Some((variable, env.get(variable)?.trim())));
    let Some((variable, address)) = found else { return Ok(None) };
    // Left to itself reqwest goes around a proxy it cannot use, and the user would never know.
    let scheme = address.split_once("://").map_or("http", |(scheme, _)| scheme).to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(NetError::Proxy { variable });
    }
    let proxy = Proxy::all(address).map_err(|_| NetError::Proxy { variable })?;
    let except = env.get("no_proxy").or_else(|| env.get("NO_PROXY")).and_then(NoProxy::from_string);
    Ok(Some((proxy.no_proxy(except), scheme == "https")))
}

fn certificates(env: &Env) -> Result<Vec<Certificate>, NetError> {
    let mut all = Vec::new();
    for variable in CERTIFICATE_FILES {
        let Some(path) = env.get(variable) else { continue };
        let failed = |why: String| NetError::Certificates { variable, path: path.to_owned(), why };
        let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let some = Certificate::from_pem_bundle(&text).map_err(|error| failed(innermost(&error)))?;
        if some.is_empty() {
            return Err(failed("there is no certificate in it".to_owned()));
        }
        all.extend(some);
    }
    Ok(all)
}

/// The cause at the bottom of an error: the one that says what happened, and the one without addresses.
pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests;
