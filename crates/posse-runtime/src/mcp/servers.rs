//! The servers of a session: one process or connection per distinct server, however many agents use it.
//!
//! Whoever uses a server holds a [`Lease`]. A server is started when somebody needs an answer, and ended some time after
//! the last lease is gone; after [`Servers::shutdown`] none is left. Knows when to start and end, not what is said.

mod board;
mod slot;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use posse_core::mcp::{McpConfig, NotStarted, Reach, Standing};
use rmcp::model::{
    CallToolResult, ClientRequest, GetPromptRequest, GetPromptRequestParams, GetPromptResult,
    ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, ServerResult,
};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::board::Board;
pub use self::board::Reset;
use self::slot::Slot;
use super::call::{self, Asked, CallOptions};
use super::config::Found;
use super::connect::{Connection, Surroundings};
use super::kept::{self, Kept};
use super::roster::is_within_host;
use super::{Configured, Facts, HostServers, Limits, McpError, PromptFact, ResourceFact};
use crate::ask::Desk;
use crate::world::World;

/// What the servers of a session are made with.
#[derive(Clone)]
pub struct Setup {
    /// The surroundings of the session, with what settings add to the environment.
    pub world: Arc<World>,
    /// Where a server's questions to the person go.
    pub desk: Desk,
    /// The folders of the session.
    pub roots: Vec<PathBuf>,
    /// Bounds.
    pub limits: Limits,
    /// Who carries messages to servers inside the program that started posse, if one can.
    pub host: Option<Arc<dyn HostServers>>,
}

/// The servers of a session. Copies are the same servers.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

pub(super) struct Inner {
    around: Surroundings,
    kept: Kept,
    /// Which servers there are.
    board: Mutex<Board>,
    /// By what is started or reached; of a server that remembers, also by who uses it.
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    changes: broadcast::Sender<Change>,
    /// How many changes there were.
    version: AtomicU64,
    over: CancellationToken,
    /// Servers that are being ended because nobody uses them.
    farewells: TaskTracker,
}

/// Something about a server's tools is other than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The server.
    pub server: Box<str>,
}

/// Who uses a server.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// The agent's id; empty for the main one. A server that remembers is not shared among agents.
    pub agent: &'a str,
    /// Whether the server is the agent's own: it ends with the last who uses it.
    pub own: bool,
}

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It answers.
    Connected,
    /// It is being started, or has not been needed yet.
    Pending,
    /// It does not answer.
    Failed,
    /// It wants to know who asks.
    NeedsAuth,
    /// It may not be used.
    Disabled,
}

impl State {
    /// What programs call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Disabled => "disabled",
        }
    }
}

/// What is known about a server, for people and programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Its name.
    pub name: Box<str>,
    /// How it is.
    pub state: State,
    /// How many tools it offers, if anybody knows.
    pub tools: Option<usize>,
    /// What is wrong.
    pub error: Option<String>,
    /// Who configured it; servers inside the host are the host's, whoever named them.
    pub source: Option<&'static str>,
    /// Where it was configured.
    pub scope: Option<&'static str>,
    /// How it is reached, if anybody knows.
    pub config: Option<McpConfig>,
    /// Everything else that is known.
    pub facts: Option<Arc<Facts>>,
}

impl Servers {
    /// The servers of a session. Nothing is started.
    pub fn new(setup: Setup, configured: Vec<Configured>) -> Self {
        Self::with(setup, Board::fixed(configured))
    }

    /// The servers of a session that others may be added to. Nothing is started.
    pub fn of(setup: Setup, found: Found) -> Self {
        Self::with(setup, Board::open(found))
    }

    fn with(setup: Setup, board: Board) -> Self {
        let Setup { world, desk, roots, limits, host } = setup;
        let kept = Kept::new(&world.env);
        let roots = roots.into_iter().map(PathBuf::into_boxed_path).collect();
        let around = Surroundings { world, limits, desk, roots, tasks: TaskTracker::new(), host };
        let (changes, _) = broadcast::channel(256);
        let (slots, over) = (Mutex::default(), CancellationToken::new());
        let (farewells, version) = (TaskTracker::new(), AtomicU64::new(0));
        let board = Mutex::new(board);
        Self(Arc::new(Inner { around, kept, board, slots, changes, version, over, farewells }))
    }

    /// What is configured now, whether or not it can be used.
    pub fn configured(&self) -> Arc<[Configured]> {
        self.0.board().all()
    }

    /// A lease of a configured server; `None` if there is none of that name that may be used.
    pub fn lease(&self, name: &str, holder: Holder<'_>) -> Option<Lease> {
        let config = self.0.board().usable(name).ok()?;
        Some(self.lease_for(name, &config, holder, true))
    }

    /// A lease of a server that an agent brings along. Whether it may is the caller's business.
    pub fn lease_of(&self, name: &str, config: &McpConfig, holder: Holder<'_>) -> Lease {
        self.lease_for(name, config, holder, false)
    }

    fn lease_for(&self, name: &str, config: &McpConfig, holder: Holder<'_>, listed: bool) -> Lease {
        let digest = kept::digest(config, &self.0.folder(config));
        let key = if config.stateful { format!("{digest} {}", holder.agent) } else { digest.clone() };
        let mut slots = self.0.slots();
        let slot = slots.entry(key.clone()).or_insert_with(|| {
            // What a server of the host is called says nothing of what it is.
            let is_kept = !matches!(config.reach, Reach::Sdk { .. });
            let facts = self.0.kept.load(&digest).filter(|_| is_kept);
            Arc::new(Slot::new(key, digest, name, config, facts))
        });
        slot.enter(name, listed, holder.own || config.stateful);
        let (slot, servers) = (Arc::clone(slot), Arc::clone(&self.0));
        Lease { name: name.into(), config: config.clone(), listed, slot, servers }
    }

    /// Makes sure that the tools of these servers are known: those of which no list was kept are started, all at once.
    /// What goes wrong is in [`Servers::status`].
    pub async fn prepare(&self, leases: &[Lease]) {
        join_all(leases.iter().map(async |lease| drop(lease.facts().await))).await;
    }

    /// Every server that is configured or in use.
    pub fn status(&self) -> Vec<Status> {
        let slots: Vec<Arc<Slot>> = self.0.slots().values().cloned().collect();
        let mut all: Vec<Status> = Vec::new();
        let (configured, off) = {
            let board = self.0.board();
            (board.all(), board.off())
        };
        // Whoever wants only the servers that are given does not want to hear of others.
        let is_wanted = |one: &&Configured| one.standing != Standing::Denied(NotStarted::Strict);
        for one in configured.iter().filter(is_wanted) {
            let digest = one.config.as_ref().map(|config| kept::digest(config, &self.0.folder(config)));
            let slot = slots.iter().find(|slot| Some(&slot.digest) == digest.as_ref());
            let mut status = match &one.standing {
                Standing::Ready if off.contains(&one.name) => Status::new(&one.name, State::Disabled, None),
                Standing::Ready => {
                    slot.map_or_else(|| Status::new(&one.name, State::Pending, None), |slot| slot.status())
                }
                Standing::NeedsApproval => {
                    let why =
                        format!("it came with the folder and waits for a yes: posse mcp enable {}", one.name);
                    Status::new(&one.name, State::Disabled, Some(why))
                }
                Standing::NeedsTrust => {
                    let why = "it came with the folder, which you do not trust: posse trust".to_owned();
                    Status::new(&one.name, State::Disabled, Some(why))
                }
                Standing::Denied(why) => Status::new(&one.name, State::Disabled, Some(why.to_string())),
                Standing::Broken(why) => Status::new(&one.name, State::Failed, Some(why.clone())),
            };
            status.name = one.name.clone();
            let within_host = one.config.as_ref().is_some_and(is_within_host);
            status.scope = Some(one.source.label());
            status.source = Some(if within_host { "sdk" } else { one.source.label() });
            status.config = one.config.clone();
            all.push(status);
        }
        let others = slots.iter().filter(|slot| !all.iter().any(|one| one.name == slot.name));
        let others: Vec<Status> = others.map(|slot| slot.status()).collect();
        all.extend(others);
        all
    }

    /// A number that changes whenever the tools of a server do.
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Relaxed)
    }

    /// Hears when the tools of a server change. Whoever is slow misses some and should look at all.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.changes.subscribe()
    }

    /// Ends a server and starts it again.
    pub async fn reconnect(&self, name: &str) -> Result<(), McpError> {
        let config = self.0.board().usable(name)?;
        let lease = self.lease_for(name, &config, Holder { agent: "", own: false }, true);
        lease.slot.end().await;
        lease.slot.forgive();
        lease.connection().await.map(drop)
    }

    /// Reaches every server that may be used, all at once, whether or not anybody needs it. How they are is in
    /// [`Servers::status`].
    pub async fn reach_all(&self) {
        let configured = self.configured();
        let ready = configured.iter().filter(|one| one.standing == Standing::Ready);
        join_all(ready.map(async |one| drop(self.reconnect(&one.name).await))).await;
    }

    /// Ends all servers. Afterwards none is left, and none is started any more.
    pub async fn shutdown(&self) {
        self.0.over.cancel();
        self.0.board().let_go();
        let slots: Vec<Arc<Slot>> = std::mem::take(&mut *self.0.slots()).into_values().collect();
        join_all(slots.iter().map(|slot| slot.end())).await;
        for tasks in [&self.0.farewells, &self.0.around.tasks] {
            tasks.close();
            tasks.wait().await;
        }
    }
}

#[cfg(test)]
impl Servers {
    /// Waits until every server is gone that nobody uses.
    pub(super) async fn settled(&self) {
        self.0.farewells.close();
        self.0.farewells.wait().await;
        self.0.farewells.reopen();
    }
}

impl Inner {
    fn slots(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something about a server's tools is other than it was.
    fn changed(&self, server: &str) {
        self.version.fetch_add(1, Ordering::Relaxed);
        let _ = self.changes.send(Change { server: server.into() });
    }

    /// Where a server runs.
    fn folder(&self, config: &McpConfig) -> PathBuf {
        let own = match &config.reach {
            Reach::Stdio { cwd, .. } => cwd.as_deref().unwrap_or_default(),
            Reach::Remote { .. } | Reach::Sdk { .. } => "",
        };
        self.around.world.cwd.join(Path::new(own))
    }
}

impl Status {
    fn new(name: &str, state: State, error: Option<String>) -> Self {
        let name = name.into();
        Self { name, state, tools: None, error, source: None, scope: None, config: None, facts: None }
    }
}

/// The use of a server. The server lives at least as long as one of these.
pub struct Lease {
    name: Box<str>,
    /// Who uses the same server may still treat it differently.
    config: McpConfig,
    /// Whether it is one of the session's, which may be taken away.
    listed: bool,
    slot: Arc<Slot>,
    servers: Arc<Inner>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        Slot::leave(&self.slot, &self.name, self.listed, &self.servers);
    }
}

impl Lease {
    /// What the server is called here.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How to reach it.
    pub fn config(&self) -> &McpConfig {
        &self.config
    }

    /// What is known of the server without asking it.
    pub fn known(&self) -> Option<Arc<Facts>> {
        self.slot.facts()
    }

    /// What the server offers; it is started if nobody knows.
    pub async fn facts(&self) -> Result<Arc<Facts>, McpError> {
        if let Some(facts) = self.known() {
            return Ok(facts);
        }
        self.connection().await?;
        self.known().ok_or(McpError::Over)
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        tool: &str,
        input: Map<String, Value>,
        options: CallOptions<'_>,
    ) -> Result<CallToolResult, McpError> {
        let stop = options.stop.clone();
        let connecting = self.connection();
        let connection = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(McpError::Stopped),
            connection = connecting => connection?,
        };
        let answer = call::call_tool(&connection, tool, input, self.call_limit(), options).await;
        // Whoever took the server away is why it does not answer.
        answer.map_err(|error| self.is_there().err().unwrap_or(error))
    }

    /// Whether the server may still be used; one that was taken away and came back is another.
    pub fn is_current(&self) -> bool {
        self.is_there().is_ok() && !self.slot.is_dismissed()
    }

    fn is_there(&self) -> Result<(), McpError> {
        if self.listed { self.servers.board().still_has(&self.name, &self.config) } else { Ok(()) }
    }

    /// What the server has to read.
    pub async fn resources(&self) -> Result<Vec<ResourceFact>, McpError> {
        let connection = self.connection().await?;
        let listed = connection
            .pages(async |peer, page| {
                let listed = peer.list_resources(page).await?;
                Ok((listed.resources, listed.next_cursor))
            })
            .await?;
        let fact = |one: rmcp::model::Resource| ResourceFact {
            uri: one.uri,
            name: one.name,
            mime_type: one.mime_type,
            description: one.description,
            server: self.name.to_string(),
        };
        Ok(listed.into_iter().map(fact).collect())
    }

    /// Reads a resource.
    pub(super) async fn read(
        &self,
        uri: &str,
        options: CallOptions<'_>,
    ) -> Result<ReadResourceResult, McpError> {
        let connection = self.connection().await?;
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let what = format!("the reading of {uri}");
        match self.ask(&connection, request, &what, options).await? {
            ServerResult::ReadResourceResult(result) => Ok(result),
            _ => Err(connection.nonsense("the answer is no resource")),
        }
    }

    /// The prompts the server offers.
    pub async fn prompts(&self) -> Result<Vec<PromptFact>, McpError> {
        let connection = self.connection().await?;
        let listed = connection
            .pages(async |peer, page| {
                let listed = peer.list_prompts(page).await?;
                Ok((listed.prompts, listed.next_cursor))
            })
            .await?;
        let fact = |one: rmcp::model::Prompt| PromptFact {
            name: one.name,
            description: one.description.unwrap_or_default(),
            arguments: one
                .arguments
                .unwrap_or_default()
                .into_iter()
                .map(|argument| (argument.name, argument.required.unwrap_or_default()))
                .collect(),
        };
        Ok(listed.into_iter().map(fact).collect())
    }

    /// A prompt with its arguments filled in: what is said, in order.
    pub async fn prompt(&self, name: &str, arguments: &[(String, String)]) -> Result<String, McpError> {
        let connection = self.connection().await?;
        let given = arguments.iter().map(|(name, value)| (name.clone(), Value::String(value.clone())));
        let params = GetPromptRequestParams::new(name).with_arguments(given.collect());
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let what = format!("the prompt {name}");
        match self.ask(&connection, request, &what, CallOptions::default()).await? {
            ServerResult::GetPromptResult(result) => Ok(said(result)),
            _ => Err(connection.nonsense("the answer is no prompt")),
        }
    }

    async fn ask(
        &self,
        connection: &Connection,
        request: ClientRequest,
        what: &str,
        options: CallOptions<'_>,
    ) -> Result<ServerResult, McpError> {
        let asked = Asked { what, limit: self.call_limit(), meta: Map::new(), options };
        call::ask(connection, request, asked).await
    }

    fn call_limit(&self) -> std::time::Duration {
        let own = self.config.timeout_ms.map(std::time::Duration::from_millis);
        own.unwrap_or(self.servers.around.limits.call)
    }

    /// The bounds that hold for it.
    pub(super) fn limits(&self) -> &Limits {
        &self.servers.around.limits
    }

    async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        if !self.servers.over.is_cancelled() {
            self.is_there()?;
        }
        tokio::select! {
            biased;
            () = self.servers.over.cancelled() => Err(McpError::Over),
            connection = self.slot.connection(&self.servers) => connection,
        }
    }
}

fn said(result: GetPromptResult) -> String {
    let texts = result.messages.iter().filter_map(|message| message.content.as_text());
    texts.map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n\n")
}
