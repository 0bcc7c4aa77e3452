//! Whole turns with a scripted model, on a clock that stands still: what observers see, line by line.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::BoxFuture;
use posse_core::event::Delta;
use posse_core::failure::{Failure, FailureKind};
use posse_core::message::{Block, Reply, Role, ToolAnswer};
use posse_core::permission::{Behavior, Mode, Rule, RuleSource};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::ask::SharedMode;
use crate::authority::{Authority, Beginning, RunHooks};
use crate::model::Request;
use crate::model::rehearsal::{Rehearsal, Script};
use crate::session::EntryWriter;
use crate::tool::{AnyTool, ToolOutput, ToolSpec};
use crate::world::{Clock, Ids};

mod offered;
mod time;

fn world() -> Arc<World> {
    Arc::new(World {
        clock: Clock::fixed("2026-01-02T03:04:05Z".parse().unwrap()),
        ids: Arc::new(Ids::seeded(1)),
        cwd: "/work".into(),
        ..World::default()
    })
}

/// A tool that answers after a while, or never, or dies.
struct Slow {
    name: &'static str,
    alone: bool,
}

impl AnyTool for Slow {
    fn name(&self) -> &str {
        self.name
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name.into(), description: String::new(), input_schema: Value::Null }
    }

    fn runs_alone(&self, _: &Value) -> bool {
        self.alone
    }

    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match input["does"].as_str() {
                Some("die") => panic!("on purpose"),
                Some("wait") => cx.stop.cancelled().await,
                _ => tokio::time::sleep(Duration::from_millis(input["ms"].as_u64().unwrap_or(0))).await,
            }
            ToolOutput::text(format!("{} done", cx.call.rsplit('_').next().unwrap_or_default()))
        })
    }
}

/// A guard that allows what `rules` name, in the folder `/work`.
fn guard(world: &Arc<World>, rules: &[&str], mode: SharedMode) -> Guard {
    let source = Arc::new(RuleSource::new("test", "/work", "/work", None));
    let authority = Authority::new(Beginning {
        rules: rules.iter().map(|text| Rule::parse(Behavior::Allow, text, &source)).collect(),
        roots: vec!["/work".into()],
        ..Beginning::default()
    });
    Guard::new(authority, mode, RunHooks::none(Arc::clone(world)))
}

fn setup(script: &str) -> RunSetup {
    let script = Script::parse(script, std::path::Path::new("script.yaml")).unwrap();
    let world = world();
    RunSetup {
        model: Arc::new(Rehearsal::of_script(script, Arc::clone(&world))),
        world: Arc::clone(&world),
        model_id: "rehearsal".into(),
        fallback: None,
        system: Arc::from([]),
        opening: None,
        greeting: Vec::new(),
        tools: ToolPool::new(vec![
            Arc::new(Slow { name: "Read", alone: false }),
            Arc::new(Slow { name: "Bash", alone: true }),
        ]),
        guard: guard(&world, &["Bash"], Mode::Default.into()),
        limits: Limits::default(),
        purse: Purse::new("test", Default::default(), &world.clock),
        thinking: Thinking::Default,
        effort: None,
        max_tokens: 1000,
        retry: RetryPolicy::default(),
        window: 200_000,
        final_tool: None,
        raw_events: false,
        session: "s".into(),
        bill: Bill::default(),
        agent: None,
    }
}

fn start(setup: RunSetup) -> (Run, mpsc::UnboundedReceiver<Event>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let cx = ToolCx::new(Arc::clone(&setup.world), std::path::Path::new("/nowhere"));
    let transcript = Transcript::open(None, EntryWriter::new("s", "/work", "", "cli", None)).unwrap();
    (Run::new(setup, Vec::new(), cx, transcript, sender), receiver)
}

fn line(event: Event) -> Option<String> {
    Some(match event.what {
        What::Delta(Delta::Requesting) => "request".into(),
        What::Delta(Delta::Text(text)) => format!("~ {text}"),
        What::Delta(Delta::ToolRunning(call)) => format!("running {}", call.name),
        What::Delta(Delta::Retry { attempt, of, delay, failure }) => {
            format!("retry {attempt}/{of} in {}ms: {}", delay.as_millis(), failure.message)
        }
        What::Delta(Delta::Discarded) => "discarded".into(),
        What::Delta(Delta::Compacting) => "compacting".into(),
        What::Delta(_) => return None,
        What::Fact(Fact::Said(message)) => format!("user: {}", message.text()),
        What::Fact(Fact::Replied(reply)) => format!("model: {} blocks", reply.blocks.len()),
        What::Fact(Fact::Answered { call, answer }) => {
            format!(
                "{} answered{}: {}",
                call.name,
                if answer.is_error { " error" } else { "" },
                answer.plain()
            )
        }
        What::Fact(Fact::Denied { call, .. }) => format!("{} denied", call.name),
        What::Fact(Fact::Compacted { summary, .. }) => format!("compacted: {summary}"),
        What::Fact(Fact::Finished(outcome)) => format!("finished: {outcome:?}"),
    })
}

async fn trace(setup: RunSetup) -> (String, Ended) {
    let (mut run, mut events) = start(setup);
    let ended = run.prompt(Message::user("go"), CancellationToken::new()).await.unwrap();
    drop(run);
    let mut lines = Vec::new();
    while let Some(event) = events.recv().await {
        lines.extend(line(event));
    }
    (lines.join("\n"), ended)
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_parallel_tools_answers_in_the_order_asked() {
    let script = "
- say: Looking.
  calls: [{Read: {ms: 50}}, {Read: {ms: 10}}, {Bash: {ms: 1}}]
- say: Done.
";
    let (trace, ended) = trace(setup(script)).await;
    assert_eq!(
        trace,
        "\
user: go
request
~ Looking.
model: 4 blocks
running Read
running Read
Read answered: 02 done
Read answered: 01 done
running Bash
Bash answered: 03 done
request
~ Done.
model: 1 blocks
finished: Answer { text: \"Done.\", structured: None }"
    );
    assert_eq!((ended.user_messages, ended.denials.len()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_in_the_pool_or_not_allowed_is_refused_with_a_reason() {
    let mut setup = setup("- calls: [{Write: {}}, {Bash: {}}, {Read: {}}]\n- say: ok\n");
    setup.guard = guard(&setup.world, &[], Mode::Default.into());
    let (trace, ended) = trace(setup).await;
    assert!(trace.contains("Write answered error: Error: No such tool available: Write"), "{trace}");
    assert!(
        trace.contains("Bash denied\nBash answered error: Claude requested permissions to use Bash"),
        "{trace}"
    );
    assert!(trace.contains("Read answered: 03 done"), "{trace}");
    // A tool that does not exist was not denied to anybody.
    assert_eq!(ended.denials.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_dies_still_answers() {
    let (trace, _) = trace(setup("- calls: [{Read: {does: die}}]\n- say: I see.\n")).await;
    assert!(trace.contains("Read answered error: Read crashed; this is a bug in posse."), "{trace}");
    assert!(trace.ends_with("finished: Answer { text: \"I see.\", structured: None }"), "{trace}");
}

#[tokio::test(start_paused = true)]
async fn cancelling_leaves_a_conversation_that_goes_on() {
    let (mut run, mut events) =
        start(setup("- calls: [{Read: {}}, {Read: {does: wait}}, {Bash: {}}]\n- say: Again.\n"));
    let stop = CancellationToken::new();
    let when_waiting = async {
        let mut running = 0;
        while let Some(event) = events.recv().await {
            running += u32::from(matches!(event.what, What::Delta(Delta::ToolRunning(_))));
            if running == 2 {
                stop.cancel();
                break;
            }
        }
    };
    let (ended, ()) = tokio::join!(run.prompt(Message::user("go"), stop.clone()), when_waiting);
    assert_eq!(ended.unwrap().outcome, Outcome::Cancelled { in_tools: true });
    let answers: Vec<bool> = run.history()[2]
        .blocks
        .iter()
        .map(|block| matches!(block, Block::ToolResult(ToolAnswer { is_error: true, .. })))
        .collect();
    assert_eq!(answers.len(), 3);
    assert!(answers[1] && answers[2]);
    let next = run.prompt(Message::user("again"), CancellationToken::new()).await.unwrap();
    assert_eq!(next.outcome, Outcome::Answer { text: "Again.".into(), structured: None });
    assert!(run.history().windows(2).all(|pair| pair[0].role != pair[1].role));
}

/// A model that fails as told, then answers.
struct Failing {
    failures: Mutex<Vec<Failure>>,
    asked: Mutex<Vec<Box<str>>>,
    usage: Usage,
}

impl Failing {
    fn new(failures: Vec<Failure>) -> Arc<Self> {
        Arc::new(Self { failures: Mutex::new(failures), asked: Mutex::default(), usage: Usage::default() })
    }
}

impl Model for Failing {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request.model.clone());
            let mut failures = self.failures.lock().unwrap();
            if !failures.is_empty() {
                on(Delta::Text("half".into()));
                return Err(failures.remove(0));
            }
            on(Delta::Text("whole".into()));
            Ok(Reply {
                id: "m".into(),
                model: request.model.clone(),
                blocks: vec![Block::Text("whole".into())],
                stop: StopReason::EndTurn,
                usage: self.usage,
            })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_tried_again_and_nothing_is_doubled() {
    let busy = || Failure::new(FailureKind::Overloaded, "busy");
    let asked = Failure {
        retry_after: Some(Duration::from_secs(7)),
        ..Failure::new(FailureKind::RateLimit, "slow down")
    };
    let model = Failing::new(vec![busy(), asked]);
    let (trace, _) = trace(RunSetup { model: model.clone(), ..setup("[]") }).await;
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines[..4], ["user: go", "request", "~ half", "discarded"]);
    assert!(lines[4].starts_with("retry 1/10 in ") && lines[4].ends_with("ms: busy"), "{trace}");
    assert_eq!(lines[5..9], ["~ half", "discarded", "retry 2/10 in 7000ms: slow down", "~ whole"]);
    assert_eq!(lines.len(), 11, "one reply, one end: {trace}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_pass_fails_at_once_and_the_fallback_takes_over() {
    let refused = Failing::new(vec![Failure::new(FailureKind::Auth, "no such key")]);
    let (trace_text, ended) = trace(RunSetup { model: refused.clone(), ..setup("[]") }).await;
    assert!(!trace_text.contains("retry 1"), "{trace_text}");
    assert!(matches!(ended.outcome, Outcome::Failed(Failure { kind: FailureKind::Auth, .. })));
    assert_eq!(refused.asked.lock().unwrap().len(), 1);
    let busy = Failing::new((0..3).map(|_| Failure::new(FailureKind::Overloaded, "busy")).collect());
    let (_, ended) =
        trace(RunSetup { model: busy.clone(), fallback: Some("second".into()), ..setup("[]") }).await;
    assert!(matches!(ended.outcome, Outcome::Answer { .. }));
    assert_eq!(*busy.asked.lock().unwrap(), ["rehearsal", "rehearsal", "rehearsal", "second"].map(Box::from));
}

#[tokio::test(start_paused = true)]
async fn limits_on_turns_and_cost_end_the_turn() {
    let endless = "- calls: [{Read: {}}]\n".repeat(5);
    let few = RunSetup { limits: Limits { max_requests: Some(2) }, ..setup(&endless) };
    let (text, ended) = trace(few).await;
    assert_eq!(ended.outcome, Outcome::OutOfTurns(2));
    assert_eq!(text.matches("request").count(), 2);
    // A model with a price: 1,000 tokens of input at 3 dollars a million are 0.003 dollars.
    struct Pricey;
    impl Model for Pricey {
        fn call<'a>(
            &'a self,
            _: &'a Request,
            _: &'a mut (dyn FnMut(Delta) + Send),
        ) -> BoxFuture<'a, Result<Reply, Failure>> {
            let call =
                posse_core::message::ToolCall { id: "t".into(), name: "Read".into(), input: Value::Null };
            let usage = Usage { input: 1_000, ..Usage::default() };
            let reply = Reply {
                id: "m".into(),
                model: "sonnet".into(),
                blocks: vec![Block::ToolUse(call)],
                stop: StopReason::ToolUse,
                usage,
            };
            Box::pin(std::future::ready(Ok(reply)))
        }
    }
    let limits = posse_core::budget::Limits { microdollars: Some(200_000), ..Default::default() };
    let base = setup("[]");
    let purse = Purse::new("test", limits, &base.world.clock);
    let cheap = RunSetup { model: Arc::new(Pricey), model_id: "sonnet".into(), purse: purse.clone(), ..base };
    let (text, ended) = trace(cheap).await;
    assert_eq!(ended.outcome, Outcome::OutOfBudget(0.2));
    assert!(purse.spent().microdollars <= 200_000, "{:?}", purse.spent());
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(|line| *line == "request").unwrap();
    assert!(
        !lines[last..].iter().any(|line| line.starts_with("running")),
        "the last turn is without tools: {text}"
    );
    assert!(text.contains("Your budget is used up"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_full_window_is_summarised_and_the_work_goes_on() {
    let script = "
- calls: [{Read: {}}]
- say: We read a file.
- say: Done.
";
    // One token of window: the second request cannot fit.
    let (text, ended) = trace(RunSetup { window: 1, ..setup(script) }).await;
    assert!(text.contains("compacting\ncompacted: We read a file.\nrequest\n~ Done."), "{text}");
    assert_eq!(ended.outcome, Outcome::Answer { text: "Done.".into(), structured: None });
}

#[tokio::test(start_paused = true)]
async fn the_opening_goes_before_the_first_prompt_only() {
    let (mut run, _events) = start(RunSetup {
        opening: Some("<system-reminder>rules</system-reminder>".into()),
        ..setup("- a\n- b\n")
    });
    for prompt in ["one", "two"] {
        run.prompt(Message::user(prompt), CancellationToken::new()).await.unwrap();
    }
    let users: Vec<String> =
        run.history().iter().filter(|message| message.role == Role::User).map(Message::text).collect();
    assert_eq!(users, ["<system-reminder>rules</system-reminder>\none", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_the_model_refuses_as_too_long_is_summarised_once() {
    let too_long = || Failure::new(FailureKind::TooLong, "prompt is too long");
    let model = Failing::new(vec![]);
    let (mut run, mut events) = start(RunSetup { model: model.clone(), ..setup("[]") });
    run.prompt(Message::user("one"), CancellationToken::new()).await.unwrap();
    *model.failures.lock().unwrap() = vec![too_long()];
    let ended = run.prompt(Message::user("two"), CancellationToken::new()).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Answer { text: "whole".into(), structured: None });
    // Still too long after the summary: then that is the answer.
    *model.failures.lock().unwrap() = vec![too_long(), too_long()];
    let ended = run.prompt(Message::user("three"), CancellationToken::new()).await.unwrap();
    assert!(
        matches!(ended.outcome, Outcome::Failed(Failure { kind: FailureKind::TooLong, .. })),
        "{ended:?}"
    );
    drop(run);
    let mut compactions = 0;
    while let Some(event) = events.recv().await {
        compactions += u32::from(matches!(event.what, What::Fact(Fact::Compacted { .. })));
    }
    assert_eq!(compactions, 1);
}
