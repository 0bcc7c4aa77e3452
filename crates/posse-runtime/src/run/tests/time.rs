//! Time that runs out, on a clock that stands still until somebody waits: soft line, hard line, silence.

use posse_core::budget::{Limits as Budget, Which};

use super::*;

/// Says what it is told to, each after so many seconds; when the list is over it never answers.
struct Slowly(Mutex<Vec<(u64, Vec<Block>)>>);

impl Model for Slowly {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let next = {
                let mut script = self.0.lock().unwrap();
                if script.is_empty() { None } else { Some(script.remove(0)) }
            };
            let Some((seconds, blocks)) = next else { return std::future::pending().await };
            on(Delta::Text("hm".into()));
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let usage = Usage { input: 10, output: 5, ..Usage::default() };
            let text = if request.tools_off { "off" } else { "on" };
            let stop = StopReason::Other(text.into());
            Ok(Reply { id: "m".into(), model: request.model.clone(), blocks, stop, usage })
        })
    }
}

fn says(text: &str) -> Vec<Block> {
    vec![Block::Text(text.into())]
}

fn calls(input: Value) -> Vec<Block> {
    let call = ToolCall { id: "c_01".into(), name: "Read".into(), input };
    vec![Block::Text("Looking.".into()), Block::ToolUse(call)]
}

fn timed(seconds: Option<u64>, script: Vec<(u64, Vec<Block>)>) -> RunSetup {
    let mut setup = setup("- say: unused");
    let world = World { clock: Clock::default(), ..(*setup.world).clone() };
    setup.purse = Purse::new("test", Budget { seconds, ..Budget::default() }, &world.clock);
    setup.world = Arc::new(world);
    setup.model = Arc::new(Slowly(Mutex::new(script)));
    setup
}

/// The last lines of a run, the ending, and the seconds it took.
async fn played(setup: RunSetup, patience: Option<u64>) -> (String, Outcome, u64) {
    let (mut run, mut events) = start(setup);
    if let Some(seconds) = patience {
        run.fail_when_silent(Duration::from_secs(seconds));
    }
    let watch = Clock::default().start();
    let ended = run.prompt(Message::user("go"), CancellationToken::new()).await.unwrap();
    let took = watch.elapsed_ms() / 1_000;
    drop(run);
    let mut lines = Vec::new();
    while let Some(event) = events.recv().await {
        lines.extend(line(event).filter(|line| !line.starts_with("finished")));
    }
    (lines.join("\n"), ended.outcome, took)
}

const OVER: Outcome = Outcome::Exhausted { which: Which::Seconds, limit: 100 };

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_ended_and_the_work_handed_back() {
    let setup = timed(Some(100), vec![(1, calls(Value::Null)), (500, says("never")), (3, says("So far."))]);
    let (trace, outcome, took) = played(setup, None).await;
    assert_eq!((outcome, took), (OVER, 93), "{trace}");
    let end = "request\n~ hm\ndiscarded\nuser: ";
    assert!(trace.contains(end), "{trace}");
    assert!(trace.ends_with("request\n~ hm\nmodel: 1 blocks"), "{trace}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_stopped_with_a_clear_answer() {
    // One that hears that it is stopped, and one that does not.
    let deaf = serde_json::json!({ "ms": 500_000 });
    for (input, took, answer) in [
        (serde_json::json!({ "does": "wait" }), 93, "Read answered: 01 done"),
        (deaf, 95, "Read answered error: [posse: stopped, because the time for this work is used up."),
    ] {
        let setup = timed(Some(100), vec![(1, calls(input)), (3, says("So far."))]);
        let (trace, outcome, seconds) = played(setup, None).await;
        assert_eq!((outcome, seconds), (OVER, took), "{trace}");
        assert!(trace.contains(answer) && trace.contains("[posse: stopped, because the time"), "{trace}");
        assert!(trace.ends_with("model: 1 blocks"), "{trace}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hand_back_that_takes_too_long_is_ended_at_the_hard_line() {
    let setup = timed(Some(100), vec![(1, calls(Value::Null))]);
    let (trace, outcome, took) = played(setup, None).await;
    assert_eq!((outcome, took), (OVER, 100), "{trace}");
    assert!(trace.contains("model: 2 blocks") && trace.matches("request").count() == 3, "{trace}");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_whoever_stands_above_counts_too() {
    let mut setup = timed(Some(100), vec![(500, says("never")), (3, says("So far."))]);
    setup.purse = setup.purse.child("child", Budget::default()).unwrap();
    let (trace, outcome, took) = played(setup, None).await;
    // Done before the one above has to hand over.
    assert_eq!((outcome, took), (OVER, 83), "{trace}");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_falls_silent_ends_the_turn_and_a_tool_that_takes_long_does_not() {
    let long = serde_json::json!({ "ms": 50_000 });
    let setup = timed(None, vec![(9, calls(long)), (9, says("Done."))]);
    let (trace, outcome, _) = played(setup, Some(10)).await;
    assert_eq!(outcome, Outcome::Answer { text: "Done.".into(), structured: None }, "{trace}");
    let (trace, outcome, took) = played(timed(None, vec![(11, says("Late."))]), Some(10)).await;
    assert_eq!((outcome, took), (Outcome::Stalled(Duration::from_secs(10)), 10), "{trace}");
}
