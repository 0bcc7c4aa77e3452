use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::json;

use super::super::trial::Trial;
use super::{Hit, SearchProvider, SearchResults, WebSearch, WebSearchInput};

/// Answers what it was told to, and remembers what it was asked.
struct Fake {
    answer: Result<SearchResults, String>,
    asked: Mutex<Vec<WebSearchInput>>,
}

impl SearchProvider for Fake {
    fn search<'a>(&'a self, query: &'a WebSearchInput) -> BoxFuture<'a, Result<SearchResults, String>> {
        self.asked.lock().unwrap().push(query.clone());
        Box::pin(std::future::ready(self.answer.clone()))
    }
}

fn connected(answer: Result<SearchResults, String>) -> (Arc<Fake>, WebSearch) {
    let fake = Arc::new(Fake { answer, asked: Mutex::default() });
    (Arc::clone(&fake), WebSearch::new(fake))
}

#[tokio::test]
async fn results_are_shown_with_their_links() {
    let hit = Hit { title: "Rust".into(), url: "https://rust-lang.org/".into() };
    let (fake, tool) = connected(Ok(SearchResults { text: "It is a language.\n".into(), hits: vec![hit] }));
    let input =
        json!({ "query": "rust", "allowed_domains": ["https://rust-lang.org/"], "blocked_domains": null });
    let answer = Trial::new().ask(&tool, input).await;
    assert_eq!(
        answer.text,
        "Search results for \"rust\"\n\n- [Rust](https://rust-lang.org/)\n\nIt is a language."
    );
    assert_eq!(
        answer.structured,
        Some(json!({
            "query": "rust",
            "results": [{ "content": [{ "title": "Rust", "url": "https://rust-lang.org/" }] }, "It is a language."],
            "durationSeconds": 0.0,
        }))
    );
    assert_eq!(fake.asked.lock().unwrap()[0].allowed_domains, ["rust-lang.org"]);
}

#[tokio::test]
async fn what_does_not_work_is_said_and_not_asked() {
    let trial = Trial::new();
    let answer = trial.ask(&WebSearch::default(), json!({ "query": "rust" })).await;
    assert!(answer.is_error && answer.text.starts_with("This model has no web search;"), "{}", answer.text);

    let (fake, tool) = connected(Err("no credit".into()));
    for (input, want) in [
        (json!({ "query": "x" }), "too short"),
        (json!({ "query": "rust", "allowed_domains": ["a.b"], "blocked_domains": ["c.d"] }), "not both"),
    ] {
        let answer = trial.ask(&tool, input).await;
        assert!(answer.is_error && answer.text.contains(want), "{}", answer.text);
    }
    assert!(fake.asked.lock().unwrap().is_empty());
    let answer = trial.ask(&tool, json!({ "query": "rust" })).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("The search failed: no credit", true));
    let (_, tool) = connected(Ok(SearchResults::default()));
    let answer = trial.ask(&tool, json!({ "query": "rust" })).await;
    assert_eq!(
        (answer.text.as_str(), answer.is_error),
        ("Search results for \"rust\"\n\nNothing found.", false)
    );
}
