//! Which servers a session has, and how that changes while it runs: a host gives others, takes some away, switches them
//! off and on. What is taken away ends at once, and whoever still holds it is told so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use posse_core::mcp::{McpConfig, Standing};

use super::slot::Slot;
use super::{Holder, Lease, Servers, State};
use crate::mcp::config::Found;
use crate::mcp::kept;
use crate::mcp::roster::{Roster, is_within_host};
use crate::mcp::{Configured, McpError};

/// The list of servers.
#[derive(Default)]
pub(super) struct Board {
    /// What the list was made of; nothing if it stays as it is.
    roster: Option<Roster>,
    all: Arc<[Configured]>,
    /// What the host switched off.
    off: BTreeSet<Box<str>>,
    /// What the host wants to be there, whether or not anybody uses it.
    held: BTreeMap<Box<str>, Arc<Slot>>,
}

/// What came of another set of servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reset {
    /// Servers that came, or are others than before.
    pub added: Vec<Box<str>>,
    /// Servers that are gone.
    pub removed: Vec<Box<str>>,
    /// What went wrong, by server.
    pub errors: BTreeMap<Box<str>, String>,
}

impl Board {
    /// A list that stays as it is.
    pub(super) fn fixed(configured: Vec<Configured>) -> Self {
        Self { all: configured.into(), ..Self::default() }
    }

    /// A list that others can be added to.
    pub(super) fn open(found: Found) -> Self {
        Self { all: found.servers.into(), roster: Some(found.roster), ..Self::default() }
    }

    pub(super) fn all(&self) -> Arc<[Configured]> {
        Arc::clone(&self.all)
    }

    pub(super) fn off(&self) -> BTreeSet<Box<str>> {
        self.off.clone()
    }

    /// How to reach a server that may be used.
    pub(super) fn usable(&self, name: &str) -> Result<McpConfig, McpError> {
        let ready = |one: &&Configured| *one.name == *name && one.standing == Standing::Ready;
        let server = || Box::from(name);
        match self.all.iter().find(ready).and_then(|one| one.config.clone()) {
            Some(_) if self.off.contains(name) => {
                Err(McpError::Dismissed { server: server(), how: "is switched off" })
            }
            Some(config) => Ok(config),
            None => Err(match self.all.iter().find(|one| *one.name == *name).map(|one| &one.standing) {
                None => McpError::Unknown { server: server() },
                Some(Standing::Denied(why)) => McpError::Unusable { server: server(), why: why.to_string() },
                Some(Standing::Broken(why)) => McpError::Unusable { server: server(), why: why.clone() },
                Some(Standing::NeedsTrust) => {
                    let why = "it came with the folder, which nobody trusts yet".to_owned();
                    McpError::Unusable { server: server(), why }
                }
                Some(Standing::NeedsApproval | Standing::Ready) => {
                    let why = format!("it came with the folder and waits for a yes: posse mcp enable {name}");
                    McpError::Unusable { server: server(), why }
                }
            }),
        }
    }

    /// Whether a server is still what it was to whoever got it from here.
    pub(super) fn still_has(&self, name: &str, config: &McpConfig) -> Result<(), McpError> {
        let gone = || McpError::Dismissed {
            server: name.into(),
            how: "is not among the servers of this session any more",
        };
        match self.usable(name) {
            Ok(now) if now.identity() == config.identity() => Ok(()),
            Ok(_) | Err(McpError::Unknown { .. } | McpError::Unusable { .. }) => Err(gone()),
            Err(error) => Err(error),
        }
    }

    /// Holds nothing any more.
    pub(super) fn let_go(&mut self) {
        self.held.clear();
    }

    fn ready(&self) -> BTreeMap<Box<str>, McpConfig> {
        let ready = self.all.iter().filter(|one| one.standing == Standing::Ready);
        ready.filter_map(|one| Some((one.name.clone(), one.config.clone()?))).collect()
    }

    /// Other servers of the host: what came of it, and what must be ended.
    fn give(
        &mut self,
        servers: Vec<(Box<str>, Result<McpConfig, String>)>,
    ) -> (Reset, Vec<(Box<str>, McpConfig)>) {
        let before = self.ready();
        let Some(roster) = &mut self.roster else {
            let refuse = |(name, _)| (name, "no servers can be added here".to_owned());
            let errors = servers.into_iter().map(refuse).collect();
            return (Reset { errors, ..Reset::default() }, Vec::new());
        };
        let was_of_host: Vec<Box<str>> = before
            .iter()
            .filter(|(name, config)| roster.is_of_host(name, config))
            .map(|(name, _)| name.clone())
            .collect();
        let errors = roster.give(servers).into_iter().collect();
        self.all = roster.judged().into();
        let after = self.ready();
        let Some(roster) = &self.roster else { return (Reset::default(), Vec::new()) };
        let added = after
            .iter()
            .filter(|(name, config)| roster.is_of_host(name, config) && before.get(*name) != Some(*config))
            .map(|(name, _)| name.clone())
            .collect();
        let removed = was_of_host.into_iter().filter(|name| !after.contains_key(name)).collect();
        let gone: Vec<(Box<str>, McpConfig)> =
            before.into_iter().filter(|(name, config)| after.get(name) != Some(config)).collect();
        // A switch belongs to the server it was made for.
        self.off.retain(|name| after.contains_key(name) && !gone.iter().any(|(gone, _)| gone == name));
        (Reset { added, removed, errors }, gone)
    }
}

impl Servers {
    /// Takes other servers of the host in the place of those it gave before, and of all that live inside it. What is gone
    /// has ended; what came is being reached, and those that are no part of the host are waited for.
    pub async fn give(&self, servers: Vec<(Box<str>, Result<McpConfig, String>)>) -> Reset {
        let (mut reset, gone) = self.0.board().give(servers);
        for name in gone.iter().map(|(name, _)| name).chain(&reset.added) {
            self.0.changed(name);
        }
        for (name, config) in &gone {
            self.dismiss(name, config).await;
        }
        let (inside, outside): (Vec<&Box<str>>, Vec<&Box<str>>) = reset
            .added
            .iter()
            .partition(|name| self.0.board().usable(name).is_ok_and(|one| is_within_host(&one)));
        for lease in inside.into_iter().filter_map(|name| self.take_up(name).ok()) {
            // A host may want its answer before it answers itself.
            self.0.around.tasks.spawn(async move { drop(lease.connection().await) });
        }
        let reached = join_all(outside.iter().map(async |name| ((*name).clone(), self.bring_up(name).await)));
        for (name, reached) in reached.await {
            if let Err(error) = reached {
                reset.errors.insert(name, error.to_string());
            }
        }
        reset
    }

    /// Why a server may not be used, if it may not.
    pub fn check(&self, name: &str) -> Result<(), McpError> {
        self.0.board().usable(name).map(drop)
    }

    /// What the host switched off.
    pub fn switched_off(&self) -> Vec<Box<str>> {
        self.0.board().off.iter().cloned().collect()
    }

    /// Switches a server off, which ends it, or on, which reaches it again.
    pub async fn switch(&self, name: &str, on: bool) -> Result<(), McpError> {
        if on {
            let was_off = self.0.board().off.remove(name);
            self.0.board().usable(name)?;
            self.0.changed(name);
            return if was_off { self.bring_up(name).await } else { self.reconnect(name).await };
        }
        let config = match self.0.board().usable(name) {
            Ok(config) => config,
            // What cannot be used is off already.
            Err(McpError::Dismissed { .. } | McpError::Unusable { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.0.board().off.insert(name.into());
        self.0.changed(name);
        self.dismiss(name, &config).await;
        Ok(())
    }

    /// Waits until no server is being reached that the host gave or switched on.
    pub async fn greeted(&self) {
        let held: Vec<Box<str>> = self.0.board().held.keys().cloned().collect();
        let pending: Vec<Box<str>> =
            self.status().into_iter().filter(|one| one.state == State::Pending).map(|one| one.name).collect();
        let awaited = held.iter().filter(|name| pending.contains(name));
        let leases = awaited.filter_map(|name| self.lease(name, Holder { agent: "", own: false }));
        join_all(leases.map(async |lease| drop(lease.facts().await))).await;
    }

    /// Reaches a server and keeps it there.
    async fn bring_up(&self, name: &str) -> Result<(), McpError> {
        self.take_up(name)?.connection().await.map(drop)
    }

    /// A server that is to stay, to be reached at once.
    fn take_up(&self, name: &str) -> Result<Lease, McpError> {
        let config = self.0.board().usable(name)?;
        let lease = self.lease_for(name, &config, Holder { agent: "", own: false }, true);
        self.hold(name, &lease.slot);
        lease.slot.forgive();
        Ok(lease)
    }

    fn hold(&self, name: &str, slot: &Arc<Slot>) {
        slot.enter(name, true, false);
        let before = self.0.board().held.insert(name.into(), Arc::clone(slot));
        if let Some(before) = before {
            Slot::leave(&before, name, true, &self.0);
        }
    }

    /// Ends a server that is not to be there any more, unless somebody has the same under another name.
    async fn dismiss(&self, name: &str, config: &McpConfig) {
        let digest = kept::digest(config, &self.0.folder(config));
        let gone: Vec<Arc<Slot>> = {
            let mut slots = self.0.slots();
            let is_gone = |slot: &Arc<Slot>| slot.digest == digest && slot.is_only(name);
            let gone: Vec<Arc<Slot>> = slots.values().filter(|slot| is_gone(slot)).cloned().collect();
            slots.retain(|_, slot| !gone.iter().any(|gone| Arc::ptr_eq(gone, slot)));
            gone
        };
        let held = self.0.board().held.remove(name);
        join_all(gone.iter().map(|slot| slot.dismiss())).await;
        if let Some(held) = held {
            Slot::leave(&held, name, true, &self.0);
        }
    }
}
