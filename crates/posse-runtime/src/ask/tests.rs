use std::future::poll_fn;
use std::task::Poll;

use posse_core::permission::Mode;
use serde_json::json;

use super::*;

fn permission(call: &str) -> PermissionAsk {
    PermissionAsk {
        tool: "Bash".into(),
        input: json!({ "command": "make" }),
        title: "Run make".into(),
        reason: None,
        grounds: Box::default(),
        suggestions: Vec::new(),
        agent: None,
        agent_id: None,
        call: call.into(),
    }
}

fn question() -> QuestionAsk {
    QuestionAsk { questions: Vec::new(), call: "q".into() }
}

fn no(message: &str) -> PermissionAnswer {
    PermissionAnswer::Deny { message: message.into(), interrupt: false }
}

/// Polls once, so that a question is laid without waiting for its answer.
async fn lay<F: Future + Unpin>(future: &mut F) {
    poll_fn(|cx| {
        assert!(std::pin::Pin::new(&mut *future).poll(cx).is_pending(), "nobody has answered yet");
        Poll::Ready(())
    })
    .await;
}

/// Takes the next question, which must be one for permission.
async fn next(asks: &mut Asks) -> Pending<PermissionAsk, PermissionAnswer> {
    match asks.next().await {
        Some(Ask::Permission(pending)) => pending,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn questions_come_out_in_order_and_each_gets_its_own_answer() {
    let (desk, mut asks) = Desk::open();
    assert!(desk.is_staffed());
    let other = desk.clone();
    let answering = async {
        for call in ["a", "b"] {
            let pending = next(&mut asks).await;
            assert_eq!(&*pending.ask.call, call);
            pending.answer(no(call));
        }
        match asks.next().await {
            Some(Ask::Question(pending)) => pending.answer(QuestionAnswer::Declined("busy".into())),
            other => panic!("{other:?}"),
        }
    };
    let (a, b, q, ()) = tokio::join!(
        desk.permission(permission("a")),
        other.permission(permission("b")),
        desk.question(question()),
        answering
    );
    assert_eq!((a, b), (no("a"), no("b")));
    assert_eq!(q, QuestionAnswer::Declined("busy".into()));
}

#[tokio::test]
async fn nobody_is_there_never_was_or_leaves() {
    let nobody = Desk::default();
    assert!(!nobody.is_staffed());
    assert_eq!(nobody.permission(permission("a")).await, PermissionAnswer::Nobody);
    assert_eq!(nobody.question(question()).await, QuestionAnswer::Nobody);

    // Left before anything was asked.
    let (desk, asks) = Desk::open();
    drop(asks);
    assert!(!desk.is_staffed());
    assert_eq!(desk.permission(permission("a")).await, PermissionAnswer::Nobody);

    // Left with one question in hand and one in the queue.
    let (desk, mut asks) = Desk::open();
    let mut first = Box::pin(desk.permission(permission("a")));
    let mut second = Box::pin(desk.question(question()));
    lay(&mut first).await;
    lay(&mut second).await;
    let in_hand = asks.next().await;
    drop((in_hand, asks));
    assert_eq!(first.await, PermissionAnswer::Nobody);
    assert_eq!(second.await, QuestionAnswer::Nobody);
}

#[tokio::test]
async fn what_is_withdrawn_is_not_shown_and_whoever_shows_it_learns_of_it() {
    let (desk, mut asks) = Desk::open();
    let mut early = Box::pin(desk.permission(permission("early")));
    let mut shown = Box::pin(desk.permission(permission("shown")));
    lay(&mut early).await;
    lay(&mut shown).await;
    drop(early);
    let mut pending = next(&mut asks).await;
    assert_eq!(&*pending.ask.call, "shown");
    drop(shown);
    pending.withdrawn().await;
    // An answer that comes too late hurts nobody.
    pending.answer(PermissionAnswer::yes());
    drop(desk);
    assert!(asks.next().await.is_none(), "nobody can ask any more");
}

#[test]
fn planning_leads_back_to_the_mode_before_it() {
    for (begin, back) in [
        (Mode::Default, Mode::Default),
        (Mode::AcceptEdits, Mode::AcceptEdits),
        (Mode::Plan, Mode::Default),
        (Mode::BypassPermissions, Mode::BypassPermissions),
    ] {
        let mode = SharedMode::from(begin);
        let copy = mode.clone();
        copy.set(Mode::Plan);
        copy.set(Mode::Plan);
        assert_eq!((mode.current(), mode.after_plan()), (Mode::Plan, back));
        mode.set(mode.after_plan());
        assert_eq!(copy.current(), back);
    }
}

#[test]
fn a_switch_is_read_however_it_is_written() {
    let read = |written: Value| {
        let text = json!({ "question": "?", "header": "", "options": [], "multiSelect": written });
        serde_json::from_value::<Question>(text).map(|question| question.multi_select).ok()
    };
    for (written, want) in [
        (json!(true), Some(true)),
        (json!("TRUE"), Some(true)),
        (json!("false"), Some(false)),
        (json!(null), Some(false)),
        (json!(""), Some(false)),
        (json!("often"), None),
        (json!([]), None),
    ] {
        assert_eq!(read(written.clone()), want, "{written}");
    }
}
