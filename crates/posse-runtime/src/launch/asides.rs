//! What a host asks about a session beside its conversation: a title, a colour, a quick question. Nothing of it is
//! said to the agent.

use std::time::Duration;

use posse_core::event::{Delta, What};
use posse_core::message::{Message, Role};
use serde_json::json;

use super::Reins;
use crate::hooks::Judge as _;
use crate::model::Request;
use crate::run::Event;
use crate::session::{self, SessionError};

/// The longest title that is kept.
const LONGEST_TITLE: usize = 200;

impl Reins {
    /// Gives the session a title; nothing but space takes it away.
    pub fn rename(&self, title: &str) -> Result<String, SessionError> {
        let title: String = title.trim().chars().take(LONGEST_TITLE).collect();
        self.live.set_title(&title)?;
        Ok(title)
    }

    /// The title somebody gave the session since it runs.
    pub fn title(&self) -> Option<String> {
        self.live.title()
    }

    /// Remembers a colour for the session.
    pub fn set_color(&self, color: &str) -> Result<(), SessionError> {
        let session = &self.live.session;
        self.live.note_down(json!({ "type": "agent-color", "agentColor": color, "sessionId": session }))
    }

    /// A title for a session that is about this. With `keep` it is written down, unless somebody chose one.
    pub async fn make_title(&self, about: &str, keep: bool) -> Result<String, String> {
        let about: String = about.chars().take(4_000).collect();
        let prompt = format!(
            "Write a title for a working session that begins with the request below: three to seven words, in the \
             language of the request, without quotes and without a full stop. Answer with the title alone.\n\n\
             <request>\n{about}\n</request>"
        );
        let answer = self.judge.ask(&prompt, None, Duration::from_secs(30)).await?;
        let line = answer.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let title: String = line.trim_matches('"').chars().take(LONGEST_TITLE).collect();
        if keep && self.title().is_none() {
            let entry = json!({ "type": "ai-title", "aiTitle": title, "sessionId": self.live.session });
            self.live.note_down(entry).map_err(|error| error.to_string())?;
        }
        Ok(title)
    }

    /// Answers a question about the conversation, without tools and without a trace in it. `before` are questions and
    /// answers of the same kind. Nothing if the model says nothing.
    pub async fn ask_aside(
        &self,
        question: &str,
        before: &[(String, String)],
    ) -> Result<Option<String>, String> {
        let history = self.live.transcript.as_deref().and_then(|path| session::load(path, None).ok());
        let mut messages = history.map(|history| history.messages).unwrap_or_default();
        for (question, answer) in before {
            messages.push(Message::user(question.clone()));
            messages.push(Message { role: Role::Assistant, blocks: Message::user(answer.clone()).blocks });
        }
        let asked = Message::user(format!(
            "<system-reminder>\nThis is a question beside the work, from the user. Answer it from what is known in this \
             conversation, briefly and at once. No tool can be called, and the work goes on as if it had not been \
             asked.\n</system-reminder>\n{question}"
        ));
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.blocks.extend(asked.blocks.clone()),
            Some(_) | None => messages.push(asked.clone()),
        }
        let (system, pool, _) = &self.told;
        let request = Request {
            system: system.clone(),
            tools: pool.specs(),
            tools_off: true,
            messages,
            ..self.judge.request(self.board.id.clone(), asked)
        };
        let reply = self.judge.ask_whole(&*self.board.model, &request).await?;
        let text = Message { role: Role::Assistant, blocks: reply.blocks }.text();
        Ok((!text.trim().is_empty()).then_some(text))
    }

    /// Tells those who watch something that the user should know.
    pub fn note(&self, text: String) {
        self.tell(Event { what: What::Delta(Delta::Note(text)), ids: Vec::new(), from: None });
    }
}
