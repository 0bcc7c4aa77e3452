//! What becomes of a server's list before a model is told of it.

use super::*;

async fn facts_of(tools: Value, mode: &str) -> Facts {
    let rig = Rig::new();
    rig.list(&tools);
    let servers = rig.servers(vec![configured("my server", script(mode))]);
    let lease = servers.lease("my server", MAIN).expect("a lease");
    let facts = lease.facts().await.expect("a list");
    rig.end(&servers).await;
    (*facts).clone()
}

#[tokio::test]
async fn names_schemas_and_descriptions_become_what_a_provider_takes() {
    let long = "x".repeat(121);
    let facts = facts_of(
        json!([
            {"name": "do.it", "description": "d".repeat(5000), "inputSchema": {}},
            {"name": "do_it", "inputSchema": {"type": "object"}},
            {"name": "", "inputSchema": {"type": "object"}},
            {"name": long, "inputSchema": {"type": "object"}},
            {"name": "list", "inputSchema": {"type": "array"}},
            {"name": "either", "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}], "properties": {"a": {}}}},
            {"name": "reads", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"},
             "_meta": {"anthropic/maxResultSizeChars": 9_000_000, "anthropic/alwaysLoad": true}},
        ]),
        "a",
    )
    .await;
    let names: Vec<&str> = facts.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["do.it", "either", "reads"]);
    assert_eq!(facts.left_out.len(), 4, "{:?}", facts.left_out);
    assert_eq!(facts.tools[0].input_schema, json!({"type": "object", "properties": {}}));
    assert_eq!(facts.tools[1].input_schema, json!({"type": "object", "properties": {"a": {}}}));
    assert_eq!(facts.tools[0].description.chars().count(), 2048 + "… [cut]".chars().count());
    let reads = &facts.tools[2];
    assert_eq!(
        (reads.read_only, reads.always_load, reads.longest_result),
        (Some(true), Some(true), Some(500_000))
    );
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_costs_only_itself() {
    let facts = facts_of(
        json!([
            tool("good"),
            {"name": "no schema"},
            {"name": "text", "inputSchema": "object"},
            {"name": 7, "inputSchema": {"type": "object"}},
            {"inputSchema": {"type": "object"}},
            "tool",
            tool("better"),
        ]),
        "a",
    )
    .await;
    let names: Vec<&str> = facts.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "better"]);
    assert_eq!(facts.left_out.len(), 5, "{:?}", facts.left_out);
    for (said, name) in
        facts.left_out.iter().zip(["\"no schema\"", "\"text\"", "7", "a tool without", "a tool"])
    {
        assert!(said.starts_with(name) && said.contains("cannot be read"), "{said}");
    }
}

#[tokio::test]
async fn a_list_that_never_ends_is_read_to_some_end() {
    let facts = facts_of(json!([]), "pages").await;
    assert_eq!(facts.tools.len(), 100);
}

#[tokio::test]
async fn a_tool_is_told_and_run_as_its_server_says() {
    let rig = Rig::new();
    rig.list(&json!([
        {"name": "look", "description": "Looks.", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"}},
        {"name": "do it", "inputSchema": {"type": "object"}},
    ]));
    let servers = rig.servers(vec![configured("my server", script("a"))]);
    let lease = Arc::new(servers.lease("my server", MAIN).unwrap());
    let tools = tools_of(&lease, &lease.facts().await.unwrap());
    let told: Vec<_> =
        tools.iter().map(|tool| (tool.name(), tool.runs_alone(&json!({})), tool.can_wait())).collect();
    assert_eq!(told, [("mcp__my_server__look", false, true), ("mcp__my_server__do_it", true, true)]);
    assert_eq!(tools[0].spec().description, "Looks.");
    assert_eq!(text(&tools[1].run(json!({}), &rig.cx()).await), "call 1");
    rig.end(&servers).await;
}

#[tokio::test]
async fn a_server_of_the_newer_protocol_is_greeted_its_way_and_may_ask_before_it_answers() {
    let mut rig = Rig::new();
    rig.list(&json!([tool("asks"), tool("insists"), tool("echo")]));
    // Nobody is there to ask.
    let servers = rig.servers(vec![configured("new", script("modern"))]);
    let lease = Arc::new(servers.lease("new", MAIN).unwrap());
    assert_eq!(lease.facts().await.unwrap().protocol, "2026-07-28");
    assert_eq!(text(&call(&lease, "asks", json!({}), &rig.cx()).await), "hello nobody");
    let output = call(&lease, "insists", json!({}), &rig.cx()).await;
    assert!(text(&output).contains("without end"), "{output:?}");
    rig.end(&servers).await;

    let (desk, mut asks) = Desk::open();
    rig.desk = desk;
    let servers = rig.servers(vec![configured("new", script("modern"))]);
    let lease = Arc::new(servers.lease("new", MAIN).unwrap());
    let cx = rig.cx();
    let answering = async {
        let Some(crate::ask::Ask::Question(pending)) = asks.next().await else { panic!("a question") };
        let question = pending.ask.questions[0].question.clone();
        pending.answer(crate::ask::QuestionAnswer::Answered([(question, "Ada".to_owned())].into()));
    };
    let (output, ()) = tokio::join!(call(&lease, "asks", json!({}), &cx), answering);
    assert_eq!(text(&output), "hello Ada");
    rig.end(&servers).await;
}
