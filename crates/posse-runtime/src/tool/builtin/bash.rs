//! **Bash**: runs a command in a shell and says what it printed and how it ended.

mod follow;
mod pipes;
mod shell;
#[cfg(test)]
pub(super) mod testing;

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use posse_core::message::{Content, Media};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::follow::{Bounds, End};
use self::shell::Shell;
use crate::sandbox::{LEAVE, Sandbox, asks_to_leave};
use crate::tool::capture::{Capture, Spool, Stream};
use crate::tool::{TaskKind, Tool, ToolCx, ToolOutput, lenient, schema};
use crate::world::Env;
use crate::world::process::{Lost, Tree};

/// Characters of output a model reads, unless `BASH_MAX_OUTPUT_LENGTH` says otherwise.
const SHOWN: u64 = 30_000;
/// And at most.
const SHOWN_AT_MOST: u64 = 150_000;
/// The largest picture a model takes is 5 MB; as base64 that is a third more.
const LARGEST_PICTURE: u64 = 7_000_000;
/// What pictures models take.
const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Programs that say nothing when all is well. A frontend shows their silence as success.
const SILENT: &[&str] = &[
    "cd", "chgrp", "chmod", "chown", "cp", "export", "ln", "mkdir", "mv", "rm", "rmdir", "touch", "true",
    "unset", "wait",
];

const INTERRUPTED: &str = "[The user interrupted the command before it was done]";

const DESCRIPTION: &str = "\
Runs a bash command; returns its output (stdout and stderr as they came) and, if it failed, the exit code.
- The working directory carries over to the next call; variables and functions do not. Prefer absolute paths to `cd`; \
quote paths with spaces.
- Chain dependent commands with `&&`; independent ones are separate calls in one message.
- No terminal, no input: pass `-y`, `--no-pager` and the like.
- Read, write, change and search files with the tools for that, not cat, sed, echo, find or grep.
- Servers and whatever takes over 10 minutes: `run_in_background`, without `&`. TaskOutput reads the output, TaskStop \
ends it.
- Long output is cut in the middle; the whole is in the file that is named.
- Git: commit only when asked, only what belongs to the change, after `git status` and `git diff`; message by heredoc. \
Unless told, never force-push, reset, amend what is pushed, skip hooks or change the configuration.";

/// The tool.
#[derive(Debug)]
pub struct Bash {
    /// Bytes of output after which a command is stopped.
    flood: u64,
    /// What is said of the sandbox, if there is one.
    confined: Option<String>,
    /// Whether a command may ask to run outside of it.
    can_be_left: bool,
}

impl Default for Bash {
    fn default() -> Self {
        Self { flood: 1024 * 1024 * 1024, confined: None, can_be_left: false }
    }
}

impl Bash {
    /// For a run whose commands are confined: the model is told by what.
    pub fn confined(sandbox: &Sandbox) -> Self {
        Self { confined: Some(sandbox.told()), can_be_left: sandbox.can_be_left(), ..Self::default() }
    }
}

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Input {
    command: String,
    /// Milliseconds (default 120000, at most 600000)
    #[serde(default, deserialize_with = "lenient::number")]
    #[schemars(with = "u64")]
    timeout: Option<u64>,
    /// What it does, in 5 to 10 words
    #[serde(default)]
    #[schemars(with = "String")]
    description: Option<String>,
    #[serde(default, deserialize_with = "lenient::switch")]
    #[schemars(with = "bool")]
    run_in_background: Option<bool>,
    /// Run it outside of the sandbox. Only where it cannot work inside; the user decides.
    #[serde(default, rename = "dangerouslyDisableSandbox", deserialize_with = "leaves")]
    #[schemars(with = "bool")]
    leaves: bool,
}

fn leaves<'de, D: serde::Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    Value::deserialize(input).map(|value| asks_to_leave(&value))
}

impl Tool for Bash {
    const NAME: &'static str = "Bash";
    type Input = Input;

    fn description(&self) -> String {
        match &self.confined {
            None => DESCRIPTION.to_owned(),
            Some(confined) => format!("{DESCRIPTION}\n\n{confined}"),
        }
    }

    fn input_schema(&self) -> Value {
        let mut schema = schema::<Input>();
        if let Some(inputs) = schema["properties"].as_object_mut().filter(|_| !self.can_be_left) {
            inputs.remove(LEAVE);
        }
        schema
    }

    fn runs_alone(&self, _input: &Input) -> bool {
        true
    }

    async fn run(&self, input: Input, cx: &ToolCx) -> ToolOutput {
        let Input { command, timeout, description, run_in_background, leaves } = input;
        if command.trim().is_empty() {
            return ToolOutput::error("The command is empty.");
        }
        if cx.stop.is_cancelled() {
            return ToolOutput::error(INTERRUPTED);
        }
        let (folder, note) = match folder(cx) {
            Ok(found) => found,
            Err(text) => return ToolOutput::error(text),
        };
        let sandbox = cx.sandbox.as_deref().filter(|sandbox| sandbox.confines(&command, leaves));
        let shell = match Shell::start(&command, &folder, sandbox, cx) {
            Ok(shell) => shell,
            Err(error) => return ToolOutput::error(format!("The command could not be started: {error}")),
        };
        let mut output = if run_in_background == Some(true) {
            background(&command, description, shell, cx).await
        } else {
            let time = time_limit(timeout, &cx.world.env);
            let bounds = Bounds { stop: &cx.stop, time, flood: self.flood };
            let mut output = foreground(&command, shell, &bounds, cx).await;
            if let Some(sandbox) = sandbox.filter(|_| output.is_error) {
                explain(&mut output, sandbox);
            }
            output
        };
        if let Some(note) = note {
            output.content.insert(0, Content::Text(note));
        }
        output
    }
}

/// Adds why a command failed, if the sandbox may be why.
fn explain(output: &mut ToolOutput, sandbox: &Sandbox) {
    if let Some(Content::Text(text)) = output.content.last_mut()
        && let Some(why) = sandbox.on_failure(text)
    {
        *text = format!("{text}\n{why}");
    }
}

/// Where to run, and what to say if that is not where the run was.
fn folder(cx: &ToolCx) -> Result<(PathBuf, Option<String>), String> {
    let cwd = cx.cwd.get();
    if cwd.is_dir() {
        return Ok((cwd, None));
    }
    let start = cx.world.cwd.clone();
    if !start.is_dir() {
        return Err(format!("The working directory {} does not exist any more.", cwd.display()));
    }
    cx.cwd.set(start.clone());
    let note = format!(
        "The working directory {} does not exist any more; back in {}.",
        cwd.display(),
        start.display()
    );
    Ok((start, Some(note)))
}

fn time_limit(asked: Option<u64>, env: &Env) -> Duration {
    let usual = env.number("BASH_DEFAULT_TIMEOUT_MS").filter(|time| *time > 0).unwrap_or(120_000);
    let longest = env.number("BASH_MAX_TIMEOUT_MS").filter(|time| *time > 0).unwrap_or(600_000).max(usual);
    Duration::from_millis(asked.filter(|time| *time > 0).unwrap_or(usual).min(longest))
}

/// How many characters of output a model reads.
pub(super) fn shown(env: &Env) -> usize {
    let characters = env.number("BASH_MAX_OUTPUT_LENGTH").filter(|count| *count > 0).unwrap_or(SHOWN);
    usize::try_from(characters.min(SHOWN_AT_MOST)).unwrap_or(usize::MAX)
}

/// Who still runs. What holds a sandbox together takes a moment to end after the command in it has.
async fn left_running(tree: &mut Tree, cx: &ToolCx) -> Vec<i32> {
    const LOOKS: u32 = 20;
    let mut left = tree.left().await;
    for _ in 0..LOOKS {
        if left.is_empty() || cx.sandbox.is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        left = tree.left().await;
    }
    left
}

async fn foreground(command: &str, shell: Shell, bounds: &Bounds<'_>, cx: &ToolCx) -> ToolOutput {
    let Shell { mut tree, mut pipes, last_folder } = shell;
    let path = cx.spool.join("output").join(format!("bash-{}.txt", cx.world.ids.hex16()));
    let mut capture = Capture::new(shown(&cx.world.env), path);
    let end = follow::foreground(&mut tree, &mut pipes, &mut capture, bounds).await;
    let mut notes = Vec::new();
    if let Some(folder) = last_folder.read()
        && !cx.cwd.follow(folder)
    {
        notes.push(format!(
            "[The working directory is {} again: the checkout that the command went to is not yours to work in]",
            cx.cwd.get().display()
        ));
    }

    let left = left_running(&mut tree, cx).await;
    if !left.is_empty() {
        let ids: Vec<String> = left.iter().map(ToString::to_string).collect();
        notes.push(format!("[Still running, until the session ends: {}]", ids.join(", ")));
    }
    if !left.is_empty() || !pipes.are_closed() {
        let flood = bounds.flood;
        cx.tasks.keep(|stop| follow::leftovers(tree, pipes, flood, stop));
    }

    let picture = picture(&mut capture, &end).await;
    let structured = json!({
        "stdout": match &picture {
            Some(picture) => format!("data:{};base64,{}", picture.media_type, picture.data),
            None => capture.stream(Stream::Out),
        },
        "stderr": capture.stream(Stream::Err),
        "interrupted": matches!(end, End::Interrupted),
        "isImage": picture.is_some(),
        "noOutputExpected": is_silent(command),
    });
    if let Some(picture) = picture {
        let notes = notes.into_iter().map(Content::Text);
        let content = std::iter::once(Content::Media(picture)).chain(notes).collect();
        return ToolOutput { content, is_error: false, structured: Some(structured) };
    }
    let printed = capture.text().await;
    let (problem, after) = verdict(&end, bounds);
    let mut parts: Vec<String> = problem.into_iter().collect();
    parts.extend(Some(printed.trim_end().to_owned()).filter(|text| !text.trim().is_empty()));
    parts.extend(after.map(str::to_owned));
    parts.extend(notes);
    if parts.is_empty() {
        parts.push("(no output)".to_owned());
    }
    output(parts.join("\n"), &end, structured)
}

fn output(text: String, end: &End, structured: Value) -> ToolOutput {
    match end {
        End::Exited(status) if status.success() => ToolOutput::text(text).with(structured),
        End::Interrupted => ToolOutput::error(text).with(structured),
        // Programs are told of a failure as the model is: by its text.
        End::Exited(_) | End::TimedOut | End::Flooded | End::Lost(_) => ToolOutput::error(text),
    }
}

/// What to say of an end, before and after the output.
fn verdict(end: &End, bounds: &Bounds<'_>) -> (Option<String>, Option<&'static str>) {
    match end {
        End::Exited(status) => (failure(*status), None),
        End::TimedOut => (Some(format!("Command timed out after {}s", bounds.time.as_secs_f64())), None),
        End::Interrupted => (None, Some(INTERRUPTED)),
        End::Flooded => {
            let text = format!("Command was stopped: it printed more than {} bytes", bounds.flood);
            (Some(text), None)
        }
        End::Lost(Lost::NotStarted(error)) => {
            (Some(format!("The command could not be started: {error}")), None)
        }
        End::Lost(Lost::Unknown(error)) => {
            (Some(format!("How the command ended is not known: {error}")), None)
        }
    }
}

fn failure(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    if status.success() {
        return None;
    }
    Some(match (status.code(), status.signal()) {
        (Some(code), _) => match signal_name(code - 128) {
            // The shell's way to say that what it ran was killed.
            Some(name) => format!("Exit code {code} ({name})"),
            None => format!("Exit code {code}"),
        },
        (None, Some(signal)) => {
            let name = signal_name(signal).unwrap_or("a signal");
            format!("Killed by {name} ({signal})")
        }
        (None, None) => "Ended without an exit code".to_owned(),
    })
}

fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    names.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| *name)
}

/// A picture, if the whole output is one: `data:image/png;base64,…`.
async fn picture(capture: &mut Capture, end: &End) -> Option<Media> {
    use base64::Engine;
    match end {
        End::Exited(status) if status.success() => {}
        End::Exited(_) | End::TimedOut | End::Interrupted | End::Flooded | End::Lost(_) => return None,
    }
    let uri = String::from_utf8(capture.whole_output("data:image/", LARGEST_PICTURE).await?).ok()?;
    let (media_type, data) = uri.trim().strip_prefix("data:")?.split_once(";base64,")?;
    let media_type = PICTURES.iter().find(|known| media_type.eq_ignore_ascii_case(known))?;
    // `base64` breaks its lines.
    let data: String = data.split_ascii_whitespace().collect();
    let is_base64 = !data.is_empty() && base64::engine::general_purpose::STANDARD.decode(&data).is_ok();
    is_base64.then(|| Media { media_type: (*media_type).into(), data })
}

/// Whether every part of a command is one that says nothing when all is well.
fn is_silent(command: &str) -> bool {
    let parts = command.split(['\n', ';', '&', '|']).map(str::trim).filter(|part| !part.is_empty());
    let mut programs = parts.filter_map(|part| part.split_whitespace().next()).peekable();
    programs.peek().is_some() && programs.all(|program| SILENT.contains(&program))
}

async fn background(command: &str, description: Option<String>, shell: Shell, cx: &ToolCx) -> ToolOutput {
    let mut task = cx.tasks.prepare(TaskKind::Shell, command, &cx.world.ids, &cx.spool);
    task.description = description;
    task.call = cx.call.clone();
    let mut spool = Spool::new(task.output.clone());
    if let Err(error) = spool.open().await {
        let path = task.output.display();
        return ToolOutput::error(format!(
            "The command was not run: its output cannot go to {path}: {error}"
        ));
    }
    let text = format!(
        "Command running in background with ID: {}. Output is being written to: {}",
        task.id,
        task.output.display()
    );
    let structured = json!({
        "stdout": "", "stderr": "", "interrupted": false, "isImage": false,
        "noOutputExpected": is_silent(command), "backgroundTaskId": task.id,
    });
    let Shell { tree, pipes, last_folder } = shell;
    let started = cx.tasks.start(task, |work| async move {
        follow::background(tree, pipes, spool, work).await;
        // Not before: it is where the shell writes to, and reads a long command from.
        drop(last_folder);
    });
    if started {
        ToolOutput::text(text).with(structured)
    } else {
        ToolOutput::error("The command was stopped: the session is ending.")
    }
}

#[cfg(test)]
mod tests;
