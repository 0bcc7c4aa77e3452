use std::collections::BTreeMap;

use super::*;
use crate::failure::FailureKind;
use crate::message::Usage;
use proptest::prelude::*;
use serde_json::json;

fn reply(words: &str) -> Reply {
    // `text+a,b`: a text and calls; `!x` as a call runs alone.
    let (text, calls) = words.split_once('+').unwrap_or((words, ""));
    let mut blocks: Vec<Block> = Vec::new();
    if !text.is_empty() {
        blocks.push(Block::Text(text.into()));
    }
    for id in calls.split(',').filter(|id| !id.is_empty()) {
        blocks.push(Block::ToolUse(ToolCall {
            id: id.into(),
            name: "Read".into(),
            input: json!({ "of": id }),
        }));
    }
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    Reply { id: "msg".into(), model: "m".into(), blocks, stop, usage: Usage::default() }
}

fn input(step: &str) -> Input {
    let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
    match verb {
        "prompt" => Input::Prompt(Message::user(rest)),
        "reply" => Input::Replied(reply(rest)),
        "fail" => Input::Failed(Failure::new(FailureKind::Server, rest)),
        "allow" => {
            Input::Verdict { call: rest.into(), verdict: Verdict::Allow { alone: false, input: None } }
        }
        "alone" => Input::Verdict { call: rest.into(), verdict: Verdict::Allow { alone: true, input: None } },
        "deny" => Input::Verdict { call: rest.into(), verdict: Verdict::Deny("no".into()) },
        "answer" => Input::Answered(ToolAnswer::text(rest, "ok")),
        "mail" => Input::Mail(rest.into()),
        "cancel" => Input::Cancel,
        "cut" => Input::Cut { heard: reply(rest), end: Box::new(Input::Cancel) },
        "ends" => Input::Ends,
        "goon" => Input::GoesOn(rest.into()),
        "halt" => Input::Stop(Outcome::Stopped(rest.into())),
        "late" => Input::TimeUp { answer: "late".into(), patient: true },
        "over" => Input::TimeUp { answer: "late".into(), patient: false },
        "compact" => Input::Compacted(vec![Message::user("summary")]),
        other => panic!("unknown step {other}"),
    }
}

fn show(effect: &Effect) -> String {
    match effect {
        Effect::CallModel => "model".into(),
        Effect::Authorize(call) => format!("authorize {}", call.id),
        Effect::RunTool(call) => format!("run {}", call.id),
        Effect::StopTool(id) => format!("stop {id}"),
        Effect::MayEnd(text) => format!("may end {text:?}"),
        Effect::EndRequest => "end request".into(),
        Effect::Record(Fact::Said(message)) => format!("said {}", message.text()),
        Effect::Record(Fact::Replied(_)) => "replied".into(),
        Effect::Record(Fact::Answered { call, answer }) => {
            format!("answered {}{}", call.id, if answer.is_error { "!" } else { "" })
        }
        Effect::Record(Fact::Denied { call, .. }) => format!("denied {}", call.id),
        Effect::Record(Fact::Compacted { .. }) => "compacted".into(),
        Effect::Record(Fact::Finished(outcome)) => match outcome {
            Outcome::Answer { text, structured } => format!("finished {text:?} {structured:?}"),
            other => format!("finished {other:?}"),
        },
        Effect::Stop => "stop".into(),
    }
}

/// A script in, a trace out: the only place that touches the machine.
fn trace(turn: &mut Turn, script: &[&str]) -> String {
    let mut lines = Vec::new();
    for step in script {
        let mut out = Vec::new();
        turn.handle(input(step), &mut out);
        lines.push(format!("{step}: {}", out.iter().map(show).collect::<Vec<_>>().join(", ")));
    }
    lines.join("\n")
}

fn fresh() -> Turn {
    Turn::new(Vec::new(), Limits::default())
}

#[test]
fn answers_return_in_the_order_the_model_asked() {
    let mut turn = fresh();
    let script =
        ["prompt hi", "reply on it+a,b", "allow b", "deny a", "mail psst", "answer b", "reply bye", "ends"];
    assert_eq!(
        trace(&mut turn, &script),
        "\
prompt hi: said hi, model
reply on it+a,b: replied, authorize a, authorize b
allow b: 
deny a: denied a, answered a!, run b
mail psst: 
answer b: answered b, said psst, model
reply bye: replied, may end \"bye\"
ends: finished \"bye\" None, stop"
    );
    let ids: Vec<&str> = turn.history()[2]
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolResult(answer) => Some(&*answer.id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["a", "b"]);
    // Mail joins the answers: to the API two user messages in a row are one.
    assert_eq!(turn.history().len(), 4);
}

#[test]
fn when_time_is_up_work_ends_and_the_model_is_asked_once_more() {
    let mut turn = fresh();
    let script =
        ["prompt hi", "late", "reply +a,b,c", "alone a", "alone b", "late", "answer a", "reply bye", "over"];
    assert_eq!(
        trace(&mut turn, &script),
        "\
prompt hi: said hi, model
late: end request, model
reply +a,b,c: replied, authorize a, authorize b, authorize c
alone a: run a
alone b: 
late: stop a, answered b!, answered c!
answer a: answered a, model
reply bye: replied, may end \"bye\"
over: finished \"bye\" None, stop"
    );
    let mut turn = fresh();
    let script = ["prompt hi", "reply +a,b", "allow a", "late", "over", "answer a"];
    assert_eq!(
        trace(&mut turn, &script),
        "\
prompt hi: said hi, model
reply +a,b: replied, authorize a, authorize b
allow a: run a
late: stop a, answered b!
over: stop a, answered a!, model
answer a: "
    );
}

#[test]
fn calls_run_side_by_side_unless_one_must_run_alone() {
    let script = [
        "prompt hi",
        "reply +a,b,c,d",
        "allow a",
        "allow b",
        "alone c",
        "allow d",
        "answer a",
        "answer b",
        "answer c",
    ];
    assert_eq!(
        trace(&mut fresh(), &script),
        "\
prompt hi: said hi, model
reply +a,b,c,d: replied, authorize a, authorize b, authorize c, authorize d
allow a: run a
allow b: run b
alone c: 
allow d: 
answer a: answered a
answer b: answered b, run c
answer c: answered c, run d"
    );
}

#[test]
fn cancelling_half_way_leaves_a_history_that_can_go_on() {
    let mut turn = fresh();
    let script =
        ["prompt hi", "reply +a,b,c", "allow a", "allow b", "answer a", "cancel", "answer b", "prompt again"];
    assert_eq!(
        trace(&mut turn, &script),
        "\
prompt hi: said hi, model
reply +a,b,c: replied, authorize a, authorize b, authorize c
allow a: run a
allow b: run b
answer a: answered a
cancel: stop b, answered b!, answered c!, finished Cancelled { in_tools: true }, stop
answer b: 
prompt again: said again, model"
    );
    well_formed(turn.history());
}

#[test]
fn the_limit_on_requests_ends_the_turn_and_only_this_turn() {
    let mut turn = Turn::new(Vec::new(), Limits { max_requests: Some(1) });
    assert_eq!(
        trace(&mut turn, &["prompt hi", "reply +a", "allow a", "answer a", "prompt again"]),
        "\
prompt hi: said hi, model
reply +a: replied, authorize a
allow a: run a
answer a: answered a, finished OutOfTurns(1), stop
prompt again: said again, model"
    );
}

#[test]
fn the_final_tool_ends_the_turn_with_what_it_was_given() {
    let mut turn = fresh().ending_with(Some("Read"));
    let got =
        trace(&mut turn, &["prompt hi", "reply +a", "deny a", "reply +b", "allow b", "answer b", "ends"]);
    assert!(got.contains("deny a: denied a, answered a!, model"), "{got}");
    assert!(
        got.contains("finished \"{\\\"of\\\":\\\"b\\\"}\" Some(Object {\"of\": String(\"b\")}), stop"),
        "{got}"
    );
}

#[test]
fn the_final_tool_is_reminded_of_once_and_given_up_after_some_tries() {
    let mut turn = fresh().ending_with(Some("Read"));
    let got = trace(&mut turn, &["prompt hi", "reply in words", "reply in words again", "ends"]);
    assert!(got.contains("reply in words: replied, said Hand in your answer by calling Read"), "{got}");
    assert!(got.ends_with("finished \"in words again\" None, stop"), "{got}");
    let mut turn = fresh().ending_with(Some("Read"));
    let mut script = vec!["prompt hi"];
    for _ in 0..5 {
        script.extend(["reply +a", "deny a"]);
    }
    assert!(trace(&mut turn, &script).ends_with("finished OutOfTries(5), stop"));
}

#[test]
fn an_answer_can_be_sent_back_and_a_turn_ended_from_outside() {
    let mut turn = fresh();
    let script = ["prompt hi", "reply one", "goon not yet", "reply two", "ends", "ends", "goon late"];
    assert_eq!(
        trace(&mut turn, &script),
        "\
prompt hi: said hi, model
reply one: replied, may end \"one\"
goon not yet: said not yet, model
reply two: replied, may end \"two\"
ends: finished \"two\" None, stop
ends: 
goon late: "
    );
    let script = ["prompt hi", "reply +a,b", "allow a", "halt enough", "answer a", "prompt again"];
    assert_eq!(
        trace(&mut turn, &script),
        "\
prompt hi: said hi, model
reply +a,b: replied, authorize a, authorize b
allow a: run a
halt enough: stop a, answered a!, answered b!, finished Stopped(\"enough\"), stop
answer a: 
prompt again: said again, model"
    );
    well_formed(turn.history());
}

#[test]
fn what_was_heard_of_a_reply_is_kept_when_the_turn_ends_in_it() {
    let mut turn = fresh();
    let script = ["prompt hi", "cut half", "prompt again", "reply +a", "cut late", "prompt more"];
    assert_eq!(
        trace(&mut turn, &script),
        "\
prompt hi: said hi, model
cut half: replied, finished Cancelled { in_tools: false }, stop
prompt again: said again, model
reply +a: replied, authorize a
cut late: answered a!, finished Cancelled { in_tools: true }, stop
prompt more: said more, model"
    );
    let said: Vec<String> = turn.history().iter().map(Message::text).collect();
    assert_eq!(said[..3], ["hi", "half", "again"]);
    well_formed(turn.history());
}

#[test]
fn an_open_call_is_told_who_ended_it() {
    for (end, word) in [("cancel", INTERRUPTED), ("halt enough", CUT_OFF)] {
        let mut turn = fresh();
        trace(&mut turn, &["prompt hi", "reply +a", "allow a", end]);
        let answer = turn.history().last().and_then(|message| message.blocks.first());
        let expected = Block::ToolResult(ToolAnswer::error("a", word));
        assert_eq!(answer, Some(&expected), "{end}");
    }
}

#[test]
fn what_runs_is_what_was_allowed() {
    let mut turn = fresh();
    let mut out = Vec::new();
    for step in ["prompt hi", "reply +a"] {
        turn.handle(input(step), &mut out);
    }
    out.clear();
    let verdict = Verdict::Allow { alone: false, input: Some(json!({ "of": "other" })) };
    turn.handle(Input::Verdict { call: "a".into(), verdict }, &mut out);
    assert!(matches!(&out[..], [Effect::RunTool(call)] if call.input == json!({ "of": "other" })), "{out:?}");
    assert_eq!(
        turn.history()[1].calls().next().unwrap().input,
        json!({ "of": "a" }),
        "history is what was said"
    );
}

#[test]
fn an_answer_that_was_cut_off_or_refused_is_a_failure() {
    for (stop, kind) in
        [(StopReason::MaxTokens, FailureKind::OutputLimit), (StopReason::Refusal, FailureKind::Refused)]
    {
        let mut turn = fresh();
        let mut out = Vec::new();
        turn.handle(input("prompt hi"), &mut out);
        turn.handle(Input::Replied(Reply { stop, ..reply("half an ans") }), &mut out);
        let failed = |effect: &Effect| matches!(effect, Effect::Record(Fact::Finished(Outcome::Failed(failure))) if failure.kind == kind);
        assert!(out.iter().any(failed), "{out:?}");
    }
}

/// What every provider insists on.
fn well_formed(history: &[Message]) {
    for (i, message) in history.iter().enumerate() {
        let asked: Vec<&str> = message.calls().map(|call| &*call.id).collect();
        if asked.is_empty() || message.role != Role::Assistant {
            continue;
        }
        let next = history.get(i + 1).unwrap_or_else(|| panic!("unanswered: {history:?}"));
        assert_eq!(next.role, Role::User);
        let told: Vec<&str> = next
            .blocks
            .iter()
            .take(asked.len())
            .map(|block| match block {
                Block::ToolResult(answer) => &*answer.id,
                other => panic!("{other:?} where an answer belongs"),
            })
            .collect();
        assert_eq!(asked, told);
    }
    for pair in history.windows(2) {
        assert_ne!(pair[0].role, pair[1].role, "roles must alternate");
    }
}

const STEPS: &[&str] = &[
    "prompt x",
    "reply y",
    "reply +a,b",
    "reply z+c",
    "reply +d,e,f",
    "fail broken",
    "allow a",
    "allow b",
    "allow c",
    "allow d",
    "alone e",
    "alone a",
    "allow f",
    "deny a",
    "deny c",
    "deny e",
    "answer a",
    "answer b",
    "answer c",
    "answer d",
    "answer e",
    "answer f",
    "mail m",
    "cancel",
    "cut half",
    "ends",
    "ends",
    "goon w",
    "halt h",
    "late",
    "over",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Any interleaving, any duplicate, any stray input: every call is answered once, nothing runs twice, and what is
    /// handed to the model is always well formed.
    #[test]
    fn the_invariant_holds_under_random_inputs(picks in proptest::collection::vec(0..STEPS.len(), 1..60)) {
        let mut turn = Turn::new(Vec::new(), Limits { max_requests: Some(9) });
        let mut answers: BTreeMap<Box<str>, u32> = BTreeMap::new();
        let mut started: Vec<Box<str>> = Vec::new();
        for pick in picks {
            let mut out = Vec::new();
            turn.handle(input(STEPS[pick]), &mut out);
            for effect in &out {
                match effect {
                    Effect::CallModel => {
                        well_formed(turn.history());
                        prop_assert!(answers.values().all(|count| *count == 1), "{answers:?}");
                    }
                    Effect::Authorize(call) => {
                        answers.insert(call.id.clone(), 0);
                        started.retain(|id| *id != call.id);
                    }
                    Effect::RunTool(call) => {
                        prop_assert!(!started.contains(&call.id), "{} ran twice", call.id);
                        started.push(call.id.clone());
                    }
                    Effect::Record(Fact::Answered { call, .. }) => *answers.entry(call.id.clone()).or_default() += 1,
                    Effect::Stop => {
                        well_formed(turn.history());
                        prop_assert!(answers.values().all(|count| *count == 1), "{answers:?}");
                        prop_assert!(turn.is_idle());
                    }
                    Effect::StopTool(_) | Effect::Record(_) | Effect::MayEnd(_) | Effect::EndRequest => {}
                }
            }
        }
    }
}
