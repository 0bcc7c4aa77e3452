use serde_json::{Value, json};

use super::super::trial::{Answer, Trial};
use super::{ToolSearch, parts};
use crate::tool::{Deferred, ToolSpec};

fn deferred() -> Deferred {
    let spec = |name: &str, description: &str| ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema: json!({ "type": "object", "properties": { "of": { "const": name } } }),
    };
    Deferred::new(vec![
        spec("NotebookEdit", "Edits a cell of a Jupyter notebook"),
        spec("CronCreate", "Runs a prompt at a time"),
        spec("mcp__slack__send_message", "Sends a message to a channel"),
        spec("mcp__slack__list_channels", "Lists channels"),
        spec("mcp__mail__send", "Sends mail, as a message"),
    ])
}

async fn search(deferred: &Deferred, input: Value) -> Answer {
    Trial::new().ask(&ToolSearch::new(deferred.clone()), input).await
}

fn names(answer: &Answer) -> String {
    let names: Vec<&str> =
        answer.field("matches").as_array().unwrap().iter().filter_map(Value::as_str).collect();
    names.join(" ")
}

#[tokio::test]
async fn queries_and_what_they_find() {
    for (query, want) in [
        ("select:CronCreate", "CronCreate"),
        ("select: notebookedit , CronCreate,CronCreate", "NotebookEdit CronCreate"),
        ("CronCreate", "CronCreate"),
        ("jupyter", "NotebookEdit"),
        ("notebook", "NotebookEdit"),
        ("slack", "mcp__slack__send_message mcp__slack__list_channels"),
        ("send message", "mcp__slack__send_message mcp__mail__send"),
        ("+slack send", "mcp__slack__send_message mcp__slack__list_channels"),
        ("+slack", "mcp__slack__send_message mcp__slack__list_channels"),
        ("+mail slack", "mcp__mail__send"),
        ("channel", "mcp__slack__list_channels mcp__slack__send_message"),
        ("zebra", ""),
    ] {
        let answer = search(&deferred(), json!({ "query": query })).await;
        assert_eq!(names(&answer), want, "{query}");
        assert_eq!(answer.field("total_deferred_tools"), &json!(5));
    }
    let answer = search(&deferred(), json!({ "query": "a", "max_results": "2" })).await;
    assert_eq!(answer.field("matches").as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_found_is_shown_whole_and_loaded() {
    let deferred = deferred();
    let answer = search(&deferred, json!({ "query": "select:CronCreate,Nothing" })).await;
    assert_eq!(
        answer.text,
        "<functions>\n<function>{\"description\":\"Runs a prompt at a time\",\"name\":\"CronCreate\",\"parameters\":\
         {\"type\":\"object\",\"properties\":{\"of\":{\"const\":\"CronCreate\"}}}}</function>\n</functions>\n\n\
         There are no such deferred tools: Nothing"
    );
    assert!(!answer.is_error);
    let loaded: Vec<_> = deferred.loaded().into_iter().map(|spec| spec.name).collect();
    assert_eq!(loaded, ["CronCreate".into()]);
    assert_eq!(deferred.waiting().len(), 4);

    // A server that reconnects brings its tools again; what was loaded stays loaded.
    let mut specs = deferred.specs();
    specs.remove(0);
    deferred.set(specs);
    assert_eq!((deferred.loaded().len(), deferred.waiting().len()), (1, 3));
    deferred.set(Vec::new());
    assert!(deferred.loaded().is_empty());
}

#[tokio::test]
async fn nothing_found() {
    let answer = search(&deferred(), json!({ "query": "select:Nothing" })).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("There are no such deferred tools: Nothing", true));
    let answer = search(&Deferred::default(), json!({ "query": "jupyter" })).await;
    assert!(answer.text.starts_with("No matching tools") && !answer.is_error, "{}", answer.text);
}

#[test]
fn names_have_words() {
    for (name, want) in [
        ("mcp__github__createIssue", "mcp github create issue"),
        ("NotebookEdit", "notebook edit"),
        ("LSP", "lsp"),
        ("web-fetch2Go", "web fetch2 go"),
    ] {
        assert_eq!(parts(name).join(" "), want);
    }
}
