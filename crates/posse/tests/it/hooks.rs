//! The matrix of hooks: every event that posse has an occasion for, with the real binary. It fires as often as it should,
//! with the fields it is documented with, and where it can prevent something, it does.

mod blocking;
mod hostile;

use posse_core::hooks::HookEvent;
use posse_testkit::server::{Answer, MessagesReply};
use posse_testkit::{FakeModel, Output};
use serde_json::json;

use super::*;

/// Writes down what it is told, one line each; one write, so that hooks side by side do not mix.
const HEAR: &str = r#"printf '%s\n' "$(cat)" >> "$HOME/heard.jsonl""#;

const MODEL: [&str; 2] = ["--model", "rehearsal:script.yaml"];

/// A world with user settings, and a script for a model.
fn world(settings: &Value, script: &str) -> TestEnv {
    let mut env = env();
    env.set("TERM", "dumb");
    env.write("home/.claude/settings.json", settings.to_string());
    env.write("project/script.yaml", script);
    env.write("project/a.txt", "hello\n");
    env
}

fn command(command: &str) -> Value {
    json!({ "type": "command", "command": command })
}

fn at(event: HookEvent, handler: &Value) -> Value {
    json!({ "hooks": { event.name(): [{ "hooks": [handler] }] } })
}

/// Somebody listens to everything.
fn listening() -> Value {
    let all = HookEvent::ALL.iter().map(|event| {
        // The matcher of this one is the list of names to watch.
        let matcher = if *event == HookEvent::FileChanged { "watched.txt|sync.txt" } else { "" };
        (event.name().to_owned(), json!([{ "matcher": matcher, "hooks": [command(HEAR)] }]))
    });
    json!({ "hooks": all.collect::<serde_json::Map<_, _>>() })
}

fn run(env: &TestEnv, args: &[&str]) -> Output {
    env.posse(&[args, &MODEL[..]].concat())
}

fn heard(env: &TestEnv) -> Vec<Value> {
    let text = std::fs::read_to_string(env.path("home/heard.jsonl")).unwrap_or_default();
    env.normalize(text.as_bytes()).lines().map(json).collect()
}

/// What must have been heard: an event, what tells it from others of its kind, how often, and what it says.
struct Row {
    event: HookEvent,
    which: (&'static str, Value),
    times: usize,
    /// Fields besides the common ones; one that ends in `?` may be absent.
    keys: &'static [&'static str],
    values: Vec<(&'static str, Value)>,
}

fn row(event: HookEvent, keys: &'static [&'static str]) -> Row {
    Row { event, which: ("/hook_event_name", event.name().into()), times: 1, keys, values: Vec::new() }
}

impl Row {
    fn which(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.which = (pointer, value.into());
        self
    }

    fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    fn says(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((pointer, value.into()));
        self
    }
}

const COMMON: [&str; 4] = ["session_id", "transcript_path", "cwd", "hook_event_name"];
/// Told where they apply.
const SOMETIMES: [&str; 4] = ["prompt_id", "permission_mode", "effort", "agent_type"];

/// One function knows how an input is looked at.
fn check(scene: &str, heard: &[Value], rows: &[Row]) {
    for Row { event, which: (pointer, value), times, keys, values } in rows {
        let name = event.name();
        let meant: Vec<&Value> = heard
            .iter()
            .filter(|input| input["hook_event_name"] == name && input.pointer(pointer) == Some(value))
            .collect();
        assert_eq!(meant.len(), *times, "{scene}: {name} with {value}: {heard:#?}");
        for input in meant {
            let fields = input.as_object().expect("an object");
            for key in COMMON.iter().chain(*keys).filter(|key| !key.ends_with('?')) {
                assert!(fields.contains_key(*key), "{scene}: {name} lacks {key}: {input:#}");
            }
            let known = |key: &str| {
                let listed = keys.iter().any(|known| known.trim_end_matches('?') == key);
                listed || COMMON.contains(&key) || SOMETIMES.contains(&key)
            };
            for key in fields.keys() {
                assert!(known(key), "{scene}: {name} tells {key}, which is not documented: {input:#}");
            }
            for (pointer, value) in values {
                assert_eq!(input.pointer(pointer), Some(value), "{scene}: {name} {pointer}: {input:#}");
            }
        }
    }
}

/// Where an event is seen to fire.
enum Place {
    /// In this test.
    In(&'static str),
    /// Nowhere, because there is no occasion yet. `posse_runtime::hooks` tests what its handlers would be told.
    Waits(&'static str),
}

/// The matrix: whoever adds an event is asked here.
fn place(event: HookEvent) -> Place {
    use HookEvent as E;
    match event {
        E::SessionStart
        | E::UserPromptSubmit
        | E::PreToolUse
        | E::PostToolUse
        | E::PostToolUseFailure
        | E::PostToolBatch
        | E::TaskCreated
        | E::TaskCompleted
        | E::CwdChanged
        | E::MessageDisplay
        | E::InstructionsLoaded
        | E::Stop
        | E::SessionEnd => Place::In("a_task_with_tools"),
        E::Setup | E::StopFailure => Place::In("sessions_begin_and_fail"),
        E::PreCompact | E::PostCompact => Place::In("a_conversation_is_summarised"),
        E::PermissionRequest | E::PermissionDenied => Place::In("permissions_are_asked_for_and_denied"),
        E::DirectoryAdded => Place::In("a_hook_may_open_a_folder"),
        E::FileChanged | E::ConfigChange => Place::In("files_and_settings_are_watched"),
        E::Notification | E::PreModelSwitch | E::PostModelSwitch => Place::In("at_a_terminal"),
        E::SubagentStart | E::SubagentStop => Place::In("agents_begin_and_end"),
        E::TeammateIdle => Place::Waits("there are no teams yet"),
        E::Elicitation | E::ElicitationResult => Place::Waits("there is no MCP client yet"),
        E::WorktreeCreate | E::WorktreeRemove => Place::In("hooks_make_and_remove_worktrees"),
        E::UserPromptExpansion => Place::Waits("no command expands to a prompt yet"),
    }
}

const EVERYTHING: &str = "
- say: I will look.
  calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}, {Read: {file_path: \"{{cwd}}/missing.txt\"}}]
- calls: [{TaskCreate: {subject: Paint it, description: all of it}}]
- calls: [{TaskUpdate: {taskId: '1', status: completed}}]
- calls: [{Bash: {command: cd sub}}]
- say: Done.
";

const TOOL: &[&str] = &["tool_name", "tool_input", "tool_use_id"];
const STOPPING: &[&str] =
    &["stop_hook_active", "last_assistant_message?", "background_tasks", "session_crons"];

#[test]
fn agents_begin_and_end() {
    let script = "
- calls: [{Agent: {description: look, prompt: Look., subagent_type: scout}}]
- calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}]
- say: Report.
- say: Done.
";
    let env = world(&listening(), script);
    env.agent("scout.md", "---\nname: scout\ndescription: Looks\ntools: Read\n---\nBe a scout.\n");
    assert_eq!(run(&env, &["-p", "go"]).success(), "Done.\n");
    let heard = heard(&env);
    let of_agent = &["tool_name", "tool_input", "tool_use_id", "agent_id", "tool_response?", "duration_ms?"];
    let stop = &[
        "agent_id",
        "agent_type",
        "agent_transcript_path",
        "stop_hook_active",
        "last_assistant_message?",
        "background_tasks",
        "session_crons",
    ];
    check(
        "agents begin and end",
        &heard,
        &[
            row(HookEvent::SubagentStart, &["agent_id", "agent_type"]).says("/agent_type", "scout"),
            row(HookEvent::PreToolUse, of_agent).which("/tool_name", "Read").says("/agent_type", "scout"),
            row(HookEvent::PostToolUse, of_agent).which("/tool_name", "Read").says("/agent_type", "scout"),
            row(HookEvent::PreToolUse, TOOL).which("/tool_name", "Agent").says("/tool_input/prompt", "Look."),
            row(HookEvent::SubagentStop, stop)
                .says("/agent_type", "scout")
                .says("/stop_hook_active", false)
                .says("/last_assistant_message", "Report."),
            // The agent's own beginning and end are nobody else's.
            row(HookEvent::UserPromptSubmit, &["prompt"]).says("/prompt", "go"),
            row(HookEvent::Stop, STOPPING).says("/last_assistant_message", "Done."),
        ],
    );
    let ids: Vec<&Value> = heard.iter().map(|input| &input["agent_id"]).filter(|id| !id.is_null()).collect();
    assert!(ids.len() >= 4 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let stop = heard.iter().find(|input| input["hook_event_name"] == "SubagentStop").unwrap();
    let path = stop["agent_transcript_path"].as_str().unwrap();
    assert!(path.ends_with(&format!("/subagents/agent-{}.jsonl", ids[0].as_str().unwrap())), "{path}");
}

#[test]
fn hooks_make_and_remove_worktrees() {
    let script = "
- calls: [{Agent: {description: look, prompt: Look., subagent_type: scout, isolation: worktree}}]
- say: Report.
- say: Done.
";
    let mut settings = listening();
    let makes = format!("{HEAR}; mkdir \"$HOME/copy\"; echo \"$HOME/copy\"");
    let removes = format!("{HEAR}; rmdir \"$HOME/copy\"");
    settings["hooks"]["WorktreeCreate"] = json!([{ "hooks": [command(&makes)] }]);
    settings["hooks"]["WorktreeRemove"] = json!([{ "hooks": [command(&removes)] }]);
    let env = world(&settings, script);
    env.agent("scout.md", "---\nname: scout\ndescription: Looks\ntools: Read\n---\nBe a scout.\n");
    assert_eq!(run(&env, &["-p", "go"]).success(), "Done.\n");
    let heard = heard(&env);
    check(
        "worktrees by hooks",
        &heard,
        &[
            row(HookEvent::WorktreeCreate, &["name"]).says("/cwd", "$ENV/project"),
            row(HookEvent::SubagentStart, &["agent_id", "agent_type"]).says("/cwd", "$ENV/home/copy"),
            row(HookEvent::WorktreeRemove, &["worktree_path", "agent_id"])
                .says("/worktree_path", "$ENV/home/copy"),
        ],
    );
    assert!(!env.path("home/copy").exists());
}

#[test]
fn a_task_with_tools() {
    let env = world(&listening(), EVERYTHING);
    env.write("project/sub/b.txt", "");
    env.write("project/CLAUDE.md", "Be kind. See @more.md\n");
    env.write("project/more.md", "Very kind.\n");
    env.write("project/CLAUDE.local.md", "And quick.\n");
    let output = run(&env, &["-p", "go", "--allowedTools", "Bash", "--effort", "high"]);
    assert_eq!(output.success(), "Done.\n");
    let heard = heard(&env);
    let done =
        |event| row(event, &["tool_name", "tool_input", "tool_use_id", "tool_response", "duration_ms?"]);
    let loaded = |keys| row(HookEvent::InstructionsLoaded, keys);
    let file = &["file_path", "memory_type", "load_reason"];
    let task = &["task_id", "task_subject", "task_description?"];
    check(
        "a task with tools",
        &heard,
        &[
            row(HookEvent::SessionStart, &["source", "model"])
                .says("/source", "startup")
                .says("/model", "rehearsal:script.yaml"),
            row(HookEvent::UserPromptSubmit, &["prompt"])
                .says("/prompt", "go")
                .says("/permission_mode", "default"),
            row(HookEvent::PreToolUse, TOOL)
                .times(2)
                .which("/tool_name", "Read")
                .says("/effort/level", "high"),
            row(HookEvent::PreToolUse, TOOL)
                .which("/tool_input/command", "cd sub")
                .says("/tool_name", "Bash"),
            done(HookEvent::PostToolUse)
                .which("/tool_name", "Read")
                .says("/tool_input/file_path", "$ENV/project/a.txt"),
            done(HookEvent::PostToolUse).which("/tool_name", "Bash").says("/cwd", "$ENV/project/sub"),
            row(
                HookEvent::PostToolUseFailure,
                &["tool_name", "tool_input", "tool_use_id", "error", "duration_ms?", "is_interrupt?"],
            )
            .says("/tool_input/file_path", "$ENV/project/missing.txt"),
            row(HookEvent::PostToolBatch, &["tool_calls"]).times(4),
            row(HookEvent::PostToolBatch, &["tool_calls"])
                .which("/tool_calls/0/tool_name", "Read")
                .says("/tool_calls/1/tool_input/file_path", "$ENV/project/missing.txt"),
            row(HookEvent::TaskCreated, task).says("/task_id", "1").says("/task_subject", "Paint it"),
            row(HookEvent::TaskCompleted, task).says("/task_id", "1"),
            row(HookEvent::CwdChanged, &["old_cwd", "new_cwd"])
                .says("/old_cwd", "$ENV/project")
                .says("/new_cwd", "$ENV/project/sub"),
            row(HookEvent::MessageDisplay, &["turn_id", "message_id", "index", "final", "delta"]).times(2),
            row(HookEvent::MessageDisplay, &["turn_id", "message_id", "index", "final", "delta"])
                .which("/delta", "Done.")
                .says("/final", true)
                .says("/index", 0),
            loaded(file)
                .which("/file_path", "$ENV/project/CLAUDE.md")
                .says("/memory_type", "Project")
                .says("/load_reason", "session_start"),
            loaded(&["file_path", "memory_type", "load_reason", "parent_file_path"])
                .which("/file_path", "$ENV/project/more.md")
                .says("/load_reason", "include")
                .says("/parent_file_path", "$ENV/project/CLAUDE.md"),
            loaded(file).which("/file_path", "$ENV/project/CLAUDE.local.md").says("/memory_type", "Local"),
            row(HookEvent::Stop, STOPPING)
                .says("/stop_hook_active", false)
                .says("/last_assistant_message", "Done."),
            row(HookEvent::SessionEnd, &["reason"]).says("/reason", "other"),
        ],
    );
    // Nothing else happened, and everything belongs to one session.
    let session = &heard[0]["session_id"];
    assert!(heard.iter().all(|input| &input["session_id"] == session));
    for event in HookEvent::ALL {
        let happened = heard.iter().any(|input| input["hook_event_name"] == event.name());
        match place(*event) {
            Place::In(test) => assert_eq!(happened, test == "a_task_with_tools", "{}", event.name()),
            Place::Waits(why) => assert!(!happened, "{} has an occasion after all ({why})", event.name()),
        }
    }
}

#[test]
fn sessions_begin_and_fail() {
    let env = world(&listening(), "[]");
    let _ = run(&env, &["--init-only"]);
    check("init", &heard(&env), &[row(HookEvent::Setup, &["trigger"]).says("/trigger", "init")]);
    let (_, _) = run(&env, &["-p", "go", "--maintenance"]).fails_with(1);
    check(
        "failure",
        &heard(&env),
        &[
            row(HookEvent::Setup, &["trigger"]).which("/trigger", "maintenance"),
            row(HookEvent::StopFailure, &["error", "error_details?", "last_assistant_message?"]),
            row(HookEvent::Stop, STOPPING).times(0),
        ],
    );
    env.write("project/script.yaml", "- say: Hi.\n");
    let _ = run(&env, &["-p", "hello", "--continue"]).success();
    let _ = run(&env, &["-p", "hello", "--continue", "--fork-session"]).success();
    let start = |source: &str| row(HookEvent::SessionStart, &["source", "model"]).which("/source", source);
    check("sources", &heard(&env), &[start("startup").times(2), start("resume"), start("fork")]);
}

#[test]
fn a_conversation_is_summarised() {
    let env = world(&listening(), "- say: Hi.\n");
    env.write("project/CLAUDE.md", "Be kind.\n");
    let _ = run(&env, &["-p", "hello"]).success();
    std::fs::remove_file(env.path("home/heard.jsonl")).unwrap();
    env.write("project/script.yaml", "- say: A summary.\n");
    assert_eq!(run(&env, &["-p", "/compact the names", "-c"]).success(), "Conversation compacted.\n");
    check(
        "by hand",
        &heard(&env),
        &[
            row(HookEvent::PreCompact, &["trigger", "custom_instructions"])
                .says("/trigger", "manual")
                .says("/custom_instructions", "the names"),
            row(HookEvent::PostCompact, &["trigger", "compact_summary"])
                .says("/trigger", "manual")
                .says("/compact_summary", "A summary."),
            row(HookEvent::SessionStart, &["source", "model"]).which("/source", "compact"),
            row(HookEvent::InstructionsLoaded, &["file_path", "memory_type", "load_reason"])
                .which("/load_reason", "compact"),
        ],
    );
}

/// A model on the wire that asks for a file and says that the window is nearly full.
fn nearly_full() -> FakeModel {
    let read = MessagesReply::new().tool("t1", "Read", &json!({ "file_path": "a.txt" }));
    let say = |text: &str| MessagesReply::new().text(text).usage(100, 10).answer();
    FakeModel::answering(move |request| {
        let text = request.body["messages"].to_string();
        if text.contains("tool_result") && !text.contains("A summary.") {
            // Either the summary is asked for, or hooks would not have it.
            let asks = request.body["messages"].as_array().and_then(|all| all.last()).map(Value::to_string);
            let is_summary = asks.is_some_and(|last| last.to_lowercase().contains("summar"));
            return say(if is_summary { "A summary." } else { "Unsummarised." });
        }
        if text.contains("A summary.") { say("Done.") } else { read.clone().usage(190_000, 10).answer() }
    })
}

fn over_http(env: &mut TestEnv, server: &FakeModel, args: &[&str]) -> Output {
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "sk-ant-key");
    env.posse(args)
}

#[test]
fn a_full_window_is_summarised_by_itself() {
    let (mut env, server) = (world(&listening(), "[]"), nearly_full());
    env.write("project/CLAUDE.md", "Be kind.\n");
    assert_eq!(over_http(&mut env, &server, &["-p", "go"]).success(), "Done.\n");
    check(
        "by itself",
        &heard(&env),
        &[
            row(HookEvent::PreCompact, &["trigger", "custom_instructions"])
                .says("/trigger", "auto")
                .says("/custom_instructions", Value::Null),
            row(HookEvent::PostCompact, &["trigger", "compact_summary"]).says("/trigger", "auto"),
            row(HookEvent::SessionStart, &["source", "model"]).which("/source", "compact"),
        ],
    );
    // What the first message told of the project is told again.
    let last = server.requests().last().unwrap().body["messages"].to_string();
    assert!(last.contains("A summary.") && last.contains("Be kind."), "{last}");
}

#[test]
fn permissions_are_asked_for_and_denied() {
    let touch = "- calls: [{Bash: {command: touch new.txt}}]\n";
    let env = world(&listening(), &format!("{touch}- say: Done.\n"));
    assert_eq!(run(&env, &["-p", "go"]).success(), "Done.\n");
    let request = &["tool_name", "tool_input", "permission_suggestions?"];
    check(
        "asked",
        &heard(&env),
        &[
            row(HookEvent::PermissionRequest, request).says("/tool_name", "Bash"),
            row(HookEvent::PermissionDenied, &[]).times(0),
        ],
    );
    // In the mode auto the script's next words are those of the model that judges.
    let env = world(&listening(), &format!("{touch}- say: 'VERDICT: ASK no'\n- say: Done.\n"));
    assert_eq!(run(&env, &["-p", "go", "--permission-mode", "auto"]).success(), "Done.\n");
    let denied = row(HookEvent::PermissionDenied, &["tool_name", "tool_input", "tool_use_id", "reason"]);
    check("denied", &heard(&env), &[denied.says("/reason", "no")]);
}

#[test]
fn a_hook_may_open_a_folder() {
    let mut settings = listening();
    let decision = json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": {
        "behavior": "allow",
        "updatedPermissions": [
            { "type": "addDirectories", "directories": ["../elsewhere"], "destination": "session" },
        ],
    } } });
    settings["hooks"]["PermissionRequest"] = json!([{ "hooks": [command(&format!("echo '{decision}'"))] }]);
    let script = "
- calls: [{Write: {file_path: \"{{cwd}}/../elsewhere/new.txt\", content: x}}]
- say: Done.
";
    let env = world(&settings, script);
    env.write("elsewhere/old.txt", "");
    assert_eq!(run(&env, &["-p", "go"]).success(), "Done.\n");
    assert_eq!(env.read("elsewhere/new.txt"), "x");
    let added = row(HookEvent::DirectoryAdded, &["directory", "source"]).says("/source", "slash_command");
    check("a folder", &heard(&env), &[added]);
}

/// A command that waits until hooks have heard of something. Its first letter goes into brackets: hooks hear of this
/// command, too, and it must not find itself.
fn until_heard(what: &str) -> String {
    let (first, rest) = what.split_at(1);
    format!(
        "- calls: [{{Bash: {{command: 'until grep -q \"[{first}]{rest}\" ~/heard.jsonl; do sleep 0.02; done'}}}}]\n"
    )
}

/// Commands that wait until what hooks have heard of has had its effect: files are looked at after settings.
fn settled() -> String {
    let touch = "- calls: [{Bash: {command: echo 1 > sync.txt}}]\n";
    format!("{touch}{}", until_heard("FileChanged.*sync"))
}

#[test]
fn files_and_settings_are_watched() {
    let bash = |command: &str| format!("- calls: [{{Bash: {{command: '{command}'}}}}]\n");
    let script = [
        bash("echo 1 > watched.txt; echo 1 > other.txt"),
        until_heard("FileChanged.*:.add"),
        bash("echo 22 > watched.txt"),
        until_heard("FileChanged.*:.change"),
        bash("rm watched.txt"),
        until_heard("FileChanged.*:.unlink"),
        bash(
            r#"mkdir -p .claude; echo "{\"permissions\": {\"deny\": [\"Read(./a.txt)\"]}}" > .claude/settings.json"#,
        ),
        until_heard("project_settings"),
        settled(),
        "- calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}]\n".to_owned(),
        "- say: Done.\n".to_owned(),
    ];
    let env = world(&listening(), &script.concat());
    let args = ["-p", "go", "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose"];
    let stdout = run(&env, &args).success();
    let heard = heard(&env);
    check(
        "files",
        &heard,
        &[
            row(HookEvent::FileChanged, &["file_path", "event"])
                .times(3)
                .which("/file_path", "$ENV/project/watched.txt"),
            row(HookEvent::ConfigChange, &["source", "file_path"])
                .says("/source", "project_settings")
                .says("/file_path", "$ENV/project/.claude/settings.json"),
        ],
    );
    let events = heard.iter().filter(|input| input["file_path"] == "$ENV/project/watched.txt");
    let events: Vec<&str> = events.filter_map(|input| input["event"].as_str()).collect();
    assert_eq!(events, ["add", "change", "unlink"]);
    // The new rule counts.
    assert!(stdout.contains("Permission to use Read has been denied"), "{stdout}");
}

#[test]
fn at_a_terminal() {
    let script = "- calls: [{Write: {file_path: \"{{cwd}}/new.txt\", content: x}}]\n- say: Written.\n";
    let env = world(&listening(), script);
    env.write("project/other.yaml", "- say: I am another.\n");
    let mut pty = env.at_terminal(&[&MODEL[..], &["write"]].concat());
    pty.expect("? ");
    pty.send("y\n");
    pty.expect("Written.");
    pty.expect("> ");
    pty.send("/model rehearsal:other.yaml\n");
    pty.expect("The model is rehearsal:other.yaml.");
    pty.expect("> ");
    pty.send("who are you?\n");
    pty.expect("I am another.");
    pty.expect("> ");
    pty.send("/clear\n");
    pty.expect("A new conversation begins.");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
    let switched = &[
        "from_model",
        "to_model",
        "requested_model",
        "source",
        "context_tokens",
        "prompt_cache_warm",
        "cache_ttl",
        "estimated_cache_write_usd",
        "pricing",
    ];
    let switch = |event| {
        row(event, switched)
            .says("/from_model", "rehearsal:script.yaml")
            .says("/to_model", "rehearsal:other.yaml")
            .says("/source", "command")
    };
    check(
        "a terminal",
        &heard(&env),
        &[
            row(HookEvent::Notification, &["message", "title?", "notification_type"])
                .says("/notification_type", "permission_prompt"),
            switch(HookEvent::PreModelSwitch),
            switch(HookEvent::PostModelSwitch),
            row(HookEvent::SessionStart, &["source", "model"]).which("/source", "clear"),
            row(HookEvent::SessionEnd, &["reason"]).which("/reason", "clear"),
            row(HookEvent::SessionEnd, &["reason"]).which("/reason", "prompt_input_exit"),
        ],
    );
}

#[test]
fn what_hooks_in_the_background_say_reaches_the_model() {
    let say = |text: &str| MessagesReply::new().text(text).usage(100, 10).answer();
    let read = MessagesReply::new().tool("t1", "Read", &json!({ "file_path": "a.txt" }));
    // The model asks for files until it is told; a model that is never told runs out of turns.
    let server = FakeModel::answering(move |request| -> Answer {
        if request.body["messages"].to_string().contains("the build is broken") {
            say("I see.")
        } else {
            read.clone().answer()
        }
    });
    for handler in [
        json!({ "type": "command", "async": true, "command": "echo '{\"hookSpecificOutput\": {\"hookEventName\": \
                \"SessionStart\", \"additionalContext\": \"the build is broken\"}}'" }),
        json!({ "type": "command", "asyncRewake": true, "command": "echo the build is broken >&2; exit 2" }),
    ] {
        let mut env = world(&at(HookEvent::SessionStart, &handler), "[]");
        let output = over_http(&mut env, &server, &["-p", "go", "--max-turns", "200"]);
        assert_eq!(output.success(), "I see.\n", "{handler}");
    }
}

#[test]
fn an_agent_can_be_a_hook() {
    // The words of the script go to whoever asks next: the run, then the agent that checks, then the run again.
    let handler = json!({ "type": "agent", "prompt": "Is a.txt kind? $ARGUMENTS" });
    let script = "
- say: First.
- calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}, {Write: {file_path: \"{{cwd}}/a.txt\", content: kind}}]
- say: '{\"ok\": false, \"reason\": \"it only says hello\"}'
- say: Second.
- say: '{\"ok\": true}'
";
    let env = world(&at(HookEvent::Stop, &handler), script);
    assert_eq!(run(&env, &["-p", "go", "--allowedTools", "Write"]).success(), "Second.\n");
    // What the session may write, who checks may not.
    assert_eq!(env.read("project/a.txt"), "hello\n");
}

#[test]
fn what_is_shown_can_be_changed() {
    let shown = json!({ "hookSpecificOutput": {
        "hookEventName": "MessageDisplay", "displayContent": "Something else.",
    } });
    let settings = at(HookEvent::MessageDisplay, &command(&format!("echo '{shown}'")));
    let env = world(&settings, "- say: The answer.\n");
    let mut pty = env.at_terminal(&[&MODEL[..], &["go"]].concat());
    let screen = pty.expect("Something else.");
    assert!(!screen.contains("The answer."), "{screen}");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
    // The conversation keeps what was said.
    let sessions = json(&env.posse(&["sessions", "--json"]).success());
    let id = sessions.pointer("/0/id").and_then(Value::as_str).unwrap();
    let key = posse_runtime::session::project_key(&env.path("project").canonicalize().unwrap());
    let written = env.read(&format!("home/.claude/projects/{key}/{id}.jsonl"));
    assert!(written.contains("The answer.") && !written.contains("Something else."), "{written}");
}
