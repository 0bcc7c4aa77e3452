//! Every server that somebody offers, and the rules they are judged by. Kept for as long as the session: a host may give
//! other servers while it runs, and those are judged like all others.

use std::path::Path;
use std::sync::Arc;

use posse_core::mcp::{
    Chosen, McpConfig, McpSource, NotStarted, Offered, Reach, Rules, Standing, choose, read_config,
};
use serde_json::{Map, Value};

use super::{Configured, kept};
use crate::world::Env;

/// Where servers that a host gave while the session ran are said to come from.
const GIVEN: &str = "<the host>";

/// What is offered and what decides about it.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    pub(super) env: Env,
    /// Each with its file.
    pub(super) offers: Vec<(Offered, Arc<Path>)>,
    pub(super) rules: Rules,
    /// Servers that the user switched off.
    pub(super) switched_off: Vec<Box<str>>,
    /// The settings file that lets nobody give servers beside the files.
    pub(super) no_sideload: Option<Arc<Path>>,
    /// What the host gave while the session ran.
    pub(super) given: Vec<Offered>,
}

/// The servers of a mapping from names to configurations, as hosts write them.
pub fn read_given(servers: &Map<String, Value>) -> Vec<(Box<str>, Result<McpConfig, String>)> {
    let read = |value: &Value| {
        let (root, _) = posse_core::json::parse(&value.to_string());
        let root = root.ok_or_else(|| "it cannot be read".to_owned())?;
        read_config(&root).map_err(|problem| problem.text)
    };
    let named = |(name, value): (&String, &Value)| {
        let config = if name.is_empty() { Err("a server needs a name".to_owned()) } else { read(value) };
        (name.as_str().into(), config)
    };
    servers.iter().map(named).collect()
}

impl Roster {
    /// Judges all servers.
    pub(super) fn judged(&self) -> Vec<Configured> {
        let given = self.given.iter().map(|offer| (offer.clone(), Path::new(GIVEN).into()));
        // What came last counts, so it comes first among equals.
        let offers: Vec<(Offered, Arc<Path>)> = given.chain(self.offers.iter().cloned()).collect();
        let facts: Vec<_> = offers
            .iter()
            .map(|(offer, file)| {
                let consent = offer.config.as_ref().ok().map(kept::consent);
                (offer.name.clone(), offer.source.clone(), (Arc::clone(file), consent))
            })
            .collect();
        let chosen = choose(offers.into_iter().map(|(offer, _)| offer).collect(), &self.rules, &|name| {
            self.env.get(name)
        });
        let configured = |one: Chosen| {
            let Chosen { offered: Offered { name, config, source }, mut standing } = one;
            if self.switched_off.contains(&name)
                && matches!(standing, Standing::Ready | Standing::NeedsApproval | Standing::NeedsTrust)
            {
                standing = Standing::Denied(NotStarted::SwitchedOff);
            }
            let found = facts.iter().find(|(other, from, _)| *other == name && *from == source);
            let (file, consent) = found.map_or_else(|| (Path::new("").into(), None), |one| one.2.clone());
            Configured { name, config: config.ok(), source, file, standing, consent }
        };
        chosen.into_iter().map(configured).collect()
    }

    /// Takes other servers of the host in the place of those it gave before, and of all that live inside it. What cannot
    /// be used is left out: the reasons, by name.
    pub(super) fn give(
        &mut self,
        servers: Vec<(Box<str>, Result<McpConfig, String>)>,
    ) -> Vec<(Box<str>, String)> {
        if let Some(by) = &self.no_sideload {
            let why = format!("servers beside the files are switched off by {}", by.display());
            return servers.into_iter().map(|(name, _)| (name, why.clone())).collect();
        }
        let within_host = |offer: &Offered| matches!(&offer.config, Ok(config) if is_within_host(config));
        let old = self.given.iter().chain(self.offers.iter().map(|(offer, _)| offer));
        let old: Vec<Offered> = old.filter(|offer| within_host(offer)).cloned().collect();
        self.offers.retain(|(offer, _)| !within_host(offer));
        let kept = |name: &str, config: McpConfig| match old.iter().find(|offer| *offer.name == *name) {
            // One that stays inside the host stays as it is.
            Some(Offered { config: Ok(old), .. }) if old.identity() == config.identity() => old.clone(),
            Some(_) | None => config,
        };
        let offer = |(name, config): (Box<str>, Result<McpConfig, String>)| {
            let config = config.map(|config| kept(&name, config));
            Offered { name, config, source: McpSource::Flag }
        };
        self.given = servers.into_iter().map(offer).collect();
        let refused = self.refused();
        self.given.retain(|offer| !refused.iter().any(|(name, _)| *name == offer.name));
        refused
    }

    /// The servers of the host that cannot be used, and why.
    fn refused(&self) -> Vec<(Box<str>, String)> {
        let judged = self.judged();
        let why = |offer: &Offered| {
            let mut own =
                judged.iter().filter(|one| one.name == offer.name && *one.file == *Path::new(GIVEN));
            let why = match &own.next()?.standing {
                Standing::Ready => return None,
                Standing::Denied(why) => why.to_string(),
                Standing::Broken(why) => why.clone(),
                Standing::NeedsApproval | Standing::NeedsTrust => "it waits for a yes".to_owned(),
            };
            Some((offer.name.clone(), why))
        };
        self.given.iter().filter_map(why).collect()
    }

    /// Whether the host gave a server while the session ran, or has it inside.
    pub(super) fn is_of_host(&self, name: &str, config: &McpConfig) -> bool {
        is_within_host(config) || self.given.iter().any(|offer| *offer.name == *name)
    }
}

pub(super) fn is_within_host(config: &McpConfig) -> bool {
    match config.reach {
        Reach::Sdk { .. } => true,
        Reach::Stdio { .. } | Reach::Remote { .. } => false,
    }
}
