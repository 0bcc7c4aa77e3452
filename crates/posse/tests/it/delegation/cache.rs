//! What agents that share words pay for them, by the books of a provider that caches prefixes.

use std::sync::{Arc, Mutex, PoisonError};

use posse_testkit::server::{CacheUsage, PrefixCache};

use super::*;

const COUNT: usize = 8;

/// Who asked, what for, and what it came to.
type Ledger = Arc<Mutex<Vec<(Recorded, CacheUsage)>>>;

/// A model that caches, and says what `script` has it say.
fn caching(script: impl Fn(&Recorded) -> MessagesReply + Send + 'static) -> (FakeModel, Ledger) {
    let ledger = Ledger::default();
    let (books, mut cache) = (Arc::clone(&ledger), PrefixCache::default());
    let server = FakeModel::answering(move |request| {
        let usage = cache.account(&request.body, &request.beside);
        books.lock().unwrap_or_else(PoisonError::into_inner).push((request.clone(), usage));
        script(request).usage(usage.fresh, 50).cache(usage.read, usage.written).answer()
    });
    (server, ledger)
}

fn agents_of(ledger: &Ledger) -> Vec<(Recorded, CacheUsage)> {
    let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
    ledger.iter().filter(|(request, _)| agent(request).is_some()).cloned().collect()
}

/// A message that starts so many agents.
fn starting(kind: &str) -> MessagesReply {
    let input = |at: usize| json!({ "description": format!("part {at}"), "prompt": format!("Do part {at}."), "subagent_type": kind });
    (0..COUNT).fold(MessagesReply::new().text("I hand this on."), |reply, at| {
        reply.tool(&format!("t{at}"), "Agent", &input(at))
    })
}

#[test]
fn forks_read_nearly_all_of_their_input_from_the_cache() {
    let (server, ledger) = caching(|request| match (agent(request), steps(request)) {
        (None, step @ 0..=5) => MessagesReply::new().text("Let me look.").tool(
            &format!("r{step}"),
            "Read",
            &json!({ "file_path": format!("f{step}.txt") }),
        ),
        (None, 6) => starting("fork"),
        (None, _) => MessagesReply::new().text("Done."),
        (Some(_), 7) => MessagesReply::new().tool("own", "Read", &json!({ "file_path": "a.txt" })),
        (Some(_), _) => MessagesReply::new().text("Scope: all of it."),
    });
    let env = world(&server);
    for at in 0..6 {
        env.write(&format!("project/f{at}.txt"), format!("line {at} of a file that is read\n").repeat(150));
    }
    assert_eq!(env.posse(&["-p", "a word of main"]).success(), "Done.\n");
    let requests = agents_of(&ledger);
    let first: Vec<_> = requests.iter().filter(|(request, _)| steps(request) == 7).collect();
    assert_eq!(first.len(), COUNT);
    // To the byte the same up to the directive, the breakpoints too.
    let before = |request: &Recorded| {
        let body = String::from_utf8(request.bytes.clone()).unwrap();
        let at = body.rfind("Your directive: ").unwrap();
        body[body.find("\"system\"").unwrap()..at].to_owned()
    };
    for (request, usage) in &first {
        assert!(before(request) == before(&first[0].0), "forks differ before their directive");
        assert!(usage.read * 100 >= usage.total() * 95, "{usage:?}");
    }
    // And they go on reading it.
    for (_, usage) in requests.iter().filter(|(request, _)| steps(request) == 8) {
        assert!(usage.read * 100 >= usage.total() * 95, "{usage:?}");
    }
}

#[test]
fn a_further_agent_of_one_kind_writes_little_more_than_its_task() {
    for kind in ["scout", "worker", "Explore", "general-purpose"] {
        let (server, ledger) = caching(move |request| match (agent(request), steps(request)) {
            (None, 0) => starting(kind),
            (None, _) => MessagesReply::new().text("Done."),
            (Some(_), _) => MessagesReply::new().text("Report."),
        });
        let env = world(&server);
        assert_eq!(env.posse(&["-p", "go"]).success(), "Done.\n");
        let requests = agents_of(&ledger);
        assert_eq!(requests.len(), COUNT, "{kind}");
        for (request, usage) in &requests[1..] {
            let task = "Do part 1.".len() as u64 / 4;
            assert!(usage.written + usage.fresh <= task + 100, "{kind}: {usage:?} for {}", last(request));
            assert!(usage.read > 0, "{kind}: {usage:?}");
        }
    }
}
