//! Real programs: good ones and bad ones.

use posse_core::hooks::answer::Verdict;

use super::*;

async fn fire(bench: &Bench, hooks: &Hooks, occasion: &Occasion) -> Merged {
    let merged = hooks.fire(occasion, &bench.cx).await;
    hooks.shutdown().await;
    merged
}

#[tokio::test]
async fn exit_codes_with_and_without_json() {
    let bench = Bench::new();
    let deny = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"J"}}'"#;
    for (script, denied, errors) in [
        ("exit 0".to_owned(), None, 0),
        ("echo text; echo no >&2; exit 1".to_owned(), None, 1),
        ("echo text; echo no >&2; exit 3".to_owned(), None, 1),
        ("echo text; echo no >&2; exit 2".to_owned(), Some("]: no"), 0),
        (deny.to_owned(), Some("error: J"), 0),
        (format!("{deny}; exit 1"), Some("error: J"), 0),
        (format!("{deny}; echo no >&2; exit 2"), Some("error: J"), 0),
        ("echo '{}'; exit 3".to_owned(), None, 0),
        ("kill -9 $$".to_owned(), None, 1),
        ("kill -SEGV $$".to_owned(), None, 1),
        ("/no/such/program".to_owned(), None, 1),
    ] {
        let merged = fire(&bench, &command(HookEvent::PreToolUse, &script), &before("Bash")).await;
        let reason = match &merged.permission {
            Some((Verdict::Deny, Some(reason))) => Some(reason.as_str()),
            other => {
                assert_eq!(*other, None, "{script}");
                None
            }
        };
        assert_eq!(merged.is_blocked(), denied.is_some(), "{script}");
        assert!(reason.unwrap_or_default().ends_with(denied.unwrap_or_default()), "{script}: {reason:?}");
        assert_eq!(merged.errors.len(), errors, "{script}: {:?}", merged.errors);
    }
}

#[tokio::test]
async fn a_program_reads_the_occasion_and_rewrites_the_call() {
    let bench = Bench::new();
    let script = r#"input=$(cat); case $input in *'"tool_name":"Bash"'*) ;; *) exit 1;; esac
        echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"},"additionalContext":"careful"}}'"#;
    let merged = fire(&bench, &command(HookEvent::PreToolUse, script), &before("Bash")).await;
    assert_eq!(merged.permission, Some((Verdict::Allow, None)));
    assert_eq!(merged.updated_input, Some(json!({"command": "ls"})));
    assert_eq!(merged.context, ["PreToolUse hook additional context: careful"]);
    assert_eq!(merged.errors, [""; 0]);
}

#[tokio::test]
async fn a_program_that_does_not_start_is_an_error_that_blocks_nothing() {
    let bench = Bench::new();
    let direct = json!({"type": "command", "command": "/no/such/program", "args": ["x"]});
    let hooks = hooks(&json!({"PreToolUse": [{"hooks": [direct]}]}));
    let merged = fire(&bench, &hooks, &before("Bash")).await;
    assert!(!merged.is_blocked() && merged.errors.len() == 1, "{merged:?}");
    let notices = taken(&bench.notices);
    assert!(
        matches!(
            &notices[..],
            [
                HookNotice::Started { .. },
                HookNotice::Response { outcome: HookOutcome::Error, exit_code: None, .. }
            ]
        ),
        "{notices:?}"
    );
}

#[tokio::test]
async fn arguments_are_passed_without_a_shell() {
    let bench = Bench::new();
    let direct = json!({"type": "command", "command": "printf", "args": ["%s|", "a b", "$HOME", "${CLAUDE_PROJECT_DIR}"]});
    let merged = fire(&bench, &hooks(&json!({"UserPromptSubmit": [{"hooks": [direct]}]})), &prompt()).await;
    let project = bench.path("").display().to_string();
    let want =
        format!("UserPromptSubmit hook additional context: a b|$HOME|{}|", project.trim_end_matches('/'));
    assert_eq!(merged.context, [want]);
}

fn prompt() -> Occasion {
    Occasion::UserPromptSubmit { prompt: "hi".into(), source: None, session_title: None }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_hangs_is_ended_with_all_it_started() {
    let bench = Bench::new();
    let script = "setsid sleep 1000 & (nohup sleep 1000 &) ; sleep 1000";
    let handler = json!({"type": "command", "command": script, "timeout": 0.2});
    let hooks = hooks(&json!({"PreToolUse": [{"hooks": [handler]}]}));
    let merged = hooks.fire(&before("Bash"), &bench.cx).await;
    assert!(!merged.is_blocked());
    assert_eq!(merged.errors.len(), 1, "{merged:?}");
    assert!(merged.errors[0].ends_with("not done after 0.2 s"), "{:?}", merged.errors);
    assert_eq!(bench.running(), 0);
    let outcome = taken(&bench.notices).pop();
    assert!(
        matches!(outcome, Some(HookNotice::Response { outcome: HookOutcome::Cancelled, .. })),
        "{outcome:?}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_run_that_stops_ends_its_handlers() {
    let bench = Bench::new();
    let hooks = command(HookEvent::PreToolUse, "touch started; sleep 1000");
    let stop = bench.cx.stop.clone();
    let occasion = before("Bash");
    let stopping = async {
        until("the start", || bench.path("started").exists()).await;
        stop.cancel();
    };
    let (merged, ()) = tokio::join!(hooks.fire(&occasion, &bench.cx), stopping);
    assert!(!merged.is_blocked() && merged.errors.len() == 1);
    assert_eq!(bench.running(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nobody_waits_for_what_a_program_leaves_behind_and_the_session_ends_it() {
    let bench = Bench::new();
    let hooks = command(HookEvent::UserPromptSubmit, "setsid sleep 1000 & echo started");
    let merged = hooks.fire(&prompt(), &bench.cx).await;
    assert_eq!(merged.context, ["UserPromptSubmit hook additional context: started"]);
    until("the daemon", || bench.running() == 1).await;
    hooks.shutdown().await;
    assert_eq!(bench.running(), 0);
}

#[tokio::test]
async fn a_flood_of_bytes_is_read_and_mostly_forgotten() {
    let bench = Bench::new();
    let script = "head -c 100000000 /dev/urandom; head -c 3000000 /dev/zero >&2; exit 2";
    let merged = fire(&bench, &command(HookEvent::UserPromptSubmit, script), &prompt()).await;
    assert!(merged.is_blocked());
    let notices = taken(&bench.notices);
    let Some(HookNotice::Response { stderr, exit_code: Some(2), .. }) = notices.last() else {
        panic!("{:?}", notices.len());
    };
    assert_eq!(stderr.len(), 1 << 20);
    // The reason is cut, and the rest of what was kept is in a file.
    let objection = merged.objection().unwrap();
    assert!(objection.len() < 11_000, "{}", objection.len());
    let kept = bench.env.path("spool/hooks").read_dir().unwrap().count();
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a_program_that_does_not_listen_is_no_failure() {
    let bench = Bench::new();
    let long =
        Occasion::UserPromptSubmit { prompt: "x".repeat(3_000_000), source: None, session_title: None };
    for script in ["exec 0<&-; echo fine", "echo fine", "head -c 10 >/dev/null; echo fine"] {
        let merged = fire(&bench, &command(HookEvent::UserPromptSubmit, script), &long).await;
        assert_eq!(merged.context, ["UserPromptSubmit hook additional context: fine"], "{script}");
        assert_eq!(merged.errors, [""; 0]);
    }
}

#[tokio::test]
async fn the_environment_says_where_it_runs() {
    let mut bench = Bench::new();
    bench.cx.env_file = Some(bench.env.path("session/env.sh"));
    let plugin = PluginEnv {
        root: "/plugins/p".into(),
        data: "/data/p".into(),
        options: vec![("api-key".into(), "k".into())],
    };
    let from_plugin = Arc::new(HookSource { plugin: Some(plugin), ..HookSource::default() });
    let script = r#"echo "$CLAUDE_PROJECT_DIR,$CLAUDE_CODE_SESSION_ID,$CLAUDE_EFFORT,$CLAUDECODE,$CLAUDE_CODE_CHILD_SESSION,$CLAUDE_CODE_ENTRYPOINT,$CLAUDE_PLUGIN_ROOT,$CLAUDE_PLUGIN_DATA,$CLAUDE_PLUGIN_OPTION_API_KEY,$PWD,$((CLAUDE_PID > 0))"; echo "single '${CLAUDE_PLUGIN_ROOT}'"; echo export A=1 > "$CLAUDE_ENV_FILE""#;
    let written = groups(&json!({"SessionStart": [{"hooks": [{"type": "command", "command": script}]}]}));
    let hooks = Hooks::new(HookPolicy::default(), [(from_plugin, written)], []);
    let merged = fire(&bench, &hooks, &startup()).await;
    let project = bench.cx.project_dir.display().to_string();
    let want = format!(
        "SessionStart hook additional context: {project},session-1,high,1,1,cli,/plugins/p,/data/p,k,{project},1\n\
         single '/plugins/p'"
    );
    assert_eq!((merged.context, merged.errors), (vec![want], vec![]));
    assert_eq!(bench.env.read("session/env.sh"), "export A=1\n");
    // Other events have no such file.
    let merged =
        fire(&bench, &command(HookEvent::UserPromptSubmit, "echo \"<$CLAUDE_ENV_FILE>\""), &prompt()).await;
    assert_eq!(merged.context, ["UserPromptSubmit hook additional context: <>"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn handlers_in_the_background_are_not_waited_for_and_write_in_the_end() {
    let bench = Bench::new();
    let wait = "while [ ! -e go ]; do sleep 0.02; done";
    let handlers = json!([
        {"type": "command", "command": format!("{wait}; echo broken >&2; exit 2"), "asyncRewake": true},
        {"type": "command", "command": format!("{wait}; echo '{{\"systemMessage\":\"done\"}}'"), "async": true},
        {"type": "command", "command": format!("echo '{{\"async\":true}}'; {wait}; echo more"), "timeout": 30},
    ]);
    let hooks = hooks(&json!({"PreToolUse": [{"hooks": handlers}]}));
    let merged = hooks.fire(&before("Bash"), &bench.cx).await;
    assert!(nothing(&merged), "{merged:?}");
    assert_eq!(taken(&bench.mail), []);
    std::fs::write(bench.path("go"), "").unwrap();
    until("three ends", || {
        let notices = bench.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.iter().filter(|notice| matches!(notice, HookNotice::Response { .. })).count() == 3
    })
    .await;
    until("the mail", || bench.mail.lock().unwrap_or_else(PoisonError::into_inner).len() == 2).await;
    let mut mail = taken(&bench.mail);
    mail.sort_by_key(|mail| mail.wakes);
    assert_eq!(mail[0].text, "PreToolUse hook additional context: done");
    assert!(mail[1].wakes && mail[1].text.ends_with("]: broken"), "{mail:?}");
    hooks.shutdown().await;
    assert_eq!(bench.running(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_end_of_a_session_ends_what_runs_in_the_background() {
    let bench = Bench::new();
    let handler = json!({"type": "command", "command": "setsid sleep 1000; sleep 1000", "async": true});
    let hooks = hooks(&json!({"PreToolUse": [{"hooks": [handler]}]}));
    hooks.fire(&before("Bash"), &bench.cx).await;
    until("the start", || bench.running() > 0).await;
    hooks.shutdown().await;
    assert_eq!(bench.running(), 0);
}

#[tokio::test]
async fn everybody_runs_at_once_and_answers_in_order() {
    let bench = Bench::new();
    // The first waits for the second.
    let handlers = json!([
        {"type": "command", "command": "while [ ! -e second ]; do sleep 0.02; done; echo one", "timeout": 30},
        {"type": "command", "command": "touch second; echo two"},
    ]);
    let merged = fire(&bench, &hooks(&json!({"UserPromptSubmit": [{"hooks": handlers}]})), &prompt()).await;
    let context = |text: &str| format!("UserPromptSubmit hook additional context: {text}");
    assert_eq!(merged.context, [context("one"), context("two")]);
}
