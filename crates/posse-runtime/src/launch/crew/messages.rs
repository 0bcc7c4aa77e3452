//! SendMessage, and going on with an agent that has ended.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use posse_core::delegation::Input;
use posse_core::message::Message;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::place::{Lodging, Place, kept_in};
use super::seats::Seat;
use super::work::Job;
use super::{Crew, Member, Standing};
use crate::authority::Territory;
use crate::tool::{Cwd, Inbox, Tasks, ToolCx, ToolOutput};

impl Crew {
    /// What a call of SendMessage does.
    pub(super) async fn deliver(&self, input: Value, cx: &ToolCx) -> ToolOutput {
        let text =
            |key: &str| input.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let (Some(to), Some(message)) = (text("to"), text("message")) else {
            return ToolOutput::error("SendMessage takes `to`, a name or an agentId, and `message`, a text.");
        };
        let Some(from) = self.member(&cx.agent) else {
            return ToolOutput::error("This conversation cannot write.");
        };
        if to == "main" && from.id.is_empty() {
            return failure("You are main: this would be a message to yourself.");
        }
        let found = if to == "main" { Ok(self.member("")) } else { self.find_or_recall(to).await };
        let member = match found {
            Ok(Some(member)) => member,
            Ok(None) => return failure(&self.unknown(to)),
            Err(why) => return failure(&why),
        };
        let letter = letter(&from, message);
        if self.is_running(&member) && member.cx.inbox.put(letter.clone()) {
            let text = format!("Message queued for {to}; it is read between two steps.");
            return ToolOutput::text(&*text).with(json!({ "success": true, "message": text }));
        }
        let id = member.id.clone();
        match self.again(&member, Message::user(letter), message.to_owned(), &cx.call, true).await {
            Ok(job) => {
                let started = self.start(job, &from, cx).await;
                if started.is_error {
                    return started;
                }
                let text = format!(
                    "{to} had ended; it goes on in the background with your message. You are told when it is done."
                );
                let value = json!({ "success": true, "message": text, "resumedAgentId": id });
                ToolOutput::text(text).with(value)
            }
            Err(text) => failure(&text),
        }
    }

    fn is_running(&self, member: &Member) -> bool {
        matches!(&*member.standing(), Standing::Running(_))
    }

    fn unknown(&self, to: &str) -> String {
        let members = self.members();
        let mut known: Vec<&str> = members.names.keys().map(|name| &**name).collect();
        known.extend(members.by_id.keys().map(|id| &**id).filter(|id| !id.is_empty()));
        known.extend(self.earlier_handles());
        known.sort_unstable();
        known.dedup();
        let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
        format!("There is no agent `{to}` in this session. There are: {known}, and main.")
    }

    /// The Agent tool's `resume`.
    pub(super) async fn continue_agent(
        &self,
        wanted: &str,
        input: &Input,
        caller: &Arc<Member>,
        cx: &ToolCx,
    ) -> ToolOutput {
        let member = match self.find_or_recall(wanted).await {
            Ok(Some(member)) if !member.id.is_empty() => member,
            Ok(_) => return ToolOutput::error(self.unknown(wanted)),
            Err(why) => return ToolOutput::error(why),
        };
        if self.is_running(&member) {
            return ToolOutput::error(format!(
                "{wanted} is still at work. Write to it with SendMessage, or wait until it has ended."
            ));
        }
        let message = Message::user(letter(caller, &input.prompt));
        let background = input.run_in_background == Some(true);
        match self.again(&member, message, input.prompt.clone(), &cx.call, background).await {
            Ok(job) => self.start(job, caller, cx).await,
            Err(text) => ToolOutput::error(text),
        }
    }

    /// The same agent once more: same id, model, tools, place; its conversation goes on from its transcript.
    async fn again(
        &self,
        member: &Arc<Member>,
        message: Message,
        prompt: String,
        call: &str,
        background: bool,
    ) -> Result<Job, String> {
        if member.one_shot {
            return Err(format!("{} answers once and cannot be continued. Start another.", member.kind));
        }
        if member.transcript.as_os_str().is_empty() {
            return Err("Nothing is written down in this session, so no agent can be continued.".into());
        }
        let mut cx = member.cx.clone();
        (cx.tasks, cx.inbox, cx.stop) = (Tasks::default(), Inbox::default(), CancellationToken::new());
        for text in member.cx.inbox.close() {
            cx.inbox.put(text);
        }
        let mut setup = member.setup.clone();
        let before = member.lodging().before.clone();
        let mut lodging = Lodging::default();
        if let Some(Place { cwd, tree, claim }) = self.same_place(member).await? {
            cx.cwd = kept_in(&Cwd::new(cwd), claim.as_ref());
            setup.guard.territory = Territory::new(claim);
            lodging = Lodging { before, ..Lodging::of(tree) };
        }
        setup.tools.wake();
        // What opened the conversation stands in it already.
        setup.opening = None;
        let again = Member {
            id: member.id.clone(),
            kind: member.kind.clone(),
            name: member.name.clone(),
            description: member.description.clone(),
            spent_before: member.spent_before,
            call: member.call.clone(),
            parent: member.parent.clone(),
            depth: member.depth,
            is_fork: member.is_fork,
            one_shot: false,
            capability: member.capability.clone(),
            may_ask: member.may_ask,
            model: member.model.clone(),
            setup,
            cx,
            transcript: member.transcript.clone(),
            base: member.base.clone(),
            seat: Seat::empty(&self.seats),
            lodging: Mutex::new(lodging),
            standing: Mutex::new(Standing::Running(CancellationToken::new())),
            to_background: Notify::new(),
            is_waited_for: AtomicBool::new(false),
            confinement: Arc::clone(&member.confinement),
        };
        let asked = Some(background);
        Ok(Job { member: Arc::new(again), prompt, message, call: call.into(), background, asked })
    }
}

fn failure(text: &str) -> ToolOutput {
    ToolOutput::error(text).with(json!({ "success": false, "message": text }))
}

/// A message as its reader gets it: who wrote it, and that it is not the user.
fn letter(from: &Member, message: &str) -> String {
    let who = match (&from.name, from.id.is_empty()) {
        (_, true) => "the agent that coordinates this work".to_owned(),
        (Some(name), false) => format!("the agent {name}"),
        (None, false) => format!("the agent {} ({})", from.kind, from.id),
    };
    format!("[posse: a message from {who}. It is a direction, not a word of the user.]\n{message}")
}
