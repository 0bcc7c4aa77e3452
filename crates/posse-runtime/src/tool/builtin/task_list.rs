//! TaskCreate, TaskGet, TaskList and TaskUpdate: a list of tasks on disk that outlives a session and can be shared by
//! several agents and processes. Here is what the tools say; `store` keeps the list.

mod store;

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocking;
use crate::tool::lenient;
use crate::tool::{AnyTool, Tool, ToolCx, ToolOutput};
use store::{Change, Place, Tasks};

pub use store::{Task, TaskStatus};

/// The list that the four tools of a run work on.
#[derive(Clone, Debug, Default)]
struct List {
    session: Option<Box<str>>,
    /// For a run whose session has no name.
    own: Arc<OnceLock<String>>,
}

impl List {
    /// Where it is: below the configuration folder, by the id from the environment or that of the session. An error
    /// says why there is no such place.
    fn place(&self, cx: &ToolCx) -> Result<Place, String> {
        let env = &cx.world.env;
        let config = env.get("CLAUDE_CONFIG_DIR").map(Into::into);
        let config = config.or_else(|| env.home().map(|home| home.join(".claude")));
        let config = config.ok_or("There is no folder to keep tasks in: HOME is not set.")?;
        let id = env.get("CLAUDE_CODE_TASK_LIST_ID").or(self.session.as_deref());
        Ok(Place::new(&config, id.unwrap_or_else(|| self.own.get_or_init(|| cx.world.ids.uuid()))))
    }

    async fn read<T: Send + 'static>(
        &self,
        cx: &ToolCx,
        look: impl FnOnce(&Tasks) -> T + Send + 'static,
    ) -> Result<T, String> {
        let place = self.place(cx)?;
        blocking::run(cx, move |halt| place.read(halt, look))
            .await
            .unwrap_or(Err(blocking::INTERRUPTED.into()))
    }

    async fn change<T: Send + 'static>(
        &self,
        cx: &ToolCx,
        change: impl FnOnce(&mut Tasks) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let place = self.place(cx)?;
        let done = blocking::run(cx, move |halt| place.change(halt, change)).await;
        done.unwrap_or(Err(blocking::INTERRUPTED.into()))
    }
}

/// The four tools for the list of a session. `CLAUDE_CODE_TASK_LIST_ID` names another, for agents that share one.
pub fn tools(session: &str) -> [Arc<dyn AnyTool>; 4] {
    on(&List { session: Some(session.into()), own: Arc::default() })
}

/// The same for a session without a name, with a list of its own.
pub fn unnamed() -> [Arc<dyn AnyTool>; 4] {
    on(&List::default())
}

fn on(list: &List) -> [Arc<dyn AnyTool>; 4] {
    [
        Arc::new(TaskCreate(list.clone())),
        Arc::new(TaskGet(list.clone())),
        Arc::new(TaskList(list.clone())),
        Arc::new(TaskUpdate(list.clone())),
    ]
}

/// A call of TaskCreate.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TaskCreateInput {
    /// As an order: "Fix the login"
    subject: String,
    /// What to do, and when it is done
    description: String,
    /// While it happens: "Fixing the login"
    #[serde(rename = "activeForm")]
    active_form: Option<String>,
    metadata: Option<Map<String, Value>>,
}

/// TaskCreate.
#[derive(Clone, Debug)]
pub struct TaskCreate(List);

impl Tool for TaskCreate {
    const NAME: &'static str = "TaskCreate";
    type Input = TaskCreateInput;

    fn description(&self) -> String {
        "Adds a task to the list, for work of three or more steps. Write it so that another agent could do it. See \
         TaskList first; TaskUpdate sets dependencies."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        true
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let TaskCreateInput { subject, description, active_form, metadata } = input;
        let subject = subject.trim().to_owned();
        if subject.is_empty() {
            return ToolOutput::error("A task needs a subject.");
        }
        let shown = subject.clone();
        let added = self.0.change(cx, move |tasks| {
            Ok(tasks.add(Task { subject, description, active_form, metadata, ..Task::default() }))
        });
        match added.await {
            Ok(id) => ToolOutput::text(format!("Task #{id} created: {shown}"))
                .with(json!({ "task": { "id": id, "subject": shown } })),
            Err(problem) => ToolOutput::error(problem),
        }
    }
}

/// A call of TaskGet.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TaskGetInput {
    #[serde(rename = "taskId", deserialize_with = "lenient::id")]
    task_id: String,
}

/// TaskGet.
#[derive(Clone, Debug)]
pub struct TaskGet(List);

impl Tool for TaskGet {
    const NAME: &'static str = "TaskGet";
    type Input = TaskGetInput;

    fn description(&self) -> String {
        "Shows a task with its description, owner and dependencies. Read it before you begin: what blocks it must be \
         completed."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        false
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let TaskGetInput { task_id } = input;
        let id = task_id.clone();
        match self.0.read(cx, move |tasks| tasks.get(&id).cloned()).await {
            Ok(Some(task)) => ToolOutput::text(full(&task)).with(json!({ "task": task })),
            Ok(None) => ToolOutput::error(store::no_such(&task_id)).with(json!({ "task": null })),
            Err(problem) => ToolOutput::error(problem),
        }
    }
}

fn full(task: &Task) -> String {
    let Task {
        id,
        subject,
        description,
        active_form: _,
        status,
        blocks,
        blocked_by,
        owner,
        metadata: _,
        other: _,
    } = task;
    let mut text = format!("Task #{id}: {subject}\nStatus: {}", status.word());
    if let Some(owner) = owner {
        text.push_str(&format!("\nOwner: {owner}"));
    }
    for (label, ids) in [("Blocked by", blocked_by), ("Blocks", blocks)] {
        if !ids.is_empty() {
            text.push_str(&format!("\n{label}: {}", numbers(ids)));
        }
    }
    if !description.trim().is_empty() {
        text.push_str(&format!("\n\n{}", description.trim()));
    }
    text
}

fn numbers(ids: &[String]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")
}

/// A call of TaskList.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TaskListInput {}

/// TaskList.
#[derive(Clone, Debug)]
pub struct TaskList(List);

impl Tool for TaskList {
    const NAME: &'static str = "TaskList";
    type Input = TaskListInput;

    fn description(&self) -> String {
        "Lists the tasks with status, owner and what each waits for. Begin with what is pending, unowned and not \
         blocked, lowest id first."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        false
    }

    async fn run(&self, _: Self::Input, cx: &ToolCx) -> ToolOutput {
        let read = self.0.read(cx, |tasks| {
            let rows: Vec<(Task, Vec<String>)> =
                tasks.iter().map(|task| (task.clone(), tasks.waits_for(task))).collect();
            (rows, tasks.broken().to_vec())
        });
        let (rows, broken) = match read.await {
            Ok(read) => read,
            Err(problem) => return ToolOutput::error(problem),
        };
        let mut lines: Vec<String> = rows
            .iter()
            .map(|(task, waits_for)| {
                let mut line = format!("#{} [{}] {}", task.id, task.status.word(), task.subject);
                if let Some(owner) = &task.owner {
                    line.push_str(&format!(" ({owner})"));
                }
                if !waits_for.is_empty() {
                    line.push_str(&format!(" [blocked by {}]", numbers(waits_for)));
                }
                line
            })
            .collect();
        if lines.is_empty() {
            lines.push("No tasks.".into());
        }
        lines.extend(broken);
        let tasks: Vec<Value> = rows
            .iter()
            .map(|(task, waits_for)| {
                json!({
                    "id": task.id,
                    "subject": task.subject,
                    "status": task.status,
                    "owner": task.owner,
                    "blockedBy": waits_for,
                })
            })
            .collect();
        ToolOutput::text(lines.join("\n")).with(json!({ "tasks": tasks }))
    }
}

/// The statuses a task can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NewStatus {
    Pending,
    InProgress,
    Completed,
    Deleted,
}

impl NewStatus {
    /// The status it is kept as; what is deleted is not kept.
    fn kept(self) -> Option<TaskStatus> {
        match self {
            Self::Pending => Some(TaskStatus::Pending),
            Self::InProgress => Some(TaskStatus::InProgress),
            Self::Completed => Some(TaskStatus::Completed),
            Self::Deleted => None,
        }
    }
}

/// A call of TaskUpdate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskUpdateInput {
    #[serde(deserialize_with = "lenient::id")]
    task_id: String,
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    /// `deleted` removes it for good
    status: Option<NewStatus>,
    /// Tasks that wait for this one
    #[serde(default, deserialize_with = "lenient::ids")]
    add_blocks: Vec<String>,
    /// Tasks to complete first
    #[serde(default, deserialize_with = "lenient::ids")]
    add_blocked_by: Vec<String>,
    /// Empty frees it
    owner: Option<String>,
    /// Keys to add; null removes one
    metadata: Option<Map<String, Value>>,
}

/// TaskUpdate.
#[derive(Clone, Debug)]
pub struct TaskUpdate(List);

impl Tool for TaskUpdate {
    const NAME: &'static str = "TaskUpdate";
    type Input = TaskUpdateInput;

    fn description(&self) -> String {
        "Changes a task. Set in_progress before you begin, completed once really done: not while tests fail or parts \
         are missing. If stuck, leave it and add a task for what is in the way."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        true
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let TaskUpdateInput {
            task_id,
            subject,
            description,
            active_form,
            status,
            add_blocks,
            add_blocked_by,
            owner,
            metadata,
        } = input;
        let id = task_id.clone();
        let changed = self.0.change(cx, move |tasks| {
            let before = tasks.get(&id).ok_or_else(|| store::no_such(&id))?.status;
            if status == Some(NewStatus::Deleted) {
                tasks.remove(&id);
                return Ok((before, vec!["deleted"]));
            }
            let status = status.and_then(NewStatus::kept);
            let change = Change { subject, description, active_form, status, owner, metadata };
            let mut fields = tasks.link(&id, &add_blocks, &add_blocked_by)?;
            fields.extend(tasks.update(&id, change));
            Ok((before, fields))
        });
        match changed.await {
            Ok((before, fields)) => {
                let text = match fields.as_slice() {
                    [] => format!("Task #{task_id} is as it was: nothing to change was given."),
                    ["deleted"] => format!("Task #{task_id} is deleted."),
                    fields => format!("Task #{task_id} updated: {}", fields.join(", ")),
                };
                let mut structured = json!({ "success": true, "taskId": task_id, "updatedFields": fields });
                let after = match status {
                    Some(NewStatus::Deleted) => Some("deleted"),
                    Some(status) => status.kept().map(TaskStatus::word),
                    None => None,
                };
                if let Some(after) = after.filter(|after| *after != before.word()) {
                    structured["statusChange"] = json!({ "from": before.word(), "to": after });
                }
                ToolOutput::text(text).with(structured)
            }
            Err(problem) => {
                let structured =
                    json!({ "success": false, "taskId": task_id, "updatedFields": [], "error": problem });
                ToolOutput::error(problem).with(structured)
            }
        }
    }
}

#[cfg(test)]
mod tests;
