use serde_json::json;

use super::*;

fn answer(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> Answer {
    read(event, &Exit::Code(code), stdout, stderr)
}

/// What came of it, in a few words.
fn shown(answer: &Answer) -> String {
    let mut words = Vec::new();
    if let Some(block) = &answer.block {
        words.push(format!("block({}{})", if block.by_exit { "exit: " } else { "" }, block.reason));
    }
    if let Some((verdict, reason)) = &answer.permission {
        words.push(format!("{verdict:?}({})", reason.as_deref().unwrap_or_default()));
    }
    words.extend(answer.context.iter().map(|text| format!("context({text})")));
    words.extend(answer.stop.iter().map(|text| format!("stop({text})")));
    words.extend(answer.errors.iter().map(|text| format!("error({text})")));
    words.join(" ")
}

#[test]
fn exit_code_2_does_what_the_table_says() {
    for event in HookEvent::ALL.iter().copied() {
        let want = match event {
            HookEvent::PreToolUse
            | HookEvent::UserPromptSubmit
            | HookEvent::Stop
            | HookEvent::SubagentStop
            | HookEvent::PreCompact
            | HookEvent::TeammateIdle
            | HookEvent::TaskCreated
            | HookEvent::TaskCompleted
            | HookEvent::Elicitation
            | HookEvent::ElicitationResult
            | HookEvent::ConfigChange
            | HookEvent::WorktreeCreate
            | HookEvent::UserPromptExpansion
            | HookEvent::PostToolBatch
            | HookEvent::PreModelSwitch
            // Too late to prevent anything, but the model is told.
            | HookEvent::PostToolUse
            | HookEvent::PostToolUseFailure => "block(exit: why)",
            HookEvent::StopFailure => "",
            _ => "error(why)",
        };
        assert_eq!(shown(&answer(event, 2, "", " why\n")), want, "{event:?}");
        let error = if event == HookEvent::StopFailure { "" } else { "error(exit code 3: why)" };
        let error = if event == HookEvent::WorktreeCreate { "block(exit: why)" } else { error };
        assert_eq!(shown(&answer(event, 3, "", "why")), error, "{event:?}");
    }
}

#[test]
fn json_counts_on_every_exit_code_and_exit_code_2_over_json() {
    let deny = r#" {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",
        "permissionDecisionReason":"J"}}"#;
    let allow = deny.replace("\"deny\"", "\"allow\"");
    for (code, stdout, want) in [
        (0, deny, "Deny(J)"),
        (1, deny, "Deny(J)"),
        (2, deny, "Deny(J)"),
        (0, allow.as_str(), "Allow(J)"),
        (1, &allow, "Allow(J)"),
        (2, &allow, "block(exit: E)"),
        (0, r#"{"decision":"block","reason":"R"}"#, "block(R)"),
        (1, r#"{"decision":"block","reason":"R"}"#, "block(R)"),
        (2, r#"{"decision":"block","reason":"R"}"#, "block(R)"),
        (0, r#"{"decision":"approve","reason":"R"}"#, "Allow(R)"),
        (2, r#"{"decision":"approve","reason":"R"}"#, "block(exit: E)"),
        (0, "{}", ""),
        (1, "{}", ""),
        (2, "{}", "block(exit: E)"),
        (0, "plain", ""),
        (1, "plain", "error(exit code 1: E)"),
        (0, "{not json}", ""),
        (1, "{not json}", "error(exit code 1: E)"),
        (0, "[1]", ""),
        (0, r#"{"continue":false,"stopReason":"S"}"#, "stop(S)"),
        (0, r#"{"continue":false}"#, "stop()"),
        (0, r#"{"continue":true}"#, ""),
    ] {
        assert_eq!(shown(&answer(HookEvent::PreToolUse, code, stdout, "E")), want, "{code} {stdout}");
    }
}

#[test]
fn an_answer_to_another_event_is_ignored_as_a_whole() {
    for specific in [r#"{"hookEventName":"PostToolUse","permissionDecision":"deny"}"#, "{}", "5"] {
        let stdout = format!(r#"{{"systemMessage":"m","continue":false,"hookSpecificOutput":{specific}}}"#);
        let said = answer(HookEvent::PreToolUse, 0, &stdout, "");
        assert_eq!((said.errors.len(), &said.stop, &said.system_message), (1, &None, &None), "{specific}");
        assert_eq!(said.permission, None);
        assert_eq!(
            shown(&Answer { errors: vec![], ..answer(HookEvent::PreToolUse, 2, &stdout, "E") }),
            "block(exit: E)"
        );
        assert_eq!(answer(HookEvent::PreToolUse, 1, &stdout, "E").errors.len(), 2);
    }
}

#[test]
fn a_field_of_the_wrong_kind_costs_only_itself() {
    let stdout = r#"{"systemMessage":5,"continue":"no","decision":"maybe","hookSpecificOutput":{
        "hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r","updatedInput":3}}"#;
    let said = answer(HookEvent::PreToolUse, 0, stdout, "");
    assert_eq!(said.errors.len(), 4, "{said:?}");
    assert_eq!((said.permission, said.updated_input), (Some((Verdict::Deny, Some("r".into()))), None));
}

#[test]
fn plain_text_reaches_the_model_at_three_events() {
    for event in HookEvent::ALL.iter().copied() {
        let said = answer(event, 0, " some text\n", "");
        let is_context = matches!(
            event,
            HookEvent::UserPromptSubmit | HookEvent::UserPromptExpansion | HookEvent::SessionStart
        );
        assert_eq!(said.context.as_deref(), is_context.then_some("some text"), "{event:?}");
        assert_eq!(said.errors, [""; 0]);
    }
}

#[test]
fn every_field_of_the_table_is_read_at_its_event_and_at_no_other() {
    let all = json!({
        "additionalContext": "c", "classifierContext": "k", "permissionDecision": "ask",
        "permissionDecisionReason": "r", "updatedInput": {"a": 1}, "updatedToolOutput": "o",
        "updatedMCPToolOutput": [1], "decision": {"behavior": "allow"}, "initialUserMessage": "i",
        "sessionTitle": "t", "suppressOriginalPrompt": true, "reloadSkills": true, "retry": true,
        "watchPaths": ["/w"], "worktreePath": "/p", "action": "accept", "content": {"x": 1}, "displayContent": "d",
    });
    for event in HookEvent::ALL.iter().copied() {
        let mut specific = all.clone();
        specific["hookEventName"] = json!(event.name());
        let said = answer(event, 0, &json!({"hookSpecificOutput": specific}).to_string(), "");
        let read: Vec<&str> = [
            ("additionalContext", said.context.is_some()),
            ("classifierContext", said.classifier_context.is_some()),
            ("permissionDecision", said.permission.is_some()),
            ("updatedInput", said.updated_input.is_some()),
            ("updatedToolOutput", said.updated_output.is_some()),
            ("updatedMCPToolOutput", said.updated_mcp_output.is_some()),
            ("decision", said.request.is_some()),
            ("initialUserMessage", said.initial_user_message.is_some()),
            ("sessionTitle", said.session_title.is_some()),
            ("suppressOriginalPrompt", said.suppress_original_prompt),
            ("reloadSkills", said.reload_skills),
            ("retry", said.retry),
            ("watchPaths", said.watch_paths.is_some()),
            ("worktreePath", said.worktree_path.is_some()),
            ("action", said.elicitation.is_some()),
            ("displayContent", said.display_content.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_read)| is_read.then_some(name))
        .collect();
        let mut want = event.facts().outputs.to_vec();
        want.retain(|name| !matches!(*name, "permissionDecisionReason" | "content"));
        want.sort_unstable();
        let mut read = read;
        read.sort_unstable();
        assert_eq!((read, said.errors), (want, vec![]), "{event:?}");
    }
}

#[test]
fn what_is_no_exit_code_is_an_error_and_decides_nothing() {
    let deny = r#"{"decision":"block","reason":"R"}"#;
    for exit in [
        Exit::Signal(9),
        Exit::TimedOut(Duration::from_secs(1)),
        Exit::Stopped,
        Exit::Failed("not found".into()),
    ] {
        let said = read(HookEvent::PreToolUse, &exit, deny, "");
        assert_eq!((said.errors.len(), said.block, said.permission), (1, None, None), "{exit:?}");
        assert!(read(HookEvent::WorktreeCreate, &exit, "/w", "").block.is_some());
    }
}

#[test]
fn a_permission_request_is_decided_by_an_object_only() {
    let event = HookEvent::PermissionRequest;
    let with = |decision: Value| {
        let specific = json!({"hookEventName": "PermissionRequest", "decision": decision});
        answer(event, 0, &json!({ "hookSpecificOutput": specific }).to_string(), "")
    };
    let allow =
        with(json!({"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": [{"x": 1}]}));
    let want = RequestDecision::Allow {
        updated_input: Some(json!({"a": 1})),
        updated_permissions: Some(json!([{"x": 1}])),
    };
    assert_eq!(allow.request, Some(want));
    let deny = with(json!({"behavior": "deny", "message": "no", "interrupt": true}));
    assert_eq!(deny.request, Some(RequestDecision::Deny { message: Some("no".into()), interrupt: true }));
    for wrong in [json!("allow"), json!({"behavior": "perhaps"}), json!({})] {
        let said = with(wrong);
        assert_eq!((said.request, said.errors.len()), (None, 1));
    }
    assert_eq!(shown(&answer(event, 2, "", "no")), "error(no)");
}

#[test]
fn a_worktree_is_the_last_line_or_a_field_and_must_be_there() {
    let event = HookEvent::WorktreeCreate;
    assert_eq!(answer(event, 0, "cloning\n/tmp/w \n\n", "").worktree_path.as_deref(), Some("/tmp/w"));
    assert!(answer(event, 0, " \n", "").block.is_some());
    assert!(answer(event, 0, "{}", "").block.is_some());
    assert_eq!(answer(event, 1, "/tmp/w", "no").worktree_path, None);
}

#[test]
fn a_handler_can_say_that_it_goes_on_alone() {
    let said =
        answer(HookEvent::PreToolUse, 0, r#"{"async":true,"asyncTimeout":1500,"decision":"block"}"#, "");
    assert_eq!((said.detached, said.block), (Some(Some(Duration::from_millis(1500))), None));
    for (line, want) in [
        (r#"{"async":true}"#, Some(None)),
        (r#"{"async":false}"#, None),
        (r#"{"async":"true"}"#, None),
        ("async", None),
    ] {
        assert_eq!(detaches(line), want, "{line}");
    }
}

#[test]
fn long_texts_are_cut_and_the_whole_is_kept() {
    let long = "ä".repeat(MOST_CHARACTERS + 5);
    let stdout = json!({"systemMessage": long, "decision": "block", "reason": long}).to_string();
    let mut said = answer(HookEvent::Stop, 0, &stdout, "");
    let mut kept = Vec::new();
    said.cap(&mut |whole| {
        kept.push(whole.chars().count());
        Some("/spool/1".into())
    });
    assert_eq!(kept, [MOST_CHARACTERS + 5; 2]);
    let note = "\n[5 more characters are left out; the whole is in /spool/1]";
    let message = said.system_message.unwrap();
    assert!(message.ends_with(note) && message.starts_with(&"ä".repeat(MOST_CHARACTERS)));
    assert!(said.block.unwrap().reason.ends_with(note));
    let mut short = Answer { context: Some("x".repeat(MOST_CHARACTERS)), ..Answer::default() };
    short.cap(&mut |_| panic!("nothing to keep"));
}
