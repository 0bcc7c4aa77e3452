//! Models, agents, MCP servers and hosts, all of them fakes.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use posse_core::hooks::answer::Verdict;

use super::*;

/// Answers everybody alike, and remembers the questions.
struct Oracle {
    says: Result<Value, String>,
    asked: Arc<Mutex<Vec<String>>>,
    /// Never answers instead.
    hangs: bool,
    panics: bool,
}

impl Oracle {
    fn answer<'a>(&'a self, question: String) -> BoxFuture<'a, Result<String, String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question);
        async move {
            assert!(!self.panics, "an oracle that panics");
            if self.hangs {
                std::future::pending::<()>().await;
            }
            self.says.clone().map(|said| said.as_str().map_or_else(|| said.to_string(), str::to_owned))
        }
        .boxed()
    }
}

impl Judge for Oracle {
    fn ask<'a>(
        &'a self,
        prompt: &'a str,
        model: Option<&'a str>,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.answer(format!("{}: {prompt}", model.unwrap_or("-")))
    }
}

impl Verifier for Oracle {
    fn verify<'a>(
        &'a self,
        prompt: &'a str,
        _model: Option<&'a str>,
        most_turns: u32,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.answer(format!("{most_turns}: {prompt}"))
    }
}

impl McpCaller for Oracle {
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.answer(format!("{server}/{tool}: {input}"))
    }
}

impl Callbacks for Oracle {
    fn call<'a>(
        &'a self,
        id: &'a str,
        input: &'a Value,
        tool_use_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Value, String>> {
        let name = input["hook_event_name"].as_str().unwrap_or_default();
        let answer = self.answer(format!("{id} {name} {}", tool_use_id.unwrap_or("-")));
        async move { answer.await.map(|_| self.says.clone().unwrap_or_default()) }.boxed()
    }
}

fn oracle(says: Result<Value, String>) -> (Bench, Arc<Mutex<Vec<String>>>) {
    with(Oracle { says, asked: Arc::default(), hangs: false, panics: false })
}

fn with(oracle: Oracle) -> (Bench, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::clone(&oracle.asked);
    let oracle = Arc::new(oracle);
    let bench = Bench::with(|services| {
        services.judge = Some(oracle.clone());
        services.verifier = Some(oracle.clone());
        services.mcp = Some(oracle.clone());
        services.callbacks = Some(oracle);
    });
    (bench, asked)
}

fn three_kinds(timeout: f64) -> Hooks {
    hooks(&json!({"PreToolUse": [{"hooks": [
        {"type": "prompt", "prompt": "Is $ARGUMENTS fine?", "model": "haiku", "timeout": timeout},
        {"type": "agent", "prompt": "Check it", "timeout": timeout},
        {"type": "mcp_tool", "server": "s", "tool": "t", "input": {"of": "${tool_name}"}, "timeout": timeout},
    ]}]}))
}

#[tokio::test]
async fn each_is_asked_in_its_way_and_a_no_denies() {
    let (bench, asked) = oracle(Ok(json!("Well: {\"ok\": false, \"reason\": \"dangerous\"}")));
    let merged = three_kinds(30.0).fire(&before("Bash"), &bench.cx).await;
    let reason = "PreToolUse:Bash hook error: dangerous".to_owned();
    assert_eq!(merged.permission, Some((Verdict::Deny, Some(reason.clone()))));
    // The MCP tool's answer is a program's output, and that text is none of JSON.
    assert_eq!((merged.objections, merged.errors.len()), (vec![reason.clone(), reason], 0));
    let asked = taken(&asked);
    assert!(asked[0].starts_with("haiku: Is {\"session_id\":\"session-1\""), "{asked:?}");
    assert!(asked[1].starts_with("50: Check it\n\n{\"session_id\""), "{asked:?}");
    assert_eq!(asked[2], "s/t: {\"of\":\"Bash\"}");
    assert_eq!(taken(&bench.notices).len(), 6);
}

#[tokio::test]
async fn an_mcp_tool_answers_like_a_program() {
    let (bench, _) = oracle(Ok(json!("{\"decision\":\"block\",\"reason\":\"R\"}")));
    let hooks = hooks(&json!({"Stop": [{"hooks": [{"type": "mcp_tool", "server": "s", "tool": "t"}]}]}));
    let merged = hooks.fire(&stop(), &bench.cx).await;
    assert_eq!(merged.goes_on_with().as_deref(), Some("Stop hook blocking error from command: \"s/t\": R"));
}

#[tokio::test]
async fn whoever_fails_hangs_or_is_not_there_decides_nothing() {
    let failing = oracle(Err("no network".into())).0;
    let absent = Bench::new();
    for bench in [failing, absent] {
        let merged = three_kinds(30.0).fire(&before("Bash"), &bench.cx).await;
        assert!(merged.permission.is_none() && merged.errors.len() == 3, "{merged:?}");
    }
    for (hangs, panics) in [(true, false), (false, true)] {
        let (bench, _) = with(Oracle { says: Ok(json!("")), asked: Arc::default(), hangs, panics });
        let merged = three_kinds(0.05).fire(&before("Bash"), &bench.cx).await;
        assert!(merged.permission.is_none() && merged.errors.len() == 3, "{merged:?}");
    }
}

fn callback(event: HookEvent, blocks_on_failure: bool) -> Hooks {
    let timeout = Some(Duration::from_millis(50));
    let callback = HookCallback { id: "hook_0".into(), event, matcher: None, timeout, blocks_on_failure };
    Hooks::new(HookPolicy::default(), [], [callback])
}

#[tokio::test]
async fn the_host_answers_with_an_object_and_its_failures_count_as_it_says() {
    let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "host"}});
    for (says, blocks_on_failure, denied, errors) in [
        (Ok(deny), false, true, 0),
        (Ok(json!({})), true, false, 0),
        (Ok(json!(null)), true, false, 0),
        (Ok(json!(5)), false, false, 1),
        (Ok(json!(5)), true, true, 0),
        (Err("threw".to_owned()), false, false, 1),
        (Err("threw".to_owned()), true, true, 0),
    ] {
        let (bench, asked) = oracle(says.clone());
        let merged =
            callback(HookEvent::PreToolUse, blocks_on_failure).fire(&before("Bash"), &bench.cx).await;
        assert_eq!((merged.is_blocked(), merged.errors.len()), (denied, errors), "{says:?}");
        assert_eq!(taken(&asked), ["hook_0 PreToolUse call-1"]);
        assert_eq!(taken(&bench.notices), []);
    }
}

#[tokio::test]
async fn a_call_the_host_does_not_answer_for_is_not_made() {
    let hanging =
        || with(Oracle { says: Ok(json!({})), asked: Arc::default(), hangs: true, panics: false }).0;
    let merged = callback(HookEvent::PreToolUse, false).fire(&before("Bash"), &hanging().cx).await;
    assert!(merged.is_blocked(), "{merged:?}");
    let merged = callback(HookEvent::Stop, false).fire(&stop(), &hanging().cx).await;
    assert!(!merged.is_blocked() && merged.errors.len() == 1, "{merged:?}");
}
