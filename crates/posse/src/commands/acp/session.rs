//! One session of an editor: a turn for each prompt, and one of its own when an agent in the background has ended.
//!
//! Knows when a turn begins and what is owed to the editor at its end. What the editor sees of it is `side`'s business.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use posse_core::hooks::occasion::EndReason;
use posse_core::message::Message;
use posse_runtime::launch::{Launched, news};
use posse_runtime::run::Ended;
use posse_runtime::session::SessionError;
use posse_runtime::tool::TaskKind;
use tokio_util::sync::CancellationToken;

use super::protocol::{Prompt, Reply};
use super::side::{Side, Turn};
use super::words::{Refusal, RefusalKind, Setting, Stop, Update};
use super::{ending, prompt};

/// What an editor wants of a session.
pub(super) enum Order {
    /// Answer this.
    Prompt(Prompt),
    /// Stop.
    Cancel,
    /// Approve actions like this.
    SetMode(String, Reply<()>),
    /// Choose this for that setting.
    Set(String, String, Reply<Vec<Setting>>),
    /// End.
    Close(Reply<()>),
}

/// A session that is open.
pub(super) struct Session {
    pub(super) launched: Launched,
    pub(super) side: Side,
}

/// What comes after a pause.
enum Next {
    /// Something may be waiting.
    Look,
    /// The model is to be told something that nobody said.
    News(String),
}

impl Session {
    /// Turn after turn, until it is closed or the editor is gone.
    pub(super) async fn go_on(mut self) {
        while !self.side.is_closing() {
            self.fulfil().await;
            if let Some(prompt) = self.side.waiting.take() {
                self.answer(prompt).await;
                continue;
            }
            match self.pause().await {
                Next::Look => {}
                Next::News(text) => self.hear(text).await,
            }
        }
        self.launched.end(EndReason::Other).await;
        while let Ok(event) = self.launched.events.try_recv() {
            self.side.show(&event);
        }
        let Self { launched, side } = self;
        // Whoever is told that it has ended may open it again at once.
        drop(launched);
        side.close().await;
    }

    /// Switches to the model that was wished for while a turn was under way.
    async fn fulfil(&mut self) {
        let Some((name, reply)) = self.side.wish.take() else { return };
        let switched = match self.launched.next_model(&name).await {
            // Whoever chose it in the editor has been asked already.
            Ok(next) => Ok(self.launched.switch_model(next).await),
            Err(why) => Err(why),
        };
        self.side.model = self.launched.model_name().to_owned();
        match switched {
            Ok(notes) => {
                notes.iter().for_each(|note| self.side.note(note));
                reply.into_iter().for_each(|reply| reply.send(Ok(self.side.settings())));
            }
            Err(why) => {
                self.side.tell(Update::Settings(self.side.settings()));
                match reply {
                    Some(reply) => reply.send(Err(Refusal::new(RefusalKind::Failed, why))),
                    None => self.side.note(&why),
                }
            }
        }
    }

    /// Waits for something to do.
    async fn pause(&mut self) -> Next {
        let Self { launched, side } = self;
        let Launched { run, events, cx, .. } = launched;
        let is_awaited = cx.tasks.is_awaited(TaskKind::Agent) && !side.gave_up;
        let reins = side.reins.clone();
        let never = CancellationToken::new();
        let news = news(run, cx, &never);
        tokio::pin!(news);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => side.show(&event),
                Some(ask) = side.asks.next() => side.ask(ask),
                order = side.orders.recv() => side.take(order, None),
                text = reins.woken() => return Next::News(text),
                told = &mut news, if is_awaited => match told {
                    Some(text) => return Next::News(text),
                    None => {
                        // The time that there is for work is over, or it was only a long wait.
                        side.gave_up = run.time_for_work().is_some();
                        return Next::Look;
                    }
                },
            }
            if side.is_closing() || side.waiting.is_some() || side.wish.is_some() {
                return Next::Look;
            }
        }
    }

    /// A turn for a prompt.
    async fn answer(&mut self, prompt: Prompt) {
        let Prompt { pieces, withdrawn, reply } = prompt;
        let Some(message) = prompt::message(&pieces) else {
            return reply.send(Err(Refusal::new(RefusalKind::Params, "the prompt is empty")));
        };
        if self.launched.run.history().is_empty()
            && let Some(title) = prompt::title(&pieces)
        {
            self.side.tell(Update::Title(title));
        }
        self.launched.run.may_mention(prompt::typed(&pieces));
        let message = self.launched.first_message(message);
        let answer = match self.turn(message, Some(withdrawn)).await {
            Ok(ended) => self.close_turn(&ended),
            Err(error) => Err(Refusal::new(RefusalKind::Failed, error.to_string())),
        };
        reply.send(answer);
    }

    /// A turn that nobody asked for: something that went on in the background is over.
    async fn hear(&mut self, text: String) {
        let answer = match self.turn(Message::user(text), None).await {
            Ok(ended) => self.close_turn(&ended),
            Err(error) => Err(Refusal::new(RefusalKind::Failed, error.to_string())),
        };
        if let Err(refusal) = answer {
            self.side.tell(Update::Text(format!("\n\n*{}*", refusal.why)));
        }
    }

    /// Drives a turn to its end, with the editor at hand for everything else.
    async fn turn(
        &mut self,
        message: Message,
        withdrawn: Option<BoxFuture<'static, ()>>,
    ) -> Result<Ended, SessionError> {
        let Self { launched, side } = self;
        let Launched { run, events, .. } = launched;
        let by_itself = withdrawn.is_none();
        side.gave_up = false;
        side.teller.turn_begins(by_itself);
        let turn = Turn { stop: CancellationToken::new(), by_itself };
        let mut withdrawn = withdrawn.unwrap_or_else(|| Box::pin(std::future::pending()));
        let mut is_withdrawn = false;
        let driven = async {
            match by_itself {
                true => run.hear(message, turn.stop.clone()).await,
                false => run.prompt(message, turn.stop.clone()).await,
            }
        };
        tokio::pin!(driven);
        let ended = loop {
            tokio::select! {
                biased;
                // What happened is shown before what is asked about it, and before its end.
                Some(event) = events.recv() => side.show(&event),
                Some(ask) = side.asks.next() => side.ask(ask),
                order = side.orders.recv(), if !side.is_closing() => side.take(order, Some(&turn)),
                () = &mut withdrawn, if !is_withdrawn => {
                    is_withdrawn = true;
                    turn.stop.cancel();
                }
                ended = &mut driven => break ended,
            }
        };
        if turn.stop.is_cancelled() {
            // Nobody looks at a question for something that was stopped.
            side.withdraw_asks().await;
        }
        while let Ok(event) = events.try_recv() {
            side.show(&event);
        }
        ended
    }

    /// What a turn ends with.
    fn close_turn(&mut self, ended: &Ended) -> Result<Stop, Refusal> {
        let Self { launched, side } = self;
        let (text, answer) = ending::verdict(&ended.outcome, ended.stop.as_ref());
        side.teller.turn_ends().into_iter().for_each(|update| side.tell(update));
        text.map(Update::Text).into_iter().for_each(|update| side.tell(update));
        side.sync_mode();
        let run = &launched.run;
        side.tell(Update::Usage {
            used: run.context_tokens(),
            size: launched.facts.window,
            cost: run.cost(),
        });
        answer
    }
}

/// The id of a session, shared by whoever speaks of it.
pub(super) type Id = Arc<str>;
