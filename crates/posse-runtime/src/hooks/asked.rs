//! Handlers that are no programs of ours: a model, an agent, an MCP server, the host.

use std::future::Future;

use posse_core::hooks::answer::{self, Answer, Exit};
use posse_core::hooks::{HookEvent, HookKind, fill, judgement};
use serde_json::{Value, json};

use super::Job;
use super::registry::Work;
use posse_core::event::{HookNotice, HookOutcome};

/// Turns of a model that an agent may take to check something.
const MOST_TURNS: u32 = 50;

/// What such a handler came to: how it ended, what it said, what that means.
pub(super) struct Said {
    pub(super) exit: Exit,
    pub(super) stdout: String,
    pub(super) answer: Answer,
}

impl Said {
    /// Something that is read as a program's output is.
    pub(super) fn output(event: HookEvent, stdout: String) -> Self {
        let exit = Exit::Code(0);
        Self { answer: answer::read(event, &exit, &stdout, ""), exit, stdout }
    }

    /// A failure, which decides nothing.
    pub(super) fn failed(event: HookEvent, exit: Exit) -> Self {
        Self { answer: answer::read(event, &exit, "", ""), exit, stdout: String::new() }
    }
}

/// Runs a handler under its deadline and the run's stop, and tells those who watch.
pub(super) async fn noticed(job: &Job, work: impl Future<Output = Said>) -> Answer {
    let hook_id = job.cx.world.ids.uuid();
    let notices = &job.cx.services.notices;
    notices(HookNotice::Started { hook_id: hook_id.clone(), name: job.name.clone(), event: job.event });
    let said = bounded(job, work).await.unwrap_or_else(|exit| Said::failed(job.event, exit));
    let outcome = match &said.exit {
        Exit::Code(_) => HookOutcome::Success,
        Exit::Signal(_) | Exit::Failed(_) => HookOutcome::Error,
        Exit::TimedOut(_) | Exit::Stopped => HookOutcome::Cancelled,
    };
    let stderr = match &said.exit {
        Exit::Failed(why) => why.clone(),
        _ => String::new(),
    };
    notices(HookNotice::Response {
        hook_id,
        name: job.name.clone(),
        event: job.event,
        output: format!("{}{stderr}", said.stdout),
        stdout: said.stdout,
        stderr,
        exit_code: None,
        outcome,
    });
    said.answer
}

async fn bounded<T>(job: &Job, work: impl Future<Output = T>) -> Result<T, Exit> {
    let limit = job.limit();
    tokio::select! {
        biased;
        () = job.cx.stop.cancelled() => Err(Exit::Stopped),
        said = tokio::time::timeout(limit, work) => said.map_err(|_| Exit::TimedOut(limit)),
    }
}

/// Asks a model, an agent or an MCP server.
pub(super) async fn run(job: &Job) -> Said {
    let (services, limit, event) = (&job.cx.services, job.limit(), job.event);
    let absent = |what: &str| Err(format!("{what} cannot be run here"));
    let Work::Configured(kind) = &job.entry().work else { return Said::failed(event, Exit::Stopped) };
    match kind {
        HookKind::Prompt { prompt, model, continue_on_block } => {
            let prompt = question(&fill::prompt(prompt, &job.input));
            let said = match &services.judge {
                Some(judge) => judge.ask(&prompt, model.as_deref(), limit).await,
                None => absent("`prompt` hooks"),
            };
            judged(event, said, *continue_on_block)
        }
        HookKind::Agent { prompt, model } => {
            let prompt = question(&fill::prompt(prompt, &job.input));
            let said = match &services.verifier {
                Some(verifier) => verifier.verify(&prompt, model.as_deref(), MOST_TURNS, limit).await,
                None => absent("`agent` hooks"),
            };
            judged(event, said, true)
        }
        HookKind::McpTool { server, tool, input } => {
            let input = fill::tool_input(input.as_ref(), &job.input);
            let said = match &services.mcp {
                Some(mcp) => mcp.call(server, tool, input, limit).await,
                None => absent("`mcp_tool` hooks"),
            };
            said.map_or_else(
                |why| Said::failed(event, Exit::Failed(why)),
                |stdout| Said::output(event, stdout),
            )
        }
        HookKind::Command { .. } | HookKind::Http { .. } => Said::failed(event, Exit::Stopped),
    }
}

/// The author's words, and what form the answer takes.
fn question(prompt: &str) -> String {
    format!(
        "{prompt}\n\nAnswer with one JSON object and nothing else: {{\"ok\": true}} if the condition holds, or \
         {{\"ok\": false, \"reason\": \"what is missing\"}}. Add \"impossible\": true if it can never hold."
    )
}

fn judged(event: HookEvent, said: Result<String, String>, goes_on: bool) -> Said {
    match said {
        Ok(stdout) => Said { answer: judgement::read(event, &stdout, goes_on), exit: Exit::Code(0), stdout },
        Err(why) => Said::failed(event, Exit::Failed(why)),
    }
}

/// Asks the host. What it does not answer in time, or will never answer because it is gone, must not happen if it is a
/// tool's call.
pub(super) async fn callback(job: &Job) -> Answer {
    let Work::Callback { id, blocks_on_failure } = &job.entry().work else { return Answer::default() };
    let event = job.event;
    let Some(callbacks) = &job.cx.services.callbacks else {
        return Answer::error("the host that registered it is not there");
    };
    let failed = |exit: Exit, blocks: bool| {
        let mut answer = answer::read(event, &exit, "", "");
        if blocks && answer.block.is_none() {
            let reason = answer.errors.pop().unwrap_or_default();
            let objection =
                json!({"decision": "block", "reason": format!("the host's hook failed: {reason}")});
            answer = answer::read(event, &Exit::Code(0), &objection.to_string(), "");
        }
        answer
    };
    let is_call = event == HookEvent::PreToolUse;
    match bounded(job, callbacks.call(id, &job.input, job.tool_use_id.as_deref())).await {
        Ok(Ok(Value::Object(output))) => {
            answer::read(event, &Exit::Code(0), &Value::Object(output).to_string(), "")
        }
        Ok(Ok(Value::Null)) => Answer::default(),
        Ok(Ok(_)) => failed(Exit::Failed("the answer is no object".to_owned()), *blocks_on_failure),
        Ok(Err(why)) => {
            let is_left_alone = is_call && callbacks.is_gone();
            failed(Exit::Failed(why), *blocks_on_failure || is_left_alone)
        }
        Err(exit @ Exit::TimedOut(_)) => failed(exit, *blocks_on_failure || is_call),
        Err(exit) => failed(exit, false),
    }
}
