//! The built-in tools, one file each.

pub mod agent;
pub mod ask_user_question;
mod bash;
mod blocking;
mod edit;
mod fs;
pub mod glob;
pub mod grep;
mod notebook_edit;
mod patch;
pub mod plan_mode;
mod read;
mod search;
pub mod send_message;
pub mod skill;
pub mod task_list;
mod task_output;
mod task_stop;
pub mod todo_write;
pub mod tool_search;
#[cfg(test)]
mod trial;
mod view;
pub mod web_fetch;
pub mod web_search;
pub mod worktree;
mod write;

use std::sync::Arc;

use super::{AnyTool, ToolCx, ToolOutput};

pub use bash::Bash;
pub(crate) use read::shown_image;
pub use task_output::TaskOutput;
pub use task_stop::TaskStop;

/// All built-in tools, in the order they are offered. Those that need somebody to connect them (to a user, a model, a
/// search) answer that nobody is there; the driver puts connected ones in their place.
pub fn all() -> Vec<Arc<dyn AnyTool>> {
    let [task_create, task_get, task_list, task_update] = task_list::unnamed();
    vec![
        Arc::new(ask_user_question::AskUserQuestion::default()),
        Arc::new(Bash::default()),
        Arc::new(edit::Edit),
        Arc::new(plan_mode::EnterPlanMode::default()),
        Arc::new(plan_mode::ExitPlanMode::default()),
        Arc::new(glob::Glob),
        Arc::new(grep::Grep),
        Arc::new(notebook_edit::NotebookEdit),
        Arc::new(read::Read),
        task_create,
        task_get,
        task_list,
        Arc::new(TaskOutput),
        Arc::new(TaskStop),
        task_update,
        Arc::new(todo_write::TodoWrite),
        Arc::new(tool_search::ToolSearch::default()),
        Arc::new(web_fetch::WebFetch::default()),
        Arc::new(web_search::WebSearch::default()),
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

#[cfg(test)]
mod tests;
