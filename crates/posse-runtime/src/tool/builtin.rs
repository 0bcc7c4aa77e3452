//! The built-in tools, one file each.

mod bash;
mod edit;
mod fs;
mod notebook_edit;
mod patch;
mod read;
mod task_output;
mod task_stop;
#[cfg(test)]
mod trial;
mod view;
mod write;

use std::sync::Arc;

use super::{AnyTool, ToolCx, ToolOutput};

pub use bash::Bash;
pub use task_output::TaskOutput;
pub use task_stop::TaskStop;

/// All built-in tools, in the order they are offered.
pub fn all() -> Vec<Arc<dyn AnyTool>> {
    vec![
        Arc::new(Bash::default()),
        Arc::new(edit::Edit),
        Arc::new(notebook_edit::NotebookEdit),
        Arc::new(read::Read),
        Arc::new(TaskOutput),
        Arc::new(TaskStop),
        Arc::new(write::Write),
    ]
}

/// The answer to an id no task has, with those that some have.
fn unknown_task(id: &str, cx: &ToolCx) -> ToolOutput {
    let known = cx.tasks.list();
    let known: Vec<String> =
        known.iter().map(|task| format!("{} ({})", task.id, task.state.status.word())).collect();
    let known = match known.as_slice() {
        [] => "There are no tasks in this session.".to_owned(),
        known => format!("There are: {}.", known.join(", ")),
    };
    ToolOutput::error(format!("No task has the ID {id:?}. {known}"))
}
