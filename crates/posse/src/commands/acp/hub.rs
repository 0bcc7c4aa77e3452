//! All sessions of an editor, side by side: opens them, hands on what is meant for each, and ends them all.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_runtime::ask::Desk;
use posse_runtime::catalog::Layout;
use posse_runtime::launch::{CommandFact, LaunchRequest, SessionChoice, launch};
use posse_runtime::session as stored;
use posse_runtime::world::World;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::protocol::{Editor, Incoming, Reply};
use super::replay;
use super::session::{Order, Session};
use super::side::{Parts, Side};
use super::words::{Abilities, Listed, ListedPage, Opened, Opening, Refusal, RefusalKind, Update};
use crate::commands::run::launch_failure;

/// How many conversations are listed at once.
const PAGE: usize = 50;

/// All sessions.
pub(super) struct Hub {
    shared: Arc<Shared>,
    abilities: Abilities,
    /// Sessions at work, and those that are being opened.
    at_work: JoinSet<()>,
}

/// What sessions share.
struct Shared {
    world: World,
    /// What every session begins with.
    request: LaunchRequest,
    /// Whether the editor is asked anything.
    is_asked: bool,
    editor: Editor,
    notes: UnboundedSender<String>,
    open: Mutex<HashMap<String, UnboundedSender<Order>>>,
    /// Cancelled when everything ends.
    ending: CancellationToken,
}

/// Which conversation a session begins with.
enum Which {
    New,
    /// An old one, and whether the editor is told what was said in it.
    Old(String, bool),
}

impl Hub {
    /// Sessions of this editor. `is_asked` says whether it is asked for permission.
    pub(super) fn new(
        world: World,
        request: LaunchRequest,
        is_asked: bool,
        editor: Editor,
        notes: UnboundedSender<String>,
    ) -> Self {
        let open = Mutex::default();
        let ending = CancellationToken::new();
        let shared = Shared { world, request, is_asked, editor, notes, open, ending };
        Self { shared: Arc::new(shared), abilities: Abilities::default(), at_work: JoinSet::new() }
    }

    /// Takes what the editor says.
    pub(super) fn take(&mut self, incoming: Incoming) {
        while self.at_work.try_join_next().is_some() {}
        match incoming {
            Incoming::Hello(abilities) => self.abilities = abilities,
            Incoming::New(opening, reply) => self.open(Which::New, opening, reply),
            Incoming::Load(id, opening, reply) => self.open(Which::Old(id, true), opening, reply),
            Incoming::Resume(id, opening, reply) => self.open(Which::Old(id, false), opening, reply),
            Incoming::List(cwd, cursor, reply) => {
                let shared = Arc::clone(&self.shared);
                self.at_work.spawn_blocking(move || {
                    reply.send(shared.list(cwd.as_deref(), cursor.as_deref()));
                });
            }
            Incoming::Prompt(id, prompt) => match self.shared.find(&id) {
                Some(session) => hand_on(&session, Order::Prompt(prompt)),
                None => prompt.reply.send(Err(Refusal::no_session(&id))),
            },
            Incoming::SetMode(id, mode, reply) => match self.shared.find(&id) {
                Some(session) => hand_on(&session, Order::SetMode(mode, reply)),
                None => reply.send(Err(Refusal::no_session(&id))),
            },
            Incoming::Set(id, setting, value, reply) => match self.shared.find(&id) {
                Some(session) => hand_on(&session, Order::Set(setting, value, reply)),
                None => reply.send(Err(Refusal::no_session(&id))),
            },
            Incoming::Close(id, reply) => match self.shared.open().remove(&id) {
                Some(session) => hand_on(&session, Order::Close(reply)),
                None => reply.send(Err(Refusal::no_session(&id))),
            },
            // There is no answer to this, also where there is no such session.
            Incoming::Cancel(id) => {
                self.shared.find(&id).into_iter().for_each(|session| hand_on(&session, Order::Cancel));
            }
        }
    }

    /// Every session ends, with everything it started.
    pub(super) async fn end(mut self) {
        self.shared.ending.cancel();
        self.shared.open().clear();
        while self.at_work.join_next().await.is_some() {}
    }

    fn open(&mut self, which: Which, opening: Opening, reply: Reply<Opened>) {
        let (sender, orders) = unbounded_channel();
        if let Which::Old(id, _) = &which {
            let mut open = self.shared.open();
            if open.contains_key(id) {
                drop(open);
                let why = format!("the session {id} is open already");
                return reply.send(Err(Refusal::new(RefusalKind::Params, why)));
            }
            // From now on, so that it is not opened twice; what is said to it waits.
            open.insert(id.clone(), sender.clone());
        }
        let (shared, abilities) = (Arc::clone(&self.shared), self.abilities);
        self.at_work.spawn(async move {
            let ending = shared.ending.clone();
            let opened = tokio::select! {
                biased;
                () = ending.cancelled() => return,
                opened = shared.launch(&which, opening, abilities, orders) => opened,
            };
            let line = sender.downgrade();
            let (session, first) = match opened {
                Ok(opened) => opened,
                Err(refusal) => {
                    if let Which::Old(id, _) = &which {
                        shared.forget(id, &line);
                    }
                    return reply.send(Err(refusal));
                }
            };
            let id = session.launched.facts.session.to_string();
            if matches!(which, Which::New) && !ending.is_cancelled() {
                shared.open().insert(id.clone(), sender);
            } else {
                drop(sender);
            }
            first.into_iter().for_each(|update| session.side.tell(update));
            let (modes, settings) = (session.side.modes(), session.side.settings());
            reply.send(Ok(Opened { id: id.clone(), modes, settings }));
            session.greet();
            session.go_on().await;
            shared.forget(&id, &line);
        });
    }
}

fn hand_on(session: &UnboundedSender<Order>, order: Order) {
    // One that has just ended answers nobody; what is owed is answered by being dropped.
    let _ = session.send(order);
}

impl Session {
    /// What an editor should know once it knows the session.
    fn greet(&self) {
        let facts = &self.launched.facts;
        let mut commands = facts.command_list.clone();
        // The run's own, which is no skill.
        if commands.iter().all(|command| command.name != "compact") {
            commands.push(CommandFact {
                name: "compact".to_owned(),
                description: "Summarise the conversation so far and go on with the summary".to_owned(),
                argument_hint: "what to keep in mind".to_owned(),
            });
        }
        self.side.tell(Update::Commands(commands));
        for (file, reason) in &facts.failed {
            self.side.note(&format!("{file} is not loaded: {reason}"));
        }
        self.launched.notes.iter().for_each(|note| self.side.note(note));
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<String, UnboundedSender<Order>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str) -> Option<UnboundedSender<Order>> {
        self.open().get(id).cloned()
    }

    /// Forgets a session, unless another one has been opened in its place.
    fn forget(&self, id: &str, line: &WeakUnboundedSender<Order>) {
        let mut open = self.open();
        let is_it =
            |known: &UnboundedSender<Order>| line.upgrade().is_some_and(|line| line.same_channel(known));
        if open.get(id).is_some_and(is_it) {
            open.remove(id);
        }
    }

    /// Opens a session; says what the editor is to be told first.
    async fn launch(
        &self,
        which: &Which,
        opening: Opening,
        abilities: Abilities,
        orders: UnboundedReceiver<Order>,
    ) -> Result<(Session, Vec<Update>), Refusal> {
        let params = |why: String| Refusal::new(RefusalKind::Params, why);
        let Opening { cwd, more_dirs, servers } = opening;
        if !cwd.is_absolute() || !cwd.is_dir() {
            return Err(params(format!("cwd must be a folder, by its whole path: {}", cwd.display())));
        }
        let world = Arc::new(World { cwd, ..self.world.clone() });
        let entries = match which {
            Which::New => Vec::new(),
            Which::Old(id, _) => self.entries(id, &world)?,
        };
        let (desk, asks) = if self.is_asked { Desk::open() } else { (Desk::default(), Desk::open().1) };
        let mut request = LaunchRequest { desk, ..self.request.clone() };
        request.catalog.add_dirs.extend(more_dirs);
        if !servers.is_empty() {
            let servers: Map<String, Value> = servers.into_iter().collect();
            request.mcp_configs.push(json!({ "mcpServers": servers }).to_string());
        }
        if let Which::Old(id, _) = which {
            request.session = SessionChoice::Resume { id: id.clone(), fork: None };
        }
        let launched = launch(&world, request).await.map_err(|error| {
            let failure = launch_failure(&error);
            let hints = failure.hints.iter().map(|hint| format!("; {hint}")).collect::<String>();
            Refusal::new(RefusalKind::Failed, format!("{}{hints}", failure.message))
        })?;
        let parts = Parts { editor: self.editor.clone(), abilities, asks, orders, notes: self.notes.clone() };
        let mut side = Side::new(&launched, parts);
        let first = match which {
            Which::Old(_, true) => replay::updates(&entries, &mut side.teller),
            Which::New | Which::Old(_, false) => Vec::new(),
        };
        Ok((Session { launched, side }, first))
    }

    /// Everything that was said in a conversation of this folder.
    fn entries(&self, id: &str, world: &World) -> Result<Vec<Value>, Refusal> {
        let layout = Layout::find(world, &self.request.catalog);
        let found = layout.user.as_deref().and_then(|user| stored::find(user, &layout.cwd, id).ok());
        // Titles find conversations, too; an editor means ids.
        let found = found.filter(|found| found.id == id).ok_or_else(|| {
            let why = format!("there is no conversation {id} in {}", layout.cwd.display());
            Refusal::new(RefusalKind::NoSession, why)
        })?;
        stored::whole(&found.path).map_err(|error| Refusal::new(RefusalKind::Failed, error.to_string()))
    }

    fn list(&self, cwd: Option<&Path>, cursor: Option<&str>) -> Result<ListedPage, Refusal> {
        let bad = || Refusal::new(RefusalKind::Params, "the cursor is none of posse's");
        let from: usize = cursor.map(|cursor| cursor.parse().map_err(|_| bad())).transpose()?.unwrap_or(0);
        let layout = Layout::find(&self.world, &self.request.catalog);
        let Some(user) = layout.user.as_deref() else { return Ok(ListedPage::default()) };
        let stored::Page { sessions, more } = stored::page(user, cwd, from, PAGE);
        let listed = |(cwd, found): (std::path::PathBuf, stored::Found)| Listed {
            id: found.id,
            cwd,
            title: found.title,
            updated: self.world.clock.iso(found.modified),
        };
        Ok(ListedPage {
            sessions: sessions.into_iter().map(listed).collect(),
            next: more.then(|| from.saturating_add(PAGE).to_string()),
        })
    }
}
