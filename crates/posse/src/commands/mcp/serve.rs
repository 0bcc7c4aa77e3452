//! `posse mcp serve`: posse's tools and agents for a program at the other end of standard input and output.

use std::sync::Arc;

use posse_core::permission::Mode;
use posse_runtime::ask::Desk;
use posse_runtime::launch::{LaunchRequest, launch};
use posse_runtime::serve::{OFFERED, Offer, Serving, serve};
use posse_runtime::world::World;
use tokio_util::sync::CancellationToken;

use crate::args::ServeArgs;
use crate::commands::run::{launch_failure, runtime, say_first};
use crate::commands::signals::interruptible;
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &ServeArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let offer = offer(args)?;
    let (desk, asks) = Desk::open();
    let request = request(args, desk);
    let world = Arc::new(world.clone());
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let stop = CancellationToken::new();
        let _interrupts = interruptible(&stop);
        let launched = launch(&world, request).await.map_err(|error| launch_failure(&error))?;
        say_first(&launched, terminal)?;
        let version = env!("CARGO_PKG_VERSION");
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let serving = Serving { offer, version, asks, input, output, stop: stop.clone() };
        let served = serve(launched, serving, |line| {
            // Nobody there to read it is no reason to stop.
            let _ = writeln!(terminal.err, "posse: {line}");
        });
        served.await.map_err(|error| Failure::new(error.to_string()))?;
        Ok(if stop.is_cancelled() { Outcome::Interrupted } else { Outcome::Fine })
    });
    // Somebody may still hold the other end of the input open: reading it is not waited for.
    runtime.shutdown_background();
    served
}

fn offer(args: &ServeArgs) -> Result<Offer, Failure> {
    let list = if args.agents_only { Some("") } else { args.tools.as_deref() };
    let offer = match list {
        None => Offer::default(),
        Some(list) => Offer::default().with_tools(list).map_err(|error| {
            Failure::new(format!("--tools: {error}"))
                .hint(format!("there are {}", OFFERED.join(", ")))
                .usage()
        })?,
    };
    Ok(if args.no_agents { offer.without_agents() } else { offer })
}

fn request(args: &ServeArgs, desk: Desk) -> LaunchRequest {
    let mode =
        if args.dangerously_skip_permissions { Some(Mode::BypassPermissions) } else { args.permission_mode };
    LaunchRequest {
        catalog: args.sources.options(),
        model: args.model.clone(),
        fallback_model: args.fallback_model.clone(),
        allowed_tools: args.allowed_tools.clone(),
        disallowed_tools: args.disallowed_tools.clone(),
        permission_mode: mode,
        mcp_configs: args.sources.mcp_config.clone(),
        strict_mcp: args.sources.strict_mcp_config,
        may_bypass: mode == Some(Mode::BypassPermissions),
        max_budget_usd: args.max_budget_usd,
        no_persistence: args.no_session_persistence,
        entrypoint: "mcp".into(),
        desk,
        ..LaunchRequest::default()
    }
}
