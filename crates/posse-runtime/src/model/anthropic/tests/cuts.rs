//! A line that breaks anywhere: with tries enough the reply is always the same, and nothing of it is told twice.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::BoxFuture;
use posse_core::event::Delta;
use posse_core::failure::{Failure, RetryPolicy};
use posse_core::message::Reply;
use posse_testkit::server::{Answer, Fault};
use posse_testkit::{FakeModel, server};
use tokio_util::sync::CancellationToken;

use super::super::stream;
use super::{anthropic, sample};
use crate::model::http::Events;
use crate::model::retry::call_with_retries;
use crate::model::tests::{nothing_is_doubled, request, world};
use crate::model::{Model, Request};
use crate::world::Ids;

const POLICY: RetryPolicy =
    RetryPolicy { max_retries: 5, first: Duration::from_millis(1), longest: Duration::from_millis(1) };

/// A number from 0 up to and without `end`.
fn below(ids: &Ids, end: usize) -> usize {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let number = (ids.fraction() * end as f64) as usize;
    number
}

/// A chunk size. Tiny ones, which cut through characters and line ends, are slow and therefore not the rule.
fn chunk_size(ids: &Ids) -> usize {
    1 + below(ids, [4, 64, 64, 64, 64, 4096, 4096, 4096][below(ids, 8)])
}

/// One recorded stream, played in pieces and cut off as the plan says.
struct Recording {
    bytes: Vec<u8>,
    /// For each try the size of the pieces and how many bytes come.
    plan: Mutex<Vec<(usize, usize)>>,
}

impl Model for Recording {
    fn call<'a>(
        &'a self,
        request: &'a Request,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        let (size, end) = self.plan.lock().unwrap().remove(0);
        let pieces: Vec<_> =
            self.bytes[..end].chunks(size).map(|piece| Ok::<_, Infallible>(piece.to_vec())).collect();
        let mut events =
            Events::over(futures_util::stream::iter(pieces), "api.example".into(), Duration::from_secs(90));
        Box::pin(async move { stream::read(&mut events, request.raw_events, on).await })
    }
}

async fn with_retries(model: &dyn Model) -> (Reply, Vec<Delta>) {
    let deltas = Mutex::new(Vec::new());
    let mut on = |delta| deltas.lock().unwrap().push(delta);
    let (request, world, stop) = (request("claude-fake-1"), world(&[]), CancellationToken::new());
    let result = call_with_retries(model, &request, &POLICY, None, &world, &mut on, &stop).await;
    (result.unwrap(), deltas.into_inner().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_thousand_cuts_change_nothing() {
    let bytes = sample().bytes();
    let whole = Recording { bytes: bytes.clone(), plan: Mutex::new(vec![(4096, bytes.len())]) };
    let (want, _) = with_retries(&whole).await;
    let ids = Ids::seeded(20_260_101);
    let mut discarded = 0;
    for round in 0..1000 {
        let tries = 1 + below(&ids, 3);
        let mut plan: Vec<_> = (0..tries).map(|_| (chunk_size(&ids), below(&ids, bytes.len()))).collect();
        plan.push((chunk_size(&ids), bytes.len()));
        let told = format!("round {round}: {plan:?}");
        let recording = Recording { bytes: bytes.clone(), plan: Mutex::new(plan) };
        let (reply, deltas) = with_retries(&recording).await;
        assert_eq!(reply, want, "{told}");
        nothing_is_doubled(&deltas, &reply);
        discarded += deltas.iter().filter(|delta| matches!(delta, Delta::Discarded)).count();
        assert!(recording.plan.lock().unwrap().is_empty(), "{told}: a cut stream counted as whole");
    }
    assert!(discarded > 900, "the cuts were in the middle of things: {discarded}");
}

#[tokio::test]
async fn sixty_cuts_of_a_real_line_change_nothing() {
    let ids = Ids::seeded(7);
    let want = {
        let server = FakeModel::start([sample().answer()]).await;
        with_retries(&anthropic(&server.url())).await.0
    };
    for round in 0..30 {
        let fault = |answer: Answer| {
            let at = below(&ids, answer.bytes().len());
            let fault = if ids.fraction() < 0.5 { Fault::Finish(at) } else { Fault::Reset(at) };
            answer.failing(fault)
        };
        let answer = || sample().answer().chunked(chunk_size(&ids));
        let answers = [fault(answer()), fault(answer()), answer()];
        let told = format!("round {round}");
        let server = FakeModel::start(answers).await;
        let (reply, deltas) = with_retries(&anthropic(&server.url())).await;
        assert_eq!(reply, want, "{told}");
        nothing_is_doubled(&deltas, &reply);
        let retries = deltas.iter().filter(|delta| matches!(delta, Delta::Retry { .. })).count();
        assert_eq!(server.requests().len(), retries + 1, "{told}");
    }
}

#[tokio::test]
async fn a_body_without_a_length_is_no_whole_reply_either() {
    // Without chunks and without a length the end of the line looks like the end of the answer.
    let reply = sample().bytes();
    let cut = reply.len() - "event: message_stop".len();
    let bare = server::Answer::plain(200, "text/event-stream", &reply[..cut]);
    let server = FakeModel::start([bare, sample().answer()]).await;
    let (reply, deltas) = with_retries(&anthropic(&server.url())).await;
    nothing_is_doubled(&deltas, &reply);
    assert_eq!(server.requests().len(), 2);
}
