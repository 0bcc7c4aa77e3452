//! Agents of an earlier process of this session, found again by what was written down of them.
//!
//! Whoever is recalled stands there as if it had just ended: nothing runs until somebody goes on with it. It is built
//! below the agent that started it, so that it may do no more than that one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use posse_core::delegation::{Ending, Input, fork_messages};
use posse_core::permission::Mode;
use posse_core::registry::Lookup;
use posse_core::{budget, spec};

use super::build::{self, Born};
use super::place::Place;
use super::tree::Home;
use super::{Crew, Member, Standing};
use crate::session::{self, AgentMeta};

/// An agent that is written down.
pub(super) struct Earlier {
    id: Box<str>,
    meta: AgentMeta,
    folder: PathBuf,
}

impl Crew {
    /// An agent by its id or name, be it one of an earlier process. An error says why it cannot be had again.
    pub(super) async fn find_or_recall(&self, wanted: &str) -> Result<Option<Arc<Member>>, String> {
        if let Some(member) = self.find(wanted) {
            return Ok(Some(member));
        }
        match self.earlier().iter().find(|one| one.is_called(wanted)) {
            Some(one) => self.recall(one).await.map(Some),
            None => Ok(None),
        }
    }

    /// Who is written down; read when somebody first asks.
    fn earlier(&self) -> &[Earlier] {
        self.earlier.get_or_init(|| {
            let folders = self.common.folder.iter().chain(&self.common.copied_from);
            let read = |folder: &PathBuf| {
                let all = AgentMeta::all(folder).into_iter();
                let folder = folder.clone();
                all.map(move |(id, meta)| Earlier { id, meta, folder: folder.clone() }).collect::<Vec<_>>()
            };
            folders.flat_map(read).collect()
        })
    }

    /// What the model is told when a session is taken up: who was at work when its process ended.
    pub(in super::super) fn interrupted(&self) -> Option<String> {
        let mut lines: Vec<String> = self
            .earlier()
            .iter()
            .filter(|one| one.is_owed())
            .map(|one| {
                one.told();
                format!("- {} ({}): {}", one.handle(), one.meta.agent_type, one.meta.description)
            })
            .collect();
        lines.sort_unstable();
        (!lines.is_empty()).then(|| {
            format!(
                "These agents were at work when the session was interrupted, or were stopped when it ended. None of \
                 them is at work now, and no notification of them will come. SendMessage goes on with one from where \
                 it stopped.\n{}",
                lines.join("\n")
            )
        })
    }

    /// Writes down whose ends the model has not heard of, so that it hears of them when the session is taken up.
    pub(in super::super) fn leave_word(&self, untold: &[Box<str>]) {
        for id in untold {
            let file = AgentMeta::beside(&self.transcript_of(id));
            if let Some(meta) = AgentMeta::read(&file) {
                let _ = AgentMeta { undelivered: Some(true), ..meta }.write(&file);
            }
        }
    }

    /// Names of agents that are written down, for whoever asked for another.
    pub(super) fn earlier_handles(&self) -> impl Iterator<Item = &str> {
        self.earlier().iter().map(Earlier::handle)
    }

    /// Whether an agent that is written down has this name.
    pub(super) fn is_earlier_name(&self, name: &str) -> bool {
        self.earlier().iter().any(|one| one.meta.name.as_deref() == Some(name))
    }

    fn recall<'a>(&'a self, one: &'a Earlier) -> BoxFuture<'a, Result<Arc<Member>, String>> {
        Box::pin(async move {
            if let Some(member) = self.member(&one.id) {
                return Ok(member);
            }
            if session::is_open(&one.folder.join(format!("agent-{}.jsonl", one.id))) {
                return Err(format!("`{}` is at work in another process.", one.handle()));
            }
            let parent = self.parent_of(one).await?;
            self.take_over(one)?;
            let member = if one.meta.is_fork {
                self.recall_fork(one, &parent)?
            } else {
                self.recall_agent(one, &parent).await?
            };
            *member.standing() = Standing::Ended;
            member.cx.inbox.seal();
            self.enlist(&member);
            Ok(member)
        })
    }

    /// Whoever started it; the main agent, if that is not known.
    async fn parent_of(&self, one: &Earlier) -> Result<Arc<Member>, String> {
        let above = one.meta.parent_agent_id.as_deref();
        let written = above.and_then(|id| self.earlier().iter().find(|other| &*other.id == id));
        match (above, written) {
            (_, Some(parent)) => self.recall(parent).await,
            (Some(id), None) => Err(format!(
                "`{}` cannot go on: it worked for {id}, of which nothing is written down.",
                one.handle()
            )),
            (None, None) => self.member("").ok_or_else(|| "The session is ending.".to_owned()),
        }
    }

    /// A session that is a copy goes on with copies: those of the original stay as they are.
    fn take_over(&self, one: &Earlier) -> Result<(), String> {
        let own = self.transcript_of(&one.id);
        let there = one.folder.join(format!("agent-{}.jsonl", one.id));
        if there != own && !own.exists() {
            let copy = |from: &Path, to: &Path| {
                std::fs::create_dir_all(to.parent().unwrap_or(Path::new("/")))?;
                std::fs::copy(from, to).map(drop)
            };
            copy(&there, &own).map_err(|error| format!("{} cannot be copied: {error}", there.display()))?;
        }
        Ok(())
    }

    async fn recall_agent(&self, one: &Earlier, parent: &Member) -> Result<Arc<Member>, String> {
        let kind = &one.meta.agent_type;
        let Lookup::Found(definition) = self.common.catalog.registry.lookup(kind) else {
            return Err(format!(
                "`{}` cannot go on: there is no agent type `{kind}` any more. Start another.",
                one.handle()
            ));
        };
        self.refuse_denied(&definition.name)?;
        let input = one.input();
        let policy = &self.common.catalog.policy;
        let spec = spec::resolve(definition, &parent.as_parent(), &input.call(false), policy)
            .map_err(|error| error.to_string())?;
        self.build(parent, definition, &spec, &input, one.born(parent))
            .await
            .map_err(|cause| format!("`{}` {}.", one.handle(), Ending::Failed(cause).words()))
    }

    fn recall_fork(&self, one: &Earlier, parent: &Member) -> Result<Arc<Member>, String> {
        let call = &one.meta.tool_use_id;
        let history = session::before_answers(&parent.transcript, call).map_err(|error| error.to_string())?;
        let Some(history) = history else {
            return Err(format!(
                "The fork `{}` cannot go on: the conversation it was forked from is gone.",
                one.handle()
            ));
        };
        let mut base = fork_messages(&history, "", None);
        base.pop();
        let label = format!("fork {}", one.id);
        let purse =
            parent.setup.purse.child(label, budget::Limits::default()).map_err(|error| error.to_string())?;
        let born = one.born(parent);
        let place = one.earlier(parent).place;
        Ok(self.build_fork(parent, &one.input(), born, place, purse, base.into()))
    }
}

impl Earlier {
    /// Whether its caller still waits to hear of its end.
    fn is_owed(&self) -> bool {
        match self.meta.undelivered {
            Some(owed) => owed,
            None => self.meta.finished == Some(false),
        }
    }

    /// Remembers that its caller has been told.
    fn told(&self) {
        let meta = AgentMeta { undelivered: Some(false), ..self.meta.clone() };
        // Whoever cannot write it down tells it once more.
        let _ = meta.write(&AgentMeta::beside(&self.folder.join(format!("agent-{}.jsonl", self.id))));
    }

    fn is_called(&self, wanted: &str) -> bool {
        &*self.id == wanted || self.meta.name.as_deref() == Some(wanted)
    }

    /// What it is best called by.
    fn handle(&self) -> &str {
        self.meta.name.as_deref().unwrap_or(&self.id)
    }

    fn input(&self) -> Input {
        Input {
            description: self.meta.description.clone(),
            model: self.meta.model.clone(),
            mode: self.meta.permission_mode.as_deref().and_then(Mode::parse),
            ..Input::default()
        }
    }

    /// Where it worked, if that is still there and still its parent's to give.
    fn earlier(&self, parent: &Member) -> build::Earlier {
        let home = self.meta.worktree.as_deref().map(Home::read);
        let claim = parent.setup.guard.territory.claim();
        let roots = match &claim {
            Some(claim) => claim.roots.as_slice().into(),
            None => parent.setup.guard.authority.roots(),
        };
        let within = |folder: &&PathBuf| folder.is_dir() && roots.iter().any(|root| folder.starts_with(root));
        let cwd = self.meta.cwd.as_ref().filter(within).cloned();
        let cwd = cwd.unwrap_or_else(|| parent.cx.cwd.get());
        // Whoever had a copy gets its bounds when it goes on there.
        let claim = claim.filter(|_| home.is_none());
        let spent = self.meta.spent.unwrap_or_default();
        build::Earlier { place: Place { cwd, tree: None, claim }, home, spent }
    }

    fn born(&self, parent: &Member) -> Born {
        Born {
            id: self.id.clone(),
            name: self.meta.name.clone(),
            call: self.meta.tool_use_id.clone(),
            terms: parent.cx.terms.child(),
            earlier: Some(self.earlier(parent)),
        }
    }
}
