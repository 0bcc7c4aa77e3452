//! Who the user is towards a server at an address: logging in through a browser, keeping the token where only the user
//! can read it, refreshing it. Tokens are never shown and never logged.

use std::path::PathBuf;
use std::time::Duration;

use posse_core::mcp::{McpConfig, Reach};
use rmcp::transport::auth::{AuthError, AuthorizationCallback};
use rmcp::transport::streamable_http_client::AuthRequiredError;
use rmcp::transport::{
    AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore, StoredCredentials,
};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::kept;
use crate::net::{self, ClientOptions};
use crate::world::{Env, World};

/// Why somebody is not logged in.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// Only servers at an address know logins.
    #[error("only a server at an address can be logged in to")]
    NoAddress,
    /// The server does not say how.
    #[error("the server does not offer a login: {0}")]
    NotOffered(String),
    /// It went wrong on the way.
    #[error("the login failed: {0}")]
    Failed(String),
    /// The way back could not be prepared.
    #[error("no port for the way back from the browser could be opened: {0}")]
    Port(std::io::Error),
    /// The token cannot be kept.
    #[error("the token cannot be kept: {0}")]
    Store(std::io::Error),
    /// Nobody came back.
    #[error("the login was given up")]
    Stopped,
}

/// A login that has begun: the user has to open an address, and comes back through a port of this machine.
pub struct Login {
    session: AuthorizationSession,
    listener: TcpListener,
}

impl Login {
    /// Asks the server how to log in and prepares the way back.
    pub async fn begin(server: &str, config: &McpConfig, world: &World) -> Result<Self, LoginError> {
        let url = address(config).ok_or(LoginError::NoAddress)?;
        let port = config.oauth.callback_port.unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(LoginError::Port)?;
        let port = listener.local_addr().map_err(LoginError::Port)?.port();
        let file = token_file(config, &world.env).ok_or(LoginError::NoAddress)?;
        let mut manager = manager(&url, world).await.map_err(LoginError::NotOffered)?;
        manager.set_credential_store(TokenFile { file });
        let metadata = manager.resolve_metadata().await.map_err(|e| LoginError::NotOffered(e.to_string()))?;
        manager.set_metadata(metadata.metadata);
        let mut request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}/callback"))
            .with_client_name(format!("posse ({server})"));
        if let Some(scopes) = &config.oauth.scopes {
            request = request.with_scopes(scopes.split_whitespace());
        }
        if let Some(client) = &config.oauth.client_id {
            request = request.with_preregistered_client(client.to_string());
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| LoginError::NotOffered(error.to_string()))?;
        Ok(Self { session, listener })
    }

    /// The address to open.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the user to come back, and keeps the token.
    pub async fn finish(self, stop: CancellationToken) -> Result<(), LoginError> {
        let Self { session, listener } = self;
        let waiting = async {
            loop {
                let (mut stream, _) = listener.accept().await.map_err(LoginError::Port)?;
                // Browsers ask for more than they were sent for, as for an icon.
                let Some(callback) = visited(&mut stream).await else { continue };
                let done = session.handle_callback_url(&callback).await;
                let text = match &done {
                    Ok(_) => "You are logged in. This page can be closed.",
                    Err(_) => "The login failed. The terminal says why.",
                };
                answer(&mut stream, "200 OK", text).await;
                return done.map(drop).map_err(|error| LoginError::Failed(error.to_string()));
            }
        };
        tokio::select! {
            done = waiting => done,
            () = stop.cancelled() => Err(LoginError::Stopped),
        }
    }
}

/// Forgets the token of a server, and says whether there was one.
pub fn logout(config: &McpConfig, env: &Env) -> Result<bool, LoginError> {
    let Some(file) = token_file(config, env) else { return Err(LoginError::NoAddress) };
    match std::fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(LoginError::Store(error)),
    }
}

/// Reads a request; the address if it is the way back from a login.
async fn visited(stream: &mut TcpStream) -> Option<String> {
    const LONGEST: usize = 16 * 1024;
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    let reading = async {
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < LONGEST {
            match stream.read(&mut piece).await {
                Ok(read @ 1..) => head.extend_from_slice(&piece[..read]),
                Ok(0) | Err(_) => break,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), reading).await.ok()?;
    let head = String::from_utf8_lossy(&head);
    let target = head.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    if !target.starts_with("/callback?") {
        answer(stream, "404 Not Found", "There is nothing here.").await;
        return None;
    }
    let url = format!("http://127.0.0.1{target}");
    if AuthorizationCallback::from_redirect_url(&url).is_err() && !target.contains("error=") {
        answer(stream, "400 Bad Request", "This is not the end of a login.").await;
        return None;
    }
    Some(url)
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{text}"
    );
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// A kept token, refreshed when it is needed.
pub(super) struct Token(Mutex<AuthorizationManager>);

impl Token {
    /// The token for a server, if the user has logged in.
    pub(super) async fn load(server: &str, config: &McpConfig, url: &Url, world: &World) -> Option<Self> {
        let _ = server;
        let file = token_file(config, &world.env)?;
        if !file.is_file() {
            return None;
        }
        let mut manager = manager(url, world).await.ok()?;
        manager.set_credential_store(TokenFile { file });
        manager.initialize_from_store().await.ok()?.then(|| Self(Mutex::new(manager)))
    }

    pub(super) async fn get(&self) -> Result<String, AuthError> {
        self.0.lock().await.get_access_token().await
    }
}

async fn manager(url: &Url, world: &World) -> Result<AuthorizationManager, String> {
    net::install_tls();
    // Where the login itself lies is not known yet; it may want certificates where the server does not.
    let mut endpoint = url.clone();
    let _ = endpoint.set_scheme("https");
    let client =
        net::client(ClientOptions { env: &world.env, endpoint: &endpoint }).map_err(|e| e.to_string())?;
    // A server on this machine may have its login on this machine; any other may not send us there.
    let local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let manager = match local {
        true => AuthorizationManager::new_allowing_private_addresses(url.clone()).await,
        false => AuthorizationManager::new(url.clone()).await,
    };
    let mut manager = manager.map_err(|error| error.to_string())?;
    manager.with_client(client).map_err(|error| error.to_string())?;
    Ok(manager)
}

fn address(config: &McpConfig) -> Option<Url> {
    match &config.reach {
        Reach::Remote { url, .. } => Url::parse(url).ok(),
        Reach::Stdio { .. } | Reach::Sdk { .. } => None,
    }
}

/// One file per address and client: headers do not change who the user is.
fn token_file(config: &McpConfig, env: &Env) -> Option<PathBuf> {
    let url = address(config)?;
    let mut hash = Sha256::new();
    hash.update(url.as_str());
    hash.update([0]);
    hash.update(config.oauth.client_id.as_deref().unwrap_or_default());
    let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(kept::own_folder(env)?.join("mcp").join("logins").join(format!("{name}.json")))
}

struct TokenFile {
    file: PathBuf,
}

fn store_failed(error: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait::async_trait]
impl CredentialStore for TokenFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match std::fs::read(&self.file) {
            Ok(text) => {
                serde_json::from_slice(&text).map(Some).map_err(|_| store_failed("it cannot be read"))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(store_failed(error)),
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = serde_json::to_vec(&credentials).map_err(store_failed)?;
        kept::write_private(&self.file, &text).map_err(store_failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match std::fs::remove_file(&self.file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(store_failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Whether an error says that the user has to log in.
pub(super) fn asks_for_login(error: &(dyn std::error::Error + 'static)) -> bool {
    let refused = matches!(
        error.downcast_ref::<AuthError>(),
        Some(AuthError::AuthorizationRequired | AuthError::TokenExpired | AuthError::TokenRefreshRejected(_))
    );
    refused || error.is::<AuthRequiredError>()
}

/// The same for an error with others below it.
pub(super) fn needs_login(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(asks_for_login)
}
