//! A task list as files: `<config>/tasks/<list>/<n>.json`, one per task, and `.lock` so that processes take turns.
//!
//! Every file is replaced as a whole, so that a reader who does not lock sees an old or a new task, never half of one.
//! A file that is no task costs its own task, not the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tool::builtin::blocking::INTERRUPTED;

/// Holds the highest id ever given, so that no id comes back after its task was deleted.
const HIGHEST: &str = ".highwatermark";
const LOCK: &str = ".lock";

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody has begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

impl TaskStatus {
    /// The word in files and answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// A task, as its file has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its number, as text.
    #[serde(default)]
    pub id: String,
    /// In a few words.
    pub subject: String,
    /// In full.
    #[serde(default)]
    pub description: String,
    /// The subject while it happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// How far it is.
    #[serde(default)]
    pub status: TaskStatus,
    /// Tasks that wait for this one.
    #[serde(default)]
    pub blocks: Vec<String>,
    /// Tasks this one waits for.
    #[serde(default)]
    pub blocked_by: Vec<String>,
    /// Who does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What else was to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Fields of other programs, which survive a change by this one.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// New values for a task; what is `None` stays.
#[derive(Default)]
pub(super) struct Change {
    pub(super) subject: Option<String>,
    pub(super) description: Option<String>,
    pub(super) active_form: Option<String>,
    pub(super) status: Option<TaskStatus>,
    pub(super) owner: Option<String>,
    pub(super) metadata: Option<Map<String, Value>>,
}

pub(super) fn no_such(id: &str) -> String {
    format!("There is no task #{id}. TaskList shows those there are.")
}

/// A list in memory.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    tasks: BTreeMap<u64, Task>,
    broken: Vec<String>,
    highest: u64,
    changed: BTreeSet<u64>,
    removed: BTreeSet<u64>,
}

impl Tasks {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// Files that are not what they should be, a sentence each.
    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }

    pub(super) fn get(&self, id: &str) -> Option<&Task> {
        self.tasks.get(&id.parse().ok()?)
    }

    /// What a task still waits for: blockers that are not completed.
    pub(super) fn waits_for(&self, task: &Task) -> Vec<String> {
        let open = |id: &&String| self.get(id).is_some_and(|task| task.status != TaskStatus::Completed);
        task.blocked_by.iter().filter(open).cloned().collect()
    }

    /// Adds a task under a new id, which is returned.
    pub(super) fn add(&mut self, task: Task) -> String {
        self.highest += 1;
        let id = self.highest.to_string();
        self.tasks.insert(self.highest, Task { id: id.clone(), ..task });
        self.changed.insert(self.highest);
        id
    }

    /// Removes a task and every mention of it.
    pub(super) fn remove(&mut self, id: &str) {
        let Ok(number) = id.parse() else { return };
        self.tasks.remove(&number);
        self.removed.insert(number);
        for (number, task) in &mut self.tasks {
            let before = task.blocks.len() + task.blocked_by.len();
            task.blocks.retain(|other| other != id);
            task.blocked_by.retain(|other| other != id);
            if task.blocks.len() + task.blocked_by.len() < before {
                self.changed.insert(*number);
            }
        }
    }

    /// Makes tasks wait for each other, and says which fields of the task changed. Nothing is changed if a task is
    /// missing, or if some would wait for each other for ever.
    pub(super) fn link(
        &mut self,
        id: &str,
        blocks: &[String],
        blocked_by: &[String],
    ) -> Result<Vec<&'static str>, String> {
        let after = blocks.iter().map(|other| (id, other.as_str()));
        let before = blocked_by.iter().map(|other| (other.as_str(), id));
        let edges: Vec<(&str, &str)> = after.chain(before).collect();
        let mut new: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (first, second) in edges {
            for end in [first, second] {
                self.get(end).ok_or_else(|| no_such(end))?;
            }
            if first == second {
                return Err(format!("Task #{first} cannot wait for itself. Nothing was changed."));
            }
            if self.reaches(second, first, &new) {
                return Err(format!(
                    "Task #{second} cannot wait for #{first}: #{first} waits for #{second}. Nothing was changed."
                ));
            }
            if !self.get(first).is_some_and(|task| task.blocks.iter().any(|known| known == second)) {
                new.insert((first, second));
            }
        }
        for (first, second) in &new {
            self.edit(first, |task| task.blocks.push((*second).to_owned()));
            self.edit(second, |task| task.blocked_by.push((*first).to_owned()));
        }
        let fields = [
            ("blocks", new.iter().any(|(first, _)| *first == id)),
            ("blockedBy", new.iter().any(|(_, second)| *second == id)),
        ];
        Ok(fields.into_iter().filter(|(_, changed)| *changed).map(|(field, _)| field).collect())
    }

    /// Whether a task holds up another, directly or through others. A task reaches itself.
    fn reaches(&self, from: &str, to: &str, new: &BTreeSet<(&str, &str)>) -> bool {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![from];
        while let Some(id) = open.pop() {
            if id == to {
                return true;
            }
            if seen.insert(id) {
                let known = self.get(id).into_iter().flat_map(|task| task.blocks.iter().map(String::as_str));
                let added = new.iter().filter(|(first, _)| *first == id).map(|(_, second)| *second);
                open.extend(known.chain(added));
            }
        }
        false
    }

    /// Gives a task new values, and says which fields changed.
    pub(super) fn update(&mut self, id: &str, change: Change) -> Vec<&'static str> {
        let Change { subject, description, active_form, status, owner, metadata } = change;
        let mut fields = Vec::new();
        self.edit(id, |task| {
            let mut set = |field: &'static str, changed: bool| {
                if changed {
                    fields.push(field);
                }
            };
            if let Some(subject) = subject.filter(|subject| !subject.trim().is_empty()) {
                set("subject", replace(&mut task.subject, subject));
            }
            if let Some(description) = description {
                set("description", replace(&mut task.description, description));
            }
            if let Some(active_form) = active_form {
                set("activeForm", replace(&mut task.active_form, Some(active_form)));
            }
            if let Some(status) = status {
                set("status", replace(&mut task.status, status));
            }
            if let Some(owner) = owner {
                let owner = Some(owner.trim().to_owned()).filter(|owner| !owner.is_empty());
                set("owner", replace(&mut task.owner, owner));
            }
            if let Some(new) = metadata {
                let mut all = task.metadata.clone().unwrap_or_default();
                for (key, value) in new {
                    match value {
                        Value::Null => drop(all.shift_remove(&key)),
                        value => drop(all.insert(key, value)),
                    }
                }
                let all = Some(all).filter(|all| !all.is_empty());
                set("metadata", replace(&mut task.metadata, all));
            }
        });
        fields
    }

    fn edit(&mut self, id: &str, edit: impl FnOnce(&mut Task)) {
        if let Ok(number) = id.parse()
            && let Some(task) = self.tasks.get_mut(&number)
        {
            let before = task.clone();
            edit(task);
            if *task != before {
                self.changed.insert(number);
            }
        }
    }
}

/// Puts a value in place, and says whether it is another.
fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    std::mem::replace(place, value) != *place
}

/// Where a list is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    folder: PathBuf,
}

impl Place {
    /// The list of this name. What cannot be part of a file name is written as `-`.
    pub(super) fn new(config: &Path, list: &str) -> Self {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        Self { folder: config.join("tasks").join(list.chars().map(safe).collect::<String>()) }
    }

    /// Looks at the list while nobody changes it.
    pub(super) fn read<T>(&self, halt: &AtomicBool, look: impl FnOnce(&Tasks) -> T) -> Result<T, String> {
        // Looking must not leave anything behind.
        if !self.folder.is_dir() {
            return Ok(look(&Tasks::default()));
        }
        self.locked(halt, File::lock_shared, || Ok(look(&self.load()?)))
    }

    /// Changes the list while nobody else sees it. An error of `change` changes nothing.
    pub(super) fn change<T>(
        &self,
        halt: &AtomicBool,
        change: impl FnOnce(&mut Tasks) -> Result<T, String>,
    ) -> Result<T, String> {
        std::fs::create_dir_all(&self.folder).map_err(|error| self.problem(&error))?;
        self.locked(halt, File::lock, || {
            let mut tasks = self.load()?;
            let done = change(&mut tasks)?;
            self.save(&tasks).map_err(|error| self.problem(&error))?;
            Ok(done)
        })
    }

    fn locked<T>(
        &self,
        halt: &AtomicBool,
        lock: impl FnOnce(&File) -> io::Result<()>,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let path = self.folder.join(LOCK);
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.and_then(|file| lock(&file).map(|()| file)).map_err(|error| self.problem(&error))?;
        // The wait may have been long, and nobody may wait for the answer any more.
        let done = if halt.load(Ordering::Relaxed) { Err(INTERRUPTED.into()) } else { work() };
        drop(file);
        done
    }

    fn load(&self) -> Result<Tasks, String> {
        let mut tasks = Tasks::default();
        let highest = std::fs::read_to_string(self.folder.join(HIGHEST));
        tasks.highest = highest.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        for entry in std::fs::read_dir(&self.folder).map_err(|error| self.problem(&error))?.flatten() {
            let path = entry.path();
            let Some(id) = number_of(&path) else { continue };
            tasks.highest = tasks.highest.max(id);
            let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
            let task =
                text.and_then(|text| serde_json::from_str::<Task>(&text).map_err(|error| error.to_string()));
            match task {
                Ok(task) => drop(tasks.tasks.insert(id, Task { id: id.to_string(), ..task })),
                Err(problem) => tasks.broken.push(format!("#{id} cannot be read: {problem}")),
            }
        }
        tasks.broken.sort();
        Ok(tasks)
    }

    fn save(&self, tasks: &Tasks) -> io::Result<()> {
        // First, so that a crash afterwards loses a number and not a task.
        self.write(HIGHEST, tasks.highest.to_string().as_bytes())?;
        for id in &tasks.changed {
            if let Some(task) = tasks.tasks.get(id) {
                self.write(&format!("{id}.json"), &serde_json::to_vec_pretty(task)?)?;
            }
        }
        for id in &tasks.removed {
            std::fs::remove_file(self.folder.join(format!("{id}.json")))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(content)?;
        file.persist(self.folder.join(name)).map(drop).map_err(|error| error.error)
    }

    fn problem(&self, error: &io::Error) -> String {
        format!("The task list in {} cannot be used: {error}", self.folder.display())
    }
}

/// The id of a task's file: `12.json`, and neither `012.json` nor `x.json`.
fn number_of(path: &Path) -> Option<u64> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
    let number: u64 = stem.parse().ok()?;
    (number.to_string() == stem).then_some(number)
}
