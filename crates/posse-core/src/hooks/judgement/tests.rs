use super::*;

#[test]
fn a_judgement_is_found_in_whatever_is_around_it() {
    for said in [
        r#"{"ok": false, "reason": "R"}"#,
        "```json\n{\"ok\": false, \"reason\": \"R\"}\n```",
        r#"Well {that} is: {"note": {"ok": 5}} {"ok": "false", "reason": "R"} I think."#,
    ] {
        let answer = read(HookEvent::Stop, said, false);
        assert_eq!(answer.block, Some(Block { reason: "R".into(), by_exit: false }), "{said}");
    }
    for said in ["", "ok", "{", "{\"ok\": 1}", "[true]"] {
        let answer = read(HookEvent::Stop, said, false);
        assert_eq!((answer.errors.len(), answer.block), (1, None), "{said}");
    }
    assert_eq!(read(HookEvent::Stop, r#"{"ok": true, "reason": "R"}"#, false), Answer::default());
}

#[test]
fn a_no_means_what_the_event_makes_of_it() {
    let no = r#"{"ok": false, "reason": "R"}"#;
    for event in HookEvent::ALL.iter().copied() {
        let (ends, goes_on) = (read(event, no, false), read(event, no, true));
        let decided = |answer: &Answer| {
            answer.block.is_some() || answer.permission.is_some() || answer.request.is_some()
        };
        match event {
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure => {
                assert_eq!((ends.stop.as_deref(), goes_on.stop.as_deref()), (Some("R"), None));
                assert!(!decided(&ends) && decided(&goes_on));
            }
            _ => {
                assert_eq!(ends, goes_on, "{event:?}");
                let objection = event.facts().objection;
                let blocks = matches!(objection, Objection::Blocks | Objection::AnyFailureBlocks);
                assert_eq!(decided(&ends), blocks || event == HookEvent::PermissionRequest, "{event:?}");
            }
        }
    }
}

#[test]
fn what_is_impossible_is_not_demanded() {
    let answer = read(HookEvent::Stop, r#"{"ok": false, "reason": "R", "impossible": true}"#, false);
    assert_eq!(answer, Answer { system_message: Some("R".into()), ..Answer::default() });
}
