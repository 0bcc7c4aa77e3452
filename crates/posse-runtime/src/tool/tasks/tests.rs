use super::*;

fn begin<F: Future<Output = ()> + Send + 'static>(tasks: &Tasks, work: impl FnOnce(Work) -> F) -> Box<str> {
    let task = tasks.prepare(TaskKind::Shell, "true", &Ids::default(), Path::new("/spool"));
    let id = task.id.clone();
    assert_eq!(task.output, Path::new("/spool/tasks").join(format!("{id}.output")));
    assert!(id.len() == 9 && id.starts_with('b'), "{id}");
    assert!(tasks.start(task, work));
    id
}

async fn until_stopped(work: Work) {
    work.stop.cancelled().await;
    work.end(TaskStatus::Killed, None);
}

fn status(tasks: &Tasks, id: &str) -> TaskStatus {
    tasks.get(id).unwrap().state.status
}

#[tokio::test]
async fn an_end_is_told_once() {
    let tasks = Tasks::default();
    let never = CancellationToken::new();
    let good = begin(&tasks, async |work| work.end(TaskStatus::Completed, Some(0)));
    let bad = begin(&tasks, async |work| {
        work.end(TaskStatus::Failed, Some(3));
        work.end(TaskStatus::Completed, Some(0));
    });
    let long = begin(&tasks, until_stopped);
    assert_eq!(status(&tasks, &long), TaskStatus::Running);
    let done = tasks.wait(&bad, PATIENCE, &never).await.unwrap();
    assert_eq!(done.state, TaskState { status: TaskStatus::Failed, code: Some(3) });
    tasks.wait(&good, PATIENCE, &never).await.unwrap();
    tasks.saw_end(&good);
    tasks.changed().await;
    let told: Vec<_> = tasks.drain().into_iter().map(|done| (done.task.id, done.seen)).collect();
    assert_eq!(told, [(good, true), (bad, false)]);
    assert_eq!(tasks.drain(), []);

    let (stopped, ()) = tokio::join!(tasks.stop(&long), tasks.changed());
    assert_eq!(stopped.unwrap().state.status, TaskStatus::Killed);
    assert_eq!(tasks.drain().len(), 1);
    assert_eq!(tasks.drain(), []);
    assert_eq!(tasks.list().len(), 3);
    assert_eq!(tasks.stop("b00000000").await, None);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_time_or_the_stop() {
    let tasks = Tasks::default();
    let id = begin(&tasks, until_stopped);
    let stop = CancellationToken::new();
    let task = tasks.wait(&id, Duration::from_secs(5), &stop).await.unwrap();
    assert_eq!(task.state.status, TaskStatus::Running);
    stop.cancel();
    let task = tasks.wait(&id, Duration::from_secs(1_000_000), &stop).await.unwrap();
    assert_eq!(task.state.status, TaskStatus::Running);
}

#[tokio::test(start_paused = true)]
async fn nothing_outlives_a_shutdown() {
    let tasks = Tasks::default();
    let polite = begin(&tasks, until_stopped);
    // It does not listen; it is dropped when patience is at its end.
    let deaf = begin(&tasks, async |work: Work| {
        std::future::pending::<()>().await;
        drop(work);
    });
    let (left, gone) = tokio::sync::oneshot::channel::<()>();
    tasks.keep(async move |stop| {
        stop.cancelled().await;
        drop(left);
    });
    tasks.shutdown().await;
    assert_eq!(status(&tasks, &polite), TaskStatus::Killed);
    assert_eq!(status(&tasks, &deaf), TaskStatus::Killed);
    assert!(gone.await.is_err());
    let late = tasks.prepare(TaskKind::Shell, "true", &Ids::default(), Path::new("/spool"));
    assert!(!tasks.start(late, until_stopped));
    assert_eq!(tasks.list().len(), 2);
}

#[tokio::test]
async fn dropping_the_registry_drops_the_work() {
    let tasks = Tasks::default();
    let (left, gone) = tokio::sync::oneshot::channel::<()>();
    begin(&tasks, async |work: Work| {
        std::future::pending::<()>().await;
        drop((work, left));
    });
    drop(tasks);
    assert!(gone.await.is_err());
}
