//! Everything about a session but the session itself: what the editor sees of it, and what it wants of it.
//!
//! It works while a turn is under way, so it never touches the run; what the editor wants of that is noted as a wish.

use std::path::PathBuf;

use posse_core::event::{Delta, What};
use posse_core::message::ToolCall;
use posse_core::permission::Mode;
use posse_runtime::ask::{Ask, Asks};
use posse_runtime::launch::{Facts, Launched, Reins};
use posse_runtime::run::Event;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::asks::Asker;
use super::menu;
use super::protocol::{Editor, Prompt, Reply};
use super::session::{Id, Order};
use super::updates::{Teller, tools};
use super::words::{Abilities, Call, Modes, Refusal, RefusalKind, Setting, Shown, Stop, Update};

/// A file that is written over is shown with what it holds, if that is not too much.
const LONGEST_SHOWN: u64 = 1_000_000;

/// Everything but the session.
pub(super) struct Side {
    id: Id,
    editor: Editor,
    abilities: Abilities,
    pub(super) asks: Asks,
    pub(super) orders: UnboundedReceiver<Order>,
    pub(super) reins: Reins,
    pub(super) teller: Teller,
    /// A prompt that is to be answered next.
    pub(super) waiting: Option<Prompt>,
    /// The model to go on with, and who is told whether that worked.
    pub(super) wish: Option<(String, Option<Reply<Vec<Setting>>>)>,
    /// The model as it is asked for.
    pub(super) model: String,
    /// Whether agents in the background have had all the time there is.
    pub(super) gave_up: bool,
    first_model: String,
    may_bypass: bool,
    /// The mode the editor knows of.
    told_mode: Mode,
    cwd: PathBuf,
    /// Where notes go that the editor cannot show.
    notes: UnboundedSender<String>,
    closing: bool,
    closed: Option<Reply<()>>,
    /// Questions that are put to the editor.
    asking: JoinSet<()>,
    /// Other things under way.
    at_work: JoinSet<()>,
}

/// A turn under way.
pub(super) struct Turn {
    /// Ends it.
    pub(super) stop: CancellationToken,
    /// Whether nobody asked for it.
    pub(super) by_itself: bool,
}

/// What a side is made with.
pub(super) struct Parts {
    pub(super) editor: Editor,
    pub(super) abilities: Abilities,
    pub(super) asks: Asks,
    pub(super) orders: UnboundedReceiver<Order>,
    pub(super) notes: UnboundedSender<String>,
}

impl Side {
    pub(super) fn new(launched: &Launched, parts: Parts) -> Self {
        let Parts { editor, abilities, asks, orders, notes } = parts;
        let Facts { session, cwd, .. } = &launched.facts;
        let model = launched.model_name().to_owned();
        Self {
            id: session.clone().into(),
            editor,
            abilities,
            asks,
            orders,
            reins: launched.reins(),
            teller: Teller::new(cwd, abilities),
            waiting: None,
            wish: None,
            first_model: model.clone(),
            model,
            gave_up: false,
            may_bypass: launched.run.may_bypass(),
            told_mode: launched.mode.current(),
            cwd: cwd.clone(),
            notes,
            closing: false,
            closed: None,
            asking: JoinSet::new(),
            at_work: JoinSet::new(),
        }
    }

    /// Whether it is to end.
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// How actions are approved.
    pub(super) fn modes(&self) -> Modes {
        menu::modes(self.reins.mode.current(), |mode| self.reins.is_open(mode))
    }

    /// What can be chosen.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let models = menu::models(&self.first_model, &self.model, |name| self.reins.wire_id(name));
        menu::settings(&self.modes(), &self.model, models)
    }

    /// Tells the editor something.
    pub(super) fn tell(&self, update: Update) {
        self.editor.tell(&self.id, update);
    }

    /// Something a person should know.
    pub(super) fn note(&self, text: &str) {
        if self.abilities.notices {
            self.tell(Update::Notice(text.to_owned()));
        } else {
            // Whoever collects them may have left already.
            let _ = self.notes.send(text.to_owned());
        }
    }

    /// Shows what happened.
    pub(super) fn show(&mut self, event: &Event) {
        if let What::Delta(Delta::Note(text)) = &event.what {
            self.note(text);
            return;
        }
        for update in self.teller.event(&event.what, event.from.as_deref()) {
            self.tell(update);
        }
        self.sync_mode();
    }

    /// Tells the editor of the mode if it has changed: tools and answers change it, too.
    pub(super) fn sync_mode(&mut self) {
        let mode = self.reins.mode.current();
        if std::mem::replace(&mut self.told_mode, mode) != mode {
            self.tell(Update::Mode(mode));
            self.tell(Update::Settings(self.settings()));
        }
    }

    /// Takes what the editor wants. Nothing more to come is the end of the session.
    pub(super) fn take(&mut self, order: Option<Order>, turn: Option<&Turn>) {
        match order {
            Some(Order::Prompt(prompt)) => self.prompted(prompt, turn),
            Some(Order::Cancel) => self.cancel(turn),
            Some(Order::SetMode(mode, reply)) => {
                let answer = self.set_mode(&mode);
                reply.send(answer);
                self.sync_mode();
            }
            Some(Order::Set(setting, value, reply)) => self.set(&setting, value, reply, turn.is_some()),
            Some(Order::Close(reply)) => {
                self.closed = Some(reply);
                self.end(turn);
            }
            None => self.end(turn),
        }
    }

    fn end(&mut self, turn: Option<&Turn>) {
        self.closing = true;
        self.cancel(turn);
    }

    fn prompted(&mut self, prompt: Prompt, turn: Option<&Turn>) {
        // A turn that nobody asked for is no reason to be sent away.
        if self.waiting.is_some() || turn.is_some_and(|turn| !turn.by_itself) {
            let why = "a prompt is being answered in this session; wait for its end or cancel it";
            return prompt.reply.send(Err(Refusal::new(RefusalKind::Busy, why)));
        }
        self.waiting = Some(prompt);
    }

    /// Everything that goes on stops, also in the background: an editor has no other way to stop it.
    fn cancel(&mut self, turn: Option<&Turn>) {
        if let Some(prompt) = self.waiting.take() {
            prompt.reply.send(Ok(Stop::Cancelled));
        }
        if let Some(turn) = turn {
            turn.stop.cancel();
        }
        while self.at_work.try_join_next().is_some() {}
        let reins = self.reins.clone();
        self.at_work.spawn(async move { reins.stop_agents().await });
    }

    fn set_mode(&self, name: &str) -> Result<(), Refusal> {
        let refused = |why: String| Err(Refusal::new(RefusalKind::Params, why));
        match Mode::parse(name).filter(|mode| *mode != Mode::Bubble) {
            None => refused(format!("there is no mode `{name}`")),
            Some(mode) => self.reins.set_mode(mode).or_else(|why| refused(why.to_owned())),
        }
    }

    fn set(&mut self, setting: &str, value: String, reply: Reply<Vec<Setting>>, is_busy: bool) {
        let refused = |why: String| Err(Refusal::new(RefusalKind::Params, why));
        match setting {
            menu::MODE => {
                let answer = self.set_mode(&value);
                reply.send(answer.map(|()| self.settings()));
                self.sync_mode();
            }
            menu::MODEL => {
                let models = menu::models(&self.first_model, &self.model, |name| self.reins.wire_id(name));
                if models.iter().all(|one| one.id != value) {
                    return reply.send(refused(format!("there is no model `{value}` to choose")));
                }
                if is_busy {
                    // The next turn is answered by it; until then nothing can go wrong that could be told.
                    self.model.clone_from(&value);
                    reply.send(Ok(self.settings()));
                    self.wish = Some((value, None));
                } else {
                    self.wish = Some((value, Some(reply)));
                }
            }
            other => reply.send(refused(format!("there is no setting `{other}`"))),
        }
    }

    /// Puts a question of the session to the editor.
    pub(super) fn ask(&mut self, ask: Ask) {
        while self.asking.try_join_next().is_some() {}
        let asker = Asker {
            editor: self.editor.clone(),
            session: self.id.to_string(),
            forms: self.abilities.forms,
            may_bypass: self.may_bypass,
            reins: self.reins.clone(),
        };
        let call = self.asked_about(&ask);
        self.asking.spawn(async move {
            let call = with_old_text(call).await;
            asker.serve(ask, call).await;
        });
    }

    /// The call that a question is about, as the editor knows it.
    fn asked_about(&self, ask: &Ask) -> Call {
        let (call, agent) = match ask {
            Ask::Permission(pending) => {
                let ask = &pending.ask;
                let call =
                    ToolCall { id: ask.call.clone(), name: ask.tool.clone(), input: ask.input.clone() };
                (call, ask.agent_id.as_deref())
            }
            Ask::Question(pending) => {
                let input = json!({ "questions": pending.ask.questions });
                let name = "AskUserQuestion".into();
                (ToolCall { id: pending.ask.call.clone(), name, input }, None)
            }
        };
        let id = self.teller.known(agent, &call.id).unwrap_or(&call.id).to_owned();
        Call { id, ..tools::about(&call, &self.cwd) }
    }

    /// Takes back every question that is still open.
    pub(super) async fn withdraw_asks(&mut self) {
        self.asking.shutdown().await;
    }

    /// Nothing is asked and nothing is done any more; whoever waits for the end is told.
    pub(super) async fn close(mut self) {
        self.withdraw_asks().await;
        self.at_work.shutdown().await;
        if let Some(prompt) = self.waiting.take() {
            prompt.reply.send(Ok(Stop::Cancelled));
        }
        if let Some(reply) = self.closed.take() {
            reply.send(Ok(()));
        }
    }
}

/// A file that would be written, with what it holds now: whoever says yes must have seen what is lost.
async fn with_old_text(mut call: Call) -> Call {
    if call.tool.as_deref() != Some("Write") {
        return call;
    }
    for shown in call.shown.iter_mut().flatten() {
        if let Shown::Diff { path, old, .. } = shown {
            let is_shown = tokio::fs::metadata(&path)
                .await
                .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST_SHOWN);
            if is_shown {
                *old = tokio::fs::read_to_string(&path).await.ok();
            }
        }
    }
    call
}
