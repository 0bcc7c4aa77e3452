use super::testing::{Answer, Bench, until};
use super::*;

async fn bash(bench: &Bench, command: &str) -> Answer {
    bench.run(&Bash::default(), json!({ "command": command })).await
}

/// Runs something that goes on, and interrupts it once it has made the file `started`.
async fn interrupted(bench: &Bench, command: &str) -> Answer {
    let started = bench.path("started");
    let stop = async {
        until("the start", || started.exists()).await;
        bench.cx.stop.cancel();
    };
    tokio::join!(bash(bench, command), stop).0
}

#[tokio::test]
async fn the_working_directory_carries_over() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("it's a dir")).unwrap();
    std::os::unix::fs::symlink(bench.path("sub"), bench.path("link")).unwrap();
    let cases = [
        ("true", "."),
        ("cd sub", "sub"),
        ("(cd sub)", "."),
        ("cd sub; (cd ..)", "sub"),
        ("cd sub; false", "sub"),
        ("cd sub && exit 3", "sub"),
        ("cd sub & wait", "."),
        ("set -e; cd sub; false; cd /", "sub"),
        ("cd sub; sh -c 'cd /'", "sub"),
        ("cd sub; trap 'echo bye' EXIT", "sub"),
        ("cd \"it's a dir\"", "it's a dir"),
        ("cd link", "sub"),
        ("cd nowhere", "."),
        ("pwd() { echo /; }; cd sub", "sub"),
        ("set -o noclobber; cd sub", "sub"),
        ("cd sub # and a comment", "sub"),
        ("cd sub\ncat <<X\nheredoc\nX", "sub"),
        ("cd sub; exec true", "."),
        ("cd sub; if", "."),
        ("mkdir gone && cd gone && rmdir ../gone", "."),
    ];
    for (command, expected) in cases {
        bench.cx.cwd.set(bench.path("."));
        bash(&bench, command).await;
        let found = bench.cx.cwd.get().canonicalize().unwrap();
        assert_eq!(found, bench.path(expected).canonicalize().unwrap(), "{command}");
    }
    bash(&bench, "cd sub").await;
    assert_eq!(bash(&bench, "pwd").await.text, bench.path("sub").display().to_string());
    assert_eq!(bash(&bench, "export X=1").await.text, "(no output)");
    assert_eq!(bash(&bench, "echo \"[$X]\"").await.text, "[]");
    let files = std::fs::read_dir(bench.env.path("tmp")).unwrap().count();
    assert_eq!(files, 0, "temporary files are gone");
}

#[tokio::test]
async fn a_plain_shell_does_too() {
    let bench = Bench::with(&[("PATH", "/nowhere")]);
    for command in
        ["cd sub; echo \"[$BASH_VERSION]\"", "cd sub && exit 3", "cd sub; false", "set -e; cd sub; false"]
    {
        bench.cx.cwd.set(bench.path("."));
        let answer = bash(&bench, command).await;
        assert_eq!(bench.cx.cwd.get(), bench.path("sub"), "{command}: {answer:?}");
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_left() {
    let bench = Bench::new();
    bash(&bench, "cd sub").await;
    std::fs::remove_dir(bench.path("sub")).unwrap();
    let answer = bash(&bench, "pwd").await;
    let (old, new) = (bench.path("sub"), bench.cx.world.cwd.display());
    let note = format!("The working directory {} does not exist any more; back in {new}.", old.display());
    assert_eq!(answer.text, format!("{note}\n{new}"));

    std::fs::remove_dir_all(&bench.cx.world.cwd).unwrap();
    let answer = bash(&bench, "pwd").await;
    assert!(answer.is_error && answer.text.contains("does not exist any more"), "{answer:?}");
}

#[tokio::test]
async fn an_end_is_told_as_it_was() {
    let bench = Bench::new();
    let cases = [
        ("echo hi", "hi", false),
        ("true", "(no output)", false),
        ("echo", "(no output)", false),
        ("printf '  kept\\n\\n'", "  kept", false),
        ("exit 3", "Exit code 3", true),
        ("echo out; exit 1", "Exit code 1\nout", true),
        ("echo err >&2", "err", false),
        ("(exit 255)", "Exit code 255", true),
        ("nosuchprogram", "Exit code 127\nbash: line 1: nosuchprogram: command not found", true),
        ("kill -9 $$", "Killed by SIGKILL (9)", true),
        ("(exit 139)", "Exit code 139 (SIGSEGV)", true),
        ("cat", "(no output)", false),
        ("echo $CLAUDECODE $GIT_EDITOR", "1 true", false),
        ("printf '\\033[31mred\\033[0m'", "red", false),
        ("printf 'a\\377\\000b'", "a\u{fffd}\u{fffd}b", false),
        ("set -x; cd sub", "++ cd sub", false),
        ("cat <<'X'\nit's \"quoted\" $HOME\nX", "it's \"quoted\" $HOME", false),
        ("  ", "The command is empty.", true),
    ];
    for (command, text, is_error) in cases {
        bench.cx.cwd.set(bench.path("."));
        let answer = bash(&bench, command).await;
        assert_eq!((answer.text.as_str(), answer.is_error), (text, is_error), "{command}");
    }
    let answer = bash(&bench, "echo 'a' 'b").await;
    assert!(answer.is_error && answer.text.starts_with("Exit code 2\nbash: eval: line 1:"), "{answer:?}");
    let answer = bash(&bench, "a\0b").await;
    assert!(answer.is_error && answer.text.starts_with("The command could not be started"), "{answer:?}");
}

#[tokio::test]
async fn programs_get_the_streams_apart() {
    let bench = Bench::new();
    let answer = bash(&bench, "echo out; echo err >&2").await;
    let expected = json!({
        "stdout": "out", "stderr": "err", "interrupted": false, "isImage": false, "noOutputExpected": false,
    });
    assert_eq!(answer.structured, expected);
    assert_eq!(bash(&bench, "mkdir a && cd a").await.structured["noOutputExpected"], true);
    assert_eq!(bash(&bench, "false").await.structured, Value::Null);
}

#[tokio::test]
async fn a_command_may_be_longer_than_an_argument() {
    let bench = Bench::new();
    let command = format!("cd sub; cat <<'X' | wc -c\n{}\nX\nexit 4", "it's long\n".repeat(30_000));
    let answer = bash(&bench, &command).await;
    assert_eq!(answer.text.split_whitespace().collect::<Vec<_>>(), ["Exit", "code", "4", "300001"]);
    assert_eq!(bench.cx.cwd.get(), bench.path("sub"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_timeout_ends_it_and_keeps_what_it_said() {
    let bench = Bench::new();
    let input = json!({ "command": "echo before; sleep 1000", "timeout": "1500" });
    let answer = bench.run(&Bash::default(), input).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("Command timed out after 1.5s\nbefore", true));
    assert_eq!(bench.running(), 0);
    let input = json!({ "command": "trap '' TERM; while :; do sleep 1000; done", "timeout": 200 });
    let answer = bench.run(&Bash::default(), input).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("Command timed out after 0.2s", true));
    assert_eq!(bench.running(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_interrupt_ends_all_of_it() {
    let bench = Bench::new();
    let answer = interrupted(&bench, "echo partial; echo err >&2; touch started; sleep 1000").await;
    assert!(answer.is_error);
    assert_eq!(answer.text, format!("partial\nerr\n{INTERRUPTED}"));
    let Value::Object(structured) = answer.structured else { panic!("{:?}", answer.structured) };
    assert_eq!(structured["interrupted"], true);
    assert_eq!(structured["stdout"], "partial");
    assert_eq!(bench.running(), 0);
    assert_eq!(bash(&bench, "touch again").await.text, INTERRUPTED);
    assert!(!bench.path("again").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nobody_gets_away() {
    let escapes = [
        "setsid sleep 1000 &",
        "nohup sleep 1000 >/dev/null 2>&1 & disown",
        "(setsid sh -c 'sleep 1000 & sleep 1000' &)",
        "(setsid setsid -f sleep 1000 >/dev/null 2>&1 &)",
        "env -i bash -c '(exec -a '$TEST_MARK' sleep 1000); :' &",
        "env -i setsid bash -c '(exec -a '$TEST_MARK' sleep 1000); :' &",
        "sh -c 'trap \"\" TERM HUP; sleep 1000 & wait' &",
        "sh -c 'kill -STOP $$' &",
        "set -m; sleep 1000 & set +m",
    ];
    for escape in escapes {
        let bench = Bench::new();
        let answer = interrupted(&bench, &format!("{escape}\ntouch started; sleep 1000")).await;
        assert!(answer.text.ends_with(INTERRUPTED), "{escape}: {answer:?}");
        assert_eq!(bench.running(), 0, "{escape}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_call_leaves_nobody() {
    let bench = Bench::new();
    let started = bench.path("started");
    tokio::select! {
        answer = bash(&bench, "setsid sleep 1000 & (nohup sleep 1000 &) ; touch started; sleep 1000") => {
            panic!("{answer:?}")
        }
        () = until("the start", || started.exists()) => {}
    }
    until("the end", || bench.running() == 0).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_left_running_holds_nobody_up_and_ends_with_the_session() {
    let bench = Bench::new();
    let answer = bash(&bench, "sleep 1000 & echo started").await;
    assert!(!answer.is_error);
    assert!(answer.text.starts_with("started\n[Still running, until the session ends: "), "{answer:?}");
    assert_eq!(answer.structured["stdout"], "started");
    assert_eq!(bench.running(), 1);
    // Writing goes on after the call: nobody closes the pipe.
    let answer = bash(&bench, "(sleep 1; echo late; echo later >&2; touch done; sleep 1000) & echo hi").await;
    assert!(answer.text.starts_with("hi\n[Still running"), "{answer:?}");
    until("the end of writing", || bench.path("done").exists()).await;
    assert!(bench.running() >= 2);
    bench.cx.tasks.shutdown().await;
    assert_eq!(bench.running(), 0);
}

#[tokio::test]
async fn long_output_is_shortened_and_kept() {
    let bench = Bench::new();
    let answer = bash(&bench, "echo first; yes | head -c 50000000; echo last").await;
    assert!(!answer.is_error);
    assert!(answer.text.len() < 31_000, "{}", answer.text.len());
    assert!(answer.text.starts_with("first\ny\ny\n") && answer.text.ends_with("y\ny\nlast"));
    let gap = answer.text.lines().find(|line| line.starts_with("[...")).unwrap();
    let (left, path) = gap.split_once(" lines left out; the whole output is in ").unwrap();
    let left: usize = left.trim_start_matches("[... ").parse().unwrap();
    assert_eq!(left + answer.text.lines().count() - 1, 25_000_002);
    let path = PathBuf::from(path.trim_end_matches(" ...]"));
    assert!(path.starts_with(&*bench.cx.spool));
    assert_eq!(path.metadata().unwrap().len(), 50_000_000 + 11);

    let bench = Bench::with(&[("BASH_MAX_OUTPUT_LENGTH", "100")]);
    let answer = bash(&bench, "seq 1000").await;
    assert!(answer.text.len() < 300, "{}", answer.text);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_flood_is_stopped() {
    let bench = Bench::new();
    for command in ["yes", "yes & sleep 0.05"] {
        let answer =
            bench.run(&Bash { flood: 1_000_000, ..Bash::default() }, json!({ "command": command })).await;
        assert!(answer.is_error);
        assert!(answer.text.starts_with("Command was stopped: it printed more than 1000000 bytes\ny\n"));
        assert_eq!(bench.running(), 0);
    }
    let late = json!({ "command": "(sleep 1; yes) & echo hi" });
    let answer = bench.run(&Bash { flood: 1_000_000, ..Bash::default() }, late).await;
    assert!(answer.text.starts_with("hi\n[Still running"), "{answer:?}");
    until("the end of the flood", || bench.running() == 0).await;
}

#[tokio::test]
async fn a_picture_is_one() {
    let bench = Bench::new();
    let pictures = [
        ("printf 'data:image/png;base64,iVBORw0KGgo='", Some(12)),
        ("printf 'data:image/jpeg;base64,'; head -c 90000 /dev/zero | base64", Some(120_000)),
        ("printf 'data:image/png;base64,not base64!'", None),
        ("printf 'data:image/tiff;base64,iVBORw0KGgo='", None),
        ("printf 'data:image/png;base64,iVBORw0KGgo='; echo no >&2", None),
        ("printf 'data:image/png;base64,iVBORw0KGgo='; exit 1", None),
    ];
    for (command, length) in pictures {
        let answer = bash(&bench, command).await;
        let found = match answer.content.as_slice() {
            [Content::Media(media)] => Some(media.data.len()),
            _ => None,
        };
        assert_eq!(found, length, "{command}: {:?}", answer.text);
        assert_eq!(answer.structured["isImage"] == true, length.is_some(), "{command}");
    }
}

#[test]
fn limits_come_from_the_environment() {
    let cases = [
        ("X=", None, 120_000),
        ("X=", Some(5), 5),
        ("X=", Some(0), 120_000),
        ("X=", Some(9_999_999), 600_000),
        ("BASH_DEFAULT_TIMEOUT_MS=7", None, 7),
        ("BASH_MAX_TIMEOUT_MS=700000", Some(9_999_999), 700_000),
        ("BASH_DEFAULT_TIMEOUT_MS=900000", None, 900_000),
        ("BASH_DEFAULT_TIMEOUT_MS=soon", None, 120_000),
    ];
    for (variable, asked, expected) in cases {
        let env = Env::new(variable.split_once('='));
        assert_eq!(time_limit(asked, &env), Duration::from_millis(expected), "{variable} {asked:?}");
    }
    let shown_with = |value: &str| shown(&Env::new([("BASH_MAX_OUTPUT_LENGTH", value)]));
    assert_eq!((shown_with(""), shown_with("50"), shown_with("999999999")), (30_000, 50, 150_000));
}

#[test]
fn the_model_is_told_little() {
    use crate::tool::AnyTool;
    let spec = Bash::default().spec();
    assert!(spec.description.len() < 1500, "{}", spec.description.len());
    assert_eq!(spec.input_schema["required"], json!(["command"]));
    let timeout = json!({
        "type": "integer",
        "description": "Milliseconds (default 120000, at most 600000)",
    });
    assert_eq!(spec.input_schema["properties"]["timeout"], timeout);
}
