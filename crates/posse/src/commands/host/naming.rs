//! What a session is called and how it looks, and what is asked beside it.

use posse_core::definition::Color;
use posse_runtime::launch::Reins;
use serde_json::{Value, json};

use super::control::{Handled, acknowledged, refused};
use super::incoming::Request;
use super::side::Side;

impl Side {
    /// Gives the session a title.
    pub(super) fn rename(&mut self, request: &Request, reins: &Reins) -> Handled {
        let session = &*self.lines.facts().session;
        if request.text("session_id").is_some_and(|meant| meant != session) {
            return refused(format!("This process has moved on to another session: {session}"));
        }
        let Some(title) = request.text("title").filter(|title| !title.trim().is_empty()) else {
            return refused("rename_session needs `title`");
        };
        match reins.rename(title) {
            Err(error) => refused(error.to_string()),
            Ok(title) => {
                self.say_title(&title, request.text("source").unwrap_or("remote"));
                acknowledged()
            }
        }
    }

    /// Tells of a title.
    pub(super) fn say_title(&mut self, title: &str, source: &str) {
        let fields = json!({ "title": title, "source": source });
        self.after.push(self.lines.of_system("session_title_changed", fields));
    }
}

/// Remembers a colour.
pub(super) fn set_color(request: &Request, reins: &Reins) -> Handled {
    let color = request.text("color").unwrap_or_default();
    let known = Color::ALL.into_iter().map(Color::name);
    if color != "default" && !known.clone().any(|name| name == color) {
        let names = known.collect::<Vec<_>>().join(", ");
        return refused(format!("Unknown color {color:?}: must be one of {names}, default"));
    }
    match reins.set_color(color) {
        Err(error) => refused(error.to_string()),
        Ok(()) => acknowledged(),
    }
}

/// Makes a title of a description.
pub(super) fn make_title(request: &Request, reins: &Reins) -> Handled {
    let Some(about) = request.text("description").map(str::to_owned) else {
        return refused("generate_session_title needs `description`");
    };
    let (keep, reins) = (request.is_on("persist"), reins.clone());
    Handled::Later(Box::pin(async move {
        let title = reins.make_title(&about, keep).await?;
        Ok(Some(json!({ "title": title })))
    }))
}

/// A question beside the work.
pub(super) fn side_question(request: &Request, reins: &Reins) -> Handled {
    let Some(question) = request.text("question").map(str::to_owned) else {
        return refused("side_question needs `question`");
    };
    let before = request.body.get("history").and_then(Value::as_array).into_iter().flatten();
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
    let pair = |one: &Value| Some((text(one, "question")?, text(one, "response").or(text(one, "answer"))?));
    let (before, reins): (Vec<_>, _) = (before.filter_map(pair).collect(), reins.clone());
    Handled::Later(Box::pin(async move {
        let response = reins.ask_aside(&question, &before).await?;
        Ok(Some(json!({ "response": response, "synthetic": false })))
    }))
}
