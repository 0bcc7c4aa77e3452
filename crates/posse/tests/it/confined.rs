//! The sandbox as users meet it: agents that only read, a workspace from settings, ways out, and what is said.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

use posse_testkit::FakeModel;
use posse_testkit::server::MessagesReply;
use serde_json::json;

use super::*;
use crate::sandbox::support_or_say;

/// A world in which a model wants these calls of Bash.
fn wanting(calls: &[Value]) -> TestEnv {
    let env = env();
    let steps: Vec<Value> = calls.iter().map(|call| json!({ "calls": [{ "Bash": call }] })).collect();
    let script = [steps, vec![json!({ "say": "Done." })]].concat();
    env.write("project/script.yaml", Value::Array(script).to_string());
    env.agent("reader.md", "---\nname: reader\ndescription: d\ntools: Read, Bash\n---\nRead.\n");
    for folder in ["outside", "project/src/deep"] {
        std::fs::create_dir_all(env.path(folder)).expect("a folder");
    }
    env
}

fn command(line: &str) -> Value {
    json!({ "command": line })
}

/// Runs the script; what the model was answered.
fn run(env: &TestEnv, args: &[&str]) -> String {
    let base =
        ["-p", "go", "--model", "rehearsal:script.yaml", "--output-format", "stream-json", "--verbose"];
    let output = env.posse(&[&base[..], args].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let answers = output.stdout.lines().map(json).filter(|line| line["type"] == "user");
    answers.map(|line| format!("{}\n", line["message"]["content"][0]["content"])).collect()
}

fn settings(env: &TestEnv, settings: &Value) {
    env.write("home/.claude/settings.json", settings.to_string());
}

const AS_READER: [&str; 4] = ["--agent", "reader", "--allowedTools", "Bash"];
const UNCONFINED: [&str; 2] = ["--settings", r#"{"sandbox": {"readOnlyAgents": "off"}}"#];

/// Ways to write, each in a folder of its own that holds `f` and a repository `repo`.
const WAYS: &[(&str, &str)] = &[
    ("redirect", "echo x > f"),
    ("append", "echo x >> f"),
    ("python", "python3 -c \"open('f', 'w').write('x')\""),
    ("link", "ln -s $PWD/f $TMPDIR/link-$$ && echo x > $TMPDIR/link-$$"),
    ("root", "echo x > /proc/self/root$PWD/f"),
    ("rename", "mv f g"),
    ("commit", "git -C repo -c user.name=x -c user.email=x@x commit -q --allow-empty -m x"),
    ("session", "setsid -w sh -c 'echo x > f'"),
    ("tee", "echo x | tee f"),
    ("sed", "sed -i s/before/after/ f"),
    ("folder", "mkdir new"),
    ("removal", "rm -f f"),
    ("mode", "chmod 777 f"),
    ("orphan", "(sh -c 'echo x > f' &) ; sleep 0; wait; cat f"),
    ("background", "echo x > f"),
];

/// Everything below a folder, by what it holds and may.
fn look(folder: &Path) -> BTreeMap<String, String> {
    use std::os::unix::fs::MetadataExt;
    let mut seen = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = path.symlink_metadata().expect("a file");
            if meta.is_dir() {
                folders.push(path.clone());
            }
            let content = if meta.is_file() { std::fs::read(&path).expect("a file") } else { Vec::new() };
            let text = format!("{:o} {}", meta.mode(), String::from_utf8_lossy(&content));
            seen.insert(path.display().to_string(), text);
        }
    }
    seen
}

/// Tries all ways as an agent that only reads; which of them changed something, and what was answered.
fn tried(args: &[&str]) -> (Vec<&'static str>, String) {
    let place = env();
    let at = |name: &str| place.path("outside").join(name).display().to_string();
    let mut calls: Vec<Value> = WAYS
        .iter()
        .map(|(name, way)| {
            let line = format!("cd {} && {way}", at(name));
            json!({ "command": line, "run_in_background": *name == "background" })
        })
        .collect();
    // Whatever runs in the background is waited for: its command line names its folder, this pattern does not.
    let mark = at("backgroun[d]");
    calls.push(command(&format!(
        "while grep -qa '{mark}' /proc/[0-9]*/cmdline 2>/dev/null; do sleep 0.02; done"
    )));
    let env = wanting(&calls);
    for (name, _) in WAYS {
        place.write(&format!("outside/{name}/f"), "before\n");
        std::fs::create_dir_all(place.path(&format!("outside/{name}/repo"))).expect("a folder");
    }
    place.git("outside/commit/repo", &["init", "-q"]);
    let before = look(&place.path("outside"));
    let said = run(&env, args);
    let after = look(&place.path("outside"));
    let in_way = |path: &str, name: &str| path.starts_with(&format!("{}/", at(name)));
    let paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    let changed =
        |name: &str| paths.iter().any(|path| in_way(path, name) && before.get(*path) != after.get(*path));
    (WAYS.iter().map(|(name, _)| *name).filter(|name| changed(name)).collect(), said)
}

#[test]
fn an_agent_without_writing_tools_writes_nothing_by_commands() {
    let Some(_) = support_or_say("a read-only agent") else { return };
    let (changed, said) = tried(&AS_READER);
    assert_eq!(changed, [""; 0], "{said}");
    assert!(said.contains("Commands are read-only here"), "{said}");
    let all: Vec<&str> = WAYS.iter().map(|(name, _)| *name).collect();
    let (changed, said) = tried(&[&AS_READER[..], &UNCONFINED].concat());
    assert_eq!(changed, all, "without the sandbox every way works: {said}");
}

#[test]
fn what_a_reader_is_told_and_what_it_can_do() {
    let Some(_) = support_or_say("what a reader is told") else { return };
    let fails = "cat f; false";
    let env = wanting(&[command("echo x > $TMPDIR/f && cat $TMPDIR/f"), command(fails), command("echo > f")]);
    let said = run(&env, &AS_READER);
    assert_eq!(said.matches("read-only here").count(), 1, "only where the sandbox is why: {said}");
    assert!(said.starts_with("\"x\"\n"), "{said}");
}

/// The Bash tool as the model is offered it.
fn offered(sandbox: &Value, args: &[&str]) -> Value {
    let server = FakeModel::serving([MessagesReply::new().text("Done.").answer()]);
    let mut env = wanting(&[]);
    env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
    settings(&env, &json!({ "sandbox": sandbox }));
    assert_eq!(env.posse(&[&["-p", "go"], args].concat()).code, Some(0));
    let tools = server.requests()[0].body["tools"].clone();
    let is_bash = |tool: &&Value| tool["name"] == "Bash";
    tools.as_array().expect("tools").iter().find(is_bash).expect("Bash").clone()
}

#[test]
fn the_model_is_told_of_its_sandbox_and_of_ways_out_only_where_there_are_some() {
    let Some(_) = support_or_say("what a model is told") else { return };
    let plain = offered(&json!({}), &[]);
    for (sandbox, args, sentence, way_out) in [
        (json!({ "enabled": true }), &[][..], "Commands are confined here", true),
        (
            json!({ "enabled": true, "allowUnsandboxedCommands": false }),
            &[],
            "Commands are confined here",
            false,
        ),
        (json!({}), &AS_READER[..], "Commands are read-only here", false),
        (json!({ "enabled": true }), &AS_READER[..], "Commands are read-only here", false),
    ] {
        let told = offered(&sandbox, args);
        let text = told["description"].as_str().expect("text");
        let before = plain["description"].as_str().expect("text");
        assert!(text.starts_with(before) && text[before.len()..].contains(sentence), "{text}");
        let inputs = &told["input_schema"]["properties"];
        assert_eq!(inputs.get("dangerouslyDisableSandbox").is_some(), way_out, "{sandbox} {args:?}");
    }
    let text = plain.to_string();
    assert!(
        !text.contains("only here") && !text.contains("confined") && !text.contains("dangerously"),
        "{text}"
    );
    let off = offered(&json!({ "readOnlyAgents": "off" }), &AS_READER);
    assert_eq!(off, plain, "without a sandbox, not a byte more");
}

#[test]
fn keys_of_providers_are_kept_from_readers_and_from_whom_one_says() {
    let look = command("env; tr '\\0' '\\n' < /proc/$PPID/environ; true");
    let mut env = wanting(&[look]);
    env.set("OPENAI_API_KEY", "sk-of-the-user").set("GITHUB_TOKEN", "for-commands");
    let hook = json!({ "hooks": { "PreToolUse": [{ "hooks": [
        { "type": "command", "command": format!("env > {}", env.path("outside/hook").display()) }
    ] }] } });
    settings(&env, &hook);
    let plain = run(&env, &["--allowedTools", "Bash"]);
    assert!(plain.contains("sk-of-the-user") && env.read("outside/hook").contains("sk-of-the-user"));
    if support_or_say("keys and readers").is_some() {
        let reader = run(&env, &AS_READER);
        assert!(!reader.contains("sk-of-the-user") && reader.contains("for-commands"), "{reader}");
    }
    env.set("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "0");
    assert!(run(&env, &AS_READER).contains("sk-of-the-user"));
    env.set("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "1");
    env.write(
        "project/script.yaml",
        json!([{ "calls": [{ "Bash": { "command": "env" } }] }, { "say": "x" }]).to_string(),
    );
    let scrubbed = run(&env, &["--allowedTools", "Bash"]);
    assert!(!scrubbed.contains("sk-of-the-user") && scrubbed.contains("for-commands"), "{scrubbed}");
    assert!(!env.read("outside/hook").contains("sk-of-the-user"));
}

#[test]
fn a_workspace_can_be_written_and_nothing_else() {
    let Some(_) = support_or_say("a workspace") else { return };
    let lines = [
        "echo x > src/deep/inside",
        "echo x > ../outside/refused",
        "echo x > $HOME/.bashrc",
        "echo {} > .claude/settings.json",
        "echo x > ../granted/f",
        "echo x > src/kept",
        "cat ../outside/secret",
    ];
    let env = wanting(&lines.map(command));
    env.write("outside/secret", "a secret");
    env.write("project/src/kept", "before");
    std::fs::create_dir_all(env.path("granted")).unwrap();
    let at = |name: &str| env.path(name).display().to_string();
    let lists = json!({
        "allowWrite": [at("granted"), at("nowhere")],
        "denyWrite": [at("project/src/kept")],
        "denyRead": [at("outside/secret")],
    });
    settings(&env, &json!({ "sandbox": { "enabled": true, "filesystem": lists } }));
    let written = |names: &[&str]| names.iter().filter(|name| env.path(name).exists()).count();
    let wrong = ["outside/refused", "home/.bashrc", "project/.claude/settings.json"];
    let said = run(&env, &[]);
    assert_eq!((written(&["project/src/deep/inside", "granted/f"]), written(&wrong)), (2, 0), "{said}");
    assert_eq!(env.read("project/src/kept"), "before");
    assert!(!said.contains("a secret") && said.contains("Commands are confined here"), "{said}");
    let notes = env.posse(&["-p", "go", "--model", "rehearsal:script.yaml"]).stderr;
    assert!(notes.contains("allowWrite: $ENV/nowhere does not exist"), "{notes}");
    // Without it all of this works, once it is allowed.
    settings(&env, &json!({}));
    let said = run(&env, &["--allowedTools", "Bash"]);
    assert!(written(&wrong) == 3 && said.contains("a secret"), "{said}");
    assert_eq!(env.read("project/src/kept"), "x\n");
}

#[test]
fn commands_leave_the_sandbox_only_as_settings_and_rules_say() {
    let Some(_) = support_or_say("ways out") else { return };
    let asking = json!({ "command": "echo x > ../outside/asked", "dangerouslyDisableSandbox": true });
    let odd = json!({ "command": "echo x > ../outside/odd", "dangerouslyDisableSandbox": "TRUE" });
    let calls = [
        asking,
        odd,
        command("touch ../outside/excluded"),
        command("touch src/both; echo x > ../outside/mixed"),
        command("echo x > src/plain"),
    ];
    let sandbox = |more: Value| {
        let mut sandbox = json!({ "enabled": true, "excludedCommands": ["touch"] });
        for (key, value) in more.as_object().expect("an object") {
            sandbox[key] = value.clone();
        }
        json!({ "sandbox": sandbox })
    };
    let cases = [
        // Nobody can be asked: only what is confined runs.
        (json!({}), &[][..], "plain"),
        (json!({}), &["--allowedTools", "Bash"], "asked excluded plain"),
        (json!({}), &["--allowedTools", "Bash(touch *)"], "excluded plain"),
        (
            json!({}),
            &["--allowedTools", "Bash", "--disallowedTools", "Bash(dangerouslyDisableSandbox:true)"],
            "excluded plain",
        ),
        (json!({ "allowUnsandboxedCommands": false }), &["--allowedTools", "Bash"], "excluded plain"),
        (json!({ "allowUnsandboxedCommands": false }), &[], "plain"),
        (json!({ "autoAllowBashIfSandboxed": false }), &[], ""),
    ];
    for (more, args, expected) in cases {
        let env = wanting(&calls);
        settings(&env, &sandbox(more.clone()));
        let said = run(&env, args);
        let names = ["asked", "odd", "excluded", "mixed"];
        let mut made: Vec<&str> =
            names.into_iter().filter(|name| env.path("outside").join(name).exists()).collect();
        made.extend(env.path("project/src/plain").exists().then_some("plain"));
        assert_eq!(made.join(" "), expected, "{more} {args:?}: {said}");
    }
}

/// Answers every request with a word, for as long as the test runs.
fn answering(word: &'static str) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            let _ = peer.read(&mut [0; 4096]);
            let _ = write!(
                peer,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{word}",
                word.len()
            );
        }
    });
    port
}

#[test]
fn only_allowed_hosts_are_reached_from_a_workspace() {
    let Some(support) = support_or_say("hosts of a workspace") else { return };
    if support.landlock < 4 {
        return;
    }
    let (listed, other) = (answering("welcome"), answering("elsewhere"));
    let fetch = |port: u16| {
        let code = format!("import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/').read())");
        command(&format!("python3 -c \"{code}\""))
    };
    let direct = command(&format!("exec 3<>/dev/tcp/127.0.0.1/{listed}; printf 'GET /\\r\\n' >&3; cat <&3"));
    let calls = [fetch(listed), fetch(other), direct];
    let reached = |sandbox: Value, args: &[&str]| {
        let env = wanting(&calls);
        settings(&env, &json!({ "sandbox": sandbox }));
        let said = run(&env, args);
        (said.matches("welcome").count(), said.matches("elsewhere").count(), said)
    };
    let hosts = json!([format!("127.0.0.1:{listed}")]);
    let only = reached(json!({ "enabled": true, "network": { "allowedDomains": hosts } }), &[]);
    assert!(only.0 == 1 && only.1 == 0 && only.2.contains("They reach only"), "{only:?}");
    let none = reached(json!({ "enabled": true }), &[]);
    assert!(none.0 + none.1 == 0 && none.2.contains("They reach no network"), "{none:?}");
    let free = reached(json!({}), &["--allowedTools", "Bash"]);
    assert!(free.0 == 2 && free.1 == 1, "{free:?}");
}

#[test]
fn where_a_sandbox_is_demanded_nothing_starts_without() {
    let mut env = wanting(&[command("echo x > src/ran")]);
    // A sandbox cannot be without a scratch folder.
    env.set("TMPDIR", "/nowhere/at/all");
    let args = ["-p", "go", "--model", "rehearsal:script.yaml", "--allowedTools", "Bash"];
    let stream = [&args[..], &["--output-format", "stream-json", "--verbose"]].concat();
    for (demand, more) in [
        (json!({ "enabled": true, "failIfUnavailable": true }), &[][..]),
        (json!({ "readOnlyAgents": "require" }), &["--agent", "reader"]),
    ] {
        settings(&env, &json!({ "sandbox": demand }));
        let (stdout, stderr) = env.posse(&[&args[..], more].concat()).fails_with(1);
        assert!(stdout.is_empty() && stderr.contains("no scratch folder"), "{stderr}");
        let (stdout, _) = env.posse(&[&stream[..], more].concat()).fails_with(1);
        let line = json(&stdout);
        assert_eq!((&line["type"], &line["subtype"]), (&"result".into(), &"error_during_execution".into()));
        assert!(line["is_error"] == true && line["num_turns"] == 0 && line["usage"]["input_tokens"] == 0);
        assert!(line["errors"][0].as_str().unwrap().contains("no scratch folder"), "{line}");
    }
    assert!(!env.path("project/src/ran").exists());
    // Where it is only wished for, the run says what it lacks.
    settings(&env, &json!({ "sandbox": { "enabled": true } }));
    let output = env.posse(&args);
    assert!(output.stderr.contains("commands run without a sandbox"), "{}", output.stderr);
    assert!(output.code == Some(0) && env.path("project/src/ran").exists());
}

#[test]
fn a_reader_that_goes_on_keeps_its_sandbox() {
    let env = env();
    env.write(
        "project/.claude/agents/reader.md",
        "---\nname: reader\ndescription: Reads\ntools: Read, Bash\n---\nYou read.\n",
    );
    env.write(
        "project/script.yaml",
        "
main:
- calls: [{Agent: {description: look, prompt: Look, subagent_type: reader, name: rex}}]
- calls: [{Agent: {description: more, prompt: Look again, resume: rex}}]
- say: Done.
agents:
  reader:
  - calls: [{Bash: {command: 'test -d $TMPDIR && echo first'}}]
  - say: one
  - calls: [{Bash: {command: 'test -d $TMPDIR && echo second; echo x > written'}}]
  - say: two
",
    );
    let lines = run(&env, &["--allowedTools", "Bash"]);
    assert!(lines.contains("first") && lines.contains("second"), "{lines}");
    assert!(!env.path("project/written").exists(), "{lines}");
}
