//! Questions of a session, put to the editor: whether a tool may be used, whether a plan is good, which of several
//! answers it shall be.
//!
//! What is offered and what an answer means is pure. Where the editor cannot ask what is to be asked, the answer is that
//! nobody can be.

use posse_core::permission::{Mode, Update as RuleUpdate};
use posse_runtime::ask::{
    Answers, Ask, PermissionAnswer, PermissionAsk, Question, QuestionAnswer, QuestionAsk, Suggestion,
};
use posse_runtime::launch::Reins;
use serde_json::{Value, json};

use super::protocol::Editor;
use super::words::{Answer, Call, Choosing, Chosen, Field, Filled, Form, Meaning, Named, Shown};
use crate::render::ask::{NOT_YET, REFUSED};

/// Who puts the questions of a session.
#[derive(Clone)]
pub(super) struct Asker {
    /// Whom they are put to.
    pub(super) editor: Editor,
    /// Whose they are.
    pub(super) session: String,
    /// Whether there are forms.
    pub(super) forms: bool,
    /// Whether the mode that asks nothing may be chosen.
    pub(super) may_bypass: bool,
    /// What a no for good is told to.
    pub(super) reins: Reins,
}

impl Asker {
    /// Puts one question to the editor and hands back the answer. If nobody wants it any more, the editor is told.
    /// `call` is what the editor knows of the call that it is about.
    pub(super) async fn serve(self, ask: Ask, call: Call) {
        match ask {
            Ask::Permission(mut pending) => {
                let asked = pending.ask.clone();
                let answer = tokio::select! {
                    biased;
                    () = pending.withdrawn() => return,
                    answer = self.permission(&asked, call) => answer,
                };
                pending.answer(answer);
            }
            Ask::Question(mut pending) => {
                let asked = pending.ask.clone();
                let answer = tokio::select! {
                    biased;
                    () = pending.withdrawn() => return,
                    answer = self.questions(&asked, call) => answer,
                };
                pending.answer(answer);
            }
        }
    }

    async fn permission(&self, ask: &PermissionAsk, mut call: Call) -> PermissionAnswer {
        if &*ask.tool == "ExitPlanMode" {
            let modes = plan_modes(self.reins.mode.after_plan(), self.may_bypass);
            let choosing = Choosing { call, options: plan_options(&modes) };
            return plan_answer(self.editor.choose(&self.session, choosing).await, &modes);
        }
        let why = [ask.agent.as_ref().map(|agent| format!("The agent {agent} asks.")), reason(ask)];
        let why: Vec<String> = why.into_iter().flatten().collect();
        if !why.is_empty() {
            call.shown.get_or_insert_default().push(Shown::Text(why.join(" ")));
        }
        let offers = offers(&ask.tool, &ask.suggestions);
        let options = offers.iter().map(|(answer, _)| answer.clone()).collect();
        let chosen = self.editor.choose(&self.session, Choosing { call, options }).await;
        let (answer, deny) = permission_answer(chosen, offers);
        if let Some(deny) = deny {
            // Rules of the session change nothing on disk, which is all that could fail.
            let _ = self.reins.apply(&deny, std::path::Path::new(""));
        }
        answer
    }

    async fn questions(&self, ask: &QuestionAsk, call: Call) -> QuestionAnswer {
        if self.forms {
            let form = form(&ask.questions, &call.id);
            return form_answer(&ask.questions, self.editor.fill(&self.session, form).await);
        }
        if ask.questions.iter().any(|question| question.multi_select) {
            return QuestionAnswer::Nobody;
        }
        let mut answers = Answers::new();
        for question in &ask.questions {
            let choosing = question_options(question, call.clone());
            match question_answer(question, self.editor.choose(&self.session, choosing).await) {
                Ok(label) => answers.insert(question.question.clone(), label),
                Err(none) => return none,
            };
        }
        QuestionAnswer::Answered(answers)
    }
}

fn reason(ask: &PermissionAsk) -> Option<String> {
    ask.reason.as_ref().map(|reason| format!("Asked because {reason}."))
}

/// What an answer does.
#[derive(Clone, Debug, PartialEq)]
enum Does {
    /// Yes, with these changes of the rules.
    Allow(Vec<Value>),
    /// No, and with this change never again.
    Deny(Option<RuleUpdate>),
}

/// What can be answered to a question for permission, and what each answer does.
fn offers(tool: &str, suggestions: &[Suggestion]) -> Vec<(Answer, Does)> {
    let answer = |id: &str, name: String, meaning| Answer { id: id.to_owned(), name, meaning };
    let mut all = vec![(answer("allow", "Allow".into(), Meaning::Once), Does::Allow(Vec::new()))];
    for (place, suggestion) in suggestions.iter().enumerate() {
        let (session, project) = (format!("session-{place}"), format!("project-{place}"));
        let in_session = with_destination(&suggestion.update, "session");
        if suggestion.update["type"] == "addRules" {
            let name = format!("Always {} in this session", suggestion.label);
            all.push((answer(&session, name, Meaning::Always), Does::Allow(vec![in_session])));
            let name = format!("Always {} in this project", suggestion.label);
            let saved = with_destination(&suggestion.update, "localSettings");
            all.push((answer(&project, name, Meaning::Always), Does::Allow(vec![saved])));
        } else {
            let name = format!("Allow, and {} in this session", suggestion.label);
            all.push((answer(&session, name, Meaning::Always), Does::Allow(vec![in_session])));
        }
    }
    all.push((answer("reject", "Reject".into(), Meaning::Reject), Does::Deny(None)));
    if let Some(deny) = denial(tool, suggestions) {
        let label = deny.label();
        let what = label.strip_prefix("deny ").unwrap_or(&label);
        let name = format!("Always reject {what} in this session");
        all.push((answer("never", name, Meaning::Never), Does::Deny(Some(deny))));
    }
    all
}

fn with_destination(update: &Value, destination: &str) -> Value {
    let mut update = update.clone();
    update["destination"] = json!(destination);
    update
}

/// The rule that makes a no last. A command is refused as it would be allowed; where no rule would allow it, one that
/// refuses every command would be too much.
fn denial(tool: &str, suggestions: &[Suggestion]) -> Option<RuleUpdate> {
    let rules =
        suggestions.iter().find_map(|one| (one.update["type"] == "addRules").then(|| &one.update["rules"]));
    let rules = match rules {
        Some(rules) => rules.clone(),
        None if tool == "Bash" => return None,
        None => json!([{ "toolName": tool }]),
    };
    let update = json!({ "type": "addRules", "rules": rules, "behavior": "deny", "destination": "session" });
    RuleUpdate::from_json(&update).ok()
}

fn stopped() -> PermissionAnswer {
    PermissionAnswer::Deny { message: REFUSED.to_owned(), interrupt: true }
}

fn permission_answer(chosen: Chosen, offers: Vec<(Answer, Does)>) -> (PermissionAnswer, Option<RuleUpdate>) {
    let id = match chosen {
        Chosen::Option(id) => id,
        Chosen::Cancelled => return (stopped(), None),
        Chosen::Nobody => return (PermissionAnswer::Nobody, None),
    };
    let does = offers.into_iter().find_map(|(answer, does)| (answer.id == id).then_some(does));
    match does {
        Some(Does::Allow(updates)) => (PermissionAnswer::Allow { updated_input: None, updates }, None),
        Some(Does::Deny(rule)) => {
            (PermissionAnswer::Deny { message: REFUSED.to_owned(), interrupt: false }, rule)
        }
        None => {
            let message = format!("The editor answered `{id}`, which was not offered.");
            (PermissionAnswer::Deny { message, interrupt: false }, None)
        }
    }
}

/// How a plan can be carried out.
fn plan_modes(after: Mode, may_bypass: bool) -> Vec<Mode> {
    let mut modes = vec![after];
    let more = [Some(Mode::AcceptEdits), may_bypass.then_some(Mode::BypassPermissions)];
    for mode in more.into_iter().flatten() {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}

fn plan_options(modes: &[Mode]) -> Vec<Answer> {
    let yes = |(place, mode): (usize, &Mode)| {
        let how = match mode {
            Mode::Default | Mode::Plan | Mode::Bubble => "Yes, and ask before changes",
            Mode::AcceptEdits => "Yes, and accept edits",
            Mode::Auto => "Yes, in auto mode",
            Mode::DontAsk => "Yes, with what the rules allow",
            Mode::BypassPermissions => "Yes, and ask nothing",
        };
        let meaning = if place == 0 { Meaning::Once } else { Meaning::Always };
        Answer { id: mode.name().to_owned(), name: how.to_owned(), meaning }
    };
    let no = Answer { id: "reject".into(), name: "No, keep planning".into(), meaning: Meaning::Reject };
    modes.iter().enumerate().map(yes).chain([no]).collect()
}

fn plan_answer(chosen: Chosen, offered: &[Mode]) -> PermissionAnswer {
    let mode = match &chosen {
        Chosen::Option(id) => Mode::parse(id).filter(|mode| offered.contains(mode)),
        Chosen::Cancelled => return stopped(),
        Chosen::Nobody => return PermissionAnswer::Nobody,
    };
    match mode {
        Some(mode) => {
            let update = json!({ "type": "setMode", "mode": mode.name(), "destination": "session" });
            PermissionAnswer::Allow { updated_input: None, updates: vec![update] }
        }
        None => PermissionAnswer::Deny { message: NOT_YET.to_owned(), interrupt: false },
    }
}

/// One question with one answer, as if it were for permission.
fn question_options(question: &Question, call: Call) -> Choosing {
    let option = |(place, choice): (usize, &posse_runtime::ask::Choice)| {
        let name = match choice.description.trim() {
            "" => choice.label.clone(),
            about => format!("{}: {about}", choice.label),
        };
        Answer { id: format!("choice-{place}"), name, meaning: Meaning::Once }
    };
    let skip = Answer { id: "reject".into(), name: "Skip this question".into(), meaning: Meaning::Reject };
    let options = question.options.iter().enumerate().map(option).chain([skip]).collect();
    let call = Call {
        title: Some(question.question.clone()),
        shown: Some(vec![Shown::Text(question.question.clone())]),
        ..call
    };
    Choosing { call, options }
}

fn question_answer(question: &Question, chosen: Chosen) -> Result<String, QuestionAnswer> {
    let id = match chosen {
        Chosen::Option(id) => id,
        Chosen::Cancelled => return Err(QuestionAnswer::Declined("they stopped the turn".to_owned())),
        Chosen::Nobody => return Err(QuestionAnswer::Nobody),
    };
    let place = id.strip_prefix("choice-").and_then(|place| place.parse::<usize>().ok());
    let choice = place.and_then(|place| question.options.get(place));
    choice
        .map(|choice| choice.label.clone())
        .ok_or_else(|| QuestionAnswer::Declined("they skipped the question".to_owned()))
}

/// All questions on one form, each with a field for an answer nobody thought of.
fn form(questions: &[Question], call: &str) -> Form {
    let fields = questions.iter().enumerate().flat_map(|(place, question)| {
        let choice = |choice: &posse_runtime::ask::Choice| Named {
            id: choice.label.clone(),
            name: choice.label.clone(),
            description: choice.description.clone(),
        };
        let asked = Field {
            id: format!("question-{place}"),
            title: question.header.clone(),
            question: question.question.clone(),
            choices: question.options.iter().map(choice).collect(),
            several: question.multi_select,
        };
        let other = Field {
            id: format!("question-{place}-other"),
            title: format!("{}: something else", question.header),
            question: "An answer in your own words".to_owned(),
            choices: Vec::new(),
            several: false,
        };
        [asked, other]
    });
    let title = match questions {
        [one] => one.question.clone(),
        several => format!("{} questions", several.len()),
    };
    Form { title, call: call.to_owned(), fields: fields.collect() }
}

fn form_answer(questions: &[Question], filled: Filled) -> QuestionAnswer {
    let fields = match filled {
        Filled::In(fields) => fields,
        Filled::Declined => return QuestionAnswer::Declined("they would not say".to_owned()),
        Filled::Cancelled => return QuestionAnswer::Declined("they closed the form".to_owned()),
        Filled::Nobody => return QuestionAnswer::Nobody,
    };
    let field = |id: String| {
        let texts = fields.iter().find(|(field, _)| *field == id).map(|(_, texts)| texts.as_slice());
        texts.unwrap_or_default().iter().filter(|text| !text.trim().is_empty()).cloned()
    };
    let mut answers = Answers::new();
    for (place, question) in questions.iter().enumerate() {
        let own: Vec<String> = field(format!("question-{place}-other")).collect();
        let mut given: Vec<String> = field(format!("question-{place}")).collect();
        // What somebody writes counts before what a form had chosen for them.
        if !own.is_empty() && !question.multi_select {
            given.clear();
        }
        given.extend(own);
        if !given.is_empty() {
            answers.insert(question.question.clone(), given.join(", "));
        }
    }
    if answers.is_empty() {
        QuestionAnswer::Declined("they chose nothing".to_owned())
    } else {
        QuestionAnswer::Answered(answers)
    }
}

#[cfg(test)]
mod tests;
