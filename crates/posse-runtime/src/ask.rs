//! Questions to a person: the one desk where tools and rules lay them, and where a frontend takes them up.
//!
//! Knows what can be asked and what can be answered, and that a question nobody hears is answered at once. Refuses to
//! know how a question looks and who asks it: a terminal, a window and a host program answer the same way.

mod mode;
mod question;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

pub use mode::SharedMode;
pub use question::{Answers, Choice, Question};

/// A call that waits for a yes.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionAsk {
    /// The tool.
    pub tool: Box<str>,
    /// What it was called with.
    pub input: Value,
    /// What is asked, on one line.
    pub title: String,
    /// Why it is asked at all.
    pub reason: Option<String>,
    /// The same for programs.
    pub grounds: Box<Grounds>,
    /// What could be allowed for good, so that it is not asked again.
    pub suggestions: Vec<Suggestion>,
    /// The agent that wants it, if it is not the main one.
    pub agent: Option<String>,
    /// The id of that agent.
    pub agent_id: Option<String>,
    /// The id of the call.
    pub call: Box<str>,
}

/// Why a question is asked, for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounds {
    /// What kind of reason it is, in one word.
    pub kind: &'static str,
    /// The place that is the matter, if one is.
    pub path: Option<String>,
}

impl Default for Grounds {
    fn default() -> Self {
        Self { kind: "other", path: None }
    }
}

/// A change of the rules that would have made a question needless.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// What it allows, in a few words.
    pub label: String,
    /// The change, as a `PermissionUpdate` of the SDK protocol.
    pub update: Value,
}

/// What a person says to a [`PermissionAsk`].
#[derive(Clone, Debug, PartialEq)]
pub enum PermissionAnswer {
    /// Do it.
    Allow {
        /// With this input instead.
        updated_input: Option<Value>,
        /// And change the rules like this: `PermissionUpdate`s of the SDK protocol.
        updates: Vec<Value>,
    },
    /// Do not.
    Deny {
        /// What the model is told.
        message: String,
        /// Whether the turn ends with it.
        interrupt: bool,
    },
    /// There is nobody to ask.
    Nobody,
}

impl PermissionAnswer {
    /// A plain yes.
    pub fn yes() -> Self {
        Self::Allow { updated_input: None, updates: Vec::new() }
    }
}

/// Questions that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionAsk {
    /// The questions.
    pub questions: Vec<Question>,
    /// The id of the call.
    pub call: Box<str>,
}

/// What a person says to a [`QuestionAsk`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// These are the answers.
    Answered(Answers),
    /// They would not answer; why, as the end of a sentence.
    Declined(String),
    /// There is nobody to ask.
    Nobody,
}

/// Where questions are laid. Copies lead to the same person; the default leads to nobody.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    queue: Option<UnboundedSender<Ask>>,
}

impl Desk {
    /// A desk, and the end where its questions come out.
    pub fn open() -> (Self, Asks) {
        let (sender, receiver) = unbounded_channel();
        (Self { queue: Some(sender) }, Asks(receiver))
    }

    /// Whether somebody sits at it.
    pub fn is_staffed(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.is_closed())
    }

    /// Asks for permission and waits. Dropping the future withdraws the question.
    pub async fn permission(&self, ask: PermissionAsk) -> PermissionAnswer {
        self.lay(ask, Ask::Permission).await.unwrap_or(PermissionAnswer::Nobody)
    }

    /// Asks questions and waits. Dropping the future withdraws them.
    pub async fn question(&self, ask: QuestionAsk) -> QuestionAnswer {
        self.lay(ask, Ask::Question).await.unwrap_or(QuestionAnswer::Nobody)
    }

    /// The answer; nothing if nobody sits here, or they leave before they have answered.
    async fn lay<A, R>(&self, ask: A, kind: impl FnOnce(Pending<A, R>) -> Ask) -> Option<R> {
        let (reply, answer) = oneshot::channel();
        self.queue.as_ref()?.send(kind(Pending { ask: Box::new(ask), reply })).ok()?;
        answer.await.ok()
    }
}

/// A question on its way to an answer.
#[derive(Debug)]
pub enum Ask {
    /// May this call run?
    Permission(Pending<PermissionAsk, PermissionAnswer>),
    /// Which of these?
    Question(Pending<QuestionAsk, QuestionAnswer>),
}

impl Ask {
    fn is_withdrawn(&self) -> bool {
        match self {
            Self::Permission(pending) => pending.reply.is_closed(),
            Self::Question(pending) => pending.reply.is_closed(),
        }
    }
}

/// A question with the way back. Dropping it unanswered says that there is nobody to ask.
#[derive(Debug)]
pub struct Pending<A, R> {
    /// What is asked.
    pub ask: Box<A>,
    reply: oneshot::Sender<R>,
}

impl<A, R> Pending<A, R> {
    /// Waits until nobody wants the answer any more.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }

    /// Answers. If the question was withdrawn meanwhile, nobody hears it.
    pub fn answer(self, answer: R) {
        let _ = self.reply.send(answer);
    }
}

/// Where questions come out, one at a time and in the order they were laid. Dropping it tells everyone who waits, and
/// everyone who will, that there is nobody to ask.
#[derive(Debug)]
pub struct Asks(UnboundedReceiver<Ask>);

impl Asks {
    /// The next question that still wants an answer; `None` when nobody can ask any more.
    pub async fn next(&mut self) -> Option<Ask> {
        loop {
            let ask = self.0.recv().await?;
            if !ask.is_withdrawn() {
                return Some(ask);
            }
        }
    }
}

#[cfg(test)]
mod tests;
