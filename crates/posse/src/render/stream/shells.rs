//! Commands in the background, as lines tell of them: each begins once and ends once. Knows nothing of how they run.

use std::collections::BTreeMap;

use posse_runtime::tool::{Task, TaskKind, TaskStatus};
use serde_json::{Value, json};

/// The commands that lines have told of, and whether of their ends, too.
#[derive(Default)]
pub(super) struct Shells(BTreeMap<Box<str>, Told>);

#[derive(PartialEq)]
enum Told {
    Beginning,
    End,
}

/// Something to be told of a command.
pub(super) type News = (&'static str, Value);

impl Shells {
    /// What has happened since the last look.
    pub(super) fn look(&mut self, tasks: &[Task]) -> Vec<News> {
        let mut news = Vec::new();
        for task in tasks.iter().filter(|task| task.kind == TaskKind::Shell) {
            if !self.0.contains_key(&task.id) {
                self.0.insert(task.id.clone(), Told::Beginning);
                news.push(("task_started", started(task)));
            }
            if task.state.is_over() && self.0.insert(task.id.clone(), Told::End) == Some(Told::Beginning) {
                let patch = json!({ "status": task.state.status.word() });
                news.push(("task_updated", json!({ "task_id": task.id, "patch": patch })));
                news.push(("task_notification", ended(task)));
            }
        }
        news
    }
}

/// Those that go on, as the list of everything in the background shows them.
pub(super) fn at_work(tasks: &[Task]) -> impl Iterator<Item = Value> {
    let goes_on = |task: &&Task| task.kind == TaskKind::Shell && !task.state.is_over();
    tasks.iter().filter(goes_on).map(
        |task| json!({ "task_id": task.id, "task_type": task.kind.word(), "description": purpose(task) }),
    )
}

fn started(task: &Task) -> Value {
    json!({
        "task_id": task.id,
        "tool_use_id": task.call,
        "description": purpose(task),
        "task_type": task.kind.word(),
        "is_backgrounded": true,
    })
}

fn ended(task: &Task) -> Value {
    let (status, how) = match (task.state.status, task.state.code) {
        (TaskStatus::Completed | TaskStatus::Running, _) => ("completed", "completed".to_owned()),
        (TaskStatus::Failed, Some(code)) => ("failed", format!("failed with exit code {code}")),
        (TaskStatus::Failed, None) => ("failed", "failed".to_owned()),
        (TaskStatus::Killed, _) => ("stopped", "was stopped".to_owned()),
    };
    json!({
        "task_id": task.id,
        "tool_use_id": task.call,
        "status": status,
        "output_file": task.output,
        "summary": format!("Background command \"{}\" {how}", purpose(task)),
    })
}

fn purpose(task: &Task) -> &str {
    task.description.as_deref().unwrap_or(&task.command)
}
