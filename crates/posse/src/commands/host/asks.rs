//! Questions of the session, put to the host: whether a tool may be used, which of several answers it shall be.

use std::sync::Arc;
use std::time::Duration;

use posse_core::mcp::normalized;
use posse_runtime::ask::{Answers, Ask, PermissionAnswer, PermissionAsk, QuestionAnswer, QuestionAsk};
use posse_runtime::hooks::McpCaller;
use posse_runtime::mcp::Servers;
use serde_json::{Value, json};

use super::states::States;
use super::wire::{Kind, Wire};

/// Longer than any person takes.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Who answers.
#[derive(Clone)]
pub(super) enum Via {
    /// The host itself.
    Host(Wire),
    /// A tool of a server.
    Tool(Option<Servers>, Arc<str>),
}

impl Via {
    async fn ask(&self, request: Value) -> Result<Value, String> {
        match self {
            Self::Host(wire) => wire.request(Kind::Ask, request).await,
            Self::Tool(servers, name) => {
                let (servers, server, tool) = find(servers.as_ref(), name)
                    .ok_or_else(|| format!("--permission-prompt-tool {name}: there is no such tool"))?;
                let input = json!({
                    "tool_name": request["tool_name"],
                    "input": request["input"],
                    "tool_use_id": request["tool_use_id"],
                });
                let said = servers.call(&server, &tool, input, PATIENCE).await?;
                serde_json::from_str(&said).map_err(|error| format!("{name} answered no JSON: {error}"))
            }
        }
    }
}

/// The server and the tool that a full name means.
fn find<'s>(servers: Option<&'s Servers>, name: &str) -> Option<(&'s Servers, String, String)> {
    let servers = servers?;
    let rest = name.strip_prefix("mcp__")?;
    servers.configured().iter().find_map(|one| {
        let tool = rest.strip_prefix(&*normalized(&one.name))?.strip_prefix("__")?;
        Some((servers, one.name.to_string(), tool.to_owned()))
    })
}

/// Puts one question to the host and hands back the answer. If nobody wants it any more, the host is told.
pub(super) async fn serve(via: Via, states: States, ask: Ask) {
    let _asking = states.asking();
    match ask {
        Ask::Permission(mut pending) => {
            let request = permission(&pending.ask);
            let answer = tokio::select! {
                biased;
                () = pending.withdrawn() => return,
                answer = via.ask(request) => answer,
            };
            pending.answer(verdict(answer));
        }
        Ask::Question(mut pending) => {
            let request = questions(&pending.ask);
            let answer = tokio::select! {
                biased;
                () = pending.withdrawn() => return,
                answer = via.ask(request) => answer,
            };
            pending.answer(chosen(answer));
        }
    }
}

fn permission(ask: &PermissionAsk) -> Value {
    let PermissionAsk { tool, input, title, reason, grounds, suggestions, agent: _, agent_id, call } = ask;
    let mut request = json!({
        "subtype": "can_use_tool",
        "tool_name": tool,
        "display_name": tool,
        "input": input,
        "tool_use_id": call,
        "title": title,
        "permission_suggestions": suggestions.iter().map(|one| one.update.clone()).collect::<Vec<_>>(),
    });
    if let Some(reason) = reason {
        request["decision_reason"] = json!(reason);
        request["decision_reason_type"] = json!(grounds.kind);
    }
    if let Some(path) = &grounds.path {
        request["blocked_path"] = json!(path);
    }
    if let Some(description) = input.get("description").filter(|text| text.is_string()) {
        request["description"] = description.clone();
    }
    if let Some(agent) = agent_id {
        request["agent_id"] = json!(agent);
    }
    if &**tool == "ExitPlanMode" {
        request["requires_user_interaction"] = json!(true);
    }
    request
}

fn questions(ask: &QuestionAsk) -> Value {
    json!({
        "subtype": "can_use_tool",
        "tool_name": "AskUserQuestion",
        "display_name": "AskUserQuestion",
        "input": { "questions": ask.questions },
        "tool_use_id": ask.call,
        "requires_user_interaction": true,
    })
}

/// What the host decides; what cannot be understood is a no that says so.
fn verdict(answer: Result<Value, String>) -> PermissionAnswer {
    let denied = |message: String| PermissionAnswer::Deny { message, interrupt: false };
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return denied(format!("Tool permission request failed: Error: {why}")),
    };
    match answer.get("behavior").and_then(Value::as_str) {
        Some("allow") => PermissionAnswer::Allow {
            updated_input: answer.get("updatedInput").filter(|input| input.is_object()).cloned(),
            updates: answer.get("updatedPermissions").and_then(Value::as_array).cloned().unwrap_or_default(),
        },
        Some("deny") => {
            let message = answer.get("message").and_then(Value::as_str).filter(|text| !text.is_empty());
            PermissionAnswer::Deny {
                message: message.unwrap_or("The user does not want this tool to be used.").to_owned(),
                interrupt: answer.get("interrupt").and_then(Value::as_bool).unwrap_or_default(),
            }
        }
        Some(other) => {
            denied(format!("Tool permission request failed: Error: `{other}` is neither allow nor deny"))
        }
        None => denied("Tool permission request failed: Error: the answer has no behavior".to_owned()),
    }
}

/// Which answers were chosen.
fn chosen(answer: Result<Value, String>) -> QuestionAnswer {
    match verdict(answer) {
        PermissionAnswer::Allow { updated_input, .. } => {
            let given = updated_input.as_ref().and_then(|input| input.get("answers"));
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let answers: Answers = given
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(question, answer)| (question.clone(), text(answer)))
                .collect();
            if answers.is_empty() {
                QuestionAnswer::Declined("they chose nothing".to_owned())
            } else {
                QuestionAnswer::Answered(answers)
            }
        }
        PermissionAnswer::Deny { message, .. } => QuestionAnswer::Declined(message),
        PermissionAnswer::Nobody => QuestionAnswer::Nobody,
    }
}

#[cfg(test)]
mod tests;
