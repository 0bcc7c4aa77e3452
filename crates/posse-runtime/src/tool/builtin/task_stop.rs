//! **TaskStop**: ends a task in the background.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::unknown_task;
use crate::tool::{TaskKind, Tool, ToolCx, ToolOutput};

/// The tool.
#[derive(Debug, Default)]
pub struct TaskStop;

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Input {
    #[serde(alias = "shell_id")]
    task_id: String,
}

impl Tool for TaskStop {
    const NAME: &'static str = "TaskStop";
    type Input = Input;

    fn description(&self) -> String {
        "Stops a background task and everything it started; its output file stays.".to_owned()
    }

    fn runs_alone(&self, _input: &Input) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: &ToolCx) -> ToolOutput {
        // An agent may be meant by its name.
        let id = cx.tasks.id_of(&input.task_id).map_or(input.task_id, String::from);
        let Some(before) = cx.tasks.get(&id) else { return unknown_task(&id, cx) };
        if before.state.is_over() {
            let status = before.state.status.word();
            return ToolOutput::error(format!("Task {id} is not running: it is {status}."));
        }
        let Some(task) = cx.tasks.stop(&id).await else { return unknown_task(&id, cx) };
        if !task.state.is_over() {
            return ToolOutput::error(format!("Task {id} was told to stop and has not done so yet."));
        }
        match task.kind {
            TaskKind::Shell => cx.tasks.saw_end(&id),
            // What it had found out by then is news.
            TaskKind::Agent => {}
        }
        let text = format!("Stopped task {id}: {}", task.command);
        ToolOutput::text(text.clone()).with(json!({
            "message": text, "task_id": task.id, "task_type": task.kind.word(), "command": task.command,
        }))
    }
}

#[cfg(test)]
mod tests;
