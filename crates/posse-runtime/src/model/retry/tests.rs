use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use posse_core::message::{StopReason, Usage};
use tokio::time::Instant;

use super::*;
use crate::model::tests::{request, world};

/// What one try does.
enum Step {
    /// Streams this and fails.
    Fail(&'static str, Failure),
    /// Answers.
    Answer,
    /// Never ends.
    Hang,
}

#[derive(Default)]
struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    asked: Mutex<Vec<Box<str>>>,
}

impl Scripted {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: Mutex::new(steps.into_iter().collect()), asked: Mutex::default() }
    }

    fn asked(&self) -> String {
        self.asked.lock().unwrap().join(" ")
    }
}

impl Model for Scripted {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        self.asked.lock().unwrap().push(request.model.clone());
        let step = self.steps.lock().unwrap().pop_front().expect("a step for every try");
        Box::pin(async move {
            match step {
                Step::Fail(text, failure) => {
                    if !text.is_empty() {
                        on(Delta::Text(text.to_owned()));
                    }
                    Err(failure)
                }
                Step::Answer => {
                    on(Delta::Text("whole".to_owned()));
                    let (id, model) = ("r".into(), request.model.clone());
                    Ok(Reply {
                        id,
                        model,
                        blocks: vec![],
                        stop: StopReason::EndTurn,
                        usage: Usage::default(),
                    })
                }
                Step::Hang => std::future::pending().await,
            }
        })
    }
}

fn fail(kind: FailureKind) -> Step {
    Step::Fail("", Failure::new(kind, "why"))
}

fn wait(kind: FailureKind, seconds: u64) -> Step {
    Step::Fail("", Failure { retry_after: Some(Duration::from_secs(seconds)), ..Failure::new(kind, "why") })
}

struct Run {
    result: Result<Box<str>, NoReply>,
    /// One word per delta.
    told: String,
    took: Duration,
}

async fn run(model: &Scripted, max_retries: u32, fallback: Option<&str>, stop: &CancellationToken) -> Run {
    let policy = RetryPolicy { max_retries, ..RetryPolicy::default() };
    let told = Mutex::new(Vec::new());
    let mut on = |delta: Delta| {
        let word = match delta {
            Delta::Text(text) => text,
            Delta::Discarded => "void".to_owned(),
            Delta::Retry { attempt, of, delay, failure } => {
                format!("{attempt}/{of}:{}:{}", failure.kind.word(), delay.as_secs())
            }
            other => format!("{other:?}"),
        };
        told.lock().unwrap().push(word);
    };
    let begin = Instant::now();
    let (request, world) = (request("main"), world(&[]));
    let result = call_with_retries(model, &request, &policy, fallback, &world, &mut on, stop).await;
    let result = result.map(|reply| reply.model);
    Run { result, told: told.into_inner().unwrap().join(" "), took: begin.elapsed() }
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_and_what_was_streamed_is_void() {
    let broken = Failure::new(FailureKind::Connection, "cut");
    let model = Scripted::new([Step::Fail("half", broken), wait(FailureKind::Server, 7), Step::Answer]);
    let run = run(&model, 10, None, &CancellationToken::new()).await;
    assert_eq!(run.result, Ok("main".into()));
    assert_eq!(run.told, "half void 1/10:unknown:0 2/10:server_error:7 whole");
    let seconds = run.took.as_secs_f64();
    assert!((7.25..=7.5).contains(&seconds), "half a second with jitter, then what was asked: {seconds}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_pass_is_not_tried_again() {
    for kind in [FailureKind::Auth, FailureKind::TooLong, FailureKind::Billing, FailureKind::Invalid] {
        let model = Scripted::new([Step::Fail("half", Failure::new(kind, "why"))]);
        let run = run(&model, 10, Some("other"), &CancellationToken::new()).await;
        assert_eq!(run.result, Err(NoReply::Failed(Failure::new(kind, "why"))));
        assert_eq!((run.told.as_str(), run.took), ("half void", Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn tries_are_bounded() {
    let model = Scripted::new((0..3).map(|_| fail(FailureKind::Malformed)));
    let run = run(&model, 2, None, &CancellationToken::new()).await;
    assert_eq!(run.result, Err(NoReply::Failed(Failure::new(FailureKind::Malformed, "why"))));
    assert_eq!(
        (run.told.as_str(), model.asked().as_str()),
        ("1/2:unknown:0 2/2:unknown:0", "main main main")
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_or_a_request_ends_at_once_when_cancelled() {
    for first in [wait(FailureKind::Server, 200), Step::Hang] {
        let model = Scripted::new([first, Step::Answer]);
        let stop = CancellationToken::new();
        let cancel = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            stop.cancel();
        };
        let (run, ()) = tokio::join!(run(&model, 10, None, &stop), cancel);
        assert_eq!((run.result, run.took.as_secs()), (Err(NoReply::Cancelled), 3));
        assert_eq!(model.asked(), "main");
    }
    let model = Scripted::default();
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(run(&model, 10, None, &stop).await.result, Err(NoReply::Cancelled));
    assert_eq!(model.asked(), "", "cancelled before it began");
}

#[tokio::test(start_paused = true)]
async fn another_model_is_asked_when_the_first_stays_busy() {
    use FailureKind::{Overloaded, RateLimit, Server};
    let token = CancellationToken::new();

    let model = Scripted::new([fail(Overloaded), fail(RateLimit), fail(Overloaded), Step::Answer]);
    let three = run(&model, 10, Some("other"), &token).await;
    assert_eq!((three.result, model.asked().as_str()), (Ok("other".into()), "main main main other"));
    assert!(three.told.ends_with(" 3/10:overloaded:0 whole"), "{}", three.told);

    let steps = [fail(Overloaded), fail(Overloaded), fail(Server), fail(Overloaded), Step::Answer];
    let model = Scripted::new(steps);
    assert_eq!(run(&model, 10, Some("other"), &token).await.result, Ok("main".into()), "not in a row");

    let model = Scripted::new([wait(RateLimit, 3600), Step::Answer]);
    let long = run(&model, 10, Some("other"), &token).await;
    assert_eq!((long.result, long.took), (Ok("other".into()), Duration::ZERO), "too long a wait is none");

    let model = Scripted::new([fail(Overloaded), fail(Overloaded), Step::Answer]);
    assert_eq!(run(&model, 1, Some("other"), &token).await.result, Ok("other".into()), "no tries left");

    let model = Scripted::new((0..7).map(|_| fail(Overloaded)));
    let spent = run(&model, 3, Some("main, second"), &token).await;
    assert_eq!(spent.result, Err(NoReply::Failed(Failure::new(Overloaded, "why"))));
    assert_eq!(model.asked(), "main main main second second second second");
}
