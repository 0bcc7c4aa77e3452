//! `posse` at a terminal: a person types, the model is rehearsed, tools are real.

use posse_testkit::Pty;

use super::*;

/// A world with a script for a model, and a terminal that can do nothing.
fn rehearsed(script: &str) -> TestEnv {
    let mut env = env();
    env.set("TERM", "dumb");
    env.write("project/script.yaml", script);
    env
}

fn talk(env: &TestEnv, args: &[&str]) -> Pty {
    env.at_terminal(&[&["--model", "rehearsal:script.yaml"], args].concat())
}

/// The file of the newest conversation.
fn transcript(env: &TestEnv) -> String {
    let listed = json(&env.posse(&["sessions", "--json"]).success());
    let id = listed.pointer("/0/id").and_then(Value::as_str).expect("a conversation");
    let project = env.path("project").canonicalize().expect("a folder");
    env.read(&format!("home/.claude/projects/{}/{id}.jsonl", posse_runtime::session::project_key(&project)))
}

#[test]
fn two_turns_and_the_end() {
    let env = rehearsed("- say: Good morning.\n- say: Good night.\n");
    let mut pty = talk(&env, &[]);
    let greeting = pty.expect("> ");
    assert!(greeting.contains("posse rehearsal:script.yaml") && greeting.contains("/help"), "{greeting}");
    assert!(!greeting.contains('\u{1b}'), "a dumb terminal gets no escapes: {greeting:?}");
    // A line that ends in a backslash goes on.
    pty.send("hello,\\\n");
    pty.expect(". ");
    pty.send("you\n");
    pty.expect("Good morning.");
    pty.expect("> ");
    pty.send("/cost\n");
    pty.expect("together $0.0000");
    pty.expect("> ");
    pty.send("/csot\n");
    pty.expect("did you mean /cost?");
    pty.expect("> ");
    pty.send("bye\n");
    pty.expect("Good night.");
    pty.expect("> ");
    pty.send("\u{4}");
    let (code, shown) = pty.end();
    assert_eq!(code, Some(0), "{shown}");
    let written = transcript(&env);
    assert!(written.contains("hello,\\nyou") && written.contains("Good night."), "{written}");
    // The conversation goes on where it ended.
    env.write("project/script.yaml", "- say: Again.\n");
    let mut pty = talk(&env, &["--continue", "once more"]);
    pty.expect("goes on after 4 messages");
    pty.expect("Again.");
    pty.expect("> ");
    pty.send("/exit\n");
    assert_eq!(pty.end().0, Some(0));
    let written = transcript(&env);
    assert!(written.contains("Good night.") && written.contains("Again."), "{written}");
}

#[test]
fn questions_of_the_agent_are_answered() {
    let env = rehearsed(
        "
- calls:
    - AskUserQuestion:
        questions:
          - question: Which database?
            header: Database
            options: [{label: SQLite, description: one file}, {label: Postgres, description: a server}]
            multiSelect: false
          - question: Which checks?
            header: Checks
            options: [{label: Tests, description: ''}, {label: Lint, description: ''}, {label: Types, description: ''}]
            multiSelect: true
          - question: What name?
            header: Name
            options: [{label: shop, description: ''}, {label: store, description: ''}]
            multiSelect: false
- say: Thank you.
",
    );
    let mut pty = talk(&env, &["set it up"]);
    pty.expect("Which database?");
    pty.expect("2   Postgres — a server");
    pty.expect("\n? ");
    pty.send("7\n");
    pty.expect("There is no 7");
    pty.expect("\n? ");
    pty.send("2\n");
    pty.expect("Which checks?");
    pty.expect("\n? ");
    pty.send("1, 3\n");
    pty.expect("What name?");
    pty.expect("\n? ");
    pty.send("bazaar\n");
    pty.expect("The user answered:");
    pty.expect("Which database? → Postgres");
    pty.expect("Which checks? → Tests, Types");
    pty.expect("What name? → bazaar");
    pty.expect("Thank you.");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn what_is_typed_before_a_question_is_not_its_answer() {
    let env = rehearsed(
        "
- calls: [{Bash: {command: 'until [ -e go ]; do sleep 0.02; done'}}]
- calls:
    - AskUserQuestion:
        questions:
          - {question: Delete it?, header: '', options: [{label: keep, description: ''}, {label: delete, description: ''}]}
- say: Done.
",
    );
    let mut pty = talk(&env, &["--allowedTools", "Bash", "--", "wait"]);
    pty.expect("● Bash");
    // The echo tells that the terminal has it.
    pty.send("2\n");
    pty.expect("2\r\n");
    env.write("project/go", "");
    pty.expect("Delete it?");
    pty.expect("\n? ");
    pty.send("1\n");
    pty.expect("→ keep");
    pty.expect("Done.");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_plan_is_sent_back_and_then_approved() {
    let env = rehearsed(
        "
- calls: [{EnterPlanMode: {}}]
- calls: [{Write: {file_path: \"{{cwd}}/new.txt\", content: early}}]
- calls: [{ExitPlanMode: {plan: \"1. Write a file\"}}]
- calls: [{ExitPlanMode: {plan: \"1. Write a small file\"}}]
- calls: [{Write: {file_path: \"{{cwd}}/new.txt\", content: done}}]
- say: Written.
",
    );
    let mut pty = talk(&env, &["write a file"]);
    let before = pty.expect("Carry it out?");
    assert!(before.contains("Switched to planning.") && !before.contains("system-reminder"), "{before}");
    pty.expect("1. Write a file");
    pty.expect("\n? ");
    assert!(!env.path("project/new.txt").exists(), "planning must not write");
    pty.send("n make it small\n");
    pty.expect("did not approve the plan: make it small");
    pty.expect("1. Write a small file");
    pty.expect("e   yes, without asking about edits");
    pty.expect("\n? ");
    pty.send("e\n");
    pty.expect("Written.");
    pty.expect("> ");
    assert_eq!(env.read("project/new.txt"), "done");
    pty.send("/mode\n");
    pty.expect("The mode is acceptEdits.");
    pty.expect("> ");
    pty.send("/mode plan\n");
    pty.expect("The mode is plan.");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn interrupts_end_a_turn_and_then_the_conversation() {
    let env = rehearsed(
        "
- say: I will wait.
  calls: [{Bash: {command: 'touch started; exec sleep 1000'}}]
- say: I am still here.
- calls:
    - AskUserQuestion:
        questions:
          - {question: Really?, header: '', options: [{label: a, description: ''}, {label: b, description: ''}]}
",
    );
    let mut pty = talk(&env, &["--allowedTools", "Bash", "--", "wait"]);
    pty.expect("● Bash");
    pty.send("\u{3}");
    pty.expect("interrupted");
    pty.expect("> ");
    pty.send("and now?\n");
    pty.expect("I am still here.");
    pty.expect("> ");
    // Also while a question is open.
    pty.send("ask me\n");
    pty.expect("Really?");
    pty.expect("\n? ");
    pty.send("\u{3}");
    pty.expect("interrupted");
    pty.expect("> ");
    // At the prompt once is a warning, twice is the end.
    pty.send("\u{3}");
    pty.expect("once more ends");
    pty.expect("> ");
    pty.send("\u{3}");
    assert_eq!(pty.end().0, Some(0));
    let written = transcript(&env);
    assert!(written.contains("[Request interrupted by user for tool use]"), "{written}");
}

#[test]
fn a_new_conversation_and_flags_that_do_not_fit() {
    let env = rehearsed("- say: Hello.\n");
    let mut pty = talk(&env, &["hi"]);
    pty.expect("Hello.");
    pty.expect("> ");
    pty.send("/clear\n");
    pty.expect("A new conversation begins.");
    pty.expect("> ");
    // The script begins again with the new conversation.
    pty.send("hi again\n");
    pty.expect("Hello.");
    pty.expect("> ");
    // A script that has nothing more to say is a failure one can go on from.
    pty.send("more\n");
    pty.expect("error: ");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
    assert!(!transcript(&env).contains("\"hi\""), "a new conversation is a file of its own");

    let (code, shown) = talk(&env, &["--output-format", "json"]).end();
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("--output-format is for one answer"), "{shown}");
    let (code, shown) = talk(&env, &["agnets"]).end();
    assert!(code == Some(2) && shown.contains("did you mean `agents`?"), "{shown}");
    // Without a terminal there is nobody to talk to.
    let (_, stderr) = env.posse(&["hello there"]).fails_with(2);
    assert!(stderr.contains("a conversation needs a terminal"), "{stderr}");
}

#[test]
fn calls_are_allowed_refused_and_allowed_for_longer() {
    let env = rehearsed(
        "
- calls: [{Bash: {command: 'touch once'}}]
- calls: [{Bash: {command: 'mkdir refused'}}]
- calls: [{Bash: {command: 'mkdir told'}}]
- calls: [{Bash: {command: 'touch session-1'}}]
- calls: [{Bash: {command: 'touch session-2'}}]
- calls: [{Bash: {command: 'mkdir project-1; true'}}]
- calls: [{Bash: {command: 'mkdir project-2'}}]
- say: All done.
",
    );
    let mut pty = talk(&env, &["work"]);
    pty.expect("posse wants to use Bash");
    pty.expect("$ touch once");
    pty.expect("asked because no rule allows `touch once`");
    pty.expect("a   yes, and always in this session: Bash(touch:*)");
    pty.expect("\n? ");
    pty.send("what?\n");
    pty.expect("That is none of the answers above.");
    pty.expect("? ");
    pty.send("y\n");
    pty.expect("$ mkdir refused");
    pty.expect("\n? ");
    pty.send("n\n");
    pty.expect("Why not, for the agent");
    pty.send("not that way\n");
    pty.expect("not that way");
    pty.expect("$ mkdir told");
    pty.expect("\n? ");
    pty.send("n use src instead\n");
    pty.expect("use src instead");
    pty.expect("$ touch session-1");
    pty.expect("\n? ");
    pty.send("a\n");
    // The second needs no question; the next question is about something else.
    let between = pty.expect("$ mkdir project-1");
    assert!(between.contains("touch session-2") && between.matches("wants to use").count() == 1, "{between}");
    pty.expect("p   yes, and always in this project (.claude/settings.local.json): Bash(mkdir:*)");
    pty.expect("\n? ");
    pty.send("p\n");
    pty.expect("All done.");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
    for made in ["once", "session-1", "session-2", "project-1", "project-2"] {
        assert!(env.path(&format!("project/{made}")).exists(), "{made}");
    }
    assert!(!env.path("project/refused").exists() && !env.path("project/told").exists());
    let saved = json(&env.read("project/.claude/settings.local.json"));
    assert_eq!(saved.pointer("/permissions/allow"), Some(&serde_json::json!(["Bash(mkdir:*)"])));
}

#[test]
fn an_edit_is_shown_before_it_is_allowed() {
    let env = rehearsed(
        "
- calls: [{Read: {file_path: \"{{cwd}}/a.txt\"}}]
- calls: [{Edit: {file_path: \"{{cwd}}/a.txt\", old_string: two, new_string: second}}]
- calls: [{Write: {file_path: \"{{cwd}}/a.txt\", content: \"one\\nsecond\\nfourth\\n\"}}]
- calls: [{Write: {file_path: \"{{cwd}}/b.txt\", content: new}}]
- calls: [{Write: {file_path: \"{{cwd}}/.git/config\", content: evil}}]
- say: Edited.
",
    );
    env.write("project/a.txt", "one\ntwo\nthree\n");
    let mut pty = talk(&env, &["edit"]);
    pty.expect("posse wants to use Edit");
    pty.expect("- two");
    pty.expect("+ second");
    pty.expect("\n? ");
    pty.send("y\n");
    // The whole file is given; the difference is shown.
    pty.expect("posse wants to use Write");
    pty.expect("- three");
    pty.expect("+ fourth");
    pty.expect("a   yes, and always in this session: mode acceptEdits");
    pty.expect("\n? ");
    pty.send("a\n");
    // Edits are free now, but not what steers other tools.
    let between = pty.expect("is protected: it steers other tools");
    assert_eq!(between.matches("wants to use").count(), 1, "{between}");
    pty.expect("\n? ");
    pty.send("\n");
    pty.expect("Edited.");
    pty.expect("> ");
    pty.send("\u{4}");
    assert_eq!(pty.end().0, Some(0));
    assert_eq!(
        (env.read("project/a.txt"), env.read("project/b.txt")),
        ("one\nsecond\nfourth\n".into(), "new".into())
    );
    assert!(!env.path("project/.git/config").exists());
}

#[test]
fn a_folder_is_trusted_only_when_the_person_says_so() {
    let env = rehearsed("- calls: [{Bash: {command: 'touch made'}}]\n- say: Done.\n");
    // Nothing waits for trust: nothing is asked.
    let mut pty = talk(&env, &[]);
    let start = pty.expect("> ");
    assert!(!start.contains("trust"), "{start}");
    pty.send("\u{4}");
    pty.end();
    env.write("project/.claude/settings.json", r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#);
    let mut pty = talk(&env, &["go"]);
    pty.expect("Bash(touch:*)");
    pty.expect("Do you trust it? [y/N] ");
    pty.send("n\n");
    pty.expect("$ touch made");
    pty.expect("\n? ");
    pty.send("n no\n");
    pty.expect("Done.");
    pty.expect("> ");
    pty.send("\u{4}");
    pty.end();
    assert!(!env.path("project/made").exists());
    let mut pty = talk(&env, &["go"]);
    pty.expect("Do you trust it? [y/N] ");
    pty.send("y\n");
    let run = pty.expect("Done.");
    assert!(!run.contains("wants to use"), "{run}");
    pty.expect("> ");
    pty.send("\u{4}");
    pty.end();
    assert!(env.path("project/made").exists());
    // It is remembered.
    let mut pty = talk(&env, &["--permission-prompts", "none", "go"]);
    let run = pty.expect("Done.");
    assert!(!run.contains("trust"), "{run}");
    pty.expect("> ");
    pty.send("\u{4}");
    pty.end();
}

#[test]
fn an_agent_that_takes_long_goes_on_in_the_background() {
    let env = rehearsed(
        "
main:
  - calls: [{Agent: {subagent_type: general-purpose, description: wait, prompt: w}}]
  - say: Meanwhile, something else.
  - say: So it has ended.
agents:
  general-purpose:
    - calls: [{Bash: {command: 'until [ -e go ]; do sleep 0.02; done'}}]
    - say: It is there.
",
    );
    let mut pty = talk(&env, &["--allowedTools", "Bash", "--", "begin"]);
    pty.expect("general-purpose (wait): at work");
    pty.send("\u{1c}");
    pty.expect("general-purpose (wait): goes on in the background");
    pty.expect("Meanwhile, something else.");
    pty.expect("> ");
    env.write("project/go", "");
    pty.expect("general-purpose (wait): completed");
    pty.expect("So it has ended.");
    pty.expect("> ");
    pty.send("/exit\n");
    assert_eq!(pty.end().0, Some(0));
    let written = transcript(&env);
    assert!(written.contains("async_launched") && written.contains("It is there."), "{written}");
}
