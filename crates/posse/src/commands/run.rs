//! `posse -p`: a task, an answer. Also what every run begins with: flags become a request.

mod json;

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use posse_core::definition::Effort;
use posse_core::event::{Delta, Outcome as TurnOutcome, What};
use posse_core::hooks::occasion::{EndReason, SetupTrigger};
use posse_core::message::Message;
use posse_core::permission::Mode;
use posse_runtime::ask::Desk;
use posse_runtime::launch::{LaunchError, LaunchRequest, Launched, SessionChoice, converse, launch};
use posse_runtime::run::Event;
use posse_runtime::session::SessionError;
use posse_runtime::tool::skills::Typed;
use posse_runtime::world::World;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::answers::PromptTool;
use super::signals::interruptible;
use super::{host, load_failure, talk};
use crate::args::{InputFormat, ModelArgs, OutputFormat, PermissionPrompts, RunArgs, SessionArgs};
use crate::render::debug::Debug;
use crate::render::stream::refused;
use crate::render::transcript::Transcript;
use crate::report::{CommandResult, Error, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: RunArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    if args.host.input_format == InputFormat::StreamJson {
        return host::run(args, world, terminal).map_err(Error::for_programs);
    }
    let in_person = terminal.is_terminal && std::io::stdin().is_terminal();
    let prompt_tool = args.authority.permission_prompt_tool.clone();
    if is_conversation(&args, world) && in_person && !args.init_only {
        refuse_misspelt(args.prompt.as_deref())?;
        if prompt_tool.is_some() {
            let failure = Failure::new("--permission-prompt-tool is for runs with -p").usage();
            return Err(failure.hint("in a conversation you are asked yourself").into());
        }
        return talk::run(args, world, terminal);
    }
    let prompt = if args.init_only { String::new() } else { prompt(&args, world)? };
    // What comes through a pipe beside a task is not what somebody typed.
    let typed = args.prompt.clone().unwrap_or_else(|| prompt.clone());
    let format = args.output_format;
    let show = Show {
        verbose: args.verbose,
        debug: args.debug,
        partial: args.include_partial_messages,
        hooks: args.include_hook_events,
    };
    let init_only = args.init_only;
    let asks_host = args.authority.permission_prompts == PermissionPrompts::Host;
    let mut request = request(args, world)?;
    let asks = match &prompt_tool {
        Some(tool) if tool == "stdio" => {
            return Err(no_prompt_tool(tool, "nobody is at the other end").into());
        }
        Some(_) if asks_host => {
            let (desk, asks) = Desk::open();
            request.desk = desk;
            Some(asks)
        }
        Some(_) | None => None,
    };
    let asked = match &request.session {
        SessionChoice::NewWith(id) | SessionChoice::Resume { id, fork: _ } => Some(id.clone()),
        SessionChoice::New | SessionChoice::Continue { .. } => None,
    };
    let world = Arc::new(world.clone());
    runtime()?.block_on(async {
        let mut launched = match launch(&world, request).await {
            Ok(launched) => launched,
            Err(error) => {
                if let (OutputFormat::StreamJson, Some(session)) =
                    (format, refused_session(&error, asked, &world))
                {
                    writeln!(terminal.out, "{}", refused(&error.to_string(), &session, &world))?;
                    terminal.out.flush()?;
                }
                return Err(Error::Failure(launch_failure(&error)));
            }
        };
        if init_only {
            return initialised(&mut launched, terminal).await;
        }
        let mut attending = JoinSet::new();
        if let (Some(tool), Some(asks)) = (&prompt_tool, asks) {
            let asked = PromptTool::new(launched.servers.clone(), tool);
            if let Err(why) = asked.check().await {
                end(&mut launched, terminal).await?;
                return Err(no_prompt_tool(tool, &why).into());
            }
            attending.spawn(asked.attend(asks));
        }
        launched.run.may_mention(typed);
        match format {
            OutputFormat::Text => as_text(launched, prompt, show, terminal).await,
            OutputFormat::Json => json::run(launched, prompt, false, show, terminal).await,
            OutputFormat::StreamJson => json::run(launched, prompt, true, show, terminal).await,
        }
    })
}

/// The session that a program on the other end hears of when it is refused; other errors are only for standard error.
pub(super) fn refused_session(error: &LaunchError, asked: Option<String>, world: &World) -> Option<String> {
    match error {
        LaunchError::Sandbox(_)
        | LaunchError::Session(
            SessionError::NotFound(_) | SessionError::Nothing | SessionError::Rejected(_),
        ) => Some(asked.unwrap_or_else(|| world.ids.uuid())),
        LaunchError::Load(_)
        | LaunchError::Servers(_)
        | LaunchError::Session(SessionError::Io { .. } | SessionError::InUse(_) | SessionError::Busy(_))
        | LaunchError::Script(_)
        | LaunchError::NoAgent { .. }
        | LaunchError::Refused { .. }
        | LaunchError::Schema(_)
        | LaunchError::Unwritable { .. } => None,
    }
}

/// `--init-only`: the hooks have run; that was all.
async fn initialised(launched: &mut Launched, terminal: &mut Terminal) -> CommandResult {
    for note in &launched.notes {
        writeln!(terminal.err, "posse: {note}")?;
    }
    end(launched, terminal).await?;
    Ok(Outcome::Fine)
}

/// What to show besides the answer.
#[derive(Clone, Copy)]
struct Show {
    verbose: bool,
    debug: bool,
    partial: bool,
    hooks: bool,
}

/// One thread is enough to wait on; tools that compute use threads of their own.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))
}

/// How long to wait for the first byte of an input that may never come.
const PATIENCE_WITH_INPUT: Duration = Duration::from_secs(3);

/// What comes on standard input, unless a person sits there; nothing if nothing comes in time.
fn piped_input(patience: Option<Duration>) -> Result<String, Failure> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(String::new());
    }
    if let Some(patience) = patience {
        let timeout = Timespec::try_from(patience).ok();
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        // An error here means that there is nothing to wait on; reading will say what is wrong, if anything is.
        if poll(&mut waiting, timeout.as_ref()) == Ok(0) {
            return Ok(String::new());
        }
    }
    let mut text = String::new();
    match stdin.read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::new(format!("cannot read standard input: {error}"))),
    }
}

/// The task: from the command line, from standard input, or both.
fn prompt(args: &RunArgs, world: &World) -> Result<String, Failure> {
    let mut parts: Vec<String> = args.prompt.clone().into_iter().collect();
    let wanted = args.print || args.prompt.is_none();
    // Whoever starts posse may hand it an input that is never closed; with a task at hand that is no reason to wait.
    let patience = args.prompt.is_some().then_some(PATIENCE_WITH_INPUT);
    let text = if wanted { piped_input(patience)? } else { String::new() };
    parts.extend(Some(text.trim_end().to_owned()).filter(|text| !text.is_empty()));
    if parts.iter().all(|part| part.trim().is_empty()) {
        let hint = "try: posse -p \"explain this project\", or posse demo";
        return Err(Failure::new("there is no task").hint(hint).usage());
    }
    if is_conversation(args, world) {
        refuse_misspelt(args.prompt.as_deref())?;
        let failure = Failure::new("a conversation needs a terminal for input and output").usage();
        return Err(failure.hint("give a task with -p, or see `posse --help` for the commands"));
    }
    Ok(parts.join("\n\n"))
}

/// Whether this is to go on after the first answer. Programs that start posse say who they are, and want one.
fn is_conversation(args: &RunArgs, world: &World) -> bool {
    !args.print && world.env.get("CLAUDE_CODE_ENTRYPOINT").is_none()
}

/// A lone word is more likely a command misspelt than a task.
fn refuse_misspelt(prompt: Option<&str>) -> Result<(), Failure> {
    use clap::CommandFactory;
    let Some(prompt) = prompt else { return Ok(()) };
    let command = crate::args::Args::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    match posse_core::suggest::closest(prompt, names) {
        Some(close) => Err(Failure::new(format!("there is no command `{prompt}`"))
            .hint(format!("did you mean `{close}`?"))
            .usage()),
        None => Ok(()),
    }
}

pub(super) fn request(args: RunArgs, world: &World) -> Result<LaunchRequest, Failure> {
    let RunArgs {
        prompt: _,
        print: _,
        output_format: _,
        verbose: _,
        debug: _,
        include_partial_messages,
        include_hook_events: _,
        init,
        init_only,
        maintenance,
        model: ModelArgs { model, fallback_model, agent, effort, max_turns, max_budget_usd },
        json_schema,
        record,
        prompting,
        authority,
        session,
        sources,
        host,
    } = args;
    let text = |text: Option<String>, file: Option<&Path>| match (text, file) {
        (Some(text), _) => Ok(Some(text)),
        (None, Some(file)) => read(file, world).map(Some),
        (None, None) => Ok(None),
    };
    let mode = if authority.dangerously_skip_permissions {
        Some(Mode::BypassPermissions)
    } else {
        authority.permission_mode
    };
    let mut catalog = sources.options();
    catalog.plugin_dirs_without_servers.clone_from(&host.plugin_dir_no_mcp);
    catalog.parent.clone_from(&host.managed_settings);
    catalog.project_root.clone_from(&host.project_config_root);
    Ok(LaunchRequest {
        catalog,
        mcp_configs: sources.mcp_config.clone(),
        strict_mcp: sources.strict_mcp_config,
        agent,
        model,
        fallback_model,
        system_prompt: text(prompting.system_prompt, prompting.system_prompt_file.as_deref())?,
        append_system_prompt: text(
            prompting.append_system_prompt,
            prompting.append_system_prompt_file.as_deref(),
        )?,
        tools: authority.tools,
        allowed_tools: authority.allowed_tools,
        disallowed_tools: authority.disallowed_tools,
        permission_mode: mode,
        may_bypass: mode == Some(Mode::BypassPermissions) || authority.allow_dangerously_skip_permissions,
        setup: match (init || init_only, maintenance) {
            (true, _) => Some(SetupTrigger::Init),
            (false, true) => Some(SetupTrigger::Maintenance),
            (false, false) => None,
        },
        max_turns,
        max_budget_usd,
        effort: effort.map(|level| Effort::Level(level.into())),
        thinking: host.thoughts(&world.env),
        json_schema,
        no_persistence: session.no_session_persistence,
        worktree: session.worktree.clone(),
        session: session_choice(session)?,
        after_clear: false,
        record,
        raw_events: include_partial_messages,
        entrypoint: world.env.get("CLAUDE_CODE_ENTRYPOINT").unwrap_or("cli").to_owned(),
        desk: Desk::default(),
        betas: host.betas,
        task_budget: host.task_budget,
        thinking_display: host.thinking_display.into(),
        resume_at: host.resume_session_at,
        resume_drops: host.resume_drops_turn,
        ..LaunchRequest::default()
    })
}

/// Who could answer questions is connected by the protocol of the program at the other end, or is a tool of a server.
fn no_prompt_tool(tool: &str, why: &str) -> Failure {
    Failure::new(format!("--permission-prompt-tool {tool}: {why}"))
        .hint("name a tool of a configured MCP server (mcp__server__tool)")
        .usage()
}

fn session_choice(args: SessionArgs) -> Result<SessionChoice, Failure> {
    let SessionArgs {
        continue_last,
        resume,
        fork_session,
        session_id,
        no_session_persistence: _,
        worktree: _,
    } = args;
    let goes_on = continue_last || resume.is_some();
    if session_id.is_some() && goes_on && !fork_session {
        let failure = Failure::new("--session-id names a new conversation").usage();
        return Err(failure.hint("add --fork-session to go on with a copy under that id"));
    }
    if fork_session && !goes_on {
        return Err(Failure::new("--fork-session needs --continue or --resume").usage());
    }
    let fork = fork_session.then(|| session_id.clone());
    Ok(match (continue_last, resume, session_id) {
        (true, _, _) => SessionChoice::Continue { fork },
        (false, Some(id), _) => SessionChoice::Resume { id, fork },
        (false, None, Some(id)) => SessionChoice::NewWith(id),
        (false, None, None) => SessionChoice::New,
    })
}

fn read(file: &Path, world: &World) -> Result<String, Failure> {
    let path = world.cwd.join(file);
    std::fs::read_to_string(&path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())).usage())
}

pub(super) fn launch_failure(error: &LaunchError) -> Failure {
    match error {
        LaunchError::Load(error) => load_failure(error),
        LaunchError::Servers(error) => super::mcp::config_failure(error),
        LaunchError::NoAgent { .. } => Failure::new(error.to_string()).hint("`posse agents` lists them"),
        LaunchError::Session(SessionError::Io { .. }) => Failure::new(error.to_string())
            .hint("--no-session-persistence runs without writing anything down"),
        LaunchError::Session(SessionError::Busy(_)) => Failure::new(error.to_string())
            .hint("wait until it has ended, or go on with a copy: --fork-session"),
        LaunchError::Session(_) => {
            Failure::new(error.to_string()).hint("`posse sessions` lists the conversations of this folder")
        }
        LaunchError::Refused { hint, .. } => Failure::new(error.to_string()).hint(*hint).usage(),
        LaunchError::Sandbox(_) => Failure::new(error.to_string()).hint(
            "`posse doctor` says what is missing; settings demand it (failIfUnavailable, readOnlyAgents)",
        ),
        LaunchError::Script(_) | LaunchError::Schema(_) | LaunchError::Unwritable { .. } => {
            Failure::new(error.to_string())
        }
    }
}

/// Says what happens, for those who asked for it.
pub(super) fn log(debug: &Option<Debug>, event: &Event, terminal: &mut Terminal) -> Result<(), Error> {
    let line = debug.as_ref().and_then(|debug| debug.event(event)).unwrap_or_default();
    terminal.err.write_all(line.as_bytes())?;
    Ok(())
}

/// What a person should know first: the agents that are not there although their files are, what does not count.
pub(super) fn say_first(launched: &Launched, terminal: &mut Terminal) -> std::io::Result<()> {
    for (file, reason) in &launched.facts.failed {
        writeln!(terminal.err, "posse: {file} is not loaded: {reason}")?;
    }
    launched.notes.iter().try_for_each(|note| writeln!(terminal.err, "posse: {note}"))
}

/// What a person should know last: work that is not waited for.
fn say_last(launched: &Launched, terminal: &mut Terminal) -> std::io::Result<()> {
    launched.left_behind().iter().try_for_each(|text| writeln!(terminal.err, "posse: {text}"))
}

/// The session ends; where its work is, if not here, is said last of all.
async fn end(launched: &mut Launched, terminal: &mut Terminal) -> std::io::Result<()> {
    let left = launched.end(EndReason::Other).await;
    left.iter().try_for_each(|text| writeln!(terminal.err, "posse: {text}"))
}

async fn as_text(
    mut launched: Launched,
    prompt: String,
    show: Show,
    terminal: &mut Terminal,
) -> CommandResult {
    let message = launched.first_message(Message::user(&prompt));
    let stop = CancellationToken::new();
    // What is no command is said all the same; who typed it should know.
    if let Typed::Unknown(note) = launched.run.typed(&prompt) {
        writeln!(terminal.err, "posse: {note}")?;
    }
    let mut transcript =
        Transcript::new(crate::render::style::Style { color: terminal.color }, terminal.width);
    say_first(&launched, terminal)?;
    let Launched { run, events, cx, .. } = &mut launched;
    let debug = show.debug.then(|| Debug::start(&cx.world));
    let _listening = interruptible(&stop);
    let turn = converse(run, cx, message, stop.clone());
    let ended = drive(turn, events, |event| {
        // The answer itself goes to standard output; a terminal would show it twice.
        let is_speech = matches!(event.what, What::Delta(Delta::Text(_)));
        if show.verbose && !is_speech {
            terminal.err.write_all(transcript.event(event).as_bytes())?;
        }
        log(&debug, event, terminal)
    })
    .await?;
    say_last(&launched, terminal)?;
    end(&mut launched, terminal).await?;
    if let Some(failure) = failure_of(&ended.outcome) {
        return Err(failure.into());
    }
    match ended.outcome {
        TurnOutcome::Answer { text, .. } => {
            writeln!(terminal.out, "{}", text.trim_end())?;
            Ok(Outcome::Fine)
        }
        TurnOutcome::Cancelled { .. } => {
            writeln!(terminal.err, "posse: interrupted")?;
            Ok(Outcome::Interrupted)
        }
        TurnOutcome::Blocked(why) => {
            writeln!(terminal.err, "posse: {why}")?;
            Ok(Outcome::Fine)
        }
        TurnOutcome::Deferred(call) => {
            writeln!(terminal.err, "posse: a hook put {} off", call.name)?;
            Ok(Outcome::Fine)
        }
        TurnOutcome::Stopped(why) => {
            writeln!(terminal.err, "posse: stopped by a hook: {why}")?;
            Ok(Outcome::Fine)
        }
        TurnOutcome::OutOfTurns(_)
        | TurnOutcome::OutOfTries(_)
        | TurnOutcome::OutOfBudget(_)
        | TurnOutcome::Exhausted { .. }
        | TurnOutcome::Stalled(_)
        | TurnOutcome::Failed(_) => Ok(Outcome::Problems),
    }
}

/// What went wrong in a turn, if anything did.
pub(super) fn failure_of(outcome: &TurnOutcome) -> Option<Failure> {
    match outcome {
        TurnOutcome::Answer { .. }
        | TurnOutcome::Cancelled { .. }
        | TurnOutcome::Blocked(_)
        | TurnOutcome::Stopped(_)
        | TurnOutcome::Deferred(_) => None,
        TurnOutcome::OutOfTurns(limit) => {
            Some(Failure::new(format!("Reached maximum number of turns ({limit})")))
        }
        TurnOutcome::OutOfTries(tries) => {
            Some(Failure::new(format!("The answer did not fit the schema in {tries} tries")))
        }
        TurnOutcome::Exhausted { which, limit } => {
            Some(Failure::new(format!("Reached the limit of the budget ({})", which.amount(*limit))))
        }
        TurnOutcome::OutOfBudget(limit) => Some(Failure::new(format!("Reached maximum budget (${limit})"))),
        TurnOutcome::Stalled(time) => {
            Some(Failure::new(format!("Nothing came from the model for {} s", time.as_secs())))
        }
        TurnOutcome::Failed(failure) => Some(super::model_failure(failure)),
    }
}

/// Runs a turn and hands every event to `on`, in order, the last ones included.
pub(super) async fn drive<T, E>(
    turn: impl Future<Output = Result<T, E>>,
    events: &mut tokio::sync::mpsc::UnboundedReceiver<Event>,
    mut on: impl FnMut(&Event) -> Result<(), Error>,
) -> Result<T, Error>
where
    E: std::error::Error,
{
    tokio::pin!(turn);
    let ended = loop {
        tokio::select! {
            // What happened is shown before its end is.
            biased;
            Some(event) = events.recv() => on(&event)?,
            ended = &mut turn => break ended,
        }
    };
    while let Ok(event) = events.try_recv() {
        on(&event)?;
    }
    ended.map_err(|error| Failure::new(error.to_string()).into())
}
