//! `command` hooks: a program is started, told the occasion on its standard input, and listened to.

mod running;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use posse_core::hooks::answer::{self, Answer, Exit};
use posse_core::hooks::{HookEvent, HookKind};
use posse_core::plugin::{Variables, substitute};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use self::running::{End, Printed, Running};
use super::context::HookMail;
use super::registry::{PluginEnv, Work};
use super::{Hooks, Job};
use crate::world::process::{self, Input, Program, Tree};
use posse_core::event::{HookNotice, HookOutcome};

/// What a program that goes on by itself gets if it does not say how long it needs.
const DETACHED: Duration = Duration::from_secs(600);

/// Runs a command and reads what it answers.
pub(super) async fn run(job: Job) -> Answer {
    let Work::Configured(HookKind::Command { detached, rewake, .. }) = &job.entry().work else {
        return Answer::default();
    };
    let (detached, rewake) = (*detached || *rewake, *rewake);
    let watch = Watch { hook_id: job.cx.world.ids.uuid(), job, rewake };
    watch.started();
    let mut running = match start(&watch.job) {
        Ok(running) => running,
        Err(error) => {
            let exit = Exit::Failed(format!("it cannot be started: {error}"));
            return watch.ended(&exit, &Printed::default());
        }
    };
    let limit = watch.job.limit();
    if detached {
        watch.detach(running, limit);
        return Answer::default();
    }
    let end = running.follow(limit, &watch.job.cx.stop.clone(), true).await;
    match end {
        End::Over(exit) => {
            let printed = running.printed();
            running.leave(&watch.job.hooks.background);
            watch.ended(&exit, &printed)
        }
        End::Detached(limit) => {
            watch.detach(running, limit.unwrap_or(DETACHED));
            Answer::default()
        }
    }
}

/// One run of one command, and those who watch it.
struct Watch {
    hook_id: String,
    job: Job,
    rewake: bool,
}

impl Watch {
    fn started(&self) {
        let Job { name, event, cx, .. } = &self.job;
        let (hook_id, name) = (self.hook_id.clone(), Arc::clone(name));
        (cx.services.notices)(HookNotice::Started { hook_id, name, event: *event });
    }

    fn ended(&self, exit: &Exit, printed: &Printed) -> Answer {
        let Job { name, event, cx, .. } = &self.job;
        let Printed { stdout, stderr } = printed;
        let (exit_code, outcome) = match exit {
            Exit::Code(0) => (Some(0), HookOutcome::Success),
            Exit::Code(code) => (Some(*code), HookOutcome::Error),
            Exit::Signal(_) | Exit::Failed(_) => (None, HookOutcome::Error),
            Exit::TimedOut(_) | Exit::Stopped => (None, HookOutcome::Cancelled),
        };
        let stderr = match exit {
            Exit::Failed(why) => why,
            _ => stderr,
        };
        (cx.services.notices)(HookNotice::Response {
            hook_id: self.hook_id.clone(),
            name: Arc::clone(name),
            event: *event,
            output: format!("{stdout}{stderr}"),
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            exit_code,
            outcome,
        });
        answer::read(*event, exit, stdout, stderr)
    }

    /// Lets it go on by itself. What it has to say in the end comes by mail.
    fn detach(self, mut running: Running, limit: Duration) {
        let Hooks { background, .. } = self.job.hooks.clone();
        let keeper = Arc::downgrade(&background);
        background.keep(move |stop: CancellationToken| async move {
            let End::Over(exit) = running.follow(limit, &stop, false).await else { return };
            let printed = running.printed();
            if let Some(background) = keeper.upgrade() {
                running.leave(&background);
            }
            let answer = self.ended(&exit, &printed);
            for mail in self.mail(&exit, &printed, answer) {
                (self.job.cx.services.mail)(mail);
            }
        });
    }

    fn mail(&self, exit: &Exit, printed: &Printed, mut answer: Answer) -> Vec<HookMail> {
        let Job { name, event, cx, .. } = &self.job;
        answer.cap(&mut |whole| super::context::keep(&cx.spool, &cx.world, whole));
        let mut mail = Vec::new();
        if self.rewake && *exit == Exit::Code(2) {
            // What it says is for the model, whatever the event makes of an objection.
            let said = [&printed.stderr, &printed.stdout].into_iter().map(|text| text.trim());
            let said = said.into_iter().find(|text| !text.is_empty()).unwrap_or("it gives no reason");
            let mut said = Answer { context: Some(said.to_owned()), ..Answer::default() };
            said.cap(&mut |whole| super::context::keep(&cx.spool, &cx.world, whole));
            let said = said.context.unwrap_or_default();
            let label = &self.job.entry().label;
            mail.push(HookMail { text: format!("{name} hook feedback:\n[{label}]: {said}"), wakes: true });
            return mail;
        }
        let texts = [answer.context, answer.system_message].into_iter().flatten();
        mail.extend(texts.map(|text| HookMail {
            text: format!("{} hook additional context: {text}", event.name()),
            wakes: false,
        }));
        mail
    }
}

fn start(job: &Job) -> std::io::Result<Running> {
    let Work::Configured(HookKind::Command { command, args, shell, .. }) = &job.entry().work else {
        return Err(std::io::Error::other("not a command"));
    };
    let plugin = job.entry().source.plugin.as_ref();
    let folder = Path::new(&job.cx.common.cwd);
    let folder = if folder.is_dir() { folder } else { &job.cx.project_dir };
    let posse = &job.cx.world.program;
    let mut program = match args {
        Some(args) => {
            // No shell replaces these here.
            let place = |text: &str| {
                let project = job.cx.project_dir.display().to_string();
                in_plugin(text, plugin).replace("${CLAUDE_PROJECT_DIR}", &project)
            };
            let name = place(command);
            let mut program = Program::new(posse, &name, &name, folder);
            program.command().args(args.iter().map(|arg| place(arg)));
            program
        }
        None => {
            let (shell, flags): (&str, &[&str]) = match shell.as_deref() {
                Some("bash") => ("bash", &["-c"]),
                Some("powershell") => ("pwsh", &["-NoProfile", "-NonInteractive", "-Command"]),
                Some(_) | None => ("/bin/sh", &["-c"]),
            };
            let mut program = Program::new(posse, shell, shell, folder);
            program.command().args(flags).arg(in_plugin(command, plugin));
            program
        }
    };
    surround(program.command(), job, plugin);
    program.command().stdout(Stdio::piped()).stderr(Stdio::piped());
    let tree = Tree::start(program, Input::Pipe, &job.cx.world.ids.uuid())?;
    Ok(Running::new(tree, job.input.to_string()))
}

fn in_plugin(text: &str, plugin: Option<&PluginEnv>) -> String {
    let Some(PluginEnv { root, data, options }) = plugin else { return text.to_owned() };
    let variables = Variables {
        root: root.display().to_string(),
        data: data.display().to_string(),
        project: String::new(),
        user_config: options.clone(),
    };
    substitute(text, &variables)
}

/// The environment of a handler.
fn surround(program: &mut Command, job: &Job, plugin: Option<&PluginEnv>) {
    let cx = &job.cx;
    program
        .env_clear()
        .envs(cx.world.env.for_programs(false).iter())
        .env("CLAUDE_PROJECT_DIR", &cx.project_dir)
        .env("CLAUDE_CODE_SESSION_ID", &cx.common.session_id)
        .env("CLAUDE_PID", process::own_id().to_string())
        .env("CLAUDECODE", "1")
        .env("CLAUDE_CODE_CHILD_SESSION", "1")
        .env("CLAUDE_CODE_ENTRYPOINT", &*cx.entrypoint);
    if let Some(effort) = &cx.common.effort {
        program.env("CLAUDE_EFFORT", effort);
    }
    if let Some(PluginEnv { root, data, options }) = plugin {
        // If it cannot be made, the hook finds out when it writes.
        let _ = std::fs::create_dir_all(data);
        program.env("CLAUDE_PLUGIN_ROOT", root).env("CLAUDE_PLUGIN_DATA", data);
        // What Python would leave beside its modules changes the plugin's content, which is pinned.
        program.env("PYTHONDONTWRITEBYTECODE", "1");
        for (key, value) in options {
            program.env(format!("CLAUDE_PLUGIN_OPTION_{}", variable(key)), &**value);
        }
    }
    if let Some(file) = &cx.env_file
        && matches!(
            job.event,
            HookEvent::SessionStart | HookEvent::Setup | HookEvent::CwdChanged | HookEvent::FileChanged
        )
    {
        if let Some(folder) = file.parent() {
            // If it cannot be made, the hook finds out when it writes.
            let _ = std::fs::create_dir_all(folder);
        }
        program.env("CLAUDE_ENV_FILE", file);
    }
}

/// An option's name as a variable's.
fn variable(key: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    key.chars().map(letter).collect()
}
