//! TodoWrite: the run's own list of what is to be done. Keeps it; showing it is the frontend's.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::tool::{Todo, TodoStatus, Tool, ToolCx, ToolOutput};

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TodoWriteInput {
    todos: Vec<Todo>,
}

/// The tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct TodoWrite;

impl Tool for TodoWrite {
    const NAME: &'static str = "TodoWrite";
    type Input = TodoWriteInput;

    fn description(&self) -> String {
        "Keeps the to-do list the user sees, for work of three or more steps. Every call gives the whole list. Set an \
         item to in_progress before you begin it, one at a time, and to completed once really done: not while tests \
         fail or parts are missing. Add what you discover, remove what is not needed."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        true
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let TodoWriteInput { todos } = input;
        if let Some(at) = todos.iter().position(|todo| todo.content.trim().is_empty()) {
            return ToolOutput::error(format!("Item {} has no content. The list is unchanged.", at + 1));
        }
        let count = |status| todos.iter().filter(|todo| todo.status == status).count();
        let (done, open) = (count(TodoStatus::Completed), count(TodoStatus::Pending));
        let text = match todos.iter().find(|todo| todo.status == TodoStatus::InProgress) {
            Some(now) => format!("List saved: {done} done, {open} to come. Now: {}", now.content),
            None if open > 0 => {
                format!(
                    "List saved: {done} done, {open} to come, none in progress. Mark the one you begin with."
                )
            }
            None if done > 0 => format!("List saved: all {done} done."),
            None => "List saved: it is empty.".to_owned(),
        };
        let old = cx.todos.replace(todos.clone());
        ToolOutput::text(text).with(json!({ "oldTodos": old, "newTodos": todos }))
    }
}

#[cfg(test)]
mod tests;
