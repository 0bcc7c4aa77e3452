//! Questions of a session as a program is asked them, and what its answers mean: whether a tool may be used, which of
//! several answers it shall be. The program is the host, or a tool of a server (`--permission-prompt-tool`).

use std::sync::Arc;
use std::time::Duration;

use posse_runtime::ask::{Answers, Ask, Asks, PermissionAnswer, PermissionAsk, QuestionAnswer, QuestionAsk};
use posse_runtime::hooks::McpCaller;
use posse_runtime::mcp::Servers;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Longer than any person takes.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// A tool of a server that answers for a person.
#[derive(Clone)]
pub(super) struct PromptTool {
    servers: Servers,
    name: Arc<str>,
}

impl PromptTool {
    pub(super) fn new(servers: Servers, name: &str) -> Self {
        Self { servers, name: name.into() }
    }

    /// Why nobody can be asked, if the tool is not there.
    pub(super) async fn check(&self) -> Result<(), String> {
        self.servers.tool_named(&self.name).await.map(drop)
    }

    /// Puts a question to it.
    pub(super) async fn ask(&self, request: Value) -> Result<Value, String> {
        let name = &self.name;
        let (lease, tool) = self
            .servers
            .tool_named(name)
            .await
            .map_err(|error| format!("--permission-prompt-tool {name}: {error}"))?;
        let input = json!({
            "tool_name": request["tool_name"],
            "input": request["input"],
            "tool_use_id": request["tool_use_id"],
        });
        let said = self.servers.call(lease.name(), &tool, input, PATIENCE).await?;
        serde_json::from_str(&said).map_err(|error| format!("{name} answered no JSON: {error}"))
    }

    /// Puts every question to it, until nobody asks any more.
    pub(super) async fn attend(self, mut asks: Asks) {
        let mut open = JoinSet::new();
        while let Some(ask) = asks.next().await {
            while open.try_join_next().is_some() {}
            let tool = self.clone();
            open.spawn(async move { serve(ask, async |request| tool.ask(request).await).await });
        }
    }
}

/// Puts one question to somebody and hands back the answer; whoever does not want it any more takes it back.
pub(super) async fn serve(ask: Ask, put: impl AsyncFnOnce(Value) -> Result<Value, String>) {
    match ask {
        Ask::Permission(mut pending) => {
            let request = permission(&pending.ask);
            let answer = tokio::select! {
                biased;
                () = pending.withdrawn() => return,
                answer = put(request) => answer,
            };
            pending.answer(verdict(answer));
        }
        Ask::Question(mut pending) => {
            let request = questions(&pending.ask);
            let answer = tokio::select! {
                biased;
                () = pending.withdrawn() => return,
                answer = put(request) => answer,
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
