//! `agent` hooks: a small run of its own that looks around and says whether something holds. It can read and search;
//! what it may run are commands that only look. Nobody is asked, no hook hears of it, nothing is written down.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use posse_core::event::Outcome;
use posse_core::failure::RetryPolicy;
use posse_core::message::Message;
use posse_core::permission::{Behavior, Mode};
use posse_core::turn::Limits;
use posse_core::{price, prompt};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::side::Side;
use crate::ask::SharedMode;
use crate::authority::{Authority, Beginning, Guard, RunHooks};
use crate::hooks::Verifier;
use crate::model::{SystemPart, Thinking};
use crate::purse::Purse;
use crate::run::{Bill, Run, RunSetup, ToolPool};
use crate::sandbox::Sandbox;
use crate::session::{EntryWriter, Transcript};
use crate::tool::{ToolCx, builtin};

/// What it may use.
const TOOLS: [&str; 4] = ["Read", "Grep", "Glob", "Bash"];
/// Long enough for what is said here.
const MAX_TOKENS: u32 = 8_000;

/// Checks things with an agent.
pub(super) struct Checker {
    /// The model, and who pays.
    pub(super) side: Arc<Side>,
    /// The session's rules: what it denies is denied here, too.
    pub(super) authority: Arc<Authority>,
    pub(super) sandbox: Option<Arc<Sandbox>>,
    pub(super) spool: PathBuf,
    pub(super) retry: RetryPolicy,
}

impl Verifier for Checker {
    fn verify<'a>(
        &'a self,
        prompt: &'a str,
        model: Option<&'a str>,
        most_turns: u32,
        limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let check = tokio::time::timeout(limit, self.check(prompt, model, most_turns));
            check.await.map_err(|_| format!("no answer within {} s", limit.as_secs()))?
        })
    }
}

impl Checker {
    async fn check(&self, prompt: &str, model: Option<&str>, most_turns: u32) -> Result<String, String> {
        let setup = self.setup(model, most_turns);
        let mut cx = ToolCx::new(Arc::clone(&self.side.world), self.spool.clone());
        cx.sandbox = self.sandbox.clone();
        let writer = EntryWriter::new(&self.side.session, "", "", "hook", None);
        let transcript = Transcript::open(None, writer).map_err(|error| error.to_string())?;
        // Nobody watches.
        let (events, _) = unbounded_channel();
        let mut run = Run::new(setup, Vec::new(), cx.clone(), transcript, events);
        let ended = run.prompt(Message::user(prompt), CancellationToken::new()).await;
        cx.tasks.shutdown().await;
        for (model, spent) in run.spent() {
            self.side.bill.charge(model, spent.usage);
        }
        match ended.map_err(|error| error.to_string())?.outcome {
            Outcome::Answer { text, .. } => Ok(text),
            Outcome::Failed(failure) => Err(failure.message),
            Outcome::OutOfTurns(turns) => Err(format!("no answer within {turns} turns")),
            Outcome::Cancelled { .. }
            | Outcome::OutOfTries(_)
            | Outcome::OutOfBudget(_)
            | Outcome::Exhausted { .. }
            | Outcome::Stalled(_)
            | Outcome::Blocked(_)
            | Outcome::Stopped(_)
            | Outcome::Deferred(_) => Err("no answer".into()),
        }
    }

    fn setup(&self, model: Option<&str>, most_turns: u32) -> RunSetup {
        let Side { model: client, id, world, session, names, bill: _ } = &*self.side;
        let model_id = model.map_or_else(|| id.clone(), |name| names.wire_id(name));
        let tools = builtin::all().into_iter().filter(|tool| TOOLS.contains(&tool.name())).collect();
        // What somebody allowed the session was not allowed for this.
        let rules = self.authority.rules();
        let limits = rules.rules().iter().filter(|rule| rule.behavior != Behavior::Allow).cloned();
        let authority = Authority::new(Beginning {
            rules: limits.collect(),
            roots: self.authority.roots().to_vec(),
            home: world.env.home().map(ToOwned::to_owned),
            ..Beginning::default()
        });
        let guard = Guard {
            readable: vec![self.spool.clone()],
            home: world.env.home().map(ToOwned::to_owned),
            ..Guard::new(authority, SharedMode::from(Mode::Default), RunHooks::none(Arc::clone(world)))
        };
        RunSetup {
            world: Arc::clone(world),
            model: Arc::clone(client),
            window: price::context_window(&model_id),
            model_id,
            fallback: None,
            system: Arc::from([SystemPart { text: prompt::VERIFIER.trim().to_owned(), cache: true }]),
            opening: None,
            greeting: Vec::new(),
            tools: ToolPool::new(tools),
            guard,
            limits: Limits { max_requests: Some(most_turns) },
            purse: Purse::new("verifier", Default::default(), &world.clock),
            thinking: Thinking::Default,
            effort: None,
            max_tokens: MAX_TOKENS,
            retry: self.retry,
            final_tool: None,
            raw_events: false,
            session: session.clone(),
            bill: Bill::default(),
            agent: None,
        }
    }
}
