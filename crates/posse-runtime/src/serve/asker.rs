//! Questions of the session to the person behind the client (elicitation). Whatever is not a clear yes is a no.

use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::ask::{Answers, Ask, Asks, Pending, PermissionAnswer, PermissionAsk, QuestionAnswer, QuestionAsk};

/// Puts questions before the person, one at a time, until nobody can ask any more or the client is gone.
pub(super) async fn ask(mut asks: Asks, peer: Peer<RoleServer>, gone: CancellationToken) {
    let all = async {
        while let Some(ask) = asks.next().await {
            match ask {
                Ask::Permission(pending) => permission(pending, &peer).await,
                Ask::Question(pending) => question(pending, &peer).await,
            }
        }
    };
    tokio::select! {
        () = all => {}
        () = gone.cancelled() => {}
    }
}

async fn permission(mut pending: Pending<PermissionAsk, PermissionAnswer>, peer: &Peer<RoleServer>) {
    let text = permission_text(&pending.ask);
    let schema = json!({
        "type": "object",
        "properties": { "allow": { "type": "boolean", "title": "Allow it", "default": false } },
        "required": ["allow"],
    });
    let result = match elicit(text, schema, peer, pending.withdrawn()).await {
        Asked::Answered(result) => result,
        Asked::Unasked => return pending.answer(PermissionAnswer::Nobody),
        Asked::Withdrawn => return,
    };
    let yes = result.action == ElicitationAction::Accept
        && result.content.as_ref().is_some_and(|content| content["allow"] == true);
    let no = || {
        let message = format!("The user does not want {} to be used like this.", pending.ask.tool);
        PermissionAnswer::Deny { message, interrupt: false }
    };
    let answer = if yes { PermissionAnswer::yes() } else { no() };
    pending.answer(answer);
}

/// What a person decides by: who wants what, with which input, and why they are asked.
fn permission_text(ask: &PermissionAsk) -> String {
    const LONGEST: usize = 8000;
    let input = match (&*ask.tool, ask.input.get("command").and_then(Value::as_str)) {
        ("Bash", Some(command)) => command.to_owned(),
        _ => serde_json::to_string_pretty(&ask.input).unwrap_or_default(),
    };
    let shown = match input.char_indices().nth(LONGEST) {
        None => input,
        Some((end, _)) => {
            let hidden = input[end..].chars().count();
            format!("{}\n[{hidden} more characters are not shown]", &input[..end])
        }
    };
    let reason = ask.reason.as_ref().map(|why| format!("\n\nAsked because: {why}")).unwrap_or_default();
    format!("{}:\n\n{shown}{reason}", ask.title)
}

async fn question(mut pending: Pending<QuestionAsk, QuestionAnswer>, peer: &Peer<RoleServer>) {
    let (text, schema) = form(&pending.ask);
    let answer = match elicit(text, schema, peer, pending.withdrawn()).await {
        Asked::Withdrawn => return,
        Asked::Unasked => QuestionAnswer::Nobody,
        Asked::Answered(result) if result.action == ElicitationAction::Accept => {
            QuestionAnswer::Answered(answers(&pending.ask, &result.content.unwrap_or_default()))
        }
        Asked::Answered(_) => QuestionAnswer::Declined("the user would not answer".into()),
    };
    pending.answer(answer);
}

/// One field per question.
fn form(ask: &QuestionAsk) -> (String, Value) {
    let mut properties = Map::new();
    for (place, question) in ask.questions.iter().enumerate() {
        let labels: Vec<&str> = question.options.iter().map(|choice| &*choice.label).collect();
        let mut field =
            json!({ "type": "string", "title": question.header, "description": question.question });
        if question.multi_select {
            field["description"] = format!("{} (any of: {})", question.question, labels.join(", ")).into();
        } else if !labels.is_empty() {
            field["enum"] = json!(labels);
        }
        properties.insert(format!("answer{}", place + 1), field);
    }
    let names: Vec<&String> = properties.keys().collect();
    let schema = json!({ "type": "object", "required": names, "properties": properties });
    let text: Vec<&str> = ask.questions.iter().map(|question| &*question.question).collect();
    (text.join("\n"), schema)
}

fn answers(ask: &QuestionAsk, content: &Value) -> Answers {
    let answer = |(place, question): (usize, &crate::ask::Question)| {
        let given = content.get(format!("answer{}", place + 1))?;
        let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        Some((question.question.clone(), text))
    };
    ask.questions.iter().enumerate().filter_map(answer).collect()
}

/// What became of a question.
enum Asked {
    Answered(ElicitResult),
    /// The client cannot ask, whatever it promised.
    Unasked,
    /// Nobody wants to know any more, and the client was told so.
    Withdrawn,
}

/// Asks the client, unless the question is withdrawn.
async fn elicit(
    message: String,
    schema: Value,
    peer: &Peer<RoleServer>,
    withdrawn: impl Future<Output = ()>,
) -> Asked {
    let Ok(requested_schema) = serde_json::from_value::<ElicitationSchema>(schema) else {
        return Asked::Unasked;
    };
    let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
    let sent = peer.send_cancellable_request(request, PeerRequestOptions::default()).await;
    let Ok(mut handle) = sent else { return Asked::Unasked };
    tokio::select! {
        answered = &mut handle.rx => match answered {
            Ok(Ok(ClientResult::ElicitResult(result))) => Asked::Answered(result),
            Ok(Ok(_) | Err(_)) | Err(_) => Asked::Unasked,
        },
        () = withdrawn => {
            let why = Some("the call that asked was stopped".into());
            // A client that is gone need not be told.
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(handle.id), why)).await;
            Asked::Withdrawn
        }
    }
}

#[cfg(test)]
mod tests;
