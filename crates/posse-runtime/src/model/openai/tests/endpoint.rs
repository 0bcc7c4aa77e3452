//! The endpoint on a real line.

use std::collections::HashSet;
use std::convert::Infallible;
use std::time::Duration;

use posse_core::failure::FailureKind;
use posse_core::message::{Block, Message, Role, StopReason, ToolAnswer};
use posse_testkit::FakeModel;
use posse_testkit::server::{Answer, ChatReply, Fault};
use serde_json::json;

use crate::model::Request;
use crate::model::http::Events;
use crate::model::openai::stream::Assembly;
use crate::model::openai::{OpenAi, read_events};
use crate::model::tests::{call, nothing_is_doubled, request, world};
use crate::world::Ids;

const KEY: &str = "sk-proj-very-secret";

fn openai(url: &str) -> OpenAi {
    OpenAi::new(&world(&[("OPENAI_BASE_URL", &format!("{url}/v1")), ("OPENAI_API_KEY", KEY)]))
}

#[tokio::test]
async fn a_conversation_with_tools_there_and_back() {
    let first = ChatReply::new()
        .text("Looking.")
        .tool("c1", "Read", &json!({ "path": "a" }))
        .tool("c2", "Read", &json!({ "path": "b" }))
        .without_ids();
    let second = ChatReply::new().text("Both are empty. ✓");
    let server = FakeModel::start([first.answer().chunked(5), second.answer().chunked(1)]).await;
    let model = openai(&server.url());
    let mut request = request("chat-fake-1");
    let (reply, deltas) = call(&model, &request).await;
    let reply = reply.unwrap();
    nothing_is_doubled(&deltas, &reply);
    let said = Message { role: Role::Assistant, blocks: reply.blocks };
    let ids: Vec<Box<str>> = said.calls().map(|call| call.id.clone()).collect();
    let answers = ids.iter().map(|id| Block::ToolResult(ToolAnswer::text(id.clone(), "empty"))).collect();
    request.messages.extend([said, Message { role: Role::User, blocks: answers }]);
    let (reply, deltas) = call(&model, &request).await;
    let reply = reply.unwrap();
    nothing_is_doubled(&deltas, &reply);
    assert_eq!((reply.stop, reply.usage.output), (StopReason::EndTurn, 5));
    assert_eq!(reply.blocks, [Block::Text("Both are empty. ✓".into())]);

    let sent = &server.requests()[1];
    assert_eq!(sent.path, "/v1/chat/completions");
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {KEY}")));
    let messages = sent.body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(messages[1]["tool_calls"][at]["id"], **id);
        assert_eq!(messages[2 + at]["tool_call_id"], **id);
    }
}

#[tokio::test]
async fn the_name_of_the_limit_is_learned_once_per_model() {
    let refusal = "Unsupported parameter: 'max_tokens' is not supported with this model. \
                   Use 'max_completion_tokens' instead.";
    let server = FakeModel::answering(move |request| {
        let new = request.body["model"] == "new";
        match request.body.get("max_tokens").is_some() == new {
            true => Answer::chat_error(400, "unsupported_parameter", refusal),
            false => ChatReply::new().text("ok").answer(),
        }
    });
    let model = openai(&server.url());
    for name in ["new", "new", "old"] {
        call(&model, &request(name)).await.0.unwrap();
    }
    let limits: Vec<_> =
        server.requests().iter().map(|sent| sent.body.get("max_completion_tokens").is_some()).collect();
    assert_eq!(limits, [false, true, true, false]);
}

#[tokio::test]
async fn a_server_that_refuses_both_names_is_not_asked_for_ever() {
    let server = FakeModel::answering(|_| {
        Answer::chat_error(400, "x", "max_tokens and max_completion_tokens are not supported")
    });
    let failure = call(&openai(&server.url()), &request("m")).await.0.unwrap_err();
    assert_eq!((failure.kind, server.requests().len()), (FailureKind::Invalid, 2));
}

#[tokio::test]
async fn replies_however_they_end() {
    let reply = || ChatReply::new().text("Hello there.");
    let whole = reply().answer().bytes().len();
    let before_done = whole - "data: [DONE]\n\n\r\n0\r\n\r\n".len();
    for (answer, usage) in [
        (reply().answer(), 5),
        (reply().without_done().answer(), 5),
        (reply().without_usage().without_done().answer(), 0),
        (reply().answer_whole(), 5),
        (reply().answer().header("content-type", "text/plain"), 5),
        // Everything was said before the line broke.
        (
            reply()
                .answer()
                .chunked(1)
                .failing(Fault::Finish(reply().answer().chunked(1).bytes().len() - 20)),
            5,
        ),
        (reply().answer().failing(Fault::Finish(before_done)), 5),
    ] {
        let told = format!("{answer:?}");
        let server = FakeModel::start([answer]).await;
        let (reply, deltas) = call(&openai(&server.url()), &request("m")).await;
        let reply = reply.expect(&told);
        nothing_is_doubled(&deltas, &reply);
        assert_eq!(
            (reply.blocks.as_slice(), reply.usage.output),
            (&[Block::Text("Hello there.".into())][..], usage)
        );
    }
}

#[tokio::test]
async fn failures_of_every_kind() {
    let half = |answer: Answer| {
        let bytes = answer.bytes();
        let middle = bytes.windows(6).position(|window| window == b"Hello ").unwrap();
        (answer, middle)
    };
    let (answer, middle) = half(ChatReply::new().text("Hello there.").answer());
    for (answer, want) in [
        (answer.clone().failing(Fault::Finish(middle)), FailureKind::Connection),
        (answer.clone().failing(Fault::Reset(middle)), FailureKind::Connection),
        (Answer::stream("data: {\"error\":{\"message\":\"busy\",\"code\":429}}\n\n"), FailureKind::RateLimit),
        (Answer::stream(format!("data: not json {KEY}\n\n")), FailureKind::Malformed),
        (
            Answer::chat_error(401, "invalid_api_key", &format!("Incorrect API key provided: {KEY}")),
            FailureKind::Auth,
        ),
        (
            Answer::chat_error(404, "model_not_found", "The model `x` does not exist"),
            FailureKind::ModelNotFound,
        ),
        (Answer::plain(404, "text/plain", "404 page not found"), FailureKind::Invalid),
        (Answer::plain(502, "text/html", "<html>Bad gateway</html>"), FailureKind::Server),
        (Answer::plain(200, "text/html", "<title>Log in</title>"), FailureKind::Invalid),
        (Answer::json(200, &json!({ "hello": "world" })), FailureKind::Malformed),
        (Answer::json(200, &json!({ "error": { "message": "overloaded" } })), FailureKind::Overloaded),
    ] {
        let told = format!("{answer:?}");
        let server = FakeModel::start([answer]).await;
        let failure = call(&openai(&server.url()), &request("m")).await.0.unwrap_err();
        assert_eq!(failure.kind, want, "{told}: {failure:?}");
        assert!(!failure.message.contains(KEY), "{failure:?}");
    }
}

#[tokio::test]
async fn a_line_that_falls_silent_is_given_up() {
    let server =
        FakeModel::start([ChatReply::new().text("Hello there.").answer().stall_behind("Hello ")]).await;
    let mut model = openai(&server.url());
    model.stall = Duration::from_millis(150);
    let failure = call(&model, &request("m")).await.0.unwrap_err();
    assert!(failure.message.ends_with("has been silent for 0.15 s"), "{failure:?}");
}

/// Wherever the line breaks: a whole reply or none.
#[tokio::test(start_paused = true)]
async fn cuts_anywhere_yield_all_or_nothing() {
    let reply = ChatReply::new().thinking("Hm.").text("Grüße 📁").tool("c1", "Read", &json!({ "path": "a" }));
    let bytes = reply.bytes();
    let ids = Ids::seeded(3);
    let mut wholes = 0;
    for end in 0..=bytes.len() {
        let pieces: Vec<_> =
            bytes[..end].chunks(1 + end % 97).map(|piece| Ok::<_, Infallible>(piece.to_vec())).collect();
        let stream = futures_util::stream::iter(pieces);
        let events = Events::over(stream, "api.example".into(), Duration::from_secs(1));
        let assembly = Assembly::new(false, "m", HashSet::new(), &ids);
        match read_events(events, assembly, &mut |_| {}).await {
            Ok(reply) => {
                assert_eq!((reply.blocks.len(), reply.stop), (3, StopReason::ToolUse), "cut at {end}");
                wholes += 1;
            }
            Err(failure) => {
                assert_eq!((failure.kind, wholes), (FailureKind::Connection, 0), "cut at {end}");
            }
        }
    }
    assert!(wholes > 0 && wholes < 700, "all but the end and the bill: {wholes}");
}

#[tokio::test]
async fn bare_hosts_and_missing_keys_are_fine() {
    let server = FakeModel::start([ChatReply::new().text("hi").answer()]).await;
    let model = OpenAi::new(&world(&[("OPENAI_BASE_URL", &server.url())]));
    let request = Request { raw_events: true, ..request("m") };
    call(&model, &request).await.0.unwrap();
    let sent = &server.requests()[0];
    assert_eq!((sent.path.as_str(), sent.header("authorization")), ("/v1/chat/completions", None));
    assert_eq!(OpenAi::new(&world(&[])).base_url, "https://api.openai.com/v1");
}
