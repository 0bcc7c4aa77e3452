//! `posse demo`: agents at work, with real tools on a real project; only the model is rehearsed.
//!
//! What they say is written down in a folder of the demo's own, so that the tree at the end is read from transcripts
//! like any other, and goes with that folder.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use posse_core::event::{Delta, Outcome as TurnOutcome, What};
use posse_core::message::Message;
use posse_core::permission::Mode;
use posse_runtime::catalog::{CatalogOptions, Layout};
use posse_runtime::launch::{LaunchRequest, Launched, converse, launch};
use posse_runtime::run::{Ended, Event};
use posse_runtime::session;
use posse_runtime::world::{Env, World, process};
use tokio_util::sync::CancellationToken;

use super::run::{launch_failure, runtime};
use super::signals::interrupts;
use crate::args::DemoArgs;
use crate::render::style::Style;
use crate::render::transcript::Transcript;
use crate::report::{CommandResult, Error, Failure, Outcome};
use crate::terminal::Terminal;

const SCRIPT: &str = include_str!("demo/script.yaml");
const TASK: &str = "The tests of this project fail. Find out why, mend it, and show that it works.";
/// Whose prices the tree shows: a rehearsal itself costs nothing.
const PRICED_AS: &str = "sonnet";
/// What the agents see of the environment: nobody's settings may change the play.
const KEPT: [&str; 5] = ["PATH", "HOME", "TERM", "LANG", "USER"];
const PROJECT: [(&str, &str); 4] = [
    (".claude/agents/reviewer.md", include_str!("demo/project/agents/reviewer.md")),
    ("README.md", include_str!("demo/project/README.md")),
    ("receipt.sh", include_str!("demo/project/receipt.sh")),
    ("test.sh", include_str!("demo/project/test.sh")),
];

pub(super) fn run(args: &DemoArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let unwritable =
        |error: std::io::Error| Failure::new(format!("cannot write the sample project: {error}"));
    let folder =
        tempfile::Builder::new().prefix("posse-demo-").tempdir_in(world.temp_dir()).map_err(unwritable)?;
    let project = folder.path().join("receipt");
    write_project(&project).map_err(unwritable)?;
    let style = Style { color: terminal.color };
    writeln!(
        terminal.out,
        "{}",
        style.dim("A small shop's receipt script, freshly copied to a temporary folder.")
    )?;
    writeln!(
        terminal.out,
        "{}\n",
        style.dim("The tools are real; what the model says is rehearsed, so no key is needed.")
    )?;
    writeln!(terminal.out, "{} {}", style.hint(">"), style.bold(TASK))?;
    let world = stage(folder.path(), &project, world);
    let ended = runtime()?.block_on(async {
        let script = script(make_repository(&world).await);
        std::fs::write(folder.path().join("script.yaml"), script).map_err(unwritable)?;
        play(args, &world, terminal).await
    })?;
    let outcome = epilogue(&ended, &world, style, terminal)?;
    if args.keep {
        let kept = folder.keep();
        writeln!(terminal.out, "\nThe project is in {}", kept.join("receipt").display())?;
    }
    Ok(outcome)
}

fn write_project(project: &Path) -> std::io::Result<()> {
    // A `.git` of its own keeps the demo from picking up what lies in the folders above.
    std::fs::create_dir_all(project.join(".git"))?;
    std::fs::create_dir_all(project.join(".claude/agents"))?;
    PROJECT.iter().try_for_each(|(name, text)| std::fs::write(project.join(name), text))
}

/// The project as a repository, so that an agent can have a copy of its own. Says whether there is one now.
async fn make_repository(world: &World) -> bool {
    let git = "git -c init.defaultBranch=main init --quiet && git config user.name demo \
               && git config user.email demo@example.com && git add -A && git commit --quiet -m 'A receipt'";
    let mut command = process::command("sh", &world.cwd);
    command.args(["-c", git]).env_clear().envs(world.env.iter());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}

/// What is said; without git, without the parts that need it.
fn script(has_git: bool) -> String {
    let lines = SCRIPT.lines().filter(|line| has_git || !line.ends_with("# git"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The world of the play: the project as working directory, and a place of its own for what is written down.
fn stage(folder: &Path, project: &Path, world: &World) -> Arc<World> {
    let config = folder.join("config").display().to_string();
    let kept = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), world.env.get(name)?.to_owned())));
    // What is temporary goes with the play, too.
    let temporary = folder.display().to_string();
    let own = [("CLAUDE_CONFIG_DIR".to_owned(), config), ("TMPDIR".to_owned(), temporary)];
    let env = Env::new(kept.chain(own));
    Arc::new(World { cwd: project.to_owned(), env, ..world.clone() })
}

async fn play(args: &DemoArgs, world: &Arc<World>, terminal: &mut Terminal) -> Result<Ended, Error> {
    let request = LaunchRequest {
        model: Some("rehearsal:../script.yaml".into()),
        permission_mode: Some(Mode::AcceptEdits),
        allowed_tools: vec!["Bash".into()],
        entrypoint: "demo".into(),
        ..LaunchRequest::default()
    };
    let Launched { mut run, mut events, cx, .. } =
        launch(world, request).await.map_err(|error| Error::Failure(launch_failure(&error)))?;
    let (stop, over) = (CancellationToken::new(), CancellationToken::new());
    let paced = terminal.is_terminal && !args.fast;
    let style = Style { color: terminal.color };
    let mut transcript = Transcript::new(style, terminal.width).with_agents(&world.cwd);
    let turn = async {
        let ended = converse(&mut run, &cx, Message::user(TASK), stop.clone()).await;
        over.cancel();
        ended
    };
    // Nobody at work waits until the audience has read.
    let show = async {
        loop {
            tokio::select! {
                // What happened is drawn before its end is.
                biased;
                Some(event) = events.recv() => {
                    draw(&event, &mut transcript, paced && !stop.is_cancelled(), terminal).await?;
                }
                () = over.cancelled() => return Ok::<(), Error>(()),
            }
        }
    };
    let interrupts = interrupts(stop.clone());
    let (ended, shown) = tokio::select! {
        both = async { tokio::join!(turn, show) } => both,
        never = interrupts => match never {},
    };
    cx.tasks.shutdown().await;
    shown?;
    ended.map_err(|error| Failure::new(error.to_string()).into())
}

/// Draws an event at a pace one can follow.
async fn draw(
    event: &Event,
    transcript: &mut Transcript,
    paced: bool,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let text = transcript.event(event);
    let is_speech = matches!(event.what, What::Delta(Delta::Text(_)));
    if !paced || text.is_empty() {
        terminal.out.write_all(text.as_bytes())?;
        return Ok(());
    }
    let pieces: Vec<&str> = if is_speech { text.split_inclusive(' ').collect() } else { vec![&text] };
    let pause = if is_speech { Duration::from_millis(35) } else { Duration::from_millis(350) };
    for piece in pieces {
        terminal.out.write_all(piece.as_bytes())?;
        terminal.out.flush()?;
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

/// Who worked for whom, and what it took.
fn curtain(world: &World, style: Style, terminal: &mut Terminal) -> Result<(), Error> {
    let layout = Layout::find(world, &CatalogOptions::default());
    let found = layout.user.as_deref().and_then(|user| session::newest(user, &layout.cwd));
    let Some(found) = found else { return Ok(()) };
    let mut root = session::tree(&found).map_err(|error| Failure::new(error.to_string()))?;
    root.priced_as(PRICED_AS);
    let text = crate::render::runs::tree(&root, style, terminal.width);
    writeln!(terminal.out, "\n{}\n{text}", style.bold("Who did what"))?;
    let note =
        format!("The cost is what {PRICED_AS} would have taken for as many tokens; the rehearsal was free.");
    writeln!(terminal.out, "{}", style.dim(&note))?;
    Ok(())
}

fn epilogue(ended: &Ended, world: &World, style: Style, terminal: &mut Terminal) -> Result<Outcome, Error> {
    match &ended.outcome {
        TurnOutcome::Answer { .. } => {}
        TurnOutcome::Cancelled { .. } => return Ok(Outcome::Interrupted),
        TurnOutcome::Failed(failure) => return Err(super::model_failure(failure).into()),
        TurnOutcome::OutOfTurns(_)
        | TurnOutcome::OutOfTries(_)
        | TurnOutcome::OutOfBudget(_)
        | TurnOutcome::Exhausted { .. }
        | TurnOutcome::Stalled(_)
        | TurnOutcome::Blocked(_)
        | TurnOutcome::Stopped(_)
        | TurnOutcome::Deferred(_) => {
            return Err(Failure::new("the demo ended before its time; this is a bug in posse").into());
        }
    }
    curtain(world, style, terminal)?;
    writeln!(terminal.out, "\n{}", style.bold("What to try next"))?;
    let mut say =
        |command: &str, what: &str| writeln!(terminal.out, "  {}  {}", style.bold(command), style.dim(what));
    say("posse agents                     ", "the agents you have, and what became of each file")?;
    say("posse lint                       ", "what is wrong with them, where, and how to mend it")?;
    say("posse explain Explore            ", "what an agent may do, and who says so")?;
    say("posse runs                       ", "such a tree of your own sessions")?;
    say("posse -p \"explain this project\"  ", "a task of your own; needs ANTHROPIC_API_KEY")?;
    Ok(Outcome::Fine)
}
