//! **TaskOutput**: what a command in the background has printed, and how it stands.

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::bash::shown;
use super::unknown_task;
use crate::tool::capture::Clip;
use crate::tool::{Tool, ToolCx, ToolOutput, lenient};

/// The tool.
#[derive(Debug, Default)]
pub struct TaskOutput;

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Input {
    #[serde(alias = "bash_id", alias = "shell_id")]
    task_id: String,
    /// Wait for its end; default true
    #[serde(default, deserialize_with = "lenient::switch")]
    #[schemars(with = "bool")]
    block: Option<bool>,
    /// Milliseconds to wait (default 30000, at most 600000)
    #[serde(default, deserialize_with = "lenient::number")]
    #[schemars(with = "u64")]
    timeout: Option<u64>,
}

impl Tool for TaskOutput {
    const NAME: &'static str = "TaskOutput";
    type Input = Input;

    fn description(&self) -> String {
        "Returns a background task's output so far, status (running, completed, failed, killed) and exit code. You are \
         told when a task ends; do not ask again and again."
            .to_owned()
    }

    fn runs_alone(&self, _input: &Input) -> bool {
        false
    }

    async fn run(&self, input: Input, cx: &ToolCx) -> ToolOutput {
        let Input { task_id, block, timeout } = input;
        let longest = match block {
            Some(false) => Duration::ZERO,
            Some(true) | None => Duration::from_millis(timeout.unwrap_or(30_000).min(600_000)),
        };
        // Agents are known by their names, too.
        let task_id = cx.tasks.id_of(&task_id).map_or(task_id, |id| id.to_string());
        let Some(task) = cx.tasks.wait(&task_id, longest, &cx.stop).await else {
            return unknown_task(&task_id, cx);
        };
        let output = match &task.report {
            Some(report) => report.to_string(),
            None => read(&task.output, shown(&cx.world.env)).await,
        };
        let over = task.state.is_over();
        if over {
            cx.tasks.saw_end(&task.id);
        }
        let retrieval = match (over, block) {
            (true, _) => "success",
            (false, Some(false)) => "not_ready",
            (false, Some(true) | None) => "timeout",
        };
        let code = task.state.code.map(|code| format!("<exit_code>{code}</exit_code>\n")).unwrap_or_default();
        let text = format!(
            "<retrieval_status>{retrieval}</retrieval_status>\n<task_id>{}</task_id>\n<task_type>{}</task_type>\n\
             <status>{}</status>\n{code}<output>\n{}\n</output>",
            task.id,
            task.kind.word(),
            task.state.status.word(),
            if output.is_empty() { "(no output)" } else { output.as_str() },
        );
        ToolOutput::text(text).with(json!({
            "retrieval_status": retrieval,
            "task": {
                "task_id": task.id,
                "task_type": task.kind.word(),
                "status": task.state.status.word(),
                "description": task.description.as_ref().unwrap_or(&task.command),
                "output": output,
                "exitCode": task.state.code,
            },
        }))
    }
}

/// As much of a file as a model reads.
async fn read(path: &Path, limit: usize) -> String {
    let mut clip = Clip::new(limit);
    let mut piece = vec![0; 65_536];
    let mut file = match tokio::fs::File::open(path).await {
        Ok(file) => file,
        Err(error) => return format!("[{} cannot be read: {error}]", path.display()),
    };
    // An error in the middle of a file of our own: what came before it is still worth showing.
    while let Ok(count @ 1..) = file.read(&mut piece).await {
        clip.push(&piece[..count]);
    }
    let text =
        clip.text(|left| format!("[... {left} left out; the whole output is in {} ...]", path.display()));
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests;
