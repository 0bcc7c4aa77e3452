//! What we say a command line runs, against what the real bash runs.
//!
//! Programs are stand-ins that only write down how they were called. Thousands of generated command lines are run in
//! empty folders; whatever bash starts, opens for writing or hands over in the environment must be among what was
//! found, or there must have been a doubt. The generator is seeded: a failure comes back.

use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use posse_core::shell::{Script, Word, is_harmless, parse};

mod generate;

/// Generated command lines. Many more were run while the reader was written; these stay.
const GENERATED: u64 = 1200;
const STAND_INS: [&str; 12] =
    ["rm", "git", "ls", "cat", "touch", "curl", "echo2", "a", "b", "wc", "sudo", "tee"];
/// Real programs that start others.
const STARTERS: [&str; 8] = ["env", "timeout", "nice", "nohup", "xargs", "find", "bash", "sh"];

struct Stage {
    root: tempfile::TempDir,
}

/// What bash did.
struct Outcome {
    calls: Vec<Vec<String>>,
    refused: bool,
    written: Vec<String>,
}

impl Stage {
    fn new() -> Option<Self> {
        let root = tempfile::tempdir().expect("a folder");
        let programs = root.path().join("programs");
        std::fs::create_dir(&programs).expect("a folder");
        let stand_in = "#!/bin/sh\nprintf '%s\\0' \"$#\" \"${0##*/}\" \"$@\" \"EVIL=$EVIL\" >> \"$TRACE\"\n";
        for name in STAND_INS {
            let file = programs.join(name);
            std::fs::write(&file, stand_in).expect("a stand-in");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a stand-in");
        }
        for name in STARTERS {
            let real = ["/bin", "/usr/bin"]
                .iter()
                .map(|folder| Path::new(folder).join(name))
                .find(|it| it.exists())?;
            symlink(real, programs.join(name)).expect("a link");
        }
        Some(Self { root })
    }

    #[allow(clippy::disallowed_methods)] // What the real bash does is what this test is about.
    fn run(&self, number: u64, command: &str) -> Outcome {
        let folder = self.root.path().join(format!("run{number}"));
        std::fs::create_dir_all(folder.join("d")).expect("a folder");
        let trace = self.root.path().join(format!("trace{number}"));
        let programs = self.root.path().join("programs");
        let said = self.root.path().join(format!("said{number}"));
        let mut child = Command::new(programs.join("timeout"))
            .args(["-s", "KILL", "5"])
            .arg(programs.join("bash"))
            .args(["--norc", "--noprofile", "-c", command])
            .current_dir(&folder)
            .env_clear()
            .env("PATH", &programs)
            .env("HOME", "/nowhere")
            .env("TRACE", &trace)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&said).expect("a file"))
            .spawn()
            .expect("bash runs");
        wait_for_all(&mut child);
        let refused =
            String::from_utf8_lossy(&std::fs::read(&said).unwrap_or_default()).lines().any(|line| {
                line.contains(": -c: line")
                    && (line.contains("syntax error") || line.contains("unexpected EOF"))
            });
        let _ = std::fs::remove_file(&said);
        let traced = std::fs::read(&trace).unwrap_or_default();
        let mut written = Vec::new();
        files(&folder, &mut written);
        let _ = std::fs::remove_file(&trace);
        let _ = std::fs::remove_dir_all(&folder);
        Outcome { calls: calls(&traced), refused, written }
    }
}

/// Waits until the pipe is closed by the last of the group, jobs in the background too, but not for ever.
fn wait_for_all(child: &mut Child) {
    let mut pipe = child.stdout.take().expect("a pipe");
    let mut space = [0; 4096];
    let limit = rustix::event::Timespec { tv_sec: 6, tv_nsec: 0 };
    for _ in 0..100 {
        let mut watched = [rustix::event::PollFd::new(&pipe, rustix::event::PollFlags::IN)];
        let ready = rustix::event::poll(&mut watched, Some(&limit)).unwrap_or(0);
        if ready == 0 || pipe.read(&mut space).unwrap_or(0) == 0 {
            break;
        }
    }
    // `timeout` has made itself the head of a group.
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

fn files(folder: &PathBuf, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files(&entry.path(), into);
        } else {
            into.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
}

/// Each call is a count, the name, that many arguments and one variable.
fn calls(traced: &[u8]) -> Vec<Vec<String>> {
    let mut fields = traced.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut calls = Vec::new();
    while let Some(count) = fields.next().and_then(|count| count.parse::<usize>().ok()) {
        calls.push(fields.by_ref().take(count + 2).collect());
    }
    calls
}

/// Whether words, some of them open, can have become these.
fn fits(words: &[Word], call: &[String]) -> bool {
    match words.split_first() {
        None => call.is_empty(),
        Some((Word::Open(_), rest)) => (0..=call.len()).any(|taken| fits(rest, &call[taken..])),
        Some((Word::Known(text), rest)) => {
            let expanded = match &**text {
                "~" => "/nowhere".to_owned(),
                text if text.starts_with("~/") => text.replacen('~', "/nowhere", 1),
                text => text.to_owned(),
            };
            call.first().is_some_and(|first| {
                *first == expanded || format!("./{first}") == expanded && first.starts_with('~')
            }) && fits(rest, &call[1..])
        }
    }
}

/// What is wrong with our judgement of a command, if anything.
fn complaint(script: &Script, outcome: &Outcome) -> Option<String> {
    let mut variables = script.runs.iter().flat_map(|run| &run.variables);
    // A variable that can change what programs do is never let through unseen.
    let asked = variables.any(|it| !is_harmless(&it.name) && !matches!(&*it.name, "EVIL" | "A"));
    if !script.doubts.is_empty() || asked {
        return None;
    }
    if outcome.refused && !script.runs.is_empty() {
        return Some("bash refuses it and we do not".into());
    }
    for call in &outcome.calls {
        let (variable, words) = call.split_last()?;
        if !script.runs.iter().any(|run| !run.words.is_empty() && fits(&run.words, words)) {
            return Some(format!("{words:?} was started"));
        }
        let told = script.runs.iter().flat_map(|run| &run.variables).any(|told| &*told.name == "EVIL");
        if variable != "EVIL=" && !told {
            return Some(format!("{words:?} was started with {variable}"));
        }
    }
    let writes = |file: &String| {
        script.runs.iter().flat_map(|run| &run.redirects).any(|redirect| match &redirect.file {
            Word::Known(name) => redirect.writes && name.rsplit('/').next() == Some(file),
            Word::Open(_) => redirect.writes,
        })
    };
    outcome.written.iter().find(|file| !writes(file)).map(|file| format!("{file} was written"))
}

#[test]
fn whatever_bash_starts_was_found() {
    let Some(stage) = Stage::new() else {
        let _ = writeln!(std::io::stderr(), "skipped: not every program it needs is here");
        return;
    };
    let commands: Vec<String> = generate::fixed().chain((0..GENERATED).map(generate::command)).collect();
    let (stage, half) = (&stage, commands.len().div_ceil(2));
    let judge = |(part, commands): (usize, &[String])| {
        let mut certain = 0;
        let mut complaints = Vec::new();
        for (at, command) in commands.iter().enumerate() {
            let script = parse(command);
            let outcome = stage.run((part * half + at) as u64, command);
            certain += usize::from(script.doubts.is_empty() && !outcome.calls.is_empty());
            complaints.extend(complaint(&script, &outcome).map(|it| format!("{command:?}: {it}")));
        }
        (certain, complaints)
    };
    let results: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let parts: Vec<_> =
            commands.chunks(half).enumerate().map(|part| scope.spawn(move || judge(part))).collect();
        parts.into_iter().map(|part| part.join().expect("a judge")).collect()
    });
    let complaints: Vec<&String> = results.iter().flat_map(|(_, complaints)| complaints).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let certain: usize = results.iter().map(|(certain, _)| certain).sum();
    // A reader that doubts everything would pass, and be of no use.
    assert!(certain * 6 > commands.len(), "only {certain} of {} were judged", commands.len());
}
