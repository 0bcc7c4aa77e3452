//! One server: whether it runs, what is known of it, who uses it, and how often it failed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_core::mcp::{McpConfig, Reach};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Inner, State, Status};
use crate::mcp::connect::Connection;
use crate::mcp::{Facts, McpError};

/// The longest a server that keeps failing is left alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that says all the time that its list changed is asked this often.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);

pub(super) struct Slot {
    key: String,
    pub(super) digest: String,
    pub(super) name: Box<str>,
    pub(super) config: McpConfig,
    /// Held while a connection is made: whoever comes meanwhile waits for that one.
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
    known: Mutex<Known>,
    leases: AtomicUsize,
    /// Counts the comings and goings, so that an old farewell does not end a new stay.
    visits: AtomicU64,
    /// Cancelled when it is not to be there any more.
    dismissed: CancellationToken,
}

#[derive(Default)]
struct Known {
    facts: Option<Arc<Facts>>,
    open: Option<Arc<Connection>>,
    error: Option<McpError>,
    failures: u32,
    not_before: Option<Instant>,
    /// Whether everybody so far had it for their own.
    own: Option<bool>,
    /// What its users call it, each with whether it is one of the session's: how many there are.
    users: BTreeMap<(Box<str>, bool), usize>,
}

impl Slot {
    pub(super) fn new(
        key: String,
        digest: String,
        name: &str,
        config: &McpConfig,
        facts: Option<Facts>,
    ) -> Self {
        Self {
            key,
            digest,
            name: name.into(),
            config: config.clone(),
            connection: tokio::sync::Mutex::default(),
            known: Mutex::new(Known { facts: facts.map(Arc::new), ..Known::default() }),
            leases: AtomicUsize::new(0),
            visits: AtomicU64::new(0),
            dismissed: CancellationToken::new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn facts(&self) -> Option<Arc<Facts>> {
        self.known().facts.clone()
    }

    pub(super) fn status(&self) -> Status {
        let known = self.known();
        let open = known.open.as_ref().map(|connection| connection.is_open());
        let state = match (open, &known.error) {
            (Some(true), _) => State::Connected,
            (_, Some(McpError::NeedsLogin { .. })) => State::NeedsAuth,
            (Some(false), _) | (None, Some(_)) => State::Failed,
            (None, None) => State::Pending,
        };
        let error = match state {
            State::Connected | State::Pending => None,
            State::Failed | State::NeedsAuth | State::Disabled => {
                let gone = || "it went away".to_owned();
                Some(known.error.as_ref().map_or_else(gone, ToString::to_string))
            }
        };
        let tools = known.facts.as_ref().map(|facts| facts.tools.len());
        let facts = known.facts.clone();
        Status { tools, facts, ..Status::new(&self.name, state, error) }
    }

    /// Somebody begins to use it.
    pub(super) fn enter(&self, name: &str, listed: bool, own: bool) {
        self.leases.fetch_add(1, Ordering::SeqCst);
        self.visits.fetch_add(1, Ordering::SeqCst);
        let mut known = self.known();
        known.own = Some(known.own.unwrap_or(true) && own);
        *known.users.entry((name.into(), listed)).or_default() += 1;
    }

    /// Whether nobody else uses it than who knows it as this server of the session.
    pub(super) fn is_only(&self, name: &str) -> bool {
        self.known().users.keys().all(|(user, listed)| **user == *name && *listed)
    }

    /// Somebody is done with it. The last one turns off the light: at once if it was theirs, else after a while.
    pub(super) fn leave(slot: &Arc<Self>, name: &str, listed: bool, servers: &Arc<Inner>) {
        {
            let mut known = slot.known();
            let user = (name.into(), listed);
            let count = known.users.get(&user).copied().unwrap_or_default();
            match count {
                0 | 1 => drop(known.users.remove(&user)),
                more => drop(known.users.insert(user, more - 1)),
            }
        }
        let visit = slot.visits.fetch_add(1, Ordering::SeqCst) + 1;
        if slot.leases.fetch_sub(1, Ordering::SeqCst) > 1 || servers.over.is_cancelled() {
            return;
        }
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let own = slot.known().own == Some(true);
        let grace = if own { Duration::ZERO } else { servers.around.limits.grace };
        let (slot, servers) = (Arc::clone(slot), Arc::clone(servers));
        servers.farewells.clone().spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(grace) => {}
                () = servers.over.cancelled() => return,
            }
            {
                let mut slots = servers.slots();
                if slot.visits.load(Ordering::SeqCst) != visit {
                    return;
                }
                // Another may have come in its place.
                if slots.get(&slot.key).is_some_and(|there| Arc::ptr_eq(there, &slot)) {
                    slots.remove(&slot.key);
                }
            }
            slot.end().await;
        });
    }

    /// The connection; made if there is none. A server that just failed is left alone for a while, longer every time.
    pub(super) async fn connection(
        self: &Arc<Self>,
        servers: &Arc<Inner>,
    ) -> Result<Arc<Connection>, McpError> {
        let mut place = self.connection.lock().await;
        if let Some(connection) = &*place {
            if connection.is_open() {
                return Ok(Arc::clone(connection));
            }
            // What is left of it, as children of a program that crashed, goes first.
            connection.close().await;
            *place = None;
        }
        self.check_patience()?;
        let dismissed = || McpError::Dismissed { server: self.name.clone(), how: "was taken away" };
        let opened = tokio::select! {
            biased;
            () = self.dismissed.cancelled() => return Err(dismissed()),
            opened = Connection::open(&self.name, &self.config, &servers.around) => opened,
        };
        let (connection, facts) = opened.inspect_err(|error| self.fail(error))?;
        *place = Some(Arc::clone(&connection));
        {
            let mut known = self.known();
            known.open = Some(Arc::clone(&connection));
            (known.error, known.failures, known.not_before) = (None, 0, None);
        }
        self.learn(facts, servers);
        self.listen(&connection, servers);
        Ok(connection)
    }

    fn check_patience(&self) -> Result<(), McpError> {
        let known = self.known();
        match (&known.error, known.not_before) {
            (Some(error), Some(moment)) if Instant::now() < moment => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn fail(&self, error: &McpError) {
        let mut known = self.known();
        known.open = None;
        known.error = Some(error.clone());
        let pause = Duration::from_secs(1) * 2_u32.saturating_pow(known.failures.min(10));
        known.failures += 1;
        known.not_before = Some(Instant::now() + pause.min(LONGEST_PAUSE));
    }

    /// Forgets that it failed: somebody wants it tried now.
    pub(super) fn forgive(&self) {
        let mut known = self.known();
        (known.error, known.failures, known.not_before) = (None, 0, None);
    }

    /// Takes over what a server says now; if it is something else than was known, others hear of it.
    fn learn(&self, facts: Facts, servers: &Arc<Inner>) {
        let news = {
            let mut known = self.known();
            let news = known.facts.as_deref() != Some(&facts);
            known.facts = Some(Arc::new(facts.clone()));
            news
        };
        if news {
            if !matches!(self.config.reach, Reach::Sdk { .. }) {
                servers.kept.save(&self.digest, &facts);
            }
            servers.changed(&self.name);
        }
    }

    /// Asks again whenever the server says that its list changed.
    fn listen(self: &Arc<Self>, connection: &Arc<Connection>, servers: &Arc<Inner>) {
        // Weak: a server that nobody uses must not live because it may have news.
        let (slot, connection) = (Arc::downgrade(self), Arc::downgrade(connection));
        let weak = Arc::downgrade(servers);
        let over = servers.over.clone();
        servers.around.tasks.spawn(async move {
            loop {
                let Some(open) = connection.upgrade() else { return };
                let changed = tokio::select! {
                    () = over.cancelled() => return,
                    changed = open.changed() => changed,
                };
                let (Some(slot), Some(servers)) = (slot.upgrade(), weak.upgrade()) else { return };
                if !changed {
                    return;
                }
                if let Ok(facts) = open.facts().await {
                    slot.learn(facts, &servers);
                }
                drop((slot, servers, open));
                tokio::select! {
                    () = over.cancelled() => return,
                    () = tokio::time::sleep(BETWEEN_LISTS) => {}
                }
            }
        });
    }

    /// Ends the server for good: whoever waits for it waits no longer.
    pub(super) async fn dismiss(&self) {
        self.dismissed.cancel();
        self.end().await;
    }

    pub(super) fn is_dismissed(&self) -> bool {
        self.dismissed.is_cancelled()
    }

    /// Ends the server, if it runs.
    pub(super) async fn end(&self) {
        let connection = self.connection.lock().await.take();
        self.known().open = None;
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}
