//! What each command does.

mod acp;
mod agents;
mod answers;
mod completions;
mod config;
mod demo;
mod doctor;
mod explain;
mod host;
mod lines;
mod lint;
mod mcp;
mod plugin;
mod run;
mod runs;
mod sessions;
mod signals;
mod skills;
mod talk;
mod trust;
mod worktrees;

use posse_runtime::catalog::{Catalog, CatalogOptions, LoadError};
use posse_runtime::world::World;

use crate::args::{AgentsCommand, Args, Command};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

/// Runs a command.
pub fn run(args: Args, world: &World, terminal: &mut Terminal) -> CommandResult {
    if args.protocol_version {
        let version = posse_runtime::session::VERSION;
        writeln!(terminal.out, "{version} (posse {})", env!("CARGO_PKG_VERSION"))?;
        return Ok(Outcome::Fine);
    }
    let Some(command) = args.command else { return run::run(args.run, world, terminal) };
    match command {
        Command::Agents(args) => match args.command {
            None => agents::list(&args.list, world, terminal),
            Some(AgentsCommand::List(list)) => agents::list(&list, world, terminal),
            Some(AgentsCommand::Show(show)) => agents::show(&show, world, terminal),
            Some(AgentsCommand::Fields) => agents::fields(terminal),
        },
        Command::Skills(args) => skills::run(&args, world, terminal),
        Command::Lint(args) => lint::run(&args, world, terminal),
        Command::Explain(args) => explain::run(&args, world, terminal),
        Command::Demo(args) => demo::run(&args, world, terminal),
        Command::Sessions { json } => sessions::run(json, world, terminal),
        Command::Runs(args) => runs::run(&args, world, terminal),
        Command::Worktrees(args) => worktrees::run(&args, world, terminal),
        Command::Config(args) => config::run(&args, world, terminal),
        Command::Trust(args) => trust::run(&args, world, terminal),
        Command::Mcp(args) => mcp::run(&args, world, terminal),
        Command::Plugin(args) => plugin::run(&args, world, terminal),
        Command::Acp(args) => acp::run(*args, world, terminal),
        Command::Doctor(args) => doctor::run(&args, world, terminal),
        Command::Completions { shell } => completions::run(shell, terminal),
    }
}

fn load(world: &World, options: &CatalogOptions) -> Result<Catalog, Failure> {
    Catalog::load(world, options).map_err(|error| load_failure(&error))
}

fn load_failure(error: &LoadError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        LoadError::Agents(diagnostics) => Failure {
            diagnostics: diagnostics.clone(),
            usage: true,
            ..failure.hint("nothing was started; mend every place named above")
        },
        LoadError::Settings(diagnostics) => {
            Failure { diagnostics: diagnostics.clone(), usage: true, ..failure }
        }
        LoadError::Unreadable(diagnostics) => Failure {
            diagnostics: diagnostics.clone(),
            ..failure.hint("mend the file: a rule that cannot be read must not be taken for no rule")
        },
        LoadError::Parent(_) => failure.usage(),
        LoadError::Forbidden { .. } => failure.hint("ask whoever administers this machine").usage(),
    }
}

/// The agent somebody named, or a failure that says which there are.
fn find<'c>(
    catalog: &'c Catalog,
    name: &str,
) -> Result<&'c posse_core::definition::AgentDefinition, Failure> {
    use posse_core::registry::Lookup;
    match catalog.registry.lookup(name) {
        Lookup::Found(agent) => Ok(agent),
        Lookup::Ambiguous(names) => {
            Err(Failure::new(format!("`{name}` could be any of {}", names.join(", ")))
                .hint("write the name exactly")
                .usage())
        }
        Lookup::Unknown(close) => Err(unknown(catalog, name, close)),
    }
}

fn unknown(catalog: &Catalog, name: &str, close: Option<&str>) -> Failure {
    let failure = Failure::new(format!("there is no agent called `{name}`")).usage();
    let broken = catalog.registry.failed.iter().find(|failed| {
        failed.name.as_deref() == Some(name)
            || failed.source.file.file_stem().is_some_and(|stem| stem.to_string_lossy() == name)
    });
    if let Some(broken) = broken {
        let file = broken.source.file.display();
        return failure
            .hint(format!("{file} could not be loaded: {}", broken.reason()))
            .hint("`posse lint` shows where");
    }
    match close {
        Some(close) => failure.hint(format!("did you mean `{close}`?")),
        None => failure.hint("`posse agents` lists those there are"),
    }
}

/// A failed request as the end of a command, with what to do about it.
fn model_failure(failure: &posse_core::failure::Failure) -> Failure {
    use posse_core::failure::FailureKind;
    let end = Failure::new(crate::render::stream::prose(failure));
    match failure.kind {
        FailureKind::Auth => {
            end.hint("set ANTHROPIC_API_KEY to a valid key, or try `posse demo`, which needs none")
        }
        FailureKind::ModelNotFound => end.hint("choose another with --model"),
        FailureKind::Connection => end.hint("check the network, and ANTHROPIC_BASE_URL if it is set"),
        FailureKind::RateLimit | FailureKind::Overloaded => {
            end.hint("try later, or name another model with --fallback-model")
        }
        FailureKind::Diverged => end.hint("the rehearsal does not fit this run any more; record it again"),
        FailureKind::Server
        | FailureKind::Malformed
        | FailureKind::Billing
        | FailureKind::TooLong
        | FailureKind::Refused
        | FailureKind::Invalid => end,
        FailureKind::OutputLimit => end.hint("raise CLAUDE_CODE_MAX_OUTPUT_TOKENS, or ask for less at once"),
    }
}
