use std::sync::Arc;

use serde_json::{Value, json};

use super::super::trial::{Answer, Trial};
use super::store::{Place, Task, Tasks};
use super::tools;
use crate::tool::AnyTool;

/// A list and the tools for it.
struct Desk {
    trial: Trial,
    tools: [Arc<dyn AnyTool>; 4],
}

impl Desk {
    fn new() -> Self {
        Self { trial: Trial::new(), tools: tools("session-1") }
    }

    async fn call(&self, name: &str, input: Value) -> Answer {
        let tool = self.tools.iter().find(|tool| tool.name() == name).unwrap();
        self.trial.ask(&**tool, input).await
    }

    async fn create(&self, subjects: &[&str]) {
        for subject in subjects {
            let answer = self.call("TaskCreate", json!({ "subject": subject, "description": "" })).await;
            assert!(!answer.is_error, "{}", answer.text);
        }
    }

    async fn update(&self, input: Value) -> Answer {
        self.call("TaskUpdate", input).await
    }

    async fn list(&self) -> String {
        self.call("TaskList", json!({})).await.text
    }

    fn file(&self, name: &str) -> String {
        self.trial.env.read(&format!("home/.claude/tasks/session-1/{name}"))
    }
}

#[tokio::test]
async fn a_task_from_beginning_to_end() {
    let desk = Desk::new();
    assert_eq!(desk.list().await, "No tasks.");
    assert!(!desk.trial.env.path("home/.claude").exists(), "looking leaves nothing behind");

    let answer = desk
        .call(
            "TaskCreate",
            json!({ "subject": "Fix it", "description": "All of it", "activeForm": "Fixing it", "metadata": { "k": 1 } }),
        )
        .await;
    assert_eq!(answer.text, "Task #1 created: Fix it");
    assert_eq!(answer.structured, Some(json!({ "task": { "id": "1", "subject": "Fix it" } })));
    let want = json!({
        "id": "1", "subject": "Fix it", "description": "All of it", "activeForm": "Fixing it",
        "status": "pending", "blocks": [], "blockedBy": [], "metadata": { "k": 1 },
    });
    assert_eq!(serde_json::from_str::<Value>(&desk.file("1.json")).unwrap(), want);

    let input = json!({
        "taskId": 1, "status": "in_progress", "owner": "me", "subject": "Fix all", "metadata": { "k": null, "l": 2 },
    });
    let answer = desk.update(input.clone()).await;
    assert_eq!(answer.text, "Task #1 updated: subject, status, owner, metadata");
    assert_eq!(answer.field("statusChange"), &json!({ "from": "pending", "to": "in_progress" }));
    assert_eq!(desk.list().await, "#1 [in_progress] Fix all (me)");
    assert_eq!(desk.update(input).await.field("updatedFields"), &json!([]), "nothing new the second time");

    let answer = desk.call("TaskGet", json!({ "taskId": "#1" })).await;
    assert_eq!(answer.text, "Task #1: Fix all\nStatus: in_progress\nOwner: me\n\nAll of it");
    assert_eq!(answer.field("task")["metadata"], json!({ "l": 2 }));

    let answer = desk.update(json!({ "taskId": "1", "status": "completed", "owner": "" })).await;
    assert_eq!(answer.field("updatedFields"), &json!(["status", "owner"]));
    assert_eq!(desk.list().await, "#1 [completed] Fix all");
    let answer = desk.update(json!({ "taskId": "1", "status": "deleted" })).await;
    assert_eq!(answer.text, "Task #1 is deleted.");
    assert_eq!(answer.field("statusChange"), &json!({ "from": "completed", "to": "deleted" }));
    assert_eq!(desk.list().await, "No tasks.");
}

#[tokio::test]
async fn dependencies_have_two_ends() {
    let desk = Desk::new();
    desk.create(&["one", "two", "three"]).await;
    let answer = desk.update(json!({ "taskId": "2", "addBlockedBy": [1], "addBlocks": ["3"] })).await;
    assert_eq!(answer.field("updatedFields"), &json!(["blocks", "blockedBy"]));
    assert_eq!(
        desk.list().await,
        "#1 [pending] one\n#2 [pending] two [blocked by #1]\n#3 [pending] three [blocked by #2]"
    );
    let answer = desk.call("TaskGet", json!({ "taskId": "2" })).await;
    assert_eq!(answer.text, "Task #2: two\nStatus: pending\nBlocked by: #1\nBlocks: #3");
    let again = desk.update(json!({ "taskId": "2", "addBlockedBy": ["1"] })).await;
    assert_eq!(again.field("updatedFields"), &json!([]));

    // A blocker that is done blocks nothing, and one that is gone is not mentioned.
    desk.update(json!({ "taskId": "1", "status": "completed" })).await;
    assert!(desk.list().await.contains("#2 [pending] two\n"));
    desk.update(json!({ "taskId": "2", "status": "deleted" })).await;
    assert_eq!(desk.list().await, "#1 [completed] one\n#3 [pending] three");
    for file in ["1.json", "3.json"] {
        let task: Value = serde_json::from_str(&desk.file(file)).unwrap();
        assert_eq!((&task["blocks"], &task["blockedBy"]), (&json!([]), &json!([])), "{file}");
    }
}

#[tokio::test]
async fn tasks_cannot_wait_for_each_other() {
    let desk = Desk::new();
    desk.create(&["one", "two", "three"]).await;
    desk.update(json!({ "taskId": "1", "addBlocks": ["2"] })).await;
    desk.update(json!({ "taskId": "2", "addBlocks": ["3"] })).await;
    let before = desk.list().await;
    for (input, want) in [
        (json!({ "taskId": "3", "addBlocks": ["1"], "subject": "x" }), "#1 cannot wait for #3"),
        (json!({ "taskId": "1", "addBlockedBy": ["1"] }), "cannot wait for itself"),
        (json!({ "taskId": "1", "addBlockedBy": ["9"] }), "There is no task #9"),
        (json!({ "taskId": "9", "status": "completed" }), "There is no task #9"),
        (json!({ "taskId": "x", "status": "deleted" }), "There is no task #x"),
        (json!({ "taskId": "../1", "status": "deleted" }), "There is no task #../1"),
    ] {
        let answer = desk.update(input.clone()).await;
        assert!(answer.is_error && answer.text.contains(want), "{input}: {}", answer.text);
        assert_eq!(answer.field("success"), &json!(false));
        assert_eq!(desk.list().await, before, "{input} changes nothing");
    }
    // Both in one call, which is a circle as well.
    desk.create(&["four", "five"]).await;
    let answer = desk.update(json!({ "taskId": "4", "addBlocks": ["5"], "addBlockedBy": ["5"] })).await;
    assert!(answer.is_error, "{}", answer.text);
    assert!(desk.call("TaskGet", json!({ "taskId": "77" })).await.is_error);
}

#[tokio::test]
async fn ids_do_not_come_back() {
    let desk = Desk::new();
    desk.create(&["one", "two"]).await;
    for id in ["1", "2"] {
        desk.update(json!({ "taskId": id, "status": "deleted" })).await;
    }
    desk.create(&["three"]).await;
    assert_eq!(desk.list().await, "#3 [pending] three");
    // Another program's tasks count, too, whether or not they can be read.
    desk.trial.env.write("home/.claude/tasks/session-1/7.json", "{ half a ta");
    desk.create(&["eight"]).await;
    assert!(desk.list().await.starts_with("#3 [pending] three\n#8 [pending] eight\n#7 cannot be read: "));
}

#[tokio::test]
async fn what_another_program_wrote_survives() {
    let desk = Desk::new();
    desk.create(&["one"]).await;
    let theirs = json!({ "id": "4", "subject": "theirs", "color": "red", "blocks": [], "blockedBy": [] });
    desk.trial.env.write("home/.claude/tasks/session-1/4.json", theirs.to_string());
    desk.trial.env.write("home/.claude/tasks/session-1/notes.txt", "not ours");
    desk.update(json!({ "taskId": "4", "owner": "me" })).await;
    let file: Value = serde_json::from_str(&desk.file("4.json")).unwrap();
    assert_eq!((&file["color"], &file["owner"]), (&json!("red"), &json!("me")));
    assert_eq!(desk.list().await, "#1 [pending] one\n#4 [pending] theirs (me)");
}

#[tokio::test]
async fn the_environment_names_the_list() {
    let trial = Trial::with(|env| {
        let config = env.path("config").display().to_string();
        env.set("CLAUDE_CODE_TASK_LIST_ID", "../team a").set("CLAUDE_CONFIG_DIR", &config);
    });
    let [create, ..] = tools("session-1");
    trial.ask(&*create, json!({ "subject": "x", "description": "" })).await;
    assert!(trial.env.path("config/tasks/---team-a/1.json").exists());

    // Sessions without a name do not see each other's tasks.
    let trial = Trial::new();
    for _ in 0..2 {
        let [create, _, list, _] = super::unnamed();
        trial.ask(&*create, json!({ "subject": "x", "description": "" })).await;
        assert_eq!(trial.ask(&*list, json!({})).await.text, "#1 [pending] x");
    }
}

#[tokio::test]
async fn without_a_place_there_are_no_tasks() {
    let trial = Trial::with(|env| {
        env.set("HOME", "");
    });
    let [create, _, list, _] = tools("s");
    for (tool, input) in [(create, json!({ "subject": "x", "description": "" })), (list, json!({}))] {
        let answer = trial.ask(&*tool, input).await;
        assert!(answer.is_error && answer.text.contains("HOME is not set"), "{}", answer.text);
    }
}

/// Several at once, each with a file handle of its own, as several processes would.
#[test]
fn writers_take_turns() {
    let env = posse_testkit::TestEnv::new();
    let place = Place::new(&env.path("config"), "shared");
    let add = |tasks: &mut Tasks| Ok(tasks.add(Task { subject: "x".into(), ..Task::default() }));
    let mut ids: Vec<u64> = std::thread::scope(|scope| {
        let writer = || (0..20).map(|_| place.change(&false.into(), add).unwrap()).collect::<Vec<_>>();
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(writer)).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).map(|id| id.parse().unwrap()).collect()
    });
    ids.sort_unstable();
    assert_eq!(ids, (1..=80).collect::<Vec<u64>>());
    assert_eq!(place.read(&false.into(), |tasks| tasks.iter().count()), Ok(80));
    // Nothing but tasks, the lock and the highest number is left.
    assert_eq!(std::fs::read_dir(env.path("config/tasks/shared")).unwrap().count(), 82);
}

#[test]
fn who_gave_up_waiting_changes_nothing() {
    let env = posse_testkit::TestEnv::new();
    let place = Place::new(&env.path("config"), "shared");
    let add = |tasks: &mut Tasks| Ok(tasks.add(Task { subject: "x".into(), ..Task::default() }));
    assert!(place.change(&true.into(), add).is_err());
    assert_eq!(place.read(&false.into(), |tasks| tasks.iter().count()), Ok(0));
}
