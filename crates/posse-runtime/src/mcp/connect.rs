//! Reaching a server: starting it or connecting to it, shaking hands, asking what it offers. A connection is what comes
//! of it; it is never mended, only replaced.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_core::mcp::{McpConfig, Reach, Transport};
use rmcp::model::{
    ClientRequest, ErrorCode, InputRequest, InputRequests, InputResponses, ListToolsRequest,
    PaginatedRequestParams, ProtocolVersion, ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::sync::{Mutex, broadcast, mpsc};
use tokio_util::task::TaskTracker;

use super::elicit::Person;
use super::facts::{self, Listed, cut};
use super::handler::{Handler, ProgressNote};
use super::http::{Unreached, Web};
use super::lines::{Bounded, Fault};
use super::process::{self, Process, Program};
use super::sse::Sse;
use super::{Facts, HostServers, Limits, McpError, auth, elicit, handler, host};
use crate::ask::Desk;
use crate::world::World;

/// Pages of a list that are read. A server can always name one more.
const PAGES: usize = 100;
/// Characters of a server's instructions that are kept.
const INSTRUCTIONS: usize = 2048;

/// What a connection is made with.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) world: Arc<World>,
    pub(super) limits: Limits,
    pub(super) desk: Desk,
    pub(super) roots: Arc<[Box<Path>]>,
    pub(super) tasks: TaskTracker,
    /// Who carries messages to servers inside the program that started posse.
    pub(super) host: Option<Arc<dyn HostServers>>,
}

/// A server that answers, or did until now.
pub(super) struct Connection {
    server: Box<str>,
    /// What must not be said of it.
    config: McpConfig,
    remote: bool,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    process: Mutex<Option<Process>>,
    progress: broadcast::Sender<ProgressNote>,
    changed: Mutex<mpsc::Receiver<()>>,
    fault: Fault,
    info: Option<Arc<ServerPeerInfo>>,
    person: Person,
    roots: Arc<[Box<Path>]>,
    limits: Limits,
    tasks: TaskTracker,
}

/// The parts of a connection that exist before the handshake.
struct Ends {
    config: McpConfig,
    handler: Handler,
    changed: mpsc::Receiver<()>,
    fault: Fault,
}

impl Connection {
    /// Reaches a server within the time it has. The facts come with it.
    pub(super) async fn open(
        server: &str,
        config: &McpConfig,
        around: &Surroundings,
    ) -> Result<(Arc<Self>, Facts), McpError> {
        let limit = around.limits.connect;
        let opening = async {
            let connection = match &config.reach {
                Reach::Stdio { .. } => Self::start(server, config, around).await?,
                Reach::Remote { .. } => Self::reach(server, config, around).await?,
                Reach::Sdk { name } => Self::within_host(server, name, config, around).await?,
            };
            let connection = Arc::new(connection);
            match connection.facts().await {
                Ok(facts) => Ok((connection, facts)),
                Err(error) => {
                    connection.close().await;
                    Err(error)
                }
            }
        };
        let timed_out = || McpError::TimedOut { server: server.into(), what: "the greeting".into(), limit };
        let opened = tokio::time::timeout(limit, opening).await.unwrap_or_else(|_| Err(timed_out()));
        opened.map_err(|error| error.veiled(config))
    }

    async fn start(server: &str, config: &McpConfig, around: &Surroundings) -> Result<Self, McpError> {
        let failed = |why: String| McpError::Connect { server: server.into(), remote: false, why };
        // Servers of today want the older greeting; one that refuses it is started again and asked the newer way.
        let mut modes = greetings().into_iter().peekable();
        while let Some(mode) = modes.next() {
            let (mut process, stdout, stdin) =
                start_process(config, around).map_err(|error| failed(not_started(&error, config)))?;
            let ends = Ends::new(server, config, around);
            let reader = Bounded::new(stdout, around.limits.message, ends.fault.clone());
            let transport = AsyncRwTransport::new_client(reader, stdin).with_max_line_length(usize::MAX);
            match ends.handler.clone().serve_with_lifecycle(transport, mode).await {
                Ok(service) => return Ok(Self::new(server, service, Some(process), ends, around)),
                Err(error) if wants_newer(&error) && modes.peek().is_some() => {
                    process.end(around.limits.farewell).await;
                }
                Err(error) => {
                    // Writing to a program that is gone fails too.
                    let gone = matches!(
                        error,
                        ClientInitializeError::ConnectionClosed(_)
                            | ClientInitializeError::TransportError { .. }
                    );
                    let why = match ends.fault.get() {
                        Some(fault) => fault.clone(),
                        None if gone => process.last_words().await,
                        None => words(&error),
                    };
                    process.end(Duration::ZERO).await;
                    return Err(failed(why));
                }
            }
        }
        Err(failed("it refuses every greeting".to_owned()))
    }

    async fn within_host(
        server: &str,
        name: &str,
        config: &McpConfig,
        around: &Surroundings,
    ) -> Result<Self, McpError> {
        let Some(host) = &around.host else {
            let how = "the program that started posse";
            return Err(McpError::Unsupported { server: server.into(), how });
        };
        // What the host says of an earlier greeting may be of no use; then the server is greeted itself.
        let mut greeted = host.greeted(name);
        loop {
            let is_replayed = greeted.is_some();
            let ends = Ends::new(server, config, around);
            let (read, write) = tokio::io::split(host::connect(host, name, greeted.take(), &around.tasks));
            let reader = Bounded::new(read, around.limits.message, ends.fault.clone());
            let transport = AsyncRwTransport::new_client(reader, write).with_max_line_length(usize::MAX);
            let [greeting, _] = greetings();
            match ends.handler.clone().serve_with_lifecycle(transport, greeting).await {
                Ok(service) => return Ok(Self::new(server, service, None, ends, around)),
                Err(_) if is_replayed => {}
                Err(error) => {
                    let why = words(&error);
                    return Err(McpError::Connect { server: server.into(), remote: true, why });
                }
            }
        }
    }

    async fn reach(server: &str, config: &McpConfig, around: &Surroundings) -> Result<Self, McpError> {
        let Reach::Remote { transport, url, headers } = &config.reach else {
            return Err(McpError::Over);
        };
        match transport {
            Transport::WebSocket => {
                return Err(McpError::Unsupported { server: server.into(), how: "web sockets" });
            }
            Transport::Http | Transport::Sse => {}
        }
        let failed = |why: String| McpError::Connect { server: server.into(), remote: true, why };
        let web = Web::new(server, url, headers, config, around).await.map_err(failed)?;
        // What fails for a moment, as while a server starts, is tried again; the limit of the whole holds.
        let mut pauses = [500, 1000, 2000].map(Duration::from_millis).into_iter();
        loop {
            let ends = Ends::new(server, config, around);
            match greet(&ends, *transport, &web).await {
                Ok(service) => return Ok(Self::new(server, service, None, ends, around)),
                Err(Unreached::Login) => return Err(McpError::NeedsLogin { server: server.into() }),
                Err(Unreached::Failed(why)) => return Err(failed(why)),
                Err(Unreached::Passing(why)) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(failed(why)),
                },
            }
        }
    }

    fn new(
        server: &str,
        service: RunningService<RoleClient, Handler>,
        process: Option<Process>,
        ends: Ends,
        around: &Surroundings,
    ) -> Self {
        Self {
            server: server.into(),
            config: ends.config,
            remote: process.is_none(),
            peer: service.peer().clone(),
            info: service.peer_info(),
            service: Mutex::new(Some(service)),
            process: Mutex::new(process),
            progress: ends.handler.progress,
            changed: Mutex::new(ends.changed),
            fault: ends.fault,
            person: Person::of(around),
            roots: Arc::clone(&around.roots),
            limits: around.limits,
            tasks: around.tasks.clone(),
        }
    }

    /// What the server offers now.
    pub(super) async fn facts(&self) -> Result<Facts, McpError> {
        let mut facts = Facts::default();
        let mut has_tools = true;
        if let Some(info) = &self.info {
            facts.protocol = info.protocol_version.to_string();
            if let Some(own) = &info.server_info {
                facts.server = cut(own.name.clone(), 200);
                facts.version = cut(own.version.clone(), 200);
            }
            facts.instructions = info.instructions.clone().map(|text| cut(text, INSTRUCTIONS));
            facts.resources = info.capabilities.resources.is_some();
            facts.prompts = info.capabilities.prompts.is_some();
            has_tools = info.capabilities.tools.is_some();
        }
        if has_tools {
            let tools = self.pages(async |peer, page| {
                match peer.list_tools(page.clone()).await {
                    Ok(listed) => Ok((listed.tools.into_iter().map(Ok).collect(), listed.next_cursor)),
                    // One tool that is wrong must not cost the others.
                    Err(ServiceError::UnexpectedResponse) => list_loosely(peer, page).await,
                    Err(error) => Err(error),
                }
            });
            facts.take_tools(&self.server, tools.await?);
        }
        Ok(facts)
    }

    /// All pages of a list, as far as anybody would read.
    pub(super) async fn pages<T>(
        &self,
        ask: impl AsyncFn(
            &Peer<RoleClient>,
            Option<PaginatedRequestParams>,
        ) -> Result<(Vec<T>, Option<String>), ServiceError>,
    ) -> Result<Vec<T>, McpError> {
        let limit = self.limits.connect;
        let all = async {
            let mut items = Vec::new();
            let mut page = None;
            for _ in 0..PAGES {
                let params =
                    page.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
                let (some, next) = match ask(&self.peer, params).await {
                    Ok(listed) => listed,
                    Err(error) => return Err(self.failed(error).await),
                };
                items.extend(some);
                match next {
                    Some(cursor) if !cursor.is_empty() => page = Some(cursor),
                    _ => break,
                }
            }
            Ok(items)
        };
        let timed_out =
            || McpError::TimedOut { server: self.server.clone(), what: "what it offers".into(), limit };
        tokio::time::timeout(limit, all).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// What a server wants to know before it answers a call, by the names it gave to its questions.
    pub(super) async fn answer(&self, wanted: InputRequests) -> Result<InputResponses, McpError> {
        let mut answers = InputResponses::new();
        for (name, request) in wanted {
            let answer = match request {
                InputRequest::Elicitation(request) => {
                    serde_json::to_value(elicit::ask(&self.server, request.params, &self.person).await)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(handler::roots(&self.roots)),
                _ => {
                    let message = "it wants to use the model, which servers may not".to_owned();
                    return Err(McpError::Refused { server: self.server.clone(), message });
                }
            };
            answers.insert(name, answer.unwrap_or_default());
        }
        Ok(answers)
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(super) fn progress(&self) -> broadcast::Receiver<ProgressNote> {
        self.progress.subscribe()
    }

    /// Whether it can still be asked.
    pub(super) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    /// Waits until the server says that its list of tools changed; `false` when it will not any more.
    pub(super) async fn changed(&self) -> bool {
        self.changed.lock().await.recv().await.is_some()
    }

    pub(super) fn nonsense(&self, what: &str) -> McpError {
        McpError::Nonsense { server: self.server.clone(), what: what.to_owned() }
    }

    /// What went wrong, in our own words.
    pub(super) async fn failed(&self, error: ServiceError) -> McpError {
        let server = self.server.clone();
        let error = match error {
            ServiceError::McpError(error) => {
                McpError::Refused { server, message: cut(error.message.into(), 2000) }
            }
            ServiceError::UnexpectedResponse => self.nonsense("the answer is of another kind"),
            ServiceError::TransportSend(error) if auth::needs_login(&error) => {
                McpError::NeedsLogin { server }
            }
            ServiceError::TransportSend(error) if self.remote => {
                McpError::Connect { server, remote: true, why: chain(&error) }
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                McpError::Closed { server, why: self.end_of_it().await }
            }
            other => McpError::Closed { server, why: cut(other.to_string(), 2000) },
        };
        error.veiled(&self.config)
    }

    /// Why the connection ended.
    async fn end_of_it(&self) -> String {
        if let Some(fault) = self.fault.get() {
            return fault.clone();
        }
        match &mut *self.process.lock().await {
            Some(process) => process.last_words().await,
            None => "the connection was closed".to_owned(),
        }
    }

    /// Ends it, and the server if it is a program of ours.
    pub(super) async fn close(&self) {
        if let Some(mut service) = self.service.lock().await.take() {
            let _ = service.close_with_timeout(self.limits.farewell).await;
        }
        if let Some(process) = self.process.lock().await.take() {
            process.end(self.limits.farewell).await;
        }
    }
}

impl Ends {
    fn new(server: &str, config: &McpConfig, around: &Surroundings) -> Self {
        let (progress, _) = broadcast::channel(64);
        let (sender, changed) = mpsc::channel(1);
        let handler = Handler {
            server: server.into(),
            person: Person::of(around),
            roots: Arc::clone(&around.roots),
            progress,
            changed: sender,
        };
        Self { config: config.clone(), handler, changed, fault: Fault::default() }
    }
}

/// Shakes hands with a server at an address.
async fn greet(
    ends: &Ends,
    transport: Transport,
    web: &Web,
) -> Result<RunningService<RoleClient, Handler>, Unreached> {
    let handler = || ends.handler.clone();
    let [older, newer] = greetings();
    let mut greeted = match transport {
        Transport::Sse => {
            let stream =
                Sse::open(web.clone()).await.map_err(|error| Unreached::of(&error, chain(&error)))?;
            handler().serve_with_lifecycle(stream, older).await
        }
        Transport::Http | Transport::WebSocket => {
            handler().serve_with_lifecycle(web.transport(), older).await
        }
    };
    if transport == Transport::Http && greeted.as_ref().is_err_and(wants_newer) {
        greeted = handler().serve_with_lifecycle(web.transport(), newer).await;
    }
    greeted.map_err(|error| Unreached::of_greeting(&error, words(&error)))
}

fn start_process(
    config: &McpConfig,
    around: &Surroundings,
) -> std::io::Result<(Process, tokio::process::ChildStdout, tokio::net::unix::pipe::Sender)> {
    let Reach::Stdio { command, args, env, cwd } = &config.reach else {
        return Err(std::io::Error::other("it is no program"));
    };
    let cwd: PathBuf = around.world.cwd.join(cwd.as_deref().unwrap_or_default());
    if !cwd.is_dir() {
        return Err(std::io::Error::other(format!("there is no folder {}", cwd.display())));
    }
    process::start(&Program { command, args, env, cwd: &cwd }, &around.world)
}

/// Why a program could not be started.
fn not_started(error: &std::io::Error, config: &McpConfig) -> String {
    match (&config.reach, error.kind()) {
        (Reach::Stdio { command, .. }, std::io::ErrorKind::NotFound) => {
            format!("there is no program `{command}`")
        }
        _ => error.to_string(),
    }
}

/// A list of tools as it comes, whatever is in it.
async fn list_loosely(
    peer: &Peer<RoleClient>,
    page: Option<PaginatedRequestParams>,
) -> Result<(Vec<Listed>, Option<String>), ServiceError> {
    let request = ListToolsRequest { params: page, ..ListToolsRequest::default() };
    match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
        ServerResult::CustomResult(list) => facts::read_list(&list.0).ok_or(ServiceError::UnexpectedResponse),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// Ways to begin, in the order they are tried.
fn greetings() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions }]
}

/// Whether a server says that it does not know the older greeting.
fn wants_newer(error: &ClientInitializeError) -> bool {
    let codes = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION];
    matches!(error, ClientInitializeError::JsonRpcError(error) if codes.contains(&error.code))
}

fn words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => cut(error.message.to_string(), 2000),
        ClientInitializeError::TransportError { error, .. } => chain(error),
        ClientInitializeError::ConnectionClosed(_) => "the connection was closed".to_owned(),
        other => cut(other.to_string(), 2000),
    }
}

/// What is at the bottom of a failed request: without addresses, which may hold secrets.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    cut(crate::net::innermost(error), 2000)
}
